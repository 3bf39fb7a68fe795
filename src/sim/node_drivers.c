/* The drivers of the scenarios node and attach.
 *
 * The seed selects the capabilities of the drivers. The true state is in the storages and on the machines;
 * the checks compare it with the objects of the server. Checks that visit all volumes and nodes run every
 * CHECK_STEPS steps. */
#include "sim/node_drivers.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/attachment.h"
#include "api/claim.h"
#include "api/json_out.h"
#include "api/node.h"
#include "api/pod.h"
#include "node/node_status.h"
#include "sim/objects.h"
#include "sim/resizer.h"
#include "sim/sim_world.h"

#define PATH_BYTES 256
#define SPEC_BYTES_MAX 1024
#define GIB ((int64_t)1 << 30)
#define EXPANDED_BYTES_MAX (40 * GIB)

/* --- Objects --- */

static void claim_name(const struct storage_volume *v, char ret[static 16])
{
    (void)snprintf(ret, 16, "c%.8s", v->disk.name);
}

static void make_volume(struct sim *s, const struct storage_volume *v, const char *class, const char *source)
{
    const char *mode = v->is_exclusive ? "ReadWriteOnce" : "ReadWriteMany", *name = v->disk.name;
    char claim[sizeof v->disk.name + 1];

    objects_create(
        s, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'1Gi'},'accessModes':['%s'],'persistentVolumeReclaimPolicy':'Retain',"
        "'storageClassName':'%s','volumeMode':'%s',%s}}",
        name, mode, class, v->is_block ? "Block" : "Filesystem", source);
    (void)snprintf(claim, sizeof claim, "c%s", name);
    objects_create(s, KIND_CLAIM, claim,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                   "'accessModes':['%s'],'resources':{'requests':{'storage':'1Gi'}},'storageClassName':'%s',"
                   "'volumeName':'%s','volumeMode':'%s'}}",
                   claim, mode, class, name, v->is_block ? "Block" : "Filesystem");
}

static void make_objects(struct node_drivers *drivers)
{
    char source[PATH_BYTES];

    objects_create(drivers->sim, KIND_CSI_DRIVER, CSI_DRIVER,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver','metadata':{'name':'" CSI_DRIVER
                   "'},'spec':{'attachRequired':%s,'podInfoOnMount':true,'requiresRepublish':%s,"
                   "'volumeLifecycleModes':['Persistent','Ephemeral']}}",
                   drivers->needs_attaching ? "true" : "false", drivers->republishes ? "true" : "false");
    objects_create(drivers->sim, KIND_CLASS, "grows",
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'grows'},"
                   "'provisioner':'" CSI_DRIVER "','allowVolumeExpansion':true}");
    for (unsigned i = 0; i < DRIVERS_VOLUMES && !drivers->is_csi_only; i++) {
        (void)snprintf(source, sizeof source, "'csi':{'driver':'" CSI_DRIVER "','volumeHandle':'d%u'%s}", i,
                       drivers->disks.volumes[i].is_block ? "" : ",'fsType':'ext4'");
        make_volume(drivers->sim, &drivers->disks.volumes[i], "grows", source);
        (void)snprintf(source, sizeof source,
                       "'flexVolume':{'driver':'" FLEX_DRIVER "','fsType':'ext4','options':{'volume':'f%u'}}",
                       i);
        make_volume(drivers->sim, &drivers->shares.volumes[i], "", source);
    }
}

bool node_drivers_is_block(const struct node_drivers *drivers, const char *claim)
{
    const struct storage_volume *v = &drivers->disks.volumes[DRIVERS_BLOCK];

    return v->is_block && strcmp(claim + 1, v->disk.name) == 0;
}

