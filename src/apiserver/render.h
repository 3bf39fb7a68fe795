/* Objects in the requested representation: as they are, as rows of a Table, as bare metadata; events also in
 * their other group.
 *
 * Objects carry their text, so the plain representation is a copy. Writers append compact JSON without a
 * newline; YAML, indentation and the newline are added by api_call.h. Failures stick in the buffer. */
#ifndef BERTH_APISERVER_RENDER_H
#define BERTH_APISERVER_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/list.h"
#include "api/object.h"
#include "apiserver/api_call.h"
#include "apiserver/resource.h"
#include "base/buf.h"

/* Context of the writers: the resource of the request, the view, and the time that ages refer to. */
struct rendering {
    const struct resource *resource;
    struct view view;
    struct timestamp now;
    struct json *scratch; /* for parsing; cleared before use */
};

struct rendering rendering_of(const struct call *c);

/* The object as the resource has it, a reference: itself, or an event converted to its other group. */
int render_as_object(const struct rendering *r, const struct object *o, struct object **ret,
                     struct error *err);
void render_object(const struct rendering *r, const struct object *o, struct buf *out);
void render_list(const struct rendering *r, const struct list_meta *meta, const struct object *const *objects,
                 size_t count, struct buf *out);
/* The same in steps, with commas between the items; followed by LIST_WRITE_END. */
void render_list_begin(const struct rendering *r, const struct list_meta *meta, struct buf *out);
void render_list_item(const struct rendering *r, const struct object *o, struct buf *out);

/* A line of a watch, with its newline: {"type":"ADDED","object":…}. Only the first event of a Table has the
 * columns. */
void render_watch_event(const struct rendering *r, enum watch_event_type type, const struct object *o,
                        bool has_columns, struct buf *out);
/* {"type":"BOOKMARK",…}: all changes up to the revision were sent. */
void render_bookmark(const struct rendering *r, int64_t revision, bool ends_initial_events, struct buf *out);
/* {"type":"ERROR","object":<Status>}. */
void render_watch_error(const struct error *e, struct buf *out);

/* Responses. The object of a write is never sent as a Table: the Accept header is meant for reads. */
void call_answer_object(struct call *c, int status, const struct object *o);
void call_answer_written(struct call *c, int status, const struct object *o);

#endif
