/* Scenario attach: Berth's own controllers and node agents, a CSI driver on each node and an external
 * attacher, on machines that fail. Pods with volumes of the driver are created, deleted and moved; nodes lose
 * power or network and are deleted.
 *
 * Invariants: no volume is detached from a node that has it mounted or is about to mount it; nothing is
 * mounted that is not attached; no exclusive volume is attached to a second node; every mounted volume is
 * reported as in use. Forced detach is the only exception. Finally every used volume is mounted for its pod,
 * and no attachment, report or mount of an unused volume is left.
 *
 * Costs: mounts are checked every CHECK_STEPS steps; which volumes are used is computed again only after pods
 * or claims have changed. */
#include "sim/scenario_attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "node/node_lease.h"
#include "sim/sim_world.h"

/* The caches of controllers may be stale by this much. */
#define STALE_NS (300 * NS_PER_S)
/* Much less than the controllers wait before a forced detach: they may count from another moment. */
#define FORCE_WAIT_NS (120 * NS_PER_S)

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };

/* --- Lookups --- */

static void write_unique_name(unsigned volume, char to[static UNIQUE_NAME_BYTES])
{
    (void)snprintf(to, UNIQUE_NAME_BYTES, UNIQUE_NAME_PREFIX "%u", volume);
}

const struct node *attach_scenario_stored_node(const struct attach_scenario_node *n)
{
    return stored_node(n->scenario->sim, n->name);
}

bool attach_scenario_is_down(const struct attach_scenario_node *n)
{
    return n->process->starts == n->lost_start;
}

struct attach_scenario_node *attach_scenario_find_node(struct attach_scenario *scenario, const struct pod *p)
{
    unsigned node;

    return attach_number(p->node_name, 'n', scenario->nodes_count, &node) ? &scenario->nodes[node] : NULL;
}

/* The number of the volume that the claim of a pod's volume is bound to. */
static bool find_volume(const struct attach_scenario *scenario, const struct pod_volume *v, unsigned *ret)
{
    const struct claim *c = v->type == POD_VOLUME_CLAIM ? stored_claim(scenario->sim, v->claim_name) : NULL;

    return c && c->phase == CLAIM_BOUND && attach_number(c->volume_name, 'd', VOLUMES_COUNT, ret);
}

static bool is_mounted(const struct attach_scenario_node *n, unsigned volume)
{
    return machine_mounts_disk(n->machine, &n->scenario->drivers.disks.volumes[volume].disk);
}

static bool find_numbers(const struct attach_scenario *scenario, const struct attachment *a, unsigned *node,
                         unsigned *volume)
{
    return attach_number(a->node_name, 'n', scenario->nodes_count, node) &&
           attach_number(a->volume_name, 'd', VOLUMES_COUNT, volume);
}

struct search {
    const struct attach_scenario *scenario;
    unsigned node;
    unsigned volume;
    const struct attachment *found;
};

static bool match_attachment(void *ctx, const struct object *o)
{
    struct search *s = ctx;
    const struct attachment *a = (const struct attachment *)(const void *)o;
    unsigned node, volume;

    if (find_numbers(s->scenario, a, &node, &volume) && node == s->node && volume == s->volume)
        s->found = a;
    return !s->found;
}

static const struct attachment *find_attachment(struct attach_scenario *scenario, unsigned node,
                                                unsigned volume)
{
    struct search s = { scenario, node, volume, NULL };

    (void)objects_each(scenario->sim, KIND_ATTACHMENT, match_attachment, &s);
    return s.found;
}

static bool reports_attached(const struct attach_scenario_node *n, unsigned volume)
{
    const struct node *is = attach_scenario_stored_node(n);
    char name[UNIQUE_NAME_BYTES];

    write_unique_name(volume, name);
    return is && node_attached_volume(is, name);
}

