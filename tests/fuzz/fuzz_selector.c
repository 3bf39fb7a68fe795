/* Label and field selectors on any bytes: one that parses, written as text, parses again to the same text
 * and gives the same answers. The first byte picks the kind. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/field_selector.h"
#include "api/node_selector.h"
#include "api/selector.h"
#include "base/cleanup.h"

#define ARENA_BYTES_MAX (64U << 20)

static const struct kv labels[] = {
    { "a", "" },       { "b", "1" },     { "disk", "ssd" }, { "example.com/rack", "r1" },
    { "in", "notin" }, { "size", "10" },
};

/* Every subset of the labels is one more question. */
static void check_answers(const struct label_selector *a, const struct label_selector *b)
{
    for (unsigned subset = 0; subset < 1U << ARRAY_LEN(labels); subset++) {
        struct kv some[ARRAY_LEN(labels)];
        size_t count = 0;

        for (size_t i = 0; i < ARRAY_LEN(labels); i++)
            if (subset >> i & 1)
                some[count++] = labels[i];
        FUZZ_CHECK(label_selector_matches(a, some, count) == label_selector_matches(b, some, count));
    }
}

static void check_label_selector(struct str text)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1U << 20), twice = BUF_INIT(1U << 20);
    struct label_selector sel, again;
    struct error err;

    if (label_selector_parse(text, &a, &sel, &err) < 0) {
        FUZZ_CHECK(err.code == ERR_BAD_REQUEST);
        return;
    }
    label_selector_format(&sel, &out);
    FUZZ_CHECK(!out.failed);
    FUZZ_CHECK(label_selector_parse(buf_str(&out), &a, &again, &err) == 0);
    label_selector_format(&again, &twice);
    FUZZ_CHECK(!twice.failed);
    FUZZ_CHECK(str_eq(buf_str(&out), buf_str(&twice)));
    check_answers(&sel, &again);
}

/* Fields answer with the next of a few values. */
static const char *get_field(void *ctx, const char *field)
{
    static const char *const values[] = { "", "a", "a,b=c\\d", NULL };
    unsigned *shift = ctx;

    return values[(strlen(field) + *shift) % ARRAY_LEN(values)];
}

static void check_field_selector(struct str text)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1U << 20), twice = BUF_INIT(1U << 20);
    struct field_selector sel, again;
    struct error err;

    if (field_selector_parse(text, &a, &sel, &err) < 0) {
        FUZZ_CHECK(err.code == ERR_BAD_REQUEST);
        return;
    }
    field_selector_format(&sel, &out);
    FUZZ_CHECK(!out.failed);
    FUZZ_CHECK(field_selector_parse(buf_str(&out), &a, &again, &err) == 0);
    FUZZ_CHECK(sel.count == again.count);
    field_selector_format(&again, &twice);
    FUZZ_CHECK(!twice.failed);
    FUZZ_CHECK(str_eq(buf_str(&out), buf_str(&twice)));
    for (unsigned shift = 0; shift < 4; shift++)
        FUZZ_CHECK(field_selector_matches(&sel, get_field, &shift) ==
                   field_selector_matches(&again, get_field, &shift));
    (void)field_selector_check(&sel, NULL, &err); /* either answer will do */
}

/* Requirements from parts: lines of blank-separated words, key, operator, values; an empty line begins a
 * term. A selector without errors answers as its single label selectors do. */
static void check_node_selector(struct str text)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct node_selector sel = { 0 };
    struct label_selector plain = { 0 };
    bool is_plain = true;
    struct error err;

    FUZZ_CHECK(node_selector_add_term(&sel, &a, &err) == 0);
    while (text.s) {
        struct str line = str_next(&text, '\n'), values[8];
        struct requirement_parts parts = { .key = str_next(&line, ' '), .values = values };

        if (parts.key.len == 0 && !line.s) {
            FUZZ_CHECK(node_selector_add_term(&sel, &a, &err) == 0);
            is_plain = false;
            continue;
        }
        parts.op = line.s ? str_next(&line, ' ') : (struct str){ "", 0 };
        while (line.s && parts.values_count < ARRAY_LEN(values))
            values[parts.values_count++] = str_next(&line, ' ');
        FUZZ_CHECK(node_selector_add_expression(&sel, &a, &parts, &err) == 0);
        if (label_selector_add(&plain, &a, &parts, &err) < 0)
            is_plain = false;
        FUZZ_CHECK(a.failed == ERR_NONE);
    }
    int r = node_selector_matches(&sel, labels, ARRAY_LEN(labels), "n1", &err);
    FUZZ_CHECK(r == 1 || r == 0 || r == -ERR_INVALID);
    if (is_plain && plain.count)
        FUZZ_CHECK(r == label_selector_matches(&plain, labels, ARRAY_LEN(labels)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text;

    if (size == 0)
        return 0;
    text = (struct str){ (const char *)data + 1, size - 1 };
    if (data[0] == 'l')
        check_label_selector(text);
    else if (data[0] == 'f')
        check_field_selector(text);
    else if (data[0] == 'n')
        check_node_selector(text);
    return 0;
}
