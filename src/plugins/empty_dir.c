/* emptyDir volumes.
 *
 * A file next to the volumes, pods/UID/plugins/kubernetes.io~empty-dir/NAME/ready, marks a volume as set up:
 * a directory with incomplete ownership changes is not taken for finished, and a finished one is not walked
 * again. After a restart the medium is unknown, so tear_down() checks what is mounted.
 *
 * The size limit of a directory on disk is not enforced here: the node checks its usage and evicts the pod.
 */
#include "plugins/empty_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "host/fs.h"
#include "host/mount_syscall.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "io/path.h"
#include "plugins/builtin.h"
#include "plugins/layout.h"

#define NAME "kubernetes.io/empty-dir"
#define HUGE_PAGES "HugePages"
#define HUGE_PAGES_RESOURCE "hugepages-"
#define DIR_MODE 0777
#define NOTES_MODE 0750
#define READY_MODE 0644
#define SOURCE_BYTES_MAX 64
#define OPTION_BYTES (QUANTITY_TEXT_BYTES_MAX + 16)

/* --- Marker files --- */

/* The directory of the marker, and the marker file. */
static int notes_paths(const char *root, const char *pod_uid, const char *name, char ret_dir[PATH_MAX],
                       char ret_ready[PATH_MAX], struct error *err)
{
    int r = layout_pod_path(root, pod_uid, "plugins", NAME, name, ret_dir, err), n;

    if (r < 0)
        return r;
    n = snprintf(ret_ready, PATH_MAX, "%s/ready", ret_dir);
    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_INVALID, "a path below '%s' is too long", root) : 0;
}

/* The directory is usually empty besides the marker. */
static int notes_remove(const struct volume_env *env, const char *pod_uid, const char *dir, const char *ready,
                        struct error *err)
{
    char base[PATH_MAX];
    int r;

    io_discard_file(ready);
    if (host_remove_empty_dir(dir, err) == 0)
        return 0;
    r = layout_pod_dir(env->root, pod_uid, base, err);
    if (r == 0)
        r = host_remove_own_tree(base, dir, env->stop, err);
    return r < 0 ? error_wrap(err, "failed to remove ready dir [%s]", dir) : 0;
}

/* --- Medium Memory --- */

/* True if a file system of that kind is mounted exactly at path and not covered by another mount. */
static int is_mounted(const char *path, enum host_fs_kind wanted, bool *ret, uint64_t *ret_block_bytes,
                      struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    enum host_fs_kind kind = HOST_FS_OTHER;
    int r = host_path_state(path, &state, err);

    if (r < 0)
        return r;
    *ret = false;
    if (state != HOST_PATH_MOUNTED)
        return 0;
    r = host_fs_kind(path, &kind, ret_block_bytes, err);
    if (r == 0)
        *ret = kind == wanted;
    return r;
}

int64_t empty_dir_memory_bytes(const struct pod_empty_dir *source, const struct pod *pod,
                               const struct node *node)
{
    const struct quantity *given = node ? amounts_get(&node->allocatable, "memory") : NULL;
    int64_t bytes = given ? quantity_value(given) : 0, limit = pod_limit_value(pod, "memory");

    if (limit > 0 && (bytes <= 0 || limit <= bytes))
        bytes = limit;
    limit = source->has_size_limit ? quantity_value(&source->size_limit) : 0;
    if (limit > 0 && (bytes <= 0 || limit <= bytes))
        bytes = limit;
    return bytes > 0 ? bytes : 0;
}

/* Creates the directory and mounts on it; removes it if the mount fails. */
static int mount_on_new_dir(const struct volume_env *env, const struct mount_plan *plan, struct error *err)
{
    struct error ignored;
    int r = host_make_path(plan->target, DIR_MODE, err);

    if (r < 0)
        return r;
    r = host_mount(&env->tools, plan, err);
    if (r < 0)
        (void)host_remove_empty_dir(plan->target, &ignored); /* the failure of the mount is reported */
    return r;
}

static int make_tmpfs(const struct volume_env *env, const struct set_up_request *q, const struct empty_dir *e,
                      struct error *err)
{
    int64_t bytes = empty_dir_memory_bytes(&e->source, q->pod, q->node);
    char size[OPTION_BYTES];
    const char *options[2];
    struct mount_plan plan = { .source = "tmpfs", .target = e->path, .type = "tmpfs" };
    bool exists;
    int r = is_mounted(e->path, HOST_FS_TMPFS, &exists, NULL, err);

