#include "io/env.h"

#include <stdlib.h>
#include <unistd.h>

const char *io_env(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] != '\0' ? value : NULL;
}

bool io_is_root(void)
{
    return geteuid() == 0;
}

bool io_stderr_is_terminal(void)
{
    return isatty(STDERR_FILENO) == 1;
}
