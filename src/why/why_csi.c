/* Explains the work of a CSI driver's controllers (why_csi.h).
 *
 * The checks follow the order in which the work can fail: the driver is not ready, has no controller service,
 * lacks the capability; another process holds the lease, or none does; the call to the driver fails.
 *
 * Costs a walk over the CSINodes, and over the leases of the cluster (LEASES_MAX of them in a server). */
#include "why/why_csi.h"

#include <stdio.h>
#include <string.h>

#include "api/csi.h"
#include "api/lease.h"
#include "base/cleanup.h"
#include "controllers/csi/csi_state.h"
#include "store/store.h"
#include "why/why_walk.h"

#define LEASES_MAX 20000
#define ATTACHER_FINALIZER "external-attacher/"

static const struct {
    const struct csi_function_type *type;
    const char *sidecar;
    const char *verb;
    const char *ability; /* what a driver must report */
} duties[] = {
    [CSI_DUTY_PROVISION] = { &csi_provisioner_type, "external-provisioner", "provision",
                             "CREATE_DELETE_VOLUME" },
    [CSI_DUTY_ATTACH] = { &csi_attacher_type, "external-attacher", "attach", "PUBLISH_UNPUBLISH_VOLUME" },
    [CSI_DUTY_RESIZE] = { &csi_resizer_type, "external-resizer", "expand or modify",
                          "EXPAND_VOLUME or MODIFY_VOLUME" },
};
static_assert(ARRAY_LEN(duties) == CSI_DUTY_COUNT, "describe every duty");

const char *csi_duty_sidecar(enum csi_duty duty)
{
    return duties[duty].sidecar;
}

void csi_duty_lease(enum csi_duty duty, const char *driver, struct buf *out)
{
    struct error ignored; /* the buffer is then marked as failed */

    (void)duties[duty].type->lease_name(driver, out, &ignored);
}

const char *why_csi_attacher_of(const char *finalizer)
{
    return strncmp(finalizer, ATTACHER_FINALIZER, strlen(ATTACHER_FINALIZER)) == 0
               ? finalizer + strlen(ATTACHER_FINALIZER)
               : NULL;
}

/* --- The driver --- */

/* The socket of the driver that is served; else any of its sockets. */
static bool find_here(const struct why_world *w, const char *driver, struct csi_driver_state *ret)
{
    struct csi_driver_state s;
    bool is_found = false;

    for (size_t i = 0; w->csi && csi_controllers_driver(w->csi, i, &s); i++) {
        bool is_served = s.state == CSI_PEER_READY && s.not_served[0] == '\0';

        if (strcmp(s.name, driver) != 0 || (is_found && !is_served))
            continue;
        *ret = s;
        is_found = true;
    }
    return is_found;
}

size_t why_csi_nodes(const struct why_world *w, const char *driver, struct buf *out)
{
    struct informer_cursor at;
    size_t count = 0;

    if (!w->caches[KIND_CSI_NODE])
        return 0;
    for (const struct object *o = informer_first(w->caches[KIND_CSI_NODE], &at); o; o = informer_next(&at)) {
        if (!csi_node_driver((const struct csi_node *)(const void *)o, driver))
            continue;
        if (count++ < WHY_EXAMPLES)
            buf_addf(out, "%s%s", count > 1 ? ", " : "", o->name);
    }
    if (count > WHY_EXAMPLES)
        buf_addf(out, ", … (%zu)", count);
    return count;
}

bool why_csi_is_here(const struct why_world *w, const char *driver)
{
    struct csi_driver_state s;

    return find_here(w, driver, &s);
}

bool why_csi_is_driver(const struct why_world *w, const char *name)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);

    return why_get(w, KIND_CSI_DRIVER, "", name) || why_csi_is_here(w, name) ||
           why_csi_nodes(w, name, &nodes) > 0;
}

void why_csi_write_state(const struct why_world *w, const char *driver, struct buf *out)
{
    struct csi_driver_state s;

    if (find_here(w, driver, &s))
        csi_state_write(&s, w->clock, /* by= */ "", out);
    else
        buf_add_cstr(out, "{}");
}

/* --- Leases --- */

bool why_knows_leases(const struct why_world *w)
{
    return w->caches[KIND_LEASE] || w->store;
}

static void take_lease(const struct why_world *w, const struct object *o, struct why_lease *ret)
{
    const struct lease *l = (const struct lease *)(const void *)o;
    struct timestamp now = timestamp_of_ns(clock_real_ns(w->clock)), ends = l->renewed;

    if (ret->ns[0] && timestamp_cmp(l->renewed, ret->renewed) <= 0)
        return;
    ends.seconds += l->duration_seconds;
    (void)snprintf(ret->ns, sizeof ret->ns, "%s", o->ns);
    (void)snprintf(ret->holder, sizeof ret->holder, "%s", l->holder);
    ret->renewed = l->renewed;
    ret->is_expired = l->holder[0] && timestamp_cmp(ends, now) < 0;
}