void node_drivers_expand_claim(struct node_drivers *drivers)
{
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX);
    struct rng *r = &drivers->sim->work;
    const struct storage_volume *v = &drivers->disks.volumes[rng_below(r, drivers->disks.count)];
    int64_t more = 1 + (int64_t)rng_below(r, 2);
    struct quantity size;
    const struct claim *c;
    char name[16];

    claim_name(v, name);
    c = drivers->expands_claims ? stored_claim(drivers->sim, name) : NULL;
    if (!c || c->phase != CLAIM_BOUND || quantity_value(&c->request) >= EXPANDED_BYTES_MAX)
        return;
    size = quantity_of((quantity_value(&c->request) / GIB + more) * GIB, QUANTITY_BINARY_SI);
    json_out_object(&spec, NULL);
    json_out_object(&spec, "resources");
    json_out_storage(&spec, "requests", &size);
    json_out_end_object(&spec);
    json_out_end_object(&spec);
    objects_patch(drivers->sim, &c->obj, /* annotation= */ NULL, /* value= */ NULL, buf_cstr(&spec));
}

/* --- Start and end --- */

void node_drivers_init(struct node_drivers *drivers, struct sim *s, const char *root)
{
    struct rng *r = &s->work;

    drivers->sim = s;
    drivers->root = root;
    storage_init(&drivers->disks, s, 'd', DRIVERS_VOLUMES);
    storage_init(&drivers->shares, s, 'f', DRIVERS_VOLUMES);
    drivers->has_stages = rng_chance(r, 80);
    drivers->needs_attaching = rng_chance(r, 80);
    drivers->republishes = rng_chance(r, 20);
    drivers->expands_claims = rng_chance(r, 40);
    drivers->disks.volumes[DRIVERS_BLOCK].is_block = rng_chance(r, 40);
    drivers->flex_attaches = rng_chance(r, 80);
    drivers->flex_mounts_devices = rng_chance(r, 70);
    drivers->flex_is_slow = rng_chance(r, 25);
}

void node_drivers_init_csi(struct node_drivers *drivers, struct sim *s, const char *root, unsigned volumes)
{
    drivers->sim = s;
    drivers->root = root;
    storage_init(&drivers->disks, s, 'd', volumes);
    drivers->is_csi_only = drivers->needs_attaching = true;
    drivers->has_stages = rng_chance(&s->work, 80);
    drivers->republishes = rng_chance(&s->work, 20);
}

static void install_flex(struct node_drivers *drivers, struct flex_program *p, struct machine *m)
{
    *p = (struct flex_program){ .storage = &drivers->shares,
                                .machine = m,
                                .attaches = drivers->flex_attaches,
                                .mounts_devices = drivers->flex_mounts_devices,
                                .is_slow = drivers->flex_is_slow };
    flex_program_install(p);
}

void node_drivers_add_plane(struct node_drivers *drivers, struct machine *m)
{
    assert(drivers->planes_count < DRIVERS_PLANES_MAX);
    install_flex(drivers, &drivers->planes_flex[drivers->planes_count++], m);
}

void node_drivers_add(struct node_drivers *drivers, struct machine *m)
{
    unsigned node = storage_add_node(&drivers->disks, m);

    drivers->csi[node] = (struct sim_csi_driver){ .storage = &drivers->disks,
                                                  .machine = m,
                                                  .node = node,
                                                  .root = drivers->root,
                                                  .has_stages = drivers->has_stages };
    if (drivers->is_csi_only)
        return;
    (void)storage_add_node(&drivers->shares, m);
    install_flex(drivers, &drivers->flex[node], m);
}

/* Records which FlexVolumes the status of a Node lists as attached. */
static void on_event(void *ctx, const struct store_event *ev)
{
    struct node_drivers *drivers = ctx;
    const struct node *n = node_of(ev->object);

    for (unsigned i = 0; i < drivers->shares.nodes; i++)
        for (uint32_t v = 0; v < n->volumes_attached_count && !ev->is_delete; v++) {
            const char *name = strrchr(n->volumes_attached[v].name, '/');
            struct storage_volume *known = name ? storage_find(&drivers->shares, name + 1) : NULL;

            if (known && strcmp(drivers->shares.machines[i]->name, ev->object->name) == 0)
                known->is_reported[i] = true;
        }
}

