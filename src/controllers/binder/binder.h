/* The binder: gives claims their volumes, has volumes provisioned, and reclaims them when their claims are
 * gone.
 *
 * Two work queues, of claims and of volumes. A sync looks at the caches, which hold the newest version that
 * was seen or written, decides, and takes the next step: one write, or two that do not depend on each other.
 * When the answer is in the cache the key comes again, until there is nothing left to do; so every state in
 * between is one that any later sync, of this process or another, goes on from. No write to an object begins
 * while another one of this process is under way: the two queues never race on a volume's status.
 *
 * What it never does: hand a volume to a second claim, release a volume without asking the server for its
 * claim, touch the storage behind a volume that is not released. */
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

/* What it decides from: for who explains its decisions. Valid for this turn of the loop. */
struct binder_view binder_view(const struct binder *b);
/* The operation of a claim (provisioning) or volume (deleting, recycling) that runs or failed last. False:
 * none is known. */
bool binder_inspect_operation(const struct binder *b, const struct object *about,
                              struct operation_state *ret);
/* The looks and writes that its operations have in common. False: the last did not fail. */
bool binder_inspect_sync(const struct binder *b, const struct object *about, struct operation_state *ret);
/* All of these that are known. */
void binder_each_operation(const struct binder *b, const struct object *about, operation_state_fn *fn,
                           void *ctx);

/* Nothing is queued, under way or waiting for a delay: for tests and for the simulator. */
bool binder_is_idle(const struct binder *b);
/* NULL when what it has in memory fits together, else what does not: operations and, of few volumes or
 * when it is to be thorough, queues, waiting claims, the index and its holds. For the simulator. */
const char *binder_check(const struct binder *b, bool is_thorough);

#endif
