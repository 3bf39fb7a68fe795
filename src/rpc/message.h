/* Protobuf messages of peers. What is made of one is bounded: a few bytes on the wire can stand for a struct
 * each. */
#ifndef BERTH_RPC_MESSAGE_H
#define BERTH_RPC_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/error.h"

#define RPC_UNPACKED_BYTES_MAX ((size_t)64 << 20)

/* Adds the message to out. ERR_TOO_LARGE: beyond out's ceiling. */
int rpc_message_pack(const ProtobufCMessage *m, struct buf *out, struct error *err);

/* What text says, for rpc_message_free(); NULL when it cannot be read. Pure. */
ProtobufCMessage *rpc_message_read(const ProtobufCMessageDescriptor *type, struct str text);
void rpc_message_free(ProtobufCMessage **m);

#endif
