/* What the tests of patches share: rows of target, patch and what comes of it, and large texts. */
#ifndef BERTH_TESTS_TEST_PATCH_H
#define BERTH_TESTS_TEST_PATCH_H

#include "tests/unit/test.h"

#include "api/patch.h"
#include "base/cleanup.h"

#define BYTES_MAX ((size_t)8 << 20)

static struct error err;

struct patch_row {
    const char *target, *patch;
    const char *want; /* the result; NULL when it fails */
    enum err code;
    const char *message;
};

/* The result's text, malloc'd; NULL when the patch fails, with *code. */
static char *patch_text(enum patch_type type, const struct schema *s, const char *target, const char *patch,
                        int *code)
{
    struct buf out = BUF_INIT(BYTES_MAX);

    *code = patch_apply_text(type, s, str_of(target), str_of(patch), &out, &err);
    if (*code == 0)
        return buf_take(&out);
    buf_done(&out);
    return NULL;
}

static void check_refusal(const struct patch_row *row, int code)
{
    const char *message = row->message ? row->message : "";

    if (code == 0)
        fail_msg("%s + %s: expected '%s'", row->target, row->patch, message);
    if (code != -(int)row->code || strcmp(message, err.msg) != 0)
        fail_msg("%s + %s: '%s' (%s), expected '%s' (%s)", row->target, row->patch, err.msg,
                 error_name(err.code), message, error_name(row->code));
}

static void check_row(enum patch_type type, const struct schema *s, const struct patch_row *row)
{
    int code;
    _cleanup_(freep) char *have = patch_text(type, s, row->target, row->patch, &code);

    if (!row->want)
        check_refusal(row, code);
    else if (!have)
        fail_msg("%s + %s: %s (%s)", row->target, row->patch, err.msg, error_name(err.code));
    else if (strcmp(row->want, have) != 0)
        fail_msg("%s + %s: %s, expected %s", row->target, row->patch, have, row->want);
}

#define CHECK_ROWS(type, schema, rows)                  \
    do {                                                \
        for (size_t i_ = 0; i_ < ARRAY_LEN(rows); i_++) \
            check_row((type), (schema), &(rows)[i_]);   \
    } while (0)

/* head, then item once for each number below count with commas between, then tail. In the item # stands for
 * the number. */
static char *large_text(const char *head, const char *item, unsigned count, const char *tail)
{
    struct buf b = BUF_INIT(BYTES_MAX);

    buf_add_cstr(&b, head);
    for (unsigned i = 0; i < count; i++) {
        buf_add(&b, ",", i > 0);
        for (const char *c = item; *c; c++)
            if (*c == '#')
                buf_addf(&b, "%u", i);
            else
                buf_add_char(&b, *c);
    }
    buf_add_cstr(&b, tail);
    assert_true(!b.failed);
    return buf_take(&b);
}

/* before, n times, then middle, then after, n times. */
static char *nested_text(const char *before, unsigned n, const char *middle, const char *after)
{
    struct buf b = BUF_INIT(BYTES_MAX);

    for (unsigned i = 0; i < n; i++)
        buf_add_cstr(&b, before);
    buf_add_cstr(&b, middle);
    for (unsigned i = 0; i < n; i++)
        buf_add_cstr(&b, after);
    assert_true(!b.failed);
    return buf_take(&b);
}

#endif
