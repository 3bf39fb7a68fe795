/* Makes a volume for a claim: keeps the source of its data, reads the provisioner's secret, calls
 * CreateVolume, checks the answer, and describes the volume for its PersistentVolume.
 *
 * A volume that is smaller than requested, or that was not filled from the claim's source, is deleted again;
 * if that fails its end is not known, and the loop repeats the whole call. */
#include "controllers/csi/csi_provision_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "base/die.h"
#include "base/mutant.h"

#define DELETES_MAX 5
#define SPEC_BYTES_MAX ((size_t)1 << 20)

/* One call of the loop. */
struct csi_create {
    struct csi_provisioner *provisioner;
    struct provision_call *call;
    struct buf memo;    /* the plan as recorded */
    struct arena arena; /* of the plan and its texts */
    struct csi_create_plan plan;
    const char *class_name; /* NULL: no memory, or no class */
    bool is_repeated;       /* an earlier try may have made the volume */
    char name[320];
    char ns[64];                      /* of the claim */
    char volume_id[CSI_HANDLE_BYTES]; /* of a volume that must be deleted again */
    struct deferred begin;            /* the start must not report an end */
    struct api_write read;            /* of the secret, or the write of the source's finalizer */
    struct csi_controller_call rpc;
    unsigned deletes;
    struct error failure; /* why it is deleted */
};

/* --- The end --- */

static void create_free(struct csi_create *w)
{
    loop_undefer(&w->begin);
    api_write_cancel(&w->read);
    csi_controller_call_cancel(&w->rpc);
    buf_done(&w->memo);
    arena_done(&w->arena);
    free(w);
}

/* err is not in the memory of the work. */
static void create_end(struct csi_create *w, struct provision_result *result)
{
    struct provision_call *c = w->call;
    struct error err = { 0 };

    if (result->err) {
        err = *result->err;
        result->err = &err;
    }
    c->work = NULL;
    c->done(c, result);
    create_free(w);
}

static void create_fail(struct csi_create *w, enum provision_state state, const struct error *err)
{
    struct provision_result result = { .r = -(int)err->code, .err = err, .state = state };

    if (state != PROVISION_NO_CHANGE && w->class_name)
        csi_capacity_on_failed(w->provisioner->capacity, w->class_name);
    create_end(w, &result);
}

/* --- The volume --- */

static void write_secret_ref(struct buf *out, const char *key, const struct secret_ref *ref)
{
    if (ref->name[0] == '\0')
        return;
    json_out_object(out, key);
    json_out_text(out, "name", ref->name);
    json_out_text(out, "namespace", ref->ns);
    json_out_end_object(out);
}

static void write_source(struct buf *out, const struct csi_create *w, const Csi__V1__Volume *v)
{
    const struct csi_provisioner *p = w->provisioner;
    const struct secret_ref *secrets = w->plan.secrets;

    json_out_object(out, "csi");
    json_out_text(out, "driver", csi_peer_name(p->o.peer));
    json_out_text(out, "volumeHandle", v->volume_id);
    if (p->o.settings->has_publish_readonly && w->plan.modes == ACCESS_ROX)
        json_out_bool(out, "readOnly", true);
    if (!w->plan.is_block && w->plan.fs_type[0])
        json_out_text(out, "fsType", w->plan.fs_type);
    json_out_object(out, "volumeAttributes");
    for (size_t i = 0; i < v->n_volume_context; i++)
        json_out_text(out, v->volume_context[i]->key, v->volume_context[i]->value);
    json_out_text(out, "storage.kubernetes.io/csiProvisionerIdentity", p->identity);
    json_out_end_object(out);
    write_secret_ref(out, "controllerPublishSecretRef", &secrets[CSI_FOR_CONTROLLER_PUBLISH]);
    write_secret_ref(out, "nodeStageSecretRef", &secrets[CSI_FOR_NODE_STAGE]);
    write_secret_ref(out, "nodePublishSecretRef", &secrets[CSI_FOR_NODE_PUBLISH]);
    write_secret_ref(out, "controllerExpandSecretRef", &secrets[CSI_FOR_CONTROLLER_EXPAND]);
    write_secret_ref(out, "nodeExpandSecretRef", &secrets[CSI_FOR_NODE_EXPAND]);
    json_out_end_object(out);
}

static int terms_of_answer(struct arena *a, const Csi__V1__Volume *v, struct csi_terms *ret,
                           struct error *err)
{
    struct csi_terms terms = { arena_array(a, v->n_accessible_topology + 1, sizeof *terms.items), 0 };

