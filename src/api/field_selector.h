/* Field selectors: `metadata.name=db,status.phase!=Failed`, the fieldSelector parameter.
 *
 * The caller knows the fields: kinds list theirs (field_selector_check()), and matching gets values from a
 * callback. Texts are in the arena that the selector was parsed with. */
#ifndef BERTH_API_FIELD_SELECTOR_H
#define BERTH_API_FIELD_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

struct field_term {
    const char *field;
    struct str value; /* may contain any byte: it is only compared */
    bool is_not;
};

/* Zeroed: selects everything. */
struct field_selector {
    struct field_term *terms;
    size_t count;
    size_t room;
};

/* The value of a field of an object, "" if not set. NULL, for a field that the object does not have, counts
 * as "". */
typedef const char *(*field_get_fn)(void *ctx, const char *field);

/* `f=v` `f==v` `f!=v`, comma-separated; in values `\,` `\=` `\\` stand for the second character. Empty terms
 * are ignored. Errors are ERR_BAD_REQUEST with the texts of the API. */
int field_selector_parse(struct str text, struct arena *a, struct field_selector *ret, struct error *err);

/* ERR_BAD_REQUEST for a field that is not listed. known ends with NULL; NULL means metadata.name and
 * metadata.namespace. The API has different texts for the two cases. */
int field_selector_check(const struct field_selector *sel, const char *const *known, struct error *err);

bool field_selector_matches(const struct field_selector *sel, field_get_fn get, void *ctx);

/* The value that the field must have, if the selector requires one: a list by name then reads only one
 * object. */
bool field_selector_requires(const struct field_selector *sel, const char *field, struct str *ret);

/* Writes a text that parses to the same terms. Failures are kept in the buffer. */
void field_selector_format(const struct field_selector *sel, struct buf *out);

#endif
