/* Scenario scheduler: a scheduler and a binder, in one process each. The workload creates and deletes pods,
 * claims, volumes and nodes.
 *
 * Invariants: no version of a volume is assigned to two claims; no pod gets two nodes, or a node that cannot
 * reach its volumes. Finally every pod that can run has a node, and no claim waits for a deleted node.
 *
 * The final state is computed: every node is tried for every pod without one, the smaller claim first. */
#include "sim/scenario_scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machinery/api_write.h"
#include "machinery/metrics.h"
#include "scheduler/scheduler_int.h"
#include "sim/sim_binder.h"
#include "volumes/match.h"

/* The scheduler may decide by labels of nodes and by claims that are stale by this much: it is a little more
 * than a pod may wait for its volumes. */
#define STALE_NS (900 * NS_PER_S)

/* --- The scheduler as a process --- */

struct scheduler_process {
    struct informers *informers;
    struct informer_handler handlers[CACHE_KIND_COUNT];
    struct metrics *metrics;
    struct scheduler *scheduler;
    bool is_started;
};

static void on_synced(void *ctx)
{
    struct scheduler_process *process = ctx;

    if (process->is_started || !informers_are_synced(process->informers))
        return;
    process->is_started = true;
    scheduler_start(process->scheduler);
}

/* The bind timeout depends on the seed of the start. */
static void start_scheduler(struct scheduler_process *process, struct sim_process *p)
{
    static const uint64_t timeouts_ns[] = { 5 * NS_PER_S, 60 * NS_PER_S, SCHEDULER_BIND_TIMEOUT_NS };
    struct scheduler_options o = { .name = SCHEDULER_NAME, .host = "sim" };
    struct error err;

    o.bind_timeout_ns = timeouts_ns[p->seed / 2 % ARRAY_LEN(timeouts_ns)];
    o.part = (struct component_deps){ .loop = p->loop,
                                      .clock = &p->clock.clock,
                                      .client = p->client,
                                      .informers = process->informers,
                                      .metrics = process->metrics,
                                      .seed = p->seed };
    if (scheduler_new(&o, &process->scheduler, &err) < 0)
        abort();
}

static void *scheduler_process_start(struct sim_process *p, void *ctx)
{
    struct scheduler_process *process = sim_alloc(sizeof *process);
    struct informer_options io = {
        .loop = p->loop, .client = p->client, .seed = p->seed, .streams_lists = p->seed % 2
    };
    struct error err;

    (void)ctx;
    process->metrics = metrics_new((struct hash_seed){ p->seed, 1 });
    if (!process->metrics || informers_new(&io, &process->informers, &err) < 0)
        abort();
    start_scheduler(process, p);
    for (size_t i = 0; i < CACHE_KIND_COUNT; i++) {
        process->handlers[i] = (struct informer_handler){ .on_synced = on_synced, .ctx = process };
        informer_add_handler(process->scheduler->caches[i], &process->handlers[i]);
    }
    informers_start(process->informers);
    return process;
}

static void scheduler_process_kill(void *state)
{
    struct scheduler_process *process = state;

    for (size_t i = 0; i < CACHE_KIND_COUNT; i++)
        informer_remove_handler(&process->handlers[i]);
    process->scheduler = scheduler_free(process->scheduler);
    process->informers = informers_free(process->informers);
    process->metrics = metrics_free(process->metrics);
    free(process);
}

static const char *scheduler_process_check_memory(const void *state, bool is_thorough)
{
    const struct scheduler_process *process = state;

    return scheduler_check(process->scheduler, is_thorough);
}

static const struct sim_program scheduler_process_program = { "scheduler", scheduler_process_start,
                                                              scheduler_process_kill,
                                                              scheduler_process_check_memory };

/* Checks the invariants of bindings after each step. */
static int scheduler_process_check(const void *state, struct error *err)
{
    const struct scheduler_process *process = state;

    return bindings_check(process->scheduler, err);
}

/* 0 if it has started and no binding is in progress. */
static int scheduler_process_settled(const void *state, struct error *err)
{
    const struct scheduler_process *process = state;

    if (!process->is_started)
        return error_set(err, ERR_INTERNAL, "the scheduler has not started");
    if (process->scheduler->bindings_count > 0)
        return error_set(err, ERR_INTERNAL, "bindings are in progress");
    return 0;
}

/* --- Lookups --- */

