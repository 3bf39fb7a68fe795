/* The Controller and Identity services of the CSI driver model (csi_backend.h).
 *
 * Each serve_*() function handles one method when the call takes effect. reject answers with an error that
 * may happen; report_violation() also fails the run. A fault never claims the failure of what has happened:
 * force_code() replaces such a code by Aborted, since a final error means that nothing is left of a call. */
#include "sim/csi_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/message.h"
#include "sim/objects.h"
#include "sim/sim_world.h"

#define CONTROLLER "/csi.v1.Controller/"
#define IDENTITY "/csi.v1.Identity/"
#define NAME_PREFIX "pvc-"
#define ID_PREFIX "h-"
#define REQUEST_BYTES_MAX ((size_t)64 << 10)
#define SMALLER_PERCENT 10
#define FULL_PERCENT 5
#define CACHE_LAG_NS (60 * NS_PER_S)
#define FREE_BYTES ((int64_t)1 << 40)

#define CAN(name) CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__##name

/* --- Volumes --- */

struct backend_volume *csi_backend_find(struct csi_backend *b, const char *id)
{
    struct backend_volume *v;

    TAILQ_FOREACH(v, &b->volumes, link)
        if (strcmp(v->id, id) == 0)
            return v;
    return NULL;
}

static struct backend_volume *volume_get(struct csi_backend *b, const char *id)
{
    struct backend_volume *v = csi_backend_find(b, id);

    if (v)
        return v;
    v = sim_alloc(sizeof *v);
    (void)snprintf(v->id, sizeof v->id, "%s", id);
    v->create = BUF_INIT(REQUEST_BYTES_MAX);
    v->modify = BUF_INIT(REQUEST_BYTES_MAX);
    TAILQ_INSERT_TAIL(&b->volumes, v, link);
    return v;
}

/* NULL: it does not exist. */
static struct backend_volume *volume_of_id(struct csi_backend *b, const char *id)
{
    struct backend_volume *v = csi_backend_find(b, id);

    return v && v->disk ? v : NULL;
}

/* The protocol forbids this request: fails the run. */
static enum rpc_code report_violation(const struct csi_backend *b, struct peer_request *q, const char *volume,
                                      const char *what)
{
    sim_fail(b->machine->sim, "%s of %s: %s", strrchr(q->method, '/') + 1, volume, what);
    return peer_request_reject(q, RPC_FAILED_PRECONDITION, what);
}

/* Notes a request whose end is not known. False: another one is noted. */
static bool note_request(struct buf *noted, struct str message)
{
    if (noted->len > 0)
        return str_eq(buf_str(noted), message);
    buf_add_str(noted, message);
    return true;
}

/* The number of the node with that id; the count of nodes: none. */
static unsigned node_of_id(const struct csi_backend *b, const char *id)
{
    unsigned n = 0;

    while (n < b->storage->nodes &&
           (strncmp(id, "id-", 3) != 0 || strcmp(b->storage->machines[n]->name, id + 3) != 0))
        n++;
    return n;
}

static bool is_published(const struct csi_backend *b, const struct backend_volume *v)
{
    for (unsigned n = 0; n < b->storage->nodes; n++)
        if (v->disk->is_attached[n])
            return true;
    return false;
}

/* The value of BACKEND_TIER_KEY; "": none. */
static const char *find_tier(Csi__V1__Pair *const *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i]->key, BACKEND_TIER_KEY) == 0)
            return pairs[i]->value;
    return "";
}

/* --- CreateVolume and DeleteVolume --- */

static const char *choose_zone(const struct csi_backend *b, const Csi__V1__CreateVolumeRequest *r)
{
    const Csi__V1__TopologyRequirement *t = r->accessibility_requirements;

    if (!t || t->n_preferred == 0 || t->preferred[0]->n_segments == 0)
        return NULL;
    for (unsigned n = 0; n < b->storage->nodes; n++)
        if (strcmp(b->zones[n], t->preferred[0]->segments[0]->value) == 0)
            return b->zones[n];
    return NULL;
}

static bool is_exclusive(const Csi__V1__CreateVolumeRequest *r)
{
    return r->n_volume_capabilities == 0 || !r->volume_capabilities[0]->access_mode ||
           r->volume_capabilities[0]->access_mode->mode !=
               CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_MULTI_WRITER;
}

