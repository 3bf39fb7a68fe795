/* For the tests of the binder: the whole API server, a client to it, the caches and the binder, in time that
 * is moved by hand. Between client and server sits a tap that counts the requests, lets one of them fail in a
 * chosen way, or kills the binder behind one.
 *
 * A test's body may be run again under a plan, in which the n-th request of every world fails: see
 * test_binder_replay.h. What a fault may change is asserted through the helpers below, which know of it. */
#ifndef BERTH_TESTS_TEST_BINDER_H
#define BERTH_TESTS_TEST_BINDER_H

#include "tests/unit/test_served.h"

#include "apiserver/local_client.h"
#include "client/request.h"
#include "client/target.h"
#include "controllers/binder/binder.h"
#include "plugins/registry.h"
#include "scheduler/scheduler.h"

enum tap_fault {
    TAP_NONE,
    TAP_REFUSE,   /* nobody listens */
    TAP_ERROR,    /* 500, nothing done */
    TAP_CONFLICT, /* 409, nothing done */
    TAP_LOSE,     /* done, and the answer lost */
    TAP_CRASH,    /* done, and nobody left to hear of it */
    TAP_GONE,     /* 404, nothing done */
    TAP_LATE,     /* done, and the answer comes with world_deliver_late() */
    TAP_FAULT_COUNT,
};

struct world;

/* What happens to every world of a body while it is played again. */
static struct plan {
    enum tap_fault fault;
    unsigned at; /* the how many-th request, counted from 1 */
    bool is_reached;
    /* Everything is at rest and the body has nothing more to say. NULL: no replay. */
    void (*on_end)(struct world *w);
} plan;

/* What a failure may cost in a replay: the request again, another look, a start. */
#define REPLAY_EXTRA_MAX 12

#define TAP_REFUSED_MAX 64
#define TAP_WATCHES_MAX 16

struct tap {
    struct client_carrier base;
    struct client_carrier *next;
    struct world *world;
    struct deferred failing;
    struct tap_refusal {
        struct client_attempt *attempt;
        enum tap_fault fault;
    } refused[TAP_REFUSED_MAX]; /* to be told, the first one first */
    unsigned refused_count;
    enum tap_fault lost_by; /* … whose answer was kept: */
    void (*on_end)(struct client_attempt *a, const struct client_answer *answer);
    struct client_attempt *late; /* its answer: */
    struct client_answer late_answer;
    struct client_attempt *watches[TAP_WATCHES_MAX]; /* open ones */
    void (*on_watch_end)(struct client_attempt *a, const struct client_answer *answer);
};

/* What the scripted plugin was asked to do. */
struct scripted {
    struct plugin_host host;
    unsigned checked;
    unsigned provisioned;
    unsigned removed;
    unsigned recycled;
    unsigned fails; /* so many calls to come */
    enum err fails_with;
    const char *says;
    bool is_slow;    /* works until scripted_finish() */
    bool is_guarded; /* serves nfs, and asks the guard for a directory /x of server s */
    struct scripted_work *slow;
};

struct world {
    struct served served;
    struct tap *tap;
    struct client *client;
    struct metrics *metrics; /* the binder's own */
    struct informers *informers;
    struct informer *volumes;
    struct binder *binder;
    struct binder_options options;
    struct server_version server;         /* what the binder takes it for */
    struct scheduler_options *scheduling; /* NULL: there is no scheduler */
    struct scheduler *scheduler;
    bool is_alone; /* the binder is not started: nobody finishes what the scheduler begins */
    uint64_t seed;
    /* Requests that were no watches; writes among them. */
    unsigned requests;
    unsigned writes;
    unsigned sent;     /* the same as requests, whatever is recounted */
    struct buf log;    /* "PATCH /path\n" of the writes, without events */
    unsigned fault_at; /* the how many-th request, counted from 1; 0: none */
    unsigned fault_to; /* and all up to this one; 0: it alone */
    enum tap_fault fault;
    const char *failing;    /* or whichever begins like this, "GET /api/v1/…" … */
    unsigned failing_count; /* … so many of them to come */
    bool is_blind;          /* of one kind the caches see the first list and nothing more */
    enum kind blind_to;
    bool is_crashing;
    bool is_deaf; /* lists and watches are held back until world_hear() */
    bool is_open; /* more than one end is right */
};

static struct world *tapped; /* one at a time: a plugin knows no world */
static struct scripted scripted;

/* --- The tap --- */

