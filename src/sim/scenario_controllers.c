/* The scenario of controllers: protect, expand, ephemeral, stranded and the provisioners, together with
 * binder and scheduler, as the daemon puts them together.
 *
 * On some days two processes want the lease of the controllers; on others one process is what `berth serve`
 * is and also looks after the disks of its machine. What must hold is checked for each version that the
 * server stores, and against what is on the machine after each step. */
#include "sim/scenario_controllers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/pod_claims.h"
#include "controllers/stranded/stranded.h"
#include "sim/sim_world.h"

#define KEPT "/mnt/other/kept"

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };
static const struct daemon_program serve_program = { "serve", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, true };

/* --- What is known --- */

/* The newest first: those are asked for. */
struct estate_record *estate_record(struct estate *x, const char *uid)
{
    struct estate_record record = { .scheduled_at = 0 };

    for (size_t i = x->records.count; i-- > 0;)
        if (strcmp(x->records.items[i].uid, uid) == 0)
            return &x->records.items[i];
    (void)snprintf(record.uid, sizeof record.uid, "%s", uid);
    if (vec_push(&x->records, record) < 0)
        abort();
    return &x->records.items[x->records.count - 1];
}

struct estate_node *estate_node(struct estate *x, const char *name)
{
    for (unsigned i = 0; i < ESTATE_NODES; i++)
        if (strcmp(x->nodes[i].name, name) == 0)
            return &x->nodes[i];
    return NULL;
}

static struct estate_told *told_of(struct estate *x, const char *volume)
{
    struct estate_told told = { .gone_ns = 0 };

    for (size_t i = 0; i < x->told.count; i++)
        if (strcmp(x->told.items[i].volume, volume) == 0)
            return &x->told.items[i];
    (void)snprintf(told.volume, sizeof told.volume, "%s", volume);
    if (vec_push(&x->told, told) < 0)
        abort();
    return &x->told.items[x->told.count - 1];
}

/* The disk that a local volume of the machine is on; ESTATE_DISKS for none. */
static unsigned disk_of(const struct volume *v)
{
    static const char dir[] = ESTATE_DISKS_DIR "/d";

    if (v->source.kind != SOURCE_LOCAL || strncmp(v->source.local->path, dir, sizeof dir - 1) != 0)
        return ESTATE_DISKS;
    return (unsigned)(v->source.local->path[sizeof dir - 1] - '0');
}

struct file_node *estate_storage(struct estate *x, const struct volume *v)
{
    unsigned disk = disk_of(v);
    struct machine_place place;
    char path[PATH_MAX];

    if (disk < ESTATE_DISKS)
        return x->disks[disk].tree->root;
    if (v->source.kind != SOURCE_NFS)
        return NULL;
    (void)snprintf(path, sizeof path, ESTATE_EXPORT "%s", v->source.nfs->path + strlen(ESTATE_EXPORTED));
    return machine_find(x->machine, AT_FDCWD, path, 0, &place, NULL) == 0 ? place.node : NULL;
}

const struct volume *estate_volume_of(const struct estate *x, const struct claim *c)
{
    const struct volume *v = c->volume_name[0] ? stored_volume(x->sim, c->volume_name) : NULL;

    return v && strcmp(v->claim.uid, c->obj.uid) == 0 ? v : NULL;
}

bool estate_has_disk(struct estate *x, unsigned number)
{
    return machine_mounts_disk(x->machine, &x->disks[number]);
}

/* --- Claims --- */

struct user_search {
    struct estate *estate;
    const struct claim *claim;
    int64_t before; /* a revision */
};

/* A pod that was scheduled before the claim was deleted keeps it. */
static bool check_user(void *ctx, const struct object *o)
{
    const struct user_search *u = ctx;
    const struct pod *p = pod_of(o);
    int64_t at = estate_record(u->estate, o->uid)->scheduled_at;

    for (uint32_t i = 0; i < p->volumes.count && at && at < u->before; i++)
        if (pod_volume_is_claim(p, &p->volumes.items[i], u->claim))
            sim_fail(u->estate->sim, "protect: claim %s goes while pod %s uses it", u->claim->obj.name,
                     o->name);
    return true;
}

static void check_claim_gone(struct estate *x, const struct claim *c)
{
    struct user_search u = { x, c, estate_record(x, c->obj.uid)->deleted_at };

    (void)objects_each(x->sim, KIND_POD, check_user, &u);
    if (object_label(&c->obj, ESTATE_FOREIGN) && !estate_record(x, c->obj.uid)->is_dropped)
        sim_fail(x->sim, "ephemeral: claim %s is deleted, which is somebody else's", c->obj.name);
}

