/* Free volumes, so that the smallest that will do is one search away.
 *
 * A shelf holds one ordered map for each set of access modes. Its key is (volume mode, class, attributes
 * class): a claim looks at one shelf only, and there at most at 16 maps. A shelf costs 1 KiB beside its maps
 * and goes with its last volume. */
#include "volumes/index_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Fewest modes first, then by their bits: the order that claims see. */
static const uint8_t group_modes[GROUPS_COUNT] = { 0, 1, 2, 4, 8, 3, 5, 6, 9, 10, 12, 7, 11, 13, 14, 15 };
static const uint8_t group_of_modes[GROUPS_COUNT] = { 0, 1, 2, 5, 3, 6, 7, 11, 4, 8, 9, 12, 10, 13, 14, 15 };

struct shelf {
    struct omap groups[GROUPS_COUNT];
    size_t count;         /* of volumes, over all groups */
    size_t inexact_count; /* of those whose rank is not their very size */
    size_t pinned_count;  /* of those with node affinity */
    size_t key_len;
    char key[];
};

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

bool volume_shelf_is_same(const struct volume *a, const struct volume *b)
{
    return volume_group(a) == volume_group(b) && a->mode == b->mode && strcmp(a->class, b->class) == 0 &&
           strcmp(a->attributes_class, b->attributes_class) == 0 && volume_cmp_size_name(a, b) == 0;
}

static int entry_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return volume_cmp_size_name(entry_volume(a), entry_volume(b));
}

/* A request stands before all volumes of its own size. */
static int request_cmp(void *ctx, const void *request, const void *item)
{
    (void)ctx;
    return quantity_cmp(request, &entry_volume(item)->capacity) <= 0 ? -1 : 1;
}

/* A part of a byte, or more than 63 bits of them: such a volume may be smaller than what shares its rank. */
static bool size_is_inexact(const struct quantity *size)
{
    struct quantity whole = quantity_of(quantity_value(size), QUANTITY_BINARY_SI);

    return quantity_cmp(size, &whole) != 0;
}

static const struct omap_order by_size_and_name = { entry_cmp, request_cmp, NULL };

void shelves_init(struct shelves *s, struct hash_seed seed)
{
    *s = (struct shelves){ 0 };
    map_init(&s->by_key, seed);
}

void shelves_done(struct shelves *s)
{
    assert(s->by_key.count == 0);
    map_done(&s->by_key);
}

/* No name holds a NUL, so that one between two names keeps them apart. */
static void shelf_key(enum volume_mode mode, const char *class, const char *attributes_class, struct buf *out)
{
    buf_add_char(out, mode == VOLUME_MODE_BLOCK ? 'b' : 'f');
    buf_add(out, class, strlen(class) + 1);
    buf_add_cstr(out, attributes_class);
}

static struct shelf *shelf_new(struct str key)
{
    struct shelf *shelf = malloc(sizeof *shelf + key.len);

    if (!shelf)
        return NULL;
    for (unsigned i = 0; i < GROUPS_COUNT; i++)
        omap_init(&shelf->groups[i], by_size_and_name);
    shelf->count = shelf->inexact_count = shelf->pinned_count = 0;
    shelf->key_len = key.len;
    memcpy(shelf->key, key.s, key.len);
    return shelf;
}

static void shelf_drop_if_empty(struct shelves *s, struct shelf *shelf)
{
    if (shelf->count > 0)
        return;
    (void)map_remove(&s->by_key, (struct str){ shelf->key, shelf->key_len });
    free(shelf); /* maps without entries hold no memory */
}

/* The shelf of the volume, made when it is missing. */
static int shelf_for(struct shelves *s, const struct volume *v, struct shelf **ret)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(INDEX_KEY_BYTES_MAX);
    _cleanup_(freep) struct shelf *made = NULL;
    struct shelf *shelf;
    int r;

    shelf_key((enum volume_mode)v->mode, v->class, v->attributes_class, &key);
    if (key.failed)
        return -(int)key.failed;
    shelf = map_get(&s->by_key, buf_str(&key));
    if (!shelf) {
        made = shelf_new(buf_str(&key));
        if (!made)
            return -ERR_NO_MEMORY;
        r = map_put(&s->by_key, (struct str){ made->key, made->key_len }, made, /* ret_old= */ NULL);
        if (r < 0)
            return r;
        shelf = TAKE(made);
    }
    *ret = shelf;
    return 0;
}

