/* A claim that no volume fits: who makes it one.
 *
 * Somebody outside is asked by annotations and creates the volume himself. A plugin of ours makes the storage
 * in an operation; then the volume is saved, and when that cannot be done the storage is removed again.
 * Either way binding follows when the volume appears. */
#include "controllers/binder/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "api/migration.h"
#include "api/patch.h"
#include "api/pod_claims.h"
#include "base/die.h"
#include "base/log.h"
#include "controllers/binder/binder_metrics.h"

#define SAVES_MAX 5
#define SAVE_PAUSE_NS (10 * NS_PER_S)

static const struct storage_class *class_of(const struct binder_op *op)
{
    return (const struct storage_class *)(const void *)op->class;
}

/* --- The annotation that says who is to provision --- */

static void on_provisioner_set(const struct sync_request *request, enum api_outcome outcome,
                               const struct client_answer *a)
{
    const struct binder *b = request->sync->ctx;

    if ((outcome == API_UNCERTAIN || outcome == API_REFUSED) && request->arg && a->r != -ERR_NOT_FOUND)
        recorder_event(b->recorder, request->about, EVENT_WARNING, "ProvisioningFailed",
                       "Error saving claim: %s", a->error.msg);
}

static enum api_decision decide_provisioner(void *ctx, const struct object *now, struct buf *body,
                                            struct error *err)
{
    const char *name = ctx, *driver = migration_driver(name), *is = object_annotation(now, ANN_MIGRATED_TO);
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_annotation(&p, ANN_PROVISIONER_BETA, name);
    merge_patch_annotation(&p, ANN_PROVISIONER, name);
    if (driver && (!is || strcmp(is, driver) != 0))
        merge_patch_annotation(&p, ANN_MIGRATED_TO, driver);
    else if (!driver && is && is[0] != '\0')
        merge_patch_annotation(&p, ANN_MIGRATED_TO, NULL);
    return api_decision_of(merge_patch_end(&p, err));
}

/* True when a write was begun: the next sync goes on. */
static bool set_provisioner(struct sync *s, const struct claim *c, const char *name, bool is_external)
{
    if (object_annotation_is(&c->obj, ANN_PROVISIONER, name))
        return false;
    (void)binder_patch(s, &c->obj, NULL, decide_provisioner, name, API_STEP_PROVISIONER, on_provisioner_set,
                       is_external ? s : NULL);
    return true;
}

/* --- Somebody outside --- */

static void provision_externally(struct sync *s, const struct claim *c, const char *name)
{
    struct binder *b = s->ctx;
    struct binder_key k = { BINDER_CLAIMS, str_of(s->key) };

    binder_metrics_begin(b->metrics, LONG_PROVISION, k.name, name);
    if (set_provisioner(s, c, name, /* is_external= */ true))
        return;
    binder_record_event(
        b, k, &c->obj, EVENT_NORMAL, "ExternalProvisioning",
        "Waiting for a volume to be created either by the external provisioner '%s' or manually by the "
        "system administrator. If volume creation is delayed, please verify that the provisioner is "
        "running and correctly registered.",
        name);
}

/* --- A plugin of ours --- */

static struct str claim_key_of(const struct binder_op *op, char to[static CLAIM_KEY_BYTES_MAX])
{
    (void)snprintf(to, CLAIM_KEY_BYTES_MAX, "%s/%s", op->about->ns, op->about->name);
    return str_of(to);
}

static void op_failed(struct binder_op *op, int r, const struct error *err)
{
    char key[CLAIM_KEY_BYTES_MAX];

    binder_metrics_failed(op->binder->metrics, LONG_PROVISION, claim_key_of(op, key));
    op_end(op, r, err);
}

/* The words go to the claim, and the operation ends with them. */
static void op_refused(struct binder_op *op, const struct error *err)
{
    recorder_event(op->binder->recorder, op->about, EVENT_WARNING, "ProvisioningFailed", "%s", err->msg);
    op_failed(op, -(int)err->code, err);
}

