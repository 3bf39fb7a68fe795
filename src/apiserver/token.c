/* Issues tokens for service accounts: checks the request and the bound object, and signs the token. */
#include "apiserver/token.h"

#include <string.h>

#include "api/defaults.h"
#include "api/quote.h"
#include "apiserver/authenticate.h"
#include "apiserver/jwt.h"
#include "apiserver/node_restriction.h"
#include "apiserver/server.h"
#include "apiserver/store_lookup.h"
#include "base/cleanup.h"

#define TOKEN_AUDIENCES_MAX 64

static const struct kind_info token_kind = { .name = "TokenRequest", .group = "authentication.k8s.io" };

/* The object, or ERR_NOT_FOUND with the stock message. */
static const struct object *find_object(const struct token_order *q, enum kind kind, const char *name,
                                        struct status_info *about, struct error *err)
{
    const char *ns = kind_info(kind)->is_namespaced ? q->ns : "";
    const struct object *o = q->lookup->get(q->lookup->ctx, kind, ns, name);
    char quoted[ERROR_MSG_BYTES_MAX];

    if (!o) {
        (void)error_set(err, ERR_NOT_FOUND, "%s %s not found", kind_info(kind)->plural,
                        quote_text(quoted, sizeof quoted, str_of(name)));
        *about = (struct status_info){ .has_details = true, .name = name, .kind = kind_info(kind)->plural };
    }
    return o;
}

static int read_audiences(struct decoder *decoder, json_ref spec, struct texts *ret)
{
    static const char *const api[] = { JWT_ISSUER };
    json_ref list = json_get(decoder->d, spec, "audiences");

    if (json_count(decoder->d, list) > TOKEN_AUDIENCES_MAX)
        return error_set(decoder->err, ERR_BAD_REQUEST, "a token has at most %d audiences",
                         TOKEN_AUDIENCES_MAX);
    if (json_count(decoder->d, list) == 0) {
        *ret = (struct texts){ api, ARRAY_LEN(api) };
        return 0;
    }
    if (json_type(decoder->d, list) != JSON_ARRAY)
        return error_set(decoder->err, ERR_BAD_REQUEST, "spec.audiences is not a list");
    *ret = decode_texts(decoder, spec, "audiences");
    return decoder->r;
}

static int read_seconds(const struct json *d, json_ref spec, struct field_errors *errors, int64_t *ret,
                        struct error *err)
{
    struct field_path p = path_child(NULL, "spec");
    struct field_path path = path_child(&p, "expirationSeconds");
    json_ref v = json_get(d, spec, "expirationSeconds");

    *ret = TOKEN_SECONDS_DEFAULT;
    if (json_type(d, v) == JSON_NONE || json_type(d, v) == JSON_NULL)
        return 0;
    if (!json_int64(d, v, ret))
        return error_set(err, ERR_BAD_REQUEST, "spec.expirationSeconds is not an integer");
    if (*ret < TOKEN_SECONDS_MIN)
        errors_invalid(errors, &path, show_value(errors, d, v),
                       "may not specify a duration less than 10 minutes");
    if (*ret > TOKEN_SECONDS_MAX)
        errors_invalid(errors, &path, show_value(errors, d, v),
                       "may not specify a duration larger than 2^32 seconds");
    return 0;
}

/* --- The bound object --- */

static enum kind bound_kind(const char *api_version, const char *kind)
{
    static const enum kind kinds[] = { KIND_POD, KIND_SECRET, KIND_NODE };

    for (size_t i = 0; strcmp(api_version, "v1") == 0 && i < ARRAY_LEN(kinds); i++)
        if (strcmp(kind, kind_info(kinds[i])->name) == 0)
            return kinds[i];
    return KIND_COUNT;
}

static int check_bound(const struct token_order *q, const struct jwt_bound *b, const struct object *o,
                       struct error *err)
{
    char quoted[ERROR_MSG_BYTES_MAX];

    if (b->uid[0] != '\0' && strcmp(b->uid, o->uid) != 0)
        return error_set(err, ERR_CONFLICT,
                         "Operation cannot be fulfilled on %s %s: the UID in the bound object reference (%s) "
                         "does not match the UID in record. The object might have been deleted and then "
                         "recreated",
                         o->kind->name, quote_text(quoted, sizeof quoted, str_of(b->name)), b->uid);
    if (b->kind != KIND_POD)
        return 0;
    if (strcmp(pod_account(pod_of(o)), q->account) != 0)
        return error_set(
            err, ERR_BAD_REQUEST,
            "cannot bind token for serviceaccount %s to pod running with different serviceaccount "
            "name.",
            quote_text(quoted, sizeof quoted, str_of(q->account)));
    return 0;
}

static int read_bound(const struct token_order *q, struct decoder *decoder, json_ref spec,
                      struct jwt_bound *ret, struct status_info *about)
{
    json_ref ref = json_get(decoder->d, spec, "boundObjectRef");
    const char *api_version = decode_text(decoder, ref, "apiVersion"),
               *kind = decode_text(decoder, ref, "kind");
    struct jwt_bound b = {
        .kind = bound_kind(api_version, kind),
        .name = decode_text(decoder, ref, "name"),
        .uid = decode_text(decoder, ref, "uid"),
    };
    const struct object *o;
    int r;

