/* CSI volumes: a VolumeAttachment is made, and the driver's attacher does the rest; deleting it detaches.
 *
 * Nothing waits in a loop: the attachment's events look whether it is done. What the server answers is taken
 * into the cache before that, so that an attachment that was just made, or is on its way out, is seen.
 *
 * A deletion carries the version that it was decided on, and an attachment that was found, not made, is
 * written to before anybody relies on it: a deletion that was sent before, perhaps by the process before, is
 * refused from there on, or it would detach under a node that was told to mount.
 *
 * A handle that has a '^' in it can be attached and not be detached: the name does not say where it begins.
 */
#include "controllers/attach/attach_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "machinery/api_write.h"
#include "machinery/json_peek.h"
#include "machinery/merge_patch.h"

#define WAIT_NS (120 * NS_PER_S)
#define DELETE_READS_MAX 3

enum csi_what { CSI_ATTACHING, CSI_DETACHING, CSI_VERIFYING };

struct csi_work {
    struct attach_work *owner;
    enum csi_what what;
    char *driver;
    char *handle;
    bool is_listed;          /* among the works that wait for attachments */
    bool is_sent;            /* the request was answered: the rest is the attacher's */
    bool is_found;           /* of an attach: somebody had made it before */
    unsigned reads;          /* of a detach, after conflicts */
    struct attach_slot slot; /* of: */
    struct api_write write;
    struct timer limit;
    struct deferred later;
    char name[CSI_NAME_BYTES];
};

static void on_later(void *ctx);
static void on_limit(void *ctx);
static void fence_attachment(struct attach_slot *t);

/* --- Names --- */

bool csi_attach_volume_name(const struct held_spec *spec, struct buf *ret)
{
    const struct volume *v = spec->spec.volume;

    if (!v || v->source.kind != SOURCE_CSI)
        return false;
    buf_addf(ret, "%s^%s", v->source.csi->driver, v->source.csi->handle);
    return true;
}

/* "driver^handle" in two. ERR_INVALID. */
static int split_volume_name(struct csi_work *c, struct str name, bool takes_carets, struct error *err)
{
    struct str rest = name, driver = str_next(&rest, '^');

    if (name.len == 0)
        return error_set(err, ERR_INVALID, "missing expected parameter volumeName");
    if (!rest.s || (!takes_carets && memchr(rest.s, '^', rest.len)))
        return error_set(err, ERR_INVALID, "volumeName missing expected data");
    c->driver = strndup(driver.s, driver.len);
    c->handle = strndup(rest.s, rest.len);
    return c->driver && c->handle ? 0 : error_no_memory(err);
}

/* --- Works --- */

static int work_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct csi_work *)a)->name, ((const struct csi_work *)b)->name);
}

static int work_cmp_key(void *ctx, const void *key, const void *work)
{
    (void)ctx;
    return strcmp(key, ((const struct csi_work *)work)->name);
}

void csi_attach_init(struct attach *a)
{
    omap_init(&a->csi_works, (struct omap_order){ work_cmp, work_cmp_key, NULL });
}

void csi_attach_done(struct attach *a)
{
    omap_done(&a->csi_works);
}

static void csi_drop(struct attach_work *w)
{
    struct csi_work *c = w->work;

    if (c->is_listed)
        (void)omap_remove(&w->attach->csi_works, /* rank= */ 0, c);
    attach_slot_release(w->attach, &c->slot);
    api_write_cancel(&c->write);
    timer_disarm(&c->limit);
    loop_undefer(&c->later);
    free(c->driver);
    free(c->handle);
    free(c);
    w->work = NULL;
}

static void work_end(struct csi_work *c, int r, const struct error *err)
{
    struct attach_work *w = c->owner;
    struct error why = err ? *err : (struct error){ 0 };

    csi_drop(w);
    w->done(w, r, &why);
}

/* Its names, and its place among the works. Two volumes whose attachments have one name are not attached at
 * once. */
