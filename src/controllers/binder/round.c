#include "controllers/binder/binder_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"
#include "controllers/binder/binder_metrics.h"

/* Conflicts that are answered by looking again at once; then the key's delay holds. */
#define CONFLICTS_MAX 3
/* "c/NAMESPACE/NAME" with names of any length that the API allows. */
#define LOCK_BYTES_MAX 1024

struct round {
    TAILQ_ENTRY(round) link;
    struct binder *binder;
    enum binder_queue queue;
    TAILQ_HEAD(, step) steps;
    bool has_begun;    /* a request */
    bool has_written;  /* something that the next sync goes on from */
    bool has_failed;   /* after the key's delay */
    bool has_conflict; /* at once, while that makes sense */
    bool is_syncing;   /* the sync is on the stack: it finishes the key itself */
    const char *rest;  /* why nothing is written; NULL: a write was tried */
    struct arena arena;
    char key[];
};

static struct str round_key(const struct round *r)
{
    return str_of(r->key);
}

/* --- Steps --- */

struct step_waiter {
    TAILQ_ENTRY(step_waiter) link;
    enum binder_queue queue;
    char key[]; /* "c/NAMESPACE/NAME", "v/NAME" */
};

/* What is locked: as the keys of binder->writing. */
static void lock_text(const struct object *o, struct buf *out)
{
    buf_add_cstr(out, o->kind->kind == KIND_VOLUME ? "v/" : "c/");
    object_key(o, out);
}

/* The lock's text is the step's own. */
static int step_lock(struct step *s, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(LOCK_BYTES_MAX);
    char *key;

    lock_text(o, &text);
    key = buf_take(&text);
    if (!key)
        return -ERR_NO_MEMORY;
    s->lock = str_of(key);
    return map_put(&s->round->binder->writing, s->lock, s, NULL);
}

static void step_wake_waiters(struct step *s)
{
    struct step_waiter *w;

    map_done(&s->waiting);
    while ((w = TAILQ_FIRST(&s->waiters))) {
        TAILQ_REMOVE(&s->waiters, w, link);
        if (!MUTANT("binder-forgets-waiters"))
            binder_add(s->round->binder, w->queue, str_of(w->key + 2));
        free(w);
    }
}

static void step_unlock(struct step *s)
{
    struct binder *b = s->round->binder;

    if (!s->lock.s)
        return;
    if (map_get(&b->writing, s->lock) == s)
        (void)map_remove(&b->writing, s->lock);
    step_wake_waiters(s);
    free((void *)(uintptr_t)s->lock.s);
    s->lock = (struct str){ NULL, 0 };
}

static void step_free(struct step *s)
{
    TAILQ_REMOVE(&s->round->steps, s, link);
    client_cancel(&s->call);
    step_unlock(s);
    (void)object_unref(s->target);
    assert(TAILQ_FIRST(&s->round->steps) != s);
    free(s);
}

static struct step *step_new(struct round *r, const struct object *target, const char *label,
                             step_then_fn *then, void *ctx)
{
    struct step *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->round = r;
    s->target = target ? object_ref(target) : NULL;
    s->label = label;
    s->then = then;
    s->ctx = ctx;
    TAILQ_INIT(&s->waiters);
    map_init(&s->waiting, r->binder->writing.seed);
    TAILQ_INSERT_TAIL(&r->steps, s, link);
    r->has_begun = true;
    return s;
}

/* --- The round --- */

struct round *round_begin(struct binder *b, struct binder_key k)
{
    struct round *r = calloc(1, sizeof *r + k.name.len + 1);

    if (!r)
        die("no memory for a binder key: it would never be processed again");
    r->binder = b;
    r->queue = k.queue;
    r->is_syncing = true;
    r->arena = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX); /* what is kept are texts of the objects at hand */
    TAILQ_INIT(&r->steps);
    memcpy(r->key, k.name.s, k.name.len);
    TAILQ_INSERT_TAIL(&b->rounds, r, link);
    return r;
}

static void round_free(struct round *r)
{
    assert(TAILQ_EMPTY(&r->steps));
    TAILQ_REMOVE(&r->binder->rounds, r, link);
    arena_done(&r->arena);
    assert(TAILQ_FIRST(&r->binder->rounds) != r);
    free(r);
}

