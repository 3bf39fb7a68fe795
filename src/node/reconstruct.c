/* Finds volumes on disk after a start. Two jobs on the pool with a lookup of plugins on the loop between
 * them: list directories, find plugins, reconstruct.
 *
 * Users cannot write to these directories, but contents left by a crash, another program or an attacker are
 * not trusted: directories are opened by descriptor from pods/ on, without following symbolic links, and all
 * counts are bounded. Entries that are too large or unreadable are skipped and logged; the rest is used.
 * Nothing is lost by that: a pod that is still wanted gets its volumes set up again, and the directory of a
 * deleted pod stays until it can be removed safely (orphans.h).
 *
 * Costs: a few system calls per directory, one read of the mount table. A volume takes 650 bytes while the
 * list exists. */
#include "node/reconstruct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mutant.h"
#include "base/vec.h"
#include "host/dirs.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/job.h"
#include "node/pod_dir.h"
#include "node/reconstruct_int.h"
#include "node/state_file.h"
#include "plugins/block.h"
#include "plugins/layout.h"

#define STATES_BYTES_MAX ((size_t)64 << 20) /* of all pods together */
#define VOLUMES_MAX 32768
#define SCAN_ERRORS_MAX 100
#define AGAIN_NS (50 * NS_PER_MS)
#define SCANS_MAX 6
#define SCAN_AGAIN_NS (100 * NS_PER_MS) /* doubled each time */
#define SCAN_BYTES_MAX ((size_t)256 << 20)
#define PATH_TEXT_BYTES (2 * NAME_MAX + 32)

struct scan_job {
    struct job job;
    struct reconstruct_scan *scan;
};

struct reconstruct {
    struct reconstruct_options o;
    struct job *job;                  /* NULL: finished, or waiting for a driver */
    struct reconstruct_scan *scanned; /* waits for its plugins; NULL */
    struct timer again;
    struct timer rescan; /* after a disk error */
    unsigned scans;      /* so far */
    struct reconstruct_scan *scan;
    struct node_restored found; /* a view of the scan */
    struct metric *attempts;    /* both NULL: nothing is counted */
    struct metric *failures;
};

/* --- Start and end --- */

/* On the loop: releases the plugin references. */
static struct reconstruct_scan *scan_free(struct reconstruct_scan *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->volumes.count; i++) {
        (void)plugin_unref(s->volumes.items[i].plugin);
        object_unref(s->volumes.items[i].object);
    }
    vec_done(&s->volumes);
    vec_done(&s->pods);
    vec_done(&s->errors);
    arena_done(&s->arena);
    free(s);
    return NULL;
}
DEFINE_CLEANUP(struct reconstruct_scan, scan_free)

static struct scan_job *scan_job_of(struct job *j)
{
    return CONTAINER_OF(j, struct scan_job, job);
}

static void scan_job_free(struct job *j)
{
    (void)scan_free(scan_job_of(j)->scan);
    free(scan_job_of(j));
}

/* --- On a worker: the directories --- */

void scan_add_error(struct reconstruct_scan *s, const struct error *why)
{
    if (s->errors.count == SCAN_ERRORS_MAX ||
        vec_push(&s->errors, arena_dup(&s->arena, str_of(why->msg))) < 0)
        s->errors_lost++;
}

/* A second look tells an error of the disk from what is wrong with the path. That nothing is there after all
 * is no answer yet: the scan ended with the failure, and did not look at the rest. */
void scan_note_failure(struct reconstruct_scan *s, int at, const char *path, int r)
{
    _cleanup_(fd_closep) int fd = -EINVAL;

    if (r == -ERR_IO)
        fd = at == AT_FDCWD ? host_open_dir(at, path, HOST_OPEN_ANY_MOUNT)
                            : host_open_below(at, path, O_RDONLY | O_NONBLOCK, 0);
    s->has_disk_error = s->has_disk_error || fd >= 0 || fd == -EIO || fd == -ENOENT;
}

static int check_stop(const struct reconstruct_scan *s, struct error *err)
{
    if (atomic_load(s->env.stop) != 0)
        return error_set(err, ERR_CANCELLED, "scan of volumes on disk cancelled");
    return 0;
}

