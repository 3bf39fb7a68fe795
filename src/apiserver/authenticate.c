/* Authentication of calls: client certificate, static token file, service account tokens; then impersonation.
 *
 * Certificates are verified by the TLS library. The signature of a service account's token is verified each
 * time (0.1 to 0.2 ms), and its account must still exist. */
#include "apiserver/authenticate.h"

#include <string.h>
#include <strings.h>

#include "apiserver/token_file.h"
#include "apiserver/user.h"

#define EXTRA_POD_NAME "authentication.kubernetes.io/pod-name"
#define EXTRA_POD_UID "authentication.kubernetes.io/pod-uid"

struct authenticator {
    const struct clock *clock;
    const struct key *token_key;
    struct token_file *tokens; /* NULL for none */
    struct access_lookup lookup;
    bool is_insecure;
};

int authenticator_new(const struct authenticator_options *o, struct authenticator **ret, struct error *err)
{
    _cleanup_(authenticator_free_p) struct authenticator *a = calloc(1, sizeof *a);
    int r = 0;

    if (!a)
        return error_no_memory(err);
    a->clock = o->clock;
    a->token_key = o->token_key;
    a->lookup = o->lookup;
    a->is_insecure = o->is_insecure;
    if (o->token_file)
        r = token_file_load(o->token_file, &a->tokens, err);
    if (r < 0)
        return r;
    *ret = TAKE(a);
    return 0;
}

struct authenticator *authenticator_free(struct authenticator *a)
{
    if (!a)
        return NULL;
    a->tokens = token_file_free(a->tokens);
    free(a);
    return NULL;
}

const struct key *authenticator_token_key(const struct authenticator *a)
{
    return a->token_key;
}

/* --- Tokens of service accounts --- */

static int refuse_token(struct error *err, const char *why)
{
    return error_set(err, ERR_UNAUTHORIZED, "invalid bearer token: %s", why);
}

/* Whether the same object still exists: another one may have its name now. */
static bool still_exists(const struct access_lookup *f, enum kind kind, const char *ns, const char *name,
                         const char *uid)
{
    const struct object *o = f->get(f->ctx, kind, ns, name);

    return o && strcmp(o->uid, uid) == 0;
}

static int check_holder(const struct access_lookup *f, const struct jwt *t, struct error *err)
{
    const char *bound_ns = t->bound.kind == KIND_NODE ? "" : t->ns;

    if (!still_exists(f, KIND_SERVICE_ACCOUNT, t->ns, t->account, t->account_uid))
        return refuse_token(err, "its service account has been deleted");
    if (t->bound.kind != KIND_COUNT && !still_exists(f, t->bound.kind, bound_ns, t->bound.name, t->bound.uid))
        return refuse_token(err, "the object it is bound to has been deleted");
    return 0;
}

static int check_times(const struct clock *clock, const struct jwt *t, struct error *err)
{
    int64_t now = clock_real_ns(clock) / (int64_t)NS_PER_S;

    if (now < t->issued)
        return refuse_token(err, "it is not valid yet");
    if (now >= t->expires)
        return refuse_token(err, "it has expired");
    return 0;
}

/* The audiences that are in both lists. */
static int check_audiences(struct texts wanted, struct texts offered, struct arena *arena, struct texts *ret,
                           struct error *err)
{
    const char **items = arena_array(arena, wanted.count, sizeof *items);
    uint32_t count = 0;

    if (!items)
        return arena_check(arena, err);
    for (uint32_t i = 0; i < wanted.count; i++)
        if (texts_have(&offered, wanted.items[i]))
            items[count++] = wanted.items[i];
    if (count == 0)
        return refuse_token(err, "it is meant for another audience");
    *ret = (struct texts){ items, count };
    return 0;
}

/* The pod that the token was issued for, for audits. */
static const struct user_extra *pod_extra(struct arena *arena, const struct jwt *t)
{
    struct user_extra *extra;
    const char **values;

    if (t->bound.kind != KIND_POD)
        return NULL;
    extra = arena_array(arena, 3, sizeof *extra);
    values = arena_array(arena, 4, sizeof *values);
    if (!extra || !values)
        return NULL;
    values[0] = t->bound.name;
    values[2] = t->bound.uid;
    extra[0] = (struct user_extra){ EXTRA_POD_NAME, values };
    extra[1] = (struct user_extra){ EXTRA_POD_UID, values + 2 };
    return extra;
}

static int service_account(const struct authenticator *a, struct str token, struct texts audiences,
                           struct arena *arena, const struct user **ret, struct texts *ret_audiences,
                           struct error *err)
{
    const struct user_extra *extra;
    struct texts shared = { 0 };
    struct jwt t = { 0 };
    int r = jwt_read(token, a->token_key, arena, &t, err);

    if (r == 0)
        r = check_times(a->clock, &t, err);
    if (r == 0)
        r = check_holder(&a->lookup, &t, err);
    if (r == 0)
        r = check_audiences(audiences, t.audiences, arena, &shared, err);
    if (r < 0)
        return r;
    extra = pod_extra(arena, &t);
    *ret = user_new_service_account(arena, t.ns, t.account, t.account_uid, extra);
    *ret_audiences = shared;
    return arena_check(arena, err);
}

int authenticate_token(const struct authenticator *a, struct str token, struct texts audiences,
                       struct arena *arena, const struct user **ret, struct texts *ret_audiences,
                       struct error *err)
{
    static const char *const api[] = { JWT_ISSUER };
    const struct user *user = a->tokens ? token_file_find(a->tokens, token) : NULL;

    if (!audiences.count)
        audiences = (struct texts){ api, 1 };
    if (!user)
        return service_account(a, token, audiences, arena, ret, ret_audiences, err);
    *ret = user;
    *ret_audiences = audiences; /* tokens of the file are valid for all audiences */
    return 0;
}

/* --- Calls --- */

/* The token of `Authorization: Bearer TOKEN`; empty when there is none, or another scheme. */
static struct str bearer_token(const struct call *c)
{
    static const char scheme[] = "bearer";
    struct str rest = str_trim(call_header(c, "Authorization"));
    struct str first = str_next(&rest, ' ');

    if (!rest.s || first.len != sizeof scheme - 1 || strncasecmp(first.s, scheme, first.len) != 0)
        return STR_LIT("");
    return str_next(&rest, ' ');
}

static int identify_caller(const struct authenticator *a, struct call *c, const struct user **ret,
                           struct error *err)
{
    struct str token = bearer_token(c);
    struct texts ignored;

    if (c->is_trusted || a->is_insecure) {
        *ret = &user_admin;
        return 0;
    }
    if (c->peer_is_invalid)
        return error_set(err, ERR_UNAUTHORIZED, "client certificate is not signed by the client CA");
    if (c->peer) {
        const struct user *u = user_new(&c->arena, c->peer->common_name, "", c->peer->organizations, NULL);
        if (!u)
            return error_no_memory(err);
        *ret = u;
        return 0;
    }
    if (token.len)
        return authenticate_token(a, token, (struct texts){ 0 }, &c->arena, ret, &ignored, err);
    *ret = &user_anonymous;
    return 0;
}

int authenticate_call(const struct authenticator *a, struct call *c, const struct user **ret,
                      struct error *err)
{
    const struct user *user;
    int r = identify_caller(a, c, &user, err);

    if (r == -ERR_UNAUTHORIZED)
        return error_set(err, ERR_UNAUTHORIZED, "Unauthorized"); /* the reason would only help attackers */
    return r < 0 ? r : authenticate_impersonation(c, user, ret, err);
}
