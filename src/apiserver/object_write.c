/* The common part of all writes: options, names, metadata, field ownership, admission, validation and commit.
 *
 * All steps before the commit run in one callback on the newest state including writes in flight. A commit
 * that takes longer than WRITE_DEADLINE_NS is answered with a timeout and still completes. */
#include "apiserver/object_write.h"

#include <stdlib.h>
#include <string.h>

#include "api/defaults.h"
#include "api/event.h"
#include "api/managed_fields.h"
#include "api/namespace.h"
#include "api/quote.h"
#include "api/uid.h"
#include "apiserver/admission.h"
#include "apiserver/render.h"
#include "apiserver/server.h"
#include "base/map.h"

/* The kind under which objects of this kind are stored: events of both groups are one kind. */
static const struct kind_info *stored_form(const struct kind_info *k)
{
    return k->kind == KIND_EVENT_V1 ? kind_info(KIND_EVENT) : k;
}

/* False for a name that is too long for any object. */
static bool copy_name(char to[NAME_BYTES_MAX], struct str name)
{
    if (name.len >= NAME_BYTES_MAX)
        return false;
    if (name.len)
        memcpy(to, name.s, name.len);
    to[name.len] = '\0';
    return true;
}

const struct object *write_newest(const struct call *c, const struct kind_info *k)
{
    char ns[NAME_BYTES_MAX], name[NAME_BYTES_MAX];

    if (!copy_name(ns, c->route.ns) || !copy_name(name, c->route.name))
        return NULL;
    return store_get_newest(c->server->store, stored_form(k)->kind, ns, name);
}

void write_fail_conflict(struct call *c)
{
    struct error err;
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(512);

    kind_resource(c->route.resource->info, &resource);
    (void)error_set(
        &err, ERR_CONFLICT,
        "Operation cannot be fulfilled on %s \"%.*s\": the object has been modified; please apply "
        "your changes to the latest version and try again",
        buf_cstr(&resource), STR_ARG(c->route.name));
    call_fail_resource(c, &err, c->route.name);
}

/* --- Options --- */

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.s[i] < ' ' || s.s[i] == 0x7f)
            return false;
    }
    return str_is_utf8(s);
}

/* The field manager of a client that names none: its program, from User-Agent. */
static struct str manager_of_agent(struct call *c)
{
    _cleanup_(buf_done_p) struct buf manager = BUF_INIT((size_t)2 * MANAGER_BYTES_MAX);

    manager_of_user_agent(call_header(c, "User-Agent"), &manager);
    return str_of(call_copy(c, buf_str(&manager)));
}

static void check_manager(struct str manager, struct field_errors *errors)
{
    struct field_path at = path_child(NULL, "fieldManager");

    if (manager.len > MANAGER_BYTES_MAX)
        errors_too_long(errors, &at, "may not be more than 128 bytes");
    if (!is_printable(manager))
        errors_invalid(errors, &at, show_text(errors, manager), "should only contain printable characters");
}

static enum field_validation read_validation(const struct call *c, struct field_errors *errors)
{
    static const char *const names[] = { "", "Ignore", "Strict", "Warn", NULL };
    struct field_path at = path_child(NULL, "fieldValidation");
    struct str asked = params_get(&c->params, "fieldValidation");

    if (asked.len == 0 || str_is(asked, "Warn"))
        return VALIDATION_WARN;
    if (str_is(asked, "Strict"))
        return VALIDATION_STRICT;
    if (!str_is(asked, "Ignore"))
        errors_not_supported(errors, &at, show_text(errors, asked), names);
    return VALIDATION_IGNORE;
}

static bool read_dry_run(const struct call *c, struct field_errors *errors)
{
    static const char *const names[] = { "All", NULL };
    struct field_path at = path_child(NULL, "dryRun");
    struct str asked = params_get(&c->params, "dryRun");

    if (asked.len && !str_is(asked, "All"))
        errors_not_supported(errors, &at, show_text(errors, asked), names);
    return asked.len > 0;
}

