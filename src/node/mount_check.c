#include "node/mount_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/mount_watch.h"
#include "node/mount_look.h"
#include "node/node_int.h"
#include "node/pod_tell.h"

/* Between the beginnings of two looks: so long, and longer with each mount of the machine, ten times what
 * reading it takes. */
#define LOOK_GAP_NS (500 * NS_PER_MS)
#define LOOK_GAP_MOUNT_NS (100 * NS_PER_US)
/* After one that failed. */
#define LOOK_RETRY_NS (2 * NS_PER_S)
/* So many records are compared in one turn of the loop: under a millisecond. */
#define PART_COUNT 500

struct mount_check {
    struct agent *agent;
    struct mount_watch *watch; /* NULL: changes are not noticed */
    struct job *job;           /* of the look under way; NULL */
    struct mount_look *look;   /* what is being compared; NULL */
    struct deferred step;      /* the next part of it */
    char *next_volume;         /* the first that is not compared yet; NULL: none is */
    char *next_pod;            /* the same of pods */
    bool has_volumes;          /* all volumes are compared */
    struct timer next;
    uint64_t number; /* of the look under way */
    uint64_t began_ns;
    size_t mounts;    /* of the machine, at the last look */
    bool is_due;      /* the table changed since the last look began */
    bool has_begun;   /* there was a look */
    bool has_skipped; /* the last look left out what operations were working on */
    bool has_failed;  /* the last look; logged once */
    void (*known)(void *agent);
};

static void begin_when_due(struct mount_check *c);

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

/* Something may be there in part, as after a restart: no failure declares it unmounted, and at the pod's end
 * it is torn down. */
static void lose_mount(struct node_mount *m)
{
    mount_set_state(m, MOUNT_EVENT_LOST);
    m->is_found = true;
    pod_life_look(m->pod);
    agent_touch(m->pod->agent);
}

/* Its pods are not ready until it is back: the next of them to come would have nothing to bind. */
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

static void compare_volume(struct mount_check *c, const struct mount_look *k, struct node_volume *v)
{
    bool is_lost = v->device == MOUNT_DONE && v->device_is_mount_point && v->device_look < c->number &&
                   volume_is_wanted(v) && !mount_look_has(k, v->device_mount_path);

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
        if (m->look >= c->number || !m->is_wanted || mount_look_has(k, m->mount_point))
            continue;
        if (is_pending(c->agent, v, m->pod)) {
            c->has_skipped = true;
            continue;
        }
        report_lost(m->pod, spec_name(&m->spec.spec), m->mount_point);
        lose_mount(m);
    }
}

/* Parts of volumes: the pod is prepared again. */
static void compare_pod(const struct mount_check *c, const struct mount_look *k, struct node_pod *p)
{
    struct pod_life *l = &p->life;

    if (l->stage != POD_STAGE_READY || l->ready_look >= c->number || l->has_lost_part)
        return;
    for (uint32_t i = 0; i < l->parts.count && !l->has_lost_part; i++) {
        unknown_mounts_claim(c->agent, l->parts.items[i].path);
        if (!mount_look_has(k, l->parts.items[i].path)) {
            report_lost(p, l->parts.items[i].volume, l->parts.items[i].path);
            l->has_lost_part = true;
            pod_life_look(p);
        }
    }
}

/* A part of the volumes; true when it was the last. Others may come and go before the next part: one that
 * comes was marked after the look began. */
static bool compare_volumes(struct mount_check *c)
{
    struct agent *a = c->agent;
    struct omap_cursor at;
    struct node_volume *v = omap_lower_bound(&a->world.volumes, /* rank= */ 0, c->next_volume, &at);

    for (unsigned i = 0; v && i < PART_COUNT; i++, v = omap_next(&at))
        compare_volume(c, c->look, v);
    if (v)
        world_set_text(&c->next_volume, v->name);
    return !v;
}

static bool compare_pods(struct mount_check *c)
{
    struct agent *a = c->agent;
    struct omap_cursor at;
    struct node_pod *p = omap_lower_bound(&a->world.pods, /* rank= */ 0, c->next_pod, &at);

    for (unsigned i = 0; p && i < PART_COUNT; i++, p = omap_next(&at))
        compare_pod(c, c->look, p);
    if (p)
        world_set_text(&c->next_pod, p->uid);
    return !p;
}

static void end_comparing(struct mount_check *c)
{
    loop_undefer(&c->step);
    c->look = mount_look_free(c->look);
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
        unknown_mounts_check(c->agent, c->look);
        end_comparing(c);
        begin_when_due(c);
        return;
    }
    loop_defer(&c->step);
}

/* --- Looking --- */

static void fail(struct mount_check *c, const struct error *err)
{
    if (!c->has_failed)
        log_warn("mount table not read, trying again", LOG_ERR(err));
    c->has_failed = c->is_due = true;
    timer_arm_after(&c->next, LOOK_RETRY_NS);
}

static void on_looked(void *ctx, struct job *j, int r, const struct error *err)
{
    struct mount_check *c = ctx;
    struct error failure = *err;

    c->job = NULL;
    if (r == 0) {
        c->look = mount_look_take(j);
        c->mounts = mount_look_table_count(c->look);
    }
    if (r == 0 && c->known && !unknown_mounts_find(c->agent, c->look))
        r = error_no_memory(&failure);
    if (r < 0) {
        end_comparing(c);
        fail(c, &failure);
        return;
    }
    c->has_failed = c->has_skipped = false;
    if (c->known)
        TAKE(c->known)(c->agent);
    loop_defer(&c->step);
}

static void begin(struct mount_check *c)
{
    struct agent *a = c->agent;
    struct job *j = mount_look_job(a->root, (struct hash_seed){ rng_u64(&a->rng), rng_u64(&a->rng) });
    struct error err;

    if (!j) {
        (void)error_no_memory(&err);
        fail(c, &err);
        return;
    }
    c->is_due = false;
    c->has_begun = true;
    c->began_ns = loop_now_ns(a->o.part.loop);
    c->number = ++a->looks_begun;
    c->job = j;
    job_begin(j, a->o.pool, on_looked, c);
}

static void begin_when_due(struct mount_check *c)
{
    uint64_t gap_ns = LOOK_GAP_NS + c->mounts * LOOK_GAP_MOUNT_NS;
    uint64_t earliest_ns = c->has_begun ? c->began_ns + gap_ns : 0;

    if (!c->is_due || c->job || c->look || timer_is_armed(&c->next))
        return;
    if (loop_now_ns(c->agent->o.part.loop) < earliest_ns)
        timer_arm(&c->next, earliest_ns);
    else
        begin(c);
}

static void on_next(void *ctx)
{
    begin_when_due(ctx);
}

static void on_change(void *ctx)
{
    struct mount_check *c = ctx;

    c->is_due = true;
    begin_when_due(c);
}

void mount_check_settle(struct mount_check *c)
{
    if (!c->has_skipped && c->agent->unknown.all.count == 0)
        return;
    c->has_skipped = false; /* or something unknown may have become a record's */
    on_change(c);
}

/* --- Life --- */

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

/* The watch is there before the first look: what changes during that is seen by the second. */
void mount_check_start(struct mount_check *c, void (*known)(void *agent))
{
    struct error err;

    c->known = known;
    if (mount_watch_start(c->agent->o.part.loop, on_change, c, &c->watch, &err) < 0)
        log_warn("mount table not watched: mounts that others take away are not noticed", LOG_ERR(&err));
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
