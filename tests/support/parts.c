/* The bodies of what tests/unit/test_parts.h declares. */
#include "tests/unit/test_parts.h"

#include <ctype.h>

struct parts *the_parts; /* an attempt does not know its carrier */

/* --- The wire --- */

static void wire_answer(struct client_attempt *a, enum trouble trouble)
{
    struct client_answer answer = { .retry_after_seconds = -1 };
    bool is_write = a->request->verb == CLIENT_PATCH || a->request->verb == CLIENT_CREATE;

    if (trouble == TROUBLE_CONFLICT && is_write) {
        answer.http_status = 409;
        answer.r = error_set(&answer.error, ERR_CONFLICT, "somebody was quicker");
    } else if (trouble == TROUBLE_CONFLICT) {
        answer.http_status = 500;
        answer.r = error_set(&answer.error, ERR_INTERNAL, "no luck");
    } else if (trouble == TROUBLE_REFUSED && the_parts->is_missing) {
        answer.http_status = 404;
        answer.r = error_set(&answer.error, ERR_NOT_FOUND, "not there");
    } else {
        answer.r = error_set(&answer.error, ERR_UNAVAILABLE, "connection reset");
        answer.was_connected = answer.may_have_happened = trouble == TROUBLE_LOST;
    }
    a->on_end(a, &answer);
}

void wire_fail(void *ctx)
{
    struct wire *x = ctx;
    struct client_attempt *a = x->held[0];

    if (the_parts->is_dead || x->held_count == 0)
        return;
    memmove(x->held, x->held + 1, --x->held_count * sizeof x->held[0]);
    if (x->held_count)
        loop_defer(&x->failing);
    wire_answer(a, the_parts->refused || the_parts->is_down ? TROUBLE_REFUSED : the_parts->trouble);
}

static void wire_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct parts *w = the_parts;
    struct client_answer unreadable = *answer;

    a->on_end = w->on_end;
    if (w->trouble == TROUBLE_UNREADABLE) {
        unreadable.list.undecodable = answer->list.count;
        unreadable.list.count = 0;
        a->on_end(a, &unreadable);
        return;
    }
    if (w->trouble == TROUBLE_LOST) {
        wire_answer(a, TROUBLE_LOST);
        return;
    }
    w->is_dead = true; /* what it sends from here on is not sent */
    a->on_end(a, answer);
}

static void wire_event(struct client_attempt *a, const struct client_event *ev)
{
    if (!the_parts->is_blind_to[a->request->kind->kind])
        the_parts->on_event(a, ev);
}

/* Of the part, not of the caches that it reads nor of events. */
static bool is_counted(const struct client_request *q)
{
    return q->verb != CLIENT_WATCH && q->kind->kind != KIND_EVENT && (q->verb != CLIENT_LIST || q->ns);
}

static void wire_hold(struct wire *x, struct client_attempt *a)
{
    assert_true(x->held_count < WIRE_HELD_MAX);
    x->held[x->held_count++] = a;
}

static void wire_start_bad(struct wire *x, struct client_attempt *a)
{
    struct parts *w = the_parts;

    if (w->trouble == TROUBLE_REFUSED || w->trouble == TROUBLE_CONFLICT) {
        wire_hold(x, a);
        loop_defer(&x->failing);
        return;
    }
    if (w->trouble == TROUBLE_CRASH_SENT) {
        w->is_dead = true;
    } else {
        w->on_end = a->on_end;
        a->on_end = wire_end;
    }
    x->next->type->start(x->next, a);
}

void wire_start(struct client_carrier *c, struct client_attempt *a)
{
    struct parts *w = the_parts;
    struct wire *x = (void *)c;

    if (w->is_dead) {
        wire_hold(x, a);
        return;
    }
    if (a->request->verb == CLIENT_WATCH) {
        w->on_event = a->on_event;
        a->on_event = wire_event;
    }
    if (is_counted(a->request)) {
        size_t before = w->log.len;

        buf_addf(&w->log, "%s ", target_method(a->request));
        target_write(a->request, &w->log);
        buf_add_char(&w->log, '\n');
        if (w->refused && strncmp(buf_cstr(&w->log) + before, w->refused, strlen(w->refused)) == 0) {
            wire_hold(x, a);
            loop_defer(&x->failing);
            return;
        }
        if (w->late && strncmp(buf_cstr(&w->log) + before, w->late, strlen(w->late)) == 0) {
            wire_hold(x, a);
            return;
        }
        if (++w->count == w->at) {
            wire_start_bad(x, a);
            return;
        }
    }
    if (w->is_down) {
        wire_hold(x, a);
        loop_defer(&x->failing);
        return;
    }
    x->next->type->start(x->next, a);
}

