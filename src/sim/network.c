/* The simulated network.
 *
 * A message is one request and its answer; a message of a watch also queues events. It has three phases: on
 * the way to the server, at the server, on the way back. The outcome of a request is drawn when it is sent. A
 * message without `attempt` has no sender any more; it is freed as soon as it cannot have an effect on the
 * server.
 *
 * Invariants: every active attempt has exactly one message, and events of one watch are delivered in order.
 *
 * Cost: network_due(), network_deliver() and network_next_ns() visit all messages; there are a few dozen. */
#include "sim/network.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client_request.h"
#include "client/client_target.h"
#include "sim/client_copy.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

#define REQUEST_BYTES_MAX ((size_t)4 << 20)
/* After this time a carrier detects a dead peer. */
#define DEAD_PEER_NS (45 * NS_PER_S)
/* A late answer or event is late by less than this. */
#define LATE_NS (300 * NS_PER_MS)
/* How many events of a watch are kept for FAULT_REPLAY. */
#define RECENT_COUNT 3

enum phase {
    PHASE_TO_SERVER,
    PHASE_AT_SERVER,
    PHASE_TO_CLIENT,
};

/* What happens to a request; drawn when it is sent. */
enum outcome {
    OUTCOME_FINE,
    OUTCOME_REFUSED,
    OUTCOME_LOST_BEFORE,
    OUTCOME_LOST_AFTER,
    OUTCOME_HANGS_BEFORE,
    OUTCOME_HANGS_AFTER,
    OUTCOME_ERROR,
    OUTCOME_TIMEOUT_AFTER,
    OUTCOME_THROTTLED,
    OUTCOME_TWICE,
};

struct queued_event {
    TAILQ_ENTRY(queued_event) link;
    uint64_t at_ns;
    struct event_copy copy;
};

/* Every step visits all messages: the fields that it reads come first, and answers, which are large, are
 * allocated separately. */
struct message {
    TAILQ_ENTRY(message) link;
    struct network *network;
    struct sim_process *process;    /* NULL: the sender was killed, or has cancelled */
    struct client_attempt *attempt; /* of the sender; NULL: it does not wait any more */
    enum phase phase;
    bool has_ended; /* of a watch: `answer` is the end of the watch */
    uint64_t at_ns; /* of the next delivery; UINT64_MAX: never */
    /* Of a watch: */
    TAILQ_HEAD(, queued_event) events;
    uint64_t event_at_ns; /* of the last queued event */

    unsigned id;
    enum outcome outcome;
    struct answer_copy *answer; /* NULL: not answered yet */
    struct client_attempt served;
    struct arena arena;
    struct client_request request;
    unsigned recent_count;
    struct event_copy recent[RECENT_COUNT];
};

/* --- Texts for the trace --- */

static const char *sender_name(const struct message *m)
{
    return m->process ? m->process->program->name : "-";
}

static void append_part(char *text, size_t room, size_t *len, const char *part)
{
    size_t more = strlen(part);

    if (more > room - 1 - *len)
        more = room - 1 - *len;
    memcpy(text + *len, part, more);
    *len += more;
    text[*len] = '\0';
}

/* Written for every line of the trace: with printf() it would take most of the time of a run. */
static const char *describe_request(const struct message *m)
{
    static char text[160];
    const struct client_request *q = &m->request;
    const char *parts[] = { q->verb == CLIENT_WATCH ? "WATCH" : target_method(q),
                            " ",
                            q->kind ? q->kind->plural : q->path,
                            q->name ? "/" : "",
                            q->name ? q->name : "",
                            q->resource_version ? "@" : "",
                            q->resource_version ? q->resource_version : "" };
    size_t len = 1 + trace_put_number(text + 1, m->id, 1);

    text[0] = '#';
    text[len++] = ' ';
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        append_part(text, sizeof text, &len, parts[i]);
    return text;
}

