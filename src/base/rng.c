/* xoshiro256** and splitmix64. Pure integer arithmetic, so that the same seed gives the same numbers
 * everywhere: a simulated run is repeated from its seed. Every draw is O(1). */
#include "base/rng.h"

#include <assert.h>

#include "base/siphash.h"

/* splitmix64: advances *state by a fixed step and mixes its bits. */
static uint64_t rng_splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void rng_init(struct rng *r, uint64_t seed)
{
    /* Four outputs in a row differ, so they are not all zero. */
    for (size_t i = 0; i < 4; i++)
        r->s[i] = rng_splitmix(&seed);
}

void rng_fork(const struct rng *parent, const char *concern, struct rng *ret)
{
    struct str name = str_of(concern);
    uint64_t low = siphash_hash((struct hash_seed){ parent->s[0], parent->s[1] }, name);
    uint64_t high = siphash_hash((struct hash_seed){ parent->s[2], parent->s[3] }, name);

    rng_init(ret, low ^ high);
}

static uint64_t rng_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rng_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotate(s[3], 45);
    return result;
}

/* Draws as many bits as n - 1 has until the number fits: fewer than two draws on average, and no bias. */
uint64_t rng_below(struct rng *r, uint64_t n)
{
    uint64_t mask, drawn;

    assert(n > 0);
    mask = n > 1 ? UINT64_MAX >> __builtin_clzll(n - 1) : 0;
    do
        drawn = rng_u64(r) & mask;
    while (drawn >= n);
    return drawn;
}

bool rng_chance(struct rng *r, unsigned percent)
{
    assert(percent <= 100);
    return rng_below(r, 100) < percent;
}

/* Byte by byte, the lowest first, so that the result does not depend on the machine's byte order. */
void rng_bytes(struct rng *r, void *ret, size_t len)
{
    unsigned char *at = ret;
    uint64_t drawn = 0;

    for (size_t i = 0; i < len; i++) {
        if (i % 8 == 0)
            drawn = rng_u64(r);
        at[i] = (unsigned char)(drawn >> (i % 8 * 8));
    }
}
