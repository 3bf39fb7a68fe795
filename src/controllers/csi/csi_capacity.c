/* Keeps the CSIStorageCapacity objects of a driver.
 *
 * Two queues: items of the plan to refresh (keys: names of objects), and objects to remove (keys:
 * "namespace/name"). Handlers only add keys or request a new plan.
 *
 * Invariant: every key that is in process in the queue of refreshes has one refresh, and the reverse. */
#include "controllers/csi/csi_capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/csi_objects.h"
#include "api/json_out.h"
#include "base/log.h"
#include "base/map.h"
#include "io/digest.h"
#include "machinery/merge_patch.h"
#include "plugins/csi/csi_int.h"

#define MANAGER "external-provisioner"
#define NAME_PREFIX "csisc-"
#define NAME_BYTES 64
#define NAME_DIGITS 40 /* of the digest */
#define PLAN_BYTES_MAX ((size_t)64 << 20)
#define TEXT_BYTES_MAX ((size_t)256 << 10) /* of one class with its segment */
/* Volumes are created in bursts: the driver is asked once per second. */
#define SETTLE_NS (1 * NS_PER_S)

/* One object that should exist; in the arena of the plan. */
struct capacity_item {
    const char *class_name;
    struct kvs segment;
    char name[NAME_BYTES];
};

struct capacity_plan {
    struct arena arena;
    struct map items; /* by name */
};

/* One item in process. */
struct capacity_refresh {
    TAILQ_ENTRY(capacity_refresh) link;
    struct csi_capacity_publisher *owner;
    struct csi_controller_call call;
    struct api_write write;
    struct quantity capacity, volume_max; /* as the driver answered */
    bool has_volume_max;
    char name[NAME_BYTES];
};

struct csi_capacity_publisher {
    struct csi_function_options o;
    struct informer *capacities, *classes, *nodes, *csi_nodes, *drivers;
    struct informer *pods; /* NULL: the process is in no pod */
    struct informer_handler on_capacities, on_classes, on_nodes, on_csi_nodes, on_drivers;
    struct api api;
    struct controller *refreshes, *removals;
    struct capacity_plan plan;
    struct hash_seed seed;
    struct deferred replan;
    struct timer poll;
    TAILQ_HEAD(, capacity_refresh) works;
    struct metric *goal, *current, *obsolete; /* NULL: not counted */
    bool is_truncated;                        /* the plan has more items than are published */
    char managed_by[CSI_MANAGER_BYTES];
};

static const struct csi_capacity *capacity_view(const struct object *o)
{
    return (const struct csi_capacity *)(const void *)o;
}

static const struct storage_class *class_view(const struct object *o)
{
    return (const struct storage_class *)(const void *)o;
}

/* --- Names --- */

static void add_name_part(struct buf *out, const char *text)
{
    buf_add_cstr(out, text);
    buf_add_char(out, '\n'); /* is in no name and no label */
}

/* The name of the object of a class and a segment. */
static int write_item_name(const struct csi_capacity_publisher *p, const char *class_name,
                           const struct kvs *segment, char ret[NAME_BYTES], struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
    char digest[SHA256_HEX_BYTES];
    int r;

    add_name_part(&text, csi_peer_name(p->o.peer));
    add_name_part(&text, p->managed_by);
    add_name_part(&text, class_name);
    for (uint32_t i = 0; i < segment->count; i++) {
        add_name_part(&text, segment->items[i].key);
        add_name_part(&text, segment->items[i].value);
    }
    r = buf_check(&text, "a topology segment", err);
    if (r == 0)
        r = sha256_hex(buf_str(&text), digest, err);
    if (r == 0)
        (void)snprintf(ret, NAME_BYTES, NAME_PREFIX "%.*s", NAME_DIGITS, digest);
    return r;
}

/* The segment of an object, in the arena; false: not one that a publisher writes. */
static bool segment_of_object(struct arena *a, const struct csi_capacity *k, struct kvs *ret)
{
    const struct label_selector *l = k->topology;
    struct kv *items = l ? arena_array(a, l->count + 1, sizeof *items) : NULL;

    if (!items || l->error)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].op != SELECTOR_IN || l->items[i].values_count != 1)
            return false;
        items[i] = (struct kv){ l->items[i].key, l->items[i].values[0] };
    }
    kv_sort(items, l->count);
    *ret = (struct kvs){ items, (uint32_t)l->count };
    return true;
}

