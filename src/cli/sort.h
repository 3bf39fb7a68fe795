/* Rows and objects in the order of a field, as --sort-by has it: numbers and quantities by their amount,
 * texts by their letters with runs of digits by their value; what lacks the field comes first. */
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
