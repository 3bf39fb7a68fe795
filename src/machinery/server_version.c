/* Parses /version of an API server and derives which features it has. */
#include "machinery/server_version.h"

#include <string.h>

#include "api/json.h"
#include "base/cleanup.h"

#define TEXT_BYTES_MAX ((size_t)64 << 10)
#define DIGITS_MAX 6

/* The number at the start of the text; -1 if there is none. */
static int leading_number(struct str text)
{
    int n = -1;

    for (size_t i = 0; i < text.len && i < DIGITS_MAX && text.s[i] >= '0' && text.s[i] <= '9'; i++)
        n = (n < 0 ? 0 : n) * 10 + (text.s[i] - '0');
    return n;
}

struct server_version server_version_own(void)
{
    return (struct server_version){ .major = leading_number(str_of(KUBERNETES_MAJOR)),
                                    .minor = leading_number(str_of(KUBERNETES_MINOR)),
                                    .is_berth = true };
}

int server_version_read(struct str text, struct server_version *ret, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    struct server_version v;
    struct str git;
    json_ref root = 0;
    int r;

    json_init(&d, TEXT_BYTES_MAX);
    r = json_parse(&d, text, &root, err);
    if (r < 0)
        return error_set(err, ERR_BAD_REQUEST, "version of API server is not valid JSON");
    v.major = leading_number(json_get_text(&d, root, "major"));
    v.minor = leading_number(json_get_text(&d, root, "minor"));
    git = json_get_text(&d, root, "gitVersion"); /* "v1.36.4+berth.0.1.0" */
    v.is_berth = git.len > 0 && memmem(git.s, git.len, BERTH_MARK, sizeof BERTH_MARK - 1);
    if (v.major < 0 || v.minor < 0)
        return error_set(err, ERR_BAD_REQUEST, "version of API server has no major and minor number");
    *ret = v;
    return 0;
}

static bool is_from(const struct server_version *v, int minor)
{
    return v->major > 1 || (v->major == 1 && v->minor >= minor);
}

bool server_version_streams_lists(const struct server_version *v)
{
    return is_from(v, 34);
}

bool server_version_has_unused(const struct server_version *v)
{
    return v->is_berth || is_from(v, 37);
}
