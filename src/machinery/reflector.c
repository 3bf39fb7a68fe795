/* List and watch, as a state machine with at most one request in flight.
 *
 *     IDLE -> LISTING -> WATCHING -> WATCHING …       a watch that ended normally is continued
 *          STREAMING -> WATCHING                   the same stream, after its initial events
 *     any -> WAITING -> LISTING or STREAMING (the next round), or WATCHING
 *
 * Events only increase r->version; a new list may decrease it, if the server went back. A list in progress is
 * not visible until it is complete. */
#include "machinery/reflector.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mutant.h"
#include "base/reach.h"
#include "machinery/metrics.h"

/* Ten million objects: a list with more pages is considered endless. */
#define LIST_PAGES_MAX 20000
/* A page may contain the whole list; the transport detects dead peers earlier. */
#define LIST_DEADLINE_NS (120 * NS_PER_S)
#define WATCH_SECONDS_MIN 300
#define WATCH_SECONDS_MAX 600
/* A watch that closes sooner without an event counts as failed. */
#define WATCH_NS_MIN NS_PER_S
#define WATCH_INTERNAL_RETRY_NS (30 * NS_PER_S)
#define STREAM_WARN_NS (10 * NS_PER_S)
#define STREAM_ABANDON_NS (60 * NS_PER_S)
#define LOG_WAIT_NS NS_PER_S

static const char *const state_names[] = {
    [REFLECTOR_IDLE] = "idle",         [REFLECTOR_LISTING] = "listing", [REFLECTOR_STREAMING] = "streaming",
    [REFLECTOR_WATCHING] = "watching", [REFLECTOR_WAITING] = "waiting",
};
static_assert(ARRAY_LEN(state_names) == REFLECTOR_STATE_COUNT, "name every state");

/* Row: from; column: to. */
static const bool state_may_follow[REFLECTOR_STATE_COUNT][REFLECTOR_STATE_COUNT] = {
    [REFLECTOR_IDLE] = { [REFLECTOR_LISTING] = true, [REFLECTOR_STREAMING] = true },
    [REFLECTOR_LISTING] = { [REFLECTOR_LISTING] = true,
                            [REFLECTOR_WATCHING] = true,
                            [REFLECTOR_WAITING] = true },
    [REFLECTOR_STREAMING] = { [REFLECTOR_LISTING] = true,
                              [REFLECTOR_WATCHING] = true,
                              [REFLECTOR_WAITING] = true },
    [REFLECTOR_WATCHING] = { [REFLECTOR_WATCHING] = true, [REFLECTOR_WAITING] = true },
    [REFLECTOR_WAITING] = { [REFLECTOR_LISTING] = true,
                            [REFLECTOR_STREAMING] = true,
                            [REFLECTOR_WATCHING] = true },
};

static void reflector_enter_listing(struct reflector *r);
static void reflector_enter_watching(struct reflector *r);
static void reflector_enter_waiting(struct reflector *r, bool for_watch, const struct error *why);

static void reflector_set_state(struct reflector *r, enum reflector_state next)
{
    assert(state_may_follow[r->state][next]);
    reach_move(REACH_REFLECTOR, REFLECTOR_STATE_COUNT, r->state, next);
    log_debug("reflector", LOG_STR("resource", r->o.kind->plural), LOG_STR("from", state_names[r->state]),
              LOG_STR("to", state_names[next]), LOG_STR("version", r->version));
    r->state = next;
    /* Timers of one state do not survive it. The next state arms its own timers after this call. */
    timer_disarm(&r->timer);
}

static void reflector_count(const struct reflector *r, enum reflector_count what)
{
    reflector_metrics_add(r->o.metrics, what, 1);
}

/* Copies a version; false if it is too long. */
static bool version_copy(char *to, const char *from)
{
    size_t len = strlen(from);

    if (len >= REFLECTOR_VERSION_BYTES_MAX)
        return false;
    memcpy(to, from, len + 1);
    return true;
}

/* --- Waiting --- */

static uint64_t reflector_next_backoff(struct reflector *r)
{
    uint64_t now = loop_now_ns(r->o.loop), delay;

    if (r->backoff_ns == 0 || now - r->backoff_at_ns > REFLECTOR_BACKOFF_RESET_NS)
        r->backoff_ns = REFLECTOR_BACKOFF_NS_MIN;
    delay = r->backoff_ns + rng_below(&r->o.rng, r->backoff_ns);
    r->backoff_at_ns = now;
    r->backoff_ns *= 2;
    if (r->backoff_ns > REFLECTOR_BACKOFF_NS_MAX)
        r->backoff_ns = REFLECTOR_BACKOFF_NS_MAX;
    return delay;
}

