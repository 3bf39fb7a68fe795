/* For the tests of kinds: objects as JSON texts in, canonical texts and field errors out. Quotes in texts may
 * be written as ' to keep rows readable. Returned texts live until the next call of the same function. */
#ifndef BERTH_TESTS_TEST_KIND_H
#define BERTH_TESTS_TEST_KIND_H

#include "tests/unit/test.h"

#include "api/json.h"
#include "api/kind.h"
#include "api/object.h"
#include "api/schema.h"
#include "api/validate.h"
#include "base/buf.h"
#include "base/cleanup.h"

/* Another name for the linker: err() is a function of libc. */
extern struct error err __asm__("tests_err");

void kind_quotes(const char *text, struct buf *out);

/* Parses into d, normalizes and sets defaults, as the server does with what it is sent. */
int kind_read(enum kind kind, const char *text, struct json *d, json_ref *ret, struct field_report *report);

/* The object as the server would keep it, or the decoding error's message. */
const char *kind_text(enum kind kind, const char *text);

/* What strict decoding would say, joined with ", "; "" for nothing. */
const char *kind_report(enum kind kind, const char *text);

/* The warnings of going from old (NULL: creation) to text, one per line; "" for none. */
const char *kind_warnings(enum kind kind, const char *old, const char *text);

/* The field errors of going from old (NULL: creation) to text, one a line; "" when it is fine. */
const char *kind_errors(enum kind kind, enum write_part part, const char *old, const char *text);

/* The row's text with its quotes in place; lives until the next call. */
const char *kind_row(const char *text);

#define ASSERT_STORED(kind, expected, text) ASSERT_STR(kind_row(expected), kind_text(kind, text))
#define ASSERT_CREATE(kind, expected, text) ASSERT_STR(expected, kind_errors(kind, WRITE_MAIN, NULL, text))
#define ASSERT_UPDATE(kind, expected, old, text) \
    ASSERT_STR(expected, kind_errors(kind, WRITE_MAIN, old, text))
#define ASSERT_STATUS(kind, expected, old, text) \
    ASSERT_STR(expected, kind_errors(kind, WRITE_STATUS, old, text))

/* The view; the caller unrefs. Fails the test when it does not decode. */
struct object *kind_object(enum kind kind, const char *text);

#endif