    if (r < 0 || exists)
        return r;
    plan.options.items = options;
    if (bytes > 0) {
        (void)snprintf(size, sizeof size, "size=%" PRId64, bytes);
        options[plan.options.count++] = size;
    }
    if (host_tmpfs_takes_noswap())
        options[plan.options.count++] = "noswap";
    return mount_on_new_dir(env, &plan, err);
}

/* --- Medium HugePages --- */

/* The size in "HugePages-2Mi"; false for "HugePages". */
static int medium_size(const char *medium, bool *ret_is_sized, struct quantity *ret, struct error *err)
{
    int r = 0;

    *ret_is_sized = strcmp(medium, HUGE_PAGES) != 0;
    if (*ret_is_sized)
        r = quantity_parse(str_of(medium + strlen(HUGE_PAGES "-")), ret, err);
    return r < 0 ? error_wrap(err, "medium %s", medium) : 0;
}

struct page_sizes {
    const char *medium;
    bool is_sized; /* only this size is accepted */
    struct quantity wanted;
    bool is_found;
    struct quantity found;
};

static int find_page_size(struct page_sizes *p, const struct amounts *requests, struct error *err)
{
    for (uint32_t i = 0; i < requests->count; i++) {
        struct str name = str_of(requests->items[i].name);
        struct quantity size;
        struct error ignored;
        if (!str_has_prefix(name, HUGE_PAGES_RESOURCE))
            continue;
        name = str_of(name.s + strlen(HUGE_PAGES_RESOURCE));
        if (quantity_parse(name, &size, &ignored) < 0) /* not a valid page size */
            continue;
        if (p->is_sized && quantity_cmp(&size, &p->wanted) != 0)
            continue;
        if (p->is_found && quantity_cmp(&size, &p->found) != 0)
            return error_set(err, ERR_INVALID,
                             "medium: %s can't be used if container requests multiple huge page sizes",
                             p->medium);
        p->is_found = true;
        p->found = size;
    }
    return 0;
}

int empty_dir_page_size(const struct pod *pod, const char *medium, struct quantity *ret, struct error *err)
{
    struct page_sizes p = { .medium = medium };
    int r = medium_size(medium, &p.is_sized, &p.wanted, err);

    if (r == 0)
        r = find_page_size(&p, &pod->requests, err);
    for (uint32_t i = 0; i < pod->containers_count && r == 0; i++)
        r = find_page_size(&p, &pod->containers[i].requests, err);
    if (r < 0)
        return r;
    if (!p.is_found)
        return error_set(
            err, ERR_INVALID,
            "medium %s: hugePages storage requested, but there is no resource request for huge pages",
            medium);
    *ret = p.found;
    return 0;
}

/* An existing mount must have the page size of the medium. */
static int check_mounted_pages(const struct set_up_request *q, const struct empty_dir *e, uint64_t bytes,
                               struct error *err)
{
    struct quantity wanted, mounted = quantity_of((int64_t)bytes, QUANTITY_BINARY_SI);
    _cleanup_(buf_done_p) struct buf shown = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    bool is_sized;
    int r = medium_size(e->source.medium, &is_sized, &wanted, err);

    if (r < 0 || !is_sized || quantity_cmp(&wanted, &mounted) == 0)
        return r;
    quantity_format(&mounted, &shown); /* "" without memory: only for the message */
    return error_set(err, ERR_CONFLICT,
                     "pod %s: mounted dir %s pagesize '%s' and requested medium size '%s' differ",
                     q->pod->obj.name, e->path, buf_cstr(&shown), e->source.medium + strlen(HUGE_PAGES "-"));
}

static int make_huge_pages(const struct volume_env *env, const struct set_up_request *q,
                           const struct empty_dir *e, struct error *err)
{
    _cleanup_(buf_done_p) struct buf option = BUF_INIT(OPTION_BYTES);
    struct quantity size;
    uint64_t bytes = 0;
    bool exists;
    int r = is_mounted(e->path, HOST_FS_HUGETLBFS, &exists, &bytes, err);

    if (r == 0 && exists)
        return check_mounted_pages(q, e, bytes, err);
    if (r == 0)
        r = empty_dir_page_size(q->pod, e->source.medium, &size, err);
    if (r < 0)
        return r;
    buf_add_cstr(&option, "pagesize=");
    quantity_format(&size, &option);
    r = buf_check(&option, "mount option", err);
    if (r < 0)
        return r;
    struct mount_plan plan = {
        .source = "nodev",
        .target = e->path,
        .type = "hugetlbfs",
        .options = { (const char *const[]){ buf_cstr(&option) }, 1 },
    };
    return mount_on_new_dir(env, &plan, err);
}