typedef void trace_fn(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Lines about leases are quiet except where the scenario tests leases; lines about watches, which end and
 * restart every few minutes, are quiet in the recovery phase. */
static trace_fn *choose_trace(const struct message *m)
{
    const struct sim *s = m->network->sim;
    const struct kind_info *k = m->request.kind;
    bool is_lease = k && k->kind == KIND_LEASE && !s->options.scenario->traces_leases;
    bool is_watch = m->request.verb == CLIENT_WATCH && s->is_healed;

    return is_lease || is_watch ? sim_trace_quietly : sim_trace;
}

/* --- Delays --- */

static uint64_t draw_delay_ns(struct network *n)
{
    if (sim_has_fault(n->sim, &n->rng, FAULT_DELAY, 5))
        return rng_below(&n->rng, 20 * NS_PER_S);
    return rng_below(&n->rng, 5 * NS_PER_MS);
}

/* 0, or how late the message is. */
static uint64_t draw_lateness_ns(struct network *n, unsigned percent)
{
    return rng_chance(&n->late, percent) ? rng_below(&n->late, LATE_NS) : 0;
}

static uint64_t draw_event_delay_ns(struct network *n)
{
    if (sim_has_fault(n->sim, &n->rng, FAULT_LAG, 8))
        return rng_below(&n->rng, 40 * NS_PER_S);
    return rng_below(&n->rng, 5 * NS_PER_MS) + draw_lateness_ns(n, n->late_events_percent);
}

/* --- Outcomes --- */

static enum outcome draw_outcome(struct network *n, const struct client_request *q)
{
    struct sim *s = n->sim;

    if (sim_has_fault(s, &n->rng, FAULT_REFUSE, 2))
        return OUTCOME_REFUSED;
    if (sim_has_fault(s, &n->rng, FAULT_LOSE, 4))
        return rng_chance(&n->rng, 50) && q->verb != CLIENT_WATCH ? OUTCOME_LOST_AFTER : OUTCOME_LOST_BEFORE;
    if (sim_has_fault(s, &n->rng, FAULT_HANG, 2))
        return rng_chance(&n->rng, 50) && q->verb != CLIENT_WATCH ? OUTCOME_HANGS_AFTER
                                                                  : OUTCOME_HANGS_BEFORE;
    if (sim_has_fault(s, &n->rng, FAULT_ERROR, 3)) {
        if (rng_chance(&n->rng, 30))
            return OUTCOME_THROTTLED;
        return rng_chance(&n->rng, 50) && q->verb != CLIENT_WATCH ? OUTCOME_TIMEOUT_AFTER : OUTCOME_ERROR;
    }
    if (request_is_write(q) && sim_has_fault(s, &n->rng, FAULT_TWICE, 2))
        return OUTCOME_TWICE;
    return OUTCOME_FINE;
}

/* The answer of the message, allocated on first use. */
static struct answer_copy *get_answer(struct message *m)
{
    if (!m->answer)
        m->answer = sim_alloc(sizeof *m->answer);
    return m->answer;
}

static struct answer_copy *answer_copy_free(struct answer_copy *k)
{
    if (k)
        answer_copy_done(k);
    free(k);
    return NULL;
}

static void schedule_answer(struct message *m, uint64_t at_ns)
{
    m->phase = PHASE_TO_CLIENT;
    m->at_ns = at_ns;
}

/* --- Sending --- */

static void link_start(struct client_carrier *c, struct client_attempt *a)
{
    struct sim_link *l = (struct sim_link *)c;
    struct network *n = &l->process->sim->network;
    struct message *m = sim_alloc(sizeof *m);
    struct error err;

    m->id = ++n->sent;
    m->network = n;
    m->process = l->process;
    m->attempt = a;
    m->arena = ARENA_INIT(REQUEST_BYTES_MAX);
    TAILQ_INIT(&m->events);
    m->request = *a->request;
    if (request_own_texts(&m->request, &m->arena, &err) < 0)
        abort();
    m->outcome = draw_outcome(n, &m->request);
    m->at_ns = n->sim->now_ns + draw_delay_ns(n);
    TAILQ_INSERT_TAIL(&n->messages, m, link);
    a->work = m;
    choose_trace(m)(n->sim, "%s sends %s%s%s", sender_name(m), describe_request(m),
                    m->request.body.len ? " " : "", m->request.body.len ? m->request.body.s : "");
    if (n->on_send)
        n->on_send(n->ctx, m->process, m->id, &m->request);
}

/* The sender stops waiting for the answer. */
static void notify_over(const struct message *m)
{
    if (m->network->on_over)
        m->network->on_over(m->network->ctx, m->process, m->id);
}

static void message_free(struct message *m)
{
    struct queued_event *e;

    TAILQ_REMOVE(&m->network->messages, m, link);
    while ((e = TAILQ_FIRST(&m->events))) {
        TAILQ_REMOVE(&m->events, e, link);
        event_copy_done(&e->copy);
        free(e);
    }
    for (unsigned i = 0; i < m->recent_count; i++)
        event_copy_done(&m->recent[i]);
    m->answer = answer_copy_free(m->answer);
    arena_done(&m->arena);
    free(m);
}

/* Cancels the request at the server. A write that has arrived is still processed. */
static void cancel_at_server(struct message *m)
{
    struct client_carrier *c = m->network->sim->server.carrier;

    if (m->phase == PHASE_AT_SERVER && c && !m->has_ended)
        c->type->cancel(c, &m->served);
}

static void link_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct message *m = a->work;

    (void)c;
    assert(m->attempt == a);
    notify_over(m);
    m->attempt = NULL;
    m->process = NULL;
    if (m->request.verb == CLIENT_WATCH || m->phase == PHASE_TO_CLIENT || m->at_ns == UINT64_MAX) {
        cancel_at_server(m);
        message_free(m);
    }
}

