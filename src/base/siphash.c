/* SipHash-1-3: one round per word of text, three at the end. O(length); nothing is allocated. */
#include "base/siphash.h"

#define SIPHASH_WORD_BYTES 8

struct siphash_state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t siphash_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void siphash_round(struct siphash_state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
    s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
    s->v0 = siphash_rotate(s->v0, 32);

    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
    s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
    s->v2 = siphash_rotate(s->v2, 32);
}

/* One round per word of text. */
static inline void siphash_absorb(struct siphash_state *s, uint64_t word)
{
    s->v3 ^= word;
    siphash_round(s);
    s->v0 ^= word;
}

/* Little-endian on every machine; compilers turn it into one load. */
static inline uint64_t siphash_word(const unsigned char *at, size_t len)
{
    uint64_t word = 0;

    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

uint64_t siphash_hash(struct hash_seed seed, struct str text)
{
    /* The initial state is the seed over the ASCII of "somepseudorandomlygeneratedbytes". */
    struct siphash_state s = {
        seed.k0 ^ 0x736f6d6570736575,
        seed.k1 ^ 0x646f72616e646f6d,
        seed.k0 ^ 0x6c7967656e657261,
        seed.k1 ^ 0x7465646279746573,
    };
    const unsigned char *at = (const unsigned char *)text.s;
    size_t tail = text.len % SIPHASH_WORD_BYTES;

    for (size_t i = 0; i < text.len - tail; i += SIPHASH_WORD_BYTES)
        siphash_absorb(&s, siphash_word(at + i, SIPHASH_WORD_BYTES));
    /* The last word holds the remaining bytes and the length, so that a text and the same text padded with
     * zeroes differ. */
    uint64_t last = tail ? siphash_word(at + text.len - tail, tail) : 0;
    siphash_absorb(&s, last | (uint64_t)text.len << 56);
    s.v2 ^= 0xff;
    siphash_round(&s);
    siphash_round(&s);
    siphash_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
