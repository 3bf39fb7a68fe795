/* Authorization: evaluates the roles of roles.h for one access, with the node authorizer's restrictions, and
 * words refusals as the API does.
 *
 * A decision walks the rules of the user's roles; a node's access to an object may also cost a walk over the
 * pods of its node. */
#include "apiserver/authorize.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/csi_objects.h"
#include "api/field_selector.h"
#include "api/quote.h"
#include "apiserver/node_relations.h"
#include "apiserver/roles.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

/* --- From calls --- */

static struct str method_name(enum http_method m)
{
    static const char *const names[] = {
        [HTTP_GET] = "get",       [HTTP_HEAD] = "get", /* same verb as GET */
        [HTTP_POST] = "post",     [HTTP_PUT] = "put",     [HTTP_PATCH] = "patch",
        [HTTP_DELETE] = "delete", [HTTP_OTHER] = "other",
    };

    return str_of(names[m]);
}

/* The metadata.name and spec.nodeName that the field selector requires; unset ones stay unchanged. */
static void read_selector(struct call *c, struct str *name, struct str *node_name)
{
    struct str text = params_get(&c->params, "fieldSelector");
    struct field_selector sel = { 0 };
    struct error ignored; /* the handler reports its error */

    if (!text.len || field_selector_parse(text, &c->arena, &sel, &ignored) < 0)
        return;
    (void)field_selector_requires(&sel, "metadata.name", name);
    (void)field_selector_requires(&sel, "spec.nodeName", node_name);
}

void access_of_call(struct call *c, struct access *ret)
{
    const struct route *r = &c->route;

    *ret = (struct access){ .is_resource = r->is_resource };
    if (!r->is_resource) {
        ret->verb = method_name(c->method);
        ret->path = str_of(r->path);
        return;
    }
    ret->verb = str_of(verb_names[r->verb]);
    ret->group = r->group;
    ret->resource = r->plural;
    ret->sub = r->sub_name;
    ret->ns = r->ns;
    ret->name = r->name;
    ret->node_name = STR_LIT("");
    if (!r->name.len && (r->verb == VERB_LIST || r->verb == VERB_WATCH || r->verb == VERB_DELETE_COLLECTION))
        read_selector(c, &ret->name, &ret->node_name);
    if (!r->group.len && str_is(r->plural, "namespaces"))
        ret->ns = r->name; /* a namespace's own namespace is itself */
}

/* --- Decisions --- */

/* The verb's bit; 0 for one that no resource has, which only VERBS_ANY covers. */
static unsigned verb_bit(struct str verb)
{
    for (unsigned v = 0; v < VERB_COUNT; v++)
        if (str_is(verb, verb_names[v]))
            return VERB_BIT(v);
    return 0;
}

static bool verbs_cover(unsigned verbs, struct str verb)
{
    return verbs == VERBS_ANY || (verbs & verb_bit(verb)) != 0;
}

static bool names_resource(const char *name, const struct access *a)
{
    struct str rest = str_of(name), resource;

    if (str_is(rest, "*"))
        return true;
    resource = str_next(&rest, '/');
    return str_eq(resource, a->resource) && str_eq(rest, a->sub);
}

static bool rule_covers(const struct rule *r, const struct access *a)
{
    bool is_named = false;

    if (!verbs_cover(r->verbs, a->verb) || (strcmp(r->group, "*") != 0 && !str_is(a->group, r->group)))
        return false;
    if ((r->ns && !str_is(a->ns, r->ns)) || (r->name && !str_is(a->name, r->name)))
        return false;
    for (const char *const *name = r->resources; *name && !is_named; name++)
        is_named = names_resource(*name, a);
    return is_named;
}

/* One access of a node, and the buffer for the reason of its refusal, in the node authorizer's words. */
struct node_access {
    const struct access_lookup *lookup;
    const struct access *access;
    struct str node;
    char *text; /* ACCESS_REASON_BYTES */
};

