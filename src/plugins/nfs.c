/* nfs volumes: an export of a server, mounted for each pod. Provisioned and deleted by others; recycled here.
 *
 * A server that does not respond blocks callers in the kernel. So mount and unmount run as child processes
 * with a time limit, and the state of a path is read without contacting the server.
 *
 * Scrubbing mounts the export in a directory with the volume's name, empties it, unmounts it and removes the
 * directory, in one function on the pool. The fixed name lets the next try find and unmount what a crash left
 * mounted. Nothing is emptied unless something is mounted, so that a mount command without effect does not
 * make a volume look clean. */
#include "plugins/builtin.h"

#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "host/mount_syscall.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "plugins/layout.h"
#include "plugins/plugin_job.h"

#define NAME "kubernetes.io/nfs"
#define DIR_MODE 0700
#define POD_DIR_MODE 0750
#define SCRUB_MIN_S 300
#define SCRUB_PER_GIB_S 30
#define UNMOUNT_LIMIT_NS (60 * NS_PER_S)
#define UNMOUNT_DROPPED_LIMIT_NS (2 * NS_PER_S) /* the process is exiting */
#define TEXT_BYTES_MAX 65536                    /* for the source and for the options */

static bool nfs_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_NFS;
}

static int nfs_volume_name(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                           struct error *err)
{
    const struct nfs_source *source = spec_source(s).nfs;

    (void)self;
    buf_addf(ret, "%s/%s", source->server, source->path);
    return buf_check(ret, "volume name", err);
}

/* --- Mount --- */

/* "server:/path"; IPv6 addresses in brackets. */
static int write_source(const struct nfs_source *s, struct buf *out, struct error *err)
{
    bool is_ipv6 = strchr(s->server, ':') && s->server[0] != '[';

    if (s->server[0] == '\0' || s->server[0] == '-') /* mount(8) would take it for an option */
        return error_set(err, ERR_INVALID, "'%s' is not a valid NFS server", s->server);
    buf_addf(out, is_ipv6 ? "[%s]:%s" : "%s:%s", s->server, s->path);
    return buf_check(out, "NFS export", err);
}

/* Mounts the export and verifies the mount: a pod must not write to the directory below it, and that
 * directory must not count as clean. */
static int nfs_mount(const struct host_tools *t, const struct volume_spec *s, bool is_read_only,
                     uint64_t limit_ns, const char *dir, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(TEXT_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(TEXT_BYTES_MAX);
    const char *const ours[] = { is_read_only ? "ro" : NULL, NULL };
    struct mount_plan plan = { .target = dir, .type = "nfs", .limit_ns = limit_ns };
    enum host_path_state state = HOST_PATH_MISSING;
    int r = write_source(spec_source(s).nfs, &source, err);

    if (r == 0)
        r = volume_mount_options(&a, s, ours, &plan.options, err);
    if (r < 0)
        return r;
    plan.source = buf_cstr(&source);
    r = host_mount(t, &plan, err);
    if (r == 0)
        r = host_path_state(dir, &state, err);
    if (r < 0 || state == HOST_PATH_MOUNTED)
        return r;
    return error_set(err, ERR_IO, "mount succeeded, but nothing is mounted at '%s'", dir);
}

/* --- Pods --- */

static bool nfs_is_read_only(const struct volume_spec *s)
{
    return s->volume ? s->is_read_only : s->inlined->nfs->is_read_only;
}

static struct mount_attributes nfs_attributes(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return (struct mount_attributes){ .is_read_only = nfs_is_read_only(s), .is_managed = false };
}

static int nfs_set_up(const struct volume_plugin *self, const struct volume_env *env,
                      const struct set_up_request *q, struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    struct error ignored;
    char dir[PATH_MAX];
    int r = layout_path_slot(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, dir, err);

    if (r == 0)
        r = host_path_state(dir, &state, err);
    if (r < 0 || state == HOST_PATH_MOUNTED)
        return r;
    if (state == HOST_PATH_CORRUPTED)
        r = host_clean_mount_point(&env->tools, dir, UNMOUNT_LIMIT_NS, err);
    if (r == 0)
        r = host_make_path(dir, POD_DIR_MODE, err);
    if (r < 0)
        return r;
    r = nfs_mount(&env->tools, &q->spec, nfs_is_read_only(&q->spec), /* limit_ns= */ 0, dir, err);
    if (r < 0)
        (void)host_clean_mount_point(&env->tools, dir, UNMOUNT_LIMIT_NS,
                                     &ignored); /* the first failure is reported */
    return r;
}

static int nfs_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                         const char *pod_uid, struct error *err)
{
    char dir[PATH_MAX];
    int r = layout_path_slot(self, env->root, pod_uid, name, /* spec= */ NULL, dir, err);

    return r < 0 ? r : host_clean_mount_point(&env->tools, dir, UNMOUNT_LIMIT_NS, err);
}

