/* Lists: what the API answers to a list request, read and written.
 *
 * Reading makes the objects one after the other out of one parsed document; nothing is parsed twice. The
 * items of built-in kinds' lists carry no kind and apiVersion: they come from the list. Writing strings
 * together the texts that the objects have already, at the cost of a copy. */
#ifndef BERTH_API_LIST_H
#define BERTH_API_LIST_H

#include <stdint.h>

#include "api/json.h"
#include "api/kind.h"
#include "api/object.h"
#include "base/buf.h"
#include "base/error.h"

/* metadata of a list */
struct list_meta {
    struct str resource_version;
    struct str continue_token; /* "" on the last page */
    int64_t remaining;         /* remainingItemCount; -1 when it is not said */
};

struct list_reader {
    struct list_meta meta;        /* borrowed from the document */
    uint32_t count;               /* of all items */
    const struct kind_info *kind; /* of the items; NULL when each says its own */
    struct json *d;
    json_ref items;
    uint32_t next; /* index of the next item */
};

/* Starts reading the list at v. With a kind its items must be of that kind, in a list of it or in a v1 List;
 * without one (NULL) the list says what they are, or in a v1 List each item does. The reader takes the
 * document apart as it goes: it needs it to itself, and no done. */
int list_open(struct json *d, json_ref v, const struct kind_info *k, struct list_reader *ret,
              struct error *err);

/* The next item: 1 and an object (the caller unrefs it), 0 at the end. An item that fails is passed over and
 * named in the message, "items[3]: …": the caller may go on with the rest. */
int list_next(struct list_reader *l, struct object **ret, struct error *err);

/* Writes a list body, compact and without a newline at its end. Every object is of kind k. Built-in kinds'
 * items are written without kind and apiVersion, custom ones' with them. Failures stick in the buffer. */
void list_write(const struct kind_info *k, const struct list_meta *meta, const struct object *const *objects,
                size_t count, struct buf *out);

/* The same in parts, with commas between the items. */
#define LIST_WRITE_END "]}"
void list_write_begin(const struct kind_info *k, const struct list_meta *meta, struct buf *out);
void list_write_item(const struct kind_info *k, const struct object *o, struct buf *out);

/* The member "metadata" alone, for documents that are like lists. */
void list_write_meta(const struct list_meta *meta, struct buf *out);

#endif
