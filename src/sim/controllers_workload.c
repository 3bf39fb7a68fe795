/* The workload of scenario controllers: creates, uses, expands and deletes claims, volumes and pods, unmounts
 * and mounts disks, deletes and recreates nodes. It also acts as the nodes and as an administrator. */
#include "sim/scenario_controllers.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "api/json_out.h"
#include "api/pod_claims.h"
#include "machinery/resize_patch.h"
#include "sim/sim_world.h"

#define NODES_RUN_NS_MAX (20 * NS_PER_S)
#define GIB ((int64_t)1 << 30)
#define GIB_MAX 40
#define SPEC_BYTES_MAX 4096

/* --- Objects --- */

static void make_class(struct controllers_scenario *scenario, const char *name, const char *provisioner,
                       const char *more)
{
    objects_create(scenario->sim, KIND_CLASS, name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'%s','volumeBindingMode':'Immediate'%s}",
                   name, provisioner, more);
}

void controllers_workload_make_node(struct controllers_scenario *scenario, const char *name)
{
    objects_create(
        scenario->sim, KIND_NODE, name,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'kubernetes.io/hostname':"
        "'%s'}},'spec':{}}",
        name, name);
}

/* A local volume of the node without a machine. */
static void make_far_volume(struct controllers_scenario *scenario, const char *name)
{
    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'local':{'path':'/far'},"
        "'storageClassName':'far','persistentVolumeReclaimPolicy':'Retain','nodeAffinity':{"
        "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/hostname',"
        "'operator':'In','values':['n1']}]}]}}}}",
        name);
}

static void make_volume(struct controllers_scenario *scenario, const char *name)
{
    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'%uGi'},'accessModes':['ReadWriteOnce'],'flexVolume':{'driver':'acme/block'},"
        "'storageClassName':'grow','persistentVolumeReclaimPolicy':'Retain'}}",
        name, 1 + (unsigned)rng_below(&scenario->sim->work, 3));
}

static void make_claim(struct controllers_scenario *scenario, const char *name, const char *labels)
{
    static const char *const classes[] = { "grow", "grow", "nfs", "nfs", "archive", "disks", "disks" };
    size_t count = ARRAY_LEN(classes) - (scenario->has_local ? 0 : 2);

    objects_create(scenario->sim, KIND_CLAIM, name,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'%s},'spec':{"
                   "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                   "'storageClassName':'%s'}}",
                   name, labels, classes[rng_below(&scenario->sim->work, count)]);
}

static void make_pod(struct controllers_scenario *scenario, const char *name)
{
    struct rng *r = &scenario->sim->work;
    char volume[256], node[32] = "";

    if (rng_chance(r, 40))
        (void)snprintf(volume, sizeof volume,
                       "'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],"
                       "'resources':{'requests':{'storage':'1Gi'}},'storageClassName':'nfs'}}}");
    else
        (void)snprintf(volume, sizeof volume, "'persistentVolumeClaim':{'claimName':'c%u'}",
                       (unsigned)rng_below(r, CLAIMS_COUNT));
    if (volume[1] == 'p' && rng_chance(r, 50))
        (void)snprintf(node, sizeof node, "'nodeName':'n%u',", (unsigned)rng_below(r, NODES_COUNT));
    objects_create(scenario->sim, KIND_POD, name,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{%s"
                   "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'i'}],'volumes':[{"
                   "'name':'e',%s}]}}",
                   name, node, volume);
}

/* --- Changes --- */

/* Records that the object may be deleted, unless the action is omitted. */
static void delete_object(struct controllers_scenario *scenario, const struct object *o)
{
    controllers_scenario_record(scenario, o->uid)->is_deleted_by_user |= !scenario->sim->is_muted;
    objects_delete(scenario->sim, o->kind->kind, o->name);
}

static void expand_claim(struct controllers_scenario *scenario, const struct claim *c)
{
    int64_t gib = quantity_value(&c->request) / GIB + 1 + (int64_t)rng_below(&scenario->sim->work, 3);
    struct quantity size = quantity_of(gib * GIB, QUANTITY_BINARY_SI);
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX);

    if (c->phase != CLAIM_BOUND || c->obj.is_deleting || gib > GIB_MAX || strcmp(c->class, "disks") == 0)
        return;
    json_out_object(&spec, NULL);
    json_out_object(&spec, "resources");
    json_out_storage(&spec, "requests", &size);
    json_out_end_object(&spec);
    json_out_end_object(&spec);
    objects_patch(scenario->sim, &c->obj, NULL, NULL, buf_cstr(&spec));
}

static void create_or_change_claim(struct controllers_scenario *scenario, const char *name)
{
    const struct claim *c = stored_claim(scenario->sim, name);
    unsigned what = (unsigned)rng_below(&scenario->sim->work, 4);

    if (!c)
        make_claim(scenario, name, "");
    else if (what == 0)
        delete_object(scenario, &c->obj);
    else if (what < 3)
        expand_claim(scenario, c);
}

