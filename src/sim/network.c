#include "sim/network.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client_request.h"
#include "client/client_target.h"
#include "sim/kept.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

#define REQUEST_BYTES_MAX ((size_t)4 << 20)
/* By then a carrier has noticed that nobody is there. */
#define DEAD_PEER_NS (45 * NS_PER_S)
/* An answer or event that is late is so by less than this. */
#define LATE_NS (300 * NS_PER_MS)
/* Events that may come again. */
#define RECENT_COUNT 3

enum phase {
    PHASE_TO_SERVER,
    PHASE_AT_SERVER,
    PHASE_TO_CLIENT,
};

/* What becomes of a request; drawn when it is sent. */
enum fate {
    FATE_FINE,
    FATE_REFUSED,
    FATE_LOST_BEFORE,
    FATE_LOST_AFTER,
    FATE_HANGS_BEFORE,
    FATE_HANGS_AFTER,
    FATE_ERROR,
    FATE_TIMEOUT_AFTER,
    FATE_THROTTLED,
    FATE_TWICE,
};

struct queued_event {
    TAILQ_ENTRY(queued_event) link;
    uint64_t at_ns;
    struct kept_event kept;
};

/* What every step looks at comes first, and answers, whose errors are large, stand elsewhere: a step goes
 * through all messages but those that rest, which most watches do most of the time. */
struct message {
    TAILQ_ENTRY(message) link;
    struct network *network;
    struct sim_process *process;    /* NULL: its sender is gone */
    struct client_attempt *attempt; /* the sender's; NULL when it does not wait any more */
    enum phase phase;
    bool is_resting; /* in that list */
    bool has_ended;  /* of a watch: `answer` is its end */
    uint64_t at_ns;  /* of the next delivery; UINT64_MAX: never */
    /* Of a watch. */
    TAILQ_HEAD(, queued_event) events;
    uint64_t event_at_ns; /* of the last one queued */

    unsigned id;
    enum fate fate;
    struct kept_answer *answer; /* NULL: none yet */
    struct client_attempt served;
    struct arena arena;
    struct client_request request;
    unsigned recent_count;
    struct kept_event recent[RECENT_COUNT];
};

/* --- Words for the trace --- */

static const char *sender(const struct message *m)
{
    return m->process ? m->process->program->name : "-";
}

static void add_part(char *text, size_t room, size_t *len, const char *part)
{
    size_t more = strlen(part);

    if (more > room - 1 - *len)
        more = room - 1 - *len;
    memcpy(text + *len, part, more);
    *len += more;
    text[*len] = '\0';
}

/* Written anew when the server has answered, and so on: printf() would take most of the time. */
static const char *what(const struct message *m)
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
        add_part(text, sizeof text, &len, parts[i]);
    return text;
}