/* Makes the volume. False: the storage is full. */
static bool make_volume(struct csi_backend *b, struct backend_volume *v,
                        const Csi__V1__CreateVolumeRequest *r)
{
    struct sim *s = b->machine->sim;
    bool is_smaller = sim_has_fault(s, &b->rng, FAULT_HOST, b->may_make_smaller ? SMALLER_PERCENT : 0);
    int64_t bytes = is_smaller ? v->requested_bytes / 2 : v->requested_bytes;

    v->disk = storage_create(b->storage, v->id, (uint64_t)bytes, is_exclusive(r));
    v->zone = b->zones ? choose_zone(b, r) : NULL;
    (void)snprintf(v->tier, sizeof v->tier, "%s", find_tier(r->mutable_parameters, r->n_mutable_parameters));
    return v->disk;
}

static void answer_volume(const struct csi_backend *b, struct peer_request *q, struct backend_volume *v)
{
    Csi__V1__CreateVolumeResponse answer = CSI__V1__CREATE_VOLUME_RESPONSE__INIT;
    Csi__V1__Volume volume;
    Csi__V1__Topology *topologies[1];
    struct csi_zone zone;

    csi__v1__volume__init(&volume);
    csi_zone_init(&zone, v->zone);
    topologies[0] = &zone.topology;
    answer.volume = &volume;
    volume.volume_id = v->id;
    volume.capacity_bytes = (int64_t)v->disk->disk.bytes;
    volume.n_accessible_topology = b->zones ? 1 : 0;
    volume.accessible_topology = topologies;
    peer_request_answer(q, &answer.base);
}

static enum rpc_code serve_create(struct csi_backend *b, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(b->machine, q, &csi__v1__create_volume_request__descriptor);
    const Csi__V1__CreateVolumeRequest *r = (const void *)m;
    struct backend_volume *v;
    char id[sizeof v->id];

    if (!m)
        return RPC_INVALID_ARGUMENT;
    (void)snprintf(id, sizeof id, ID_PREFIX "%s", r->name + strlen(NAME_PREFIX));
    v = volume_get(b, id);
    if (!note_request(&v->create, q->message))
        return report_violation(b, q, r->name, "it is requested with other arguments");
    if (!r->capacity_range || r->capacity_range->required_bytes <= 0 || r->n_volume_capabilities == 0)
        return report_violation(b, q, r->name, "the request is incomplete");
    if (b->zones && !choose_zone(b, r))
        return report_violation(b, q, r->name, "no zone is preferred");
    v->requested_bytes = r->capacity_range->required_bytes;
    if (!v->disk && strcmp(find_tier(r->mutable_parameters, r->n_mutable_parameters), BACKEND_BAD_TIER) == 0)
        return peer_request_reject(q, RPC_INVALID_ARGUMENT, "there is no such tier");
    if (!v->disk && sim_has_fault(b->machine->sim, &b->rng, FAULT_HOST, FULL_PERCENT))
        return peer_request_reject(q, RPC_RESOURCE_EXHAUSTED, "there is no space in the zone");
    if (!v->disk && !make_volume(b, v, r))
        return peer_request_reject(q, RPC_RESOURCE_EXHAUSTED, "there is no space");
    answer_volume(b, q, v);
    return RPC_OK;
}

/* True if the claim for which the volume was made exists and is bound to it. */
static bool is_bound(const struct csi_backend *b, const struct backend_volume *v)
{
    char name[sizeof v->id + 8];
    const struct volume *object;
    const struct claim *c;

    (void)snprintf(name, sizeof name, NAME_PREFIX "%s", v->id + strlen(ID_PREFIX));
    object = stored_volume(b->machine->sim, name);
    c = object && object->claim.is_set ? stored_claim(b->machine->sim, object->claim.name) : NULL;
    return c && strcmp(c->obj.uid, object->claim.uid) == 0 && strcmp(c->volume_name, name) == 0;
}

