/* A pod on its way to its node: its volumes' and claims' writes one after the other, the wait until the
 * binder or a provisioner has done its part, then the pod's binding.
 *
 * What fails ends the attempt: promises are given back, what was written stays, since the binder finishes it
 * and the pod's next turn finds it. While it waits it looks again at every change of its objects, and asks
 * the cache alone, never a promise. */
#include "scheduler/scheduler_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "machinery/merge_patch.h"
#include "scheduler/explain.h"

/* A claim of the pod that is not bound yet. */
struct binding_claim {
    const struct claim *claim;   /* as it was chosen; a reference */
    const struct volume *volume; /* the same; NULL: it is provisioned */
    bool writes;                 /* else another pod on its way does, or it was written before */
    int64_t written;             /* the version that our write got; 0: none */
};

/* Where an attempt fails: at its volumes, or at the pod. */
enum extension_point { POINT_PRE_BIND, POINT_BIND };

enum binding_state { BINDING_WRITES, BINDING_WAITS, BINDING_POSTS };

struct binding {
    TAILQ_ENTRY(binding) link;
    struct scheduler *s;
    const struct pod *pod; /* a reference */
    char *node;
    VEC(struct binding_claim) claims; /* those with volumes first */
    size_t next;                      /* to be written */
    enum binding_state state;
    struct api_write write; /* of a volume, of a claim, or the pod's binding */
    struct timer timeout;
    struct deferred check;
    uint64_t begun_ns;
    uint64_t waits_since_ns;
};

