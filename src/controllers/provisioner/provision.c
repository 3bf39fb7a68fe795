/* Provisions a volume for a claim: creates the storage on the pool, then the PersistentVolume.
 *
 * The volume's name is derived from the claim's uid, so that repeated tries create one volume, and an
 * existing volume of that name is ours. If the PersistentVolume cannot be created the storage is deleted
 * again, but only after the server has confirmed that the volume does not exist. */
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
#define SAVE_PAUSE_NS (10 * NS_PER_S) /* doubled after each try */
/* The same for volumes that are saved until it succeeds. */
#define SAVE_PAUSE_NS_MIN (5 * NS_PER_MS)
#define SAVE_PAUSE_NS_MAX (1000 * NS_PER_S)

static const struct storage_class *class_of(const struct object *o)
{
    assert(!o || o->kind->kind == KIND_CLASS);
    return (const struct storage_class *)(const void *)o;
}

/* --- Claims whose provisioning may be in progress --- */

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

static struct in_progress *progress_of(const struct provisioner_op *op)
{
    struct in_progress *i = provisioner_in_progress(op->provisioner, str_of(op->key));

    return i && strcmp(i->claim->uid, op->about->uid) == 0 ? i : NULL;
}

/* An earlier try may have made storage. */
static bool is_uncertain(const struct provisioner_op *op)
{
    const struct in_progress *i = progress_of(op);

    return i && i->is_uncertain;
}

static struct in_progress *in_progress_new(struct provisioner *p, const struct object *claim,
                                           const struct object *class)
{
    struct in_progress *i = calloc(1, sizeof *i);

    if (!i)
        die_with_reason("no memory to record a call that may have made storage: the storage would be lost");
    i->claim = object_ref(claim);
    i->class = object_ref(class);
    i->memo = BUF_INIT(CALL_RECORD_VALUE_BYTES_MAX);
    LIST_INSERT_HEAD(&p->in_progress, i, link);
    return i;
}

void in_progress_free(struct in_progress *i)
{
    LIST_REMOVE(i, link);
    (void)object_unref(i->claim);
    (void)object_unref(i->class);
    buf_done(&i->memo);
    free(i);
}

/* The try has ended without a known result. */
static void keep_in_progress(struct provisioner_op *op)
{
    struct in_progress *i = progress_of(op);

    if (!i)
        i = in_progress_new(op->provisioner, op->about, op->class);
    i->is_uncertain = true;
}

/* The result of the try is known. */
static void leave_progress(struct provisioner_op *op)
{
    struct in_progress *i = progress_of(op);

    if (!i)
        return;
    if (op->provisioner->record)
        call_record_remove(op->provisioner->record, i->claim->uid);
    if (i->is_uncertain) /* another claim may have its name by now */
        controller_add(op->queue, str_of(op->key));
    in_progress_free(i);
}

/* --- The record: what must be known to repeat a call after a crash --- */

/* An object without the metadata that a repeated call does not read, so that an entry stays small. */
static void write_recorded(struct buf *out, const char *key, const struct object *o)
{
    static const char *const annotations[] = { ANN_PROVISIONER, ANN_PROVISIONER_BETA, ANN_SELECTED_NODE };
    _cleanup_(json_done_p) struct json d;
    struct error err;
    json_ref root = 0;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (json_parse(&d, o->text, &root, &err) < 0)
        buf_fail(out, err.code);
    json_out_object(out, key);
    json_out_object(out, "metadata");
    if (o->ns[0])
        json_out_text(out, "namespace", o->ns);
    json_out_text(out, "name", o->name);
    json_out_text(out, "uid", o->uid);
    json_out_str(out, "resourceVersion", object_version(o));
    json_out_object(out, "annotations");
    for (size_t i = 0; i < ARRAY_LEN(annotations); i++)
        if (object_annotation(o, annotations[i]))
            json_out_text(out, annotations[i], object_annotation(o, annotations[i]));
    json_out_end_object(out);
    json_out_end_object(out);
    for (json_ref member = json_first(&d, root); member; member = json_next(&d, member)) {
        if (str_is(json_key(&d, member), "metadata") || str_is(json_key(&d, member), "status"))
            continue;
        json_out_key_str(out, json_key(&d, member));
        json_write(&d, member, out);
    }
    json_out_end_object(out);
}

static int write_record(const struct in_progress *i, struct buf *out, struct error *err)
{
    json_out_object(out, NULL);
    write_recorded(out, "claim", i->claim);
    write_recorded(out, "class", i->class);
    if (i->memo.len)
        json_out_raw(out, "request", buf_str(&i->memo));
    json_out_end_object(out);
    return buf_check(out, "record of a call", err);
}

