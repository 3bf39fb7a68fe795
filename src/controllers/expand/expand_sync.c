/* One expansion, step by step:
 *
 *   read the volume from the server; decide; then, for a size,
 *   (a) the claim says what is begun      written first: who goes on aims at the same size
 *   (b) the plugin expands
 *   (c) the volume says its size          with the size before, while the node is not done
 *   (d) the claim says that it is done, or that it is the node's turn
 *
 * Every step can be the last one; the next sync goes on from what is written. */
#include "controllers/expand/expand_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/migration.h"
#include "base/log.h"
#include "machinery/resize_patch.h"
#include "machinery/write.h"

struct expansion {
    TAILQ_ENTRY(expansion) link;
    struct expand *owner;
    struct object *claim;  /* as read or answered last */
    struct object *volume; /* the same; NULL before it was read */
    const struct expand_plugin *plugin;
    struct expand_op op;
    bool is_running; /* the plugin has not ended */
    uint64_t started_ns;
    struct quantity before; /* what the claim has */
    struct api_write write;
    size_t key_len;
    char key[];
};

/* --- Life --- */

void expansion_free(struct expansion *x)
{
    TAILQ_REMOVE(&x->owner->expansions, x, link);
    api_write_cancel(&x->write);
    if (x->is_running && x->plugin->cancel)
        x->plugin->cancel(&x->op);
    (void)object_unref(x->claim);
    (void)object_unref(x->volume);
    free(x);
}

static void end(struct expansion *x, enum sync_result result)
{
    controller_finish(x->owner->controller, (struct str){ x->key, x->key_len }, result);
    expansion_free(x);
}

static void fail(struct expansion *x, const struct error *err)
{
    log_warn("cannot expand claim, will try again", LOG_STR("claim", x->key), LOG_ERR(err));
    end(x, SYNC_AGAIN);
}

/* What went wrong is the claim's owner's to know. */
static void fail_told(struct expansion *x, const struct error *err)
{
    recorder_event(x->owner->recorder, x->claim, EVENT_WARNING, "VolumeResizeFailed", "%s", err->msg);
    fail(x, err);
}

static struct timestamp now_of(const struct expansion *x)
{
    return timestamp_of_ns(clock_real_ns(x->owner->clock));
}

/* --- Writing --- */

static struct informer *cache_of(const struct expansion *x, const struct object *o)
{
    return o->kind->kind == KIND_CLAIM ? x->owner->claims : x->owner->volumes;
}

/* Of the claim's status, the claim or the volume. */
static void patch(struct expansion *x, const struct object *o, const char *subresource, enum err failed,
                  const struct buf *body, api_done_fn *done)
{
    struct api_write_options w = {
        .api = x->owner->api,
        .request = { .verb = CLIENT_PATCH, .subresource = subresource, .patch = CLIENT_PATCH_STRATEGIC },
        .object = o,
        .body = buf_str(body),
        .failed = failed,
        .step = API_STEP_RESIZE,
        .informer = cache_of(x, o),
        .done = done,
        .ctx = x
    };

    api_write_start(&x->write, &w);
}

/* True when the write went well, and its answer is what is known now. Else the sync is over: overtaken by
 * another writer it begins anew. */
static bool take_answer(struct expansion *x, enum api_outcome outcome, const struct client_answer *a)
{
    struct object **place;

    if (outcome == API_CONFLICT) {
        end(x, SYNC_OVERTAKEN);
    } else if (a->r == -ERR_NOT_FOUND) {
        end(x, SYNC_DONE);
    } else if (outcome != API_DONE || !a->object) {
        fail_told(x, &a->error);
    } else {
        place = a->object->kind->kind == KIND_CLAIM ? &x->claim : &x->volume;
        (void)object_unref(*place);
        *place = object_ref(a->object);
        return true;
    }
    return false;
}

static void on_last_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expansion *x = ctx;

    if (take_answer(x, outcome, a))
        end(x, SYNC_DONE);
}

/* --- (d) --- */

static void on_done_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expansion *x = ctx;

    if (!take_answer(x, outcome, a))
        return;
    log_info("claim expanded", LOG_STR("claim", x->key));
    recorder_event(x->owner->recorder, x->claim, EVENT_NORMAL, "VolumeResizeSuccessful",
                   "ExpandVolume succeeded for volume %s", x->key);
    end(x, SYNC_DONE);
}

static bool needs_node(const struct expansion *x)
{
    return x->plugin->needs_fs_resize && volume_of(x->volume)->mode != VOLUME_MODE_BLOCK;
}

static void write_node_pending(struct expansion *x)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);

    patch(x, x->claim, "status", expand_write_node_pending(claim_of(x->claim), now_of(x), &body), &body,
          on_last_written);
}

static void write_done(struct expansion *x, const struct quantity *size)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct error err;
    int r = resize_write_done(claim_of(x->claim), size, &body, &err);

    patch(x, x->claim, "status", (enum err) - r, &body, on_done_written);
}

static void write_end(struct expansion *x)
{
    if (needs_node(x))
        write_node_pending(x);
    else
        write_done(x, &x->op.size);
}

/* --- (c) --- */

static void on_size_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expansion *x = ctx;

    if (take_answer(x, outcome, a))
        write_end(x);
}

/* A volume never says less than it did. */
static void write_size(struct expansion *x)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    const struct volume *v = volume_of(x->volume);
    bool keeps = needs_node(x) && !object_annotation(x->volume, ANN_PRE_RESIZE_CAPACITY);
    bool grows = quantity_cmp(&v->capacity, &x->op.size) < 0;
    enum err failed;

    if (!keeps && !grows) {
        write_end(x);
        return;
    }
    failed = expand_write_size(v, grows ? &x->op.size : &v->capacity, keeps ? &x->before : NULL, &body);
    patch(x, x->volume, NULL, failed, &body, on_size_written);
}

