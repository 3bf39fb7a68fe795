#include "bench/world.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/uid.h"
#include "apiserver/authenticate.h"
#include "apiserver/store_facts.h"
#include "bench/bench.h"
#include "bench/wait.h"
#include "machinery/metrics.h"

#define CLASSES 4
/* Setting strings adds to a document: a fresh one from time to time. */
#define DOC_USES_MAX 1024

void world_volume_name(uint64_t n, char ret[WORLD_NAME_BYTES])
{
    (void)snprintf(ret, WORLD_NAME_BYTES, "pvc-%08" PRIx64 "-2b1d-4c5e-8f6a-%012" PRIx64,
                   n * UINT64_C(2654435761) % (UINT64_C(1) << 32), n);
}

/* The volume all others are made from: what managers own is left out, as of no interest to a cache. */
static int read_volume(struct world *w)
{
    if (w->doc_uses++ % DOC_USES_MAX)
        return 0;
    json_clear(&w->doc);
    w->r = json_parse(&w->doc, bench_volume, &w->volume, &w->err);
    if (w->r == 0)
        (void)json_remove(&w->doc, json_get(&w->doc, w->volume, "metadata"), "managedFields");
    return w->r;
}

/* Volume n, each time another; its claim and class are always the same. */
static struct object *make_volume(struct world *w, uint64_t n)
{
    struct object *o = NULL;
    char text[WORLD_NAME_BYTES];
    json_ref meta, spec;

    if (w->r < 0 || read_volume(w) < 0)
        return NULL;
    meta = json_get(&w->doc, w->volume, "metadata");
    spec = json_get(&w->doc, w->volume, "spec");
    world_volume_name(n, text);
    json_set_string(&w->doc, meta, "name", text);
    resource_version_format(store_reserve(w->store), text);
    json_set_string(&w->doc, meta, "resourceVersion", text);
    (void)snprintf(text, sizeof text, "claim-%" PRIu64, n);
    json_set_string(&w->doc, json_get(&w->doc, spec, "claimRef"), "name", text);
    (void)snprintf(text, sizeof text, "class-%" PRIu64, n % CLASSES);
    json_set_string(&w->doc, spec, "storageClassName", text);
    (void)snprintf(text, sizeof text, "%" PRIu64, ++w->generation);
    json_set_string(&w->doc, json_get(&w->doc, meta, "annotations"), "example.com/generation", text);
    w->r = object_new(kind_info(KIND_VOLUME), &w->doc, w->volume, &o, &w->err);
    return o;
}

static void on_written(void *ctx, int r, const struct error *err)
{
    struct world *w = ctx;

    w->writing--;
    if (r < 0 && w->r == 0) {
        w->r = r;
        w->err = *err;
    }
}

size_t world_make_batch(struct world *w, uint64_t from, struct object *ret[WORLD_BATCH])
{
    size_t count = 0;

    while (count < WORLD_BATCH && from + count < w->volumes) {
        struct object *o = make_volume(w, from + count);

        if (!o)
            break;
        ret[count++] = o;
    }
    return count;
}

void world_submit_batch(struct world *w, struct object *const *batch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        w->writing++;
        store_submit(w->store, &w->writes[i], batch[i], /* is_delete= */ false, on_written, w);
    }
    while (w->writing > 0)
        loop_run_once(w->loop);
}

void world_free_batch(struct object **batch, size_t count)
{
    for (size_t i = 0; i < count; i++)
        batch[i] = object_unref(batch[i]);
}

void world_write_all(struct world *w)
{
    struct object *batch[WORLD_BATCH];

    bench_phase("volumes are made", w->volumes);
    for (uint64_t at = 0; at < w->volumes && w->r == 0; at += WORLD_BATCH) {
        size_t count = world_make_batch(w, at, batch);

        world_submit_batch(w, batch, count);
        world_free_batch(batch, count);
        bench_step(at);
    }
    bench_phase_end();
}

int world_open(struct world *w)
{
    /* All changes of a round must be there for a watch that was held back. */
    struct store_options s = { .history_count = w->volumes + WORLD_BATCH, .history_bytes = SIZE_MAX / 2 };
    struct authenticator_options a = { .clock = w->clock, .is_insecure = true };
    struct apiserver_options o = {
        .clock = w->clock, .seed = 1, .address = "127.0.0.1:0", .event_ttl_seconds = 3600
    };
    int r;

    json_init(&w->doc, 1 << 20);
    r = loop_new(/* clock= */ NULL, &w->loop, &w->err);
    if (r == 0)
        r = store_open_memory(w->loop, &s, &w->store, &w->err);
    if (r < 0)
        return r;
    a.facts = store_facts(w->store);
    r = authenticator_new(&a, &w->authenticator, &w->err);
    if (r < 0)
        return r;
    w->metrics = metrics_new((struct hash_seed){ 1, 2 });
    if (!w->metrics)
        return error_no_memory(&w->err);
    o.loop = w->loop;
    o.store = w->store;
    o.metrics = w->metrics;
    o.authenticator = w->authenticator;
    return apiserver_new(&o, &w->server, &w->err);
}

void world_close(struct world *w)
{
    if (w->store)
        store_finish(w->store);
    w->server = apiserver_free(w->server);
    w->store = store_free(w->store);
    w->authenticator = authenticator_free(w->authenticator);
    w->metrics = metrics_free(w->metrics);
    w->loop = loop_free(w->loop);
    json_done(&w->doc);
}
