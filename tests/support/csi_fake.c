/* The bodies of what tests/unit/test_csi_fake.h declares. */
#include "tests/unit/test_csi_fake.h"

#include <sys/random.h>

struct fake_call {
    TAILQ_ENTRY(fake_call) link;
    struct rpc_call *call;
    struct rpc_client *client;
    char path[96];
    struct buf message;
    bool is_counted;
    bool is_held; /* has not arrived */
    bool is_own;  /* the code is the client's */
    bool is_unsent;
    bool is_fatal; /* its owner's process ends with the answer */
    uint64_t due_ns;
    struct fake_request q;
};

static TAILQ_HEAD(, fake_csi) fakes = TAILQ_HEAD_INITIALIZER(fakes);

static const char *method_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* --- Volumes --- */

struct fake_volume *fake_csi_volume(struct fake_csi *f, const char *id)
{
    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        if (f->volumes[i].id[0] && strcmp(f->volumes[i].id, id) == 0)
            return &f->volumes[i];
    return NULL;
}

struct fake_volume *fake_csi_add(struct fake_csi *f, const char *name, int64_t bytes)
{
    struct fake_volume *v = f->volumes;

    while (v->id[0])
        assert_true(++v < f->volumes + FAKE_VOLUMES_MAX);
    *v = (struct fake_volume){ .bytes = bytes, .request = BUF_INIT((size_t)1 << 20) };
    (void)snprintf(v->id, sizeof v->id, "%s", name);
    (void)snprintf(v->name, sizeof v->name, "%s", name);
    return v;
}

static char *node_of(struct fake_volume *v, const char *node)
{
    for (size_t i = 0; i < FAKE_NODES_MAX; i++)
        if (strcmp(v->nodes[i], node) == 0)
            return v->nodes[i];
    return NULL;
}

bool fake_csi_is_published(struct fake_csi *f, const char *id, const char *node)
{
    struct fake_volume *v = fake_csi_volume(f, id);

    return v && node_of(v, node);
}

unsigned fake_csi_count_volumes(const struct fake_csi *f)
{
    unsigned count = 0;

    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        count += f->volumes[i].id[0] != '\0';
    return count;
}

struct fake_snapshot *fake_csi_snapshot(struct fake_csi *f, const char *id)
{
    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        if (f->snapshots[i].id[0] && strcmp(f->snapshots[i].id, id) == 0)
            return &f->snapshots[i];
    return NULL;
}

struct fake_snapshot *fake_csi_add_snapshot(struct fake_csi *f, const char *id, const char *source)
{
    const struct fake_volume *v = fake_csi_volume(f, source);
    struct fake_snapshot *s = f->snapshots;

    while (s->id[0])
        assert_true(++s < f->snapshots + FAKE_VOLUMES_MAX);
    *s = (struct fake_snapshot){ .bytes = v ? v->bytes : 0, .request = BUF_INIT((size_t)1 << 20) };
    (void)snprintf(s->id, sizeof s->id, "%s", id);
    (void)snprintf(s->source, sizeof s->source, "%s", source);
    return s;
}

unsigned fake_csi_count_snapshots(const struct fake_csi *f)
{
    unsigned count = 0;

    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        count += f->snapshots[i].id[0] != '\0';
    return count;
}

static void note_wrong(struct fake_csi *f, const char *what, const char *volume)
{
    buf_addf(&f->wrong, "%s: %s\n", volume, what);
}

/* --- What a driver does --- */

static void *read_request(const struct fake_request *q, const ProtobufCMessageDescriptor *type)
{
    void *m = rpc_message_read(type, q->message);

    assert_non_null(m);
    return m;
}

static void free_request(void *request)
{
    ProtobufCMessage *m = request;

    rpc_message_free(&m);
}

static void set_answer(struct fake_request *q, const ProtobufCMessage *m)
{
    assert_int_equal(rpc_message_pack(m, &q->answer, &err), 0);
}

static void set_failure(struct fake_request *q, enum rpc_code code, const char *words)
{
    q->code = code;
    (void)snprintf(q->words, sizeof q->words, "%s", words);
}

static void show(struct fake_csi *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void show(struct fake_csi *f, const char *fmt, ...)
{
    size_t len = strlen(f->last);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(f->last + len, sizeof f->last - len, fmt, args);
    va_end(args);
}

/* "what.key=value " of each. */
static void show_pairs(struct fake_csi *f, const char *what, Csi__V1__Pair *const *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        show(f, "%s.%s=%s ", what, pairs[i]->key, pairs[i]->value);
}

static void show_secrets(struct fake_csi *f, Csi__V1__Secret *const *secrets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        show(f, "secret.%s=%.*s ", secrets[i]->key, (int)secrets[i]->value.len,
             (const char *)secrets[i]->value.data);
}

/* "mount:ext4:flag:1 " or "block:1 ": type, flags, mode. */
static void show_capability(struct fake_csi *f, const Csi__V1__VolumeCapability *v)
{
    if (!v)
        return;
    if (v->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT) {
        show(f, "mount:%s:", v->mount->fs_type);
        for (size_t i = 0; i < v->mount->n_mount_flags; i++)
            show(f, "%s:", v->mount->mount_flags[i]);
    } else {
        show(f, "block:");
    }
    show(f, "%d ", v->access_mode ? (int)v->access_mode->mode : -1);
}

static void show_topologies(struct fake_csi *f, const char *what, Csi__V1__Topology *const *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        show(f, "%s", what);
        for (size_t k = 0; k < all[i]->n_segments; k++)
            show(f, "[%s=%s]", all[i]->segments[k]->key, all[i]->segments[k]->value);
        show(f, " ");
    }
}

