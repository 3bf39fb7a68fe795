/* Writes the pod's condition and phase, and records its events. At most one status write per pod is in
 * flight; a reason that changes meanwhile is written after it. A failed write is retried with increasing
 * delay. */
#include "node/pod_report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "machinery/merge_patch.h"
#include "node/node_int.h"

#define MESSAGE_BYTES_MAX 1024 /* the limit of events: there may be many volume names */

const char *pod_reason_name(enum pod_reason reason)
{
    static const char *const names[] = {
        [POD_REASON_NONE] = "",
        [POD_REASON_READY] = "VolumesReady",
        [POD_REASON_WAITING] = "WaitingForVolumes",
        [POD_REASON_VOLUMES_FAILED] = "VolumesFailed",
        [POD_REASON_PREPARE_FAILED] = "PrepareFailed",
        [POD_REASON_HOOK_FAILED] = "PodHookFailed",
        [POD_REASON_LIMIT_EXCEEDED] = "VolumeAttachmentLimitExceeded",
    };

    static_assert(ARRAY_LEN(names) == POD_REASON_COUNT, "name every reason");
    return names[reason];
}

uint64_t pod_retry_ns(unsigned failures)
{
    uint64_t delay = POD_RETRY_NS;

    for (unsigned i = 1; i < failures && delay < POD_RETRY_NS_MAX; i++)
        delay *= 2;
    return delay < POD_RETRY_NS_MAX ? delay : POD_RETRY_NS_MAX;
}

void pod_warn_quietly(struct node_pod *p, const char *event, const char *message)
{
    const struct object *about = p->object ? p->object : p->life.manifest;

    if (about)
        recorder_event(p->agent->recorder, about, EVENT_WARNING, event, "%s", message);
}

void pod_warn(struct node_pod *p, const char *event, const char *message)
{
    const struct object *about = p->object ? p->object : p->life.manifest;

    log_warn("pod on this node", LOG_STR("namespace", about ? about->ns : NULL),
             LOG_STR("pod", about ? about->name : NULL), LOG_STR("uid", p->uid), LOG_STR("reason", event),
             LOG_STR("message", message));
    pod_warn_quietly(p, event, message);
}

/* --- The status --- */

static bool is_true(enum pod_reason reason)
{
    return reason == POD_REASON_READY;
}

/* The pod is running because its hook succeeded. */
static bool begins_to_run(const struct node_pod *p)
{
    const struct pod *pod = pod_of(p->object);

    return is_true(p->life.reason) && p->life.state.hook == HOOK_SET_UP &&
           (pod->phase == POD_PENDING || pod->phase == POD_PHASE_UNSET);
}

/* Whether the last known version of the pod has the condition: after a restart it is not written again. */
static bool is_written(const struct node_pod *p)
{
    const struct status_condition *c = condition_get(&pod_of(p->object)->conditions, POD_READY_CONDITION);

    return c && strcmp(c->reason, pod_reason_name(p->life.reason)) == 0 &&
           c->status == (is_true(p->life.reason) ? CONDITION_TRUE : CONDITION_FALSE) && !begins_to_run(p);
}

/* The transition time is written when the status changes. reason and message: null when NULL. */
static void add_condition(const struct pod *pod, const char *type, bool value, const char *reason,
                          const char *message, struct timestamp now, struct buf *out)
{
    enum condition_status status = value ? CONDITION_TRUE : CONDITION_FALSE;
    const struct status_condition *old = condition_get(&pod->conditions, type);

    json_out_object(out, NULL);
    json_out_text(out, "type", type);
    json_out_text(out, "status", condition_status_names[status]);
    if (!old || old->status != status)
        json_out_time(out, "lastTransitionTime", now);
    json_out_text(out, "reason", reason);
    json_out_text(out, "message", message);
    json_out_end_object(out);
}

