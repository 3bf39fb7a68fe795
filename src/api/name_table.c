/* Sorts and searches the names of list items. The table is in the arena of the errors; names are borrowed
 * from the document. */
#include "api/name_table.h"

#include <stdlib.h>

static int named_cmp(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int r = str_cmp(left->name, right->name);

    return r ? r : (left->item > right->item) - (left->item < right->item);
}

struct name_table name_table_new(struct validation *v, uint32_t count)
{
    return (struct name_table){
        .items = count ? arena_array(&v->errors->arena, count, sizeof(struct named)) : NULL,
    };
}

void name_table_sort(struct name_table *t)
{
    if (t->count > 1)
        qsort(t->items, t->count, sizeof *t->items, named_cmp);
}

struct name_table name_table_of(struct validation *v, json_ref list, const char *key)
{
    struct name_table t = name_table_new(v, json_count(v->d, list));

    for (json_ref m = t.items ? json_first(v->d, list) : 0; m; m = json_next(v->d, m))
        t.items[t.count++] = (struct named){ key ? json_get_text(v->d, m, key) : json_text(v->d, m), m };
    name_table_sort(&t);
    return t;
}

json_ref name_table_find(const struct name_table *t, struct str name)
{
    uint32_t low = 0, high = t->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (str_cmp(t->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->count && str_eq(t->items[low].name, name) ? t->items[low].item : 0;
}
