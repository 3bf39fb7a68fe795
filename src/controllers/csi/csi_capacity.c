/* Keeps the CSIStorageCapacity objects of a driver.
 *
 * Two queues: items of the plan to refresh (keys: names of objects), and objects to remove (keys:
 * "namespace/name"). Handlers only add keys or request a new plan.
 *
 * Invariant: every key that is in process in the queue of refreshes has one refresh, and the reverse. */
#include "controllers/csi/csi_capacity.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controllers/csi/csi_capacity_int.h"

/* Volumes are created in bursts: the driver is asked once per second. */
#define SETTLE_NS (1 * NS_PER_S)

/* --- Removals --- */

/* The object's item has its own object, or there is no item: nothing is lost with it. */
static bool is_replaced(const struct csi_capacity_publisher *p, const struct object *o)
{
    const struct capacity_item *item = csi_capacity_find_item(p, o);

    return !item || csi_capacity_find_object(p, item->name);
}

static enum sync_result sync_removal(void *ctx, struct str key)
{
    struct csi_capacity_publisher *p = ctx;
    const struct object *o = informer_get_key(p->capacities, key);
    const struct api_write_options w = { .request = { .verb = CLIENT_DELETE },
                                         .object = o,
                                         .step = API_STEP_CAPACITY,
                                         .informer = p->capacities };

    if (!o || o->is_deleting || !csi_capacity_is_ours(p, o) || !csi_capacity_is_obsolete(p, o) ||
        !is_replaced(p, o))
        return SYNC_DONE;
    return sync_once(p->removals, key, &w, NULL, NULL);
}

/* --- The plan --- */

/* New items are refreshed, and objects without an item removed. */
static void plan_apply(struct csi_capacity_publisher *p, const struct capacity_plan *old)
{
    const struct capacity_item *item;
    struct informer_cursor at;

    for (size_t i = 0; (item = map_next(&p->plan.items, &i, NULL));)
        if (!map_get(&old->items, str_of(item->name)))
            controller_add(p->refreshes, str_of(item->name));
    for (const struct object *o = informer_first(p->capacities, &at); o; o = informer_next(&at))
        if (csi_capacity_is_ours(p, o) && csi_capacity_is_obsolete(p, o))
            component_add(p->removals, o);
}

static void plan_again(void *ctx)
{
    struct csi_capacity_publisher *p = ctx;
    struct capacity_plan plan, old = p->plan;
    size_t wanted;
    struct error err;

    csi_capacity_plan_init(p, &plan);
    if (csi_capacity_plan_fill(p, &plan, &wanted, &err) < 0) {
        log_error("cannot plan the capacity objects of a driver, keeping them as they are",
                  LOG_STR("driver", csi_peer_name(p->o.peer)), LOG_ERR(&err));
        csi_capacity_plan_done(&plan);
        return;
    }
    if (wanted > plan.items.count && !p->is_truncated)
        log_warn("more classes and topology segments than capacity is published for",
                 LOG_STR("driver", csi_peer_name(p->o.peer)), LOG_UINT("wanted", wanted),
                 LOG_UINT("published", plan.items.count));
    p->is_truncated = wanted > plan.items.count;
    p->plan = plan;
    plan_apply(p, &old);
    csi_capacity_plan_done(&old);
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

    if (strcmp(csi_class_of(o)->provisioner, csi_peer_name(p->o.peer)) == 0)
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

    if (csi_capacity_is_ours(p, o) && csi_capacity_is_obsolete(p, o))
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
        count += csi_capacity_find_object(p, item->name) ? 1 : 0;
    return count;
}

static double count_obsolete(void *ctx)
{
    const struct csi_capacity_publisher *p = ctx;
    struct informer_cursor at;
    double count = 0;

    for (const struct object *o = informer_first(p->capacities, &at); o; o = informer_next(&at))
        count += csi_capacity_is_ours(p, o) && csi_capacity_is_obsolete(p, o) ? 1 : 0;
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
                                               .name = p->queue_names[0],
                                               .metrics = p->o.part.metrics,
                                               .seed = component_seed(&p->o.part, "csi-capacity"),
                                               .base_ns = s->retry_ns,
                                               .max_ns = s->retry_ns_max },
                                    .sync = csi_capacity_refresh,
                                    .ctx = p,
                                    .in_flight_max = s->others_max ? s->others_max : CSI_OTHERS_MAX,
                                    .api = p->api };
    int r;

    csi_queue_name("csi-capacity", p->o.peer, p->queue_names[0]);
    csi_queue_name("csi-capacity-remove", p->o.peer, p->queue_names[1]);
    r = controller_new(&c, &p->refreshes, err);
    if (r < 0)
        return r;
    c.queue.name = p->queue_names[1];
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
    csi_capacity_plan_init(p, &p->plan);
    deferred_init(&p->replan, o->part.loop, plan_again, p);
    timer_init(&p->poll, o->part.loop, on_poll, p);
    r = csi_capacity_manager(o->node_name, p->managed_by, err);
    if (r == 0)
        r = component_api(&o->part, CSI_CAPACITY_MANAGER, &p->api, err);
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
        csi_capacity_refresh_free(w);
    p->refreshes = controller_free(p->refreshes);
    p->removals = controller_free(p->removals);
    close_metric(p->goal);
    close_metric(p->current);
    close_metric(p->obsolete);
    csi_capacity_plan_done(&p->plan);
    free(p);
    return NULL;
}

const char *csi_capacity_check(const struct csi_capacity_publisher *p)
{
    const char *wrong = controller_check(p->refreshes);

    return wrong ? wrong : controller_check(p->removals);
}
