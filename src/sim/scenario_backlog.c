/* Scenario backlog: a binder with hundreds of volumes and claims, in half of the seeds with the longest
 * names. They exist before the binder starts, or the claims are created while it makes the volumes Available.
 *
 * Invariants: with volumes for all claims, claims get no event except Bound, and none is provisioned. The
 * number of searches for a volume is at most the number of objects and requests. Finally every claim is
 * bound, or no volume is free. */
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

struct backlog_scenario {
    struct sim *sim;
    struct sim_process *binder; /* NULL: not all objects exist yet */
    struct store_watcher watcher;
    unsigned claims;
    unsigned volumes;
    unsigned volumes_made; /* the others are created later */
    unsigned looks;        /* checks for missing objects */
    bool is_scarce;
    bool is_late; /* the claims are created after the binder has started */
    bool has_long_names;
    unsigned touched;
    unsigned starts;   /* of the binder */
    unsigned requests; /* since the last start, without watches */
};

/* --- Objects --- */

static void write_name(const struct backlog_scenario *scenario, char kind, unsigned number,
                       char to[static NAME_BYTES + 1])
{
    int len = snprintf(to, NAME_BYTES + 1, "%c%03u", kind, number);

    if (!scenario->has_long_names)
        return;
    memset(to + len, 'x', (size_t)(NAME_BYTES - len));
    to[NAME_BYTES] = '\0';
}

/* Sizes and classes depend on the number: of each there are as many volumes as claims. */
static const char *class_of(const struct backlog_scenario *scenario, unsigned number)
{
    return !scenario->is_scarce && number % 2 ? CLASS : "";
}

static unsigned size_of(const struct backlog_scenario *scenario, unsigned number)
{
    return scenario->is_scarce ? 1 : 1 + number * 7 % 5;
}

static void make_volume(struct backlog_scenario *scenario, unsigned number)
{
    char name[NAME_BYTES + 1];

    write_name(scenario, 'v', number, name);
    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'%uGi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':'/x'},"
        "'storageClassName':'%s','persistentVolumeReclaimPolicy':'Retain'}}",
        name, size_of(scenario, number), class_of(scenario, number));
}

static bool count_object(void *ctx, const struct object *o)
{
    (void)o;
    ++*(unsigned *)ctx;
    return true;
}

static unsigned count_objects(struct backlog_scenario *scenario, enum kind k)
{
    unsigned n = 0;

    (void)objects_each(scenario->sim, k, count_object, &n);
    return n;
}

/* Starts at a random claim: the order of creation differs from the order of names. */
static void make_claims(struct backlog_scenario *scenario)
{
    unsigned from = (unsigned)rng_below(&scenario->sim->work, scenario->claims);
    char name[NAME_BYTES + 1];

    for (unsigned i = 0; i < scenario->claims; i++) {
        unsigned number = (from + i) % scenario->claims;

        write_name(scenario, 'c', number, name);
        objects_create(scenario->sim, KIND_CLAIM, name,
                       "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                       "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'%uGi'}},"
                       "'storageClassName':'%s'}}",
                       name, size_of(scenario, number), class_of(scenario, number));
    }
}

/* Creates objects that are missing, because the server was down when they were created. */
static void make_missing(struct backlog_scenario *scenario)
{
    if (count_objects(scenario, KIND_CLASS) == 0)
        objects_create(scenario->sim, KIND_CLASS, CLASS,
                       "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'" CLASS
                       "'},'provisioner':'" SIM_BINDER_PLUGIN "'}");
    for (unsigned i = 0; i < scenario->volumes_made; i++)
        make_volume(scenario, i);
    if (!scenario->is_late)
        make_claims(scenario);
}

/* --- Invariants --- */

static void on_event(void *ctx, const struct store_event *ev)
{
    struct backlog_scenario *scenario = ctx;
    const char *reason;

    if (ev->is_delete || scenario->is_scarce || ev->object->kind->kind != KIND_EVENT)
        return;
    reason = ((const struct event *)(const void *)ev->object)->reason;
    if (strcmp(reason, "Bound") != 0)
        sim_fail(scenario->sim, "a claim gets the event %s, and there are volumes for all", reason);
}

static void on_send(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q)
{
    struct backlog_scenario *scenario = ctx;

    (void)id;
    if (p->starts != scenario->starts) {
        scenario->starts = p->starts;
        scenario->requests = 0;
    }
    scenario->requests += q->verb != CLIENT_WATCH;
}

