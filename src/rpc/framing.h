/* What gRPC adds to HTTP/2, the same for both ends: a prefix before each message, percent-encoded status
 * messages, header fields in nghttp2's form. */
#ifndef BERTH_RPC_FRAMING_H
#define BERTH_RPC_FRAMING_H

#include <nghttp2/nghttp2.h>

#include "base/buf.h"
#include "base/str.h"

#define RPC_PREFIX_BYTES 5 /* "not compressed", and the length */

/* Appends prefix and message. */
void rpc_frame_add(struct buf *out, struct str message);

enum rpc_frame { RPC_FRAME_PARTIAL, RPC_FRAME_WHOLE, RPC_FRAME_TOO_LARGE, RPC_FRAME_COMPRESSED };

/* The message at the beginning of bytes, when it is complete. Pure. */
enum rpc_frame rpc_frame_read(struct str bytes, size_t message_bytes_max, struct str *ret_message);

/* Decodes a status message: "%25" is '%'. NUL becomes a space. Replaces the contents of ret. Pure. */
void rpc_words_read(struct str sent, struct buf *ret);

/* Appends an encoded status message: printable ASCII except '%' as it is. Ends before the first byte that
 * does not fit. */
void rpc_words_write(struct str words, struct buf *out);

/* Parses the value of grpc-timeout, "100m"; huge ones become UINT64_MAX. False when it is malformed. Pure. */
bool rpc_timeout_read(struct str text, uint64_t *ret_ns);

/* Borrows both. */
nghttp2_nv rpc_header(const char *name, const char *value);

#endif