static void reflector_enter_waiting(struct reflector *r, bool for_watch, const struct error *why)
{
    uint64_t delay = reflector_next_backoff(r);

    client_cancel(&r->call);
    cache_clear(&r->snapshot);
    r->waits_for_watch = for_watch;
    reflector_set_state(r, REFLECTOR_WAITING);
    timer_arm_after(&r->timer, delay);
    if (delay > LOG_WAIT_NS)
        log_info("retrying", LOG_STR("resource", r->o.kind->plural), LOG_ERR(why),
                 LOG_STR("next", for_watch ? "watch" : "list"), LOG_UINT("ms", delay / NS_PER_MS));
    else
        log_debug("retrying", LOG_STR("resource", r->o.kind->plural), LOG_ERR(why));
}

/* --- Snapshots --- */

/* The list is complete: it replaces the cache. */
static int reflector_replace(struct reflector *r, struct error *err)
{
    int c = version_cmp(str_of(r->list_version), str_of(r->version));
    int done;

    r->is_version_unavailable = false;
    r->failing_since_ns = 0;
    (void)version_copy(r->version, r->list_version);
    done = r->o.sink.replace(r->o.sink.ctx, &r->snapshot, str_of(r->version), c == 0 || c == 1, err);
    cache_clear(&r->snapshot);
    return done;
}

static void reflector_snapshot_put(struct reflector *r, const struct object *o, int *done, struct error *err)
{
    if (!cache_can_hold(o))
        reflector_count(r, REFLECTOR_UNREADABLE);
    else if (*done == 0)
        *done = cache_put(&r->snapshot, o, err);
}

/* --- Lists --- */

static void on_page(void *ctx, const struct client_answer *a);

static void reflector_send_page(struct reflector *r, const char *continue_token)
{
    /* The most recent; or not older than the known version; or any. */
    const char *version = r->is_version_unavailable ? NULL : r->version[0] ? r->version : "0";
    struct client_request q = {
        .verb = CLIENT_LIST,
        .kind = r->o.kind,
        .ns = r->o.ns,
        .label_selector = r->o.label_selector,
        .field_selector = r->o.field_selector,
        .deadline_ns = LIST_DEADLINE_NS,
    };

    if (continue_token) {
        q.continue_token = continue_token; /* the token contains the version */
        q.limit = REFLECTOR_PAGE_OBJECTS;
    } else {
        q.resource_version = version;
        /* With a version and a limit a server would not answer from its cache. */
        if (!r->is_unpaged && (!version || strcmp(version, "0") == 0))
            q.limit = REFLECTOR_PAGE_OBJECTS;
    }
    client_send(r->o.client, &r->call, &q, on_page, r);
}

static void reflector_list(struct reflector *r, bool is_unpaged)
{
    cache_clear(&r->snapshot);
    r->pages = 0;
    r->is_unpaged = is_unpaged;
    reflector_count(r, REFLECTOR_LISTS);
    reflector_send_page(r, NULL);
}

static void reflector_enter_listing(struct reflector *r)
{
    client_cancel(&r->call);
    reflector_list(r, /* is_unpaged= */ false);
    reflector_set_state(r, REFLECTOR_LISTING);
}

static void reflector_list_failed(struct reflector *r, const struct client_answer *a)
{
    bool is_expired = a->error.code == ERR_GONE;

    if (is_expired)
        reflector_count(r, REFLECTOR_EXPIRED);
    if (is_expired && r->pages > 0 && !r->is_unpaged) {
        reflector_list(r, /* is_unpaged= */ true);
    } else if ((is_expired || client_is_too_large_version(a->status)) && !r->is_version_unavailable) {
        r->is_version_unavailable = true;
        reflector_list(r, /* is_unpaged= */ false);
    } else {
        /* For a collection, a "not found" Status also means that it is not served. */
        if (a->error.code == ERR_UNSUPPORTED || a->error.code == ERR_NOT_FOUND) {
            r->backoff_ns = REFLECTOR_BACKOFF_NS_MAX;
            r->backoff_at_ns = loop_now_ns(r->o.loop);
            r->o.sink.not_served(r->o.sink.ctx, &a->error);
        }
        reflector_enter_waiting(r, /* for_watch= */ false, &a->error);
    }
}

