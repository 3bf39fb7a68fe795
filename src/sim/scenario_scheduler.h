/* Scenario scheduler: what its files share. */
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

/* Until when a node was in each zone; 0: never, UINT64_MAX: it is now. */
struct node_past {
    uint64_t zone_until_ns[ZONES_COUNT];
};

/* A write of the scheduler in flight, which assigns this version of an object to a claim or to a node. */
struct assumed_write {
    unsigned id;
    char what[300];  /* "persistentvolumes/v1@17" */
    char whose[128]; /* the claim by uid, or the node by name */
};

struct scheduler_scenario {
    struct sim *sim;
    struct sim_process *binder;
    struct sim_process *scheduler;
    struct store_watcher watcher;
    struct node_past past[NODES_COUNT];
    uint64_t claims_deleted_ns[CLAIMS_COUNT]; /* when a claim of the name was last deleted; 0: never */
    uint64_t volumes_deleted_ns[VOLUMES_COUNT];
    struct assumed_write writes[WRITES_MAX];
    unsigned writes_count;
    uint64_t controlled_ns;
};

/* The node that an unbound claim is to be provisioned for; NULL: none. */
const char *claim_waits_for_node(const struct claim *c);

/* --- scheduler_workload.c --- */

void scheduler_workload_begin(struct scheduler_scenario *scenario);
void scheduler_workload_work(struct scheduler_scenario *scenario);
/* Acts as the protection controllers and, in the recovery phase, as provisioner, for one object at a time. */
void scheduler_workload_control(struct scheduler_scenario *scenario);

#endif
