/* VolumeAttachment: one volume to be attached to one node. */
#ifndef BERTH_API_ATTACHMENT_H
#define BERTH_API_ATTACHMENT_H

#include "api/object.h"

/* What last went wrong; the message is "" when nothing did. */
struct attachment_error {
    const char *message;
    struct timestamp time;
    int64_t code; /* -1 when unset */
};

struct attachment {
    struct object obj;
    const char *attacher;
    const char *node_name;
    const char *volume_name; /* "" when the source is inline */
    struct kvs metadata;     /* what the driver wants back when it publishes */
    struct attachment_error attach_error;
    struct attachment_error detach_error;
    const char *inline_handle; /* of a CSI source that is inline; "" for none */
    bool has_inline_source;
    bool is_attached;
};

extern const struct kind_info attachment_kind;

#endif
