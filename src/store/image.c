/* Entries in one ordered map per kind: lists are sorted, and a search by key takes O(log n).
 *
 * An additional hash map would make gets slightly faster at twice the memory; requests cost far more than
 * either. Keys are stored in the entries, so that a comparison reads one place in memory. */
#include "store/store_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutant.h"
struct store_key store_key_of(const char *ns, const char *name)
{
    return (struct store_key){ str_of(ns), str_of(name) };
}

struct store_key store_entry_key(const struct store_entry *e)
{
    return (struct store_key){ { e->key, e->ns_len }, { e->key + e->ns_len + 1, e->name_len } };
}

int store_key_cmp(struct store_key a, struct store_key b)
{
    int c = str_cmp(a.ns, b.ns);

    return c != 0 ? c : str_cmp(a.name, b.name);
}

static int image_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return store_key_cmp(store_entry_key(a), store_entry_key(b));
}

static int image_cmp_key(void *ctx, const void *key, const void *e)
{
    (void)ctx;
    return store_key_cmp(*(const struct store_key *)key, store_entry_key(e));
}

/* The first eight bytes of namespace, NUL and name. Either all objects of a kind have a namespace or none;
 * without one the rank is that of the name. */
uint64_t store_key_rank(struct store_key key)
{
    uint64_t rank = 0;
    unsigned n = 0;

    for (size_t i = 0; i < key.ns.len && n < 8; i++, n++)
        rank = rank << 8 | (unsigned char)key.ns.s[i];
    if (key.ns.len > 0 && n < 8) {
        rank <<= 8;
        n++;
    }
    for (size_t i = 0; i < key.name.len && n < 8; i++, n++)
        rank = rank << 8 | (unsigned char)key.name.s[i];
    for (; n < 8; n++)
        rank <<= 8;
    return rank;
}

void store_image_init(struct store_image *m)
{
    *m = (struct store_image){ 0 };
    for (size_t k = 0; k < KIND_COUNT; k++)
        omap_init(&m->kinds[k], (struct omap_order){ image_cmp, image_cmp_key, NULL });
}

void store_image_done(struct store_image *m)
{
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct omap_cursor at;
        for (struct store_entry *e = omap_first(&m->kinds[k], &at); e; e = omap_next(&at)) {
            (void)object_unref(e->object);
            free(e);
        }
        omap_done(&m->kinds[k]);
    }
}

struct store_entry *store_image_find(const struct store_image *m, enum kind k, struct store_key key)
{
    assert(k < KIND_COUNT);
    return omap_find(&m->kinds[k], store_key_rank(key), &key);
}

struct store_entry *store_image_from(const struct store_image *m, enum kind k, struct store_key key,
                                     struct omap_cursor *ret)
{
    assert(k < KIND_COUNT);
    return omap_lower_bound(&m->kinds[k], store_key_rank(key), &key, ret);
}

static struct store_entry *entry_new(struct store_key key)
{
    struct store_entry *e = malloc(sizeof *e + key.ns.len + 1 + key.name.len);

    if (!e)
        return NULL;
    *e = (struct store_entry){ .ns_len = (uint32_t)key.ns.len, .name_len = (uint32_t)key.name.len };
    if (key.ns.len)
        memcpy(e->key, key.ns.s, key.ns.len);
    e->key[key.ns.len] = '\0';
    if (key.name.len)
        memcpy(e->key + key.ns.len + 1, key.name.s, key.name.len);
    return e;
}

struct store_entry *store_image_ensure(struct store_image *m, enum kind k, struct store_key key)
{
    struct store_entry *e = store_image_find(m, k, key);

    if (e)
        return e;
    e = entry_new(key);
    if (e && omap_insert(&m->kinds[k], store_key_rank(key), e) < 0) {
        free(e);
        return NULL;
    }
    return e;
}

void store_image_release(struct store_image *m, enum kind k, struct store_entry *e)
{
    if (e->object || e->newest)
        return;
    void *removed = omap_remove(&m->kinds[k], store_key_rank(store_entry_key(e)), e);

    assert(removed == e);
    (void)removed;
    free(e);
}

struct object *store_image_set(struct store_image *m, enum kind k, struct store_entry *e, struct object *o)
{
    struct object *old = e->object;

    assert(!o || o->kind->kind == k);
    assert(!o || !old || o->revision > old->revision);
    m->counts[k] += o != NULL;
    m->counts[k] -= old != NULL && !(!o && MUTANT("store-miscounts-objects"));
    e->object = o;
    return old;
}
