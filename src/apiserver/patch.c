/* PATCH of an object or a subresource: JSON patch, merge patch, strategic merge patch, and server-side apply.
 * A patch is applied to a copy of the newest state, which includes writes in flight. */
#include "apiserver/object_write.h"

#include "api/apply.h"
#include "api/managed_fields.h"
#include "api/patch.h"
#include "api/yaml.h"
#include "apiserver/admission.h"
#include "apiserver/negotiate.h"
#include "apiserver/read.h"
#include "apiserver/server.h"

enum patch_media {
    PATCH_MEDIA_JSON,
    PATCH_MEDIA_MERGE,
    PATCH_MEDIA_STRATEGIC,
    PATCH_MEDIA_APPLY,
    PATCH_MEDIA_COUNT
};

static const char *const media_names[PATCH_MEDIA_COUNT] = {
    [PATCH_MEDIA_JSON] = "application/json-patch+json",
    [PATCH_MEDIA_MERGE] = "application/merge-patch+json",
    [PATCH_MEDIA_STRATEGIC] = "application/strategic-merge-patch+json",
    [PATCH_MEDIA_APPLY] = "application/apply-patch+yaml",
};

#define MEDIA_CUSTOM "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
#define MEDIA_BUILT_IN                                                                                    \
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, " \
    "application/apply-patch+yaml"

/* PATCH_MEDIA_COUNT when the kind does not accept it. */
static enum patch_media media_of(const struct call *c, const struct kind_info *k)
{
    struct str header = call_header(c, "Content-Type");
    struct media_type m;

    if (header.len == 0 || !media_type_next(&header, &m))
        return PATCH_MEDIA_COUNT;
    for (int i = 0; i < PATCH_MEDIA_COUNT; i++) {
        if (str_is(m.type, media_names[i]) && !(i == PATCH_MEDIA_STRATEGIC && (k->flags & KIND_IS_CUSTOM)))
            return (enum patch_media)i;
    }
    return PATCH_MEDIA_COUNT;
}

/* 422 about the patch, not about a kind: ` "" is invalid: patch: Invalid value: "…": why`. */
static bool fail_patched(struct object_write *w, struct str shown, const char *why)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    const struct kind_info nothing = { .name = "", .group = "" };
    struct field_path at = path_child(NULL, "patch");

    errors_invalid(&errors, &at, show_text(&errors, shown), why);
    call_fail_invalid(w->c, &nothing, STR_LIT(""), &errors);
    return false;
}

static bool fail_patch(struct object_write *w, const struct error *err)
{
    if (err->code == ERR_INVALID)
        return call_refuse(w->c, 422, "Invalid", true,
                           "the server rejected our request due to an error in our request");
    call_fail(w->c, err, NULL);
    return false;
}

static bool parse_patch(struct object_write *w, json_ref *ret)
{
    struct error err;

    if (json_parse(w->d, w->c->body, ret, &err) == 0)
        return true;
    return call_refuse(w->c, 400, "BadRequest", false, call_text(w->c, "error decoding patch: %s", err.msg));
}

/* Applies a parsed patch to a copy of the stored object. */
static int apply_read(struct object_write *w, enum patch_media media, json_ref patch, json_ref *ret,
                      struct error *err)
{
    /* Parts that the patch does not touch need not be validated again. A JSON patch may move any part of the
     * object any number of times, and each move of canonical parts has a cost: there the copy is not
     * canonical. */
    *ret = w->old_object->is_vetted && media != PATCH_MEDIA_JSON ? json_copy_canonical(w->d, w->old)
                                                                 : json_copy(w->d, w->old);
    if (media == PATCH_MEDIA_JSON)
        return patch_json(w->d, *ret, patch, err);
    if (media == PATCH_MEDIA_MERGE)
        return patch_merge(w->d, *ret, patch, err);
    return patch_strategic(w->kind->schema, w->d, *ret, patch, err);
}

/* The value in errors: for a strategic patch the patch as Go prints it, for an applied configuration the
 * configuration, otherwise the result of the patch. All of it is computed again, since few patches fail. */
static void show_patch(struct object_write *w, enum patch_media media, struct buf *out)
{
    struct error ignored;
    json_ref patch, shown;

    if (media == PATCH_MEDIA_APPLY) {
        if (yaml_or_json_parse(w->d, w->c->body, &patch, &ignored) == 0)
            json_write(w->d, patch, out);
        return;
    }
    if (json_parse(w->d, w->c->body, &patch, &ignored) < 0)
        return;
    if (media == PATCH_MEDIA_STRATEGIC)
        patch_write_go(w->d, patch, out);
    else if (apply_read(w, media, patch, &shown, &ignored) == 0)
        json_write(w->d, shown, out);
}

static bool fail_decoding(struct object_write *w, enum patch_media media, const char *why)
{
    _cleanup_(buf_done_p) struct buf shown = BUF_INIT((size_t)4 << 20);

    show_patch(w, media, &shown);
    return fail_patched(w, buf_str(&shown), why);
}

