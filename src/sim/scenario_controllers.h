/* The scenario of controllers: what its files share. */
#ifndef BERTH_SIM_SCENARIO_CONTROLLERS_H
#define BERTH_SIM_SCENARIO_CONTROLLERS_H

#include "api/pod.h"
#include "base/vec.h"
#include "sim/daemon.h"
#include "sim/machine.h"
#include "sim/objects.h"
#include "store/store.h"

#define ESTATE_PLANES 2
#define ESTATE_NODES 2
#define ESTATE_DISKS 3
#define ESTATE_CLAIMS 4
#define ESTATE_PODS 4
#define ESTATE_VOLUMES 3
#define ESTATE_NFS "estate/nfs"            /* the provisioner */
#define ESTATE_EXPORT "/persistentvolumes" /* where it is mounted */
#define ESTATE_EXPORTED "/exported"        /* what it is called on the file server */
#define ESTATE_DISKS_DIR "/mnt/disks"
#define ESTATE_FOREIGN "foreign" /* a label of claims that people have made under the name of a pod's */
#define ESTATE_UID_BYTES 64

/* What has to be remembered of an object, also when it is gone. */
struct estate_record {
    char uid[ESTATE_UID_BYTES];
    int64_t scheduled_at; /* of a pod: the revision; 0: not yet */
    int64_t deleted_at;   /* of a claim: the revision at which somebody deleted it; 0: nobody has */
    uint64_t bytes;       /* of a FlexVolume: what its file system has */
    bool is_pod;
    bool has_data;   /* of a claim: people have written a file with its uid as name */
    bool is_dropped; /* somebody means it to go */
};

struct estate_node {
    char name[8];
    uint64_t gone_first_ns; /* when it was deleted for the first time; 0: never yet */
    uint64_t gone_ns;       /* since when it is gone; 0: it is there */
    uint64_t back_ns;       /* when it came back the last time */
};

/* The events of a local volume. */
struct estate_told {
    char volume[64];
    uint64_t gone_ns, back_ns; /* the last NodeGone, NodeBack */
};

struct estate {
    struct sim *sim;
    struct machine *machine; /* with the export and the disks */
    struct sim_process *planes[ESTATE_PLANES];
    unsigned planes_count;
    bool has_local;
    struct sim_daemon_options daemon;
    struct sim_disk disks[ESTATE_DISKS];
    struct sim_disk export;  /* the file server's */
    struct sim_disk strange; /* another export, which somebody mounts in its place */
    struct estate_node nodes[ESTATE_NODES];
    struct store_watcher watcher;
    VEC(struct estate_record) records;
    VEC(struct estate_told) told;
    uint64_t kubelets_ns; /* when the nodes look next */
    uint64_t healed_ns;
    unsigned farewell; /* how far the last test of nodes is */
    /* What the store and the files were like when they were last compared. */
    int64_t checked_revision;
    uint64_t checked_changes;
};

/* --- scenario_controllers.c --- */

struct estate_record *estate_record(struct estate *x, const char *uid);
/* What the volume's data is in, on the machine; NULL: nothing is there. */
struct file_node *estate_storage(struct estate *x, const struct volume *v);
/* The volume that the claim has, and that has the claim; NULL for none. */
const struct volume *estate_volume_of(const struct estate *x, const struct claim *c);
struct estate_node *estate_node(struct estate *x, const char *name);
/* "d1" at its place: mounted. */
bool estate_has_disk(struct estate *x, unsigned number);

/* --- controllers_people.c --- */

void estate_workload_begin(struct estate *x);
void estate_workload_work(struct estate *x);
/* What nodes do about pods that end and file systems that are to grow. */
void estate_look_after_nodes(struct estate *x);
/* Volumes that nobody but people can grow get what their claims ask for. */
void estate_serve_requests(struct estate *x);
void estate_make_node(struct estate *x, const char *name);
void estate_mount(struct estate *x, unsigned disk);
/* The export and nothing else is mounted at its place. */
void estate_mount_export(struct estate *estate);

/* --- controllers_settled.c --- */

int estate_settled(void *ctx, struct error *err);

#endif