/* The item that the object is about; NULL: none. */
static const struct capacity_item *item_of_object(const struct csi_capacity_publisher *p,
                                                  const struct object *o)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(TEXT_BYTES_MAX);
    const struct csi_capacity *k = capacity_view(o);
    char name[NAME_BYTES];
    struct kvs segment;
    struct error ignored; /* too long for an item */

    if (!segment_of_object(&a, k, &segment) ||
        write_item_name(p, k->class_name, &segment, name, &ignored) < 0)
        return NULL;
    return map_get(&p->plan.items, str_of(name));
}

static const struct object *object_of_item(const struct csi_capacity_publisher *p, const char *name)
{
    return informer_get(p->capacities, p->o.settings->capacity_namespace, name);
}

static bool has_labels(const struct csi_capacity_publisher *p, const struct object *o)
{
    const char *driver = object_label(o, LABEL_CAPACITY_DRIVER),
               *by = object_label(o, LABEL_CAPACITY_MANAGER);

    return driver && by && strcmp(driver, csi_peer_name(p->o.peer)) == 0 && strcmp(by, p->managed_by) == 0;
}

/* Ours by its labels, or because it has the name of an item. */
static bool is_ours(const struct csi_capacity_publisher *p, const struct object *o)
{
    return strcmp(o->ns, p->o.settings->capacity_namespace) == 0 &&
           (has_labels(p, o) || map_get(&p->plan.items, str_of(o->name)));
}

/* Of an object that is ours: not the one of its item. */
static bool is_obsolete(const struct csi_capacity_publisher *p, const struct object *o)
{
    const struct capacity_item *item = item_of_object(p, o);

    return !item || strcmp(item->name, o->name) != 0;
}

/* --- Refreshes --- */

static void refresh_free(struct capacity_refresh *w)
{
    TAILQ_REMOVE(&w->owner->works, w, link);
    csi_controller_call_cancel(&w->call);
    api_write_cancel(&w->write);
    free(w);
}

static void refresh_end(struct capacity_refresh *w, enum sync_result result)
{
    controller_finish(w->owner->refreshes, str_of(w->name), result);
    refresh_free(w);
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
    const struct csi_capacity *k = capacity_view(now);
    struct merge_patch p;

    if (has_amounts(k, w) && has_labels(w->owner, now) && (!owner || has_owner(now, owner)))
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
    const struct object *object = object_of_item(w->owner, w->name);
    struct error err;

    if (!item)
        refresh_end(w, SYNC_DONE);
    else if (a->outcome != CSI_DONE)
        refresh_fail(w, a->err);
    else if (read_answer(w, (const Csi__V1__GetCapacityResponse *)(const void *)a->message, &err) < 0)
        refresh_fail(w, &err);
    else if (!object)
        create_object(w, item);
    else if (is_obsolete(w->owner, object)) /* something else under this name: deleted first */
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

static enum sync_result sync_refresh(void *ctx, struct str key)
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
    if (call_driver(w, item, class_view(class), &err) < 0)
        refresh_fail(w, &err);
    return SYNC_LATER;
}

/* --- Removals --- */

/* The object's item has its own object, or there is no item: nothing is lost with it. */
static bool is_replaced(const struct csi_capacity_publisher *p, const struct object *o)
{
    const struct capacity_item *item = item_of_object(p, o);

    return !item || object_of_item(p, item->name);
}

static enum sync_result sync_removal(void *ctx, struct str key)
{
    struct csi_capacity_publisher *p = ctx;
    const struct object *o = informer_get_key(p->capacities, key);
    const struct api_write_options w = { .request = { .verb = CLIENT_DELETE },
                                         .object = o,
                                         .step = API_STEP_CAPACITY,
                                         .informer = p->capacities };

    if (!o || o->is_deleting || !is_ours(p, o) || !is_obsolete(p, o) || !is_replaced(p, o))
        return SYNC_DONE;
    return sync_once(p->removals, key, &w, NULL, NULL);
}

