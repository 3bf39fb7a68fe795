/* Tables: objects as rows of cells, as `kubectl get` requests them.
 *
 * The server defines columns and texts, so kubectl needs to know no kind. Each kind has a list of columns and
 * a function that writes a row's cells (table_storage.c, table_core.c, table_pod.c, …); this file frames
 * them. Cells come from the decoded objects: a row costs no parsing. All columns are always sent; those with
 * priority 1 are only shown by `-o wide`.
 *
 * Everything is written compact and without a trailing newline; failures stick in the buffer. */
#ifndef BERTH_APISERVER_TABLE_H
#define BERTH_APISERVER_TABLE_H

#include <stdbool.h>

#include "api/list.h"
#include "api/object.h"
#include "api/times.h"
#include "apiserver/api_call.h"
#include "base/buf.h"

struct table_options {
    struct timestamp now;        /* for ages */
    enum include_object include; /* what each row includes of its object */
    const char *version;         /* "v1" or "v1beta1", of meta.k8s.io */
    bool omits_columns;          /* columnDefinitions is null: all but the first event of a watch */
};

/* A whole Table of a list. Every object is of kind k, or of the other group for events. No objects and
 * omits_columns: a bookmark. */
void table_write(const struct kind_info *k, const struct list_meta *meta, const struct object *const *objects,
                 size_t count, const struct table_options *how, struct buf *out);

/* A Table with one row, at the object's own resourceVersion: the response to a get, the object of an event.
 */
void table_write_object(const struct object *o, const struct table_options *how, struct buf *out);

/* The same up to the first row; followed by LIST_WRITE_END. */
void table_write_begin(const struct kind_info *k, const struct list_meta *meta,
                       const struct table_options *how, struct buf *out);

/* The parts: the array columnDefinitions, and {"cells":[…],"object":…}. */
void table_write_columns(const struct kind_info *k, struct buf *out);
void table_write_row(const struct object *o, const struct table_options *how, struct buf *out);

#endif