static void backlog_scenario_check(void *ctx)
{
    struct backlog_scenario *scenario = ctx;
    uint64_t matches;

    if (scenario->binder) {
        /* The binder searches for a claim when it is added, when it was touched, after each of its requests,
         * and once for each volume that requeues it. */
        matches = scenario->binder->state ? sim_binder_matches(scenario->binder->state) : 0;
        if (matches > scenario->claims + scenario->volumes + scenario->requests + scenario->touched)
            sim_fail(scenario->sim, "%u claims and %u volumes, %u requests, and %u searches",
                     scenario->claims, scenario->volumes, scenario->requests, (unsigned)matches);
        return;
    }
    if (count_objects(scenario, KIND_VOLUME) == scenario->volumes_made &&
        count_objects(scenario, KIND_CLASS) == 1 &&
        count_objects(scenario, KIND_CLAIM) == (scenario->is_late ? 0 : scenario->claims))
        scenario->binder = sim_spawn(scenario->sim, &sim_binder_program_one, NULL);
    else if (scenario->looks++ % 1000 == 0)
        make_missing(scenario);
}

/* --- The final state --- */

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

static int backlog_scenario_settled(void *ctx, struct error *err)
{
    struct backlog_scenario *scenario = ctx;
    unsigned volumes = count_objects(scenario, KIND_VOLUME),
             expected = volumes < scenario->claims ? volumes : scenario->claims;
    struct tally t = { 0 };

    if (!scenario->binder || !scenario->binder->state)
        return error_set(err, ERR_INTERNAL, "the binder has not started");
    if (count_objects(scenario, KIND_CLAIM) < scenario->claims) {
        make_claims(scenario);
        return error_set(err, ERR_INTERNAL, "some claims are not created yet");
    }
    (void)objects_each(scenario->sim, KIND_CLAIM, tally_claim, &t);
    (void)objects_each(scenario->sim, KIND_VOLUME, tally_volume, &t);
    if (t.bound != expected || t.free != volumes - expected)
        return error_set(err, ERR_INTERNAL, "%u claims of %u are bound, %u volumes of %u are free", t.bound,
                         scenario->claims, t.free, volumes);
    return sim_binder_settled(scenario->binder->state, err);
}

/* --- Workload --- */

struct choice {
    uint64_t which;
    struct sim *sim;
};

static bool touch_chosen(void *ctx, const struct object *o)
{
    struct choice *c = ctx;

    if (c->which-- > 0)
        return true;
    objects_set_label(c->sim, o, "touched", "yes");
    return false;
}

/* Creates missing claims and volumes; then changes random objects while they are being bound. */
static void backlog_scenario_work(void *ctx)
{
    struct backlog_scenario *scenario = ctx;
    struct rng *r = &scenario->sim->work;
    struct choice c = { rng_below(r, scenario->claims), scenario->sim };

    if (!scenario->binder)
        return;
    if (count_objects(scenario, KIND_CLAIM) < scenario->claims) {
        make_claims(scenario);
    } else if (scenario->volumes_made < scenario->volumes) {
        make_volume(scenario, scenario->volumes_made++);
    } else if (rng_chance(r, 30)) {
        scenario->touched++;
        (void)objects_each(scenario->sim, rng_chance(r, 50) ? KIND_VOLUME : KIND_CLAIM, touch_chosen, &c);
    }
}

static void *backlog_scenario_begin(struct sim *s)
{
    struct backlog_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    scenario->is_scarce = rng_chance(&s->work, 30);
    scenario->is_late = rng_chance(&s->work, 50);
    scenario->has_long_names = rng_chance(&s->work, 50);
    scenario->claims = rng_chance(&s->work, 10) ? CLAIMS_MAX : 50 + (unsigned)rng_below(&s->work, 50);
    /* Some volumes are assumed for claims that do not get them: more than enough for all. */
    scenario->volumes = scenario->is_scarce ? scenario->claims / 2 : scenario->claims * 2;
    scenario->volumes_made = scenario->is_scarce ? scenario->volumes / 2 : scenario->volumes;
    s->network.on_send = on_send;
    s->network.ctx = scenario;
    store_watch(s->server.store, &scenario->watcher, KIND_COUNT, on_event, NULL, scenario);
    return scenario;
}

static void backlog_scenario_end(void *ctx)
{
    struct backlog_scenario *scenario = ctx;

    store_unwatch(scenario->sim->server.store, &scenario->watcher);
    free(scenario);
}

const struct sim_scenario sim_scenario_backlog = {
    .name = "backlog",
    .steps_factor = 2,
    .second_steps_max = 25000,
    .begin = backlog_scenario_begin,
    .work = backlog_scenario_work,
    .check = backlog_scenario_check,
    .settled = backlog_scenario_settled,
    .end = backlog_scenario_end,
};
