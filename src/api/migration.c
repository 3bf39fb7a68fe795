#include "api/migration.h"

#include <string.h>

#include "base/cleanup.h"

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"
#define ANN_AZURE_GROUP "kubernetes.io/azure-file-resource-group"
#define HANDLE_BYTES_MAX ((size_t)4 << 10)

/* A volume on its way: what it is in d, and what it becomes. */
struct translation {
    struct json *d;
    json_ref source;       /* as it was */
    json_ref csi;          /* what it becomes */
    json_ref attributes;   /* csi.volumeAttributes, added at the end unless it is empty */
    const char *name;      /* of the PersistentVolume, or of the volume in its pod */
    const char *secret_ns; /* of a secret that does not say; "" for none */
    const char *group;     /* the resource group; "" for none */
    struct str zones;      /* as a label says them, "a__b"; s is NULL for none */
    struct buf *handle;
    struct error *err;
};

struct moved_plugin {
    const char *plugin;
    const char *driver;
    enum volume_source_kind source;
    enum pod_volume_type in_pods;
    const char *topology; /* the driver's key for zones; NULL: none */
    const char *id;       /* the member that names a pod's volume; NULL: the handle does */
    bool keeps_read_only; /* the driver is told */
    bool modes_by_reader; /* a pod's volume that is read-only may be on many nodes */
    /* Writes the handle, and adds what the driver wants to know besides. */
    int (*translate)(struct translation *t);
};

/* --- Reading and writing members --- */

static struct str text_of(const struct translation *t, const char *member)
{
    json_ref v = json_get(t->d, t->source, member);

    return json_type(t->d, v) == JSON_STRING ? json_text(t->d, v) : STR_LIT("");
}

/* A whole number as it is written; fallback for none, and for 0. */
static struct str partition_of(const struct translation *t, struct str fallback)
{
    json_ref v = json_get(t->d, t->source, "partition");
    int64_t number;

    return json_int64(t->d, v, &number) && number != 0 ? json_text(t->d, v) : fallback;
}

static void add_attribute(const struct translation *t, const char *key, struct str value)
{
    json_set(t->d, t->attributes, key, json_new_string(t->d, value));
}

static void copy_text(const struct translation *t, const char *member)
{
    struct str value = text_of(t, member);

    if (value.len > 0)
        json_set(t->d, t->csi, member, json_new_string(t->d, value));
}

static int write_id(const struct translation *t, const char *member)
{
    buf_add_str(t->handle, text_of(t, member));
    return 0;
}

/* --- One plugin each --- */

/* "aws://zone/vol-1" is vol-1. */
static int translate_aws(struct translation *t)
{
    struct str id = text_of(t, "volumeID");

    if (str_has_prefix(id, "aws://"))
        while (memchr(id.s, '/', id.len))
            (void)str_next(&id, '/');
    buf_add_str(t->handle, id);
    copy_text(t, "fsType");
    add_attribute(t, "partition", partition_of(t, STR_LIT("0")));
    return 0;
}

/* Several zones, "a__b", are those of a regional disk; a region is a zone without its last part. */
static int translate_gce(struct translation *t)
{
    struct str id = text_of(t, "pdName"), zone = t->zones.s ? t->zones : STR_LIT("UNSPECIFIED");
    const char *next = t->zones.s ? strstr(t->zones.s, "__") : NULL;
    size_t len;

    if (next) {
        zone.len = (size_t)(next - zone.s);
        for (len = zone.len; len > 0 && zone.s[len - 1] != '-';)
            len--;
        zone.len = len > 0 ? len - 1 : zone.len;
    }
    buf_addf(t->handle, "projects/UNSPECIFIED/%s/%.*s/disks/%.*s", next ? "regions" : "zones", STR_ARG(zone),
             STR_ARG(id));
    copy_text(t, "fsType");
    add_attribute(t, "partition", partition_of(t, STR_LIT("")));
    return 0;
}

static int translate_azure_disk(struct translation *t)
{
    struct str kind = text_of(t, "kind"), caching = text_of(t, "cachingMode"), fs = text_of(t, "fsType");

    add_attribute(t, "kind", kind.len > 0 ? kind : STR_LIT("Managed"));
    add_attribute(t, "csi-migration", STR_LIT("true"));
    if (caching.len > 0)
        add_attribute(t, "cachingMode", caching);
    if (fs.len > 0)
        add_attribute(t, "fsType", fs);
    copy_text(t, "fsType");
    return write_id(t, "diskURI");
}

/* "azure-storage-account-NAME-secret" is of NAME; any other secret stands for itself. */
static struct str azure_account(struct str secret)
{
    static const struct str before = STR_LIT("azure-storage-account-"), after = STR_LIT("-secret");
    struct str rest = secret;

