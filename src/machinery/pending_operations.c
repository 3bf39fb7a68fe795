/* The operations of a volume are in its slot, in the order they came; the slots are in an ordered map. One
 * that failed stays in its slot as a record, with a timer that first ends its delay and then its memory. A
 * slot goes with its last operation, once its owner has been called. */
#include "machinery/pending_operations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/times.h"
#include "base/buf.h"
#include "base/mutant.h"
#include "base/omap.h"

#define REFUSAL_BYTES_MAX ((size_t)1 << 20)

struct slot;

struct operation {
    TAILQ_ENTRY(operation) of_slot;
    TAILQ_ENTRY(operation) of_running;
    struct operations *all; /* NULL once they are gone */
    struct slot *slot;
    const char *name;
    struct operation_work work; /* of operations_run(), while it runs */
    bool is_running;
    uint64_t began_ns;      /* the last time */
    uint64_t delay_ns;      /* after the last failure; 0: it has not failed */
    unsigned failures;      /* in a row, of this name */
    char *message;          /* of the last failure; NULL: none, or no memory for it */
    uint64_t retry_at_ns;   /* by the loop */
    int64_t failed_real_ns; /* by the wall, as it was then: the text stays the same */
    uint64_t forget_at_ns;
    struct timer timer;
    struct operation_key key; /* texts follow */
    char text[];
};
TAILQ_HEAD(operation_list, operation);

/* A volume. */
struct slot {
    struct operations *all;
    struct operation_list ops;
    struct deferred settled;
    bool is_deferred;
    bool is_reporting; /* on_settled runs, with the slot's volume */
    bool is_owed;      /* there was something to report while an operation ran: its end reports it */
    char volume[];
};

struct operations {
    struct operations_options o;
    struct omap slots;             /* by volume */
    struct slot *nowhere;          /* of those without a volume */
    struct operation_list running; /* in the order they were started */
    size_t pending;
    bool is_going; /* operations_free() */
};

/* --- Slots --- */

static int slot_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct slot *)a)->volume, ((const struct slot *)b)->volume);
}

static int slot_cmp_key(void *ctx, const void *volume, const void *slot)
{
    (void)ctx;
    return strcmp(volume, ((const struct slot *)slot)->volume);
}

static void slot_on_settled(void *ctx);

static struct slot *slot_new(struct operations *all, const char *volume)
{
    size_t bytes = strlen(volume) + 1;
    struct slot *s = calloc(1, sizeof *s + bytes);

    if (!s)
        return NULL;
    s->all = all;
    memcpy(s->volume, volume, bytes);
    TAILQ_INIT(&s->ops);
    deferred_init(&s->settled, all->o.loop, slot_on_settled, s);
    return s;
}

static struct slot *slot_find(const struct operations *all, const char *volume)
{
    return volume[0] ? omap_find(&all->slots, /* rank= */ 0, volume) : all->nowhere;
}

static struct slot *slot_get(struct operations *all, const char *volume)
{
    struct slot *s = slot_find(all, volume);

    if (s)
        return s;
    s = slot_new(all, volume);
    if (s && omap_insert(&all->slots, /* rank= */ 0, s) < 0) {
        free(s);
        s = NULL;
    }
    return s;
}

static void slot_drop_if_idle(struct slot *s)
{
    if (s == s->all->nowhere || s->is_deferred || s->is_reporting || !TAILQ_EMPTY(&s->ops))
        return;
    (void)omap_remove(&s->all->slots, /* rank= */ 0, s);
    free(s);
}

/* --- Keys --- */

static bool parts_meet(const char *a, const char *b)
{
    return !a[0] || !b[0] || strcmp(a, b) == 0;
}

/* Both are of one volume. */
static bool keys_meet(const struct operation_key *a, const struct operation_key *b)
{
    return parts_meet(a->pod, b->pod) && parts_meet(a->node, b->node);
}

static bool keys_equal(const struct operation_key *a, const struct operation_key *b)
{
    return strcmp(a->pod, b->pod) == 0 && strcmp(a->node, b->node) == 0;
}

static struct operation *slot_running(const struct slot *s, const struct operation_key *key)
{
    for (struct operation *op = TAILQ_FIRST(&s->ops); op; op = TAILQ_NEXT(op, of_slot))
        if (op->is_running && keys_meet(&op->key, key))
            return op;
    return NULL;
}

/* The operation that decides about the key: one that runs, else one with the very key, else the first. name:
 * of those that do not run only this counts; NULL for any. */
