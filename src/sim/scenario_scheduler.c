/* Scheduler: pods, claims, volumes and nodes come and go; a scheduler and a binder see to them, each in a
 * process of its own. Whatever goes wrong, no version of a volume is promised to two claims at once, no pod
 * gets a node that its volumes cannot be reached from, or two nodes; in the end every pod that can run
 * somewhere has its node, and no claim waits for a node that is gone. */
#include "sim/scenario_scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machinery/api_write.h"
#include "machinery/metrics.h"
#include "scheduler/scheduler_int.h"
#include "sim/sim_binder.h"
#include "volumes/match.h"

/* As long as a pod may wait for volumes, and some more: whoever chose by what a node was like then, or by a
 * claim that was there then, may not know better yet. */
#define PAST_NS (900 * NS_PER_S)

/* --- The scheduler as a process --- */

struct scheduling {
    struct informers *informers;
    struct informer_handler handlers[CACHE_KIND_COUNT];
    struct metrics *metrics;
    struct scheduler *scheduler;
    bool is_started;
};

static void on_synced(void *ctx)
{
    struct scheduling *x = ctx;

    if (x->is_started || !informers_are_synced(x->informers))
        return;
    x->is_started = true;
    scheduler_start(x->scheduler);
}

/* How long it waits for volumes is drawn anew with each start: some give up on what others see through. */
static void start_scheduler(struct scheduling *x, struct sim_process *p)
{
    static const uint64_t timeouts_ns[] = { 5 * NS_PER_S, 60 * NS_PER_S, SCHEDULER_BIND_TIMEOUT_NS };
    struct scheduler_options o = { .name = SCHEDULER_NAME, .host = "sim" };
    struct error err;

    o.bind_timeout_ns = timeouts_ns[p->seed / 2 % ARRAY_LEN(timeouts_ns)];
    o.part = (struct component_deps){ .loop = p->loop,
                                      .clock = &p->clock.clock,
                                      .client = p->client,
                                      .informers = x->informers,
                                      .metrics = x->metrics,
                                      .seed = p->seed };
    if (scheduler_new(&o, &x->scheduler, &err) < 0)
        abort();
}

static void *scheduling_start(struct sim_process *p, void *ctx)
{
    struct scheduling *x = sim_alloc(sizeof *x);
    struct informer_options io = {
        .loop = p->loop, .client = p->client, .seed = p->seed, .streams_lists = p->seed % 2
    };
    struct error err;

    (void)ctx;
    x->metrics = metrics_new((struct hash_seed){ p->seed, 1 });
    if (!x->metrics || informers_new(&io, &x->informers, &err) < 0)
        abort();
    start_scheduler(x, p);
    for (size_t i = 0; i < CACHE_KIND_COUNT; i++) {
        x->handlers[i] = (struct informer_handler){ .on_synced = on_synced, .ctx = x };
        informer_add_handler(x->scheduler->caches[i], &x->handlers[i]);
    }
    informers_start(x->informers);
    return x;
}

static void scheduling_kill(void *state)
{
    struct scheduling *x = state;

    for (size_t i = 0; i < CACHE_KIND_COUNT; i++)
        informer_remove_handler(&x->handlers[i]);
    x->scheduler = scheduler_free(x->scheduler);
    x->informers = informers_free(x->informers);
    x->metrics = metrics_free(x->metrics);
    free(x);
}

static const char *scheduling_check_memory(const void *state, bool is_thorough)
{
    const struct scheduling *x = state;

    return scheduler_check(x->scheduler, is_thorough);
}

static const struct sim_program scheduling_program = { "scheduler", scheduling_start, scheduling_kill,
                                                       scheduling_check_memory };

/* What must hold after each step. */
static int scheduling_check(const void *state, struct error *err)
{
    const struct scheduling *x = state;

    return bindings_check(x->scheduler, err);
}

/* 0 when it has its caches and no pod is on its way. */
static int scheduling_settled(const void *state, struct error *err)
{
    const struct scheduling *x = state;

    if (!x->is_started)
        return error_set(err, ERR_INTERNAL, "the scheduler has not started");
    if (x->scheduler->bindings_count > 0)
        return error_set(err, ERR_INTERNAL, "pods are on their way");
    return 0;
}

/* --- Looking --- */

const char *claim_waits_for_node(const struct claim *c)
{
    return c->volume_name[0] ? NULL : object_annotation(&c->obj, ANN_SELECTED_NODE);
}

