/* Free volumes by the label values of the nodes that can reach them, for searches on one node.
 *
 * A volume is tied when every term of its node affinity names values of a label, such as
 * kubernetes.io/hostname In [n1]: a node that reaches it has one of these values. It is in one node bucket
 * per value, ordered by size and name, and in no map of its bucket. Every other volume is in those maps and
 * is checked for every node. A node bucket only leaves out volumes that the node cannot reach; all rules
 * (match.h) still apply to the volumes found in it. */
#include "volumes/index_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "volumes/index.h"

/* A volume with more ties than this is treated as not tied. */
#define TIES_MAX 64

/* Tied volumes of one bucket under one label value. */
struct node_bucket {
    struct omap by_size;
    size_t key_len;
    char key[]; /* the bucket's id, the position of the label's key, the value */
};

/* The node buckets that have a tied volume. */
struct volume_ties {
    struct volume_bucket *bucket;
    size_t count;
    struct node_bucket *in[];
};

/* --- Ties --- */

/* The first requirement of the term that names values; NULL for none. */
static const struct requirement *term_tie(const struct node_term *t)
{
    for (size_t i = 0; i < t->labels.count; i++)
        if (t->labels.items[i].op == SELECTOR_IN)
            return &t->labels.items[i];
    return NULL;
}

/* The number of values that the volume is tied to; 0 for a volume that is not tied. */
static size_t volume_count_ties(const struct volume *v)
{
    size_t count = 0;

    for (size_t i = 0; v->affinity && i < v->affinity->count; i++) {
        const struct requirement *q = term_tie(&v->affinity->terms[i]);

        if (!q)
            return 0;
        count += q->values_count;
    }
    return count <= TIES_MAX ? count : 0;
}

bool volume_is_tied(const struct volume *v)
{
    return volume_count_ties(v) > 0;
}

/* The position of the label's key among those that tie volumes of the bucket; negative without memory. */
static int bucket_add_label(struct volume_bucket *bucket, const char *key)
{
    char *copy;

    for (size_t i = 0; i < bucket->labels.count; i++)
        if (strcmp(bucket->labels.items[i], key) == 0)
            return (int)i;
    if (vec_reserve(&bucket->labels, 1) < 0)
        return -ERR_NO_MEMORY;
    copy = strdup(key);
    if (!copy)
        return -ERR_NO_MEMORY;
    bucket->labels.items[bucket->labels.count] = copy;
    return (int)bucket->labels.count++;
}

/* --- Node buckets --- */

/* Its str.s is NULL without memory. */
static struct str node_bucket_key(const struct volume_bucket *bucket, uint32_t label, const char *value,
                                  struct index_key *to)
{
    size_t len = strlen(value);

    index_key_begin(to, sizeof bucket->id + sizeof label + len);
    buf_add(&to->text, &bucket->id, sizeof bucket->id);
    buf_add(&to->text, &label, sizeof label);
    buf_add(&to->text, value, len);
    return to->text.failed ? (struct str){ NULL, 0 } : buf_str(&to->text);
}

static struct node_bucket *node_bucket_new(struct volume_buckets *s, struct str key)
{
    struct node_bucket *b = malloc(sizeof *b + key.len);

    if (!b)
        return NULL;
    omap_init(&b->by_size, volumes_by_size_and_name);
    b->key_len = key.len;
    memcpy(b->key, key.s, key.len);
    if (map_put(&s->by_node, (struct str){ b->key, b->key_len }, b, /* ret_old= */ NULL) < 0) {
        free(b);
        return NULL;
    }
    return b;
}

static struct node_bucket *node_bucket_get(const struct volume_buckets *s, const struct volume_bucket *bucket,
                                           uint32_t label, const char *value)
{
    _cleanup_(index_key_done) struct index_key room;
    struct str key = node_bucket_key(bucket, label, value, &room);

    return key.s ? map_get(&s->by_node, key) : NULL;
}

static void node_bucket_drop_if_empty(struct volume_buckets *s, struct node_bucket *b)
{
    if (b->by_size.count > 0)
        return;
    (void)map_remove(&s->by_node, (struct str){ b->key, b->key_len });
    free(b);
}

/* --- Entries --- */