static bool read_options(struct object_write *w, const char *options)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    struct object_write_options *o = &w->options;
    struct str manager = params_get(&w->c->params, "fieldManager");

    o->is_dry_run = read_dry_run(w->c, &errors);
    check_manager(manager, &errors);
    o->validation = read_validation(w->c, &errors);
    o->manager = manager.len ? manager : manager_of_agent(w->c);
    o->is_forced = params_bool(&w->c->params, "force");
    if (errors.count == 0)
        return true;
    call_fail_options(w->c, options, &errors);
    return false;
}

struct object_write *write_begin(struct call *c, const char *options)
{
    struct object_write *w = arena_alloc(&c->arena, sizeof *w);
    struct error err;

    if (!w) {
        (void)error_no_memory(&err);
        call_fail(c, &err, NULL);
        return NULL;
    }
    *w =
        (struct object_write){ .c = c, .kind = c->route.resource->info, .d = &c->server->doc, .status = 200 };
    w->part = c->route.sub && c->route.sub->id == SUB_STATUS ? WRITE_STATUS : WRITE_MAIN;
    w->is_finalize = c->route.sub && c->route.sub->id == SUB_FINALIZE;
    json_clear(w->d);
    return read_options(w, options) ? w : NULL;
}

bool write_load_old(struct object_write *w)
{
    struct error err;
    int r;

    w->old_object = write_newest(w->c, w->kind);
    if (!w->old_object)
        return true;
    r = json_parse(w->d, w->old_object->text, &w->old, &err);
    if (r == 0 && w->kind->kind == KIND_EVENT_V1)
        r = event_to_v1(w->d, w->old, &err);
    if (r < 0) {
        (void)error_wrap(&err, "cannot read stored object");
        err.code = ERR_INTERNAL;
        call_fail(w->c, &err, NULL);
        return false;
    }
    return true;
}

/* --- Metadata --- */

static bool fail_names(struct object_write *w, const char *message)
{
    return call_refuse(w->c, 400, "BadRequest", false, message);
}

static bool check_name(struct object_write *w, json_ref meta)
{
    struct str asked = w->c->route.name, name = json_get_text(w->d, meta, "name");

    if (asked.len == 0) /* a collection: the name is in the object */
        return true;
    if (name.len == 0)
        return fail_names(
            w, call_text(w->c,
                         "the name of the object (%.*s based on URL) was undeterminable: name must be "
                         "provided",
                         STR_ARG(asked)));
    if (!str_eq(name, asked))
        return fail_names(
            w, call_text(w->c, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                         STR_ARG(name), STR_ARG(asked)));
    return true;
}

bool write_check_names(struct object_write *w)
{
    json_ref meta = json_ensure_object(w->d, w->object, "metadata");
    struct str ns = json_get_text(w->d, meta, "namespace"), asked = w->c->route.ns;

    if (!check_name(w, meta))
        return false;
    if (!w->kind->is_namespaced)
        (void)json_remove(w->d, meta, "namespace");
    else if (ns.len == 0)
        json_set(w->d, meta, "namespace", json_new_string(w->d, asked));
    else if (!str_eq(ns, asked))
        return fail_names(
            w, "the namespace of the provided object does not match the namespace sent on the request");
    return true;
}

/* Removes duplicate owners. The list is untrusted and may be long: each owner is looked up once and moved
 * from the front, so this costs no more than parsing it. */
static void drop_duplicate_owners(struct object_write *w, json_ref meta)
{
    struct rng *rng = &w->c->server->rng;
    json_ref owners = json_get(w->d, meta, "ownerReferences"), kept, o;
    _cleanup_(buf_done_p) struct buf duplicates = BUF_INIT(4096);
    struct map seen;

    if (json_count(w->d, owners) < 2)
        return;
    map_init(&seen, (struct hash_seed){ rng_u64(rng), rng_u64(rng) });
    kept = json_new_array(w->d);
    while ((o = json_first(w->d, owners))) {
        struct str uid = json_get_text(w->d, o, "uid");

        json_unlink(w->d, o);
        if (map_get(&seen, uid)) {
            buf_addf(&duplicates, "%s%.*s", duplicates.len ? ", " : "", STR_ARG(uid));
            continue;
        }
        (void)map_put(&seen, uid, w, NULL); /* without memory a duplicate stays */
        json_append(w->d, kept, o);
    }
    json_set(w->d, meta, "ownerReferences", kept);
    map_done(&seen);
    if (duplicates.len)
        call_warn(w->c, str_of(call_text(
                            w->c,
                            ".metadata.ownerReferences contains duplicate entries; API server dedups "
                            "owner references in 1.20+, and may reject such requests as early as 1.24; "
                            "please fix your requests; duplicate UID(s) observed: %s",
                            buf_cstr(&duplicates))));
}