static bool is_bound(const struct claim *c)
{
    return c->volume_name[0] && object_annotation(&c->obj, ANN_BIND_COMPLETED);
}

/* "n2" -> 2 */
static unsigned number_of(const char *name)
{
    return (unsigned)strtoul(name + 1, NULL, 10);
}

/* Provisioned ones have names of their own, each once. */
static bool has_number(const struct volume *v)
{
    return v->obj.name[0] == 'v';
}

/* --- Promises --- */

static void copy(char *to, size_t room, struct str text)
{
    (void)snprintf(to, room, "%.*s", STR_ARG(text));
}

/* What a write of the scheduler gives away, and to whom; false for any other. */
static bool read_promise(const struct client_request *q, struct assumed_write *ret)
{
    _cleanup_(json_done_p) struct json d;
    struct error err;
    json_ref root = 0, meta;
    char version[64];

    json_init(&d, (size_t)1 << 20);
    if (q->verb != CLIENT_PATCH || (q->kind->kind != KIND_VOLUME && q->kind->kind != KIND_CLAIM) ||
        json_parse(&d, q->body, &root, &err) < 0)
        return false;
    meta = json_get(&d, root, "metadata");
    copy(version, sizeof version, json_get_text(&d, meta, "resourceVersion"));
    (void)snprintf(ret->what, sizeof ret->what, "%s/%s@%s", q->kind->plural, q->name, version);
    if (q->kind->kind == KIND_VOLUME)
        copy(ret->whose, sizeof ret->whose,
             json_get_text(&d, json_path(&d, root, "spec", "claimRef"), "uid"));
    else
        copy(ret->whose, sizeof ret->whose,
             json_get_text(&d, json_get(&d, meta, "annotations"), ANN_SELECTED_NODE));
    return ret->whose[0] != '\0';
}

static void on_send(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q)
{
    struct scheduler_world *x = ctx;
    struct assumed_write w = { .id = id };

    if (p != x->scheduler)
        return;
    if (!read_promise(q, &w))
        return;
    for (unsigned i = 0; i < x->writes_count; i++)
        if (strcmp(x->writes[i].what, w.what) == 0 && strcmp(x->writes[i].whose, w.whose) != 0)
            sim_fail(x->sim, "%s is promised to %s and to %s", w.what, x->writes[i].whose, w.whose);
    if (x->writes_count == WRITES_MAX)
        abort();
    x->writes[x->writes_count++] = w;
}

static void on_over(void *ctx, const struct sim_process *p, unsigned id)
{
    struct scheduler_world *x = ctx;

    (void)p;
    for (unsigned i = 0; i < x->writes_count; i++)
        if (x->writes[i].id == id)
            x->writes[i--] = x->writes[--x->writes_count];
}

/* --- Every version of a pod or node that was ever committed --- */

/* 0: never; UINT64_MAX: still. */
static bool is_recent(const struct scheduler_world *x, uint64_t at_ns)
{
    return at_ns > 0 && (at_ns >= x->sim->now_ns || x->sim->now_ns - at_ns <= PAST_NS);
}

/* A volume can be reached from the node as it is, or was a short while ago. */
static bool could_reach(const struct scheduler_world *x, const struct volume *v, const char *node)
{
    const struct node_past *past = &x->past[number_of(node)];
    struct error ignored;

    for (size_t i = 0; i < ZONES_COUNT; i++) {
        const struct kv labels[] = { { LABEL_HOST, node }, { LABEL_ZONE, zone_names[i] } };

        if (is_recent(x, past->zone_until_ns[i]) &&
            node_affinity_check(v->affinity, labels, ARRAY_LEN(labels), &ignored) == 0)
            return true;
    }
    return false;
}

static void check_placed_claim(struct scheduler_world *x, const struct pod *p, const char *name)
{
    const struct claim *c = stored_claim(x->sim, name);
    const struct volume *v = c ? stored_volume(x->sim, c->volume_name) : NULL;

    if (!c || is_recent(x, x->claims_gone_ns[number_of(name)]) ||
        (v && has_number(v) && is_recent(x, x->volumes_gone_ns[number_of(v->obj.name)])))
        return; /* another of that name was there: the caches may have that one */
    if (!is_bound(c))
        sim_fail(x->sim, "pod %s is on %s, and its claim %s is not bound", p->obj.name, p->node_name, name);
    else if (v && !could_reach(x, v, p->node_name))
        sim_fail(x->sim, "pod %s is on %s, from where volume %s of its claim %s cannot be reached",
                 p->obj.name, p->node_name, v->obj.name, name);
}

