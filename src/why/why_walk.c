/* Walks over caches that explanations request: creation, stepping, restart after changes, and results.
 *
 * A walk remembers the key of the last object, never a position: the cache may change between two slices. */
#include "why/why_walk.h"

#include <stdlib.h>
#include <string.h>

void why_work_init(struct why_work *work, struct json *doc, bool shows_all)
{
    *work = (struct why_work){ .doc = doc, .shows_all = shows_all };
    LIST_INIT(&work->walks);
}

static void walk_clear(struct why_walk *walk)
{
    for (size_t i = 0; i < WALK_HELD_MAX; i++)
        if (walk->type->held[i])
            why_walk_hold((const struct object **)(void *)((char *)walk + walk->type->held[i]), NULL);
    if (walk->type->clear)
        walk->type->clear(walk);
    memset(walk + 1, 0, walk->type->bytes - sizeof *walk);
    walk->key_len = 0;
}

void why_work_done(struct why_work *work)
{
    struct why_walk *walk;

    while ((walk = LIST_FIRST(&work->walks))) {
        LIST_REMOVE(walk, link);
        walk_clear(walk);
        (void)object_unref(walk->about);
        (void)object_unref(walk->other);
        free(walk);
    }
}

/* --- Requesting a walk --- */

static bool is_same(const struct object *a, const struct object *b, bool ignores_age)
{
    if (!a || !b)
        return a == b;
    return a == b || (ignores_age && a->kind == b->kind && strcmp(a->uid, b->uid) == 0 &&
                      strcmp(a->name, b->name) == 0);
}

static struct why_walk *find_walk(const struct why_work *work, const struct why_walk_type *type,
                                  const struct object *about, const struct object *other, unsigned flags)
{
    struct why_walk *walk;

    LIST_FOREACH(walk, &work->walks, link)
        if (walk->type == type && walk->flags == flags && is_same(walk->about, about, work->ignores_age) &&
            is_same(walk->other, other, work->ignores_age))
            return walk;
    return NULL;
}

struct why_walk *why_walk_get(const struct why_world *w, const struct why_walk_type *type,
                              const struct object *about, const struct object *other, unsigned flags)
{
    struct why_walk *walk = find_walk(w->work, type, about, other, flags);

    if (!walk) {
        walk = calloc(1, type->bytes);
        if (!walk) {
            w->work->is_out_of_memory = true;
            return NULL;
        }
        walk->type = type;
        walk->about = about ? object_ref(about) : NULL;
        walk->other = other ? object_ref(other) : NULL;
        walk->flags = flags;
        LIST_INSERT_HEAD(&w->work->walks, walk, link);
    }
    w->work->is_waiting |= !walk->is_done;
    return walk;
}

void *why_walk_result(const struct why_world *w, const struct why_walk_type *type, const struct object *about,
                      const struct object *other, unsigned flags)
{
    struct why_walk *walk = why_walk_get(w, type, about, other, flags);

    return walk && walk->is_done ? walk : NULL;
}

/* --- Running walks --- */

static void walk_end(const struct informer *cache, struct why_walk *walk)
{
    bool is_stale = cache && walk->changes != informer_changes(cache);

    walk->is_done = true;
    if (!is_stale || walk->restarts >= WALK_RESTARTS_MAX)
        return;
    walk->restarts++;
    walk->is_done = false;
    walk_clear(walk);
}

/* Over a part of the cache. */
static size_t walk_cache(const struct why_world *w, struct why_walk *walk, size_t looks_max)
{
    const struct informer *cache = w->caches[walk->type->kind];
    const struct object *o = NULL;
    struct informer_cursor at;
    size_t looks = 0;

    if (cache && walk->key_len == 0)
        walk->changes = informer_changes(cache);
    if (cache)
        o = informer_first_after(cache, (struct str){ walk->key, walk->key_len }, &at);
    while (o && !walk->is_done && looks < looks_max) {
        const struct object *visited = o;
        struct buf key = BUF_ON(walk->key, sizeof walk->key);

        looks += walk->type->visit(w, walk, o);
        o = informer_next(&at);
        if (o && looks >= looks_max) {
            object_key(visited, &key); /* keys of cached objects always fit */
            walk->key_len = key.len;
        }
    }
    if (!o || walk->is_done)
        walk_end(cache, walk);
    return looks;
}

size_t why_work_step(const struct why_world *w, size_t looks_max)
{
    struct why_walk *walk;
    size_t looks = 0;

    LIST_FOREACH(walk, &w->work->walks, link)
        while (!walk->is_done && looks < looks_max)
            looks += walk->type->step ? walk->type->step(w, walk, looks_max - looks)
                                      : walk_cache(w, walk, looks_max - looks);
    return looks;
}

/* --- Results of walks --- */

void why_walk_begin_counting(const struct why_world *w, struct why_report *counted)
{
    if (!counted->d)
        report_begin(counted, w->work->doc, "", "", "", w->work->shows_all);
}

/* Candidates taken by an earlier pass went into a report that was discarded. */
void why_walk_take_candidates(const struct why_world *w, struct why_walk *walk,
                              const struct why_report *counted, struct why_report *r)
{
    if (counted->d)
        report_take_candidates(r, counted, walk->taken_pass == w->work->pass);
    walk->taken_pass = w->work->pass;
}

void why_walk_hold(const struct object **held, const struct object *o)
{
    const struct object *old = *held;

    *held = o ? object_ref(o) : NULL;
    (void)object_unref((struct object *)(uintptr_t)old);
}

void why_found_add(const struct why_world *w, struct why_found *found, const struct object *o)
{
    if (vec_push(&found->items, object_ref(o)) < 0)
        w->work->is_out_of_memory = true;
}

void why_found_clear(struct why_found *found)
{
    for (size_t i = 0; i < found->items.count; i++)
        (void)object_unref(found->items.items[i]);
    vec_done(&found->items);
}
