/* One write at a time: the Node is adopted (its labels and annotations, or all of it where there is none),
 * then its status follows. Every write reads the server first and decides on what it reads
 * (machinery/write.h), and carries uid and version of that: a write that the network kept and delivers late
 * changes nothing, or a list of volumes that is long acknowledged would shrink again under mounted volumes.
 *
 * A status is written when the agent's state is not what the server last answered, and five minutes after the
 * last one. What others changed in it is put right too, but not at once: two agents of one name, or a server
 * that alters what it is given, are to cost a write each ten seconds and no more. */
#include "node/register.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "machinery/write.h"
#include "node/node_lease.h"
#include "node/node_status.h"
#include "node/register_int.h"

#define STATUS_PERIOD_NS (300 * NS_PER_S)
#define CORRECTION_NS (10 * NS_PER_S)
#define LIMITS_NS (10 * NS_PER_S)
#define RETRY_NS (200 * NS_PER_MS)
#define RETRY_NS_MAX (7 * NS_PER_S)
#define IN_USE_BYTES_MAX ((size_t)4 << 20)

enum registration_step { STEP_ADOPT, STEP_CREATE, STEP_STATUS, STEP_COUNT };

struct registration {
    struct registration_options o;
    char *name;
    char *root;
    struct node_facts facts; /* read at the start, and with each heartbeat */
    struct job *reading;     /* them anew; NULL */
    struct node_lease *lease;
    struct rng rng;
    struct informer_handler on_self;
    struct api_write write;
    enum registration_step step; /* of the write under way */
    struct deferred look;
    struct timer beat;   /* the next status without a cause */
    struct timer limits; /* the next look at what plugins can have */
    struct timer retry;  /* armed: nothing is tried before */
    struct patience patience;
    struct object *node; /* as the server last answered, labels in order; NULL: not registered */
    uint64_t written_ns; /* the last status */
    bool is_started;
    bool has_sent;   /* this write was needed */
    bool is_due;     /* a status is to be written, whatever it says */
    bool is_changed; /* reported since the last decision */
    bool is_other;   /* the machine is, since then */
};

static void start_step(struct registration *r, enum registration_step step);

/* --- Patience --- */

void patience_init(struct patience *p, uint64_t seed)
{
    *p = (struct patience){ 0 };
    rng_init(&p->rng, seed);
}

uint64_t patience_fail(struct patience *p, const char *what, const char *node, const struct error *e)
{
    uint64_t delay_ns = RETRY_NS;

    if (strcmp(p->last.msg, e->msg) != 0)
        log_warn(what, LOG_STR("node", node), LOG_ERR(e));
    p->last = *e;
    for (unsigned n = 0; n < p->failures && delay_ns < RETRY_NS_MAX; n++)
        delay_ns *= 2;
    delay_ns = delay_ns < RETRY_NS_MAX ? delay_ns : RETRY_NS_MAX;
    p->failures++;
    return delay_ns - rng_below(&p->rng, delay_ns / 5 + 1);
}

void patience_end(struct patience *p, const char *what, const char *node)
{
    if (p->failures)
        log_info(what, LOG_STR("node", node), LOG_UINT("failures", p->failures));
    p->failures = 0;
    p->last.msg[0] = '\0';
}

/* --- What is to stand there --- */

/* A wish and what it borrows. */
struct asked {
    struct node_wish wish;
    struct arena arena;
    struct texts in_use;
    struct amounts limits;
    struct error trouble;
};

static void asked_done(struct asked *a)
{
    arena_done(&a->arena);
}

