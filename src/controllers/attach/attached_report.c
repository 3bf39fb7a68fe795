/* Writes status.volumesAttached of nodes: the volumes that a node may mount.
 *
 * A patch has the version of the Node that it is based on, so that the server refuses a delayed patch, even
 * one of an earlier process, which would otherwise list a volume again that is being detached. After a
 * conflict the current Node is patched. At most one write per node is in flight; changes in the meantime go
 * into the next.
 *
 * While an earlier write, of this or of a previous process, may still take effect, the current Node proves
 * nothing. Then the next write is a fence: it changes an annotation and thereby the version, and from then on
 * the server refuses all earlier writes. */
#include "controllers/attach/attach_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "machinery/api_write.h"
#include "machinery/merge_patch.h"

#define RETRY_NS (100 * NS_PER_MS)
#define RETRY_NS_MAX (10 * NS_PER_S)
/* Limit for one annotation; all annotations of an object may have 256 KiB. */
#define ANNOTATION_BYTES_MAX ((size_t)64 << 10)

void attach_status_mark(struct attach_node *n)
{
    if (!n->is_marked) {
        n->is_marked = true;
        TAILQ_INSERT_TAIL(&n->attach->state.marked_nodes, n, link);
    }
    attach_wake(n->attach);
}

void attach_status_fence(struct attach_node *n)
{
    n->is_fence_requested = true;
    attach_status_mark(n);
}

static void on_retry(void *ctx)
{
    attach_status_mark(ctx);
}

void attach_status_init(struct attach_node *n)
{
    timer_init(&n->retry, n->attach->o.part.loop, on_retry, n);
}

void attach_status_done(struct attach_node *n)
{
    if (n->is_marked)
        TAILQ_REMOVE(&n->attach->state.marked_nodes, n, link);
    timer_disarm(&n->retry);
    api_write_cancel(&n->write);
    n->known = object_unref(n->known);
}

/* --- Contents --- */

static const char *device_of(const struct attach_pair *p)
{
    return p->device ? p->device : "";
}

bool attach_status_is_annotated(const struct attach_pair *p)
{
    return p->was_reported && !p->is_reported && !str_has_prefix(str_of(p->volume->name), CSI_PLUGIN "/");
}

/* Writes nothing if the list is empty. Names beyond the limit are left out: the status is more important. */
static void write_annotation(const struct attach_node *n, struct buf *out)
{
    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct attach_pair *p = n->pairs.items[i];

        if (!attach_status_is_annotated(p) || out->len + strlen(p->volume->name) > ANNOTATION_BYTES_MAX)
            continue;
        if (!out->len)
            json_out_array(out, NULL);
        json_out_text(out, NULL, p->volume->name);
    }
    if (out->len)
        json_out_end_array(out);
}

static bool annotation_matches(const struct node *is, const struct attach_node *n)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WRITE_BODY_BYTES_MAX);
    const char *now = object_annotation(&is->obj, ANN_MAY_BE_ATTACHED);

    write_annotation(n, &text);
    return text.failed == ERR_NONE && strcmp(buf_cstr(&text), now ? now : "") == 0;
}

static bool status_matches(const struct node *is, const struct attach_node *n)
{
    size_t count = 0;

    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct attach_pair *p = n->pairs.items[i];
        const struct attached_volume *v = p->is_reported ? node_attached_volume(is, p->volume->name) : NULL;

        if (!p->is_reported)
            continue;
        count++;
        if (!v || strcmp(v->device_path, device_of(p)) != 0)
            return false;
    }
    return count == is->volumes_attached_count && annotation_matches(is, n);
}

