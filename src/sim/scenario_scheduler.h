/* The scheduler's scenario: what its files share. */
#ifndef BERTH_SIM_SCENARIO_SCHEDULER_H
#define BERTH_SIM_SCENARIO_SCHEDULER_H

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/volume.h"
#include "sim/objects.h"
#include "sim/sim_world.h"

#define NODES_COUNT 4
#define VOLUMES_COUNT 12
#define CLAIMS_COUNT 8
#define PODS_COUNT 8
#define ZONES_COUNT 2
#define WRITES_MAX 64

#define LABEL_HOST "kubernetes.io/hostname"
#define LABEL_ZONE "zone"
extern const char *const zone_names[ZONES_COUNT];

/* What a node was like, and until when; 0: never, UINT64_MAX: it still is. */
struct node_past {
    uint64_t zone_until_ns[ZONES_COUNT];
};

/* A write of the scheduler's that has no answer yet: this version of the object is to be that claim's, or
 * that node's. */
struct assumed_write {
    unsigned id;
    char what[300]; /* "persistentvolumes/v1@17" */
    char whose[128];
};

struct scheduler_world {
    struct sim *sim;
    struct sim_process *binder;
    struct sim_process *scheduler;
    struct store_watcher watcher;
    struct node_past past[NODES_COUNT];
    uint64_t claims_gone_ns[CLAIMS_COUNT]; /* when one of the name last went; 0 for never */
    uint64_t volumes_gone_ns[VOLUMES_COUNT];
    struct assumed_write writes[WRITES_MAX];
    unsigned writes_count;
    uint64_t tidied_ns;
};

/* NULL when there is none. */
/* The annotation says who the claim is to be provisioned for, and nothing has been provisioned: the node's
 * name; NULL otherwise. */
const char *claim_waits_for_node(const struct claim *c);

/* scheduler_people.c: somebody changes something. */
void scheduler_workload_begin(struct scheduler_world *x);
void scheduler_workload_work(struct scheduler_world *x);
/* What is going and not in use is let go, and provisioners do their work, one at a time. */
void scheduler_workload_tidy(struct scheduler_world *x);

#endif