static int nfs_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                     struct host_usage *ret, struct error *err)
{
    (void)self;
    (void)env;
    return host_usage_of_fs(path, ret, err);
}

/* The disk does not have the server: an export with an empty server, under the volume's name. */
static int nfs_reconstruct(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                           const char *pod_uid, bool is_block, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(TEXT_BYTES_MAX);

    (void)self;
    (void)env;
    if (is_block)
        return error_set(err, ERR_UNSUPPORTED, "nfs does not support block volumes");
    json_out_object(&source, "nfs");
    json_out_text(&source, "server", "");
    json_out_text(&source, "path", name);
    json_out_end_object(&source);
    return reconstruct_pod(name, pod_uid, &source, ret, err);
}

/* --- Recycling --- */

/* Continues after the time limit of the scrub, because no mount may be left. An unresponsive server is
 * unmounted by force. */
static int scrub_unmount(struct plugin_job *w, struct error *err)
{
    struct host_tools tools = { .commands_path = w->host.commands_path };
    bool is_dropped = atomic_load(&w->job.stop) == JOB_DROPPED;
    enum host_path_state state = HOST_PATH_MISSING;
    int r = host_path_state(w->path, &state, err);

    if (r < 0 || state == HOST_PATH_PLAIN)
        return r;
    return host_unmount_forced(&tools, w->path, is_dropped ? UNMOUNT_DROPPED_LIMIT_NS : UNMOUNT_LIMIT_NS,
                               err);
}

static int scrub_run(struct job *j, struct error *err)
{
    struct plugin_job *w = plugin_job_of(j);
    const char *base = w->host.mount_dir ? w->host.mount_dir : NFS_MOUNT_DIR;
    const struct volume_spec spec = { .volume = volume_of(w->about) };
    const struct nfs_source *source = spec.volume->source.nfs;
    const struct host_tools tools = { .commands_path = w->host.commands_path, .stop = &j->stop };
    struct error clear_err = { 0 };
    int r, clear_r, n;

    r = host_guard_check_export(w->guard, source->server, source->path, err);
    if (r < 0)
        return r;
    n = snprintf(w->path, sizeof w->path, "%s/%s", base, w->about->name);
    if (n < 0 || (size_t)n >= sizeof w->path)
        return error_set(err, ERR_INVALID, "path '%s' is too long", base);
    r = host_make_dir(base, w->about->name, DIR_MODE, err);
    if (r < 0)
        return r;
    r = scrub_unmount(w, err);
    if (r < 0)
        return r;
    r = nfs_mount(&tools, &spec, source->is_read_only, j->limit_ns, w->path, err);
    if (r == 0)
        r = host_empty_dir(w->path, w->guard, &j->stop, err);
    clear_r = scrub_unmount(w, &clear_err);
    if (clear_r == 0)
        clear_r = host_remove_empty_dir(w->path, &clear_err);
    if (r == 0 && clear_r < 0) { /* the first failure is reported */
        *err = clear_err;
        return clear_r;
    }
    return r;
}

static void nfs_recycle(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    static const struct job_type type = { "recycling", scrub_run, plugin_job_free };

    plugin_job_begin(h, &type, &v->obj, /* path= */ NULL,
                     plugin_scrub_limit_s(v, SCRUB_MIN_S, SCRUB_PER_GIB_S), op);
}

static const struct recycle_table recycle_table = { nfs_recycle };
static const struct pod_table pod_table = {
    .path = layout_path_slot,
    .attributes = nfs_attributes,
    .set_up = nfs_set_up,
    .tear_down = nfs_tear_down,
    .usage = nfs_usage,
};

const struct volume_plugin nfs_plugin = {
    .name = NAME,
    .can_support = nfs_can_support,
    .volume_name = nfs_volume_name,
    .reconstruct = nfs_reconstruct,
    .access_modes = ACCESS_RWO | ACCESS_ROX | ACCESS_RWX,
    .takes_mount_options = true,
    .recycle = &recycle_table,
    .pods = &pod_table,
};
