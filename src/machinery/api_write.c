/* Implementation of API writes: one loop of [read] → decide → send → (read and retry | end) for all of them.
 *
 * A try is a write that was sent; reads do not count as tries. done() gets the answer to the write, or to the
 * read that settled it; an uncertain outcome that no read has resolved is reported as API_UNCERTAIN.
 *
 * The client's map has the current writer of each object, by uid. Other writes of the same object wait in the
 * queue of that writer. Costs: one map lookup and one allocation per write. */
#include "machinery/api_write.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mutant.h"
#include "base/reach.h"
#include "client/client_request.h"
#include "machinery/informer.h"
#include "machinery/metrics.h"

/* The start of every patch, as merge_patch_begin() writes it. */
#define PRECONDITION "{\"metadata\":{\"uid\":\""
#define VERSION_BYTES 64

static const struct {
    unsigned tries_max;
    uint64_t delay_ns;
    uint64_t factor; /* multiplies the delay after each try */
    unsigned jitter_percent;
} patience_table[] = {
    [API_ONCE] = { 1, 0, 1, 0 },
    [API_FEW_FAST] = { 5, 10 * NS_PER_MS, 1, 10 },
    [API_BACKOFF] = { 4, 10 * NS_PER_MS, 5, 0 },
};
static_assert(ARRAY_LEN(patience_table) == API_PATIENCE_COUNT, "say how for each");

const char *const api_step_names[] = {
    [API_STEP_OTHER] = "other",
    [API_STEP_ATTACHMENT] = "attachment",
    [API_STEP_CAPACITY] = "capacity",
    [API_STEP_CLAIM_CLASS] = "claim-class",
    [API_STEP_CLAIM_REF] = "claim-ref",
    [API_STEP_CLAIM_STATUS] = "claim-status",
    [API_STEP_CLAIM_VOLUME] = "claim-volume",
    [API_STEP_CONDITION] = "condition",
    [API_STEP_CSI_NODE] = "csi-node",
    [API_STEP_DISK] = "disk",
    [API_STEP_FINALIZER] = "finalizer",
    [API_STEP_LEASE] = "lease",
    [API_STEP_MIGRATE] = "migrate",
    [API_STEP_NODE] = "node",
    [API_STEP_NODE_STATUS] = "node-status",
    [API_STEP_PROVISIONER] = "provisioner",
    [API_STEP_RESIZE] = "resize",
    [API_STEP_SELECTED_NODE] = "selected-node",
    [API_STEP_SNAPSHOT] = "snapshot",
    [API_STEP_TAINT] = "taint",
    [API_STEP_UNBIND] = "unbind",
    [API_STEP_VOLUME_STATUS] = "volume-status",
};
static_assert(ARRAY_LEN(api_step_names) == API_STEP_COUNT, "name every step");

static const char *const cause_names[] = {
    [API_CAUSE_CONFLICT] = "conflict",
    [API_CAUSE_UNCERTAIN] = "uncertain",
    [API_CAUSE_LATE] = "late",
};
static_assert(ARRAY_LEN(cause_names) == API_CAUSE_COUNT, "name every cause");

/* A write in flight. */
struct api_flight {
    struct api_write *owner;
    struct api_write_options o;
    struct object *object; /* what the write is based on; NULL: nothing yet */
    struct arena arena;    /* texts of a request by name, and o.body of a write that waits for another one */
    struct client_call call;
    /* the answer to a write that is followed by a read, or the answer to report next; NULL: none */
    struct client_answer *kept;
    enum api_outcome outcome; /* to report next */
    TAILQ_HEAD(, api_flight) waiters;
    TAILQ_ENTRY(api_flight) link; /* among the waiters of: */
    struct api_flight *waits_for;
    unsigned tries; /* writes sent */
    enum err failed;
    bool is_starting;   /* inside api_write_start(): done() is not called yet */
    bool is_locked;     /* this is the current writer of the object */
    bool was_late;      /* another write of the object was in flight when this one started */
    bool wants_read;    /* a read is needed before the next write */
    bool is_uncertain;  /* the last try may have taken effect */
    bool was_uncertain; /* an earlier try was uncertain: no retry against a server that keeps failing */
};

