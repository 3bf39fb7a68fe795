/* Admission of writes: namespace checks, restrictions of nodes and CSI sidecars, defaults that the server
 * adds, and expansion of claims.
 *
 * All checks read the store in memory. The default class costs a walk over all classes, once per claim that
 * names none. */
#include "apiserver/admission.h"

#include "api/claim.h"
#include "api/class.h"
#include "api/namespace.h"
#include "api/storage.h"
#include "apiserver/node_restriction.h"
#include "apiserver/server.h"

#define TOLERATION_NOT_READY "node.kubernetes.io/not-ready"
#define TOLERATION_UNREACHABLE "node.kubernetes.io/unreachable"
#define TOLERATION_SECONDS 300

/* --- Nodes and CSI sidecars --- */

static bool admit_identity(struct call *c, const struct restricted_write *w)
{
    struct restricted_write checked = *w;
    struct access a;
    struct error err;

    if (c->is_trusted)
        return true;
    access_of_call(c, &a);
    checked.access = &a;
    if (node_restriction(c->user, &checked, &c->server->lookup, &err) == 0 &&
        csi_restriction(c->user, &checked, &err) == 0 &&
        csi_node_restriction(c->user, &checked, &c->server->lookup, &err) == 0)
        return true;
    call_fail_resource(c, &err, c->route.name);
    return false;
}

static bool admit_identity_write(struct object_write *w)
{
    return admit_identity(w->c, &(struct restricted_write){
                                    .kind = w->kind, .old = w->old_object, .d = w->d, .object = w->object });
}

bool admit_target(struct object_write *w)
{
    struct access a;
    struct restricted_write target = { .access = &a, .kind = w->kind, .old = w->old_object, .d = w->d };
    struct error err;

    if (w->c->is_trusted)
        return true;
    access_of_call(w->c, &a);
    if (node_restriction_target(w->c->user, &target, &err) == 0)
        return true;
    call_fail_resource(w->c, &err, w->c->route.name);
    return false;
}

bool admit_sub(struct call *c, const struct object *old, struct json *d, json_ref body)
{
    return admit_identity(
        c, &(struct restricted_write){ .kind = old->kind, .old = old, .d = d, .object = body });
}

/* --- Namespaces --- */

static bool fail_namespace_missing(struct object_write *w, const char *ns)
{
    struct status_info about = { .has_details = true, .name = ns, .kind = "namespaces" };
    struct error err;

    (void)error_set(&err, ERR_NOT_FOUND, "namespaces \"%s\" not found", ns);
    call_fail(w->c, &err, &about);
    return false;
}

static bool fail_namespace_terminating(struct object_write *w, const char *ns)
{
    const char *name = call_copy(w->c, json_get_text(w->d, json_get(w->d, w->object, "metadata"), "name"));
    struct status_cause cause = {
        .reason = "NamespaceTerminating",
        .message = call_text(w->c, "namespace %s is being terminated", ns),
        .field = "metadata.namespace",
    };
    struct status_info about = { .has_details = true,
                                 .name = name,
                                 .group = w->kind->group,
                                 .kind = w->kind->plural,
                                 .causes = &cause,
                                 .causes_count = 1 };
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(512);
    struct error err;

    kind_resource(w->kind, &resource);
    (void)error_set(
        &err, ERR_DENIED,
        "%s \"%s\" is forbidden: unable to create new content in namespace %s because it is being "
        "terminated",
        buf_cstr(&resource), name, ns);
    call_fail(w->c, &err, &about);
    return false;
}

static bool admit_namespace(struct object_write *w)
{
    const char *ns = call_copy(w->c, w->c->route.ns);
    const struct object *o;

    if (!w->kind->is_namespaced)
        return true;
    o = store_get_newest(w->c->server->store, KIND_NAMESPACE, "", ns);
    if (!o)
        return fail_namespace_missing(w, ns);
    if (o->is_deleting)
        return fail_namespace_terminating(w, ns);
    return true;
}

/* --- Defaults --- */

