/* `berth bench schedule`: pods with a claim that waits for its consumer, and local volumes spread evenly over
 * nodes; each pod gets a node with a volume. Uses the SQLite store, with server, controllers and scheduler in
 * this process, as in `berth serve`.
 *
 * All objects exist, and the volumes are Available, before controllers and scheduler start.
 *
 *   pods/s   from the start to the last pod's nodeName, on disk
 *   CPU      of the loop's thread and of the whole process, until the controllers are idle
 *   writes   of controllers and scheduler, per pod */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/pod.h"
#include "bench/bench_wait.h"
#include "bench/pairs.h"
#include "io/clock.h"

#define CREATES_IN_FLIGHT 512

struct schedule_bench {
    struct pairs pairs;
    const struct bench_size *size;
    struct store_watcher watcher;
    uint64_t placed; /* pods with a node */
};

/* --- Objects --- */

static void write_node(void *ctx, uint64_t n, struct buf *b)
{
    pairs_begin_object(ctx, b, KIND_NODE, "a000", n);
    json_out_textf(b, "name", "node-%" PRIu64, n);
    json_out_object(b, "labels");
    json_out_text(b, "kubernetes.io/arch", "amd64");
    json_out_textf(b, "kubernetes.io/hostname", "node-%" PRIu64, n);
    json_out_text(b, "kubernetes.io/os", "linux");
    json_out_end_object(b);
    json_out_end_object(b);
    json_out_raw(b, "spec", STR_LIT("{}"));
    json_out_raw(b, "status",
                 STR_LIT("{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"pods\":\"110\"}}"));
    json_out_end_object(b);
}

/* Node affinity for exactly the node with that number. */
static void write_affinity(struct buf *b, uint64_t node)
{
    json_out_object(b, "nodeAffinity");
    json_out_object(b, "required");
    json_out_array(b, "nodeSelectorTerms");
    json_out_object(b, NULL);
    json_out_array(b, "matchExpressions");
    json_out_object(b, NULL);
    json_out_text(b, "key", "kubernetes.io/hostname");
    json_out_text(b, "operator", "In");
    json_out_array(b, "values");
    json_out_textf(b, NULL, "node-%" PRIu64, node);
    json_out_end_array(b);
    json_out_end_object(b);
    json_out_end_array(b);
    json_out_end_object(b);
    json_out_end_array(b);
    json_out_end_object(b);
    json_out_end_object(b);
}

static void write_volume(void *ctx, uint64_t n, struct buf *b)
{
    const struct schedule_bench *s = CONTAINER_OF(ctx, struct schedule_bench, pairs);

    pairs_begin_object(ctx, b, KIND_VOLUME, "b000", n);
    json_out_textf(b, "name", "volume-%" PRIu64, n);
    json_out_raw(b, "finalizers", STR_LIT("[\"kubernetes.io/pv-protection\"]"));
    json_out_end_object(b);
    json_out_object(b, "spec");
    json_out_raw(b, "capacity", STR_LIT("{\"storage\":\"10Gi\"}"));
    json_out_object(b, "local");
    json_out_textf(b, "path", "/mnt/disks/%" PRIu64, n);
    json_out_end_object(b);
    json_out_raw(b, "accessModes", STR_LIT("[\"ReadWriteOnce\"]"));
    json_out_text(b, "persistentVolumeReclaimPolicy", "Retain");
    json_out_text(b, "storageClassName", "local");
    json_out_text(b, "volumeMode", "Filesystem");
    write_affinity(b, n % s->size->nodes);
    json_out_end_object(b);
    json_out_raw(b, "status", STR_LIT("{\"phase\":\"Available\"}"));
    json_out_end_object(b);
}