static inline void tap_answer(struct client_attempt *a, enum tap_fault f, bool is_write)
{
    static const struct status_info conflict = { .code = 409,
                                                 .reason = "Conflict",
                                                 .message = "tapped",
                                                 .continue_token = "",
                                                 .name = "",
                                                 .group = "",
                                                 .kind = "",
                                                 .uid = "" };
    struct client_answer answer = { .retry_after_seconds = -1 };

    if (f == TAP_CONFLICT) {
        answer.http_status = 409;
        answer.status = &conflict;
        answer.r = error_set(&answer.error, ERR_CONFLICT, "tapped");
    } else if (f == TAP_GONE) {
        answer.http_status = 404;
        answer.r = error_set(&answer.error, ERR_NOT_FOUND, "tapped");
    } else if (f == TAP_ERROR) {
        answer.http_status = 500;
        answer.r = error_set(&answer.error, ERR_INTERNAL, "tapped");
    } else {
        answer.r = error_set(&answer.error, ERR_UNAVAILABLE, "tapped");
        answer.was_connected = f == TAP_LOSE;
        answer.may_have_happened = f == TAP_LOSE && is_write;
    }
    a->on_end(a, &answer);
}

/* An attempt with this for its work is the tap's alone: nobody behind it has heard of it, or not any more. */
static char tap_keeps;

static inline void tap_fail(void *ctx)
{
    struct tap *t = ctx;
    struct tap_refusal x = t->refused[0];

    t->refused_count--;
    memmove(t->refused, t->refused + 1, t->refused_count * sizeof t->refused[0]);
    if (t->refused_count)
        loop_defer(&t->failing);
    tap_answer(x.attempt, x.fault, request_is_write(x.attempt->request));
}

static inline void tap_lose(struct client_attempt *a, const struct client_answer *answer)
{
    struct world *w = tapped;
    struct tap *t = w->tap;

    a->on_end = t->on_end;
    if (t->lost_by == TAP_LOSE) {
        tap_answer(a, TAP_LOSE, request_is_write(a->request));
        return;
    }
    a->work = &tap_keeps;
    if (t->lost_by == TAP_CRASH) {
        w->is_crashing = true; /* whoever waits is killed before it hears anything */
    } else {
        t->late = a;
        t->late_answer = *answer;
        t->late_answer.status = NULL;
        t->late_answer.object = object_ref(answer->object);
    }
}

static inline void tap_watch_ended(struct client_attempt *a, const struct client_answer *answer)
{
    struct tap *t = tapped->tap;

    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++)
        if (t->watches[i] == a)
            t->watches[i] = NULL;
    a->on_end = t->on_watch_end;
    a->on_end(a, answer);
}

static inline void tap_watch(struct tap *t, struct client_attempt *a)
{
    unsigned i = 0;

    for (; t->watches[i]; i++)
        assert_true(i + 1 < TAP_WATCHES_MAX);
    t->watches[i] = a;
    if (t->world->is_deaf) {
        a->work = &tap_keeps;
        return;
    }
    if (a->request->verb == CLIENT_WATCH) {
        t->on_watch_end = a->on_end;
        a->on_end = tap_watch_ended;
    } else {
        t->watches[i] = NULL;
    }
    t->next->type->start(t->next, a);
}

static inline bool tap_is_faulty(const struct world *w, bool is_write)
{
    unsigned to = w->fault_to ? w->fault_to : w->fault_at;

    if (w->fault == TAP_CONFLICT && !is_write)
        return false;
    return w->fault != TAP_NONE && w->requests >= w->fault_at && w->requests <= to;
}

static inline bool tap_is_failing(struct world *w, const struct client_request *q)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(4096);

    if (w->fault == TAP_NONE)
        return false;
    if (!w->failing)
        return tap_is_faulty(w, request_is_write(q));
    buf_addf(&line, "%s ", target_method(q));
    target_write(q, &line);
    if (w->failing_count == 0 || strncmp(buf_cstr(&line), w->failing, strlen(w->failing)) != 0)
        return false;
    w->failing_count--;
    return true;
}

/* A conflict needs somebody who wrote: a request that reads is spared. */
static inline enum tap_fault tap_fault_of(struct world *w, const struct client_request *q)
{
    if (tap_is_failing(w, q))
        return w->fault;
    if (plan.fault == TAP_NONE || w->sent != plan.at)
        return TAP_NONE;
    plan.is_reached = true;
    return plan.fault == TAP_CONFLICT && !request_is_write(q) ? TAP_NONE : plan.fault;
}

