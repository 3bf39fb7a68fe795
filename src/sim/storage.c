/* The storage backend.
 *
 * Invariants: an exclusive volume is attached to at most one node; a volume is never detached from a node
 * that has it mounted or is about to mount it, except by force. Effects of host operations may be late: of
 * two operations on the same volume and node only the newer one counts (`serials`). */
#include "sim/storage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine_rpc.h"
#include "sim/sim_world.h"

/* Device numbers of the disks: larger than those of machines, and different for two storages. */
#define DEV_FIRST 4096U

#define STORAGE_STAGE "/csi.v1.Node/NodeStageVolume"
#define STORAGE_PUBLISH "/csi.v1.Node/NodePublishVolume"

static void volume_init(struct sim_storage *storage, unsigned number, const char *name, uint64_t bytes,
                        bool is_exclusive)
{
    struct storage_volume *v = &storage->volumes[number];

    (void)snprintf(v->disk.name, sizeof v->disk.name, "%s", name);
    v->disk.bytes = v->fs_bytes = bytes;
    v->disk.tree = tree_new("ext4", name, DEV_FIRST + 32U * (unsigned char)storage->prefix + number);
    (void)snprintf(v->disk.tree->source, sizeof v->disk.tree->source, "/dev/%.48s", name);
    v->is_exclusive = is_exclusive;
}

void storage_init(struct sim_storage *storage, struct sim *s, char prefix, unsigned volumes)
{
    assert(volumes <= STORAGE_VOLUMES_MAX);
    *storage = (struct sim_storage){ .sim = s, .prefix = prefix, .count = volumes };
    for (unsigned i = 0; i < volumes; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%c%u", prefix, i);
        volume_init(storage, i, name, (uint64_t)1 << 30, i + 1 < volumes);
    }
}

struct storage_volume *storage_create(struct sim_storage *storage, const char *name, uint64_t bytes,
                                      bool is_exclusive)
{
    unsigned i = 0;

    while (i < storage->count && storage->volumes[i].disk.name[0])
        i++;
    if (i == STORAGE_VOLUMES_MAX)
        return NULL;
    storage->count = i == storage->count ? i + 1 : storage->count;
    volume_init(storage, i, name, bytes, is_exclusive);
    return &storage->volumes[i];
}

void storage_delete(struct sim_storage *storage, struct storage_volume *v)
{
    for (unsigned n = 0; n < storage->nodes; n++) {
        if (machine_mounts_disk(storage->machines[n], &v->disk)) {
            sim_fail(storage->sim, "%s is deleted while n%u has it mounted", v->disk.name, n);
            return; /* the mount refers to it */
        }
        if (v->is_attached[n])
            machine_detach_disk(storage->machines[n], &v->disk);
    }
    v->disk.tree = tree_free(v->disk.tree);
    *v = (struct storage_volume){ .is_exclusive = true };
}

void storage_done(struct sim_storage *storage)
{
    for (unsigned i = 0; i < storage->count; i++)
        storage->volumes[i].disk.tree = tree_free(storage->volumes[i].disk.tree);
}

unsigned storage_add_node(struct sim_storage *storage, struct machine *m)
{
    assert(storage->nodes < STORAGE_NODES_MAX);
    storage->machines[storage->nodes] = m;
    return storage->nodes++;
}

struct storage_volume *storage_find(struct sim_storage *storage, const char *name)
{
    for (unsigned i = 0; i < storage->count && name[0]; i++)
        if (strcmp(storage->volumes[i].disk.name, name) == 0)
            return &storage->volumes[i];
    return NULL;
}

static bool is_refused_to(const struct sim_storage *storage, unsigned node, const struct storage_volume *v)
{
    for (unsigned n = 0; n < storage->nodes; n++)
        if (n != node && v->is_exclusive && v->is_attached[n])
            return true;
    return false;
}

bool storage_attach(struct sim_storage *storage, unsigned node, struct storage_volume *v)
{
    if (is_refused_to(storage, node, v))
        return false;
    if (!v->is_attached[node]) {
        machine_attach_disk(storage->machines[node], &v->disk);
        v->is_reported[node] = v->is_forced[node] = false;
    }
    v->is_attached[node] = true;
    return true;
}

