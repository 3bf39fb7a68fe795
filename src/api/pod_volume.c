/* Decodes the volumes of a pod's spec. Sources that PersistentVolumes have too use the decoder of
 * volume_source.c. */
#include "api/pod_volume.h"

#include "api/pod_int.h"

const char *const pod_volume_type_names[] = {
    [POD_VOLUME_UNKNOWN] = "",
    [POD_VOLUME_HOST_PATH] = "hostPath",
    [POD_VOLUME_EMPTY_DIR] = "emptyDir",
    [POD_VOLUME_GCE_DISK] = "gcePersistentDisk",
    [POD_VOLUME_AWS_DISK] = "awsElasticBlockStore",
    [POD_VOLUME_GIT_REPO] = "gitRepo",
    [POD_VOLUME_SECRET] = "secret",
    [POD_VOLUME_NFS] = "nfs",
    [POD_VOLUME_ISCSI] = "iscsi",
    [POD_VOLUME_GLUSTERFS] = "glusterfs",
    [POD_VOLUME_CLAIM] = "persistentVolumeClaim",
    [POD_VOLUME_RBD] = "rbd",
    [POD_VOLUME_FLEX] = "flexVolume",
    [POD_VOLUME_CINDER] = "cinder",
    [POD_VOLUME_CEPHFS] = "cephfs",
    [POD_VOLUME_FLOCKER] = "flocker",
    [POD_VOLUME_DOWNWARD_API] = "downwardAPI",
    [POD_VOLUME_FC] = "fc",
    [POD_VOLUME_AZURE_FILE] = "azureFile",
    [POD_VOLUME_CONFIG_MAP] = "configMap",
    [POD_VOLUME_VSPHERE] = "vsphereVolume",
    [POD_VOLUME_QUOBYTE] = "quobyte",
    [POD_VOLUME_AZURE_DISK] = "azureDisk",
    [POD_VOLUME_PHOTON] = "photonPersistentDisk",
    [POD_VOLUME_PROJECTED] = "projected",
    [POD_VOLUME_PORTWORX] = "portworxVolume",
    [POD_VOLUME_SCALE_IO] = "scaleIO",
    [POD_VOLUME_STORAGE_OS] = "storageos",
    [POD_VOLUME_CSI] = "csi",
    [POD_VOLUME_EPHEMERAL] = "ephemeral",
    [POD_VOLUME_IMAGE] = "image",
};
static_assert(ARRAY_LEN(pod_volume_type_names) == POD_VOLUME_TYPE_COUNT, "name every type");

static const struct pod_empty_dir *decode_empty_dir(struct decoder *dec, json_ref source)
{
    struct pod_empty_dir *e = decode_new(dec, source, sizeof *e);

    if (e) {
        e->medium = decode_text(dec, source, "medium");
        e->has_size_limit = decode_quantity(dec, source, "sizeLimit", &e->size_limit);
    }
    return e;
}

static int32_t decode_mode(struct decoder *dec, json_ref object, const char *key)
{
    return (int32_t)decode_int(dec, object, key, POD_MODE_UNSET);
}

/* The name of a Secret has different field names in a volume and in a projection. */
static const struct pod_keyed *decode_keyed(struct decoder *dec, json_ref source, const char *name_key)
{
    json_ref list = json_get(dec->d, source, "items");
    struct pod_keyed *k = decode_new(dec, source, sizeof *k);
    struct pod_key_path *items;
    uint32_t n = 0;

    if (!k)
        return NULL;
    k->name = decode_text(dec, source, name_key);
    k->default_mode = decode_mode(dec, source, "defaultMode");
    k->is_optional = decode_bool(dec, source, "optional", false);
    k->items = items = decode_items(dec, list, sizeof *items, &k->items_count);
    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        items[n++] = (struct pod_key_path){
            .key = decode_text(dec, m, "key"),
            .path = decode_text(dec, m, "path"),
            .mode = decode_mode(dec, m, "mode"),
        };
    return k;
}

