/* Differences between two JSON values for users: a pair of lines per place.
 *
 *     - nfs.path: "/a"
 *     + nfs.path: "/b"
 *
 * A side without a value has no line. Lists are written as a whole. Depth and output are bounded: for a large
 * value the result is truncated with an ellipsis. */
#ifndef BERTH_API_JSON_DIFF_H
#define BERTH_API_JSON_DIFF_H

#include "api/json.h"

#define JSON_DIFF_BYTES_MAX ((size_t)4096)

/* Appends the lines; each ends with a newline. `path` is the prefix of the paths. */
void json_diff(const struct json *d, const char *path, json_ref before, json_ref after, struct buf *out);

#endif
