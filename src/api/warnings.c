#include "api/warnings.h"

#include <stdarg.h>

#include "api/resources.h"
#include "api/storage.h"
#include "base/cleanup.h"

static void warn(struct field_report *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void warn(struct field_report *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)buf_addv(&out->lines, fmt, ap); /* what does not fit is left away */
    va_end(ap);
    (void)buf_add_char(&out->lines, '\0');
    if (!out->lines.failed)
        out->count++;
}

static void warn_annotation(const struct json *d, json_ref object, const char *key, const char *since,
                            const char *instead, struct field_report *out)
{
    if (json_path(d, object, "metadata", "annotations", key))
        warn(out, "metadata.annotations[%s]: deprecated since %s; use \"%s\" attribute instead", key, since,
             instead);
}

/* Sources that have no plugin any more, anywhere. */
static const struct {
    const char *field;
    const char *shown; /* where that is not the field's name */
    const char *deprecated, *gone;
} old_sources[] = {
    { "cephfs", NULL, "v1.28", "v1.31" },    { "photonPersistentDisk", NULL, "v1.11", "v1.16" },
    { "scaleIO", NULL, "v1.16", "v1.22" },   { "storageos", "storageOS", "v1.22", "v1.25" },
    { "glusterfs", NULL, "v1.25", "v1.26" }, { "rbd", NULL, "v1.28", "v1.31" },
};

void volume_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out)
{
    json_ref spec = json_get(d, object, "spec");

    (void)old;
    warn_annotation(d, object, ANN_CLASS_BETA, "v1.8", "storageClassName", out);
    warn_annotation(d, object, ANN_MOUNT_OPTIONS_BETA, "v1.31", "mountOptions", out);
    if (json_is_string(d, json_get(d, spec, "persistentVolumeReclaimPolicy"), "Recycle"))
        warn(out,
             "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
             "recommended approach is to use dynamic provisioning.");
    for (size_t i = 0; i < ARRAY_LEN(old_sources); i++)
        if (json_get(d, spec, old_sources[i].field))
            warn(out, "spec.%s: deprecated in %s, non-functional in %s+",
                 old_sources[i].shown ? old_sources[i].shown : old_sources[i].field,
                 old_sources[i].deprecated, old_sources[i].gone);
}

static void warn_fraction(const struct json *d, json_ref spec, const char *list, struct field_report *out)
{
    json_ref amounts = json_path(d, spec, "resources", list);
    struct quantity q;

    if (resources_storage(d, amounts, &q) && !quantity_round_up(&q, /* scale= */ 0))
        warn(out, "spec.resources.%s[storage]: fractional byte value \"%.*s\" is invalid, must be an integer",
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

/* Said when the requests for tokens are new, or others than before. */
void csi_driver_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out)
{
    json_ref spec = json_get(d, object, "spec"), requests = json_get(d, spec, "tokenRequests");

    if (json_count(d, requests) == 0 || json_get(d, spec, "serviceAccountTokenInSecrets") ||
        (old && json_equal(d, requests, json_path(d, old, "spec", "tokenRequests"))))
        return;
    warn(out, "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
              "prevent possible logging of tokens in volume attributes");
}
