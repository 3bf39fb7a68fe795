/* The text of a list, item by item, in every format: compact JSON, indented JSON, YAML, each of objects, rows
 * or bare metadata. The result is byte for byte the same as a list that is written at once.
 *
 * The compact format copies the objects' texts. The others parse each item, and need memory for one item at a
 * time. Failures stick in the buffer. */
#ifndef BERTH_APISERVER_LIST_TEXT_H
#define BERTH_APISERVER_LIST_TEXT_H

#include <stdbool.h>

#include "api/list.h"
#include "apiserver/render.h"
#include "base/buf.h"

struct list_text {
    struct rendering rendering; /* all functions below use its scratch document */
    bool has_items;
};

void list_text_begin(struct list_text *t, const struct list_meta *meta, struct buf *out);
void list_text_add(struct list_text *t, const struct object *o, struct buf *out);
void list_text_end(const struct list_text *t, struct buf *out);

/* The content type of the format. */
const char *list_text_type(const struct list_text *t);

#endif