static void ask(const struct registration *r, struct asked *ret)
{
    *ret = (struct asked){
        .wish = { .name = r->name,
                  .facts = &r->facts,
                  .attaches_itself = r->o.attaches_itself,
                  .cannot_mount = r->o.cannot_mount,
                  .now = timestamp_of_ns(clock_real_ns(r->o.part.clock)) },
        .arena = ARENA_INIT(IN_USE_BYTES_MAX),
    };
    if (r->o.in_use(r->o.ctx, &ret->arena, &ret->in_use) && !ret->arena.failed)
        ret->wish.in_use = &ret->in_use;
    if (r->o.is_ready(r->o.ctx, &ret->trouble) < 0)
        ret->wish.trouble = ret->trouble.msg;
    if (r->o.unknown_mounts)
        ret->wish.unknown_mounts = r->o.unknown_mounts(r->o.ctx);
    if (r->o.limits) {
        r->o.limits(r->o.ctx, &ret->arena, &ret->limits);
        ret->wish.limits = ret->arena.failed ? NULL : &ret->limits;
    }
    if (r->o.broken_plugins)
        ret->wish.broken_plugins = r->o.broken_plugins(r->o.ctx);
}

/* The wish without what the agent says of itself: for labels, annotations and what the machine is. */
static struct node_wish wish_for_machine(const struct registration *r)
{
    return (struct node_wish){ .name = r->name, .facts = &r->facts, .attaches_itself = r->o.attaches_itself };
}

static bool state_is_right(const struct registration *r)
{
    _cleanup_(asked_done) struct asked a = { 0 };

    ask(r, &a);
    return node_state_is_right(&a.wish, node_of(r->node));
}

/* --- The Node as it is known --- */

static bool is_ours(const struct registration *r, const struct object *o)
{
    return r->node && strcmp(r->node->uid, o->uid) == 0;
}

static void set_node(struct registration *r, const struct object *o)
{
    struct object *taken = o ? object_ref(o) : NULL;

    (void)object_unref(r->node);
    r->node = taken;
}

/* It is gone, or another one under its name: all begins anew. */
static void lose_node(struct registration *r)
{
    if (r->step == STEP_STATUS)
        api_write_cancel(&r->write);
    timer_disarm(&r->beat);
    node_lease_pause(r->lease);
    set_node(r, NULL);
    r->is_due = true;
    loop_defer(&r->look);
}

/* At this moment, or when the next heartbeat is due. */
static void arm_beat(struct registration *r, uint64_t at_ns)
{
    uint64_t last_ns = r->written_ns + STATUS_PERIOD_NS;

    timer_arm(&r->beat, at_ns < last_ns ? at_ns : last_ns);
}

/* What cannot be read now is what it was. */
static void on_facts(void *ctx, struct job *j, int result, const struct error *err)
{
    struct registration *r = ctx;
    struct node_wish wish = wish_for_machine(r);

    r->reading = NULL;
    if (result < 0) {
        log_warn("node's facts not read", LOG_STR("node", r->name), LOG_ERR(err));
        return;
    }
    r->facts = *node_facts_of(j);
    if (!r->node || node_facts_are_right(&wish, node_of(r->node)))
        return;
    r->is_other = true; /* not due: the write under way would make that undone */
    loop_defer(&r->look);
}

static void on_beat(void *ctx)
{
    struct registration *r = ctx;

    if (!r->reading && loop_now_ns(r->o.part.loop) >= r->written_ns + STATUS_PERIOD_NS)
        r->reading = node_facts_begin(r->root, r->o.pool, on_facts, r);
    r->is_due = true;
    loop_defer(&r->look);
}

/* A driver that was installed is asked by this look, and its answer seen by the next. */
static void on_limits(void *ctx)
{
    struct registration *r = ctx;

    timer_arm_after(&r->limits, LIMITS_NS);
    registration_report(r);
}

/* --- What the server says unasked --- */

static void on_seen(struct registration *r, const struct object *o)
{
    if (!r->node)
        return;
    if (!is_ours(r, o)) {
        lose_node(r);
    } else if (version_cmp(object_version(o), object_version(r->node)) == 1) {
        set_node(r, o);
        if (!state_is_right(r))
            arm_beat(r, r->written_ns + CORRECTION_NS);
    }
}

static void on_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    on_seen(ctx, o);
}

static void on_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    on_seen(ctx, o);
}

