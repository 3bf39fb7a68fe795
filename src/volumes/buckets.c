/* Free volumes, ordered so that the smallest suitable volume is found by one search.
 *
 * A bucket holds one ordered map per set of access modes. Its key is (volume mode, class, attributes class):
 * a claim searches one bucket only, and at most 16 maps in it. A bucket costs 1 KiB plus its maps and is
 * freed with its last volume. In an index by node the tied volumes of a bucket are in node buckets
 * (node_buckets.c) and in none of these maps. */
#include "volumes/index_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Fewest modes first, then by their bits: the order in which claims are matched. */
static const uint8_t group_modes[GROUPS_COUNT] = { 0, 1, 2, 4, 8, 3, 5, 6, 9, 10, 12, 7, 11, 13, 14, 15 };
static const uint8_t group_of_modes[GROUPS_COUNT] = { 0, 1, 2, 5, 3, 6, 7, 11, 4, 8, 9, 12, 10, 13, 14, 15 };

unsigned volume_group(const struct volume *v)
{
    return group_of_modes[volume_mode_mask(v)];
}

bool group_suits(unsigned group, const struct claim *c)
{
    return (c->modes & ~(unsigned)group_modes[group]) == 0;
}

bool volume_is_unclaimed(const struct volume *v)
{
    return !v->claim.is_set && !v->obj.is_deleting;
}

bool volume_bucket_is_same(const struct volume *a, const struct volume *b)
{
    return volume_group(a) == volume_group(b) && a->mode == b->mode && strcmp(a->class, b->class) == 0 &&
           strcmp(a->attributes_class, b->attributes_class) == 0 && volume_cmp_size_name(a, b) == 0;
}

static int entry_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return volume_cmp_size_name(entry_volume(a), entry_volume(b));
}

/* A request sorts before all volumes of its own size. */
static int request_cmp(void *ctx, const void *request, const void *item)
{
    (void)ctx;
    return quantity_cmp(request, &entry_volume(item)->capacity) <= 0 ? -1 : 1;
}

/* A fraction of a byte, or more than 63 bits of bytes: such a volume may be smaller than others of the same
 * rank. */
static bool size_is_inexact(const struct quantity *size)
{
    struct quantity whole = quantity_of(quantity_value(size), QUANTITY_BINARY_SI);

    return quantity_cmp(size, &whole) != 0;
}

const struct omap_order volumes_by_size_and_name = { entry_cmp, request_cmp, NULL };

void buckets_init(struct volume_buckets *s, struct hash_seed seed, bool is_by_node)
{
    *s = (struct volume_buckets){ .is_by_node = is_by_node };
    map_init(&s->by_key, seed);
    map_init(&s->by_node, seed);
}

void buckets_done(struct volume_buckets *s)
{
    assert(s->by_key.count == 0 && s->by_node.count == 0);
    map_done(&s->by_key);
    map_done(&s->by_node);
}

/* Names contain no NUL, so a NUL between two names separates them. */
static void bucket_write_key(enum volume_mode mode, const char *class, const char *attributes_class,
                             struct index_key *to)
{
    size_t class_len = strlen(class) + 1, attributes_len = strlen(attributes_class);

    index_key_begin(to, 1 + class_len + attributes_len);
    buf_add_char(&to->text, mode == VOLUME_MODE_BLOCK ? 'b' : 'f');
    buf_add(&to->text, class, class_len);
    buf_add(&to->text, attributes_class, attributes_len);
}

static struct volume_bucket *bucket_new(struct str key)
{
    struct volume_bucket *bucket = calloc(1, sizeof *bucket + key.len);

    if (!bucket)
        return NULL;
    for (unsigned i = 0; i < GROUPS_COUNT; i++)
        omap_init(&bucket->groups[i], volumes_by_size_and_name);
    bucket->key_len = key.len;
    memcpy(bucket->key, key.s, key.len);
    return bucket;
}

static void bucket_drop_if_empty(struct volume_buckets *s, struct volume_bucket *bucket)
{
    if (bucket->count > 0)
        return;
    (void)map_remove(&s->by_key, (struct str){ bucket->key, bucket->key_len });
    for (size_t i = 0; i < bucket->labels.count; i++)
        free(bucket->labels.items[i]);
    vec_done(&bucket->labels);
    free(bucket); /* maps without entries hold no memory */
}

/* The bucket of the volume, created if missing: the caller puts an entry into it. */
static int bucket_get_or_add(struct volume_buckets *s, const struct volume *v, struct volume_bucket **ret)
{
    _cleanup_(index_key_done) struct index_key key;
    _cleanup_(freep) struct volume_bucket *made = NULL;
    struct volume_bucket *bucket;
    int r;

    bucket_write_key((enum volume_mode)v->mode, v->class, v->attributes_class, &key);
    if (key.text.failed)
        return -ERR_NO_MEMORY;
    bucket = map_get(&s->by_key, buf_str(&key.text));
    if (!bucket) {
        made = bucket_new(buf_str(&key.text));
        if (!made)
            return -ERR_NO_MEMORY;
        r = map_put(&s->by_key, (struct str){ made->key, made->key_len }, made, /* ret_old= */ NULL);
        if (r < 0)
            return r;
        bucket = TAKE(made);
        bucket->id = ++s->last_id;
    }
    *ret = bucket;
    return 0;
}