/* "from:snapshot=ID " or "from:volume=ID ". */
static void show_source(struct fake_csi *f, const Csi__V1__VolumeContentSource *from)
{
    if (!from)
        return;
    if (from->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT)
        show(f, "from:snapshot=%s ", from->snapshot->snapshot_id);
    else
        show(f, "from:volume=%s ", from->volume->volume_id);
}

static void do_probe(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ProbeResponse m;
    Csi__V1__BoolValue no;

    csi__v1__probe_response__init(&m);
    csi__v1__bool_value__init(&no);
    if (f->is_not_ready)
        m.ready = &no;
    set_answer(q, &m.base);
}

static void do_plugin_info(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__GetPluginInfoResponse m;

    csi__v1__get_plugin_info_response__init(&m);
    m.name = (char *)(uintptr_t)f->name;
    set_answer(q, &m.base);
}

#define CAPABILITIES_MAX 32

static void do_plugin_capabilities(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__GetPluginCapabilitiesResponse m;
    static Csi__V1__PluginCapability items[CAPABILITIES_MAX], *list[CAPABILITIES_MAX];
    static Csi__V1__PluginCapability__Service services[CAPABILITIES_MAX];

    csi__v1__get_plugin_capabilities_response__init(&m);
    for (unsigned i = 0; i < CAPABILITIES_MAX; i++) {
        if (!(f->plugin & FAKE_BIT(i)))
            continue;
        csi__v1__plugin_capability__init(&items[i]);
        csi__v1__plugin_capability__service__init(&services[i]);
        services[i].type = (Csi__V1__PluginCapability__Service__Type)i;
        items[i].type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
        items[i].service = &services[i];
        list[m.n_capabilities++] = &items[i];
    }
    m.capabilities = list;
    set_answer(q, &m.base);
}

static void do_controller_capabilities(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ControllerGetCapabilitiesResponse m;
    static Csi__V1__ControllerServiceCapability items[CAPABILITIES_MAX], *list[CAPABILITIES_MAX];
    static Csi__V1__ControllerServiceCapability__RPC rpcs[CAPABILITIES_MAX];

    csi__v1__controller_get_capabilities_response__init(&m);
    for (unsigned i = 0; i < CAPABILITIES_MAX; i++) {
        if (!(f->controller & FAKE_BIT(i)))
            continue;
        csi__v1__controller_service_capability__init(&items[i]);
        csi__v1__controller_service_capability__rpc__init(&rpcs[i]);
        rpcs[i].type = (Csi__V1__ControllerServiceCapability__RPC__Type)i;
        items[i].type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
        items[i].rpc = &rpcs[i];
        list[m.n_capabilities++] = &items[i];
    }
    m.capabilities = list;
    set_answer(q, &m.base);
}

static void do_node_capabilities(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__NodeGetCapabilitiesResponse m;
    static Csi__V1__NodeServiceCapability items[CAPABILITIES_MAX], *list[CAPABILITIES_MAX];
    static Csi__V1__NodeServiceCapability__RPC rpcs[CAPABILITIES_MAX];

    csi__v1__node_get_capabilities_response__init(&m);
    if (f->node == 0) {
        set_failure(q, RPC_UNIMPLEMENTED, "unknown service csi.v1.Node");
        return;
    }
    for (unsigned i = 0; i < CAPABILITIES_MAX; i++) {
        if (!(f->node & FAKE_BIT(i)))
            continue;
        csi__v1__node_service_capability__init(&items[i]);
        csi__v1__node_service_capability__rpc__init(&rpcs[i]);
        rpcs[i].type = (Csi__V1__NodeServiceCapability__RPC__Type)i;
        items[i].type_case = CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC;
        items[i].rpc = &rpcs[i];
        list[m.n_capabilities++] = &items[i];
    }
    m.capabilities = list;
    set_answer(q, &m.base);
}

/* A creation that is repeated is the same one: whoever asks may not change the request on the way. */
static struct fake_volume *create_volume(struct fake_csi *f, Csi__V1__CreateVolumeRequest *m)
{
    int64_t bytes = m->capacity_range ? m->capacity_range->required_bytes : 0;
    struct fake_volume *v = fake_csi_volume(f, m->name);
    _cleanup_(buf_done_p) struct buf request = BUF_INIT((size_t)1 << 20);
    size_t n_secrets = m->n_secrets;

    m->n_secrets = 0;
    assert_int_equal(rpc_message_pack(&m->base, &request, &err), 0);
    m->n_secrets = n_secrets;
    if (v && v->request.len && !str_eq(buf_str(&v->request), buf_str(&request)))
        note_wrong(f, "created again with another request", m->name);
    if (!v) {
        v = fake_csi_add(f, m->name, f->size ? f->size : bytes);
        buf_add_str(&v->request, buf_str(&request));
    }
    return v;
}

