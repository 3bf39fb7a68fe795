/* SHA-256 as text, for names that others must find again. */
#ifndef BERTH_IO_DIGEST_H
#define BERTH_IO_DIGEST_H

#include "base/error.h"
#include "base/str.h"

#define DIGEST_HEX_BYTES 65

/* 64 small hexadecimal digits and their end. Fails without memory alone. */
int digest_sha256_hex(struct str text, char ret[DIGEST_HEX_BYTES], struct error *err);

#endif
