/* Random bytes from getrandom(). Retries short reads. */
#include "io/random.h"

#include <errno.h>
#include <sys/types.h>

#include "io/sys.h"

int io_random(void *data, size_t len, struct error *err)
{
    char *at = data;

    while (len > 0) {
        ssize_t n = sys_getrandom(at, len); /* a signal may interrupt reads of more than 256 bytes */
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read random bytes");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}
