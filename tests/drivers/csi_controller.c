/* The Identity and Controller services of the driver.
 *
 * Volumes that were created are in `created`, with their sizes; those of others, which a test wrote down in
 * objects, are not, and are served all the same. The record of a volume's life is checked at each call. */
#include "csi_driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CAPACITY "1099511627776"
#define CONTROLLER_CAPABILITIES "1 2 3 4 8 9 10 12 13 14"
#define CAPABILITIES_MAX 32
#define ENTRIES_MAX 16384
#define NODES_MAX 8

enum { PUBLISHES = 2 }; /* of the controller's capabilities */

/* --- Capabilities --- */

/* A file of numbers has this one. */
static bool has_number(const char *file, const char *fallback, unsigned number)
{
    char text[LINE_BYTES];
    char *at, *word;

    (void)state_setting(file, fallback, text);
    at = text;
    while ((word = strsep(&at, " ")))
        if (*word && strtoul(word, NULL, 10) == number)
            return true;
    return false;
}

static bool plugin_can(unsigned capability)
{
    return has_number("plugin-capabilities", "", capability);
}

bool controller_can(unsigned capability)
{
    return plugin_can(1) && has_number("controller-capabilities", CONTROLLER_CAPABILITIES, capability);
}

void identity_do_probe(struct call *c)
{
    Csi__V1__ProbeResponse out = CSI__V1__PROBE_RESPONSE__INIT;
    Csi__V1__BoolValue ready = CSI__V1__BOOL_VALUE__INIT;

    ready.value = access(state_path("not-ready"), F_OK) != 0;
    out.ready = &ready;
    call_answer(c, &out.base);
}

void identity_do_info(struct call *c)
{
    Csi__V1__GetPluginInfoResponse out = CSI__V1__GET_PLUGIN_INFO_RESPONSE__INIT;
    char name[LINE_BYTES];

    out.name = (char *)(uintptr_t)state_setting("name", "test.csi", name);
    out.vendor_version = (char *)(uintptr_t) "1";
    call_answer(c, &out.base);
}

void identity_do_capabilities(struct call *c)
{
    Csi__V1__GetPluginCapabilitiesResponse out = CSI__V1__GET_PLUGIN_CAPABILITIES_RESPONSE__INIT;
    Csi__V1__PluginCapability items[CAPABILITIES_MAX], *list[CAPABILITIES_MAX];
    Csi__V1__PluginCapability__Service services[CAPABILITIES_MAX];

    for (unsigned i = 1; i < CAPABILITIES_MAX; i++) {
        if (!plugin_can(i))
            continue;
        csi__v1__plugin_capability__init(&items[i]);
        csi__v1__plugin_capability__service__init(&services[i]);
        services[i].type = (Csi__V1__PluginCapability__Service__Type)i;
        items[i].type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
        items[i].service = &services[i];
        list[out.n_capabilities++] = &items[i];
    }
    out.capabilities = list;
    call_answer(c, &out.base);
}

void controller_do_capabilities(struct call *c)
{
    Csi__V1__ControllerGetCapabilitiesResponse out = CSI__V1__CONTROLLER_GET_CAPABILITIES_RESPONSE__INIT;
    Csi__V1__ControllerServiceCapability items[CAPABILITIES_MAX], *list[CAPABILITIES_MAX];
    Csi__V1__ControllerServiceCapability__RPC rpcs[CAPABILITIES_MAX];

    for (unsigned i = 1; i < CAPABILITIES_MAX; i++) {
        if (!controller_can(i))
            continue;
        csi__v1__controller_service_capability__init(&items[i]);
        csi__v1__controller_service_capability__rpc__init(&rpcs[i]);
        rpcs[i].type = (Csi__V1__ControllerServiceCapability__RPC__Type)i;
        items[i].type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
        items[i].rpc = &rpcs[i];
        list[out.n_capabilities++] = &items[i];
    }
    out.capabilities = list;
    call_answer(c, &out.base);
}

/* --- The record of volumes: lines "ID BYTES" --- */

/* The bytes of a created volume, -1 for others. */
int64_t volume_size(const char *volume)
{
    FILE *f = fopen(state_path("created"), "re");
    size_t len = strlen(volume);
    char line[LINE_BYTES];
    int64_t bytes = -1;

    while (f && bytes < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, volume, len) == 0 && line[len] == ' ')
            bytes = strtoll(line + len, NULL, 10);
    if (f)
        (void)fclose(f);
    return bytes;
}

