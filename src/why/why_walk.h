/* Walks over a whole cache for one explanation, in slices so that none blocks the loop.
 *
 * The functions that explain need the result of a walk (every volume against a claim) in their middle. They
 * request it with why_walk_get(). An unfinished walk is only recorded: the function continues with an empty
 * result, and its report is discarded. The recorded walks then run slice by slice; when all are done, the
 * explanation starts again from its beginning and finds their results (explanation.h). So an explanation is
 * straight-line code, and its state between two slices is the list of its walks.
 *
 * Objects may change between two slices: a walk holds references to the objects in its result. If any object
 * of the kind changed while a walk ran, it starts again, at most WALK_RESTARTS_MAX times; after that an
 * object counts as it was when the walk reached it. A walk belongs to one version of the objects that it is
 * about; another version has another walk. */
#ifndef BERTH_WHY_WHY_WALK_H
#define BERTH_WHY_WHY_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "why/why_world.h"

#define WALK_RESTARTS_MAX 2
#define WALK_HELD_MAX 2
/* "namespace/name" of the last object reached. */
#define WALK_KEY_BYTES_MAX 512

struct why_walk;

struct why_walk_type {
    size_t bytes;   /* of a struct that begins with struct why_walk; zeroed before the first visit */
    enum kind kind; /* the cache to walk */
    /* Inspects one object and returns the cost in looks, at least 1. May set is_done. */
    size_t (*visit)(const struct why_world *w, struct why_walk *walk, const struct object *o);
    /* Used instead of a walk over a cache: continues, returns the cost and sets is_done at the end. */
    size_t (*step)(const struct why_world *w, struct why_walk *walk, size_t looks_max);
    /* Offsets of object references in the struct, set by why_walk_hold() and released when the walk restarts
     * or ends. 0: none. */
    size_t held[WALK_HELD_MAX];
    /* Releases other results of the walk. NULL: none. */
    void (*clear)(struct why_walk *walk);
};

struct why_walk {
    LIST_ENTRY(why_walk) link;
    const struct why_walk_type *type;
    struct object *about, *other; /* references; other may be NULL */
    unsigned flags;
    bool is_done;
    unsigned restarts;
    unsigned taken_pass; /* the pass that took its candidates; 0: none */
    uint64_t changes;    /* of the cache when the walk began */
    size_t key_len;      /* 0: at the beginning */
    char key[WALK_KEY_BYTES_MAX];
};

/* The walks of one explanation. */
struct why_work {
    LIST_HEAD(why_walks, why_walk) walks; /* newest first */
    struct json *doc;                     /* of the report; borrowed */
    bool shows_all;
    unsigned pass;    /* number of passes so far, from 1 */
    bool is_waiting;  /* this pass requested an unfinished walk */
    bool ignores_age; /* accept walks for older versions of objects: there were too many passes */
    bool is_out_of_memory;
    size_t pass_looks; /* looks of this pass outside its walks */
};

void why_work_init(struct why_work *work, struct json *doc, bool shows_all);
void why_work_done(struct why_work *work);

/* Runs unfinished walks for some looks. Returns how many it used; fewer than looks_max: all walks are done.
 * Exceeds looks_max at most by the cost of one object. */
size_t why_work_step(const struct why_world *w, size_t looks_max);

/* The walk in the world's work; recorded if it is new. Its result is valid once it is_done. NULL when memory
 * is short. */
struct why_walk *why_walk_get(const struct why_world *w, const struct why_walk_type *type,
                              const struct object *about, const struct object *other, unsigned flags);

/* The same as the struct that contains it, once it is_done; NULL before. */
void *why_walk_result(const struct why_world *w, const struct why_walk_type *type, const struct object *about,
                      const struct object *other, unsigned flags);

/* Counts the candidates of a walk in a separate report of the document; the second function moves them into
 * the report of this pass. */
void why_walk_begin_counting(const struct why_world *w, struct why_report *counted);
void why_walk_take_candidates(const struct why_world *w, struct why_walk *walk,
                              const struct why_report *counted, struct why_report *r);

/* Replaces a held reference: releases the old object and references the new one; each may be NULL. */
void why_walk_hold(const struct object **held, const struct object *o);

/* Objects that a walk found, as references. */
struct why_found {
    VEC(struct object *) items;
};
/* When memory is short, the explanation fails. */
void why_found_add(const struct why_world *w, struct why_found *found, const struct object *o);
void why_found_clear(struct why_found *found);

#endif
