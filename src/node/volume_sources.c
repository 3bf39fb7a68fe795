/* Fetches ConfigMaps, Secrets and tokens for volumes, and watches the objects while pods use them; tokens are
 * in volume_sources_token.c.
 *
 * An item that is available is filled at once, the others when the first list of their object or the response
 * for their token arrives; the last one ends the fetch. A change during a fetch is reported as a change, so a
 * filled item is never outdated for long. Costs: O(log n) per item in the number of watched objects; a change
 * costs one step per pod that uses the object. */
#include "node/volume_sources.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/names.h"
#include "node/volume_sources_int.h"

/* Of a fetch: items, waits and tokens. */
#define FETCH_BYTES_MAX ((size_t)64 << 20)
#define NEVER_CAME "failed to sync %s cache: timed out waiting for the condition"

/* --- Order --- */

static int pod_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct shown_pod *)a)->uid, ((const struct shown_pod *)b)->uid);
}

static int pod_cmp_key(void *ctx, const void *key, const void *pod)
{
    (void)ctx;
    return strcmp(key, ((const struct shown_pod *)pod)->uid);
}

/* Keys are objects with kind, ns and name set. */
static int object_cmp(void *ctx, const void *a, const void *b)
{
    const struct shown_object *left = a, *right = b;
    int c = (int)left->kind - (int)right->kind;

    (void)ctx;
    if (c == 0)
        c = strcmp(left->ns, right->ns);
    return c ? c : strcmp(left->name, right->name);
}

/* --- Waiting items --- */

static const char *kind_word(enum kind k)
{
    return k == KIND_SECRET ? "secret" : "configmap";
}

void content_item_fail(struct volume_content *item, const struct error *err)
{
    item->err = *err;
    item->r = -(int)err->code;
}

void content_wait_begin(struct content_wait *w, struct content_waits *queue)
{
    w->queue = queue;
    TAILQ_INSERT_TAIL(queue, w, link);
    w->fetch->waiting++;
}

static void wait_leave(struct content_wait *w)
{
    TAILQ_REMOVE(w->queue, w, link);
    w->queue = NULL;
    w->fetch->waiting--;
}

void content_wait_end(struct content_wait *w)
{
    struct volume_sources_fetch *f = w->fetch;

    wait_leave(w);
    if (f->waiting == 0) {
        timer_disarm(&f->limit);
        loop_defer(&f->later);
    }
}

/* --- Notifying pods --- */

void shown_pod_mark(struct shown_pod *p)
{
    struct volume_sources *c = p->contents;

    if (p->is_changed)
        return;
    p->is_changed = true;
    TAILQ_INSERT_TAIL(&c->changed, p, changed);
    loop_defer(&c->tell);
}

static void pod_unmark(struct shown_pod *p)
{
    if (p->is_changed)
        TAILQ_REMOVE(&p->contents->changed, p, changed);
    p->is_changed = false;
}

static void on_notify(void *ctx)
{
    struct volume_sources *c = ctx;
    struct shown_pod *p;

    while ((p = TAILQ_FIRST(&c->changed))) {
        pod_unmark(p);
        c->o.changed(c->o.ctx, p->uid); /* may free the pod, or any other */
    }
}

/* --- Watched objects --- */

static void object_changed(struct shown_object *s)
{
    for (size_t i = 0; i < s->pods.count; i++)
        shown_pod_mark(s->pods.items[i]);
}

static void item_take_object(struct volume_content *item, const struct shown_object *s)
{
    const struct object *o = informer_get(s->informer, s->ns, s->name);

    if (o)
        item->object = object_ref(o);
    else
        item->r = informer_not_found(s->informer, s->name, &item->err);
}

static void on_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    if (!is_initial)
        object_changed(ctx);
}

static void on_upsert(void *ctx, const struct object *o)
{
    (void)o;
    object_changed(ctx);
}

static void on_synced(void *ctx)
{
    struct shown_object *s = ctx;
    struct content_wait *w;

    s->is_synced = true;
    while ((w = TAILQ_FIRST(&s->waits))) {
        item_take_object(w->item, s);
        content_wait_end(w);
    }
    if (s->is_missed)
        object_changed(s);
}

static struct shown_object *object_free(struct shown_object *s)
{
    if (!s)
        return NULL;
    assert(TAILQ_EMPTY(&s->waits));
    (void)informer_free(s->informer);
    vec_done(&s->pods);
    free(s->ns);
    free(s->name);
    free(s);
    return NULL;
}
DEFINE_CLEANUP(struct shown_object, object_free)