static void on_written(void *ctx, const struct client_answer *a);
static void on_read(void *ctx, const struct client_answer *a);

/* --- Counts --- */

int api_count(struct api *a, struct metrics *m, struct error *err)
{
    static const char *const conflict_labels[] = { "object", "step", NULL };
    static const struct metric_desc conflicts = { .name = "berth_write_conflicts_total",
                                                  .help = "Writes refused because the object had changed.",
                                                  .type = METRIC_COUNTER,
                                                  .labels = conflict_labels };
    static const char *const retry_labels[] = { "writer", "step", "cause", NULL };
    static const struct metric_desc retries = { .name = "berth_write_retries_total",
                                                .help =
                                                    "Writes that were recomputed and sent again, by cause.",
                                                .type = METRIC_COUNTER,
                                                .labels = retry_labels };
    int r = metrics_share_family(m, &conflicts, &a->conflicts, err);

    return r < 0 ? r : metrics_share_family(m, &retries, &a->retries, err);
}

static void count_retry(const struct api_flight *w, enum api_cause cause)
{
    const struct api *api = &w->o.api;

    if (api->retries)
        metric_add(metric_of(api->retries, api->manager ? api->manager : "", api_step_names[w->o.step],
                             cause_names[cause]),
                   1);
}

/* --- One write per object at a time --- */

static struct str uid_of(const struct api_flight *w)
{
    return str_of(w->object ? w->object->uid : w->o.request.if_uid);
}

/* False: another write of the object is in flight; its end starts this one. */
static bool write_lock(struct api_flight *w)
{
    struct map *writers = client_writers(w->o.api.client);
    struct api_flight *other;

    assert(!w->waits_for);
    if (w->o.request.verb == CLIENT_CREATE || w->is_locked)
        return true;
    other = map_get(writers, uid_of(w));
    if (other) {
        TAILQ_INSERT_TAIL(&other->waiters, w, link);
        w->waits_for = other;
        return false;
    }
    /* without memory the server detects conflicts instead */
    w->is_locked = map_put(writers, uid_of(w), w, NULL) == 0;
    return true;
}

static void write_unlock(struct api_flight *w)
{
    struct api_flight *next;

    if (w->waits_for)
        TAILQ_REMOVE(&w->waits_for->waiters, w, link);
    w->waits_for = NULL;
    if (!w->is_locked)
        return;
    w->is_locked = false;
    (void)map_remove(client_writers(w->o.api.client), uid_of(w));
    while ((next = TAILQ_FIRST(&w->waiters))) {
        TAILQ_REMOVE(&w->waiters, next, link);
        next->waits_for = NULL;
        next->was_late = true;
        if (!MUTANT("binder-forgets-waiters"))
            timer_arm_after(&next->owner->timer, 0);
    }
}

bool api_is_writing(const struct api *api, const struct object *o)
{
    return map_get(client_writers(api->client), str_of(o->uid)) != NULL;
}

/* --- The end --- */

static void write_release(struct api_flight *w)
{
    write_unlock(w);
    client_cancel(&w->call);
    timer_disarm(&w->owner->timer);
    arena_done(&w->arena);
    (void)object_unref(w->object);
    free(w->kept);
    w->owner->flight = NULL;
    w->owner->done = NULL;
    free(w);
}

/* Keeps a result of decide_body() that is known inside api_write_start(), to report it from the loop. */
static void write_keep_end(struct api_flight *w, enum api_outcome outcome, const struct client_answer *a)
{
    write_unlock(w);
    w->outcome = outcome;
    w->kept = malloc(sizeof *w->kept);
    if (w->kept)
        *w->kept = *a;
    else
        w->failed = ERR_NO_MEMORY;
    timer_arm_after(&w->owner->timer, 0);
}

