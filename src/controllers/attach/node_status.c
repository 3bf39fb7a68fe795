/* status.volumesAttached of nodes: what each may mount.
 *
 * A patch carries the version of the Node that it was decided on: one that the network kept and delivers
 * late, perhaps long after the process that sent it, is refused, or it would put back a volume that is being
 * detached. After a conflict the Node as it is then is written to. A node has one write on its way at most;
 * what changes meanwhile goes into the next.
 *
 * While a write may be on its way whose end is not known, of this process or of the one before, nothing is
 * proven by what the Node says: it may still change. Then the next write changes something in any case (an
 * annotation), and whatever was sent before is refused from there on. */
#include "controllers/attach/attach_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "machinery/merge_patch.h"
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

void attach_status_prove(struct worlds_node *n)
{
    n->is_proof_wanted = true;
    attach_status_mark(n);
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
    api_write_cancel(&n->write);
    n->known = object_unref(n->known);
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
        if (!out->len)
            json_out_array(out, NULL);
        json_out_text(out, NULL, p->volume->name);
    }
    if (out->len)
        json_out_end_array(out);
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
    bool has_any = false;

    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct worlds_pair *p = n->pairs.items[i];

        if (!p->is_reported)
            continue;
        if (!has_any)
            json_out_array(out, "volumesAttached");
        has_any = true;
        json_out_object(out, NULL);
        json_out_text(out, "name", p->volume->name);
        json_out_text(out, "devicePath", device_of(p));
        json_out_end_object(out);
    }
    if (has_any)
        json_out_end_array(out);
    else
        json_out_null(out, "volumesAttached");
}

/* --- The write --- */

/* The server has what was sent, or there is nothing to send: detaches may wait for it. */
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
    n->is_unproven = true;
    n->is_read_anew = false;
    n->retry_ns = n->retry_ns ? 2 * n->retry_ns : RETRY_NS;
    if (n->retry_ns > RETRY_NS_MAX)
        n->retry_ns = RETRY_NS_MAX;
    timer_arm_after(&n->retry, n->retry_ns);
    log_warn("cannot write which volumes are attached, will try again", LOG_STR("node", n->name),
             LOG_ERR(err));
}

/* Something waits for the proof that nothing sent before can arrive. */
static bool needs_fence(const struct worlds_node *n)
{
    return n->is_unproven && n->is_proof_wanted;
}

/* What the server answered, which the cache may not have heard of. The cache is not told: that the node has
 * this status is no word of the node's. */
static void set_known(struct worlds_node *n, const struct object *o)
{
    struct object *before = n->known;

    n->known = o ? object_ref(o) : NULL;
    (void)object_unref(before);
}

/* The Node to decide on: as cached, or as answered where that is newer. NULL: there is none. */
static const struct object *latest(struct attach *a, struct worlds_node *n)
{
    const struct object *o = informer_get(a->nodes, "", n->name);

    if (!o || !n->known || strcmp(o->uid, n->known->uid) != 0 ||
        version_cmp(object_version(n->known), object_version(o)) != 1)
        set_known(n, NULL);
    return n->known ? n->known : o;
}

static void on_answer(void *ctx, enum api_outcome outcome, const struct client_answer *x)
{
    struct worlds_node *n = ctx;

    if (outcome == API_DONE || x->r == -ERR_NOT_FOUND) {
        /* What was sent before has an older version, or the uid of a Node that is gone. */
        n->is_unproven = n->is_proof_wanted = n->is_read_anew = false;
        set_known(n, x->object);
        acknowledge(n, n->sent);
    } else if (outcome == API_CONFLICT && (x->http_status == 0 || (x->object && !n->is_read_anew))) {
        /* Heartbeats come between, but not twice in a row. */
        n->is_read_anew = x->object != NULL;
        if (x->object)
            set_known(n, x->object);
        attach_status_mark(n);
    } else {
        if (x->object)
            set_known(n, x->object);
        fail(n, &x->error); /* if it is gone the cache will know by then */
    }
    if (n->report != n->acknowledged && !timer_is_armed(&n->retry))
        attach_status_mark(n);
    worlds_node_settle(n);
}

/* Metadata of nodes can be written together with their status. */
static void remember(struct worlds_node *n, struct merge_patch *p, struct buf *body)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WRITE_BODY_BYTES_MAX);

    write_remembered(n, &text);
    if (text.failed)
        body->failed = text.failed;
    n->remembers |= text.len > 0;
    if (n->remembers)
        merge_patch_annotation(p, ANN_MAY_BE_ATTACHED, text.len ? buf_cstr(&text) : NULL);
}

static enum err write_patch(struct attach *a, struct worlds_node *n, const struct object *o, struct buf *body)
{
    char number[ATTACH_FENCE_BYTES];
    struct merge_patch p;

    merge_patch_begin(&p, body, MUTANT("attach-reports-on-any-version") ? NULL : o);
    if (n->is_unproven) {
        attach_fence_number(a, number);
        merge_patch_annotation(&p, ATTACH_FENCE, number);
    }
    remember(n, &p, body);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    write_list(n, body);
    json_out_end_object(body);
    return merge_patch_finish(&p);
}

static void send_status(struct attach *a, struct worlds_node *n, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = { .api = a->api,
                                   .request = { .verb = CLIENT_PATCH, .subresource = "status" },
                                   .object = o,
                                   .failed = write_patch(a, n, o, &body),
                                   .step = API_STEP_NODE_STATUS,
                                   .done = on_answer,
                                   .ctx = n };

    w.body = buf_str(&body);
    n->sent = n->report;
    n->may_be_right = false;
    api_write_start(&n->write, &w);
}

static void write_one(struct attach *a, struct worlds_node *n)
{
    const struct object *o = latest(a, n);

    if (api_write_is_active(&n->write) || timer_is_armed(&n->retry))
        return; /* the answer, or the end of the delay, looks again */
    if (!o)
        n->is_unproven = false; /* nobody is there to be told; another one of that name has another uid */
    if (n->report == n->acknowledged && !needs_fence(n))
        return;
    if (!o || (n->may_be_right && !needs_fence(n) && says_so(node_of(o), n))) {
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
