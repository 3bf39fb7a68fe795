/* `berth bench attach`: CSI volumes of pods on nodes, each attached through a VolumeAttachment. Uses the
 * SQLite store, with server and controllers in this process, as in `berth serve`.
 *
 * All objects exist and are bound before the controllers start. The attacher is a model: it sees an
 * attachment when it is stored, and reports it as attached one second later. It serves all attachments in
 * parallel, so the time beyond that second is spent in the controllers and the server.
 *
 *   time   from the start until every volume is in its node's status, on disk
 *   CPU    of the loop's thread and of the whole process, until the controllers are idle; then when idle */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "api/attachment.h"
#include "api/node.h"
#include "bench/bench_wait.h"
#include "bench/pairs.h"
#include "io/clock.h"
#include "io/proc_self.h"

#define ATTACH_NS NS_PER_S
#define REST_NS (10 * NS_PER_S)

/* An attachment in progress. All take equally long, so they end in the order of their beginning. */
struct task {
    TAILQ_ENTRY(task) link;
    uint64_t due_ns;
    char name[];
};

struct attaching {
    struct pairs pairs;
    const struct bench_size *size;
    struct store_watcher attachments;
    struct store_watcher nodes;
    TAILQ_HEAD(, task) tasks;
    struct timer timer;
    uint64_t reported; /* number of volumes in the status of nodes */
};

/* --- Objects --- */

static void write_node(void *ctx, uint64_t n, struct buf *b)
{
    pairs_begin_object(ctx, b, KIND_NODE, "a000", n);
    json_out_textf(b, "name", "node-%" PRIu64, n);
    json_out_object(b, "annotations");
    json_out_text(b, ANN_CONTROLLER_ATTACHES, "true");
    json_out_end_object(b);
    json_out_end_object(b);
    json_out_raw(b, "spec", STR_LIT("{}"));
    json_out_raw(b, "status", STR_LIT("{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}"));
    json_out_end_object(b);
}

static void write_claim_ref(struct buf *b, uint64_t n)
{
    json_out_object(b, "claimRef");
    json_out_text(b, "kind", "PersistentVolumeClaim");
    json_out_text(b, "namespace", PAIRS_NS);
    json_out_textf(b, "name", "claim-%" PRIu64, n);
    json_out_textf(b, "uid", PAIRS_UID, "c000", n);
    json_out_text(b, "apiVersion", "v1");
    json_out_end_object(b);
}

static void write_volume(void *ctx, uint64_t n, struct buf *b)
{
    pairs_begin_object(ctx, b, KIND_VOLUME, "b000", n);
    json_out_textf(b, "name", "volume-%" PRIu64, n);
    json_out_raw(b, "finalizers", STR_LIT("[\"kubernetes.io/pv-protection\"]"));
    json_out_end_object(b);
    json_out_object(b, "spec");
    json_out_raw(b, "capacity", STR_LIT("{\"storage\":\"10Gi\"}"));
    json_out_object(b, "csi");
    json_out_text(b, "driver", "disk.example.com");
    json_out_textf(b, "volumeHandle", "vol-%016" PRIx64, n);
    json_out_end_object(b);
    json_out_raw(b, "accessModes", STR_LIT("[\"ReadWriteOnce\"]"));
    write_claim_ref(b, n);
    json_out_text(b, "persistentVolumeReclaimPolicy", "Retain");
    json_out_text(b, "storageClassName", "fast");
    json_out_text(b, "volumeMode", "Filesystem");
    json_out_end_object(b);
    json_out_raw(b, "status", STR_LIT("{\"phase\":\"Bound\"}"));
    json_out_end_object(b);
}

#define CLAIM_STATUS                                                                                \
    "{\"phase\":\"Bound\",\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"10Gi\"}," \
    "\"conditions\":[{\"type\":\"Unused\",\"status\":\"False\",\"lastTransitionTime\":"             \
    "\"2026-01-02T03:04:07Z\",\"reason\":\"PodUsingPVC\",\"message\":\"A pod is currently "         \
    "referencing this PVC\"}]}"

static void write_claim(void *ctx, uint64_t n, struct buf *b)
{
    pairs_begin_object(ctx, b, KIND_CLAIM, "c000", n);
    json_out_textf(b, "name", "claim-%" PRIu64, n);
    json_out_text(b, "namespace", PAIRS_NS);
    json_out_raw(b, "finalizers", STR_LIT("[\"kubernetes.io/pvc-protection\"]"));
    json_out_raw(b, "annotations", STR_LIT("{\"pv.kubernetes.io/bind-completed\":\"yes\"}"));
    json_out_end_object(b);
    json_out_object(b, "spec");
    json_out_raw(b, "accessModes", STR_LIT("[\"ReadWriteOnce\"]"));
    json_out_raw(b, "resources", STR_LIT("{\"requests\":{\"storage\":\"10Gi\"}}"));
    json_out_textf(b, "volumeName", "volume-%" PRIu64, n);
    json_out_text(b, "storageClassName", "fast");
    json_out_text(b, "volumeMode", "Filesystem");
    json_out_end_object(b);
    json_out_raw(b, "status", STR_LIT(CLAIM_STATUS));
    json_out_end_object(b);
}

static void write_pod(void *ctx, uint64_t n, struct buf *b)
{
    const struct attaching *s = CONTAINER_OF(ctx, struct attaching, pairs);

    pairs_begin_object(ctx, b, KIND_POD, "d000", n);
    json_out_textf(b, "name", "pod-%" PRIu64, n);
    json_out_text(b, "namespace", PAIRS_NS);
    json_out_end_object(b);
    json_out_object(b, "spec");
    json_out_textf(b, "nodeName", "node-%" PRIu64, n / s->size->volumes);
    pairs_write_pod_spec(b, n);
    json_out_end_object(b);
    json_out_raw(b, "status", STR_LIT("{\"phase\":\"Pending\"}"));
    json_out_end_object(b);
}