static void do_create(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__CreateVolumeRequest *m = read_request(q, &csi__v1__create_volume_request__descriptor);
    Csi__V1__CreateVolumeResponse out;
    Csi__V1__Volume volume;
    Csi__V1__Topology topology, *topologies[] = { &topology };
    Csi__V1__Pair segment, *segments[] = { &segment };
    const struct fake_volume *v = create_volume(f, m);
    char key[FAKE_TEXT_BYTES] = "";

    csi__v1__create_volume_response__init(&out);
    csi__v1__volume__init(&volume);
    csi__v1__topology__init(&topology);
    csi__v1__pair__init(&segment);
    show(f, "name=%s bytes=%" PRId64 " ", m->name, m->capacity_range ? m->capacity_range->required_bytes : 0);
    for (size_t i = 0; i < m->n_volume_capabilities; i++)
        show_capability(f, m->volume_capabilities[i]);
    show_pairs(f, "p", m->parameters, m->n_parameters);
    show_pairs(f, "m", m->mutable_parameters, m->n_mutable_parameters);
    show_secrets(f, m->secrets, m->n_secrets);
    if (m->accessibility_requirements) {
        show_topologies(f, "requisite", m->accessibility_requirements->requisite,
                        m->accessibility_requirements->n_requisite);
        show_topologies(f, "preferred", m->accessibility_requirements->preferred,
                        m->accessibility_requirements->n_preferred);
    }
    volume.volume_id = (char *)(uintptr_t)v->id;
    volume.capacity_bytes = v->bytes;
    show_source(f, m->volume_content_source);
    volume.content_source = f->ignores_sources ? NULL : m->volume_content_source;
    if (f->topology) {
        (void)snprintf(key, sizeof key, "%s", f->topology);
        key[strcspn(key, "=")] = '\0';
        segment.key = key;
        segment.value = key + strlen(key) + 1;
        topology.segments = segments;
        topology.n_segments = 1;
        volume.accessible_topology = topologies;
        volume.n_accessible_topology = 1;
    }
    out.volume = &volume;
    set_answer(q, &out.base);
    free_request(m);
}

static void do_delete(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__DeleteVolumeRequest *m = read_request(q, &csi__v1__delete_volume_request__descriptor);
    struct fake_volume *v = fake_csi_volume(f, m->volume_id);

    show(f, "id=%s ", m->volume_id);
    show_secrets(f, m->secrets, m->n_secrets);
    for (size_t i = 0; v && i < FAKE_NODES_MAX; i++)
        if (v->nodes[i][0])
            note_wrong(f, "deleted while published", m->volume_id);
    if (v) {
        buf_done(&v->request);
        v->id[0] = '\0';
    }
    free_request(m);
}

static void do_publish(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ControllerPublishVolumeRequest *m =
        read_request(q, &csi__v1__controller_publish_volume_request__descriptor);
    Csi__V1__ControllerPublishVolumeResponse out;
    Csi__V1__Pair pair, *pairs[] = { &pair };
    struct fake_volume *v = fake_csi_volume(f, m->volume_id);
    char device[FAKE_TEXT_BYTES * 2];
    char *node = v ? node_of(v, m->node_id) : NULL;

    csi__v1__controller_publish_volume_response__init(&out);
    csi__v1__pair__init(&pair);
    show(f, "id=%s node=%s readonly=%d ", m->volume_id, m->node_id, m->readonly);
    show_capability(f, m->volume_capability);
    show_pairs(f, "v", m->volume_context, m->n_volume_context);
    show_secrets(f, m->secrets, m->n_secrets);
    if (!v) {
        set_failure(q, RPC_NOT_FOUND, "no such volume");
    } else {
        node = node ? node : node_of(v, "");
        assert_non_null(node);
        (void)snprintf(node, FAKE_TEXT_BYTES, "%s", m->node_id);
        (void)snprintf(device, sizeof device, "/dev/%s", m->volume_id);
        pair.key = (char *)(uintptr_t) "device";
        pair.value = device;
        out.publish_context = pairs;
        out.n_publish_context = 1;
        set_answer(q, &out.base);
    }
    free_request(m);
}

static void do_unpublish(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ControllerUnpublishVolumeRequest *m =
        read_request(q, &csi__v1__controller_unpublish_volume_request__descriptor);
    struct fake_volume *v = fake_csi_volume(f, m->volume_id);
    char *node = v ? node_of(v, m->node_id) : NULL;

    show(f, "id=%s node=%s ", m->volume_id, m->node_id);
    show_secrets(f, m->secrets, m->n_secrets);
    if (node)
        node[0] = '\0';
    free_request(m);
}