/* --- The plan --- */

static void plan_init(struct csi_capacity_publisher *p, struct capacity_plan *plan)
{
    plan->arena = ARENA_INIT(PLAN_BYTES_MAX);
    map_init(&plan->items, p->seed);
}

static void plan_done(struct capacity_plan *plan)
{
    map_done(&plan->items);
    arena_done(&plan->arena);
}

static bool is_class_published(const struct csi_capacity_publisher *p, const struct storage_class *c)
{
    return strcmp(c->provisioner, csi_peer_name(p->o.peer)) == 0 &&
           (c->binding == BINDING_WAIT_FOR_FIRST_CONSUMER || p->o.settings->has_capacity_for_immediate);
}

/* The scheduler reads the objects only if the CSIDriver says that there are some. */
static bool is_published(const struct csi_capacity_publisher *p)
{
    const struct object *o = informer_get(p->drivers, "", csi_peer_name(p->o.peer));

    return o && ((const struct csi_driver *)(const void *)o)->storage_capacity;
}

/* The terms outlive the objects that they were read from. */
static int copy_segment(struct arena *a, const struct kvs *from, struct kvs *ret, struct error *err)
{
    struct kv *items = arena_array(a, from->count + 1, sizeof *items);

    for (uint32_t i = 0; i < from->count && items; i++)
        items[i] = (struct kv){ arena_dup(a, str_of(from->items[i].key)),
                                arena_dup(a, str_of(from->items[i].value)) };
    *ret = (struct kvs){ items, from->count };
    return arena_check(a, err);
}

static int plan_add(const struct csi_capacity_publisher *p, struct capacity_plan *plan,
                    const char *class_name, const struct kvs *segment, struct error *err)
{
    struct capacity_item *item = arena_alloc(&plan->arena, sizeof *item);
    int r;

    if (!item)
        return arena_check(&plan->arena, err);
    item->class_name = class_name;
    item->segment = *segment;
    r = write_item_name(p, class_name, segment, item->name, err);
    if (r == 0 && map_put(&plan->items, str_of(item->name), item, NULL) < 0)
        r = error_no_memory(err);
    return r;
}

static int plan_add_class(const struct csi_capacity_publisher *p, struct capacity_plan *plan,
                          const struct storage_class *c, const struct csi_terms *segments, struct error *err)
{
    const char *name = arena_dup(&plan->arena, str_of(c->obj.name));
    int r = name ? 0 : arena_check(&plan->arena, err);

    for (uint32_t i = 0; i < segments->count && r == 0; i++)
        if (plan->items.count < CSI_CAPACITY_ITEMS_MAX)
            r = plan_add(p, plan, name, &segments->items[i], err);
    return r;
}

/* *ret_wanted: also counts the items for which there is no room. */
static int plan_fill(const struct csi_capacity_publisher *p, struct capacity_plan *plan, size_t *ret_wanted,
                     struct error *err)
{
    const struct csi_segments_request q = { .driver = csi_peer_name(p->o.peer),
                                            .node_name = p->o.node_name,
                                            .nodes = p->nodes,
                                            .csi_nodes = p->csi_nodes };
    struct csi_terms segments = { 0 };
    struct informer_cursor at;
    int r = is_published(p) ? csi_topology_segments(&plan->arena, &q, &segments, err) : 0;

    *ret_wanted = 0;
    for (uint32_t i = 0; i < segments.count && r == 0; i++)
        r = copy_segment(&plan->arena, &segments.items[i], &segments.items[i], err);
    for (const struct object *o = informer_first(p->classes, &at); o && r == 0; o = informer_next(&at)) {
        if (!is_class_published(p, class_view(o)))
            continue;
        *ret_wanted += segments.count;
        r = plan_add_class(p, plan, class_view(o), &segments, err);
    }
    return r;
}

/* New items are refreshed, and objects without an item removed. */
static void plan_apply(struct csi_capacity_publisher *p, const struct capacity_plan *old)
{
    const struct capacity_item *item;
    struct informer_cursor at;

    for (size_t i = 0; (item = map_next(&p->plan.items, &i, NULL));)
        if (!map_get(&old->items, str_of(item->name)))
            controller_add(p->refreshes, str_of(item->name));
    for (const struct object *o = informer_first(p->capacities, &at); o; o = informer_next(&at))
        if (is_ours(p, o) && is_obsolete(p, o))
            component_add(p->removals, o);
}

