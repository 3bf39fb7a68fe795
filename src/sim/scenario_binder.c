/* Binder: volumes, claims and classes come and go, and the binder sees to them. Whatever goes wrong, no
 * volume is taken from a claim or goes from one to another, no data is lost that somebody has or is to keep,
 * none is handed on, and in the end nobody waits for what is there. On some days there are two binders. */
#include "sim/scenario_binder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controllers/binder/decide.h"
#include "volumes/match.h"

/* --- Looking --- */

bool world_each(struct binder_world *x, enum kind k, world_fn *fn, void *ctx)
{
    struct store_iter it;
    const struct object *o;
    struct error err;
    bool goes_on = true;

    if (store_iter_begin(&it, x->sim->server.store, k, NULL, STR_LIT(""), STR_LIT(""), 0, &err) < 0)
        abort();
    while (goes_on && (o = store_iter_next(&it)))
        goes_on = fn(x, o, ctx);
    store_iter_done(&it);
    return goes_on;
}

struct search {
    const char *uid;
    const struct object *found;
};

static bool find(struct binder_world *x, const struct object *o, void *ctx)
{
    struct search *s = ctx;

    (void)x;
    if (strcmp(o->uid, s->uid) != 0)
        return true;
    s->found = o;
    return false;
}

static const struct object *by_uid(const struct binder_world *x, enum kind k, const char *uid)
{
    struct search s = { uid, NULL };

    (void)world_each((struct binder_world *)(uintptr_t)x, k, find, &s);
    return s.found;
}

const struct claim *world_claim_by_uid(const struct binder_world *x, const char *uid)
{
    const struct object *o = by_uid(x, KIND_CLAIM, uid);

    return o ? claim_of(o) : NULL;
}

const struct volume *world_volume_by_uid(const struct binder_world *x, const char *uid)
{
    const struct object *o = by_uid(x, KIND_VOLUME, uid);

    return o ? volume_of(o) : NULL;
}

bool world_is_in_use(const struct binder_world *x, const struct volume *v)
{
    const struct claim *c = v->claim.uid[0] ? world_claim_by_uid(x, v->claim.uid) : NULL;

    return c && (c->volume_name[0] == '\0' || strcmp(c->volume_name, v->obj.name) == 0);
}

struct storage *storage_of(struct binder_world *x, const char *uid)
{
    struct storage *s;

    for (unsigned i = 0; i < x->storages_count; i++)
        if (strcmp(x->storages[i].uid, uid) == 0)
            return &x->storages[i];
    if (x->storages_count == STORAGES_MAX)
        abort();
    s = &x->storages[x->storages_count++];
    (void)snprintf(s->uid, sizeof s->uid, "%s", uid);
    return s;
}

/* --- Storage --- */

static bool was_made(const struct binder_world *x, const char *volume)
{
    for (unsigned i = 0; i < x->made_count; i++)
        if (strcmp(x->made[i], volume) == 0)
            return true;
    return false;
}

static bool is_at_work(const struct binder_world *x, unsigned serial)
{
    for (unsigned i = 0; i < x->binders_count; i++)
        if (sim_binder_has_work(x->binders[i]->state, serial))
            return true;
    return false;
}

static void on_begin(void *ctx, const char *what, const char *name)
{
    struct sim_binder_effect e;

    sim_binder_effect_parse(name, &e);
    if (strcmp(what, SIM_BINDER_PROVISION) != 0)
        storage_of(ctx, e.uid)->is_begun = true;
}

static void on_effect(void *ctx, const char *what, const char *name)
{
    struct binder_world *x = ctx;
    bool is_recycling = strcmp(what, SIM_BINDER_RECYCLE) == 0;
    struct sim_binder_effect e;
    const struct volume *v;

    sim_binder_effect_parse(name, &e);
    if (strcmp(what, SIM_BINDER_PROVISION) == 0) {
        if (!was_made(x, e.volume) && x->made_count < MADE_MAX)
            (void)snprintf(x->made[x->made_count++], sizeof x->made[0], "%s", e.volume);
        return;
    }
    if (is_recycling && !is_at_work(x, e.serial))
        return; /* it died with its process, or was given up */
    v = world_volume_by_uid(x, e.uid);
    if (v && v->reclaim != (is_recycling ? RECLAIM_RECYCLE : RECLAIM_DELETE) &&
        !storage_of(x, e.uid)->is_kept_late)
        sim_fail(x->sim, "%s of the storage of %s, whose policy is %s", what, e.volume,
                 reclaim_policy_names[v->reclaim]);
    if (v && world_is_in_use(x, v))
        sim_fail(x->sim, "%s of the storage of %s under claim %s", what, e.volume, v->claim.name);
    storage_of(x, e.uid)->data[0] = '\0';
}

