/* `berth bench csi`: claims that the CSI controllers provision, attach and expand, on the SQLite store, with
 * a driver that answers at once (csi_memory_driver.h).
 *
 * Server, store, all controllers and the driver share this process and its loop; the calls go through a real
 * socket. Each creation of a volume has its durable record (controllers/call_record.h), as in `berth serve`.
 *
 *   provision  a backlog of claims exists before the controllers start; until the last is Bound, on disk
 *   attach     a VolumeAttachment per volume is created; until the last one is attached, on disk
 *   expand     EXPANDED_MAX claims at most get a larger request; until their status has the new capacity
 *   idle       memory with IDLE_DRIVERS more drivers, each with its connection and leases, divided by their
 *              number; the driver's end of the connection is part of it */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/attachment.h"
#include "api/claim.h"
#include "base/vec.h"
#include "bench/bench_wait.h"
#include "bench/csi_memory_driver.h"
#include "bench/pairs.h"
#include "daemon/settings.h"
#include "io/clock.h"

#define DRIVER "memory.csi.example.com"
#define NODES UINT64_C(20)
#define EXPANDED_MAX UINT64_C(1000)
#define IDLE_DRIVERS (CSI_SOCKETS_MAX - 1)
/* Requests in flight while objects are created. */
#define CREATES_IN_FLIGHT 512
#define NAME_BYTES 64

struct csi_run {
    struct pairs pairs;
    struct memory_driver *drivers[CSI_SOCKETS_MAX];
    char names[CSI_SOCKETS_MAX][NAME_BYTES];
    char paths[CSI_SOCKETS_MAX][PATH_MAX + NAME_BYTES];
    const char *sockets[CSI_SOCKETS_MAX];
    size_t drivers_count;
    struct store_watcher volumes_watcher;
    struct store_watcher attachments_watcher;
    struct store_watcher claims_watcher;
    VEC(struct object *) volumes; /* those that were provisioned */
    uint64_t attached;
    uint64_t expanded;
};

/* --- Observing --- */

static void on_volume(void *ctx, const struct store_event *ev)
{
    struct csi_run *run = ctx;

    /* Out of memory: bench_await() reports the missing one. */
    if (!ev->old && !ev->is_delete && vec_reserve(&run->volumes, 1) == 0)
        (void)vec_push(&run->volumes, object_ref(ev->object));
}

static bool is_attached(const struct object *o)
{
    return ((const struct attachment *)(const void *)o)->is_attached;
}

static void on_attachment(void *ctx, const struct store_event *ev)
{
    struct csi_run *run = ctx;

    run->attached += !ev->is_delete && is_attached(ev->object);
    if (ev->old && is_attached(ev->old))
        run->attached--;
}

static void on_claim(void *ctx, const struct store_event *ev)
{
    struct csi_run *run = ctx;
    const struct claim *claim = claim_of(ev->object), *old = ev->old ? claim_of(ev->old) : NULL;

    if (!ev->is_delete && old && old->has_capacity && claim->has_capacity &&
        quantity_cmp(&old->capacity, &claim->capacity) < 0)
        run->expanded++;
}

/* --- Objects --- */

static void write_csi_node(void *ctx, uint64_t n, struct buf *b)
{
    pairs_begin_object(ctx, b, KIND_CSI_NODE, "e000", n);
    json_out_textf(b, "name", "node-%" PRIu64, n);
    json_out_end_object(b);
    json_out_object(b, "spec");
    json_out_array(b, "drivers");
    json_out_object(b, NULL);
    json_out_text(b, "name", DRIVER);
    json_out_textf(b, "nodeID", "id-%" PRIu64, n);
    json_out_raw(b, "topologyKeys", STR_LIT("[]"));
    json_out_end_object(b);
    json_out_end_array(b);
    json_out_end_object(b);
    json_out_end_object(b);
}

static void write_node(void *ctx, uint64_t n, struct buf *b)
{
    pairs_begin_object(ctx, b, KIND_NODE, "a000", n);
    json_out_textf(b, "name", "node-%" PRIu64, n);
    json_out_end_object(b);
    json_out_raw(b, "spec", STR_LIT("{}"));
    json_out_raw(b, "status", STR_LIT("{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}"));
    json_out_end_object(b);
}

