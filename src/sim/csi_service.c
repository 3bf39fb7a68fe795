/* The Node service of the CSI driver model (csi_driver.h).
 *
 * Each serve_*() function handles one method when the call takes effect. The mount table of the machine is
 * the state of the driver; `uses` only detects that a path is used with other arguments. A partial call
 * (is_partial) stops in the middle and fails. peer_request_reject() answers with an error that may happen;
 * report_violation() also fails the run. */
#include "sim/csi_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "rpc/message.h"
#include "sim/sim_world.h"

#define DIR_MODE 0750

#define CAN(name) CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__##name

/* The protocol forbids this request: fails the run. */
static enum rpc_code report_violation(const struct sim_csi_driver *d, struct peer_request *q,
                                      const char *what, const char *volume, const char *path)
{
    sim_fail(d->machine->sim, "%s: %s: %s at %s: %s", d->machine->name, strrchr(q->method, '/') + 1, volume,
             path, what);
    return peer_request_reject(q, RPC_FAILED_PRECONDITION, what);
}

/* --- Arguments by path --- */

void csi_uses_forget(struct sim_csi_driver *d)
{
    struct csi_use *u;

    while ((u = TAILQ_FIRST(&d->uses))) {
        TAILQ_REMOVE(&d->uses, u, link);
        free(u);
    }
    d->boots = d->machine->boots;
}

static struct csi_use *use_of(struct sim_csi_driver *d, const char *path)
{
    struct csi_use *u;

    if (d->boots != d->machine->boots)
        csi_uses_forget(d);
    TAILQ_FOREACH(u, &d->uses, link)
        if (strcmp(u->path, path) == 0)
            return u;
    return NULL;
}

static void use_end(struct sim_csi_driver *d, const char *path)
{
    struct csi_use *u = use_of(d, path);

    if (!u)
        return;
    TAILQ_REMOVE(&d->uses, u, link);
    free(u);
}

/* True if the path is new, or is used with the same arguments as before. */
static bool use_begin(struct sim_csi_driver *d, const char *path, const char *volume,
                      const Csi__V1__VolumeCapability *c, const char *staging, bool is_read_only)
{
    struct csi_use *u = use_of(d, path);
    size_t len = strlen(path) + 1;
    char arguments[sizeof u->arguments];

    (void)snprintf(
        arguments, sizeof arguments, "%s mode %d type %s group %s flags %zu %s from %.96s", volume,
        c && c->access_mode ? (int)c->access_mode->mode : -1,
        c && c->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT ? c->mount->fs_type
                                                                                  : "block",
        c && c->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT
            ? c->mount->volume_mount_group
            : "",
        c && c->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT ? c->mount->n_mount_flags
                                                                                  : 0,
        is_read_only ? "ro" : "rw", staging);
    if (u)
        return strcmp(u->arguments, arguments) == 0;
    u = sim_alloc(sizeof *u + len);
    memcpy(u->path, path, len);
    (void)snprintf(u->arguments, sizeof u->arguments, "%s", arguments);
    TAILQ_INSERT_TAIL(&d->uses, u, link);
    return true;
}

/* --- The machine --- */

/* The file system that is mounted at the path; NULL: none. */
static const struct file_tree *tree_at(const struct sim_csi_driver *d, const char *path)
{
    struct machine_place at;

    if (machine_find(d->machine, AT_FDCWD, path, 0, &at, NULL) != 0 || at.node != at.mount->root)
        return NULL;
    return at.mount->tree;
}

/* Creates the directory, or the file for a block device. The agent creates its parent. */
static bool make_target(const struct sim_csi_driver *d, const char *path, mode_t type)
{
    struct machine_place dir;
    char name[NAME_MAX + 1];

    if (machine_find(d->machine, AT_FDCWD, path, PLACE_PARENT, &dir, name) != 0 || name[0] == '\0')
        return false;
    if (!tree_find(dir.node, name)) {
        (void)tree_add(dir.node, name, type | DIR_MODE);
        machine_entry_changed(d->machine, dir.node, name);
    }
    return true;
}