/* The stored form with unknown fields reported, as the patch left it. */
static bool decode_patched(struct object_write *w, enum patch_media media)
{
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    _cleanup_(buf_done_p) struct buf why = BUF_INIT((size_t)1 << 20);
    struct error err;
    int r;

    if (media == PATCH_MEDIA_APPLY) {
        r = schema_normalize_applied(w->kind->schema, w->d, w->object, SCHEMA_DROP_UNKNOWN, &report, &err);
    } else {
        managed_fields_keep_reset(w->d, w->object);
        r = schema_normalize(w->kind->schema, w->d, w->object, SCHEMA_DROP_UNKNOWN, &report, &err);
    }
    if (r < 0)
        return fail_decoding(w, media, err.msg);
    if (report.count && w->options.validation == VALIDATION_STRICT) {
        buf_add_cstr(&why, "strict decoding error: ");
        field_report_join(&report, &why);
        return fail_decoding(w, media, buf_cstr(&why));
    }
    for (const char *line = field_report_next(&report, NULL);
         line && w->options.validation == VALIDATION_WARN; line = field_report_next(&report, line))
        call_warn(w->c, str_of(line));
    return true;
}

static bool fail_undecodable(struct object_write *w, json_ref v, const char *wanted)
{
    return call_refuse(w->c, 400, "BadRequest", false,
                       call_text(w->c, "error decoding patch: json: cannot unmarshal %s into Go %s",
                                 json_type_name(json_type(w->d, v)), wanted));
}

static bool check_is_map(struct object_write *w, json_ref patch)
{
    return json_type(w->d, patch) == JSON_OBJECT ||
           fail_undecodable(w, patch, "value of type map[string]interface {}");
}

static bool check_operation(struct object_write *w, json_ref operation)
{
    for (json_ref m = json_first(w->d, operation); m; m = json_next(w->d, m)) {
        struct str key = json_key(w->d, m);
        enum json_type type = json_type(w->d, m);
        if (type != JSON_STRING && type != JSON_NULL &&
            (str_is(key, "op") || str_is(key, "path") || str_is(key, "from")))
            return fail_undecodable(
                w, m, call_text(w->c, "struct field jsonPatchOp.%.*s of type string", STR_ARG(key)));
    }
    return true;
}

/* The members of operations have types, which are not checked without field validation. */
static bool check_operations(struct object_write *w, json_ref patch)
{
    enum json_type type = json_type(w->d, patch);

    if (w->options.validation == VALIDATION_IGNORE)
        return true;
    if (type != JSON_ARRAY && type != JSON_NULL)
        return fail_undecodable(w, patch, "value of type []handlers.jsonPatchOp");
    for (json_ref v = json_first(w->d, patch); v; v = json_next(w->d, v)) {
        type = json_type(w->d, v);
        if (type != JSON_OBJECT && type != JSON_NULL)
            return fail_undecodable(w, v, "value of type handlers.jsonPatchOp");
        if (!check_operation(w, v))
            return false;
    }
    return true;
}

/* Applies one of the three patches to the stored object. */
static bool apply_patch(struct object_write *w, enum patch_media media)
{
    struct error err;
    json_ref patch;
    int r;

    if (!parse_patch(w, &patch))
        return false;
    if (!(media == PATCH_MEDIA_JSON ? check_operations(w, patch) : check_is_map(w, patch)))
        return false;
    r = apply_read(w, media, patch, &w->object, &err);
    if (r < 0)
        return fail_patch(w, &err);
    if (json_type(w->d, w->object) != JSON_OBJECT)
        return fail_patch(w, &(struct error){ .code = ERR_INVALID });
    return decode_patched(w, media);
}

static bool check_kind_kept(struct object_write *w, enum patch_media media)
{
    static const char why[] = "a patch may not change kind or apiVersion";

    if (json_equal(w->d, json_get(w->d, w->object, "kind"), json_get(w->d, w->old, "kind")) &&
        json_equal(w->d, json_get(w->d, w->object, "apiVersion"), json_get(w->d, w->old, "apiVersion")))
        return true;
    if (media == PATCH_MEDIA_STRATEGIC)
        return call_refuse(w->c, 400, "BadRequest", false, why);
    return fail_decoding(w, media, why);
}

static void patch_stored(struct object_write *w, enum patch_media media)
{
    if (!write_load_old(w))
        return;
    if (!w->old_object) {
        read_fail_not_found(w->c);
        return;
    }
    if (admit_target(w) && apply_patch(w, media) && check_kind_kept(w, media) && write_check_names(w) &&
        write_check_preconditions(w))
        write_finish_update(w);
}

/* --- Server-side apply --- */

static bool fail_options(struct object_write *w, bool is_required)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    struct field_path manager = path_child(NULL, "fieldManager"), force = path_child(NULL, "force");

    if (is_required)
        errors_required(&errors, &manager, "is required for apply patch");
    else
        errors_forbidden(&errors, &force, "may not be specified for non-apply patch");
    call_fail_options(w->c, "PatchOptions", &errors);
    return false;
}

