/* Writes JSON text into a buffer. There is no state besides the buffer: its last character decides whether a
 * comma is needed. Plain keys and strings are copied in one piece. */
#include "api/json_out.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/cleanup.h"

/* Formatted texts up to this size are not allocated. */
#define JSON_OUT_SMALL_BYTES 512

/* Writes a comma if the buffer ends with a value: every value ends with a quote, a closing bracket, a digit
 * or a letter. */
static void json_out_separate(struct buf *b)
{
    switch (b->len ? b->data[b->len - 1] : '{') {
    case '{':
    case '[':
    case ':':
    case ',':
    case ' ':
    case '\n':
        return;
    default:
        buf_add_char(b, ',');
    }
}

static bool is_plain(struct str key)
{
    for (size_t i = 0; i < key.len; i++)
        if (key.s[i] < ' ' || key.s[i] > '~' || key.s[i] == '"' || key.s[i] == '\\')
            return false;
    return true;
}

/* Most keys need no escapes and are written in one piece. */
void json_out_key_str(struct buf *b, struct str key)
{
    char *at;

    json_out_separate(b);
    if (!is_plain(key)) {
        json_write_string(b, key);
        buf_add_char(b, ':');
        return;
    }
    at = buf_grow(b, key.len + 3);
    if (!at)
        return;
    at[0] = '"';
    memcpy(at + 1, key.s, key.len);
    at[key.len + 1] = '"';
    at[key.len + 2] = ':';
}

void json_out_key(struct buf *b, const char *key)
{
    if (key)
        json_out_key_str(b, str_of(key));
    else
        json_out_separate(b);
}

void json_out_object(struct buf *b, const char *key)
{
    json_out_key(b, key);
    buf_add_char(b, '{');
}

void json_out_end_object(struct buf *b)
{
    buf_add_char(b, '}');
}

void json_out_array(struct buf *b, const char *key)
{
    json_out_key(b, key);
    buf_add_char(b, '[');
}

void json_out_end_array(struct buf *b)
{
    buf_add_char(b, ']');
}

void json_out_str(struct buf *b, const char *key, struct str text)
{
    json_out_key(b, key);
    json_write_string(b, text);
}

void json_out_text(struct buf *b, const char *key, const char *text)
{
    if (text)
        json_out_str(b, key, str_of(text));
    else
        json_out_null(b, key);
}

void json_out_textf(struct buf *b, const char *key, const char *fmt, ...)
{
    char small[JSON_OUT_SMALL_BYTES];
    _cleanup_(freep) char *large = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (len >= (int)sizeof small) {
        va_start(args, fmt);
        len = vasprintf(&large, fmt, args);
        va_end(args);
    }
    if (len < 0) {
        large = NULL; /* its contents are undefined */
        buf_fail(b, ERR_NO_MEMORY);
        return;
    }
    json_out_str(b, key, (struct str){ large ? large : small, (size_t)len });
}

void json_out_int(struct buf *b, const char *key, int64_t n)
{
    json_out_key(b, key);
    buf_addf(b, "%" PRId64, n);
}

void json_out_bool(struct buf *b, const char *key, bool is_true)
{
    json_out_key(b, key);
    buf_add_cstr(b, is_true ? "true" : "false");
}

void json_out_null(struct buf *b, const char *key)
{
    json_out_key(b, key);
    buf_add_cstr(b, "null");
}

/* Times and quantities contain no character that JSON escapes. */

void json_out_time(struct buf *b, const char *key, struct timestamp t)
{
    json_out_key(b, key);
    buf_add_char(b, '"');
    timestamp_format(t, b);
    buf_add_char(b, '"');
}

void json_out_time_micro(struct buf *b, const char *key, struct timestamp t)
{
    json_out_key(b, key);
    buf_add_char(b, '"');
    timestamp_format_micro(t, b);
    buf_add_char(b, '"');
}

void json_out_quantity(struct buf *b, const char *key, const struct quantity *q)
{
    json_out_key(b, key);
    buf_add_char(b, '"');
    quantity_format(q, b);
    buf_add_char(b, '"');
}

void json_out_storage(struct buf *b, const char *key, const struct quantity *q)
{
    json_out_object(b, key);
    json_out_quantity(b, "storage", q);
    json_out_end_object(b);
}

void json_out_raw(struct buf *b, const char *key, struct str json)
{
    json_out_key(b, key);
    buf_add_str(b, json);
}