static void binding_free(struct binding *b)
{
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

/* --- Promises --- */

static void give_back(struct binding *b)
{
    for (size_t i = 0; i < b->claims.count; i++) {
        const struct binding_claim *x = &b->claims.items[i];

        if (x->volume)
            (void)assumed_restore_volume(&b->s->assumed, x->volume->obj.name, b->pod->obj.uid);
        else
            (void)assumed_restore_claim(&b->s->assumed, x->claim->obj.uid, b->pod->obj.uid);
    }
}

/* Nothing comes of them: whoever counts on one of them, or was refused because of one, looks again. No object
 * changes, so that nobody else would tell. */
static void break_promises(struct binding *b)
{
    if (!MUTANT("scheduler-keeps-promises"))
        give_back(b);
    nodes_forget(&b->s->nodes, b->pod->obj.uid);
    for (size_t i = 0; i < b->claims.count; i++)
        bindings_see_claim(b->s, b->claims.items[i].claim);
    hints_given_back(b->s);
}

static int promise(struct binding *b, struct binding_claim *x)
{
    struct assumed *a = &b->s->assumed;
    const struct assumed_volume *v;
    const char *selected;

    if (!x->volume) {
        selected = object_annotation(&x->claim->obj, ANN_SELECTED_NODE);
        x->writes = !assumed_claim(a, x->claim->obj.uid) && !(selected && strcmp(selected, b->node) == 0);
        return x->writes ? assume_claim(a, x->claim, b->node, b->pod->obj.uid) : 0;
    }
    v = assumed_volume(a, x->volume->obj.name);
    x->writes = !v && !(x->volume->claim.is_set && strcmp(x->volume->claim.uid, x->claim->obj.uid) == 0);
    if (MUTANT("scheduler-promises-nothing"))
        return 0;
    return x->writes ? assume_volume(a, x->volume, x->claim->obj.uid, b->pod->obj.uid) : 0;
}

/* --- The end --- */

static void fail(struct binding *b, enum extension_point point, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(struct binding *b, enum extension_point point, const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(SCHEDULER_MESSAGE_BYTES_MAX);
    const struct pod *p = pod_of(object_ref(&b->pod->obj));
    struct scheduler *s = b->s;
    va_list args;

    buf_addf(&message, "running %s plugin \"%s\": ", point == POINT_BIND ? "Bind" : "PreBind",
             point == POINT_BIND ? "DefaultBinder" : judge_names[JUDGE_BINDING]);
    va_start(args, fmt);
    buf_addv(&message, fmt, args);
    va_end(args);
    if (point == POINT_PRE_BIND) /* of volumes */
        scheduler_metrics_stage_failed(s->metrics, STAGE_BIND);
    break_promises(b);
    binding_free(b);
    scheduler_attempt_over(s, p->obj.uid, /* is_refused= */ false, 0, buf_str(&message));
    (void)object_unref((struct object *)(uintptr_t)&p->obj);
}

/* The pod has its node, by us or by another. */
static void finish(struct binding *b, bool by_us)
{
    struct scheduler *s = b->s;

    if (by_us) {
        report_scheduled(s, b->pod, b->node);
        scheduler_metrics_scheduled(s->metrics, loop_now_ns(s->o.part.loop) - b->begun_ns);
        give_back(b);
    } else {
        break_promises(b);
    }
    queue_remove(&s->queue, b->pod->obj.uid);
    binding_free(b);
    scheduler_wake(s);
}

/* --- The pod's binding --- */

/* When nobody knows whether it was done, or who did it, the pod tells. */
static void on_posted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binding *b = ctx;
    const struct pod *now = !api_went_well(outcome) && a->object ? pod_of(a->object) : NULL;
    bool is_same = now && strcmp(now->obj.uid, b->pod->obj.uid) == 0;

    if (api_went_well(outcome))
        finish(b, /* by_us= */ true);
    else if (now && (!is_same || now->node_name[0]))
        finish(b, is_same && strcmp(now->node_name, b->node) == 0);
    else if (a->r == -ERR_NOT_FOUND)
        finish(b, /* by_us= */ false);
    else
        fail(b, POINT_BIND, "%s", a->error.msg);
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

static void post(struct binding *b)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = { .api = b->s->api,
                                   .request = { .verb = CLIENT_CREATE, .subresource = "binding" },
                                   .object = &b->pod->obj,
                                   .done = on_posted,
                                   .ctx = b };

    write_binding(b, &body);
    b->state = BINDING_POSTS;
    timer_disarm(&b->timeout);
    w.failed = body.failed;
    w.body = buf_str(&body);
    api_write_start(&b->write, &w);
}

/* --- Waiting --- */

enum look_result { LOOK_DONE, LOOK_WAIT, LOOK_FAILED };

static enum look_result check_reach(struct binding *b, const struct volume *v, const struct node *n)
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
        return LOOK_DONE;
    fail(b, POINT_PRE_BIND, "binding volumes: pv \"%s\" node affinity doesn't match node \"%s\": %s",
         v->obj.name, b->node, err.msg);
    return LOOK_FAILED;
}

/* Whoever was quicker may have bound the claim to another volume, which must do for the node as well. */
static enum look_result look_at_bound(struct binding *b, const struct claim *c, const struct node *n)
{
    const struct volume *v = claim_is_fully_bound(c) ? cached_volume(b->s, c->volume_name) : NULL;

    return v ? check_reach(b, v, n) : LOOK_WAIT;
}

/* The claim that was chosen for, as it is now; NULL when it is gone, also when another has its name. */
static const struct claim *claim_now(const struct binding *b, const struct binding_claim *x)
{
    const struct claim *c = cached_claim(b->s, x->claim->obj.ns, x->claim->obj.name);

    return c && strcmp(c->obj.uid, x->claim->obj.uid) == 0 ? c : NULL;
}

static enum look_result look_at_pair(struct binding *b, const struct binding_claim *x, const struct node *n)
{
    const struct claim *c = claim_now(b, x);
    const struct volume *v = cached_volume(b->s, x->volume->obj.name);
    enum look_result r;

    if (!v || !c) {
        fail(b, POINT_PRE_BIND, "binding volumes: failed to check binding: %s \"%s\" not found",
             v ? "persistentvolumeclaim" : "persistentvolume", v ? x->claim->obj.name : x->volume->obj.name);
        return LOOK_FAILED;
    }
    /* Ours is not there yet; or another pod's, that we count on. */
    if (v->obj.revision < x->written || (!x->writes && assumed_volume(&b->s->assumed, v->obj.name)))
        return LOOK_WAIT;
    r = check_reach(b, v, n);
    if (r != LOOK_DONE)
        return r;
    if (!v->claim.is_set || v->claim.uid[0] == '\0') {
        fail(b, POINT_PRE_BIND, "binding volumes: ClaimRef got reset for pv \"%s\"", v->obj.name);
        return LOOK_FAILED;
    }
    return look_at_bound(b, c, n);
}

