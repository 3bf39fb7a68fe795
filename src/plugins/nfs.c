/* nfs volumes: an export of a server. Provisioned and deleted by others; recycled here.
 *
 * Scrubbing mounts the export in a directory of the volume's name, empties it, unmounts it and removes the
 * directory, all in one function on the pool. The directory's name is fixed so that what a crash leaves
 * mounted is found and unmounted by the next try. Nothing is emptied unless something is mounted there: a
 * mount command that says yes and does nothing must not pass for a clean volume. */
#include "plugins/builtin.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/command.h"
#include "host/mounts.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "plugins/work.h"

#define NAME "kubernetes.io/nfs"
#define DIR_MODE 0700
#define SCRUB_MIN_S 300
#define SCRUB_PER_GIB_S 30
#define UNMOUNT_LIMIT_NS (60 * NS_PER_S)
#define UNMOUNT_DROPPED_LIMIT_NS (2 * NS_PER_S) /* the program ends */
#define TEXT_BYTES_MAX 8192                     /* of the source and of the options */

static bool nfs_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_NFS;
}

/* "server:/path"; an IPv6 address goes in brackets. */
static int write_source(const struct nfs_source *s, struct buf *out, struct error *err)
{
    bool is_ipv6 = strchr(s->server, ':') && s->server[0] != '[';

    if (s->server[0] == '\0' || s->server[0] == '-') /* mount would take it for an option */
        return error_set(err, ERR_INVALID, "'%s' is no NFS server", s->server);
    (void)buf_addf(out, is_ipv6 ? "[%s]:%s" : "%s:%s", s->server, s->path);
    return buf_check(out, "the NFS export", err);
}

/* The volume's mount options: the old annotation's, else the spec's; and "ro". */
static int write_options(const struct volume *v, struct buf *out, struct error *err)
{
    const char *given = object_annotation(&v->obj, ANN_MOUNT_OPTIONS_BETA);

    if (given)
        (void)buf_add_cstr(out, given);
    for (uint32_t i = 0; !given && i < v->mount_options.count; i++)
        (void)buf_addf(out, "%s%s", out->len ? "," : "", v->mount_options.items[i]);
    if (v->source.nfs->is_read_only)
        (void)buf_addf(out, "%sro", out->len ? "," : "");
    return buf_check(out, "the mount options", err);
}

static int nfs_mount(struct plugin_work *w, const char *dir, struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(TEXT_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf options = BUF_INIT(TEXT_BYTES_MAX);
    const struct volume *v = volume_of(w->about);
    bool is_mounted = false;
    int r = write_source(v->source.nfs, &source, err);

    if (r == 0)
        r = write_options(v, &options, err);
    if (r < 0)
        return r;
    const char *plain[] = { "mount", "-t", "nfs", buf_cstr(&source), dir, NULL };
    const char *with_options[] = { "mount",           "-t", "nfs", "-o", buf_cstr(&options),
                                   buf_cstr(&source), dir,  NULL };
    struct command c = {
        .what = "mount",
        .argv = options.len ? with_options : plain,
        .path = w->host.commands_path,
        .limit_ns = w->limit_s * NS_PER_S,
        .stop = &w->stop,
    };
    r = command_run(&c, err);
    if (r == 0)
        r = host_is_mount_point(dir, &is_mounted, err);
    if (r == 0 && !is_mounted)
        r = error_set(err, ERR_IO, "mount ended well, but nothing is mounted at '%s'", dir);
    return r < 0 ? error_wrap(err, "cannot mount '%s'", buf_cstr(&source)) : 0;
}

/* Goes on after the limit of the scrub: a mount must not stay. A server that does not answer is left by
 * force. */
static int nfs_unmount(struct plugin_work *w, const char *dir, struct error *err)
{
    const char *gently[] = { "umount", dir, NULL };
    const char *by_force[] = { "umount", "-f", dir, NULL };
    struct command c = {
        .what = "umount",
        .argv = gently,
        .path = w->host.commands_path,
        .limit_ns = atomic_load(&w->stop) == STOP_DROPPED ? UNMOUNT_DROPPED_LIMIT_NS : UNMOUNT_LIMIT_NS,
    };
    int r = command_run(&c, err);

    if (r == -ERR_TIMEOUT) {
        c.argv = by_force;
        r = command_run(&c, err);
    }
    return r < 0 ? error_wrap(err, "cannot unmount '%s'", dir) : 0;
}

/* Unmounts whatever is mounted there. */
static int nfs_clear(struct plugin_work *w, const char *dir, struct error *err)
{
    bool is_mounted = false;
    int r = host_is_mount_point(dir, &is_mounted, err);

    return r == 0 && is_mounted ? nfs_unmount(w, dir, err) : r;
}

static int scrub_run(struct plugin_work *w, struct error *err)
{
    const char *base = w->host.mount_dir ? w->host.mount_dir : NFS_MOUNT_DIR;
    struct error clear_err = { 0 };
    int r, clear_r, n;

    n = snprintf(w->path, sizeof w->path, "%s/%s", base, w->about->name);
    if (n < 0 || (size_t)n >= sizeof w->path)
        return error_set(err, ERR_INVALID, "'%s' is too long a path", base);
    r = host_make_dir(base, w->about->name, DIR_MODE, err);
    if (r < 0)
        return r;
    r = nfs_clear(w, w->path, err);
    if (r < 0)
        return r;
    r = nfs_mount(w, w->path, err);
    if (r == 0)
        r = host_empty_dir(w->path, &w->stop, err);
    clear_r = nfs_clear(w, w->path, &clear_err);
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
    static const struct plugin_task scrub_task = { .run = scrub_run };

    plugin_work_begin(h, &scrub_task, &v->obj, /* path= */ NULL,
                      plugin_scrub_limit_s(v, SCRUB_MIN_S, SCRUB_PER_GIB_S), op);
}

static const struct recycle_table recycle_table = { nfs_recycle };

const struct volume_plugin nfs_plugin = {
    .name = NAME,
    .can_support = nfs_can_support,
    .takes_mount_options = true,
    .recycle = &recycle_table,
};
