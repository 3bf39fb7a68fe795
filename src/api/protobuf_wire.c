/* The protobuf wire format: tags, varints, lengths, and skipping of unknown fields. Nothing here allocates or
 * recurses, and no byte is read twice, except in nested messages. */
#include "api/protobuf_int.h"

#include "api/protobuf.h"

#define FIELD_NUMBER_MAX ((UINT64_C(1) << 29) - 1)

static int wire_cut_short(struct protobuf_wire *w)
{
    return error_set(w->err, ERR_BAD_REQUEST, "unexpected EOF");
}

static int wire_take(struct protobuf_wire *w, uint64_t len, struct str *ret)
{
    if (len > w->rest.len)
        return wire_cut_short(w);
    *ret = (struct str){ w->rest.s, (size_t)len };
    w->rest = (struct str){ w->rest.s + len, w->rest.len - (size_t)len };
    return 0;
}

int wire_varint(struct protobuf_wire *w, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < w->rest.len; i++) {
        unsigned char byte = (unsigned char)w->rest.s[i];

        if (i == 9 && byte > 1) /* the tenth byte only has the last of 64 bits */
            return error_set(w->err, ERR_BAD_REQUEST, "proto: integer overflow");
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            w->rest = (struct str){ w->rest.s + i + 1, w->rest.len - i - 1 };
            *ret = value;
            return 0;
        }
    }
    return wire_cut_short(w);
}

/* The number and type of the next field. */
static int wire_tag(struct protobuf_wire *w, struct wire_value *ret)
{
    uint64_t tag = 0;
    int r = wire_varint(w, &tag);

    if (r < 0)
        return r;
    if (tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
        return error_set(w->err, ERR_BAD_REQUEST, "proto: illegal tag %llu (wire type %u)",
                         (unsigned long long)(tag >> 3), (unsigned)(tag & 7));
    if ((tag & 7) > WIRE_FIXED32)
        return error_set(w->err, ERR_BAD_REQUEST, "proto: illegal wireType %u", (unsigned)(tag & 7));
    ret->number = (uint32_t)(tag >> 3);
    ret->type = (enum wire_type)(tag & 7);
    return 0;
}

/* The value after a tag. A group has none: its fields follow. */
static int wire_payload(struct protobuf_wire *w, struct wire_value *v)
{
    struct str fixed;
    uint64_t len = 0;
    int r = 0;

    switch (v->type) {
    case WIRE_VARINT:
        return wire_varint(w, &v->varint);
    case WIRE_FIXED64:
        return wire_take(w, 8, &fixed);
    case WIRE_FIXED32:
        return wire_take(w, 4, &fixed);
    case WIRE_BYTES:
        r = wire_varint(w, &len);
        if (r == 0 && len > INT64_MAX)
            return error_set(w->err, ERR_BAD_REQUEST, "proto: negative length found during unmarshaling");
        return r < 0 ? r : wire_take(w, len, &v->bytes);
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        break;
    }
    return r;
}

/* Skips to the end of a group whose tag was just read. */
static int wire_skip_group(struct protobuf_wire *w)
{
    unsigned depth = 1;

    while (depth) {
        struct wire_value v = { 0 };
        int r = wire_tag(w, &v);

        if (r == 0)
            r = wire_payload(w, &v);
        if (r < 0)
            return r;
        if (v.type == WIRE_GROUP && ++depth > PROTOBUF_GROUP_DEPTH_MAX)
            return error_set(w->err, ERR_BAD_REQUEST, "proto: groups nest deeper than %d",
                             PROTOBUF_GROUP_DEPTH_MAX);
        if (v.type == WIRE_GROUP_END)
            depth--;
    }
    return 0;
}

int wire_next(struct protobuf_wire *w, struct wire_value *ret)
{
    int r;

    if (w->rest.len == 0)
        return 0;
    *ret = (struct wire_value){ 0 };
    r = wire_tag(w, ret);
    if (r < 0)
        return r;
    if (ret->type == WIRE_GROUP_END)
        return error_set(w->err, ERR_BAD_REQUEST, "proto: wiretype end group for non-group");
    r = ret->type == WIRE_GROUP ? wire_skip_group(w) : wire_payload(w, ret);
    return r < 0 ? r : 1;
}
