/* Decides, records and builds CreateVolume requests. */
#include "controllers/csi/csi_create_plan.h"

#include <assert.h>
#include <string.h>

#include "api/attributes_class.h"
#include "api/config.h"

static const char *const secret_names[] = {
    [CSI_FOR_PROVISIONER] = "provisioner",
    [CSI_FOR_CONTROLLER_PUBLISH] = "controllerPublish",
    [CSI_FOR_NODE_STAGE] = "nodeStage",
    [CSI_FOR_NODE_PUBLISH] = "nodePublish",
    [CSI_FOR_CONTROLLER_EXPAND] = "controllerExpand",
    [CSI_FOR_NODE_EXPAND] = "nodeExpand",
    [CSI_FOR_CONTROLLER_MODIFY] = "controllerModify",
};
static_assert(ARRAY_LEN(secret_names) == CSI_SECRET_USE_COUNT, "name every use");

/* --- Checks --- */

static int missing_capability(const char *what, const char *capability, struct error *err)
{
    return error_set(err, ERR_UNSUPPORTED, "CSI driver does not support %s: %s capability is not reported",
                     what, capability);
}

/* A source of another kind is filled by its own controller. */
static int check_source(const struct csi_peer *p, const struct claim *c, struct error *err)
{
    switch (csi_source_kind_of(c)) {
    case CSI_SOURCE_SNAPSHOT:
        return csi_peer_can(p, CSI_ABILITY_CREATE_DELETE_SNAPSHOT)
                   ? 0
                   : missing_capability("snapshot restore", "controller CREATE_DELETE_SNAPSHOT", err);
    case CSI_SOURCE_CLAIM:
        return csi_peer_can(p, CSI_ABILITY_CLONE_VOLUME)
                   ? 0
                   : missing_capability("clone operations", "controller CLONE_VOLUME", err);
    case CSI_SOURCE_NONE:
    case CSI_SOURCE_KIND_COUNT:
        break;
    }
    return error_set(err, PROVISIONER_IGNORED, "Assuming an external populator will provision the volume");
}

static int check_claim(const struct csi_peer *p, const struct claim *c, struct error *err)
{
    static const char *const dynamic = "dynamic provisioning";

    if (!csi_peer_can(p, CSI_ABILITY_CONTROLLER))
        return missing_capability(dynamic, "plugin CONTROLLER_SERVICE", err);
    if (!csi_peer_can(p, CSI_ABILITY_CREATE_DELETE_VOLUME))
        return missing_capability(dynamic, "controller CREATE_DELETE_VOLUME", err);
    if (c->attributes_class[0] && !csi_peer_can(p, CSI_ABILITY_MODIFY_VOLUME))
        return missing_capability("VolumeAttributesClass", "controller MODIFY_VOLUME", err);
    if (c->selector)
        return error_set(err, ERR_UNSUPPORTED, "claim Selector is not supported");
    return c->source ? check_source(p, c, err) : 0;
}

/* --- Deciding --- */

static int plan_parameters(struct arena *a, const struct csi_plan_inputs *in,
                           const struct provisioner_request *q, struct csi_create_plan *plan,
                           struct error *err)
{
    const struct csi_extra_metadata extra = { q->claim, q->volume_name };
    int r = csi_fs_type(q->class, &plan->fs_type, err);

    if (r == 0 && plan->fs_type[0] == '\0' && in->settings->default_fs_type)
        plan->fs_type = in->settings->default_fs_type;
    if (r == 0)
        r = csi_driver_parameters(a, q->class, in->settings->has_extra_metadata ? &extra : NULL,
                                  &plan->parameters, err);
    return r;
}

static int plan_secrets(struct arena *a, const struct provisioner_request *q, struct csi_create_plan *plan,
                        struct error *err)
{
    int r = 0;

    for (unsigned use = 0; use < CSI_SECRET_USE_COUNT && r == 0; use++)
        r = csi_secret_reference(a, q->class, (enum csi_secret_use)use, q->claim, q->volume_name,
                                 &plan->secrets[use], err);
    return r;
}

static int plan_attributes(const struct csi_plan_inputs *in, const struct provisioner_request *q,
                           struct csi_create_plan *plan, struct error *err)
{
    const char *name = q->claim->attributes_class, *driver = csi_peer_name(in->peer);
    const struct object *o = in->attributes_classes ? informer_get(in->attributes_classes, "", name) : NULL;
    const struct attributes_class *k = (const struct attributes_class *)(const void *)o;

    if (!k)
        return error_set(err, ERR_NOT_FOUND, "failed to get VolumeAttributesClass \"%s\": not found", name);
    if (strcmp(k->driver, driver) != 0)
        return error_set(err, ERR_INVALID,
                         "VAC %s referenced in PVC is for driver %s which does not match driver name %s",
                         name, k->driver, driver);
    plan->attributes_class = name;
    plan->mutable_parameters = k->parameters;
    return 0;
}