/* Adds the objects of a page to the list. */
static int reflector_take_page(struct reflector *r, const struct client_list *list, struct error *err)
{
    int done = 0;

    if (r->pages++ == 0 && !version_copy(r->list_version, list->resource_version))
        return error_set(err, ERR_TOO_LARGE, "resourceVersion of list is too long");
    for (size_t i = 0; i < list->count; i++)
        reflector_snapshot_put(r, list->items[i], &done, err);
    if (list->undecodable) {
        reflector_metrics_add(r->o.metrics, REFLECTOR_UNREADABLE, (double)list->undecodable);
        log_warn("cannot decode objects of list, skipping", LOG_STR("resource", r->o.kind->plural),
                 LOG_UINT("objects", list->undecodable));
    }
    if (done == 0 && list->continue_token[0] && r->pages >= LIST_PAGES_MAX)
        return error_set(err, ERR_TOO_LARGE, "list has too many pages");
    return done;
}

static void on_page(void *ctx, const struct client_answer *a)
{
    struct reflector *r = ctx;
    struct error err = { 0 };
    int done;

    if (a->r < 0) {
        reflector_list_failed(r, a);
        return;
    }
    done = reflector_take_page(r, &a->list, &err);
    if (done == 0 && a->list.continue_token[0]) {
        reflector_send_page(r, a->list.continue_token);
        return;
    }
    if (done == 0)
        done = reflector_replace(r, &err);
    if (done == 0)
        reflector_enter_watching(r);
    else
        reflector_enter_waiting(r, /* for_watch= */ false, &err);
}

/* --- Watches --- */

static void on_event(void *ctx, const struct client_event *ev);
static void on_watch_end(void *ctx, const struct client_answer *a);

static void reflector_watch(struct reflector *r, bool begins_with_all)
{
    struct client_request q = {
        .verb = CLIENT_WATCH,
        .kind = r->o.kind,
        .ns = r->o.ns,
        .label_selector = r->o.label_selector,
        .field_selector = r->o.field_selector,
        .resource_version = begins_with_all && r->is_version_unavailable ? "" : r->version,
        .version_match = begins_with_all ? "NotOlderThan" : NULL,
        .wants_bookmarks = true,
        .wants_initial_events = begins_with_all,
        .timeout_seconds =
            WATCH_SECONDS_MIN + (uint32_t)rng_below(&r->o.rng, WATCH_SECONDS_MAX - WATCH_SECONDS_MIN + 1),
    };
    uint64_t number;

    if (MUTANT("reflector-resumes-late") && !begins_with_all && str_to_uint64(str_of(r->version), &number))
        (void)snprintf(r->version, sizeof r->version, "%" PRIu64, number + 1);
    r->started_ns = r->event_at_ns = loop_now_ns(r->o.loop);
    r->has_event = false;
    r->is_unordered = !begins_with_all && (r->version[0] == '\0' || strcmp(r->version, "0") == 0);
    reflector_count(r, REFLECTOR_WATCHES);
    client_watch(r->o.client, &r->call, &q, on_event, on_watch_end, r);
}

static void reflector_enter_watching(struct reflector *r)
{
    client_cancel(&r->call);
    reflector_watch(r, /* begins_with_all= */ false);
    reflector_set_state(r, REFLECTOR_WATCHING);
}

static void reflector_enter_streaming(struct reflector *r)
{
    client_cancel(&r->call);
    cache_clear(&r->snapshot);
    r->has_warned = false;
    reflector_count(r, REFLECTOR_LISTS);
    reflector_watch(r, /* begins_with_all= */ true);
    reflector_set_state(r, REFLECTOR_STREAMING);
    timer_arm_after(&r->timer, STREAM_WARN_NS);
}

static void reflector_enter_round(struct reflector *r)
{
    if (r->streams)
        reflector_enter_streaming(r);
    else
        reflector_enter_listing(r);
}

/* Handles a watch that failed to start, ended with an error or delivered one. */
static void reflector_watch_failed(struct reflector *r, const struct error *e, bool is_transport)
{
    uint64_t now = loop_now_ns(r->o.loop);
    bool is_internal = e->code == ERR_INTERNAL && !is_transport;

    if (e->code == ERR_GONE && MUTANT("reflector-goes-on-after-410")) {
        r->version[0] = '\0';
        reflector_enter_waiting(r, /* for_watch= */ true, e);
        return;
    }
    if (e->code == ERR_GONE)
        reflector_count(r, REFLECTOR_EXPIRED);
    if (is_internal && r->failing_since_ns == 0)
        r->failing_since_ns = now;
    if (is_transport && now - r->started_ns >= WATCH_NS_MIN)
        reflector_enter_watching(r); /* lost after some time: the version is still good */
    else if (is_transport || e->code == ERR_BUSY ||
             (is_internal && now - r->failing_since_ns < WATCH_INTERNAL_RETRY_NS))
        reflector_enter_waiting(r, /* for_watch= */ true, e);
    else
        reflector_enter_waiting(r, /* for_watch= */ false, e);
}

