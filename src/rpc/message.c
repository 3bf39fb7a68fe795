/* Packing and unpacking of protobuf messages with a limit on the memory that unpacking may use. */
#include "rpc/message.h"

#include <stdlib.h>

int rpc_message_pack(const ProtobufCMessage *m, struct buf *out, struct error *err)
{
    char *data = buf_grow(out, protobuf_c_message_get_packed_size(m));

    if (data)
        (void)protobuf_c_message_pack(m, (uint8_t *)data);
    return buf_check(out, "a request", err);
}

struct allowance {
    size_t left;
};

static void *bounded_alloc(void *ctx, size_t size)
{
    struct allowance *a = ctx;

    if (size > a->left)
        return NULL;
    a->left -= size;
    return malloc(size ? size : 1);
}

static void bounded_free(void *ctx, void *memory)
{
    (void)ctx; /* freed memory is not credited: the limit is on the total */
    free(memory);
}

ProtobufCMessage *rpc_message_read(const ProtobufCMessageDescriptor *type, struct str text)
{
    struct allowance a = { RPC_UNPACKED_BYTES_MAX };
    ProtobufCAllocator allocator = { bounded_alloc, bounded_free, &a };

    return protobuf_c_message_unpack(type, &allocator, text.len, (const uint8_t *)text.s);
}

/* Uses the C library's allocator: what the limit counted was allocated with malloc() too. */
void rpc_message_free(ProtobufCMessage **m)
{
    if (*m)
        protobuf_c_message_free_unpacked(*m, NULL);
    *m = NULL;
}
