/* Informers: apply what the reflector delivers to the cache, and notify the handlers.
 *
 * Room for notices is reserved before the cache changes, and every change is noted, so that no change is
 * lost. The cache is up to date, for a list as a whole, before a handler is called. */
#include "machinery/informer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mutant.h"
#include "machinery/cache.h"
#include "machinery/notices.h"
#include "machinery/reflector.h"

#define RESYNC_NS_MIN NS_PER_S

struct informer {
    struct loop *loop;
    const struct kind_info *kind;
    char *ns;
    char *label_selector;
    char *field_selector;
    struct cache cache;
    struct notices notices;
    struct reflector reflector;
    struct reflector_metrics metrics;
    size_t counted; /* objects counted in the gauge */
    bool is_synced_counted;
    bool is_started;
    bool is_filled; /* the first list is in the cache; its notices may not be delivered yet */
    bool is_not_served;
    bool has_warned; /* about an unserved resource */
};

static void informer_update_gauges(struct informer *i)
{
    size_t count = cache_count(&i->cache);

    reflector_metrics_add(&i->metrics, CACHE_OBJECTS, (double)count - (double)i->counted);
    i->counted = count;
    if (i->notices.is_synced && !i->is_synced_counted)
        reflector_metrics_add(&i->metrics, CACHE_SYNCED, 1);
    i->is_synced_counted = i->notices.is_synced;
}

static void informer_notify(struct informer *i)
{
    notices_deliver(&i->notices);
    informer_update_gauges(i);
}

/* --- Changes --- */

/* Notes that old (NULL: nothing) is replaced by o (NULL: nothing). At most two notices. */
static void informer_note_change(struct informer *i, const struct object *old, const struct object *o,
                                 bool is_final_unknown)
{
    if (old && o && (strcmp(old->uid, o->uid) == 0 || MUTANT("informer-updates-namesakes"))) {
        notices_add(&i->notices, (struct notice){ .type = NOTICE_UPDATE }, old, o);
        return;
    }
    if (old)
        notices_add(&i->notices, (struct notice){ .type = NOTICE_DELETE, .flag = is_final_unknown }, old,
                    NULL);
    if (o)
        notices_add(&i->notices, (struct notice){ .type = NOTICE_ADD, .flag = !i->is_filled }, NULL, o);
}

static int informer_set(struct informer *i, const struct object *old, const struct object *o,
                        struct error *err)
{
    _cleanup_(object_unref_p) struct object *kept = old ? object_ref(old) : NULL; /* no longer in the cache */
    int r = notices_reserve(&i->notices, 2, err);

    if (r == 0)
        r = cache_put(&i->cache, o, err);
    if (r < 0)
        return r;
    informer_note_change(i, kept, o, /* is_final_unknown= */ true);
    informer_notify(i);
    return 0;
}

/* Ignores an object or removal that the cache is already past. */
static int informer_ignore(struct informer *i)
{
    reflector_metrics_add(&i->metrics, REFLECTOR_STALE, 1);
    return 0;
}

static int on_put(void *ctx, const struct object *o, bool is_replay, struct error *err)
{
    struct informer *i = ctx;
    const struct object *old = cache_get_like(&i->cache, o);
    int c;

    if (!old)
        return is_replay ? informer_ignore(i) : informer_set(i, NULL, o, err);
    c = version_cmp(object_version(o), object_version(old));
    if (c == 0 && strcmp(old->uid, o->uid) == 0)
        return 0;
    /* Older: a replay, or informer_observe() delivered a newer version first. */
    return c == -1 && !MUTANT("informer-goes-back") ? informer_ignore(i) : informer_set(i, old, o, err);
}