static void reflector_failed(struct reflector *r, const struct error *e, bool is_transport)
{
    if (r->state != REFLECTOR_STREAMING) {
        reflector_watch_failed(r, e, is_transport);
        return;
    }
    /* Before the end of the initial events. A failure of streaming says nothing about lists. */
    if (e->code == ERR_INVALID && strstr(e->msg, "sendInitialEvents"))
        r->streams = false;
    if (is_transport || e->code == ERR_BUSY)
        reflector_enter_waiting(r, /* for_watch= */ false, e);
    else
        reflector_enter_listing(r);
}

/* The connection was lost: no answer, or the stream broke off. */
static bool is_lost(const struct client_answer *a)
{
    bool is_of_transport = a->error.code == ERR_UNAVAILABLE || a->error.code == ERR_TIMEOUT;

    return a->http_status == 0 || (!a->status && is_of_transport);
}

static void on_watch_end(void *ctx, const struct client_answer *a)
{
    struct reflector *r = ctx;
    struct error err = { 0 };

    if (a->r < 0) {
        reflector_failed(r, &a->error, is_lost(a));
    } else if (r->state == REFLECTOR_STREAMING) {
        reflector_enter_listing(r);
    } else if (!r->has_event && loop_now_ns(r->o.loop) - r->started_ns < WATCH_NS_MIN) {
        reflector_count(r, REFLECTOR_SHORT_WATCHES);
        (void)error_set(&err, ERR_UNAVAILABLE, "watch closed immediately without an event");
        reflector_enter_waiting(r, /* for_watch= */ false, &err);
    } else {
        reflector_enter_watching(r);
    }
}

/* --- Events --- */

/* False if the stream is already past this event: a replay does not decrease the version. */
static bool reflector_advance(struct reflector *r, const struct client_event *ev)
{
    if (ev->type != CLIENT_ADDED)
        r->is_unordered = false;
    if (r->is_unordered || !ev->version || !ev->version[0])
        return true;
    if (version_cmp(str_of(ev->version), str_of(r->version)) == -1)
        return MUTANT("reflector-believes-replays");
    (void)version_copy(r->version, ev->version);
    return true;
}

/* An event while the initial list is streamed. */
static int reflector_gather(struct reflector *r, const struct client_event *ev, struct error *err)
{
    int done = 0;

    switch (ev->type) {
    case CLIENT_ADDED:
    case CLIENT_MODIFIED:
        reflector_snapshot_put(r, ev->object, &done, err);
        return done;
    case CLIENT_DELETED:
        cache_remove(&r->snapshot, ev->object);
        return 0;
    case CLIENT_BOOKMARK:
        if (!ev->ends_initial_events)
            return 0;
        if (!version_copy(r->list_version, ev->version))
            return error_set(err, ERR_TOO_LARGE, "resourceVersion of bookmark is too long");
        reflector_set_state(r, REFLECTOR_WATCHING);
        return reflector_replace(r, err);
    case CLIENT_ERROR:
    case CLIENT_UNREADABLE:
    case CLIENT_EVENT_TYPE_COUNT:
        break;
    }
    assert(!"handled by the caller");
    return 0;
}

static int reflector_apply(struct reflector *r, const struct client_event *ev, struct error *err)
{
    const struct reflector_sink *sink = &r->o.sink;
    bool is_replay = !reflector_advance(r, ev);

    r->failing_since_ns = 0;
    if (ev->type == CLIENT_BOOKMARK)
        return 0;
    if (!cache_can_hold(ev->object)) {
        reflector_count(r, REFLECTOR_UNREADABLE);
        return 0;
    }
    if (ev->type == CLIENT_DELETED)
        return sink->remove(sink->ctx, ev->object, is_replay, err);
    return sink->put(sink->ctx, ev->object, is_replay, err);
}

static void on_event(void *ctx, const struct client_event *ev)
{
    struct reflector *r = ctx;
    struct error err;
    int done;

    r->has_event = true;
    r->event_at_ns = loop_now_ns(r->o.loop);
    if (ev->type == CLIENT_ERROR) {
        err = *ev->error; /* the event is freed with its call */
        reflector_failed(r, &err, /* is_transport= */ false);
        return;
    }
    if (ev->type == CLIENT_UNREADABLE) {
        reflector_count(r, REFLECTOR_UNREADABLE);
        log_warn("cannot decode watch event, skipping", LOG_STR("resource", r->o.kind->plural),
                 LOG_ERR(ev->error));
        return;
    }
    done = r->state == REFLECTOR_STREAMING ? reflector_gather(r, ev, &err) : reflector_apply(r, ev, &err);
    if (done < 0)
        reflector_enter_waiting(r, /* for_watch= */ false, &err);
}

