/* From what happens in the caches to what is wanted.
 *
 * A pod that ends takes its wishes with it wherever they are: what its claim or volume has become by then
 * does not matter. Wishes that could not be told from the caches, since a claim or a volume was not there
 * yet, come with the claim, with the volume, or with the slow pass. Nothing is detached while a pod waits for
 * a driver that has not said yet whether it attaches: it may want what nobody seems to want. */
#include "controllers/attach/attach_int.h"

#include <string.h>

#include "api/pod_claims.h"
#include "base/log.h"

#define PODS_BY_NODE "node"
/* How soon it is looked whether a driver has answered. */
#define AWAITING_NS (200 * NS_PER_MS)

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

static int spec_of(const struct attach *a, const struct pod *p, const struct pod_volume *v,
                   struct held_spec *ret, struct error *err)
{
    const char *claim = pod_claim_name(v);
    const struct volume *volume = NULL;

    if (claim && volume_of_claim(a, p, v, &volume, err) < 0)
        return error_wrap(err, "error processing PVC \"%s\"/\"%s\"", p->obj.ns, claim);
    (void)held_spec_set(ret, volume ? &volume->obj : &p->obj, volume ? NULL : v->name, v->is_read_only);
    return held_spec_migrate(ret, err);
}

/* --- A pod --- */

static int want_volume(struct attach *a, const struct pod *p, const struct pod_volume *v, struct error *err)
{
    _cleanup_(held_spec_clear_p) struct held_spec spec = { .holder = NULL };
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    struct attach_means m = { 0 };
    int r = spec_of(a, p, v, &spec, err);

    if (r == 0)
        r = attach_means_find(a, &spec, p->node_name, &m, &name, err);
    if (r < 0 || !m.attacher)
        return r;
    return worlds_want(a, p->node_name, buf_cstr(&name), &spec, &p->obj, err);
}

/* Without memory: the slow pass looks at all pods. */
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
            attach_inputs_pod(a, pod_of(is));
        (void)object_unref(was);
    }
    a->awaiting.count -= count;
    memmove(a->awaiting.items, a->awaiting.items + count, a->awaiting.count * sizeof *a->awaiting.items);
    if (a->awaiting.count == 0)
        worlds_mark_all(a); /* what nobody wants may be detached now */
}

void attach_inputs_pod(struct attach *a, const struct pod *p)
{
    const struct worlds_node *n = p->node_name[0] ? worlds_node(a, p->node_name) : NULL;
    struct error err;

    if (!n || p->volumes.count == 0)
        return;
    if (pod_is_terminated(p)) {
        worlds_forget_pod(a, p->node_name, p->obj.uid);
        return;
    }
    for (uint32_t i = 0; n->is_managed && i < p->volumes.count; i++)
        if (want_volume(a, p, &p->volumes.items[i], &err) < 0) {
            if (err.code == ERR_UNAVAILABLE)
                await_driver(a, p);
            log_debug("cannot tell which volume a pod wants", LOG_STR("namespace", p->obj.ns),
                      LOG_STR("pod", p->obj.name), LOG_STR("volume", p->volumes.items[i].name),
                      LOG_ERR(&err));
        }
}

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    attach_inputs_pod(ctx, pod_of(o));
}

static void on_pod_update(void *ctx, const struct object *old, const struct object *o)
{
    struct attach *a = ctx;

    if (strcmp(old->uid, o->uid) != 0) /* its end was not heard of */
        worlds_forget_pod(a, pod_of(old)->node_name, old->uid);
    attach_inputs_pod(a, pod_of(o));
}

static void on_pod_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)is_final_unknown;
    worlds_forget_pod(ctx, pod_of(o)->node_name, o->uid);
}

/* --- Claims and volumes --- */

static void look_at_users(struct attach *a, const char *ns, const char *claim)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(CLAIM_KEY_BYTES_MAX);
    struct informer_cursor at;

    buf_addf(&key, "%s/%s", ns, claim);
    if (key.failed)
        return;
    for (const struct object *o = informer_first_by(a->pods, PODS_BY_CLAIM, buf_str(&key), &at); o;
         o = informer_next(&at))
        attach_inputs_pod(a, pod_of(o));
}

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    const struct claim *c = claim_of(o);

    if (!is_initial && c->phase == CLAIM_BOUND && c->volume_name[0])
        look_at_users(ctx, o->ns, o->name);
}

static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    on_claim_add(ctx, o, /* is_initial= */ false);
}

/* It may come later than the claim that is bound to it. */
static void on_volume_add(void *ctx, const struct object *o, bool is_initial)
{
    const struct volume *v = volume_of(o);

    if (!is_initial && v->claim.is_set && v->claim.uid[0])
        look_at_users(ctx, v->claim.ns, v->claim.name);
}

static void on_volume_update(void *ctx, const struct object *old, const struct object *o)
{
    if (strcmp(volume_of(old)->claim.uid, volume_of(o)->claim.uid) != 0)
        on_volume_add(ctx, o, /* is_initial= */ false);
}

/* --- Nodes --- */

static void look_at_pods_on(struct attach *a, const char *node)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first_by(a->pods, PODS_BY_NODE, str_of(node), &at); o;
         o = informer_next(&at))
        attach_inputs_pod(a, pod_of(o));
}

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

