/* Simulated gRPC calls.
 *
 * The moments of effect and answer, and the fault of a call, are drawn when it is made. A call is freed when
 * its answer was delivered, or the caller has stopped waiting, and it cannot take effect any more.
 *
 * Invariant: a call with a peer is served at most once, or twice in a row for a duplicated call.
 *
 * Cost: every step visits all calls of all machines; there are few. */
#include "sim/machine_rpc.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rpc/message.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

#define STOP_LOOK_NS NS_PER_S /* how often a waiting worker checks whether it was cancelled */
#define NEVER UINT64_MAX

struct machine_peer {
    TAILQ_ENTRY(machine_peer) link;
    struct machine *machine;
    struct sim_process *process;
    struct file_node *socket;
    const struct machine_peer_type *type;
    void *ctx;
};

/* Made by a loop, which has `call`, or by a worker; without both the caller has stopped waiting. A watch is a
 * call without effect or answer, which ends with its peer. */
struct machine_call {
    TAILQ_ENTRY(machine_call) link;
    struct machine *machine;
    struct sim_process *owner; /* NULL: it does not wait any more */
    struct rpc_call *call;
    struct rpc_watch *watch;
    struct sim_worker *worker;
    struct machine_peer *peer;            /* NULL: no process listens at the socket */
    const struct machine_peer_type *type; /* of the peer, which may have ended since; NULL: there was none */
    void *type_ctx;
    struct buf message;
    char method[96];
    char subject[PEER_SUBJECT_BYTES];
    unsigned serial;
    uint64_t effect_ns; /* NEVER: no effect, or it has happened */
    uint64_t end_ns;    /* when the answer arrives */
    uint64_t limit_ns;
    bool is_cut;               /* the connection breaks: the call ends without waiting for its effect */
    bool is_unsent;            /* there is no connection */
    bool arrives_twice;        /* the call is served twice in a row */
    bool is_partial;           /* the call takes effect partially */
    bool kills_peer;           /* the peer crashes while it serves the call */
    enum rpc_code forced_code; /* replaces the code of the peer; RPC_OK: does not */
    bool has_ended;            /* the rest is valid */
    enum rpc_code code;
    struct peer_request served;
};

static const enum rpc_code uncertain_codes[] = { RPC_ABORTED, RPC_UNAVAILABLE, RPC_DEADLINE_EXCEEDED,
                                                 RPC_RESOURCE_EXHAUSTED, RPC_CANCELLED };
static const enum rpc_code certain_codes[] = { RPC_INTERNAL, RPC_UNKNOWN, RPC_FAILED_PRECONDITION,
                                               RPC_PERMISSION_DENIED };

/* --- Peers --- */

/* Creates missing directories, and always a new node: a watcher sees a new socket. */
static struct file_node *make_socket(struct machine *m, const char *path)
{
    struct file_node *old = tree_make(m->trees.items[0]->root, path, S_IFSOCK | 0755), *dir = old->parent, *n;
    const char *name = strrchr(path, '/') + 1;

    tree_remove(old);
    n = tree_add(dir, name, S_IFSOCK | 0755);
    machine_entry_changed(m, dir, name);
    return n;
}

struct machine_peer *machine_listen(struct machine *m, const char *path, struct sim_process *p,
                                    const struct machine_peer_type *type, void *ctx)
{
    struct machine_peer *peer = sim_alloc(sizeof *peer);

    *peer = (struct machine_peer){
        .machine = m, .process = p, .socket = make_socket(m, path), .type = type, .ctx = ctx
    };
    TAILQ_INSERT_TAIL(&m->peers, peer, link);
    sim_trace(m->sim, "%s: new listener at %s", m->name, path);
    return peer;
}

/* NULL: no process listens there. */
static struct machine_peer *find_peer(struct machine *m, const char *path)
{
    struct machine_place at;
    struct machine_peer *peer;

    if (machine_find(m, AT_FDCWD, path, 0, &at, NULL) != 0)
        return NULL;
    TAILQ_FOREACH(peer, &m->peers, link)
        if (peer->socket == at.node)
            return peer;
    return NULL;
}