/* What the binder has to say of the volume: name, owner, class, policy, marks. */
static void write_marks(const struct binder_op *op, struct buf *out)
{
    const struct claim *c = claim_of(op->about);
    const struct storage_class *k = class_of(op);

    volume_write_begin(out, op->name);
    json_out_object(out, "annotations");
    json_out_text(out, ANN_BOUND_BY_CONTROLLER, "yes");
    json_out_text(out, ANN_PROVISIONED_BY, op->plugin->name);
    json_out_end_object(out);
    if (k->reclaim == RECLAIM_DELETE) {
        json_out_array(out, "finalizers");
        json_out_text(out, NULL, FINALIZER_RECLAIM);
        json_out_end_array(out);
    }
    json_out_end_object(out);
    json_out_object(out, "spec");
    volume_write_class(out, c->class, k->reclaim);
    claim_ref_write(out, c);
    json_out_end_object(out);
    json_out_end_object(out);
}

/* That over what the plugin said. */
static int write_volume(struct binder_op *op, struct error *err)
{
    _cleanup_(buf_done_p) struct buf marks = BUF_INIT(BINDER_BODY_BYTES_MAX);
    int r;

    write_marks(op, &marks);
    r = buf_check(&marks, "volume", err);
    buf_clear(&op->body);
    return r < 0 ? r
                 : patch_apply_text(PATCH_MERGE, NULL, buf_str(&op->work.volume), buf_str(&marks), &op->body,
                                    err);
}

/* --- Cleaning up after a volume that could not be saved --- */

static void clean_up(struct binder_op *op);

static void on_cleanup_retry(void *ctx)
{
    clean_up(ctx);
}

/* No failure of the operation: the claim's next sync begins another at once. */
static void restart_provisioning(struct binder_op *op)
{
    op_again(op);
    op_end(op, 0, NULL);
}

static void report_leftover_storage(struct binder_op *op, const struct error *why)
{
    char key[CLAIM_KEY_BYTES_MAX];

    (void)claim_key_of(op, key);
    log_error("storage of failed provisioning not deleted", LOG_STR("claim", key),
              LOG_STR("volume", op->name), LOG_ERR(why));
    recorder_event(op->binder->recorder, op->about, EVENT_WARNING, "ProvisioningCleanupFailed",
                   "Error cleaning provisioned volume for claim %s: %s. Please delete manually.", key,
                   why->msg);
    restart_provisioning(op);
}

static void on_cleaned_up(struct plugin_op *work, int r, const struct error *err)
{
    struct binder_op *op = CONTAINER_OF(work, struct binder_op, work);

    if (r == 0) {
        restart_provisioning(op);
    } else if (++op->tries < SAVES_MAX) {
        timer_init(&op->timer, op->binder->o.part.loop, on_cleanup_retry, op);
        timer_arm_after(&op->timer, SAVE_PAUSE_NS);
    } else {
        report_leftover_storage(op, err);
    }
}

static void clean_up(struct binder_op *op)
{
    op->work.done = on_cleaned_up;
    op_remove_storage(op);
}

/* The volume is not there, and will not be. */
static void start_cleanup(struct binder_op *op)
{
    const struct volume_plugin *deleter;
    char key[CLAIM_KEY_BYTES_MAX];
    struct error err;

    (void)claim_key_of(op, key);
    recorder_event(op->binder->recorder, op->about, EVENT_WARNING, "ProvisioningFailed",
                   "Error creating provisioned PV object for claim %s: %s. Deleting the volume.", key,
                   op->failure.msg);
    /* The deleter wants to see the volume that never was. */
    if (plugins_by_name(op->binder->o.plugins, op->plugin->name, &deleter, &err) < 0 ||
        plugin_require(deleter->remove, "deletable", &err) < 0 ||
        object_decode(kind_info(KIND_VOLUME), buf_str(&op->body), &op->binder->doc, &op->fresh, &err) < 0) {
        report_leftover_storage(op, &err);
        return;
    }
    op->tries = 0;
    clean_up(op);
}

/* --- Saving --- */

static void save_volume(void *ctx);

