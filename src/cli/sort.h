/* Sorts rows and objects by a field, as --sort-by does: numbers and quantities by amount, texts by letters
 * with runs of digits by value; items without the field come first. */
#ifndef BERTH_CLI_SORT_H
#define BERTH_CLI_SORT_H

#include "api/json.h"
#include "base/error.h"

/* The rows of a Table, by a field of their objects. */
int sort_rows(struct json *d, json_ref table, const char *path, struct error *err);
/* In place. */
int sort_objects(struct json *d, json_ref *objects, size_t count, const char *path, struct error *err);

/* "a2" is before "a10". */
int sort_compare_naturally(struct str a, struct str b);

#endif
