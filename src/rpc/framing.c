/* Message prefixes, percent-decoding of status messages, and header fields of gRPC. Pure functions, which
 * both ends of a connection can use. */
#include "rpc/framing.h"

#include <string.h>

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

nghttp2_nv rpc_header(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                         NGHTTP2_NV_FLAG_NONE };
}
