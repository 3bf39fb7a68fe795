/* Text in columns: cells that end with a tab are padded, so that those below one another are as wide.
 *
 * A column is a run of consecutive lines that have a cell there; the last cell of a line belongs to no column
 * and is written as it is. These are the rules of the tool that kubectl aligns its output with, so that the
 * same cells give the same bytes. Widths are counted in characters.
 *
 * Costs: linear in the text, times the cells of a line (COLUMNS_CELLS_MAX at most: further tabs are text). */
#ifndef BERTH_CLI_COLUMNS_H
#define BERTH_CLI_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define COLUMNS_CELLS_MAX 128
#define COLUMNS_BYTES_MAX ((size_t)1 << 30)

struct columns {
    struct buf text; /* not yet laid out: tabs and line ends in it */
    size_t width_min;
    size_t padding;
    bool remembers; /* a column is never narrower than it was before: for tables that grow while one looks */
    size_t widths[COLUMNS_CELLS_MAX]; /* what is remembered */
    /* The escape sequence that a cell begins with on a terminal, NULL for none; line 0 is the first since
     * columns_init(). NULL: no colours at all. */
    const char *(*paint)(size_t line, struct str cell);
    size_t lines_done;
};

/* Tables: at least 6 wide, 3 apart, remembering. Descriptions: 2 apart. */
void columns_init_table(struct columns *c);
void columns_init_text(struct columns *c);
void columns_done(struct columns *c);

static inline void columns_done_p(struct columns *c)
{
    columns_done(c);
}

/* A cell's text with what a terminal would obey made visible (ESC is "^["), up to the first line end; an
 * ellipsis shows that there was more. */
void columns_add_cell(struct columns *c, struct str text);

/* A text that may have several lines and cells of its own; only what a terminal would obey is made visible.
 */
void columns_add_text(struct columns *c, struct str text);

/* How wide the widest line would be. */
size_t columns_width(const struct columns *c);

/* Lays out what was added, behind *out, and forgets it. The last line needs no end. */
int columns_flush(struct columns *c, struct buf *out, struct error *err);

#endif
