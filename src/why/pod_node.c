/* Explains the state of a pod that has a node, and dispatches the ones without.
 *
 * Without a node the scheduler's filters explain it (pod_schedule.c). With a node: the node, then the pod's
 * volumes, then what the node reports; from the API objects and, where they run in this process, from the
 * attach controller and the node's agent. */
#include "why/pod.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/lease.h"
#include "api/node.h"
#include "api/pod_claims.h"
#include "controllers/attach/attach.h"
#include "host/mount_syscall.h"
#include "node/agent.h"
#include "why/unmountable.h"
#include "why/users.h"

#define NODE_LEASES "kube-node-lease"
#define FAILED_ATTACH "FailedAttachVolume"

void why_add_operation_state(struct why_report *r, const struct operation_state *op, uint64_t now_ns)
{
    struct report_operation o = { .name = op->name,
                                  .is_running = op->is_running,
                                  .failures = op->failures,
                                  .retry_seconds = -1,
                                  .message = op->message };

    if (op->retry_at_ns > now_ns)
        o.retry_seconds = (int64_t)((op->retry_at_ns - now_ns) / NS_PER_S) + 1;
    if (op->name)
        report_operation(r, &o);
}

/* --- The node --- */

/* When the node last reported; zero when that is not known. */
static struct timestamp last_report_time(const struct why_world *w, const struct node *n)
{
    const struct object *o = why_get(w, KIND_LEASE, NODE_LEASES, n->obj.name);
    const struct status_condition *c = condition_get(&n->conditions, "Ready");

    if (o)
        return ((const struct lease *)(const void *)o)->renewed;
    return c ? c->changed : (struct timestamp){ 0 };
}

static void explain_node(const struct why_world *w, struct why_report *r, const struct pod *p)
{
    const struct object *o = why_get(w, KIND_NODE, "", p->node_name);
    const struct status_condition *c = o ? condition_get(&node_of(o)->conditions, "Ready") : NULL;
    char age[WHY_AGE_BYTES_MAX];

    if (!w->caches[KIND_NODE])
        return;
    if (!o) {
        report_cause(r, "node-gone", "its node %s does not exist", p->node_name);
        report_advise(r, "Start a node named %s, or delete the pod: berth delete pod %s -n %s", p->node_name,
                      p->obj.name, p->obj.ns);
        report_next(r, "nothing until that node exists");
    } else if (!c) {
        report_fact(r, "node %s reports no Ready condition", p->node_name);
    } else if (c->status == CONDITION_FALSE) {
        report_cause(r, "node-not-ready", "its node %s is not ready: %s", p->node_name,
                     c->message[0] ? c->message : c->reason);
        report_next(r, "it continues when the node is ready");
    } else if (c->status != CONDITION_TRUE) {
        report_cause(r, "node-silent", "its node %s has not reported for %s", p->node_name,
                     why_age(w, last_report_time(w, node_of(o)), age));
        report_advise(
            r, "Check the machine: is it on, does berth node (or kubelet) run, can it reach the server?");
        report_next(r, "it continues when the node reports again");
    }
}

/* --- Messages of the node --- */

/* The message without the prefix that repeats the operation and the volume. */
static const char *message_detail(const char *message)
{
    return report_detail(str_of(message)).s;
}

static void advise_on_message(struct why_report *r, const struct pod *p, const char *message)
{
    bool is_missing = strstr(message, "configmap \"") || strstr(message, "secret \"");
    char node[NAME_MAX + sizeof "node "];

    (void)snprintf(node, sizeof node, "node %s", p->node_name);
    if (strstr(message, MOUNT_NOT_PERMITTED))
        report_advise(r, "Run berth as root on %s.", node);
    else if (is_missing && strstr(message, "\" not found"))
        report_advise(r, "Create it in namespace %s, or mark the volume optional.", p->obj.ns);
    else if (!why_advise_install(r, message, node))
        report_advise(r, "Fix the error above.");
}

