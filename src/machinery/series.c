/* Implementation of event series: an LRU table by last occurrence, and a list by last write. The caller
 * passes the time; everything is O(1). */
#include "machinery/series.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void series_init(struct series_table *t, struct hash_seed seed)
{
    *t = (struct series_table){ 0 };
    lru_init(&t->all, sizeof(struct series), SERIES_MAX, seed);
    TAILQ_INIT(&t->written);
}

static void series_forget(struct series_table *t, struct series *s)
{
    if (s->count > 1)
        TAILQ_REMOVE(&t->written, s, link);
    free(s->ns);
    lru_remove(&t->all, s);
}

void series_done(struct series_table *t)
{
    struct series *s;

    while ((s = lru_oldest(&t->all)))
        series_forget(t, s);
    lru_done(&t->all);
}

/* NULL when there is no memory. */
static struct series *series_add(struct series_table *t, const struct series_event *e)
{
    size_t ns_bytes = strlen(e->ns) + 1;
    char *texts = malloc(ns_bytes + e->body.len);
    struct series *s = texts ? lru_add(&t->all, e->key) : NULL;

    if (!s) {
        free(texts);
        return NULL;
    }
    memcpy(texts, e->ns, ns_bytes);
    memcpy(texts + ns_bytes, e->body.s, e->body.len);
    s->ns = texts;
    s->body = (struct str){ texts + ns_bytes, e->body.len };
    (void)snprintf(s->name, sizeof s->name, "%s", e->name);
    return s;
}

static void series_set_written(struct series_table *t, struct series *s, uint64_t now_ns)
{
    s->written_ns = now_ns;
    s->written_count = s->count;
    TAILQ_INSERT_TAIL(&t->written, s, link);
}

int series_observe(struct series_table *t, const struct series_event *e, uint64_t now_ns, int64_t real_ns,
                   const struct series **ret, enum series_action *ret_action, struct error *err)
{
    struct series *s = lru_get(&t->all, e->key);

    assert(lru_count(&t->all) < SERIES_MAX); /* series_run() has made room */
    if (!s)
        s = series_add(t, e);
    if (!s)
        return error_no_memory(err);
    assert(now_ns - s->last_ns < SERIES_QUIET_NS || s->count == 0);
    s->last_ns = now_ns;
    s->last_real_ns = real_ns;
    if (s->count < INT32_MAX)
        s->count++;
    *ret_action = s->count == 1 ? SERIES_CREATE : s->count == 2 ? SERIES_PATCH : SERIES_COUNT;
    if (s->count == 2)
        series_set_written(t, s, now_ns);
    *ret = s;
    return 0;
}

/* A series with nothing left to write is dropped silently. */
static void run_quiet(struct series_table *t, uint64_t now_ns, series_fn *fn, void *ctx)
{
    struct series *s;

    while ((s = lru_oldest(&t->all))) {
        if (now_ns - s->last_ns < SERIES_QUIET_NS && lru_count(&t->all) < SERIES_MAX)
            return;
        if (s->count > 1 && s->count != s->written_count)
            fn(ctx, s);
        series_forget(t, s);
    }
}

void series_run(struct series_table *t, uint64_t now_ns, series_fn *fn, void *ctx)
{
    struct series *s;

    run_quiet(t, now_ns, fn, ctx);
    while ((s = TAILQ_FIRST(&t->written)) && now_ns - s->written_ns >= SERIES_REFRESH_NS) {
        if (s->count != s->written_count)
            fn(ctx, s);
        TAILQ_REMOVE(&t->written, s, link);
        series_set_written(t, s, now_ns);
    }
}

bool series_due_ns(const struct series_table *t, uint64_t *ret_ns)
{
    const struct series *quiet = lru_oldest(&t->all);
    const struct series *written = TAILQ_FIRST(&t->written);
    uint64_t at_ns;

    if (!quiet)
        return false;
    at_ns = quiet->last_ns + SERIES_QUIET_NS;
    if (written && written->written_ns + SERIES_REFRESH_NS < at_ns)
        at_ns = written->written_ns + SERIES_REFRESH_NS;
    *ret_ns = at_ns;
    return true;
}
