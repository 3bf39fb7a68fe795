/* DELETE of one object: options, preconditions, finalizers for the propagation policy, graceful deletion of
 * pods, and removal.
 *
 * An object with finalizers is only marked; the write that removes the last finalizer removes it. */
#include "apiserver/delete.h"

#include "api/defaults.h"
#include "api/namespace.h"
#include "api/pod.h"
#include "apiserver/admission.h"
#include "apiserver/body.h"
#include "apiserver/object_write.h"
#include "apiserver/read.h"
#include "apiserver/server.h"

enum propagation { PROPAGATE_DEFAULT, PROPAGATE_ORPHAN, PROPAGATE_BACKGROUND, PROPAGATE_FOREGROUND };

#define GRACE_UNSET (-1)
#define GRACE_SECONDS_MAX INT32_MAX /* about 68 years: later times cannot be represented */

struct delete_options {
    int64_t grace_seconds; /* GRACE_UNSET, or not negative */
    struct str uid;        /* preconditions; empty for none */
    struct str version;
    enum propagation propagation;
    bool is_dry_run;
};

/* --- Options --- */

static void read_policy(struct str policy, bool has_orphan, bool orphan, struct delete_options *o,
                        struct field_errors *errors)
{
    struct field_path at = path_child(NULL, "propagationPolicy");

    if (has_orphan && policy.len)
        errors_invalid(errors, &at, show_text(errors, policy),
                       "orphanDependents and deletionPropagation cannot be both set");
    if (str_is(policy, "Orphan"))
        o->propagation = PROPAGATE_ORPHAN;
    else if (str_is(policy, "Background"))
        o->propagation = PROPAGATE_BACKGROUND;
    else if (str_is(policy, "Foreground"))
        o->propagation = PROPAGATE_FOREGROUND;
    else if (policy.len)
        errors_not_supported_text(errors, &at, show_text(errors, policy),
                                  "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    else if (has_orphan)
        o->propagation = orphan ? PROPAGATE_ORPHAN : PROPAGATE_BACKGROUND;
}

static void read_dry_run(struct str value, struct delete_options *o, struct field_errors *errors)
{
    static const char *const names[] = { "All", NULL };
    struct field_path at = path_child(NULL, "dryRun");

    if (!str_is(value, "All"))
        errors_not_supported(errors, &at, show_text(errors, value), names);
    o->is_dry_run = true;
}

/* A negative grace period means the shortest, for compatibility. */
static void set_grace(struct delete_options *o, int64_t seconds)
{
    o->grace_seconds = seconds < 0 ? 1 : seconds;
}

static int read_from_query(const struct call *c, struct delete_options *o, struct field_errors *errors,
                           struct error *err)
{
    struct str orphan_text = params_get(&c->params, "orphanDependents");
    struct str dry_run = params_get(&c->params, "dryRun");
    bool orphan = params_bool(&c->params, "orphanDependents");
    int64_t grace;
    int r = params_int(&c->params, "gracePeriodSeconds", GRACE_UNSET, &grace, err);

    if (r < 0)
        return r;
    if (params_get(&c->params, "gracePeriodSeconds").len)
        set_grace(o, grace);
    read_policy(params_get(&c->params, "propagationPolicy"), orphan_text.s != NULL, orphan, o, errors);
    if (dry_run.len)
        read_dry_run(dry_run, o, errors);
    return 0;
}

/* Other options in the body are ignored. */
static void read_from_tree(struct call *c, const struct json *d, json_ref options, struct delete_options *o,
                           struct field_errors *errors)
{
    json_ref orphan = json_get(d, options, "orphanDependents");
    json_ref preconditions = json_get(d, options, "preconditions");
    json_ref dry_run = json_get(d, options, "dryRun");
    int64_t grace;

