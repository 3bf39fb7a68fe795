/* Volumes that belong to a claim, are kept for it or were promised to it, found by the claim.
 *
 * One list for each claim's uid, and one for each "namespace/name" that volumes are kept for without a uid: a
 * claim that was made again under its old name never meets the volumes of its forerunners. Most lists have
 * one entry. Finding, adding and removing take O(1). A uid could read like another claim's name, so what a
 * list holds is still to be checked against the claim. */
#include "volumes/index_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static struct list *list_new(struct str key)
{
    struct list *list = malloc(sizeof *list + key.len);

    if (!list)
        return NULL;
    list->head = NULL;
    list->key_len = key.len;
    if (key.len)
        memcpy(list->key, key.s, key.len);
    return list;
}

int lists_init(struct lists *l, struct hash_seed seed)
{
    *l = (struct lists){ 0 };
    map_init(&l->by_key, seed);
    l->strays = list_new((struct str){ 0 });
    return l->strays ? 0 : -ERR_NO_MEMORY;
}

void lists_done(struct lists *l)
{
    assert(l->by_key.count == 0);
    map_done(&l->by_key);
    free(l->strays);
    l->strays = NULL;
}

bool list_is_for(const struct list *list, const struct claim_ref *ref)
{
    struct str key = { list->key, list->key_len }, ns;

    if (!ref->is_set)
        return false;
    if (ref->uid[0])
        return str_is(key, ref->uid);
    ns = str_next(&key, '/');
    return key.s && str_is(ns, ref->ns) && str_is(key, ref->name);
}

static void list_link(struct list *list, struct entry *e)
{
    assert(e->place == PLACE_NOWHERE);
    e->place = PLACE_LIST;
    e->in.list = list;
    e->prev = NULL;
    e->next = list->head;
    if (e->next)
        e->next->prev = e;
    list->head = e;
}

void lists_put_stray(struct lists *l, struct entry *e)
{
    list_link(l->strays, e);
}

/* The list of the key, made when it is missing: the caller puts an entry into it. */
static int list_for(struct lists *l, struct str key, struct list **ret)
{
    _cleanup_(freep) struct list *made = NULL;
    struct list *list = map_get(&l->by_key, key);
    int r;

    if (!list) {
        made = list_new(key);
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

int lists_put(struct lists *l, struct entry *e)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(INDEX_KEY_BYTES_MAX);
    const struct volume *v = entry_volume(e);
    struct str key = str_of(v->claim.uid);
    struct list *list;
    int r;

    if (key.len == 0) {
        volume_claim_key(v, &name);
        if (name.failed)
            return -(int)name.failed;
        key = buf_str(&name);
    }
    r = list_for(l, key, &list);
    if (r < 0)
        return r;
    list_link(list, e);
    return 0;
}

int lists_move(struct lists *l, struct shelves *s, struct entry *e, struct str key)
{
    struct list *list;
    int r = list_for(l, key, &list);

    if (r < 0)
        return r;
    if (e->place == PLACE_LIST && e->in.list == list)
        return 0;
    if (e->place == PLACE_SHELF)
        shelves_remove(s, e);
    else if (e->place == PLACE_LIST)
        lists_remove(l, e);
    list_link(list, e);
    return 0;
}

void lists_remove(struct lists *l, struct entry *e)
{
    struct list *list = e->in.list;

    assert(e->place == PLACE_LIST);
    e->place = PLACE_NOWHERE;
    if (e->next)
        e->next->prev = e->prev;
    if (e->prev)
        e->prev->next = e->next;
    else
        list->head = e->next;
    if (list->head || list == l->strays)
        return;
    (void)map_remove(&l->by_key, (struct str){ list->key, list->key_len });
    free(list);
}
