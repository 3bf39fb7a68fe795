/* Expands volumes of a driver, the part of external-resizer. One expansion, step by step:
 *
 *   (a) the claim records the size and that it is in progress   another process continues with this size
 *   (b) ControllerExpandVolume                                  not for drivers that expand only on nodes
 *   (c) the volume records its size                             never less than it had
 *   (d) the claim records the end, or that it is the node's turn
 *
 * Every step can be the last one; the next sync continues from the objects. */
#include "controllers/csi/csi_resizer_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "api/pod.h"
#include "base/die.h"
#include "base/log.h"
#include "controllers/csi/csi_capability.h"
#include "controllers/csi/csi_resize_plan.h"
#include "machinery/merge_patch.h"
#include "machinery/resize_patch.h"

#define ANN_NODE_EXPANSION_NOT_REQUIRED "volume.kubernetes.io/node-expansion-not-required"
#define QUEUE "csi_resize"
#define RESYNC_NS (600 * NS_PER_S)

/* One expansion in progress. */
struct csi_resize {
    TAILQ_ENTRY(csi_resize) link;
    struct csi_resizer *owner;
    struct object *claim, *volume; /* as read or answered last */
    struct quantity size;
    bool needs_node;
    struct api_write write;
    struct csi_controller_call rpc;
    size_t key_len;
    char key[];
};

uint64_t csi_resize_limit_ns(const struct csi_resizer *z)
{
    return z->o.settings->timeout_ns ? z->o.settings->timeout_ns : CSI_RESIZE_TIMEOUT_NS;
}

/* --- Memory --- */

static struct csi_resize_memory *memory_get(const struct csi_resizer *z, const char *uid)
{
    return map_get(&z->memory, str_of(uid));
}

static struct csi_resize_memory *memory_of(struct csi_resizer *z, const char *uid)
{
    struct csi_resize_memory *m = memory_get(z, uid);
    size_t len = strlen(uid);

    if (m)
        return m;
    m = calloc(1, sizeof *m + len + 1);
    if (m)
        memcpy(m->uid, uid, len + 1);
    if (!m || map_put(&z->memory, (struct str){ m->uid, len }, m, NULL) < 0)
        die_with_reason("no memory to record a failed expansion: it would be retried without delay");
    return m;
}

static void memory_forget(struct csi_resizer *z, const char *uid)
{
    free(map_remove(&z->memory, str_of(uid)));
}

/* --- The end --- */

static void resize_free(struct csi_resize *resize)
{
    TAILQ_REMOVE(&resize->owner->resizes, resize, link);
    api_write_cancel(&resize->write);
    csi_controller_call_cancel(&resize->rpc);
    (void)object_unref(resize->claim);
    (void)object_unref(resize->volume);
    free(resize);
}

static void resize_end(struct csi_resize *resize, enum sync_result result)
{
    controller_finish(resize->owner->controller, (struct str){ resize->key, resize->key_len }, result);
    resize_free(resize);
}

static void resize_fail(struct csi_resize *resize, const struct error *err)
{
    log_warn("claim not expanded, retrying", LOG_STR("claim", resize->key), LOG_ERR(err));
    resize_end(resize, SYNC_AGAIN);
}

static struct timestamp now_of(const struct csi_resize *resize)
{
    return timestamp_of_ns(clock_real_ns(resize->owner->o.part.clock));
}

/* --- Writing --- */

static void patch_object(struct csi_resize *resize, const struct object *o, const char *subresource,
                         api_decide_fn *decide, api_done_fn *done)
{
    struct api_write_options w = {
        .api = resize->owner->api,
        .request = { .verb = CLIENT_PATCH, .subresource = subresource, .patch = CLIENT_PATCH_STRATEGIC },
        .object = o,
        .decide = decide,
        .step = API_STEP_RESIZE,
        .informer = o->kind->kind == KIND_CLAIM ? resize->owner->claims : resize->owner->volumes,
        .done = done,
        .ctx = resize
    };

    api_write_start(&resize->write, &w);
}