__attribute__((format(printf, 2, 3))) static bool node_access_refuse(const struct node_access *access,
                                                                     const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(access->text, ACCESS_REASON_BYTES, fmt,
                    args); /* cuts names that are too long to be valid */
    va_end(args);
    return false;
}

static bool node_access_is_own(const struct node_access *access)
{
    return str_is(access->access->verb, "create") || str_eq(access->access->name, access->node);
}

static bool scope_covers_node(const struct node_access *access)
{
    if (!access->access->name.len)
        return node_access_refuse(access, "node '%.*s' cannot read all nodes, only its own Node object",
                                  STR_ARG(access->node));
    if (!node_access_is_own(access))
        return node_access_refuse(access, "node '%.*s' cannot read '%.*s', only its own Node object",
                                  STR_ARG(access->node), STR_ARG(access->access->name));
    return true;
}

static bool scope_covers_lease(const struct node_access *access)
{
    if (!str_is(access->access->ns, NODE_LEASES))
        return node_access_refuse(access,
                                  "can only access leases in the \"" NODE_LEASES "\" system namespace");
    return node_access_is_own(access) ||
           node_access_refuse(access, "can only access node lease with the same name as the requesting node");
}

static bool scope_covers_used(const struct node_access *access, enum kind kind)
{
    if (kind_info(kind)->is_namespaced && !access->access->ns.len)
        return node_access_refuse(access, "can only read namespaced object of this type");
    if (!access->access->name.len)
        return node_access_refuse(access, "No Object name found");
    return node_uses(access->lookup, access->node, kind, access->access->ns, access->access->name) ||
           node_access_refuse(access, "no relationship found between node '%.*s' and this object",
                              STR_ARG(access->node));
}

static bool scope_covers_pods(const struct node_access *access)
{
    if (str_eq(access->access->node_name, access->node))
        return true;
    if (!access->access->name.len)
        return node_access_refuse(access, "can only list/watch pods with spec.nodeName field selector");
    return scope_covers_used(access, KIND_POD);
}

/* False, with the reason set, when the rule is limited to the node's own objects and the access is not. */
static bool scope_covers(const struct rule *r, const struct node_access *access)
{
    switch (r->scope) {
    case SCOPE_ALL:
        break;
    case SCOPE_OWN_NODE:
        return scope_covers_node(access);
    case SCOPE_OWN_CSI_NODE:
        return node_access_is_own(access) ||
               node_access_refuse(access,
                                  "can only access CSINode with the same name as the requesting node");
    case SCOPE_OWN_LEASE:
        return scope_covers_lease(access);
    case SCOPE_OWN_PODS:
        return scope_covers_pods(access);
    case SCOPE_OWN_RECORD:
        return str_is(access->access->verb, "create") ||
               csi_record_is_of_node(access->access->name, access->node) ||
               node_access_refuse(access, "can only access the records of calls of its node");
    case SCOPE_USED:
        return scope_covers_used(access, r->kind);
    }
    return true;
}

static bool path_covers(const char *pattern, struct str path)
{
    struct str stem = str_of(pattern);

    if (stem.s[stem.len - 1] != '*')
        return str_eq(stem, path);
    stem.len--;
    return path.len >= stem.len && memcmp(path.s, stem.s, stem.len) == 0;
}

static bool role_covers_path(const struct role *role, const struct access *a)
{
    if (!verbs_cover(role->path_verbs, a->verb))
        return false;
    for (const char *const *p = role->paths; *p; p++)
        if (path_covers(*p, a->path))
            return true;
    return false;
}

/* Sets the reason when the role has rules for other verbs on the resource. Returns false. */
static bool node_access_refuse_verb(const struct role *role, const struct node_access *access)
{
    const struct access *a = access->access;

    for (const struct other_verbs *o = role->other_verbs; o && o->resource; o++)
        if (str_is(a->group, o->group) && str_is(a->resource, o->resource) &&
            (!o->sub || str_is(a->sub, o->sub)))
            return node_access_refuse(access, "%s", o->reason);
    return false;
}

