/* `berth bench informer`: how fast a cache fills, how much memory it takes, and how many changes per second
 * pass through it to a controller's syncs; in process, then over HTTP.
 *
 * Server, store (in memory) and informer share one process and one thread, as in `berth serve`. Times are the
 * best of several rounds. Both halves of the path are timed separately: "behind" holds the watch back until
 * every change is committed, so that only the delivery is timed; "end to end" commits changes while the watch
 * is live, in batches that are made beforehand, so that only the store's work is added. */
#include "bench/bench.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json_out.h"
#include "api/volume.h"
#include "apiserver/local_client.h"
#include "base/cleanup.h"
#include "bench/bench_wire.h"
#include "bench/bench_world.h"
#include "io/clock.h"
#include "io/proc_self.h"
#include "machinery/controller.h"
#include "machinery/informer.h"
#include "machinery/metrics.h"

#define ROUNDS 3
#define PATCHES_IN_FLIGHT 256

/* --- A carrier that holds watches back --- */

struct gate {
    struct client_carrier carrier;
    struct client_carrier *next;
    struct client_attempt *held;
    bool is_shut;
};

static struct gate *gate_of(struct client_carrier *c)
{
    return CONTAINER_OF(c, struct gate, carrier);
}

static void gate_start(struct client_carrier *c, struct client_attempt *a)
{
    struct gate *g = gate_of(c);

    if (g->is_shut && a->request->verb == CLIENT_WATCH)
        g->held = a;
    else
        g->next->type->start(g->next, a);
}

static void gate_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct gate *g = gate_of(c);

    if (g->held == a)
        g->held = NULL;
    else
        g->next->type->cancel(g->next, a);
}

static void gate_free(struct client_carrier *c)
{
    struct gate *g = gate_of(c);

    g->next->type->free(g->next);
}

static const struct client_carrier_type gate_type = { gate_start, gate_cancel, gate_free };

/* --- A client with a cache --- */

struct follower {
    struct bench_world *world;
    struct gate gate;
    struct client *client;
    struct informer *informer;
    struct informer_handler handler;
    struct controller *controller; /* NULL: no syncs */
    uint64_t observed;
    uint64_t synced;
};

static void index_claim(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct claim_ref *claim = &volume_of(o)->claim;
    char text[128];
    int len = snprintf(text, sizeof text, "%s/%s", claim->ns, claim->name);

    emit(ctx, (struct str){ text, (size_t)len });
}

static void index_class(const struct object *o, index_emit_fn *emit, void *ctx)
{
    emit(ctx, str_of(volume_of(o)->class));
}

/* The first has one value per volume, the second a few values for all volumes. */
static const struct informer_index indexes[] = { { "claim", index_claim }, { "class", index_class } };

static void follower_on_volume(void *ctx, const struct object *o)
{
    struct follower *f = ctx;

    f->observed++;
    if (f->controller)
        controller_add(f->controller, str_of(o->name));
}

static enum sync_result count_sync(void *ctx, struct str key)
{
    struct follower *f = ctx;

    f->synced += informer_get_key(f->informer, key) != NULL;
    return SYNC_DONE;
}

static bool follower_is_ready(void *ctx)
{
    const struct follower *f = ctx;

    return informer_is_synced(f->informer);
}

static int follower_add_controller(struct follower *f)
{
    struct bench_world *w = f->world;
    struct controller_options o = {
        .queue = { .loop = w->loop, .name = "bench", .metrics = w->server.metrics, .seed = 1 },
        .sync = count_sync,
        .ctx = f,
        .is_ready = follower_is_ready,
    };

    return controller_new(&o, &f->controller, &w->err);
}

static void follower_close(struct follower *f)
{
    informer_remove_handler(&f->handler);
    f->informer = informer_free(f->informer);
    f->controller = controller_free(f->controller);
    f->client = client_free(f->client);
}

