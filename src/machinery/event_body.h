/* The words of events: names, messages, keys to tell them apart, and their two forms as JSON. */
#ifndef BERTH_MACHINERY_EVENT_BODY_H
#define BERTH_MACHINERY_EVENT_BODY_H

#include <stdint.h>

#include "api/object.h"
#include "base/buf.h"
#include "base/rng.h"

#define EVENT_NAME_BYTES 254 /* with the NUL */
#define EVENT_INSTANCE_BYTES_MAX 128

/* Everything an event says. Texts are borrowed. */
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

/* Where events about the object are: its namespace, "default" at cluster scope. */
const char *event_namespace(const struct object *about);

/* "<object>.<nanoseconds, hexadecimal>", a random UUID where that is no name. */
void event_name(const char *object_name, int64_t unix_ns, struct rng *rng, char ret[EVENT_NAME_BYTES]);

/* Appends the text as UTF-8 without NUL, whatever it was; of one that does not fit into bytes_max the two
 * ends (buf_add_ends()). */
void event_message(struct str text, size_t bytes_max, struct buf *out);

/* Parts of keys: no two sequences of parts give the same key. The object: kind, namespace, name, uid. */
void event_key_text(struct str text, struct buf *out);
void event_key_object(const struct object *o, struct buf *out);

/* The object of core/v1, and the patch that counts on: {"count":…,"lastTimestamp":…,"message":…}. */
void event_write_core(const struct event_body *b, struct buf *out);
void event_write_core_patch(const struct event_body *b, struct buf *out);

/* The object of events.k8s.io/v1 up to its last brace, which is for the writer: a series may stand before it.
 */
void event_write_v1_open(const struct event_body *b, struct buf *out);
/* "series":{"count":…,"lastObservedTime":…} */
void event_write_series(int32_t count, int64_t last_real_ns, struct buf *out);

#endif
