/* Protection of claims: a claim that a pod uses is not removed; also sets the condition Unused.
 *
 * If the cache has a pod that uses the claim, that is sufficient. If not, the pods are listed from the server
 * (live_pods.h) before the finalizer is removed or the claim is reported as unused. A claim without a change
 * costs one index lookup. */
#include "controllers/protect/protect_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/claim.h"
#include "api/json_out.h"
#include "api/pod_claims.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/rng.h"
#include "controllers/protect/live_pods.h"
#include "machinery/merge_patch.h"

#define UNUSED "Unused"
/* Many claims may wait for one list of the pods in their namespace. */
#define IN_FLIGHT_MAX 4096

struct claim_guard {
    const struct clock *clock;
    bool reports_unused; /* the server supports the condition */
    struct informer *claims;
    struct informer *pods;
    struct informer_handler claims_handler;
    struct informer_handler pods_handler;
    struct controller *controller;
    struct live_pods *live;
};

enum want {
    WANT_NOTHING,
    WANT_FINALIZER,
    WANT_USED, /* the condition Unused=False */
    /* Only after a list from the server. */
    WANT_UNUSED,
    WANT_RELEASE,
};

/* --- Users of a claim --- */

/* For a deleted claim: a node may have it mounted, also for a terminated pod. A pod that is not scheduled
 * holds nothing. */
static bool may_hold(const struct pod *p, const struct claim *c)
{
    /* Force-deleted pods remain only because of other finalizers; their containers have ended. */
    bool is_shut_down = p->obj.is_deleting && p->obj.deletion_grace_seconds == 0;

    if (p->node_name[0] == '\0')
        return false;
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];

        if (pod_volume_is_claim(p, v, c) && (v->type == POD_VOLUME_CLAIM || !is_shut_down))
            return true;
    }
    return false;
}

/* For a claim that is not deleted: a pod that is not terminated refers to it, scheduled or not. */
static bool references_claim(const struct pod *p, const struct claim *c)
{
    if (pod_is_terminated(p))
        return false;
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (pod_volume_is_claim(p, &p->volumes.items[i], c))
            return true;
    return false;
}

bool protect_is_user(const struct pod *p, const struct claim *c)
{
    return c->obj.is_deleting ? may_hold(p, c) : references_claim(p, c);
}

static bool is_used_in_cache(const struct claim_guard *g, struct str key, const struct claim *c)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first_by(g->pods, PODS_BY_CLAIM, key, &at); o;
         o = informer_next(&at))
        if (protect_is_user(pod_of(o), c))
            return true;
    return false;
}

/* --- Changes --- */

static enum want change_of(const struct claim_guard *g, const struct claim *c, bool is_used)
{
    bool has = object_has_finalizer(&c->obj, FINALIZER_CLAIM_PROTECTION);
    const struct status_condition *unused = condition_get(&c->conditions, UNUSED);

    if (c->obj.is_deleting)
        return has && !is_used ? WANT_RELEASE : WANT_NOTHING;
    if (!has)
        return WANT_FINALIZER;
    if (!g->reports_unused || c->phase != CLAIM_BOUND)
        return WANT_NOTHING;
    if (is_used)
        return !unused || unused->status == CONDITION_TRUE ? WANT_USED : WANT_NOTHING;
    return !unused || unused->status != CONDITION_TRUE ? WANT_UNUSED : WANT_NOTHING;
}

struct condition {
    bool is_used;
    struct timestamp now;
};

static enum api_decision decide_condition(void *ctx, const struct object *now, struct buf *out,
                                          struct error *err)
{
    const struct condition *c = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, out, now);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    json_out_array(out, "conditions");
    json_out_object(out, NULL);
    json_out_text(out, "type", UNUSED);
    json_out_text(out, "status", c->is_used ? "False" : "True");
    json_out_text(out, "reason", c->is_used ? "PodUsingPVC" : "NoPodsUsingPVC");
    json_out_text(out, "message",
                  c->is_used ? "A pod is currently referencing this PVC"
                             : "No pods are currently referencing this PVC");
    json_out_time(out, "lastTransitionTime", c->now);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
    return api_decision_of(merge_patch_end(&p, err));
}

/* A strategic merge patch keeps the other conditions. */
static enum sync_result set_condition(struct claim_guard *g, struct str key, const struct object *o,
                                      bool is_used)
{
    struct condition condition = { is_used, timestamp_of_ns(clock_real_ns(g->clock)) };
    struct api_write_options w = {
        .request = { .verb = CLIENT_PATCH, .subresource = "status", .patch = CLIENT_PATCH_STRATEGIC },
        .object = o,
        .decide = decide_condition,
        .decide_ctx = &condition,
        .step = API_STEP_CONDITION,
        .informer = g->claims
    };

    return sync_once(g->controller, key, &w, NULL, NULL);
}

static enum sync_result apply_change(struct claim_guard *g, struct str key, const struct object *o,
                                     enum want want)
{
    switch (want) {
    case WANT_FINALIZER:
        return sync_add_finalizer(g->controller, key, o, FINALIZER_CLAIM_PROTECTION, g->claims);
    case WANT_RELEASE:
        return sync_remove_finalizer(g->controller, key, o, FINALIZER_CLAIM_PROTECTION, g->claims);
    case WANT_USED:
    case WANT_UNUSED:
        return set_condition(g, key, o, want == WANT_USED);
    case WANT_NOTHING:
        break;
    }
    return SYNC_DONE;
}

