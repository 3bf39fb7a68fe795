/* Metrics of the binder. All functions accept NULL, for a process without metrics. */
#ifndef BERTH_CONTROLLERS_BINDER_BINDER_METRICS_H
#define BERTH_CONTROLLERS_BINDER_BINDER_METRICS_H

#include <stdbool.h>

#include "api/claim.h"
#include "api/volume.h"
#include "base/error.h"

struct binder;
struct binder_metrics;

/* *ret is NULL if there is no registry. */
int binder_metrics_new(struct binder *b, struct binder_metrics **ret, struct error *err);
struct binder_metrics *binder_metrics_free(struct binder_metrics *m);

/* The claim has become Bound. */
void binder_metrics_bound(struct binder_metrics *m, const struct claim *c);
/* A search for a volume took this long. */
void binder_metrics_matched(struct binder_metrics *m, uint64_t took_ns);
uint64_t binder_metrics_matches(const struct binder_metrics *m);
/* A volume or claim was added (old NULL), deleted (the other NULL) or changed. */
void binder_metrics_volume(struct binder_metrics *m, const struct volume *old, const struct volume *v);
void binder_metrics_claim(struct binder_metrics *m, const struct claim *old, const struct claim *c);
/* The default class was assigned to an existing claim, or that failed. */
void binder_metrics_retroactive(struct binder_metrics *m, bool has_failed);

/* From the start of a provision (key: the claim) or a delete (key: the volume) to its end, over all tries. */
enum long_operation { LONG_PROVISION, LONG_DELETE, LONG_COUNT };
void binder_metrics_begin(struct binder_metrics *m, enum long_operation op, struct str key,
                          const char *plugin);
void binder_metrics_failed(struct binder_metrics *m, enum long_operation op, struct str key);
/* Succeeded: observes the duration. */
void binder_metrics_end(struct binder_metrics *m, enum long_operation op, struct str key);
/* Will not be finished. */
void binder_metrics_drop(struct binder_metrics *m, enum long_operation op, struct str key);
/* One call of a plugin: "volume_provision", "volume_delete". */
void binder_metrics_call(struct binder_metrics *m, const char *plugin, const char *operation,
                         uint64_t took_ns, bool has_failed);

#endif
