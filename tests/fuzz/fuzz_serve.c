/* Any requests, one after another, to the whole API server but its network, on a store that keeps nothing:
 * each is answered once, with a status that there is, and in JSON when it says so. Whatever they have left
 * behind, every list can be read afterwards. Time is virtual; each input has a server of its own.
 *
 * An input is a text of requests with a line `%%` between them: `METHOD TARGET`, headers a line each, an
 * empty line, the body. The method WAIT lets as many seconds pass as its target says. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <strings.h>

#include "apiserver/authenticate.h"
#include "apiserver/server.h"
#include "apiserver/store_lookup.h"
#include "io/keys.h"
#include "machinery/metrics.h"
#include "store/store.h"

#define REQUESTS_MAX 16
#define HEADERS_MAX 6
#define TURNS_MAX 100000
#define WAIT_SECONDS_MAX 100000
#define PULL_BYTES 256
/* Longer than any call may take to be answered. */
#define ANSWER_SECONDS_MAX 120

static struct key *token_key; /* one for all inputs: it takes its time to be made */

struct header {
    struct str name;
    struct str value;
};

struct request {
    struct call call;
    struct buf bytes; /* the target with its NUL */
    struct header headers[HEADERS_MAX];
    size_t headers_count;
    unsigned answers;
    bool is_cut;
    bool is_ended;
};

struct world {
    struct manual_clock clock;
    struct loop *loop;
    struct store *store;
    struct metrics *metrics;
    struct authenticator *authenticator;
    struct apiserver *server;
    struct request requests[REQUESTS_MAX];
    size_t count;
};

/* --- The carrier --- */

static struct str get_header(const struct call *c, const char *name)
{
    const struct request *q = c->carrier_ctx;

    for (size_t i = 0; i < q->headers_count; i++) {
        const struct header *h = &q->headers[i];

        if (h->name.len == strlen(name) && strncasecmp(h->name.s, name, h->name.len) == 0)
            return h->value;
    }
    return (struct str){ NULL, 0 };
}

static void each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    const struct request *q = c->carrier_ctx;

    for (size_t i = 0; i < q->headers_count; i++)
        fn(ctx, q->headers[i].name, q->headers[i].value);
}

static void on_wake(struct stream *s)
{
    (void)s; /* it is pulled at after every request */
}

static void on_cut(struct stream *s)
{
    ((struct request *)s->carrier)->is_cut = true;
}

static void check_json(struct str text)
{
    struct json d;
    json_ref root;
    struct error err;

    json_init(&d, (size_t)256 << 20);
    FUZZ_CHECK(json_parse(&d, text, &root, &err) == 0);
    json_done(&d);
}

static void on_answer(struct call *c)
{
    struct request *q = c->carrier_ctx;

    q->answers++;
    FUZZ_CHECK(q->answers == 1);
    FUZZ_CHECK(c->status >= 200 && c->status <= 599);
    FUZZ_CHECK(!c->reply.failed);
    if (c->stream) {
        c->stream->carrier = q;
        c->stream->wake = on_wake;
        c->stream->cut = on_cut;
    } else if (c->content_type && strcmp(c->content_type, "application/json") == 0 && c->reply.len) {
        check_json(buf_str(&c->reply));
    }
}

static const struct carrier carrier = { get_header, each_header, on_answer };

/* --- The world --- */

static void settle(struct world *w)
{
    unsigned turns = 0;

    while (loop_poll(w->loop))
        FUZZ_CHECK(++turns < TURNS_MAX);
}

static void free_key(void)
{
    token_key = key_free(token_key);
}

static void make_key(void)
{
    struct error err;

    if (token_key)
        return;
    FUZZ_CHECK(key_new(&token_key, &err) == 0);
    (void)atexit(free_key);
}

static void world_init(struct world *w)
{
    struct authenticator_options a = { .clock = &w->clock.clock,
                                       .token_key = token_key,
                                       .is_insecure = true };
    struct apiserver_options o = {
        .clock = &w->clock.clock, .seed = 7, .address = "127.0.0.1:7443", .event_ttl_seconds = 3600
    };
    struct error err;

    manual_clock_init(&w->clock, 1000 * NS_PER_S, INT64_C(1700000000) * (int64_t)NS_PER_S);
    FUZZ_CHECK(loop_new(&w->clock.clock, &w->loop, &err) == 0);
    FUZZ_CHECK(store_open_memory(w->loop, NULL, &w->store, &err) == 0);
    w->metrics = metrics_new((struct hash_seed){ 1, 2 });
    FUZZ_CHECK(w->metrics);
    a.lookup = store_lookup(w->store);
    FUZZ_CHECK(authenticator_new(&a, &w->authenticator, &err) == 0);
    o.loop = w->loop;
    o.store = w->store;
    o.metrics = w->metrics;
    o.authenticator = w->authenticator;
    FUZZ_CHECK(apiserver_new(&o, &w->server, &err) == 0);
    settle(w);
}

static void request_done(struct request *q)
{
    FUZZ_CHECK(q->answers == 1);
    if (q->call.stream)
        q->call.stream->close(q->call.stream);
    call_done(&q->call);
    buf_done(&q->bytes);
}

