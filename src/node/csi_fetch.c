/* Fetches the data that a CSI driver gets besides the volume. It is read right before the call, since a
 * Secret may have changed after the last one. Costs: one request each for the VolumeAttachment and the
 * Secret, sent concurrently, where the step needs them; tokens are usually cached. */
#include "node/csi_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "api/times.h"

#define FETCH_BYTES_MAX ((size_t)1 << 20)

static void on_done(void *ctx)
{
    struct csi_fetch *f = ctx;
    struct error err = f->failure;

    f->csi->fetches--;
    f->csi = NULL;
    f->done(f, -(int)err.code, &err); /* may free f */
}

/* One of the awaited responses has arrived. */
static void fetch_settle(struct csi_fetch *f)
{
    if (--f->waiting == 0)
        loop_defer(&f->later);
}

/* --- Objects --- */

static void take_object(struct csi_fetched *to, enum api_outcome outcome, const struct client_answer *a)
{
    to->r = a->r;
    to->err = a->error;
    if (outcome == API_DONE)
        to->object = object_ref(a->object);
}

static void on_secret(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_fetch *f = ctx;

    take_object(&f->request.secret, outcome, a);
    fetch_settle(f);
}

static void on_attachment(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_fetch *f = ctx;

    take_object(&f->request.attachment, outcome, a);
    fetch_settle(f);
}

static void fetch_object(struct csi_fetch *f, const struct csi_need *n)
{
    struct api api = { .client = f->csi->o.part.client, .loop = f->csi->o.part.loop };

    f->waiting++;
    if (n->kind == CSI_NEED_SECRET)
        api_read(&f->secret, &api, KIND_SECRET, n->ns, n->name, on_secret, f);
    else
        api_read(&f->attachment, &api, KIND_ATTACHMENT, NULL, n->name, on_attachment, f);
}

/* --- Tokens --- */

/* The expiry time of a token in the format of the API. NULL when out of memory. */
static const char *expiry_text(struct arena *a, int64_t real_ns)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    timestamp_format(timestamp_of_ns(real_ns), &out);
    return out.failed ? NULL : arena_dup(a, buf_str(&out));
}

static int take_tokens(struct csi_fetch *f, struct error *err)
{
    const struct csi_driver *d = f->request.driver;
    struct csi_token *all = arena_array(&f->arena, f->tokens.count + (size_t)1, sizeof *all);

    for (uint32_t i = 0; all && i < f->tokens.count; i++) {
        const struct volume_content *item = &f->tokens.items[i];

        if (item->r < 0) {
            f->request.token.r = item->r;
            f->request.token.err = item->err;
            return 0;
        }
        all[i] = (struct csi_token){ d->token_requests[i].audience, item->token,
                                     expiry_text(&f->arena, item->expires_real_ns) };
        if (!all[i].expires)
            all = NULL;
    }
    if (!all)
        return error_no_memory(err);
    f->request.tokens = all;
    f->request.tokens_count = f->tokens.count;
    return 0;
}

static void on_tokens(struct volume_sources_fetch *tokens, int r, const struct error *err)
{
    struct csi_fetch *f = CONTAINER_OF(tokens, struct csi_fetch, tokens);

    if (r < 0)
        f->failure = *err;
    else
        (void)take_tokens(f, &f->failure);
    fetch_settle(f);
}

/* --- Fetches --- */

/* Token needs are reported one by one; the first one fetches all of them. */
static int add_need(void *ctx, const struct csi_need *n)
{
    struct csi_fetch *f = ctx;

    if (n->kind != CSI_NEED_TOKEN) {
        fetch_object(f, n);
    } else if (n->index == 0) {
        f->waiting++;
        f->tokens.done = on_tokens;
        volume_sources_fetch_tokens(f->csi->o.contents, f->pod, f->request.driver->token_requests,
                                    f->request.driver->token_requests_count, &f->tokens);
    }
    return 0;
}

void csi_fetch(struct node_csi *c, enum csi_step step, const struct object *pod, const struct volume_spec *s,
               bool is_block, struct csi_fetch *f)
{
    struct volume_source source = spec_source(s);
    const struct object *driver =
        source.kind == SOURCE_CSI ? node_csi_driver_object(c, source.csi->driver) : NULL;

    assert(f->done && !f->csi && !f->pod);
    assert(pod || (step == CSI_EXPAND && s->volume));
    c->fetches++;
    f->csi = c;
    f->pod = pod ? object_ref(pod) : NULL;
    f->driver = driver ? object_ref(driver) : NULL;
    f->arena = ARENA_INIT(FETCH_BYTES_MAX);
    f->request = CSI_REQUEST_INIT;
    f->request.driver = (const struct csi_driver *)(const void *)f->driver;
    f->request.fs_group = pod ? pod_of(pod)->fs_group : -1;
    deferred_init(&f->later, c->o.part.loop, on_done, f);
    f->waiting = 1; /* this call */
    (void)csi_needs(step, s, pod ? pod_of(pod) : NULL, c->o.node_name, f->request.driver, is_block, add_need,
                    f, &f->failure);
    fetch_settle(f);
}

void csi_fetch_end(struct csi_fetch *f)
{
    if (f->csi) {
        api_write_cancel(&f->secret);
        api_write_cancel(&f->attachment);
        loop_undefer(&f->later);
        f->csi->fetches--;
    }
    volume_sources_fetch_end(&f->tokens);
    (void)object_unref((struct object *)(uintptr_t)f->request.secret.object);
    (void)object_unref((struct object *)(uintptr_t)f->request.attachment.object);
    (void)object_unref(f->driver);
    (void)object_unref(f->pod);
    arena_done(&f->arena);
    *f = (struct csi_fetch){ .done = f->done };
}
