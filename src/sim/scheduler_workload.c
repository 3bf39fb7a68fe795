/* The people of the scheduler's scenario: they make and delete pods, claims, volumes and nodes, move nodes to
 * another zone and close them; one of them stands for an external provisioner, one for the protection
 * controllers. */
#include "sim/scenario_scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim_binder.h"

#define PROVISIONER "example.com/outside"
#define TIDY_NS (20 * NS_PER_MS)

struct class_row {
    const char *name;
    const char *provisioner;
    const char *binding;
};

/* Local volumes of two kinds, what others or the binder provision for a node, and what binds at once. */
static const struct class_row classes[] = {
    { "disk", "kubernetes.io/no-provisioner", "WaitForFirstConsumer" },
    { "flash", "kubernetes.io/no-provisioner", "WaitForFirstConsumer" },
    { "outside", PROVISIONER, "WaitForFirstConsumer" },
    { "inside", SIM_BINDER_PLUGIN, "WaitForFirstConsumer" },
    { "now", "kubernetes.io/no-provisioner", "Immediate" },
};

const char *const zone_names[ZONES_COUNT] = { "a", "b" };

/* --- Objects --- */

static void any_name(struct rng *r, char prefix, unsigned count, char to[static 8])
{
    (void)snprintf(to, 8, "%c%u", prefix, (unsigned)rng_below(r, count));
}

static void make_class(struct scheduler_world *x, const struct class_row *k)
{
    objects_create(x->sim, KIND_CLASS, k->name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'%s','volumeBindingMode':'%s','reclaimPolicy':'Retain'}",
                   k->name, k->provisioner, k->binding);
}

static void make_node(struct scheduler_world *x, const char *name)
{
    const char *zone = zone_names[rng_below(&x->sim->work, ZONES_COUNT)];

    objects_create(x->sim, KIND_NODE, name,
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'" LABEL_HOST
                   "':'%s','" LABEL_ZONE "':'%s'}},'spec':{}}",
                   name, name, zone);
}

/* As a rule a disk of one node, sometimes of a zone; as a rule nobody's, sometimes kept for a claim by name.
 */
static void make_volume(struct scheduler_world *x, const char *name)
{
    static const char *const of_classes[] = { "disk", "disk", "disk", "disk", "flash", "flash", "now" };
    struct rng *r = &x->sim->work;
    const char *class = of_classes[rng_below(r, ARRAY_LEN(of_classes))];
    const char *zone = zone_names[rng_below(r, ZONES_COUNT)];
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    bool is_zonal = rng_chance(r, 20), is_kept = rng_chance(r, 15);
    char node[8], claim[8], ref[128] = "";

    any_name(r, 'n', NODES_COUNT, node);
    any_name(r, 'c', CLAIMS_COUNT, claim);
    if (is_kept)
        (void)snprintf(ref, sizeof ref, ",'claimRef':{'namespace':'" OBJECTS_NS "','name':'%s'}", claim);
    objects_create(
        x->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'%uGi'},'accessModes':['ReadWriteOnce'],'local':{'path':'/x'},'nodeAffinity':{"
        "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'%s','operator':'In',"
        "'values':['%s']}]}]}},'storageClassName':'%s','persistentVolumeReclaimPolicy':'Retain'%s}}",
        name, size, is_zonal ? LABEL_ZONE : LABEL_HOST, is_zonal ? zone : node, class, ref);
}

static void make_claim(struct scheduler_world *x, const char *name)
{
    static const char *const of_classes[] = { "disk",  "disk",    "disk",   "disk", "flash",
                                              "flash", "outside", "inside", "now" };
    struct rng *r = &x->sim->work;
    const char *class = of_classes[rng_below(r, ARRAY_LEN(of_classes))];
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    char volume[8], named[64] = "";

    any_name(r, 'v', VOLUMES_COUNT, volume);
    if (rng_chance(r, 5))
        (void)snprintf(named, sizeof named, ",'volumeName':'%s'", volume);
    objects_create(x->sim, KIND_CLAIM, name,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                   "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'%uGi'}},"
                   "'storageClassName':'%s'%s}}",
                   name, size, class, named);
}