/* Options of an informer. */
struct way {
    bool streams;
    bool is_held; /* its watch waits for run_behind() */
    bool syncs;   /* with a controller */
    size_t indexes;
};

static int follower_connect(struct follower *f, struct bench_world *w)
{
    struct client_options c = { .loop = w->loop, .carrier = &f->gate.carrier };
    int r = w->wire ? bench_wire_connect(w->wire, &f->gate.next, &w->err)
                    : local_client_new(w->server.api, /* user= */ NULL, &f->gate.next, &w->err);

    if (r < 0)
        return r;
    f->gate.carrier.type = &gate_type;
    return client_new(&c, &f->client, &w->err);
}

static int follower_open(struct follower *f, struct bench_world *w, struct way way)
{
    struct informer_options i = { .loop = w->loop,
                                  .metrics = w->server.metrics,
                                  .seed = 1,
                                  .kind = kind_info(KIND_VOLUME),
                                  .indexes = indexes,
                                  .indexes_count = way.indexes,
                                  .streams_lists = way.streams };
    int r;

    *f = (struct follower){ .world = w, .gate.is_shut = way.is_held };
    f->handler = (struct informer_handler){ .on_upsert = follower_on_volume, .ctx = f };
    r = follower_connect(f, w);
    i.client = f->client;
    if (r == 0)
        r = informer_new(&i, &f->informer, &w->err);
    if (r == 0 && way.syncs)
        r = follower_add_controller(f);
    if (r == 0)
        informer_add_handler(f->informer, &f->handler);
    return r;
}

/* Waits until the cache is filled and the controller, if any, has synced every volume. */
static void follower_fill(struct follower *f)
{
    informer_start(f->informer);
    while (!informer_is_synced(f->informer))
        loop_run_once(f->world->loop);
    if (!f->controller)
        return;
    controller_wake(f->controller);
    while (f->synced < f->world->volumes)
        loop_run_once(f->world->loop);
}

/* --- Figures --- */

struct memory {
    uint64_t used;     /* allocated by malloc() */
    uint64_t resident; /* resident, from the kernel */
};

static struct memory memory_now(void)
{
    struct proc_stat s = { 0 };
    struct mallinfo2 m;
    struct error err;

    (void)malloc_trim(0); /* freed memory must not be reused at no cost */
    m = mallinfo2();
    (void)proc_self_stat(&s, &err); /* without /proc the table shows a zero */
    return (struct memory){ m.uordblks + m.hblkhd, s.resident_bytes };
}

/* Wall-clock time, and CPU time of the thread: the machine may run other programs. */
struct span {
    uint64_t ns;
    uint64_t cpu_ns;
};

static struct span span_now(const struct bench_world *w)
{
    return (struct span){ clock_mono_ns(w->clock), clock_thread_cpu_ns() };
}

static struct span span_since(const struct bench_world *w, struct span start)
{
    struct span now = span_now(w);

    return (struct span){ now.ns - start.ns, now.cpu_ns - start.cpu_ns };
}

static double per_volume(const struct bench_world *w, uint64_t before, uint64_t after)
{
    return ((double)after - (double)before) / (double)w->volumes;
}

/* Measures memory once. */
static int time_memory(struct bench_world *w, const char *what, struct way way)
{
    struct memory before = memory_now(), after;
    struct follower f;

    w->r = follower_open(&f, w, way);
    if (w->r == 0) {
        follower_fill(&f);
        after = memory_now();
        printf("%-44s %10.0f bytes per volume   (resident: %.0f)\n", what,
               per_volume(w, before.used, after.used), per_volume(w, before.resident, after.resident));
    }
    follower_close(&f);
    return w->r;
}

/* Changes processed: by the controller, if there is one. */
static uint64_t follower_count(const struct follower *f)
{
    return f->controller ? f->synced : f->observed;
}

