/* Lease. */
#ifndef BERTH_API_LEASE_H
#define BERTH_API_LEASE_H

#include "api/object.h"

struct lease {
    struct object obj;
    const char *holder;       /* "" when nobody holds it */
    int64_t duration_seconds; /* 0 when unset */
    int64_t transitions;
    struct timestamp acquired; /* unset: zero */
    struct timestamp renewed;
};

extern const struct kind_info lease_kind;

#endif
