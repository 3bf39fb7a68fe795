/* Implementation of a controller's loop and of the requests of one sync.
 *
 * The queue signals when there is work. The controller processes keys up to its budget per turn and defers
 * the rest to the next turn of the loop, so that other events are handled in between. With the maximum number
 * of keys in flight it waits for controller_finish(). */
#include "machinery/controller.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/tailq.h"
#include "machinery/merge_patch.h"

#define CONTROLLER_IN_FLIGHT_MAX 256
#define CONTROLLER_TURN_MAX 64

struct controller {
    struct controller_options options;
    struct workqueue *queue;
    struct deferred again;
    /* deferred: other callers leave the work to it, so that the budget is spent once per turn */
    bool is_again;
    bool is_ready;
    TAILQ_HEAD(, sync) syncs; /* with requests in flight */
};

/* Ends a sync. key may be invalid afterwards. */
static void controller_settle(struct controller *c, struct str key, enum sync_result result)
{
    if (result == SYNC_AGAIN && !MUTANT("controller-gives-up"))
        workqueue_add_limited(c->queue, key);
    else if (result == SYNC_OVERTAKEN)
        workqueue_add_overtaken(c->queue, key);
    else
        workqueue_forget(c->queue, key);
    workqueue_done(c->queue, key);
}

static void controller_defer(struct controller *c)
{
    c->is_again = true;
    loop_defer(&c->again);
}

static void controller_run(struct controller *c)
{
    struct str key;

    if (!c->is_ready)
        c->is_ready = !c->options.is_ready || c->options.is_ready(c->options.ctx);
    if (!c->is_ready)
        return;
    for (unsigned n = 0; n < c->options.turn_max; n++) {
        enum sync_result result;

        if (workqueue_processing(c->queue) >= c->options.in_flight_max ||
            workqueue_get(c->queue, &key) != WORKQUEUE_KEY)
            return;
        result = c->options.sync(c->options.ctx, key);
        if (result != SYNC_LATER)
            controller_settle(c, key, result);
    }
    if (workqueue_depth(c->queue) > 0)
        controller_defer(c);
}

static void controller_on_again(void *ctx)
{
    struct controller *c = ctx;

    c->is_again = false;
    controller_run(c);
}

static void controller_on_ready(void *ctx)
{
    struct controller *c = ctx;

    if (!c->is_again)
        controller_run(c);
}

int controller_new(const struct controller_options *o, struct controller **ret, struct error *err)
{
    _cleanup_(controller_free_p) struct controller *c = calloc(1, sizeof *c);
    struct workqueue_options queue = o->queue;
    int r;

    assert(o->sync && !queue.on_ready);
    if (!c)
        return error_no_memory(err);
    c->options = *o;
    if (!c->options.in_flight_max)
        c->options.in_flight_max = CONTROLLER_IN_FLIGHT_MAX;
    if (!c->options.turn_max)
        c->options.turn_max = CONTROLLER_TURN_MAX;
    TAILQ_INIT(&c->syncs);
    deferred_init(&c->again, queue.loop, controller_on_again, c);
    queue.on_ready = controller_on_ready;
    queue.ctx = c;
    r = workqueue_new(&queue, &c->queue, err);
    if (r < 0)
        return r;
    *ret = TAKE(c);
    return 0;
}

static void sync_free(struct sync *s);

struct controller *controller_free(struct controller *c)
{
    struct sync *s;

    if (!c)
        return NULL;
    while ((s = TAILQ_FIRST(&c->syncs)))
        sync_free(s);
    loop_undefer(&c->again);
    workqueue_free(c->queue);
    free(c);
    return NULL;
}

struct workqueue *controller_queue(struct controller *c)
{
    return c->queue;
}

struct api *controller_api(struct controller *c)
{
    return &c->options.api;
}

void controller_finish(struct controller *c, struct str key, enum sync_result result)
{
    assert(result != SYNC_LATER);
    controller_settle(c, key, result);
    controller_wake(c);
}

void controller_finish_after(struct controller *c, struct str key, uint64_t delay_ns)
{
    workqueue_add_after(c->queue, key, delay_ns);
    controller_finish(c, key, SYNC_DONE);
}

void controller_wake(struct controller *c)
{
    if (workqueue_depth(c->queue) > 0)
        controller_defer(c);
}

