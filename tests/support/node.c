/* The bodies of what tests/unit/test_node.h declares. */
#include "tests/unit/test_node.h"

#include "rpc/rpc.h"

/* --- The scripted plugin --- */

struct disk disk = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Logs the call; its failure, if one is due. */
static int disk_call(const char *slot, const char *what, bool *ret_does, struct error *e)
{
    int r = 0;

    *ret_does = true;
    pthread_mutex_lock(&disk.lock);
    buf_addf(&disk.log, "%s %s\n", slot, what);
    for (unsigned i = 0; i < disk.fails_count && r == 0; i++) {
        struct slot_failure *f = &disk.fails[i];

        if (f->times == 0 || strcmp(f->slot, slot) != 0)
            continue;
        if (f->spared > 0) {
            f->spared--;
            continue;
        }
        f->times--;
        *ret_does = f->is_done;
        r = error_set(e, f->code, "%s", f->words);
    }
    pthread_mutex_unlock(&disk.lock);
    return r;
}

void disk_fails(const char *slot, unsigned times, enum err code, const char *words)
{
    assert_true(disk.fails_count < SLOT_FAILS_MAX);
    disk.fails[disk.fails_count++] = (struct slot_failure){ slot, code, words, times, false, 0 };
}

static bool disk_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    struct volume_source source = spec_source(s);

    (void)self;
    return source.kind == SOURCE_FLEX && strcmp(source.flex->driver, DISK) == 0;
}

static int disk_volume_name(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                            struct error *e)
{
    (void)self;
    buf_add_cstr(ret, spec_name(s));
    return buf_check(ret, "name", e);
}

static int disk_path(const struct volume_plugin *self, const char *root, const char *pod_uid,
                     const char *name, const struct volume_spec *spec, char ret[PATH_MAX], struct error *e)
{
    (void)spec;
    return layout_pod_path(root, pod_uid, "volumes", self->name, name, ret, e);
}

static struct mount_attributes disk_attributes(const struct volume_plugin *self,
                                               const struct volume_spec *spec)
{
    (void)self;
    return (struct mount_attributes){ .is_read_only = spec->is_read_only, .is_managed = !spec->is_read_only };
}

/* Makes it, and mounts something there if the test wants that. */
static int disk_make(const char *path, struct error *e)
{
    enum host_path_state state = HOST_PATH_MISSING;
    int r = host_make_path(path, 0755, e);

    if (r == 0 && disk.mounts)
        r = host_path_state(path, &state, e);
    if (r == 0 && disk.mounts && state != HOST_PATH_MOUNTED && mount("t", path, "tmpfs", 0, "size=1m") < 0)
        r = error_set_errno(e, errno, "cannot mount at '%s'", path);
    return r;
}

static int disk_take_away(const char *path, struct error *e)
{
    return host_clean_mount_point(&(struct host_tools){ 0 }, path, /* limit_ns= */ 0, e);
}

static int disk_set_up(const struct volume_plugin *self, const struct volume_env *env,
                       const struct set_up_request *q, struct error *e)
{
    char what[1024], path[PATH_MAX];
    struct error ignored;
    bool does;
    int r;

    (void)snprintf(what, sizeof what, "%s %s%s", spec_name(&q->spec), q->pod->obj.name,
                   q->is_remount ? " again" : "");
    r = disk_call("set-up", what, &does, e);
    if (!does || disk_path(self, env->root, q->pod->obj.uid, spec_name(&q->spec), NULL, path, &ignored) < 0)
        return r;
    if (r < 0)
        (void)disk_make(path, &ignored);
    return r < 0 ? r : disk_make(path, e);
}

static int disk_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                          const char *pod_uid, struct error *e)
{
    char path[PATH_MAX];
    struct error ignored;
    bool does;
    int r = disk_call("tear-down", name, &does, e);

    if (!does || disk_path(self, env->root, pod_uid, name, NULL, path, &ignored) < 0)
        return r;
    if (r < 0)
        (void)disk_take_away(path, &ignored);
    return r < 0 ? r : disk_take_away(path, e);
}

