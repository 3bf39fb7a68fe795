/* Why a claim has no volume although its class should make one: who provisions, whether he has been asked,
 * and what he says.
 *
 * A plugin of ours is asked directly where the binder is at hand; somebody outside speaks in events alone. */
#include "why/claim.h"

#include <stdio.h>
#include <string.h>

#include "controllers/binder/binder.h"

/* --- What was said --- */

/* The newest event of whoever provisions. */
struct word {
    const char *provisioner; /* NULL: the binder itself */
    bool is_failure;
    bool is_set;
    struct timestamp at;
    char text[WHY_LINE_BYTES_MAX];
};

/* External provisioners call themselves "NAME_POD_UUID". */
static bool is_by(const struct event *e, const char *provisioner)
{
    return str_has_prefix(str_of(e->source_component), provisioner) ||
           str_has_prefix(str_of(e->reporting_controller), provisioner);
}

static void on_event(void *ctx, const struct event *e)
{
    struct word *x = ctx;
    struct timestamp at = why_event_at(e);
    bool is_ours =
        str_has_prefix(str_of(e->reason), "Provisioning") && !is_by(e, "persistentvolume-controller");

    if (!x->provisioner)
        is_ours = str_has_prefix(str_of(e->reason), "Provisioning");
    else
        is_ours = is_by(e, x->provisioner) || is_ours;
    if (!is_ours || (x->is_set && timestamp_cmp(at, x->at) < 0))
        return;
    x->is_set = true;
    x->at = at;
    x->is_failure = strcmp(e->type, "Warning") == 0;
    (void)snprintf(x->text, sizeof x->text, "%s", e->message);
}

static void find_word(const struct why_world *w, const struct claim *c, struct word *x)
{
    why_each_event(w, &c->obj, on_event, x);
}

/* --- Operations of the binder's own --- */

struct attempt {
    bool is_running;
    unsigned failures;
    uint64_t retry_at_ns;
    char message[WHY_LINE_BYTES_MAX];
};

/* Without a binder at hand, the events say how it went. */
static void find_attempt(const struct why_world *w, const struct claim *c, struct attempt *x)
{
    struct word word = { .provisioner = NULL };
    struct operation_state s;

    if (w->binder) {
        if (!binder_look_at_operation(w->binder, &c->obj, &s)) /* a claim has no other */
            return;
        x->is_running = s.is_running;
        x->failures = s.failures;
        x->retry_at_ns = s.retry_at_ns;
        (void)snprintf(x->message, sizeof x->message, "%s", s.message);
        return;
    }
    find_word(w, c, &word);
    x->failures = word.is_failure;
    (void)snprintf(x->message, sizeof x->message, "%s", word.is_failure ? word.text : "");
}

static void add_retry(const struct why_world *w, struct report *r, const struct attempt *x)
{
    uint64_t now_ns = clock_mono_ns(w->clock);

    if (x->is_running)
        report_next(r, "it is being tried again right now");
    else if (x->retry_at_ns > now_ns)
        report_next(r, "it is tried again in %llu s",
                    (unsigned long long)((x->retry_at_ns - now_ns + NS_PER_S - 1) / NS_PER_S));
    else
        report_next(r, "it is tried again");
}

/* The host-path provisioner works only where a flag asks for it. */
static bool is_disabled(const char *message)
{
    return strstr(message, "provisioning in volume plugin \"kubernetes.io/host-path\" is disabled") != NULL;
}

static void explain_here(const struct why_world *w, struct report *r, const struct claim *c,
                         const struct claim_decision *d)
{
    struct attempt x = { .is_running = false };

    find_attempt(w, c, &x);
    report_fact(r, "class \"%s\" provisions with %s, in the controllers' own process", c->class,
                d->plugin->name);
    if (c->source) {
        report_cause(r, "data-source",
                     "%s makes empty volumes only, and the claim wants one filled from %s %s",
                     d->plugin->name, c->source->kind, c->source->name);
        report_advise(r, "Use a class whose CSI driver can copy, or leave spec.dataSource out.");
        report_next(r, "nothing: this cannot be provisioned");
    } else if (is_disabled(x.message)) {
        report_cause(r, "provisioner-disabled", "the provisioner %s is off in these controllers",
                     d->plugin->name);
        report_fact(r, "%s", x.message);
        report_advise(r, "Start berth serve, or berth controllers, with --enable-hostpath-provisioner, which "
                         "is for tests on one machine; or use another class.");
        report_next(r, "it is tried again by itself");
    } else if (x.failures > 0) {
        report_cause(r, "provisioning-failed", "provisioning fails: %s", x.message);
        report_advise(r, "Mend what the message says; the next try comes by itself.");
        add_retry(w, r, &x);
    } else {
        report_cause(r, "provisioning", "a volume is being provisioned for it by %s", d->plugin->name);
        report_next(r, "the volume appears, and is bound to it");
    }
}

/* --- Somebody outside --- */

static bool is_in_process(const struct why_world *w, const char *provisioner)
{
    for (const char *const *p = w->provisioners; p && *p; p++)
        if (strcmp(*p, provisioner) == 0)
            return true;
    return false;
}

