/* For the tests of the carrier to the server in this process: attempts whose ends and events are kept, on the
 * frame of test_served.h. */
#ifndef BERTH_TESTS_TEST_ATTEMPT_H
#define BERTH_TESTS_TEST_ATTEMPT_H

#include "tests/unit/test_served.h"

#include "api/list.h"
#include "apiserver/local_client.h"
#include "client/client.h"
#include "client/client_target.h"

struct near {
    struct served served;
    struct client_carrier *carrier;
};

struct attempt {
    struct client_attempt a;
    struct near *near;
    struct client_request q;
    struct buf body;        /* of the request */
    unsigned cancels_after; /* so many events; 0: never */
    unsigned ends;
    unsigned events;
    bool is_over; /* ended or cancelled */
    /* The end. */
    int r;
    struct error error;
    int http_status;
    int64_t retry_after_seconds;
    bool may_have_happened;
    size_t items;
    int64_t remaining;
    struct object *object; /* a reference */
    struct buf text;       /* what a text caller would have been sent */
    struct buf version;    /* of the list */
    struct buf token;
    struct buf warnings; /* a line each */
    /* A watch: "ADDED default/a 12", "BOOKMARK 13 end", "ERROR 410 Expired", a line each; and as sent. */
    struct buf seen;
    struct buf lines;
    struct object *last_object; /* a reference */
};

static inline void near_make(struct near *n, const struct user *user)
{
    ASSERT_OK(local_client_new(n->served.server, user, &n->carrier, &err));
}

static inline void near_init(struct near *n)
{
    served_init(&n->served);
    near_make(n, NULL);
}

static inline void near_free(struct near *n)
{
    if (n->carrier)
        n->carrier->type->free(n->carrier);
    n->carrier = NULL;
}

static inline void near_done(struct near *n)
{
    near_free(n);
    served_done(&n->served);
}

/* --- What is kept --- */

static inline void keep_text(const struct client_request *q, const struct client_answer *a, struct buf *out)
{
    struct list_meta meta = { .resource_version = str_of(a->list.resource_version),
                              .continue_token = str_of(a->list.continue_token),
                              .remaining = a->list.remaining };

    if (a->status)
        status_write(a->status, out);
    else if (a->object)
        buf_add_str(out, a->object->text);
    else if (q->verb == CLIENT_RAW)
        buf_add_str(out, a->text);
    else if (q->verb == CLIENT_LIST)
        list_write(q->kind, &meta, (const struct object *const *)a->list.items, a->list.count, out);
}

static inline void attempt_on_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct attempt *x = CONTAINER_OF(a, struct attempt, a);

    assert_null(a->work);
    assert_false(x->is_over);
    assert_true((answer->r == 0) == (answer->error.code == ERR_NONE));
    x->is_over = true;
    x->ends++;
    x->r = answer->r;
    x->error = answer->error;
    x->http_status = answer->http_status;
    x->retry_after_seconds = answer->retry_after_seconds;
    x->may_have_happened = answer->may_have_happened;
    x->items = answer->list.count;
    x->remaining = answer->list.remaining;
    x->object = answer->object ? object_ref(answer->object) : NULL;
    keep_text(&x->q, answer, &x->text);
    buf_add_cstr(&x->version, answer->list.resource_version);
    buf_add_cstr(&x->token, answer->list.continue_token);
}

static inline void attempt_cancel(struct attempt *x)
{
    x->is_over = true;
    x->near->carrier->type->cancel(x->near->carrier, &x->a);
}

static const char *const client_event_names[] = { "ADDED",    "MODIFIED", "DELETED",
                                                  "BOOKMARK", "ERROR",    "UNREADABLE" };

static inline void keep_event(struct attempt *x, const struct client_event *ev)
{
    buf_addf(&x->seen, "%s", client_event_names[ev->type]);
    if (ev->object) {
        assert_true(ev->object->kind == x->q.kind);
        buf_addf(&x->seen, " %s%s%s", ev->object->ns, ev->object->ns[0] ? "/" : "", ev->object->name);
        buf_addf(&x->lines, "{\"type\":\"%s\",\"object\":%s}\n", client_event_names[ev->type],
                 ev->object->text.s);
    }
    if (ev->status)
        buf_addf(&x->seen, " %d %s", ev->status->code, ev->status->reason);
    else
        buf_addf(&x->seen, " %s", ev->version);
    buf_addf(&x->seen, "%s\n", ev->ends_initial_events ? " end" : "");
    if (ev->object) {
        (void)object_unref(x->last_object);
        x->last_object = object_ref(ev->object);
    }
}

