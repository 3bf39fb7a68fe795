/* `berth bench informer`: how fast a cache fills, what it takes, and how many changes a second go through it
 * into a controller's syncs; in process, then over HTTP.
 *
 * Server, store (in memory) and informer are one process and one thread, as in `berth serve`. Times are the
 * best of several rounds. Each half of the way is timed on its own: "behind" holds the watch back until every
 * change is committed, so that only its delivery is counted; "end to end" has changes committed while the
 * watch is live, in batches that are made beforehand, so that only the store's work is added. */
#include "bench/bench.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "api/volume.h"
#include "apiserver/local_client.h"
#include "base/cleanup.h"
#include "bench/wire.h"
#include "bench/world.h"
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

static void gate_open(struct gate *g)
{
    struct client_attempt *a = TAKE(g->held);

    g->is_shut = false;
    if (a)
        g->next->type->start(g->next, a);
}

static const struct client_carrier_type gate_type = { gate_start, gate_cancel, gate_free };

/* --- One who follows --- */

struct follower {
    struct world *world;
    struct gate gate;
    struct client *client;
    struct informer *informer;
    struct informer_handler handler;
    struct controller *controller; /* NULL: nobody syncs */
    uint64_t heard;
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

/* One has a value for each volume, the other a few for all. */
static const struct informer_index indexes[] = { { "claim", index_claim }, { "class", index_class } };

static void follower_hear(struct follower *f, const struct object *o)
{
    f->heard++;
    if (f->controller)
        controller_add(f->controller, str_of(o->name));
}

static void on_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    follower_hear(ctx, o);
}

static void on_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    follower_hear(ctx, o);
}

