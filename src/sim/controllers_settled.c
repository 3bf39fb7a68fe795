/* The final state of scenario controllers.
 *
 * Every claim, pod and volume has what it needs or is deleted, no directory without a volume is left, and
 * every mounted disk has a volume. Before that, run_node_test() deletes and recreates a node and requires the
 * events NodeGone and NodeBack of its volume. Disks, nodes and requests that only users can provide are
 * provided here. */
#include "sim/scenario_controllers.h"

#include <stdio.h>
#include <string.h>

#include "api/pod_claims.h"
#include "sim/sim_world.h"

struct settle_check {
    struct controllers_scenario *scenario;
    struct error *err;
    const struct claim *claim; /* whose users are searched */
    const char *uid;           /* that is searched */
    bool is_found;
    int r;
};

static bool report_unsettled(struct settle_check *l, const struct object *o, const char *why)
{
    l->r = error_set(l->err, ERR_BUSY, "%s %s %s", o->kind->name, o->name, why);
    return false;
}

/* --- Claims --- */

static bool find_user(void *ctx, const struct object *o)
{
    struct settle_check *l = ctx;
    const struct pod *p = pod_of(o);

    for (uint32_t i = 0; i < p->volumes.count && p->node_name[0]; i++)
        l->is_found = l->is_found || pod_volume_is_claim(p, &p->volumes.items[i], l->claim);
    return !l->is_found;
}

static bool is_used(struct controllers_scenario *scenario, const struct claim *c)
{
    struct settle_check l = { .scenario = scenario, .claim = c };

    (void)objects_each(scenario->sim, KIND_POD, find_user, &l);
    return l.is_found;
}

static bool match_uid(void *ctx, const struct object *o)
{
    struct settle_check *l = ctx;

    l->is_found = l->is_found || strcmp(o->uid, l->uid) == 0;
    return !l->is_found;
}

static bool has_object(struct controllers_scenario *scenario, enum kind k, const char *uid)
{
    struct settle_check l = { .scenario = scenario, .uid = uid };

    (void)objects_each(scenario->sim, k, match_uid, &l);
    return l.is_found;
}

/* True if an expansion that the storage allows is not complete. */
static bool is_expanding(const struct claim *c, const struct volume *v)
{
    bool is_satisfied = quantity_cmp(&c->request, &c->capacity) <= 0;

    if (v->source.kind == SOURCE_NFS)
        return !is_satisfied && quantity_cmp(&c->request, &v->capacity) <= 0;
    return v->source.kind == SOURCE_FLEX &&
           (!is_satisfied || c->resize != RESIZE_NONE || object_annotation(&v->obj, ANN_PRE_RESIZE_CAPACITY));
}

static bool check_claim(void *ctx, const struct object *o)
{
    struct settle_check *l = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = controllers_scenario_bound_volume(l->scenario, c);
    const struct owner *owner = object_controller(o);

    if (o->is_deleting)
        return is_used(l->scenario, c) || report_unsettled(l, o, "is being deleted and still exists");
    if (owner && !has_object(l->scenario, KIND_POD, owner->uid))
        return report_unsettled(l, o, "exists after the deletion of its pod");
    if ((strcmp(c->class, "nfs") == 0 || strcmp(c->class, "archive") == 0) && c->phase != CLAIM_BOUND)
        return report_unsettled(l, o, "has no volume");
    if (c->phase == CLAIM_BOUND && v && is_expanding(c, v))
        return report_unsettled(l, o, "is not expanded");
    return true;
}

/* --- Pods and volumes --- */

static bool check_pod(void *ctx, const struct object *o)
{
    struct settle_check *l = ctx;
    const struct pod *p = pod_of(o);

    if (o->is_deleting)
        return report_unsettled(l, o, "still exists");
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];

        if (v->type == POD_VOLUME_EPHEMERAL && !stored_claim(l->scenario->sim, pod_claim_name(v)))
            return report_unsettled(l, o, "has no claim");
    }
    return true;
}

static bool check_volume(void *ctx, const struct object *o)
{
    struct settle_check *l = ctx;
    const struct volume *v = volume_of(o);

    if (o->is_deleting && v->phase != VOLUME_BOUND)
        return report_unsettled(l, o, "is being deleted and still exists");
    if (v->phase == VOLUME_RELEASED && v->reclaim == RECLAIM_DELETE)
        return report_unsettled(l, o, "is released and not deleted");
    return true;
}

/* --- The machine --- */

struct path_search {
    struct controllers_scenario *scenario;
    const struct file_node *storage;
    bool is_found;
};

