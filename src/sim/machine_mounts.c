/* Disks and the mount table of a simulated machine.
 *
 * Mounts are listed in the order of mounting; a child comes after its parent. Of several mounts on one node
 * the last one is visible. A mount is busy while another mount, an open file or a loop device refers to it; a
 * lazy unmount removes it and all mounts below it in any case. Everything is a linear search in the list of
 * mounts. */
#include "sim/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "sim/sim_world.h"

/* --- Disks --- */

void machine_attach_disk(struct machine *m, struct sim_disk *d)
{
    char path[96];
    struct file_node *n;

    (void)snprintf(path, sizeof path, "/dev/%s", d->name);
    n = tree_make(TAILQ_FIRST(&m->mounts)->root, path, S_IFBLK | 0660);
    if (n->device == 0) {
        if (vec_push(&m->disks, d) < 0)
            abort();
        n->device = (unsigned)m->disks.count;
    } else {
        m->disks.items[n->device - 1] = d;
    }
    sim_trace(m->sim, "%s has the disk %s", m->name, d->name);
}

void machine_detach_disk(struct machine *m, struct sim_disk *d)
{
    struct file_node *dev = tree_make(TAILQ_FIRST(&m->mounts)->root, "/dev", S_IFDIR | 0755);
    struct file_node *n = tree_find(dev, d->name);

    if (!n)
        return;
    m->disks.items[n->device - 1] = NULL;
    tree_remove(n);
    sim_trace(m->sim, "%s loses the disk %s", m->name, d->name);
}

struct sim_disk *machine_disk_of(const struct machine *m, const struct file_node *n)
{
    return S_ISBLK(n->mode) && n->device > 0 ? m->disks.items[n->device - 1] : NULL;
}

struct sim_disk *machine_find_disk(struct machine *m, const char *path)
{
    struct machine_place p;

    return machine_find(m, AT_FDCWD, path, 0, &p, NULL) == 0 ? machine_disk_of(m, p.node) : NULL;
}

bool machine_mounts_disk(const struct machine *m, const struct sim_disk *d)
{
    const struct machine_mount *mount;

    TAILQ_FOREACH(mount, &m->mounts, link)
        if ((d->tree && mount->tree == d->tree) || machine_disk_of(m, mount->root) == d)
            return true;
    return false;
}

/* --- Mounting --- */

static bool has_option(const char *options, const char *name)
{
    struct str rest = str_of(options);

    while (rest.s)
        if (str_is(str_next(&rest, ','), name))
            return true;
    return false;
}

static void mount_add(struct machine *m, struct machine_place at, struct file_tree *t, struct file_node *root,
                      bool is_read_only)
{
    struct machine_mount *mount = sim_alloc(sizeof *mount);

    *mount = (struct machine_mount){ .id = ++m->mounts_made,
                                     .parent = at.mount,
                                     .at = at.node,
                                     .root = root,
                                     .tree = t,
                                     .is_read_only = is_read_only };
    TAILQ_INSERT_TAIL(&m->mounts, mount, link);
    tree_note_change();
    machine_mounts_changed(m);
}

static int mount_bind(struct machine *m, const char *source, struct machine_place at)
{
    struct machine_place from;
    int r = machine_find(m, AT_FDCWD, source, 0, &from, NULL);

    if (r)
        return r;
    if (S_ISDIR(from.node->mode) != S_ISDIR(at.node->mode))
        return ENOTDIR;
    mount_add(m, at, from.mount->tree, from.node, from.mount->is_read_only);
    return 0;
}

static int mount_disk(struct machine *m, const char *source, const char *type, struct machine_place at,
                      bool is_read_only)
{
    const struct sim_disk *d = machine_find_disk(m, source);

    if (!d)
        return ENODEV;
    if (!d->tree || (type[0] && strcmp(type, "auto") != 0 && strcmp(type, d->tree->type) != 0))
        return EINVAL;
    mount_add(m, at, d->tree, d->tree->root, is_read_only);
    return 0;
}

int machine_mount(struct machine *m, const char *source, const char *target, const char *type,
                  const char *options)
{
    bool is_read_only = has_option(options, "ro");
    struct machine_place at;
    struct file_tree *t;
    int r = machine_find(m, AT_FDCWD, target, 0, &at, NULL);

    if (r)
        return r;
    if (has_option(options, "remount")) {
        if (at.node != at.mount->root)
            return EINVAL;
        at.mount->is_read_only = is_read_only;
        return 0;
    }
    sim_trace(m->sim, "%s mounts %s at %s", m->name, source, target);
    if (has_option(options, "bind"))
        return mount_bind(m, source, at);
    if (strcmp(type, "tmpfs") != 0)
        return mount_disk(m, source, type, at, is_read_only);
    t = machine_add_tree(m, type, source);
    mount_add(m, at, t, t->root, is_read_only);
    return 0;
}

