/* Reports the result of an attempt to the API: the pod's condition PodScheduled, and events. Conditions are
 * written only when they change. */
#include "scheduler/scheduler_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "machinery/merge_patch.h"

/* The same failure of a pod is recorded again only after this time. */
#define REPORT_AGAIN_NS (5 * NS_PER_S)
#define CONDITION "PodScheduled"
#define NOTE_BYTES_MAX 1024
#define NOTE_TAIL " ..."

/* A condition whose write is in flight. */
struct condition_write {
    TAILQ_ENTRY(condition_write) link;
    struct scheduler *s;
    struct api_write write;
};

static void report_free(struct condition_write *r)
{
    TAILQ_REMOVE(&r->s->reports, r, link);
    api_write_cancel(&r->write);
    free(r);
}

void reports_free(struct scheduler *s)
{
    struct condition_write *next;

    for (struct condition_write *r = TAILQ_FIRST(&s->reports); r; r = next) {
        next = TAILQ_NEXT(r, link);
        report_free(r);
    }
}

static void on_reported(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct condition_write *r = ctx;

    if (!api_write_succeeded(outcome) && a->r != -ERR_NOT_FOUND)
        log_warn("cannot write pod condition, ignored", LOG_ERR(&a->error));
    report_free(r);
}

static bool is_reported(const struct pod *p, const char *reason, struct str message)
{
    const struct status_condition *c = condition_get(&p->conditions, CONDITION);

    return c && c->status == CONDITION_FALSE && strcmp(c->reason, reason) == 0 &&
           str_is(message, c->message) && c->observed_generation == p->obj.generation;
}

/* The text of a condition. */
struct condition_text {
    const char *reason;
    struct str message;
    struct timestamp now;
};

static enum api_decision decide_condition(void *ctx, const struct object *now, struct buf *out,
                                          struct error *err)
{
    const struct condition_text *text = ctx;
    const struct status_condition *c = condition_get(&pod_of(now)->conditions, CONDITION);
    struct merge_patch p;

    merge_patch_begin_any(&p, out, now);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    json_out_array(out, "conditions");
    json_out_object(out, NULL);
    json_out_text(out, "type", CONDITION);
    json_out_text(out, "status", "False");
    json_out_null(out, "lastProbeTime");
    json_out_time(out, "lastTransitionTime", c && c->status == CONDITION_FALSE ? c->changed : text->now);
    json_out_text(out, "reason", text->reason);
    json_out_str(out, "message", text->message);
    if (now->generation > 0)
        json_out_int(out, "observedGeneration", now->generation);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
    return api_decision_of(merge_patch_end(&p, err));
}

static void report_condition(struct scheduler *s, const struct pod *p, const char *reason, struct str message)
{
    struct condition_text text = { reason, message, timestamp_of_ns(clock_real_ns(s->o.part.clock)) };
    struct condition_write *r = calloc(1, sizeof *r);
    struct api_write_options w = {
        .api = s->api,
        .request = { .verb = CLIENT_PATCH, .subresource = "status", .patch = CLIENT_PATCH_STRATEGIC },
        .object = &p->obj,
        .decide = decide_condition,
        .decide_ctx = &text,
        .is_any_version = true,
        .step = API_STEP_CONDITION,
        .informer = s->caches[CACHE_PODS],
        .done = on_reported,
        .ctx = r
    };

    if (!r) {
        log_warn("cannot write pod condition: out of memory", LOG_STR("pod", p->obj.name));
        return;
    }
    r->s = s;
    TAILQ_INSERT_TAIL(&s->reports, r, link);
    api_write_start(&r->write, &w);
}

/* A message that is too long ends in NOTE_TAIL. */
static void record_pod_event(struct scheduler *s, const struct pod *p, enum event_type type,
                             const char *reason, const char *action, struct str message)
{
    char cut[NOTE_BYTES_MAX];

    if (message.len > NOTE_BYTES_MAX) {
        size_t len = NOTE_BYTES_MAX - strlen(NOTE_TAIL);

        memcpy(cut, message.s, len);
        memcpy(cut + len, NOTE_TAIL, strlen(NOTE_TAIL));
        message = (struct str){ cut, NOTE_BYTES_MAX };
    }
    recorder_record(
        s->recorder,
        &(struct recorded){
            .about = &p->obj, .type = type, .reason = reason, .action = action, .message = message });
}

void report_failure(struct scheduler *s, struct queued_pod *queued, const char *reason, struct str message)
{
    uint64_t now_ns = loop_now_ns(s->o.part.loop);
    bool is_known = is_reported(queued->pod, reason, message);

    /* Objects that are created together with the pod cause immediate retries, often with the same result. */
    if (!is_known || !queued->reported_ns || now_ns - queued->reported_ns >= REPORT_AGAIN_NS) {
        queued->reported_ns = now_ns;
        record_pod_event(s, queued->pod, EVENT_WARNING, "FailedScheduling", "Scheduling", message);
    }
    if (!is_known)
        report_condition(s, queued->pod, reason, message);
}

void report_scheduled(struct scheduler *s, const struct pod *p, const char *node)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(NOTE_BYTES_MAX);

    buf_addf(&message, "Successfully assigned %s/%s to %s", p->obj.ns, p->obj.name, node);
    record_pod_event(s, p, EVENT_NORMAL, "Scheduled", "Binding", buf_str(&message));
    log_info("pod scheduled", LOG_STR("namespace", p->obj.ns), LOG_STR("pod", p->obj.name),
             LOG_STR("node", node));
}
