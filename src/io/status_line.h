/* The line at the foot of the terminal that standard error is: shown, shown anew in its place, taken away.
 *
 * There is one such terminal for a process, and one such line, so this has no object. Whoever writes anything
 * else for people takes the line away first: status_line_clear() costs nothing when there is none.
 *
 * A signal that ends the process (Ctrl-C, SIGTERM, a hang-up) takes the line away too, as long as the signal
 * has nobody else's handler; the process then ends by that signal as it would have. */
#ifndef BERTH_IO_STATUS_LINE_H
#define BERTH_IO_STATUS_LINE_H

#include <stdbool.h>

#include "base/str.h"

/* Standard error is a terminal that can write over a line: TERM is not "dumb". */
bool status_line_is_possible(void);
/* How many characters fit; 80 when nobody knows. */
unsigned status_line_columns(void);

/* One line, which fits, without a line end; it may have colours. */
void status_line_show(struct str text);
void status_line_clear(void);

#endif
