/* A SHA-256 checksum as a line of text at the end of a file. Adding and verifying read the whole file once,
 * in chunks, and call tick every 4 MiB. */
#include "io/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gnutls/crypto.h>

#include "base/cleanup.h"
#include "io/file.h"

#define SEAL_FORMAT "\nberth seal 1 %015" PRIu64 " sha256 "
#define SEAL_HEAD_BYTES (SEAL_BYTES - 65)
#define SHA256_BYTES 32
#define SEAL_READ_BYTES ((size_t)64 << 10)
/* Reads between two ticks: 4 MiB. */
#define SEAL_TICK_READS 64

/* Reads up to len bytes at the offset; the count or -errno. */
static ssize_t read_at(int fd, void *data, size_t len, uint64_t at)
{
    ssize_t n;

    do
        n = pread(fd, data, len, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int seal_hash(int fd, uint64_t bytes, gnutls_hash_hd_t hash, seal_tick_fn *tick, void *ctx)
{
    char chunk[SEAL_READ_BYTES];

    for (uint64_t at = 0, reads = 0; at < bytes; reads++) {
        size_t len = bytes - at < sizeof chunk ? (size_t)(bytes - at) : sizeof chunk;
        ssize_t n = read_at(fd, chunk, len, at);
        if (n <= 0)
            return n < 0 ? (int)n : -EIO; /* the file was truncated meanwhile */
        if (gnutls_hash(hash, chunk, (size_t)n) < 0)
            return -EIO;
        at += (uint64_t)n;
        if (tick && reads % SEAL_TICK_READS == 0)
            tick(ctx);
    }
    return 0;
}

/* The seal of the first `bytes` bytes. */
static int seal_make(const char *path, int fd, uint64_t bytes, seal_tick_fn *tick, void *ctx,
                     char ret[SEAL_BYTES + 1], struct error *err)
{
    gnutls_hash_hd_t hash;
    uint8_t sum[SHA256_BYTES];
    int r;

    if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) < 0)
        return error_set(err, ERR_INTERNAL, "cannot compute the checksum of '%s'", path);
    r = seal_hash(fd, bytes, hash, tick, ctx);
    gnutls_hash_deinit(hash, sum);
    if (r < 0)
        return error_set_errno(err, -r, "cannot read '%s'", path);
    (void)snprintf(ret, SEAL_BYTES + 1, SEAL_FORMAT, bytes);
    for (size_t i = 0; i < sizeof sum; i++)
        (void)snprintf(ret + SEAL_HEAD_BYTES + 2 * i, 3, "%02x", sum[i]);
    ret[SEAL_BYTES - 1] = '\n';
    return 0;
}

static int seal_open(const char *path, int flags, int *ret_fd, uint64_t *ret_bytes, struct error *err)
{
    _cleanup_(fd_closep) int fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
    struct stat st = { 0 };
    int r = 0;

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    if (fstat(fd, &st) < 0)
        r = error_set_errno(err, errno, "cannot examine '%s'", path);
    *ret_bytes = (uint64_t)st.st_size;
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}

int seal_add(const char *path, seal_tick_fn *tick, void *ctx, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char seal[SEAL_BYTES + 1];
    uint64_t bytes = 0;
    ssize_t n;
    int r = seal_open(path, O_RDWR, &fd, &bytes, err);

    if (r == 0 && bytes % SEAL_BLOCK_BYTES != 0)
        r = error_set(err, ERR_INVALID, "cannot seal '%s': size is not a multiple of the block size", path);
    if (r == 0)
        r = seal_make(path, fd, bytes, tick, ctx, seal, err);
    if (r < 0)
        return r;
    do
        n = pwrite(fd, seal, SEAL_BYTES, (off_t)bytes);
    while (n < 0 && errno == EINTR);
    if (n != SEAL_BYTES)
        return error_set_errno(err, n < 0 ? errno : ENOSPC, "cannot write '%s'", path);
    return 0;
}

int seal_exists(const char *path, bool *ret, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    uint64_t bytes = 0;
    int r = seal_open(path, O_RDONLY, &fd, &bytes, err);

    if (r == 0)
        *ret = bytes % SEAL_BLOCK_BYTES != 0;
    return r;
}

static int seal_broken(const char *path, const char *why, struct error *err)
{
    return error_set(err, ERR_INVALID, "'%s' is damaged (%s): use another copy", path, why);
}

int seal_check(const char *path, seal_tick_fn *tick, void *ctx, bool *ret_is_sealed, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char seal[SEAL_BYTES + 1], found[SEAL_BYTES];
    uint64_t bytes = 0;
    int r = seal_open(path, O_RDONLY, &fd, &bytes, err);

    if (r < 0)
        return r;
    if (bytes % SEAL_BLOCK_BYTES == 0) {
        *ret_is_sealed = false;
        return 0;
    }
    if (bytes < SEAL_BYTES || (bytes - SEAL_BYTES) % SEAL_BLOCK_BYTES != 0)
        return seal_broken(path, "truncated or extended", err);
    bytes -= SEAL_BYTES;
    r = seal_make(path, fd, bytes, tick, ctx, seal, err);
    if (r < 0)
        return r;
    if (read_at(fd, found, sizeof found, bytes) != SEAL_BYTES || memcmp(seal, found, sizeof found) != 0)
        return seal_broken(path, "checksum does not match", err);
    *ret_is_sealed = true;
    return 0;
}
