/* Explains bound claims that are being expanded or modified, and claims that are being deleted. */
#include "why/claim.h"

#include <stdio.h>
#include <string.h>

#include "api/class.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "controllers/expand/expand.h"
#include "controllers/protect/protect.h"
#include "machinery/component_deps.h"
#include "why/users.h"
#include "why/why_csi.h"

/* Pods that use the claim, with their nodes: "web-0 (on n1), web-1". Returns how many. */
static unsigned add_users(const struct why_world *w, const struct claim *c, struct buf *out)
{
    struct informer_cursor at;
    char key[CLAIM_KEY_BYTES_MAX];
    unsigned count = 0;

    (void)snprintf(key, sizeof key, "%s/%s", c->obj.ns, c->obj.name);
    for (const struct object *o = informer_first_by(w->caches[KIND_POD], PODS_BY_CLAIM, str_of(key), &at); o;
         o = informer_next(&at)) {
        const struct pod *p = pod_of(o);

        if (!protect_is_user(p, c) || ++count > WHY_EXAMPLES)
            continue;
        buf_addf(out, "%s%s", count > 1 ? ", " : "", o->name);
        if (p->node_name[0])
            buf_addf(out, " (on %s)", p->node_name);
    }
    if (count > WHY_EXAMPLES)
        buf_addf(out, " and %u more", count - WHY_EXAMPLES);
    return count;
}

/* --- Expansion --- */

static const char *condition_message(const struct claim *c, const char *type)
{
    const struct status_condition *condition = condition_get(&c->conditions, type);

    return condition && condition->status == CONDITION_TRUE ? condition->message : NULL;
}

/* The last event about expanding an object; false when it reports success, or there is none. volume: the
 * volume that the event has to name; NULL for any. */
static bool find_failed_growth(const struct why_world *w, const struct object *about, const char *volume,
                               struct why_warning *ret)
{
    static const char *const reasons[] = { "VolumeResizeFailed", "FileSystemResizeFailed",
                                           "VolumeResizeSuccessful", "FileSystemResizeSuccessful", NULL };

    return why_last_event(w, about, reasons, ret) && strstr(ret->reason, "Failed") &&
           (!volume || strstr(ret->message, volume));
}

