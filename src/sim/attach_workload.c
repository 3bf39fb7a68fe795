/* The workload of scenario attach: creates and deletes pods, cuts the power or the network of machines, sets
 * and removes the taint out-of-service, and deletes Nodes. It also acts as the node and pod controllers of
 * Kubernetes: it marks nodes whose lease is stale as not ready, and deletes the pods of lost nodes. */
#include "sim/scenario_attach.h"

#include <stdio.h>
#include <string.h>

#define CONTROL_NS (5 * NS_PER_S)
/* A node whose lease is older than this is not ready. */
#define LEASE_STALE_NS (40 * NS_PER_S)
#define FAIL_NS_MAX (900 * NS_PER_S)

/* --- Objects --- */

static void make_class(struct attach_scenario *scenario, const char *name, const char *binding)
{
    objects_create(scenario->sim, KIND_CLASS, name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'kubernetes.io/no-provisioner','volumeBindingMode':'%s'}",
                   name, binding);
}

/* Creates a volume and a claim that match. Every second pair has delayed binding. */
static void make_pair(struct attach_scenario *scenario, unsigned v)
{
    const char *class = v % 2 ? "later" : "now";
    const char *mode = attach_scenario_is_exclusive(scenario, v) ? "ReadWriteOnce" : "ReadWriteMany";
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "d%u", v);
    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'1Gi'},'accessModes':['%s'],'csi':{'driver':'" CSI_DRIVER
        "','volumeHandle':'%s','fsType':'ext4'},'storageClassName':'%s',"
        "'persistentVolumeReclaimPolicy':'Retain'}}",
        name, mode, name, class);
    (void)snprintf(name, sizeof name, "c%u", v);
    objects_create(
        scenario->sim, KIND_CLAIM, name,
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
        "'accessModes':['%s'],'resources':{'requests':{'storage':'1Gi'}},'storageClassName':'%s'}}",
        name, mode, class);
}

/* Most pods select a random node, so that volumes move. make_pod() often reuses the properties, so that a
 * volume returns to a node that has just unmounted it. */
static void draw_pod(struct attach_scenario *scenario, struct attach_scenario_pod *p)
{
    struct rng *r = &scenario->sim->work;

    p->is_chosen = true;
    p->first = (unsigned)rng_below(r, VOLUMES_COUNT);
    p->second = (unsigned)rng_below(r, VOLUMES_COUNT);
    p->has_two = rng_chance(r, 25) && p->first != p->second;
    p->node = (unsigned)rng_below(r, scenario->nodes_count);
    p->has_node_selector = rng_chance(r, 85);
}

static void make_pod(struct attach_scenario *scenario, unsigned number)
{
    struct attach_scenario_pod *p = &scenario->pods[number];
    char name[NAME_BYTES], other[96] = "", selector[80] = "";

    if (rng_chance(&scenario->sim->work, 40) || !p->is_chosen)
        draw_pod(scenario, p);
    if (p->has_two)
        (void)snprintf(other, sizeof other, ",{'name':'b','persistentVolumeClaim':{'claimName':'c%u'}}",
                       p->second);
    if (p->has_node_selector)
        (void)snprintf(selector, sizeof selector, ",'nodeSelector':{'kubernetes.io/hostname':'n%u'}",
                       p->node);
    (void)snprintf(name, sizeof name, "p%u", number);
    objects_create(scenario->sim, KIND_POD, name,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{"
                   "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'i','volumeMounts':[{"
                   "'name':'a','mountPath':'/a'}%s]}],'volumes':[{'name':'a','persistentVolumeClaim':{"
                   "'claimName':'c%u'}}%s]%s}}",
                   name, p->has_two ? ",{'name':'b','mountPath':'/b'}" : "", p->first, other, selector);
}

/* True if the lease of the node is so old that it is not ready. */
static bool is_lease_stale(const struct attach_scenario_node *n)
{
    return n->scenario->sim->now_ns - n->renewed_ns > LEASE_STALE_NS;
}

/* Creates the pod, or deletes it: more often if it has a node, and by force if the lease of the node is
 * stale. */
static void create_or_delete_pod(struct attach_scenario *scenario, unsigned number)
{
    struct rng *r = &scenario->sim->work;
    char name[NAME_BYTES];
    const struct object *o;
    const struct attach_scenario_node *n;

    (void)snprintf(name, sizeof name, "p%u", number);
    o = store_get(scenario->sim->server.store, KIND_POD, OBJECTS_NS, name);
    n = o ? attach_scenario_find_node(scenario, pod_of(o)) : NULL;
    if (!o)
        make_pod(scenario, number);
    else if (rng_chance(r, n && is_lease_stale(n) ? 50 : 5))
        objects_delete_exact(scenario->sim, o); /* without grace period */
    else if (rng_chance(r, n ? 60 : 10))
        objects_delete(scenario->sim, KIND_POD, name);
}

/* --- Nodes --- */

static void patch_node(const struct attach_scenario_node *n, const char *subresource, const char *body)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(KIND_NODE),
                                .name = n->name,
                                .subresource = subresource,
                                .patch = subresource ? CLIENT_PATCH_STRATEGIC : CLIENT_PATCH_MERGE,
                                .body = str_of(body) };

    sim_trace(n->scenario->sim, "workload: patch node %s %s", n->name, body);
    sim_request(n->scenario->sim, &q);
}

