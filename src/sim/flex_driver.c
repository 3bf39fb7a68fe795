#include "sim/flex_driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "api/json_out.h"
#include "sim/sim_world.h"

#define EXECUTABLE "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/example.com~flex/flex"

/* One run of the program. */
struct flex_run {
    struct flex_program *program;
    const char *const *args; /* behind the command */
    struct buf *out;
};

/* One key besides the status, or none. */
static int say(const struct flex_run *x, const char *status, const char *key, const char *value)
{
    json_out_object(x->out, NULL);
    json_out_text(x->out, "status", status);
    if (key)
        json_out_text(x->out, key, value);
    json_out_end_object(x->out);
    return strcmp(status, "Failure") == 0;
}

static int succeed(const struct flex_run *x)
{
    return say(x, "Success", NULL, NULL);
}

static int refuse(const struct flex_run *x, const char *why)
{
    return say(x, "Failure", "message", why);
}

static int be_unable(const struct flex_run *x)
{
    return say(x, "Not supported", NULL, NULL);
}

static int tell_device(const struct flex_run *x, const struct storage_volume *v)
{
    char device[sizeof v->disk.name + 8];

    (void)snprintf(device, sizeof device, "/dev/%s", v->disk.name);
    return say(x, "Success", "device", device);
}

static void complain(const struct flex_run *x, const char *what, const char *about)
{
    sim_fail(x->program->storage->sim, "%s: flex: %s: %s", x->program->machine->name, about, what);
}

/* Of the options of a volume: "volume":"f0". */
static struct storage_volume *volume_of(const struct flex_run *x, const char *json)
{
    static const char key[] = "\"volume\":\"";
    const char *at = json ? strstr(json, key) : NULL;
    char name[8] = "";

    if (at)
        (void)sscanf(at + strlen(key), "%7[^\"]", name);
    return storage_find(x->program->storage, name);
}

/* False, and a complaint, for a node that there is not. */
static bool node_of(const struct flex_run *x, const char *name, unsigned *ret)
{
    if (name && attach_number(name, 'n', x->program->storage->nodes, ret))
        return true;
    complain(x, "there is no such node", name ? name : "");
    return false;
}

static bool is_at(const struct flex_run *x, const char *path, const struct file_tree **ret)
{
    struct machine_place at;

    if (machine_find(x->program->machine, AT_FDCWD, path, 0, &at, NULL) != 0 || at.node != at.mount->root)
        return false;
    *ret = at.mount->tree;
    return true;
}

/* --- Attaching: the machine of the controllers --- */

static int attach(const struct flex_run *x)
{
    struct storage_volume *v = volume_of(x, x->args[0]);
    unsigned node;

    if (!v || !node_of(x, x->args[1], &node))
        return refuse(x, "no such volume");
    if (!storage_attach(x->program->storage, node, v))
        return refuse(x, "another node has it");
    return tell_device(x, v);
}

static int detach(const struct flex_run *x)
{
    struct storage_volume *v = storage_find(x->program->storage, x->args[0]);
    unsigned node;

    if (!v || !node_of(x, x->args[1], &node))
        return refuse(x, "no such volume");
    storage_detach(x->program->storage, node, v);
    return succeed(x);
}

static int is_attached(const struct flex_run *x)
{
    const struct storage_volume *v = volume_of(x, x->args[0]);
    unsigned node;

    if (!v || !node_of(x, x->args[1], &node))
        return refuse(x, "no such volume");
    json_out_object(x->out, NULL);
    json_out_text(x->out, "status", "Success");
    json_out_bool(x->out, "attached", v->is_attached[node]);
    json_out_end_object(x->out);
    return 0;
}

/* --- Mounting: the nodes --- */

static int wait_for_attach(const struct flex_run *x)
{
    const struct storage_volume *v = volume_of(x, x->args[1]);

    if (!v || !machine_find_disk(x->program->machine, x->args[0]))
        return refuse(x, "the device is not there");
    return tell_device(x, v);
}

