#include "scheduler/free_volumes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/omap.h"
#include "base/vec.h"

#define KEY_BYTES_MAX (OBJECT_MEMORY_BYTES_MAX + 16)
/* A volume with more ties than this is kept with those that have none. */
#define TIES_MAX 64

/* Volumes of one class under one label value, or under none. */
struct bucket {
    struct omap by_size;
    size_t key_len;
    char key[]; /* class NUL [key NUL value] */
};

/* The labels by which volumes of a class are tied. Most classes have one. */
struct class_ties {
    VEC(char *) keys;
    size_t count; /* of volumes */
    char class[];
};

struct entry {
    const struct volume *volume; /* a reference */
    VEC(struct bucket *) in;
    struct class_ties *ties;
};

struct free_volumes {
    struct map by_name; /* entries */
    struct map buckets;
    struct map classes; /* class_ties */
};

static int entry_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return volume_cmp_size_name(((const struct entry *)a)->volume, ((const struct entry *)b)->volume);
}

/* A request stands before all volumes of its own size. */
static int request_cmp(void *ctx, const void *request, const void *item)
{
    (void)ctx;
    return quantity_cmp(request, &((const struct entry *)item)->volume->capacity) <= 0 ? -1 : 1;
}

static const struct omap_order by_size_and_name = { entry_cmp, request_cmp, NULL };

struct free_volumes *free_volumes_new(struct hash_seed seed)
{
    struct free_volumes *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    map_init(&f->by_name, seed);
    map_init(&f->buckets, seed);
    map_init(&f->classes, seed);
    return f;
}

/* --- Places --- */

static void bucket_key(struct buf *out, const char *class, const char *key, const char *value)
{
    buf_add(out, class, strlen(class) + 1);
    if (!key)
        return;
    buf_add(out, key, strlen(key) + 1);
    buf_add_cstr(out, value);
}

static struct bucket *bucket_get(const struct free_volumes *f, const char *class, const char *key,
                                 const char *value)
{
    char room[512];
    size_t class_len = strlen(class) + 1, key_len = key ? strlen(key) + 1 : 0, len;

    len = class_len + key_len + (key ? strlen(value) : 0);
    if (len <= sizeof room) { /* always, but for names that no server lets in */
        memcpy(room, class, class_len);
        if (key) {
            memcpy(room + class_len, key, key_len);
            memcpy(room + class_len + key_len, value, len - class_len - key_len);
        }
        return map_get(&f->buckets, (struct str){ room, len });
    }
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(KEY_BYTES_MAX);
    bucket_key(&text, class, key, value);
    return map_get(&f->buckets, buf_str(&text));
}

static struct bucket *bucket_for(struct free_volumes *f, const char *class, const char *key,
                                 const char *value)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(KEY_BYTES_MAX);
    struct bucket *b = bucket_get(f, class, key, value);

    if (b)
        return b;
    bucket_key(&text, class, key, value);
    b = text.failed ? NULL : malloc(sizeof *b + text.len);
    if (!b)
        return NULL;
    omap_init(&b->by_size, by_size_and_name);
    b->key_len = text.len;
    memcpy(b->key, buf_str(&text).s, text.len);
    if (map_put(&f->buckets, (struct str){ b->key, b->key_len }, b, NULL) < 0) {
        free(b);
        return NULL;
    }
    return b;
}

static void bucket_drop_if_empty(struct free_volumes *f, struct bucket *b)
{
    if (b->by_size.count > 0)
        return;
    (void)map_remove(&f->buckets, (struct str){ b->key, b->key_len });
    free(b);
}

static int put_under(struct free_volumes *f, struct entry *e, const char *key, const char *value)
{
    struct bucket *b = bucket_for(f, e->volume->class, key, value);
    int r;

    if (!b)
        return -ERR_NO_MEMORY;
    r = vec_push(&e->in, b);
    if (r == 0) {
        r = omap_insert(&b->by_size, quantity_rank(&e->volume->capacity), e);
        if (r < 0)
            e->in.count--;
    }
    if (r == -ERR_EXISTS)
        r = 0; /* two terms with the same value */
    bucket_drop_if_empty(f, b);
    return r;
}

/* --- Ties --- */

/* The first requirement of the term that names values; NULL for none. */
static const struct requirement *term_tie(const struct node_term *t)
{
    for (size_t i = 0; i < t->labels.count; i++)
        if (t->labels.items[i].op == SELECTOR_IN)
            return &t->labels.items[i];
    return NULL;
}

/* Every term names values, and there are few enough of them: whatever reaches the volume has one of them. */
static bool is_tied(const struct volume *v)
{
    size_t count = 0;

    if (!v->affinity || v->affinity->count == 0)
        return false;
    for (size_t i = 0; i < v->affinity->count; i++) {
        const struct requirement *q = term_tie(&v->affinity->terms[i]);

        if (!q)
            return false;
        count += q->values_count;
    }
    return count <= TIES_MAX;
}

static struct class_ties *ties_for(struct free_volumes *f, const char *class)
{
    struct class_ties *t = map_get(&f->classes, str_of(class));
    size_t len = strlen(class) + 1;

    if (t)
        return t;
    t = calloc(1, sizeof *t + len);
    if (!t)
        return NULL;
    memcpy(t->class, class, len);
    if (map_put(&f->classes, str_of(t->class), t, NULL) < 0) {
        free(t);
        return NULL;
    }
    return t;
}

