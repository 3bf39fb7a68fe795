#include "io/random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

int io_random(void *data, size_t len, struct error *err)
{
    char *at = data;

    while (len > 0) {
        ssize_t n = getrandom(at, len, 0); /* above 256 bytes a signal may cut it short */
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read random bytes");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}
