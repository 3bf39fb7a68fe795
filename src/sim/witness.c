#include "sim/witness.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_world.h"

struct witnessed {
    char key[300];
    char uid[64];
    int64_t revision;
};

static void key_of(const struct object *o, char to[static 300])
{
    (void)snprintf(to, 300, "%s/%s", o->ns, o->name);
}

static struct witnessed *find(const struct witness *w, const struct object *o)
{
    char key[300];

    key_of(o, key);
    return map_get(&w->known, str_of(key));
}

static void complain(struct witness *w, const struct object *o, const char *what)
{
    sim_fail(w->sim, "informer of %s: %s/%s@%lld: %s", kind_info(w->kind)->plural, o->ns, o->name,
             (long long)o->revision, what);
}

static void put(struct map *to, struct witnessed *k)
{
    void *old = NULL;

    if (map_put(to, str_of(k->key), k, &old) < 0)
        abort();
    free(old);
}

static void on_add(void *ctx, const struct object *o, bool is_initial)
{
    struct witness *w = ctx;
    struct witnessed *k = find(w, o);
    const struct witnessed *gone = map_get(&w->gone, str_of(o->uid));

    if (k) {
        complain(w, o, "added, and was there");
        return;
    }
    /* It may leave the selection and come back, but not as it was. */
    if (gone && o->revision <= gone->revision)
        complain(w, o, "added in a version from before it was deleted");
    if (is_initial && w->was_synced)
        complain(w, o, "initial, long after the first list");
    k = sim_alloc(sizeof *k);
    key_of(o, k->key);
    (void)snprintf(k->uid, sizeof k->uid, "%s", o->uid);
    k->revision = o->revision;
    put(&w->known, k);
}

static void on_update(void *ctx, const struct object *old, const struct object *o)
{
    struct witness *w = ctx;
    struct witnessed *k = find(w, o);

    if (!k) {
        complain(w, o, "updated, and was never added");
        return;
    }
    if (strcmp(k->uid, o->uid) != 0 || strcmp(old->uid, o->uid) != 0)
        complain(w, o, "updated to another object of the same name");
    if (k->revision != old->revision)
        complain(w, o, "updated from a version that was not the last one told");
    if (o->revision <= k->revision)
        complain(w, o, "updated to a version that is no newer");
    k->revision = o->revision;
}

static void on_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct witness *w = ctx;
    struct witnessed *k = find(w, o);

    if (!k) {
        complain(w, o, "deleted, and was not there");
        return;
    }
    if (strcmp(k->uid, o->uid) != 0)
        complain(w, o, "deleted, but another of that name was there");
    if (is_final_unknown ? o->revision != k->revision : o->revision < k->revision)
        complain(w, o, "deleted in a version that is older than known");
    (void)map_remove(&w->known, str_of(k->key));
    (void)snprintf(k->key, sizeof k->key, "%s", k->uid);
    k->revision = o->revision;
    put(&w->gone, k);
}

static void on_synced(void *ctx)
{
    struct witness *w = ctx;

    if (w->was_synced)
        sim_fail(w->sim, "informer of %s: synced twice", kind_info(w->kind)->plural);
    w->was_synced = true;
}

void witness_init(struct witness *w, struct sim *s, struct informer *i, enum kind k, const char *label,
                  const char *value)
{
    *w = (struct witness){ .sim = s, .informer = i, .kind = k, .label = label, .value = value };
    map_init(&w->known, (struct hash_seed){ 7, 7 });
    map_init(&w->gone, (struct hash_seed){ 7, 8 });
    w->handler = (struct informer_handler){
        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced, .ctx = w
    };
    informer_add_handler(i, &w->handler);
}

static void forget(struct map *all)
{
    struct witnessed *k;

    for (size_t at = 0; (k = map_next(all, &at, NULL));)
        free(k);
    map_done(all);
}

void witness_done(struct witness *w)
{
    informer_remove_handler(&w->handler);
    forget(&w->known);
    forget(&w->gone);
}

static bool is_selected(const struct witness *w, const struct object *o)
{
    const char *value = w->label ? object_label(o, w->label) : NULL;

    return !w->label || (value && strcmp(value, w->value) == 0);
}

static int check_object(const struct witness *w, const struct object *o, struct error *err)
{
    const struct object *cached = informer_get(w->informer, o->ns, o->name);
    const struct witnessed *k = find(w, o);

    if (!cached || cached->revision != o->revision || strcmp(cached->uid, o->uid) != 0)
        return error_set(err, ERR_INTERNAL, "the cache has %s@%lld of %s@%lld", cached ? o->name : "nothing",
                         cached ? (long long)cached->revision : 0, o->name, (long long)o->revision);
    if (!k || k->revision != o->revision)
        return error_set(err, ERR_INTERNAL, "handlers were not told of %s@%lld", o->name,
                         (long long)o->revision);
    return 0;
}

int witness_check(const struct witness *w, struct error *err)
{
    struct store_iter it;
    const struct object *o;
    size_t count = 0;
    int r = store_iter_begin(&it, w->sim->server.store, w->kind, NULL, STR_LIT(""), STR_LIT(""), 0, err);

    if (r < 0)
        return r;
    while (r == 0 && (o = store_iter_next(&it))) {
        if (!is_selected(w, o))
            continue;
        r = check_object(w, o, err);
        count++;
    }
    store_iter_done(&it);
    if (r == 0 && (informer_count(w->informer) != count || w->known.count != count))
        r = error_set(err, ERR_INTERNAL, "the cache has %zu objects, handlers know %zu, the server has %zu",
                      informer_count(w->informer), w->known.count, count);
    if (r == 0 && !w->was_synced)
        r = error_set(err, ERR_INTERNAL, "handlers were not told that it is synced");
    return r < 0 ? error_wrap(err, "%s", kind_info(w->kind)->plural) : 0;
}
