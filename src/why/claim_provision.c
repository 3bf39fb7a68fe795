/* Explains why a claim has no volume although its class has a provisioner: which one it is, whether it has
 * been requested, and what it reported.
 *
 * Berth's own plugins are inspected through the binder where it runs in this process, CSI drivers through
 * their controllers (why_csi.h); other external provisioners are known only by their events. */
#include "why/claim.h"

#include <stdio.h>
#include <string.h>

#include "controllers/binder/binder.h"
#include "why/why_csi.h"

/* --- Events of the provisioner --- */

/* The newest event of the provisioner. */
struct provisioner_event {
    const char *provisioner; /* NULL: the binder */
    bool is_failure;
    bool is_set;
    struct timestamp at;
    char text[WHY_LINE_BYTES_MAX];
};

/* External provisioners report as "NAME_POD_UUID". */
static bool is_by(const struct event *e, const char *provisioner)
{
    return str_has_prefix(str_of(e->source_component), provisioner) ||
           str_has_prefix(str_of(e->reporting_controller), provisioner);
}

static void on_event(void *ctx, const struct event *e)
{
    struct provisioner_event *last = ctx;
    struct timestamp at = why_event_at(e);
    bool is_ours =
        str_has_prefix(str_of(e->reason), "Provisioning") && !is_by(e, "persistentvolume-controller");

    if (!last->provisioner)
        is_ours = str_has_prefix(str_of(e->reason), "Provisioning");
    else
        is_ours = is_by(e, last->provisioner) || is_ours;
    if (!is_ours || (last->is_set && timestamp_cmp(at, last->at) < 0))
        return;
    last->is_set = true;
    last->at = at;
    last->is_failure = strcmp(e->type, "Warning") == 0;
    (void)snprintf(last->text, sizeof last->text, "%s", e->message);
}

/* --- Operations of the binder --- */

struct attempt {
    bool is_running;
    unsigned failures;
    uint64_t retry_at_ns;
    char message[WHY_LINE_BYTES_MAX];
};

/* Without a binder in this process the events are used. */
static void find_attempt(const struct why_world *w, const struct claim *c, struct attempt *attempt)
{
    struct provisioner_event word = { .provisioner = NULL };
    struct operation_state s;

    if (w->binder) {
        if (!binder_inspect_operation(w->binder, &c->obj, &s)) /* a claim has only one operation */
            return;
        attempt->is_running = s.is_running;
        attempt->failures = s.failures;
        attempt->retry_at_ns = s.retry_at_ns;
        (void)snprintf(attempt->message, sizeof attempt->message, "%s", s.message);
        return;
    }
    why_each_event(w, &c->obj, on_event, &word);
    attempt->failures = word.is_failure;
    (void)snprintf(attempt->message, sizeof attempt->message, "%s", word.is_failure ? word.text : "");
}

static void add_retry(const struct why_world *w, struct why_report *r, const struct attempt *attempt)
{
    uint64_t now_ns = clock_mono_ns(w->clock);

    if (attempt->is_running)
        report_next(r, "a retry is running");
    else if (attempt->retry_at_ns > now_ns)
        report_next(r, "provisioning is retried in %llu s",
                    (unsigned long long)((attempt->retry_at_ns - now_ns + NS_PER_S - 1) / NS_PER_S));
    else
        report_next(r, "provisioning is retried");
}

static void explain_here(const struct why_world *w, struct why_report *r, const struct claim *c,
                         const struct claim_decision *d)
{
    struct attempt x = { .is_running = false };

    find_attempt(w, c, &x);
    report_fact(r, "class \"%s\" is provisioned by %s, in the controllers' own process", c->class,
                d->plugin->name);
    if (c->source) {
        report_cause(r, "data-source",
                     "%s creates only empty volumes, and the claim requests one filled from %s %s",
                     d->plugin->name, c->source->kind, c->source->name);
        report_advise(r, "Use a class whose CSI driver can copy volumes, or remove spec.dataSource.");
        report_next(r, "nothing: this claim cannot be provisioned");
    } else if (strstr(x.message, "provisioning in volume plugin \"kubernetes.io/host-path\" is disabled")) {
        /* The host-path provisioner needs a flag. */
        report_cause(r, "provisioner-disabled", "provisioner %s is disabled in these controllers",
                     d->plugin->name);
        report_fact(r, "%s", x.message);
        report_advise(r, "Start berth serve, or berth controllers, with --enable-hostpath-provisioner, which "
                         "is for tests on one machine; or use another class.");
        report_next(r, "provisioning is retried automatically");
    } else if (x.failures > 0) {
        report_cause(r, "provisioning-failed", "provisioning fails: %s", x.message);
        report_advise(r, "Fix the error above; Berth retries automatically.");
        add_retry(w, r, &x);
    } else {
        report_cause(r, "provisioning", "%s is provisioning a volume for it", d->plugin->name);
        report_next(r, "the volume is created and bound to it");
    }
}

/* --- External provisioners --- */

static void add_provisioner(const struct why_world *w, struct why_report *r, const struct claim *c,
                            const struct claim_decision *d)
{
    if (why_csi_is_here(w, d->provisioner))
        report_fact(r,
                    "class \"%s\" is provisioned by CSI driver '%s', whose controllers run in this process",
                    c->class, d->provisioner);
    else if (why_is_one_of(w->provisioners, d->provisioner))
        report_fact(r, "class \"%s\" is provisioned by '%s', in the controllers' own process", c->class,
                    d->provisioner);
    else if (strcmp(d->class->provisioner, d->provisioner) != 0)
        report_fact(r, "class \"%s\" is provisioned by '%s' (which replaced %s), outside the controllers",
                    c->class, d->provisioner, d->class->provisioner);
    else
        report_fact(r, "class \"%s\" is provisioned by '%s', which runs outside the controllers", c->class,
                    d->provisioner);
}

