/* Snapshots: states of a kind that stay readable while its objects change.
 *
 * A snapshot is a revision, and costs nothing when it is opened. While a kind has snapshots, each commit to
 * it keeps the state that it replaces, once for all snapshots: a version, which was valid until the revision
 * of that commit. At a snapshot's revision R a key's state is the version with the smallest `until` above R,
 * or the image's when there is none. A commit determines in O(log n) whether the newest snapshot has a
 * version of its key already; then every older one has one too, and nothing is kept. So each key has at most
 * one version per snapshot, however often it is written.
 *
 * A version is dropped with the last snapshot that shows it. Closing costs O(log n) for each commit since the
 * next older snapshot, or O(1) for each dropped version when there is none. */
#include "store/store_int.h"

#include <assert.h>
#include <stdlib.h>

struct version_key {
    struct store_key key;
    int64_t until;
};

static struct version_key version_key(const struct store_version *v)
{
    return (struct version_key){ store_key_of(v->object->ns, v->object->name), v->until };
}

static int version_key_cmp(struct version_key a, struct version_key b)
{
    int c = store_key_cmp(a.key, b.key);

    return c != 0 ? c : (a.until > b.until) - (a.until < b.until);
}

static int compare_versions(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return version_key_cmp(version_key(a), version_key(b));
}

static int compare_version_key(void *ctx, const void *key, const void *v)
{
    (void)ctx;
    return version_key_cmp(*(const struct version_key *)key, version_key(v));
}

void store_past_init(struct store_past *p)
{
    *p = (struct store_past){ 0 };
    omap_init(&p->versions, (struct omap_order){ compare_versions, compare_version_key, NULL });
    TAILQ_INIT(&p->by_until);
    TAILQ_INIT(&p->snapshots);
}

static size_t version_bytes(const struct store_version *v)
{
    return sizeof *v + v->object->text.len;
}

static void version_drop(struct store *s, struct store_past *p, struct store_version *v)
{
    assert(s->past_bytes >= version_bytes(v));
    (void)omap_remove(&p->versions, store_key_rank(version_key(v).key), v);
    TAILQ_REMOVE(&p->by_until, v, link);
    s->past_bytes -= version_bytes(v);
    (void)object_unref(v->object);
    free(v);
}

/* Keeps the state before ev, before `before` in the order of `until` (NULL: last). */
static int version_add(struct store *s, struct store_past *p, const struct store_event *ev,
                       struct store_version *before)
{
    struct store_version *v = malloc(sizeof *v);

    if (!v)
        return -ERR_NO_MEMORY;
    *v = (struct store_version){
        .object = object_ref(ev->old ? ev->old : ev->object),
        .until = ev->revision,
        .was_there = ev->old != NULL,
    };
    if (omap_insert(&p->versions, store_key_rank(version_key(v).key), v) < 0) {
        (void)object_unref(v->object);
        free(v);
        return -ERR_NO_MEMORY;
    }
    if (before)
        TAILQ_INSERT_BEFORE(before, v, link);
    else
        TAILQ_INSERT_TAIL(&p->by_until, v, link);
    s->past_bytes += version_bytes(v);
    return 0;
}

const struct store_version *store_past_from(const struct store_past *p, struct store_key key, int64_t after,
                                            struct omap_cursor *ret)
{
    struct version_key from = { key, after + 1 };

    return omap_lower_bound(&p->versions, store_key_rank(key), &from, ret);
}

/* Whether the key of the event has a version that ends after the revision, and with the event or before it.
 */
static bool past_has(const struct store_past *p, const struct store_event *ev, int64_t revision)
{
    struct store_key key = store_key_of(ev->object->ns, ev->object->name);
    struct omap_cursor at;
    const struct store_version *v = store_past_from(p, key, revision, &at);

    return v && v->until <= ev->revision && store_key_cmp(version_key(v).key, key) == 0;
}

