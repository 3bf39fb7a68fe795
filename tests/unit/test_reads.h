/* For the tests of get, list and watch: a server without a network. Requests go through routing and
 * negotiation to their handlers; the store keeps nothing and the clock is moved by hand. Quotes in texts may
 * be written as '. */
#ifndef BERTH_TESTS_TEST_READS_H
#define BERTH_TESTS_TEST_READS_H

#include "tests/unit/test_kind.h"

#include <inttypes.h>

#include "apiserver/api_call.h"
#include "apiserver/lists.h"
#include "apiserver/negotiate.h"
#include "apiserver/read.h"
#include "apiserver/route.h"
#include "apiserver/server.h"
#include "apiserver/watch.h"
#include "base/clock.h"
#include "io/loop.h"
#include "store/store.h"

#define ACCEPT_TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"
#define ACCEPT_PARTIAL "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

struct world {
    struct manual_clock clock;
    struct loop *loop;
    struct store *store;
    struct apiserver server;
};

static inline void world_init(struct world *w, size_t history_count)
{
    struct store_options o = { .history_count = history_count };

    *w = (struct world){ 0 };
    manual_clock_init(&w->clock, 1000 * NS_PER_S, 1700000000 * (int64_t)NS_PER_S);
    ASSERT_OK(loop_new(&w->clock.clock, &w->loop, &err));
    ASSERT_OK(store_open_memory(w->loop, &o, &w->store, &err));
    w->server.loop = w->loop;
    w->server.clock = &w->clock.clock;
    w->server.store = w->store;
    rng_init(&w->server.rng, 7);
    json_init(&w->server.doc, 64 << 20);
    buf_init(&w->server.text, 64 << 20);
    ASSERT_OK(watches_new(&w->server, &w->server.watches, &err));
    ASSERT_OK(lists_new(&w->server, &w->server.lists, &err));
}

static inline void world_done(struct world *w)
{
    w->server.lists = lists_free(w->server.lists);
    w->server.watches = watches_free(w->server.watches);
    json_done(&w->server.doc);
    buf_done(&w->server.text);
    w->store = store_free(w->store);
    w->loop = loop_free(w->loop);
}

static inline void world_settle(struct world *w)
{
    while (loop_poll(w->loop))
        ;
}

static inline void world_pass(struct world *w, uint64_t ns)
{
    loop_advance(w->loop, &w->clock, ns);
}

/* --- Writing --- */

struct world_write {
    struct store_write write;
    bool is_done;
    int r;
};

static inline void world_on_done(void *ctx, int r, const struct error *e)
{
    struct world_write *x = ctx;

    (void)e;
    x->is_done = true;
    x->r = r;
}

