/* For the tests of informers: one informer of claims, a carrier that writes down what is asked and answers
 * with the texts that the test plays, and a handler that writes down what it is told; in virtual time.
 *
 * Objects are written "ns/name@version", with ":uid" behind it where the uid is not the name's, and "=volume"
 * where the claim names its volume: "a/x@5:u2=v1". What a handler is told is written
 *     +a/x@1! (initial)   +a/x@1   ~a/x@1>2   -a/x@3   -a/x@3? (final state unknown)   S (synced). */
#ifndef BERTH_TESTS_TEST_INFORMER_H
#define BERTH_TESTS_TEST_INFORMER_H

#include "tests/unit/test_io.h"

#include "api/claim.h"
#include "api/json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "client/client.h"
#include "client/client_answer.h"
#include "client/client_target.h"
#include "machinery/informer.h"
#include "machinery/metrics.h"

#define WORLD_START_NS (1000 * NS_PER_S)
#define WORLD_TEXT_MAX ((size_t)16 << 20)

static struct error err;

struct world {
    struct manual_clock time;
    struct loop *loop;
    struct client_carrier carrier;
    struct client_attempt *attempt; /* the one under way; NULL */
    struct client *client;
    struct metrics *metrics;
    struct informer_options options;
    struct informer *informer;
    struct informer_handler handler;
    struct json scratch;
    struct answer_reader reader;
    struct buf sent;   /* "LIST query\n", "WATCH query\n" */
    struct buf path;   /* of the last request */
    struct buf told;   /* "+a/x@1! S" */
    struct buf logged; /* warnings and information */
    struct logger logger;
    VEC(uint64_t) sent_ns;
    unsigned cancelled;
};

/* --- Objects --- */

/* Up to the first of the characters, which stays in *rest. */
static inline struct str spec_part(struct str *rest, const char *ends)
{
    size_t len = 0;
    struct str part;

    while (len < rest->len && !strchr(ends, rest->s[len]))
        len++;
    part = (struct str){ rest->s, len };
    *rest = (struct str){ rest->s + len, rest->len - len };
    return part;
}

static inline struct str spec_tail(struct str *rest, char mark, const char *ends)
{
    if (!rest->len || rest->s[0] != mark)
        return (struct str){ NULL, 0 };
    rest->s++;
    rest->len--;
    return spec_part(rest, ends);
}

/* "a/x@5:u2=v1" as JSON. */
static inline void claim_text(struct str spec, struct buf *out)
{
    struct str ns = spec_part(&spec, "/"), name = spec_tail(&spec, '/', "@:=");
    struct str version = spec_tail(&spec, '@', ":="), uid = spec_tail(&spec, ':', "=");
    struct str volume = spec_tail(&spec, '=', "");

    if (!uid.s)
        uid = name;
    buf_addf(out,
             "{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%.*s\","
             "\"namespace\":\"%.*s\",\"uid\":\"%.*s\",\"resourceVersion\":\"%.*s\"},"
             "\"spec\":{\"volumeName\":\"%.*s\"},\"status\":{}}",
             STR_ARG(name), STR_ARG(ns), STR_ARG(uid), STR_ARG(version), (int)volume.len,
             volume.s ? volume.s : "");
}

static inline struct object *new_claim(const char *spec)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORLD_TEXT_MAX);
    _cleanup_(json_done_p) struct json scratch;
    struct object *o = NULL;

    json_init(&scratch, WORLD_TEXT_MAX);
    claim_text(str_of(spec), &text);
    ASSERT_OK(object_decode(kind_info(KIND_CLAIM), buf_str(&text), &scratch, &o, &err));
    return o;
}

static inline void index_by_volume(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct claim *claim = claim_of(o);

    if (claim->volume_name[0])
        emit(ctx, str_of(claim->volume_name));
}

static inline void index_by_namespace(const struct object *o, index_emit_fn *emit, void *ctx)
{
    emit(ctx, str_of(o->ns));
    emit(ctx, str_of(o->ns)); /* twice is once */
}

static const struct informer_index claim_indexes[] = {
    { "volume", index_by_volume },
    { "namespace", index_by_namespace },
};

/* --- The carrier --- */

