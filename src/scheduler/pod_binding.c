/* Binds a pod to its node: writes its volumes and claims one after the other, waits until the binder or a
 * provisioner has bound the claims, then posts the pod's binding.
 *
 * A failure ends the attempt. The assumptions are released; written objects stay, since the binder completes
 * them and the pod's next attempt finds them. While an attempt waits, every change of one of its objects
 * triggers a check, which reads only the caches and never an assumption. */
#include "scheduler/scheduler_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/tailq.h"
#include "machinery/merge_patch.h"
#include "scheduler/explain.h"

/* A claim of the pod that is not bound yet. */
struct binding_claim {
    const struct claim *claim;   /* the version chosen; a reference */
    const struct volume *volume; /* the same; NULL: to be provisioned */
    bool writes;                 /* otherwise another pod's binding writes it, or it was written before */
    int64_t written;             /* the revision of our write; 0: none */
};

/* The extension point that an attempt failed at. */
enum extension_point { POINT_PRE_BIND, POINT_BIND };

enum binding_state { BINDING_WRITES, BINDING_WAITS, BINDING_POSTS };

struct binding {
    TAILQ_ENTRY(binding) link;
    struct scheduler *s;
    const struct pod *pod; /* a reference */
    char *node;
    VEC(struct binding_claim) claims; /* claims with volumes first */
    size_t next;                      /* claim to write next */
    enum binding_state state;
    struct api_write write; /* of a volume, of a claim, or the pod's binding */
    struct timer timeout;
    struct deferred check;
    uint64_t begun_ns;
    uint64_t waits_since_ns;
};

static void binding_free(struct binding *b)
{
    assert(b->s->bindings_count > 0);
    TAILQ_REMOVE(&b->s->bindings, b, link);
    b->s->bindings_count--;
    api_write_cancel(&b->write);
    timer_disarm(&b->timeout);
    loop_undefer(&b->check);
    for (size_t i = 0; i < b->claims.count; i++) {
        (void)object_unref((struct object *)(uintptr_t)&b->claims.items[i].claim->obj);
        if (b->claims.items[i].volume)
            (void)object_unref((struct object *)(uintptr_t)&b->claims.items[i].volume->obj);
    }
    vec_done(&b->claims);
    (void)object_unref((struct object *)(uintptr_t)&b->pod->obj);
    free(b->node);
    free(b);
}

void bindings_free(struct scheduler *s)
{
    struct binding *b;

    while ((b = TAILQ_FIRST(&s->bindings)))
        binding_free(b);
}

/* --- Assumptions --- */

static void release_assumptions(struct binding *b)
{
    for (size_t i = 0; i < b->claims.count; i++) {
        const struct binding_claim *claim = &b->claims.items[i];

        if (claim->volume)
            (void)assumed_release_volume(&b->s->assumed, claim->volume->obj.name, b->pod->obj.uid);
        else
            (void)assumed_release_claim(&b->s->assumed, claim->claim->obj.uid, b->pod->obj.uid);
    }
}

/* Releases the assumptions of a failed attempt. Bindings that rely on one of them and pods that were rejected
 * because of one are checked again here: no object changes, so no watch event would do it. */
static void cancel_assumptions(struct binding *b)
{
    if (!MUTANT("scheduler-keeps-assumed"))
        release_assumptions(b);
    nodes_forget(&b->s->nodes, b->pod->obj.uid);
    for (size_t i = 0; i < b->claims.count; i++)
        bindings_recheck_claim(b->s, b->claims.items[i].claim);
    hints_on_released(b->s);
}

static int assume_binding_claim(struct binding *b, struct binding_claim *claim)
{
    struct assumed *a = &b->s->assumed;
    const struct assumed_volume *v;
    const char *selected;

    if (!claim->volume) {
        selected = object_annotation(&claim->claim->obj, ANN_SELECTED_NODE);
        claim->writes =
            !assumed_claim(a, claim->claim->obj.uid) && !(selected && strcmp(selected, b->node) == 0);
        return claim->writes ? assume_claim(a, claim->claim, b->node, b->pod->obj.uid) : 0;
    }
    v = assumed_volume(a, claim->volume->obj.name);
    claim->writes =
        !v && !(claim->volume->claim.is_set && strcmp(claim->volume->claim.uid, claim->claim->obj.uid) == 0);
    if (MUTANT("scheduler-assumes-nothing"))
        return 0;
    return claim->writes ? assume_volume(a, claim->volume, claim->claim->obj.uid, b->pod->obj.uid) : 0;
}