static void create_claim(struct pairs *p, uint64_t n)
{
    char text[PAIRS_BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    pairs_begin_object(p, &body, KIND_CLAIM, /* series= */ NULL, n);
    json_out_textf(&body, "name", "claim-%" PRIu64, n);
    json_out_end_object(&body);
    json_out_object(&body, "spec");
    json_out_raw(&body, "accessModes", STR_LIT("[\"ReadWriteOnce\"]"));
    json_out_raw(&body, "resources", STR_LIT("{\"requests\":{\"storage\":\"10Gi\"}}"));
    json_out_text(&body, "storageClassName", "local");
    json_out_end_object(&body);
    json_out_end_object(&body);
    pairs_create_object(p, KIND_CLAIM, buf_str(&body));
}

static void create_pod(struct pairs *p, uint64_t n)
{
    char text[PAIRS_BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    pairs_begin_object(p, &body, KIND_POD, /* series= */ NULL, n);
    json_out_textf(&body, "name", "pod-%" PRIu64, n);
    json_out_end_object(&body);
    json_out_object(&body, "spec");
    pairs_write_pod_spec(&body, n);
    json_out_end_object(&body);
    json_out_end_object(&body);
    pairs_create_object(p, KIND_POD, buf_str(&body));
}

#define CLASS                                                                                            \
    "{\"kind\":\"StorageClass\",\"apiVersion\":\"storage.k8s.io/v1\",\"metadata\":{\"name\":\"local\"}," \
    "\"provisioner\":\"kubernetes.io/no-provisioner\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}"

static void make_backlog(struct schedule_bench *s)
{
    struct pairs *p = &s->pairs;

    pairs_add_stored(p, KIND_NODE, s->size->nodes, write_node, p);
    pairs_add_stored(p, KIND_VOLUME, s->size->volumes, write_volume, p);
    pairs_create_object(p, KIND_CLASS, STR_LIT(CLASS));
    bench_phase("creating pods", s->size->pods);
    for (uint64_t n = 0; n < s->size->pods && p->r == 0; n++) {
        create_claim(p, n);
        create_pod(p, n);
        pairs_await_answers(p, CREATES_IN_FLIGHT);
        bench_step(n);
    }
    pairs_await_answers(p, 0);
    bench_phase_end();
}

/* --- The table --- */

static void on_pod(void *ctx, const struct store_event *ev)
{
    struct schedule_bench *s = ctx;

    if (ev->is_delete || pod_of(ev->object)->node_name[0] == '\0')
        return;
    /* No other component writes to a pod that has its node. */
    s->placed++;
}

static void print_row(const struct schedule_bench *s, uint64_t ns, struct spent from, struct spent to)
{
    const struct pairs_counts *n = &s->pairs.carrier.counts;
    double pods = (double)s->size->pods;

    printf("%6" PRIu64 " pods %6" PRIu64 " nodes %6" PRIu64
           " volumes %8.0f pods/s   CPU %5.2f s on the loop, "
           "%5.2f s in all   %4.0f MB\n",
           s->size->pods, s->size->nodes, s->size->volumes, pods * (double)NS_PER_S / (double)ns,
           (double)(to.loop_ns - from.loop_ns) / (double)NS_PER_S, to.all_seconds - from.all_seconds,
           (double)to.resident_bytes / 1e6);
    printf("%36s %.2f patches of volumes and claims by the binder; %.2f other writes, %.2f events; %" PRIu64
           " refused\n",
           "", (double)(n->volume_patches + n->claim_patches) / pods,
           (double)(n->other_patches + n->reads) / pods, (double)n->events / pods, n->refused);
}

static void time_row(struct schedule_bench *s)
{
    struct pairs *p = &s->pairs;
    struct spent from;
    uint64_t ns;

    pairs_open_components(p);
    if (p->r < 0)
        return;
    store_watch(p->store, &s->watcher, KIND_POD, on_pod, /* settled= */ NULL, s);
    from = spent_now(p->clock);
    pairs_start(p);
    p->r = bench_await(p->loop, p->clock, &s->placed, s->size->pods, "pods have a node", &p->err);
    ns = clock_mono_ns(p->clock) - from.ns;
    if (p->r == 0) {
        pairs_settle(p);
        print_row(s, ns, from, spent_now(p->clock));
    }
    store_unwatch(p->store, &s->watcher);
}

int bench_schedule(const struct bench_size *size, struct error *err)
{
    struct schedule_bench *s = calloc(1, sizeof *s);
    struct pairs *p;
    int r;

    if (!s)
        return error_no_memory(err);
    s->size = size;
    p = &s->pairs;
    p->clock = clock_system();
    p->count = size->pods;
    p->parts = DAEMON_CONTROLLERS | DAEMON_SCHEDULER;
    if (pairs_open(p) == 0)
        make_backlog(s);
    if (p->r == 0)
        time_row(s);
    r = pairs_close(p, err);
    free(s);
    return r;
}
