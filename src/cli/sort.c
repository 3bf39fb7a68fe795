/* Sorts rows and objects by a field, for --sort-by. */
#include "cli/sort.h"

#include <stdlib.h>

#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/jsonpath.h"

struct sorted {
    const struct json *d;
    json_ref value; /* the value to sort by */
    json_ref item;
    size_t index;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A run of digits, without leading zeros. */
static struct str take_digits(struct str *s)
{
    struct str run = *s;

    while (s->len && is_digit(s->s[0]))
        *s = (struct str){ s->s + 1, s->len - 1 };
    run.len -= s->len;
    while (run.len > 1 && run.s[0] == '0')
        run = (struct str){ run.s + 1, run.len - 1 };
    return run;
}

int sort_compare_naturally(struct str a, struct str b)
{
    while (a.len && b.len) {
        if (is_digit(a.s[0]) && is_digit(b.s[0])) {
            struct str x = take_digits(&a), y = take_digits(&b);
            int order = x.len != y.len ? (x.len < y.len ? -1 : 1) : str_cmp(x, y);

            if (order)
                return order;
            continue;
        }
        if (a.s[0] != b.s[0])
            return (unsigned char)a.s[0] < (unsigned char)b.s[0] ? -1 : 1;
        a = (struct str){ a.s + 1, a.len - 1 };
        b = (struct str){ b.s + 1, b.len - 1 };
    }
    return a.len ? 1 : b.len ? -1 : 0;
}

static int compare_values(const struct json *d, json_ref a, json_ref b)
{
    struct str x = json_text(d, a), y = json_text(d, b);
    struct quantity p, q;
    struct error ignored;

    if (!a || !b)
        return (a != 0) - (b != 0);
    if (json_type(d, a) != json_type(d, b) || (x.len == 0 && y.len == 0))
        return (int)json_type(d, a) - (int)json_type(d, b);
    if (x.len <= QUANTITY_TEXT_BYTES_MAX && y.len <= QUANTITY_TEXT_BYTES_MAX &&
        quantity_parse(x, &p, &ignored) == 0 && quantity_parse(y, &q, &ignored) == 0)
        return quantity_cmp(&p, &q);
    return sort_compare_naturally(x, y);
}

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted *left = a, *right = b;
    int order = compare_values(left->d, left->value, right->value);

    return order ? order : left->index < right->index ? -1 : 1;
}

/* member: where the path begins in an item; NULL for the item itself. */
static int find_values(struct json *d, struct sorted *items, size_t count, const char *member,
                       const char *path, struct error *err)
{
    _cleanup_(jsonpath_free_p) struct jsonpath *p = NULL;
    _cleanup_(vec_done_p) struct jsonpath_values found = { 0 };
    size_t with = 0;
    int r = jsonpath_parse_path(str_of(path), &p, err);

    for (size_t i = 0; i < count && r == 0; i++) {
        json_ref from = member ? json_get(d, items[i].item, member) : items[i].item;

        r = jsonpath_find(p, d, from, &found, err);
        items[i].value = r == 0 && found.count ? found.items[0] : 0;
        with += items[i].value != 0;
    }
    if (r == 0 && count && with == 0)
        return error_set(err, ERR_INVALID, "couldn't find any field with path \"%s\" in the list of objects",
                         path);
    return r;
}

static int sort_items(struct json *d, struct sorted *items, size_t count, const char *member,
                      const char *path, struct error *err)
{
    int r = find_values(d, items, count, member, path, err);

    if (r == 0 && count)
        qsort(items, count, sizeof *items, compare_sorted);
    return r;
}

int sort_objects(struct json *d, json_ref *objects, size_t count, const char *path, struct error *err)
{
    _cleanup_(vec_done_p) VEC(struct sorted) items = { 0 };
    int r;

    if (vec_reserve(&items, count) < 0)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        items.items[items.count++] = (struct sorted){ .d = d, .item = objects[i], .index = i };
    r = sort_items(d, items.items, count, /* member= */ NULL, path, err);
    for (size_t i = 0; i < count && r == 0; i++)
        objects[i] = items.items[i].item;
    return r;
}

int sort_rows(struct json *d, json_ref table, const char *path, struct error *err)
{
    _cleanup_(vec_done_p) VEC(struct sorted) items = { 0 };
    json_ref rows = json_get(d, table, "rows");
    int r;

    if (vec_reserve(&items, json_count(d, rows)) < 0)
        return error_no_memory(err);
    for (json_ref row = json_first(d, rows); row; row = json_next(d, row)) {
        items.items[items.count] = (struct sorted){ .d = d, .item = row, .index = items.count };
        items.count++;
    }
    r = sort_items(d, items.items, items.count, "object", path, err);
    if (r < 0)
        return r;
    for (json_ref row = json_first(d, rows); row; row = json_first(d, rows))
        json_unlink(d, row); /* the first item is cheap to unlink: any other costs a walk to it */
    for (size_t i = 0; i < items.count; i++)
        json_append(d, rows, items.items[i].item);
    return 0;
}
