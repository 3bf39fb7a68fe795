/* Random numbers that can be repeated: the same seed gives the same numbers on every machine.
 *
 * xoshiro256**, seeded through splitmix64. For simulation, jitter and tests; never for secrets: the next
 * numbers can be computed from a few earlier ones. Each concern (delays, faults, names) has its own
 * generator, forked by name, so that an extra draw in one does not shift the others. */
#ifndef BERTH_BASE_RNG_H
#define BERTH_BASE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[4]; /* not all zero */
};

void rng_init(struct rng *r, uint64_t seed);

/* A generator for one concern. It depends on the name and on the state of `parent`, which does not change:
 * forks with different names are independent; a second fork with the same name from the same state repeats
 * the first. */
void rng_fork(const struct rng *parent, const char *concern, struct rng *ret);

uint64_t rng_u64(struct rng *r);

/* 0 to n - 1, each equally likely; n is not 0. */
uint64_t rng_below(struct rng *r, uint64_t n);

/* True in `percent` of 100 cases: never for 0, always for 100. */
bool rng_chance(struct rng *r, unsigned percent);

void rng_bytes(struct rng *r, void *ret, size_t len);

#endif
