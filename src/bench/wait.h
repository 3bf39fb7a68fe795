/* Waiting for the work of a benchmark, how far it is, and what it has cost by now. */
#ifndef BERTH_BENCH_WAIT_H
#define BERTH_BENCH_WAIT_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "io/loop.h"

struct spent {
    uint64_t ns;
    uint64_t loop_ns; /* of a processor */
    double all_seconds;
    uint64_t resident_bytes;
};

/* To be asked on the loop's thread. */
struct spent spent_now(const struct clock *clock);

/* Who shows how far a benchmark is: the verb, on its terminal. There is one benchmark in a process. */
struct bench_progress {
    void (*begin)(const char *what);
    void (*step)(uint64_t done, uint64_t total);
    void (*end)(void);
};
/* Before the benchmark begins; without it nothing is shown. */
void bench_show_progress(const struct bench_progress *p);

/* What is being done and how much of it: one thing at a time. total 0: nobody knows how much there is. A step
 * costs a look at the clock. What came of it is in the table, so nothing is summed up. */
void bench_phase(const char *what, uint64_t total);
void bench_step(uint64_t done);
void bench_phase_end(void);

/* Turns the loop until *done is count; ERR_TIMEOUT when it does not grow for 20 seconds: then something was
 * forgotten. what: "claims were bound". */
int bench_await(struct loop *l, const struct clock *clock, const uint64_t *done, uint64_t count,
                const char *what, struct error *err);

#endif
