/* Impersonation by the Impersonate-* headers, for members of system:masters. Headers are read in one pass. */
#include "apiserver/authenticate.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "apiserver/authorize.h"
#include "apiserver/user.h"
#include "base/vec.h"

#define PREFIX "Impersonate-"
#define EXTRA_PREFIX PREFIX "Extra-"

struct extra_header {
    struct str key; /* as sent */
    const char *value;
};

/* The values of the headers. Names and values are bounded by the carrier. */
struct request {
    struct arena *arena;
    const char *name; /* NULL for none */
    const char *uid;
    VEC(const char *) groups;
    VEC(struct extra_header) extra;
    bool has_no_memory;
};

static void request_done(struct request *q)
{
    vec_done(&q->groups);
    vec_done(&q->extra);
}

static bool header_is(struct str name, const char *wanted)
{
    return name.len == strlen(wanted) && strncasecmp(name.s, wanted, name.len) == 0;
}

static void on_header(void *ctx, struct str name, struct str value)
{
    const size_t prefix = sizeof EXTRA_PREFIX - 1;
    struct request *q = ctx;
    const char *text;
    int r = 0;

    if (name.len < sizeof PREFIX - 1 || strncasecmp(name.s, PREFIX, sizeof PREFIX - 1) != 0)
        return;
    text = arena_dup(q->arena, value);
    if (header_is(name, PREFIX "User") && !q->name)
        q->name = value.len ? text : NULL;
    else if (header_is(name, PREFIX "Uid") && !q->uid)
        q->uid = text;
    else if (header_is(name, PREFIX "Group"))
        r = vec_push(&q->groups, text);
    else if (name.len > prefix && strncasecmp(name.s, EXTRA_PREFIX, prefix) == 0)
        r = vec_push(&q->extra, (struct extra_header){ { name.s + prefix, name.len - prefix }, text });
    q->has_no_memory |= r < 0 || !text;
}

/* Keys are percent-encoded and case-insensitive, as header names are: `Acme.com%2Fproject`. */
static int extra_key(struct call *c, struct str name, const char **ret, struct error *err)
{
    struct str decoded;
    int r = percent_decode(name, /* plus_is_blank= */ false, &c->arena, &decoded, err);
    char *key;

    if (r < 0)
        return r;
    key = arena_dup(&c->arena, decoded);
    if (!key)
        return error_no_memory(err);
    for (size_t i = 0; i < decoded.len; i++)
        key[i] = (char)tolower((unsigned char)key[i]);
    *ret = key;
    return 0;
}

/* One entry per header: several values of one key stay several entries. */
static int extra_new(struct call *c, const struct request *q, const struct user_extra **ret,
                     struct error *err)
{
    struct user_extra *extra = arena_array(&c->arena, q->extra.count + 1, sizeof *extra);
    const char **values = arena_array(&c->arena, 2 * q->extra.count, sizeof *values);

    if (!extra || (q->extra.count && !values))
        return error_no_memory(err);
    for (size_t i = 0; i < q->extra.count; i++) {
        int r = extra_key(c, q->extra.items[i].key, &extra[i].key, err);
        if (r < 0)
            return r;
        values[2 * i] = q->extra.items[i].value;
        extra[i].values = &values[2 * i];
    }
    *ret = extra;
    return 0;
}

/* Without groups in the headers the user has its implied groups. */
static int make_requested_user(struct call *c, struct request *q, const struct user **ret, struct error *err)
{
    const struct user_extra *extra = NULL;
    struct str ns, account;
    const struct user *u;
    int r = 0;

    if (q->extra.count)
        r = extra_new(c, q, &extra, err);
    if (r < 0)
        return r;
    if (q->groups.count == 0 && user_service_account(str_of(q->name), &ns, &account))
        u = user_new_service_account(&c->arena, call_copy(c, ns), call_copy(c, account), q->uid ? q->uid : "",
                                     extra);
    else if (vec_push(&q->groups, NULL) < 0)
        return error_no_memory(err);
    else
        u = user_new(&c->arena, q->name, q->uid ? q->uid : "", q->groups.items, extra);
    if (!u)
        return error_no_memory(err);
    *ret = u;
    return 0;
}

int authenticate_impersonation(struct call *c, const struct user *real, const struct user **ret,
                               struct error *err)
{
    _cleanup_(request_done) struct request q = { .arena = &c->arena };

    c->carrier->each_header(c, on_header, &q);
    if (q.has_no_memory)
        return error_no_memory(err);
    if (!q.name && !q.uid && !q.groups.count && !q.extra.count) {
        *ret = real;
        return 0;
    }
    if (!user_is_in(real, GROUP_MASTERS)) {
        const char *name = q.name ? q.name : q.groups.count ? q.groups.items[0] : "";
        struct access a = {
            .is_resource = true,
            .verb = STR_LIT("impersonate"),
            .resource = q.name ? STR_LIT("users") : STR_LIT("groups"),
            .name = str_of(name),
        };
        return access_refuse(real, &a, "", err);
    }
    if (!q.name)
        return error_set(err, ERR_BAD_REQUEST, "requested groups, uid or extra without impersonating a user");
    return make_requested_user(c, &q, ret, err);
}
