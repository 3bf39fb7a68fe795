/* Quotes texts for messages like Go's %q. The input may be any bytes; the output is always valid UTF-8,
 * bounded by the caller's buffer, and never split inside a character. */
#include "api/quote.h"

#include <assert.h>
#include <stdio.h>

#define PIECE_BYTES_MAX 8 /* "\u00ad", or four bytes of UTF-8 */

/* The length of the valid multi-byte character at s, 0 if there is none. */
static size_t quote_char_len(struct str s)
{
    for (size_t n = 2; n <= 4 && n <= s.len; n++)
        if (str_is_utf8((struct str){ s.s, n }))
            return n;
    return 0;
}

static size_t quote_ascii(unsigned char c, char *ret)
{
    static const char named[] = "abtnvfr"; /* \a is 7, \b 8, \t 9, \n 10, \v 11, \f 12, \r 13 */

    if (c == '"' || c == '\\')
        return (size_t)snprintf(ret, PIECE_BYTES_MAX, "\\%c", c);
    if (c >= '\a' && c <= '\r')
        return (size_t)snprintf(ret, PIECE_BYTES_MAX, "\\%c", named[c - '\a']);
    if (c < ' ' || c == 0x7F)
        return (size_t)snprintf(ret, PIECE_BYTES_MAX, "\\x%02x", c);
    ret[0] = (char)c;
    return 1;
}

/* Writes the first character of s, escaped if necessary; returns the number of bytes written, and how many of
 * s they represent. */
static size_t quote_piece(struct str s, char *ret, size_t *ret_taken)
{
    unsigned char c = (unsigned char)s.s[0];
    size_t len;

    *ret_taken = 1;
    if (c < 0x80)
        return quote_ascii(c, ret);
    len = quote_char_len(s);
    if (len == 0)
        return (size_t)snprintf(ret, PIECE_BYTES_MAX, "\\x%02x", c);
    *ret_taken = len;
    unsigned char next = (unsigned char)s.s[1];
    if (c == 0xC2 && (next <= 0xA0 || next == 0xAD))
        return (size_t)snprintf(ret, PIECE_BYTES_MAX, "\\u00%02x", next);
    memcpy(ret, s.s, len);
    return len;
}

char *quote_text(char *ret, size_t size, struct str s)
{
    size_t at = 0;

    assert(size >= 3);
    ret[at++] = '"';
    while (s.len) {
        char piece[PIECE_BYTES_MAX];
        size_t taken, len = quote_piece(s, piece, &taken);
        if (len >= size - at) {
            ret[at] = '\0';
            return ret;
        }
        memcpy(ret + at, piece, len);
        at += len;
        s = (struct str){ s.s + taken, s.len - taken };
    }
    if (at + 1 < size)
        ret[at++] = '"';
    ret[at] = '\0';
    return ret;
}
