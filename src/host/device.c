/* libblkid probes a device in this process; changes are made by the commands of the file system. The order of
 * the commands, their arguments and the texts of their failures are those of Kubernetes: users and tests
 * elsewhere rely on them. */
#include "host/device.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "api/quote.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "io/file.h"
#include "io/sys.h"

#define OUTPUT_BYTES_MAX 65536
#define OUTPUT_SHOWN_BYTES_MAX 300 /* of a tool's output, in an error */
/* Checking a large file system takes hours; a caller that must end it earlier sets the stop flag. */
#define TOOL_LIMIT_NS ((uint64_t)24 * 3600 * NS_PER_S)
#define DEFAULT_TYPE "ext4"
#define QUOTED_BYTES 300

/* --- Opening --- */

/* Opens only a block device: opening a fifo would block, and a tape would move. */
static int device_open(const char *device, int flags, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    struct stat st;

    if (sys_stat(device, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", device);
    if (!S_ISBLK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a block device", device);
    fd = sys_open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", device);
    if (sys_fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode))
        return error_set(err, ERR_INVALID, "'%s' is not a block device", device);
    *ret_fd = take_fd(&fd);
    return 0;
}

int device_size(const char *device, uint64_t *ret, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    uint64_t bytes = 0;
    int r = device_open(device, 0, &fd, err);

    if (r < 0)
        return r;
    if (sys_ioctl(fd, BLKGETSIZE64, &bytes) < 0)
        return error_set_errno(err, errno, "cannot determine the size of '%s'", device);
    *ret = bytes;
    return 0;
}

int device_check_unused(const char *device, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;

    return device_open(device, O_EXCL, &fd, err);
}

static int device_is_read_only(const char *device, bool *ret, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    int flag = 0;
    int r = device_open(device, 0, &fd, err);

    if (r < 0)
        return r;
    if (sys_ioctl(fd, BLKROGET, &flag) < 0)
        return error_set_errno(err, errno, "cannot determine whether '%s' is read-only", device);
    *ret = flag != 0;
    return 0;
}

/* --- Probing --- */

static void probe_free(blkid_probe *p)
{
    blkid_free_probe(*p);
}

/* A probe for superblocks; call probe_free() after a failure too. */
static int probe_new(int fd, int flags, blkid_probe *ret, struct error *err)
{
    *ret = blkid_new_probe();
    if (!*ret)
        return error_no_memory(err);
    if (blkid_probe_set_device(*ret, fd, 0, 0) != 0)
        return error_set(err, ERR_IO, "cannot read the device");
    (void)blkid_probe_enable_superblocks(*ret, true); /* cannot fail */
    (void)blkid_probe_set_superblocks_flags(*ret, flags);
    return 0;
}

/* 0 when something was found, 1 when the device is blank. */
static int probe_run(blkid_probe p, struct error *err)
{
    int r = blkid_do_safeprobe(p);

    if (r < 0)
        return error_set(err, ERR_IO,
                         r == -2 ? "more than one file system may be on the device"
                                 : "cannot read the device");
    return r;
}

static int probe_read(blkid_probe p, char ret[DEVICE_FORMAT_BYTES], struct error *err)
{
    const char *type = "";
    size_t bytes = 0;

    if (blkid_probe_has_value(p, "PTTYPE")) {
        (void)snprintf(ret, DEVICE_FORMAT_BYTES, "%s", DEVICE_PARTITIONS);
        return 0;
    }
    /* Something was found, but neither a file system nor partitions: the device must not be treated as blank.
     */
    if (blkid_probe_lookup_value(p, "TYPE", &type, &bytes) != 0 || type[0] == '\0' ||
        strlen(type) >= DEVICE_FORMAT_BYTES)
        return error_set(err, ERR_IO, "unknown type of contents");
    (void)snprintf(ret, DEVICE_FORMAT_BYTES, "%s", type);
    return 0;
}

static int probe_fd(int fd, char ret[DEVICE_FORMAT_BYTES], struct error *err)
{
    _cleanup_(probe_free) blkid_probe p = NULL;
    int r = probe_new(fd, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE, &p, err);

    if (r < 0)
        return r;
    (void)blkid_probe_enable_partitions(p, true);
    r = probe_run(p, err);
    if (r == 0)
        return probe_read(p, ret, err);
    if (r > 0)
        ret[0] = '\0';
    return r < 0 ? r : 0;
}

static int probe_model(int fd, bool wants_uuid, char *ret, size_t size, struct error *err)
{
    int r = sys_here->calls->probe(sys_here, fd, wants_uuid, ret, size);

    return r ? error_set_errno(err, r, "cannot read the device") : 0;
}

int device_probe(const char *device, char ret[DEVICE_FORMAT_BYTES], struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char found[DEVICE_FORMAT_BYTES] = "";
    int r = device_open(device, 0, &fd, err);

    if (r == 0)
        r = sys_here ? probe_model(fd, false, found, sizeof found, err) : probe_fd(fd, found, err);
    if (r < 0)
        return error_wrap(err, "failed to get disk format of disk %s", device);
    memcpy(ret, found, strlen(found) + 1);
    return 0;
}

static int probe_uuid(int fd, const char *type, char ret[DEVICE_UUID_BYTES], struct error *err)
{
    _cleanup_(probe_free) blkid_probe p = NULL;
    char given[DEVICE_FORMAT_BYTES], ext4[] = "ext4", ext3[] = "ext3", ext2[] = "ext2";
    bool is_ext = strncmp(type, "ext", 3) == 0; /* older versions may be mounted as ext4 */
    char *names[] = { given, is_ext ? ext4 : NULL, ext3, ext2, NULL };
    const char *uuid = "";
    int r = probe_new(fd, BLKID_SUBLKS_UUID | BLKID_SUBLKS_TYPE, &p, err);

    if (r < 0)
        return r;
    (void)snprintf(given, sizeof given, "%s", type);
    (void)blkid_probe_filter_superblocks_type(p, BLKID_FLTR_ONLYIN, names);
    r = probe_run(p, err);
    if (r < 0)
        return r;
    if (r == 0 && blkid_probe_lookup_value(p, "UUID", &uuid, NULL) != 0)
        uuid = "";
    if (strlen(uuid) >= DEVICE_UUID_BYTES)
        return error_set(err, ERR_TOO_LARGE, "UUID is too long");
    (void)snprintf(ret, DEVICE_UUID_BYTES, "%s", uuid);
    return 0;
}

int device_uuid(const char *device, const char *type, char ret[DEVICE_UUID_BYTES], struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    int r = device_open(device, 0, &fd, err);

    if (r == 0)
        r = sys_here ? probe_model(fd, true, ret, DEVICE_UUID_BYTES, err) : probe_uuid(fd, type, ret, err);
    return r < 0 ? error_wrap(err, "cannot determine the UUID of the file system on %s", device) : 0;
}

/* --- Tools --- */

/* Runs a tool to its end. The caller evaluates the exit code. */
static int tool_run(const struct host_tools *t, const char *const *argv, struct buf *output, int *ret_code,
                    struct error *err)
{
    struct command c = {
        .what = argv[0],
        .argv = argv,
        .path = t->commands_path,
        .stop = t->stop,
        .limit_ns = TOOL_LIMIT_NS,
        .output = output,
        .exit_code = ret_code,
    };

    return command_run(&c, err);
}

/* The end of the output, where tools print the reason, as much as fits in an error. */
static struct str tool_output_end(const struct buf *output)
{
    struct str said = str_trim(buf_str(output));
    size_t from = said.len > OUTPUT_SHOWN_BYTES_MAX ? said.len - OUTPUT_SHOWN_BYTES_MAX : 0;

    while (from > 0 && from < said.len && ((unsigned char)said.s[from] & 0xC0) == 0x80)
        from++; /* do not cut inside a character */
    return (struct str){ said.s + from, said.len - from };
}

/* ["a" "b"] */
static void add_quoted(struct buf *b, struct texts texts)
{
    char text[QUOTED_BYTES];

    buf_add_char(b, '['); /* failures are sticky, and cost only a list in an error */
    for (uint32_t i = 0; i < texts.count; i++)
        buf_addf(b, "%s%s", i ? " " : "", quote_text(text, sizeof text, str_of(texts.items[i])));
    buf_add_char(b, ']');
}

/* A type becomes part of a command's name. */
static int check_type(const char *type, struct error *err)
{
    size_t len = strlen(type);

    if (len == 0 || len >= DEVICE_FORMAT_BYTES || type[0] == '.' || type[0] == '-' ||
        strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != len)
        return error_set(err, ERR_INVALID, "'%.100s' is not a file system type", type);
    return 0;
}

static int format_failed(const struct mount_plan *plan, enum err code, const char *exit,
                         const struct buf *output, struct error *err)
{
    _cleanup_(buf_done_p) struct buf options = BUF_INIT(QUOTED_BYTES);
    char disk[QUOTED_BYTES], type[QUOTED_BYTES], target[QUOTED_BYTES];
    struct str said = tool_output_end(output);

    add_quoted(&options, plan->options);
    return error_set(
        err, code, "format of disk %s failed: type:(%s) target:(%s) options:(%s) errcode:(%s) output:(%.*s) ",
        quote_text(disk, sizeof disk, str_of(plan->source)),
        quote_text(type, sizeof type, str_of(plan->type)),
        quote_text(target, sizeof target, str_of(plan->target)), buf_cstr(&options), exit, STR_ARG(said));
}

static bool is_ext(const char *type)
{
    return strcmp(type, "ext3") == 0 || strcmp(type, "ext4") == 0;
}

static int device_format(const struct host_tools *t, const struct mount_plan *plan, struct error *err)
{
    _cleanup_(buf_done_p) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
    char command[DEVICE_FORMAT_BYTES + 8], exit[32];
    const char *argv[5] = { command };
    struct error failure = { 0 };
    size_t count = 1;
    int code = 0, r;

    (void)snprintf(command, sizeof command, "mkfs.%s", plan->type);
    if (is_ext(plan->type)) {
        argv[count++] = "-F";
        argv[count++] = "-m0";
    } else if (strcmp(plan->type, "xfs") == 0) {
        argv[count++] = "-f";
    }
    argv[count++] = plan->source;
    r = tool_run(t, argv, &output, &code, &failure);
    if (r < 0)
        return format_failed(plan, failure.code, failure.msg, &output, err);
    if (code == 0)
        return 0;
    (void)snprintf(exit, sizeof exit, "exit status %d", code);
    return format_failed(plan, ERR_IO, exit, &output, err);
}

/* Only errors that fsck could not correct, and a cancellation, are failures. */
static int device_check(const struct host_tools *t, const char *device, enum format_failure *ret_why,
                        struct error *err)
{
    _cleanup_(buf_done_p) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
    const char *argv[] = { "fsck", "-a", device, NULL };
    int code = 0, r = tool_run(t, argv, &output, &code, err);

    if (r == -ERR_TIMEOUT || r == -ERR_CANCELLED)
        return r;
    if (r < 0 || code != 4) /* not installed, or another problem: the mount decides */
        return 0;
    struct str said = tool_output_end(&output);
    *ret_why = FORMAT_HAS_ERRORS;
    return error_set(err, ERR_IO, "'fsck' found errors on device %s but could not correct them: %.*s", device,
                     STR_ARG(said));
}

/* --- Format and mount --- */

static bool is_read_only(const struct mount_plan *plan)
{
    const struct texts lists[] = { plan->options, plan->secret_options };

    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (uint32_t i = 0; i < lists[l].count; i++)
            if (strcmp(lists[l].items[i], "ro") == 0)
                return true;
    return false;
}

/* Makes sure that there is a sound file system. *ret_why: FORMAT_MISMATCH also on success. */
static int device_prepare(const struct host_tools *t, const struct mount_plan *plan,
                          enum format_failure *ret_why, struct error *err)
{
    char found[DEVICE_FORMAT_BYTES] = "";
    int r;

    *ret_why = FORMAT_UNREADABLE;
    r = device_probe(plan->source, found, err);
    if (r < 0)
        return r;
    if (found[0] == '\0') {
        *ret_why = FORMAT_READ_ONLY;
        if (is_read_only(plan))
            return error_set(err, ERR_INVALID,
                             "cannot mount unformatted disk %s as we are manipulating it in read-only mode",
                             plan->source);
        *ret_why = FORMAT_FAILED;
        r = device_format(t, plan, err);
        if (r < 0)
            return r;
        *ret_why = FORMAT_OK;
        return 0;
    }
    *ret_why = strcmp(found, plan->type) == 0 ? FORMAT_OK : FORMAT_MISMATCH;
    return is_read_only(plan) ? 0 : device_check(t, plan->source, ret_why, err);
}

int device_format_and_mount(const struct host_tools *t, const struct mount_plan *plan,
                            enum format_failure *ret_why, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    const char **options = arena_array(&a, (size_t)plan->options.count + 1, sizeof *options);
    struct mount_plan full = *plan;
    enum format_failure why = FORMAT_FAILED;
    int r;

    *ret_why = why;
    if (!options)
        return error_no_memory(err);
    for (uint32_t i = 0; i < plan->options.count; i++)
        options[i] = plan->options.items[i];
    options[plan->options.count] = "defaults";
    full.options = (struct texts){ options, plan->options.count + 1 };
    full.type = plan->type[0] ? plan->type : DEFAULT_TYPE;
    r = check_type(full.type, err);
    if (r == 0)
        r = device_prepare(t, &full, &why, err);
    if (r == 0) {
        r = host_mount(t, &full, err);
        why = why == FORMAT_MISMATCH ? FORMAT_MISMATCH : FORMAT_MOUNT_FAILED;
    }
    *ret_why = r < 0 ? why : FORMAT_OK;
    return r;
}

/* --- Growing --- */

static int grow_with(const struct host_tools *t, const char *const *argv, const char *name,
                     const char *device, struct error *err)
{
    _cleanup_(buf_done_p) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
    struct error failure = { 0 };
    char exit[32];
    int code = 0, r = tool_run(t, argv, &output, &code, &failure);

    if (r == 0 && code == 0)
        return 0;
    (void)snprintf(exit, sizeof exit, "exit status %d", code);
    struct str said = tool_output_end(&output);
    return error_set(err, r < 0 ? failure.code : ERR_IO, "resize of device %s failed: %s. %s output: %.*s",
                     device, r < 0 ? failure.msg : exit, name, STR_ARG(said));
}

int device_grow(const struct host_tools *t, const char *device, const char *path, bool *ret_grown,
                struct error *err)
{
    const char *resize2fs[] = { "resize2fs", device, NULL };
    const char *xfs_growfs[] = { "xfs_growfs", "-d", path, NULL };
    const char *btrfs[] = { "btrfs", "filesystem", "resize", "max", path, NULL };
    char type[DEVICE_FORMAT_BYTES] = "";
    int r = device_probe(device, type, err);

    if (r < 0)
        return r;
    if (type[0] == '\0') {
        *ret_grown = false;
        return 0;
    }
    if (is_ext(type))
        r = grow_with(t, resize2fs, "resize2fs", device, err);
    else if (strcmp(type, "xfs") == 0)
        r = grow_with(t, xfs_growfs, "xfs_growfs", device, err);
    else if (strcmp(type, "btrfs") == 0)
        r = grow_with(t, btrfs, "btrfs", device, err);
    else
        r = error_set(err, ERR_UNSUPPORTED,
                      "ResizeFS.Resize - resize of format %s is not supported for device %s mounted at %s",
                      type, device, path);
    if (r == 0)
        *ret_grown = true;
    return r;
}

/* The number after "NAME" on its own line: "total_bytes\t\t268435456". */
static bool find_number(struct str text, const char *name, uint64_t *ret)
{
    while (text.s) {
        struct str line = str_next(&text, '\n');
        size_t len = strlen(name);
        if (str_has_prefix(line, name) && line.len > len && (line.s[len] == '\t' || line.s[len] == ' '))
            return str_to_uint64(str_trim((struct str){ line.s + len, line.len - len }), ret);
    }
    return false;
}

/* Only btrfs reports how much of the device it uses; its last sector may be incomplete. */
static int btrfs_needs_growing(const struct host_tools *t, const char *device, bool *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
    const char *argv[] = { "btrfs", "inspect-internal", "dump-super", "-f", device, NULL };
    uint64_t device_bytes = 0, total_bytes = 0, sector_bytes = 0;
    int code = 0, r = device_size(device, &device_bytes, err);

    if (r == 0)
        r = tool_run(t, argv, &output, &code, err);
    if (r < 0)
        return r;
    if (code != 0 || !find_number(buf_str(&output), "total_bytes", &total_bytes) ||
        !find_number(buf_str(&output), "sectorsize", &sector_bytes))
        return error_set(err, ERR_IO, "cannot determine the size of the btrfs on device %s: exit status %d",
                         device, code);
    *ret = device_bytes > total_bytes && device_bytes - total_bytes > sector_bytes;
    return 0;
}

int device_needs_growing(const struct host_tools *t, const char *device, const char *path, bool *ret,
                         struct error *err)
{
    char type[DEVICE_FORMAT_BYTES] = "";
    bool read_only = false;
    int r = device_is_read_only(device, &read_only, err);

    if (r == 0 && !read_only)
        r = device_probe(device, type, err);
    if (r < 0)
        return r;
    if (read_only || type[0] == '\0') {
        *ret = false;
        return 0;
    }
    if (strcmp(type, "btrfs") == 0)
        return btrfs_needs_growing(t, device, ret, err);
    if (!is_ext(type) && strcmp(type, "xfs") != 0)
        return error_set(err, ERR_UNSUPPORTED, "file system %s on device %s mounted at %s cannot be grown",
                         type, device, path);
    *ret = true; /* the tools find out whether there is anything to do */
    return 0;
}

int device_grow_if_needed(const struct host_tools *t, const char *device, const char *path, bool *ret_done,
                          struct error *err)
{
    char type[DEVICE_FORMAT_BYTES] = "";
    bool needs = false;
    int r = device_needs_growing(t, device, path, &needs, err);

    if (r == 0 && needs)
        return device_grow(t, device, path, ret_done, err);
    if (r == 0)
        r = device_probe(device, type, err);
    if (r == 0)
        *ret_done = type[0] != '\0';
    return r;
}
