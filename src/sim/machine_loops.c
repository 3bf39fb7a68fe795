/* Loop devices of a simulated machine.
 *
 * A device with a backing file keeps that file open: the mount of the file is busy. Devices are created on
 * demand and reused when free; a reboot removes them all. As in Linux, /sys/block/loopN/loop/backing_file has
 * the path of the file. */
#include "sim/machine.h"

#include <errno.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_world.h"
#include "sim/worker.h"

#define LOOPS_DIR "/sys/block"

/* NULL: the node is not a loop device. */
static struct machine_loop *loop_of(struct machine *m, const struct file_node *device)
{
    for (size_t i = 0; i < m->loops.count; i++)
        if (m->loops.items[i].device == device)
            return &m->loops.items[i];
    return NULL;
}

static void loop_path(const struct machine *m, const struct machine_loop *l, char ret[PATH_MAX])
{
    (void)snprintf(ret, PATH_MAX, LOOPS_DIR "/loop%zu/loop", (size_t)(l - m->loops.items));
}

static int find_free(struct machine *m)
{
    struct file_node *root = m->trees.items[0]->root;
    struct machine_loop fresh = { 0 };
    char path[PATH_MAX];

    for (size_t i = 0; i < m->loops.count; i++)
        if (!m->loops.items[i].file.node)
            return (int)i;
    (void)snprintf(path, sizeof path, "/dev/loop%zu", m->loops.count);
    fresh.device = tree_make(root, path, S_IFBLK | 0660);
    if (vec_push(&m->loops, fresh) < 0)
        abort();
    loop_path(m, &m->loops.items[m->loops.count - 1], path);
    (void)tree_make(root, path, S_IFDIR | 0755);
    return (int)m->loops.count - 1;
}

static int loop_configure(struct machine *m, struct machine_loop *l, const struct loop_config *config)
{
    const struct machine_file *f = machine_file(m, (int)config->fd);
    char path[PATH_MAX], file[PATH_MAX + sizeof "\n"];

    if (!f)
        return -EBADF;
    if (l->file.node)
        return -EBUSY;
    l->file = f->place;
    loop_path(m, l, path);
    machine_path_of(m, f->place, file);
    (void)snprintf(file + strlen(file), sizeof "\n", "\n");
    tree_write(tree_make(tree_make(m->trees.items[0]->root, path, S_IFDIR), "backing_file", S_IFREG | 0444),
               file);
    sim_trace(m->sim, "%s: loop%zu has %.*s", m->name, (size_t)(l - m->loops.items), (int)strlen(file) - 1,
              file);
    return 0;
}

static int loop_clear(struct machine *m, struct machine_loop *l)
{
    struct file_node *file;
    char path[PATH_MAX];

    if (!l->file.node)
        return -ENXIO;
    loop_path(m, l, path);
    file = tree_find(tree_make(m->trees.items[0]->root, path, S_IFDIR), "backing_file");
    if (file)
        tree_remove(file);
    l->file = (struct machine_place){ 0 };
    sim_trace(m->sim, "%s: loop%zu is free", m->name, (size_t)(l - m->loops.items));
    return 0;
}

bool machine_loop_ioctl(struct machine *m, const struct machine_file *f, unsigned long request, void *arg,
                        int *ret)
{
    struct machine_loop *l = loop_of(m, f->place.node);
    bool is_control = request == LOOP_CTL_GET_FREE;

    if (!is_control && (!l || (request != LOOP_CONFIGURE && request != LOOP_CLR_FD)))
        return false;
    *ret = -worker_call(m, "ioctl", "");
    l = loop_of(m, f->place.node); /* other processes have run meanwhile */
    if (*ret < 0)
        return true;
    if (is_control)
        *ret = find_free(m);
    else if (!l)
        *ret = -ENXIO;
    else
        *ret = request == LOOP_CONFIGURE ? loop_configure(m, l, arg) : loop_clear(m, l);
    return true;
}

bool machine_loop_holds(const struct machine *m, const struct machine_mount *mount)
{
    for (size_t i = 0; i < m->loops.count; i++)
        if (m->loops.items[i].file.node && m->loops.items[i].file.mount == mount)
            return true;
    return false;
}

void machine_loops_leave(struct machine *m, const struct machine_mount *mount)
{
    for (size_t i = 0; i < m->loops.count; i++)
        if (m->loops.items[i].file.mount == mount)
            m->loops.items[i].file.mount = mount->parent;
}

void machine_loops_boot(struct machine *m)
{
    struct file_node *root = m->trees.items[0]->root;
    char path[PATH_MAX];

    (void)tree_make(root, "/dev/loop-control", S_IFCHR | 0660);
    (void)tree_make(root, LOOPS_DIR, S_IFDIR | 0755);
    for (size_t i = 0; i < m->loops.count; i++) {
        (void)snprintf(path, sizeof path, LOOPS_DIR "/loop%zu", i);
        tree_remove(tree_make(root, path, S_IFDIR));
        tree_remove(m->loops.items[i].device);
    }
    m->loops.count = 0;
}
