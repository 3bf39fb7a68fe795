/* Validation of volumes with files from objects: secret, configMap, downwardAPI, projected. */
#include "api/pod_int.h"

#include <string.h>

#include "api/names.h"

#define FILE_MODE_MAX 0777

/* --- Keys as files --- */

static void validate_mode(struct validation *v, const struct field_path *p, json_ref object, const char *key)
{
    struct field_path at = path_child(p, key);
    json_ref mode = json_get(v->d, object, key);
    int64_t number;

    if (json_int64(v->d, mode, &number) && (number < 0 || number > FILE_MODE_MAX))
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, mode),
                       "must be a number between 0 and 0777 (octal), both inclusive");
}

/* The path of a file in a volume; names that start with ".." are reserved. */
static void validate_file_path(struct validation *v, const struct field_path *p, json_ref object)
{
    struct field_path at = path_child(p, "path");
    struct str path = validate_required_text(v, p, object, "path");

    validate_descending_path(v, &at, path);
    if (str_has_prefix(path, "..") && !str_has_prefix(path, "../"))
        errors_invalid(v->errors, &at, show_text(v->errors, path), "must not start with '..'");
}

static void validate_key_paths(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path items = path_child(p, "items");
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, json_get(v->d, source, "items"));
         m && v->errors->count < FIELD_ERRORS_COUNT_MAX; m = json_next(v->d, m)) {
        struct field_path at = path_index(&items, i++);
        validate_required(v, &at, m, "key", "");
        validate_file_path(v, &at, m);
        validate_mode(v, &at, m, "mode");
    }
}

void validate_keyed(struct validation *v, const struct field_path *p, json_ref source)
{
    validate_mode(v, p, source, "defaultMode");
    validate_key_paths(v, p, source);
}

/* --- Downward API --- */

static const char *const shown_in_files[] = { "metadata.name",        "metadata.namespace", "metadata.labels",
                                              "metadata.annotations", "metadata.uid",       NULL };
/* Fields that are allowed in environment variables but not in files. */
static const char *const shown_elsewhere[] = { "spec.nodeName",
                                               "spec.restartPolicy",
                                               "spec.serviceAccountName",
                                               "spec.schedulerName",
                                               "status.phase",
                                               "status.hostIP",
                                               "status.hostIPs",
                                               "status.podIP",
                                               "status.podIPs",
                                               NULL };
static const char *const shown_resources[] = { "limits.cpu",
                                               "limits.memory",
                                               "limits.ephemeral-storage",
                                               "requests.cpu",
                                               "requests.memory",
                                               "requests.ephemeral-storage",
                                               NULL };

static bool text_is_among(struct str text, const char *const *names)
{
    for (; *names; names++)
        if (str_is(text, *names))
            return true;
    return false;
}

/* metadata.labels['key']: the key, or NULL without one. */
static struct str subscript_of(struct str path, struct str *ret_field)
{
    const char *open = path.len ? memchr(path.s, '[', path.len) : NULL;
    size_t before = open ? (size_t)(open - path.s) : 0;
    size_t inside = open ? path.len - before : 0;

    *ret_field = path;
    if (inside < 4 || open[1] != '\'' || !str_has_suffix(path, "']"))
        return (struct str){ 0 };
    ret_field->len = before;
    return (struct str){ open + 2, inside - 4 };
}

static void validate_field_ref(struct validation *v, const struct field_path *p, json_ref ref)
{
    struct field_path at = path_child(p, "fieldPath");
    struct str path = validate_required_text(v, p, ref, "fieldPath"), field;
    struct str key = subscript_of(path, &field);

    if (path.len == 0)
        return;
    if (key.s && str_is(field, "metadata.annotations"))
        validate_name(v, p, NAME_QUALIFIED_ANY_CASE, key);
    else if (key.s && str_is(field, "metadata.labels"))
        validate_name(v, p, NAME_QUALIFIED, key);
    else if (!key.s && text_is_among(path, shown_elsewhere))
        validate_one_of(v, &at, path, shown_in_files);
    else if (key.s || !text_is_among(path, shown_in_files))
        errors_invalid(v->errors, &at, show_text(v->errors, path),
                       errors_printf(v->errors, "error converting fieldPath: field label %s: %.*s",
                                     key.s ? "does not support subscript" : "not supported", STR_ARG(path)));
}

static void validate_resource_ref(struct validation *v, const struct field_path *p, json_ref ref)
{
    struct field_path at = path_child(p, "resource");
    struct str resource = json_get_text(v->d, ref, "resource");

    if (validate_required_text(v, p, ref, "containerName").len == 0)
        return;
    if (resource.len == 0)
        errors_required(v->errors, &at, "");
    else if (!str_has_prefix(resource, "limits.hugepages-") &&
             !str_has_prefix(resource, "requests.hugepages-"))
        validate_one_of(v, &at, resource, shown_resources);
}