static void find_stored_lease(const struct why_world *w, const char *name, struct why_lease *ret)
{
    struct store_iter it;
    struct error ignored;
    const struct object *o;
    size_t looks = 0;

    if (store_iter_begin(&it, w->store, KIND_LEASE, /* ns= */ NULL, str_of(""), str_of(""), /* at= */ 0,
                         &ignored) < 0)
        return;
    while (looks++ < LEASES_MAX && (o = store_iter_next(&it)))
        if (strcmp(o->name, name) == 0)
            take_lease(w, o, ret);
    store_iter_done(&it);
    if (w->work)
        w->work->pass_looks += looks;
}

bool why_lease(const struct why_world *w, const char *name, struct why_lease *ret)
{
    const struct informer *all = w->caches[KIND_LEASE];
    struct informer_cursor at;

    *ret = (struct why_lease){ .ns = "" };
    for (const struct object *o = all ? informer_first(all, &at) : NULL; o; o = informer_next(&at))
        if (strcmp(o->name, name) == 0)
            take_lease(w, o, ret);
    if (!all && w->store)
        find_stored_lease(w, name, ret);
    return ret->ns[0] != '\0';
}

/* --- The driver is in this process --- */

/* since_ns: loop time. */
static const char *write_age(const struct why_world *w, uint64_t since_ns, char to[static WHY_AGE_BYTES_MAX])
{
    uint64_t now_ns = clock_mono_ns(w->clock), age_ns = now_ns > since_ns ? now_ns - since_ns : 0;

    return why_age(w, timestamp_of_ns(clock_real_ns(w->clock) - (int64_t)age_ns), to);
}

static void explain_not_ready(const struct why_world *w, struct why_report *r,
                              const struct csi_driver_state *s)
{
    char age[WHY_AGE_BYTES_MAX];

    report_cause(r, "driver-not-ready", "CSI driver %s is not ready: it has been %s for %s%s%s", s->name,
                 csi_peer_state_names[s->state], write_age(w, s->since_ns, age), s->last_error[0] ? ": " : "",
                 s->last_error);
    report_advise(r, "Check that the driver runs and listens on %s, and read its log.", s->socket);
    report_next(r, "the driver is probed every second; the work continues when it is ready");
}

static void explain_not_served(struct why_report *r, const struct csi_driver_state *s, enum csi_duty duty)
{
    if (s->refusal != CSI_WITHOUT_CONTROLLER) {
        report_cause(r, "driver-not-served", "this process does not %s volumes of CSI driver %s: %s",
                     duties[duty].verb, s->name, s->not_served);
        report_advise(r, "See the section csi.drivers of the configuration file, or start %s.",
                      duties[duty].sidecar);
        return;
    }
    report_cause(r, "no-controller-service",
                 "CSI driver %s is registered, but it has no controller service, which is needed to %s its "
                 "volumes",
                 s->name, duties[duty].verb);
    report_advise(r,
                  "If the controller service has another socket: set csi.drivers.%s.socket, or start berth "
                  "controllers --csi-endpoint unix://PATH beside it.",
                  s->name);
    report_next(r, "nothing until a process serves the driver's controller service");
}

/* What a class of failure means for the next try. */
static const char *const outcome_words[] = {
    [CSI_DONE] = "",
    [CSI_NOT_SENT] = "the driver was not called",
    [CSI_IN_PROGRESS] = "the call may still take effect; it is repeated until its end is known",
    [CSI_EXHAUSTED] = "the driver lacks capacity or is overloaded",
    [CSI_INFEASIBLE] = "the same request will fail again; it is repeated rarely",
    [CSI_FINAL] = "the call has failed for good, and nothing of it is left",
};
static_assert(ARRAY_LEN(outcome_words) == CSI_OUTCOME_COUNT, "describe every outcome");

static int64_t seconds_until(const struct why_world *w, uint64_t at_ns)
{
    uint64_t now_ns = clock_mono_ns(w->clock);

    return at_ns > now_ns ? (int64_t)((at_ns - now_ns + NS_PER_S - 1) / NS_PER_S) : -1;
}

