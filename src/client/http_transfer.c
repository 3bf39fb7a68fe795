/* One libcurl transfer per attempt: its creation, and the callbacks of libcurl, which only record, since
 * libcurl must not be called from them.
 *
 * Dead peers: libcurl does not wait for the answers of HTTP/2 pings. Instead the kernel probes every quiet
 * connection, and fails it when probes or our own data stay unacknowledged (45 seconds in all). A peer whose
 * machine is alive but which sends nothing is detected by the deadline of the request, or that of the watch,
 * which determines how long it may be silent.
 *
 * libcurl itself repeats a request when a reused connection turns out to be dead. For reads that is fine. A
 * write may have taken effect, so it is stopped there: see transfer_may_send(). */
#include "client/client_http_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/client_target.h"
#include "io/socket.h"

#define HTTP_CONNECT_S_MAX 30L
#define HTTP_QUIET_S_MAX 30U
#define HTTP_PROBE_S 5U
/* Limit of the body of a refusal. */
#define HTTP_REFUSAL_BYTES_MAX ((size_t)4 << 20)
/* Limit of lines that were received at once and are not reported yet. */
#define HTTP_LINES_BYTES_MAX ((size_t)16 << 20)
#define HTTP_LIST_BUFFER_BYTES 262144L

bool transfer_is_watch(const struct transfer *t)
{
    return t->attempt->request->verb == CLIENT_WATCH;
}

bool transfer_is_write(const struct transfer *t)
{
    return strcmp(target_method(t->attempt->request), "GET") != 0;
}

int transfer_http_status(const struct transfer *t)
{
    long status = 0;

    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

/* How long a watch may be silent: its requested timeout plus a margin. */
static uint64_t transfer_quiet_ns_max(const struct transfer *t)
{
    return t->attempt->request->timeout_seconds * NS_PER_S + HTTP_WATCH_LATE_NS_MAX;
}

void transfer_arm_quiet(struct transfer *t)
{
    if (transfer_is_watch(t) && t->attempt->request->timeout_seconds)
        timer_arm_after(&t->quiet, transfer_quiet_ns_max(t));
}

static void transfer_mark_ready(struct transfer *t)
{
    if (t->is_ready)
        return;
    t->is_ready = true;
    TAILQ_INSERT_TAIL(&t->client->ready, t, link);
}

/* --- From inside libcurl: only record --- */

/* The connection is established; nothing of the request has been sent on it. */
static int transfer_may_send(void *ctx, char *to_ip, char *from_ip, int to_port, int from_port)
{
    struct transfer *t = ctx;

    (void)to_ip;
    (void)from_ip;
    (void)to_port;
    (void)from_port;
    t->tries++;
    return t->tries > 1 && transfer_is_write(t) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static int transfer_on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    (void)ctx;
    (void)purpose;
    socket_set_keepalive(fd, HTTP_QUIET_S_MAX, HTTP_PROBE_S);
    return CURL_SOCKOPT_OK;
}

/* False at a line that is too long. *ret_whole is the number of bytes in complete lines. */
static bool transfer_measure(struct transfer *t, const char *data, size_t len, size_t *ret_whole)
{
    size_t whole = 0;

    for (;;) {
        const char *end = memchr(data + whole, '\n', len - whole);
        t->line_len += end ? (size_t)(end - data) - whole : len - whole;
        *ret_whole = whole;
        if (t->line_len > t->client->line_bytes_max)
            return false;
        if (!end)
            return true;
        t->line_len = 0;
        whole = (size_t)(end - data) + 1;
    }
}

/* False, with the reason recorded, when a limit is exceeded. */
static bool transfer_add_lines(struct transfer *t, const char *data, size_t len)
{
    size_t whole = 0;
    bool fits = transfer_measure(t, data, len, &whole);

    if (!fits)
        (void)error_set(&t->failure, ERR_TOO_LARGE, "server '%s': a line of a watch has more than %zu bytes",
                        t->client->config->server, t->client->line_bytes_max);
    buf_add(&t->received, data, fits ? len : whole);
    if (buf_check(&t->received, "the lines received at once from a watch", &t->failure) < 0)
        return false;
    if (whole)
        transfer_mark_ready(t);
    if (timer_is_armed(&t->quiet))
        timer_arm_after(&t->quiet, transfer_quiet_ns_max(t));
    return fits;
}

static bool transfer_add_body(struct transfer *t, int http_status, const char *data, size_t len)
{
    t->received.len_max = http_is_success(http_status) ? t->client->answer_bytes_max : HTTP_REFUSAL_BYTES_MAX;
    buf_add(&t->received, data, len);
    if (!t->received.failed)
        return true;
    if (t->received.failed == ERR_TOO_LARGE)
        (void)error_set(&t->failure, ERR_TOO_LARGE, "server '%s': the answer has more than %zu bytes",
                        t->client->config->server, t->received.len_max);
    else
        (void)error_no_memory(&t->failure);
    return false;
}

static void transfer_note_http_version(struct transfer *t)
{
    long version = 0;

    (void)curl_easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
    t->client->has_http2 = version >= CURL_HTTP_VERSION_2_0;
}

static size_t transfer_on_data(char *data, size_t size, size_t count, void *ctx)
{
    struct transfer *t = ctx;
    int http_status = transfer_http_status(t);
    size_t len = size * count; /* size is always 1 */
    bool ok = transfer_is_watch(t) && http_is_success(http_status)
                  ? transfer_add_lines(t, data, len)
                  : transfer_add_body(t, http_status, data, len);

    transfer_note_http_version(t);
    return ok ? len : 0;
}

void transfer_on_stuck(void *ctx, CURL *easy, const struct error *why)
{
    struct transfer *t = NULL;

    (void)ctx;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t);
    if (!t)
        return;
    t->failure = *why;
    transfer_mark_ready(t);
}