static enum rpc_code serve_delete(struct csi_backend *b, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(b->machine, q, &csi__v1__delete_volume_request__descriptor);
    const Csi__V1__DeleteVolumeRequest *r = (const void *)m;
    struct backend_volume *v = m ? csi_backend_find(b, r->volume_id) : NULL;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (!v)
        return report_violation(b, q, r->volume_id, "it was never requested");
    /* As in external-provisioner the caller checks its cache, which may lag. */
    if (v->disk && is_published(b, v))
        return v->published_ns + CACHE_LAG_NS > b->machine->sim->now_ns
                   ? peer_request_reject(q, RPC_FAILED_PRECONDITION, "a node has the volume")
                   : report_violation(b, q, v->id, "it is deleted while a node has it");
    if (v->disk && is_bound(b, v))
        return report_violation(b, q, v->id, "it is deleted while its claim is bound to it");
    if (v->disk)
        storage_delete(b->storage, v->disk);
    v->disk = NULL;
    buf_clear(&v->create);
    buf_clear(&v->modify);
    return RPC_OK;
}

/* --- Publish and unpublish --- */

static enum rpc_code serve_publish(struct csi_backend *b, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(b->machine, q, &csi__v1__controller_publish_volume_request__descriptor);
    const Csi__V1__ControllerPublishVolumeRequest *r = (const void *)m;
    const Csi__V1__ControllerPublishVolumeResponse answer = CSI__V1__CONTROLLER_PUBLISH_VOLUME_RESPONSE__INIT;
    struct backend_volume *v = m ? volume_of_id(b, r->volume_id) : NULL;
    unsigned node = m ? node_of_id(b, r->node_id) : 0;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (!v || !r->volume_capability)
        return report_violation(b, q, r->volume_id, "a volume is published that does not exist");
    if (node == b->storage->nodes)
        return report_violation(b, q, r->node_id, "there is no such node");
    /* The pod was scheduled for an earlier claim of the same name. */
    if (b->zones && v->zone != b->zones[node])
        return peer_request_reject(q, RPC_FAILED_PRECONDITION, "the node is outside of the volume's zone");
    /* Two pods on different nodes may use the claim: whose attachment comes first has the volume. */
    if (!storage_attach(b->storage, node, v->disk))
        return peer_request_reject(q, RPC_FAILED_PRECONDITION, "another node has the volume");
    v->published_ns = b->machine->sim->now_ns;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_unpublish(struct csi_backend *b, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(b->machine, q, &csi__v1__controller_unpublish_volume_request__descriptor);
    const Csi__V1__ControllerUnpublishVolumeRequest *r = (const void *)m;
    struct backend_volume *v = m ? volume_of_id(b, r->volume_id) : NULL;
    unsigned node = m ? node_of_id(b, r->node_id) : 0;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (node == b->storage->nodes)
        return report_violation(b, q, r->node_id, "there is no such node");
    if (v)
        storage_detach(b->storage, node, v->disk);
    return RPC_OK;
}

/* --- Expand and modify --- */

/* A retry may come after the volume was deleted, from a process that does not know yet that the claim is
 * deleted. */
static enum rpc_code reject_unknown(struct csi_backend *b, struct peer_request *q, const char *id)
{
    const struct backend_volume *v = csi_backend_find(b, id);

    return v && !v->disk ? peer_request_reject(q, RPC_NOT_FOUND, "the volume was deleted")
                         : report_violation(b, q, id, "the request is wrong");
}

static enum rpc_code serve_expand(struct csi_backend *b, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(b->machine, q, &csi__v1__controller_expand_volume_request__descriptor);
    const Csi__V1__ControllerExpandVolumeRequest *r = (const void *)m;
    Csi__V1__ControllerExpandVolumeResponse answer = CSI__V1__CONTROLLER_EXPAND_VOLUME_RESPONSE__INIT;
    struct backend_volume *v = m ? volume_of_id(b, r->volume_id) : NULL;
    uint64_t bytes = m && r->capacity_range ? (uint64_t)r->capacity_range->required_bytes : 0;

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (!v || bytes == 0)
        return reject_unknown(b, q, r->volume_id);
    if (b->expands_offline && v->disk->disk.bytes < bytes && is_published(b, v)) {
        v->is_expand_barred = true;
        return peer_request_reject(q, RPC_FAILED_PRECONDITION, "a node has the volume");
    }
    if (v->disk->disk.bytes < bytes)
        v->disk->disk.bytes = bytes;
    if (!b->needs_node_expansion)
        v->disk->fs_bytes = v->disk->disk.bytes;
    answer.capacity_bytes = (int64_t)v->disk->disk.bytes;
    answer.node_expansion_required = b->needs_node_expansion;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_modify(struct csi_backend *b, struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        peer_request_read(b->machine, q, &csi__v1__controller_modify_volume_request__descriptor);
    const Csi__V1__ControllerModifyVolumeRequest *r = (const void *)m;
    struct backend_volume *v = m ? volume_of_id(b, r->volume_id) : NULL;
    const char *tier = m ? find_tier(r->mutable_parameters, r->n_mutable_parameters) : "";

    if (!m)
        return RPC_INVALID_ARGUMENT;
    if (!v || tier[0] == '\0')
        return reject_unknown(b, q, r->volume_id);
    if (!note_request(&v->modify, q->message))
        return report_violation(b, q, v->id, "the end of another modification is not known");
    if (strcmp(tier, BACKEND_BAD_TIER) == 0)
        return peer_request_reject(q, RPC_INVALID_ARGUMENT, "there is no such tier");
    (void)snprintf(v->tier, sizeof v->tier, "%s", tier);
    return RPC_OK;
}

/* --- Questions --- */

static enum rpc_code serve_list(struct csi_backend *b, struct peer_request *q)
{
    Csi__V1__ListVolumesResponse answer;
    Csi__V1__ListVolumesResponse__Entry entries[STORAGE_VOLUMES_MAX], *items[STORAGE_VOLUMES_MAX];
    Csi__V1__Volume volumes[STORAGE_VOLUMES_MAX];
    Csi__V1__VolumeStatus status[STORAGE_VOLUMES_MAX];
    char ids[STORAGE_NODES_MAX][40], *nodes[STORAGE_VOLUMES_MAX][STORAGE_NODES_MAX];
    struct backend_volume *v;

    csi__v1__list_volumes_response__init(&answer);
    for (unsigned n = 0; n < b->storage->nodes; n++)
        (void)snprintf(ids[n], sizeof ids[n], "id-%s", b->storage->machines[n]->name);
    TAILQ_FOREACH(v, &b->volumes, link) {
        size_t i = answer.n_entries;

        if (!v->disk)
            continue;
        items[answer.n_entries++] = &entries[i];
        csi__v1__list_volumes_response__entry__init(&entries[i]);
        csi__v1__volume__init(&volumes[i]);
        csi__v1__volume_status__init(&status[i]);
        entries[i].volume = &volumes[i];
        entries[i].status = &status[i];
        volumes[i].volume_id = v->id;
        volumes[i].capacity_bytes = (int64_t)v->disk->disk.bytes;
        status[i].published_node_ids = nodes[i];
        for (unsigned n = 0; n < b->storage->nodes; n++)
            if (v->disk->is_attached[n])
                nodes[i][status[i].n_published_node_ids++] = ids[n];
    }
    answer.entries = items;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_capacity(struct csi_backend *b, struct peer_request *q)
{
    Csi__V1__GetCapacityResponse answer = CSI__V1__GET_CAPACITY_RESPONSE__INIT;

    (void)b;
    answer.available_capacity = FREE_BYTES;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_probe(struct csi_backend *b, struct peer_request *q)
{
    const Csi__V1__ProbeResponse answer = CSI__V1__PROBE_RESPONSE__INIT;

    (void)b;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_info(struct csi_backend *b, struct peer_request *q)
{
    Csi__V1__GetPluginInfoResponse answer;

    (void)b;
    csi__v1__get_plugin_info_response__init(&answer);
    answer.name = (char *)(uintptr_t)CSI_DRIVER;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_plugin_capabilities(struct csi_backend *b, struct peer_request *q)
{
    Csi__V1__GetPluginCapabilitiesResponse answer = CSI__V1__GET_PLUGIN_CAPABILITIES_RESPONSE__INIT;
    Csi__V1__PluginCapability__Service services[] = { CSI__V1__PLUGIN_CAPABILITY__SERVICE__INIT,
                                                      CSI__V1__PLUGIN_CAPABILITY__SERVICE__INIT };
    Csi__V1__PluginCapability all[] = { CSI__V1__PLUGIN_CAPABILITY__INIT, CSI__V1__PLUGIN_CAPABILITY__INIT };
    Csi__V1__PluginCapability *items[] = { &all[0], &all[1] };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i].type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
        all[i].service = &services[i];
    }
    services[0].type = CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE;
    services[1].type = CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__VOLUME_ACCESSIBILITY_CONSTRAINTS;
    answer.n_capabilities = b->zones ? 2 : 1;
    answer.capabilities = items;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

static enum rpc_code serve_capabilities(struct csi_backend *b, struct peer_request *q)
{
    const struct {
        Csi__V1__ControllerServiceCapability__RPC__Type type;
        bool is_there;
    } abilities[] = {
        { CAN(CREATE_DELETE_VOLUME), true },   { CAN(PUBLISH_UNPUBLISH_VOLUME), true },
        { CAN(EXPAND_VOLUME), true },          { CAN(GET_CAPACITY), b->has_list },
        { CAN(LIST_VOLUMES), b->has_list },    { CAN(LIST_VOLUMES_PUBLISHED_NODES), b->has_list },
        { CAN(MODIFY_VOLUME), b->has_modify }, { CAN(SINGLE_NODE_MULTI_WRITER), b->has_single_modes },
    };
    Csi__V1__ControllerGetCapabilitiesResponse answer = CSI__V1__CONTROLLER_GET_CAPABILITIES_RESPONSE__INIT;
    Csi__V1__ControllerServiceCapability__RPC rpcs[ARRAY_LEN(abilities)];
    Csi__V1__ControllerServiceCapability all[ARRAY_LEN(abilities)], *items[ARRAY_LEN(abilities)];

    for (size_t i = 0; i < ARRAY_LEN(abilities); i++) {
        csi__v1__controller_service_capability__rpc__init(&rpcs[i]);
        csi__v1__controller_service_capability__init(&all[i]);
        rpcs[i].type = abilities[i].type;
        all[i].type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
        all[i].rpc = &rpcs[i];
        if (abilities[i].is_there)
            items[answer.n_capabilities++] = &all[i];
    }
    answer.capabilities = items;
    peer_request_answer(q, &answer.base);
    return RPC_OK;
}

/* --- The service --- */

static const struct {
    const char *method;
    enum rpc_code (*serve)(struct csi_backend *b, struct peer_request *q);
    /* Its first field is the name or the id of a volume; NULL: the method has none. */
    const ProtobufCMessageDescriptor *volume;
} methods[] = {
    { CONTROLLER "CreateVolume", serve_create, &csi__v1__create_volume_request__descriptor },
    { CONTROLLER "DeleteVolume", serve_delete, &csi__v1__delete_volume_request__descriptor },
    { CONTROLLER "ControllerPublishVolume", serve_publish,
      &csi__v1__controller_publish_volume_request__descriptor },
    { CONTROLLER "ControllerUnpublishVolume", serve_unpublish,
      &csi__v1__controller_unpublish_volume_request__descriptor },
    { CONTROLLER "ControllerExpandVolume", serve_expand,
      &csi__v1__controller_expand_volume_request__descriptor },
    { CONTROLLER "ControllerModifyVolume", serve_modify,
      &csi__v1__controller_modify_volume_request__descriptor },
    { CONTROLLER "ListVolumes", serve_list, NULL },
    { CONTROLLER "GetCapacity", serve_capacity, NULL },
    { CONTROLLER "ControllerGetCapabilities", serve_capabilities, NULL },
    { IDENTITY "Probe", serve_probe, NULL },
    { IDENTITY "GetPluginInfo", serve_info, NULL },
    { IDENTITY "GetPluginCapabilities", serve_plugin_capabilities, NULL },
};

/* The id of the volume; of a creation, the id that it will have: the driver performs one call per volume at a
 * time. */
static void read_subject(void *ctx, const struct peer_request *q, char ret[PEER_SUBJECT_BYTES])
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m = NULL;
    const char *volume;

    (void)ctx;
    ret[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(methods) && !m; i++)
        if (methods[i].volume && strcmp(methods[i].method, q->method) == 0)
            m = rpc_message_read(methods[i].volume, q->message);
    if (!m)
        return;
    volume = ((const Csi__V1__DeleteVolumeRequest *)(const void *)m)->volume_id;
    if (strncmp(volume, NAME_PREFIX, strlen(NAME_PREFIX)) == 0)
        (void)snprintf(ret, PEER_SUBJECT_BYTES, ID_PREFIX "%s", volume + strlen(NAME_PREFIX));
    else
        (void)snprintf(ret, PEER_SUBJECT_BYTES, "%s", volume);
}

static enum rpc_code serve_method(void *ctx, struct peer_request *q)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (strcmp(methods[i].method, q->method) == 0)
            return methods[i].serve(ctx, q);
    return peer_request_reject(q, RPC_UNIMPLEMENTED, "there is no such method");
}

static bool is_method(const struct peer_request *q, const char *name)
{
    return strcmp(strrchr(q->method, '/') + 1, name) == 0;
}

/* True if nothing of the call is left after this code. */
static bool is_final(const struct peer_request *q, enum rpc_code code)
{
    if (code == RPC_RESOURCE_EXHAUSTED)
        return is_method(q, "CreateVolume");
    return code != RPC_CANCELLED && code != RPC_DEADLINE_EXCEEDED && code != RPC_UNAVAILABLE &&
           code != RPC_ABORTED;
}

/* True if an earlier call of the same kind may have had its effect. */
static bool may_be_done(const struct peer_request *q, const struct backend_volume *v)
{
    if (!v || !v->disk)
        return false;
    return is_method(q, "CreateVolume") || is_method(q, "ControllerExpandVolume") || v->modify.len > 0;
}

static enum rpc_code force_code(void *ctx, const struct peer_request *q, enum rpc_code code, bool has_effect)
{
    static const enum rpc_code final_codes[] = {
        RPC_UNKNOWN,           RPC_INVALID_ARGUMENT,    RPC_NOT_FOUND,      RPC_ALREADY_EXISTS,
        RPC_PERMISSION_DENIED, RPC_FAILED_PRECONDITION, RPC_OUT_OF_RANGE,   RPC_UNIMPLEMENTED,
        RPC_INTERNAL,          RPC_DATA_LOSS,           RPC_UNAUTHENTICATED
    };
    struct csi_backend *b = ctx;
    struct backend_volume *v;
    char id[PEER_SUBJECT_BYTES];

    read_subject(b, q, id);
    v = csi_backend_find(b, id);
    if (!id[0] || !is_final(q, code))
        return code;
    if (has_effect || may_be_done(q, v))
        return RPC_ABORTED;
    code = code == RPC_RESOURCE_EXHAUSTED ? code : final_codes[rng_below(&b->rng, ARRAY_LEN(final_codes))];
    if (code == RPC_FAILED_PRECONDITION && v && is_method(q, "ControllerExpandVolume"))
        v->is_expand_barred = true;
    return code;
}

/* The caller knows how the call has ended. */
static void on_end(void *ctx, const struct peer_request *q, enum rpc_code code)
{
    struct backend_volume *v;
    char id[PEER_SUBJECT_BYTES];

    read_subject(ctx, q, id);
    v = csi_backend_find(ctx, id);
    if (!v || !is_final(q, code))
        return;
    if (is_method(q, "CreateVolume") && !v->disk)
        buf_clear(&v->create);
    if (is_method(q, "ControllerModifyVolume"))
        buf_clear(&v->modify);
}

static const struct machine_peer_type service_type = { read_subject, serve_method, force_code, on_end };

/* --- The process --- */

static void *backend_start(struct sim_process *p, void *ctx)
{
    struct csi_backend *b = ctx;

    b->has_modify = !b->changes_abilities || rng_chance(&b->rng, 80);
    b->has_list = rng_chance(&b->rng, 70);
    b->has_single_modes = b->changes_abilities && rng_chance(&b->rng, 50);
    b->service = machine_listen(b->machine, BACKEND_SOCKET, p, &service_type, b);
    return b;
}

static void backend_kill(void *state)
{
    struct csi_backend *b = state;

    b->service = machine_peer_free(b->service, rng_chance(&b->rng, 50));
}

static const struct sim_program backend_program = { "csi-controller", backend_start, backend_kill };

void csi_backend_begin(struct csi_backend *b)
{
    TAILQ_INIT(&b->volumes);
    rng_init(&b->rng, rng_u64(&b->machine->sim->work));
    b->process = sim_spawn_on(b->machine, &backend_program, b);
}

void csi_backend_end(struct csi_backend *b)
{
    struct backend_volume *v;

    while ((v = TAILQ_FIRST(&b->volumes))) {
        TAILQ_REMOVE(&b->volumes, v, link);
        buf_done(&v->create);
        buf_done(&v->modify);
        free(v);
    }
}