static void check_claim_made(struct estate *x, const struct claim *c)
{
    const struct owner *owner = object_controller(&c->obj);
    char expected[64];

    if (c->obj.name[0] != 'p' || object_label(&c->obj, ESTATE_FOREIGN))
        return;
    (void)snprintf(expected, sizeof expected, "%s-e", owner ? owner->name : "");
    if (!owner || strcmp(owner->kind, "Pod") != 0 || strcmp(expected, c->obj.name) != 0 ||
        !estate_record(x, owner->uid)->is_pod)
        sim_fail(x->sim, "ephemeral: claim %s belongs to no pod", c->obj.name);
}

static void check_claim_size(struct estate *x, const struct claim *old, const struct claim *c)
{
    const struct volume *v = estate_volume_of(x, c);
    uint64_t bytes;

    if (old->has_capacity && (!c->has_capacity || quantity_cmp(&c->capacity, &old->capacity) < 0))
        sim_fail(x->sim, "expand: claim %s shrinks", c->obj.name);
    if (!v || !c->has_capacity || quantity_cmp(&c->capacity, &old->capacity) == 0)
        return;
    bytes = v->source.kind == SOURCE_FLEX ? estate_record(x, v->obj.uid)->bytes
                                          : (uint64_t)quantity_value(&v->capacity);
    if ((uint64_t)quantity_value(&c->capacity) > bytes)
        sim_fail(x->sim, "expand: claim %s says that it has more than volume %s", c->obj.name, v->obj.name);
}

static void on_claim(struct estate *x, const struct store_event *ev)
{
    const struct claim *c = claim_of(ev->object);

    if (ev->is_delete) {
        check_claim_gone(x, c);
        return;
    }
    if (!ev->old)
        check_claim_made(x, c);
    else
        check_claim_size(x, claim_of(ev->old), c);
    if (c->obj.is_deleting && !estate_record(x, c->obj.uid)->deleted_at)
        estate_record(x, c->obj.uid)->deleted_at = ev->revision;
}

/* --- Volumes --- */

struct double_search {
    struct estate *estate;
    const struct volume *volume;
};

static bool check_double(void *ctx, const struct object *o)
{
    const struct double_search *d = ctx;
    const struct volume *v = d->volume, *other = volume_of(o);

    if (other == v || strcmp(o->name, v->obj.name) == 0)
        return true;
    if (v->source.kind == SOURCE_NFS && strcmp(v->claim.uid, other->claim.uid) == 0)
        sim_fail(d->estate->sim, "provisioner: %s and %s are made for one claim", o->name, v->obj.name);
    if (disk_of(v) < ESTATE_DISKS && disk_of(v) == disk_of(other))
        sim_fail(d->estate->sim, "local: %s and %s are one disk", o->name, v->obj.name);
    return true;
}

static void on_volume(struct estate *x, const struct store_event *ev)
{
    const struct volume *v = volume_of(ev->object);
    struct double_search d = { x, v };

    if (ev->is_delete) {
        if (v->phase == VOLUME_BOUND)
            sim_fail(x->sim, "protect: volume %s goes while it is bound", v->obj.name);
    } else if (ev->old) {
        if (disk_of(v) == ESTATE_DISKS && quantity_cmp(&v->capacity, &volume_of(ev->old)->capacity) < 0)
            sim_fail(x->sim, "expand: volume %s shrinks", v->obj.name);
    } else {
        estate_record(x, v->obj.uid)->bytes = (uint64_t)quantity_value(&v->capacity);
        (void)objects_each(x->sim, KIND_VOLUME, check_double, &d);
        if (disk_of(v) < ESTATE_DISKS && !tree_is_empty(x->disks[disk_of(v)].tree->root))
            sim_fail(x->sim, "local: %s is offered with somebody's data", v->obj.name);
    }
    if (!ev->is_delete && disk_of(v) < ESTATE_DISKS && v->obj.is_deleting && v->phase == VOLUME_BOUND)
        sim_fail(x->sim, "local: %s is withdrawn while it is bound", v->obj.name);
}

/* --- Pods, nodes, events --- */

