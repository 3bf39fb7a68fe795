/* Mounts a volume for a pod: waits for its attachment, mounts the device once per node, sets the volume up
 * for the pod, and expands it if its claim was expanded. Raw block volumes are mapped instead of mounted. */
#include "node/volume_ops.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutant.h"
#include "host/mount_syscall.h"
#include "host/safe_path.h"

#define ATTACH_WAIT_NS (600 * NS_PER_S)

#define FAILED_MOUNT "FailedMount"
#define FAILED_MAP "FailedMapVolume"

/* --- On the worker --- */

static int stage_wait_for_attach(struct stage *s, struct error *err)
{
    const struct attach_table *t = s->plugin->attach;
    char device[PATH_MAX] = "";
    int r;

    if (!s->waits_for_attach || !t->wait)
        return 0;
    s->step = s->is_block ? STEP_MAP_WAIT_FOR_ATTACH : STEP_WAIT_FOR_ATTACH;
    r = t->wait(s->plugin, &s->env, &s->spec.spec, s->device_path, ATTACH_WAIT_NS, device, err);
    if (r == 0 && device[0])
        memcpy(s->device_path, device, sizeof device);
    return r;
}

/* A plugin need not create a mount: a driver may create a plain directory. */
static void note_mount_point(struct stage *s, const char *path)
{
    enum host_path_state state = HOST_PATH_MISSING;
    struct error ignored; /* a later check would fail in the same way */
    bool is_known = host_path_is_below(path, s->env.root) && host_path_state(path, &state, &ignored) == 0;

    /* A dead mount returns the error again; a disk with a transient error does not. A plain directory that
     * was recorded as a mount point would be reported as lost forever. */
    if (is_known && state == HOST_PATH_CORRUPTED)
        is_known = host_path_state(path, &state, &ignored) == 0;
    s->is_mount_point = is_known && (state == HOST_PATH_MOUNTED || state == HOST_PATH_CORRUPTED);
    s->is_there = is_known && state != HOST_PATH_MISSING;
    s->is_gone = is_known && !s->is_there;
}

static int check_mounted(const struct stage *s, struct error *err)
{
    if (!s->must_mount || s->is_mount_point)
        return 0;
    return error_set(err, ERR_IO, "the plugin reported success, but '%s' is not a mount point",
                     s->mount_path);
}

static int stage_device(struct stage *s, struct error *err)
{
    const struct device_table *t = s->plugin->devices;
    struct device_request q = {
        .spec = s->spec.spec, .device_path = s->device_path, .mount_path = s->mount_path, .csi = stage_csi(s)
    };
    int r = plugin_check_name(s->plugin, &s->env, &s->spec.spec, err);

    if (r == 0)
        r = stage_wait_for_attach(s, err);
    if (r < 0 || !s->mounts_device)
        return r;
    s->step = STEP_DEVICE_MOUNT_PATH;
    r = t->mount_path(s->plugin, &s->env, &s->spec.spec, s->mount_path, err);
    if (r < 0)
        return r;
    s->step = STEP_MOUNT_DEVICE;
    r = t->mount(s->plugin, &s->env, &q, &s->why, err);
    note_mount_point(s, s->mount_path);
    return r < 0 ? r : check_mounted(s, err);
}

static int call_set_up(struct stage *s, struct error *err)
{
    struct error ignored;
    int r = s->plugin->pods->set_up(s->plugin, &s->env, &s->request, err);

    if (r == 0 && s->resizes && s->bytes > 0)
        r = s->plugin->resize->resize(&s->env, &s->spec.spec, pod_of(s->pod), s->bytes, err);
    if (s->plugin->pods->path(s->plugin, s->env.root, s->pod_uid, s->name, &s->spec.spec, s->mount_path,
                              &ignored) < 0)
        s->mount_path[0] = '\0';
    note_mount_point(s, s->mount_path); /* also after a failure, since leftovers must be unmounted */
    return r;
}

/* A driver that relies on its own records may report success although nothing is mounted any more. Tears the
 * volume down and sets it up again. */
static int stage_set_up(struct stage *s, struct error *err)
{
    int r;

    s->request.contents = s->fetch.items;
    s->request.contents_count = s->fetch.count;
    s->request.csi = stage_csi(s);
    r = call_set_up(s, err);
    if (r == 0 && s->must_mount && !s->is_mount_point) {
        r = s->plugin->pods->tear_down(s->plugin, &s->env, s->name, s->pod_uid, err);
        if (r == 0)
            r = call_set_up(s, err);
    }
    return r < 0 ? r : check_mounted(s, err);
}

