/* Validation of a pod's volumes. Paths and texts are those of the API, including its mistakes, because
 * clients match on them. */
#include "api/pod_int.h"

#include "api/claim.h"
#include "api/names.h"
#include "api/quantity.h"
#include "api/volume_source_int.h"

#define TEMPLATE_ANNOTATIONS_BYTES_MAX ((size_t)256 << 10)

/* --- Single sources --- */

static void validate_empty_dir(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path at = path_child(p, "sizeLimit");
    struct error ignored; /* canonical form has only quantities that parse */
    struct quantity q;

    if (quantity_parse(json_get_text(v->d, source, "sizeLimit"), &q, &ignored) == 0 && quantity_sign(&q) < 0)
        errors_forbidden(v->errors, &at, "SizeLimit field must be a valid resource quantity");
}

static void validate_git_repo(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path at = path_child(p, "directory");

    validate_descending_path(v, &at, json_get_text(v->d, source, "directory"));
}

static void validate_iscsi_name(struct validation *v, const struct field_path *p, struct str name)
{
    if (!str_has_prefix(name, "iqn") && !str_has_prefix(name, "eui") && !str_has_prefix(name, "naa"))
        errors_invalid(v->errors, p, show_text(v->errors, name),
                       "must be valid format starting with iqn, eui, or naa");
    else if (!iscsi_name_is_valid(name))
        errors_invalid(v->errors, p, show_text(v->errors, name), "must be valid format");
}

static void validate_inline_iscsi(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path iqn_at = path_child(p, "iqn"), secret_at = path_child(p, "secretRef"),
                      initiator_at = path_child(p, "initiatorname"), name_at = path_child(p->up, "name");
    struct str portal = json_get_text(v->d, source, "targetPortal"), iqn = json_get_text(v->d, source, "iqn");
    struct str name = json_get_text(v->d, json_parent(v->d, source), "name");
    json_ref initiator = json_get(v->d, source, "initiatorName");

    if (iqn.len)
        validate_iscsi_name(v, &iqn_at, iqn);
    validate_int_range(v, p, source, "lun", 0, LUN_MAX);
    if ((json_get(v->d, source, "chapAuthDiscovery") || json_get(v->d, source, "chapAuthSession")) &&
        !json_get(v->d, source, "secretRef"))
        errors_required(v->errors, &secret_at, "");
    if (!initiator)
        return;
    validate_iscsi_name(v, &initiator_at, json_text(v->d, initiator));
    if (name.len + 1 + portal.len > ISCSI_INTERFACE_BYTES_MAX)
        errors_invalid(v->errors, &name_at, show_text(v->errors, name),
                       "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
                       "iscsi.initiatorName is specified.");
}

/* An invalid name is reported at another path than a missing one. */
static void validate_inline_csi(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path driver = path_child(p, "driver"), ref_at = path_child(p, "nodePublishSecretRef"),
                      name_at = path_child(p, "name");
    json_ref ref = json_get(v->d, source, "nodePublishSecretRef");

    validate_name(v, &driver, NAME_CSI_DRIVER, json_get_text(v->d, source, "driver"));
    if (ref && validate_required_text(v, &ref_at, ref, "name").len)
        validate_name(v, &name_at, NAME_DNS_SUBDOMAIN, json_get_text(v->d, ref, "name"));
}

/* --- Claim templates --- */

/* The claim gets only labels and annotations; other metadata would be lost. */
static void validate_template_meta(struct validation *v, const struct field_path *p, json_ref meta)
{
    struct field_path labels = path_child(p, "labels"), annotations = path_child(p, "annotations");
    json_ref map = json_get(v->d, meta, "annotations");

    for (json_ref m = json_first(v->d, map); m; m = json_next(v->d, m))
        validate_name(v, &annotations, NAME_QUALIFIED_ANY_CASE, json_key(v->d, m));
    validate_map_bytes_max(v, &annotations, map, TEMPLATE_ANNOTATIONS_BYTES_MAX);
    validate_labels(v, &labels, json_get(v->d, meta, "labels"));
    for (json_ref m = json_first(v->d, meta); m; m = json_next(v->d, m)) {
        struct str key = json_key(v->d, m);
        const char *shown = str_is(key, "uid") ? "uID" : errors_printf(v->errors, "%.*s", STR_ARG(key));
        struct field_path at = path_child(p, shown);
        if (!str_is(key, "labels") && !str_is(key, "annotations"))
            errors_forbidden(v->errors, &at, "cannot be set");
    }
}

