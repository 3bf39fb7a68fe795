/* `berth bench match`: finding the volume for a claim among a number of free ones.
 *
 * All volumes have one class and one set of access modes, the worst case for the index: they are in one
 * ordered map. Sizes are whole GiB at random up to 1 TiB, as users request them; then whole MiB, so that few
 * are equal and each search ends elsewhere in memory. One label in eight has the value that the selector
 * requests, and there are a tenth as many volumes that are reserved for a claim by name. Volumes and claims
 * are filled in directly: only the index and its memory accesses are measured, in CPU time of the thread, so
 * that other programs only have an effect through the caches. */
#include "bench/bench.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/kind.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "bench/bench_wait.h"
#include "io/clock.h"
#include "volumes/index.h"

#define ROUNDS 3
#define MATCHES 200000
#define SIZES_FIRST 1000
#define KEPT_SHARE 10 /* one reserved per this many free */
#define LABEL_VALUES 8
#define MIB (INT64_C(1) << 20)
#define SIZE_MIB_MAX (1 << 20)
#define GIB_MIB 1024
#define NAME_BYTES 48

static const struct kv labels[LABEL_VALUES] = { { "disk", "a" }, { "disk", "b" }, { "disk", "c" },
                                                { "disk", "d" }, { "disk", "e" }, { "disk", "f" },
                                                { "disk", "g" }, { "disk", "h" } };

struct named_volume {
    struct volume v;
    char name[NAME_BYTES];
    char claim_name[NAME_BYTES];
};

struct bench_match {
    struct volume_index *index;
    struct named_volume *volumes; /* first the free ones, then the reserved ones */
    uint64_t free_count;
    uint64_t count;
    struct claim *claims; /* MATCHES of them, used in turn */
    char (*claim_names)[NAME_BYTES];
    struct arena arena;
    struct label_selector selector;
    struct rng rng;
    bool is_varied; /* sizes in MiB */
};

/* The figures; the best round counts. With varied sizes only the first two are measured. */
enum figure { PUT, HIT, MISS, SELECTOR, KEPT, REMOVE, FIGURE_COUNT };
#define FIGURES_VARIED (HIT + 1)
static const char *const figure_names[FIGURE_COUNT] = {
    [PUT] = "put",
    [HIT] = "match",
    [MISS] = "match nothing",
    [SELECTOR] = "match 1 in 8 by selector",
    [KEPT] = "match a reserved one",
    [REMOVE] = "remove",
};

/* --- Volumes and claims --- */

static void init_object(struct object *o, enum kind kind, const char *name)
{
    refcount_init(&o->refs);
    o->kind = kind_info(kind);
    o->name = name;
    o->ns = o->uid = o->generate_name = "";
}

static struct quantity random_size(struct bench_match *b)
{
    unsigned step = b->is_varied ? 1 : GIB_MIB;
    uint64_t mib = (rng_below(&b->rng, SIZE_MIB_MAX / step) + 1) * step;

    return quantity_of((int64_t)mib * MIB, QUANTITY_BINARY_SI);
}

static void make_volume(struct bench_match *b, uint64_t i)
{
    struct named_volume *n = &b->volumes[i];
    struct volume *v = &n->v;

    (void)snprintf(n->name, sizeof n->name, "pvc-%08x-2b1d-4c5e-8f6a-%012" PRIx64, (unsigned)rng_u64(&b->rng),
                   i);
    init_object(&v->obj, KIND_VOLUME, n->name);
    v->obj.labels = (struct kvs){ &labels[rng_below(&b->rng, LABEL_VALUES)], 1 };
    v->capacity = random_size(b);
    v->class = v->spec_class = "fast";
    v->attributes_class = v->message = v->reason = "";
    v->claim = (struct claim_ref){ "bench", n->claim_name, "", "", i >= b->free_count };
    v->modes = ACCESS_RWO;
    v->phase = VOLUME_AVAILABLE;
    if (v->claim.is_set)
        (void)snprintf(n->claim_name, sizeof n->claim_name, "claim-%" PRIu64, i);
}

/* Sets up the claims for the figure. */
static void prepare_claims(struct bench_match *b, enum figure figure)
{
    for (uint64_t i = 0; i < MATCHES; i++) {
        struct claim *c = &b->claims[i];
        uint64_t kept = b->free_count + rng_below(&b->rng, b->count - b->free_count);
        (void)snprintf(b->claim_names[i], NAME_BYTES, "%s-%" PRIu64, figure == KEPT ? "claim" : "other",
                       kept);
        c->selector = figure == SELECTOR ? &b->selector : NULL;
        c->request = figure == MISS   ? quantity_of(INT64_C(2) * SIZE_MIB_MAX * MIB, QUANTITY_BINARY_SI)
                     : figure == KEPT ? quantity_of(MIB, QUANTITY_BINARY_SI)
                                      : random_size(b);
    }
}

/* --- Measuring --- */