static bool parse_applied(struct object_write *w, json_ref *ret)
{
    struct error err;

    if (yaml_or_json_parse(w->d, w->c->body, ret, &err) < 0)
        return call_refuse(w->c, 400, "BadRequest", false,
                           call_text(w->c, "error decoding YAML: %s", err.msg));
    if (json_type(w->d, *ret) != JSON_OBJECT)
        return call_refuse(w->c, 400, "BadRequest", false,
                           "error decoding YAML: the applied configuration is not an object");
    if (json_get(w->d, json_get(w->d, *ret, "metadata"), "managedFields"))
        return call_refuse(w->c, 400, "BadRequest", false, "metadata.managedFields must be nil");
    return true;
}

/* Regardless of fieldValidation: a field that does not exist cannot have an owner. */
static bool check_declared(struct object_write *w, json_ref applied)
{
    _cleanup_(buf_done_p) struct buf problems = BUF_INIT((size_t)64 << 10);
    json_ref meta = json_get(w->d, applied, "metadata");
    struct str ns = json_get_text(w->d, meta, "namespace"), name = json_get_text(w->d, meta, "name");

    if (apply_find_undeclared(w->kind->schema, w->d, applied, &problems) == 0)
        return true;
    return call_refuse(w->c, 500, NULL, false,
                       call_text(w->c, "failed to create typed patch object (%.*s/%.*s; %s/%s, Kind=%s): %s",
                                 STR_ARG(ns), STR_ARG(name), w->kind->group, w->kind->version, w->kind->name,
                                 buf_cstr(&problems)));
}

/* The applied configuration as a partial object of the kind. */
static bool decode_applied(struct object_write *w, json_ref applied)
{
    _cleanup_(buf_done_p) struct buf api_version = BUF_INIT(256);

    kind_api_version(w->kind, &api_version);
    if (!json_is_string(w->d, json_get(w->d, applied, "kind"), w->kind->name) ||
        !json_is_string(w->d, json_get(w->d, applied, "apiVersion"), buf_cstr(&api_version)))
        return call_refuse(
            w->c, 400, "BadRequest", false,
            call_text(w->c, "the applied configuration must have the apiVersion and kind of the object (%s)",
                      w->kind->name));
    w->object = applied;
    return check_declared(w, applied) && decode_patched(w, PATCH_MEDIA_APPLY) && write_check_names(w);
}

static void fail_conflicts(struct object_write *w, const struct apply_conflicts *conflicts)
{
    struct status_info s = { .code = 409, .reason = "Conflict", .has_details = true };

    s.message = buf_cstr(&conflicts->message);
    s.causes = conflicts->causes.items;
    s.causes_count = (uint32_t)conflicts->causes.count;
    call_fail_status(w->c, &s);
}

static void patch_apply(struct object_write *w)
{
    struct managed_write m = { .kind = w->kind,
                               .manager = w->options.manager,
                               .now = apiserver_now(w->c->server) };
    _cleanup_(apply_conflicts_done_p) struct apply_conflicts conflicts = APPLY_CONFLICTS_INIT;
    struct error err;
    json_ref applied;
    int r;

    m.subresource = w->part == WRITE_STATUS ? STR_LIT("status") : STR_LIT("");
    w->is_apply = true;
    if (!parse_applied(w, &applied) || !decode_applied(w, applied) || !write_load_old(w))
        return;
    if (!w->old_object && w->c->route.sub) {
        read_fail_not_found(w->c);
        return;
    }
    if (!admit_target(w))
        return;
    r = apply_merge(w->d, w->old, applied, w->options.is_forced, &m, &w->object, &conflicts, &err);
    if (r == -ERR_CONFLICT)
        fail_conflicts(w, &conflicts);
    else if (r < 0)
        call_fail(w->c, &err, NULL);
    else if (!w->old_object)
        write_finish_create(w);
    else if (write_check_preconditions(w))
        write_finish_update(w);
}

void write_patch(struct call *c)
{
    struct object_write *w = write_begin(c, "PatchOptions");
    enum patch_media media;

    if (!w)
        return;
    w->is_patch = true;
    media = media_of(c, w->kind);
    if (media == PATCH_MEDIA_COUNT) {
        body_fail_media(c, w->kind->flags & KIND_IS_CUSTOM ? MEDIA_CUSTOM : MEDIA_BUILT_IN);
    } else if (c->body_is_too_large) {
        (void)call_refuse(c, 413, "RequestEntityTooLarge", false,
                          call_text(c, "Request entity too large: limit is %zu", CALL_BODY_BYTES_MAX));
    } else if (media != PATCH_MEDIA_APPLY && w->options.is_forced) {
        (void)fail_options(w, false);
    } else if (media == PATCH_MEDIA_APPLY && params_get(&c->params, "fieldManager").len == 0) {
        (void)fail_options(w, true);
    } else if (media == PATCH_MEDIA_APPLY) {
        patch_apply(w);
    } else {
        patch_stored(w, media);
    }
}
