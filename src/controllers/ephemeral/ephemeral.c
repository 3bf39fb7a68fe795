#include "controllers/ephemeral/ephemeral.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/pod_claims.h"
#include "base/log.h"
#include "base/mutant.h"
#include "machinery/component_deps.h"

#define QUEUE "ephemeral_volume"

struct ephemeral {
    struct informer *pods;
    struct informer *claims;
    struct informer_handler pods_handler;
    struct informer_handler claims_handler;
    struct controller *controller;
    struct recorder *recorder;
    struct metric *creates; /* NULL: nothing is counted */
    struct metric *failures;
};

/* --- The claim --- */

/* The volumeClaimTemplate of the volume, in the pod's text. */
static json_ref template_of(const struct json *d, json_ref pod, const char *volume)
{
    json_ref volumes = json_path(d, pod, "spec", "volumes");

    for (json_ref v = json_first(d, volumes); v; v = json_next(d, v))
        if (json_is_string(d, json_get(d, v, "name"), volume))
            return json_path(d, v, "ephemeral", "volumeClaimTemplate");
    return 0;
}

static json_ref new_claim(struct json *d, json_ref template, const struct pod *p, const char *name)
{
    static const char *const taken[] = { "labels", "annotations" };
    json_ref claim = json_new_object(d), meta = json_new_object(d), owners = json_new_array(d),
             owner = json_new_object(d);

    json_set_string(d, claim, "apiVersion", "v1");
    json_set_string(d, claim, "kind", "PersistentVolumeClaim");
    json_set_string(d, meta, "name", name);
    json_set_string(d, meta, "namespace", p->obj.ns);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        json_ref v = json_path(d, template, "metadata", taken[i]);

        if (v)
            json_set(d, meta, taken[i], json_copy(d, v));
    }
    json_set_string(d, owner, "apiVersion", "v1");
    json_set_string(d, owner, "kind", "Pod");
    json_set_string(d, owner, "name", p->obj.name);
    json_set_string(d, owner, "uid", p->obj.uid);
    json_set(d, owner, "controller", json_new_bool(d, true));
    json_set(d, owner, "blockOwnerDeletion", json_new_bool(d, true));
    if (!MUTANT("ephemeral-makes-orphans"))
        json_append(d, owners, owner);
    json_set(d, meta, "ownerReferences", owners);
    json_set(d, claim, "metadata", meta);
    json_set(d, claim, "spec", json_copy(d, json_get(d, template, "spec")));
    return claim;
}

static int write_claim(const struct pod *p, const struct pod_volume *v, struct buf *out, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref pod, claim;
    int r;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    r = json_parse(&d, p->obj.text, &pod, err);
    if (r < 0)
        return r;
    claim = new_claim(&d, template_of(&d, pod, v->name), p, pod_claim_name(v));
    r = json_check(&d, err);
    if (r < 0)
        return r;
    json_write(&d, claim, out);
    return buf_check(out, "claim", err);
}

/* --- The sync --- */

/* The volume whose claim was to be made: the one that is still missing. */
static const struct pod_volume *missing_of(const struct ephemeral *e, const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];

        if (v->type == POD_VOLUME_EPHEMERAL && !informer_get(e->claims, p->obj.ns, v->claim_name))
            return v;
    }
    return NULL;
}

static void add_one(struct metric *m)
{
    if (m)
        metric_add(m, 1);
}

static void on_created(const struct sync_request *request, enum api_outcome outcome,
                       const struct client_answer *a)
{
    struct ephemeral *e = request->sync->ctx;
    const struct object *o = informer_get_key(e->pods, str_of(request->sync->key));
    const struct pod_volume *v = o ? missing_of(e, pod_of(o)) : NULL;

    if (outcome == API_DONE || !v)
        return; /* the pod went meanwhile, or the claim came */
    add_one(e->failures);
    /* The name is taken and the cache does not know: ours by a lost answer, or somebody's, which the next
     * sync tells. */
    if (a->r != -ERR_EXISTS)
        recorder_event(e->recorder, o, EVENT_WARNING, "FailedBinding",
                       "ephemeral volume %s: create PVC %s: %s", v->name, v->claim_name, a->error.msg);
}

static enum sync_result create_claim(struct ephemeral *e, struct str key, const struct pod *p,
                                     const struct pod_volume *v)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = { .request = { .verb = CLIENT_CREATE,
                                                .kind = kind_info(KIND_CLAIM),
                                                .ns = p->obj.ns,
                                                .name = v->claim_name },
                                   .informer = e->claims };
    struct error err;

    add_one(e->creates);
    if (write_claim(p, v, &body, &err) < 0)
        w.failed = err.code;
    w.body = buf_str(&body);
    log_info("creating claim of ephemeral volume", LOG_TEXT("pod", key), LOG_STR("volume", v->name),
             LOG_STR("claim", v->claim_name));
    return sync_once(e->controller, key, &w, on_created, NULL);
}

