#include "machinery/server_version.h"

#include "api/json.h"
#include "base/cleanup.h"

#define TEXT_BYTES_MAX ((size_t)64 << 10)
#define DIGITS_MAX 6

/* The number that the text begins with; -1 when it begins with none. */
static int leading_number(struct str text)
{
    int n = -1;

    for (size_t i = 0; i < text.len && i < DIGITS_MAX && text.s[i] >= '0' && text.s[i] <= '9'; i++)
        n = (n < 0 ? 0 : n) * 10 + (text.s[i] - '0');
    return n;
}

int server_version_read(struct str text, struct server_version *ret, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    struct server_version v;
    json_ref root = 0;
    int r;

    json_init(&d, TEXT_BYTES_MAX);
    r = json_parse(&d, text, &root, err);
    if (r < 0)
        return error_set(err, ERR_BAD_REQUEST, "what the server calls its version is no JSON");
    v.major = leading_number(json_get_text(&d, root, "major"));
    v.minor = leading_number(json_get_text(&d, root, "minor"));
    if (v.major < 0 || v.minor < 0)
        return error_set(err, ERR_BAD_REQUEST, "what the server calls its version has no numbers");
    *ret = v;
    return 0;
}

bool server_version_streams_lists(const struct server_version *v)
{
    return v->major > 1 || (v->major == 1 && v->minor >= 34);
}