static void on_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct registration *r = ctx;

    (void)is_final_unknown;
    if (is_ours(r, o))
        lose_node(r);
}

/* --- Deciding what to write --- */

static enum api_verdict decide_adopt(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    struct node_wish wish = wish_for_machine(ctx);

    if (node_meta_is_right(&wish, now))
        return API_AS_IT_IS;
    return node_write_meta_patch(&wish, now, body, err) < 0 ? API_REFUSE : API_SEND;
}

/* One that came meanwhile is adopted, in a write of its own. */
static enum api_verdict decide_create(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    _cleanup_(asked_done) struct asked a = { 0 };

    (void)err;
    if (now)
        return API_AS_IT_IS;
    ask(ctx, &a);
    node_write_new(&a.wish, body);
    return API_SEND;
}

static enum api_verdict decide_status(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    struct registration *r = ctx;
    _cleanup_(asked_done) struct asked a = { 0 };

    if (!is_ours(r, now)) {
        (void)error_set(err, ERR_NOT_FOUND, "the Node was replaced");
        return API_REFUSE;
    }
    ask(r, &a);
    r->is_changed = r->is_other = false;
    if (!r->is_due && node_state_is_right(&a.wish, node_of(now)) &&
        node_facts_are_right(&a.wish, node_of(now)))
        return API_AS_IT_IS;
    r->has_sent = true;
    return node_write_status_patch(&a.wish, node_of(now), body, err) < 0 ? API_REFUSE : API_SEND;
}

/* --- After a write --- */

/* What the server has in use is told each time it is known to be what the agent asks for or waits for. */
static void tell(struct registration *r)
{
    _cleanup_(object_unref_p) struct object *held = object_ref(r->node);

    r->o.reported(r->o.ctx, node_of(held)->volumes_in_use);
}

static void after_meta(struct registration *r, const struct object *o)
{
    struct node_wish wish = wish_for_machine(r);

    if (!node_meta_is_right(&wish, o)) {
        start_step(r, STEP_ADOPT);
        return;
    }
    log_info("node registered", LOG_STR("node", r->name), LOG_STR("uid", o->uid));
    set_node(r, o);
    r->is_due = true;
    node_lease_keep(r->lease, o->uid);
    informer_observe(r->o.self, o);
    loop_defer(&r->look);
}

/* A status that is not what was asked for although nothing was reported since is not written again at once.
 */
static void after_status(struct registration *r, const struct object *o)
{
    uint64_t now_ns = loop_now_ns(r->o.part.loop);
    bool is_waiting = r->is_changed;

    set_node(r, o);
    if (r->has_sent) {
        r->is_due = false;
        r->written_ns = now_ns;
    }
    patience_end(&r->patience, "node's status written again", r->name);
    node_lease_keep(r->lease, o->uid);
    arm_beat(r, now_ns + (is_waiting || state_is_right(r) ? STATUS_PERIOD_NS : CORRECTION_NS));
    informer_observe(r->o.self, o);
    if (r->node)
        tell(r);
    if (is_waiting || r->is_other)
        loop_defer(&r->look);
}

/* From a refusal on, everything is looked at anew: whether it took effect is not known. */
static void after_failure(struct registration *r, const struct client_answer *a)
{
    static const char *const what[] = {
        [STEP_ADOPT] = "node not registered",
        [STEP_CREATE] = "node not registered",
        [STEP_STATUS] = "node's status not written",
    };

    r->is_due = true;
    if (r->step == STEP_STATUS && a->r == -ERR_NOT_FOUND)
        lose_node(r);
    timer_arm_after(&r->retry, patience_fail(&r->patience, what[r->step], r->name, &a->error));
}

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct registration *r = ctx;

    if (r->step == STEP_ADOPT && a->r == -ERR_NOT_FOUND)
        start_step(r, STEP_CREATE);
    else if (!api_went_well(outcome))
        after_failure(r, a);
    else if (r->step == STEP_STATUS)
        after_status(r, a->object);
    else
        after_meta(r, a->object);
}

