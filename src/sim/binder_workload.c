/* The people of the binder's scenario: they make, change and delete volumes, claims and classes; one of them
 * stands for the scheduler, one for the protection controllers, one for an external provisioner. */
#include "sim/scenario_binder.h"

#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "volumes/match.h"

#define NAMES 6
#define PROTECT_NS (20 * NS_PER_MS)
#define PINNED                                                                                         \
    ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':" \
    "'Exists'}]}]}}"

static const char *const class_names[] = { "fast", "slow", "late" };

/* --- Objects --- */

static const char *pick(struct rng *r, const char *const *texts, size_t count)
{
    return texts[rng_below(r, count)];
}

static void any_name(struct rng *r, char prefix, char to[static 8])
{
    (void)snprintf(to, 8, "%c%u", prefix, (unsigned)rng_below(r, NAMES));
}

static void make_class(struct binder_world *x, const char *name)
{
    bool is_fast = strcmp(name, "fast") == 0;
    const char *reclaim = rng_chance(&x->sim->work, 70) ? "Delete" : "Retain";

    objects_create(
        x->sim, KIND_CLASS, name,
        "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s','annotations':{"
        "'" ANN_DEFAULT_CLASS "':'%s'}},'provisioner':'%s','volumeBindingMode':'%s','reclaimPolicy':'%s'}",
        name, is_fast && rng_chance(&x->sim->work, 30) ? "true" : "false",
        is_fast ? SIM_BINDER_PLUGIN : "kubernetes.io/no-provisioner",
        strcmp(name, "late") == 0 ? "WaitForFirstConsumer" : "Immediate", reclaim);
}

/* Two binders that empty the same volume would need a fence between them that storage does not have. */
static const char *any_policy(struct binder_world *x)
{
    static const char *const policies[] = { "Retain", "Delete", "Recycle", "Recycle", "Recycle" };

    return pick(&x->sim->work, policies, x->binders_count > 1 ? 2 : ARRAY_LEN(policies));
}

static void make_volume(struct binder_world *x, const char *name, const char *annotations, const char *ref)
{
    static const char *const classes[] = { "", "", "", "slow", "late", CLASS_NEVER };
    static const char *const modes[] = { "'ReadWriteOnce'", "'ReadWriteOnce','ReadWriteMany'" };
    struct rng *r = &x->sim->work;
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    const char *zone = rng_chance(r, 50) ? "a" : "b", *class = pick(r, classes, ARRAY_LEN(classes));
    const char *policy = any_policy(x), *of_modes = pick(r, modes, 2);
    /* No process here runs on a node: what has node affinity it does not reclaim. */
    bool is_pinned = rng_chance(r, 50) && strcmp(policy, "Retain") == 0;

    objects_create(
        x->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s','labels':{'zone':'%s'}%s},"
        "'spec':{'capacity':{'storage':'%uGi'},'accessModes':[%s],'hostPath':{'path':'/x'},"
        "'storageClassName':'%s','persistentVolumeReclaimPolicy':'%s'%s%s}}",
        name, zone, annotations, size, of_modes, class, policy, is_pinned ? PINNED : "", ref);
}

/* As a rule nobody's; sometimes kept for a claim by name. */
static void make_any_volume(struct binder_world *x, const char *name)
{
    struct rng *r = &x->sim->work;
    char ref[128] = "", claim[8];

    any_name(r, 'c', claim);
    if (rng_chance(r, 20))
        (void)snprintf(ref, sizeof ref, ",'claimRef':{'namespace':'" OBJECTS_NS "','name':'%s'}", claim);
    make_volume(x, name, "", ref);
}

/* What an external provisioner does, whether the claim waits for it or not. */
static void make_volume_for(struct binder_world *x, const char *name)
{
    struct rng *r = &x->sim->work;
    char ref[256], claim[8];
    const struct object *o;

    any_name(r, 'c', claim);
    o = store_get(x->sim->server.store, KIND_CLAIM, OBJECTS_NS, claim);
    if (!o)
        return;
    (void)snprintf(ref, sizeof ref,
                   ",'claimRef':{'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'" OBJECTS_NS
                   "','name':'%s','uid':'%s'}",
                   claim, o->uid);
    make_volume(x, name, rng_chance(r, 50) ? ",'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}" : "",
                ref);
}

