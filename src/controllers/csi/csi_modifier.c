/* Applies VolumeAttributesClasses to volumes, the second part of external-resizer. One change, step by step:
 *
 *   (a) the claim records the class as its target, in progress
 *   (b) ControllerModifyVolume
 *   (c) the volume records the class       before the claim, so that no class in use looks unused
 *   (d) the claim records the class as its current one
 *
 * A call whose result is not known is repeated with the same class, whatever the claim requests by then. */
#include "controllers/csi/csi_resizer_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attributes_class.h"
#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "controllers/csi/csi_provision_int.h"
#include "machinery/merge_patch.h"

#define QUEUE "csi_modify"
#define CLAIM_MODIFYING_VOLUME "ModifyingVolume"

struct csi_modify {
    TAILQ_ENTRY(csi_modify) link;
    struct csi_modifier *owner;
    struct object *claim, *volume, *class; /* claim and volume: as read or answered last */
    struct api_write write;
    struct csi_controller_call rpc;
    enum rpc_code code; /* of the failure */
    bool is_infeasible;
    char message[ERROR_MSG_BYTES_MAX];
    size_t key_len;
    char key[];
};

struct csi_modifier {
    struct csi_resizer *resizer;
    struct controller *controller;
    struct map final; /* claims whose last call has failed for good, by uid: struct csi_resize_memory */
    TAILQ_HEAD(, csi_modify) changes;
};

/* --- Memory: as in csi_resizer.c, for this queue --- */

static struct csi_resize_memory *failure_get(const struct csi_modifier *m, const char *uid)
{
    return map_get(&m->final, str_of(uid));
}

static void failure_forget(struct csi_modifier *m, const char *uid)
{
    free(map_remove(&m->final, str_of(uid)));
}

/* Best effort: without it the same class is tried again. */
static void failure_keep(struct csi_modifier *m, const char *uid, uint64_t infeasible_until_ns)
{
    size_t len = strlen(uid);
    struct csi_resize_memory *f = failure_get(m, uid);

    if (!f) {
        f = calloc(1, sizeof *f + len + 1);
        if (f)
            memcpy(f->uid, uid, len + 1);
        if (f && map_put(&m->final, (struct str){ f->uid, len }, f, NULL) < 0) {
            free(f);
            f = NULL;
        }
    }
    if (f)
        f->infeasible_until_ns = infeasible_until_ns;
}

/* --- The end --- */

static void modify_free(struct csi_modify *change)
{
    TAILQ_REMOVE(&change->owner->changes, change, link);
    api_write_cancel(&change->write);
    csi_controller_call_cancel(&change->rpc);
    (void)object_unref(change->claim);
    (void)object_unref(change->volume);
    (void)object_unref(change->class);
    free(change);
}

static void modify_end(struct csi_modify *change, enum sync_result result)
{
    controller_finish(change->owner->controller, (struct str){ change->key, change->key_len }, result);
    modify_free(change);
}

static void modify_fail(struct csi_modify *change, const struct error *err)
{
    log_warn("volume not modified, retrying", LOG_STR("claim", change->key), LOG_ERR(err));
    modify_end(change, SYNC_AGAIN);
}

static struct timestamp now_of(const struct csi_modify *change)
{
    return timestamp_of_ns(clock_real_ns(change->owner->resizer->o.part.clock));
}

/* --- Writing --- */

static void patch_object(struct csi_modify *change, const struct object *o, const char *subresource,
                         api_decide_fn *decide, api_done_fn *done)
{
    const struct csi_resizer *z = change->owner->resizer;
    struct api_write_options w = {
        .api = z->api,
        .request = { .verb = CLIENT_PATCH, .subresource = subresource, .patch = CLIENT_PATCH_STRATEGIC },
        .object = o,
        .decide = decide,
        .step = API_STEP_CONDITION,
        .informer = o->kind->kind == KIND_CLAIM ? z->claims : z->volumes,
        .done = done,
        .ctx = change
    };

    api_write_start(&change->write, &w);
}

static bool keep_answer(struct csi_modify *change, enum api_outcome outcome, const struct client_answer *a)
{
    struct object **place;

    if (api_write_succeeded(outcome) && a->object) {
        place = a->object->kind->kind == KIND_CLAIM ? &change->claim : &change->volume;
        (void)object_unref(*place);
        *place = object_ref(a->object);
        return true;
    }
    if (outcome == API_CONFLICT)
        modify_end(change, SYNC_OVERTAKEN);
    else if (a->r == -ERR_NOT_FOUND)
        modify_end(change, SYNC_DONE);
    else
        modify_fail(change, &a->error);
    return false;
}

