/* Scenario csi: Berth's own controllers of CSI drivers, with binder, attach controller, scheduler and node
 * agents, and a model of a driver with all services (csi_backend.h, csi_driver.h).
 *
 * Claims of Immediate and WaitForFirstConsumer classes are created, expanded, modified and deleted, and pods
 * use them; processes, drivers and machines crash. Either one process has all controllers, or two compete for
 * their lease, or two processes beside the driver compete for the leases of the driver. They run on one
 * machine, because all of them call the same driver process.
 *
 * Invariants: those of csi_backend.h; no capacity shrinks or exceeds the storage; a volume is as large as
 * requested; of a modification the volume is written before the claim, and at a detach the finalizer is
 * removed before the status. Finally (csi_settled.c) every request is satisfied, nothing is left, and the
 * driver has no volume without a PersistentVolume. */
#include "sim/scenario_csi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "api/json_out.h"
#include "api/pod.h"
#include "sim/objects.h"
#include "sim/sim_world.h"

#define AGENT_ROOT "/var/lib/berth"
#define SPEC_BYTES_MAX 256
#define GIB ((int64_t)1 << 30)
#define REQUEST_BYTES_MAX (40 * GIB)

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };
static const struct daemon_program whole_program = { "plane",
                                                     DAEMON_CONTROLLERS | DAEMON_SCHEDULER | DAEMON_CSI,
                                                     false };

/* --- Objects --- */

struct backend_volume *csi_scenario_volume(struct csi_scenario *scenario, const struct volume *v)
{
    return v->source.kind == SOURCE_CSI ? csi_backend_find(&scenario->backend, v->source.csi->handle) : NULL;
}

const struct volume *csi_scenario_bound(const struct csi_scenario *scenario, const struct claim *c)
{
    const struct volume *v = c->volume_name[0] ? stored_volume(scenario->sim, c->volume_name) : NULL;

    return v && v->claim.is_set && strcmp(v->claim.uid, c->obj.uid) == 0 ? v : NULL;
}

static void make_class(struct sim *s, const char *name, const char *binding, const char *policy)
{
    objects_create(s, KIND_CLASS, name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'" CSI_DRIVER "','allowVolumeExpansion':true,'volumeBindingMode':'%s',"
                   "'reclaimPolicy':'%s','parameters':{'csi.storage.k8s.io/fstype':'ext4','kind':'%s'}}",
                   name, binding, policy, name);
}

static void make_tier(struct sim *s, const char *name)
{
    objects_create(s, KIND_ATTRIBUTES_CLASS, name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttributesClass','metadata':{"
                   "'name':'%s'},'driverName':'" CSI_DRIVER "','parameters':{'" BACKEND_TIER_KEY "':'%s'}}",
                   name, name);
}

static void make_objects(struct sim *s)
{
    make_class(s, "now", "Immediate", "Delete");
    make_class(s, CSI_CLASS_LATER, "WaitForFirstConsumer", "Delete");
    make_class(s, CSI_CLASS_KEEP, "Immediate", "Retain");
    make_tier(s, "gold");
    make_tier(s, "silver");
    make_tier(s, BACKEND_BAD_TIER);
    objects_create(s, KIND_CSI_DRIVER, CSI_DRIVER,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver','metadata':{'name':'" CSI_DRIVER
                   "'},'spec':{'attachRequired':true,'nodeAllocatableUpdatePeriodSeconds':300}}");
}

/* --- Workload --- */

static const char *choose_tier(struct rng *r)
{
    static const char *const tiers[] = { "gold", "silver", "gold", "silver", BACKEND_BAD_TIER };

    return tiers[rng_below(r, ARRAY_LEN(tiers))];
}

static void make_claim(struct csi_scenario *scenario, const char *name)
{
    static const char *const classes[] = { "now", "now",           CSI_CLASS_LATER, CSI_CLASS_LATER,
                                           "now", CSI_CLASS_LATER, CSI_CLASS_KEEP };
    struct rng *r = &scenario->sim->work;
    const char *class = classes[rng_below(r, ARRAY_LEN(classes))];
    char tier[64] = "";

    if (scenario->backend.has_modify && rng_chance(r, 25))
        (void)snprintf(tier, sizeof tier, ",'volumeAttributesClassName':'%s'", choose_tier(r));
    objects_create(scenario->sim, KIND_CLAIM, name,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                   "'accessModes':['%s'],'resources':{'requests':{'storage':'%uGi'}},"
                   "'storageClassName':'%s'%s}}",
                   name, rng_chance(r, 80) ? "ReadWriteOnce" : "ReadWriteMany", 2 + (unsigned)rng_below(r, 3),
                   class, tier);
}