/* True: written, and the answer replaces what was known. Else the sync has ended. */
static bool keep_answer(struct csi_resize *resize, enum api_outcome outcome, const struct client_answer *a)
{
    struct object **place;

    if (api_write_succeeded(outcome) && a->object) {
        place = a->object->kind->kind == KIND_CLAIM ? &resize->claim : &resize->volume;
        (void)object_unref(*place);
        *place = object_ref(a->object);
        return true;
    }
    if (outcome == API_CONFLICT)
        resize_end(resize, SYNC_OVERTAKEN);
    else if (a->r == -ERR_NOT_FOUND)
        resize_end(resize, SYNC_DONE);
    else
        resize_fail(resize, &a->error);
    return false;
}

/* --- (d) --- */

static void on_finished(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_resize *resize = ctx;

    if (!keep_answer(resize, outcome, a))
        return;
    memory_forget(resize->owner, resize->claim->uid);
    if (resize->needs_node)
        recorder_event(resize->owner->recorder, resize->claim, EVENT_NORMAL, "FileSystemResizeRequired",
                       "Require file system resize of volume on node");
    else
        recorder_event(resize->owner->recorder, resize->claim, EVENT_NORMAL, "VolumeResizeSuccessful",
                       "Resize volume succeeded");
    log_info("volume expanded", LOG_STR("claim", resize->key), LOG_STR("volume", resize->volume->name));
    resize_end(resize, SYNC_DONE);
}

static int write_done(const struct claim *c, const struct quantity *size, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_NODE_EXPANSION_NOT_REQUIRED, "true");
    merge_patch_member(&p, "status");
    resize_patch_conditions(out, c, /* wanted= */ NULL, /* message= */ NULL, /* drops= */ true,
                            (struct timestamp){ 0, 0 });
    json_out_storage(out, "capacity", size);
    resize_patch_status(out, RESIZE_NONE);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

static enum api_decision decide_finished(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    const struct csi_resize *resize = ctx;

    return api_decision_of(resize->needs_node
                               ? resize_write_node_pending(claim_of(now), now_of(resize), body, err)
                               : write_done(claim_of(now), &resize->size, body, err));
}

/* --- (c) --- */

static void on_capacity_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_resize *resize = ctx;

    if (keep_answer(resize, outcome, a))
        patch_object(resize, resize->claim, "status", decide_finished, on_finished);
}

static enum api_decision decide_capacity(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    const struct csi_resize *resize = ctx;
    const struct volume *v = volume_of(now);
    bool keeps = resize->needs_node && !object_annotation(now, ANN_PRE_RESIZE_CAPACITY);
    bool grows = quantity_cmp(&v->capacity, &resize->size) < 0;

    if (!keeps && !grows)
        return API_AS_IT_IS;
    return api_decision_of(resize_write_capacity(v, grows ? &resize->size : &v->capacity,
                                                 keeps ? &v->capacity : NULL, body, err));
}

/* --- (b) --- */

static void on_failure_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_resize *resize = ctx;

    (void)outcome;
    (void)a; /* it is written again with the next failure */
    resize_end(resize, SYNC_AGAIN);
}