static void write_condition(struct buf *out, const struct claim *c, const char *type, const char *reason,
                            const char *message, struct timestamp now)
{
    const struct status_condition *old = condition_get(&c->conditions, type);

    json_out_object(out, NULL);
    json_out_text(out, "type", type);
    json_out_text(out, "status", "True");
    if (!old || old->status != CONDITION_TRUE)
        json_out_time(out, "lastTransitionTime", now);
    if (reason)
        json_out_text(out, "reason", reason);
    json_out_text(out, "message", message);
    json_out_end_object(out);
}

static void drop_condition(struct buf *out, const struct claim *c, const char *type)
{
    if (!condition_get(&c->conditions, type))
        return;
    json_out_object(out, NULL);
    json_out_text(out, "$patch", "delete");
    json_out_text(out, "type", type);
    json_out_end_object(out);
}

/* status.modifyVolumeStatus; target NULL: none. */
static void write_status(struct buf *out, const char *target, enum modify_status status)
{
    if (status == MODIFY_NONE) {
        json_out_null(out, "modifyVolumeStatus");
        return;
    }
    json_out_object(out, "modifyVolumeStatus");
    json_out_text(out, "targetVolumeAttributesClassName", target);
    json_out_text(out, "status", modify_status_name(status));
    json_out_end_object(out);
}

/* --- (d) --- */

static void on_current_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_modify *change = ctx;

    if (!keep_answer(change, outcome, a))
        return;
    failure_forget(change->owner, change->claim->uid);
    recorder_event(change->owner->resizer->recorder, change->claim, EVENT_NORMAL, "VolumeModifySuccessful",
                   "external resizer modified volume %s with vac %s successfully", change->claim->name,
                   change->class->name);
    log_info("volume modified", LOG_STR("claim", change->key), LOG_STR("class", change->class->name));
    modify_end(change, SYNC_DONE);
}

static enum api_decision decide_current(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct csi_modify *change = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    json_out_text(body, "currentVolumeAttributesClassName", change->class->name);
    write_status(body, NULL, MODIFY_NONE);
    json_out_array(body, "conditions");
    drop_condition(body, c, CLAIM_MODIFYING_VOLUME);
    drop_condition(body, c, CLAIM_MODIFY_VOLUME_ERROR);
    json_out_end_array(body);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- (c) --- */

static void on_volume_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_modify *change = ctx;

    if (keep_answer(change, outcome, a))
        patch_object(change, change->claim, "status", decide_current, on_current_written);
}

static enum api_decision decide_volume(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct csi_modify *change = ctx;
    struct merge_patch p;

    if (strcmp(volume_of(now)->attributes_class, change->class->name) == 0)
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "spec");
    json_out_object(body, NULL);
    json_out_text(body, "volumeAttributesClassName", change->class->name);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- (b) --- */

static void on_failure_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_modify *change = ctx;

    (void)outcome;
    (void)a; /* written again with the next failure */
    modify_end(change, SYNC_AGAIN);
}

