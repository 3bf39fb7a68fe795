/* Writes the Node, one request at a time: the Node is adopted (labels and annotations) or created, then its
 * status is written. Every write reads the server's version first and decides on that
 * (machinery/api_write.h), and is conditional on its uid and version: a request that the network delivers
 * late fails instead of removing acknowledged volumes from volumesInUse while they are mounted.
 *
 * The status is written when the agent's state differs from the server's last response, and five minutes
 * after the last write. Changes by other clients are corrected, too, but with a delay: two agents with the
 * same name, or a server that modifies what it stores, cost at most one write per ten seconds. */
#include "node/register.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "machinery/api_write.h"
#include "node/node_lease.h"
#include "node/node_status.h"
#include "node/register_int.h"

#define STATUS_PERIOD_NS (300 * NS_PER_S)
#define CORRECTION_NS (10 * NS_PER_S)
#define LIMITS_NS (10 * NS_PER_S)
/* How long a Node that was ready before a restart stays so. It ends with the first check of limits. */
#define STARTING_NS LIMITS_NS
#define RETRY_NS (200 * NS_PER_MS)
#define RETRY_NS_MAX (7 * NS_PER_S)
#define IN_USE_BYTES_MAX ((size_t)4 << 20)

enum registration_step { STEP_ADOPT, STEP_CREATE, STEP_STATUS, STEP_COUNT };

struct registration {
    struct registration_options o;
    char *name;
    char *root;
    struct machine_info facts; /* read at start and with each heartbeat */
    struct job *reading;       /* the job that reads it again; NULL */
    struct node_lease *lease;
    struct rng rng;
    struct informer_handler on_self;
    struct api api;
    struct api_write write;
    enum registration_step step; /* of the write in flight */
    struct deferred look;
    struct timer beat;   /* the next periodic status */
    struct timer limits; /* the next check of the plugins' volume limits */
    struct timer retry;  /* armed: no write before it expires */
    struct patience patience;
    struct object *node; /* the server's last response, labels sorted; NULL: not registered */
    uint64_t started_ns;
    uint64_t written_ns; /* the last status */
    bool is_started;
    bool has_sent;   /* this write sent a request */
    bool is_due;     /* a status has to be written even if it is unchanged */
    bool is_changed; /* reported since the last decision */
    bool is_other;   /* the machine information changed since then */
    bool is_early;   /* no Node exists, and the volumes in use are not known yet */
};

static void start_step(struct registration *r, enum registration_step step);

/* --- Retries --- */

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

/* --- Desired state --- */

/* The desired status and the memory it refers to. */
struct collected_status {
    struct desired_node desired;
    struct arena arena;
    struct texts in_use;
    struct amounts limits;
    struct error not_ready_reason;
};

static void collected_status_done(struct collected_status *a)
{
    arena_done(&a->arena);
}

static void collect_status(const struct registration *r, struct collected_status *ret)
{
    *ret = (struct collected_status){
        .desired = { .name = r->name,
                     .facts = &r->facts,
                     .attaches_itself = r->o.attaches_itself,
                     .cannot_mount = r->o.cannot_mount,
                     .is_starting = loop_now_ns(r->o.part.loop) < r->started_ns + STARTING_NS,
                     .now = timestamp_of_ns(clock_real_ns(r->o.part.clock)) },
        .arena = ARENA_INIT(IN_USE_BYTES_MAX),
    };
    if (r->o.in_use(r->o.ctx, &ret->arena, &ret->in_use) && !ret->arena.failed)
        ret->desired.in_use = &ret->in_use;
    if (r->o.is_ready(r->o.ctx, &ret->not_ready_reason) < 0)
        ret->desired.not_ready_reason = ret->not_ready_reason.msg;
    if (r->o.unknown_mounts)
        ret->desired.unknown_mounts = r->o.unknown_mounts(r->o.ctx);
    if (r->o.limits) {
        r->o.limits(r->o.ctx, &ret->arena, &ret->limits);
        ret->desired.limits = ret->arena.failed ? NULL : &ret->limits;
    }
    if (r->o.broken_plugins)
        ret->desired.broken_plugins = r->o.broken_plugins(r->o.ctx);
}

static bool knows_in_use(const struct registration *r)
{
    _cleanup_(collected_status_done) struct collected_status a = { 0 };

    collect_status(r, &a);
    return a.desired.in_use;
}