static void log_nothing(struct binder_key k, const char *reason)
{
    log_debug("nothing to do", LOG_TEXT(k.queue == BINDER_VOLUMES ? "volume" : "claim", k.name),
              LOG_STR("reason", reason));
}

void binder_log_gone(struct binder_key k)
{
    log_nothing(k, "gone");
}

static void log_rest(const struct round *r)
{
    if (r->rest && !r->has_written && !r->has_failed && !r->has_conflict)
        log_nothing((struct binder_key){ r->queue, round_key(r) }, r->rest);
}

/* What becomes of the key. Frees the round. */
static enum sync_result round_settle(struct round *r)
{
    struct binder *b = r->binder;
    struct binder_key k = { r->queue, round_key(r) };
    struct key_state *state = binder_find_state(b, k);
    enum sync_result result = SYNC_DONE;

    log_rest(r);
    if (r->has_conflict) {
        state = binder_state(b, k);
        state->conflicts++;
        if (state->conflicts > CONFLICTS_MAX)
            r->has_failed = true;
    } else if (state) {
        state->conflicts = 0;
    }
    if (!r->has_failed && state && state->failure)
        binder_note_failure(b, k, /* words= */ NULL);
    if (r->has_failed)
        result = SYNC_AGAIN;
    else if (r->has_conflict)
        binder_add(b, r->queue, round_key(r));
    else if (r->has_written)
        workqueue_add_first(controller_queue(b->queues[r->queue]), round_key(r)); /* it is half done */
    return result;
}

enum sync_result round_end(struct round *r)
{
    enum sync_result result = SYNC_LATER;

    r->is_syncing = false;
    if (TAILQ_EMPTY(&r->steps)) {
        result = round_settle(r);
        round_free(r);
    }
    return result;
}

static void round_check(struct round *r)
{
    struct binder *b = r->binder;
    enum sync_result result;

    if (r->is_syncing || !TAILQ_EMPTY(&r->steps))
        return;
    result = round_settle(r);
    controller_finish(b->queues[r->queue], round_key(r), result);
    round_free(r);
}

void rounds_free(struct binder *b)
{
    struct step *s, *next;
    struct round *r;

    while ((r = TAILQ_FIRST(&b->rounds))) {
        for (s = TAILQ_FIRST(&r->steps); s; s = next) {
            next = TAILQ_NEXT(s, link);
            step_free(s);
        }
        round_free(r);
    }
}

/* --- Answers --- */

static struct informer *informer_of(struct binder *b, const struct object *o)
{
    return o->kind->kind == KIND_VOLUME ? b->volumes : b->claims;
}

static enum binder_queue queue_of(const struct object *o)
{
    return o->kind->kind == KIND_VOLUME ? BINDER_VOLUMES : BINDER_CLAIMS;
}

static void note_failure(struct step *s, const struct client_answer *a)
{
    struct round *r = s->round;
    bool is_conflict = client_is_conflict(a);

    r->rest = NULL;
    LOG_AT(is_conflict ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, "write failed", LOG_STR("key", r->key),
           LOG_STR("step", s->label), LOG_ERR(&a->error), LOG_END);
    /* Gone: the delete event follows, and brings back the key of what is gone, but nobody else's. */
    if (is_conflict)
        r->has_conflict = true;
    else if (a->error.code != ERR_NOT_FOUND || queue_of(s->target) != r->queue)
        r->has_failed = true;
    if (r->has_failed)
        binder_note_failure(r->binder, (struct binder_key){ r->queue, round_key(r) }, a->error.msg);
}

static void on_refreshed(void *ctx, const struct client_answer *a)
{
    struct step *s = ctx;
    struct round *r = s->round;

    if (a->r == 0 && a->object)
        informer_observe(informer_of(r->binder, a->object), a->object);
    step_free(s);
    round_check(r);
}

/* Somebody else was quicker, and the cache may not know yet. */
static void step_refresh(struct step *s)
{
    struct client_request q = {
        .verb = CLIENT_GET, .kind = s->target->kind, .ns = s->target->ns, .name = s->target->name
    };

    client_send(s->round->binder->o.part.client, &s->call, &q, on_refreshed, s);
}