/* The volume in the message of an event: `… for volume "NAME"…`; "" for none. */
static struct str volume_in(const char *message)
{
    const char *at = strstr(message, "for volume \""), *name = at ? at + strlen("for volume \"") : "";

    return (struct str){ name, strcspn(name, "\"") };
}

/* The attachment of the same volume has succeeded since. */
static bool is_attached_since(const struct why_world *w, const struct pod *p, const struct why_warning *said)
{
    static const char *const successes[] = { "SuccessfulAttachVolume", NULL };
    struct why_warning success;
    struct str failed = volume_in(said->message);

    return strcmp(said->reason, FAILED_ATTACH) == 0 && why_last_event(w, &p->obj, successes, &success) &&
           timestamp_cmp(success.at, said->at) >= 0 &&
           (failed.len == 0 || str_eq(failed, volume_in(success.message)));
}

/* Uses the events, where this process does not know more. is_here: the node's agent runs in this process, and
 * only the attachment may be elsewhere. */
static void explain_events(const struct why_world *w, struct why_report *r, const struct pod *p, bool is_here)
{
    static const char *const reasons[] = { FAILED_ATTACH, "FailedMount", "FailedMapVolume",
                                           "FailedMountOnFilesystemMismatch", NULL };
    static const char *const attachment[] = { FAILED_ATTACH, NULL };
    struct why_warning said;
    char age[WHY_AGE_BYTES_MAX];

    if (report_has_cause(r) || (is_here && w->attach) ||
        !why_last_event(w, &p->obj, is_here ? attachment : reasons, &said) ||
        is_attached_since(w, p, &said) || why_no_flex_driver(w, r, p, said.message, /* dir= */ NULL))
        return;
    report_cause(r, strcmp(said.reason, FAILED_ATTACH) == 0 ? "attach-failed" : "mount-failed", "%s",
                 message_detail(said.message));
    report_fact(r, "reported by node %s %s ago (%s)", p->node_name, why_age(w, said.at, age), said.reason);
    advise_on_message(r, p, said.message);
    report_next(r, "the node retries automatically");
}

/* The node reports the volumes as ready, or a container is past its creation. */
static bool has_volumes(const struct pod *p)
{
    for (uint32_t i = 0; i < p->statuses_count; i++) {
        const struct pod_container_status *s = &p->statuses[i];

        if (s->state == CONTAINER_WAITING && s->reason[0] && strcmp(s->reason, "ContainerCreating") != 0 &&
            strcmp(s->reason, "PodInitializing") != 0)
            return true;
    }
    return condition_status(&p->conditions, POD_READY_CONDITION) == CONDITION_TRUE;
}

/* Nothing that Berth knows of blocks the pod. */
static void explain_start(struct why_report *r, const struct pod *p)
{
    const struct status_condition *c = condition_get(&p->conditions, POD_READY_CONDITION);

    if (has_volumes(p)) {
        report_cause(r, WHY_NOTHING, "its volumes are ready, but its containers are not started");
        if (c && c->message[0]) {
            report_fact(r, "%s", c->message);
            report_advise(r, "Create the directory, or set hostPath.type to DirectoryOrCreate.");
        }
        report_next(r, "a container runtime on the node, or the --pod-hook command, starts them");
    } else {
        report_cause(r, "starting", "node %s has not started it yet", p->node_name);
        report_next(r, "the node mounts its volumes and starts its containers");
    }
}

/* --- State of the agent --- */

struct agent_context {
    const struct why_world *world;
    struct why_report *report;
    const struct pod *pod;
};

static void count_waits(void *ctx, const struct agent_wait *a)
{
    (void)a;
    ++*(unsigned *)ctx;
}

static void on_wait(void *ctx, const struct agent_wait *a)
{
    const struct agent_context *context = ctx;

    if (a->op.message[0])
        return;
    if (a->waits_for[0])
        report_cause(context->report, "waits", "volume \"%s\" waits for %s", a->volume, a->waits_for);
    else if (a->op.is_running)
        report_cause(context->report, "mounting", "volume \"%s\" is being mounted", a->volume);
    why_add_operation_state(context->report, &a->op, clock_mono_ns(context->world->clock));
}