/* --- Set up --- */

static int make_by_medium(const struct volume_env *env, const struct set_up_request *q,
                          const struct empty_dir *e, struct error *err)
{
    const char *medium = e->source.medium;

    if (medium[0] == '\0')
        return host_make_path(e->path, DIR_MODE, err);
    if (strcmp(medium, EMPTY_DIR_MEMORY) == 0)
        return make_tmpfs(env, q, e, err);
    if (strcmp(medium, HUGE_PAGES) == 0 || str_has_prefix(str_of(medium), HUGE_PAGES "-"))
        return make_huge_pages(env, q, e, err);
    return error_set(err, ERR_INVALID, "unknown storage medium \"%s\"", medium);
}

/* A failure to change ownership is ignored; an interrupted walk is not finished. */
static int apply_fs_group(const struct volume_env *env, const struct set_up_request *q, const char *path,
                          struct error *err)
{
    struct ownership o = { .gid = (gid_t)q->fs_group, .stop = env->stop };
    struct error failed;
    bool walked;
    int r;

    if (q->fs_group < 0)
        return 0;
    r = host_own(path, &o, &walked, &failed);
    if (r != -ERR_CANCELLED)
        return 0;
    failed.code = ERR_INCOMPLETE;
    return error_pass(err, &failed);
}

/* True if a volume marked as ready still exists: a directory may have been removed by hand, and mounts are
 * lost at reboot. */
static int is_set_up(const struct empty_dir *e, const char *ready, bool *ret, bool *ret_is_stale,
                     struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    bool is_ready, exists = false;
    int r = io_exists(ready, &is_ready, err);

    if (r == 0)
        r = host_path_state(e->path, &state, err);
    if (r < 0)
        return r;
    if (state == HOST_PATH_CORRUPTED)
        return error_set(err, ERR_IO, "mount at '%s' is stale", e->path);
    if (is_ready && strcmp(e->source.medium, EMPTY_DIR_MEMORY) == 0)
        r = is_mounted(e->path, HOST_FS_TMPFS, &exists, NULL, err);
    else if (is_ready && e->source.medium[0] == '\0')
        exists = state != HOST_PATH_MISSING;
    *ret = exists;
    *ret_is_stale = is_ready && !exists;
    return r;
}

int empty_dir_set_up(const struct volume_env *env, const struct set_up_request *q, const struct empty_dir *e,
                     struct error *err)
{
    char notes[PATH_MAX], ready[PATH_MAX];
    bool is_done = false, is_stale = false;
    int r = notes_paths(env->root, q->pod->obj.uid, e->name, notes, ready, err);

    if (r == 0)
        r = is_set_up(e, ready, &is_done, &is_stale, err);
    if (r < 0 || is_done)
        return r;
    if (is_stale) /* after a crash from here on it must not count as ready */
        r = notes_remove(env, q->pod->obj.uid, notes, ready, err);
    if (r == 0)
        r = make_by_medium(env, q, e, err);
    if (r == 0)
        r = apply_fs_group(env, q, e->path, err);
    if (r == 0)
        r = host_make_path(notes, NOTES_MODE, err);
    return r < 0 ? r : host_make_file(ready, READY_MODE, err);
}

/* --- Tear down --- */

/* Unmounts what this plugin has mounted; removal reports anything else. */
static int unmount_ours(const struct volume_env *env, const char *path, bool *ret_was_mounted,
                        struct error *err)
{
    enum host_fs_kind kind = HOST_FS_OTHER;
    int r = host_fs_kind(path, &kind, NULL, err);

    *ret_was_mounted = false;
    if (r < 0 || kind == HOST_FS_OTHER)
        return r;
    *ret_was_mounted = true;
    return host_unmount(&env->tools, path, err);
}

int empty_dir_tear_down(const struct volume_env *env, const char *pod_uid, const char *name, const char *path,
                        struct error *err)
{
    char notes[PATH_MAX], ready[PATH_MAX], base[PATH_MAX];
    enum host_path_state state = HOST_PATH_MISSING;
    bool was_mounted = false;
    int r = notes_paths(env->root, pod_uid, name, notes, ready, err);

    if (r == 0)
        r = notes_remove(env, pod_uid, notes, ready, err);
    if (r == 0)
        r = host_path_state(path, &state, err);
    if (r < 0 || state == HOST_PATH_MISSING)
        return r;
    if (state == HOST_PATH_MOUNTED)
        r = unmount_ours(env, path, &was_mounted, err);
    if (r == 0 && was_mounted && host_remove_empty_dir(path, err) == 0)
        return 0;
    if (r == 0)
        r = layout_pod_dir(env->root, pod_uid, base, err);
    return r < 0 ? r : host_remove_own_tree(base, path, env->stop, err);
}

