/* Requests, answers and events that outlive the callback they came in: what is on the simulated wire. */
#ifndef BERTH_SIM_KEPT_H
#define BERTH_SIM_KEPT_H

#include "base/arena.h"
#include "client/client.h"

struct kept_answer {
    struct client_answer answer;
    struct arena arena;
};

void kept_answer_set(struct kept_answer *k, const struct client_answer *a);
/* No answer came: the connection was refused, lost, or lost after the request was sent. */
void kept_answer_fail(struct kept_answer *k, const char *why, bool was_connected, bool may_have_happened);
/* The server refused: a Status of that code. */
void kept_answer_refuse(struct kept_answer *k, int http_status, const char *reason, const char *message,
                        int64_t retry_after_seconds);
void kept_answer_done(struct kept_answer *k);

struct kept_event {
    struct client_event event;
    struct arena arena;
};

void kept_event_set(struct kept_event *k, const struct client_event *ev);
void kept_event_done(struct kept_event *k);

#endif
