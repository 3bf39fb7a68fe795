/* The wire, and the numbers of protobuf's fields: for protobuf*.c and their tests. */
#ifndef BERTH_API_PROTOBUF_INT_H
#define BERTH_API_PROTOBUF_INT_H

#include <stdint.h>

#include "api/schema.h"
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

/* One message: what of it has not been read yet. */
struct wire {
    struct str rest;
    struct error *err;
};

struct wire_value {
    uint32_t number;
    enum wire_type type;
    uint64_t varint;
    struct str bytes; /* of WIRE_BYTES */
};

/* The next field: 1; 0 at the end of the message. The texts are part of the message. */
int wire_next(struct wire *w, struct wire_value *ret);

/* One field of a message; an array of them ends with number 0. The type is that of the field of the same name
 * in the kind's schema, which is walked side by side. */
struct proto_field {
    uint32_t number;
    const char *name;              /* in JSON; NULL: the fields of sub stand in the outer object itself */
    const struct proto_field *sub; /* of an object, or of a list's items */
};

struct proto_kind {
    const char *api_version; /* NULL: any */
    const char *kind;
    const struct proto_field *fields;
};

extern const struct proto_kind proto_kinds[]; /* ends with a NULL kind */

/* The kind's message and schema; NULL for a kind whose protobuf form is not known here. */
const struct proto_kind *proto_kind(struct str api_version, struct str kind,
                                    const struct schema **ret_schema);

#endif