/* --- The end --- */

static void binding_fail(struct binding *b, enum extension_point point, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void binding_fail(struct binding *b, enum extension_point point, const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(SCHEDULER_MESSAGE_BYTES_MAX);
    const struct pod *p = pod_of(object_ref(&b->pod->obj));
    struct scheduler *s = b->s;
    va_list args;

    buf_addf(&message, "running %s plugin \"%s\": ", point == POINT_BIND ? "Bind" : "PreBind",
             point == POINT_BIND ? "DefaultBinder" : filter_names[FILTER_BINDING]);
    va_start(args, fmt);
    buf_addv(&message, fmt, args);
    va_end(args);
    if (point == POINT_PRE_BIND) /* a failure with volumes */
        scheduler_metrics_stage_failed(s->metrics, STAGE_BIND);
    cancel_assumptions(b);
    binding_free(b);
    scheduler_attempt_over(s, p->obj.uid, /* is_refused= */ false, 0, buf_str(&message));
    (void)object_unref((struct object *)(uintptr_t)&p->obj);
}

/* The pod has its node, from us or from another scheduler. */
static void binding_finish(struct binding *b, bool by_us)
{
    struct scheduler *s = b->s;

    if (by_us) {
        report_scheduled(s, b->pod, b->node);
        scheduler_metrics_scheduled(s->metrics, loop_now_ns(s->o.part.loop) - b->begun_ns);
        release_assumptions(b);
    } else {
        cancel_assumptions(b);
    }
    queue_remove(&s->queue, b->pod->obj.uid);
    binding_free(b);
    scheduler_wake(s);
}

/* --- The pod's binding --- */

/* If the outcome or the author of the binding is unknown, the pod's nodeName decides. */
static void on_posted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binding *b = ctx;
    const struct pod *now = !api_write_succeeded(outcome) && a->object ? pod_of(a->object) : NULL;
    bool is_same = now && strcmp(now->obj.uid, b->pod->obj.uid) == 0;

    assert(b->state == BINDING_POSTS);
    if (api_write_succeeded(outcome))
        binding_finish(b, /* by_us= */ true);
    else if (now && (!is_same || now->node_name[0]))
        binding_finish(b, is_same && strcmp(now->node_name, b->node) == 0);
    else if (a->r == -ERR_NOT_FOUND)
        binding_finish(b, /* by_us= */ false);
    else
        binding_fail(b, POINT_BIND, "%s", a->error.msg);
}

static void write_binding(const struct binding *b, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "Binding");
    json_out_object(out, "metadata");
    json_out_text(out, "name", b->pod->obj.name);
    json_out_text(out, "namespace", b->pod->obj.ns);
    json_out_text(out, "uid", b->pod->obj.uid);
    json_out_end_object(out);
    json_out_object(out, "target");
    json_out_text(out, "kind", "Node");
    json_out_text(out, "name", b->node);
    json_out_end_object(out);
    json_out_end_object(out);
}

static void binding_post(struct binding *b)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = { .api = b->s->api,
                                   .request = { .verb = CLIENT_CREATE, .subresource = "binding" },
                                   .object = &b->pod->obj,
                                   .done = on_posted,
                                   .ctx = b };

    assert(b->state == (b->claims.count > 0 ? BINDING_WAITS : BINDING_WRITES));
    write_binding(b, &body);
    b->state = BINDING_POSTS;
    timer_disarm(&b->timeout);
    w.failed = body.failed;
    w.body = buf_str(&body);
    api_write_start(&b->write, &w);
}

/* --- Waiting --- */

enum check_result { CHECK_DONE, CHECK_WAIT, CHECK_FAILED };

static enum check_result check_volume_reach(struct binding *b, const struct volume *v, const struct node *n)
{
    struct migrated_volumes held = { 0 };
    const struct volume *migrated = volume_of_driver(v, &held), *is = v;
    struct error err;
    bool is_reached;

