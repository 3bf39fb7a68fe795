/* The source of a new volume's data: a snapshot that is restored, or a claim that is cloned.
 *
 * A source is checked against the caches, and kept by a finalizer from before the first CreateVolume. The
 * write of the finalizer checks the source again as the server has it: nothing is created from a source that
 * is being deleted. The guard removes finalizers when no claim is waiting for the source any more: at once
 * when that happens, at the start, and with every resync. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_SOURCE_H
#define BERTH_CONTROLLERS_CSI_CSI_SOURCE_H

#include "api/claim.h"
#include "api/snapshot.h"
#include "controllers/csi/csi_function.h"

/* Of a claim: the same. */
#define FINALIZER_CLAIM_CLONE "provisioner.storage.kubernetes.io/cloning-protection"
#define ANN_ALLOW_MODE_CHANGE "snapshot.storage.kubernetes.io/allow-volume-mode-change"

enum csi_source_kind {
    CSI_SOURCE_NONE,
    CSI_SOURCE_SNAPSHOT,
    CSI_SOURCE_CLAIM,
    CSI_SOURCE_KIND_COUNT,
};
extern const char *const csi_source_kind_names[]; /* in recorded plans */

/* In a plan. */
struct csi_data_source {
    enum csi_source_kind kind;
    const char *name; /* of the object, in the claim's namespace */
    const char *id;   /* the driver's handle */
};

struct csi_source_caches {
    struct informer *claims; /* with the index of sources */
    struct informer *volumes;
    struct informer *snapshots, *contents;
};

/* Before the caches start. */
int csi_source_prepare(struct informers *all, struct error *err);
int csi_source_open_caches(struct informers *all, struct csi_source_caches *ret, struct error *err);

/* CSI_SOURCE_NONE: it has none, or one of a kind that others fill. */
enum csi_source_kind csi_source_kind_of(const struct claim *c);
/* The source of a claim for a volume of the driver, if it can be used now. Texts are borrowed from caches. */
int csi_source_find(const struct csi_source_caches *caches, const char *driver, const struct claim *c,
                    struct csi_data_source *ret, struct error *err);
/* The object of a source, borrowed; NULL: not in the cache. */
const struct object *csi_source_object(const struct csi_source_caches *caches, const char *ns,
                                       const struct csi_data_source *s);
/* Adds the finalizer to a snapshot or claim. API_REFUSE: it cannot be a source any more. */
api_decide_fn csi_source_decide_kept;

/* --- The guard (csi_source_guard.c) --- */

struct csi_source_guard;

int csi_source_guard_new(const struct csi_function_options *o, struct csi_source_guard **ret,
                         struct error *err);
void csi_source_guard_start(struct csi_source_guard *g);
const char *csi_source_guard_check(const struct csi_source_guard *g);
/* Accepts NULL. */
struct csi_source_guard *csi_source_guard_free(struct csi_source_guard *g);

/* A claim that has no volume yet names the object as its source. */
bool csi_source_is_awaited(const struct csi_source_caches *caches, const struct object *source);

#endif