typedef void trace_fn(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Leases are renewed all the time, and watches end and begin again after so many minutes: lines about them
 * are quiet where that is not the matter. */
static trace_fn *trace_of(const struct message *m)
{
    const struct sim *s = m->network->sim;
    const struct kind_info *k = m->request.kind;
    bool is_lease = k && k->kind == KIND_LEASE && !s->options.scenario->is_about_leases;
    bool is_watch = m->request.verb == CLIENT_WATCH && s->is_healed;

    return is_lease || is_watch ? sim_trace_quietly : sim_trace;
}

/* --- Delays --- */

static uint64_t delay_ns(struct network *n)
{
    if (sim_has_fault(n->sim, &n->rng, FAULT_DELAY, 5))
        return rng_below(&n->rng, 20 * NS_PER_S);
    return rng_below(&n->rng, 5 * NS_PER_MS);
}

/* Nothing, or how much later. */
static uint64_t lateness_ns(struct network *n, unsigned percent)
{
    return rng_chance(&n->late, percent) ? rng_below(&n->late, LATE_NS) : 0;
}

static uint64_t event_delay_ns(struct network *n)
{
    if (sim_has_fault(n->sim, &n->rng, FAULT_LAG, 8))
        return rng_below(&n->rng, 40 * NS_PER_S);
    return rng_below(&n->rng, 5 * NS_PER_MS) + lateness_ns(n, n->late_events_percent);
}

/* --- Fates --- */

static enum fate draw_fate(struct network *n, const struct client_request *q)
{
    struct sim *s = n->sim;

    if (sim_has_fault(s, &n->rng, FAULT_REFUSE, 2))
        return FATE_REFUSED;
    if (sim_has_fault(s, &n->rng, FAULT_LOSE, 4))
        return rng_chance(&n->rng, 50) && q->verb != CLIENT_WATCH ? FATE_LOST_AFTER : FATE_LOST_BEFORE;
    if (sim_has_fault(s, &n->rng, FAULT_HANG, 2))
        return rng_chance(&n->rng, 50) && q->verb != CLIENT_WATCH ? FATE_HANGS_AFTER : FATE_HANGS_BEFORE;
    if (sim_has_fault(s, &n->rng, FAULT_ERROR, 3)) {
        if (rng_chance(&n->rng, 30))
            return FATE_THROTTLED;
        return rng_chance(&n->rng, 50) && q->verb != CLIENT_WATCH ? FATE_TIMEOUT_AFTER : FATE_ERROR;
    }
    if (request_is_write(q) && sim_has_fault(s, &n->rng, FAULT_TWICE, 2))
        return FATE_TWICE;
    return FATE_FINE;
}

/* Where its answer goes; one that is there is replaced. */
static struct kept_answer *answer_of(struct message *m)
{
    if (!m->answer)
        m->answer = sim_alloc(sizeof *m->answer);
    return m->answer;
}

static struct kept_answer *answer_free(struct kept_answer *k)
{
    if (k)
        kept_answer_done(k);
    free(k);
    return NULL;
}

/* Whether there is anything to deliver, now or later, unless the server says more. */
static void set_resting(struct message *m, bool is_resting)
{
    struct network *n = m->network;

    if (m->is_resting == is_resting)
        return;
    TAILQ_REMOVE(m->is_resting ? &n->resting : &n->messages, m, link);
    TAILQ_INSERT_TAIL(is_resting ? &n->resting : &n->messages, m, link);
    m->is_resting = is_resting;
}

static void answer_at(struct message *m, uint64_t at_ns)
{
    m->phase = PHASE_TO_CLIENT;
    m->at_ns = at_ns;
    set_resting(m, /* is_resting= */ false);
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
    m->fate = draw_fate(n, &m->request);
    m->at_ns = n->sim->now_ns + delay_ns(n);
    TAILQ_INSERT_TAIL(&n->messages, m, link);
    a->work = m;
    trace_of(m)(n->sim, "%s sends %s%s%s", sender(m), what(m), m->request.body.len ? " " : "",
                m->request.body.len ? m->request.body.s : "");
    if (n->on_send)
        n->on_send(n->ctx, m->process, m->id, &m->request);
}

/* The sender waits no more. */
static void tell_over(const struct message *m)
{
    if (m->network->on_over)
        m->network->on_over(m->network->ctx, m->process, m->id);
}

static void message_free(struct message *m)
{
    struct queued_event *e;

    TAILQ_REMOVE(m->is_resting ? &m->network->resting : &m->network->messages, m, link);
    while ((e = TAILQ_FIRST(&m->events))) {
        TAILQ_REMOVE(&m->events, e, link);
        kept_event_done(&e->kept);
        free(e);
    }
    for (unsigned i = 0; i < m->recent_count; i++)
        kept_event_done(&m->recent[i]);
    m->answer = answer_free(m->answer);
    arena_done(&m->arena);
    free(m);
}

/* Takes it back from the server, if that has it. A write that arrived is carried out all the same. */
static void recall(struct message *m)
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
    tell_over(m);
    m->attempt = NULL;
    m->process = NULL;
    if (m->request.verb == CLIENT_WATCH || m->phase == PHASE_TO_CLIENT || m->at_ns == UINT64_MAX) {
        recall(m);
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

static void serve(struct message *m);

static void on_served_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct message *m = CONTAINER_OF(a, struct message, served);
    struct network *n = m->network;

    trace_of(m)(n->sim, "server answers %s: %d %s", what(m), answer->http_status,
                answer->r < 0 ? answer->error.msg : "");
    if (m->request.verb == CLIENT_WATCH) {
        kept_answer_set(answer_of(m), answer);
        m->has_ended = true;
        set_resting(m, /* is_resting= */ false);
        if (m->event_at_ns < n->sim->now_ns)
            m->event_at_ns = n->sim->now_ns;
        return;
    }
    switch (m->fate) {
    case FATE_TWICE:
        m->fate = FATE_FINE;
        serve(m);
        return;
    case FATE_LOST_AFTER:
        kept_answer_fail(answer_of(m), "connection lost", /* was_connected= */ true,
                         request_is_write(&m->request));
        break;
    case FATE_TIMEOUT_AFTER:
        kept_answer_refuse(answer_of(m), 504, "Timeout", "request did not complete within the allotted time",
                           -1);
        break;
    case FATE_HANGS_AFTER:
        answer_at(m, UINT64_MAX);
        if (!m->attempt)
            message_free(m);
        return;
    case FATE_FINE:
    case FATE_REFUSED:
    case FATE_LOST_BEFORE:
    case FATE_HANGS_BEFORE:
    case FATE_ERROR:
    case FATE_THROTTLED:
        kept_answer_set(answer_of(m), answer);
        break;
    }
    answer_at(m, n->sim->now_ns + delay_ns(n) + lateness_ns(n, n->late_answers_percent));
    if (!m->attempt)
        message_free(m);
}

static void on_served_event(struct client_attempt *a, const struct client_event *ev)
{
    struct message *m = CONTAINER_OF(a, struct message, served);
    struct network *n = m->network;
    struct queued_event *e = sim_alloc(sizeof *e);

    kept_event_set(&e->kept, ev);
    e->at_ns = n->sim->now_ns + event_delay_ns(n);
    if (e->at_ns < m->event_at_ns)
        e->at_ns = m->event_at_ns; /* one connection: what was sent first comes first */
    m->event_at_ns = e->at_ns;
    TAILQ_INSERT_TAIL(&m->events, e, link);
    set_resting(m, /* is_resting= */ false);
}

static void on_served_warning(struct client_attempt *a, struct str text)
{
    struct message *m = CONTAINER_OF(a, struct message, served);

    if (m->attempt)
        m->attempt->on_warning(m->attempt, text);
}

static void serve(struct message *m)
{
    struct client_carrier *c = m->network->sim->server.carrier;

    m->phase = PHASE_AT_SERVER;
    set_resting(m, /* is_resting= */ true);
    m->served = (struct client_attempt){ .request = &m->request,
                                         .on_event = on_served_event,
                                         .on_end = on_served_end,
                                         .on_warning = on_served_warning };
    m->network->sim->server.has_work = true;
    c->type->start(c, &m->served);
}

/* It arrives, or what stands in its way answers. */
static void arrive(struct message *m)
{
    struct network *n = m->network;
    uint64_t now_ns = n->sim->now_ns;

    /* What becomes of it is told when the server answers. */
    (m->fate == FATE_FINE ? sim_trace_quietly : trace_of(m))(n->sim, "arrives %s (fate %d)", what(m),
                                                             m->fate);
    if (!n->sim->server.api || m->fate == FATE_REFUSED) {
        kept_answer_fail(answer_of(m), "connection refused", false, false);
        answer_at(m, now_ns);
    } else if (m->fate == FATE_LOST_BEFORE) {
        kept_answer_fail(answer_of(m), "connection lost", true, request_is_write(&m->request));
        answer_at(m, now_ns);
    } else if (m->fate == FATE_HANGS_BEFORE && m->request.verb == CLIENT_WATCH) {
        kept_answer_fail(answer_of(m), "the peer is gone", true, false);
        answer_at(m, now_ns + DEAD_PEER_NS);
    } else if (m->fate == FATE_HANGS_BEFORE) {
        answer_at(m, UINT64_MAX);
    } else if (m->fate == FATE_ERROR) {
        kept_answer_refuse(answer_of(m), 500, "InternalError", "Internal error occurred: bad day", -1);
        answer_at(m, now_ns);
    } else if (m->fate == FATE_THROTTLED) {
        kept_answer_refuse(answer_of(m), 429, "TooManyRequests", "too many requests, please try again later",
                           (int64_t)rng_below(&n->rng, 3));
        answer_at(m, now_ns);
    } else {
        serve(m);
        return;
    }
    if (!m->attempt)
        message_free(m); /* nobody waits for it */
}

/* --- Back at the client --- */

static void deliver_end(struct message *m)
{
    struct client_attempt *a = m->attempt;
    struct kept_answer *answer = TAKE(m->answer);

    trace_of(m)(m->network->sim, "%s gets the end of %s: %d %s", sender(m), what(m),
                answer->answer.http_status, answer->answer.r < 0 ? answer->answer.error.msg : "ok");
    m->process->has_work = true;
    tell_over(m);
    message_free(m);
    a->on_end(a, &answer->answer);
    (void)answer_free(answer);
}

static void tell(struct message *m, const struct client_event *ev)
{
    static const char *const names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "garbage" };

    static_assert(ARRAY_LEN(names) == CLIENT_EVENT_TYPE_COUNT, "name every event");
    (ev->type == CLIENT_BOOKMARK ? sim_trace_quietly : sim_trace)(
        m->network->sim, "%s hears on #%u %s %s@%s", sender(m), m->id, names[ev->type],
        ev->object ? ev->object->name : "", ev->version ? ev->version : "");
    m->process->has_work = true;
    m->attempt->on_event(m->attempt, ev);
}