int scan_add(struct reconstruct_scan *s, const struct restored_volume *v, struct error *err)
{
    struct restored_volume new = *v;

    if (s->volumes.count == VOLUMES_MAX)
        return error_set(err, ERR_TOO_LARGE, "more than %d volumes on disk", VOLUMES_MAX);
    new.name = arena_dup(&s->arena, str_of(v->name));
    if (arena_check(&s->arena, err) < 0 || vec_push(&s->volumes, new) < 0)
        return error_no_memory(err);
    return 0;
}

/* The volumes in pods/UID/DIR; dir is "volumes/PLUGIN~NAME", or "volumeDevices/PLUGIN~NAME" for devices. */
static int scan_plugin_dir(struct reconstruct_scan *s, int pod, const char *dir, struct restored_volume like,
                           struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SCAN_LIST_BYTES_MAX);
    unsigned kinds = like.is_block ? HOST_LIST_LINKS : HOST_LIST_DIRS;
    struct texts names = { 0 };
    int r = host_list_below(pod, dir, kinds, &a, SCAN_ENTRIES_MAX, &names, err);

    if (names.count > 0)
        like.plugin_name = arena_dup(&s->arena, str_of(like.plugin_name));
    for (uint32_t i = 0; r == 0 && i < names.count; i++) {
        like.name = names.items[i];
        r = scan_add(s, &like, err);
    }
    return r;
}

/* sub: "volumes" or "volumeDevices". */
static void scan_pod_volumes(struct reconstruct_scan *s, int pod, const char *uid, const char *sub)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SCAN_LIST_BYTES_MAX);
    struct restored_volume like = { .pod_uid = uid, .is_block = strcmp(sub, "volumeDevices") == 0 };
    char dir[PATH_TEXT_BYTES], plugin[NAME_MAX + 1];
    struct texts dirs = { 0 };
    struct error err = { 0 };
    int r = host_list_below(pod, sub, HOST_LIST_DIRS, &a, SCAN_PLUGINS_MAX, &dirs, &err);

    if (r < 0 && r != -ERR_NOT_FOUND) {
        scan_note_failure(s, pod, sub, r);
        (void)error_wrap(&err, "pod '%s'", uid);
        scan_add_error(s, &err);
    }
    for (uint32_t i = 0; i < dirs.count; i++) {
        (void)snprintf(dir, sizeof dir, "%s/%s", sub, dirs.items[i]);
        r = layout_unescape(dirs.items[i], plugin, &err);
        like.plugin_name = plugin;
        if (r == 0)
            r = scan_plugin_dir(s, pod, dir, like, &err);
        if (r < 0) {
            scan_note_failure(s, pod, dir, r);
            (void)error_wrap(&err, "pod '%s'", uid);
            scan_add_error(s, &err);
        }
    }
}

/* Without a readable state file it is unknown whether a teardown is required: the record keeps the reason
 * (pod_life.h). */
static void mark_unreadable(struct reconstruct_scan *s, struct restored_pod *p, struct error *why)
{
    const char *kept;

    (void)error_wrap(why, "pod '%s'", p->uid);
    kept = arena_dup(&s->arena, str_of(why->msg));
    p->state_error = kept ? kept : "no memory";
    scan_add_error(s, why);
}

static void read_state(struct reconstruct_scan *s, int pod, struct restored_pod *p)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    struct error err = { 0 };
    const char *kept;
    int r = host_read_below(pod, STATE_FILE_NAME, STATE_BYTES_MAX, &text, &err);

    if (r == -ERR_NOT_FOUND)
        return;
    if (r == 0 && text.len == 0) {
        p->state_error = "the state file is empty";
        return;
    }
    if (r == 0 && text.len > STATES_BYTES_MAX - s->states_bytes)
        r = error_set(&err, ERR_TOO_LARGE, "state files of all pods exceed the size limit");
    kept = r == 0 ? arena_dup(&s->arena, buf_str(&text)) : NULL;
    if (!kept) {
        if (r == 0)
            (void)error_no_memory(&err);
        scan_note_failure(s, pod, STATE_FILE_NAME, r);
        mark_unreadable(s, p, &err);
        return;
    }
    s->states_bytes += text.len;
    p->state = (struct str){ kept, text.len };
}

