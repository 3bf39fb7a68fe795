/* Scenario controllers: protect, expand, ephemeral, stranded and the provisioners, together with binder and
 * scheduler, assembled as in src/daemon.
 *
 * In some seeds two processes compete for the lease of the controllers; in others one process has the
 * components of `berth serve` and also discovers the disks of its machine. Invariants of objects are checked
 * for each version that the server stores. The files of the machine are checked after each step in which the
 * store or a file has changed. */
#include "sim/scenario_controllers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/pod_claims.h"
#include "controllers/stranded/stranded.h"
#include "sim/sim_world.h"

#define UNRELATED_FILE "/mnt/other/file"
#define FOREIGN_DIR "volume"

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };
static const struct daemon_program serve_program = { "serve", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, true };

/* --- Lookups --- */

/* Searches backwards: recent records are used most. */
struct controllers_record *controllers_scenario_record(struct controllers_scenario *scenario, const char *uid)
{
    struct controllers_record record = { .scheduled_at = 0 };

    for (size_t i = scenario->records.count; i-- > 0;)
        if (strcmp(scenario->records.items[i].uid, uid) == 0)
            return &scenario->records.items[i];
    (void)snprintf(record.uid, sizeof record.uid, "%s", uid);
    if (vec_push(&scenario->records, record) < 0)
        abort();
    return &scenario->records.items[scenario->records.count - 1];
}

struct controllers_node *controllers_scenario_node(struct controllers_scenario *scenario, const char *name)
{
    for (unsigned i = 0; i < NODES_COUNT; i++)
        if (strcmp(scenario->nodes[i].name, name) == 0)
            return &scenario->nodes[i];
    return NULL;
}

static struct volume_node_events *find_node_events(struct controllers_scenario *scenario, const char *volume)
{
    struct volume_node_events events = { .gone_ns = 0 };

    for (size_t i = 0; i < scenario->node_events.count; i++)
        if (strcmp(scenario->node_events.items[i].volume, volume) == 0)
            return &scenario->node_events.items[i];
    (void)snprintf(events.volume, sizeof events.volume, "%s", volume);
    if (vec_push(&scenario->node_events, events) < 0)
        abort();
    return &scenario->node_events.items[scenario->node_events.count - 1];
}

/* The number of the disk of a local volume; DISKS_COUNT: none. */
static unsigned find_disk_number(const struct volume *v)
{
    static const char dir[] = DISKS_DIR "/d";

    if (v->source.kind != SOURCE_LOCAL || strncmp(v->source.local->path, dir, sizeof dir - 1) != 0)
        return DISKS_COUNT;
    return (unsigned)(v->source.local->path[sizeof dir - 1] - '0');
}

/* For a volume of the export, the directory on the file server, whether or not the export is mounted. */
struct file_node *controllers_scenario_storage(struct controllers_scenario *scenario, const struct volume *v)
{
    unsigned disk = find_disk_number(v);

    if (disk < DISKS_COUNT)
        return scenario->disks[disk].tree->root;
    if (v->source.kind != SOURCE_NFS)
        return NULL;
    return tree_find(scenario->export.tree->root, v->source.nfs->path + strlen(EXPORT_SERVER_PATH "/"));
}

const struct volume *controllers_scenario_bound_volume(const struct controllers_scenario *scenario,
                                                       const struct claim *c)
{
    const struct volume *v = c->volume_name[0] ? stored_volume(scenario->sim, c->volume_name) : NULL;

    return v && strcmp(v->claim.uid, c->obj.uid) == 0 ? v : NULL;
}

bool controllers_scenario_has_disk(struct controllers_scenario *scenario, unsigned number)
{
    return machine_mounts_disk(scenario->machine, &scenario->disks[number]);
}

/* --- Claims --- */

struct user_search {
    struct controllers_scenario *scenario;
    const struct claim *claim;
    int64_t before; /* this revision */
};

/* A pod that was scheduled before the claim was deleted uses it. */
static bool check_user(void *ctx, const struct object *o)
{
    const struct user_search *u = ctx;
    const struct pod *p = pod_of(o);
    int64_t at = controllers_scenario_record(u->scenario, o->uid)->scheduled_at;

    for (uint32_t i = 0; i < p->volumes.count && at && at < u->before; i++)
        if (pod_volume_is_claim(p, &p->volumes.items[i], u->claim))
            sim_fail(u->scenario->sim, "protect: claim %s is deleted while pod %s uses it",
                     u->claim->obj.name, o->name);
    return true;
}

