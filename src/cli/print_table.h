/* The server's Tables as kubectl prints them: the columns that are asked for, aligned, with a head.
 *
 * A printer is for one kind at a time: rows of several answers and of events stand in the same columns. On a
 * terminal the head and the words for a state have a colour, and what is too wide moves closer together. */
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
    bool shows_events; /* what a watch says of the row: ADDED, … */
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

static inline void table_printer_done_p(struct table_printer *t)
{
    table_printer_done(t);
}

/* Takes the columns of a Table, when it has some, and writes the head before the first row. */
int table_printer_begin(struct table_printer *t, const struct json *d, json_ref table, struct error *err);
/* One of its rows; event: NULL outside of watches. */
void table_printer_add(struct table_printer *t, const struct json *d, json_ref row, const char *event);
/* To standard output. */
int table_printer_flush(struct table_printer *t, struct error *err);

/* The colours of tables: for struct columns' paint. NULL when standard output is no terminal, or $NO_COLOR.
 */
const char *(*table_paint(void))(size_t line, struct str cell);

/* "a=b,c=d", "<none>". */
void table_write_labels(const struct json *d, json_ref labels, struct buf *out);

#endif
