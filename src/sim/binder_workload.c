/* The workload of scenario binder: creates, changes and deletes volumes, claims and classes. It also acts as
 * the scheduler, the protection controllers, an external provisioner and an administrator. */
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

static const char *pick_text(struct rng *r, const char *const *texts, size_t count)
{
    return texts[rng_below(r, count)];
}

static void draw_name(struct rng *r, char prefix, char to[static 8])
{
    (void)snprintf(to, 8, "%c%u", prefix, (unsigned)rng_below(r, NAMES));
}

static void make_class(struct binder_scenario *scenario, const char *name)
{
    bool is_fast = strcmp(name, "fast") == 0;
    const char *reclaim = rng_chance(&scenario->sim->work, 70) ? "Delete" : "Retain";

    objects_create(
        scenario->sim, KIND_CLASS, name,
        "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s','annotations':{"
        "'" ANN_DEFAULT_CLASS "':'%s'}},'provisioner':'%s','volumeBindingMode':'%s','reclaimPolicy':'%s'}",
        name, is_fast && rng_chance(&scenario->sim->work, 30) ? "true" : "false",
        is_fast ? SIM_BINDER_PLUGIN : "kubernetes.io/no-provisioner",
        strcmp(name, "late") == 0 ? "WaitForFirstConsumer" : "Immediate", reclaim);
}

/* No Recycle with two binders: nothing prevents them from recycling the same volume at once. */
static const char *draw_policy(struct binder_scenario *scenario)
{
    static const char *const policies[] = { "Retain", "Delete", "Recycle", "Recycle", "Recycle" };

    return pick_text(&scenario->sim->work, policies, scenario->binders_count > 1 ? 2 : ARRAY_LEN(policies));
}

static void make_volume(struct binder_scenario *scenario, const char *name, const char *annotations,
                        const char *ref)
{
    static const char *const classes[] = { "", "", "", "slow", "late", CLASS_NEVER };
    static const char *const modes[] = { "'ReadWriteOnce'", "'ReadWriteOnce','ReadWriteMany'" };
    struct rng *r = &scenario->sim->work;
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    const char *zone = rng_chance(r, 50) ? "a" : "b", *class = pick_text(r, classes, ARRAY_LEN(classes));
    const char *policy = draw_policy(scenario), *of_modes = pick_text(r, modes, 2);
    /* Volumes with node affinity have the policy Retain: these binders run on no node and do not reclaim
     * them. */
    bool is_pinned = rng_chance(r, 50) && strcmp(policy, "Retain") == 0;

    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s','labels':{'zone':'%s'}%s},"
        "'spec':{'capacity':{'storage':'%uGi'},'accessModes':[%s],'hostPath':{'path':'/x'},"
        "'storageClassName':'%s','persistentVolumeReclaimPolicy':'%s'%s%s}}",
        name, zone, annotations, size, of_modes, class, policy, is_pinned ? PINNED : "", ref);
}

/* Sometimes pre-bound to a claim by name. */
static void make_any_volume(struct binder_scenario *scenario, const char *name)
{
    struct rng *r = &scenario->sim->work;
    char ref[128] = "", claim[8];

    draw_name(r, 'c', claim);
    if (rng_chance(r, 20))
        (void)snprintf(ref, sizeof ref, ",'claimRef':{'namespace':'" OBJECTS_NS "','name':'%s'}", claim);
    make_volume(scenario, name, "", ref);
}

/* Acts as an external provisioner: creates a volume for a claim, whether the claim waits for it or not. */
static void make_volume_for(struct binder_scenario *scenario, const char *name)
{
    struct rng *r = &scenario->sim->work;
    char ref[256], claim[8];
    const struct object *o;

    draw_name(r, 'c', claim);
    o = store_get(scenario->sim->server.store, KIND_CLAIM, OBJECTS_NS, claim);
    if (!o)
        return;
    (void)snprintf(ref, sizeof ref,
                   ",'claimRef':{'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'" OBJECTS_NS
                   "','name':'%s','uid':'%s'}",
                   claim, o->uid);
    make_volume(scenario, name,
                rng_chance(r, 50) ? ",'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}" : "", ref);
}

