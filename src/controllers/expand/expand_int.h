/* Internals of the expand controller: decisions and patches (expand_plan.c), and the steps (expand_sync.c).
 */
#ifndef BERTH_CONTROLLERS_EXPAND_EXPAND_INT_H
#define BERTH_CONTROLLERS_EXPAND_EXPAND_INT_H

#include <sys/queue.h>

#include "api/claim.h"
#include "controllers/expand/expand.h"
#include "machinery/controller.h"
#include "plugins/registry.h"

struct claim_expansion;

struct expand {
    const struct clock *clock;
    struct loop *loop;
    struct api api;
    struct pool *pool;
    struct plugin_registry *registry;
    struct informer *claims;
    struct informer *volumes;
    struct informer_handler claims_handler;
    struct informer_handler volumes_handler;
    struct controller *controller;
    struct recorder *recorder;
    struct metric_family *seconds; /* NULL: not counted */
    TAILQ_HEAD(, claim_expansion) expansions;
};

/* --- Decisions: pure --- */

enum expand_plan {
    EXPAND_NOTHING,
    EXPAND_NOT_BOUND,   /* the volume is not bound to the claim */
    EXPAND_MIGRATED,    /* for a CSI driver */
    EXPAND_OTHERS,      /* for an external controller */
    EXPAND_FOLLOW,      /* the volume was expanded by the administrator: update the claim */
    EXPAND_FORGET_SIZE, /* complete: remove the size from before */
    EXPAND_TO_NODE,     /* retry on the node */
    EXPAND_TO,          /* expand to a size */
};

struct expand_decision {
    enum expand_plan plan;
    const struct volume_plugin *plugin; /* valid until the next search of the registry; NULL for none */
    bool is_doubtful;                   /* EXPAND_OTHERS: because several plugins match */
    struct quantity to;                 /* EXPAND_TO, EXPAND_FOLLOW */
};

struct expand_decision expand_decide(struct plugin_registry *g, const struct claim *c,
                                     const struct volume *v);

/* The claim has at least the requested size. */
bool expand_is_satisfied(const struct claim *c);

/* --- Patches. All have the version of the object as read. --- */

/* Claim status: expansion to this size in progress. */
int expand_write_begun(const struct claim *c, const char *resizer, const struct quantity *to,
                       struct timestamp now, struct buf *out, struct error *err);
/* The status already says so. */
bool expand_is_begun(const struct claim *c, const char *resizer, const struct quantity *to);
/* Claim: the name of the external resizer. */
int expand_write_resizer(const struct claim *c, const char *resizer, struct buf *out, struct error *err);

/* --- The steps --- */

enum sync_result expand_sync(void *ctx, struct str key);
/* Cancels requests and drops the plugin's work, without a result. */
void expansion_free(struct claim_expansion *expansion);

#endif
