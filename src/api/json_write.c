/* Writes JSON. Trees are walked through their links, without recursion.
 *
 * The output is always valid JSON: error messages repeat what a client has sent, which may be any bytes.
 * Invalid UTF-8 bytes become U+FFFD. */
#include "api/json.h"

#include <string.h>

#include "api/json_int.h"

/* The character after the backslash for characters that are escaped, 'u' for a \u00XX escape; 0 for the rest.
 */
static const char json_escapes[256] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u',         'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\',
};

/* True if one of eight characters is a quote, a backslash, a control character or not ASCII. */
static bool json_any_special(uint64_t eight)
{
    return ((eight & UINT64_C(0x8080808080808080)) | json_specials(eight)) != 0;
}

static bool json_is_plain(char c)
{
    return (unsigned char)c < 0x80 && !json_escapes[(unsigned char)c];
}

/* The number of characters before the first special one. */
static size_t json_plain_len(struct str text)
{
    size_t len = 0;
    uint64_t eight;

    while (text.len - len >= sizeof eight) {
        memcpy(&eight, text.s + len, sizeof eight);
        if (json_any_special(eight))
            break;
        len += sizeof eight;
    }
    if (text.len - len < sizeof eight &&
        text.len >= sizeof eight) { /* the last eight bytes, overlapping the previous ones */
        memcpy(&eight, text.s + text.len - sizeof eight, sizeof eight);
        if (!json_any_special(eight))
            return text.len;
    }
    while (len < text.len && json_is_plain(text.s[len]))
        len++;
    return len;
}

/* Writes the non-ASCII characters at the start of text, and returns their number of bytes. */
static size_t json_write_foreign(struct buf *out, struct str text)
{
    size_t len = 0;

    while (len < text.len && (unsigned char)text.s[len] >= 0x80) {
        size_t one = str_utf8_first((struct str){ text.s + len, text.len - len });

        if (one == 0)
            break;
        len += one;
    }
    if (len > 0) {
        buf_add(out, text.s, len);
        return len;
    }
    buf_add_cstr(out, "\xEF\xBF\xBD");
    return 1;
}

void json_write_chars(struct buf *out, struct str text)
{
    while (text.len) {
        size_t plain = json_plain_len(text);
        buf_add(out, text.s, plain);
        if (plain == text.len)
            break;
        unsigned char c = (unsigned char)text.s[plain];
        text = (struct str){ text.s + plain, text.len - plain };
        size_t done = 1;
        if (c >= 0x80)
            done = json_write_foreign(out, text);
        else if (json_escapes[c] == 'u')
            buf_addf(out, "\\u%04x", c);
        else
            buf_add(out, (const char[]){ '\\', json_escapes[c] }, 2);
        text = (struct str){ text.s + done, text.len - done };
    }
}

/* Copies a text without special characters; false if it has one. */
static bool json_copy_plain(char *to, struct str text)
{
    size_t at = 0;
    uint64_t eight;

    for (; text.len - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, text.s + at, sizeof eight);
        if (json_any_special(eight))
            return false;
        memcpy(to + at, &eight, sizeof eight);
    }
    if (at < text.len && text.len >= sizeof eight) { /* the last eight bytes, overlapping the previous ones */
        memcpy(&eight, text.s + text.len - sizeof eight, sizeof eight);
        if (json_any_special(eight))
            return false;
        memcpy(to + text.len - sizeof eight, &eight, sizeof eight);
        return true;
    }
    for (; at < text.len; at++) {
        if (!json_is_plain(text.s[at]))
            return false;
        to[at] = text.s[at];
    }
    return true;
}

void json_write_string(struct buf *out, struct str text)
{
    char *at = buf_grow(out, text.len + 2); /* usually: one piece, one pass */

    if (!at)
        return;
    at[0] = '"';
    at[text.len + 1] = '"';
    if (json_copy_plain(at + 1, text))
        return;
    out->len -= text.len + 2;
    buf_add_char(out, '"');
    json_write_chars(out, text);
    buf_add_char(out, '"');
}

/* The number of bytes that json_write_chars() would write. */
static size_t json_chars_size(struct str text)
{
    size_t size = 0;

    while (text.len) {
        size_t plain = json_plain_len(text), done = 1;
        size += plain;
        text = (struct str){ text.s + plain, text.len - plain };
        if (!text.len)
            break;
        unsigned char c = (unsigned char)text.s[0];
        if (c >= 0x80) {
            size_t one = str_utf8_first(text);
            done = one ? one : 1;
            size += one ? one : 3; /* U+FFFD */
        } else {
            size += json_escapes[c] == 'u' ? 6 : 2;
        }
        text = (struct str){ text.s + done, text.len - done };
    }
    return size;
}

