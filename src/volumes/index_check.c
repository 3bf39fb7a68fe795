/* Checks the invariant of the index: compares every entry, list and bucket with the rules of index_int.h.
 *
 * Walks every place and compares its entries with those found by name. Then the numbers of both must agree:
 * no entry is in two places, and no place has an entry that belongs elsewhere. Costs O(n); only the simulator
 * and tests call it. */
#include "volumes/index_int.h"

#include <string.h>

#include "volumes/index.h"

/* Counts collected by a walk. */
struct index_sums {
    size_t in_buckets, in_nodes, in_lists;
    size_t with_modes[GROUPS_COUNT];
};

static bool is_indexed(const struct volume_index *index, const struct volume_entry *e)
{
    return map_get(&index->by_name, str_of(e->object->name)) == e;
}

/* --- Entries by name --- */

static bool entry_is_free(const struct volume_entry *e)
{
    const struct volume *v = entry_volume(e);

    return volume_is_unclaimed(v) && (v->phase == VOLUME_AVAILABLE || e->is_expected);
}

static const char *listed_check(const struct volume_index *index, const struct volume_entry *e)
{
    const struct claim_list *list = e->in.list;

    if (list == index->lists.unplaced)
        return e->is_held ? "a held volume is not in its claim's list" : NULL;
    if (map_get(&index->lists.by_key, (struct str){ list->key, list->key_len }) != list)
        return "a volume is in a list that does not exist";
    return e->is_held || claim_list_is_for(list, &entry_volume(e)->claim)
               ? NULL
               : "a volume is in the list of a claim that it does not name";
}

static const char *entry_check(const struct volume_index *index, const struct volume_entry *e,
                               struct index_sums *sums)
{
    bool is_by_node = index->buckets.is_by_node;

    sums->with_modes[volume_group(entry_volume(e))]++;
    if (e->is_held && e->place != PLACE_LIST)
        return "a held volume is in no list";
    switch ((enum index_place)e->place) {
    case PLACE_NONE:
        return entry_volume(e)->claim.is_set || entry_is_free(e)
                   ? "a volume that must be findable is in no place"
                   : NULL;
    case PLACE_BUCKET:
        sums->in_buckets++;
        return entry_is_free(e) ? NULL : "a volume that is not free is in a bucket";
    case PLACE_NODES:
        sums->in_nodes++;
        return is_by_node && entry_is_free(e) ? NULL : "a volume that is not free is in node buckets";
    case PLACE_LIST:
        sums->in_lists++;
        return listed_check(index, e);
    }
    return "a volume has an unknown place";
}

/* --- Buckets --- */

static const char *group_check(const struct volume_index *index, const struct volume_bucket *b,
                               unsigned group, size_t *pinned)
{
    struct omap_cursor at;

    for (const struct volume_entry *e = omap_first(&b->groups[group], &at); e; e = omap_next(&at)) {
        if (!is_indexed(index, e) || e->place != PLACE_BUCKET || e->in.bucket != b)
            return "a bucket has a volume whose entry names another place";
        if (volume_group(entry_volume(e)) != group)
            return "a volume is in the group of other access modes";
        *pinned += entry_volume(e)->affinity != NULL;
    }
    return NULL;
}

static const char *buckets_check(const struct volume_index *index, const struct index_sums *sums)
{
    const struct volume_bucket *b;
    size_t count = 0, in_groups = 0;

    for (size_t at = 0; (b = map_next(&index->buckets.by_key, &at, NULL));) {
        size_t own = 0, pinned = 0;

        for (unsigned i = 0; i < GROUPS_COUNT; i++) {
            const char *wrong = group_check(index, b, i, &pinned);

            if (wrong)
                return wrong;
            own += b->groups[i].count;
        }
        if (b->count == 0 || own > b->count || (!index->buckets.is_by_node && own != b->count))
            return "the number of volumes of a bucket is wrong";
        if (!index->buckets.is_by_node && pinned != b->pinned_count)
            return "the number of pinned volumes of a bucket is wrong";
        in_groups += own;
        count += b->count;
    }
    if (in_groups != sums->in_buckets)
        return "a volume is in no bucket, or in two";
    return count == index->buckets.count && count == sums->in_buckets + sums->in_nodes
               ? NULL
               : "the number of free volumes is wrong";
}

/* --- Lists --- */

static const char *list_check(const struct volume_index *index, const struct claim_list *list, size_t *count)
{
    const struct volume_entry *before = NULL;

    for (const struct volume_entry *e = list->head; e; before = e, e = e->next) {
        if (e->prev != before || ++*count > index->by_name.count)
            return "a list of volumes is not linked both ways";
        if (!is_indexed(index, e) || e->place != PLACE_LIST || e->in.list != list)
            return "a list has a volume whose entry names another place";
    }
    return NULL;
}

static const char *lists_check(const struct volume_index *index, const struct index_sums *sums)
{
    size_t count = 0;
    const char *wrong = list_check(index, index->lists.unplaced, &count);
    const struct claim_list *list;

    for (size_t at = 0; !wrong && (list = map_next(&index->lists.by_key, &at, NULL));)
        wrong = list->head ? list_check(index, list, &count) : "an empty list was not freed";
    if (wrong)
        return wrong;
    return count == sums->in_lists ? NULL : "a volume is in no list, or in two";
}

static const char *hold_check(const struct volume_entry *e, volume_hold_is_owned_fn *is_owned, void *ctx)
{
    struct str claim_uid = { e->in.list->key, e->in.list->key_len };

    return is_owned(ctx, entry_volume(e), claim_uid) ? NULL : "a hold has no owner";
}

const char *volume_index_check_holds(const struct volume_index *index, volume_hold_is_owned_fn *is_owned,
                                     void *ctx)
{
    const struct volume_entry *e;
    const char *wrong = NULL;

    for (size_t at = 0; !wrong && (e = map_next(&index->by_name, &at, NULL));)
        wrong = e->is_held ? hold_check(e, is_owned, ctx) : NULL;
    return wrong;
}

const char *volume_index_check(const struct volume_index *index, volume_hold_is_owned_fn *is_owned, void *ctx)
{
    struct index_sums sums = { 0 };
    const struct volume_entry *e;
    const char *wrong = NULL;
    struct str name;

    for (size_t at = 0; !wrong && (e = map_next(&index->by_name, &at, &name));) {
        wrong = str_is(name, e->object->name) ? entry_check(index, e, &sums)
                                              : "a volume is indexed by another name";
        if (!wrong && is_owned && e->is_held)
            wrong = hold_check(e, is_owned, ctx);
    }
    if (!wrong)
        wrong = buckets_check(index, &sums);
    if (!wrong)
        wrong = lists_check(index, &sums);
    if (!wrong && memcmp(sums.with_modes, index->with_modes, sizeof sums.with_modes) != 0)
        wrong = "the number of volumes by modes is wrong";
    return wrong;
}