    if (migrated && node_migrates(b->s, n->obj.name, v->source.kind))
        is = migrated;
    is_reached = node_affinity_check(is->affinity, n->obj.labels.items, n->obj.labels.count, &err) == 0;
    migrated_volumes_done(&held);
    if (is_reached)
        return CHECK_DONE;
    binding_fail(b, POINT_PRE_BIND, "binding volumes: pv \"%s\" node affinity doesn't match node \"%s\": %s",
                 v->obj.name, b->node, err.msg);
    return CHECK_FAILED;
}

/* The present version of the chosen claim; NULL when it was deleted, also when it was recreated. */
static const struct claim *current_claim(const struct binding *b, const struct binding_claim *claim)
{
    const struct claim *c = cached_claim(b->s, claim->claim->obj.ns, claim->claim->obj.name);

    return c && strcmp(c->obj.uid, claim->claim->obj.uid) == 0 ? c : NULL;
}

static enum check_result check_pair(struct binding *b, const struct binding_claim *claim,
                                    const struct node *n)
{
    const struct claim *c = current_claim(b, claim);
    const struct volume *v = cached_volume(b->s, claim->volume->obj.name);
    enum check_result r;

    if (!v || !c) {
        binding_fail(b, POINT_PRE_BIND, "binding volumes: failed to check binding: %s \"%s\" not found",
                     v ? "persistentvolumeclaim" : "persistentvolume",
                     v ? claim->claim->obj.name : claim->volume->obj.name);
        return CHECK_FAILED;
    }
    /* The cache does not have our write yet, or not the write of another pod that we rely on. */
    if (v->obj.revision < claim->written || (!claim->writes && assumed_volume(&b->s->assumed, v->obj.name)))
        return CHECK_WAIT;
    r = check_volume_reach(b, v, n);
    if (r != CHECK_DONE)
        return r;
    if (!v->claim.is_set || v->claim.uid[0] == '\0') {
        binding_fail(b, POINT_PRE_BIND, "binding volumes: ClaimRef got reset for pv \"%s\"", v->obj.name);
        return CHECK_FAILED;
    }
    /* Another component may have bound the claim to another volume; the node must reach that one too. */
    v = claim_is_fully_bound(c) ? cached_volume(b->s, c->volume_name) : NULL;
    return v ? check_volume_reach(b, v, n) : CHECK_WAIT;
}

static enum check_result check_provisioning(struct binding *b, const struct binding_claim *claim,
                                            const struct node *n)
{
    const struct claim *c = current_claim(b, claim);
    const struct volume *v;
    const char *selected;
    enum check_result r;

    if (!c) {
        binding_fail(
            b, POINT_PRE_BIND,
            "binding volumes: failed to check provisioning pvc: persistentvolumeclaim \"%s\" not found",
            claim->claim->obj.name);
        return CHECK_FAILED;
    }
    if (c->obj.revision < claim->written || (!claim->writes && assumed_claim(&b->s->assumed, c->obj.uid)))
        return CHECK_WAIT;
    if (c->obj.annotations.count == 0) {
        binding_fail(b, POINT_PRE_BIND, "binding volumes: selectedNode annotation reset for PVC \"%s\"",
                     c->obj.name);
        return CHECK_FAILED;
    }
    selected = object_annotation(&c->obj, ANN_SELECTED_NODE);
    if (!selected || strcmp(selected, b->node) != 0) {
        binding_fail(b, POINT_PRE_BIND, "binding volumes: provisioning failed for PVC \"%s\"", c->obj.name);
        return CHECK_FAILED;
    }
    v = c->volume_name[0] ? cached_volume(b->s, c->volume_name) : NULL;
    if (c->volume_name[0] && !v)
        return CHECK_WAIT;
    r = v ? check_volume_reach(b, v, n) : CHECK_DONE;
    if (r != CHECK_DONE)
        return r;
    return claim_is_fully_bound(c) ? CHECK_DONE : CHECK_WAIT;
}

static enum check_result check_all_claims(struct binding *b)
{
    const struct sched_node *n = nodes_get(&b->s->nodes, b->node);
    const struct pod *p = cached_pod(b->s, b->pod->obj.ns, b->pod->obj.name);
    enum check_result r = CHECK_DONE;

