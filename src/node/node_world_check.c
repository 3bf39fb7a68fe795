/* Checks the invariants of the records and of running operations, for the simulator. */
#include "node/volume_ops.h"

#include <string.h>

#include "base/tailq.h"

/* Per volume or pod; a longer list is assumed to be circular. */
#define MOUNTS_MAX 100000

/* --- Records --- */

static const char *mount_check_record(const struct node_world *w, const struct node_mount *m)
{
    if (omap_find(&w->pods, /* rank= */ 0, m->pod->uid) != m->pod)
        return "a mount refers to an unknown pod";
    if (node_world_find_volume(w, m->volume->name) != m->volume)
        return "a mount refers to an unknown volume";
    if (m->state >= MOUNT_STATE_COUNT)
        return "a mount has an invalid state";
    if (!m->is_wanted && (m->outer_names.count > 0 || m->wanted.holder))
        return "an unwanted mount has a wanted spec or names";
    if (m->is_wanted && !m->wanted.holder)
        return "a wanted mount has no spec";
    for (size_t i = 1; i < m->outer_names.count; i++)
        if (strcmp(m->outer_names.items[i - 1], m->outer_names.items[i]) >= 0)
            return "the names of a mount are not sorted";
    return NULL;
}

static const char *volume_check(const struct node_world *w, const struct node_volume *v, size_t *mounts)
{
    const char *wrong = NULL;
    size_t count = 0;

    if (!tailq_is_sound(&v->mounts, offsetof(struct node_mount, of_volume), MOUNTS_MAX, &count))
        return "the mounts of a volume are not linked both ways";
    if (v->device >= MOUNT_STATE_COUNT)
        return "the device of a volume has an invalid state";
    if (!v->is_held && v->device != MOUNT_NONE)
        return "a volume has a mounted device and is not held";
    for (const struct node_mount *m = TAILQ_FIRST(&v->mounts); m && !wrong; m = TAILQ_NEXT(m, of_volume)) {
        if (m->volume != v || node_world_find_mount(v, m->pod->uid) != m)
            wrong = "a mount is listed for another volume, or twice";
        else if (m->state != MOUNT_NONE && !v->is_held)
            wrong = "a volume is mounted and not held";
        else
            wrong = mount_check_record(w, m);
    }
    *mounts += count;
    return wrong;
}

static const char *pod_check(const struct node_pod *p, size_t *mounts)
{
    size_t count = 0;

    if (!tailq_is_sound(&p->mounts, offsetof(struct node_mount, of_pod), MOUNTS_MAX, &count))
        return "the mounts of a pod are not linked both ways";
    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        if (m->pod != p)
            return "a mount is listed for another pod";
    if (p->errors_count > POD_ERRORS_MAX)
        return "a pod has more errors than are kept";
    *mounts += count;
    return NULL;
}

const char *node_world_check(const struct node_world *w)
{
    size_t of_volumes = 0, of_pods = 0;
    const char *wrong = NULL;
    struct omap_cursor at;

    for (const struct node_pod *p = omap_first(&w->pods, &at); p && !wrong; p = omap_next(&at))
        wrong = pod_check(p, &of_pods);
    for (const struct node_volume *v = omap_first(&w->volumes, &at); v && !wrong; v = omap_next(&at))
        wrong = volume_check(w, v, &of_volumes);
    if (wrong)
        return wrong;
    return of_volumes == of_pods ? NULL : "a mount is in the list of its volume or of its pod, not in both";
}

/* --- Operations --- */

static bool has_volume(const struct node_world *w, const struct node_volume *v)
{
    struct omap_cursor at;

    for (const struct node_volume *other = omap_first(&w->volumes, &at); other; other = omap_next(&at))
        if (other == v)
            return true;
    return false;
}

static bool has_mount(const struct node_volume *v, const struct node_mount *m)
{
    for (const struct node_mount *other = TAILQ_FIRST(&v->mounts); other;
         other = TAILQ_NEXT(other, of_volume))
        if (other == m)
            return true;
    return false;
}

static const char *running_check(const struct agent *a)
{
    const struct node_op *op;
    size_t count = 0;

    TAILQ_FOREACH(op, &a->running, link) {
        if (op->agent != a || !op->pending || ++count > operations_pending(a->ops))
            return "a running operation is not registered as pending";
        if (op->volume && !has_volume(&a->world, op->volume))
            return "an operation refers to a removed volume";
        if (op->mount && (!op->volume || !has_mount(op->volume, op->mount)))
            return "an operation refers to a removed mount";
    }
    return count == operations_pending(a->ops) ? NULL : "a pending operation is not running";
}

const char *agent_check_world(const struct agent *a)
{
    const char *wrong = operations_check(a->ops);

    if (!wrong)
        wrong = node_world_check(&a->world);
    return wrong ? wrong : running_check(a);
}