static struct block_request block_request_of(const struct stage *s)
{
    return (struct block_request){ .spec = s->spec.spec, .pod = pod_of(s->pod), .csi = stage_csi(s) };
}

/* For plugins whose drivers stage the device on the node first. */
static int stage_map_device(struct stage *s, struct error *err)
{
    struct block_request q = block_request_of(s);
    int r = stage_wait_for_attach(s, err);

    if (r < 0)
        return r;
    s->step = STEP_SET_UP_DEVICE;
    return s->plugin->block->stage(s->plugin, &s->env, &q, err);
}

/* After a failure it is unknown whether the bind mount, the link or the lock exists. */
static int stage_map(struct stage *s, struct error *err)
{
    const struct block_table *t = s->plugin->block;
    struct block_request q = block_request_of(s);
    char device[PATH_MAX], loop_device[PATH_MAX];
    int r = stage_wait_for_attach(s, err);

    if (r < 0)
        return r;
    s->step = STEP_MAP_POD_DEVICE;
    r = t->publish ? t->publish(s->plugin, &s->env, &q, device, err)
                   : t->map(s->plugin, &s->env, &s->spec.spec, s->device_path, device, err);
    if (r < 0)
        return r;
    memcpy(s->device_path, device, sizeof device);
    s->step = STEP_MAP_BLOCK;
    return block_map(&s->env, s->device_path, &s->block, loop_device, err);
}

/* --- Results --- */

static void note_mismatch(const struct node_op *op, const struct stage *s, const struct error *err)
{
    const struct volume *v = spec_persistent(&s->spec.spec);

    if (s->why == FORMAT_MISMATCH && v)
        recorder_event(op->agent->recorder, &v->obj, EVENT_WARNING, "FailedMountOnFilesystemMismatch",
                       "MountVolume failed for volume \"%s\" %s", s->name, err->msg);
}

static void observe_overall(const struct node_op *op)
{
    struct agent *a = op->agent;
    double seconds = (double)(loop_now_ns(a->o.part.loop) - op->mount->wanted_ns) / NS_PER_S;

    if (a->operation_seconds && !op->is_remount)
        metric_observe(metric_of(a->operation_seconds, op->volume->plugin->name, "overall_volume_mount",
                                 PART_SUCCESS, op->mount->wanted.spec.is_migrated ? "true" : "false"),
                       seconds);
}

static void mark_mounted(struct node_op *op)
{
    struct node_mount *m = op->mount;

    mount_set_state(m, MOUNT_EVENT_SET_UP);
    m->is_found = false;
    op->volume->is_found = false;
    observe_overall(op);
    node_op_end(op, 0, NULL);
}

static void on_grown(void *ctx, enum expand_end end, const struct error *err)
{
    struct node_op *op = ctx;

    op->expand = NULL;
    if (end == EXPAND_FAILED) {
        mount_set_state(op->mount, MOUNT_EVENT_SET_UP_IN_PART);
        node_op_fail(op, op->mount->was_block ? FAILED_MAP : FAILED_MOUNT,
                     op->mount->was_block ? "MapVolume.MarkVolumeAsMounted failed while expanding volume"
                                          : "MountVolume.Setup failed while expanding volume",
                     -(int)err->code, err);
        return;
    }
    mark_mounted(op);
}

/* The volume is usable; it may still have to be expanded. */
static void mount_op_finish(struct node_op *op)
{
    struct error err;

    if (op->is_remount || !expand_is_due(op->mount)) {
        mark_mounted(op);
        return;
    }
    op->expand = expand_begin(op->agent, op->mount, /* in_use= */ false, on_grown, op);
    if (!op->expand) {
        mount_set_state(op->mount, MOUNT_EVENT_SET_UP_IN_PART);
        node_op_end(op, error_no_memory(&err), &err);
    }
}

static void remember_spec(struct node_mount *m, const struct stage *s)
{
    held_spec_copy(&m->spec, &s->spec);
    held_spec_copy(&m->volume->spec, &s->spec);
    m->was_block = s->is_block;
    m->held_group = m->group;
    m->held_bytes = s->bytes;
}