static void on_pod(struct estate *x, const struct store_event *ev)
{
    const struct pod *p = pod_of(ev->object);
    struct estate_record *r = estate_record(x, ev->object->uid);

    r->is_pod = true;
    if (ev->is_delete || r->scheduled_at || !p->node_name[0])
        return;
    r->scheduled_at = ev->revision;
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];
        const struct claim *c =
            v->type == POD_VOLUME_EPHEMERAL ? stored_claim(x->sim, pod_claim_name(v)) : NULL;

        if (c && object_label(&c->obj, ESTATE_FOREIGN) &&
            c->obj.created.seconds < ev->object->created.seconds)
            sim_fail(x->sim, "ephemeral: pod %s gets the claim of somebody else", ev->object->name);
    }
}

static void on_node(struct estate *x, const struct store_event *ev)
{
    struct estate_node *n = estate_node(x, ev->object->name);

    if (n && ev->is_delete) {
        n->gone_ns = x->sim->now_ns;
        n->gone_first_ns = n->gone_first_ns ? n->gone_first_ns : x->sim->now_ns;
    } else if (n && !ev->old) {
        n->gone_ns = 0;
        n->back_ns = x->sim->now_ns;
    }
}

/* Which of the nodes a local volume is on. */
static struct estate_node *node_of_volume(struct estate *x, const char *name)
{
    return estate_node(x, strcmp(name, "far") == 0 ? "n1" : "n0");
}

static void on_event(struct estate *x, const struct store_event *ev)
{
    const struct event *e = (const struct event *)(const void *)ev->object;
    const struct estate_node *n;

    if (ev->is_delete || strcmp(e->involved.kind, "PersistentVolume") != 0)
        return;
    if (strcmp(e->reason, "NodeBack") == 0)
        told_of(x, e->involved.name)->back_ns = x->sim->now_ns;
    if (strcmp(e->reason, "NodeGone") != 0)
        return;
    n = node_of_volume(x, e->involved.name);
    told_of(x, e->involved.name)->gone_ns = x->sim->now_ns;
    if (!n->gone_first_ns || x->sim->now_ns < n->gone_first_ns + STRANDED_NS)
        sim_fail(x->sim, "stranded: %s is told that its node is gone, which it is not so long",
                 e->involved.name);
}

static void on_commit(void *ctx, const struct store_event *ev)
{
    static void (*const handlers[KIND_COUNT])(struct estate * x, const struct store_event *ev) = {
        [KIND_CLAIM] = on_claim, [KIND_VOLUME] = on_volume, [KIND_POD] = on_pod,
        [KIND_NODE] = on_node,   [KIND_EVENT] = on_event,
    };

    if (handlers[ev->object->kind->kind])
        handlers[ev->object->kind->kind](ctx, ev);
}

/* --- What is on the machine --- */

/* The storage of a claim's volume is there, with the claim's data and with nobody else's. */
static bool check_storage(void *ctx, const struct object *o)
{
    struct estate *x = ctx;
    const struct claim *c = claim_of(o);
    const struct volume *v = estate_volume_of(x, c);
    const struct file_node *dir;
    const struct tree_entry *e;

    if (!v || v->source.kind == SOURCE_FLEX)
        return true;
    dir = estate_storage(x, v);
    if (!dir) {
        sim_fail(x->sim, "provisioner: claim %s has no directory any more", o->name);
        return false;
    }
    TAILQ_FOREACH(e, &dir->entries, link)
        if (strcmp(e->name, "elsewhere") != 0 && strcmp(e->name, o->uid) != 0)
            sim_fail(x->sim, "claim %s finds the data of %s, another", o->name, e->name);
    if (estate_record(x, o->uid)->has_data && !tree_find(dir, o->uid))
        sim_fail(x->sim, "claim %s has lost its data", o->name);
    return true;
}

/* Reads objects, files and mounts, and which claims have data: a record says so from the moment on at which
 * their file is made. Nothing else, so that it would find the same while none of these have changed. */
static void check_machine(struct estate *x)
{
    struct machine_place place;

    (void)objects_each(x->sim, KIND_CLAIM, check_storage, x);
    if (machine_find(x->machine, AT_FDCWD, KEPT, 0, &place, NULL) != 0)
        sim_fail(x->sim, "something outside of all volumes is deleted");
    for (unsigned i = 0; i < ESTATE_DISKS && x->has_local; i++) {
        struct file_node *dir = tree_make(x->machine->trees.items[0]->root, ESTATE_DISKS_DIR, S_IFDIR);
        struct file_node *bare = tree_find(dir, x->disks[i].name);

        if (!bare || !tree_find(bare, "below"))
            sim_fail(x->sim, "local: what is below the disk %s is deleted", x->disks[i].name);
    }
}

