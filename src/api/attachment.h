/* VolumeAttachment: a request to attach one volume to one node. */
#ifndef BERTH_API_ATTACHMENT_H
#define BERTH_API_ATTACHMENT_H

#include "api/object.h"

/* The last error; the message is "" if there was none. */
struct attachment_error {
    const char *message;
    struct timestamp time;
    int64_t code; /* -1 if not set */
};

struct attachment {
    struct object obj;
    const char *attacher;
    const char *node_name;
    const char *volume_name; /* "" if the source is inline */
    struct kvs metadata;     /* passed to the driver when it publishes the volume */
    struct attachment_error attach_error;
    struct attachment_error detach_error;
    const char *inline_handle; /* handle of an inline CSI source; "" for none */
    bool has_inline_source;
    bool is_attached;
};

extern const struct kind_info attachment_kind;

#endif
