/* The scenario of nodes: Berth's own controllers, scheduler and node agents on simulated machines.
 *
 * People make pods with volumes of every kind and delete them; machines fail, hang and reboot. The truth is
 * on the machines: what is mounted, which directories there are, which pods the hook has started. */
#include "sim/node_drivers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pod.h"
#include "sim/daemon.h"
#include "sim/objects.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

#define SCENE_NODES_MAX 5
#define SCENE_PLANES_MAX 2
#define SCENE_PODS 4
#define SCENE_DISKS 2      /* local volumes of each node */
#define SCENE_BLOCK_DISK 1 /* the one that is raw blocks, if any is */
#define SCENE_ROOT "/var/lib/berth"
#define SCENE_HOOK "/usr/bin/hook"
#define UID_BYTES 64
static const char inline_csi[] = "{'name':'v','csi':{'driver':'" CSI_DRIVER "'}}";
#define HEARD_NS (100 * NS_PER_MS)

/* A pod as a machine knows it. */
struct scene_pod {
    TAILQ_ENTRY(scene_pod) link;
    char uid[UID_BYTES];
    bool is_running;
    unsigned setups, teardowns;
};

struct scene_node {
    struct node_scene *scene;
    struct machine *machine;
    struct sim_process *process;
    struct sim_daemon_options daemon;
    char name[16];
    struct sim_disk disk;   /* of its local volume for raw blocks, if there are such */
    uint64_t shown_gone_ns; /* when a volume that shows objects was unmounted last */
    TAILQ_HEAD(, scene_pod) pods;
};

struct node_scene {
    struct sim *sim;
    struct sim_daemon_options planes[SCENE_PLANES_MAX];
    struct scene_node nodes[SCENE_NODES_MAX];
    unsigned nodes_count;
    bool has_block_disks;
    bool keeps_last_pods; /* in the last quarter people delete none */
    bool has_power_cuts;
    struct node_drivers drivers;
};

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };

/* --- Pods on a machine --- */

static struct scene_pod *pod_get(struct scene_node *n, const char *uid)
{
    struct scene_pod *p;

    TAILQ_FOREACH(p, &n->pods, link)
        if (strcmp(p->uid, uid) == 0)
            return p;
    p = sim_alloc(sizeof *p);
    (void)snprintf(p->uid, sizeof p->uid, "%s", uid);
    TAILQ_INSERT_TAIL(&n->pods, p, link);
    return p;
}

static const char *variable(const char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return "";
}

/* What shows objects goes when its files cannot be written, also while the pod starts or runs: nobody shall
 * read half of them. */
static bool is_shown(const char *path)
{
    static const char *const shown[] = { "~secret/", "~configmap/", "~downward-api/", "~projected/" };

    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (strstr(path, shown[i]))
            return true;
    return false;
}

/* What is there is a mount and no mere directory. */
static bool is_mount(const char *path)
{
    if (strstr(path, "/volumeDevices/"))
        return false;
    return strstr(path, "~local-volume/") || strstr(path, "~csi/") || strstr(path, "~flex/") ||
           strstr(path, "~secret/") || strstr(path, "~downward-api/");
}

/* It went when the hook had been started already, or so shortly before that the agent had not heard of it. Of
 * a ConfigMap's directory nobody is told. */
static bool is_excused_at_start(const struct scene_node *n, const char *path)
{
    return is_shown(path) &&
           (strstr(path, "~configmap/") || n->shown_gone_ns + HEARD_NS >= n->machine->child_began_ns);
}

/* The volumes of a pod that starts are there, and the hook is told of each: "v", and "c" of those with a claim.
 */
