/* Erases a released volume on a worker, after a last check against the server, and then deletes its object;
 * the next pass creates the volume again.
 *
 * Nothing in use is erased: a device must not be used by anything else, nothing may be mounted below a
 * directory, and the entry must be of the kind that the volume names. The position of a wipe of a whole
 * device is stored in a file, with the uids of the volume and its claim: a volume that was used again is
 * wiped from the start. */
#include "controllers/local/local_int.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"
#include "host/command.h"
#include "host/device.h"
#include "host/files.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "io/file.h"

#define RETRY_NS (10 * NS_PER_S)
#define RETRY_MAX_NS (300 * NS_PER_S)
#define REPORT_NS (10 * NS_PER_S)
#define REPORTS_PER_EVENT 6 /* fewer events than log lines, because the API stores events */
#define CLEANER_LIMIT_NS ((uint64_t)24 * 3600 * NS_PER_S)
#define CLEANER_ARGS_MAX 64
#define PASSES_MAX 100

/* --- On a worker --- */

/* The cleaners that the stock provisioner ships as scripts are built in. */
static const struct {
    const char *path;
    enum wipe_kind kind;
    unsigned passes;
} cleaners[] = {
    { "/scripts/quick_reset.sh", WIPE_QUICK, 1 },
    { "/scripts/dd_zero.sh", WIPE_ZERO, 1 },
    { "/scripts/shred.sh", WIPE_RANDOM, 3 },
    { "/scripts/blkdiscard.sh", WIPE_DISCARD, 1 },
};

/* Only the disk that the volume was created for is erased. Volumes of older versions have no record. */
static int check_disk(const struct volume *v, const char *path, struct error *err)
{
    const char *recorded = object_annotation(&v->obj, ANN_DISK);
    char present[DISK_NAME_BYTES] = "";
    int r = recorded ? disk_identify(/* table= */ NULL, path, present, err) : 0;

    if (r < 0 || !recorded)
        return r;
    switch (disk_compare(recorded, present)) {
    case DISK_SAME:
        return 0;
    case DISK_UNSURE:
        if (strchr(recorded, ':'))
            return error_set(err, ERR_INVALID, "cannot determine whether '%s' is still the disk %s", path,
                             recorded);
        return 0;
    case DISK_OTHER:
        break;
    }
    return error_set(err, ERR_INVALID, "another disk is at '%s': %s in place of %s", path, present, recorded);
}

static int clean_dir(const struct clean_job *c, const char *path, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *table = NULL;
    /* An open descriptor keeps the file system mounted while it is examined and emptied. */
    _cleanup_(fd_closep) int held = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    int r;

    if (held < 0)
        return error_set_errno(err, -held, "cannot open directory '%s'", path);
    r = mount_table_read(&table, err);
    if (r < 0)
        return r;
    if (!mount_table_find(table, path)) /* otherwise another file system would be emptied */
        return error_set(err, ERR_INVALID, "nothing is mounted at '%s' any more", path);
    r = check_disk(volume_of(c->volume), path, err);
    if (r == 0)
        r = host_check_unmounted(path, /* at_too= */ false, err);
    if (MUTANT("local-offers-data"))
        return r;
    return r < 0 ? r : host_empty_mount(path, c->guard, &c->job.stop, err);
}

static int run_cleaner(const struct clean_job *c, const char *device, struct error *err)
{
    const char *argv[CLEANER_ARGS_MAX + 1] = { 0 };
    char variable[PATH_MAX + 32];
    const char *const env[] = { variable, NULL };
    struct command command = { .what = c->class->cleaner.items[0],
                               .argv = argv,
                               .env = env,
                               .path = c->commands_path,
                               .limit_ns = CLEANER_LIMIT_NS,
                               .stop = &c->job.stop };
    int r = device_check_unused(device, err);

    if (r < 0)
        return r;
    if (c->class->cleaner.count > CLEANER_ARGS_MAX)
        return error_set(err, ERR_TOO_LARGE, "the cleaner has more than %d arguments", CLEANER_ARGS_MAX);
    for (uint32_t i = 0; i < c->class->cleaner.count; i++)
        argv[i] = c->class->cleaner.items[i];
    (void)snprintf(variable, sizeof variable, "LOCAL_PV_BLKDEVICE=%s", device);
    return command_run(&command, err);
}

/* The built-in wipe that the class's cleaner names; false if the cleaner is a command. */
static bool find_wipe(const struct local_class *k, struct wipe *ret)
{
    const char *command = k->cleaner.count ? k->cleaner.items[0] : cleaners[0].path;
    uint64_t passes;

    for (size_t i = 0; i < ARRAY_LEN(cleaners); i++) {
        if (strcmp(command, cleaners[i].path) != 0)
            continue;
        ret->kind = cleaners[i].kind;
        ret->passes = cleaners[i].passes;
        if (k->cleaner.count > 1 && str_to_uint64(str_of(k->cleaner.items[1]), &passes) && passes > 0)
            ret->passes = passes < PASSES_MAX ? (unsigned)passes : PASSES_MAX;
        return true;
    }
    return false;
}