    for (size_t i = 0; i < v->n_accessible_topology && terms.items; i++) {
        const Csi__V1__Topology *t = v->accessible_topology[i];
        struct kv *items = arena_array(a, t->n_segments + 1, sizeof *items);

        for (size_t k = 0; k < t->n_segments && items; k++)
            items[k] = (struct kv){ t->segments[k]->key, t->segments[k]->value };
        if (items)
            kv_sort(items, t->n_segments);
        terms.items[terms.count++] = (struct kvs){ items, (uint32_t)t->n_segments };
    }
    *ret = terms;
    return arena_check(a, err);
}

static int write_spec(struct buf *out, const struct csi_create *w, const Csi__V1__Volume *v,
                      const struct csi_terms *terms, struct error *err)
{
    write_source(out, w, v);
    csi_topology_write_affinity(out, terms);
    json_out_text(out, "volumeMode",
                  volume_mode_names[w->plan.is_block ? VOLUME_MODE_BLOCK : VOLUME_MODE_FILESYSTEM]);
    if (w->plan.attributes_class[0])
        json_out_text(out, "volumeAttributesClassName", w->plan.attributes_class);
    return buf_check(out, "volume", err);
}

static void write_annotations(struct buf *out, const struct csi_create *w)
{
    const struct secret_ref *deletion = &w->plan.secrets[CSI_FOR_PROVISIONER];
    const struct secret_ref *modify = &w->plan.secrets[CSI_FOR_CONTROLLER_MODIFY];

    json_out_text(out, ANN_DELETION_SECRET_NAME, deletion->name);
    json_out_text(out, ANN_DELETION_SECRET_NAMESPACE, deletion->ns);
    if (modify->name[0]) {
        json_out_text(out, ANN_MODIFY_SECRET_NAME, modify->name);
        json_out_text(out, ANN_MODIFY_SECRET_NAMESPACE, modify->ns);
    }
}

static void create_succeed(struct csi_create *w, const Csi__V1__Volume *v)
{
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX), annotations = BUF_INIT(SPEC_BYTES_MAX);
    struct csi_terms terms;
    struct error err;

    write_annotations(&annotations, w);
    /* The volume exists, and only an object that cannot be written is missing: repeated as it is. */
    if (terms_of_answer(&w->arena, v, &terms, &err) < 0 || write_spec(&spec, w, v, &terms, &err) < 0 ||
        buf_check(&annotations, "annotations", &err) < 0) {
        create_fail(w, PROVISION_IN_BACKGROUND, &err);
        return;
    }
    csi_capacity_on_created(w->provisioner->capacity, &terms);
    create_end(w, &(struct provision_result){ .spec = buf_str(&spec),
                                              .annotations = buf_str(&annotations),
                                              .finalizer = CSI_PROVISIONER_FINALIZER,
                                              .capacity_bytes = v->capacity_bytes });
}

/* --- A volume that does not serve is deleted again --- */

static void delete_again(struct csi_create *w);

static void on_deleted_again(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_create *w = CONTAINER_OF(c, struct csi_create, rpc);

    if (a->outcome == CSI_DONE)
        create_fail(w, PROVISION_FINISHED, &w->failure);
    else if (++w->deletes < DELETES_MAX)
        delete_again(w);
    else
        create_fail(w, PROVISION_IN_BACKGROUND, &w->failure);
}

static void on_deletion_secret(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    Csi__V1__DeleteVolumeRequest m;
    struct csi_secrets secrets = { 0 };
    struct csi_create *w = ctx;
    struct error ignored; /* without the secret the driver may refuse: then it is tried again */

    csi__v1__delete_volume_request__init(&m);
    if (outcome == API_DONE)
        (void)csi_secret_messages(&a, secret_of(answer->object), &secrets, &ignored);
    m.volume_id = w->volume_id;
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    w->rpc.done = on_deleted_again;
    csi_controller_call_start(w->provisioner->o.peer, &w->rpc, CSI_DELETE_VOLUME, &m.base,
                              csi_call_limit_ns(w->provisioner));
}

static void delete_again(struct csi_create *w)
{
    const struct secret_ref *ref = &w->plan.secrets[CSI_FOR_PROVISIONER];
    static const struct client_answer none = { .r = -ERR_NOT_FOUND };

    if (ref->name[0])
        api_read(&w->read, &w->provisioner->api, KIND_SECRET, ref->ns, ref->name, on_deletion_secret, w);
    else
        on_deletion_secret(w, API_REFUSED, &none);
}

