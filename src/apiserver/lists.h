/* Long lists, written as their clients read them.
 *
 * A list that does not fit LIST_WHOLE_BYTES_MAX is a stream: each pull goes on behind the object that was
 * written last and writes as much as the client takes. All of it shows one revision, that of a snapshot of
 * the store (store.h). So a list holds its position and at most one object that was written in part, whatever
 * its length, and its snapshot holds what others have written over since it began.
 *
 * What snapshots hold is bounded for all lists together: past LISTS_PAST_BYTES_MAX the list that has made no
 * progress for the longest is cut. That is one whose client does not read, as long as there is such a one. */
#ifndef BERTH_APISERVER_LISTS_H
#define BERTH_APISERVER_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "apiserver/call.h"
#include "apiserver/list_text.h"
#include "base/cleanup.h"
#include "base/error.h"

/* What is shorter is answered whole, with its length: one system call sends it, where pieces take one each.
 */
#define LIST_WHOLE_BYTES_MAX ((size_t)1 << 20)
/* Of what is longer so much is kept of what was written before that was known. */
#define LIST_FIRST_BYTES ((size_t)64 << 10)
/* Objects that are looked at in one go, in search of one that is selected. */
#define LIST_STEPS_MAX 1024
#define LISTS_PAST_BYTES_MAX ((size_t)64 << 20)

struct apiserver;
struct lists;

int lists_new(struct apiserver *s, struct lists **ret, struct error *err);
/* Lists that are still with their carriers fail when they are pulled next. Takes NULL. */
struct lists *lists_free(struct lists *all);
DEFINE_CLEANUP(struct lists, lists_free)

/* Where a list goes on. */
struct list_rest {
    struct list_text text;      /* as it stands */
    int64_t revision;           /* the snapshot's; 0: the newest */
    const struct object *seen;  /* looked at last: the next one comes behind it; NULL: from the start */
    const struct object *until; /* the last one to be written; NULL: all of them */
};

/* Answers a list of the call's route and parameters with a stream: what stands in c->reply, then the rest. */
void lists_answer(struct call *c, const struct list_rest *rest);

/* Lists that were cut because of what their snapshots held. */
uint64_t lists_cut_count(const struct lists *all);

#endif
