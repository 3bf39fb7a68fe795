/* Text in columns: cells that end with a tab are padded to the width of their column.
 *
 * A column is a run of consecutive lines that have a cell there; the last cell of a line belongs to no column
 * and is written as it is. These are the rules of Go's tabwriter, which kubectl uses, so that the same cells
 * give the same bytes. Widths are counted in characters.
 *
 * Costs: linear in the text, times the cells of a line (at most COLUMNS_CELLS_MAX: further tabs are text). */
#ifndef BERTH_CLI_COLUMNS_H
#define BERTH_CLI_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define COLUMNS_CELLS_MAX 128
#define COLUMNS_BYTES_MAX ((size_t)1 << 30)

struct columns {
    struct buf text; /* not laid out yet: with tabs and line ends */
    size_t width_min;
    size_t padding;
    bool remembers; /* a column never becomes narrower: for tables that grow during a watch */
    size_t widths[COLUMNS_CELLS_MAX]; /* the widths to remember */
    /* The escape sequence of a cell on a terminal, NULL for none; line 0 is the first after columns_init().
     * NULL: no colours. */
    const char *(*paint)(size_t line, struct str cell);
    size_t lines_done;
};

/* Tables: at least 6 wide, 3 apart, with remembered widths. Descriptions: 2 apart. */
void columns_init_table(struct columns *c);
void columns_init_text(struct columns *c);
void columns_done(struct columns *c);

static inline void columns_done_p(struct columns *c)
{
    columns_done(c);
}

/* Adds a cell: control characters are made visible (ESC is "^["), and the text ends at the first line end,
 * with an ellipsis if there is more. */
void columns_add_cell(struct columns *c, struct str text);
/* The same for a text without columns. */
void columns_write_cell(struct buf *out, struct str text);
/* colour: the result of paint(); NULL for none. */
void columns_write_painted(struct buf *out, const char *colour, struct str text);

/* A constant text with a cell for each '%': columns_put(c, "%\t%/%
 * ", type, kind, name). */
#define columns_put(c, pattern, ...) columns_put_cells((c), (pattern), (const struct str[]){ __VA_ARGS__ })
void columns_put_cells(struct columns *c, const char *pattern, const struct str *cells);

/* A text that may have several lines and cells; only control characters are made visible. */
void columns_add_text(struct columns *c, struct str text);

/* The width of the widest line. */
size_t columns_width(const struct columns *c);

/* Lays out the added text, appends it to *out, and clears it. The last line needs no line end. */
int columns_flush(struct columns *c, struct buf *out, struct error *err);

#endif
