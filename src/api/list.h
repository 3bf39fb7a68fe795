/* Lists: responses to list requests, read and written.
 *
 * Reading creates the objects one after another from one parsed document; nothing is parsed twice. Items in
 * lists of built-in kinds have no kind and apiVersion: they are taken from the list. Writing copies the texts
 * of the objects. */
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
    int64_t remaining;         /* remainingItemCount; -1 if absent */
};

struct list_reader {
    struct list_meta meta;        /* borrowed from the document */
    uint32_t count;               /* of all items */
    const struct kind_info *kind; /* of the items; NULL if each has its own */
    struct json *d;
    json_ref items;
    uint32_t next; /* index of the next item */
};

/* Starts to read the list at v. With a kind all items must be of that kind, in its list or in a v1 List;
 * without one (NULL) the list determines the kind, or in a v1 List each item. The reader modifies the
 * document, which must not be used otherwise; it needs no release. */
int list_open(struct json *d, json_ref v, const struct kind_info *k, struct list_reader *ret,
              struct error *err);

/* The next item: 1 and an object (the caller unrefs it), 0 at the end. An item that fails is skipped and
 * named in the error, "items[3]: …": the caller may continue. */
int list_next(struct list_reader *l, struct object **ret, struct error *err);

/* Writes a list, compact and without a newline at its end. All objects are of kind k. Items of built-in kinds
 * are written without kind and apiVersion, custom ones with them. Failures are kept in the buffer. */
void list_write(const struct kind_info *k, const struct list_meta *meta, const struct object *const *objects,
                size_t count, struct buf *out);

/* The same in parts; the caller writes the commas between the items. */
#define LIST_WRITE_END "]}"
void list_write_begin(const struct kind_info *k, const struct list_meta *meta, struct buf *out);
void list_write_item(const struct kind_info *k, const struct object *o, struct buf *out);

/* Only the member "metadata", for similar documents. */
void list_write_meta(const struct list_meta *meta, struct buf *out);

#endif