static inline void attempt_on_event(struct client_attempt *a, const struct client_event *ev)
{
    struct attempt *x = CONTAINER_OF(a, struct attempt, a);

    assert_false(x->is_over);
    keep_event(x, ev);
    if (++x->events == x->cancels_after)
        attempt_cancel(x);
}

static inline void attempt_on_warning(struct client_attempt *a, struct str text)
{
    struct attempt *x = CONTAINER_OF(a, struct attempt, a);

    assert_false(x->is_over);
    buf_add_str(&x->warnings, text);
    buf_add_char(&x->warnings, '\n');
}

/* --- Life --- */

#define ATTEMPT_BUFS(x)                                                                             \
    {                                                                                               \
        &(x)->body, &(x)->text, &(x)->version, &(x)->token, &(x)->warnings, &(x)->seen, &(x)->lines \
    }

/* Quotes in the body may be written as '. */
static inline void attempt_start(struct near *n, struct attempt *x, const struct client_request *q)
{
    struct buf *bufs[] = ATTEMPT_BUFS(x);
    unsigned cancels_after = x->cancels_after;

    *x = (struct attempt){
        .a = { .on_event = attempt_on_event, .on_end = attempt_on_end, .on_warning = attempt_on_warning },
        .near = n,
        .q = *q,
        .cancels_after = cancels_after,
    };
    for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
        buf_init(bufs[i], (size_t)256 << 20);
    if (q->body.len) {
        kind_quotes(q->body.s, &x->body);
        x->q.body = buf_str(&x->body);
    }
    x->a.request = &x->q;
    n->carrier->type->start(n->carrier, &x->a);
    ASSERT_INT(0, x->ends); /* never from inside */
    ASSERT_INT(0, x->events);
}

static inline void attempt_done(struct attempt *x)
{
    struct buf *bufs[] = ATTEMPT_BUFS(x);

    if (!x->near)
        return;
    if (!x->is_over)
        attempt_cancel(x);
    for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
        buf_done(bufs[i]);
    (void)object_unref(x->object);
    (void)object_unref(x->last_object);
    *x = (struct attempt){ 0 };
}

/* Starts, and waits until everything has come to rest. */
static inline void attempt_run(struct near *n, struct attempt *x, const struct client_request *q)
{
    attempt_start(n, x, q);
    served_settle(&n->served);
    if (q->verb != CLIENT_WATCH)
        ASSERT_INT(1, x->ends);
}

/* For what must go well and is not looked at. */
static inline void near_do(struct near *n, const struct client_request *q)
{
    _cleanup_(attempt_done) struct attempt x = { 0 };

    attempt_run(n, &x, q);
    if (x.r < 0)
        fail_msg("%s", x.error.msg);
}

static inline void near_create(struct near *n, enum kind kind, const char *ns, const char *body)
{
    near_do(n, &(struct client_request){
                   .verb = CLIENT_CREATE, .kind = kind_info(kind), .ns = ns, .body = str_of(body) });
}

static inline void near_patch(struct near *n, enum kind kind, const char *ns, const char *name,
                              const char *body)
{
    near_do(
        n, &(struct client_request){
               .verb = CLIENT_PATCH, .kind = kind_info(kind), .ns = ns, .name = name, .body = str_of(body) });
}

static inline void near_delete(struct near *n, enum kind kind, const char *ns, const char *name)
{
    near_do(n, &(struct client_request){
                   .verb = CLIENT_DELETE, .kind = kind_info(kind), .ns = ns, .name = name });
}

/* ConfigMaps with these names, one letter each, in "default". */
static inline void near_create_maps(struct near *n, const char *names)
{
    for (; *names != '\0'; names++) {
        char body[64];

        (void)snprintf(body, sizeof body, "{'metadata':{'name':'%c'}}", *names);
        near_create(n, KIND_CONFIG_MAP, "default", body);
    }
}

/* The request as a text caller makes it, on w. */
static inline int send_as_text(struct served *w, const struct client_request *q)
{
    static const char *const patches[] = { "MERGE", "JSON", "STRATEGIC", "APPLY" };
    _cleanup_(buf_done_p) struct buf target = BUF_INIT(1 << 20), body = BUF_INIT(64 << 20);
    struct sent x;

    target_write(q, &target);
    if (q->verb == CLIENT_DELETE)
        target_write_delete(q, &body);
    else if (q->body.len)
        kind_quotes(q->body.s, &body);
    w->headers[0] = "User-Agent: berth";
    send_bytes(w, &x, q->verb == CLIENT_PATCH ? patches[q->patch] : target_method(q), buf_cstr(&target),
               buf_str(&body));
    (void)sent_wait(&x);
    sent_done(&x);
    served_settle(w);
    return w->status;
}

#endif