static int plan_topology(struct arena *a, const struct csi_plan_inputs *in,
                         const struct provisioner_request *q, struct csi_create_plan *plan,
                         enum provision_state *state, struct error *err)
{
    struct csi_topology_request t = { .driver = csi_peer_name(in->peer),
                                      .claim_name = q->claim->obj.name,
                                      .class = q->class,
                                      .node = q->node,
                                      .nodes = in->nodes,
                                      .csi_nodes = in->csi_nodes,
                                      .is_strict = in->settings->has_strict_topology,
                                      .has_no_immediate = in->settings->has_no_immediate_topology,
                                      .rng = in->rng };
    int r;

    if (!csi_peer_can(in->peer, CSI_ABILITY_TOPOLOGY))
        return 0;
    r = csi_topology_of(a, &t, &plan->topology, err);
    if (r < 0)
        *state = r == -ERR_NOT_FOUND ? PROVISION_RESCHEDULE : PROVISION_NO_CHANGE;
    return r < 0 ? error_wrap(err, "error generating accessibility requirements") : 0;
}

int csi_create_plan(struct arena *a, const struct csi_plan_inputs *in, const struct provisioner_request *q,
                    struct csi_create_plan *ret, enum provision_state *state, struct error *err)
{
    struct csi_create_plan plan = { .bytes = quantity_value(&q->claim->request),
                                    .modes = q->claim->modes,
                                    .is_block = q->claim->mode == VOLUME_MODE_BLOCK,
                                    .is_scheduled = q->node && csi_peer_can(in->peer, CSI_ABILITY_TOPOLOGY),
                                    .has_single_modes =
                                        csi_peer_can(in->peer, CSI_ABILITY_SINGLE_NODE_MULTI_WRITER),
                                    .attributes_class = "",
                                    .mount_flags = q->class->mount_options };
    int r = check_claim(in->peer, q->claim, err);

    if (r == 0)
        r = plan_parameters(a, in, q, &plan, err);
    if (r < 0)
        return r;
    r = csi_source_find(&in->sources, csi_peer_name(in->peer), q->claim, &plan.source, err);
    if (r < 0) {
        *state = PROVISION_NO_CHANGE;
        return r;
    }
    r = plan_topology(a, in, q, &plan, state, err);
    if (r < 0)
        return r;
    r = plan_secrets(a, q, &plan, err);
    if (r == 0 && q->claim->attributes_class[0])
        r = plan_attributes(in, q, &plan, err);
    if (r < 0)
        *state = PROVISION_NO_CHANGE;
    else
        *ret = plan;
    return r;
}

/* --- As JSON --- */

static void write_pairs(struct buf *out, const char *key, const struct kvs *pairs)
{
    json_out_object(out, key);
    for (uint32_t i = 0; i < pairs->count; i++)
        json_out_text(out, pairs->items[i].key, pairs->items[i].value);
    json_out_end_object(out);
}

void csi_create_plan_write(struct buf *out, const struct csi_create_plan *p)
{
    json_out_object(out, NULL);
    json_out_int(out, "bytes", p->bytes);
    json_out_int(out, "modes", p->modes);
    json_out_bool(out, "block", p->is_block);
    json_out_bool(out, "scheduled", p->is_scheduled);
    json_out_bool(out, "singleModes", p->has_single_modes);
    json_out_text(out, "fsType", p->fs_type);
    json_out_text(out, "attributesClass", p->attributes_class);
    json_out_array(out, "mountFlags");
    for (uint32_t i = 0; i < p->mount_flags.count; i++)
        json_out_text(out, NULL, p->mount_flags.items[i]);
    json_out_end_array(out);
    write_pairs(out, "parameters", &p->parameters);
    write_pairs(out, "mutableParameters", &p->mutable_parameters);
    json_out_object(out, "secrets");
    for (size_t i = 0; i < CSI_SECRET_USE_COUNT; i++) {
        if (p->secrets[i].name[0] == '\0')
            continue;
        json_out_object(out, secret_names[i]);
        json_out_text(out, "namespace", p->secrets[i].ns);
        json_out_text(out, "name", p->secrets[i].name);
        json_out_end_object(out);
    }
    json_out_end_object(out);
    csi_topology_write(out, "topology", &p->topology);
    if (p->source.kind != CSI_SOURCE_NONE) {
        json_out_object(out, "source");
        json_out_text(out, "kind", csi_source_kind_names[p->source.kind]);
        json_out_text(out, "name", p->source.name);
        json_out_text(out, "id", p->source.id);
        json_out_end_object(out);
    }
    json_out_end_object(out);
}

