/* Removes directories of pods that no longer exist. A scan is two jobs on the pool: list the directories,
 * then, after the agent has named those in use, remove the rest.
 *
 * Scans are at least two seconds apart. Retries after failures have increasing delays up to two minutes,
 * since a blocked directory rarely becomes removable without an administrator. A reason is logged when it is
 * new, not at every scan. */
#include "node/orphans.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/mount_table.h"
#include "io/file.h"
#include "io/job.h"

#define SCAN_NS (2 * NS_PER_S)
#define RETRY_MAX_NS (120 * NS_PER_S)
#define LOOK_BYTES_MAX ((size_t)32 << 20)

/* --- Scans --- */

/* A directory in pods/. */
struct orphan {
    const char *uid;
    bool is_candidate;
    const char *why; /* why it was not removed; NULL: in use, or removed */
};

struct orphan_scan {
    struct arena arena;
    struct volume_env env;
    struct orphan *items; /* by name */
    size_t count;
    size_t candidates;
    size_t failures;
};

struct orphan_job {
    struct job job;
    struct orphan_scan *scan;
};

struct orphans {
    struct orphans_options o;
    bool is_started;
    struct job *job;      /* of the scan in progress; NULL */
    bool is_wanted;       /* another scan was requested meanwhile */
    uint64_t earliest_ns; /* of the next scan */
    uint64_t retry_ns;    /* the current retry delay after failures */
    struct timer timer;
    struct orphan_scan *last; /* the last scan, to log only new reasons; NULL */
    struct metric *candidates;
    struct metric *failures; /* both NULL: nothing is counted */
};

static struct orphan_scan *orphan_scan_free(struct orphan_scan *k)
{
    if (!k)
        return NULL;
    arena_done(&k->arena);
    free(k);
    return NULL;
}
DEFINE_CLEANUP(struct orphan_scan, orphan_scan_free)

static struct orphan_job *orphan_job_of(struct job *j)
{
    return CONTAINER_OF(j, struct orphan_job, job);
}

static void orphan_job_free(struct job *j)
{
    (void)orphan_scan_free(orphan_job_of(j)->scan);
    free(orphan_job_of(j));
}

/* On a worker. */
static int list_run(struct job *j, struct error *err)
{
    struct orphan_scan *k = orphan_job_of(j)->scan;
    _cleanup_(fd_closep) int pods = pods_dir_open(k->env.root, err);
    struct texts names = { 0 };
    int r;

    if (pods < 0)
        return pods == -ERR_NOT_FOUND ? 0 : pods;
    r = pods_dir_list(pods, &k->arena, &names, err);
    if (r < 0)
        return r;
    k->items = arena_array(&k->arena, names.count, sizeof *k->items);
    r = arena_check(&k->arena, err);
    for (uint32_t i = 0; r == 0 && i < names.count; i++)
        k->items[k->count++].uid = names.items[i];
    return r;
}

/* On a worker. */
static int remove_run(struct job *j, struct error *err)
{
    struct orphan_scan *k = orphan_job_of(j)->scan;
    _cleanup_(mount_table_free_p) struct mount_table *mounts = NULL;
    int r = mount_table_read(&mounts, err);

    k->env.mounts = mounts;
    for (size_t i = 0; r == 0 && i < k->count; i++) {
        struct orphan *o = &k->items[i];
        struct error why = { 0 };

        if (atomic_load(&j->stop) != 0)
            return error_set(err, ERR_CANCELLED, "removal of orphaned pod directories cancelled");
        if (!o->is_candidate || pod_dir_remove(&k->env, o->uid, &why) == 0)
            continue;
        k->failures++;
        o->why = arena_dup(&k->arena, str_of(why.msg));
        r = arena_check(&k->arena, err);
    }
    return r;
}

/* --- On the loop --- */

static int compare_uid(const void *uid, const void *orphan)
{
    return strcmp(uid, ((const struct orphan *)orphan)->uid);
}

static bool was_reported(const struct orphan_scan *last, const struct orphan *o)
{
    const struct orphan *before =
        last && last->count ? bsearch(o->uid, last->items, last->count, sizeof *last->items, compare_uid)
                            : NULL;

    return before && before->why && strcmp(before->why, o->why) == 0;
}

static void report_results(const struct orphans *o, const struct orphan_scan *k)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct orphan *at = &k->items[i];

        if (at->is_candidate && !at->why)
            log_info("orphaned pod directory removed", LOG_STR("pod", at->uid));
        if (at->why && !was_reported(o->last, at))
            log_warn("orphaned pod directory not removed", LOG_STR("pod", at->uid),
                     LOG_STR("reason", at->why));
    }
    if (o->candidates) {
        metric_set(o->candidates, (double)k->candidates);
        metric_set(o->failures, (double)k->failures);
    }
}

static void begin_scan(void *ctx);

/* Arms the timer for the next scan. */
static void end_scan(struct orphans *o, bool has_failed)
{
    uint64_t now_ns = loop_now_ns(o->o.part.loop), at_ns = o->earliest_ns;

    o->retry_ns = !has_failed ? 0 : o->retry_ns ? o->retry_ns * 2 : SCAN_NS;
    if (o->retry_ns > RETRY_MAX_NS)
        o->retry_ns = RETRY_MAX_NS;
    if (!o->is_wanted && !has_failed)
        return;
    if (!o->is_wanted)
        at_ns = now_ns + o->retry_ns;
    o->is_wanted = false;
    timer_arm(&o->timer, at_ns);
}