/* --- Resize --- */

int empty_dir_resize(const struct volume_env *env, const struct volume_spec *s, const struct pod *pod,
                     int64_t bytes, struct error *err)
{
    const struct pod_volume *v = s->inlined;
    char path[PATH_MAX], size[OPTION_BYTES];
    bool exists = false;
    int r;

    if (!v || v->type != POD_VOLUME_EMPTY_DIR || strcmp(v->empty_dir->medium, EMPTY_DIR_MEMORY) != 0)
        return error_set(err, ERR_UNSUPPORTED, "only memory-backed emptyDir volumes support direct resize");
    if (!v->empty_dir->has_size_limit || bytes <= 0)
        return error_set(err, ERR_UNSUPPORTED, "addition or removal of size limit is not supported");
    r = layout_path_slot(&empty_dir_plugin, env->root, pod->obj.uid, v->name, s, path, err);
    if (r == 0)
        r = is_mounted(path, HOST_FS_TMPFS, &exists, NULL, err);
    if (r < 0)
        return r;
    if (!exists)
        return error_set(err, ERR_UNAVAILABLE, "volume %s is not yet mounted; deferring resize", v->name);
    (void)snprintf(size, sizeof size, "size=%" PRId64, bytes);
    struct mount_plan plan = {
        .source = "tmpfs",
        .target = path,
        .type = "tmpfs",
        .options = { (const char *const[]){ "remount", size }, 2 },
    };
    return host_mount(&env->tools, &plan, err);
}

static int64_t resizable_bytes(const struct volume_spec *s, const struct pod *pod, const struct node *node)
{
    const struct pod_empty_dir *e = s->inlined ? s->inlined->empty_dir : NULL;

    if (!e || strcmp(e->medium, EMPTY_DIR_MEMORY) != 0 || !e->has_size_limit)
        return 0;
    return empty_dir_memory_bytes(e, pod, node);
}

static const struct resize_table resize_table = { .bytes = resizable_bytes, .resize = empty_dir_resize };

/* --- The plugin --- */

int empty_dir_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                    struct host_usage *ret, struct error *err)
{
    (void)self;
    return host_usage_of_tree(path, env->stop, ret, err);
}

static bool plugin_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return s->inlined && s->inlined->type == POD_VOLUME_EMPTY_DIR;
}

/* The medium is determined at tear down. */
static int plugin_reconstruct(const struct volume_plugin *self, const struct volume_env *env,
                              const char *name, const char *pod_uid, bool is_block, struct object **ret,
                              struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(SOURCE_BYTES_MAX);

    (void)env;
    if (is_block)
        return error_set(err, ERR_UNSUPPORTED, "%s does not support block volumes", self->name);
    json_out_object(&source, "emptyDir");
    json_out_end_object(&source);
    return reconstruct_pod(name, pod_uid, &source, ret, err);
}

static struct mount_attributes plugin_attributes(const struct volume_plugin *self,
                                                 const struct volume_spec *spec)
{
    (void)self;
    (void)spec;
    return (struct mount_attributes){ .is_read_only = false, .is_managed = true };
}

static int plugin_set_up(const struct volume_plugin *self, const struct volume_env *env,
                         const struct set_up_request *q, struct error *err)
{
    struct empty_dir e = { .name = spec_name(&q->spec), .source = *q->spec.inlined->empty_dir };
    char path[PATH_MAX];
    int r = layout_path_slot(self, env->root, q->pod->obj.uid, e.name, &q->spec, path, err);

    e.path = path;
    return r < 0 ? r : empty_dir_set_up(env, q, &e, err);
}

static int plugin_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                            const char *pod_uid, struct error *err)
{
    char path[PATH_MAX];
    int r = layout_path_slot(self, env->root, pod_uid, name, /* spec= */ NULL, path, err);

    return r < 0 ? r : empty_dir_tear_down(env, pod_uid, name, path, err);
}

static const struct pod_table pod_table = {
    .path = layout_path_slot,
    .attributes = plugin_attributes,
    .set_up = plugin_set_up,
    .tear_down = plugin_tear_down,
    .usage = empty_dir_usage,
};

const struct volume_plugin empty_dir_plugin = {
    .name = NAME,
    .can_support = plugin_can_support,
    .volume_name = volume_name_slot,
    .reconstruct = plugin_reconstruct,
    .pods = &pod_table,
    .resize = &resize_table,
};
