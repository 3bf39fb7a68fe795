/* For the tests of what the server does to an object whatever its writer sent. */
#ifndef BERTH_TESTS_TEST_PREPARE_H
#define BERTH_TESTS_TEST_PREPARE_H

#include "tests/unit/test_kind.h"

/* The moment at which everything is prepared: 2024-05-01T10:00:00Z. */
#define PREPARE_NOW ((struct timestamp){ .seconds = 1714557600 })

/* text as it would be stored: created, or written over old when that is not NULL. Lives until the next
 * call. */
static inline const char *kind_prepared(enum kind kind, enum write_part part, const char *old,
                                        const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    const struct kind_info *k = kind_info(kind);
    json_ref v, before;

    json_init(&d, 16 << 20);
    buf_clear(&out);
    ASSERT_OK(kind_read(kind, text, &d, &v, NULL));
    if (old) {
        ASSERT_OK(kind_read(kind, old, &d, &before, NULL));
        k->prepare_update(&d, v, before, part, PREPARE_NOW);
    } else {
        k->prepare_create(&d, v, PREPARE_NOW);
    }
    ASSERT_OK(schema_normalize(k->schema, &d, v, SCHEMA_DROP_UNKNOWN, NULL, &err));
    json_write(&d, v, &out);
    return buf_cstr(&out);
}

#define ASSERT_PREPARED(kind, part, expected_text, old, text)               \
    do {                                                                    \
        _cleanup_(buf_done_p) struct buf want_ = BUF_INIT(1 << 20);         \
        kind_quotes(expected_text, &want_);                                 \
        ASSERT_STR(buf_cstr(&want_), kind_prepared(kind, part, old, text)); \
    } while (0)

#endif
