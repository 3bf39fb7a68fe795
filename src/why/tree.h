/* What the files of `berth tree` share: the tree as it is built from objects, and shown.
 *
 * Classes are the roots; below them their volumes with the claims that have them, and the claims that have
 * none; below claims their pods, below pods their nodes. What is named and not there has a twig, too, that
 * says so. The last root has the pods without claims, and those whose claims are not there. Why something
 * waits is what `berth why` says. */
#ifndef BERTH_WHY_TREE_H
#define BERTH_WHY_TREE_H

#include "base/arena.h"
#include "why/causes.h"
#include "why/inventory.h"

/* Of the twigs below one that are alike in kind and state: more are counted. */
#define TREE_ALIKE_MAX 10

struct twig {
    enum kind kind;
    const char *ns; /* "" at cluster scope */
    const char *name;
    const char *state;    /* "Bound"; "" where there is no word for it */
    const char *capacity; /* "" where it has none */
    const char *note;     /* what else is to be said; "" */
    struct twig *next;
    struct twig *first, *last; /* below it */
    unsigned explained;        /* so many of those have a cause that was asked for */
};

struct tree {
    struct arena memory;
    struct twig root; /* what is below it are the classes, and of kind KIND_POD "": what has none */
};

#define TREE_INIT ((struct tree){ .memory = ARENA_INIT(INVENTORY_BYTES_MAX) })

void tree_done(struct tree *t);

static inline void tree_done_p(struct tree *t)
{
    tree_done(t);
}

struct tree_selection {
    const char *ns; /* claims of this namespace, volumes that are no other's; NULL: all */
    /* With a name: that class, volume or claim alone, and what it hangs on and bears. */
    enum kind kind;
    const char *name;
    const struct causes *causes; /* NULL: nobody explains */
    bool is_whole;               /* every twig has its cause, not only those that are shown one by one */
};

/* ERR_NOT_FOUND when the object that is asked for is not there. */
int tree_build(const struct inventory *v, const struct tree_selection *what, struct tree *ret,
               struct error *err);

/* The tree as `berth tree -o json` prints it; 0 when d has failed. */
json_ref tree_as_json(const struct tree *t, struct json *d);

#endif
