/* Event handlers of the caches: they update the desired state.
 *
 * A pod that ends is removed from all pairs, whatever its claims and volumes are by then. A pod whose claim
 * or volume is not in the caches yet is evaluated again when the claim or the volume is added, or by the
 * periodic pass. While a pod waits for a FlexVolume driver that is not initialized yet, nothing is detached:
 * the pod may need a volume that seems unused. */
#include "controllers/attach/attach_int.h"

#include <string.h>

#include "api/pod_claims.h"
#include "base/log.h"

#define PODS_BY_NODE "node"
/* Delay after which an uninitialized driver is checked again. */
#define AWAITING_NS (200 * NS_PER_MS)
/* The periodic pass: finds missed changes and unknown attachments; every third one evaluates all pods. */
#define POPULATE_NS (60 * NS_PER_S)
#define ALL_PODS_NS (180 * NS_PER_S)

/* --- The spec of a pod's volume --- */

static int check_bound(const struct claim *c, const struct volume *v, struct error *err)
{
    if (!v->claim.is_set)
        return error_set(err, ERR_INVALID,
                         "found PV object \"%s\" but it has a nil pv.Spec.ClaimRef indicating it is not yet "
                         "bound to the claim",
                         v->obj.name);
    if (strcmp(v->claim.uid, c->obj.uid) != 0)
        return error_set(err, ERR_INVALID,
                         "found PV object \"%s\" but its pv.Spec.ClaimRef.UID (\"%s\") does not point to "
                         "claim.UID (\"%s\")",
                         v->obj.name, v->claim.uid, c->obj.uid);
    return 0;
}

static int volume_of_claim(const struct attach *a, const struct pod *p, const struct pod_volume *v,
                           const struct volume **ret, struct error *err)
{
    const char *name = pod_claim_name(v);
    const struct object *o = informer_get(a->claims, p->obj.ns, name), *volume;
    const struct claim *c = o ? claim_of(o) : NULL;

    if (!c) {
        (void)informer_not_found(a->claims, name, err);
        return error_wrap(err, "failed to find PVC %s/%s in PVCInformer cache", p->obj.ns, name);
    }
    if (v->type == POD_VOLUME_EPHEMERAL && !pod_controls_claim(p, c))
        return error_set(err, ERR_INVALID, "PVC %s/%s was not created for pod %s/%s (pod is not owner)",
                         p->obj.ns, name, p->obj.ns, p->obj.name);
    if (c->phase != CLAIM_BOUND || !c->volume_name[0])
        return error_set(err, ERR_INVALID,
                         "PVC %s/%s has non-bound phase (\"%s\") or empty pvc.Spec.VolumeName (\"%s\")",
                         p->obj.ns, name, claim_phase_name(c->phase), c->volume_name);
    volume = informer_get(a->volumes, "", c->volume_name);
    if (!volume) {
        (void)informer_not_found(a->volumes, c->volume_name, err);
        return error_wrap(err, "failed to find PV \"%s\" in PVInformer cache", c->volume_name);
    }
    *ret = volume_of(volume);
    return check_bound(c, *ret, err);
}

/* --- A pod --- */

static int want_volume(struct attach *a, const struct pod *p, const struct pod_volume *v, struct error *err)
{
    _cleanup_(held_spec_clear_p) struct held_spec spec = { .holder = NULL };
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    const char *claim = pod_claim_name(v);
    const struct volume *volume = NULL;
    struct attacher_choice m = { 0 };
    int r;

    if (claim && volume_of_claim(a, p, v, &volume, err) < 0)
        return error_wrap(err, "error processing PVC \"%s\"/\"%s\"", p->obj.ns, claim);
    (void)held_spec_set(&spec, volume ? &volume->obj : &p->obj, volume ? NULL : v->name, v->is_read_only);
    r = held_spec_migrate(&spec, err);
    if (r == 0)
        r = attacher_select(a, &spec, p->node_name, &m, &name, err);
    if (r < 0 || !m.attacher)
        return r;
    return attach_state_want(a, p->node_name, buf_cstr(&name), &spec, &p->obj, err);
}