static void do_expand(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ControllerExpandVolumeRequest *m =
        read_request(q, &csi__v1__controller_expand_volume_request__descriptor);
    Csi__V1__ControllerExpandVolumeResponse out;
    struct fake_volume *v = fake_csi_volume(f, m->volume_id);
    int64_t bytes = m->capacity_range ? m->capacity_range->required_bytes : 0;

    csi__v1__controller_expand_volume_response__init(&out);
    show(f, "id=%s bytes=%" PRId64 " ", m->volume_id, bytes);
    show_capability(f, m->volume_capability);
    show_secrets(f, m->secrets, m->n_secrets);
    if (!v) {
        set_failure(q, RPC_NOT_FOUND, "no such volume");
    } else {
        v->bytes = bytes > v->bytes ? bytes : v->bytes;
        out.capacity_bytes = v->bytes;
        out.node_expansion_required = f->is_node_expansion_required;
        set_answer(q, &out.base);
    }
    free_request(m);
}

static void do_modify(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ControllerModifyVolumeRequest *m =
        read_request(q, &csi__v1__controller_modify_volume_request__descriptor);
    struct fake_volume *v = fake_csi_volume(f, m->volume_id);
    size_t len = 0;

    show(f, "id=%s ", m->volume_id);
    show_pairs(f, "m", m->mutable_parameters, m->n_mutable_parameters);
    show_secrets(f, m->secrets, m->n_secrets);
    if (!v)
        set_failure(q, RPC_NOT_FOUND, "no such volume");
    for (size_t i = 0; v && i < m->n_mutable_parameters && len < sizeof v->parameters; i++)
        len += (size_t)snprintf(v->parameters + len, sizeof v->parameters - len, "%s=%s ",
                                m->mutable_parameters[i]->key, m->mutable_parameters[i]->value);
    free_request(m);
}

/* --- Snapshots --- */

/* The time at which every snapshot was taken. */
#define TAKEN_S 1700000000

static void fill_snapshot(struct fake_snapshot *s, Csi__V1__Snapshot *ret, Csi__V1__Timestamp *taken)
{
    csi__v1__snapshot__init(ret);
    csi__v1__timestamp__init(taken);
    taken->seconds = TAKEN_S;
    ret->snapshot_id = s->id;
    ret->source_volume_id = s->source;
    ret->group_snapshot_id = s->group;
    ret->size_bytes = s->bytes;
    ret->creation_time = taken;
    ret->ready_to_use = s->polls == 0;
    s->polls -= s->polls > 0;
}

/* As create_volume(): NULL if the volume does not exist. */
static struct fake_snapshot *create_snapshot(struct fake_csi *f, Csi__V1__CreateSnapshotRequest *m)
{
    _cleanup_(buf_done_p) struct buf request = BUF_INIT((size_t)1 << 20);
    struct fake_snapshot *s = fake_csi_snapshot(f, m->name);
    size_t n_secrets = m->n_secrets;

    m->n_secrets = 0;
    assert_int_equal(rpc_message_pack(&m->base, &request, &err), 0);
    m->n_secrets = n_secrets;
    if (s && !str_eq(buf_str(&s->request), buf_str(&request)))
        note_wrong(f, "snapshot taken again with another request", m->name);
    if (!s && fake_csi_volume(f, m->source_volume_id)) {
        s = fake_csi_add_snapshot(f, m->name, m->source_volume_id);
        s->polls = f->snapshot_polls;
        buf_add_str(&s->request, buf_str(&request));
    }
    return s;
}

static void do_create_snapshot(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__CreateSnapshotRequest *m = read_request(q, &csi__v1__create_snapshot_request__descriptor);
    struct fake_snapshot *s = create_snapshot(f, m);
    Csi__V1__CreateSnapshotResponse out;
    Csi__V1__Snapshot snapshot;
    Csi__V1__Timestamp taken;

    csi__v1__create_snapshot_response__init(&out);
    show(f, "name=%s source=%s ", m->name, m->source_volume_id);
    show_pairs(f, "p", m->parameters, m->n_parameters);
    show_secrets(f, m->secrets, m->n_secrets);
    if (!s) {
        set_failure(q, RPC_NOT_FOUND, "no such volume");
    } else {
        fill_snapshot(s, &snapshot, &taken);
        out.snapshot = &snapshot;
        set_answer(q, &out.base);
    }
    free_request(m);
}

static void do_delete_snapshot(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__DeleteSnapshotRequest *m = read_request(q, &csi__v1__delete_snapshot_request__descriptor);
    struct fake_snapshot *s = fake_csi_snapshot(f, m->snapshot_id);

    show(f, "id=%s ", m->snapshot_id);
    show_secrets(f, m->secrets, m->n_secrets);
    if (s) {
        buf_done(&s->request);
        s->id[0] = '\0';
    }
    free_request(m);
}

static void do_list_snapshots(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ListSnapshotsRequest *m = read_request(q, &csi__v1__list_snapshots_request__descriptor);
    struct fake_snapshot *s = fake_csi_snapshot(f, m->snapshot_id);
    Csi__V1__ListSnapshotsResponse out;
    Csi__V1__ListSnapshotsResponse__Entry entry, *entries[] = { &entry };
    Csi__V1__Snapshot snapshot;
    Csi__V1__Timestamp taken;

    csi__v1__list_snapshots_response__init(&out);
    csi__v1__list_snapshots_response__entry__init(&entry);
    show(f, "id=%s ", m->snapshot_id);
    show_secrets(f, m->secrets, m->n_secrets);
    if (s) {
        fill_snapshot(s, &snapshot, &taken);
        entry.snapshot = &snapshot;
        out.entries = entries;
        out.n_entries = 1;
    }
    set_answer(q, &out.base);
    free_request(m);
}