static struct kvs read_pairs(struct arena *a, const struct json *d, json_ref from)
{
    struct kv *items = arena_array(a, (size_t)json_count(d, from) + 1, sizeof *items);
    uint32_t count = 0;

    for (json_ref m = json_first(d, from); m && items; m = json_next(d, m))
        items[count++] = (struct kv){ arena_dup(a, json_key(d, m)), arena_dup(a, json_text(d, m)) };
    if (items && !a->failed)
        kv_sort(items, count);
    return (struct kvs){ items, count };
}

static struct texts read_texts(struct arena *a, const struct json *d, json_ref from)
{
    const char **items = arena_array(a, (size_t)json_count(d, from) + 1, sizeof *items);
    uint32_t count = 0;

    for (json_ref m = json_first(d, from); m && items; m = json_next(d, m))
        items[count++] = arena_dup(a, json_text(d, m));
    return (struct texts){ items, count };
}

static struct csi_data_source read_source(struct arena *a, const struct json *d, json_ref from)
{
    struct csi_data_source s = { .kind = CSI_SOURCE_NONE,
                                 .name = arena_dup(a, json_get_text(d, from, "name")),
                                 .id = arena_dup(a, json_get_text(d, from, "id")) };

    for (unsigned kind = CSI_SOURCE_SNAPSHOT; kind < CSI_SOURCE_KIND_COUNT; kind++)
        if (str_is(json_get_text(d, from, "kind"), csi_source_kind_names[kind]))
            s.kind = (enum csi_source_kind)kind;
    return s;
}

static bool read_bool(const struct json *d, json_ref root, const char *key)
{
    return json_type(d, json_get(d, root, key)) == JSON_TRUE;
}

int csi_create_plan_read(struct arena *a, struct str text, struct csi_create_plan *ret, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    struct csi_create_plan p = { 0 };
    json_ref root, secrets;
    int64_t modes = 0;
    int r;

    json_init(&d, CSI_PLAN_BYTES_MAX);
    r = json_parse(&d, text, &root, err);
    if (r == 0)
        r = csi_topology_read(a, &d, json_get(&d, root, "topology"), &p.topology, err);
    if (r < 0)
        return r;
    if (!json_int64(&d, json_get(&d, root, "bytes"), &p.bytes) ||
        !json_int64(&d, json_get(&d, root, "modes"), &modes) || modes < 0 || modes > UINT8_MAX)
        return error_set(err, ERR_INVALID, "recorded request has no size or no access modes");
    p.modes = (uint8_t)modes;
    p.is_block = read_bool(&d, root, "block");
    p.is_scheduled = read_bool(&d, root, "scheduled");
    p.has_single_modes = read_bool(&d, root, "singleModes");
    p.fs_type = arena_dup(a, json_get_text(&d, root, "fsType"));
    p.attributes_class = arena_dup(a, json_get_text(&d, root, "attributesClass"));
    p.mount_flags = read_texts(a, &d, json_get(&d, root, "mountFlags"));
    p.parameters = read_pairs(a, &d, json_get(&d, root, "parameters"));
    p.mutable_parameters = read_pairs(a, &d, json_get(&d, root, "mutableParameters"));
    p.source = read_source(a, &d, json_get(&d, root, "source"));
    secrets = json_get(&d, root, "secrets");
    for (size_t i = 0; i < CSI_SECRET_USE_COUNT; i++) {
        json_ref one = json_get(&d, secrets, secret_names[i]);

        p.secrets[i] = (struct secret_ref){ arena_dup(a, json_get_text(&d, one, "namespace")),
                                            arena_dup(a, json_get_text(&d, one, "name")) };
    }
    r = arena_check(a, err);
    if (r == 0)
        *ret = p;
    return r;
}

/* --- The message --- */

/* Messages have non-const texts that are never modified. */
static char *text_of(const char *s)
{
    return (char *)(uintptr_t)s;
}

static Csi__V1__VolumeCapability__AccessMode__Mode message_mode(unsigned mode, bool has_single_modes)
{
    switch (mode) {
    case ACCESS_RWX:
        return CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_MULTI_WRITER;
    case ACCESS_ROX:
        return CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_READER_ONLY;
    case ACCESS_RWO:
        return has_single_modes ? CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_MULTI_WRITER
                                : CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    case ACCESS_RWOP:
        return has_single_modes ? CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_SINGLE_WRITER
                                : CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    default:
        return CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__UNKNOWN;
    }
}

