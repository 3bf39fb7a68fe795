/* The snapshot controller of a process: works while the process holds the lease of the stock
 * snapshot-controller, so that exactly one of several controllers of a cluster works.
 *
 * The process stands for election when the first snapshot or content exists. Until then the component costs
 * nothing but its caches. */
#ifndef BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOTS_H
#define BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOTS_H

#include "machinery/component_deps.h"

#define SNAPSHOTS_LEASE "snapshot-controller-leader"

struct snapshots;

struct snapshots_options {
    struct component_deps part;
    const char *identity; /* in the lease */
    const char *lease_ns;
    /* 0: the default of machinery/leader.h; for a server in this process a lease of three minutes. */
    uint64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
};

int snapshots_new(const struct snapshots_options *o, struct snapshots **ret, struct error *err);
void snapshots_start(struct snapshots *s);
/* The lease is not released. Accepts NULL. */
struct snapshots *snapshots_free(struct snapshots *s);
DEFINE_CLEANUP(struct snapshots, snapshots_free)
/* NULL if its state in memory is consistent, else what is wrong. For the simulator. */
const char *snapshots_check(const struct snapshots *s);

#endif
