/* Validation of changes of a pod, of which few are allowed, because nodes act on the first version.
 *
 * The fields that may change are restored from the old spec in a copy of the new one; any remaining
 * difference is rejected. */
#include "api/pod_int.h"

#include "api/json_diff.h"

#define UPDATES_FORBIDDEN                                                                     \
    "pod updates may not change fields other than "                                           \
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," \
    "`spec.tolerations` (only additions to existing tolerations),"                            \
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

/* The number of containers is fixed. Returns whether it is the same. */
static bool validate_container_count(struct validation *v, const struct field_path *p, json_ref spec,
                                     json_ref old, const char *key)
{
    struct field_path at = path_child(p, key);

    if (json_count(v->d, json_get(v->d, spec, key)) == json_count(v->d, json_get(v->d, old, key)))
        return true;
    errors_forbidden(v->errors, &at, "pod updates may not add or remove containers");
    return false;
}

/* The deadline may be set and reduced. Returns false if no further error should be reported. */
static bool validate_deadline(struct validation *v, const struct field_path *p, json_ref spec, json_ref old)
{
    struct field_path at = path_child(p, "activeDeadlineSeconds");
    json_ref now = json_get(v->d, spec, "activeDeadlineSeconds");
    json_ref before = json_get(v->d, old, "activeDeadlineSeconds");
    int64_t seconds, seconds_before;

    if (!now) {
        if (before)
            errors_invalid(v->errors, &at, "null", "must not update from a positive integer to nil value");
        return true;
    }
    if (!json_int64(v->d, now, &seconds) || !json_int64(v->d, before, &seconds_before) ||
        seconds <= seconds_before)
        return true;
    errors_invalid(v->errors, &at, show_value(v->errors, v->d, now),
                   "must be less than or equal to previous value");
    return false;
}

/* A toleration without its seconds, as a text for comparison. */
static struct str toleration_text(struct validation *v, json_ref toleration)
{
    static const char *const keys[] = { "key", "operator", "value", "effect" };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)64 << 10);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        json_write_string(&text, json_get_text(v->d, toleration, keys[i]));
    return str_of(errors_printf(v->errors, "%s", buf_cstr(&text)));
}

static struct name_table toleration_table(struct validation *v, json_ref tolerations)
{
    struct name_table t = name_table_new(v, json_count(v->d, tolerations));

    for (json_ref m = t.items ? json_first(v->d, tolerations) : 0; m; m = json_next(v->d, m))
        t.items[t.count++] = (struct named){ toleration_text(v, m), m };
    name_table_sort(&t);
    return t;
}

/* Old tolerations must stay, possibly with other seconds; new ones may be added. */
static void validate_added_tolerations(struct validation *v, const struct field_path *p, json_ref spec,
                                       json_ref old)
{
    struct field_path at = path_child(p, "tolerations");
    json_ref now = json_get(v->d, spec, "tolerations"), before = json_get(v->d, old, "tolerations");
    struct name_table table;

    if (json_equal(v->d, now, before))
        return;
    table = toleration_table(v, now);
    for (json_ref m = json_first(v->d, before); m; m = json_next(v->d, m)) {
        if (name_table_find(&table, toleration_text(v, m)))
            continue;
        errors_forbidden(v->errors, &at,
                         "existing toleration can not be modified except its tolerationSeconds");
        return;
    }
}

/* Scheduling gates may only be removed. */
static void validate_deleted_gates(struct validation *v, const struct field_path *p, json_ref spec,
                                   json_ref old)
{
    struct field_path list_at = path_child(p, "schedulingGates");
    struct name_table before = name_table_of(v, json_get(v->d, old, "schedulingGates"), "name");
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, json_get(v->d, spec, "schedulingGates"));
         m && v->errors->count < FIELD_ERRORS_COUNT_MAX; m = json_next(v->d, m)) {
        struct field_path each = path_index(&list_at, i++), at = path_child(&each, "name");
        struct str name = json_get_text(v->d, m, "name");
        if (!name_table_find(&before, name))
            errors_forbidden(v->errors, &at,
                             errors_printf(v->errors,
                                           "only deletion is allowed, but found new scheduling gate '%.*s'",
                                           STR_ARG(name)));
    }
}

/* --- The rest must be equal --- */

