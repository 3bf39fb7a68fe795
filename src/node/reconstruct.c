/* Two jobs on the pool with a look into the registry between them: list, find plugins, ask them.
 *
 * The directories are those that pods' people cannot write to, but what a crash, another program or an
 * attacker left in them is not trusted: they are opened from pods/ on by descriptor, without links, and
 * everything that is counted is bounded. What is too large or cannot be read is left out and told; the rest
 * counts. So nothing is forgotten: a pod that is still wanted gets its volumes set up again, and the
 * directory of one that is gone stays until somebody has looked (orphans.h).
 *
 * Costs: a few system calls for a directory, the mount table once. A volume takes 650 bytes while the list
 * lives. */
#include "node/reconstruct.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
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
#define COMPLAINTS_MAX 100
#define AGAIN_NS (50 * NS_PER_MS)
#define SCAN_BYTES_MAX ((size_t)256 << 20)
#define PATH_TEXT_BYTES (2 * NAME_MAX + 32)

struct scan_job {
    struct job job;
    struct scan *scan;
};

struct reconstruct {
    struct reconstruct_options o;
    struct job *job;     /* NULL: done, or waits for a driver */
    struct scan *looked; /* whose plugins are looked for; NULL */
    struct timer again;
    struct scan *scan;
    struct found found;      /* a view of the scan */
    struct metric *attempts; /* both NULL: nothing is counted */
    struct metric *failures;
};

/* --- Life --- */

/* On the loop: plugins are counted. */
static struct scan *scan_free(struct scan *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->volumes.count; i++) {
        (void)plugin_unref(s->volumes.items[i].plugin);
        object_unref(s->volumes.items[i].object);
    }
    vec_done(&s->volumes);
    vec_done(&s->pods);
    vec_done(&s->complaints);
    arena_done(&s->arena);
    free(s);
    return NULL;
}
DEFINE_CLEANUP(struct scan, scan_free)

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

void scan_complain(struct scan *s, const struct error *why)
{
    if (s->complaints.count == COMPLAINTS_MAX ||
        vec_push(&s->complaints, arena_dup(&s->arena, str_of(why->msg))) < 0)
        s->complaints_lost++;
}

static int check_stop(const struct scan *s, struct error *err)
{
    if (atomic_load(s->env.stop) != 0)
        return error_set(err, ERR_CANCELLED, "the volumes on disk were looked at in part only");
    return 0;
}

int scan_add(struct scan *s, const struct found_volume *v, struct error *err)
{
    struct found_volume new = *v;

    if (s->volumes.count == VOLUMES_MAX)
        return error_set(err, ERR_TOO_LARGE, "there are more than %d volumes on disk", VOLUMES_MAX);
    new.name = arena_dup(&s->arena, str_of(v->name));
    if (arena_check(&s->arena, err) < 0 || vec_push(&s->volumes, new) < 0)
        return error_no_memory(err);
    return 0;
}

/* The volumes in pods/UID/DIR, which is "volumes/PLUGIN~NAME" or its like for devices. */
static int look_at_plugin(struct scan *s, int pod, const char *dir, struct found_volume like,
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
static void look_at_volumes(struct scan *s, int pod, const char *uid, const char *sub)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SCAN_LIST_BYTES_MAX);
    struct found_volume like = { .pod_uid = uid, .is_block = strcmp(sub, "volumeDevices") == 0 };
    char dir[PATH_TEXT_BYTES], plugin[NAME_MAX + 1];
    struct texts dirs = { 0 };
    struct error err = { 0 };
    int r = host_list_below(pod, sub, HOST_LIST_DIRS, &a, SCAN_PLUGINS_MAX, &dirs, &err);

    if (r < 0 && r != -ERR_NOT_FOUND) {
        (void)error_wrap(&err, "pod '%s'", uid);
        scan_complain(s, &err);
    }
    for (uint32_t i = 0; i < dirs.count; i++) {
        (void)snprintf(dir, sizeof dir, "%s/%s", sub, dirs.items[i]);
        r = layout_unescape(dirs.items[i], plugin, &err);
        like.plugin_name = plugin;
        if (r == 0)
            r = look_at_plugin(s, pod, dir, like, &err);
        if (r < 0) {
            (void)error_wrap(&err, "pod '%s'", uid);
            scan_complain(s, &err);
        }
    }
}