/* A provisioner that has reported its work without a failure is left alone. */
static bool explain_csi(const struct why_world *w, struct why_report *r, const struct claim *c,
                        const char *driver, const struct provisioner_event *last)
{
    const struct why_csi_question q = { .driver = driver,
                                        .duty = CSI_DUTY_PROVISION,
                                        .about = &c->obj,
                                        .code = "provisioning-failed",
                                        .said = last->is_failure ? last->text : "" };

    if (!why_csi_is_driver(w, driver) || (last->is_set && !last->is_failure && !why_csi_is_here(w, driver)))
        return false;
    return why_csi(w, r, &q);
}

static void explain_outside(const struct why_world *w, struct why_report *r, const struct claim *c,
                            const struct claim_decision *d)
{
    struct provisioner_event x = { .provisioner = d->provisioner };
    char age[WHY_AGE_BYTES_MAX];

    why_each_event(w, &c->obj, on_event, &x);
    add_provisioner(w, r, c, d);
    if (w->caches[KIND_CSI_DRIVER] && !x.is_set && !why_is_one_of(w->provisioners, d->provisioner) &&
        !why_get(w, KIND_CSI_DRIVER, "", d->provisioner))
        report_fact(r, "CSIDriver '%s' does not exist: if it is a CSI driver, it is not installed",
                    d->provisioner);
    report_next(r, "'%s' creates a volume, which is then bound", d->provisioner);
    if (!object_annotation_is(&c->obj, ANN_PROVISIONER, d->provisioner)) {
        report_cause(r, "provisioner-not-asked", "the binder is about to request a volume from '%s'",
                     d->provisioner);
    } else if (explain_csi(w, r, c, d->provisioner, &x)) {
        return;
    } else if (x.is_failure) {
        report_cause(r, "provisioning-failed", "provisioner '%s' fails: %s", d->provisioner, x.text);
        report_advise(r, c->source
                             ? "Use a class whose CSI driver can copy volumes, or remove spec.dataSource."
                             : "Fix the error above; the provisioner retries automatically.");
    } else if (x.is_set) {
        report_cause(r, "provisioning", "provisioner '%s' is creating a volume (%s ago: %s)", d->provisioner,
                     why_age(w, x.at, age), x.text);
    } else {
        report_cause(r, "provisioner-silent",
                     "provisioner '%s' has not responded to the request for a volume", d->provisioner);
        report_advise(r,
                      "Install and start '%s' where it can reach this server, and check that it serves class "
                      "\"%s\". It records its work as events: berth events --for pvc/%s -n %s",
                      d->provisioner, c->class, c->obj.name, c->obj.ns);
    }
}

/* --- No provisioner --- */

static void explain_no_provisioner(struct why_report *r, const struct claim *c,
                                   const struct claim_decision *d, const struct candidates *found)
{
    if (strcmp(d->class->provisioner, PROVISIONER_NONE) != 0) {
        report_cause(r, claim_step_names[d->step], "class \"%s\" names an unknown provisioner, '%s'",
                     c->class, d->class->provisioner);
        report_advise(r, "Install the provisioner '%s', or use another class: berth get sc",
                      d->class->provisioner);
        return;
    }
    report_fact(r, "class \"%s\" provisions nothing: its volumes are created manually", c->class);
    if (found->of_class == 0) {
        report_cause(r, "no-volumes", "no volume of class \"%s\" exists, and the class provisions none",
                     c->class);
        report_next(r, "it is bound as soon as a volume fits");
    }
    why_no_volume(r, c, found);
}

static bool is_node_gone(const struct why_world *w, struct why_report *r, const struct claim *c)
{
    const char *node = object_annotation(&c->obj, ANN_SELECTED_NODE);

    if (!node || !w->caches[KIND_NODE] || why_get(w, KIND_NODE, "", node))
        return false;
    report_cause(r, "node-gone", "its volume is to be provisioned for node %s, which does not exist", node);
    report_advise(r,
                  "Remove the annotation, so that the scheduler selects a node again: berth patch pvc %s -n "
                  "%s --type=merge -p '{\"metadata\":{\"annotations\":{\"" ANN_SELECTED_NODE "\":null}}}'",
                  c->obj.name, c->obj.ns);
    report_next(r, "it is provisioned when the node exists, or another is selected");
    return true;
}

void why_provisioning(const struct why_world *w, struct why_report *r, const struct claim *c,
                      const struct claim_decision *d, const struct candidates *found)
{
    if (d->step == CLAIM_STEP_PROVISION_CLASS) {
        report_cause(r, claim_step_names[d->step], "StorageClass \"%s\" does not exist", c->class);
        report_advise(r, "%s",
                      why_has_classes(w) ? "Create the class, or request an existing one: berth get sc"
                                         : "Create the class: none exists yet.");
        report_next(r, "it is processed again when the class is created");
        if (found->nearest && found->of_class > 0)
            why_no_volume(r, c, found);
    } else if (d->step == CLAIM_STEP_PROVISION_OFF) {
        report_cause(r, claim_step_names[d->step], "no volume fits, and dynamic provisioning is disabled");
        why_no_volume(r, c, found);
    } else if (d->step == CLAIM_STEP_NO_PROVISIONER) {
        explain_no_provisioner(r, c, d, found);
    } else if (is_node_gone(w, r, c)) {
        return;
    } else if (d->step == CLAIM_STEP_PROVISION_BUILTIN) {
        explain_here(w, r, c, d);
    } else {
        explain_outside(w, r, c, d);
    }
}