/* The desired Node without the agent's state: for labels, annotations and machine information. */
static struct desired_node desired_for_machine(const struct registration *r)
{
    return (
        struct desired_node){ .name = r->name, .facts = &r->facts, .attaches_itself = r->o.attaches_itself };
}

static bool state_is_right(const struct registration *r)
{
    _cleanup_(collected_status_done) struct collected_status a = { 0 };

    collect_status(r, &a);
    return node_state_is_current(&a.desired, node_of(r->node));
}

/* --- Known state of the Node --- */

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

/* The Node was deleted or replaced: registration starts again. */
static void lose_node(struct registration *r)
{
    r->o.withdrawing(r->o.ctx, (struct texts){ 0 });
    if (r->step == STEP_STATUS)
        api_write_cancel(&r->write);
    timer_disarm(&r->beat);
    node_lease_pause(r->lease);
    set_node(r, NULL);
    r->is_due = true;
    loop_defer(&r->look);
}

/* Now, or when the next heartbeat is due. */
static void arm_beat(struct registration *r, uint64_t at_ns)
{
    uint64_t last_ns = r->written_ns + STATUS_PERIOD_NS;

    timer_arm(&r->beat, at_ns < last_ns ? at_ns : last_ns);
}

/* After a failure the old information is kept. */
static void on_facts(void *ctx, struct job *j, int result, const struct error *err)
{
    struct registration *r = ctx;
    struct desired_node desired = desired_for_machine(r);

    r->reading = NULL;
    if (result < 0) {
        log_warn("node status keeps old machine information", LOG_STR("node", r->name), LOG_ERR(err));
        return;
    }
    r->facts = *machine_info_of(j);
    if (!r->node || node_info_is_current(&desired, node_of(r->node)))
        return;
    r->is_other = true; /* not is_due: the write in flight would reset it */
    loop_defer(&r->look);
}

static void on_beat(void *ctx)
{
    struct registration *r = ctx;

    if (!r->reading && loop_now_ns(r->o.part.loop) >= r->written_ns + STATUS_PERIOD_NS)
        r->reading = machine_info_begin(r->root, r->o.pool, on_facts, r);
    r->is_due = true;
    loop_defer(&r->look);
}

/* This check queries newly installed drivers; the next one sees their answers. */
static void on_limits(void *ctx)
{
    struct registration *r = ctx;

    timer_arm_after(&r->limits, LIMITS_NS);
    registration_report(r);
}

/* --- Watch events --- */

