/* Files without a name in memory (memfd), sealed against changes, for libraries that accept only a path. */
#include "io/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MEMORY_FILE_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int write_content(int fd, struct str content)
{
    while (content.len > 0) {
        ssize_t n = write(fd, content.s, content.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        content.s += n;
        content.len -= (size_t)n;
    }
    return 0;
}

int memory_file(const char *name, struct str content, char ret_path[MEMORY_FILE_PATH_BYTES], int *ret_fd,
                struct error *err)
{
    _cleanup_(fd_closep) int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r;

    if (fd < 0)
        return error_set_errno(err, errno, "cannot keep %s in memory", name);
    r = write_content(fd, content);
    if (r == 0 && fcntl(fd, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0)
        r = -errno;
    if (r < 0)
        return error_set_errno(err, -r, "cannot keep %s in memory", name);
    (void)snprintf(ret_path, MEMORY_FILE_PATH_BYTES, "/proc/self/fd/%d", fd);
    *ret_fd = take_fd(&fd);
    return 0;
}
