/* POST pods/NAME/binding: assigns a pod to a node and sets its condition PodScheduled. Refused for a pod that
 * has a node, is being deleted or has scheduling gates. */
#include "apiserver/object_write.h"

#include "api/defaults.h"
#include "api/pod.h"
#include "apiserver/admission.h"
#include "apiserver/read.h"
#include "apiserver/server.h"

#define CONDITION_SCHEDULED "PodScheduled"

static bool fail_binding(struct object_write *w, enum err code, const char *message)
{
    struct error err;

    (void)error_set(&err, code, "%s", message);
    if (code == ERR_CONFLICT) {
        struct status_info about = { .has_details = true,
                                     .name = call_copy(w->c, w->c->route.name),
                                     .kind = "pods/binding" };

        (void)error_set(&err, code, "Operation cannot be fulfilled on pods/binding \"%.*s\": %s",
                        STR_ARG(w->c->route.name), message);
        call_fail(w->c, &err, &about);
    } else {
        call_fail(w->c, &err, NULL);
    }
    return false;
}

static bool fail_no_target(struct object_write *w)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    const struct kind_info binding = { .name = "Binding", .group = "" };
    struct field_path target = path_child(NULL, "target"), name = path_child(&target, "name");

    errors_required(&errors, &name, "");
    call_fail_invalid(w->c, &binding, w->c->route.name, &errors);
    return false;
}

/* The name of the pod: from the path and the body, which must agree. */
static bool check_name(struct object_write *w, json_ref binding)
{
    struct str name = json_get_text(w->d, json_get(w->d, binding, "metadata"), "name");

    if (w->c->route.name.len == 0)
        w->c->route.name = str_of(call_copy(w->c, name));
    else if (name.len && !str_eq(name, w->c->route.name))
        return fail_binding(w, ERR_BAD_REQUEST, "name in URL does not match name in Binding object");
    return true;
}

static bool check_pod(struct object_write *w, json_ref binding)
{
    const struct pod *p = pod_of(w->old_object);
    const char *name = w->old_object->name;
    struct str uid = json_get_text(w->d, json_get(w->d, binding, "metadata"), "uid");

    if (uid.len && !str_is(uid, w->old_object->uid))
        return fail_binding(
            w, ERR_CONFLICT,
            call_text(w->c, "Precondition failed: UID in precondition: %.*s, UID in object meta: %s",
                      STR_ARG(uid), w->old_object->uid));
    if (w->old_object->is_deleting)
        return fail_binding(w, ERR_CONFLICT,
                            call_text(w->c, "pod %s is being deleted, cannot be assigned to a host", name));
    if (p->node_name[0])
        return fail_binding(w, ERR_CONFLICT,
                            call_text(w->c, "pod %s is already assigned to node \"%s\"", name, p->node_name));
    if (json_count(w->d, json_path(w->d, w->old, "spec", "schedulingGates")) > 0)
        return fail_binding(w, ERR_CONFLICT,
                            call_text(w->c, "pod %s has non-empty .spec.schedulingGates", name));
    return true;
}

static void set_scheduled(struct object_write *w)
{
    json_ref status = json_ensure_object(w->d, w->object, "status");
    json_ref list = json_get(w->d, status, "conditions"), condition = json_new_object(w->d);

    if (!list) {
        list = json_new_array(w->d);
        json_set(w->d, status, "conditions", list);
    }
    for (json_ref m = json_first(w->d, list); m; m = json_next(w->d, m)) {
        if (json_is_string(w->d, json_get(w->d, m, "type"), CONDITION_SCHEDULED)) {
            json_unlink(w->d, m);
            break;
        }
    }
    json_set_string(w->d, condition, "type", CONDITION_SCHEDULED);
    json_set_string(w->d, condition, "status", "True");
    set_time(w->d, condition, "lastTransitionTime", apiserver_now(w->c->server));
    json_append(w->d, list, condition);
}

static void merge_annotations(struct object_write *w, json_ref binding)
{
    json_ref from = json_path(w->d, binding, "metadata", "annotations");
    json_ref meta = json_ensure_object(w->d, w->object, "metadata");

    for (json_ref m = json_first(w->d, from); m; m = json_next(w->d, m))
        json_set_key(w->d, json_ensure_object(w->d, meta, "annotations"), json_key(w->d, m),
                     json_copy(w->d, m));
}

void bind_pod(struct call *c)
{
    struct object_write *w;
    struct body b;
    struct str node;
    struct error err;

    c->route.resource = resource_of_kind(KIND_POD);
    w = write_begin(c, "CreateOptions");
    if (!w || !body_read(c, "Binding", false, w->d, &b) || !check_name(w, b.root))
        return;
    node = json_get_text(w->d, json_get(w->d, b.root, "target"), "name");
    if (node.len == 0) {
        (void)fail_no_target(w);
        return;
    }
    if (!write_load_old(w))
        return;
    if (!w->old_object) {
        read_fail_not_found(c);
        return;
    }
    if (!admit_sub(c, w->old_object, w->d, b.root) || !check_pod(w, b.root))
        return;
    w->object = json_copy(w->d, w->old);
    json_set(w->d, json_ensure_object(w->d, w->object, "spec"), "nodeName", json_new_string(w->d, node));
    merge_annotations(w, b.root);
    set_scheduled(w);
    if (schema_normalize(w->kind->schema, w->d, w->object, SCHEMA_KEEP_UNKNOWN, NULL, &err) < 0) {
        call_fail(c, &err, NULL);
        return;
    }
    w->status = 201;
    w->answers_success = true;
    write_commit(w, false);
}