static Csi__V1__VolumeCapability *message_capability(struct arena *a, const struct csi_create_plan *p,
                                                     unsigned mode)
{
    static Csi__V1__Nothing nothing = CSI__V1__NOTHING__INIT;
    Csi__V1__VolumeCapability *c = arena_alloc(a, sizeof *c);
    Csi__V1__VolumeCapability__AccessMode *m = arena_alloc(a, sizeof *m);
    Csi__V1__VolumeCapability__MountVolume *mount = arena_alloc(a, sizeof *mount);

    if (!c || !m || !mount)
        return NULL;
    csi__v1__volume_capability__init(c);
    csi__v1__volume_capability__access_mode__init(m);
    m->mode = message_mode(mode, p->has_single_modes);
    c->access_mode = m;
    if (p->is_block) {
        c->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
        c->block = &nothing;
        return c;
    }
    csi__v1__volume_capability__mount_volume__init(mount);
    mount->fs_type = text_of(p->fs_type);
    mount->n_mount_flags = p->mount_flags.count;
    mount->mount_flags = (char **)(uintptr_t)p->mount_flags.items;
    c->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
    c->mount = mount;
    return c;
}

static Csi__V1__Topology **message_terms(struct arena *a, const struct csi_terms *terms)
{
    Csi__V1__Topology **items = arena_array(a, terms->count, sizeof *items);

    for (uint32_t i = 0; i < terms->count && items; i++) {
        struct csi_pairs segments = csi_pairs_of(a, terms->items[i], 0);
        Csi__V1__Topology *t = arena_alloc(a, sizeof *t);

        if (!t)
            return NULL;
        csi__v1__topology__init(t);
        t->segments = segments.items;
        t->n_segments = segments.count;
        items[i] = t;
    }
    return items;
}

static void set_topology(struct arena *a, const struct csi_topology *t, Csi__V1__CreateVolumeRequest *m)
{
    Csi__V1__TopologyRequirement *q = arena_alloc(a, sizeof *q);

    if (!q || t->requisite.count == 0)
        return;
    csi__v1__topology_requirement__init(q);
    q->requisite = message_terms(a, &t->requisite);
    q->n_requisite = t->requisite.count;
    q->preferred = message_terms(a, &t->preferred);
    q->n_preferred = t->preferred.count;
    m->accessibility_requirements = q;
}

static void set_source(struct arena *a, const struct csi_data_source *s, Csi__V1__CreateVolumeRequest *m)
{
    Csi__V1__VolumeContentSource *from = arena_alloc(a, sizeof *from);
    Csi__V1__VolumeContentSource__SnapshotSource *snapshot = arena_alloc(a, sizeof *snapshot);
    Csi__V1__VolumeContentSource__VolumeSource *volume = arena_alloc(a, sizeof *volume);

    if (!from || !snapshot || !volume || s->kind == CSI_SOURCE_NONE)
        return;
    csi__v1__volume_content_source__init(from);
    csi__v1__volume_content_source__snapshot_source__init(snapshot);
    csi__v1__volume_content_source__volume_source__init(volume);
    if (s->kind == CSI_SOURCE_SNAPSHOT) {
        snapshot->snapshot_id = text_of(s->id);
        from->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
        from->snapshot = snapshot;
    } else {
        volume->volume_id = text_of(s->id);
        from->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
        from->volume = volume;
    }
    m->volume_content_source = from;
}

static void set_capabilities(struct arena *a, const struct csi_create_plan *p,
                             Csi__V1__CreateVolumeRequest *m)
{
    m->volume_capabilities = arena_array(a, 8, sizeof *m->volume_capabilities);
    for (unsigned i = 0; access_mode_names[i] && m->volume_capabilities; i++)
        if (p->modes & (1U << i))
            m->volume_capabilities[m->n_volume_capabilities++] = message_capability(a, p, 1U << i);
}

int csi_create_message(struct arena *a, const struct csi_create_plan *p, const char *name,
                       const struct secret *secret, Csi__V1__CreateVolumeRequest *m, struct error *err)
{
    struct csi_pairs parameters = csi_pairs_of(a, p->parameters, 0);
    struct csi_pairs mutable_parameters = csi_pairs_of(a, p->mutable_parameters, 0);
    Csi__V1__CapacityRange *range = arena_alloc(a, sizeof *range);
    struct csi_secrets secrets = { 0 };
    int r = secret ? csi_secret_messages(a, secret, &secrets, err) : 0;

    if (r < 0)
        return r;
    if (!range)
        return arena_check(a, err);
    csi__v1__create_volume_request__init(m);
    csi__v1__capacity_range__init(range);
    range->required_bytes = p->bytes;
    m->name = text_of(name);
    m->capacity_range = range;
    m->parameters = parameters.items;
    m->n_parameters = parameters.count;
    m->mutable_parameters = mutable_parameters.items;
    m->n_mutable_parameters = mutable_parameters.count;
    m->secrets = secrets.items;
    m->n_secrets = secrets.count;
    set_capabilities(a, p, m);
    set_topology(a, &p->topology, m);
    set_source(a, &p->source, m);
    return arena_check(a, err);
}
