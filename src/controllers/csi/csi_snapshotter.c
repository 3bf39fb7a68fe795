/* The snapshotter of a CSI driver, in place of the csi-snapshotter sidecar: takes, finds and deletes the
 * snapshots of the driver's VolumeSnapshotContents. Which snapshots there should be is decided by the
 * snapshot-controller of the cluster, which creates and deletes the contents.
 *
 * One queue of contents. Each sync is one step (csi_snapshot_plan.h), and a content that is not ready yet
 * comes again with a growing delay. */
#include "controllers/csi/csi_snapshotter_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE "csi-snapshot"
#define LEASE_PREFIX "external-snapshotter-leader-"
#define RESYNC_NS (900 * NS_PER_S)

/* With a deployment per node: contents of volumes of this node. */
static bool is_ours(const struct csi_snapshotter *s, const struct object *o)
{
    const char *node = object_label(o, LABEL_SNAPSHOT_NODE);

    if (strcmp(snapshot_content_of(o)->driver, csi_peer_name(s->o.peer)) != 0)
        return false;
    return !s->o.node_name || (node && strcmp(node, s->o.node_name) == 0);
}

/* A creation whose content is gone. A snapshot that is to be retained is left. */
static enum sync_result sync_left(struct csi_snapshotter *s, struct str key, const struct object *left)
{
    if (snapshot_content_of(left)->deletes)
        return csi_snapshot_start(s, key, snapshot_content_of(left), CSI_SNAPSHOT_REST) ? SYNC_LATER
                                                                                        : SYNC_AGAIN;
    csi_snapshot_creation_end(s, key);
    return SYNC_DONE;
}

static enum sync_result sync_content(void *ctx, struct str key)
{
    struct csi_snapshotter *s = ctx;
    const struct object *o = informer_get_key(s->contents, key), *left = csi_snapshot_creation(s, key);
    enum csi_snapshot_step step;

    if (left && (!o || strcmp(o->uid, left->uid) != 0))
        return sync_left(s, key, left);
    if (!o || !is_ours(s, o))
        return SYNC_DONE;
    step = csi_snapshot_next(snapshot_content_of(o));
    if (step != CSI_SNAPSHOT_CREATE || snapshot_content_of(o)->snapshot_handle[0])
        csi_snapshot_creation_end(s, key);
    if (step == CSI_SNAPSHOT_REST)
        return SYNC_DONE;
    return csi_snapshot_start(s, key, snapshot_content_of(o), step) ? SYNC_LATER : SYNC_AGAIN;
}

/* --- Handlers --- */

static void on_content_add(void *ctx, const struct object *o, bool is_initial)
{
    struct csi_snapshotter *s = ctx;

    (void)is_initial;
    if (is_ours(s, o))
        component_add(s->controller, o);
}

/* A resync has the same object twice. */
static void on_content_update(void *ctx, const struct object *old, const struct object *o)
{
    if (old == o || csi_snapshot_differs(snapshot_content_of(old), snapshot_content_of(o)))
        on_content_add(ctx, o, /* is_initial= */ false);
}

/* Its finalizers were removed by somebody else, or it has ended. */
static void on_content_gone(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct csi_snapshotter *s = ctx;

    (void)is_final_unknown;
    if (csi_snapshot_creation(s, str_of(o->name)))
        component_add(s->controller, o);
}

/* --- Life --- */

static bool is_record_loaded(void *ctx)
{
    const struct csi_snapshotter *s = ctx;

    return s->is_loaded;
}

static void snapshotter_end(void *function)
{
    struct csi_snapshotter *s = function;
    struct csi_snapshot_work *w;

    if (!s)
        return;
    informer_remove_handler(&s->contents_handler);
    while ((w = TAILQ_FIRST(&s->works)))
        csi_snapshot_free(w);
    csi_snapshot_record_close(s);
    s->controller = controller_free(s->controller);
    s->recorder = recorder_free(s->recorder);
    free(s);
}

