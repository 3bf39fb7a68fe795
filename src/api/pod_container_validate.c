/* Validation of a pod's containers: names, images, mounts, devices, resources. */
#include "api/pod_int.h"

#include "api/names.h"
#include "api/quantity.h"

/* --- Mounts and devices --- */

/* Tables for lookups while the mounts and devices of one container are validated. */
struct container_names {
    const struct name_table *volumes; /* of the pod, only valid ones */
    struct name_table mount_names, mount_paths;
    struct name_table device_names, device_paths;
};

static void validate_propagation(struct validation *v, const struct field_path *p, json_ref mount,
                                 bool is_privileged)
{
    static const char *const names[] = { "None", "HostToContainer", "Bidirectional", NULL };
    struct field_path at = path_child(p, "mountPropagation");

    validate_choice(v, p, mount, "mountPropagation", names);
    if (!is_privileged && str_is(json_get_text(v->d, mount, "mountPropagation"), "Bidirectional"))
        errors_forbidden(v->errors, &at,
                         "Bidirectional mount propagation is available only to privileged containers");
}

static void validate_recursive_read_only(struct validation *v, const struct field_path *p, json_ref mount)
{
    static const char *const names[] = { "Disabled", "IfPossible", "Enabled", NULL };
    struct field_path at = path_child(p, "recursiveReadOnly");
    struct str mode = json_get_text(v->d, mount, "recursiveReadOnly");
    struct str propagation = json_get_text(v->d, mount, "mountPropagation");

    validate_choice(v, p, mount, "recursiveReadOnly", names);
    if (!str_is(mode, "IfPossible") && !str_is(mode, "Enabled"))
        return;
    if (json_type(v->d, json_get(v->d, mount, "readOnly")) != JSON_TRUE)
        errors_forbidden(v->errors, &at, "may only be specified when readOnly is true");
    if (propagation.len && !str_is(propagation, "None"))
        errors_forbidden(v->errors, &at,
                         "may only be specified when mountPropagation is None or not specified");
}

/* Errors about subPath have no index of the mount, as in Kubernetes. */
static void validate_sub_paths(struct validation *v, const struct field_path *mounts_at,
                               const struct field_path *p, json_ref mount, json_ref volume)
{
    struct field_path sub_at = path_child(mounts_at, "subPath"),
                      expr_at = path_child(mounts_at, "subPathExpr");
    struct field_path own_sub_at = path_child(p, "subPath"), own_expr_at = path_child(p, "subPathExpr");
    struct str sub = json_get_text(v->d, mount, "subPath"), expr = json_get_text(v->d, mount, "subPathExpr");
    bool is_image = json_get(v->d, volume, "image") != 0;

    if (is_image && sub.len)
        errors_invalid(v->errors, &own_sub_at, show_text(v->errors, sub),
                       "not allowed in image volume sources");
    if (is_image && expr.len)
        errors_invalid(v->errors, &own_expr_at, show_text(v->errors, expr),
                       "not allowed in image volume sources");
    validate_descending_path(v, &sub_at, sub);
    if (expr.len && sub.len)
        errors_invalid(v->errors, &own_expr_at, show_text(v->errors, expr),
                       "subPathExpr and subPath are mutually exclusive");
    validate_descending_path(v, &expr_at, expr);
}

static void validate_mount(struct validation *v, const struct field_path *p, json_ref mount,
                           bool is_duplicate, const struct container_names *names)
{
    struct field_path name_at = path_child(p, "name"), path_at = path_child(p, "mountPath");
    struct str name = validate_required_text(v, p, mount, "name");
    struct str path = json_get_text(v->d, mount, "mountPath");

    if (!name_table_find(names->volumes, name))
        errors_not_found(v->errors, &name_at, show_text(v->errors, name));
    if (path.len == 0)
        errors_required(v->errors, &path_at, "");
    if (is_duplicate)
        errors_invalid(v->errors, &path_at, show_text(v->errors, path), "must be unique");
    if (name_table_find(&names->device_names, name))
        errors_invalid(v->errors, &name_at, show_text(v->errors, name),
                       "must not already exist in volumeDevices");
    if (name_table_find(&names->device_paths, path))
        errors_invalid(v->errors, &path_at, show_text(v->errors, path),
                       "must not already exist as a path in volumeDevices");
}