static void start_step(struct registration *r, enum registration_step step)
{
    static api_decide_fn *const decides[] = {
        [STEP_ADOPT] = decide_adopt,
        [STEP_CREATE] = decide_create,
        [STEP_STATUS] = decide_status,
    };
    struct api_write_options o = { .api = { .client = r->o.part.client,
                                            .loop = r->o.part.loop,
                                            .manager = NODE_FIELD_MANAGER,
                                            .rng = &r->rng },
                                   .patience = API_FEW_FAST,
                                   .request = { .verb = step == STEP_CREATE ? CLIENT_CREATE : CLIENT_PATCH,
                                                .kind = kind_info(KIND_NODE),
                                                .name = r->name },
                                   .decide = decides[step],
                                   .done = on_written,
                                   .ctx = r };

    if (step == STEP_STATUS) {
        o.request.subresource = "status";
        o.request.patch = CLIENT_PATCH_STRATEGIC;
    }
    r->step = step;
    r->has_sent = false;
    api_write_start(&r->write, &o);
}

/* --- The next thing to do --- */

static void on_look(void *ctx)
{
    struct registration *r = ctx;

    if (!r->is_started || api_write_is_active(&r->write) || timer_is_armed(&r->retry))
        return;
    if (!r->node) {
        start_step(r, STEP_ADOPT);
    } else if (r->is_due || r->is_other || (r->is_changed && !state_is_right(r))) {
        start_step(r, STEP_STATUS);
    } else if (r->is_changed) {
        r->is_changed = false;
        tell(r);
    }
}

void registration_report(struct registration *r)
{
    r->is_changed = true;
    loop_defer(&r->look);
}

bool registration_is_done(const struct registration *r)
{
    return r->node != NULL;
}

/* --- Life --- */

static int registration_init(struct registration *r, const struct registration_options *o, struct error *err)
{
    int e;

    r->o = *o;
    r->is_due = true;
    rng_init(&r->rng, part_seed(&o->part, "registration"));
    patience_init(&r->patience, part_seed(&o->part, "registration's patience"));
    deferred_init(&r->look, o->part.loop, on_look, r);
    timer_init(&r->beat, o->part.loop, on_beat, r);
    timer_init(&r->retry, o->part.loop, on_look, r);
    timer_init(&r->limits, o->part.loop, on_limits, r);
    r->name = strdup(o->name);
    r->root = strdup(o->root);
    if (!r->name || !r->root)
        return error_no_memory(err);
    e = node_facts_read(o->root, &r->facts, err);
    return e < 0 ? e : node_lease_new(&o->part, r->name, &r->lease, err);
}

int registration_new(const struct registration_options *o, struct registration **ret, struct error *err)
{
    struct registration *r = calloc(1, sizeof *r);
    int e;

    assert(o->pool);
    if (!r)
        return error_no_memory(err);
    e = registration_init(r, o, err);
    if (e < 0) {
        (void)registration_free(r);
        return e;
    }
    *ret = r;
    return 0;
}

void registration_start(struct registration *r)
{
    assert(!r->is_started);
    r->is_started = true;
    r->on_self = (struct informer_handler){
        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .ctx = r
    };
    informer_add_handler(r->o.self, &r->on_self);
    loop_defer(&r->look);
    if (r->o.limits)
        timer_arm_after(&r->limits, LIMITS_NS);
}

struct registration *registration_free(struct registration *r)
{
    if (!r)
        return NULL;
    if (r->is_started)
        informer_remove_handler(&r->on_self);
    api_write_cancel(&r->write);
    r->lease = node_lease_free(r->lease);
    loop_undefer(&r->look);
    timer_disarm(&r->beat);
    timer_disarm(&r->retry);
    timer_disarm(&r->limits);
    (void)object_unref(r->node);
    r->reading = job_drop(r->reading);
    free(r->name);
    free(r->root);
    free(r);
    return NULL;
}
