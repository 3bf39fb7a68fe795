/* Scenario controllers: what its files share. */
#ifndef BERTH_SIM_SCENARIO_CONTROLLERS_H
#define BERTH_SIM_SCENARIO_CONTROLLERS_H

#include "api/pod.h"
#include "base/vec.h"
#include "sim/daemon.h"
#include "sim/machine.h"
#include "sim/objects.h"
#include "store/store.h"

#define PLANES_MAX 2
#define NODES_COUNT 2
#define DISKS_COUNT 3
#define CLAIMS_COUNT 4
#define PODS_COUNT 4
#define VOLUMES_COUNT 3
#define NFS_PROVISIONER "estate/nfs"    /* delays depend on it: another name changes the runs */
#define EXPORT_DIR "/persistentvolumes" /* where the export is mounted */
#define EXPORT_SERVER_PATH "/exported"  /* its path on the file server */
#define DISKS_DIR "/mnt/disks"
/* Of claims that the workload creates with the name of an ephemeral claim. */
#define LABEL_FOREIGN "foreign"
#define RECORD_UID_BYTES 64

/* What the checks need to know about an object, also after its deletion. */
struct controllers_record {
    char uid[RECORD_UID_BYTES];
    int64_t scheduled_at; /* of a pod: the revision; 0: not scheduled yet */
    int64_t deleted_at;   /* of a claim: the revision of its deletion; 0: not deleted */
    uint64_t bytes;       /* of a FlexVolume: the size of its file system */
    bool is_pod;
    bool has_data;           /* of a claim: the workload has written a file with its uid as name */
    bool is_deleted_by_user; /* the workload has deleted it */
};

struct controllers_node {
    char name[8];
    uint64_t gone_first_ns; /* when it was first deleted; 0: never */
    uint64_t gone_ns;       /* since when it does not exist; 0: it exists */
    uint64_t back_ns;       /* when it was last recreated */
};

/* The events of a local volume about its node. */
struct volume_node_events {
    char volume[64];
    uint64_t gone_ns, back_ns; /* of the last NodeGone, NodeBack */
};

struct controllers_scenario {
    struct sim *sim;
    struct machine *machine; /* with the export and the disks */
    struct sim_process *planes[PLANES_MAX];
    unsigned planes_count;
    bool has_local;
    struct sim_daemon_options daemon;
    struct sim_disk disks[DISKS_COUNT];
    struct sim_disk export;         /* of the file server */
    struct sim_disk foreign_export; /* another export, which the workload mounts in its place */
    struct controllers_node nodes[NODES_COUNT];
    struct store_watcher watcher;
    VEC(struct controllers_record) records;
    VEC(struct volume_node_events) node_events;
    uint64_t nodes_run_ns; /* when the nodes act next */
    uint64_t healed_ns;
    unsigned node_test_stage; /* the progress of run_node_test() */
    struct sim_mark checked;  /* objects and files at the last check */
};

/* --- scenario_controllers.c --- */

/* The record of the object with that uid, created on first use. Valid until the next call. */
struct controllers_record *controllers_scenario_record(struct controllers_scenario *scenario,
                                                       const char *uid);
/* The directory with the data of the volume, on the machine; NULL: none. */
struct file_node *controllers_scenario_storage(struct controllers_scenario *scenario, const struct volume *v);
/* The volume of the claim, if both refer to each other; NULL otherwise. */
const struct volume *controllers_scenario_bound_volume(const struct controllers_scenario *scenario,
                                                       const struct claim *c);
struct controllers_node *controllers_scenario_node(struct controllers_scenario *scenario, const char *name);
/* True if the disk is mounted. */
bool controllers_scenario_has_disk(struct controllers_scenario *scenario, unsigned number);

/* --- controllers_workload.c --- */

void controllers_workload_begin(struct controllers_scenario *scenario);
void controllers_workload_work(struct controllers_scenario *scenario);
/* Acts as the nodes: removes deleted pods and expands file systems. */
void controllers_workload_run_nodes(struct controllers_scenario *scenario);
/* Acts as the administrator: expands NFS volumes to the requests of their claims. */
void controllers_workload_expand_volumes(struct controllers_scenario *scenario);
void controllers_workload_make_node(struct controllers_scenario *scenario, const char *name);
void controllers_workload_mount_disk(struct controllers_scenario *scenario, unsigned disk);
/* Mounts the export at its place, and nothing else. */
void controllers_workload_mount_export(struct controllers_scenario *scenario);

/* --- controllers_settled.c --- */

int controllers_scenario_settled(void *ctx, struct error *err);

#endif
