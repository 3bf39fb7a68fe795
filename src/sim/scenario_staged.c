/* The recorded case of the staged volume: a CSI driver stages a volume for a pod, and the node's agent is
 * killed before the volume is published, or about then. Meanwhile the pod goes. The agent that starts next
 * finds a volume that no pod has: it must unstage it, and until then say that it is in use; the controllers
 * must not have it detached before.
 *
 * The same story again and again, killed at another moment each time; nothing else goes wrong but that events
 * and answers are late. */
#include "sim/csi_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/node.h"
#include "sim/daemon.h"
#include "sim/objects.h"
#include "sim/sim_world.h"

#define STORY_ROOT "/var/lib/berth"
#define STORY_POD "p"
#define STORY_UNIQUE "kubernetes.io/csi/" CSI_DRIVER "^d0"
#define STORY_FAULTS (1U << FAULT_DELAY | 1U << FAULT_LAG | 1U << FAULT_CUT)
/* From the staging on: publishing takes a few dozen. */
#define STORY_KILL_STEPS 90
#define STORY_DOWN_NS (30 * NS_PER_S)

enum story_stage { STORY_WANTED, STORY_STAGED, STORY_KILLED, STORY_LEFT };

struct story {
    struct sim *sim;
    struct machine *head;
    struct machine *machine;
    struct sim_process *agent;
    struct sim_daemon_options plane_daemon;
    struct sim_daemon_options agent_daemon;
    struct sim_storage disks;
    struct sim_csi_driver csi;
    enum story_stage stage;
    uint32_t kill_step;
    uint64_t drop_ns; /* when the pod goes */
};

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };

static const struct object *stored_pod(const struct story *x)
{
    return store_get(x->sim->server.store, KIND_POD, OBJECTS_NS, STORY_POD);
}

static bool is_mounted(const struct story *x)
{
    return machine_mounts_disk(x->machine, &x->disks.volumes[0].disk);
}

static bool is_in_use(const struct story *x)
{
    const struct object *o = store_get(x->sim->server.store, KIND_NODE, "", x->machine->name);
    struct texts in_use = o ? node_of(o)->volumes_in_use : (struct texts){ 0 };

    for (uint32_t i = 0; i < in_use.count; i++)
        if (strcmp(in_use.items[i], STORY_UNIQUE) == 0)
            return true;
    return false;
}

/* --- The story --- */

static void make_pod(struct story *x)
{
    objects_create(x->sim, KIND_POD, STORY_POD,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" STORY_POD "'},'spec':{"
                   "'terminationGracePeriodSeconds':0,'containers':[{'name':'c','image':'i','volumeMounts':[{"
                   "'name':'c','mountPath':'/c'}]}],'volumes':[{'name':'c','persistentVolumeClaim':{"
                   "'claimName':'cd0'}}]}}");
    x->stage = STORY_WANTED;
}

static void work(void *ctx)
{
    struct story *x = ctx;

    if (!stored_pod(x) && !x->disks.volumes[0].is_attached[0])
        make_pod(x);
}

/* When it is killed, for how long, and when the pod goes: while the agent is away, or a little later. */
static void tell(struct story *x)
{
    struct rng *r = &x->sim->work;
    const struct object *pod = stored_pod(x);

    if (x->stage == STORY_WANTED && is_mounted(x)) {
        x->stage = STORY_STAGED;
        x->kill_step = x->sim->step + (uint32_t)rng_below(r, STORY_KILL_STEPS);
    } else if (x->stage == STORY_STAGED && x->sim->step >= x->kill_step && x->agent->state) {
        x->stage = STORY_KILLED;
        sim_halt(x->agent, x->sim->now_ns + 1 + rng_below(r, STORY_DOWN_NS));
        x->drop_ns = x->sim->now_ns + rng_below(r, STORY_DOWN_NS);
    } else if (x->stage == STORY_KILLED && x->sim->now_ns >= x->drop_ns) {
        x->stage = STORY_LEFT;
        if (pod)
            objects_delete_exact(x->sim, pod);
    }
}

static void check(void *ctx)
{
    struct story *x = ctx;

    if (!x->sim->is_healed)
        tell(x);
    if (is_mounted(x) && !is_in_use(x))
        sim_fail(x->sim, "d0 is mounted, and the node does not say that it is in use");
}

/* --- The world --- */

static void make_objects(struct sim *s)
{
    objects_create(s, KIND_CSI_DRIVER, CSI_DRIVER,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver','metadata':{'name':'" CSI_DRIVER
                   "'},'spec':{'attachRequired':true}}");
    objects_create(
        s, KIND_VOLUME, "d0",
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'d0'},'spec':{'capacity':{"
        "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'persistentVolumeReclaimPolicy':'Retain',"
        "'csi':{'driver':'" CSI_DRIVER "','volumeHandle':'d0','fsType':'ext4'}}}");
    objects_create(s, KIND_CLAIM, "cd0",
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'cd0'},'spec':{"
                   "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                   "'storageClassName':'','volumeName':'d0'}}");
}

static void *begin(struct sim *s)
{
    struct story *x = sim_alloc(sizeof *x);

    x->sim = s;
    s->options.faults &= STORY_FAULTS;
    make_objects(s);
    x->head = machine_new(s, "head");
    x->machine = machine_new(s, "n0");
    storage_init(&x->disks, s, 'd', 1);
    x->csi = (struct sim_csi_driver){ .storage = &x->disks,
                                      .machine = x->machine,
                                      .node = storage_add_node(&x->disks, x->machine),
                                      .root = STORY_ROOT,
                                      .has_stages = true };
    x->plane_daemon = (struct sim_daemon_options){ .program = &plane_program, .host = "head" };
    (void)sim_spawn_on(x->head, &sim_daemon_program, &x->plane_daemon);
    x->agent_daemon = (struct sim_daemon_options){ .program = &daemon_node, .host = "n0" };
    x->agent_daemon.settings.node.name = "n0";
    x->agent_daemon.settings.node.root = STORY_ROOT;
    x->agent = sim_spawn_on(x->machine, &sim_daemon_program, &x->agent_daemon);
    csi_driver_begin(&x->csi);
    (void)storage_spawn_attacher(&x->disks, CSI_FINALIZER);
    return x;
}

static void end(void *ctx)
{
    struct story *x = ctx;

    csi_driver_end(&x->csi);
    storage_done(&x->disks);
    free(x);
}

static bool find_any(void *ctx, const struct object *o)
{
    (void)ctx;
    (void)o;
    return false;
}

static int settled(void *ctx, struct error *err)
{
    struct story *x = ctx;
    const struct object *pod = stored_pod(x);

    if (pod)
        return is_mounted(x) && !pod->is_deleting
                   ? 0
                   : error_set(err, ERR_BUSY, "the pod has no volume, or does not go");
    if (is_mounted(x))
        return error_set(err, ERR_BUSY, "d0 is mounted, and no pod has it");
    if (x->disks.volumes[0].is_attached[0] || !objects_each(x->sim, KIND_ATTACHMENT, find_any, NULL))
        return error_set(err, ERR_BUSY, "d0 is attached, and no pod has it");
    return is_in_use(x) ? error_set(err, ERR_BUSY, "d0 is in use, and no pod has it") : 0;
}

const struct sim_scenario sim_scenario_staged = {
    .name = "staged",
    .summary = "an agent is killed when a volume is staged, and its pod goes",
    .steps_factor = 4,
    .second_steps_max = 20000,
    .wakes_due_only = true,
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = end,
};
