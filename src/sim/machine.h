/* A simulated machine: the kernel (io/sys.h) of the simulated processes that run on it.
 *
 * It has a root file system on a disk, other file systems, devices, a mount table, the descriptors of its
 * processes, and programs that a process may start. Paths are resolved as in Linux, across mounts, links and
 * "..", with the limits of openat2(). At every system call of a worker other processes may run, the call may
 * fail or hang, and the process may be killed; the remaining calls of a killed process have no effect.
 *
 * A reboot ends processes and mounts, and reverts the disks to their last sync. */
#ifndef BERTH_SIM_MACHINE_H
#define BERTH_SIM_MACHINE_H

#include <limits.h>

#include "base/rng.h"
#include "base/vec.h"
#include "io/sys.h"
#include "sim/file_tree.h"

/* The first descriptor: descriptors of the real kernel are smaller. */
#define MACHINE_FD_MIN (1 << 20)

struct machine;
struct sim;
struct sim_process;

/* A disk, which can be attached to several machines in turn. */
struct sim_disk {
    char name[64]; /* /dev/NAME where it is attached */
    uint64_t bytes;
    struct file_tree *tree; /* its file system; NULL: none */
};

struct machine_mount {
    TAILQ_ENTRY(machine_mount) link; /* in the order of mounting */
    int id;
    struct machine_mount *parent; /* NULL: the root */
    struct file_node *at;         /* the node of the parent mount that it covers */
    struct file_node *root;       /* the node that is visible there */
    struct file_tree *tree;
    bool is_read_only;
};

TAILQ_HEAD(machine_mounts, machine_mount);

/* A node, seen through a mount. */
struct machine_place {
    struct machine_mount *mount;
    struct file_node *node;
};

/* An open file. */
struct machine_file {
    struct sim_process *owner; /* NULL: closed */
    struct machine_place place;
    int flags;
    size_t at;
    struct buf text; /* of a file that the kernel generates: the mount table */
    bool is_kernels;
};

/* A loop device: item N of the list is /dev/loopN. */
struct machine_loop {
    struct file_node *device;
    struct machine_place file; /* the backing file; its node is NULL: free */
};

/* A command that can be run on this machine. */
struct machine_program {
    const char *path; /* "/usr/sbin/mkfs.ext4" */
    /* Called when the command takes effect. Returns its exit status; writes its output to out. */
    int (*run)(struct machine *m, void *ctx, const char *const *argv, const char *const *env,
               struct str input, struct buf *out);
    void *ctx;
};

struct machine {
    struct sys sys; /* first */
    struct sim *sim;
    char name[32];
    struct rng rng;
    int64_t now_ns;                /* for its files */
    VEC(struct file_tree *) trees; /* its own file systems: the root, and those without a disk */
    VEC(struct sim_disk *) disks;  /* by the number of the device file; NULL: detached */
    VEC(struct machine_loop) loops;
    struct machine_mounts mounts;
    int mounts_made;
    VEC(struct machine_file *) files;
    VEC(struct machine_program) programs;
    TAILQ_HEAD(, process) children;
    TAILQ_HEAD(, dirwatch) dirwatches;
    TAILQ_HEAD(, mount_watch) mount_watches;
    TAILQ_HEAD(, machine_peer) peers; /* machine_rpc.h */
    TAILQ_HEAD(, machine_call) calls;
    unsigned calls_made;
    uint64_t boots;
    uint64_t child_began_ns; /* when the child was started whose program takes effect now */
    uint64_t fails_until_ns; /* the end of a burst of errors */
    bool has_bursts;

    /* Set by the scenario; may be NULL. on_unmount is called before a mount is removed, with its path. */
    void (*on_unmount)(void *ctx, const char *path);
    void (*on_reboot)(void *ctx);
    void *ctx;
};

struct machine *machine_new(struct sim *s, const char *name);
struct machine *machine_free(struct machine *m);

/* Ends mounts and children. The processes have been killed; the disks stay. */
void machine_reboot(struct machine *m);
/* A process was killed: closes its descriptors. Its children continue. */
void machine_lose_process(struct machine *m, const struct sim_process *p);

