/* What the discovery of local volumes writes on the volumes that it creates, and who may take them over.
 *
 * A volume belongs to the node that its name and its provisioner name. The node's uid in the annotation tells
 * one registration of the node from another: see local_owner_of(). */
#ifndef BERTH_API_LOCAL_VOLUME_H
#define BERTH_API_LOCAL_VOLUME_H

#include "api/volume.h"

/* The disk that the volume was created for, as host/disk.h names it. The node sets up no other. */
#define ANN_DISK "volumes.berth.io/disk"
/* How much that disk holds now, a quantity. */
#define ANN_DISK_CAPACITY "volumes.berth.io/disk-capacity"
/* What is wrong with the disk of a volume that a claim has or had; absent when nothing is. */
#define ANN_DISK_PROBLEM "volumes.berth.io/disk-problem"

/* pv.kubernetes.io/provisioned-by: this, the node's name, and unless only the name counts "-" and its uid. */
#define LOCAL_PROVISIONER "local-volume-provisioner-"

enum local_owner {
    LOCAL_OWNER_NONE,    /* another provisioner's, or another node's */
    LOCAL_OWNER_THIS,    /* the identity of this registration */
    LOCAL_OWNER_EARLIER, /* the same node's under another uid, or with the other setting of useNodeNameOnly */
};
/* identity: of the node now; NULL or "" before it is known. Pure, as all of these. */
enum local_owner local_owner_of(const struct volume *v, const char *node_name, const char *identity);

/* The uid of the node that created the volume, "" when it is not told; false: no volume of a discovery.
 * ret_node: the node's name. */
bool local_volume_maker(const struct volume *v, struct str *ret_node, struct str *ret_uid);

/* ANN_DISK_PROBLEM begins with this when another disk than the recorded one is there. */
#define LOCAL_DISK_REPLACED "another disk is at "
bool local_disk_is_replaced(const struct volume *v);

/* ANN_DISK_CAPACITY; false when there is none. */
bool local_disk_capacity(const struct volume *v, struct quantity *ret);

#endif
