/* Responses that take longer than one step of the loop may: computed in slices, one slice of one response per
 * step.
 *
 * A response that is finished in the first slice is sent complete. Any other becomes a stream that has
 * nothing to send until the response is finished; a client that disconnects closes it and ends the work. A
 * carrier without streams gets its response immediately: calls of this process are small. At most
 * SLOW_ANSWERS_MAX are in progress; further ones are refused with 429. */
#ifndef BERTH_APISERVER_SLOW_ANSWER_H
#define BERTH_APISERVER_SLOW_ANSWER_H

#include "apiserver/api_call.h"

#define SLOW_ANSWERS_MAX 16

struct loop;
struct slow_answers;

/* Embedded by the maker of the response. */
struct slow_answer {
    /* Computes one slice. 1: the whole response is in `out`, as JSON; 0: not finished. Negative: failed. */
    int (*step)(struct slow_answer *a, struct buf *out, struct error *err);
    /* Called once. */
    void (*free)(struct slow_answer *a);
};

struct slow_answers *slow_answers_new(struct loop *loop);
/* Calls in flight must have ended. Accepts NULL. */
struct slow_answers *slow_answers_free(struct slow_answers *all);
/* Ends all responses in progress: clients get a truncated response. The data that they are computed from may
 * be freed afterwards. */
void slow_answers_stop(struct slow_answers *all);

/* Answers the call, now or later. Takes ownership of the response. */
void slow_answer_take(struct slow_answers *all, struct call *c, struct slow_answer *a);

#endif