static void add_next_try(const struct why_world *w, struct why_report *r, const struct csi_work_state *work)
{
    int64_t wait_s = seconds_until(w, work->next_try_ns);
    char age[WHY_AGE_BYTES_MAX];

    if (work->is_in_flight)
        report_next(r, "%s has been in flight for %s", work->call, write_age(w, work->since_ns, age));
    else if (wait_s >= 0)
        report_next(r, "it is retried in %lld s", (long long)wait_s);
    else
        report_next(r, "it is retried");
    if (work->call[0])
        report_operation(r, &(struct report_operation){ .name = work->call,
                                                        .is_running = work->is_in_flight,
                                                        .failures = work->last_error[0] != '\0',
                                                        .retry_seconds = wait_s,
                                                        .message = work->last_error });
}

/* The controllers of this process do the work. */
static bool explain_calls(const struct why_world *w, struct why_report *r, const struct why_csi_question *q)
{
    struct csi_work_state work;
    char age[WHY_AGE_BYTES_MAX];

    if (!csi_controllers_explain(w->csi, q->driver, duties[q->duty].type->name, q->about, &work))
        return false;
    if (work.last_error[0]) {
        report_cause(r, q->code, "%s%sCSI driver %s fails: %s (%s)", work.call, work.call[0] ? " of " : "",
                     q->driver, work.last_error, rpc_code_name(work.code));
        report_fact(r, "class of the failure: %s: %s", csi_outcome_names[work.outcome],
                    outcome_words[work.outcome]);
        report_advise(r, "Fix what the driver reports, and see the driver: berth describe csidriver %s",
                      q->driver);
    } else if (work.is_in_flight) {
        report_cause(r, "driver-busy", "CSI driver %s has been working on it for %s: %s", q->driver,
                     write_age(w, work.since_ns, age), work.call);
    } else if (q->said[0]) {
        report_cause(r, q->code, "CSI driver %s: %s", q->driver, q->said);
    } else {
        report_fact(r, "this process does the work of %s for CSI driver %s", duties[q->duty].sidecar,
                    q->driver);
        return false;
    }
    add_next_try(w, r, &work);
    return true;
}

/* --- Another process does the work, or none --- */

static void explain_holder(struct why_report *r, const struct why_csi_question *q, const char *lease,
                           const char *holder)
{
    report_fact(r, "lease %s is held by %s, which does the work of %s for CSI driver %s", lease, holder,
                duties[q->duty].sidecar, q->driver);
    if (q->said[0])
        report_cause(r, q->code, "CSI driver %s: %s", q->driver, q->said);
    else
        report_cause(r, "lease-held", "%s has to do it: it holds the lease %s of CSI driver %s", holder,
                     lease, q->driver);
    report_advise(r, "See the log of %s. If it should not do this work, stop it: Berth then takes the lease.",
                  holder);
    report_next(r, "%s does it, or another process that gets the lease", holder);
}

static void explain_nobody(const struct why_world *w, struct why_report *r, const struct why_csi_question *q,
                           const char *lease, const struct why_lease *last)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    size_t count = why_csi_nodes(w, q->driver, &nodes);
    char age[WHY_AGE_BYTES_MAX];

    if (last->is_expired)
        report_fact(r, "lease %s was last renewed %s ago, by %s", lease, why_age(w, last->renewed, age),
                    last->holder);
    if (q->said[0])
        report_cause(r, q->code, "CSI driver %s: %s", q->driver, q->said);
    if (w->caches[KIND_CSI_NODE] && count == 0)
        report_cause(r, "driver-not-registered",
                     "CSI driver %s is not registered on any node, and no process holds its lease %s",
                     q->driver, lease);
    else
        report_cause(r, "no-csi-controller",
                     "no process can %s volumes of CSI driver %s: no process holds the lease %s",
                     duties[q->duty].verb, q->driver, lease);
    if (count > 0)
        report_fact(r, "CSI driver %s is registered on: %s", q->driver, buf_cstr(&nodes));
    report_advise(r,
                  "Start the driver, and beside its controller service %s, or: berth controllers "
                  "--csi-endpoint unix://PATH. In berth serve, csi.controllers must not be off.",
                  duties[q->duty].sidecar);
    report_next(r, "nothing until a process serves the driver");
}

/* here: this process knows the driver; NULL: it does not. */
static bool explain_others(const struct why_world *w, struct why_report *r, const struct why_csi_question *q,
                           const struct csi_function_state *here)
{
    _cleanup_(buf_done_p) struct buf lease = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct why_lease last = { .ns = "" };
    const char *holder = here ? here->holder : "";

    csi_duty_lease(q->duty, q->driver, &lease);
    if (!holder[0] && why_lease(w, buf_cstr(&lease), &last) && !last.is_expired)
        holder = last.holder;
    if (holder[0])
        explain_holder(r, q, buf_cstr(&lease), holder);
    else if (!here && why_knows_leases(w))
        explain_nobody(w, r, q, buf_cstr(&lease), &last);
    else
        return false;
    return true;
}