    if (!n) {
        binding_fail(b, POINT_PRE_BIND, "binding volumes: failed to get node \"%s\": node \"%s\" not found",
                     b->node, b->node);
        return CHECK_FAILED;
    }
    if (!p || strcmp(p->obj.uid, b->pod->obj.uid) != 0) {
        binding_fail(b, POINT_PRE_BIND, "binding volumes: pod does not exist any more: pod \"%s\" not found",
                     b->pod->obj.name);
        return CHECK_FAILED;
    }
    for (size_t i = 0; r == CHECK_DONE && i < b->claims.count; i++) { /* a failure frees b */
        const struct binding_claim *claim = &b->claims.items[i];

        r = claim->volume ? check_pair(b, claim, n->node) : check_provisioning(b, claim, n->node);
    }
    return r;
}

static void on_check(void *ctx)
{
    struct binding *b = ctx;
    bool is_static = b->claims.count > 0 && b->claims.items[b->claims.count - 1].volume;

    if (b->state != BINDING_WAITS || check_all_claims(b) != CHECK_DONE)
        return;
    scheduler_metrics_waited(b->s->metrics, is_static, loop_now_ns(b->s->o.part.loop) - b->waits_since_ns);
    binding_post(b);
}

static void on_timeout(void *ctx)
{
    struct binding *b = ctx;

    if (b->state == BINDING_WAITS && check_all_claims(b) == CHECK_FAILED)
        return;
    binding_fail(b, POINT_PRE_BIND, "binding volumes: context deadline exceeded");
}

/* --- Writing --- */

static void binding_write_next(struct binding *b);

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binding *b = ctx;
    struct binding_claim *claim = &b->claims.items[b->next];

    assert(b->state == BINDING_WRITES && b->next < b->claims.count);
    if (!api_write_succeeded(outcome)) {
        binding_fail(b, POINT_PRE_BIND, "binding volumes: %s", a->error.msg);
        return;
    }
    claim->written = a->object ? a->object->revision : 0;
    b->next++;
    binding_write_next(b);
}

static enum api_decision decide_pair(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    const struct binding *b = ctx;

    return api_decision_of(
        volume_write_reservation(volume_of(now), b->claims.items[b->next].claim, body, err));
}

static enum api_decision decide_provision(void *ctx, const struct object *now, struct buf *body,
                                          struct error *err)
{
    const struct binding *b = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_annotation(&p, ANN_SELECTED_NODE, b->node);
    return api_decision_of(merge_patch_end(&p, err));
}

static void binding_write_next(struct binding *b)
{
    struct api_write_options w = { .api = b->s->api,
                                   .request = { .verb = CLIENT_PATCH, .patch = CLIENT_PATCH_MERGE },
                                   .done = on_written,
                                   .ctx = b };
    const struct binding_claim *claim;

    while (b->next < b->claims.count && !b->claims.items[b->next].writes)
        b->next++;
    if (b->next == b->claims.count) {
        assert(b->state == BINDING_WRITES && !timer_is_armed(&b->timeout));
        b->state = BINDING_WAITS;
        b->waits_since_ns = loop_now_ns(b->s->o.part.loop);
        timer_arm_after(&b->timeout, b->s->o.bind_timeout_ns);
        loop_defer(&b->check);
        return;
    }
    claim = &b->claims.items[b->next];
    w.object = claim->volume ? &claim->volume->obj : &claim->claim->obj;
    w.step = claim->volume ? API_STEP_CLAIM_REF : API_STEP_SELECTED_NODE;
    w.informer = b->s->caches[claim->volume ? CACHE_VOLUMES : CACHE_CLAIMS];
    w.decide = claim->volume ? decide_pair : decide_provision;
    api_write_start(&b->write, &w);
}

/* --- The beginning --- */

/* Claims with volumes are written first. */
static int add_claims(struct binding *b, const struct cycle *c, bool with_volume)
{
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct cycle_claim *claim = &c->claims.items[i];
        const struct volume *v = c->chosen.items ? c->chosen.items[i] : NULL;

        if (claim->is_bound || (v != NULL) != with_volume)
            continue;
        if (vec_push(&b->claims, (struct binding_claim){ 0 }) < 0)
            return -ERR_NO_MEMORY;
        b->claims.items[b->claims.count - 1].claim = claim_of(object_ref(&claim->claim->obj));
        if (v)
            b->claims.items[b->claims.count - 1].volume = volume_of(object_ref(&v->obj));
    }
    return 0;
}