static void check_volumes(struct scene_node *n, const char *uid, const char *const *env, struct str pod)
{
    static const char claim[] = "\"persistentVolumeClaim\"";
    bool has_claim = memmem(pod.s, pod.len, claim, strlen(claim));
    struct machine_place place;

    if (!variable(env, "VOLUME_V")[0] || (has_claim && !variable(env, "VOLUME_C")[0]))
        sim_fail(n->scene->sim, "pod %s starts, and the hook does not know its volumes", uid);
    for (; *env; env++) {
        const char *path = strncmp(*env, "VOLUME_", 7) == 0 ? strchr(*env, '=') + 1 : NULL;

        if (path && !is_excused_at_start(n, path) &&
            (machine_find(n->machine, AT_FDCWD, path, 0, &place, NULL) != 0 ||
             (is_mount(path) && !machine_has_mount(n->machine, path))))
            sim_fail(n->scene->sim, "pod %s starts without its volume %s", uid, *env);
    }
}

static int run_hook(struct machine *m, void *ctx, const char *const *argv, const char *const *env,
                    struct str input, struct buf *out)
{
    struct scene_node *n = ctx;
    const char *uid = variable(env, "POD_UID");
    struct scene_pod *p = pod_get(n, uid);

    (void)m;
    (void)out;
    if (strcmp(argv[1], "setup") == 0) {
        check_volumes(n, uid, env, input);
        p->is_running = true;
        p->setups++;
    } else {
        p->is_running = false;
        p->teardowns++;
    }
    return 0;
}

/* Nothing goes away under a pod that runs. */
static void on_unmount(void *ctx, const char *path)
{
    struct scene_node *n = ctx;
    struct scene_pod *p;
    char dir[PATH_MAX];

    if (is_shown(path))
        n->shown_gone_ns = n->scene->sim->now_ns;
    TAILQ_FOREACH(p, &n->pods, link) {
        const char *last = strrchr(path, '/');
        bool is_pods;

        (void)snprintf(dir, sizeof dir, SCENE_ROOT "/pods/%s/", p->uid);
        is_pods = strncmp(path, dir, strlen(dir)) == 0 || (last && strcmp(last + 1, p->uid) == 0);
        if (p->is_running && is_pods && !(is_shown(path) && worker_has_failed()))
            sim_fail(n->scene->sim, "%s: %s is unmounted under a running pod", n->name, path);
    }
}

/* Pods do not outlive their machine. */
static void on_reboot(void *ctx)
{
    struct scene_node *n = ctx;
    struct scene_pod *p;

    TAILQ_FOREACH(p, &n->pods, link)
        p->is_running = false;
}

/* --- People --- */

static const char *mode_of(const struct node_scene *scene, unsigned disk)
{
    return scene->has_block_disks && disk == SCENE_BLOCK_DISK ? "Block" : "Filesystem";
}

static bool is_block_claim(const struct node_scene *scene, const char *claim)
{
    return (scene->has_block_disks && strcmp(claim, "c1") == 0) ||
           node_drivers_is_block(&scene->drivers, claim);
}

static void make_local(struct node_scene *scene, unsigned node, unsigned disk)
{
    const char *mode = mode_of(scene, disk);
    char name[16];

    (void)snprintf(name, sizeof name, "v%u%u", node, disk);
    objects_make(scene->sim, KIND_VOLUME, name,
                 "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
                 "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'local':{'path':'%s/%s'},"
                 "'storageClassName':'later','volumeMode':'%s','persistentVolumeReclaimPolicy':'Retain',"
                 "'nodeAffinity':{"
                 "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/hostname',"
                 "'operator':'In','values':['n%u']}]}]}}}}",
                 name, mode[0] == 'B' ? "/dev" : "/mnt", name, mode, node);
}

static void make_claim(struct node_scene *scene, unsigned number)
{
    char name[16];

    (void)snprintf(name, sizeof name, "c%u", number);
    objects_make(scene->sim, KIND_CLAIM, name,
                 "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{"
                 "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                 "'storageClassName':'later','volumeMode':'%s'}}",
                 name, mode_of(scene, number));
}

/* Where the seed has raw blocks or growth, half of the pods are for that. */
static const char *choose_claim(const struct node_scene *scene)
{
    static const char *const claims[] = { "c0", "c1", "cd0", "cd1", "cd2", "cd0", "cf0", "cf1", "cf2" };
    struct rng *r = &scene->sim->work;
    const char *claim = claims[rng_below(r, ARRAY_LEN(claims))];

    if (rng_chance(r, 50))
        return claim;
    if (scene->drivers.flex_is_slow)
        return rng_chance(r, 50) ? "cf0" : "cf2";
    if (scene->has_block_disks && rng_chance(r, 50))
        return "c1";
    if (node_drivers_is_block(&scene->drivers, "cd1") || scene->drivers.grows)
        return rng_chance(r, 70) ? "cd1" : "cd2";
    return claim;
}