static void world_done(struct world *w)
{
    apiserver_stop(w->server);
    settle(w);
    store_finish(w->store);
    for (size_t i = 0; i < w->count; i++)
        request_done(&w->requests[i]);
    w->server = apiserver_free(w->server);
    w->metrics = metrics_free(w->metrics);
    w->store = store_free(w->store);
    w->authenticator = authenticator_free(w->authenticator);
    w->loop = loop_free(w->loop);
}

/* --- Requests --- */

static bool find_method(struct str name, enum http_method *ret)
{
    static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(name, names[i])) {
            *ret = (enum http_method)i;
            return true;
        }
    }
    return false;
}

/* The network lets no blanks and no control characters through in a target. */
static void set_target(struct request *q, struct str target)
{
    buf_init(&q->bytes, (size_t)1 << 20);
    for (size_t i = 0; i < target.len; i++)
        buf_add_char(&q->bytes, (unsigned char)target.s[i] > ' ' ? target.s[i] : '_');
    q->call.target = (struct str){ buf_cstr(&q->bytes), q->bytes.len };
}

static void read_headers(struct request *q, struct str *rest)
{
    while (rest->s) {
        struct str value = str_next(rest, '\n'), name = str_next(&value, ':');

        if (!name.len)
            return;
        if (q->headers_count < HEADERS_MAX)
            q->headers[q->headers_count++] = (struct header){ name, str_trim(value) };
    }
}

/* A few bytes of every stream, as a slow reader takes them. */
static void pull_all(struct world *w)
{
    char bytes[PULL_BYTES];

    for (size_t i = 0; i < w->count; i++) {
        struct request *q = &w->requests[i];
        ssize_t got;

        if (!q->answers || !q->call.stream || q->is_cut || q->is_ended)
            continue;
        got = q->call.stream->pull(q->call.stream, bytes, sizeof bytes);
        FUZZ_CHECK(got >= -1 && got <= (ssize_t)sizeof bytes);
        q->is_ended = got < 0;
    }
}

static void serve(struct world *w, enum http_method method, struct str target, struct str rest)
{
    struct request *q = &w->requests[w->count++];

    call_init(&q->call, &carrier, q);
    q->call.method = method;
    set_target(q, target);
    read_headers(q, &rest);
    q->call.body = rest;
    apiserver_serve(w->server, &q->call);
}

static void pass(struct world *w, struct str seconds)
{
    uint64_t n = 0;

    for (size_t i = 0; i < seconds.len && seconds.s[i] >= '0' && seconds.s[i] <= '9' && n < WAIT_SECONDS_MAX;
         i++)
        n = n * 10 + (uint64_t)(seconds.s[i] - '0');
    loop_advance(w->loop, &w->clock, (n < WAIT_SECONDS_MAX ? n : WAIT_SECONDS_MAX) * NS_PER_S);
}

static void run(struct world *w, struct str text)
{
    struct str rest = text, first = str_next(&rest, '\n'), method = str_next(&first, ' ');
    enum http_method m;

    if (str_is(method, "WAIT"))
        pass(w, first);
    else if (first.len && find_method(method, &m))
        serve(w, m, first, rest);
    pull_all(w);
}

/* Up to the next line `%%`, or to the end. */
static struct str next_request(struct str *text)
{
    static const char mark[] = "\n%%\n";
    const char *at = text->len ? memmem(text->s, text->len, mark, strlen(mark)) : NULL;
    struct str found = *text;

    if (!at) {
        *text = (struct str){ NULL, 0 };
        return found;
    }
    found.len = (size_t)(at - text->s);
    *text = (struct str){ at + strlen(mark), text->len - found.len - strlen(mark) };
    return found;
}

/* What was taken can be shown again. */
static void check_lists(struct world *w)
{
    size_t count;
    const struct resource *table = resource_table(&count);

    for (size_t i = 0; i < count; i++) {
        struct world one = *w;
        char target[256];

        if (!(table[i].verbs & VERB_BIT(VERB_LIST)))
            continue;
        (void)snprintf(target, sizeof target, "/%s%s/%s/%s", table[i].group[0] ? "apis/" : "api",
                       table[i].group, table[i].version, table[i].plural);
        one.count = 0;
        memset(one.requests, 0, sizeof one.requests);
        serve(&one, HTTP_GET, str_of(target), (struct str){ NULL, 0 });
        FUZZ_CHECK(one.requests[0].answers == 1 && one.requests[0].call.status == 200);
        request_done(&one.requests[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = { 0 };
    struct str rest = { (const char *)data, size };

    make_key();
    world_init(&w);
    while (rest.len && w.count < REQUESTS_MAX) {
        run(&w, next_request(&rest));
        if (w.count % 2) /* some meet what the one before them is still about to do */
            settle(&w);
    }
    settle(&w);
    loop_advance(w.loop, &w.clock, ANSWER_SECONDS_MAX * NS_PER_S);
    check_lists(&w);
    pull_all(&w);
    world_done(&w);
    return 0;
}