/* --- Making one --- */

static const struct {
    CURLoption option;
    long value;
} transfer_options[] = {
    { CURLOPT_NOSIGNAL, 1 },
    { CURLOPT_NOPROGRESS, 1 },
    { CURLOPT_QUICK_EXIT, 1 }, /* do not wait for a name lookup */
    { CURLOPT_PATH_AS_IS, 1 },
    { CURLOPT_FOLLOWLOCATION, 0 },
    { CURLOPT_SUPPRESS_CONNECT_HEADERS, 1 },
    { CURLOPT_CONNECTTIMEOUT, HTTP_CONNECT_S_MAX },
    { CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS },
    { CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 },
    { CURLOPT_SSL_SESSIONID_CACHE, 0 }, /* a resumed session would use the previous identity */
    { CURLOPT_UPLOAD_BUFFERSIZE, 16384 },
};

static bool set_callbacks(struct transfer *t)
{
    CURL *e = t->easy;
    bool ok = true;

    ok &= curl_easy_setopt(e, CURLOPT_PRIVATE, t) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->message) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, transfer_on_data) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_WRITEDATA, t) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, transfer_may_send) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_PREREQDATA, t) == CURLE_OK;
    ok &= curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, transfer_on_socket) == CURLE_OK;
    return ok;
}

static bool set_fixed(struct transfer *t)
{
    bool ok = set_callbacks(t);

    /* Wait for a connection that can be shared instead of opening another, but only when the server is known
     * to support HTTP/2. With HTTP/1.1, libcurl 8 starts one waiting transfer when the first connection turns
     * out not to be shareable, and the next only when a transfer ends: watches would wait forever. */
    ok &= curl_easy_setopt(t->easy, CURLOPT_PIPEWAIT, t->client->has_http2 ? 1L : 0L) == CURLE_OK;

    for (size_t i = 0; i < ARRAY_LEN(transfer_options); i++)
        ok &= curl_easy_setopt(t->easy, transfer_options[i].option, transfer_options[i].value) == CURLE_OK;
    ok &= curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
    ok &= curl_easy_setopt(t->easy, CURLOPT_USERAGENT,
                           "berth/" BERTH_VERSION " (linux/" BERTH_ARCH
                           ") kubernetes/" BERTH_VERSION) == CURLE_OK;
    return ok;
}

