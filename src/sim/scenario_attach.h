/* The attach scenario: what its files share, and the truth of its world.
 *
 * The truth is what no program can see: which node the storage has a volume attached to, and what is mounted
 * where. Programs change it by operations of the host alone, each of which has a number: of two for one
 * volume on one node the newer counts, and what an older one would have done late it does not do any more, as
 * a driver and a kernel do one thing at a time. */
#ifndef BERTH_SIM_SCENARIO_ATTACH_H
#define BERTH_SIM_SCENARIO_ATTACH_H

#include "api/claim.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/volume.h"
#include "sim/objects.h"
#include "sim/world.h"

#define SITE_NODES 3
#define SITE_VOLUMES 4
#define SITE_PODS 5
#define SITE_DRIVER "disk.example.com"
#define SITE_UNIQUE "kubernetes.io/csi/" SITE_DRIVER "^handle-v"
#define SITE_FINALIZER "external-attacher/disk-example-com"
#define SITE_NAME_BYTES 80

/* Of host operations, named "SERIAL NODE VOLUME". */
#define SITE_ATTACH "attach"
#define SITE_DETACH "detach"
#define SITE_MOUNT "mount"
#define SITE_UNMOUNT "unmount"

/* One volume on one node. */
struct site_disk {
    bool is_attached;
    unsigned cloud_serial; /* of the newest call */
    bool is_mounted;
    bool is_mounting; /* or may be about to */
    unsigned mount_serial;
    bool is_excused; /* somebody was entitled to take it away by force */
    unsigned told;   /* the start of the controllers that listed it as the node's; 0: none */

    /* By the pods that the server has. */
    bool is_wanted;
    uint64_t unwanted_ns;  /* since, if it is not */
    uint64_t waited_ns;    /* how long it was not wanted the last time, … */
    uint64_t waited_to_ns; /* … and until when */
};

struct site_node {
    struct site *site;
    struct sim_process *process;
    unsigned number;
    bool is_down;        /* its kernel is */
    uint64_t silent_ns;  /* since when nobody hears of it; 0: it can be heard */
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
    struct sim_process *plane;
    struct sim_process *driver;
    struct store_watcher watcher;
    struct site_node nodes[SITE_NODES];
    struct site_pod pods[SITE_PODS];
    unsigned serials;
    uint64_t tidied_ns;
    uint64_t pace_ns; /* of people */
};

/* --- Names: "n1", "v2", "c2", … --- */

static inline bool site_is_exclusive(unsigned volume)
{
    return volume + 1 < SITE_VOLUMES;
}
/* False when it is none of that prefix, or too great. */
bool site_number(const char *name, char prefix, unsigned count, unsigned *ret);
/* The volume's unique name, as nodes list it. */
void site_unique_name(unsigned volume, char to[static SITE_NAME_BYTES]);

/* --- Looking at the server --- */

const struct node *site_stored_node(const struct site *x, unsigned node);
/* The volumes that a pod of that node uses, as bits; 0 for a pod of another node. */
unsigned site_volumes_of(const struct site *x, const struct pod *p, unsigned node);
/* Bits of volumes that pods want there; those that go do not count. */
unsigned site_wanted(const struct site *x, unsigned node);

/* --- Host operations --- */

/* The storage would not attach it there: another node has it. */
bool site_is_refused(const struct site *x, unsigned node, unsigned volume);

/* A new number, and the name of the operation. */
void site_name_op(struct site *x, unsigned node, unsigned volume, char to[static SITE_NAME_BYTES]);
/* The node's kernel stops, and everything with it. */
void site_node_dies(struct site_node *n, uint64_t until_ns);
/* No operation of an earlier agent has an effect any more. */
void site_node_starts(struct site_node *n);

/* --- Programs --- */

extern const struct sim_program site_plane_program;
extern const struct sim_program site_driver_program;
extern const struct sim_program site_agent_programs[SITE_NODES]; /* with a site_node */

int site_plane_settled(const void *state, struct error *err);
/* Something happened at the server that concerns the node. */
void site_agent_poke(struct site_node *n);
int site_agent_settled(const void *state, struct error *err);

/* --- People --- */

void site_people_begin(struct site *x);
void site_people_work(struct site *x);
/* What controllers of nodes and pods do elsewhere: silent nodes are not ready, pods of lost nodes go. */
void site_people_tidy(struct site *x);

#endif
