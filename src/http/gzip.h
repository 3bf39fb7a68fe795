/* A stream that compresses another piece by piece as it is sent, so that compressing a long answer does not
 * block the loop.
 *
 * Fast rather than small (level 1): a list of objects still shrinks to a tenth. Costs GZIP_HELD_BYTES while
 * it lasts, and about a millisecond for 100 KiB of text. */
#ifndef BERTH_HTTP_GZIP_H
#define BERTH_HTTP_GZIP_H

#include <stdbool.h>

#include "base/str.h"
#include "http/stream.h"

#define GZIP_HELD_BYTES ((size_t)300 << 10)

/* True when a value of Accept-Encoding allows gzip. */
bool gzip_is_accepted(struct str accept_encoding);

/* Takes ownership of the source and closes it with itself, also on failure (NULL: out of memory). */
struct stream *gzip_stream_new_take(struct stream *source);

#endif
