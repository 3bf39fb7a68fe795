/* The reserve is a file whose blocks are allocated with fallocate() and released in RESERVE_PARTS parts. It
 * never shrinks except by reserve_release(). */
#include "store/reserve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/log.h"
#include "io/file.h"
#include "io/own_file.h"

#define RESERVE_SHARE 16 /* of the available space */
#define RESERVE_PARTS 16 /* in which it is released */

/* Allocates what the disk should hold in its present state; never less than before. 0 or -errno. */
static int reserve_take(struct reserve *v, struct error *err)
{
    uint64_t held = 0, left = 0, wanted;
    int r = io_space(v->fd, &held, &left, err);

    if (r < 0)
        return -EIO;
    wanted = (held + left) / RESERVE_SHARE;
    wanted = wanted < RESERVE_BYTES ? wanted : RESERVE_BYTES;
    wanted = wanted > held ? wanted : held;
    r = wanted > v->wanted ? io_set_space(v->fd, wanted) : 0;
    v->held = r < 0 || wanted <= v->wanted ? held : wanted;
    v->wanted = v->held > v->wanted ? v->held : v->wanted;
    return r;
}

int reserve_open(struct reserve *v, const char *db_path, struct error *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s-reserve", db_path);
    int r;

    *v = (struct reserve){ .fd = -1 };
    if (n < 0 || (size_t)n >= sizeof path)
        return error_set_errno(err, ENAMETOOLONG, "cannot reserve space beside '%s'", db_path);
    r = io_make_own_file(path, &v->fd, err);
    if (r < 0)
        return r;
    r = reserve_take(v, &(struct error){ 0 });
    if (r < 0)
        log_warn("no disk space reserved for deletions", LOG_STR("file", path), LOG_INT("errno", -r));
    return 0;
}

void reserve_adapt(struct reserve *v)
{
    (void)reserve_take(v, &(struct error){ 0 }); /* best effort: it stays as it is */
}

void reserve_close(struct reserve *v)
{
    fd_closep(&v->fd);
    v->fd = -1;
}

bool reserve_release(struct reserve *v)
{
    uint64_t part = v->wanted / RESERVE_PARTS;
    uint64_t left = v->held > part ? v->held - part : 0;

    if (v->held == 0 || io_set_space(v->fd, left) < 0)
        return false;
    v->held = left;
    return true;
}

bool reserve_refill(struct reserve *v)
{
    if (v->held == v->wanted)
        return true;
    if (io_set_space(v->fd, v->wanted) < 0)
        return false;
    v->held = v->wanted;
    return true;
}