/* Evaluates the pod again when the driver is initialized. Without memory, the periodic pass does that. */
static void await_driver(struct attach *a, const struct pod *p)
{
    if (vec_push(&a->awaiting, NULL) < 0)
        return;
    a->awaiting.items[a->awaiting.count - 1] = object_ref(&p->obj);
    if (!timer_is_armed(&a->awaiting_timer))
        timer_arm_after(&a->awaiting_timer, AWAITING_NS);
}

static void on_awaiting(void *ctx)
{
    struct attach *a = ctx;
    size_t count = a->awaiting.count;

    for (size_t i = 0; i < count; i++) {
        struct object *was = a->awaiting.items[i];
        const struct object *is = informer_get(a->pods, was->ns, was->name);

        if (is && strcmp(is->uid, was->uid) == 0)
            attach_handlers_pod(a, pod_of(is));
        (void)object_unref(was);
    }
    a->awaiting.count -= count;
    memmove(a->awaiting.items, a->awaiting.items + count, a->awaiting.count * sizeof *a->awaiting.items);
    if (a->awaiting.count == 0)
        attach_state_mark_all(a); /* volumes that no pod needs may be detached now */
}

void attach_handlers_pod(struct attach *a, const struct pod *p)
{
    const struct attach_node *n = p->node_name[0] ? attach_node(a, p->node_name) : NULL;
    struct error err;

    if (!n || p->volumes.count == 0)
        return;
    if (pod_is_terminated(p)) {
        attach_state_forget_pod(a, p->node_name, p->obj.uid);
        return;
    }
    for (uint32_t i = 0; n->is_managed && i < p->volumes.count; i++)
        if (want_volume(a, p, &p->volumes.items[i], &err) < 0) {
            if (err.code == ERR_UNAVAILABLE)
                await_driver(a, p);
            log_debug("cannot determine volume of pod", LOG_STR("namespace", p->obj.ns),
                      LOG_STR("pod", p->obj.name), LOG_STR("volume", p->volumes.items[i].name),
                      LOG_ERR(&err));
        }
}

void attach_handlers_all_pods(struct attach *a)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(a->pods, &at); o; o = informer_next(&at))
        attach_handlers_pod(a, pod_of(o));
    a->all_pods_at_ns = loop_now_ns(a->o.part.loop);
}

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    attach_handlers_pod(ctx, pod_of(o));
}

static void on_pod_update(void *ctx, const struct object *old, const struct object *o)
{
    struct attach *a = ctx;

    if (strcmp(old->uid, o->uid) != 0) /* the delete event was missed */
        attach_state_forget_pod(a, pod_of(old)->node_name, old->uid);
    attach_handlers_pod(a, pod_of(o));
}

static void on_pod_gone(void *ctx, const struct object *o)
{
    attach_state_forget_pod(ctx, pod_of(o)->node_name, o->uid);
}

/* --- Claims and volumes --- */

static void evaluate_users(struct attach *a, const char *ns, const char *claim)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(CLAIM_KEY_BYTES_MAX);
    struct informer_cursor at;

    buf_addf(&key, "%s/%s", ns, claim);
    if (key.failed)
        return;
    for (const struct object *o = informer_first_by(a->pods, PODS_BY_CLAIM, buf_str(&key), &at); o;
         o = informer_next(&at))
        attach_handlers_pod(a, pod_of(o));
}

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    const struct claim *c = claim_of(o);

    if (!is_initial && c->phase == CLAIM_BOUND && c->volume_name[0])
        evaluate_users(ctx, o->ns, o->name);
}

static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    on_claim_add(ctx, o, /* is_initial= */ false);
}

/* The volume may be added after the claim that is bound to it. */
static void on_volume_add(void *ctx, const struct object *o, bool is_initial)
{
    const struct volume *v = volume_of(o);

    if (!is_initial && v->claim.is_set && v->claim.uid[0])
        evaluate_users(ctx, v->claim.ns, v->claim.name);
}

static void on_volume_update(void *ctx, const struct object *old, const struct object *o)
{
    if (strcmp(volume_of(old)->claim.uid, volume_of(o)->claim.uid) != 0)
        on_volume_add(ctx, o, /* is_initial= */ false);
}

/* --- Nodes --- */

static bool is_out_of_service(const struct node *n)
{
    return node_has_taint(n, TAINT_OUT_OF_SERVICE);
}