/* The claim will be named after pod and volume. */
static void validate_template_name(struct validation *v, const struct field_path *volume_at, json_ref volume)
{
    struct field_path at = path_child(volume_at, "name");
    struct str pod = json_get_text(v->d, json_get(v->d, v->object, "metadata"), "name");
    struct str name = json_get_text(v->d, volume, "name");
    const char *claim = errors_printf(v->errors, "%.*s-%.*s", STR_ARG(pod), STR_ARG(name));
    struct name_problems problems;

    if (pod.len == 0 || name.len == 0 || name_check(NAME_DNS_SUBDOMAIN, str_of(claim), &problems))
        return;
    for (size_t i = 0; i < problems.count; i++)
        errors_invalid(v->errors, &at, show_text(v->errors, name),
                       errors_printf(v->errors, "PVC name %s: %s", show_text(v->errors, str_of(claim)),
                                     problems.items[i].detail));
}

static void validate_ephemeral(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path template_at = path_child(p, "volumeClaimTemplate");
    struct field_path meta_at = path_child(&template_at, "metadata"),
                      spec_at = path_child(&template_at, "spec");
    json_ref template = json_get(v->d, source, "volumeClaimTemplate");

    if (template) {
        validate_template_meta(v, &meta_at, json_get(v->d, template, "metadata"));
        validate_claim_spec(v, &spec_at, json_get(v->d, template, "spec"),
                            /* groups_are_known= */ v->old != 0);
    } else {
        errors_required(v->errors, &template_at, "");
    }
    validate_template_name(v, p->up, json_parent(v->d, source));
}

/* --- The volumes --- */

#define REQUIRED(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* In the order of the API's checks: the first source is validated, further ones are rejected. */
static const struct source_rule {
    const char *name;
    const char *const *required; /* required members; NULL for none */
    void (*check)(struct validation *v, const struct field_path *p,
                  json_ref source); /* NULL: no further check */
    const char *rules_path;         /* name in error paths, if it differs */
    const char *extra_path;         /* the same for a rejected further source */
} source_rules[] = {
    { "emptyDir", .check = validate_empty_dir },
    { "hostPath", REQUIRED("path"), validate_host_path },
    { "gitRepo", REQUIRED("repository"), validate_git_repo },
    { "gcePersistentDisk", REQUIRED("pdName"), validate_disk_partition, .rules_path = "persistentDisk" },
    { "awsElasticBlockStore", REQUIRED("volumeID"), validate_disk_partition },
    { "secret", REQUIRED("secretName"), validate_keyed },
    { "nfs", REQUIRED("server", "path"), validate_nfs },
    { "iscsi", REQUIRED("targetPortal", "iqn"), validate_inline_iscsi },
    { "glusterfs", REQUIRED("endpoints", "path") },
    { "flocker", .check = validate_flocker },
    { "persistentVolumeClaim", REQUIRED("claimName") },
    { "rbd", REQUIRED("monitors", "image") },
    { "cinder", REQUIRED("volumeID") },
    { "cephfs", REQUIRED("monitors"), .extra_path = "cephFS" },
    { "quobyte", .check = validate_quobyte },
    { "downwardAPI", .check = validate_downward, .extra_path = "downwarAPI" },
    { "fc", .check = validate_fc },
    { "flexVolume", REQUIRED("driver"), validate_flex },
    { "configMap", REQUIRED("name"), validate_keyed },
    { "azureFile", REQUIRED("secretName", "shareName") },
    { "vsphereVolume", REQUIRED("volumePath") },
    { "photonPersistentDisk", REQUIRED("pdID") },
    { "portworxVolume", REQUIRED("volumeID") },
    { "azureDisk", REQUIRED("diskName", "diskURI"), validate_azure_disk },
    { "storageos", REQUIRED("volumeName") },
    { "projected", .check = validate_projected },
    { "scaleIO", REQUIRED("gateway", "system", "volumeName") },
    { "csi", .check = validate_inline_csi },
    { "ephemeral", .check = validate_ephemeral },
    { "image", REQUIRED("reference") },
};
static_assert(ARRAY_LEN(source_rules) == POD_VOLUME_TYPE_COUNT - 1, "rule every source");

