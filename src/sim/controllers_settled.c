/* In the end: what the controllers owe the objects and the machine. */
#include "sim/scenario_controllers.h"

#include <stdio.h>
#include <string.h>

#include "api/pod_claims.h"
#include "sim/sim_world.h"

struct looking {
    struct estate *estate;
    struct error *err;
    const struct claim *claim; /* whose users are counted */
    const char *uid;           /* that is looked for */
    bool is_found;
    int r;
};

static bool waits(struct looking *l, const struct object *o, const char *why)
{
    l->r = error_set(l->err, ERR_BUSY, "%s %s %s", o->kind->name, o->name, why);
    return false;
}

/* --- Claims --- */

static bool find_user(void *ctx, const struct object *o)
{
    struct looking *l = ctx;
    const struct pod *p = pod_of(o);

    for (uint32_t i = 0; i < p->volumes.count && p->node_name[0]; i++)
        l->is_found = l->is_found || pod_volume_is_claim(p, &p->volumes.items[i], l->claim);
    return !l->is_found;
}

static bool is_used(struct estate *x, const struct claim *c)
{
    struct looking l = { .estate = x, .claim = c };

    (void)objects_each(x->sim, KIND_POD, find_user, &l);
    return l.is_found;
}

static bool match_uid(void *ctx, const struct object *o)
{
    struct looking *l = ctx;

    l->is_found = l->is_found || strcmp(o->uid, l->uid) == 0;
    return !l->is_found;
}

static bool is_there(struct estate *x, enum kind k, const char *uid)
{
    struct looking l = { .estate = x, .uid = uid };

    (void)objects_each(x->sim, k, match_uid, &l);
    return l.is_found;
}

/* What it was allowed to ask for it gets, as far as the storage has it. */
static bool is_growing(const struct claim *c, const struct volume *v)
{
    bool is_satisfied = quantity_cmp(&c->request, &c->capacity) <= 0;

    if (v->source.kind == SOURCE_NFS)
        return !is_satisfied && quantity_cmp(&c->request, &v->capacity) <= 0;
    return v->source.kind == SOURCE_FLEX &&
           (!is_satisfied || c->resize != RESIZE_NONE || object_annotation(&v->obj, ANN_PRE_RESIZE_CAPACITY));
}

static bool check_claim(void *ctx, const struct object *o)
{
    struct looking *l = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = estate_volume_of(l->estate, c);
    const struct owner *owner = object_controller(o);

    if (o->is_deleting)
        return is_used(l->estate, c) || waits(l, o, "is deleted and stays");
    if (owner && !is_there(l->estate, KIND_POD, owner->uid))
        return waits(l, o, "has outlived its pod");
    if ((strcmp(c->class, "nfs") == 0 || strcmp(c->class, "archive") == 0) && c->phase != CLAIM_BOUND)
        return waits(l, o, "has no volume");
    if (c->phase == CLAIM_BOUND && v && is_growing(c, v))
        return waits(l, o, "does not grow");
    return true;
}

/* --- Pods and volumes --- */

static bool check_pod(void *ctx, const struct object *o)
{
    struct looking *l = ctx;
    const struct pod *p = pod_of(o);

    if (o->is_deleting)
        return waits(l, o, "is still there");
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];

        if (v->type == POD_VOLUME_EPHEMERAL && !stored_claim(l->estate->sim, pod_claim_name(v)))
            return waits(l, o, "has no claim");
    }
    return true;
}

static bool check_volume(void *ctx, const struct object *o)
{
    struct looking *l = ctx;
    const struct volume *v = volume_of(o);

    if (o->is_deleting && v->phase != VOLUME_BOUND)
        return waits(l, o, "is deleted and stays");
    if (v->phase == VOLUME_RELEASED && v->reclaim == RECLAIM_DELETE)
        return waits(l, o, "is released and stays");
    return true;
}

/* --- The machine --- */

struct path_search {
    struct estate *estate;
    const struct file_node *storage;
    bool is_found;
};