/* --- Every version of a volume that was ever committed --- */

static void check_freed(struct binder_world *x, const struct volume *was, const struct volume *v)
{
    struct storage *s = storage_of(x, v->obj.uid);

    if (world_is_in_use(x, was))
        sim_fail(x->sim, "volume %s is taken from claim %s", v->obj.name, was->claim.name);
    if (s->data[0] && !s->is_freed)
        sim_fail(x->sim, "volume %s is free with the data of a claim", v->obj.name);
    s->data[0] = '\0';
    s->is_freed = false;
}

static void check_gone(struct binder_world *x, const struct volume *v)
{
    const struct storage *s = storage_of(x, v->obj.uid);

    if (s->is_unwanted || s->is_kept_late)
        return;
    if (v->reclaim != RECLAIM_DELETE)
        sim_fail(x->sim, "volume %s is deleted, and its policy is %s", v->obj.name,
                 reclaim_policy_names[v->reclaim]);
    if (world_is_in_use(x, v))
        sim_fail(x->sim, "volume %s is deleted under claim %s", v->obj.name, v->claim.name);
}

/* Nobody who has not begun by now may touch a volume that is to be kept from here on. */
static void note_kept(struct binder_world *x, const struct volume *v)
{
    struct storage *s = storage_of(x, v->obj.uid);

    s->is_kept_late = s->is_begun;
    for (unsigned i = 0; i < x->binders_count; i++)
        s->is_kept_late |= sim_binder_is_reclaiming(x->binders[i]->state, v);
}

static void note_policy(struct binder_world *x, const struct volume *was, const struct volume *v)
{
    if (v->reclaim == RECLAIM_RETAIN && was->reclaim != RECLAIM_RETAIN)
        note_kept(x, v);
    if (x->is_moving_day && v->reclaim != RECLAIM_RETAIN && v->phase == VOLUME_RELEASED &&
        was->phase != VOLUME_RELEASED && rng_chance(&x->sim->work, 30))
        (void)snprintf(x->released, sizeof x->released, "%s", v->obj.uid);
}

/* A claim whose class is missing leaves volumes with node affinity alone for a while, unless it names one or
 * one names it. */
static void check_pinned(struct binder_world *x, const struct volume *was, const struct volume *v)
{
    const struct claim *c = v->claim.uid[0] ? world_claim_by_uid(x, v->claim.uid) : NULL;

    if (!v->affinity || was->claim.is_set || !c || strcmp(c->class, CLASS_NEVER) != 0 || c->volume_name[0])
        return;
    for (unsigned i = 0; i < ARRIVALS_MAX; i++)
        if (strcmp(x->arrivals[i].uid, c->obj.uid) == 0 &&
            x->sim->now_ns - x->arrivals[i].at_ns < DECIDE_CLASS_WAIT_NS)
            sim_fail(x->sim, "claim %s takes %s at once, and its class may come", c->obj.name, v->obj.name);
}

static void check_volume(struct binder_world *x, const struct store_event *ev)
{
    const struct volume *v = volume_of(ev->object), *was = ev->old ? volume_of(ev->old) : NULL;

    if (was && !ev->is_delete)
        check_pinned(x, was, v);
    if (!was && object_annotation(&v->obj, ANN_PROVISIONED_BY) && !was_made(x, v->obj.name))
        sim_fail(x->sim, "volume %s is there and was never provisioned", v->obj.name);
    if (was && !ev->is_delete)
        note_policy(x, was, v);
    if (ev->is_delete || (v->obj.is_deleting && was && !was->obj.is_deleting))
        check_gone(x, v);
    if (ev->is_delete || !was || was->claim.uid[0] == '\0' || strcmp(was->claim.uid, v->claim.uid) == 0)
        return;
    if (v->claim.uid[0])
        sim_fail(x->sim, "volume %s goes from one claim to another", v->obj.name);
    else
        check_freed(x, was, v);
}