static int on_remove(void *ctx, const struct object *o, bool is_replay, struct error *err)
{
    struct informer *i = ctx;
    const struct object *old = cache_get_like(&i->cache, o);
    bool is_other = old && strcmp(old->uid, o->uid) != 0;
    int r;

    if (!old)
        return 0;
    /* The end of an older version still counts if the object left a selection that informer_observe() knows
     * more of; not if another object has its name, or the event is a replay. */
    if ((is_other || is_replay) && version_cmp(object_version(o), object_version(old)) == -1)
        return informer_ignore(i);
    r = notices_reserve(&i->notices, 1, err);
    if (r < 0)
        return r;
    /* Handlers get the object as it was when deleted; for another object only its deletion is known. */
    informer_note_change(i, is_other ? old : o, NULL, is_other);
    cache_remove(&i->cache, o);
    informer_notify(i);
    return 0;
}

/* --- Replacing --- */

struct replacement {
    struct informer *informer;
    struct str version;
    bool keeps_newer;
};

/* Compares one key of both and notes the change. Does not touch the cache. */
static void replacement_compare(const struct replacement *p, const struct object *old, const struct object *o)
{
    if (old && o && strcmp(old->uid, o->uid) == 0 && version_cmp(object_version(o), object_version(old)) == 0)
        return;
    /* informer_observe() delivered a version newer than the list: the watch follows up. */
    if (old && p->keeps_newer && version_cmp(object_version(old), p->version) == 1 &&
        !MUTANT("informer-forgets-observed"))
        return;
    if (!o && MUTANT("informer-forgets-deletes"))
        return;
    informer_note_change(p->informer, old, o, /* is_final_unknown= */ true);
}

/* Walks both in key order. */
static void replacement_note(const struct replacement *p, const struct cache *snapshot)
{
    struct informer_cursor old_at, new_at;
    const struct object *old = cache_first(&p->informer->cache, &old_at);
    const struct object *o = cache_first(snapshot, &new_at);

    while (old || o) {
        int c = !old ? 1 : !o ? -1 : cache_order(old, o);

        replacement_compare(p, c <= 0 ? old : NULL, c >= 0 ? o : NULL);
        if (c <= 0)
            old = cache_next(&old_at);
        if (c >= 0)
            o = cache_next(&new_at);
    }
}

/* Applies the notices from `at` on to the cache. On failure the unapplied ones are dropped. */
static int replacement_apply(struct informer *i, size_t at, struct error *err)
{
    for (; at < i->notices.queue.count; at++) {
        const struct notice *n = &i->notices.queue.items[at];
        int r = 0;

        if (n->type == NOTICE_DELETE)
            cache_remove(&i->cache, n->old);
        else
            r = cache_put(&i->cache, n->object, err);
        if (r < 0) {
            notices_cut(&i->notices, at);
            return r;
        }
    }
    return 0;
}

/* The cache is complete before the first notice is delivered. Without memory, what was applied is delivered
 * and the next list does the rest. */
static int on_replace(void *ctx, struct cache *snapshot, struct str version, bool keeps_newer,
                      struct error *err)
{
    struct informer *i = ctx;
    struct replacement p = { .informer = i, .version = version, .keeps_newer = keeps_newer };
    size_t at = i->notices.queue.count;
    int r = notices_reserve(&i->notices, cache_count(&i->cache) + cache_count(snapshot) + 1, err);

    if (r < 0)
        return r;
    replacement_note(&p, snapshot);
    r = replacement_apply(i, at, err);
    if (r == 0) {
        i->is_not_served = false;
        if (!i->is_filled)
            notices_add(&i->notices, (struct notice){ .type = NOTICE_SYNCED }, NULL, NULL);
        i->is_filled = true;
    }
    informer_notify(i);
    return r;
}

/* A kind that was served before is not emptied: another server may have answered for a moment. */
static void on_not_served(void *ctx, const struct error *why)
{
    struct informer *i = ctx;
    struct error err = { 0 };

    if (i->is_filled && !i->is_not_served)
        return;
    if (!i->has_warned)
        log_warn("resource not served by API server, treated as empty", LOG_STR("resource", i->kind->plural),
                 LOG_STR("group", i->kind->group), LOG_ERR(why));
    i->has_warned = true;
    i->is_not_served = true;
    if (!i->is_filled && notices_reserve(&i->notices, 1, &err) == 0) {
        i->is_filled = true;
        notices_add(&i->notices, (struct notice){ .type = NOTICE_SYNCED }, NULL, NULL);
        informer_notify(i);
    }
}

