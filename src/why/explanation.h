/* One explanation under way: made in slices, so that no question holds the loop, whatever the number of
 * objects.
 *
 * Work is counted in looks: one look is what one object costs, about a microsecond. A step takes at most as
 * many as it is given, and at most the cost of one object and of one pass more.
 *
 * The verdict of the report is made in the last slice, from the caches as they are then. What walks found in
 * earlier slices is held by references; see walk.h for what happens when objects change in between. The
 * object itself is read again in every pass; when it was deleted meanwhile, its last version is explained.
 * After EXPLANATION_PASSES_MAX passes results that belong to older versions of objects are used, so that an
 * explanation of something that changes all the time ends too.
 *
 * The world is copied. What it points to must live until the last step; explanation_free() needs none of it.
 */
#ifndef BERTH_WHY_EXPLANATION_H
#define BERTH_WHY_EXPLANATION_H

#include "why/world.h"

#define EXPLANATION_PASSES_MAX 8
/* A slice: one to two milliseconds. */
#define EXPLANATION_SLICE_LOOKS 2000

struct explanation;

/* ERR_NOT_FOUND when there is no such object, in the server's words; ERR_BAD_REQUEST for a kind that nothing
 * explains: KIND_CLAIM, KIND_VOLUME and KIND_POD can be. */
int explanation_new(const struct why_world *w, const struct why_question *q, struct explanation **ret,
                    struct error *err);
/* Takes NULL. */
struct explanation *explanation_free(struct explanation *x);
DEFINE_CLEANUP(struct explanation, explanation_free)

/* Goes on for some looks. 1: the whole report is in `out`, as JSON; 0: not yet, and nothing in `out` may be
 * relied on. */
int explanation_step(struct explanation *x, size_t looks_max, struct buf *out, struct error *err);
/* The looks of the last step. */
size_t explanation_looks(const struct explanation *x);

#endif
