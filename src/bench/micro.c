/* `berth bench micro`, and the output of all benchmarks.
 *
 * Each figure is the best of several rounds: other programs on the machine can only add to one. The first row
 * is the speed of the machine: compare runs in units of it. */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "api/kind.h"
#include "api/managed_fields.h"
#include "api/object.h"
#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/omap.h"
#include "base/rng.h"
#include "bench/bench_wait.h"
#include "io/clock.h"

#define BENCH_ROUNDS 7
#define BENCH_SEED 1

static const char bench_volume_text[] =
    "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
    "\"pvc-3f0e7a3c-2b1d-4c5e-8f6a-9b0c1d2e3f40\",\"uid\":\"0c9f6a1e-98a3-4d55-9df4-5d9a2a3b4c5d\","
    "\"resourceVersion\":"
    "\"123456\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"app\":\"shop\",\"tier\":\"db\","
    "\"topology.kubernetes.io/zone\":\"z1\"},\"annotations\":{\"pv.kubernetes.io/"
    "bound-by-controller\":\"yes\","
    "\"pv.kubernetes.io/provisioned-by\":\"hostpath.csi.k8s.io\"},\"finalizers\":[\"kubernetes.io/"
    "pv-protection\","
    "\"external-provisioner.volume.kubernetes.io/"
    "finalizer\"],\"managedFields\":[{\"manager\":\"csi-provisioner\","
    "\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-01-02T03:04:05Z\",\"fieldsType\":"
    "\"FieldsV1\","
    "\"fieldsV1\":{\"f:metadata\":{\"f:annotations\":{\".\":{},\"f:pv.kubernetes.io/"
    "provisioned-by\":{}}},\"f:spec\":"
    "{\"f:accessModes\":{},\"f:capacity\":{\".\":{},\"f:storage\":{}},\"f:csi\":{\".\":{},\"f:driver\":{},"
    "\"f:volumeHandle\":{}}}}}]},\"spec\":{\"capacity\":{\"storage\":\"10Gi\"},\"csi\":{\"driver\":"
    "\"hostpath.csi.k8s.io\",\"volumeHandle\":\"vol-0123456789abcdef\",\"volumeAttributes\":"
    "{\"storage.kubernetes.io/"
    "csiProvisionerIdentity\":\"1767322645000-8081-hostpath.csi.k8s.io\"}},\"accessModes\":"
    "[\"ReadWriteOnce\"],\"claimRef\":{\"kind\":\"PersistentVolumeClaim\",\"namespace\":\"shop\",\"name\":"
    "\"db\",\"uid\":"
    "\"11111111-2222-4333-8444-555555555555\",\"apiVersion\":\"v1\",\"resourceVersion\":\"123400\"},"
    "\"persistentVolumeReclaimPolicy\":\"Delete\",\"storageClassName\":\"fast\",\"volumeMode\":"
    "\"Filesystem\","
    "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
    "\"topology.hostpath.csi/"
    "node\",\"operator\":\"In\",\"values\":[\"node-1\"]}]}]}}},\"status\":{\"phase\":\"Bound\","
    "\"lastPhaseTransitionTime\":\"2026-01-02T03:04:06Z\"}}";

const struct str bench_volume = { bench_volume_text, sizeof bench_volume_text - 1 };

/* State of a benchmark. */
struct bench {
    const struct clock *clock;
    struct json doc;
    json_ref volume; /* in doc, canonical */
    struct buf out;
    struct omap map;
    struct rng rng;
    uint64_t entries; /* in the map */
    uint64_t sum;     /* of results, so that the compiler cannot remove the work */
    struct error err;
    int r;
};

/* Runs the work `count` times; a failure sticks in b->r. */
typedef void bench_fn(struct bench *b, uint64_t count);

static void bench_copy(struct bench *b, uint64_t count)
{
    static char from[1 << 16], to[1 << 16];

    for (uint64_t i = 0; i < count; i++) {
        from[i % sizeof from]++;
        memcpy(to, from, sizeof to);
        b->sum += (uint64_t)(unsigned char)to[i % sizeof to];
    }
}

static void bench_parse(struct bench *b, uint64_t count)
{
    json_ref root;

    for (uint64_t i = 0; i < count && b->r == 0; i++) {
        json_clear(&b->doc);
        b->r = json_parse(&b->doc, bench_volume, &root, &b->err);
        b->sum += json_count(&b->doc, root);
    }
}