static int mount_disk(const struct flex_run *x, const char *dir, const char *json)
{
    const struct storage_volume *v = volume_of(x, json);
    const struct file_tree *now = NULL;
    char device[96];

    if (!v)
        return refuse(x, "no such volume");
    (void)snprintf(device, sizeof device, "/dev/%s", v->disk.name);
    if (!machine_find_disk(x->program->machine, device))
        complain(x, "it is to be mounted and is not attached", v->disk.name);
    if (is_at(x, dir, &now) && now == v->disk.tree)
        return succeed(x);
    if (now || machine_mount(x->program->machine, device, dir, "ext4", "rw") != 0)
        return refuse(x, "cannot mount");
    return succeed(x);
}

static int mount_device(const struct flex_run *x)
{
    if (!x->program->attaches || !x->program->mounts_devices)
        return be_unable(x);
    return mount_disk(x, x->args[0], x->args[2]);
}

static int mount_pod(const struct flex_run *x)
{
    return x->program->attaches ? be_unable(x) : mount_disk(x, x->args[0], x->args[1]);
}

struct count {
    const struct file_tree *tree;
    unsigned mounts;
};

static void count_mount(void *ctx, const char *path, const struct file_tree *t)
{
    struct count *c = ctx;

    (void)path;
    c->mounts += t == c->tree;
}

static int unmount(const struct flex_run *x)
{
    struct machine *m = x->program->machine;

    if (!is_at(x, x->args[0], &(const struct file_tree *){ NULL }))
        return succeed(x);
    return machine_unmount(m, x->args[0], 0) == 0 ? succeed(x) : refuse(x, "it is busy");
}

static int unmount_device(const struct flex_run *x)
{
    struct count c = { NULL, 0 };

    if (!x->program->mounts_devices)
        return be_unable(x);
    if (is_at(x, x->args[0], &c.tree))
        machine_each_mount(x->program->machine, count_mount, &c);
    if (c.mounts > 1)
        complain(x, "its device is unmounted while a pod has it", x->args[0]);
    return unmount(x);
}

static int unmount_pod(const struct flex_run *x)
{
    return x->program->attaches ? be_unable(x) : unmount(x);
}

/* --- Commands --- */

static int init(const struct flex_run *x)
{
    struct machine *m = x->program->machine;

    if (x->program->is_slow && sim_has_fault(m->sim, &m->rng, FAULT_HOST, 60))
        return refuse(x, "not yet");
    json_out_object(x->out, NULL);
    json_out_text(x->out, "status", "Success");
    json_out_object(x->out, "capabilities");
    json_out_bool(x->out, "attach", x->program->attaches);
    json_out_end_object(x->out);
    json_out_end_object(x->out);
    return 0;
}

static const struct {
    const char *name;
    unsigned args;
    int (*run)(const struct flex_run *x);
} commands[] = {
    { "init", 0, init },
    { "attach", 2, attach },
    { "detach", 2, detach },
    { "isattached", 2, is_attached },
    { "waitforattach", 2, wait_for_attach },
    { "mountdevice", 3, mount_device },
    { "unmountdevice", 1, unmount_device },
    { "mount", 2, mount_pod },
    { "unmount", 1, unmount_pod },
};

static int run(struct machine *m, void *ctx, const char *const *argv, const char *const *env,
               struct str input, struct buf *out)
{
    const struct flex_run x = { .program = ctx, .args = argv + 2, .out = out };
    unsigned args = 0;

    (void)m;
    (void)env;
    (void)input;
    while (argv[1] && argv[args + 2])
        args++;
    for (size_t i = 0; i < ARRAY_LEN(commands) && argv[1]; i++)
        if (strcmp(commands[i].name, argv[1]) == 0 && args >= commands[i].args)
            return commands[i].run(&x);
    return be_unable(&x);
}

void flex_program_install(struct flex_program *p)
{
    machine_add_program(p->machine, EXECUTABLE, run, p);
}