/* True if a call to the driver is pending that mounts the volume. */
static bool is_about_to_mount(const struct machine *m, const struct storage_volume *v)
{
    return machine_expects_call(m, STORAGE_STAGE, v->disk.name) ||
           machine_expects_call(m, STORAGE_PUBLISH, v->disk.name);
}

void storage_detach(struct sim_storage *storage, unsigned node, struct storage_volume *v)
{
    if (!v->is_attached[node])
        return;
    if (machine_mounts_disk(storage->machines[node], &v->disk) && !v->is_forced[node])
        sim_fail(storage->sim, "%s is detached from n%u, which has it mounted", v->disk.name, node);
    else if (is_about_to_mount(storage->machines[node], v) && !v->is_forced[node])
        sim_fail(storage->sim, "%s is detached from n%u, which is about to mount it", v->disk.name, node);
    machine_detach_disk(storage->machines[node], &v->disk);
    v->is_attached[node] = false;
}

void storage_attach_all(struct sim_storage *storage)
{
    for (unsigned i = 0; i < storage->count; i++)
        for (unsigned n = 0; n < storage->nodes; n++) {
            storage->volumes[i].is_exclusive = false;
            (void)storage_attach(storage, n, &storage->volumes[i]);
        }
}

/* --- Callbacks of the attacher and of the host --- */

static bool is_attached_to(void *ctx, unsigned node, unsigned volume)
{
    const struct sim_storage *storage = ctx;

    return storage->volumes[volume].is_attached[node];
}

static bool would_refuse(void *ctx, unsigned node, unsigned volume)
{
    const struct sim_storage *storage = ctx;

    return is_refused_to(storage, node, &storage->volumes[volume]);
}

static void name_op(void *ctx, unsigned node, unsigned volume, char to[static ATTACH_NAME_BYTES])
{
    struct sim_storage *storage = ctx;

    (void)snprintf(to, ATTACH_NAME_BYTES, "%u n%u %c%u", ++storage->serials, node, storage->prefix, volume);
}

/* Parses "SERIAL n1 d2". */
static struct storage_volume *parse_op_name(struct sim_storage *storage, const char *name,
                                            unsigned *ret_serial, unsigned *ret_node)
{
    struct str rest = str_of(name), serial = str_next(&rest, ' '), node = str_next(&rest, ' ');

    *ret_serial = (unsigned)strtoul(serial.s, NULL, 10);
    *ret_node = (unsigned)(node.s[1] - '0');
    assert(*ret_node < storage->nodes && rest.s[1] - '0' < (int)storage->count);
    return &storage->volumes[rest.s[1] - '0'];
}

static void on_begin(void *ctx, const char *what, const char *name)
{
    unsigned serial, node;
    struct storage_volume *v = parse_op_name(ctx, name, &serial, &node);

    (void)what;
    v->serials[node] = serial;
}

/* Ignores an operation that a newer one on the same volume and node has replaced. */
static void on_effect(void *ctx, const char *what, const char *name)
{
    struct sim_storage *storage = ctx;
    unsigned serial, node;
    struct storage_volume *v = parse_op_name(storage, name, &serial, &node);

    if (serial != v->serials[node])
        return;
    if (strcmp(what, ATTACH_DO) == 0)
        (void)storage_attach(storage, node, v);
    else
        storage_detach(storage, node, v);
}

struct sim_process *storage_spawn_attacher(struct sim_storage *storage, const char *finalizer)
{
    storage->attacher = (struct attach_driver_options){ .nodes = storage->nodes,
                                                        .volumes = storage->count,
                                                        .volume_prefix = storage->prefix,
                                                        .finalizer = finalizer,
                                                        .is_attached = is_attached_to,
                                                        .is_refused = would_refuse,
                                                        .name_op = name_op,
                                                        .ctx = storage };
    storage->sim->host.on_begin = on_begin;
    storage->sim->host.on_effect = on_effect;
    storage->sim->host.ctx = storage;
    return sim_spawn(storage->sim, &attach_driver_program, &storage->attacher);
}
