/* What the process was given at its start: variables, its user, its terminal. */
#ifndef BERTH_IO_ENV_H
#define BERTH_IO_ENV_H

#include <stdbool.h>

/* The variable's value; NULL when it is unset or empty. */
const char *io_env(const char *name);

/* True when the process may do everything. */
bool io_is_root(void);

/* True when a person reads standard error. */
bool io_stderr_is_terminal(void);
/* The same of standard output. */
bool io_stdout_is_terminal(void);
/* How many characters a line of standard output has on a terminal; 0 when nobody knows. */
unsigned io_stdout_columns(void);
/* True when the locale says that texts are UTF-8: whether lines and bars may be drawn. */
bool io_is_utf8(void);

#endif
