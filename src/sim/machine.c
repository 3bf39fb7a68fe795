/* Machines: creation, reboot, programs.
 *
 * The first file system is the root, on the disk of the machine; the others have no disk and are freed by a
 * reboot. A machine is never without its root mount, except inside machine_reboot(). Memory is not checked: a
 * simulation without memory aborts. */
#include "sim/machine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/machine_rpc.h"
#include "sim/sim_world.h"

static const char *const first_dirs[] = { "/dev", "/proc",    "/sys",      "/run",
                                          "/tmp", "/usr/bin", "/usr/sbin", "/var/lib" };

static void machine_boot(struct machine *m)
{
    struct machine_mount *mount = sim_alloc(sizeof *mount);
    char id[64];

    *mount = (struct machine_mount){ .id = ++m->mounts_made, .root = m->trees.items[0]->root };
    mount->tree = m->trees.items[0];
    TAILQ_INSERT_TAIL(&m->mounts, mount, link);
    machine_loops_boot(m);
    tree_note_change();
    (void)snprintf(id, sizeof id, "%s-%" PRIu64 "\n", m->name, ++m->boots);
    tree_write(tree_make(mount->root, "/proc/sys/kernel/random/boot_id", S_IFREG | 0444), id);
}

struct file_tree *machine_add_tree(struct machine *m, const char *type, const char *source)
{
    struct file_tree *t = tree_new(type, source, (unsigned)m->trees.count + 1);

    t->now_ns = &m->now_ns;
    if (vec_push(&m->trees, t) < 0)
        abort();
    return t;
}

struct machine *machine_new(struct sim *s, const char *name)
{
    struct machine *m = sim_alloc(sizeof *m);
    struct file_tree *root;

    assert(s->machines_count < SIM_MACHINES_MAX);
    m->sys.calls = &machine_calls;
    m->sim = s;
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    rng_init(&m->rng, s->options.seed + s->machines_count + 1);
    m->has_bursts = rng_chance(&m->rng, 33);
    TAILQ_INIT(&m->mounts);
    TAILQ_INIT(&m->children);
    TAILQ_INIT(&m->dirwatches);
    TAILQ_INIT(&m->mount_watches);
    TAILQ_INIT(&m->peers);
    TAILQ_INIT(&m->calls);
    root = machine_add_tree(m, "ext4", "/dev/vda1");
    for (size_t i = 0; i < ARRAY_LEN(first_dirs); i++)
        (void)tree_make(root->root, first_dirs[i], S_IFDIR | 0755);
    machine_boot(m);
    s->machines[s->machines_count++] = m;
    return m;
}

static void free_mounts(struct machine *m)
{
    struct machine_mount *mount;

    tree_note_change();
    while ((mount = TAILQ_FIRST(&m->mounts))) {
        TAILQ_REMOVE(&m->mounts, mount, link);
        free(mount);
    }
}

void machine_reboot(struct machine *m)
{
    sim_trace(m->sim, "%s reboots", m->name);
    children_kill_all(m);
    calls_drop_all(m);
    free_mounts(m);
    tree_cut_power(m->trees.items[0]);
    for (size_t i = 0; i < m->disks.count; i++)
        if (m->disks.items[i] && m->disks.items[i]->tree)
            tree_cut_power(m->disks.items[i]->tree);
    while (m->trees.count > 1)
        (void)tree_free(m->trees.items[--m->trees.count]);
    machine_boot(m);
    if (m->on_reboot)
        m->on_reboot(m->ctx);
}

struct machine *machine_free(struct machine *m)
{
    if (!m)
        return NULL;
    children_kill_all(m);
    calls_drop_all(m);
    free_mounts(m);
    for (size_t i = 0; i < m->trees.count; i++)
        (void)tree_free(m->trees.items[i]);
    for (size_t i = 0; i < m->files.count; i++)
        free(m->files.items[i]);
    vec_done(&m->trees);
    vec_done(&m->disks);
    vec_done(&m->loops);
    vec_done(&m->files);
    vec_done(&m->programs);
    free(m);
    return NULL;
}

void machine_add_program(struct machine *m, const char *path,
                         int (*run)(struct machine *m, void *ctx, const char *const *argv,
                                    const char *const *env, struct str input, struct buf *out),
                         void *ctx)
{
    struct machine_program program = { path, run, ctx };
    struct file_node *file = tree_make(m->trees.items[0]->root, path, S_IFREG | 0755);

    file->mode = S_IFREG | 0755;
    if (vec_push(&m->programs, program) < 0)
        abort();
}
