/* One CSIStorageCapacity object: asks the driver, and creates or patches the object if it differs. */
#include "controllers/csi/csi_capacity_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "machinery/merge_patch.h"

/* One item in process. */
struct capacity_refresh {
    TAILQ_ENTRY(capacity_refresh) link;
    struct csi_capacity_publisher *owner;
    struct csi_controller_call call;
    struct api_write write;
    struct quantity capacity, volume_max; /* as the driver answered */
    bool has_volume_max;
    char name[CSI_CAPACITY_NAME_BYTES];
};

void csi_capacity_refresh_free(struct capacity_refresh *w)
{
    TAILQ_REMOVE(&w->owner->works, w, link);
    csi_controller_call_cancel(&w->call);
    api_write_cancel(&w->write);
    free(w);
}

static void refresh_end(struct capacity_refresh *w, enum sync_result result)
{
    controller_finish(w->owner->refreshes, str_of(w->name), result);
    csi_capacity_refresh_free(w);
}

static void refresh_fail(struct capacity_refresh *w, const struct error *err)
{
    const struct csi_capacity_publisher *p = w->owner;

    if (workqueue_failures(controller_queue(p->refreshes), str_of(w->name)) == 0)
        log_warn("capacity not published, retrying", LOG_STR("driver", csi_peer_name(p->o.peer)),
                 LOG_STR("object", w->name), LOG_ERR(err));
    refresh_end(w, SYNC_AGAIN);
}

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct capacity_refresh *w = ctx;

    if (api_write_succeeded(outcome))
        refresh_end(w, SYNC_DONE);
    else if (outcome == API_CONFLICT)
        refresh_end(w, SYNC_OVERTAKEN);
    else if (outcome == API_REFUSED && (a->r == -ERR_NOT_FOUND || a->r == -ERR_EXISTS))
        refresh_end(w, SYNC_AGAIN); /* the cache is behind */
    else
        refresh_fail(w, &a->error);
}

/* The controller of the pod that this process is in, which the objects belong to; NULL: none. */
static const struct owner *publishing_owner(const struct csi_capacity_publisher *p)
{
    const struct object *pod = p->pods ? informer_get(p->pods, p->o.record_ns, p->o.pod_name) : NULL;

    /* An owner is in the namespace of its objects. */
    if (!pod || strcmp(pod->ns, p->o.settings->capacity_namespace) != 0)
        return NULL;
    return object_controller(pod);
}

static void write_owner(struct buf *out, const struct owner *owner)
{
    if (!owner)
        return;
    json_out_array(out, "ownerReferences");
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", owner->api_version);
    json_out_text(out, "kind", owner->kind);
    json_out_text(out, "name", owner->name);
    json_out_text(out, "uid", owner->uid);
    json_out_bool(out, "controller", true);
    json_out_end_object(out);
    json_out_end_array(out);
}

static bool has_owner(const struct object *o, const struct owner *owner)
{
    for (uint32_t i = 0; i < o->owners_count; i++)
        if (strcmp(o->owners[i].uid, owner->uid) == 0)
            return true;
    return false;
}

static bool has_amounts(const struct csi_capacity *k, const struct capacity_refresh *w)
{
    return k->has_capacity && quantity_cmp(&k->capacity, &w->capacity) == 0 &&
           k->has_volume_max == w->has_volume_max &&
           (!k->has_volume_max || quantity_cmp(&k->volume_max, &w->volume_max) == 0);
}

static enum api_decision decide_patch(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct capacity_refresh *w = ctx;
    const struct owner *owner = publishing_owner(w->owner);
    const struct csi_capacity *k = csi_capacity_of(now);
    struct merge_patch p;

    if (has_amounts(k, w) && csi_capacity_has_labels(w->owner, now) && (!owner || has_owner(now, owner)))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    if (owner && !has_owner(now, owner))
        write_owner(body, owner);
    merge_patch_label(&p, LABEL_CAPACITY_DRIVER, csi_peer_name(w->owner->o.peer));
    merge_patch_label(&p, LABEL_CAPACITY_MANAGER, w->owner->managed_by);
    merge_patch_member(&p, "capacity");
    json_out_quantity(body, NULL, &w->capacity);
    merge_patch_member(&p, "maximumVolumeSize");
    if (w->has_volume_max)
        json_out_quantity(body, NULL, &w->volume_max);
    else
        json_out_null(body, NULL);
    return api_decision_of(merge_patch_end(&p, err));
}

static void write_object(struct buf *out, const struct capacity_refresh *w, const struct capacity_item *item)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "storage.k8s.io/v1");
    json_out_text(out, "kind", "CSIStorageCapacity");
    json_out_object(out, "metadata");
    json_out_text(out, "name", item->name);
    json_out_text(out, "namespace", w->owner->o.settings->capacity_namespace);
    json_out_object(out, "labels");
    json_out_text(out, LABEL_CAPACITY_DRIVER, csi_peer_name(w->owner->o.peer));
    json_out_text(out, LABEL_CAPACITY_MANAGER, w->owner->managed_by);
    json_out_end_object(out);
    write_owner(out, publishing_owner(w->owner));
    json_out_end_object(out);
    json_out_text(out, "storageClassName", item->class_name);
    json_out_object(out, "nodeTopology");
    if (item->segment.count > 0) {
        json_out_object(out, "matchLabels");
        for (uint32_t i = 0; i < item->segment.count; i++)
            json_out_text(out, item->segment.items[i].key, item->segment.items[i].value);
        json_out_end_object(out);
    }
    json_out_end_object(out);
    json_out_quantity(out, "capacity", &w->capacity);
    if (w->has_volume_max)
        json_out_quantity(out, "maximumVolumeSize", &w->volume_max);
    json_out_end_object(out);
}

