/* A text, compressed piece by piece as it is sent: a long answer holds up nobody while it is packed.
 *
 * Fast rather than small (level 1): a list of objects still shrinks to a tenth. Costs 260 KiB while it lasts,
 * and about a millisecond for 100 KiB of text. */
#ifndef BERTH_APISERVER_GZIP_H
#define BERTH_APISERVER_GZIP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct gzip;

/* True when a value of Accept-Encoding allows gzip. */
bool gzip_is_accepted(struct str accept_encoding);

/* Takes text, which came from malloc, on failure too. */
int gzip_new_take(char *text, size_t len, struct gzip **ret, struct error *err);
struct gzip *gzip_free(struct gzip *z);
DEFINE_CLEANUP(struct gzip, gzip_free)

/* The next piece of the compressed text, 1 to room bytes; -1 at the end. room is at least one. */
ssize_t gzip_pull(struct gzip *z, char *to, size_t room);

#endif
