/* Scenario binder: one or two binders, with a plugin whose storage is on the simulated host. The workload
 * creates, changes and deletes volumes, claims and classes.
 *
 * Invariants: no volume is taken from a claim or moves from one claim to another; no storage is changed while
 * a claim uses it, or against its policy; no claim gets the data of another. Finally no claim waits if a
 * volume is available or can be provisioned.
 *
 * Costs: objects are found by uid with a linear search through the store; there are a few dozen. */
#include "sim/scenario_binder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controllers/binder/decide.h"
#include "volumes/match.h"

/* --- Lookups --- */

bool binder_scenario_each(struct binder_scenario *scenario, enum kind k, binder_scenario_fn *fn, void *ctx)
{
    struct store_iter it;
    const struct object *o;
    struct error err;
    bool goes_on = true;

    if (store_iter_begin(&it, scenario->sim->server.store, k, NULL, STR_LIT(""), STR_LIT(""), 0, &err) < 0)
        abort();
    while (goes_on && (o = store_iter_next(&it)))
        goes_on = fn(scenario, o, ctx);
    store_iter_done(&it);
    return goes_on;
}

struct search {
    const char *uid;
    const struct object *found;
};

static bool match_uid(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    struct search *s = ctx;

    (void)scenario;
    if (strcmp(o->uid, s->uid) != 0)
        return true;
    s->found = o;
    return false;
}

static const struct object *find_by_uid(const struct binder_scenario *scenario, enum kind k, const char *uid)
{
    struct search s = { uid, NULL };

    (void)binder_scenario_each((struct binder_scenario *)(uintptr_t)scenario, k, match_uid, &s);
    return s.found;
}

const struct claim *binder_scenario_find_claim(const struct binder_scenario *scenario, const char *uid)
{
    const struct object *o = find_by_uid(scenario, KIND_CLAIM, uid);

    return o ? claim_of(o) : NULL;
}

const struct volume *binder_scenario_find_volume(const struct binder_scenario *scenario, const char *uid)
{
    const struct object *o = find_by_uid(scenario, KIND_VOLUME, uid);

    return o ? volume_of(o) : NULL;
}

bool binder_scenario_is_in_use(const struct binder_scenario *scenario, const struct volume *v)
{
    const struct claim *c = v->claim.uid[0] ? binder_scenario_find_claim(scenario, v->claim.uid) : NULL;

    return c && (c->volume_name[0] == '\0' || strcmp(c->volume_name, v->obj.name) == 0);
}

struct binder_storage *binder_scenario_storage(struct binder_scenario *scenario, const char *uid)
{
    struct binder_storage *s;

    for (unsigned i = 0; i < scenario->storages_count; i++)
        if (strcmp(scenario->storages[i].uid, uid) == 0)
            return &scenario->storages[i];
    if (scenario->storages_count == STORAGES_MAX)
        abort();
    s = &scenario->storages[scenario->storages_count++];
    (void)snprintf(s->uid, sizeof s->uid, "%s", uid);
    return s;
}

/* --- Host operations --- */

static bool was_provisioned(const struct binder_scenario *scenario, const char *volume)
{
    for (unsigned i = 0; i < scenario->provisioned_count; i++)
        if (strcmp(scenario->provisioned[i], volume) == 0)
            return true;
    return false;
}

static bool has_work(const struct binder_scenario *scenario, unsigned serial)
{
    for (unsigned i = 0; i < scenario->binders_count; i++)
        if (sim_binder_has_work(scenario->binders[i]->state, serial))
            return true;
    return false;
}

static void on_begin(void *ctx, const char *what, const char *name)
{
    struct sim_binder_effect e;

    sim_binder_effect_parse(name, &e);
    if (strcmp(what, SIM_BINDER_PROVISION) != 0)
        binder_scenario_storage(ctx, e.uid)->is_reclaim_begun = true;
}

static void on_effect(void *ctx, const char *what, const char *name)
{
    struct binder_scenario *scenario = ctx;
    bool is_recycling = strcmp(what, SIM_BINDER_RECYCLE) == 0;
    struct sim_binder_effect e;
    const struct volume *v;

    sim_binder_effect_parse(name, &e);
    if (strcmp(what, SIM_BINDER_PROVISION) == 0) {
        if (!was_provisioned(scenario, e.volume) && scenario->provisioned_count < PROVISIONED_MAX)
            (void)snprintf(scenario->provisioned[scenario->provisioned_count++],
                           sizeof scenario->provisioned[0], "%s", e.volume);
        return;
    }
    if (is_recycling && !has_work(scenario, e.serial))
        return; /* its process was killed, or it was cancelled */
    v = binder_scenario_find_volume(scenario, e.uid);
    if (v && v->reclaim != (is_recycling ? RECLAIM_RECYCLE : RECLAIM_DELETE) &&
        !binder_scenario_storage(scenario, e.uid)->is_retained_late)
        sim_fail(scenario->sim, "%s of the storage of %s, whose policy is %s", what, e.volume,
                 reclaim_policy_names[v->reclaim]);
    if (v && binder_scenario_is_in_use(scenario, v))
        sim_fail(scenario->sim, "%s of the storage of %s, which claim %s uses", what, e.volume,
                 v->claim.name);
    binder_scenario_storage(scenario, e.uid)->data[0] = '\0';
}

