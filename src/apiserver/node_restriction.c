/* NodeRestriction admission: checks what a node writes to nodes, pods, claims, CSINodes, leases and tokens.
 * The messages are those of the stock plugin. Only writes of nodes cost more than a comparison of groups. */
#include "apiserver/node_restriction.h"

#include <stdarg.h>
#include <string.h>

#include "api/pod.h"
#include "api/quote.h"
#include "apiserver/node_relations.h"
#include "apiserver/roles.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

#define REFUSAL_BYTES_MAX 8192

/* One write of a node that is checked. */
struct node_write {
    const struct restricted_write *w;
    const struct access_lookup *lookup;
    struct str node;
    const char *quoted_node; /* for messages */
    struct error *err;
};

/* `nodes "n2" is forbidden: …`. */
__attribute__((format(printf, 2, 3))) static int refuse_write(const struct node_write *j, const char *fmt,
                                                              ...)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(REFUSAL_BYTES_MAX);
    const struct restricted_write *w = j->w;
    struct str name = w->access->name;
    va_list args;

    if (!name.len)
        name = json_get_text(w->d, json_get(w->d, w->object, "metadata"), "name");
    forbidden_prefix(str_of(w->kind->plural), str_of(w->kind->group), name, &text);
    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    return error_set(j->err, ERR_DENIED, "%s", text.failed ? "forbidden" : buf_cstr(&text));
}

static bool is_create(const struct node_write *j)
{
    return str_is(j->w->access->verb, "create");
}

static bool is_delete(const struct node_write *j)
{
    return str_is(j->w->access->verb, "delete") || str_is(j->w->access->verb, "deletecollection");
}

/* The name of the written object: of a creation it is in the body. */
static struct str written_name(const struct node_write *j)
{
    if (j->w->old)
        return str_of(j->w->old->name);
    return json_get_text(j->w->d, json_get(j->w->d, j->w->object, "metadata"), "name");
}

/* The old object as a tree in the same document; 0 when there is none. Refuses if it cannot be read. */
static int old_tree(const struct node_write *j, json_ref *ret)
{
    *ret = 0;
    return j->w->old ? json_parse(j->w->d, j->w->old->text, ret, j->err) : 0;
}

/* --- Nodes --- */

static bool is_within(struct str domain, const char *of)
{
    size_t len = strlen(of);

    return domain.len >= len && memcmp(domain.s + domain.len - len, of, len) == 0 &&
           (domain.len == len || domain.s[domain.len - len - 1] == '.');
}

