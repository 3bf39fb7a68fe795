/* Digests of texts. */
#ifndef BERTH_IO_DIGEST_H
#define BERTH_IO_DIGEST_H

#include "base/error.h"
#include "base/str.h"

#define SHA256_HEX_BYTES 65 /* with the NUL */

/* SHA-256 in lowercase hex. */
int sha256_hex(struct str text, char ret[SHA256_HEX_BYTES], struct error *err);

#endif