static void make_pod(struct node_scene *scene, unsigned number)
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
    struct rng *r = &scene->sim->work;
    char name[16], claim[96] = "";
    const char *volume = volumes[rng_below(r, ARRAY_LEN(volumes))], *claimed = NULL, *mounts = "",
               *devices = "";

    (void)snprintf(name, sizeof name, "p%u", number);
    if (rng_chance(r, 75))
        claimed = choose_claim(scene);
    if (claimed)
        (void)snprintf(claim, sizeof claim, ",{'name':'c','persistentVolumeClaim':{'claimName':'%s'}}",
                       claimed);
    if (claimed && is_block_claim(scene, claimed))
        devices = ",'volumeDevices':[{'name':'c','devicePath':'/dev/c'}]";
    else if (claimed)
        mounts = ",{'name':'c','mountPath':'/c'}";
    objects_make(scene->sim, KIND_POD, name,
                 "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{"
                 "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'i','volumeMounts':[{"
                 "'name':'v','mountPath':'/v'}%s]%s}],'volumes':[%s%s]}}",
                 name, mounts, devices, volume, claim);
}

/* Where a driver is slow, the agent that has to unmount the volumes may be killed: what it cannot reconstruct
 * then is unmounted by force. */
static void delete_pod(struct node_scene *scene, const struct object *o)
{
    struct sim *s = scene->sim;

    for (unsigned i = 0; i < scene->nodes_count && scene->drivers.flex_is_slow; i++) {
        struct scene_node *n = &scene->nodes[i];

        if (n->process->state && strcmp(pod_of(o)->node_name, n->name) == 0 &&
            sim_has_fault(s, &s->work, FAULT_CRASH, 40))
            sim_halt(n->process, s->now_ns + 1 + rng_below(&s->work, 3 * NS_PER_S));
    }
    if (rng_chance(&s->work, 20))
        objects_drop_this(s, o);
    else
        objects_drop(s, KIND_POD, o->name);
}

/* A machine loses its power, and is soon back. */
static void cut_power(struct node_scene *scene)
{
    struct sim *s = scene->sim;
    struct machine *m = scene->nodes[rng_below(&s->work, scene->nodes_count)].machine;

    if (sim_has_fault(s, &s->work, FAULT_REBOOT, 1))
        sim_reboot(m, s->now_ns + 1 + rng_below(&s->work, 20 * NS_PER_S));
}

static void scene_work(void *ctx)
{
    struct node_scene *scene = ctx;
    struct rng *r = &scene->sim->work;
    unsigned number = (unsigned)rng_below(r, SCENE_PODS);
    const struct object *o;
    char name[16];

    if (scene->has_power_cuts)
        cut_power(scene);
    if (rng_chance(r, 12))
        node_drivers_grow(&scene->drivers);
    (void)snprintf(name, sizeof name, "p%u", number);
    o = store_get(scene->sim->server.store, KIND_POD, OBJECTS_NS, name);
    if (!o)
        make_pod(scene, number);
    else if (rng_chance(r, 25) && !(scene->keeps_last_pods && sim_is_last_quarter(scene->sim)))
        delete_pod(scene, o);
}

static void scene_check(void *ctx)
{
    struct node_scene *scene = ctx;

    node_drivers_check(&scene->drivers);
}

/* --- The world --- */