static void add_retry(struct why_report *r, const struct operation_state *op, uint64_t now_ns)
{
    if (op->retry_at_ns > now_ns)
        report_next(r, "the node retries in %llu s",
                    (unsigned long long)((op->retry_at_ns - now_ns + NS_PER_S - 1) / NS_PER_S));
    else
        report_next(r, "the node retries automatically");
}

static void on_failure(void *ctx, const struct agent_wait *a)
{
    const struct agent_context *context = ctx;
    uint64_t now_ns = clock_mono_ns(context->world->clock);

    if (a->op.message[0] == '\0')
        return;
    if (why_no_flex_driver(context->world, context->report, context->pod, a->op.message,
                           context->world->flex_dir))
        return;
    if (!report_has_cause(context->report)) {
        advise_on_message(context->report, context->pod, a->op.message);
        add_retry(context->report, &a->op, now_ns);
    }
    if (a->volume[0])
        report_cause(context->report, "mount-failed", "volume \"%s\": %s", a->volume,
                     message_detail(a->op.message));
    else
        report_cause(context->report, "mount-failed", "%s", a->op.message);
    why_add_operation_state(context->report, &a->op, now_ns);
}

/* --- State of the attach controller --- */

/* Only volumes without a claim: volumes of claims have their own part of the report. */
static void on_attach(void *ctx, const struct attach_wait *a)
{
    const struct agent_context *context = ctx;

    if (a->is_attached || a->op.message[0] == '\0' || report_has_cause(context->report))
        return;
    report_cause(context->report, "attach-failed", "volume \"%s\" cannot be attached: %s", a->volume,
                 message_detail(a->op.message));
    advise_on_message(context->report, context->pod, a->op.message);
    report_next(context->report, "the attach controller retries automatically");
    why_add_operation_state(context->report, &a->op, clock_mono_ns(context->world->clock));
}

/* --- The whole pod --- */

static void explain_containers(struct why_report *r, const struct pod *p)
{
    for (uint32_t i = 0; i < p->statuses_count; i++) {
        const struct pod_container_status *s = &p->statuses[i];

        if (s->state == CONTAINER_WAITING && s->reason[0])
            report_cause(r, "container-waits", "container %s is waiting: %s", s->name, s->reason);
    }
}

/* --- Deletion --- */

static void on_unmount(void *ctx, const struct agent_wait *a)
{
    const struct agent_context *context = ctx;
    uint64_t now_ns = clock_mono_ns(context->world->clock);

    if (!a->is_unmount)
        return; /* the agent has not observed the deletion yet */
    if (a->op.message[0]) {
        if (!report_has_cause(context->report)) {
            advise_on_message(context->report, context->pod, a->op.message);
            add_retry(context->report, &a->op, now_ns);
        }
        report_cause(context->report, "unmount-failed",
                     "it is being deleted, and volume \"%s\" cannot be unmounted: %s", a->volume,
                     message_detail(a->op.message));
    } else if (a->waits_for[0]) {
        report_cause(context->report, "deleting", "it is being deleted, and waits for %s", a->waits_for);
    } else {
        report_cause(context->report, "unmounting",
                     "it is being deleted, and volume \"%s\" is being unmounted", a->volume);
    }
    why_add_operation_state(context->report, &a->op, now_ns);
}

/* Where the node is another process: the last failure to terminate the pod. */
static void explain_end_events(const struct why_world *w, struct why_report *r, const struct pod *p)
{
    static const char *const reasons[] = { "FailedKillPod", NULL };
    struct why_warning said;
    char age[WHY_AGE_BYTES_MAX];

    if (!why_last_event(w, &p->obj, reasons, &said))
        return;
    report_cause(r, "unmount-failed", "it is being deleted, and node %s fails to terminate it: %s",
                 p->node_name, message_detail(said.message));
    report_fact(r, "reported by node %s %s ago (%s)", p->node_name, why_age(w, said.at, age), said.reason);
    advise_on_message(r, p, said.message);
    report_next(r, "the node retries automatically");
}

