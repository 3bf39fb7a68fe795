/* The binder: binds claims to volumes, provisions volumes, and reclaims them after their claims are deleted.
 *
 * It has two work queues, for claims and for volumes. A sync reads the caches, which have the newest version
 * that was seen or written, decides, and takes the next step: one write, or two independent writes. When the
 * answer is in the cache the key is requeued, until there is nothing left to do. So any later sync, of this
 * or another process, can continue from every intermediate state. No write of an object starts while another
 * write of it is in flight: the two queues never race on a volume's status.
 *
 * Invariants: a volume is never bound to a second claim; a volume is released only after the server has
 * confirmed that its claim is gone; the storage of a volume that is not released is never touched. */
#ifndef BERTH_CONTROLLERS_BINDER_BINDER_H
#define BERTH_CONTROLLERS_BINDER_BINDER_H

#include "base/cleanup.h"
#include "controllers/binder/decide.h"
#include "machinery/component_deps.h"
#include "machinery/pending_operations.h"
#include "plugins/plugin.h"
#include "plugins/reclaim_guard.h"

struct binder;

struct binder_options {
    struct component_deps part;
    struct plugin_host host;
    const struct volume_plugin *const *plugins; /* ends with NULL; borrowed */
    bool is_static;                             /* no dynamic provisioning */
    struct reclaim_rules reclaim;
};

int binder_new(const struct binder_options *o, struct binder **ret, struct error *err);
struct binder *binder_free(struct binder *b);
DEFINE_CLEANUP(struct binder, binder_free)

void binder_start(struct binder *b);

/* The input of its decisions, for explanations. Valid during this turn of the loop. */
struct binder_view binder_view(const struct binder *b);
/* The operation of a claim (provision) or volume (delete, recycle) that is running or failed last. False:
 * none is known. */
bool binder_inspect_operation(const struct binder *b, const struct object *about,
                              struct operation_state *ret);
/* The state of an object's syncs, outside of operations. False: the last sync did not fail. */
bool binder_inspect_sync(const struct binder *b, const struct object *about, struct operation_state *ret);
/* Calls fn for all of these that are known. */
void binder_each_operation(const struct binder *b, const struct object *about, operation_state_fn *fn,
                           void *ctx);

/* Nothing is queued, in progress or delayed: for tests and the simulator. */
bool binder_is_idle(const struct binder *b);
/* NULL if the state in memory is consistent, else what is wrong: operations and, for few volumes or if
 * is_thorough, queues, waiting claims, the index and its holds. For the simulator. */
const char *binder_check(const struct binder *b, bool is_thorough);

#endif
