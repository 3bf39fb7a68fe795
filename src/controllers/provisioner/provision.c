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

static bool is_in_progress(const struct provisioner_op *x)
{
    const struct in_progress *i = provisioner_in_progress(x->provisioner, str_of(x->key));

    return i && strcmp(i->claim->uid, x->about->uid) == 0;
}

static void keep_in_progress(struct provisioner_op *x)
{
    struct in_progress *i;

    if (is_in_progress(x))
        return;
    i = calloc(1, sizeof *i);
    if (!i)
        die_with_reason("no memory to record a call that may have made storage: the storage would be lost");
    i->claim = object_ref(x->about);
    LIST_INSERT_HEAD(&x->provisioner->in_progress, i, link);
}

/* It is known how it ended. */
static void leave_progress(struct provisioner_op *x)
{
    struct in_progress *i = provisioner_in_progress(x->provisioner, str_of(x->key));

    if (!i || !is_in_progress(x))
        return;
    LIST_REMOVE(i, link);
    (void)object_unref(i->claim);
    free(i);
    /* Another claim may have its name by now. */
    controller_add(x->queue, str_of(x->key));
}

/* --- The work on the pool --- */

struct provision_work {
    struct job job;
    const struct provisioner_type *type;
    const void *ctx;
    char name[320];
    struct object *claim, *class, *node;
    struct identity_check check;
    struct buf source;
    enum provision_state state;
};

static int work_run(struct job *j, struct error *err)
{
    struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);
    struct provision_job q = { .volume_name = w->name,
                               .claim = claim_of(w->claim),
                               .class = class_of(w->class),
                               .node = w->node ? node_of(w->node) : NULL,
                               .identity = &w->check.identity };

    return w->type->provision(w->ctx, &q, &j->stop, &w->source, &w->state, err);
}

static void work_free(struct job *j)
{
    struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);

    (void)object_unref(w->claim);
    (void)object_unref(w->class);
    (void)object_unref(w->node);
    identity_check_done(&w->check);
    buf_done(&w->source);
    free(w);
}

static const struct job_type work_type = { "provisioning", work_run, work_free };

/* --- The volume --- */

