/* The binder's event handlers, which turn changes in the caches into keys in the queues; its state per key;
 * and its lifecycle.
 *
 * Lookups by volume or claim use indexes of the caches, so that a change costs O(affected objects). The state
 * of a key is freed when its object is deleted. */
#include "controllers/binder/binder.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pod_claims.h"
#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"
#include "controllers/binder/binder_int.h"
#include "controllers/binder/binder_metrics.h"
#include "controllers/binder/ops.h"

#define CLAIMS_BY_VOLUME "volume"
#define VOLUMES_BY_CLAIM "claim"
/* Full resync, a safety net: nothing depends on it. */
#define SWEEP_NS (900 * NS_PER_S)
/* Interval after which the same event about the same object is recorded again. */
#define EVENT_REPEAT_NS (300 * NS_PER_S)
#define DOC_BYTES_MAX ((size_t)64 << 20)
#define KEY_BYTES_MAX WORK_KEY_BYTES_MAX

/* --- Keys --- */

void binder_add(struct binder *b, enum binder_queue q, struct str key)
{
    controller_add(b->queues[q], key);
}

void binder_add_claim(struct binder *b, const char *ns, const char *name)
{
    char key[KEY_BYTES_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", ns, name);
    binder_add(b, BINDER_CLAIMS, str_of(key));
}

void binder_add_volume(struct binder *b, const char *name)
{
    binder_add(b, BINDER_VOLUMES, str_of(name));
}

const struct claim *binder_claim(const struct binder *b, const char *ns, const char *name)
{
    const struct object *o = informer_get(b->claims, ns, name);

    return o ? claim_of(o) : NULL;
}

const struct volume *binder_volume(const struct binder *b, const char *name)
{
    const struct object *o = informer_get(b->volumes, "", name);

    return o ? volume_of(o) : NULL;
}

const struct storage_class *binder_class(const struct binder *b, const char *name)
{
    return (const struct storage_class *)(const void *)informer_get(b->classes, "", name);
}

/* --- Decisions and explanations --- */

static int find_volume(void *ctx, const struct claim *c, const struct match_options *o,
                       const struct volume **ret, struct error *err)
{
    const struct binder *b = ctx;

    return volume_index_match(b->index, c, o, ret, err);
}

uint64_t binder_new_until_ns(const struct binder *b, const struct claim *c)
{
    char key[KEY_BYTES_MAX];
    const struct key_state *s;

    (void)snprintf(key, sizeof key, "%s/%s", c->obj.ns, c->obj.name);
    s = binder_find_state(b, claim_key(str_of(key)));
    return s && s->new_until_ns > b->new_until_ns ? s->new_until_ns : b->new_until_ns;
}

static bool is_new(void *ctx, const struct claim *c)
{
    const struct binder *b = ctx;

    return loop_now_ns(b->o.part.loop) < binder_new_until_ns(b, c);
}

struct binder_view binder_view(const struct binder *b)
{
    return (struct binder_view){ .volumes = b->volumes,
                                 .classes = b->classes,
                                 .plugins = b->o.plugins,
                                 .is_static = b->o.is_static,
                                 .match = find_volume,
                                 .is_new = is_new,
                                 .ctx = (void *)(uintptr_t)b };
}

bool binder_inspect_sync(const struct binder *b, const struct object *about, struct operation_state *ret)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(KEY_BYTES_MAX);
    struct binder_key k = work_key_of(about, &name);
    const struct workqueue *q = controller_queue(b->queues[k.queue]);
    const struct key_state *s = binder_find_state(b, k);

    *ret = (struct operation_state){ .name = "sync",
                                     .failures = workqueue_failures(q, k.name),
                                     .retry_at_ns = workqueue_due_ns(q, k.name),
                                     .message = s && s->failure ? s->failure : "" };
    return ret->failures > 0;
}

bool binder_inspect_operation(const struct binder *b, const struct object *about, struct operation_state *ret)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(KEY_BYTES_MAX + 64);

    work_key_format_operation(about, &key);
    return operations_inspect(b->operations, &(struct operation_key){ buf_cstr(&key), "", "" }, ret);
}