static void bench_decode(struct bench *b, uint64_t count)
{
    for (uint64_t i = 0; i < count && b->r == 0; i++) {
        struct object *o = NULL;
        b->r = object_decode(kind_info(KIND_VOLUME), bench_volume, &b->doc, &o, &b->err);
        b->sum += o ? o->text.len : 0;
        (void)object_unref(o);
    }
}

static void bench_encode(struct bench *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        buf_clear(&b->out);
        json_write(&b->doc, b->volume, &b->out);
        b->sum += b->out.len;
    }
}

/* Gives the volume two more managers: the binder, and the writer of its status. */
static void bench_own(struct bench *b)
{
    struct managed_write w = { .kind = kind_info(KIND_VOLUME),
                               .manager = STR_LIT("kube-controller-manager") };
    json_ref spec = json_copy(&b->doc, b->volume), status = json_copy(&b->doc, b->volume);

    (void)json_remove(&b->doc, json_get(&b->doc, spec, "spec"), "claimRef");
    b->r = managed_fields_update(&b->doc, b->volume, spec, &w, &b->err);
    w.subresource = STR_LIT("status");
    (void)json_remove(&b->doc, status, "status");
    json_set(&b->doc, json_get(&b->doc, status, "metadata"), "managedFields",
             json_copy(&b->doc, json_path(&b->doc, b->volume, "metadata", "managedFields")));
    if (b->r == 0)
        b->r = managed_fields_update(&b->doc, b->volume, status, &w, &b->err);
    buf_clear(&b->out);
    json_write(&b->doc, b->volume, &b->out);
}

/* Copies the volume with three managers from b->out, changes a field and adds an annotation, and updates its
 * managedFields if w is set. */
static void bench_patch(struct bench *b, uint64_t count, const struct managed_write *w)
{
    json_ref old = 0;

    for (uint64_t i = 0; i < count && b->r == 0; i++) {
        if (i % 64 == 0) { /* the document grows with each copy */
            json_clear(&b->doc);
            b->r = json_parse(&b->doc, buf_str(&b->out), &old, &b->err);
        }
        json_ref now = json_copy(&b->doc, old), spec = json_get(&b->doc, now, "spec");
        json_set_string(&b->doc, spec, "persistentVolumeReclaimPolicy", "Retain");
        json_set_string(&b->doc, json_path(&b->doc, now, "metadata", "annotations"), "example.com/a", "b");
        if (w && b->r == 0)
            b->r = managed_fields_update(&b->doc, now, old, w, &b->err);
        b->sum += json_count(&b->doc, spec);
    }
}

static void bench_patch_only(struct bench *b, uint64_t count)
{
    bench_patch(b, count, /* w= */ NULL);
}

static void bench_patch_owned(struct bench *b, uint64_t count)
{
    const struct managed_write w = { .kind = kind_info(KIND_VOLUME),
                                     .manager = STR_LIT("berth"),
                                     .now = { .seconds = 1767322645 } };

    bench_patch(b, count, &w);
}

static void bench_patch_status(struct bench *b, uint64_t count)
{
    const struct managed_write w = { .kind = kind_info(KIND_VOLUME),
                                     .manager = STR_LIT("berth"),
                                     .subresource = STR_LIT("status"),
                                     .now = { .seconds = 1767322645 } };

    bench_patch(b, count, &w);
}

static void bench_quantity(struct bench *b, uint64_t count)
{
    static const struct str texts[] = {
        { "10Gi", 4 }, { "1500m", 5 }, { "107374182400", 12 }, { "0.5Ti", 5 }
    };

    for (uint64_t i = 0; i < count && b->r == 0; i++) {
        struct quantity q;
        b->r = quantity_parse(texts[i % ARRAY_LEN(texts)], &q, &b->err);
        b->sum += (uint64_t)quantity_sign(&q);
    }
}

/* The map's items are numbers cast to pointers: ranks order them, and these only break ties. */
static int bench_cmp(void *ctx, const void *a, const void *c)
{
    (void)ctx;
    return ((uintptr_t)a > (uintptr_t)c) - ((uintptr_t)a < (uintptr_t)c);
}

static void bench_fill_map(struct bench *b, uint64_t count)
{
    omap_clear(&b->map);
    rng_init(&b->rng, BENCH_SEED);
    for (uint64_t i = 1; i <= count && b->r == 0; i++)
        b->r = omap_insert(&b->map, rng_u64(&b->rng), (void *)(uintptr_t)i);
}

