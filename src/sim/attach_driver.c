/* An external attacher, as a model: it sees VolumeAttachments, puts its finalizer on them before it calls the
 * storage, says in their status what came of it, and lets go of those that are being deleted once the storage
 * has detached them. Calls have a limit; what failed is tried again with growing delays. Volumes stay for
 * good here, so that it needs none of its finalizers on them. */
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

/* What is done about one volume on one node, one thing at a time. */
struct job {
    struct driver *driver;
    unsigned node;
    unsigned volume;
    char name[ATTACH_NAME_BYTES]; /* of the VolumeAttachment */
    bool is_detaching;            /* the host operation under way, or the one that failed last */
    struct host_op *op;
    struct timer limit; /* of op */
    struct client_call call;
    struct timer next;
    bool is_failing; /* next is the end of a delay */
    uint64_t delay_ns;
};

struct driver {
    const struct attach_driver_options *o;
    struct sim_process *process;
    struct informer *attachments;
    struct informer_handler handler;
    struct job jobs[ATTACH_NODES_MAX][ATTACH_VOLUMES_MAX];
};

static void sync_job(struct job *j);

bool attach_number(const char *name, char prefix, unsigned count, unsigned *ret)
{
    if (name[0] != prefix || name[1] < '0' || name[1] >= (char)('0' + count) || name[2])
        return false;
    *ret = (unsigned)(name[1] - '0');
    return true;
}

static const struct attachment *attachment_of(const struct job *j)
{
    const struct object *o = informer_get(j->driver->attachments, "", j->name);

    return (const struct attachment *)(const void *)o;
}

static void go_on(struct job *j)
{
    j->is_failing = false;
    j->delay_ns = 0;
    timer_arm_after(&j->next, 0);
}

/* --- Writing --- */

static void on_written(void *ctx, const struct client_answer *a)
{
    struct job *j = ctx;

    if (a->r == 0 && a->object && !(a->object->is_deleting && a->object->finalizers.count == 0))
        informer_observe(j->driver->attachments, a->object);
    if (a->r == 0 && !j->is_failing) {
        go_on(j);
        return;
    }
    j->delay_ns = j->delay_ns ? 2 * j->delay_ns : RETRY_NS;
    if (j->delay_ns > RETRY_NS_MAX)
        j->delay_ns = RETRY_NS_MAX;
    j->is_failing = true;
    timer_arm_after(&j->next, j->delay_ns);
}

static void send_patch(struct job *j, struct merge_patch *p, const struct buf *body, const char *subresource)
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

/* The finalizer comes, or goes. */
static void write_finalizer(struct job *j, const struct object *o, bool is_added)
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

static void write_status(struct job *j, const struct object *o, const char *status)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, o);
    merge_patch_member(&p, "status");
    buf_add_cstr(&body, status);
    send_patch(j, &p, &body, "status");
}

/* --- Calling --- */

static bool is_attached(const struct job *j)
{
    return j->driver->o->is_attached(j->driver->o->ctx, j->node, j->volume);
}

static void on_called(void *ctx, int r, const struct error *err)
{
    struct job *j = ctx;
    const struct attachment *x = attachment_of(j);

    (void)err;
    j->op = NULL;
    timer_disarm(&j->limit);
    if (r == 0 && is_attached(j) == j->is_detaching)
        r = -ERR_BUSY; /* refused: another node has it */
    j->is_failing = r < 0;
    if (!x)
        return;
    if (r < 0)
        write_status(j, &x->obj,
                     j->is_detaching ? "{\"detachError\":{\"message\":\"cannot detach\"}}"
                                     : "{\"attachError\":{\"message\":\"cannot attach\"}}");
    else if (!j->is_detaching && x->obj.is_deleting)
        go_on(j); /* … in the other direction */
    else if (j->is_detaching)
        write_finalizer(j, &x->obj, /* is_added= */ false);
    else
        write_status(j, &x->obj, "{\"attached\":true,\"attachError\":null}");
}

static void on_limit(void *ctx)
{
    struct job *j = ctx;

    host_cancel(j->op);
}

static void call(struct job *j, bool is_detach)
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

static void sync_job(struct job *j)
{
    const struct attachment *x = attachment_of(j);
    bool is_ours = x && object_has_finalizer(&x->obj, j->driver->o->finalizer);

    if (!x || j->op || client_call_is_active(&j->call))
        return;
    if (x->obj.is_deleting && is_ours)
        call(j, /* is_detach= */ true);
    else if (!x->obj.is_deleting && !x->is_attached && is_ours)
        call(j, /* is_detach= */ false);
    else if (!x->obj.is_deleting && !x->is_attached)
        write_finalizer(j, &x->obj, /* is_added= */ true);
}

static void on_next(void *ctx)
{
    sync_job(ctx);
}

/* --- Events --- */

static void see(void *ctx, const struct object *o)
{
    struct driver *d = ctx;
    const struct attachment *x = (const struct attachment *)(const void *)o;
    unsigned node, volume;
    struct job *j;

    if (!attach_number(x->node_name, 'n', d->o->nodes, &node) ||
        !attach_number(x->volume_name, d->o->volume_prefix, d->o->volumes, &volume))
        return;
    j = &d->jobs[node][volume];
    (void)snprintf(j->name, sizeof j->name, "%s", o->name);
    /* Its own complaints are no reason to try again at once. */
    if (!timer_is_armed(&j->next) || (j->is_failing && j->is_detaching != o->is_deleting))
        go_on(j);
}

/* --- Life --- */

static void *driver_start(struct sim_process *p, void *ctx)
{
    struct driver *d = sim_alloc(sizeof *d);
    struct informer_options o = {
        .loop = p->loop, .client = p->client, .seed = p->seed, .kind = kind_info(KIND_ATTACHMENT)
    };
    struct error err;

    d->o = ctx;
    assert(d->o->nodes <= ATTACH_NODES_MAX && d->o->volumes <= ATTACH_VOLUMES_MAX);
    d->process = p;
    for (unsigned n = 0; n < d->o->nodes; n++)
        for (unsigned v = 0; v < d->o->volumes; v++) {
            struct job *j = &d->jobs[n][v];

            *j = (struct job){ .driver = d, .node = n, .volume = v };
            timer_init(&j->next, p->loop, on_next, j);
            timer_init(&j->limit, p->loop, on_limit, j);
        }
    if (informer_new(&o, &d->attachments, &err) < 0)
        abort();
    d->handler = (struct informer_handler){ .on_upsert = see, .ctx = d };
    informer_add_handler(d->attachments, &d->handler);
    informer_start(d->attachments);
    return d;
}

static void driver_kill(void *state)
{
    struct driver *d = state;

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
