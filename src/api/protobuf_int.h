/* The protobuf wire format, for protobuf*.c. */
#ifndef BERTH_API_PROTOBUF_INT_H
#define BERTH_API_PROTOBUF_INT_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,
    WIRE_GROUP_END = 4,
    WIRE_FIXED32 = 5,
};

/* The unread rest of a message. */
struct protobuf_wire {
    struct str rest;
    struct error *err;
};

struct wire_value {
    uint32_t number;
    enum wire_type type;
    uint64_t varint;
    struct str bytes; /* of WIRE_BYTES */
};

/* The next field: 1; 0 at the end of the message. Texts are slices of the message. */
int wire_next(struct protobuf_wire *w, struct wire_value *ret);

/* The next number of a message that only has numbers. */
int wire_varint(struct protobuf_wire *w, uint64_t *ret);

#endif