static void remember_mount_point(struct node_mount *m, const struct stage *s, const char *path)
{
    node_world_set_text(&m->mount_point, s->is_mount_point ? path : "");
    m->snapshot_number = m->pod->agent->snapshots_begun;
}

/* A plugin that fails may leave files or mounts behind. */
static enum mount_event event_of_failure(const struct stage *s, int r, enum mount_state state, bool is_found)
{
    enum mount_event e = mount_event_of_failure(r, is_found);

    return e == MOUNT_EVENT_SET_UP_FAILED && s->is_there && state != MOUNT_DONE &&
                   !MUTANT("node-forgets-half-mounts")
               ? MOUNT_EVENT_SET_UP_IN_PART
               : e;
}

/* The plugin may have removed a mount from before a restart, which the pod's state file still reports. */
static void note_lost(struct node_mount *m, int r, bool is_lost)
{
    if (is_lost || (m->is_found && r != -ERR_UNAVAILABLE))
        m->pod->life.has_lost_mount = true;
}

static void on_set_up(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    struct node_mount *m = op->mount;

    remember_spec(m, s);
    if (r < 0) {
        /* No pod gets a partial volume: the plugin has removed it. */
        bool is_lost = m->state == MOUNT_DONE &&
                       (s->is_gone || (m->mount_point[0] && s->is_there && !s->is_mount_point));

        mount_set_state(m, is_lost ? MOUNT_EVENT_LOST : event_of_failure(s, r, m->state, m->is_found));
        m->needs_remount = op->is_remount && !is_lost;
        note_lost(m, r, is_lost);
        pod_life_sync(m->pod);
        note_mismatch(op, s, err);
        node_op_fail(op, FAILED_MOUNT, "MountVolume.SetUp failed", r, err);
        return;
    }
    if (s->mount_path[0])
        node_world_set_text(&m->path, s->mount_path);
    remember_mount_point(m, s, s->mount_path);
    mount_op_finish(op);
}

static void on_mapped(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    struct node_mount *m = op->mount;
    struct agent *a = op->agent;
    char dir[PATH_MAX];

    if (stage_has_touched(s)) {
        volume_set_device(op->volume, MOUNT_EVENT_SET_UP);
        op->volume->device_is_mount_point = false; /* a directory of binds */
        node_world_set_text(&op->volume->device_mount_path, s->block.global_dir);
        node_world_set_text(&op->volume->device_path, s->device_path);
        remember_spec(m, s);
    }
    if (r < 0) {
        if (stage_has_touched(s)) {
            mount_set_state(m, MOUNT_EVENT_SET_UP_IN_PART);
        } else if (s->plugin->block->publish) {
            /* The driver may still be working, and an earlier attempt may have left the bind mount. */
            remember_spec(m, s);
            mount_set_state(m, mount_event_of_failure(r, m->is_found || m->state == MOUNT_UNCERTAIN));
        }
        note_lost(m, r, /* is_lost= */ false);
        pod_life_sync(m->pod);
        node_op_fail(op, FAILED_MAP, stage_prefix(s), r, err);
        return;
    }
    node_world_set_text(&m->path, s->block.pod_link);
    node_world_set_text(&m->mount_point,
                        ""); /* the link points to the device itself: no bind mount is needed */
    memcpy(dir, s->block.pod_link, sizeof dir);
    if (m->pod->object) {
        recorder_event(a->recorder, m->pod->object, EVENT_NORMAL, "SuccessfulMountVolume",
                       "MapVolume.MapPodDevice succeeded for volume \"%s\" globalMapPath \"%s\"", s->name,
                       s->block.global_dir);
        recorder_event(a->recorder, m->pod->object, EVENT_NORMAL, "SuccessfulMountVolume",
                       "MapVolume.MapPodDevice succeeded for volume \"%s\" volumeMapPath \"%s\"", s->name,
                       dirname(dir));
    }
    mount_op_finish(op);
}

/* --- Set-up --- */

static void on_contents(struct volume_sources_fetch *f, int r, const struct error *err)
{
    struct stage *s = (struct stage *)(void *)((char *)f - offsetof(struct stage, fetch));
    struct node_op *op = s->op;

    if (r < 0 || !op->mount->is_wanted) {
        struct error copy = *err;

        node_op_end(op, r, &copy); /* frees the stage */
        return;
    }
    op->stage = NULL; /* now owned by the job */
    stage_begin_step(s, CSI_PUBLISH, stage_set_up, on_set_up);
}

