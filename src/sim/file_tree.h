/* File systems of a simulated machine: trees of nodes in memory.
 *
 * A node is freed only with its file system, because descriptors and mounts may refer to it after its entry
 * was removed. Entries have increasing positions, so that a directory can be listed while it changes. After a
 * power cut a file has the contents of its last sync. There are no hard links, and permissions are not
 * checked: all programs run as root. */
#ifndef BERTH_SIM_FILE_TREE_H
#define BERTH_SIM_FILE_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/buf.h"

#define TREE_FILE_BYTES_MAX ((size_t)1 << 20)

struct file_node;

struct tree_entry {
    TAILQ_ENTRY(tree_entry) link;
    long place; /* position in the listing; from 1 */
    struct file_node *node;
    char name[];
};

TAILQ_HEAD(tree_entries, tree_entry);

struct file_node {
    TAILQ_ENTRY(file_node) link; /* in its file system */
    struct file_tree *tree;
    struct file_node *parent; /* its directory; the root is its own parent; NULL: removed */
    uint64_t ino;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    unsigned device; /* of a device file */
    int64_t created_ns;
    struct tree_entries entries; /* of a directory */
    long places;                 /* given so far */
    struct buf data;             /* of a file, or the target of a link */
    struct buf synced;
    bool is_synced; /* data and synced are equal */
};

TAILQ_HEAD(tree_nodes, file_node);

struct file_tree {
    char type[16];
    char source[64]; /* the device, or another source of the mount */
    unsigned dev;    /* its number: the minor of st_dev */
    int failure;     /* the errno of every access; 0: none */
    struct file_node *root;
    struct tree_nodes nodes;
    uint64_t inos;
    const int64_t *now_ns; /* the clock for created_ns; NULL: none */
};

/* Creates an empty file system. */
struct file_tree *tree_new(const char *type, const char *source, unsigned dev);
/* Takes NULL. */
struct file_tree *tree_free(struct file_tree *t);

struct file_node *tree_find(const struct file_node *dir, const char *name);
/* Adds a new node to dir, which has no entry of that name. */
struct file_node *tree_add(struct file_node *dir, const char *name, mode_t mode);
/* Removes the entry. The node stays for descriptors and mounts. */
void tree_remove(struct file_node *node);
/* Replaces an entry of that name. */
void tree_move(struct file_node *node, struct file_node *dir, const char *name);
bool tree_is_empty(const struct file_node *dir);
/* The entry of the node; NULL for a root and for a removed node. */
const struct tree_entry *tree_entry_of(const struct file_node *node);

/* Returns the node at the path; creates it, and directories on the way, if missing. For the setup of
 * machines. */
struct file_node *tree_make(struct file_node *root, const char *path, mode_t mode);
void tree_write(struct file_node *file, const char *text);

/* A counter that changes with every added or removed entry of any tree, and with tree_note_change(), which is
 * called for changes of mounts. Checks of files need not be repeated while it is the same. */
uint64_t tree_changes(void);
void tree_note_change(void);

void tree_sync(struct file_node *node);
/* Reverts all files to their last sync. */
void tree_cut_power(struct file_tree *t);

#endif
