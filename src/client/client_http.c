/* Creates one libcurl transfer per attempt and turns its result into an answer.
 *
 * Unary requests share a pool of connections: one with HTTP/2 carries a hundred requests, otherwise there are
 * at most HTTP_CONNECTIONS_MAX and further requests wait. Watches have separate connections, so that they
 * take none from requests, whatever the protocol. */
#include "client/client_http.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "client/client_http_int.h"
#include "client/client_target.h"

#define HTTP_CONNECTIONS_MAX 16L
#define HTTP_WATCH_CONNECTIONS_MAX 512L

/* Lines before ends: an end may be that of the watch on which they arrived. */
static void http_on_moved(void *ctx, struct http_multi *m)
{
    struct http_client *c = ctx;
    struct transfer *t;
    CURLMsg *msg;
    int left;

    while ((t = TAILQ_FIRST(&c->ready))) {
        TAILQ_REMOVE(&c->ready, t, link);
        t->is_ready = false;
        if (t->failure.code != ERR_NONE)
            transfer_end(t, CURLE_WRITE_ERROR);
        else if (transfer_report_warnings(t))
            (void)transfer_deliver_lines(
                t,
                /* is_at_end= */ false); /* the result does not matter: t is not used any more */
    }
    while ((msg = curl_multi_info_read(m->curl, &left))) {
        CURLcode code = msg->data.result;
        t = NULL;
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
        assert(msg->msg == CURLMSG_DONE && t);
        transfer_end(t, code);
    }
}

/* Either the request is too long for a URL or there was no memory; measured again here to find out. */
static int http_refusal_error(const struct client_attempt *a, struct error *err)
{
    _cleanup_(buf_done_p) struct buf target = BUF_INIT(HTTP_TARGET_BYTES_MAX);

    target_write(a->request, &target);
    return target.failed ? buf_check(&target, "path and parameters of the request", err)
                         : error_no_memory(err);
}

/* One per turn, so that an immediate retry that fails again waits for the next turn. */
static void http_report_refused(void *ctx)
{
    struct http_client *c = ctx;
    struct client_attempt *a = c->refused;
    struct client_answer answer = {
        .retry_after_seconds = -1,
        .list = { .resource_version = "", .continue_token = "", .remaining = -1 },
    };

    if (!a)
        return;
    c->refused = a->work;
    a->work = NULL;
    if (c->refused)
        loop_defer(&c->refusal);
    answer.r = http_refusal_error(a, &answer.error);
    a->on_end(a, &answer);
}

static void http_carrier_start(struct client_carrier *carrier, struct client_attempt *a)
{
    struct http_client *c = CONTAINER_OF(carrier, struct http_client, carrier);
    struct transfer *t;

    http_credentials_refresh(&c->credentials);
    t = transfer_new(c, a);
    if (t && curl_multi_add_handle(t->multi->curl, t->easy) != CURLM_OK)
        t = transfer_free(t);
    if (!t) {
        a->work = c->refused;
        c->refused = a;
        loop_defer(&c->refusal);
        return;
    }
    a->work = t;
    transfer_arm_quiet(t);
}

static void http_carrier_cancel(struct client_carrier *carrier, struct client_attempt *a)
{
    struct http_client *c = CONTAINER_OF(carrier, struct http_client, carrier);

    for (struct client_attempt *other = c->refused, *before = NULL; other;
         before = other, other = other->work) {
        if (other != a)
            continue;
        if (before)
            before->work = other->work;
        else
            c->refused = other->work;
        a->work = NULL;
        return;
    }
    (void)transfer_free(a->work);
    a->work = NULL;
}

static void http_carrier_free(struct client_carrier *carrier)
{
    struct http_client *c = CONTAINER_OF(carrier, struct http_client, carrier);

    assert(c->transfers == 0);
    assert(!c->refused);
    loop_undefer(&c->refusal);
    http_multi_done(&c->requests);
    http_multi_done(&c->watches);
    http_credentials_done(&c->credentials);
    http_server_done(&c->server);
    json_done(&c->scratch);
    free(c);
}

static const struct client_carrier_type http_carrier = {
    .start = http_carrier_start,
    .cancel = http_carrier_cancel,
    .free = http_carrier_free,
};

/* Checks that libcurl has what is needed, so that a missing feature is reported at the start. */
static int http_check_libcurl(struct http_client *c, struct error *err)
{
    static const struct client_request q = { .verb = CLIENT_RAW, .path = "/" };
    struct client_attempt a = { .request = &q };
    struct transfer *t = transfer_new(c, &a);

    if (!t)
        return error_set(err, ERR_UNSUPPORTED, "this libcurl (%s) lacks a required feature", curl_version());
    (void)transfer_free(t);
    return 0;
}

static int http_begin_curl(struct error *err)
{
    static bool has_begun;
    int r = curl_load(err);

    if (r < 0)
        return r;
    has_begun = has_begun || curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return has_begun ? 0 : error_set(err, ERR_UNSUPPORTED, "libcurl cannot be used");
}

int http_client_new(const struct http_client_options *o, struct client_carrier **ret, struct error *err)
{
    struct http_client *c;
    int r;

    r = http_begin_curl(err);
    if (r < 0)
        return r;
    c = calloc(1, sizeof *c);
    if (!c)
        return error_no_memory(err);
    c->carrier.type = &http_carrier;
    c->loop = o->loop;
    c->config = o->config;
    c->answer_bytes_max = o->answer_bytes_max ? o->answer_bytes_max : HTTP_CLIENT_ANSWER_BYTES_MAX;
    c->line_bytes_max = o->line_bytes_max ? o->line_bytes_max : HTTP_CLIENT_LINE_BYTES_MAX;
    TAILQ_INIT(&c->ready);
    json_init(&c->scratch, c->answer_bytes_max);
    c->reader = (struct answer_reader){ &c->scratch, o->keeps_managed_fields };
    deferred_init(&c->refusal, o->loop, http_report_refused, c);
    for (struct http_multi *m = &c->requests; m; m = m == &c->requests ? &c->watches : NULL) {
        m->loop = o->loop;
        m->on_moved = http_on_moved;
        m->on_stuck = transfer_on_stuck;
        m->ctx = c;
    }
    r = http_server_init(&c->server, o->config, err);
    r = r < 0 ? r : http_credentials_init(&c->credentials, o->config, o->clock, err);
    r = r < 0 ? r : http_multi_init(&c->requests, HTTP_CONNECTIONS_MAX, err);
    r = r < 0 ? r : http_multi_init(&c->watches, HTTP_WATCH_CONNECTIONS_MAX, err);
    r = r < 0 ? r : http_check_libcurl(c, err);
    if (r < 0) {
        http_carrier_free(&c->carrier);
        return r;
    }
    *ret = &c->carrier;
    return 0;
}