static void do_capacity(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__GetCapacityRequest *m = read_request(q, &csi__v1__get_capacity_request__descriptor);
    const Csi__V1__Topology *t = m->accessible_topology;
    Csi__V1__GetCapacityResponse out;
    Csi__V1__Int64Value most;

    csi__v1__get_capacity_response__init(&out);
    csi__v1__int64_value__init(&most);
    show(f, "segment=");
    for (size_t i = 0; t && i < t->n_segments; i++)
        show(f, "%s%s:%s", i ? "," : "", t->segments[i]->key, t->segments[i]->value);
    show(f, " ");
    show_pairs(f, "p", m->parameters, m->n_parameters);
    out.available_capacity = f->capacity;
    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        out.available_capacity -= f->volumes[i].id[0] ? f->volumes[i].bytes : 0;
    most.value = f->volume_max;
    if (f->volume_max)
        out.maximum_volume_size = &most;
    set_answer(q, &out.base);
    free_request(m);
}

/* The status of a volume, as lists have it. */
struct fake_status {
    Csi__V1__Volume volume;
    Csi__V1__VolumeStatus status;
    Csi__V1__VolumeCondition condition;
    char *nodes[FAKE_NODES_MAX];
};

static void fill_status(const struct fake_csi *f, struct fake_volume *v, struct fake_status *ret)
{
    csi__v1__volume__init(&ret->volume);
    csi__v1__volume_status__init(&ret->status);
    csi__v1__volume_condition__init(&ret->condition);
    ret->volume.volume_id = v->id;
    ret->volume.capacity_bytes = v->bytes;
    ret->status.published_node_ids = ret->nodes;
    for (size_t i = 0; i < FAKE_NODES_MAX; i++)
        if (v->nodes[i][0])
            ret->nodes[ret->status.n_published_node_ids++] = v->nodes[i];
    ret->condition.abnormal = v->is_abnormal;
    ret->condition.message = (char *)(uintptr_t)(v->is_abnormal ? "disk is failing" : "");
    if (f->controller & FAKE_BIT(CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__VOLUME_CONDITION))
        ret->status.volume_condition = &ret->condition;
}

static void do_list(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ListVolumesRequest *m = read_request(q, &csi__v1__list_volumes_request__descriptor);
    Csi__V1__ListVolumesResponse out;
    static Csi__V1__ListVolumesResponse__Entry entries[FAKE_VOLUMES_MAX], *list[FAKE_VOLUMES_MAX];
    static struct fake_status statuses[FAKE_VOLUMES_MAX];
    char token[32];
    size_t i = (size_t)strtoul(m->starting_token, NULL, 10);

    csi__v1__list_volumes_response__init(&out);
    for (; i < FAKE_VOLUMES_MAX && (f->page == 0 || out.n_entries < f->page); i++) {
        if (!f->volumes[i].id[0])
            continue;
        fill_status(f, &f->volumes[i], &statuses[i]);
        csi__v1__list_volumes_response__entry__init(&entries[i]);
        entries[i].volume = &statuses[i].volume;
        entries[i].status = &statuses[i].status;
        list[out.n_entries++] = &entries[i];
    }
    out.entries = list;
    if (i < FAKE_VOLUMES_MAX) {
        (void)snprintf(token, sizeof token, "%zu", i);
        out.next_token = token;
    }
    set_answer(q, &out.base);
    free_request(m);
}

static void do_get_volume(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ControllerGetVolumeRequest *m =
        read_request(q, &csi__v1__controller_get_volume_request__descriptor);
    Csi__V1__ControllerGetVolumeResponse out;
    struct fake_volume *v = fake_csi_volume(f, m->volume_id);
    struct fake_status status;

    csi__v1__controller_get_volume_response__init(&out);
    if (!v) {
        set_failure(q, RPC_NOT_FOUND, "no such volume");
    } else {
        fill_status(f, v, &status);
        out.volume = &status.volume;
        out.status = &status.status;
        set_answer(q, &out.base);
    }
    free_request(m);
}

static const struct {
    const char *method;
    void (*fn)(struct fake_csi *f, struct fake_request *q);
    bool only_asks;
} fake_methods[] = {
    { "Probe", do_probe, true },
    { "GetPluginInfo", do_plugin_info, true },
    { "GetPluginCapabilities", do_plugin_capabilities, true },
    { "ControllerGetCapabilities", do_controller_capabilities, true },
    { "NodeGetCapabilities", do_node_capabilities, true },
    { "ListVolumes", do_list, true },
    { "GetCapacity", do_capacity, false },
    { "ControllerGetVolume", do_get_volume, true },
    { "CreateVolume", do_create, false },
    { "DeleteVolume", do_delete, false },
    { "ControllerPublishVolume", do_publish, false },
    { "ControllerUnpublishVolume", do_unpublish, false },
    { "ControllerExpandVolume", do_expand, false },
    { "ControllerModifyVolume", do_modify, false },
    { "CreateSnapshot", do_create_snapshot, false },
    { "DeleteSnapshot", do_delete_snapshot, false },
    { "ListSnapshots", do_list_snapshots, false },
};