static void plan_again(void *ctx)
{
    struct csi_capacity_publisher *p = ctx;
    struct capacity_plan plan, old = p->plan;
    size_t wanted;
    struct error err;

    plan_init(p, &plan);
    if (plan_fill(p, &plan, &wanted, &err) < 0) {
        log_error("cannot plan the capacity objects of a driver, keeping them as they are",
                  LOG_STR("driver", csi_peer_name(p->o.peer)), LOG_ERR(&err));
        plan_done(&plan);
        return;
    }
    if (wanted > plan.items.count && !p->is_truncated)
        log_warn("more classes and topology segments than capacity is published for",
                 LOG_STR("driver", csi_peer_name(p->o.peer)), LOG_UINT("wanted", wanted),
                 LOG_UINT("published", plan.items.count));
    p->is_truncated = wanted > plan.items.count;
    p->plan = plan;
    plan_apply(p, &old);
    plan_done(&old);
}

/* --- What happened --- */

static void plan_later(void *ctx, const struct object *o)
{
    struct csi_capacity_publisher *p = ctx;

    (void)o;
    loop_defer(&p->replan);
}

/* Nodes are written every few seconds; only their labels count. */
static void on_node_update(void *ctx, const struct object *old, const struct object *o)
{
    if (!kvs_equal(&old->labels, &o->labels))
        plan_later(ctx, o);
}

static void on_node_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    plan_later(ctx, o);
}

static void on_class(void *ctx, const struct object *o)
{
    const struct csi_capacity_publisher *p = ctx;

    if (strcmp(class_view(o)->provisioner, csi_peer_name(p->o.peer)) == 0)
        plan_later(ctx, o);
}

static void on_driver(void *ctx, const struct object *o)
{
    const struct csi_capacity_publisher *p = ctx;

    if (strcmp(o->name, csi_peer_name(p->o.peer)) == 0)
        plan_later(ctx, o);
}

/* The object of an item may replace others: those are found by a new plan. */
static void on_capacity(void *ctx, const struct object *o)
{
    struct csi_capacity_publisher *p = ctx;

    if (is_ours(p, o) && is_obsolete(p, o))
        component_add(p->removals, o);
}

static void on_capacity_add(void *ctx, const struct object *o, bool is_initial)
{
    struct csi_capacity_publisher *p = ctx;

    on_capacity(ctx, o);
    if (!is_initial && map_get(&p->plan.items, str_of(o->name)))
        loop_defer(&p->replan);
}

static void on_capacity_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    on_capacity(ctx, o);
}

static void on_capacity_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct csi_capacity_publisher *p = ctx;

    (void)is_final_unknown;
    if (strcmp(o->ns, p->o.settings->capacity_namespace) == 0 && map_get(&p->plan.items, str_of(o->name)))
        controller_add(p->refreshes, str_of(o->name));
}

static void refresh_soon(struct csi_capacity_publisher *p, const struct capacity_item *item)
{
    workqueue_add_after(controller_queue(p->refreshes), str_of(item->name), SETTLE_NS);
}

void csi_capacity_on_created(struct csi_capacity_publisher *p, const struct csi_terms *terms)
{
    const struct capacity_item *item;

    for (size_t i = 0; p && (item = map_next(&p->plan.items, &i, NULL));)
        if (csi_terms_cover(terms, &item->segment))
            refresh_soon(p, item);
}

void csi_capacity_on_deleted(struct csi_capacity_publisher *p, const struct node_selector *affinity)
{
    const struct capacity_item *item;
    struct error ignored;

    for (size_t i = 0; p && (item = map_next(&p->plan.items, &i, NULL));)
        if (!affinity ||
            node_affinity_check(affinity, item->segment.items, item->segment.count, &ignored) == 0)
            refresh_soon(p, item);
}

