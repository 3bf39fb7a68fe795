/* Runs the functions of a blocking type as jobs. A job owns all that its function reads; the loop's call may
 * be cancelled while it runs, and the job then ends unheard. */
#include "controllers/provisioner/blocking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/die.h"
#include "base/mutant.h"
#include "base/vec.h"
#include "io/job.h"

#define SOURCE_BYTES_MAX ((size_t)1 << 20)
#define ANNOTATIONS_BYTES_MAX 1024
#define NO_MEMORY \
    "no memory for an operation of a provisioner: its claim or volume would never be processed again"

static const struct storage_class *class_view(const struct object *o)
{
    return (const struct storage_class *)(const void *)o;
}

/* --- The identity of the storage --- */

/* The identity for one job, with references to the volumes. */
struct identity_check {
    struct storage_identity identity;
    VEC(struct object *) volumes;
};

/* needs_volumes: the job before failed for lack of them. */
static void identity_check_init(struct identity_check *c, const struct blocking_provisioner *b,
                                bool needs_volumes)
{
    struct informer_cursor at;

    *c = (struct identity_check){ .identity.has_volumes = needs_volumes };
    memcpy(c->identity.id, b->identity, sizeof c->identity.id);
    for (const struct object *o = needs_volumes ? informer_first(b->volumes, &at) : NULL; o;
         o = informer_next(&at)) {
        if (!object_annotation_is(o, ANN_PROVISIONED_BY, b->name))
            continue;
        if (vec_reserve(&c->volumes, 1) < 0)
            die_with_reason("no memory to check the storage of a provisioner: volumes would be overlooked");
        c->volumes.items[c->volumes.count++] = object_ref(o);
    }
    c->identity.volumes = c->volumes.items;
    c->identity.volumes_count = c->volumes.count;
}

static void identity_check_done(struct identity_check *c)
{
    for (size_t i = 0; i < c->volumes.count; i++)
        (void)object_unref(c->volumes.items[i]);
    vec_done(&c->volumes);
}

/* The job failed only because it needs to know the volumes: it is repeated with them. */
static bool identity_check_needs_volumes(const struct identity_check *c, int r)
{
    return r < 0 && c->identity.needs_volumes && !c->identity.has_volumes;
}

static void keep_identity(struct blocking_provisioner *b, const struct identity_check *c)
{
    memcpy(b->identity, c->identity.id, sizeof b->identity);
}

/* --- Provisioning --- */

struct provision_work {
    struct job job;
    struct blocking_provisioner *owner; /* on the loop only */
    struct identity_check check;
    const struct blocking_type *type;
    const void *ctx;
    struct provision_call *call;
    char name[320];
    struct object *claim, *class, *node;
    struct buf source;
    enum provision_state state;
};

static int provision_run(struct job *j, struct error *err)
{
    struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);
    struct provisioner_request q = { .volume_name = w->name,
                                     .claim = claim_of(w->claim),
                                     .class = class_view(w->class),
                                     .node = w->node ? node_of(w->node) : NULL };

    return w->type->provision(w->ctx, &q, &w->check.identity, &j->stop, &w->source, &w->state, err);
}

static void provision_free(struct job *j)
{
    struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);

    (void)object_unref(w->claim);
    (void)object_unref(w->class);
    (void)object_unref(w->node);
    identity_check_done(&w->check);
    buf_done(&w->source);
    free(w);
}

static const struct job_type provision_job_type = { "provisioning", provision_run, provision_free };

static void begin_provision(struct blocking_provisioner *b, const struct provisioner_request *q,
                            struct provision_call *c, bool needs_volumes);

/* The same job again, with the volumes. */
static void repeat_provision(const struct provision_work *w, struct provision_call *c)
{
    struct provisioner_request q = { .volume_name = w->name,
                                     .claim = claim_of(w->claim),
                                     .class = class_view(w->class),
                                     .node = w->node ? node_of(w->node) : NULL };

    begin_provision(w->owner, &q, c, /* needs_volumes= */ true);
}

static void on_provisioned(void *ctx, struct job *j, int r, const struct error *err)
{
    _cleanup_(buf_done_p) struct buf annotations = BUF_INIT(ANNOTATIONS_BYTES_MAX);
    struct provision_work *w = CONTAINER_OF(j, struct provision_work, job);
    struct provision_call *c = ctx;
    struct provision_result result = { .r = r, .err = err, .state = w->state, .spec = buf_str(&w->source) };

    if (identity_check_needs_volumes(&w->check, r)) {
        repeat_provision(w, c);
        return;
    }
    if (r == 0) {
        keep_identity(w->owner, &w->check);
        if (w->check.identity.id[0] && w->type->identity_annotation)
            json_out_text(&annotations, w->type->identity_annotation, w->check.identity.id);
        result.annotations = buf_str(&annotations);
    }
    c->work = NULL;
    c->done(c, &result);
}