/* --- CreateVolume --- */

/* NULL if the volume serves, else why not. */
static const char *check_answer(struct csi_create *w, const Csi__V1__Volume *v)
{
    if (v->capacity_bytes != 0 && v->capacity_bytes < w->plan.bytes && !MUTANT("csi-trusts-small-volumes"))
        return arena_printf(&w->arena,
                            "created volume capacity %" PRId64 " less than requested capacity %" PRId64,
                            v->capacity_bytes, w->plan.bytes);
    if (w->plan.source.kind != CSI_SOURCE_NONE && !v->content_source)
        return "volume content source missing";
    return NULL;
}

static bool are_pairs_text(Csi__V1__Pair *const *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!str_is_utf8(str_of(pairs[i]->key)) || !str_is_utf8(str_of(pairs[i]->value)))
            return false;
    return true;
}

/* The server would refuse a PersistentVolume with other bytes. */
static bool is_text(const Csi__V1__Volume *v)
{
    for (size_t i = 0; i < v->n_accessible_topology; i++)
        if (!are_pairs_text(v->accessible_topology[i]->segments, v->accessible_topology[i]->n_segments))
            return false;
    return str_is_utf8(str_of(v->volume_id)) && are_pairs_text(v->volume_context, v->n_volume_context);
}

static void on_answer(struct csi_create *w, const Csi__V1__CreateVolumeResponse *m)
{
    const Csi__V1__Volume *v = m->volume;
    const char *wrong;
    struct error err;

    if (!v || v->volume_id[0] == '\0' || strlen(v->volume_id) >= sizeof w->volume_id) {
        (void)error_set(&err, ERR_UNCERTAIN, "driver answered CreateVolume without a valid volume_id");
        create_fail(w, PROVISION_IN_BACKGROUND, &err);
        return;
    }
    if (!is_text(v)) {
        (void)error_set(&err, ERR_UNCERTAIN,
                        "driver answered CreateVolume with text that is not valid UTF-8");
        create_fail(w, PROVISION_IN_BACKGROUND, &err);
        return;
    }
    wrong = check_answer(w, v);
    if (!wrong) {
        create_succeed(w, v);
        return;
    }
    (void)error_set(&w->failure, ERR_UNAVAILABLE, "%s", wrong);
    (void)snprintf(w->volume_id, sizeof w->volume_id, "%s", v->volume_id);
    delete_again(w);
}

static void on_created(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_create *w = CONTAINER_OF(c, struct csi_create, rpc);
    struct error err;

    if (a->outcome != CSI_DONE)
        err = *a->err;
    switch (a->outcome) {
    case CSI_DONE:
        on_answer(w, (const Csi__V1__CreateVolumeResponse *)(const void *)a->message);
        return;
    case CSI_NOT_SENT:
        create_fail(w, PROVISION_NO_CHANGE, &err);
        return;
    case CSI_IN_PROGRESS:
        create_fail(w, PROVISION_IN_BACKGROUND, &err);
        return;
    case CSI_EXHAUSTED:
        err.code = ERR_UNAVAILABLE;
        create_fail(w, w->plan.is_scheduled ? PROVISION_RESCHEDULE : PROVISION_FINISHED, &err);
        return;
    case CSI_INFEASIBLE:
        err.code = ERR_INVALID;
        create_fail(w, PROVISION_FINISHED, &err);
        return;
    case CSI_FINAL:
    case CSI_OUTCOME_COUNT:
        break;
    }
    if (err.code == ERR_INVALID) /* means infeasible to the loop */
        err.code = ERR_UNAVAILABLE;
    create_fail(w, PROVISION_FINISHED, &err);
}

static void create_call(struct csi_create *w, const struct secret *secret)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    Csi__V1__CreateVolumeRequest m;
    struct error err;

    if (csi_create_message(&a, &w->plan, w->name, secret, &m, &err) < 0) {
        create_fail(w, PROVISION_NO_CHANGE, &err);
        return;
    }
    w->rpc.done = on_created;
    csi_controller_call_start(w->provisioner->o.peer, &w->rpc, CSI_CREATE_VOLUME, &m.base,
                              csi_call_limit_ns(w->provisioner));
}