const char *claim_waits_for_node(const struct claim *c)
{
    return c->volume_name[0] ? NULL : object_annotation(&c->obj, ANN_SELECTED_NODE);
}

static bool is_bound(const struct claim *c)
{
    return c->volume_name[0] && object_annotation(&c->obj, ANN_BIND_COMPLETED);
}

/* "n2" -> 2 */
static unsigned parse_number(const char *name)
{
    return (unsigned)strtoul(name + 1, NULL, 10);
}

/* Volumes of the workload have numbers; names of provisioned ones are used only once. */
static bool has_number(const struct volume *v)
{
    return v->obj.name[0] == 'v';
}

/* --- Assumed writes --- */

static void copy_text(char *to, size_t room, struct str text)
{
    (void)snprintf(to, room, "%.*s", STR_ARG(text));
}

/* Reads what a write of the scheduler assigns, and to whom; false for other requests. */
static bool read_assumed_write(const struct client_request *q, struct assumed_write *ret)
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
    copy_text(version, sizeof version, json_get_text(&d, meta, "resourceVersion"));
    (void)snprintf(ret->what, sizeof ret->what, "%s/%s@%s", q->kind->plural, q->name, version);
    if (q->kind->kind == KIND_VOLUME)
        copy_text(ret->whose, sizeof ret->whose,
                  json_get_text(&d, json_path(&d, root, "spec", "claimRef"), "uid"));
    else
        copy_text(ret->whose, sizeof ret->whose,
                  json_get_text(&d, json_get(&d, meta, "annotations"), ANN_SELECTED_NODE));
    return ret->whose[0] != '\0';
}

static void on_send(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q)
{
    struct scheduler_scenario *scenario = ctx;
    struct assumed_write w = { .id = id };

    if (p != scenario->scheduler)
        return;
    if (!read_assumed_write(q, &w))
        return;
    for (unsigned i = 0; i < scenario->writes_count; i++)
        if (strcmp(scenario->writes[i].what, w.what) == 0 && strcmp(scenario->writes[i].whose, w.whose) != 0)
            sim_fail(scenario->sim, "%s is assumed for %s and for %s", w.what, scenario->writes[i].whose,
                     w.whose);
    if (scenario->writes_count == WRITES_MAX)
        abort();
    scenario->writes[scenario->writes_count++] = w;
}

static void on_over(void *ctx, const struct sim_process *p, unsigned id)
{
    struct scheduler_scenario *scenario = ctx;

    (void)p;
    for (unsigned i = 0; i < scenario->writes_count; i++)
        if (scenario->writes[i].id == id)
            scenario->writes[i--] = scenario->writes[--scenario->writes_count];
}

/* --- Every stored version of a pod or node --- */

/* at_ns is 0 for never, UINT64_MAX for now. */
static bool is_recent(const struct scheduler_scenario *scenario, uint64_t at_ns)
{
    return at_ns > 0 && (at_ns >= scenario->sim->now_ns || scenario->sim->now_ns - at_ns <= STALE_NS);
}

/* True if the node can reach the volume with its labels, or with those that it had recently. */
static bool could_reach(const struct scheduler_scenario *scenario, const struct volume *v, const char *node)
{
    const struct node_past *past = &scenario->past[parse_number(node)];
    struct error ignored;

    for (size_t i = 0; i < ZONES_COUNT; i++) {
        const struct kv labels[] = { { LABEL_HOST, node }, { LABEL_ZONE, zone_names[i] } };

        if (is_recent(scenario, past->zone_until_ns[i]) &&
            node_affinity_check(v->affinity, labels, ARRAY_LEN(labels), &ignored) == 0)
            return true;
    }
    return false;
}

static void check_placed_claim(struct scheduler_scenario *scenario, const struct pod *p, const char *name)
{
    const struct claim *c = stored_claim(scenario->sim, name);
    const struct volume *v = c ? stored_volume(scenario->sim, c->volume_name) : NULL;

    if (!c || is_recent(scenario, scenario->claims_deleted_ns[parse_number(name)]) ||
        (v && has_number(v) && is_recent(scenario, scenario->volumes_deleted_ns[parse_number(v->obj.name)])))
        return; /* the caches may still have an older object of the same name */
    if (!is_bound(c))
        sim_fail(scenario->sim, "pod %s is on %s, and its claim %s is not bound", p->obj.name, p->node_name,
                 name);
    else if (v && !could_reach(scenario, v, p->node_name))
        sim_fail(scenario->sim, "pod %s is on %s, from where volume %s of its claim %s cannot be reached",
                 p->obj.name, p->node_name, v->obj.name, name);
}

