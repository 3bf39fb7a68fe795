/* Volumes by name, each stored in the place where a search finds it; and the search.
 *
 * A put that does not move a volume only exchanges the object: no search and no allocation. A put that moves
 * it prepares the new place before it leaves the old one, so that lack of memory changes nothing. Releasing a
 * hold must not fail: a volume for which there is no memory is then listed as unplaced, no search finds it,
 * and every later change tries to place it again. An index by node has no holds: a put removes the volume
 * first, and lack of memory leaves it out. */
#include "volumes/index.h"

#include <assert.h>
#include <string.h>

#include "base/mutant.h"
#include "volumes/index_int.h"

/* The best volume that a search has found so far. */
struct pick {
    const struct volume *v; /* NULL: none */
    unsigned group;         /* GROUPS_COUNT: none */
    bool is_by_uid;
};

static int index_new(struct hash_seed seed, bool is_by_node, struct volume_index **ret, struct error *err)
{
    struct volume_index *index = calloc(1, sizeof *index);

    if (!index)
        return error_no_memory(err);
    map_init(&index->by_name, seed);
    buckets_init(&index->buckets, seed, is_by_node);
    if (claim_lists_init(&index->lists, seed) < 0) {
        free(index);
        return error_no_memory(err);
    }
    *ret = index;
    return 0;
}

int volume_index_new(struct hash_seed seed, struct volume_index **ret, struct error *err)
{
    return index_new(seed, /* is_by_node= */ false, ret, err);
}

int volume_index_new_by_node(struct hash_seed seed, struct volume_index **ret, struct error *err)
{
    return index_new(seed, /* is_by_node= */ true, ret, err);
}

/* --- Entries and their places --- */

/* Whether the entry is free with this version of its volume. */
static bool entry_is_free(const struct volume_entry *e, const struct volume *v)
{
    return volume_is_unclaimed(v) && (v->phase == VOLUME_AVAILABLE || e->is_expected);
}

/* The volume is in no place yet. */
static int entry_place(struct volume_index *index, struct volume_entry *e)
{
    const struct volume *v = entry_volume(e);

    assert(!e->is_held);
    if (v->claim.is_set)
        return claim_lists_put_entry(&index->lists, e);
    return entry_is_free(e, v) ? buckets_put_entry(&index->buckets, e) : 0;
}

static void entry_displace(struct volume_index *index, struct volume_entry *e)
{
    if (e->place == PLACE_BUCKET || e->place == PLACE_NODES)
        buckets_remove_entry(&index->buckets, e);
    else if (e->place == PLACE_LIST)
        claim_lists_remove_entry(&index->lists, e);
}

/* Whether the entry keeps its place with this version of its volume. */
static bool entry_stays(const struct volume_index *index, const struct volume_entry *e,
                        const struct volume *v)
{
    if (e->is_held)
        return true;
    switch ((enum index_place)e->place) {
    case PLACE_NONE:
        return !v->claim.is_set && !entry_is_free(e, v);
    case PLACE_BUCKET:
        return entry_is_free(e, v) && volume_bucket_is_same(entry_volume(e), v);
    case PLACE_NODES:
        return false;
    case PLACE_LIST:
        return e->in.list != index->lists.unplaced && claim_list_is_for(e->in.list, &v->claim);
    }
    assert(!"a place");
    return false;
}

static void entry_free(struct volume_index *index, struct volume_entry *e)
{
    entry_displace(index, e);
    (void)object_unref(e->object);
    free(e);
}

/* Memory may be available again: tries to place the unplaced entries. */
static void retry_unplaced(struct volume_index *index)
{
    struct volume_entry *e;
    int r = 0;

    while (r == 0 && (e = index->lists.unplaced->head)) {
        claim_lists_remove_entry(&index->lists, e);
        r = entry_place(index, e);
        if (r < 0)
            claim_lists_put_unplaced(&index->lists, e);
    }
}

struct volume_index *volume_index_free(struct volume_index *index)
{
    struct volume_entry *e;

    if (!index)
        return NULL;
    for (size_t at = 0; (e = map_next(&index->by_name, &at, /* ret_key= */ NULL));)
        entry_free(index, e);
    buckets_done(&index->buckets);
    claim_lists_done(&index->lists);
    map_done(&index->by_name);
    free(index);
    return NULL;
}

/* --- Adding and removing volumes --- */