static void check_claim_gone(struct controllers_scenario *scenario, const struct claim *c)
{
    struct user_search u = { scenario, c, controllers_scenario_record(scenario, c->obj.uid)->deleted_at };

    (void)objects_each(scenario->sim, KIND_POD, check_user, &u);
    if (object_label(&c->obj, LABEL_FOREIGN) &&
        !controllers_scenario_record(scenario, c->obj.uid)->is_deleted_by_user)
        sim_fail(scenario->sim, "ephemeral: unrelated claim %s is deleted", c->obj.name);
}

static void check_claim_made(struct controllers_scenario *scenario, const struct claim *c)
{
    const struct owner *owner = object_controller(&c->obj);
    char expected[64];

    if (c->obj.name[0] != 'p' || object_label(&c->obj, LABEL_FOREIGN))
        return;
    (void)snprintf(expected, sizeof expected, "%s-e", owner ? owner->name : "");
    if (!owner || strcmp(owner->kind, "Pod") != 0 || strcmp(expected, c->obj.name) != 0 ||
        !controllers_scenario_record(scenario, owner->uid)->is_pod)
        sim_fail(scenario->sim, "ephemeral: claim %s belongs to no pod", c->obj.name);
}

static void check_claim_size(struct controllers_scenario *scenario, const struct claim *old,
                             const struct claim *c)
{
    const struct volume *v = controllers_scenario_bound_volume(scenario, c);
    uint64_t bytes;

    if (old->has_capacity && (!c->has_capacity || quantity_cmp(&c->capacity, &old->capacity) < 0))
        sim_fail(scenario->sim, "expand: claim %s shrinks", c->obj.name);
    if (!v || !c->has_capacity || quantity_cmp(&c->capacity, &old->capacity) == 0)
        return;
    bytes = v->source.kind == SOURCE_FLEX ? controllers_scenario_record(scenario, v->obj.uid)->bytes
                                          : (uint64_t)quantity_value(&v->capacity);
    if ((uint64_t)quantity_value(&c->capacity) > bytes)
        sim_fail(scenario->sim, "expand: the capacity of claim %s exceeds volume %s", c->obj.name,
                 v->obj.name);
}

static void on_claim(struct controllers_scenario *scenario, const struct store_event *ev)
{
    const struct claim *c = claim_of(ev->object);

    if (ev->is_delete) {
        check_claim_gone(scenario, c);
        return;
    }
    if (!ev->old)
        check_claim_made(scenario, c);
    else
        check_claim_size(scenario, claim_of(ev->old), c);
    if (c->obj.is_deleting && !controllers_scenario_record(scenario, c->obj.uid)->deleted_at)
        controllers_scenario_record(scenario, c->obj.uid)->deleted_at = ev->revision;
}

/* --- Volumes --- */

struct duplicate_search {
    struct controllers_scenario *scenario;
    const struct volume *volume;
};

static bool check_duplicate(void *ctx, const struct object *o)
{
    const struct duplicate_search *d = ctx;
    const struct volume *v = d->volume, *other = volume_of(o);

    if (other == v || strcmp(o->name, v->obj.name) == 0)
        return true;
    if (v->source.kind == SOURCE_NFS && strcmp(v->claim.uid, other->claim.uid) == 0)
        sim_fail(d->scenario->sim, "provisioner: %s and %s are created for the same claim", o->name,
                 v->obj.name);
    if (find_disk_number(v) < DISKS_COUNT && find_disk_number(v) == find_disk_number(other))
        sim_fail(d->scenario->sim, "local: %s and %s are the same disk", o->name, v->obj.name);
    return true;
}

