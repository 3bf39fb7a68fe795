/* The people of the scenario of controllers: they make, use, grow and delete claims, volumes and pods, take
 * disks and nodes away and bring them back; some of them stand for the nodes. */
#include "sim/scenario_controllers.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "api/json_out.h"
#include "api/pod_claims.h"
#include "machinery/resize_patch.h"
#include "sim/sim_world.h"

#define KUBELETS_NS (20 * NS_PER_S)
#define GIB ((int64_t)1 << 30)
#define GIB_MAX 40
#define SPEC_BYTES_MAX 4096

/* --- Objects --- */

static void make_class(struct estate *x, const char *name, const char *provisioner, const char *more)
{
    objects_make(x->sim, KIND_CLASS, name,
                 "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                 "'provisioner':'%s','volumeBindingMode':'Immediate'%s}",
                 name, provisioner, more);
}

void estate_make_node(struct estate *x, const char *name)
{
    objects_make(
        x->sim, KIND_NODE, name,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'kubernetes.io/hostname':"
        "'%s'}},'spec':{}}",
        name, name);
}

/* A disk of the node that nobody looks after. */
static void make_far_volume(struct estate *x, const char *name)
{
    objects_make(x->sim, KIND_VOLUME, name,
                 "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
                 "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'local':{'path':'/far'},"
                 "'storageClassName':'far','persistentVolumeReclaimPolicy':'Retain','nodeAffinity':{"
                 "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/hostname',"
                 "'operator':'In','values':['n1']}]}]}}}}",
                 name);
}

static void make_volume(struct estate *x, const char *name)
{
    objects_make(x->sim, KIND_VOLUME, name,
                 "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
                 "'storage':'%uGi'},'accessModes':['ReadWriteOnce'],'flexVolume':{'driver':'acme/block'},"
                 "'storageClassName':'grow','persistentVolumeReclaimPolicy':'Retain'}}",
                 name, 1 + (unsigned)rng_below(&x->sim->work, 3));
}

static void make_claim(struct estate *x, const char *name, const char *labels)
{
    static const char *const classes[] = { "grow", "grow", "nfs", "nfs", "archive", "disks", "disks" };
    size_t count = ARRAY_LEN(classes) - (x->has_local ? 0 : 2);

    objects_make(x->sim, KIND_CLAIM, name,
                 "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'%s},'spec':{"
                 "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                 "'storageClassName':'%s'}}",
                 name, labels, classes[rng_below(&x->sim->work, count)]);
}

static void make_pod(struct estate *x, const char *name)
{
    struct rng *r = &x->sim->work;
    char volume[256], node[32] = "";

    if (rng_chance(r, 40))
        (void)snprintf(volume, sizeof volume,
                       "'ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],"
                       "'resources':{'requests':{'storage':'1Gi'}},'storageClassName':'nfs'}}}");
    else
        (void)snprintf(volume, sizeof volume, "'persistentVolumeClaim':{'claimName':'c%u'}",
                       (unsigned)rng_below(r, ESTATE_CLAIMS));
    if (volume[1] == 'p' && rng_chance(r, 50))
        (void)snprintf(node, sizeof node, "'nodeName':'n%u',", (unsigned)rng_below(r, ESTATE_NODES));
    objects_make(x->sim, KIND_POD, name,
                 "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{%s"
                 "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'i'}],'volumes':[{"
                 "'name':'e',%s}]}}",
                 name, node, volume);
}

/* --- What they do --- */

/* It is to go, and whoever takes it away does what somebody wants. */
static void drop(struct estate *x, const struct object *o)
{
    estate_record(x, o->uid)->is_dropped |= !x->sim->is_muted;
    objects_drop(x->sim, o->kind->kind, o->name);
}

static void grow_claim(struct estate *x, const struct claim *c)
{
    int64_t gib = quantity_value(&c->request) / GIB + 1 + (int64_t)rng_below(&x->sim->work, 3);
    struct quantity size = quantity_of(gib * GIB, QUANTITY_BINARY_SI);
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX);

    if (c->phase != CLAIM_BOUND || c->obj.is_deleting || gib > GIB_MAX || strcmp(c->class, "disks") == 0)
        return;
    json_out_object(&spec, NULL);
    json_out_object(&spec, "resources");
    json_out_storage(&spec, "requests", &size);
    json_out_end_object(&spec);
    json_out_end_object(&spec);
    objects_change(x->sim, &c->obj, NULL, NULL, buf_cstr(&spec));
}

