/* Runs the loop until the work of a benchmark is done, reports its progress, and measures CPU time and
 * memory. */
#include "bench/bench_wait.h"

#include <inttypes.h>

#include "io/clock.h"
#include "io/proc_self.h"

#define PATIENCE_NS (20 * NS_PER_S)

struct spent spent_now(const struct clock *clock)
{
    struct proc_stat s = { 0 };
    struct error err;

    (void)proc_self_stat(&s, &err); /* without /proc the table shows zeroes */
    return (struct spent){ clock_mono_ns(clock), clock_thread_cpu_ns(), s.cpu_seconds, s.resident_bytes };
}

/* --- Progress --- */

static struct bench_progress shown;
static uint64_t phase_total;

void bench_show_progress(const struct bench_progress *p)
{
    shown = *p;
}

void bench_phase(const char *what, uint64_t total)
{
    phase_total = total;
    if (shown.begin)
        shown.begin(what);
}

void bench_step(uint64_t done)
{
    if (shown.step)
        shown.step(done, phase_total);
}

void bench_phase_end(void)
{
    if (shown.end)
        shown.end();
}

/* --- Waiting --- */

static void on_tick(void *ctx)
{
    (void)ctx; /* the timer only wakes the loop */
}

int bench_await(struct loop *l, const struct clock *clock, const uint64_t *done, uint64_t count,
                const char *what, struct error *err)
{
    uint64_t before = *done, until_ns = clock_mono_ns(clock) + PATIENCE_NS;
    struct timer tick;
    int r = 0;

    timer_init(&tick, l, on_tick, /* ctx= */ NULL);
    bench_phase(what, count);
    while (*done < count && r == 0) {
        uint64_t now_ns = clock_mono_ns(clock);

        if (*done > before) {
            before = *done;
            until_ns = now_ns + PATIENCE_NS;
        }
        if (now_ns > until_ns)
            r = error_set(err, ERR_TIMEOUT, "only %" PRIu64 " of %" PRIu64 " %s", *done, count, what);
        timer_arm(&tick, until_ns);
        loop_run_once(l);
        bench_step(*done);
    }
    bench_phase_end();
    timer_disarm(&tick);
    return r;
}