/* The owner may have been freed when this returns. */
static void write_end(struct api_flight *w, enum api_outcome outcome, const struct client_answer *a)
{
    api_done_fn *done = w->owner->done;
    void *ctx = w->owner->ctx;

    if (w->is_starting) {
        write_keep_end(w, outcome, a);
        return;
    }
    write_release(w);
    reach_move(REACH_WRITE_OUTCOME, API_OUTCOME_COUNT, outcome, outcome);
    done(ctx, outcome, a);
}

/* Reports a failed answer, as uncertain if an earlier try may have taken effect. */
static void write_refuse(struct api_flight *w, const struct client_answer *a)
{
    struct client_answer uncertain;

    if (!w->is_uncertain) {
        write_end(w, API_REFUSED, a);
        return;
    }
    uncertain = *a;
    uncertain.may_have_happened = true;
    write_end(w, API_UNCERTAIN, &uncertain);
}

static void write_fail(struct api_flight *w, const struct error *e)
{
    struct client_answer a = request_failed(e);

    write_refuse(w, &a);
}

/* Nothing had to be written, or nothing more. */
static void write_succeed(struct api_flight *w, const struct object *now)
{
    static const struct error none;
    struct client_answer a = request_failed(&none);

    a.object = now ? object_ref(now) : NULL;
    write_end(w, API_ALREADY, &a);
    object_unref(a.object);
}

/* --- One round --- */

static void send_read(struct api_flight *w)
{
    const struct client_request *q = &w->o.request;
    /* Without a version the server answers from its store, not from its cache. */
    struct client_request get = { .verb = CLIENT_GET,
                                  .kind = q->kind,
                                  .ns = q->ns,
                                  .name = q->name,
                                  .deadline_ns = q->deadline_ns,
                                  .is_urgent = q->is_urgent };

    client_send(w->o.api.client, &w->call, &get, on_read, w);
}

static void send_body(struct api_flight *w, struct str body)
{
    struct client_request q = w->o.request;
    char version[VERSION_BYTES];

    if (!write_lock(w)) {
        if (w->o.is_any_version && w->o.body.len == 0) {
            w->o.body = (struct str){ arena_dup(&w->arena, body), body.len };
            w->failed = w->arena.failed;
        }
        return;
    }
    assert(q.verb != CLIENT_PATCH || str_has_prefix(body, PRECONDITION) ||
           MUTANT("binder-writes-without-version") || MUTANT("attach-reports-on-any-version"));
    q.body = body;
    if (q.verb != CLIENT_DELETE)
        q.field_manager = w->o.api.manager;
    else if (w->object)
        q.if_uid = w->object->uid;
    if (w->o.is_exact) {
        (void)snprintf(version, sizeof version, "%.*s", STR_ARG(object_version(w->object)));
        q.if_version = version;
    }
    w->tries++;
    client_send(w->o.api.client, &w->call, &q, on_written, w);
}

static void decide_body(struct api_flight *w, const struct object *now)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct error e;

    error_init(&e, ERR_INTERNAL);
    switch (w->o.decide((void *)(uintptr_t)w->o.decide_ctx, now, &body, &e)) {
    case API_SEND:
        if (buf_check(&body, "body", &e) < 0)
            write_fail(w, &e);
        else
            send_body(w, buf_str(&body));
        break;
    case API_AS_IT_IS:
        write_succeed(w, now);
        break;
    case API_REFUSE:
        write_fail(w, &e);
        break;
    }
}

/* True if the object to delete is gone or being deleted. With grace period 0 it must be gone. */
static bool is_deleted(const struct api_flight *w, const struct object *now)
{
    return !now || (now->is_deleting && !w->o.request.has_grace) || !str_is(uid_of(w), now->uid);
}

/* --- After a conflict or an uncertain write --- */