static void add_provisioner(const struct why_world *w, struct report *r, const struct claim *c,
                            const struct claim_decision *d)
{
    if (is_in_process(w, d->provisioner))
        report_fact(r, "class \"%s\" is provisioned by '%s', in the controllers' own process", c->class,
                    d->provisioner);
    else if (strcmp(d->class->provisioner, d->provisioner) != 0)
        report_fact(r, "class \"%s\" is provisioned by '%s' (which replaced %s), outside the controllers",
                    c->class, d->provisioner, d->class->provisioner);
    else
        report_fact(r, "class \"%s\" is provisioned by '%s', which runs outside the controllers", c->class,
                    d->provisioner);
}

static void explain_outside(const struct why_world *w, struct report *r, const struct claim *c,
                            const struct claim_decision *d)
{
    struct word x = { .provisioner = d->provisioner };
    char age[WHY_AGE_BYTES_MAX];

    find_word(w, c, &x);
    add_provisioner(w, r, c, d);
    if (w->caches[KIND_CSI_DRIVER] && !x.is_set && !is_in_process(w, d->provisioner) &&
        !why_get(w, KIND_CSI_DRIVER, "", d->provisioner))
        report_fact(r, "there is no CSIDriver '%s': if it is one, it is not installed", d->provisioner);
    report_next(r, "'%s' creates a volume for it, which is then bound", d->provisioner);
    if (!object_annotation_is(&c->obj, ANN_PROVISIONER, d->provisioner)) {
        report_cause(r, "provisioner-not-asked", "the provisioner '%s' is about to be asked for a volume",
                     d->provisioner);
    } else if (x.is_failure) {
        report_cause(r, "provisioning-failed", "the provisioner '%s' fails: %s", d->provisioner, x.text);
        report_advise(r, c->source ? "Use a class whose CSI driver can copy, or leave spec.dataSource out."
                                   : "Mend what the message says; the provisioner tries again by itself.");
    } else if (x.is_set) {
        report_cause(r, "provisioning", "the provisioner '%s' is making a volume (%s ago: %s)",
                     d->provisioner, why_age(w, x.at, age), x.text);
    } else {
        report_cause(r, "provisioner-silent",
                     "the provisioner '%s' was asked for a volume and has said nothing since",
                     d->provisioner);
        report_advise(r,
                      "Install and start '%s' where it can reach this server, and see that it serves class "
                      "\"%s\". It records its work as events: berth events --for pvc/%s -n %s",
                      d->provisioner, c->class, c->obj.name, c->obj.ns);
    }
}

/* --- Nobody --- */

static void explain_nobody(struct report *r, const struct claim *c, const struct claim_decision *d,
                           const struct candidates *x)
{
    if (strcmp(d->class->provisioner, PROVISIONER_NONE) != 0) {
        report_cause(r, claim_step_names[d->step], "class \"%s\" names a provisioner that nobody has, '%s'",
                     c->class, d->class->provisioner);
        report_advise(r, "Install what serves '%s', or use another class: berth get sc",
                      d->class->provisioner);
        return;
    }
    report_fact(r, "class \"%s\" provisions nothing: somebody creates its volumes", c->class);
    if (x->of_class == 0) {
        report_cause(r, "no-volumes", "there is no volume of class \"%s\", and the class makes none",
                     c->class);
        report_next(r, "it is bound as soon as a volume fits");
    }
    why_no_volume(r, c, x);
}

static bool is_node_gone(const struct why_world *w, struct report *r, const struct claim *c)
{
    const char *node = object_annotation(&c->obj, ANN_SELECTED_NODE);

    if (!node || !w->caches[KIND_NODE] || why_get(w, KIND_NODE, "", node))
        return false;
    report_cause(r, "node-gone", "its volume is to be made on node %s, which does not exist", node);
    report_advise(r,
                  "Take the annotation away, so that the scheduler chooses again: berth patch pvc %s -n %s "
                  "--type=merge -p '{\"metadata\":{\"annotations\":{\"" ANN_SELECTED_NODE "\":null}}}'",
                  c->obj.name, c->obj.ns);
    report_next(r, "it is provisioned when the node is there, or another is selected");
    return true;
}

void why_provisioning(const struct why_world *w, struct report *r, const struct claim *c,
                      const struct claim_decision *d, const struct candidates *x)
{
    if (d->step == CLAIM_STEP_PROVISION_CLASS) {
        report_cause(r, claim_step_names[d->step], "there is no StorageClass \"%s\"", c->class);
        report_advise(r, "%s",
                      why_has_classes(w) ? "Create the class, or ask for one that there is: berth get sc"
                                         : "Create the class: there is none yet.");
        report_next(r, "it is looked at again when the class is created");
        if (x->nearest && x->of_class > 0)
            why_no_volume(r, c, x);
    } else if (d->step == CLAIM_STEP_PROVISION_NEVER) {
        report_cause(r, claim_step_names[d->step], "no volume fits, and dynamic provisioning is off");
        why_no_volume(r, c, x);
    } else if (d->step == CLAIM_STEP_PROVISION_NOBODY) {
        explain_nobody(r, c, d, x);
    } else if (is_node_gone(w, r, c)) {
        return;
    } else if (d->step == CLAIM_STEP_PROVISION_HERE) {
        explain_here(w, r, c, d);
    } else {
        explain_outside(w, r, c, d);
    }
}