static void make_claim(struct binder_world *x, const char *name)
{
    static const char *const classes[] = { "",
                                           ",'storageClassName':''",
                                           ",'storageClassName':''",
                                           ",'storageClassName':'fast'",
                                           ",'storageClassName':'slow'",
                                           ",'storageClassName':'late'",
                                           ",'storageClassName':'never'" };
    static const char *const modes[] = { "'ReadWriteOnce'", "'ReadWriteOnce'", "'ReadWriteMany'" };
    struct rng *r = &x->sim->work;
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    char named[64] = "", volume[8];
    const char *class = pick(r, classes, ARRAY_LEN(classes)), *mode = pick(r, modes, ARRAY_LEN(modes));
    bool has_selector = rng_chance(r, 20);

    any_name(r, 'v', volume);
    if (rng_chance(r, 15))
        (void)snprintf(named, sizeof named, ",'volumeName':'%s'", volume);
    objects_create(
        x->sim, KIND_CLAIM, name,
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{'accessModes':["
        "%s],'resources':{'requests':{'storage':'%uGi'}}%s%s%s}}",
        name, mode, size, class, named, has_selector ? ",'selector':{'matchLabels':{'zone':'a'}}" : "");
}

static void drop_volume(struct binder_world *x, const char *name)
{
    const struct object *o = store_get(x->sim->server.store, KIND_VOLUME, "", name);

    if (!o || !x->sim->server.api)
        return;
    storage_of(x, o->uid)->is_unwanted = true;
    objects_delete_exact(x->sim, o);
}

/* --- The administrator --- */

/* Takes a kept volume into use again: for anybody, or for the next claim of that name. */
static bool revive(struct binder_world *x, const struct object *o, void *ctx)
{
    const struct volume *v = volume_of(o);
    bool is_for_all = rng_chance(&x->sim->work, 50);

    (void)ctx;
    if (v->reclaim != RECLAIM_RETAIN || v->phase != VOLUME_RELEASED || v->claim.uid[0] == '\0' ||
        world_is_in_use(x, v) || !x->sim->server.api)
        return true;
    storage_of(x, o->uid)->is_freed = true;
    objects_patch(x->sim, o, "touched", "revived",
                  is_for_all ? "{\"claimRef\":null}" : "{\"claimRef\":{\"uid\":null}}");
    return false;
}

void binder_workload_keep(struct binder_world *x)
{
    const struct volume *v;

    if (x->released[0] == '\0' || !x->sim->server.api)
        return;
    v = world_volume_by_uid(x, x->released);
    x->released[0] = '\0';
    if (v)
        objects_patch(x->sim, &v->obj, NULL, NULL, "{\"persistentVolumeReclaimPolicy\":\"Retain\"}");
}

/* --- The scheduler --- */

static bool schedule_to(struct binder_world *x, const struct object *o, void *ctx)
{
    static const struct match_options any = { 0 };
    const struct claim *c = ctx;
    char text[512];
    struct buf spec = BUF_ON(text, sizeof text);

    if (volume_of(o)->claim.is_set || match_volume(volume_of(o), c, &any) != REJECT_NONE)
        return true;
    json_out_object(&spec, NULL);
    json_out_object(&spec, "claimRef");
    json_out_text(&spec, "kind", "PersistentVolumeClaim");
    json_out_text(&spec, "apiVersion", "v1");
    json_out_text(&spec, "namespace", c->obj.ns);
    json_out_text(&spec, "name", c->obj.name);
    json_out_text(&spec, "uid", c->obj.uid);
    json_out_end_object(&spec);
    json_out_end_object(&spec);
    objects_patch(x->sim, o, ANN_BOUND_BY_CONTROLLER, "yes", buf_cstr(&spec));
    return false;
}

static bool schedule(struct binder_world *x, const struct object *o, void *ctx)
{
    const struct claim *c = claim_of(o);

    (void)ctx;
    if (strcmp(c->class, "late") != 0 || c->volume_name[0] || o->is_deleting)
        return true;
    (void)world_each(x, KIND_VOLUME, schedule_to, (void *)(uintptr_t)c);
    return false;
}

/* --- Protection --- */

static bool let_go(struct binder_world *x, const struct object *o, void *ctx)
{
    bool is_volume = o->kind->kind == KIND_VOLUME;
    const char *finalizer = is_volume ? FINALIZER_VOLUME_PROTECTION : FINALIZER_CLAIM_PROTECTION;

    (void)ctx;
    if (!o->is_deleting || !object_has_finalizer(o, finalizer) ||
        (is_volume && volume_of(o)->phase == VOLUME_BOUND))
        return true;
    objects_remove_finalizer(x->sim, o, finalizer);
    x->protected_ns = x->sim->now_ns;
    return false;
}

void binder_workload_protect(struct binder_world *x)
{
    if (!x->sim->server.api || x->sim->now_ns - x->protected_ns < PROTECT_NS)
        return;
    if (world_each(x, KIND_CLAIM, let_go, NULL))
        (void)world_each(x, KIND_VOLUME, let_go, NULL);
}

/* --- The day --- */

static void change_class(struct binder_world *x, const char *name)
{
    if (store_get(x->sim->server.store, KIND_CLASS, "", name) && rng_chance(&x->sim->work, 50))
        objects_delete(x->sim, KIND_CLASS, name);
    else
        make_class(x, name);
}

/* Who has a volume leaves it. */
static bool leave(struct binder_world *x, const struct object *o, void *ctx)
{
    (void)ctx;
    if (claim_of(o)->phase != CLAIM_BOUND || o->is_deleting || rng_chance(&x->sim->work, 50))
        return true;
    objects_delete(x->sim, KIND_CLAIM, o->name);
    return false;
}

/* Claims that fit any volume, volumes that fit any claim, and nobody stays. */
static void move(struct binder_world *x, const char *volume, const char *claim)
{
    uint64_t what = rng_below(&x->sim->work, 10);

    if (what < 4)
        objects_create(x->sim, KIND_CLAIM, claim,
                       "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                       "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                       "'storageClassName':''}}",
                       claim);
    else if (what < 6)
        objects_create(
            x->sim, KIND_VOLUME, volume,
            "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
            "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':'/x'},"
            "'storageClassName':'','persistentVolumeReclaimPolicy':'%s'}}",
            volume, any_policy(x));
    else
        (void)world_each(x, KIND_CLAIM, leave, NULL);
}

void binder_workload_work(struct binder_world *x)
{
    struct rng *r = &x->sim->work;
    const char *class = pick(r, class_names, ARRAY_LEN(class_names));
    char volume[8], claim[8];
    uint64_t what = rng_below(r, 20);

    any_name(r, 'v', volume);
    any_name(r, 'c', claim);
    if (x->is_moving_day && rng_chance(r, 75)) {
        move(x, volume, claim);
    } else if (what < 5) {
        make_claim(x, claim);
    } else if (what < 8) {
        make_any_volume(x, volume);
    } else if (what == 8) {
        make_volume_for(x, volume);
    } else if (what < 11) {
        objects_delete(x->sim, KIND_CLAIM, claim);
    } else if (what == 11) { /* another claim of the same name */
        objects_delete(x->sim, KIND_CLAIM, claim);
        binder_workload_protect(x);
        make_claim(x, claim);
    } else if (what == 12) {
        drop_volume(x, volume);
    } else if (what == 13) {
        change_class(x, class);
    } else if (what == 14) {
        (void)world_each(x, KIND_VOLUME, revive, NULL);
    } else if (what < 17) {
        (void)world_each(x, KIND_CLAIM, schedule, NULL);
    } else {
        objects_touch(x->sim, what == 17 ? store_get(x->sim->server.store, KIND_CLAIM, OBJECTS_NS, claim)
                                         : store_get(x->sim->server.store, KIND_VOLUME, "", volume));
    }
}

void binder_workload_begin(struct binder_world *x)
{
    char name[8];

    for (size_t i = 0; i < ARRAY_LEN(class_names); i++)
        make_class(x, class_names[i]);
    for (unsigned i = 0; i < NAMES / 2; i++) {
        (void)snprintf(name, sizeof name, "v%u", i);
        make_any_volume(x, name);
    }
}