static int bucket_put_entry(struct volume_bucket *bucket, struct volume_entry *e)
{
    const struct volume *v = entry_volume(e);
    int r = omap_insert(&bucket->groups[volume_group(v)], quantity_rank(&v->capacity), e);

    assert(r != -ERR_EXISTS); /* a name is indexed once */
    if (r < 0)
        return r;
    e->place = PLACE_BUCKET;
    e->in.bucket = bucket;
    return 0;
}

int buckets_put_entry(struct volume_buckets *s, struct volume_entry *e)
{
    const struct volume *v = entry_volume(e);
    struct volume_bucket *bucket = NULL;
    int r = bucket_get_or_add(s, v, &bucket);

    assert(e->place == PLACE_NONE);
    if (r < 0)
        return r;
    r = s->is_by_node && volume_is_tied(v) ? node_buckets_put_entry(s, bucket, e)
                                           : bucket_put_entry(bucket, e);
    if (r < 0) {
        bucket_drop_if_empty(s, bucket);
        return r;
    }
    bucket->count++;
    bucket->inexact_count += size_is_inexact(&v->capacity);
    bucket->pinned_count += v->affinity != NULL;
    s->count++;
    return 0;
}

static struct volume_bucket *bucket_remove_entry(struct volume_entry *e)
{
    const struct volume *v = entry_volume(e);
    void *removed = omap_remove(&e->in.bucket->groups[volume_group(v)], quantity_rank(&v->capacity), e);

    assert(e->place == PLACE_BUCKET && removed == e);
    (void)removed;
    return e->in.bucket;
}

void buckets_remove_entry(struct volume_buckets *s, struct volume_entry *e)
{
    const struct volume *v = entry_volume(e);
    struct volume_bucket *bucket =
        e->place == PLACE_NODES ? node_buckets_remove_entry(s, e) : bucket_remove_entry(e);

    assert(bucket->count > 0 && s->count > 0);
    assert(!v->affinity || bucket->pinned_count > 0);
    bucket->count--;
    bucket->inexact_count -= size_is_inexact(&v->capacity);
    bucket->pinned_count -= v->affinity != NULL;
    s->count--;
    e->place = PLACE_NONE;
    bucket_drop_if_empty(s, bucket);
}

void buckets_exchange_volume(struct volume_entry *e, const struct volume *v)
{
    struct volume_bucket *bucket = e->in.bucket;

    assert(e->place == PLACE_BUCKET);
    bucket->pinned_count += v->affinity != NULL;
    bucket->pinned_count -= entry_volume(e)->affinity != NULL;
}

static bool volume_suits_claim(const struct volume *v, const struct claim *c, const struct match_options *o)
{
    if (o->awaits_class && v->affinity)
        return false;
    return !c->selector || label_selector_matches(c->selector, v->obj.labels.items, v->obj.labels.count);
}

/* The smallest volume of the group that is large enough and matches the selector. */
static const struct volume *group_find(const struct volume_bucket *bucket, unsigned group, uint64_t rank,
                                       const struct claim *c, const struct match_options *o)
{
    const struct omap *map = &bucket->groups[group];
    struct omap_cursor at;
    struct volume_entry *e = omap_lower_bound(map, rank, /* key= */ NULL, &at);

    /* Ranks are rounded up: if all ranks in the bucket are exact, the first one not below the request's is
     * large enough, and no volume has to be read from memory to compare. */
    if (e && bucket->inexact_count > 0 && quantity_cmp(&entry_volume(e)->capacity, &c->request) < 0)
        e = omap_lower_bound(map, rank, &c->request, &at);
    for (; e; e = omap_next(&at)) {
        const struct volume *v = entry_volume(e);

        if (volume_suits_claim(v, c, o))
            return v;
    }
    return NULL;
}

int buckets_get_for_claim(const struct volume_buckets *s, const struct claim *c,
                          const struct volume_bucket **ret)
{
    _cleanup_(index_key_done) struct index_key key;

    bucket_write_key((enum volume_mode)c->mode, c->class, c->attributes_class, &key);
    if (!key.text.failed)
        *ret = map_get(&s->by_key, buf_str(&key.text));
    return -(int)key.text.failed;
}

const struct volume *bucket_find_volume(const struct volume_bucket *bucket, const struct claim *c,
                                        const struct match_options *o, unsigned groups_end)
{
    uint64_t rank = quantity_rank(&c->request);
    const struct volume *found = NULL;

    if (o->awaits_class && bucket->pinned_count == bucket->count)
        return NULL; /* usually all volumes of a class have node affinity, or none has */
    for (unsigned i = 0; !found && i < groups_end; i++)
        if (group_suits(i, c) && bucket->groups[i].count > 0)
            found = group_find(bucket, i, rank, c, o);
    return found;
}