static void fail_scan(struct orphans *o, const struct error *err)
{
    log_warn("cannot scan for orphaned pod directories", LOG_ERR(err));
    end_scan(o, /* has_failed= */ true);
}

static void begin_job(struct orphans *o, const struct job_type *type, struct orphan_scan *k,
                      job_done_fn *done)
{
    struct orphan_job *j = calloc(1, sizeof *j);
    struct error err = { 0 };

    if (!j) {
        (void)orphan_scan_free(k);
        (void)error_no_memory(&err);
        fail_scan(o, &err);
        return;
    }
    j->job.type = type;
    j->scan = k;
    k->env.stop = k->env.tools.stop = &j->job.stop;
    j->job.about = k->env.root;
    o->job = &j->job;
    job_begin(&j->job, o->o.pool, done, o);
}

static void finish_scan(struct orphans *o, struct orphan_scan *k)
{
    report_results(o, k);
    (void)orphan_scan_free(o->last);
    o->last = k;
    end_scan(o, k->failures > 0);
}

static void on_removed(void *ctx, struct job *j, int r, const struct error *err)
{
    struct orphans *o = ctx;

    o->job = NULL;
    if (r < 0)
        fail_scan(o, err);
    else
        finish_scan(o, TAKE(orphan_job_of(j)->scan));
}

/* A volume that cannot be unmounted is reported by the unmount operation. */
static void check_directory(const struct orphans *o, struct orphan_scan *k, struct orphan *at)
{
    enum pod_hold hold = o->o.hold(o->o.ctx, at->uid);

    at->is_candidate = hold == POD_HOLD_NONE;
    k->candidates += hold != POD_HOLD_KNOWN;
    k->failures += hold == POD_HOLD_VOLUMES;
}

static void on_listed(void *ctx, struct job *j, int r, const struct error *err)
{
    static const struct job_type remove_type = { "removal of orphaned pod directories", remove_run,
                                                 orphan_job_free };
    struct orphans *o = ctx;
    struct orphan_scan *k;

    o->job = NULL;
    if (r < 0) {
        fail_scan(o, err);
        return;
    }
    k = TAKE(orphan_job_of(j)->scan);
    for (size_t i = 0; i < k->count; i++) {
        struct orphan *at = &k->items[i];

        if (!pod_uid_is_plausible(at->uid))
            at->why = "name is not a pod UID";
        else
            check_directory(o, k, at);
    }
    if (k->candidates > k->failures)
        begin_job(o, &remove_type, k, on_removed);
    else
        finish_scan(o, k);
}

static void begin_scan(void *ctx)
{
    static const struct job_type list_type = { "scan for orphaned pod directories", list_run,
                                               orphan_job_free };
    _cleanup_(orphan_scan_free_p) struct orphan_scan *k = calloc(1, sizeof *k);
    struct orphans *o = ctx;
    struct error err = { 0 };

    o->earliest_ns = loop_now_ns(o->o.part.loop) + SCAN_NS;
    if (!k) {
        (void)error_no_memory(&err);
        fail_scan(o, &err);
        return;
    }
    k->arena = ARENA_INIT(LOOK_BYTES_MAX);
    k->env = volume_env_copy(o->o.env, /* stop= */ NULL, &k->arena);
    if (arena_check(&k->arena, &err) < 0) {
        fail_scan(o, &err);
        return;
    }
    begin_job(o, &list_type, TAKE(k), on_listed);
}

void orphans_scan(struct orphans *o)
{
    uint64_t now_ns = loop_now_ns(o->o.part.loop);

    if (!o->is_started)
        return;
    if (o->job)
        o->is_wanted = true;
    else
        timer_arm(&o->timer, now_ns > o->earliest_ns ? now_ns : o->earliest_ns);
}

void orphans_start(struct orphans *o)
{
    o->is_started = true;
    orphans_scan(o);
}

/* --- Start and end --- */

static int add_gauge(struct metrics *m, const char *name, const char *help, struct metric **ret,
                     struct error *err)
{
    struct metric_desc desc = { .name = name, .help = help, .type = METRIC_GAUGE };
    struct metric_family *family;
    int r = metrics_share_family(m, &desc, &family, err);

    if (r == 0)
        *ret = metric_child(family, (const char *const[]){ NULL });
    return r;
}

int orphans_new(const struct orphans_options *options, struct orphans **ret, struct error *err)
{
    _cleanup_(orphans_free_p) struct orphans *o = calloc(1, sizeof *o);
    struct metrics *m = options->part.metrics;
    int r = 0;

    if (!o)
        return error_no_memory(err);
    o->o = *options;
    timer_init(&o->timer, options->part.loop, begin_scan, o);
    if (m)
        r = add_gauge(m, "orphan_pod_cleaned_volumes", "Orphaned pod directories found by the last scan.",
                      &o->candidates, err);
    if (m && r == 0)
        r = add_gauge(m, "orphan_pod_cleaned_volumes_errors",
                      "Orphaned pod directories that the last scan could not remove.", &o->failures, err);
    if (r < 0)
        return r;
    *ret = TAKE(o);
    return 0;
}

struct orphans *orphans_free(struct orphans *o)
{
    if (!o)
        return NULL;
    timer_disarm(&o->timer);
    o->job = job_drop(o->job);
    o->last = orphan_scan_free(o->last);
    free(o);
    return NULL;
}
