/* Copies of answers and events that outlive the callback which delivers them: messages of the simulated
 * network. */
#ifndef BERTH_SIM_CLIENT_COPY_H
#define BERTH_SIM_CLIENT_COPY_H

#include "base/arena.h"
#include "client/client.h"

struct answer_copy {
    struct client_answer answer;
    struct arena arena;
};

void answer_copy_set(struct answer_copy *copy, const struct client_answer *a);
/* An answer for a request that got no response: connection refused, or lost before or after it was sent. */
void answer_copy_set_failure(struct answer_copy *copy, const char *why, bool was_connected,
                             bool may_have_happened);
/* An answer of a server that rejects the request: a Status with that code. */
void answer_copy_set_refusal(struct answer_copy *copy, int http_status, const char *reason,
                             const char *message, int64_t retry_after_seconds);
void answer_copy_done(struct answer_copy *copy);

struct event_copy {
    struct client_event event;
    struct arena arena;
};

void event_copy_set(struct event_copy *copy, const struct client_event *ev);
void event_copy_done(struct event_copy *copy);

#endif
