/* Selects this node for claims with immediate binding. One queue of claims; a key that is in process has one
 * self_selection. */
#include "controllers/csi/csi_self_select.h"

#include <stdlib.h>
#include <string.h>

#include "api/claim.h"
#include "api/class.h"
#include "base/log.h"
#include "base/rng.h"
#include "controllers/csi/csi_capacity.h"
#include "machinery/merge_patch.h"
#include "plugins/csi/csi_int.h"

#define MANAGER "external-provisioner"
#define DELAY_NS (20 * NS_PER_S)
#define DELAY_NS_MAX (60 * NS_PER_S)
#define JITTER_PERCENT 20
#define RESYNC_NS (900 * NS_PER_S) /* for classes that come after their claims */

/* One claim in process. */
struct self_selection {
    TAILQ_ENTRY(self_selection) link;
    struct csi_self_select *owner;
    struct object *claim;
    struct csi_controller_call call;
    struct api_write write;
    size_t key_len;
    char key[];
};

struct csi_self_select {
    struct csi_function_options o;
    struct informer *claims, *classes, *nodes, *csi_nodes;
    struct informer_handler on_claims;
    struct controller *controller;
    char queue_name[CSI_QUEUE_BYTES];
    struct api api;
    struct rng rng;
    TAILQ_HEAD(, self_selection) works;
};

/* --- The end --- */

static void selection_free(struct self_selection *w)
{
    TAILQ_REMOVE(&w->owner->works, w, link);
    csi_controller_call_cancel(&w->call);
    api_write_cancel(&w->write);
    (void)object_unref(w->claim);
    free(w);
}

static void selection_end(struct self_selection *w, enum sync_result result)
{
    controller_finish(w->owner->controller, (struct str){ w->key, w->key_len }, result);
    selection_free(w);
}

/* --- Writing --- */

static void on_selected(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct self_selection *w = ctx;

    if (outcome == API_DONE)
        log_info("this node serves the claim", LOG_STR("claim", w->key),
                 LOG_STR("driver", csi_peer_name(w->owner->o.peer)));
    /* After a conflict another node may be selected: the next sync sees it. */
    selection_end(w, api_write_succeeded(outcome) || a->r == -ERR_NOT_FOUND ? SYNC_DONE : SYNC_AGAIN);
}

static enum api_decision decide_selected(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    const struct self_selection *w = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_annotation(&p, ANN_SELECTED_NODE, w->owner->o.node_name);
    return api_decision_of(merge_patch_end(&p, err));
}

static void select_node(struct self_selection *w)
{
    const struct api_write_options o = { .api = w->owner->api,
                                         .request = { .verb = CLIENT_PATCH },
                                         .object = w->claim,
                                         .decide = decide_selected,
                                         .step = API_STEP_SELECTED_NODE,
                                         .informer = w->owner->claims,
                                         .done = on_selected,
                                         .ctx = w };

    api_write_start(&w->write, &o);
}

/* --- Asking the driver --- */

static bool has_room(const struct claim *c, const Csi__V1__GetCapacityResponse *m)
{
    int64_t bytes = c->has_request ? quantity_value(&c->request) : 0;

    return m->available_capacity >= bytes &&
           (!m->maximum_volume_size || m->maximum_volume_size->value >= bytes);
}

static void on_capacity(struct csi_controller_call *call, const struct csi_answer *a)
{
    struct self_selection *w = CONTAINER_OF(call, struct self_selection, call);

    if (a->outcome != CSI_DONE) {
        log_warn("cannot ask for capacity, claim is left to other nodes for now", LOG_STR("claim", w->key),
                 LOG_ERR(a->err));
        selection_end(w, SYNC_AGAIN);
    } else if (!has_room(claim_of(w->claim),
                         (const Csi__V1__GetCapacityResponse *)(const void *)a->message)) {
        selection_end(w, SYNC_AGAIN);
    } else {
        select_node(w);
    }
}

/* The driver is asked about the segment of this node. */
static int ask_capacity(struct self_selection *w, const struct storage_class *class, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    const struct csi_self_select *s = w->owner;
    const struct csi_segments_request q = { .driver = csi_peer_name(s->o.peer),
                                            .node_name = s->o.node_name,
                                            .nodes = s->nodes,
                                            .csi_nodes = s->csi_nodes };
    Csi__V1__GetCapacityRequest *m = NULL;
    struct csi_terms segments;
    int r = csi_topology_segments(&a, &q, &segments, err);

    if (r == 0 && segments.count == 0)
        r = error_set(err, ERR_UNAVAILABLE, "the driver is not registered on this node");
    if (r == 0)
        r = csi_capacity_request(&a, class, &segments.items[0], &m, err);
    if (r < 0)
        return r;
    w->call.done = on_capacity;
    csi_controller_call_start(s->o.peer, &w->call, CSI_GET_CAPACITY, &m->base, s->o.settings->timeout_ns);
    return 0;
}

/* --- The queue --- */