static void begin_node(struct node_scene *scene, unsigned number)
{
    struct scene_node *n = &scene->nodes[number];
    char path[64];

    n->scene = scene;
    (void)snprintf(n->name, sizeof n->name, "n%u", number);
    TAILQ_INIT(&n->pods);
    n->machine = machine_new(scene->sim, n->name);
    n->machine->on_unmount = on_unmount;
    n->machine->on_reboot = on_reboot;
    n->machine->ctx = n;
    node_drivers_add(&scene->drivers, n->machine);
    machine_add_program(n->machine, SCENE_HOOK, run_hook, n);
    for (unsigned d = 0; d < SCENE_DISKS; d++) {
        (void)snprintf(path, sizeof path, "/mnt/v%u%u", number, d);
        (void)tree_make(n->machine->trees.items[0]->root, path, S_IFDIR | 0755);
        if (mode_of(scene, d)[0] == 'B') {
            (void)snprintf(n->disk.name, sizeof n->disk.name, "v%u%u", number, d);
            n->disk.bytes = (uint64_t)1 << 30;
            machine_attach_disk(n->machine, &n->disk);
        }
        make_local(scene, number, d);
    }
    n->daemon = (struct sim_daemon_options){ .program = &daemon_node, .host = n->name };
    n->daemon.settings.node.name = n->name;
    n->daemon.settings.node.root = SCENE_ROOT;
    n->daemon.settings.node.hook = SCENE_HOOK;
    n->process = sim_spawn_on(n->machine, &sim_daemon_program, &n->daemon);
}

/* One process with the controllers and the scheduler, or two on machines of their own that want one lease. */
static void begin_planes(struct node_scene *scene, unsigned count)
{
    static const char *const names[SCENE_PLANES_MAX] = { "head", "heir" };

    for (unsigned i = 0; i < count; i++) {
        struct machine *m = machine_new(scene->sim, names[i]);

        node_drivers_add_head(&scene->drivers, m);
        scene->planes[i] = (struct sim_daemon_options){ .program = &plane_program, .host = names[i] };
        scene->planes[i].settings.is_elected = count > 1;
        (void)sim_spawn_on(m, &sim_daemon_program, &scene->planes[i]);
    }
}

static void *scene_begin(struct sim *s)
{
    static const unsigned calms[] = { 1, 4, 20 };
    static const unsigned nodes[] = { 2, 2, 2, 2, 2, 3, 3, 4, 5 }; /* most seeds have few: runs take longer */
    struct node_scene *scene = sim_alloc(sizeof *scene);

    scene->sim = s;
    s->calm = calms[rng_below(&s->work, ARRAY_LEN(calms))];
    scene->has_block_disks = rng_chance(&s->work, 30);
    scene->keeps_last_pods = rng_chance(&s->work, 50);
    scene->has_power_cuts = rng_chance(&s->work, 50);
    scene->nodes_count = nodes[rng_below(&s->work, ARRAY_LEN(nodes))];
    objects_make(s, KIND_CLASS, "later",
                 "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'later'},"
                 "'provisioner':'kubernetes.io/no-provisioner','volumeBindingMode':'WaitForFirstConsumer'}");
    objects_make(s, KIND_CONFIG_MAP, "settings",
                 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},'data':{'a':'b'}}");
    objects_make(s, KIND_SECRET, "keys",
                 "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'keys'},'stringData':{'a':'b'}}");
    node_drivers_init(&scene->drivers, s, SCENE_ROOT);
    begin_planes(scene, rng_chance(&s->work, 25) ? SCENE_PLANES_MAX : 1);
    for (unsigned i = 0; i < scene->nodes_count; i++)
        begin_node(scene, i);
    node_drivers_begin(&scene->drivers);
    for (unsigned i = 0; i < SCENE_DISKS; i++)
        make_claim(scene, i);
    return scene;
}

static void scene_end(void *ctx)
{
    struct node_scene *scene = ctx;
    struct scene_pod *p;

    for (unsigned i = 0; i < scene->nodes_count; i++)
        while ((p = TAILQ_FIRST(&scene->nodes[i].pods))) {
            TAILQ_REMOVE(&scene->nodes[i].pods, p, link);
            free(p);
        }
    node_drivers_end(&scene->drivers);
    free(scene);
}

/* --- In the end --- */

struct looking {
    struct node_scene *scene;
    struct error *err;
    int r;
};