/* --- The same for claims --- */

static void check_bound(struct binder_world *x, const struct claim *c)
{
    const struct volume *v = stored_volume(x->sim, c->volume_name);
    struct storage *s;

    if (!v || strcmp(v->claim.uid, c->obj.uid) != 0 || v->phase != VOLUME_BOUND) {
        sim_fail(x->sim, "claim %s is Bound to %s, which is %s", c->obj.name, c->volume_name,
                 !v                                      ? "not there"
                 : strcmp(v->claim.uid, c->obj.uid) != 0 ? "not for it"
                                                         : volume_phase_name(v->phase));
        return;
    }
    s = storage_of(x, v->obj.uid);
    if (s->data[0] && strcmp(s->data, c->obj.uid) != 0)
        sim_fail(x->sim, "claim %s gets %s with the data of another", c->obj.name, v->obj.name);
    (void)snprintf(s->data, sizeof s->data, "%s", c->obj.uid);
}

static void check_claim(struct binder_world *x, const struct store_event *ev)
{
    const struct claim *c = claim_of(ev->object), *was = ev->old ? claim_of(ev->old) : NULL;

    if (ev->is_delete)
        return;
    if (!was && strcmp(c->class, CLASS_NEVER) == 0) {
        struct arrival *a = &x->arrivals[x->arrivals_count++ % ARRIVALS_MAX];

        (void)snprintf(a->uid, sizeof a->uid, "%s", c->obj.uid);
        a->at_ns = x->sim->now_ns;
    }
    if (was && was->volume_name[0] && strcmp(was->volume_name, c->volume_name) != 0)
        sim_fail(x->sim, "claim %s is moved from %s to %s", c->obj.name, was->volume_name, c->volume_name);
    if (c->phase == CLAIM_BOUND && (!was || was->phase != CLAIM_BOUND))
        check_bound(x, c);
}

static void on_event(void *ctx, const struct store_event *ev)
{
    if (ev->object->kind->kind == KIND_VOLUME)
        check_volume(ctx, ev);
    else if (ev->object->kind->kind == KIND_CLAIM)
        check_claim(ctx, ev);
}

/* --- In the end --- */

static bool settle_error(struct error *err, const struct object *o, const char *what)
{
    (void)error_set(err, ERR_INTERNAL, "%s %s %s", o->kind->plural, o->name, what);
    return false;
}

static bool is_delayed(const struct binder_world *x, const struct claim *c)
{
    const struct storage_class *k = stored_class(x->sim, c->class);

    return k && k->binding == BINDING_WAIT_FOR_FIRST_CONSUMER;
}

struct fit {
    const struct claim *claim;
    const char *volume;
};

static bool fits(struct binder_world *x, const struct object *o, void *ctx)
{
    struct fit *f = ctx;
    struct match_options options = { .is_delayed = is_delayed(x, f->claim) };

    if (match_volume(volume_of(o), f->claim, &options) == REJECT_NONE)
        f->volume = o->name;
    return !f->volume;
}

/* Nobody waits for a volume that is there, or that somebody is there to make. */
static bool settled_unbound(struct binder_world *x, const struct claim *c, struct error *err)
{
    const struct storage_class *k = stored_class(x->sim, c->class);
    struct fit f = { c, NULL };

    (void)world_each(x, KIND_VOLUME, fits, &f);
    if (f.volume)
        return settle_error(err, &c->obj, "waits, and a volume fits");
    if (k && strcmp(k->provisioner, SIM_BINDER_PLUGIN) == 0)
        return settle_error(err, &c->obj, "waits to be provisioned");
    return c->phase == CLAIM_PENDING || c->class[0] ? true : settle_error(err, &c->obj, "is not Pending");
}