static bool is_same_list(struct texts a, struct texts b)
{
    for (uint32_t i = 0; i < a.count && a.count == b.count; i++)
        if (strcmp(a.items[i], b.items[i]) != 0)
            return false;
    return a.count == b.count;
}

/* Most heartbeats do not change the list. */
static void update_in_use(struct attach_node *n, const struct node *old, const struct node *is)
{
    if (old && !n->is_in_use_old && is_same_list(old->volumes_in_use, is->volumes_in_use)) {
        attach_state_confirm_in_use(n);
        return;
    }
    n->is_in_use_old = attach_state_set_in_use(n, is->volumes_in_use) < 0;
    if (n->is_in_use_old)
        log_error("no memory for volumes in use of node", LOG_STR("node", n->name));
}

static void on_node(struct attach *a, const struct node *old, const struct node *is)
{
    struct attach_node *n = attach_state_node_get(a, is->obj.name);
    bool was_managed = n && n->is_managed;
    struct informer_cursor at;
    const struct object *pod;

    if (!n) {
        log_error("no memory for node, skipped until its next change", LOG_STR("node", is->obj.name));
        return;
    }
    n->exists = true;
    n->is_managed = was_managed || object_annotation(&is->obj, ANN_CONTROLLER_ATTACHES);
    attach_recover_listed(
        a, n, is); /* before update_in_use(): volumesInUse of this version covers these volumes too */
    update_in_use(n, old, is);
    if (old)
        attach_status_observe(n, is);
    if (!old || node_is_ready(old) != node_is_ready(is) || is_out_of_service(old) != is_out_of_service(is))
        attach_state_mark_node(n);
    if (!n->is_managed || was_managed)
        return;
    for (pod = informer_first_by(a->pods, PODS_BY_NODE, str_of(is->obj.name), &at); pod;
         pod = informer_next(&at))
        attach_handlers_pod(a, pod_of(pod));
}

/* attach_recover() has handled the nodes of the first list. */
static void on_node_add(void *ctx, const struct object *o, bool is_initial)
{
    struct attach *a = ctx;
    struct attach_node *n = attach_node(a, o->name);

    if (is_initial && n && n->exists)
        return;
    on_node(a, NULL, node_of(o));
    n = attach_node(a, o->name);
    if (n && n->pairs.count > 0) { /* a new Node with the same name: its status lists no volumes */
        n->may_match = true;
        n->report++;
        attach_status_mark(n);
    }
}

static void on_node_update(void *ctx, const struct object *old, const struct object *o)
{
    if (strcmp(old->uid, o->uid) != 0)
        on_node_add(ctx, o, /* is_initial= */ false);
    else
        on_node(ctx, node_of(old), node_of(o));
}

static void on_node_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct attach *a = ctx;
    struct attach_node *n = attach_node(a, o->name);
    size_t wanted = 0;

    (void)is_final_unknown;
    if (!n)
        return;
    for (size_t i = 0; i < n->pairs.count; i++)
        wanted += pair_is_wanted(n->pairs.items[i]);
    n->exists = false;
    if (wanted > 0)
        log_warn(
            "failed to delete node from list of nodes managed by attach/detach controller--the node still "
            "contains volumes in its list of volumes to attach",
            LOG_STR("node", o->name), LOG_UINT("volumes", wanted));
    n->is_managed = wanted > 0;
    update_in_use(n, /* old= */ NULL, node_of(o));
    attach_state_mark_node(n);
    attach_status_mark(n);
    attach_state_node_settle(n);
}

/* --- The periodic pass --- */

static bool is_pod_gone(const struct attach *a, const struct object *pod)
{
    const struct object *now = informer_get(a->pods, pod->ns, pod->name);

    return !now || strcmp(now->uid, pod->uid) != 0 || pod_is_terminated(pod_of(now));
}

/* False if the driver was found to need no attaching since the pair was created. */
static bool is_attachable(struct attach *a, const struct attach_pair *p)
{
    struct attacher_choice m;
    struct error err;

    return attacher_select(a, &p->wanted, p->node->name, &m, /* ret_name= */ NULL, &err) < 0 || m.attacher;
}