/* Copies both specs to a new document, because the validated object must not be modified. */
static int copy_specs(struct validation *v, struct json *d, json_ref *ret_now, json_ref *ret_old,
                      struct error *err)
{
    _cleanup_(buf_done_p) struct buf now = BUF_INIT(OBJECT_TEXT_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf old = BUF_INIT(OBJECT_TEXT_BYTES_MAX);
    int r;

    json_write(v->d, json_get(v->d, v->object, "spec"), &now);
    json_write(v->d, json_get(v->d, v->old, "spec"), &old);
    r = buf_check(&now, "spec", err);
    if (r == 0)
        r = buf_check(&old, "spec", err);
    if (r == 0)
        r = json_parse(d, buf_str(&now), ret_now, err);
    if (r == 0)
        r = json_parse(d, buf_str(&old), ret_old, err);
    return r;
}

static void keep_images(struct json *d, json_ref now, json_ref old, const char *key)
{
    json_ref before = json_first(d, json_get(d, old, key));

    for (json_ref m = json_first(d, json_get(d, now, key)); m && before; m = json_next(d, m)) {
        prepare_keep(d, m, before, "image");
        before = json_next(d, before);
    }
}

/* A negative grace period meant 1 and may be changed to 1. */
static void keep_grace(struct json *d, json_ref now, json_ref old)
{
    static const char key[] = "terminationGracePeriodSeconds";
    int64_t seconds, before;

    if (json_int64(d, json_get(d, old, key), &before) && before < 0 &&
        json_int64(d, json_get(d, now, key), &seconds) && seconds == 1)
        prepare_keep(d, now, old, key);
}

static void validate_rest_unchanged(struct validation *v, const struct field_path *p)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf detail = BUF_INIT(2 * JSON_DIFF_BYTES_MAX);
    struct error err;
    json_ref now = 0, old = 0;
    int r;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    r = copy_specs(v, &d, &now, &old, &err);
    if (r == 0) {
        keep_images(&d, now, old, "containers");
        keep_images(&d, now, old, "initContainers");
        prepare_keep(&d, now, old, "activeDeadlineSeconds");
        prepare_keep(&d, now, old, "tolerations");
        prepare_keep(&d, now, old, "schedulingGates");
        keep_grace(&d, now, old);
        r = json_check(&d, &err);
    }
    if (r < 0) {
        errors_forbidden(v->errors, p, err.msg); /* specs that cannot be compared are rejected */
        return;
    }
    if (json_equal(&d, now, old))
        return;
    buf_add_cstr(&detail, UPDATES_FORBIDDEN "\n");
    json_diff(&d, "spec", old, now, &detail);
    errors_forbidden(v->errors, p, buf_cstr(&detail));
}

static void validate_spec_update(struct validation *v)
{
    struct field_path p = path_child(NULL, "spec");
    json_ref spec = json_get(v->d, v->object, "spec"), old = json_get(v->d, v->old, "spec");

    if (json_equal(v->d, spec, old) || !validate_container_count(v, &p, spec, old, "containers") ||
        !validate_container_count(v, &p, spec, old, "initContainers") || !validate_deadline(v, &p, spec, old))
        return;
    validate_added_tolerations(v, &p, spec, old);
    validate_deleted_gates(v, &p, spec, old);
    validate_rest_unchanged(v, &p);
}

/* The annotation decides what the node may read because of the pod (apiserver/node_relations.h), so that
 * neither an update of the pod nor one of its status may change it. */
static void validate_mirror_kept(struct validation *v)
{
    struct field_path meta = path_child(NULL, "metadata"), annotations = path_child(&meta, "annotations");
    struct field_path at = path_key(&annotations, STR_LIT(ANN_CONFIG_MIRROR));
    json_ref now = json_path(v->d, v->object, "metadata", "annotations", ANN_CONFIG_MIRROR);
    json_ref before = json_path(v->d, v->old, "metadata", "annotations", ANN_CONFIG_MIRROR);

    if (before && !json_equal(v->d, before, now))
        errors_forbidden(v->errors, &at, "may not remove or update mirror pod annotation");
    if (!before && now)
        errors_forbidden(v->errors, &at, "may not add mirror pod annotation");
}

void pod_validate_update(struct validation *v)
{
    struct field_path status = path_child(NULL, "status"), qos = path_child(&status, "qosClass");

    validate_mirror_kept(v);
    if (v->part == WRITE_MAIN)
        validate_spec_update(v);
    else
        validate_immutable(v, &qos, json_path(v->d, v->object, "status", "qosClass"),
                           json_path(v->d, v->old, "status", "qosClass"));
}
