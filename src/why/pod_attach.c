/* Explains the volume of a bound claim on the pod's node: the first step that is missing. CSI volumes are
 * explained by the driver on the node and the VolumeAttachment; others by the attach controller, where it
 * runs in this process. */
#include "why/pod.h"

#include <string.h>

#include "api/csi.h"
#include "api/migration.h"
#include "api/node.h"
#include "base/cleanup.h"
#include "controllers/attach/attach.h"
#include "why/unmountable.h"
#include "why/users.h"
#include "why/why_csi.h"

/* For a volume of a migrated plugin the node compares the driver's topology. */
static bool is_reachable(const struct volume *v, const struct node *n, struct error *err)
{
    _cleanup_(object_unref_p) struct object *is = NULL;
    struct error ignored;

    if (migration_plugin(v->source.kind) && migration_translate(v, &is, &ignored) == 0)
        v = volume_of(is);
    return node_affinity_check(v->affinity, n->obj.labels.items, n->obj.labels.count, err) == 0;
}

/* --- CSI --- */

static bool explain_driver(const struct why_world *w, struct why_report *r, const struct pod *p,
                           const char *driver)
{
    const struct object *o = why_get(w, KIND_CSI_NODE, "", p->node_name);

    if (!w->caches[KIND_CSI_NODE] || (o && csi_node_driver((const struct csi_node *)(const void *)o, driver)))
        return false;
    report_cause(r, "driver-not-registered", "CSI driver %s is not registered on node %s", driver,
                 p->node_name);
    report_advise(r, "Start the driver's node plugin there; it registers automatically.");
    report_next(r, "the volume is mounted when the driver is registered");
    return true;
}

/* Another node has a volume that only one node may attach. */
static bool explain_elsewhere(const struct why_world *w, struct why_report *r, const struct pod *p,
                              const struct volume *v, const char *node)
{
    _cleanup_(buf_done_p) struct buf pods = BUF_INIT(WHY_LINE_BYTES_MAX);
    size_t count = why_users(w, v->claim.ns, v->claim.name, p->obj.uid, /* is_placed= */ true, &pods);

    report_cause(r, "attached-elsewhere",
                 "volume %s can be attached to one node at a time, and is attached to %s%s%s", v->obj.name,
                 node, count ? ", for pods: " : "", buf_cstr(&pods));
    if (count)
        report_advise(r, "Delete the other pod, or schedule this one to its node.");
    else
        report_advise(r,
                      "No pod uses it there any more: it is detached automatically. If the node is shut down "
                      "for good: kubectl taint node %s node.kubernetes.io/out-of-service=:NoExecute",
                      node);
    report_next(r, "it is attached here when it is detached from the other node");
    return true;
}

/* What the controllers of the driver know of it, after the cause: as facts. */
static void add_attacher(const struct why_world *w, struct why_report *r, const struct attachment *a)
{
    const struct why_csi_question q = {
        .driver = a->attacher, .duty = CSI_DUTY_ATTACH, .about = &a->obj, .code = "attach-failed", .said = ""
    };

    if (why_csi_is_driver(w, a->attacher))
        (void)why_csi(w, r, &q);
    report_advise(r, "See the attachment: berth why va/%s", a->obj.name);
}

