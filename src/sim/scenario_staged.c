/* Scenario staged, a known case: a CSI driver stages a volume for a pod, and the node agent is killed at
 * about the time when the volume is published. Then the pod is deleted. The restarted agent finds a volume
 * that no pod uses: it must unstage it, and report it as in use until then; the controllers must not detach
 * it before.
 *
 * This is repeated, with the kill at a different step each time. Other faults are only delays of events and
 * answers. */
#include "sim/csi_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/node.h"
#include "sim/daemon.h"
#include "sim/objects.h"
#include "sim/sim_world.h"

#define AGENT_ROOT "/var/lib/berth"
#define POD_NAME "p"
#define VOLUME_UNIQUE_NAME "kubernetes.io/csi/" CSI_DRIVER "^d0"
#define STAGED_FAULTS (1U << FAULT_DELAY | 1U << FAULT_LAG | 1U << FAULT_CUT)
/* Steps from the staging to the kill: publishing takes a few dozen. */
#define KILL_STEPS_MAX 90
#define DOWN_NS_MAX (30 * NS_PER_S)

enum staged_phase { PHASE_POD_CREATED, PHASE_STAGED, PHASE_AGENT_KILLED, PHASE_POD_DELETED };

struct staged_scenario {
    struct sim *sim;
    struct machine *plane_machine;
    struct machine *machine;
    struct sim_process *agent;
    struct sim_daemon_options plane_daemon;
    struct sim_daemon_options agent_daemon;
    struct sim_storage disks;
    struct sim_csi_driver csi;
    enum staged_phase phase;
    uint32_t kill_step;
    uint64_t delete_ns; /* when the pod is deleted */
};

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };

static const struct object *stored_pod(const struct staged_scenario *scenario)
{
    return store_get(scenario->sim->server.store, KIND_POD, OBJECTS_NS, POD_NAME);
}

static bool is_mounted(const struct staged_scenario *scenario)
{
    return machine_mounts_disk(scenario->machine, &scenario->disks.volumes[0].disk);
}

static bool is_in_use(const struct staged_scenario *scenario)
{
    const struct object *o = store_get(scenario->sim->server.store, KIND_NODE, "", scenario->machine->name);
    struct texts in_use = o ? node_of(o)->volumes_in_use : (struct texts){ 0 };

    for (uint32_t i = 0; i < in_use.count; i++)
        if (strcmp(in_use.items[i], VOLUME_UNIQUE_NAME) == 0)
            return true;
    return false;
}

/* --- The sequence --- */

static void make_pod(struct staged_scenario *scenario)
{
    objects_create(scenario->sim, KIND_POD, POD_NAME,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" POD_NAME "'},'spec':{"
                   "'terminationGracePeriodSeconds':0,'containers':[{'name':'c','image':'i','volumeMounts':[{"
                   "'name':'c','mountPath':'/c'}]}],'volumes':[{'name':'c','persistentVolumeClaim':{"
                   "'claimName':'cd0'}}]}}");
    scenario->phase = PHASE_POD_CREATED;
}

static void staged_scenario_work(void *ctx)
{
    struct staged_scenario *scenario = ctx;

    if (!stored_pod(scenario) && !scenario->disks.volumes[0].is_attached[0])
        make_pod(scenario);
}

/* Kills the agent some steps after the staging; deletes the pod while the agent is down, or shortly after. */
static void advance_phase(struct staged_scenario *scenario)
{
    struct rng *r = &scenario->sim->work;
    const struct object *pod = stored_pod(scenario);

    if (scenario->phase == PHASE_POD_CREATED && is_mounted(scenario)) {
        scenario->phase = PHASE_STAGED;
        scenario->kill_step = scenario->sim->step + (uint32_t)rng_below(r, KILL_STEPS_MAX);
    } else if (scenario->phase == PHASE_STAGED && scenario->sim->step >= scenario->kill_step &&
               scenario->agent->state) {
        scenario->phase = PHASE_AGENT_KILLED;
        sim_halt(scenario->agent, scenario->sim->now_ns + 1 + rng_below(r, DOWN_NS_MAX));
        scenario->delete_ns = scenario->sim->now_ns + rng_below(r, DOWN_NS_MAX);
    } else if (scenario->phase == PHASE_AGENT_KILLED && scenario->sim->now_ns >= scenario->delete_ns) {
        scenario->phase = PHASE_POD_DELETED;
        if (pod)
            objects_delete_exact(scenario->sim, pod);
    }
}

static void staged_scenario_check(void *ctx)
{
    struct staged_scenario *scenario = ctx;

    if (!scenario->sim->is_healed)
        advance_phase(scenario);
    if (is_mounted(scenario) && !is_in_use(scenario))
        sim_fail(scenario->sim, "d0 is mounted, and the node does not report it as in use");
}

/* --- Begin and end --- */

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

static void *staged_scenario_begin(struct sim *s)
{
    struct staged_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    s->options.faults &= STAGED_FAULTS;
    make_objects(s);
    scenario->plane_machine = machine_new(s, "plane0");
    scenario->machine = machine_new(s, "n0");
    storage_init(&scenario->disks, s, 'd', 1);
    scenario->csi = (struct sim_csi_driver){ .storage = &scenario->disks,
                                             .machine = scenario->machine,
                                             .node = storage_add_node(&scenario->disks, scenario->machine),
                                             .root = AGENT_ROOT,
                                             .has_stages = true };
    scenario->plane_daemon = (struct sim_daemon_options){ .program = &plane_program, .host = "plane0" };
    (void)sim_spawn_on(scenario->plane_machine, &sim_daemon_program, &scenario->plane_daemon);
    scenario->agent_daemon = (struct sim_daemon_options){ .program = &daemon_node, .host = "n0" };
    scenario->agent_daemon.settings.node.name = "n0";
    scenario->agent_daemon.settings.node.root = AGENT_ROOT;
    scenario->agent = sim_spawn_on(scenario->machine, &sim_daemon_program, &scenario->agent_daemon);
    csi_driver_begin(&scenario->csi);
    (void)storage_spawn_attacher(&scenario->disks, CSI_FINALIZER);
    return scenario;
}

static void staged_scenario_end(void *ctx)
{
    struct staged_scenario *scenario = ctx;

    csi_driver_end(&scenario->csi);
    storage_done(&scenario->disks);
    free(scenario);
}

static bool find_any(void *ctx, const struct object *o)
{
    (void)ctx;
    (void)o;
    return false;
}

static int staged_scenario_settled(void *ctx, struct error *err)
{
    struct staged_scenario *scenario = ctx;
    const struct object *pod = stored_pod(scenario);

    if (pod)
        return is_mounted(scenario) && !pod->is_deleting
                   ? 0
                   : error_set(err, ERR_BUSY, "the pod has no volume, or is not deleted");
    if (is_mounted(scenario))
        return error_set(err, ERR_BUSY, "d0 is mounted, and no pod uses it");
    if (scenario->disks.volumes[0].is_attached[0] ||
        !objects_each(scenario->sim, KIND_ATTACHMENT, find_any, NULL))
        return error_set(err, ERR_BUSY, "d0 is attached, and no pod uses it");
    return is_in_use(scenario) ? error_set(err, ERR_BUSY, "d0 is in use, and no pod uses it") : 0;
}

const struct sim_scenario sim_scenario_staged = {
    .name = "staged",
    .steps_factor = 4,
    .second_steps_max = 20000,
    .wakes_due_only = true,
    .begin = staged_scenario_begin,
    .work = staged_scenario_work,
    .check = staged_scenario_check,
    .settled = staged_scenario_settled,
    .end = staged_scenario_end,
};