/* Replaces the object of an entry that keeps its place. */
static void entry_exchange(struct volume_index *index, struct volume_entry *e, const struct volume *v)
{
    struct object *old = e->object;
    int r;

    assert(index->with_modes[volume_group(entry_volume(e))] > 0);
    index->with_modes[volume_group(entry_volume(e))]--;
    index->with_modes[volume_group(v)]++;
    if (e->place == PLACE_BUCKET)
        buckets_exchange_volume(e, v);
    e->object = object_ref(&v->obj);
    r = map_put(&index->by_name, str_of(v->obj.name), e, /* ret_old= */ NULL);
    assert(r == 0); /* the key exists; from here on its text is the new object's */
    (void)r;
    (void)object_unref(old);
}

/* Replaces the entry of that name, or adds the first one. */
static int entry_add(struct volume_index *index, const struct volume *v, bool is_expected)
{
    struct volume_entry *e = calloc(1, sizeof *e);
    void *old = NULL;
    int r;

    if (!e)
        return -ERR_NO_MEMORY;
    e->object = object_ref(&v->obj);
    e->is_expected = is_expected;
    r = entry_place(index, e);
    if (r == 0)
        r = map_put(&index->by_name, str_of(v->obj.name), e, &old);
    if (r < 0) {
        entry_free(index, e);
        return r;
    }
    index->with_modes[volume_group(v)]++;
    if (old) {
        index->with_modes[volume_group(entry_volume(old))]--;
        entry_free(index, old);
    }
    return 0;
}

int volume_index_put(struct volume_index *index, const struct volume *v, struct error *err)
{
    struct volume_entry *e;

    assert(v->obj.kind->kind == KIND_VOLUME);
    index->changes++;
    if (index->buckets.is_by_node) { /* it has only free volumes */
        volume_index_remove(index, v->obj.name);
        return volume_is_unclaimed(v) && v->phase == VOLUME_AVAILABLE &&
                       entry_add(index, v, /* is_expected= */ false) < 0
                   ? error_no_memory(err)
                   : 0;
    }
    e = map_get(&index->by_name, str_of(v->obj.name));

    if (e && entry_stays(index, e, v))
        entry_exchange(index, e, v);
    else if (entry_add(index, v, e && e->is_expected) < 0)
        return error_no_memory(err);
    retry_unplaced(index);
    return 0;
}

void volume_index_remove(struct volume_index *index, const char *name)
{
    struct volume_entry *e = map_remove(&index->by_name, str_of(name));

    index->changes++;
    if (!e)
        return;
    assert(index->with_modes[volume_group(entry_volume(e))] > 0);
    if (!MUTANT("index-miscounts-modes"))
        index->with_modes[volume_group(entry_volume(e))]--;
    entry_free(index, e);
    retry_unplaced(index);
}

const struct volume *volume_index_get(const struct volume_index *index, const char *name)
{
    const struct volume_entry *e = map_get(&index->by_name, str_of(name));

    return e ? entry_volume(e) : NULL;
}

uint64_t volume_index_changes(const struct volume_index *index)
{
    return index->changes;
}

size_t volume_index_count(const struct volume_index *index)
{
    return index->by_name.count;
}

size_t volume_index_free_count(const struct volume_index *index)
{
    return index->buckets.count;
}

const struct volume *volume_index_get_free(const struct volume_index *index, const char *name)
{
    const struct volume_entry *e = map_get(&index->by_name, str_of(name));

    return e && (e->place == PLACE_BUCKET || e->place == PLACE_NODES) ? entry_volume(e) : NULL;
}

/* Moves the entry to the place where it belongs now. Without memory it becomes unplaced. */
static void entry_replace(struct volume_index *index, struct volume_entry *e)
{
    entry_displace(index, e);
    if (entry_place(index, e) < 0)
        claim_lists_put_unplaced(&index->lists, e);
    else
        retry_unplaced(index);
}

void volume_index_expect(struct volume_index *index, const char *name, bool is_expected)
{
    struct volume_entry *e = map_get(&index->by_name, str_of(name));

    assert(!index->buckets.is_by_node);
    index->changes++;
    if (!e || e->is_expected == is_expected)
        return;
    e->is_expected = is_expected;
    if (!e->is_held && !entry_stays(index, e, entry_volume(e)))
        entry_replace(index, e);
}

/* --- Holds --- */

static bool entry_is_held_for(const struct volume_entry *e, const char *claim_uid)
{
    return e->is_held && str_is((struct str){ e->in.list->key, e->in.list->key_len }, claim_uid);
}

int volume_index_hold(struct volume_index *index, const char *name, const char *claim_uid)
{
    struct volume_entry *e = map_get(&index->by_name, str_of(name));
    int r;

    assert(!index->buckets.is_by_node && claim_uid[0] != '\0');
    index->changes++;
    if (!e)
        return -ERR_NOT_FOUND;
    if (e->is_held)
        return entry_is_held_for(e, claim_uid) ? 0 : -ERR_BUSY;
    r = claim_lists_move_entry(&index->lists, &index->buckets, e, str_of(claim_uid));
    if (r == 0)
        e->is_held = true;
    return r;
}

