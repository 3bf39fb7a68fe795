/* Tracks the pods of this node: their records, from the first watch event to the last. */
#include "node/node_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct node_pod *agent_pod(const struct agent *a, const char *uid)
{
    return omap_find(&a->world.pods, /* rank= */ 0, uid);
}

static void pod_on_sync(void *ctx)
{
    populate_pod(ctx);
}

struct node_pod *agent_add_pod(struct agent *a, const char *uid)
{
    struct node_pod *p = agent_pod(a, uid);

    if (p)
        return p;
    p = calloc(1, sizeof *p);
    if (p)
        p->uid = strdup(uid);
    if (!p || !p->uid)
        goto fail;
    p->agent = a;
    TAILQ_INIT(&p->mounts);
    timer_init(&p->sync, a->o.part.loop, pod_on_sync, p);
    if (omap_insert(&a->world.pods, /* rank= */ 0, p) < 0)
        goto fail;
    pod_life_init(p);
    return p;
fail:
    if (p)
        free(p->uid);
    free(p);
    return NULL;
}

void pod_free(struct node_pod *p)
{
    populate_cancel(p);
    pod_life_done(p);
    object_unref(p->object);
    free(p->uid);
    free(p);
}

void agent_drop_pod(struct node_pod *p)
{
    struct agent *a = p->agent;

    if (p->is_known || !TAILQ_EMPTY(&p->mounts))
        return;
    assert(agent_pod(a, p->uid) == p);
    volume_sources_drop_pod(a->contents, p->uid);
    (void)omap_remove(&a->world.pods, /* rank= */ 0, p);
    pod_free(p);
}

/* Every pod had its first round, or has terminated: the desired state is complete. */
void pods_check_known(struct agent *a)
{
    struct omap_cursor at;

    if (a->has_pods || !a->has_scanned || !informer_is_synced(a->pods))
        return;
    for (const struct node_pod *p = omap_first(&a->world.pods, &at); p; p = omap_next(&at))
        if (p->is_known && !p->had_round && !p->life.is_over) /* a terminated pod wants no volumes */
            return;
    a->has_pods = true;
    log_debug("pods of this node listed", LOG_UINT("pods", informer_count(a->pods)));
    for (struct node_pod *p = omap_first(&a->world.pods, &at); p; p = omap_next(&at))
        pod_life_sync(p);
    orphans_start(a->orphans);
    if (a->static_pods)
        static_pods_start(a->static_pods);
}

/* Removes all mounts of terminated pods from the desired state. */
void pods_unwant_over(struct agent *a)
{
    struct omap_cursor at;

    for (struct node_pod *p = omap_first(&a->world.pods, &at); p; p = omap_next(&at)) {
        if (!p->life.is_over)
            continue;
        populate_cancel(p);
        for (struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
            mount_unwant(m);
    }
}

/* True when the change of the pod's object affects its volumes; a change of its status does not. */
static bool pod_differs(const struct object *old, const struct object *new)
{
    const struct pod *a = pod_of(old), *b = pod_of(new);

    return old->is_deleting != new->is_deleting || old->generation != new->generation ||
           a->phase != b->phase || a->containers_count != b->containers_count ||
           !kvs_equal(&old->labels, &new->labels) || !kvs_equal(&old->annotations, &new->annotations);
}

static void pod_observe(struct agent *a, const struct object *o)
{
    struct node_pod *p = agent_add_pod(a, o->uid);
    bool is_new;

    if (!p) {
        log_error("skipping pod: out of memory", LOG_STR("pod", o->name));
        return;
    }
    is_new = !p->object || !p->is_known || pod_differs(p->object, o);
    object_unref(p->object);
    p->object = object_ref(o);
    p->is_known = true;
    if (is_new)
        populate_pod(p);
    pod_life_sync(p);
    agent_touch(a);
}

static void pod_lose(struct agent *a, const struct object *o)
{
    struct node_pod *p = agent_pod(a, o->uid);

    if (!p)
        return;
    p->is_known = false;
    pod_life_sync(p);
    agent_touch(a);
}

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    pod_observe(ctx, o);
}

static void on_pod_update(void *ctx, const struct object *old, const struct object *o)
{
    if (strcmp(old->uid, o->uid) != 0)
        pod_lose(ctx, old);
    pod_observe(ctx, o);
}

static void on_pod_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)is_final_unknown;
    pod_lose(ctx, o);
}

static void on_pods_synced(void *ctx)
{
    agent_touch(ctx);
}

void pods_listen(struct agent *a)
{
    a->on_pods = (struct informer_handler){ .on_add = on_pod_add,
                                            .on_update = on_pod_update,
                                            .on_delete = on_pod_delete,
                                            .on_synced = on_pods_synced,
                                            .ctx = a };
    informer_add_handler(a->pods, &a->on_pods);
}
