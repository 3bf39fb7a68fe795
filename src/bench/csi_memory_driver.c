/* The methods of the driver. A volume's id is its name. Requests that are repeated succeed again, and those
 * that name no volume fail as the protocol says. */
#include "bench/csi_memory_driver.h"

#include <inttypes.h>
#include <rpc/proto/csi.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "rpc/rpc_server.h"

#define NODE_BYTES 64
#define NUMBER_BYTES 24
#define PAGE_MAX 100
#define SIZE_DEFAULT ((int64_t)1 << 30)

struct memory_volume {
    size_t index; /* in the list */
    int64_t bytes;
    char node[NODE_BYTES]; /* "": not published */
    char id[];
};

struct memory_driver {
    const char *name;
    struct rpc_server *server;
    struct map volumes;                 /* by id */
    VEC(struct memory_volume *) listed; /* in the order of creation; NULL: deleted */
    uint64_t calls;
};

/* The messages borrow their texts, and are not modified. */
static char *borrow_text(const char *text)
{
    return (char *)(uintptr_t)text;
}

static void answer_nothing(struct rpc_served *c)
{
    Csi__V1__Nothing answer;

    csi__v1__nothing__init(&answer);
    rpc_served_answer(c, &answer.base);
}

/* Counts the call. NULL when there is no such volume: then the call has failed. */
static struct memory_volume *find_volume(struct memory_driver *d, struct rpc_served *c, const char *id)
{
    struct memory_volume *v = map_get(&d->volumes, str_of(id));

    d->calls++;
    if (!v)
        rpc_served_fail(c, RPC_NOT_FOUND, "there is no such volume");
    return v;
}

/* --- Identity --- */

static void serve_probe(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    struct memory_driver *d = ctx;
    Csi__V1__ProbeResponse answer;

    (void)request;
    d->calls++;
    csi__v1__probe_response__init(&answer);
    rpc_served_answer(c, &answer.base);
}

static void serve_info(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    struct memory_driver *d = ctx;
    Csi__V1__GetPluginInfoResponse answer;

    (void)request;
    d->calls++;
    csi__v1__get_plugin_info_response__init(&answer);
    answer.name = borrow_text(d->name);
    answer.vendor_version = borrow_text("1");
    rpc_served_answer(c, &answer.base);
}

static void serve_plugin_capabilities(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    struct memory_driver *d = ctx;
    Csi__V1__GetPluginCapabilitiesResponse answer;
    Csi__V1__PluginCapability service, expansion, *all[] = { &service, &expansion };
    Csi__V1__PluginCapability__Service controller;
    Csi__V1__PluginCapability__VolumeExpansion online;

    (void)request;
    d->calls++;
    csi__v1__get_plugin_capabilities_response__init(&answer);
    csi__v1__plugin_capability__init(&service);
    csi__v1__plugin_capability__init(&expansion);
    csi__v1__plugin_capability__service__init(&controller);
    csi__v1__plugin_capability__volume_expansion__init(&online);
    controller.type = CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE;
    service.type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
    service.service = &controller;
    online.type = CSI__V1__PLUGIN_CAPABILITY__VOLUME_EXPANSION__TYPE__ONLINE;
    expansion.type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_VOLUME_EXPANSION;
    expansion.volume_expansion = &online;
    answer.n_capabilities = ARRAY_LEN(all);
    answer.capabilities = all;
    rpc_served_answer(c, &answer.base);
}

/* --- Controller --- */

#define CAN(name) CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__##name

static void serve_controller_capabilities(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    static const Csi__V1__ControllerServiceCapability__RPC__Type types[] = {
        CAN(CREATE_DELETE_VOLUME), CAN(PUBLISH_UNPUBLISH_VOLUME), CAN(LIST_VOLUMES),
        CAN(LIST_VOLUMES_PUBLISHED_NODES), CAN(EXPAND_VOLUME)
    };
    struct memory_driver *d = ctx;
    Csi__V1__ControllerGetCapabilitiesResponse answer;
    Csi__V1__ControllerServiceCapability__RPC methods[ARRAY_LEN(types)];
    Csi__V1__ControllerServiceCapability items[ARRAY_LEN(types)], *all[ARRAY_LEN(types)];

    (void)request;
    d->calls++;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        csi__v1__controller_service_capability__rpc__init(&methods[i]);
        csi__v1__controller_service_capability__init(&items[i]);
        methods[i].type = types[i];
        items[i].type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
        items[i].rpc = &methods[i];
        all[i] = &items[i];
    }
    csi__v1__controller_get_capabilities_response__init(&answer);
    answer.n_capabilities = ARRAY_LEN(all);
    answer.capabilities = all;
    rpc_served_answer(c, &answer.base);
}

