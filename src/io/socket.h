/* Sockets that others serve: made to listen, and ended whoever reads and writes them. */
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

/* An address to listen on as people write it, in its full form: "127.0.0.1:7443" and "[::1]:7443" as they
 * are, "7443" and "localhost:7443" on loopback, ":7443" on all IPv4 addresses. ret has SOCKET_ADDRESS_BYTES.
 * ERR_INVALID with an example. */
int socket_address_read(const char *text, char *ret, struct error *err);

/* A non-blocking TCP socket that listens on such an address. No names to look up but localhost; port 0 is any
 * free one. An IPv6 address listens for IPv6 alone, save "[::]", which takes both. address,
 * of SOCKET_ADDRESS_BYTES, receives where it really listens, in the same form. Errors name the address. */
int socket_listen(const char *address, char *ret_address, int *ret_fd, struct error *err);

/* A non-blocking connection to the Unix socket at path, which may be longer than a socket's address has room
 * for. ERR_BUSY: its queue of connections is full, and nobody says when there is room. ERR_UNAVAILABLE:
 * nobody listens there. */
int socket_connect_unix(const char *path, int *ret_fd, struct error *err);

/* Which socket is at a path: another one that replaces it has another identity. A later chmod() changes
 * nothing. */
struct socket_id {
    uint64_t device;
    uint64_t inode;
    int64_t made_ns;
};

/* False when there is none. */
bool socket_identify(const char *path, struct socket_id *ret);

static inline bool socket_id_is_same(const struct socket_id *a, const struct socket_id *b)
{
    return a->device == b->device && a->inode == b->inode && a->made_ns == b->made_ns;
}

/* An IP address without port and zone; an IPv4 address as IPv6 writes it (::ffff:127.0.0.1), so that one
 * address has one form. */
struct socket_ip {
    unsigned char bytes[16];
};

/* "10.0.0.7" or "fd00::7", nothing around it and no other spelling of a number. False for anything else. */
bool socket_ip_parse(struct str text, struct socket_ip *ret);
/* 127.0.0.0/8 and ::1. */
bool socket_ip_is_loopback(const struct socket_ip *ip);
/* The address of this end of a connection: with a server that listens on all addresses the one that the
 * client has connected to. False when fd is not a TCP connection. */
bool socket_local_ip(int fd, struct socket_ip *ret);

/* recv() and send() on a connection that does not block, without SIGPIPE; errno as theirs. For libraries that
 * leave reading and writing to their user. */
ssize_t socket_read(int fd, void *to, size_t len);
ssize_t socket_write(int fd, const void *from, size_t len);

/* Ends the connection in both directions, now. Whoever waits on the descriptor finds it at its end; what has
 * been written is still sent. The descriptor stays open: its owner closes it. */
void socket_end(int fd);
/* The same, but what the peer has not taken yet is thrown away when the owner closes the descriptor: a peer
 * that does not read costs no memory any more. */
void socket_abort(int fd);

/* How many bytes the peer's kernel has confirmed since the connection began; 0 when that is not known. */
uint64_t socket_taken_bytes(int fd);

/* A TCP connection whose peer is gone without a word ends with an error after idle_s and three times
 * interval_s: probes are sent when it is quiet for idle_s, and data may stay unconfirmed no longer. */
void socket_notice_silence(int fd, unsigned idle_s, unsigned interval_s);

/* Sees to it that this process may have this many descriptors open, as far as its hard limit allows, and
 * returns how many it may have. Never lowers the limit. */
size_t socket_allow(size_t count);

#endif