/* --- Requests --- */

ProtobufCMessage *peer_request_read(const struct machine *m, const struct peer_request *q,
                                    const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *message = rpc_message_read(type, q->message);

    if (!message)
        sim_fail(m->sim, "%s: invalid request of %s", m->name, q->method);
    return message;
}

void peer_request_answer(struct peer_request *q, const ProtobufCMessage *m)
{
    struct error err;

    if (rpc_message_pack(m, &q->answer, &err) < 0)
        abort();
}

enum rpc_code peer_request_reject(struct peer_request *q, enum rpc_code code, const char *words)
{
    (void)snprintf(q->words, sizeof q->words, "%s", words);
    return code;
}

/* --- Calls --- */

static enum rpc_code pick_code(struct rng *r, const enum rpc_code *codes, size_t count)
{
    return codes[rng_below(r, count)];
}

/* Draws the moments of effect and answer, and a fault. */
static void draw_call_fault(struct machine_call *c)
{
    struct rng *r = &c->machine->rng;
    unsigned dice = (unsigned)rng_below(r, 100);
    uint64_t long_ns = rng_below(r, 200 * NS_PER_S), now_ns = c->machine->sim->now_ns;

    c->effect_ns = now_ns + rng_below(r, 20 * NS_PER_MS);
    c->end_ns = c->effect_ns + rng_below(r, 20 * NS_PER_MS);
    if (dice >= 14 || !sim_has_fault(c->machine->sim, r, FAULT_HOST, 100))
        return;
    c->is_cut = dice < 3;
    if (dice < 2) {
        c->effect_ns = NEVER; /* the connection breaks before the call arrives */
    } else if (dice < 3) {
        c->effect_ns += long_ns; /* the connection breaks while the call is served */
    } else if (dice < 5) {
        c->forced_code = RPC_UNAVAILABLE; /* the connection breaks before the answer */
    } else if (dice < 7) {
        c->effect_ns += long_ns;
        c->end_ns += long_ns;
    } else if (dice < 8) {
        c->arrives_twice = true;
    } else if (dice < 10) {
        c->is_partial = true;
        c->forced_code = pick_code(r, uncertain_codes, ARRAY_LEN(uncertain_codes));
    } else if (dice < 12) {
        c->effect_ns = NEVER;
        c->forced_code = rng_chance(r, 50) ? pick_code(r, uncertain_codes, ARRAY_LEN(uncertain_codes))
                                           : pick_code(r, certain_codes, ARRAY_LEN(certain_codes));
    } else {
        c->kills_peer = true;
        c->is_partial = rng_chance(r, 50);
        c->forced_code = RPC_UNAVAILABLE;
    }
}

/* True if an earlier call about the same subject is pending. */
static bool has_earlier_call(const struct machine_call *c)
{
    const struct machine_call *other;

    TAILQ_FOREACH(other, &c->machine->calls, link)
        if (other->peer == c->peer && other->serial < c->serial && other->effect_ns != NEVER &&
            c->subject[0] && strcmp(other->subject, c->subject) == 0)
            return true;
    return false;
}

static struct machine_call *call_new(struct machine *m, const struct rpc_request *q)
{
    struct machine_call *c = sim_alloc(sizeof *c);

    *c = (struct machine_call){ .machine = m, .owner = sim_process_current(), .serial = ++m->calls_made };
    c->message = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    c->served.answer = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    buf_add_str(&c->message, q->message);
    (void)snprintf(c->method, sizeof c->method, "%s", q->method);
    c->served.method = c->method;
    c->served.message = buf_str(&c->message);
    c->limit_ns = q->limit_ns ? m->sim->now_ns + q->limit_ns : NEVER;
    c->peer = find_peer(m, q->socket);
    draw_call_fault(c);
    if (c->peer) {
        c->type = c->peer->type;
        c->type_ctx = c->peer->ctx;
        c->peer->type->subject(c->peer->ctx, &c->served, c->subject);
        /* While an earlier call about the subject is pending, the peer must not claim that this one had no
         * effect. */
        if (c->forced_code != RPC_OK && c->effect_ns == NEVER && has_earlier_call(c))
            c->forced_code = RPC_ABORTED;
        if (c->forced_code != RPC_OK && c->peer->type->force_code)
            c->forced_code =
                c->peer->type->force_code(c->peer->ctx, &c->served, c->forced_code, c->effect_ns != NEVER);
    } else {
        c->effect_ns = NEVER;
        c->is_cut = c->is_unsent = true;
    }
    TAILQ_INSERT_TAIL(&m->calls, c, link);
    sim_trace(m->sim, "%s: call %u: %s%s%s", m->name, c->serial, c->method, c->subject[0] ? " of " : "",
              c->subject);
    return c;
}

