/* status.volumesAttached of nodes: what each may mount.
 *
 * Nobody else writes it, so a patch goes by the node's uid alone: its heartbeats are in nobody's way. A node
 * has one write on its way at most; what changes meanwhile goes into the next. A write whose end is not known
 * is written again, whatever the cache says: that is compared with before the first write to a node alone. */
#include "controllers/attach/attach_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "machinery/write.h"

#define RETRY_NS (100 * NS_PER_MS)
#define RETRY_NS_MAX (10 * NS_PER_S)
/* Of an annotation: all of an object's together may have 256 KiB. */
#define REMEMBERED_BYTES_MAX ((size_t)64 << 10)

void attach_status_mark(struct worlds_node *n)
{
    if (!n->is_marked) {
        n->is_marked = true;
        TAILQ_INSERT_TAIL(&n->attach->worlds.marked_nodes, n, link);
    }
    attach_wake(n->attach);
}

static void on_retry(void *ctx)
{
    attach_status_mark(ctx);
}

void attach_status_init(struct worlds_node *n)
{
    timer_init(&n->retry, n->attach->o.part.loop, on_retry, n);
}

void attach_status_done(struct worlds_node *n)
{
    if (n->is_marked)
        TAILQ_REMOVE(&n->attach->worlds.marked_nodes, n, link);
    timer_disarm(&n->retry);
    client_cancel(&n->call);
}

/* --- What it says --- */

static const char *device_of(const struct worlds_pair *p)
{
    return p->device ? p->device : "";
}

bool attach_status_remembers(const struct worlds_pair *p)
{
    return p->was_reported && !p->is_reported && !str_has_prefix(str_of(p->volume->name), CSI_PLUGIN "/");
}

/* "" for none. What does not fit is left out: a node's status matters more. */
static void write_remembered(const struct worlds_node *n, struct buf *out)
{
    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct worlds_pair *p = n->pairs.items[i];

        if (!attach_status_remembers(p) || out->len + strlen(p->volume->name) > REMEMBERED_BYTES_MAX)
            continue;
        (void)buf_add_char(out, out->len ? ',' : '[');
        json_write_string(out, str_of(p->volume->name));
    }
    if (out->len)
        (void)buf_add_char(out, ']');
}

static bool remembers_so(const struct node *is, const struct worlds_node *n)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WRITE_BODY_BYTES_MAX);
    const char *now = object_annotation(&is->obj, ANN_MAY_BE_ATTACHED);

    write_remembered(n, &text);
    return text.failed == ERR_NONE && strcmp(buf_cstr(&text), now ? now : "") == 0;
}

static bool says_so(const struct node *is, const struct worlds_node *n)
{
    size_t count = 0;

    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct worlds_pair *p = n->pairs.items[i];
        const struct attached_volume *v = p->is_reported ? node_attached_volume(is, p->volume->name) : NULL;

        if (!p->is_reported)
            continue;
        count++;
        if (!v || strcmp(v->device_path, device_of(p)) != 0)
            return false;
    }
    return count == is->volumes_attached_count && remembers_so(is, n);
}

static void write_list(const struct worlds_node *n, struct buf *out)
{
    const char *separator = "[";

    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct worlds_pair *p = n->pairs.items[i];

        if (!p->is_reported)
            continue;
        (void)buf_addf(out, "%s{\"name\":", separator);
        json_write_string(out, str_of(p->volume->name));
        (void)buf_add_cstr(out, ",\"devicePath\":");
        json_write_string(out, str_of(device_of(p)));
        (void)buf_add_char(out, '}');
        separator = ",";
    }
    (void)buf_add_cstr(out, separator[0] == '[' ? "null" : "]");
}

/* --- The write --- */

/* The server has what was sent: detaches may wait for it. */
static void acknowledge(struct worlds_node *n, uint64_t report)
{
    n->acknowledged = report;
    n->retry_ns = 0;
    for (size_t i = 0; i < n->pairs.count; i++)
        if (!pair_is_wanted(n->pairs.items[i]))
            worlds_mark(n->pairs.items[i]->volume);
}

static void fail(struct worlds_node *n, const struct error *err)
{
    n->retry_ns = n->retry_ns ? 2 * n->retry_ns : RETRY_NS;
    if (n->retry_ns > RETRY_NS_MAX)
        n->retry_ns = RETRY_NS_MAX;
    timer_arm_after(&n->retry, n->retry_ns);
    log_warn("cannot write which volumes are attached, will try again", LOG_STR("node", n->name),
             LOG_ERR(err));
}

static void on_answer(void *ctx, const struct client_answer *x)
{
    struct worlds_node *n = ctx;

    if (x->r == 0 || x->r == -ERR_NOT_FOUND)
        acknowledge(n, n->sent);
    else
        fail(n, &x->error);
    if (n->report != n->acknowledged && !timer_is_armed(&n->retry))
        attach_status_mark(n);
    worlds_node_settle(n);
}

/* Metadata of nodes can be written together with their status. */
static void write_annotation(struct worlds_node *n, struct buf *body)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WRITE_BODY_BYTES_MAX);

    write_remembered(n, &text);
    if (text.failed)
        body->failed = text.failed;
    n->remembers |= text.len > 0;
    if (!n->remembers)
        return;
    (void)buf_add_cstr(body, ",\"annotations\":{\"" ANN_MAY_BE_ATTACHED "\":");
    if (text.len)
        json_write_string(body, buf_str(&text));
    else
        (void)buf_add_cstr(body, "null");
    (void)buf_add_char(body, '}');
}

static void send_status(struct attach *a, struct worlds_node *n, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(KIND_NODE),
                                .name = n->name,
                                .subresource = "status",
                                .patch = CLIENT_PATCH_MERGE,
                                .field_manager = ATTACH_MANAGER };
    struct error err;

    (void)buf_add_cstr(&body, "{\"metadata\":{\"uid\":");
    json_write_string(&body, str_of(o->uid));
    write_annotation(n, &body);
    (void)buf_add_cstr(&body, "},\"status\":{\"volumesAttached\":");
    write_list(n, &body);
    (void)buf_add_cstr(&body, "}}");
    if (buf_check(&body, "node status", &err) < 0) {
        fail(n, &err);
        return;
    }
    q.body = buf_str(&body);
    n->sent = n->report;
    n->may_be_right = false;
    client_send(a->o.part.client, &n->call, &q, on_answer, n);
}

static void write_one(struct attach *a, struct worlds_node *n)
{
    const struct object *o = informer_get(a->nodes, "", n->name);

    if (client_call_is_active(&n->call) || timer_is_armed(&n->retry))
        return; /* the answer, or the end of the delay, looks again */
    if (n->report == n->acknowledged)
        return;
    if (!o || (n->may_be_right && says_so(node_of(o), n))) {
        n->may_be_right = false;
        acknowledge(n, n->report); /* there is nothing to be told, or nobody */
    } else {
        send_status(a, n, o);
    }
}

void attach_status_write(struct attach *a)
{
    struct worlds_node *n;

    while ((n = TAILQ_FIRST(&a->worlds.marked_nodes))) {
        n->is_marked = false;
        TAILQ_REMOVE(&a->worlds.marked_nodes, n, link);
        write_one(a, n);
    }
}