/* What came before comes again, or something that nobody can read. True when the message is still there. */
static void deliver_again(struct message *m)
{
    struct network *n = m->network;
    struct error garbage = { .code = ERR_BAD_REQUEST, .msg = "no event" };
    struct kept_event *k = &m->recent[rng_below(&n->rng, m->recent_count)];

    if (rng_chance(&n->rng, 30)) {
        tell(m, &(struct client_event){ .type = CLIENT_UNREADABLE, .error = &garbage });
    } else {
        sim_trace(n->sim, "once more:");
        tell(m, &k->event);
    }
}

/* A watch with events: it does not rest. */
static bool is_there(const struct network *n, unsigned id)
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
    tell(m, &e->kept.event);
    if (!is_there(n, id)) { /* whoever heard it ended the watch */
        kept_event_done(&e->kept);
    } else {
        if (m->recent_count == RECENT_COUNT) {
            kept_event_done(&m->recent[0]);
            memmove(&m->recent[0], &m->recent[1], sizeof m->recent - sizeof m->recent[0]);
            m->recent_count--;
        }
        m->recent[m->recent_count++] = e->kept;
        set_resting(m, m->phase == PHASE_AT_SERVER && TAILQ_EMPTY(&m->events) && !m->has_ended);
        if (sim_has_fault(n->sim, &n->rng, FAULT_REPLAY, 4))
            deliver_again(m);
    }
    free(e);
}

