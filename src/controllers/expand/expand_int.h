/* The parts of the expand controller: what to do (plan), how it is written (patch), the steps (sync). */
#ifndef BERTH_CONTROLLERS_EXPAND_EXPAND_INT_H
#define BERTH_CONTROLLERS_EXPAND_EXPAND_INT_H

#include <sys/queue.h>

#include "api/claim.h"
#include "controllers/expand/expand.h"
#include "machinery/controller.h"

struct expansion;

struct expand {
    const struct clock *clock;
    struct loop *loop;
    struct api api;
    const struct expand_plugin *const *plugins;
    struct informer *claims;
    struct informer *volumes;
    struct informer_handler claims_handler;
    struct informer_handler volumes_handler;
    struct controller *controller;
    struct recorder *recorder;
    struct metric_family *seconds; /* NULL: nothing is counted */
    TAILQ_HEAD(, expansion) expansions;
};

/* --- What to do: pure --- */

/* The plugin that expands this source; NULL for none. ERR_INVALID when several would. */
int expand_find_plugin(const struct expand_plugin *const *all, const struct volume_source *s,
                       const struct expand_plugin **ret, struct error *err);

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
    const struct expand_plugin *plugin;
    bool is_doubtful;   /* EXPAND_OTHERS: because the plugins do not agree */
    struct quantity to; /* EXPAND_TO, EXPAND_FOLLOW */
};

struct expand_decision expand_decide(const struct expand_plugin *const *all, const struct claim *c,
                                     const struct volume *v);

/* The claim has what it asks for. */
bool expand_is_satisfied(const struct claim *c);

/* --- What is written. All of them on condition that the object is as it was read. --- */

/* On the claim's status: under way to this size. */
enum err expand_write_begun(const struct claim *c, const char *resizer, const struct quantity *to,
                            struct timestamp now, struct buf *out);
/* It says so already. */
bool expand_is_begun(const struct claim *c, const char *resizer, const struct quantity *to);
/* The file system is the node's to grow. */
enum err expand_write_node_pending(const struct claim *c, struct timestamp now, struct buf *out);
/* On the claim: who is to expand it. */
enum err expand_write_resizer(const struct claim *c, const char *resizer, struct buf *out);
/* On the volume: its new size, and the one before where the node is not done (before NULL: it is not kept).
 */
enum err expand_write_size(const struct volume *v, const struct quantity *size, const struct quantity *before,
                           struct buf *out);
enum err expand_write_forgotten(const struct volume *v, struct buf *out);

/* --- The steps --- */

enum sync_result expand_sync(void *ctx, struct str key);
/* Sends nothing, tells nobody. */
void expansion_free(struct expansion *x);

#endif
