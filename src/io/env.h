/* The environment of the process: variables, user, terminal. */
#ifndef BERTH_IO_ENV_H
#define BERTH_IO_ENV_H

#include <stdbool.h>
#include <sys/types.h>

/* The variable's value; NULL when it is unset or empty. */
const char *io_env(const char *name);

/* True when the effective user is root. */
bool io_is_root(void);
/* The user of this process, and the name of a user: "alice", or "user 1000" when it has no name. */
#define IO_USER_NAME_BYTES 64
/* True when the process may mount file systems: CAP_SYS_ADMIN. */
bool io_may_mount(void);
uid_t io_user(void);
void io_user_name(uid_t uid, char ret[IO_USER_NAME_BYTES]);

/* True when standard error is a terminal. */
bool io_stderr_is_terminal(void);
/* True when standard output is a terminal. */
bool io_stdout_is_terminal(void);
/* The columns of the terminal that standard output is; 0 when unknown. */
unsigned io_stdout_columns(void);
/* True when the locale's encoding is UTF-8: box-drawing characters may be printed. */
bool io_is_utf8(void);

#endif