static void link_free(struct client_carrier *c)
{
    free(c);
}

static const struct client_carrier_type link_type = { link_start, link_cancel, link_free };

struct sim_link *network_link(struct network *n, struct sim_process *p)
{
    struct sim_link *l = sim_alloc(sizeof *l);

    (void)n;
    *l = (struct sim_link){ .carrier = { .type = &link_type }, .process = p };
    return l;
}

/* --- At the server --- */

static void serve_request(struct message *m);

static void on_served_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct message *m = CONTAINER_OF(a, struct message, served);
    struct network *n = m->network;

    choose_trace(m)(n->sim, "server answers %s: %d %s", describe_request(m), answer->http_status,
                    answer->r < 0 ? answer->error.msg : "");
    if (m->request.verb == CLIENT_WATCH) {
        answer_copy_set(get_answer(m), answer);
        m->has_ended = true;
        if (m->event_at_ns < n->sim->now_ns)
            m->event_at_ns = n->sim->now_ns;
        return;
    }
    switch (m->outcome) {
    case OUTCOME_TWICE:
        m->outcome = OUTCOME_FINE;
        serve_request(m);
        return;
    case OUTCOME_LOST_AFTER:
        answer_copy_set_failure(get_answer(m), "connection lost", /* was_connected= */ true,
                                request_is_write(&m->request));
        break;
    case OUTCOME_TIMEOUT_AFTER:
        answer_copy_set_refusal(get_answer(m), 504, "Timeout",
                                "request did not complete within the allotted time", -1);
        break;
    case OUTCOME_HANGS_AFTER:
        schedule_answer(m, UINT64_MAX);
        if (!m->attempt)
            message_free(m);
        return;
    case OUTCOME_FINE:
    case OUTCOME_REFUSED:
    case OUTCOME_LOST_BEFORE:
    case OUTCOME_HANGS_BEFORE:
    case OUTCOME_ERROR:
    case OUTCOME_THROTTLED:
        answer_copy_set(get_answer(m), answer);
        break;
    }
    schedule_answer(m, n->sim->now_ns + draw_delay_ns(n) + draw_lateness_ns(n, n->late_answers_percent));
    if (!m->attempt)
        message_free(m);
}

static void on_served_event(struct client_attempt *a, const struct client_event *ev)
{
    struct message *m = CONTAINER_OF(a, struct message, served);
    struct network *n = m->network;
    struct queued_event *e = sim_alloc(sizeof *e);

    event_copy_set(&e->copy, ev);
    e->at_ns = n->sim->now_ns + draw_event_delay_ns(n);
    if (e->at_ns < m->event_at_ns)
        e->at_ns = m->event_at_ns; /* events of one connection keep their order */
    m->event_at_ns = e->at_ns;
    TAILQ_INSERT_TAIL(&m->events, e, link);
}

static void on_served_warning(struct client_attempt *a, struct str text)
{
    struct message *m = CONTAINER_OF(a, struct message, served);

    if (m->attempt)
        m->attempt->on_warning(m->attempt, text);
}

static void serve_request(struct message *m)
{
    struct client_carrier *c = m->network->sim->server.carrier;

    m->phase = PHASE_AT_SERVER;
    m->served = (struct client_attempt){ .request = &m->request,
                                         .on_event = on_served_event,
                                         .on_end = on_served_end,
                                         .on_warning = on_served_warning };
    m->network->sim->server.has_work = true;
    c->type->start(c, &m->served);
}