/* A volume is reserved for the claim but cannot be reached from the node: it stays unused. */
static void warn_unused_volumes(const struct cycle *c)
{
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct cycle_claim *claim = &c->claims.items[i];

        if (claim->is_reserved_elsewhere)
            recorder_record(c->s->recorder,
                            &(struct recorded){
                                .about = &claim->claim->obj,
                                .type = EVENT_WARNING,
                                .reason = "VolumeMismatch",
                                .action = "Scheduling",
                                .message = str_of(
                                    "a volume is reserved for this claim but cannot be reached from the node "
                                    "of its pod: another one will be provisioned") });
    }
}

static struct binding *binding_new(struct cycle *c)
{
    struct scheduler *s = c->s;
    struct binding *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->s = s;
    b->pod = pod_of(object_ref(&c->pod->obj));
    b->node = strdup(c->node->name);
    b->begun_ns = loop_now_ns(s->o.part.loop);
    timer_init(&b->timeout, s->o.part.loop, on_timeout, b);
    deferred_init(&b->check, s->o.part.loop, on_check, b);
    TAILQ_INSERT_TAIL(&s->bindings, b, link);
    s->bindings_count++;
    if (!b->node || add_claims(b, c, /* with_volume= */ true) < 0 ||
        add_claims(b, c, /* with_volume= */ false) < 0) {
        binding_free(b);
        return NULL;
    }
    return b;
}

bool binding_begin(struct cycle *c, struct queued_pod *queued)
{
    struct binding *b = binding_new(c);
    int r = b ? nodes_assume(&c->s->nodes, c->pod, c->node->name) : -ERR_NO_MEMORY;

    assert(queued->place == QUEUE_IN_FLIGHT);
    (void)queued;
    for (size_t i = 0; r == 0 && i < b->claims.count; i++)
        r = assume_binding_claim(b, &b->claims.items[i]);
    if (r < 0) {
        buf_clear(&c->message);
        buf_addf(&c->message, "running Reserve plugin \"%s\": %s", filter_names[FILTER_BINDING],
                 error_name((enum err) - r));
        scheduler_metrics_stage_failed(c->s->metrics, STAGE_ASSUME);
        if (b) {
            cancel_assumptions(b);
            binding_free(b);
        }
        return false;
    }
    if (c->has_unbound)
        warn_unused_volumes(c);
    if (b->claims.count == 0)
        binding_post(b);
    else
        binding_write_next(b);
    return true;
}

/* --- Explaining --- */

int binding_report(const struct scheduler *s, struct schedule *plan)
{
    const struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
        if (strcmp(b->pod->obj.uid, plan->pod->obj.uid) == 0)
            break;
    if (!b)
        return 0;
    plan->state = SCHEDULE_BINDING;
    plan->since_ns = b->begun_ns;
    plan->is_written = b->state == BINDING_WAITS;
    if (plan->is_written)
        plan->binding_until_ns = b->waits_since_ns + s->o.bind_timeout_ns;
    for (size_t i = 0; i < b->claims.count; i++) {
        const struct binding_claim *k = &b->claims.items[i];
        const struct claim *now = current_claim(b, k);

        if (!(now && claim_is_fully_bound(now)) && schedule_add_claim(plan, k->claim, k->volume) < 0)
            return -ERR_NO_MEMORY;
    }
    return schedule_choose(plan, b->node);
}

/* --- The invariant --- */

static int check_assumed_once(const struct binding_claim *claim, const struct binding_claim *y,
                              struct error *err)
{
    /* A claim that relies on another pod's write assumes nothing itself. */
    if (!claim->writes || !y->writes || !claim->volume || !y->volume)
        return 0;
    if (strcmp(claim->claim->obj.uid, y->claim->obj.uid) == 0 ||
        strcmp(claim->volume->obj.uid, y->volume->obj.uid) != 0 ||
        claim->volume->obj.revision != y->volume->obj.revision)
        return 0;
    return error_set(err, ERR_INTERNAL, "volume %s is assumed for claims %s and %s", claim->volume->obj.name,
                     claim->claim->obj.name, y->claim->obj.name);
}

int bindings_check(const struct scheduler *s, struct error *err)
{
    const struct binding *a, *b;
    int r = 0;

    TAILQ_FOREACH(a, &s->bindings, link)
        for (b = TAILQ_NEXT(a, link); b; b = TAILQ_NEXT(b, link))
            for (size_t i = 0; i < a->claims.count; i++)
                for (size_t k = 0; k < b->claims.count && r == 0; k++)
                    r = check_assumed_once(&a->claims.items[i], &b->claims.items[k], err);
    return r;
}

