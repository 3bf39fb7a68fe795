/* Writing JSON. Deep trees are walked through their links, without recursion. */
#include "api/json.h"

#include <string.h>

#include "api/json_int.h"

/* What follows the backslash for the characters that need one; 0 for the rest, 'u' for a \u00XX escape. */
static char json_escape_of(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return c < 0x20 ? 'u' : 0;
    }
}

void json_write_string(struct buf *out, struct str text)
{
    size_t plain = 0;

    (void)buf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.s[i];
        char escape = c >= 0x20 && c != '"' && c != '\\' ? 0 : json_escape_of(c);
        if (!escape)
            continue;
        (void)buf_add(out, text.s + plain, i - plain);
        plain = i + 1;
        if (escape == 'u')
            (void)buf_addf(out, "\\u%04x", c);
        else
            (void)buf_add(out, (const char[]){ '\\', escape }, 2);
    }
    (void)buf_add(out, text.s + plain, text.len - plain);
    (void)buf_add_char(out, '"');
}

static void json_write_newline(struct buf *out, unsigned depth)
{
    static const char blanks[] = "                                "; /* 32 */

    (void)buf_add_char(out, '\n');
    for (unsigned left = depth * 2; left;) {
        unsigned n = left < sizeof blanks - 1 ? left : (unsigned)sizeof blanks - 1;
        (void)buf_add(out, blanks, n);
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
        (void)buf_add(out, n->text.s, n->text.len);
        break;
    case JSON_TRUE:
        (void)buf_add(out, "true", 4);
        break;
    case JSON_FALSE:
        (void)buf_add(out, "false", 5);
        break;
    case JSON_NULL:
    case JSON_NONE:
        (void)buf_add(out, "null", 4);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        assert(!"not a scalar");
    }
}

static void json_write_tree(const struct json *d, json_ref top, struct buf *out, bool pretty)
{
    json_ref v = top;
    unsigned depth = 0;

    while (!out->failed) {
        const struct json_node *n = json_node(d, v);
        if (v != top && n->key) {
            json_write_string(out, (struct str){ n->key, n->key_len });
            (void)buf_add(out, ": ", pretty ? 2 : 1);
        }
        if (json_is_container(n)) {
            (void)buf_add_char(out, n->type == JSON_OBJECT ? '{' : '[');
            if (n->child.first) {
                depth++;
                if (pretty)
                    json_write_newline(out, depth);
                v = n->child.first;
                continue;
            }
            (void)buf_add_char(out, n->type == JSON_OBJECT ? '}' : ']');
        } else {
            json_write_scalar(n, out);
        }
        while (v != top && !d->nodes[v].next) {
            v = d->nodes[v].parent;
            depth--;
            if (pretty)
                json_write_newline(out, depth);
            (void)buf_add_char(out, d->nodes[v].type == JSON_OBJECT ? '}' : ']');
        }
        if (v == top)
            break;
        (void)buf_add_char(out, ',');
        if (pretty)
            json_write_newline(out, depth);
        v = d->nodes[v].next;
    }
}

void json_write(const struct json *d, json_ref v, struct buf *out)
{
    if (v)
        json_write_tree(d, v, out, /* pretty= */ false);
    else
        (void)buf_add(out, "null", 4);
}

void json_write_pretty(const struct json *d, json_ref v, struct buf *out)
{
    if (v)
        json_write_tree(d, v, out, /* pretty= */ true);
    else
        (void)buf_add(out, "null", 4);
}