/* The request arrives at the server, or fails on the way as its outcome says. */
static void arrive_at_server(struct message *m)
{
    struct network *n = m->network;
    uint64_t now_ns = n->sim->now_ns;

    /* Quiet: the line of the server's answer follows. */
    (m->outcome == OUTCOME_FINE ? sim_trace_quietly : choose_trace(m))(n->sim, "arrives %s (outcome %d)",
                                                                       describe_request(m), m->outcome);
    if (!n->sim->server.api || m->outcome == OUTCOME_REFUSED) {
        answer_copy_set_failure(get_answer(m), "connection refused", false, false);
        schedule_answer(m, now_ns);
    } else if (m->outcome == OUTCOME_LOST_BEFORE) {
        answer_copy_set_failure(get_answer(m), "connection lost", true, request_is_write(&m->request));
        schedule_answer(m, now_ns);
    } else if (m->outcome == OUTCOME_HANGS_BEFORE && m->request.verb == CLIENT_WATCH) {
        answer_copy_set_failure(get_answer(m), "the peer is gone", true, false);
        schedule_answer(m, now_ns + DEAD_PEER_NS);
    } else if (m->outcome == OUTCOME_HANGS_BEFORE) {
        schedule_answer(m, UINT64_MAX);
    } else if (m->outcome == OUTCOME_ERROR) {
        answer_copy_set_refusal(get_answer(m), 500, "InternalError",
                                "Internal error occurred: injected fault", -1);
        schedule_answer(m, now_ns);
    } else if (m->outcome == OUTCOME_THROTTLED) {
        answer_copy_set_refusal(get_answer(m), 429, "TooManyRequests",
                                "too many requests, please try again later", (int64_t)rng_below(&n->rng, 3));
        schedule_answer(m, now_ns);
    } else {
        serve_request(m);
        return;
    }
    if (!m->attempt)
        message_free(m); /* the sender does not wait for it */
}

/* --- Back at the client --- */

static void deliver_end(struct message *m)
{
    struct client_attempt *a = m->attempt;
    struct answer_copy *answer = TAKE(m->answer);

    choose_trace(m)(m->network->sim, "%s receives the end of %s: %d %s", sender_name(m), describe_request(m),
                    answer->answer.http_status, answer->answer.r < 0 ? answer->answer.error.msg : "ok");
    m->process->has_work = true;
    notify_over(m);
    message_free(m);
    a->on_end(a, &answer->answer);
    (void)answer_copy_free(answer);
}

static void deliver_to_handler(struct message *m, const struct client_event *ev)
{
    static const char *const names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "garbage" };

    static_assert(ARRAY_LEN(names) == CLIENT_EVENT_TYPE_COUNT, "name every event");
    (ev->type == CLIENT_BOOKMARK ? sim_trace_quietly : sim_trace)(
        m->network->sim, "%s receives on #%u %s %s@%s", sender_name(m), m->id, names[ev->type],
        ev->object ? ev->object->name : "", ev->version ? ev->version : "");
    m->process->has_work = true;
    m->attempt->on_event(m->attempt, ev);
}

/* Repeats an earlier event of the watch, or delivers an invalid one. The handler may end the watch. */
static void deliver_event_again(struct message *m)
{
    struct network *n = m->network;
    struct error garbage = { .code = ERR_BAD_REQUEST, .msg = "no event" };
    struct event_copy *k = &m->recent[rng_below(&n->rng, m->recent_count)];

    if (rng_chance(&n->rng, 30)) {
        deliver_to_handler(m, &(struct client_event){ .type = CLIENT_UNREADABLE, .error = &garbage });
    } else {
        sim_trace(n->sim, "repeated:");
        deliver_to_handler(m, &k->event);
    }
}

static bool has_message(const struct network *n, unsigned id)
{
    const struct message *m;

    TAILQ_FOREACH(m, &n->messages, link)
        if (m->id == id)
            return true;
    return false;
}

static void deliver_event(struct message *m)
{
    struct queued_event *e = TAILQ_FIRST(&m->events);
    struct network *n = m->network;
    unsigned id = m->id;

    TAILQ_REMOVE(&m->events, e, link);
    deliver_to_handler(m, &e->copy.event);
    if (!has_message(n, id)) { /* the handler has ended the watch */
        event_copy_done(&e->copy);
    } else {
        if (m->recent_count == RECENT_COUNT) {
            event_copy_done(&m->recent[0]);
            memmove(&m->recent[0], &m->recent[1], sizeof m->recent - sizeof m->recent[0]);
            m->recent_count--;
        }
        m->recent[m->recent_count++] = e->copy;
        if (sim_has_fault(n->sim, &n->rng, FAULT_REPLAY, 4))
            deliver_event_again(m);
    }
    free(e);
}

