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
#include "machinery/api_write.h"
#include "machinery/merge_patch.h"

#define RETRY_NS (100 * NS_PER_MS)
#define RETRY_NS_MAX (10 * NS_PER_S)
/* Of an annotation: all of an object's together may have 256 KiB. */
#define REMEMBERED_BYTES_MAX ((size_t)64 << 10)

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

/* --- What it says --- */

static const char *device_of(const struct attach_pair *p)
{
    return p->device ? p->device : "";
}

bool attach_status_is_annotated(const struct attach_pair *p)
{
    return p->was_reported && !p->is_reported && !str_has_prefix(str_of(p->volume->name), CSI_PLUGIN "/");
}

/* "" for none. What does not fit is left out: a node's status matters more. */
static void write_annotation(const struct attach_node *n, struct buf *out)
{
    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct attach_pair *p = n->pairs.items[i];

        if (!attach_status_is_annotated(p) || out->len + strlen(p->volume->name) > REMEMBERED_BYTES_MAX)
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

/* --- What others wrote --- */

/* A process that takes over starts from caches that may be behind: what was attached then may be detached by
 * now, and what the Node says of it is no more than what was true. An attach finds out. */
void attach_status_hear(struct attach_node *n, const struct node *is)
{
    if (n->known && version_cmp(object_version(n->known), object_version(&is->obj)) == 1)
        return; /* it is older than what this process wrote */
    for (size_t i = 0; i < n->pairs.count; i++) {
        struct attach_pair *p = n->pairs.items[i];

        if (!p->is_reported || p->is_busy || p->report > n->acknowledged ||
            node_attached_volume(is, p->volume->name))
            continue;
        log_info("volume is in the node's status no more, finding out whether it is attached",
                 LOG_STR("volume", p->volume->name), LOG_STR("node", n->name));
        attach_state_report(p, false);
        attach_state_set_uncertain(p, &p->volume->spec);
        attach_state_mark(p->volume);
    }
}

/* --- The write --- */

/* The server has what was sent, or there is nothing to send: detaches may wait for it. */
static void acknowledge_report(struct attach_node *n, uint64_t report)
{
    n->acknowledged = report;
    n->retry_ns = 0;
    for (size_t i = 0; i < n->pairs.count; i++)
        if (!pair_is_wanted(n->pairs.items[i]))
            attach_state_mark(n->pairs.items[i]->volume);
}

/* Something waits for the proof that nothing sent before can arrive. */
static bool needs_fence(const struct attach_node *n)
{
    return n->may_have_stale_write && n->is_fence_requested;
}

/* What the server answered, which the cache may not have heard of. The cache is not told: that the node has
 * this status is no word of the node's. */
static void set_known(struct attach_node *n, const struct object *o)
{
    struct object *before = n->known;

    n->known = o ? object_ref(o) : NULL;
    (void)object_unref(before);
}

/* The Node to decide on: as cached, or as answered where that is newer. NULL: there is none. */
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
        /* What was sent before has an older version, or the uid of a Node that is gone. */
        n->is_inherited = n->may_have_stale_write = n->is_fence_requested = n->was_reread = false;
        set_known(n, answer->object);
        acknowledge_report(n, n->sent);
    } else if (outcome == API_CONFLICT && (answer->http_status == 0 || (answer->object && !n->was_reread))) {
        /* Heartbeats come between, but not twice in a row. */
        n->was_reread = answer->object != NULL;
        if (answer->object) {
            attach_status_hear(n, node_of(answer->object));
            set_known(n, answer->object);
        }
        attach_status_mark(n);
    } else {
        if (answer->object)
            set_known(n, answer->object); /* if it is gone the cache will know by then */
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

/* Metadata of nodes can be written together with their status. */
static enum api_decision decide_status(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    _cleanup_(buf_done_p) struct buf remembered = BUF_INIT(WRITE_BODY_BYTES_MAX);
    char number[ATTACH_FENCE_BYTES];
    struct attach_node *n = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, MUTANT("attach-reports-on-any-version") ? NULL : now);
    if (n->may_have_stale_write) {
        attach_fence_number(n->attach, number);
        merge_patch_annotation(&p, ATTACH_FENCE, number);
    }
    write_annotation(n, &remembered);
    if (remembered.failed)
        body->failed = remembered.failed;
    n->has_annotation |= remembered.len > 0;
    if (n->has_annotation)
        merge_patch_annotation(&p, ANN_MAY_BE_ATTACHED, remembered.len ? buf_cstr(&remembered) : NULL);
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
        return; /* the answer, or the end of the delay, looks again */
    if (o)
        attach_recover_listed(a, n, node_of(o)); /* before it is written over */
    else
        n->may_have_stale_write = n->is_inherited =
            false; /* nobody is there to be told; another one of that name has another uid */
    if (n->report == n->acknowledged && !needs_fence(n))
        return;
    if (!o || (n->may_match && !needs_fence(n) && status_matches(node_of(o), n))) {
        n->may_match = false;
        acknowledge_report(n, n->report); /* there is nothing to be told, or nobody */
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
