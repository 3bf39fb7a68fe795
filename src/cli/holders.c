#include "cli/holders.h"

#include "cli/load.h"

/* So many pods are named; the others are counted. */
#define HOLDERS_NAMED_MAX 3

static bool write_pods(const struct claim_user *users, size_t count, struct buf *out)
{
    size_t found = 0, named = 0;

    for (size_t i = 0; i < count; i++)
        found += users[i].pod->node_name[0] != '\0'; /* one that is nowhere yet does not keep the claim */
    if (found == 0)
        return false;
    buf_add_cstr(out, found == 1 ? "pod " : "pods ");
    for (size_t i = 0; i < count && named < HOLDERS_NAMED_MAX; i++)
        if (users[i].pod->node_name[0])
            buf_addf(out, "%s%s", named++ ? ", " : "", users[i].pod->obj.name);
    if (found > named)
        buf_addf(out, " and %zu more", found - named);
    buf_add_cstr(out, found == 1 ? " uses it" : " use it");
    return true;
}

static bool write_users(struct session *s, const char *ns, const char *name, struct buf *out)
{
    _cleanup_(inventory_done_p) struct inventory v = { 0 };
    _cleanup_(reply_done_p) struct reply reply = { 0 };
    const struct claim_user *users;
    const struct object *claim;
    struct error err;
    size_t count;

    if (inventory_load(&v, s, KIND_CLAIM, ns, &reply) < 0 ||
        inventory_load(&v, s, KIND_POD, ns, &reply) < 0 || inventory_tie(&v, &err) < 0)
        return false;
    claim = inventory_find(&v, KIND_CLAIM, ns, name);
    if (!claim || !claim->is_deleting)
        return false;
    users = inventory_users(&v, claim_of(claim), &count);
    return write_pods(users, count, out);
}

static bool write_claim(struct session *s, const char *name, struct buf *out)
{
    _cleanup_(reply_done_p) struct reply reply = { 0 };
    _cleanup_(json_done_p) struct json d = { 0 };
    struct client_request q = { .verb = CLIENT_GET, .kind = kind_info(KIND_VOLUME), .name = name };
    json_ref volume, claim;
    struct error err;

    json_init(&d, SESSION_BYTES_MAX);
    if (session_ask(s, &q, &reply) < 0 || json_parse(&d, buf_str(&reply.text), &volume, &err) < 0)
        return false;
    claim = json_path(&d, volume, "spec", "claimRef");
    if (!claim || !json_path(&d, volume, "metadata", "deletionTimestamp") ||
        !json_is_string(&d, json_path(&d, volume, "status", "phase"), "Bound"))
        return false;
    buf_addf(out, "claim %.*s/%.*s is bound to it", STR_ARG(json_get_text(&d, claim, "namespace")),
             STR_ARG(json_get_text(&d, claim, "name")));
    return true;
}

bool holders_write(struct session *s, const struct kind_info *k, const char *ns, const char *name,
                   struct buf *out)
{
    if (k->kind == KIND_CLAIM)
        return write_users(s, ns, name, out);
    return k->kind == KIND_VOLUME && write_claim(s, name, out);
}
