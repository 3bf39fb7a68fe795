/* Why a pod that has its node does not run: the node, then its volumes, then what the node says of it. */
#include "why/pod.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/lease.h"
#include "api/node.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "controllers/attach/attach.h"
#include "host/mount.h"
#include "node/agent.h"
#include "node/pod_tell.h"
#include "why/unmountable.h"
#include "why/users.h"

#define NODE_LEASES "kube-node-lease"
#define FAILED_ATTACH "FailedAttachVolume"

/* --- The node --- */

/* When the node last gave a sign of life; zero when nobody knows. */
static struct timestamp last_sign(const struct why_world *w, const struct node *n)
{
    const struct object *o = why_get(w, KIND_LEASE, NODE_LEASES, n->obj.name);
    const struct status_condition *c = condition_get(&n->conditions, "Ready");

    if (o)
        return ((const struct lease *)(const void *)o)->renewed;
    return c ? c->changed : (struct timestamp){ 0 };
}

static void explain_node(const struct why_world *w, struct report *r, const struct pod *p)
{
    const struct object *o = why_get(w, KIND_NODE, "", p->node_name);
    const struct status_condition *c = o ? condition_get(&node_of(o)->conditions, "Ready") : NULL;
    char age[WHY_AGE_BYTES_MAX];

    if (!w->caches[KIND_NODE])
        return;
    if (!o) {
        report_cause(r, "node-gone", "its node %s is not there", p->node_name);
        report_advise(r, "Start a node named %s, or delete the pod: berth delete pod %s -n %s", p->node_name,
                      p->obj.name, p->obj.ns);
        report_next(r, "nothing happens to it while there is no such node");
    } else if (!c) {
        report_fact(r, "node %s says nothing of its condition", p->node_name);
    } else if (c->status == CONDITION_FALSE) {
        report_cause(r, "node-not-ready", "its node %s is not ready: %s", p->node_name,
                     c->message[0] ? c->message : c->reason);
        report_next(r, "it goes on when the node is ready");
    } else if (c->status != CONDITION_TRUE) {
        report_cause(r, "node-silent", "its node %s has not been heard of for %s", p->node_name,
                     why_age(w, last_sign(w, node_of(o)), age));
        report_advise(
            r, "See the machine: is it on, does berth node (or kubelet) run, can it reach the server?");
        report_next(r, "it goes on when the node is heard of again");
    }
}

/* --- What the node says --- */

/* What has been said by then is left out. */
static const char *bare(const char *message)
{
    return report_detail(str_of(message)).s;
}

static void advise(struct report *r, const struct pod *p, const char *message)
{
    bool is_missing = strstr(message, "configmap \"") || strstr(message, "secret \"");
    char node[NAME_MAX + sizeof "node "];

    (void)snprintf(node, sizeof node, "node %s", p->node_name);
    if (strstr(message, MOUNT_NOT_PERMITTED))
        report_advise(r, "Run berth as root on %s.", node);
    else if (is_missing && strstr(message, "\" not found"))
        report_advise(r, "Create it in namespace %s, or mark the volume optional.", p->obj.ns);
    else if (!why_advise_install(r, message, node))
        report_advise(r, "Mend what the message says.");
}

/* The volume that the message of an event names: `… for volume "NAME"…`; "" when it names none. */
static struct str volume_in(const char *message)
{
    const char *at = strstr(message, "for volume \""), *name = at ? at + strlen("for volume \"") : "";

    return (struct str){ name, strcspn(name, "\"") };
}

/* An attachment that failed and has succeeded since, of the same volume. */
static bool is_attached_since(const struct why_world *w, const struct pod *p, const struct why_warning *said)
{
    static const char *const successes[] = { "SuccessfulAttachVolume", NULL };
    struct why_warning success;
    struct str failed = volume_in(said->message);

    return strcmp(said->reason, FAILED_ATTACH) == 0 && why_last_event(w, &p->obj, successes, &success) &&
           timestamp_cmp(success.at, said->at) >= 0 &&
           (failed.len == 0 || str_eq(failed, volume_in(success.message)));
}