static void add_finalizer(struct object_write *w, const char *finalizer)
{
    json_ref meta = json_ensure_object(w->d, w->object, "metadata");
    json_ref list = json_get(w->d, meta, "finalizers");

    for (json_ref m = json_first(w->d, list); m; m = json_next(w->d, m)) {
        if (json_is_string(w->d, m, finalizer))
            return;
    }
    if (!list) {
        list = json_new_array(w->d);
        json_set(w->d, meta, "finalizers", list);
    }
    json_append(w->d, list, json_new_string(w->d, str_of(finalizer)));
}

static const struct storage_class *class_of(const struct object *o)
{
    return (const struct storage_class *)(const void *)o;
}

/* The newest of the classes annotated as default; the first by name if equally old. */
static const struct object *default_class(const struct store *s)
{
    const struct object *best = NULL, *o;
    struct store_iter it;
    struct error ignored;

    if (store_iter_begin(&it, s, KIND_CLASS, NULL, STR_LIT(""), STR_LIT(""), 0, &ignored) < 0)
        return NULL;
    while ((o = store_iter_next(&it))) {
        if (class_of(o)->is_default && (!best || timestamp_cmp(o->created, best->created) > 0))
            best = o;
    }
    store_iter_done(&it);
    return best;
}

static void set_default_class(struct object_write *w)
{
    json_ref spec = json_ensure_object(w->d, w->object, "spec");
    const struct object *class;

    if (json_get(w->d, spec, "storageClassName") ||
        json_get(w->d, json_path(w->d, w->object, "metadata", "annotations"), ANN_CLASS_BETA))
        return;
    class = default_class(w->c->server->store);
    if (class)
        json_set_string(w->d, spec, "storageClassName", class->name);
}

/* Whether a toleration covers this taint key with effect NoExecute: by key or with no key, and by effect or
 * with no effect. */
static bool has_toleration(const struct json *d, json_ref tolerations, const char *key)
{
    for (json_ref t = json_first(d, tolerations); t; t = json_next(d, t)) {
        struct str its_key = json_get_text(d, t, "key"), effect = json_get_text(d, t, "effect");

        if ((its_key.len == 0 || str_is(its_key, key)) && (effect.len == 0 || str_is(effect, "NoExecute")))
            return true;
    }
    return false;
}

static void add_toleration(struct object_write *w, const char *key)
{
    json_ref spec = json_ensure_object(w->d, w->object, "spec");
    json_ref list = json_get(w->d, spec, "tolerations"), t;

    if (has_toleration(w->d, list, key))
        return;
    if (!list) {
        list = json_new_array(w->d);
        json_set(w->d, spec, "tolerations", list);
    }
    t = json_new_object(w->d);
    json_set_string(w->d, t, "key", key);
    json_set_string(w->d, t, "operator", "Exists");
    json_set_string(w->d, t, "effect", "NoExecute");
    json_set(w->d, t, "tolerationSeconds", json_new_int(w->d, TOLERATION_SECONDS));
    json_append(w->d, list, t);
}

/* A pod gets a service account, under both field names; a mirror pod has none. */
static bool admit_account(struct object_write *w)
{
    static const char *const names[] = { "serviceAccountName", "serviceAccount" };
    json_ref spec = json_ensure_object(w->d, w->object, "spec");
    bool has_account = json_get_text(w->d, spec, names[0]).len > 0;
    struct str name = json_text(w->d, json_path(w->d, w->object, "metadata", "name"));
    struct error err;

    if (!json_path(w->d, w->object, "metadata", "annotations", ANN_CONFIG_MIRROR)) {
        for (size_t i = 0; i < ARRAY_LEN(names) && !has_account; i++)
            json_set_string(w->d, spec, names[i], "default");
        return true;
    }
    if (!has_account)
        return true;
    (void)error_set(&err, ERR_DENIED,
                    "pods \"%.*s\" is forbidden: a mirror pod may not reference service accounts",
                    STR_ARG(name));
    call_fail_resource(w->c, &err, name);
    return false;
}