static int work_open(struct csi_work *c, struct error *err)
{
    _cleanup_(buf_done_p) struct buf of_spec = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    struct attach_work *w = c->owner;
    struct str plugin, name;
    int r = 0;

    if (c->what == CSI_DETACHING)
        r = unique_name_split(w->volume, &plugin, &name, err);
    else if (csi_attach_volume_name(&w->spec, &of_spec))
        name = buf_str(&of_spec);
    else
        name = (struct str){ "", 0 };
    if (r == 0)
        r = split_volume_name(c, name, /* takes_carets= */ c->what != CSI_DETACHING, err);
    if (r == 0)
        r = csi_attachment_name(c->driver, c->handle, c->owner->node, c->name, err);
    if (r < 0 || c->what == CSI_VERIFYING)
        return r;
    r = omap_insert(&w->attach->csi_works, /* rank= */ 0, c);
    if (r < 0)
        return error_set(err, (enum err) - r, "VolumeAttachment %s belongs to another volume", c->name);
    c->is_listed = true;
    return 0;
}

/* What is known of the names, or NULL: the failure is told later. */
static struct csi_work *work_begin(struct attach_work *w, enum csi_what what)
{
    struct csi_work *c = calloc(1, sizeof *c);
    struct loop *l = w->attach->o.part.loop;
    struct error err = { 0 };

    if (!c) {
        (void)error_no_memory(&err);
        attach_work_fail(w, &err);
        return NULL;
    }
    c->owner = w;
    c->what = what;
    deferred_init(&c->later, l, on_later, c);
    timer_init(&c->limit, l, on_limit, c);
    w->work = c;
    if (work_open(c, &err) == 0)
        return c;
    csi_drop(w);
    attach_work_fail(w, &err);
    return NULL;
}

/* --- Waiting --- */

static const struct attachment *cached_attachment(const struct csi_work *c)
{
    const struct object *o = informer_get(c->owner->attach->attachments, "", c->name);

    return o ? (const struct attachment *)(const void *)o : NULL;
}

/* False: not yet. */
static bool is_work_done(const struct csi_work *c, int *ret, struct error *err)
{
    const struct attachment *attachment = cached_attachment(c);
    const char *complaint = attachment ? c->what == CSI_ATTACHING ? attachment->attach_error.message
                                                                  : attachment->detach_error.message
                                       : "";

    *ret = 0;
    if (c->what == CSI_DETACHING && !attachment)
        return true;
    if (!attachment)
        return false;
    if (c->what == CSI_ATTACHING && attachment->obj.is_deleting) {
        *ret = error_set(err, ERR_BUSY, "volume attachment is being deleted");
        return true;
    }
    if (c->what == CSI_ATTACHING && attachment->is_attached)
        return true;
    if (complaint[0])
        *ret = error_set(err, ERR_IO, "%s", complaint);
    return complaint[0] != '\0';
}

static void work_check(struct csi_work *c)
{
    struct error err = { 0 };
    int r;

    if (c->slot.state != SLOT_NONE)
        return; /* a request is on its way: its answer looks again */
    if (!is_work_done(c, &r, &err)) {
        if (!timer_is_armed(&c->limit))
            timer_arm_after(&c->limit, WAIT_NS);
    } else if (r == 0 && c->what == CSI_ATTACHING && c->is_found) {
        attach_slot_acquire(c->owner->attach, &c->slot, fence_attachment);
    } else {
        work_end(c, r, &err);
    }
}

static void on_later(void *ctx)
{
    struct csi_work *c = ctx;

    if (c->what == CSI_VERIFYING)
        work_end(c, 0, NULL);
    else
        work_check(c);
}

static void on_limit(void *ctx)
{
    struct csi_work *c = ctx;
    bool is_attach = c->what == CSI_ATTACHING;
    struct error err;
    int r = error_set(&err, ERR_UNCERTAIN,
                      "timed out waiting for external-attacher of %s CSI driver to %s volume %s",
                      is_attach ? c->driver : "unknown", is_attach ? "attach" : "detach", c->handle);

    work_end(c, r, &err);
}

