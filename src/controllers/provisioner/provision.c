/* A claim that is to get a volume: storage made on the pool, then the volume saved.
 *
 * The name of the volume follows from the claim's uid, so two tries make one volume, and a volume of that
 * name that is there already is ours. When the volume cannot be saved the storage is removed again, but not
 * before the server has said that the volume is not there. */
#include "controllers/provisioner/provisioner_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"
#include "machinery/merge_patch.h"

#define SAVES_MAX 5
#define SAVE_PAUSE_NS (10 * NS_PER_S) /* doubled from one to the next */

static const struct storage_class *class_of(const struct object *o)
{
    assert(!o || o->kind->kind == KIND_CLASS);
    return (const struct storage_class *)(const void *)o;
}

/* --- Claims whose provision may be going on --- */

struct in_progress *provisioner_in_progress(const struct provisioner *p, struct str key)
{
    struct in_progress *i;

    LIST_FOREACH(i, &p->in_progress, link) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed element has left the list */
        size_t ns = strlen(i->claim->ns);

        if (key.len > ns && key.s[ns] == '/' && strncmp(key.s, i->claim->ns, ns) == 0 &&
            str_is((struct str){ key.s + ns + 1, key.len - ns - 1 }, i->claim->name))
            return i;
    }
    return NULL;
}

static bool is_in_progress(const struct provisioner_op *op)
{
    const struct in_progress *i = provisioner_in_progress(op->provisioner, str_of(op->key));

    return i && strcmp(i->claim->uid, op->about->uid) == 0;
}

static void keep_in_progress(struct provisioner_op *op)
{
    struct in_progress *i;

    if (is_in_progress(op))
        return;
    i = calloc(1, sizeof *i);
    if (!i)
        die_with_reason("no memory to record a call that may have made storage: the storage would be lost");
    i->claim = object_ref(op->about);
    LIST_INSERT_HEAD(&op->provisioner->in_progress, i, link);
}

/* It is known how it ended. */
static void leave_progress(struct provisioner_op *op)
{
    struct in_progress *i = provisioner_in_progress(op->provisioner, str_of(op->key));

    if (!i || !is_in_progress(op))
        return;
    LIST_REMOVE(i, link);
    (void)object_unref(i->claim);
    free(i);
    /* Another claim may have its name by now. */
    controller_add(op->queue, str_of(op->key));
}

/* --- The work on the pool --- */

struct provision_work {
    struct job job;
    const struct provisioner_type *type;
    const void *ctx;
    char name[320];
    struct object *claim, *class, *node;
    struct buf source;
    enum provision_state state;
};

static int work_run(struct job *j, struct error *err)
{
    struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);
    struct provision_job q = { .volume_name = w->name,
                               .claim = claim_of(w->claim),
                               .class = class_of(w->class),
                               .node = w->node ? node_of(w->node) : NULL };

    return w->type->provision(w->ctx, &q, &j->stop, &w->source, &w->state, err);
}

static void work_free(struct job *j)
{
    struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);

    (void)object_unref(w->claim);
    (void)object_unref(w->class);
    (void)object_unref(w->node);
    buf_done(&w->source);
    free(w);
}

static const struct job_type work_type = { "provisioning", work_run, work_free };

/* --- The volume --- */

static int write_volume(struct provisioner_op *op, struct str source, struct error *err)
{
    const struct claim *c = claim_of(op->about);
    const struct storage_class *k = class_of(op->class);
    struct buf *out = &op->body;

    buf_clear(out);
    volume_write_begin(out, op->name);
    json_out_object(out, "annotations");
    json_out_text(out, ANN_PROVISIONED_BY, op->provisioner->o.name);
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_object(out, "spec");
    json_out_storage(out, "capacity", &c->request);
    json_out_array(out, "accessModes");
    for (unsigned i = 0; access_mode_names[i]; i++)
        if (c->modes & (1U << i))
            json_out_text(out, NULL, access_mode_names[i]);
    json_out_end_array(out);
    json_out_array(out, "mountOptions");
    for (uint32_t i = 0; i < k->mount_options.count; i++)
        json_out_text(out, NULL, k->mount_options.items[i]);
    json_out_end_array(out);
    volume_write_class(out, k->obj.name, k->reclaim);
    claim_ref_write(out, c);
    json_out_raw(out, /* key= */ NULL, source);
    json_out_end_object(out);
    json_out_end_object(out);
    return buf_check(out, "volume", err);
}