static void check_pod(struct scheduler_world *x, const struct store_event *ev)
{
    const struct pod *p = pod_of(ev->object), *was = ev->old ? pod_of(ev->old) : NULL;

    if (ev->is_delete || strcmp(was ? was->node_name : "", p->node_name) == 0)
        return;
    if (was && was->node_name[0])
        sim_fail(x->sim, "pod %s goes from %s to %s", p->obj.name, was->node_name, p->node_name);
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (p->volumes.items[i].type == POD_VOLUME_CLAIM)
            check_placed_claim(x, p, p->volumes.items[i].claim_name);
}

static void note_node(struct scheduler_world *x, const struct store_event *ev)
{
    struct node_past *past = &x->past[number_of(ev->object->name)];
    const char *zone = ev->is_delete ? "" : object_label(ev->object, LABEL_ZONE);

    for (size_t i = 0; i < ZONES_COUNT; i++) {
        if (strcmp(zone, zone_names[i]) == 0)
            past->zone_until_ns[i] = UINT64_MAX;
        else if (past->zone_until_ns[i] == UINT64_MAX)
            past->zone_until_ns[i] = x->sim->now_ns;
    }
}

static void on_event(void *ctx, const struct store_event *ev)
{
    struct scheduler_world *x = ctx;

    if (ev->object->kind->kind == KIND_POD)
        check_pod(x, ev);
    else if (ev->object->kind->kind == KIND_NODE)
        note_node(x, ev);
    else if (ev->object->kind->kind == KIND_CLAIM && ev->is_delete)
        x->claims_gone_ns[number_of(ev->object->name)] = x->sim->now_ns;
    else if (ev->object->kind->kind == KIND_VOLUME && ev->is_delete && has_number(volume_of(ev->object)))
        x->volumes_gone_ns[number_of(ev->object->name)] = x->sim->now_ns;
}

/* --- In the end --- */

/* A pod on a node: what its claims would take there. */
struct trial {
    struct scheduler_world *x;
    const struct node *node;
    const struct claim *claim;
    const struct volume *best; /* for the claim at hand */
    const struct volume *taken[2];
};

static bool try_volume(void *ctx, const struct object *o)
{
    struct trial *t = ctx;
    const struct volume *v = volume_of(o);
    struct match_options options = { .is_delayed = true, .node_labels = &t->node->obj.labels };
    enum reject why = match_volume(v, t->claim, &options);

    if (v == t->taken[0] || v == t->taken[1] || strcmp(v->class, t->claim->class) != 0)
        return true;
    if (v->claim.is_set && (why == REJECT_NONE || why == REJECT_NODE)) { /* kept for it: this or none */
        t->best = why == REJECT_NONE ? v : NULL;
        return false;
    }
    if (why == REJECT_NONE && (!t->best || volume_cmp_size_name(v, t->best) < 0))
        t->best = v;
    return true;
}

static bool is_provisioned(const struct storage_class *k)
{
    return strcmp(k->provisioner, "kubernetes.io/no-provisioner") != 0;
}

/* The claim is there, and has or would get a volume on the node. */
static bool try_claim(struct trial *t, const char *name)
{
    const struct claim *c = stored_claim(t->x->sim, name);
    const struct volume *v = c ? stored_volume(t->x->sim, c->volume_name) : NULL;
    const struct storage_class *k = c ? stored_class(t->x->sim, c->class) : NULL;
    const char *selected = c ? claim_waits_for_node(c) : NULL;
    struct error ignored;

    if (!c || c->obj.is_deleting || c->phase == CLAIM_LOST)
        return false;
    if (is_bound(c))
        return v && node_affinity_check(v->affinity, t->node->obj.labels.items, t->node->obj.labels.count,
                                        &ignored) == 0;
    if (!k || k->binding != BINDING_WAIT_FOR_FIRST_CONSUMER || c->volume_name[0])
        return false; /* the binder's */
    if (selected)
        return strcmp(selected, t->node->obj.name) == 0 && is_provisioned(k);
    t->claim = c;
    t->best = NULL;
    (void)objects_each(t->x->sim, KIND_VOLUME, try_volume, t);
    if (t->best)
        t->taken[t->taken[0] ? 1 : 0] = t->best;
    return t->best || is_provisioned(k);
}

static const char *claim_name(const struct pod *p, size_t at)
{
    return at < p->volumes.count ? p->volumes.items[at].claim_name : NULL;
}

