/* The target of a request: the segments of its path, and its parameters. */
#ifndef BERTH_HTTP_TARGET_H
#define BERTH_HTTP_TARGET_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "http/params.h"

#define HTTP_SEGMENTS_MAX 64

struct http_target {
    const char *path; /* percent-decoded, dots resolved, without a trailing slash; "/" for the root */
    struct str segments[HTTP_SEGMENTS_MAX];
    size_t segments_count;
    struct params params;
};

/* Texts of the result are in the arena. ERR_BAD_REQUEST for a target that is not a path. */
int http_target_parse(struct str target, struct arena *a, struct http_target *ret, struct error *err);

#endif