static int64_t size_of_all(void)
{
    FILE *f = fopen(state_path("created"), "re");
    char line[LINE_BYTES];
    int64_t bytes = 0;

    while (f && fgets(line, sizeof line, f))
        if (strchr(line, ' '))
            bytes += strtoll(strchr(line, ' '), NULL, 10);
    if (f)
        (void)fclose(f);
    return bytes;
}

static void set_size(const char *volume, int64_t bytes)
{
    char text[32];
    int64_t old = volume_size(volume);

    if (old >= 0) {
        (void)snprintf(text, sizeof text, "%" PRId64, old);
        state_drop("created", volume, text);
    }
    if (bytes >= 0) {
        (void)snprintf(text, sizeof text, "%" PRId64, bytes);
        state_add("created", volume, text);
    }
}

static int64_t capacity_left(void)
{
    char text[LINE_BYTES];

    return strtoll(state_setting("capacity", CAPACITY, text), NULL, 10) - size_of_all();
}

/* The file of a volume or snapshot that holds what it was created with. */
const char *creation_file(const char *volume)
{
    char name[700];

    (void)snprintf(name, sizeof name, "creation-%s", volume);
    return state_path(name);
}

void creation_remember(struct call *c)
{
    FILE *f = fopen(creation_file(c->volume), "we");

    if (!f || fputs(buf_cstr(&c->shown), f) < 0 || fclose(f) != 0)
        driver_die("creation");
}

/* A creation is repeated with the same request, except for its secrets. */
bool creation_is_same(struct call *c)
{
    FILE *f = fopen(creation_file(c->volume), "re");
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MESSAGE_BYTES_MAX);
    char line[LINE_BYTES];

    if (!f)
        return true;
    while (fgets(line, sizeof line, f))
        buf_add_cstr(&text, line);
    (void)fclose(f);
    return strcmp(buf_cstr(&text), buf_cstr(&c->shown)) == 0;
}

/* --- Create and delete --- */

static void show_topologies(struct call *c, const char *what, Csi__V1__Topology **all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        call_show_pairs(c, what, all[i]->segments, all[i]->n_segments);
}

static void show_creation(struct call *c, const Csi__V1__CreateVolumeRequest *m)
{
    buf_addf(&c->shown, "required=%" PRId64 "\nlimit=%" PRId64 "\n",
             m->capacity_range ? m->capacity_range->required_bytes : -1,
             m->capacity_range ? m->capacity_range->limit_bytes : -1);
    for (size_t i = 0; i < m->n_volume_capabilities; i++)
        (void)call_show_capability(c, m->volume_capabilities[i]);
    call_show_pairs(c, "parameter", m->parameters, m->n_parameters);
    call_show_pairs(c, "mutable", m->mutable_parameters, m->n_mutable_parameters);
    if (m->accessibility_requirements) {
        show_topologies(c, "requisite", m->accessibility_requirements->requisite,
                        m->accessibility_requirements->n_requisite);
        show_topologies(c, "preferred", m->accessibility_requirements->preferred,
                        m->accessibility_requirements->n_preferred);
    }
    snapshot_show_source(c, m->volume_content_source);
}

/* The volume's directory, or its image, with the data of its source. */
static bool make_storage(struct call *c, const Csi__V1__CreateVolumeRequest *m, int64_t bytes)
{
    char name[700];

    if (!snapshot_copy_source(c, m->volume_content_source))
        return false;
    if (disk_is_used())
        return disk_size(c->volume, bytes);
    (void)snprintf(name, sizeof name, "volumes/%s", c->volume);
    (void)mkdir(state_path("volumes"), 0755);
    return mkdir(state_path(name), 0755) == 0 || errno == EEXIST;
}

static void create_volume(struct call *c, const Csi__V1__CreateVolumeRequest *m)
{
    int64_t bytes = m->capacity_range ? m->capacity_range->required_bytes : 0;

    if (!creation_is_same(c)) {
        state_violate("created again with another request", c->volume);
        call_fail(c, 6, "the volume exists with another request");
    } else if (volume_size(c->volume) < 0 && bytes > capacity_left()) {
        call_fail(c, 8, "not enough capacity");
    } else if (volume_size(c->volume) < 0 && !snapshot_has_source(m->volume_content_source)) {
        call_fail(c, 5, "no such source");
    } else if (volume_size(c->volume) < 0 && !make_storage(c, m, bytes)) {
        call_fail(c, 13, strerror(errno));
    } else if (volume_size(c->volume) < 0) {
        creation_remember(c);
        set_size(c->volume, bytes);
    }
}