static bool reports_in_use(const struct attach_scenario_node *n, unsigned volume)
{
    const struct node *is = attach_scenario_stored_node(n);
    char name[UNIQUE_NAME_BYTES];

    write_unique_name(volume, name);
    for (uint32_t i = 0; is && i < is->volumes_in_use.count; i++)
        if (strcmp(is->volumes_in_use.items[i], name) == 0)
            return true;
    return false;
}

/* --- Requests of the controllers --- */

static bool is_recent(const struct attach_scenario *scenario, uint64_t at_ns)
{
    return at_ns > 0 && (at_ns >= scenario->sim->now_ns || scenario->sim->now_ns - at_ns <= STALE_NS);
}

/* A forced detach is allowed: the node is out of service, or it is not ready and has had time to unmount. */
static bool may_force(const struct attach_scenario *scenario, unsigned node, unsigned volume)
{
    const struct attach_scenario_node *n = &scenario->nodes[node];
    const struct attach_scenario_disk *d = &n->disks[volume];

    if (is_recent(scenario, n->tainted_ns))
        return true;
    if (!is_recent(scenario, n->unready_ns))
        return false;
    if (!d->is_wanted && scenario->sim->now_ns - d->unwanted_ns >= FORCE_WAIT_NS)
        return true;
    return d->waited_ns >= FORCE_WAIT_NS && is_recent(scenario, d->waited_to_ns);
}

/* True if this process has itself reported the volume, or listed the Nodes after another process did. */
static bool knows_report(const struct attach_scenario *scenario, const struct sim_process *plane,
                         const struct attach_scenario_disk *d)
{
    unsigned i = plane == scenario->planes[0] ? 0 : 1;

    return (d->reporter == plane && d->reporter_start == plane->starts) ||
           (scenario->listed_start[i] == plane->starts && d->reported_ns < scenario->listed_ns[i]);
}

/* True if the volume is reported as attached to the node and is attached, and the process knows that. */
static bool is_known_attached(struct attach_scenario *scenario, const struct sim_process *plane,
                              unsigned node, unsigned volume)
{
    const struct attachment *a = find_attachment(scenario, node, volume);

    return knows_report(scenario, plane, &scenario->nodes[node].disks[volume]) &&
           reports_attached(&scenario->nodes[node], volume) && a && a->is_attached && !a->obj.is_deleting;
}

static void check_create_request(struct attach_scenario *scenario, const struct sim_process *plane,
                                 struct str body)
{
    static const char node_is[] = "\"nodeName\":\"n", volume_is[] = "\"persistentVolumeName\":\"d";
    unsigned node, volume;
    char text[1024];
    const char *at_node, *at_volume;

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(body));
    at_node = strstr(text, node_is);
    at_volume = strstr(text, volume_is);
    if (!at_node || !at_volume)
        abort();
    node = (unsigned)(at_node[strlen(node_is)] - '0');
    volume = (unsigned)(at_volume[strlen(volume_is)] - '0');
    for (unsigned n = 0; n < scenario->nodes_count; n++)
        if (n != node && attach_scenario_is_exclusive(scenario, volume) &&
            is_known_attached(scenario, plane, n, volume))
            sim_fail(scenario->sim, "d%u is to be attached to n%u, and n%u has it", volume, node, n);
}

/* Records which volumes the process writes to the status of a Node. */
static void record_report(struct attach_scenario *scenario, const struct sim_process *plane,
                          const struct client_request *q)
{
    unsigned node;
    char text[2048], name[UNIQUE_NAME_BYTES + 2], unique[UNIQUE_NAME_BYTES];

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(q->body));
    if (!attach_number(q->name, 'n', scenario->nodes_count, &node) || !strstr(text, "volumesAttached"))
        return;
    for (unsigned v = 0; v < VOLUMES_COUNT; v++) {
        write_unique_name(v, unique);
        (void)snprintf(name, sizeof name, "\"%s\"", unique);
        if (strstr(text, name)) {
            scenario->nodes[node].disks[v].reporter = plane;
            scenario->nodes[node].disks[v].reporter_start = plane->starts;
        }
    }
}

