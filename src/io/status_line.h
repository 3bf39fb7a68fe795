/* A status line at the bottom of the terminal of standard error: drawn, redrawn in place, erased.
 *
 * A process has one terminal and one such line, so there is no object. Before other output the line must be
 * erased: status_line_clear() costs nothing when there is none.
 *
 * A signal that ends the process (Ctrl-C, SIGTERM, SIGHUP) erases the line too, unless the signal has another
 * handler; the signal then ends the process as usual. */
#ifndef BERTH_IO_STATUS_LINE_H
#define BERTH_IO_STATUS_LINE_H

#include <stdbool.h>

#include "base/str.h"

/* True when standard error is a terminal that can overwrite a line: TERM is not "dumb". */
bool status_line_is_possible(void);
/* The columns of the terminal; 80 when unknown. */
unsigned status_line_columns(void);

/* One line that fits, without a line end; it may contain colours. */
void status_line_show(struct str text);
void status_line_clear(void);

#endif
