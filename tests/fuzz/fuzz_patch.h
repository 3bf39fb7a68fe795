/* What the fuzz targets of patches share. An input is a target, a line end, and a patch. */
#ifndef BERTH_TESTS_FUZZ_PATCH_H
#define BERTH_TESTS_FUZZ_PATCH_H

#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/patch.h"

#define BYTES_MAX ((size_t)1 << 20)

/* Two trees of one document, if both texts are JSON. */
struct pair {
    struct json d;
    struct str texts[2];
    json_ref target, patch;
};

static bool pair_parse(struct pair *p, const uint8_t *data, size_t size)
{
    struct str rest = { size ? (const char *)data : "", size };
    struct error err;

    p->texts[0] = str_next(&rest, '\n');
    p->texts[1] = rest.s ? rest : (struct str){ "", 0 };
    json_init(&p->d, BYTES_MAX);
    return json_parse(&p->d, p->texts[0], &p->target, &err) == 0 &&
           json_parse(&p->d, p->texts[1], &p->patch, &err) == 0;
}

/* How much of the document was in use before a patch. */
struct patch_use {
    uint32_t nodes;
    size_t text_bytes;
};

static inline struct patch_use patch_use(const struct json *d)
{
    return (struct patch_use){ d->count, d->texts.used };
}

/* Whether it succeeds or fails, a patch takes no more memory than it has operations and names, and copies of
 * at most copied_max bytes, whose smallest value is two bytes of text ("0,"). */
static inline void check_use(const struct pair *p, struct patch_use before, size_t copied_max)
{
    struct patch_use now = patch_use(&p->d);

    FUZZ_CHECK(now.nodes - before.nodes <= copied_max / 2 + 1 + p->texts[1].len);
    FUZZ_CHECK(now.text_bytes - before.text_bytes <= 2 * p->texts[1].len);
}

/* Every link of a tree holds, every key stands once, and nothing half-removed is left. */
static void check_tree(const struct json *d, json_ref top)
{
    json_ref v = top;
    uint32_t depth = 0;

    FUZZ_CHECK(json_parent(d, top) == 0);
    for (;;) {
        uint32_t count = 0;
        FUZZ_CHECK(json_type(d, v) != JSON_NONE);
        for (json_ref child = json_first(d, v); child; child = json_next(d, child), count++) {
            FUZZ_CHECK(json_parent(d, child) == v);
            FUZZ_CHECK(count <= json_count(d, v));
            if (json_type(d, v) == JSON_OBJECT)
                FUZZ_CHECK(json_get_key(d, v, json_key(d, child)) == child);
        }
        FUZZ_CHECK(count == json_count(d, v));
        if (json_first(d, v)) {
            v = json_first(d, v);
            depth++;
            FUZZ_CHECK(depth <= JSON_DEPTH_MAX);
            continue;
        }
        for (; v != top && !json_next(d, v); v = json_parent(d, v))
            depth--;
        if (v == top)
            break;
        v = json_next(d, v);
    }
}

/* A result is a whole tree, whose text is JSON for that tree; a refusal says why. */
static void check_result(struct json *d, json_ref v, int r, const struct error *err)
{
    struct buf text = BUF_INIT(64 * BYTES_MAX);
    struct error again;
    json_ref parsed;

    if (r < 0) {
        FUZZ_CHECK(r == -ERR_BAD_REQUEST || r == -ERR_INVALID || r == -ERR_TOO_LARGE);
        FUZZ_CHECK(err->msg[0] != '\0');
        FUZZ_CHECK(str_is_utf8(str_of(err->msg)));
        return;
    }
    check_tree(d, v);
    json_write(d, v, &text);
    if (!text.failed && text.len < BYTES_MAX) {
        FUZZ_CHECK(json_parse(d, buf_str(&text), &parsed, &again) == 0);
        FUZZ_CHECK(json_equal(d, v, parsed));
    }
    buf_done(&text);
}

#endif
