/* Backlog: hundreds of volumes and claims, half of the time with the longest names. They are there before the
 * binder starts, or the claims come while it makes the volumes Available. With volumes for all of them every
 * claim is bound, and none is told otherwise or provisioned for on the way; with fewer volumes than claims no
 * volume stays free. How often the binder looks for a volume grows with the number of objects and of its
 * requests, not with their product. */
#include "sim/sim_binder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/claim.h"
#include "api/event.h"
#include "sim/objects.h"

#define NAME_BYTES 253
#define CLAIMS_MAX 300
#define CLASS "gold"

struct backlog {
    struct sim *sim;
    struct sim_process *binder; /* NULL: not everything is there yet */
    struct store_watcher watcher;
    unsigned claims;
    unsigned volumes;
    unsigned volumes_made; /* the others come later */
    unsigned looks;        /* for what is missing */
    bool is_scarce;
    bool is_late; /* the claims come when the binder runs */
    bool has_long_names;
    unsigned touched;
    unsigned starts;   /* of the binder, and since then: */
    unsigned requests; /* without watches */
};

/* --- Objects --- */

static void name_of(const struct backlog *x, char kind, unsigned number, char to[static NAME_BYTES + 1])
{
    int len = snprintf(to, NAME_BYTES + 1, "%c%03u", kind, number);

    if (!x->has_long_names)
        return;
    memset(to + len, 'x', (size_t)(NAME_BYTES - len));
    to[NAME_BYTES] = '\0';
}

/* Sizes and classes by number: of each there are as many volumes as claims. */
static const char *class_of(const struct backlog *x, unsigned number)
{
    return !x->is_scarce && number % 2 ? CLASS : "";
}

static unsigned size_of(const struct backlog *x, unsigned number)
{
    return x->is_scarce ? 1 : 1 + number * 7 % 5;
}

static void make_volume(struct backlog *x, unsigned number)
{
    char name[NAME_BYTES + 1];

    name_of(x, 'v', number, name);
    objects_create(
        x->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'%uGi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':'/x'},"
        "'storageClassName':'%s','persistentVolumeReclaimPolicy':'Retain'}}",
        name, size_of(x, number), class_of(x, number));
}

static bool count(void *ctx, const struct object *o)
{
    (void)o;
    ++*(unsigned *)ctx;
    return true;
}

static unsigned count_of(struct backlog *x, enum kind k)
{
    unsigned n = 0;

    (void)objects_each(x->sim, k, count, &n);
    return n;
}

/* In any order: who comes first is not who is looked at first. */
static void make_claims(struct backlog *x)
{
    unsigned from = (unsigned)rng_below(&x->sim->work, x->claims);
    char name[NAME_BYTES + 1];

    for (unsigned i = 0; i < x->claims; i++) {
        unsigned number = (from + i) % x->claims;

        name_of(x, 'c', number, name);
        objects_create(x->sim, KIND_CLAIM, name,
                       "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                       "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'%uGi'}},"
                       "'storageClassName':'%s'}}",
                       name, size_of(x, number), class_of(x, number));
    }
}

/* A server that was restarted has not heard of some. */
static void make_missing(struct backlog *x)
{
    if (count_of(x, KIND_CLASS) == 0)
        objects_create(x->sim, KIND_CLASS, CLASS,
                       "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'" CLASS
                       "'},'provisioner':'" BINDERY_PLUGIN "'}");
    for (unsigned i = 0; i < x->volumes_made; i++)
        make_volume(x, i);
    if (!x->is_late)
        make_claims(x);
}

/* --- What must never be --- */

static void on_event(void *ctx, const struct store_event *ev)
{
    struct backlog *x = ctx;
    const char *reason;

    if (ev->is_delete || x->is_scarce || ev->object->kind->kind != KIND_EVENT)
        return;
    reason = ((const struct event *)(const void *)ev->object)->reason;
    if (strcmp(reason, "Bound") != 0)
        sim_fail(x->sim, "a claim is told %s, and there are volumes for all", reason);
}

static void on_send(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q)
{
    struct backlog *x = ctx;

    (void)id;
    if (p->starts != x->starts) {
        x->starts = p->starts;
        x->requests = 0;
    }
    x->requests += q->verb != CLIENT_WATCH;
}

