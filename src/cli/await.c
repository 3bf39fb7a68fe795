/* Waits for one object: reads it, then watches it until a callback is satisfied or time is up; and parses
 * durations.
 *
 * A watch that the server ends is followed by another read, so that no change is missed. */
#include "cli/await.h"

#include <stdio.h>
#include <string.h>

#define WATCH_SECONDS 300

struct object_wait {
    const struct await *what;
    struct json doc;
    char version[64];
    int r; /* of the last check */
    struct error err;
};

static void check_object(struct object_wait *w, json_ref object)
{
    w->r = w->what->check(w->what->ctx, &w->doc, object, &w->err);
}

static bool on_event(void *ctx, const struct client_event *ev)
{
    struct object_wait *w = ctx;
    json_ref line;

    if (ev->type == CLIENT_ERROR || ev->type == CLIENT_UNREADABLE)
        return false; /* read it again */
    (void)snprintf(w->version, sizeof w->version, "%s", ev->version);
    json_clear(&w->doc);
    if (ev->type == CLIENT_BOOKMARK)
        return true;
    w->r = json_parse(&w->doc, ev->text, &line, &w->err);
    if (w->r == 0)
        check_object(w, ev->type == CLIENT_DELETED ? 0 : json_get(&w->doc, line, "object"));
    return w->r == 0;
}

static int list_one(struct session *s, struct object_wait *w, struct client_request *q)
{
    _cleanup_(buf_done_p) struct buf version = BUF_INIT(256);
    json_ref list, first;
    int r;

    q->verb = CLIENT_LIST;
    q->resource_version = NULL;
    q->timeout_seconds = 0;
    r = session_ask(s, q);
    if (r < 0)
        return r;
    json_clear(&w->doc);
    r = json_parse(&w->doc, buf_str(&s->reply.text), &list, &w->err);
    if (r < 0)
        return r;
    (void)snprintf(w->version, sizeof w->version, "%.*s",
                   STR_ARG(json_get_text(&w->doc, json_get(&w->doc, list, "metadata"), "resourceVersion")));
    first = json_first(&w->doc, json_get(&w->doc, list, "items"));
    if (first) { /* the items of a list have no apiVersion and kind */
        kind_api_version(w->what->kind, &version);
        json_set_string(&w->doc, first, "apiVersion", buf_cstr(&version));
        json_set_string(&w->doc, first, "kind", w->what->kind->name);
    }
    check_object(w, first);
    return w->r;
}

static int timed_out(struct session *s)
{
    struct reply *ret = &s->reply;

    buf_clear(&ret->text);
    ret->reason[0] = '\0';
    buf_add_cstr(&ret->text, "timed out waiting for the condition");
    ret->r = -ERR_TIMEOUT;
    return -ERR_TIMEOUT;
}

/* Reads and watches until the wait is over. */
static int wait_until(struct session *s, struct object_wait *w, struct client_request *q)
{
    uint64_t now = clock_mono_ns(s->clock), left, timeout = w->what->timeout_ns;
    uint64_t end = timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
    int r = list_one(s, w, q);

    while (r == 0) {
        now = clock_mono_ns(s->clock);
        left = end > now ? end - now : 0;
        if (left == 0)
            return timed_out(s);
        q->verb = CLIENT_WATCH;
        q->resource_version = w->version;
        q->timeout_seconds = WATCH_SECONDS;
        r = session_watch(s, q, end == UINT64_MAX ? 0 : left, on_event, w);
        if (r == -ERR_TIMEOUT && s->reply.http_status == 0)
            return timed_out(s);
        if (r >= 0)
            r = w->r;
        if (r == 0) /* the server ended it, perhaps because the version is too old */
            r = list_one(s, w, q);
    }
    return r;
}

int await_object(struct session *s, const struct await *what)
{
    struct object_wait w = { .what = what };
    char one[512];
    struct client_request q = { .kind = what->kind,
                                .ns = what->kind->is_namespaced ? what->ns : NULL,
                                .field_selector = one };
    int r;

    (void)snprintf(one, sizeof one, "metadata.name=%s", what->name);
    json_init(&w.doc, SESSION_BYTES_MAX);
    r = wait_until(s, &w, &q);
    json_done(&w.doc);
    if (r < 0 && r == w.r) { /* the error of check() */
        buf_clear(&s->reply.text);
        s->reply.reason[0] = '\0';
        s->reply.r = r;
        buf_add_cstr(&s->reply.text, w.err.msg);
    }
    return r > 0 ? 0 : r;
}

/* --- Durations --- */

static bool take_unit(struct str *rest, int64_t *ret_ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = { { "ms", 1000000 },
                  { "us", 1000 },
                  { "ns", 1 },
                  { "h", INT64_C(3600000000000) },
                  { "m", INT64_C(60000000000) },
                  { "s", 1000000000 } };

    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_has_prefix(*rest, units[i].name)) {
            size_t len = strlen(units[i].name);

            *rest = (struct str){ rest->s + len, rest->len - len };
            *ret_ns = units[i].ns;
            return true;
        }
    return false;
}

/* "1.5" before its unit, in thousandths; smaller fractions are ignored. */
static bool take_amount(struct str *rest, int64_t *ret)
{
    int64_t whole = 0, thousandths = 0, place = 100;
    size_t i = 0;

    for (; i < rest->len && rest->s[i] >= '0' && rest->s[i] <= '9'; i++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, rest->s[i] - '0', &whole))
            return false;
    if (i == 0)
        return false;
    if (i < rest->len && rest->s[i] == '.')
        for (i++; i < rest->len && rest->s[i] >= '0' && rest->s[i] <= '9'; i++, place /= 10)
            thousandths += place * (rest->s[i] - '0');
    *rest = (struct str){ rest->s + i, rest->len - i };
    return !__builtin_mul_overflow(whole, 1000, ret) && !__builtin_add_overflow(*ret, thousandths, ret);
}

int await_read_timeout(const char *text, int64_t *ret_ns, struct error *err)
{
    struct str rest = str_of(text);
    bool is_negative = rest.len && rest.s[0] == '-';
    int64_t sum = 0, amount, unit, part;

    if (is_negative)
        rest = (struct str){ rest.s + 1, rest.len - 1 };
    if (!str_is(rest, "0"))
        do {
            if (!take_amount(&rest, &amount) || !take_unit(&rest, &unit) ||
                __builtin_mul_overflow(amount, unit, &part) || __builtin_add_overflow(sum, part / 1000, &sum))
                return error_set(err, ERR_INVALID, "invalid duration \"%s\": write 30s, 5m or 1h30m", text);
        } while (rest.len);
    *ret_ns = is_negative ? -sum : sum;
    return 0;
}