void csi_attach_on_event(struct attach *a, const char *name)
{
    struct csi_work *c = omap_find(&a->csi_works, /* rank= */ 0, name);

    if (c && c->is_sent)
        loop_defer(&c->later);
}

/* --- Attaching --- */

static void end_not_attached(struct csi_work *c, const struct client_answer *answer)
{
    struct error err = answer->error;

    (void)error_wrap(&err, "attacher.Attach failed");
    work_end(c, answer->r, &err);
}

static void on_created(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct csi_work *c = ctx;

    if (outcome != API_DONE && answer->r != -ERR_EXISTS) {
        end_not_attached(c, answer);
        return;
    }
    c->is_sent = true;
    c->is_found = answer->r == -ERR_EXISTS;
    attach_slot_release(c->owner->attach, &c->slot);
    work_check(c);
}

/* Who may not write to attachments goes without: only what was sent and not answered could hurt. */
static void on_fenced(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct csi_work *c = ctx;

    attach_slot_release(c->owner->attach, &c->slot);
    if (outcome != API_DONE && answer->r != -ERR_DENIED) {
        end_not_attached(c, answer);
        return;
    }
    c->is_found = false;
    work_check(c);
}

/* A write of the attachment that begins now. */
static struct api_write_options write_of(struct csi_work *c, enum client_verb verb, api_done_fn *done)
{
    return (struct api_write_options){
        .api = c->owner->attach->api,
        .request = { .verb = verb, .kind = kind_info(KIND_ATTACHMENT), .name = c->name },
        .step = API_STEP_ATTACHMENT,
        .informer = c->owner->attach->attachments,
        .done = done,
        .ctx = c
    };
}

static enum api_decision decide_fence(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    struct csi_work *c = ctx;
    char number[ATTACH_FENCE_BYTES];
    struct merge_patch p;

    attach_fence_number(c->owner->attach, number);
    merge_patch_begin(&p, body, now);
    merge_patch_annotation(&p, ATTACH_FENCE, number);
    return api_decision_of(merge_patch_end(&p, err));
}

/* It is there, attached, and not of our making: from the next version on it is ours. */
static void fence_attachment(struct attach_slot *t)
{
    struct csi_work *c = CONTAINER_OF(t, struct csi_work, slot);
    const struct attachment *attachment = cached_attachment(c);
    struct api_write_options w = write_of(c, CLIENT_PATCH, on_fenced);

    if (!attachment) { /* gone while it waited for its turn */
        attach_slot_release(c->owner->attach, t);
        work_check(c);
        return;
    }
    w.object = &attachment->obj;
    w.decide = decide_fence;
    api_write_start(&c->write, &w);
}

/* What was a pod's volume comes with its spec, since there is no PersistentVolume to read it from. */
static void write_attachment(const struct csi_work *c, struct buf *out)
{
    const struct volume_spec *s = &c->owner->spec.spec;

    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "storage.k8s.io/v1");
    json_out_text(out, "kind", "VolumeAttachment");
    json_out_object(out, "metadata");
    json_out_text(out, "name", c->name);
    json_out_end_object(out);
    json_out_object(out, "spec");
    json_out_text(out, "attacher", c->driver);
    json_out_text(out, "nodeName", c->owner->node);
    json_out_object(out, "source");
    if (s->was_inlined)
        json_out_raw(out, "inlineVolumeSpec", json_peek(s->volume->obj.text, "spec"));
    else
        json_out_text(out, "persistentVolumeName", s->volume->obj.name);
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_end_object(out);
}

static void create_attachment(struct attach_slot *t)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct csi_work *c = CONTAINER_OF(t, struct csi_work, slot);
    struct api_write_options w = write_of(c, CLIENT_CREATE, on_created);

    write_attachment(c, &body);
    w.failed = body.failed;
    w.body = buf_str(&body);
    api_write_start(&c->write, &w);
}

