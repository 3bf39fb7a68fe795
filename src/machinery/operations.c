/* A slot for each key that something is known of: the operation that runs, and a record for each operation by
 * name that runs or has failed. A record's timer first ends its delay, then, if nobody has tried again
 * meanwhile, its memory: failures older than twice the longest delay say nothing any more. While its
 * operation runs a record has no timer and stays.
 *
 * A slot goes with its last record, once its owner has been told. Slots are in the order of their keys; an
 * operation costs O(log n). */
#include "machinery/operations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/times.h"
#include "base/buf.h"
#include "base/mutant.h"
#include "base/omap.h"

struct slot;

struct record {
    LIST_ENTRY(record) link;
    struct slot *slot;
    const char *name;
    char *message;         /* of the last failure; NULL: none, or no memory for it */
    unsigned failures;     /* in a row */
    uint64_t began_ns;     /* the last time */
    uint64_t delay_ns;     /* after the last failure; 0: it has not failed */
    uint64_t retry_at_ns;  /* by the loop */
    int64_t retry_real_ns; /* by the wall, as it was at the failure: the words stay the same */
    uint64_t forget_at_ns;
    struct timer timer;
};
LIST_HEAD(record_list, record);

struct slot {
    struct operations *all;
    struct operation *running; /* NULL for none */
    struct record_list records;
    struct deferred settled;
    bool is_deferred;
    bool is_telling; /* the callback runs, with the slot's key */
    bool is_owed;    /* there was something to tell while an operation ran: its end tells it */
    struct str key;
    char text[];
};

struct operation {
    TAILQ_ENTRY(operation) link;
    struct operations *all; /* NULL once they are gone */
    struct slot *slot;
    struct record *record;
    struct operation_work work;
    bool is_cancelled;
    struct str key;
    char text[];
};
TAILQ_HEAD(operation_list, operation);

struct operations {
    struct operations_options options;
    struct omap slots;
    struct operation_list running;   /* in the order they were started */
    struct operation_list cancelled; /* still running, and told to end */
    size_t pending;
    bool is_stopped;
    bool is_going; /* operations_free() */
};

/* --- Slots and records --- */

static int slot_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return str_cmp(((const struct slot *)a)->key, ((const struct slot *)b)->key);
}

static int slot_cmp_key(void *ctx, const void *key, const void *slot)
{
    (void)ctx;
    return str_cmp(*(const struct str *)key, ((const struct slot *)slot)->key);
}

static struct slot *slot_find(const struct operations *all, struct str key)
{
    return omap_find(&all->slots, /* rank= */ 0, &key);
}

static void record_free(struct record *rec)
{
    LIST_REMOVE(rec, link);
    timer_disarm(&rec->timer);
    free(rec->message);
    free(rec);
}

static void slot_free(struct slot *s)
{
    struct record *next;

    for (struct record *rec = LIST_FIRST(&s->records); rec; rec = next) {
        next = LIST_NEXT(rec, link);
        record_free(rec);
    }
    loop_undefer(&s->settled);
    free(s);
}

/* Lets go of a slot that nothing is left to know of. */
static void slot_drop_if_idle(struct slot *s)
{
    if (s->running || s->is_deferred || s->is_telling || !LIST_EMPTY(&s->records))
        return;
    (void)omap_remove(&s->all->slots, /* rank= */ 0, s);
    slot_free(s);
}

static void slot_on_settled(void *ctx)
{
    struct slot *s = ctx;
    struct operations *all = s->all;

    s->is_deferred = false;
    if (s->running) {
        s->is_owed = true; /* another has begun since */
        return;
    }
    s->is_telling = true;
    if (!all->is_stopped)
        all->options.on_settled(all->options.ctx, s->key);
    s->is_telling = false;
    slot_drop_if_idle(s);
}

/* The key may be tried again: said from the loop, as soon as nothing runs for it. */
static void slot_tell(struct slot *s)
{
    s->is_owed = s->running;
    if (s->running || s->is_deferred || !s->all->options.on_settled)
        return;
    s->is_deferred = true;
    loop_defer(&s->settled);
}

static struct slot *slot_new(struct operations *all, struct str key)
{
    struct slot *s = calloc(1, sizeof *s + key.len);

    if (!s)
        return NULL;
    s->all = all;
    s->key = (struct str){ s->text, key.len };
    if (key.len)
        memcpy(s->text, key.s, key.len);
    LIST_INIT(&s->records);
    deferred_init(&s->settled, all->options.loop, slot_on_settled, s);
    if (omap_insert(&all->slots, /* rank= */ 0, s) < 0) {
        free(s);
        return NULL;
    }
    return s;
}

static struct record *record_find(const struct slot *s, const char *name)
{
    for (struct record *rec = LIST_FIRST(&s->records); rec; rec = LIST_NEXT(rec, link))
        if (strcmp(rec->name, name) == 0)
            return rec;
    return NULL;
}