static bool check_pod(void *ctx, const struct object *o)
{
    struct looking *l = ctx;
    const struct pod *p = pod_of(o);

    if (o->is_deleting) {
        l->r = error_set(l->err, ERR_BUSY, "pod %s is still there", o->name);
        return false;
    }
    for (unsigned i = 0; i < l->scene->nodes_count; i++)
        if (strcmp(p->node_name, l->scene->nodes[i].name) == 0 &&
            !pod_get(&l->scene->nodes[i], o->uid)->is_running &&
            !node_drivers_must_wait(&l->scene->drivers, o))
            l->r = error_set(l->err, ERR_BUSY, "pod %s does not run", o->name);
    return l->r == 0;
}

struct uid_search {
    const char *uid;
    bool is_there;
};

static bool match_uid(void *ctx, const struct object *o)
{
    struct uid_search *u = ctx;

    u->is_there = u->is_there || strcmp(u->uid, o->uid) == 0;
    return true;
}

/* Names something of it that keeps it there. */
static int say_left(struct scene_node *n, struct file_node *dir, struct error *err)
{
    struct machine_place at = { TAILQ_FIRST(&n->machine->mounts), dir };
    char path[PATH_MAX];

    while (S_ISDIR(at.node->mode) && !tree_is_empty(at.node))
        at.node = TAILQ_FIRST(&at.node->entries)->node;
    machine_path_of(n->machine, at, path);
    return error_set(err, ERR_BUSY, "%s: of a pod that is gone %s is left", n->name, path);
}

static int check_left(struct scene_node *n, struct error *err)
{
    struct machine_place dir;
    const struct tree_entry *e;

    if (machine_find(n->machine, AT_FDCWD, SCENE_ROOT "/pods", 0, &dir, NULL) != 0)
        return 0;
    TAILQ_FOREACH(e, &dir.node->entries, link) {
        struct uid_search u = { e->name, false };

        (void)objects_each(n->scene->sim, KIND_POD, match_uid, &u);
        if (!u.is_there)
            return say_left(n, e->node, err);
    }
    return 0;
}

/* Loop devices hold files that are called as their pods. */
static int check_loops(struct scene_node *n, struct error *err)
{
    const struct machine *m = n->machine;
    char path[PATH_MAX];

    for (size_t i = 0; i < m->loops.count; i++) {
        struct uid_search u = { NULL, false };

        if (!m->loops.items[i].file.node)
            continue;
        machine_path_of(m, m->loops.items[i].file, path);
        u.uid = strrchr(path, '/') ? strrchr(path, '/') + 1 : "";
        (void)objects_each(n->scene->sim, KIND_POD, match_uid, &u);
        if (!u.is_there)
            return error_set(err, ERR_BUSY, "%s: a loop device has %s of a pod that is gone", n->name, path);
    }
    return 0;
}

static int scene_settled(void *ctx, struct error *err)
{
    struct node_scene *scene = ctx;
    struct looking l = { scene, err, 0 };

    (void)objects_each(scene->sim, KIND_POD, check_pod, &l);
    if (l.r == 0)
        l.r = node_drivers_settled(&scene->drivers, err);
    for (unsigned i = 0; i < scene->nodes_count && l.r == 0; i++) {
        struct scene_pod *p;

        l.r = check_left(&scene->nodes[i], err);
        if (l.r == 0)
            l.r = check_loops(&scene->nodes[i], err);
        TAILQ_FOREACH(p, &scene->nodes[i].pods, link) {
            struct uid_search u = { p->uid, false };

            (void)objects_each(scene->sim, KIND_POD, match_uid, &u);
            if (p->is_running && !u.is_there && l.r == 0)
                l.r = error_set(err, ERR_BUSY, "%s: pod %s is gone and runs", scene->nodes[i].name, p->uid);
        }
    }
    return l.r;
}

const struct sim_scenario sim_scenario_node = { .name = "node",
                                                .summary = "node agents on machines that fail",
                                                .days = 8,
                                                .is_sparing = true,
                                                .second_steps_max = 20000,
                                                .begin = scene_begin,
                                                .work = scene_work,
                                                .check = scene_check,
                                                .settled = scene_settled,
                                                .end = scene_end };