/* Sets the metadata that only the server sets on a new object, with a placeholder for the resourceVersion. */
static void fill_in_new(struct object_write *w, json_ref meta)
{
    uint8_t random[UID_RANDOM_BYTES];
    char uid[UID_BYTES], name[GENERATED_NAME_BYTES];
    struct str prefix = json_get_text(w->d, meta, "generateName");

    rng_bytes(&w->c->server->rng, random, sizeof random);
    uid_make(random, uid);
    json_set_string(w->d, meta, "uid", uid);
    set_time(w->d, meta, "creationTimestamp", apiserver_now(w->c->server));
    json_set_string(w->d, meta, "resourceVersion", "0");
    (void)json_remove(w->d, meta, "generation");
    (void)json_remove(w->d, meta, "deletionTimestamp");
    (void)json_remove(w->d, meta, "deletionGracePeriodSeconds");
    if (prefix.len && json_get_text(w->d, meta, "name").len == 0) {
        generate_name(prefix, rng_u64(&w->c->server->rng), name);
        json_set_string(w->d, meta, "name", name);
    }
}

/* Restores fields that an update cannot change. */
static void carry_over(struct object_write *w)
{
    static const char *const kept[] = { "name",
                                        "generateName",
                                        "namespace",
                                        "generation",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds" };
    json_ref meta = json_ensure_object(w->d, w->object, "metadata"), old = json_get(w->d, w->old, "metadata");

    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        prepare_keep(w->d, meta, old, kept[i]);
    if (json_get_text(w->d, meta, "uid").len == 0)
        prepare_keep(w->d, meta, old, "uid");
    prepare_keep(w->d, meta, old, "resourceVersion");
}

/* --- Steps before the commit --- */

static bool own_fields(struct object_write *w)
{
    struct managed_write m = { .kind = w->kind,
                               .manager = w->options.manager,
                               .now = apiserver_now(w->c->server) };
    struct error err;

    if (w->is_apply)
        return true; /* the merge has updated them */
    m.subresource = w->part == WRITE_STATUS ? STR_LIT("status") : STR_LIT("");
    if (managed_fields_update(w->d, w->object, w->old, &m, &err) == 0)
        return true;
    call_fail(w->c, &err, NULL);
    return false;
}

bool write_normalize(struct object_write *w)
{
    struct error err;

    if (schema_normalize(w->kind->schema, w->d, w->object, SCHEMA_KEEP_UNKNOWN, NULL, &err) == 0 &&
        json_check(w->d, &err) == 0) {
        w->is_vetted = schema_is_normalized(w->d, w->object) && stored_form(w->kind) == w->kind;
        return true;
    }
    call_fail(w->c, &err, NULL);
    return false;
}

static void prepare_object(struct object_write *w)
{
    struct timestamp now = apiserver_now(w->c->server);
    json_ref meta, managed;

    if (!w->old) {
        w->kind->prepare_create(w->d, w->object, now);
        return;
    }
    managed = json_path(w->d, w->object, "metadata", "managedFields");
    if (w->is_finalize)
        namespace_prepare_finalize(w->d, w->object, w->old);
    else
        w->kind->prepare_update(w->d, w->object, w->old, w->part, now);
    /* Some kinds keep the old metadata on status writes; managedFields are not part of that. */
    meta = json_ensure_object(w->d, w->object, "metadata");
    if (managed && managed != json_get(w->d, meta, "managedFields"))
        json_set(w->d, meta, "managedFields", json_copy(w->d, managed));
    else if (!managed)
        (void)json_remove(w->d, meta, "managedFields");
}

static bool validate_object(struct object_write *w)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    struct validation v = {
        .kind = w->kind, .d = w->d, .object = w->object, .old = w->old, .part = w->part, .errors = &errors
    };

    object_validate(&v);
    if (errors.count == 0)
        return true;
    call_fail_invalid(w->c, w->kind, json_get_text(w->d, json_get(w->d, w->object, "metadata"), "name"),
                      &errors);
    return false;
}

