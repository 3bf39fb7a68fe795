/* One loop for all of them: [read] → decide → send → (look → again | end). A try is a write that was sent;
 * reads are free. What is told at the end is the answer to the write, or to the read that settled it; doubt
 * that no read has cleared goes with it.
 *
 * Who writes what is in the client's map, by uid: the others stand in the line of the one that is there. */
#include "machinery/write.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mutant.h"
#include "client/request.h"
#include "machinery/informer.h"
#include "machinery/metrics.h"

/* What every patch begins with: merge_patch_begin() on an object. */
#define PRECONDITION "{\"metadata\":{\"uid\":\""
#define VERSION_BYTES 64

static const struct {
    unsigned tries_max;
    uint64_t delay_ns;
    uint64_t factor; /* from one delay to the next */
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
    [API_STEP_CLAIM_CLASS] = "claim-class",
    [API_STEP_CLAIM_REF] = "claim-ref",
    [API_STEP_CLAIM_STATUS] = "claim-status",
    [API_STEP_CLAIM_VOLUME] = "claim-volume",
    [API_STEP_CONDITION] = "condition",
    [API_STEP_DISK] = "disk",
    [API_STEP_FINALIZER] = "finalizer",
    [API_STEP_MIGRATE] = "migrate",
    [API_STEP_NODE_STATUS] = "node-status",
    [API_STEP_PROVISIONER] = "provisioner",
    [API_STEP_RESIZE] = "resize",
    [API_STEP_SELECTED_NODE] = "selected-node",
    [API_STEP_UNBIND] = "unbind",
    [API_STEP_VOLUME_STATUS] = "volume-status",
};
static_assert(ARRAY_LEN(api_step_names) == API_STEP_COUNT, "name every step");

static void on_written(void *ctx, const struct client_answer *a);
static void on_read(void *ctx, const struct client_answer *a);

int api_count_conflicts(struct api *a, struct metrics *m, struct error *err)
{
    static const char *const labels[] = { "object", "step", NULL };
    static const struct metric_desc desc = { .name = "berth_write_conflicts_total",
                                             .help = "Writes that somebody else was quicker than.",
                                             .type = METRIC_COUNTER,
                                             .labels = labels };

    return metrics_share_family(m, &desc, &a->conflicts, err);
}

/* --- One write of an object at a time --- */

static struct str uid_of(const struct api_write *w)
{
    return str_of(w->object ? w->object->uid : w->o.request.if_uid);
}

/* False: another write of the object is under way, and wakes this one at its end. */
static bool write_lock(struct api_write *w)
{
    struct map *writers = client_writers(w->o.api.client);
    struct api_write *other;

    if (w->o.request.verb == CLIENT_CREATE)
        return true;
    other = map_get(writers, uid_of(w));
    if (other) {
        TAILQ_INSERT_TAIL(&other->waiters, w, link);
        w->waits_for = other;
        return false;
    }
    w->is_locked = map_put(writers, uid_of(w), w, NULL) == 0; /* without memory the server has to decide */
    return true;
}

static void write_unlock(struct api_write *w)
{
    struct api_write *next;

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
            timer_arm_after(&next->timer, 0);
    }
}

bool api_is_writing(const struct api *api, const struct object *o)
{
    return map_get(client_writers(api->client), str_of(o->uid)) != NULL;
}

/* --- The end --- */

static void write_let_go(struct api_write *w)
{
    write_unlock(w);
    client_cancel(&w->call);
    timer_disarm(&w->timer);
    buf_done(&w->body);
    arena_done(&w->arena);
    w->object = object_unref(w->object);
    free(w->failure);
    w->failure = NULL;
    w->o.api.client = NULL;
}

/* The write may be gone when this returns. */
static void write_end(struct api_write *w, enum api_outcome outcome, const struct client_answer *a)
{
    api_done_fn *done = w->o.done;
    void *ctx = w->o.ctx;

    write_let_go(w);
    done(ctx, outcome, a);
}

/* An answer that is no good; doubt that is left goes with it. */
static void write_refuse(struct api_write *w, const struct client_answer *a)
{
    struct client_answer doubtful;

    if (!w->is_uncertain) {
        write_end(w, API_REFUSED, a);
        return;
    }
    doubtful = *a;
    doubtful.may_have_happened = true;
    write_end(w, API_UNCERTAIN, &doubtful);
}

static void write_fail(struct api_write *w, const struct error *e)
{
    struct client_answer a = request_failed(e);

    write_refuse(w, &a);
}

/* Nothing had to be done, or nothing more. */
static void write_succeed(struct api_write *w, const struct object *now)
{
    struct client_answer a = request_failed(&(struct error){ .code = ERR_NONE });

    a.object = now ? object_ref(now) : NULL;
    write_end(w, API_ALREADY, &a);
    object_unref(a.object);
}

/* --- One round --- */