static enum sync_result sync_protected_claim(void *ctx, struct str key)
{
    struct claim_guard *g = ctx;
    const struct object *o = informer_get_key(g->claims, key);
    enum want want;

    if (!o)
        return SYNC_DONE;
    want = change_of(g, claim_of(o), is_used_in_cache(g, key, claim_of(o)));
    if ((want == WANT_UNUSED || want == WANT_RELEASE) && !MUTANT("protect-trusts-the-cache"))
        return live_pods_request(g->live, key, o) < 0 ? SYNC_AGAIN : SYNC_LATER;
    return apply_change(g, key, o, want);
}

/* The list of pods is older than what happened since it was requested. A pod that was created meanwhile may
 * use another claim of the same name, or this claim if its deletion was requested later: the list proves
 * nothing for these. */
static bool is_proof_for(const struct object *about, const struct object *now)
{
    return strcmp(about->uid, now->uid) == 0 && (about->is_deleting || !now->is_deleting);
}

/* The server has answered; the claim may have changed since the request. */
static enum sync_result sync_live(struct claim_guard *g, struct str key, const struct object *about,
                                  const struct pod *const *pods, size_t count)
{
    const struct object *o = informer_get_key(g->claims, key);
    bool is_cached, is_used;

    if (!o)
        return SYNC_DONE;
    if (!is_proof_for(about, o))
        return SYNC_AGAIN;
    is_used = is_cached = is_used_in_cache(g, key, claim_of(o));
    for (size_t i = 0; i < count && !is_used; i++)
        is_used = protect_is_user(pods[i], claim_of(o));
    if (change_of(g, claim_of(o), is_used) != WANT_NOTHING)
        return apply_change(g, key, o, change_of(g, claim_of(o), is_used));
    /* The cache has not received the pod yet, and may miss both its creation and its deletion. */
    return is_used && !is_cached ? SYNC_AGAIN : SYNC_DONE;
}

static void on_live(void *ctx, struct str key, const struct object *about, int r,
                    const struct pod *const *pods, size_t count)
{
    struct claim_guard *g = ctx;
    enum sync_result result = r < 0 ? SYNC_AGAIN : sync_live(g, key, about, pods, count);

    if (result != SYNC_LATER)
        controller_finish(g->controller, key, result);
}

/* --- Event handlers --- */

/* All claims: pods may have been deleted while this process was not running. */
static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    struct claim_guard *g = ctx;

    (void)is_initial;
    component_add(g->controller, o);
}

static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    struct claim_guard *g = ctx;
    const struct claim *c = claim_of(o);
    bool has = object_has_finalizer(o, FINALIZER_CLAIM_PROTECTION);

    (void)old;
    if (o->is_deleting == has || (g->reports_unused && !o->is_deleting && c->phase == CLAIM_BOUND &&
                                  !condition_get(&c->conditions, UNUSED)))
        component_add(g->controller, o);
}

static void add_claim(void *ctx, struct str key)
{
    struct claim_guard *g = ctx;

    controller_add(g->controller, key);
}

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    /* Pods of the first list are in the index before their claims are synced. */
    if (!is_initial)
        pod_claims(pod_of(o), add_claim, ctx);
}

static void on_pod(void *ctx, const struct object *o)
{
    if (!MUTANT("protect-forgets-pods"))
        pod_claims(pod_of(o), add_claim, ctx);
}

/* --- Lifecycle --- */

int claim_guard_new(const struct component_deps *o, struct claim_guard **ret, struct error *err)
{
    _cleanup_(claim_guard_free_p) struct claim_guard *g = calloc(1, sizeof *g);
    struct live_pods_options live = { .fn = on_live, .ctx = g };
    struct rng rng;
    int r;

    if (!g)
        return error_no_memory(err);
    g->clock = o->clock;
    g->reports_unused = server_version_has_unused(&o->server);
    r = guard_controller(o, "pvcprotection", "berth-pvc-protection", IN_FLIGHT_MAX, sync_protected_claim, g,
                         &g->controller, err);
    if (r < 0)
        return r;
    g->claims = informers_get(o->informers, KIND_CLAIM, err);
    g->pods = g->claims ? component_pods(o->informers, err) : NULL;
    if (!g->pods)
        return -(int)err->code;
    rng_init(&rng, component_seed(o, "live-pods"));
    rng_bytes(&rng, &live.seed, sizeof live.seed);
    live.api = controller_api(g->controller);
    r = live_pods_new(&live, &g->live, err);
    if (r == 0)
        *ret = TAKE(g);
    return r;
}

void claim_guard_start(struct claim_guard *g)
{
    g->pods_handler = (struct informer_handler){
        .on_add = on_pod_add, .on_upsert = on_pod, .on_removed = on_pod, .ctx = g
    };
    g->claims_handler =
        (struct informer_handler){ .on_add = on_claim_add, .on_update = on_claim_update, .ctx = g };
    informer_add_handler(g->pods, &g->pods_handler);
    informer_add_handler(g->claims, &g->claims_handler);
}

const char *claim_guard_check(const struct claim_guard *g)
{
    const char *wrong = controller_check(g->controller);

    return wrong ? wrong : live_pods_check(g->live, controller_queue(g->controller));
}

struct claim_guard *claim_guard_free(struct claim_guard *g)
{
    if (!g)
        return NULL;
    informer_remove_handler(&g->claims_handler);
    informer_remove_handler(&g->pods_handler);
    live_pods_free(g->live);
    controller_free(g->controller);
    free(g);
    return NULL;
}