static bool set_body(struct transfer *t, struct str body)
{
    bool ok = true;

    ok &= curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len) == CURLE_OK;
    ok &= curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, body.len ? body.s : "") == CURLE_OK;
    ok &= http_add_header(&t->headers, "Content-Type", target_content_type(t->attempt->request));
    return ok;
}

static bool set_method(struct transfer *t)
{
    const struct client_request *q = t->attempt->request;
    bool ok = true;

    if (!transfer_is_write(t))
        return true;
    if (q->verb == CLIENT_DELETE) {
        target_write_delete(q, &t->sent);
        ok &= !t->sent.failed;
        ok &= t->sent.len == 0 || set_body(t, buf_str(&t->sent));
    } else {
        ok &= set_body(t, q->body);
    }
    ok &= curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, target_method(q)) == CURLE_OK;
    return ok;
}

static bool set_target(struct transfer *t)
{
    _cleanup_(buf_done_p) struct buf url = BUF_INIT(HTTP_TARGET_BYTES_MAX);

    buf_add_cstr(&url, t->client->server.base);
    target_write(t->attempt->request, &url);
    return !url.failed && curl_easy_setopt(t->easy, CURLOPT_URL, buf_cstr(&url)) == CURLE_OK;
}

/* Only for lists: servers do not compress small answers. */
static bool set_compression(struct transfer *t)
{
    if (t->attempt->request->verb != CLIENT_LIST)
        return true;
    if (curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE, HTTP_LIST_BUFFER_BYTES) != CURLE_OK)
        return false;
    return t->client->config->disables_compression ||
           curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "gzip") == CURLE_OK;
}

static bool set_headers(struct transfer *t)
{
    const struct http_client *c = t->client;
    const struct client_request *q = t->attempt->request;
    const char *form = q->verb == CLIENT_RAW ? "application/json, */*" : "application/json";
    bool ok = true;

    ok &= http_add_header(&t->headers, "Accept", q->accept ? q->accept : form);
    ok &= http_add_header(&t->headers, "Expect", ""); /* otherwise large bodies would wait for 100 Continue */
    if (c->server.host)
        ok &= http_add_header(&t->headers, "Host", c->server.host);
    ok &= http_credentials_add_headers(&c->credentials, &t->headers);
    ok &= curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK;
    return ok;
}

static bool transfer_set_up(struct transfer *t)
{
    const struct http_client *c = t->client;

    return set_fixed(t) && set_target(t) && set_method(t) && set_compression(t) && set_headers(t) &&
           http_server_apply(&c->server, t->easy) && http_credentials_apply(&c->credentials, t->easy);
}

struct transfer *transfer_free(struct transfer *t)
{
    if (!t)
        return NULL;
    if (t->client->reporting == t)
        t->client->reporting_is_gone = true;
    if (t->is_ready)
        TAILQ_REMOVE(&t->client->ready, t, link);
    timer_disarm(&t->quiet);
    if (t->easy) {
        (void)curl_multi_remove_handle(t->multi->curl, t->easy); /* no effect on one that was not added */
        curl_easy_cleanup(t->easy);
    }
    curl_slist_free_all(t->headers);
    buf_done(&t->sent);
    buf_done(&t->received);
    t->client->transfers--;
    free(t);
    return NULL;
}
struct transfer *transfer_new(struct http_client *c, struct client_attempt *a)
{
    bool watches = a->request->verb == CLIENT_WATCH;
    _cleanup_(transfer_free_p) struct transfer *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    c->transfers++;
    t->client = c;
    t->multi = watches ? &c->watches : &c->requests;
    t->attempt = a;
    buf_init(&t->sent, HTTP_TARGET_BYTES_MAX);
    buf_init(&t->received, watches ? HTTP_LINES_BYTES_MAX + c->line_bytes_max : c->answer_bytes_max);
    timer_init(&t->quiet, c->loop, transfer_on_quiet, t);
    t->easy = curl_easy_init();
    if (!t->easy || !transfer_set_up(t))
        return NULL;
    return TAKE(t);
}
