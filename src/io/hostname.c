/* The host name of this machine, NUL-terminated even if it is longer than the buffer. */
#include "io/hostname.h"

#include <errno.h>
#include <unistd.h>

int io_host_name(char ret[IO_HOST_NAME_BYTES], struct error *err)
{
    if (gethostname(ret, IO_HOST_NAME_BYTES) < 0)
        return error_set_errno(err, errno, "cannot read the host name");
    ret[IO_HOST_NAME_BYTES - 1] = '\0'; /* gethostname() does not terminate a name that is too long */
    return 0;
}
