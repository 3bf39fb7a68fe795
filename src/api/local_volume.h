/* Annotations of discovered local volumes, and which provisioner owns a volume.
 *
 * A volume belongs to the node in its name and in its provisioner annotation. The node's uid in the
 * annotation distinguishes registrations of the node: see local_owner_of(). */
#ifndef BERTH_API_LOCAL_VOLUME_H
#define BERTH_API_LOCAL_VOLUME_H

#include "api/volume.h"

/* The disk that the volume was created for, as in host/disk.h. The node agent sets up no other disk. */
#define ANN_DISK "volumes.berth.io/disk"
/* The current size of that disk, a quantity. */
#define ANN_DISK_CAPACITY "volumes.berth.io/disk-capacity"
/* The problem with the disk of a volume that is or was bound; absent if there is none. */
#define ANN_DISK_PROBLEM "volumes.berth.io/disk-problem"

/* pv.kubernetes.io/provisioned-by: this prefix, the node's name and, unless useNodeNameOnly is set, "-" and
 * its uid. */
#define LOCAL_PROVISIONER "local-volume-provisioner-"

enum local_owner {
    LOCAL_OWNER_NONE,    /* another provisioner or node */
    LOCAL_OWNER_THIS,    /* this registration of the node */
    LOCAL_OWNER_EARLIER, /* the same node with another uid, or with another value of useNodeNameOnly */
};
/* identity: of the current node; NULL or "" while unknown. Pure, like all functions here. */
enum local_owner local_owner_of(const struct volume *v, const char *node_name, const char *identity);

/* The node that created the volume: its name, and its uid or "" if the annotation has none. False if the
 * volume was not discovered. */
bool local_volume_maker(const struct volume *v, struct str *ret_node, struct str *ret_uid);

/* Prefix of ANN_DISK_PROBLEM if the disk was replaced. */
#define LOCAL_DISK_REPLACED "another disk is at "
bool local_disk_is_replaced(const struct volume *v);

/* ANN_DISK_CAPACITY; false if absent. */
bool local_disk_capacity(const struct volume *v, struct quantity *ret);

#endif
