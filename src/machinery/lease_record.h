/* What a Lease says about who leads, read and written.
 *
 * Numbers of another's making may be anything: reading brings them into their bounds. */
#ifndef BERTH_MACHINERY_LEASE_RECORD_H
#define BERTH_MACHINERY_LEASE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "api/lease.h"
#include "base/buf.h"

struct lease_record {
    const char *holder;       /* borrowed; "" for nobody */
    int64_t duration_seconds; /* 0 to INT32_MAX, and so are the transitions */
    int64_t transitions;
    struct timestamp acquired;
    struct timestamp renewed;
};

struct lease_record lease_record_of(const struct lease *l);

/* Nothing that an election writes has changed from a to b, nor is one of them another lease of that name. */
bool lease_record_is_same(const struct lease *a, const struct lease *b);

/* The body of a create. Failures stick in the buffer. */
void lease_record_write(const struct lease_record *r, const char *ns, const char *name, struct buf *out);
/* A merge patch that holds for this version of the lease and no other. */
void lease_record_write_patch(const struct lease_record *r, const struct lease *seen, struct buf *out);

#endif