/* Independent of the other watched objects. */
static uint64_t object_seed(const struct volume_sources *c, const struct shown_object *s)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1024);
    struct rng own;

    buf_addf(&text, "%s/%s/%s", kind_word(s->kind), s->ns, s->name); /* without memory any seed is used */
    rng_fork(&c->seeds, text.failed ? "" : buf_cstr(&text), &own);
    return rng_u64(&own);
}

static int object_watch(struct volume_sources *c, struct shown_object *s, struct error *err)
{
    char selector[512]; /* of a name of at most 253 bytes, without special characters */
    struct informer_options o = {
        .loop = c->o.part.loop,
        .client = c->o.part.client,
        .metrics = c->o.part.metrics,
        .seed = object_seed(c, s),
        .kind = kind_info(s->kind),
        .ns = s->ns,
        .field_selector = selector,
    };
    int r;

    (void)snprintf(selector, sizeof selector, "metadata.name=%s", s->name);
    r = informer_new(&o, &s->informer, err);
    if (r < 0)
        return r;
    s->handler = (struct informer_handler){
        .on_add = on_add, .on_upsert = on_upsert, .on_removed = on_upsert, .on_synced = on_synced, .ctx = s
    };
    informer_add_handler(s->informer, &s->handler);
    return 0;
}

/* NULL without memory. */
static struct shown_object *object_new_watched(struct volume_sources *c, enum kind k, const char *ns,
                                               const char *name)
{
    _cleanup_(object_free_p) struct shown_object *s = calloc(1, sizeof *s);
    struct error err;

    if (!s)
        return NULL;
    TAILQ_INIT(&s->waits);
    s->contents = c;
    s->kind = k;
    s->ns = strdup(ns);
    s->name = strdup(name);
    if (!s->ns || !s->name || object_watch(c, s, &err) < 0 || omap_insert(&c->objects, /* rank= */ 0, s) < 0)
        return NULL;
    informer_start(s->informer);
    return TAKE(s);
}

static struct shown_object *contents_object(struct volume_sources *c, enum kind k, const char *ns,
                                            const char *name)
{
    /* A key is only read. */
    struct shown_object key = { .kind = k, .ns = (char *)(uintptr_t)ns, .name = (char *)(uintptr_t)name };
    struct shown_object *s = omap_find(&c->objects, /* rank= */ 0, &key);

    return s ? s : object_new_watched(c, k, ns, name);
}

static void contents_drop_object(struct volume_sources *c, struct shown_object *s)
{
    if (s->pods.count)
        return;
    (void)omap_remove(&c->objects, /* rank= */ 0, s);
    (void)object_free(s);
}

/* --- Pods --- */

static struct shown_pod *contents_pod(struct volume_sources *c, const char *uid)
{
    struct shown_pod *p = omap_find(&c->pods, /* rank= */ 0, uid);

    if (p)
        return p;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->contents = c;
    p->uid = strdup(uid);
    TAILQ_INIT(&p->tokens);
    if (!p->uid || omap_insert(&c->pods, /* rank= */ 0, p) < 0) {
        free(p->uid);
        free(p);
        return NULL;
    }
    return p;
}

static bool pod_is_full(const struct shown_pod *p)
{
    return p->objects.count + p->tokens_count >= CONTENTS_POD_MAX;
}

/* NULL when the pod does not use it yet. */
static struct shown_object *pod_find(const struct shown_pod *p, enum kind k, const char *name)
{
    for (size_t i = 0; i < p->objects.count; i++)
        if (p->objects.items[i]->kind == k && strcmp(p->objects.items[i]->name, name) == 0)
            return p->objects.items[i];
    return NULL;
}

/* The pod uses the object from now on. NULL when out of memory. */
static struct shown_object *pod_show(struct shown_pod *p, enum kind k, const char *ns, const char *name)
{
    struct shown_object *s = contents_object(p->contents, k, ns, name);

    if (!s)
        return NULL;
    if (vec_reserve(&p->objects, 1) < 0 || vec_reserve(&s->pods, 1) < 0) {
        contents_drop_object(p->contents, s);
        return NULL;
    }
    p->objects.items[p->objects.count++] = s;
    s->pods.items[s->pods.count++] = p;
    return s;
}

/* Ends the waits of fetches for this pod with an error. */
static void end_waits(struct content_waits *waits, const char *pod_uid)
{
    struct content_wait *w, *next;
    struct error gone;

    (void)error_set(&gone, ERR_CANCELLED, "the pod's volumes are being unmounted");
    for (w = TAILQ_FIRST(waits); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (strcmp(w->fetch->pod->uid, pod_uid) != 0)
            continue;
        content_item_fail(w->item, &gone);
        content_wait_end(w);
    }
}

static void pod_leave(struct shown_pod *p, struct shown_object *s)
{
    size_t at = 0;

    end_waits(&s->waits, p->uid);
    while (s->pods.items[at] != p)
        at++;
    vec_remove(&s->pods, at);
    contents_drop_object(p->contents, s);
}

