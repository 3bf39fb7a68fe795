#include "apiserver/authorize.h"

#include <string.h>

#include "api/field_selector.h"
#include "api/quote.h"
#include "apiserver/node_facts.h"
#include "apiserver/roles.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

/* --- From calls --- */

static struct str method_name(enum http_method m)
{
    static const char *const names[] = {
        [HTTP_GET] = "get",       [HTTP_HEAD] = "get", /* as good as */
        [HTTP_POST] = "post",     [HTTP_PUT] = "put",     [HTTP_PATCH] = "patch",
        [HTTP_DELETE] = "delete", [HTTP_OTHER] = "other",
    };

    return str_of(names[m]);
}

static bool verb_takes_selector(enum verb v)
{
    return v == VERB_LIST || v == VERB_WATCH || v == VERB_DELETE_COLLECTION;
}

/* The name that a selection is pinned to; "" for none. */
static struct str selected_name(struct call *c)
{
    struct str text = params_get(&c->params, "fieldSelector"), name = STR_LIT("");
    struct field_selector sel = { 0 };
    struct error ignored; /* the handler says what is wrong with it */

    if (text.len && field_selector_parse(text, &c->arena, &sel, &ignored) == 0)
        (void)field_selector_requires(&sel, "metadata.name", &name);
    return name;
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
    if (!r->name.len && verb_takes_selector(r->verb))
        ret->name = selected_name(c);
    if (!r->group.len && str_is(r->plural, "namespaces"))
        ret->ns = r->name; /* a namespace is in itself */
}

/* --- Judging --- */

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

/* NULL when the rule's scope takes it in; else why not. */
static const char *scope_refuses(const struct facts *f, const struct user *u, const struct rule *r,
                                 const struct access *a)
{
    switch (r->scope) {
    case SCOPE_ALL:
        break;
    case SCOPE_OWN:
        if (!str_is(a->verb, "create") && !str_eq(a->name, user_node(u)))
            return "a node has access to the one of its own name only";
        break;
    case SCOPE_USED:
        if (!a->name.len)
            return "a node has access to single objects of this kind only";
        if (!node_uses(f, user_node(u), r->kind, a->ns, a->name))
            return "no pod on this node uses it";
        break;
    }
    return NULL;
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

static bool role_allows(const struct facts *f, const struct user *u, const struct role *role,
                        const struct access *a, const char **reason)
{
    if (!a->is_resource)
        return role_covers_path(role, a);
    for (const struct rule *r = role->rules; r->verbs; r++) {
        const char *refused;
        if (!rule_covers(r, a))
            continue;
        refused = scope_refuses(f, u, r, a);
        if (!refused)
            return true;
        *reason = refused;
    }
    return false;
}

struct verdict authorize(const struct facts *f, const struct user *u, const struct access *a)
{
    const char *reason = "";

    for (const struct role *role = roles; role->name; role++)
        if (role_applies(role, u) && role_allows(f, u, role, a, &reason))
            return (struct verdict){ .is_allowed = true, .role = role->name, .reason = "" };
    return (struct verdict){ .reason = reason };
}

/* --- In words --- */

#define REFUSAL_BYTES_MAX 8192

static void add_quoted(struct buf *out, const char *before, struct str text)
{
    char quoted[ERROR_MSG_BYTES_MAX];

    (void)buf_addf(out, "%s%s", before, quote(quoted, sizeof quoted, text));
}

static void add_escaped(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '&')
            (void)buf_add_cstr(out, "&amp;");
        else if (text.s[i] == '<')
            (void)buf_add_cstr(out, "&lt;");
        else if (text.s[i] == '>')
            (void)buf_add_cstr(out, "&gt;");
        else
            (void)buf_add_char(out, text.s[i]);
    }
}

void forbidden_prefix(struct str resource, struct str group, struct str name, struct buf *out)
{
    (void)buf_add_str(out, resource);
    if (group.len)
        (void)buf_addf(out, ".%.*s", STR_ARG(group));
    if (name.len)
        add_quoted(out, " ", name);
    (void)buf_add_cstr(out, " is forbidden: ");
}

/* Who cannot do what. */
static void add_deed(struct buf *out, const struct user *u, const struct access *a)
{
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(REFUSAL_BYTES_MAX);

    add_quoted(out, "User ", str_of(u->name));
    (void)buf_addf(out, " cannot %.*s", STR_ARG(a->verb));
    if (!a->is_resource) {
        add_quoted(out, " path ", a->path);
        return;
    }
    (void)buf_addf(&resource, "%.*s%s%.*s", STR_ARG(a->resource), a->sub.len ? "/" : "", STR_ARG(a->sub));
    add_quoted(out, " resource ", buf_str(&resource));
    add_quoted(out, " in API group ", a->group);
    if (a->ns.len)
        add_quoted(out, " in the namespace ", a->ns);
    else
        (void)buf_add_cstr(out, " at the cluster scope");
}

int access_refuse(const struct user *u, const struct access *a, const char *reason, struct error *err)
{
    _cleanup_(buf_done_p) struct buf deed = BUF_INIT(REFUSAL_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(REFUSAL_BYTES_MAX);

    if (user_is_anonymous(u))
        return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
    add_deed(&deed, u, a);
    if (a->is_resource)
        forbidden_prefix(a->resource, a->group, a->name, &text);
    else
        (void)buf_add_cstr(&text, "forbidden: ");
    add_escaped(&text, buf_str(&deed));
    if (reason[0] != '\0')
        (void)buf_addf(&text, ": %s", reason);
    if (deed.failed || text.failed)
        return error_set(err, ERR_DENIED, "forbidden");
    return error_set(err, ERR_DENIED, "%s", buf_cstr(&text));
}

int access_check(const struct facts *f, const struct user *u, const struct access *a, struct error *err)
{
    struct verdict v = authorize(f, u, a);

    return v.is_allowed ? 0 : access_refuse(u, a, v.reason, err);
}