/* Creates a pod for a claim and deletes the claim at the same time. */
static void use_and_delete_claim(struct controllers_scenario *scenario, const char *pod, const char *claim)
{
    const struct claim *c = stored_claim(scenario->sim, claim);

    if (!c || c->obj.is_deleting || store_get(scenario->sim->server.store, KIND_POD, OBJECTS_NS, pod))
        return;
    objects_create(scenario->sim, KIND_POD, pod,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'nodeName':'n0',"
                   "'containers':[{'name':'c','image':'i'}],'volumes':[{'name':'e','persistentVolumeClaim':{"
                   "'claimName':'%s'}}]}}",
                   pod, claim);
    delete_object(scenario, &c->obj);
}

static void create_or_delete_pod(struct controllers_scenario *scenario, const char *name)
{
    const struct object *o = store_get(scenario->sim->server.store, KIND_POD, OBJECTS_NS, name);

    if (!o)
        make_pod(scenario, name);
    else if (rng_chance(&scenario->sim->work, 30))
        objects_delete(scenario->sim, KIND_POD, name);
}

static void create_or_delete_volume(struct controllers_scenario *scenario, const char *name)
{
    const struct volume *v = stored_volume(scenario->sim, name);

    if (!v)
        make_volume(scenario, name);
    else if (v->phase == VOLUME_RELEASED || rng_chance(&scenario->sim->work, 15))
        delete_object(scenario, &v->obj);
}

/* A claim with the name that the ephemeral controller would give to the claim of the pod. */
static void create_or_delete_foreign_claim(struct controllers_scenario *scenario, const char *pod)
{
    const struct claim *c;
    char name[16];

    (void)snprintf(name, sizeof name, "%s-e", pod);
    c = stored_claim(scenario->sim, name);
    if (!c)
        make_claim(scenario, name, ",'labels':{'" LABEL_FOREIGN "':'yes'}");
    else
        delete_object(scenario, &c->obj); /* also if it is the claim of the pod */
}

static void create_or_delete_node(struct controllers_scenario *scenario, const char *name)
{
    if (stored_node(scenario->sim, name))
        objects_delete(scenario->sim, KIND_NODE, name);
    else
        controllers_workload_make_node(scenario, name);
}

void controllers_workload_mount_disk(struct controllers_scenario *scenario, unsigned disk)
{
    char source[32], path[64];

    (void)snprintf(source, sizeof source, "/dev/%s", scenario->disks[disk].name);
    (void)snprintf(path, sizeof path, DISKS_DIR "/%s", scenario->disks[disk].name);
    (void)machine_mount(scenario->machine, source, path, "ext4", "rw");
}

static void mount_or_unmount_disk(struct controllers_scenario *scenario, unsigned disk)
{
    char path[64];

    (void)snprintf(path, sizeof path, DISKS_DIR "/%s", scenario->disks[disk].name);
    if (!scenario->has_local || scenario->sim->is_muted)
        return;
    if (controllers_scenario_has_disk(scenario, disk))
        (void)machine_unmount(scenario->machine, path, 0);
    else
        controllers_workload_mount_disk(scenario, disk);
}

void controllers_workload_mount_export(struct controllers_scenario *scenario)
{
    while (machine_has_mount(scenario->machine, EXPORT_DIR))
        if (machine_unmount(scenario->machine, EXPORT_DIR, MNT_DETACH) != 0)
            return;
    (void)machine_mount(scenario->machine, "/dev/export", EXPORT_DIR, "nfs4", "rw");
}

/* Unmounts the export, mounts another export in its place, or mounts the right one. */
static void change_export(struct controllers_scenario *scenario)
{
    unsigned what = (unsigned)rng_below(&scenario->sim->work, 4);

    if (scenario->sim->is_muted)
        return;
    if (what == 0)
        (void)machine_unmount(scenario->machine, EXPORT_DIR, 0);
    else if (what == 1)
        (void)machine_mount(scenario->machine, "/dev/foreign", EXPORT_DIR, "nfs4", "rw");
    else
        controllers_workload_mount_export(scenario);
}

/* --- Data in volumes --- */

struct use_options {
    struct controllers_scenario *scenario;
    bool expands_volumes; /* the administrator expands volumes */
};

static void expand_volume(struct controllers_scenario *scenario, const struct volume *v, int64_t gib)
{
    struct quantity size = quantity_of(gib * GIB, QUANTITY_BINARY_SI);
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX);

    json_out_object(&spec, NULL);
    json_out_storage(&spec, "capacity", &size);
    json_out_end_object(&spec);
    if (gib <= GIB_MAX)
        objects_patch(scenario->sim, &v->obj, NULL, NULL, buf_cstr(&spec));
}

static bool use_claim(void *ctx, const struct object *o)
{
    const struct use_options *w = ctx;
    struct controllers_scenario *scenario = w->scenario;
    const struct claim *c = claim_of(o);
    const struct volume *v = controllers_scenario_bound_volume(scenario, c);
    struct file_node *dir =
        v && c->phase == CLAIM_BOUND && !o->is_deleting ? controllers_scenario_storage(scenario, v) : NULL;

    if (!dir)
        return true;
    if (w->expands_volumes && v->source.kind == SOURCE_NFS && rng_chance(&scenario->sim->work, 50))
        expand_volume(scenario, v, quantity_value(&v->capacity) / GIB + 2);
    if (!controllers_scenario_record(scenario, o->uid)->has_data && !scenario->sim->is_muted) {
        sim_trace(scenario->sim, "workload: write data of claim %s", o->name);
        controllers_scenario_record(scenario, o->uid)->has_data = true;
        (void)tree_add(dir, o->uid, S_IFREG | 0644);
        tree_write(tree_add(dir, "elsewhere", S_IFLNK | 0777), "/mnt/other");
    }
    return true;
}