int shelves_put(struct shelves *s, struct entry *e)
{
    const struct volume *v = entry_volume(e);
    struct shelf *shelf = NULL;
    int r = shelf_for(s, v, &shelf);

    assert(e->place == PLACE_NOWHERE);
    if (r < 0)
        return r;
    r = omap_insert(&shelf->groups[volume_group(v)], quantity_rank(&v->capacity), e);
    assert(r != -ERR_EXISTS); /* a name is there once */
    if (r < 0) {
        shelf_drop_if_empty(s, shelf);
        return r;
    }
    shelf->count++;
    shelf->inexact_count += size_is_inexact(&v->capacity);
    shelf->pinned_count += v->affinity != NULL;
    s->count++;
    e->place = PLACE_SHELF;
    e->in.shelf = shelf;
    return 0;
}

void shelves_remove(struct shelves *s, struct entry *e)
{
    const struct volume *v = entry_volume(e);
    struct shelf *shelf = e->in.shelf;
    void *removed;

    assert(e->place == PLACE_SHELF);
    removed = omap_remove(&shelf->groups[volume_group(v)], quantity_rank(&v->capacity), e);
    assert(removed == e);
    (void)removed;
    shelf->count--;
    shelf->inexact_count -= size_is_inexact(&v->capacity);
    shelf->pinned_count -= v->affinity != NULL;
    s->count--;
    e->place = PLACE_NOWHERE;
    shelf_drop_if_empty(s, shelf);
}

void shelves_exchange(struct entry *e, const struct volume *v)
{
    struct shelf *shelf = e->in.shelf;

    assert(e->place == PLACE_SHELF);
    shelf->pinned_count += v->affinity != NULL;
    shelf->pinned_count -= entry_volume(e)->affinity != NULL;
}

static bool suits(const struct volume *v, const struct claim *c, const struct match_options *o)
{
    if (o->awaits_class && v->affinity)
        return false;
    return !c->selector || label_selector_matches(c->selector, v->obj.labels.items, v->obj.labels.count);
}

/* The smallest of the group that is large enough and that the selector takes. */
static const struct volume *group_find(const struct shelf *shelf, unsigned group, uint64_t rank,
                                       const struct claim *c, const struct match_options *o)
{
    const struct omap *map = &shelf->groups[group];
    struct omap_cursor at;
    struct entry *e = omap_lower_bound(map, rank, /* key= */ NULL, &at);

    /* A rank is rounded up: where every volume's is exact, the first that is not below the request's is large
     * enough, and none of them had to be fetched to know. */
    if (e && shelf->inexact_count > 0 && quantity_cmp(&entry_volume(e)->capacity, &c->request) < 0)
        e = omap_lower_bound(map, rank, &c->request, &at);
    for (; e; e = omap_next(&at)) {
        const struct volume *v = entry_volume(e);

        if (suits(v, c, o))
            return v;
    }
    return NULL;
}

int shelves_get(const struct shelves *s, const struct claim *c, const struct shelf **ret)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(INDEX_KEY_BYTES_MAX);

    shelf_key((enum volume_mode)c->mode, c->class, c->attributes_class, &key);
    if (!key.failed)
        *ret = map_get(&s->by_key, buf_str(&key));
    return -(int)key.failed;
}

const struct volume *shelf_find(const struct shelf *shelf, const struct claim *c,
                                const struct match_options *o, unsigned groups_end)
{
    uint64_t rank = quantity_rank(&c->request);
    const struct volume *found = NULL;

    if (o->awaits_class && shelf->pinned_count == shelf->count)
        return NULL; /* as a rule: of a class all volumes have node affinity, or none */
    for (unsigned i = 0; !found && i < groups_end; i++)
        if (group_suits(i, c) && shelf->groups[i].count > 0)
            found = group_find(shelf, i, rank, c, o);
    return found;
}
