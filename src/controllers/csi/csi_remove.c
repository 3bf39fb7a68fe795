/* Deletes the storage of a released volume: DeleteVolume with the secret that the volume names, or that its
 * class names. A missing secret does not stop the deletion; a volume that is attached is not deleted. */
#include "controllers/csi/csi_provision_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "api/config.h"
#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"

/* One call of the loop. */
struct csi_remove {
    struct csi_provisioner *provisioner;
    struct removal_call *call;
    struct object *volume, *class; /* class: NULL if it does not exist */
    struct arena arena;            /* of the reference */
    struct secret_ref secret;
    struct deferred begin; /* the start must not report an end */
    struct api_write read;
    struct csi_controller_call rpc;
};

static void remove_free(struct csi_remove *w)
{
    loop_undefer(&w->begin);
    api_write_cancel(&w->read);
    csi_controller_call_cancel(&w->rpc);
    (void)object_unref(w->volume);
    (void)object_unref(w->class);
    arena_done(&w->arena);
    free(w);
}

static void remove_end(struct csi_remove *w, int r, const struct error *err)
{
    struct removal_call *c = w->call;

    c->work = NULL;
    c->done(c, r, err);
    remove_free(w);
}

/* --- Checks --- */

/* The node that a VolumeAttachment ties the volume to; NULL: none. */
static const char *attached_node(const struct csi_provisioner *p, const char *volume)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(p->attachments, &at); o; o = informer_next(&at)) {
        const struct attachment *va = (const struct attachment *)(const void *)o;

        if (strcmp(va->volume_name, volume) == 0)
            return va->node_name;
    }
    return NULL;
}

/* Without a CSIDriver object drivers attach. */
static bool driver_attaches(const struct csi_provisioner *p)
{
    const struct object *o = informer_get(p->drivers, "", csi_peer_name(p->o.peer));

    return !o || ((const struct csi_driver *)(const void *)o)->attach_required;
}

static int check_attached(const struct csi_remove *w, struct error *err)
{
    const char *volume = w->volume->name;
    const char *node = driver_attaches(w->provisioner) ? attached_node(w->provisioner, volume) : NULL;

    if (MUTANT("csi-deletes-attached-volumes"))
        return 0;
    return node ? error_set(err, ERR_BUSY, "persistentvolume %s is still attached to node %s", volume, node)
                : 0;
}

/* --- The secret --- */

/* From the annotations, which are empty for none; volumes without them: from the class. */
static int find_secret(struct csi_remove *w, struct error *err)
{
    const char *name = object_annotation(w->volume, ANN_DELETION_SECRET_NAME);
    const char *ns = object_annotation(w->volume, ANN_DELETION_SECRET_NAMESPACE);

    w->secret = (struct secret_ref){ "", "" };
    if (name && ns) {
        w->secret = (struct secret_ref){ ns, name };
        return 0;
    }
    if (!w->class)
        return 0;
    return csi_secret_reference(&w->arena, (const struct storage_class *)(const void *)w->class,
                                CSI_FOR_PROVISIONER,
                                /* claim= */ NULL, w->volume->name, &w->secret, err);
}

/* --- DeleteVolume --- */

static void on_deleted(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_remove *w = CONTAINER_OF(c, struct csi_remove, rpc);
    struct error err = { 0 };

    if (a->outcome != CSI_DONE)
        err = *a->err;
    else
        csi_capacity_on_deleted(w->provisioner->capacity, volume_of(w->volume)->affinity);
    remove_end(w, -(int)err.code, &err);
}

static void call_delete(struct csi_remove *w, const struct secret *secret)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    Csi__V1__DeleteVolumeRequest m;
    struct csi_secrets secrets = { 0 };
    struct error err;

    csi__v1__delete_volume_request__init(&m);
    if (secret && csi_secret_messages(&a, secret, &secrets, &err) < 0) {
        remove_end(w, -(int)err.code, &err);
        return;
    }
    m.volume_id = (char *)(uintptr_t)volume_of(w->volume)->source.csi->handle; /* is not modified */
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    w->rpc.done = on_deleted;
    csi_controller_call_about(&w->rpc, w->volume);
    csi_controller_call_start(w->provisioner->o.peer, &w->rpc, CSI_DELETE_VOLUME, &m.base,
                              csi_call_limit_ns(w->provisioner));
}

static void on_secret(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_remove *w = ctx;

    if (outcome == API_DONE) {
        call_delete(w, secret_of(a->object));
    } else if (a->r == -ERR_NOT_FOUND) {
        log_warn("secret for deletion not found, deleting without it", LOG_STR("volume", w->volume->name),
                 LOG_STR("secret", w->secret.name), LOG_STR("namespace", w->secret.ns));
        call_delete(w, NULL);
    } else {
        remove_end(w, a->r, &a->error);
    }
}

static void remove_begin(void *ctx)
{
    struct csi_remove *w = ctx;
    const struct volume *v = volume_of(w->volume);
    struct error err;
    int r = 0;

    if (v->source.kind != SOURCE_CSI ||
        strcmp(v->source.csi->driver, csi_peer_name(w->provisioner->o.peer)) != 0)
        r = error_set(&err, ERR_INVALID, "volume \"%s\" is not a volume of driver %s", v->obj.name,
                      csi_peer_name(w->provisioner->o.peer));
    if (r == 0)
        r = check_attached(w, &err);
    if (r == 0 && find_secret(w, &err) < 0) {
        log_warn("secret for deletion cannot be named, deleting without it", LOG_STR("volume", v->obj.name),
                 LOG_ERR(&err));
        w->secret = (struct secret_ref){ "", "" };
    }
    if (r < 0)
        remove_end(w, r, &err);
    else if (w->secret.name[0])
        api_read(&w->read, &w->provisioner->api, KIND_SECRET, w->secret.ns, w->secret.name, on_secret, w);
    else
        call_delete(w, NULL);
}

/* --- The type --- */

void csi_remove_start(void *ctx, const struct volume *v, const struct storage_class *class,
                      struct removal_call *c)
{
    struct csi_remove *w = calloc(1, sizeof *w);

    if (!w)
        die_with_reason("no memory for a call to a CSI driver: its volume would never be processed again");
    w->provisioner = ctx;
    w->call = c;
    c->work = w;
    w->arena = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    w->volume = object_ref(&v->obj);
    w->class = class ? object_ref(&class->obj) : NULL;
    deferred_init(&w->begin, w->provisioner->o.part.loop, remove_begin, w);
    loop_defer(&w->begin);
}

void csi_remove_cancel(void *ctx, struct removal_call *c)
{
    (void)ctx;
    if (c->work)
        remove_free(c->work);
    c->work = NULL;
}
