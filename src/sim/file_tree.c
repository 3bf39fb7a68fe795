/* In-memory file systems.
 *
 * A node is in exactly one list of nodes, that of its file system, from its creation until the file system is
 * freed. A node with a parent has exactly one entry there. Lookups in a directory are linear: directories are
 * small. Contents are copied once per sync. */
#include "sim/file_tree.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sim/sim_world.h"

static uint64_t changes;

uint64_t tree_changes(void)
{
    return changes;
}

void tree_note_change(void)
{
    changes++;
}

static struct file_node *node_new(struct file_tree *t, mode_t mode)
{
    struct file_node *n = sim_alloc(sizeof *n);

    n->tree = t;
    n->ino = ++t->inos;
    n->mode = mode;
    n->created_ns = t->now_ns ? *t->now_ns : 0;
    n->data = BUF_INIT(TREE_FILE_BYTES_MAX);
    n->synced = BUF_INIT(TREE_FILE_BYTES_MAX);
    n->is_synced = true;
    TAILQ_INIT(&n->entries);
    TAILQ_INSERT_TAIL(&t->nodes, n, link);
    return n;
}

struct file_tree *tree_new(const char *type, const char *source, unsigned dev)
{
    struct file_tree *t = sim_alloc(sizeof *t);

    (void)snprintf(t->type, sizeof t->type, "%s", type);
    (void)snprintf(t->source, sizeof t->source, "%s", source);
    t->dev = dev;
    TAILQ_INIT(&t->nodes);
    t->root = node_new(t, S_IFDIR | 0755);
    t->root->parent = t->root;
    return t;
}

struct file_tree *tree_free(struct file_tree *t)
{
    struct file_node *n;
    struct tree_entry *e;

    if (!t)
        return NULL;
    tree_note_change();
    while ((n = TAILQ_FIRST(&t->nodes))) {
        TAILQ_REMOVE(&t->nodes, n, link);
        while ((e = TAILQ_FIRST(&n->entries))) {
            TAILQ_REMOVE(&n->entries, e, link);
            free(e);
        }
        buf_done(&n->data);
        buf_done(&n->synced);
        free(n);
    }
    free(t);
    return NULL;
}

static struct tree_entry *entry_find(const struct file_node *dir, const char *name)
{
    struct tree_entry *e;

    TAILQ_FOREACH(e, &dir->entries, link)
        if (strcmp(e->name, name) == 0)
            return e;
    return NULL;
}

struct file_node *tree_find(const struct file_node *dir, const char *name)
{
    const struct tree_entry *e = entry_find(dir, name);

    return e ? e->node : NULL;
}

static void entry_add(struct file_node *dir, const char *name, struct file_node *node)
{
    size_t len = strlen(name) + 1;
    struct tree_entry *e = sim_alloc(sizeof *e + len);

    memcpy(e->name, name, len);
    e->node = node;
    e->place = ++dir->places;
    node->parent = dir;
    TAILQ_INSERT_TAIL(&dir->entries, e, link);
    tree_note_change();
}

const struct tree_entry *tree_entry_of(const struct file_node *node)
{
    const struct tree_entry *e;

    if (!node->parent || node->parent == node)
        return NULL;
    TAILQ_FOREACH(e, &node->parent->entries, link)
        if (e->node == node)
            return e;
    return NULL;
}

struct file_node *tree_add(struct file_node *dir, const char *name, mode_t mode)
{
    struct file_node *n = node_new(dir->tree, mode);

    assert(S_ISDIR(dir->mode) && !entry_find(dir, name));
    entry_add(dir, name, n);
    return n;
}

void tree_remove(struct file_node *node)
{
    struct tree_entry *e;

    TAILQ_FOREACH(e, &node->parent->entries, link)
        if (e->node == node)
            break;
    assert(e);
    TAILQ_REMOVE(&node->parent->entries, e, link);
    free(e);
    node->parent = NULL;
    tree_note_change();
}

void tree_move(struct file_node *node, struct file_node *dir, const char *name)
{
    struct file_node *old = tree_find(dir, name);

    if (old == node)
        return;
    if (old)
        tree_remove(old);
    tree_remove(node);
    entry_add(dir, name, node);
}

bool tree_is_empty(const struct file_node *dir)
{
    return TAILQ_EMPTY(&dir->entries);
}

struct file_node *tree_make(struct file_node *root, const char *path, mode_t mode)
{
    struct str rest = str_of(path);
    struct file_node *at = root;
    char name[256];

    while (rest.s) {
        struct str part = str_next(&rest, '/');
        struct file_node *next;

        if (part.len == 0)
            continue;
        assert(part.len < sizeof name);
        memcpy(name, part.s, part.len);
        name[part.len] = '\0';
        next = tree_find(at, name);
        at = next ? next : tree_add(at, name, rest.s ? S_IFDIR | 0755 : mode);
    }
    return at;
}

void tree_write(struct file_node *file, const char *text)
{
    buf_clear(&file->data);
    buf_add_cstr(&file->data, text);
    tree_note_change(); /* it may be a link, and change where paths lead */
    file->is_synced = false;
    tree_sync(file);
}

void tree_sync(struct file_node *node)
{
    if (node->is_synced)
        return;
    buf_clear(&node->synced);
    buf_add_str(&node->synced, buf_str(&node->data));
    node->is_synced = true;
}

void tree_cut_power(struct file_tree *t)
{
    struct file_node *n;

    tree_note_change();
    TAILQ_FOREACH(n, &t->nodes, link) {
        if (n->is_synced)
            continue;
        buf_clear(&n->data);
        buf_add_str(&n->data, buf_str(&n->synced));
        n->is_synced = true;
    }
}