    if (str_has_prefix(secret, before.s) && secret.len > before.len + after.len &&
        memcmp(secret.s + secret.len - after.len, after.s, after.len) == 0)
        rest = (struct str){ secret.s + before.len, secret.len - before.len - after.len };
    return rest;
}

static int translate_azure_file(struct translation *t)
{
    struct str secret = text_of(t, "secretName"), share = text_of(t, "shareName"),
               ns = text_of(t, "secretNamespace"), account = azure_account(secret);
    json_ref ref = json_new_object(t->d);

    if (ns.len == 0)
        ns = str_of(t->secret_ns);
    if (ns.len == 0)
        return error_set(t->err, ERR_INVALID,
                         "could not find a secret namespace in PersistentVolumeSource or ClaimRef");
    buf_addf(t->handle, "%s#%.*s#%.*s#%s#%.*s", t->group, STR_ARG(account), STR_ARG(share), t->name,
             STR_ARG(ns));
    json_set(t->d, ref, "name", json_new_string(t->d, secret));
    json_set(t->d, ref, "namespace", json_new_string(t->d, ns));
    json_set(t->d, t->csi, "nodeStageSecretRef", ref);
    add_attribute(t, "sharename", share);
    return 0;
}

static int translate_cinder(struct translation *t)
{
    copy_text(t, "fsType");
    return write_id(t, "volumeID");
}

static int translate_vsphere(struct translation *t)
{
    struct str policy = text_of(t, "storagePolicyName");

    if (policy.len > 0)
        add_attribute(t, "storagepolicyname", policy);
    copy_text(t, "fsType");
    return write_id(t, "volumePath");
}

static int translate_portworx(struct translation *t)
{
    copy_text(t, "fsType");
    return write_id(t, "volumeID");
}

static const struct moved_plugin moved[] = {
    { "kubernetes.io/aws-ebs", "ebs.csi.aws.com", SOURCE_AWS_DISK, POD_VOLUME_AWS_DISK,
      .topology = "topology.ebs.csi.aws.com/zone", .keeps_read_only = true, .translate = translate_aws },
    { "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", SOURCE_GCE_DISK, POD_VOLUME_GCE_DISK,
      .topology = "topology.gke.io/zone", .id = "pdName", .keeps_read_only = true, .modes_by_reader = true,
      .translate = translate_gce },
    { "kubernetes.io/azure-disk", "disk.csi.azure.com", SOURCE_AZURE_DISK, POD_VOLUME_AZURE_DISK,
      .id = "diskName", .keeps_read_only = true, .translate = translate_azure_disk },
    { "kubernetes.io/azure-file", "file.csi.azure.com", SOURCE_AZURE_FILE, POD_VOLUME_AZURE_FILE,
      .keeps_read_only = true, .translate = translate_azure_file },
    { "kubernetes.io/cinder", "cinder.csi.openstack.org", SOURCE_CINDER, POD_VOLUME_CINDER,
      .topology = "topology.cinder.csi.openstack.org/zone", .keeps_read_only = true,
      .translate = translate_cinder },
    { "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", SOURCE_VSPHERE, POD_VOLUME_VSPHERE,
      .translate = translate_vsphere },
    { "kubernetes.io/portworx-volume", "pxd.portworx.com", SOURCE_PORTWORX, POD_VOLUME_PORTWORX,
      .modes_by_reader = true, .translate = translate_portworx },
};

const char *migration_driver(const char *plugin)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (strcmp(moved[i].plugin, plugin) == 0)
            return moved[i].driver;
    return NULL;
}

static const struct moved_plugin *moved_from(enum volume_source_kind source)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (moved[i].source == source)
            return &moved[i];
    return NULL;
}

const char *migration_plugin(enum volume_source_kind source)
{
    const struct moved_plugin *m = moved_from(source);

    return m ? m->plugin : NULL;
}

enum volume_source_kind migration_source(enum pod_volume_type type)
{
    for (size_t i = 0; i < ARRAY_LEN(moved); i++)
        if (moved[i].in_pods == type)
            return moved[i].source;
    return SOURCE_NONE;
}

/* --- The source --- */

static bool is_read_only(const struct translation *t)
{
    return json_type(t->d, json_get(t->d, t->source, "readOnly")) == JSON_TRUE;
}

static int write_source(const struct moved_plugin *m, struct translation *t)
{
    int r;

    t->csi = json_new_object(t->d);
    t->attributes = json_new_object(t->d);
    json_set_string(t->d, t->csi, "driver", m->driver);
    r = m->translate(t);
    if (r == 0)
        r = buf_check(t->handle, "the volume's handle", t->err);
    if (r < 0)
        return r;
    json_set(t->d, t->csi, "volumeHandle", json_new_string(t->d, buf_str(t->handle)));
    if (m->keeps_read_only && is_read_only(t))
        json_set(t->d, t->csi, "readOnly", json_new_bool(t->d, true));
    if (json_count(t->d, t->attributes) > 0)
        json_set(t->d, t->csi, "volumeAttributes", t->attributes);
    return 0;
}