static void check_pod(struct scheduler_scenario *scenario, const struct store_event *ev)
{
    const struct pod *p = pod_of(ev->object), *was = ev->old ? pod_of(ev->old) : NULL;

    if (ev->is_delete || strcmp(was ? was->node_name : "", p->node_name) == 0)
        return;
    if (was && was->node_name[0])
        sim_fail(scenario->sim, "pod %s moves from %s to %s", p->obj.name, was->node_name, p->node_name);
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (p->volumes.items[i].type == POD_VOLUME_CLAIM)
            check_placed_claim(scenario, p, p->volumes.items[i].claim_name);
}

static void record_node(struct scheduler_scenario *scenario, const struct store_event *ev)
{
    struct node_past *past = &scenario->past[parse_number(ev->object->name)];
    const char *zone = ev->is_delete ? "" : object_label(ev->object, LABEL_ZONE);

    for (size_t i = 0; i < ZONES_COUNT; i++) {
        if (strcmp(zone, zone_names[i]) == 0)
            past->zone_until_ns[i] = UINT64_MAX;
        else if (past->zone_until_ns[i] == UINT64_MAX)
            past->zone_until_ns[i] = scenario->sim->now_ns;
    }
}

static void on_event(void *ctx, const struct store_event *ev)
{
    struct scheduler_scenario *scenario = ctx;

    if (ev->object->kind->kind == KIND_POD)
        check_pod(scenario, ev);
    else if (ev->object->kind->kind == KIND_NODE)
        record_node(scenario, ev);
    else if (ev->object->kind->kind == KIND_CLAIM && ev->is_delete)
        scenario->claims_deleted_ns[parse_number(ev->object->name)] = scenario->sim->now_ns;
    else if (ev->object->kind->kind == KIND_VOLUME && ev->is_delete && has_number(volume_of(ev->object)))
        scenario->volumes_deleted_ns[parse_number(ev->object->name)] = scenario->sim->now_ns;
}

/* --- The final state --- */

