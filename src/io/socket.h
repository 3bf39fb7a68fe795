/* Sockets that libraries read and write: listening, connecting, and ending connections. */
#ifndef BERTH_IO_SOCKET_H
#define BERTH_IO_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"
#include "io/file.h"

/* "[", an IPv6 address with its zone, "]:", a port. */
#define SOCKET_ADDRESS_BYTES 80

/* Normalises an address to listen on: "127.0.0.1:7443" and "[::1]:7443" stay, "7443" and "localhost:7443"
 * mean loopback, ":7443" all IPv4 addresses. ret has SOCKET_ADDRESS_BYTES. ERR_INVALID with an example. */
int socket_address_read(const char *text, char *ret, struct error *err);

/* A non-blocking TCP socket that listens on such an address. Resolves no names except localhost; port 0 means
 * any free port. An IPv6 address accepts only IPv6, except "[::]", which accepts both. ret_address, of
 * SOCKET_ADDRESS_BYTES, receives the actual address, in the same form. Errors name the address. */
int socket_listen(const char *address, char *ret_address, int *ret_fd, struct error *err);

/* A non-blocking connection to the Unix socket at path, which may be longer than a socket address allows.
 * ERR_BUSY: the queue of connections is full, and there is no event when it has room. ERR_UNAVAILABLE: no
 * process listens there. */
int socket_connect_unix(const char *path, int *ret_fd, struct error *err);

/* A non-blocking Unix socket that listens at path, which may be longer than a socket address allows. Only
 * this user may connect (mode 0600). Replaces a socket that no process listens on, and nothing else.
 * ERR_BUSY: the path is in use. The file is not removed when the descriptor is closed. */
int socket_listen_unix(const char *path, int *ret_fd, struct error *err);
/* The next connection, non-blocking. ERR_BUSY: none is waiting. */
int socket_accept(int listener, int *ret_fd, struct error *err);

/* The identity of the socket at a path: a socket that replaces it has another identity. A later chmod() does
 * not change it. */
struct socket_id {
    uint64_t device;
    uint64_t inode;
    int64_t made_ns;
};

struct stat;
struct socket_id socket_id_of(const struct stat *st);
/* False when there is no socket. */
bool socket_identify(const char *path, struct socket_id *ret);

static inline bool socket_id_is_same(const struct socket_id *a, const struct socket_id *b)
{
    return a->device == b->device && a->inode == b->inode && a->made_ns == b->made_ns;
}

/* An IP address without port and zone; IPv4 addresses are mapped to IPv6 (::ffff:127.0.0.1), so that each
 * address has one form. */
struct socket_ip {
    unsigned char bytes[16];
};

/* Parses "10.0.0.7" or "fd00::7" with nothing around it, in the canonical spelling of numbers. False for
 * anything else. */
bool socket_ip_parse(struct str text, struct socket_ip *ret);
/* 127.0.0.0/8 and ::1. */
bool socket_ip_is_loopback(const struct socket_ip *ip);
/* The local address of a connection: for a server that listens on all addresses, the one that the client has
 * connected to. False when fd is not a TCP connection. */
bool socket_local_ip(int fd, struct socket_ip *ret);

/* recv() and send() on a non-blocking connection, without SIGPIPE; errno as theirs. For libraries that leave
 * reading and writing to their user. */
ssize_t socket_read(int fd, void *to, size_t len);
ssize_t socket_write(int fd, const void *from, size_t len);

/* Ends the connection in both directions at once. Data already written is still sent. The descriptor stays
 * open and becomes readable (end of file): its owner closes it. */
void socket_end(int fd);
/* The same, but data that the peer has not read is discarded when the owner closes the descriptor: a peer
 * that does not read occupies no more memory. */
void socket_abort(int fd);

/* The bytes that the peer's kernel has acknowledged since the connection began; 0 when unknown. */
uint64_t socket_acked_bytes(int fd);

/* TCP keep-alive: a connection whose peer does not answer fails after idle_s plus three times interval_s.
 * Probes are sent after idle_s without traffic, and data may stay unacknowledged no longer. */
void socket_set_keepalive(int fd, unsigned idle_s, unsigned interval_s);

/* Raises the limit of open descriptors to this many, within the hard limit, and returns the limit. Never
 * lowers it. */
size_t socket_raise_fd_limit(size_t count);

#endif
