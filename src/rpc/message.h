/* Protobuf messages of peers. The memory of an unpacked message is bounded: a few bytes on the wire can
 * expand to a struct each. */
#ifndef BERTH_RPC_MESSAGE_H
#define BERTH_RPC_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/error.h"

#define RPC_UNPACKED_BYTES_MAX ((size_t)64 << 20)

/* Appends the message to out. ERR_TOO_LARGE: above out's limit. */
int rpc_message_pack(const ProtobufCMessage *m, struct buf *out, struct error *err);

/* The unpacked message, for rpc_message_free(); NULL when text is not valid. Pure. */
ProtobufCMessage *rpc_message_read(const ProtobufCMessageDescriptor *type, struct str text);
void rpc_message_free(ProtobufCMessage **m);

#endif
