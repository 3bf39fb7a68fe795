/* Loads lists of objects and statistics of nodes over a session, page by page. */
#include "cli/load.h"

#include <string.h>

#include "api/list.h"
#include "api/node.h"
#include "cli/cli.h"

#define STATS_PATH "/stats/volumes"
/* Nodes without statistics that are listed by name. */
#define SILENT_SHOWN_MAX 5

/* --- Objects --- */

/* One page of a list; the token of the next one in *ret_token, "" at the end. */
static int load_page(struct inventory *v, const struct kind_info *k, struct reply *reply, struct json *d,
                     struct buf *ret_token, struct error *err)
{
    struct list_reader l;
    struct object *o;
    json_ref answer;
    int r;

    json_clear(d);
    if (json_parse(d, buf_str(&reply->text), &answer, err) < 0 || list_open(d, answer, k, &l, err) < 0)
        return -(int)err->code;
    buf_clear(ret_token);
    buf_add_str(ret_token, l.meta.continue_token);
    while ((r = list_next(&l, &o, err)) != 0) {
        if (r == -ERR_NO_MEMORY)
            return r;
        if (r > 0 && inventory_add_take(v, o, err) < 0)
            return -(int)err->code;
    }
    return buf_check(ret_token, "continue token", err);
}

int inventory_load(struct inventory *v, struct session *s, enum kind kind, const char *ns)
{
    struct reply *reply = &s->reply;
    _cleanup_(json_done_p) struct json d = { 0 };
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(65536);
    const struct kind_info *k = kind_info(kind);
    struct client_request q = {
        .verb = CLIENT_LIST, .kind = k, .ns = k->is_namespaced ? ns : NULL, .limit = SESSION_PAGE
    };
    struct error err;

    json_init(&d, SESSION_BYTES_MAX);
    do {
        q.continue_token = token.len ? buf_cstr(&token) : NULL;
        if (session_ask(s, &q) < 0)
            return reply->r;
        if (load_page(v, k, reply, &d, &token, &err) < 0) {
            reply->r = -(int)err.code;
            reply->reason[0] = '\0';
            buf_clear(&reply->text);
            buf_addf(&reply->text, "cannot read the server's response: %s", err.msg);
            return reply->r;
        }
    } while (token.len);
    inventory_set_known(v, kind, /* is_whole= */ !q.ns);
    return 0;
}

/* --- Statistics --- */

static int request_node_stats(struct usages *u, struct session *s, const struct node *n, struct error *err)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(1024);
    struct client_request q = { .verb = CLIENT_RAW };
    const char *ignored;
    int r;

    if (!node_is_ready(n))
        return usages_add_silent(u, n->obj.name, STR_LIT("node not ready"), err);
    buf_addf(&path, "/api/v1/nodes/%s/proxy/stats/summary", n->obj.name);
    q.path = buf_cstr(&path);
    if (session_ask(s, &q) < 0)
        return usages_add_silent(u, n->obj.name, str_trim(buf_str(&s->reply.text)), err);
    r = usages_read(u, buf_str(&s->reply.text), &ignored, err);
    if (r < 0 && r != -ERR_NO_MEMORY)
        return usages_add_silent(u, n->obj.name, str_of(err->msg), err);
    return r;
}

int usages_load(struct usages *u, struct session *s, const struct inventory *nodes, struct error *err)
{
    struct client_request q = { .verb = CLIENT_RAW, .path = STATS_PATH };
    const char *own = ""; /* the node in the server's own process */
    int r = 0;

    if (session_ask(s, &q) == 0)
        r = usages_read(u, buf_str(&s->reply.text), &own, err);
    if (r < 0 && r != -ERR_NO_MEMORY)
        r = usages_add_silent(u, "of this server", str_of(err->msg), err);
    for (size_t i = 0; i < nodes->kinds[KIND_NODE].list.count && r == 0; i++) {
        const struct node *n = node_of(nodes->kinds[KIND_NODE].list.items[i]);

        if (strcmp(n->obj.name, own) != 0)
            r = request_node_stats(u, s, n, err);
    }
    usages_sort(u);
    return r;
}

void usages_complain(const struct usages *u)
{
    size_t shown = u->silent.count > SILENT_SHOWN_MAX + 1 ? SILENT_SHOWN_MAX : u->silent.count;

    for (size_t i = 0; i < shown; i++)
        (void)cli_fail("no statistics from node %s: %s", u->silent.items[i].name, u->silent.items[i].why);
    if (shown < u->silent.count)
        (void)cli_fail("no statistics from %zu more nodes", u->silent.count - shown);
}
