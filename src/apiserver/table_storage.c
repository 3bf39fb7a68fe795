/* Cells of volumes, claims, classes and attachments. */
#include "apiserver/table_int.h"

#include "api/attachment.h"
#include "api/attributes_class.h"
#include "api/claim.h"
#include "api/class.h"
#include "api/volume.h"

#define UNSET "<unset>"

static void cell_access_modes(struct cells *c, unsigned modes)
{
    cell_open(c);
    access_modes_short(modes, c->out);
    cell_close(c);
}

/* An object that is being deleted is Terminating, in any phase. */
static void cell_phase(struct cells *c, const struct object *o, const char *phase)
{
    cell_text(c, o->is_deleting ? "Terminating" : phase);
}

/* --- PersistentVolume --- */

static const struct column volume_columns[] = {
    COLUMN_NAME,
    { "Capacity", "string", "The size of the volume." },
    { "Access Modes", "string", "The access modes of the volume." },
    { "Reclaim Policy", "string", "What happens to the volume when its claim is deleted." },
    { "Status", "string", "The phase of the volume, such as Available, Bound or Released." },
    { "Claim", "string", "The claim that the volume is bound to or reserved for." },
    { "StorageClass", "string", "The class of the volume." },
    { "VolumeAttributesClass", "string", "The VolumeAttributesClass of the volume." },
    { "Reason", "string", "The reason for the phase, as one word." },
    COLUMN_AGE,
    { "VolumeMode", "string", "Whether the volume is a file system or a raw block device.", 1 },
};

static void cell_claim(struct cells *c, const struct claim_ref *claim)
{
    cell_open(c);
    if (claim->is_set) {
        cell_add(c, claim->ns);
        cell_add(c, "/");
        cell_add(c, claim->name);
    }
    cell_close(c);
}

static void volume_cells(const struct object *o, struct cells *c)
{
    const struct volume *v = volume_of(o);
    const char *reclaim = reclaim_policy_names[v->reclaim];

    cell_text(c, o->name);
    cell_quantity(c, &v->capacity);
    cell_access_modes(c, v->modes);
    cell_text(c, reclaim ? reclaim : "");
    cell_phase(c, o, volume_phase_name((enum volume_phase)v->phase));
    cell_claim(c, &v->claim);
    cell_text(c, v->class);
    cell_text_or(c, v->attributes_class, UNSET);
    cell_text(c, v->reason);
    cell_age(c, o->created);
    cell_text(c, volume_mode_names[v->mode]);
}

const struct table_kind volume_table = { COLUMNS(volume_columns), volume_cells };

/* --- PersistentVolumeClaim --- */

static const struct column claim_columns[] = {
    COLUMN_NAME,
    { "Status", "string", "The phase of the claim: Pending, Bound or Lost." },
    { "Volume", "string", "The volume that the claim is bound to." },
    { "Capacity", "string", "The size of the claim's volume." },
    { "Access Modes", "string", "The access modes of the claim's volume." },
    { "StorageClass", "string", "The requested class." },
    { "VolumeAttributesClass", "string", "The requested VolumeAttributesClass." },
    COLUMN_AGE,
    { "VolumeMode", "string", "Whether the claim requests a file system or a raw block device.", 1 },
};

/* The capacity and modes of a claim are shown once it names a volume; a missing capacity is 0 then. */
static void claim_cells(const struct object *o, struct cells *c)
{
    const struct claim *claim = claim_of(o);
    bool has_volume = claim->volume_name[0] != '\0';

    cell_text(c, o->name);
    cell_phase(c, o, claim_phase_name((enum claim_phase)claim->phase));
    cell_text(c, claim->volume_name);
    if (has_volume)
        cell_quantity(c, &claim->capacity);
    else
        cell_text(c, "");
    cell_access_modes(c, has_volume ? claim->status_modes : 0);
    cell_text(c, claim->class);
    cell_text(c, claim->has_attributes_class ? claim->attributes_class : UNSET);
    cell_age(c, o->created);
    cell_text(c, volume_mode_names[claim->mode]);
}

const struct table_kind claim_table = { COLUMNS(claim_columns), claim_cells };

/* --- StorageClass, VolumeAttributesClass --- */

static const struct column class_columns[] = {
    COLUMN_NAME,
    { "Provisioner", "string", "The provisioner of the class." },
    { "ReclaimPolicy", "string", "What happens to volumes of the class when their claims are deleted." },
    { "VolumeBindingMode", "string",
      "Whether claims are bound immediately or when the first pod uses them." },
    { "AllowVolumeExpansion", "string", "Whether volumes of the class can be expanded." },
    COLUMN_AGE,
};

static void class_cells(const struct object *o, struct cells *c)
{
    const struct storage_class *class = VIEW_OF(o, storage_class);

    cell_open(c);
    cell_add(c, o->name);
    if (class->is_default)
        cell_add(c, " (default)");
    cell_close(c);
    cell_text(c, class->provisioner);
    cell_text(c, reclaim_policy_names[class->reclaim]);
    cell_text_or(c, binding_mode_names[class->binding], binding_mode_names[BINDING_IMMEDIATE]);
    cell_bool(c, class->allows_expansion);
    cell_age(c, o->created);
}

const struct table_kind class_table = { COLUMNS(class_columns), class_cells };

static const struct column attributes_class_columns[] = {
    COLUMN_NAME,
    { "DriverName", "string", "The driver of the attributes." },
    COLUMN_AGE,
};

static void attributes_class_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_text(c, VIEW_OF(o, attributes_class)->driver);
    cell_age(c, o->created);
}

const struct table_kind attributes_class_table = { COLUMNS(attributes_class_columns),
                                                   attributes_class_cells };

/* --- VolumeAttachment --- */

static const struct column attachment_columns[] = {
    COLUMN_NAME,
    { "Attacher", "string", "The driver that attaches the volume." },
    { "PV", "string", "The volume." },
    { "Node", "string", "The node." },
    { "Attached", "boolean", "Whether the volume is attached." },
    COLUMN_AGE,
};

static void attachment_cells(const struct object *o, struct cells *c)
{
    const struct attachment *a = VIEW_OF(o, attachment);

    cell_text(c, o->name);
    cell_text(c, a->attacher);
    cell_text(c, a->volume_name);
    cell_text(c, a->node_name);
    cell_bool(c, a->is_attached);
    cell_age(c, o->created);
}

const struct table_kind attachment_table = { COLUMNS(attachment_columns), attachment_cells };