static void record_list_request(struct attach_scenario *scenario, const struct sim_process *plane)
{
    unsigned i = plane == scenario->planes[0] ? 0 : 1;

    scenario->listed_ns[i] = scenario->sim->now_ns;
    scenario->listed_start[i] = plane->starts;
}

static void record_delete_request(struct attach_scenario *scenario, const char *name)
{
    const struct object *o = store_get(scenario->sim->server.store, KIND_ATTACHMENT, "", name);
    unsigned node, volume;

    if (o && find_numbers(scenario, (const struct attachment *)(const void *)o, &node, &volume) &&
        may_force(scenario, node, volume))
        scenario->drivers.disks.volumes[volume].is_forced[node] = true;
}

static void on_send(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q)
{
    struct attach_scenario *scenario = ctx;
    enum kind k = q->kind ? q->kind->kind : KIND_COUNT;

    (void)id;
    if (p != scenario->planes[0] && p != scenario->planes[1])
        return;
    if (k == KIND_ATTACHMENT && q->verb == CLIENT_DELETE)
        record_delete_request(scenario, q->name);
    else if (k == KIND_ATTACHMENT && q->verb == CLIENT_CREATE)
        check_create_request(scenario, p, q->body);
    else if (k == KIND_NODE && q->verb == CLIENT_PATCH)
        record_report(scenario, p, q);
    else if (k == KIND_NODE && q->verb == CLIENT_LIST && !q->resource_version && !q->continue_token)
        record_list_request(scenario, p);
}

/* --- Stored objects --- */

static void record_moment(bool is_so, uint64_t now_ns, uint64_t *at_ns)
{
    if (is_so)
        *at_ns = UINT64_MAX;
    else if (*at_ns == UINT64_MAX)
        *at_ns = now_ns;
}

static void record_node(struct attach_scenario *scenario, const struct store_event *ev)
{
    const struct node *is = node_of(ev->object);
    uint64_t now_ns = scenario->sim->now_ns;
    unsigned node;

    if (!attach_number(ev->object->name, 'n', scenario->nodes_count, &node))
        return;
    record_moment(ev->is_delete || !node_is_ready(is), now_ns, &scenario->nodes[node].unready_ns);
    record_moment(!ev->is_delete && node_has_taint(is, TAINT_OUT_OF_SERVICE), now_ns,
                  &scenario->nodes[node].tainted_ns);
    if (!ev->old && !ev->is_delete)
        scenario->nodes[node].renewed_ns = now_ns;
    for (unsigned v = 0; v < VOLUMES_COUNT; v++) {
        struct attach_scenario_disk *d = &scenario->nodes[node].disks[v];
        char name[UNIQUE_NAME_BYTES];

        write_unique_name(v, name);
        if (ev->is_delete || !node_attached_volume(is, name))
            d->reported_ns = UINT64_MAX;
        else if (d->reported_ns == UINT64_MAX)
            d->reported_ns = now_ns;
    }
}

static void record_lease(struct attach_scenario *scenario, const struct store_event *ev)
{
    unsigned node;

    if (!ev->is_delete && strcmp(ev->object->ns, NODE_LEASE_NAMESPACE) == 0 &&
        attach_number(ev->object->name, 'n', scenario->nodes_count, &node))
        scenario->nodes[node].renewed_ns = scenario->sim->now_ns;
}

/* A new attachment ends the permission to detach by force, unless the volume is still mounted after a forced
 * detach. */
static void record_attachment(struct attach_scenario *scenario, const struct store_event *ev)
{
    unsigned node, volume;

    if (!ev->old && !ev->is_delete &&
        find_numbers(scenario, (const struct attachment *)(const void *)ev->object, &node, &volume) &&
        !is_mounted(&scenario->nodes[node], volume))
        scenario->drivers.disks.volumes[volume].is_forced[node] = false;
}