/* The query without its timeoutSeconds, which is random within its range. */
static inline void write_query_of(const struct client_request *q, struct str query, struct buf *out)
{
    if (q->verb == CLIENT_WATCH) {
        assert_true(q->timeout_seconds >= 300);
        assert_true(q->timeout_seconds <= 600);
    }
    for (bool is_first = true; query.s;) {
        struct str part = str_next(&query, '&');

        if (str_has_prefix(part, "timeoutSeconds="))
            continue;
        buf_addf(out, "%s%.*s", is_first ? "" : "&", STR_ARG(part));
        is_first = false;
    }
}

static inline void world_start_attempt(struct client_carrier *c, struct client_attempt *a)
{
    struct world *w = CONTAINER_OF(c, struct world, carrier);
    struct str query;

    assert_null(w->attempt);
    w->attempt = a;
    buf_clear(&w->path);
    target_write(a->request, &w->path);
    query = buf_str(&w->path);
    (void)str_next(&query, '?');
    buf_add_cstr(&w->sent, a->request->verb == CLIENT_WATCH ? "WATCH " : "LIST ");
    write_query_of(a->request, query, &w->sent);
    buf_add_char(&w->sent, '\n');
    assert_int_equal(vec_push(&w->sent_ns, clock_mono_ns(&w->time.clock)), 0);
}

static inline void world_cancel_attempt(struct client_carrier *c, struct client_attempt *a)
{
    struct world *w = CONTAINER_OF(c, struct world, carrier);

    assert_ptr_equal(w->attempt, a);
    w->attempt = NULL;
    w->cancelled++;
}

static inline void world_free_carrier(struct client_carrier *c)
{
    assert_null(CONTAINER_OF(c, struct world, carrier)->attempt);
}

static const struct client_carrier_type world_carrier = {
    .start = world_start_attempt,
    .cancel = world_cancel_attempt,
    .free = world_free_carrier,
};

/* --- The handler --- */

static inline void tell(struct world *w, const char *sign, const struct object *o)
{
    struct str version = object_version(o);

    buf_addf(&w->told, "%s%s", w->told.len ? " " : "", sign);
    object_key(o, &w->told);
    buf_addf(&w->told, "@%.*s", STR_ARG(version));
    if (strcmp(o->uid, o->name) != 0)
        buf_addf(&w->told, ":%s", o->uid);
}

static inline void told_add(void *ctx, const struct object *o, bool is_initial)
{
    struct world *w = ctx;

    tell(w, "+", o);
    buf_add_cstr(&w->told, is_initial ? "!" : "");
}

static inline void told_update(void *ctx, const struct object *old, const struct object *o)
{
    struct world *w = ctx;
    struct str version = object_version(o);

    ASSERT_STR(old->uid, o->uid);
    tell(w, "~", old);
    buf_addf(&w->told, ">%.*s", STR_ARG(version));
}

static inline void told_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct world *w = ctx;

    tell(w, "-", o);
    buf_add_cstr(&w->told, is_final_unknown ? "?" : "");
}

static inline void told_synced(void *ctx)
{
    struct world *w = ctx;

    buf_addf(&w->told, "%sS", w->told.len ? " " : "");
    assert_true(informer_is_synced(w->informer));
}

static inline void world_log(void *ctx, const char *line, size_t len)
{
    buf_add(&((struct world *)ctx)->logged, line, len);
}

/* --- The world --- */