static void decode_downward_item(struct decoder *dec, json_ref item, struct pod_downward_item *ret)
{
    json_ref resource = json_get(dec->d, item, "resourceFieldRef");

    ret->path = decode_text(dec, item, "path");
    ret->field_path = decode_text(dec, json_get(dec->d, item, "fieldRef"), "fieldPath");
    ret->resource = decode_text(dec, resource, "resource");
    ret->container = decode_text(dec, resource, "containerName");
    ret->mode = decode_mode(dec, item, "mode");
    (void)decode_quantity(dec, resource, "divisor", &ret->divisor); /* zero if not set */
}

static const struct pod_downward *decode_downward(struct decoder *dec, json_ref source)
{
    json_ref list = json_get(dec->d, source, "items");
    struct pod_downward *w = decode_new(dec, source, sizeof *w);
    struct pod_downward_item *items;
    uint32_t n = 0;

    if (!w)
        return NULL;
    w->default_mode = decode_mode(dec, source, "defaultMode");
    w->items = items = decode_items(dec, list, sizeof *items, &w->items_count);
    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        decode_downward_item(dec, m, &items[n++]);
    return w;
}

static const struct pod_token *decode_token(struct decoder *dec, json_ref source)
{
    struct pod_token *t = decode_new(dec, source, sizeof *t);

    if (t) {
        t->audience = decode_text(dec, source, "audience");
        t->path = decode_text(dec, source, "path");
        t->expiration_seconds = decode_int(dec, source, "expirationSeconds", 3600);
    }
    return t;
}

static const struct pod_trust_bundle *decode_trust_bundle(struct decoder *dec, json_ref source)
{
    struct pod_trust_bundle *b = decode_new(dec, source, sizeof *b);

    if (b) {
        b->name = decode_text(dec, source, "name");
        b->signer = decode_text(dec, source, "signerName");
    }
    return b;
}

static void decode_projection(struct decoder *dec, json_ref source, struct pod_projection *ret)
{
    json_ref secret = json_get(dec->d, source, "secret"), config_map = json_get(dec->d, source, "configMap");
    json_ref downward = json_get(dec->d, source, "downwardAPI");
    json_ref token = json_get(dec->d, source, "serviceAccountToken");
    json_ref trust_bundle = json_get(dec->d, source, "clusterTrustBundle");

    if (secret || config_map) {
        ret->type = secret ? PROJECTION_SECRET : PROJECTION_CONFIG_MAP;
        ret->keyed = decode_keyed(dec, secret ? secret : config_map, "name");
    } else if (downward) {
        ret->type = PROJECTION_DOWNWARD_API;
        ret->downward = decode_downward(dec, downward);
    } else if (token) {
        ret->type = PROJECTION_TOKEN;
        ret->token = decode_token(dec, token);
    } else if (trust_bundle) {
        ret->type = PROJECTION_TRUST_BUNDLE;
        ret->trust_bundle = decode_trust_bundle(dec, trust_bundle);
    } else if (json_get(dec->d, source, "podCertificate")) {
        ret->type = PROJECTION_CERTIFICATE;
    }
}

static const struct pod_projected *decode_projected(struct decoder *dec, json_ref source)
{
    json_ref list = json_get(dec->d, source, "sources");
    struct pod_projected *p = decode_new(dec, source, sizeof *p);
    struct pod_projection *items;
    uint32_t n = 0;

    if (!p)
        return NULL;
    p->default_mode = decode_mode(dec, source, "defaultMode");
    p->items = items = decode_items(dec, list, sizeof *items, &p->items_count);
    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        decode_projection(dec, m, &items[n++]);
    return p;
}

static const struct pod_disk *decode_disk(struct decoder *dec, json_ref source, const char *id_key)
{
    struct pod_disk *disk = decode_new(dec, source, sizeof *disk);

    if (disk) {
        disk->id = decode_text(dec, source, id_key);
        disk->pool = decode_text(dec, source, "pool");
        disk->monitors = decode_texts(dec, source, "monitors");
    }
    return disk;
}