static void validate_mounts(struct validation *v, const struct field_path *p, json_ref container,
                            const struct container_names *names)
{
    struct field_path mounts_at = path_child(p, "volumeMounts");
    json_ref mounts = json_get(v->d, container, "volumeMounts");
    bool is_privileged =
        json_type(v->d, json_path(v->d, container, "securityContext", "privileged")) == JSON_TRUE;
    const uint32_t *duplicates = NULL;
    uint32_t left = validate_find_duplicates(v, mounts, "mountPath", &duplicates), i = 0;

    for (json_ref m = json_first(v->d, mounts); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m), i++) {
        struct field_path at = path_index(&mounts_at, i);
        validate_mount(v, &at, m, duplicates_take(&duplicates, &left, i), names);
        validate_sub_paths(v, &mounts_at, &at, m,
                           name_table_find(names->volumes, json_get_text(v->d, m, "name")));
        validate_propagation(v, &mounts_at, m, is_privileged);
        validate_recursive_read_only(v, &mounts_at, m);
    }
}

static void validate_device_name(struct validation *v, const struct field_path *p, struct str name,
                                 bool is_duplicate, const struct container_names *names)
{
    json_ref volume = name_table_find(names->volumes, name);

    if (name.len == 0)
        errors_required(v->errors, p, "");
    else if (is_duplicate)
        errors_invalid(v->errors, p, show_text(v->errors, name), "must be unique");
    if (!volume)
        errors_not_found(v->errors, p, show_text(v->errors, name));
    else if (!json_get(v->d, volume, "persistentVolumeClaim") && !json_get(v->d, volume, "ephemeral"))
        errors_invalid(
            v->errors, p, show_text(v->errors, name),
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
}

static void validate_device(struct validation *v, const struct field_path *p, json_ref device,
                            bool is_name_duplicate, bool is_path_duplicate,
                            const struct container_names *names)
{
    struct field_path name_at = path_child(p, "name"), path_at = path_child(p, "devicePath");
    struct str name = json_get_text(v->d, device, "name"), path = json_get_text(v->d, device, "devicePath");

    validate_device_name(v, &name_at, name, is_name_duplicate, names);
    if (path.len == 0)
        errors_required(v->errors, &path_at, "");
    if (is_path_duplicate)
        errors_invalid(v->errors, &path_at, show_text(v->errors, path), "must be unique");
    if (path_has_backstep(path))
        errors_invalid(v->errors, &path_at, show_text(v->errors, path), "can not contain backsteps ('..')");
    if (name_table_find(&names->mount_names, name))
        errors_invalid(v->errors, &name_at, show_text(v->errors, name),
                       "must not already exist in volumeMounts");
    if (name_table_find(&names->mount_paths, path))
        errors_invalid(v->errors, &path_at, show_text(v->errors, path),
                       "must not already exist as a path in volumeMounts");
}

static void validate_devices(struct validation *v, const struct field_path *p, json_ref container,
                             const struct container_names *names)
{
    struct field_path devices_at = path_child(p, "volumeDevices");
    json_ref devices = json_get(v->d, container, "volumeDevices");
    const uint32_t *name_duplicates = NULL, *path_duplicates = NULL;
    uint32_t names_left = validate_find_duplicates(v, devices, "name", &name_duplicates);
    uint32_t paths_left = validate_find_duplicates(v, devices, "devicePath", &path_duplicates), i = 0;

    for (json_ref m = json_first(v->d, devices); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m), i++) {
        struct field_path at = path_index(&devices_at, i);
        bool is_name_duplicate = duplicates_take(&name_duplicates, &names_left, i);
        bool is_path_duplicate = duplicates_take(&path_duplicates, &paths_left, i);
        validate_device(v, &at, m, is_name_duplicate, is_path_duplicate, names);
    }
}

/* --- Containers --- */

