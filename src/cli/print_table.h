/* Prints the server's Tables as kubectl does: the requested columns, aligned, with column headers.
 *
 * A printer is for one kind at a time: rows of several responses and of events share its columns. On a
 * terminal headers and states are coloured, and wide tables are compressed. */
#ifndef BERTH_CLI_PRINT_TABLE_H
#define BERTH_CLI_PRINT_TABLE_H

#include "api/json.h"
#include "api/kind.h"
#include "cli/columns.h"

struct table_settings {
    bool is_wide;
    bool has_no_headers;
    bool shows_namespace;
    bool shows_kind; /* before the name: "persistentvolume/x" */
    bool shows_labels;
    bool shows_events; /* type of the watch event: ADDED, … */
    const char *const *label_columns;
    size_t label_columns_count;
};

struct table_printer {
    struct table_settings how;
    const struct kind_info *kind;
    struct columns columns;
    size_t rows; /* printed so far, or added */
    size_t cells_count;
    bool is_shown[COLUMNS_CELLS_MAX];
    bool has_head;
};

void table_printer_init(struct table_printer *t, const struct kind_info *k, const struct table_settings *how);
void table_printer_done(struct table_printer *t);

/* Reads the columns of a Table, if it has any, and writes the headers before the first row. */
int table_printer_begin(struct table_printer *t, const struct json *d, json_ref table, struct error *err);
/* Adds one row; event: NULL outside of watches. */
void table_printer_add(struct table_printer *t, const struct json *d, json_ref row, const char *event);
/* To standard output. */
int table_printer_flush(struct table_printer *t, struct error *err);

/* The colours of tables, for paint in struct columns. NULL when standard output is not a terminal, or
 * $NO_COLOR is set. */
const char *(*table_paint(void))(size_t line, struct str cell);

/* "a=b,c=d", "<none>". */
void table_write_labels(const struct json *d, json_ref labels, struct buf *out);

#endif
