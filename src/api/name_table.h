/* The names of a list's items, sorted, for validation rules that look names up: O(log n) per lookup. */
#ifndef BERTH_API_NAME_TABLE_H
#define BERTH_API_NAME_TABLE_H

#include "api/validate.h"

struct named {
    struct str name;
    json_ref item;
};

struct name_table {
    struct named *items;
    uint32_t count;
};

/* A table of the items' members with that name, or of the items themselves if key is NULL. Without memory it
 * is empty: see errors_check_room(). */
struct name_table name_table_of(struct validation *v, json_ref list, const char *key);
/* An empty table with room for count names, to be filled and sorted. */
struct name_table name_table_new(struct validation *v, uint32_t count);
void name_table_sort(struct name_table *t);
json_ref name_table_find(const struct name_table *t, struct str name);

#endif