/* --- Every stored version of a volume --- */

static void check_available_again(struct binder_scenario *scenario, const struct volume *was,
                                  const struct volume *v)
{
    struct binder_storage *s = binder_scenario_storage(scenario, v->obj.uid);

    if (binder_scenario_is_in_use(scenario, was))
        sim_fail(scenario->sim, "volume %s is taken from claim %s", v->obj.name, was->claim.name);
    if (s->data[0] && !s->is_data_discarded)
        sim_fail(scenario->sim, "volume %s is available with the data of a claim", v->obj.name);
    s->data[0] = '\0';
    s->is_data_discarded = false;
}

static void check_deleted(struct binder_scenario *scenario, const struct volume *v)
{
    const struct binder_storage *s = binder_scenario_storage(scenario, v->obj.uid);

    if (s->is_deleted_by_user || s->is_retained_late)
        return;
    if (v->reclaim != RECLAIM_DELETE)
        sim_fail(scenario->sim, "volume %s is deleted, and its policy is %s", v->obj.name,
                 reclaim_policy_names[v->reclaim]);
    if (binder_scenario_is_in_use(scenario, v))
        sim_fail(scenario->sim, "volume %s is deleted while claim %s uses it", v->obj.name, v->claim.name);
}

/* The policy becomes Retain: only a reclaim that has already started may still change the storage. */
static void record_retained(struct binder_scenario *scenario, const struct volume *v)
{
    struct binder_storage *s = binder_scenario_storage(scenario, v->obj.uid);

    s->is_retained_late = s->is_reclaim_begun;
    for (unsigned i = 0; i < scenario->binders_count; i++)
        s->is_retained_late |= sim_binder_is_reclaiming(scenario->binders[i]->state, v);
}

static void record_policy(struct binder_scenario *scenario, const struct volume *was, const struct volume *v)
{
    if (v->reclaim == RECLAIM_RETAIN && was->reclaim != RECLAIM_RETAIN)
        record_retained(scenario, v);
    if (scenario->has_quick_changes && v->reclaim != RECLAIM_RETAIN && v->phase == VOLUME_RELEASED &&
        was->phase != VOLUME_RELEASED && rng_chance(&scenario->sim->work, 30))
        (void)snprintf(scenario->retain_uid, sizeof scenario->retain_uid, "%s", v->obj.uid);
}

/* A claim whose class does not exist must not take a volume with node affinity for a while, unless it names
 * the volume or the volume names it. */
static void check_pinned(struct binder_scenario *scenario, const struct volume *was, const struct volume *v)
{
    const struct claim *c = v->claim.uid[0] ? binder_scenario_find_claim(scenario, v->claim.uid) : NULL;

    if (!v->affinity || was->claim.is_set || !c || strcmp(c->class, CLASS_NEVER) != 0 || c->volume_name[0])
        return;
    for (unsigned i = 0; i < ARRIVALS_MAX; i++)
        if (strcmp(scenario->arrivals[i].uid, c->obj.uid) == 0 &&
            scenario->sim->now_ns - scenario->arrivals[i].at_ns < DECIDE_CLASS_WAIT_NS)
            sim_fail(scenario->sim, "claim %s takes %s at once, and its class may still be created",
                     c->obj.name, v->obj.name);
}

static void check_volume(struct binder_scenario *scenario, const struct store_event *ev)
{
    const struct volume *v = volume_of(ev->object), *was = ev->old ? volume_of(ev->old) : NULL;

    if (was && !ev->is_delete)
        check_pinned(scenario, was, v);
    if (!was && object_annotation(&v->obj, ANN_PROVISIONED_BY) && !was_provisioned(scenario, v->obj.name))
        sim_fail(scenario->sim, "volume %s exists and was never provisioned", v->obj.name);
    if (was && !ev->is_delete)
        record_policy(scenario, was, v);
    if (ev->is_delete || (v->obj.is_deleting && was && !was->obj.is_deleting))
        check_deleted(scenario, v);
    if (ev->is_delete || !was || was->claim.uid[0] == '\0' || strcmp(was->claim.uid, v->claim.uid) == 0)
        return;
    if (v->claim.uid[0])
        sim_fail(scenario->sim, "volume %s moves from one claim to another", v->obj.name);
    else
        check_available_again(scenario, was, v);
}

