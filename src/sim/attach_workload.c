/* The people of the attach scenario: they make pods and delete them, pull plugs of machines and networks, say
 * that a node is out of service, delete Nodes; some of them stand for the controllers of nodes and pods,
 * which say that a silent node is not ready and take away the pods of nodes that are lost. */
#include "sim/scenario_attach.h"

#include <stdio.h>
#include <string.h>

#define TIDY_NS (5 * NS_PER_S)
/* A node that nobody hears of for this long is not ready. */
#define SILENCE_NS (40 * NS_PER_S)
#define TROUBLE_NS (900 * NS_PER_S)

/* --- Objects --- */

static void make_class(struct site *x, const char *name, const char *binding)
{
    objects_create(x->sim, KIND_CLASS, name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'kubernetes.io/no-provisioner','volumeBindingMode':'%s'}",
                   name, binding);
}

/* One volume and one claim that fit each other: every other pair is bound with its first pod. */
static void make_pair(struct site *x, unsigned v)
{
    const char *class = v % 2 ? "later" : "now";
    const char *mode = site_is_exclusive(x, v) ? "ReadWriteOnce" : "ReadWriteMany";
    char name[SITE_NAME_BYTES];

    (void)snprintf(name, sizeof name, "d%u", v);
    objects_create(
        x->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'1Gi'},'accessModes':['%s'],'csi':{'driver':'" CSI_DRIVER
        "','volumeHandle':'%s','fsType':'ext4'},'storageClassName':'%s',"
        "'persistentVolumeReclaimPolicy':'Retain'}}",
        name, mode, name, class);
    (void)snprintf(name, sizeof name, "c%u", v);
    objects_create(
        x->sim, KIND_CLAIM, name,
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
        "'accessModes':['%s'],'resources':{'requests':{'storage':'1Gi'}},'storageClassName':'%s'}}",
        name, mode, class);
}

/* As a rule on a node that somebody chose, so that volumes move; often as it was before, so that a volume
 * comes back to a node that has hardly let go of it. */
static void choose(struct site *x, struct site_pod *p)
{
    struct rng *r = &x->sim->work;

    p->is_chosen = true;
    p->first = (unsigned)rng_below(r, SITE_VOLUMES);
    p->second = (unsigned)rng_below(r, SITE_VOLUMES);
    p->has_two = rng_chance(r, 25) && p->first != p->second;
    p->node = (unsigned)rng_below(r, x->nodes_count);
    p->is_choosy = rng_chance(r, 85);
}

static void make_pod(struct site *x, unsigned number)
{
    struct site_pod *p = &x->pods[number];
    char name[SITE_NAME_BYTES], other[96] = "", selector[80] = "";

    if (rng_chance(&x->sim->work, 40) || !p->is_chosen)
        choose(x, p);
    if (p->has_two)
        (void)snprintf(other, sizeof other, ",{'name':'b','persistentVolumeClaim':{'claimName':'c%u'}}",
                       p->second);
    if (p->is_choosy)
        (void)snprintf(selector, sizeof selector, ",'nodeSelector':{'kubernetes.io/hostname':'n%u'}",
                       p->node);
    (void)snprintf(name, sizeof name, "p%u", number);
    objects_create(x->sim, KIND_POD, name,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{"
                   "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'i','volumeMounts':[{"
                   "'name':'a','mountPath':'/a'}%s]}],'volumes':[{'name':'a','persistentVolumeClaim':{"
                   "'claimName':'c%u'}}%s]%s}}",
                   name, p->has_two ? ",{'name':'b','mountPath':'/b'}" : "", p->first, other, selector);
}

/* Nobody has heard of it for so long that it is not ready. */
static bool is_silent(const struct site_node *n)
{
    return n->site->sim->now_ns - n->heard_ns > SILENCE_NS;
}

/* Whoever has a node is done some time; where the node is silent, somebody loses patience. */
static void turn_over_pod(struct site *x, unsigned number)
{
    struct rng *r = &x->sim->work;
    char name[SITE_NAME_BYTES];
    const struct object *o;
    const struct site_node *n;

    (void)snprintf(name, sizeof name, "p%u", number);
    o = store_get(x->sim->server.store, KIND_POD, OBJECTS_NS, name);
    n = o ? site_node_of_pod(x, pod_of(o)) : NULL;
    if (!o)
        make_pod(x, number);
    else if (rng_chance(r, n && is_silent(n) ? 50 : 5))
        objects_delete_exact(x->sim, o); /* at once */
    else if (rng_chance(r, n ? 60 : 10))
        objects_delete(x->sim, KIND_POD, name);
}

/* --- Nodes --- */

static void patch_node(const struct site_node *n, const char *subresource, const char *body)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(KIND_NODE),
                                .name = n->name,
                                .subresource = subresource,
                                .patch = subresource ? CLIENT_PATCH_STRATEGIC : CLIENT_PATCH_MERGE,
                                .body = str_of(body) };

    sim_trace(n->site->sim, "somebody: patch node %s %s", n->name, body);
    sim_request(n->site->sim, &q);
}

