/* The attacher of a CSI driver, in place of external-attacher: publishes volumes to nodes as
 * VolumeAttachments ask for it, and takes them back.
 *
 * Two queues: attachments to be attached or detached, and volumes whose finalizer may go. A finalizer on each
 * volume keeps it readable until it is detached; it goes when the volume is being deleted and no attachment
 * names it. The attacher's own reports of failures do not requeue an attachment, or its delay would be
 * without effect. */
#include "controllers/csi/csi_attacher_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/csi.h"
#include "api/json_out.h"
#include "api/migration.h"
#include "machinery/json_peek.h"
#include "machinery/merge_patch.h"

#define FINALIZER_PREFIX "external-attacher/"
#define LEASE_PREFIX "external-attacher-leader-"
#define INLINE_BYTES_MAX ((size_t)4 << 20)

/* --- Attachments and their volumes --- */

static const struct attachment *attachment_of(const struct object *o)
{
    return (const struct attachment *)(const void *)o;
}

bool csi_attacher_owns(const struct csi_attacher *a, const struct attachment *va)
{
    return strcmp(va->attacher, csi_peer_name(a->o.peer)) == 0;
}

const char *csi_attacher_node_id(const struct csi_attacher *a, const struct attachment *va)
{
    const struct object *o = informer_get(a->csi_nodes, "", va->node_name);
    const struct csi_node_driver *d =
        o ? csi_node_driver((const struct csi_node *)(const void *)o, csi_peer_name(a->o.peer)) : NULL;

    return d && d->node_id[0] ? d->node_id : NULL;
}

/* The PersistentVolume that an inline volume of an attachment stands for. */
static int read_inline(const struct attachment *va, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(INLINE_BYTES_MAX);
    struct json scratch;
    int r;

    volume_write_begin(&text, va->obj.name);
    json_out_end_object(&text);
    json_out_raw(&text, "spec", json_peek(va->obj.text, "spec", "source", "inlineVolumeSpec"));
    json_out_end_object(&text);
    r = buf_check(&text, "an inline volume", err);
    if (r < 0)
        return r;
    json_init(&scratch, INLINE_BYTES_MAX);
    r = object_decode(kind_info(KIND_VOLUME), buf_str(&text), &scratch, ret, err);
    json_done(&scratch);
    return r;
}

static int read_volume(const struct csi_attacher *a, const struct attachment *va, struct object **ret,
                       const struct object **ret_kept, struct error *err)
{
    const struct object *o;

    if (va->has_inline_source && va->volume_name[0])
        return error_set(err, ERR_INVALID,
                         "both InlineCSIVolumeSource and PersistentVolumeName specified in VA source");
    if (va->has_inline_source)
        return read_inline(va, ret, err);
    if (!va->volume_name[0])
        return error_set(err, ERR_INVALID,
                         "neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source");
    o = informer_get(a->volumes, "", va->volume_name);
    if (!o)
        return informer_not_found(a->volumes, va->volume_name, err);
    *ret = object_ref(o);
    *ret_kept = o;
    return 0;
}

int csi_attacher_volume(const struct csi_attacher *a, const struct attachment *va, struct object **ret,
                        const struct object **ret_kept, struct error *err)
{
    _cleanup_(object_unref_p) struct object *o = NULL;
    const struct object *kept = NULL;
    int r = read_volume(a, va, &o, &kept, err);

    if (r < 0)
        return r;
    assert(o);
    if (migration_plugin((enum volume_source_kind)volume_of(o)->source.kind)) {
        struct object *translated = NULL;

        r = migration_translate(volume_of(o), &translated, err);
        if (r < 0)
            return r;
        (void)object_unref(o);
        o = translated;
    }
    if (volume_of(o)->source.kind != SOURCE_CSI ||
        strcmp(volume_of(o)->source.csi->driver, csi_peer_name(a->o.peer)) != 0)
        return error_set(err, ERR_INVALID, "volume \"%s\" is not a volume of CSI driver %s", o->name,
                         csi_peer_name(a->o.peer));
    *ret = TAKE(o);
    *ret_kept = kept;
    return 0;
}

/* --- Attachments to be synced in any case --- */

void csi_attacher_force(struct csi_attacher *a, const struct attachment *va)
{
    char *name = strdup(va->obj.name);
    void *old = NULL;

    if (!name || map_put(&a->forced, str_of(name), name, &old) < 0)
        free(name); /* no memory: the next comparison finds it again */
    free(old);
    component_add(a->controller, &va->obj);
}

static bool take_forced(struct csi_attacher *a, struct str key)
{
    char *name = map_remove(&a->forced, key);

    free(name);
    return name != NULL;
}

/* --- Syncs --- */

