/* Base64 in the standard and the URL alphabet. Decoding accepts and rejects the same texts as Go's decoder
 * and reports the same offsets in errors. One pass; a failed decode leaves the output buffer as it was. */
#include "api/base64.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

static const char base64_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static int base64_error(size_t offset, struct error *err)
{
    return error_set(err, ERR_BAD_REQUEST, "illegal base64 data at input byte %zu", offset);
}

static bool base64_is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static size_t base64_skip_line_ends(struct str text, size_t at)
{
    while (at < text.len && base64_is_line_end(text.s[at]))
        at++;
    return at;
}

/* Checks what follows the digits of an incomplete group: padding that completes it, and line ends. The
 * offsets in errors are those of Go's decoder: for a truncated group, where it would start without line ends.
 */
static int base64_check_tail(struct str text, size_t at, unsigned digits, struct error *err)
{
    if (at == text.len)
        return digits == 0 ? 0 : base64_error(at - digits, err);
    if (text.s[at] != '=' || digits < 2)
        return base64_error(at, err);
    at = base64_skip_line_ends(text, at + 1);
    if (digits == 2) {
        if (at == text.len)
            return base64_error(at, err);
        if (text.s[at] != '=')
            return base64_error(at - 1, err);
        at = base64_skip_line_ends(text, at + 1);
    }
    return at == text.len ? 0 : base64_error(at, err);
}

/* Decodes complete groups; stores the digits of an incomplete last group in *group. Returns the end offset.
 */
static size_t base64_decode_groups(struct str text, struct buf *out, uint32_t *group, unsigned *digits)
{
    size_t i = 0;

    *group = *digits = 0;
    for (; i < text.len; i++) {
        int digit = base64_digit(text.s[i]);
        if (digit < 0 && base64_is_line_end(text.s[i]))
            continue;
        if (digit < 0)
            break;
        *group = *group << 6 | (uint32_t)digit;
        if (++*digits == 4) {
            buf_add(out, (const unsigned char[]){ *group >> 16 & 0xFF, *group >> 8 & 0xFF, *group & 0xFF },
                    3);
            *group = *digits = 0;
        }
    }
    return i;
}

int base64_decode(struct str text, struct buf *out, struct error *err)
{
    size_t before = out->len;
    uint32_t group;
    unsigned digits;
    size_t at = base64_decode_groups(text, out, &group, &digits);
    int r = base64_check_tail(text, at, digits, err);

    if (r == 0) {
        group <<= 6 * (4 - digits);
        if (digits > 1)
            buf_add(out, (const unsigned char[]){ group >> 16 & 0xFF, group >> 8 & 0xFF }, digits - 1);
        r = buf_check(out, "base64 data", err);
    }
    if (r < 0 && out->data) { /* remove the groups that were decoded before the error */
        out->len = before;
        out->data[before] = '\0';
    }
    return r;
}

void base64_encode(struct str bytes, struct buf *out)
{
    const unsigned char *s = (const unsigned char *)bytes.s;

    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group =
            (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0);
        char four[4];
        for (int k = 0; k < 4; k++)
            four[k] = base64_alphabet[group >> (18 - 6 * k) & 63];
        if (left < 3)
            four[3] = '=';
        if (left < 2)
            four[2] = '=';
        buf_add(out, four, sizeof four);
    }
}

/* Converts to the standard alphabet and adds the padding. */
static int base64url_to_standard(struct str text, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        if (c == '+' || c == '/' || c == '=' || base64_is_line_end(c))
            return base64_error(i, err);
        buf_add_char(out, c == '-' ? '+' : c == '_' ? '/' : c);
    }
    while (out->len % 4 != 0)
        buf_add_char(out, '=');
    return buf_check(out, "base64 data", err);
}

int base64url_decode(struct str text, struct buf *out, struct error *err)
{
    _cleanup_(buf_done_p) struct buf standard = BUF_INIT(text.len + 4);
    int r = base64url_to_standard(text, &standard, err);

    return r < 0 ? r : base64_decode(buf_str(&standard), out, err);
}

void base64url_encode(struct str bytes, struct buf *out)
{
    size_t from = out->len;

    base64_encode(bytes, out);
    if (out->failed || out->len == from)
        return;
    while (out->data[out->len - 1] == '=')
        out->data[--out->len] = '\0';
    for (size_t i = from; i < out->len; i++)
        out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
}