static void on_read_after_failure(struct api_flight *w, const struct client_answer *a)
{
    struct client_answer *failure = TAKE(w->kept);
    enum api_outcome outcome = w->is_uncertain ? API_UNCERTAIN : API_CONFLICT;

    failure->object = a->object;
    if (a->r == -ERR_NOT_FOUND && (w->o.request.verb == CLIENT_PATCH || w->o.request.subresource))
        write_end(w, API_REFUSED, a); /* the object is gone: there is nothing left to change */
    else if ((a->r == 0 || a->r == -ERR_NOT_FOUND) && w->o.request.verb == CLIENT_DELETE &&
             is_deleted(w, a->object))
        write_succeed(w, a->object);
    else
        write_end(w, outcome, failure);
    free(failure);
}

/* Reads the object, so that the owner decides on the current version. */
static void read_after_failure(struct api_flight *w, const struct client_answer *a)
{
    w->kept = malloc(sizeof *w->kept);
    if (!w->kept) {
        write_end(w, w->is_uncertain ? API_UNCERTAIN : API_CONFLICT, a);
        return;
    }
    *w->kept = *a;
    w->kept->status = NULL; /* borrowed from the call */
    w->kept->object = NULL;
    send_read(w);
}

static void on_read(void *ctx, const struct client_answer *a)
{
    struct api_flight *w = ctx;
    bool is_patch = w->o.request.verb == CLIENT_PATCH;
    struct object *before;

    assert(a->r < 0 || a->object);
    if (a->r == 0 && w->o.informer)
        informer_observe(w->o.informer, a->object);
    if (w->kept) {
        on_read_after_failure(w, a);
        return;
    }
    if (a->r < 0 && a->r != -ERR_NOT_FOUND) {
        write_refuse(w, a);
        return;
    }
    w->is_uncertain = false;
    w->wants_read = false;
    if (a->r < 0 && is_patch) {
        write_end(w, API_REFUSED, a);
    } else if (w->o.request.verb != CLIENT_DELETE) {
        before = w->object;
        w->object = a->object ? object_ref(a->object) : NULL;
        (void)object_unref(before);
        decide_body(w, w->object);
    } else if (is_deleted(w, a->object)) {
        write_succeed(w, NULL);
    } else {
        send_body(w, (struct str){ 0 });
    }
}

/* --- After a write --- */

/* True if another round may do better than reporting this answer. */
static bool wants_another_round(const struct api_flight *w, const struct client_answer *a)
{
    if (a->r == 0 || w->tries >= patience_table[w->o.patience].tries_max)
        return false;
    if (a->may_have_happened)
        return !w->was_uncertain;
    if (w->o.request.verb == CLIENT_CREATE)
        return a->r == -ERR_EXISTS;
    /* After a conflict the owner has to decide again whether to delete the object. */
    return client_is_conflict(a) && !w->o.is_exact && !w->o.request.if_version;
}

static uint64_t next_delay_ns(struct api_flight *w)
{
    uint64_t delay_ns = patience_table[w->o.patience].delay_ns;
    uint64_t spread_ns = delay_ns * patience_table[w->o.patience].jitter_percent / 100;

    for (unsigned n = 1; n < w->tries; n++)
        delay_ns *= patience_table[w->o.patience].factor;
    return delay_ns - spread_ns + (spread_ns ? rng_below(w->o.api.rng, 2 * spread_ns + 1) : 0);
}

static void count_failure(const struct api_flight *w, const struct client_answer *a, bool goes_on)
{
    if (w->o.api.conflicts && client_is_conflict(a))
        metric_add(metric_of(w->o.api.conflicts, w->o.request.kind->plural, api_step_names[w->o.step]), 1);
    if (a->may_have_happened)
        count_retry(w, API_CAUSE_UNCERTAIN);
    else if (client_is_conflict(a) || goes_on)
        count_retry(w, API_CAUSE_CONFLICT);
}