static int write_volume(struct provisioner_op *x, struct str source, struct error *err)
{
    const struct claim *c = claim_of(x->about);
    const struct storage_class *k = class_of(x->class);
    struct buf *out = &x->body;

    buf_clear(out);
    volume_write_begin(out, x->name);
    json_out_object(out, "annotations");
    json_out_text(out, ANN_PROVISIONED_BY, x->provisioner->o.name);
    if (x->identity[0] && x->provisioner->o.type->identity_annotation)
        json_out_text(out, x->provisioner->o.type->identity_annotation, x->identity);
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

static void op_failed(struct provisioner_op *x, const struct error *err)
{
    x->failure = *err;
    provisioner_op_fail(x, is_in_progress(x));
}

static void report_provision_failure(struct provisioner_op *x, const struct error *err)
{
    recorder_event(x->provisioner->recorder, x->about, EVENT_WARNING, "ProvisioningFailed", "%s", err->msg);
    log_warn("volume not provisioned", LOG_STR("claim", x->key), LOG_ERR(err));
}

static void on_node_released(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *x = ctx;

    if (outcome == API_DONE || a->r == -ERR_NOT_FOUND)
        provisioner_op_end(x); /* the scheduler's next choice brings it back */
    else
        op_failed(x, &a->error);
}

/* The scheduler is to choose another node. */
static void release_node(struct provisioner_op *x, const struct error *why)
{
    const struct object *c = informer_get_key(x->provisioner->claims_cache, str_of(x->key));
    struct api_write_options w = { .api = x->provisioner->api,
                                   .request = { .verb = CLIENT_PATCH },
                                   .object = c,
                                   .decide = component_decide_no_node,
                                   .step = API_STEP_SELECTED_NODE,
                                   .informer = x->provisioner->claims_cache,
                                   .done = on_node_released,
                                   .ctx = x };

    if (!c || strcmp(c->uid, x->about->uid) != 0 || !object_annotation(c, ANN_SELECTED_NODE))
        op_failed(x, why);
    else
        api_write_start(&x->write, &w);
}

/* Another try will fare no better. */
static void fail_for_good(struct provisioner_op *x, const struct error *why)
{
    struct error err;

    (void)error_set(
        &err, ERR_INVALID,
        "Volume provisioning failed with infeasible error. Retries will be delayed. failed to provision "
        "volume with StorageClass \"%s\": %s",
        claim_of(x->about)->class, why->msg);
    report_provision_failure(x, &err);
    provisioner_op_end_slowly(x);
}

static void fail_provision(struct provisioner_op *x, enum provision_state state, const struct error *why)
{
    struct error err;

    if (state == PROVISION_IN_BACKGROUND)
        keep_in_progress(x);
    else if (state != PROVISION_NO_CHANGE)
        leave_progress(x);
    if (why->code == PROVISIONER_IGNORED) {
        provisioner_op_end(x);
        return;
    }
    (void)error_set(&err, why->code, "failed to provision volume with StorageClass \"%s\": %s",
                    claim_of(x->about)->class, why->msg);
    if (state == PROVISION_FINISHED && why->code == ERR_INVALID) {
        fail_for_good(x, why);
        return;
    }
    report_provision_failure(x, &err);
    if (state == PROVISION_RESCHEDULE)
        release_node(x, &err);
    else
        op_failed(x, &err);
}

/* --- Saving --- */

static void save_volume(void *ctx);
static void verify_before_delete(void *ctx);

static void op_saved(struct provisioner_op *x)
{
    recorder_event(x->provisioner->recorder, x->about, EVENT_NORMAL, "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", x->name);
    log_info("volume provisioned", LOG_STR("claim", x->key), LOG_STR("volume", x->name));
    leave_progress(x);
    provisioner_op_end(x);
}

static void on_cleaned_up(void *ctx, struct job *j, int r, const struct error *err)
{
    struct provisioner_op *x = ctx;

    x->job = NULL;
    if (provisioner_removal_goes_on(x, j, r))
        return;
    if (r < 0)
        log_error("storage of failed provisioning not deleted", LOG_STR("claim", x->key),
                  LOG_STR("volume", x->name), LOG_ERR(err));
    leave_progress(x);
    op_failed(x, &x->failure);
}

/* The volume is not there, and will not be: its storage goes. */
static void clean_up(struct provisioner_op *x)
{
    _cleanup_(object_unref_p) struct object *volume = NULL;
    _cleanup_(json_done_p) struct json d;
    struct error err;

    (void)error_set(&err, x->failure.code,
                    "Error creating provisioned PV object for claim %s: %s. Deleting the volume.", x->key,
                    x->failure.msg);
    report_provision_failure(x, &err);
    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (object_decode(kind_info(KIND_VOLUME), buf_str(&x->body), &d, &volume, &err) < 0)
        op_failed(x, &err);
    else
        provisioner_begin_removal(x, volume, on_cleaned_up);
}

/* One of the failures may have been a lost answer: without knowing, nothing is removed. */
static void on_verified(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *x = ctx;

    if (outcome == API_DONE) {
        op_saved(x);
    } else if (a->r == -ERR_NOT_FOUND) {
        clean_up(x);
    } else {
        timer_init(&x->timer, x->provisioner->o.part.loop, verify_before_delete, x);
        timer_arm_after(&x->timer, SAVE_PAUSE_NS);
    }
}

static void verify_before_delete(void *ctx)
{
    struct provisioner_op *x = ctx;

    api_read(&x->write, &x->provisioner->api, KIND_VOLUME, "", x->name, on_verified, x);
}

static void on_saved(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *x = ctx;

    if (outcome == API_DONE || a->r == -ERR_EXISTS) {
        op_saved(x);
        return;
    }
    x->failure = a->error;
    if (MUTANT("provisioner-removes-what-is-saved")) {
        clean_up(x);
    } else if (++x->tries < SAVES_MAX) {
        timer_init(&x->timer, x->provisioner->o.part.loop, save_volume, x);
        timer_arm_after(&x->timer, SAVE_PAUSE_NS << (x->tries - 1));
    } else {
        verify_before_delete(x);
    }
}

static void save_volume(void *ctx)
{
    struct provisioner_op *x = ctx;
    struct api_write_options w = {
        .api = x->provisioner->api,
        .request = { .verb = CLIENT_CREATE, .kind = kind_info(KIND_VOLUME), .name = x->name },
        .body = buf_str(&x->body),
        .informer = x->provisioner->volumes_cache,
        .done = on_saved,
        .ctx = x
    };

    api_write_start(&x->write, &w);
}

/* --- Making --- */

static void begin_work(struct provisioner_op *op, bool needs_volumes);

static void on_provisioned(void *ctx, struct job *j, int r, const struct error *err)
{
    const struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);
    struct provisioner_op *x = ctx;
    struct error failed;

    x->job = NULL;
    if (identity_check_needs_volumes(&w->check, r)) {
        begin_work(x, /* needs_volumes= */ true);
        return;
    }
    if (r == 0) {
        provisioner_keep_identity(x->provisioner, &w->check);
        memcpy(x->identity, w->check.identity.id, sizeof x->identity);
    }
    if (r < 0)
        fail_provision(x, w->state, err);
    else if (write_volume(x, buf_str(&w->source), &failed) < 0)
        op_failed(x, &failed);
    else
        save_volume(x);
}

