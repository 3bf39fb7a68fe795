/* Lease. */
#ifndef BERTH_API_LEASE_H
#define BERTH_API_LEASE_H

#include "api/object.h"

struct lease {
    struct object obj;
    const char *holder;       /* "" if it is not held */
    int64_t duration_seconds; /* 0 if not set */
    int64_t transitions;
    struct timestamp acquired; /* zero if not set */
    struct timestamp renewed;
};

extern const struct kind_info lease_kind;

#endif
