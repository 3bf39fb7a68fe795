#include "io/unix_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "io/clock.h"
#include "io/file.h"

/* A socket deep in the tree has a longer path than its address has room for: then the way goes through its
 * directory's descriptor, which the kernel shows under a short name. */
static int address_of(const char *path, struct sockaddr_un *ret, int *ret_dir, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int n;

    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (path[0] == '\0')
        return error_set(err, ERR_INVALID, "an empty path is no socket");
    if (strlen(path) < sizeof ret->sun_path) {
        memcpy(ret->sun_path, path, strlen(path) + 1);
        return 0;
    }
    if (!slash || strlen(path) >= sizeof dir)
        return error_set(err, ERR_INVALID, "'%s' is too long a path for a socket", path);
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    *ret_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return error_set_errno(err, errno, "cannot open '%s'", dir);
    n = snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d%s", *ret_dir, slash);
    if (n < 0 || (size_t)n >= sizeof ret->sun_path)
        return error_set(err, ERR_INVALID, "'%s' has too long a name for a socket", path);
    return 0;
}

/* Whether the waiting must end. */
static int check(const struct unix_stream *s, struct error *err)
{
    if (s->stop && atomic_load(s->stop) != 0)
        return error_set(err, ERR_CANCELLED, "stopped");
    if (clock_mono_ns(clock_system()) >= s->until_ns)
        return error_set(err, ERR_TIMEOUT, "no answer in time");
    return 0;
}

/* How long the kernel may wait before the next look. */
static int look_ms(const struct unix_stream *s)
{
    uint64_t now = clock_mono_ns(clock_system());
    uint64_t left_ms = now < s->until_ns ? (s->until_ns - now) / NS_PER_MS + 1 : 0;

    return left_ms < UNIX_STREAM_LOOK_MS ? (int)left_ms : UNIX_STREAM_LOOK_MS;
}

/* A socket whose queue is full says so at once, and tells nobody when there is room. */
static int connect_until(const struct unix_stream *s, const struct sockaddr_un *a, const char *path,
                         struct error *err)
{
    int r;

    while (connect(s->fd, (const struct sockaddr *)a, sizeof *a) < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            int why = errno;
            return error_set(err, ERR_UNAVAILABLE, "cannot connect to '%s': %s", path, strerror(why));
        }
        r = check(s, err);
        if (r < 0)
            return error_wrap(err, "cannot connect to '%s'", path);
        (void)poll(NULL, 0, look_ms(s));
    }
    return 0;
}

int unix_stream_open(const char *path, uint64_t limit_ns, const atomic_int *stop, struct unix_stream *ret,
                     struct error *err)
{
    _cleanup_(closep) int dir = -1, fd = -1;
    struct unix_stream s = { .stop = stop };
    struct sockaddr_un address;
    int r = address_of(path, &address, &dir, err);

    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot make a socket");
    s.fd = fd;
    s.until_ns = clock_mono_ns(clock_system()) + limit_ns;
    r = connect_until(&s, &address, path, err);
    if (r < 0)
        return r;
    (void)take_fd(&fd);
    *ret = s;
    return 0;
}

void unix_stream_close(struct unix_stream *s)
{
    closep(&s->fd);
    s->fd = -1;
}

int unix_stream_wait(const struct unix_stream *s, bool wants_room, bool *ret_has_bytes, bool *ret_has_room,
                     struct error *err)
{
    struct pollfd p = { .fd = s->fd, .events = (short)(POLLIN | (wants_room ? POLLOUT : 0)) };
    int r, n;

    do {
        r = check(s, err);
        if (r < 0)
            return r;
        n = poll(&p, 1, look_ms(s));
        if (n < 0 && errno != EINTR)
            return error_set_errno(err, errno, "cannot wait for a socket");
    } while (n <= 0);
    *ret_has_bytes = p.revents & (POLLIN | POLLHUP | POLLERR);
    *ret_has_room = p.revents & POLLOUT;
    return 0;
}

int unix_stream_read(const struct unix_stream *s, void *data, size_t len, size_t *ret, bool *ret_is_empty,
                     struct error *err)
{
    ssize_t n = recv(s->fd, data, len, 0);

    *ret_is_empty = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (n < 0 && !*ret_is_empty)
        return error_set_errno(err, errno, "cannot read from the socket");
    *ret = n < 0 ? 0 : (size_t)n;
    return 0;
}

int unix_stream_write(const struct unix_stream *s, const void *data, size_t len, size_t *ret,
                      struct error *err)
{
    ssize_t n = send(s->fd, data, len, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return error_set_errno(err, errno, "cannot write to the socket");
    *ret = n < 0 ? 0 : (size_t)n;
    return 0;
}