static struct operation *op_find(const struct operations *all, const struct operation_key *key,
                                 const char *name)
{
    const struct slot *s = key->volume[0] ? slot_find(all, key->volume) : NULL;
    struct operation *found = s ? slot_running(s, key) : NULL, *first = NULL;

    if (!s || found)
        return found;
    for (struct operation *op = TAILQ_FIRST(&s->ops); op; op = TAILQ_NEXT(op, of_slot)) {
        if (!keys_meet(&op->key, key) || (name && strcmp(op->name, name) != 0))
            continue;
        if (keys_equal(&op->key, key))
            return op;
        if (!first)
            first = op;
    }
    return first;
}

/* --- Reports --- */

/* It is in the way of whatever is to start for the volume. */
static bool slot_is_taken(const struct slot *s)
{
    for (const struct operation *op = TAILQ_FIRST(&s->ops); op; op = TAILQ_NEXT(op, of_slot))
        if (op->is_running && !op->key.pod[0] && !op->key.node[0])
            return true;
    return false;
}

static void slot_on_settled(void *ctx)
{
    struct slot *s = ctx;
    struct operations *all = s->all;

    s->is_deferred = false;
    s->is_owed = slot_is_taken(s); /* another has begun since */
    if (s->is_owed)
        return;
    s->is_reporting = true;
    all->o.on_settled(all->o.ctx, str_of(s->volume));
    s->is_reporting = false;
    slot_drop_if_idle(s);
}

/* The key may be tried again: reported from the loop, as soon as nothing runs that is in its way. */
static void slot_report(struct slot *s, const struct operation_key *key)
{
    s->is_owed = slot_running(s, key);
    if (s->is_owed || s->is_deferred || !s->all->o.on_settled || s == s->all->nowhere)
        return;
    s->is_deferred = true;
    loop_defer(&s->settled);
}

/* --- Operations --- */

static void op_free(struct operation *op)
{
    timer_disarm(&op->timer);
    free(op->message);
    free(op);
}

static void op_forget(struct operation *op)
{
    TAILQ_REMOVE(&op->slot->ops, op, of_slot);
    op_free(op);
}

/* The delay is over, or the time to remember it. */
static void op_on_timer(void *ctx)
{
    struct operation *op = ctx;
    struct slot *s = op->slot;

    if (loop_now_ns(op->all->o.loop) < op->forget_at_ns) {
        timer_arm(&op->timer, op->forget_at_ns);
        slot_report(s, &op->key);
    } else {
        op_forget(op);
        slot_drop_if_idle(s);
    }
}

static bool op_is_waiting(const struct operation *op)
{
    return !op->is_running && op->delay_ns > 0 &&
           (loop_now_ns(op->all->o.loop) < op->retry_at_ns || MUTANT("operations-wait-forever"));
}

static const char *add_text(char **at, const char *text)
{
    char *start = *at;
    size_t bytes = strlen(text) + 1;

    memcpy(start, text, bytes);
    *at += bytes;
    return start;
}

static struct operation *op_new(struct operations *all, const struct operation_key *key)
{
    size_t bytes = strlen(key->volume) + strlen(key->pod) + strlen(key->node) + 3;
    struct operation *op = calloc(1, sizeof *op + bytes);
    char *at = op ? op->text : NULL;

    if (!op)
        return NULL;
    op->all = all;
    op->key.volume = add_text(&at, key->volume);
    op->key.pod = add_text(&at, key->pod);
    op->key.node = add_text(&at, key->node);
    timer_init(&op->timer, all->o.loop, op_on_timer, op);
    op->slot = slot_get(all, key->volume);
    if (!op->slot) {
        op_free(op);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&op->slot->ops, op, of_slot);
    return op;
}

static int refuse_pending(const struct operation_key *key, struct error *err)
{
    return error_set(err, ERR_OP_PENDING,
                     "Failed to create operation with name {volumeName:%s podName:%s nodeName:%s}. An "
                     "operation with that name is already executing.",
                     key->volume, key->pod, key->node);
}

static void write_time(struct buf *out, int64_t real_ns)
{
    timestamp_format_micro(timestamp_of_ns(real_ns), out);
}

static int64_t retry_real_ns(const struct operation *op)
{
    int64_t delay_ns = (int64_t)op->delay_ns;

    return op->failed_real_ns < INT64_MAX - delay_ns ? op->failed_real_ns + delay_ns : INT64_MAX;
}

