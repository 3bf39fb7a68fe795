/* The workload of scenario scheduler: creates and deletes pods, claims, volumes and nodes, changes zones of
 * nodes and cordons them. It also acts as an external provisioner and as the protection controllers. */
#include "sim/scenario_scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim_binder.h"

#define PROVISIONER "example.com/outside"
#define CONTROL_NS (20 * NS_PER_MS)

struct class_row {
    const char *name;
    const char *provisioner;
    const char *binding;
};

/* Local volumes of two classes, provisioning outside and by the binder with delayed binding, and immediate
 * binding. */
static const struct class_row classes[] = {
    { "disk", "kubernetes.io/no-provisioner", "WaitForFirstConsumer" },
    { "flash", "kubernetes.io/no-provisioner", "WaitForFirstConsumer" },
    { "outside", PROVISIONER, "WaitForFirstConsumer" },
    { "inside", SIM_BINDER_PLUGIN, "WaitForFirstConsumer" },
    { "now", "kubernetes.io/no-provisioner", "Immediate" },
};

const char *const zone_names[ZONES_COUNT] = { "a", "b" };

/* --- Objects --- */

static void draw_name(struct rng *r, char prefix, unsigned count, char to[static 8])
{
    (void)snprintf(to, 8, "%c%u", prefix, (unsigned)rng_below(r, count));
}

static void make_class(struct scheduler_scenario *scenario, const struct class_row *k)
{
    objects_create(scenario->sim, KIND_CLASS, k->name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'%s','volumeBindingMode':'%s','reclaimPolicy':'Retain'}",
                   k->name, k->provisioner, k->binding);
}

static void make_node(struct scheduler_scenario *scenario, const char *name)
{
    const char *zone = zone_names[rng_below(&scenario->sim->work, ZONES_COUNT)];

    objects_create(scenario->sim, KIND_NODE, name,
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'" LABEL_HOST
                   "':'%s','" LABEL_ZONE "':'%s'}},'spec':{}}",
                   name, name, zone);
}

/* Mostly a disk of one node, sometimes of a zone; sometimes pre-bound to a claim by name. */
static void make_volume(struct scheduler_scenario *scenario, const char *name)
{
    static const char *const of_classes[] = { "disk", "disk", "disk", "disk", "flash", "flash", "now" };
    struct rng *r = &scenario->sim->work;
    const char *class = of_classes[rng_below(r, ARRAY_LEN(of_classes))];
    const char *zone = zone_names[rng_below(r, ZONES_COUNT)];
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    bool is_zonal = rng_chance(r, 20), is_prebound = rng_chance(r, 15);
    char node[8], claim[8], ref[128] = "";

    draw_name(r, 'n', NODES_COUNT, node);
    draw_name(r, 'c', CLAIMS_COUNT, claim);
    if (is_prebound)
        (void)snprintf(ref, sizeof ref, ",'claimRef':{'namespace':'" OBJECTS_NS "','name':'%s'}", claim);
    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'%uGi'},'accessModes':['ReadWriteOnce'],'local':{'path':'/x'},'nodeAffinity':{"
        "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'%s','operator':'In',"
        "'values':['%s']}]}]}},'storageClassName':'%s','persistentVolumeReclaimPolicy':'Retain'%s}}",
        name, size, is_zonal ? LABEL_ZONE : LABEL_HOST, is_zonal ? zone : node, class, ref);
}

static void make_claim(struct scheduler_scenario *scenario, const char *name)
{
    static const char *const of_classes[] = { "disk",  "disk",    "disk",   "disk", "flash",
                                              "flash", "outside", "inside", "now" };
    struct rng *r = &scenario->sim->work;
    const char *class = of_classes[rng_below(r, ARRAY_LEN(of_classes))];
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    char volume[8], named[64] = "";

    draw_name(r, 'v', VOLUMES_COUNT, volume);
    if (rng_chance(r, 5))
        (void)snprintf(named, sizeof named, ",'volumeName':'%s'", volume);
    objects_create(scenario->sim, KIND_CLAIM, name,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                   "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'%uGi'}},"
                   "'storageClassName':'%s'%s}}",
                   name, size, class, named);
}

/* Mostly the claim of a new pod is created with it. */
static void draw_claim(struct scheduler_scenario *scenario, char to[static 8])
{
    draw_name(&scenario->sim->work, 'c', CLAIMS_COUNT, to);
    if (!stored_claim(scenario->sim, to) && rng_chance(&scenario->sim->work, 80))
        make_claim(scenario, to);
}