static bool disk_can_mount(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return disk.has_device;
}

static int disk_mount_path(const struct volume_plugin *self, const struct volume_env *env,
                           const struct volume_spec *s, char ret[PATH_MAX], struct error *e)
{
    char rest[PATH_MAX];

    (void)snprintf(rest, sizeof rest, "%s/mounts/%s", self->name, spec_name(s)); /* where a driver's are */
    return layout_plugin_path(env->root, "kubernetes.io/flexvolume", rest, ret, e);
}

static int disk_mount_device(const struct volume_plugin *self, const struct volume_env *env,
                             const struct device_request *q, enum format_failure *ret_why, struct error *e)
{
    char what[1024];
    struct error ignored;
    bool does;
    int r;

    (void)self;
    (void)env;
    *ret_why = FORMAT_OK;
    (void)snprintf(what, sizeof what, "%s %s", spec_name(&q->spec), q->device_path);
    r = disk_call("mount-device", what, &does, e);
    if (r == -ERR_INVALID)
        *ret_why = FORMAT_MISMATCH;
    if (does && r < 0)
        (void)disk_make(q->mount_path, &ignored);
    return r < 0 ? r : disk_make(q->mount_path, e);
}

static int disk_unmount_device(const struct volume_plugin *self, const struct volume_env *env,
                               const char *mount_path, struct error *e)
{
    const char *name = strrchr(mount_path, '/') + 1;
    struct error ignored;
    bool does;
    int r = disk_call("unmount-device", name, &does, e);

    (void)self;
    (void)env;
    if (does && r < 0)
        (void)disk_take_away(mount_path, &ignored);
    return r < 0 ? r : disk_take_away(mount_path, e);
}

static bool disk_can_attach(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return disk.is_attachable;
}

static int disk_attach(const struct volume_plugin *self, const struct volume_env *env,
                       const struct volume_spec *s, const char *node, char *ret_device, struct error *e)
{
    bool does;
    int r = disk_call("attach", spec_name(s), &does, e);

    (void)self;
    (void)env;
    (void)node;
    (void)snprintf(ret_device, PATH_MAX, "/dev/test-%s", spec_name(s));
    return r;
}

static int disk_detach(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                       const char *node, struct error *e)
{
    bool does;

    (void)self;
    (void)env;
    (void)node;
    return disk_call("detach", volume, &does, e);
}

static int disk_wait(const struct volume_plugin *self, const struct volume_env *env,
                     const struct volume_spec *s, const char *device, uint64_t limit_ns, char *ret_device,
                     struct error *e)
{
    bool does;
    int r = disk_call("wait", spec_name(s), &does, e);

    (void)self;
    (void)env;
    (void)limit_ns;
    (void)snprintf(ret_device, PATH_MAX, "%s", device);
    return r;
}

static int disk_reconstruct(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                            const char *pod_uid, bool is_block, struct object **ret, struct error *e)
{
    static const char text[] = "\"flexVolume\":{\"driver\":\"" DISK "\"}";
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(sizeof text);
    bool does;
    int r = disk_call("reconstruct", name, &does, e);

    (void)self;
    (void)env;
    (void)pod_uid;
    buf_add_cstr(&source, text);
    return r < 0 ? r : reconstruct_volume(name, &source, is_block, ret, e);
}

static int disk_reconstruct_device(const struct volume_plugin *self, const struct volume_env *env,
                                   const char *mount_path, struct object **ret, struct error *e)
{
    return disk_reconstruct(self, env, strrchr(mount_path, '/') + 1, NULL, /* is_block= */ false, ret, e);
}