static void warn_writer(struct object_write *w)
{
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;

    if (!w->kind->warn)
        return;
    w->kind->warn(w->d, w->object, w->old, &report);
    for (const char *line = field_report_next(&report, NULL); line; line = field_report_next(&report, line))
        call_warn(w->c, str_of(line));
}

static bool refuse_version(struct object_write *w, struct str version)
{
    if (version.len == 0)
        return true;
    return call_refuse(w->c, 500, NULL, false, "resourceVersion should not be set on objects to be created");
}

static bool fail_exists(struct object_write *w, const struct object *existing, struct str name,
                        bool is_generated)
{
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(512);
    struct status_info about = { .has_details = true,
                                 .name = call_copy(w->c, name),
                                 .group = w->kind->group,
                                 .kind = w->kind->plural,
                                 .retry_after_seconds = is_generated ? 1 : 0 };
    struct error err;
    char quoted[600];

    kind_resource(w->kind, &resource);
    (void)error_set(&err, ERR_EXISTS, "%s%s %s already exists%s",
                    existing->is_deleting ? "object is being deleted: " : "", buf_cstr(&resource),
                    quote_text(quoted, sizeof quoted, name),
                    is_generated ? ", the server was not able to generate a unique name for the object" : "");
    call_fail(w->c, &err, &about);
    return false;
}

/* No object may have the name; for a generated name a few others are tried. */
static bool find_free_name(struct object_write *w, bool is_generated)
{
    json_ref meta = json_get(w->d, w->object, "metadata");
    struct str prefix = json_get_text(w->d, meta, "generateName");
    char name[GENERATED_NAME_BYTES];

    for (int tries = 0;; tries++) {
        const struct object *existing;

        w->c->route.name = json_get_text(w->d, meta, "name");
        existing = write_newest(w->c, w->kind);
        if (!existing)
            return true;
        if (!is_generated || tries == 7)
            return fail_exists(w, existing, w->c->route.name, is_generated);
        generate_name(prefix, rng_u64(&w->c->server->rng), name);
        json_set_string(w->d, meta, "name", name);
    }
}

void write_finish_create(struct object_write *w)
{
    json_ref meta = json_ensure_object(w->d, w->object, "metadata");
    struct str version = json_get_text(w->d, meta, "resourceVersion");
    bool is_generated = json_get_text(w->d, meta, "name").len == 0;

    w->status = 201;
    drop_duplicate_owners(w, meta);
    w->kind->set_defaults(w->d, w->object);
    if (!own_fields(w) || !admit_create(w))
        return;
    fill_in_new(w, meta);
    prepare_object(w);
    if (!write_normalize(w) || !validate_object(w) || !refuse_version(w, version) ||
        !find_free_name(w, is_generated))
        return;
    warn_writer(w);
    write_commit(w, false);
}

/* Whether this update removes the last finalizer of an object that is being deleted. */
static bool removes_last_finalizer(const struct object_write *w)
{
    json_ref meta = json_get(w->d, w->object, "metadata");
    int64_t grace = 0;

    if (!w->old_object->is_deleting || json_count(w->d, json_get(w->d, meta, "finalizers")) > 0)
        return false;
    if (w->kind->kind == KIND_NAMESPACE &&
        json_count(w->d, json_path(w->d, w->object, "spec", "finalizers")) > 0)
        return false;
    (void)json_int64(w->d, json_get(w->d, meta, "deletionGracePeriodSeconds"), &grace);
    return grace == 0;
}

void write_finish_update(struct object_write *w)
{
    drop_duplicate_owners(w, json_ensure_object(w->d, w->object, "metadata"));
    w->kind->set_defaults(w->d, w->object);
    carry_over(w);
    if (!own_fields(w) || !admit_update(w))
        return;
    prepare_object(w);
    if (!write_normalize(w) || !validate_object(w) || !admit_valid_update(w))
        return;
    warn_writer(w);
    write_commit(w, removes_last_finalizer(w));
}

/* --- Commit --- */

/* A write whose commit is in flight. It outlives its call if that takes too long. */
struct commit {
    struct call *c; /* NULL after the client was answered with a timeout */
    const struct kind_info *kind;
    struct object *object;
    int status;
    bool answers_success;
    struct store_write store;
    struct timer deadline;
};

