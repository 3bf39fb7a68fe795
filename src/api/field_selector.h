/* Field selectors: `metadata.name=db,status.phase!=Failed`, the fieldSelector parameter.
 *
 * Which fields there are, and what they hold, is the caller's: kinds list theirs (field_selector_check()),
 * and matching asks for values through a callback. Texts live in the arena the selector was parsed with. */
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
    struct str value; /* may hold any byte: it is compared, never used */
    bool is_not;
};

/* Zeroed, it selects everything. */
struct field_selector {
    struct field_term *terms;
    size_t count;
    size_t room;
};

/* The value of an object's field, "" when it is unset; NULL for a field the object does not have, which
 * reads as "". */
typedef const char *(*field_get_fn)(void *ctx, const char *field);

/* `f=v` `f==v` `f!=v`, commas between; in values `\,` `\=` `\\` stand for the second character. Empty
 * terms are passed over. Errors are ERR_BAD_REQUEST in the API's words. */
int field_selector_parse(struct str text, struct arena *a, struct field_selector *ret, struct error *err);

/* Fails with ERR_BAD_REQUEST for a field that is not listed. known ends in NULL; a kind without a list of
 * its own passes NULL and has metadata.name and metadata.namespace. The API words the two cases
 * differently. */
int field_selector_check(const struct field_selector *sel, const char *const *known, struct error *err);

bool field_selector_matches(const struct field_selector *sel, field_get_fn get, void *ctx);

/* The value the field must have, if the selector pins it: a list of one name need not look at the others. */
bool field_selector_requires(const struct field_selector *sel, const char *field, struct str *ret);

/* A text that parses to the same terms. Returns the buffer's failure, if any. */
void field_selector_format(const struct field_selector *sel, struct buf *out);

#endif