void csi_capacity_on_failed(struct csi_capacity_publisher *p, const char *class_name)
{
    const struct capacity_item *item;

    for (size_t i = 0; p && (item = map_next(&p->plan.items, &i, NULL));)
        if (strcmp(item->class_name, class_name) == 0)
            refresh_soon(p, item);
}

static void on_poll(void *ctx)
{
    struct csi_capacity_publisher *p = ctx;
    const struct capacity_item *item;

    for (size_t i = 0; (item = map_next(&p->plan.items, &i, NULL));)
        controller_add(p->refreshes, str_of(item->name));
    timer_arm_after(&p->poll, p->o.settings->capacity_poll_ns);
}

/* --- Metrics --- */

static double count_goal(void *ctx)
{
    const struct csi_capacity_publisher *p = ctx;

    return (double)p->plan.items.count;
}

static double count_current(void *ctx)
{
    const struct csi_capacity_publisher *p = ctx;
    const struct capacity_item *item;
    double count = 0;

    for (size_t i = 0; (item = map_next(&p->plan.items, &i, NULL));)
        count += object_of_item(p, item->name) ? 1 : 0;
    return count;
}

static double count_obsolete(void *ctx)
{
    const struct csi_capacity_publisher *p = ctx;
    struct informer_cursor at;
    double count = 0;

    for (const struct object *o = informer_first(p->capacities, &at); o; o = informer_next(&at))
        count += is_ours(p, o) && is_obsolete(p, o) ? 1 : 0;
    return count;
}

static int open_metrics(struct csi_capacity_publisher *p, struct error *err)
{
    static const char *const labels[] = { "driver_name", NULL };
    static const struct metric_desc descs[] = {
        { .name = "csistoragecapacities_desired_goal",
          .help = "CSIStorageCapacity objects that should exist.",
          .type = METRIC_GAUGE,
          .labels = labels },
        { .name = "csistoragecapacities_desired_current",
          .help = "CSIStorageCapacity objects that should exist and do.",
          .type = METRIC_GAUGE,
          .labels = labels },
        { .name = "csistoragecapacities_obsolete",
          .help = "CSIStorageCapacity objects that exist and are to be deleted.",
          .type = METRIC_GAUGE,
          .labels = labels },
    };
    metric_read_fn *const readers[] = { count_goal, count_current, count_obsolete };
    struct metric **places[] = { &p->goal, &p->current, &p->obsolete };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(descs) && p->o.part.metrics && r == 0; i++) {
        struct metric_family *family;

        r = metrics_share_family(p->o.part.metrics, &descs[i], &family, err);
        if (r < 0)
            break;
        *places[i] = metric_of(family, csi_peer_name(p->o.peer));
        metric_set_reader(*places[i], readers[i], p);
    }
    return r;
}

static void close_metric(struct metric *m)
{
    if (!m)
        return;
    metric_set_reader(m, NULL, NULL);
    metric_set(m, 0);
}

/* --- Life --- */

bool csi_capacity_is_wanted(const struct csi_peer *p, const struct csi_driver_settings *s)
{
    return !s->has_no_capacity && csi_peer_can(p, CSI_ABILITY_GET_CAPACITY);
}

int csi_capacity_prepare(const struct component_deps *part, struct error *err)
{
    return informers_get(part->informers, KIND_CSI_CAPACITY, err) ? 0 : -(int)err->code;
}

static int open_caches(struct csi_capacity_publisher *p, struct error *err)
{
    struct informers *all = p->o.part.informers;

    p->capacities = informers_get(all, KIND_CSI_CAPACITY, err);
    p->classes = p->capacities ? informers_get(all, KIND_CLASS, err) : NULL;
    p->nodes = p->classes ? informers_get(all, KIND_NODE, err) : NULL;
    p->csi_nodes = p->nodes ? informers_get(all, KIND_CSI_NODE, err) : NULL;
    p->drivers = p->csi_nodes ? informers_get(all, KIND_CSI_DRIVER, err) : NULL;
    p->pods = p->drivers && p->o.pod_name ? component_pods(all, err) : NULL;
    return p->drivers && (p->pods || !p->o.pod_name) ? 0 : -(int)err->code;
}

