/* Environment variables, the user, and the terminal of the process. Nothing is cached. */
#include "io/env.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/sys.h"

const char *io_env(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] != '\0' ? value : NULL;
}

bool io_is_root(void)
{
    return sys_geteuid() == 0;
}

bool io_may_mount(void)
{
    return sys_may_mount();
}

uid_t io_user(void)
{
    return sys_geteuid();
}

void io_user_name(uid_t uid, char ret[IO_USER_NAME_BYTES])
{
    struct passwd entry, *found = NULL;
    char room[1024];

    if (getpwuid_r(uid, &entry, room, sizeof room, &found) == 0 && found)
        (void)snprintf(ret, IO_USER_NAME_BYTES, "%s", found->pw_name); /* long names are truncated */
    else
        (void)snprintf(ret, IO_USER_NAME_BYTES, "user %u", (unsigned)uid);
}

bool io_stderr_is_terminal(void)
{
    return isatty(STDERR_FILENO) == 1;
}

bool io_stdout_is_terminal(void)
{
    return isatty(STDOUT_FILENO) == 1;
}

unsigned io_stdout_columns(void)
{
    struct winsize size = { 0 };

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool io_is_utf8(void)
{
    const char *locale = io_env("LC_ALL"), *charset;

    if (!locale)
        locale = io_env("LC_CTYPE");
    if (!locale)
        locale = io_env("LANG");
    charset = locale ? strchr(locale, '.') : NULL;
    return charset && (strncasecmp(charset, ".utf-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
}
