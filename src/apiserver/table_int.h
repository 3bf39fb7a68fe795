/* Between table.c and the kinds' files: columns, and the cells of a row under way. */
#ifndef BERTH_APISERVER_TABLE_INT_H
#define BERTH_APISERVER_TABLE_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/object.h"
#include "api/quantity.h"
#include "api/times.h"
#include "base/buf.h"

struct column {
    const char *name;
    const char *type; /* "string", "boolean", "integer", "date" */
    const char *description;
    int priority;       /* 1: for -o wide alone */
    const char *format; /* "name" for the column that names the object; NULL for none */
};

#define COLUMN_NAME                                                                           \
    {                                                                                         \
        "Name", "string", "Name of the object, unique for its kind and namespace.", 0, "name" \
    }
#define COLUMN_AGE                                            \
    {                                                         \
        "Age", "string", "Time since the object was made.", 0 \
    }

/* The view of an object whose kind has been told by its table; every view begins with the object. */
#define VIEW_OF(o, view) ((const struct view *)(const void *)(o))

struct cells {
    struct buf *out;
    struct timestamp now;
};

struct table_kind {
    const struct column *columns; /* ends with a NULL name */
    /* Writes as many cells as there are columns. */
    void (*write_cells)(const struct object *o, struct cells *c);
    /* Writes a row's member "conditions" and returns true; false for none. NULL for never any. */
    void (*write_conditions)(const struct object *o, struct buf *out);
};

extern const struct table_kind volume_table, claim_table, class_table, attributes_class_table;
extern const struct table_kind attachment_table, csi_driver_table, csi_node_table, csi_capacity_table;
extern const struct table_kind snapshot_table, snapshot_content_table, snapshot_class_table;
extern const struct table_kind pod_table, node_table, namespace_table, event_table;
extern const struct table_kind config_map_table, secret_table, service_account_table, lease_table;
extern const struct table_kind service_table, endpoints_table, endpoint_slice_table;

void cell_text(struct cells *c, const char *text);
/* The fallback in place of "". */
void cell_text_or(struct cells *c, const char *text, const char *fallback);
/* null in place of "": what a custom resource's column says of a field that is not there. */
void cell_text_or_null(struct cells *c, const char *text);
void cell_int(struct cells *c, int64_t value);
void cell_bool(struct cells *c, bool value);
void cell_null(struct cells *c);
void cell_quantity(struct cells *c, const struct quantity *q);
/* How long ago that was: "5m"; "<unknown>" for no time. */
void cell_age(struct cells *c, struct timestamp t);

/* A text in pieces: open, any of the others and what cannot need escapes straight into c->out, close. */
void cell_open(struct cells *c);
void cell_add(struct cells *c, const char *text);
void cell_close(struct cells *c);

#endif