static void begin_work(struct provisioner_op *op, bool needs_volumes)
{
    struct provision_work *w = calloc(1, sizeof *w);
    struct provisioner *p = op->provisioner;

    if (!w)
        die_with_reason(
            "no memory for an operation of a provisioner: its claim or volume would never be processed "
            "again");
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
    identity_check_init(&w->check, p, needs_volumes);
    op->job = &w->job;
    job_begin(&w->job, p->o.pool, on_provisioned, op);
}

static void start_provision(struct provisioner_op *x)
{
    recorder_event(x->provisioner->recorder, x->about, EVENT_NORMAL, "Provisioning",
                   "External provisioner is provisioning volume for claim \"%s\"", x->key);
    begin_work(x, /* needs_volumes= */ false);
}

/* A cache may be behind: a claim that has gone, or has a volume, gets no other storage. */
static void on_claim(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *x = ctx;
    const struct object *o = outcome == API_DONE ? a->object : NULL;

    if (!o && a->r != -ERR_NOT_FOUND)
        op_failed(x, &a->error);
    else if (!o || strcmp(o->uid, x->about->uid) != 0 || o->is_deleting || claim_of(o)->volume_name[0])
        provisioner_op_end(x); /* the cache will tell */
    else
        start_provision(x);
}

/* The node that was selected, if one was. */
static bool find_node(struct provisioner_op *x, struct error *err)
{
    const char *selected = object_annotation(x->about, ANN_SELECTED_NODE);
    const struct object *node;

    if (!selected || selected[0] == '\0')
        return true;
    node = informer_get(x->provisioner->nodes, "", selected);
    if (!node) {
        (void)error_set(err, ERR_NOT_FOUND, "failed to get target node: node \"%s\" not found", selected);
        return false;
    }
    x->node = object_ref(node);
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

static void op_begin(struct provisioner_op *x)
{
    const struct provisioner *p = x->provisioner;
    const struct claim *c = claim_of(x->about);
    const struct object *class = informer_get(p->classes, "", c->class);
    struct error err;

    (void)snprintf(x->name, sizeof x->name, "pvc-%s", x->about->uid);
    if (informer_get(p->volumes_cache, "", x->name)) { /* made before: the binder's turn */
        leave_progress(x);
        provisioner_op_end(x);
    } else if (!class) {
        (void)informer_not_found(p->classes, c->class, &err);
        report_provision_failure(x, &err);
        op_failed(x, &err);
    } else if (strcmp(class_of(class)->provisioner, p->o.name) != 0) {
        log_warn("class of claim has another provisioner", LOG_STR("claim", x->key),
                 LOG_STR("provisioner", class_of(class)->provisioner));
        leave_progress(x);
        provisioner_op_end(x);
    } else if (c->source && !is_in_progress(x)) {
        /* No provisioner of this process copies data: the claim would get an empty volume. */
        (void)error_set(
            &err, ERR_INVALID,
            "plugin \"%s\" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource",
            p->o.name);
        fail_for_good(x, &err);
    } else {
        x->class = object_ref(class);
        if (!find_node(x, &err))
            fail_provision(x, is_in_progress(x) ? PROVISION_NO_CHANGE : PROVISION_RESCHEDULE, &err);
        else if (is_in_progress(x))
            start_provision(x);
        else
            api_read(&x->write, &p->api, KIND_CLAIM, x->about->ns, x->about->name, on_claim, x);
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