void binder_each_operation(const struct binder *b, const struct object *about, operation_state_fn *fn,
                           void *ctx)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(KEY_BYTES_MAX + 64);
    struct operation_state sync;

    work_key_format_operation(about, &key);
    operations_each(b->operations, &(struct operation_key){ buf_cstr(&key), "", "" }, fn, ctx);
    if (binder_inspect_sync(b, about, &sync))
        fn(ctx, &sync);
}

/* --- State of keys --- */

struct key_state *binder_find_state(const struct binder *b, struct binder_key k)
{
    char key[KEY_BYTES_MAX];

    work_key_format(k, key);
    return map_get(&b->states, str_of(key));
}

struct key_state *binder_state(struct binder *b, struct binder_key k)
{
    struct key_state *s = binder_find_state(b, k);
    char key[KEY_BYTES_MAX];

    if (s)
        return s;
    work_key_format(k, key);
    s = calloc(1, sizeof *s + strlen(key) + 1);
    if (!s)
        die_with_reason("no memory for the binder's state of a key: it would never be processed again");
    memcpy(s->key, key, strlen(key));
    if (map_put(&b->states, str_of(s->key), s, NULL) < 0)
        die_with_reason("no memory for the binder's state of a key: it would never be processed again");
    return s;
}

static void state_free(struct key_state *s)
{
    free(s->offered);
    free(s->assumed_for);
    free(s->failure);
    free(s->reclaimed);
    free(s);
}

void binder_forget(struct binder *b, struct binder_key k)
{
    char key[KEY_BYTES_MAX];
    struct key_state *s;

    work_key_format(k, key);
    s = map_remove(&b->states, str_of(key));
    if (s)
        state_free(s);
}

void binder_note_failure(struct binder *b, struct binder_key k, const char *words)
{
    struct key_state *s = words ? binder_state(b, k) : binder_find_state(b, k);

    if (!s)
        return;
    free(s->failure);
    s->failure = words ? strdup(words) : NULL; /* only for explanations: may be NULL without memory */
}

bool binder_record_event(struct binder *b, struct binder_key k, const struct object *o, enum event_type type,
                         const char *reason, const char *fmt, ...)
{
    struct key_state *s = binder_state(b, k);
    uint64_t now_ns = loop_now_ns(b->o.part.loop), hash;
    char text[RECORDER_TEXT_BYTES_MAX];
    va_list args;

    va_start(args, fmt);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is initialized */
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* The hash includes the uid: another object with the same name is another object. */
    hash = siphash_hash((struct hash_seed){ siphash_hash((struct hash_seed){ 0 }, str_of(o->uid)),
                                            siphash_hash((struct hash_seed){ 0 }, str_of(reason)) },
                        str_of(text));
    if (s->event_hash == hash && now_ns - s->event_at_ns < EVENT_REPEAT_NS)
        return false;
    s->event_hash = hash;
    s->event_at_ns = now_ns;
    recorder_event(b->recorder, o, type, reason, "%s", text);
    return true;
}

/* --- Writing --- */

struct informer *binder_informer(const struct binder *b, const struct object *o)
{
    return o->kind->kind == KIND_VOLUME ? b->volumes : b->claims;
}

bool binder_patch(struct sync *s, const struct object *o, const char *subresource, api_decide_fn *decide,
                  const void *what, enum api_step step, sync_then_fn *then, const void *arg)
{
    struct api_write_options w = { .request = { .verb = CLIENT_PATCH, .subresource = subresource },
                                   .object = o,
                                   .decide = decide,
                                   .decide_ctx = what,
                                   .step = step,
                                   .informer = binder_informer(s->ctx, o) };

    return !sync_await_writer(s, o) && sync_send(s, &w, NULL, then, arg);
}

static struct binder_key key_of(const struct sync *s)
{
    const struct binder *b = s->ctx;

    return (struct binder_key){ s->controller == b->queues[BINDER_VOLUMES] ? BINDER_VOLUMES : BINDER_CLAIMS,
                                str_of(s->key) };
}

static void on_failed(const struct sync *s, const struct error *err)
{
    binder_note_failure(s->ctx, key_of(s), err->msg);
}

