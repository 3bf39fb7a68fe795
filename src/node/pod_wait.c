/* Determines from the records what a pod is waiting for. No I/O. */
#include "node/node_int.h"

#include <string.h>

bool pod_uses_volume(const struct pod *p, const char *outer_name, bool *ret_is_mounted, bool *ret_is_block)
{
    bool is_mounted = false, is_block = false;

    for (uint32_t i = 0; i < p->containers_count; i++) {
        const struct pod_container *c = &p->containers[i];

        for (uint32_t j = 0; j < c->mounts_count; j++)
            is_mounted |= strcmp(c->mounts[j].volume, outer_name) == 0;
        for (uint32_t j = 0; j < c->devices_count; j++)
            is_block |= strcmp(c->devices[j].volume, outer_name) == 0;
    }
    *ret_is_mounted = is_mounted;
    *ret_is_block = is_block;
    return is_mounted || is_block;
}

struct node_mount *pod_mount_named(const struct node_pod *p, const char *outer_name)
{
    for (struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        for (size_t i = 0; m->is_wanted && i < m->outer_names.count; i++)
            if (strcmp(m->outer_names.items[i], outer_name) == 0)
                return m;
    return NULL;
}

bool pod_is_unmounted(const struct node_pod *p)
{
    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        if (m->state != MOUNT_NONE ||
            operations_is_pending(p->agent->ops, &(struct operation_key){ m->volume->name, p->uid, "" }))
            return false;
    return true;
}

/* --- Missing volumes --- */

enum missing { MISSING_MOUNT, MISSING_ATTACHMENT, MISSING_RECORD };

/* True for a volume that a container uses and that lacks the given state. */
static bool is_missing(const struct node_pod *p, const char *outer_name, enum missing what)
{
    const struct node_mount *m;
    bool is_mounted, is_block;

    if (!pod_uses_volume(pod_of(p->object), outer_name, &is_mounted, &is_block))
        return false;
    m = pod_mount_named(p, outer_name);
    switch (what) {
    case MISSING_MOUNT:
        return !m || m->state != MOUNT_DONE;
    case MISSING_ATTACHMENT:
        return m && m->volume->is_attachable && !(m->volume->is_held && m->volume->attach == ATTACH_YES);
    case MISSING_RECORD:
        return !m;
    }
    return false;
}

enum volumes_state pod_volumes_state(const struct node_pod *p)
{
    const struct pod_volumes *all = &pod_of(p->object)->volumes;

    for (uint32_t i = 0; i < all->count; i++)
        if (is_missing(p, all->items[i].name, MISSING_MOUNT))
            return p->errors_count > 0 ? VOLUMES_FAILED : VOLUMES_WAITING;
    return VOLUMES_READY;
}

static int cmp_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_missing(const struct node_pod *p, enum missing what, struct buf *out)
{
    const struct pod_volumes *all = &pod_of(p->object)->volumes;
    _cleanup_(vec_done_p) VEC(const char *) names = { 0 };

    for (uint32_t i = 0; i < all->count; i++)
        if (is_missing(p, all->items[i].name, what))
            (void)vec_push(&names, all->items[i].name); /* without memory one name is missing from a text */
    if (names.count > 1)
        qsort(names.items, names.count, sizeof *names.items, cmp_names);
    buf_add_char(out, '[');
    for (size_t i = 0; i < names.count; i++)
        buf_addf(out, "%s%s", i ? " " : "", names.items[i]);
    buf_add_char(out, ']');
}

void pod_write_volumes_state(const struct node_pod *p, const char *cause, struct buf *out)
{
    buf_add_cstr(out, "unmounted volumes=");
    write_missing(p, MISSING_MOUNT, out);
    buf_add_cstr(out, ", unattached volumes=");
    write_missing(p, MISSING_ATTACHMENT, out);
    buf_add_cstr(out, ", failed to process volumes=");
    write_missing(p, MISSING_RECORD, out);
    buf_addf(out, ": %s", cause);
}

/* --- Explanations --- */

static void report_volume_wait(const struct node_pod *p, const char *outer_name, agent_wait_fn *fn, void *ctx)
{
    const struct node_mount *m = pod_mount_named(p, outer_name);
    struct agent_wait w = { .volume = outer_name, .waits_for = "", .op.message = "" };
    struct operation_key key;

    if (m) {
        key = volume_key(m->volume, p);
        (void)operations_inspect(p->agent->ops, &key, &w.op);
        if (m->volume->waits_for)
            w.waits_for = m->volume->waits_for;
    }
    fn(ctx, &w);
}

/* A terminating pod: first its containers, then the volumes that are still mounted. */
static void report_end_wait(const struct node_pod *p, agent_wait_fn *fn, void *ctx)
{
    if (!p->life.is_over) {
        fn(ctx, &(struct agent_wait){ .volume = "",
                                      .waits_for = p->life.is_set_up
                                                       ? "the pod hook to stop its containers"
                                                       : "its containers to be reported as terminated",
                                      .is_unmount = true,
                                      .op.message = "" });
        return;
    }
    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod)) {
        struct agent_wait w = {
            .volume = spec_name(&m->spec.spec), .waits_for = "", .is_unmount = true, .op.message = ""
        };
        struct operation_key key = volume_key(m->volume, p);

        if (m->state == MOUNT_NONE)
            continue;
        (void)operations_inspect(p->agent->ops, &key, &w.op);
        fn(ctx, &w);
    }
}

bool agent_each_wait(const struct agent *a, const char *pod_uid, agent_wait_fn *fn, void *ctx)
{
    const struct node_pod *p = agent_pod(a, pod_uid);
    const struct pod_volumes *all;

    if (!p || !p->object)
        return false;
    if (p->life.stage >= POD_STAGE_TEARDOWN) {
        report_end_wait(p, fn, ctx);
        return true;
    }
    for (unsigned i = 0; i < p->errors_count; i++)
        fn(ctx, &(struct agent_wait){ .volume = "", .waits_for = "", .op.message = p->errors[i] });
    all = &pod_of(p->object)->volumes;
    for (uint32_t i = 0; i < all->count; i++)
        if (is_missing(p, all->items[i].name, MISSING_MOUNT))
            report_volume_wait(p, all->items[i].name, fn, ctx);
    return true;
}
