/* Message prefixes, percent-encoded status messages, time limits, and header fields of gRPC. Pure functions,
 * which both ends of a connection can use. */
#include "rpc/framing.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TIMEOUT_DIGITS_MAX 8

void rpc_frame_add(struct buf *out, struct str message)
{
    char prefix[RPC_PREFIX_BYTES] = { 0 };

    for (size_t i = 0; i < 4; i++)
        prefix[1 + i] = (char)(message.len >> (24 - 8 * i));
    buf_add(out, prefix, sizeof prefix);
    buf_add_str(out, message);
}

enum rpc_frame rpc_frame_read(struct str bytes, size_t message_bytes_max, struct str *ret_message)
{
    const unsigned char *prefix = (const unsigned char *)bytes.s;
    size_t len;

    if (bytes.len > 0 && prefix[0] != 0)
        return RPC_FRAME_COMPRESSED;
    if (bytes.len < RPC_PREFIX_BYTES)
        return RPC_FRAME_PARTIAL;
    len = (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 | prefix[4];
    if (len > message_bytes_max)
        return RPC_FRAME_TOO_LARGE;
    if (len > bytes.len - RPC_PREFIX_BYTES)
        return RPC_FRAME_PARTIAL;
    *ret_message = (struct str){ bytes.s + RPC_PREFIX_BYTES, len };
    return RPC_FRAME_WHOLE;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void rpc_words_read(struct str sent, struct buf *ret)
{
    buf_clear(ret);
    for (size_t i = 0; i < sent.len; i++) {
        char c = sent.s[i];
        if (c == '%' && i + 2 < sent.len && hex_of(sent.s[i + 1]) >= 0 && hex_of(sent.s[i + 2]) >= 0) {
            c = (char)(hex_of(sent.s[i + 1]) * 16 + hex_of(sent.s[i + 2]));
            i += 2;
        }
        buf_add_char(ret, c ? c : ' '); /* a NUL would end the text */
    }
}

void rpc_words_write(struct str words, struct buf *out)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < words.len; i++) {
        unsigned char c = (unsigned char)words.s[i];
        bool is_plain = c >= ' ' && c <= '~' && c != '%';
        char text[3] = { '%', digits[c >> 4], digits[c & 15] };

        if (out->len + sizeof text > out->len_max)
            return;
        if (is_plain)
            buf_add_char(out, (char)c);
        else
            buf_add(out, text, sizeof text);
    }
}

bool rpc_timeout_read(struct str text, uint64_t *ret_ns)
{
    static const struct {
        char name;
        uint64_t ns;
    } units[] = { { 'n', 1 },        { 'u', NS_PER_US },     { 'm', NS_PER_MS },
                  { 'S', NS_PER_S }, { 'M', 60 * NS_PER_S }, { 'H', 3600 * NS_PER_S } };
    uint64_t number;

    if (text.len < 2 || text.len > TIMEOUT_DIGITS_MAX + 1 ||
        !str_to_uint64((struct str){ text.s, text.len - 1 }, &number))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (text.s[text.len - 1] == units[i].name) {
            *ret_ns = number > UINT64_MAX / units[i].ns ? UINT64_MAX : number * units[i].ns;
            return true;
        }
    return false;
}

nghttp2_nv rpc_header(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                         NGHTTP2_NV_FLAG_NONE };
}