static int clean_device(struct clean_job *c, const char *path, struct error *err)
{
    const struct volume *v = volume_of(c->volume);
    char device[PATH_MAX], state[PATH_MAX * 2], owner[512];
    struct wipe w = { .seed = c->seed, .where = &c->where, .stop = &c->job.stop, .owner = owner };
    int r = host_resolve_path(path, device, err);

    if (r == 0)
        r = host_guard_check_device(c->guard, device, err);
    if (r < 0)
        return r;
    if (!find_wipe(c->class, &w))
        return run_cleaner(c, device, err);
    (void)snprintf(owner, sizeof owner, "%s/%s", v->obj.uid, v->claim.uid);
    if (c->state_dir) {
        r = io_mkdirs(c->state_dir, 0700, err);
        (void)snprintf(state, sizeof state, "%s/%s", c->state_dir, v->obj.name);
        w.state_path = state;
    }
    return r < 0 ? r : device_wipe(device, &w, err);
}

static int clean_run(struct job *j, struct error *err)
{
    struct clean_job *c = CONTAINER_OF(j, struct clean_job, job);
    const struct volume *v = volume_of(c->volume);
    enum file_kind kind = FILE_MISSING;
    char name[NAME_MAX + 1], path[PATH_MAX];
    int r = local_entry_name(c->class, v, name, err);

    if (r == 0)
        r = local_entry_path(c->class, name, path, err);
    if (r == 0)
        r = host_file_kind(path, &kind, err);
    if (r < 0)
        return r;
    if (kind == FILE_DIR && v->mode == VOLUME_MODE_FILESYSTEM)
        return clean_dir(c, path, err);
    if (kind == FILE_BLOCK_DEVICE) {
        r = check_disk(v, path, err);
        return r < 0 ? r : clean_device(c, path, err);
    }
    if (kind == FILE_DIR)
        return error_set(err, ERR_INVALID, "its volumeMode is Block, but '%s' is a directory", path);
    return error_set(err, kind == FILE_MISSING ? ERR_NOT_FOUND : ERR_INVALID,
                     "'%s' is neither a directory nor a block device", path);
}

static void clean_free(struct job *j)
{
    struct clean_job *c = CONTAINER_OF(j, struct clean_job, job);

    (void)object_unref(c->volume);
    c->guard = host_guard_free(c->guard);
    free(c->state_dir);
    free(c);
}

static const struct job_type clean_type = { "volume cleanup", clean_run, clean_free };

/* --- On the loop --- */

static void erasure_free(struct local_erasure *c)
{
    LIST_REMOVE(c, link);
    c->job = job_drop(c->job);
    api_write_cancel(&c->write);
    timer_disarm(&c->timer);
    (void)object_unref(c->volume);
    (void)object_unref(c->fresh);
    free(c);
}

static struct local_erasure *find_erasure(const struct local *l, const char *volume)
{
    struct local_erasure *c;

    LIST_FOREACH(c, &l->erasures, link)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed element has left the list */
        if (strcmp(c->volume->name, volume) == 0)
            return c;
    return NULL;
}

bool local_is_erasing(const struct local *l, const char *volume)
{
    const struct local_erasure *c = find_erasure(l, volume);

    return c && c->is_running;
}

void local_drop_erasures(struct local *l)
{
    struct local_erasure *c, *next;

    for (c = LIST_FIRST(&l->erasures); c; c = next) {
        next = LIST_NEXT(c, link);
        erasure_free(c);
    }
}

/* Retries after 10 s, 20 s, … up to five minutes. */
static void erasure_fail(struct local_erasure *c, const struct error *err)
{
    uint64_t delay_ns = RETRY_NS << (c->failures < 5 ? c->failures : 5);

    c->failures++;
    if (!MUTANT("local-never-tries-again"))
        c->is_running = false;
    timer_disarm(&c->timer);
    c->retry_at_ns = loop_now_ns(c->local->o.part.loop) + (delay_ns < RETRY_MAX_NS ? delay_ns : RETRY_MAX_NS);
    log_warn("volume not cleaned", LOG_STR("volume", c->volume->name), LOG_ERR(err));
}

