/* Splits the target of a request into path segments and parameters. Dots are resolved after percent-decoding,
 * so that an encoded ".." is resolved too. */
#include "http/target.h"

#include <string.h>

/* Splits a decoded path; "." is skipped, ".." removes a segment, empty segments do not count. */
static int target_split(struct str path, struct http_target *t, struct error *err)
{
    t->segments_count = 0;
    while (path.s) {
        struct str part = str_next(&path, '/');

        if (part.len == 0 || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            t->segments_count -= t->segments_count > 0;
            continue;
        }
        if (t->segments_count == HTTP_SEGMENTS_MAX)
            return error_set(err, ERR_BAD_REQUEST, "the path has more than %d segments", HTTP_SEGMENTS_MAX);
        t->segments[t->segments_count++] = part;
    }
    return 0;
}

/* len: of the path before it was split, which is at least as long as the result. */
static int target_join(struct http_target *t, size_t len, struct arena *a, struct error *err)
{
    char *at = arena_alloc(a, len + 1);

    if (!at)
        return error_no_memory(err);
    t->path = at;
    for (size_t i = 0; i < t->segments_count; i++) {
        *at++ = '/';
        memcpy(at, t->segments[i].s, t->segments[i].len);
        at += t->segments[i].len;
    }
    if (t->segments_count == 0)
        *at++ = '/';
    *at = '\0';
    return 0;
}

int http_target_parse(struct str target, struct arena *a, struct http_target *ret, struct error *err)
{
    struct str query = target, path = str_next(&query, '?'), decoded;
    int r;

    if (path.len == 0 || path.s[0] != '/')
        return error_set(err, ERR_BAD_REQUEST, "the request target is not a path");
    r = percent_decode(path, /* plus_is_blank= */ false, a, &decoded, err);
    if (r == 0)
        r = target_split(decoded, ret, err);
    if (r == 0)
        r = params_parse(query.s ? query : STR_LIT(""), a, &ret->params, err);
    if (r == 0)
        r = target_join(ret, decoded.len, a, err);
    return r;
}
