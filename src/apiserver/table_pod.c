/* Cells of pods: the status of a pod in one word, from the statuses of its containers.
 *
 * While init containers run the word is about the first that is not done ("Init:1/3", "Init:Error"),
 * afterwards about the regular containers. Containers are looked up by name; a pod that makes this expensive
 * (tens of thousands of init containers or gates) is not evaluated completely: see LOOKUP_STEPS_MAX. */
#include "apiserver/table_int.h"

#include <inttypes.h>
#include <string.h>

#include "api/json_out.h"
#include "api/pod.h"

/* Limit of name comparisons per row. Enough for hundreds of containers in any order. */
#define LOOKUP_STEPS_MAX 100000

static const struct column pod_columns[] = {
    COLUMN_NAME,
    { "Ready", "string", "The number of ready containers of the pod." },
    { "Status", "string", "The state of the pod, or the reason why it is not running." },
    { "Restarts", "string", "The number of restarts of the containers, and the time since the last one." },
    COLUMN_AGE,
    { "IP", "string", "The pod's address.", 1 },
    { "Node", "string", "The node that the pod runs on.", 1 },
    { "Nominated Node", "string", "The node on which other pods are preempted for this pod.", 1 },
    { "Readiness Gates", "string", "The number of the pod's readiness gates whose condition is true.", 1 },
};

/* The word of the status column, in pieces: most are reasons from other components. */
struct status_word {
    const char *prefix; /* "Init:" or "" */
    const char *text;
    bool has_number;
    int64_t number;
    uint32_t total; /* "number/total"; 0 for the number only */
};

struct restarts {
    int64_t count;
    struct timestamp last; /* end of the last previous run; zero for none */
};

struct pod_summary {
    const struct pod *pod;
    struct status_word status;
    uint32_t ready;
    struct restarts restarts;
    uint32_t steps_left; /* of LOOKUP_STEPS_MAX */
};

static struct status_word word_of(const char *prefix, const char *text)
{
    return (struct status_word){ .prefix = prefix, .text = text };
}

static bool word_is(const struct status_word *w, const char *text)
{
    return !w->prefix[0] && !w->has_number && strcmp(w->text, text) == 0;
}

/* For a terminated container: its reason, otherwise how it ended. */
static struct status_word word_of_end(const char *prefix, const struct pod_container_status *s)
{
    if (s->reason[0])
        return word_of(prefix, s->reason);
    return (struct status_word){
        .prefix = prefix,
        .text = s->signal ? "Signal:" : "ExitCode:",
        .has_number = true,
        .number = s->signal ? s->signal : s->exit_code,
    };
}

static void count_restarts(struct restarts *r, const struct pod_container_status *s)
{
    r->count += s->restarts;
    if (timestamp_cmp(r->last, s->last_finished) < 0)
        r->last = s->last_finished;
}

static uint32_t count_containers(const struct pod *p, enum container_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->containers_count; i++)
        count += p->containers[i].kind == kind;
    return count;
}

/* A sidecar counts with the regular containers. */
static uint32_t count_lasting(const struct pod *p)
{
    uint32_t count = count_containers(p, CONTAINER_REGULAR);

    for (uint32_t i = 0; i < p->containers_count; i++)
        count += p->containers[i].is_sidecar;
    return count;
}

static bool is_sidecar(struct pod_summary *sum, const char *name)
{
    const struct pod *p = sum->pod;

    for (uint32_t i = 0; i < p->containers_count && p->containers[i].kind == CONTAINER_INIT; i++) {
        if (sum->steps_left == 0)
            return false;
        sum->steps_left--;
        if (strcmp(p->containers[i].name, name) == 0)
            return p->containers[i].is_sidecar;
    }
    return false;
}

/* --- Init containers --- */

static struct status_word word_of_init(const struct pod_summary *sum, uint32_t index)
{
    const struct pod_container_status *s = &sum->pod->statuses[index];

    if (s->state == CONTAINER_TERMINATED)
        return word_of_end("Init:", s);
    if (s->state == CONTAINER_WAITING && s->reason[0] && strcmp(s->reason, "PodInitializing") != 0)
        return word_of("Init:", s->reason);
    return (struct status_word){
        .prefix = "Init:",
        .text = "",
        .has_number = true,
        .number = index,
        .total = count_containers(sum->pod, CONTAINER_INIT),
    };
}

/* True when one is not done: the status is about it then. Restarts of sidecars are also counted separately,
 * since they outlast the initialization. */
static bool sum_up_init(struct pod_summary *sum, struct restarts *lasting)
{
    const struct pod *p = sum->pod;

    for (uint32_t i = 0; i < p->statuses_count && p->statuses[i].kind == CONTAINER_INIT; i++) {
        const struct pod_container_status *s = &p->statuses[i];
        bool lasts = is_sidecar(sum, s->name);

        count_restarts(&sum->restarts, s);
        if (lasts)
            count_restarts(lasting, s);
        if (s->state == CONTAINER_TERMINATED && s->exit_code == 0)
            continue;
        if (!lasts || !s->is_started) {
            sum->status = word_of_init(sum, i);
            return true;
        }
        sum->ready += s->is_ready;
    }
    return false;
}

/* --- Regular containers --- */