static void on_volume(struct controllers_scenario *scenario, const struct store_event *ev)
{
    const struct volume *v = volume_of(ev->object);
    struct duplicate_search d = { scenario, v };

    if (ev->is_delete) {
        if (v->phase == VOLUME_BOUND)
            sim_fail(scenario->sim, "protect: volume %s is deleted while it is bound", v->obj.name);
    } else if (ev->old) {
        if (find_disk_number(v) == DISKS_COUNT &&
            quantity_cmp(&v->capacity, &volume_of(ev->old)->capacity) < 0)
            sim_fail(scenario->sim, "expand: volume %s shrinks", v->obj.name);
    } else {
        controllers_scenario_record(scenario, v->obj.uid)->bytes = (uint64_t)quantity_value(&v->capacity);
        (void)objects_each(scenario->sim, KIND_VOLUME, check_duplicate, &d);
        if (find_disk_number(v) < DISKS_COUNT &&
            !tree_is_empty(scenario->disks[find_disk_number(v)].tree->root))
            sim_fail(scenario->sim, "local: %s is available with old data", v->obj.name);
    }
    if (!ev->is_delete && find_disk_number(v) < DISKS_COUNT && v->obj.is_deleting && v->phase == VOLUME_BOUND)
        sim_fail(scenario->sim, "local: %s is withdrawn while it is bound", v->obj.name);
}

/* --- Pods, nodes, events --- */

static void on_pod(struct controllers_scenario *scenario, const struct store_event *ev)
{
    const struct pod *p = pod_of(ev->object);
    struct controllers_record *r = controllers_scenario_record(scenario, ev->object->uid);

    r->is_pod = true;
    if (ev->is_delete || r->scheduled_at || !p->node_name[0])
        return;
    r->scheduled_at = ev->revision;
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];
        const struct claim *c =
            v->type == POD_VOLUME_EPHEMERAL ? stored_claim(scenario->sim, pod_claim_name(v)) : NULL;

        if (c && object_label(&c->obj, LABEL_FOREIGN) && c->obj.created.seconds < ev->object->created.seconds)
            sim_fail(scenario->sim, "ephemeral: pod %s gets an unrelated claim", ev->object->name);
    }
}

static void on_node(struct controllers_scenario *scenario, const struct store_event *ev)
{
    struct controllers_node *n = controllers_scenario_node(scenario, ev->object->name);

    if (n && ev->is_delete) {
        n->gone_ns = scenario->sim->now_ns;
        n->gone_first_ns = n->gone_first_ns ? n->gone_first_ns : scenario->sim->now_ns;
    } else if (n && !ev->old) {
        n->gone_ns = 0;
        n->back_ns = scenario->sim->now_ns;
    }
}

/* The node of a local volume. */
static struct controllers_node *find_node_of_volume(struct controllers_scenario *scenario, const char *name)
{
    return controllers_scenario_node(scenario, strcmp(name, "far") == 0 ? "n1" : "n0");
}

static void on_event(struct controllers_scenario *scenario, const struct store_event *ev)
{
    const struct event *e = (const struct event *)(const void *)ev->object;
    const struct controllers_node *n;

    if (ev->is_delete || strcmp(e->involved.kind, "PersistentVolume") != 0)
        return;
    if (strcmp(e->reason, "NodeBack") == 0)
        find_node_events(scenario, e->involved.name)->back_ns = scenario->sim->now_ns;
    if (strcmp(e->reason, "NodeGone") != 0)
        return;
    n = find_node_of_volume(scenario, e->involved.name);
    find_node_events(scenario, e->involved.name)->gone_ns = scenario->sim->now_ns;
    if (!n->gone_first_ns || scenario->sim->now_ns < n->gone_first_ns + STRANDED_NS)
        sim_fail(scenario->sim, "stranded: %s gets the event NodeGone too early", e->involved.name);
}

static void on_commit(void *ctx, const struct store_event *ev)
{
    static void (*const handlers[KIND_COUNT])(struct controllers_scenario * scenario,
                                              const struct store_event *ev) = {
        [KIND_CLAIM] = on_claim, [KIND_VOLUME] = on_volume, [KIND_POD] = on_pod,
        [KIND_NODE] = on_node,   [KIND_EVENT] = on_event,
    };

    if (handlers[ev->object->kind->kind])
        handlers[ev->object->kind->kind](ctx, ev);
}

/* --- Files of the machine --- */

/* The storage of a bound claim exists, with the data of the claim and no other data. */
static bool check_storage(void *ctx, const struct object *o)
{
    struct controllers_scenario *scenario = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = controllers_scenario_bound_volume(scenario, c);
    const struct file_node *dir;
    const struct tree_entry *e;

    if (!v || v->source.kind == SOURCE_FLEX)
        return true;
    dir = controllers_scenario_storage(scenario, v);
    if (!dir) {
        sim_fail(scenario->sim, "provisioner: the directory of claim %s is missing", o->name);
        return false;
    }
    TAILQ_FOREACH(e, &dir->entries, link)
        if (strcmp(e->name, "elsewhere") != 0 && strcmp(e->name, o->uid) != 0)
            sim_fail(scenario->sim, "claim %s has the data of another claim, %s", o->name, e->name);
    if (controllers_scenario_record(scenario, o->uid)->has_data && !tree_find(dir, o->uid))
        sim_fail(scenario->sim, "claim %s has lost its data", o->name);
    return true;
}