static void call_free(struct machine_call *c)
{
    TAILQ_REMOVE(&c->machine->calls, c, link);
    buf_done(&c->message);
    buf_done(&c->served.answer);
    free(c);
}

void calls_drop_all(struct machine *m)
{
    struct machine_call *c, *next;

    for (c = TAILQ_FIRST(&m->calls); c; c = next) {
        next = TAILQ_NEXT(c, link);
        call_free(c);
    }
}

/* The caller stops waiting. The call may still take effect. */
static void call_abandon(struct machine_call *c)
{
    c->owner = NULL;
    c->call = NULL;
    c->watch = NULL;
    c->worker = NULL;
    if (c->effect_ns == NEVER)
        call_free(c);
}

struct machine_peer *machine_peer_free(struct machine_peer *peer, bool keeps_socket)
{
    struct machine *m = peer->machine;
    struct machine_call *c, *next;
    struct file_node *dir = peer->socket->parent;

    for (c = TAILQ_FIRST(&m->calls); c; c = next) {
        next = TAILQ_NEXT(c, link);
        if (c->peer != peer)
            continue;
        c->peer = NULL;
        c->is_cut = c->is_cut || c->effect_ns != NEVER;
        c->effect_ns = NEVER;
        if (c->end_ns > m->sim->now_ns + NS_PER_MS)
            c->end_ns = m->sim->now_ns + NS_PER_MS;
        if (!c->owner)
            call_free(c);
    }
    if (!keeps_socket && dir) {
        const struct tree_entry *e = tree_entry_of(peer->socket);
        char name[NAME_MAX + 1];

        (void)snprintf(name, sizeof name, "%s", e->name);
        tree_remove(peer->socket);
        machine_entry_changed(m, dir, name);
    }
    TAILQ_REMOVE(&m->peers, peer, link);
    free(peer);
    return NULL;
}

bool machine_expects_call(const struct machine *m, const char *method, const char *subject)
{
    const struct machine_call *c;

    TAILQ_FOREACH(c, &m->calls, link)
        if (c->effect_ns != NEVER && strcmp(c->method, method) == 0 && strcmp(c->subject, subject) == 0)
            return true;
    return false;
}

bool machine_expects_calls(const struct machine *m)
{
    const struct machine_call *c;

    TAILQ_FOREACH(c, &m->calls, link)
        if (c->effect_ns != NEVER && c->subject[0])
            return true;
    return false;
}

/* --- Effect and end --- */

static void serve_call(struct machine_call *c)
{
    struct machine_peer *peer = c->peer;

    buf_clear(&c->served.answer);
    c->served.words[0] = '\0';
    c->code = peer->type->serve(peer->ctx, &c->served);
    sim_trace(c->machine->sim, "%s: call %u is done%s: %d %s", c->machine->name, c->serial,
              c->served.is_partial ? " partially" : "", (int)c->code, c->served.words);
}

static void take_effect(struct machine_call *c)
{
    struct sim_process *peer = c->peer->process;
    struct sim *s = c->machine->sim;
    bool kills_peer = c->kills_peer;

    c->effect_ns = NEVER;
    if (has_earlier_call(c)) {
        c->code = RPC_ABORTED;
        (void)snprintf(c->served.words, sizeof c->served.words, "an operation is pending");
        kills_peer = false;
    } else {
        c->served.is_partial = c->is_partial;
        serve_call(c);
        if (c->arrives_twice)
            serve_call(c);
    }
    if (!c->owner)
        call_free(c);
    if (kills_peer)
        sim_halt(peer, s->now_ns + 1 + rng_below(&s->faults, 20 * NS_PER_S));
}

