/* Detects mounts that another program unmounted. One snapshot of the mount table is in progress at a time; it
 * is compared with the records in batches, one batch per loop iteration, and next_volume and next_pod keep
 * the position between batches, since records may be added or removed in between. */
#include "node/mount_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/mount_watch.h"
#include "node/mount_snapshot.h"
#include "node/node_int.h"
#include "node/pod_report.h"

/* Minimum interval between the starts of two snapshots: a constant plus a part per mount of the machine, ten
 * times the cost of reading it. */
#define SNAPSHOT_GAP_NS (500 * NS_PER_MS)
#define SNAPSHOT_GAP_MOUNT_NS (100 * NS_PER_US)
/* Delay after a failed snapshot. */
#define SNAPSHOT_RETRY_NS (2 * NS_PER_S)
/* Records compared per loop iteration: less than a millisecond. */
#define BATCH_COUNT 500

struct mount_check {
    struct agent *agent;
    struct mount_watch *watch;       /* NULL: changes are not detected */
    struct job *job;                 /* of the snapshot in progress; NULL */
    struct mount_snapshot *snapshot; /* being compared; NULL */
    struct deferred step;            /* the next batch */
    char *next_volume;               /* the first volume that is not compared yet; NULL: start */
    char *next_pod;                  /* the first pod that is not compared yet; NULL: start */
    bool has_volumes;                /* all volumes are compared */
    struct timer next;
    uint64_t number; /* of the snapshot in progress */
    uint64_t began_ns;
    size_t mounts;    /* of the machine, in the last snapshot */
    bool is_due;      /* the table changed since the last snapshot began */
    bool has_begun;   /* a snapshot was begun before */
    bool has_skipped; /* the last comparison skipped mounts with operations in flight */
    bool has_failed;  /* the last snapshot failed; logged once */
    void (*known)(void *agent);
};

static void check_begin_when_due(struct mount_check *c);

/* --- Comparing --- */

static bool is_pending(const struct agent *a, const struct node_volume *v, const struct node_pod *p)
{
    return operations_is_pending(a->ops, &(struct operation_key){ v->name, p ? p->uid : "", "" });
}

static void report_lost(struct node_pod *p, const char *name, const char *path)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)2 * PATH_MAX);

    buf_addf(&text, "volume \"%s\" was unmounted by another program at %s, mounting it again", name, path);
    pod_warn(p, "MountLost", text.failed ? "a volume was unmounted by another program" : buf_cstr(&text));
}

/* The mount may exist in part, as after a restart: is_found keeps failures from declaring it unmounted, and
 * the pod's end tears it down. */
static void lose_mount(struct node_mount *m)
{
    mount_set_state(m, MOUNT_EVENT_LOST);
    m->is_found = true;
    m->pod->life.has_lost_mount = true;
    pod_life_sync(m->pod);
    agent_touch(m->pod->agent);
}

/* The pods of the volume are not ready until the device is mounted again: a new pod could not bind it. */
static void lose_device(struct node_volume *v)
{
    volume_set_device(v, MOUNT_EVENT_LOST);
    v->is_found = true;
    for (struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume)) {
        if (!m->is_wanted || m->state != MOUNT_DONE)
            continue;
        report_lost(m->pod, spec_name(&m->spec.spec), v->device_mount_path);
        lose_mount(m);
    }
}

static void compare_volume(struct mount_check *c, const struct mount_snapshot *k, struct node_volume *v)
{
    bool is_lost = v->device == MOUNT_DONE && v->device_is_mount_point && v->device_snapshot < c->number &&
                   volume_is_wanted(v) && !mount_snapshot_has(k, v->device_mount_path);

    if (v->device == MOUNT_DONE)
        unknown_mounts_claim(c->agent, v->device_mount_path);
    if (is_lost && is_pending(c->agent, v, NULL))
        c->has_skipped = true;
    else if (is_lost)
        lose_device(v);
    for (struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume)) {
        if (m->state != MOUNT_DONE || !m->mount_point[0])
            continue;
        unknown_mounts_claim(c->agent, m->mount_point);
        if (m->snapshot_number >= c->number || !m->is_wanted || mount_snapshot_has(k, m->mount_point))
            continue;
        if (is_pending(c->agent, v, m->pod)) {
            c->has_skipped = true;
            continue;
        }
        report_lost(m->pod, spec_name(&m->spec.spec), m->mount_point);
        lose_mount(m);
    }
}

/* subPath mounts: when one is lost the pod is prepared again. */
static void compare_pod(const struct mount_check *c, const struct mount_snapshot *k, struct node_pod *p)
{
    struct pod_life *l = &p->life;

    if (!l->says_ready || l->stage >= POD_STAGE_TEARDOWN || l->ready_snapshot >= c->number ||
        l->has_lost_mount)
        return;
    for (uint32_t i = 0; i < l->parts.count && !l->has_lost_mount; i++) {
        unknown_mounts_claim(c->agent, l->parts.items[i].path);
        if (!mount_snapshot_has(k, l->parts.items[i].path)) {
            report_lost(p, l->parts.items[i].volume, l->parts.items[i].path);
            l->has_lost_mount = true;
            pod_life_sync(p);
        }
    }
}

/* Compares one batch of volumes; true when it was the last one. A volume that is added between two batches
 * was mounted after the snapshot began and is ignored. */