/* --- Timers --- */

static void reflector_check_stream(struct reflector *r)
{
    uint64_t now = loop_now_ns(r->o.loop);
    uint64_t next = r->started_ns + STREAM_ABANDON_NS;

    if (now >= next) {
        log_warn("server does not stream lists, using paged lists", LOG_STR("resource", r->o.kind->plural));
        r->streams = false;
        reflector_enter_listing(r);
        return;
    }
    if (!r->has_warned && now - r->event_at_ns >= STREAM_WARN_NS) {
        r->has_warned = true;
        log_warn("still waiting for the end of a streaming list", LOG_STR("resource", r->o.kind->plural),
                 LOG_UINT("objects", cache_count(&r->snapshot)));
    }
    if (!r->has_warned && r->event_at_ns + STREAM_WARN_NS < next)
        next = r->event_at_ns + STREAM_WARN_NS;
    timer_arm(&r->timer, next);
}

static void on_timer(void *ctx)
{
    struct reflector *r = ctx;

    if (r->state == REFLECTOR_STREAMING) {
        reflector_check_stream(r);
        return;
    }
    assert(r->state == REFLECTOR_WAITING);
    if (r->waits_for_watch)
        reflector_enter_watching(r);
    else
        reflector_enter_round(r);
}

/* --- Lifecycle --- */

void reflector_init(struct reflector *r, const struct reflector_options *o, struct hash_seed seed)
{
    *r = (struct reflector){ .o = *o, .streams = o->streams_lists };
    cache_init(&r->snapshot, seed);
    timer_init(&r->timer, o->loop, on_timer, r);
}

void reflector_done(struct reflector *r)
{
    client_cancel(&r->call);
    timer_disarm(&r->timer);
    cache_done(&r->snapshot);
}

void reflector_start(struct reflector *r)
{
    assert(r->state == REFLECTOR_IDLE);
    reflector_enter_round(r);
}

/* --- Metrics --- */

static const char *const count_labels[] = { "resource", NULL };

static const struct metric_desc count_descs[] = {
    [REFLECTOR_LISTS] = { "berth_reflector_lists_total", "Lists started, all pages of one list counted once.",
                          METRIC_COUNTER, count_labels },
    [REFLECTOR_WATCHES] = { "berth_reflector_watches_total", "Watches started.", METRIC_COUNTER,
                            count_labels },
    [REFLECTOR_SHORT_WATCHES] = { "berth_reflector_watch_short_total",
                                  "Watches that ended within a second without an event.", METRIC_COUNTER,
                                  count_labels },
    [REFLECTOR_EXPIRED] = { "berth_reflector_relist_expired_total",
                            "Lists repeated because a resourceVersion had expired.", METRIC_COUNTER,
                            count_labels },
    [REFLECTOR_STALE] = { "berth_reflector_stale_events_total",
                          "Watch events that were older than the cached object.", METRIC_COUNTER,
                          count_labels },
    [REFLECTOR_UNREADABLE] = { "berth_watch_decode_errors_total",
                               "Watch events and listed objects that could not be decoded.", METRIC_COUNTER,
                               count_labels },
    [CACHE_OBJECTS] = { "berth_cache_objects", "Objects in the cache.", METRIC_GAUGE, count_labels },
    [CACHE_SYNCED] = { "berth_cache_synced", "Caches that have completed their first list.", METRIC_GAUGE,
                       count_labels },
};
static_assert(ARRAY_LEN(count_descs) == REFLECTOR_COUNT_COUNT, "describe every count");

int reflector_metrics_init(struct reflector_metrics *rm, struct metrics *m, const struct kind_info *k,
                           struct error *err)
{
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(METRIC_LABELS_BYTES_MAX);
    struct reflector_metrics made = { 0 };

    kind_resource(k, &resource);
    for (size_t i = 0; m && i < ARRAY_LEN(count_descs); i++) {
        struct metric_family *f;
        int r = metrics_share_family(m, &count_descs[i], &f, err);

        if (r < 0)
            return r;
        made.of[i] = metric_of(f, buf_cstr(&resource));
    }
    *rm = made;
    return buf_check(&resource, "resource", err);
}

void reflector_metrics_add(const struct reflector_metrics *rm, enum reflector_count what, double amount)
{
    if (rm->of[what])
        metric_add(rm->of[what], amount);
}