static void on_event(void *ctx, const struct store_event *ev)
{
    struct attach_scenario *scenario = ctx;
    enum kind k = ev->object->kind->kind;

    if (k == KIND_NODE)
        record_node(scenario, ev);
    else if (k == KIND_LEASE)
        record_lease(scenario, ev);
    else if (k == KIND_ATTACHMENT)
        record_attachment(scenario, ev);
    else if (k == KIND_POD || k == KIND_CLAIM)
        scenario->is_wanted_stale = true;
}

struct wanted_volumes {
    struct attach_scenario *scenario;
    unsigned bits[NODES_MAX]; /* volumes, by node */
};

/* Pods that are being deleted do not count: their containers end at once here. */
static bool add_wanted(void *ctx, const struct object *o)
{
    struct wanted_volumes *w = ctx;
    const struct pod *p = pod_of(o);
    const struct attach_scenario_node *n = attach_scenario_find_node(w->scenario, p);
    unsigned volume;

    for (uint32_t i = 0; n && !o->is_deleting && i < p->volumes.count; i++)
        if (find_volume(w->scenario, &p->volumes.items[i], &volume))
            w->bits[n->number] |= 1U << volume;
    return true;
}

static void record_wanted(struct attach_scenario_disk *d, bool is_wanted, uint64_t now_ns)
{
    if (is_wanted && !d->is_wanted) {
        d->waited_ns = now_ns - d->unwanted_ns;
        d->waited_to_ns = now_ns;
    } else if (!is_wanted && d->is_wanted) {
        d->unwanted_ns = now_ns;
    }
    d->is_wanted = is_wanted;
}

static void update_wanted(struct attach_scenario *scenario)
{
    struct wanted_volumes w = { .scenario = scenario };

    if (!scenario->is_wanted_stale)
        return;
    scenario->is_wanted_stale = false;
    (void)objects_each(scenario->sim, KIND_POD, add_wanted, &w);
    for (unsigned n = 0; n < scenario->nodes_count; n++)
        for (unsigned v = 0; v < VOLUMES_COUNT; v++)
            record_wanted(&scenario->nodes[n].disks[v], (w.bits[n] >> v) & 1, scenario->sim->now_ns);
}

/* --- Invariants --- */

static void check_exclusive_mounts(struct attach_scenario *scenario, const struct storage_volume *v)
{
    const struct attach_scenario_node *first = NULL;

    for (unsigned n = 0; n < scenario->nodes_count; n++) {
        if (v->is_forced[n] || !machine_mounts_disk(scenario->nodes[n].machine, &v->disk))
            continue;
        if (first)
            sim_fail(scenario->sim, "%s mounts %s, which %s has mounted", scenario->nodes[n].name,
                     v->disk.name, first->name);
        first = &scenario->nodes[n];
    }
}

static void attach_scenario_check(void *ctx)
{
    struct attach_scenario *scenario = ctx;

    update_wanted(scenario);
    node_drivers_check(&scenario->drivers);
    if (sim_has_changed(scenario->sim, &scenario->checked))
        for (unsigned v = 0; v < VOLUMES_COUNT; v++)
            if (attach_scenario_is_exclusive(scenario, v))
                check_exclusive_mounts(scenario, &scenario->drivers.disks.volumes[v]);
    attach_workload_control(scenario);
}

/* --- The final state --- */

static bool is_mounted_elsewhere(const struct attach_scenario *scenario, unsigned node, unsigned volume)
{
    for (unsigned n = 0; n < scenario->nodes_count; n++)
        if (n != node && attach_scenario_is_exclusive(scenario, volume) &&
            scenario->nodes[n].disks[volume].is_wanted && is_mounted(&scenario->nodes[n], volume))
            return true;
    return false;
}