static int ties_add(struct volume_buckets *s, struct volume_ties *ties, struct volume_entry *e, int label,
                    const char *value)
{
    _cleanup_(index_key_done) struct index_key room;
    struct str key = node_bucket_key(ties->bucket, (uint32_t)label, value, &room);
    struct node_bucket *b = key.s ? map_get(&s->by_node, key) : NULL;
    int r;

    if (!b && key.s)
        b = node_bucket_new(s, key);
    if (!b)
        return -ERR_NO_MEMORY;
    r = omap_insert(&b->by_size, quantity_rank(&entry_volume(e)->capacity), e);
    if (r == 0)
        ties->in[ties->count++] = b;
    node_bucket_drop_if_empty(s, b);
    return r == -ERR_EXISTS ? 0 : r; /* two terms name the same value */
}

static void ties_free(struct volume_buckets *s, struct volume_ties *ties, struct volume_entry *e)
{
    for (size_t i = 0; i < ties->count; i++) {
        void *removed = omap_remove(&ties->in[i]->by_size, quantity_rank(&entry_volume(e)->capacity), e);

        assert(removed == e);
        (void)removed;
        node_bucket_drop_if_empty(s, ties->in[i]);
    }
    free(ties);
}

int node_buckets_put_entry(struct volume_buckets *s, struct volume_bucket *bucket, struct volume_entry *e)
{
    const struct node_selector *affinity = entry_volume(e)->affinity;
    size_t count = volume_count_ties(entry_volume(e));
    struct volume_ties *ties = malloc(sizeof *ties + count * sizeof *ties->in);
    int r = 0;

    assert(e->place == PLACE_NONE && count > 0);
    if (!ties)
        return -ERR_NO_MEMORY;
    ties->bucket = bucket;
    ties->count = 0;
    for (size_t i = 0; i < affinity->count && r >= 0; i++) {
        const struct requirement *q = term_tie(&affinity->terms[i]);
        int label = bucket_add_label(bucket, q->key);

        r = label;
        for (size_t k = 0; k < q->values_count && r >= 0; k++)
            r = ties_add(s, ties, e, label, q->values[k]);
    }
    if (r < 0) {
        ties_free(s, ties, e);
        return r;
    }
    e->place = PLACE_NODES;
    e->in.ties = ties;
    return 0;
}

struct volume_bucket *node_buckets_remove_entry(struct volume_buckets *s, struct volume_entry *e)
{
    struct volume_bucket *bucket = e->in.ties->bucket;

    assert(e->place == PLACE_NODES);
    ties_free(s, e->in.ties, e);
    return bucket;
}

/* --- The search --- */

/* State of a search on a node. */
struct node_search {
    const struct claim *claim;
    struct match_options options;
    uint64_t rank;
    volume_is_taken_fn *is_taken;
    void *ctx;
    const struct volume *best;
};

/* Takes the first suitable volume of the map, if it is better than the best one so far. */
static void search_map(struct node_search *search, const struct omap *map)
{
    struct omap_cursor at;

    for (struct volume_entry *e = omap_lower_bound(map, search->rank, /* key= */ NULL, &at); e;
         e = omap_next(&at)) {
        const struct volume *v = entry_volume(e);

        if (search->best && volume_cmp_size_name(v, search->best) >= 0)
            return;
        if (!search->is_taken(search->ctx, v) &&
            match_volume(v, search->claim, &search->options) == REJECT_NONE) {
            search->best = v;
            return;
        }
    }
}

const struct volume *volume_index_find_on_node(const struct volume_index *index, const struct claim *c,
                                               const struct kvs *node_labels, volume_is_taken_fn *is_taken,
                                               void *ctx)
{
    struct node_search search = { .claim = c,
                                  .options = { .node_labels = node_labels },
                                  .rank = quantity_rank(&c->request),
                                  .is_taken = is_taken,
                                  .ctx = ctx };
    const struct volume_bucket *bucket = NULL;

    assert(index->buckets.is_by_node);
    if (buckets_get_for_claim(&index->buckets, c, &bucket) < 0 || !bucket)
        return NULL;
    for (unsigned i = 0; i < GROUPS_COUNT; i++)
        if (bucket->groups[i].count > 0 && group_suits(i, c))
            search_map(&search, &bucket->groups[i]);
    for (size_t i = 0; i < bucket->labels.count; i++) {
        const char *value = kv_get(node_labels->items, node_labels->count, bucket->labels.items[i]);
        const struct node_bucket *b =
            value ? node_bucket_get(&index->buckets, bucket, (uint32_t)i, value) : NULL;

        if (b)
            search_map(&search, &b->by_size);
    }
    return search.best;
}
