/* What people see of a pod's turn: its condition PodScheduled, and events. */
#include "scheduler/scheduler_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"

/* The same failure of a pod is not recorded sooner again. */
#define REPORT_AGAIN_NS (5 * NS_PER_S)
#define CONDITION "PodScheduled"
#define NOTE_BYTES_MAX 1024
#define NOTE_TAIL " ..."

/* A condition on its way. */
struct report {
    TAILQ_ENTRY(report) link;
    struct scheduler *s;
    struct api_write write;
};

static void report_free(struct report *r)
{
    TAILQ_REMOVE(&r->s->reports, r, link);
    api_write_cancel(&r->write);
    free(r);
}

void reports_free(struct scheduler *s)
{
    struct report *next;

    for (struct report *r = TAILQ_FIRST(&s->reports); r; r = next) {
        next = TAILQ_NEXT(r, link);
        report_free(r);
    }
}

static void on_reported(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct report *r = ctx;

    if (!api_went_well(outcome) && a->r != -ERR_NOT_FOUND)
        log_warn("cannot write the pod's condition, ignoring", LOG_ERR(&a->error));
    report_free(r);
}

static bool is_said(const struct pod *p, const char *reason, struct str message)
{
    const struct status_condition *c = condition_get(&p->conditions, CONDITION);

    return c && c->status == CONDITION_FALSE && strcmp(c->reason, reason) == 0 &&
           str_is(message, c->message) && c->observed_generation == p->obj.generation;
}

static void write_condition(const struct scheduler *s, const struct pod *p, const char *reason,
                            struct str message, struct buf *out)
{
    const struct status_condition *c = condition_get(&p->conditions, CONDITION);
    struct timestamp since =
        c && c->status == CONDITION_FALSE ? c->changed : timestamp_of_ns(clock_real_ns(s->o.part.clock));

    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    json_out_text(out, "uid", p->obj.uid);
    json_out_end_object(out);
    json_out_object(out, "status");
    json_out_array(out, "conditions");
    json_out_object(out, NULL);
    json_out_text(out, "type", CONDITION);
    json_out_text(out, "status", "False");
    json_out_null(out, "lastProbeTime");
    json_out_time(out, "lastTransitionTime", since);
    json_out_text(out, "reason", reason);
    json_out_str(out, "message", message);
    if (p->obj.generation > 0)
        json_out_int(out, "observedGeneration", p->obj.generation);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_end_object(out);
}

static void report_condition(struct scheduler *s, const struct pod *p, const char *reason, struct str message)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct report *r = calloc(1, sizeof *r);
    struct api_write_options w = {
        .api = s->api,
        .request = { .verb = CLIENT_PATCH, .subresource = "status", .patch = CLIENT_PATCH_STRATEGIC },
        .object = &p->obj,
        .is_any_version = true,
        .step = API_STEP_CONDITION,
        .informer = s->caches[CACHE_PODS],
        .done = on_reported,
        .ctx = r
    };

    if (!r) {
        log_warn("cannot write the pod's condition: out of memory", LOG_STR("pod", p->obj.name));
        return;
    }
    r->s = s;
    TAILQ_INSERT_TAIL(&s->reports, r, link);
    write_condition(s, p, reason, message, &body);
    w.failed = body.failed;
    w.body = buf_str(&body);
    api_write_start(&r->write, &w);
}

/* The note is cut so that one sees it was. */
static void record(struct scheduler *s, const struct pod *p, enum event_type type, const char *reason,
                   const char *action, struct str message)
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

void report_failure(struct scheduler *s, struct queued_pod *x, const char *reason, struct str message)
{
    uint64_t now_ns = loop_now_ns(s->o.part.loop);
    bool is_known = is_said(x->pod, reason, message);

    /* An object that is created beside the pod makes it be tried again at once, often for the same result. */
    if (!is_known || !x->reported_ns || now_ns - x->reported_ns >= REPORT_AGAIN_NS) {
        x->reported_ns = now_ns;
        record(s, x->pod, EVENT_WARNING, "FailedScheduling", "Scheduling", message);
    }
    if (!is_known)
        report_condition(s, x->pod, reason, message);
}

void report_scheduled(struct scheduler *s, const struct pod *p, const char *node)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(NOTE_BYTES_MAX);

    buf_addf(&message, "Successfully assigned %s/%s to %s", p->obj.ns, p->obj.name, node);
    record(s, p, EVENT_NORMAL, "Scheduled", "Binding", buf_str(&message));
    log_info("pod scheduled", LOG_STR("namespace", p->obj.ns), LOG_STR("pod", p->obj.name),
             LOG_STR("node", node));
}