static void ties_drop_if_empty(struct free_volumes *f, struct class_ties *t)
{
    if (t->count > 0)
        return;
    (void)map_remove(&f->classes, str_of(t->class));
    for (size_t i = 0; i < t->keys.count; i++)
        free(t->keys.items[i]);
    vec_done(&t->keys);
    free(t);
}

/* The key is one that nodes are asked for. Stays as long as the class has volumes. */
static int ties_note(struct class_ties *t, const char *key)
{
    char **place;

    for (size_t i = 0; i < t->keys.count; i++)
        if (strcmp(t->keys.items[i], key) == 0)
            return 0;
    if (vec_push(&t->keys, NULL) < 0)
        return -ERR_NO_MEMORY;
    place = &t->keys.items[t->keys.count - 1];
    *place = strdup(key);
    if (*place)
        return 0;
    t->keys.count--;
    return -ERR_NO_MEMORY;
}

static int put_tied(struct free_volumes *f, struct entry *e)
{
    const struct node_selector *s = e->volume->affinity;
    int r = 0;

    for (size_t i = 0; i < s->count && r == 0; i++) {
        const struct requirement *q = term_tie(&s->terms[i]);

        r = ties_note(e->ties, q->key);
        for (size_t k = 0; k < q->values_count && r == 0; k++)
            r = put_under(f, e, q->key, q->values[k]);
    }
    return r;
}

/* --- Volumes --- */

static void entry_free(struct free_volumes *f, struct entry *e)
{
    for (size_t i = 0; i < e->in.count; i++) {
        (void)omap_remove(&e->in.items[i]->by_size, quantity_rank(&e->volume->capacity), e);
        bucket_drop_if_empty(f, e->in.items[i]);
    }
    vec_done(&e->in);
    if (e->ties) {
        e->ties->count--;
        ties_drop_if_empty(f, e->ties);
    }
    (void)object_unref((struct object *)(uintptr_t)&e->volume->obj);
    free(e);
}

struct free_volumes *free_volumes_free(struct free_volumes *f)
{
    struct entry *e;

    if (!f)
        return NULL;
    for (size_t at = 0; (e = map_next(&f->by_name, &at, NULL));)
        entry_free(f, e);
    assert(f->buckets.count == 0 && f->classes.count == 0);
    map_done(&f->by_name);
    map_done(&f->buckets);
    map_done(&f->classes);
    free(f);
    return NULL;
}

static bool is_free(const struct volume *v)
{
    return !v->claim.is_set && v->phase == VOLUME_AVAILABLE && !v->obj.is_deleting;
}

int free_volumes_put(struct free_volumes *f, const struct volume *v)
{
    struct entry *e;
    int r;

    free_volumes_remove(f, v->obj.name);
    if (!is_free(v))
        return 0;
    e = calloc(1, sizeof *e);
    if (!e)
        return -ERR_NO_MEMORY;
    e->volume = volume_of(object_ref(&v->obj));
    e->ties = ties_for(f, v->class);
    if (e->ties)
        e->ties->count++;
    r = e->ties ? map_put(&f->by_name, str_of(e->volume->obj.name), e, NULL) : -ERR_NO_MEMORY;
    if (r == 0) {
        r = is_tied(v) ? put_tied(f, e) : put_under(f, e, NULL, NULL);
        if (r < 0)
            (void)map_remove(&f->by_name, str_of(e->volume->obj.name));
    }
    if (r < 0)
        entry_free(f, e);
    return r;
}

void free_volumes_remove(struct free_volumes *f, const char *name)
{
    struct entry *e = map_remove(&f->by_name, str_of(name));

    if (e)
        entry_free(f, e);
}

bool free_volumes_has_class(const struct free_volumes *f, const char *class)
{
    return map_get(&f->classes, str_of(class));
}

/* --- Searching --- */

static const struct volume *find_in(const struct bucket *b, const struct claim *c,
                                    const struct match_options *o, volume_is_taken_fn *is_taken, void *ctx)
{
    struct omap_cursor at;

    for (struct entry *e = omap_lower_bound(&b->by_size, quantity_rank(&c->request), NULL, &at); e;
         e = omap_next(&at))
        if (!is_taken(ctx, e->volume) && match_volume(e->volume, c, o) == REJECT_NONE)
            return e->volume;
    return NULL;
}

static const struct volume *better(const struct volume *a, const struct volume *b)
{
    if (!a || !b)
        return a ? a : b;
    return volume_cmp_size_name(a, b) <= 0 ? a : b;
}

const struct volume *free_volumes_find(const struct free_volumes *f, const struct claim *c,
                                       const struct kvs *node_labels, volume_is_taken_fn *is_taken, void *ctx)
{
    struct match_options o = { .node_labels = node_labels };
    const struct class_ties *t = map_get(&f->classes, str_of(c->class));
    const struct volume *found = NULL;
    const struct bucket *b;

    if (!t)
        return NULL;
    b = bucket_get(f, c->class, NULL, NULL);
    if (b)
        found = find_in(b, c, &o, is_taken, ctx);
    for (size_t i = 0; i < t->keys.count; i++) {
        const char *value = kv_get(node_labels->items, node_labels->count, t->keys.items[i]);

        b = value ? bucket_get(f, c->class, t->keys.items[i], value) : NULL;
        if (b)
            found = better(found, find_in(b, c, &o, is_taken, ctx));
    }
    return found;
}