static void bench_lower_bound(struct bench *b, uint64_t count)
{
    struct omap_cursor at;

    for (uint64_t i = 0; i < count; i++)
        b->sum += omap_lower_bound(&b->map, rng_u64(&b->rng), /* key= */ NULL, &at) != NULL;
}

/* The best time of one call, in nanoseconds. */
static double bench_ns(struct bench *b, bench_fn *work, uint64_t count)
{
    double best = 0;

    bench_phase("rounds", BENCH_ROUNDS);
    for (int round = 0; round < BENCH_ROUNDS && b->r == 0; round++) {
        bench_step((uint64_t)round);
        uint64_t start_ns = clock_mono_ns(b->clock);
        work(b, count);
        double ns = (double)(clock_mono_ns(b->clock) - start_ns) / (double)count;
        if (round == 0 || ns < best)
            best = ns;
    }
    bench_phase_end();
    return best;
}

void bench_print(const char *what, double ns)
{
    if (ns < 1000)
        printf("%-44s %10.1f ns\n", what, ns);
    else
        printf("%-44s %10.2f us\n", what, ns / 1000);
}

static void bench_maps(struct bench *b)
{
    static const uint64_t sizes[] = { 1000, 1000000 };
    char what[64];

    for (size_t i = 0; i < ARRAY_LEN(sizes) && b->r == 0; i++) {
        double insert_ns = bench_ns(b, bench_fill_map, sizes[i]);
        (void)snprintf(what, sizeof what, "ordered map of %" PRIu64 ": insert", sizes[i]);
        bench_print(what, insert_ns);
        (void)snprintf(what, sizeof what, "ordered map of %" PRIu64 ": lower bound", sizes[i]);
        bench_print(what, bench_ns(b, bench_lower_bound, 1000000));
    }
}

/* A canonical volume to encode. */
static int bench_prepare_volume(struct bench *b)
{
    json_clear(&b->doc);
    b->r = json_parse(&b->doc, bench_volume, &b->volume, &b->err);
    if (b->r == 0)
        b->r = schema_normalize(kind_info(KIND_VOLUME)->schema, &b->doc, b->volume, SCHEMA_KEEP_UNKNOWN,
                                /* report= */ NULL, &b->err);
    return b->r;
}

/* Cost of field ownership in a write that changes two fields. */
static void bench_ownership(struct bench *b)
{
    double patch_ns;
    char what[64];

    if (bench_prepare_volume(b) == 0)
        bench_own(b);
    patch_ns = bench_ns(b, bench_patch_only, 20000);
    (void)snprintf(what, sizeof what, "copy and patch %zu bytes of 3 managers", b->out.len);
    bench_print(what, patch_ns);
    bench_print("update its managedFields", bench_ns(b, bench_patch_owned, 20000) - patch_ns);
    bench_print("update them for a write to its status", bench_ns(b, bench_patch_status, 20000) - patch_ns);
}

void bench_baseline(void)
{
    struct bench b = { .clock = clock_system() };

    bench_print("baseline: copy 64 KiB", bench_ns(&b, bench_copy, 20000));
}

static void bench_each(struct bench *b)
{
    char what[64];

    bench_baseline();
    (void)snprintf(what, sizeof what, "parse a volume of %zu bytes", bench_volume.len);
    bench_print(what, bench_ns(b, bench_parse, 20000));
    bench_print("decode it to an object (parse, check, view)", bench_ns(b, bench_decode, 20000));
    if (bench_prepare_volume(b) == 0)
        bench_print("encode it", bench_ns(b, bench_encode, 20000));
    bench_ownership(b);
    bench_print("parse a quantity", bench_ns(b, bench_quantity, 1000000));
    bench_maps(b);
}

int bench_micro(const struct bench_size *size, struct error *err)
{
    struct bench b = { .clock = clock_system(), .out = BUF_INIT(1 << 20) };

    (void)size; /* its sizes are fixed */
    json_init(&b.doc, 1 << 20);
    omap_init(&b.map, (struct omap_order){ bench_cmp, bench_cmp, NULL });
    rng_init(&b.rng, BENCH_SEED);
    bench_each(&b);
    omap_done(&b.map);
    buf_done(&b.out);
    json_done(&b.doc);
    if (b.r < 0)
        *err = b.err;
    return b.r;
}