/* The class of a claim that no node is selected for and none will be; NULL: not such a claim. */
static const struct storage_class *unselected_class(const struct csi_self_select *s, const struct object *o)
{
    const struct claim *c = claim_of(o);
    const struct object *class = c->class[0] ? informer_get(s->classes, "", c->class) : NULL;
    const struct storage_class *k = (const struct storage_class *)(const void *)class;
    const char *driver = csi_peer_name(s->o.peer), *node = object_annotation(o, ANN_SELECTED_NODE);

    if (!k || o->is_deleting || c->volume_name[0] || (node && node[0]) ||
        strcmp(k->provisioner, driver) != 0 || k->binding == BINDING_WAIT_FOR_FIRST_CONSUMER)
        return NULL;
    return object_annotation_is(o, ANN_PROVISIONER, driver) ||
                   object_annotation_is(o, ANN_PROVISIONER_BETA, driver)
               ? k
               : NULL;
}

static enum sync_result sync_selection(void *ctx, struct str key)
{
    struct csi_self_select *s = ctx;
    const struct object *o = informer_get_key(s->claims, key);
    const struct storage_class *class = o ? unselected_class(s, o) : NULL;
    struct self_selection *w;
    struct error err;

    if (!class)
        return SYNC_DONE;
    w = calloc(1, sizeof *w + key.len + 1);
    if (!w)
        return SYNC_AGAIN;
    w->owner = s;
    w->claim = object_ref(o);
    w->key_len = key.len;
    memcpy(w->key, key.s, key.len); /* calloc() has added the NUL */
    TAILQ_INSERT_TAIL(&s->works, w, link);
    if (!csi_peer_can(s->o.peer, CSI_ABILITY_GET_CAPACITY)) {
        select_node(w);
    } else if (ask_capacity(w, class, &err) < 0) {
        log_warn("cannot ask for capacity, retrying", LOG_STR("claim", w->key), LOG_ERR(&err));
        selection_end(w, SYNC_AGAIN);
    }
    return SYNC_LATER;
}

/* Nodes do not try at the same time. A claim that waits keeps its time. */
static void on_claim(void *ctx, const struct object *o)
{
    struct csi_self_select *s = ctx;
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(1024);

    if (!unselected_class(s, o))
        return;
    object_key(o, &key);
    if (!key.failed)
        workqueue_add_after(controller_queue(s->controller), buf_str(&key),
                            DELAY_NS + rng_below(&s->rng, DELAY_NS));
}

/* --- Life --- */

static int open_queue(struct csi_self_select *s, struct error *err)
{
    const struct controller_options c = { .queue = { .loop = s->o.part.loop,
                                                     .name = s->queue_name,
                                                     .metrics = s->o.part.metrics,
                                                     .seed = rng_u64(&s->rng),
                                                     .base_ns = DELAY_NS,
                                                     .max_ns = DELAY_NS_MAX,
                                                     .jitter_percent = JITTER_PERCENT },
                                          .sync = sync_selection,
                                          .ctx = s,
                                          .in_flight_max = CSI_OTHERS_MAX,
                                          .api = s->api };

    csi_queue_name("csi-self-select", s->o.peer, s->queue_name);
    return controller_new(&c, &s->controller, err);
}

int csi_self_select_new(const struct csi_function_options *o, struct csi_self_select **ret, struct error *err)
{
    _cleanup_(csi_self_select_free_p) struct csi_self_select *s = calloc(1, sizeof *s);
    struct informers *all = o->part.informers;
    int r;

    if (!s)
        return error_no_memory(err);
    s->o = *o;
    TAILQ_INIT(&s->works);
    rng_init(&s->rng, component_seed(&o->part, o->node_name));
    s->claims = informers_get(all, KIND_CLAIM, err);
    s->classes = s->claims ? informers_get(all, KIND_CLASS, err) : NULL;
    s->nodes = s->classes ? informers_get(all, KIND_NODE, err) : NULL;
    s->csi_nodes = s->nodes ? informers_get(all, KIND_CSI_NODE, err) : NULL;
    r = s->csi_nodes ? component_api(&o->part, MANAGER, &s->api, err) : -(int)err->code;
    if (r == 0)
        r = open_queue(s, err);
    if (r == 0)
        *ret = TAKE(s);
    return r;
}

void csi_self_select_start(struct csi_self_select *s)
{
    s->on_claims = (struct informer_handler){ .on_upsert = on_claim, .ctx = s, .resync_ns = RESYNC_NS };
    informer_add_handler(s->claims, &s->on_claims);
}

struct csi_self_select *csi_self_select_free(struct csi_self_select *s)
{
    struct self_selection *w;

    if (!s)
        return NULL;
    informer_remove_handler(&s->on_claims);
    while ((w = TAILQ_FIRST(&s->works)))
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed element has left the list */
        selection_free(w);
    s->controller = controller_free(s->controller);
    free(s);
    return NULL;
}

const char *csi_self_select_check(const struct csi_self_select *s)
{
    return controller_check(s->controller);
}
