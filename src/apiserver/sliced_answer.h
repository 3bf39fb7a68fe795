/* Responses that take longer than one step of the loop may: computed in slices, one slice of one response per
 * step.
 *
 * A response that is finished in the first slice is sent complete. Any other becomes a stream that has
 * nothing to send until the response is finished; a client that disconnects closes it and ends the work. A
 * carrier without streams gets its response immediately: calls of this process are small. At most
 * SLICED_ANSWERS_MAX are in progress; further ones are refused with 429. */
#ifndef BERTH_APISERVER_SLICED_ANSWER_H
#define BERTH_APISERVER_SLICED_ANSWER_H

#include "apiserver/api_call.h"

#define SLICED_ANSWERS_MAX 16

struct loop;
struct sliced_answers;

/* Embedded by the maker of the response. */
struct sliced_answer {
    /* Computes one slice. 1: the whole response is in `out`, as JSON; 0: not finished. Negative: failed. */
    int (*step)(struct sliced_answer *a, struct buf *out, struct error *err);
    /* Called once. */
    void (*free)(struct sliced_answer *a);
};

struct sliced_answers *sliced_answers_new(struct loop *loop);
/* Calls in flight must have ended. Accepts NULL. */
struct sliced_answers *sliced_answers_free(struct sliced_answers *all);
/* Ends all responses in progress: clients get a truncated response. The data that they are computed from may
 * be freed afterwards. */
void sliced_answers_stop(struct sliced_answers *all);

/* Answers the call, now or later. Takes ownership of the response. */
void sliced_answer_take(struct sliced_answers *all, struct call *c, struct sliced_answer *a);

#endif
