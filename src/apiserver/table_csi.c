/* Cells of the CSI kinds, and of the snapshot kinds, which are printed like custom resources: missing fields
 * are null. */
#include "apiserver/table_int.h"

#include "api/csi.h"
#include "api/group_snapshot.h"
#include "api/snapshot.h"

/* --- CSIDriver --- */

static const struct column csi_driver_columns[] = {
    COLUMN_NAME,
    { "AttachRequired", "boolean", "Whether volumes are attached before they are mounted." },
    { "PodInfoOnMount", "boolean", "Whether mount calls contain information about the pod." },
    { "StorageCapacity", "boolean", "Whether the scheduler uses the capacity that the driver publishes." },
    { "TokenRequests", "string", "Audiences of the service account tokens that are passed to the driver." },
    { "RequiresRepublish", "boolean", "Whether mount calls are repeated periodically." },
    { "Modes", "string", "Supported lifecycle modes of volumes." },
    COLUMN_AGE,
};

static void cell_audiences(struct cells *c, const struct csi_driver *d)
{
    cell_open(c);
    for (uint32_t i = 0; i < d->token_requests_count; i++) {
        cell_add(c, i ? "," : "");
        cell_add(c, d->token_requests[i].audience);
    }
    cell_add(c, d->token_requests_count ? "" : "<unset>");
    cell_close(c);
}

static void cell_modes(struct cells *c, const struct csi_driver *d)
{
    cell_open(c);
    for (uint32_t i = 0; i < d->lifecycle_modes.count; i++) {
        cell_add(c, i ? "," : "");
        cell_add(c, d->lifecycle_modes.items[i]);
    }
    cell_add(c, d->lifecycle_modes.count ? "" : "<none>");
    cell_close(c);
}

static void csi_driver_cells(const struct object *o, struct cells *c)
{
    const struct csi_driver *d = VIEW_OF(o, csi_driver);

    cell_text(c, o->name);
    cell_bool(c, d->attach_required);
    cell_bool(c, d->pod_info_on_mount);
    cell_bool(c, d->storage_capacity);
    cell_audiences(c, d);
    cell_bool(c, d->requires_republish);
    cell_modes(c, d);
    cell_age(c, o->created);
}

const struct table_kind csi_driver_table = { COLUMNS(csi_driver_columns), csi_driver_cells };

/* --- CSINode, CSIStorageCapacity --- */

static const struct column csi_node_columns[] = {
    COLUMN_NAME,
    { "Drivers", "integer", "The number of drivers that are registered on the node." },
    COLUMN_AGE,
};

static void csi_node_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_int(c, VIEW_OF(o, csi_node)->drivers_count);
    cell_age(c, o->created);
}

const struct table_kind csi_node_table = { COLUMNS(csi_node_columns), csi_node_cells };

static const struct column csi_capacity_columns[] = {
    COLUMN_NAME,
    { "Created At", "date", "When the object was created, in UTC." },
};

/* The stock server has no columns for this kind: these are the default ones. */
static void csi_capacity_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_open(c);
    timestamp_format(o->created, c->out);
    cell_close(c);
}

const struct table_kind csi_capacity_table = { COLUMNS(csi_capacity_columns), csi_capacity_cells };

/* --- VolumeSnapshot --- */

static const struct column snapshot_columns[] = {
    COLUMN_NAME,
    { "ReadyToUse", "boolean", "Whether a volume can be created from the snapshot." },
    { "SourcePVC", "string", "The claim whose volume is the source of the snapshot." },
    { "SourceSnapshotContent", "string", "The existing content, for an imported snapshot." },
    { "RestoreSize", "string", "The minimum size of a volume that is created from the snapshot." },
    { "SnapshotClass", "string", "The requested class of the snapshot." },
    { "SnapshotContent", "string", "The content that the snapshot is bound to." },
    { "CreationTime", "date", "Time since the storage system created the snapshot." },
    COLUMN_DATE_AGE,
};

static void cell_ready(struct cells *c, bool has_ready, bool is_ready)
{
    if (has_ready)
        cell_bool(c, is_ready);
    else
        cell_null(c);
}

static void cell_date(struct cells *c, struct timestamp t)
{
    if (timestamp_is_zero(t))
        cell_null(c);
    else
        cell_age(c, t);
}

static void snapshot_cells(const struct object *o, struct cells *c)
{
    const struct snapshot *s = VIEW_OF(o, snapshot);

    cell_text(c, o->name);
    cell_ready(c, s->has_ready, s->is_ready);
    cell_text_or_null(c, s->claim_name);
    cell_text_or_null(c, s->content_name);
    if (s->has_restore_size)
        cell_quantity(c, &s->restore_size);
    else
        cell_null(c);
    cell_text_or_null(c, s->class_name);
    cell_text_or_null(c, s->bound_content_name);
    cell_date(c, s->taken);
    cell_date(c, o->created);
}

const struct table_kind snapshot_table = { COLUMNS(snapshot_columns), snapshot_cells };

/* --- VolumeSnapshotContent, VolumeSnapshotClass --- */