/* A claim for more than the largest size finds nothing; neither does one for nearly as much whose selector
 * none of the last few satisfies. */
static int run_figure(struct bench_match *b, enum figure figure, struct error *err)
{
    bool is_match = figure != PUT && figure != REMOVE;
    const struct volume *v;
    int r = 0;

    for (uint64_t i = 0; i < (is_match ? MATCHES : b->count) && r == 0; i++)
        if (is_match)
            r = volume_index_match(b->index, &b->claims[i], &(struct match_options){ 0 }, &v, err);
        else if (figure == PUT)
            r = volume_index_put(b->index, &b->volumes[i].v, err);
        else
            volume_index_remove(b->index, b->volumes[i].name);
    return r;
}

static int measure_figure(struct bench_match *b, enum figure figure, double *best_ns, struct error *err)
{
    bool is_match = figure != PUT && figure != REMOVE;
    uint64_t start_ns;
    double ns;
    int r;

    if (is_match)
        prepare_claims(b, figure);
    start_ns = clock_thread_cpu_ns();
    r = run_figure(b, figure, err);
    ns = (double)(clock_thread_cpu_ns() - start_ns) / (double)(is_match ? MATCHES : b->count);
    if (r == 0 && (*best_ns == 0 || ns < *best_ns))
        *best_ns = ns;
    return r;
}

static size_t memory_in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static int run_rounds(struct bench_match *b, struct error *err)
{
    int count = b->is_varied ? FIGURES_VARIED : FIGURE_COUNT;
    double best_ns[FIGURE_COUNT] = { 0 };
    size_t before = memory_in_use(), bytes = 0;
    char what[64];
    struct error ignored;
    int r = 0;

    bench_phase(b->is_varied ? "rounds of all sizes" : "rounds", ROUNDS);
    for (int round = 0; round < ROUNDS && r == 0; round++) {
        bench_step((uint64_t)round);
        for (int i = 0; i < count && r == 0; i++) {
            r = measure_figure(b, (enum figure)i, &best_ns[i], err);
            if (round == 0 && i == PUT)
                bytes = memory_in_use() - before;
        }
        (void)run_figure(b, REMOVE, &ignored); /* volumes that the measurement has not removed */
    }
    bench_phase_end();
    if (r < 0)
        return r;
    for (int i = 0; i < count; i++) {
        (void)snprintf(what, sizeof what, "%8" PRIu64 " free: %s%s", b->free_count, figure_names[i],
                       b->is_varied ? ", all sizes" : "");
        bench_print(what, best_ns[i]);
    }
    if (!b->is_varied)
        printf("%8" PRIu64 " free: memory for each %18.0f bytes\n", b->free_count,
               (double)bytes / (double)b->count);
    return 0;
}

/* --- Numbers of volumes --- */

static int run_made(struct bench_match *b, struct error *err)
{
    int r = volume_index_new((struct hash_seed){ 1, 2 }, &b->index, err);

    if (r < 0)
        return r;
    for (uint64_t i = 0; i < b->count; i++)
        make_volume(b, i);
    r = run_rounds(b, err);
    b->index = volume_index_free(b->index);
    return r;
}

static int run_with(struct bench_match *b, uint64_t volumes, struct error *err)
{
    int r = 0;

    b->free_count = volumes;
    b->count = volumes + volumes / KEPT_SHARE + 1;
    b->volumes = calloc(b->count, sizeof *b->volumes);
    if (!b->volumes)
        return error_no_memory(err);
    for (int varied = 0; varied < 2 && r == 0; varied++) {
        b->is_varied = varied;
        r = run_made(b, err);
    }
    free(b->volumes);
    return r;
}

int bench_match(const struct bench_size *size, struct error *err)
{
    struct bench_match b = { .arena = ARENA_INIT(1 << 16) };
    int r = label_selector_parse(STR_LIT("disk=c"), &b.arena, &b.selector, err);

    bench_baseline();
    rng_init(&b.rng, 1);
    b.claims = calloc(MATCHES, sizeof *b.claims);
    b.claim_names = calloc(MATCHES, sizeof *b.claim_names);
    if (r == 0 && (!b.claims || !b.claim_names))
        r = error_no_memory(err);
    for (uint64_t i = 0; i < MATCHES && r == 0; i++) {
        struct claim *c = &b.claims[i];

        init_object(&c->obj, KIND_CLAIM, b.claim_names[i]);
        c->obj.ns = "bench";
        c->obj.uid = b.claim_names[i];
        c->class = c->spec_class = "fast";
        c->volume_name = c->attributes_class = c->current_attributes_class = c->target_attributes_class = "";
        c->modes = ACCESS_RWO;
    }
    for (uint64_t n = SIZES_FIRST; r == 0 && n < size->volumes; n *= 10)
        r = run_with(&b, n, err);
    if (r == 0)
        r = run_with(&b, size->volumes, err);
    free(b.claims);
    free(b.claim_names);
    arena_done(&b.arena);
    return r;
}
