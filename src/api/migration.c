#include "api/migration.h"

#include <string.h>

static const struct {
    const char *plugin;
    const char *driver;
    enum volume_source_kind source;
    const char *id; /* the member of the source that says which disk; NULL: several do */
} moved[] = {
    { "kubernetes.io/aws-ebs", "ebs.csi.aws.com", SOURCE_AWS_DISK, "volumeID" },
    { "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", SOURCE_GCE_DISK, "pdName" },
    { "kubernetes.io/azure-disk", "disk.csi.azure.com", SOURCE_AZURE_DISK, "diskURI" },
    { "kubernetes.io/azure-file", "file.csi.azure.com", SOURCE_AZURE_FILE, NULL },
    { "kubernetes.io/cinder", "cinder.csi.openstack.org", SOURCE_CINDER, "volumeID" },
    { "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", SOURCE_VSPHERE, "volumePath" },
    { "kubernetes.io/portworx-volume", "pxd.portworx.com", SOURCE_PORTWORX, "volumeID" },
};

const char *migration_driver(const char *plugin)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (strcmp(moved[i].plugin, plugin) == 0)
            return moved[i].driver;
    return NULL;
}

const char *migration_plugin(enum volume_source_kind source)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (moved[i].source == source)
            return moved[i].plugin;
    return NULL;
}

/* --- Handles --- */

/* "aws://zone/vol-1" is vol-1. */
static void write_aws(struct str id, struct buf *out)
{
    while (memchr(id.s, '/', id.len))
        (void)str_next(&id, '/');
    (void)buf_add_str(out, id);
}

/* Several zones, "a__b", are those of a regional disk; a region is a zone without its last part. */
static void write_gce(const struct volume *v, struct str id, struct buf *out)
{
    const char *label = object_label(&v->obj, "topology.kubernetes.io/zone");
    struct str zone;
    size_t len;

    if (!label)
        label = object_label(&v->obj, "failure-domain.beta.kubernetes.io/zone");
    zone = str_of(label ? label : "UNSPECIFIED");
    if (!label || !strstr(label, "__")) {
        (void)buf_addf(out, "projects/UNSPECIFIED/zones/%.*s/disks/%.*s", STR_ARG(zone), STR_ARG(id));
        return;
    }
    zone.len = (size_t)(strstr(label, "__") - label);
    for (len = zone.len; len > 0 && zone.s[len - 1] != '-';)
        len--;
    zone.len = len > 0 ? len - 1 : zone.len;
    (void)buf_addf(out, "projects/UNSPECIFIED/regions/%.*s/disks/%.*s", STR_ARG(zone), STR_ARG(id));
}

static void write_handle(const struct volume *v, struct str id, struct buf *out)
{
    if (v->source.kind == SOURCE_AWS_DISK)
        write_aws(id, out);
    else if (v->source.kind == SOURCE_GCE_DISK)
        write_gce(v, id, out);
    else
        (void)buf_add_str(out, id);
}

static bool write_name(const struct volume *v, const char *driver, const char *member, struct buf *out)
{
    _cleanup_(json_done_p) struct json d;
    struct error err;
    json_ref root, id;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (json_parse(&d, v->obj.text, &root, &err) < 0)
        return false;
    id = json_path(&d, root, "spec", volume_sources[v->source.kind].name, member);
    if (json_type(&d, id) != JSON_STRING)
        return false;
    (void)buf_addf(out, "%s^", driver);
    write_handle(v, json_text(&d, id), out);
    return true;
}

bool migration_volume_name(const struct volume *v, struct buf *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (moved[i].source == v->source.kind)
            return moved[i].id && write_name(v, moved[i].driver, moved[i].id, ret);
    return false;
}
