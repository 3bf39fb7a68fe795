/* Elections of the snapshot controller.
 *
 * All decisions are made by one deferred pass, settle_now(); callbacks only request it, except that a lost
 * lease ends the controller at once. Nothing is freed from within its own callback.
 *
 * Invariant: the controller exists only while the leader leads. */
#include "controllers/snapshot/snapshots.h"

#include <stdlib.h>

#include "base/log.h"
#include "controllers/snapshot/snapshot_controller.h"
#include "machinery/leader.h"

/* With the server in this process nobody else competes for the lease but a stock controller. */
#define LOCAL_LEASE_NS (180 * NS_PER_S)
#define LOCAL_RENEW_NS (120 * NS_PER_S)
#define LOCAL_RETRY_NS (60 * NS_PER_S)
#define STOCK_RETRY_NS (5 * NS_PER_S)
/* After the election or the controller could not be started. */
#define RETRY_NS (1 * NS_PER_S)

struct snapshots {
    struct snapshots_options o;
    struct snapshot_caches caches;
    struct informer_handler snapshots_handler;
    struct informer_handler contents_handler;
    struct informer_handler groups_handler;
    struct informer_handler group_contents_handler;
    bool is_needed; /* an object of these kinds was seen */
    bool is_over;   /* the leader has ended and is to be freed */
    struct leader *leader;
    struct snapshot_controller *controller;
    struct deferred settle;
    struct timer retry;
};

/* --- Elections --- */

static void on_lease_held(void *ctx)
{
    struct snapshots *s = ctx;

    loop_defer(&s->settle);
}

static void on_lease_ended(void *ctx, bool is_lost)
{
    struct snapshots *s = ctx;

    if (is_lost)
        log_warn("snapshot controller ends: lease lost", LOG_STR("lease", SNAPSHOTS_LEASE),
                 LOG_STR("reason", leader_last_error(s->leader)));
    s->controller = snapshot_controller_free(s->controller);
    s->is_over = true;
    loop_defer(&s->settle);
}

static void on_lease_of_other(void *ctx, const char *holder)
{
    (void)ctx;
    log_info("snapshot controller stands by: another process holds its lease",
             LOG_STR("lease", SNAPSHOTS_LEASE), LOG_STR("holder", holder));
}

static int begin_election(struct snapshots *s, struct error *err)
{
    struct leader_options l = { .loop = s->o.part.loop,
                                .clock = s->o.part.clock,
                                .client = s->o.part.client,
                                .metrics = s->o.part.metrics,
                                .seed = component_seed(&s->o.part, SNAPSHOTS_LEASE),
                                .ns = s->o.lease_ns,
                                .name = SNAPSHOTS_LEASE,
                                .identity = s->o.identity,
                                .lease_ns = s->o.lease_duration_ns,
                                .renew_ns = s->o.renew_deadline_ns,
                                .retry_ns = s->o.retry_period_ns,
                                .wait_ns = STOCK_RETRY_NS,
                                .on_started = on_lease_held,
                                .on_stopped = on_lease_ended,
                                .on_standby = on_lease_of_other,
                                .ctx = s };
    int r;

    if (s->o.part.is_local && !s->o.lease_duration_ns) {
        l.lease_ns = LOCAL_LEASE_NS;
        l.renew_ns = LOCAL_RENEW_NS;
        l.retry_ns = LOCAL_RETRY_NS;
    }
    r = leader_new(&l, &s->leader, err);
    if (r == 0)
        leader_start(s->leader);
    return r;
}

static int begin_work(struct snapshots *s, struct error *err)
{
    int r = snapshot_controller_new(&s->o.part, &s->controller, err);

    if (r < 0)
        return r;
    log_info("snapshot controller works", LOG_STR("lease", SNAPSHOTS_LEASE));
    snapshot_controller_start(s->controller);
    return 0;
}

static void settle_now(void *ctx)
{
    struct snapshots *s = ctx;
    struct error err;
    int r = 0;

    if (s->is_over) {
        s->leader = leader_free(s->leader);
        s->is_over = false;
    }
    if (s->is_needed && !s->leader)
        r = begin_election(s, &err);
    else if (s->leader && !s->controller && leader_state(s->leader) == LEADER_LEADING)
        r = begin_work(s, &err);
    if (r < 0) {
        log_error("cannot start snapshot controller, will retry", LOG_ERR(&err));
        timer_arm_after(&s->retry, RETRY_NS);
    }
}

/* --- Event handlers --- */

static void on_snapshot_object(void *ctx, const struct object *o)
{
    struct snapshots *s = ctx;

    (void)o;
    if (s->is_needed)
        return;
    s->is_needed = true;
    loop_defer(&s->settle);
}

/* --- Lifecycle --- */

int snapshots_new(const struct snapshots_options *o, struct snapshots **ret, struct error *err)
{
    _cleanup_(snapshots_free_p) struct snapshots *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return error_no_memory(err);
    s->o = *o;
    deferred_init(&s->settle, o->part.loop, settle_now, s);
    timer_init(&s->retry, o->part.loop, settle_now, s);
    r = snapshot_caches_open(o->part.informers, &s->caches, err);
    if (r == 0)
        *ret = TAKE(s);
    return r;
}

void snapshots_start(struct snapshots *s)
{
    s->snapshots_handler = (struct informer_handler){ .on_upsert = on_snapshot_object, .ctx = s };
    s->contents_handler = s->groups_handler = s->group_contents_handler = s->snapshots_handler;
    informer_add_handler(s->caches.snapshots, &s->snapshots_handler);
    informer_add_handler(s->caches.contents, &s->contents_handler);
    informer_add_handler(s->caches.groups, &s->groups_handler);
    informer_add_handler(s->caches.group_contents, &s->group_contents_handler);
}

const char *snapshots_check(const struct snapshots *s)
{
    if (s->controller && (!s->leader || leader_state(s->leader) != LEADER_LEADING))
        return "the snapshot controller works without its lease";
    return s->controller ? snapshot_controller_check(s->controller) : NULL;
}

struct snapshots *snapshots_free(struct snapshots *s)
{
    if (!s)
        return NULL;
    informer_remove_handler(&s->snapshots_handler);
    informer_remove_handler(&s->contents_handler);
    informer_remove_handler(&s->groups_handler);
    informer_remove_handler(&s->group_contents_handler);
    loop_undefer(&s->settle);
    timer_disarm(&s->retry);
    s->controller = snapshot_controller_free(s->controller);
    s->leader = leader_free(s->leader);
    free(s);
    return NULL;
}