static size_t find_method(const char *method)
{
    size_t i = 0;

    while (i < ARRAY_LEN(fake_methods) && strcmp(fake_methods[i].method, method) != 0)
        i++;
    assert_true(i < ARRAY_LEN(fake_methods));
    return i;
}

/* --- Calls --- */

static struct fake_csi *find_fake(const char *socket)
{
    struct fake_csi *f;

    TAILQ_FOREACH(f, &fakes, link)
        if (strcmp(f->socket, socket) == 0)
            return f;
    fail_msg("no driver was ever at %s", socket);
    return NULL;
}

/* Field 1 of every request is a name or an id, and field 2 of some a node. */
static void log_call(struct fake_csi *f, const struct fake_request *q)
{
    const char *end = strchr(f->last, ' ');
    int len = end ? (int)(end - f->last) : 0;
    const char *subject = strchr(f->last, '=');

    buf_addf(&f->log, "%s %.*s %s\n", q->method, subject ? len - (int)(subject + 1 - f->last) : 0,
             subject ? subject + 1 : "", rpc_code_name(q->code));
}

static void serve_call(struct fake_csi *f, struct fake_request *q)
{
    size_t i = find_method(q->method);

    f->last[0] = '\0';
    if (f->fails.times > 0 && strcmp(f->fails.method, q->method) == 0) {
        f->fails.times--;
        set_failure(q, f->fails.code, f->fails.words);
    } else if (!f->serve || !f->serve(f, q)) {
        fake_methods[i].fn(f, q);
    }
    if (!fake_methods[i].only_asks)
        log_call(f, q);
}

/* The call arrives. */
static void arrive(struct fake_csi *f, struct fake_call *c)
{
    bool is_bad = c->is_counted && ++f->count == f->at;
    enum fake_trouble trouble = is_bad ? f->trouble : FAKE_FINE;

    c->is_held = false;
    c->due_ns = loop_now_ns(f->loop) + f->delay_ns;
    if (trouble == FAKE_FINAL || trouble == FAKE_IN_PROGRESS) {
        set_failure(&c->q, trouble == FAKE_FINAL ? RPC_INTERNAL : RPC_DEADLINE_EXCEEDED, "no luck");
    } else {
        serve_call(f, &c->q);
    }
    if (trouble == FAKE_LOST) {
        set_failure(&c->q, RPC_UNAVAILABLE, "the connection was closed before an answer was received");
        c->is_own = true;
    }
    if (trouble == FAKE_CRASH_SENT)
        f->parts->is_dead = true;
    c->is_fatal = trouble == FAKE_CRASH_ANSWERED;
    if (f->delay_ns)
        timer_arm(&f->timer, c->due_ns);
    else
        loop_defer(&f->deliver);
}

static void drop_call(struct fake_csi *f, struct fake_call *c)
{
    TAILQ_REMOVE(&f->calls, c, link);
    f->in_flight -= c->is_counted;
    buf_done(&c->message);
    buf_done(&c->q.answer);
    free(c);
}

static void end_call(struct fake_csi *f, struct fake_call *c)
{
    struct error why = { 0 };
    struct rpc_result result = {
        .code = c->q.code, .is_own = c->is_own, .is_unsent = c->is_unsent, .words = c->q.words, .err = &why
    };
    struct rpc_call *call = c->call;

    if (c->q.code == RPC_OK)
        result.message = buf_str(&c->q.answer);
    else
        result.r = rpc_failure(c->q.code, c->q.words, &why);
    if (result.r == 0 && result.message.len > call->answer_bytes_max) {
        result.code = RPC_RESOURCE_EXHAUSTED;
        result.is_own = true;
        result.words = "received message larger than max";
        result.r = rpc_failure(RPC_RESOURCE_EXHAUSTED, result.words, &why);
        result.message = STR_LIT("");
    }
    if (c->is_fatal)
        f->parts->is_dead = true; /* what it sends from here on is not sent */
    call->client = NULL;
    TAILQ_REMOVE(&f->calls, c, link);
    f->in_flight -= c->is_counted;
    call->done(call, &result);
    buf_done(&c->message);
    buf_done(&c->q.answer);
    free(c);
}

/* One that is due; its owner may start and cancel others. */
static struct fake_call *next_due(const struct fake_csi *f, uint64_t *ret_ns)
{
    struct fake_call *c;

    TAILQ_FOREACH(c, &f->calls, link) {
        if (c->is_held)
            continue;
        if (c->due_ns <= loop_now_ns(f->loop))
            return c;
        *ret_ns = c->due_ns < *ret_ns ? c->due_ns : *ret_ns;
    }
    return NULL;
}