/* The end of the last try. For a binding, which is a create too, the conflicting object is the pod. */
static void on_last_written(struct api_flight *w, const struct client_answer *a)
{
    enum client_verb verb = w->o.request.verb;

    w->is_uncertain = a->may_have_happened;
    if (a->r == 0)
        write_end(w, API_DONE, a);
    else if (verb == CLIENT_DELETE && a->r == -ERR_NOT_FOUND)
        write_succeed(w, NULL);
    else if (w->o.request.wants_text)
        write_end(w, w->is_uncertain ? API_UNCERTAIN : API_REFUSED, a);
    else if (w->is_uncertain || (client_is_conflict(a) && (w->o.patience == API_ONCE || w->o.informer)))
        read_after_failure(w, a);
    else
        write_end(w, client_is_conflict(a) ? API_CONFLICT : API_REFUSED, a);
}

static void on_written(void *ctx, const struct client_answer *a)
{
    struct api_flight *w = ctx;
    bool goes_on = wants_another_round(w, a);

    /* Only a deleted object that remains for a while (finalizers) is reported to the informer. */
    if (a->r == 0 && a->object && w->o.informer &&
        (w->o.request.verb != CLIENT_DELETE || (a->object->is_deleting && a->object->finalizers.count > 0)))
        informer_observe(w->o.informer, a->object);
    if (a->r < 0)
        count_failure(w, a, goes_on);
    if (!goes_on) {
        on_last_written(w, a);
        return;
    }
    if (a->may_have_happened)
        w->is_uncertain = w->was_uncertain = true;
    w->wants_read = true;
    write_unlock(w);
    timer_arm_after(&w->owner->timer, next_delay_ns(w));
}

/* A get or a list. */
static void on_got(void *ctx, const struct client_answer *a)
{
    struct api_flight *w = ctx;

    if (a->r == 0 && a->object && w->o.informer)
        informer_observe(w->o.informer, a->object);
    write_end(w, a->r < 0 ? API_REFUSED : API_DONE, a);
}

/* --- Interface --- */

/* The write that went first has put its result into the cache. */
static void on_late(struct api_flight *w)
{
    const struct object *now =
        w->o.informer ? informer_get(w->o.informer, w->object->ns, w->object->name) : NULL;
    struct client_answer a;
    struct error e;

    count_retry(w, API_CAUSE_LATE);
    (void)error_set(&e, ERR_CONFLICT, API_LATE_MESSAGE);
    a = request_failed(&e);
    a.object = now ? object_ref(now) : NULL;
    write_end(w, API_CONFLICT, &a);
    (void)object_unref(a.object);
}

/* Reports what decide_body() returned at the start. */
static void on_kept(struct api_flight *w)
{
    _cleanup_(object_unref_p) struct object *now = w->object ? object_ref(w->object) : NULL;
    struct client_answer *kept = TAKE(w->kept);

    kept->object = kept->r == 0 ? now : NULL;
    write_end(w, w->outcome, kept);
    free(kept);
}

/* Reports that there was no memory to start the write. */
static void on_no_memory(struct api_write *w)
{
    api_done_fn *done = TAKE(w->done);
    struct client_answer a;
    struct error e;

    (void)error_no_memory(&e);
    a = request_failed(&e);
    done(w->ctx, API_REFUSED, &a);
}

/* Starts the next try, or reports a result that was kept. */
static void on_round(void *ctx)
{
    struct api_flight *w = ((struct api_write *)ctx)->flight;
    struct error e;

    if (!w) {
        on_no_memory(ctx);
        return;
    }
    if (w->failed) {
        (void)error_set(&e, w->failed, "cannot store the request");
        write_fail(w, &e);
    } else if (w->kept) {
        on_kept(w);
    } else if (w->was_late && w->o.is_any_version) {
        send_body(w, w->o.body);
    } else if (w->was_late && w->object && w->o.patience == API_ONCE) {
        on_late(w);
    } else if (w->wants_read || w->was_late) {
        if (w->was_late)
            count_retry(w, API_CAUSE_LATE);
        w->was_late = false;
        send_read(w);
    } else if (w->o.request.verb != CLIENT_DELETE) {
        decide_body(w, w->object);
    } else {
        send_body(w, (struct str){ 0 });
    }
}