/* The delay is over, or the time to remember it. */
static void record_on_timer(void *ctx)
{
    struct record *rec = ctx;
    struct slot *s = rec->slot;

    if (loop_now_ns(rec->timer.loop) < rec->forget_at_ns) {
        timer_arm(&rec->timer, rec->forget_at_ns);
        slot_tell(s);
    } else {
        record_free(rec);
        slot_drop_if_idle(s);
    }
}

static struct record *record_new(struct slot *s, const char *name)
{
    struct record *rec = calloc(1, sizeof *rec);

    if (!rec)
        return NULL;
    rec->slot = s;
    rec->name = name;
    timer_init(&rec->timer, s->all->options.loop, record_on_timer, rec);
    LIST_INSERT_HEAD(&s->records, rec, link);
    return rec;
}

static bool record_is_waiting(const struct record *rec)
{
    return rec->delay_ns > 0 &&
           (loop_now_ns(rec->timer.loop) < rec->retry_at_ns || MUTANT("operations-wait-forever"));
}

/* The words can be done without. */
static void record_say(struct record *rec, const struct error *err)
{
    free(rec->message);
    rec->message = err ? strdup(err->msg) : NULL;
}

static void record_fail(struct record *rec)
{
    const struct operations_options *o = &rec->slot->all->options;
    uint64_t now_ns = loop_now_ns(o->loop);
    int64_t now_real_ns = clock_real_ns(o->clock);

    rec->failures++;
    if (rec->delay_ns == 0)
        rec->delay_ns = o->backoff_ns;
    else
        rec->delay_ns = rec->delay_ns < o->backoff_ns_max / 2 ? 2 * rec->delay_ns : o->backoff_ns_max;
    rec->retry_at_ns = now_ns + rec->delay_ns;
    rec->retry_real_ns = INT64_MAX;
    if (now_real_ns < INT64_MAX - (int64_t)rec->delay_ns)
        rec->retry_real_ns = now_real_ns + (int64_t)rec->delay_ns;
    rec->forget_at_ns = now_ns + 2 * o->backoff_ns_max;
    timer_arm(&rec->timer, rec->retry_at_ns);
}

static int record_refuse(const struct record *rec, struct error *err)
{
    struct buf words = BUF_INIT(ERROR_MSG_BYTES_MAX);
    int r;

    buf_add_cstr(&words, "no retries permitted until ");
    timestamp_format_micro(timestamp_of_ns(rec->retry_real_ns), &words);
    buf_add_cstr(&words, " (durationBeforeRetry ");
    duration_write((int64_t)rec->delay_ns, &words);
    buf_add_char(&words, ')');
    r = buf_check(&words, "refusal", err);
    if (r == 0)
        r = error_set(err, ERR_BACKOFF, "%s", buf_cstr(&words));
    buf_done(&words);
    return r;
}

/* --- All of them --- */

int operations_new(const struct operations_options *o, struct operations **ret, struct error *err)
{
    struct operations *all = calloc(1, sizeof *all);

    if (!all)
        return error_no_memory(err);
    all->options = *o;
    if (!all->options.backoff_ns)
        all->options.backoff_ns = OPERATION_BACKOFF_NS;
    if (!all->options.backoff_ns_max)
        all->options.backoff_ns_max = OPERATION_BACKOFF_NS_MAX;
    assert(all->options.backoff_ns <= all->options.backoff_ns_max);
    omap_init(&all->slots, (struct omap_order){ slot_cmp, slot_cmp_key, NULL });
    TAILQ_INIT(&all->running);
    TAILQ_INIT(&all->cancelled);
    *ret = all;
    return 0;
}

static void operation_cancel(struct operation *op)
{
    if (op->work.cancel)
        op->work.cancel(op->work.ctx, op);
}

/* Each is on its own from here on: it lives until its end, which concerns nobody but its ctx. */
static void operations_orphan(struct operations *all)
{
    struct operation *op;

    for (op = TAILQ_FIRST(&all->cancelled); op; op = TAILQ_NEXT(op, link))
        op->all = NULL;
    while ((op = TAILQ_FIRST(&all->running))) {
        TAILQ_REMOVE(&all->running, op, link);
        op->all = NULL;
        operation_cancel(op); /* op may be gone */
    }
}

struct operations *operations_free(struct operations *all)
{
    struct omap_cursor at;

    if (!all)
        return NULL;
    all->is_going = true;
    operations_orphan(all);
    for (struct slot *s = omap_first(&all->slots, &at); s; s = omap_next(&at))
        slot_free(s);
    omap_done(&all->slots);
    free(all);
    return NULL;
}

void operations_stop(struct operations *all)
{
    struct operation *op;

    all->is_stopped = true;
    while ((op = TAILQ_FIRST(&all->running))) {
        TAILQ_REMOVE(&all->running, op, link);
        TAILQ_INSERT_TAIL(&all->cancelled, op, link);
        op->is_cancelled = true;
        operation_cancel(op); /* op may be gone */
    }
}

bool operations_are_drained(const struct operations *all)
{
    return all->is_stopped && all->pending == 0;
}