static bool match_storage(void *ctx, const struct object *o)
{
    struct path_search *p = ctx;

    p->is_found = p->is_found || estate_storage(p->estate, volume_of(o)) == p->storage;
    return !p->is_found;
}

static bool has_volume(struct estate *x, const struct file_node *storage)
{
    struct path_search p = { x, storage, false };

    (void)objects_each(x->sim, KIND_VOLUME, match_storage, &p);
    return p.is_found;
}

/* A directory that was made for a claim which went before the volume was saved may stay behind when the
 * process dies then; one that had a volume may not. */
static int check_export(struct estate *x, struct error *err)
{
    const struct tree_entry *e;

    TAILQ_FOREACH(e, &x->export.tree->root->entries, link)
        if (strcmp(e->name, NFS_SUBDIR_MARKER) != 0 && strncmp(e->name, "archived-", 9) != 0 &&
            !has_volume(x, e->node) && (!tree_is_empty(e->node) || x->sim->faults_made == 0))
            return error_set(err, ERR_BUSY, "directory %s is left", e->name);
    return 0;
}

static int check_disks(struct estate *x, struct error *err)
{
    for (unsigned i = 0; i < ESTATE_DISKS && x->has_local; i++)
        if (estate_has_disk(x, i) && !has_volume(x, x->disks[i].tree->root))
            return error_set(err, ERR_BUSY, "disk %s has no volume", x->disks[i].name);
    return 0;
}

/* --- Nodes --- */

/* Watches that nobody answers have ended by then. */
#define HEALTHY_NS (660 * NS_PER_S)

/* A node goes, its volume is told, it comes back, the volume is told again. */
static int say_farewell(struct estate *x, struct error *err)
{
    struct estate_node *n = estate_node(x, "n1");
    const struct estate_told *told = NULL;

    for (size_t i = 0; i < x->told.count; i++)
        if (strcmp(x->told.items[i].volume, "far") == 0)
            told = &x->told.items[i];
    switch (x->farewell) {
    case 0:
        if (n->gone_ns)
            estate_make_node(x, n->name);
        else if (x->sim->now_ns >= x->healed_ns + HEALTHY_NS)
            x->farewell++;
        break;
    case 1:
        objects_drop(x->sim, KIND_NODE, n->name);
        x->farewell++;
        break;
    case 2:
        if (n->gone_ns && told && told->gone_ns >= n->gone_ns) {
            estate_make_node(x, n->name);
            x->farewell++;
        }
        break;
    case 3:
        if (!n->gone_ns && told && told->back_ns >= n->back_ns)
            x->farewell++;
        break;
    default:
        return 0;
    }
    return error_set(err, ERR_BUSY, "volume far is told nothing of its node (%u)", x->farewell);
}

int estate_settled(void *ctx, struct error *err)
{
    struct estate *x = ctx;
    struct looking l = { .estate = x, .err = err };

    x->healed_ns = x->healed_ns ? x->healed_ns : x->sim->now_ns;
    for (unsigned i = 0; i < ESTATE_DISKS; i++)
        if (!estate_has_disk(x, i))
            estate_mount(x, i);
    if (!machine_mounts_disk(x->machine, &x->export) || machine_mounts_disk(x->machine, &x->strange))
        estate_mount_export(x);
    estate_serve_requests(x);
    if (!stored_node(x->sim, "n0"))
        estate_make_node(x, "n0");
    l.r = say_farewell(x, err);
    if (l.r == 0)
        (void)objects_each(x->sim, KIND_CLAIM, check_claim, &l);
    if (l.r == 0)
        (void)objects_each(x->sim, KIND_POD, check_pod, &l);
    if (l.r == 0)
        (void)objects_each(x->sim, KIND_VOLUME, check_volume, &l);
    if (l.r == 0)
        l.r = check_export(x, err);
    return l.r < 0 ? l.r : check_disks(x, err);
}