static void change_claim(struct estate *x, const char *name)
{
    const struct claim *c = stored_claim(x->sim, name);
    unsigned what = (unsigned)rng_below(&x->sim->work, 4);

    if (!c)
        make_claim(x, name, "");
    else if (what == 0)
        drop(x, &c->obj);
    else if (what < 3)
        grow_claim(x, c);
}

/* A pod that wants a claim which somebody deletes in the same moment. */
static void use_and_delete(struct estate *x, const char *pod, const char *claim)
{
    const struct claim *c = stored_claim(x->sim, claim);

    if (!c || c->obj.is_deleting || store_get(x->sim->server.store, KIND_POD, OBJECTS_NS, pod))
        return;
    objects_make(x->sim, KIND_POD, pod,
                 "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'nodeName':'n0',"
                 "'containers':[{'name':'c','image':'i'}],'volumes':[{'name':'e','persistentVolumeClaim':{"
                 "'claimName':'%s'}}]}}",
                 pod, claim);
    drop(x, &c->obj);
}

static void change_pod(struct estate *x, const char *name)
{
    const struct object *o = store_get(x->sim->server.store, KIND_POD, OBJECTS_NS, name);

    if (!o)
        make_pod(x, name);
    else if (rng_chance(&x->sim->work, 30))
        objects_drop(x->sim, KIND_POD, name);
}

static void change_volume(struct estate *x, const char *name)
{
    const struct volume *v = stored_volume(x->sim, name);

    if (!v)
        make_volume(x, name);
    else if (v->phase == VOLUME_RELEASED || rng_chance(&x->sim->work, 15))
        drop(x, &v->obj);
}

/* A claim with the name that the controller gives a pod's. */
static void change_foreign(struct estate *x, const char *pod)
{
    const struct claim *c;
    char name[16];

    (void)snprintf(name, sizeof name, "%s-e", pod);
    c = stored_claim(x->sim, name);
    if (!c)
        make_claim(x, name, ",'labels':{'" ESTATE_FOREIGN "':'yes'}");
    else
        drop(x, &c->obj); /* a pod's own, too */
}

static void change_node(struct estate *x, const char *name)
{
    if (stored_node(x->sim, name))
        objects_drop(x->sim, KIND_NODE, name);
    else
        estate_make_node(x, name);
}

void estate_mount(struct estate *x, unsigned disk)
{
    char source[32], path[64];

    (void)snprintf(source, sizeof source, "/dev/%s", x->disks[disk].name);
    (void)snprintf(path, sizeof path, ESTATE_DISKS_DIR "/%s", x->disks[disk].name);
    (void)machine_mount(x->machine, source, path, "ext4", "rw");
}

static void change_disk(struct estate *x, unsigned disk)
{
    char path[64];

    (void)snprintf(path, sizeof path, ESTATE_DISKS_DIR "/%s", x->disks[disk].name);
    if (!x->has_local || x->sim->is_muted)
        return;
    if (estate_has_disk(x, disk))
        (void)machine_unmount(x->machine, path, 0);
    else
        estate_mount(x, disk);
}

void estate_mount_export(struct estate *estate)
{
    while (machine_has_mount(estate->machine, ESTATE_EXPORT))
        if (machine_unmount(estate->machine, ESTATE_EXPORT, MNT_DETACH) != 0)
            return;
    (void)machine_mount(estate->machine, "/dev/export", ESTATE_EXPORT, "nfs4", "rw");
}

/* Unmounts the export, mounts another in its place, or puts things right. */
static void change_export(struct estate *estate)
{
    unsigned what = (unsigned)rng_below(&estate->sim->work, 4);

    if (estate->sim->is_muted)
        return;
    if (what == 0)
        (void)machine_unmount(estate->machine, ESTATE_EXPORT, 0);
    else if (what == 1)
        (void)machine_mount(estate->machine, "/dev/strange", ESTATE_EXPORT, "nfs4", "rw");
    else
        estate_mount_export(estate);
}

/* --- What is in the volumes --- */

struct writing {
    struct estate *estate;
    bool grows; /* somebody makes a volume larger by hand */
};

static void grow_volume(struct estate *x, const struct volume *v, int64_t gib)
{
    struct quantity size = quantity_of(gib * GIB, QUANTITY_BINARY_SI);
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX);

    json_out_object(&spec, NULL);
    json_out_storage(&spec, "capacity", &size);
    json_out_end_object(&spec);
    if (gib <= GIB_MAX)
        objects_change(x->sim, &v->obj, NULL, NULL, buf_cstr(&spec));
}

