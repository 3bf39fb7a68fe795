/* Objects in the form that the client asked for: as they are, as rows of a Table, as bare metadata; events
 * also in the form of their other group.
 *
 * Objects carry their text, so that the plain form is a copy. Writers append compact JSON without a newline;
 * YAML, indentation and the newline are the answer's (call.h). Failures stick in the buffer. */
#ifndef BERTH_APISERVER_RENDER_H
#define BERTH_APISERVER_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/list.h"
#include "api/object.h"
#include "apiserver/call.h"
#include "apiserver/resource.h"
#include "base/buf.h"

/* For whom something is written: the resource it is asked through, the view, and the moment that ages are
 * counted from. */
struct rendering {
    const struct resource *resource;
    struct view view;
    struct timestamp now;
    struct json *scratch; /* for what must be parsed; cleared first */
};

struct rendering rendering_of(const struct call *c);

/* The object as the resource has it, a reference: itself, or an event in its other form. */
int render_as_object(const struct rendering *r, const struct object *o, struct object **ret,
                     struct error *err);
void render_object(const struct rendering *r, const struct object *o, struct buf *out);
void render_list(const struct rendering *r, const struct list_meta *meta, const struct object *const *objects,
                 size_t count, struct buf *out);
/* The same in parts, with commas between the items; LIST_WRITE_END ends it. */
void render_list_begin(const struct rendering *r, const struct list_meta *meta, struct buf *out);
void render_list_item(const struct rendering *r, const struct object *o, struct buf *out);

/* A line of a watch, with its newline: {"type":"ADDED","object":…}. Of a Table's events the first alone has
 * the columns. */
void render_watch_event(const struct rendering *r, enum watch_event_type type, const struct object *o,
                        bool has_columns, struct buf *out);
/* {"type":"BOOKMARK",…}: the watch has seen everything up to the revision. */
void render_bookmark(const struct rendering *r, int64_t revision, bool ends_initial_events, struct buf *out);
/* {"type":"ERROR","object":<Status>}. */
void render_watch_error(const struct error *e, struct buf *out);

/* The answers. Of a write the object is never shown as a Table: the client asked for it with what it reads.
 */
void call_answer_object(struct call *c, int status, const struct object *o);
void call_answer_written(struct call *c, int status, const struct object *o);

#endif