static const struct column snapshot_content_columns[] = {
    COLUMN_NAME,
    { "ReadyToUse", "boolean", "Whether a volume can be created from the snapshot." },
    { "RestoreSize", "integer", "The size of the snapshot in bytes." },
    { "DeletionPolicy", "string", "What happens to the content when its snapshot is deleted." },
    { "Driver", "string", "The driver of the snapshot." },
    { "VolumeSnapshotClass", "string", "The class of the snapshot." },
    { "VolumeSnapshot", "string", "The name of the snapshot that the content is bound to." },
    { "VolumeSnapshotNamespace", "string", "The namespace of the snapshot that the content is bound to." },
    COLUMN_DATE_AGE,
};

static void cell_deletion_policy(struct cells *c, bool deletes)
{
    cell_text(c, deletes ? "Delete" : "Retain");
}

static void snapshot_content_cells(const struct object *o, struct cells *c)
{
    const struct snapshot_content *s = VIEW_OF(o, snapshot_content);

    cell_text(c, o->name);
    cell_ready(c, s->has_ready, s->is_ready);
    if (s->has_restore_bytes)
        cell_int(c, s->restore_bytes);
    else
        cell_null(c);
    cell_deletion_policy(c, s->deletes);
    cell_text_or_null(c, s->driver);
    cell_text_or_null(c, s->class_name);
    cell_text_or_null(c, s->snapshot_name);
    cell_text_or_null(c, s->snapshot_ns);
    cell_date(c, o->created);
}

const struct table_kind snapshot_content_table = { COLUMNS(snapshot_content_columns),
                                                   snapshot_content_cells };

static const struct column snapshot_class_columns[] = {
    COLUMN_NAME,
    { "Driver", "string", "The driver that creates snapshots of this class." },
    { "DeletionPolicy", "string",
      "What happens to contents of this class when their snapshots are deleted." },
    COLUMN_DATE_AGE,
};

static void snapshot_class_cells(const struct object *o, struct cells *c)
{
    const struct snapshot_class *s = VIEW_OF(o, snapshot_class);

    cell_text(c, o->name);
    cell_text_or_null(c, s->driver);
    cell_deletion_policy(c, s->deletes);
    cell_date(c, o->created);
}

const struct table_kind snapshot_class_table = { COLUMNS(snapshot_class_columns), snapshot_class_cells };

/* --- Group snapshots --- */

static const struct column group_snapshot_columns[] = {
    COLUMN_NAME,
    { "ReadyToUse", "boolean", "Whether volumes can be created from all snapshots of the group." },
    { "VolumeGroupSnapshotClass", "string", "The requested class of the group snapshot." },
    { "VolumeGroupSnapshotContent", "string", "The content that the group snapshot is bound to." },
    { "CreationTime", "date", "Time since the storage system created the group snapshot." },
    COLUMN_DATE_AGE,
};

static void group_snapshot_cells(const struct object *o, struct cells *c)
{
    const struct group_snapshot *s = group_snapshot_of(o);

    cell_text(c, o->name);
    cell_ready(c, s->has_ready, s->is_ready);
    cell_text_or_null(c, s->class_name);
    cell_text_or_null(c, s->bound_content_name);
    cell_date(c, s->taken);
    cell_date(c, o->created);
}

const struct table_kind group_snapshot_table = { COLUMNS(group_snapshot_columns), group_snapshot_cells };

static const struct column group_snapshot_content_columns[] = {
    COLUMN_NAME,
    { "ReadyToUse", "boolean", "Whether volumes can be created from all snapshots of the group." },
    { "DeletionPolicy", "string", "What happens to the content when its group snapshot is deleted." },
    { "Driver", "string", "The driver of the group snapshot." },
    { "VolumeGroupSnapshotClass", "string", "The class of the group snapshot." },
    { "VolumeGroupSnapshotNamespace", "string",
      "The namespace of the group snapshot that the content is bound to." },
    { "VolumeGroupSnapshot", "string", "The name of the group snapshot that the content is bound to." },
    COLUMN_DATE_AGE,
};

static void group_snapshot_content_cells(const struct object *o, struct cells *c)
{
    const struct group_snapshot_content *s = group_snapshot_content_of(o);

    cell_text(c, o->name);
    cell_ready(c, s->has_ready, s->is_ready);
    cell_deletion_policy(c, s->deletes);
    cell_text_or_null(c, s->driver);
    cell_text_or_null(c, s->class_name);
    cell_text_or_null(c, s->group_ns);
    cell_text_or_null(c, s->group_name);
    cell_date(c, o->created);
}

const struct table_kind group_snapshot_content_table = { COLUMNS(group_snapshot_content_columns),
                                                         group_snapshot_content_cells };

static const struct column group_snapshot_class_columns[] = {
    COLUMN_NAME,
    { "Driver", "string", "The driver that creates group snapshots of this class." },
    { "DeletionPolicy", "string",
      "What happens to contents of this class when their group snapshots are deleted." },
    COLUMN_DATE_AGE,
};

static void group_snapshot_class_cells(const struct object *o, struct cells *c)
{
    const struct group_snapshot_class *s = group_snapshot_class_of(o);

    cell_text(c, o->name);
    cell_text_or_null(c, s->driver);
    cell_deletion_policy(c, s->deletes);
    cell_date(c, o->created);
}

const struct table_kind group_snapshot_class_table = { COLUMNS(group_snapshot_class_columns),
                                                       group_snapshot_class_cells };
