/* Wipes a device in stretches of STRETCH_BYTES. After each stretch the data is synced and then the position
 * is saved, so that a crash repeats at most one stretch. Memory is one chunk. */
#include "host/wipe.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "io/file.h"
#include "io/sys.h"

#define CHUNK_BYTES ((uint64_t)4 << 20)
#define EDGE_BYTES ((uint64_t)1 << 20)
/* Written, synced, then the position is saved. */
#define STRETCH_BYTES ((uint64_t)64 << 20)
#define DISCARD_BYTES ((uint64_t)1 << 30)
#define SIGNATURES_MAX 1000
#define STATE_BYTES_MAX 512

struct wiping {
    const struct wipe *how;
    const char *device;
    int fd;
    uint64_t size;
    char *chunk;
    struct rng rng;
};

static int wipe_fail(const struct wiping *wiping, const char *what, struct error *err)
{
    return error_set_errno(err, errno, "cannot %s '%s'", what, wiping->device);
}

static int check_stop(const struct wiping *wiping, struct error *err)
{
    if (wiping->how->stop && atomic_load(wiping->how->stop))
        return error_set(err, ERR_CANCELLED, "cancelled while wiping '%s'", wiping->device);
    return 0;
}

static void report_progress(const struct wiping *wiping, uint64_t done, uint64_t total)
{
    if (!wiping->how->where)
        return;
    atomic_store(&wiping->how->where->total_bytes, total);
    atomic_store(&wiping->how->where->done_bytes, done);
}