/* "NODE-ID MAX KEY=VALUE…": where its volumes can be used. */
static size_t read_topology(char text[LINE_BYTES], Csi__V1__Pair *pairs, Csi__V1__Pair **list, size_t max)
{
    char *at = text, *word;
    size_t count = 0;

    (void)state_setting("node-info", "node-1 0", text);
    while ((word = strsep(&at, " ")) && count < max) {
        char *equals = strchr(word, '=');

        if (!equals)
            continue;
        *equals = '\0';
        csi__v1__pair__init(&pairs[count]);
        pairs[count].key = word;
        pairs[count].value = equals + 1;
        list[count] = &pairs[count];
        count++;
    }
    return count;
}

static void answer_created(struct call *c, Csi__V1__CreateVolumeRequest *m)
{
    Csi__V1__CreateVolumeResponse out = CSI__V1__CREATE_VOLUME_RESPONSE__INIT;
    Csi__V1__Volume volume = CSI__V1__VOLUME__INIT;
    Csi__V1__Topology topology = CSI__V1__TOPOLOGY__INIT, *topologies[] = { &topology };
    Csi__V1__Pair pairs[NODES_MAX], *list[NODES_MAX], context = CSI__V1__PAIR__INIT,
                                                      *contexts[] = { &context };
    char text[LINE_BYTES], size[LINE_BYTES];

    context.key = (char *)(uintptr_t) "name";
    context.value = c->volume;
    volume.volume_id = c->volume;
    volume.volume_context = contexts;
    volume.n_volume_context = 1;
    volume.content_source = m->volume_content_source;
    volume.capacity_bytes = volume_size(c->volume);
    if (access(state_path("create-bytes"), F_OK) == 0)
        volume.capacity_bytes = strtoll(state_setting("create-bytes", "0", size), NULL, 10);
    topology.n_segments = plugin_can(2) ? read_topology(text, pairs, list, NODES_MAX) : 0;
    if (topology.n_segments > 0) {
        topology.segments = list;
        volume.accessible_topology = topologies;
        volume.n_accessible_topology = 1;
    }
    out.volume = &volume;
    call_answer(c, &out.base);
}

