/* Users and groups: constructors and tests. Users are immutable and live in the arena of their call. */
#include "apiserver/user.h"

#include <string.h>

static const char *const admin_groups[] = { GROUP_MASTERS, GROUP_AUTHENTICATED, NULL };
static const char *const anonymous_groups[] = { GROUP_UNAUTHENTICATED, NULL };

const struct user user_admin = { USER_ADMIN, "", admin_groups, NULL };
const struct user user_anonymous = { USER_ANONYMOUS, "", anonymous_groups, NULL };

static bool is_among(const char *const *texts, const char *text)
{
    for (; *texts; texts++)
        if (strcmp(*texts, text) == 0)
            return true;
    return false;
}

bool user_is_in(const struct user *u, const char *group)
{
    return is_among(u->groups, group);
}

bool user_is_anonymous(const struct user *u)
{
    return strcmp(u->name, USER_ANONYMOUS) == 0;
}

/* What follows the prefix in the name of a member of the group; "" for others. */
static struct str name_in_group(const struct user *u, const char *prefix, const char *group)
{
    struct str name = str_of(u->name);
    const size_t len = strlen(prefix);

    if (!str_has_prefix(name, prefix) || !user_is_in(u, group))
        return STR_LIT("");
    return (struct str){ name.s + len, name.len - len };
}

struct str user_node(const struct user *u)
{
    return name_in_group(u, USER_NODE_PREFIX, GROUP_NODES);
}

struct str user_csi_node(const struct user *u)
{
    return name_in_group(u, USER_CSI_NODE_PREFIX, GROUP_CSI_NODES);
}

/* The groups and one more, without duplicates. */
static const char *const *groups_new(struct arena *a, const char *const *groups, const char *added)
{
    static const char *const none[] = { NULL };
    size_t count = 0, at = 0;
    const char **copy;

    groups = groups ? groups : none;
    while (groups[count])
        count++;
    copy = arena_array(a, count + 2, sizeof *copy);
    for (; copy && at < count; at++)
        copy[at] = arena_dup(a, str_of(groups[at]));
    if (copy && !is_among(groups, added))
        copy[at] = added;
    return copy;
}

const struct user *user_new(struct arena *a, const char *name, const char *uid, const char *const *groups,
                            const struct user_extra *extra)
{
    bool is_anonymous = strcmp(name, USER_ANONYMOUS) == 0;
    struct user *u = arena_alloc(a, sizeof *u);

    if (!u)
        return NULL;
    *u = (struct user){
        .name = arena_dup(a, str_of(name)),
        .uid = arena_dup(a, str_of(uid)),
        .groups = groups_new(a, groups, is_anonymous ? GROUP_UNAUTHENTICATED : GROUP_AUTHENTICATED),
        .extra = extra,
    };
    return a->failed ? NULL : u;
}

const struct user *user_new_service_account(struct arena *a, const char *ns, const char *name,
                                            const char *uid, const struct user_extra *extra)
{
    const char *full = arena_printf(a, USER_SERVICE_ACCOUNT_PREFIX "%s:%s", ns, name);
    const char *groups[] = { GROUP_SERVICE_ACCOUNTS, arena_printf(a, GROUP_SERVICE_ACCOUNTS ":%s", ns),
                             NULL };

    return a->failed ? NULL : user_new(a, full, uid, groups, extra);
}

bool user_service_account(struct str name, struct str *ret_ns, struct str *ret_name)
{
    const size_t prefix = sizeof USER_SERVICE_ACCOUNT_PREFIX - 1;
    struct str rest, ns;

    if (!str_has_prefix(name, USER_SERVICE_ACCOUNT_PREFIX))
        return false;
    rest = (struct str){ name.s + prefix, name.len - prefix };
    ns = str_next(&rest, ':');
    if (!ns.len || !rest.s || !rest.len || memchr(rest.s, ':', rest.len))
        return false;
    *ret_ns = ns;
    *ret_name = rest;
    return true;
}