void node_drivers_begin(struct node_drivers *drivers)
{
    make_objects(drivers);
    store_watch(drivers->sim->server.store, &drivers->watcher, KIND_NODE, on_event, NULL, drivers);
    if (!drivers->needs_attaching)
        storage_attach_all(&drivers->disks);
    if (!drivers->flex_attaches)
        storage_attach_all(&drivers->shares);
    for (unsigned n = 0; n < drivers->disks.nodes; n++)
        csi_driver_begin(&drivers->csi[n]);
    (void)storage_spawn_attacher(&drivers->disks, CSI_FINALIZER);
    if (drivers->expands_claims)
        (void)resizer_spawn(&drivers->disks);
}

void node_drivers_end(struct node_drivers *drivers)
{
    store_unwatch(drivers->sim->server.store, &drivers->watcher);
    for (unsigned n = 0; n < drivers->disks.nodes; n++)
        csi_driver_end(&drivers->csi[n]);
    storage_done(&drivers->disks);
    storage_done(&drivers->shares);
}

/* --- Volumes in use --- */

static struct storage_volume *claimed_volume(struct node_drivers *drivers, const struct pod_volume *v)
{
    const struct claim *c = v->type == POD_VOLUME_CLAIM ? stored_claim(drivers->sim, v->claim_name) : NULL;
    struct storage_volume *found = c ? storage_find(&drivers->disks, c->volume_name) : NULL;

    return found || !c ? found : storage_find(&drivers->shares, c->volume_name);
}

struct usage {
    struct node_drivers *drivers;
    const struct storage_volume *volume;
    const char *node;
    const struct object *except;
    bool is_used;
};

static bool add_usage(void *ctx, const struct object *o)
{
    struct usage *u = ctx;
    const struct pod *p = pod_of(o);

    if (o == u->except || strcmp(p->node_name, u->node) != 0)
        return true;
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (claimed_volume(u->drivers, &p->volumes.items[i]) == u->volume)
            u->is_used = true;
    return true;
}

static bool is_used(struct node_drivers *drivers, const struct storage_volume *v, const char *node,
                    const struct object *except)
{
    struct usage u = { drivers, v, node, except, false };

    (void)objects_each(drivers->sim, KIND_POD, add_usage, &u);
    return u.is_used;
}

static bool is_share(const struct node_drivers *drivers, const struct storage_volume *v)
{
    return v >= drivers->shares.volumes && v < drivers->shares.volumes + drivers->shares.count;
}

/* True for a FlexVolume that was attached by controllers which ended before they recorded it. It stays
 * attached until a pod on the node uses it again (docs/operations.md). */
static bool is_unrecorded(const struct node_drivers *drivers, const struct storage_volume *v, unsigned node)
{
    return is_share(drivers, v) && v->is_attached[node] && !v->is_reported[node];
}

/* True if the agent has found mounts that it could not reconstruct, because the driver did not answer at its
 * start. A person must unmount them. */
static bool has_unknown_mounts(const struct node_drivers *drivers, const struct machine *m)
{
    const struct object *o = store_get(drivers->sim->server.store, KIND_NODE, "", m->name);

    return o && condition_status(&node_of(o)->conditions, NODE_UNKNOWN_MOUNTS) == CONDITION_TRUE;
}

/* While there are unknown mounts of a driver, the agent reports all its attached volumes as in use. */
static bool may_be_unknown_mount(const struct node_drivers *drivers, const struct machine *m,
                                 const struct storage_volume *v)
{
    const struct sim_storage *s = is_share(drivers, v) ? &drivers->shares : &drivers->disks;
    bool is_mounted = false;

    for (unsigned i = 0; i < s->count; i++)
        is_mounted |= machine_mounts_disk(m, &s->volumes[i].disk);
    return is_mounted && has_unknown_mounts(drivers, m);
}

bool node_drivers_must_wait(struct node_drivers *drivers, const struct object *pod)
{
    const struct pod *p = pod_of(pod);

    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct storage_volume *v = claimed_volume(drivers, &p->volumes.items[i]);

        for (unsigned n = 0; v && v->is_exclusive && n < drivers->disks.nodes; n++) {
            const struct machine *m = drivers->disks.machines[n];

            if (v->is_attached[n] && strcmp(m->name, p->node_name) != 0 &&
                (is_used(drivers, v, m->name, pod) || is_unrecorded(drivers, v, n) ||
                 may_be_unknown_mount(drivers, m, v)))
                return true;
        }
    }
    return false;
}