void informer_observe(struct informer *i, const struct object *o)
{
    struct str version = object_version(o);
    const struct object *old;
    struct error ignored; /* without memory the watch delivers it later */
    bool may_match = !i->label_selector && !i->field_selector;

    assert(o->kind == i->kind);
    if (!i->is_filled || !cache_can_hold(o) || (i->ns && strcmp(i->ns, o->ns) != 0))
        return;
    if (version_cmp(version, reflector_version(&i->reflector)) != 1 && !MUTANT("informer-observes-ghosts"))
        return; /* the watch is ahead of this answer */
    old = cache_get_like(&i->cache, o);
    /* Whether an object that is not in the cache matches the selectors is for the server to decide. */
    if (!may_match && (!old || (strcmp(old->uid, o->uid) != 0 && !MUTANT("informer-observes-unselected"))))
        return;
    if (old && version_cmp(version, object_version(old)) != 1)
        return;
    (void)informer_set(i, old, o, &ignored);
}

/* --- Handlers --- */

/* Notices only for this handler, about all cached objects. 0, or no memory. */
static int handler_note_all(struct informer_handler *h, bool is_resync)
{
    struct informer *i = h->informer;
    struct informer_cursor at;
    struct error err = { 0 };
    int r = notices_reserve(&i->notices, cache_count(&i->cache) + 1, &err);

    if (r < 0)
        return r;
    if (!is_resync)
        h->since = notices_next_number(&i->notices);
    for (const struct object *o = cache_first(&i->cache, &at); o; o = cache_next(&at)) {
        if (is_resync)
            notices_add(&i->notices, (struct notice){ .type = NOTICE_UPDATE, .only = h->since }, o, o);
        else
            notices_add(&i->notices, (struct notice){ .type = NOTICE_ADD, .flag = true, .only = h->since },
                        NULL, o);
    }
    if (!is_resync && i->is_filled)
        notices_add(&i->notices, (struct notice){ .type = NOTICE_SYNCED, .only = h->since }, NULL, NULL);
    return 0;
}

static void handler_run(struct informer_handler *h, bool is_resync)
{
    struct informer *i = h->informer;
    uint64_t period = h->resync_ns;

    (void)handler_note_all(h, is_resync); /* without memory: at the next resync */
    if (h->since == UINT64_MAX)           /* without memory it got no initial notices */
        timer_arm_after(&h->timer, RESYNC_NS_MIN);
    else if (period)
        timer_arm_after(&h->timer, period < RESYNC_NS_MIN ? RESYNC_NS_MIN : period);
    informer_notify(i);
}

static void on_handler_timer(void *ctx)
{
    struct informer_handler *h = ctx;

    handler_run(h, h->since != UINT64_MAX);
}

void informer_add_handler(struct informer *i, struct informer_handler *h)
{
    assert(!h->informer);
    h->informer = i;
    h->since = UINT64_MAX;
    timer_init(&h->timer, i->loop, on_handler_timer, h);
    notices_add_handler(&i->notices, h);
    handler_run(h, /* is_resync= */ false);
}

void informer_remove_handler(struct informer_handler *h)
{
    struct informer *i = h->informer;

    if (!i)
        return;
    notices_remove_handler(&i->notices, h);
    timer_disarm(&h->timer);
    h->informer = NULL;
}

/* --- Reading --- */

const struct object *informer_get(const struct informer *i, const char *ns, const char *name)
{
    return cache_get_named(&i->cache, ns, name);
}

const struct object *informer_get_key(const struct informer *i, struct str key)
{
    return cache_get(&i->cache, key);
}

size_t informer_count(const struct informer *i)
{
    return cache_count(&i->cache);
}

const struct object *informer_first(const struct informer *i, struct informer_cursor *c)
{
    return cache_first(&i->cache, c);
}

const struct object *informer_first_after(const struct informer *i, struct str key, struct informer_cursor *c)
{
    return cache_first_after(&i->cache, key, c);
}