static void begin_provision(struct blocking_provisioner *b, const struct provisioner_request *q,
                            struct provision_call *c, bool needs_volumes)
{
    struct provision_work *w = calloc(1, sizeof *w);

    if (!w)
        die_with_reason(NO_MEMORY);
    w->job.type = &provision_job_type;
    w->owner = b;
    w->type = b->type;
    w->ctx = b->ctx;
    (void)snprintf(w->name, sizeof w->name, "%s", q->volume_name);
    w->job.about = w->name;
    w->claim = object_ref(&q->claim->obj);
    w->class = object_ref(&q->class->obj);
    w->node = q->node ? object_ref(&q->node->obj) : NULL;
    w->source = BUF_INIT(SOURCE_BYTES_MAX);
    w->state = PROVISION_FINISHED;
    identity_check_init(&w->check, b, needs_volumes);
    c->work = &w->job;
    job_begin(&w->job, b->pool, on_provisioned, c);
}

static void blocking_provision(void *ctx, const struct provisioner_request *q, struct provision_call *c)
{
    begin_provision(ctx, q, c, /* needs_volumes= */ false);
}

static void blocking_provision_cancel(void *ctx, struct provision_call *c)
{
    (void)ctx;
    c->work = job_drop(c->work);
}

/* --- Removal --- */

struct removal_work {
    struct job job;
    struct blocking_provisioner *owner; /* on the loop only */
    struct identity_check check;
    const struct blocking_type *type;
    const void *ctx;
    struct object *volume, *class;
    struct host_guard *guard;
    struct error refusal; /* why nothing may be removed; ERR_NONE: it may */
};

static int removal_run(struct job *j, struct error *err)
{
    struct removal_work *w = CONTAINER_OF(j, struct removal_work, job);

    if (w->refusal.code != ERR_NONE) {
        *err = w->refusal;
        return -(int)err->code;
    }
    if (MUTANT("provisioner-leaves-directories"))
        return 0;
    return w->type->remove(w->ctx, volume_of(w->volume), class_view(w->class), w->guard, &w->check.identity,
                           &j->stop, err);
}

static void removal_free(struct job *j)
{
    struct removal_work *w = CONTAINER_OF(j, struct removal_work, job);

    (void)object_unref(w->volume);
    (void)object_unref(w->class);
    w->guard = host_guard_free(w->guard);
    identity_check_done(&w->check);
    free(w);
}

static const struct job_type removal_job_type = { "storage removal", removal_run, removal_free };

static void begin_removal(struct blocking_provisioner *b, const struct volume *v,
                          const struct storage_class *class, struct removal_call *c, bool needs_volumes);

static void on_removed(void *ctx, struct job *j, int r, const struct error *err)
{
    struct removal_work *w = CONTAINER_OF(j, struct removal_work, job);
    struct removal_call *c = ctx;

    if (identity_check_needs_volumes(&w->check, r)) {
        begin_removal(w->owner, volume_of(w->volume), class_view(w->class), c, /* needs_volumes= */ true);
        return;
    }
    if (r == 0)
        keep_identity(w->owner, &w->check);
    c->work = NULL;
    c->done(c, r, err);
}

static void begin_removal(struct blocking_provisioner *b, const struct volume *v,
                          const struct storage_class *class, struct removal_call *c, bool needs_volumes)
{
    struct removal_work *w = calloc(1, sizeof *w);

    if (!w)
        die_with_reason(NO_MEMORY);
    w->job.type = &removal_job_type;
    w->owner = b;
    w->type = b->type;
    w->ctx = b->ctx;
    w->volume = object_ref(&v->obj);
    w->job.about = w->volume->name;
    w->class = class ? object_ref(&class->obj) : NULL;
    identity_check_init(&w->check, b, needs_volumes);
    (void)reclaim_guard_new(&b->reclaim, b->volumes, b->nodes, v, &w->guard,
                            &w->refusal); /* reported by the job */
    c->work = &w->job;
    job_begin(&w->job, b->pool, on_removed, c);
}

static void blocking_remove(void *ctx, const struct volume *v, const struct storage_class *class,
                            struct removal_call *c)
{
    begin_removal(ctx, v, class, c, /* needs_volumes= */ false);
}

static void blocking_remove_cancel(void *ctx, struct removal_call *c)
{
    (void)ctx;
    c->work = job_drop(c->work);
}

/* --- The type --- */

int blocking_provisioner_caches(struct blocking_provisioner *b, struct informers *all, struct error *err)
{
    b->volumes = reclaim_volumes(all, err);
    b->nodes = b->volumes ? informers_get(all, KIND_NODE, err) : NULL;
    return b->nodes ? 0 : -(int)err->code;
}

const struct provisioner_type blocking_provisioner_type = { .provision = blocking_provision,
                                                            .provision_cancel = blocking_provision_cancel,
                                                            .remove = blocking_remove,
                                                            .remove_cancel = blocking_remove_cancel };
