/* Scenario attach: what its files share.
 *
 * The true state is on the machines and in the storage: which node has a volume attached, and what is
 * mounted. The scenario only records when the controllers may detach a volume by force: whether pods on the
 * node use it, since when they do not, and when the node was last not ready or out of service. */
#ifndef BERTH_SIM_SCENARIO_ATTACH_H
#define BERTH_SIM_SCENARIO_ATTACH_H

#include "api/node.h"
#include "api/pod.h"
#include "sim/daemon.h"
#include "sim/node_drivers.h"
#include "sim/objects.h"

#define PLANES_MAX 2
#define NODES_MIN 2
#define NODES_MAX 5
#define VOLUMES_COUNT 4
#define PODS_COUNT 5
#define AGENT_ROOT "/var/lib/berth"
#define UNIQUE_NAME_PREFIX "kubernetes.io/csi/" CSI_DRIVER "^d"
#define UNIQUE_NAME_BYTES (sizeof UNIQUE_NAME_PREFIX + 4)
#define NAME_BYTES 16

/* One volume on one node. */
struct attach_scenario_disk {
    /* The process, and its start, that last listed the volume in the status of the Node; NULL: none. */
    const struct sim_process *reporter;
    unsigned reporter_start;
    uint64_t reported_ns; /* since when the stored Node lists the volume; UINT64_MAX: it does not */

    /* Whether a stored pod on the node uses it. */
    bool is_wanted;
    uint64_t unwanted_ns;  /* since when it is not used */
    uint64_t waited_ns;    /* how long it was last not used */
    uint64_t waited_to_ns; /* the end of that time */
};

struct attach_scenario_node {
    struct attach_scenario *scenario;
    struct machine *machine;
    struct sim_process *process; /* the agent */
    struct sim_daemon_options daemon;
    char name[NAME_BYTES];
    unsigned number;
    unsigned lost_start; /* the start of the agent that was killed with the machine; 0: none */
    uint64_t renewed_ns; /* when its lease was last renewed */
    uint64_t unready_ns; /* when the Node was last not ready, or missing; UINT64_MAX: it is */
    uint64_t tainted_ns; /* the same for the taint out-of-service */
    struct attach_scenario_disk disks[VOLUMES_COUNT];
};

/* The properties of a pod, drawn before it is created. */
struct attach_scenario_pod {
    bool is_chosen;
    unsigned first; /* claim */
    unsigned second;
    bool has_two;
    unsigned node;
    bool has_node_selector; /* it selects the node */
};

struct attach_scenario {
    struct sim *sim;
    struct sim_process *planes[PLANES_MAX];
    struct sim_daemon_options plane_daemons[PLANES_MAX];
    char plane_names[PLANES_MAX][NAME_BYTES];
    /* When each process last listed the Nodes from the server's store, and its start then. */
    uint64_t listed_ns[PLANES_MAX];
    unsigned listed_start[PLANES_MAX];
    unsigned planes_count;
    struct node_drivers drivers;
    struct store_watcher watcher;
    struct attach_scenario_node nodes[NODES_MAX];
    unsigned nodes_count;
    struct attach_scenario_pod pods[PODS_COUNT];
    bool is_wanted_stale;    /* pods or claims have changed since is_wanted was updated */
    struct sim_mark checked; /* mounts of exclusive volumes */
    uint64_t controlled_ns;
    uint64_t action_ns_max; /* between two actions of the workload */
};

/* --- scenario_attach.c --- */

const struct node *attach_scenario_stored_node(const struct attach_scenario_node *n);
/* True while the machine has no power. */
bool attach_scenario_is_down(const struct attach_scenario_node *n);
/* The node of the pod; NULL: it has none. */
struct attach_scenario_node *attach_scenario_find_node(struct attach_scenario *scenario, const struct pod *p);
static inline bool attach_scenario_is_exclusive(const struct attach_scenario *scenario, unsigned volume)
{
    return scenario->drivers.disks.volumes[volume].is_exclusive;
}

/* --- attach_workload.c --- */

void attach_workload_begin(struct attach_scenario *scenario);
void attach_workload_work(struct attach_scenario *scenario);
/* Acts as the node and pod controllers of Kubernetes: marks nodes with stale leases as not ready, deletes
 * pods of lost nodes. */
void attach_workload_control(struct attach_scenario *scenario);

#endif
