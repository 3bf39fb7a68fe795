/* Unmounts a volume: for a pod, then from the node, and detaches it when the node attaches its volumes
 * itself. */
#include "node/volume_ops.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mutant.h"
#include "host/block_files.h"
#include "host/mount_table.h"
#include "host/sub_path.h"
#include "node/pod_report.h"
#include "plugins/layout.h"

#define REFS_BYTES_MAX 2048

/* --- From a pod --- */

static int stage_clean_sub_paths(struct stage *s, struct error *err)
{
    char pod_dir[PATH_MAX];
    int r = layout_pod_dir(s->env.root, s->pod_uid, pod_dir, err);

    if (r == 0)
        r = sub_paths_clean(&s->env.tools, pod_dir, s->name, err);
    return r < 0 ? error_wrap(err, "error cleaning subPath mounts") : 0;
}

static int stage_tear_down(struct stage *s, struct error *err)
{
    int r = stage_clean_sub_paths(s, err);

    if (r < 0)
        return r;
    s->step = STEP_TEAR_DOWN;
    return s->plugin->pods->tear_down(s->plugin, &s->env, s->name, s->pod_uid, err);
}

static int stage_unmap(struct stage *s, struct error *err)
{
    int r;

    s->step = STEP_UNMAP_BLOCK;
    r = block_unmap(&s->env, &s->block, err);
    if (r < 0)
        return r;
    s->step = STEP_UNMAP_POD_DEVICE;
    return s->plugin->block->unmap ? s->plugin->block->unmap(s->plugin, &s->env, s->name, s->pod_uid, err)
                                   : 0;
}

/* The failure delays the pod's termination, so an event is recorded on the pod. */
static void fail_unmount(struct node_op *op, const char *prefix, const char *name, int r,
                         const struct error *err)
{
    struct error words;

    (void)error_set(&words, err->code, "%s for volume \"%s\" : %s", prefix, name, (const char *)err->msg);
    if (op->mount && !error_is_expected(r))
        pod_warn_quietly(op->mount->pod, "FailedKillPod", words.msg);
    node_op_end(op, r, &words);
}

static void on_torn_down(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    struct node_mount *m = op->mount;

    if (r < 0) {
        if (stage_has_touched(s)) /* otherwise only its subPath mounts were changed */
            mount_set_state(m, MOUNT_EVENT_TEAR_DOWN_UNCERTAIN);
        fail_unmount(op, stage_prefix(s), s->name, r, err);
        return;
    }
    mount_set_state(m, MOUNT_EVENT_TORN_DOWN);
    if (m->is_found && MUTANT("node-skips-states"))
        mount_set_state(m, MOUNT_EVENT_TORN_DOWN);
    m->is_found = false;
    held_spec_clear(&m->spec);
    node_world_set_text(&m->path, "");
    node_op_end(op, 0, NULL);
}

void volume_op_unmount(struct node_mount *m)
{
    struct node_volume *v = m->volume;
    struct operation_key key = volume_key(v, m->pod);
    struct node_op *op =
        node_op_begin(m->pod->agent, v, m, &key, m->was_block ? "unmap_volume" : "volume_unmount");
    const char *name = spec_name(&m->spec.spec);
    struct stage *s;
    struct error err;
    int r = 0;

    assert(m->state != MOUNT_NONE);
    if (!op)
        return;
    s = stage_new(op, v->plugin, &m->spec, name, m->pod->uid);
    if (!s)
        r = error_no_memory(&err);
    else if (m->was_block)
        r = block_paths_for(v->plugin, op->agent->root, name, m->pod->uid, &s->block, &err);
    if (r < 0 || !s) {
        stage_free(s);
        node_op_end(op, r, &err);
        return;
    }
    if (m->was_block)
        mount_set_state(m, MOUNT_EVENT_TEAR_DOWN_UNCERTAIN);
    s->step = STEP_CLEAN_SUB_PATHS;
    stage_begin(s, m->was_block ? stage_unmap : stage_tear_down, on_torn_down);
}

/* --- From the node --- */

struct refs {
    struct buf words;
    bool has_some;
};

static int add_ref(void *ctx, const struct mount_entry *e)
{
    struct refs *f = ctx;

    buf_addf(&f->words, "%s%s", f->has_some ? " " : "", e->target);
    f->has_some = true;
    return 0;
}

/* Another process uses the mount: a pod unknown to this agent, or a user. */
static int check_references(const char *mount_path, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *t = NULL;
    struct refs f = { .words = BUF_INIT(REFS_BYTES_MAX) };
    int r = mount_table_read(&t, err);

    if (r < 0)
        return r;
    mount_table_refs(t, mount_path, add_ref, &f);
    if (f.has_some)
        r = error_set(err, ERR_BUSY, "the device mount path \"%s\" is still mounted by other references [%s]",
                      mount_path, buf_cstr(&f.words));
    buf_done(&f.words);
    return r;
}

/* A device that does not exist or has no name is not in use. */
static int check_closed(const char *device, struct error *err)
{
    struct error why;
    enum file_kind kind;
    int r;

    if (!device[0] || host_file_kind(device, &kind, &why) < 0 || kind != FILE_BLOCK_DEVICE)
        return 0;
    r = device_check_unused(device, &why);
    if (r == -ERR_BUSY)
        return error_set(err, ERR_BUSY, "the device is in use when it was no longer expected to be in use");
    return r == 0 || r == -ERR_NOT_FOUND ? 0 : error_pass(err, &why);
}

static int stage_unmount_device(struct stage *s, struct error *err)
{
    int r;

    s->step = STEP_CHECK_REFERENCES;
    r = check_references(s->mount_path, err);
    if (r < 0)
        return r;
    s->step = STEP_UNMOUNT_DEVICE;
    r = s->plugin->devices->unmount(s->plugin, &s->env, s->mount_path, err);
    return r < 0 ? r : check_closed(s->device_path, err);
}

