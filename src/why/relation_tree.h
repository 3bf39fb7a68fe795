/* The tree of `berth tree`, built from an inventory.
 *
 * Classes are the roots; below them their volumes with their claims, and the claims without a volume; below
 * claims their pods, below pods their nodes. An object that is named but does not exist has a node in the
 * tree, too. The last root has the pods without claims, and those whose claims do not exist. Causes are the
 * sentences of `berth why`. */
#ifndef BERTH_WHY_RELATION_TREE_H
#define BERTH_WHY_RELATION_TREE_H

#include "base/arena.h"
#include "why/causes.h"
#include "why/inventory.h"

/* Children of one parent with the same kind and state that are shown; more are only counted. */
#define TREE_ALIKE_MAX 10

struct twig {
    enum kind kind;
    const char *ns; /* "" at cluster scope */
    const char *name;
    const char *state;    /* "Bound"; "" for none */
    const char *capacity; /* "" where it has none */
    const char *note;     /* additional text; "" for none */
    struct twig *next;
    struct twig *first, *last; /* children */
    unsigned explained;        /* children whose cause was looked up */
};

struct relation_tree {
    struct arena memory;
    struct twig root; /* its children are the classes, and a KIND_POD named "" for objects without one */
};

#define TREE_INIT ((struct relation_tree){ .memory = ARENA_INIT(INVENTORY_BYTES_MAX) })

void relation_tree_done(struct relation_tree *t);

static inline void relation_tree_done_p(struct relation_tree *t)
{
    relation_tree_done(t);
}

struct tree_selection {
    const char *ns; /* claims of this namespace, volumes of no other namespace; NULL: all */
    /* With a name: only that class, volume or claim, its parents and its children. */
    enum kind kind;
    const char *name;
    const struct causes *causes; /* NULL: not available */
    bool is_whole;               /* look up every cause, not only those that are shown */
};

/* ERR_NOT_FOUND when the requested object does not exist. */
int relation_tree_build(const struct inventory *v, const struct tree_selection *what,
                        struct relation_tree *ret, struct error *err);

/* The tree as `berth tree -o json` prints it; 0 when d has failed. */
json_ref relation_tree_as_json(const struct relation_tree *t, struct json *d);

#endif