/* NULL: out of memory. */
static struct memory_volume *add_volume(struct memory_driver *d, const char *id)
{
    size_t len = strlen(id) + 1;
    struct memory_volume *v = calloc(1, sizeof *v + len);

    if (!v)
        return NULL;
    memcpy(v->id, id, len);
    v->index = d->listed.count;
    if (vec_push(&d->listed, v) < 0) {
        free(v);
        return NULL;
    }
    if (map_put(&d->volumes, str_of(v->id), v, NULL) < 0) {
        d->listed.items[v->index] = NULL;
        free(v);
        return NULL;
    }
    return v;
}

static void serve_create(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    const Csi__V1__CreateVolumeRequest *q = (const void *)request;
    struct memory_driver *d = ctx;
    struct memory_volume *v = map_get(&d->volumes, str_of(q->name));
    Csi__V1__CreateVolumeResponse answer;
    Csi__V1__Volume volume;

    d->calls++;
    if (!v) {
        v = add_volume(d, q->name);
        if (!v) {
            rpc_served_fail(c, RPC_RESOURCE_EXHAUSTED, "out of memory");
            return;
        }
        v->bytes = q->capacity_range && q->capacity_range->required_bytes > 0
                       ? q->capacity_range->required_bytes
                       : SIZE_DEFAULT;
    }
    csi__v1__create_volume_response__init(&answer);
    csi__v1__volume__init(&volume);
    volume.capacity_bytes = v->bytes;
    volume.volume_id = v->id;
    answer.volume = &volume;
    rpc_served_answer(c, &answer.base);
}

static void serve_delete(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    struct memory_driver *d = ctx;
    const Csi__V1__DeleteVolumeRequest *q = (const void *)request;
    struct memory_volume *v = map_remove(&d->volumes, str_of(q->volume_id));

    d->calls++;
    if (v)
        d->listed.items[v->index] = NULL;
    free(v);
    answer_nothing(c);
}

static void serve_publish(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    const Csi__V1__ControllerPublishVolumeRequest *q = (const void *)request;
    struct memory_volume *v = find_volume(ctx, c, q->volume_id);
    Csi__V1__ControllerPublishVolumeResponse answer;

    if (!v)
        return;
    if (v->node[0] && strcmp(v->node, q->node_id) != 0) {
        rpc_served_fail(c, RPC_FAILED_PRECONDITION, "the volume is published on another node");
        return;
    }
    (void)snprintf(v->node, sizeof v->node, "%s", q->node_id);
    csi__v1__controller_publish_volume_response__init(&answer);
    rpc_served_answer(c, &answer.base);
}

static void serve_unpublish(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    const Csi__V1__ControllerUnpublishVolumeRequest *q = (const void *)request;
    struct memory_volume *v = find_volume(ctx, c, q->volume_id);

    if (!v)
        return;
    v->node[0] = '\0';
    answer_nothing(c);
}

static void serve_expand(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    const Csi__V1__ControllerExpandVolumeRequest *q = (const void *)request;
    struct memory_volume *v = find_volume(ctx, c, q->volume_id);
    Csi__V1__ControllerExpandVolumeResponse answer;

    if (!v)
        return;
    if (q->capacity_range && q->capacity_range->required_bytes > v->bytes)
        v->bytes = q->capacity_range->required_bytes;
    csi__v1__controller_expand_volume_response__init(&answer);
    answer.capacity_bytes = v->bytes;
    rpc_served_answer(c, &answer.base);
}

/* A volume in a page, with the messages that it consists of. */
struct listed_volume {
    Csi__V1__ListVolumesResponse__Entry entry;
    Csi__V1__Volume volume;
    Csi__V1__VolumeStatus status;
    char *nodes[1];
};

