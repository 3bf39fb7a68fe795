/* Reconciles the actual with the desired state, volume by volume: unwanted volumes are unmounted, wanted ones
 * are attached, mounted, set up again or expanded, and devices without pods are unmounted and detached.
 *
 * One pass examines all volumes at one microsecond per volume; it runs when something changed. Nothing is
 * unmounted before all pods are listed, and never under a pod that has not terminated: a volume that seems
 * unwanted after a restart, or while a claim cannot be read, may be in use. */
#include "node/volume_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/mutant.h"

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
static void set_wait_reason(const struct agent *a, struct node_volume *v, const char *reason)
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
        if (pod_may_be_unmounted(m->pod) || MUTANT("node-unmounts-what-looks-unwanted"))
            volume_op_unmount(m);
    }
}

/* --- Wanted mounts --- */

/* The volume is attached, or need not be. A volume found on disk that is not reported as attached is handled
 * like a new one: it may be attached to another node now. volumesInUse is written before the volume is
 * attached, also by the node itself: a node that attaches its volumes finds there what to detach after it was
 * killed. */
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
        set_wait_reason(a, v, "the node's status to list it in volumesInUse");
    } else if (a->o.attaches_itself) {
        volume_op_attach(a, v);
    } else if (!n || !node_attached_volume(n, v->name)) {
        set_wait_reason(a, v, "the controller to attach it");
    } else {
        set_wait_reason(a, v, "the node's status to list it in volumesAttached");
        volume_op_verify(a, v);
    }
    return false;
}

static void mount_in_turn(struct node_mount *m)
{
    struct node_mounts *all = &m->volume->mounts;

    if (!volume_op_mount(m))
        return;
    TAILQ_REMOVE(all, m, of_volume);
    TAILQ_INSERT_TAIL(all, m, of_volume);
}

/* Pods that share a volume's operations take turns, so that a pod whose attempts fail does not block the
 * others. */
static void mount_wanted(struct agent *a, struct node_volume *v)
{
    struct node_mount *last = TAILQ_LAST(&v->mounts, node_mounts), *m, *next;

    for (m = TAILQ_FIRST(&v->mounts); m; m = m == last ? NULL : next) {
        bool is_shared = v->is_attachable || v->has_device;

        next = TAILQ_NEXT(m, of_volume);
        if (!m->is_wanted || !make_held(a, v) || is_pending(a, v, is_shared ? NULL : m->pod))
            continue;
        set_wait_reason(a, v, NULL);
        if (m->state != MOUNT_DONE || m->needs_remount)
            mount_in_turn(m);
        else if (volume_has_to_grow(v))
            volume_op_grow(m);
    }
}

/* --- Devices and records --- */

/* Frees records that are neither wanted nor mounted; true when the volume's record was freed. */
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
        (void)node_world_drop_mount(&a->world, m);
        pod_life_sync(p);
    }
    return is_gone;
}

static void release_volume(struct agent *a, struct node_volume *v)
{
    if (!TAILQ_EMPTY(&v->mounts) || is_pending(a, v, NULL))
        return;
    if (v->is_held && v->device != MOUNT_NONE) {
        volume_op_unmount_device(a, v);
    } else if (v->is_held && a->o.attaches_itself && v->attach != ATTACH_NO) {
        if (!unknown_mounts_keep(a, v->name)) /* it may be mounted there */
            volume_op_detach(a, v);
    } else {
        v->is_held = false;
        (void)node_world_drop_volume(&a->world, v);
    }
}

/* Nothing is unmounted under a pod that has not terminated, known or not: its containers may run. */
static void force_unmounts(struct agent *a)
{
    bool must_retry = false;

    for (size_t i = a->failed.count; i > 0; i--) {
        struct failed_volume *f = &a->failed.items[i - 1];
        const struct node_pod *p = agent_pod(a, f->pod_uid);
        bool has_record = false; /* the record's operations unmount it */

        for (const struct node_mount *m = p ? TAILQ_FIRST(&p->mounts) : NULL; m; m = TAILQ_NEXT(m, of_pod))
            has_record |=
                m->is_wanted && m->state != MOUNT_NONE && strcmp(spec_name(&m->wanted.spec), f->name) == 0;
        if (f->is_unmounting || f->retry_at_ns > loop_now_ns(a->o.part.loop) ||
            (!has_record && p && !pod_may_be_unmounted(p) && !MUTANT("node-forces-under-pods")))
            continue;
        if (has_record)
            agent_drop_failed(a, i - 1);
        else if (!volume_op_force_unmount(a, f))
            must_retry = true;
    }
    if (must_retry)
        timer_arm_after(&a->failed_retry, FAILED_RETRY_NS);
}

void reconcile_volumes(void *agent)
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
