/* SHA-256 digests with GnuTLS, as lowercase hex. O(length). */
#include "io/digest.h"

#include <stdint.h>

#include <gnutls/crypto.h>

#define SHA256_BYTES 32

int sha256_hex(struct str text, char ret[SHA256_HEX_BYTES], struct error *err)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t sum[SHA256_BYTES];

    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text.s, text.len, sum) < 0)
        return error_set(err, ERR_INTERNAL, "cannot compute a SHA-256 digest");
    for (size_t i = 0; i < sizeof sum; i++) {
        ret[2 * i] = digits[sum[i] >> 4];
        ret[2 * i + 1] = digits[sum[i] & 15];
    }
    ret[SHA256_HEX_BYTES - 1] = '\0';
    return 0;
}