/* --- Failures --- */

static void op_failed(struct provisioner_op *op, const struct error *err)
{
    op->failure = *err;
    provisioner_op_fail(op, is_in_progress(op));
}

static void report_provision_failure(struct provisioner_op *op, const struct error *err)
{
    recorder_event(op->provisioner->recorder, op->about, EVENT_WARNING, "ProvisioningFailed", "%s", err->msg);
    log_warn("volume not provisioned", LOG_STR("claim", op->key), LOG_ERR(err));
}

static void on_node_released(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;

    if (outcome == API_DONE || a->r == -ERR_NOT_FOUND)
        provisioner_op_end(op); /* the scheduler's next choice brings it back */
    else
        op_failed(op, &a->error);
}

/* The scheduler is to choose another node. */
static void release_node(struct provisioner_op *op, const struct error *why)
{
    const struct object *c = informer_get_key(op->provisioner->claims_cache, str_of(op->key));
    struct api_write_options w = { .api = op->provisioner->api,
                                   .request = { .verb = CLIENT_PATCH },
                                   .object = c,
                                   .decide = component_decide_no_node,
                                   .step = API_STEP_SELECTED_NODE,
                                   .informer = op->provisioner->claims_cache,
                                   .done = on_node_released,
                                   .ctx = op };

    if (!c || strcmp(c->uid, op->about->uid) != 0 || !object_annotation(c, ANN_SELECTED_NODE))
        op_failed(op, why);
    else
        api_write_start(&op->write, &w);
}

/* Another try will fare no better. */
static void fail_for_good(struct provisioner_op *op, const struct error *why)
{
    struct error err;

    (void)error_set(
        &err, ERR_INVALID,
        "Volume provisioning failed with infeasible error. Retries will be delayed. failed to provision "
        "volume with StorageClass \"%s\": %s",
        claim_of(op->about)->class, why->msg);
    report_provision_failure(op, &err);
    provisioner_op_end_slowly(op);
}

static void fail_provision(struct provisioner_op *op, enum provision_state state, const struct error *why)
{
    struct error err;

    if (state == PROVISION_IN_BACKGROUND)
        keep_in_progress(op);
    else if (state != PROVISION_NO_CHANGE)
        leave_progress(op);
    if (why->code == PROVISIONER_IGNORED) {
        provisioner_op_end(op);
        return;
    }
    (void)error_set(&err, why->code, "failed to provision volume with StorageClass \"%s\": %s",
                    claim_of(op->about)->class, why->msg);
    if (state == PROVISION_FINISHED && why->code == ERR_INVALID) {
        fail_for_good(op, why);
        return;
    }
    report_provision_failure(op, &err);
    if (state == PROVISION_RESCHEDULE)
        release_node(op, &err);
    else
        op_failed(op, &err);
}

/* --- Saving --- */

static void save_volume(void *ctx);
static void verify_before_delete(void *ctx);

static void op_saved(struct provisioner_op *op)
{
    recorder_event(op->provisioner->recorder, op->about, EVENT_NORMAL, "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", op->name);
    log_info("volume provisioned", LOG_STR("claim", op->key), LOG_STR("volume", op->name));
    leave_progress(op);
    provisioner_op_end(op);
}

static void on_cleaned_up(void *ctx, struct job *j, int r, const struct error *err)
{
    struct provisioner_op *op = ctx;

    (void)j;
    op->job = NULL;
    if (r < 0)
        log_error("storage of failed provisioning not deleted", LOG_STR("claim", op->key),
                  LOG_STR("volume", op->name), LOG_ERR(err));
    leave_progress(op);
    op_failed(op, &op->failure);
}

