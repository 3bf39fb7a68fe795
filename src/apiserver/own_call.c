/* Calls of the server to itself: a carrier without a transport that keeps copies of the request until the
 * call is answered. */
#include "apiserver/own_call.h"

#include <stdlib.h>

#include "apiserver/server.h"

struct own_call {
    struct call call;
    const char *content_type;
    own_call_fn *done;
    void *ctx;
};

static struct str own_header(const struct call *c, const char *name)
{
    const struct own_call *o = c->carrier_ctx;

    if (strcmp(name, "Content-Type") == 0)
        return str_of(o->content_type);
    if (strcmp(name, "User-Agent") == 0)
        return STR_LIT("berth");
    return (struct str){ NULL, 0 };
}

static void own_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    (void)c;
    (void)fn;
    (void)ctx;
}

static void own_answer(struct call *c)
{
    struct own_call *o = c->carrier_ctx;

    o->done(o->ctx, c);
    call_done(c);
    free(o);
}

static const struct carrier own_carrier = { own_header, own_each_header, own_answer };

void own_call(struct apiserver *s, const struct own_request *q, own_call_fn *done, void *ctx)
{
    struct own_call *o = calloc(1, sizeof *o);
    const char *body;

    if (!o) {
        struct call failed = { .status = 500 };

        done(ctx, &failed);
        return;
    }
    call_init(&o->call, &own_carrier, o);
    o->done = done;
    o->ctx = ctx;
    o->content_type = q->content_type ? q->content_type : "application/json";
    o->call.method = q->method;
    o->call.target = str_of(call_copy(&o->call, q->target));
    body = arena_dup(&o->call.arena, q->body); /* may hold NULs */
    o->call.body = (struct str){ body ? body : "", body ? q->body.len : 0 };
    o->call.body_is_too_large = !body; /* without memory for it */
    o->call.is_trusted = true;
    o->call.user = q->user;
    apiserver_serve(s, &o->call);
}