/* What a pod without a readable state file is owed is not known: the pod keeps the reason (pod_life.h). */
static void mark_unreadable(struct scan *s, struct found_pod *p, struct error *why)
{
    const char *kept;

    (void)error_wrap(why, "pod '%s'", p->uid);
    kept = arena_dup(&s->arena, str_of(why->msg));
    p->state_error = kept ? kept : "no memory";
    scan_complain(s, why);
}

static void read_state(struct scan *s, int pod, struct found_pod *p)
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
        r = error_set(&err, ERR_TOO_LARGE, "the state files of all pods are too large to be kept");
    kept = r == 0 ? arena_dup(&s->arena, buf_str(&text)) : NULL;
    if (!kept) {
        if (r == 0)
            (void)error_no_memory(&err);
        mark_unreadable(s, p, &err);
        return;
    }
    s->states_bytes += text.len;
    p->state = (struct str){ kept, text.len };
}

static int look_at_pod(struct scan *s, int pods, const char *uid, struct error *err)
{
    _cleanup_(closep) int fd = host_open_dir(pods, uid, 0);
    struct found_pod found = { .uid = uid, .state = STR_LIT("") };
    struct error why;

    if (fd < 0) {
        (void)error_set_errno(&why, -fd, "cannot open the directory of pod '%s'", uid);
        found.state_error = "the pod's directory cannot be opened";
        scan_complain(s, &why);
    } else {
        read_state(s, fd, &found);
        look_at_volumes(s, fd, uid, "volumes");
        look_at_volumes(s, fd, uid, "volumeDevices");
    }
    return vec_push(&s->pods, found) < 0 ? error_no_memory(err) : 0;
}

static int look_run(struct job *j, struct error *err)
{
    struct scan *s = scan_job_of(j)->scan;
    _cleanup_(closep) int pods = pods_dir_open(s->env.root, err);
    struct texts uids = { 0 };
    int r;

    if (pods < 0 && pods != -ERR_NOT_FOUND)
        return pods;
    r = pods < 0 ? 0 : pods_dir_list(pods, &s->arena, &uids, err);
    for (uint32_t i = 0; r == 0 && i < uids.count; i++) {
        r = check_stop(s, err);
        if (r == 0 && pod_uid_is_plausible(uids.items[i]))
            r = look_at_pod(s, pods, uids.items[i], err);
    }
    if (r == 0)
        scan_devices(s);
    return r < 0 ? r : arena_check(&s->arena, err);
}

/* --- On a worker: the volumes --- */

static bool spec_of(const struct found_volume *v, struct volume_spec *ret)
{
    struct volume_spec spec = { 0 };

    if (v->object->kind->kind == KIND_VOLUME)
        spec.volume = volume_of(v->object);
    else
        spec.inlined = pod_volume(pod_of(v->object), v->name);
    *ret = spec;
    return spec.volume || spec.inlined;
}

/* Where its device would be. A plugin that cannot say has nothing to take away there: local volumes that are
 * directories. */
static int find_device(struct scan *s, struct found_volume *v, const struct volume_spec *spec)
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
    } else if (devices && devices->can_mount(v->plugin, spec) &&
               devices->mount_path(v->plugin, &s->env, spec, path, &ignored) == 0) {
        v->device_mount_path = arena_dup(&s->arena, str_of(path));
    }
    return arena_check(&s->arena, &v->err);
}

static int not_known(struct found_volume *v)
{
    return error_set(&v->err, ERR_UNSUPPORTED, "plugin '%s' does not know volumes by their directories",
                     v->plugin->name);
}

/* The slot depends on which directory the volume was found by. */
static int ask_plugin(const struct scan *s, struct found_volume *v)
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

static int ask_one(struct scan *s, struct found_volume *v)
{
    struct volume_spec spec;
    int r = ask_plugin(s, v);

    if (r < 0)
        return r;
    r = spec_of(v, &spec) ? find_device(s, v, &spec)
                          : error_set(&v->err, ERR_INVALID, "'%s' is no name of a volume", v->name);
    if (r < 0)
        v->object = object_unref(v->object);
    return r;
}

static int ask_run(struct job *j, struct error *err)
{
    struct scan *s = scan_job_of(j)->scan;
    _cleanup_(mount_table_free_p) struct mount_table *mounts = NULL;
    struct error ignored;
    int r = 0;

    (void)mount_table_read(&mounts, &ignored); /* without it a plugin that needs it tries itself */
    s->env.mounts = mounts;
    for (size_t i = 0; r == 0 && i < s->volumes.count; i++) {
        struct found_volume *v = &s->volumes.items[i];

        r = check_stop(s, err);
        if (r == 0 && v->r == 0)
            v->r = ask_one(s, v);
    }
    s->env.mounts = NULL;
    return r;
}