static bool compare_volumes(struct mount_check *c)
{
    struct agent *a = c->agent;
    struct omap_cursor at;
    struct node_volume *v = omap_lower_bound(&a->world.volumes, /* rank= */ 0, c->next_volume, &at);

    for (unsigned i = 0; v && i < BATCH_COUNT; i++, v = omap_next(&at))
        compare_volume(c, c->snapshot, v);
    if (v)
        node_world_set_text(&c->next_volume, v->name);
    return !v;
}

static bool compare_pods(struct mount_check *c)
{
    struct agent *a = c->agent;
    struct omap_cursor at;
    struct node_pod *p = omap_lower_bound(&a->world.pods, /* rank= */ 0, c->next_pod, &at);

    for (unsigned i = 0; p && i < BATCH_COUNT; i++, p = omap_next(&at))
        compare_pod(c, c->snapshot, p);
    if (p)
        node_world_set_text(&c->next_pod, p->uid);
    return !p;
}

static void end_comparing(struct mount_check *c)
{
    loop_undefer(&c->step);
    c->snapshot = mount_snapshot_free(c->snapshot);
    free(c->next_volume);
    free(c->next_pod);
    c->next_volume = c->next_pod = NULL;
    c->has_volumes = false;
}

static void on_step(void *ctx)
{
    struct mount_check *c = ctx;

    if (!c->has_volumes)
        c->has_volumes = compare_volumes(c);
    else if (compare_pods(c)) {
        unknown_mounts_check(c->agent, c->snapshot);
        end_comparing(c);
        check_begin_when_due(c);
        return;
    }
    loop_defer(&c->step);
}

/* --- Snapshots --- */

static void check_fail(struct mount_check *c, const struct error *err)
{
    if (!c->has_failed)
        log_warn("cannot read mount table, retrying", LOG_ERR(err));
    c->has_failed = c->is_due = true;
    timer_arm_after(&c->next, SNAPSHOT_RETRY_NS);
}

static void on_snapshot_read(void *ctx, struct job *j, int r, const struct error *err)
{
    struct mount_check *c = ctx;
    struct error failure = *err;

    c->job = NULL;
    if (r == 0) {
        c->snapshot = mount_snapshot_take(j);
        c->mounts = mount_snapshot_table_count(c->snapshot);
    }
    if (r == 0 && c->known && !unknown_mounts_find(c->agent, c->snapshot))
        r = error_no_memory(&failure);
    if (r < 0) {
        end_comparing(c);
        check_fail(c, &failure);
        return;
    }
    c->has_failed = c->has_skipped = false;
    if (c->known)
        TAKE(c->known)(c->agent);
    loop_defer(&c->step);
}

static void check_begin(struct mount_check *c)
{
    struct agent *a = c->agent;
    struct job *j = mount_snapshot_job(a->root, (struct hash_seed){ rng_u64(&a->rng), rng_u64(&a->rng) });
    struct error err;

    if (!j) {
        (void)error_no_memory(&err);
        check_fail(c, &err);
        return;
    }
    c->is_due = false;
    c->has_begun = true;
    c->began_ns = loop_now_ns(a->o.part.loop);
    c->number = ++a->snapshots_begun;
    c->job = j;
    job_begin(j, a->o.pool, on_snapshot_read, c);
}

static void check_begin_when_due(struct mount_check *c)
{
    uint64_t gap_ns = SNAPSHOT_GAP_NS + c->mounts * SNAPSHOT_GAP_MOUNT_NS;
    uint64_t earliest_ns = c->has_begun ? c->began_ns + gap_ns : 0;

    if (!c->is_due || c->job || c->snapshot || timer_is_armed(&c->next))
        return;
    if (loop_now_ns(c->agent->o.part.loop) < earliest_ns)
        timer_arm(&c->next, earliest_ns);
    else
        check_begin(c);
}

static void on_next(void *ctx)
{
    check_begin_when_due(ctx);
}

static void on_change(void *ctx)
{
    struct mount_check *c = ctx;

    c->is_due = true;
    check_begin_when_due(c);
}

void mount_check_settle(struct mount_check *c)
{
    if (!c->has_skipped && c->agent->unknown.all.count == 0)
        return;
    c->has_skipped = false; /* or an unknown mount may belong to a record now */
    on_change(c);
}

/* --- Start and end --- */

int mount_check_new(struct agent *a, struct mount_check **ret, struct error *err)
{
    struct mount_check *c = calloc(1, sizeof *c);

    if (!c)
        return error_no_memory(err);
    c->agent = a;
    timer_init(&c->next, a->o.part.loop, on_next, c);
    deferred_init(&c->step, a->o.part.loop, on_step, c);
    *ret = c;
    return 0;
}

/* The watch starts before the first snapshot, so a change during that snapshot starts a second one. */
void mount_check_start(struct mount_check *c, void (*known)(void *agent))
{
    struct error err;

    c->known = known;
    if (mount_watch_start(c->agent->o.part.loop, on_change, c, &c->watch, &err) < 0)
        log_warn("cannot watch mount table, unmounts by other programs are not detected", LOG_ERR(&err));
    on_change(c);
}

struct mount_check *mount_check_free(struct mount_check *c)
{
    if (!c)
        return NULL;
    c->watch = mount_watch_stop(c->watch);
    timer_disarm(&c->next);
    c->job = job_drop(c->job);
    end_comparing(c);
    free(c);
    return NULL;
}