static void csi_attach(struct attach_work *w)
{
    struct csi_work *c = work_begin(w, CSI_ATTACHING);

    if (!c)
        return;
    c->is_sent = c->is_found = cached_attachment(c) != NULL;
    if (c->is_sent)
        loop_defer(&c->later);
    else
        attach_slot_acquire(w->attach, &c->slot, create_attachment);
}

/* --- Detaching --- */

static void delete_version(struct csi_work *c, const struct object *o);

/* Gone from the cache too, or an attach that follows would take it for its own. */
static void await_end(struct csi_work *c)
{
    c->is_sent = true;
    attach_slot_release(c->owner->attach, &c->slot);
    work_check(c);
}

static void end_not_detached(struct csi_work *c, const struct client_answer *answer)
{
    struct error err = answer->error;

    (void)error_wrap(&err, "detacher.Detach failed to delete VolumeAttachment [%s]", c->name);
    work_end(c, answer->r, &err);
}

static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct csi_work *c = ctx;

    /* It has changed, or another has its name. */
    if (outcome != API_DONE && answer->object && !answer->object->is_deleting &&
        c->reads++ < DELETE_READS_MAX)
        delete_version(c, answer->object);
    else if (api_write_succeeded(outcome))
        await_end(c);
    else
        end_not_detached(c, answer);
}

/* This one, as it was when nobody wanted it any more. */
static void delete_version(struct csi_work *c, const struct object *o)
{
    struct api_write_options w = write_of(c, CLIENT_DELETE, on_deleted);

    w.object = o;
    w.is_exact = true;
    api_write_start(&c->write, &w);
}

static void on_read_for_delete(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct csi_work *c = ctx;

    if (outcome == API_DONE)
        delete_version(c, answer->object);
    else if (answer->r == -ERR_NOT_FOUND)
        await_end(c);
    else
        end_not_detached(c, answer);
}

/* Where the cache does not know it the server may. */
static void delete_attachment(struct attach_slot *t)
{
    struct csi_work *c = CONTAINER_OF(t, struct csi_work, slot);
    const struct attachment *attachment = cached_attachment(c);

    if (attachment)
        delete_version(c, &attachment->obj);
    else
        api_read(&c->write, &c->owner->attach->api, KIND_ATTACHMENT, "", c->name, on_read_for_delete, c);
}

static void csi_detach(struct attach_work *w)
{
    struct csi_work *c = work_begin(w, CSI_DETACHING);

    if (c)
        attach_slot_acquire(w->attach, &c->slot, delete_attachment);
}

/* --- Verifying --- */

static void on_read_for_verify(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct csi_work *c = ctx;

    c->owner->is_attached =
        outcome == API_DONE && ((const struct attachment *)(const void *)answer->object)->is_attached;
    if (answer->r < 0 && answer->r != -ERR_NOT_FOUND)
        work_end(c, answer->r, &answer->error); /* no answer proves nothing */
    else
        work_end(c, 0, NULL);
}

static void read_attachment(struct attach_slot *t)
{
    struct csi_work *c = CONTAINER_OF(t, struct csi_work, slot);

    api_read(&c->write, &c->owner->attach->api, KIND_ATTACHMENT, "", c->name, on_read_for_verify, c);
}

/* A driver that needs no attaching has it all attached. */
static void csi_verify(struct attach_work *w)
{
    struct csi_work *c = work_begin(w, CSI_VERIFYING);
    const struct attachment *attachment = c ? cached_attachment(c) : NULL;
    struct attacher_choice m = { 0 };
    struct error err;

    if (!c)
        return;
    w->is_attached =
        attacher_select(w->attach, &w->spec, w->node, &m, /* ret_name= */ NULL, &err) == 0 && !m.attacher;
    if (w->is_attached || attachment) {
        w->is_attached = w->is_attached || attachment->is_attached;
        loop_defer(&c->later);
    } else {
        attach_slot_acquire(w->attach, &c->slot, read_attachment);
    }
}

const struct attacher csi_attacher = { csi_attach, csi_detach, csi_verify, csi_drop };
