/* The Node object of this machine: made, kept up to date, and its lease renewed.
 *
 * What is written: labels and annotations at registration, then the status: addresses, capacity with limits
 * of volumes, conditions, what the system is, and volumesInUse. The status is written when it changed, at the
 * latest every five minutes; the lease each ten seconds. volumesInUse is written as soon as it changes and,
 * before the agent knows what it holds, left as it is. A Node that was there is adopted: what others wrote
 * into it stays. One that is deleted is made again. */
#ifndef BERTH_NODE_REGISTER_H
#define BERTH_NODE_REGISTER_H

#include "api/object.h"
#include "api/resources.h"
#include "io/pool.h"
#include "machinery/informer.h"
#include "machinery/parts.h"

#define NODE_FIELD_MANAGER "berth-node" /* of all that the agent writes */

struct registration;

struct registration_options {
    struct part_options part;
    struct pool *pool;
    const char *name;
    const char *root;         /* its file system's size is the node's ephemeral storage */
    struct informer *self;    /* the Node by name; started by its owner */
    const char *cannot_mount; /* NULL, or why nothing can be mounted: a condition of the Node, and an event */
    bool attaches_itself;     /* no annotation that says the controller does */
    /* What is in use: sorted, each once, in a. False: not known yet, the old value stays. */
    bool (*in_use)(void *ctx, struct arena *a, struct texts *ret);
    /* The server has this list now. Borrowed for the call. After each status that was answered, and after
     * each registration_report() that found nothing to write: whoever waits for the list may have come behind
     * it. So it must not report again unless something changed by it. */
    void (*reported)(void *ctx, struct texts names);
    /* 0, or why the node is not ready: the words of its condition. */
    int (*is_ready)(void *ctx, struct error *err);
    /* Mounts that belong to no volume, in words that live for this turn; "" for none; NULL: not known yet.
     * The slot may be NULL. */
    const char *(*unknown_mounts)(void *ctx);
    /* How many volumes plugins can have here, each once, in a; looked at every ten seconds, since plugins
     * come and go. The slot may be NULL. */
    void (*limits)(void *ctx, struct arena *a, struct amounts *ret);
    /* Plugins that cannot be used, in words that live for this turn; NULL for none. Asked after limits. The
     * slot may be NULL. */
    const char *(*broken_plugins)(void *ctx);
    void *ctx;
};

int registration_new(const struct registration_options *o, struct registration **ret, struct error *err);
/* Sends nothing. Takes NULL. */
struct registration *registration_free(struct registration *r);
DEFINE_CLEANUP(struct registration, registration_free)

void registration_start(struct registration *r);
/* What is in use, or whether the node is ready, may have changed: written soon if so. */
void registration_report(struct registration *r);
/* The Node was made or found, and has its labels and annotations. */
bool registration_is_done(const struct registration *r);

#endif