static enum look_result look_at_provision(struct binding *b, const struct binding_claim *x,
                                          const struct node *n)
{
    const struct claim *c = claim_now(b, x);
    const struct volume *v;
    const char *selected;
    enum look_result r;

    if (!c) {
        fail(b, POINT_PRE_BIND,
             "binding volumes: failed to check provisioning pvc: persistentvolumeclaim \"%s\" not found",
             x->claim->obj.name);
        return LOOK_FAILED;
    }
    if (c->obj.revision < x->written || (!x->writes && assumed_claim(&b->s->assumed, c->obj.uid)))
        return LOOK_WAIT;
    if (c->obj.annotations.count == 0) {
        fail(b, POINT_PRE_BIND, "binding volumes: selectedNode annotation reset for PVC \"%s\"", c->obj.name);
        return LOOK_FAILED;
    }
    selected = object_annotation(&c->obj, ANN_SELECTED_NODE);
    if (!selected || strcmp(selected, b->node) != 0) {
        fail(b, POINT_PRE_BIND, "binding volumes: provisioning failed for PVC \"%s\"", c->obj.name);
        return LOOK_FAILED;
    }
    v = c->volume_name[0] ? cached_volume(b->s, c->volume_name) : NULL;
    if (c->volume_name[0] && !v)
        return LOOK_WAIT;
    r = v ? check_reach(b, v, n) : LOOK_DONE;
    if (r != LOOK_DONE)
        return r;
    return claim_is_fully_bound(c) ? LOOK_DONE : LOOK_WAIT;
}

static enum look_result look_at_all(struct binding *b)
{
    const struct sched_node *n = nodes_get(&b->s->nodes, b->node);
    const struct pod *p = cached_pod(b->s, b->pod->obj.ns, b->pod->obj.name);
    enum look_result r = LOOK_DONE;

    if (!n) {
        fail(b, POINT_PRE_BIND, "binding volumes: failed to get node \"%s\": node \"%s\" not found", b->node,
             b->node);
        return LOOK_FAILED;
    }
    if (!p || strcmp(p->obj.uid, b->pod->obj.uid) != 0) {
        fail(b, POINT_PRE_BIND, "binding volumes: pod does not exist any more: pod \"%s\" not found",
             b->pod->obj.name);
        return LOOK_FAILED;
    }
    for (size_t i = 0; r == LOOK_DONE && i < b->claims.count; i++) { /* a failure ends b */
        const struct binding_claim *x = &b->claims.items[i];

        r = x->volume ? look_at_pair(b, x, n->node) : look_at_provision(b, x, n->node);
    }
    return r;
}

static void on_check(void *ctx)
{
    struct binding *b = ctx;
    bool is_static = b->claims.count > 0 && b->claims.items[b->claims.count - 1].volume;

    if (b->state != BINDING_WAITS || look_at_all(b) != LOOK_DONE)
        return;
    scheduler_metrics_waited(b->s->metrics, is_static, loop_now_ns(b->s->o.part.loop) - b->waits_since_ns);
    post(b);
}

static void on_timeout(void *ctx)
{
    struct binding *b = ctx;

    if (b->state == BINDING_WAITS && look_at_all(b) == LOOK_FAILED)
        return;
    fail(b, POINT_PRE_BIND, "binding volumes: context deadline exceeded");
}

static void await_volumes(struct binding *b)
{
    b->state = BINDING_WAITS;
    b->waits_since_ns = loop_now_ns(b->s->o.part.loop);
    timer_arm_after(&b->timeout, b->s->o.bind_timeout_ns);
    loop_defer(&b->check);
}

/* --- Writing --- */

