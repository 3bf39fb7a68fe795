/* From the volumes of a pod's spec to their views. */
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

static const struct pod_empty_dir *decode_empty_dir(struct decoder *x, json_ref source)
{
    struct pod_empty_dir *e = decode_new(x, source, sizeof *e);

    if (e) {
        e->medium = decode_text(x, source, "medium");
        e->has_size_limit = decode_quantity(x, source, "sizeLimit", &e->size_limit);
    }
    return e;
}

static int32_t decode_mode(struct decoder *x, json_ref object, const char *key)
{
    return (int32_t)decode_int(x, object, key, POD_MODE_UNSET);
}

/* A Secret goes by another name inside a volume than inside a projection. */
static const struct pod_keyed *decode_keyed(struct decoder *x, json_ref source, const char *name_key)
{
    json_ref list = json_get(x->d, source, "items");
    struct pod_keyed *k = decode_new(x, source, sizeof *k);
    struct pod_key_path *items;
    uint32_t n = 0;

    if (!k)
        return NULL;
    k->name = decode_text(x, source, name_key);
    k->default_mode = decode_mode(x, source, "defaultMode");
    k->is_optional = decode_bool(x, source, "optional", false);
    k->items = items = decode_items(x, list, sizeof *items, &k->items_count);
    for (json_ref m = items ? json_first(x->d, list) : 0; m; m = json_next(x->d, m))
        items[n++] = (struct pod_key_path){
            .key = decode_text(x, m, "key"),
            .path = decode_text(x, m, "path"),
            .mode = decode_mode(x, m, "mode"),
        };
    return k;
}

static void decode_downward_item(struct decoder *x, json_ref item, struct pod_downward_item *ret)
{
    json_ref resource = json_get(x->d, item, "resourceFieldRef");

    ret->path = decode_text(x, item, "path");
    ret->field_path = decode_text(x, json_get(x->d, item, "fieldRef"), "fieldPath");
    ret->resource = decode_text(x, resource, "resource");
    ret->container = decode_text(x, resource, "containerName");
    ret->mode = decode_mode(x, item, "mode");
    (void)decode_quantity(x, resource, "divisor", &ret->divisor); /* zero when unset */
}

static const struct pod_downward *decode_downward(struct decoder *x, json_ref source)
{
    json_ref list = json_get(x->d, source, "items");
    struct pod_downward *w = decode_new(x, source, sizeof *w);
    struct pod_downward_item *items;
    uint32_t n = 0;

    if (!w)
        return NULL;
    w->default_mode = decode_mode(x, source, "defaultMode");
    w->items = items = decode_items(x, list, sizeof *items, &w->items_count);
    for (json_ref m = items ? json_first(x->d, list) : 0; m; m = json_next(x->d, m))
        decode_downward_item(x, m, &items[n++]);
    return w;
}

static const struct pod_token *decode_token(struct decoder *x, json_ref source)
{
    struct pod_token *t = decode_new(x, source, sizeof *t);

    if (t) {
        t->audience = decode_text(x, source, "audience");
        t->path = decode_text(x, source, "path");
        t->expiration_seconds = decode_int(x, source, "expirationSeconds", 3600);
    }
    return t;
}

static const struct pod_trust_bundle *decode_trust_bundle(struct decoder *x, json_ref source)
{
    struct pod_trust_bundle *b = decode_new(x, source, sizeof *b);

    if (b) {
        b->name = decode_text(x, source, "name");
        b->signer = decode_text(x, source, "signerName");
    }
    return b;
}

static void decode_projection(struct decoder *x, json_ref source, struct pod_projection *ret)
{
    json_ref secret = json_get(x->d, source, "secret"), config_map = json_get(x->d, source, "configMap");
    json_ref downward = json_get(x->d, source, "downwardAPI");
    json_ref token = json_get(x->d, source, "serviceAccountToken");
    json_ref trust_bundle = json_get(x->d, source, "clusterTrustBundle");

    if (secret || config_map) {
        ret->type = secret ? PROJECTION_SECRET : PROJECTION_CONFIG_MAP;
        ret->keyed = decode_keyed(x, secret ? secret : config_map, "name");
    } else if (downward) {
        ret->type = PROJECTION_DOWNWARD_API;
        ret->downward = decode_downward(x, downward);
    } else if (token) {
        ret->type = PROJECTION_TOKEN;
        ret->token = decode_token(x, token);
    } else if (trust_bundle) {
        ret->type = PROJECTION_TRUST_BUNDLE;
        ret->trust_bundle = decode_trust_bundle(x, trust_bundle);
    } else if (json_get(x->d, source, "podCertificate")) {
        ret->type = PROJECTION_CERTIFICATE;
    }
}