static inline bool tap_is_blind(const struct world *w, const struct client_request *q)
{
    return w->is_blind && q->verb == CLIENT_WATCH && q->kind && q->kind->kind == w->blind_to;
}

static inline void tap_start(struct client_carrier *c, struct client_attempt *a)
{
    struct tap *t = (void *)c;
    struct world *w = t->world;
    const struct kind_info *kind = a->request->kind;
    bool is_event = kind && (kind->kind == KIND_EVENT || kind->kind == KIND_EVENT_V1);
    enum tap_fault fault;

    if (w->is_crashing || tap_is_blind(w, a->request)) {
        a->work = &tap_keeps; /* and never an answer */
        return;
    }
    if (a->request->verb == CLIENT_WATCH || a->request->verb == CLIENT_LIST) {
        tap_watch(t, a);
        return;
    }
    if (is_event) {
        t->next->type->start(t->next, a);
        return;
    }
    w->requests++;
    w->sent++;
    if (request_is_write(a->request)) {
        w->writes++;
        buf_addf(&w->log, "%s ", target_method(a->request));
        target_write(a->request, &w->log);
        buf_add_char(&w->log, '\n');
    }
    fault = tap_fault_of(w, a->request);
    if (fault == TAP_NONE) {
        t->next->type->start(t->next, a);
    } else if (fault == TAP_LOSE || fault == TAP_CRASH || fault == TAP_LATE) {
        t->lost_by = fault;
        t->on_end = a->on_end;
        a->on_end = tap_lose;
        t->next->type->start(t->next, a);
    } else {
        a->work = &tap_keeps;
        assert_true(t->refused_count < TAP_REFUSED_MAX);
        t->refused[t->refused_count++] = (struct tap_refusal){ a, fault };
        loop_defer(&t->failing);
    }
}

static inline void tap_forget(struct tap *t, const struct client_attempt *a)
{
    for (unsigned i = 0; i < t->refused_count; i++)
        if (t->refused[i].attempt == a) {
            t->refused_count--;
            memmove(&t->refused[i], &t->refused[i + 1], (t->refused_count - i) * sizeof t->refused[0]);
        }
    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++)
        if (t->watches[i] == a)
            t->watches[i] = NULL;
    if (t->late == a) {
        t->late = NULL;
        (void)object_unref(t->late_answer.object);
    }
    if (t->refused_count == 0)
        loop_undefer(&t->failing);
}

static inline void tap_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct tap *t = (void *)c;

    tap_forget(t, a);
    if (a->work != &tap_keeps)
        t->next->type->cancel(t->next, a);
}

static inline void tap_free(struct client_carrier *c)
{
    struct tap *t = (void *)c;

    loop_undefer(&t->failing);
    t->next->type->free(t->next);
    free(t);
}

static const struct client_carrier_type tap_type = { tap_start, tap_cancel, tap_free };

/* --- The scripted plugin: serves hostPath volumes --- */

static inline bool scripted_supports(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == (scripted.is_guarded ? SOURCE_NFS : SOURCE_HOST_PATH);
}

struct scripted_work {
    struct deferred later;
    struct plugin_op *op;
};

static inline void scripted_drop(struct plugin_op *op)
{
    struct scripted_work *x = op->work;

    loop_undefer(&x->later);
    if (scripted.slow == x)
        scripted.slow = NULL;
    free(x);
    op->work = NULL;
    op->drop = NULL;
}

static inline void scripted_done(void *ctx)
{
    struct scripted_work *x = ctx;
    struct plugin_op *op = x->op;
    struct error e = { 0 };
    int r = 0;

    scripted_drop(op);
    if (scripted.fails) {
        scripted.fails--;
        r = error_set(&e, scripted.fails_with, "%s", scripted.says);
    }
    op->done(op, r, &e);
}

static inline void scripted_begin(const struct plugin_host *h, struct plugin_op *op)
{
    struct scripted_work *x = calloc(1, sizeof *x);

    assert_non_null(x);
    x->op = op;
    op->work = x;
    op->drop = scripted_drop;
    deferred_init(&x->later, h->loop, scripted_done, x);
    if (scripted.is_slow)
        scripted.slow = x;
    else
        loop_defer(&x->later);
}

static inline void scripted_finish(void)
{
    assert_non_null(scripted.slow);
    loop_defer(&scripted.slow->later);
}