/* Valid for any version of the claim: only this controller writes these fields. */
static enum api_decision decide_failure(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct csi_resize *resize = ctx;
    const struct csi_resize_memory *m = memory_get(resize->owner, resize->claim->uid);
    struct merge_patch p;

    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    resize_patch_conditions(body, claim_of(now), CLAIM_CONTROLLER_RESIZE_ERROR, m->message,
                            /* drops= */ false, now_of(resize));
    if (m->infeasible_until_ns)
        resize_patch_status(body, RESIZE_CONTROLLER_INFEASIBLE);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_call_failed(struct csi_resize *resize, const struct csi_answer *a)
{
    struct csi_resizer *z = resize->owner;
    struct csi_resize_memory *m = memory_of(z, resize->claim->uid);
    bool is_final = a->outcome == CSI_FINAL || a->outcome == CSI_INFEASIBLE;

    m->was_final = is_final;
    m->infeasible_until_ns =
        a->outcome == CSI_INFEASIBLE ? loop_now_ns(z->o.part.loop) + CSI_SLOW_RETRY_NS : 0;
    if (a->code == RPC_FAILED_PRECONDITION)
        m->was_in_use = true;
    (void)snprintf(m->message, sizeof m->message, "failed to expand pvc with %s", a->err->msg);
    recorder_event(z->recorder, resize->claim, EVENT_WARNING, "VolumeResizeFailed",
                   "resize volume \"%s\" by resizer \"%s\" failed: %s", resize->volume->name,
                   csi_peer_name(z->o.peer), a->err->msg);
    if (is_final)
        patch_object(resize, resize->claim, "status", decide_failure, on_failure_written);
    else
        resize_fail(resize, a->err);
}

static void on_expanded(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_resize *resize = CONTAINER_OF(c, struct csi_resize, rpc);
    const Csi__V1__ControllerExpandVolumeResponse *m;

    if (a->outcome == CSI_NOT_SENT) {
        resize_fail(resize, a->err);
        return;
    }
    if (a->outcome != CSI_DONE) {
        on_call_failed(resize, a);
        return;
    }
    m = (const Csi__V1__ControllerExpandVolumeResponse *)(const void *)a->message;
    if (m->capacity_bytes > 0 && m->capacity_bytes != quantity_value(&resize->size))
        resize->size = quantity_of(m->capacity_bytes, QUANTITY_BINARY_SI);
    resize->needs_node = m->node_expansion_required;
    patch_object(resize, resize->volume, NULL, decide_capacity, on_capacity_written);
}

static void call_expand(struct csi_resize *resize, const struct secret *secret)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    const struct csi_peer *peer = resize->owner->o.peer;
    Csi__V1__ControllerExpandVolumeRequest m;
    Csi__V1__CapacityRange range;
    struct csi_secrets secrets = { 0 };
    struct error err;
    int r = secret ? csi_secret_messages(&a, secret, &secrets, &err) : 0;

    csi__v1__controller_expand_volume_request__init(&m);
    csi__v1__capacity_range__init(&range);
    if (r == 0)
        r = csi_volume_capability(&a, volume_of(resize->volume),
                                  csi_peer_can(peer, CSI_ABILITY_SINGLE_NODE_MULTI_WRITER),
                                  &m.volume_capability, &err);
    if (r < 0) {
        resize_fail(resize, &err);
        return;
    }
    range.required_bytes = quantity_value(&resize->size);
    m.volume_id = (char *)(uintptr_t)volume_of(resize->volume)->source.csi->handle; /* is not modified */
    m.capacity_range = &range;
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    resize->rpc.done = on_expanded;
    csi_controller_call_about(&resize->rpc, resize->claim);
    csi_controller_call_start(resize->owner->o.peer, &resize->rpc, CSI_CONTROLLER_EXPAND, &m.base,
                              csi_resize_limit_ns(resize->owner));
}

static void on_secret(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_resize *resize = ctx;
    struct error err;

    if (outcome == API_DONE) {
        call_expand(resize, secret_of(a->object));
        return;
    }
    (void)error_set(&err, ERR_UNAVAILABLE, "secret for the expansion of volume \"%s\": %s",
                    resize->volume->name, a->error.msg);
    recorder_event(resize->owner->recorder, resize->claim, EVENT_WARNING, "VolumeResizeFailed", "%s",
                   err.msg);
    resize_fail(resize, &err);
}

/* A pod that has not ended uses the claim. */
static bool is_in_use(const struct csi_resize *resize)
{
    struct informer_cursor at;
    const struct object *o = informer_first_by(resize->owner->pods, PODS_BY_CLAIM,
                                               (struct str){ resize->key, resize->key_len }, &at);

    for (; o; o = informer_next(&at))
        if (pod_of(o)->phase != POD_SUCCEEDED && pod_of(o)->phase != POD_FAILED)
            return true;
    return false;
}

static void run_driver(struct csi_resize *resize)
{
    const struct csi_resizer *z = resize->owner;
    const struct secret_ref *ref =
        &volume_of(resize->volume)->source.csi->secrets[CSI_SECRET_CONTROLLER_EXPAND];
    const struct csi_resize_memory *m = memory_get(z, resize->claim->uid);

    if (m && m->was_in_use && is_in_use(resize)) {
        recorder_event(
            z->recorder, resize->claim, EVENT_WARNING, "VolumeResizeFailed",
            "Unable to expand %s because CSI driver %s only supports offline expansion and volume is "
            "currently in-use",
            resize->key, csi_peer_name(z->o.peer));
        resize_end(resize, SYNC_AGAIN);
        return;
    }
    recorder_event(z->recorder, resize->claim, EVENT_NORMAL, "Resizing",
                   "External resizer is resizing volume %s", resize->volume->name);
    if (!csi_peer_can(z->o.peer, CSI_ABILITY_EXPAND_VOLUME)) { /* only the node expands it */
        resize->needs_node = true;
        patch_object(resize, resize->volume, NULL, decide_capacity, on_capacity_written);
    } else if (ref->name[0]) {
        api_read(&resize->write, &z->api, KIND_SECRET, ref->ns, ref->name, on_secret, resize);
    } else {
        call_expand(resize, NULL);
    }
}

