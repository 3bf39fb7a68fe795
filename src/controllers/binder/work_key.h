/* Keys of the binder as text: "c/NAMESPACE/NAME" and "v/NAME" for the state of a claim or volume. Keys of
 * operations have "/UID" appended, because another object may get the same name. Built and parsed only here.
 */
#ifndef BERTH_CONTROLLERS_BINDER_WORK_KEY_H
#define BERTH_CONTROLLERS_BINDER_WORK_KEY_H

#include "api/object.h"

enum binder_queue { BINDER_CLAIMS, BINDER_VOLUMES, BINDER_QUEUE_COUNT };

struct binder_key {
    enum binder_queue queue;
    struct str name; /* as in the queue: "NAMESPACE/NAME", or "NAME" of a volume */
};

/* "c/" and two names of the maximum length that the API allows. */
#define WORK_KEY_BYTES_MAX 600

/* The key of an object; its name is written to `name`. */
struct binder_key work_key_of(const struct object *o, struct buf *name);
void work_key_format(struct binder_key k, char to[static WORK_KEY_BYTES_MAX]);

/* The key of an object's operations; and from that the key of the object, whose name points into the text. */
void work_key_format_operation(const struct object *o, struct buf *out);
struct binder_key work_key_parse_operation(struct str text);

#endif
