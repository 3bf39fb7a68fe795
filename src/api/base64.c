#include "api/base64.h"

#include <stdint.h>
#include <string.h>

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

/* What may follow the digits: padding that completes the group of four, and line ends. */
static int base64_check_tail(struct str text, size_t at, unsigned digits, struct error *err)
{
    unsigned padding = 0;
    size_t i = at;

    for (; i < text.len; i++) {
        if (text.s[i] == '\n' || text.s[i] == '\r')
            continue;
        if (text.s[i] != '=' || digits < 2 || digits + padding == 4)
            return base64_error(i, err);
        padding++;
    }
    return digits == 0 || digits + padding == 4 ? 0 : base64_error(i, err);
}

int base64_decode(struct str text, struct buf *out, struct error *err)
{
    uint32_t group = 0;
    unsigned digits = 0;
    size_t i = 0;

    for (; i < text.len; i++) {
        int digit = base64_digit(text.s[i]);
        if (digit < 0 && (text.s[i] == '\n' || text.s[i] == '\r'))
            continue;
        if (digit < 0)
            break;
        group = group << 6 | (uint32_t)digit;
        if (++digits == 4) {
            (void)buf_add(out, (const unsigned char[]){ group >> 16 & 0xFF, group >> 8 & 0xFF, group & 0xFF },
                          3);
            group = digits = 0;
        }
    }
    int r = base64_check_tail(text, i, digits, err);
    if (r < 0)
        return r;
    group <<= 6 * (4 - digits);
    if (digits > 1)
        (void)buf_add(out, (const unsigned char[]){ group >> 16 & 0xFF, group >> 8 & 0xFF }, digits - 1);
    return buf_check(out, "base64 data", err);
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
        (void)buf_add(out, four, sizeof four);
    }
}
