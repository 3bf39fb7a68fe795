/* For the tests of tables: objects as JSON texts in (quotes may be '), cells as JSON out. */
#ifndef BERTH_TESTS_TEST_TABLE_H
#define BERTH_TESTS_TEST_TABLE_H

#include "tests/unit/test_kind.h"

#include "api/json.h"
#include "apiserver/table.h"

/* 2024-05-01T10:00:00Z: when every test happens. */
#define TABLE_NOW ((struct timestamp){ .seconds = 1714557600 })

static inline struct table_options table_how(enum include_object include)
{
    return (struct table_options){ .now = TABLE_NOW, .include = include, .version = "v1" };
}

/* How many columns the kind has. */
static inline uint32_t table_width(enum kind kind)
{
    _cleanup_(buf_done_p) struct buf columns = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, 1 << 20);
    table_write_columns(kind_info(kind), &columns);
    ASSERT_OK(json_parse(&d, buf_str(&columns), &v, &err));
    return json_count(&d, v);
}

/* The cells of the object's row, as many as there are columns. Lives until the next call. */
static inline const char *table_cells(enum kind kind, const char *text)
{
    static struct buf out = { .len_max = 16 << 20 };
    _cleanup_(buf_done_p) struct buf row = BUF_INIT(16 << 20);
    _cleanup_(object_unref_p) struct object *o = kind_object(kind, text);
    _cleanup_(json_done_p) struct json d;
    struct table_options how = table_how(INCLUDE_NONE);
    json_ref v, cells;

    json_init(&d, 16 << 20);
    table_write_row(o, &how, &row);
    ASSERT_OK(json_parse(&d, buf_str(&row), &v, &err));
    assert_int_equal(json_type(&d, json_get(&d, v, "object")), JSON_NULL);
    cells = json_get(&d, v, "cells");
    assert_int_equal(json_count(&d, cells), table_width(kind));
    buf_clear(&out);
    json_write(&d, cells, &out);
    return buf_cstr(&out);
}

#define ASSERT_CELLS(kind, expected, text) ASSERT_STR(kind_row(expected), table_cells(kind, text))

struct cells_row {
    enum kind kind;
    const char *expected;
    const char *text;
};

static inline void table_check_rows(const struct cells_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ASSERT_CELLS(rows[i].kind, rows[i].expected, rows[i].text);
}

#endif