/* Marks unwanted pairs again, because a missing plugin may be back. May free the pair. */
static void check_pair(struct attach *a, struct attach_pair *p)
{
    if (!pair_is_wanted(p))
        attach_state_mark(p->volume);
    if (pair_is_wanted(p) && !is_attachable(a, p)) {
        attach_state_unwant(p);
        return;
    }
    for (size_t i = p->pods.count; i > 0; i--)
        if (is_pod_gone(a, p->pods.items[i - 1]))
            attach_state_unwant_pod(p, i - 1);
}

/* Visits pairs from last to first, because settling one removes it. Settling the last pair of a deleted node
 * frees the node, so the cursor is set again. */
static void check_wanted_pairs(struct attach *a)
{
    struct omap_cursor at;
    struct attach_node *n = omap_first(&a->state.nodes, &at), *next;

    for (; n; n = next) {
        next = omap_next(&at);
        for (size_t i = n->pairs.count; i > 0; i--)
            check_pair(a, n->pairs.items[i - 1]);
        if (next)
            (void)omap_lower_bound(&a->state.nodes, /* rank= */ 0, next->name, &at);
    }
}

static void on_populate(void *ctx)
{
    struct attach *a = ctx;

    timer_arm_after(&a->populate_timer, POPULATE_NS);
    check_wanted_pairs(a);
    attach_recover_attachments(a);
    if (loop_now_ns(a->o.part.loop) - a->all_pods_at_ns >= ALL_PODS_NS)
        attach_handlers_all_pods(a);
}

/* --- Lifecycle --- */

static void index_by_node(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct pod *p = pod_of(o);

    if (p->node_name[0] && p->volumes.count > 0)
        emit(ctx, str_of(p->node_name));
}

static const struct informer_index node_index = { PODS_BY_NODE, index_by_node };

int attach_handlers_open(struct attach *a, struct error *err)
{
    timer_init(&a->awaiting_timer, a->o.part.loop, on_awaiting, a);
    a->pods = component_pods(a->o.part.informers, err);
    if (a->pods)
        a->pods = component_indexed(a->o.part.informers, KIND_POD, &node_index, err);
    return a->pods ? 0 : -(int)err->code;
}

static void on_attachment_add(void *ctx, const struct object *o, bool is_initial)
{
    if (!is_initial)
        csi_attach_on_event(ctx, o->name);
}

static void on_attachment(void *ctx, const struct object *o)
{
    csi_attach_on_event(ctx, o->name);
}

void attach_handlers_start(struct attach *a)
{
    a->nodes_handler = (struct informer_handler){
        .on_add = on_node_add, .on_update = on_node_update, .on_delete = on_node_delete, .ctx = a
    };
    a->pods_handler = (struct informer_handler){
        .on_add = on_pod_add, .on_update = on_pod_update, .on_removed = on_pod_gone, .ctx = a
    };
    a->claims_handler =
        (struct informer_handler){ .on_add = on_claim_add, .on_update = on_claim_update, .ctx = a };
    a->volumes_handler =
        (struct informer_handler){ .on_add = on_volume_add, .on_update = on_volume_update, .ctx = a };
    a->attachments_handler = (struct informer_handler){
        .on_add = on_attachment_add, .on_upsert = on_attachment, .on_removed = on_attachment, .ctx = a
    };
    informer_add_handler(a->nodes, &a->nodes_handler);
    informer_add_handler(a->claims, &a->claims_handler);
    informer_add_handler(a->volumes, &a->volumes_handler);
    informer_add_handler(a->attachments, &a->attachments_handler);
    informer_add_handler(a->pods, &a->pods_handler);
    timer_init(&a->populate_timer, a->o.part.loop, on_populate, a);
    timer_arm_after(&a->populate_timer, POPULATE_NS);
}

void attach_handlers_stop(struct attach *a)
{
    informer_remove_handler(&a->nodes_handler);
    informer_remove_handler(&a->pods_handler);
    informer_remove_handler(&a->claims_handler);
    informer_remove_handler(&a->volumes_handler);
    informer_remove_handler(&a->attachments_handler);
    timer_disarm(&a->awaiting_timer);
    timer_disarm(&a->populate_timer);
    for (size_t i = 0; i < a->awaiting.count; i++)
        (void)object_unref(a->awaiting.items[i]);
    vec_done(&a->awaiting);
}