static int open_queues(struct csi_capacity_publisher *p, struct error *err)
{
    const struct csi_driver_settings *s = p->o.settings;
    struct controller_options c = { .queue = { .loop = p->o.part.loop,
                                               .name = "csi-capacity",
                                               .metrics = p->o.part.metrics,
                                               .seed = component_seed(&p->o.part, "csi-capacity"),
                                               .base_ns = s->retry_ns,
                                               .max_ns = s->retry_ns_max },
                                    .sync = sync_refresh,
                                    .ctx = p,
                                    .in_flight_max = s->others_max ? s->others_max : CSI_OTHERS_MAX,
                                    .api = p->api };
    int r = controller_new(&c, &p->refreshes, err);

    if (r < 0)
        return r;
    c.queue.name = "csi-capacity-remove";
    c.sync = sync_removal;
    return controller_new(&c, &p->removals, err);
}

int csi_capacity_new(const struct csi_function_options *o, struct csi_capacity_publisher **ret,
                     struct error *err)
{
    _cleanup_(csi_capacity_free_p) struct csi_capacity_publisher *p = calloc(1, sizeof *p);
    uint64_t seed = component_seed(&o->part, "csi-capacity-plan");
    int r;

    if (!p)
        return error_no_memory(err);
    p->o = *o;
    p->seed = (struct hash_seed){ seed, ~seed };
    TAILQ_INIT(&p->works);
    plan_init(p, &p->plan);
    deferred_init(&p->replan, o->part.loop, plan_again, p);
    timer_init(&p->poll, o->part.loop, on_poll, p);
    r = csi_capacity_manager(o->node_name, p->managed_by, err);
    if (r == 0)
        r = component_api(&o->part, MANAGER, &p->api, err);
    if (r == 0)
        r = open_caches(p, err);
    if (r == 0)
        r = open_queues(p, err);
    if (r == 0)
        r = open_metrics(p, err);
    if (r == 0)
        *ret = TAKE(p);
    return r;
}

void csi_capacity_start(struct csi_capacity_publisher *p)
{
    p->on_capacities = (struct informer_handler){
        .on_add = on_capacity_add, .on_update = on_capacity_update, .on_delete = on_capacity_delete, .ctx = p
    };
    p->on_classes = (struct informer_handler){ .on_upsert = on_class, .on_removed = on_class, .ctx = p };
    p->on_drivers = (struct informer_handler){ .on_upsert = on_driver, .on_removed = on_driver, .ctx = p };
    p->on_csi_nodes =
        (struct informer_handler){ .on_upsert = plan_later, .on_removed = plan_later, .ctx = p };
    p->on_nodes = (struct informer_handler){
        .on_add = on_node_add, .on_update = on_node_update, .on_removed = plan_later, .ctx = p
    };
    informer_add_handler(p->capacities, &p->on_capacities);
    informer_add_handler(p->classes, &p->on_classes);
    informer_add_handler(p->drivers, &p->on_drivers);
    informer_add_handler(p->csi_nodes, &p->on_csi_nodes);
    informer_add_handler(p->nodes, &p->on_nodes);
    loop_defer(&p->replan);
    timer_arm_after(&p->poll, p->o.settings->capacity_poll_ns);
}

struct csi_capacity_publisher *csi_capacity_free(struct csi_capacity_publisher *p)
{
    struct capacity_refresh *w;

    if (!p)
        return NULL;
    informer_remove_handler(&p->on_capacities);
    informer_remove_handler(&p->on_classes);
    informer_remove_handler(&p->on_drivers);
    informer_remove_handler(&p->on_csi_nodes);
    informer_remove_handler(&p->on_nodes);
    loop_undefer(&p->replan);
    timer_disarm(&p->poll);
    while ((w = TAILQ_FIRST(&p->works)))
        refresh_free(w);
    p->refreshes = controller_free(p->refreshes);
    p->removals = controller_free(p->removals);
    close_metric(p->goal);
    close_metric(p->current);
    close_metric(p->obsolete);
    plan_done(&p->plan);
    free(p);
    return NULL;
}

const char *csi_capacity_check(const struct csi_capacity_publisher *p)
{
    const char *wrong = controller_check(p->refreshes);

    return wrong ? wrong : controller_check(p->removals);
}