static void json_write_newline(struct buf *out, unsigned depth)
{
    static const char blanks[] = "                                "; /* 32 */

    buf_add_char(out, '\n');
    for (unsigned left = depth * 2; left;) {
        unsigned n = left < sizeof blanks - 1 ? left : (unsigned)sizeof blanks - 1;
        buf_add(out, blanks, n);
        left -= n;
    }
}

static void json_write_scalar(const struct json_node *n, struct buf *out)
{
    switch ((enum json_type)n->type) {
    case JSON_STRING:
        json_write_string(out, (struct str){ n->text.s, n->text.len });
        break;
    case JSON_NUMBER:
        buf_add(out, n->text.s, n->text.len);
        break;
    case JSON_TRUE:
        buf_add(out, "true", 4);
        break;
    case JSON_FALSE:
        buf_add(out, "false", 5);
        break;
    case JSON_NULL:
    case JSON_NONE:
        buf_add(out, "null", 4);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        assert(!"not a scalar");
    }
}

/* depth: of top in its document. */
static void json_write_tree(const struct json *d, json_ref top, struct buf *out, bool pretty, unsigned depth)
{
    json_ref v = top;

    while (!out->failed) {
        const struct json_node *n = json_node(d, v);
        if (v != top && n->key) {
            json_write_string(out, (struct str){ n->key, n->key_len });
            buf_add(out, ": ", pretty ? 2 : 1);
        }
        if (json_is_container(n)) {
            buf_add_char(out, n->type == JSON_OBJECT ? '{' : '[');
            if (n->child.first) {
                depth++;
                if (pretty)
                    json_write_newline(out, depth);
                v = n->child.first;
                continue;
            }
            buf_add_char(out, n->type == JSON_OBJECT ? '}' : ']');
        } else {
            json_write_scalar(n, out);
        }
        while (v != top && !d->nodes[v].next) {
            v = d->nodes[v].parent;
            depth--;
            if (pretty)
                json_write_newline(out, depth);
            buf_add_char(out, d->nodes[v].type == JSON_OBJECT ? '}' : ']');
        }
        if (v == top)
            break;
        buf_add_char(out, ',');
        if (pretty)
            json_write_newline(out, depth);
        v = d->nodes[v].next;
    }
}

/* The size of one node without its children: its key, its brackets or its text. */
static size_t json_node_size(const struct json_node *n, bool has_key)
{
    size_t size = has_key && n->key ? json_chars_size((struct str){ n->key, n->key_len }) + 3 : 0;

    switch ((enum json_type)n->type) {
    case JSON_STRING:
        return size + json_chars_size((struct str){ n->text.s, n->text.len }) + 2;
    case JSON_NUMBER:
        return size + n->text.len;
    case JSON_FALSE:
        return size + 5;
    case JSON_TRUE:
    case JSON_NULL:
    case JSON_NONE:
        return size + 4;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return size + 2;
}

size_t json_size(const struct json *d, json_ref v, size_t max)
{
    json_ref at = v;
    size_t size = 0;

    while (size <= max) {
        const struct json_node *n = json_read(d, at);
        size += json_node_size(n, at != v);
        if (json_is_container(n) && n->child.first) {
            size += n->child.count - 1; /* commas */
            at = n->child.first;
            continue;
        }
        while (at != v && !d->nodes[at].next)
            at = d->nodes[at].parent;
        if (at == v)
            break;
        at = d->nodes[at].next;
    }
    return size;
}

void json_write(const struct json *d, json_ref v, struct buf *out)
{
    if (v)
        json_write_tree(d, v, out, /* pretty= */ false, /* depth= */ 0);
    else
        buf_add(out, "null", 4);
}

void json_write_pretty_at(const struct json *d, json_ref v, unsigned depth, struct buf *out)
{
    if (v)
        json_write_tree(d, v, out, /* pretty= */ true, depth);
    else
        buf_add(out, "null", 4);
}

void json_write_pretty(const struct json *d, json_ref v, struct buf *out)
{
    json_write_pretty_at(d, v, 0, out);
}