/* Copies the texts of the request and takes a reference to its object. */
static void write_prepare(struct api_flight *w, const struct api_write_options *o)
{
    struct client_request *q = &w->o.request;
    struct error e;

    w->failed = o->failed;
    w->o.body = (struct str){ 0 };
    if (o->object) {
        w->object = object_ref(o->object);
        q->kind = o->object->kind;
        q->ns = o->object->ns[0] ? w->object->ns : NULL;
        q->name = w->object->name;
        return;
    }
    assert(q->name);
    assert(q->verb != CLIENT_DELETE || q->if_uid);
    if (request_own_texts(q, &w->arena, &e) < 0)
        w->failed = e.code;
    w->wants_read = q->verb == CLIENT_PATCH;
}

/* Starts a patch of an object as read. If another write is in flight, the patch is based on an old version:
 * it ends as a conflict, without calling decide(). */
static void start_patch(struct api_flight *w)
{
    if (!w->o.is_any_version && !write_lock(w))
        return;
    assert(w->o.decide);
    w->is_starting = true;
    decide_body(w, w->object);
    w->is_starting = false;
}

void api_write_start(struct api_write *w, const struct api_write_options *o)
{
    struct api_flight *f;

    assert(!api_write_is_active(w));
    assert(o->done && o->api.client && o->step < API_STEP_COUNT && o->patience < API_PATIENCE_COUNT);
    assert(!o->is_exact || (o->object && o->request.verb == CLIENT_DELETE));
    w->flight = f = malloc(sizeof *f);
    w->done = o->done;
    w->ctx = o->ctx;
    timer_init(&w->timer, o->api.loop, on_round, w);
    if (!f) {
        timer_arm_after(&w->timer, 0);
        return;
    }
    *f = (struct api_flight){ .owner = w, .o = *o, .arena = ARENA_INIT(CLIENT_REQUEST_BYTES_MAX) };
    TAILQ_INIT(&f->waiters);
    if (!o->decide_ctx)
        f->o.decide_ctx = o->ctx;
    if (!request_is_write(&o->request)) {
        assert(!o->decide);
        client_send(o->api.client, &f->call, &o->request, on_got, f);
        return;
    }
    assert(o->request.verb == CLIENT_DELETE || o->decide || o->failed ||
           (o->request.verb == CLIENT_PATCH ? o->object != NULL : o->body.len > 0));
    write_prepare(f, o);
    if (!f->failed && f->object && o->request.verb == CLIENT_PATCH)
        start_patch(f);
    else if (!f->failed && o->body.len)
        send_body(f, o->body);
    else
        timer_arm_after(&w->timer, 0); /* done() is never called from inside */
}

void api_write_cancel(struct api_write *w)
{
    if (w->flight)
        write_release(w->flight);
    timer_disarm(&w->timer);
    w->done = NULL;
}

void api_read(struct api_write *w, const struct api *api, enum kind k, const char *ns, const char *name,
              api_done_fn *done, void *ctx)
{
    struct api_write_options o = {
        .api = *api,
        .request = { .verb = CLIENT_GET, .kind = kind_info(k), .ns = ns && ns[0] ? ns : NULL, .name = name },
        .done = done,
        .ctx = ctx
    };

    api_write_start(w, &o);
}

/* --- Before irreversible steps --- */

enum api_live api_live_of(const struct client_answer *a, const char *uid)
{
    if (a->r == -ERR_NOT_FOUND)
        return LIVE_GONE;
    if (a->r < 0 || !a->object)
        return LIVE_UNKNOWN;
    return strcmp(a->object->uid, uid) == 0 ? LIVE_THERE : LIVE_GONE;
}