void volume_sources_drop_pod(struct volume_sources *c, const char *pod_uid)
{
    struct shown_pod *p = omap_find(&c->pods, /* rank= */ 0, pod_uid);
    struct shown_token *t;

    if (!p)
        return;
    for (size_t i = 0; i < p->objects.count; i++)
        pod_leave(p, p->objects.items[i]);
    vec_done(&p->objects);
    while ((t = TAILQ_FIRST(&p->tokens))) {
        end_waits(&t->waits, p->uid);
        shown_token_free(t);
    }
    tokens_drop_pod(c->tokens, p->uid);
    pod_unmark(p);
    (void)omap_remove(&c->pods, /* rank= */ 0, p);
    free(p->uid);
    free(p);
}

/* --- Fetches --- */

static void on_done(void *ctx)
{
    struct volume_sources_fetch *f = ctx;
    struct error err = { 0 };
    int r = f->has_failed ? error_no_memory(&err) : 0;

    f->contents->fetches--;
    f->contents = NULL;
    f->done(f, r, &err); /* may free f */
}

/* The timeout of a fetch: an old token can still be used, an object cannot. */
static void wait_give_up(struct content_wait *w)
{
    struct error late;

    if (w->token) {
        (void)error_set(&late, ERR_UNAVAILABLE, "timed out waiting for the condition");
        shown_token_fall_back(w->token, w, &late);
    } else {
        (void)error_set(&late, ERR_UNAVAILABLE, NEVER_CAME, kind_word(w->object->kind));
        w->object->is_missed = true;
        content_item_fail(w->item, &late);
        content_wait_end(w);
    }
}

static void on_limit(void *ctx)
{
    struct volume_sources_fetch *f = ctx;

    for (uint32_t i = 0; i < f->count; i++)
        if (f->waits[i].queue)
            wait_give_up(&f->waits[i]);
}

static int count_need(void *ctx, const struct content_need *n)
{
    (void)n;
    ++*(uint32_t *)ctx;
    return 0;
}

static int item_too_many(struct volume_content *item)
{
    item->r = error_set(&item->err, ERR_TOO_LARGE,
                        "the pod's volumes refer to more than %d objects and tokens", CONTENTS_POD_MAX);
    return 0;
}

static int add_object(struct volume_sources_fetch *f, struct shown_pod *p, const struct content_need *n,
                      struct content_wait *w)
{
    enum kind k = n->projection == PROJECTION_SECRET ? KIND_SECRET : KIND_CONFIG_MAP;

    if (!name_is_valid(NAME_DNS_SUBDOMAIN, str_of(n->name))) { /* no object can have this name */
        w->item->r = error_set(&w->item->err, ERR_NOT_FOUND, "%s \"%s\" not found", kind_word(k), n->name);
        return 0;
    }
    w->object = pod_find(p, k, n->name);
    if (!w->object && pod_is_full(p))
        return item_too_many(w->item);
    if (!w->object)
        w->object = pod_show(p, k, f->pod->ns, n->name);
    if (!w->object)
        return -ERR_NO_MEMORY;
    if (w->object->is_synced)
        item_take_object(w->item, w->object);
    else
        content_wait_begin(w, &w->object->waits);
    return 0;
}

static int add_token(struct volume_sources_fetch *f, struct shown_pod *p, const struct content_need *n,
                     struct content_wait *w)
{
    struct shown_token *t = shown_token_find(p, n);

    if (!t && pod_is_full(p))
        return item_too_many(w->item);
    if (!t)
        t = shown_token_new(p, f->pod, n);
    if (!t)
        return -ERR_NO_MEMORY;
    shown_token_fetch(t, w);
    return 0;
}

static int add_need(void *ctx, const struct content_need *n)
{
    struct volume_sources_fetch *f = ctx;
    struct shown_pod *p = contents_pod(f->contents, f->pod->uid);
    struct content_wait *w = &f->waits[f->count];

    if (!p)
        return -ERR_NO_MEMORY;
    w->fetch = f;
    w->item = &f->items[f->count++];
    w->item->projection = n->projection;
    w->item->index = n->index;
    return n->projection == PROJECTION_TOKEN ? add_token(f, p, n, w) : add_object(f, p, n, w);
}

static void fetch_leave(struct volume_sources_fetch *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->waits[i].queue)
            wait_leave(&f->waits[i]);
    timer_disarm(&f->limit);
}

