/* Checks before the storage of a volume is deleted or emptied, and the guard that the worker gets
 * (host/guard.h).
 *
 * The index of volumes by machine keeps a check cheap: it visits volumes with a path on this machine or on
 * the same file server. */
#include "plugins/reclaim_guard.h"

#include <stdio.h>
#include <string.h>

#include "api/node.h"
#include "api/node_selector.h"
#include "machinery/component_deps.h"

/* True if the node matches the volume's node affinity. */
static bool is_reached(const struct volume *v, const struct object *node)
{
    struct error ignored;

    return node_affinity_check(v->affinity, node ? node->labels.items : NULL, node ? node->labels.count : 0,
                               &ignored) == 0;
}

static int check_machine(const struct reclaim_rules *rules, const struct object *node, const struct volume *v,
                         struct error *err)
{
    if (!v->affinity)
        return 0;
    if (!rules->node_name)
        return error_set(err, ERR_DENIED,
                         "the volume has a node affinity and no node agent runs in this process: cannot "
                         "determine whether its data is on this machine");
    if (!node)
        return error_set(err, ERR_DENIED,
                         "the volume has a node affinity and node \"%s\" of this machine is not registered",
                         rules->node_name);
    if (!is_reached(v, node))
        return error_set(
            err, ERR_DENIED,
            "its data is on another machine: node \"%s\" of this machine does not match its node affinity",
            rules->node_name);
    return 0;
}

/* --- Index of volumes by machine --- */

/* The API allows no longer server name. */
#define MACHINE_BYTES_MAX 512
#define THIS_MACHINE "path"

static const char *machine_text(const char *server, char ret[MACHINE_BYTES_MAX])
{
    (void)snprintf(ret, MACHINE_BYTES_MAX, server[0] ? "server/%s" : THIS_MACHINE, server);
    return ret;
}

/* The path of the volume and its server, "" for this machine; false if it has no path. */
static bool path_of(const struct volume *v, const char **server, const char **path)
{
    *server = "";
    if (v->source.kind == SOURCE_HOST_PATH)
        *path = v->source.host_path->path;
    else if (v->source.kind == SOURCE_LOCAL)
        *path = v->source.local->path;
    else if (v->source.kind == SOURCE_NFS) {
        *server = v->source.nfs->server;
        *path = v->source.nfs->path;
    } else
        return false;
    return true;
}

static void index_volume(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const char *server, *path;
    char machine[MACHINE_BYTES_MAX];

    if (path_of(volume_of(o), &server, &path))
        emit(ctx, str_of(machine_text(server, machine)));
}

static const struct informer_index by_machine = { "machine", index_volume };

struct informer *reclaim_volumes(struct informers *all, struct error *err)
{
    return component_indexed(all, KIND_VOLUME, &by_machine, err);
}

/* --- The guard --- */

static void add_volumes(struct host_guard *g, const struct informer *volumes, const char *server,
                        const struct object *node, const struct volume *except)
{
    char machine[MACHINE_BYTES_MAX];
    struct informer_cursor at;

    for (const struct object *o =
             informer_first_by(volumes, by_machine.name, str_of(machine_text(server, machine)), &at);
         o; o = informer_next(&at)) {
        const struct volume *v = volume_of(o);
        const char *path;
        /* It will be reclaimed itself: two volumes of one directory would block each other. */
        bool is_given_up =
            v->phase == VOLUME_RELEASED && (v->reclaim == RECLAIM_DELETE || v->reclaim == RECLAIM_RECYCLE);

        if (strcmp(o->name, except->obj.name) != 0 && !is_given_up && (!node || is_reached(v, node)) &&
            path_of(v, &server, &path))
            host_guard_add_volume(g, o->name, server, path);
    }
}

int reclaim_guard_new(const struct reclaim_rules *rules, const struct informer *volumes,
                      const struct informer *nodes, const struct volume *v, struct host_guard **ret,
                      struct error *err)
{
    const struct object *node = rules->node_name ? informer_get(nodes, "", rules->node_name) : NULL;
    const char *server, *path;
    struct host_guard *g;
    int r = check_machine(rules, node, v, err);

    if (r == 0)
        r = host_guard_new(rules->dirs, &g, err);
    if (r < 0)
        return r;
    add_volumes(g, volumes, "", node, v);
    if (path_of(v, &server, &path) && server[0])
        add_volumes(g, volumes, server, node, v);
    *ret = g;
    return 0;
}

/* --- Verification before deletion --- */

bool reclaim_is_due(const struct volume *v, const char *finalizer)
{
    bool is_kept = !v->obj.is_deleting || (finalizer && texts_have(&v->obj.finalizers, finalizer));

    return v->phase == VOLUME_RELEASED && v->reclaim == RECLAIM_DELETE && is_kept && v->claim.is_set &&
           v->claim.uid[0] != '\0';
}

static int refuse_volume(const char *volume, const char *why, struct error *err)
{
    return error_set(err, ERR_CONFLICT, "volume \"%s\" %s", volume, why);
}

int reclaim_check_volume(const struct client_answer *a, const struct object *seen, const char *finalizer,
                         struct error *err)
{
    switch (api_live_of(a, seen->uid)) {
    case LIVE_GONE:
        return refuse_volume(seen->name, "no longer exists", err);
    case LIVE_THERE:
        return reclaim_is_due(volume_of(a->object), finalizer)
                   ? 0
                   : refuse_volume(seen->name, "is no longer released", err);
    case LIVE_UNKNOWN:
        break;
    }
    *err = a->error;
    return a->r;
}

int reclaim_check_claim(const struct client_answer *a, const struct volume *v, struct error *err)
{
    switch (api_live_of(a, v->claim.uid)) {
    case LIVE_GONE:
        return 0;
    case LIVE_THERE:
        return refuse_volume(v->obj.name, "is still bound to its claim", err);
    case LIVE_UNKNOWN:
        break;
    }
    *err = a->error;
    return a->r;
}