/* Opens only a block device, and only when it is not in use. */
static int wipe_open(struct wiping *wiping, struct error *err)
{
    struct stat st;

    if (sys_stat(wiping->device, &st) < 0)
        return wipe_fail(wiping, "examine", err);
    if (!S_ISBLK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a block device", wiping->device);
    wiping->fd = sys_open(wiping->device, O_RDWR | O_EXCL | O_CLOEXEC | O_NONBLOCK, 0);
    if (wiping->fd < 0 && errno == EBUSY)
        return error_set(err, ERR_BUSY, "'%s' is in use", wiping->device);
    if (wiping->fd < 0)
        return wipe_fail(wiping, "open", err);
    if (sys_fstat(wiping->fd, &st) < 0 || !S_ISBLK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a block device", wiping->device);
    if (sys_ioctl(wiping->fd, BLKGETSIZE64, &wiping->size) < 0)
        return wipe_fail(wiping, "determine the size of", err);
    return 0;
}

/* --- Writing --- */

static int write_at(const struct wiping *wiping, uint64_t from, uint64_t len, struct error *err)
{
    while (len > 0) {
        ssize_t n = sys_pwrite(wiping->fd, wiping->chunk, len < CHUNK_BYTES ? len : CHUNK_BYTES, (off_t)from);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return wipe_fail(wiping, "write to", err);
        from += (uint64_t)n;
        len -= (uint64_t)n;
    }
    return 0;
}

static int sync_device(const struct wiping *wiping, struct error *err)
{
    return sys_fdatasync(wiping->fd) < 0 ? wipe_fail(wiping, "sync", err) : 0;
}

/* --- Everything, with a position --- */

/* "OWNER SIZE PASS OFFSET"; the position of another owner or another device is ignored. */
static void read_position(const struct wiping *wiping, unsigned *pass, uint64_t *offset)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    struct error ignored;
    struct str rest, owner;
    uint64_t size, at_pass, at;

    if (!wiping->how->state_path ||
        io_read_file(wiping->how->state_path, STATE_BYTES_MAX, &text, &ignored) < 0)
        return;
    rest = str_trim(buf_str(&text));
    owner = str_next(&rest, ' ');
    if (!str_is(owner, wiping->how->owner) || !rest.s || !str_to_uint64(str_next(&rest, ' '), &size) ||
        !rest.s || !str_to_uint64(str_next(&rest, ' '), &at_pass) || !rest.s || !str_to_uint64(rest, &at))
        return;
    if (size != wiping->size || at > size || at_pass > wiping->how->passes)
        return;
    *pass = (unsigned)at_pass;
    *offset = at;
}

static int save_position(const struct wiping *wiping, unsigned pass, uint64_t offset, struct error *err)
{
    char text[STATE_BYTES_MAX];
    int n;

    if (!wiping->how->state_path)
        return 0;
    n = snprintf(text, sizeof text, "%s %" PRIu64 " %u %" PRIu64 "\n", wiping->how->owner, wiping->size, pass,
                 offset);
    return n < 0 || (size_t)n >= sizeof text
               ? error_set(err, ERR_TOO_LARGE, "the wipe position is too long")
               : io_replace_file(wiping->how->state_path, text, (size_t)n, 0600, err);
}

static int write_stretch(struct wiping *wiping, unsigned pass, uint64_t from, uint64_t to, struct error *err)
{
    int r = 0;

    while (from < to && r == 0) {
        uint64_t len = to - from < CHUNK_BYTES ? to - from : CHUNK_BYTES;

        r = check_stop(wiping, err);
        if (r == 0 && wiping->how->kind == WIPE_RANDOM)
            rng_bytes(&wiping->rng, wiping->chunk, (size_t)len);
        if (r == 0)
            r = write_at(wiping, from, len, err);
        from += len;
        if (r == 0)
            report_progress(wiping, pass * wiping->size + from, wiping->how->passes * wiping->size);
    }
    return r < 0 ? r : sync_device(wiping, err);
}

static int wipe_all(struct wiping *wiping, struct error *err)
{
    unsigned pass = 0;
    uint64_t offset = 0;
    int r = 0;

    read_position(wiping, &pass, &offset);
    report_progress(wiping, pass * wiping->size + offset, wiping->how->passes * wiping->size);
    for (; pass < wiping->how->passes; pass++, offset = 0) {
        while (offset < wiping->size && r == 0) {
            uint64_t to = wiping->size - offset < STRETCH_BYTES ? wiping->size : offset + STRETCH_BYTES;

            r = write_stretch(wiping, pass, offset, to, err);
            offset = to;
            if (r == 0)
                r = save_position(wiping, pass, offset, err);
        }
        if (r < 0)
            return r;
    }
    return save_position(wiping, pass, 0, err);
}

/* --- Signatures and edges --- */

static int wipe_signatures(const struct wiping *wiping, struct error *err)
{
    blkid_probe probe = blkid_new_probe();
    int r = 0, found;

    if (!probe)
        return error_no_memory(err);
    if (blkid_probe_set_device(probe, wiping->fd, 0, 0) != 0) {
        r = wipe_fail(wiping, "probe", err);
    } else {
        (void)blkid_probe_enable_superblocks(probe, 1);
        (void)blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
        (void)blkid_probe_enable_partitions(probe, 1);
        (void)blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
        for (unsigned n = 0; (found = blkid_do_probe(probe)) == 0 && n < SIGNATURES_MAX && r == 0; n++)
            if (blkid_do_wipe(probe, 0) != 0)
                r = wipe_fail(wiping, "wipe a signature of", err);
        if (r == 0 && found < 0)
            r = wipe_fail(wiping, "probe", err);
    }
    blkid_free_probe(probe);
    return r;
}

static int wipe_quick(const struct wiping *wiping, struct error *err)
{
    uint64_t edge = wiping->size < EDGE_BYTES ? wiping->size : EDGE_BYTES;
    int r = wipe_signatures(wiping, err);

    if (r == 0)
        r = write_at(wiping, 0, edge, err);
    if (r == 0)
        r = write_at(wiping, wiping->size - edge, edge, err);
    return r < 0 ? r : sync_device(wiping, err);
}

/* 0 or a negative error; *ret_errno when the device refuses the request. */
static int send_request(struct wiping *wiping, unsigned long request, struct error *err, int *ret_errno)
{
    *ret_errno = 0;
    for (uint64_t at = 0; at < wiping->size; at += DISCARD_BYTES) {
        uint64_t range[2] = { at, wiping->size - at < DISCARD_BYTES ? wiping->size - at : DISCARD_BYTES };
        int r = check_stop(wiping, err);

        if (r < 0)
            return r;
        if (sys_ioctl(wiping->fd, request, range) < 0) {
            *ret_errno = errno;
            return 0;
        }
        report_progress(wiping, at + range[1], wiping->size);
    }
    return 0;
}

static int wipe_by_kind(struct wiping *wiping, struct error *err)
{
    int reason, r;

    switch (wiping->how->kind) {
    case WIPE_QUICK:
        return wipe_quick(wiping, err);
    case WIPE_ZERO:
    case WIPE_RANDOM:
        return wipe_all(wiping, err);
    case WIPE_DISCARD:
        break;
    }
    r = send_request(wiping, BLKDISCARD, err, &reason);
    if (r == 0 && reason != 0)
        r = send_request(wiping, BLKZEROOUT, err, &reason);
    if (r == 0 && reason != 0)
        r = wipe_all(wiping, err);
    return r < 0 ? r : wipe_quick(wiping, err);
}

int device_wipe(const char *device, const struct wipe *how, struct error *err)
{
    struct wiping wiping = { .how = how, .device = device, .fd = -1, .chunk = calloc(1, CHUNK_BYTES) };
    int r;

    if (!wiping.chunk)
        return error_no_memory(err);
    rng_init(&wiping.rng, how->seed);
    r = wipe_open(&wiping, err);
    if (r == 0)
        r = wipe_by_kind(&wiping, err);
    fd_closep(&wiping.fd);
    free(wiping.chunk);
    return r;
}
