/* Warnings in responses to writes: texts and order are those of Kubernetes, followed by Berth's own about
 * volumes that its node agent cannot mount. Warnings about a source are only given when it is set, not on
 * later writes. */
#include "api/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/mountable.h"
#include "api/resources.h"
#include "api/storage.h"
#include "base/cleanup.h"

static void add_warning(struct field_report *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add_warning(struct field_report *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_addv(&out->lines, fmt, ap); /* a warning that does not fit is left out */
    va_end(ap);
    buf_add_char(&out->lines, '\0');
    if (!out->lines.failed)
        out->count++;
}

static void warn_annotation(const struct json *d, json_ref object, const char *key, const char *since,
                            const char *instead, struct field_report *out)
{
    if (json_path(d, object, "metadata", "annotations", key))
        add_warning(out, "metadata.annotations[%s]: deprecated since %s; use \"%s\" attribute instead", key,
                    since, instead);
}

/* Sources for which no plugin exists any more. */
static const struct {
    const char *field;
    const char *shown; /* if it differs from the field's name */
    const char *deprecated, *gone;
} old_sources[] = {
    { "cephfs", NULL, "v1.28", "v1.31" },    { "photonPersistentDisk", NULL, "v1.11", "v1.16" },
    { "scaleIO", NULL, "v1.16", "v1.22" },   { "storageos", "storageOS", "v1.22", "v1.25" },
    { "glusterfs", NULL, "v1.25", "v1.26" }, { "rbd", NULL, "v1.28", "v1.31" },
};

/* Kubelets can mount these, Berth's agent cannot. */
static bool is_of_kubelets(const char *field)
{
    return strcmp(field, "iscsi") == 0 || strcmp(field, "fc") == 0 || strcmp(field, "image") == 0;
}

/* where: the path to the field. Follows Kubernetes' own warning about the field. */
static void warn_unmountable(const char *where, const char *field, struct field_report *out)
{
    add_warning(out, "%s%s: Berth's node agent cannot mount %s volumes%s", where, field, field,
                is_of_kubelets(field) ? "; only nodes run by a kubelet can" : "");
}

/* Only when the source is set, not for later writes of the volume. */
static void warn_source(const struct json *d, json_ref spec, json_ref old, struct field_report *out)
{
    enum volume_source_kind kind = volume_source_of(d, spec);
    const char *field = volume_sources[kind].name;

    if (!source_is_mountable(kind) && !json_path(d, old, "spec", field))
        warn_unmountable("spec.", field, out);
}

void volume_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out)
{
    json_ref spec = json_get(d, object, "spec");

    warn_annotation(d, object, ANN_CLASS_BETA, "v1.8", "storageClassName", out);
    warn_annotation(d, object, ANN_MOUNT_OPTIONS_BETA, "v1.31", "mountOptions", out);
    if (json_is_string(d, json_get(d, spec, "persistentVolumeReclaimPolicy"), "Recycle"))
        add_warning(
            out, "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
                 "recommended approach is to use dynamic provisioning.");
    for (size_t i = 0; i < ARRAY_LEN(old_sources); i++)
        if (json_get(d, spec, old_sources[i].field))
            add_warning(out, "spec.%s: deprecated in %s, non-functional in %s+",
                        old_sources[i].shown ? old_sources[i].shown : old_sources[i].field,
                        old_sources[i].deprecated, old_sources[i].gone);
    warn_source(d, spec, old, out);
}

/* The same for pods, in the order of Kubernetes. */
static const struct {
    const char *field;
    const char *shown;
    const char *words;
} old_in_pods[] = {
    { "photonPersistentDisk", NULL, "deprecated in v1.11, non-functional in v1.16+" },
    { "gitRepo", NULL, "deprecated in v1.11, and disabled by default in v1.33+" },
    { "scaleIO", NULL, "deprecated in v1.16, non-functional in v1.22+" },
    { "flocker", NULL, "deprecated in v1.22, non-functional in v1.25+" },
    { "storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+" },
    { "quobyte", NULL, "deprecated in v1.22, non-functional in v1.25+" },
    { "glusterfs", NULL, "deprecated in v1.25, non-functional in v1.26+" },
    { "cephfs", NULL, "deprecated in v1.28, non-functional in v1.31+" },
    { "rbd", NULL, "deprecated in v1.28, non-functional in v1.31+" },
};

static void warn_old_in_pod(const struct json *d, json_ref volume, unsigned index, struct field_report *out)
{
    for (size_t i = 0; i < ARRAY_LEN(old_in_pods); i++)
        if (json_get(d, volume, old_in_pods[i].field))
            add_warning(out, "spec.volumes[%u].%s: %s", index,
                        old_in_pods[i].shown ? old_in_pods[i].shown : old_in_pods[i].field,
                        old_in_pods[i].words);
}

static void warn_unmountable_in_pod(const struct json *d, json_ref volume, unsigned index,
                                    struct field_report *out)
{
    char where[48];

    (void)snprintf(where, sizeof where, "spec.volumes[%u].", index);
    for (unsigned t = POD_VOLUME_UNKNOWN + 1; t < POD_VOLUME_TYPE_COUNT; t++)
        if (!pod_volume_is_mountable(t) && json_get(d, volume, pod_volume_type_names[t]))
            warn_unmountable(where, pod_volume_type_names[t], out);
}

/* Repeated only if the spec changes. */
void pod_warn_volumes(const struct json *d, json_ref object, json_ref old, struct field_report *out)
{
    json_ref spec = json_get(d, object, "spec"), volumes = json_get(d, spec, "volumes");
    unsigned index = 0;

    if (old && json_equal(d, spec, json_get(d, old, "spec")))
        return;
    for (json_ref v = json_first(d, volumes); v; v = json_next(d, v))
        warn_old_in_pod(d, v, index++, out);
    index = 0;
    for (json_ref v = json_first(d, volumes); v && !old; v = json_next(d, v))
        warn_unmountable_in_pod(d, v, index++, out);
}

static void warn_fraction(const struct json *d, json_ref spec, const char *list, struct field_report *out)
{
    json_ref amounts = json_path(d, spec, "resources", list);
    struct quantity q;

    if (resources_storage(d, amounts, &q) && !quantity_round_up(&q, /* scale= */ 0))
        add_warning(
            out, "spec.resources.%s[storage]: fractional byte value \"%.*s\" is invalid, must be an integer",
            list, STR_ARG(json_get_text(d, amounts, RESOURCE_STORAGE)));
}

void claim_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out)
{
    json_ref spec = json_get(d, object, "spec");

    (void)old;
    warn_annotation(d, object, ANN_CLASS_BETA, "v1.8", "storageClassName", out);
    warn_fraction(d, spec, "requests", out);
    warn_fraction(d, spec, "limits", out);
}

/* Only if the token requests are new or have changed. */
void csi_driver_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out)
{
    json_ref spec = json_get(d, object, "spec"), requests = json_get(d, spec, "tokenRequests");

    if (json_count(d, requests) == 0 || json_get(d, spec, "serviceAccountTokenInSecrets") ||
        (old && json_equal(d, requests, json_path(d, old, "spec", "tokenRequests"))))
        return;
    add_warning(out,
                "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
                "prevent possible logging of tokens in volume attributes");
}
