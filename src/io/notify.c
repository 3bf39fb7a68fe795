/* The sd_notify() protocol without its library: one datagram per message, never blocking. */
#include "io/notify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "io/env.h"
#include "io/file.h"

struct notify {
    int fd;
    struct sockaddr_un address;
    socklen_t address_len;
    uint64_t watchdog_ns;
};

/* An abstract name begins with a NUL byte and its length is explicit; a path is a C string. */
static int parse_address(const char *name, struct notify *n, struct error *err)
{
    size_t len = strlen(name);

    if ((name[0] != '/' && name[0] != '@') || len < 2)
        return error_set(err, ERR_INVALID, "NOTIFY_SOCKET=%s: neither an absolute path nor @NAME", name);
    if (len >= sizeof n->address.sun_path)
        return error_set(err, ERR_INVALID, "NOTIFY_SOCKET=%s: too long for a socket", name);
    n->address.sun_family = AF_UNIX;
    memcpy(n->address.sun_path, name, len + 1);
    n->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    if (name[0] == '@') {
        n->address.sun_path[0] = '\0';
        n->address_len--;
    }
    return 0;
}

/* The variables may have been inherited from a parent; WATCHDOG_PID is the process that they are for. */
static uint64_t read_watchdog_ns(void)
{
    const char *usec = io_env("WATCHDOG_USEC"), *pid = io_env("WATCHDOG_PID");
    uint64_t us, who;

    if (!usec || !str_to_uint64(str_of(usec), &us) || us > UINT64_MAX / NS_PER_US)
        return 0;
    if (pid && (!str_to_uint64(str_of(pid), &who) || who != (uint64_t)getpid()))
        return 0;
    return us * NS_PER_US;
}

int notify_open(struct notify **ret, struct error *err)
{
    const char *name = io_env("NOTIFY_SOCKET");
    struct notify made = { .watchdog_ns = read_watchdog_ns() }, *n;
    int fd, r;

    if (!name) {
        *ret = NULL;
        return 0;
    }
    r = parse_address(name, &made, err);
    if (r < 0)
        return r;
    n = malloc(sizeof *n);
    if (!n)
        return error_no_memory(err);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        int why = errno;
        free(n);
        return error_set_errno(err, why, "cannot create a socket");
    }
    *n = made;
    n->fd = fd;
    *ret = n;
    return 0;
}

struct notify *notify_free(struct notify *n)
{
    if (!n)
        return NULL;
    fd_closep(&n->fd);
    free(n);
    return NULL;
}

uint64_t notify_watchdog_ns(const struct notify *n)
{
    return n->watchdog_ns;
}

int notify_send(const struct notify *n, const char *lines, struct error *err)
{
    const struct sockaddr *to = (const struct sockaddr *)&n->address;
    ssize_t sent;

    do
        sent = sendto(n->fd, lines, strlen(lines), MSG_NOSIGNAL, to, n->address_len);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        int why = errno;
        return error_set(err, ERR_UNAVAILABLE, "cannot send to NOTIFY_SOCKET: %s", strerror(why));
    }
    return 0;
}
