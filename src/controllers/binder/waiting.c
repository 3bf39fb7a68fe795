#include "controllers/binder/waiting.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/die.h"
#include "base/map.h"
#include "base/omap.h"

struct waiter {
    const struct claim *claim;       /* a reference */
    struct bucket_of_claims *bucket; /* NULL: no volume wakes it */
    char *key;
};

/* Those that agree in class, volume mode, attributes class, and in whether node affinity keeps a volume from
 * them. */
struct bucket_of_claims {
    struct omap by_request;
    char *key;
};

struct waiting_claims {
    struct map waiters; /* by claim key */
    struct map buckets;
    struct omap by_key;
};

#define NO_MEMORY_FOR_CLAIM "no memory to remember a claim that waits for a volume: no volume would wake it"

static char *must_print(const char *a, char sep, const char *b)
{
    char *text = NULL;

    if (asprintf(&text, "%s%c%s", a, sep, b) < 0)
        die_with_reason(NO_MEMORY_FOR_CLAIM);
    return text;
}

static char *bucket_key(const char *class, unsigned mode, const char *attributes_class, enum wants wants)
{
    char *text = NULL;

    if (asprintf(&text, "%s\n%u\n%s\n%u", class, mode, attributes_class, (unsigned)wants) < 0)
        die_with_reason(NO_MEMORY_FOR_CLAIM);
    return text;
}

static int cmp_request(void *ctx, const void *a, const void *b)
{
    const struct waiter *waiter = a, *y = b;
    int r = quantity_cmp(&waiter->claim->request, &y->claim->request);

    (void)ctx;
    return r ? r : strcmp(waiter->key, y->key);
}

static int cmp_key(void *ctx, const void *a, const void *b)
{
    const struct waiter *waiter = a, *y = b;

    (void)ctx;
    return strcmp(waiter->key, y->key);
}

int waiting_new(struct hash_seed seed, struct waiting_claims **ret, struct error *err)
{
    struct waiting_claims *w = calloc(1, sizeof *w);

    if (!w)
        return error_no_memory(err);
    map_init(&w->waiters, seed);
    map_init(&w->buckets, seed);
    omap_init(&w->by_key, (struct omap_order){ cmp_key, cmp_key, NULL });
    *ret = w;
    return 0;
}

static uint64_t request_rank(const struct waiter *waiter)
{
    return quantity_rank(&waiter->claim->request);
}

/* No volume wakes it any more. */
static void waiter_leave_bucket(struct waiting_claims *w, struct waiter *waiter)
{
    struct bucket_of_claims *k = TAKE(waiter->bucket);

    void *removed = k ? omap_remove(&k->by_request, request_rank(waiter), waiter) : NULL;

    if (!k)
        return;
    assert(removed == waiter);
    (void)removed;
    if (k->by_request.count > 0)
        return;
    (void)map_remove(&w->buckets, str_of(k->key));
    omap_done(&k->by_request);
    free(k->key);
    free(k);
}

static void waiter_free(struct waiting_claims *w, struct waiter *waiter)
{
    (void)map_remove(&w->waiters, str_of(waiter->key));
    (void)omap_remove(&w->by_key, 0, waiter);
    waiter_leave_bucket(w, waiter);
    (void)object_unref((struct object *)(uintptr_t)waiter->claim);
    free(waiter->key);
    free(waiter);
}

struct waiting_claims *waiting_free(struct waiting_claims *w)
{
    struct omap_cursor at;
    struct waiter *waiter;

    if (!w)
        return NULL;
    while ((waiter = omap_first(&w->by_key, &at)))
        waiter_free(w, waiter);
    omap_done(&w->by_key);
    map_done(&w->waiters);
    map_done(&w->buckets);
    free(w);
    return NULL;
}

static struct bucket_of_claims *bucket_for(struct waiting_claims *w, const struct claim *c, enum wants wants)
{
    char *key = bucket_key(c->class, c->mode, c->attributes_class, wants);
    struct bucket_of_claims *k = map_get(&w->buckets, str_of(key));

    if (k) {
        free(key);
        return k;
    }
    k = calloc(1, sizeof *k);
    if (!k)
        die_with_reason(NO_MEMORY_FOR_CLAIM);
    k->key = key;
    omap_init(&k->by_request, (struct omap_order){ cmp_request, cmp_request, NULL });
    if (map_put(&w->buckets, str_of(k->key), k, NULL) < 0)
        die_with_reason(NO_MEMORY_FOR_CLAIM);
    return k;
}

