/* Reports the results of a transfer: warnings, the lines of a watch as events, and its end as an answer.
 *
 * Never from inside libcurl, so that callbacks may cancel and start requests; after each callback it is
 * checked whether the transfer still exists. */
#include "client/client_http_int.h"

#include <string.h>

#include "base/cleanup.h"

#define HTTP_WARNINGS_BYTES_MAX ((size_t)64 << 10)
/* Parser memory above this is released after a large answer. */
#define HTTP_SCRATCH_BYTES_KEPT ((size_t)1 << 20)

/* Parses one of `299 - "text" "date", 299 - …`; false at the end, or when the text has another form. The text
 * is unescaped into *ret. */
static bool next_warning(struct str *rest, struct buf *ret)
{
    struct str s = str_trim(*rest);
    bool is_escaped = false;
    size_t i = 0;

    buf_clear(ret);
    if (!str_has_prefix(s, "299 "))
        return false;
    (void)str_next(&s, ' ');
    (void)str_next(&s, ' '); /* the agent */
    if (!s.s || s.len == 0 || s.s[0] != '"')
        return false;
    for (i = 1; i < s.len && (is_escaped || s.s[i] != '"'); i++) {
        is_escaped = !is_escaped && s.s[i] == '\\';
        if (!is_escaped)
            buf_add_char(ret, s.s[i]);
    }
    if (i >= s.len)
        return false;
    *rest = (struct str){ s.s + i + 1, s.len - i - 1 };
    (void)str_next(rest, ',');
    return !ret->failed;
}

/* False when the callback has cancelled the attempt. */
bool transfer_report_warnings(struct transfer *t)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(HTTP_WARNINGS_BYTES_MAX);
    struct http_client *c = t->client;
    struct curl_header *h;

    if (t->has_told_warnings)
        return true;
    t->has_told_warnings = true;
    c->reporting = t;
    c->reporting_is_gone = false;
    for (size_t i = 0; curl_easy_header(t->easy, "Warning", i, CURLH_HEADER, -1, &h) == CURLHE_OK; i++) {
        struct str rest = str_of(h->value);
        while (rest.s && next_warning(&rest, &text)) {
            t->attempt->on_warning(t->attempt, buf_str(&text));
            if (c->reporting_is_gone)
                return false;
        }
    }
    return true;
}

static void transfer_on_event(void *ctx, const struct client_event *ev)
{
    struct transfer *t = ctx;

    t->attempt->on_event(t->attempt, ev);
}

/* Reports complete lines; at a clean end the last one is complete too. False as above. */
bool transfer_deliver_lines(struct transfer *t, bool is_at_end)
{
    struct http_client *c = t->client;
    size_t at = 0;

    c->reporting = t;
    c->reporting_is_gone = false;
    while (at < t->received.len) {
        const char *start = t->received.data + at;
        const char *end = memchr(start, '\n', t->received.len - at);
        struct str line = { start, end ? (size_t)(end - start) : t->received.len - at };

        if (!end && !is_at_end)
            break;
        at += line.len + (end ? 1 : 0);
        line = str_trim(line);
        if (line.len)
            answer_read_event(&c->reader, t->attempt->request, line, transfer_on_event, t);
        if (c->reporting_is_gone)
            return false;
    }
    if (at) {
        memmove(t->received.data, t->received.data + at, t->received.len - at);
        t->received.len -= at;
    }
    return true;
}

static int64_t transfer_retry_after(const struct transfer *t)
{
    struct curl_header *h;
    int64_t seconds;

    if (curl_easy_header(t->easy, "Retry-After", 0, CURLH_HEADER, -1, &h) != CURLHE_OK ||
        !str_to_int64(str_trim(str_of(h->value)), &seconds) || seconds < 0)
        return -1;
    return seconds;
}

/* No answer, or an incomplete one. */
static void transfer_read_loss(const struct transfer *t, CURLcode code, struct client_answer *ret)
{
    struct http_outcome o = {
        .code = code,
        .server = t->client->config->server,
        .message = t->message,
        .was_connected = t->tries > 0,
    };

    (void)curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &o.os_errno);
    (void)curl_easy_getinfo(t->easy, CURLINFO_SSL_VERIFYRESULT, &o.verify_result);
    *ret = (struct client_answer){
        .retry_after_seconds = -1,
        .was_connected = o.was_connected,
        .may_have_happened = o.was_connected && transfer_is_write(t),
        .http_status =
            transfer_is_watch(t) ? transfer_http_status(t) : 0, /* a watch was answered before it broke */
        .list = { .resource_version = "", .continue_token = "", .remaining = -1 },
    };
    if (t->failure.code != ERR_NONE)
        ret->error = t->failure;
    else
        (void)http_outcome_error(&o, &ret->error);
    ret->r = -(int)ret->error.code;
}

/* A refusal that is too long may be truncated. */
static bool transfer_is_answered(const struct transfer *t, CURLcode code)
{
    int http_status = transfer_http_status(t);

    if (t->failure.code == ERR_NONE)
        return code == CURLE_OK;
    return t->failure.code == ERR_TOO_LARGE && http_status && !http_is_success(http_status);
}

/* The last report of an attempt. */
void transfer_end(struct transfer *t, CURLcode code)
{
    struct http_client *c = t->client;
    struct client_attempt *a = t->attempt;
    struct raw_answer raw = { transfer_http_status(t), { 0 }, transfer_retry_after(t) };
    struct read_answer got = { 0 };
    struct buf body;
    bool is_answered = transfer_is_answered(t, code);

    if (!transfer_report_warnings(t))
        return;
    if (transfer_is_watch(t) && http_is_success(raw.http_status) && !transfer_deliver_lines(t, is_answered))
        return;
    if (!is_answered)
        transfer_read_loss(t, code, &got.answer);
    body = t->received;
    t->received = BUF_INIT(0);
    (void)transfer_free(t);
    raw.body = (struct str){ body.data ? body.data : "", body.len };
    if (is_answered)
        answer_read(&c->reader, a->request, &raw, &got);
    a->on_end(a, &got.answer);
    read_answer_done(&got);
    if (body.len > HTTP_SCRATCH_BYTES_KEPT) {
        json_done(&c->scratch);
        json_init(&c->scratch, c->answer_bytes_max);
    }
    buf_done(&body);
}

void transfer_on_quiet(void *ctx)
{
    struct transfer *t = ctx;

    (void)error_set(&t->failure, ERR_TIMEOUT, "server '%s': watch received nothing for %u s",
                    t->client->config->server,
                    t->attempt->request->timeout_seconds + (unsigned)(HTTP_WATCH_LATE_NS_MAX / NS_PER_S));
    transfer_end(t, CURLE_OPERATION_TIMEDOUT);
}