static void answer_success(struct call *c, int status, const struct kind_info *k, const struct object *o)
{
    struct status_info s = { .is_success = true,
                             .has_details = true,
                             .name = o->name,
                             .group = k->group,
                             .kind = k->plural,
                             .uid = o->uid };

    if (status == 201) /* created something that is not an object: a binding, an eviction */
        s = (struct status_info){ .is_success = true, .code = 201 };
    status_write(&s, &c->reply);
    call_answer_json_reply(c, status);
}

static void answer_written(const struct commit *m)
{
    struct call *c = m->c;

    if (m->answers_success)
        answer_success(c, m->status, m->kind, m->object);
    else
        call_answer_written(c, m->status, m->object);
}

static void commit_done(void *ctx, int r, const struct error *err)
{
    struct commit *m = ctx;

    timer_disarm(&m->deadline);
    if (m->c && r < 0)
        call_fail(m->c, err, NULL);
    else if (m->c)
        answer_written(m);
    (void)object_unref(m->object);
    free(m);
}

static void commit_is_late(void *ctx)
{
    struct commit *m = ctx;
    struct error err;

    (void)error_set(&err, ERR_TIMEOUT,
                    "request did not complete within requested timeout - context deadline exceeded");
    call_fail(TAKE(m->c), &err, NULL);
}

static void submit_commit(struct object_write *w, struct object *taken, bool is_delete)
{
    struct apiserver *s = w->c->server;
    struct commit *m = calloc(1, sizeof *m);
    struct error err;

    if (!m) {
        (void)object_unref(taken);
        (void)error_no_memory(&err);
        call_fail(w->c, &err, NULL);
        return;
    }
    *m = (struct commit){ .c = w->c,
                          .kind = w->kind,
                          .object = taken,
                          .status = w->status,
                          .answers_success = w->answers_success };
    timer_init(&m->deadline, s->loop, commit_is_late, m);
    timer_arm_after(&m->deadline, WRITE_DEADLINE_NS);
    store_submit(s->store, &m->store, taken, is_delete, commit_done, m);
}

static int make_object(struct object_write *w, struct object **ret, struct error *err)
{
    _cleanup_(object_unref_p) struct object *o = NULL;
    int r = json_check(w->d, err);

    if (r == 0)
        r = object_new(stored_form(w->kind), w->d, w->object, &o, err);
    if (r == 0)
        o->is_vetted = w->is_vetted;
    if (r == 0 && o->text.len > STORED_OBJECT_BYTES_MAX)
        r = error_set(err, ERR_TOO_LARGE, "Request entity too large: limit is %zu", STORED_OBJECT_BYTES_MAX);
    if (r == 0)
        *ret = TAKE(o);
    return r;
}

static void answer_now(struct object_write *w, struct object *taken)
{
    struct commit m = { .c = w->c,
                        .kind = w->kind,
                        .object = taken,
                        .status = w->status,
                        .answers_success = w->answers_success };

    answer_written(&m);
    (void)object_unref(taken);
}

void write_commit(struct object_write *w, bool is_delete)
{
    char version[RESOURCE_VERSION_BYTES];
    struct object *o = NULL;
    struct error err;
    json_ref meta;

    if (!is_delete && w->old && json_equal(w->d, w->object, w->old)) {
        answer_now(w, object_ref(w->old_object));
        return;
    }
    /* Events of events.k8s.io are stored as core events. */
    if (stored_form(w->kind) != w->kind && event_to_core(w->d, w->object, &err) < 0) {
        call_fail(w->c, &err, NULL);
        return;
    }
    meta = json_get(w->d, w->object, "metadata");
    if (!w->options.is_dry_run) {
        resource_version_format(store_reserve(w->c->server->store), version);
        json_set_string(w->d, meta, "resourceVersion", version);
    } else if (!w->old) {
        (void)json_remove(w->d, meta, "resourceVersion");
    }
    if (make_object(w, &o, &err) < 0 || !o) /* either the object or an error is set */
        call_fail(w->c, &err, NULL);
    else if (w->options.is_dry_run)
        answer_now(w, o);
    else
        submit_commit(w, o, is_delete);
}