static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct local_erasure *c = ctx;
    struct local *l = c->local;

    if (!api_write_succeeded(outcome)) {
        erasure_fail(c, &a->error); /* erasing it again is harmless */
        return;
    }
    recorder_event(l->recorder, c->volume, EVENT_NORMAL, "VolumeDeleted", "Volume deleted");
    log_info("volume cleaned", LOG_STR("volume", c->volume->name));
    erasure_free(c);
    local_wake(l);
}

static void on_cleaned(void *ctx, struct job *j, int r, const struct error *err)
{
    struct local_erasure *c = ctx;
    struct api_write_options w = { .api = c->local->api,
                                   .request = { .verb = CLIENT_DELETE },
                                   .object = c->volume,
                                   .done = on_deleted,
                                   .ctx = c };

    (void)j;
    c->job = NULL;
    timer_disarm(&c->timer);
    if (r < 0) {
        recorder_event(c->local->recorder, c->volume, EVENT_WARNING, "VolumeFailedDelete",
                       "Error cleaning PV \"%s\": %s", c->volume->name, err->msg);
        erasure_fail(c, err);
        return;
    }
    api_write_start(&c->write, &w);
}

/* --- Progress of a wipe --- */

/* False if nothing is being wiped, or the total is not known yet. */
static bool find_progress(const struct local_erasure *c, uint64_t *ret_done, uint64_t *ret_total)
{
    struct clean_job *j;

    if (!c->job)
        return false;
    j = CONTAINER_OF(c->job, struct clean_job, job);
    *ret_total = atomic_load(&j->where.total_bytes);
    *ret_done = atomic_load(&j->where.done_bytes);
    return *ret_total > 0;
}

static void log_progress(struct local_erasure *c, uint64_t done, uint64_t total)
{
    uint64_t now_ns = loop_now_ns(c->local->o.part.loop);
    int64_t left;

    pace_begin(&c->pace, now_ns, done); /* after a crash the wipe starts at a position above 0 */
    if (pace_seconds_left(&c->pace, now_ns, done, total, &left))
        log_info("cleaning volume", LOG_STR("volume", c->volume->name),
                 LOG_UINT("percent", pace_percent(done, total)), LOG_UINT("done_mib", done >> 20),
                 LOG_UINT("total_mib", total >> 20),
                 LOG_UINT("mib_per_second", (uint64_t)(pace_rate(&c->pace, now_ns, done) / (1 << 20))),
                 LOG_INT("seconds_left", left));
    else
        log_info("cleaning volume", LOG_STR("volume", c->volume->name),
                 LOG_UINT("percent", pace_percent(done, total)), LOG_UINT("done_mib", done >> 20),
                 LOG_UINT("total_mib", total >> 20));
}

static void on_progress_timer(void *ctx)
{
    struct local_erasure *c = ctx;
    uint64_t done, total;

    timer_arm_after(&c->timer, REPORT_NS);
    c->reports++;
    if (!find_progress(c, &done, &total))
        return;
    log_progress(c, done, total);
    if (c->reports % REPORTS_PER_EVENT == 0)
        recorder_event(c->local->recorder, c->volume, EVENT_NORMAL, "VolumeDelete",
                       "Cleanup of Block PV \"%s\": %" PRIu64 " of %" PRIu64 " MiB", c->volume->name,
                       done >> 20, total >> 20);
}

static int cmp_names(const void *a, const void *b)
{
    const struct local_erasure *const *left = a, *const *right = b;

    return strcmp((*left)->volume->name, (*right)->volume->name);
}

void local_collect_wipes(void *local, struct metric_sink *to)
{
    const struct local *l = local;
    struct local_erasure *running[ERASURES_MAX], *c;
    uint64_t done, total;
    size_t count = 0;

    LIST_FOREACH(c, &l->erasures, link)
        if (c->is_running && count < ERASURES_MAX)
            running[count++] = c;
    if (count > 1)
        qsort(running, count, sizeof *running, cmp_names);
    for (size_t i = 0; i < count; i++)
        if (find_progress(running[i], &done, &total))
            metric_emit(to, done < total ? (double)done / (double)total : 1, running[i]->volume->name);
}

/* --- Starting --- */

static void start_job(struct local_erasure *c, const struct local_class *k, const struct volume *v,
                      struct host_guard *guard)
{
    struct local *l = c->local;
    struct clean_job *j = calloc(1, sizeof *j);