/* o: what differs from an informer of all claims with both indexes; NULL: nothing. */
static inline void world_init(struct world *w, const struct informer_options *o)
{
    struct client_options co = { .carrier = &w->carrier };

    *w = (struct world){ .carrier = { &world_carrier } };
    manual_clock_init(&w->time, WORLD_START_NS, 0);
    ASSERT_OK(loop_new(&w->time.clock, &w->loop, &err));
    co.loop = w->loop;
    ASSERT_OK(client_new(&co, &w->client, &err));
    w->metrics = metrics_new((struct hash_seed){ 1, 2 });
    assert_non_null(w->metrics);
    json_init(&w->scratch, WORLD_TEXT_MAX);
    w->reader.scratch = &w->scratch;
    buf_init(&w->sent, WORLD_TEXT_MAX);
    buf_init(&w->path, WORLD_TEXT_MAX);
    buf_init(&w->told, WORLD_TEXT_MAX);
    buf_init(&w->logged, WORLD_TEXT_MAX);
    w->logger = (struct logger){ LOG_LEVEL_INFO, LOG_FORMAT_TEXT, &w->time.clock, world_log, w };
    log_install(&w->logger);
    w->options = o ? *o : (struct informer_options){ 0 };
    w->options.loop = w->loop;
    w->options.client = w->client;
    w->options.metrics = w->metrics;
    w->options.kind = kind_info(KIND_CLAIM);
    w->options.indexes = claim_indexes;
    w->options.indexes_count = ARRAY_LEN(claim_indexes);
    ASSERT_OK(informer_new(&w->options, &w->informer, &err));
    w->handler = (struct informer_handler){ told_add, told_update, told_delete, told_synced, w };
    informer_add_handler(w->informer, &w->handler);
}

static inline void world_done(struct world *w)
{
    uint64_t armed_ns;

    w->informer = informer_free(w->informer);
    assert_null(w->attempt);
    assert_false(loop_next_timer_ns(w->loop, &armed_ns));
    w->client = client_free(w->client);
    w->metrics = metrics_free(w->metrics);
    log_install(NULL);
    json_done(&w->scratch);
    buf_done(&w->sent);
    buf_done(&w->path);
    buf_done(&w->told);
    buf_done(&w->logged);
    vec_done(&w->sent_ns);
    w->loop = loop_free(w->loop);
}

static inline void world_advance(struct world *w, uint64_t ns)
{
    loop_advance(w->loop, &w->time, ns);
}

#define ASSERT_CLEARED(expected, text)        \
    do {                                      \
        ASSERT_STR(expected, buf_cstr(text)); \
        buf_clear(text);                      \
    } while (0)
/* What was asked, and told, since the last time. */
#define ASSERT_SENT(w, expected) ASSERT_CLEARED(expected, &(w)->sent)
#define ASSERT_TOLD(w, expected) ASSERT_CLEARED(expected, &(w)->told)

#define FIRST_LIST "LIST limit=500&resourceVersion=0\n"
#define WATCH_FROM(version) "WATCH watch=true&allowWatchBookmarks=true&resourceVersion=" version "\n"

/* --- What the server does --- */

static inline struct client_attempt *take_attempt(struct world *w)
{
    struct client_attempt *a = w->attempt;

    assert_non_null(a);
    w->attempt = NULL;
    return a;
}

static inline void play_answer(struct world *w, int http_status, const char *body)
{
    struct client_attempt *a = take_attempt(w);
    struct raw_answer raw = { http_status, str_of(body), -1 };
    struct read_answer answer = { 0 };

    answer_read(&w->reader, a->request, &raw, &answer);
    a->on_end(a, &answer.answer);
    read_answer_done(&answer);
}

/* No answer came: the connection was refused, or lost. */
static inline void play_failure(struct world *w, enum err code, const char *words, bool was_connected)
{
    struct client_attempt *a = take_attempt(w);
    struct client_answer answer = { .retry_after_seconds = -1, .was_connected = was_connected };

    answer.r = error_set(&answer.error, code, "%s", words);
    a->on_end(a, &answer);
}

static inline void play_refused(struct world *w)
{
    play_failure(w, ERR_UNAVAILABLE, "connection refused", /* was_connected= */ false);
}

static inline void play_lost(struct world *w)
{
    play_failure(w, ERR_UNAVAILABLE, "connection lost", /* was_connected= */ true);
}

/* The answer to a watch had begun, and broke off. */
static inline void play_broken(struct world *w, enum err code)
{
    struct client_attempt *a = take_attempt(w);
    struct client_answer answer = { .retry_after_seconds = -1, .was_connected = true, .http_status = 200 };

    answer.r = error_set(&answer.error, code, "broken off");
    a->on_end(a, &answer);
}

static inline void play_status(struct world *w, int http_status, const char *reason, const char *message)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORLD_TEXT_MAX);

    buf_addf(&text,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":%d,"
             "\"reason\":\"%s\",\"message\":\"%s\"}",
             http_status, reason, message);
    play_answer(w, http_status, buf_cstr(&text));
}