static bool role_allows(const struct role *role, const struct node_access *access)
{
    bool is_covered = false;

    if (!access->access->is_resource)
        return role_covers_path(role, access->access);
    for (const struct rule *r = role->rules; r->verbs; r++) {
        if (!rule_covers(r, access->access))
            continue;
        if (scope_covers(r, access))
            return true;
        is_covered = true;
    }
    return is_covered ? false : node_access_refuse_verb(role, access);
}

struct access_decision authorize_access(const struct access_lookup *f, const struct user *u,
                                        const struct access *a)
{
    struct access_decision v = { .reason = "" };
    struct node_access x = { .lookup = f, .access = a, .node = user_node(u), .text = v.reason };

    if (!x.node.len)
        x.node = user_csi_node(u);

    for (const struct role *role = roles; role->name; role++)
        if (role_applies(role, u) && role_allows(role, &x))
            return (struct access_decision){ .is_allowed = true, .role = role->name };
    return v;
}

/* --- Messages --- */

#define REFUSAL_BYTES_MAX 8192

static void add_quoted(struct buf *out, const char *before, struct str text)
{
    char quoted[ERROR_MSG_BYTES_MAX];

    buf_addf(out, "%s%s", before, quote_text(quoted, sizeof quoted, text));
}

static void add_escaped(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '&')
            buf_add_cstr(out, "&amp;");
        else if (text.s[i] == '<')
            buf_add_cstr(out, "&lt;");
        else if (text.s[i] == '>')
            buf_add_cstr(out, "&gt;");
        else
            buf_add_char(out, text.s[i]);
    }
}

void forbidden_prefix(struct str resource, struct str group, struct str name, struct buf *out)
{
    buf_add_str(out, resource);
    if (group.len)
        buf_addf(out, ".%.*s", STR_ARG(group));
    if (name.len)
        add_quoted(out, " ", name);
    buf_add_cstr(out, " is forbidden: ");
}

/* Adds who cannot do what. */
static void add_denied_access(struct buf *out, const struct user *u, const struct access *a)
{
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(REFUSAL_BYTES_MAX);

    add_quoted(out, "User ", str_of(u->name));
    buf_addf(out, " cannot %.*s", STR_ARG(a->verb));
    if (!a->is_resource) {
        add_quoted(out, " path ", a->path);
        return;
    }
    buf_addf(&resource, "%.*s%s%.*s", STR_ARG(a->resource), a->sub.len ? "/" : "", STR_ARG(a->sub));
    add_quoted(out, " resource ", buf_str(&resource));
    add_quoted(out, " in API group ", a->group);
    if (a->ns.len)
        add_quoted(out, " in the namespace ", a->ns);
    else
        buf_add_cstr(out, " at the cluster scope");
}

int access_refuse(const struct user *u, const struct access *a, const char *reason, struct error *err)
{
    _cleanup_(buf_done_p) struct buf denied = BUF_INIT(REFUSAL_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(REFUSAL_BYTES_MAX);

    if (user_is_anonymous(u))
        return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
    add_denied_access(&denied, u, a);
    if (a->is_resource)
        forbidden_prefix(a->resource, a->group, a->name, &text);
    else
        buf_add_cstr(&text, "forbidden: ");
    add_escaped(&text, buf_str(&denied));
    if (reason[0] != '\0')
        buf_addf(&text, ": %s", reason);
    if (denied.failed || text.failed)
        return error_set(err, ERR_DENIED, "forbidden");
    return error_set(err, ERR_DENIED, "%s", buf_cstr(&text));
}

int access_check(const struct access_lookup *f, const struct user *u, const struct access *a,
                 struct error *err)
{
    struct access_decision v = authorize_access(f, u, a);

    return v.is_allowed ? 0 : access_refuse(u, a, v.reason, err);
}
