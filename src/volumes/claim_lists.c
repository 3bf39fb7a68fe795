/* Volumes that belong to a claim, are reserved for it or held for it, indexed by the claim.
 *
 * There is one list per claim uid, and one per "namespace/name" that volumes are reserved for without a uid:
 * a claim that was recreated under its old name never gets the volumes of its predecessors. Most lists have
 * one entry. Finding, adding and removing take O(1). A uid can have the same text as another claim's
 * "namespace/name", so callers check the entries of a list against the claim. */
#include "volumes/index_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutant.h"

static struct claim_list *claim_list_new(struct str key)
{
    struct claim_list *list = malloc(sizeof *list + key.len);

    if (!list)
        return NULL;
    list->head = NULL;
    list->key_len = key.len;
    if (key.len)
        memcpy(list->key, key.s, key.len);
    return list;
}

int claim_lists_init(struct claim_lists *l, struct hash_seed seed)
{
    *l = (struct claim_lists){ 0 };
    map_init(&l->by_key, seed);
    l->unplaced = claim_list_new((struct str){ 0 });
    return l->unplaced ? 0 : -ERR_NO_MEMORY;
}

void claim_lists_done(struct claim_lists *l)
{
    assert(l->by_key.count == 0);
    map_done(&l->by_key);
    free(l->unplaced);
    l->unplaced = NULL;
}

bool claim_list_is_for(const struct claim_list *list, const struct claim_ref *ref)
{
    struct str key = { list->key, list->key_len }, ns;

    if (!ref->is_set)
        return false;
    if (ref->uid[0])
        return str_is(key, ref->uid);
    ns = str_next(&key, '/');
    return key.s && str_is(ns, ref->ns) && str_is(key, ref->name);
}

static void claim_list_link(struct claim_list *list, struct volume_entry *e)
{
    assert(e->place == PLACE_NONE);
    e->place = PLACE_LIST;
    e->in.list = list;
    e->prev = NULL;
    e->next = list->head;
    if (e->next)
        e->next->prev = e;
    list->head = e;
}

void claim_lists_put_unplaced(struct claim_lists *l, struct volume_entry *e)
{
    claim_list_link(l->unplaced, e);
}

/* The list of the key, created if missing: the caller puts an entry into it. */
static int claim_list_get_or_add(struct claim_lists *l, struct str key, struct claim_list **ret)
{
    _cleanup_(freep) struct claim_list *made = NULL;
    struct claim_list *list = map_get(&l->by_key, key);
    int r;

    if (!list) {
        made = claim_list_new(key);
        if (!made)
            return -ERR_NO_MEMORY;
        r = map_put(&l->by_key, (struct str){ made->key, made->key_len }, made, /* ret_old= */ NULL);
        if (r < 0)
            return r;
        list = TAKE(made);
    }
    *ret = list;
    return 0;
}

int claim_lists_put_entry(struct claim_lists *l, struct volume_entry *e)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(INDEX_KEY_BYTES_MAX);
    const struct volume *v = entry_volume(e);
    struct str key = str_of(v->claim.uid);
    struct claim_list *list;
    int r;

    if (key.len == 0) {
        volume_claim_key(v, &name);
        if (name.failed)
            return -(int)name.failed;
        key = buf_str(&name);
    }
    r = claim_list_get_or_add(l, key, &list);
    if (r < 0)
        return r;
    claim_list_link(list, e);
    return 0;
}

int claim_lists_move_entry(struct claim_lists *l, struct volume_buckets *s, struct volume_entry *e,
                           struct str key)
{
    struct claim_list *list;
    int r = claim_list_get_or_add(l, key, &list);

    if (r < 0)
        return r;
    if (e->place == PLACE_LIST && e->in.list == list)
        return 0;
    if (e->place == PLACE_BUCKET)
        buckets_remove_entry(s, e);
    else if (e->place == PLACE_LIST)
        claim_lists_remove_entry(l, e);
    claim_list_link(list, e);
    return 0;
}

void claim_lists_remove_entry(struct claim_lists *l, struct volume_entry *e)
{
    struct claim_list *list = e->in.list;

    assert(e->place == PLACE_LIST);
    assert(e->prev ? e->prev->next == e : list->head == e);
    assert(!e->next || e->next->prev == e);
    e->place = PLACE_NONE;
    if (e->next && !MUTANT("index-links-one-way"))
        e->next->prev = e->prev;
    if (e->prev)
        e->prev->next = e->next;
    else
        list->head = e->next;
    if (list->head || list == l->unplaced)
        return;
    (void)map_remove(&l->by_key, (struct str){ list->key, list->key_len });
    free(list);
}