static void write_next(struct binding *b);

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct binding *b = ctx;
    struct binding_claim *x = &b->claims.items[b->next];

    if (!api_went_well(outcome)) {
        fail(b, POINT_PRE_BIND, "binding volumes: %s", a->error.msg);
        return;
    }
    x->written = a->object ? a->object->revision : 0;
    b->next++;
    write_next(b);
}

static enum err write_pair(const struct binding_claim *x, struct buf *body)
{
    struct merge_patch p;

    merge_patch_begin(&p, body, &x->volume->obj);
    if (!volume_is_for(x->volume, x->claim)) /* somebody else kept it for the claim: not our doing */
        merge_patch_annotation(&p, ANN_BOUND_BY_CONTROLLER, "yes");
    merge_patch_member(&p, "spec");
    json_out_object(body, NULL);
    claim_ref_write(body, x->claim);
    json_out_end_object(body);
    return merge_patch_finish(&p);
}

static enum err write_provision(const struct binding_claim *x, const char *node, struct buf *body)
{
    struct merge_patch p;

    merge_patch_begin(&p, body, &x->claim->obj);
    merge_patch_annotation(&p, ANN_SELECTED_NODE, node);
    return merge_patch_finish(&p);
}

static void write_next(struct binding *b)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = { .api = b->s->api,
                                   .request = { .verb = CLIENT_PATCH, .patch = CLIENT_PATCH_MERGE },
                                   .done = on_written,
                                   .ctx = b };
    const struct binding_claim *x;

    while (b->next < b->claims.count && !b->claims.items[b->next].writes)
        b->next++;
    if (b->next == b->claims.count) {
        await_volumes(b);
        return;
    }
    x = &b->claims.items[b->next];
    w.object = x->volume ? &x->volume->obj : &x->claim->obj;
    w.step = x->volume ? API_STEP_CLAIM_REF : API_STEP_SELECTED_NODE;
    w.informer = b->s->caches[x->volume ? CACHE_VOLUMES : CACHE_CLAIMS];
    w.failed = x->volume ? write_pair(x, &body) : write_provision(x, b->node, &body);
    w.body = buf_str(&body);
    api_write_start(&b->write, &w);
}

/* --- The beginning --- */

/* Volumes before claims: the order of the writes. */
static int add_claims(struct binding *b, const struct cycle *c, bool with_volume)
{
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct cycle_claim *x = &c->claims.items[i];
        const struct volume *v = c->chosen.items ? c->chosen.items[i] : NULL;

        if (x->is_bound || (v != NULL) != with_volume)
            continue;
        if (vec_push(&b->claims, (struct binding_claim){ 0 }) < 0)
            return -ERR_NO_MEMORY;
        b->claims.items[b->claims.count - 1].claim = claim_of(object_ref(&x->claim->obj));
        if (v)
            b->claims.items[b->claims.count - 1].volume = volume_of(object_ref(&v->obj));
    }
    return 0;
}