/* --- Topology --- */

/* Calls fn with each expression of the volume's node affinity; true as soon as fn says so. */
static bool any_expression(struct json *d, json_ref terms,
                           bool (*fn)(struct json *d, json_ref expression, const char *key, const char *with),
                           const char *key, const char *with)
{
    for (json_ref t = json_first(d, terms); t; t = json_next(d, t))
        for (json_ref e = json_first(d, json_get(d, t, "matchExpressions")); e; e = json_next(d, e))
            if (json_is_string(d, json_get(d, e, "key"), key) && fn(d, e, key, with))
                return true;
    return false;
}

static bool is_there(struct json *d, json_ref e, const char *key, const char *with)
{
    (void)d;
    (void)e;
    (void)key;
    (void)with;
    return true;
}

static bool has_values(struct json *d, json_ref e, const char *key, const char *with)
{
    (void)key;
    (void)with;
    return json_count(d, json_get(d, e, "values")) > 0;
}

static bool rename_key(struct json *d, json_ref e, const char *key, const char *with)
{
    (void)key;
    json_set_string(d, e, "key", with);
    return false;
}

/* What a volume calls its zone: by its node affinity, else by its labels. */
static bool uses_beta(struct json *d, json_ref terms, const struct volume *v)
{
    if (any_expression(d, terms, is_there, ZONE, NULL))
        return false;
    if (any_expression(d, terms, is_there, BETA_ZONE, NULL))
        return true;
    return !object_label(&v->obj, ZONE) && object_label(&v->obj, BETA_ZONE);
}

/* An expression that wants one of the zones "a__b"; 0 when there is none. */
static json_ref zones_expression(struct json *d, const char *key, const char *zones)
{
    json_ref e = json_new_object(d), values = json_new_array(d);
    const char *end;

    for (const char *at = zones; at; at = end ? end + 2 : NULL) {
        struct str zone;

        end = strstr(at, "__");
        zone = str_trim(end ? (struct str){ at, (size_t)(end - at) } : str_of(at));
        if (zone.len > 0)
            json_append(d, values, json_new_string(d, zone));
    }
    json_set_string(d, e, "key", key);
    json_set_string(d, e, "operator", "In");
    json_set(d, e, "values", values);
    return json_count(d, values) > 0 ? e : 0;
}

static json_ref ensure_array(struct json *d, json_ref object, const char *key)
{
    json_ref a = json_get(d, object, key);

    if (json_type(d, a) == JSON_ARRAY)
        return a;
    json_set(d, object, key, json_new_array(d));
    return json_get(d, object, key);
}

/* Each term of the node affinity wants one of the zones too. */
static void add_zones(struct json *d, json_ref spec, const char *key, const char *zones)
{
    json_ref e = zones_expression(d, key, zones), required, terms;

    if (!e)
        return;
    required = json_ensure_object(d, json_ensure_object(d, spec, "nodeAffinity"), "required");
    terms = ensure_array(d, required, "nodeSelectorTerms");
    if (json_count(d, terms) == 0)
        json_append(d, terms, json_new_object(d));
    for (json_ref t = json_first(d, terms); t; t = json_next(d, t))
        json_append(d, ensure_array(d, t, "matchExpressions"), json_copy(d, e));
}

static void translate_topology(struct json *d, json_ref spec, const struct volume *v, const char *key)
{
    json_ref terms = json_path(d, spec, "nodeAffinity", "required", "nodeSelectorTerms");
    bool is_beta = uses_beta(d, terms, v);
    const char *zone = is_beta ? BETA_ZONE : ZONE;

    if (any_expression(d, terms, has_values, zone, NULL))
        (void)any_expression(d, terms, rename_key, zone, key);
    else if (object_label(&v->obj, zone))
        add_zones(d, spec, key, object_label(&v->obj, zone));
    if (is_beta && any_expression(d, terms, has_values, BETA_REGION, NULL))
        (void)any_expression(d, terms, rename_key, BETA_REGION, REGION);
}

/* --- Objects --- */

static void set_modes(struct json *d, json_ref spec, const char *mode)
{
    json_ref modes = json_new_array(d);

    json_append(d, modes, json_new_string(d, str_of(mode)));
    json_set(d, spec, "accessModes", modes);
}