/* The result as the caller gets it. */
static struct rpc_result fill_result(struct machine_call *c, bool is_late, struct error *err)
{
    struct rpc_result result = { .code = c->code, .message = STR_LIT(""), .words = c->served.words };

    if (is_late) {
        result.code = RPC_DEADLINE_EXCEEDED;
        result.words = "context deadline exceeded";
    } else if (c->is_cut) {
        result.code = RPC_UNAVAILABLE;
        result.words = "the connection was closed before an answer was received";
    } else if (c->forced_code != RPC_OK) {
        result.code = c->forced_code;
        result.words = "injected fault";
    }
    *err = (struct error){ 0 };
    result.err = err;
    result.is_own = is_late || c->is_cut;
    result.is_unsent = c->is_unsent;
    if (result.code == RPC_OK)
        result.message = buf_str(&c->served.answer);
    else
        result.r = rpc_failure(result.code, result.words, err);
    return result;
}

/* Reports the end to the loop of the owner, or wakes the worker that waits. */
static void call_end(struct machine_call *c)
{
    struct rpc_call *call = c->call;
    struct rpc_watch *watch = c->watch;
    struct sim_process *before;
    struct rpc_result result;
    struct error err;

    c->has_ended = true;
    if (c->worker) {
        worker_wake(c->worker);
        return;
    }
    before = sim_process_enter(c->owner);
    c->owner->has_work = true;
    if (watch) {
        sim_trace(c->machine->sim, "%s: watch %u ends", c->machine->name, c->serial);
        call_abandon(c);
        watch->client = NULL;
        watch->ended(watch, "the connection was closed");
        (void)sim_process_enter(before);
        return;
    }
    result = fill_result(c, c->limit_ns <= c->machine->sim->now_ns, &err);
    sim_trace(c->machine->sim, "%s: call %u ends: %d", c->machine->name, c->serial, (int)result.code);
    if (c->type && c->type->on_end)
        c->type->on_end(c->type_ctx, &c->served, result.code);
    call->client = NULL;
    call->done(call, &result);
    (void)sim_process_enter(before);
    call_abandon(c);
}

static bool has_answer(const struct machine_call *c)
{
    return c->end_ns <= c->machine->sim->now_ns && (c->is_cut || c->effect_ns == NEVER);
}

static bool has_effect(const struct machine_call *c)
{
    return c->effect_ns <= c->machine->sim->now_ns && c->peer && sim_process_is_live(c->peer->process);
}

static bool is_call_due(const struct machine_call *c)
{
    if (has_effect(c))
        return true;
    return !c->has_ended && c->owner && sim_process_is_live(c->owner) &&
           (has_answer(c) || c->limit_ns <= c->machine->sim->now_ns);
}

static struct machine_call *find_due_call(const struct sim *s, size_t *which)
{
    struct machine_call *c;

    for (unsigned i = 0; i < s->machines_count; i++)
        TAILQ_FOREACH(c, &s->machines[i]->calls, link)
            if (is_call_due(c) && (*which)-- == 0)
                return c;
    return NULL;
}

size_t calls_due(const struct sim *s)
{
    size_t which = SIZE_MAX;

    (void)find_due_call(s, &which);
    return SIZE_MAX - which;
}

void calls_deliver(struct sim *s, size_t which)
{
    struct machine_call *c = find_due_call(s, &which);

    if (has_effect(c))
        take_effect(c);
    else
        call_end(c);
}

uint64_t calls_next_ns(const struct sim *s)
{
    uint64_t next = NEVER;
    const struct machine_call *c;

    for (unsigned i = 0; i < s->machines_count; i++)
        TAILQ_FOREACH(c, &s->machines[i]->calls, link) {
            uint64_t times[] = { c->effect_ns, c->end_ns, c->limit_ns };

            for (size_t t = 0; t < ARRAY_LEN(times); t++)
                if (times[t] > s->now_ns && times[t] < next)
                    next = times[t];
        }
    return next;
}