/* A volume is kept for the claim and cannot be reached from here: it will stand idle. */
static void warn_of_idle(const struct cycle *c)
{
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct cycle_claim *x = &c->claims.items[i];

        if (x->is_kept_elsewhere)
            recorder_record(
                c->s->recorder,
                &(struct recorded){
                    .about = &x->claim->obj,
                    .type = EVENT_WARNING,
                    .reason = "VolumeMismatch",
                    .action = "Scheduling",
                    .message = str_of("a volume is kept for this claim but cannot be reached from the node "
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

bool binding_begin(struct cycle *c, struct queued_pod *x)
{
    struct binding *b = binding_new(c);
    int r = b ? nodes_assume(&c->s->nodes, c->pod, c->node->name) : -ERR_NO_MEMORY;

    (void)x;
    for (size_t i = 0; r == 0 && i < b->claims.count; i++)
        r = promise(b, &b->claims.items[i]);
    if (r < 0) {
        buf_clear(&c->message);
        buf_addf(&c->message, "running Reserve plugin \"%s\": %s", judge_names[JUDGE_BINDING],
                 error_name((enum err) - r));
        scheduler_metrics_stage_failed(c->s->metrics, STAGE_ASSUME);
        if (b) {
            break_promises(b);
            binding_free(b);
        }
        return false;
    }
    if (c->has_unbound)
        warn_of_idle(c);
    if (b->claims.count == 0)
        post(b);
    else
        write_next(b);
    return true;
}

/* --- Explaining --- */

int binding_tell(const struct scheduler *s, struct schedule *x)
{
    const struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
    if (strcmp(b->pod->obj.uid, x->pod->obj.uid) == 0)
        break;
    if (!b)
        return 0;
    x->state = SCHEDULE_BINDING;
    x->chosen = b->node;
    x->since_ns = b->begun_ns;
    x->is_written = b->state == BINDING_WAITS;
    if (x->is_written)
        x->binding_until_ns = b->waits_since_ns + s->o.bind_timeout_ns;
    for (size_t i = 0; i < b->claims.count; i++) {
        const struct binding_claim *k = &b->claims.items[i];
        const struct claim *now = claim_now(b, k);

        if (!(now && claim_is_fully_bound(now)) &&
            vec_push(&x->claims, (struct schedule_claim){ k->claim, k->volume }) < 0)
            return -ERR_NO_MEMORY;
    }
    return 0;
}

/* --- The invariant --- */

static bool is_same_version(const struct object *a, const struct object *b)
{
    return strcmp(a->uid, b->uid) == 0 && a->revision == b->revision;
}

static int check_claims(const struct binding_claim *x, const struct binding_claim *y, struct error *err)
{
    /* Who relies on another pod's write assumes nothing itself. */
    if (!x->writes || !y->writes || !x->volume || !y->volume)
        return 0;
    if (strcmp(x->claim->obj.uid, y->claim->obj.uid) == 0 ||
        !is_same_version(&x->volume->obj, &y->volume->obj))
        return 0;
    return error_set(err, ERR_INTERNAL, "volume %s is assumed for claims %s and %s", x->volume->obj.name,
                     x->claim->obj.name, y->claim->obj.name);
}

int bindings_check(const struct scheduler *s, struct error *err)
{
    const struct binding *a, *b;
    int r = 0;

    TAILQ_FOREACH(a, &s->bindings, link)
    for (b = TAILQ_NEXT(a, link); b; b = TAILQ_NEXT(b, link))
        for (size_t i = 0; i < a->claims.count; i++)
            for (size_t k = 0; k < b->claims.count && r == 0; k++)
                r = check_claims(&a->claims.items[i], &b->claims.items[k], err);
    return r;
}

/* --- Changes --- */

static bool is_about(const struct binding *b, const char *claim_uid, const char *volume)
{
    for (size_t i = 0; i < b->claims.count; i++) {
        const struct binding_claim *x = &b->claims.items[i];

        if (claim_uid && strcmp(x->claim->obj.uid, claim_uid) == 0)
            return true;
        if (volume && x->volume && strcmp(x->volume->obj.name, volume) == 0)
            return true;
    }
    return false;
}

void bindings_see_claim(struct scheduler *s, const struct claim *c)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
    if (b->state == BINDING_WAITS && is_about(b, c->obj.uid, NULL))
        loop_defer(&b->check);
}

/* A provisioned one is not known by name before: the claim it says it is for is. */
void bindings_see_volume(struct scheduler *s, const struct volume *v)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
    if (b->state == BINDING_WAITS && is_about(b, v->claim.is_set ? v->claim.uid : NULL, v->obj.name))
        loop_defer(&b->check);
}

void bindings_see_node(struct scheduler *s, const char *name)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
    if (b->state == BINDING_WAITS && strcmp(b->node, name) == 0)
        loop_defer(&b->check);
}

void bindings_see_pod(struct scheduler *s, const char *uid)
{
    struct binding *b;

    TAILQ_FOREACH(b, &s->bindings, link)
    if (b->state == BINDING_WAITS && strcmp(b->pod->obj.uid, uid) == 0)
        loop_defer(&b->check);
}
