/* For tests that need a call: one that nobody carries, with headers of the test's choice. */
#ifndef BERTH_TESTS_TEST_CALL_H
#define BERTH_TESTS_TEST_CALL_H

#include "tests/unit/test.h"

#include <strings.h>

#include "apiserver/api_call.h"

/* "Name: value", ends with NULL. */
static const char *const *call_headers;

static inline struct str header_value(const char *line)
{
    const char *colon = strchr(line, ':');

    assert_non_null(colon);
    return str_trim(str_of(colon + 1));
}

static inline struct str header_name(const char *line)
{
    return (struct str){ line, (size_t)(strchr(line, ':') - line) };
}

static inline struct str test_header(const struct call *c, const char *name)
{
    (void)c;
    for (const char *const *h = call_headers; h && *h; h++)
        if (header_name(*h).len == strlen(name) && strncasecmp(*h, name, strlen(name)) == 0)
            return header_value(*h);
    return (struct str){ NULL, 0 };
}

static inline void test_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    (void)c;
    for (const char *const *h = call_headers; h && *h; h++)
        fn(ctx, header_name(*h), header_value(*h));
}

static inline void test_answered(struct call *c)
{
    (void)c;
}

static const struct carrier test_carrier = { test_header, test_each_header, test_answered };

#endif