static void create_driver(struct pairs *p)
{
    char text[PAIRS_BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    pairs_begin_object(p, &body, KIND_CSI_DRIVER, /* series= */ NULL, /* n= */ 0);
    json_out_text(&body, "name", DRIVER);
    json_out_end_object(&body);
    json_out_raw(&body, "spec", STR_LIT("{\"attachRequired\":true}"));
    json_out_end_object(&body);
    pairs_create_object(p, KIND_CSI_DRIVER, buf_str(&body));
}

static void create_class(struct pairs *p)
{
    char text[PAIRS_BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    pairs_begin_object(p, &body, KIND_CLASS, /* series= */ NULL, /* n= */ 0);
    json_out_text(&body, "name", "fast");
    json_out_end_object(&body);
    json_out_text(&body, "provisioner", DRIVER);
    json_out_raw(&body, "allowVolumeExpansion", STR_LIT("true"));
    json_out_end_object(&body);
    pairs_create_object(p, KIND_CLASS, buf_str(&body));
}

static void create_claim(struct pairs *p, uint64_t n)
{
    char name[NAME_BYTES], text[PAIRS_BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    (void)snprintf(name, sizeof name, "claim-%" PRIu64, n);
    pairs_begin_object(p, &body, KIND_CLAIM, /* series= */ NULL, n);
    json_out_text(&body, "name", name);
    json_out_text(&body, "namespace", PAIRS_NS);
    json_out_end_object(&body);
    json_out_raw(&body, "spec",
                 STR_LIT("{\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":\"fast\","
                         "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}"));
    json_out_end_object(&body);
    pairs_create_object(p, KIND_CLAIM, buf_str(&body));
}

static void create_attachment(struct pairs *p, uint64_t n, const char *volume)
{
    char text[PAIRS_BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    pairs_begin_object(p, &body, KIND_ATTACHMENT, /* series= */ NULL, n);
    json_out_textf(&body, "name", "csi-%" PRIu64, n);
    json_out_end_object(&body);
    json_out_object(&body, "spec");
    json_out_text(&body, "attacher", DRIVER);
    json_out_textf(&body, "nodeName", "node-%" PRIu64, n % NODES);
    json_out_object(&body, "source");
    json_out_text(&body, "persistentVolumeName", volume);
    json_out_end_object(&body);
    json_out_end_object(&body);
    json_out_end_object(&body);
    pairs_create_object(p, KIND_ATTACHMENT, buf_str(&body));
}

/* --- Life --- */

/* Starts the drivers; the first one serves the claims. */
static void open_drivers(struct csi_run *run, size_t count)
{
    struct pairs *p = &run->pairs;

    for (size_t i = 0; i < count && p->r == 0; i++) {
        (void)snprintf(run->names[i], NAME_BYTES, i == 0 ? DRIVER : "idle-%zu.csi.example.com", i);
        (void)snprintf(run->paths[i], sizeof run->paths[i], "%s/csi-%zu.sock", p->dir, i);
        run->sockets[i] = run->paths[i];
        p->r = memory_driver_new(p->loop, run->paths[i], run->names[i], &run->drivers[i], &p->err);
        run->drivers_count++;
    }
    p->csi_sockets = run->sockets;
    p->csi_sockets_count = run->drivers_count;
}

static struct csi_run *open_run(uint64_t claims, size_t drivers, struct error *err)
{
    struct csi_run *run = calloc(1, sizeof *run);
    struct pairs *p;

    if (!run) {
        (void)error_no_memory(err);
        return NULL;
    }
    p = &run->pairs;
    p->clock = clock_system();
    p->parts = DAEMON_CONTROLLERS | DAEMON_CSI;
    p->count = claims;
    if (pairs_open(p) < 0)
        return run;
    open_drivers(run, drivers);
    store_watch(p->store, &run->volumes_watcher, KIND_VOLUME, on_volume, /* settled= */ NULL, run);
    store_watch(p->store, &run->attachments_watcher, KIND_ATTACHMENT, on_attachment, NULL, run);
    store_watch(p->store, &run->claims_watcher, KIND_CLAIM, on_claim, /* settled= */ NULL, run);
    pairs_add_stored(p, KIND_NODE, NODES, write_node, p);
    pairs_add_stored(p, KIND_CSI_NODE, NODES, write_csi_node, p);
    create_driver(p);
    create_class(p);
    pairs_await_answers(p, 0);
    return run;
}

static int close_run(struct csi_run *run, struct error *err)
{
    struct pairs *p = &run->pairs;
    int r;

    while (p->unanswered > 0) /* also after a failure */
        loop_run_once(p->loop);
    p->components = components_free(p->components);
    for (size_t i = 0; i < run->drivers_count; i++)
        run->drivers[i] = memory_driver_free(run->drivers[i]);
    if (run->claims_watcher.event) {
        store_unwatch(p->store, &run->claims_watcher);
        store_unwatch(p->store, &run->attachments_watcher);
        store_unwatch(p->store, &run->volumes_watcher);
    }
    r = pairs_close(p, err);
    for (size_t i = 0; i < run->volumes.count; i++)
        run->volumes.items[i] = object_unref(run->volumes.items[i]);
    vec_done(&run->volumes);
    free(run);
    return r;
}

/* --- The table --- */

static void print_row(const struct csi_run *run, const char *what, uint64_t count, struct spent from)
{
    struct spent to = spent_now(run->pairs.clock);
    double seconds = (double)(to.ns - from.ns) / (double)NS_PER_S;

    printf(
        "%-12s %6" PRIu64 " %8.2f s %8.0f /s   CPU %5.2f s on the loop, %5.2f s in all   %4.0f MB   %" PRIu64
        " calls so far, %" PRIu64 " requests refused\n",
        what, count, seconds, (double)count / seconds, (double)(to.loop_ns - from.loop_ns) / (double)NS_PER_S,
        to.all_seconds - from.all_seconds, (double)to.resident_bytes / 1e6,
        memory_driver_calls(run->drivers[0]), run->pairs.carrier.counts.refused);
}

static void time_provision(struct csi_run *run)
{
    struct pairs *p = &run->pairs;
    struct spent from;

    bench_phase("creating claims", p->count);
    for (uint64_t n = 0; n < p->count && p->r == 0; n++) {
        create_claim(p, n);
        pairs_await_answers(p, CREATES_IN_FLIGHT);
        bench_step(n);
    }
    pairs_await_answers(p, 0);
    bench_phase_end();
    if (p->r == 0)
        pairs_open_components(p);
    if (p->r < 0)
        return;
    from = spent_now(p->clock);
    pairs_start(p);
    p->r = bench_await(p->loop, p->clock, &p->bound, p->count, "claims bound", &p->err);
    if (p->r == 0)
        print_row(run, "provision", p->count, from);
}

static void time_attach(struct csi_run *run)
{
    struct pairs *p = &run->pairs;
    struct spent from;

    pairs_settle(p);
    from = spent_now(p->clock);
    for (uint64_t n = 0; n < run->volumes.count && p->r == 0; n++) {
        create_attachment(p, n, run->volumes.items[n]->name);
        pairs_await_answers(p, CREATES_IN_FLIGHT);
    }
    if (p->r == 0)
        p->r = bench_await(p->loop, p->clock, &run->attached, p->count, "volumes attached", &p->err);
    if (p->r == 0)
        print_row(run, "attach", p->count, from);
}

static void time_expand(struct csi_run *run)
{
    struct pairs *p = &run->pairs;
    uint64_t count = p->count < EXPANDED_MAX ? p->count : EXPANDED_MAX;
    struct spent from;
    char name[NAME_BYTES];

    pairs_settle(p);
    from = spent_now(p->clock);
    for (uint64_t n = 0; n < count && p->r == 0; n++) {
        (void)snprintf(name, sizeof name, "claim-%" PRIu64, n);
        pairs_patch_object(p, KIND_CLAIM, name, /* subresource= */ NULL,
                           STR_LIT("{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}"));
        pairs_await_answers(p, CREATES_IN_FLIGHT);
    }
    if (p->r == 0)
        p->r = bench_await(p->loop, p->clock, &run->expanded, count, "claims expanded", &p->err);
    if (p->r == 0)
        print_row(run, "expand", count, from);
}

/* Resident memory with so many idle drivers. */
static int measure_idle(size_t drivers, uint64_t *ret_bytes, struct error *err)
{
    struct csi_run *run = open_run(/* claims= */ 1, drivers, err);
    struct pairs *p;

    if (!run)
        return -ERR_NO_MEMORY;
    p = &run->pairs;
    if (p->r == 0)
        pairs_open_components(p);
    if (p->r == 0) {
        pairs_start(p);
        pairs_settle(p);
        *ret_bytes = spent_now(p->clock).resident_bytes;
    }
    return close_run(run, err);
}

static int print_idle(struct error *err)
{
    uint64_t one = 0, more = 0;
    int r = measure_idle(1, &one, err);

    if (r == 0)
        r = measure_idle(1 + IDLE_DRIVERS, &more, err);
    if (r == 0)
        printf("%-12s %6d drivers more: %.0f KB each\n", "idle", IDLE_DRIVERS,
               (double)(more > one ? more - one : 0) / 1e3 / IDLE_DRIVERS);
    return r;
}

int bench_csi(const struct bench_size *size, struct error *err)
{
    struct csi_run *run;
    int r;

    bench_baseline();
    r = print_idle(err); /* first: later, memory that was freed would be used again */
    if (r < 0)
        return r;
    run = open_run(size->volumes, 1, err);
    if (!run)
        return -ERR_NO_MEMORY;
    if (run->pairs.r == 0)
        time_provision(run);
    if (run->pairs.r == 0)
        time_attach(run);
    if (run->pairs.r == 0)
        time_expand(run);
    return close_run(run, err);
}
