/* Parses, checks, matches and formats field selectors. The texts are untrusted: they must be UTF-8 without
 * NUL in field names, and their size is bounded by the request. O(n) in the length of the text; matching is
 * O(terms). */
#include "api/field_selector.h"

#include "api/quote.h"
#include "api/selector_int.h"

/* The part of *rest up to the next unescaped comma; *rest keeps what follows, s == NULL at the end. */
static struct str next_term(struct str *rest)
{
    struct str term = *rest;

    for (size_t i = 0; i < term.len; i++) {
        if (term.s[i] == '\\') {
            i++; /* the escaped character */
        } else if (term.s[i] == ',') {
            *rest = (struct str){ term.s + i + 1, term.len - i - 1 };
            term.len = i;
            return term;
        }
    }
    *rest = (struct str){ NULL, 0 };
    return term;
}

/* Splits at the first operator. */
static bool split_term(struct str term, struct str *ret_field, bool *ret_is_not, struct str *ret_value)
{
    for (size_t i = 0; i < term.len; i++) {
        struct str at = { term.s + i, term.len - i };
        bool is_not = str_has_prefix(at, "!=");
        size_t len = is_not || str_has_prefix(at, "==") ? 2 : 1;

        if (!is_not && at.s[0] != '=')
            continue;
        *ret_field = (struct str){ term.s, i };
        *ret_is_not = is_not;
        *ret_value = (struct str){ at.s + len, at.len - len };
        return true;
    }
    return false;
}

/* A backslash and the complete UTF-8 character after it. */
static struct str escape_sequence(struct str s, size_t backslash)
{
    size_t end = backslash + 1;

    if (end < s.len)
        end++;
    while (end < s.len && ((unsigned char)s.s[end] & 0xC0) == 0x80)
        end++;
    return (struct str){ s.s + backslash, end - backslash };
}

/* Writes the value without escapes to ret, which is as large as s. */
static int unescape_value(struct str s, char *ret, size_t *ret_len, struct error *err)
{
    size_t len = 0;

    for (size_t i = 0; i < s.len; i++) {
        char c = s.s[i];
        if (c == '=' || c == ',') /* the API shows the code of the character */
            return error_set(err, ERR_BAD_REQUEST, "invalid field selector: unescaped character in value: %d",
                             c);
        if (c == '\\') {
            if (i + 1 == s.len || !strchr("\\,=", s.s[i + 1]) || !s.s[i + 1]) {
                struct str sequence = escape_sequence(s, i);
                return error_set(err, ERR_BAD_REQUEST,
                                 "invalid field selector: invalid escape sequence: %.*s", STR_ARG(sequence));
            }
            c = s.s[++i];
        }
        ret[len++] = c;
    }
    *ret_len = len;
    return 0;
}

static int parse_term(struct str text, struct str term, struct arena *a, struct field_term *ret,
                      struct error *err)
{
    struct str field, value;
    char *copy;
    int r;

    if (!split_term(term, &field, &ret->is_not, &value))
        return error_set(err, ERR_BAD_REQUEST, "invalid selector: '%.*s'; can't understand '%.*s'",
                         STR_ARG(text), STR_ARG(term));
    if (field.len &&
        memchr(field.s, '\0', field.len)) /* no field has such a name, and it could be mistaken for another */
        return error_set(err, ERR_BAD_REQUEST, "invalid selector: a field name contains a NUL");
    ret->field = arena_dup(a, field);
    copy = arena_dup(a, value);
    if (!ret->field || !copy)
        return arena_check(a, err);
    r = unescape_value(value, copy, &ret->value.len, err);
    ret->value.s = copy;
    return r;
}

int field_selector_parse(struct str text, struct arena *a, struct field_selector *ret, struct error *err)
{
    struct field_selector sel = { 0 };
    struct str rest = text;

    if (!str_is_utf8(text)) /* no stored value is invalid UTF-8, and errors repeat the text */
        return error_set(err, ERR_BAD_REQUEST, "invalid selector: not valid UTF-8");
    while (rest.s) {
        struct str term = next_term(&rest);
        struct field_term *terms;
        int r;

        if (term.len == 0)
            continue;
        terms = selector_grow(a, sel.terms, sel.count, &sel.room, sizeof *terms);
        if (!terms)
            return arena_check(a, err);
        sel.terms = terms;
        r = parse_term(text, term, a, &sel.terms[sel.count], err);
        if (r < 0)
            return r;
        sel.count++;
    }
    *ret = sel;
    return 0;
}

static bool is_listed(const char *const *known, const char *field)
{
    for (; *known; known++)
        if (strcmp(*known, field) == 0)
            return true;
    return false;
}

int field_selector_check(const struct field_selector *sel, const char *const *known, struct error *err)
{
    static const char *const always[] = { "metadata.name", "metadata.namespace", NULL };
    char quoted[ERROR_MSG_BYTES_MAX];

    for (size_t i = 0; i < sel->count; i++) {
        const char *field = sel->terms[i].field;
        if (is_listed(known ? known : always, field))
            continue;
        if (known)
            return error_set(err, ERR_BAD_REQUEST, "field label not supported: %s", field);
        return error_set(err, ERR_BAD_REQUEST,
                         "%s is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                         quote_text(quoted, sizeof quoted, str_of(field)));
    }
    return 0;
}

bool field_selector_matches(const struct field_selector *sel, field_get_fn get, void *ctx)
{
    for (size_t i = 0; i < sel->count; i++) {
        const char *value = get(ctx, sel->terms[i].field);

        if (str_is(sel->terms[i].value, value ? value : "") == sel->terms[i].is_not)
            return false;
    }
    return true;
}

bool field_selector_requires(const struct field_selector *sel, const char *field, struct str *ret)
{
    for (size_t i = 0; i < sel->count; i++)
        if (!sel->terms[i].is_not && strcmp(sel->terms[i].field, field) == 0) {
            *ret = sel->terms[i].value;
            return true;
        }
    return false;
}

void field_selector_format(const struct field_selector *sel, struct buf *out)
{
    for (size_t i = 0; i < sel->count; i++) {
        const struct field_term *t = &sel->terms[i];
        if (i)
            buf_add_char(out, ',');
        buf_add_cstr(out, t->field);
        buf_add_cstr(out, t->is_not ? "!=" : "=");
        for (size_t at = 0; at < t->value.len; at++) {
            if (t->value.s[at] == '\\' || t->value.s[at] == ',' || t->value.s[at] == '=')
                buf_add_char(out, '\\');
            buf_add_char(out, t->value.s[at]);
        }
    }
}
