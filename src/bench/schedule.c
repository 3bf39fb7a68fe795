/* `berth bench schedule`: pods with a claim that waits for its consumer, and local volumes spread evenly over
 * nodes; each pod gets a node with a volume. On the SQLite store, with server, controllers and scheduler in
 * this process, as in `berth serve`.
 *
 * Everything is there, the volumes Available, before controllers and scheduler start.
 *
 *   pods/s   from the start to the last pod's nodeName, on disk
 *   CPU      of the loop's thread and of the whole process, until nothing more is asked for
 *   writes   that controllers and scheduler asked for, for each pod */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/pod.h"
#include "api/uid.h"
#include "bench/pairs.h"
#include "bench/wait.h"
#include "io/clock.h"

#define CREATES_IN_FLIGHT 512

struct schedule {
    struct pairs pairs;
    const struct bench_size *size;
    struct store_watcher watcher;
    uint64_t placed; /* pods */
};

/* --- Objects --- */

#define STORED_META                                                                \
    "\"uid\":\"00000000-0000-4000-%s-%012" PRIx64 "\",\"resourceVersion\":\"%s\"," \
    "\"creationTimestamp\":\"2026-01-02T03:04:05Z\""

static struct str write_node(void *ctx, uint64_t n, char body[PAIRS_BODY_BYTES])
{
    struct schedule *s = ctx;
    char version[RESOURCE_VERSION_BYTES];
    int len;

    resource_version_format(store_reserve(s->pairs.store), version);
    len = snprintf(body, PAIRS_BODY_BYTES,
                   "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{" STORED_META
                   ",\"name\":\"node-%" PRIu64 "\",\"labels\":{\"kubernetes.io/arch\":\"amd64\","
                   "\"kubernetes.io/hostname\":\"node-%" PRIu64 "\",\"kubernetes.io/os\":\"linux\"}},"
                   "\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"pods\":"
                   "\"110\"}}}",
                   "a000", n, version, n, n);
    return (struct str){ body, (size_t)len };
}

static struct str write_volume(void *ctx, uint64_t n, char body[PAIRS_BODY_BYTES])
{
    struct schedule *s = ctx;
    char version[RESOURCE_VERSION_BYTES];
    int len;

    resource_version_format(store_reserve(s->pairs.store), version);
    len = snprintf(body, PAIRS_BODY_BYTES,
                   "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"metadata\":{" STORED_META
                   ",\"name\":\"volume-%" PRIu64 "\",\"finalizers\":[\"kubernetes.io/pv-protection\"]},"
                   "\"spec\":{\"capacity\":{\"storage\":\"10Gi\"},\"local\":{\"path\":\"/mnt/disks/%" PRIu64
                   "\"},\"accessModes\":[\"ReadWriteOnce\"],\"persistentVolumeReclaimPolicy\":\"Retain\","
                   "\"storageClassName\":\"local\",\"volumeMode\":\"Filesystem\",\"nodeAffinity\":"
                   "{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
                   "\"kubernetes.io/hostname\",\"operator\":\"In\",\"values\":[\"node-%" PRIu64
                   "\"]}]}]}}},\"status\":{\"phase\":\"Available\"}}",
                   "b000", n, version, n, n, n % s->size->nodes);
    return (struct str){ body, (size_t)len };
}

static void create_class(struct pairs *p)
{
    static const char body[] =
        "{\"kind\":\"StorageClass\",\"apiVersion\":\"storage.k8s.io/v1\",\"metadata\":{"
        "\"name\":\"local\"},\"provisioner\":\"kubernetes.io/no-provisioner\","
        "\"volumeBindingMode\":\"WaitForFirstConsumer\"}";

    pairs_create_object(p, KIND_CLASS, (struct str){ body, sizeof body - 1 });
}

static void create_claim(struct pairs *p, uint64_t n)
{
    char body[PAIRS_BODY_BYTES];
    int len = snprintf(body, sizeof body,
                       "{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
                       "\"claim-%" PRIu64 "\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":"
                       "{\"requests\":{\"storage\":\"10Gi\"}},\"storageClassName\":\"local\"}}",
                       n);

    pairs_create_object(p, KIND_CLAIM, (struct str){ body, (size_t)len });
}

static void create_pod(struct pairs *p, uint64_t n)
{
    char body[PAIRS_BODY_BYTES];
    int len = snprintf(body, sizeof body,
                       "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"pod-%" PRIu64
                       "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"shop\",\"volumeMounts\":[{"
                       "\"name\":\"data\",\"mountPath\":\"/data\"}]}],\"volumes\":[{\"name\":\"data\","
                       "\"persistentVolumeClaim\":{\"claimName\":\"claim-%" PRIu64 "\"}}]}}",
                       n, n);

    pairs_create_object(p, KIND_POD, (struct str){ body, (size_t)len });
}

static void make_backlog(struct schedule *s)
{
    struct pairs *p = &s->pairs;

    pairs_add_stored(p, KIND_NODE, s->size->nodes, write_node, s);
    pairs_add_stored(p, KIND_VOLUME, s->size->volumes, write_volume, s);
    create_class(p);
    bench_phase("pods are made", s->size->pods);
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
    struct schedule *s = ctx;

    if (ev->is_delete || pod_of(ev->object)->node_name[0] == '\0')
        return;
    /* Nothing else writes to a pod that has its node. */
    s->placed++;
}

static void print_row(const struct schedule *s, uint64_t ns, struct spent from, struct spent to)
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

static void time_row(struct schedule *s)
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
    struct schedule *s = calloc(1, sizeof *s);
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
    r = p->r;
    if (r < 0)
        *err = p->err;
    pairs_close(p);
    free(s);
    return r;
}
