/* Validation of a pod. Volumes, containers and changes have their own files. Paths and texts are those of the
 * API, including its mistakes, because clients match on them. */
#include "api/pod_int.h"

#include "api/names.h"

/* --- Rules that the files of pods share --- */

void validate_descending_path(struct validation *v, const struct field_path *p, struct str path)
{
    if (str_has_prefix(path, "/"))
        errors_invalid(v->errors, p, show_text(v->errors, path), "must be a relative path");
    validate_no_backsteps(v, p, path);
}

void validate_choice(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                     const char *const *names)
{
    struct field_path at = path_child(p, key);
    json_ref value = json_get(v->d, object, key);

    if (value)
        validate_one_of(v, &at, json_text(v->d, value), names);
}

/* --- The rest of the spec --- */

static void validate_security(struct validation *v, const struct field_path *p, json_ref security)
{
    static const char *const change_policies[] = { "Always", "OnRootMismatch", NULL };
    static const char *const group_policies[] = { "Merge", "Strict", NULL };
    static const char *const label_policies[] = { "MountOption", "Recursive", NULL };
    struct field_path groups_at = path_child(p, "supplementalGroups");
    uint32_t i = 0;

    validate_int_range(v, p, security, "fsGroup", 0, INT32_MAX);
    validate_int_range(v, p, security, "runAsUser", 0, INT32_MAX);
    validate_int_range(v, p, security, "runAsGroup", 0, INT32_MAX);
    for (json_ref m = json_first(v->d, json_get(v->d, security, "supplementalGroups")); m;
         m = json_next(v->d, m)) {
        struct field_path at = path_index(&groups_at, i++);
        validate_between(v, &at, m, 0, INT32_MAX);
    }
    validate_choice(v, p, security, "fsGroupChangePolicy", change_policies);
    validate_choice(v, p, security, "supplementalGroupsPolicy", group_policies);
    validate_choice(v, p, security, "seLinuxChangePolicy", label_policies);
}

static void validate_node_affinity(struct validation *v, const struct field_path *p, json_ref affinity)
{
    struct field_path required_at = path_child(p, "requiredDuringSchedulingIgnoredDuringExecution");
    struct field_path preferred_at = path_child(p, "preferredDuringSchedulingIgnoredDuringExecution");
    json_ref required = json_get(v->d, affinity, required_at.name);
    uint32_t i = 0;

    if (required)
        validate_node_selector(v, &required_at, required);
    for (json_ref m = json_first(v->d, json_get(v->d, affinity, preferred_at.name)); m;
         m = json_next(v->d, m)) {
        struct field_path each = path_index(&preferred_at, i++), at = path_child(&each, "weight");
        json_ref weight = json_get(v->d, m, "weight");
        int64_t number;
        if (json_int64(v->d, weight, &number) && (number < 1 || number > 100))
            errors_invalid(v->errors, &at, show_value(v->errors, v->d, weight), "must be in the range 1-100");
    }
}

/* Gates of both kinds are named after the component that opens them. */
static void validate_gates(struct validation *v, const struct field_path *p, json_ref spec)
{
    struct field_path readiness = path_child(p, "readinessGates"),
                      scheduling = path_child(p, "schedulingGates");
    json_ref gates = json_get(v->d, spec, "schedulingGates");
    const uint32_t *duplicates = NULL;
    uint32_t left = validate_find_duplicates(v, gates, "name", &duplicates), i = 0;

    for (json_ref m = json_first(v->d, json_get(v->d, spec, "readinessGates")); m; m = json_next(v->d, m)) {
        struct field_path each = path_index(&readiness, i++), at = path_child(&each, "conditionType");
        validate_name(v, &at, NAME_QUALIFIED, json_get_text(v->d, m, "conditionType"));
    }
    i = 0;
    for (json_ref m = json_first(v->d, gates); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m), i++) {
        struct field_path at = path_index(&scheduling, i);
        validate_name(v, &at, NAME_QUALIFIED, json_get_text(v->d, m, "name"));
        if (duplicates_take(&duplicates, &left, i))
            errors_duplicate(v->errors, &at, show_text(v->errors, json_get_text(v->d, m, "name")));
    }
}

