/* The Node object of this machine: created, kept up to date, and its lease renewed.
 *
 * Labels and annotations are written at registration, then the status: addresses, capacity with volume
 * limits, conditions, system information and volumesInUse. The status is written when it changes and at least
 * every five minutes; the lease every ten seconds. volumesInUse is written as soon as it changes; before the
 * agent knows its volumes it is left unchanged. An existing Node is adopted: fields of other components are
 * kept. A deleted Node is created again, once the agent knows its volumes. */
#ifndef BERTH_NODE_REGISTER_H
#define BERTH_NODE_REGISTER_H

#include "api/object.h"
#include "api/resources.h"
#include "io/pool.h"
#include "machinery/component_deps.h"
#include "machinery/informer.h"

#define NODE_FIELD_MANAGER "berth-node" /* of all writes of the agent */

struct registration;

struct registration_options {
    struct component_deps part;
    struct pool *pool;
    const char *name;
    const char *root;         /* its file system's size is the node's ephemeral storage */
    struct informer *self;    /* the Node by name; started by its owner */
    const char *cannot_mount; /* why the agent cannot mount, for a condition and an event; NULL: it can */
    bool attaches_itself;     /* omits the annotation that leaves attaching to the controller */
    /* Lists volumesInUse: sorted, without duplicates, in a. False: unknown yet, keeps the old value. */
    bool (*in_use)(void *ctx, struct arena *a, struct texts *ret);
    /* This list is about to be sent, or the Node was deleted with its list. From now on the server may lack
     * every volume that is not in the list, even if no answer arrives. Borrowed for the call. */
    void (*withdrawing)(void *ctx, struct texts names);
    /* The server has this list now. Borrowed for the call. Called after each response to a status write, and
     * after each registration_report() that needed no write, since a volume that waits for the list may be
     * newer than it. Must not report again unless this call changed something. */
    void (*reported)(void *ctx, struct texts names);
    /* 0, or the reason why the node is not ready, for its condition. */
    int (*is_ready)(void *ctx, struct error *err);
    /* Mounts that belong to no volume, as a text valid for this loop iteration; "" for none; NULL: unknown
     * yet. May be NULL. */
    const char *(*unknown_mounts)(void *ctx);
    /* Volume limits by plugin, without duplicates, in a. Called every ten seconds, since plugins can be added
     * and removed. May be NULL. */
    void (*limits)(void *ctx, struct arena *a, struct amounts *ret);
    /* Unusable plugins, as a text valid for this loop iteration; NULL for none. Called after limits. May be
     * NULL. */
    const char *(*broken_plugins)(void *ctx);
    void *ctx;
};

int registration_new(const struct registration_options *o, struct registration **ret, struct error *err);
/* Sends nothing. Accepts NULL. */
struct registration *registration_free(struct registration *r);
DEFINE_CLEANUP(struct registration, registration_free)

void registration_start(struct registration *r);
/* volumesInUse or readiness may have changed: written soon if so. */
void registration_report(struct registration *r);
/* True when the Node exists with its labels and annotations. */
bool registration_is_done(const struct registration *r);

#endif
