#include "host/wipe.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "io/file.h"

#define CHUNK_BYTES ((uint64_t)4 << 20)
#define EDGE_BYTES ((uint64_t)1 << 20)
/* Written, then synced, then the position is kept. */
#define STRETCH_BYTES ((uint64_t)64 << 20)
#define DISCARD_BYTES ((uint64_t)1 << 30)
#define SIGNATURES_MAX 1000
#define STATE_BYTES_MAX 512

struct wiping {
    const struct wipe *w;
    const char *device;
    int fd;
    uint64_t size;
    char *chunk;
    struct rng rng;
};

static int wipe_fail(const struct wiping *x, const char *what, struct error *err)
{
    return error_set_errno(err, errno, "cannot %s '%s'", what, x->device);
}

static int check_stop(const struct wiping *x, struct error *err)
{
    if (x->w->stop && atomic_load(x->w->stop))
        return error_set(err, ERR_CANCELLED, "stopped while wiping '%s'", x->device);
    return 0;
}

static void tell(const struct wiping *x, uint64_t done, uint64_t total)
{
    if (!x->w->where)
        return;
    atomic_store(&x->w->where->total_bytes, total);
    atomic_store(&x->w->where->done_bytes, done);
}

/* Nothing but a block device is opened, and only when nobody else has it. */
static int wipe_open(struct wiping *x, struct error *err)
{
    struct stat st;

    if (stat(x->device, &st) < 0)
        return wipe_fail(x, "examine", err);
    if (!S_ISBLK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a block device", x->device);
    x->fd = open(x->device, O_RDWR | O_EXCL | O_CLOEXEC | O_NONBLOCK);
    if (x->fd < 0 && errno == EBUSY)
        return error_set(err, ERR_BUSY, "'%s' is in use", x->device);
    if (x->fd < 0)
        return wipe_fail(x, "open", err);
    if (fstat(x->fd, &st) < 0 || !S_ISBLK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a block device", x->device);
    if (ioctl(x->fd, BLKGETSIZE64, &x->size) < 0)
        return wipe_fail(x, "tell the size of", err);
    return 0;
}

/* --- Writing --- */

static int write_at(const struct wiping *x, uint64_t from, uint64_t len, struct error *err)
{
    while (len > 0) {
        ssize_t n = pwrite(x->fd, x->chunk, len < CHUNK_BYTES ? len : CHUNK_BYTES, (off_t)from);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return wipe_fail(x, "write to", err);
        from += (uint64_t)n;
        len -= (uint64_t)n;
    }
    return 0;
}

static int sync_device(const struct wiping *x, struct error *err)
{
    return fdatasync(x->fd) < 0 ? wipe_fail(x, "sync", err) : 0;
}

/* --- Everything, with a position --- */

/* "OWNER SIZE PASS OFFSET": of another owner, or another device, it is no position. */
static void read_position(const struct wiping *x, unsigned *pass, uint64_t *offset)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    struct error ignored;
    struct str rest, owner;
    uint64_t size, at_pass, at;

    if (!x->w->state_path || io_read_file(x->w->state_path, STATE_BYTES_MAX, &text, &ignored) < 0)
        return;
    rest = str_trim(buf_str(&text));
    owner = str_next(&rest, ' ');
    if (!str_is(owner, x->w->owner) || !rest.s || !str_to_uint64(str_next(&rest, ' '), &size) || !rest.s ||
        !str_to_uint64(str_next(&rest, ' '), &at_pass) || !rest.s || !str_to_uint64(rest, &at))
        return;
    if (size != x->size || at > size || at_pass > x->w->passes)
        return;
    *pass = (unsigned)at_pass;
    *offset = at;
}

static int keep_position(const struct wiping *x, unsigned pass, uint64_t offset, struct error *err)
{
    char text[STATE_BYTES_MAX];
    int n;

    if (!x->w->state_path)
        return 0;
    n = snprintf(text, sizeof text, "%s %" PRIu64 " %u %" PRIu64 "\n", x->w->owner, x->size, pass, offset);
    return n < 0 || (size_t)n >= sizeof text
               ? error_set(err, ERR_TOO_LARGE, "the position of a wipe is too long")
               : io_replace_file(x->w->state_path, text, (size_t)n, 0600, err);
}

static int write_stretch(struct wiping *x, unsigned pass, uint64_t from, uint64_t to, struct error *err)
{
    int r = 0;

    while (from < to && r == 0) {
        uint64_t len = to - from < CHUNK_BYTES ? to - from : CHUNK_BYTES;

        r = check_stop(x, err);
        if (r == 0 && x->w->kind == WIPE_RANDOM)
            rng_bytes(&x->rng, x->chunk, (size_t)len);
        if (r == 0)
            r = write_at(x, from, len, err);
        from += len;
        if (r == 0)
            tell(x, pass * x->size + from, x->w->passes * x->size);
    }
    return r < 0 ? r : sync_device(x, err);
}

static int wipe_all(struct wiping *x, struct error *err)
{
    unsigned pass = 0;
    uint64_t offset = 0;
    int r = 0;

    read_position(x, &pass, &offset);
    tell(x, pass * x->size + offset, x->w->passes * x->size);
    for (; pass < x->w->passes; pass++, offset = 0) {
        while (offset < x->size && r == 0) {
            uint64_t to = x->size - offset < STRETCH_BYTES ? x->size : offset + STRETCH_BYTES;

            r = write_stretch(x, pass, offset, to, err);
            offset = to;
            if (r == 0)
                r = keep_position(x, pass, offset, err);
        }
        if (r < 0)
            return r;
    }
    return keep_position(x, pass, 0, err);
}

/* --- Signatures and edges --- */

static int wipe_signatures(const struct wiping *x, struct error *err)
{
    blkid_probe probe = blkid_new_probe();
    int r = 0, found;

    if (!probe)
        return error_no_memory(err);
    if (blkid_probe_set_device(probe, x->fd, 0, 0) != 0) {
        r = wipe_fail(x, "probe", err);
    } else {
        (void)blkid_probe_enable_superblocks(probe, 1);
        (void)blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
        (void)blkid_probe_enable_partitions(probe, 1);
        (void)blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
        for (unsigned n = 0; (found = blkid_do_probe(probe)) == 0 && n < SIGNATURES_MAX && r == 0; n++)
            if (blkid_do_wipe(probe, 0) != 0)
                r = wipe_fail(x, "wipe a signature of", err);
        if (r == 0 && found < 0)
            r = wipe_fail(x, "probe", err);
    }
    blkid_free_probe(probe);
    return r;
}

static int wipe_quick(const struct wiping *x, struct error *err)
{
    uint64_t edge = x->size < EDGE_BYTES ? x->size : EDGE_BYTES;
    int r = wipe_signatures(x, err);

    if (r == 0)
        r = write_at(x, 0, edge, err);
    if (r == 0)
        r = write_at(x, x->size - edge, edge, err);
    return r < 0 ? r : sync_device(x, err);
}

/* 0, or -errno. */
static int tell_device(struct wiping *x, unsigned long request, struct error *err, int *ret_errno)
{
    *ret_errno = 0;
    for (uint64_t at = 0; at < x->size; at += DISCARD_BYTES) {
        uint64_t range[2] = { at, x->size - at < DISCARD_BYTES ? x->size - at : DISCARD_BYTES };
        int r = check_stop(x, err);

        if (r < 0)
            return r;
        if (ioctl(x->fd, request, range) < 0) {
            *ret_errno = errno;
            return 0;
        }
        tell(x, at + range[1], x->size);
    }
    return 0;
}

static int wipe_discard(struct wiping *x, struct error *err)
{
    int reason, r = tell_device(x, BLKDISCARD, err, &reason);

    if (r == 0 && reason != 0)
        r = tell_device(x, BLKZEROOUT, err, &reason);
    if (r == 0 && reason != 0)
        r = wipe_all(x, err);
    return r < 0 ? r : wipe_quick(x, err);
}

static int wipe_by_kind(struct wiping *x, struct error *err)
{
    switch (x->w->kind) {
    case WIPE_QUICK:
        return wipe_quick(x, err);
    case WIPE_ZERO:
    case WIPE_RANDOM:
        return wipe_all(x, err);
    case WIPE_DISCARD:
        break;
    }
    return wipe_discard(x, err);
}

int device_wipe(const char *device, const struct wipe *w, struct error *err)
{
    struct wiping x = { .w = w, .device = device, .fd = -1, .chunk = calloc(1, CHUNK_BYTES) };
    int r;

    if (!x.chunk)
        return error_no_memory(err);
    rng_init(&x.rng, w->seed);
    r = wipe_open(&x, err);
    if (r == 0)
        r = wipe_by_kind(&x, err);
    closep(&x.fd);
    free(x.chunk);
    return r;
}