/* No negative amount, no request above its limit. Both maps are sorted by name. */
static void validate_resources(struct validation *v, const struct field_path *p, json_ref resources)
{
    struct field_path limits_at = path_child(p, "limits"), requests_at = path_child(p, "requests");
    json_ref limits = json_get(v->d, resources, "limits"), limit = json_first(v->d, limits);
    struct error ignored; /* canonical form has only quantities that parse */
    struct quantity asked, most;

    for (json_ref m = json_first(v->d, limits); m; m = json_next(v->d, m)) {
        struct field_path at = path_key(&limits_at, json_key(v->d, m));
        validate_quantity_not_negative(v, &at, m);
    }
    for (json_ref m = json_first(v->d, json_get(v->d, resources, "requests")); m; m = json_next(v->d, m)) {
        struct field_path at = path_key(&requests_at, json_key(v->d, m));
        validate_quantity_not_negative(v, &at, m);
        while (limit && str_cmp(json_key(v->d, limit), json_key(v->d, m)) < 0)
            limit = json_next(v->d, limit);
        if (limit && str_eq(json_key(v->d, limit), json_key(v->d, m)) &&
            quantity_parse(json_text(v->d, m), &asked, &ignored) == 0 &&
            quantity_parse(json_text(v->d, limit), &most, &ignored) == 0 && quantity_cmp(&asked, &most) > 0)
            errors_invalid(v->errors, &requests_at, show_value(v->errors, v->d, m),
                           errors_printf(v->errors, "must be less than or equal to %.*s limit of %.*s",
                                         STR_ARG(json_key(v->d, m)), STR_ARG(json_text(v->d, limit))));
    }
}

static void validate_env(struct validation *v, const struct field_path *p, json_ref env)
{
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, env); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m)) {
        struct field_path at = path_index(p, i++);
        (void)validate_required_text(v, &at, m, "name"); /* only for the error */
    }
}

/* Rules for all three kinds of containers. */
static void validate_container(struct validation *v, const struct field_path *p, json_ref container,
                               const struct name_table *volumes)
{
    static const char *const message_policies[] = { "File", "FallbackToLogsOnError", NULL };
    static const char *const pull_policies[] = { "Always", "IfNotPresent", "Never", NULL };
    struct field_path name_at = path_child(p, "name"), env_at = path_child(p, "env");
    struct field_path resources_at = path_child(p, "resources"),
                      security_at = path_child(p, "securityContext");
    json_ref mounts = json_get(v->d, container, "volumeMounts");
    json_ref devices = json_get(v->d, container, "volumeDevices");
    json_ref security = json_get(v->d, container, "securityContext");
    struct container_names names = { .volumes = volumes };

    if (validate_required_text(v, p, container, "name").len)
        validate_name(v, &name_at, NAME_DNS_LABEL, json_get_text(v->d, container, "name"));
    (void)validate_required_text(v, p, container, "image"); /* only for the error */
    validate_choice(v, p, container, "terminationMessagePolicy", message_policies);
    validate_env(v, &env_at, json_get(v->d, container, "env"));
    if (devices) {
        names.mount_names = name_table_of(v, mounts, "name");
        names.mount_paths = name_table_of(v, mounts, "mountPath");
        names.device_names = name_table_of(v, devices, "name");
        names.device_paths = name_table_of(v, devices, "devicePath");
    }
    validate_mounts(v, p, container, &names);
    validate_devices(v, p, container, &names);
    validate_choice(v, p, container, "imagePullPolicy", pull_policies);
    validate_resources(v, &resources_at, json_get(v->d, container, "resources"));
    validate_int_range(v, &security_at, security, "runAsUser", 0, INT32_MAX);
    validate_int_range(v, &security_at, security, "runAsGroup", 0, INT32_MAX);
}

static void validate_regular_container(struct validation *v, const struct field_path *p, json_ref container)
{
    struct field_path at = path_child(p, "restartPolicy");

    if (json_get(v->d, container, "restartPolicy"))
        errors_forbidden(v->errors, &at, "may not be set for non-init containers");
}

static void validate_init_container(struct validation *v, const struct field_path *p, json_ref container)
{
    static const char *const policies[] = { "Always", NULL };

    validate_choice(v, p, container, "restartPolicy", policies);
}