static bool settled_claim(struct binder_world *x, const struct object *o, void *ctx)
{
    const struct claim *c = claim_of(o);
    const struct volume *v = c->volume_name[0] ? stored_volume(x->sim, c->volume_name) : NULL;
    bool is_complete = object_annotation(o, ANN_BIND_COMPLETED) != NULL;
    struct error *err = ctx;

    if (o->is_deleting)
        return settle_error(err, o, "is going");
    if (c->volume_name[0] == '\0')
        return settled_unbound(x, c, err);
    if (v && v->claim.is_set && strcmp(v->claim.uid, o->uid) == 0)
        return c->phase == CLAIM_BOUND && is_complete ? true : settle_error(err, o, "is not Bound");
    if (v && !v->claim.is_set && (is_complete || match_named(v, c) == REJECT_NONE))
        return settle_error(err, o, "is not bound to the volume that it names");
    if (is_complete)
        return c->phase == CLAIM_LOST ? true : settle_error(err, o, "is not Lost");
    if (v && volume_is_for(v, c))
        return settle_error(err, o, "does not get what is kept for it");
    return c->phase == CLAIM_PENDING ? true : settle_error(err, o, "is not Pending");
}

/* Its claim is gone, or has another. */
static bool settled_released(const struct volume *v, struct error *err)
{
    if (v->reclaim != RECLAIM_RETAIN)
        return settle_error(err, &v->obj, "is not reclaimed");
    return v->phase == VOLUME_RELEASED ? true : settle_error(err, &v->obj, "is not Released");
}

static bool settled_volume(struct binder_world *x, const struct object *o, void *ctx)
{
    const struct volume *v = volume_of(o);
    const struct claim *c = v->claim.uid[0] ? world_claim_by_uid(x, v->claim.uid) : NULL;
    struct error *err = ctx;

    if (o->is_deleting && v->phase != VOLUME_BOUND)
        return settle_error(err, o, "is going");
    if (v->claim.uid[0] == '\0')
        return v->phase == VOLUME_AVAILABLE ? true : settle_error(err, o, "is not Available");
    if (!c)
        return settled_released(v, err);
    if (c->volume_name[0] == '\0')
        return true; /* too small for it, say: the claim's to judge */
    if (strcmp(c->volume_name, o->name) != 0)
        return settle_error(err, o, "is for a claim that has another");
    return v->phase == VOLUME_BOUND ? true : settle_error(err, o, "is not Bound");
}

static int settled(void *ctx, struct error *err)
{
    struct binder_world *x = ctx;
    int r = 0;

    binder_workload_protect(x);
    for (unsigned i = 0; i < x->binders_count && r == 0; i++)
        r = sim_binder_settled(x->binders[i]->state, err);
    if (r < 0)
        return r;
    if (!world_each(x, KIND_CLAIM, settled_claim, err) || !world_each(x, KIND_VOLUME, settled_volume, err))
        return -ERR_INTERNAL;
    return 0;
}

/* --- The day --- */

static void check(void *ctx)
{
    binder_workload_protect(ctx);
    binder_workload_keep(ctx);
}

static bool has_live_binder(const struct binder_world *x)
{
    for (unsigned i = 0; i < x->binders_count; i++)
        if (sim_process_is_live(x->binders[i]) && x->binders[i]->rejoins_ns <= x->sim->now_ns)
            return true;
    return false;
}

/* As a rule nobody bothers while nobody answers: steps are few, and most are to be the binders'. */
static void work(void *ctx)
{
    struct binder_world *x = ctx;

    if (!has_live_binder(x) && rng_chance(&x->sim->work, 85))
        return;
    for (uint64_t times = 1 + rng_below(&x->sim->work, 4); times; times--)
        binder_workload_work(x);
}

static void *begin(struct sim *s)
{
    struct binder_world *x = sim_alloc(sizeof *x);

    x->sim = s;
    s->host.on_begin = on_begin;
    s->host.on_effect = on_effect;
    s->host.ctx = x;
    store_watch(s->server.store, &x->watcher, KIND_COUNT, on_event, NULL, x);
    x->binders[x->binders_count++] = sim_spawn(s, &sim_binder_program_one, NULL);
    x->is_moving_day = s->host.is_unreliable = rng_chance(&s->work, 40);
    if (rng_chance(&s->work, x->is_moving_day ? 25 : 40))
        x->binders[x->binders_count++] = sim_spawn(s, &sim_binder_program_two, NULL);
    binder_workload_begin(x);
    return x;
}

static void end(void *ctx)
{
    struct binder_world *x = ctx;

    store_unwatch(x->sim->server.store, &x->watcher);
    free(x);
}

const struct sim_scenario sim_scenario_binder = {
    .name = "binder",
    .summary = "binders give claims volumes, and see to what is left behind",
    .steps_factor = 4,
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = end,
};