static void on_patched(void *ctx, const struct client_answer *a)
{
    struct step *s = ctx;
    struct round *r = s->round;
    struct binder *b = r->binder;

    if (a->r == 0 && a->object) {
        r->has_written = true;
        informer_observe(informer_of(b, a->object), a->object);
    } else {
        binder_metrics_conflict(b->metrics, s->target->kind, s->label, client_is_conflict(a));
        note_failure(s, a);
    }
    if (s->then)
        s->then(b, s, a);
    if (a->r < 0 && client_is_conflict(a)) {
        step_refresh(s);
        return;
    }
    step_free(s);
    round_check(r);
}

/* Adds the round's key to those that the step wakes, unless it is one of them. */
static void step_add_waiter(struct step *s, const struct round *r)
{
    size_t len = strlen(r->key);
    struct step_waiter *w = calloc(1, sizeof *w + len + 3);

    if (!w)
        die("no memory for a waiting binder key: it would never be processed again");
    w->queue = r->queue;
    w->key[0] = r->queue == BINDER_VOLUMES ? 'v' : 'c';
    w->key[1] = '/';
    memcpy(w->key + 2, r->key, len);
    if (map_get(&s->waiting, str_of(w->key))) {
        free(w);
        return;
    }
    if (map_put(&s->waiting, str_of(w->key), w, NULL) < 0)
        die("no memory for a waiting binder key: it would never be processed again");
    TAILQ_INSERT_TAIL(&s->waiters, w, link);
}

bool round_await_writer(struct round *r, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(LOCK_BYTES_MAX);
    struct step *other;

    lock_text(o, &text);
    other = map_get(&r->binder->writing, buf_str(&text));
    if (!other)
        return false;
    step_add_waiter(other, r);
    round_rest(r, "write-in-flight");
    return true;
}

bool binder_is_writing(const struct binder *b, struct binder_key k)
{
    char text[LOCK_BYTES_MAX];

    (void)snprintf(text, sizeof text, "%c/%.*s", k.queue == BINDER_VOLUMES ? 'v' : 'c', STR_ARG(k.name));
    return map_get(&b->writing, str_of(text)) != NULL;
}

void round_patch(struct round *r, const struct object *o, const char *subresource, const struct buf *body,
                 const char *label, step_then_fn *then, void *ctx)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = o->kind,
                                .ns = o->ns,
                                .name = o->name,
                                .subresource = subresource,
                                .patch = CLIENT_PATCH_MERGE,
                                .body = buf_str(body),
                                .field_manager = BINDER_FIELD_MANAGER };
    struct step *s;

    if (round_await_writer(r, o))
        return;
    s = step_new(r, o, label, then, ctx);
    if (!s || body->failed || step_lock(s, o) < 0) {
        r->has_failed = true;
        if (s)
            step_free(s);
        return;
    }
    client_send(r->binder->o.part.client, &s->call, &q, on_patched, s);
}

static void on_got(void *ctx, const struct client_answer *a)
{
    struct step *s = ctx;
    struct round *r = s->round;

    if (a->r < 0 && a->error.code != ERR_NOT_FOUND)
        r->has_failed = true;
    /* What it leads to are further steps of this round. */
    s->then(r->binder, s, a);
    step_free(s);
    round_check(r);
}

void round_get(struct round *r, enum kind k, const char *ns, const char *name, step_then_fn *then, void *ctx)
{
    struct client_request q = { .verb = CLIENT_GET, .kind = kind_info(k), .ns = ns, .name = name };
    struct step *s = step_new(r, NULL, "get", then, ctx);

    if (!s) {
        r->has_failed = true;
        return;
    }
    s->is_get = true;
    client_send(r->binder->o.part.client, &s->call, &q, on_got, s);
}

/* For those who find out late that something is wrong. */
void round_fail(struct round *r)
{
    r->has_failed = true;
}

void round_rest(struct round *r, const char *reason)
{
    r->rest = reason;
}

struct binder *round_binder(const struct round *r)
{
    return r->binder;
}

const char *round_name(const struct round *r)
{
    return r->key;
}

void *round_keep(struct round *r, const char *text)
{
    char *copy = arena_dup(&r->arena, str_of(text));

    if (!copy)
        die("no memory for a name that the binder must keep until the answer");
    return copy;
}