static void expand_claim(struct csi_scenario *scenario, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX);
    int64_t gib = quantity_value(&c->request) / GIB + 1 + (int64_t)rng_below(&scenario->sim->work, 2);
    struct quantity size = quantity_of(gib * GIB, QUANTITY_BINARY_SI);

    if (c->phase != CLAIM_BOUND || gib * GIB > REQUEST_BYTES_MAX)
        return;
    json_out_object(&spec, NULL);
    json_out_object(&spec, "resources");
    json_out_storage(&spec, "requests", &size);
    json_out_end_object(&spec);
    json_out_end_object(&spec);
    objects_patch(scenario->sim, &c->obj, /* annotation= */ NULL, /* value= */ NULL, buf_cstr(&spec));
}

static void modify_claim(struct csi_scenario *scenario, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf spec = BUF_INIT(SPEC_BYTES_MAX);

    if (c->phase != CLAIM_BOUND)
        return;
    json_out_object(&spec, NULL);
    json_out_text(&spec, "volumeAttributesClassName", choose_tier(&scenario->sim->work));
    json_out_end_object(&spec);
    objects_patch(scenario->sim, &c->obj, /* annotation= */ NULL, /* value= */ NULL, buf_cstr(&spec));
}

static bool may_delete(const struct csi_scenario *scenario)
{
    return !(scenario->keeps_last && sim_is_last_quarter(scenario->sim));
}

/* A pod that was scheduled for a claim that is deleted now cannot use another one of its name: the volume may
 * be out of its reach. */
static bool may_create(struct csi_scenario *scenario, const char *claim)
{
    for (unsigned n = 0; n < scenario->nodes_count; n++)
        if (csi_scenario_has_pod(scenario, claim, scenario->nodes[n].name, NULL))
            return false;
    return true;
}

static void change_claim(struct csi_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;
    unsigned dice = (unsigned)rng_below(r, 100);
    const struct claim *c;
    char name[16];

    (void)snprintf(name, sizeof name, "c%u", (unsigned)rng_below(r, CSI_CLAIMS_COUNT));
    c = stored_claim(scenario->sim, name);
    if (!c && may_create(scenario, name))
        make_claim(scenario, name);
    else if (!c)
        return;
    else if (dice < 25 && may_delete(scenario))
        objects_delete(scenario->sim, KIND_CLAIM, name);
    else if (dice < 55)
        expand_claim(scenario, c);
    else if (dice < 85)
        modify_claim(scenario, c);
}