/* Labels that other components use to select or trust a node cannot be set by the node. */
static bool label_is_forbidden(struct str key)
{
    static const char *const own[] = {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    };
    struct str rest = key, domain = str_next(&rest, '/');

    if (!rest.s)
        return false;
    if (is_within(domain, "node-restriction.kubernetes.io"))
        return true;
    if (!is_within(domain, "kubernetes.io") && !is_within(domain, "k8s.io"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (str_is(key, own[i]))
            return false;
    return !is_within(domain, "kubelet.kubernetes.io") && !is_within(domain, "node.kubernetes.io");
}

/* Collects the forbidden labels that were set, changed or removed: walks both sorted maps in parallel. */
static void find_forbidden(struct json *d, json_ref was, json_ref is, struct buf *out)
{
    json_ref a, b;

    json_sort_members(d, was);
    json_sort_members(d, is);
    a = json_first(d, was);
    b = json_first(d, is);
    while (a || b) {
        int order = !a ? 1 : !b ? -1 : str_cmp(json_key(d, a), json_key(d, b));
        struct str key = json_key(d, order <= 0 ? a : b);

        if ((order != 0 || !json_equal(d, a, b)) && label_is_forbidden(key))
            buf_addf(out, "%s%.*s", out->len ? ", " : "", STR_ARG(key));
        a = order <= 0 ? json_next(d, a) : a;
        b = order >= 0 ? json_next(d, b) : b;
    }
}

static int check_labels(const struct node_write *j, json_ref old)
{
    _cleanup_(buf_done_p) struct buf found = BUF_INIT(REFUSAL_BYTES_MAX);
    struct json *d = j->w->d;
    int r;

    find_forbidden(d, json_path(d, old, "metadata", "labels"),
                   json_path(d, j->w->object, "metadata", "labels"), &found);
    r = json_check(d, j->err);
    if (r < 0 || (!found.len && !found.failed))
        return r;
    return refuse_write(j,
                        is_create(j) ? "is not allowed to set the following labels: %s"
                                     : "is not allowed to modify labels: %s",
                        found.failed ? "(too many to name)" : buf_cstr(&found));
}

static int check_node_name(const struct node_write *j)
{
    struct str name = written_name(j);
    char quoted[ERROR_MSG_BYTES_MAX];

    if (str_eq(name, j->node))
        return 0;
    return refuse_write(j, "node %s is not allowed to modify node %s", j->quoted_node,
                        quote_text(quoted, sizeof quoted, name));
}

static int check_node(const struct node_write *j)
{
    const struct json *d = j->w->d;
    json_ref old;
    int r = check_node_name(j);

    if (r < 0 || is_delete(j))
        return r;
    r = old_tree(j, &old);
    if (r < 0)
        return r;
    if (j->w->old &&
        !json_equal(d, json_path(d, old, "spec", "taints"), json_path(d, j->w->object, "spec", "taints")))
        return refuse_write(j, "node %s is not allowed to modify taints", j->quoted_node);
    if (j->w->old && !json_equal(d, json_path(d, old, "metadata", "ownerReferences"),
                                 json_path(d, j->w->object, "metadata", "ownerReferences")))
        return refuse_write(j, "node %s is not allowed to modify ownerReferences", j->quoted_node);
    return check_labels(j, old);
}

/* --- Pods --- */

static bool pod_is_own(const struct node_write *j)
{
    return j->w->old && str_is(j->node, pod_of(j->w->old)->node_name);
}

/* A mirror pod. The node could read what it names, so it may name nothing. */
static int check_mirror(const struct node_write *j)
{
    static const struct {
        enum kind kind;
        const char *words;
    } names[] = {
        { KIND_SERVICE_ACCOUNT, "a service account" },
        { KIND_SECRET, "secrets" },
        { KIND_CONFIG_MAP, "configmaps" },
        { KIND_CLAIM, "persistentvolumeclaims" },
    };
    const struct json *d = j->w->d;
    json_ref pod = j->w->object;

    if (!json_path(d, pod, "metadata", "annotations", ANN_CONFIG_MIRROR))
        return refuse_write(
            j, "pod does not have \"" ANN_CONFIG_MIRROR "\" annotation, node %s can only create mirror pods",
            j->quoted_node);
    if (!str_eq(json_text(d, json_path(d, pod, "spec", "nodeName")), j->node))
        return refuse_write(j, "node %s can only create pods with spec.nodeName set to itself",
                            j->quoted_node);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (pod_names(d, pod, names[i].kind, (struct str){ NULL, 0 }))
            return refuse_write(j, "node %s can not create pods that reference %s", j->quoted_node,
                                names[i].words);
    return 0;
}

static int check_pod_status_target(const struct node_write *j)
{
    if (pod_is_own(j))
        return 0;
    return refuse_write(j, "node %s can only update pod status for pods with spec.nodeName set to itself",
                        j->quoted_node);
}

static int check_pod_status(const struct node_write *j)
{
    const struct json *d = j->w->d;
    json_ref old = 0;
    int r = check_pod_status_target(j);

    if (r == 0)
        r = old_tree(j, &old);
    if (r < 0)
        return r;
    if (!json_equal(d, json_path(d, old, "metadata", "labels"),
                    json_path(d, j->w->object, "metadata", "labels")))
        return refuse_write(j, "node %s cannot update labels through pod status", j->quoted_node);
    return 0;
}

static int check_pod(const struct node_write *j)
{
    struct str sub = j->w->access->sub;

    if (str_is(sub, "status"))
        return check_pod_status(j);
    if (str_is(sub, "eviction") && !pod_is_own(j))
        return refuse_write(j, "node %s can only evict pods with spec.nodeName set to itself",
                            j->quoted_node);
    if (str_is(sub, "eviction"))
        return 0;
    if (sub.len)
        return refuse_write(
            j, "unexpected pod subresource \"%.*s\", only 'status' and 'eviction' are allowed", STR_ARG(sub));
    if (is_create(j))
        return check_mirror(j);
    if (!is_delete(j))
        return refuse_write(j,
                            "unexpected operation \"UPDATE\", node %s can only create and delete mirror pods",
                            j->quoted_node);
    if (!pod_is_own(j))
        return refuse_write(j, "node %s can only delete pods with spec.nodeName set to itself",
                            j->quoted_node);
    return 0;
}

/* --- Claims --- */

/* A copy without the fields that a node may change, and those that the server sets. */
static json_ref without_own_fields(struct json *d, json_ref claim)
{
    static const char *const own[] = { "capacity", "conditions", "allocatedResources",
                                       "allocatedResourceStatuses" };
    json_ref copy = json_copy(d, claim), status = json_get(d, copy, "status");
    json_ref meta = json_get(d, copy, "metadata");

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        (void)json_remove(d, status, own[i]);
    if (!json_count(d, status))
        (void)json_remove(d, copy, "status");
    (void)json_remove(d, meta, "managedFields");
    (void)json_remove(d, meta, "resourceVersion");
    return copy;
}

static int check_claim(const struct node_write *j)
{
    struct json *d = j->w->d;
    json_ref old, before, after;
    int r;

    if (!str_is(j->w->access->sub, "status"))
        return refuse_write(j, "may only update PVC status");
    r = old_tree(j, &old);
    if (r < 0)
        return r;
    before = without_own_fields(d, old);
    after = without_own_fields(d, j->w->object);
    r = json_check(d, j->err);
    if (r < 0)
        return r;
    if (!json_equal(d, before, after))
        return refuse_write(j,
                            "node %s is not allowed to update fields other than status.quantity and "
                            "status.conditions",
                            j->quoted_node);
    return 0;
}

/* --- Other kinds --- */

static int check_csi_node(const struct node_write *j)
{
    if (!str_eq(written_name(j), j->node))
        return refuse_write(j, "can only access CSINode with the same name as the requesting node");
    return 0;
}

static int check_lease(const struct node_write *j)
{
    if (!str_is(j->w->access->ns, NODE_LEASES))
        return refuse_write(j, "can only access leases in the \"" NODE_LEASES "\" system namespace");
    if (!str_eq(written_name(j), j->node))
        return refuse_write(j, "can only access node lease with the same name as the requesting node");
    return 0;
}

/* Tokens must be bound to a pod on this node, by name and uid. That the pod uses the account is checked for
 * every user (token.c). */
static int check_token(const struct node_write *j)
{
    const struct json *d = j->w->d;
    json_ref ref = json_path(d, j->w->object, "spec", "boundObjectRef");
    struct str name = json_get_text(d, ref, "name"), uid = json_get_text(d, ref, "uid");
    const struct pod *p;

    if (!json_is_string(d, json_get(d, ref, "apiVersion"), "v1") ||
        !json_is_string(d, json_get(d, ref, "kind"), "Pod") || !name.len)
        return refuse_write(j, "node requested token not bound to a pod");
    if (!uid.len)
        return refuse_write(j, "node requested token with a pod binding without a uid");
    p = access_lookup_pod(j->lookup, j->w->access->ns, name);
    if (!p || !str_is(j->node, p->node_name))
        return refuse_write(j, "node requested token bound to a pod scheduled on a different node");
    if (!str_is(uid, p->obj.uid))
        return refuse_write(
            j,
            "the UID in the bound object reference (%.*s) does not match the UID in record. The "
            "object might have been deleted and then recreated",
            STR_ARG(uid));
    return 0;
}

static const struct {
    enum kind kind;
    int (*check)(const struct node_write *j);
} checks[] = {
    { KIND_NODE, check_node },         { KIND_POD, check_pod },     { KIND_CLAIM, check_claim },
    { KIND_CSI_NODE, check_csi_node }, { KIND_LEASE, check_lease }, { KIND_SERVICE_ACCOUNT, check_token },
};

int node_restriction_target(const struct user *u, const struct restricted_write *w, struct error *err)
{
    char quoted[ERROR_MSG_BYTES_MAX];
    struct node_write j = { .w = w, .node = user_node(u), .err = err };

    if (!j.node.len || !w->old)
        return 0;
    j.quoted_node = quote_text(quoted, sizeof quoted, j.node);
    if (w->kind->kind == KIND_NODE)
        return check_node_name(&j);
    return w->kind->kind == KIND_POD && str_is(w->access->sub, "status") ? check_pod_status_target(&j) : 0;
}

int node_restriction(const struct user *u, const struct restricted_write *w, const struct access_lookup *f,
                     struct error *err)
{
    char quoted[ERROR_MSG_BYTES_MAX];
    struct node_write j = { .w = w, .lookup = f, .node = user_node(u), .err = err };

    if (!j.node.len)
        return 0;
    j.quoted_node = quote_text(quoted, sizeof quoted, j.node);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++)
        if (checks[i].kind == w->kind->kind)
            return checks[i].check(&j);
    return 0;
}
