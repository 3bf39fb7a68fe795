#include "plugins/reclaim_guard.h"

#include <string.h>

#include "api/node.h"
#include "api/node_selector.h"

/* Whether the node meets the affinity. */
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
                         "the volume has a node affinity, and no node agent runs in this process: whether "
                         "its data is on this machine is not known");
    if (!node)
        return error_set(err, ERR_DENIED,
                         "the volume has a node affinity, and node \"%s\" of this machine is not registered",
                         rules->node_name);
    if (!is_reached(v, node))
        return error_set(err, ERR_DENIED,
                         "its data is on another machine: node \"%s\" of this one does not meet its node "
                         "affinity",
                         rules->node_name);
    return 0;
}

/* Its own reclaiming is to come: two volumes of one directory would wait for each other. */
static bool is_given_up(const struct volume *v)
{
    return v->phase == VOLUME_RELEASED && (v->reclaim == RECLAIM_DELETE || v->reclaim == RECLAIM_RECYCLE);
}

static void add_volume(struct host_guard *g, const struct volume *v)
{
    const char *name = v->obj.name;

    if (v->source.kind == SOURCE_HOST_PATH)
        host_guard_add_volume(g, name, "", v->source.host_path->path);
    else if (v->source.kind == SOURCE_LOCAL)
        host_guard_add_volume(g, name, "", v->source.local->path);
    else if (v->source.kind == SOURCE_NFS)
        host_guard_add_volume(g, name, v->source.nfs->server, v->source.nfs->path);
}

int reclaim_guard_new(const struct reclaim_rules *rules, const struct informer *volumes,
                      const struct informer *nodes, const struct volume *v, struct host_guard **ret,
                      struct error *err)
{
    const struct object *node = rules->node_name ? informer_get(nodes, "", rules->node_name) : NULL;
    struct informer_cursor at;
    struct host_guard *g;
    int r = check_machine(rules, node, v, err);

    if (r == 0)
        r = host_guard_new(rules->dirs, &g, err);
    if (r < 0)
        return r;
    for (const struct object *o = informer_first(volumes, &at); o; o = informer_next(&at))
        if (strcmp(o->name, v->obj.name) != 0 && !is_given_up(volume_of(o)) &&
            (!node || is_reached(volume_of(o), node)))
            add_volume(g, volume_of(o));
    *ret = g;
    return 0;
}