static int scan_pod(struct reconstruct_scan *s, int pods, const char *uid, struct error *err)
{
    _cleanup_(fd_closep) int fd = host_open_dir(pods, uid, 0);
    struct restored_pod found = { .uid = uid, .state = STR_LIT("") };
    struct error why;

    if (fd < 0) {
        (void)error_set_errno(&why, -fd, "cannot open pod directory '%s'", uid);
        found.state_error = "cannot open pod directory";
        s->has_disk_error = s->has_disk_error || fd == -EIO;
        scan_add_error(s, &why);
    } else {
        read_state(s, fd, &found);
        scan_pod_volumes(s, fd, uid, "volumes");
        scan_pod_volumes(s, fd, uid, "volumeDevices");
    }
    return vec_push(&s->pods, found) < 0 ? error_no_memory(err) : 0;
}

static int scan_run(struct job *j, struct error *err)
{
    struct reconstruct_scan *s = scan_job_of(j)->scan;
    _cleanup_(fd_closep) int pods = pods_dir_open(s->env.root, err);
    struct texts uids = { 0 };
    int r;

    if (pods < 0 && pods != -ERR_NOT_FOUND) {
        scan_note_failure(s, AT_FDCWD, arena_printf(&s->arena, "%s/pods", s->env.root), pods);
        return pods;
    }
    r = pods < 0 ? 0 : pods_dir_list(pods, &s->arena, &uids, err);
    if (r < 0)
        scan_note_failure(s, pods, ".", r);
    for (uint32_t i = 0; r == 0 && i < uids.count; i++) {
        r = check_stop(s, err);
        if (r == 0 && pod_uid_is_plausible(uids.items[i]))
            r = scan_pod(s, pods, uids.items[i], err);
    }
    if (r == 0)
        scan_devices(s);
    return r < 0 ? r : arena_check(&s->arena, err);
}

/* --- On a worker: the volumes --- */

static bool spec_of(const struct restored_volume *v, struct volume_spec *ret)
{
    struct volume_spec spec = { 0 };

    if (v->object->kind->kind == KIND_VOLUME)
        spec.volume = volume_of(v->object);
    else
        spec.inlined = pod_volume(pod_of(v->object), v->name);
    *ret = spec;
    return spec.volume || spec.inlined;
}

/* The path of its device. A plugin without an answer has no device to unmount: local volumes that are
 * directories. */
static int find_device(struct reconstruct_scan *s, struct restored_volume *v, const struct volume_spec *spec)
{
    const struct device_table *devices = v->plugin->devices;
    struct error ignored;
    struct block_paths paths;
    char path[PATH_MAX];
    int r;

    if (v->device_mount_path[0])
        return 0;
    if (v->is_block) {
        r = block_paths_for(v->plugin, s->env.root, v->name, v->pod_uid, &paths, &v->err);
        if (r < 0)
            return r;
        v->device_mount_path = arena_dup(&s->arena, str_of(paths.global_dir));
    } else if (plugin_mounts_devices(v->plugin, spec) &&
               devices->mount_path(v->plugin, &s->env, spec, path, &ignored) == 0) {
        v->device_mount_path = arena_dup(&s->arena, str_of(path));
    }
    return arena_check(&s->arena, &v->err);
}

static int not_known(struct restored_volume *v)
{
    return error_set(&v->err, ERR_UNSUPPORTED, "plugin '%s' cannot reconstruct volumes from directories",
                     v->plugin->name);
}

/* The plugin function depends on the directory in which the volume was found. */
static int ask_plugin(const struct reconstruct_scan *s, struct restored_volume *v)
{
    const struct volume_plugin *p = v->plugin;

    if (v->pod_uid[0])
        return p->reconstruct
                   ? p->reconstruct(p, &s->env, v->name, v->pod_uid, v->is_block, &v->object, &v->err)
                   : not_known(v);
    if (v->is_block)
        return p->block->reconstruct ? p->block->reconstruct(p, &s->env, v->name, &v->object, &v->err)
                                     : not_known(v);
    return p->devices && p->devices->reconstruct
               ? p->devices->reconstruct(p, &s->env, v->device_mount_path, &v->object, &v->err)
               : not_known(v);
}

static bool is_mounted(const struct reconstruct_scan *s, const struct restored_volume *v)
{
    const struct mount_table *t = s->env.mounts;
    struct error ignored;
    char path[PATH_MAX];

    if (!t || (v->device_mount_path[0] && mount_table_has_below(t, v->device_mount_path, true, NULL)))
        return true;
    return v->pod_uid[0] &&
           layout_pod_path(s->env.root, v->pod_uid, v->is_block ? "volumeDevices" : "volumes", v->plugin_name,
                           v->name, path, &ignored) == 0 &&
           mount_table_has_below(t, path, true, NULL);
}

