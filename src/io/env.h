/* What the process was given at its start: variables, its user, its terminal. */
#ifndef BERTH_IO_ENV_H
#define BERTH_IO_ENV_H

#include <stdbool.h>
#include <sys/types.h>

/* The variable's value; NULL when it is unset or empty. */
const char *io_env(const char *name);

/* True when the process may do everything. */
bool io_is_root(void);
/* Who this process acts as, and what a user is called: "alice", or "user 1000" when nobody knows. */
#define IO_USER_NAME_BYTES 64
/* True when the process may mount file systems: CAP_SYS_ADMIN. */
bool io_may_mount(void);
uid_t io_user(void);
void io_user_name(uid_t uid, char ret[IO_USER_NAME_BYTES]);

/* True when a person reads standard error. */
bool io_stderr_is_terminal(void);
/* The same of standard output. */
bool io_stdout_is_terminal(void);
/* How many characters a line of standard output has on a terminal; 0 when nobody knows. */
unsigned io_stdout_columns(void);
/* True when the locale says that texts are UTF-8: whether lines and bars may be drawn. */
bool io_is_utf8(void);

#endif
