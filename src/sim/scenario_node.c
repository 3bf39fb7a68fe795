/* Scenario node: Berth's own controllers, scheduler and node agents on simulated machines.
 *
 * The workload creates and deletes pods with volumes of every kind; machines fail, hang and reboot. The true
 * state is on the machines: mounts, directories, and the pods that the hook has started. Invariants: no pod
 * starts without its volumes, nothing is unmounted while its pod runs, and those of node_drivers.h. Finally
 * every pod runs, and deleted pods leave no mount, no directory, no loop device and no running pod. */
#include "sim/node_drivers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pod.h"
#include "sim/daemon.h"
#include "sim/objects.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

#define NODES_MAX 5
#define PLANES_MAX 2
#define PODS_COUNT 4
#define DISKS_COUNT 2 /* local volumes per node */
#define BLOCK_DISK 1  /* the one that may be a raw block volume */
#define AGENT_ROOT "/var/lib/berth"
#define HOOK_PATH "/usr/bin/hook"
#define POD_UID_BYTES 64
static const char inline_csi[] = "{'name':'v','csi':{'driver':'" CSI_DRIVER "'}}";
#define NOTIFY_NS (100 * NS_PER_MS)

/* A pod on a machine, as the hook has started it. */
struct scenario_pod {
    TAILQ_ENTRY(scenario_pod) link;
    char uid[POD_UID_BYTES];
    bool is_running;
    unsigned setups, teardowns;
};

struct scenario_node {
    struct node_scenario *scenario;
    struct machine *machine;
    struct sim_process *process;
    struct sim_daemon_options daemon;
    char name[16];
    struct sim_disk disk;          /* of its raw block volume, if there is one */
    uint64_t objects_unmounted_ns; /* when a volume with the contents of objects was last unmounted */
    TAILQ_HEAD(, scenario_pod) pods;
};

struct node_scenario {
    struct sim *sim;
    struct sim_daemon_options planes[PLANES_MAX];
    struct scenario_node nodes[NODES_MAX];
    unsigned nodes_count;
    bool has_block_disks;
    bool keeps_last_pods; /* none is deleted in the last quarter of the fault phase */
    bool has_power_cuts;
    uint64_t checked_changes; /* of files and mounts */
    struct node_drivers drivers;
};

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };

/* --- Pods on a machine --- */

static struct scenario_pod *get_pod(struct scenario_node *n, const char *uid)
{
    struct scenario_pod *p;

    TAILQ_FOREACH(p, &n->pods, link)
        if (strcmp(p->uid, uid) == 0)
            return p;
    p = sim_alloc(sizeof *p);
    (void)snprintf(p->uid, sizeof p->uid, "%s", uid);
    TAILQ_INSERT_TAIL(&n->pods, p, link);
    return p;
}

static const char *find_variable(const char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return "";
}

/* True for volumes with the contents of objects. The agent unmounts such a volume when it cannot write its
 * files, also while the pod starts or runs: a pod must not read an incomplete volume. */
static bool is_object_volume(const char *path)
{
    static const char *const markers[] = { "~secret/", "~configmap/", "~downward-api/", "~projected/" };

    for (size_t i = 0; i < ARRAY_LEN(markers); i++)
        if (strstr(path, markers[i]))
            return true;
    return false;
}

/* True if the path must be a mount, not only a directory. */
static bool must_be_mounted(const char *path)
{
    if (strstr(path, "/volumeDevices/"))
        return false;
    return strstr(path, "~local-volume/") || strstr(path, "~csi/") || strstr(path, "~flex/") ||
           strstr(path, "~secret/") || strstr(path, "~downward-api/");
}

/* True if the volume was unmounted after the start of the hook, or so shortly before that the agent had not
 * been notified. For ConfigMaps, which are directories, there is no notification. */
static bool may_be_missing_at_start(const struct scenario_node *n, const char *path)
{
    return is_object_volume(path) &&
           (strstr(path, "~configmap/") || n->objects_unmounted_ns + NOTIFY_NS >= n->machine->child_began_ns);
}