/* Errors have no index of the item, as in Kubernetes. */
static void validate_downward_items(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path field_at = path_child(p, "fieldRef"), resource_at = path_child(p, "resourceFieldRef");

    for (json_ref m = json_first(v->d, json_get(v->d, source, "items"));
         m && v->errors->count < FIELD_ERRORS_COUNT_MAX; m = json_next(v->d, m)) {
        json_ref field = json_get(v->d, m, "fieldRef"), resource = json_get(v->d, m, "resourceFieldRef");
        validate_file_path(v, p, m);
        if (field)
            validate_field_ref(v, &field_at, field);
        if (field && resource)
            errors_invalid(v->errors, p, "\"resource\"",
                           "fieldRef and resourceFieldRef can not be specified simultaneously");
        else if (resource)
            validate_resource_ref(v, &resource_at, resource);
        else if (!field)
            errors_required(v->errors, p, "one of fieldRef and resourceFieldRef is required");
        validate_mode(v, p, m, "mode");
    }
}

void validate_downward(struct validation *v, const struct field_path *p, json_ref source)
{
    validate_mode(v, p, source, "defaultMode");
    validate_downward_items(v, p, source);
}

/* --- Projected --- */

static void validate_projection(struct validation *v, const struct field_path *p,
                                const struct field_path *volume, json_ref source)
{
    static const char *const keyed[] = { "secret", "configMap" };
    json_ref downward = json_get(v->d, source, "downwardAPI");
    json_ref token = json_get(v->d, source, "serviceAccountToken");
    struct field_path downward_at = path_child(p, "downwardAPI");
    struct field_path token_at = path_child(p, "serviceAccountToken");
    unsigned count = 0;

    for (size_t i = 0; i < ARRAY_LEN(keyed); i++) {
        json_ref part = json_get(v->d, source, keyed[i]);
        struct field_path at = path_child(p, keyed[i]);
        if (!part)
            continue;
        count++;
        validate_required(v, &at, part, "name", "");
        validate_key_paths(v, &at, part);
    }
    if (downward)
        validate_downward_items(v, &downward_at, downward);
    if (token) {
        validate_token_seconds(v, &token_at, token);
        validate_file_path(v, volume, token); /* reported for the volume, not for the source */
    }
    if (count + (downward != 0) + (token != 0) > 1)
        errors_forbidden(v->errors, p, "may not specify more than 1 volume type per source");
}

/* The parts of a source whose items become files. */
static const char *const projected_parts[] = { "secret", "configMap", "downwardAPI" };

static uint32_t count_projected_items(struct validation *v, json_ref sources)
{
    uint32_t count = 0;

    for (json_ref s = json_first(v->d, sources); s; s = json_next(v->d, s))
        for (size_t i = 0; i < ARRAY_LEN(projected_parts); i++)
            count += json_count(v->d, json_path(v->d, s, projected_parts[i], "items"));
    return count;
}

/* No two items of a volume may have the same path. The error shows the object of the later item, or its path.
 */
static void validate_projected_paths(struct validation *v, const struct field_path *p, json_ref sources)
{
    struct name_table paths = name_table_new(v, count_projected_items(v, sources));

    for (json_ref s = paths.items ? json_first(v->d, sources) : 0; s; s = json_next(v->d, s))
        for (size_t i = 0; i < ARRAY_LEN(projected_parts); i++) {
            json_ref part = json_get(v->d, s, projected_parts[i]);
            for (json_ref m = json_first(v->d, json_get(v->d, part, "items")); m; m = json_next(v->d, m))
                if (json_get_text(v->d, m, "path").len)
                    paths.items[paths.count++] = (struct named){ json_get_text(v->d, m, "path"), part };
        }
    name_table_sort(&paths);
    for (uint32_t i = 1; i < paths.count && v->errors->count < FIELD_ERRORS_COUNT_MAX; i++) {
        struct str owner = json_get_text(v->d, paths.items[i].item, "name");
        if (str_eq(paths.items[i].name, paths.items[i - 1].name))
            errors_invalid(v->errors, p, show_text(v->errors, owner.len ? owner : paths.items[i].name),
                           "conflicting duplicate paths");
    }
}

void validate_projected(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path sources = path_child(p, "sources");
    uint32_t i = 0;

    validate_mode(v, p, source, "defaultMode");
    for (json_ref m = json_first(v->d, json_get(v->d, source, "sources"));
         m && v->errors->count < FIELD_ERRORS_COUNT_MAX; m = json_next(v->d, m)) {
        struct field_path at = path_index(&sources, i++);
        validate_projection(v, &at, p, m);
    }
    validate_projected_paths(v, p, json_get(v->d, source, "sources"));
}
