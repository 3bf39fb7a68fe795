/* A simulated machine: the kernel (io/sys.h) of the simulated processes that run on it.
 *
 * It has a root file system on a disk, other file systems, devices, a mount table, the descriptors of its
 * processes, and programs that a process may start. Paths are resolved as Linux does, over mounts, links and
 * "..", with the limits of openat2(). Every call of a worker is a moment at which others may run, at which it
 * may fail or hang, and at which its process may be killed: then the rest of its calls does nothing.
 *
 * A reboot ends the processes and the mounts and keeps the disks as they were synced. */
#ifndef BERTH_SIM_MACHINE_H
#define BERTH_SIM_MACHINE_H

#include <limits.h>

#include "base/rng.h"
#include "base/vec.h"
#include "io/sys.h"
#include "sim/file_tree.h"

/* Descriptors begin here: none of the real kernel's is mistaken for one. */
#define MACHINE_FD_MIN (1 << 20)

struct machine;
struct sim;
struct sim_process;

/* A disk, which may be moved from machine to machine. */
struct sim_disk {
    char name[64]; /* /dev/NAME where it is attached */
    uint64_t bytes;
    struct file_tree *tree; /* its own; NULL: blank */
};

struct machine_mount {
    TAILQ_ENTRY(machine_mount) link; /* in the order of mounting */
    int id;
    struct machine_mount *parent; /* NULL: the root */
    struct file_node *at;         /* what of the parent's it covers */
    struct file_node *root;       /* what it shows */
    struct file_tree *tree;
    bool is_read_only;
};

TAILQ_HEAD(machine_mounts, machine_mount);

/* Somewhere in the tree of mounts. */
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
    struct buf text; /* of a file that the kernel writes: the mount table */
    bool is_kernels;
};

/* /dev/loop0, …, by their numbers. */
struct machine_loop {
    struct file_node *device;
    struct machine_place file; /* what it holds open; no node: nothing */
};

/* What a command does when it is run on this machine. */
struct machine_program {
    const char *path; /* "/usr/sbin/mkfs.ext4" */
    /* At the moment when it takes effect. Its exit status; what it says goes to out. */
    int (*run)(struct machine *m, void *ctx, const char *const *argv, const char *const *env,
               struct str input, struct buf *out);
    void *ctx;
};

struct machine {
    struct sys sys; /* first */
    struct sim *sim;
    char name[32];
    struct rng rng;
    int64_t now_ns;                /* of its files */
    VEC(struct file_tree *) trees; /* its own: the root, and what is not on a disk */
    VEC(struct sim_disk *) disks;  /* by the number of their device files; NULL: detached */
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
    uint64_t child_began_ns; /* when the child was started whose program runs */
    uint64_t fails_until_ns; /* errors come in bursts: many calls fail until then */
    bool has_bursts;         /* some machines have them */

    /* Set by the scenario; may be NULL. Before a mount goes: the place it is at, for who looks after what
     * is used. */
    void (*on_unmount)(void *ctx, const char *path);
    void (*on_reboot)(void *ctx);
    void *ctx;
};

struct machine *machine_new(struct sim *s, const char *name);
struct machine *machine_free(struct machine *m);

/* Everything that ran is gone by now. The disks stay. */
void machine_reboot(struct machine *m);
/* A process is gone: its descriptors and watches go, its children stay. */
void machine_lose_process(struct machine *m, const struct sim_process *p);

/* Another file system of the machine's, which a reboot takes. */
struct file_tree *machine_add_tree(struct machine *m, const char *type, const char *source);
/* The disk is there, as /dev/NAME, or goes, whatever is mounted from it. */
void machine_attach_disk(struct machine *m, struct sim_disk *d);
void machine_detach_disk(struct machine *m, struct sim_disk *d);
/* The disk of an open device or of a device file; NULL. */
struct sim_disk *machine_disk_of(const struct machine *m, const struct file_node *n);
struct sim_disk *machine_find_disk(struct machine *m, const char *path);
/* True while a file system of the disk is mounted here, or the disk itself is bound to a file. */
bool machine_mounts_disk(const struct machine *m, const struct sim_disk *d);
void machine_add_program(struct machine *m, const char *path,
                         int (*run)(struct machine *m, void *ctx, const char *const *argv,
                                    const char *const *env, struct str input, struct buf *out),
                         void *ctx);

/* --- machine_path.c --- */

#define PLACE_NOFOLLOW 1U    /* a link at the end is what is meant */
#define PLACE_NO_SYMLINKS 2U /* RESOLVE_NO_SYMLINKS */
#define PLACE_NO_XDEV 4U
#define PLACE_BENEATH 8U
/* The last component need not be there: the place is its directory, and `last` its name. */
#define PLACE_PARENT 16U

/* Where the path leads from `at`, a descriptor or AT_FDCWD (the root). 0 or an errno. */
int machine_find(struct machine *m, int at, const char *path, unsigned flags, struct machine_place *ret,
                 char last[NAME_MAX + 1]);
/* In the tree of mounts, for people and mount tables; "" for what is not there any more. */
void machine_path_of(const struct machine *m, struct machine_place p, char ret[PATH_MAX]);
/* On top of what is mounted right there. */
struct machine_place machine_top(const struct machine *m, struct machine_place p);

/* --- machine_loops.c --- */

/* False: the request is not about loop devices. *ret is a number, or negative, an errno. */
bool machine_loop_ioctl(struct machine *m, const struct machine_file *f, unsigned long request, void *arg,
                        int *ret);
/* A loop device has a file of this mount. */
bool machine_loop_holds(const struct machine *m, const struct machine_mount *mount);
/* The mount goes all the same. */
void machine_loops_leave(struct machine *m, const struct machine_mount *mount);
/* None is left; the control device is there. */
void machine_loops_boot(struct machine *m);

/* --- machine_mounts.c --- */

int machine_mount(struct machine *m, const char *source, const char *target, const char *type,
                  const char *options);
int machine_unmount(struct machine *m, const char *target, int flags);
/* /proc/self/mountinfo. */
void machine_write_mounts(const struct machine *m, struct buf *out);
bool machine_has_mount(const struct machine *m, const char *path);
/* Calls fn with the path of each mount but the root. */
void machine_each_mount(const struct machine *m,
                        void (*fn)(void *ctx, const char *path, const struct file_tree *t), void *ctx);

/* --- machine_files.c --- */

struct machine_file *machine_file(const struct machine *m, int fd); /* NULL: not open */
extern const struct sys_calls machine_calls;

/* --- machine_children.c --- */

int machine_process_run(struct sys *k, struct loop *l, const struct process_spec *spec, process_done_fn done,
                        void *ctx, struct process **ret, struct error *err);
void machine_process_cancel(struct sys *k, struct process *c);
struct process *machine_process_drop(struct sys *k, struct process *c);
int machine_process_wait(struct sys *k, const struct process_spec *spec, const atomic_int *stop,
                         process_done_fn done, void *ctx, struct error *err);

/* As in network.h; over all machines. */
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
/* Tell the watches. */
void machine_entry_changed(struct machine *m, struct file_node *dir, const char *name);
void machine_mounts_changed(struct machine *m);

static inline struct machine *machine_of(struct sys *k)
{
    return CONTAINER_OF(k, struct machine, sys);
}

#endif