static void send_read(struct api_write *w)
{
    const struct client_request *q = &w->o.request;
    /* Without a version: what the server knows, not what it remembers. */
    struct client_request get = { .verb = CLIENT_GET,
                                  .kind = q->kind,
                                  .ns = q->ns,
                                  .name = q->name,
                                  .deadline_ns = q->deadline_ns,
                                  .is_urgent = q->is_urgent };

    client_send(w->o.api.client, &w->call, &get, on_read, w);
}

static void send_body(struct api_write *w, struct str body)
{
    struct client_request q = w->o.request;
    char version[VERSION_BYTES];

    if (!write_lock(w)) {
        if (w->o.is_any_version && w->body.len == 0) {
            buf_add_str(&w->body, body);
            w->failed = w->body.failed;
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

static void decide(struct api_write *w, const struct object *now)
{
    struct error e = { .code = ERR_INTERNAL };

    buf_clear(&w->body);
    switch (w->o.decide(w->o.ctx, now, &w->body, &e)) {
    case API_SEND:
        if (buf_check(&w->body, "body", &e) < 0)
            write_fail(w, &e);
        else
            send_body(w, buf_str(&w->body));
        break;
    case API_AS_IT_IS:
        write_succeed(w, now);
        break;
    case API_REFUSE:
        write_fail(w, &e);
        break;
    }
}

static void set_object(struct api_write *w, const struct object *o)
{
    struct object *before = w->object;

    w->object = o ? object_ref(o) : NULL;
    (void)object_unref(before);
}

/* Is the object that was to be deleted gone, or going? One that is to go at once is not on its way as long as
 * it is there. */
static bool is_deleted(const struct api_write *w, const struct object *now)
{
    return !now || (now->is_deleting && !w->o.request.has_grace) || !str_is(uid_of(w), now->uid);
}

/* --- Looking after a write that somebody came before, or that nobody knows the end of --- */

static void on_looked(struct api_write *w, const struct client_answer *a)
{
    struct client_answer *failure = w->failure;
    enum api_outcome outcome = w->is_uncertain ? API_UNCERTAIN : API_CONFLICT;

    w->failure = NULL;
    failure->object = a->object;
    if (a->r == -ERR_NOT_FOUND && (w->o.request.verb == CLIENT_PATCH || w->o.request.subresource))
        write_end(w, API_REFUSED, a); /* nothing is left that could have been changed */
    else if ((a->r == 0 || a->r == -ERR_NOT_FOUND) && w->o.request.verb == CLIENT_DELETE &&
             is_deleted(w, a->object))
        write_succeed(w, a->object);
    else
        write_end(w, outcome, failure);
    free(failure);
}

/* The owner is to decide again, and not on what it decided on before. */
static void look_after(struct api_write *w, const struct client_answer *a)
{
    w->failure = malloc(sizeof *w->failure);
    if (!w->failure) {
        write_end(w, w->is_uncertain ? API_UNCERTAIN : API_CONFLICT, a);
        return;
    }
    *w->failure = *a;
    w->failure->status = NULL; /* it was lent */
    w->failure->object = NULL;
    send_read(w);
}

static void on_read(void *ctx, const struct client_answer *a)
{
    struct api_write *w = ctx;
    bool is_patch = w->o.request.verb == CLIENT_PATCH;

    assert(a->r < 0 || a->object);
    if (a->r == 0 && w->o.informer)
        informer_observe(w->o.informer, a->object);
    if (w->failure) {
        on_looked(w, a);
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
        set_object(w, a->object);
        decide(w, w->object);
    } else if (is_deleted(w, a->object)) {
        write_succeed(w, NULL);
    } else {
        send_body(w, (struct str){ 0 });
    }
}

/* --- After a write --- */

static bool is_overtaken(const struct api_write *w, const struct client_answer *a)
{
    return w->o.request.verb != CLIENT_CREATE ? client_is_conflict(a) : a->r == -ERR_EXISTS;
}

/* Does looking again promise more than the answer says? */
static bool wants_another_round(const struct api_write *w, const struct client_answer *a)
{
    if (a->r == 0 || w->tries >= patience_table[w->o.patience].tries_max)
        return false;
    if (a->may_have_happened)
        return !w->had_doubt;
    /* Of an object that has changed, its owner must say whether it is still to go. */
    return is_overtaken(w, a) && !w->o.is_exact && !w->o.request.if_version;
}

static uint64_t next_delay_ns(struct api_write *w)
{
    uint64_t delay_ns = patience_table[w->o.patience].delay_ns;
    uint64_t spread_ns = delay_ns * patience_table[w->o.patience].jitter_percent / 100;

    for (unsigned n = 1; n < w->tries; n++)
        delay_ns *= patience_table[w->o.patience].factor;
    return delay_ns - spread_ns + (spread_ns ? rng_below(w->o.api.rng, 2 * spread_ns + 1) : 0);
}

static void count(const struct api_write *w, const struct client_answer *a)
{
    if (w->o.api.conflicts && client_is_conflict(a))
        metric_add(metric_of(w->o.api.conflicts, w->o.request.kind->plural, api_step_names[w->o.step]), 1);
}

/* The end of the last try. A binding is a create, too, and what it conflicts with is the pod. */
static void on_last_written(struct api_write *w, const struct client_answer *a)
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
        look_after(w, a);
    else
        write_end(w, client_is_conflict(a) ? API_CONFLICT : API_REFUSED, a);
}

static void on_written(void *ctx, const struct client_answer *a)
{
    struct api_write *w = ctx;
    bool goes_on = wants_another_round(w, a);

    /* Of a deleted object, only one that stays for a while: without it "not there" would say nothing. */
    if (a->r == 0 && a->object && w->o.informer &&
        (w->o.request.verb != CLIENT_DELETE || (a->object->is_deleting && a->object->finalizers.count > 0)))
        informer_observe(w->o.informer, a->object);
    if (a->r < 0)
        count(w, a);
    if (!goes_on) {
        on_last_written(w, a);
        return;
    }
    if (a->may_have_happened)
        w->is_uncertain = w->had_doubt = true;
    w->wants_read = true;
    write_unlock(w);
    timer_arm_after(&w->timer, next_delay_ns(w));
}

/* A get or a list. */
static void on_got(void *ctx, const struct client_answer *a)
{
    struct api_write *w = ctx;

    if (a->r == 0 && a->object && w->o.informer)
        informer_observe(w->o.informer, a->object);
    write_end(w, a->r < 0 ? API_REFUSED : API_DONE, a);
}

/* --- What owners call --- */

/* What the write before made of it is in the cache. */
static void on_late(struct api_write *w)
{
    const struct object *now =
        w->o.informer ? informer_get(w->o.informer, w->object->ns, w->object->name) : NULL;
    struct client_answer a;
    struct error e;

    (void)error_set(&e, ERR_CONFLICT, API_LATE_MESSAGE);
    a = request_failed(&e);
    a.object = now ? object_ref(now) : NULL;
    write_end(w, API_CONFLICT, &a);
    (void)object_unref(a.object);
}

/* The next try, or what could not be told at once. */
static void on_round(void *ctx)
{
    struct api_write *w = ctx;
    struct error e;

    if (w->failed) {
        (void)error_set(&e, w->failed, "the request cannot be kept");
        write_fail(w, &e);
    } else if (w->was_late && w->o.is_any_version) {
        send_body(w, buf_str(&w->body));
    } else if (w->was_late && w->object && w->o.patience == API_ONCE) {
        on_late(w);
    } else if (w->wants_read || w->was_late) {
        w->was_late = false;
        send_read(w);
    } else if (w->o.request.verb != CLIENT_DELETE) {
        decide(w, w->object);
    } else {
        send_body(w, (struct str){ 0 });
    }
}

/* Its texts, and what it is about. */
static void write_prepare(struct api_write *w, const struct api_write_options *o)
{
    struct client_request *q = &w->o.request;
    struct error e;

    assert(o->request.verb == CLIENT_DELETE || o->decide || o->body.len || o->failed);
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
    assert(q->verb != CLIENT_PATCH || o->decide);
    if (request_own_texts(q, &w->arena, &e) < 0)
        w->failed = e.code;
    w->wants_read = q->verb == CLIENT_PATCH;
}

void api_write_start(struct api_write *w, const struct api_write_options *o)
{
    assert(!api_write_is_active(w));
    w->o = *o;
    w->object = NULL;
    w->arena = ARENA_INIT(CLIENT_REQUEST_BYTES_MAX);
    buf_init(&w->body, WRITE_BODY_BYTES_MAX);
    timer_init(&w->timer, o->api.loop, on_round, w);
    TAILQ_INIT(&w->waiters);
    w->waits_for = NULL;
    w->tries = 0;
    w->failed = ERR_NONE;
    w->is_locked = w->was_late = w->wants_read = w->is_uncertain = w->had_doubt = false;
    if (!request_is_write(&o->request)) {
        assert(!o->decide);
        client_send(o->api.client, &w->call, &o->request, on_got, w);
        return;
    }
    write_prepare(w, o);
    if (!w->failed && o->body.len)
        send_body(w, o->body);
    else
        timer_arm_after(&w->timer, 0); /* nothing ends at once */
}

void api_write_cancel(struct api_write *w)
{
    if (api_write_is_active(w))
        write_let_go(w);
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

/* --- Before what cannot be undone --- */

enum live api_live_of(const struct client_answer *a, const char *uid)
{
    if (a->r == -ERR_NOT_FOUND)
        return LIVE_GONE;
    if (a->r < 0 || !a->object)
        return LIVE_UNKNOWN;
    return strcmp(a->object->uid, uid) == 0 ? LIVE_THERE : LIVE_GONE;
}