/* A page; specs separated by blanks. more: the token of the next page; NULL for the last. */
static inline void play_page(struct world *w, const char *version, const char *more, const char *specs)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORLD_TEXT_MAX);
    struct str rest = str_of(specs);
    bool is_first = true;

    buf_addf(&text,
             "{\"kind\":\"PersistentVolumeClaimList\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"resourceVersion\":\"%s\",\"continue\":\"%s\"},\"items\":[",
             version, more ? more : "");
    while (rest.s && rest.len) {
        struct str spec = str_next(&rest, ' ');

        buf_add_cstr(&text, is_first ? "" : ",");
        is_first = false;
        claim_text(spec, &text);
    }
    buf_add_cstr(&text, "]}");
    play_answer(w, 200, buf_cstr(&text));
}

static inline void play_list(struct world *w, const char *version, const char *specs)
{
    play_page(w, version, NULL, specs);
}

static inline void on_played_event(void *ctx, const struct client_event *ev)
{
    struct client_attempt *a = ctx;

    a->on_event(a, ev);
}

static inline void play_line(struct world *w, const char *line)
{
    assert_non_null(w->attempt);
    answer_read_event(&w->reader, w->attempt->request, str_of(line), on_played_event, w->attempt);
}

static inline void play_event(struct world *w, const char *type, const char *spec)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORLD_TEXT_MAX);

    buf_addf(&text, "{\"type\":\"%s\",\"object\":", type);
    claim_text(str_of(spec), &text);
    buf_add_cstr(&text, "}");
    play_line(w, buf_cstr(&text));
}

static inline void play_bookmark(struct world *w, const char *version, bool ends_initial_events)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORLD_TEXT_MAX);

    buf_addf(&text,
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\","
             "\"metadata\":{\"resourceVersion\":\"%s\"%s}}}",
             version, ends_initial_events ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    play_line(w, buf_cstr(&text));
}

static inline void play_error_event(struct world *w, int code, const char *reason, const char *message)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORLD_TEXT_MAX);

    buf_addf(&text,
             "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
             "\"status\":\"Failure\",\"code\":%d,\"reason\":\"%s\",\"message\":\"%s\"}}",
             code, reason, message);
    play_line(w, buf_cstr(&text));
}

/* The stream ends in good order. */
static inline void play_end(struct world *w)
{
    struct client_attempt *a = take_attempt(w);
    struct client_answer answer = { .http_status = 200, .retry_after_seconds = -1 };

    a->on_end(a, &answer);
}

/* Started, listed and watching; what that asked and told is not kept. */
static inline void world_sync(struct world *w, const char *version, const char *specs)
{
    informer_start(w->informer);
    world_advance(w, 0);
    play_list(w, version, specs);
    world_advance(w, 0);
    assert_true(informer_is_synced(w->informer));
    buf_clear(&w->sent);
    buf_clear(&w->told);
}

/* The value of a metric of claims. */
static inline int world_metric(struct world *w, const char *name)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORLD_TEXT_MAX);
    char line[128];
    const char *at;

    (void)snprintf(line, sizeof line, "\n%s{resource=\"persistentvolumeclaims\"} ", name);
    metrics_write(w->metrics, &text);
    at = strstr(buf_cstr(&text), line);
    if (!at)
        fail_msg("no metric '%s'", name);
    return at ? (int)strtol(at + strlen(line), NULL, 10) : -1;
}
#define ASSERT_METRIC(w, name, expected) ASSERT_INT(expected, world_metric((w), (name)))

/* The keys and versions that are there, in order. */
static inline const char *world_cached(struct world *w)
{
    static struct buf out = { .len_max = WORLD_TEXT_MAX };
    struct informer_cursor at;

    buf_clear(&out);
    for (const struct object *o = informer_first(w->informer, &at); o; o = informer_next(&at)) {
        struct str version = object_version(o);

        buf_add_cstr(&out, out.len ? " " : "");
        object_key(o, &out);
        buf_addf(&out, "@%.*s", STR_ARG(version));
    }
    return buf_cstr(&out);
}

#endif