static void on_secret(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_create *w = ctx;
    const struct secret_ref *ref = &w->plan.secrets[CSI_FOR_PROVISIONER];
    struct error err;

    if (outcome == API_DONE) {
        create_call(w, secret_of(a->object));
        return;
    }
    (void)error_set(&err, ERR_UNAVAILABLE, "error getting secret %s in namespace %s: %s", ref->name, ref->ns,
                    a->error.msg);
    create_fail(w, PROVISION_NO_CHANGE, &err);
}

static void read_secret(struct csi_create *w)
{
    const struct secret_ref *ref = &w->plan.secrets[CSI_FOR_PROVISIONER];

    if (ref->name[0])
        api_read(&w->read, &w->provisioner->api, KIND_SECRET, ref->ns, ref->name, on_secret, w);
    else
        create_call(w, NULL);
}

/* --- The source --- */

/* Without the right to write snapshots, as the stock programs often have it, they are not kept. */
static void on_source_kept(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_create *w = ctx;

    if (api_write_succeeded(outcome) || (w->plan.source.kind == CSI_SOURCE_SNAPSHOT && a->r == -ERR_DENIED))
        read_secret(w);
    else
        create_fail(w, PROVISION_NO_CHANGE, &a->error);
}

/* Before the first call. A call that is repeated has kept it, or does not need it any more. */
static void keep_source(struct csi_create *w)
{
    const struct csi_source_caches *caches = &w->provisioner->inputs.sources;
    bool is_claim = w->plan.source.kind == CSI_SOURCE_CLAIM;
    const struct api_write_options options = { .api = w->provisioner->api,
                                               .request = { .verb = CLIENT_PATCH },
                                               .object = csi_source_object(caches, w->ns, &w->plan.source),
                                               .decide = csi_source_decide_kept,
                                               .patience = API_FEW_FAST,
                                               .step = API_STEP_FINALIZER,
                                               .informer = is_claim ? caches->claims : caches->snapshots,
                                               .done = on_source_kept,
                                               .ctx = w };
    struct error err;

    if (options.object) {
        api_write_start(&w->read, &options);
        return;
    }
    (void)informer_not_found(options.informer, w->plan.source.name, &err);
    create_fail(w, PROVISION_NO_CHANGE, &err);
}

/* --- The type --- */

int csi_provision_prepare(void *ctx, const struct provisioner_request *q, struct buf *memo,
                          enum provision_state *state, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    struct csi_provisioner *p = ctx;
    struct csi_create_plan plan;
    int r = csi_create_plan(&a, &p->inputs, q, &plan, state, err);

    if (r == -PROVISIONER_IGNORED)
        recorder_event(p->recorder, &q->claim->obj, EVENT_NORMAL, "Provisioning", "%s", err->msg);
    if (r == 0)
        csi_create_plan_write(memo, &plan);
    return r;
}

static void create_begin(void *ctx)
{
    struct csi_create *w = ctx;
    struct error err;
    int r = buf_check(&w->memo, "recorded request", &err);

    if (r == 0)
        r = csi_create_plan_read(&w->arena, buf_str(&w->memo), &w->plan, &err);
    if (r < 0) /* the record is an object that others can write */
        create_fail(w, PROVISION_NO_CHANGE, &err);
    else if (w->plan.source.kind != CSI_SOURCE_NONE && !w->is_repeated)
        keep_source(w);
    else
        read_secret(w);
}

void csi_provision_start(void *ctx, const struct provisioner_request *q, struct provision_call *c)
{
    struct csi_create *w = calloc(1, sizeof *w);

    if (!w)
        die_with_reason("no memory for a call to a CSI driver: its claim would never be processed again");
    w->provisioner = ctx;
    w->call = c;
    c->work = w;
    w->arena = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    w->memo = BUF_INIT(CSI_PLAN_BYTES_MAX);
    buf_add_str(&w->memo, q->memo);
    w->class_name = q->class ? arena_dup(&w->arena, str_of(q->class->obj.name)) : NULL;
    (void)snprintf(w->name, sizeof w->name, "%s", q->volume_name);
    csi_controller_call_about(&w->rpc, &q->claim->obj);
    w->is_repeated = q->is_repeated;
    (void)snprintf(w->ns, sizeof w->ns, "%s", q->claim->obj.ns);
    deferred_init(&w->begin, w->provisioner->o.part.loop, create_begin, w);
    loop_defer(&w->begin);
}

void csi_provision_cancel(void *ctx, struct provision_call *c)
{
    (void)ctx;
    if (c->work)
        create_free(c->work);
    c->work = NULL;
}