/* Adds a file system that is not on a disk; a reboot frees it. */
struct file_tree *machine_add_tree(struct machine *m, const char *type, const char *source);
/* Adds the disk as /dev/NAME, or removes it, even if it is mounted. */
void machine_attach_disk(struct machine *m, struct sim_disk *d);
void machine_detach_disk(struct machine *m, struct sim_disk *d);
/* The disk of a device node, or of the device file at a path; NULL: none. */
struct sim_disk *machine_disk_of(const struct machine *m, const struct file_node *n);
struct sim_disk *machine_find_disk(struct machine *m, const char *path);
/* True while the file system of the disk is mounted here, or its device is bind-mounted. */
bool machine_mounts_disk(const struct machine *m, const struct sim_disk *d);
void machine_add_program(struct machine *m, const char *path,
                         int (*run)(struct machine *m, void *ctx, const char *const *argv,
                                    const char *const *env, struct str input, struct buf *out),
                         void *ctx);

/* --- machine_path.c --- */

#define PLACE_NOFOLLOW 1U    /* do not follow a link that is the last component */
#define PLACE_NO_SYMLINKS 2U /* RESOLVE_NO_SYMLINKS */
#define PLACE_NO_XDEV 4U
#define PLACE_BENEATH 8U
/* Find the directory of the last component, which need not exist; `last` gets its name. */
#define PLACE_PARENT 16U

/* Resolves a path from `at`, a descriptor or AT_FDCWD (the root). Returns 0 or an errno. */
int machine_find(struct machine *m, int at, const char *path, unsigned flags, struct machine_place *ret,
                 char last[NAME_MAX + 1]);
/* The absolute path of a place; "" if it was removed. */
void machine_path_of(const struct machine *m, struct machine_place p, char ret[PATH_MAX]);
/* The root of the topmost mount on the place; the place itself if nothing is mounted there. */
struct machine_place machine_top(const struct machine *m, struct machine_place p);

/* --- machine_loops.c --- */

/* False: not a request of loop devices. *ret is the result of the ioctl, or a negative errno. */
bool machine_loop_ioctl(struct machine *m, const struct machine_file *f, unsigned long request, void *arg,
                        int *ret);
/* True if the backing file of a loop device is on this mount. */
bool machine_loop_holds(const struct machine *m, const struct machine_mount *mount);
/* The mount is removed in spite of loop devices (lazy unmount). */
void machine_loops_leave(struct machine *m, const struct machine_mount *mount);
/* Removes all loop devices and creates the control device. */
void machine_loops_boot(struct machine *m);

/* --- machine_mounts.c --- */

int machine_mount(struct machine *m, const char *source, const char *target, const char *type,
                  const char *options);
int machine_unmount(struct machine *m, const char *target, int flags);
/* Writes /proc/self/mountinfo. */
void machine_write_mounts(const struct machine *m, struct buf *out);
bool machine_has_mount(const struct machine *m, const char *path);
/* Calls fn with the path of each mount except the root. */
void machine_each_mount(const struct machine *m,
                        void (*fn)(void *ctx, const char *path, const struct file_tree *t), void *ctx);

/* --- machine_files.c --- */

struct machine_file *machine_file(const struct machine *m, int fd); /* NULL: not open */
extern const struct sys_calls machine_calls;

/* --- machine_children.c --- */

int machine_process_run(struct sys *k, struct loop *l, const struct process_spec *spec, process_done_fn done,
                        void *ctx, struct process **ret, struct error *err);
void machine_process_cancel(struct sys *k, struct process *c);
void machine_process_drop(struct sys *k, struct process *c);
int machine_process_wait(struct sys *k, const struct process_spec *spec, const atomic_int *stop,
                         process_done_fn done, void *ctx, struct error *err);

/* As in network.h, for all machines. */
size_t children_due(const struct sim *s);
void children_deliver(struct sim *s, size_t which);
uint64_t children_next_ns(const struct sim *s);
void children_lose_process(struct machine *m, const struct sim_process *p);
void children_kill_all(struct machine *m);

/* --- machine_watches.c --- */

int machine_dirwatch_start(struct sys *k, struct loop *l, const char *path, bool nearest, dirwatch_fn fn,
                           void *ctx, struct dirwatch **ret, bool *ret_is_there, struct error *err);
struct dirwatch *machine_dirwatch_stop(struct sys *k, struct dirwatch *w);
int machine_mount_watch_start(struct sys *k, struct loop *l, loop_fn fn, void *ctx, struct mount_watch **ret,
                              struct error *err);
struct mount_watch *machine_mount_watch_stop(struct sys *k, struct mount_watch *w);
/* Notify the watches of a directory, or of the mount table. */
void machine_entry_changed(struct machine *m, struct file_node *dir, const char *name);
void machine_mounts_changed(struct machine *m);

static inline struct machine *machine_of(struct sys *k)
{
    return CONTAINER_OF(k, struct machine, sys);
}

#endif