static inline int scripted_check(const struct plugin_host *h, const struct provision_request *q,
                                 struct error *e)
{
    (void)q;
    scripted.checked++;
    return h->provisions_host_path ? 0 : error_set(e, ERR_DENIED, "no provisioning here");
}

static inline void scripted_provision(const struct plugin_host *h, const struct provision_request *q,
                                      struct plugin_op *op)
{
    scripted.provisioned++;
    buf_add_cstr(&op->volume, "{\"metadata\":{\"annotations\":{\"made\":\"yes\"}},\"spec\":{\"accessModes\":["
                              "\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"");
    quantity_format(&q->claim->request, &op->volume);
    buf_add_cstr(&op->volume, "\"},\"hostPath\":{\"path\":\"/tmp/x\"}}}");
    scripted_begin(h, op);
}

static inline void scripted_ask_guard(const struct plugin_op *op)
{
    static char says[ERROR_MSG_BYTES_MAX];
    struct error e = { 0 };

    assert_non_null(op->guard); /* no storage is touched without one */
    if (!scripted.is_guarded || host_guard_check_export(op->guard, "s", "/x", &e) == 0)
        return;
    (void)snprintf(says, sizeof says, "%s", e.msg);
    scripted.fails = 1;
    scripted.fails_with = e.code;
    scripted.says = says;
}

static inline void scripted_remove(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    (void)v;
    scripted_ask_guard(op);
    scripted.removed++;
    scripted_begin(h, op);
}

static inline void scripted_recycle(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    (void)v;
    scripted_ask_guard(op);
    scripted.recycled++;
    scripted_begin(h, op);
}

static const struct provision_table scripted_provisions = { scripted_check, scripted_provision };
static const struct delete_table scripted_deletes = { scripted_remove };
static const struct recycle_table scripted_recycles = { scripted_recycle };
static const struct volume_plugin scripted_plugin = { .name = "kubernetes.io/host-path",
                                                      .can_support = scripted_supports,
                                                      .provision = &scripted_provisions,
                                                      .remove = &scripted_deletes,
                                                      .recycle = &scripted_recycles };
static const struct volume_plugin *const scripted_plugins[] = { &scripted_plugin, NULL };

/* --- Life --- */

/* The binder's process begins; it does nothing before world_start(). */
static inline void world_boot(struct world *w)
{
    struct client_options co = { .loop = w->served.loop };
    struct informer_options io = { 0 };
    struct tap *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->base.type = &tap_type;
    t->world = w;
    deferred_init(&t->failing, w->served.loop, tap_fail, t);
    ASSERT_OK(local_client_new(w->served.server, NULL, &t->next, &err));
    w->tap = t;
    co.carrier = &t->base;
    ASSERT_OK(client_new(&co, &w->client, &err));
    w->metrics = metrics_new((struct hash_seed){ 3, 4 });
    assert_non_null(w->metrics);
    io = (struct informer_options){ .loop = w->served.loop, .client = w->client, .seed = ++w->seed };
    ASSERT_OK(informers_new(&io, &w->informers, &err));
    w->volumes = informers_get(w->informers, KIND_VOLUME, &err);
    assert_non_null(w->volumes);
    w->options.part = (struct part_options){ .loop = w->served.loop,
                                             .clock = &w->served.clock.clock,
                                             .client = w->client,
                                             .informers = w->informers,
                                             .metrics = w->metrics,
                                             .seed = w->seed,
                                             .server = w->server };
    ASSERT_OK(binder_new(&w->options, &w->binder, &err));
    if (w->scheduling) {
        w->scheduling->part = w->options.part;
        ASSERT_OK(scheduler_new(w->scheduling, &w->scheduler, &err));
    }
}

static inline void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    memset(&scripted, 0, sizeof scripted);
    tapped = w;
    served_init(&w->served);
    w->log = BUF_INIT((size_t)1 << 20);
    w->options.host = (struct plugin_host){ .loop = w->served.loop, .provisions_host_path = true };
    w->options.plugins = scripted_plugins;
    w->server = server_version_own();
}

static inline void world_kill(struct world *w)
{
    w->scheduler = scheduler_free(w->scheduler);
    w->binder = binder_free(w->binder);
    w->informers = informers_free(w->informers);
    w->client = client_free(w->client);
    w->metrics = metrics_free(w->metrics);
    w->tap = NULL;
}

static inline void world_done(struct world *w)
{
    if (plan.on_end && w->binder)
        plan.on_end(w);
    world_kill(w);
    buf_done(&w->log);
    served_done(&w->served);
}