static int disk_grow(const struct volume_plugin *self, const struct volume_env *env,
                     const struct expand_request *q, bool *ret_done, struct error *e)
{
    char what[1024];
    bool does;

    (void)self;
    (void)env;
    (void)snprintf(what, sizeof what, "%s %llu", spec_name(&q->spec), (unsigned long long)q->new_bytes);
    *ret_done = true;
    return disk_call("grow", what, &does, e);
}

static const struct pod_table disk_pods = {
    .path = disk_path, .attributes = disk_attributes, .set_up = disk_set_up, .tear_down = disk_tear_down
};
static const struct device_table disk_devices = { .can_mount = disk_can_mount,
                                                  .mount_path = disk_mount_path,
                                                  .mount = disk_mount_device,
                                                  .unmount = disk_unmount_device,
                                                  .reconstruct = disk_reconstruct_device };
static const struct attach_table disk_attaches = {
    .can_attach = disk_can_attach, .attach = disk_attach, .detach = disk_detach, .wait = disk_wait
};
static const struct expand_table disk_expands = { .needs_fs_resize = true, .expand_on_node = disk_grow };

struct volume_plugin disk_plugin = { .name = DISK,
                                     .can_support = disk_can_support,
                                     .volume_name = disk_volume_name,
                                     .reconstruct = disk_reconstruct,
                                     .access_modes = 15,
                                     .pods = &disk_pods,
                                     .devices = &disk_devices,
                                     .attach = &disk_attaches,
                                     .expand = &disk_expands };

/* --- The bench --- */

struct node_bench bench;

static int bench_make(const struct component_deps *o, void **ret, struct error *e)
{
    static const struct volume_plugin *all[32];
    struct agent_options a = bench.o;
    struct agent *agent;
    size_t n = 0;
    int r;

    for (; plugins_of_node[n]; n++)
        all[n] = plugins_of_node[n];
    disk_plugin.requires_remount = disk.requires_remount;
    all[n] = &disk_plugin;
    all[n + 1] = NULL;
    ASSERT_OK(pool_new(o->loop, 4, 256, &bench.pool, &err));
    ASSERT_OK(registry_new(all, NULL, &bench.plugins, &err));
    ASSERT_OK(rpc_client_new(o->loop, &bench.rpc, &err));
    a.part = *o;
    a.pool = bench.pool;
    a.rpc = bench.rpc;
    a.plugins = bench.plugins;
    a.name = NODE;
    a.root = bench.root;
    r = agent_new(&a, &agent, e);
    if (r == 0)
        *ret = agent;
    return r;
}

static void bench_start_part(void *part)
{
    agent_start(part);
}

static void bench_free_part(void *part)
{
    (void)agent_free(part);
    rpc_client_close(bench.rpc); /* workers may wait for a driver */
    bench.plugins = registry_free(bench.plugins);
    bench.pool = pool_free(bench.pool);
    bench.rpc = rpc_client_free(bench.rpc);
}

const struct part_type bench_type = { bench_make, bench_start_part, bench_free_part };

const char *bench_complaint(const char *volume)
{
    struct operation_state s;

    return operations_inspect(bench_agent()->ops, &(struct operation_key){ volume, "", "" }, &s) && s.failures
               ? s.message
               : NULL;
}

struct agent *bench_agent(void)
{
    return bench.w.part;
}

void bench_drain(void)
{
    while (bench.is_calling && (!pool_is_idle(bench.pool) || bench.is_calling()))
        loop_run_once(bench.w.served.loop);
    pool_drain(bench.pool);
}

void pass(unsigned seconds)
{
    for (unsigned i = 0; i <= seconds; i++) {
        parts_pass_ns(&bench.w, i ? NS_PER_S : 0);
        for (unsigned n = 0; n < 12; n++) { /* one job leads to the next */
            bench_drain();
            parts_rest(&bench.w);
        }
    }
}

void bench_open(void)
{
    disk.fails_count = 0;
    disk.log = BUF_INIT((size_t)1 << 20);
    bench.d = mounts_dir_new();
    (void)snprintf(bench.root, sizeof bench.root, "%s/root", bench.d->path);
    parts_init(&bench.w, &bench_type);
    pass(1);
}

