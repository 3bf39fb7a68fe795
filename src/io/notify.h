/* Reports the state of this process to its service manager: the datagrams of systemd's Type=notify. Needs no
 * library, and works without a service manager. */
#ifndef BERTH_IO_NOTIFY_H
#define BERTH_IO_NOTIFY_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct notify;

/* Reads $NOTIFY_SOCKET, a path or "@" and an abstract name. *ret is NULL and the result 0 when it is not set.
 * ERR_INVALID for an address that is neither. */
int notify_open(struct notify **ret, struct error *err);
/* Sends nothing. Takes NULL. */
struct notify *notify_free(struct notify *n);
DEFINE_CLEANUP(struct notify, notify_free)

/* How long the service manager waits for a keep-alive before it ends this process, from $WATCHDOG_USEC; 0: no
 * limit. */
uint64_t notify_watchdog_ns(const struct notify *n);

/* Lines of NAME=value. Never blocks: ERR_UNAVAILABLE when the socket has no reader or its queue is full; send
 * again later. */
int notify_send(const struct notify *n, const char *lines, struct error *err);

#endif