/* The volume is not there, and will not be: its storage goes. */
static void clean_up(struct provisioner_op *op)
{
    _cleanup_(object_unref_p) struct object *volume = NULL;
    _cleanup_(json_done_p) struct json d;
    struct error err;

    (void)error_set(&err, op->failure.code,
                    "Error creating provisioned PV object for claim %s: %s. Deleting the volume.", op->key,
                    op->failure.msg);
    report_provision_failure(op, &err);
    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (object_decode(kind_info(KIND_VOLUME), buf_str(&op->body), &d, &volume, &err) < 0)
        op_failed(op, &err);
    else
        provisioner_begin_removal(op, volume, on_cleaned_up);
}

/* One of the failures may have been a lost answer: without knowing, nothing is removed. */
static void on_verified(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;

    if (outcome == API_DONE) {
        op_saved(op);
    } else if (a->r == -ERR_NOT_FOUND) {
        clean_up(op);
    } else {
        timer_init(&op->timer, op->provisioner->o.part.loop, verify_before_delete, op);
        timer_arm_after(&op->timer, SAVE_PAUSE_NS);
    }
}

static void verify_before_delete(void *ctx)
{
    struct provisioner_op *op = ctx;

    api_read(&op->write, &op->provisioner->api, KIND_VOLUME, "", op->name, on_verified, op);
}

static void on_saved(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;

    if (outcome == API_DONE || a->r == -ERR_EXISTS) {
        op_saved(op);
        return;
    }
    op->failure = a->error;
    if (MUTANT("provisioner-removes-what-is-saved")) {
        clean_up(op);
    } else if (++op->tries < SAVES_MAX) {
        timer_init(&op->timer, op->provisioner->o.part.loop, save_volume, op);
        timer_arm_after(&op->timer, SAVE_PAUSE_NS << (op->tries - 1));
    } else {
        verify_before_delete(op);
    }
}

static void save_volume(void *ctx)
{
    struct provisioner_op *op = ctx;
    struct api_write_options w = {
        .api = op->provisioner->api,
        .request = { .verb = CLIENT_CREATE, .kind = kind_info(KIND_VOLUME), .name = op->name },
        .body = buf_str(&op->body),
        .informer = op->provisioner->volumes_cache,
        .done = on_saved,
        .ctx = op
    };

    api_write_start(&op->write, &w);
}

/* --- Making --- */

static void on_provisioned(void *ctx, struct job *j, int r, const struct error *err)
{
    const struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);
    struct provisioner_op *op = ctx;
    struct error failed;

    op->job = NULL;
    if (r < 0)
        fail_provision(op, w->state, err);
    else if (write_volume(op, buf_str(&w->source), &failed) < 0)
        op_failed(op, &failed);
    else
        save_volume(op);
}

static void start_provision(struct provisioner_op *op)
{
    struct provision_work *w = calloc(1, sizeof *w);
    struct provisioner *p = op->provisioner;

    if (!w)
        die_with_reason(
            "no memory for an operation of a provisioner: its claim or volume would never be processed "
            "again");
    recorder_event(p->recorder, op->about, EVENT_NORMAL, "Provisioning",
                   "External provisioner is provisioning volume for claim \"%s\"", op->key);
    w->job.type = &work_type;
    w->type = p->o.type;
    w->ctx = p->o.ctx;
    memcpy(w->name, op->name, sizeof w->name);
    w->job.about = w->name;
    w->claim = object_ref(op->about);
    w->class = object_ref(op->class);
    w->node = op->node ? object_ref(op->node) : NULL;
    w->source = BUF_INIT(PROVISIONER_BODY_BYTES_MAX);
    w->state = PROVISION_FINISHED;
    op->job = &w->job;
    job_begin(&w->job, p->o.pool, on_provisioned, op);
}