/* From here on it works. */
static inline void world_start(struct world *w)
{
    unsigned turns = 0;

    world_boot(w);
    informers_start(w->informers);
    while (!informers_are_synced(w->informers)) {
        (void)loop_poll(w->served.loop);
        assert_true(++turns < 10000);
    }
    if (!w->is_alone)
        binder_start(w->binder);
    if (w->scheduler)
        scheduler_start(w->scheduler);
}

/* Nothing moves any more without time passing; killed binders are started again. */
static inline void world_rest(struct world *w)
{
    unsigned turns = 0;

    while (loop_poll(w->served.loop) || w->is_crashing) {
        if (w->is_crashing) {
            w->is_crashing = false;
            w->fault = TAP_NONE;
            world_kill(w);
            world_start(w);
        }
        if (++turns > 200000)
            fail_msg("the binder does not come to rest\n%s", buf_cstr(&w->log));
    }
}

/* The same, and delays that end within so many seconds have passed. */
static inline void world_settle_for(struct world *w, uint64_t seconds)
{
    uint64_t until = w->served.clock.mono_ns + seconds * NS_PER_S, next;

    world_rest(w);
    while (loop_next_timer_ns(w->served.loop, &next) && next <= until) {
        if (next > w->served.clock.mono_ns)
            manual_clock_advance(&w->served.clock, next - w->served.clock.mono_ns);
        world_rest(w);
    }
}

static inline void world_settle(struct world *w)
{
    world_settle_for(w, 60);
}

/* What needs no time has happened. A request that fails needs some. */
static inline void world_still(struct world *w)
{
    if (plan.fault != TAP_NONE)
        world_settle(w);
    else
        world_rest(w);
}

/* The answer that was kept back. */
static inline void world_deliver_late(struct world *w)
{
    struct client_attempt *a = TAKE(w->tap->late);
    struct object *o = w->tap->late_answer.object;

    assert_non_null(a);
    a->on_end(a, &w->tap->late_answer);
    (void)object_unref(o);
}

/* The watches break, and nothing is heard of what happens meanwhile. */
static inline void world_deafen(struct world *w)
{
    struct tap *t = w->tap;

    w->is_deaf = true;
    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++) {
        struct client_attempt *a = TAKE(t->watches[i]);

        if (!a)
            continue;
        t->next->type->cancel(t->next, a);
        a->on_end = t->on_watch_end;
        tap_answer(a, TAP_LOSE, false);
    }
}

/* It is too late for the watches to go on where they were: what was missed shows in the next list. */
static inline void world_hear(struct world *w)
{
    static const struct status_info gone = { .code = 410,
                                             .reason = "Expired",
                                             .message = "tapped",
                                             .continue_token = "",
                                             .name = "",
                                             .group = "",
                                             .kind = "",
                                             .uid = "" };
    struct client_answer answer = { .retry_after_seconds = -1, .http_status = 410, .status = &gone };
    struct tap *t = w->tap;

    w->is_deaf = false;
    answer.r = error_set(&answer.error, ERR_GONE, "tapped");
    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++) {
        struct client_attempt *a = TAKE(t->watches[i]);

        if (a && a->request->verb == CLIENT_WATCH)
            a->on_end(a, &answer);
        else if (a)
            tap_start(&t->base, a);
    }
}

/* --- Objects --- */

#define HOST_PATH "'hostPath':{'path':'/x'}"

/* A volume; extra: further members of the spec, with a comma in front ("" for none). */
static inline void add_volume(struct world *w, const char *name, const char *size, const char *modes,
                              const char *extra)
{
    char body[2048];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'%s'},'accessModes':[%s]," HOST_PATH "%s}}",
        name, size, modes, extra);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
}

static inline void add_claim(struct world *w, const char *name, const char *size, const char *modes,
                             const char *extra)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                   "'accessModes':[%s],'resources':{'requests':{'storage':'%s'}}%s}}",
                   name, modes, size, extra);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
}

#define RWO "'ReadWriteOnce'"
#define NO_VOLUMES "no persistent volumes available for this claim and no storage class is set"

static inline void patch_volume(struct world *w, const char *name, const char *sub, const char *body)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s%s%s", name, sub[0] ? "/" : "", sub);
    ASSERT_SENT(&w->served, 200, "MERGE", path, body);
}

static inline void patch_claim(struct world *w, const char *name, const char *sub, const char *body)
{
    char path[512];

    (void)snprintf(path, sizeof path, CLAIMS "/%s%s%s", name, sub[0] ? "/" : "", sub);
    ASSERT_SENT(&w->served, 200, "MERGE", path, body);
}