static void validate_ephemeral_container(struct validation *v, const struct field_path *p, json_ref container)
{
    static const char *const forbidden[] = { "ports", "restartPolicy" };
    struct field_path mounts_at = path_child(p, "volumeMounts");
    uint32_t i = 0;

    for (size_t f = 0; f < ARRAY_LEN(forbidden); f++) {
        struct field_path at = path_child(p, forbidden[f]);
        if (json_get(v->d, container, forbidden[f]))
            errors_forbidden(v->errors, &at, "cannot be set for an Ephemeral Container");
    }
    for (json_ref m = json_first(v->d, json_get(v->d, container, "volumeMounts")); m;
         m = json_next(v->d, m)) {
        struct field_path mount_at = path_index(&mounts_at, i++), at = path_child(&mount_at, "subPath");
        struct field_path expr_at = path_child(&mount_at, "subPathExpr");
        if (json_get(v->d, m, "subPath"))
            errors_forbidden(v->errors, &at, "cannot be set for an Ephemeral Container");
        if (json_get(v->d, m, "subPathExpr"))
            errors_forbidden(v->errors, &expr_at, "cannot be set for an Ephemeral Container");
    }
}

static const struct container_list {
    const char *key;
    void (*check)(struct validation *v, const struct field_path *p, json_ref container);
} container_lists[] = {
    /* in the order of the checks: a duplicate name is reported at its second occurrence */
    { "containers", validate_regular_container },
    { "initContainers", validate_init_container },
    { "ephemeralContainers", validate_ephemeral_container },
};

/* earlier: the containers of the previous lists. */
static void validate_container_list(struct validation *v, const struct field_path *spec_at, json_ref spec,
                                    const struct container_list *list, const struct name_table *volumes,
                                    const struct name_table earlier[ARRAY_LEN(container_lists)])
{
    struct field_path list_at = path_child(spec_at, list->key);
    json_ref containers = json_get(v->d, spec, list->key);
    const uint32_t *duplicates = NULL;
    uint32_t left = validate_find_duplicates(v, containers, "name", &duplicates), i = 0;

    for (json_ref m = json_first(v->d, containers); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m), i++) {
        struct field_path at = path_index(&list_at, i), name_at = path_child(&at, "name");
        struct str name = json_get_text(v->d, m, "name");
        bool is_taken = duplicates_take(&duplicates, &left, i);
        validate_container(v, &at, m, volumes);
        for (size_t e = 0; e < ARRAY_LEN(container_lists); e++)
            is_taken |= name_table_find(&earlier[e], name) != 0;
        if (is_taken)
            errors_duplicate(v->errors, &name_at, show_text(v->errors, name));
        list->check(v, &at, m);
    }
}

/* The target of an ephemeral container must exist. */
static void validate_targets(struct validation *v, const struct field_path *spec_at, json_ref spec,
                             const struct name_table *containers, const struct name_table *init_containers)
{
    struct field_path list_at = path_child(spec_at, "ephemeralContainers");
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, json_get(v->d, spec, "ephemeralContainers")); m;
         m = json_next(v->d, m)) {
        struct field_path each = path_index(&list_at, i++), at = path_child(&each, "targetContainerName");
        struct str target = json_get_text(v->d, m, "targetContainerName");
        if (target.len && !name_table_find(containers, target) && !name_table_find(init_containers, target))
            errors_not_found(v->errors, &at, show_text(v->errors, target));
    }
}

void validate_pod_containers(struct validation *v, const struct field_path *p, json_ref spec,
                             const struct name_table *volumes)
{
    struct field_path at = path_child(p, "containers");
    struct name_table earlier[ARRAY_LEN(container_lists)] = { 0 };

    if (json_count(v->d, json_get(v->d, spec, "containers")) == 0)
        errors_required(v->errors, &at, "");
    for (size_t i = 0; i < ARRAY_LEN(container_lists); i++) {
        validate_container_list(v, p, spec, &container_lists[i], volumes, earlier);
        earlier[i] = name_table_of(v, json_get(v->d, spec, container_lists[i].key), "name");
    }
    validate_targets(v, p, spec, &earlier[0], &earlier[1]);
}
