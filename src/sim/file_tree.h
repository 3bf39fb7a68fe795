/* File systems of a simulated machine: trees of nodes in memory.
 *
 * A node stays until its file system goes, whether or not an entry still leads to it: descriptors and mounts
 * may. Entries have places that grow, so that a directory can be listed while it changes. A file's contents
 * survive a power cut as they were synced last. There are no hard links and no permissions: root asks. */
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
    long place; /* in the listing; from 1 */
    struct file_node *node;
    char name[];
};

TAILQ_HEAD(tree_entries, tree_entry);

struct file_node {
    TAILQ_ENTRY(file_node) link; /* of its file system */
    struct file_tree *tree;
    struct file_node *parent; /* the directory that has it; its own for the root; NULL: removed */
    uint64_t ino;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    unsigned device; /* of a device file */
    int64_t made_ns;
    struct tree_entries entries; /* of a directory */
    long places;
    struct buf data; /* of a file, or where a link leads to */
    struct buf synced;
    bool is_synced; /* data is what `synced` has */
};

TAILQ_HEAD(tree_nodes, file_node);

struct file_tree {
    char type[16];
    char source[64]; /* the device or what was given as such */
    unsigned dev;    /* its number; st_dev's minor */
    int failure;     /* errno of everything that touches it; 0: it works */
    struct file_node *root;
    struct tree_nodes nodes;
    uint64_t inos;
    const int64_t *now_ns; /* when nodes are made; NULL: never */
};

/* An empty file system. */
struct file_tree *tree_new(const char *type, const char *source, unsigned dev);
/* Takes NULL. */
struct file_tree *tree_free(struct file_tree *t);

struct file_node *tree_find(const struct file_node *dir, const char *name);
/* A new node in dir, which has none of that name. */
struct file_node *tree_add(struct file_node *dir, const char *name, mode_t mode);
/* The entry goes; the node stays for whoever has it. */
void tree_remove(struct file_node *node);
/* Over what is there. */
void tree_move(struct file_node *node, struct file_node *dir, const char *name);
bool tree_is_empty(const struct file_node *dir);
/* The entry that leads to it; NULL for a root, and for what was removed. */
const struct tree_entry *tree_entry_of(const struct file_node *node);

/* Directories on the way are made. For whoever furnishes a machine. */
struct file_node *tree_make(struct file_node *root, const char *path, mode_t mode);
void tree_write(struct file_node *file, const char *text);

/* Grows with every entry that comes or goes in any tree, and with tree_note_change(), for what else decides
 * where paths lead: mounts. For whoever has looked at files, and looks again only when this has changed. */
uint64_t tree_changes(void);
void tree_note_change(void);

void tree_sync(struct file_node *node);
/* What was not synced is lost. */
void tree_cut_power(struct file_tree *t);

#endif