/* Heartbeats come often and mostly say the same. */
static void hear_in_use(struct worlds_node *n, const struct node *old, const struct node *is)
{
    if (old && !n->is_in_use_old && is_same_list(old->volumes_in_use, is->volumes_in_use)) {
        worlds_confirm_in_use(n);
        return;
    }
    n->is_in_use_old = worlds_set_in_use(n, is->volumes_in_use) < 0;
    if (n->is_in_use_old)
        log_error("no memory for what a node has in use", LOG_STR("node", n->name));
}

static void on_node(struct attach *a, const struct node *old, const struct node *is)
{
    struct worlds_node *n = worlds_node_get(a, is->obj.name);
    bool was_managed = n && n->is_managed;

    if (!n) {
        log_error("no memory for a node, it is looked at again when it changes",
                  LOG_STR("node", is->obj.name));
        return;
    }
    n->exists = true;
    n->is_managed = was_managed || object_annotation(&is->obj, ANN_CONTROLLER_ATTACHES);
    hear_in_use(n, old, is);
    if (!old || node_is_ready(old) != node_is_ready(is) || is_out_of_service(old) != is_out_of_service(is))
        worlds_mark_node(n);
    if (n->is_managed && !was_managed)
        look_at_pods_on(a, is->obj.name);
}

/* Of those that were there at the start attach_recover() knows all. */
static void on_node_add(void *ctx, const struct object *o, bool is_initial)
{
    struct attach *a = ctx;
    struct worlds_node *n = worlds_node(a, o->name);

    if (is_initial && n && n->exists)
        return;
    on_node(a, NULL, node_of(o));
    n = worlds_node(a, o->name);
    if (n && n->pairs.count > 0) { /* another one of that name: it knows nothing of what is attached */
        n->may_be_right = true;
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

static size_t count_wanted(const struct worlds_node *n)
{
    size_t count = 0;

    for (size_t i = 0; i < n->pairs.count; i++)
        count += pair_is_wanted(n->pairs.items[i]);
    return count;
}

static void on_node_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct attach *a = ctx;
    struct worlds_node *n = worlds_node(a, o->name);
    size_t wanted = n ? count_wanted(n) : 0;

    (void)is_final_unknown;
    if (!n)
        return;
    n->exists = false;
    if (wanted > 0)
        log_warn(
            "failed to delete node from list of nodes managed by attach/detach controller--the node still "
            "contains volumes in its list of volumes to attach",
            LOG_STR("node", o->name), LOG_UINT("volumes", wanted));
    n->is_managed = wanted > 0;
    hear_in_use(n, /* old= */ NULL, node_of(o));
    worlds_mark_node(n);
    attach_status_mark(n);
    worlds_node_settle(n);
}

/* --- Life --- */

static void index_by_node(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct pod *p = pod_of(o);

    if (p->node_name[0] && p->volumes.count > 0)
        emit(ctx, str_of(p->node_name));
}

static const struct informer_index node_index = { PODS_BY_NODE, index_by_node };

int attach_inputs_open(struct attach *a, struct error *err)
{
    timer_init(&a->awaiting_timer, a->o.part.loop, on_awaiting, a);
    a->pods = part_pods(a->o.part.informers, err);
    if (a->pods)
        a->pods = part_indexed(a->o.part.informers, KIND_POD, &node_index, err);
    return a->pods ? 0 : -(int)err->code;
}

static void on_attachment_add(void *ctx, const struct object *o, bool is_initial)
{
    if (!is_initial)
        csi_attach_on_event(ctx, o->name);
}

static void on_attachment_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    csi_attach_on_event(ctx, o->name);
}

static void on_attachment_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)is_final_unknown;
    csi_attach_on_event(ctx, o->name);
}

void attach_inputs_start(struct attach *a)
{
    a->nodes_handler = (struct informer_handler){
        .on_add = on_node_add, .on_update = on_node_update, .on_delete = on_node_delete, .ctx = a
    };
    a->pods_handler = (struct informer_handler){
        .on_add = on_pod_add, .on_update = on_pod_update, .on_delete = on_pod_delete, .ctx = a
    };
    a->claims_handler =
        (struct informer_handler){ .on_add = on_claim_add, .on_update = on_claim_update, .ctx = a };
    a->volumes_handler =
        (struct informer_handler){ .on_add = on_volume_add, .on_update = on_volume_update, .ctx = a };
    a->attachments_handler = (struct informer_handler){ .on_add = on_attachment_add,
                                                        .on_update = on_attachment_update,
                                                        .on_delete = on_attachment_delete,
                                                        .ctx = a };
    informer_add_handler(a->nodes, &a->nodes_handler);
    informer_add_handler(a->claims, &a->claims_handler);
    informer_add_handler(a->volumes, &a->volumes_handler);
    informer_add_handler(a->attachments, &a->attachments_handler);
    informer_add_handler(a->pods, &a->pods_handler);
}

void attach_inputs_stop(struct attach *a)
{
    informer_remove_handler(&a->nodes_handler);
    informer_remove_handler(&a->pods_handler);
    informer_remove_handler(&a->claims_handler);
    informer_remove_handler(&a->volumes_handler);
    informer_remove_handler(&a->attachments_handler);
    timer_disarm(&a->awaiting_timer);
    for (size_t i = 0; i < a->awaiting.count; i++)
        (void)object_unref(a->awaiting.items[i]);
    vec_done(&a->awaiting);
}