static void log_nothing(struct binder_key k, const char *reason)
{
    log_debug("nothing to do", LOG_TEXT(k.queue == BINDER_VOLUMES ? "volume" : "claim", k.name),
              LOG_STR("reason", reason));
}

void binder_log_deleted(struct binder_key k)
{
    log_nothing(k, "gone");
}

static void on_settled(const struct sync *s)
{
    if (s->rest && !s->has_written && !s->has_failed && !s->has_conflict)
        log_nothing(key_of(s), s->rest);
    if (!s->has_failed)
        binder_note_failure(s->ctx, key_of(s), /* words= */ NULL);
}

/* --- Waking --- */

void binder_expect(struct binder *b, const char *volume)
{
    const struct volume *v = volume_index_get(b->index, volume);

    if (!v || v->claim.is_set)
        return; /* a reserved volume is only found by its claim */
    volume_index_expect(b->index, volume,
                        (v->phase == VOLUME_PENDING || v->phase == VOLUME_PHASE_UNSET) &&
                            !binder_has_bound_claim(b, volume));
}

void binder_remember(struct binder *b, struct binder_key claim, const char *volume)
{
    struct key_state *s = binder_state(b, claim);

    assert(claim.queue == BINDER_CLAIMS && !s->assumed_for); /* `offered` is the name of the held volume */
    free(s->offered);
    s->offered = strdup(volume);
    if (!s->offered)
        die_with_reason("no memory to remember an assumed volume: nothing would wake its claim");
}

bool binder_assume(struct binder *b, struct binder_key claim, const char *volume, const char *claim_uid)
{
    struct key_state *s;

    if (volume_index_hold(b->index, volume, claim_uid) < 0)
        return false;
    binder_remember(b, claim, volume);
    s = binder_state(b, claim);
    assert(!s->assumed_for); /* each sync first ends the last assumption */
    s->assumed_for = strdup(claim_uid);
    if (!s->assumed_for)
        die_with_reason("no memory to remember an assumed volume: its hold would never end");
    return true;
}

void binder_unassume(struct binder *b, struct binder_key claim)
{
    struct key_state *s = binder_find_state(b, claim);
    char *uid = s ? TAKE(s->assumed_for) : NULL;

    assert(!uid || s->offered);
    if (!uid)
        return;
    if (!MUTANT("binder-leaves-holds"))
        volume_index_release(b->index, s->offered, uid);
    free(uid);
}

void binder_offer(struct binder *b, const char *volume)
{
    const struct volume *v = volume_index_get_free(b->index, volume);
    const struct claim *c = v ? waiting_wake(b->waiting, v) : NULL;
    char key[KEY_BYTES_MAX];

    if (!c)
        return;
    (void)snprintf(key, sizeof key, "%s/%s", c->obj.ns, c->obj.name);
    binder_remember(b, claim_key(str_of(key)), volume);
    binder_add(b, BINDER_CLAIMS, str_of(key));
}

/* --- Volumes --- */

static void add_claims_naming(struct binder *b, const char *volume)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first_by(b->claims, CLAIMS_BY_VOLUME, str_of(volume), &at); o;
         o = informer_next(&at))
        binder_add_claim(b, o->ns, o->name);
}

bool binder_has_bound_claim(const struct binder *b, const char *volume)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first_by(b->claims, CLAIMS_BY_VOLUME, str_of(volume), &at); o;
         o = informer_next(&at))
        if (object_annotation(o, ANN_BIND_COMPLETED))
            return true;
    return false;
}

/* Any change may help a waiting claim: of size, modes, class or labels as well as of the phase. */
static void on_volume(struct binder *b, const struct object *o)
{
    struct error err;

    if (volume_index_put(b->index, volume_of(o), &err) < 0)
        die_with_reason("no memory to index a volume: it would never be matched");
    if (!MUTANT("binder-waits-for-available"))
        binder_expect(b, o->name);
    binder_add_volume(b, o->name);
    add_claims_naming(b, o->name);
    binder_offer(b, o->name);
}

static void on_volume_add(void *ctx, const struct object *o, bool is_initial)
{
    struct binder *b = ctx;

    (void)is_initial;
    binder_metrics_volume(b->metrics, NULL, volume_of(o));
    on_volume(b, o);
}