static int ask_one(struct reconstruct_scan *s, struct restored_volume *v)
{
    struct volume_spec spec;
    int r = ask_plugin(s, v);

    if (r < 0)
        return r;
    r = spec_of(v, &spec) ? find_device(s, v, &spec)
                          : error_set(&v->err, ERR_INVALID, "'%s' is not a volume name", v->name);
    if (r < 0)
        v->object = object_unref(v->object);
    else
        v->is_mounted = is_mounted(s, v);
    return r;
}

static int reconstruct_run(struct job *j, struct error *err)
{
    struct reconstruct_scan *s = scan_job_of(j)->scan;
    _cleanup_(mount_table_free_p) struct mount_table *mounts = NULL;
    struct error ignored;
    int r = 0;

    (void)mount_table_read(&mounts, &ignored); /* without it the plugins that need it read it */
    s->env.mounts = mounts;
    for (size_t i = 0; r == 0 && i < s->volumes.count; i++) {
        struct restored_volume *v = &s->volumes.items[i];

        r = check_stop(s, err);
        if (r == 0 && v->r == 0)
            v->r = ask_one(s, v);
        s->has_disk_error = s->has_disk_error || v->r == -ERR_IO;
    }
    s->env.mounts = NULL;
    return r;
}

/* --- On the loop --- */

static void report_scan(const struct reconstruct *c, const struct reconstruct_scan *s)
{
    size_t found = 0, failed = 0;

    for (size_t i = 0; i < s->errors.count; i++)
        log_warn("skipping unreadable pod directory or volume", LOG_STR("reason", s->errors.items[i]));
    if (s->errors_lost)
        log_warn("skipping more unreadable pod directories or volumes",
                 LOG_UINT("directories", s->errors_lost));
    for (size_t i = 0; i < s->volumes.count; i++) {
        bool is_pods = s->volumes.items[i].pod_uid[0] != '\0';

        found += is_pods;
        failed += is_pods && s->volumes.items[i].r < 0;
    }
    if (c->attempts) {
        metric_add(c->attempts, (double)found);
        metric_add(c->failures, (double)failed);
    }
}

/* A transient disk error may hide volumes, whose mounts would then stay until the next start. The scan is
 * therefore repeated a few times. */
static bool rescan_after_error(struct reconstruct *c, struct reconstruct_scan *s)
{
    if (!s->has_disk_error || c->scans == SCANS_MAX || MUTANT("node-scans-once"))
        return false;
    log_warn("cannot read all pod directories, scanning again", LOG_UINT("scan", c->scans),
             LOG_STR("reason", s->errors.count ? s->errors.items[0] : "cannot read a volume directory"));
    (void)scan_free(s);
    timer_arm_after(&c->rescan, SCAN_AGAIN_NS << (c->scans - 1));
    return true;
}

static void end_scan(struct reconstruct *c, struct reconstruct_scan *s, int r, const struct error *err)
{
    struct node_restored found = { 0 };

    if (rescan_after_error(c, s))
        return;
    c->scan = s;
    if (r == 0) {
        report_scan(c, s);
        found = (struct node_restored){ s->volumes.items, s->volumes.count, s->pods.items, s->pods.count };
    }
    c->found = found;
    c->o.done(c->o.ctx, &c->found, r, err);
}

static int begin_job(struct reconstruct *c, const struct job_type *type, struct reconstruct_scan *s,
                     job_done_fn *done)
{
    struct scan_job *j = calloc(1, sizeof *j);

    if (!j)
        return -ERR_NO_MEMORY;
    j->job.type = type;
    j->scan = s;
    s->env.stop = s->env.tools.stop = &j->job.stop;
    j->job.about = s->env.root;
    c->job = &j->job;
    job_begin(&j->job, c->o.pool, done, c);
    return 0;
}

static void on_reconstructed(void *ctx, struct job *j, int r, const struct error *err)
{
    struct reconstruct *c = ctx;

    c->job = NULL;
    end_scan(c, TAKE(scan_job_of(j)->scan), r, err);
}

/* References to plugins are counted on the loop only. */
static int find_plugin(struct reconstruct *c, struct restored_volume *v)
{
    const struct volume_plugin *p = NULL;
    int r = registry_by_name(c->o.plugins, v->plugin_name, &p, &v->err);

    if (r < 0)
        return r;
    v->plugin = plugin_ref(p);
    if (v->is_block && !p->block)
        return error_set(&v->err, ERR_UNSUPPORTED, "plugin '%s' does not support block volumes", p->name);
    return 0;
}