/* --- Every stored version of a claim --- */

static void check_bound(struct binder_scenario *scenario, const struct claim *c)
{
    const struct volume *v = stored_volume(scenario->sim, c->volume_name);
    struct binder_storage *s;

    if (!v || strcmp(v->claim.uid, c->obj.uid) != 0 || v->phase != VOLUME_BOUND) {
        sim_fail(scenario->sim, "claim %s is Bound to %s, which is %s", c->obj.name, c->volume_name,
                 !v                                      ? "missing"
                 : strcmp(v->claim.uid, c->obj.uid) != 0 ? "reserved for another claim"
                                                         : volume_phase_name(v->phase));
        return;
    }
    s = binder_scenario_storage(scenario, v->obj.uid);
    if (s->data[0] && strcmp(s->data, c->obj.uid) != 0)
        sim_fail(scenario->sim, "claim %s gets %s with the data of another", c->obj.name, v->obj.name);
    (void)snprintf(s->data, sizeof s->data, "%s", c->obj.uid);
}

static void check_claim(struct binder_scenario *scenario, const struct store_event *ev)
{
    const struct claim *c = claim_of(ev->object), *was = ev->old ? claim_of(ev->old) : NULL;

    if (ev->is_delete)
        return;
    if (!was && strcmp(c->class, CLASS_NEVER) == 0) {
        struct claim_arrival *a = &scenario->arrivals[scenario->arrivals_count++ % ARRIVALS_MAX];

        (void)snprintf(a->uid, sizeof a->uid, "%s", c->obj.uid);
        a->at_ns = scenario->sim->now_ns;
    }
    if (was && was->volume_name[0] && strcmp(was->volume_name, c->volume_name) != 0)
        sim_fail(scenario->sim, "claim %s is moved from %s to %s", c->obj.name, was->volume_name,
                 c->volume_name);
    if (c->phase == CLAIM_BOUND && (!was || was->phase != CLAIM_BOUND))
        check_bound(scenario, c);
}

static void on_event(void *ctx, const struct store_event *ev)
{
    if (ev->object->kind->kind == KIND_VOLUME)
        check_volume(ctx, ev);
    else if (ev->object->kind->kind == KIND_CLAIM)
        check_claim(ctx, ev);
}

/* --- The final state --- */

static bool settle_error(struct error *err, const struct object *o, const char *what)
{
    (void)error_set(err, ERR_INTERNAL, "%s %s %s", o->kind->plural, o->name, what);
    return false;
}

static bool is_delayed(const struct binder_scenario *scenario, const struct claim *c)
{
    const struct storage_class *k = stored_class(scenario->sim, c->class);

    return k && k->binding == BINDING_WAIT_FOR_FIRST_CONSUMER;
}

struct fit {
    const struct claim *claim;
    const char *volume;
};

static bool find_fit(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    struct fit *f = ctx;
    struct match_options options = { .is_delayed = is_delayed(scenario, f->claim) };

    if (match_volume(volume_of(o), f->claim, &options) == REJECT_NONE)
        f->volume = o->name;
    return !f->volume;
}

/* An unbound claim: no volume matches it, and its class is not provisioned here. */
static bool settled_unbound(struct binder_scenario *scenario, const struct claim *c, struct error *err)
{
    const struct storage_class *k = stored_class(scenario->sim, c->class);
    struct fit f = { c, NULL };

    (void)binder_scenario_each(scenario, KIND_VOLUME, find_fit, &f);
    if (f.volume)
        return settle_error(err, &c->obj, "waits, and a volume matches");
    if (k && strcmp(k->provisioner, SIM_BINDER_PLUGIN) == 0)
        return settle_error(err, &c->obj, "waits to be provisioned");
    return c->phase == CLAIM_PENDING || c->class[0] ? true : settle_error(err, &c->obj, "is not Pending");
}

