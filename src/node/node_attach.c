/* Attachments from the node's point of view: verifies attachments made by the controller in the node's
 * status, or attaches volumes itself. */
#include "node/volume_ops.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void mark_held(struct node_volume *v, enum node_attach_state attach, const char *device)
{
    v->is_held = true;
    v->attach = attach;
    held_spec_copy(&v->spec, &v->wanted);
    if (device[0])
        node_world_set_text(&v->device_path, device);
}

void volume_mark_unattachable(struct node_volume *v)
{
    mark_held(v, ATTACH_NO, "");
}

/* --- By the controller --- */

static void on_node(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct node_op *op = ctx;
    struct node_volume *v = op->volume;
    const struct attached_volume *at;
    struct error err;

    if (outcome != API_DONE) {
        err = a->error;
        (void)error_wrap(&err, "VerifyControllerAttachedVolume failed fetching node from API server");
        node_op_end(op, a->r, &err);
        return;
    }
    at = node_attached_volume(node_of(a->object), v->name);
    if (v->was_withdrawn) {
        op->is_wait = true; /* the controllers may have detached it since this was read */
        node_op_end(op, error_set(&err, ERR_UNAVAILABLE, "volumesInUse was without the volume meanwhile"),
                    &err);
        return;
    }
    if (!at) {
        op->is_wait = true;
        node_op_end(op, error_set(&err, ERR_UNAVAILABLE, "Volume not attached according to node status"),
                    &err);
        return;
    }
    if (v->wanted.holder)
        mark_held(v, ATTACH_YES, at->device_path);
    node_op_end(op, 0, NULL);
}

void volume_op_verify(struct agent *a, struct node_volume *v)
{
    struct operation_key key = volume_key(v, NULL);
    struct node_op *op = node_op_begin(a, v, NULL, &key, "verify_controller_attached_volume");

    if (!op)
        return;
    v->was_withdrawn = false;
    api_read(&op->read, &a->api, KIND_NODE, NULL, a->o.name, on_node, op);
}

/* --- By the node itself --- */

/* Records an event on all pods that wait for the volume. */
static void record_pod_events(const struct node_op *op, enum event_type type, const char *reason,
                              const char *words)
{
    const struct node_volume *v = op->volume;

    for (const struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume))
        if (m->is_wanted)
            recorder_event(op->agent->recorder, m->pod->object, type, reason, "%s", words);
}

static int stage_attach(struct stage *s, struct error *err)
{
    int r = plugin_check_name(s->plugin, &s->env, &s->spec.spec, err);

    return r < 0 ? r
                 : s->plugin->attach->attach(s->plugin, &s->env, &s->spec.spec, s->env.node_name,
                                             s->device_path, err);
}

/* Also when the volume is no longer wanted: it has to be detached again. */
static void mark_attached(struct node_volume *v, const struct stage *s, enum node_attach_state attach)
{
    if (v->wanted.holder) {
        mark_held(v, attach, attach == ATTACH_YES ? s->device_path : "");
        return;
    }
    held_spec_copy(&v->spec, &s->spec);
    v->is_held = true;
    v->attach = attach;
}

static void on_attached(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    struct error words;
    char done[ERROR_MSG_BYTES_MAX];

    if (r < 0) {
        (void)error_set(&words, err->code, "AttachVolume.Attach failed for volume \"%s\" : %s", s->name,
                        (const char *)err->msg);
        record_pod_events(op, EVENT_WARNING, "FailedAttachVolume", words.msg);
        if (r == -ERR_UNCERTAIN) /* it may still succeed: then it is attached again or detached */
            mark_attached(op->volume, s, ATTACH_UNCERTAIN);
        node_op_end(op, r, &words);
        return;
    }
    (void)snprintf(done, sizeof done, "AttachVolume.Attach succeeded for volume \"%s\" ", s->name);
    record_pod_events(op, EVENT_NORMAL, "SuccessfulAttachVolume", done);
    mark_attached(op->volume, s, ATTACH_YES);
    node_op_end(op, 0, NULL);
}

void volume_op_attach(struct agent *a, struct node_volume *v)
{
    struct operation_key key = volume_key(v, NULL);
    struct node_op *op = node_op_begin(a, v, NULL, &key, "volume_attach");
    struct stage *s;
    struct error err;

    assert(v->is_attachable && v->wanted.holder);
    if (!op)
        return;
    s = stage_new(op, v->plugin, &v->wanted, spec_name(&v->wanted.spec), "");
    if (s)
        stage_begin(s, stage_attach, on_attached);
    else
        node_op_end(op, error_no_memory(&err), &err);
}

static int stage_detach(struct stage *s, struct error *err)
{
    return s->plugin->attach->detach(s->plugin, &s->env, s->name, s->env.node_name, err);
}

static void on_detached(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    (void)s;
    assert(!volume_has_device_mounted(op->volume));
    if (r == 0)
        op->volume->is_held = false;
    node_op_end(op, r, err);
}

void volume_op_detach(struct agent *a, struct node_volume *v)
{
    struct operation_key key = volume_key(v, NULL);
    struct str plugin, volume;
    struct node_op *op;
    struct stage *s;
    struct error err;
    char name[PATH_MAX];

    assert(v->is_held && !volume_has_device_mounted(v));
    if (unique_name_split(v->name, &plugin, &volume, &err) < 0)
        return;
    (void)snprintf(name, sizeof name, "%.*s", STR_ARG(volume));
    op = node_op_begin(a, v, NULL, &key, "volume_detach");
    if (!op)
        return;
    s = stage_new(op, v->plugin, &v->spec, name, "");
    if (s)
        stage_begin(s, stage_detach, on_detached);
    else
        node_op_end(op, error_no_memory(&err), &err);
}