void bench_close(void)
{
    parts_done(&bench.w);
    buf_done(&disk.log);
    bench.d = mounts_dir_free(bench.d);
    memset(&bench, 0, sizeof bench);
    disk.is_attachable = disk.has_device = disk.requires_remount = disk.grows = disk.mounts = false;
}

void bench_kill(void)
{
    process_kill(&bench.w);
}

void bench_revive(void)
{
    process_start(&bench.w);
    pass(2);
}

void bench_restart(void)
{
    bench_kill();
    bench_revive();
}

/* --- Objects --- */

void put_disk_as(const char *name, const char *size, const char *mode, const char *more)
{
    char body[2048], path[256], uid[64];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'accessModes':['%s'],'storageClassName':'',"
                   "'volumeName':'%s','resources':{'requests':{'storage':'%s'}}}}",
                   name, mode, name, size);
    ASSERT_SENT(&bench.w.served, 201, "POST", CLAIMS, body);
    (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
    (void)snprintf(path, sizeof path, CLAIMS "/%s/status", name);
    (void)snprintf(body, sizeof body, "{'status':{'phase':'Bound','capacity':{'storage':'%s'}}}", size);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", path, body);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'capacity':{'storage':'%s'},'accessModes':["
                   "'%s'],'flexVolume':{'driver':'" DISK "'},'claimRef':{'namespace':'default','name':'%s',"
                   "'uid':'%s'}%s}}",
                   name, size, mode, name, uid, more);
    ASSERT_SENT(&bench.w.served, 201, "POST", VOLUMES, body);
}

void put_disk(const char *name, const char *size, const char *more)
{
    put_disk_as(name, size, "ReadWriteOnce", more);
}

void put_pod(const char *name, const char *volumes, const char *mounts, char *ret_uid)
{
    char body[4096];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'nodeName':'" NODE
                   "','containers':[{'name':'c','image':"
                   "'i'%s%s}],'volumes':[%s]}}",
                   name, mounts[0] ? "," : "", mounts, volumes);
    ASSERT_SENT(&bench.w.served, 201, "POST", PODS, body);
    if (ret_uid)
        (void)snprintf(ret_uid, 64, "%s", got(&bench.w.served, "metadata/uid"));
}

void put_disk_pod(const char *name, const char *claim, char *ret_uid)
{
    char volumes[512];

    (void)snprintf(volumes, sizeof volumes, "{'name':'v','persistentVolumeClaim':{'claimName':'%s'}}", claim);
    put_pod(name, volumes, "'volumeMounts':[{'name':'v','mountPath':'/v'}]", ret_uid);
}

void report_attached(const char *name)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'status':{'volumesAttached':[{'name':'" DISK "/%s','devicePath':'/dev/test'}]}}", name);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", body);
}

struct node_mount *bench_mount(const char *volume, const char *pod_uid)
{
    char name[512];
    struct node_volume *v;

    (void)snprintf(name, sizeof name, DISK "/%s", volume);
    v = node_world_find_volume(&bench_agent()->world, name);
    if (!v) {
        (void)snprintf(name, sizeof name, DISK "/%s-%s", pod_uid, volume);
        v = node_world_find_volume(&bench_agent()->world, name);
    }
    return v ? node_world_find_mount(v, pod_uid) : NULL;
}

unsigned count_reason(const char *reason)
{
    unsigned found = 0;

    ASSERT_SENT(&bench.w.served, 200, "GET", EVENTS, NULL);
    for (uint32_t i = 0; i < got_items(&bench.w.served); i++) {
        const struct json *d = &bench.w.served.doc;
        json_ref e = json_at(d, json_get(d, bench.w.served.root, "items"), i);

        found += json_is_string(d, json_get(d, e, "reason"), reason);
    }
    return found;
}
