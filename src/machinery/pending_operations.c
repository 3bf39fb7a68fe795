/* Implementation of pending operations. The operations of a volume are in its slot, in the order they were
 * started; the slots are in an ordered map.
 *
 * A failed operation stays in its slot as a record, with a timer that first ends its delay and later removes
 * the record. A slot is freed with its last operation, after its owner was notified. */
#include "machinery/pending_operations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/times.h"
#include "base/buf.h"
#include "base/mutant.h"
#include "base/omap.h"
#include "base/tailq.h"

#define REFUSAL_BYTES_MAX ((size_t)1 << 20)

struct slot;

struct pending_operation {
    TAILQ_ENTRY(pending_operation) of_slot;
    TAILQ_ENTRY(pending_operation) of_running;
    struct operations *all; /* NULL after operations_free() */
    struct slot *slot;
    const char *name;
    struct operation_work work; /* of operations_run(), while in progress */
    bool is_running;
    uint64_t began_ns;      /* of the last start */
    uint64_t delay_ns;      /* after the last failure; 0: it has not failed */
    unsigned failures;      /* consecutive, of this name */
    char *message;          /* of the last failure; NULL: none, or no memory */
    uint64_t retry_at_ns;   /* loop time */
    int64_t failed_real_ns; /* wall-clock time of the failure: keeps the text stable */
    uint64_t forget_at_ns;
    struct timer timer;
    struct operation_key key; /* texts follow the struct */
    char text[];
};
TAILQ_HEAD(operation_list, pending_operation);

/* The operations of one volume. */
struct slot {
    struct operations *all;
    struct operation_list ops;
    struct deferred settled;
    bool is_deferred;
    bool is_reporting; /* on_settled() is running, with the slot's volume */
    bool is_owed;      /* a report came while an operation was running: its end makes the report */
    char volume[];
};