/* Checks that all volumes of a starting pod exist, and that the hook has the path of each: of "v", and of "c"
 * if the pod has a claim. */
static void check_start_volumes(struct scenario_node *n, const char *uid, const char *const *env,
                                struct str pod)
{
    static const char claim[] = "\"persistentVolumeClaim\"";
    bool has_claim = memmem(pod.s, pod.len, claim, strlen(claim));
    struct machine_place place;

    if (!find_variable(env, "VOLUME_V")[0] || (has_claim && !find_variable(env, "VOLUME_C")[0]))
        sim_fail(n->scenario->sim, "pod %s starts, but the hook does not have the paths of its volumes", uid);
    for (; *env; env++) {
        const char *path = strncmp(*env, "VOLUME_", 7) == 0 ? strchr(*env, '=') + 1 : NULL;

        if (path && !may_be_missing_at_start(n, path) &&
            (machine_find(n->machine, AT_FDCWD, path, 0, &place, NULL) != 0 ||
             (must_be_mounted(path) && !machine_has_mount(n->machine, path))))
            sim_fail(n->scenario->sim, "pod %s starts without its volume %s", uid, *env);
    }
}

static int run_hook(struct machine *m, void *ctx, const char *const *argv, const char *const *env,
                    struct str input, struct buf *out)
{
    struct scenario_node *n = ctx;
    const char *uid = find_variable(env, "POD_UID");
    struct scenario_pod *p = get_pod(n, uid);

    (void)m;
    (void)out;
    if (strcmp(argv[1], "setup") == 0) {
        check_start_volumes(n, uid, env, input);
        p->is_running = true;
        p->setups++;
    } else {
        p->is_running = false;
        p->teardowns++;
    }
    return 0;
}

/* Checks that no volume of a running pod is unmounted. */
static void on_unmount(void *ctx, const char *path)
{
    struct scenario_node *n = ctx;
    struct scenario_pod *p;
    char dir[PATH_MAX];

    if (is_object_volume(path))
        n->objects_unmounted_ns = n->scenario->sim->now_ns;
    TAILQ_FOREACH(p, &n->pods, link) {
        const char *last = strrchr(path, '/');
        bool is_pods;

        (void)snprintf(dir, sizeof dir, AGENT_ROOT "/pods/%s/", p->uid);
        is_pods = strncmp(path, dir, strlen(dir)) == 0 || (last && strcmp(last + 1, p->uid) == 0);
        if (p->is_running && is_pods && !(is_object_volume(path) && worker_has_failed()))
            sim_fail(n->scenario->sim, "%s: %s is unmounted while its pod runs", n->name, path);
    }
}

/* A reboot ends all pods of the machine. */
static void on_reboot(void *ctx)
{
    struct scenario_node *n = ctx;
    struct scenario_pod *p;

    TAILQ_FOREACH(p, &n->pods, link)
        p->is_running = false;
}

/* --- Workload --- */

static const char *mode_of(const struct node_scenario *scenario, unsigned disk)
{
    return scenario->has_block_disks && disk == BLOCK_DISK ? "Block" : "Filesystem";
}

static bool is_block_claim(const struct node_scenario *scenario, const char *claim)
{
    return (scenario->has_block_disks && strcmp(claim, "c1") == 0) ||
           node_drivers_is_block(&scenario->drivers, claim);
}

static void make_local(struct node_scenario *scenario, unsigned node, unsigned disk)
{
    const char *mode = mode_of(scenario, disk);
    char name[16];

    (void)snprintf(name, sizeof name, "v%u%u", node, disk);
    objects_create(
        scenario->sim, KIND_VOLUME, name,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'local':{'path':'%s/%s'},"
        "'storageClassName':'later','volumeMode':'%s','persistentVolumeReclaimPolicy':'Retain',"
        "'nodeAffinity':{"
        "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/hostname',"
        "'operator':'In','values':['n%u']}]}]}}}}",
        name, mode[0] == 'B' ? "/dev" : "/mnt", name, mode, node);
}

