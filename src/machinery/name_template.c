/* Fills in name templates. One pass over the template; the result is bounded. */
#include "machinery/name_template.h"

#include <string.h>

#include "api/quote.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define RESULT_BYTES_MAX ((size_t)64 << 10)
#define QUOTED_BYTES 512

static const char *token_value(const struct name_token *tokens, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, tokens[i].name))
            return tokens[i].value;
    return NULL;
}

int name_template_resolve(struct arena *a, const char *template, const struct name_token *tokens,
                          size_t tokens_count, enum name_rule rule, const char *what, const char **ret,
                          struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(RESULT_BYTES_MAX), unknown = BUF_INIT(RESULT_BYTES_MAX);
    const char *rest = template, *begin, *end;
    char quoted[QUOTED_BYTES];

    while ((begin = strstr(rest, "${")) && (end = strchr(begin, '}'))) {
        struct str name = { begin + 2, (size_t)(end - begin - 2) };
        const char *value = token_value(tokens, tokens_count, name);

        buf_add(&text, rest, (size_t)(begin - rest));
        if (value)
            buf_add_cstr(&text, value);
        else
            buf_addf(&unknown, "%s%s", unknown.len ? " " : "", quote_text(quoted, sizeof quoted, name));
        rest = end + 1;
    }
    buf_add_cstr(&text, rest);
    if (text.failed || unknown.failed)
        return error_set(err, ERR_TOO_LARGE, "the %s is too long", what);
    if (unknown.len)
        return error_set(err, ERR_INVALID, "error resolving value %s: invalid tokens: [%s]",
                         quote_text(quoted, sizeof quoted, str_of(template)), buf_cstr(&unknown));
    if (!name_is_valid(rule, buf_str(&text)))
        return strcmp(template, buf_cstr(&text)) == 0
                   ? error_set(err, ERR_INVALID, "%s is not a valid %s",
                               quote_text(quoted, sizeof quoted, str_of(template)), what)
                   : error_set(err, ERR_INVALID, "\"%s\" resolved to \"%s\" which is not a valid %s",
                               template, buf_cstr(&text), what);
    *ret = arena_dup(a, buf_str(&text));
    return arena_check(a, err);
}
