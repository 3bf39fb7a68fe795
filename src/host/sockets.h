/* The sockets in a directory and below it. Blocks a little: for local paths. Links are not followed. */
#ifndef BERTH_HOST_SOCKETS_H
#define BERTH_HOST_SOCKETS_H

#include <stdint.h>

#include "api/object.h"
#include "base/arena.h"
#include "base/error.h"

#define HOST_SOCKETS_MAX 1024
#define HOST_SOCKETS_DEPTH_MAX 8

/* Another socket under the same path has another identity: device and inode, and when it was made, which no
 * later chmod() changes. */
struct host_socket {
    const char *path;
    uint64_t device;
    uint64_t inode;
    int64_t made_ns;
};

struct host_sockets {
    const struct host_socket *items; /* by path, in the order of a walk */
    uint32_t count;
    struct texts dirs; /* that were walked, the first one too */
};

/* All of it in a. Names that begin with '.' are passed over, and what lies deeper. What vanishes meanwhile is
 * not there. More than HOST_SOCKETS_MAX sockets or directories are ERR_TOO_LARGE. */
int host_find_sockets(const char *dir, struct arena *a, struct host_sockets *ret, struct error *err);

static inline bool host_socket_is_same(const struct host_socket *a, const struct host_socket *b)
{
    return a->device == b->device && a->inode == b->inode && a->made_ns == b->made_ns;
}

#endif