void waiting_put(struct waiting_claims *w, const struct claim *c, enum wants wants)
{
    struct waiter *waiter;

    waiting_remove(w, c->obj.ns, c->obj.name);
    waiter = calloc(1, sizeof *waiter);
    if (!waiter)
        die_with_reason(NO_MEMORY_FOR_CLAIM);
    waiter->claim = claim_of(object_ref(&c->obj));
    waiter->key = must_print(c->obj.ns, '/', c->obj.name);
    waiter->bucket = wants != WANTS_NO_VOLUME ? bucket_for(w, c, wants) : NULL;
    if (map_put(&w->waiters, str_of(waiter->key), waiter, NULL) < 0 ||
        omap_insert(&w->by_key, 0, waiter) < 0 ||
        (waiter->bucket && omap_insert(&waiter->bucket->by_request, request_rank(waiter), waiter) < 0))
        die_with_reason(NO_MEMORY_FOR_CLAIM);
}

void waiting_remove(struct waiting_claims *w, const char *ns, const char *name)
{
    char *key = must_print(ns, '/', name);
    struct waiter *waiter = map_get(&w->waiters, str_of(key));

    free(key);
    if (waiter)
        waiter_free(w, waiter);
}

size_t waiting_count(const struct waiting_claims *w)
{
    return w->waiters.count;
}

/* The last that asks for no more than this, or none. */
static struct waiter *last_within(const struct bucket_of_claims *k, const struct quantity *size,
                                  struct omap_cursor *at)
{
    uint64_t rank = quantity_rank(size);

    if (rank == UINT64_MAX)
        return omap_last(&k->by_request, at);
    (void)omap_lower_bound(&k->by_request, rank + 1, NULL, at);
    return omap_prev(at);
}

static const struct claim *wake_one(struct waiting_claims *w, const struct volume *v, enum wants wants)
{
    char *key = bucket_key(v->class, v->mode, v->attributes_class, wants);
    const struct bucket_of_claims *k = map_get(&w->buckets, str_of(key));
    static const struct match_options free_volume = { .is_available = true };
    struct omap_cursor at;

    free(key);
    if (!k)
        return NULL;
    for (struct waiter *waiter = last_within(k, &v->capacity, &at); waiter; waiter = omap_prev(&at)) {
        if (match_volume(v, waiter->claim, &free_volume) != REJECT_NONE)
            continue;
        waiter_leave_bucket(w, waiter);
        return waiter->claim;
    }
    return NULL;
}

const struct claim *waiting_wake(struct waiting_claims *w, const struct volume *v)
{
    const struct claim *c = wake_one(w, v, WANTS_ANY);

    return c || v->affinity ? c : wake_one(w, v, WANTS_UNPINNED);
}

/* --- Invariant check --- */

static const char *bucket_check(const struct waiting_claims *w, const struct bucket_of_claims *k)
{
    struct omap_cursor at;

    if (map_get(&w->buckets, str_of(k->key)) != k || k->by_request.count == 0)
        return "waiting claims are in a bucket that does not exist";
    for (const struct waiter *waiter = omap_first(&k->by_request, &at); waiter; waiter = omap_next(&at))
        if (waiter->bucket != k || map_get(&w->waiters, str_of(waiter->key)) != waiter)
            return "a bucket lists a waiting claim of another bucket";
    return NULL;
}

const char *waiting_check(const struct waiting_claims *w)
{
    const char *wrong = w->waiters.count == w->by_key.count ? NULL : "the number of waiting claims is wrong";
    const struct bucket_of_claims *k;
    size_t in_buckets = 0, with_bucket = 0;
    struct omap_cursor cursor;

    for (const struct waiter *waiter = omap_first(&w->by_key, &cursor); waiter && !wrong;
         waiter = omap_next(&cursor)) {
        with_bucket += waiter->bucket != NULL;
        if (map_get(&w->waiters, str_of(waiter->key)) != waiter)
            wrong = "a waiting claim is not found by its key";
    }
    for (size_t at = 0; !wrong && (k = map_next(&w->buckets, &at, NULL));) {
        wrong = bucket_check(w, k);
        in_buckets += k->by_request.count;
    }
    if (wrong)
        return wrong;
    return in_buckets == with_bucket ? NULL : "a waiting claim is in no bucket, or in two";
}

void waiting_each_of_class(const struct waiting_claims *w, const char *class, waiting_fn *fn, void *ctx)
{
    struct omap_cursor at;

    for (const struct waiter *waiter = omap_first(&w->by_key, &at); waiter; waiter = omap_next(&at))
        if (!waiter->claim->has_class || strcmp(waiter->claim->class, class) == 0)
            fn(ctx, waiter->claim);
}