static void follower_catch_up(struct follower *f, uint64_t target)
{
    while (follower_count(f) < target && f->world->r == 0)
        loop_run_once(f->world->loop);
}

static struct span run_fill(struct follower *f)
{
    struct span start = span_now(f->world);

    follower_fill(f);
    return span_since(f->world, start);
}

/* Time of the watch to deliver everything that changed while it was held back. */
static struct span run_behind(struct follower *f)
{
    struct bench_world *w = f->world;
    struct client_attempt *attempt;
    struct span start;
    uint64_t target;

    follower_fill(f);
    target = follower_count(f) + w->volumes;
    bench_world_write_all(w);
    start = span_now(w);
    f->gate.is_shut = false;
    attempt = TAKE(f->gate.held);
    if (attempt)
        f->gate.next->type->start(f->gate.next, attempt);
    follower_catch_up(f, target);
    return span_since(w, start);
}

/* From commit to sync, batch by batch; making a batch is not timed. */
static struct span run_commits(struct follower *f)
{
    struct bench_world *w = f->world;
    struct object *batch[WORLD_BATCH];
    struct span sum = { 0 };

    follower_fill(f);
    for (uint64_t at = 0, target = follower_count(f); at < w->volumes && w->r == 0; at += WORLD_BATCH) {
        size_t count = bench_world_make_batch(w, at, batch);
        struct span start = span_now(w), took;

        bench_world_submit_batch(w, batch, count);
        target += count;
        follower_catch_up(f, target);
        took = span_since(w, start);
        sum.ns += took.ns;
        sum.cpu_ns += took.cpu_ns;
        bench_world_free_batch(batch, count);
    }
    return sum;
}

/* --- Patches --- */

struct patching {
    struct follower *follower;
    uint64_t next; /* next volume to patch */
    unsigned in_flight;
};

struct patch_slot {
    struct patching *all;
    struct client_call call;
};

static void patch_next(struct patch_slot *slot);

static void on_patched(void *ctx, const struct client_answer *a)
{
    struct patch_slot *slot = ctx;
    struct bench_world *w = slot->all->follower->world;

    slot->all->in_flight--;
    if (a->r < 0 && w->r == 0) {
        w->r = a->r;
        w->err = a->error;
    }
    patch_next(slot);
}

static void patch_next(struct patch_slot *slot)
{
    struct patching *p = slot->all;
    struct bench_world *w = p->follower->world;
    char name[WORLD_NAME_BYTES], text[128];
    struct buf body = BUF_ON(text, sizeof text);
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(KIND_VOLUME),
                                .name = name,
                                .field_manager = "bench",
                                .patch = CLIENT_PATCH_MERGE };

    if (w->r < 0 || p->next == w->volumes)
        return;
    bench_world_volume_name(p->next, name);
    json_out_object(&body, NULL);
    json_out_object(&body, "metadata");
    json_out_object(&body, "annotations");
    json_out_textf(&body, "example.com/patch", "%" PRIu64, ++w->generation);
    json_out_end_object(&body);
    json_out_end_object(&body);
    json_out_end_object(&body);
    q.body = buf_str(&body);
    p->next++;
    p->in_flight++;
    client_send(p->follower->client, &slot->call, &q, on_patched, slot);
}

/* Patches as a controller sends them, from the request to the sync of the change. */
static struct span run_patches(struct follower *f)
{
    static struct patch_slot slots[PATCHES_IN_FLIGHT];
    struct bench_world *w = f->world;
    struct patching p = { .follower = f };
    struct span start;
    uint64_t target;

    follower_fill(f);
    target = follower_count(f) + w->volumes;
    start = span_now(w);
    for (size_t i = 0; i < PATCHES_IN_FLIGHT; i++) {
        slots[i] = (struct patch_slot){ .all = &p };
        patch_next(&slots[i]);
    }
    follower_catch_up(f, target);
    while (p.in_flight > 0)
        loop_run_once(w->loop);
    return span_since(w, start);
}