/* --- (a) --- */

static void on_begun(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_resize *resize = ctx;

    if (keep_answer(resize, outcome, a))
        run_driver(resize);
}

static enum api_decision decide_begun(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct csi_resize *resize = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    if (object_annotation(now, ANN_NODE_EXPANSION_NOT_REQUIRED))
        merge_patch_annotation(&p, ANN_NODE_EXPANSION_NOT_REQUIRED, NULL);
    merge_patch_member(&p, "status");
    resize_patch_conditions(body, c, CLAIM_RESIZING, /* message= */ NULL, /* drops= */ true, now_of(resize));
    json_out_storage(body, "allocatedResources", &resize->size);
    resize_patch_status(body, RESIZE_CONTROLLER_IN_PROGRESS);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- The sync --- */

const struct volume *csi_claimed_volume(const struct csi_resizer *z, const struct claim *c)
{
    const struct object *o = c->volume_name[0] ? informer_get(z->volumes, "", c->volume_name) : NULL;
    const struct volume *v = o ? volume_of(o) : NULL;

    if (!v || c->phase != CLAIM_BOUND || v->source.kind != SOURCE_CSI ||
        strcmp(v->source.csi->driver, csi_peer_name(z->o.peer)) != 0 || !v->claim.is_set ||
        strcmp(v->claim.uid, c->obj.uid) != 0)
        return NULL;
    return v;
}

static bool is_satisfied(const struct claim *c)
{
    return quantity_cmp(&c->request, &c->capacity) <= 0;
}

static enum api_decision decide_forgotten(void *ctx, const struct object *now, struct buf *body,
                                          struct error *err)
{
    (void)ctx;
    return api_decision_of(resize_write_forgotten(volume_of(now), body, err));
}

/* The size before an expansion that has ended. */
static enum sync_result forget_size(struct csi_resizer *z, struct str key, const struct claim *c,
                                    const struct volume *v)
{
    struct api_write_options w = { .request = { .verb = CLIENT_PATCH },
                                   .object = &v->obj,
                                   .decide = decide_forgotten,
                                   .step = API_STEP_RESIZE,
                                   .informer = z->volumes };

    if (!object_annotation(&v->obj, ANN_PRE_RESIZE_CAPACITY) || quantity_cmp(&c->capacity, &v->capacity) < 0)
        return SYNC_DONE;
    return sync_once(z->controller, key, &w, NULL, NULL);
}

static enum sync_result resize_begin(struct csi_resizer *z, struct str key, const struct claim *c,
                                     const struct volume *v, const struct quantity *size)
{
    struct csi_resize *resize = calloc(1, sizeof *resize + key.len + 1);

    if (!resize)
        return SYNC_AGAIN;
    resize->owner = z;
    resize->claim = object_ref(&c->obj);
    resize->volume = object_ref(&v->obj);
    resize->size = *size;
    resize->key_len = key.len;
    memcpy(resize->key, key.s, key.len);
    TAILQ_INSERT_TAIL(&z->resizes, resize, link);
    if (c->has_allocated && quantity_cmp(&c->allocated, size) == 0 &&
        c->resize == RESIZE_CONTROLLER_IN_PROGRESS)
        run_driver(resize);
    else
        patch_object(resize, resize->claim, "status", decide_begun, on_begun);
    return SYNC_LATER;
}

static enum sync_result resize_sync(void *ctx, struct str key)
{
    struct csi_resizer *z = ctx;
    const struct object *o = informer_get_key(z->claims, key);
    const struct claim *c = o ? claim_of(o) : NULL;
    const struct volume *v = c ? csi_claimed_volume(z, c) : NULL;
    const struct csi_resize_memory *m = o ? memory_get(z, o->uid) : NULL;
    struct csi_resize_inputs in = { .claim = c,
                                    .volume = v,
                                    .was_final = m && m->was_final,
                                    .expands_on_controller =
                                        csi_peer_can(z->o.peer, CSI_ABILITY_EXPAND_VOLUME) };
    uint64_t now_ns = loop_now_ns(z->o.part.loop);
    struct quantity size;

    if (!v)
        return SYNC_DONE;
    if (is_satisfied(c))
        return forget_size(z, key, c, v);
    if (!csi_resize_decide(&in, &size))
        return SYNC_DONE;
    if (m && m->infeasible_until_ns > now_ns && c->has_allocated && quantity_cmp(&c->allocated, &size) == 0) {
        workqueue_add_after(controller_queue(z->controller), key, m->infeasible_until_ns - now_ns);
        return SYNC_DONE;
    }
    return resize_begin(z, key, c, v, &size);
}

/* --- What to look at --- */

static void on_claim(void *ctx, const struct object *o)
{
    struct csi_resizer *z = ctx;

    if (claim_of(o)->phase != CLAIM_BOUND)
        return;
    component_add(z->controller, o);
    if (z->modifier)
        csi_modifier_add(z->modifier, o);
}

/* A claim that waits for its next try keeps its delay, unless its request has changed. */
static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    const struct claim *was = claim_of(old), *is = claim_of(o);
    struct csi_resizer *z = ctx;

    if (old == o || was->phase != is->phase || quantity_cmp(&was->request, &is->request) != 0 ||
        quantity_cmp(&was->capacity, &is->capacity) != 0)
        component_add(z->controller, o);
    if (z->modifier)
        csi_modifier_add(z->modifier, o);
}

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    on_claim(ctx, o);
}