static enum api_decision decide_trivial(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin_any(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    json_out_bool(body, "attached", true);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static enum sync_result sync_trivial(struct csi_attacher *a, struct str key, const struct attachment *va)
{
    const struct api_write_options w = {
        .request = { .verb = CLIENT_PATCH, .kind = kind_info(KIND_ATTACHMENT), .subresource = "status" },
        .object = &va->obj,
        .decide = decide_trivial,
        .step = API_STEP_ATTACHMENT,
        .is_any_version = true,
        .informer = a->attachments
    };

    return va->is_attached || va->obj.is_deleting ? SYNC_DONE : sync_once(a->controller, key, &w, NULL, NULL);
}

static enum sync_result sync_attachment(void *ctx, struct str key)
{
    struct csi_attacher *a = ctx;
    const struct object *o = informer_get_key(a->attachments, key);
    const struct attachment *va = o ? attachment_of(o) : NULL;
    bool is_forced = take_forced(a, key);

    if (!va || !csi_attacher_owns(a, va))
        return SYNC_DONE;
    if (a->is_trivial)
        return sync_trivial(a, key, va);
    if (!is_forced && (o->is_deleting ? !object_has_finalizer(o, a->finalizer) : va->is_attached))
        return SYNC_DONE;
    return csi_attach_start(a, key, va) ? SYNC_LATER : SYNC_AGAIN;
}

static enum sync_result sync_release(void *ctx, struct str key)
{
    struct csi_attacher *a = ctx;
    const struct object *o = informer_get_key(a->volumes, key);
    struct informer_cursor at;

    if (!o || !o->is_deleting || !object_has_finalizer(o, a->finalizer) ||
        informer_first_by(a->attachments, ATTACHMENTS_BY_VOLUME, key, &at))
        return SYNC_DONE;
    return sync_remove_finalizer(a->releases, key, o, a->finalizer, a->volumes);
}

/* --- Handlers --- */

static void on_attachment_add(void *ctx, const struct object *o, bool is_initial)
{
    struct csi_attacher *a = ctx;

    (void)is_initial;
    if (csi_attacher_owns(a, attachment_of(o)))
        component_add(a->controller, o);
}

static bool texts_equal(const struct texts *a, const struct texts *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

/* Nothing has changed that a sync depends on. The attacher's own writes are none of it: failures in the
 * status, and the marks of an attachment that lives. */
static bool is_same(const struct attachment *a, const struct attachment *b)
{
    return a->obj.is_deleting == b->obj.is_deleting && a->is_attached == b->is_attached &&
           (!a->obj.is_deleting || (texts_equal(&a->obj.finalizers, &b->obj.finalizers) &&
                                    kvs_equal(&a->obj.annotations, &b->obj.annotations)));
}

static void on_attachment_update(void *ctx, const struct object *old, const struct object *o)
{
    if (!is_same(attachment_of(old), attachment_of(o)))
        on_attachment_add(ctx, o, /* is_initial= */ false);
}

static void on_attachment_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct csi_attacher *a = ctx;

    (void)is_final_unknown;
    if (csi_attacher_owns(a, attachment_of(o)) && attachment_of(o)->volume_name[0])
        controller_add(a->releases, str_of(attachment_of(o)->volume_name));
}

static void on_volume(void *ctx, const struct object *o)
{
    struct csi_attacher *a = ctx;

    if (o->is_deleting && object_has_finalizer(o, a->finalizer))
        component_add(a->releases, o);
}

/* --- Life --- */

static void index_by_volume(const struct object *o, index_emit_fn *emit, void *ctx)
{
    if (attachment_of(o)->volume_name[0])
        emit(ctx, str_of(attachment_of(o)->volume_name));
}

static const struct informer_index volume_index = { ATTACHMENTS_BY_VOLUME, index_by_volume };

static int attacher_prepare(const struct component_deps *part, struct error *err)
{
    return component_indexed(part->informers, KIND_ATTACHMENT, &volume_index, err) ? 0 : -(int)err->code;
}

static int open_queues(struct csi_attacher *a, struct error *err)
{
    const struct csi_driver_settings *s = a->o.settings;
    struct controller_options c = { .queue = { .loop = a->o.part.loop,
                                               .name = a->queue_names[0],
                                               .metrics = a->o.part.metrics,
                                               .seed = component_seed(&a->o.part, a->finalizer),
                                               .base_ns = s->retry_ns,
                                               .max_ns = s->retry_ns_max },
                                    .sync = sync_attachment,
                                    .ctx = a,
                                    .api = a->api };
    int r;

    csi_queue_name("csi-attach", a->o.peer, a->queue_names[0]);
    csi_queue_name("csi-attach-release", a->o.peer, a->queue_names[1]);
    r = controller_new(&c, &a->controller, err);
    if (r < 0)
        return r;
    c.queue.name = a->queue_names[1];
    c.sync = sync_release;
    return controller_new(&c, &a->releases, err);
}

/* The finalizer of a driver: characters that a name cannot have become dashes. */
static void name_finalizer(struct csi_attacher *a)
{
    size_t len = (size_t)snprintf(a->finalizer, sizeof a->finalizer - 1, FINALIZER_PREFIX "%s",
                                  csi_peer_name(a->o.peer));

    for (char *c = a->finalizer + strlen(FINALIZER_PREFIX); *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            *c = '-';
    if (a->finalizer[len - 1] == '-') {
        a->finalizer[len] = 'X';
        a->finalizer[len + 1] = '\0';
    }
}

static void attacher_end(void *function)
{
    struct csi_attacher *a = function;
    struct csi_attach_work *w;
    char *name;

    if (!a)
        return;
    informer_remove_handler(&a->attachments_handler);
    informer_remove_handler(&a->volumes_handler);
    a->reconcile = csi_attach_reconcile_free(a->reconcile);
    while ((w = TAILQ_FIRST(&a->works)))
        csi_attach_free(w);
    a->controller = controller_free(a->controller);
    a->releases = controller_free(a->releases);
    for (size_t at = 0; (name = map_next(&a->forced, &at, NULL));)
        free(name);
    map_done(&a->forced);
    free(a);
}

static int open_caches(struct csi_attacher *a, struct error *err)
{
    struct informers *all = a->o.part.informers;

    a->attachments = component_indexed(all, KIND_ATTACHMENT, &volume_index, err);
    a->volumes = a->attachments ? informers_get(all, KIND_VOLUME, err) : NULL;
    a->csi_nodes = a->volumes ? informers_get(all, KIND_CSI_NODE, err) : NULL;
    return a->csi_nodes ? 0 : -(int)err->code;
}

static int attacher_begin(const struct csi_function_options *o, void **ret, struct error *err)
{
    struct csi_attacher *a = calloc(1, sizeof *a);
    bool has_lists = csi_peer_can(o->peer, CSI_ABILITY_LIST_VOLUMES) &&
                     csi_peer_can(o->peer, CSI_ABILITY_LIST_PUBLISHED_NODES);
    int r;

    if (!a)
        return error_no_memory(err);
    a->o = *o;
    a->is_trivial = !csi_peer_can(o->peer, CSI_ABILITY_PUBLISH);
    TAILQ_INIT(&a->works);
    rng_init(&a->rng, component_seed(&o->part, "csi-attacher"));
    map_init(&a->forced, (struct hash_seed){ rng_u64(&a->rng), rng_u64(&a->rng) });
    name_finalizer(a);
    r = component_api(&o->part, CSI_ATTACHER_MANAGER, &a->api, err);
    a->api.rng = &a->rng;
    if (r == 0)
        r = open_caches(a, err);
    if (r == 0)
        r = open_queues(a, err);
    if (r == 0 && has_lists && !a->is_trivial)
        r = csi_attach_reconcile_new(a, &a->reconcile, err);
    if (r < 0) {
        attacher_end(a);
        return r;
    }
    *ret = a;
    return 0;
}

static void attacher_run(void *function)
{
    struct csi_attacher *a = function;

    a->attachments_handler = (struct informer_handler){ .on_add = on_attachment_add,
                                                        .on_update = on_attachment_update,
                                                        .on_delete = on_attachment_delete,
                                                        .ctx = a };
    a->volumes_handler = (struct informer_handler){ .on_upsert = on_volume, .ctx = a };
    informer_add_handler(a->attachments, &a->attachments_handler);
    if (!a->is_trivial)
        informer_add_handler(a->volumes, &a->volumes_handler);
    if (a->reconcile)
        csi_attach_reconcile_start(a->reconcile);
}

static int write_lease_name(const char *driver, struct buf *ret, struct error *err)
{
    (void)err;
    buf_add_cstr(ret, LEASE_PREFIX);
    buf_add_cstr(ret, driver);
    return 0;
}

/* Attachments of a driver that publishes nothing must be marked as attached, too. */
static bool is_attacher_wanted(const struct csi_peer *p, const struct csi_driver_settings *s)
{
    (void)p;
    (void)s;
    return true;
}

static const char *attacher_verify(const void *function)
{
    const struct csi_attacher *a = function;
    const char *wrong = controller_check(a->controller);

    if (!wrong)
        wrong = controller_check(a->releases);
    return wrong ? wrong : csi_attach_check(a);
}

/* After a restart the last error is known from the attachment alone. */
static bool attacher_explain(const void *function, const struct object *about, struct csi_work_state *ret)
{
    const struct csi_attacher *a = function;
    const struct attachment *va = attachment_of(about);
    const struct attachment_error *failure = about->is_deleting ? &va->detach_error : &va->attach_error;

    if (about->kind->kind != KIND_ATTACHMENT || !csi_attacher_owns(a, va))
        return false;
    if (ret->last_error[0] == '\0' && failure->message[0]) {
        ret->last_error = failure->message;
        ret->code =
            failure->code >= 0 && failure->code < RPC_CODE_COUNT ? (enum rpc_code)failure->code : RPC_UNKNOWN;
        ret->outcome = csi_error_class(CSI_CONTROLLER_PUBLISH, ret->code);
    }
    ret->next_try_ns = workqueue_due_ns(controller_queue(a->controller), str_of(about->name));
    return true;
}

const struct csi_function_type csi_attacher_type = { .name = "attacher",
                                                     .lease_name = write_lease_name,
                                                     .prepare = attacher_prepare,
                                                     .is_wanted = is_attacher_wanted,
                                                     .new = attacher_begin,
                                                     .start = attacher_run,
                                                     .free = attacher_end,
                                                     .check = attacher_verify,
                                                     .explain = attacher_explain };