static enum api_decision decide_failure(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct csi_modify *change = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;

    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    if (change->is_infeasible)
        write_status(body, change->class->name, MODIFY_INFEASIBLE);
    json_out_array(body, "conditions");
    write_condition(body, c, CLAIM_MODIFY_VOLUME_ERROR, rpc_code_name(change->code), change->message,
                    now_of(change));
    json_out_end_array(body);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_modified(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_modify *change = CONTAINER_OF(c, struct csi_modify, rpc);
    struct csi_resizer *z = change->owner->resizer;
    bool is_final = a->outcome == CSI_FINAL || a->outcome == CSI_INFEASIBLE;

    if (a->outcome == CSI_DONE && MUTANT("csi-modifies-claims-first")) {
        patch_object(change, change->claim, "status", decide_current, on_current_written);
        return;
    }
    if (a->outcome == CSI_DONE) {
        patch_object(change, change->volume, NULL, decide_volume, on_volume_written);
        return;
    }
    if (a->outcome == CSI_NOT_SENT) {
        modify_fail(change, a->err);
        return;
    }
    change->code = a->code;
    change->is_infeasible = a->outcome == CSI_INFEASIBLE;
    (void)snprintf(change->message, sizeof change->message, "%s", a->err->msg);
    recorder_event(z->recorder, change->claim, EVENT_WARNING, "VolumeModifyFailed", "%s", a->err->msg);
    if (is_final)
        failure_keep(change->owner, change->claim->uid,
                     change->is_infeasible ? loop_now_ns(z->o.part.loop) + CSI_SLOW_RETRY_NS : 0);
    else
        failure_forget(change->owner, change->claim->uid);
    patch_object(change, change->claim, "status", decide_failure, on_failure_written);
}

static void call_modify(struct csi_modify *change, const struct secret *secret)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    const struct csi_resizer *z = change->owner->resizer;
    const struct attributes_class *k = (const struct attributes_class *)(const void *)change->class;
    struct csi_pairs pairs =
        csi_pairs_of(&a, k->parameters, z->o.settings->has_extra_modify_metadata ? 3 : 0);
    Csi__V1__ControllerModifyVolumeRequest m;
    struct csi_secrets secrets = { 0 };
    struct error err;
    int r = secret ? csi_secret_messages(&a, secret, &secrets, &err) : 0;

    csi__v1__controller_modify_volume_request__init(&m);
    if (z->o.settings->has_extra_modify_metadata) {
        csi_pairs_set(&a, &pairs, "csi.storage.k8s.io/pvc/name", change->claim->name);
        csi_pairs_set(&a, &pairs, "csi.storage.k8s.io/pvc/namespace", change->claim->ns);
        csi_pairs_set(&a, &pairs, "csi.storage.k8s.io/pv/name", change->volume->name);
    }
    if (r == 0)
        r = arena_check(&a, &err);
    if (r < 0) {
        modify_fail(change, &err);
        return;
    }
    m.volume_id = (char *)(uintptr_t)volume_of(change->volume)->source.csi->handle; /* is not modified */
    m.mutable_parameters = pairs.items;
    m.n_mutable_parameters = pairs.count;
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    change->rpc.done = on_modified;
    csi_controller_call_about(&change->rpc, change->claim);
    csi_controller_call_start(z->o.peer, &change->rpc, CSI_CONTROLLER_MODIFY, &m.base,
                              csi_resize_limit_ns(z));
}

static void on_secret(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_modify *change = ctx;

    if (outcome == API_DONE) {
        call_modify(change, secret_of(a->object));
        return;
    }
    recorder_event(change->owner->resizer->recorder, change->claim, EVENT_WARNING, "VolumeModifyFailed",
                   "secret for the modification of volume \"%s\": %s", change->volume->name, a->error.msg);
    modify_fail(change, &a->error);
}

/* From the volume's annotations; else that of expansions. */
static struct secret_ref modify_secret(const struct object *volume)
{
    const char *name = object_annotation(volume, ANN_MODIFY_SECRET_NAME);
    const char *ns = object_annotation(volume, ANN_MODIFY_SECRET_NAMESPACE);

    return name && ns ? (struct secret_ref){ ns, name }
                      : volume_of(volume)->source.csi->secrets[CSI_SECRET_CONTROLLER_EXPAND];
}

/* --- (a) --- */

static void on_target_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_modify *change = ctx;
    struct secret_ref ref;

    if (!keep_answer(change, outcome, a))
        return;
    recorder_event(change->owner->resizer->recorder, change->claim, EVENT_NORMAL, "VolumeModify",
                   "external resizer is modifying volume %s with vac %s", change->claim->name,
                   change->class->name);
    ref = modify_secret(change->volume);
    if (ref.name[0])
        api_read(&change->write, &change->owner->resizer->api, KIND_SECRET, ref.ns, ref.name, on_secret,
                 change);
    else
        call_modify(change, NULL);
}

static bool has_target(const struct claim *c, const struct object *class)
{
    return c->modify == MODIFY_IN_PROGRESS && strcmp(c->target_attributes_class, class->name) == 0;
}

/* A call is repeated only while the server has its target: a call of an old state of the claim would not be
 * recorded, and could take effect after the next one. */