/* White space around an image name: checked last, as in the API. */
static void validate_images(struct validation *v, const struct field_path *p, json_ref spec, const char *key)
{
    struct field_path list_at = path_child(p, key);
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, json_get(v->d, spec, key)); m; m = json_next(v->d, m)) {
        struct field_path each = path_index(&list_at, i++), at = path_child(&each, "image");
        struct str image = json_get_text(v->d, m, "image");
        if (str_trim(image).len != image.len)
            errors_invalid(v->errors, &at, show_text(v->errors, image),
                           "must not have leading or trailing whitespace");
    }
}

static void validate_new_pod(struct validation *v, const struct field_path *p, json_ref spec)
{
    struct field_path ephemeral = path_child(p, "ephemeralContainers"), node = path_child(p, "nodeName");

    if (json_get(v->d, spec, "ephemeralContainers"))
        errors_forbidden(v->errors, &ephemeral, "cannot be set on create");
    if (json_get(v->d, spec, "nodeName") && json_get(v->d, spec, "schedulingGates"))
        errors_forbidden(v->errors, &node, "cannot be set until all schedulingGates have been cleared");
}

static void validate_placement(struct validation *v, const struct field_path *p, json_ref spec)
{
    struct field_path selector = path_child(p, "nodeSelector"), affinity = path_child(p, "affinity");
    struct field_path node_affinity = path_child(&affinity, "nodeAffinity"),
                      security = path_child(p, "securityContext");

    validate_labels(v, &selector, json_get(v->d, spec, "nodeSelector"));
    validate_security(v, &security, json_get(v->d, spec, "securityContext"));
    validate_node_affinity(v, &node_affinity, json_path(v->d, spec, "affinity", "nodeAffinity"));
    validate_gates(v, p, spec);
    validate_optional_name(v, p, spec, "serviceAccountName", NAME_DNS_SUBDOMAIN);
    validate_optional_name(v, p, spec, "nodeName", NAME_DNS_SUBDOMAIN);
}

static void validate_spec(struct validation *v)
{
    static const char *const restart_policies[] = { "Always", "OnFailure", "Never", NULL };
    static const char *const dns_policies[] = { "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None",
                                                NULL };
    static const char *const preemption_policies[] = { "PreemptLowerPriority", "Never", NULL };
    struct field_path p = path_child(NULL, "spec"), volumes_at = path_child(&p, "volumes");
    struct field_path tolerations = path_child(&p, "tolerations");
    json_ref spec = json_get(v->d, v->object, "spec");
    struct name_table volumes;

    validate_pod_volumes(v, &volumes_at, json_get(v->d, spec, "volumes"), &volumes);
    validate_pod_containers(v, &p, spec, &volumes);
    validate_choice(v, &p, spec, "restartPolicy", restart_policies);
    validate_choice(v, &p, spec, "dnsPolicy", dns_policies);
    validate_placement(v, &p, spec);
    validate_int_range(v, &p, spec, "activeDeadlineSeconds", 1, INT32_MAX);
    validate_optional_name(v, &p, spec, "hostname", NAME_DNS_LABEL);
    validate_optional_name(v, &p, spec, "subdomain", NAME_DNS_LABEL);
    validate_tolerations(v, &tolerations, json_get(v->d, spec, "tolerations"));
    validate_optional_name(v, &p, spec, "priorityClassName", NAME_DNS_SUBDOMAIN);
    validate_optional_name(v, &p, spec, "runtimeClassName", NAME_DNS_SUBDOMAIN);
    validate_choice(v, &p, spec, "preemptionPolicy", preemption_policies);
    validate_images(v, &p, spec, "containers");
    validate_images(v, &p, spec, "initContainers");
    if (!v->old)
        validate_new_pod(v, &p, spec);
}

/* --- Status --- */

static void validate_conditions(struct validation *v, json_ref conditions)
{
    struct field_path meta = path_child(NULL, "metadata"),
                      list_at = path_child(&meta, "conditions"); /* sic: the API reports them there */
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, conditions); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m)) {
        struct field_path each = path_index(&list_at, i++), at = path_child(&each, "Type");
        validate_name(v, &at, NAME_QUALIFIED, json_get_text(v->d, m, "type"));
    }
}

void pod_validate(struct validation *v)
{
    struct field_path p = path_child(NULL, "status");
    json_ref status = json_get(v->d, v->object, "status");

    if (v->part == WRITE_STATUS) {
        validate_conditions(v, json_get(v->d, status, "conditions"));
        validate_optional_name(v, &p, status, "nominatedNodeName", NAME_DNS_SUBDOMAIN);
    } else {
        validate_spec(v);
    }
}
