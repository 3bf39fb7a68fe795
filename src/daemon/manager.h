/* The controllers, the scheduler and the node agent of a process, put together: their caches, and the parts
 * that work on them.
 *
 * The same in front of the server in this process and of any other: only the client differs. */
#ifndef BERTH_DAEMON_MANAGER_H
#define BERTH_DAEMON_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "client/client.h"
#include "daemon/settings.h"
#include "machinery/metrics.h"
#include "machinery/server_version.h"
#include "why/explanation.h"
#include "why/world.h"

struct manager;
struct provisioner_settings;
struct server_status;

/* What runs. */
enum {
    MANAGER_CONTROLLERS = 1 << 0,
    MANAGER_SCHEDULER = 1 << 1,
    MANAGER_NODE = 1 << 2,
};

struct manager_options {
    unsigned parts;
    struct loop *loop;
    const struct clock *clock;
    struct client *client;
    struct metrics *metrics;
    uint64_t seed; /* secret */
    bool is_local; /* the server is in this process */
    struct server_version server;
    bool streams_lists;         /* informer.h */
    const char *scheduler_name; /* borrowed; NULL: the default one */
    uint64_t bind_timeout_ns;   /* of the scheduler */
    const char *host;           /* of this machine; borrowed */
    /* Provisioners that run beside the controllers; NULL for none. Outlives the manager, as the rest. */
    const struct provisioner_settings *provisioners;
    struct controllers_flags controllers;
    uint64_t attach_sync_period_ns; /* of the verification of attachments; 0: never */
    const char *node_name;          /* of local volumes, and of the agent */
    const struct node_flags *node;  /* of the agent; outlives the manager */
    uint64_t sync_ns;               /* of its pods */
    const char *data_dir;           /* of the server in this process; NULL for none */
    const char *state_dir;          /* of the cleaning of local volumes */
    /* Of explanations: why_world's. NULL: without events. */
    void (*each_event)(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx);
    void *events_ctx;
    /* The caches are filled: manager_start() may follow. On the loop, once. */
    void (*on_synced)(void *ctx);
    void *ctx;
};

int manager_new(const struct manager_options *o, struct manager **ret, struct error *err);
/* Ends all parts. Sends nothing; what workers do is told to end, and finds all that it sees until
 * manager_free(). Returns m, which is good for nothing else. */
struct manager *manager_stop(struct manager *m);
/* What workers do is waited for: at the end of the process, after job_abandon_all(). Takes NULL. */
struct manager *manager_free(struct manager *m);
DEFINE_CLEANUP(struct manager, manager_free)

/* The caches begin to fill. */
void manager_open(struct manager *m);
/* The work begins: after on_synced, and where there is an election, won. */
void manager_start(struct manager *m);

/* 0, or what the node still waits for. */
int manager_check_node(const struct manager *m, struct error *err);
/* The node's statistics, as JSON; an empty object without a node. Takes NULL, as on the way up and down. */
void manager_write_stats(const struct manager *m, struct buf *out);
/* The names of the provisioners in this process, as a JSON array. */
void manager_write_provisioners(const struct manager *m, struct buf *out);
/* Why an object is as it is, from the caches and the parts of this process, which must not go before the last
 * step. ERR_UNAVAILABLE while the caches are not filled, and without them. Takes NULL. */
int manager_explain(const struct manager *m, const struct why_question *q, struct explanation **ret,
                    struct error *err);

/* Counts what waits, and names the CSI drivers. Nothing is counted where there are too many objects for one
 * turn of the loop. The caches must be filled. */
void manager_count_waiting(const struct manager *m, struct server_status *s);

/* The name of the first kind whose cache is not filled yet; NULL when all are. */
const char *manager_missing(const struct manager *m);
/* In all caches. */
size_t manager_objects(const struct manager *m);

#endif