/* What was there when it began: what its owners start is answered in a later turn. */
static void fake_deliver(void *ctx)
{
    struct fake_csi *f = ctx;
    uint64_t next_ns = UINT64_MAX;
    size_t count = 0;
    struct fake_call *c;

    TAILQ_FOREACH(c, &f->calls, link)
        count++;
    while (count-- > 0 && !(f->parts && f->parts->is_dead) && (c = next_due(f, &next_ns)))
        end_call(f, c);
    if (f->parts && f->parts->is_dead)
        return;
    next_ns = UINT64_MAX;
    if (next_due(f, &next_ns))
        loop_defer(&f->deliver);
    else if (next_ns < UINT64_MAX)
        timer_arm(&f->timer, next_ns);
}

static int fake_rpc_start(struct sys *k, struct rpc_client *client, const struct rpc_request *q,
                          struct rpc_call *call, struct error *e)
{
    struct fake_csi *f = find_fake(q->socket);
    struct fake_call *c = calloc(1, sizeof *c);

    (void)k;
    (void)e;
    assert_non_null(c);
    *call = (struct rpc_call){ .done = call->done,
                               .client = client,
                               .answer_bytes_max =
                                   q->answer_bytes_max ? q->answer_bytes_max : RPC_MESSAGE_BYTES_MAX };
    c->call = call;
    c->message = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    buf_add_str(&c->message, q->message);
    (void)snprintf(c->path, sizeof c->path, "%s", q->method);
    c->q = (struct fake_request){ .method = method_of(c->path),
                                  .message = c->message.len ? buf_str(&c->message) : STR_LIT(""),
                                  .answer = BUF_INIT((size_t)64 << 20) };
    c->is_counted = !fake_methods[find_method(c->q.method)].only_asks;
    TAILQ_INSERT_TAIL(&f->calls, c, link);
    f->in_flight += c->is_counted;
    f->most_in_flight = f->in_flight > f->most_in_flight ? f->in_flight : f->most_in_flight;
    if (!f->is_up || (f->parts && f->parts->is_dead)) {
        set_failure(&c->q, RPC_UNAVAILABLE, "connect: connection refused");
        c->is_own = c->is_unsent = true;
        loop_defer(&f->deliver);
    } else if (f->held && strcmp(f->held, c->q.method) == 0) {
        c->is_held = true;
    } else {
        arrive(f, c);
    }
    return 0;
}

static void fake_rpc_cancel(struct sys *k, struct rpc_call *call)
{
    struct fake_csi *f;
    struct fake_call *c;

    (void)k;
    call->client = NULL;
    TAILQ_FOREACH(f, &fakes, link) {
        TAILQ_FOREACH(c, &f->calls, link)
            if (c->call == call) {
                drop_call(f, c);
                return;
            }
    }
}

/* --- Sessions --- */

static void watch_on_end(void *ctx)
{
    struct rpc_watch *w = ctx;

    w->client = NULL;
    w->ended(w, "connection refused");
}

static int fake_rpc_watch(struct sys *k, struct rpc_client *client, const char *socket, struct rpc_watch *w,
                          struct error *e)
{
    struct fake_csi *f = find_fake(socket);

    (void)k;
    (void)e;
    w->client = client;
    w->session = NULL; /* of this kind of driver: it has ended */
    deferred_init(&w->end, f->loop, watch_on_end, w);
    if (!f->is_up) {
        loop_defer(&w->end);
        return 0;
    }
    f->sessions++;
    w->session = (struct rpc_session *)(void *)f;
    TAILQ_INSERT_TAIL(&f->watches, w, link);
    return 0;
}

static void fake_rpc_unwatch(struct sys *k, struct rpc_watch *w)
{
    struct fake_csi *f = (struct fake_csi *)(void *)w->session;

    (void)k;
    loop_undefer(&w->end);
    w->client = NULL;
    if (f)
        TAILQ_REMOVE(&f->watches, w, link);
    w->session = NULL;
}

/* The rest of the kernel is the real one: what the server of a test needs of it. */
static ssize_t real_getrandom(struct sys *k, void *ret, size_t size)
{
    (void)k;
    return getrandom(ret, size, 0);
}

static const struct sys_calls fake_calls = {
    .rpc_start = fake_rpc_start,
    .rpc_cancel = fake_rpc_cancel,
    .rpc_watch = fake_rpc_watch,
    .rpc_unwatch = fake_rpc_unwatch,
    .getrandom = real_getrandom,
};
static struct sys fake_sys = { &fake_calls };

/* --- Life --- */

void fake_csi_end(struct fake_csi *f)
{
    struct rpc_watch *w;
    struct fake_call *c;

    f->is_up = false;
    TAILQ_FOREACH(c, &f->calls, link) {
        c->is_held = false;
        c->is_own = true;
        c->due_ns = 0;
        set_failure(&c->q, RPC_UNAVAILABLE, "the connection was closed before an answer was received");
        loop_defer(&f->deliver);
    }
    while ((w = TAILQ_FIRST(&f->watches))) {
        TAILQ_REMOVE(&f->watches, w, link);
        w->session = NULL;
        loop_defer(&w->end);
    }
}

void fake_csi_begin(struct fake_csi *f)
{
    f->is_up = true;
}

