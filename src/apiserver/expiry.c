/* Events expire: an hour after they were last written, or what the server was told.
 *
 * Every write of an event adds a note to a heap in the order of expiry. When a note is due and the event has
 * not been written since, it is deleted. After a restart the times in the event stand for the time of the
 * write, and the notes come in any order. Adding and taking out are O(log n). */
#include "apiserver/duties.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/json_out.h"
#include "io/timer_heap.h"

struct expiry_note {
    struct timer_node due; /* its time is the wall clock's, in seconds */
    int64_t revision;
    const char *ns; /* behind the struct */
    const char *name;
};

struct expiry {
    struct apiserver *server;
    struct timer timer;
    struct duty_calls *calls;
    struct timer_heap notes;
};

static struct timestamp later(struct timestamp a, struct timestamp b)
{
    return timestamp_cmp(a, b) > 0 ? a : b;
}

static struct timestamp written_at(const struct object *o)
{
    const struct event *e = (const struct event *)(const void *)o;

    return later(later(o->created, e->last), later(e->series_last, e->time));
}

/* The first to expire; NULL when there is none. */
static struct expiry_note *expiry_first(const struct expiry *x)
{
    struct timer_node *n = timer_heap_first(&x->notes);

    return n ? CONTAINER_OF(n, struct expiry_note, due) : NULL;
}

static void expire(struct expiry *x, const struct expiry_note *n)
{
    const struct object *o = store_get_newest(x->server->store, KIND_EVENT, n->ns, n->name);
    struct buf path = BUF_INIT(4096), body = BUF_INIT(256);

    if (o && o->revision == n->revision) {
        object_path(o, &path);
        json_out_object(&body, NULL);
        json_out_object(&body, "preconditions");
        json_out_textf(&body, "resourceVersion", "%" PRId64, n->revision);
        json_out_end_object(&body);
        json_out_end_object(&body);
        duty_calls_send(x->calls, HTTP_DELETE, NULL, buf_str(&path), buf_str(&body));
    }
    buf_done(&path);
    buf_done(&body);
}

static void expiry_arm(struct expiry *x)
{
    const struct expiry_note *first = expiry_first(x);
    int64_t seconds;

    if (!first)
        return;
    seconds = (int64_t)first->due.at_ns - apiserver_now(x->server).seconds;
    timer_arm_after(&x->timer, seconds > 0 ? (uint64_t)seconds * NS_PER_S : 0);
}

static void expiry_due(void *ctx)
{
    struct expiry *x = ctx;
    struct timestamp now = apiserver_now(x->server);
    struct expiry_note *n;

    while ((n = expiry_first(x)) && (int64_t)n->due.at_ns <= now.seconds && !duty_calls_are_full(x->calls)) {
        timer_heap_remove(&x->notes, &n->due);
        expire(x, n);
        free(n);
    }
    if (!duty_calls_are_full(x->calls))
        expiry_arm(x); /* else when they have been answered */
}

static void expiry_see(void *duty, const struct store_event *ev);

/* Deletions that a full disk refused have lost their notes: the events that are due get new ones. */
static void expiry_sent(void *ctx)
{
    struct expiry *x = ctx;
    struct timestamp now = apiserver_now(x->server);
    struct store_iter it;
    const struct object *o;
    struct error ignored;

    if (duty_calls_have_failed(x->calls) && store_iter_begin(&it, x->server->store, KIND_EVENT, NULL,
                                                             STR_LIT(""), STR_LIT(""), 0, &ignored) == 0) {
        while ((o = store_iter_next(&it))) {
            if (written_at(o).seconds + x->server->event_ttl_seconds <= now.seconds)
                expiry_see(x, &(struct store_event){ .object = o, .revision = o->revision });
        }
        store_iter_done(&it);
    }
    expiry_due(x);
}

static int expiry_start(struct apiserver *s, void **ret, struct error *err)
{
    struct expiry *x = calloc(1, sizeof *x);
    int r = x ? duty_calls_new(s, expiry_sent, x, &x->calls, err) : error_no_memory(err);

    if (r < 0) {
        free(x);
        return r;
    }
    x->server = s;
    timer_init(&x->timer, s->loop, expiry_due, x);
    *ret = x;
    return 0;
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

static void expiry_see(void *duty, const struct store_event *ev)
{
    struct expiry *x = duty;
    struct timestamp at, now = apiserver_now(x->server);
    struct expiry_note *n;

    if (ev->object->kind->kind != KIND_EVENT || ev->is_delete)
        return;
    at = written_at(ev->object);
    if (ev->old || timestamp_cmp(at, now) > 0)
        at = now; /* written this moment, or by a clock ahead of ours */
    at.seconds += x->server->event_ttl_seconds;
    n = note_new(ev->object);
    if (!n)
        return; /* it stays until the next start */
    timer_heap_add(&x->notes, &n->due, at.seconds > 0 ? (uint64_t)at.seconds : 0);
    if (expiry_first(x) == n)
        expiry_arm(x);
}

static void expiry_stop(void *duty)
{
    struct expiry *x = duty;
    struct expiry_note *n;

    timer_disarm(&x->timer);
    (void)duty_calls_free(x->calls);
    while ((n = expiry_first(x))) {
        timer_heap_remove(&x->notes, &n->due);
        free(n);
    }
    free(x);
}

const struct duty duty_expiry = { expiry_start, expiry_see, expiry_stop };