bool controller_is_asking(const struct controller *c, const struct object *about)
{
    const struct sync_request *request;
    const struct sync *s;

    TAILQ_FOREACH(s, &c->syncs, link)
        TAILQ_FOREACH(request, &s->requests, link)
            if (request->about && request->about->kind == about->kind &&
                strcmp(request->about->name, about->name) == 0 && strcmp(request->about->ns, about->ns) == 0)
                return true;
    return false;
}

const char *controller_check(const struct controller *c)
{
    const char *wrong = workqueue_check(c->queue);
    size_t count = 0, requests = 0;
    const struct sync *s;

    if (wrong)
        return wrong;
    if (!tailq_is_sound(&c->syncs, offsetof(struct sync, link), workqueue_processing(c->queue), &count))
        return "more syncs than keys in process";
    TAILQ_FOREACH(s, &c->syncs, link) {
        if (s->controller != c || !workqueue_is_processing(c->queue, str_of(s->key)))
            return "a sync is in progress for a key that is not in process";
        if (!tailq_is_sound(&s->requests, offsetof(struct sync_request, link), SIZE_MAX - 1, &requests) ||
            requests == 0)
            return "a sync in progress has no request";
    }
    return NULL;
}

/* --- The requests of one sync --- */

static void request_free(struct sync_request *request)
{
    TAILQ_REMOVE(&request->sync->requests, request, link);
    api_write_cancel(&request->write);
    (void)object_unref(request->about);
    free(request);
}

static void sync_free(struct sync *s)
{
    struct sync_request *next;

    for (struct sync_request *request = TAILQ_FIRST(&s->requests); request; request = next) {
        next = TAILQ_NEXT(request, link);
        request_free(request);
    }
    TAILQ_REMOVE(&s->controller->syncs, s, link);
    free(s);
}

struct sync *sync_begin(struct controller *c, struct str key)
{
    struct sync *s = calloc(1, sizeof *s + key.len + 1);

    assert(workqueue_is_processing(c->queue, key));
    if (!s)
        die_with_reason("no memory for a key of a controller: it would never be processed again");
    s->controller = c;
    s->ctx = c->options.ctx;
    s->is_syncing = true;
    TAILQ_INIT(&s->requests);
    memcpy(s->key, key.s, key.len);
    TAILQ_INSERT_TAIL(&c->syncs, s, link);
    return s;
}

/* What happens to the key. */
static enum sync_result sync_settle(struct sync *s)
{
    struct controller *c = s->controller;

    if (c->options.on_settled)
        c->options.on_settled(s);
    if (s->has_failed)
        return SYNC_AGAIN;
    if (s->has_conflict)
        return SYNC_OVERTAKEN;
    if (s->has_written && c->options.comes_again)
        workqueue_add_first(c->queue, str_of(s->key));
    else if (s->is_late)
        workqueue_add(c->queue, str_of(s->key));
    return SYNC_DONE;
}

enum sync_result sync_end(struct sync *s)
{
    enum sync_result result = SYNC_LATER;

    assert(s->is_syncing);
    s->is_syncing = false;
    if (TAILQ_EMPTY(&s->requests)) {
        result = sync_settle(s);
        sync_free(s);
    }
    return result;
}

void sync_fail(struct sync *s)
{
    assert(s->is_syncing || !TAILQ_EMPTY(&s->requests)); /* otherwise nothing would finish the key */
    s->has_failed = true;
}

/* A missing object is not a failure: its delete event requeues the key. */
static bool is_own_end(const struct sync_request *request, const struct client_answer *a)
{
    size_t ns = request->about ? strlen(request->about->ns) : 0;
    const char *name = request->sync->key + (ns ? ns + 1 : 0);

    return request->about && a->r == -ERR_NOT_FOUND &&
           strncmp(request->sync->key, request->about->ns, ns) == 0 &&
           strcmp(name, request->about->name) == 0;
}

static void note_failure(struct sync_request *request, enum api_outcome outcome,
                         const struct client_answer *a)
{
    struct sync *s = request->sync;

    if (request->is_read && a->r == -ERR_NOT_FOUND)
        return; /* expected, not a failure */
    if (outcome == API_CONFLICT && a->http_status == 0) {
        s->is_late = true;
        return;
    }
    s->rest = NULL;
    LOG_AT(outcome == API_CONFLICT ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR,
           request->is_read ? "read failed" : "write failed", LOG_STR("key", s->key),
           LOG_STR("step", api_step_names[request->step]), LOG_ERR(&a->error), LOG_END);
    if (outcome == API_CONFLICT) {
        s->has_conflict = true;
    } else if (!is_own_end(request, a)) {
        s->has_failed = true;
        if (s->controller->options.on_failed)
            s->controller->options.on_failed(s, &a->error);
    }
}