static void set_up(struct node_op *op)
{
    struct node_mount *m = op->mount;
    const struct pod *p = pod_of(m->pod->object);
    struct stage *s = stage_new(op, op->volume->plugin, &m->wanted, spec_name(&m->wanted.spec), m->pod->uid);
    struct error err;

    if (!s) {
        node_op_end(op, error_no_memory(&err), &err);
        return;
    }
    (void)snprintf(s->device_path, sizeof s->device_path, "%s", op->volume->device_path);
    s->must_mount = m->is_found && m->mount_point[0];
    s->bytes = agent_mount_bytes(op->agent, m);
    s->resizes = op->is_remount || m->is_found;
    s->request = (struct set_up_request){ .spec = s->spec.spec,
                                          .pod = pod_of(s->pod),
                                          .node = s->node ? node_of(s->node) : NULL,
                                          .device_path = s->device_path,
                                          .fs_group = p->fs_group,
                                          .fs_user = p->run_as_user,
                                          .on_root_mismatch = p->fs_group_on_root_mismatch,
                                          .is_remount = op->is_remount,
                                          .random = rng_u64(&op->agent->rng) };
    op->stage = s;
    s->fetch.done = on_contents;
    volume_sources_fetch(op->agent->contents, s->pod, &s->spec.spec, &s->fetch);
}

/* --- Mapping --- */

/* A stage for this mount, with its paths. NULL: the operation has ended with an error. */
static struct stage *mount_stage(struct node_op *op)
{
    struct node_volume *v = op->volume;
    struct node_mount *m = op->mount;
    struct stage *s = stage_new(op, v->plugin, &m->wanted, spec_name(&m->wanted.spec), m->pod->uid);
    struct error err;

    if (!s || (m->is_block &&
               block_paths_for(v->plugin, op->agent->root, s->name, m->pod->uid, &s->block, &err) < 0)) {
        int r = s ? -(int)err.code : error_no_memory(&err);

        stage_free(s);
        node_op_fail(op, m->is_block ? FAILED_MAP : FAILED_MOUNT, "MapVolume.GetGlobalMapPath failed", r,
                     &err);
        return NULL;
    }
    (void)snprintf(s->device_path, sizeof s->device_path, "%s", v->device_path);
    s->step = m->is_block ? STEP_MAP_POD_DEVICE : STEP_DEVICE_MOUNT_PATH;
    s->is_block = m->is_block;
    s->waits_for_attach = v->is_attachable;
    return s;
}

static void map_device(struct node_op *op)
{
    struct stage *s = mount_stage(op);

    if (s)
        stage_begin_step(s, CSI_PUBLISH, stage_map, on_mapped);
}

/* --- Device --- */

static void on_device(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    struct node_volume *v = op->volume;

    if (s->mounts_device && s->mount_path[0])
        node_world_set_text(&v->device_mount_path, s->mount_path);
    if (r < 0) {
        if (stage_has_touched(s)) { /* the device step itself failed, not a step before it */
            volume_set_device(v, event_of_failure(s, r, v->device, v->is_found));
            held_spec_copy(&v->spec, &s->spec);
        }
        note_mismatch(op, s, err);
        node_op_fail(op, s->is_block ? FAILED_MAP : FAILED_MOUNT, stage_prefix(s), r, err);
        return;
    }
    if (s->device_path[0])
        node_world_set_text(&v->device_path, s->device_path);
    if (s->mounts_device) {
        volume_set_device(v, MOUNT_EVENT_SET_UP);
        v->device_is_mount_point = s->is_mount_point;
        v->device_snapshot = op->agent->snapshots_begun;
        held_spec_copy(&v->spec, &s->spec);
    }
    if (!op->mount->is_wanted)
        node_op_end(op, 0, NULL); /* the pod has terminated: the device is unmounted again */
    else if (s->is_block)
        map_device(op);
    else
        set_up(op);
}

/* --- Checks before the first stage --- */

