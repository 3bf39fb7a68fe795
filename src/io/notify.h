/* Tells whoever watches over this process how it is: the datagrams that systemd's Type=notify reads, and
 * whoever speaks its language. No library is needed for it, and nobody has to listen. */
#ifndef BERTH_IO_NOTIFY_H
#define BERTH_IO_NOTIFY_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct notify;

/* By $NOTIFY_SOCKET, a path or "@" and an abstract name. *ret is NULL, and all is well, when nobody wants to
 * know. ERR_INVALID for an address that is neither. */
int notify_open(struct notify **ret, struct error *err);
/* Says nothing. Takes NULL. */
struct notify *notify_free(struct notify *n);
DEFINE_CLEANUP(struct notify, notify_free)

/* How long the watcher waits for a sign of life before it ends this process, by $WATCHDOG_USEC; 0: for ever.
 */
uint64_t notify_watchdog_ns(const struct notify *n);

/* Lines of NAME=value. Never waits: ERR_UNAVAILABLE when nobody listens there, or is too far behind; tell
 * them again later. */
int notify_send(const struct notify *n, const char *lines, struct error *err);

#endif
