/* Wanted and there compared, volume by volume, and what follows: what nobody wants is unmounted, what is
 * wanted is attached, mounted, set up anew or grown, what no pod has is taken from the node.
 *
 * One pass looks at everything and costs a microsecond a volume; it runs when something changed. Nothing is
 * unmounted before all pods are known, and under a pod that is not over never: what may look unwanted after a
 * restart, or while a claim cannot be read, may be in use. */
#include "node/operate.h"

#include <stdlib.h>
#include <string.h>

bool reconcile_may_unmount(const struct agent *a)
{
    return a->has_pods && a->has_attached;
}

static bool is_pending(const struct agent *a, const struct node_volume *v, const struct node_pod *p)
{
    struct operation_key key = volume_key(v, p);

    return operations_is_pending(a->ops, &key);
}

/* reason: a literal; NULL for none. */
static void say_wait(const struct agent *a, struct node_volume *v, const char *reason)
{
    v->waits_for = reason;
    if (reason)
        wait_log_begin(&v->wait, a->o.part.loop, "volume", v->name, reason);
    else
        wait_log_end(&v->wait);
}

/* --- Unwanted mounts --- */

static void unmount_unwanted(struct agent *a, struct node_volume *v)
{
    struct node_mount *m, *next;

    for (m = TAILQ_FIRST(&v->mounts); m; m = next) {
        next = TAILQ_NEXT(m, of_volume);
        if (m->is_wanted || m->state == MOUNT_NONE || is_pending(a, v, m->pod))
            continue;
        if (m->pod->life.is_over)
            operate_unmount(m);
    }
}

/* --- Wanted ones --- */

/* The volume is attached, or need not be. One that was found on disk and is not reported as attached is
 * treated like a new one: it may be another node's by now. That it is in use is written before it is
 * attached, by whomever: so a node that attaches itself finds what to detach when it was killed meanwhile. */
static bool make_held(struct agent *a, struct node_volume *v)
{
    const struct node *n = agent_node(a);

    if (v->is_held && (!v->is_attachable || v->attach == ATTACH_YES))
        return true;
    if (!v->is_attachable) {
        volume_mark_unattachable(v);
        return true;
    }
    if (is_pending(a, v, NULL))
        return false;
    if (!v->is_reported) {
        say_wait(a, v, "the node's status to say that it is in use");
    } else if (a->o.attaches_itself) {
        operate_attach(a, v);
    } else if (!n || !node_attached_volume(n, v->name)) {
        say_wait(a, v, "the controller to attach it");
    } else {
        say_wait(a, v, "the node's status to list it as attached");
        operate_verify(a, v);
    }
    return false;
}

static void mount_in_turn(struct node_mount *m)
{
    struct node_mounts *all = &m->volume->mounts;

    if (!operate_mount(m))
        return;
    TAILQ_REMOVE(all, m, of_volume);
    TAILQ_INSERT_TAIL(all, m, of_volume);
}

/* Pods that share a volume's operations take turns: one whose tries fail again and again does not keep the
 * others from theirs. */
static void mount_wanted(struct agent *a, struct node_volume *v)
{
    struct node_mount *last = TAILQ_LAST(&v->mounts, node_mounts), *m, *next;

    for (m = TAILQ_FIRST(&v->mounts); m; m = m == last ? NULL : next) {
        bool is_shared = v->is_attachable || v->has_device;

        next = TAILQ_NEXT(m, of_volume);
        if (!m->is_wanted || !make_held(a, v) || is_pending(a, v, is_shared ? NULL : m->pod))
            continue;
        say_wait(a, v, NULL);
        if (m->state != MOUNT_DONE || m->needs_remount)
            mount_in_turn(m);
        else if (volume_has_to_grow(v))
            operate_grow(m);
    }
}

/* --- What is left --- */

/* Frees what is neither wanted nor there; true when the volume's record is gone. */
static bool drop_records(struct agent *a, struct node_volume *v)
{
    struct node_mount *m, *next;
    bool is_gone = false;

    for (m = TAILQ_FIRST(&v->mounts); m && !is_gone; m = next) {
        struct node_pod *p = m->pod;

        next = TAILQ_NEXT(m, of_volume);
        if (m->is_wanted || m->state != MOUNT_NONE || is_pending(a, v, p))
            continue;
        is_gone = !v->is_held && !next && TAILQ_FIRST(&v->mounts) == m;
        (void)world_drop_mount(&a->world, m);
        pod_life_look(p);
    }
    return is_gone;
}

static void release_volume(struct agent *a, struct node_volume *v)
{
    if (!TAILQ_EMPTY(&v->mounts) || is_pending(a, v, NULL))
        return;
    if (v->is_held && v->device != MOUNT_NONE) {
        operate_unmount_device(a, v);
    } else if (v->is_held && a->o.attaches_itself && v->attach != ATTACH_NO) {
        if (!unknown_mounts_keep(a, v->name)) /* it may be mounted there */
            operate_detach(a, v);
    } else {
        v->is_held = false;
        (void)world_drop_volume(&a->world, v);
    }
}

static void force_unmounts(struct agent *a)
{
    for (size_t i = 0; i < a->failed.count; i++) {
        struct failed_volume *f = &a->failed.items[i];
        const struct node_pod *p = agent_pod(a, f->pod_uid);
        bool is_wanted = false;

        for (const struct node_mount *m = p ? TAILQ_FIRST(&p->mounts) : NULL; m; m = TAILQ_NEXT(m, of_pod))
            is_wanted |= m->is_wanted && strcmp(spec_name(&m->wanted.spec), f->name) == 0;
        if (!is_wanted && !(p && p->is_known && !p->life.is_over))
            operate_force_unmount(a, f->plugin, f->name, f->pod_uid);
    }
    agent_clear_failed(a);
}

void reconcile(void *agent)
{
    struct agent *a = agent;
    _cleanup_(vec_done_p) VEC(struct node_volume *) all = { 0 };
    bool may_unmount = reconcile_may_unmount(a);
    struct omap_cursor at;

    if (!a->has_scanned)
        return;
    for (struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at))
        if (vec_push(&all, v) < 0) {
            agent_touch(a);
            return;
        }
    for (size_t i = 0; may_unmount && i < all.count; i++)
        unmount_unwanted(a, all.items[i]);
    for (size_t i = 0; i < all.count; i++)
        mount_wanted(a, all.items[i]);
    for (size_t i = 0; may_unmount && i < all.count; i++)
        if (!drop_records(a, all.items[i]))
            release_volume(a, all.items[i]);
    if (may_unmount)
        force_unmounts(a);
    registration_report(a->registration);
}