/* --- Invariants --- */

static bool is_in_use(const struct node *n, const char *plugin, const char *volume)
{
    char name[PATH_BYTES];

    (void)snprintf(name, sizeof name, "%s%s", plugin, volume);
    for (uint32_t i = 0; n && i < n->volumes_in_use.count; i++)
        if (strcmp(n->volumes_in_use.items[i], name) == 0)
            return true;
    return false;
}

static void check_storage(const struct node_drivers *drivers, const struct sim_storage *s, const char *plugin)
{
    for (unsigned n = 0; n < s->nodes; n++) {
        const struct object *o = store_get(drivers->sim->server.store, KIND_NODE, "", s->machines[n]->name);

        for (unsigned i = 0; i < s->count && (o || !drivers->is_csi_only); i++)
            if (machine_mounts_disk(s->machines[n], &s->volumes[i].disk) &&
                !is_in_use(o ? node_of(o) : NULL, plugin, s->volumes[i].disk.name))
                sim_fail(drivers->sim, "%s has %s mounted and does not report it as in use",
                         s->machines[n]->name, s->volumes[i].disk.name);
    }
}

/* The capacity of a claim is at most its file system; the capacity of a volume is at most its disk. */
static void check_sizes(const struct node_drivers *drivers)
{
    char claim[16];

    for (unsigned i = 0; i < drivers->disks.count; i++) {
        const struct storage_volume *s = &drivers->disks.volumes[i];
        const struct volume *v = stored_volume(drivers->sim, s->disk.name);
        const struct claim *c;

        claim_name(s, claim);
        c = stored_claim(drivers->sim, claim);
        if (c && c->has_capacity && (uint64_t)quantity_value(&c->capacity) > s->fs_bytes)
            sim_fail(drivers->sim, "the capacity of claim %s exceeds its file system", c->obj.name);
        if (v && (uint64_t)quantity_value(&v->capacity) > s->disk.bytes)
            sim_fail(drivers->sim, "the capacity of volume %s exceeds its disk", v->obj.name);
    }
}

void node_drivers_check(struct node_drivers *drivers)
{
    if (!sim_has_changed(drivers->sim, &drivers->checked))
        return;
    if (drivers->expands_claims)
        check_sizes(drivers);
    if (drivers->needs_attaching)
        check_storage(drivers, &drivers->disks, "kubernetes.io/csi/" CSI_DRIVER "^");
    if (drivers->flex_attaches)
        check_storage(drivers, &drivers->shares, FLEX_DRIVER "/");
}

/* --- The final state --- */

static int check_unused_volumes(struct node_drivers *drivers, struct sim_storage *s, unsigned node,
                                bool attaches, unsigned *used, struct error *err)
{
    struct machine *m = s->machines[node];

    for (unsigned i = 0; i < s->count; i++) {
        const struct storage_volume *v = &s->volumes[i];

        if (is_used(drivers, v, m->name, NULL))
            ++*used;
        else if (machine_mounts_disk(m, &v->disk))
            return error_set(err, ERR_BUSY, "%s is mounted on %s, and no pod uses it", v->disk.name, m->name);
        else if (attaches && v->is_attached[node] && !is_unrecorded(drivers, v, node))
            return error_set(err, ERR_BUSY, "%s is attached to %s, and no pod uses it", v->disk.name,
                             m->name);
    }
    return 0;
}

/* Checks for records of staged volumes that no pod uses. Empty directories do not count. */
static int check_staged(const struct node_drivers *drivers, struct machine *m, unsigned used,
                        struct error *err)
{
    struct machine_place at;
    const struct tree_entry *e;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/plugins/kubernetes.io/csi/" CSI_DRIVER, drivers->root);
    if (machine_find(m, AT_FDCWD, path, 0, &at, NULL) != 0)
        return 0;
    TAILQ_FOREACH(e, &at.node->entries, link)
        if (tree_find(e->node, "vol_data.json") && used-- == 0)
            return error_set(err, ERR_BUSY, "%s: %s/%s is left", m->name, path, e->name);
    return 0;
}

