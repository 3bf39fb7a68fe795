/* Answers reviews of identity and access: each is computed from the body, the user and the roles, and nothing
 * is stored. */
#include "apiserver/reviews.h"

#include <assert.h>

#include "apiserver/authorize.h"
#include "apiserver/roles.h"
#include "apiserver/server.h"
#include "apiserver/store_lookup.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

#define REVIEW_GROUPS_MAX 10000

static json_ref new_texts(struct json *d, const char *const *texts)
{
    json_ref list = json_new_array(d);

    for (; *texts; texts++)
        json_append(d, list, json_new_string(d, str_of(*texts)));
    return list;
}

/* --- Identity --- */

/* A key may occur several times, each time with some of its values. */
static json_ref new_extra(struct json *d, const struct user_extra *extra)
{
    json_ref map = json_new_object(d);

    for (; extra->key; extra++) {
        json_ref list = json_get(d, map, extra->key);
        if (!list) {
            list = json_new_array(d);
            json_set(d, map, extra->key, list);
        }
        for (const char *const *v = extra->values; *v; v++)
            json_append(d, list, json_new_string(d, str_of(*v)));
    }
    return map;
}

static json_ref new_user_info(struct json *d, const struct user *u)
{
    json_ref info = json_new_object(d);

    json_set_string(d, info, "username", u->name);
    if (u->uid[0] != '\0')
        json_set_string(d, info, "uid", u->uid);
    json_set(d, info, "groups", new_texts(d, u->groups));
    if (u->extra && u->extra->key)
        json_set(d, info, "extra", new_extra(d, u->extra));
    return info;
}

static json_ref self_review(const struct review *q, struct json *d)
{
    json_ref status = json_new_object(d);

    json_set(d, status, "userInfo", new_user_info(d, q->user));
    return status;
}

/* The strings of a list; other values are ignored. */
static int read_texts(const struct review *q, const struct json *d, json_ref list, struct texts *ret,
                      struct error *err)
{
    uint32_t count = 0;
    const char **items;

    if (json_count(d, list) > REVIEW_GROUPS_MAX)
        return error_set(err, ERR_BAD_REQUEST, "a list has more than %d items", REVIEW_GROUPS_MAX);
    items = arena_array(q->arena, (size_t)json_count(d, list) + 1, sizeof *items);
    if (!items)
        return error_no_memory(err);
    for (json_ref m = json_type(d, list) == JSON_ARRAY ? json_first(d, list) : 0; m; m = json_next(d, m))
        if (json_type(d, m) == JSON_STRING)
            items[count++] = arena_dup(q->arena, json_text(d, m));
    *ret = (struct texts){ items, count };
    return arena_check(q->arena, err);
}

static json_ref token_review(const struct review *q, struct json *d, json_ref spec, struct error *err)
{
    struct str token = json_get_text(d, spec, "token");
    struct texts wanted = { 0 }, audiences = { 0 };
    const struct user *u = NULL;
    json_ref status = json_new_object(d), list;
    struct error reason = { 0 };
    int r;

    if (!token.len) {
        (void)error_set(err, ERR_BAD_REQUEST, "token is required for TokenReview in authentication");
        return 0;
    }
    if (read_texts(q, d, json_get(d, spec, "audiences"), &wanted, err) < 0)
        return 0;
    r = q->authenticator
            ? authenticate_token(q->authenticator, token, wanted, q->arena, &u, &audiences, &reason)
            : error_set(&reason, ERR_UNAUTHORIZED, "invalid bearer token: authentication is disabled");
    if (r < 0 && r != -ERR_UNAUTHORIZED) {
        *err = reason;
        return 0;
    }
    if (r < 0) {
        json_set(d, status, "user", json_new_object(d));
        json_set_string(d, status, "error", reason.msg);
        return status;
    }
    list = json_new_array(d);
    for (uint32_t i = 0; i < audiences.count; i++)
        json_append(d, list, json_new_string(d, str_of(audiences.items[i])));
    json_set(d, status, "authenticated", json_new_bool(d, true));
    json_set(d, status, "user", new_user_info(d, u));
    json_set(d, status, "audiences", list);
    return status;
}

/* --- Access --- */

static struct access access_asked(const struct json *d, json_ref spec)
{
    json_ref r = json_get(d, spec, "resourceAttributes"), path = json_get(d, spec, "nonResourceAttributes");

    if (!r)
        return (struct access){
            .verb = json_get_text(d, path, "verb"),
            .path = json_get_text(d, path, "path"),
        };
    return (struct access){
        .is_resource = true,
        .verb = json_get_text(d, r, "verb"),
        .group = json_get_text(d, r, "group"),
        .resource = json_get_text(d, r, "resource"),
        .sub = json_get_text(d, r, "subresource"),
        .ns = json_get_text(d, r, "namespace"),
        .name = json_get_text(d, r, "name"),
    };
}