/* Tries a pod on a node: the volumes that its claims would get there. */
struct trial {
    struct scheduler_scenario *scenario;
    const struct node *node;
    const struct claim *claim;
    const struct volume *best; /* for the current claim */
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
    if (v->claim.is_set && (why == REJECT_NONE || why == REJECT_NODE)) { /* pre-bound: this one or none */
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

/* True if the claim exists, and has or would get a volume on the node. */
static bool try_claim(struct trial *t, const char *name)
{
    const struct claim *c = stored_claim(t->scenario->sim, name);
    const struct volume *v = c ? stored_volume(t->scenario->sim, c->volume_name) : NULL;
    const struct storage_class *k = c ? stored_class(t->scenario->sim, c->class) : NULL;
    const char *selected = c ? claim_waits_for_node(c) : NULL;
    struct error ignored;

    if (!c || c->obj.is_deleting || c->phase == CLAIM_LOST)
        return false;
    if (is_bound(c))
        return v && node_affinity_check(v->affinity, t->node->obj.labels.items, t->node->obj.labels.count,
                                        &ignored) == 0;
    if (!k || k->binding != BINDING_WAIT_FOR_FIRST_CONSUMER || c->volume_name[0])
        return false; /* bound by the binder, not by the scheduler */
    if (selected)
        return strcmp(selected, t->node->obj.name) == 0 && is_provisioned(k);
    t->claim = c;
    t->best = NULL;
    (void)objects_each(t->scenario->sim, KIND_VOLUME, try_volume, t);
    if (t->best)
        t->taken[t->taken[0] ? 1 : 0] = t->best;
    return t->best || is_provisioned(k);
}

static const char *pod_claim_at(const struct pod *p, size_t at)
{
    return at < p->volumes.count ? p->volumes.items[at].claim_name : NULL;
}

/* The smaller claim comes first; the same claim twice counts once. */
static bool try_pod(struct trial *t, const struct pod *p)
{
    const char *first = pod_claim_at(p, 0), *second = pod_claim_at(p, 1);
    const struct claim *a = stored_claim(t->scenario->sim, first),
                       *b = second ? stored_claim(t->scenario->sim, second) : NULL;

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
    struct scheduler_scenario *scenario;
    const struct pod *pod;
    const char *node;
};

static bool try_node(void *ctx, const struct object *o)
{
    struct search *s = ctx;
    struct trial t = { .scenario = s->scenario, .node = node_of(o) };
    const struct kvs *asked = &s->pod->node_selector;

    for (uint32_t i = 0; i < asked->count; i++) {
        const char *value = object_label(o, asked->items[i].key);

        if (!value || strcmp(value, asked->items[i].value) != 0)
            return true;
    }
    if (!t.node->is_unschedulable && try_pod(&t, s->pod))
        s->node = o->name;
    return !s->node;
}

struct settle_check {
    struct scheduler_scenario *scenario;
    struct error *err;
};

static bool settled_pod(void *ctx, const struct object *o)
{
    struct settle_check *z = ctx;
    struct search s = { .scenario = z->scenario, .pod = pod_of(o) };

    if (s.pod->node_name[0])
        return true;
    (void)objects_each(z->scenario->sim, KIND_NODE, try_node, &s);
    if (s.node)
        (void)error_set(z->err, ERR_INTERNAL, "pod %s has no node, and could run on %s", o->name, s.node);
    return !s.node;
}

static bool settled_claim(void *ctx, const struct object *o)
{
    struct settle_check *z = ctx;
    const char *node = claim_waits_for_node(claim_of(o));

    if (!node || stored_node(z->scenario->sim, node))
        return true;
    (void)error_set(z->err, ERR_INTERNAL, "claim %s waits for node %s, which is deleted", o->name, node);
    return false;
}

static int scheduler_scenario_settled(void *ctx, struct error *err)
{
    struct scheduler_scenario *scenario = ctx;
    struct settle_check z = { scenario, err };
    int r = sim_binder_settled(scenario->binder->state, err);

    scheduler_workload_control(scenario);
    if (r == 0)
        r = scheduler_process_settled(scenario->scheduler->state, err);
    if (r < 0)
        return r;
    if (!objects_each(scenario->sim, KIND_CLAIM, settled_claim, &z) ||
        !objects_each(scenario->sim, KIND_POD, settled_pod, &z))
        return -ERR_INTERNAL;
    return 0;
}

/* --- Begin, work and end --- */

static void scheduler_scenario_check(void *ctx)
{
    struct scheduler_scenario *scenario = ctx;
    struct error err;

    scheduler_workload_control(scenario);
    if (sim_process_is_live(scenario->scheduler) &&
        scheduler_process_check(scenario->scheduler->state, &err) < 0)
        sim_fail(scenario->sim, "%s", err.msg);
}

/* Mostly idle while the scheduler does not run: most steps should be those of the programs. */
static void scheduler_scenario_work(void *ctx)
{
    struct scheduler_scenario *scenario = ctx;

    if (!sim_process_is_live(scenario->scheduler) && rng_chance(&scenario->sim->work, 85))
        return;
    for (uint64_t times = 1 + rng_below(&scenario->sim->work, 8); times; times--)
        scheduler_workload_work(scenario);
}

static void on_effect(void *ctx, const char *what, const char *name)
{
    (void)ctx; /* scenario binder checks the storage */
    (void)what;
    (void)name;
}

static void *scheduler_scenario_begin(struct sim *s)
{
    struct scheduler_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    s->host.on_effect = on_effect;
    s->host.ctx = scenario;
    s->network.on_send = on_send;
    s->network.on_over = on_over;
    s->network.ctx = scenario;
    store_watch(s->server.store, &scenario->watcher, KIND_COUNT, on_event, NULL, scenario);
    scenario->binder = sim_spawn(s, &sim_binder_program_one, NULL);
    scenario->scheduler = sim_spawn(s, &scheduler_process_program, NULL);
    scheduler_workload_begin(scenario);
    return scenario;
}

static void scheduler_scenario_end(void *ctx)
{
    struct scheduler_scenario *scenario = ctx;

    store_unwatch(scenario->sim->server.store, &scenario->watcher);
    scenario->sim->network.on_send = NULL;
    scenario->sim->network.on_over = NULL;
    free(scenario);
}

const struct sim_scenario sim_scenario_scheduler = {
    .name = "scheduler",
    .steps_factor = 5,
    .begin = scheduler_scenario_begin,
    .work = scheduler_scenario_work,
    .check = scheduler_scenario_check,
    .settled = scheduler_scenario_settled,
    .end = scheduler_scenario_end,
};
