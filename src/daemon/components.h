/* The components of a process: controllers, scheduler, node agent, as selected from one table, with the
 * caches, workers and plugins that they need.
 *
 * The same in front of the server in this process and of any other: only the client differs. The order of a
 * life: components_new() makes each in the order of the table and lets the caches fill, components_start()
 * lets them work, components_free() ends them in the opposite order. */
#ifndef BERTH_DAEMON_COMPONENTS_H
#define BERTH_DAEMON_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "host/guard.h"
#include "machinery/parts.h"
#include "plugins/plugin.h"
#include "why/world.h"

struct components;
struct daemon_settings;
struct plugin_registry;
struct pool;
struct server_status;

/* --- The table --- */

/* Parts of a server that can be left out, and that can be programs of their own. */
enum {
    DAEMON_CONTROLLERS = 1 << 0,
    DAEMON_SCHEDULER = 1 << 1,
    DAEMON_NODE = 1 << 2,
};

/* A program is a selection of components. */
struct daemon_program {
    const char *name; /* of its verb */
    unsigned parts;
    bool has_server; /* the API server runs in the same process */
};

extern const struct daemon_program daemon_serve;
extern const struct daemon_program daemon_controllers;
extern const struct daemon_program daemon_scheduler;
extern const struct daemon_program daemon_node;
/* Those that are one part, NULL at the end; the part has the program's name. */
extern const struct daemon_program *const daemon_parts[];

/* What a component is made from. */
struct component_env {
    struct part_options part; /* informers included */
    const struct daemon_settings *settings;
    struct pool *pool;               /* of its own; NULL unless the row has workers */
    struct plugin_registry *plugins; /* of its own; NULL unless the row names any */
    const struct guard_dirs *dirs;   /* what no volume is ever reclaimed in, above, or given to a group */
    const char *node_name;
    const char *host;
    const char *reclaim_node; /* volumes of other nodes are not reclaimed here; NULL: there is no node */
    const char *cannot_mount; /* why this process cannot; NULL: it can */
    bool streams_lists;       /* informer.h */
};

/* A kind in the sets of a row. */
#define COMPONENT_KIND(k) (UINT64_C(1) << (k))

struct component {
    const char *name;
    unsigned part;           /* DAEMON_*: whose it is */
    uint64_t kinds;          /* that it reads: cached, and waited for before it starts */
    uint64_t kinds_optional; /* the same, but a server may not have them */
    const char *lease;       /* held by whoever may run it, with --leader-elect; NULL: every process may */
    /* The section of a file of settings that is for it, and who reads it; NULL: it has flags only. */
    const char *section;
    int (*read_section)(const struct json *d, json_ref section, struct daemon_settings *s, struct error *err);
    /* What it needs of the process: workers, and how much may wait for them; plugins, to which those found
     * in the directory of FlexVolume drivers are added. */
    size_t workers;
    size_t queue_max;
    const struct volume_plugin *const *plugins;
    const char *plugins_failure; /* a plugin that does not load ends the start, in these words; NULL: it is
                                    left out */
    /* NULL: always. */
    bool (*is_wanted)(const struct daemon_settings *s);
    int (*new)(const struct component_env *env, void **ret, struct error *err);
    void (*start)(void *component);
    void (*stop)(void *component); /* and frees it */
    /* Adds what it knows to the world of explanations; NULL: nothing. */
    void (*explain)(void *component, struct why_world *w);
};

/* Ends with a NULL name. */
extern const struct component daemon_components[];

/* The lease of the components of these parts; NULL: there is none. */
const char *daemon_lease(unsigned parts);
/* Reads a section of a file of settings: 0 when no component of the program has one of that name, 1 when it
 * is read, or -ERR_*. */
int daemon_read_section(const struct daemon_program *p, const char *name, const struct json *d,
                        json_ref section, struct daemon_settings *s, struct error *err);

/* --- Those of a process --- */

struct components_options {
    unsigned parts;
    struct part_options part;               /* but for the informers */
    const struct daemon_settings *settings; /* checked; outlives the components, as the rest */
    const char *host;                       /* of this machine */
    bool streams_lists;                     /* informer.h */
    /* Of explanations: why_world's. NULL: without events. */
    void (*each_event)(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx);
    void *events_ctx;
    /* The caches are filled: components_start() may follow. On the loop, once. */
    void (*on_synced)(void *ctx);
    void *ctx;
};

int components_new(const struct components_options *o, struct components **ret, struct error *err);
/* Ends them: nothing is sent from here on, and nobody hears of what plugins have begun, which goes on on its
 * workers. Only components_free() may follow. Takes NULL; always returns its argument. */
struct components *components_stop(struct components *c);
/* Waits for the workers. Takes NULL. */
struct components *components_free(struct components *c);
DEFINE_CLEANUP(struct components, components_free)

/* The work begins: after on_synced, and where there is an election, won. */
void components_start(struct components *c);

/* The name of the first kind whose cache is not filled yet; NULL when all are. */
const char *components_missing(const struct components *c);
/* What they know, for explanations and for questions to one of them; valid until they stop. Takes NULL:
 * nothing is known then. */
struct why_world components_world(const struct components *c);
/* Counts what waits, and names the CSI drivers. Nothing is counted where there are too many objects for one
 * turn of the loop. The caches must be filled. */
void components_count_waiting(const struct components *c, struct server_status *s);

#endif