/* --- The attacher --- */

static void on_due(void *ctx)
{
    struct attaching *s = ctx;
    uint64_t now_ns = loop_now_ns(s->pairs.loop);
    struct task *t;

    while ((t = TAILQ_FIRST(&s->tasks)) && t->due_ns <= now_ns) {
        TAILQ_REMOVE(&s->tasks, t, link);
        pairs_patch_object(&s->pairs, KIND_ATTACHMENT, t->name, "status",
                           STR_LIT("{\"status\":{\"attached\":true}}"));
        free(t);
    }
    if (t)
        timer_arm(&s->timer, t->due_ns);
}

static void on_attachment(void *ctx, const struct store_event *ev)
{
    struct attaching *s = ctx;
    size_t len = strlen(ev->object->name);
    struct task *t = ev->old ? NULL : calloc(1, sizeof *t + len + 1);

    if (!t)
        return; /* bench_await() then reports the missing ones */
    memcpy(t->name, ev->object->name, len + 1);
    t->due_ns = loop_now_ns(s->pairs.loop) + ATTACH_NS;
    TAILQ_INSERT_TAIL(&s->tasks, t, link);
    if (!timer_is_armed(&s->timer))
        timer_arm(&s->timer, t->due_ns);
}

static void on_node(void *ctx, const struct store_event *ev)
{
    struct attaching *s = ctx;

    s->reported += node_of(ev->object)->volumes_attached_count;
    if (ev->old)
        s->reported -= node_of(ev->old)->volumes_attached_count;
}

/* --- The table --- */

static void print_row(const struct attaching *s, uint64_t ns, struct spent from, struct spent to)
{
    const struct pairs_counts *n = &s->pairs.carrier.counts;
    double volumes = (double)s->pairs.count;

    printf("%6" PRIu64 " nodes x %3" PRIu64
           " volumes %7.2f s until all are reported   CPU %5.2f s on the loop, "
           "%5.2f s in all   %4.0f MB, at most %4.0f MB\n",
           s->size->nodes, s->size->volumes, (double)ns / (double)NS_PER_S,
           (double)(to.loop_ns - from.loop_ns) / (double)NS_PER_S, to.all_seconds - from.all_seconds,
           (double)to.resident_bytes / 1e6, (double)proc_self_peak_bytes() / 1e6);
    printf("%26s per volume: %.2f attachments, %.2f patches of nodes and others, %.2f events; %" PRIu64
           " refused\n",
           "", (double)n->reads / volumes,
           (double)(n->other_patches + n->volume_patches + n->claim_patches) / volumes,
           (double)n->events / volumes, n->refused);
}

static void time_rest(struct attaching *s)
{
    struct spent from = spent_now(s->pairs.clock), to;

    pairs_rest(&s->pairs, REST_NS);
    to = spent_now(s->pairs.clock);
    printf("%26s idle: %.4f s of CPU on the loop, %.2f s in all, in %.0f s\n", "",
           (double)(to.loop_ns - from.loop_ns) / (double)NS_PER_S, to.all_seconds - from.all_seconds,
           (double)(to.ns - from.ns) / (double)NS_PER_S);
}

static void time_row(struct attaching *s)
{
    struct pairs *p = &s->pairs;
    struct spent from;
    uint64_t ns;

    pairs_open_components(p);
    if (p->r < 0)
        return;
    store_watch(p->store, &s->attachments, KIND_ATTACHMENT, on_attachment, /* settled= */ NULL, s);
    store_watch(p->store, &s->nodes, KIND_NODE, on_node, /* settled= */ NULL, s);
    from = spent_now(p->clock);
    pairs_start(p);
    p->r = bench_await(p->loop, p->clock, &s->reported, p->count, "volumes are reported", &p->err);
    ns = clock_mono_ns(p->clock) - from.ns;
    if (p->r == 0) {
        pairs_settle(p);
        print_row(s, ns, from, spent_now(p->clock));
        time_rest(s);
    }
    store_unwatch(p->store, &s->nodes);
    store_unwatch(p->store, &s->attachments);
}

int bench_attach(const struct bench_size *size, struct error *err)
{
    struct attaching *s = calloc(1, sizeof *s);
    struct pairs *p;
    int r;

    if (!s)
        return error_no_memory(err);
    s->size = size;
    TAILQ_INIT(&s->tasks);
    p = &s->pairs;
    p->clock = clock_system();
    p->count = size->nodes * size->volumes;
    p->parts = DAEMON_CONTROLLERS;
    if (pairs_open(p) == 0) {
        timer_init(&s->timer, p->loop, on_due, s);
        pairs_add_stored(p, KIND_NODE, size->nodes, write_node, p);
        pairs_add_stored(p, KIND_VOLUME, p->count, write_volume, p);
        pairs_add_stored(p, KIND_CLAIM, p->count, write_claim, p);
        pairs_add_stored(p, KIND_POD, p->count, write_pod, p);
    }
    if (p->r == 0)
        time_row(s);
    if (p->loop)
        timer_disarm(&s->timer);
    for (struct task *t; (t = TAILQ_FIRST(&s->tasks)); free(t))
        TAILQ_REMOVE(&s->tasks, t, link);
    r = pairs_close(p, err);
    free(s);
    return r;
}
