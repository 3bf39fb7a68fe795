/* Expires events: deletes them one hour (or --event-ttl) after their last write.
 *
 * Every write of an event adds an entry to a heap ordered by expiry. When an entry is due and the event has
 * not been written since, the event is deleted. After a restart the times in the event replace the time of
 * the write, and entries are added in any order. Adding and removing are O(log n). */
#include "apiserver/duties.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/json_out.h"
#include "io/timer_heap.h"

struct expiry_note {
    struct timer_node due; /* wall-clock time, in seconds */
    int64_t revision;
    const char *ns; /* stored after the struct */
    const char *name;
};

struct expiry {
    struct duty_base base;
    struct timer_heap notes;
};

static struct timestamp later_time(struct timestamp a, struct timestamp b)
{
    return timestamp_cmp(a, b) > 0 ? a : b;
}

static struct timestamp written_at(const struct object *o)
{
    const struct event *e = (const struct event *)(const void *)o;

    return later_time(later_time(o->created, e->last), later_time(e->series_last, e->time));
}

/* The first to expire; NULL when there is none. */
static struct expiry_note *expiry_first(const struct expiry *expiry)
{
    struct timer_node *n = timer_heap_first(&expiry->notes);

    return n ? CONTAINER_OF(n, struct expiry_note, due) : NULL;
}

static void expire_event(struct expiry *expiry, const struct expiry_note *n)
{
    const struct object *o = store_get_newest(expiry->base.server->store, KIND_EVENT, n->ns, n->name);
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096), body = BUF_INIT(256);

    if (o && o->revision == n->revision) {
        object_path(o, &path);
        json_out_object(&body, NULL);
        json_out_object(&body, "preconditions");
        json_out_textf(&body, "resourceVersion", "%" PRId64, n->revision);
        json_out_end_object(&body);
        json_out_end_object(&body);
        duty_calls_send(expiry->base.calls, HTTP_DELETE, NULL, buf_str(&path), buf_str(&body));
    }
}

static void expiry_arm(struct expiry *expiry)
{
    const struct expiry_note *first = expiry_first(expiry);
    int64_t seconds;

    if (!first)
        return;
    seconds = (int64_t)first->due.at_ns - apiserver_now(expiry->base.server).seconds;
    timer_arm_after(&expiry->base.timer, seconds > 0 ? (uint64_t)seconds * NS_PER_S : 0);
}

static void expiry_reconcile(void *ctx)
{
    struct expiry *expiry = ctx;
    struct timestamp now = apiserver_now(expiry->base.server);
    struct expiry_note *n;

    while ((n = expiry_first(expiry)) && (int64_t)n->due.at_ns <= now.seconds &&
           !duty_calls_are_full(expiry->base.calls)) {
        timer_heap_remove(&expiry->notes, &n->due);
        expire_event(expiry, n);
        free(n);
    }
    if (!duty_calls_are_full(expiry->base.calls))
        expiry_arm(expiry); /* otherwise when calls were answered */
}

static void expiry_observe(void *duty, const struct store_event *ev);

/* Deletions that a full disk refused have lost their entries: add new ones for events that are due. */
static void expiry_answered(void *ctx)
{
    struct expiry *expiry = ctx;
    struct timestamp now = apiserver_now(expiry->base.server);
    struct store_iter it;
    const struct object *o;
    struct error ignored;

    if (duty_calls_have_failed(expiry->base.calls) &&
        store_iter_begin(&it, expiry->base.server->store, KIND_EVENT, NULL, STR_LIT(""), STR_LIT(""), 0,
                         &ignored) == 0) {
        while ((o = store_iter_next(&it))) {
            if (written_at(o).seconds + expiry->base.server->event_ttl_seconds <= now.seconds)
                expiry_observe(expiry, &(struct store_event){ .object = o, .revision = o->revision });
        }
        store_iter_done(&it);
    }
    expiry_reconcile(expiry);
}

static struct expiry_note *note_new(const struct object *o)
{
    size_t ns_len = strlen(o->ns) + 1, name_len = strlen(o->name) + 1;
    struct expiry_note *n = malloc(sizeof *n + ns_len + name_len);
    char *texts;

    if (!n)
        return NULL;
    texts = (char *)(n + 1);
    memcpy(texts, o->ns, ns_len);
    memcpy(texts + ns_len, o->name, name_len);
    *n = (struct expiry_note){ .revision = o->revision, .ns = texts, .name = texts + ns_len };
    return n;
}

static void expiry_observe(void *duty, const struct store_event *ev)
{
    struct expiry *expiry = duty;
    struct timestamp at, now = apiserver_now(expiry->base.server);
    struct expiry_note *n;

    if (ev->object->kind->kind != KIND_EVENT || ev->is_delete)
        return;
    at = written_at(ev->object);
    if (ev->old || timestamp_cmp(at, now) > 0)
        at = now; /* written right now, or by a clock ahead of ours */
    at.seconds += expiry->base.server->event_ttl_seconds;
    n = note_new(ev->object);
    if (!n)
        return; /* without memory the event stays until the next start */
    timer_heap_add(&expiry->notes, &n->due, at.seconds > 0 ? (uint64_t)at.seconds : 0);
    if (expiry_first(expiry) == n)
        expiry_arm(expiry);
}

static void expiry_done(void *duty)
{
    struct expiry *expiry = duty;
    struct expiry_note *n;

    while ((n = expiry_first(expiry))) {
        timer_heap_remove(&expiry->notes, &n->due);
        free(n);
    }
}

const struct duty duty_expiry = {
    sizeof(struct expiry), expiry_reconcile, expiry_answered, expiry_observe, .done = expiry_done,
};