/* The smaller claim is served first; the same claim twice is one. */
static bool fits(struct trial *t, const struct pod *p)
{
    const char *first = claim_name(p, 0), *second = claim_name(p, 1);
    const struct claim *a = stored_claim(t->x->sim, first),
                       *b = second ? stored_claim(t->x->sim, second) : NULL;

    if (second && strcmp(first, second) == 0)
        second = NULL;
    if (second && a && b && quantity_cmp(&b->request, &a->request) < 0) {
        const char *other = first;

        first = second;
        second = other;
    }
    return try_claim(t, first) && (!second || try_claim(t, second));
}

struct search {
    struct scheduler_world *x;
    const struct pod *pod;
    const char *node;
};

static bool try_node(void *ctx, const struct object *o)
{
    struct search *s = ctx;
    struct trial t = { .x = s->x, .node = node_of(o) };
    const struct kvs *asked = &s->pod->node_selector;

    for (uint32_t i = 0; i < asked->count; i++) {
        const char *value = object_label(o, asked->items[i].key);

        if (!value || strcmp(value, asked->items[i].value) != 0)
            return true;
    }
    if (!t.node->is_unschedulable && fits(&t, s->pod))
        s->node = o->name;
    return !s->node;
}

struct settling {
    struct scheduler_world *x;
    struct error *err;
};

static bool settled_pod(void *ctx, const struct object *o)
{
    struct settling *z = ctx;
    struct search s = { .x = z->x, .pod = pod_of(o) };

    if (s.pod->node_name[0])
        return true;
    (void)objects_each(z->x->sim, KIND_NODE, try_node, &s);
    if (s.node)
        (void)error_set(z->err, ERR_INTERNAL, "pod %s has no node, and could run on %s", o->name, s.node);
    return !s.node;
}

static bool settled_claim(void *ctx, const struct object *o)
{
    struct settling *z = ctx;
    const char *node = claim_waits_for_node(claim_of(o));

    if (!node || stored_node(z->x->sim, node))
        return true;
    (void)error_set(z->err, ERR_INTERNAL, "claim %s waits for node %s, which is gone", o->name, node);
    return false;
}

static int settled(void *ctx, struct error *err)
{
    struct scheduler_world *x = ctx;
    struct settling z = { x, err };
    int r = sim_binder_settled(x->binder->state, err);

    scheduler_workload_tidy(x);
    if (r == 0)
        r = scheduling_settled(x->scheduler->state, err);
    if (r < 0)
        return r;
    if (!objects_each(x->sim, KIND_CLAIM, settled_claim, &z) ||
        !objects_each(x->sim, KIND_POD, settled_pod, &z))
        return -ERR_INTERNAL;
    return 0;
}

/* --- The day --- */

static void check(void *ctx)
{
    struct scheduler_world *x = ctx;
    struct error err;

    scheduler_workload_tidy(x);
    if (sim_process_is_live(x->scheduler) && scheduling_check(x->scheduler->state, &err) < 0)
        sim_fail(x->sim, "%s", err.msg);
}

/* As a rule nobody bothers while nobody answers: steps are few, and most are to be the programs'. */
static void work(void *ctx)
{
    struct scheduler_world *x = ctx;

    if (!sim_process_is_live(x->scheduler) && rng_chance(&x->sim->work, 85))
        return;
    for (uint64_t times = 1 + rng_below(&x->sim->work, 8); times; times--)
        scheduler_workload_work(x);
}

static void on_effect(void *ctx, const char *what, const char *name)
{
    (void)ctx; /* storage is the binder's scenario's */
    (void)what;
    (void)name;
}

static void *begin(struct sim *s)
{
    struct scheduler_world *x = sim_alloc(sizeof *x);

    x->sim = s;
    s->host.on_effect = on_effect;
    s->host.ctx = x;
    s->network.on_send = on_send;
    s->network.on_over = on_over;
    s->network.ctx = x;
    store_watch(s->server.store, &x->watcher, KIND_COUNT, on_event, NULL, x);
    x->binder = sim_spawn(s, &sim_binder_program_one, NULL);
    x->scheduler = sim_spawn(s, &scheduling_program, NULL);
    scheduler_workload_begin(x);
    return x;
}

static void end(void *ctx)
{
    struct scheduler_world *x = ctx;

    store_unwatch(x->sim->server.store, &x->watcher);
    x->sim->network.on_send = NULL;
    x->sim->network.on_over = NULL;
    free(x);
}

const struct sim_scenario sim_scenario_scheduler = {
    .name = "scheduler",
    .summary = "pods get nodes together with the volumes of their claims",
    .days = 5,
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = end,
};
