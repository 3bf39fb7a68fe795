/* Explains a VolumeAttachment: why it is not attached, or not detached. Costs what why_csi() costs. */
#include "why/why_csi.h"

#include <string.h>

#include "api/attachment.h"
#include "api/csi.h"

/* The volume or the node that the driver needs does not exist; nobody can attach then. */
static void explain_parts(const struct why_world *w, struct why_report *r, const struct attachment *a)
{
    const struct object *node = why_get(w, KIND_CSI_NODE, "", a->node_name);

    if (a->volume_name[0] && !why_get(w, KIND_VOLUME, "", a->volume_name)) {
        report_cause(r, "volume-gone", "its volume %s does not exist", a->volume_name);
        report_next(r, "nothing until the volume exists");
    }
    if (w->caches[KIND_NODE] && !why_get(w, KIND_NODE, "", a->node_name)) {
        report_cause(r, "node-gone", "its node %s does not exist", a->node_name);
        report_advise(r, "If the node is gone for good: berth delete volumeattachment %s", a->obj.name);
    } else if (w->caches[KIND_CSI_NODE] &&
               (!node || !csi_node_driver((const struct csi_node *)(const void *)node, a->attacher))) {
        report_cause(r, "driver-not-registered", "CSI driver %s is not registered on node %s", a->attacher,
                     a->node_name);
        report_advise(r, "Start the driver's node plugin there; it registers automatically.");
        report_next(r, "it is attached when the driver is registered there");
    }
}

/* Any driver's attacher keeps an attachment until its volume is detached. */
static void explain_detach(const struct why_world *w, struct why_report *r, const struct attachment *a)
{
    const struct texts *all = &a->obj.finalizers;
    const struct why_csi_question q = { .driver = a->attacher,
                                        .duty = CSI_DUTY_ATTACH,
                                        .about = &a->obj,
                                        .code = "detach-failed",
                                        .said = a->detach_error.message };

    for (uint32_t i = 0; i < all->count; i++) {
        if (why_csi_attacher_of(all->items[i]))
            continue;
        report_cause(r, "finalizer", "it is being deleted, and waits for the component that set finalizer %s",
                     all->items[i]);
        report_advise(r, "Find the component that sets %s, and check why it does not remove it.",
                      all->items[i]);
    }
    if (all->count == 0) {
        report_cause(r, "going", "it is being deleted, and nothing blocks it");
        return;
    }
    if (why_csi(w, r, &q))
        report_advise(r,
                      "Only if the driver is gone for good and the volume is not in use: berth patch "
                      "volumeattachment %s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'",
                      a->obj.name);
    else
        report_next(r, "CSI driver %s detaches the volume, then the finalizer is removed", a->attacher);
    report_cause(r, "detaching", "the volume is being detached from node %s", a->node_name);
}

static void explain_attach(const struct why_world *w, struct why_report *r, const struct attachment *a)
{
    const struct why_csi_question q = { .driver = a->attacher,
                                        .duty = CSI_DUTY_ATTACH,
                                        .about = &a->obj,
                                        .code = "attach-failed",
                                        .said = a->attach_error.message };

    explain_parts(w, r, a);
    if (!why_csi(w, r, &q) && !report_has_cause(r))
        report_next(r, "CSI driver %s attaches the volume", a->attacher);
    if (a->attach_error.message[0])
        report_cause(r, "attach-failed", "it cannot be attached: %s", a->attach_error.message);
    report_cause(r, "attaching", "it is not attached yet: waiting for CSI driver %s", a->attacher);
}

void why_attachment(const struct why_world *w, struct why_report *r, const struct object *attachment)
{
    const struct attachment *a = (const struct attachment *)(const void *)attachment;
    char age[WHY_AGE_BYTES_MAX];

    report_state(r, "%s %s",
                 attachment->is_deleting ? "Detaching from"
                 : a->is_attached        ? "Attached to"
                                         : "Attaching to",
                 a->node_name);
    report_fact(r, "volume %s, CSI driver %s, created %s ago",
                a->volume_name[0] ? a->volume_name : "(inline)", a->attacher,
                why_age(w, attachment->created, age));
    if (attachment->is_deleting)
        explain_detach(w, r, a);
    else if (!a->is_attached)
        explain_attach(w, r, a);
    why_add_events(w, r, attachment, /* over= */ NULL);
}
