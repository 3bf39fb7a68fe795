/* Answers that take longer than one turn of the loop may: made in slices, one slice of one answer per turn.
 *
 * What is done with the first slice is answered whole. Anything else becomes a stream that has nothing to
 * send until the answer is there; the client's going away closes it and ends the work. A carrier that takes
 * no streams gets its answer at once: the process asks itself only what is small. At most SLOW_ANSWERS_MAX
 * are under way; the next one is refused with 429. */
#ifndef BERTH_APISERVER_SLOW_ANSWER_H
#define BERTH_APISERVER_SLOW_ANSWER_H

#include "apiserver/call.h"

#define SLOW_ANSWERS_MAX 16

struct loop;
struct slow_answers;

/* Embedded by whoever makes the answer. */
struct slow_answer {
    /* Goes on for one slice. 1: the whole answer is in `out`, as JSON; 0: not yet. Negative: it failed. */
    int (*step)(struct slow_answer *a, struct buf *out, struct error *err);
    /* Called once. */
    void (*free)(struct slow_answer *a);
};

struct slow_answers *slow_answers_new(struct loop *loop);
/* Calls in flight must be over. Takes NULL. */
struct slow_answers *slow_answers_free(struct slow_answers *all);
/* Ends what is under way: clients see a broken answer. What the answers are made from may go afterwards. */
void slow_answers_stop(struct slow_answers *all);

/* Answers the call, now or later. Takes the answer. */
void slow_answer_take(struct slow_answers *all, struct call *c, struct slow_answer *a);

#endif
