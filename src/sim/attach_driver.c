/* The model of an external attacher.
 *
 * It watches VolumeAttachments, adds its finalizer before it calls the storage, writes the result to their
 * status, and removes the finalizer of deleted ones after the storage has detached the volume. Calls of the
 * storage are host operations with a time limit. Failures are retried with increasing delay. Volumes are
 * never deleted here, so they need no finalizer.
 *
 * There is one job per node and volume, which does one thing at a time: a host operation or a write. */
#include "sim/attach_driver.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "machinery/informer.h"
#include "machinery/merge_patch.h"
#include "sim/sim_world.h"

#define CALL_NS (15 * NS_PER_S)
#define RETRY_NS NS_PER_S
#define RETRY_NS_MAX (60 * NS_PER_S)
#define BODY_BYTES 2048

/* One volume on one node. */
struct attach_job {
    struct attach_driver *driver;
    unsigned node;
    unsigned volume;
    char name[ATTACH_NAME_BYTES]; /* of the VolumeAttachment */
    bool is_detaching;            /* the current host operation, or the last failed one, detaches */
    struct host_op *op;
    struct timer limit; /* of op */
    struct client_call call;
    struct timer next;
    bool is_failing; /* `next` ends the delay after a failure */
    uint64_t delay_ns;
};

struct attach_driver {
    const struct attach_driver_options *o;
    struct sim_process *process;
    struct informer *attachments;
    struct informer_handler handler;
    struct attach_job jobs[ATTACH_NODES_MAX][ATTACH_VOLUMES_MAX];
};

static void attach_job_sync(struct attach_job *j);

bool attach_number(const char *name, char prefix, unsigned count, unsigned *ret)
{
    if (name[0] != prefix || name[1] < '0' || name[1] >= (char)('0' + count) || name[2])
        return false;
    *ret = (unsigned)(name[1] - '0');
    return true;
}

static const struct attachment *attachment_of(const struct attach_job *j)
{
    const struct object *o = informer_get(j->driver->attachments, "", j->name);

    return (const struct attachment *)(const void *)o;
}

static void attach_job_requeue(struct attach_job *j)
{
    j->is_failing = false;
    j->delay_ns = 0;
    timer_arm_after(&j->next, 0);
}

/* --- Writes --- */

static void on_written(void *ctx, const struct client_answer *a)
{
    struct attach_job *j = ctx;

    if (a->r == 0 && a->object && !(a->object->is_deleting && a->object->finalizers.count == 0))
        informer_observe(j->driver->attachments, a->object);
    if (a->r == 0 && !j->is_failing) {
        attach_job_requeue(j);
        return;
    }
    j->delay_ns = j->delay_ns ? 2 * j->delay_ns : RETRY_NS;
    if (j->delay_ns > RETRY_NS_MAX)
        j->delay_ns = RETRY_NS_MAX;
    j->is_failing = true;
    timer_arm_after(&j->next, j->delay_ns);
}

static void send_patch(struct attach_job *j, struct merge_patch *p, const struct buf *body,
                       const char *subresource)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(KIND_ATTACHMENT),
                                .name = j->name,
                                .subresource = subresource,
                                .patch = CLIENT_PATCH_MERGE,
                                .body = buf_str(body) };
    struct error err;

    if (merge_patch_end(p, &err) < 0)
        abort();
    q.body = buf_str(body);
    client_send(j->driver->process->client, &j->call, &q, on_written, j);
}

/* Adds or removes the finalizer. */
static void write_finalizer(struct attach_job *j, const struct object *o, bool is_added)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, o);
    if (is_added)
        merge_patch_add_finalizer(&p, o, j->driver->o->finalizer);
    else
        merge_patch_remove_finalizer(&p, o, j->driver->o->finalizer);
    send_patch(j, &p, &body, /* subresource= */ NULL);
}

static void write_status(struct attach_job *j, const struct object *o, const char *status)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, o);
    merge_patch_member(&p, "status");
    buf_add_cstr(&body, status);
    send_patch(j, &p, &body, "status");
}

/* --- Calls of the storage --- */

static bool is_attached(const struct attach_job *j)
{
    return j->driver->o->is_attached(j->driver->o->ctx, j->node, j->volume);
}