void store_past_note(struct store *s, const struct store_event *ev)
{
    struct store_past *p = &s->pasts[ev->object->kind->kind];
    struct store_snapshot *snap = TAILQ_LAST(&p->snapshots, store_snapshots);

    if (!snap || past_has(p, ev, snap->revision))
        return;
    if (version_add(s, p, ev, NULL) == 0)
        return;
    for (; snap; snap = TAILQ_PREV(snap, store_snapshots, link))
        snap->is_lost = true; /* the commit is on disk: it cannot fail here for lack of memory */
}

/* The changes between the revision and now, from the ring. */
static int past_fill(struct store *s, struct store_past *p, enum kind k, int64_t revision, struct error *err)
{
    struct store_version *before = TAILQ_FIRST(&p->by_until);

    for (size_t i = store_history_after(&s->history, revision); i < s->history.count; i++) {
        const struct store_event *ev = store_history_at(&s->history, i);

        if (ev->object->kind->kind != k || past_has(p, ev, revision))
            continue;
        while (before && before->until < ev->revision)
            before = TAILQ_NEXT(before, link);
        if (version_add(s, p, ev, before) < 0)
            return error_no_memory(err);
    }
    return 0;
}

int store_snapshot_open(struct store *s, enum kind k, int64_t at, struct store_snapshot *ret,
                        struct error *err)
{
    struct store_past *p;
    struct store_snapshot *older;
    int r;

    assert(k < KIND_COUNT);
    assert(at >= 0 && at <= s->revision);
    p = &s->pasts[k];
    *ret = (struct store_snapshot){ .store = s, .kind = k, .revision = at ? at : s->revision };
    r = store_history_check(&s->history, ret->revision, err);
    if (r < 0)
        return r;
    older = TAILQ_LAST(&p->snapshots, store_snapshots);
    while (older && older->revision > ret->revision)
        older = TAILQ_PREV(older, store_snapshots, link);
    if (older)
        TAILQ_INSERT_AFTER(&p->snapshots, older, ret, link);
    else
        TAILQ_INSERT_HEAD(&p->snapshots, ret, link);
    r = ret->revision < s->revision ? past_fill(s, p, k, ret->revision, err) : 0;
    if (r < 0)
        store_snapshot_close(ret);
    return r;
}

/* The revision since which the version is valid, as far as snapshots need it: the end of the one before it.
 */
static int64_t version_since(const struct store_past *p, const struct store_version *v)
{
    struct version_key key = version_key(v);
    struct omap_cursor at;
    const struct store_version *before;

    (void)omap_lower_bound(&p->versions, store_key_rank(key.key), &key, &at);
    before = omap_prev(&at);
    return before && before != v && before->until < v->until &&
                   store_key_cmp(version_key(before).key, key.key) == 0
               ? before->until
               : 0;
}

/* Drops the versions that only a snapshot between these two revisions has shown. */
static void past_drop_between(struct store *s, struct store_past *p, int64_t older, int64_t newer)
{
    struct store_version *v, *before;

    for (v = TAILQ_LAST(&p->by_until, store_versions); v && v->until > older; v = before) {
        before = TAILQ_PREV(v, store_versions, link);
        if (v->until <= newer && version_since(p, v) > older)
            version_drop(s, p, v);
    }
}

void store_snapshot_close(struct store_snapshot *snap)
{
    struct store *s = snap->store;
    const struct store_snapshot *older, *newer;
    struct store_version *v;
    struct store_past *p;

    if (!s)
        return;
    p = &s->pasts[snap->kind];
    older = TAILQ_PREV(snap, store_snapshots, link);
    newer = TAILQ_NEXT(snap, link);
    TAILQ_REMOVE(&p->snapshots, snap, link);
    snap->store = NULL;
    if (older)
        past_drop_between(s, p, older->revision, newer ? newer->revision : INT64_MAX);
    else
        while ((v = TAILQ_FIRST(&p->by_until)) && (!newer || v->until <= newer->revision))
            version_drop(s, p, v);
}

size_t store_snapshots_bytes(const struct store *s)
{
    return s->past_bytes;
}
