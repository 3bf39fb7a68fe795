/* The bodies of what tests/unit/test_served.h declares. */
#include "tests/unit/test_served.h"

/* --- The log --- */

static int failing_append(void *ctx, const struct store_row *rows, size_t count, struct error *e)
{
    struct failing_log *b = ctx;

    (void)rows;
    (void)count;
    b->appends++;
    if (b->fails_from && b->appends >= b->fails_from && b->appends <= b->fails_to)
        return error_set(e, ERR_IO, "no luck");
    return 0;
}

static int failing_drop(void *ctx, const int64_t *revisions, size_t count, const struct store_log_meta *meta,
                        struct error *e)
{
    (void)ctx;
    (void)revisions;
    (void)count;
    (void)meta;
    (void)e;
    return 0;
}

static int failing_load(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                        struct error *e)
{
    (void)ctx;
    *ret_meta = (struct store_log_meta){ 0 };
    return fn(fn_ctx, NULL, e);
}

static void failing_close(void *ctx)
{
    (void)ctx;
}

static const struct store_log_type failing_log_type = { failing_append, failing_drop, failing_load,
                                                        failing_close };

/* --- Life --- */

void served_settle(struct served *w)
{
    unsigned turns = 0;

    while (loop_poll(w->loop))
        if (++turns > 100000)
            fail_msg("the server does not come to rest");
}

void served_pass(struct served *w, uint64_t seconds)
{
    loop_advance(w->loop, &w->clock, seconds * NS_PER_S);
}

const char *served_advertised, *served_ca_pem;

static void served_start(struct served *w)
{
    struct apiserver_options o = { .loop = w->loop,
                                   .clock = &w->clock.clock,
                                   .store = w->store,
                                   .authenticator = w->authenticator,
                                   .seed = 7,
                                   .address = "127.0.0.1:7443",
                                   .advertised = served_advertised,
                                   .ca_pem = served_ca_pem,
                                   .event_ttl_seconds = EVENT_TTL_S };

    w->metrics = metrics_new((struct hash_seed){ 1, 2 });
    assert_non_null(w->metrics);
    o.metrics = w->metrics;
    ASSERT_OK(apiserver_new(&o, &w->server, &err));
}

const struct key *served_key; /* signs tokens; NULL: none can be had */

void served_make(struct served *w, bool is_insecure, unsigned fails_from, unsigned fails_to)
{
    struct authenticator_options o = { .is_insecure = is_insecure, .token_key = served_key };

    *w = (struct served){ .is_insecure = is_insecure, .log = { 0, fails_from, fails_to } };
    manual_clock_init(&w->clock, 1000 * NS_PER_S, SERVED_START_S * (int64_t)NS_PER_S);
    buf_init(&w->text, (size_t)1 << 30);
    buf_init(&w->answer_headers, (size_t)1 << 20);
    json_init(&w->doc, (size_t)256 << 20);
    ASSERT_OK(loop_new(&w->clock.clock, &w->loop, &err));
    ASSERT_OK(store_new(w->loop, NULL, (struct store_log){ &failing_log_type, &w->log }, false, -1, &w->store,
                        &err));
    o.clock = &w->clock.clock;
    o.lookup = store_lookup(w->store);
    ASSERT_OK(authenticator_new(&o, &w->authenticator, &err));
    served_start(w);
}

void served_init(struct served *w)
{
    served_make(w, true, 0, 0);
    served_settle(w);
}

static void served_end(struct served *w)
{
    w->server = apiserver_free(w->server);
    w->metrics = metrics_free(w->metrics);
}

void served_restart(struct served *w)
{
    apiserver_stop(w->server);
    served_settle(w);
    served_end(w);
    served_start(w);
    served_settle(w);
}

void served_done(struct served *w)
{
    if (w->server) {
        apiserver_stop(w->server);
        served_settle(w);
    }
    store_finish(w->store);
    ASSERT_INT(w->sent, w->answered);
    served_end(w);
    w->store = store_free(w->store);
    w->authenticator = authenticator_free(w->authenticator);
    w->loop = loop_free(w->loop);
    json_done(&w->doc);
    buf_done(&w->text);
    buf_done(&w->answer_headers);
}

/* --- Requests --- */

static struct str sent_header(const struct call *c, const char *name)
{
    const struct sent *x = c->carrier_ctx;

    for (size_t i = 0; i < SERVED_HEADERS_MAX; i++) {
        size_t len = strlen(name);

        if (strncasecmp(x->headers[i], name, len) == 0 && x->headers[i][len] == ':')
            return str_trim(str_of(x->headers[i] + len + 1));
    }
    return (struct str){ NULL, 0 };
}

static void sent_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    const struct sent *x = c->carrier_ctx;

    for (size_t i = 0; i < SERVED_HEADERS_MAX; i++) {
        struct str value = str_of(x->headers[i]), name = str_next(&value, ':');

        if (name.len)
            fn(ctx, name, str_trim(value));
    }
}

static void sent_wake(struct stream *s)
{
    (void)s; /* tests pull when they like */
}

static void sent_cut(struct stream *s)
{
    ((struct sent *)s->carrier)->is_cut = true;
}

static void sent_answer(struct call *c)
{
    struct sent *x = c->carrier_ctx;

    if (x->is_answered)
        fail_msg("%.*s: answered twice", STR_ARG(c->target));
    x->is_answered = true;
    x->served->answered++;
    if (c->stream) {
        c->stream->carrier = x;
        c->stream->wake = sent_wake;
        c->stream->cut = sent_cut;
    }
}