static void make_claim(struct binder_scenario *scenario, const char *name)
{
    static const char *const classes[] = { "",
                                           ",'storageClassName':''",
                                           ",'storageClassName':''",
                                           ",'storageClassName':'fast'",
                                           ",'storageClassName':'slow'",
                                           ",'storageClassName':'late'",
                                           ",'storageClassName':'never'" };
    static const char *const modes[] = { "'ReadWriteOnce'", "'ReadWriteOnce'", "'ReadWriteMany'" };
    struct rng *r = &scenario->sim->work;
    unsigned size = 1 + (unsigned)rng_below(r, 3);
    char named[64] = "", volume[8];
    const char *class = pick_text(r, classes, ARRAY_LEN(classes)),
               *mode = pick_text(r, modes, ARRAY_LEN(modes));
    bool has_selector = rng_chance(r, 20);

    draw_name(r, 'v', volume);
    if (rng_chance(r, 15))
        (void)snprintf(named, sizeof named, ",'volumeName':'%s'", volume);
    objects_create(
        scenario->sim, KIND_CLAIM, name,
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{'accessModes':["
        "%s],'resources':{'requests':{'storage':'%uGi'}}%s%s%s}}",
        name, mode, size, class, named, has_selector ? ",'selector':{'matchLabels':{'zone':'a'}}" : "");
}

static void delete_volume(struct binder_scenario *scenario, const char *name)
{
    const struct object *o = store_get(scenario->sim->server.store, KIND_VOLUME, "", name);

    if (!o || !scenario->sim->server.api)
        return;
    binder_scenario_storage(scenario, o->uid)->is_deleted_by_user = true;
    objects_delete_exact(scenario->sim, o);
}

/* --- The administrator --- */

/* Makes a retained volume available again, for any claim or for the next claim of the same name. */
static bool reuse_volume(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    const struct volume *v = volume_of(o);
    bool is_for_all = rng_chance(&scenario->sim->work, 50);

    (void)ctx;
    if (v->reclaim != RECLAIM_RETAIN || v->phase != VOLUME_RELEASED || v->claim.uid[0] == '\0' ||
        binder_scenario_is_in_use(scenario, v) || !scenario->sim->server.api)
        return true;
    binder_scenario_storage(scenario, o->uid)->is_data_discarded = true;
    objects_patch(scenario->sim, o, "touched", "revived",
                  is_for_all ? "{\"claimRef\":null}" : "{\"claimRef\":{\"uid\":null}}");
    return false;
}

void binder_workload_retain(struct binder_scenario *scenario)
{
    const struct volume *v;

    if (scenario->retain_uid[0] == '\0' || !scenario->sim->server.api)
        return;
    v = binder_scenario_find_volume(scenario, scenario->retain_uid);
    scenario->retain_uid[0] = '\0';
    if (v)
        objects_patch(scenario->sim, &v->obj, NULL, NULL, "{\"persistentVolumeReclaimPolicy\":\"Retain\"}");
}

/* --- The scheduler --- */

static bool reserve_volume(struct binder_scenario *scenario, const struct object *o, void *ctx)
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
    objects_patch(scenario->sim, o, ANN_BOUND_BY_CONTROLLER, "yes", buf_cstr(&spec));
    return false;
}

static bool schedule_claim(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    const struct claim *c = claim_of(o);

    (void)ctx;
    if (strcmp(c->class, "late") != 0 || c->volume_name[0] || o->is_deleting)
        return true;
    (void)binder_scenario_each(scenario, KIND_VOLUME, reserve_volume, (void *)(uintptr_t)c);
    return false;
}

/* --- Protection --- */

static bool remove_protection(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    bool is_volume = o->kind->kind == KIND_VOLUME;
    const char *finalizer = is_volume ? FINALIZER_VOLUME_PROTECTION : FINALIZER_CLAIM_PROTECTION;

    (void)ctx;
    if (!o->is_deleting || !object_has_finalizer(o, finalizer) ||
        (is_volume && volume_of(o)->phase == VOLUME_BOUND))
        return true;
    objects_remove_finalizer(scenario->sim, o, finalizer);
    scenario->protected_ns = scenario->sim->now_ns;
    return false;
}

void binder_workload_protect(struct binder_scenario *scenario)
{
    if (!scenario->sim->server.api || scenario->sim->now_ns - scenario->protected_ns < PROTECT_NS)
        return;
    if (binder_scenario_each(scenario, KIND_CLAIM, remove_protection, NULL))
        (void)binder_scenario_each(scenario, KIND_VOLUME, remove_protection, NULL);
}

/* --- Actions --- */

static void change_class(struct binder_scenario *scenario, const char *name)
{
    if (store_get(scenario->sim->server.store, KIND_CLASS, "", name) && rng_chance(&scenario->sim->work, 50))
        objects_delete(scenario->sim, KIND_CLASS, name);
    else
        make_class(scenario, name);
}

/* Deletes a random bound claim. */
static bool delete_bound_claim(struct binder_scenario *scenario, const struct object *o, void *ctx)
{
    (void)ctx;
    if (claim_of(o)->phase != CLAIM_BOUND || o->is_deleting || rng_chance(&scenario->sim->work, 50))
        return true;
    objects_delete(scenario->sim, KIND_CLAIM, o->name);
    return false;
}

/* Creates claims and volumes that all match each other, and deletes bound claims. */
static void change_quickly(struct binder_scenario *scenario, const char *volume, const char *claim)
{
    uint64_t what = rng_below(&scenario->sim->work, 10);

    if (what < 4)
        objects_create(scenario->sim, KIND_CLAIM, claim,
                       "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                       "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                       "'storageClassName':''}}",
                       claim);
    else if (what < 6)
        objects_create(
            scenario->sim, KIND_VOLUME, volume,
            "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
            "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':'/x'},"
            "'storageClassName':'','persistentVolumeReclaimPolicy':'%s'}}",
            volume, draw_policy(scenario));
    else
        (void)binder_scenario_each(scenario, KIND_CLAIM, delete_bound_claim, NULL);
}

void binder_workload_work(struct binder_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;
    const char *class = pick_text(r, class_names, ARRAY_LEN(class_names));
    char volume[8], claim[8];
    uint64_t what = rng_below(r, 20);

    draw_name(r, 'v', volume);
    draw_name(r, 'c', claim);
    if (scenario->has_quick_changes && rng_chance(r, 75)) {
        change_quickly(scenario, volume, claim);
    } else if (what < 5) {
        make_claim(scenario, claim);
    } else if (what < 8) {
        make_any_volume(scenario, volume);
    } else if (what == 8) {
        make_volume_for(scenario, volume);
    } else if (what < 11) {
        objects_delete(scenario->sim, KIND_CLAIM, claim);
    } else if (what == 11) { /* another claim of the same name */
        objects_delete(scenario->sim, KIND_CLAIM, claim);
        binder_workload_protect(scenario);
        make_claim(scenario, claim);
    } else if (what == 12) {
        delete_volume(scenario, volume);
    } else if (what == 13) {
        change_class(scenario, class);
    } else if (what == 14) {
        (void)binder_scenario_each(scenario, KIND_VOLUME, reuse_volume, NULL);
    } else if (what < 17) {
        (void)binder_scenario_each(scenario, KIND_CLAIM, schedule_claim, NULL);
    } else {
        objects_touch(scenario->sim,
                      what == 17 ? store_get(scenario->sim->server.store, KIND_CLAIM, OBJECTS_NS, claim)
                                 : store_get(scenario->sim->server.store, KIND_VOLUME, "", volume));
    }
}

void binder_workload_begin(struct binder_scenario *scenario)
{
    char name[8];

    for (size_t i = 0; i < ARRAY_LEN(class_names); i++)
        make_class(scenario, class_names[i]);
    for (unsigned i = 0; i < NAMES / 2; i++) {
        (void)snprintf(name, sizeof name, "v%u", i);
        make_any_volume(scenario, name);
    }
}
