/* Waiting for the work of a benchmark, its progress, and its cost so far. */
#ifndef BERTH_BENCH_BENCH_WAIT_H
#define BERTH_BENCH_BENCH_WAIT_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "io/loop.h"

struct spent {
    uint64_t ns;
    uint64_t loop_ns; /* CPU time */
    double all_seconds;
    uint64_t resident_bytes;
};

/* Must be called on the loop's thread. */
struct spent spent_now(const struct clock *clock);

/* Shows the progress of a benchmark: the verb does, on its terminal. A process runs one benchmark. */
struct bench_progress {
    void (*begin)(const char *what);
    void (*step)(uint64_t done, uint64_t total);
    void (*end)(void);
};
/* To be called before the benchmark begins; without it no progress is shown. */
void bench_show_progress(const struct bench_progress *p);

/* The current phase and its number of steps: one phase at a time. total 0: unknown. A step costs a read of
 * the clock. The end of a phase prints nothing: the results are in the table. */
void bench_phase(const char *what, uint64_t total);
void bench_step(uint64_t done);
void bench_phase_end(void);

/* Runs the loop until *done is count; ERR_TIMEOUT when it does not grow for 20 seconds. what: "claims bound".
 */
int bench_await(struct loop *l, const struct clock *clock, const uint64_t *done, uint64_t count,
                const char *what, struct error *err);

#endif