static int check_wanted(struct attach_scenario *scenario, unsigned node, unsigned volume, struct error *err)
{
    const struct attach_scenario_node *n = &scenario->nodes[node];
    const struct attachment *a = find_attachment(scenario, node, volume);

    if (is_mounted_elsewhere(scenario, node, volume))
        return 0; /* a pod on another node has it */
    if (!a || !a->is_attached)
        return error_set(err, ERR_BUSY, "pods on %s use d%u, which has no attachment", n->name, volume);
    if (!scenario->drivers.disks.volumes[volume].is_attached[node])
        return error_set(err, ERR_BUSY, "pods on %s use d%u, which is not attached", n->name, volume);
    if (!reports_attached(n, volume))
        return error_set(err, ERR_BUSY, "pods on %s use d%u, which is not reported as attached", n->name,
                         volume);
    if (!reports_in_use(n, volume))
        return error_set(err, ERR_BUSY, "pods on %s use d%u, which is not reported as in use", n->name,
                         volume);
    if (!is_mounted(n, volume))
        return error_set(err, ERR_BUSY, "pods on %s use d%u, which is not mounted", n->name, volume);
    return 0;
}

/* node_drivers_settled() checks that the volume is neither attached nor mounted. */
static int check_unwanted(struct attach_scenario *scenario, unsigned node, unsigned volume, struct error *err)
{
    const struct attach_scenario_node *n = &scenario->nodes[node];

    if (find_attachment(scenario, node, volume))
        return error_set(err, ERR_BUSY, "no pod uses d%u on %s, and it has an attachment", volume, n->name);
    if (reports_attached(n, volume))
        return error_set(err, ERR_BUSY, "no pod uses d%u on %s, and it is reported as attached", volume,
                         n->name);
    if (reports_in_use(n, volume))
        return error_set(err, ERR_BUSY, "no pod uses d%u on %s, and it is reported as in use", volume,
                         n->name);
    return 0;
}

struct settle_check {
    struct attach_scenario *scenario;
    struct error *err;
    int r;
};

/* Checks that the volume is published in the directory of this pod. */
static int check_published(struct attach_scenario *scenario, const struct pod *p, const struct pod_volume *v,
                           struct error *err)
{
    struct attach_scenario_node *n = attach_scenario_find_node(scenario, p);
    struct machine_place at;
    char path[PATH_MAX];
    unsigned volume;

    if (!find_volume(scenario, v, &volume))
        return error_set(err, ERR_BUSY, "pod %s has no volume", p->obj.name);
    if (is_mounted_elsewhere(scenario, n->number, volume))
        return 0;
    (void)snprintf(path, sizeof path, AGENT_ROOT "/pods/%s/volumes/kubernetes.io~csi/d%u/mount", p->obj.uid,
                   volume);
    if (machine_find(n->machine, AT_FDCWD, path, 0, &at, NULL) != 0 ||
        at.mount->tree != scenario->drivers.disks.volumes[volume].disk.tree)
        return error_set(err, ERR_BUSY, "pod %s lacks d%u on %s", p->obj.name, volume, n->name);
    return 0;
}

static bool check_pod(void *ctx, const struct object *o)
{
    struct settle_check *l = ctx;
    const struct pod *p = pod_of(o);

    if (o->is_deleting)
        l->r = error_set(l->err, ERR_BUSY, "pod %s is being deleted", o->name);
    else if (!attach_scenario_find_node(l->scenario, p))
        l->r = error_set(l->err, ERR_BUSY, "pod %s has no node", o->name);
    for (uint32_t i = 0; i < p->volumes.count && l->r == 0; i++)
        l->r = check_published(l->scenario, p, &p->volumes.items[i], l->err);
    return l->r == 0;
}

static int attach_scenario_settled(void *ctx, struct error *err)
{
    struct attach_scenario *scenario = ctx;
    struct settle_check l = { scenario, err, 0 };

    update_wanted(scenario);
    (void)objects_each(scenario->sim, KIND_POD, check_pod, &l);
    for (unsigned n = 0; n < scenario->nodes_count && l.r == 0; n++)
        for (unsigned v = 0; v < VOLUMES_COUNT && l.r == 0; v++)
            l.r = scenario->nodes[n].disks[v].is_wanted ? check_wanted(scenario, n, v, err)
                                                        : check_unwanted(scenario, n, v, err);
    return l.r == 0 ? node_drivers_settled(&scenario->drivers, err) : l.r;
}

