#include "machinery/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "machinery/merge_patch.h"
#include "machinery/write.h"

struct step {
    TAILQ_ENTRY(step) link;
    struct steps *steps;
    struct client_call call;
    struct informer *seen_by;
    step_fn *fn;
    void *ctx;
    size_t key_len;
    char key[];
};

void steps_init(struct steps *s, struct client *client, struct controller *controller, const char *manager)
{
    *s = (struct steps){ .client = client, .controller = controller, .manager = manager };
    TAILQ_INIT(&s->all);
}

static void step_free(struct step *x)
{
    TAILQ_REMOVE(&x->steps->all, x, link);
    client_cancel(&x->call);
    free(x);
}

void steps_done(struct steps *s)
{
    struct step *next;

    for (struct step *x = TAILQ_FIRST(&s->all); x; x = next) {
        next = TAILQ_NEXT(x, link);
        step_free(x);
    }
}

enum sync_result steps_result(struct str key, const struct client_answer *a)
{
    if (a->r == 0 || a->r == -ERR_NOT_FOUND)
        return SYNC_DONE;
    if (client_is_conflict(a))
        log_debug("overtaken by another writer", LOG_TEXT("key", key));
    else
        log_warn("cannot write, will try again", LOG_TEXT("key", key), LOG_ERR(&a->error));
    return SYNC_AGAIN;
}

static void on_answer(void *ctx, const struct client_answer *a)
{
    struct step *x = ctx;
    struct controller *c = x->steps->controller;
    struct str key = { x->key, x->key_len };
    enum sync_result result;

    if (a->r == 0 && a->object && x->seen_by)
        informer_observe(x->seen_by, a->object);
    result = x->fn ? x->fn(x->ctx, key, a) : steps_result(key, a);
    controller_finish(c, key, result);
    step_free(x);
}

enum sync_result steps_send(struct steps *s, struct str key, const struct client_request *q,
                            struct informer *seen_by, step_fn *fn, void *ctx)
{
    struct step *x = calloc(1, sizeof *x + key.len + 1);

    if (!x)
        return SYNC_AGAIN;
    x->steps = s;
    x->seen_by = seen_by;
    x->fn = fn;
    x->ctx = ctx;
    x->key_len = key.len;
    memcpy(x->key, key.s, key.len);
    TAILQ_INSERT_TAIL(&s->all, x, link);
    client_send(s->client, &x->call, q, on_answer, x);
    return SYNC_LATER;
}

enum sync_result steps_patch(struct steps *s, struct str key, const struct step_patch *p,
                             struct informer *seen_by, step_fn *fn, void *ctx)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = p->object->kind,
                                .ns = p->object->ns[0] ? p->object->ns : NULL,
                                .name = p->object->name,
                                .subresource = p->subresource,
                                .patch = p->kind,
                                .body = p->body,
                                .field_manager = s->manager };

    return steps_send(s, key, &q, seen_by, fn, ctx);
}

static enum sync_result change_finalizers(struct steps *s, struct str key, const struct object *o,
                                          const char *finalizer, bool adds, struct informer *seen_by)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct step_patch patch = { .object = o, .kind = CLIENT_PATCH_MERGE };
    struct merge_patch p;
    struct error err;

    merge_patch_begin(&p, &body, o);
    if (adds)
        merge_patch_add_finalizer(&p, o, finalizer);
    else
        merge_patch_remove_finalizer(&p, o, finalizer);
    if (merge_patch_end(&p, &err) < 0) {
        log_error("cannot change finalizers", LOG_TEXT("key", key), LOG_ERR(&err));
        return SYNC_AGAIN;
    }
    patch.body = buf_str(&body);
    return steps_patch(s, key, &patch, seen_by, /* fn= */ NULL, /* ctx= */ NULL);
}

enum sync_result steps_add_finalizer(struct steps *s, struct str key, const struct object *o,
                                     const char *finalizer, struct informer *seen_by)
{
    log_info("adding finalizer", LOG_STR("kind", o->kind->name), LOG_TEXT("key", key),
             LOG_STR("finalizer", finalizer));
    return change_finalizers(s, key, o, finalizer, /* adds= */ true, seen_by);
}

enum sync_result steps_remove_finalizer(struct steps *s, struct str key, const struct object *o,
                                        const char *finalizer, struct informer *seen_by)
{
    log_info("removing finalizer", LOG_STR("kind", o->kind->name), LOG_TEXT("key", key),
             LOG_STR("finalizer", finalizer));
    return change_finalizers(s, key, o, finalizer, /* adds= */ false, seen_by);
}
