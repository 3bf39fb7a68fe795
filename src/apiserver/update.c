/* PUT of an object or a subresource: preconditions, then the common part of writes (object_write.h). */
#include "apiserver/admission.h"
#include "apiserver/object_write.h"
#include "apiserver/read.h"

#include "api/uid.h"

static void fail_uid(struct object_write *w, struct str uid)
{
    struct call *c = w->c;
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(512);
    struct error err;

    kind_resource(w->kind, &resource);
    (void)error_set(
        &err, ERR_CONFLICT,
        "Operation cannot be fulfilled on %s \"%.*s\": StorageError: invalid object, Code: 4, Key: "
        "/registry/%s/%.*s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
        "precondition: %.*s, UID in object meta: %s",
        buf_cstr(&resource), STR_ARG(c->route.name), w->kind->plural, STR_ARG(c->route.name), STR_ARG(uid),
        w->old_object->uid);
    call_fail_resource(c, &err, c->route.name);
}

static void fail_version_missing(struct object_write *w)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    struct field_path meta = path_child(NULL, "metadata"), at = path_child(&meta, "resourceVersion");
    struct kind_info named = *w->kind;

    errors_invalid(&errors, &at, "0", "must be specified for an update");
    named.name = w->kind->plural; /* the stock message has the resource here, not the kind */
    call_fail_invalid(w->c, &named, w->c->route.name, &errors);
}

/* A resourceVersion in the body is a precondition. */
static bool check_version(struct object_write *w)
{
    struct str version = json_get_text(w->d, json_get(w->d, w->object, "metadata"), "resourceVersion");
    struct error err;
    int64_t revision;

    if (version.len == 0 && (w->is_patch || (w->kind->flags & KIND_UPDATES_UNCONDITIONALLY)))
        return true;
    if (version.len == 0) {
        fail_version_missing(w);
        return false;
    }
    if (resource_version_parse(version, &revision, &err) < 0) {
        call_fail(w->c, &err, NULL);
        return false;
    }
    if (revision == 0 && (w->kind->flags & KIND_UPDATES_UNCONDITIONALLY))
        return true;
    if (revision == w->old_object->revision)
        return true;
    write_fail_conflict(w->c);
    return false;
}

bool write_check_preconditions(struct object_write *w)
{
    struct str uid = json_get_text(w->d, json_get(w->d, w->object, "metadata"), "uid");

    if (!w->is_patch && uid.len && !str_is(uid, w->old_object->uid)) {
        fail_uid(w, uid);
        return false;
    }
    return check_version(w);
}

void write_update(struct call *c)
{
    struct object_write *w = write_begin(c, "UpdateOptions");

    if (!w || !body_read_object(c, w->kind, w->options.validation, w->d, &w->object))
        return;
    if (!write_check_names(w) || !write_load_old(w))
        return;
    if (w->old_object) {
        if (admit_target(w) && write_check_preconditions(w))
            write_finish_update(w);
    } else if ((w->kind->flags & KIND_CREATES_ON_UPDATE) && !c->route.sub) {
        write_finish_create(w);
    } else {
        read_fail_not_found(c);
    }
}
