/* The final state of the scenario csi: every claim that can be bound is bound, with the requested size and
 * attributes class; every volume of the driver has a PersistentVolume, and the volumes of deleted claims are
 * gone; every pod has its volume, and there is no other attachment; no call is recorded as unfinished.
 *
 * Exceptions, which need a user or an administrator: a volume on a node with mounts that its agent could not
 * reconstruct (docs/operations.md), an attributes class that the driver does not know, an expansion that the
 * driver refuses while a pod uses the volume, a pod that waits for a volume which another node has, a pod
 * whose claim was deleted before it was scheduled. */
#include "sim/scenario_csi.h"

#include <stdio.h>
#include <string.h>

#include "api/attachment.h"
#include "api/config.h"
#include "api/pod.h"
#include "node/node_status.h"
#include "sim/objects.h"
#include "sim/sim_world.h"

struct csi_settle {
    struct csi_scenario *scenario;
    struct error *err;
};

/* --- Who uses what --- */

struct pod_search {
    const char *claim;
    const char *node; /* "": none; NULL: any, or none */
    const struct object *except;
    const struct object *later; /* only pods that were not created after it; NULL: all */
    bool is_found;
};

static bool match_pod(void *ctx, const struct object *o)
{
    struct pod_search *search = ctx;
    const struct pod *p = pod_of(o);

    if (search->later && o->created.seconds > search->later->created.seconds)
        return true;
    if (o == search->except || (search->node && strcmp(p->node_name, search->node) != 0))
        return true;
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (p->volumes.items[i].type == POD_VOLUME_CLAIM &&
            strcmp(p->volumes.items[i].claim_name, search->claim) == 0)
            search->is_found = true;
    return !search->is_found;
}

bool csi_scenario_has_pod(struct csi_scenario *scenario, const char *claim, const char *node,
                          const struct object *except)
{
    struct pod_search search = { .claim = claim, .node = node, .except = except };

    (void)objects_each(scenario->sim, KIND_POD, match_pod, &search);
    return search.is_found;
}

static bool has_unknown_mounts(const struct csi_scenario *scenario, unsigned node)
{
    const struct node *n = stored_node(scenario->sim, scenario->nodes[node].name);

    return n && condition_status(&n->conditions, NODE_UNKNOWN_MOUNTS) == CONDITION_TRUE;
}

/* True if a node keeps the volume until an administrator has unmounted it. */
static bool is_stuck(const struct csi_scenario *scenario, const struct backend_volume *v)
{
    for (unsigned n = 0; n < scenario->nodes_count && v && v->disk; n++)
        if (v->disk->is_attached[n] && has_unknown_mounts(scenario, n))
            return true;
    return false;
}

/* --- Claims --- */

static bool settle_fail(const struct csi_settle *l, const struct object *o, const char *what)
{
    (void)error_set(l->err, ERR_BUSY, "%s %s: %s", o->kind->plural, o->name, what);
    return false;
}

/* A file system is expanded when a pod uses the volume; until then the volume is not expanded again. */
static bool is_expanded(const struct csi_settle *l, const struct claim *c, const struct volume *v,
                        const struct backend_volume *stored)
{
    bool is_used = csi_scenario_has_pod(l->scenario, c->obj.name, NULL, NULL);

    if (quantity_cmp(&c->capacity, &c->request) >= 0)
        return true;
    if (!is_used && (c->resize == RESIZE_NODE_PENDING || c->resize == RESIZE_NODE_IN_PROGRESS) &&
        quantity_cmp(&v->capacity, &c->allocated) >= 0)
        return true;
    if (stored->is_expand_barred && is_used)
        return true;
    for (unsigned n = 0; n < l->scenario->nodes_count; n++)
        if (stored->disk->is_expand_barred[n] && is_used)
            return true;
    return settle_fail(l, &c->obj, "it is not expanded");
}

/* The driver cannot have a volume of the claim's attributes class. */
static bool has_no_tier(const struct csi_scenario *scenario, const struct claim *c)
{
    return c->attributes_class[0] &&
           (!scenario->backend.has_modify || strcmp(c->attributes_class, BACKEND_BAD_TIER) == 0);
}

