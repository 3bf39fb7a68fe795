/* Carries HTTP requests of http/http.h as calls: headers, body, TLS peer and response. A request
 * costs one allocation for its call, which is freed with it. */
#include "apiserver/call_http.h"

#include <stdlib.h>

#include "apiserver/server.h"
#include "apiserver/user.h"

static struct str call_http_header(const struct call *c, const char *name)
{
    return http_request_header(c->carrier_ctx, name);
}

static void call_http_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    http_request_each_header(c->carrier_ctx, fn, ctx);
}

static void call_http_answer(struct call *c)
{
    http_answer(c->carrier_ctx, &(struct http_answer){
                                    .status = c->status,
                                    .content_type = c->content_type,
                                    .headers = c->headers.items,
                                    .headers_count = c->headers.count,
                                    .body = &c->reply,
                                    .stream = c->stream,
                                    .client_is_known = c->user && c->user != &user_anonymous,
                                });
}

static void call_http_release(void *work)
{
    call_done(work);
    free(work);
}

static const struct carrier http_carrier = {
    .header = call_http_header,
    .each_header = call_http_each_header,
    .answer = call_http_answer,
    .takes_documents = true,
};

/* The request's call; NULL without memory. */
static struct call *call_http_of(struct http_request *r)
{
    struct call *c = r->work ? r->work : malloc(sizeof *c);

    if (!c || r->work)
        return c;
    call_init(c, &http_carrier, r);
    c->method = r->method;
    c->target = r->target;
    c->body = r->body;
    c->body_is_too_large = r->body_is_too_large;
    c->peer = r->peer;
    c->peer_is_invalid = r->peer_is_invalid;
    c->is_remote = true;
    c->is_tls = r->is_tls;
    c->local_ip = r->local_ip;
    r->work = c;
    r->release = call_http_release;
    return c;
}

const char *call_http_identify(void *ctx, struct http_request *r)
{
    struct apiserver *const *server = ctx;
    struct call *c = call_http_of(r);

    return c ? apiserver_identify(*server, c) : user_anonymous.name;
}

void call_http_serve(void *ctx, struct http_request *r)
{
    struct apiserver *const *server = ctx;
    struct call *c = call_http_of(r);

    if (c)
        apiserver_serve(*server, c);
    else
        http_answer(r, &(struct http_answer){ .status = 500 });
}