/* Also removes the file that a disk was bound to. */
static void remove_dir(const struct sim_csi_driver *d, const char *path)
{
    struct machine_place at;
    struct file_node *dir;
    char name[NAME_MAX + 1];

    if (machine_find(d->machine, AT_FDCWD, path, PLACE_NOFOLLOW, &at, NULL) != 0 ||
        (!S_ISDIR(at.node->mode) && !S_ISREG(at.node->mode)) || !tree_is_empty(at.node) ||
        at.node == at.mount->root)
        return;
    dir = at.node->parent;
    (void)snprintf(name, sizeof name, "%s", strrchr(path, '/') + 1);
    tree_remove(at.node);
    machine_entry_changed(d->machine, dir, name);
}

struct search {
    const struct file_tree *tree;
    const char *except;
    char found[PATH_MAX];
};

static void match_mount(void *ctx, const char *path, const struct file_tree *t)
{
    struct search *s = ctx;

    if (t == s->tree && strcmp(path, s->except) != 0)
        (void)snprintf(s->found, sizeof s->found, "%s", path);
}

/* True if the volume is mounted at another path, which is written to ret. */
static bool is_mounted_elsewhere(const struct sim_csi_driver *d, const struct storage_volume *v,
                                 const char *path, char ret[PATH_MAX])
{
    struct search s = { .tree = v->disk.tree, .except = path };

    machine_each_mount(d->machine, match_mount, &s);
    (void)snprintf(ret, PATH_MAX, "%s", s.found);
    return s.found[0] != '\0';
}

/* Mounts the disk, or bind-mounts the source if there is one. */
static bool mount_at(const struct sim_csi_driver *d, const struct storage_volume *v, const char *source,
                     const char *path, bool is_read_only)
{
    char device[sizeof v->disk.name + 8];

    (void)snprintf(device, sizeof device, "/dev/%s", v->disk.name);
    if (machine_mount(d->machine, source ? source : device, path, source ? "" : "ext4",
                      source ? "bind" : "rw") != 0)
        return false;
    return !is_read_only || machine_mount(d->machine, "", path, "", "remount,bind,ro") == 0;
}

/* --- Raw block volumes: staging mounts nothing --- */

static bool is_block(const Csi__V1__VolumeCapability *c)
{
    return c && c->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
}

static bool has_disk_at(const struct sim_csi_driver *d, const struct storage_volume *v, const char *path)
{
    return machine_find_disk(d->machine, path) == &v->disk;
}

/* A missing directory is not a violation: a late call may arrive after its agent has restarted and found
 * nothing to unpublish. Then the call has no effect. */
static enum rpc_code publish_block(const struct sim_csi_driver *d, struct peer_request *q,
                                   const struct storage_volume *v, const char *path)
{
    char device[sizeof v->disk.name + 8];

    if (has_disk_at(d, v, path))
        return RPC_OK;
    if (!make_target(d, path, S_IFREG))
        return peer_request_reject(q, RPC_INTERNAL, "its directory is missing");
    if (q->is_partial)
        return RPC_INTERNAL;
    (void)snprintf(device, sizeof device, "/dev/%s", v->disk.name);
    return machine_mount(d->machine, device, path, "", "bind") == 0
               ? RPC_OK
               : peer_request_reject(q, RPC_INTERNAL, "cannot bind");
}

/* --- Stage and unstage --- */

static enum rpc_code serve_stage(struct sim_csi_driver *d, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(d->machine, q, &csi__v1__node_stage_volume_request__descriptor);
    const Csi__V1__NodeStageVolumeRequest *r = (const void *)m;
    const struct storage_volume *v = m ? storage_find(d->storage, r->volume_id) : NULL;
    struct machine_place at;
    const char *path;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    path = r->staging_target_path;
    if (!d->has_stages)
        return report_violation(d, q, "the driver does not support staging", r->volume_id, path);
    if (!v || !r->volume_capability)
        return report_violation(d, q, "there is no such volume", r->volume_id, path);
    if (!v->is_attached[d->node] && v->is_forced[d->node])
        return peer_request_reject(q, RPC_INTERNAL, "the device is gone");
    if (!v->is_attached[d->node])
        return report_violation(d, q, "it is not attached to this node", r->volume_id, path);
    if (machine_find(d->machine, AT_FDCWD, path, 0, &at, NULL) != 0)
        return report_violation(d, q, "there is no such directory", r->volume_id, path);
    if (!use_begin(d, path, r->volume_id, r->volume_capability, "", false))
        return report_violation(d, q, "the path is used with other arguments", r->volume_id, path);
    if (v->is_block != is_block(r->volume_capability))
        return report_violation(d, q, "it is staged in the wrong volume mode", r->volume_id, path);
    if (v->is_block || tree_at(d, path) == v->disk.tree)
        return RPC_OK;
    if (tree_at(d, path))
        return report_violation(d, q, "another volume is mounted there", r->volume_id, path);
    return mount_at(d, v, NULL, path, false) ? RPC_OK : peer_request_reject(q, RPC_INTERNAL, "cannot mount");
}