static bool is_modified(const struct csi_settle *l, const struct claim *c, const struct volume *v,
                        const struct backend_volume *stored)
{
    const char *wanted = c->attributes_class;

    if (has_no_tier(l->scenario, c))
        return true;
    if (strcmp(c->current_attributes_class, wanted) != 0 || c->modify != MODIFY_NONE)
        return settle_fail(l, &c->obj, "it is not modified");
    if (strcmp(v->attributes_class, wanted) != 0)
        return settle_fail(l, &v->obj, "it has another attributes class than its claim");
    if (strcmp(stored->tier, wanted) != 0)
        return settle_fail(l, &v->obj, "the driver has not modified it");
    return true;
}

static bool check_claim(void *ctx, const struct object *o)
{
    const struct csi_settle *l = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = csi_scenario_bound(l->scenario, c);
    const struct backend_volume *stored = v ? csi_scenario_volume(l->scenario, v) : NULL;
    bool is_used = csi_scenario_has_pod(l->scenario, o->name, NULL, NULL);

    if (is_stuck(l->scenario, stored))
        return true;
    if (o->is_deleting)
        return is_used || settle_fail(l, o, "it still exists");
    if (c->phase != CLAIM_BOUND)
        return (strcmp(c->class, CSI_CLASS_LATER) == 0 &&
                !csi_scenario_has_pod(l->scenario, o->name, "", NULL)) ||
               has_no_tier(l->scenario, c) || settle_fail(l, o, "it is not bound");
    if (!v || !stored || !stored->disk)
        return settle_fail(l, o, "its volume does not exist");
    return is_expanded(l, c, v, stored) && is_modified(l, c, v, stored);
}

/* --- Volumes and attachments --- */

struct kept_search {
    struct csi_scenario *scenario;
    const struct volume *volume;
    bool is_kept, is_detached;
};

static bool match_attachment(void *ctx, const struct object *o)
{
    struct kept_search *search = ctx;
    const struct attachment *va = (const void *)o;
    const struct claim *now = stored_claim(search->scenario->sim, search->volume->claim.name);
    struct pod_search pods = { .claim = search->volume->claim.name,
                               .node = va->node_name,
                               .later = now ? &now->obj : NULL };

    if (strcmp(va->volume_name, search->volume->obj.name) != 0)
        return true;
    (void)objects_each(search->scenario->sim, KIND_POD, match_pod, &pods);
    search->is_detached = search->is_detached || o->is_deleting;
    search->is_kept = search->is_kept || pods.is_found;
    return true;
}

/* True if a pod was scheduled while its claim was being deleted: the volume stays attached until the pod is
 * deleted, also if there is a new claim of that name. */
static bool is_kept(struct csi_scenario *scenario, const struct volume *v)
{
    struct kept_search search = { .scenario = scenario, .volume = v };

    (void)objects_each(scenario->sim, KIND_ATTACHMENT, match_attachment, &search);
    return search.is_kept && !search.is_detached;
}

static bool check_volume(void *ctx, const struct object *o)
{
    const struct csi_settle *l = ctx;
    const struct volume *v = volume_of(o);
    const struct claim *c = v->claim.is_set ? stored_claim(l->scenario->sim, v->claim.name) : NULL;

    if (is_stuck(l->scenario, csi_scenario_volume(l->scenario, v)))
        return true;
    if (c && strcmp(c->obj.uid, v->claim.uid) == 0)
        return true;
    if (v->reclaim == RECLAIM_RETAIN && v->phase == VOLUME_RELEASED)
        return true;
    return is_kept(l->scenario, v) || settle_fail(l, o, "its claim is deleted, and it still exists");
}

static bool check_attachment(void *ctx, const struct object *o)
{
    const struct csi_settle *l = ctx;
    const struct attachment *va = (const void *)o;
    const struct volume *v = stored_volume(l->scenario->sim, va->volume_name);

    if (!v)
        return settle_fail(l, o, "its volume does not exist");
    if (is_stuck(l->scenario, csi_scenario_volume(l->scenario, v)))
        return true;
    if (!csi_scenario_has_pod(l->scenario, v->claim.name, va->node_name, NULL))
        return settle_fail(l, o, "no pod uses its volume");
    return true;
}