/* Reads a member of an entry as an object. */
static int restore_object(const struct json *d, json_ref root, const char *key, enum kind k,
                          struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(CALL_RECORD_VALUE_BYTES_MAX);
    _cleanup_(json_done_p) struct json scratch;
    json_ref member = json_get(d, root, key);

    json_init(&scratch, CALL_RECORD_VALUE_BYTES_MAX);
    if (!member)
        return error_set(err, ERR_INVALID, "%s is missing", key);
    json_write(d, member, &text);
    return object_decode(kind_info(k), buf_str(&text), &scratch, ret, err);
}

void provisioner_restore(struct provisioner *p, const char *uid, struct str value)
{
    _cleanup_(object_unref_p) struct object *claim = NULL, *class = NULL;
    _cleanup_(json_done_p) struct json d;
    struct in_progress *i;
    struct error err;
    json_ref root;
    int r;

    json_init(&d, CALL_RECORD_VALUE_BYTES_MAX);
    r = json_parse(&d, value, &root, &err);
    if (r == 0)
        r = restore_object(&d, root, "claim", KIND_CLAIM, &claim, &err);
    if (r == 0)
        r = restore_object(&d, root, "class", KIND_CLASS, &class, &err);
    if (r == 0 && (strcmp(claim->uid, uid) != 0 || claim->ns[0] == '\0' || claim->name[0] == '\0'))
        r = error_set(&err, ERR_INVALID, "claim has another uid or no name");
    if (r < 0) {
        log_error("entry in the record of calls is damaged, ignoring it: storage of its claim may be left",
                  LOG_STR("provisioner", p->o.name), LOG_STR("claim_uid", uid), LOG_ERR(&err));
        return;
    }
    i = in_progress_new(p, claim, class);
    i->is_uncertain = true;
    if (json_get(&d, root, "request"))
        json_write(&d, json_get(&d, root, "request"), &i->memo);
    component_add(p->claims, claim);
}

/* --- The volume --- */

static void write_capacity(struct buf *out, const struct claim *c, int64_t bytes)
{
    struct quantity made = quantity_of(bytes, QUANTITY_BINARY_SI);

    json_out_storage(out, "capacity", bytes > 0 ? &made : &c->request);
}

static int write_volume(struct provisioner_op *op, const struct provision_result *result, struct error *err)
{
    const struct claim *c = claim_of(op->about);
    const struct storage_class *k = class_of(op->class);
    struct buf *out = &op->body;

    buf_clear(out);
    volume_write_begin(out, op->name);
    json_out_object(out, "annotations");
    json_out_text(out, ANN_PROVISIONED_BY, op->provisioner->o.name);
    if (result->annotations.len)
        json_out_raw(out, /* key= */ NULL, result->annotations);
    json_out_end_object(out);
    if (result->finalizer) {
        json_out_array(out, "finalizers");
        json_out_text(out, NULL, result->finalizer);
        json_out_end_array(out);
    }
    json_out_end_object(out);
    json_out_object(out, "spec");
    write_capacity(out, c, result->capacity_bytes);
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
    json_out_raw(out, /* key= */ NULL, result->spec);
    json_out_end_object(out);
    json_out_end_object(out);
    return buf_check(out, "volume", err);
}

/* --- Failures --- */

static void op_failed(struct provisioner_op *op, const struct error *err)
{
    op->failure = *err;
    provisioner_op_fail(op, is_uncertain(op));
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
        provisioner_op_end(op); /* requeued when the scheduler selects another node */
    else
        op_failed(op, &a->error);
}

/* Removes the selected node from the claim, so that the scheduler selects another. */
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

/* A retry would fail in the same way: the next try is later, or with another class. */
static void fail_for_good(struct provisioner_op *op, const struct error *why)
{
    struct provisioner *p = op->provisioner;
    uint64_t until_ns = loop_now_ns(p->o.part.loop) + p->o.limits.slow_ns;
    struct error err;

    (void)error_set(
        &err, ERR_INVALID,
        "Volume provisioning failed with infeasible error. Retries will be delayed. failed to provision "
        "volume with StorageClass \"%s\": %s",
        claim_of(op->about)->class, why->msg);
    report_provision_failure(op, &err);
    slow_set_put(&p->slow, op->about, op->class, until_ns);
    provisioner_op_end_until(op, until_ns);
}

