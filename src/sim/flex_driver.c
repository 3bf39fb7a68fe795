/* The program of the FlexVolume driver model.
 *
 * Each run_*() function is one command: it writes a JSON result and returns the exit status. The program has
 * no state: the storage knows what is attached, and the mount table of the machine what is mounted, so
 * commands are idempotent. */
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
    const char *const *args; /* after the command */
    struct buf *out;
};

/* Writes the status, and one more key unless it is NULL. Returns the exit status. */
static int write_result(const struct flex_run *run, const char *status, const char *key, const char *value)
{
    json_out_object(run->out, NULL);
    json_out_text(run->out, "status", status);
    if (key)
        json_out_text(run->out, key, value);
    json_out_end_object(run->out);
    return strcmp(status, "Failure") == 0;
}

static int answer_success(const struct flex_run *run)
{
    return write_result(run, "Success", NULL, NULL);
}

static int answer_failure(const struct flex_run *run, const char *why)
{
    return write_result(run, "Failure", "message", why);
}

static int answer_unsupported(const struct flex_run *run)
{
    return write_result(run, "Not supported", NULL, NULL);
}

static int answer_device(const struct flex_run *run, const struct storage_volume *v)
{
    char device[sizeof v->disk.name + 8];

    (void)snprintf(device, sizeof device, "/dev/%s", v->disk.name);
    return write_result(run, "Success", "device", device);
}

static void report_violation(const struct flex_run *run, const char *what, const char *about)
{
    sim_fail(run->program->storage->sim, "%s: flex: %s: %s", run->program->machine->name, about, what);
}

/* Finds the volume that the options name: "volume":"f0". */
static struct storage_volume *find_volume(const struct flex_run *run, const char *json)
{
    static const char key[] = "\"volume\":\"";
    const char *at = json ? strstr(json, key) : NULL;
    char name[8] = "";

    if (at)
        (void)sscanf(at + strlen(key), "%7[^\"]", name);
    return storage_find(run->program->storage, name);
}

/* False, and the run fails, for an unknown node. */
static bool find_node(const struct flex_run *run, const char *name, unsigned *ret)
{
    if (name && attach_number(name, 'n', run->program->storage->nodes, ret))
        return true;
    report_violation(run, "there is no such node", name ? name : "");
    return false;
}

static bool find_mounted(const struct flex_run *run, const char *path, const struct file_tree **ret)
{
    struct machine_place at;

    if (machine_find(run->program->machine, AT_FDCWD, path, 0, &at, NULL) != 0 || at.node != at.mount->root)
        return false;
    *ret = at.mount->tree;
    return true;
}

/* --- Attach and detach: on the machine of the controllers --- */

static int run_attach(const struct flex_run *run)
{
    struct storage_volume *v = find_volume(run, run->args[0]);
    unsigned node;

    if (!v || !find_node(run, run->args[1], &node))
        return answer_failure(run, "no such volume");
    if (!storage_attach(run->program->storage, node, v))
        return answer_failure(run, "another node has it");
    return answer_device(run, v);
}

static int run_detach(const struct flex_run *run)
{
    struct storage_volume *v = storage_find(run->program->storage, run->args[0]);
    unsigned node;

    if (!v || !find_node(run, run->args[1], &node))
        return answer_failure(run, "no such volume");
    storage_detach(run->program->storage, node, v);
    return answer_success(run);
}

static int run_is_attached(const struct flex_run *run)
{
    const struct storage_volume *v = find_volume(run, run->args[0]);
    unsigned node;

    if (!v || !find_node(run, run->args[1], &node))
        return answer_failure(run, "no such volume");
    json_out_object(run->out, NULL);
    json_out_text(run->out, "status", "Success");
    json_out_bool(run->out, "attached", v->is_attached[node]);
    json_out_end_object(run->out);
    return 0;
}

/* --- Mount and unmount: on the nodes --- */

static int run_wait_for_attach(const struct flex_run *run)
{
    const struct storage_volume *v = find_volume(run, run->args[1]);

    if (!v || !machine_find_disk(run->program->machine, run->args[0]))
        return answer_failure(run, "the device does not exist");
    return answer_device(run, v);
}