/* --- (b) --- */

static void count_seconds(const struct expansion *x, int r)
{
    uint64_t took_ns = loop_now_ns(x->owner->loop) - x->started_ns;

    if (x->owner->seconds)
        metric_observe(metric_of(x->owner->seconds, x->plugin->name, "expand_volume",
                                 r < 0 ? PART_FAILURE : PART_SUCCESS, "false"),
                       (double)took_ns / (double)NS_PER_S);
}

static void on_expanded(struct expand_op *op, int r, const struct error *err)
{
    struct expansion *x = CONTAINER_OF(op, struct expansion, op);
    struct error told;

    x->is_running = false;
    count_seconds(x, r);
    if (r < 0) {
        (void)error_set(&told, err->code, "error expanding volume \"%s\" of plugin \"%s\": %s", x->key,
                        x->plugin->name, err->msg);
        fail_told(x, &told);
    } else {
        write_size(x);
    }
}

static void run_plugin(struct expansion *x)
{
    struct quantity to = claim_of(x->claim)->allocated;

    x->op = (struct expand_op){ .done = on_expanded, .size = to };
    x->is_running = true;
    x->started_ns = loop_now_ns(x->owner->loop);
    x->plugin->expand(volume_of(x->volume), &to, &x->before, &x->op);
}

/* --- (a) --- */

static void on_begun_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expansion *x = ctx;

    if (take_answer(x, outcome, a))
        run_plugin(x);
}

static void begin(struct expansion *x, const struct quantity *to)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    const struct claim *c = claim_of(x->claim);

    if (expand_is_begun(c, x->plugin->name, to))
        run_plugin(x);
    else
        patch(x, x->claim, "status", expand_write_begun(c, x->plugin->name, to, now_of(x), &body), &body,
              on_begun_written);
}

/* --- What the volume says --- */

static void hand_to_driver(struct expansion *x)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    const char *plugin = migration_plugin(volume_of(x->volume)->source.kind);
    const char *driver = migration_driver(plugin);

    recorder_event(x->owner->recorder, x->claim, EVENT_NORMAL, "ExternalExpanding",
                   "CSI migration enabled for %s; waiting for external resizer to expand the pvc", plugin);
    if (object_annotation_is(x->claim, ANN_RESIZER, driver)) {
        end(x, SYNC_DONE);
        return;
    }
    patch(x, x->claim, NULL, expand_write_resizer(claim_of(x->claim), driver, &body), &body, on_last_written);
}

static void leave_to_others(struct expansion *x, bool is_doubtful)
{
    recorder_event(x->owner->recorder, x->claim, is_doubtful ? EVENT_WARNING : EVENT_NORMAL,
                   "ExternalExpanding", "waiting for an external controller to expand this PVC");
    end(x, SYNC_DONE);
}

static void forget_size(struct expansion *x)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);

    patch(x, x->volume, NULL, expand_write_forgotten(volume_of(x->volume), &body), &body, on_last_written);
}

static void act(struct expansion *x)
{
    struct expand_decision d = expand_decide(x->owner->plugins, claim_of(x->claim), volume_of(x->volume));
    struct error err;

    x->plugin = d.plugin;
    switch (d.plan) {
    case EXPAND_NOTHING:
        end(x, SYNC_DONE);
        break;
    case EXPAND_NOT_BOUND:
        (void)error_set(&err, ERR_CONFLICT, "persistent Volume is not bound to PVC being updated : %s",
                        x->key);
        fail(x, &err);
        break;
    case EXPAND_MIGRATED:
        hand_to_driver(x);
        break;
    case EXPAND_OTHERS:
        leave_to_others(x, d.is_doubtful);
        break;
    case EXPAND_FOLLOW:
        write_done(x, &d.to);
        break;
    case EXPAND_FORGET_SIZE:
        forget_size(x);
        break;
    case EXPAND_TO_NODE:
        write_node_pending(x);
        break;
    case EXPAND_TO:
        begin(x, &d.to);
        break;
    }
}

/* --- The sync --- */

static void on_volume(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct expansion *x = ctx;
    struct error err;

    if (outcome != API_DONE) {
        err = a->error;
        (void)error_wrap(&err, "failed to get PV \"%s\"", claim_of(x->claim)->volume_name);
        fail(x, &err);
        return;
    }
    x->volume = object_ref(a->object);
    act(x);
}

/* Most claims have what they ask for: the caches say so, and the server is not asked. */
static bool is_quiet(const struct expand *e, const struct claim *c)
{
    const struct object *volume = informer_get(e->volumes, "", c->volume_name);

    return c->phase != CLAIM_BOUND || c->volume_name[0] == '\0' ||
           (expand_is_satisfied(c) && volume && !object_annotation(volume, ANN_PRE_RESIZE_CAPACITY));
}

enum sync_result expand_sync(void *ctx, struct str key)
{
    struct expand *e = ctx;
    const struct object *o = informer_get_key(e->claims, key);
    struct expansion *x;

    if (!o || is_quiet(e, claim_of(o)))
        return SYNC_DONE;
    x = calloc(1, sizeof *x + key.len + 1);
    if (!x)
        return SYNC_AGAIN;
    x->owner = e;
    x->claim = object_ref(o);
    x->before = claim_of(o)->capacity;
    x->key_len = key.len;
    memcpy(x->key, key.s, key.len);
    TAILQ_INSERT_TAIL(&e->expansions, x, link);
    api_read(&x->write, &e->api, KIND_VOLUME, "", claim_of(o)->volume_name, on_volume, x);
    return SYNC_LATER;
}