static void fill_entry(struct listed_volume *e, struct memory_volume *v)
{
    csi__v1__list_volumes_response__entry__init(&e->entry);
    csi__v1__volume__init(&e->volume);
    csi__v1__volume_status__init(&e->status);
    e->volume.volume_id = v->id;
    e->volume.capacity_bytes = v->bytes;
    e->nodes[0] = v->node;
    e->status.n_published_node_ids = v->node[0] ? 1 : 0;
    e->status.published_node_ids = e->nodes;
    e->entry.volume = &e->volume;
    e->entry.status = &e->status;
}

static void serve_list(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    const Csi__V1__ListVolumesRequest *q = (const void *)request;
    struct memory_driver *d = ctx;
    struct listed_volume page[PAGE_MAX];
    Csi__V1__ListVolumesResponse__Entry *entries[PAGE_MAX];
    size_t count_max = q->max_entries > 0 && q->max_entries < PAGE_MAX ? (size_t)q->max_entries : PAGE_MAX;
    Csi__V1__ListVolumesResponse answer;
    char token[NUMBER_BYTES];
    uint64_t at = 0;

    d->calls++;
    if (q->starting_token[0] && !str_to_uint64(str_of(q->starting_token), &at)) {
        rpc_served_fail(c, RPC_ABORTED, "the list cannot begin there");
        return;
    }
    csi__v1__list_volumes_response__init(&answer);
    for (; at < d->listed.count && answer.n_entries < count_max; at++)
        if (d->listed.items[at]) {
            fill_entry(&page[answer.n_entries], d->listed.items[at]);
            entries[answer.n_entries] = &page[answer.n_entries].entry;
            answer.n_entries++;
        }
    answer.entries = entries;
    (void)snprintf(token, sizeof token, "%" PRIu64, at);
    if (at < d->listed.count)
        answer.next_token = token;
    rpc_served_answer(c, &answer.base);
}

/* --- Life --- */

#define METHOD(service, name, takes, gives, fn)                                                           \
    {                                                                                                     \
        "/csi.v1." service "/" name, &csi__v1__##takes##__descriptor, &csi__v1__##gives##__descriptor, fn \
    }
static const struct rpc_method memory_methods[] = {
    METHOD("Identity", "Probe", nothing, probe_response, serve_probe),
    METHOD("Identity", "GetPluginInfo", nothing, get_plugin_info_response, serve_info),
    METHOD("Identity", "GetPluginCapabilities", nothing, get_plugin_capabilities_response,
           serve_plugin_capabilities),
    METHOD("Controller", "ControllerGetCapabilities", nothing, controller_get_capabilities_response,
           serve_controller_capabilities),
    METHOD("Controller", "CreateVolume", create_volume_request, create_volume_response, serve_create),
    METHOD("Controller", "DeleteVolume", delete_volume_request, nothing, serve_delete),
    METHOD("Controller", "ControllerPublishVolume", controller_publish_volume_request,
           controller_publish_volume_response, serve_publish),
    METHOD("Controller", "ControllerUnpublishVolume", controller_unpublish_volume_request, nothing,
           serve_unpublish),
    METHOD("Controller", "ControllerExpandVolume", controller_expand_volume_request,
           controller_expand_volume_response, serve_expand),
    METHOD("Controller", "ListVolumes", list_volumes_request, list_volumes_response, serve_list),
};

int memory_driver_new(struct loop *l, const char *socket, const char *name, struct memory_driver **ret,
                      struct error *err)
{
    struct memory_driver *d = calloc(1, sizeof *d);
    const struct rpc_server_options o = { .loop = l,
                                          .path = socket,
                                          .methods = memory_methods,
                                          .methods_count = ARRAY_LEN(memory_methods),
                                          .ctx = d };
    int r;

    if (!d)
        return error_no_memory(err);
    d->name = name;
    map_init(&d->volumes, (struct hash_seed){ 0 });
    r = rpc_server_new(&o, &d->server, err);
    if (r < 0) {
        (void)memory_driver_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

struct memory_driver *memory_driver_free(struct memory_driver *d)
{
    if (!d)
        return NULL;
    d->server = rpc_server_free(d->server);
    map_done(&d->volumes);
    for (size_t i = 0; i < d->listed.count; i++)
        free(d->listed.items[i]);
    vec_done(&d->listed);
    free(d);
    return NULL;
}

uint64_t memory_driver_calls(const struct memory_driver *d)
{
    return d->calls;
}