static void end_saved(struct binder_op *op)
{
    recorder_event(op->binder->recorder, op->about, EVENT_NORMAL, "ProvisioningSucceeded",
                   "Successfully provisioned volume %s using %s", op->name, op->plugin->name);
    log_info("provisioned volume saved", LOG_STR("volume", op->name));
    op_end(op, 0, NULL);
}

static void delay_then(struct binder_op *op, void (*next)(void *ctx))
{
    timer_init(&op->timer, op->binder->o.part.loop, next, op);
    timer_arm_after(&op->timer, SAVE_PAUSE_NS);
}

static void verify_before_delete(void *ctx);

/* One of the failures may have been an answer that was lost: then the volume is there, perhaps bound and in
 * use by now, and its storage must stay. Without knowing, nothing is removed. */
static void on_verified(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;

    if (outcome == API_DONE)
        end_saved(op);
    else if (a->r == -ERR_NOT_FOUND)
        start_cleanup(op);
    else
        delay_then(op, verify_before_delete);
}

static void verify_before_delete(void *ctx)
{
    struct binder_op *op = ctx;

    op_get_volume(op, op->name, on_verified);
}

static void on_saved(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;

    if (outcome == API_DONE || a->r == -ERR_EXISTS) {
        end_saved(op);
    } else if (++op->tries < SAVES_MAX) {
        delay_then(op, save_volume);
    } else {
        op->failure = a->error;
        verify_before_delete(op);
    }
}

static void save_volume(void *ctx)
{
    struct binder_op *op = ctx;
    struct api_write_options w = {
        .api = op->binder->api,
        .request = { .verb = CLIENT_CREATE, .kind = kind_info(KIND_VOLUME), .name = op->name },
        .body = buf_str(&op->body),
        .informer = op->binder->volumes,
        .done = on_saved,
        .ctx = op
    };

    api_write_start(&op->write, &w);
}

/* --- Making --- */

static void on_node_released(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;
    struct error err;

    (void)outcome;
    (void)a;
    (void)error_set(&err, ERR_UNAVAILABLE, "%s", buf_cstr(&op->body));
    op_failed(op, -ERR_UNAVAILABLE, &err);
}

/* The scheduler is to choose another node: this one could not be served. */
static void release_node(struct binder_op *op, const struct error *why)
{
    const struct claim *c = binder_claim(op->binder, op->about->ns, op->about->name);

    if (!c || strcmp(c->obj.uid, op->about->uid) != 0 || !object_annotation(&c->obj, ANN_SELECTED_NODE)) {
        op_failed(op, -(int)why->code, why);
        return;
    }
    buf_clear(&op->body);
    buf_add_cstr(&op->body, why->msg);
    op_patch(op, &c->obj, NULL, component_decide_no_node, on_node_released);
}

static void on_made(struct plugin_op *work, int r, const struct error *err)
{
    struct binder_op *op = CONTAINER_OF(work, struct binder_op, work);
    struct binder *b = op->binder;
    struct error failed;

    binder_metrics_call(b->metrics, op->plugin->name, "volume_provision",
                        loop_now_ns(b->o.part.loop) - op->began_ns, r < 0);
    if (r < 0) {
        recorder_event(b->recorder, op->about, EVENT_WARNING, "ProvisioningFailed",
                       "Failed to provision volume with StorageClass \"%s\": %s", class_of(op)->obj.name,
                       err->msg);
        release_node(op, err);
        return;
    }
    if (write_volume(op, &failed) < 0)
        op_failed(op, -(int)failed.code, &failed);
    else
        save_volume(op);
}

/* What can be said before anything is made. */
static int check_request(const struct binder_op *op, const struct provision_request *q, struct error *err)
{
    const char *selected = object_annotation(op->about, ANN_SELECTED_NODE);
    int r;

    if (class_of(op)->mount_options.count && !op->plugin->takes_mount_options) {
        _cleanup_(buf_done_p) struct buf options = BUF_INIT(RECORDER_MESSAGE_BYTES_MAX);

        for (uint32_t i = 0; i < class_of(op)->mount_options.count; i++)
            buf_addf(&options, "%s%s", i ? " " : "", class_of(op)->mount_options.items[i]);
        return error_set(
            err, ERR_UNSUPPORTED,
            "Mount options are not supported by the provisioner but StorageClass \"%s\" has mount "
            "options [%s]",
            class_of(op)->obj.name, buf_cstr(&options));
    }
    r = op->plugin->provision->check(&op->binder->o.host, q, err);
    if (r < 0)
        return error_wrap(err, "Failed to create provisioner");
    if (selected && !q->node)
        return error_set(err, ERR_NOT_FOUND, "Failed to get target node: node \"%s\" not found", selected);
    return 0;
}

