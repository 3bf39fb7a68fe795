/* Points in time as in the API: RFC 3339; written in UTC.
 *
 * A zeroed struct means "no time". Years 1 to 9999; the leap second is rejected, as in Go. */
#ifndef BERTH_API_TIMES_H
#define BERTH_API_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

struct timestamp {
    int64_t seconds; /* since 1970-01-01T00:00:00Z, may be negative */
    int32_t nanos;   /* 0 to 999,999,999, added also before 1970 */
};

/* "2024-05-01T10:00:00Z", with any number of fraction digits (nine are used) and any offset. Errors are
 * ERR_BAD_REQUEST with Go's texts. */
int timestamp_parse(struct str text, struct timestamp *ret, struct error *err);
/* A MicroTime has exactly six fraction digits. */
int timestamp_parse_micro(struct str text, struct timestamp *ret, struct error *err);

/* True for a valid text that timestamp_format() (or _micro) would write: only checks length and Z. */
static inline bool timestamp_is_canonical(struct str text, bool is_micro)
{
    return text.len ==
               (is_micro ? sizeof "2006-01-02T15:04:05.000000Z" : sizeof "2006-01-02T15:04:05Z") - 1 &&
           text.s[text.len - 1] == 'Z';
}

/* From nanoseconds of the wall clock. */
struct timestamp timestamp_of_ns(int64_t unix_ns);

static inline bool timestamp_is_zero(struct timestamp t)
{
    return t.seconds == 0 && t.nanos == 0;
}

/* Negative, zero or positive: a is before, at or after b. */
int timestamp_cmp(struct timestamp a, struct timestamp b);

/* Time: whole seconds, without fraction. MicroTime: always six digits. Both end with Z. Failures are kept in
 * the buffer. */
void timestamp_format(struct timestamp t, struct buf *out);
void timestamp_format_micro(struct timestamp t, struct buf *out);

/* The age column of tables: "42s", "3m5s", "5d3h", "2y40d"; "<invalid>" for more than a second in the future.
 */
void duration_human(int64_t seconds, struct buf *out);

/* A duration as Go prints one: "0s", "500ms", "1.5s", "2m2s", "1h0m0s". */
void duration_write(int64_t ns, struct buf *out);

/* The age of an object created at t: "<unknown>" for no time. */
void timestamp_age(struct timestamp t, struct timestamp now, struct buf *out);

#endif