    if (json_int64(d, json_get(d, options, "gracePeriodSeconds"), &grace))
        set_grace(o, grace);
    o->uid = str_of(call_copy(c, json_get_text(d, preconditions, "uid")));
    o->version = str_of(call_copy(c, json_get_text(d, preconditions, "resourceVersion")));
    read_policy(json_get_text(d, options, "propagationPolicy"),
                json_type(d, orphan) == JSON_TRUE || json_type(d, orphan) == JSON_FALSE,
                json_type(d, orphan) == JSON_TRUE, o, errors);
    for (json_ref m = json_first(d, dry_run); m; m = json_next(d, m))
        read_dry_run(json_text(d, m), o, errors);
}

static bool read_options(struct call *c, struct delete_options *ret)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    struct json *d = &c->server->doc;
    struct body body;
    struct error err;

    *ret = (struct delete_options){ .grace_seconds = GRACE_UNSET };
    json_clear(d);
    if (!body_read(c, "DeleteOptions", true, d, &body))
        return false;
    if (body.root) {
        read_from_tree(c, d, body.root, ret, &errors);
    } else if (read_from_query(c, ret, &errors, &err) < 0) {
        call_fail(c, &err, NULL);
        return false;
    }
    if (errors.count == 0)
        return true;
    call_fail_options(c, "DeleteOptions", &errors);
    return false;
}

bool delete_check_options(struct call *c)
{
    struct delete_options ignored;

    return read_options(c, &ignored);
}

static bool fail_precondition(struct call *c, const struct object *old, const char *what, struct str asked,
                              const char *there, const char *guess)
{
    struct status_info about = {
        .has_details = true, .name = old->name, .group = old->kind->group, .kind = old->kind->name
    };
    struct error err;

    (void)error_set(
        &err, ERR_CONFLICT,
        "Operation cannot be fulfilled on %s%s%s \"%s\": the %s in the precondition (%.*s) does not "
        "match the %s in record (%s). The object might have been %s",
        old->kind->name, old->kind->group[0] ? "." : "", old->kind->group, old->name, what, STR_ARG(asked),
        what, there, guess);
    call_fail(c, &err, &about);
    return false;
}

static bool check_preconditions(struct call *c, const struct object *old, const struct delete_options *o)
{
    const char *version = call_text(c, "%lld", (long long)old->revision);

    if (o->uid.len && !str_is(o->uid, old->uid))
        return fail_precondition(c, old, "UID", o->uid, old->uid, "deleted and then recreated");
    if (o->version.len && !str_is(o->version, version))
        return fail_precondition(c, old, "ResourceVersion", o->version, version, "modified");
    return true;
}

/* --- Effect on the object --- */

static json_ref finalizers_of(struct object_write *w)
{
    json_ref meta = json_ensure_object(w->d, w->object, "metadata");
    json_ref list = json_get(w->d, meta, "finalizers");

    if (!list) {
        list = json_new_array(w->d);
        json_set(w->d, meta, "finalizers", list);
    }
    return list;
}

/* Stores the policy as a finalizer, for the garbage collector. */
static void mark_policy(struct object_write *w, enum propagation policy)
{
    const char *wanted = policy == PROPAGATE_ORPHAN       ? FINALIZER_ORPHAN
                         : policy == PROPAGATE_FOREGROUND ? FINALIZER_FOREGROUND
                                                          : NULL;
    json_ref list = finalizers_of(w), next;
    bool is_there = false;

    if (policy == PROPAGATE_DEFAULT)
        return;
    for (json_ref m = json_first(w->d, list); m; m = next) {
        next = json_next(w->d, m);
        if (wanted && json_is_string(w->d, m, wanted))
            is_there = true;
        else if (json_is_string(w->d, m, FINALIZER_ORPHAN) || json_is_string(w->d, m, FINALIZER_FOREGROUND))
            json_unlink(w->d, m);
    }
    if (wanted && !is_there)
        json_append(w->d, list, json_new_string(w->d, str_of(wanted)));
}