static bool settled_claim(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    const struct claim *c = claim_of(o);
    const struct volume *v = c->volume_name[0] ? stored_volume(scenario->sim, c->volume_name) : NULL;
    bool is_complete = object_annotation(o, ANN_BIND_COMPLETED) != NULL;
    struct error *err = ctx;

    if (o->is_deleting)
        return settle_error(err, o, "is being deleted");
    if (c->volume_name[0] == '\0')
        return settled_unbound(scenario, c, err);
    if (v && v->claim.is_set && strcmp(v->claim.uid, o->uid) == 0)
        return c->phase == CLAIM_BOUND && is_complete ? true : settle_error(err, o, "is not Bound");
    if (v && !v->claim.is_set && (is_complete || match_named(v, c) == REJECT_NONE))
        return settle_error(err, o, "is not bound to the volume that it names");
    if (is_complete)
        return c->phase == CLAIM_LOST ? true : settle_error(err, o, "is not Lost");
    if (v && volume_is_for(v, c))
        return settle_error(err, o, "does not get the volume that is reserved for it");
    return c->phase == CLAIM_PENDING ? true : settle_error(err, o, "is not Pending");
}

/* A volume whose claim was deleted. */
static bool settled_released(const struct volume *v, struct error *err)
{
    if (v->reclaim != RECLAIM_RETAIN)
        return settle_error(err, &v->obj, "is not reclaimed");
    return v->phase == VOLUME_RELEASED ? true : settle_error(err, &v->obj, "is not Released");
}

static bool settled_volume(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    const struct volume *v = volume_of(o);
    const struct claim *c = v->claim.uid[0] ? binder_scenario_find_claim(scenario, v->claim.uid) : NULL;
    struct error *err = ctx;

    if (o->is_deleting && v->phase != VOLUME_BOUND)
        return settle_error(err, o, "is being deleted");
    if (v->claim.uid[0] == '\0')
        return v->phase == VOLUME_AVAILABLE ? true : settle_error(err, o, "is not Available");
    if (!c)
        return settled_released(v, err);
    if (c->volume_name[0] == '\0')
        return true; /* checked with the claim: the volume may be too small for it */
    if (strcmp(c->volume_name, o->name) != 0)
        return settle_error(err, o, "is reserved for a claim that has another volume");
    return v->phase == VOLUME_BOUND ? true : settle_error(err, o, "is not Bound");
}

static int binder_scenario_settled(void *ctx, struct error *err)
{
    struct binder_scenario *scenario = ctx;
    int r = 0;

    binder_workload_protect(scenario);
    for (unsigned i = 0; i < scenario->binders_count && r == 0; i++)
        r = sim_binder_settled(scenario->binders[i]->state, err);
    if (r < 0)
        return r;
    if (!binder_scenario_each(scenario, KIND_CLAIM, settled_claim, err) ||
        !binder_scenario_each(scenario, KIND_VOLUME, settled_volume, err))
        return -ERR_INTERNAL;
    return 0;
}

/* --- Begin, work and end --- */

static void binder_scenario_check(void *ctx)
{
    binder_workload_protect(ctx);
    binder_workload_retain(ctx);
}

static bool has_live_binder(const struct binder_scenario *scenario)
{
    for (unsigned i = 0; i < scenario->binders_count; i++)
        if (sim_process_is_live(scenario->binders[i]) &&
            scenario->binders[i]->rejoins_ns <= scenario->sim->now_ns)
            return true;
    return false;
}

/* Mostly idle while no binder runs: most steps should be those of the binders. */
static void binder_scenario_work(void *ctx)
{
    struct binder_scenario *scenario = ctx;

    if (!has_live_binder(scenario) && rng_chance(&scenario->sim->work, 85))
        return;
    for (uint64_t times = 1 + rng_below(&scenario->sim->work, 4); times; times--)
        binder_workload_work(scenario);
}

static void *binder_scenario_begin(struct sim *s)
{
    struct binder_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    s->host.on_begin = on_begin;
    s->host.on_effect = on_effect;
    s->host.ctx = scenario;
    store_watch(s->server.store, &scenario->watcher, KIND_COUNT, on_event, NULL, scenario);
    scenario->binders[scenario->binders_count++] = sim_spawn(s, &sim_binder_program_one, NULL);
    scenario->has_quick_changes = s->host.is_unreliable = rng_chance(&s->work, 40);
    if (rng_chance(&s->work, scenario->has_quick_changes ? 25 : 40))
        scenario->binders[scenario->binders_count++] = sim_spawn(s, &sim_binder_program_two, NULL);
    binder_workload_begin(scenario);
    return scenario;
}

static void binder_scenario_end(void *ctx)
{
    struct binder_scenario *scenario = ctx;

    store_unwatch(scenario->sim->server.store, &scenario->watcher);
    free(scenario);
}

const struct sim_scenario sim_scenario_binder = {
    .name = "binder",
    .steps_factor = 4,
    .begin = binder_scenario_begin,
    .work = binder_scenario_work,
    .check = binder_scenario_check,
    .settled = binder_scenario_settled,
    .end = binder_scenario_end,
};