static const struct pod_projected *decode_projected(struct decoder *x, json_ref source)
{
    json_ref list = json_get(x->d, source, "sources");
    struct pod_projected *p = decode_new(x, source, sizeof *p);
    struct pod_projection *items;
    uint32_t n = 0;

    if (!p)
        return NULL;
    p->default_mode = decode_mode(x, source, "defaultMode");
    p->items = items = decode_items(x, list, sizeof *items, &p->items_count);
    for (json_ref m = items ? json_first(x->d, list) : 0; m; m = json_next(x->d, m))
        decode_projection(x, m, &items[n++]);
    return p;
}

static const struct pod_disk *decode_disk(struct decoder *x, json_ref source, const char *id_key)
{
    struct pod_disk *disk = decode_new(x, source, sizeof *disk);

    if (disk) {
        disk->id = decode_text(x, source, id_key);
        disk->pool = decode_text(x, source, "pool");
        disk->monitors = decode_texts(x, source, "monitors");
    }
    return disk;
}

static const char *decode_ephemeral_name(struct decoder *x, const char *pod_name, const char *volume_name)
{
    const char *name = x->r == 0 ? arena_printf(x->arena, "%s-%s", pod_name, volume_name) : "";

    if (!name)
        x->r = arena_check(x->arena, x->err);
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

/* The sources that PersistentVolumes have too. */
static void decode_shared_source(struct decoder *x, json_ref volume, struct pod_volume *ret)
{
    struct volume_source source = decode_volume_source(x, volume);

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

static void decode_volume(struct decoder *x, json_ref volume, const char *pod_name, struct pod_volume *ret)
{
    json_ref source = 0;
    enum pod_volume_type type = volume_type(x->d, volume, &source);

    ret->name = decode_text(x, volume, "name");
    ret->type = (uint8_t)type;
    ret->is_read_only = decode_bool(x, source, "readOnly", false);
    if (type == POD_VOLUME_CLAIM)
        ret->claim_name = decode_text(x, source, "claimName");
    else if (type == POD_VOLUME_EPHEMERAL)
        ret->claim_name = decode_ephemeral_name(x, pod_name, ret->name);
    else if (type == POD_VOLUME_EMPTY_DIR)
        ret->empty_dir = decode_empty_dir(x, source);
    else if (type == POD_VOLUME_SECRET)
        ret->keyed = decode_keyed(x, source, "secretName");
    else if (type == POD_VOLUME_CONFIG_MAP)
        ret->keyed = decode_keyed(x, source, "name");
    else if (type == POD_VOLUME_DOWNWARD_API)
        ret->downward = decode_downward(x, source);
    else if (type == POD_VOLUME_PROJECTED)
        ret->projected = decode_projected(x, source);
    else if (type == POD_VOLUME_GCE_DISK)
        ret->disk = decode_disk(x, source, "pdName");
    else if (type == POD_VOLUME_AWS_DISK)
        ret->disk = decode_disk(x, source, "volumeID");
    else if (type == POD_VOLUME_RBD)
        ret->disk = decode_disk(x, source, "image");
    else
        decode_shared_source(x, volume, ret);
}

struct pod_volumes decode_pod_volumes(struct decoder *x, json_ref spec, const char *pod_name)
{
    json_ref list = json_get(x->d, spec, "volumes");
    uint32_t count, n = 0;
    struct pod_volume *items = decode_items(x, list, sizeof *items, &count);

    for (json_ref m = items ? json_first(x->d, list) : 0; m; m = json_next(x->d, m))
        decode_volume(x, m, pod_name, &items[n++]);
    return (struct pod_volumes){ items, count };
}

const char *pod_claim_name(const struct pod_volume *v)
{
    return v->type == POD_VOLUME_CLAIM || v->type == POD_VOLUME_EPHEMERAL ? v->claim_name : NULL;
}