/* Sets deletionTimestamp and the grace period. The generation is incremented when the deletion begins. */
static void mark_deleted(struct object_write *w, struct timestamp at, int64_t grace_seconds)
{
    json_ref meta = json_ensure_object(w->d, w->object, "metadata");
    int64_t generation = 0;

    set_time(w->d, meta, "deletionTimestamp", at);
    if (grace_seconds >= 0)
        json_set(w->d, meta, "deletionGracePeriodSeconds", json_new_int(w->d, grace_seconds));
    (void)json_int64(w->d, json_get(w->d, meta, "generation"), &generation);
    if (generation > 0 && !w->old_object->is_deleting)
        json_set(w->d, meta, "generation", json_new_int(w->d, generation + 1));
}

/* Grace period of a pod; 0 when no node runs it. */
static int64_t pod_grace(const struct object_write *w, const struct delete_options *o)
{
    const struct pod *p = pod_of(w->old_object);
    int64_t grace;

    if (!p->node_name[0] || p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
        return 0;
    grace = o->grace_seconds != GRACE_UNSET ? o->grace_seconds : p->grace_seconds;
    return grace < GRACE_SECONDS_MAX ? grace : GRACE_SECONDS_MAX;
}

static void remove_now(struct object_write *w)
{
    w->answers_success = !(w->kind->flags & KIND_DELETE_ANSWERS_OBJECT);
    write_commit(w, true);
}

/* A pod on a node must be stopped by the node first. A later deletion can only shorten the grace period.
 * Returns true when nothing more is to do now. */
static bool delete_gracefully(struct object_write *w, const struct delete_options *o)
{
    const struct object *old = w->old_object;
    int64_t grace = pod_grace(w, o);
    struct timestamp at = apiserver_now(w->c->server);

    if (old->is_deleting) {
        if (o->grace_seconds == GRACE_UNSET && old->deletion_grace_seconds > 0 && grace > 0)
            grace = old->deletion_grace_seconds;
        if (grace >= old->deletion_grace_seconds && old->deletion_grace_seconds > 0) {
            write_commit(w, false); /* nothing changes */
            return true;
        }
        at = old->deleted;
        at.seconds += grace - (old->deletion_grace_seconds > 0 ? old->deletion_grace_seconds : 0);
    } else {
        at.seconds += grace;
    }
    if (grace == 0)
        return false;
    mark_deleted(w, at, grace);
    if (write_normalize(w))
        write_commit(w, false);
    return true;
}

static void delete_namespace(struct object_write *w)
{
    const struct namespace *ns = namespace_of(w->old_object);
    json_ref status;

    if (w->old_object->is_deleting && ns->spec_finalizers.count == 0 &&
        w->old_object->finalizers.count == 0) {
        remove_now(w);
        return;
    }
    if (!w->old_object->is_deleting) {
        mark_deleted(w, apiserver_now(w->c->server), -1);
        status = json_ensure_object(w->d, w->object, "status");
        json_set_string(w->d, status, "phase", "Terminating");
    }
    if (write_normalize(w))
        write_commit(w, false);
}

static void delete_loaded(struct object_write *w, const struct delete_options *o)
{
    w->object = json_copy(w->d, w->old);
    w->options.is_dry_run = o->is_dry_run;
    if (w->kind->kind == KIND_NAMESPACE) {
        delete_namespace(w);
        return;
    }
    if (!w->old_object->is_deleting)
        mark_policy(w, o->propagation);
    if (w->kind->kind == KIND_POD && delete_gracefully(w, o))
        return;
    if (json_count(w->d, finalizers_of(w)) == 0) {
        if (write_normalize(w))
            remove_now(w);
        return;
    }
    if (!w->old_object->is_deleting || w->old_object->deletion_grace_seconds > 0)
        mark_deleted(w, apiserver_now(w->c->server), 0);
    if (write_normalize(w))
        write_commit(w, false);
}

void delete_one(struct call *c)
{
    struct delete_options o;
    struct object_write *w;

    if (!read_options(c, &o))
        return;
    w = write_begin(c, "DeleteOptions");
    if (!w || !write_load_old(w))
        return;
    if (!w->old_object) {
        read_fail_not_found(c);
        return;
    }
    if (admit_delete(c, w->old_object) && check_preconditions(c, w->old_object, &o))
        delete_loaded(w, &o);
}