static void make_claim(struct node_scenario *scenario, unsigned number)
{
    char name[16];

    (void)snprintf(name, sizeof name, "c%u", number);
    objects_create(scenario->sim, KIND_CLAIM, name,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                   "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                   "'storageClassName':'later','volumeMode':'%s'}}",
                   name, mode_of(scenario, number));
}

/* If the seed has raw block volumes or expansion, half of the pods use their claims. */
static const char *choose_claim(const struct node_scenario *scenario)
{
    static const char *const claims[] = { "c0", "c1", "cd0", "cd1", "cd2", "cd0", "cf0", "cf1", "cf2" };
    struct rng *r = &scenario->sim->work;
    const char *claim = claims[rng_below(r, ARRAY_LEN(claims))];

    if (rng_chance(r, 50))
        return claim;
    if (scenario->drivers.flex_is_slow)
        return rng_chance(r, 50) ? "cf0" : "cf2";
    if (scenario->has_block_disks && rng_chance(r, 50))
        return "c1";
    if (node_drivers_is_block(&scenario->drivers, "cd1") || scenario->drivers.expands_claims)
        return rng_chance(r, 70) ? "cd1" : "cd2";
    return claim;
}

static void make_pod(struct node_scenario *scenario, unsigned number)
{
    static const char *const volumes[] = {
        "{'name':'v','emptyDir':{}}",
        "{'name':'v','emptyDir':{'medium':'Memory'}}",
        "{'name':'v','hostPath':{'path':'/mnt/shared','type':'DirectoryOrCreate'}}",
        "{'name':'v','configMap':{'name':'settings'}}",
        "{'name':'v','secret':{'secretName':'keys'}}",
        "{'name':'v','downwardAPI':{'items':[{'path':'n','fieldRef':{'fieldPath':'metadata.name'}}]}}",
        inline_csi,
    };
    struct rng *r = &scenario->sim->work;
    char name[16], claim[96] = "";
    const char *volume = volumes[rng_below(r, ARRAY_LEN(volumes))], *claimed = NULL, *mounts = "",
               *devices = "";

    (void)snprintf(name, sizeof name, "p%u", number);
    if (rng_chance(r, 75))
        claimed = choose_claim(scenario);
    if (claimed)
        (void)snprintf(claim, sizeof claim, ",{'name':'c','persistentVolumeClaim':{'claimName':'%s'}}",
                       claimed);
    if (claimed && is_block_claim(scenario, claimed))
        devices = ",'volumeDevices':[{'name':'c','devicePath':'/dev/c'}]";
    else if (claimed)
        mounts = ",{'name':'c','mountPath':'/c'}";
    objects_create(scenario->sim, KIND_POD, name,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{"
                   "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'i','volumeMounts':[{"
                   "'name':'v','mountPath':'/v'}%s]%s}],'volumes':[%s%s]}}",
                   name, mounts, devices, volume, claim);
}

/* If the FlexVolume driver is slow, the agent of the pod's node may be killed while it unmounts the volumes.
 * The volumes that it cannot reconstruct then are unmounted by force. */
static void delete_pod(struct node_scenario *scenario, const struct object *o)
{
    struct sim *s = scenario->sim;

    for (unsigned i = 0; i < scenario->nodes_count && scenario->drivers.flex_is_slow; i++) {
        struct scenario_node *n = &scenario->nodes[i];

        if (n->process->state && strcmp(pod_of(o)->node_name, n->name) == 0 &&
            sim_has_fault(s, &s->work, FAULT_CRASH, 40))
            sim_halt(n->process, s->now_ns + 1 + rng_below(&s->work, 3 * NS_PER_S));
    }
    if (rng_chance(&s->work, 20))
        objects_delete_exact(s, o);
    else
        objects_delete(s, KIND_POD, o->name);
}

static void cut_power(struct node_scenario *scenario)
{
    struct sim *s = scenario->sim;
    struct machine *m = scenario->nodes[rng_below(&s->work, scenario->nodes_count)].machine;

    if (sim_has_fault(s, &s->work, FAULT_REBOOT, 1))
        sim_reboot(m, s->now_ns + 1 + rng_below(&s->work, 20 * NS_PER_S));
}

static void node_scenario_work(void *ctx)
{
    struct node_scenario *scenario = ctx;
    struct rng *r = &scenario->sim->work;
    unsigned number = (unsigned)rng_below(r, PODS_COUNT);
    const struct object *o;
    char name[16];

    if (scenario->has_power_cuts)
        cut_power(scenario);
    if (rng_chance(r, 12))
        node_drivers_expand_claim(&scenario->drivers);
    (void)snprintf(name, sizeof name, "p%u", number);
    o = store_get(scenario->sim->server.store, KIND_POD, OBJECTS_NS, name);
    if (!o)
        make_pod(scenario, number);
    else if (rng_chance(r, 25) && !(scenario->keeps_last_pods && sim_is_last_quarter(scenario->sim)))
        delete_pod(scenario, o);
}

/* --- State files --- */

/* Volumes with the contents of objects are excepted: they are unmounted before the agent knows, and mounted
 * again. */
static void check_ready_volumes(struct scenario_node *n, const struct json *d, json_ref root, const char *uid)
{
    char path[PATH_MAX];

    for (json_ref v = json_first(d, json_get(d, root, "volumes")); v; v = json_next(d, v)) {
        (void)snprintf(path, sizeof path, "%.*s", STR_ARG(json_get_text(d, v, "path")));
        if (must_be_mounted(path) && !is_object_volume(path) && !machine_has_mount(n->machine, path))
            sim_fail(n->scenario->sim, "%s: state file of pod %s is ready, but %s is not mounted", n->name,
                     uid, path);
    }
}

static void check_state_file(struct scenario_node *n, const char *uid, const struct file_node *file)
{
    struct sim *s = n->scenario->sim;
    char boot_id[64];
    struct json d;
    json_ref root;
    struct error ignored; /* an unreadable file is not ready */

    json_init(&d, TREE_FILE_BYTES_MAX);
    if (json_parse(&d, buf_str(&file->data), &root, &ignored) == 0 &&
        json_type(&d, json_get(&d, root, "ready")) == JSON_TRUE) {
        (void)snprintf(boot_id, sizeof boot_id, "%s-%" PRIu64, n->name, n->machine->boots);
        if (json_is_string(&d, json_get(&d, root, "bootID"), boot_id))
            check_ready_volumes(n, &d, root, uid);
        else if (n->process->state)
            sim_fail(s, "%s: state file of pod %s is ready since an earlier boot", n->name, uid);
    }
    json_done(&d);
}

static void check_state_files(struct scenario_node *n)
{
    struct machine_place dir;
    const struct tree_entry *e;

    if (machine_find(n->machine, AT_FDCWD, AGENT_ROOT "/pods", 0, &dir, NULL) != 0)
        return;
    TAILQ_FOREACH(e, &dir.node->entries, link) {
        const struct file_node *file = tree_find(e->node, "berth.json");

        if (file)
            check_state_file(n, e->name, file);
    }
}

static void node_scenario_check(void *ctx)
{
    struct node_scenario *scenario = ctx;

    node_drivers_check(&scenario->drivers);
    if (tree_changes() == scenario->checked_changes)
        return;
    scenario->checked_changes = tree_changes();
    for (unsigned i = 0; i < scenario->nodes_count; i++)
        check_state_files(&scenario->nodes[i]);
}

/* --- Begin and end --- */

static void begin_node(struct node_scenario *scenario, unsigned number)
{
    struct scenario_node *n = &scenario->nodes[number];
    char path[64];

    n->scenario = scenario;
    (void)snprintf(n->name, sizeof n->name, "n%u", number);
    TAILQ_INIT(&n->pods);
    n->machine = machine_new(scenario->sim, n->name);
    n->machine->on_unmount = on_unmount;
    n->machine->on_reboot = on_reboot;
    n->machine->ctx = n;
    node_drivers_add(&scenario->drivers, n->machine);
    machine_add_program(n->machine, HOOK_PATH, run_hook, n);
    for (unsigned d = 0; d < DISKS_COUNT; d++) {
        (void)snprintf(path, sizeof path, "/mnt/v%u%u", number, d);
        (void)tree_make(n->machine->trees.items[0]->root, path, S_IFDIR | 0755);
        if (mode_of(scenario, d)[0] == 'B') {
            (void)snprintf(n->disk.name, sizeof n->disk.name, "v%u%u", number, d);
            n->disk.bytes = (uint64_t)1 << 30;
            machine_attach_disk(n->machine, &n->disk);
        }
        make_local(scenario, number, d);
    }
    n->daemon = (struct sim_daemon_options){ .program = &daemon_node, .host = n->name };
    n->daemon.settings.node.name = n->name;
    n->daemon.settings.node.root = AGENT_ROOT;
    n->daemon.settings.node.hook = HOOK_PATH;
    n->process = sim_spawn_on(n->machine, &sim_daemon_program, &n->daemon);
}

/* One process with controllers and scheduler, or two on different machines that compete for one lease. */
static void begin_planes(struct node_scenario *scenario, unsigned count)
{
    static const char *const names[PLANES_MAX] = { "plane0", "plane1" };

    for (unsigned i = 0; i < count; i++) {
        struct machine *m = machine_new(scenario->sim, names[i]);

        node_drivers_add_plane(&scenario->drivers, m);
        scenario->planes[i] = (struct sim_daemon_options){ .program = &plane_program, .host = names[i] };
        scenario->planes[i].settings.is_elected = count > 1;
        (void)sim_spawn_on(m, &sim_daemon_program, &scenario->planes[i]);
    }
}

static void *node_scenario_begin(struct sim *s)
{
    static const unsigned divisors[] = { 1, 4, 20 };
    static const unsigned nodes[] = { 2, 2, 2, 2, 2, 3, 3, 4, 5 }; /* runs with many take longer */
    struct node_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    s->large_fault_divisor = divisors[rng_below(&s->work, ARRAY_LEN(divisors))];
    scenario->has_block_disks = rng_chance(&s->work, 30);
    scenario->keeps_last_pods = rng_chance(&s->work, 50);
    scenario->has_power_cuts = rng_chance(&s->work, 50);
    scenario->nodes_count = nodes[rng_below(&s->work, ARRAY_LEN(nodes))];
    objects_create(
        s, KIND_CLASS, "later",
        "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'later'},"
        "'provisioner':'kubernetes.io/no-provisioner','volumeBindingMode':'WaitForFirstConsumer'}");
    objects_create(s, KIND_CONFIG_MAP, "settings",
                   "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},'data':{'a':'b'}}");
    objects_create(s, KIND_SECRET, "keys",
                   "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'keys'},'stringData':{'a':'b'}}");
    node_drivers_init(&scenario->drivers, s, AGENT_ROOT);
    begin_planes(scenario, rng_chance(&s->work, 25) ? PLANES_MAX : 1);
    for (unsigned i = 0; i < scenario->nodes_count; i++)
        begin_node(scenario, i);
    node_drivers_begin(&scenario->drivers);
    for (unsigned i = 0; i < DISKS_COUNT; i++)
        make_claim(scenario, i);
    return scenario;
}

static void node_scenario_end(void *ctx)
{
    struct node_scenario *scenario = ctx;
    struct scenario_pod *p;

    for (unsigned i = 0; i < scenario->nodes_count; i++)
        while ((p = TAILQ_FIRST(&scenario->nodes[i].pods))) {
            TAILQ_REMOVE(&scenario->nodes[i].pods, p, link);
            free(p);
        }
    node_drivers_end(&scenario->drivers);
    free(scenario);
}

/* --- The final state --- */

struct settle_check {
    struct node_scenario *scenario;
    struct error *err;
    int r;
};

static bool check_pod(void *ctx, const struct object *o)
{
    struct settle_check *l = ctx;
    const struct pod *p = pod_of(o);

    if (o->is_deleting) {
        l->r = error_set(l->err, ERR_BUSY, "pod %s still exists", o->name);
        return false;
    }
    for (unsigned i = 0; i < l->scenario->nodes_count; i++)
        if (strcmp(p->node_name, l->scenario->nodes[i].name) == 0 &&
            !get_pod(&l->scenario->nodes[i], o->uid)->is_running &&
            !node_drivers_must_wait(&l->scenario->drivers, o))
            l->r = error_set(l->err, ERR_BUSY, "pod %s does not run", o->name);
    return l->r == 0;
}

struct uid_search {
    const char *uid;
    bool is_found;
};

static bool match_uid(void *ctx, const struct object *o)
{
    struct uid_search *u = ctx;

    u->is_found = u->is_found || strcmp(u->uid, o->uid) == 0;
    return true;
}

/* Reports a file below the directory that is left. */
static int report_leftover(struct scenario_node *n, struct file_node *dir, struct error *err)
{
    struct machine_place at = { TAILQ_FIRST(&n->machine->mounts), dir };
    char path[PATH_MAX];

    while (S_ISDIR(at.node->mode) && !tree_is_empty(at.node))
        at.node = TAILQ_FIRST(&at.node->entries)->node;
    machine_path_of(n->machine, at, path);
    return error_set(err, ERR_BUSY, "%s: %s of a deleted pod is left", n->name, path);
}

static int check_leftovers(struct scenario_node *n, struct error *err)
{
    struct machine_place dir;
    const struct tree_entry *e;

    if (machine_find(n->machine, AT_FDCWD, AGENT_ROOT "/pods", 0, &dir, NULL) != 0)
        return 0;
    TAILQ_FOREACH(e, &dir.node->entries, link) {
        struct uid_search u = { e->name, false };

        (void)objects_each(n->scenario->sim, KIND_POD, match_uid, &u);
        if (!u.is_found)
            return report_leftover(n, e->node, err);
    }
    return 0;
}

/* The backing file of a loop device has the uid of its pod as name. */
static int check_loops(struct scenario_node *n, struct error *err)
{
    const struct machine *m = n->machine;
    char path[PATH_MAX];

    for (size_t i = 0; i < m->loops.count; i++) {
        struct uid_search u = { NULL, false };

        if (!m->loops.items[i].file.node)
            continue;
        machine_path_of(m, m->loops.items[i].file, path);
        u.uid = strrchr(path, '/') ? strrchr(path, '/') + 1 : "";
        (void)objects_each(n->scenario->sim, KIND_POD, match_uid, &u);
        if (!u.is_found)
            return error_set(err, ERR_BUSY, "%s: a loop device has %s of a deleted pod", n->name, path);
    }
    return 0;
}

static int node_scenario_settled(void *ctx, struct error *err)
{
    struct node_scenario *scenario = ctx;
    struct settle_check l = { scenario, err, 0 };

    (void)objects_each(scenario->sim, KIND_POD, check_pod, &l);
    if (l.r == 0)
        l.r = node_drivers_settled(&scenario->drivers, err);
    for (unsigned i = 0; i < scenario->nodes_count && l.r == 0; i++) {
        struct scenario_pod *p;

        l.r = check_leftovers(&scenario->nodes[i], err);
        if (l.r == 0)
            l.r = check_loops(&scenario->nodes[i], err);
        TAILQ_FOREACH(p, &scenario->nodes[i].pods, link) {
            struct uid_search u = { p->uid, false };

            (void)objects_each(scenario->sim, KIND_POD, match_uid, &u);
            if (p->is_running && !u.is_found && l.r == 0)
                l.r = error_set(err, ERR_BUSY, "%s: pod %s is deleted and still runs",
                                scenario->nodes[i].name, p->uid);
        }
    }
    return l.r;
}

const struct sim_scenario sim_scenario_node = { .name = "node",
                                                .steps_factor = 8,
                                                .wakes_due_only = true,
                                                .second_steps_max = 20000,
                                                .begin = node_scenario_begin,
                                                .work = node_scenario_work,
                                                .check = node_scenario_check,
                                                .settled = node_scenario_settled,
                                                .end = node_scenario_end };