static void create_object(struct capacity_refresh *w, const struct capacity_item *item)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    const struct csi_capacity_publisher *p = w->owner;
    struct api_write_options o = { .api = p->api,
                                   .request = { .verb = CLIENT_CREATE,
                                                .kind = kind_info(KIND_CSI_CAPACITY),
                                                .ns = p->o.settings->capacity_namespace,
                                                .name = item->name },
                                   .step = API_STEP_CAPACITY,
                                   .informer = p->capacities,
                                   .done = on_written,
                                   .ctx = w };

    write_object(&body, w, item);
    o.body = buf_str(&body);
    o.failed = body.failed;
    api_write_start(&w->write, &o);
}

static void patch_object(struct capacity_refresh *w, const struct object *object)
{
    const struct api_write_options o = { .api = w->owner->api,
                                         .request = { .verb = CLIENT_PATCH },
                                         .object = object,
                                         .decide = decide_patch,
                                         .step = API_STEP_CAPACITY,
                                         .informer = w->owner->capacities,
                                         .done = on_written,
                                         .ctx = w };

    api_write_start(&w->write, &o);
}

static int read_answer(struct capacity_refresh *w, const Csi__V1__GetCapacityResponse *m, struct error *err)
{
    if (m->available_capacity < 0 || (m->maximum_volume_size && m->maximum_volume_size->value < 0))
        return error_set(err, ERR_INVALID, "driver answered GetCapacity with a negative size");
    w->capacity = quantity_of(m->available_capacity, QUANTITY_BINARY_SI);
    w->has_volume_max = m->maximum_volume_size != NULL;
    if (w->has_volume_max)
        w->volume_max = quantity_of(m->maximum_volume_size->value, QUANTITY_BINARY_SI);
    return 0;
}

static void on_answer(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct capacity_refresh *w = CONTAINER_OF(c, struct capacity_refresh, call);
    const struct capacity_item *item = map_get(&w->owner->plan.items, str_of(w->name));
    const struct object *object = csi_capacity_find_object(w->owner, w->name);
    struct error err;

    if (!item)
        refresh_end(w, SYNC_DONE);
    else if (a->outcome != CSI_DONE)
        refresh_fail(w, a->err);
    else if (read_answer(w, (const Csi__V1__GetCapacityResponse *)(const void *)a->message, &err) < 0)
        refresh_fail(w, &err);
    else if (!object)
        create_object(w, item);
    else if (csi_capacity_is_obsolete(w->owner, object)) /* something else under this name: deleted first */
        refresh_end(w, SYNC_AGAIN);
    else
        patch_object(w, object);
}

int csi_capacity_request(struct arena *a, const struct storage_class *class, const struct kvs *segment,
                         Csi__V1__GetCapacityRequest **ret, struct error *err)
{
    struct csi_pairs parameters = csi_pairs_of(a, class->parameters, 0);
    struct csi_pairs segments = csi_pairs_of(a, *segment, 0);
    Csi__V1__GetCapacityRequest *m = arena_alloc(a, sizeof *m);
    Csi__V1__Topology *topology = arena_alloc(a, sizeof *topology);
    int r = arena_check(a, err);

    if (r < 0)
        return r;
    csi__v1__get_capacity_request__init(m);
    csi__v1__topology__init(topology);
    m->parameters = parameters.items;
    m->n_parameters = parameters.count;
    topology->segments = segments.items;
    topology->n_segments = segments.count;
    if (segments.count > 0)
        m->accessible_topology = topology;
    *ret = m;
    return 0;
}

static int call_driver(struct capacity_refresh *w, const struct capacity_item *item,
                       const struct storage_class *class, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    const struct csi_function_options *o = &w->owner->o;
    Csi__V1__GetCapacityRequest *m = NULL;
    int r = csi_capacity_request(&a, class, &item->segment, &m, err);

    if (r < 0)
        return r;
    w->call.done = on_answer;
    csi_controller_call_start(o->peer, &w->call, CSI_GET_CAPACITY, &m->base, o->settings->timeout_ns);
    return 0;
}

enum sync_result csi_capacity_refresh(void *ctx, struct str key)
{
    struct csi_capacity_publisher *p = ctx;
    const struct capacity_item *item = map_get(&p->plan.items, key);
    const struct object *class = item ? informer_get(p->classes, "", item->class_name) : NULL;
    struct capacity_refresh *w;
    struct error err;

    if (!class)
        return SYNC_DONE;
    w = calloc(1, sizeof *w);
    if (!w)
        return SYNC_AGAIN;
    w->owner = p;
    memcpy(w->name, item->name, sizeof w->name);
    TAILQ_INSERT_TAIL(&p->works, w, link);
    if (call_driver(w, item, csi_class_of(class), &err) < 0)
        refresh_fail(w, &err);
    return SYNC_LATER;
}
