/* Walks over a whole cache for one explanation, taken in slices so that none holds the loop.
 *
 * The functions that explain need the result of a walk (every volume against a claim) in their middle. They
 * ask for it with why_walk_get(). A walk that is not done is only noted: the function goes on with an empty
 * result, and the report that it makes is thrown away. The noted walks are then taken slice by slice; when
 * all are done the explanation is made again from its beginning and finds their results (explanation.h). So
 * an explanation is written straight down, and its state between two slices is the list of its walks.
 *
 * Objects that change between two slices: a walk holds references to what its result names. When anything of
 * the kind changed while a walk ran, the walk starts again, WALK_RESTARTS_MAX times; after that an object
 * counts as it was when the walk reached it. A walk belongs to one version of the objects that it is about:
 * of another version there is another walk. */
#ifndef BERTH_WHY_WALK_H
#define BERTH_WHY_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/vec.h"
#include "why/world.h"

#define WALK_RESTARTS_MAX 2
/* "namespace/name" of the object that a walk reached. */
#define WALK_KEY_BYTES_MAX 512

struct why_walk;

struct why_walk_type {
    size_t bytes;   /* of a struct that begins with struct why_walk; all zeroes before the first visit */
    enum kind kind; /* whose cache is walked */
    /* Looks at one object and returns what that cost, in looks, at least 1. May set is_done. */
    size_t (*visit)(const struct why_world *w, struct why_walk *walk, const struct object *o);
    /* Instead of a walk over a cache: goes on with it, returns what that cost and sets is_done at the end. */
    size_t (*step)(const struct why_world *w, struct why_walk *walk, size_t looks_max);
    /* Releases what the walk found, so that it may start again. NULL: there is nothing to release. */
    void (*clear)(struct why_walk *walk);
};

struct why_walk {
    LIST_ENTRY(why_walk) link;
    const struct why_walk_type *type;
    struct object *about, *other; /* references; other is NULL where one object is enough */
    unsigned flags;
    bool is_done;
    unsigned restarts;
    unsigned taken_pass; /* the pass that put its candidates into a report; 0: none */
    uint64_t changes;    /* of the cache, when the walk began */
    size_t key_len;      /* 0: at the beginning */
    char key[WALK_KEY_BYTES_MAX];
};

/* The walks of one explanation. */
struct why_work {
    LIST_HEAD(why_walks, why_walk) walks; /* newest first */
    struct json *doc;                     /* of the report; borrowed */
    bool shows_all;
    unsigned pass;    /* counts how often the explanation was begun, from 1 */
    bool is_waiting;  /* this pass asked for a walk that is not done */
    bool ignores_age; /* walks of older versions of their objects will do: there were too many passes */
    bool is_out_of_memory;
    size_t pass_looks; /* what this pass did at once, beside its walks */
};

void why_work_init(struct why_work *x, struct json *doc, bool shows_all);
void why_work_done(struct why_work *x);

/* Takes walks that are not done for some looks. Returns how many it took; less than looks_max: all walks are
 * done. One look more than the cost of one object is never taken beyond looks_max. */
size_t why_work_step(const struct why_world *w, size_t looks_max);

/* The walk of the world's work, noted when there is none yet. Its result counts once it is_done. NULL without
 * memory. */
struct why_walk *why_walk_get(const struct why_world *w, const struct why_walk_type *type,
                              const struct object *about, const struct object *other, unsigned flags);

/* Candidates that a walk counts, in a report of its own inside the document; and into the report of this
 * pass. */
void why_walk_begin_counting(const struct why_world *w, struct report *counted);
void why_walk_take_candidates(const struct why_world *w, struct why_walk *walk, const struct report *counted,
                              struct report *r);

/* For whoever holds one object of a walk: the reference goes from the old one to the new one; each may be
 * NULL. */
void why_walk_hold(const struct object **held, const struct object *o);

/* Objects that a walk found, as references. */
struct why_found {
    VEC(struct object *) items;
};
/* Without memory the explanation fails. */
void why_found_add(const struct why_world *w, struct why_found *x, const struct object *o);
void why_found_clear(struct why_found *x);

#endif
