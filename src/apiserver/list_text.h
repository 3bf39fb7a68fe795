/* The text of a list, item by item, in every form that a client may ask for: compact JSON, indented JSON,
 * YAML, each of objects, rows or bare metadata. What comes out is byte for byte what the whole list, written
 * at once, would be.
 *
 * The compact form is a copy of the objects' texts. The others parse each item, so that memory is needed for
 * one item at a time. Failures stick in the buffer. */
#ifndef BERTH_APISERVER_LIST_TEXT_H
#define BERTH_APISERVER_LIST_TEXT_H

#include <stdbool.h>

#include "api/list.h"
#include "apiserver/render.h"
#include "base/buf.h"

struct list_text {
    struct rendering rendering; /* its scratch is used by every call below */
    bool has_items;
};

void list_text_begin(struct list_text *t, const struct list_meta *meta, struct buf *out);
void list_text_add(struct list_text *t, const struct object *o, struct buf *out);
void list_text_end(const struct list_text *t, struct buf *out);

/* Of the media asked for. */
const char *list_text_type(const struct list_text *t);

#endif
