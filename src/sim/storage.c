#include "sim/storage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine_rpc.h"
#include "sim/sim_world.h"

/* Of the disks' file systems: far from those of machines, and different for two storages. */
#define DEV_FIRST 4096U

#define STORAGE_STAGE "/csi.v1.Node/NodeStageVolume"
#define STORAGE_PUBLISH "/csi.v1.Node/NodePublishVolume"

void storage_init(struct sim_storage *x, struct sim *s, char prefix, unsigned volumes)
{
    assert(volumes <= STORAGE_VOLUMES_MAX);
    *x = (struct sim_storage){ .sim = s, .prefix = prefix, .count = volumes };
    for (unsigned i = 0; i < volumes; i++) {
        struct storage_volume *v = &x->volumes[i];

        (void)snprintf(v->disk.name, sizeof v->disk.name, "%c%u", prefix, i);
        v->disk.bytes = v->fs_bytes = (uint64_t)1 << 30;
        v->disk.tree = tree_new("ext4", v->disk.name, DEV_FIRST + 16U * (unsigned char)prefix + i);
        (void)snprintf(v->disk.tree->source, sizeof v->disk.tree->source, "/dev/%s", v->disk.name);
        v->is_exclusive = i + 1 < volumes;
    }
}

void storage_done(struct sim_storage *x)
{
    for (unsigned i = 0; i < x->count; i++)
        x->volumes[i].disk.tree = tree_free(x->volumes[i].disk.tree);
}

unsigned storage_add_node(struct sim_storage *x, struct machine *m)
{
    assert(x->nodes < STORAGE_NODES_MAX);
    x->machines[x->nodes] = m;
    return x->nodes++;
}

struct storage_volume *storage_find(struct sim_storage *x, const char *name)
{
    for (unsigned i = 0; i < x->count; i++)
        if (strcmp(x->volumes[i].disk.name, name) == 0)
            return &x->volumes[i];
    return NULL;
}

static bool is_refused_to(const struct sim_storage *x, unsigned node, const struct storage_volume *v)
{
    for (unsigned n = 0; n < x->nodes; n++)
        if (n != node && v->is_exclusive && v->is_attached[n])
            return true;
    return false;
}

bool storage_attach(struct sim_storage *x, unsigned node, struct storage_volume *v)
{
    if (is_refused_to(x, node, v))
        return false;
    if (!v->is_attached[node]) {
        machine_attach_disk(x->machines[node], &v->disk);
        v->is_told[node] = v->is_forced[node] = false;
    }
    v->is_attached[node] = true;
    return true;
}

/* Its driver has been asked to. */
static bool is_about_to_mount(const struct machine *m, const struct storage_volume *v)
{
    return machine_expects_call(m, STORAGE_STAGE, v->disk.name) ||
           machine_expects_call(m, STORAGE_PUBLISH, v->disk.name);
}

void storage_detach(struct sim_storage *x, unsigned node, struct storage_volume *v)
{
    if (!v->is_attached[node])
        return;
    if (machine_mounts_disk(x->machines[node], &v->disk) && !v->is_forced[node])
        sim_fail(x->sim, "%s is detached from n%u, which has it mounted", v->disk.name, node);
    else if (is_about_to_mount(x->machines[node], v) && !v->is_forced[node])
        sim_fail(x->sim, "%s is detached from n%u, which is about to mount it", v->disk.name, node);
    machine_detach_disk(x->machines[node], &v->disk);
    v->is_attached[node] = false;
}

void storage_attach_all(struct sim_storage *x)
{
    for (unsigned i = 0; i < x->count; i++)
        for (unsigned n = 0; n < x->nodes; n++) {
            x->volumes[i].is_exclusive = false;
            (void)storage_attach(x, n, &x->volumes[i]);
        }
}

/* --- For the attacher --- */

static bool is_attached(void *ctx, unsigned node, unsigned volume)
{
    const struct sim_storage *x = ctx;

    return x->volumes[volume].is_attached[node];
}

static bool is_refused(void *ctx, unsigned node, unsigned volume)
{
    const struct sim_storage *x = ctx;

    return is_refused_to(x, node, &x->volumes[volume]);
}

static void name_op(void *ctx, unsigned node, unsigned volume, char to[static ATTACH_NAME_BYTES])
{
    struct sim_storage *x = ctx;

    (void)snprintf(to, ATTACH_NAME_BYTES, "%u n%u %c%u", ++x->serials, node, x->prefix, volume);
}

/* Of "SERIAL n1 d2". */
static struct storage_volume *parse(struct sim_storage *x, const char *name, unsigned *ret_serial,
                                    unsigned *ret_node)
{
    struct str rest = str_of(name), serial = str_next(&rest, ' '), node = str_next(&rest, ' ');

    *ret_serial = (unsigned)strtoul(serial.s, NULL, 10);
    *ret_node = (unsigned)(node.s[1] - '0');
    assert(*ret_node < x->nodes && rest.s[1] - '0' < (int)x->count);
    return &x->volumes[rest.s[1] - '0'];
}

static void on_begin(void *ctx, const char *what, const char *name)
{
    unsigned serial, node;
    struct storage_volume *v = parse(ctx, name, &serial, &node);

    (void)what;
    v->serials[node] = serial;
}

/* Of two operations about one volume and node the newer counts. */
static void on_effect(void *ctx, const char *what, const char *name)
{
    struct sim_storage *x = ctx;
    unsigned serial, node;
    struct storage_volume *v = parse(x, name, &serial, &node);

    if (serial != v->serials[node])
        return;
    if (strcmp(what, ATTACH_DO) == 0)
        (void)storage_attach(x, node, v);
    else
        storage_detach(x, node, v);
}

struct sim_process *storage_spawn_attacher(struct sim_storage *x, const char *finalizer)
{
    x->attacher = (struct attach_driver_options){ .nodes = x->nodes,
                                                  .volumes = x->count,
                                                  .volume_prefix = x->prefix,
                                                  .finalizer = finalizer,
                                                  .is_attached = is_attached,
                                                  .is_refused = is_refused,
                                                  .name_op = name_op,
                                                  .ctx = x };
    x->sim->host.on_begin = on_begin;
    x->sim->host.on_effect = on_effect;
    x->sim->host.ctx = x;
    return sim_spawn(x->sim, &attach_driver_program, &x->attacher);
}
