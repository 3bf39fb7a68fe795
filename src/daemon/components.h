/* The components of a process: controllers, scheduler and node agent, selected from one table, with the
 * caches, workers and plugins that they need.
 *
 * They work the same way against the API server in this process and against any other: only the client
 * differs. Lifecycle: components_begin() does what needs no server, components_new() creates them in the
 * order of the table and starts the caches, components_start() starts the work, components_free() stops them
 * in the opposite order. */
#ifndef BERTH_DAEMON_COMPONENTS_H
#define BERTH_DAEMON_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "host/guard.h"
#include "machinery/component_deps.h"
#include "plugins/plugin.h"
#include "why/why_world.h"

struct components;
struct csi_endpoints;
struct daemon_settings;
struct plugin_registry;
struct pool;
struct rpc_client;
struct server_status;

/* --- The table --- */

/* Parts of a server that can be left out with --without, and that can run as separate programs. */
enum {
    DAEMON_CONTROLLERS = 1 << 0,
    DAEMON_SCHEDULER = 1 << 1,
    DAEMON_NODE = 1 << 2,
    DAEMON_CSI =
        1 << 3, /* the controllers of CSI drivers: one of the controllers, with leases of their own */
    DAEMON_CSI_NODE = 1 << 4, /* those of drivers that are deployed per node, beside a node agent */
};

/* A program is a selection of components. */
struct daemon_program {
    const char *name; /* of the verb */
    unsigned parts;
    bool has_server; /* the API server runs in the same process */
};

extern const struct daemon_program daemon_serve;
extern const struct daemon_program daemon_controllers;
extern const struct daemon_program daemon_scheduler;
extern const struct daemon_program daemon_node;
/* Programs without a server, terminated by NULL; --without omits their parts by the program's name. */
extern const struct daemon_program *const daemon_parts[];

/* Arguments of a component's new(). */
struct component_env {
    struct component_deps part; /* including the informers */
    const struct daemon_settings *settings;
    struct pool *pool;               /* owned by the component; NULL unless the row has workers */
    struct plugin_registry *plugins; /* owned by the component; NULL unless the row names any */
    struct rpc_client *rpc;          /* of the process: one session per CSI driver */
    struct csi_endpoints *endpoints; /* of the process: the CSI drivers that it knows */
    const struct guard_dirs
        *dirs; /* directories in and above which no volume is ever reclaimed or given to a group */
    const char *node_name;
    const char *host;
    const char *identity;     /* in leases */
    const char *lease_ns;     /* their namespace */
    const char *reclaim_node; /* volumes of other nodes are not reclaimed here; NULL: no node */
    const char *cannot_mount; /* why this process cannot mount; NULL: it can */
    bool streams_lists;       /* see informer.h */
};

/* A kind in the sets of a row. */
#define COMPONENT_KIND(k) (UINT64_C(1) << (k))

struct component {
    const char *name;
    unsigned part;           /* DAEMON_*: the part it belongs to */
    uint64_t kinds;          /* kinds that it reads: cached, and synced before it starts */
    uint64_t kinds_optional; /* the same, for kinds that a server may not have */
    const char *lease;       /* lease that must be held to run it, with --leader-elect; NULL: none */
    /* Its section of the configuration file and the function that reads it; NULL: it has only flags. */
    const char *section;
    int (*read_section)(const struct json *d, json_ref section, struct daemon_settings *s, struct error *err);
    /* What it needs: worker threads and the length of their queue; plugins, to which those found in the
     * directory of FlexVolume drivers are added. */
    size_t workers;
    size_t queue_max;
    const struct volume_plugin *const *plugins;
    const char *plugins_failure; /* error if a plugin does not load; NULL: it is left out */
    /* Called before everything else, before the API server in this process is opened or another is contacted.
     * Blocks. NULL: nothing to do. */
    void (*begin)(const struct daemon_settings *s);
    /* NULL: always. */
    bool (*is_wanted)(const struct daemon_settings *s);
    int (*new)(const struct component_env *env, void **ret, struct error *err);
    void (*start)(void *component);
    void (*stop)(void *component); /* and frees it */
    /* Adds its state to the world of explanations; NULL: nothing. */
    void (*explain)(void *component, struct why_world *w);
    /* NULL when its state in memory is consistent, otherwise a description of the error; is_thorough: at any
     * cost. */
    const char *(*check)(const void *component, bool is_thorough);
};

/* Terminated by a NULL name. */
extern const struct component daemon_components[];

/* The lease of the components of these parts; NULL: none. */
const char *daemon_lease(unsigned parts);
/* Reads a section of the configuration file: 0 when no component of the program has a section of that name, 1
 * when it was read, or -ERR_*. */
int daemon_read_section(const struct daemon_program *p, const char *name, const struct json *d,
                        json_ref section, struct daemon_settings *s, struct error *err);

/* --- The components of a process --- */

struct components_options {
    unsigned parts;
    struct component_deps part;             /* except the informers */
    const struct daemon_settings *settings; /* checked; must outlive the components, as all of these */
    const char *host;                       /* name of this machine */
    const char *identity;                   /* of this process, in leases; NULL: the host */
    const char *lease_ns;                   /* NULL: DAEMON_LEASE_NAMESPACE */
    bool streams_lists;                     /* see informer.h */
    /* Its CSI drivers and the sessions with them are used; stopped after these. NULL: they have their own. */
    struct components *beside;
    /* For explanations, as in why_world. NULL: without events. */
    void (*each_event)(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx);
    void *events_ctx;
    const struct store *store; /* of the server in this process, for explanations; NULL: it is elsewhere */
    /* The caches are synced: components_start() may follow. Called once, on the loop. */
    void (*on_synced)(void *ctx);
    void *ctx;
};

/* The first step of a process: what its components must do on this machine whether or not there is an API
 * server. settings: checked. */
void components_begin(const struct daemon_settings *s);

int components_new(const struct components_options *o, struct components **ret, struct error *err);
/* Stops them: nothing is sent from here on. Operations that plugins have begun continue on their workers, and
 * their results are dropped. Only components_free() may follow. Accepts NULL; always returns its argument. */
struct components *components_stop(struct components *c);
/* Waits for the workers. Accepts NULL. */
struct components *components_free(struct components *c);
DEFINE_CLEANUP(struct components, components_free)

/* Starts the work: after on_synced and, with leader election, after the lease is acquired. */
void components_start(struct components *c);

/* The name of the first kind whose cache is not synced; NULL when all are. */
const char *components_missing(const struct components *c);
/* Their state, for explanations and for requests to one of them; valid until they stop. Accepts NULL: the
 * world is empty then. */
struct why_world components_world(const struct components *c);
/* NULL when the state of each component is consistent, otherwise a description of the error. For the
 * simulator. Accepts NULL. */
const char *components_check(const struct components *c, bool is_thorough);
/* Counts pending claims and pods, and names the CSI drivers. Counts nothing if there are too many objects for
 * one step of the loop. The caches must be synced. */
void components_count_waiting(const struct components *c, struct server_status *s);

#endif