/* What the events say, where nobody in this process knows: is_here tells that the node's agent does, and
 * that only the attachment may be another's. */
static void explain_events(const struct why_world *w, struct report *r, const struct pod *p, bool is_here)
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
                 bare(said.message));
    report_fact(r, "node %s said so %s ago (%s)", p->node_name, why_age(w, said.at, age), said.reason);
    advise(r, p, said.message);
    report_next(r, "the node tries again by itself");
}

static void explain_unready(struct report *r, const struct pod *p)
{
    const struct status_condition *c = condition_get(&p->conditions, POD_READY_CONDITION);

    if (c && c->status != CONDITION_TRUE && !report_has_cause(r))
        report_cause(r, "volumes-not-ready", "node %s says %s: %s", p->node_name, c->reason, c->message);
}

/* The node says so, or a container is past its creation. */
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

/* Nothing is in its way that Berth knows of. */
static void explain_start(struct report *r, const struct pod *p)
{
    const struct status_condition *c = condition_get(&p->conditions, POD_READY_CONDITION);

    if (has_volumes(p)) {
        report_cause(r, WHY_NOTHING, "its volumes are ready, and its containers are not started");
        if (c && c->message[0]) {
            report_fact(r, "%s", c->message);
            report_advise(r, "Create the directory, or let the node do it: hostPath.type DirectoryOrCreate.");
        }
        report_next(r, "a container runtime on the node, or the command of --pod-hook, starts them");
    } else {
        report_cause(r, "starting", "node %s has not started it yet", p->node_name);
        report_next(r, "the node mounts its volumes and starts its containers");
    }
}

/* --- What the agent knows --- */

struct agent_look {
    const struct why_world *world;
    struct report *report;
    const struct pod *pod;
};

static void count_waits(void *ctx, const struct agent_wait *a)
{
    (void)a;
    ++*(unsigned *)ctx;
}

static void on_wait(void *ctx, const struct agent_wait *a)
{
    const struct agent_look *x = ctx;

    if (a->op.message[0])
        return;
    if (a->waits_for[0])
        report_cause(x->report, "waits", "volume \"%s\" waits for %s", a->volume, a->waits_for);
    else if (a->op.is_running)
        report_cause(x->report, "mounting", "volume \"%s\" is being mounted", a->volume);
    why_add_operation_state(x->report, &a->op, clock_mono_ns(x->world->clock));
}

static void add_retry(struct report *r, const struct operation_state *op, uint64_t now_ns)
{
    if (op->retry_at_ns > now_ns)
        report_next(r, "the node tries again in %llu s",
                    (unsigned long long)((op->retry_at_ns - now_ns + NS_PER_S - 1) / NS_PER_S));
    else
        report_next(r, "the node tries again by itself");
}

static void on_failure(void *ctx, const struct agent_wait *a)
{
    const struct agent_look *x = ctx;
    uint64_t now_ns = clock_mono_ns(x->world->clock);

    if (a->op.message[0] == '\0')
        return;
    if (why_no_flex_driver(x->world, x->report, x->pod, a->op.message, x->world->flex_dir))
        return;
    if (!report_has_cause(x->report)) {
        advise(x->report, x->pod, a->op.message);
        add_retry(x->report, &a->op, now_ns);
    }
    if (a->volume[0])
        report_cause(x->report, "mount-failed", "volume \"%s\": %s", a->volume, bare(a->op.message));
    else
        report_cause(x->report, "mount-failed", "%s", a->op.message);
    why_add_operation_state(x->report, &a->op, now_ns);
}

/* --- What the attach controller knows --- */

/* Of volumes without a claim: those of claims have their part of the report. */
static void on_attach(void *ctx, const struct attach_wait *a)
{
    const struct agent_look *x = ctx;

    if (a->is_attached || a->op.message[0] == '\0' || report_has_cause(x->report))
        return;
    report_cause(x->report, "attach-failed", "volume \"%s\" cannot be attached: %s", a->volume,
                 bare(a->op.message));
    advise(x->report, x->pod, a->op.message);
    report_next(x->report, "the attach controller tries again by itself");
    why_add_operation_state(x->report, &a->op, clock_mono_ns(x->world->clock));
}