/* A cache may be behind: a claim that has gone, or has a volume, gets no other storage. */
static void on_claim(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;
    const struct object *o = outcome == API_DONE ? a->object : NULL;

    if (!o && a->r != -ERR_NOT_FOUND)
        op_failed(op, &a->error);
    else if (!o || strcmp(o->uid, op->about->uid) != 0 || o->is_deleting || claim_of(o)->volume_name[0])
        provisioner_op_end(op); /* the cache will tell */
    else
        start_provision(op);
}

/* The node that was selected, if one was. */
static bool find_node(struct provisioner_op *op, struct error *err)
{
    const char *selected = object_annotation(op->about, ANN_SELECTED_NODE);
    const struct object *node;

    if (!selected || selected[0] == '\0')
        return true;
    node = informer_get(op->provisioner->nodes, "", selected);
    if (!node) {
        (void)error_set(err, ERR_NOT_FOUND, "failed to get target node: node \"%s\" not found", selected);
        return false;
    }
    op->node = object_ref(node);
    return true;
}

/* A claim that waits for its first pod has none before the scheduler has chosen a node. */
static bool should_provision(const struct provisioner *p, const struct claim *c)
{
    const char *by = object_annotation(&c->obj, ANN_PROVISIONER);
    const char *node = object_annotation(&c->obj, ANN_SELECTED_NODE);
    const struct storage_class *k = class_of(informer_get(p->classes, "", c->class));

    by = by ? by : object_annotation(&c->obj, ANN_PROVISIONER_BETA);
    if (c->volume_name[0] != '\0' || !by || strcmp(by, p->o.name) != 0)
        return false;
    return !k || k->binding != BINDING_WAIT_FOR_FIRST_CONSUMER || (node && node[0] != '\0');
}

static void op_begin(struct provisioner_op *op)
{
    const struct provisioner *p = op->provisioner;
    const struct claim *c = claim_of(op->about);
    const struct object *class = informer_get(p->classes, "", c->class);
    struct error err;

    (void)snprintf(op->name, sizeof op->name, "pvc-%s", op->about->uid);
    if (informer_get(p->volumes_cache, "", op->name)) { /* made before: the binder's turn */
        leave_progress(op);
        provisioner_op_end(op);
    } else if (!class) {
        (void)informer_not_found(p->classes, c->class, &err);
        report_provision_failure(op, &err);
        op_failed(op, &err);
    } else if (strcmp(class_of(class)->provisioner, p->o.name) != 0) {
        log_warn("class of claim has another provisioner", LOG_STR("claim", op->key),
                 LOG_STR("provisioner", class_of(class)->provisioner));
        leave_progress(op);
        provisioner_op_end(op);
    } else if (c->source && !is_in_progress(op)) {
        /* No provisioner of this process copies data: the claim would get an empty volume. */
        (void)error_set(
            &err, ERR_INVALID,
            "plugin \"%s\" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource",
            p->o.name);
        fail_for_good(op, &err);
    } else {
        op->class = object_ref(class);
        if (!find_node(op, &err))
            fail_provision(op, is_in_progress(op) ? PROVISION_NO_CHANGE : PROVISION_RESCHEDULE, &err);
        else if (is_in_progress(op))
            start_provision(op);
        else
            api_read(&op->write, &p->api, KIND_CLAIM, op->about->ns, op->about->name, on_claim, op);
    }
}

enum sync_result provisioner_sync_claim(void *ctx, struct str key)
{
    struct provisioner *p = ctx;
    const struct in_progress *i = provisioner_in_progress(p, key);
    const struct object *o = informer_get_key(p->claims_cache, key);

    if (i && (!o || strcmp(o->uid, i->claim->uid) != 0))
        o = i->claim; /* it went meanwhile; what was begun for it is brought to an end */
    else if (!o || (o->is_deleting && !i) || !should_provision(p, claim_of(o)))
        return SYNC_DONE;
    op_begin(provisioner_op_new(p, p->claims, key, o));
    return SYNC_LATER;
}