static void on_upsert(void *ctx, const struct object *o)
{
    struct registration *r = ctx;

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

static void on_removed(void *ctx, const struct object *o)
{
    struct registration *r = ctx;

    if (is_ours(r, o))
        lose_node(r);
}

/* --- Decisions --- */

static enum api_decision decide_adopt(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    struct desired_node desired = desired_for_machine(ctx);

    if (node_meta_is_current(&desired, now))
        return API_AS_IT_IS;
    return api_decision_of(node_write_meta_patch(&desired, now, body, err));
}

/* A Node that was created meanwhile is adopted in a second write. */
static enum api_decision decide_create(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct registration *r = ctx;
    _cleanup_(collected_status_done) struct collected_status a = { 0 };

    (void)err;
    if (now)
        return API_AS_IT_IS;
    collect_status(r, &a);
    r->o.withdrawing(r->o.ctx, a.in_use);
    node_write_new(&a.desired, body);
    return API_SEND;
}

static enum api_decision decide_status(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    struct registration *r = ctx;
    _cleanup_(collected_status_done) struct collected_status a = { 0 };

    if (!is_ours(r, now)) {
        (void)error_set(err, ERR_NOT_FOUND, "the Node was replaced");
        return API_REFUSE;
    }
    collect_status(r, &a);
    r->is_changed = r->is_other = false;
    if (!r->is_due && node_state_is_current(&a.desired, node_of(now)) &&
        node_info_is_current(&a.desired, node_of(now)))
        return API_AS_IT_IS;
    r->has_sent = true;
    if (a.desired.in_use)
        r->o.withdrawing(r->o.ctx, a.in_use);
    return api_decision_of(node_write_status_patch(&a.desired, node_of(now), body, err));
}

/* --- After a write --- */

/* Reports the server's volumesInUse whenever it matches what the agent requested or waits for. */
static void notify_reported(struct registration *r)
{
    _cleanup_(object_unref_p) struct object *held = object_ref(r->node);

    r->o.reported(r->o.ctx, node_of(held)->volumes_in_use);
}

static void after_meta(struct registration *r, const struct object *o)
{
    struct desired_node desired = desired_for_machine(r);

    if (!node_meta_is_current(&desired, o)) {
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

/* A status that differs from the requested one although nothing was reported since is not rewritten at
 * once. */
static void after_status(struct registration *r, const struct object *o)
{
    uint64_t now_ns = loop_now_ns(r->o.part.loop);
    bool is_waiting = r->is_changed;

    set_node(r, o);
    if (r->has_sent) {
        r->is_due = false;
        r->written_ns = now_ns;
    }
    patience_end(&r->patience, "node status written again", r->name);
    node_lease_keep(r->lease, o->uid);
    arm_beat(r, now_ns + (is_waiting || state_is_right(r) ? STATUS_PERIOD_NS : CORRECTION_NS));
    informer_observe(r->o.self, o);
    if (r->node)
        notify_reported(r);
    if (is_waiting || r->is_other)
        loop_defer(&r->look);
}

/* After a failed request everything is read again: whether it took effect is unknown. */
static void after_failure(struct registration *r, const struct client_answer *a)
{
    static const char *const what[] = {
        [STEP_ADOPT] = "cannot register node",
        [STEP_CREATE] = "cannot register node",
        [STEP_STATUS] = "cannot write node status",
    };

    r->is_due = true;
    if (r->step == STEP_STATUS && a->r == -ERR_NOT_FOUND)
        lose_node(r);
    timer_arm_after(&r->retry, patience_fail(&r->patience, what[r->step], r->name, &a->error));
}

/* Not before it is known what is in use: a Node that does not say so would let the controllers detach what
 * was mounted before this agent started. */
static void create_node(struct registration *r)
{
    r->is_early = !knows_in_use(r);
    if (!r->is_early)
        start_step(r, STEP_CREATE);
}

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct registration *r = ctx;

    if (r->step == STEP_ADOPT && a->r == -ERR_NOT_FOUND)
        create_node(r);
    else if (!api_write_succeeded(outcome))
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
    struct api_write_options o = { .api = r->api,
                                   .patience = API_FEW_FAST,
                                   .request = { .verb = step == STEP_CREATE ? CLIENT_CREATE : CLIENT_PATCH,
                                                .kind = kind_info(KIND_NODE),
                                                .name = r->name },
                                   .decide = decides[step],
                                   .step = API_STEP_NODE,
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

/* --- Next step --- */

static void on_sync_due(void *ctx)
{
    struct registration *r = ctx;

    if (!r->is_started || api_write_is_active(&r->write) || timer_is_armed(&r->retry) ||
        (r->is_early && !knows_in_use(r)))
        return; /* what is to come looks again */
    if (!r->node) {
        start_step(r, STEP_ADOPT);
    } else if (r->is_due || r->is_other || (r->is_changed && !state_is_right(r))) {
        start_step(r, STEP_STATUS);
    } else if (r->is_changed) {
        r->is_changed = false;
        notify_reported(r);
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

/* --- Start and end --- */

static int registration_init(struct registration *r, const struct registration_options *o, struct error *err)
{
    int e;

    r->o = *o;
    r->is_due = true;
    rng_init(&r->rng, component_seed(&o->part, "registration"));
    patience_init(&r->patience, component_seed(&o->part, "registration's patience"));
    deferred_init(&r->look, o->part.loop, on_sync_due, r);
    timer_init(&r->beat, o->part.loop, on_beat, r);
    timer_init(&r->retry, o->part.loop, on_sync_due, r);
    timer_init(&r->limits, o->part.loop, on_limits, r);
    r->name = strdup(o->name);
    r->root = strdup(o->root);
    if (!r->name || !r->root)
        return error_no_memory(err);
    e = component_api(&o->part, NODE_FIELD_MANAGER, &r->api, err);
    r->api.rng = &r->rng;
    if (e == 0)
        e = machine_info_read(o->root, &r->facts, err);
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
    r->started_ns = loop_now_ns(r->o.part.loop);
    r->on_self = (struct informer_handler){ .on_upsert = on_upsert, .on_removed = on_removed, .ctx = r };
    informer_add_handler(r->o.self, &r->on_self);
    loop_defer(&r->look);
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