static int mount_disk(const struct flex_run *run, const char *dir, const char *json)
{
    const struct storage_volume *v = find_volume(run, json);
    const struct file_tree *now = NULL;
    char device[96];

    if (!v)
        return answer_failure(run, "no such volume");
    (void)snprintf(device, sizeof device, "/dev/%s", v->disk.name);
    if (!machine_find_disk(run->program->machine, device))
        report_violation(run, "it is mounted and not attached", v->disk.name);
    if (find_mounted(run, dir, &now) && now == v->disk.tree)
        return answer_success(run);
    if (now || machine_mount(run->program->machine, device, dir, "ext4", "rw") != 0)
        return answer_failure(run, "cannot mount");
    return answer_success(run);
}

static int run_mount_device(const struct flex_run *run)
{
    if (!run->program->attaches || !run->program->mounts_devices)
        return answer_unsupported(run);
    return mount_disk(run, run->args[0], run->args[2]);
}

static int run_mount(const struct flex_run *run)
{
    return run->program->attaches ? answer_unsupported(run) : mount_disk(run, run->args[0], run->args[1]);
}

struct tree_mounts {
    const struct file_tree *tree;
    unsigned mounts;
};

static void count_mount(void *ctx, const char *path, const struct file_tree *t)
{
    struct tree_mounts *c = ctx;

    (void)path;
    c->mounts += t == c->tree;
}

static int unmount_path(const struct flex_run *run)
{
    struct machine *m = run->program->machine;

    if (!find_mounted(run, run->args[0], &(const struct file_tree *){ NULL }))
        return answer_success(run);
    return machine_unmount(m, run->args[0], 0) == 0 ? answer_success(run) : answer_failure(run, "it is busy");
}

static int run_unmount_device(const struct flex_run *run)
{
    struct tree_mounts c = { NULL, 0 };

    if (!run->program->mounts_devices)
        return answer_unsupported(run);
    if (find_mounted(run, run->args[0], &c.tree))
        machine_each_mount(run->program->machine, count_mount, &c);
    if (c.mounts > 1)
        report_violation(run, "its device is unmounted while a pod uses it", run->args[0]);
    return unmount_path(run);
}

static int run_unmount(const struct flex_run *run)
{
    return run->program->attaches ? answer_unsupported(run) : unmount_path(run);
}

/* --- Commands --- */

static int run_init(const struct flex_run *run)
{
    struct machine *m = run->program->machine;

    if (run->program->is_slow && sim_has_fault(m->sim, &m->rng, FAULT_HOST, 60))
        return answer_failure(run, "not yet");
    json_out_object(run->out, NULL);
    json_out_text(run->out, "status", "Success");
    json_out_object(run->out, "capabilities");
    json_out_bool(run->out, "attach", run->program->attaches);
    json_out_end_object(run->out);
    json_out_end_object(run->out);
    return 0;
}

static const struct {
    const char *name;
    unsigned args;
    int (*run)(const struct flex_run *run);
} commands[] = {
    { "init", 0, run_init },
    { "attach", 2, run_attach },
    { "detach", 2, run_detach },
    { "isattached", 2, run_is_attached },
    { "waitforattach", 2, run_wait_for_attach },
    { "mountdevice", 3, run_mount_device },
    { "unmountdevice", 1, run_unmount_device },
    { "mount", 2, run_mount },
    { "unmount", 1, run_unmount },
};

static int run_command(struct machine *m, void *ctx, const char *const *argv, const char *const *env,
                       struct str input, struct buf *out)
{
    const struct flex_run run = { .program = ctx, .args = argv + 2, .out = out };
    unsigned args = 0;

    (void)m;
    (void)env;
    (void)input;
    while (argv[1] && argv[args + 2])
        args++;
    for (size_t i = 0; i < ARRAY_LEN(commands) && argv[1]; i++)
        if (strcmp(commands[i].name, argv[1]) == 0 && args >= commands[i].args)
            return commands[i].run(&run);
    return answer_unsupported(&run);
}

void flex_program_install(struct flex_program *p)
{
    machine_add_program(p->machine, EXECUTABLE, run_command, p);
}