/* Adds the defaults of a pod. Also on updates: a writer that omits a default does not mean to remove it, and
 * could not. */
static void fill_in_pod(struct object_write *w)
{
    static const char *const kept[] = { "priority", "preemptionPolicy" };
    json_ref spec = json_ensure_object(w->d, w->object, "spec");

    add_toleration(w, TOLERATION_NOT_READY);
    add_toleration(w, TOLERATION_UNREACHABLE);
    for (size_t i = 0; w->old && i < ARRAY_LEN(kept); i++)
        if (!json_get(w->d, spec, kept[i]))
            prepare_keep(w->d, spec, json_get(w->d, w->old, "spec"), kept[i]);
}

bool admit_create(struct object_write *w)
{
    if (!admit_namespace(w) || !admit_identity_write(w))
        return false;
    if (w->kind->kind == KIND_VOLUME)
        add_finalizer(w, FINALIZER_VOLUME_PROTECTION);
    if (w->kind->kind == KIND_CLAIM) {
        add_finalizer(w, FINALIZER_CLAIM_PROTECTION);
        set_default_class(w);
    }
    if (w->kind->kind == KIND_ATTRIBUTES_CLASS)
        add_finalizer(w, FINALIZER_ATTRIBUTES_CLASS_PROTECTION);
    if (w->kind->kind != KIND_POD)
        return true;
    fill_in_pod(w);
    return admit_account(w);
}

bool admit_update(struct object_write *w)
{
    if (!admit_identity_write(w))
        return false;
    if (w->kind->kind == KIND_POD && w->part == WRITE_MAIN)
        fill_in_pod(w);
    return true;
}

/* --- Expansion of claims --- */

static bool fail_resize(struct object_write *w, const char *why)
{
    struct error err;

    (void)error_set(&err, ERR_DENIED, "persistentvolumeclaims \"%s\" is forbidden: %s", w->old_object->name,
                    why);
    call_fail_resource(w->c, &err, w->c->route.name);
    return false;
}

static bool class_allows_expansion(const struct store *s, const struct claim *claim)
{
    const struct object *class;

    if (!claim->class[0])
        return false;
    class = store_get_newest(s, KIND_CLASS, "", claim->class);
    return class && class_of(class)->allows_expansion;
}

static bool request_grows(const struct object_write *w)
{
    struct str now =
        json_get_text(w->d, json_path(w->d, w->object, "spec", "resources", "requests"), "storage");
    const struct claim *old = claim_of(w->old_object);
    struct quantity q;
    struct error ignored;

    return quantity_parse(now, &q, &ignored) == 0 && quantity_cmp(&q, &old->request) > 0;
}

bool admit_valid_update(struct object_write *w)
{
    const struct claim *old;

    if (w->kind->kind != KIND_CLAIM || w->part != WRITE_MAIN || !request_grows(w))
        return true;
    old = claim_of(w->old_object);
    if (old->phase != CLAIM_BOUND)
        return fail_resize(w, "Only bound persistent volume claims can be expanded");
    if (!class_allows_expansion(w->c->server->store, old))
        return fail_resize(w, "only dynamically provisioned pvc can be resized and the storageclass that "
                              "provisions the pvc must support resize");
    return true;
}

/* --- Deletion --- */

bool admit_delete(struct call *c, const struct object *old)
{
    static const char *const immortal[] = { "default", "kube-system", "kube-public", NULL };
    struct error err;

    if (!admit_identity(c, &(struct restricted_write){ .kind = old->kind, .old = old, .d = &c->server->doc }))
        return false;
    if (old->kind->kind != KIND_NAMESPACE)
        return true;
    for (const char *const *name = immortal; *name; name++) {
        if (str_is(c->route.name, *name)) {
            (void)error_set(&err, ERR_DENIED,
                            "namespaces \"%s\" is forbidden: this namespace may not be deleted", *name);
            call_fail_resource(c, &err, c->route.name);
            return false;
        }
    }
    return true;
}