static void estate_check(void *ctx)
{
    struct estate *estate = ctx;

    estate_look_after_nodes(estate);
    if (sim_has_changed(estate->sim, &estate->checked))
        check_machine(estate);
}

/* --- The world --- */

/* What the machine mounts when it starts. */
static void on_reboot(void *ctx)
{
    struct estate *x = ctx;

    for (unsigned i = 0; i < ESTATE_DISKS; i++)
        estate_mount(x, i);
}

static void begin_machine(struct estate *x)
{
    struct file_node *root;
    char path[64];

    x->machine = machine_new(x->sim, "n0");
    root = x->machine->trees.items[0]->root;
    (void)tree_make(root, ESTATE_EXPORT, S_IFDIR | 0755);
    (void)tree_make(root, KEPT, S_IFREG | 0644);
    for (unsigned i = 0; i < ESTATE_DISKS; i++) {
        struct sim_disk *d = &x->disks[i];

        (void)snprintf(d->name, sizeof d->name, "d%u", i);
        (void)snprintf(path, sizeof path, "/dev/%s", d->name);
        d->bytes = (uint64_t)4 << 30;
        d->tree = tree_new("ext4", path, 100 + i);
        machine_attach_disk(x->machine, d);
        (void)snprintf(path, sizeof path, ESTATE_DISKS_DIR "/%s/below", d->name);
        (void)tree_make(root, path, S_IFREG | 0644);
        estate_mount(x, i);
    }
    x->machine->on_reboot = on_reboot;
    x->machine->ctx = x;
}

static void begin_planes(struct estate *x)
{
    static const struct local_class disks = { .name = "disks",
                                              .host_dir = ESTATE_DISKS_DIR,
                                              .mount_dir = ESTATE_DISKS_DIR,
                                              .mode = VOLUME_MODE_FILESYSTEM,
                                              .access_mode = "ReadWriteOnce",
                                              .fs_type = "",
                                              .name_pattern = "*",
                                              .selector = "" };
    struct daemon_settings *s = &x->daemon.settings;

    x->daemon.program = x->has_local ? &serve_program : &plane_program;
    x->daemon.host = "n0";
    s->provisioners.nfs[0] = (struct nfs_settings){ ESTATE_NFS, { "files", ESTATE_EXPORTED, ESTATE_EXPORT } };
    s->provisioners.nfs_count = 1;
    if (x->has_local) {
        s->data = "/var/lib/berth";
        s->node.name = "n0";
        s->provisioners.has_local = true;
        s->provisioners.local = (struct local_config){ .classes = &disks, .classes_count = 1 };
    } else {
        s->is_elected = true;
    }
    x->planes_count = x->has_local ? 1 : ESTATE_PLANES;
    for (unsigned i = 0; i < x->planes_count; i++)
        x->planes[i] = sim_spawn_on(x->machine, &sim_daemon_program, &x->daemon);
}

static void *estate_begin(struct sim *s)
{
    static const unsigned calms[] = { 4, 20, 60 };
    struct estate *x = sim_alloc(sizeof *x);

    x->sim = s;
    s->calm = calms[rng_below(&s->work, ARRAY_LEN(calms))];
    x->has_local = rng_chance(&s->work, 60);
    for (unsigned i = 0; i < ESTATE_NODES; i++)
        (void)snprintf(x->nodes[i].name, sizeof x->nodes[i].name, "n%u", i);
    store_watch(s->server.store, &x->watcher, KIND_COUNT, on_commit, NULL, x);
    begin_machine(x);
    estate_workload_begin(x);
    begin_planes(x);
    return x;
}

static void estate_work(void *ctx)
{
    struct estate *x = ctx;

    for (unsigned left = 1 + (unsigned)rng_below(&x->sim->work, 3); left > 0; left--)
        estate_workload_work(x);
}

static void estate_end(void *ctx)
{
    struct estate *x = ctx;

    store_unwatch(x->sim->server.store, &x->watcher);
    for (unsigned i = 0; i < ESTATE_DISKS; i++)
        x->disks[i].tree = tree_free(x->disks[i].tree);
    vec_done(&x->records);
    vec_done(&x->told);
    free(x);
}

const struct sim_scenario sim_scenario_controllers = { .name = "controllers",
                                                       .summary = "the small controllers, side by side",
                                                       .days = 8,
                                                       .is_sparing = true,
                                                       .second_steps_max = 20000,
                                                       .begin = estate_begin,
                                                       .work = estate_work,
                                                       .check = estate_check,
                                                       .settled = estate_settled,
                                                       .end = estate_end };
