/* Writes and reads the continue tokens of paged lists. Tokens are checked as untrusted input: length,
 * version, revision and key. */
#include "apiserver/continue_token.h"

#include "api/base64.h"
#include "api/json.h"
#include "api/json_out.h"
#include "base/cleanup.h"

#define TOKEN_VERSION "meta.k8s.io/v1"

/* --- Base64 for URLs: two different digits and no padding --- */

static void encode_url(struct str bytes, struct buf *out)
{
    size_t from = out->len;

    base64_encode(bytes, out);
    while (out->len > from && out->data[out->len - 1] == '=')
        out->data[--out->len] = '\0';
    for (size_t i = from; i < out->len; i++) {
        if (out->data[i] == '+')
            out->data[i] = '-';
        else if (out->data[i] == '/')
            out->data[i] = '_';
    }
}

static char standard_digit(char c)
{
    if (c == '-')
        return '+';
    return c == '_' ? '/' : c;
}

static int decode_url(struct str text, struct buf *out, struct error *err)
{
    _cleanup_(buf_done_p) struct buf standard = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX + 4);

    for (size_t i = 0; i < text.len; i++)
        buf_add_char(&standard, standard_digit(text.s[i]));
    while (!standard.failed && standard.len % 4)
        buf_add_char(&standard, '=');
    if (standard.failed)
        return buf_check(&standard, "continue key", err);
    return base64_decode(buf_str(&standard), out, err);
}

/* --- Tokens --- */

void continue_token_write(const struct continue_token *t, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf start = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);

    if (t->ns.len) {
        buf_add_str(&start, t->ns);
        buf_add_char(&start, '/');
    }
    buf_add_str(&start, t->name);
    buf_add_char(&start, '\0');
    json_out_object(&json, NULL);
    json_out_text(&json, "v", TOKEN_VERSION);
    json_out_int(&json, "rv", t->revision);
    json_out_str(&json, "start", buf_str(&start));
    if (t->left >= 0)
        json_out_int(&json, "left", t->left);
    json_out_end_object(&json);
    if (start.failed || json.failed)
        buf_fail(out, start.failed ? start.failed : json.failed);
    else
        encode_url(buf_str(&json), out);
}

/* Splits the key. At cluster scope it has no namespace. */
static int read_start(struct str start, struct arena *a, struct continue_token *t, struct error *err)
{
    const char *copy = arena_dup(a, start);
    struct str rest = { copy, start.len }, first;

    if (!copy)
        return arena_check(a, err);
    first = str_next(&rest, '/');
    t->ns = rest.s ? first : STR_LIT("");
    t->name = rest.s ? rest : first;
    return 0;
}

static int read_fields(const struct json *d, json_ref v, struct arena *a, struct continue_token *ret,
                       struct error *err)
{
    struct str version = json_get_text(d, v, "v"), start = json_get_text(d, v, "start");
    struct continue_token t = { .left = -1 };
    int r;

    if (!str_is(version, TOKEN_VERSION))
        return error_set(err, ERR_BAD_REQUEST, "continue key is not valid: unknown version");
    if (!json_int64(d, json_get(d, v, "rv"), &t.revision) ||
        (t.revision <= 0 && t.revision != CONTINUE_AT_NEWEST))
        return error_set(
            err, ERR_BAD_REQUEST,
            "continue key is not valid: incorrect encoded start resourceVersion (version " TOKEN_VERSION ")");
    if (start.len == 0)
        return error_set(err, ERR_BAD_REQUEST,
                         "continue key is not valid: encoded start key empty (version " TOKEN_VERSION ")");
    if (!json_int64(d, json_get(d, v, "left"), &t.left) || t.left < 0)
        t.left = -1;
    r = read_start(start, a, &t, err);
    if (r == 0)
        *ret = t;
    return r;
}

int continue_token_read(struct str text, struct arena *a, struct continue_token *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf bytes = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v = 0;
    int r;

    json_init(&d, CONTINUE_TOKEN_BYTES_MAX);
    if (text.len > CONTINUE_TOKEN_BYTES_MAX)
        return error_set(err, ERR_BAD_REQUEST, "continue key is not valid: too long");
    r = decode_url(text, &bytes, err);
    if (r == 0)
        r = json_parse(&d, buf_str(&bytes), &v, err);
    if (r < 0)
        return r == -ERR_BAD_REQUEST ? error_wrap(err, "continue key is not valid") : r;
    return read_fields(&d, v, a, ret, err);
}