static enum rpc_code serve_unstage(struct sim_csi_driver *d, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(d->machine, q, &csi__v1__node_unstage_volume_request__descriptor);
    const Csi__V1__NodeUnstageVolumeRequest *r = (const void *)m;
    struct storage_volume *v = m ? storage_find(d->storage, r->volume_id) : NULL;
    const char *path;
    char other[PATH_MAX];

    if (!m)
        return RPC_INVALID_ARGUMENT;
    path = r->staging_target_path;
    if (!v || !d->has_stages)
        return report_violation(d, q, "there is nothing to unstage", r->volume_id, path);
    if (is_mounted_elsewhere(d, v, path, other))
        return report_violation(d, q, "it is published", r->volume_id, other);
    if (v->is_block && machine_mounts_disk(d->machine, &v->disk))
        return report_violation(d, q, "it is published as a device", r->volume_id, path);
    if (tree_at(d, path) == v->disk.tree && machine_unmount(d->machine, path, 0) != 0)
        return peer_request_reject(q, RPC_INTERNAL, "cannot unmount: it is busy");
    use_end(d, path);
    v->is_expand_barred[d->node] = false;
    return RPC_OK;
}

/* --- Publish and unpublish --- */

static bool is_ephemeral(const Csi__V1__NodePublishVolumeRequest *r)
{
    for (size_t i = 0; i < r->n_volume_context; i++)
        if (strcmp(r->volume_context[i]->key, "csi.storage.k8s.io/ephemeral") == 0)
            return strcmp(r->volume_context[i]->value, "true") == 0;
    return false;
}

static bool is_staged(struct sim_csi_driver *d, const struct storage_volume *v, const char *path)
{
    return v->is_block ? use_of(d, path) != NULL : tree_at(d, path) == v->disk.tree;
}

/* NULL, or why the protocol forbids to publish the volume. */
static const char *find_violation(struct sim_csi_driver *d, const Csi__V1__NodePublishVolumeRequest *r,
                                  const struct storage_volume *v)
{
    if (!r->volume_capability || (!v && !is_ephemeral(r)))
        return "there is no such volume";
    if (v && !v->is_attached[d->node])
        return "it is not attached to this node";
    if (v && v->is_block != is_block(r->volume_capability))
        return "it is published in the wrong volume mode";
    if (v && d->has_stages && !is_staged(d, v, r->staging_target_path))
        return "it is not staged";
    if (!use_begin(d, r->target_path, r->volume_id, r->volume_capability, r->staging_target_path,
                   r->readonly))
        return "the path is used with other arguments";
    return NULL;
}

static enum rpc_code serve_publish(struct sim_csi_driver *d, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(d->machine, q, &csi__v1__node_publish_volume_request__descriptor);
    const Csi__V1__NodePublishVolumeRequest *r = (const void *)m;
    const struct storage_volume *v = m ? storage_find(d->storage, r->volume_id) : NULL;
    const struct file_tree *now;
    const char *fault;
    bool is_done;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (v && !v->is_attached[d->node] && v->is_forced[d->node])
        return peer_request_reject(q, RPC_INTERNAL, "the device is gone");
    fault = find_violation(d, r, v);
    if (fault)
        return report_violation(d, q, fault, r->volume_id, r->target_path);
    if (v && v->is_block)
        return publish_block(d, q, v, r->target_path);
    now = tree_at(d, r->target_path);
    if (now && (!v || now == v->disk.tree))
        return RPC_OK;
    if (now)
        return report_violation(d, q, "another volume is mounted there", r->volume_id, r->target_path);
    if (!make_target(d, r->target_path, S_IFDIR))
        return report_violation(d, q, "its directory is missing", r->volume_id, r->target_path);
    if (q->is_partial)
        return RPC_INTERNAL;
    if (v)
        is_done = mount_at(d, v, d->has_stages ? r->staging_target_path : NULL, r->target_path, r->readonly);
    else
        is_done = machine_mount(d->machine, "ephemeral", r->target_path, "tmpfs", "rw") == 0;
    return is_done ? RPC_OK : peer_request_reject(q, RPC_INTERNAL, "cannot mount");
}