static const char *decode_ephemeral_name(struct decoder *dec, const char *pod_name, const char *volume_name)
{
    const char *name = dec->r == 0 ? arena_printf(dec->arena, "%s-%s", pod_name, volume_name) : "";

    if (!name)
        dec->r = arena_check(dec->arena, dec->err);
    return name ? name : "";
}

static enum pod_volume_type volume_type(const struct json *d, json_ref volume, json_ref *ret_source)
{
    for (int type = POD_VOLUME_UNKNOWN + 1; type < POD_VOLUME_TYPE_COUNT; type++) {
        *ret_source = json_get(d, volume, pod_volume_type_names[type]);
        if (*ret_source)
            return (enum pod_volume_type)type;
    }
    return POD_VOLUME_UNKNOWN;
}

/* Sources that PersistentVolumes have too. */
static void decode_shared_source(struct decoder *dec, json_ref volume, struct pod_volume *ret)
{
    struct volume_source source = decode_volume_source(dec, volume);

    if (source.kind == SOURCE_HOST_PATH)
        ret->host_path = source.host_path;
    else if (source.kind == SOURCE_NFS)
        ret->nfs = source.nfs;
    else if (source.kind == SOURCE_ISCSI)
        ret->iscsi = source.iscsi;
    else if (source.kind == SOURCE_FC)
        ret->fc = source.fc;
    else if (source.kind == SOURCE_FLEX)
        ret->flex = source.flex;
    else if (source.kind == SOURCE_CSI)
        ret->csi = source.csi;
}

static void decode_volume(struct decoder *dec, json_ref volume, const char *pod_name, struct pod_volume *ret)
{
    json_ref source = 0;
    enum pod_volume_type type = volume_type(dec->d, volume, &source);

    ret->name = decode_text(dec, volume, "name");
    ret->type = (uint8_t)type;
    ret->is_read_only = decode_bool(dec, source, "readOnly", false);
    if (type == POD_VOLUME_CLAIM)
        ret->claim_name = decode_text(dec, source, "claimName");
    else if (type == POD_VOLUME_EPHEMERAL)
        ret->claim_name = decode_ephemeral_name(dec, pod_name, ret->name);
    else if (type == POD_VOLUME_EMPTY_DIR)
        ret->empty_dir = decode_empty_dir(dec, source);
    else if (type == POD_VOLUME_SECRET)
        ret->keyed = decode_keyed(dec, source, "secretName");
    else if (type == POD_VOLUME_CONFIG_MAP)
        ret->keyed = decode_keyed(dec, source, "name");
    else if (type == POD_VOLUME_DOWNWARD_API)
        ret->downward = decode_downward(dec, source);
    else if (type == POD_VOLUME_PROJECTED)
        ret->projected = decode_projected(dec, source);
    else if (type == POD_VOLUME_GCE_DISK)
        ret->disk = decode_disk(dec, source, "pdName");
    else if (type == POD_VOLUME_AWS_DISK)
        ret->disk = decode_disk(dec, source, "volumeID");
    else if (type == POD_VOLUME_RBD)
        ret->disk = decode_disk(dec, source, "image");
    else
        decode_shared_source(dec, volume, ret);
}

struct pod_volumes decode_pod_volumes(struct decoder *dec, json_ref spec, const char *pod_name)
{
    json_ref list = json_get(dec->d, spec, "volumes");
    uint32_t count, n = 0;
    struct pod_volume *items = decode_items(dec, list, sizeof *items, &count);

    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        decode_volume(dec, m, pod_name, &items[n++]);
    return (struct pod_volumes){ items, count };
}

const char *pod_claim_name(const struct pod_volume *v)
{
    return v->type == POD_VOLUME_CLAIM || v->type == POD_VOLUME_EPHEMERAL ? v->claim_name : NULL;
}