/* --- Begin and end --- */

static void on_reboot(void *ctx)
{
    struct attach_scenario_node *n = ctx;

    n->lost_start = n->process->starts;
}

static void begin_plane(struct attach_scenario *scenario, unsigned number)
{
    char *name = scenario->plane_names[number];

    (void)snprintf(name, NAME_BYTES, "plane%u", number);
    scenario->plane_daemons[number] = (struct sim_daemon_options){ .program = &plane_program, .host = name };
    scenario->plane_daemons[number].settings.is_elected = scenario->planes_count > 1;
    scenario->planes[number] =
        sim_spawn_on(machine_new(scenario->sim, name), &sim_daemon_program, &scenario->plane_daemons[number]);
}

static void begin_node(struct attach_scenario *scenario, unsigned number)
{
    struct attach_scenario_node *n = &scenario->nodes[number];

    n->scenario = scenario;
    n->number = number;
    n->unready_ns = UINT64_MAX;
    for (unsigned v = 0; v < VOLUMES_COUNT; v++)
        n->disks[v].reported_ns = UINT64_MAX;
    (void)snprintf(n->name, sizeof n->name, "n%u", number);
    n->machine = machine_new(scenario->sim, n->name);
    n->machine->on_reboot = on_reboot;
    n->machine->ctx = n;
    node_drivers_add(&scenario->drivers, n->machine);
    n->daemon = (struct sim_daemon_options){ .program = &daemon_node, .host = n->name };
    n->daemon.settings.node.name = n->name;
    n->daemon.settings.node.root = AGENT_ROOT;
    n->process = sim_spawn_on(n->machine, &sim_daemon_program, &n->daemon);
}

/* Mostly two or three: each node has a lease, and leases are most of the traffic of a quiet run. */
static unsigned draw_nodes(struct rng *r)
{
    uint64_t kinds = NODES_MAX - NODES_MIN + 1, first = rng_below(r, kinds), second = rng_below(r, kinds);

    return NODES_MIN + (unsigned)(first < second ? first : second);
}

static void *attach_scenario_begin(struct sim *s)
{
    static const unsigned divisors[] = { 2, 8, 40 };
    struct attach_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    s->large_fault_divisor = divisors[rng_below(&s->work, ARRAY_LEN(divisors))];
    scenario->planes_count = rng_chance(&s->work, 35) ? PLANES_MAX : 1;
    scenario->nodes_count = draw_nodes(&s->work);
    s->network.on_send = on_send;
    s->network.ctx = scenario;
    store_watch(s->server.store, &scenario->watcher, KIND_COUNT, on_event, NULL, scenario);
    node_drivers_init_csi(&scenario->drivers, s, AGENT_ROOT, VOLUMES_COUNT);
    attach_workload_begin(scenario);
    for (unsigned i = 0; i < scenario->planes_count; i++)
        begin_plane(scenario, i);
    for (unsigned i = 0; i < scenario->nodes_count; i++)
        begin_node(scenario, i);
    node_drivers_begin(&scenario->drivers);
    return scenario;
}

static void attach_scenario_work(void *ctx)
{
    attach_workload_work(ctx);
}

static void attach_scenario_end(void *ctx)
{
    struct attach_scenario *scenario = ctx;

    store_unwatch(scenario->sim->server.store, &scenario->watcher);
    scenario->sim->network.on_send = NULL;
    node_drivers_end(&scenario->drivers);
    free(scenario);
}

const struct sim_scenario sim_scenario_attach = {
    .name = "attach",
    .steps_factor = 4,
    .wakes_due_only = true,
    .second_steps_max = 20000,
    .begin = attach_scenario_begin,
    .work = attach_scenario_work,
    .check = attach_scenario_check,
    .settled = attach_scenario_settled,
    .end = attach_scenario_end,
};