/* A phase is logged when it arrives in the cache, whatever process wrote it, so that a retried write is
 * logged once. */
static void on_volume_update(void *ctx, const struct object *old, const struct object *o)
{
    struct binder *b = ctx;

    if (b->is_started && volume_of(old)->phase != volume_of(o)->phase)
        log_info("volume entered phase", LOG_STR("volume", o->name),
                 LOG_STR("phase", volume_phase_name((enum volume_phase)volume_of(o)->phase)));
    binder_metrics_volume(b->metrics, volume_of(old), volume_of(o));
    on_volume(b, o);
}

static void on_volume_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct binder *b = ctx;
    const struct volume *v = volume_of(o);

    (void)is_final_unknown;
    volume_index_remove(b->index, o->name);
    binder_metrics_volume(b->metrics, v, NULL);
    binder_metrics_end(b->metrics, LONG_DELETE, str_of(o->name));
    binder_add_volume(b, o->name);
    if (v->claim.is_set)
        binder_add_claim(b, v->claim.ns, v->claim.name);
    add_claims_naming(b, o->name);
}

/* --- Claims --- */

static void add_volumes_of(struct binder *b, const struct object *claim)
{
    struct informer_cursor at;
    char key[KEY_BYTES_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", claim->ns, claim->name);
    for (const struct object *o = informer_first_by(b->volumes, VOLUMES_BY_CLAIM, str_of(key), &at); o;
         o = informer_next(&at))
        binder_add_volume(b, o->name);
}

/* A change of the claim may change whether its volume counts as free. */
static void expect_named(struct binder *b, const struct claim *c)
{
    if (c->volume_name[0])
        binder_expect(b, c->volume_name);
}

/* A claim whose class does not exist: the class may be created within DECIDE_CLASS_WAIT_NS. */
static void record_new_claim(struct binder *b, const struct claim *c)
{
    char key[KEY_BYTES_MAX];

    if (!c->class[0] || c->volume_name[0] || binder_class(b, c->class))
        return;
    (void)snprintf(key, sizeof key, "%s/%s", c->obj.ns, c->obj.name);
    binder_state(b, claim_key(str_of(key)))->new_until_ns =
        loop_now_ns(b->o.part.loop) + DECIDE_CLASS_WAIT_NS;
}

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    struct binder *b = ctx;

    if (!is_initial)
        record_new_claim(b, claim_of(o));
    binder_metrics_claim(b->metrics, NULL, claim_of(o));
    expect_named(b, claim_of(o));
    binder_add_claim(b, o->ns, o->name);
    add_volumes_of(b, o);
}

static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    struct binder *b = ctx;

    if (b->is_started && claim_of(old)->phase != claim_of(o)->phase)
        log_info("claim entered phase", LOG_STR("namespace", o->ns), LOG_STR("claim", o->name),
                 LOG_STR("phase", claim_phase_name((enum claim_phase)claim_of(o)->phase)));
    binder_metrics_claim(b->metrics, claim_of(old), claim_of(o));
    if (strcmp(old->uid, o->uid) != 0)
        record_new_claim(b, claim_of(o));
    expect_named(b, claim_of(old));
    expect_named(b, claim_of(o));
    binder_add_claim(b, o->ns, o->name);
    if (strcmp(claim_of(old)->volume_name, claim_of(o)->volume_name) != 0)
        add_volumes_of(b, o);
}

static void on_claim_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct binder *b = ctx;
    const struct claim *c = claim_of(o);
    char key[KEY_BYTES_MAX];

    (void)is_final_unknown;
    (void)snprintf(key, sizeof key, "%s/%s", o->ns, o->name);
    binder_metrics_claim(b->metrics, c, NULL);
    expect_named(b, c);
    waiting_remove(b->waiting, o->ns, o->name);
    provision_forget(b, str_of(key));
    binder_add(b, BINDER_CLAIMS, str_of(key));
    add_volumes_of(b, o);
    if (c->volume_name[0])
        binder_add_volume(b, c->volume_name);
}

/* --- Classes and pods --- */