static void add_conditions(const struct node_pod *p, struct timestamp now, struct buf *out)
{
    static const char *const running[] = { "Initialized", "ContainersReady", "Ready" };
    const struct pod *pod = pod_of(p->object);

    json_out_array(out, "conditions");
    add_condition(pod, POD_READY_CONDITION, is_true(p->life.reason), pod_reason_name(p->life.reason),
                  p->life.message ? p->life.message : "", now, out);
    for (size_t i = 0; begins_to_run(p) && i < ARRAY_LEN(running); i++)
        add_condition(pod, running[i], true, /* reason= */ NULL, /* message= */ NULL, now, out);
    json_out_end_array(out);
}

static enum api_decision decide_status(void *ctx, const struct object *read, struct buf *out,
                                       struct error *err)
{
    const struct node_pod *p = ctx;
    struct timestamp now = timestamp_of_ns(clock_real_ns(p->agent->o.part.clock));
    struct merge_patch patch;

    merge_patch_begin_any(&patch, out, read);
    merge_patch_member(&patch, "status");
    json_out_object(out, NULL);
    add_conditions(p, now, out);
    if (begins_to_run(p)) {
        json_out_text(out, "phase", "Running");
        if (timestamp_is_zero(pod_of(read)->started))
            json_out_time(out, "startTime", now);
    } else if (p->life.reason == POD_REASON_LIMIT_EXCEEDED) {
        json_out_text(out, "phase", "Failed");
        json_out_text(out, "reason", pod_reason_name(p->life.reason));
        json_out_text(out, "message", p->life.message ? p->life.message : "");
    }
    json_out_end_object(out);
    return api_decision_of(merge_patch_end(&patch, err));
}

static void on_condition_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct node_pod *p = ctx;
    struct pod_life *l = &p->life;

    if (api_write_succeeded(outcome) || a->r == -ERR_NOT_FOUND) { /* deleted: no report needed */
        l->refusals = 0;
    } else {
        log_warn("cannot write pod condition, retrying", LOG_STR("pod", p->object->name), LOG_ERR(&a->error));
        l->written_reason = POD_REASON_NONE;
        timer_arm_after(&l->again, pod_retry_ns(++l->refusals));
    }
    pod_life_sync(p); /* another report may be pending, or the pod's end waited for this */
}

void pod_report(struct node_pod *p)
{
    struct pod_life *l = &p->life;
    struct api_write_options w = {
        .api = p->agent->api,
        .request = { .verb = CLIENT_PATCH, .subresource = "status", .patch = CLIENT_PATCH_STRATEGIC },
        .object = p->object,
        .decide = decide_status,
        .is_any_version = true,
        .step = API_STEP_CONDITION,
        .informer = p->agent->pods,
        .done = on_condition_written,
        .ctx = p
    };

    if (l->reason == POD_REASON_NONE || l->written_reason == l->reason || !p->is_known ||
        l->stage >= POD_STAGE_TEARDOWN || api_write_is_active(&l->write) || timer_is_armed(&l->again))
        return;
    l->written_reason = l->reason;
    if (!l->has_written && is_written(p))
        return;
    l->has_written = true; /* from now on the cached object may be older than the last write */
    api_write_start(&l->write, &w);
}

/* A copy, shortened in the middle if it is too long; NULL when out of memory. */
static char *short_copy(const char *message)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(MESSAGE_BYTES_MAX);

    buf_add_ends(&b, str_of(message), MESSAGE_BYTES_MAX);
    return buf_take(&b);
}

void pod_set_reason(struct node_pod *p, enum pod_reason reason, const char *message)
{
    struct pod_life *l = &p->life;
    char *copy = short_copy(message);

    if (l->reason != reason && is_true(reason))
        log_info("pod volumes ready", LOG_STR("namespace", p->object->ns), LOG_STR("pod", p->object->name));
    l->reason = reason;
    if (copy) {
        free(l->message);
        l->message = copy;
    }
    pod_report(p);
}
