/* Parts of events: names, messages, keys that identify equal events, and both JSON forms. */
#ifndef BERTH_MACHINERY_EVENT_BODY_H
#define BERTH_MACHINERY_EVENT_BODY_H

#include <stdint.h>

#include "api/object.h"
#include "base/buf.h"
#include "base/rng.h"

#define EVENT_NAME_BYTES 254 /* with the NUL */
#define EVENT_INSTANCE_BYTES_MAX 128

/* The content of an event. Texts are borrowed. */
struct event_body {
    const char *name;
    const struct object *about;
    const struct object *related; /* NULL for none */
    const char *component;
    const char *host; /* "" for none */
    const char *type;
    const char *reason;
    const char *action;
    struct str message;
    int64_t first_real_ns;
    int64_t last_real_ns;
    int32_t count;
};

/* The namespace of events about the object: its own, or "default" at cluster scope. */
const char *event_namespace(const struct object *about);

/* "<object>.<nanoseconds, hexadecimal>", or a random UUID if that is not a valid name. */
void event_name(const char *object_name, int64_t unix_ns, struct rng *rng, char ret[EVENT_NAME_BYTES]);

/* Appends the text as valid UTF-8 without NUL; if it exceeds bytes_max, its two ends (buf_add_ends()). */
void event_message(struct str text, size_t bytes_max, struct buf *out);

/* Append parts of a key: different sequences of parts never give the same key. The object's parts are kind,
 * namespace, name and uid. */
void event_key_text(struct str text, struct buf *out);
void event_key_object(const struct object *o, struct buf *out);

/* The core/v1 object, and the patch of a repeated event: {"count":…,"lastTimestamp":…,"message":…}. */
void event_write_core(const struct event_body *b, struct buf *out);
void event_write_core_patch(const struct event_body *b, struct buf *out);

/* The events.k8s.io/v1 object without its closing brace: the caller may add a series first. */
void event_write_v1_open(const struct event_body *b, struct buf *out);
/* "series":{"count":…,"lastObservedTime":…} */
void event_write_series(int32_t count, int64_t last_real_ns, struct buf *out);

#endif