static enum sync_result sync_volume(void *ctx, struct str key)
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
    struct world *w = f->world;
    struct controller_options o = {
        .queue = { .loop = w->loop, .name = "bench", .metrics = w->metrics, .seed = 1 },
        .sync = sync_volume,
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

/* How an informer is set up. */
struct way {
    bool streams;
    bool is_held; /* its watch waits for gate_open() */
    bool syncs;   /* has a controller */
    size_t indexes;
};

static int follower_connect(struct follower *f, struct world *w)
{
    struct client_options c = { .loop = w->loop, .carrier = &f->gate.carrier };
    int r = w->wire ? wire_connect(w->wire, &f->gate.next, &w->err)
                    : local_client_new(w->server, /* user= */ NULL, &f->gate.next, &w->err);

    if (r < 0)
        return r;
    f->gate.carrier.type = &gate_type;
    return client_new(&c, &f->client, &w->err);
}

static int follower_open(struct follower *f, struct world *w, struct way way)
{
    struct informer_options i = { .loop = w->loop,
                                  .metrics = w->metrics,
                                  .seed = 1,
                                  .kind = kind_info(KIND_VOLUME),
                                  .indexes = indexes,
                                  .indexes_count = way.indexes,
                                  .streams_lists = way.streams };
    int r;

    *f = (struct follower){ .world = w, .gate.is_shut = way.is_held };
    f->handler = (struct informer_handler){ .on_add = on_add, .on_update = on_update, .ctx = f };
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

/* Until all is in the cache and the controller, when there is one, has looked at it. */
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
    uint64_t used;     /* by what malloc() gave out */
    uint64_t resident; /* as the kernel counts it */
};

static struct memory memory_now(void)
{
    struct proc_stat s = { 0 };
    struct mallinfo2 m;
    struct error err;

    (void)malloc_trim(0); /* what was given back before is not to be had for nothing */
    m = mallinfo2();
    (void)proc_self_stat(&s, &err); /* without /proc there is a zero in the table */
    return (struct memory){ m.uordblks + m.hblkhd, s.resident_bytes };
}

/* Time by the clock, and what the thread had of it: the machine may have other things to do. */
struct span {
    uint64_t ns;
    uint64_t cpu_ns;
};

static struct span span_now(const struct world *w)
{
    return (struct span){ clock_mono_ns(w->clock), clock_thread_cpu_ns() };
}

static struct span span_since(const struct world *w, struct span start)
{
    struct span now = span_now(w);

    return (struct span){ now.ns - start.ns, now.cpu_ns - start.cpu_ns };
}

static void print_rate(const char *what, uint64_t count, struct span best)
{
    printf("%-44s %10.0f/s %8.2f us of CPU each   (%" PRIu64 " in %.0f ms)\n", what,
           (double)count * (double)NS_PER_S / (double)best.ns,
           (double)best.cpu_ns / (double)NS_PER_US / (double)count, count,
           (double)best.ns / (double)NS_PER_MS);
}

static double per_volume(const struct world *w, uint64_t before, uint64_t after)
{
    return ((double)after - (double)before) / (double)w->volumes;
}

/* Once: what it takes. */
static int time_memory(struct world *w, const char *what, struct way way)
{
    struct memory before = memory_now(), after;
    struct follower f;

    w->r = follower_open(&f, w, way);
    if (w->r == 0) {
        follower_fill(&f);
        after = memory_now();
        printf("%-44s %10.0f bytes a volume   (resident: %.0f)\n", what,
               per_volume(w, before.used, after.used), per_volume(w, before.resident, after.resident));
    }
    follower_close(&f);
    return w->r;
}

/* How far it has come: through the controller, when there is one. */
static uint64_t follower_count(const struct follower *f)
{
    return f->controller ? f->synced : f->heard;
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

/* How long the watch takes for all that happened while it was held back. */
static struct span run_behind(struct follower *f)
{
    struct world *w = f->world;
    struct span start;
    uint64_t target;

    follower_fill(f);
    target = follower_count(f) + w->volumes;
    world_write_all(w);
    start = span_now(w);
    gate_open(&f->gate);
    follower_catch_up(f, target);
    return span_since(w, start);
}

/* Batch by batch, from the commit to the sync; making the batch is not counted. */
static struct span run_commits(struct follower *f)
{
    struct world *w = f->world;
    struct object *batch[WORLD_BATCH];
    struct span sum = { 0 };

    follower_fill(f);
    for (uint64_t at = 0, target = follower_count(f); at < w->volumes && w->r == 0; at += WORLD_BATCH) {
        size_t count = world_make_batch(w, at, batch);
        struct span start = span_now(w), took;

        world_submit_batch(w, batch, count);
        target += count;
        follower_catch_up(f, target);
        took = span_since(w, start);
        sum.ns += took.ns;
        sum.cpu_ns += took.cpu_ns;
        world_free_batch(batch, count);
    }
    return sum;
}

/* --- Patches --- */

struct patching {
    struct follower *follower;
    uint64_t next; /* volume to be patched */
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
    struct world *w = slot->all->follower->world;

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
    struct world *w = p->follower->world;
    char name[WORLD_NAME_BYTES], text[128];
    struct buf body = BUF_ON(text, sizeof text);
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(KIND_VOLUME),
                                .name = name,
                                .field_manager = "bench",
                                .patch = CLIENT_PATCH_MERGE };

    if (w->r < 0 || p->next == w->volumes)
        return;
    world_volume_name(p->next, name);
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

/* Patches as a controller sends them, from the request to the sync of what it changed. */
static struct span run_patches(struct follower *f)
{
    static struct patch_slot slots[PATCHES_IN_FLIGHT];
    struct world *w = f->world;
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

static int time_runs(struct world *w, const char *what, struct way way, run_fn *run)
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
        print_rate(what, w->volumes, best);
    return w->r;
}

static const struct way plain = { 0 }, streamed = { .streams = true }, indexed = { .indexes = 2 };
static const struct way held = { .is_held = true }, held_sync = { .is_held = true, .syncs = true };
static const struct way held_indexed = { .is_held = true, .syncs = true, .indexes = 2 };
static const struct way live = { .syncs = true, .indexes = 2 };

static int run_local(struct world *w)
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

/* The server's side is in the figures too. */
static int run_wire(struct world *w, bool is_tls)
{
    struct wire wire = { 0 };

    w->r = wire_open(&wire, w->server, is_tls, &w->err);
    w->wire = &wire;
    printf("\n%s:\n", is_tls ? "HTTP with TLS" : "HTTP");
    if (w->r == 0 && time_memory(w, "memory of a cache", plain) == 0 &&
        time_runs(w, "fill a cache, pages of 500", plain, run_fill) == 0 &&
        time_runs(w, "fill a cache, streamed", streamed, run_fill) == 0 &&
        time_runs(w, "changes behind: to the sync", held_sync, run_behind) == 0)
        (void)time_runs(w, "end to end: from commit to sync", live, run_commits);
    w->wire = NULL;
    wire_close(&wire);
    return w->r;
}

int bench_informer(const struct bench_size *size, struct error *err)
{
    struct world *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return error_no_memory(err);
    w->clock = clock_system();
    w->volumes = size->volumes;
    bench_baseline();
    r = world_open(w);
    if (r == 0) {
        world_write_all(w);
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
    world_close(w);
    free(w);
    return r;
}