/* --- One --- */

static struct operation *operation_new(struct operations *all, struct str key,
                                       const struct operation_work *work)
{
    struct operation *op = calloc(1, sizeof *op + key.len);

    if (!op)
        return NULL;
    op->all = all;
    op->work = *work;
    op->key = (struct str){ op->text, key.len };
    if (key.len)
        memcpy(op->text, key.s, key.len);
    return op;
}

/* Gives op its slot and record, which are made when there are none. */
static int operation_enter(struct operation *op, struct slot *s, struct record *rec, struct error *err)
{
    if (!s)
        s = slot_new(op->all, op->key);
    if (s && !rec)
        rec = record_new(s, op->work.name);
    if (!rec) {
        if (s)
            slot_drop_if_idle(s);
        return error_no_memory(err);
    }
    timer_disarm(&rec->timer);
    rec->began_ns = loop_now_ns(op->all->options.loop);
    s->running = op;
    op->slot = s;
    op->record = rec;
    TAILQ_INSERT_TAIL(&op->all->running, op, link);
    op->all->pending++;
    return 0;
}

int operations_start(struct operations *all, struct str key, const struct operation_work *work,
                     struct error *err)
{
    struct slot *s = slot_find(all, key);
    struct record *rec = s ? record_find(s, work->name) : NULL;
    struct operation *op;
    int r;

    if (all->is_stopped)
        return error_set(err, ERR_CANCELLED, "no operations are started any more: shutting down");
    if (s && s->running && !MUTANT("operations-run-together"))
        return error_set(err, ERR_OP_PENDING, "operation in progress");
    if (rec && record_is_waiting(rec))
        return record_refuse(rec, err);
    op = operation_new(all, key, work);
    if (!op)
        return error_no_memory(err);
    r = operation_enter(op, s, rec, err);
    if (r < 0) {
        free(op);
        return r;
    }
    op->work.start(op->work.ctx, op); /* op may be gone */
    return 0;
}

static void operation_leave(struct operation *op, int r)
{
    struct operations *all = op->all;
    struct slot *s = op->slot;

    if (op->is_cancelled)
        TAILQ_REMOVE(&all->cancelled, op, link);
    else
        TAILQ_REMOVE(&all->running, op, link);
    all->pending--;
    s->running = NULL;
    if (r < 0)
        record_fail(op->record);
    else
        record_free(op->record);
    if (r == 0 || s->is_owed)
        slot_tell(s);
    slot_drop_if_idle(s);
}

void operation_end(struct operation *op, int r, const struct error *err)
{
    assert(r <= 0);
    if (op->all && !op->all->is_going && op->work.done)
        op->work.done(op->work.ctx, op->key, r, err);
    if (op->all && r < 0)
        record_say(op->record, err); /* err may be the ctx's */
    if (op->work.release)
        op->work.release(op->work.ctx);
    if (op->all)
        operation_leave(op, r);
    free(op);
}

struct str operation_key(const struct operation *op)
{
    return op->key;
}

/* --- Questions --- */

bool operations_is_pending(const struct operations *all, struct str key)
{
    const struct slot *s = slot_find(all, key);

    return s && s->running;
}

size_t operations_pending(const struct operations *all)
{
    return all->pending;
}

uint64_t operations_retry_at_ns(const struct operations *all, struct str key)
{
    const struct slot *s = slot_find(all, key);
    uint64_t at_ns = 0;

    if (!s)
        return 0;
    for (const struct record *rec = LIST_FIRST(&s->records); rec; rec = LIST_NEXT(rec, link))
        if (record_is_waiting(rec) && rec->retry_at_ns > at_ns)
            at_ns = rec->retry_at_ns;
    return at_ns;
}

void operations_each_of(const struct operations *all, struct str key, operation_state_fn *fn, void *ctx)
{
    const struct slot *s = slot_find(all, key);

    for (const struct record *rec = s ? LIST_FIRST(&s->records) : NULL; rec; rec = LIST_NEXT(rec, link)) {
        struct operation_state state = { .name = rec->name,
                                         .is_running = s->running && s->running->record == rec,
                                         .began_ns = rec->began_ns,
                                         .failures = rec->failures,
                                         .retry_at_ns = record_is_waiting(rec) ? rec->retry_at_ns : 0,
                                         .message = rec->message ? rec->message : "" };

        fn(ctx, &state);
    }
}

void operations_forget(struct operations *all, struct str key)
{
    struct slot *s = slot_find(all, key);
    struct record *rec, *next;
    bool was_waiting = false;

    if (!s)
        return;
    for (rec = LIST_FIRST(&s->records); rec; rec = next) {
        next = LIST_NEXT(rec, link);
        was_waiting |= record_is_waiting(rec);
        if (s->running && s->running->record == rec)
            rec->delay_ns = rec->failures = 0;
        else
            record_free(rec);
    }
    if (was_waiting)
        slot_tell(s);
    slot_drop_if_idle(s);
}