static int stage_unmap_device(struct stage *s, struct error *err)
{
    int r = block_check_unbound(s->mount_path, err);

    if (r < 0)
        return r;
    s->step = STEP_UNMAP_DEVICE;
    if (s->plugin->block->unstage)
        r = s->plugin->block->unstage(s->plugin, &s->env, s->name, err);
    if (r == 0)
        r = block_unmap_device(&s->env, s->mount_path, err);
    return r < 0 ? r : check_closed(s->device_path, err);
}

static void on_device_gone(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    struct node_volume *v = op->volume;

    if (r < 0) {
        if (stage_has_touched(s))
            volume_set_device(v, MOUNT_EVENT_TEAR_DOWN_UNCERTAIN);
        fail_unmount(op, stage_prefix(s), s->name, r, err);
        return;
    }
    volume_set_device(v, MOUNT_EVENT_TORN_DOWN);
    v->is_found = false;
    node_world_set_text(&v->device_mount_path, "");
    node_op_end(op, 0, NULL);
}

static bool is_block_volume(const struct node_volume *v)
{
    return v->spec.spec.volume && v->spec.spec.volume->mode == VOLUME_MODE_BLOCK;
}

void volume_op_unmount_device(struct agent *a, struct node_volume *v)
{
    bool is_block = is_block_volume(v);
    struct operation_key key = volume_key(v, NULL);
    struct node_op *op = node_op_begin(a, v, NULL, &key, is_block ? "unmap_device" : "unmount_device");
    struct stage *s;
    struct error err;

    assert(volume_has_device_mounted(v));
    if (!op)
        return;
    s = stage_new(op, v->plugin, &v->spec, v->spec.holder ? spec_name(&v->spec.spec) : v->name, "");
    if (!s) {
        node_op_end(op, error_no_memory(&err), &err);
        return;
    }
    (void)snprintf(s->mount_path, sizeof s->mount_path, "%s", v->device_mount_path);
    (void)snprintf(s->device_path, sizeof s->device_path, "%s", v->device_path);
    s->step = is_block ? STEP_CHECK_UNBOUND : STEP_UNMOUNT_DEVICE_BEGIN;
    stage_begin(s, is_block ? stage_unmap_device : stage_unmount_device, on_device_gone);
}

/* --- Volumes that could not be reconstructed --- */

/* After a failure it checks whether something is still mounted. */
static int stage_force_tear_down(struct stage *s, struct error *err)
{
    char path[PATH_MAX];
    struct error ignored;
    int r = stage_tear_down(s, err);

    if (r < 0 &&
        layout_pod_path(s->env.root, s->pod_uid, "volumes", s->plugin->name, s->name, path, &ignored) == 0)
        s->is_mount_point = host_check_unmounted(path, /* at_too= */ true, &ignored) < 0;
    return r;
}

/* The entry stays until nothing is mounted: then the pod's directory can be removed, and the volume
 * detached. */
static void end_failed(struct agent *a, const struct stage *s, bool is_mounted)
{
    for (size_t i = a->failed.count; i > 0; i--) {
        struct failed_volume *f = &a->failed.items[i - 1];

        if (!f->is_unmounting || strcmp(f->name, s->name) != 0 || strcmp(f->pod_uid, s->pod_uid) != 0)
            continue;
        f->is_unmounting = false;
        if (is_mounted) {
            f->retry_at_ns = loop_now_ns(a->o.part.loop) + FAILED_RETRY_NS;
            timer_arm(&a->failed_retry, f->retry_at_ns);
        } else {
            agent_drop_failed(a, i - 1);
        }
    }
}

static void on_forced(struct node_op *op, struct stage *s, int r, const struct error *err)
{
    struct agent *a = op->agent;

    /* Without the data that the plugin needs, another attempt fails in the same way. */
    end_failed(a, s, r < 0 && r != -ERR_NOT_FOUND && s->is_mount_point);
    if (a->forced)
        metric_add(a->forced, 1);
    if (r < 0 && a->forced_failures)
        metric_add(a->forced_failures, 1);
    if (r < 0)
        fail_unmount(op, "UnmountVolume failed", s->name, r, err);
    else
        node_op_end(op, 0, NULL);
    orphans_scan(a->orphans);
}

static void report_missing_plugin(struct agent *a, struct failed_volume *f)
{
    if (f->is_reported)
        return;
    f->is_reported = true;
    log_warn("no plugin for volume on disk, not removing it", LOG_STR("pod", f->pod_uid),
             LOG_STR("volume", f->name), LOG_STR("plugin", f->plugin));
    if (a->forced)
        metric_add(a->forced, 1);
    if (a->forced_failures)
        metric_add(a->forced_failures, 1);
}

bool volume_op_force_unmount(struct agent *a, struct failed_volume *f)
{
    struct operation_key key = { .volume = f->name, .pod = f->pod_uid, .node = "" };
    const struct volume_plugin *p;
    struct node_op *op;
    struct stage *s;
    struct error err;

    if (registry_by_name(a->o.plugins, f->plugin, &p, &err) < 0 || !p->pods) {
        report_missing_plugin(a, f);
        return false;
    }
    op = node_op_begin(a, NULL, NULL, &key, "volume_unmount");
    if (!op)
        return false;
    s = stage_new(op, p, NULL, f->name, f->pod_uid);
    if (!s) {
        node_op_end(op, error_no_memory(&err), &err);
        return false;
    }
    f->is_unmounting = true;
    stage_begin(s, stage_force_tear_down, on_forced);
    return true;
}