/* Another pod has, or may have, a ReadWriteOncePod volume mounted. */
static int check_sole_user(const struct node_mount *m, struct error *err)
{
    const struct volume *v = m->wanted.spec.volume;

    if (!v || v->modes != ACCESS_RWOP)
        return 0;
    for (const struct node_mount *o = TAILQ_FIRST(&m->volume->mounts); o; o = TAILQ_NEXT(o, of_volume))
        if (o != m && o->state != MOUNT_NONE)
            return error_set(err, ERR_BUSY,
                             "volume uses the ReadWriteOncePod access mode and is already in use by another "
                             "pod");
    return 0;
}

static int check_mount(const struct node_op *op, const char **prefix, struct error *err)
{
    const struct node_mount *m = op->mount;
    const struct volume_spec *s = &m->wanted.spec;
    const struct volume_plugin *p = op->volume->plugin;
    const struct node *n = agent_node(op->agent);
    bool is_block = m->is_block;
    int r;

    *prefix = is_block ? "MapVolume.FindMapperPluginBySpec failed" : "MountVolume.FindPluginBySpec failed";
    if (is_block ? !p->block : !p->pods)
        return error_set(err, ERR_UNSUPPORTED, "no volume plugin matched");
    *prefix = is_block ? "MapVolume.NodeAffinity check failed" : "MountVolume.NodeAffinity check failed";
    r = s->volume && s->volume->affinity && !n
            ? error_set(err, ERR_UNAVAILABLE, "Node object not received yet")
        : n ? volume_check_node(s, n, err)
            : 0;
    if (r < 0)
        return r;
    *prefix = "MountVolume.MountOptionSupport check failed";
    r = is_block ? 0 : volume_check_mount_options(p, s, err);
    if (r < 0)
        return r;
    *prefix = is_block ? "MapVolume.SetUpDevice failed" : "MountVolume.SetUp failed";
    return check_sole_user(m, err);
}

static void begin_device(struct node_op *op)
{
    struct node_volume *v = op->volume;
    bool is_block = op->mount->is_block, mounts = v->has_device && v->device != MOUNT_DONE;
    struct stage *s;

    if (is_block && (!mounts || !v->plugin->block->stage)) {
        map_device(op);
        return;
    }
    if (!v->is_attachable && !mounts) {
        set_up(op);
        return;
    }
    s = mount_stage(op);
    if (!s)
        return;
    s->mounts_device = mounts;
    s->must_mount = mounts && v->is_found && v->device_is_mount_point;
    if (is_block)
        memcpy(s->mount_path, s->block.global_dir, sizeof s->mount_path);
    stage_begin_step(s, CSI_STAGE, is_block ? stage_map_device : stage_device, on_device);
}

bool volume_op_mount(struct node_mount *m)
{
    struct node_volume *v = m->volume;
    bool is_shared = v->is_attachable || v->has_device;
    struct operation_key key = volume_key(v, is_shared ? NULL : m->pod);
    struct node_op *op =
        node_op_begin(m->pod->agent, v, m, &key, m->is_block ? "map_volume" : "volume_mount");
    const char *prefix;
    struct error err;
    int r;

    if (!op)
        return false;
    op->is_remount = m->state == MOUNT_DONE;
    m->needs_remount = false;
    r = check_mount(op, &prefix, &err);
    if (r < 0)
        node_op_fail(op, m->is_block ? FAILED_MAP : FAILED_MOUNT, prefix, r, &err);
    else
        begin_device(op);
    return true;
}

/* --- Expanding a mounted volume --- */

static void on_grown_in_use(void *ctx, enum expand_end end, const struct error *err)
{
    struct node_op *op = ctx;
    struct error later;

    op->expand = NULL;
    if (end == EXPAND_FAILED)
        node_op_fail(op, "VolumeResizeFailed", "NodeExpandVolume.NodeExpandVolume failed", -(int)err->code,
                     err);
    else if (end == EXPAND_LATER)
        node_op_end(
            op, error_set(&later, ERR_BACKOFF, "the controller has not finished its part of the expansion"),
            &later);
    else
        node_op_end(op, 0, NULL);
}

void volume_op_grow(struct node_mount *m)
{
    struct operation_key key = volume_key(m->volume, NULL);
    struct node_op *op = node_op_begin(m->pod->agent, m->volume, m, &key, "volume_fs_resize");
    struct error err;

    if (!op)
        return;
    op->expand = expand_begin(op->agent, m, /* in_use= */ true, on_grown_in_use, op);
    if (!op->expand)
        node_op_end(op, error_no_memory(&err), &err);
}
