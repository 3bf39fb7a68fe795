/* Calls to the OpenAPI handler, without a server around it. */
#ifndef BERTH_TESTS_TEST_OPENAPI_H
#define BERTH_TESTS_TEST_OPENAPI_H

#include "tests/unit/test.h"

#include <strings.h>

#include "apiserver/openapi.h"

struct fake {
    const char *accept;        /* NULL for no such header */
    const char *if_none_match; /* the same */
    unsigned answers;
};

static struct str fake_header(const struct call *c, const char *name)
{
    const struct fake *f = c->carrier_ctx;
    const char *value = NULL;

    if (strcasecmp(name, "Accept") == 0)
        value = f->accept;
    else if (strcasecmp(name, "If-None-Match") == 0)
        value = f->if_none_match;
    return value ? str_of(value) : (struct str){ 0 };
}

static void fake_answer(struct call *c)
{
    ((struct fake *)c->carrier_ctx)->answers++;
}

static const struct carrier fake_carrier = { .header = fake_header, .answer = fake_answer };

/* Serves one call; the answer is in *c, to be released with call_done(). `hash` may be NULL. */
static void serve(struct openapi *o, enum http_method method, const char *path, const char *hash,
                  struct fake *f, struct call *c)
{
    struct param *p;

    call_init(c, &fake_carrier, f);
    c->method = method;
    c->route.path = path;
    if (hash) {
        p = arena_alloc(&c->arena, sizeof *p);
        *p = (struct param){ str_of("hash"), str_of(hash) };
        c->params = (struct params){ p, 1 };
    }
    f->answers = 0;
    openapi_serve(o, c);
    assert_int_equal(f->answers, 1);
}

static inline const char *answer_header(const struct call *c, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < c->headers.count; i++) {
        if (strcmp(c->headers.items[i].name, name) != 0)
            continue;
        assert_null(value); /* once */
        value = c->headers.items[i].value;
    }
    return value;
}

#endif
