/* SipHash-1-3: a keyed hash for tables whose keys come from outside.
 *
 * Who does not know the seed cannot choose keys that collide. The result is the same on every machine. No
 * message authentication code: that would want more rounds. */
#ifndef BERTH_BASE_SIPHASH_H
#define BERTH_BASE_SIPHASH_H

#include <stdint.h>

#include "base/str.h"

struct hash_seed {
    uint64_t k0;
    uint64_t k1;
};

uint64_t siphash13(struct hash_seed seed, struct str text);

#endif