static void on_called(void *ctx, int r, const struct error *err)
{
    struct attach_job *j = ctx;
    const struct attachment *attachment = attachment_of(j);

    (void)err;
    j->op = NULL;
    timer_disarm(&j->limit);
    if (r == 0 && is_attached(j) == j->is_detaching)
        r = -ERR_BUSY; /* refused: another node has it */
    j->is_failing = r < 0;
    if (!attachment)
        return;
    if (r < 0)
        write_status(j, &attachment->obj,
                     j->is_detaching ? "{\"detachError\":{\"message\":\"cannot detach\"}}"
                                     : "{\"attachError\":{\"message\":\"cannot attach\"}}");
    else if (!j->is_detaching && attachment->obj.is_deleting)
        attach_job_requeue(j); /* now detach */
    else if (j->is_detaching)
        write_finalizer(j, &attachment->obj, /* is_added= */ false);
    else
        write_status(j, &attachment->obj, "{\"attached\":true,\"attachError\":null}");
}

static void on_limit(void *ctx)
{
    struct attach_job *j = ctx;

    host_cancel(j->op);
}

static void attach_job_call(struct attach_job *j, bool is_detach)
{
    const struct attach_driver_options *o = j->driver->o;
    struct sim_process *p = j->driver->process;
    char name[ATTACH_NAME_BYTES];

    j->is_detaching = is_detach;
    if (!is_detach && o->is_refused(o->ctx, j->node, j->volume)) {
        on_called(j, -ERR_BUSY, NULL);
        return;
    }
    o->name_op(o->ctx, j->node, j->volume, name);
    timer_arm_after(&j->limit, CALL_NS);
    j->op = host_start(&p->sim->host, p, is_detach ? ATTACH_UNDO : ATTACH_DO, name, on_called, j);
}

static void attach_job_sync(struct attach_job *j)
{
    const struct attachment *attachment = attachment_of(j);
    bool is_ours = attachment && object_has_finalizer(&attachment->obj, j->driver->o->finalizer);

    if (!attachment || j->op || client_call_is_active(&j->call))
        return;
    if (attachment->obj.is_deleting && is_ours)
        attach_job_call(j, /* is_detach= */ true);
    else if (!attachment->obj.is_deleting && !attachment->is_attached && is_ours)
        attach_job_call(j, /* is_detach= */ false);
    else if (!attachment->obj.is_deleting && !attachment->is_attached)
        write_finalizer(j, &attachment->obj, /* is_added= */ true);
}

static void on_next(void *ctx)
{
    attach_job_sync(ctx);
}

/* --- Events --- */

static void on_attachment(void *ctx, const struct object *o)
{
    struct attach_driver *d = ctx;
    const struct attachment *attachment = (const struct attachment *)(const void *)o;
    unsigned node, volume;
    struct attach_job *j;

    if (!attach_number(attachment->node_name, 'n', d->o->nodes, &node) ||
        !attach_number(attachment->volume_name, d->o->volume_prefix, d->o->volumes, &volume))
        return;
    j = &d->jobs[node][volume];
    (void)snprintf(j->name, sizeof j->name, "%s", o->name);
    /* The events of its own error reports do not end the delay. */
    if (!timer_is_armed(&j->next) || (j->is_failing && j->is_detaching != o->is_deleting))
        attach_job_requeue(j);
}

/* --- Start and kill --- */

static void *driver_start(struct sim_process *p, void *ctx)
{
    struct attach_driver *d = sim_alloc(sizeof *d);
    struct informer_options o = {
        .loop = p->loop, .client = p->client, .seed = p->seed, .kind = kind_info(KIND_ATTACHMENT)
    };
    struct error err;

    d->o = ctx;
    assert(d->o->nodes <= ATTACH_NODES_MAX && d->o->volumes <= ATTACH_VOLUMES_MAX);
    d->process = p;
    for (unsigned n = 0; n < d->o->nodes; n++)
        for (unsigned v = 0; v < d->o->volumes; v++) {
            struct attach_job *j = &d->jobs[n][v];

            *j = (struct attach_job){ .driver = d, .node = n, .volume = v };
            timer_init(&j->next, p->loop, on_next, j);
            timer_init(&j->limit, p->loop, on_limit, j);
        }
    if (informer_new(&o, &d->attachments, &err) < 0)
        abort();
    d->handler = (struct informer_handler){ .on_upsert = on_attachment, .ctx = d };
    informer_add_handler(d->attachments, &d->handler);
    informer_start(d->attachments);
    return d;
}

static void driver_kill(void *state)
{
    struct attach_driver *d = state;

    for (unsigned n = 0; n < d->o->nodes; n++)
        for (unsigned v = 0; v < d->o->volumes; v++) {
            timer_disarm(&d->jobs[n][v].next);
            timer_disarm(&d->jobs[n][v].limit);
            client_cancel(&d->jobs[n][v].call);
        }
    informer_remove_handler(&d->handler);
    d->attachments = informer_free(d->attachments);
    free(d);
}

const struct sim_program attach_driver_program = { "driver", driver_start, driver_kill };