static enum rpc_code serve_unpublish(struct sim_csi_driver *d, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(d->machine, q, &csi__v1__node_unpublish_volume_request__descriptor);
    const Csi__V1__NodeUnpublishVolumeRequest *r = (const void *)m;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (!r->volume_id[0] || !r->target_path[0])
        return report_violation(d, q, "there is nothing to unpublish", r->volume_id, r->target_path);
    if (tree_at(d, r->target_path) && machine_unmount(d->machine, r->target_path, 0) != 0)
        return peer_request_reject(q, RPC_INTERNAL, "cannot unmount: it is busy");
    if (q->is_partial)
        return RPC_INTERNAL;
    remove_dir(d, r->target_path);
    use_end(d, r->target_path);
    return RPC_OK;
}

/* --- Other methods --- */

void csi_zone_init(struct csi_zone *z, const char *zone)
{
    csi__v1__topology__init(&z->topology);
    csi__v1__pair__init(&z->pair);
    z->pair.key = (char *)(uintptr_t)CSI_ZONE_KEY; /* is not modified, like the value */
    z->pair.value = (char *)(uintptr_t)zone;
    z->segments[0] = &z->pair;
    z->topology.n_segments = 1;
    z->topology.segments = z->segments;
}

static enum rpc_code serve_get_info(struct sim_csi_driver *d, struct peer_request *q)
{
    Csi__V1__NodeGetInfoResponse answer;
    struct csi_zone zone;
    char id[sizeof d->machine->name + 4];

