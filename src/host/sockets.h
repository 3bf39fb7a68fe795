/* The sockets in a directory and below it. Blocks briefly: for local paths. Links are not followed. */
#ifndef BERTH_HOST_SOCKETS_H
#define BERTH_HOST_SOCKETS_H

#include <stdint.h>

#include "api/object.h"
#include "base/arena.h"
#include "base/error.h"
#include "io/socket.h"

#define HOST_SOCKETS_MAX 1024
#define HOST_SOCKETS_DEPTH_MAX 8

struct host_socket {
    const char *path;
    struct socket_id id;
};

struct host_sockets {
    const struct host_socket *items; /* sorted by path, in the order of the walk */
    uint32_t count;
    struct texts dirs; /* the visited directories, the first one included */
};

/* Everything is allocated in a. Names that begin with '.' are skipped, and so are deeper levels. Entries that
 * disappear meanwhile are ignored. More than HOST_SOCKETS_MAX sockets or directories are ERR_TOO_LARGE. */
int host_find_sockets(const char *dir, struct arena *a, struct host_sockets *ret, struct error *err);

#endif
