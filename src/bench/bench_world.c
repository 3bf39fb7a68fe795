/* An API server on a store in memory, filled with volumes, for the benchmarks of caches. Volumes are made
 * from one template, in batches, so that making them can be left out of a measurement. */
#include "bench/bench_world.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/uid.h"
#include "apiserver/authenticate.h"
#include "apiserver/store_lookup.h"
#include "bench/bench.h"
#include "bench/bench_wait.h"
#include "machinery/metrics.h"

#define CLASSES 4
/* Setting strings grows a document: it is replaced after this many uses. */
#define DOC_USES_MAX 1024

void bench_world_volume_name(uint64_t n, char ret[WORLD_NAME_BYTES])
{
    (void)snprintf(ret, WORLD_NAME_BYTES, "pvc-%08" PRIx64 "-2b1d-4c5e-8f6a-%012" PRIx64,
                   n * UINT64_C(2654435761) % (UINT64_C(1) << 32), n);
}

/* The template of all volumes, without managedFields, which caches do not use. */
static int read_volume(struct bench_world *w)
{
    if (w->doc_uses++ % DOC_USES_MAX)
        return 0;
    json_clear(&w->doc);
    w->r = json_parse(&w->doc, bench_volume, &w->volume, &w->err);
    if (w->r == 0)
        (void)json_remove(&w->doc, json_get(&w->doc, w->volume, "metadata"), "managedFields");
    return w->r;
}

/* Volume n, different each time; its claim and class are always the same. */
static struct object *make_volume(struct bench_world *w, uint64_t n)
{
    struct object *o = NULL;
    char text[WORLD_NAME_BYTES];
    json_ref meta, spec;

    if (w->r < 0 || read_volume(w) < 0)
        return NULL;
    meta = json_get(&w->doc, w->volume, "metadata");
    spec = json_get(&w->doc, w->volume, "spec");
    bench_world_volume_name(n, text);
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
    struct bench_world *w = ctx;

    w->writing--;
    if (r < 0 && w->r == 0) {
        w->r = r;
        w->err = *err;
    }
}

size_t bench_world_make_batch(struct bench_world *w, uint64_t from, struct object *ret[WORLD_BATCH])
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

void bench_world_submit_batch(struct bench_world *w, struct object *const *batch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        w->writing++;
        store_submit(w->store, &w->writes[i], batch[i], /* is_delete= */ false, on_written, w);
    }
    while (w->writing > 0)
        loop_run_once(w->loop);
}

void bench_world_free_batch(struct object **batch, size_t count)
{
    for (size_t i = 0; i < count; i++)
        batch[i] = object_unref(batch[i]);
}

void bench_world_write_all(struct bench_world *w)
{
    struct object *batch[WORLD_BATCH];

    bench_phase("creating volumes", w->volumes);
    for (uint64_t at = 0; at < w->volumes && w->r == 0; at += WORLD_BATCH) {
        size_t count = bench_world_make_batch(w, at, batch);

        bench_world_submit_batch(w, batch, count);
        bench_world_free_batch(batch, count);
        bench_step(at);
    }
    bench_phase_end();
}

int bench_server_open(struct bench_server *s, struct loop *l, struct store *store, const struct clock *clock,
                      struct error *err)
{
    struct authenticator_options a = { .clock = clock, .is_insecure = true, .lookup = store_lookup(store) };
    struct apiserver_options o = { .loop = l,
                                   .clock = clock,
                                   .store = store,
                                   .seed = 1,
                                   .address = "127.0.0.1:0",
                                   .event_ttl_seconds = 3600 };
    int r = authenticator_new(&a, &s->authenticator, err);

    if (r < 0)
        return r;
    s->metrics = metrics_new((struct hash_seed){ 1, 2 });
    if (!s->metrics)
        return error_no_memory(err);
    o.metrics = s->metrics;
    o.authenticator = s->authenticator;
    return apiserver_new(&o, &s->api, err);
}

void bench_server_close(struct bench_server *s, struct store **store)
{
    if (*store)
        store_finish(*store);
    s->api = apiserver_free(s->api);
    *store = store_free(*store);
    s->authenticator = authenticator_free(s->authenticator);
    s->metrics = metrics_free(s->metrics);
}

int bench_world_open(struct bench_world *w)
{
    /* The history must have all changes of a round for a watch that was held back. */
    struct store_options s = { .history_count = w->volumes + WORLD_BATCH, .history_bytes = SIZE_MAX / 2 };
    int r;

    json_init(&w->doc, 1 << 20);
    r = loop_new(/* clock= */ NULL, &w->loop, &w->err);
    if (r == 0)
        r = store_open_memory(w->loop, &s, &w->store, &w->err);
    return r < 0 ? r : bench_server_open(&w->server, w->loop, w->store, w->clock, &w->err);
}

void bench_world_close(struct bench_world *w)
{
    bench_server_close(&w->server, &w->store);
    w->loop = loop_free(w->loop);
    json_done(&w->doc);
}