struct operations {
    struct operations_options o;
    struct omap slots;             /* by volume */
    struct slot *nowhere;          /* operations without a volume */
    struct operation_list running; /* in start order */
    size_t pending;
    bool is_going; /* operations_free() is running */
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

/* Both keys have the same volume. */
static bool keys_meet(const struct operation_key *a, const struct operation_key *b)
{
    return parts_meet(a->pod, b->pod) && parts_meet(a->node, b->node);
}

static bool keys_equal(const struct operation_key *a, const struct operation_key *b)
{
    return strcmp(a->pod, b->pod) == 0 && strcmp(a->node, b->node) == 0;
}

static struct pending_operation *slot_running(const struct slot *s, const struct operation_key *key)
{
    for (struct pending_operation *op = TAILQ_FIRST(&s->ops); op; op = TAILQ_NEXT(op, of_slot))
        if (op->is_running && keys_meet(&op->key, key))
            return op;
    return NULL;
}

/* The operation that decides about the key: a running one, else the one with exactly this key, else the
 * first. name: only consider records of this name; NULL: any. */
static struct pending_operation *op_find(const struct operations *all, const struct operation_key *key,
                                         const char *name)
{
    const struct slot *s = key->volume[0] ? slot_find(all, key->volume) : NULL;
    struct pending_operation *found = s ? slot_running(s, key) : NULL, *first = NULL;

    if (!s || found)
        return found;
    for (struct pending_operation *op = TAILQ_FIRST(&s->ops); op; op = TAILQ_NEXT(op, of_slot)) {
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

/* True if an operation of the volume is running. */
static bool slot_is_taken(const struct slot *s)
{
    for (const struct pending_operation *op = TAILQ_FIRST(&s->ops); op; op = TAILQ_NEXT(op, of_slot))
        if (op->is_running && !op->key.pod[0] && !op->key.node[0])
            return true;
    return false;
}

static void slot_on_settled(void *ctx)
{
    struct slot *s = ctx;
    struct operations *all = s->all;

    assert(s->is_deferred && !s->is_reporting);
    s->is_deferred = false;
    s->is_owed = slot_is_taken(s); /* another one has started since */
    if (s->is_owed)
        return;
    s->is_reporting = true;
    all->o.on_settled(all->o.ctx, str_of(s->volume));
    s->is_reporting = false;
    slot_drop_if_idle(s);
}

/* Reports, from the loop, that the key may be started again, as soon as no running operation conflicts. */
static void slot_report(struct slot *s, const struct operation_key *key)
{
    s->is_owed = slot_running(s, key);
    if (s->is_owed || s->is_deferred || !s->all->o.on_settled || s == s->all->nowhere)
        return;
    s->is_deferred = true;
    loop_defer(&s->settled);
}

/* --- Operations --- */

static void op_free(struct pending_operation *op)
{
    timer_disarm(&op->timer);
    free(op->message);
    free(op);
}

static void op_forget(struct pending_operation *op)
{
    assert(!op->is_running);
    TAILQ_REMOVE(&op->slot->ops, op, of_slot);
    op_free(op);
}

/* The delay has passed, or the record has expired. */
static void op_on_timer(void *ctx)
{
    struct pending_operation *op = ctx;
    struct slot *s = op->slot;

    if (loop_now_ns(op->all->o.loop) < op->forget_at_ns) {
        timer_arm(&op->timer, op->forget_at_ns);
        slot_report(s, &op->key);
    } else {
        op_forget(op);
        slot_drop_if_idle(s);
    }
}

static bool op_is_waiting(const struct pending_operation *op)
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

static struct pending_operation *op_new(struct operations *all, const struct operation_key *key)
{
    size_t bytes = strlen(key->volume) + strlen(key->pod) + strlen(key->node) + 3;
    struct pending_operation *op = calloc(1, sizeof *op + bytes);
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

static void write_time(struct buf *out, int64_t real_ns)
{
    timestamp_format_micro(timestamp_of_ns(real_ns), out);
}

static const char *op_message(const struct pending_operation *op)
{
    return op->message ? op->message : "";
}

static int refuse_waiting(const struct pending_operation *op, const struct operation_key *key,
                          struct error *err)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(REFUSAL_BYTES_MAX); /* the error cuts longer texts */
    int r;

    buf_addf(&words, "Failed to create operation with name {\"%s\" \"%s\" \"%s\"}. ", key->volume, key->pod,
             key->node);
    buf_add_cstr(&words, "An operation with that name failed at ");
    write_time(&words, op->failed_real_ns);
    buf_add_cstr(&words, ". No retries permitted until ");
    write_time(&words, op->failed_real_ns < INT64_MAX - (int64_t)op->delay_ns
                           ? op->failed_real_ns + (int64_t)op->delay_ns
                           : INT64_MAX);
    buf_add_cstr(&words, " (");
    duration_write((int64_t)op->delay_ns, &words);
    buf_addf(&words, "). Last error: \"%s\".", op_message(op));
    r = buf_check(&words, "refusal", err);
    return r < 0 ? r : error_set(err, ERR_BACKOFF, "%s", buf_cstr(&words));
}

/* The record that was found conflicts but has another key: its history continues in a record of this key. */
static struct pending_operation *op_take_over(struct pending_operation *op, const struct operation_key *key)
{
    struct pending_operation *own = op_new(op->all, key);

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
                     struct pending_operation **ret, struct error *err)
{
    struct pending_operation *op = op_find(all, key, all->o.has_delay_per_name ? name : NULL);

    assert(name[0] != '\0' && !all->is_going);
    if (op && op->is_running && MUTANT("operations-run-together"))
        op = NULL;
    if (op && op->is_running)
        return error_set(err, ERR_OP_PENDING,
                         "Failed to create operation with name {volumeName:%s podName:%s nodeName:%s}. An "
                         "operation with that name is already executing.",
                         key->volume, key->pod, key->node);
    if (op && op_is_waiting(op)) {
        if (strcmp(op->name, name) == 0)
            return refuse_waiting(op, key, err);
        op->delay_ns = 0; /* another operation: the failure does not apply to it */
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
    struct pending_operation *op = NULL;
    int r = operations_start(all, key, work->name, &op, err);

    assert(work->start);
    if (!op)
        return r;
    op->work = *work;
    op->work.start(op->work.ctx, op); /* op may have been freed */
    return 0;
}

static void op_enter_delay(struct pending_operation *op)
{
    const struct operations_options *o = &op->all->o;
    uint64_t now_ns = loop_now_ns(o->loop);

    assert(!op->is_running && !timer_is_armed(&op->timer));
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

/* The operation no longer runs: it becomes a record or is freed. */
static void op_leave(struct pending_operation *op, int r)
{
    struct operations *all = op->all;
    struct slot *s = op->slot;
    bool has_to_report = r == 0 || s->is_owed;
    struct operation_key key = op->key;

    assert(all->pending > 0);
    TAILQ_REMOVE(&all->running, op, of_running);
    all->pending--;
    op->is_running = false;
    op->work = (struct operation_work){ 0 };
    if (has_to_report)
        slot_report(s, &key);
    if (r < 0 && s != all->nowhere)
        op_enter_delay(op);
    else if (!(op->failures > 0 && MUTANT("operations-leave-records")))
        op_forget(op);
    slot_drop_if_idle(s);
}

void operation_end(struct pending_operation *op, int r, const struct error *err)
{
    struct operations *all = op->all;

    assert(op->is_running && r <= 0);
    if (all && !all->is_going && op->work.done)
        op->work.done(op->work.ctx, operation_volume(op), r, err);
    if (all && r < 0) { /* before the release: err may belong to ctx */
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

struct str operation_volume(const struct pending_operation *op)
{
    return str_of(op->key.volume);
}

/* --- Queries --- */

bool operations_is_pending(const struct operations *all, const struct operation_key *key)
{
    const struct pending_operation *op = op_find(all, key, /* name= */ NULL);

    return op && op->is_running;
}

bool operations_is_waiting(const struct operations *all, const struct operation_key *key, const char *name,
                           uint64_t *ret_until_ns)
{
    const struct pending_operation *op = op_find(all, key, all->o.has_delay_per_name ? name : NULL);

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

static struct operation_state op_state(const struct pending_operation *op)
{
    bool has_failed = op->delay_ns > 0;

    return (struct operation_state){ .name = op->name,
                                     .is_running = op->is_running,
                                     .began_ns = op->began_ns,
                                     .retry_at_ns = op_is_waiting(op) ? op->retry_at_ns : 0,
                                     .message = has_failed ? op_message(op) : "",
                                     .failures = has_failed ? op->failures : 0 };
}

bool operations_inspect(const struct operations *all, const struct operation_key *key,
                        struct operation_state *ret)
{
    const struct pending_operation *op = op_find(all, key, /* name= */ NULL);

    *ret = op ? op_state(op) : (struct operation_state){ .message = "" };
    return op;
}

void operations_each(const struct operations *all, const struct operation_key *key, operation_state_fn *fn,
                     void *ctx)
{
    const struct slot *s = key->volume[0] ? slot_find(all, key->volume) : NULL;

    for (const struct pending_operation *op = s ? TAILQ_FIRST(&s->ops) : NULL; op;
         op = TAILQ_NEXT(op, of_slot)) {
        struct operation_state state = op_state(op);

        if (keys_meet(&op->key, key))
            fn(ctx, &state);
    }
}

/* --- Invariant check --- */

/* Per volume; a longer list is a cycle. */
#define SLOT_OPERATIONS_MAX 100000

static const char *op_check(const struct slot *s, const struct pending_operation *op)
{
    const struct pending_operation *other = op;

    if (op->slot != s || op->all != s->all || strcmp(op->key.volume, s->volume) != 0)
        return "an operation is listed for another volume";
    if (!op->is_running)
        return op->delay_ns > 0 && timer_is_armed(&op->timer) ? NULL : "a finished operation was not freed";
    if (timer_is_armed(&op->timer) || !op->name)
        return "an operation is running and in backoff at once";
    while (s != s->all->nowhere && (other = TAILQ_NEXT(other, of_slot)))
        if (other->is_running && keys_meet(&other->key, &op->key))
            return "two operations run for one key";
    return NULL;
}

static const char *slot_check(const struct slot *s, size_t *running)
{
    const char *wrong = NULL;
    size_t count = 0, runs = 0;

    if (!tailq_is_sound(&s->ops, offsetof(struct pending_operation, of_slot), SLOT_OPERATIONS_MAX, &count))
        return "the operations of a volume are not linked both ways";
    for (const struct pending_operation *op = TAILQ_FIRST(&s->ops); op && !wrong;
         op = TAILQ_NEXT(op, of_slot)) {
        wrong = op_check(s, op);
        runs += op->is_running;
    }
    if (!wrong && s != s->all->nowhere && count == 0 && !s->is_deferred && !s->is_reporting)
        wrong = "a volume without operations was not freed";
    if (!wrong && s->is_owed && runs == 0)
        wrong = "a report is pending and no operation is left to make it";
    *running += runs;
    return wrong;
}

const char *operations_check(const struct operations *all)
{
    size_t running = 0, count = 0;
    const char *wrong = slot_check(all->nowhere, &running);
    struct omap_cursor at;

    for (const struct slot *s = omap_first(&all->slots, &at); s && !wrong; s = omap_next(&at))
        wrong =
            slot_find(all, s->volume) == s ? slot_check(s, &running) : "a volume is not found by its name";
    if (wrong)
        return wrong;
    if (!tailq_is_sound(&all->running, offsetof(struct pending_operation, of_running), running, &count))
        return "the running operations are not linked both ways";
    if (count != all->pending || running != all->pending)
        return "the number of running operations is wrong";
    for (const struct pending_operation *op = TAILQ_FIRST(&all->running); op; op = TAILQ_NEXT(op, of_running))
        if (!op->is_running || op->all != all)
            return "an operation in the list of running operations is not running";
    return NULL;
}

/* --- Lifecycle --- */

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

/* Detaches the operations with work: each lives until its own end, which only concerns its ctx. */
static void leave_running(struct operations *all)
{
    struct pending_operation *op;

    while ((op = TAILQ_FIRST(&all->running))) {
        TAILQ_REMOVE(&all->running, op, of_running);
        TAILQ_REMOVE(&op->slot->ops, op, of_slot);
        op->all = NULL;
        if (!op->work.start)
            op_free(op);
        else if (op->work.cancel)
            op->work.cancel(op->work.ctx, op); /* op may have been freed */
    }
}

static void slot_free(struct slot *s)
{
    struct pending_operation *op;

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
    assert(!all->is_going);
    all->is_going = true;
    leave_running(all);
    for (struct slot *s = omap_first(&all->slots, &at); s; s = omap_next(&at))
        slot_free(s);
    omap_done(&all->slots);
    slot_free(all->nowhere);
    free(all);
    return NULL;
}