static const struct binding *binding_of(const struct scheduler *s, const char *pod_uid)
{
    const struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
        if (strcmp(b->pod->obj.uid, pod_uid) == 0)
            return b;
    return NULL;
}

/* The pod is being bound, and its binding writes the assumed object. */
static bool is_owned(const struct scheduler *s, const char *pod_uid, const char *claim_uid,
                     const char *volume)
{
    const struct binding *b = binding_of(s, pod_uid);

    for (size_t i = 0; b && i < b->claims.count; i++) {
        const struct binding_claim *claim = &b->claims.items[i];

        if (claim->writes && strcmp(claim->claim->obj.uid, claim_uid) == 0 &&
            (claim->volume != NULL) == (volume != NULL) &&
            (!volume || strcmp(claim->volume->obj.name, volume) == 0))
            return true;
    }
    return false;
}

static const char *binding_check(const struct scheduler *s, const struct binding *b)
{
    const struct queued_pod *queued = queue_get(&s->queue, b->pod->obj.uid);

    if (b->s != s || binding_of(s, b->pod->obj.uid) != b)
        return "a pod has two bindings";
    if (queued && queued->place != QUEUE_IN_FLIGHT)
        return "a pod is being bound and also queued";
    if (b->next > b->claims.count || (b->state != BINDING_WRITES && b->next < b->claims.count))
        return "a binding waits before all of its claims are written";
    if (timer_is_armed(&b->timeout) != (b->state == BINDING_WAITS))
        return "a binding waits without a timeout, or has a timeout and does not wait";
    return NULL;
}

const char *bindings_check_assumed(const struct scheduler *s)
{
    const struct assumed_volume *v;
    const struct assumed_claim *c;
    const struct binding *b;
    const char *wrong = NULL;
    size_t count = 0;

    if (!tailq_is_sound(&s->bindings, offsetof(struct binding, link), s->bindings_count, &count) ||
        count != s->bindings_count)
        return "the number of bindings is wrong";
    TAILQ_FOREACH(b, &s->bindings, link)
        if (!wrong)
            wrong = binding_check(s, b);
    for (size_t at = 0; !wrong && (v = map_next(&s->assumed.volumes, &at, NULL));)
        wrong = is_owned(s, v->pod_uid, v->claim_uid, v->volume->obj.name)
                    ? NULL
                    : "an assumed volume has no binding";
    for (size_t at = 0; !wrong && (c = map_next(&s->assumed.claims, &at, NULL));)
        wrong = is_owned(s, c->pod_uid, c->claim->obj.uid, /* volume= */ NULL)
                    ? NULL
                    : "an assumed claim has no binding";
    return wrong;
}

/* --- Changes --- */

static bool binding_uses(const struct binding *b, const char *claim_uid, const char *volume)
{
    for (size_t i = 0; i < b->claims.count; i++) {
        const struct binding_claim *claim = &b->claims.items[i];

        if (claim_uid && strcmp(claim->claim->obj.uid, claim_uid) == 0)
            return true;
        if (volume && claim->volume && strcmp(claim->volume->obj.name, volume) == 0)
            return true;
    }
    return false;
}

void bindings_recheck_claim(struct scheduler *s, const struct claim *c)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
        if (b->state == BINDING_WAITS && binding_uses(b, c->obj.uid, NULL))
            loop_defer(&b->check);
}

/* The name of a provisioned volume is not known beforehand: its claimRef identifies the claim. */
void bindings_recheck_volume(struct scheduler *s, const struct volume *v)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
        if (b->state == BINDING_WAITS && binding_uses(b, v->claim.is_set ? v->claim.uid : NULL, v->obj.name))
            loop_defer(&b->check);
}

void bindings_recheck_node(struct scheduler *s, const char *name)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
        if (b->state == BINDING_WAITS && strcmp(b->node, name) == 0)
            loop_defer(&b->check);
}

void bindings_recheck_pod(struct scheduler *s, const char *uid)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
        if (b->state == BINDING_WAITS && strcmp(b->pod->obj.uid, uid) == 0)
            loop_defer(&b->check);
}