/* The same for the raw block volume: its staging directory. A data file without it, of a call that was never
 * made, is removed at the next start of the agent. */
static int check_block(struct node_drivers *drivers, struct machine *m, struct error *err)
{
    const struct storage_volume *v = &drivers->disks.volumes[DRIVERS_BLOCK];
    struct machine_place at;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/plugins/kubernetes.io/csi/volumeDevices/staging/%.32s",
                   drivers->root, v->disk.name);
    if (!is_used(drivers, v, m->name, NULL) && machine_find(m, AT_FDCWD, path, 0, &at, NULL) == 0)
        return error_set(err, ERR_BUSY, "%s: %s is left", m->name, path);
    return 0;
}

static int check_report(const struct node_drivers *drivers, const struct machine *m, unsigned used,
                        struct error *err)
{
    const struct object *o = store_get(drivers->sim->server.store, KIND_NODE, "", m->name);

    if (o && node_of(o)->volumes_in_use.count > used)
        return error_set(err, ERR_BUSY, "%s reports more volumes in use than its pods have: %s, …", m->name,
                         node_of(o)->volumes_in_use.items[0]);
    if (o && node_of(o)->volumes_attached_count > used)
        return error_set(err, ERR_BUSY, "%s is reported to have more volumes than its pods use: %s, …",
                         m->name, node_of(o)->volumes_attached[0].name);
    return 0;
}

/* Claims that pods of the node use have the requested size. */
static int check_expansion(struct node_drivers *drivers, unsigned node, struct error *err)
{
    char claim[16];

    for (unsigned i = 0; i < drivers->disks.count && drivers->expands_claims; i++) {
        const struct storage_volume *v = &drivers->disks.volumes[i];
        const struct claim *c;

        claim_name(v, claim);
        c = stored_claim(drivers->sim, claim);
        if (!c || v->is_expand_barred[node] || !machine_mounts_disk(drivers->disks.machines[node], &v->disk))
            continue;
        if (c->resize != RESIZE_NONE || quantity_cmp(&c->capacity, &c->request) < 0)
            return error_set(err, ERR_BUSY, "claim %s is not expanded: %s", claim,
                             resize_status_name(c->resize));
    }
    return 0;
}

struct attachments {
    unsigned count;
};

static bool count_attachment(void *ctx, const struct object *o)
{
    struct attachments *a = ctx;

    (void)o;
    a->count++;
    return true;
}

int node_drivers_settled(struct node_drivers *drivers, struct error *err)
{
    struct attachments attachments = { 0 };
    unsigned all = 0;
    int r = 0;

    for (unsigned n = 0; n < drivers->disks.nodes && r == 0; n++) {
        struct machine *m = drivers->disks.machines[n];
        unsigned disks = 0, shares = 0;

        if (has_unknown_mounts(drivers, m)) {
            all = UINT_MAX / 2; /* its volumes stay attached */
            continue;
        }
        r = check_unused_volumes(drivers, &drivers->disks, n, drivers->needs_attaching, &disks, err);
        if (r == 0)
            r = check_unused_volumes(drivers, &drivers->shares, n, drivers->flex_attaches, &shares, err);
        if (r == 0)
            r = check_staged(drivers, m, disks, err);
        if (r == 0)
            r = check_block(drivers, m, err);
        if (r == 0)
            r = check_expansion(drivers, n, err);
        if (r == 0)
            r = check_report(drivers, m, disks + shares, err);
        all += disks;
    }
    (void)objects_each(drivers->sim, KIND_ATTACHMENT, count_attachment, &attachments);
    if (r == 0 && attachments.count > all)
        r = error_set(err, ERR_BUSY, "there are attachments of volumes that no pod uses");
    return r;
}