/* Allocates this number of items. */
static void fetch_open(struct volume_sources *c, const struct object *pod, size_t needs,
                       struct volume_sources_fetch *f)
{
    assert(f->done && !f->contents && !f->pod);
    c->fetches++;
    f->contents = c;
    f->pod = object_ref(pod);
    f->arena = ARENA_INIT(FETCH_BYTES_MAX);
    deferred_init(&f->later, c->o.part.loop, on_done, f);
    timer_init(&f->limit, c->o.part.loop, on_limit, f);
    f->items = arena_array(&f->arena, needs + 1, sizeof *f->items);
    f->waits = arena_array(&f->arena, needs + 1, sizeof *f->waits);
    f->has_failed = !f->items || !f->waits;
}

/* All requests are sent. */
static void fetch_begin(struct volume_sources_fetch *f)
{
    if (f->has_failed)
        fetch_leave(f);
    if (f->waiting == 0)
        loop_defer(&f->later);
    else
        timer_arm_after(&f->limit, CONTENTS_WAIT_NS);
}

void volume_sources_fetch(struct volume_sources *c, const struct object *pod, const struct volume_spec *s,
                          struct volume_sources_fetch *f)
{
    uint32_t needs = 0;

    (void)content_needs(s, pod_of(pod), count_need, &needs);
    fetch_open(c, pod, needs, f);
    f->has_failed = f->has_failed || content_needs(s, pod_of(pod), add_need, f) < 0;
    fetch_begin(f);
}

void volume_sources_fetch_tokens(struct volume_sources *c, const struct object *pod,
                                 const struct token_request *requests, uint32_t count,
                                 struct volume_sources_fetch *f)
{
    fetch_open(c, pod, count, f);
    for (uint32_t i = 0; i < count && !f->has_failed; i++) {
        const struct content_need n = { .projection = PROJECTION_TOKEN,
                                        .index = i,
                                        .name = pod_of(pod)->service_account,
                                        .audience = requests[i].audience,
                                        .expiration_seconds = requests[i].expiration_seconds };

        f->has_failed = add_need(f, &n) < 0;
    }
    fetch_begin(f);
}

void volume_sources_fetch_end(struct volume_sources_fetch *f)
{
    if (f->contents) {
        fetch_leave(f);
        loop_undefer(&f->later);
        f->contents->fetches--;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        (void)object_unref((struct object *)(uintptr_t)f->items[i].object);
        if (f->items[i].token.len)
            explicit_bzero((char *)(uintptr_t)f->items[i].token.s, f->items[i].token.len);
    }
    (void)object_unref(f->pod);
    arena_done(&f->arena);
    *f = (struct volume_sources_fetch){ .done = f->done };
}

/* --- Start and end --- */

/* A token that was not fetched again is no longer requested by its volume. One whose renewal fails is kept
 * for a while, so that errors can report that it has expired. */
static void on_expiry(void *ctx)
{
    struct volume_sources *c = ctx;

    tokens_drop_expired(c->tokens, clock_real_ns(c->o.part.clock) - TOKENS_KEPT_NS);
    volume_sources_watch_expiry(c);
}

void volume_sources_watch_expiry(struct volume_sources *c)
{
    if (tokens_count(c->tokens) && !timer_is_armed(&c->expiry))
        timer_arm_after(&c->expiry, TOKENS_EXPIRY_NS);
}

int volume_sources_new(const struct volume_sources_options *o, struct volume_sources **ret, struct error *err)
{
    _cleanup_(volume_sources_free_p) struct volume_sources *c = calloc(1, sizeof *c);
    int r;

    assert(o->changed);
    if (!c)
        return error_no_memory(err);
    c->o = *o;
    TAILQ_INIT(&c->changed);
    omap_init(&c->pods, (struct omap_order){ pod_cmp, pod_cmp_key, NULL });
    omap_init(&c->objects, (struct omap_order){ object_cmp, object_cmp, NULL });
    rng_init(&c->seeds, component_seed(&o->part, "contents"));
    rng_fork(&c->seeds, "tokens", &c->rng);
    deferred_init(&c->tell, o->part.loop, on_notify, c);
    timer_init(&c->expiry, o->part.loop, on_expiry, c);
    r = component_api(&o->part, /* manager= */ NULL, &c->api, err);
    if (r == 0)
        r = tokens_new(&c->tokens, err);
    if (r < 0)
        return r;
    *ret = TAKE(c);
    return 0;
}

struct volume_sources *volume_sources_free(struct volume_sources *c)
{
    struct omap_cursor at;
    struct shown_pod *p;

    if (!c)
        return NULL;
    assert(c->fetches == 0);
    while ((p = omap_first(&c->pods, &at)))
        volume_sources_drop_pod(c, p->uid);
    loop_undefer(&c->tell);
    timer_disarm(&c->expiry);
    omap_done(&c->pods);
    omap_done(&c->objects);
    (void)tokens_free(c->tokens);
    free(c);
    return NULL;
}