/* --- Unmounting --- */

static bool is_mount_busy(const struct machine *m, const struct machine_mount *mount)
{
    const struct machine_mount *other;

    TAILQ_FOREACH(other, &m->mounts, link)
        if (other->parent == mount)
            return true;
    for (size_t i = 0; i < m->files.count; i++)
        if (m->files.items[i]->owner && m->files.items[i]->place.mount == mount)
            return true;
    return machine_loop_holds(m, mount);
}

/* A mount below this one that has no mounts on it; the mount itself if nothing is mounted on it. */
static struct machine_mount *find_leaf_below(const struct machine *m, struct machine_mount *mount)
{
    struct machine_mount *other = TAILQ_FIRST(&m->mounts);

    while (other) {
        bool is_child = other->parent == mount;

        mount = is_child ? other : mount;
        other = is_child ? TAILQ_FIRST(&m->mounts) : TAILQ_NEXT(other, link);
    }
    return mount;
}

/* Removes a mount without mounts on it. Its open files keep their nodes and get the parent mount. */
static void remove_leaf(struct machine *m, struct machine_mount *mount)
{
    char path[PATH_MAX];

    machine_path_of(m, (struct machine_place){ mount, mount->root }, path);
    sim_trace(m->sim, "%s unmounts %s", m->name, path);
    if (m->on_unmount)
        m->on_unmount(m->ctx, path);
    for (size_t i = 0; i < m->files.count; i++)
        if (m->files.items[i]->place.mount == mount)
            m->files.items[i]->place.mount = mount->parent;
    machine_loops_leave(m, mount);
    TAILQ_REMOVE(&m->mounts, mount, link);
    tree_note_change();
    free(mount);
}

/* Removes the mount after all mounts below it. */
static void mount_remove(struct machine *m, struct machine_mount *mount)
{
    bool is_last;

    do {
        struct machine_mount *leaf = find_leaf_below(m, mount);

        is_last = leaf == mount;
        remove_leaf(m, leaf);
    } while (!is_last);
}

int machine_unmount(struct machine *m, const char *target, int flags)
{
    struct machine_place at;
    int r = machine_find(m, AT_FDCWD, target, flags & UMOUNT_NOFOLLOW ? PLACE_NOFOLLOW : 0, &at, NULL);

    if (r)
        return r;
    if (at.node != at.mount->root || !at.mount->parent)
        return EINVAL;
    if (!(flags & MNT_DETACH) && is_mount_busy(m, at.mount))
        return EBUSY;
    mount_remove(m, at.mount);
    machine_mounts_changed(m);
    return 0;
}

/* --- The table --- */

static void write_mount(const struct machine *m, const struct machine_mount *mount, struct buf *out)
{
    struct machine_mount whole = { .root = mount->tree->root, .tree = mount->tree };
    char root[PATH_MAX], path[PATH_MAX];

    machine_path_of(m, (struct machine_place){ &whole, mount->root }, root);
    machine_path_of(m, (struct machine_place){ (struct machine_mount *)(uintptr_t)mount, mount->root }, path);
    buf_addf(out, "%d %d 0:%u %s %s %s - %s %s rw\n", mount->id, mount->parent ? mount->parent->id : 0,
             mount->tree->dev, root[0] ? root : "//deleted", path[0] ? path : "//deleted",
             mount->is_read_only ? "ro" : "rw", mount->tree->type, mount->tree->source);
}

void machine_write_mounts(const struct machine *m, struct buf *out)
{
    const struct machine_mount *mount;

    TAILQ_FOREACH(mount, &m->mounts, link)
        write_mount(m, mount, out);
}

void machine_each_mount(const struct machine *m,
                        void (*fn)(void *ctx, const char *path, const struct file_tree *t), void *ctx)
{
    struct machine_mount *mount;
    char path[PATH_MAX];

    TAILQ_FOREACH(mount, &m->mounts, link) {
        machine_path_of(m, (struct machine_place){ mount, mount->root }, path);
        if (mount->parent)
            fn(ctx, path, mount->tree);
    }
}

bool machine_has_mount(const struct machine *m, const char *path)
{
    struct machine_mount *mount;
    char at[PATH_MAX];

    TAILQ_FOREACH(mount, &m->mounts, link) {
        machine_path_of(m, (struct machine_place){ mount, mount->root }, at);
        if (strcmp(at, path) == 0)
            return true;
    }
    return false;
}