void wire_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct wire *x = (void *)c;

    for (size_t i = 0; i < x->held_count; i++)
        if (x->held[i] == a) {
            x->held[i] = x->held[--x->held_count];
            return;
        }
    x->next->type->cancel(x->next, a);
}

void wire_free(struct client_carrier *c)
{
    struct wire *x = (void *)c;

    loop_undefer(&x->failing);
    x->next->type->free(x->next);
    free(x);
}

void parts_answer_late(struct parts *w, const struct client_answer *answer)
{
    struct wire *x = w->wire;
    struct client_attempt *a = x->held[0];

    assert_true(x->held_count > 0);
    memmove(x->held, x->held + 1, --x->held_count * sizeof x->held[0]);
    a->on_end(a, answer);
}

const struct client_carrier_type wire_type = { wire_start, wire_cancel, wire_free };

/* --- The process --- */

static void process_connect(struct parts *w)
{
    struct client_options o = { .loop = w->served.loop };

    w->wire = calloc(1, sizeof *w->wire);
    assert_non_null(w->wire);
    w->wire->base.type = &wire_type;
    deferred_init(&w->wire->failing, w->served.loop, wire_fail, w->wire);
    ASSERT_OK(local_client_new(w->served.server, w->user, &w->wire->next, &err));
    o.carrier = &w->wire->base;
    ASSERT_OK(client_new(&o, &w->client, &err));
}

void process_start(struct parts *w)
{
    struct informer_options i = { .loop = w->served.loop, .seed = 5 };
    struct component_deps o = {
        .loop = w->served.loop, .clock = &w->served.clock.clock, .seed = 6, .server = w->server
    };

    w->is_dead = w->is_started = false;
    process_connect(w);
    w->metrics = metrics_new((struct hash_seed){ 3, 4 });
    assert_non_null(w->metrics);
    i.client = w->client;
    ASSERT_OK(informers_new(&i, &w->informers, &err));
    o.client = w->client;
    o.informers = w->informers;
    o.metrics = w->metrics;
    ASSERT_OK(w->type->make(&o, &w->part, &err));
    informers_start(w->informers);
}

void process_kill(struct parts *w)
{
    w->type->free(w->part);
    w->informers = informers_free(w->informers);
    w->client = client_free(w->client);
    w->metrics = metrics_free(w->metrics);
}

void process_care(struct parts *w)
{
    if (w->is_dead) {
        process_kill(w);
        process_start(w);
    }
    if (!w->is_started && informers_are_synced(w->informers)) {
        w->is_started = true;
        w->type->start(w->part);
    }
}

void parts_rest(struct parts *w)
{
    unsigned turns = 0, idle = 0;

    while (idle < (w->pool ? REST_TURNS : 1)) {
        bool is_busy, was_dead, was_started;

        if (w->pool)
            pool_drain(w->pool);
        is_busy = loop_poll(w->served.loop);
        was_dead = w->is_dead;
        was_started = w->is_started;
        process_care(w);
        is_busy = is_busy || was_dead || was_started != w->is_started;
        idle = is_busy ? 0 : idle + 1;
        if (++turns > 100000)
            fail_msg("no rest; the part asked\n%s", buf_cstr(&w->log));
    }
}

void parts_pass_ns(struct parts *w, uint64_t ns)
{
    uint64_t end = w->served.clock.mono_ns + ns, next;

    parts_rest(w);
    while (loop_next_timer_ns(w->served.loop, &next) && next <= end) {
        if (next > w->served.clock.mono_ns)
            manual_clock_advance(&w->served.clock, next - w->served.clock.mono_ns);
        parts_rest(w);
    }
    manual_clock_advance(&w->served.clock, end - w->served.clock.mono_ns);
    parts_rest(w);
}

void parts_settle(struct parts *w)
{
    parts_pass_ns(w, SETTLE_S * NS_PER_S);
}

void parts_init_as(struct parts *w, const struct part_type *type, const struct user *user)
{
    static const char *const masters[] = { "system:masters", NULL };
    static const struct peer admin = { "admin", masters };

    memset(w, 0, sizeof *w);
    w->type = type;
    w->user = user;
    w->server = server_version_own();
    w->log = BUF_INIT((size_t)16 << 20);
    served_make(&w->served, /* is_insecure= */ !user, 0, 0);
    served_settle(&w->served);
    w->served.peer = user ? &admin : NULL;
    the_parts = w;
    process_start(w);
    parts_rest(w);
}

void parts_init(struct parts *w, const struct part_type *type)
{
    parts_init_as(w, type, /* user= */ NULL);
}

void parts_done(struct parts *w)
{
    process_kill(w);
    if (w->beside_done)
        w->beside_done();
    buf_done(&w->log);
    served_done(&w->served);
}