static void wake_claim(void *ctx, const struct claim *c)
{
    binder_add_claim(ctx, c->obj.ns, c->obj.name);
}

static void on_class(void *ctx, const struct object *o)
{
    struct binder *b = ctx;

    waiting_each_of_class(b->waiting, o->name, wake_claim, b);
}

static void wake_key(void *ctx, struct str key)
{
    struct binder *b = ctx;

    if (informer_get_key(b->claims, key))
        binder_add(b, BINDER_CLAIMS, key);
}

static void wake_claims_of(void *ctx, const struct object *pod)
{
    pod_claims(pod_of(pod), wake_key, ctx);
}

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    if (!is_initial)
        wake_claims_of(ctx, o);
}

/* --- Lifecycle --- */

static void index_by_volume(const struct object *o, index_emit_fn *emit, void *ctx)
{
    if (claim_of(o)->volume_name[0])
        emit(ctx, str_of(claim_of(o)->volume_name));
}

static void index_by_claim(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct claim_ref *ref = &volume_of(o)->claim;
    char key[KEY_BYTES_MAX];

    if (!ref->is_set)
        return;
    (void)snprintf(key, sizeof key, "%s/%s", ref->ns, ref->name);
    emit(ctx, str_of(key));
}

static const struct informer_index by_volume = { CLAIMS_BY_VOLUME, index_by_volume };
static const struct informer_index by_claim = { VOLUMES_BY_CLAIM, index_by_claim };

static enum sync_result sync_claim_key(void *ctx, struct str key)
{
    return sync_claim(ctx, key);
}

static enum sync_result sync_volume_key(void *ctx, struct str key)
{
    return sync_volume(ctx, key);
}

static void resync_all(void *ctx)
{
    struct binder *b = ctx;
    struct informer_cursor at;

    for (const struct object *o = informer_first(b->claims, &at); o; o = informer_next(&at))
        binder_add_claim(b, o->ns, o->name);
    for (const struct object *o = informer_first(b->volumes, &at); o; o = informer_next(&at))
        binder_add_volume(b, o->name);
    timer_arm_after(&b->sweep, SWEEP_NS);
}

/* Requeues a key whose operation failed, or that requested another operation meanwhile. A success needs no
 * requeue: the change arrives as an event. */
static void on_operation_settled(void *ctx, struct str key)
{
    struct binder *b = ctx;
    struct binder_key k = work_key_parse_operation(key);
    struct key_state *s = binder_find_state(b, k);

    if (!s || !s->waits_for_operation)
        return;
    s->waits_for_operation = false;
    binder_add(b, k.queue, k.name);
}

static bool is_started(void *ctx)
{
    const struct binder *b = ctx;

    return b->is_started;
}

static void make_handlers(struct binder *b)
{
    static const struct informer_handler handlers[] = {
        { .on_add = on_volume_add, .on_update = on_volume_update, .on_delete = on_volume_delete },
        { .on_add = on_claim_add, .on_update = on_claim_update, .on_delete = on_claim_delete },
        { .on_upsert = on_class },
        { .on_add = on_pod_add, .on_upsert = wake_claims_of, .on_removed = wake_claims_of },
    };
    struct informer *informers[] = { b->volumes, b->claims, b->classes, b->pods };

    for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
        b->handlers[i] = handlers[i];
        b->handlers[i].ctx = b;
        informer_add_handler(informers[i], &b->handlers[i]);
    }
}

static int make_queues(struct binder *b, struct error *err)
{
    static const char *const names[] = { "claims", "volumes" };
    int r = 0;

    for (int i = 0; i < BINDER_QUEUE_COUNT && r == 0; i++) {
        struct controller_options o = { .queue = { .loop = b->o.part.loop,
                                                   .name = names[i],
                                                   .metrics = b->o.part.metrics,
                                                   .seed = component_seed(&b->o.part, names[i]),
                                                   .max_ns = WORKQUEUE_CONTROLLER_MAX_NS,
                                                   .jitter_percent = 10 },
                                        .sync = i == BINDER_CLAIMS ? sync_claim_key : sync_volume_key,
                                        .is_ready = is_started,
                                        .ctx = b,
                                        .api = b->api,
                                        .comes_again = true,
                                        .on_failed = on_failed,
                                        .on_settled = on_settled };

        r = controller_new(&o, &b->queues[i], err);
    }
    return r;
}

