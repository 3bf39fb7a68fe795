/* What differs between two JSON values, for people: a pair of lines for each place.
 *
 *     - nfs.path: "/a"
 *     + nfs.path: "/b"
 *
 * A side that has no such value has no line. Lists are shown whole. The walk is bounded in depth and in what
 * it writes: whoever sends a value large enough gets the beginning of the answer and an ellipsis. */
#ifndef BERTH_API_JSON_DIFF_H
#define BERTH_API_JSON_DIFF_H

#include "api/json.h"

#define JSON_DIFF_BYTES_MAX ((size_t)4096)

/* Appends the lines; each ends with a newline. `path` is what the places are called by. */
void json_diff(const struct json *d, const char *path, json_ref before, json_ref after, struct buf *out);

#endif