static void explain_deleting(const struct why_world *w, struct why_report *r, const struct pod *p)
{
    struct agent_context context = { w, r, p };

    if (!w->agent || !agent_each_wait(w->agent, p->obj.uid, on_unmount, &context))
        explain_end_events(w, r, p);
    for (uint32_t i = 0; i < p->obj.finalizers.count; i++)
        report_cause(r, "finalizer", "it is being deleted, and waits for the component that set finalizer %s",
                     p->obj.finalizers.items[i]);
    report_cause(r, "deleting",
                 "it is being deleted, and node %s has to stop its containers and unmount its volumes",
                 p->node_name);
    if (json_get_text(r->d, r->json, "next").len == 0)
        report_next(r, "it is removed when the node reports that it has ended");
}

static void explain_on_node(const struct why_world *w, struct why_report *r, const struct pod *p)
{
    const struct status_condition *ready = condition_get(&p->conditions, POD_READY_CONDITION);
    struct agent_context context = { w, r, p };
    struct pod_filter_result volumes;
    unsigned waits = 0;
    bool is_here;

    explain_node(w, r, p);
    why_pod_volumes(w, r, p, /* schedule= */ NULL, /* about= */ NULL, &volumes);
    if (p->obj.is_deleting) {
        explain_deleting(w, r, p);
        return;
    }
    if (p->phase == POD_RUNNING) {
        report_cause(r, WHY_NOTHING, "nothing is wrong");
        return;
    }
    is_here = w->agent && agent_each_wait(w->agent, p->obj.uid, count_waits, &waits);
    if (has_volumes(p) && waits == 0) {
        explain_containers(r, p);
        explain_start(r, p);
        return;
    }
    why_unmountable_in_pod(w, r, p);
    why_inline_drivers(w, r, p);
    if (volumes.volume)
        report_cause(r, volumes.cause, "%s %s: %s", pod_claim_name(volumes.volume) ? "claim" : "volume",
                     pod_claim_name(volumes.volume) ? pod_claim_name(volumes.volume) : volumes.volume->name,
                     volumes.sentence);
    report_advise_as(r, volumes.advice);
    if (is_here)
        (void)agent_each_wait(w->agent, p->obj.uid, on_failure, &context);
    if (w->attach)
        attach_each_wait(w->attach, p->node_name, p->obj.uid, on_attach, &context);
    explain_events(w, r, p, is_here);
    if (is_here)
        (void)agent_each_wait(w->agent, p->obj.uid, on_wait, &context);
    if (ready && ready->status != CONDITION_TRUE && !report_has_cause(r))
        report_cause(r, "volumes-not-ready", "node %s reports %s: %s", p->node_name, ready->reason,
                     ready->message);
    explain_containers(r, p);
    if (!report_has_cause(r))
        explain_start(r, p);
}

void why_pod(const struct why_world *w, struct why_report *r, const struct object *pod)
{
    static const char *const over[] = { "FailedScheduling", NULL };
    const struct pod *p = pod_of(pod);
    const char *phase = p->obj.is_deleting ? "Terminating" : pod_phase_names[p->phase];

    report_state(r, "%s%s%s", phase[0] ? phase : "Pending", p->node_name[0] ? " on " : "", p->node_name);
    if (p->phase == POD_SUCCEEDED)
        report_cause(r, WHY_NOTHING, "it ran to completion");
    else if (p->phase == POD_FAILED)
        report_cause(r, "failed", "it has failed%s%s%s%s", p->reason[0] ? ": " : "", p->reason,
                     p->message[0] ? ": " : "", p->message);
    else if (p->node_name[0] == '\0')
        why_scheduling(w, r, p);
    else
        explain_on_node(w, r, p);
    why_add_events(w, r, pod, p->node_name[0] ? over : NULL);
}
