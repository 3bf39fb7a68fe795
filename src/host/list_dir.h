/* The names in a directory. Blocks: for the pool. */
#ifndef BERTH_HOST_LIST_DIR_H
#define BERTH_HOST_LIST_DIR_H

#include "api/object.h"
#include "base/arena.h"
#include "base/error.h"

/* All of them but "." and "..", in bytewise order; more than count_max is ERR_TOO_LARGE. Links on the way are
 * followed: for directories that people of the machine have set up. In a. */
int host_list_dir(const char *path, struct arena *a, uint32_t count_max, struct texts *ret,
                  struct error *err);

#endif