static const char *op_message(const struct operation *op)
{
    return op->message ? op->message : "";
}

static int refuse_waiting(const struct operation *op, const struct operation_key *key, struct error *err)
{
    _cleanup_(buf_done_p) struct buf words =
        BUF_INIT(REFUSAL_BYTES_MAX); /* the error cuts what is too long */
    int r;

    buf_addf(&words, "Failed to create operation with name {\"%s\" \"%s\" \"%s\"}. ", key->volume, key->pod,
             key->node);
    buf_add_cstr(&words, "An operation with that name failed at ");
    write_time(&words, op->failed_real_ns);
    buf_add_cstr(&words, ". No retries permitted until ");
    write_time(&words, retry_real_ns(op));
    buf_add_cstr(&words, " (");
    duration_write((int64_t)op->delay_ns, &words);
    buf_addf(&words, "). Last error: \"%s\".", op_message(op));
    r = buf_check(&words, "refusal", err);
    return r < 0 ? r : error_set(err, ERR_BACKOFF, "%s", buf_cstr(&words));
}

/* What was found is in the way, but not the same: its history goes on in a record of the key's own. */
static struct operation *op_take_over(struct operation *op, const struct operation_key *key)
{
    struct operation *own = op_new(op->all, key);

    if (!own)
        return NULL;
    own->delay_ns = op->delay_ns;
    own->failures = op->failures;
    own->name = op->name;
    own->message = TAKE(op->message);
    op_forget(op);
    return own;
}

int operations_start(struct operations *all, const struct operation_key *key, const char *name,
                     struct operation **ret, struct error *err)
{
    struct operation *op = op_find(all, key, all->o.has_delay_per_name ? name : NULL);

    if (op && op->is_running && MUTANT("operations-run-together"))
        op = NULL;
    if (op && op->is_running)
        return refuse_pending(key, err);
    if (op && op_is_waiting(op)) {
        if (strcmp(op->name, name) == 0)
            return refuse_waiting(op, key, err);
        op->delay_ns = 0; /* another operation: that it failed says nothing about this one */
    }
    if (!op)
        op = op_new(all, key);
    else if (!keys_equal(&op->key, key))
        op = op_take_over(op, key);
    if (!op)
        return error_no_memory(err);
    timer_disarm(&op->timer);
    if (op->name && strcmp(op->name, name) != 0)
        op->failures = 0;
    op->name = name;
    op->began_ns = loop_now_ns(all->o.loop);
    op->is_running = true;
    TAILQ_INSERT_TAIL(&all->running, op, of_running);
    all->pending++;
    *ret = op;
    return 0;
}

int operations_run(struct operations *all, const struct operation_key *key, const struct operation_work *work,
                   struct error *err)
{
    struct operation *op = NULL;
    int r = operations_start(all, key, work->name, &op, err);

    if (!op)
        return r;
    op->work = *work;
    op->work.start(op->work.ctx, op); /* op may be gone */
    return 0;
}

static void op_enter_delay(struct operation *op)
{
    const struct operations_options *o = &op->all->o;
    uint64_t now_ns = loop_now_ns(o->loop);

    if (op->delay_ns == 0)
        op->delay_ns = o->backoff_ns;
    else
        op->delay_ns = op->delay_ns < o->backoff_ns_max / 2 ? 2 * op->delay_ns : o->backoff_ns_max;
    op->failures++;
    op->failed_real_ns = clock_real_ns(o->clock);
    op->retry_at_ns = now_ns + op->delay_ns;
    op->forget_at_ns = now_ns + 2 * o->backoff_ns_max;
    timer_arm(&op->timer, op->retry_at_ns);
}

/* It is not running any more: a record, or gone. */
static void op_leave(struct operation *op, int r)
{
    struct operations *all = op->all;
    struct slot *s = op->slot;
    bool has_to_report = r == 0 || s->is_owed;
    struct operation_key key = op->key;

    TAILQ_REMOVE(&all->running, op, of_running);
    all->pending--;
    op->is_running = false;
    op->work = (struct operation_work){ 0 };
    if (has_to_report)
        slot_report(s, &key);
    if (r < 0 && s != all->nowhere)
        op_enter_delay(op);
    else
        op_forget(op);
    slot_drop_if_idle(s);
}