static void validate_source(struct validation *v, const struct field_path *p, const struct source_rule *rule,
                            json_ref source)
{
    struct field_path at = path_child(p, rule->rules_path ? rule->rules_path : rule->name);

    for (const char *const *key = rule->required; key && *key; key++)
        validate_required(v, &at, source, *key, "");
    if (rule->check)
        rule->check(v, &at, source);
}

/* A volume without a known source has an unknown one; a volume without any would be an emptyDir. */
static void validate_sources(struct validation *v, const struct field_path *p, json_ref volume)
{
    unsigned count = 0;

    for (size_t i = 0; i < ARRAY_LEN(source_rules); i++) {
        const struct source_rule *rule = &source_rules[i];
        json_ref source = json_get(v->d, volume, rule->name);
        struct field_path at = path_child(p, rule->extra_path ? rule->extra_path : rule->name);
        if (!source)
            continue;
        if (count++ == 0)
            validate_source(v, p, rule, source);
        else
            errors_forbidden(v->errors, &at, "may not specify more than 1 volume type");
    }
}

/* Names of the claims that will be created for this pod. */
static struct name_table created_claims(struct validation *v, json_ref volumes)
{
    struct str pod = json_get_text(v->d, json_get(v->d, v->object, "metadata"), "name");
    uint32_t count = 0;
    struct name_table t;

    for (json_ref m = json_first(v->d, volumes); m; m = json_next(v->d, m))
        count += json_get(v->d, m, "ephemeral") != 0;
    t = name_table_new(v, count);
    for (json_ref m = t.items && pod.len ? json_first(v->d, volumes) : 0; m; m = json_next(v->d, m))
        if (json_get(v->d, m, "ephemeral"))
            t.items[t.count++] = (struct named){
                str_of(errors_printf(v->errors, "%.*s-%.*s", STR_ARG(pod),
                                     STR_ARG(json_get_text(v->d, m, "name")))),
                m,
            };
    name_table_sort(&t);
    return t;
}

static void validate_not_created(struct validation *v, const struct field_path *p, json_ref volume,
                                 const struct name_table *created)
{
    struct field_path source_at = path_child(p, "persistentVolumeClaim"),
                      at = path_child(&source_at, "claimName");
    json_ref source = json_get(v->d, volume, "persistentVolumeClaim");
    struct str claim = json_get_text(v->d, source, "claimName");

    if (source && name_table_find(created, claim))
        errors_invalid(v->errors, &at, show_text(v->errors, claim),
                       "must not reference a PVC that gets created for an ephemeral volume");
}

void validate_pod_volumes(struct validation *v, const struct field_path *p, json_ref volumes,
                          struct name_table *ret)
{
    struct name_table created = created_claims(v, volumes),
                      valid = name_table_new(v, json_count(v->d, volumes));
    const uint32_t *duplicates = NULL;
    uint32_t duplicates_left = validate_find_duplicates(v, volumes, "name", &duplicates), i = 0;

    for (json_ref m = json_first(v->d, volumes); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m), i++) {
        struct field_path at = path_index(p, i), name_at = path_child(&at, "name");
        uint32_t errors_before = v->errors->count;
        struct str name;
        validate_sources(v, &at, m);
        name = validate_required_text(v, &at, m, "name");
        if (name.len)
            validate_name(v, &name_at, NAME_DNS_LABEL, name);
        if (duplicates_take(&duplicates, &duplicates_left, i))
            errors_duplicate(v->errors, &name_at, show_text(v->errors, name));
        if (v->errors->count == errors_before && valid.items)
            valid.items[valid.count++] = (struct named){ name, m };
        validate_not_created(v, &at, m, &created);
    }
    name_table_sort(&valid);
    *ret = valid;
}