/* The object of the text with that revision in it. */
static inline struct object *world_object(enum kind kind, const char *text, int64_t revision)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(16 << 20);
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;
    char number[24];
    json_ref v;

    json_init(&d, 16 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(json_parse(&d, buf_str(&quoted), &v, &err));
    (void)snprintf(number, sizeof number, "%" PRId64, revision);
    json_set_string(&d, json_ensure_object(&d, v, "metadata"), "resourceVersion", number);
    json_set_string(&d, v, "kind", kind_info(kind)->name);
    buf_clear(&quoted);
    kind_api_version(kind_info(kind), &quoted);
    json_set_string(&d, v, "apiVersion", buf_cstr(&quoted));
    ASSERT_OK(schema_normalize(kind_info(kind)->schema, &d, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
    ASSERT_OK(object_new(kind_info(kind), &d, v, &o, &err));
    return o;
}

/* Submits a write; x tells when it is done. */
static inline int64_t world_submit(struct world *w, struct world_write *x, enum kind kind, const char *text,
                                   bool is_delete)
{
    int64_t revision = store_reserve(w->store);
    _cleanup_(object_unref_p) struct object *o = world_object(kind, text, revision);

    *x = (struct world_write){ 0 };
    store_submit(w->store, &x->write, o, is_delete, world_on_done, x);
    return revision;
}

static inline int64_t world_write(struct world *w, enum kind kind, const char *text, bool is_delete)
{
    struct world_write x;
    int64_t revision = world_submit(w, &x, kind, text, is_delete);

    while (!x.is_done)
        (void)loop_poll(w->loop);
    ASSERT_INT(0, x.r);
    return revision;
}

static inline int64_t world_put(struct world *w, enum kind kind, const char *text)
{
    return world_write(w, kind, text, false);
}

static inline int64_t world_delete(struct world *w, enum kind kind, const char *text)
{
    return world_write(w, kind, text, true);
}

/* --- Asking --- */

struct asked {
    struct call call;
    const char *accept;
    bool is_answered;
    bool is_cut;
    unsigned woken;
};

static inline struct str asked_header(const struct call *c, const char *name)
{
    const struct asked *a = c->carrier_ctx;

    return strcmp(name, "Accept") == 0 && a->accept ? str_of(a->accept) : (struct str){ NULL, 0 };
}

static inline void asked_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    (void)c;
    (void)fn;
    (void)ctx;
}

static inline void asked_wake(struct stream *s)
{
    ((struct asked *)s->carrier)->woken++;
}

static inline void asked_cut(struct stream *s)
{
    ((struct asked *)s->carrier)->is_cut = true;
}

static inline void asked_answer(struct call *c)
{
    struct asked *a = c->carrier_ctx;

    assert_false(a->is_answered);
    a->is_answered = true;
    if (c->stream) {
        c->stream->carrier = a;
        c->stream->wake = asked_wake;
        c->stream->cut = asked_cut;
    }
}

static const struct carrier asked_carrier = { asked_header, asked_each_header, asked_answer, false };
/* The same for who takes a long list as a stream. */
static const struct carrier asked_stream_carrier = { asked_header, asked_each_header, asked_answer, true };

/* GETs the target. The caller must end it with asked_done(). */
static inline void ask_through(struct world *w, struct asked *a, const struct carrier *carrier,
                               const char *target, const char *accept)
{
    *a = (struct asked){ .accept = accept };
    call_init(&a->call, carrier, a);
    a->call.server = &w->server;
    a->call.method = HTTP_GET;
    a->call.target = str_of(target);
    ASSERT_OK(route_parse(&a->call, &err));
    a->call.view.is_pretty = negotiate_is_pretty(&a->call);
    ASSERT_INT(ROUTE_OK, route_resolve(&a->call));
    assert_true(negotiate_view(&a->call));
    switch (a->call.route.verb) {
    case VERB_GET:
        read_get(&a->call);
        break;
    case VERB_LIST:
        read_list(&a->call);
        break;
    case VERB_WATCH:
        watch_serve(&a->call);
        break;
    case VERB_CREATE:
    case VERB_DELETE:
    case VERB_DELETE_COLLECTION:
    case VERB_PATCH:
    case VERB_UPDATE:
    case VERB_COUNT:
        fail_msg("not a read: %s", target);
    }
}

static inline void ask(struct world *w, struct asked *a, const char *target, const char *accept)
{
    ask_through(w, a, &asked_carrier, target, accept);
}

static inline void asked_done(struct asked *a)
{
    if (a->call.stream)
        a->call.stream->close(a->call.stream);
    a->call.stream = NULL;
    call_done(&a->call);
}

/* The answer to a GET, which must come at once. Lives until the next call. */
static inline const char *answer_of(struct world *w, const char *target, const char *accept, int *ret_status)
{
    static struct buf out = { .len_max = 256 << 20 };
    _cleanup_(asked_done) struct asked a;

    ask(w, &a, target, accept);
    assert_true(a.is_answered);
    *ret_status = a.call.status;
    buf_clear(&out);
    buf_add_str(&out, buf_str(&a.call.reply));
    if (out.len && out.data[out.len - 1] == '\n')
        out.data[--out.len] = '\0';
    return buf_cstr(&out);
}

#define ASSERT_ANSWER(w, status_, expected, target)                                                         \
    do {                                                                                                    \
        int answered_;                                                                                      \
        const char *text_ = answer_of(w, target, NULL, &answered_);                                         \
        if (answered_ != (status_) || strcmp(text_, kind_row(expected)) != 0)                               \
            fail_msg("%s:\n%d %s\nexpected\n%d %s", target, answered_, text_, status_, kind_row(expected)); \
    } while (0)

/* --- Watching --- */

/* Opens a watch, which must be answered with a stream. */
static inline void watch_open_as(struct world *w, struct asked *a, const char *target, const char *accept)
{
    ask(w, a, target, accept);
    assert_true(a->is_answered);
    if (!a->call.stream)
        fail_msg("%s: %s", target, buf_cstr(&a->call.reply));
    ASSERT_INT(200, a->call.status);
    ASSERT_STR("application/json", a->call.content_type);
}

static inline void watch_open(struct world *w, struct asked *a, const char *target)
{
    watch_open_as(w, a, target, NULL);
}

/* Everything that can be pulled now, `room` bytes at a time. True when the stream has ended. */
static inline bool watch_drain(struct asked *a, size_t room, struct buf *out)
{
    ssize_t n;

    buf_clear(out);
    do {
        char part[4096];
        assert_true(room <= sizeof part);
        n = a->call.stream->pull(a->call.stream, part, room);
        assert_true(n <= (ssize_t)room);
        if (n > 0)
            buf_add(out, part, (size_t)n);
    } while (n > 0);
    return n < 0;
}

#endif