static const struct carrier sent_carrier = { sent_header, sent_each_header, sent_answer };

/* The methods, and for PATCH the kinds of patches. */
static const struct {
    const char *name;
    enum http_method method;
    const char *content_type;
} sent_methods[] = {
    { "GET", HTTP_GET, NULL },
    { "HEAD", HTTP_HEAD, NULL },
    { "POST", HTTP_POST, NULL },
    { "PUT", HTTP_PUT, NULL },
    { "DELETE", HTTP_DELETE, NULL },
    { "PATCH", HTTP_PATCH, NULL },
    { "MERGE", HTTP_PATCH, "Content-Type: application/merge-patch+json" },
    { "STRATEGIC", HTTP_PATCH, "Content-Type: application/strategic-merge-patch+json" },
    { "JSON", HTTP_PATCH, "Content-Type: application/json-patch+json" },
    { "APPLY", HTTP_PATCH, "Content-Type: application/apply-patch+yaml" },
    { "OPTIONS", HTTP_OTHER, NULL },
};

static void sent_set_headers(struct sent *x, const char *content_type)
{
    size_t at = 0;

    for (size_t i = 0; i < SERVED_HEADERS_MAX && x->served->headers[i]; i++, at++)
        (void)snprintf(x->headers[at], sizeof x->headers[at], "%s", x->served->headers[i]);
    if (content_type && at < SERVED_HEADERS_MAX)
        (void)snprintf(x->headers[at], sizeof x->headers[at], "%s", content_type);
    memset(x->served->headers, 0, sizeof x->served->headers);
}

void send_bytes(struct served *w, struct sent *x, const char *method, const char *target, struct str body)
{
    size_t m = 0;

    while (m < ARRAY_LEN(sent_methods) && strcmp(sent_methods[m].name, method) != 0)
        m++;
    assert_true(m < ARRAY_LEN(sent_methods));
    *x = (struct sent){ .served = w, .body = BUF_INIT((size_t)64 << 20) };
    sent_set_headers(x, sent_methods[m].content_type);
    buf_add_str(&x->body, body);
    call_init(&x->call, &sent_carrier, x);
    x->call.method = sent_methods[m].method;
    x->call.target = str_of(target);
    x->call.body = buf_str(&x->body);
    x->call.body_is_too_large = body.len > CALL_BODY_BYTES_MAX;
    x->call.peer = w->peer;
    w->sent++;
    apiserver_serve(w->server, &x->call);
}

void send_begin(struct served *w, struct sent *x, const char *method, const char *target, const char *body)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT((size_t)64 << 20);

    if (body)
        kind_quotes(body, &quoted);
    send_bytes(w, x, method, target, buf_str(&quoted));
}

void sent_done(struct sent *x)
{
    assert_true(x->is_answered);
    if (x->call.stream)
        x->call.stream->close(x->call.stream);
    call_done(&x->call);
    buf_done(&x->body);
}

/* Keeps the answer where got() finds it. */
static void sent_keep(struct sent *x)
{
    struct served *w = x->served;

    w->status = x->call.status;
    buf_clear(&w->text);
    buf_add_str(&w->text, buf_str(&x->call.reply));
    buf_clear(&w->answer_headers);
    for (size_t i = 0; i < x->call.headers.count; i++)
        buf_addf(&w->answer_headers, "%s: %s\n", x->call.headers.items[i].name,
                 x->call.headers.items[i].value);
    json_clear(&w->doc);
    w->root = 0;
    if (strcmp(x->call.content_type, "application/json") == 0 && !x->call.stream)
        ASSERT_OK(json_parse(&w->doc, buf_str(&w->text), &w->root, &err));
}

int sent_wait(struct sent *x)
{
    unsigned turns = 0;

    while (!x->is_answered) {
        (void)loop_poll(x->served->loop);
        if (++turns > 10000)
            fail_msg("%.*s: never answered", STR_ARG(x->call.target));
    }
    sent_keep(x);
    return x->call.status;
}

int send_request(struct served *w, const char *method, const char *target, const char *body)
{
    struct sent x;

    send_begin(w, &x, method, target, body);
    (void)sent_wait(&x);
    sent_done(&x);
    served_settle(w);
    return w->status;
}

/* --- Answers --- */

const char *got(const struct served *w, const char *path)
{
    static struct buf out[2] = { { .len_max = 16 << 20 }, { .len_max = 16 << 20 } };
    static unsigned turn;
    struct buf *b = &out[turn++ % 2];
    struct str rest = str_of(path);
    json_ref v = w->root;

    buf_clear(b);
    while (rest.s && v) {
        struct str key = str_next(&rest, '/');

        if (json_type(&w->doc, v) == JSON_ARRAY) {
            long n = strtol(key.s, NULL, 10);

            for (v = json_first(&w->doc, v); v && n > 0; n--)
                v = json_next(&w->doc, v);
        } else {
            v = json_get_key(&w->doc, v, key);
        }
    }
    if (!v)
        return "-";
    if (json_type(&w->doc, v) == JSON_STRING)
        buf_add_str(b, json_text(&w->doc, v));
    else
        json_write(&w->doc, v, b);
    return buf_cstr(b);
}

size_t got_items(const struct served *w)
{
    return json_count(&w->doc, json_get(&w->doc, w->root, "items"));
}

bool has_header(const struct served *w, const char *line)
{
    return w->answer_headers.len && strstr(buf_cstr(&w->answer_headers), line);
}
