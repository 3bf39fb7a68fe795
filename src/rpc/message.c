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
    (void)ctx; /* what was given is not given again: a bound on all of it */
    free(memory);
}

ProtobufCMessage *rpc_message_read(const ProtobufCMessageDescriptor *type, struct str text)
{
    struct allowance a = { RPC_UNPACKED_BYTES_MAX };
    ProtobufCAllocator allocator = { bounded_alloc, bounded_free, &a };

    return protobuf_c_message_unpack(type, &allocator, text.len, (const uint8_t *)text.s);
}

/* By the C library's own allocator: what the ceiling counted was malloc()ed too. */
void rpc_message_free(ProtobufCMessage **m)
{
    if (*m)
        protobuf_c_message_free_unpacked(*m, NULL);
    *m = NULL;
}
