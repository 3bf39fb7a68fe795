/* Shared by table.c and the kinds' files: columns, and the cells of the row being written. */
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
    int priority;       /* 1: only for -o wide */
    const char *format; /* "name" for the column that names the object; NULL for none */
};

/* clang-format off */
#define COLUMN_NAME { "Name", "string", "Name of the object, unique for its kind and namespace.", 0, "name" }
#define COLUMN_AGE { "Age", "string", "Time since the object was made.", 0 }
#define COLUMN_DATE_AGE { "Age", "date", "Time since the object was made.", 0 } /* of custom resources */
/* clang-format on */
#define COLUMNS(table) (table), ARRAY_LEN(table)

/* The decoded object whose kind is known from its table; every one begins with the object. */
#define VIEW_OF(o, view) ((const struct view *)(const void *)(o))

struct cells {
    struct buf *out;
    struct timestamp now;
};

struct table_kind {
    const struct column *columns;
    size_t columns_count;
    /* Writes one cell per column. */
    void (*write_cells)(const struct object *o, struct cells *c);
    /* Writes a row's member "conditions" and returns true; false for none. NULL: never any. */
    void (*write_conditions)(const struct object *o, struct buf *out);
};

extern const struct table_kind volume_table, claim_table, class_table, attributes_class_table;
extern const struct table_kind attachment_table, csi_driver_table, csi_node_table, csi_capacity_table;
extern const struct table_kind snapshot_table, snapshot_content_table, snapshot_class_table;
extern const struct table_kind group_snapshot_table, group_snapshot_content_table, group_snapshot_class_table;
extern const struct table_kind pod_table, node_table, namespace_table, event_table;
extern const struct table_kind config_map_table, secret_table, service_account_table, lease_table;
extern const struct table_kind service_table, endpoints_table, endpoint_slice_table;

void cell_text(struct cells *c, const char *text);
/* Writes the fallback instead of "". */
void cell_text_or(struct cells *c, const char *text, const char *fallback);
/* Writes null instead of "": as columns of custom resources do for a missing field. */
void cell_text_or_null(struct cells *c, const char *text);
void cell_int(struct cells *c, int64_t value);
void cell_bool(struct cells *c, bool value);
void cell_null(struct cells *c);
void cell_quantity(struct cells *c, const struct quantity *q);
/* Time since then: "5m"; "<unknown>" for no time. */
void cell_age(struct cells *c, struct timestamp t);

/* A text in pieces: open, any of the others and text without escapes directly into c->out, close. */
void cell_open(struct cells *c);
void cell_add(struct cells *c, const char *text);
void cell_close(struct cells *c);

#endif