/* A volume without a PersistentVolume is leaked: nobody will delete it. */
static int check_backend(struct csi_scenario *scenario, struct error *err)
{
    const struct backend_volume *b;

    TAILQ_FOREACH(b, &scenario->backend.volumes, link) {
        char name[sizeof b->id + 8];

        (void)snprintf(name, sizeof name, "pvc-%s", b->id + 2);
        if (b->disk && !stored_volume(scenario->sim, name))
            return error_set(err, ERR_BUSY, "the driver has %s, which has no PersistentVolume", b->id);
    }
    return 0;
}

/* --- Pods --- */

/* The pod was scheduled for an earlier claim of the same name, whose volume was in another zone. */
static bool is_out_of_reach(const struct csi_scenario *scenario, const struct object *pod,
                            const struct claim *c, const struct backend_volume *v, unsigned node)
{
    return scenario->backend.zones && v->zone != scenario->zones[node] &&
           pod->created.seconds <= c->obj.created.seconds;
}

static bool check_pod(void *ctx, const struct object *o)
{
    const struct csi_settle *l = ctx;
    struct csi_scenario *scenario = l->scenario;
    const struct pod *p = pod_of(o);
    const struct claim *c = stored_claim(scenario->sim, p->volumes.items[0].claim_name);
    const struct volume *v = c && !c->obj.is_deleting ? csi_scenario_bound(scenario, c) : NULL;
    const struct backend_volume *stored = v ? csi_scenario_volume(scenario, v) : NULL;

    for (unsigned n = 0; n < scenario->nodes_count; n++)
        if (has_unknown_mounts(scenario, n))
            return true;
    if (o->is_deleting)
        return settle_fail(l, o, "it still exists");
    if (!stored || !stored->disk)
        return true;
    if (!p->node_name[0])
        return settle_fail(l, o, "it has no node");
    for (unsigned n = 0; n < scenario->nodes_count; n++) {
        const struct csi_scenario_node *other = &scenario->nodes[n];

        if (strcmp(other->name, p->node_name) == 0 && is_out_of_reach(scenario, o, c, stored, n))
            return true;
        if (strcmp(other->name, p->node_name) == 0 &&
            machine_mounts_disk(other->machine, &stored->disk->disk))
            return true;
        if (stored->disk->is_exclusive && strcmp(other->name, p->node_name) != 0 &&
            csi_scenario_has_pod(scenario, c->obj.name, other->name, o))
            return true; /* one of them has the volume */
    }
    return settle_fail(l, o, "it does not have its volume");
}

/* --- The record of calls --- */

static int check_record(const struct csi_scenario *scenario, struct error *err)
{
    const struct object *o = store_get(scenario->sim->server.store, KIND_CONFIG_MAP, DAEMON_LEASE_NAMESPACE,
                                       "berth-csi-" CSI_DRIVER);

    if (o && config_map_of(o)->data.count > 0)
        return error_set(err, ERR_BUSY, "the creation for claim %s is recorded as unfinished",
                         config_map_of(o)->data.items[0].key);
    return 0;
}

int csi_scenario_settled(void *ctx, struct error *err)
{
    struct csi_scenario *scenario = ctx;
    struct csi_settle l = { scenario, err };
    static const struct {
        enum kind kind;
        objects_fn *check;
    } checks[] = { { KIND_CLAIM, check_claim },
                   { KIND_VOLUME, check_volume },
                   { KIND_ATTACHMENT, check_attachment },
                   { KIND_POD, check_pod } };

    if (machine_expects_calls(scenario->plane))
        return error_set(err, ERR_BUSY, "a call to the driver is pending");
    for (size_t i = 0; i < ARRAY_LEN(checks); i++)
        if (!objects_each(scenario->sim, checks[i].kind, checks[i].check, &l))
            return -(int)err->code;
    return check_backend(scenario, err) < 0 ? -(int)err->code : check_record(scenario, err);
}