static void write_list(const struct attach_node *n, struct buf *out)
{
    bool has_any = false;

    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct attach_pair *p = n->pairs.items[i];

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

/* --- Writes of others --- */

/* After a change of leaders the state comes from caches that may be stale: a volume that they listed as
 * attached may be detached by now. The volume becomes uncertain, and the next attach finds out. */
void attach_status_observe(struct attach_node *n, const struct node *is)
{
    if (n->known && version_cmp(object_version(n->known), object_version(&is->obj)) == 1)
        return; /* older than the last write of this process */
    for (size_t i = 0; i < n->pairs.count; i++) {
        struct attach_pair *p = n->pairs.items[i];

        if (!p->is_reported || p->is_busy || p->report > n->acknowledged ||
            node_attached_volume(is, p->volume->name))
            continue;
        log_info("volume no longer in node status, checking attachment", LOG_STR("volume", p->volume->name),
                 LOG_STR("node", n->name));
        attach_state_report(p, false);
        attach_state_set_uncertain(p, &p->volume->spec);
        attach_state_mark(p->volume);
    }
}

/* --- The write --- */

/* The server has this report, or there is nothing to send: detaches that waited for it continue. */
static void acknowledge_report(struct attach_node *n, uint64_t report)
{
    n->acknowledged = report;
    n->retry_ns = 0;
    for (size_t i = 0; i < n->pairs.count; i++)
        if (!pair_is_wanted(n->pairs.items[i]))
            attach_state_mark(n->pairs.items[i]->volume);
}

/* A detach waits until no earlier write can take effect. */
static bool needs_fence(const struct attach_node *n)
{
    return n->may_have_stale_write && n->is_fence_requested;
}

/* Keeps the Node of an answer, which may be newer than the cached one. It is not put into the cache, because
 * it is not an update by the node. */
static void set_known(struct attach_node *n, const struct object *o)
{
    struct object *before = n->known;

    n->known = o ? object_ref(o) : NULL;
    (void)object_unref(before);
}

/* The Node to base a write on: the cached one, or that of the last answer if it is newer. NULL: it does not
 * exist. */
static const struct object *latest_node(struct attach *a, struct attach_node *n)
{
    const struct object *o = informer_get(a->nodes, "", n->name);

    if (!o || !n->known || strcmp(o->uid, n->known->uid) != 0 ||
        version_cmp(object_version(n->known), object_version(o)) != 1)
        set_known(n, NULL);
    return n->known ? n->known : o;
}

static void on_answer(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct attach_node *n = ctx;

    if (outcome == API_DONE || answer->r == -ERR_NOT_FOUND) {
        /* Earlier writes have an older version, or the uid of a deleted Node. */
        n->is_unwritten = n->may_have_stale_write = n->is_fence_requested = n->was_reread = false;
        set_known(n, answer->object);
        acknowledge_report(n, n->sent);
    } else if (outcome == API_CONFLICT && (answer->http_status == 0 || (answer->object && !n->was_reread))) {
        /* A heartbeat may cause a conflict, but hardly two in a row. */
        n->was_reread = answer->object != NULL;
        if (answer->object) {
            attach_status_observe(n, node_of(answer->object));
            set_known(n, answer->object);
        }
        attach_status_mark(n);
    } else {
        if (answer->object)
            set_known(n, answer->object); /* the cache will see a deletion itself */
        n->may_have_stale_write = true;
        n->was_reread = false;
        n->retry_ns = n->retry_ns ? 2 * n->retry_ns : RETRY_NS;
        if (n->retry_ns > RETRY_NS_MAX)
            n->retry_ns = RETRY_NS_MAX;
        timer_arm_after(&n->retry, n->retry_ns);
        log_warn("cannot update volumesAttached of node, will retry", LOG_STR("node", n->name),
                 LOG_ERR(&answer->error));
    }
    if (n->report != n->acknowledged && !timer_is_armed(&n->retry))
        attach_status_mark(n);
    attach_state_node_settle(n);
}

/* Metadata of a Node can be written together with its status. */
static enum api_decision decide_status(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    _cleanup_(buf_done_p) struct buf annotated = BUF_INIT(WRITE_BODY_BYTES_MAX);
    char number[ATTACH_FENCE_BYTES];
    struct attach_node *n = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, MUTANT("attach-reports-on-any-version") ? NULL : now);
    if (n->may_have_stale_write) {
        attach_fence_number(n->attach, number);
        merge_patch_annotation(&p, ATTACH_FENCE, number);
    }
    write_annotation(n, &annotated);
    if (annotated.failed)
        body->failed = annotated.failed;
    n->has_annotation |= annotated.len > 0;
    if (n->has_annotation)
        merge_patch_annotation(&p, ANN_MAY_BE_ATTACHED, annotated.len ? buf_cstr(&annotated) : NULL);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    write_list(n, body);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void send_status(struct attach *a, struct attach_node *n, const struct object *o)
{
    struct api_write_options w = { .api = a->api,
                                   .request = { .verb = CLIENT_PATCH, .subresource = "status" },
                                   .object = o,
                                   .decide = decide_status,
                                   .step = API_STEP_NODE_STATUS,
                                   .done = on_answer,
                                   .ctx = n };

    n->sent = n->report;
    n->may_match = false;
    api_write_start(&n->write, &w);
}

static void write_node_status(struct attach *a, struct attach_node *n)
{
    const struct object *o = latest_node(a, n);

    if (api_write_is_active(&n->write) || timer_is_armed(&n->retry))
        return; /* the answer, or the end of the delay, marks the node again */
    if (o)
        attach_recover_listed(a, n, node_of(o)); /* before the patch replaces the list */
    else
        n->may_have_stale_write = n->is_unwritten = false; /* earlier writes have another uid */
    if (n->report == n->acknowledged && !needs_fence(n))
        return;
    if (!o || (n->may_match && !needs_fence(n) && status_matches(node_of(o), n))) {
        n->may_match = false;
        acknowledge_report(n, n->report); /* nothing to write, or no Node */
    } else {
        send_status(a, n, o);
    }
}

void attach_status_write(struct attach *a)
{
    struct attach_node *n;

    while ((n = TAILQ_FIRST(&a->state.marked_nodes))) {
        n->is_marked = false;
        TAILQ_REMOVE(&a->state.marked_nodes, n, link);
        write_node_status(a, n);
    }
}