static void set_taint(const struct attach_scenario_node *n, bool is_set)
{
    patch_node(n, /* subresource= */ NULL,
               is_set ? "{\"spec\":{\"taints\":[{\"key\":\"" TAINT_OUT_OF_SERVICE
                        "\",\"value\":\"nodeshutdown\",\"effect\":\"NoExecute\"}]}}"
                      : "{\"spec\":{\"taints\":null}}");
}

/* Cuts the power of the machine, or its network. */
static void fail_node(struct attach_scenario_node *n)
{
    struct sim *s = n->scenario->sim;
    uint64_t until_ns = s->now_ns + 1 + rng_below(&s->work, FAIL_NS_MAX);
    bool is_power = rng_chance(&s->work, 50);

    if (attach_scenario_is_down(n) || n->process->rejoins_ns > s->now_ns)
        return;
    if (is_power && sim_may_fault(s, FAULT_REBOOT)) {
        sim_reboot(n->machine, until_ns);
    } else if (!is_power && sim_may_fault(s, FAULT_PARTITION)) {
        n->process->rejoins_ns = until_ns;
        sim_trace(s, "%s loses its network", n->name);
    }
}

static void change_node(struct attach_scenario *scenario, struct attach_scenario_node *n)
{
    const struct node *is = attach_scenario_stored_node(n);
    bool is_down = attach_scenario_is_down(n);
    struct rng *r = &scenario->sim->work;
    uint64_t what = rng_below(r, 10);

    if (what < 4)
        fail_node(n);
    else if (is && node_has_taint(is, TAINT_OUT_OF_SERVICE) && (!is_down || what == 4))
        set_taint(n, false);
    else if (is && is_down && what < 8)
        set_taint(n, true);
    else if (is && (is_lease_stale(n) ? what == 8 : what == 9 && rng_chance(r, 30)))
        objects_delete_exact(scenario->sim, &is->obj);
}

/* --- Node and pod controllers --- */

static bool delete_lost_pod(void *ctx, const struct object *o)
{
    struct attach_scenario *scenario = ctx;
    const struct attach_scenario_node *n = attach_scenario_find_node(scenario, pod_of(o));
    const struct node *is = n ? attach_scenario_stored_node(n) : NULL;
    bool is_lost;

    if (!n)
        is_lost = o->is_deleting;
    else if (!is)
        is_lost = is_lease_stale(n) || o->is_deleting;
    else
        is_lost = o->is_deleting && !node_is_ready(is) && node_has_taint(is, TAINT_OUT_OF_SERVICE);
    if (is_lost)
        objects_delete_exact(scenario->sim, o);
    return true;
}

static void control_node(const struct attach_scenario_node *n)
{
    const struct node *is = attach_scenario_stored_node(n);

    if (is && node_is_ready(is) && is_lease_stale(n))
        patch_node(n, "status",
                   "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}");
    if (n->scenario->sim->is_healed && is && node_has_taint(is, TAINT_OUT_OF_SERVICE))
        set_taint(n, false);
}

void attach_workload_control(struct attach_scenario *scenario)
{
    if (!scenario->sim->server.api || scenario->sim->now_ns - scenario->controlled_ns < CONTROL_NS)
        return;
    scenario->controlled_ns = scenario->sim->now_ns;
    for (unsigned n = 0; n < scenario->nodes_count; n++)
        control_node(&scenario->nodes[n]);
    (void)objects_each(scenario->sim, KIND_POD, delete_lost_pod, scenario);
}

/* --- Actions --- */

/* The time between two actions depends on the seed: from a second to a minute. */
void attach_workload_work(struct attach_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;

    scenario->sim->next_action_ns = scenario->sim->now_ns + rng_below(r, scenario->action_ns_max);
    if (rng_chance(r, 85))
        create_or_delete_pod(scenario, (unsigned)rng_below(r, PODS_COUNT));
    else
        change_node(scenario, &scenario->nodes[rng_below(r, scenario->nodes_count)]);
}

void attach_workload_begin(struct attach_scenario *scenario)
{
    static const uint64_t action_ns[] = { NS_PER_S, 3 * NS_PER_S, 12 * NS_PER_S, 60 * NS_PER_S };

    scenario->action_ns_max = action_ns[rng_below(&scenario->sim->work, ARRAY_LEN(action_ns))];
    make_class(scenario, "now", "Immediate");
    make_class(scenario, "later", "WaitForFirstConsumer");
    for (unsigned v = 0; v < VOLUMES_COUNT; v++)
        make_pair(scenario, v);
}