static bool use_claim(void *ctx, const struct object *o)
{
    const struct writing *w = ctx;
    struct estate *x = w->estate;
    const struct claim *c = claim_of(o);
    const struct volume *v = estate_volume_of(x, c);
    struct file_node *dir = v && c->phase == CLAIM_BOUND && !o->is_deleting ? estate_storage(x, v) : NULL;

    if (!dir)
        return true;
    if (w->grows && v->source.kind == SOURCE_NFS && rng_chance(&x->sim->work, 50))
        grow_volume(x, v, quantity_value(&v->capacity) / GIB + 2);
    if (!estate_record(x, o->uid)->has_data && !x->sim->is_muted) {
        sim_trace(x->sim, "somebody: write data of claim %s", o->name);
        estate_record(x, o->uid)->has_data = true;
        (void)tree_add(dir, o->uid, S_IFREG | 0644);
        tree_write(tree_add(dir, "elsewhere", S_IFLNK | 0777), "/mnt/other");
    }
    return true;
}

static bool serve_request(void *ctx, const struct object *o)
{
    struct estate *x = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = estate_volume_of(x, c);

    if (v && v->source.kind == SOURCE_NFS && quantity_cmp(&c->request, &v->capacity) > 0)
        grow_volume(x, v, quantity_value(&c->request) / GIB);
    return true;
}

void estate_serve_requests(struct estate *x)
{
    (void)objects_each(x->sim, KIND_CLAIM, serve_request, x);
}

/* --- Nodes --- */

static bool end_pod(void *ctx, const struct object *o)
{
    struct estate *x = ctx;

    if (o->is_deleting)
        objects_drop_this(x->sim, o);
    return true;
}

/* The file system first, then the claim says so. */
static bool grow_file_system(void *ctx, const struct object *o)
{
    struct estate *x = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = estate_volume_of(x, c);
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
    estate_record(x, v->obj.uid)->bytes = (uint64_t)quantity_value(&v->capacity);
    sim_must(resize_write_done(c, &v->capacity, &body, &err), &err);
    q.body = buf_str(&body);
    sim_trace(x->sim, "somebody: grows the file system of claim %s", o->name);
    sim_request(x->sim, &q);
    return true;
}

void estate_look_after_nodes(struct estate *x)
{
    if (x->sim->now_ns < x->kubelets_ns)
        return;
    x->kubelets_ns = x->sim->now_ns + rng_below(&x->sim->work, KUBELETS_NS);
    (void)objects_each(x->sim, KIND_POD, end_pod, x);
    (void)objects_each(x->sim, KIND_CLAIM, grow_file_system, x);
}

/* --- Together --- */

void estate_workload_work(struct estate *x)
{
    struct rng *r = &x->sim->work;
    unsigned what = (unsigned)rng_below(r, 100);
    struct writing w = { x, what % 10 == 0 };
    char claim[8], pod[8], volume[8], node[8];

    (void)snprintf(claim, sizeof claim, "c%u", (unsigned)rng_below(r, ESTATE_CLAIMS));
    (void)snprintf(pod, sizeof pod, "p%u", (unsigned)rng_below(r, ESTATE_PODS));
    (void)snprintf(volume, sizeof volume, "v%u", (unsigned)rng_below(r, ESTATE_VOLUMES));
    (void)snprintf(node, sizeof node, "n%u", (unsigned)rng_below(r, ESTATE_NODES));
    (void)objects_each(x->sim, KIND_CLAIM, use_claim, &w);
    if (what < 30)
        change_claim(x, claim);
    else if (what < 55)
        change_pod(x, pod);
    else if (what < 70)
        change_volume(x, volume);
    else if (what < 80)
        use_and_delete(x, pod, claim);
    else if (what < 86)
        change_foreign(x, pod);
    else if (what < 92)
        change_disk(x, (unsigned)rng_below(r, ESTATE_DISKS));
    else if (what < 95)
        change_export(x);
    else
        change_node(x, node);
}

void estate_workload_begin(struct estate *x)
{
    char name[8];

    make_class(x, "grow", "kubernetes.io/no-provisioner", ",'allowVolumeExpansion':true");
    make_class(x, "disks", "kubernetes.io/no-provisioner", ",'reclaimPolicy':'Delete'");
    make_class(x, "nfs", ESTATE_NFS, ",'allowVolumeExpansion':true,'parameters':{'onDelete':'delete'}");
    make_class(x, "archive", ESTATE_NFS, ",'parameters':{'archiveOnDelete':'true'}");
    for (unsigned i = 0; i < ESTATE_NODES; i++)
        estate_make_node(x, x->nodes[i].name);
    make_far_volume(x, "far");
    for (unsigned i = 0; i < ESTATE_VOLUMES; i++) {
        (void)snprintf(name, sizeof name, "v%u", i);
        make_volume(x, name);
    }
}
