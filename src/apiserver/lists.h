/* Long lists, written as fast as their clients read.
 *
 * A list that exceeds LIST_WHOLE_BYTES_MAX is a stream: each pull continues after the object that was written
 * last and writes as much as the client takes. The whole list shows one revision, that of a snapshot of the
 * store (store.h). So a list holds its position and at most one partly written object, whatever its length,
 * and its snapshot holds the objects that were overwritten since it began.
 *
 * The memory of snapshots is bounded for all lists together: beyond LISTS_PAST_BYTES_MAX the list that has
 * made no progress for the longest time is closed. That is one whose client does not read, if there is one.
 */
#ifndef BERTH_APISERVER_LISTS_H
#define BERTH_APISERVER_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "apiserver/api_call.h"
#include "apiserver/list_text.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Shorter lists are sent as one response with its length: one system call, instead of one per piece. */
#define LIST_WHOLE_BYTES_MAX ((size_t)1 << 20)
/* Text that is kept of a longer list when it becomes a stream. */
#define LIST_FIRST_BYTES ((size_t)64 << 10)
/* Objects visited at once in search of a selected one. */
#define LIST_STEPS_MAX 1024
#define LISTS_PAST_BYTES_MAX ((size_t)64 << 20)

struct apiserver;
struct lists;

int lists_new(struct apiserver *s, struct lists **ret, struct error *err);
/* Lists that their carriers still have fail at the next pull. Accepts NULL. */
struct lists *lists_free(struct lists *all);
DEFINE_CLEANUP(struct lists, lists_free)

/* Where a list continues. */
struct list_rest {
    struct list_text text;      /* state of the writer */
    int64_t revision;           /* of the snapshot; 0: the newest */
    const struct object *seen;  /* last object visited: the list continues after it; NULL: from the start */
    const struct object *until; /* last object to write; NULL: all */
};

/* Answers a list of the call's route and parameters with a stream: c->reply, then the rest. */
void lists_answer(struct call *c, const struct list_rest *rest);

/* Lists closed because of the memory of their snapshots. */
uint64_t lists_cut_count(const struct lists *all);

#endif