static void on_claim_gone(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)is_final_unknown;
    memory_forget(ctx, o->uid);
}

static void on_volume(void *ctx, const struct object *o)
{
    const struct csi_resizer *z = ctx;
    const struct volume *v = volume_of(o);
    const struct object *claim = v->claim.is_set ? informer_get(z->claims, v->claim.ns, v->claim.name) : NULL;

    if (claim && v->source.kind == SOURCE_CSI &&
        strcmp(v->source.csi->driver, csi_peer_name(z->o.peer)) == 0 &&
        (!is_satisfied(claim_of(claim)) || object_annotation(o, ANN_PRE_RESIZE_CAPACITY)))
        on_claim(ctx, claim);
}

/* --- Lifecycle --- */

static void resizer_end(void *function)
{
    struct csi_resizer *z = function;
    struct csi_resize_memory *m;
    struct csi_resize *resize, *next;

    if (!z)
        return;
    informer_remove_handler(&z->claims_handler);
    informer_remove_handler(&z->volumes_handler);
    z->modifier = csi_modifier_free(z->modifier);
    for (resize = TAILQ_FIRST(&z->resizes); resize; resize = next) {
        next = TAILQ_NEXT(resize, link);
        resize_free(resize);
    }
    for (size_t at = 0; (m = map_next(&z->memory, &at, NULL)); at = 0)
        memory_forget(z, m->uid);
    map_done(&z->memory);
    controller_free(z->controller);
    recorder_free(z->recorder);
    free(z);
}

static int open_caches(struct csi_resizer *z, struct error *err)
{
    struct informers *all = z->o.part.informers;

    z->claims = informers_get(all, KIND_CLAIM, err);
    z->volumes = z->claims ? informers_get(all, KIND_VOLUME, err) : NULL;
    z->pods = z->volumes ? informers_get(all, KIND_POD, err) : NULL;
    z->attributes_classes = z->pods ? informers_get(all, KIND_ATTRIBUTES_CLASS, err) : NULL;
    return z->attributes_classes ? 0 : -(int)err->code;
}

static int open_queue(struct csi_resizer *z, struct error *err)
{
    const struct csi_driver_settings *s = z->o.settings;
    struct controller_options c = { .queue = { .loop = z->o.part.loop,
                                               .name = z->queue_names[0],
                                               .metrics = z->o.part.metrics,
                                               .seed = component_seed(&z->o.part, QUEUE),
                                               .base_ns = s->retry_ns ? s->retry_ns : NS_PER_S,
                                               .max_ns =
                                                   s->retry_ns_max ? s->retry_ns_max : CSI_SLOW_RETRY_NS },
                                    .sync = resize_sync,
                                    .ctx = z,
                                    .api = z->api,
                                    .in_flight_max = s->others_max ? s->others_max : CSI_OTHERS_MAX };

    return controller_new(&c, &z->controller, err);
}

