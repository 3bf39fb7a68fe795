/* The operations of a volume hang together in a list, in the order they came; the volumes are in an ordered
 * map. One that failed stays in its list as a record, with a timer that first ends its delay and then its
 * memory. */
#include "machinery/nested.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/times.h"
#include "base/buf.h"
#include "base/omap.h"

#define REFUSAL_BYTES_MAX ((size_t)1 << 20)

struct place;

struct nested_op {
    TAILQ_ENTRY(nested_op) link;
    struct nested *all;
    struct place *place;
    const char *name;
    char *pod;
    char *node;
    bool is_running;
    uint64_t delay_ns; /* after the last failure; 0: it has not failed */
    unsigned failures; /* in a row, of this name */
    uint64_t retry_at_ns;
    uint64_t forget_at_ns;
    int64_t failed_real_ns;
    struct error err; /* of the last failure */
    struct timer timer;
};
TAILQ_HEAD(nested_list, nested_op);

/* A volume. */
struct place {
    struct nested_list ops;
    char volume[];
};

struct nested {
    struct nested_options o;
    struct omap places; /* by volume */
    struct place *nowhere;
    struct deferred settled;
    size_t pending;
};

/* --- Places --- */

static int place_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct place *)a)->volume, ((const struct place *)b)->volume);
}

static int place_cmp_key(void *ctx, const void *key, const void *place)
{
    (void)ctx;
    return strcmp(key, ((const struct place *)place)->volume);
}

static struct place *place_new(const char *volume)
{
    size_t len = strlen(volume);
    struct place *p = calloc(1, sizeof *p + len + 1);

    if (!p)
        return NULL;
    memcpy(p->volume, volume, len + 1);
    TAILQ_INIT(&p->ops);
    return p;
}

static struct place *place_find(const struct nested *n, const char *volume)
{
    return volume[0] ? omap_find(&n->places, /* rank= */ 0, volume) : n->nowhere;
}

static struct place *place_get(struct nested *n, const char *volume)
{
    struct place *p = place_find(n, volume);

    if (p)
        return p;
    p = place_new(volume);
    if (p && omap_insert(&n->places, /* rank= */ 0, p) < 0) {
        free(p);
        p = NULL;
    }
    return p;
}

static void place_drop_if_idle(struct nested *n, struct place *p)
{
    if (p == n->nowhere || !TAILQ_EMPTY(&p->ops))
        return;
    (void)omap_remove(&n->places, /* rank= */ 0, p);
    free(p);
}

/* --- Keys --- */

static bool parts_meet(const char *a, const char *b)
{
    return !a[0] || !b[0] || strcmp(a, b) == 0;
}

static bool op_meets(const struct nested_op *op, const struct nested_key *key)
{
    return key->volume[0] && parts_meet(op->pod, key->pod) && parts_meet(op->node, key->node);
}

/* The operation that decides about the key: one that runs, else one with the very key, else the first. */
static struct nested_op *op_find(const struct nested *n, const struct nested_key *key)
{
    const struct place *p = key->volume[0] ? place_find(n, key->volume) : NULL;
    struct nested_op *first = NULL, *exact = NULL;

    for (struct nested_op *op = p ? TAILQ_FIRST(&p->ops) : NULL; op; op = TAILQ_NEXT(op, link)) {
        if (!op_meets(op, key))
            continue;
        if (op->is_running)
            return op;
        if (!first)
            first = op;
        if (!exact && strcmp(op->pod, key->pod) == 0 && strcmp(op->node, key->node) == 0)
            exact = op;
    }
    return exact ? exact : first;
}

/* --- Operations --- */

static void op_free(struct nested_op *op)
{
    timer_disarm(&op->timer);
    free(op->pod);
    free(op->node);
    free(op);
}

static void op_forget(struct nested_op *op)
{
    struct nested *n = op->all;
    struct place *p = op->place;

    TAILQ_REMOVE(&p->ops, op, link);
    op_free(op);
    place_drop_if_idle(n, p);
}

static void tell_settled(void *ctx)
{
    struct nested *n = ctx;

    n->o.on_settled(n->o.ctx);
}

static void settle(struct nested *n)
{
    if (n->o.on_settled)
        loop_defer(&n->settled);
}

/* The delay is over, or the time to remember it. */
static void op_on_timer(void *ctx)
{
    struct nested_op *op = ctx;

    if (loop_now_ns(op->all->o.loop) < op->forget_at_ns) {
        timer_arm(&op->timer, op->forget_at_ns);
        settle(op->all);
    } else {
        op_forget(op);
    }
}

static bool op_is_waiting(const struct nested_op *op)
{
    return !op->is_running && op->delay_ns > 0 && loop_now_ns(op->all->o.loop) < op->retry_at_ns;
}

static struct nested_op *op_new(struct nested *n, const struct nested_key *key)
{
    struct nested_op *op = calloc(1, sizeof *op);

    if (!op)
        return NULL;
    op->all = n;
    op->pod = strdup(key->pod);
    op->node = strdup(key->node);
    op->place = op->pod && op->node ? place_get(n, key->volume) : NULL;
    timer_init(&op->timer, n->o.loop, op_on_timer, op);
    if (!op->place) {
        op_free(op);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&op->place->ops, op, link);
    return op;
}

static int refuse_pending(const struct nested_key *key, struct error *err)
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