static void reconstruct_by_plugins(void *ctx)
{
    static const struct job_type reconstruct_type = { "reconstruction of volumes", reconstruct_run,
                                                      scan_job_free };
    struct reconstruct *c = ctx;
    struct error err;

    for (size_t i = 0; i < c->scanned->volumes.count; i++) {
        struct restored_volume *v = &c->scanned->volumes.items[i];

        if (v->plugin)
            continue;
        v->err = (struct error){ 0 };
        v->r = find_plugin(c, v);
        if (v->r ==
            -ERR_UNAVAILABLE) { /* the driver has not answered yet: retry instead of failing its volumes */
            timer_arm_after(&c->again, AGAIN_NS);
            return;
        }
    }
    if (begin_job(c, &reconstruct_type, c->scanned, on_reconstructed) == 0)
        c->scanned = NULL; /* the job's */
    else
        end_scan(c, TAKE(c->scanned), error_no_memory(&err), &err);
}

static void on_scanned(void *ctx, struct job *j, int r, const struct error *err)
{
    struct reconstruct *c = ctx;
    struct reconstruct_scan *s = TAKE(scan_job_of(j)->scan);

    c->job = NULL;
    for (size_t i = 0; r == 0 && i < s->volumes.count; i++)
        if (!s->volumes.items[i].device_mount_path)
            s->volumes.items[i].device_mount_path = "";
    if (r < 0) {
        end_scan(c, s, r, err);
        return;
    }
    c->scanned = s;
    reconstruct_by_plugins(c);
}

/* --- Start and end --- */

static int add_counter(struct metrics *m, const char *name, const char *help, struct metric **ret,
                       struct error *err)
{
    struct metric_desc desc = { .name = name, .help = help, .type = METRIC_COUNTER };
    struct metric_family *family;
    int r = metrics_share_family(m, &desc, &family, err);

    if (r == 0)
        *ret = metric_child(family, (const char *const[]){ NULL });
    return r;
}

static int add_counters(struct reconstruct *c, struct error *err)
{
    int r;

    if (!c->o.metrics)
        return 0;
    r = add_counter(c->o.metrics, "reconstruct_volume_operations_total",
                    "Volumes found on disk after a start.", &c->attempts, err);
    if (r < 0)
        return r;
    return add_counter(c->o.metrics, "reconstruct_volume_operations_errors_total",
                       "Volumes on disk that could not be reconstructed.", &c->failures, err);
}

static int begin_scan(struct reconstruct *c, struct error *err)
{
    static const struct job_type scan_type = { "scan of volumes on disk", scan_run, scan_job_free };
    _cleanup_(scan_free_p) struct reconstruct_scan *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return error_no_memory(err);
    c->scans++;
    s->arena = ARENA_INIT(SCAN_BYTES_MAX);
    s->env = volume_env_copy(c->o.env, /* stop= */ NULL, &s->arena);
    r = arena_check(&s->arena, err);
    if (r < 0)
        return r;
    if (begin_job(c, &scan_type, s, on_scanned) < 0)
        return error_no_memory(err);
    s = NULL; /* the job's */
    return 0;
}

static void on_rescan(void *ctx)
{
    static const struct node_restored nothing;
    struct reconstruct *c = ctx;
    struct error err;

    if (begin_scan(c, &err) < 0)
        c->o.done(c->o.ctx, &nothing, -(int)err.code, &err);
}

int reconstruct_new(const struct reconstruct_options *o, struct reconstruct **ret, struct error *err)
{
    struct reconstruct *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return error_no_memory(err);
    c->o = *o;
    timer_init(&c->again, o->loop, reconstruct_by_plugins, c);
    timer_init(&c->rescan, o->loop, on_rescan, c);
    r = add_counters(c, err);
    if (r == 0)
        r = begin_scan(c, err);
    if (r < 0) {
        (void)reconstruct_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

struct reconstruct *reconstruct_free(struct reconstruct *c)
{
    if (!c)
        return NULL;
    c->job = job_drop(c->job);
    timer_disarm(&c->again);
    timer_disarm(&c->rescan);
    c->scanned = scan_free(c->scanned);
    c->scan = scan_free(c->scan);
    free(c);
    return NULL;
}