static void on_target_read(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_modify *change = ctx;

    if (outcome == API_DONE &&
        (strcmp(a->object->uid, change->claim->uid) != 0 || !has_target(claim_of(a->object), change->class)))
        modify_end(change, SYNC_OVERTAKEN);
    else
        on_target_written(change, outcome, a);
}

static enum api_decision decide_target(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct csi_modify *change = ctx;
    const struct claim *c = claim_of(now);
    struct merge_patch p;
    char message[512];

    (void)snprintf(message, sizeof message, "Modifying volume to \"%s\" is in progress.",
                   change->class->name);
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    write_status(body, change->class->name, MODIFY_IN_PROGRESS);
    json_out_array(body, "conditions");
    write_condition(body, c, CLAIM_MODIFYING_VOLUME, NULL, message, now_of(change));
    json_out_end_array(body);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- The sync --- */

static enum api_decision decide_pending(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    const struct claim *c = claim_of(now);
    struct merge_patch p;

    (void)ctx;
    if (c->modify == MODIFY_PENDING && strcmp(c->target_attributes_class, c->attributes_class) == 0)
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    write_status(body, c->attributes_class, MODIFY_PENDING);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static enum api_decision decide_canceled(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    const struct claim *c = claim_of(now);
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    write_status(body, NULL, MODIFY_NONE);
    json_out_array(body, "conditions");
    drop_condition(body, c, CLAIM_MODIFYING_VOLUME);
    drop_condition(body, c, CLAIM_MODIFY_VOLUME_ERROR);
    json_out_end_array(body);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static enum sync_result write_claim(struct csi_modifier *m, struct str key, const struct claim *c,
                                    api_decide_fn *decide)
{
    struct api_write_options w = {
        .request = { .verb = CLIENT_PATCH, .subresource = "status", .patch = CLIENT_PATCH_STRATEGIC },
        .object = &c->obj,
        .decide = decide,
        .step = API_STEP_CONDITION,
        .informer = m->resizer->claims
    };

    return sync_once(m->controller, key, &w, NULL, NULL);
}

static enum sync_result modify_begin(struct csi_modifier *m, struct str key, const struct claim *c,
                                     const struct volume *v, const struct object *class)
{
    struct csi_modify *change = calloc(1, sizeof *change + key.len + 1);
    struct api_write_options read = {
        .api = m->resizer->api,
        .request = { .verb = CLIENT_GET, .kind = c->obj.kind, .ns = c->obj.ns, .name = c->obj.name },
        .informer = m->resizer->claims,
        .done = on_target_read,
        .ctx = change
    };

    if (!change)
        return SYNC_AGAIN;
    change->owner = m;
    change->claim = object_ref(&c->obj);
    change->volume = object_ref(&v->obj);
    change->class = object_ref(class);
    change->key_len = key.len;
    memcpy(change->key, key.s, key.len);
    TAILQ_INSERT_TAIL(&m->changes, change, link);
    if (has_target(c, class))
        api_write_start(&change->write, &read);
    else
        patch_object(change, change->claim, "status", decide_target, on_target_written);
    return SYNC_LATER;
}

/* A call in progress, or one whose result is not known, is brought to its end first. */
static const char *target_of(const struct csi_modifier *m, const struct claim *c)
{
    bool is_uncertain = c->modify == MODIFY_IN_PROGRESS && !failure_get(m, c->obj.uid) &&
                        !MUTANT("csi-forgets-uncertain-targets");

    return is_uncertain && c->target_attributes_class[0] ? c->target_attributes_class : c->attributes_class;
}

/* why: " does not exist." */
static enum sync_result report_missing(struct csi_modifier *m, struct str key, const struct claim *c,
                                       const char *name, const char *why)
{
    recorder_event(m->resizer->recorder, &c->obj, EVENT_WARNING, "VolumeModifyFailed", "VAC \"%s\"%s", name,
                   why);
    return c->modify == MODIFY_IN_PROGRESS ? SYNC_AGAIN : write_claim(m, key, c, decide_pending);
}

static enum sync_result modify_sync(void *ctx, struct str key)
{
    struct csi_modifier *m = ctx;
    const struct csi_resizer *z = m->resizer;
    const struct object *o = informer_get_key(z->claims, key), *class;
    const struct claim *c = o ? claim_of(o) : NULL;
    const struct volume *v = c ? csi_claimed_volume(z, c) : NULL;
    const struct csi_resize_memory *f = o ? failure_get(m, o->uid) : NULL;
    uint64_t now_ns = loop_now_ns(z->o.part.loop);
    const char *target;

    if (!v || (strcmp(c->attributes_class, c->current_attributes_class) == 0 && c->modify == MODIFY_NONE))
        return SYNC_DONE;
    target = target_of(m, c);
    if (target[0] == '\0' ||
        (strcmp(target, c->current_attributes_class) == 0 && c->modify != MODIFY_IN_PROGRESS)) {
        if (c->modify == MODIFY_NONE)
            return SYNC_DONE;
        recorder_event(z->recorder, o, EVENT_NORMAL, "VolumeModifyCanceled", "Cancelled modify.");
        return write_claim(m, key, c, decide_canceled);
    }
    class = informer_get(z->attributes_classes, "", target);
    if (!class)
        return report_missing(m, key, c, target, " does not exist.");
    if (strcmp(((const struct attributes_class *)(const void *)class)->driver, csi_peer_name(z->o.peer)) != 0)
        return report_missing(m, key, c, target, " is for another driver.");
    if (f && f->infeasible_until_ns > now_ns && strcmp(c->target_attributes_class, target) == 0) {
        workqueue_add_after(controller_queue(m->controller), key, f->infeasible_until_ns - now_ns);
        return SYNC_DONE;
    }
    return modify_begin(m, key, c, v, class);
}

/* --- Lifecycle --- */

void csi_modifier_add(struct csi_modifier *m, const struct object *claim)
{
    const struct claim *c = claim_of(claim);
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(1024);

    if (strcmp(c->attributes_class, c->current_attributes_class) == 0 && c->modify == MODIFY_NONE)
        return;
    object_key(claim, &key);
    /* A failed key keeps its delay, unless the claim requests another class. */
    if (!key.failed && (workqueue_failures(controller_queue(m->controller), buf_str(&key)) == 0 ||
                        strcmp(c->attributes_class, c->target_attributes_class) != 0))
        controller_add(m->controller, buf_str(&key));
}

int csi_modifier_new(struct csi_resizer *z, struct csi_modifier **ret, struct error *err)
{
    const struct csi_driver_settings *s = z->o.settings;
    struct csi_modifier *m = calloc(1, sizeof *m);
    struct controller_options c = { .queue = { .loop = z->o.part.loop,
                                               .name = z->queue_names[1],
                                               .metrics = z->o.part.metrics,
                                               .seed = component_seed(&z->o.part, QUEUE),
                                               .base_ns = s->retry_ns ? s->retry_ns : NS_PER_S,
                                               .max_ns =
                                                   s->retry_ns_max ? s->retry_ns_max : CSI_SLOW_RETRY_NS },
                                    .sync = modify_sync,
                                    .ctx = m,
                                    .api = z->api,
                                    .in_flight_max = s->others_max ? s->others_max : CSI_OTHERS_MAX };
    int r;

    if (!m)
        return error_no_memory(err);
    m->resizer = z;
    TAILQ_INIT(&m->changes);
    map_init(&m->final, (struct hash_seed){ component_seed(&z->o.part, QUEUE), z->o.part.seed });
    r = controller_new(&c, &m->controller, err);
    if (r < 0)
        (void)csi_modifier_free(m);
    else
        *ret = m;
    return r;
}

/* The resizer's handlers feed it. */
void csi_modifier_start(struct csi_modifier *m)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(m->resizer->claims, &at); o; o = informer_next(&at))
        csi_modifier_add(m, o);
}

const char *csi_modifier_check(const struct csi_modifier *m)
{
    return controller_check(m->controller);
}

uint64_t csi_modifier_next_ns(const struct csi_modifier *m, struct str key)
{
    return workqueue_due_ns(controller_queue(m->controller), key);
}

struct csi_modifier *csi_modifier_free(struct csi_modifier *m)
{
    struct csi_resize_memory *f;
    struct csi_modify *change, *next;

    if (!m)
        return NULL;
    for (change = TAILQ_FIRST(&m->changes); change; change = next) {
        next = TAILQ_NEXT(change, link);
        modify_free(change);
    }
    for (size_t at = 0; (f = map_next(&m->final, &at, NULL)); at = 0)
        failure_forget(m, f->uid);
    map_done(&m->final);
    controller_free(m->controller);
    free(m);
    return NULL;
}