static bool expand_volume_for_claim(void *ctx, const struct object *o)
{
    struct controllers_scenario *scenario = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = controllers_scenario_bound_volume(scenario, c);

    if (v && v->source.kind == SOURCE_NFS && quantity_cmp(&c->request, &v->capacity) > 0)
        expand_volume(scenario, v, quantity_value(&c->request) / GIB);
    return true;
}

void controllers_workload_expand_volumes(struct controllers_scenario *scenario)
{
    (void)objects_each(scenario->sim, KIND_CLAIM, expand_volume_for_claim, scenario);
}

/* --- Nodes --- */

static bool delete_ended_pod(void *ctx, const struct object *o)
{
    struct controllers_scenario *scenario = ctx;

    if (o->is_deleting)
        objects_delete_exact(scenario->sim, o);
    return true;
}

/* Expands the file system, then updates the status of the claim. */
static bool expand_file_system(void *ctx, const struct object *o)
{
    struct controllers_scenario *scenario = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = controllers_scenario_bound_volume(scenario, c);
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(SPEC_BYTES_MAX);
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = o->kind,
                                .ns = o->ns,
                                .name = o->name,
                                .subresource = "status",
                                .patch = CLIENT_PATCH_STRATEGIC };
    struct error err;

    if (!v || c->resize != RESIZE_NODE_PENDING)
        return true;
    controllers_scenario_record(scenario, v->obj.uid)->bytes = (uint64_t)quantity_value(&v->capacity);
    sim_must(resize_write_done(c, &v->capacity, &body, &err), &err);
    q.body = buf_str(&body);
    sim_trace(scenario->sim, "workload: expand the file system of claim %s", o->name);
    sim_request(scenario->sim, &q);
    return true;
}

void controllers_workload_run_nodes(struct controllers_scenario *scenario)
{
    if (scenario->sim->now_ns < scenario->nodes_run_ns)
        return;
    scenario->nodes_run_ns = scenario->sim->now_ns + rng_below(&scenario->sim->work, NODES_RUN_NS_MAX);
    (void)objects_each(scenario->sim, KIND_POD, delete_ended_pod, scenario);
    (void)objects_each(scenario->sim, KIND_CLAIM, expand_file_system, scenario);
}

/* --- Actions --- */

void controllers_workload_work(struct controllers_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;
    unsigned what = (unsigned)rng_below(r, 100);
    struct use_options w = { scenario, what % 10 == 0 };
    char claim[8], pod[8], volume[8], node[8];

    (void)snprintf(claim, sizeof claim, "c%u", (unsigned)rng_below(r, CLAIMS_COUNT));
    (void)snprintf(pod, sizeof pod, "p%u", (unsigned)rng_below(r, PODS_COUNT));
    (void)snprintf(volume, sizeof volume, "v%u", (unsigned)rng_below(r, VOLUMES_COUNT));
    (void)snprintf(node, sizeof node, "n%u", (unsigned)rng_below(r, NODES_COUNT));
    (void)objects_each(scenario->sim, KIND_CLAIM, use_claim, &w);
    if (what < 30)
        create_or_change_claim(scenario, claim);
    else if (what < 55)
        create_or_delete_pod(scenario, pod);
    else if (what < 70)
        create_or_delete_volume(scenario, volume);
    else if (what < 80)
        use_and_delete_claim(scenario, pod, claim);
    else if (what < 86)
        create_or_delete_foreign_claim(scenario, pod);
    else if (what < 92)
        mount_or_unmount_disk(scenario, (unsigned)rng_below(r, DISKS_COUNT));
    else if (what < 95)
        change_export(scenario);
    else
        create_or_delete_node(scenario, node);
}

void controllers_workload_begin(struct controllers_scenario *scenario)
{
    char name[8];

    make_class(scenario, "grow", "kubernetes.io/no-provisioner", ",'allowVolumeExpansion':true");
    make_class(scenario, "disks", "kubernetes.io/no-provisioner", ",'reclaimPolicy':'Delete'");
    make_class(scenario, "nfs", NFS_PROVISIONER,
               ",'allowVolumeExpansion':true,'parameters':{'onDelete':'delete'}");
    make_class(scenario, "archive", NFS_PROVISIONER, ",'parameters':{'archiveOnDelete':'true'}");
    for (unsigned i = 0; i < NODES_COUNT; i++)
        controllers_workload_make_node(scenario, scenario->nodes[i].name);
    make_far_volume(scenario, "far");
    for (unsigned i = 0; i < VOLUMES_COUNT; i++) {
        (void)snprintf(name, sizeof name, "v%u", i);
        make_volume(scenario, name);
    }
}