static void fail_provision(struct provisioner_op *op, enum provision_state state, const struct error *why)
{
    struct error err;

    if (state == PROVISION_IN_BACKGROUND)
        keep_in_progress(op);
    else if (state != PROVISION_NO_CHANGE || !is_uncertain(op))
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

/* --- Creating the PersistentVolume --- */

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

static void on_cleaned_up(struct removal_call *c, int r, const struct error *err)
{
    struct provisioner_op *op = CONTAINER_OF(c, struct provisioner_op, removal);

    if (r < 0)
        log_error("storage of failed provisioning not deleted", LOG_STR("claim", op->key),
                  LOG_STR("volume", op->name), LOG_ERR(err));
    leave_progress(op);
    op_failed(op, &op->failure);
}

/* The volume does not exist and will not be created: deletes its storage. */
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

/* A failed create may have taken effect without an answer: as long as that is unknown, nothing is deleted. */
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

/* The pause before the next try to save a volume. */
static uint64_t save_pause_ns(const struct provisioner_op *op)
{
    uint64_t pause_ns = op->provisioner->o.limits.saves_until_done ? SAVE_PAUSE_NS_MIN : SAVE_PAUSE_NS;

    for (unsigned i = 1; i < op->tries && pause_ns < SAVE_PAUSE_NS_MAX; i++)
        pause_ns *= 2;
    return pause_ns < SAVE_PAUSE_NS_MAX ? pause_ns : SAVE_PAUSE_NS_MAX;
}

static void retry_save(struct provisioner_op *op, const struct error *err)
{
    op->failure = *err;
    if (MUTANT("provisioner-removes-what-is-saved")) {
        clean_up(op);
    } else if (++op->tries < SAVES_MAX || op->provisioner->o.limits.saves_until_done) {
        timer_init(&op->timer, op->provisioner->o.part.loop, save_volume, op);
        timer_arm_after(&op->timer, save_pause_ns(op));
    } else {
        verify_before_delete(op);
    }
}

/* Of a volume that exists, or was deleted since: the cache has it from now on, and the claim is not
 * provisioned again. */
static void on_existing(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    if (outcome == API_DONE || a->r == -ERR_NOT_FOUND)
        op_saved(ctx);
    else
        retry_save(ctx, &a->error);
}

static void on_saved(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;
    struct api_write_options read = {
        .api = op->provisioner->api,
        .request = { .verb = CLIENT_GET, .kind = kind_info(KIND_VOLUME), .name = op->name },
        .informer = op->provisioner->volumes_cache,
        .done = on_existing,
        .ctx = op
    };

    if (outcome == API_DONE)
        op_saved(op);
    else if (a->r == -ERR_EXISTS)
        api_write_start(&op->write, &read);
    else
        retry_save(op, &a->error);
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

/* --- Creating the storage --- */

static void on_provisioned(struct provision_call *c, const struct provision_result *result)
{
    struct provisioner_op *op = CONTAINER_OF(c, struct provisioner_op, call);
    struct error failed;

    if (result->r < 0)
        fail_provision(op, result->state, result->err);
    else if (write_volume(op, result, &failed) < 0)
        op_failed(op, &failed);
    else
        save_volume(op);
}

static struct provisioner_request request_of(const struct provisioner_op *op)
{
    const struct in_progress *i = progress_of(op);

    return (struct provisioner_request){ .volume_name = op->name,
                                         .claim = claim_of(op->about),
                                         .class = class_of(op->class),
                                         .node = op->node ? node_of(op->node) : NULL,
                                         .memo = i ? buf_str(&i->memo) : (struct str){ "", 0 },
                                         .is_repeated = i && i->is_uncertain };
}

static void start_provision(struct provisioner_op *op)
{
    const struct provisioner *p = op->provisioner;
    struct provisioner_request q = request_of(op);

    recorder_event(p->recorder, op->about, EVENT_NORMAL, "Provisioning",
                   "External provisioner is provisioning volume for claim \"%s\"", op->key);
    op->call.done = on_provisioned;
    p->o.type->provision(p->o.ctx, &q, &op->call);
}

static void on_recorded(struct call_record_write *w)
{
    start_provision(CONTAINER_OF(w, struct provisioner_op, recorded));
}

/* The first try: its request is decided, and recorded before it is sent. */
static void prepare_provision(struct provisioner_op *op)
{
    _cleanup_(buf_done_p) struct buf value = BUF_INIT(CALL_RECORD_VALUE_BYTES_MAX);
    struct provisioner *p = op->provisioner;
    struct in_progress *i = in_progress_new(p, op->about, op->class);
    enum provision_state state = PROVISION_FINISHED;
    struct provisioner_request q = request_of(op);
    struct error err;
    int r = p->o.type->prepare ? p->o.type->prepare(p->o.ctx, &q, &i->memo, &state, &err) : 0;

    if (r == 0)
        r = buf_check(&i->memo, "request", &err);
    if (r < 0) {
        fail_provision(op, state, &err);
        return;
    }
    if (!p->record || MUTANT("csi-records-nothing")) {
        start_provision(op);
        return;
    }
    op->recorded.done = on_recorded;
    r = write_record(i, &value, &err);
    if (r == 0)
        r = call_record_put(p->record, op->about->uid, buf_str(&value), &op->recorded, &err);
    if (r < 0)
        fail_provision(op, PROVISION_NO_CHANGE, &err);
}

/* The cache may be stale: no storage is created for a claim that was deleted or has a volume. */
static void on_claim(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct provisioner_op *op = ctx;
    const struct object *o = outcome == API_DONE ? a->object : NULL;

    if (!o && a->r != -ERR_NOT_FOUND)
        op_failed(op, &a->error);
    else if (!o || strcmp(o->uid, op->about->uid) != 0 || o->is_deleting || claim_of(o)->volume_name[0] ||
             informer_get(op->provisioner->volumes_cache, "", op->name))
        provisioner_op_end(op); /* the cache will be, or is, updated */
    else
        prepare_provision(op);
}

/* Finds the selected node, if there is one. */
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

/* A claim of a class with WaitForFirstConsumer is provisioned after the scheduler has selected a node. */
static bool should_provision(const struct provisioner *p, const struct claim *c)
{
    const char *by = object_annotation(&c->obj, ANN_PROVISIONER);
    const char *node = object_annotation(&c->obj, ANN_SELECTED_NODE);
    const struct storage_class *k = class_of(informer_get(p->classes, "", c->class));

    by = by ? by : object_annotation(&c->obj, ANN_PROVISIONER_BETA);
    if (c->volume_name[0] != '\0' || !by || strcmp(by, p->o.name) != 0)
        return false;
    if (p->o.node_name && (!node || strcmp(node, p->o.node_name) != 0))
        return false;
    return !k || k->binding != BINDING_WAIT_FOR_FIRST_CONSUMER || (node && node[0] != '\0');
}

/* Repeats a call whose result is not known, as it was: with its class, even if that was deleted since. */
static void repeat_provision(struct provisioner_op *op)
{
    struct error err;

    op->class = object_ref(progress_of(op)->class);
    (void)find_node(op, &err); /* the request was decided at the first try */
    start_provision(op);
}

/* The claim has failed for good with this class a moment ago. */
static bool is_slow(struct provisioner_op *op, uint64_t *ret_until_ns)
{
    struct provisioner *p = op->provisioner;

    *ret_until_ns = slow_set_until_ns(&p->slow, op->about, op->class, loop_now_ns(p->o.part.loop));
    return *ret_until_ns > 0;
}

static void begin_provision(struct provisioner_op *op)
{
    const struct provisioner *p = op->provisioner;
    const struct claim *c = claim_of(op->about);
    const struct object *class = informer_get(p->classes, "", c->class);
    uint64_t until_ns;
    struct error err;

    op->class = class ? object_ref(class) : NULL;

    if (!class) {
        (void)informer_not_found(p->classes, c->class, &err);
        report_provision_failure(op, &err);
        op_failed(op, &err);
    } else if (strcmp(class_of(class)->provisioner, p->o.name) != 0) {
        log_warn("class of claim has another provisioner", LOG_STR("claim", op->key),
                 LOG_STR("provisioner", class_of(class)->provisioner));
        provisioner_op_end(op);
    } else if (is_slow(op, &until_ns)) {
        provisioner_op_end_until(op, until_ns);
    } else if (c->source && !p->o.type->has_data_sources) {
        /* The type does not copy data: the claim would get an empty volume. */
        (void)error_set(
            &err, ERR_INVALID,
            "plugin \"%s\" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource",
            p->o.name);
        fail_for_good(op, &err);
    } else if (find_node(op, &err)) {
        api_read(&op->write, &p->api, KIND_CLAIM, op->about->ns, op->about->name, on_claim, op);
    } else {
        fail_provision(op, PROVISION_RESCHEDULE, &err);
    }
}

static void op_begin(struct provisioner_op *op)
{
    const char *prefix = op->provisioner->o.name_prefix;

    (void)snprintf(op->name, sizeof op->name, "%s-%s", prefix ? prefix : "pvc", op->about->uid);
    if (informer_get(op->provisioner->volumes_cache, "", op->name)) { /* made before: the binder's turn */
        leave_progress(op);
        provisioner_op_end(op);
    } else if (is_uncertain(op) && !MUTANT("csi-changes-the-request")) {
        repeat_provision(op);
    } else {
        begin_provision(op);
    }
}

enum sync_result provisioner_sync_claim(void *ctx, struct str key)
{
    struct provisioner *p = ctx;
    const struct in_progress *i = provisioner_in_progress(p, key);
    const struct object *o = informer_get_key(p->claims_cache, key);
    bool is_gone = i && (!o || strcmp(o->uid, i->claim->uid) != 0);

    if (is_gone && MUTANT("csi-forgets-deleted-claims"))
        return SYNC_DONE;
    /* A call in progress is completed, also if its claim was deleted, or bound, meanwhile. */
    if (is_gone)
        o = i->claim;
    else if (!i && (!o || o->is_deleting || !should_provision(p, claim_of(o))))
        return SYNC_DONE;
    op_begin(provisioner_op_new(p, p->claims, key, o));
    return SYNC_LATER;
}