static int resizer_begin(const struct csi_function_options *o, void **ret, struct error *err)
{
    struct csi_resizer *z = calloc(1, sizeof *z);
    int r;

    if (!z)
        return error_no_memory(err);
    z->o = *o;
    TAILQ_INIT(&z->resizes);
    map_init(&z->memory, (struct hash_seed){ component_seed(&o->part, QUEUE), o->part.seed });
    (void)snprintf(z->component, sizeof z->component, "external-resizer %s", csi_peer_name(o->peer));
    csi_queue_name("csi-resize", o->peer, z->queue_names[0]);
    csi_queue_name("csi-modify", o->peer, z->queue_names[1]);
    r = open_caches(z, err);
    if (r == 0)
        r = component_api(&o->part, CSI_RESIZER_MANAGER, &z->api, err);
    if (r == 0)
        r = component_recorder(&o->part, z->component, &z->recorder, err);
    if (r == 0)
        r = open_queue(z, err);
    if (r == 0 && csi_peer_can(o->peer, CSI_ABILITY_MODIFY_VOLUME))
        r = csi_modifier_new(z, &z->modifier, err);
    if (r < 0)
        resizer_end(z);
    else
        *ret = z;
    return r;
}

static void resizer_run(void *function)
{
    struct csi_resizer *z = function;

    assert(!z->claims_handler.informer); /* once */
    z->claims_handler = (struct informer_handler){ .on_add = on_claim_add,
                                                   .on_update = on_claim_update,
                                                   .on_delete = on_claim_gone,
                                                   .ctx = z,
                                                   .resync_ns = RESYNC_NS };
    z->volumes_handler = (struct informer_handler){ .on_upsert = on_volume, .ctx = z };
    informer_add_handler(z->claims, &z->claims_handler);
    informer_add_handler(z->volumes, &z->volumes_handler);
    if (z->modifier)
        csi_modifier_start(z->modifier);
}

static const char *resizer_verify(const void *function)
{
    const struct csi_resizer *z = function;
    const char *wrong = controller_check(z->controller);

    return wrong || !z->modifier ? wrong : csi_modifier_check(z->modifier);
}

static bool resizer_explain(const void *function, const struct object *about, struct csi_work_state *ret)
{
    const struct csi_resizer *z = function;
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(1024);

    if (about->kind->kind != KIND_CLAIM || !csi_claimed_volume(z, claim_of(about)))
        return false;
    object_key(about, &key);
    ret->next_try_ns = workqueue_due_ns(controller_queue(z->controller), buf_str(&key));
    if (z->modifier && !ret->next_try_ns)
        ret->next_try_ns = csi_modifier_next_ns(z->modifier, buf_str(&key));
    return true;
}

static bool is_wanted(const struct csi_peer *peer, const struct csi_driver_settings *s)
{
    (void)s;
    return csi_peer_can(peer, CSI_ABILITY_EXPAND_VOLUME) || csi_peer_can(peer, CSI_ABILITY_NODE_EXPAND) ||
           csi_peer_can(peer, CSI_ABILITY_MODIFY_VOLUME);
}

/* As external-resizer names it: other characters than letters, digits and '-' become '-'. */
static int write_lease_name(const char *driver, struct buf *ret, struct error *err)
{
    buf_add_cstr(ret, "external-resizer-");
    for (const char *c = driver; *c; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');

        buf_add_char(ret, is_plain ? *c : '-');
    }
    if (driver[0] && driver[strlen(driver) - 1] == '-')
        buf_add_char(ret, 'X');
    return buf_check(ret, "lease name", err);
}

static int prepare_caches(const struct component_deps *part, struct error *err)
{
    return component_pods(part->informers, err) ? 0 : -(int)err->code;
}

const struct csi_function_type csi_resizer_type = { .name = "resizer",
                                                    .lease_name = write_lease_name,
                                                    .prepare = prepare_caches,
                                                    .is_wanted = is_wanted,
                                                    .new = resizer_begin,
                                                    .start = resizer_run,
                                                    .free = resizer_end,
                                                    .check = resizer_verify,
                                                    .explain = resizer_explain };