static int open_caches(struct csi_snapshotter *s, struct error *err)
{
    struct informers *all = s->o.part.informers;

    s->contents = informers_get(all, KIND_SNAPSHOT_CONTENT, err);
    s->classes = s->contents ? informers_get(all, KIND_SNAPSHOT_CLASS, err) : NULL;
    return s->classes ? 0 : -(int)err->code;
}

static int open_queue(struct csi_snapshotter *s, struct error *err)
{
    const struct controller_options c = { .queue = { .loop = s->o.part.loop,
                                                     .name = QUEUE,
                                                     .metrics = s->o.part.metrics,
                                                     .seed = component_seed(&s->o.part, QUEUE),
                                                     .base_ns = s->o.settings->retry_ns,
                                                     .max_ns = s->o.settings->retry_ns_max },
                                          .sync = sync_content,
                                          .is_ready = is_record_loaded,
                                          .ctx = s,
                                          .api = s->api };

    return controller_new(&c, &s->controller, err);
}

static int snapshotter_begin(const struct csi_function_options *o, void **ret, struct error *err)
{
    struct csi_snapshotter *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return error_no_memory(err);
    s->o = *o;
    TAILQ_INIT(&s->works);
    rng_init(&s->rng, component_seed(&o->part, QUEUE));
    map_init(&s->creations, (struct hash_seed){ rng_u64(&s->rng), rng_u64(&s->rng) });
    (void)snprintf(s->component, sizeof s->component, "csi-snapshotter %s", csi_peer_name(o->peer));
    r = component_api(&o->part, CSI_SNAPSHOTTER_MANAGER, &s->api, err);
    s->api.rng = &s->rng;
    if (r == 0)
        r = open_caches(s, err);
    if (r == 0)
        r = component_recorder(&o->part, s->component, &s->recorder, err);
    if (r == 0)
        r = open_queue(s, err);
    if (r == 0)
        r = csi_snapshot_record_open(s, err);
    if (r < 0)
        snapshotter_end(s);
    else
        *ret = s;
    return r;
}

static void snapshotter_run(void *function)
{
    struct csi_snapshotter *s = function;

    s->contents_handler = (struct informer_handler){ .on_add = on_content_add,
                                                     .on_update = on_content_update,
                                                     .on_delete = on_content_gone,
                                                     .ctx = s,
                                                     .resync_ns = RESYNC_NS };
    call_record_start(s->record);
    informer_add_handler(s->contents, &s->contents_handler);
}

static int write_lease_name(const char *driver, struct buf *ret, struct error *err)
{
    buf_add_cstr(ret, LEASE_PREFIX);
    buf_add_cstr(ret, driver);
    return buf_check(ret, "lease name", err);
}

static bool is_snapshotter_wanted(const struct csi_peer *p, const struct csi_driver_settings *settings)
{
    (void)settings;
    return csi_peer_can(p, CSI_ABILITY_CREATE_DELETE_SNAPSHOT);
}

static const char *snapshotter_verify(const void *function)
{
    const struct csi_snapshotter *s = function;
    const char *wrong = controller_check(s->controller);

    return wrong ? wrong : csi_snapshot_check(s);
}

static bool snapshotter_explain(const void *function, const struct object *about, struct csi_work_state *ret)
{
    const struct csi_snapshotter *s = function;

    if (about->kind->kind != KIND_SNAPSHOT_CONTENT || !is_ours(s, about))
        return false;
    *ret = (struct csi_work_state){ .call = "",
                                    .last_error = snapshot_content_of(about)->error_message,
                                    .outcome = CSI_FINAL };
    ret->next_try_ns = workqueue_due_ns(controller_queue(s->controller), str_of(about->name));
    (void)csi_snapshot_explain(s, about->name, ret);
    return true;
}

const struct csi_function_type csi_snapshotter_type = { .name = "snapshotter",
                                                        .lease_name = write_lease_name,
                                                        .is_wanted = is_snapshotter_wanted,
                                                        .new = snapshotter_begin,
                                                        .start = snapshotter_run,
                                                        .free = snapshotter_end,
                                                        .check = snapshotter_verify,
                                                        .explain = snapshotter_explain };
