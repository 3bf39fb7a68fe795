/* Why a pod that has its node does not run: the node, then its volumes, then what the node says of it. */
#include "why/pod.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/lease.h"
#include "api/node.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "host/mount.h"
#include "node/agent.h"
#include "node/pod_tell.h"
#include "why/unmountable.h"
#include "why/users.h"

#define NODE_LEASES "kube-node-lease"

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
        report_advise(r, "Bring the node back, or delete the pod: berth delete pod %s -n %s", p->obj.name,
                      p->obj.ns);
        report_next(r, "nothing happens to it while its node is gone");
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

/* The words behind `MountVolume.SetUp failed for volume "v" : `, which says what has been said by then. */
static const char *bare(const char *message)
{
    const char *at = strstr(message, " failed for volume \"");
    const char *words = at ? strstr(at, "\" : ") : NULL;

    return words ? words + strlen("\" : ") : message;
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

static void explain_events(const struct why_world *w, struct report *r, const struct pod *p)
{
    static const char *const reasons[] = { "FailedMount", "FailedAttachVolume", "FailedMapVolume",
                                           "FailedMountOnFilesystemMismatch", NULL };
    struct why_warning said;
    char age[WHY_AGE_BYTES_MAX];

    /* Where there is a cause already, they are among the events anyway. */
    if (report_has_cause(r) || !why_last_warning(w, &p->obj, reasons, &said) ||
        why_no_flex_driver(w, r, p, said.message, /* dir= */ NULL))
        return;
    report_cause(r, strcmp(said.reason, "FailedAttachVolume") == 0 ? "attach-failed" : "mount-failed", "%s",
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

/* Nothing is in its way that Berth knows of. */
static void explain_start(struct report *r, const struct pod *p)
{
    const struct status_condition *c = condition_get(&p->conditions, POD_READY_CONDITION);

    if (c && c->status == CONDITION_TRUE) {
        report_cause(r, WHY_NOTHING, "its volumes are ready on node %s", p->node_name);
        report_next(r, "whoever runs containers there starts them: a runtime, or the command of --pod-hook");
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

static void on_wait(void *ctx, const struct agent_wait *a)
{
    const struct agent_look *x = ctx;
    uint64_t now_ns = clock_mono_ns(x->world->clock);

    if (a->op.complaint[0] &&
        why_no_flex_driver(x->world, x->report, x->pod, a->op.complaint, x->world->flex_dir))
        return;
    if (a->op.complaint[0]) {
        if (!report_has_cause(x->report))
            advise(x->report, x->pod, a->op.complaint);
        report_next(x->report, "the node tries again by itself");
    }
    if (a->op.complaint[0] && a->volume[0])
        report_cause(x->report, "mount-failed", "volume \"%s\": %s", a->volume, bare(a->op.complaint));
    else if (a->op.complaint[0])
        report_cause(x->report, "mount-failed", "%s", a->op.complaint);
    else if (a->waits_for[0])
        report_cause(x->report, "waits", "volume \"%s\" waits for %s", a->volume, a->waits_for);
    else if (a->op.is_running)
        report_cause(x->report, "mounting", "volume \"%s\" is being mounted", a->volume);
    why_add_nested(x->report, &a->op, now_ns);
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

static void explain_deleting(struct report *r, const struct pod *p)
{
    for (uint32_t i = 0; i < p->obj.finalizers.count; i++)
        report_cause(r, "finalizer", "it is being deleted, and waits for whoever set the finalizer %s",
                     p->obj.finalizers.items[i]);
    report_cause(r, "deleting",
                 "it is being deleted, and node %s has to end its containers and unmount its volumes",
                 p->node_name);
    report_next(r, "it goes when the node says that it has ended");
}

void why_on_node(const struct why_world *w, struct report *r, const struct pod *p)
{
    struct agent_look look = { w, r, p };
    struct pod_verdict volumes;

    explain_node(w, r, p);
    why_pod_volumes(w, r, p, /* x= */ NULL, /* about= */ NULL, &volumes);
    if (p->obj.is_deleting) {
        explain_deleting(r, p);
        return;
    }
    if (p->phase == POD_RUNNING) {
        report_cause(r, WHY_NOTHING, "it runs on node %s", p->node_name);
        return;
    }
    why_unmountable_in_pod(w, r, p);
    why_inline_drivers(w, r, p);
    if (volumes.volume)
        report_cause(r, volumes.cause, "%s %s: %s", pod_claim_name(volumes.volume) ? "claim" : "volume",
                     pod_claim_name(volumes.volume) ? pod_claim_name(volumes.volume) : volumes.volume->name,
                     volumes.sentence);
    if (w->agent)
        (void)agent_each_wait(w->agent, p->obj.uid, on_wait, &look);
    explain_events(w, r, p);
    explain_unready(r, p);
    explain_containers(r, p);
    if (!report_has_cause(r))
        explain_start(r, p);
}
