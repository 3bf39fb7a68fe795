/* SipHash-1-3: a keyed hash for tables whose keys come from outside.
 *
 * Keys that collide cannot be chosen without the seed. The result is the same on every machine. Not a message
 * authentication code: that needs more rounds. */
#ifndef BERTH_BASE_SIPHASH_H
#define BERTH_BASE_SIPHASH_H

#include <stdint.h>

#include "base/str.h"

struct hash_seed {
    uint64_t k0;
    uint64_t k1;
};

uint64_t siphash_hash(struct hash_seed seed, struct str text);

#endif
