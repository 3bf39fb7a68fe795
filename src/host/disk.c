/* Identifies mounted file systems by the UUID that libblkid finds on their device, and devices by sysfs. */
#include "host/disk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "host/device.h"
#include "host/files.h"
#include "io/file.h"
#include "io/sys.h"

#define ATTRIBUTE_BYTES_MAX 4096

/* --- Writing --- */

/* Truncates what does not fit: the result is the same each time. */
static void add_encoded(char ret[DISK_NAME_BYTES], struct str text)
{
    size_t len = strlen(ret);

    for (size_t i = 0; i < text.len && len + 4 <= DISK_NAME_BYTES; i++) {
        unsigned char c = (unsigned char)text.s[i];

        len += (size_t)snprintf(ret + len, DISK_NAME_BYTES - len,
                                c > ' ' && c < 0x7f && c != '%' ? "%c" : "%%%02X", c);
    }
}

static void add_part(char ret[DISK_NAME_BYTES], const char *text)
{
    add_encoded(ret, str_of(":"));
    add_encoded(ret, str_of(text));
}

/* --- File systems --- */

/* The node of the device that contains the file system; false when none is found. ret_is_unknown: there may
 * be one, which could not be examined. */
static bool find_device(const struct mount_entry *e, char ret[PATH_MAX], bool *ret_is_unknown)
{
    bool is_path = e->source[0] == '/', is_present;
    struct stat st;

    is_present = is_path && sys_stat(e->source, &st) == 0;
    *ret_is_unknown = e->dev_major != 0 || (is_path && !is_present && errno != ENOENT);
    if (is_present && S_ISBLK(st.st_mode) &&
        (e->dev_major == 0 || st.st_rdev == makedev(e->dev_major, e->dev_minor))) {
        (void)snprintf(ret, PATH_MAX, "%s", e->source);
        return true;
    }
    (void)snprintf(ret, PATH_MAX, "/dev/block/%u:%u", e->dev_major, e->dev_minor);
    return e->dev_major != 0 && sys_stat(ret, &st) == 0 && S_ISBLK(st.st_mode) &&
           st.st_rdev == makedev(e->dev_major, e->dev_minor);
}

static void name_mount(const struct mount_entry *e, char ret[DISK_NAME_BYTES])
{
    char device[PATH_MAX], uuid[DEVICE_UUID_BYTES] = "";
    bool is_unknown, has_device = find_device(e, device, &is_unknown);
    struct error ignored;

    ret[0] = '\0';
    if (has_device && device_uuid(device, e->type, uuid, &ignored) == 0 && uuid[0]) {
        add_encoded(ret, str_of("uuid"));
        add_part(ret, uuid);
    } else if (has_device || is_unknown) {
        add_encoded(ret, str_of(DISK_ANY_MOUNT)); /* the device may have another name after a reboot */
        return;
    } else {
        add_encoded(ret, str_of(DISK_ANY_MOUNT));
        add_part(ret, e->type);
        add_part(ret, e->source);
    }
    if (strcmp(e->root, "/") != 0)
        add_part(ret, e->root);
}

/* --- Devices --- */

/* Identifiers in sysfs; the first that exists is used. */
static const struct {
    const char *kind;
    const char *file;
} attributes[] = {
    { "dm", "dm/uuid" },           { "wwid", "wwid" },
    { "wwid", "device/wwid" },     { "serial", "serial" },
    { "serial", "device/serial" }, { "loop", "loop/backing_file" },
};

static struct str read_attribute(const char *dir, const char *file, struct buf *to)
{
    char path[PATH_MAX];
    struct error ignored;

    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    if (io_read_file(path, ATTRIBUTE_BYTES_MAX, to, &ignored) < 0)
        return (struct str){ "", 0 };
    return str_trim(buf_str(to));
}

static void name_device(dev_t number, char ret[DISK_NAME_BYTES])
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(ATTRIBUTE_BYTES_MAX),
                                     partition = BUF_INIT(ATTRIBUTE_BYTES_MAX);
    char dir[64];
    struct str id, part;

    (void)snprintf(dir, sizeof dir, "/sys/dev/block/%u:%u", major(number), minor(number));
    part = read_attribute(dir, "partition", &partition);
    if (part.len) /* a partition: the disk is the directory above */
        (void)snprintf(dir, sizeof dir, "/sys/dev/block/%u:%u/..", major(number), minor(number));
    ret[0] = '\0';
    add_encoded(ret, str_of(DISK_ANY_DEVICE));
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++) {
        id = read_attribute(dir, attributes[i].file, &text);
        if (id.len == 0)
            continue;
        add_part(ret, attributes[i].kind);
        add_encoded(ret, str_of(":"));
        add_encoded(ret, id);
        if (part.len) {
            add_part(ret, "part");
            add_encoded(ret, part);
        }
        return;
    }
}

/* --- Both --- */

int disk_identify(const struct mount_table *table, const char *path, char ret[DISK_NAME_BYTES],
                  struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *own = NULL;
    enum file_kind kind = FILE_MISSING;
    const struct mount_entry *e;
    struct stat st;
    int r = host_file_kind(path, &kind, err);

    if (r < 0)
        return r;
    if (kind == FILE_MISSING)
        return error_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    if (kind == FILE_BLOCK_DEVICE) {
        if (sys_stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
            return error_set(err, ERR_NOT_FOUND, "'%s' is no longer a block device", path);
        name_device(st.st_rdev, ret);
        return 0;
    }
    if (kind != FILE_DIR)
        return error_set(err, ERR_INVALID, "'%s' is neither a directory nor a block device", path);
    if (!table) {
        r = mount_table_read(&own, err);
        if (r < 0)
            return r;
    }
    e = mount_table_find(table ? table : own, path);
    if (!e)
        return error_set(err, ERR_NOT_FOUND, "nothing is mounted at '%s'", path);
    name_mount(e, ret);
    return 0;
}

static bool is_device(const char *name)
{
    return strncmp(name, DISK_ANY_DEVICE, strlen(DISK_ANY_DEVICE)) == 0;
}

static bool is_generic(const char *name)
{
    return name[0] == '\0' || strcmp(name, DISK_ANY_MOUNT) == 0 || strcmp(name, DISK_ANY_DEVICE) == 0;
}

enum disk_match disk_compare(const char *recorded, const char *present)
{
    if (recorded[0] && present[0] && is_device(recorded) != is_device(present))
        return DISK_OTHER;
    if (is_generic(recorded) || is_generic(present))
        return DISK_UNSURE;
    return strcmp(recorded, present) == 0 ? DISK_SAME : DISK_OTHER;
}