static bool match_storage(void *ctx, const struct object *o)
{
    struct path_search *p = ctx;

    p->is_found = p->is_found || controllers_scenario_storage(p->scenario, volume_of(o)) == p->storage;
    return !p->is_found;
}

static bool has_volume(struct controllers_scenario *scenario, const struct file_node *storage)
{
    struct path_search p = { scenario, storage, false };

    (void)objects_each(scenario->sim, KIND_VOLUME, match_storage, &p);
    return p.is_found;
}

/* An empty directory may be left if the process was killed and its claim deleted before the volume was
 * created; a directory with data may not. */
static int check_export(struct controllers_scenario *scenario, struct error *err)
{
    const struct tree_entry *e;

    TAILQ_FOREACH(e, &scenario->export.tree->root->entries, link)
        if (strcmp(e->name, NFS_SUBDIR_MARKER) != 0 && strncmp(e->name, "archived-", 9) != 0 &&
            !has_volume(scenario, e->node) && (!tree_is_empty(e->node) || scenario->sim->faults_made == 0))
            return error_set(err, ERR_BUSY, "directory %s is left", e->name);
    return 0;
}

static int check_disk_volumes(struct controllers_scenario *scenario, struct error *err)
{
    for (unsigned i = 0; i < DISKS_COUNT && scenario->has_local; i++)
        if (controllers_scenario_has_disk(scenario, i) &&
            !has_volume(scenario, scenario->disks[i].tree->root))
            return error_set(err, ERR_BUSY, "disk %s has no volume", scenario->disks[i].name);
    return 0;
}

/* --- Nodes --- */

/* By then watches with a dead peer have ended. */
#define HEALTHY_NS (660 * NS_PER_S)

/* Deletes a node, waits for the event of its volume, recreates the node, waits for the second event. */
static int run_node_test(struct controllers_scenario *scenario, struct error *err)
{
    struct controllers_node *n = controllers_scenario_node(scenario, "n1");
    const struct volume_node_events *events = NULL;

    for (size_t i = 0; i < scenario->node_events.count; i++)
        if (strcmp(scenario->node_events.items[i].volume, "far") == 0)
            events = &scenario->node_events.items[i];
    switch (scenario->node_test_stage) {
    case 0:
        if (n->gone_ns)
            controllers_workload_make_node(scenario, n->name);
        else if (scenario->sim->now_ns >= scenario->healed_ns + HEALTHY_NS)
            scenario->node_test_stage++;
        break;
    case 1:
        objects_delete(scenario->sim, KIND_NODE, n->name);
        scenario->node_test_stage++;
        break;
    case 2:
        if (n->gone_ns && events && events->gone_ns >= n->gone_ns) {
            controllers_workload_make_node(scenario, n->name);
            scenario->node_test_stage++;
        }
        break;
    case 3:
        if (!n->gone_ns && events && events->back_ns >= n->back_ns)
            scenario->node_test_stage++;
        break;
    default:
        return 0;
    }
    return error_set(err, ERR_BUSY, "volume far has no event about its node (stage %u)",
                     scenario->node_test_stage);
}

int controllers_scenario_settled(void *ctx, struct error *err)
{
    struct controllers_scenario *scenario = ctx;
    struct settle_check l = { .scenario = scenario, .err = err };

    scenario->healed_ns = scenario->healed_ns ? scenario->healed_ns : scenario->sim->now_ns;
    for (unsigned i = 0; i < DISKS_COUNT; i++)
        if (!controllers_scenario_has_disk(scenario, i))
            controllers_workload_mount_disk(scenario, i);
    if (!machine_mounts_disk(scenario->machine, &scenario->export) ||
        machine_mounts_disk(scenario->machine, &scenario->foreign_export))
        controllers_workload_mount_export(scenario);
    controllers_workload_expand_volumes(scenario);
    if (!stored_node(scenario->sim, "n0"))
        controllers_workload_make_node(scenario, "n0");
    l.r = run_node_test(scenario, err);
    if (l.r == 0)
        (void)objects_each(scenario->sim, KIND_CLAIM, check_claim, &l);
    if (l.r == 0)
        (void)objects_each(scenario->sim, KIND_POD, check_pod, &l);
    if (l.r == 0)
        (void)objects_each(scenario->sim, KIND_VOLUME, check_volume, &l);
    if (l.r == 0)
        l.r = check_export(scenario, err);
    return l.r < 0 ? l.r : check_disk_volumes(scenario, err);
}