    (void)snprintf(id, sizeof id, "id-%s", d->machine->name);
    csi__v1__node_get_info_response__init(&answer);
    answer.node_id = id;
    csi_zone_init(&zone, d->zone);
    answer.accessible_topology = d->zone ? &zone.topology : NULL;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_get_capabilities(struct sim_csi_driver *d, struct peer_request *q)
{
    const Csi__V1__NodeServiceCapability__RPC__Type types[] = { CAN(GET_VOLUME_STATS), CAN(EXPAND_VOLUME),
                                                                CAN(STAGE_UNSTAGE_VOLUME) };
    Csi__V1__NodeGetCapabilitiesResponse answer = CSI__V1__NODE_GET_CAPABILITIES_RESPONSE__INIT;
    Csi__V1__NodeServiceCapability__RPC rpcs[ARRAY_LEN(types)];
    Csi__V1__NodeServiceCapability all[ARRAY_LEN(types)], *items[ARRAY_LEN(types)];

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        csi__v1__node_service_capability__rpc__init(&rpcs[i]);
        csi__v1__node_service_capability__init(&all[i]);
        rpcs[i].type = types[i];
        all[i].type_case = CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC;
        all[i].rpc = &rpcs[i];
        items[i] = &all[i];
    }
    answer.n_capabilities = d->has_stages ? ARRAY_LEN(types) : ARRAY_LEN(types) - 1;
    answer.capabilities = items;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_get_stats(struct sim_csi_driver *d, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(d->machine, q, &csi__v1__node_get_volume_stats_request__descriptor);
    const Csi__V1__NodeGetVolumeStatsRequest *r = (const void *)m;
    Csi__V1__NodeGetVolumeStatsResponse answer = CSI__V1__NODE_GET_VOLUME_STATS_RESPONSE__INIT;
    Csi__V1__VolumeUsage usage = CSI__V1__VOLUME_USAGE__INIT, *items[] = { &usage };
    const struct storage_volume *v = m ? storage_find(d->storage, r->volume_id) : NULL;

    if (!m || !tree_at(d, r->volume_path))
        return peer_request_reject(q, RPC_NOT_FOUND, "the volume is not mounted");
    usage.unit = CSI__V1__VOLUME_USAGE__UNIT__BYTES;
    usage.total = usage.available = (int64_t)(v ? v->fs_bytes : (uint64_t)1 << 30);
    answer.n_usage = 1;
    answer.usage = items;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_expand(struct sim_csi_driver *d, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(d->machine, q, &csi__v1__node_expand_volume_request__descriptor);
    const Csi__V1__NodeExpandVolumeRequest *r = (const void *)m;
    Csi__V1__NodeExpandVolumeResponse answer = CSI__V1__NODE_EXPAND_VOLUME_RESPONSE__INIT;
    struct storage_volume *v = m ? storage_find(d->storage, r->volume_id) : NULL;
    uint64_t bytes;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (!v || (v->is_block ? !has_disk_at(d, v, r->volume_path) : tree_at(d, r->volume_path) != v->disk.tree))
        return report_violation(d, q, "it is neither staged nor published", r->volume_id, r->volume_path);
    bytes = r->capacity_range ? (uint64_t)r->capacity_range->required_bytes : v->disk.bytes;
    if (bytes > v->disk.bytes)
        return report_violation(d, q, "its disk is smaller", r->volume_id, r->volume_path);
    if (sim_has_fault(d->machine->sim, &d->machine->rng, FAULT_HOST, 10))
        return peer_request_reject(q, RPC_OUT_OF_RANGE, "this size is not possible");
    if (q->is_partial)
        return RPC_INTERNAL;
    if (v->fs_bytes < bytes)
        v->fs_bytes = bytes;
    answer.capacity_bytes = (int64_t)v->fs_bytes;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static const struct {
    const char *method;
    enum rpc_code (*serve)(struct sim_csi_driver *d, struct peer_request *q);
    const ProtobufCMessageDescriptor *volume; /* its first field is a volume; NULL: the method has none */
} methods[] = {
    { "/csi.v1.Node/NodeStageVolume", serve_stage, &csi__v1__node_stage_volume_request__descriptor },
    { "/csi.v1.Node/NodeUnstageVolume", serve_unstage, &csi__v1__node_unstage_volume_request__descriptor },
    { "/csi.v1.Node/NodePublishVolume", serve_publish, &csi__v1__node_publish_volume_request__descriptor },
    { "/csi.v1.Node/NodeUnpublishVolume", serve_unpublish,
      &csi__v1__node_unpublish_volume_request__descriptor },
    { "/csi.v1.Node/NodeExpandVolume", serve_expand, &csi__v1__node_expand_volume_request__descriptor },
    { "/csi.v1.Node/NodeGetVolumeStats", serve_get_stats, NULL },
    { "/csi.v1.Node/NodeGetInfo", serve_get_info, NULL },
    { "/csi.v1.Node/NodeGetCapabilities", serve_get_capabilities, NULL },
};

/* The subject is the volume: it is the first field of all these messages. */
static void read_subject(void *ctx, const struct peer_request *q, char ret[PEER_SUBJECT_BYTES])
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m = NULL;

    (void)ctx;
    ret[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(methods) && !m; i++)
        if (methods[i].volume && strcmp(methods[i].method, q->method) == 0)
            m = rpc_message_read(methods[i].volume, q->message);
    if (m)
        (void)snprintf(ret, PEER_SUBJECT_BYTES, "%s",
                       ((const Csi__V1__NodeUnstageVolumeRequest *)(const void *)m)->volume_id);
}

static enum rpc_code serve_method(void *ctx, struct peer_request *q)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (strcmp(methods[i].method, q->method) == 0)
            return methods[i].serve(ctx, q);
    return peer_request_reject(q, RPC_UNIMPLEMENTED, "there is no such method");
}

/* The agent does not retry an expansion that is impossible while the volume is in use, until it was
 * unmounted. */
static enum rpc_code force_code(void *ctx, const struct peer_request *q, enum rpc_code code, bool has_effect)
{
    struct sim_csi_driver *d = ctx;
    struct storage_volume *v;
    char volume[PEER_SUBJECT_BYTES];

    (void)has_effect;
    if (code != RPC_FAILED_PRECONDITION || strcmp(q->method, "/csi.v1.Node/NodeExpandVolume") != 0)
        return code;
    read_subject(d, q, volume);
    v = storage_find(d->storage, volume);
    if (v)
        v->is_expand_barred[d->node] = true;
    return code;
}

const struct machine_peer_type csi_service_type = { read_subject, serve_method, force_code };