static json_ref decision_status(struct json *d, const struct review *q, const struct user *u,
                                const struct access *a)
{
    struct access_decision v = authorize_access(q->lookup, u, a);
    const char *reason = v.is_allowed ? arena_printf(q->arena, "allowed by the role %s", v.role) : v.reason;
    json_ref status = json_new_object(d);

    json_set(d, status, "allowed", json_new_bool(d, v.is_allowed));
    if (reason && reason[0] != '\0')
        json_set_string(d, status, "reason", reason);
    return status;
}

/* Exactly one of the two attributes must be set. */
static void check_question(const struct json *d, json_ref spec, struct field_errors *errors)
{
    struct field_path p = path_child(NULL, "spec");
    struct field_path resource = path_child(&p, "resourceAttributes");
    struct field_path path = path_child(&p, "nonResourceAttributes");
    json_ref r = json_get(d, spec, "resourceAttributes"), n = json_get(d, spec, "nonResourceAttributes");

    if (r && n)
        errors_invalid(errors, &path, show_value(errors, d, n),
                       "cannot be specified in combination with resourceAttributes");
    if (!r && !n)
        errors_invalid(errors, &resource, show_value(errors, d, n),
                       "exactly one of nonResourceAttributes or resourceAttributes must be specified");
}

static void check_local(const struct review *q, const struct json *d, json_ref spec,
                        struct field_errors *errors)
{
    struct field_path p = path_child(NULL, "spec");
    struct field_path resource = path_child(&p, "resourceAttributes");
    struct field_path ns = path_child(&resource, "namespace");
    struct field_path path = path_child(&p, "nonResourceAttributes");
    json_ref r = json_get(d, spec, "resourceAttributes"), n = json_get(d, spec, "nonResourceAttributes");

    if (r && !str_eq(json_get_text(d, r, "namespace"), q->ns))
        errors_invalid(errors, &ns, show_text(errors, json_get_text(d, r, "namespace")),
                       "must match metadata.namespace");
    if (n)
        errors_invalid(errors, &path, show_value(errors, d, n), "disallowed on this kind of request");
}

/* The user of the review, with only the groups that it names; NULL when it names no user. */
static const struct user *user_asked(const struct review *q, const struct json *d, json_ref spec,
                                     struct field_errors *errors, struct error *err)
{
    struct field_path p = path_child(NULL, "spec");
    struct field_path path = path_child(&p, "user");
    struct str name = json_get_text(d, spec, "user");
    struct texts groups;
    struct user *u;

    if (read_texts(q, d, json_get(d, spec, "groups"), &groups, err) < 0)
        return NULL;
    if (!name.len && !groups.count) {
        errors_invalid(errors, &path, "\"\"", "at least one of user or group must be specified");
        return NULL;
    }
    u = arena_alloc(q->arena, sizeof *u);
    if (u)
        *u = (struct user){ .name = arena_dup(q->arena, name), .uid = "", .groups = groups.items };
    return arena_check(q->arena, err) < 0 ? NULL : u;
}

static json_ref access_review(const struct review *q, struct json *d, json_ref spec,
                              struct field_errors *errors, struct error *err)
{
    const struct user *u = q->user;
    struct access a = access_asked(d, spec);

    check_question(d, spec, errors);
    if (q->id == VIRTUAL_LOCAL_SUBJECT_ACCESS_REVIEW)
        check_local(q, d, spec, errors);
    if (q->id != VIRTUAL_SELF_SUBJECT_ACCESS_REVIEW)
        u = user_asked(q, d, spec, errors, err);
    return u && errors->count == 0 ? decision_status(d, q, u, &a) : 0;
}

/* --- Rules --- */

static json_ref new_verbs(struct json *d, unsigned verbs)
{
    json_ref list = json_new_array(d);

    if (verbs == VERBS_ANY)
        json_append(d, list, json_new_string(d, STR_LIT("*")));
    for (unsigned v = 0; v < VERB_COUNT && verbs != VERBS_ANY; v++)
        if (verbs & VERB_BIT(v))
            json_append(d, list, json_new_string(d, str_of(verb_names[v])));
    return list;
}

static json_ref new_text_list(struct json *d, const char *text)
{
    return new_texts(d, (const char *const[]){ text, NULL });
}

static json_ref new_rule(struct json *d, const struct rule *r)
{
    json_ref rule = json_new_object(d);

    json_set(d, rule, "verbs", new_verbs(d, r->verbs));
    json_set(d, rule, "apiGroups", new_text_list(d, r->group));
    json_set(d, rule, "resources", new_texts(d, r->resources));
    if (r->name)
        json_set(d, rule, "resourceNames", new_text_list(d, r->name));
    return rule;
}