static void make_pod(struct csi_scenario *scenario, const char *name)
{
    objects_create(scenario->sim, KIND_POD, name,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{"
                   "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'i','volumeMounts':[{"
                   "'name':'c','mountPath':'/c'}]}],'volumes':[{'name':'c','persistentVolumeClaim':{"
                   "'claimName':'c%u'}}]}}",
                   name, (unsigned)rng_below(&scenario->sim->work, CSI_CLAIMS_COUNT));
}

static void change_pod(struct csi_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;
    char name[16];

    (void)snprintf(name, sizeof name, "p%u", (unsigned)rng_below(r, CSI_PODS_COUNT));
    if (!store_get(scenario->sim->server.store, KIND_POD, OBJECTS_NS, name))
        make_pod(scenario, name);
    else if (rng_chance(r, 40) && may_delete(scenario))
        objects_delete(scenario->sim, KIND_POD, name);
}

static void csi_scenario_work(void *ctx)
{
    struct csi_scenario *scenario = ctx;

    if (rng_chance(&scenario->sim->work, 60))
        change_claim(scenario);
    else
        change_pod(scenario);
}

/* --- Invariants of objects --- */

static bool has_claim(const struct csi_scenario *scenario, const struct volume *v)
{
    const struct claim *c = v->claim.is_set ? stored_claim(scenario->sim, v->claim.name) : NULL;

    return c && strcmp(c->obj.uid, v->claim.uid) == 0;
}

static void on_volume(void *ctx, const struct store_event *ev)
{
    struct csi_scenario *scenario = ctx;
    const struct volume *v = volume_of(ev->object);
    const struct backend_volume *stored = csi_scenario_volume(scenario, v);

    if (ev->is_delete)
        return;
    if (ev->old && quantity_cmp(&v->capacity, &volume_of(ev->old)->capacity) < 0)
        sim_fail(scenario->sim, "the capacity of volume %s shrinks", v->obj.name);
    /* A volume that was deleted with its claim while its creator waited for an answer is created again, and
     * deleted again. */
    if (!ev->old && (!stored || !stored->disk) && has_claim(scenario, v))
        sim_fail(scenario->sim, "volume %s does not exist at the driver", v->obj.name);
    if (!ev->old && stored && stored->disk && quantity_value(&v->capacity) < stored->requested_bytes)
        sim_fail(scenario->sim, "volume %s is smaller than requested", v->obj.name);
    if (stored && stored->disk && (uint64_t)quantity_value(&v->capacity) > stored->disk->disk.bytes)
        sim_fail(scenario->sim, "the capacity of volume %s exceeds its storage", v->obj.name);
}

static void on_claim(void *ctx, const struct store_event *ev)
{
    struct csi_scenario *scenario = ctx;
    const struct claim *c = claim_of(ev->object), *old = ev->old ? claim_of(ev->old) : NULL;
    const struct volume *v = csi_scenario_bound(scenario, c);
    const struct backend_volume *stored = v ? csi_scenario_volume(scenario, v) : NULL;

    if (ev->is_delete || !old || !c->has_capacity)
        return;
    if (old->has_capacity && quantity_cmp(&c->capacity, &old->capacity) < 0)
        sim_fail(scenario->sim, "the capacity of claim %s shrinks", c->obj.name);
    if (stored && stored->disk && (uint64_t)quantity_value(&c->capacity) > stored->disk->fs_bytes)
        sim_fail(scenario->sim, "the capacity of claim %s exceeds its file system", c->obj.name);
    if (v && strcmp(c->current_attributes_class, old->current_attributes_class) != 0 &&
        strcmp(c->current_attributes_class, v->attributes_class) != 0)
        sim_fail(scenario->sim, "claim %s has the class %s before its volume", c->obj.name,
                 c->current_attributes_class);
}

/* The other order causes a second call, when the attachment may exist again. */
static void on_attachment(void *ctx, const struct store_event *ev)
{
    const struct csi_scenario *scenario = ctx;
    const struct attachment *va = (const void *)ev->object, *old = (const void *)ev->old;

    if (!ev->is_delete && old && old->is_attached && !va->is_attached &&
        object_has_finalizer(ev->object, CSI_FINALIZER))
        sim_fail(scenario->sim, "attachment of %s to %s is detached and has its finalizer", va->volume_name,
                 va->node_name);
}

/* --- Begin and end --- */

static void begin_node(struct csi_scenario *scenario, unsigned number, bool has_stages)
{
    struct csi_scenario_node *n = &scenario->nodes[number];

    (void)snprintf(n->name, sizeof n->name, "n%u", number);
    n->machine = machine_new(scenario->sim, n->name);
    n->driver = (struct sim_csi_driver){ .storage = &scenario->storage,
                                         .machine = n->machine,
                                         .node = storage_add_node(&scenario->storage, n->machine),
                                         .root = AGENT_ROOT,
                                         .has_stages = has_stages,
                                         .zone = scenario->backend.zones ? scenario->zones[number] : NULL };
    n->daemon = (struct sim_daemon_options){ .program = &daemon_node, .host = n->name };
    n->daemon.settings.node.name = n->name;
    n->daemon.settings.node.root = AGENT_ROOT;
    (void)sim_spawn_on(n->machine, &sim_daemon_program, &n->daemon);
    csi_driver_begin(&n->driver);
}

static void begin_plane(struct csi_scenario *scenario, unsigned number, const struct daemon_program *program,
                        bool is_elected)
{
    static const char *const names[CSI_PLANES_MAX] = { "plane0", "plane1", "plane2" };
    struct sim_daemon_options *o = &scenario->planes[number];

    *o = (struct sim_daemon_options){ .program = program, .host = names[number] };
    o->settings.is_elected = is_elected;
    /* Longer than by default: otherwise most requests of a run would be renewals. */
    o->settings.lease_duration = "30";
    o->settings.renew_deadline = "20";
    o->settings.retry_period = "10";
    if (program != &plane_program) {
        o->settings.csi.drivers[0] =
            (struct csi_driver_settings){ .name = CSI_DRIVER, .socket = BACKEND_SOCKET };
        o->settings.csi.drivers_count = 1;
    }
    (void)sim_spawn_on(scenario->plane, &sim_daemon_program, o);
}

/* All in one process, two of them, or two CSI processes beside the other controllers. */
static void begin_planes(struct csi_scenario *scenario)
{
    static const struct daemon_program beside = { "controllers", DAEMON_CSI, false };
    unsigned layout = (unsigned)rng_below(&scenario->sim->work, 4);

    switch (layout) {
    case 0:
        begin_plane(scenario, 0, &whole_program, true);
        begin_plane(scenario, 1, &whole_program, true);
        break;
    case 1:
        begin_plane(scenario, 0, &plane_program, false);
        begin_plane(scenario, 1, &beside, false);
        begin_plane(scenario, 2, &beside, false);
        break;
    default:
        begin_plane(scenario, 0, &whole_program, false);
        break;
    }
}

static void begin_backend(struct csi_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;

    scenario->backend = (struct csi_backend){ .storage = &scenario->storage,
                                              .machine = scenario->plane,
                                              .zones = rng_chance(r, 40) ? scenario->zones : NULL,
                                              .expands_offline = rng_chance(r, 30),
                                              .needs_node_expansion = rng_chance(r, 50),
                                              .may_make_smaller = rng_chance(r, 40),
                                              .changes_abilities = rng_chance(r, 30) };
    csi_backend_begin(&scenario->backend);
}

static void *csi_scenario_begin(struct sim *s)
{
    static const unsigned divisors[] = { 1, 4, 20 };
    static const char *const zones[CSI_NODES_MAX] = { "west", "east", "west" };
    struct csi_scenario *scenario = sim_alloc(sizeof *scenario);
    bool has_stages = rng_chance(&s->work, 80);

    scenario->sim = s;
    s->large_fault_divisor = divisors[rng_below(&s->work, ARRAY_LEN(divisors))];
    scenario->keeps_last = rng_chance(&s->work, 50);
    scenario->nodes_count = rng_chance(&s->work, 75) ? 2 : CSI_NODES_MAX;
    memcpy(scenario->zones, zones, sizeof zones);
    storage_init(&scenario->storage, s, 'h', 0);
    make_objects(s);
    store_watch(s->server.store, &scenario->volumes, KIND_VOLUME, on_volume, NULL, scenario);
    store_watch(s->server.store, &scenario->claims, KIND_CLAIM, on_claim, NULL, scenario);
    store_watch(s->server.store, &scenario->attachments, KIND_ATTACHMENT, on_attachment, NULL, scenario);
    scenario->plane = machine_new(s, "plane");
    begin_backend(scenario);
    begin_planes(scenario);
    for (unsigned i = 0; i < scenario->nodes_count; i++)
        begin_node(scenario, i, has_stages);
    return scenario;
}

static void csi_scenario_end(void *ctx)
{
    struct csi_scenario *scenario = ctx;
    struct store *store = scenario->sim->server.store;

    store_unwatch(store, &scenario->volumes);
    store_unwatch(store, &scenario->claims);
    store_unwatch(store, &scenario->attachments);
    for (unsigned i = 0; i < scenario->nodes_count; i++)
        csi_driver_end(&scenario->nodes[i].driver);
    csi_backend_end(&scenario->backend);
    storage_done(&scenario->storage);
    free(scenario);
}

const struct sim_scenario sim_scenario_csi = { .name = "csi",
                                               .steps_factor = 4,
                                               .wakes_due_only = true,
                                               .second_steps_max = 20000,
                                               .begin = csi_scenario_begin,
                                               .work = csi_scenario_work,
                                               .settled = csi_scenario_settled,
                                               .end = csi_scenario_end };