/* --- rpc/rpc.h --- */

int machine_rpc_start(struct sys *k, struct rpc_client *client, const struct rpc_request *q,
                      struct rpc_call *c, struct error *err)
{
    assert(!c->on_message); /* streaming answers are not simulated */
    if (sim_process_current()->is_dying)
        return error_set(err, ERR_UNAVAILABLE, "the process is being killed");
    *c = (struct rpc_call){ .done = c->done, .client = client };
    call_new(machine_of(k), q)->call = c;
    return 0;
}

void machine_rpc_cancel(struct sys *k, struct rpc_call *call)
{
    struct machine_call *c;

    TAILQ_FOREACH(c, &machine_of(k)->calls, link)
        if (c->call == call)
            break;
    call->client = NULL;
    if (c)
        call_abandon(c);
}

int machine_rpc_watch(struct sys *k, struct rpc_client *client, const char *socket, struct rpc_watch *w,
                      struct error *err)
{
    struct machine *m = machine_of(k);
    struct machine_call *c;

    if (sim_process_current()->is_dying)
        return error_set(err, ERR_UNAVAILABLE, "the process is being killed");
    c = sim_alloc(sizeof *c);
    *c = (struct machine_call){ .machine = m,
                                .owner = sim_process_current(),
                                .watch = w,
                                .peer = find_peer(m, socket),
                                .serial = ++m->calls_made,
                                .is_cut = true,
                                .effect_ns = NEVER,
                                .end_ns = NEVER,
                                .limit_ns = NEVER };
    c->message = BUF_INIT(1);
    c->served.answer = BUF_INIT(1);
    if (!c->peer)
        c->end_ns = m->sim->now_ns + rng_below(&m->rng, NS_PER_MS);
    else if (rng_below(&m->rng, 100) < 10 && sim_has_fault(m->sim, &m->rng, FAULT_HOST, 100))
        c->end_ns = m->sim->now_ns + rng_below(&m->rng, 200 * NS_PER_S);
    TAILQ_INSERT_TAIL(&m->calls, c, link);
    w->client = client;
    return 0;
}

void machine_rpc_unwatch(struct sys *k, struct rpc_watch *w)
{
    struct machine_call *c;

    TAILQ_FOREACH(c, &machine_of(k)->calls, link)
        if (c->watch == w)
            break;
    w->client = NULL;
    if (c)
        call_abandon(c);
}

static int wait_for_call(struct machine_call *c, const atomic_int *stop, struct buf *ret, unsigned *ret_code,
                         struct error *err)
{
    struct rpc_result result;

    while (!c->has_ended)
        if (!worker_wait(c->machine->sim->now_ns + STOP_LOOK_NS) || (stop && atomic_load(stop) != 0)) {
            *ret_code = RPC_CANCELLED;
            return rpc_failure(RPC_CANCELLED, "context canceled", err);
        }
    result = fill_result(c, !has_answer(c), err);
    sim_trace(c->machine->sim, "%s: call %u ends: %d", c->machine->name, c->serial, (int)result.code);
    *ret_code = result.code;
    buf_clear(ret);
    ret->len_max = RPC_MESSAGE_BYTES_MAX;
    buf_add_str(ret, result.message);
    return result.r;
}

int machine_rpc_wait(struct sys *k, struct rpc_client *client, const struct rpc_request *q,
                     const atomic_int *stop, struct buf *ret, unsigned *ret_code, struct error *err)
{
    struct machine_call *c;
    int r;

    (void)client;
    *ret_code = RPC_UNAVAILABLE;
    if (sim_process_current()->is_dying)
        return rpc_failure(RPC_UNAVAILABLE, "the process is being killed", err);
    c = call_new(machine_of(k), q);
    c->worker = worker_here();
    r = wait_for_call(c, stop, ret, ret_code, err);
    call_abandon(c);
    return r;
}