static void explain_attachment(const struct why_world *w, struct why_report *r, const struct pod *p,
                               const struct volume *v)
{
    const struct attachment *a = why_find_attachment(w, v, p->node_name);
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    char age[WHY_AGE_BYTES_MAX];

    if (a && a->obj.is_deleting) {
        report_cause(r, "detaching", "volume %s is being detached from node %s", v->obj.name, p->node_name);
        report_next(r, "it is attached again afterwards");
    } else if (a && a->is_attached) {
        report_fact(r, "volume %s is attached to node %s", v->obj.name, p->node_name);
    } else if (a && a->attach_error.message[0]) {
        report_cause(r, "attach-failed", "volume %s cannot be attached to node %s: %s", v->obj.name,
                     p->node_name, a->attach_error.message);
        report_fact(r, "the error is %s old", why_age(w, a->attach_error.time, age));
        report_next(r, "%s retries", a->attacher);
        add_attacher(w, r, a);
    } else if ((v->modes & (ACCESS_ROX | ACCESS_RWX)) == 0 &&
               why_attached(w, v, p->node_name, WHY_ANY, &nodes) > 0) {
        (void)explain_elsewhere(w, r, p, v, buf_cstr(&nodes));
    } else if (a) {
        report_cause(r, "attaching", "volume %s is not attached to node %s yet: waiting for %s", v->obj.name,
                     p->node_name, a->attacher);
        report_advise(r, "If this persists, the external attacher of %s is not running.", a->attacher);
        report_next(r, "%s attaches it", a->attacher);
        add_attacher(w, r, a);
    } else {
        report_cause(r, "not-attached",
                     "volume %s is not attached to node %s, and no VolumeAttachment exists", v->obj.name,
                     p->node_name);
        report_advise(r,
                      "If this persists, no attach controller runs: start berth serve or berth controllers.");
        report_next(r, "the attach controller creates a VolumeAttachment");
    }
}

void why_inline_drivers(const struct why_world *w, struct why_report *r, const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        enum volume_source_kind source = migration_source(p->volumes.items[i].type);

        if (source != SOURCE_NONE && explain_driver(w, r, p, migration_driver(migration_plugin(source))))
            return;
    }
}

/* --- State of the attach controller --- */

struct attach_context {
    const struct why_world *world;
    struct why_report *report;
    const struct pod *pod;
    const struct volume *volume;
};

static void on_attach(void *ctx, const struct attach_wait *a)
{
    const struct attach_context *context = ctx;
    uint64_t now_ns = clock_mono_ns(context->world->clock);

    if (strcmp(a->volume, context->volume->obj.name) != 0 || a->is_attached)
        return;
    if (a->elsewhere) {
        (void)explain_elsewhere(context->world, context->report, context->pod, context->volume, a->elsewhere);
        if (a->is_used_there)
            report_fact(context->report, "node %s reports that it still uses the volume", a->elsewhere);
        if (a->forced_at_ns > now_ns)
            report_fact(context->report, "node %s has %llu s left to unmount it", a->elsewhere,
                        (unsigned long long)((a->forced_at_ns - now_ns) / NS_PER_S));
    } else if (a->op.message[0]) {
        report_cause(context->report, "attach-failed", "volume %s cannot be attached: %s", a->volume,
                     a->op.message);
    }
    why_add_operation_state(context->report, &a->op, now_ns);
}

void why_volume_on_node(const struct why_world *w, struct why_report *r, const struct pod *p,
                        const struct volume *v)
{
    const struct object *n = why_get(w, KIND_NODE, "", p->node_name), *o;
    const char *plugin = migration_plugin(v->source.kind); /* of a migrated plugin */
    struct attach_context context = { w, r, p, v };
    const char *driver;
    struct error err;

    if (p->phase == POD_RUNNING)
        return; /* nothing is missing */
    why_unmountable_volume(w, r, v, p->node_name);
    if (n && !is_reachable(v, node_of(n), &err)) {
        report_cause(r, reason_word(REASON_VOLUME_AFFINITY), "volume %s cannot be used from node %s: %s",
                     v->obj.name, p->node_name, err.msg);
        report_advise(
            r, "The pod was assigned to it without the scheduler, or labels have changed: recreate the pod.");
    }
    if (w->attach)
        attach_each_wait(w->attach, p->node_name, p->obj.uid, on_attach, &context);
    driver = v->source.kind == SOURCE_CSI ? v->source.csi->driver : plugin ? migration_driver(plugin) : NULL;
    if (!driver || explain_driver(w, r, p, driver) || !w->caches[KIND_ATTACHMENT])
        return;
    o = why_get(w, KIND_CSI_DRIVER, "", driver);
    if (!o || ((const struct csi_driver *)(const void *)o)->attach_required)
        explain_attachment(w, r, p, v);
}