uint64_t informer_changes(const struct informer *i)
{
    return i->cache.changes;
}

const struct object *informer_next(struct informer_cursor *c)
{
    return cache_next(c);
}

const struct object *informer_first_by(const struct informer *i, const char *index, struct str value,
                                       struct informer_cursor *c)
{
    return cache_first_by(&i->cache, index, value, c);
}

int informer_not_found(const struct informer *i, const char *name, struct error *err)
{
    char singular[64];
    size_t len = 0;

    /* The singular is the kind in lower case. */
    for (const char *at = i->kind->name; *at && len < sizeof singular - 1; at++)
        singular[len++] = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    singular[len] = '\0';
    return error_set(err, ERR_NOT_FOUND, "%s%s%s \"%s\" not found", singular, i->kind->group[0] ? "." : "",
                     i->kind->group, name);
}

bool informer_is_synced(const struct informer *i)
{
    return i->notices.is_synced;
}

bool informer_is_not_served(const struct informer *i)
{
    return i->is_not_served;
}

/* --- Lifecycle --- */

static int copy_text(const char *text, char **ret, struct error *err)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return error_no_memory(err);
    *ret = copy;
    return 0;
}

static void informer_init(struct informer *i, const struct informer_options *o)
{
    struct reflector_options ro = {
        .loop = o->loop,
        .client = o->client,
        .kind = o->kind,
        .streams_lists = o->streams_lists,
        .sink = { on_replace, on_put, on_remove, on_not_served, i },
        .metrics = &i->metrics,
    };
    struct hash_seed hash_seed;
    struct rng rng, hashes;

    rng_init(&rng, o->seed);
    rng_fork(&rng, "hash", &hashes);
    rng_fork(&rng, "reflector", &ro.rng);
    hash_seed = (struct hash_seed){ rng_u64(&hashes), rng_u64(&hashes) };
    i->loop = o->loop;
    i->kind = o->kind;
    notices_init(&i->notices);
    cache_init(&i->cache, hash_seed);
    reflector_init(&i->reflector, &ro, hash_seed);
}

int informer_new(const struct informer_options *o, struct informer **ret, struct error *err)
{
    _cleanup_(informer_free_p) struct informer *i = calloc(1, sizeof *i);
    int r;

    assert(o->loop);
    assert(o->client);
    assert(o->kind);
    if (!i)
        return error_no_memory(err);
    informer_init(i, o);
    r = copy_text(o->ns, &i->ns, err);
    if (r == 0)
        r = copy_text(o->label_selector, &i->label_selector, err);
    if (r == 0)
        r = copy_text(o->field_selector, &i->field_selector, err);
    i->reflector.o.ns = i->ns;
    i->reflector.o.label_selector = i->label_selector;
    i->reflector.o.field_selector = i->field_selector;
    if (r == 0)
        r = reflector_metrics_init(&i->metrics, o->metrics, o->kind, err);
    for (size_t n = 0; r == 0 && n < o->indexes_count; n++)
        r = cache_add_index(&i->cache, &o->indexes[n], err);
    if (r < 0)
        return r;
    *ret = TAKE(i);
    return 0;
}

struct informer *informer_free(struct informer *i)
{
    if (!i)
        return NULL;
    reflector_done(&i->reflector);
    while (!TAILQ_EMPTY(&i->notices.handlers))
        informer_remove_handler(TAILQ_FIRST(&i->notices.handlers));
    notices_done(&i->notices);
    cache_done(&i->cache);
    informer_update_gauges(i);
    if (i->is_synced_counted)
        reflector_metrics_add(&i->metrics, CACHE_SYNCED, -1);
    free(i->ns);
    free(i->label_selector);
    free(i->field_selector);
    free(i);
    return NULL;
}

int informer_add_index(struct informer *i, const struct informer_index *index, struct error *err)
{
    int r = cache_add_index(&i->cache, index, err);

    assert(!i->is_started || r == -ERR_EXISTS);
    return r;
}

void informer_start(struct informer *i)
{
    assert(!i->is_started);
    i->is_started = true;
    reflector_start(&i->reflector);
}