static void on_request_done(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct sync_request *request = ctx;
    struct sync *s = request->sync;
    struct controller *c = s->controller;
    enum sync_result result;

    if (a->r < 0)
        note_failure(request, outcome, a);
    else if (outcome == API_DONE && !request->is_read)
        s->has_written = true;
    if (request->then)
        request->then(request, outcome, a);
    request_free(request);
    if (s->is_syncing || !TAILQ_EMPTY(&s->requests))
        return;
    result = sync_settle(s);
    controller_finish(c, str_of(s->key), result);
    sync_free(s);
}

bool sync_send(struct sync *s, const struct api_write_options *o, const struct object *about,
               sync_then_fn *then, const void *arg)
{
    struct sync_request *request = calloc(1, sizeof *request);
    struct api_write_options all = *o;

    assert(!o->done && !o->api.client); /* set by the sync */
    if (!request) {
        s->has_failed = true;
        return false;
    }
    about = about ? about : o->object;
    request->sync = s;
    request->step = o->step;
    request->is_read = o->request.verb == CLIENT_GET;
    request->about = about ? object_ref(about) : NULL;
    request->then = then;
    request->arg = arg;
    TAILQ_INSERT_TAIL(&s->requests, request, link);
    all.api = s->controller->options.api;
    all.done = on_request_done;
    all.ctx = request;
    api_write_start(&request->write, &all);
    return true;
}

void sync_read(struct sync *s, enum kind k, const char *ns, const char *name, const struct object *about,
               sync_then_fn *then)
{
    struct api_write_options o = {
        .request = { .verb = CLIENT_GET, .kind = kind_info(k), .ns = ns[0] ? ns : NULL, .name = name }
    };

    (void)sync_send(s, &o, about, then, NULL);
}

bool sync_await_writer(struct sync *s, const struct object *o)
{
    /* Never decides: the write in flight changes the object first, and this one ends as late. */
    struct api_write_options wait = { .request = { .verb = CLIENT_PATCH }, .object = o };

    if (!api_is_writing(&s->controller->options.api, o))
        return false;
    s->rest = "write-in-flight";
    (void)sync_send(s, &wait, NULL, NULL, NULL);
    return true;
}

enum sync_result sync_once(struct controller *c, struct str key, const struct api_write_options *o,
                           sync_then_fn *then, const void *arg)
{
    struct sync *s = sync_begin(c, key);

    (void)sync_send(s, o, NULL, then, arg);
    return sync_end(s);
}

struct finalizer_change {
    const char *finalizer;
    bool adds;
};

static enum api_decision decide_finalizers(void *ctx, const struct object *now, struct buf *body,
                                           struct error *err)
{
    const struct finalizer_change *c = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    if (c->adds)
        merge_patch_add_finalizer(&p, now, c->finalizer);
    else
        merge_patch_remove_finalizer(&p, now, c->finalizer);
    return api_decision_of(merge_patch_end(&p, err));
}

static enum sync_result change_finalizers(struct controller *c, struct str key, const struct object *o,
                                          const char *finalizer, bool adds, struct informer *informer)
{
    struct finalizer_change change = { finalizer, adds };
    struct api_write_options w = { .request = { .verb = CLIENT_PATCH },
                                   .object = o,
                                   .decide = decide_finalizers,
                                   .decide_ctx = &change,
                                   .step = API_STEP_FINALIZER,
                                   .informer = informer };

    log_info(adds ? "adding finalizer" : "removing finalizer", LOG_STR("kind", o->kind->name),
             LOG_TEXT("key", key), LOG_STR("finalizer", finalizer));
    return sync_once(c, key, &w, NULL, NULL);
}

enum sync_result sync_add_finalizer(struct controller *c, struct str key, const struct object *o,
                                    const char *finalizer, struct informer *informer)
{
    return change_finalizers(c, key, o, finalizer, /* adds= */ true, informer);
}

enum sync_result sync_remove_finalizer(struct controller *c, struct str key, const struct object *o,
                                       const char *finalizer, struct informer *informer)
{
    return change_finalizers(c, key, o, finalizer, /* adds= */ false, informer);
}