void controller_do_create(struct call *c)
{
    Csi__V1__CreateVolumeRequest *m = call_unpack(c, &csi__v1__create_volume_request__descriptor);

    show_creation(c, m);
    create_volume(c, m);
    call_show_secrets(c, m->secrets, m->n_secrets);
    if (c->code == 0)
        answer_created(c, m);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void controller_do_delete(struct call *c)
{
    Csi__V1__DeleteVolumeRequest *m = call_unpack(c, &csi__v1__delete_volume_request__descriptor);
    char name[700];
    const char *remove[] = { "rm", "-rf", "--one-file-system", NULL, NULL };

    call_show_secrets(c, m->secrets, m->n_secrets);
    if (state_has("controller-published", c->volume, NULL))
        state_violate("deleted while published to a node", c->volume);
    if (state_has("staged", c->volume, NULL) || state_has("published", c->volume, NULL))
        state_violate("deleted while in use on a node", c->volume);
    set_size(c->volume, -1);
    (void)unlink(creation_file(c->volume));
    disk_remove(c->volume);
    (void)snprintf(name, sizeof name, "volumes/%s", c->volume);
    remove[3] = state_path(name);
    if (!driver_run(remove))
        call_fail(c, 13, "the volume cannot be removed");
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* --- Publish --- */

void controller_do_publish(struct call *c)
{
    Csi__V1__ControllerPublishVolumeRequest *m =
        call_unpack(c, &csi__v1__controller_publish_volume_request__descriptor);
    Csi__V1__ControllerPublishVolumeResponse out = CSI__V1__CONTROLLER_PUBLISH_VOLUME_RESPONSE__INIT;
    Csi__V1__Pair context = CSI__V1__PAIR__INIT, *contexts[] = { &context };

    call_show(c, "node", m->node_id);
    call_show(c, "readonly", m->readonly ? "true" : "false");
    (void)call_show_capability(c, m->volume_capability);
    call_show_pairs(c, "volume_context", m->volume_context, m->n_volume_context);
    call_show_secrets(c, m->secrets, m->n_secrets);
    if (access(state_path("static-volumes"), F_OK) != 0 && volume_size(c->volume) < 0) {
        call_fail(c, 5, "no such volume");
    } else {
        if (!state_has("controller-published", c->volume, m->node_id))
            state_add("controller-published", c->volume, m->node_id);
        context.key = (char *)(uintptr_t) "published-to";
        context.value = m->node_id;
        out.publish_context = contexts;
        out.n_publish_context = 1;
        call_answer(c, &out.base);
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void controller_do_unpublish(struct call *c)
{
    Csi__V1__ControllerUnpublishVolumeRequest *m =
        call_unpack(c, &csi__v1__controller_unpublish_volume_request__descriptor);

    call_show(c, "node", m->node_id);
    call_show_secrets(c, m->secrets, m->n_secrets);
    if (state_has("staged", c->volume, NULL) || state_has("published", c->volume, NULL))
        state_violate("unpublished while in use on a node", c->volume);
    state_drop("controller-published", c->volume, m->node_id);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* A stage or publish on the node comes after the publish to it, for drivers that publish. */
void controller_check_use(const struct call *c)
{
    if (controller_can(PUBLISHES) && !state_has("controller-published", c->volume, NULL))
        state_violate("used on a node without being published to it", c->volume);
}

/* --- Expand and modify --- */

void controller_do_expand(struct call *c)
{
    Csi__V1__ControllerExpandVolumeRequest *m =
        call_unpack(c, &csi__v1__controller_expand_volume_request__descriptor);
    Csi__V1__ControllerExpandVolumeResponse out = CSI__V1__CONTROLLER_EXPAND_VOLUME_RESPONSE__INIT;
    int64_t bytes = m->capacity_range ? m->capacity_range->required_bytes : 0, old = volume_size(c->volume);

    buf_addf(&c->shown, "required=%" PRId64 "\n", bytes);
    (void)call_show_capability(c, m->volume_capability);
    call_show_secrets(c, m->secrets, m->n_secrets);
    if (old < 0) {
        call_fail(c, 5, "no such volume");
    } else if (access(state_path("offline"), F_OK) == 0 &&
               state_has("controller-published", c->volume, NULL)) {
        call_fail(c, 9, "the volume is in use");
    } else if (bytes - old > capacity_left()) {
        call_fail(c, 11, "not enough capacity");
    } else if (disk_is_used() && !disk_size(c->volume, bytes)) {
        call_fail(c, 13, strerror(errno));
    } else {
        if (bytes > old)
            set_size(c->volume, bytes);
        out.capacity_bytes = bytes > old ? bytes : old;
        out.node_expansion_required = disk_is_used() || access(state_path("node-expansion"), F_OK) == 0;
        call_answer(c, &out.base);
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void controller_do_modify(struct call *c)
{
    Csi__V1__ControllerModifyVolumeRequest *m =
        call_unpack(c, &csi__v1__controller_modify_volume_request__descriptor);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(LINE_BYTES / 2);

    call_show_pairs(c, "mutable", m->mutable_parameters, m->n_mutable_parameters);
    call_show_secrets(c, m->secrets, m->n_secrets);
    if (volume_size(c->volume) < 0) {
        call_fail(c, 5, "no such volume");
    } else {
        for (size_t i = 0; i < m->n_mutable_parameters; i++)
            buf_addf(&text, "%s%s=%s", i ? " " : "", m->mutable_parameters[i]->key,
                     m->mutable_parameters[i]->value);
        state_add("modified", c->volume, buf_cstr(&text));
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* --- Questions --- */

void controller_do_capacity(struct call *c)
{
    Csi__V1__GetCapacityRequest *m = call_unpack(c, &csi__v1__get_capacity_request__descriptor);
    Csi__V1__GetCapacityResponse out = CSI__V1__GET_CAPACITY_RESPONSE__INIT;
    Csi__V1__Int64Value most = CSI__V1__INT64_VALUE__INIT;
    char text[LINE_BYTES];

    call_show_pairs(c, "parameter", m->parameters, m->n_parameters);
    if (m->accessible_topology)
        call_show_pairs(c, "topology", m->accessible_topology->segments, m->accessible_topology->n_segments);
    out.available_capacity = capacity_left();
    if (access(state_path("volume-max"), F_OK) == 0) {
        most.value = strtoll(state_setting("volume-max", "0", text), NULL, 10);
        out.maximum_volume_size = &most;
    }
    call_answer(c, &out.base);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* The status of one volume, for lists. */
struct listed {
    Csi__V1__ListVolumesResponse__Entry entry;
    Csi__V1__Volume volume;
    Csi__V1__VolumeStatus status;
    Csi__V1__VolumeCondition condition;
    char id[512];
    char words[LINE_BYTES];
    char nodes[NODES_MAX][256];
    char *node_list[NODES_MAX];
};

/* The values of a volume's lines in a file. */
static size_t read_values(const char *file, const char *volume, char values[NODES_MAX][256])
{
    FILE *f = fopen(state_path(file), "re");
    size_t len = strlen(volume), count = 0;
    char line[LINE_BYTES];

    while (f && count < NODES_MAX && fgets(line, sizeof line, f))
        if (strncmp(line, volume, len) == 0 && line[len] == ' ') {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(values[count++], 256, "%.255s", line + len + 1);
        }
    if (f)
        (void)fclose(f);
    return count;
}

static void fill_listed(struct listed *v, const char *volume)
{
    char words[NODES_MAX][256];

    csi__v1__list_volumes_response__entry__init(&v->entry);
    csi__v1__volume__init(&v->volume);
    csi__v1__volume_status__init(&v->status);
    csi__v1__volume_condition__init(&v->condition);
    (void)snprintf(v->id, sizeof v->id, "%s", volume);
    v->volume.volume_id = v->id;
    v->volume.capacity_bytes = volume_size(volume);
    v->status.n_published_node_ids = read_values("controller-published", volume, v->nodes);
    for (size_t i = 0; i < v->status.n_published_node_ids; i++)
        v->node_list[i] = v->nodes[i];
    v->status.published_node_ids = v->node_list;
    v->condition.abnormal = read_values("abnormal", volume, words) > 0;
    (void)snprintf(v->words, sizeof v->words, "%s",
                   v->condition.abnormal ? words[0] : "the volume is healthy");
    v->condition.message = v->words;
    if (controller_can(11))
        v->status.volume_condition = &v->condition;
    v->entry.volume = &v->volume;
    v->entry.status = &v->status;
}

void controller_do_list(struct call *c)
{
    Csi__V1__ListVolumesRequest *m = call_unpack(c, &csi__v1__list_volumes_request__descriptor);
    Csi__V1__ListVolumesResponse out = CSI__V1__LIST_VOLUMES_RESPONSE__INIT;
    static Csi__V1__ListVolumesResponse__Entry *list[ENTRIES_MAX];
    FILE *f = fopen(state_path("created"), "re");
    size_t first = (size_t)strtoul(m->starting_token, NULL, 10), at = 0, page;
    char line[LINE_BYTES], text[LINE_BYTES], token[32];

    page = (size_t)strtoul(state_setting("page", "0", text), NULL, 10);
    while (f && fgets(line, sizeof line, f) && out.n_entries < ENTRIES_MAX) {
        struct listed *v;

        if (at++ < first || !strchr(line, ' '))
            continue;
        if (page > 0 && out.n_entries == page) {
            (void)snprintf(token, sizeof token, "%zu", at - 1);
            out.next_token = token;
            break;
        }
        *strchr(line, ' ') = '\0';
        v = calloc(1, sizeof *v); /* until the end of the process */
        if (!v)
            driver_die("memory");
        fill_listed(v, line);
        list[out.n_entries++] = &v->entry;
    }
    if (f)
        (void)fclose(f);
    out.entries = list;
    call_answer(c, &out.base);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void controller_do_get_volume(struct call *c)
{
    Csi__V1__ControllerGetVolumeResponse out = CSI__V1__CONTROLLER_GET_VOLUME_RESPONSE__INIT;
    static struct listed v;

    if (volume_size(c->volume) < 0) {
        call_fail(c, 5, "no such volume");
        return;
    }
    fill_listed(&v, c->volume);
    out.volume = &v.volume;
    out.status = &v.status;
    call_answer(c, &out.base);
}

/* What it can do with a volume does not depend on the volume. */
void controller_do_validate(struct call *c)
{
    Csi__V1__ValidateVolumeCapabilitiesRequest *m =
        call_unpack(c, &csi__v1__validate_volume_capabilities_request__descriptor);
    Csi__V1__ValidateVolumeCapabilitiesResponse out = CSI__V1__VALIDATE_VOLUME_CAPABILITIES_RESPONSE__INIT;
    Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed confirmed =
        CSI__V1__VALIDATE_VOLUME_CAPABILITIES_RESPONSE__CONFIRMED__INIT;

    if (volume_size(c->volume) < 0) {
        call_fail(c, 5, "no such volume");
    } else {
        confirmed.volume_capabilities = m->volume_capabilities;
        confirmed.n_volume_capabilities = m->n_volume_capabilities;
        out.confirmed = &confirmed;
        call_answer(c, &out.base);
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}