/* --- All of it --- */

typedef struct span run_fn(struct follower *f);

static int time_runs(struct bench_world *w, const char *what, struct way way, run_fn *run)
{
    struct span best = { UINT64_MAX, UINT64_MAX };

    for (int round = 0; round < ROUNDS && w->r == 0; round++) {
        struct follower f;

        w->r = follower_open(&f, w, way);
        if (w->r == 0) {
            struct span took = run(&f);

            best.ns = took.ns < best.ns ? took.ns : best.ns;
            best.cpu_ns = took.cpu_ns < best.cpu_ns ? took.cpu_ns : best.cpu_ns;
        }
        follower_close(&f);
    }
    if (w->r == 0)
        printf("%-44s %10.0f/s %8.2f us of CPU each   (%" PRIu64 " in %.0f ms)\n", what,
               (double)w->volumes * (double)NS_PER_S / (double)best.ns,
               (double)best.cpu_ns / (double)NS_PER_US / (double)w->volumes, w->volumes,
               (double)best.ns / (double)NS_PER_MS);
    return w->r;
}

static const struct way plain = { 0 }, streamed = { .streams = true }, indexed = { .indexes = 2 };
static const struct way held = { .is_held = true }, held_sync = { .is_held = true, .syncs = true };
static const struct way held_indexed = { .is_held = true, .syncs = true, .indexes = 2 };
static const struct way live = { .syncs = true, .indexes = 2 };

static int run_local(struct bench_world *w)
{
    if (time_memory(w, "memory of a cache", plain) < 0 ||
        time_memory(w, "memory of a cache with 2 indexes", indexed) < 0 ||
        time_runs(w, "fill a cache, pages of 500", plain, run_fill) < 0 ||
        time_runs(w, "fill a cache, streamed", streamed, run_fill) < 0 ||
        time_runs(w, "fill a cache with 2 indexes", indexed, run_fill) < 0 ||
        time_runs(w, "changes behind: to the handler", held, run_behind) < 0 ||
        time_runs(w, "changes behind: to the sync", held_sync, run_behind) < 0 ||
        time_runs(w, "changes behind: the same with 2 indexes", held_indexed, run_behind) < 0 ||
        time_runs(w, "end to end: from commit to sync", live, run_commits) < 0 ||
        time_runs(w, "end to end: from patch to sync", live, run_patches) < 0)
        return w->r;
    return 0;
}

/* These figures include the server's work. */
static int run_wire(struct bench_world *w, bool is_tls)
{
    struct bench_wire wire = { 0 };

    w->r = bench_wire_open(&wire, w->server.api, is_tls, &w->err);
    w->wire = &wire;
    printf("\n%s:\n", is_tls ? "HTTP with TLS" : "HTTP");
    if (w->r == 0 && time_memory(w, "memory of a cache", plain) == 0 &&
        time_runs(w, "fill a cache, pages of 500", plain, run_fill) == 0 &&
        time_runs(w, "fill a cache, streamed", streamed, run_fill) == 0 &&
        time_runs(w, "changes behind: to the sync", held_sync, run_behind) == 0)
        (void)time_runs(w, "end to end: from commit to sync", live, run_commits);
    w->wire = NULL;
    bench_wire_close(&wire);
    return w->r;
}

int bench_informer(const struct bench_size *size, struct error *err)
{
    struct bench_world *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return error_no_memory(err);
    w->clock = clock_system();
    w->volumes = size->volumes;
    bench_baseline();
    r = bench_world_open(w);
    if (r == 0) {
        bench_world_write_all(w);
        r = w->r;
    }
    if (r == 0)
        r = run_local(w);
    if (r == 0)
        r = run_wire(w, /* is_tls= */ false);
    if (r == 0)
        r = run_wire(w, /* is_tls= */ true);
    if (r < 0)
        *err = w->err;
    bench_world_close(w);
    free(w);
    return r;
}
