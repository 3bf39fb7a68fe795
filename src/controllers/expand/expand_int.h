/* The parts of the expand controller: what to do and how it is written (plan), the steps (sync). */
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
    struct metric_family *seconds; /* NULL: nothing is counted */
    TAILQ_HEAD(, claim_expansion) expansions;
};

/* --- What to do: pure --- */

enum expand_plan {
    EXPAND_NOTHING,
    EXPAND_NOT_BOUND,   /* the volume is not the claim's */
    EXPAND_MIGRATED,    /* a CSI driver's */
    EXPAND_OTHERS,      /* some external controller's */
    EXPAND_FOLLOW,      /* somebody has grown it: the claim is to say so */
    EXPAND_FORGET_SIZE, /* all has grown: the size before is of no interest any more */
    EXPAND_TO_NODE,     /* what the node could not do it is to try again */
    EXPAND_TO,          /* a size */
};

struct expand_decision {
    enum expand_plan plan;
    const struct volume_plugin *plugin; /* the registry's, until its next search; NULL for none */
    bool is_doubtful;                   /* EXPAND_OTHERS: because the plugins do not agree */
    struct quantity to;                 /* EXPAND_TO, EXPAND_FOLLOW */
};

struct expand_decision expand_decide(struct plugin_registry *g, const struct claim *c,
                                     const struct volume *v);

/* The claim has what it asks for. */
bool expand_is_satisfied(const struct claim *c);

/* --- What is written. All of them on condition that the object is as it was read. --- */

/* On the claim's status: under way to this size. */
int expand_write_begun(const struct claim *c, const char *resizer, const struct quantity *to,
                       struct timestamp now, struct buf *out, struct error *err);
/* It says so already. */
bool expand_is_begun(const struct claim *c, const char *resizer, const struct quantity *to);
/* On the claim: who is to expand it. */
int expand_write_resizer(const struct claim *c, const char *resizer, struct buf *out, struct error *err);

/* --- The steps --- */

enum sync_result expand_sync(void *ctx, struct str key);
/* Sends nothing, tells nobody. */
void expansion_free(struct claim_expansion *expansion);

#endif