static inline void set_phase(struct world *w, const char *volume, const char *phase)
{
    char body[128];

    (void)snprintf(body, sizeof body, "{'status':{'phase':'%s'}}", phase);
    patch_volume(w, volume, "status", body);
}

/* What the server has of it, for ASSERT_GOT(). */
static inline void look_at_volume(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
}

static inline void look_at_claim(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, CLAIMS "/%s", name);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
}

/* The uid of the object that was looked at last. */
static inline void uid_of_last(struct world *w, char to[static 64])
{
    (void)snprintf(to, 64, "%s", got(&w->served, "metadata/uid"));
}

#define ASSERT_VOLUME(w, name, expected, path)    \
    do {                                          \
        look_at_volume(w, name);                  \
        ASSERT_GOT(&(w)->served, expected, path); \
    } while (0)
#define ASSERT_CLAIM(w, name, expected, path)     \
    do {                                          \
        look_at_claim(w, name);                   \
        ASSERT_GOT(&(w)->served, expected, path); \
    } while (0)

/* An annotation of the object that was looked at last; "-" when it has none of that name. */
static inline const char *annotation(const struct world *w, const char *key)
{
    json_ref metadata = json_get(&w->served.doc, w->served.root, "metadata");
    json_ref v = json_get(&w->served.doc, json_get(&w->served.doc, metadata, "annotations"), key);
    static char text[512];

    if (!v)
        return "-";
    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(json_text(&w->served.doc, v)));
    return text;
}

/* A pair that is bound in every respect. */
static inline void assert_bound(struct world *w, const char *claim, const char *volume)
{
    char uid[64];

    look_at_claim(w, claim);
    uid_of_last(w, uid);
    ASSERT_GOT(&w->served, volume, "spec/volumeName");
    ASSERT_GOT(&w->served, "Bound", "status/phase");
    assert_string_equal(annotation(w, ANN_BIND_COMPLETED), "yes");
    look_at_volume(w, volume);
    ASSERT_GOT(&w->served, "Bound", "status/phase");
    ASSERT_GOT(&w->served, uid, "spec/claimRef/uid");
    ASSERT_GOT(&w->served, claim, "spec/claimRef/name");
}

/* --- What a fault may change --- */

/* Nobody wrote, or so many times. A fault adds requests, but none where there was nothing to do; that they
 * do not become too many is seen at the end of the replay. */
static inline void assert_writes(const struct world *w, unsigned expected)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, w->writes);
}

static inline void assert_requests(const struct world *w, unsigned expected)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, w->requests);
}

/* A bound where the number does not matter; a failure costs a few more. */
static inline void assert_requests_below(const struct world *w, unsigned limit)
{
    assert_true(w->requests < limit + (plan.fault == TAP_NONE ? 0 : REPLAY_EXTRA_MAX));
}

/* An operation was done so many times. One that failed, or whose process was killed, is done again; one that
 * must not be done is not done on account of a fault either. */
static inline void assert_done(unsigned expected, unsigned times)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, times);
    else
        assert_true(times >= expected);
}

/* Something was told so many times. Who does not hear of the change that it made cannot tell of it, and
 * another process may tell again. */
static inline void assert_times(unsigned expected, unsigned times)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, times);
    else if (plan.fault != TAP_LOSE && plan.fault != TAP_CRASH)
        assert_true(times >= 1);
}

/* Metrics count tries, and begin anew with each process. */
static inline void assert_number(double expected, double number)
{
    if (plan.fault == TAP_NONE)
        ASSERT_INT((int)expected, (int)number);
}

/* An event that tells of the fault itself is true and told nowhere else. */
static inline bool is_told_of_fault(const char *message)
{
    return plan.fault != TAP_NONE && strstr(message, "tapped");
}

/* How many events of that reason the object has; message NULL: whatever they say. */
static inline unsigned count_events(struct world *w, const char *object, const char *reason,
                                    const char *message)
{
    unsigned count = 0;
    char path[128];

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++) {
        (void)snprintf(path, sizeof path, "items/%zu/involvedObject/name", i);
        if (strcmp(got(&w->served, path), object) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/reason", i);
        if (strcmp(got(&w->served, path), reason) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/message", i);
        if (!is_told_of_fault(got(&w->served, path)))
            count += !message || strcmp(got(&w->served, path), message) == 0;
    }
    return count;
}

#endif