/* --- All of it --- */

static void explain_containers(struct report *r, const struct pod *p)
{
    for (uint32_t i = 0; i < p->statuses_count; i++) {
        const struct pod_container_status *s = &p->statuses[i];

        if (s->state == CONTAINER_WAITING && s->reason[0])
            report_cause(r, "container-waits", "container %s waits: %s", s->name, s->reason);
    }
}

/* --- Its end --- */

static void on_unmount(void *ctx, const struct agent_wait *a)
{
    const struct agent_look *x = ctx;
    uint64_t now_ns = clock_mono_ns(x->world->clock);

    if (!a->is_unmount)
        return; /* the agent has not seen yet that the pod ends */
    if (a->op.message[0]) {
        if (!report_has_cause(x->report)) {
            advise(x->report, x->pod, a->op.message);
            add_retry(x->report, &a->op, now_ns);
        }
        report_cause(x->report, "unmount-failed",
                     "it is being deleted, and volume \"%s\" cannot be unmounted: %s", a->volume,
                     bare(a->op.message));
    } else if (a->waits_for[0]) {
        report_cause(x->report, "deleting", "it is being deleted, and waits for %s", a->waits_for);
    } else {
        report_cause(x->report, "unmounting", "it is being deleted, and volume \"%s\" is being unmounted",
                     a->volume);
    }
    why_add_operation_state(x->report, &a->op, now_ns);
}

/* As far as the node is another process: the last failure of the pod's end. */
static void explain_end_events(const struct why_world *w, struct report *r, const struct pod *p)
{
    static const char *const reasons[] = { "FailedKillPod", NULL };
    struct why_warning said;
    char age[WHY_AGE_BYTES_MAX];

    if (!why_last_event(w, &p->obj, reasons, &said))
        return;
    report_cause(r, "unmount-failed", "it is being deleted, and node %s fails to end it: %s", p->node_name,
                 bare(said.message));
    report_fact(r, "node %s said so %s ago (%s)", p->node_name, why_age(w, said.at, age), said.reason);
    advise(r, p, said.message);
    report_next(r, "the node tries again by itself");
}

static void explain_deleting(const struct why_world *w, struct report *r, const struct pod *p)
{
    struct agent_look look = { w, r, p };

    if (!w->agent || !agent_each_wait(w->agent, p->obj.uid, on_unmount, &look))
        explain_end_events(w, r, p);
    for (uint32_t i = 0; i < p->obj.finalizers.count; i++)
        report_cause(r, "finalizer", "it is being deleted, and waits for whoever set the finalizer %s",
                     p->obj.finalizers.items[i]);
    report_cause(r, "deleting",
                 "it is being deleted, and node %s has to end its containers and unmount its volumes",
                 p->node_name);
    if (json_get_text(r->d, r->json, "next").len == 0)
        report_next(r, "it goes when the node says that it has ended");
}

void why_on_node(const struct why_world *w, struct report *r, const struct pod *p)
{
    struct agent_look look = { w, r, p };
    struct pod_verdict volumes;
    unsigned waits = 0;
    bool is_here;

    explain_node(w, r, p);
    why_pod_volumes(w, r, p, /* x= */ NULL, /* about= */ NULL, &volumes);
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
        (void)agent_each_wait(w->agent, p->obj.uid, on_failure, &look);
    if (w->attach)
        attach_each_wait(w->attach, p->node_name, p->obj.uid, on_attach, &look);
    explain_events(w, r, p, is_here);
    if (is_here)
        (void)agent_each_wait(w->agent, p->obj.uid, on_wait, &look);
    explain_unready(r, p);
    explain_containers(r, p);
    if (!report_has_cause(r))
        explain_start(r, p);
}