static int make_parts(struct binder *b, struct error *err)
{
    struct operations_options ops = {
        .loop = b->o.part.loop,
        .clock = b->o.part.clock,
        .has_delay_per_name = true,
        .on_settled = on_operation_settled,
        .ctx = b,
    };
    uint64_t seed = component_seed(&b->o.part, "binder");
    struct hash_seed hash = { seed, ~seed };
    int r = component_recorder(&b->o.part, "persistentvolume-controller", &b->recorder, err);

    map_init(&b->states, hash);
    if (r == 0)
        r = volume_index_new(hash, &b->index, err);
    if (r == 0)
        r = waiting_new(hash, &b->waiting, err);
    if (r == 0)
        r = operations_new(&ops, &b->operations, err);
    if (r == 0)
        r = binder_metrics_new(b, &b->metrics, err);
    if (r == 0)
        r = component_api(&b->o.part, BINDER_FIELD_MANAGER, &b->api, err);
    return r < 0 ? r : make_queues(b, err);
}

int binder_new(const struct binder_options *o, struct binder **ret, struct error *err)
{
    _cleanup_(binder_free_p) struct binder *b = calloc(1, sizeof *b);
    struct informers *all = o->part.informers;
    int r;

    if (!b)
        return error_no_memory(err);
    b->o = *o;
    TAILQ_INIT(&b->ops);
    json_init(&b->doc, DOC_BYTES_MAX);
    timer_init(&b->sweep, o->part.loop, resync_all, b);
    b->volumes = reclaim_volumes(all, err);
    b->claims = b->volumes ? informers_get(all, KIND_CLAIM, err) : NULL;
    b->classes = b->claims ? informers_get(all, KIND_CLASS, err) : NULL;
    b->nodes = b->classes ? informers_get(all, KIND_NODE, err) : NULL;
    b->pods = b->nodes ? component_pods(all, err) : NULL;
    if (!b->pods)
        return error_no_memory(err);
    r = informer_add_index(b->claims, &by_volume, err);
    if (r == 0)
        r = informer_add_index(b->volumes, &by_claim, err);
    if (r == 0)
        r = make_parts(b, err);
    if (r < 0)
        return r;
    make_handlers(b);
    *ret = TAKE(b);
    return 0;
}

void binder_start(struct binder *b)
{
    assert(!b->is_started);
    b->is_started = true;
    b->new_until_ns = loop_now_ns(b->o.part.loop) + DECIDE_CLASS_WAIT_NS;
    timer_arm_after(&b->sweep, SWEEP_NS);
    for (int i = 0; i < BINDER_QUEUE_COUNT; i++)
        controller_wake(b->queues[i]);
}

struct binder *binder_free(struct binder *b)
{
    struct key_state *s;

    if (!b)
        return NULL;
    timer_disarm(&b->sweep);
    for (size_t i = 0; i < ARRAY_LEN(b->handlers); i++)
        informer_remove_handler(&b->handlers[i]);
    b->operations = operations_free(b->operations);
    assert(TAILQ_EMPTY(&b->ops)); /* operations_free() has ended them */
    for (int i = 0; i < BINDER_QUEUE_COUNT; i++)
        b->queues[i] = controller_free(b->queues[i]);
    b->metrics = binder_metrics_free(b->metrics);
    b->waiting = waiting_free(b->waiting);
    b->index = volume_index_free(b->index);
    b->recorder = recorder_free(b->recorder);
    for (size_t at = 0; (s = map_next(&b->states, &at, NULL));)
        state_free(s);
    map_done(&b->states);
    json_done(&b->doc);
    free(b);
    return NULL;
}

bool binder_is_idle(const struct binder *b)
{
    for (int i = 0; i < BINDER_QUEUE_COUNT; i++)
        if (workqueue_depth(controller_queue(b->queues[i])) ||
            workqueue_processing(controller_queue(b->queues[i])))
            return false;
    return operations_pending(b->operations) == 0 && recorder_is_idle(b->recorder);
}
