/* The attach scenario: what its files share.
 *
 * The truth is on the machines and in the storage: which node has a volume attached, and what is mounted
 * where. What is noted here of a volume on a node is who may take it away by force: whether pods want it
 * there, since when they do not, and when the node could last be taken for lost. */
#ifndef BERTH_SIM_SCENARIO_ATTACH_H
#define BERTH_SIM_SCENARIO_ATTACH_H

#include "api/node.h"
#include "api/pod.h"
#include "sim/daemon.h"
#include "sim/node_drivers.h"
#include "sim/objects.h"

#define SITE_PLANES_MAX 2
#define SITE_NODES_MIN 2
#define SITE_NODES_MAX 5
#define SITE_VOLUMES 4
#define SITE_PODS 5
#define SITE_ROOT "/var/lib/berth"
#define SITE_UNIQUE "kubernetes.io/csi/" CSI_DRIVER "^d"
#define SITE_UNIQUE_BYTES (sizeof SITE_UNIQUE + 4)
#define SITE_NAME_BYTES 16

/* One volume on one node. */
struct site_disk {
    /* The controllers that listed it as the node's last, and their start; NULL: none have. */
    const struct sim_process *teller;
    unsigned teller_start;
    uint64_t listed_ns; /* since when the server's Node has listed it; UINT64_MAX: it does not */

    /* By the pods that the server has. */
    bool is_wanted;
    uint64_t unwanted_ns;  /* since, if it is not */
    uint64_t waited_ns;    /* how long it was not wanted the last time, … */
    uint64_t waited_to_ns; /* … and until when */
};

struct site_node {
    struct site *site;
    struct machine *machine;
    struct sim_process *process; /* the agent */
    struct sim_daemon_options daemon;
    char name[SITE_NAME_BYTES];
    unsigned number;
    unsigned lost_start; /* of the agent that was killed with the machine; 0: none was */
    uint64_t heard_ns;   /* when its lease was renewed last */
    uint64_t unready_ns; /* when the server last had it not ready, or not at all; UINT64_MAX: it has */
    uint64_t tainted_ns; /* the same for out of service */
    struct site_disk disks[SITE_VOLUMES];
};

/* What a pod is like when it is made. */
struct site_pod {
    bool is_chosen;
    unsigned first; /* claims */
    unsigned second;
    bool has_two;
    unsigned node;
    bool is_choosy; /* it must be that node */
};

struct site {
    struct sim *sim;
    struct sim_process *planes[SITE_PLANES_MAX];
    struct sim_daemon_options plane_daemons[SITE_PLANES_MAX];
    char plane_names[SITE_PLANES_MAX][SITE_NAME_BYTES];
    /* When each last asked the server itself for the nodes, and its start then. */
    uint64_t asked_ns[SITE_PLANES_MAX];
    unsigned asked_start[SITE_PLANES_MAX];
    unsigned planes_count;
    struct node_drivers drivers;
    struct store_watcher watcher;
    struct site_node nodes[SITE_NODES_MAX];
    unsigned nodes_count;
    struct site_pod pods[SITE_PODS];
    bool has_news; /* pods or claims have changed since wishes were noted */
    uint64_t tidied_ns;
    uint64_t pace_ns; /* of people */
};

/* --- scenario_attach.c --- */

const struct node *site_stored_node(const struct site_node *n);
/* The machine has no power. */
bool site_node_is_down(const struct site_node *n);
/* Of the pod's node, or NULL. */
struct site_node *site_node_of_pod(struct site *x, const struct pod *p);
static inline bool site_is_exclusive(const struct site *x, unsigned volume)
{
    return x->drivers.disks.volumes[volume].is_exclusive;
}

/* --- attach_people.c --- */

void site_workload_begin(struct site *x);
void site_workload_work(struct site *x);
/* What controllers of nodes and pods do elsewhere: silent nodes are not ready, pods of lost nodes go. */
void site_workload_tidy(struct site *x);

#endif
