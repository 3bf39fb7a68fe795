#include "host/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/quote.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "host/safe_path.h"
#include "io/file.h"

/* The kernel lets a namespace have 100,000 mounts; a line is below 400 bytes but for long paths. */
#define MOUNT_TABLE_BYTES_MAX ((size_t)256 << 20)
#define MOUNT_POINT_FIELD 4 /* counted from 0 */
#define MOUNT_TEXT_BYTES 400

int host_is_mount_point(const char *path, bool *ret, struct error *err)
{
    struct statx st;

    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &st) <
        0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    if (!(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
        return error_set(err, ERR_UNSUPPORTED, "the kernel does not tell whether '%s' is a mount point",
                         path);
    *ret = st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
    return 0;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The kernel writes blanks, tabs, line ends and backslashes as three octal digits. False when it does not
 * fit. */
static bool decode_field(struct str field, char ret[PATH_MAX])
{
    size_t len = 0;

    for (size_t i = 0; i < field.len; len++) {
        if (len + 1 >= PATH_MAX)
            return false;
        const char *s = field.s + i;
        if (field.len - i >= 4 && s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) && is_octal(s[3])) {
            ret[len] = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            i += 4;
        } else {
            ret[len] = s[0];
            i++;
        }
    }
    ret[len] = '\0';
    return true;
}

static struct str mount_point_field(struct str line)
{
    for (int i = 0; i < MOUNT_POINT_FIELD && line.s; i++)
        (void)str_next(&line, ' ');
    return line.s ? str_next(&line, ' ') : (struct str){ "", 0 };
}

int host_check_mount_table(struct str table, const char *path, bool at_too, struct error *err)
{
    char point[PATH_MAX], text[MOUNT_TEXT_BYTES];

    while (table.s) {
        struct str line = str_next(&table, '\n');
        if (!decode_field(mount_point_field(line), point) || point[0] != '/')
            continue; /* a path this long is below no path that we accept by text; the walk still sees it */
        if (host_path_is_below(point, path) || (at_too && strcmp(point, path) == 0))
            return error_set(err, ERR_BUSY, "something is mounted at %s",
                             quote(text, sizeof text, str_of(point)));
    }
    return 0;
}

int host_check_unmounted(const char *path, bool at_too, struct error *err)
{
    _cleanup_(buf_done_p) struct buf table = BUF_INIT(0);
    int r = io_read_file("/proc/self/mountinfo", MOUNT_TABLE_BYTES_MAX, &table, err);

    if (r < 0)
        return r;
    return host_check_mount_table(buf_str(&table), path, at_too, err);
}