static int make_volume(struct json *d, json_ref root, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(OBJECT_TEXT_BYTES_MAX);
    _cleanup_(json_done_p) struct json scratch;
    int r = json_check(d, err);

    json_init(&scratch, OBJECT_TEXT_BYTES_MAX);
    if (r < 0)
        return r;
    json_write(d, root, &text);
    r = buf_check(&text, "a translated volume", err);
    return r < 0 ? r : object_decode(&volume_kind, buf_str(&text), &scratch, ret, err);
}

static int not_moved(struct error *err)
{
    return error_set(err, ERR_INVALID, "the volume's source has no CSI driver");
}

static struct str zone_label(const struct volume *v)
{
    const char *label = object_label(&v->obj, BETA_ZONE);

    if (!label || !label[0])
        label = object_label(&v->obj, ZONE);
    return label && label[0] ? str_of(label) : (struct str){ 0 };
}

int migration_translate(const struct volume *v, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf handle = BUF_INIT(HANDLE_BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    const struct moved_plugin *m = moved_from(v->source.kind);
    const char *group = object_annotation(&v->obj, ANN_AZURE_GROUP);
    struct translation t = { .d = &d,
                             .name = v->obj.name,
                             .secret_ns = v->claim.is_set ? v->claim.ns : "",
                             .group = group ? group : "",
                             .zones = zone_label(v),
                             .handle = &handle,
                             .err = err };
    json_ref root = 0, spec;
    int r;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (!m)
        return not_moved(err);
    r = json_parse(&d, v->obj.text, &root, err);
    if (r < 0)
        return r;
    spec = json_get(&d, root, "spec");
    t.source = json_get(&d, spec, volume_sources[m->source].name);
    r = write_source(m, &t);
    if (r < 0)
        return r;
    (void)json_remove(&d, spec, volume_sources[m->source].name);
    json_set(&d, spec, "csi", t.csi);
    if (m->topology)
        translate_topology(&d, spec, v, m->topology);
    /* GCE's disks are on one node, or on many for reading: what was written once meant no more. */
    if (m->source == SOURCE_GCE_DISK && v->modes != 0)
        set_modes(&d, spec, v->modes == ACCESS_ROX ? "ReadOnlyMany" : "ReadWriteOnce");
    return make_volume(&d, root, ret, err);
}

/* A directory bears the name. */
static int write_inline_name(const struct moved_plugin *m, const struct translation *t, struct buf *ret)
{
    struct str id = m->id ? text_of(t, m->id) : buf_str(t->handle);

    if (m->source != SOURCE_AZURE_FILE)
        buf_addf(ret, "%s-", m->driver);
    for (size_t i = 0; i < id.len; i++)
        buf_add_char(ret, id.s[i] == '/' ? '~' : id.s[i]);
    return buf_check(ret, "the volume's name", t->err);
}

static json_ref inline_source(const struct json *d, json_ref pod, const struct pod_volume *v)
{
    for (json_ref volume = json_first(d, json_path(d, pod, "spec", "volumes")); volume;
         volume = json_next(d, volume))
        if (json_is_string(d, json_get(d, volume, "name"), v->name))
            return json_get(d, volume, pod_volume_type_names[v->type]);
    return 0;
}

static const char *inline_mode(const struct moved_plugin *m, const struct translation *t)
{
    if (m->source == SOURCE_AZURE_FILE)
        return "ReadWriteMany";
    return m->modes_by_reader && is_read_only(t) ? "ReadOnlyMany" : "ReadWriteOnce";
}

int migration_translate_inline(const struct pod *p, const struct pod_volume *v, struct object **ret,
                               struct error *err)
{
    _cleanup_(buf_done_p) struct buf handle = BUF_INIT(HANDLE_BYTES_MAX), name = BUF_INIT(HANDLE_BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    const struct moved_plugin *m = moved_from(migration_source(v->type));
    struct translation t = { .d = &d,
                             .name = v->name,
                             .secret_ns = p->obj.ns[0] ? p->obj.ns : "default",
                             .group = "",
                             .handle = &handle,
                             .err = err };
    json_ref pod = 0, root, spec;
    int r;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (!m)
        return not_moved(err);
    r = json_parse(&d, p->obj.text, &pod, err);
    if (r < 0)
        return r;
    t.source = inline_source(&d, pod, v);
    r = write_source(m, &t);
    if (r == 0)
        r = write_inline_name(m, &t, &name);
    if (r < 0)
        return r;
    root = json_new_object(&d);
    json_set(&d, json_ensure_object(&d, root, "metadata"), "name", json_new_string(&d, buf_str(&name)));
    spec = json_ensure_object(&d, root, "spec");
    set_modes(&d, spec, inline_mode(m, &t));
    json_set(&d, spec, "csi", t.csi);
    return make_volume(&d, root, ret, err);
}