static void make_pod(struct scheduler_scenario *scenario, const char *name)
{
    struct rng *r = &scenario->sim->work;
    bool has_two = rng_chance(r, 35), has_selector = rng_chance(r, 15);
    const char *zone = zone_names[rng_below(r, ZONES_COUNT)];
    char claim[8], other[8], second[128] = "", selector[64] = "";

    draw_claim(scenario, claim);
    if (has_two) {
        draw_claim(scenario, other);
        (void)snprintf(second, sizeof second, ",{'name':'b','persistentVolumeClaim':{'claimName':'%s'}}",
                       other);
    }
    if (has_selector)
        (void)snprintf(selector, sizeof selector, ",'nodeSelector':{'" LABEL_ZONE "':'%s'}", zone);
    objects_create(
        scenario->sim, KIND_POD, name,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'containers':[{'name':"
        "'c','image':'i'}],'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'%s'}}%s]%s}}",
        name, claim, second, selector);
}

/* --- Nodes --- */

static void change_node(struct scheduler_scenario *scenario, const char *name)
{
    const struct node *n = stored_node(scenario->sim, name);
    struct rng *r = &scenario->sim->work;
    uint64_t what = rng_below(r, 5);

    if (!n)
        make_node(scenario, name);
    else if (what == 0)
        objects_delete(scenario->sim, KIND_NODE, name);
    else if (what < 3)
        objects_patch(scenario->sim, &n->obj, NULL, NULL,
                      n->is_unschedulable ? "{\"unschedulable\":null}" : "{\"unschedulable\":true}");
    else
        objects_set_label(scenario->sim, &n->obj, LABEL_ZONE, zone_names[rng_below(r, ZONES_COUNT)]);
}

/* --- Protection --- */

struct use {
    const struct object *claim;
    bool is_in_use;
};

/* A claim is in use by a pod that has a node. */
static bool find_use(void *ctx, const struct object *o)
{
    const struct pod *p = pod_of(o);
    struct use *u = ctx;

    for (uint32_t i = 0; p->node_name[0] && i < p->volumes.count; i++)
        if (p->volumes.items[i].type == POD_VOLUME_CLAIM &&
            strcmp(p->volumes.items[i].claim_name, u->claim->name) == 0)
            u->is_in_use = true;
    return !u->is_in_use;
}

static bool remove_protection(void *ctx, const struct object *o)
{
    struct scheduler_scenario *scenario = ctx;
    bool is_volume = o->kind->kind == KIND_VOLUME;
    const char *finalizer = is_volume ? FINALIZER_VOLUME_PROTECTION : FINALIZER_CLAIM_PROTECTION;
    struct use u = { o, is_volume && volume_of(o)->phase == VOLUME_BOUND };

    if (!o->is_deleting || !object_has_finalizer(o, finalizer))
        return true;
    if (!is_volume)
        (void)objects_each(scenario->sim, KIND_POD, find_use, &u);
    if (u.is_in_use)
        return true;
    objects_remove_finalizer(scenario->sim, o, finalizer);
    return false;
}

/* --- Provisioners --- */

static void make_provisioned_volume(struct scheduler_scenario *scenario, const struct claim *c,
                                    const char *node)
{
    char name[64];

    (void)snprintf(name, sizeof name, "pvc-%s", c->obj.uid);
    if (stored_volume(scenario->sim, name))
        return;
    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'3Gi'},'accessModes':['ReadWriteOnce'],'local':{'path':'/x'},'nodeAffinity':{"
        "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" LABEL_HOST
        "','operator':'In','values':['%s']}]}]}},'storageClassName':'%s',"
        "'persistentVolumeReclaimPolicy':'Retain','claimRef':{'kind':'PersistentVolumeClaim',"
        "'apiVersion':'v1','namespace':'" OBJECTS_NS "','name':'%s','uid':'%s'}}}",
        name, node, c->class, c->obj.name, c->obj.uid);
}

/* Acts as the external provisioner: creates a volume for the selected node, or removes the selection if it
 * cannot, as it must for a deleted node. The binder does not do this for a deleted node, so it is done for
 * its claims too. */
static bool serve_claim(void *ctx, const struct object *o)
{
    struct scheduler_scenario *scenario = ctx;
    const struct claim *c = claim_of(o);
    const char *node = claim_waits_for_node(c);
    bool is_outside = strcmp(c->class, "outside") == 0;

    if (!node || o->is_deleting || (stored_node(scenario->sim, node) && !is_outside))
        return true;
    if (!stored_node(scenario->sim, node) ||
        (!scenario->sim->is_healed && rng_chance(&scenario->sim->work, 40)))
        objects_patch(scenario->sim, o, ANN_SELECTED_NODE, NULL, NULL);
    else
        make_provisioned_volume(scenario, c, node);
    return rng_chance(&scenario->sim->work, 50); /* continue with other claims another time */
}

/* --- Actions --- */

void scheduler_workload_control(struct scheduler_scenario *scenario)
{
    if (!scenario->sim->server.api || scenario->sim->now_ns - scenario->controlled_ns < CONTROL_NS)
        return;
    scenario->controlled_ns = scenario->sim->now_ns;
    if (objects_each(scenario->sim, KIND_CLAIM, remove_protection, scenario))
        (void)objects_each(scenario->sim, KIND_VOLUME, remove_protection, scenario);
    if (scenario->sim->is_healed)
        (void)objects_each(scenario->sim, KIND_CLAIM, serve_claim, scenario);
}

/* Creates the volume, or deletes it: always if it is released, otherwise rarely. */
static void create_or_delete_volume(struct scheduler_scenario *scenario, const char *name)
{
    const struct volume *v = stored_volume(scenario->sim, name);

    if (!v)
        make_volume(scenario, name);
    else if (v->phase == VOLUME_RELEASED || rng_chance(&scenario->sim->work, 10))
        objects_delete_exact(scenario->sim, &v->obj);
}

/* Creates the pod, or deletes it: mostly if it has a node, otherwise rarely. */
static void create_or_delete_pod(struct scheduler_scenario *scenario, const char *name)
{
    const struct object *o = store_get(scenario->sim->server.store, KIND_POD, OBJECTS_NS, name);

    if (!o)
        make_pod(scenario, name);
    else if (rng_chance(&scenario->sim->work, pod_of(o)->node_name[0] ? 60 : 8))
        objects_delete_exact(scenario->sim, o);
}

static void change_class(struct scheduler_scenario *scenario, const struct class_row *k)
{
    if (!stored_class(scenario->sim, k->name))
        make_class(scenario, k);
    else if (rng_chance(&scenario->sim->work, 20))
        objects_delete(scenario->sim, KIND_CLASS, k->name);
}

void scheduler_workload_work(struct scheduler_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;
    char volume[8], claim[8], pod[8], node[8];
    uint64_t what = rng_below(r, 20);

    draw_name(r, 'v', VOLUMES_COUNT, volume);
    draw_name(r, 'c', CLAIMS_COUNT, claim);
    draw_name(r, 'p', PODS_COUNT, pod);
    draw_name(r, 'n', NODES_COUNT, node);
    if (what == 0)
        objects_delete(scenario->sim, KIND_CLAIM, claim);
    else if (what < 3 && !stored_claim(scenario->sim, claim))
        make_claim(scenario, claim);
    else if (what < 7)
        create_or_delete_volume(scenario, volume);
    else if (what < 13)
        create_or_delete_pod(scenario, pod);
    else if (what == 13)
        change_node(scenario, node);
    else if (what == 14 && rng_chance(r, 30))
        change_class(scenario, &classes[rng_below(r, ARRAY_LEN(classes))]);
    else if (what < 18)
        (void)objects_each(scenario->sim, KIND_CLAIM, serve_claim, scenario);
    else
        objects_touch(scenario->sim,
                      what == 18 ? store_get(scenario->sim->server.store, KIND_CLAIM, OBJECTS_NS, claim)
                                 : store_get(scenario->sim->server.store, KIND_VOLUME, "", volume));
}

void scheduler_workload_begin(struct scheduler_scenario *scenario)
{
    char name[8];

    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        make_class(scenario, &classes[i]);
    for (unsigned i = 0; i < NODES_COUNT - 1; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        make_node(scenario, name);
    }
    for (unsigned i = 0; i < VOLUMES_COUNT; i++) {
        (void)snprintf(name, sizeof name, "v%u", i);
        make_volume(scenario, name);
    }
}