    if (!j)
        die_with_reason("no memory to clean a local volume: it would never be processed again");
    j->job.type = &clean_type;
    j->class = k;
    j->volume = object_ref(&v->obj);
    j->job.about = v->obj.name;
    j->guard = guard;
    j->state_dir = l->o.state_dir ? strdup(l->o.state_dir) : NULL;
    j->commands_path = l->o.commands_path;
    j->seed = rng_u64(&l->rng);
    c->job = &j->job;
    if (v->mode == VOLUME_MODE_BLOCK)
        recorder_event(l->recorder, &v->obj, EVENT_NORMAL, "VolumeDelete",
                       "Starting cleanup of Block PV \"%s\", this may take a while", v->obj.name);
    log_info("cleaning volume", LOG_STR("volume", v->obj.name));
    c->reports = 0;
    c->pace = (struct pace){ 0 };
    timer_init(&c->timer, l->o.part.loop, on_progress_timer, c);
    timer_arm_after(&c->timer, REPORT_NS);
    job_begin(&j->job, l->o.pool, on_cleaned, c);
}

static void start_erasure(struct local_erasure *c, const struct volume *v)
{
    const struct local_class *k = local_class_of(c->local, v->class);
    struct reclaim_rules rules = { c->local->o.dirs, c->local->o.node_name };
    struct host_guard *guard = NULL;
    struct error failed;
    int r;

    if (!k)
        r = error_set(&failed, ERR_NOT_FOUND, "class \"%s\" is not in storageClassMap", v->class);
    else
        r = reclaim_guard_new(&rules, c->local->volumes, c->local->nodes, v, &guard, &failed);
    if (r == 0) {
        start_job(c, k, v, guard);
        return;
    }
    recorder_event(c->local->recorder, c->volume, EVENT_WARNING, "VolumeFailedDelete",
                   "Error cleaning PV \"%s\": %s", c->volume->name, failed.msg);
    erasure_fail(c, &failed);
}

/* The last checks (plugins/reclaim_guard.h): the claim … */
static void on_claim(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct local_erasure *c = ctx;
    struct error err;

    (void)outcome;
    if (reclaim_check_claim(a, volume_of(c->fresh), &err) < 0)
        erasure_fail(c, &err);
    else if (local_owns(c->local, volume_of(c->fresh)))
        start_erasure(c, volume_of(c->fresh));
    else
        erasure_free(c);
}

/* … after the volume. */
static void on_volume(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct local_erasure *c = ctx;
    struct error err;

    (void)outcome;
    if (reclaim_check_volume(a, c->volume, /* finalizer= */ NULL, &err) < 0) {
        erasure_fail(c, &err);
        return;
    }
    (void)object_unref(c->fresh);
    c->fresh = object_ref(a->object);
    api_read(&c->write, &c->local->api, KIND_CLAIM, volume_of(c->fresh)->claim.ns,
             volume_of(c->fresh)->claim.name, on_claim, c);
}

static void clean_volume(struct local *l, const struct volume *v)
{
    struct local_erasure *c = find_erasure(l, v->obj.name);
    const struct local_erasure *other;
    unsigned running = 0;

    LIST_FOREACH(other, &l->erasures, link)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed element has left the list */
        running += other->is_running;
    if (c && (c->is_running || loop_now_ns(l->o.part.loop) < c->retry_at_ns))
        return;
    if (running >= ERASURES_MAX)
        return; /* at a later pass */
    if (!c) {
        c = calloc(1, sizeof *c);
        if (!c)
            die_with_reason("no memory to clean a local volume: it would never be processed again");
        c->local = l;
        LIST_INSERT_HEAD(&l->erasures, c, link);
    }
    (void)object_unref(c->volume);
    c->volume = object_ref(&v->obj);
    c->is_running = true;
    api_read(&c->write, &l->api, KIND_VOLUME, "", v->obj.name, on_volume, c);
}

void local_clean_all(struct local *l)
{
    struct local_erasure *c, *next;
    struct informer_cursor at;

    for (c = LIST_FIRST(&l->erasures); c; c = next) {
        const struct object *o = informer_get(l->volumes, "", c->volume->name);

        next = LIST_NEXT(c, link);
        if (!c->is_running && (!o || strcmp(o->uid, c->volume->uid) != 0))
            erasure_free(c);
    }
    for (const struct object *o = informer_first(l->volumes, &at); o; o = informer_next(&at)) {
        const struct volume *v = volume_of(o);

        if (v->phase != VOLUME_RELEASED || !local_owns(l, v) || v->reclaim == RECLAIM_RETAIN)
            continue;
        if (v->reclaim == RECLAIM_RECYCLE)
            recorder_event(l->recorder, o, EVENT_WARNING, "VolumeUnsupportedReclaimPolicy",
                           "Volume has unsupported PersistentVolumeReclaimPolicy: Recycle");
        else if (v->reclaim != RECLAIM_DELETE)
            recorder_event(l->recorder, o, EVENT_WARNING, "VolumeUnknownReclaimPolicy",
                           "Volume has unrecognized PersistentVolumeReclaimPolicy");
        else if (reclaim_is_due(v, /* finalizer= */ NULL))
            clean_volume(l, v);
    }
}