static void set_taint(const struct site_node *n, bool is_set)
{
    patch_node(n, /* subresource= */ NULL,
               is_set ? "{\"spec\":{\"taints\":[{\"key\":\"" TAINT_OUT_OF_SERVICE
                        "\",\"value\":\"nodeshutdown\",\"effect\":\"NoExecute\"}]}}"
                      : "{\"spec\":{\"taints\":null}}");
}

/* A plug is pulled, of the machine or of its network. */
static void trouble_node(struct site_node *n)
{
    struct sim *s = n->site->sim;
    uint64_t until_ns = s->now_ns + 1 + rng_below(&s->work, TROUBLE_NS);
    bool is_power = rng_chance(&s->work, 50);

    if (site_node_is_down(n) || n->process->rejoins_ns > s->now_ns)
        return;
    if (is_power && sim_may_fault(s, FAULT_REBOOT)) {
        sim_reboot(n->machine, until_ns);
    } else if (!is_power && sim_may_fault(s, FAULT_PARTITION)) {
        n->process->rejoins_ns = until_ns;
        sim_trace(s, "%s loses its network", n->name);
    }
}

static void change_node(struct site *x, struct site_node *n)
{
    const struct node *is = site_stored_node(n);
    bool is_down = site_node_is_down(n);
    struct rng *r = &x->sim->work;
    uint64_t what = rng_below(r, 10);

    if (what < 4)
        trouble_node(n);
    else if (is && node_has_taint(is, TAINT_OUT_OF_SERVICE) && (!is_down || what == 4))
        set_taint(n, false);
    else if (is && is_down && what < 8)
        set_taint(n, true);
    else if (is && (is_silent(n) ? what == 8 : what == 9 && rng_chance(r, 30)))
        objects_delete_exact(x->sim, &is->obj);
}

/* --- What controllers of nodes and pods do --- */

static bool end_pod(void *ctx, const struct object *o)
{
    struct site *x = ctx;
    const struct site_node *n = site_node_of_pod(x, pod_of(o));
    const struct node *is = n ? site_stored_node(n) : NULL;
    bool is_lost;

    if (!n)
        is_lost = o->is_deleting;
    else if (!is)
        is_lost = is_silent(n) || o->is_deleting;
    else
        is_lost = o->is_deleting && !node_is_ready(is) && node_has_taint(is, TAINT_OUT_OF_SERVICE);
    if (is_lost)
        objects_delete_exact(x->sim, o);
    return true;
}

static void tidy_node(const struct site_node *n)
{
    const struct node *is = site_stored_node(n);

    if (is && node_is_ready(is) && is_silent(n))
        patch_node(n, "status",
                   "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}");
    if (n->site->sim->is_healed && is && node_has_taint(is, TAINT_OUT_OF_SERVICE))
        set_taint(n, false);
}

void site_workload_tidy(struct site *x)
{
    if (!x->sim->server.api || x->sim->now_ns - x->tidied_ns < TIDY_NS)
        return;
    x->tidied_ns = x->sim->now_ns;
    for (unsigned n = 0; n < x->nodes_count; n++)
        tidy_node(&x->nodes[n]);
    (void)objects_each(x->sim, KIND_POD, end_pod, x);
}

/* --- The day --- */

/* Some are in haste, and some let hours pass. */
void site_workload_work(struct site *x)
{
    struct rng *r = &x->sim->work;

    x->sim->next_action_ns = x->sim->now_ns + rng_below(r, x->pace_ns);
    if (rng_chance(r, 85))
        turn_over_pod(x, (unsigned)rng_below(r, SITE_PODS));
    else
        change_node(x, &x->nodes[rng_below(r, x->nodes_count)]);
}

void site_workload_begin(struct site *x)
{
    static const uint64_t paces_ns[] = { NS_PER_S, 3 * NS_PER_S, 12 * NS_PER_S, 60 * NS_PER_S };

    x->pace_ns = paces_ns[rng_below(&x->sim->work, ARRAY_LEN(paces_ns))];
    make_class(x, "now", "Immediate");
    make_class(x, "later", "WaitForFirstConsumer");
    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        make_pair(x, v);
}
