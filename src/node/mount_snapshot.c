/* Reads the mount table and indexes the mounts below the node's root by path. The plugin of a mount follows
 * from the components of its path; no file system is accessed, so a hanging mount does not block. */
#include "node/mount_snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "plugins/layout.h"

#define LOOK_BYTES_MAX ((size_t)128 << 20)
#define PARTS_MAX 8

struct mount_snapshot {
    struct arena arena; /* all texts */
    const char *root;
    VEC(struct mounted) all;
    struct map by_path; /* const char *, the path */
    size_t table_count;
};

struct snapshot_job {
    struct job job;
    struct mount_snapshot *snapshot;
};

static struct snapshot_job *snapshot_job_of(struct job *j)
{
    return CONTAINER_OF(j, struct snapshot_job, job);
}

/* --- The plugin of a path --- */

/* The first components of a path below the root. */
struct parts {
    struct str items[PARTS_MAX];
    size_t count;
};

static struct parts split_path(const char *below)
{
    struct parts p = { 0 };

    for (struct str rest = str_of(below); rest.s && p.count < PARTS_MAX;)
        p.items[p.count++] = str_next(&rest, '/');
    return p;
}

static const char *unescape_dir(struct arena *a, struct str dir)
{
    char name[NAME_MAX + 1], plugin[NAME_MAX + 1];
    struct error ignored;

    if (dir.len > NAME_MAX)
        return NULL;
    (void)snprintf(name, sizeof name, "%.*s", STR_ARG(dir));
    return layout_unescape(name, plugin, &ignored) < 0 ? NULL : arena_dup(a, str_of(plugin));
}

/* pods/UID/volumes/PLUGIN~NAME/VOLUME, pods/UID/volume-subpaths/VOLUME/… */
static const char *plugin_in_pod(struct arena *a, const struct parts *p)
{
    if (p->count >= 5 && str_is(p->items[2], "volumes"))
        return unescape_dir(a, p->items[3]);
    return p->count >= 4 && str_is(p->items[2], "volume-subpaths") ? "" : NULL;
}

/* plugins/kubernetes.io/NAME/…, plugins/kubernetes.io/flexvolume/VENDOR/NAME/mounts/VOLUME and
 * plugins/VENDOR~NAME/volumeDevices/VOLUME/POD; other directories in plugins/ belong to the drivers. */
static const char *plugin_of_node(struct arena *a, const struct parts *p)
{
    if (p->count >= 4 && memchr(p->items[1].s, '~', p->items[1].len) && str_is(p->items[2], "volumeDevices"))
        return unescape_dir(a, p->items[1]);
    if (p->count < 4 || !str_is(p->items[1], "kubernetes.io") ||
        (p->count == 4 && str_is(p->items[3], "mounts")))
        return NULL;
    if (p->count >= 7 && str_is(p->items[2], "flexvolume"))
        return arena_printf(a, "%.*s/%.*s", STR_ARG(p->items[3]), STR_ARG(p->items[4]));
    return arena_printf(a, "kubernetes.io/%.*s", STR_ARG(p->items[2]));
}

/* plugins/kubernetes.io/csi/volumeDevices/publish/VOLUME/POD, and the same for staged volumes: the records
 * use plugins/kubernetes.io/csi/volumeDevices/VOLUME/dev. */
static const char *place_of(struct mount_snapshot *k, const struct parts *p, const char *path)
{
    if (p->count < 6 || !str_is(p->items[0], "plugins") || !str_is(p->items[2], "csi") ||
        !str_is(p->items[3], "volumeDevices") ||
        (!str_is(p->items[4], "publish") && !str_is(p->items[4], "staging")))
        return path;
    return arena_printf(&k->arena, "%s/plugins/kubernetes.io/csi/volumeDevices/%.*s/dev", k->root,
                        STR_ARG(p->items[5]));
}

/* --- On a worker --- */

static int snapshot_add_mount(struct mount_snapshot *k, const char *target, struct error *err)
{
    struct parts p = split_path(target + strlen(k->root) + 1);
    struct mounted m = { .path = arena_dup(&k->arena, str_of(target)) };

    if (p.count > 1 && str_is(p.items[0], "pods"))
        m.plugin = plugin_in_pod(&k->arena, &p);
    else if (p.count > 1 && str_is(p.items[0], "plugins"))
        m.plugin = plugin_of_node(&k->arena, &p);
    m.place = place_of(k, &p, m.path);
    if (arena_check(&k->arena, err) < 0)
        return -(int)err->code;
    if (vec_push(&k->all, m) < 0 || map_put(&k->by_path, str_of(m.path), (void *)(uintptr_t)m.path, NULL) < 0)
        return error_no_memory(err);
    return 0;
}

static int snapshot_run(struct job *j, struct error *err)
{
    struct mount_snapshot *k = snapshot_job_of(j)->snapshot;
    _cleanup_(mount_table_free_p) struct mount_table *t = NULL;
    int r = mount_table_read(&t, err);

    if (r == 0)
        k->table_count = mount_table_count(t);
    for (size_t i = 0; r == 0 && i < k->table_count; i++) {
        const char *target = mount_table_at(t, i)->target;

        if (host_path_is_below(target, k->root))
            r = snapshot_add_mount(k, target, err);
    }
    return r;
}

/* --- On the loop --- */

struct mount_snapshot *mount_snapshot_free(struct mount_snapshot *k)
{
    if (!k)
        return NULL;
    map_done(&k->by_path);
    vec_done(&k->all);
    arena_done(&k->arena);
    free(k);
    return NULL;
}

static void snapshot_job_free(struct job *j)
{
    (void)mount_snapshot_free(snapshot_job_of(j)->snapshot);
    free(snapshot_job_of(j));
}

struct job *mount_snapshot_job(const char *root, struct hash_seed seed)
{
    static const struct job_type type = { "mount table read", snapshot_run, snapshot_job_free };
    struct snapshot_job *j = calloc(1, sizeof *j);
    struct mount_snapshot *k = calloc(1, sizeof *k);

    if (!j || !k) {
        free(j);
        free(k);
        return NULL;
    }
    k->arena = ARENA_INIT(LOOK_BYTES_MAX);
    k->root = arena_dup(&k->arena, str_of(root));
    map_init(&k->by_path, seed);
    j->job.type = &type;
    j->job.about = k->root;
    j->snapshot = k;
    if (!k->root) {
        snapshot_job_free(&j->job);
        return NULL;
    }
    return &j->job;
}

struct mount_snapshot *mount_snapshot_take(struct job *j)
{
    return TAKE(snapshot_job_of(j)->snapshot);
}

bool mount_snapshot_has(const struct mount_snapshot *k, const char *path)
{
    return map_get(&k->by_path, str_of(path));
}

size_t mount_snapshot_table_count(const struct mount_snapshot *k)
{
    return k->table_count;
}

const struct mounted *mount_snapshot_all(const struct mount_snapshot *k, size_t *ret_count)
{
    *ret_count = k->all.count;
    return k->all.items;
}
