/* Values that the server generates: uids, resource versions, suffixes of generated names.
 *
 * The caller passes random bytes, so that a simulated control plane generates the same names from the same
 * seed. */
#ifndef BERTH_API_UID_H
#define BERTH_API_UID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

#define UID_BYTES 37 /* with the NUL */
#define UID_RANDOM_BYTES 16

/* A version 4 UUID in lower case, from 16 random bytes (six bits are replaced). */
void uid_make(const uint8_t random[UID_RANDOM_BYTES], char ret[UID_BYTES]);

/* True for eight-four-four-four-twelve hexadecimal digits, any version. */
bool uid_is_valid(struct str uid);

/* A resourceVersion parameter: RESOURCE_VERSION_UNSET for "", 0 ("any") for "0", else a positive revision.
 * Anything else is ERR_BAD_REQUEST. */
#define RESOURCE_VERSION_UNSET (-1)
int resource_version_parse(struct str text, int64_t *ret, struct error *err);

#define RESOURCE_VERSION_BYTES 20
/* A revision as text; it is positive. */
void resource_version_format(int64_t revision, char ret[RESOURCE_VERSION_BYTES]);

#define NAME_SUFFIX_CHARS 5
#define GENERATED_NAME_BYTES 64 /* 58 of the prefix, the suffix, the NUL */

/* The prefix, cut to 58 bytes, and five characters from an alphabet without vowels and similar characters.
 * random is any 64-bit random number; all 14 million suffixes have the same probability, except for one part
 * in 2^40. */
void generate_name(struct str prefix, uint64_t random, char ret[GENERATED_NAME_BYTES]);

#endif