static json_ref rules_review(const struct review *q, struct json *d, json_ref spec, struct error *err)
{
    json_ref status = json_new_object(d), rules = json_new_array(d), paths = json_new_array(d);
    struct str ns = json_get_text(d, spec, "namespace");

    if (!ns.len) {
        (void)error_set(err, ERR_BAD_REQUEST, "no namespace on request");
        return 0;
    }
    for (const struct role *role = roles; role->name; role++) {
        if (!role_applies(role, q->user))
            continue;
        for (const struct rule *r = role->rules; r->verbs; r++)
            if (!r->ns || str_is(ns, r->ns))
                json_append(d, rules, new_rule(d, r));
        if (role->paths[0]) {
            json_ref rule = json_new_object(d);
            json_set(d, rule, "verbs", new_verbs(d, role->path_verbs));
            json_set(d, rule, "nonResourceURLs", new_texts(d, role->paths));
            json_append(d, paths, rule);
        }
    }
    json_set(d, status, "resourceRules", rules);
    json_set(d, status, "nonResourceRules", paths);
    /* the access of a node depends on its pods, which rules cannot express */
    json_set(d, status, "incomplete", json_new_bool(d, user_node(q->user).len > 0));
    return status;
}

/* --- All reviews --- */

static const char *review_kind(enum virtual_id id)
{
    switch (id) {
    case VIRTUAL_SELF_SUBJECT_REVIEW:
        return "SelfSubjectReview";
    case VIRTUAL_TOKEN_REVIEW:
        return "TokenReview";
    case VIRTUAL_SELF_SUBJECT_ACCESS_REVIEW:
        return "SelfSubjectAccessReview";
    case VIRTUAL_SELF_SUBJECT_RULES_REVIEW:
        return "SelfSubjectRulesReview";
    case VIRTUAL_SUBJECT_ACCESS_REVIEW:
        return "SubjectAccessReview";
    case VIRTUAL_LOCAL_SUBJECT_ACCESS_REVIEW:
        return "LocalSubjectAccessReview";
    case VIRTUAL_NONE:
    case VIRTUAL_BINDING:
        break;
    }
    assert(!"not a review");
    return "";
}

static json_ref status_make(const struct review *q, struct json *d, json_ref spec,
                            struct field_errors *errors, struct error *err)
{
    if (q->id == VIRTUAL_SELF_SUBJECT_REVIEW)
        return self_review(q, d);
    if (q->id == VIRTUAL_TOKEN_REVIEW)
        return token_review(q, d, spec, err);
    if (q->id == VIRTUAL_SELF_SUBJECT_RULES_REVIEW)
        return rules_review(q, d, spec, err);
    return access_review(q, d, spec, errors, err);
}

json_ref review_make(const struct review *q, struct json *d, json_ref body, struct field_errors *errors,
                     struct error *err)
{
    json_ref root = json_new_object(d), meta = json_new_object(d), spec = json_get(d, body, "spec");
    _cleanup_(buf_done_p) struct buf now = BUF_INIT(64);
    json_ref status = status_make(q, d, spec, errors, err);

    if (!status)
        return 0;
    json_set_string(d, root, "kind", review_kind(q->id));
    json_set_string(d, root, "apiVersion", q->api_version);
    json_set(d, root, "metadata", meta);
    if (q->id == VIRTUAL_SELF_SUBJECT_REVIEW) { /* the only one that gets a creation time */
        timestamp_format(q->now, &now);
        json_set_string(d, meta, "creationTimestamp", buf_cstr(&now));
    } else {
        json_set(d, root, "spec",
                 json_type(d, spec) == JSON_OBJECT ? json_copy(d, spec) : json_new_object(d));
    }
    json_set(d, root, "status", status);
    return json_check(d, err) < 0 ? 0 : root;
}

void review_answer(struct call *c, struct json *d, json_ref body)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    const struct resource *r = c->route.resource;
    const struct kind_info kind = { .name = r->kind, .group = r->group };
    const struct access_lookup lookup = store_lookup(c->server->store);
    struct error err = { 0 };
    struct review q = {
        .id = r->virtual_id,
        .api_version = call_text(c, "%s/%s", r->group, r->version),
        .user = c->user,
        .ns = c->route.ns,
        .authenticator = c->server->authenticator,
        .lookup = &lookup,
        .now = timestamp_of_ns(clock_real_ns(c->server->clock)),
        .arena = &c->arena,
    };
    json_ref answer = review_make(&q, d, body, &errors, &err);

    if (answer)
        call_answer_json(c, 201, d, answer);
    else if (err.code != ERR_NONE)
        call_fail(c, &err, /* about= */ NULL);
    else
        call_fail_invalid(c, &kind, STR_LIT(""), &errors);
}