void volume_index_release(struct volume_index *index, const char *name, const char *claim_uid)
{
    struct volume_entry *e = map_get(&index->by_name, str_of(name));

    assert(!index->buckets.is_by_node);
    index->changes++;
    if (!e || !e->is_held || (claim_uid && !entry_is_held_for(e, claim_uid)))
        return;
    e->is_held = false;
    entry_replace(index, e);
}

/* --- The search --- */

/* The earlier group; within one group volumes reserved by uid, then by name. b may be empty. */
static bool is_better(const struct pick *a, const struct pick *b)
{
    if (!b->v)
        return true;
    if (a->group != b->group)
        return a->group < b->group;
    if (a->is_by_uid != b->is_by_uid)
        return a->is_by_uid;
    return strcmp(a->v->obj.name, b->v->obj.name) < 0;
}

/* Searches the volumes listed under the claim's uid, or under its name. */
static void pick_listed(const struct claim_list *list, const struct claim *c, bool is_by_uid,
                        struct pick *best)
{
    for (const struct volume_entry *e = list ? list->head : NULL; e; e = e->next) {
        const struct match_options o = { .is_assumed = e->is_held };
        const struct volume *v = entry_volume(e);
        struct pick p = { v, volume_group(v), e->is_held || v->claim.uid[0] != '\0' };
        if (e->is_held && !is_by_uid) /* held for a uid with the text of this name */
            continue;
        if (match_volume(v, c, &o) == REJECT_NONE && is_better(&p, best))
            *best = p;
    }
}

/* Where the claim's own volumes are listed. Most claims have none. With many lists each lookup reads two
 * cache lines that are not cached: both are prefetched early and read later. */
struct reserved {
    struct index_key name;
    uint32_t by_uid, by_name;
};

static int reserved_prefetch_lists(const struct volume_index *index, const struct claim *c,
                                   struct reserved *k)
{
    size_t ns_len = strlen(c->obj.ns), name_len = strlen(c->obj.name);

    k->by_uid = map_prefetch(&index->lists.by_key, str_of(c->obj.uid));
    index_key_begin(&k->name, ns_len + 1 + name_len);
    buf_add(&k->name.text, c->obj.ns, ns_len);
    buf_add_char(&k->name.text, '/');
    buf_add(&k->name.text, c->obj.name, name_len);
    k->by_name = map_prefetch(&index->lists.by_key, buf_str(&k->name.text));
    return -(int)k->name.text.failed;
}

/* Some volume, free or not, has all the modes that the claim requests. */
static bool has_group_for(const struct volume_index *index, const struct claim *c)
{
    for (unsigned i = 0; i < GROUPS_COUNT; i++)
        if (index->with_modes[i] > 0 && group_suits(i, c))
            return true;
    return false;
}

int volume_index_match(const struct volume_index *index, const struct claim *c, const struct match_options *o,
                       const struct volume **ret, struct error *err)
{
    struct reserved reserved;
    const struct volume *plain = NULL;
    const struct volume_bucket *bucket = NULL;
    const struct map *lists = &index->lists.by_key;
    struct pick best = { .group = GROUPS_COUNT };
    int r;

    assert(!index->buckets.is_by_node);
    if (c->selector && c->selector->error && has_group_for(index, c))
        return error_set(err, ERR_INVALID, "error creating internal label selector for claim: %s/%s: %s",
                         c->obj.ns, c->obj.name, c->selector->error);
    r = reserved_prefetch_lists(index, c, &reserved);
    if (r == 0 && !o->is_delayed && !c->source) /* no free volume is filled from a data source */
        r = buckets_get_for_claim(&index->buckets, c, &bucket);
    if (r == 0) {
        pick_listed(map_get_fetched(lists, str_of(c->obj.uid), reserved.by_uid), c, /* is_by_uid= */ true,
                    &best);
        pick_listed(map_get_fetched(lists, buf_str(&reserved.name.text), reserved.by_name), c,
                    /* is_by_uid= */ false, &best);
    }
    index_key_done(&reserved.name);
    if (r < 0)
        return error_no_memory(err);
    /* Within one group a reserved volume precedes all others; in an earlier group any volume is better. */
    if (bucket)
        plain = bucket_find_volume(bucket, c, o, best.group);
    *ret = plain ? plain : best.v;
    return 0;
}