static int refuse_waiting(const struct nested_op *op, const struct nested_key *key, struct error *err)
{
    struct buf words = BUF_INIT(REFUSAL_BYTES_MAX); /* the error cuts what is too long */
    int r;

    buf_addf(&words, "Failed to create operation with name {\"%s\" \"%s\" \"%s\"}. ", key->volume, key->pod,
             key->node);
    buf_add_cstr(&words, "An operation with that name failed at ");
    write_time(&words, op->failed_real_ns);
    buf_add_cstr(&words, ". No retries permitted until ");
    write_time(&words, op->failed_real_ns + (int64_t)op->delay_ns);
    buf_add_cstr(&words, " (");
    duration_write((int64_t)op->delay_ns, &words);
    buf_addf(&words, "). Last error: \"%s\".", op->err.msg);
    r = buf_check(&words, "refusal", err);
    if (r == 0)
        r = error_set(err, ERR_BACKOFF, "%s", buf_cstr(&words));
    buf_done(&words);
    return r == 0 ? -ERR_BACKOFF : r;
}

int nested_start(struct nested *n, const struct nested_key *key, const char *name, struct nested_op **ret,
                 struct error *err)
{
    struct nested_op *op = op_find(n, key);

    if (op && op->is_running)
        return refuse_pending(key, err);
    if (op && op_is_waiting(op)) {
        if (strcmp(op->name, name) == 0)
            return refuse_waiting(op, key, err);
        op->delay_ns = 0; /* another operation: that it failed says nothing about this one */
    }
    if (!op) {
        op = op_new(n, key);
        if (!op)
            return error_no_memory(err);
    } else if (strcmp(op->pod, key->pod) != 0 || strcmp(op->node, key->node) != 0) {
        struct nested_op *own = op_new(n, key); /* what was found is in the way, but not the same */

        if (!own)
            return error_no_memory(err);
        own->delay_ns = op->delay_ns;
        own->failures = op->failures;
        own->name = op->name;
        op_forget(op);
        op = own;
    }
    timer_disarm(&op->timer);
    if (op->name && strcmp(op->name, name) != 0)
        op->failures = 0;
    op->name = name;
    op->is_running = true;
    n->pending++;
    *ret = op;
    return 0;
}

static void op_fail(struct nested_op *op, const struct error *err)
{
    uint64_t now_ns = loop_now_ns(op->all->o.loop);

    if (op->delay_ns == 0)
        op->delay_ns = NESTED_BACKOFF_NS;
    else
        op->delay_ns = op->delay_ns < NESTED_BACKOFF_NS_MAX / 2 ? 2 * op->delay_ns : NESTED_BACKOFF_NS_MAX;
    op->failures++;
    op->failed_real_ns = clock_real_ns(op->all->o.clock);
    op->retry_at_ns = now_ns + op->delay_ns;
    op->forget_at_ns = now_ns + 2 * NESTED_BACKOFF_NS_MAX;
    op->err = err ? *err : (struct error){ .code = ERR_IO };
    timer_arm(&op->timer, op->retry_at_ns);
}

void nested_end(struct nested_op *op, int r, const struct error *err)
{
    struct nested *n = op->all;

    assert(op->is_running && r <= 0);
    op->is_running = false;
    n->pending--;
    if (r < 0 && op->place != n->nowhere)
        op_fail(op, err);
    else
        op_forget(op);
    settle(n);
}

/* --- Questions --- */

bool nested_is_pending(const struct nested *n, const struct nested_key *key)
{
    const struct nested_op *op = op_find(n, key);

    return op && op->is_running;
}

bool nested_is_waiting(const struct nested *n, const struct nested_key *key, const char *name,
                       uint64_t *ret_until_ns)
{
    const struct nested_op *op = op_find(n, key);

    if (!op || !op_is_waiting(op) || strcmp(op->name, name) != 0)
        return false;
    if (ret_until_ns)
        *ret_until_ns = op->retry_at_ns;
    return true;
}

const char *nested_complaint(const struct nested *n, const struct nested_key *key)
{
    const struct nested_op *op = op_find(n, key);

    return op && op->delay_ns > 0 ? op->err.msg : NULL;
}

bool nested_look(const struct nested *n, const struct nested_key *key, struct nested_state *ret)
{
    const struct nested_op *op = op_find(n, key);

    *ret = (struct nested_state){ .complaint = "" };
    if (!op)
        return false;
    ret->name = op->name;
    ret->is_running = op->is_running;
    if (op_is_waiting(op))
        ret->retry_at_ns = op->retry_at_ns;
    if (op->delay_ns > 0)
        ret->complaint = op->err.msg;
    ret->failures = op->delay_ns > 0 ? op->failures : 0;
    return true;
}

size_t nested_pending(const struct nested *n)
{
    return n->pending;
}

/* --- All of them --- */

int nested_new(const struct nested_options *o, struct nested **ret, struct error *err)
{
    struct nested *n = calloc(1, sizeof *n);

    if (n)
        n->nowhere = place_new("");
    if (!n || !n->nowhere) {
        free(n);
        return error_no_memory(err);
    }
    n->o = *o;
    omap_init(&n->places, (struct omap_order){ place_cmp, place_cmp_key, NULL });
    deferred_init(&n->settled, o->loop, tell_settled, n);
    *ret = n;
    return 0;
}

static void place_free(struct place *p)
{
    struct nested_op *op;

    while ((op = TAILQ_FIRST(&p->ops))) {
        TAILQ_REMOVE(&p->ops, op, link);
        op_free(op);
    }
    free(p);
}

struct nested *nested_free(struct nested *n)
{
    struct omap_cursor at;

    if (!n)
        return NULL;
    loop_undefer(&n->settled);
    for (struct place *p = omap_first(&n->places, &at); p; p = omap_next(&at))
        place_free(p);
    omap_done(&n->places);
    place_free(n->nowhere);
    free(n);
    return NULL;
}
