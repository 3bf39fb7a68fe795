/* Parses compact JSON, as json_write() and Go's encoder write it: nearly all texts.
 *
 * Only texts without white space and with plain integers are accepted. Anything else ends the scan, and
 * json_parse() starts again with yajl, which accepts all of JSON and reports errors. Every text that the scan
 * accepts is also accepted by yajl, with the same nodes in the same order.
 *
 * The text ends with a line end, which cannot occur in compact JSON, so that reading one byte ahead is always
 * safe. It was already validated as UTF-8. Costs: one pass, eight bytes at a time inside strings. */
#include "api/json.h"

#include <endian.h>
#include <string.h>

#include "api/json_int.h"

/* Longer integers may exceed a double; yajl's path checks that. */
#define SCAN_DIGITS_MAX 299

struct scan {
    struct json *d;
    char *at;
    const char *end;
    struct str key; /* key of the member whose value follows */
    json_ref inner; /* innermost open container */
    json_ref root;
    uint32_t depth;
};

/* The number of characters before the first quote, backslash or control character. The line end at the end of
 * the text is one. */
static size_t plain_len(const struct scan *s, const char *from)
{
    const char *at = from;
    uint64_t eight;

    while ((size_t)(s->end - at) >= sizeof eight) {
        memcpy(&eight, at, sizeof eight);
        eight = json_specials(le64toh(eight));
        if (eight)
            return (size_t)(at - from) + (size_t)__builtin_ctzll(eight) / 8;
        at += sizeof eight;
    }
    while ((unsigned char)*at >= ' ' && *at != '"' && *at != '\\')
        at++;
    return (size_t)(at - from);
}

static bool is_hex4(const char *s)
{
    for (int i = 0; i < 4; i++) /* the byte that ends the text is not a digit: nothing beyond it is read */
        if (!strchr("0123456789abcdefABCDEF", s[i]) || !s[i])
            return false;
    return true;
}

/* The length of a string with escapes, up to its closing quote; 0 if an escape is invalid. */
static size_t escaped_len(const struct scan *s, const char *body)
{
    const char *at = body + plain_len(s, body);

    while (*at == '\\') {
        if (at[1] == 'u' ? !is_hex4(at + 2) : !strchr("\"\\/bfnrt", at[1]) || !at[1])
            return 0;
        at += at[1] == 'u' ? 6 : 2;
        at += plain_len(s, at);
    }
    return *at == '"' ? (size_t)(at - body) : 0;
}

static bool scan_string(struct scan *s, struct str *ret)
{
    char *body = s->at + 1;
    size_t len = plain_len(s, body);

    if (body[len] == '"') {
        *ret = (struct str){ body, len };
    } else {
        len = body[len] == '\\' ? escaped_len(s, body) : 0;
        if (len == 0)
            return false;
        *ret = (struct str){ body, json_decode_string(body, len) };
    }
    s->at = body + len + 1;
    return true;
}

/* `"key":` of the next member. */
static bool scan_key(struct scan *s)
{
    if (*s->at != '"' || !scan_string(s, &s->key) || *s->at != ':')
        return false;
    s->at++;
    return true;
}

static size_t digits_len(const char *at)
{
    size_t len = 0;

    while (at[len] >= '0' && at[len] <= '9')
        len++;
    return len;
}

static bool scan_integer(struct scan *s, struct str *ret)
{
    bool is_negative = *s->at == '-';
    const char *digits = s->at + is_negative;
    size_t len = digits_len(digits);

    if (len == 0 || len > SCAN_DIGITS_MAX || (len > 1 && digits[0] == '0') || strchr(".eE", digits[len]))
        return false;
    *ret = (struct str){ s->at, len + is_negative };
    s->at += ret->len;
    return true;
}

static bool scan_word(struct scan *s, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
        return false;
    s->at += len;
    return true;
}