static void on_volume_read(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binder_op *op = ctx;
    const char *selected = object_annotation(op->about, ANN_SELECTED_NODE);
    struct provision_request q = { .volume_name = op->name,
                                   .claim = claim_of(op->about),
                                   .class = class_of(op) };
    char key[CLAIM_KEY_BYTES_MAX];
    struct error err;

    if (outcome == API_DONE) {
        /* Made before. Whoever does not see it yet, or cannot use it, does not ask again at once. */
        informer_observe(op->binder->volumes, a->object);
        op_end(op, error_set(&err, ERR_EXISTS, "volume \"%s\" already exists", op->name), &err);
        return;
    }
    if (a->error.code != ERR_NOT_FOUND) {
        op_failed(op, a->r, &a->error);
        return;
    }
    if (selected)
        q.node = (const struct node *)(const void *)informer_get(op->binder->nodes, "", selected);
    if (check_request(op, &q, &err) < 0) {
        op_refused(op, &err);
        return;
    }
    binder_record_event(op->binder, claim_key(claim_key_of(op, key)), op->about, EVENT_NORMAL, "Provisioning",
                        "Provisioning volume %s using %s", op->name, op->plugin->name);
    op->began_ns = loop_now_ns(op->binder->o.part.loop);
    op->work.done = on_made;
    op->plugin->provision->provision(&op->binder->o.host, &q, &op->work);
}

static void start_provision(void *ctx, struct pending_operation *pending)
{
    struct binder_op *op = ctx;

    op->pending = pending;
    op->class = object_ref(informer_get(op->binder->classes, "", claim_of(op->about)->class));
    if (asprintf(&op->name, "pvc-%s", op->about->uid) < 0)
        die_with_reason(
            "no memory for the name of a volume to be provisioned: its claim would wait for ever");
    op_get_volume(op, op->name, on_volume_read);
}

/* None of our plugins copies data. */
static void start_refusal(void *ctx, struct pending_operation *pending)
{
    struct binder_op *op = ctx;
    struct error err;

    op->pending = pending;
    (void)error_set(
        &err, ERR_UNSUPPORTED,
        "plugin \"%s\" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource",
        op->plugin->name);
    op_refused(op, &err);
}

static void provision_with_plugin(struct sync *s, const struct claim *c, const struct volume_plugin *plugin)
{
    struct binder *b = s->ctx;
    struct binder_key k = { BINDER_CLAIMS, str_of(s->key) };

    binder_metrics_begin(b->metrics, LONG_PROVISION, k.name, plugin->name);
    if (c->source) /* refused there, before anything is written */
        op_start(s, &c->obj, "provision", plugin, start_refusal);
    else if (!set_provisioner(s, c, plugin->name, /* is_external= */ false))
        op_start(s, &c->obj, "provision", plugin, start_provision);
}

/* --- Who --- */

void provision_claim(struct sync *s, const struct claim *c, const struct claim_decision *d)
{
    struct binder_key key = { BINDER_CLAIMS, str_of(s->key) };

    if (d->step == CLAIM_STEP_PROVISION_HERE)
        provision_with_plugin(s, c, d->plugin);
    else if (d->step == CLAIM_STEP_PROVISION_OUTSIDE)
        provision_externally(s, c, d->provisioner);
    else if (d->step != CLAIM_STEP_PROVISION_NEVER)
        binder_record_event(s->ctx, key, &c->obj, EVENT_WARNING, "ProvisioningFailed", "%s", d->err.msg);
}

void provision_forget(struct binder *b, struct str key)
{
    binder_metrics_drop(b->metrics, LONG_PROVISION, key);
}