/* The first volume that is not as it should be; the rest waits for it. */
static enum sync_result sync_pod(void *ctx, struct str key)
{
    struct ephemeral *e = ctx;
    const struct object *o = informer_get_key(e->pods, key);
    const struct pod *p = o && !o->is_deleting ? pod_of(o) : NULL;

    for (uint32_t i = 0; p && i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];
        const struct object *claim;

        if (v->type != POD_VOLUME_EPHEMERAL)
            continue;
        claim = informer_get(e->claims, p->obj.ns, v->claim_name);
        if (!claim)
            return create_claim(e, key, p, v);
        if (pod_controls_claim(p, claim_of(claim)))
            continue;
        recorder_event(e->recorder, &p->obj, EVENT_WARNING, "FailedBinding",
                       "ephemeral volume %s: PVC %s/%s was not created for pod %s/%s (pod is not owner)",
                       v->name, p->obj.ns, v->claim_name, p->obj.ns, p->obj.name);
        return SYNC_AGAIN;
    }
    return SYNC_DONE;
}

/* --- What to look at --- */

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    struct ephemeral *e = ctx;

    (void)is_initial;
    if (!o->is_deleting && pod_has_ephemeral_volume(pod_of(o)))
        component_add(e->controller, o);
}

/* The pods whose claim it was get another. */
static void on_claim_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct ephemeral *e = ctx;
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(CLAIM_KEY_BYTES_MAX);
    struct informer_cursor at;

    object_key(o, &key);
    if (MUTANT("ephemeral-forgets-deleted-claims"))
        return;
    for (const struct object *p = informer_first_by(e->pods, PODS_BY_CLAIM, buf_str(&key), &at); p;
         p = informer_next(&at))
        on_pod_add(e, p, is_final_unknown);
}

/* --- Lifecycle --- */

static int add_metrics(struct ephemeral *e, struct metrics *m, struct error *err)
{
    static const struct metric_desc creates = {
        .name = "ephemeral_volume_controller_create_total",
        .help = "Attempts to create a PersistentVolumeClaim for an ephemeral volume.",
        .type = METRIC_COUNTER,
    };
    static const struct metric_desc failures = {
        .name = "ephemeral_volume_controller_create_failures_total",
        .help = "Failed attempts to create a PersistentVolumeClaim for an ephemeral volume.",
        .type = METRIC_COUNTER,
    };
    int r;

    if (!m)
        return 0;
    r = metrics_add_metric(m, &creates, &e->creates, err);
    if (r == 0)
        r = metrics_add_metric(m, &failures, &e->failures, err);
    return r;
}

int ephemeral_new(const struct component_deps *o, struct ephemeral **ret, struct error *err)
{
    _cleanup_(ephemeral_free_p) struct ephemeral *e = calloc(1, sizeof *e);
    struct controller_options c = { .queue = { .loop = o->loop,
                                               .name = QUEUE,
                                               .metrics = o->metrics,
                                               .seed = component_seed(o, QUEUE),
                                               .max_ns = WORKQUEUE_CONTROLLER_MAX_NS },
                                    .sync = sync_pod,
                                    .ctx = e,
                                    .comes_again = true /* for the pod's next volume */ };
    int r;

    if (!e)
        return error_no_memory(err);
    r = component_recorder(o, "ephemeral_volume", &e->recorder, err);
    if (r < 0)
        return r;
    e->claims = informers_get(o->informers, KIND_CLAIM, err);
    e->pods = e->claims ? component_pods(o->informers, err) : NULL;
    if (!e->pods)
        return -(int)err->code;
    r = add_metrics(e, o->metrics, err);
    if (r == 0)
        r = component_api(o, "berth-ephemeral-volume", &c.api, err);
    if (r == 0)
        r = controller_new(&c, &e->controller, err);
    if (r == 0)
        *ret = TAKE(e);
    return r;
}

const char *ephemeral_check(const struct ephemeral *e)
{
    return controller_check(e->controller);
}

void ephemeral_start(struct ephemeral *e)
{
    assert(!e->pods_handler.informer); /* once */
    e->pods_handler = (struct informer_handler){ .on_add = on_pod_add, .ctx = e };
    e->claims_handler = (struct informer_handler){ .on_delete = on_claim_delete, .ctx = e };
    informer_add_handler(e->claims, &e->claims_handler);
    informer_add_handler(e->pods, &e->pods_handler);
}

struct ephemeral *ephemeral_free(struct ephemeral *e)
{
    if (!e)
        return NULL;
    informer_remove_handler(&e->pods_handler);
    informer_remove_handler(&e->claims_handler);
    controller_free(e->controller);
    recorder_free(e->recorder);
    free(e);
    return NULL;
}