/* Adds a value to the innermost container. */
static json_ref scan_add_value(struct scan *s, enum json_type type)
{
    json_ref v = json_add_node(s->d, type);

    if (!v)
        return 0;
    s->d->nodes[v].key = s->key.s;
    s->d->nodes[v].key_len = (uint32_t)s->key.len;
    s->key = (struct str){ NULL, 0 };
    if (s->inner)
        json_link(s->d, s->inner, v);
    else
        s->root = v;
    return v;
}

static bool scan_add_text(struct scan *s, enum json_type type, struct str text)
{
    json_ref v = scan_add_value(s, type);

    if (!v)
        return false;
    s->d->nodes[v].text.s = text.s;
    s->d->nodes[v].text.len = (uint32_t)text.len;
    return true;
}

static bool scan_scalar(struct scan *s)
{
    struct str text;

    switch (*s->at) {
    case '"':
        return scan_string(s, &text) && scan_add_text(s, JSON_STRING, text);
    case 't':
        return scan_word(s, "true") && scan_add_value(s, JSON_TRUE);
    case 'f':
        return scan_word(s, "false") && scan_add_value(s, JSON_FALSE);
    case 'n':
        return scan_word(s, "null") && scan_add_value(s, JSON_NULL);
    default:
        return scan_integer(s, &text) && scan_add_text(s, JSON_NUMBER, text);
    }
}

/* Enters the container that starts here. */
static bool scan_open(struct scan *s, enum json_type type)
{
    json_ref v = s->depth < JSON_DEPTH_MAX ? scan_add_value(s, type) : 0;

    if (!v)
        return false;
    s->inner = v;
    s->depth++;
    s->at++;
    return true;
}

/* Leaves the containers that end here. */
static bool scan_close(struct scan *s)
{
    while (s->inner) {
        bool is_object = s->d->nodes[s->inner].type == JSON_OBJECT;

        if (*s->at != (is_object ? '}' : ']'))
            return true;
        if (is_object && !json_settle_duplicates(s->d, s->inner))
            return false;
        s->at++;
        s->inner = s->d->nodes[s->inner].parent;
        s->depth--;
    }
    return true;
}

/* Parses a scalar, or the start of a container and, for an object, the key of its first member. */
static bool scan_value(struct scan *s)
{
    bool is_object = *s->at == '{';

    if (!is_object && *s->at != '[')
        return scan_scalar(s);
    if (!scan_open(s, is_object ? JSON_OBJECT : JSON_ARRAY))
        return false;
    return !is_object || *s->at == '}' || scan_key(s);
}

/* Advances to the next value: over a comma and, for a member, its key. */
static bool scan_comma(struct scan *s)
{
    if (*s->at != ',')
        return false;
    s->at++;
    return s->d->nodes[s->inner].type == JSON_ARRAY || scan_key(s);
}

/* True if the last token was the start of a container that is not empty. */
static bool scan_is_inside(const struct scan *s, json_ref inner_before)
{
    if (s->inner == inner_before)
        return false;
    return s->d->nodes[s->inner].type == JSON_OBJECT ? s->key.s != NULL : *s->at != ']';
}

static bool scan_all(struct scan *s)
{
    do {
        json_ref inner = s->inner;

        if (!scan_value(s))
            return false;
        if (scan_is_inside(s, inner))
            continue;
        if (!scan_close(s))
            return false;
        if (s->inner && !scan_comma(s))
            return false;
    } while (s->inner);
    return s->at == s->end;
}

bool json_scan(struct json *d, char *text, size_t len, json_ref *ret)
{
    struct scan s = { .d = d, .at = text, .end = text + len };
    uint32_t count = d->count, duplicates = d->duplicates_count;

    if (scan_all(&s)) {
        *ret = s.root;
        return true;
    }
    if (d->count > 0)
        d->count = count > 0 ? count : 1; /* node 0, "no value", is created with the first value */
    d->duplicates_count = duplicates;
    return false;
}