/* Depends only on objects, files, mounts, and on which claims have data; that changes only when a file is
 * created. So it need not be repeated while the store and the files are unchanged. */
static void check_machine(struct controllers_scenario *scenario)
{
    struct file_node *below = tree_make(scenario->machine->trees.items[0]->root, EXPORT_DIR, S_IFDIR);
    const struct tree_entry *e;
    struct machine_place place;

    if (!tree_is_empty(below))
        sim_fail(scenario->sim, "provisioner: %s is created where the export is not mounted",
                 TAILQ_FIRST(&below->entries)->name);
    TAILQ_FOREACH(e, &scenario->foreign_export.tree->root->entries, link)
        if (strcmp(e->name, NFS_SUBDIR_MARKER) != 0 && strcmp(e->name, FOREIGN_DIR) != 0)
            sim_fail(scenario->sim, "provisioner: %s is created in another export", e->name);
    if (!tree_find(scenario->foreign_export.tree->root, FOREIGN_DIR))
        sim_fail(scenario->sim, "provisioner: a directory of another export is deleted");
    (void)objects_each(scenario->sim, KIND_CLAIM, check_storage, scenario);
    if (machine_find(scenario->machine, AT_FDCWD, UNRELATED_FILE, 0, &place, NULL) != 0)
        sim_fail(scenario->sim, "a file outside of all volumes is deleted");
    for (unsigned i = 0; i < DISKS_COUNT && scenario->has_local; i++) {
        struct file_node *dir = tree_make(scenario->machine->trees.items[0]->root, DISKS_DIR, S_IFDIR);
        struct file_node *bare = tree_find(dir, scenario->disks[i].name);

        if (!bare || !tree_find(bare, "below"))
            sim_fail(scenario->sim, "local: a file below the mount point of disk %s is deleted",
                     scenario->disks[i].name);
    }
}

static void controllers_scenario_check(void *ctx)
{
    struct controllers_scenario *scenario = ctx;

    controllers_workload_run_nodes(scenario);
    if (sim_has_changed(scenario->sim, &scenario->checked))
        check_machine(scenario);
}

/* --- Begin, work and end --- */

/* The machine mounts its disks when it boots. */
static void on_reboot(void *ctx)
{
    struct controllers_scenario *scenario = ctx;

    for (unsigned i = 0; i < DISKS_COUNT; i++)
        controllers_workload_mount_disk(scenario, i);
    if (!rng_chance(&scenario->sim->work, 50))
        controllers_workload_mount_export(scenario); /* else the workload mounts it later */
}

static void begin_exports(struct controllers_scenario *scenario)
{
    scenario->export = (struct sim_disk){ .name = "export", .bytes = (uint64_t)4 << 30 };
    scenario->export.tree = tree_new("nfs4", "/dev/export", 200);
    scenario->foreign_export = (struct sim_disk){ .name = "foreign", .bytes = (uint64_t)4 << 30 };
    scenario->foreign_export.tree = tree_new("nfs4", "/dev/foreign", 201);
    (void)tree_make(scenario->foreign_export.tree->root, FOREIGN_DIR, S_IFDIR | 0755);
    tree_write(tree_make(scenario->foreign_export.tree->root, NFS_SUBDIR_MARKER, S_IFREG | 0644),
               "{\"format\":1,\"kind\":\"export\",\"about\":\"others:/exported\","
               "\"id\":\"00000000-0000-4000-8000-000000000000\"}");
    machine_attach_disk(scenario->machine, &scenario->export);
    machine_attach_disk(scenario->machine, &scenario->foreign_export);
    controllers_workload_mount_export(scenario);
}