/* As a rule whoever wants a pod also makes its claims. */
static void any_claim(struct scheduler_world *x, char to[static 8])
{
    any_name(&x->sim->work, 'c', CLAIMS_COUNT, to);
    if (!stored_claim(x->sim, to) && rng_chance(&x->sim->work, 80))
        make_claim(x, to);
}

static void make_pod(struct scheduler_world *x, const char *name)
{
    struct rng *r = &x->sim->work;
    bool has_two = rng_chance(r, 35), is_choosy = rng_chance(r, 15);
    const char *zone = zone_names[rng_below(r, ZONES_COUNT)];
    char claim[8], other[8], second[128] = "", selector[64] = "";

    any_claim(x, claim);
    if (has_two) {
        any_claim(x, other);
        (void)snprintf(second, sizeof second, ",{'name':'b','persistentVolumeClaim':{'claimName':'%s'}}",
                       other);
    }
    if (is_choosy)
        (void)snprintf(selector, sizeof selector, ",'nodeSelector':{'" LABEL_ZONE "':'%s'}", zone);
    objects_create(
        x->sim, KIND_POD, name,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'containers':[{'name':"
        "'c','image':'i'}],'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'%s'}}%s]%s}}",
        name, claim, second, selector);
}

/* --- Nodes --- */

static void change_node(struct scheduler_world *x, const char *name)
{
    const struct node *n = stored_node(x->sim, name);
    struct rng *r = &x->sim->work;
    uint64_t what = rng_below(r, 5);

    if (!n)
        make_node(x, name);
    else if (what == 0)
        objects_delete(x->sim, KIND_NODE, name);
    else if (what < 3)
        objects_patch(x->sim, &n->obj, NULL, NULL,
                      n->is_unschedulable ? "{\"unschedulable\":null}" : "{\"unschedulable\":true}");
    else
        objects_set_label(x->sim, &n->obj, LABEL_ZONE, zone_names[rng_below(r, ZONES_COUNT)]);
}

/* --- Protection --- */

struct use {
    const struct object *claim;
    bool is_in_use;
};

/* A pod that has a node uses its claims. */
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

static bool let_go(void *ctx, const struct object *o)
{
    struct scheduler_world *x = ctx;
    bool is_volume = o->kind->kind == KIND_VOLUME;
    const char *finalizer = is_volume ? FINALIZER_VOLUME_PROTECTION : FINALIZER_CLAIM_PROTECTION;
    struct use u = { o, is_volume && volume_of(o)->phase == VOLUME_BOUND };

    if (!o->is_deleting || !object_has_finalizer(o, finalizer))
        return true;
    if (!is_volume)
        (void)objects_each(x->sim, KIND_POD, find_use, &u);
    if (u.is_in_use)
        return true;
    objects_remove_finalizer(x->sim, o, finalizer);
    return false;
}

/* --- Provisioners --- */

static void provision(struct scheduler_world *x, const struct claim *c, const char *node)
{
    char name[64];

    (void)snprintf(name, sizeof name, "pvc-%s", c->obj.uid);
    if (stored_volume(x->sim, name))
        return;
    objects_create(
        x->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'3Gi'},'accessModes':['ReadWriteOnce'],'local':{'path':'/x'},'nodeAffinity':{"
        "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" LABEL_HOST
        "','operator':'In','values':['%s']}]}]}},'storageClassName':'%s',"
        "'persistentVolumeReclaimPolicy':'Retain','claimRef':{'kind':'PersistentVolumeClaim',"
        "'apiVersion':'v1','namespace':'" OBJECTS_NS "','name':'%s','uid':'%s'}}}",
        name, node, c->class, c->obj.name, c->obj.uid);
}

/* The provisioner outside makes a volume on the node, or says that it cannot, as it must where the node is
 * gone. The binder keeps a node that is gone: whoever looks after claims gives that back too. */
static bool serve(void *ctx, const struct object *o)
{
    struct scheduler_world *x = ctx;
    const struct claim *c = claim_of(o);
    const char *node = claim_waits_for_node(c);
    bool is_outside = strcmp(c->class, "outside") == 0;

    if (!node || o->is_deleting || (stored_node(x->sim, node) && !is_outside))
        return true;
    if (!stored_node(x->sim, node) || (!x->sim->is_healed && rng_chance(&x->sim->work, 40)))
        objects_patch(x->sim, o, ANN_SELECTED_NODE, NULL, NULL);
    else
        provision(x, c, node);
    return rng_chance(&x->sim->work, 50); /* somebody else's turn another time */
}

/* --- The day --- */

void scheduler_workload_tidy(struct scheduler_world *x)
{
    if (!x->sim->server.api || x->sim->now_ns - x->tidied_ns < TIDY_NS)
        return;
    x->tidied_ns = x->sim->now_ns;
    if (objects_each(x->sim, KIND_CLAIM, let_go, x))
        (void)objects_each(x->sim, KIND_VOLUME, let_go, x);
    if (x->sim->is_healed)
        (void)objects_each(x->sim, KIND_CLAIM, serve, x);
}

/* Makes it, or deletes the one that is there. */
static void turn_over_volume(struct scheduler_world *x, const char *name)
{
    const struct volume *v = stored_volume(x->sim, name);

    if (!v)
        make_volume(x, name);
    else if (v->phase == VOLUME_RELEASED || rng_chance(&x->sim->work, 10))
        objects_delete_exact(x->sim, &v->obj);
}

/* Whoever has a node is soon done; whoever waits is seldom given up. */
static void turn_over_pod(struct scheduler_world *x, const char *name)
{
    const struct object *o = store_get(x->sim->server.store, KIND_POD, OBJECTS_NS, name);

    if (!o)
        make_pod(x, name);
    else if (rng_chance(&x->sim->work, pod_of(o)->node_name[0] ? 60 : 8))
        objects_delete_exact(x->sim, o);
}

static void change_class(struct scheduler_world *x, const struct class_row *k)
{
    if (!stored_class(x->sim, k->name))
        make_class(x, k);
    else if (rng_chance(&x->sim->work, 20))
        objects_delete(x->sim, KIND_CLASS, k->name);
}

void scheduler_workload_work(struct scheduler_world *x)
{
    struct rng *r = &x->sim->work;
    char volume[8], claim[8], pod[8], node[8];
    uint64_t what = rng_below(r, 20);

    any_name(r, 'v', VOLUMES_COUNT, volume);
    any_name(r, 'c', CLAIMS_COUNT, claim);
    any_name(r, 'p', PODS_COUNT, pod);
    any_name(r, 'n', NODES_COUNT, node);
    if (what == 0)
        objects_delete(x->sim, KIND_CLAIM, claim);
    else if (what < 3 && !stored_claim(x->sim, claim))
        make_claim(x, claim);
    else if (what < 7)
        turn_over_volume(x, volume);
    else if (what < 13)
        turn_over_pod(x, pod);
    else if (what == 13)
        change_node(x, node);
    else if (what == 14 && rng_chance(r, 30))
        change_class(x, &classes[rng_below(r, ARRAY_LEN(classes))]);
    else if (what < 18)
        (void)objects_each(x->sim, KIND_CLAIM, serve, x);
    else
        objects_touch(x->sim, what == 18 ? store_get(x->sim->server.store, KIND_CLAIM, OBJECTS_NS, claim)
                                         : store_get(x->sim->server.store, KIND_VOLUME, "", volume));
}

void scheduler_workload_begin(struct scheduler_world *x)
{
    char name[8];

    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        make_class(x, &classes[i]);
    for (unsigned i = 0; i < NODES_COUNT - 1; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        make_node(x, name);
    }
    for (unsigned i = 0; i < VOLUMES_COUNT; i++) {
        (void)snprintf(name, sizeof name, "v%u", i);
        make_volume(x, name);
    }
}