/* --- The driver itself --- */

/* One socket of the driver in this process. */
static void add_socket(const struct why_world *w, struct why_report *r, const struct csi_driver_state *s)
{
    char age[WHY_AGE_BYTES_MAX];

    report_fact(r, "socket %s: %s for %s, %u calls in flight%s%s", s->socket, csi_peer_state_names[s->state],
                write_age(w, s->since_ns, age), s->calls_in_flight, s->last_error[0] ? ", last error: " : "",
                s->last_error);
    if (s->refusal == CSI_SECOND_SOCKET)
        report_cause(r, "second-socket", "socket %s is not used: %s", s->socket, s->not_served);
    else if (s->not_served[0])
        report_fact(r, "socket %s has no controllers here: %s", s->socket, s->not_served);
}

/* Who holds the leases; returns how many are held. */
static unsigned add_leases(const struct why_world *w, struct why_report *r, const char *driver)
{
    unsigned count = 0;

    for (size_t i = 0; i < CSI_DUTY_COUNT; i++) {
        _cleanup_(buf_done_p) struct buf name = BUF_INIT(WHY_LINE_BYTES_MAX);
        struct why_lease last;

        csi_duty_lease((enum csi_duty)i, driver, &name);
        if (!why_lease(w, buf_cstr(&name), &last) || !last.holder[0] || last.is_expired)
            continue;
        report_fact(r, "%s: done by %s, which holds lease %s in %s", duties[i].sidecar, last.holder,
                    buf_cstr(&name), last.ns);
        count++;
    }
    return count;
}

void why_driver(const struct why_world *w, struct why_report *r, const struct object *driver)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct csi_driver_state s = { .name = "" };
    bool is_here = find_here(w, driver->name, &s);
    size_t count = why_csi_nodes(w, driver->name, &nodes);
    unsigned held;

    report_state(r, "%s", is_here ? csi_peer_state_names[s.state] : "unknown here");
    if (is_here && s.state != CSI_PEER_READY)
        explain_not_ready(w, r, &s);
    for (size_t i = 0; w->csi && csi_controllers_driver(w->csi, i, &s); i++)
        if (strcmp(s.name, driver->name) == 0)
            add_socket(w, r, &s);
    if (w->caches[KIND_CSI_NODE])
        report_fact(r, "registered on: %s", count ? buf_cstr(&nodes) : "no node");
    held = add_leases(w, r, driver->name);
    if (!is_here && count == 0 && held == 0 && w->caches[KIND_CSI_NODE] && why_knows_leases(w)) {
        report_cause(r, "driver-not-registered",
                     "it is registered on no node, and no process holds its leases");
        report_advise(r, "Start the driver, or if it is gone for good: berth delete csidriver %s",
                      driver->name);
    } else if (!is_here && held == 0 && why_knows_leases(w)) {
        report_cause(r, "no-csi-controller", "no process provisions, attaches or expands its volumes");
    }
    why_add_events(w, r, driver, /* over= */ NULL);
}

/* --- All of it --- */

static const struct csi_function_state *find_function(const struct csi_driver_state *s, enum csi_duty duty)
{
    for (size_t i = 0; i < s->functions_count; i++)
        if (strcmp(s->functions[i].name, duties[duty].type->name) == 0)
            return &s->functions[i];
    return NULL;
}

bool why_csi(const struct why_world *w, struct why_report *r, const struct why_csi_question *q)
{
    static const struct csi_function_state not_served = { .holder = "" };
    const struct csi_function_state *function;
    struct csi_driver_state s;

    if (!find_here(w, q->driver, &s))
        return explain_others(w, r, q, NULL);
    function = find_function(&s, q->duty);
    if (function && function->is_working)
        return explain_calls(w, r, q);
    if (s.state != CSI_PEER_READY) {
        explain_not_ready(w, r, &s);
        return true;
    }
    if (s.not_served[0]) {
        if (!explain_others(w, r, q, &not_served))
            explain_not_served(r, &s, q->duty);
        return true;
    }
    if (!function || !function->is_wanted) {
        report_cause(r, "driver-cannot", "CSI driver %s cannot %s volumes: it does not report %s", q->driver,
                     duties[q->duty].verb, duties[q->duty].ability);
        report_advise(r, "Use a driver that can, or a class of another driver.");
        report_next(r, "nothing until the driver reports the capability");
        return true;
    }
    return explain_others(w, r, q, function);
}
