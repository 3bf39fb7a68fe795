/* `berth bench bind`: claims that the controllers bind to volumes, on the SQLite store.
 *
 * Server, store and controllers share this process, as in `berth serve`. A backlog exists before the
 * controllers start; a burst creates BURST_PER_S pairs per second while they run. Rows with "behind" have
 * BACKGROUND released and as many bound volumes in addition to the pairs, in caches and queues like any
 * other.
 *
 *   binds/s   from the start until the last claim is Bound
 *   p50, p99  of a burst: from the request for the claim until it is Bound, on disk
 *   CPU       of the loop's thread and of the whole process, until the controllers are idle
 *   writes    of the controllers, per pair */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/bench_wait.h"
#include "bench/pairs.h"
#include "io/clock.h"

#define BACKGROUND 50000
#define BURST_PER_S UINT64_C(1000)
#define BURST_SECONDS UINT64_C(10)
/* Requests in flight while a backlog is created. */
#define CREATES_IN_FLIGHT 512

struct row {
    const char *what;
    enum pairs_way way;
    bool is_burst;
    bool is_behind;
};

static const struct row rows[] = {
    { "backlog", PAIRS_READY, false, false },
    { "backlog, pre-bound", PAIRS_RESERVED, false, false },
    { "burst of 1,000/s", PAIRS_FREE, true, false },
    { "backlog, behind", PAIRS_READY, false, true },
    { "backlog, pre-bound, behind", PAIRS_RESERVED, false, true },
    { "burst of 1,000/s, behind", PAIRS_FREE, true, true },
};

/* --- Time --- */

static int cmp_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* --- Backlog and burst --- */

static void on_tick(void *ctx)
{
    (void)ctx; /* the timer only wakes the loop */
}

static void await_bound(struct pairs *p)
{
    if (p->r == 0)
        p->r = bench_await(p->loop, p->clock, &p->bound, p->count, "claims bound", &p->err);
}

static void make_backlog(struct pairs *p, enum pairs_way way)
{
    bench_phase("creating pairs", p->count);
    for (uint64_t n = 0; n < p->count && p->r == 0; n++) {
        pairs_create(p, n, way);
        pairs_await_answers(p, CREATES_IN_FLIGHT);
        bench_step(n);
    }
    pairs_await_answers(p, 0);
    bench_phase_end();
}

static void run_burst(struct pairs *p, enum pairs_way way)
{
    uint64_t start_ns = clock_mono_ns(p->clock);
    struct timer tick;

    timer_init(&tick, p->loop, on_tick, /* ctx= */ NULL);
    for (uint64_t n = 0; n < p->count && p->r == 0;) {
        uint64_t due = (clock_mono_ns(p->clock) - start_ns) * BURST_PER_S / NS_PER_S;

        while (n < due && n < p->count)
            pairs_create(p, n++, way);
        timer_arm_after(&tick, NS_PER_MS);
        loop_run_once(p->loop);
    }
    timer_disarm(&tick);
    await_bound(p);
}

/* --- The table --- */

static double count_per_pair(const struct pairs *p, uint64_t count)
{
    return (double)count / (double)p->count;
}

static void print_speed(const struct row *row, struct pairs *p, uint64_t ns)
{
    uint64_t median, late;

    printf("%-28s %7" PRIu64 " pairs %8.0f binds/s", row->what, p->count,
           (double)p->count * (double)NS_PER_S / (double)ns);
    if (!row->is_burst) {
        printf("   %29s", "");
        return;
    }
    for (uint64_t i = 0; i < p->count; i++)
        p->bound_ns[i] -= p->asked_ns[i];
    qsort(p->bound_ns, p->count, sizeof *p->bound_ns, cmp_ns);
    median = p->bound_ns[p->count / 2];
    late = p->bound_ns[p->count * 99 / 100];
    printf("   p50 %7.1f ms, p99 %7.1f ms", (double)median / (double)NS_PER_MS,
           (double)late / (double)NS_PER_MS);
}

static void print_cost(const struct pairs *p, struct spent from, struct spent to)
{
    const struct pairs_counts *n = &p->carrier.counts;

    printf("   CPU %5.2f s on the loop, %5.2f s in all   %4.0f MB\n",
           (double)(to.loop_ns - from.loop_ns) / (double)NS_PER_S, to.all_seconds - from.all_seconds,
           (double)to.resident_bytes / 1e6);
    printf("%-28s %.2f patches of volumes, %.2f of claims; %.2f others, %.2f events, %.2f reads; %" PRIu64
           " refused\n",
           "", count_per_pair(p, n->volume_patches), count_per_pair(p, n->claim_patches),
           count_per_pair(p, n->other_patches), count_per_pair(p, n->events), count_per_pair(p, n->reads),
           n->refused);
}

static void time_row(const struct row *row, struct pairs *p)
{
    struct spent from;
    uint64_t ns;

    pairs_open_components(p);
    if (p->r < 0)
        return;
    from = spent_now(p->clock);
    pairs_start(p);
    while (row->is_burst && loop_poll(p->loop))
        ; /* counts from before the start are not measured */
    if (row->is_burst)
        run_burst(p, row->way);
    else
        await_bound(p);
    ns = clock_mono_ns(p->clock) - from.ns;
    pairs_settle(p);
    if (p->r < 0)
        return;
    print_speed(row, p, ns);
    print_cost(p, from, spent_now(p->clock));
}

static int run_row(const struct row *row, uint64_t pairs, struct error *err)
{
    struct pairs *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return error_no_memory(err);
    p->clock = clock_system();
    p->parts = DAEMON_CONTROLLERS;
    p->count = row->is_burst && pairs > BURST_PER_S * BURST_SECONDS ? BURST_PER_S * BURST_SECONDS : pairs;
    if (pairs_open(p) == 0 && row->is_behind)
        pairs_add_background(p, BACKGROUND, BACKGROUND);
    if (p->r == 0 && !row->is_burst)
        make_backlog(p, row->way);
    if (p->r == 0)
        time_row(row, p);
    r = pairs_close(p, err);
    free(p);
    return r;
}

int bench_bind(const struct bench_size *size, struct error *err)
{
    int r = 0;

    bench_baseline();
    for (size_t i = 0; i < ARRAY_LEN(rows) && r == 0; i++)
        r = run_row(&rows[i], size->volumes, err);
    return r;
}