/* The node records failures in events about the pod for which it expands the volume. */
static bool find_failure_on_node(const struct why_world *w, const struct claim *c, struct why_warning *ret)
{
    struct informer_cursor at;
    char key[CLAIM_KEY_BYTES_MAX], volume[WHY_LINE_BYTES_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", c->obj.ns, c->obj.name);
    (void)snprintf(volume, sizeof volume, "\"%s\"", c->volume_name);
    for (const struct object *o = informer_first_by(w->caches[KIND_POD], PODS_BY_CLAIM, str_of(key), &at); o;
         o = informer_next(&at))
        if (protect_is_user(pod_of(o), c) && find_failed_growth(w, o, volume, ret))
            return true;
    return false;
}

/* The message of the last failure: from a condition, or else from an event. False when there is none. */
static bool find_failure(const struct why_world *w, const struct claim *c, struct why_warning *ret)
{
    const char *said = condition_message(c, CLAIM_CONTROLLER_RESIZE_ERROR);

    if (!said)
        said = condition_message(c, CLAIM_NODE_RESIZE_ERROR);
    if (!said)
        return find_failed_growth(w, &c->obj, /* volume= */ NULL, ret) || find_failure_on_node(w, c, ret);
    (void)snprintf(ret->message, sizeof ret->message, "%s", said);
    return true;
}

static bool is_pending_on_node(const struct claim *c)
{
    return c->resize == RESIZE_NODE_PENDING || c->resize == RESIZE_NODE_IN_PROGRESS ||
           condition_status(&c->conditions, CLAIM_FILE_SYSTEM_RESIZE_PENDING) == CONDITION_TRUE;
}

static bool may_grow(const struct why_world *w, const struct claim *c)
{
    const struct object *o = c->class[0] ? why_get(w, KIND_CLASS, "", c->class) : NULL;

    return o && ((const struct storage_class *)(const void *)o)->allows_expansion;
}

/* The volume if it has to be expanded manually; NULL otherwise. */
static const struct volume *volume_by_hand(const struct why_world *w, const struct claim *c)
{
    const struct object *o = why_get(w, KIND_VOLUME, "", c->volume_name);

    return o && expand_is_by_hand(volume_of(o)) ? volume_of(o) : NULL;
}

static void explain_by_hand(struct why_report *r, const struct claim *c, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf asks = BUF_INIT(256);

    quantity_format(&c->request, &asks);
    report_cause(r, "resize-by-hand", "volume %s must be expanded manually: %s", v->obj.name,
                 v->source.kind == SOURCE_NFS ? "the NFS server manages the export"
                                              : "it is a disk or directory of its node");
    report_advise(r,
                  "Expand the underlying storage, then raise the capacity of the volume: berth patch pv %s "
                  "-p '{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}'",
                  v->obj.name, buf_cstr(&asks));
    report_next(r, "nothing until the capacity of the volume is raised; the claim then follows");
}

/* The resizer of the volume's CSI driver. False: it explains nothing, or the volume has no driver. */
static bool explain_resizer(const struct why_world *w, struct why_report *r, const struct claim *c,
                            const char *code, const char *said)
{
    const struct object *o = why_get(w, KIND_VOLUME, "", c->volume_name);
    const char *driver =
        o && volume_of(o)->source.kind == SOURCE_CSI ? volume_of(o)->source.csi->driver : NULL;

    return driver && why_csi_is_driver(w, driver) &&
           why_csi(
               w, r,
               &(struct why_csi_question){
                   .driver = driver, .duty = CSI_DUTY_RESIZE, .about = &c->obj, .code = code, .said = said });
}

static void explain_growth(const struct why_world *w, struct why_report *r, const struct claim *c,
                           const char *users)
{
    const struct volume *by_hand = volume_by_hand(w, c);
    bool has_grown = by_hand && quantity_cmp(&by_hand->capacity, &c->request) >= 0;
    bool is_on_node = is_pending_on_node(c) || (has_grown && by_hand->source.kind == SOURCE_LOCAL);
    struct why_warning x = { .message = "" };

    if (c->resize == RESIZE_CONTROLLER_INFEASIBLE || c->resize == RESIZE_NODE_INFEASIBLE) {
        (void)find_failure(w, c, &x);
        if (c->resize == RESIZE_CONTROLLER_INFEASIBLE)
            (void)explain_resizer(w, r, c, "resize-infeasible", x.message);
        report_cause(r, "resize-infeasible", "it cannot be expanded to that size%s%s",
                     x.message[0] ? ": " : "", x.message);
        report_advise(r, "Request less, but not less than it has now.");
        report_next(r, "nothing until another size is requested");
    } else if (find_failure(w, c, &x) && !is_on_node &&
               explain_resizer(w, r, c, "resize-failed", x.message)) {
        return;
    } else if (x.message[0]) {
        report_cause(r, "resize-failed", "expanding it fails: %s", x.message);
        report_next(r, "expansion is retried automatically");
    } else if (is_on_node && users[0] == '\0') {
        report_cause(r, "resize-waits-for-pod",
                     "its volume has been expanded; its file system is expanded when a node mounts it, and "
                     "no pod uses it");
        report_advise(r, "Start a pod that uses the claim.");
        report_next(r, "the node that mounts it expands the file system");
    } else if (is_on_node) {
        report_cause(r, "resize-on-node",
                     "its volume has been expanded, and the node has to expand its file system");
        report_next(r, "the node of %s expands the file system", users);
    } else if (!may_grow(w, c)) {
        report_cause(r, "resize-not-allowed", "its class \"%s\" does not allow volume expansion", c->class);
        report_advise(r, "Set allowVolumeExpansion: true in the class, if its storage supports expansion.");
        report_next(r, "nothing until the class allows it");
    } else if (by_hand && !has_grown) {
        explain_by_hand(r, c, by_hand);
    } else if (!explain_resizer(w, r, c, "resize-failed", "")) {
        report_cause(r, "resizing", "its volume is being expanded");
        report_next(r, "the volume is expanded, then its file system");
    }
}

/* Another attributes class is requested than the volume has. */
static void explain_modify(const struct why_world *w, struct why_report *r, const struct claim *c)
{
    const char *said = condition_message(c, CLAIM_MODIFY_VOLUME_ERROR);
    bool is_wanted = strcmp(c->attributes_class, c->current_attributes_class) != 0;

    if (said || (is_wanted && c->attributes_class[0]))
        (void)explain_resizer(w, r, c, "modify-failed", said ? said : "");
    if (said)
        report_cause(r, "modify-failed", "its attributes class \"%s\" cannot be applied: %s",
                     c->attributes_class, said);
    else if (is_wanted && c->attributes_class[0])
        report_cause(r, "modifying", "its volume is being changed to attributes class \"%s\"",
                     c->attributes_class);
}

void why_growth(const struct why_world *w, struct why_report *r, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf users = BUF_INIT(WHY_LINE_BYTES_MAX), has = BUF_INIT(256),
                                     asks = BUF_INIT(256);

    quantity_format(&c->capacity, &has);
    quantity_format(&c->request, &asks);
    (void)add_users(w, c, &users);
    if (c->has_capacity && quantity_cmp(&c->request, &c->capacity) > 0) {
        report_fact(r, "it has %s and requests %s", buf_cstr(&has), buf_cstr(&asks));
        explain_growth(w, r, c, buf_cstr(&users));
    }
    explain_modify(w, r, c);
    if (users.len)
        report_fact(r, "used by %s", buf_cstr(&users));
    else
        report_fact(r, "no pod uses it");
}

/* --- Deletion --- */

void why_deletion(const struct why_world *w, struct why_report *r, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf users = BUF_INIT(WHY_LINE_BYTES_MAX);
    unsigned count = add_users(w, c, &users);
    bool is_protected = object_has_finalizer(&c->obj, FINALIZER_CLAIM_PROTECTION);

    if (is_protected && count > 0) {
        report_cause(r, "in-use", "it is being deleted, and is kept while pods use it: %s", buf_cstr(&users));
        report_advise(r, "Delete the pods that use it; it is then removed automatically.");
        report_next(r, "it is removed when the last of them is deleted (" FINALIZER_CLAIM_PROTECTION ")");
    } else if (is_protected) {
        report_cause(r, "protected",
                     "it is being deleted, no pod uses it, and its protection is about to be removed");
        report_next(r, "the controllers remove the finalizer " FINALIZER_CLAIM_PROTECTION);
    }
    for (uint32_t i = 0; i < c->obj.finalizers.count; i++) {
        const char *name = c->obj.finalizers.items[i];

        if (strcmp(name, FINALIZER_CLAIM_PROTECTION) != 0)
            report_cause(r, "finalizer",
                         "finalizer %s blocks its deletion: the component that set it must remove it", name);
    }
}