static void begin_machine(struct controllers_scenario *scenario)
{
    struct file_node *root;
    char path[64];

    scenario->machine = machine_new(scenario->sim, "n0");
    root = scenario->machine->trees.items[0]->root;
    (void)tree_make(root, EXPORT_DIR, S_IFDIR | 0755);
    (void)tree_make(root, UNRELATED_FILE, S_IFREG | 0644);
    for (unsigned i = 0; i < DISKS_COUNT; i++) {
        struct sim_disk *d = &scenario->disks[i];

        (void)snprintf(d->name, sizeof d->name, "d%u", i);
        (void)snprintf(path, sizeof path, "/dev/%s", d->name);
        d->bytes = (uint64_t)4 << 30;
        d->tree = tree_new("ext4", path, 100 + i);
        machine_attach_disk(scenario->machine, d);
        (void)snprintf(path, sizeof path, DISKS_DIR "/%s/below", d->name);
        (void)tree_make(root, path, S_IFREG | 0644);
        controllers_workload_mount_disk(scenario, i);
    }
    begin_exports(scenario);
    scenario->machine->on_reboot = on_reboot;
    scenario->machine->ctx = scenario;
}

static void begin_planes(struct controllers_scenario *scenario)
{
    static const struct local_class disks = { .name = "disks",
                                              .host_dir = DISKS_DIR,
                                              .mount_dir = DISKS_DIR,
                                              .mode = VOLUME_MODE_FILESYSTEM,
                                              .access_mode = "ReadWriteOnce",
                                              .fs_type = "",
                                              .name_pattern = "*",
                                              .selector = "" };
    struct daemon_settings *s = &scenario->daemon.settings;

    scenario->daemon.program = scenario->has_local ? &serve_program : &plane_program;
    scenario->daemon.host = "n0";
    s->provisioners.nfs[0] =
        (struct nfs_settings){ NFS_PROVISIONER,
                               { .server = "files", .path = EXPORT_SERVER_PATH, .mount_dir = EXPORT_DIR } };
    s->provisioners.nfs_count = 1;
    if (scenario->has_local) {
        s->data = "/var/lib/berth";
        s->node.name = "n0";
        s->provisioners.has_local = true;
        s->provisioners.local = (struct local_config){ .classes = &disks, .classes_count = 1 };
    } else {
        s->is_elected = true;
    }
    scenario->planes_count = scenario->has_local ? 1 : PLANES_MAX;
    for (unsigned i = 0; i < scenario->planes_count; i++)
        scenario->planes[i] = sim_spawn_on(scenario->machine, &sim_daemon_program, &scenario->daemon);
}

static void *controllers_scenario_begin(struct sim *s)
{
    static const unsigned divisors[] = { 4, 20, 60 };
    struct controllers_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    s->large_fault_divisor = divisors[rng_below(&s->work, ARRAY_LEN(divisors))];
    scenario->has_local = rng_chance(&s->work, 60);
    for (unsigned i = 0; i < NODES_COUNT; i++)
        (void)snprintf(scenario->nodes[i].name, sizeof scenario->nodes[i].name, "n%u", i);
    store_watch(s->server.store, &scenario->watcher, KIND_COUNT, on_commit, NULL, scenario);
    begin_machine(scenario);
    controllers_workload_begin(scenario);
    begin_planes(scenario);
    return scenario;
}

static void controllers_scenario_work(void *ctx)
{
    struct controllers_scenario *scenario = ctx;

    for (unsigned left = 1 + (unsigned)rng_below(&scenario->sim->work, 3); left > 0; left--)
        controllers_workload_work(scenario);
}

static void controllers_scenario_end(void *ctx)
{
    struct controllers_scenario *scenario = ctx;

    store_unwatch(scenario->sim->server.store, &scenario->watcher);
    for (unsigned i = 0; i < DISKS_COUNT; i++)
        scenario->disks[i].tree = tree_free(scenario->disks[i].tree);
    scenario->export.tree = tree_free(scenario->export.tree);
    scenario->foreign_export.tree = tree_free(scenario->foreign_export.tree);
    vec_done(&scenario->records);
    vec_done(&scenario->node_events);
    free(scenario);
}

const struct sim_scenario sim_scenario_controllers = { .name = "controllers",
                                                       .steps_factor = 16,
                                                       .wakes_due_only = true,
                                                       .second_steps_max = 20000,
                                                       .begin = controllers_scenario_begin,
                                                       .work = controllers_scenario_work,
                                                       .check = controllers_scenario_check,
                                                       .settled = controllers_scenario_settled,
                                                       .end = controllers_scenario_end };
