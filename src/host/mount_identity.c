/* Opens a directory, checks its mount, and reads or writes its marker. The marker may have been written by
 * anyone who can write to the file system: its size is bounded, and every field is checked. */
#include "host/mount_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "api/json.h"
#include "base/cleanup.h"
#include "host/files.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/random.h"
#include "io/sys.h"

#define MARKER_BYTES_MAX 4096
#define MARKER_MODE 0644
#define MARKER_FORMAT 1
#define MARKER_SHOWN_MAX 128

/* Whatever the reason, it is for an administrator to remove, and then the next attempt succeeds. */
static int cannot_access(const struct mount_identity *m, const char *action, int errnum, struct error *err)
{
    (void)error_set_errno(err, errnum, "cannot %s '%s', where %s %s must be mounted", action, m->path,
                          m->kind, m->about);
    err->code = ERR_UNAVAILABLE;
    return -ERR_UNAVAILABLE;
}

static int check_mounted(const struct mount_identity *m, int fd, struct error *err)
{
    struct statx st;

    if (m->may_be_plain)
        return 0;
    if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
        return cannot_access(m, "examine", errno, err);
    if (!(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
        return error_set(err, ERR_UNAVAILABLE,
                         "cannot determine whether '%s' is a mount point: Linux 5.8 or later is required",
                         m->path);
    if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return error_set(
            err, ERR_UNAVAILABLE,
            "%s %s is not mounted at '%s': mount it there, or set %s to use the directory itself", m->kind,
            m->about, m->path, m->setting);
    return 0;
}

/* --- The marker --- */

static int refuse_marker(const struct mount_identity *m, const char *why, struct error *err)
{
    return error_set(err, ERR_UNAVAILABLE,
                     "cannot use '%s/%s', which identifies %s %s: %s. If that %s is mounted there, remove "
                     "the file",
                     m->path, m->marker, m->kind, m->about, why, m->kind);
}

/* How much of a text from the file is shown. */
static int shown_len(struct str text)
{
    return (int)(text.len < MARKER_SHOWN_MAX ? text.len : MARKER_SHOWN_MAX);
}

/* Whatever else is in it is left to later versions of the same format. */
static int check_marker(const struct mount_identity *m, const struct json *d, json_ref root,
                        char ret_id[UID_BYTES], struct error *err)
{
    struct str kind = json_get_text(d, root, "kind"), about = json_get_text(d, root, "about"),
               id = json_get_text(d, root, "id");
    int64_t format = 0;

    if (!json_int64(d, json_get(d, root, "format"), &format) || !uid_is_valid(id))
        return refuse_marker(m, "it is not a marker file", err);
    if (format != MARKER_FORMAT)
        return refuse_marker(m, "it is of a later version", err);
    if (!str_is(kind, m->kind) || !str_is(about, m->about))
        return error_set(err, ERR_UNAVAILABLE,
                         "'%s' holds %.*s %.*s and not %s %s, according to its file '%s': mount %s there. If "
                         "only its name has changed, remove the file",
                         m->path, shown_len(kind), kind.s, shown_len(about), about.s, m->kind, m->about,
                         m->marker, m->about);
    memcpy(ret_id, id.s, id.len);
    ret_id[id.len] = '\0';
    return 0;
}

static int read_marker(const struct mount_identity *m, int fd, char ret_id[UID_BYTES], struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MARKER_BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    struct error why;
    json_ref root = 0;
    int r = host_read_below(fd, m->marker, MARKER_BYTES_MAX, &text, &why);

    json_init(&d, MARKER_BYTES_MAX * 4);
    if (r == -ERR_NOT_FOUND) {
        ret_id[0] = '\0';
        return 0;
    }
    if (r == 0)
        r = json_parse(&d, buf_str(&text), &root, &why);
    return r < 0 ? refuse_marker(m, why.msg, err) : check_marker(m, &d, root, ret_id, err);
}

int mount_identity_open(const struct mount_identity *m, int *ret_fd, char ret_id[UID_BYTES],
                        struct error *err)
{
    _cleanup_(fd_closep) int fd = host_open_dir(AT_FDCWD, m->path, HOST_OPEN_ANY_MOUNT);
    char id[UID_BYTES];
    int r;

    if (fd < 0)
        return cannot_access(m, "open", -fd, err);
    r = check_mounted(m, fd, err);
    if (r == 0)
        r = read_marker(m, fd, id, err);
    if (r < 0)
        return r;
    memcpy(ret_id, id, sizeof id);
    *ret_fd = take_fd(&fd);
    return 0;
}

static int write_marker(const struct mount_identity *m, const char *id, struct buf *out, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref root;
    int r;

    json_init(&d, MARKER_BYTES_MAX * 4);
    root = json_new_object(&d);
    json_set(&d, root, "format", json_new_int(&d, MARKER_FORMAT));
    json_set_string(&d, root, "kind", m->kind);
    json_set_string(&d, root, "about", m->about);
    json_set_string(&d, root, "id", id);
    r = json_check(&d, err);
    if (r < 0)
        return r;
    json_write_pretty(&d, root, out);
    buf_add_char(out, '\n');
    return buf_check(out, "marker file", err);
}

int mount_identity_create(const struct mount_identity *m, int fd, const char *id, char ret_id[UID_BYTES],
                          struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MARKER_BYTES_MAX);
    uint8_t random[UID_RANDOM_BYTES];
    char made[UID_BYTES];
    struct error why;
    int r = id[0] ? 0 : io_random(random, sizeof random, err);

    if (r < 0)
        return r;
    if (!id[0])
        uid_make(random, made);
    r = write_marker(m, id[0] ? id : made, &text, &why);
    if (r == 0)
        r = io_create_file_at(fd, m->marker, text.data, text.len, MARKER_MODE, &why);
    if (r < 0 && r != -ERR_EXISTS)
        return error_set(err, ERR_UNAVAILABLE, "cannot write '%s/%s', which identifies %s %s: %s", m->path,
                         m->marker, m->kind, m->about, why.msg);
    return read_marker(m, fd, ret_id, err);
}