/* From the last to the first, so that the first one decides. */
static void sum_up_regular(struct pod_summary *sum)
{
    const struct pod *p = sum->pod;
    bool has_running = false;

    for (uint32_t i = p->statuses_count; i-- > 0;) {
        const struct pod_container_status *s = &p->statuses[i];

        if (s->kind != CONTAINER_REGULAR)
            continue;
        count_restarts(&sum->restarts, s);
        if (s->state == CONTAINER_WAITING && s->reason[0]) {
            sum->status = word_of("", s->reason);
        } else if (s->state == CONTAINER_TERMINATED) {
            sum->status = word_of_end("", s);
        } else if (s->state == CONTAINER_RUNNING && s->is_ready) {
            has_running = true;
            sum->ready++;
        }
    }
    /* One container is done while others run: the pod is not. */
    if (has_running && word_is(&sum->status, "Completed"))
        sum->status =
            word_of("", condition_status(&p->conditions, "Ready") == CONDITION_TRUE ? "Running" : "NotReady");
}

/* --- All containers --- */

static bool is_gated(const struct pod *p)
{
    for (uint32_t i = 0; i < p->conditions.count; i++)
        if (strcmp(p->conditions.items[i].type, "PodScheduled") == 0 &&
            strcmp(p->conditions.items[i].reason, "SchedulingGated") == 0)
            return true;
    return false;
}

/* The node has mounted the volumes, and nothing there runs containers: otherwise the status would be Pending
 * forever. Only nodes of Berth set the condition. */
static bool is_ready_for_containers(const struct pod *p)
{
    return (p->phase == POD_PENDING || p->phase == POD_PHASE_UNSET) && !p->reason[0] &&
           p->statuses_count == 0 && condition_status(&p->conditions, POD_READY_CONDITION) == CONDITION_TRUE;
}

static bool has_ended(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static void sum_up(struct pod_summary *sum)
{
    const struct pod *p = sum->pod;
    struct restarts lasting = { 0 };

    sum->status = word_of("", p->reason[0] ? p->reason : pod_phase_names[p->phase]);
    if (is_gated(p))
        sum->status = word_of("", "SchedulingGated");
    else if (is_ready_for_containers(p))
        sum->status = word_of("", "VolumesReady");
    if (!sum_up_init(sum, &lasting) || condition_status(&p->conditions, "Initialized") == CONDITION_TRUE) {
        sum->restarts = lasting;
        sum_up_regular(sum);
    }
    if (p->obj.is_deleting && strcmp(p->reason, "NodeLost") == 0)
        sum->status = word_of("", "Unknown");
    else if (p->obj.is_deleting && !has_ended(p))
        sum->status = word_of("", "Terminating");
}

static void cell_status(struct cells *c, const struct status_word *w)
{
    cell_open(c);
    cell_add(c, w->prefix);
    cell_add(c, w->text);
    if (w->has_number)
        buf_addf(c->out, "%" PRId64, w->number);
    if (w->total)
        buf_addf(c->out, "/%" PRIu32, w->total);
    cell_close(c);
}

/* "3 (5m ago)" */
static void cell_restarts(struct cells *c, const struct restarts *r)
{
    cell_open(c);
    buf_addf(c->out, "%" PRId64, r->count);
    if (r->count && !timestamp_is_zero(r->last)) {
        cell_add(c, " (");
        timestamp_age(r->last, c->now, c->out);
        cell_add(c, " ago)");
    }
    cell_close(c);
}

static bool gate_holds(struct pod_summary *sum, const char *type)
{
    const struct status_conditions *conditions = &sum->pod->conditions;

    for (uint32_t i = 0; i < conditions->count && sum->steps_left; i++) {
        sum->steps_left--;
        if (strcmp(conditions->items[i].type, type) == 0)
            return conditions->items[i].status == CONDITION_TRUE;
    }
    return false;
}

static void cell_gates(struct cells *c, struct pod_summary *sum)
{
    const struct texts *gates = &sum->pod->readiness_gates;
    uint32_t held = 0;

    for (uint32_t i = 0; i < gates->count; i++)
        held += gate_holds(sum, gates->items[i]);
    cell_open(c);
    if (gates->count)
        buf_addf(c->out, "%" PRIu32 "/%" PRIu32, held, gates->count);
    else
        cell_add(c, "<none>");
    cell_close(c);
}

static void pod_cells(const struct object *o, struct cells *c)
{
    const struct pod *p = pod_of(o);
    struct pod_summary sum = { .pod = p, .steps_left = LOOKUP_STEPS_MAX };

    sum_up(&sum);
    cell_text(c, o->name);
    cell_open(c);
    buf_addf(c->out, "%" PRIu32 "/%" PRIu32, sum.ready, count_lasting(p));
    cell_close(c);
    cell_status(c, &sum.status);
    cell_restarts(c, &sum.restarts);
    cell_age(c, o->created);
    cell_text_or(c, p->pod_ip, "<none>");
    cell_text_or(c, p->node_name, "<none>");
    cell_text_or(c, p->nominated_node, "<none>");
    cell_gates(c, &sum);
}

/* For clients that hide terminated pods. */
static void pod_conditions(const struct object *o, struct buf *out)
{
    const struct pod *p = pod_of(o);

    if (!has_ended(p))
        return;
    json_out_array(out, "conditions");
    json_out_object(out, NULL);
    json_out_text(out, "type", "Completed");
    json_out_text(out, "status", "True");
    json_out_text(out, "reason", pod_phase_names[p->phase]);
    json_out_text(out, "message",
                  p->phase == POD_SUCCEEDED ? "The pod has completed successfully." : "The pod failed.");
    json_out_end_object(out);
    json_out_end_array(out);
}

const struct table_kind pod_table = { COLUMNS(pod_columns), pod_cells, pod_conditions };