/* --- What is due --- */

/* When the next part of the message is due, if its process runs and is not partitioned. */
static uint64_t message_next_ns(const struct message *m)
{
    const struct queued_event *e = TAILQ_FIRST(&m->events);

    if (m->phase == PHASE_AT_SERVER) {
        if (e)
            return e->at_ns;
        return m->has_ended ? m->event_at_ns : UINT64_MAX;
    }
    return m->at_ns;
}

static bool is_due(const struct message *m)
{
    uint64_t now_ns = m->network->sim->now_ns;

    if (message_next_ns(m) > now_ns || (m->process && m->process->rejoins_ns > now_ns))
        return false;
    return m->phase == PHASE_TO_SERVER || (m->attempt && sim_process_is_live(m->process));
}

size_t network_due(struct network *n)
{
    const struct message *m;
    size_t count = 0;

    TAILQ_FOREACH(m, &n->messages, link)
        count += is_due(m);
    return count;
}

void network_deliver(struct network *n, size_t which)
{
    struct message *m;

    TAILQ_FOREACH(m, &n->messages, link)
        if (is_due(m) && which-- == 0)
            break;
    assert(m);
    (void)sim_process_enter(m->phase == PHASE_TO_SERVER ? NULL : m->process);
    if (m->phase == PHASE_TO_SERVER)
        arrive_at_server(m);
    else if (m->phase == PHASE_AT_SERVER && !TAILQ_EMPTY(&m->events))
        deliver_event(m);
    else
        deliver_end(m);
    (void)sim_process_enter(NULL);
}

uint64_t network_next_ns(const struct network *n)
{
    const struct message *m;
    uint64_t next = UINT64_MAX;

    TAILQ_FOREACH(m, &n->messages, link) {
        uint64_t at = message_next_ns(m);

        if (at > n->sim->now_ns && at < next)
            next = at;
    }
    return next;
}

/* --- Lost connections --- */

static void lose_connection(struct message *m)
{
    struct queued_event *e;

    while ((e = TAILQ_FIRST(&m->events))) {
        TAILQ_REMOVE(&m->events, e, link);
        event_copy_done(&e->copy);
        free(e);
    }
    answer_copy_set_failure(get_answer(m), "connection lost", true, request_is_write(&m->request));
    schedule_answer(m, m->network->sim->now_ns);
}

void network_lose_server(struct network *n)
{
    struct message *m, *next;

    for (m = TAILQ_FIRST(&n->messages); m; m = next) {
        next = TAILQ_NEXT(m, link);
        if (m->phase != PHASE_AT_SERVER)
            continue;
        cancel_at_server(m);
        lose_connection(m);
        if (!m->attempt)
            message_free(m);
    }
}

void network_cut_watch(struct network *n)
{
    struct message *m, *found = NULL;
    uint64_t count = 0;

    TAILQ_FOREACH(m, &n->messages, link)
        if (m->request.verb == CLIENT_WATCH && m->phase == PHASE_AT_SERVER &&
            rng_below(&n->rng, ++count) == 0)
            found = m;
    if (!found)
        return;
    sim_trace(n->sim, "cuts %s", describe_request(found));
    cancel_at_server(found);
    lose_connection(found);
    if (rng_chance(&n->rng, 50)) { /* as if the server had ended it */
        found->answer->answer = (struct client_answer){ .http_status = 200, .retry_after_seconds = -1 };
    }
}

void network_init(struct network *n, struct sim *s)
{
    static const unsigned percents[] = { 0, 10, 50, 100 };

    *n = (struct network){ .sim = s };
    TAILQ_INIT(&n->messages);
    rng_init(&n->rng, rng_u64(&s->faults));
    rng_fork(&n->rng, "late", &n->late);
    n->late_answers_percent = percents[rng_below(&n->late, ARRAY_LEN(percents))];
    n->late_events_percent = percents[rng_below(&n->late, ARRAY_LEN(percents))];
}

void network_done(struct network *n)
{
    struct message *m, *next;

    for (m = TAILQ_FIRST(&n->messages); m; m = next) {
        next = TAILQ_NEXT(m, link);
        assert(!m->attempt);
        cancel_at_server(m);
        message_free(m);
    }
}
