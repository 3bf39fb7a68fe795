/* nfs volumes: an export of a server, mounted for each pod. Provisioned and deleted by others; recycled here.
 *
 * A server that does not answer holds whoever asks it, in the kernel. So mounting and unmounting are child
 * processes with a limit, and what is at a path is asked without asking the server.
 *
 * Scrubbing mounts the export in a directory of the volume's name, empties it, unmounts it and removes the
 * directory, all in one function on the pool. The directory's name is fixed so that what a crash leaves
 * mounted is found and unmounted by the next try. Nothing is emptied unless something is mounted there: a
 * mount command that says yes and does nothing must not pass for a clean volume. */
#include "plugins/builtin.h"

#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "host/mount.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "plugins/layout.h"
#include "plugins/op_job.h"
#include "plugins/options.h"
#include "plugins/reconstruct.h"

#define NAME "kubernetes.io/nfs"
#define DIR_MODE 0700
#define POD_DIR_MODE 0750
#define SCRUB_MIN_S 300
#define SCRUB_PER_GIB_S 30
#define UNMOUNT_LIMIT_NS (60 * NS_PER_S)
#define UNMOUNT_DROPPED_LIMIT_NS (2 * NS_PER_S) /* the program ends */
#define TEXT_BYTES_MAX 65536                    /* of the source, of the options */

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
    return buf_check(ret, "the volume's name", err);
}

/* --- Mounting --- */

/* "server:/path"; an IPv6 address goes in brackets. */
static int write_source(const struct nfs_source *s, struct buf *out, struct error *err)
{
    bool is_ipv6 = strchr(s->server, ':') && s->server[0] != '[';

    if (s->server[0] == '\0' || s->server[0] == '-') /* mount would take it for an option */
        return error_set(err, ERR_INVALID, "'%s' is no NFS server", s->server);
    buf_addf(out, is_ipv6 ? "[%s]:%s" : "%s:%s", s->server, s->path);
    return buf_check(out, "the NFS export", err);
}

/* Mounts the export, and makes sure of it: a pod must not write into the directory below, nor that one pass
 * for clean. */
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
    return error_set(err, ERR_IO, "mount ended well, but nothing is mounted at '%s'", dir);
}

/* --- For pods --- */

static bool nfs_is_read_only(const struct volume_spec *s)
{
    return s->volume ? s->is_read_only : s->inlined->nfs->is_read_only;
}

static int nfs_path(const struct volume_plugin *self, const char *root, const char *pod_uid, const char *name,
                    const struct volume_spec *spec, char ret[PATH_MAX], struct error *err)
{
    (void)self;
    (void)spec;
    return layout_pod_path(root, pod_uid, "volumes", NAME, name, ret, err);
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
    int r = nfs_path(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, dir, err);

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
        (void)host_clean_mount_point(&env->tools, dir, UNMOUNT_LIMIT_NS, &ignored); /* the first failure */
    return r;
}

static int nfs_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                         const char *pod_uid, struct error *err)
{
    char dir[PATH_MAX];
    int r = nfs_path(self, env->root, pod_uid, name, /* spec= */ NULL, dir, err);

    return r < 0 ? r : host_clean_mount_point(&env->tools, dir, UNMOUNT_LIMIT_NS, err);
}

static int nfs_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                     struct host_usage *ret, struct error *err)
{
    (void)self;
    (void)env;
    return host_usage_of_fs(path, ret, err);
}

/* The server is not known from the disk: an export of nobody, under the volume's name. */
static int nfs_reconstruct(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                           const char *pod_uid, bool is_block, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(TEXT_BYTES_MAX);

    (void)self;
    (void)env;
    if (is_block)
        return error_set(err, ERR_UNSUPPORTED, "nfs volumes are no block devices");
    json_out_object(&source, "nfs");
    json_out_text(&source, "server", "");
    json_out_text(&source, "path", name);
    json_out_end_object(&source);
    return reconstruct_pod(name, pod_uid, &source, ret, err);
}

/* --- Recycling --- */

/* Goes on after the limit of the scrub: a mount must not stay. A server that does not answer is left by
 * force. */
static int scrub_unmount(struct op_job *w, struct error *err)
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

static int scrub_mount(struct op_job *w, struct error *err)
{
    struct volume_spec spec = { .volume = volume_of(w->about) };
    struct host_tools tools = { .commands_path = w->host.commands_path, .stop = &w->job.stop };

    return nfs_mount(&tools, &spec, spec.volume->source.nfs->is_read_only, w->job.limit_ns, w->path, err);
}

static int scrub_run(struct job *j, struct error *err)
{
    struct op_job *w = op_job_of(j);
    const char *base = w->host.mount_dir ? w->host.mount_dir : NFS_MOUNT_DIR;
    const struct nfs_source *source = volume_of(w->about)->source.nfs;
    struct error clear_err = { 0 };
    int r, clear_r, n;

    r = host_guard_check_export(w->guard, source->server, source->path, err);
    if (r < 0)
        return r;
    n = snprintf(w->path, sizeof w->path, "%s/%s", base, w->about->name);
    if (n < 0 || (size_t)n >= sizeof w->path)
        return error_set(err, ERR_INVALID, "'%s' is too long a path", base);
    r = host_make_dir(base, w->about->name, DIR_MODE, err);
    if (r < 0)
        return r;
    r = scrub_unmount(w, err);
    if (r < 0)
        return r;
    r = scrub_mount(w, err);
    if (r == 0)
        r = host_empty_dir(w->path, w->guard, &j->stop, err);
    clear_r = scrub_unmount(w, &clear_err);
    if (clear_r == 0)
        clear_r = host_remove_empty_dir(w->path, &clear_err);
    if (r == 0 && clear_r < 0) { /* the first failure is the one to tell */
        *err = clear_err;
        return clear_r;
    }
    return r;
}

static void nfs_recycle(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    static const struct job_type type = { "recycling", scrub_run, op_job_free };

    op_job_begin(h, &type, &v->obj, /* path= */ NULL, plugin_scrub_limit_s(v, SCRUB_MIN_S, SCRUB_PER_GIB_S),
                 op);
}

static const struct recycle_table recycle_table = { nfs_recycle };
static const struct pod_table pod_table = {
    .path = nfs_path,
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