    *ret = (struct jwt_bound){ .kind = KIND_COUNT, .name = "", .uid = "" };
    if (decoder->r < 0 || json_type(decoder->d, ref) != JSON_OBJECT)
        return decoder->r;
    if (b.kind == KIND_COUNT)
        return error_set(decoder->err, ERR_BAD_REQUEST, "cannot bind token to object of type %s%s, Kind=%s",
                         strchr(api_version, '/') ? "" : "/", api_version, kind);
    o = find_object(q, b.kind, b.name, about, decoder->err);
    if (!o)
        return -ERR_NOT_FOUND;
    r = check_bound(q, &b, o, decoder->err);
    if (r < 0)
        return r;
    b.uid = o->uid;
    *ret = b;
    return 0;
}

/* --- The response --- */

static json_ref answer_spec(struct json *d, json_ref spec, const struct jwt *t)
{
    json_ref out = json_new_object(d), audiences = json_new_array(d),
             ref = json_get(d, spec, "boundObjectRef");

    for (uint32_t i = 0; i < t->audiences.count; i++)
        json_append(d, audiences, json_new_string(d, str_of(t->audiences.items[i])));
    json_set(d, out, "audiences", audiences);
    json_set(d, out, "expirationSeconds", json_new_int(d, t->expires - t->issued));
    if (t->bound.kind != KIND_COUNT)
        json_set(d, out, "boundObjectRef", json_copy(d, ref));
    return out;
}

static json_ref fill_answer(const struct token_order *q, struct json *d, json_ref spec, const struct jwt *t,
                            struct str token)
{
    json_ref root = json_new_object(d), meta = json_new_object(d), status = json_new_object(d);

    json_set_string(d, meta, "name", q->account);
    json_set_string(d, meta, "namespace", q->ns);
    set_time(d, meta, "creationTimestamp", q->now);
    set_time(d, status, "expirationTimestamp", (struct timestamp){ .seconds = t->expires });
    json_set(d, status, "token", json_new_string(d, token));
    json_set_string(d, root, "kind", token_kind.name);
    json_set_string(d, root, "apiVersion", "authentication.k8s.io/v1");
    json_set(d, root, "metadata", meta);
    json_set(d, root, "spec", answer_spec(d, spec, t));
    json_set(d, root, "status", status);
    return root;
}

json_ref token_make(const struct token_order *q, struct json *d, json_ref body, struct field_errors *errors,
                    struct status_info *about, struct error *err)
{
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    struct decoder x = { .d = d, .arena = q->arena, .err = err };
    const struct object *account = find_object(q, KIND_SERVICE_ACCOUNT, q->account, about, err);
    struct jwt t = { .ns = q->ns, .account = q->account, .issued = q->now.seconds };
    json_ref spec = json_get(d, body, "spec"), root;
    int64_t seconds;

    if (!account || read_seconds(d, spec, errors, &seconds, err) < 0 || errors->count)
        return 0;
    if (read_audiences(&x, spec, &t.audiences) < 0 || read_bound(q, &x, spec, &t.bound, about) < 0)
        return 0;
    t.account_uid = account->uid;
    t.expires = t.issued + seconds;
    if (jwt_sign(&t, q->key, &token, err) < 0)
        return 0;
    root = fill_answer(q, d, spec, &t, buf_str(&token));
    return json_check(d, err) < 0 ? 0 : root;
}

/* Nodes request the tokens of their pods. */
static int check_node(struct call *c, const struct access_lookup *lookup, struct json *d, json_ref body,
                      struct error *err)
{
    struct access access;
    struct restricted_write w = {
        .access = &access,
        .kind = kind_info(KIND_SERVICE_ACCOUNT),
        .d = d,
        .object = body,
    };

    access_of_call(c, &access);
    return node_restriction(c->user, &w, lookup, err);
}

void token_answer(struct call *c, struct json *d, json_ref body)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    const struct access_lookup lookup = store_lookup(c->server->store);
    struct status_info about = { 0 };
    struct error err = { 0 };
    json_ref root = 0;
    struct token_order q = {
        .lookup = &lookup,
        .ns = call_copy(c, c->route.ns),
        .account = call_copy(c, c->route.name),
        .now = timestamp_of_ns(clock_real_ns(c->server->clock)),
        .arena = &c->arena,
    };

    if (!c->server->authenticator) {
        (void)error_set(&err, ERR_UNSUPPORTED, "this server issues no tokens");
    } else if (check_node(c, &lookup, d, body, &err) == 0) {
        q.key = authenticator_token_key(c->server->authenticator);
        root = token_make(&q, d, body, &errors, &about, &err);
    }
    if (root)
        call_answer_json(c, 201, d, root);
    else if (err.code == ERR_DENIED)
        call_fail_resource(c, &err, c->route.name);
    else if (err.code != ERR_NONE)
        call_fail(c, &err, about.has_details ? &about : NULL);
    else
        call_fail_invalid(c, &token_kind, STR_LIT(""), &errors);
}