void fake_csi_release(struct fake_csi *f)
{
    struct fake_call *c;

    f->held = NULL;
    TAILQ_FOREACH(c, &f->calls, link)
        if (c->is_held)
            arrive(f, c);
}

void fake_csi_init(struct fake_csi *f, struct loop *l, const char *socket)
{
    *f = (struct fake_csi){ .loop = l,
                            .socket = socket,
                            .name = FAKE_DRIVER,
                            .plugin = FAKE_ALL_OF(3),
                            .controller = FAKE_ALL_OF(15),
                            .node = FAKE_ALL_OF(7),
                            .is_up = true,
                            .log = BUF_INIT((size_t)16 << 20),
                            .wrong = BUF_INIT((size_t)1 << 20) };
    TAILQ_INIT(&f->calls);
    TAILQ_INIT(&f->watches);
    timer_init(&f->timer, l, fake_deliver, f);
    deferred_init(&f->deliver, l, fake_deliver, f);
    TAILQ_INSERT_TAIL(&fakes, f, link);
    sys_here = &fake_sys;
}

void fake_csi_done(struct fake_csi *f)
{
    assert_true(TAILQ_EMPTY(&f->calls) && TAILQ_EMPTY(&f->watches)); /* left by whoever made them */
    timer_disarm(&f->timer);
    loop_undefer(&f->deliver);
    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        if (f->volumes[i].id[0])
            buf_done(&f->volumes[i].request);
    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        if (f->snapshots[i].id[0])
            buf_done(&f->snapshots[i].request);
    buf_done(&f->log);
    buf_done(&f->wrong);
    TAILQ_REMOVE(&fakes, f, link);
    if (TAILQ_EMPTY(&fakes))
        sys_here = NULL;
}

void assert_called(struct fake_csi *f, const char *expected)
{
    ASSERT_STR(expected, f->log.len ? buf_cstr(&f->log) : "");
    buf_clear(&f->log);
}

void assert_careful(const struct fake_csi *f)
{
    ASSERT_STR("", f->wrong.len ? buf_cstr(&f->wrong) : "");
}

/* --- Beside a part --- */

void (*fake_on_made)(struct fake_csi *f);

static struct fake_csi the_fake;
static enum fake_trouble next_trouble;
static unsigned next_at, last_count;

static void dump_driver(struct buf *out)
{
    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++) {
        const struct fake_volume *v = &the_fake.volumes[i];

        if (!v->id[0])
            continue;
        buf_addf(out, "volume %s %" PRId64 " %s", v->id, v->bytes, v->parameters);
        for (size_t k = 0; k < FAKE_NODES_MAX; k++)
            buf_addf(out, "%s%s", v->nodes[k][0] ? " at " : "", v->nodes[k]);
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < FAKE_VOLUMES_MAX; i++)
        if (the_fake.snapshots[i].id[0])
            buf_addf(out, "snapshot %s of %s\n", the_fake.snapshots[i].id, the_fake.snapshots[i].source);
    assert_careful(&the_fake);
}

static void end_with_parts(void)
{
    last_count = the_fake.count;
    fake_csi_done(&the_fake);
    memset(&the_fake, 0, sizeof the_fake);
}

struct fake_csi *fake_of_parts(void)
{
    return &the_fake;
}

struct fake_csi *fake_for(const struct component_deps *o)
{
    if (the_fake.loop == o->loop)
        return &the_fake; /* a later process of the same parts */
    if (the_fake.loop)
        TAILQ_REMOVE(&fakes, &the_fake, link); /* of a test that failed */
    fake_csi_init(&the_fake, o->loop, FAKE_SOCKET);
    the_fake.parts = the_parts;
    the_fake.trouble = next_trouble;
    the_fake.at = next_at;
    the_parts->beside_dump = dump_driver;
    the_parts->beside_done = end_with_parts;
    if (fake_on_made)
        fake_on_made(&the_fake);
    return &the_fake;
}

void assert_all_ends_the_same(const struct part_type *type, void (*scenario)(struct parts *w))
{
    _cleanup_(buf_done_p) struct buf good = BUF_INIT((size_t)16 << 20);
    unsigned count;

    assert_ends_the_same(type, scenario);
    (void)parts_run(type, scenario, TROUBLE_NONE, 0, &good);
    count = last_count;
    assert_true(count > 0);
    for (unsigned trouble = FAKE_FINE + 1; trouble < FAKE_TROUBLE_COUNT; trouble++)
        for (unsigned at = 1; at <= count; at++) {
            _cleanup_(buf_done_p) struct buf bad = BUF_INIT((size_t)16 << 20);

            if (!tests_take_turn())
                continue;
            next_trouble = (enum fake_trouble)trouble;
            next_at = at;
            (void)parts_run(type, scenario, TROUBLE_NONE, 0, &bad);
            next_trouble = FAKE_FINE;
            next_at = 0;
            if (strcmp(buf_cstr(&good), buf_cstr(&bad)) != 0)
                fail_msg("trouble %u at call %u of %u:\n%s\nexpected\n%s", trouble, at, count, buf_cstr(&bad),
                         buf_cstr(&good));
        }
}
