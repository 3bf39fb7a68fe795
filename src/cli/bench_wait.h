/* Waiting for the work of a benchmark, and what it has cost by now. */
#ifndef BERTH_CLI_BENCH_WAIT_H
#define BERTH_CLI_BENCH_WAIT_H

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

/* Turns the loop until *done is count; ERR_TIMEOUT when it does not grow for 20 seconds: then something was
 * forgotten. what: "claims were bound". */
int bench_await(struct loop *l, const struct clock *clock, const uint64_t *done, uint64_t count,
                const char *what, struct error *err);

#endif
