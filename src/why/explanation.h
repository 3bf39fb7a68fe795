/* One explanation, made in slices so that no request blocks the loop, whatever the number of objects.
 *
 * Work is counted in looks: one look is the cost of one object, about a microsecond. A step takes at most as
 * many as it is given, plus at most the cost of one object and of one pass.
 *
 * The report is made in the last slice, from the caches as they are then. What walks found in earlier slices
 * is held by references; why_walk.h describes what happens when objects change in between. The object itself
 * is read again in every pass; if it was deleted meanwhile, its last version is explained. After
 * EXPLANATION_PASSES_MAX passes, results for older versions of objects are accepted, so that an explanation
 * of a constantly changing object ends, too.
 *
 * The world is copied. What it points to must live until the last step; explanation_free() does not use it.
 */
#ifndef BERTH_WHY_EXPLANATION_H
#define BERTH_WHY_EXPLANATION_H

#include "why/why_world.h"

#define EXPLANATION_PASSES_MAX 8
/* One slice: one to two milliseconds. */
#define EXPLANATION_SLICE_LOOKS 2000

struct explanation;

/* ERR_NOT_FOUND, with the server's message, when the object does not exist; ERR_BAD_REQUEST for a kind other
 * than KIND_CLAIM, KIND_VOLUME and KIND_POD. */
int explanation_new(const struct why_world *w, const struct why_question *q, struct explanation **ret,
                    struct error *err);
/* Accepts NULL. */
struct explanation *explanation_free(struct explanation *explanation);
DEFINE_CLEANUP(struct explanation, explanation_free)

/* Continues for some looks. 1: the whole report is in `out`, as JSON; 0: not yet, and the content of `out` is
 * undefined. */
int explanation_step(struct explanation *explanation, size_t looks_max, struct buf *out, struct error *err);
/* Looks that the last step took. */
size_t explanation_looks(const struct explanation *explanation);

#endif