/* --- On the loop --- */

static void tell(const struct reconstruct *c, const struct scan *s)
{
    size_t found = 0, failed = 0;

    for (size_t i = 0; i < s->complaints.count; i++)
        log_warn("part of what is on disk is left out", LOG_STR("reason", s->complaints.items[i]));
    if (s->complaints_lost)
        log_warn("more of what is on disk is left out", LOG_UINT("directories", s->complaints_lost));
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

static void end(struct reconstruct *c, struct scan *s, int r, const struct error *err)
{
    struct found found = { 0 };

    c->scan = s;
    if (r == 0) {
        tell(c, s);
        found = (struct found){ s->volumes.items, s->volumes.count, s->pods.items, s->pods.count };
    }
    c->found = found;
    c->o.done(c->o.ctx, &c->found, r, err);
}

static int begin(struct reconstruct *c, const struct job_type *type, struct scan *s, job_done_fn *done)
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

static void on_asked(void *ctx, struct job *j, int r, const struct error *err)
{
    struct reconstruct *c = ctx;

    c->job = NULL;
    end(c, TAKE(scan_job_of(j)->scan), r, err);
}

/* The references that a volume keeps are counted on the loop alone. */
static int find_plugin(struct reconstruct *c, struct found_volume *v)
{
    const struct volume_plugin *p = NULL;
    int r = registry_by_name(c->o.plugins, v->plugin_name, &p, &v->err);

    if (r < 0)
        return r;
    v->plugin = plugin_ref(p);
    if (v->is_block && !p->block)
        return error_set(&v->err, ERR_UNSUPPORTED, "plugin '%s' has no block volumes", p->name);
    return 0;
}

static void ask_plugins(void *ctx)
{
    static const struct job_type ask_type = { "volumes found on disk", ask_run, scan_job_free };
    struct reconstruct *c = ctx;
    struct error err;

    for (size_t i = 0; i < c->looked->volumes.count; i++) {
        struct found_volume *v = &c->looked->volumes.items[i];

        if (v->plugin)
            continue;
        v->err = (struct error){ 0 };
        v->r = find_plugin(c, v);
        if (v->r == -ERR_UNAVAILABLE) { /* a driver that has not answered yet: its volumes are not lost */
            timer_arm_after(&c->again, AGAIN_NS);
            return;
        }
    }
    if (begin(c, &ask_type, c->looked, on_asked) == 0)
        c->looked = NULL; /* the job's */
    else
        end(c, TAKE(c->looked), error_no_memory(&err), &err);
}

static void on_looked(void *ctx, struct job *j, int r, const struct error *err)
{
    struct reconstruct *c = ctx;
    struct scan *s = TAKE(scan_job_of(j)->scan);

    c->job = NULL;
    for (size_t i = 0; r == 0 && i < s->volumes.count; i++)
        if (!s->volumes.items[i].device_mount_path)
            s->volumes.items[i].device_mount_path = "";
    if (r < 0) {
        end(c, s, r, err);
        return;
    }
    c->looked = s;
    ask_plugins(c);
}

/* --- Life --- */

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
                    "Volumes that were found on disk after a start.", &c->attempts, err);
    if (r < 0)
        return r;
    return add_counter(c->o.metrics, "reconstruct_volume_operations_errors_total",
                       "Volumes on disk that could not be reconstructed.", &c->failures, err);
}

static int begin_look(struct reconstruct *c, struct error *err)
{
    static const struct job_type look_type = { "search for volumes on disk", look_run, scan_job_free };
    _cleanup_(scan_free_p) struct scan *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return error_no_memory(err);
    s->arena = ARENA_INIT(SCAN_BYTES_MAX);
    s->env = volume_env_copy(c->o.env, /* stop= */ NULL, &s->arena);
    r = arena_check(&s->arena, err);
    if (r < 0)
        return r;
    if (begin(c, &look_type, s, on_looked) < 0)
        return error_no_memory(err);
    s = NULL; /* the job's */
    return 0;
}

int reconstruct_new(const struct reconstruct_options *o, struct reconstruct **ret, struct error *err)
{
    struct reconstruct *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return error_no_memory(err);
    c->o = *o;
    timer_init(&c->again, o->loop, ask_plugins, c);
    r = add_counters(c, err);
    if (r == 0)
        r = begin_look(c, err);
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
    c->looked = scan_free(c->looked);
    c->scan = scan_free(c->scan);
    free(c);
    return NULL;
}