static void check(void *ctx)
{
    struct backlog *x = ctx;
    uint64_t matches;

    if (x->binder) {
        /* A claim is looked at when it comes, when it was touched, after each of its requests, and once for
         * each volume that it is woken for. */
        matches = x->binder->state ? sim_binder_matches(x->binder->state) : 0;
        if (matches > x->claims + x->volumes + x->requests + x->touched)
            sim_fail(x->sim, "%u claims and %u volumes, %u requests, and %u searches", x->claims, x->volumes,
                     x->requests, (unsigned)matches);
        return;
    }
    if (count_of(x, KIND_VOLUME) == x->volumes_made && count_of(x, KIND_CLASS) == 1 &&
        count_of(x, KIND_CLAIM) == (x->is_late ? 0 : x->claims))
        x->binder = sim_spawn(x->sim, &sim_binder_program_one, NULL);
    else if (x->looks++ % 1000 == 0)
        make_missing(x);
}

/* --- In the end --- */

struct tally {
    unsigned bound;
    unsigned free;
};

static bool tally_claim(void *ctx, const struct object *o)
{
    struct tally *t = ctx;

    t->bound += claim_of(o)->phase == CLAIM_BOUND && claim_of(o)->volume_name[0] != '\0';
    return true;
}

static bool tally_volume(void *ctx, const struct object *o)
{
    struct tally *t = ctx;

    t->free += !volume_of(o)->claim.is_set;
    return true;
}

static int settled(void *ctx, struct error *err)
{
    struct backlog *x = ctx;
    unsigned volumes = count_of(x, KIND_VOLUME), expected = volumes < x->claims ? volumes : x->claims;
    struct tally t = { 0 };

    if (!x->binder || !x->binder->state)
        return error_set(err, ERR_INTERNAL, "the binder has not started");
    if (count_of(x, KIND_CLAIM) < x->claims) {
        make_claims(x);
        return error_set(err, ERR_INTERNAL, "some claims are yet to come");
    }
    (void)objects_each(x->sim, KIND_CLAIM, tally_claim, &t);
    (void)objects_each(x->sim, KIND_VOLUME, tally_volume, &t);
    if (t.bound != expected || t.free != volumes - expected)
        return error_set(err, ERR_INTERNAL, "%u claims of %u are bound, %u volumes of %u are free", t.bound,
                         x->claims, t.free, volumes);
    return sim_binder_settled(x->binder->state, err);
}

/* --- The day --- */

struct choice {
    uint64_t which;
    struct sim *sim;
};

static bool touch(void *ctx, const struct object *o)
{
    struct choice *c = ctx;

    if (c->which-- > 0)
        return true;
    objects_set_label(c->sim, o, "touched", "yes");
    return false;
}

/* Volumes that were missing come one after the other; somebody touches what is being bound. */
static void work(void *ctx)
{
    struct backlog *x = ctx;
    struct rng *r = &x->sim->work;
    struct choice c = { rng_below(r, x->claims), x->sim };

    if (!x->binder)
        return;
    if (count_of(x, KIND_CLAIM) < x->claims) {
        make_claims(x);
    } else if (x->volumes_made < x->volumes) {
        make_volume(x, x->volumes_made++);
    } else if (rng_chance(r, 30)) {
        x->touched++;
        (void)objects_each(x->sim, rng_chance(r, 50) ? KIND_VOLUME : KIND_CLAIM, touch, &c);
    }
}

static void *begin(struct sim *s)
{
    struct backlog *x = sim_alloc(sizeof *x);

    x->sim = s;
    x->is_scarce = rng_chance(&s->work, 30);
    x->is_late = rng_chance(&s->work, 50);
    x->has_long_names = rng_chance(&s->work, 50);
    x->claims = rng_chance(&s->work, 10) ? CLAIMS_MAX : 50 + (unsigned)rng_below(&s->work, 50);
    /* Some are promised in vain, for a while: more than enough. */
    x->volumes = x->is_scarce ? x->claims / 2 : x->claims * 2;
    x->volumes_made = x->is_scarce ? x->volumes / 2 : x->volumes;
    s->network.on_send = on_send;
    s->network.ctx = x;
    store_watch(s->server.store, &x->watcher, KIND_COUNT, on_event, NULL, x);
    return x;
}

static void end(void *ctx)
{
    struct backlog *x = ctx;

    store_unwatch(x->sim->server.store, &x->watcher);
    free(x);
}

const struct sim_scenario sim_scenario_backlog = {
    .name = "backlog",
    .summary = "a binder has hundreds of claims to serve at once",
    .steps_factor = 2,
    .second_steps_max = 25000,
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = end,
};