void operation_end(struct operation *op, int r, const struct error *err)
{
    struct operations *all = op->all;

    assert(op->is_running && r <= 0);
    if (all && !all->is_going && op->work.done)
        op->work.done(op->work.ctx, operation_volume(op), r, err);
    if (all && r < 0) { /* before the release: err may be the ctx's */
        free(op->message);
        op->message = err ? strdup(err->msg) : NULL;
    }
    if (op->work.release)
        op->work.release(op->work.ctx);
    if (all)
        op_leave(op, r);
    else
        op_free(op);
}

struct str operation_volume(const struct operation *op)
{
    return str_of(op->key.volume);
}

/* --- Questions --- */

bool operations_is_pending(const struct operations *all, const struct operation_key *key)
{
    const struct operation *op = op_find(all, key, /* name= */ NULL);

    return op && op->is_running;
}

bool operations_is_waiting(const struct operations *all, const struct operation_key *key, const char *name,
                           uint64_t *ret_until_ns)
{
    const struct operation *op = op_find(all, key, all->o.has_delay_per_name ? name : NULL);

    if (!op || !op_is_waiting(op) || strcmp(op->name, name) != 0)
        return false;
    if (ret_until_ns)
        *ret_until_ns = op->retry_at_ns;
    return true;
}

size_t operations_pending(const struct operations *all)
{
    return all->pending;
}

static struct operation_state op_state(const struct operation *op)
{
    bool has_failed = op->delay_ns > 0;

    return (struct operation_state){ .name = op->name,
                                     .is_running = op->is_running,
                                     .began_ns = op->began_ns,
                                     .retry_at_ns = op_is_waiting(op) ? op->retry_at_ns : 0,
                                     .message = has_failed ? op_message(op) : "",
                                     .failures = has_failed ? op->failures : 0 };
}

bool operations_look(const struct operations *all, const struct operation_key *key,
                     struct operation_state *ret)
{
    const struct operation *op = op_find(all, key, /* name= */ NULL);

    *ret = op ? op_state(op) : (struct operation_state){ .message = "" };
    return op;
}

void operations_each(const struct operations *all, const struct operation_key *key, operation_state_fn *fn,
                     void *ctx)
{
    const struct slot *s = key->volume[0] ? slot_find(all, key->volume) : NULL;

    for (const struct operation *op = s ? TAILQ_FIRST(&s->ops) : NULL; op; op = TAILQ_NEXT(op, of_slot)) {
        struct operation_state state = op_state(op);

        if (keys_meet(&op->key, key))
            fn(ctx, &state);
    }
}

/* --- All of them --- */

int operations_new(const struct operations_options *o, struct operations **ret, struct error *err)
{
    struct operations *all = calloc(1, sizeof *all);

    if (!all)
        return error_no_memory(err);
    all->o = *o;
    if (!all->o.backoff_ns)
        all->o.backoff_ns = OPERATION_BACKOFF_NS;
    if (!all->o.backoff_ns_max)
        all->o.backoff_ns_max = OPERATION_BACKOFF_NS_MAX;
    assert(all->o.backoff_ns <= all->o.backoff_ns_max);
    all->nowhere = slot_new(all, "");
    if (!all->nowhere) {
        free(all);
        return error_no_memory(err);
    }
    omap_init(&all->slots, (struct omap_order){ slot_cmp, slot_cmp_key, NULL });
    TAILQ_INIT(&all->running);
    *ret = all;
    return 0;
}

/* Those with work are on their own from here on: each lives until its end, which concerns only its ctx. */
static void leave_running(struct operations *all)
{
    struct operation *op;

    while ((op = TAILQ_FIRST(&all->running))) {
        TAILQ_REMOVE(&all->running, op, of_running);
        TAILQ_REMOVE(&op->slot->ops, op, of_slot);
        op->all = NULL;
        if (!op->work.start)
            op_free(op);
        else if (op->work.cancel)
            op->work.cancel(op->work.ctx, op); /* op may be gone */
    }
}

static void slot_free(struct slot *s)
{
    struct operation *op;

    while ((op = TAILQ_FIRST(&s->ops))) {
        TAILQ_REMOVE(&s->ops, op, of_slot);
        op_free(op);
    }
    loop_undefer(&s->settled);
    free(s);
}

struct operations *operations_free(struct operations *all)
{
    struct omap_cursor at;

    if (!all)
        return NULL;
    all->is_going = true;
    leave_running(all);
    for (struct slot *s = omap_first(&all->slots, &at); s; s = omap_next(&at))
        slot_free(s);
    omap_done(&all->slots);
    slot_free(all->nowhere);
    free(all);
    return NULL;
}