/* --- What is due --- */

/* When something of it can be delivered, all else being well. */
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
        arrive(m);
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

/* --- What befalls it --- */

static void lose(struct message *m)
{
    struct queued_event *e;

    while ((e = TAILQ_FIRST(&m->events))) {
        TAILQ_REMOVE(&m->events, e, link);
        kept_event_done(&e->kept);
        free(e);
    }
    kept_answer_fail(answer_of(m), "connection lost", true, request_is_write(&m->request));
    answer_at(m, m->network->sim->now_ns);
}

void network_lose_server(struct network *n)
{
    struct message_list *lists[] = { &n->messages, &n->resting };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct message *m, *next;

        for (m = TAILQ_FIRST(lists[i]); m; m = next) {
            next = TAILQ_NEXT(m, link);
            if (m->phase != PHASE_AT_SERVER)
                continue;
            recall(m);
            lose(m);
            if (!m->attempt)
                message_free(m);
        }
    }
}

void network_cut_watch(struct network *n)
{
    struct message_list *lists[] = { &n->messages, &n->resting };
    struct message *m, *found = NULL;
    uint64_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        TAILQ_FOREACH(m, lists[i], link)
            if (m->request.verb == CLIENT_WATCH && m->phase == PHASE_AT_SERVER &&
                rng_below(&n->rng, ++count) == 0)
                found = m;
    if (!found)
        return;
    sim_trace(n->sim, "cuts %s", what(found));
    recall(found);
    lose(found);
    if (rng_chance(&n->rng, 50)) { /* as if the server had ended it */
        found->answer->answer = (struct client_answer){ .http_status = 200, .retry_after_seconds = -1 };
    }
}

void network_init(struct network *n, struct sim *s)
{
    static const unsigned percents[] = { 0, 10, 50, 100 };

    *n = (struct network){ .sim = s };
    TAILQ_INIT(&n->messages);
    TAILQ_INIT(&n->resting);
    rng_init(&n->rng, rng_u64(&s->faults));
    rng_fork(&n->rng, "late", &n->late);
    n->late_answers_percent = percents[rng_below(&n->late, ARRAY_LEN(percents))];
    n->late_events_percent = percents[rng_below(&n->late, ARRAY_LEN(percents))];
}

void network_done(struct network *n)
{
    struct message *m;

    while ((m = TAILQ_FIRST(&n->messages)) || (m = TAILQ_FIRST(&n->resting))) {
        assert(!m->attempt);
        recall(m);
        message_free(m);
    }
}
