/* Listening sockets, connections to Unix sockets, addresses as text, and options of connections. All
 * sockets are non-blocking and close-on-exec. */
#include "io/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

#define SOCKET_BACKLOG 4096
#define SOCKET_PROBES 3U
#define SOCKET_UNSENT_BYTES_MAX (256U << 10)

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Splits "host:port" and "[host]:port". A port without a host means loopback, ":port" all addresses, as in
 * other servers. */
static bool split_address(const char *address, char *host, size_t room, const char **ret_port)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;
    bool is_bracketed = address[0] == '[';

    if (len == 0 || str_is((struct str){ address, len }, "localhost")) {
        (void)snprintf(host, room, "%s", colon && len == 0 ? "0.0.0.0" : "127.0.0.1");
        *ret_port = colon ? colon + 1 : address;
        return true;
    }
    if (is_bracketed && (len < 2 || address[len - 1] != ']'))
        return false;
    if (is_bracketed) {
        address++;
        len -= 2;
    }
    if (len == 0 || len >= room || (!is_bracketed && memchr(address, ':', len)))
        return false;
    memcpy(host, address, len);
    host[len] = '\0';
    *ret_port = colon + 1;
    return true;
}

static int parse_address(const char *address, union socket_address *ret, socklen_t *ret_len,
                         struct error *err)
{
    const struct addrinfo hints = {
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    char host[SOCKET_ADDRESS_BYTES];
    const char *port = NULL;
    struct addrinfo *found = NULL;
    uint64_t number;

    if (!split_address(address, host, sizeof host, &port) || !str_to_uint64(str_of(port), &number) ||
        number > UINT16_MAX || getaddrinfo(host, port, &hints, &found) != 0)
        return error_set(
            err, ERR_INVALID,
            "cannot listen on %s: expected ADDRESS:PORT, for example 127.0.0.1:7443 or [::1]:7443", address);
    memcpy(ret, found->ai_addr, found->ai_addrlen);
    *ret_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static void format_address(const union socket_address *a, socklen_t len, char *ret)
{
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = "";
    char port[8] = "";

    (void)getnameinfo(&a->any, len, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(ret, SOCKET_ADDRESS_BYTES, a->any.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

int socket_address_read(const char *text, char *ret, struct error *err)
{
    union socket_address a;
    socklen_t len = 0;
    int r = parse_address(text, &a, &len, err);

    if (r == 0)
        format_address(&a, len, ret);
    return r;
}

/* Returns 0 or -errno. */
static int listen_on(int fd, const union socket_address *a, socklen_t len)
{
    const int on = 1;
    const unsigned unsent_max = SOCKET_UNSENT_BYTES_MAX;
    const int only_v6 = a->any.sa_family == AF_INET6 && !IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);

    /* Otherwise a restart would have to wait until the kernel has dropped the connections of the last run. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        return -errno;
    if (a->any.sa_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) < 0)
        return -errno;
    /* Inherited by the connections: data that a client has not read stays with the sender, which can count
     * it, and not in the kernel's buffers, which grow to megabytes. Not supported by older kernels. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_max, sizeof unsent_max);
    if (bind(fd, &a->any, len) < 0 || listen(fd, SOCKET_BACKLOG) < 0)
        return -errno;
    return 0;
}

int socket_listen(const char *address, char *ret_address, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    union socket_address a;
    socklen_t len = 0;
    int r = parse_address(address, &a, &len, err);

    if (r < 0)
        return r;
    fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    r = fd < 0 ? -errno : listen_on(fd, &a, len);
    if (r == -EADDRINUSE)
        return error_set(err, ERR_BUSY, "cannot listen on %s: address already in use", address);
    len = sizeof a;
    if (r == 0 && getsockname(fd, &a.any, &len) < 0)
        r = -errno;
    if (r < 0)
        return error_set_errno(err, -r, "cannot listen on %s", address);
    format_address(&a, len, ret_address);
    *ret_fd = take_fd(&fd);
    return 0;
}

static const unsigned char v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

static struct socket_ip ip_of_v4(const struct in_addr *a)
{
    struct socket_ip ip;

    memcpy(ip.bytes, v4_prefix, sizeof v4_prefix);
    memcpy(ip.bytes + sizeof v4_prefix, a, sizeof *a);
    return ip;
}

bool socket_ip_parse(struct str text, struct socket_ip *ret)
{
    char copy[INET6_ADDRSTRLEN];
    struct in_addr v4;

    if (text.len >= sizeof copy || memchr(text.s, '\0', text.len))
        return false;
    (void)snprintf(copy, sizeof copy, "%.*s", STR_ARG(text));
    if (inet_pton(AF_INET6, copy, ret->bytes) == 1)
        return true;
    if (inet_pton(AF_INET, copy, &v4) != 1)
        return false;
    *ret = ip_of_v4(&v4);
    return true;
}

bool socket_ip_is_loopback(const struct socket_ip *ip)
{
    static const unsigned char v6_loopback[16] = { [15] = 1 };

    if (memcmp(ip->bytes, v4_prefix, sizeof v4_prefix) == 0)
        return ip->bytes[sizeof v4_prefix] == 127;
    return memcmp(ip->bytes, v6_loopback, sizeof v6_loopback) == 0;
}

bool socket_local_ip(int fd, struct socket_ip *ret)
{
    union socket_address a = { .any.sa_family = AF_UNSPEC };
    socklen_t len = sizeof a;

    if (getsockname(fd, &a.any, &len) < 0)
        return false;
    if (a.any.sa_family == AF_INET)
        *ret = ip_of_v4(&a.v4.sin_addr);
    else if (a.any.sa_family == AF_INET6)
        memcpy(ret->bytes, &a.v6.sin6_addr, sizeof ret->bytes);
    return a.any.sa_family == AF_INET || a.any.sa_family == AF_INET6;
}

/* Unix sockets */

/* A path that is too long for a socket address is addressed through a descriptor of its directory, which has
 * a short name in /proc. *ret_dir: that descriptor, to be closed after use. */
static int unix_address(const char *path, struct sockaddr_un *ret, int *ret_dir, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int n;

    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (path[0] == '\0')
        return error_set(err, ERR_INVALID, "the path of the socket is empty");
    if (strlen(path) < sizeof ret->sun_path) {
        memcpy(ret->sun_path, path, strlen(path) + 1);
        return 0;
    }
    if (!slash || strlen(path) >= sizeof dir)
        return error_set(err, ERR_INVALID, "the path '%s' is too long for a socket", path);
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    *ret_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return error_set_errno(err, errno, "cannot open '%s'", dir);
    n = snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d%s", *ret_dir, slash);
    if (n < 0 || (size_t)n >= sizeof ret->sun_path)
        return error_set(err, ERR_INVALID, "the name in '%s' is too long for a socket", path);
    return 0;
}

int socket_connect_unix(const char *path, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int dir = -1, fd = -1;
    struct sockaddr_un address;
    int why, r = unix_address(path, &address, &dir, err);

    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot create a socket");
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        why = errno;
        return error_set(err, why == EAGAIN || why == EINTR ? ERR_BUSY : ERR_UNAVAILABLE,
                         "cannot connect to '%s': %s", path, strerror(why));
    }
    *ret_fd = take_fd(&fd);
    return 0;
}

/* A socket whose process has ended without removing it. */
static bool is_abandoned_socket(const struct sockaddr_un *address)
{
    _cleanup_(fd_closep) int fd = -1;
    struct stat st;

    if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
           errno == ECONNREFUSED;
}

/* Returns 0 or -errno. The mode is set before anyone can connect. */
static int listen_unix_on(int fd, const struct sockaddr_un *address)
{
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return -errno;
    if (chmod(address->sun_path, S_IRUSR | S_IWUSR) < 0 || listen(fd, SOCKET_BACKLOG) < 0) {
        int why = errno;

        (void)unlink(address->sun_path); /* ours, and of no use */
        return -why;
    }
    return 0;
}

int socket_listen_unix(const char *path, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int dir = -1, fd = -1;
    struct sockaddr_un address;
    int r = unix_address(path, &address, &dir, err);

    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    r = fd < 0 ? -errno : listen_unix_on(fd, &address);
    if (r == -EADDRINUSE && is_abandoned_socket(&address) && unlink(address.sun_path) == 0)
        r = listen_unix_on(fd, &address);
    if (r == -EADDRINUSE)
        return error_set(err, ERR_BUSY, "cannot listen on '%s': the path is in use", path);
    if (r < 0)
        return error_set_errno(err, -r, "cannot listen on '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

int socket_accept(int listener, int *ret_fd, struct error *err)
{
    struct sockaddr_storage peer; /* not used */
    socklen_t len = sizeof peer;
    int fd = accept4(listener, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
        return error_set(err, ERR_BUSY, "no connection is waiting");
    if (fd < 0)
        return error_set_errno(err, errno, "cannot accept a connection");
    *ret_fd = fd;
    return 0;
}

struct socket_id socket_id_of(const struct stat *st)
{
    return (struct socket_id){ st->st_dev, st->st_ino,
                               (int64_t)st->st_mtim.tv_sec * (int64_t)NS_PER_S + st->st_mtim.tv_nsec };
}

bool socket_identify(const char *path, struct socket_id *ret)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return false;
    *ret = socket_id_of(&st);
    return true;
}

/* Reading and writing */

ssize_t socket_read(int fd, void *to, size_t len)
{
    return recv(fd, to, len, MSG_DONTWAIT);
}

ssize_t socket_write(int fd, const void *from, size_t len)
{
    return send(fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void socket_end(int fd)
{
    (void)shutdown(fd, SHUT_RDWR); /* fails when the peer was faster */
}

void socket_abort(int fd)
{
    const struct linger none = { .l_onoff = 1, .l_linger = 0 };

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none,
                     sizeof none); /* otherwise the kernel keeps it for a while */
    socket_end(fd);
}

uint64_t socket_acked_bytes(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
        return 0;
    return info.tcpi_bytes_acked;
}

/* Fails only for sockets that are not TCP. */
static void set_option(int fd, int level, int option, unsigned value)
{
    int v = (int)value;

    (void)setsockopt(fd, level, option, &v, sizeof v);
}

void socket_set_keepalive(int fd, unsigned idle_s, unsigned interval_s)
{
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, SOCKET_PROBES);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (idle_s + SOCKET_PROBES * interval_s) * 1000);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

size_t socket_raise_fd_limit(size_t count)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (limit.rlim_cur < count) {
        struct rlimit raised = limit;
        raised.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    return (size_t)limit.rlim_cur;
}
