/* The name of the Node resource with the volume limit of a FlexVolume driver. Pure. Long names get a digest,
 * so that different drivers have different resources. */
#include "api/volume_limit.h"

#include <stdio.h>
#include <string.h>

#include "io/digest.h"

#define KEPT_CHARS 23
#define DIGEST_CHARS 16

int volume_limit_key(const char *driver, char ret[VOLUME_LIMIT_KEY_BYTES], struct error *err)
{
    char digest[SHA256_HEX_BYTES];
    int r = 0;

    if (strlen(VOLUME_LIMIT_PREFIX) + strlen(driver) < VOLUME_LIMIT_KEY_BYTES) {
        (void)snprintf(ret, VOLUME_LIMIT_KEY_BYTES, VOLUME_LIMIT_PREFIX "%s", driver);
    } else {
        r = sha256_hex(str_of(driver), digest, err);
        if (r < 0)
            return r;
        (void)snprintf(ret, VOLUME_LIMIT_KEY_BYTES, VOLUME_LIMIT_PREFIX "%.*s%.*s", KEPT_CHARS, driver,
                       DIGEST_CHARS, digest);
    }
    for (char *c = ret; *c; c++)
        if (*c == '/')
            *c = '_';
    return 0;
}