/* --- What is asked and what stands there --- */

void assert_asked(struct parts *w, const char *expected)
{
    _cleanup_(buf_done_p) struct buf plain = BUF_INIT((size_t)16 << 20);
    struct str rest = buf_str(&w->log);

    while (rest.len) {
        struct str line = str_next(&rest, '\n');

        buf_add_str(&plain, str_next(&line, '?'));
        buf_add_char(&plain, '\n');
    }
    ASSERT_STR(expected, buf_cstr(&plain));
    buf_clear(&w->log);
}

unsigned count_events(struct parts *w, const char *type, const char *reason, const char *message)
{
    unsigned found = 0;

    ASSERT_SENT(&w->served, 200, "GET", EVENTS, NULL);
    for (unsigned i = 0; i < got_items(&w->served); i++) {
        const struct json *d = &w->served.doc;
        json_ref e = json_at(d, json_get(d, w->served.root, "items"), i);

        if (json_is_string(d, json_get(d, e, "reason"), reason) &&
            json_is_string(d, json_get(d, e, "type"), type) &&
            json_is_string(d, json_get(d, e, "message"), message))
            found++;
    }
    return found;
}

void assert_metric(const struct parts *w, const char *line)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)16 << 20);

    metrics_write(w->metrics, &text);
    if (!strstr(buf_cstr(&text), line))
        fail_msg("no %s in\n%s", line, buf_cstr(&text));
}

/* --- Whatever goes wrong, the end is the same --- */

/* What differs from run to run. */
static void drop_chance(struct json *d, json_ref v)
{
    static const char *const keys[] = { "resourceVersion",
                                        "uid",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "managedFields",
                                        "lastTransitionTime",
                                        "lastPhaseTransitionTime",
                                        "lastHeartbeatTime",
                                        "time",
                                        "volumes.berth.io/attach-fence" };

    if (json_type(d, v) == JSON_OBJECT)
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            (void)json_remove(d, v, keys[i]);
    if (json_type(d, v) == JSON_OBJECT || json_type(d, v) == JSON_ARRAY)
        for (json_ref m = json_first(d, v); m; m = json_next(d, m))
            drop_chance(d, m);
}

/* Names of objects that are made from uids differ from run to run, too. */
static void mask_uids(char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (; *text; text++) {
        size_t n = 0;

        while (form[n] && (form[n] == '-' ? text[n] == '-' : isxdigit((unsigned char)text[n])))
            n++;
        if (!form[n])
            memcpy(text, form, n);
    }
}

void parts_dump(struct parts *w, struct buf *out)
{
    static const char *const paths[] = { VOLUMES,
                                         "/api/v1/persistentvolumeclaims",
                                         "/api/v1/pods",
                                         ATTRIBUTES_CLASSES,
                                         NODES,
                                         ATTACHMENTS,
                                         "/apis/storage.k8s.io/v1/csistoragecapacities",
                                         SNAPSHOTS,
                                         SNAPSHOT_CONTENTS };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        json_ref items;

        ASSERT_SENT(&w->served, 200, "GET", paths[i], NULL);
        items = json_get(&w->served.doc, w->served.root, "items");
        drop_chance(&w->served.doc, items);
        json_write_pretty(&w->served.doc, items, out);
        buf_add_char(out, '\n');
    }
    mask_uids(out->data);
}

unsigned parts_run(const struct part_type *type, void (*scenario)(struct parts *w), enum trouble trouble,
                   unsigned at, struct buf *out)
{
    struct parts w;
    unsigned count;

    parts_init(&w, type);
    w.trouble = trouble;
    w.at = at;
    scenario(&w);
    count = w.count;
    parts_dump(&w, out);
    if (w.beside_dump)
        w.beside_dump(out);
    parts_done(&w);
    return count;
}

void assert_ends_the_same(const struct part_type *type, void (*scenario)(struct parts *w))
{
    _cleanup_(buf_done_p) struct buf good = BUF_INIT((size_t)16 << 20);
    unsigned count = parts_run(type, scenario, TROUBLE_NONE, 0, &good);

    assert_true(count > 0);
    for (unsigned trouble = TROUBLE_NONE + 1; trouble < TROUBLE_COUNT; trouble++)
        for (unsigned at = 1; at <= count; at++) {
            _cleanup_(buf_done_p) struct buf bad = BUF_INIT((size_t)16 << 20);

            if (!tests_take_turn())
                continue;
            (void)parts_run(type, scenario, (enum trouble)trouble, at, &bad);
            if (strcmp(buf_cstr(&good), buf_cstr(&bad)) != 0)
                fail_msg("trouble %u at request %u of %u:\n%s\nexpected\n%s", trouble, at, count,
                         buf_cstr(&bad), buf_cstr(&good));
        }
}
