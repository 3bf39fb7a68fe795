/* Devices: real file systems on loop devices, and scripts in place of the tools where their arguments and
 * failures are at stake. */
#include "tests/unit/test_mounts.h"

#include <linux/capability.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "host/device.h"
#include "io/file.h"

#define MIB ((off_t)1 << 20)

static struct error err;
static const struct host_tools tools = { 0 };

static const char *probe(const char *device)
{
    static char type[DEVICE_FORMAT_BYTES];

    ASSERT_OK(device_probe(device, type, &err));
    return type;
}

/* A directory, a device in it, and scripts for tools. */
struct bench {
    struct test_dir *d;
    char device[32];
    char target[TEST_PATH_BYTES * 2];
    struct host_tools own; /* the scripts */
};

static struct bench bench_new(off_t bytes)
{
    struct bench b = { .d = mounts_dir_new() };

    loop_device_new(b.d, "disk", bytes, b.device);
    (void)snprintf(b.target, sizeof b.target, "%s/m", b.d->path);
    assert_int_equal(mkdir(b.target, 0755), 0);
    b.own.commands_path = b.d->path;
    return b;
}

static void bench_done(struct bench *b)
{
    b->d = mounts_dir_free(b->d);
}

static void put_command(const struct bench *b, const char *name, const char *body)
{
    char text[TEST_PATH_BYTES * 4];

    (void)snprintf(text, sizeof text, "#!/bin/sh\necho \"%s $*\" >> %s/log\n%s\n", name, b->d->path, body);
    put_file(in_dir(b->d, name), text);
    assert_int_equal(chmod(in_dir(b->d, name), 0755), 0);
}

/* What was called, with the device and the target cut out; the next calls are told afresh. */
static const char *calls(const struct bench *b)
{
    static char out[4096];
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    size_t len = 0;

    if (access(in_dir(b->d, "log"), F_OK) < 0)
        return "";
    ASSERT_OK(io_read_file(in_dir(b->d, "log"), 2048, &text, &err));
    for (const char *at = buf_cstr(&text); *at;) {
        bool is_device = strncmp(at, b->device, strlen(b->device)) == 0;
        bool is_target = strncmp(at, b->target, strlen(b->target)) == 0;
        out[len++] = is_device ? 'D' : is_target ? 'T' : *at;
        at += is_device ? strlen(b->device) : is_target ? strlen(b->target) : 1;
    }
    out[len] = '\0';
    assert_int_equal(unlink(in_dir(b->d, "log")), 0);
    return out;
}

/* --- Probing --- */

/* A partition table with one partition of that type, from sector 2048 on, on the device $D. */
#define PARTITIONED(type)                                                  \
    "printf '\\0\\0\\0\\0" type "\\0\\0\\0\\0\\10\\0\\0\\0\\100\\0\\0' | " \
    "dd of=$D bs=1 seek=446 2>/dev/null; printf '\\125\\252' | dd of=$D bs=1 seek=510 2>/dev/null"

TEST(what_is_on_a_device)
{
    static const struct {
        const char *make; /* $D: the device */
        off_t mib;
        const char *expected;
    } rows[] = {
        { ":", 16, "" },
        { "mkfs.ext4 -q -F -m0 $D", 16, "ext4" },
        { "mkfs.ext3 -q -F $D", 16, "ext3" },
        { "mkfs.ext2 -q -F $D", 16, "ext2" },
        { "mkfs.xfs -q -f $D", 320, "xfs" },
        { "mkfs.btrfs -q -f $D >/dev/null 2>&1", 128, "btrfs" },
        { "mkswap $D >/dev/null 2>&1", 16, "swap" },
        { PARTITIONED("\\203"), 16, DEVICE_PARTITIONS },
        { PARTITIONED("\\356"), 16, DEVICE_PARTITIONS }, /* the cover of a GPT */
        { "head -c 65536 /dev/urandom > $D", 16, "" },   /* as the tool has it: no signature, no format */
    };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(bench_done) struct bench b = bench_new(rows[i].mib * MIB);
        sh("D=%s; %s", b.device, rows[i].make);
        if (strcmp(rows[i].expected, probe(b.device)) != 0)
            fail_msg("%s: '%s', expected '%s'", rows[i].make, probe(b.device), rows[i].expected);
    }
}

TEST(what_cannot_be_probed_is_not_blank)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char type[DEVICE_FORMAT_BYTES] = "untouched", expected[512];

    put_file(in_dir(d, "file"), "");
    assert_int_equal(mkfifo(in_dir(d, "fifo"), 0600), 0);
    static const char *const names[] = { "file", "fifo", "." };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ASSERT_ERR(ERR_INVALID, device_probe(in_dir(d, names[i]), type, &err));
        (void)snprintf(expected, sizeof expected,
                       "failed to get disk format of disk %s: '%s' is not a block device",
                       in_dir(d, names[i]), in_dir(d, names[i]));
        ASSERT_STR(expected, err.msg);
    }
    ASSERT_ERR(ERR_NOT_FOUND, device_probe(in_dir(d, "absent"), type, &err));
    ASSERT_STR("untouched", type);
}

/* --- Format and mount --- */

TEST(a_blank_device_is_formatted_once)
{
    static const struct {
        const char *asked, *expected;
        off_t mib;
    } rows[] = {
        { "", "ext4", 16 }, { "ext3", "ext3", 16 }, { "xfs", "xfs", 320 }, { "btrfs", "btrfs", 128 }
    };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(bench_done) struct bench b = bench_new(rows[i].mib * MIB);
        struct mount_plan plan = { b.device, b.target, rows[i].asked, LIST("noatime") };
        enum format_failure why = FORMAT_FAILED;
        ASSERT_OK(device_format_and_mount(&tools, &plan, &why, &err));
        ASSERT_INT(FORMAT_OK, why);
        ASSERT_STR(rows[i].expected, probe(b.device));
        put_file(in_dir(b.d, "m/kept"), "data");
        ASSERT_ERR(ERR_BUSY, device_check_unused(b.device, &err));
        ASSERT_OK(host_unmount(&tools, b.target, &err));
        ASSERT_OK(device_check_unused(b.device, &err));
        ASSERT_OK(device_format_and_mount(&tools, &plan, &why, &err)); /* and not again */
        assert_int_equal(access(in_dir(b.d, "m/kept"), F_OK), 0);
        ASSERT_OK(host_unmount(&tools, b.target, &err));
    }
}

TEST(tools_get_their_arguments)
{
    static const struct {
        const char *type, *expected;
    } rows[] = {
        { "ext4", "mkfs.ext4 -F -m0 D\n" },
        { "ext3", "mkfs.ext3 -F -m0 D\n" },
        { "xfs", "mkfs.xfs -f D\n" },
        { "vfat", "mkfs.vfat D\n" },
    };
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    char command[64];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct mount_plan plan = { b.device, b.target, rows[i].type, LIST("noatime") };
        enum format_failure why = FORMAT_OK;
        (void)snprintf(command, sizeof command, "mkfs.%s", rows[i].type);
        put_command(&b, command, "echo no luck; exit 3");
        ASSERT_ERR(ERR_IO, device_format_and_mount(&b.own, &plan, &why, &err));
        ASSERT_INT(FORMAT_FAILED, why);
        ASSERT_STR(rows[i].expected, calls(&b));
    }
}

TEST(a_failed_format_in_its_words)
{
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    struct mount_plan plan = { b.device, b.target, "", LIST("noatime") };
    enum format_failure why = FORMAT_OK;
    char expected[1024];

    put_command(&b, "mkfs.ext4", "echo no; echo luck >&2; exit 3");
    ASSERT_ERR(ERR_IO, device_format_and_mount(&b.own, &plan, &why, &err));
    (void)snprintf(expected, sizeof expected,
                   "format of disk \"%s\" failed: type:(\"ext4\") target:(\"%s\") options:([\"noatime\" "
                   "\"defaults\"]) errcode:(exit status 3) output:(no\nluck) ",
                   b.device, b.target);
    ASSERT_STR(expected, err.msg);
    plan.type = "zfs"; /* no such tool */
    ASSERT_ERR(ERR_NOT_FOUND, device_format_and_mount(&b.own, &plan, &why, &err));
    ASSERT_INT(FORMAT_FAILED, why);
}

TEST(types_that_are_paths_are_refused)
{
    static const char *const types[] = { "../evil", "a/b", "ext4 -x", ".x", "-x", "a;b", "é" };
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    enum format_failure why;

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct mount_plan plan = { b.device, b.target, types[i], LIST(NULL) };
        ASSERT_ERR(ERR_INVALID, device_format_and_mount(&b.own, &plan, &why, &err));
    }
    ASSERT_STR("", probe(b.device));
}

TEST(a_blank_device_is_not_mounted_read_only)
{
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    struct mount_plan plan = { b.device, b.target, "ext4", LIST("ro") };
    enum format_failure why = FORMAT_OK;
    char expected[256];

    ASSERT_ERR(ERR_INVALID, device_format_and_mount(&tools, &plan, &why, &err));
    (void)snprintf(expected, sizeof expected,
                   "cannot mount unformatted disk %s as we are manipulating it in read-only mode", b.device);
    ASSERT_STR(expected, err.msg);
    ASSERT_INT(FORMAT_READ_ONLY, why);
    plan.options = LIST(NULL);
    plan.secret_options = LIST("ro");
    ASSERT_ERR(ERR_INVALID, device_format_and_mount(&tools, &plan, &why, &err));
    ASSERT_STR("", probe(b.device));
}

TEST(a_device_with_data_is_checked_and_never_formatted)
{
    static const struct {
        const char *fsck, *expected; /* of the error; NULL: mounted */
        enum format_failure why;
    } rows[] = {
        { "exit 0", NULL, FORMAT_OK },
        { "exit 1", NULL, FORMAT_OK }, /* corrected */
        { "exit 8", NULL, FORMAT_OK },
        { "exit 2", NULL, FORMAT_OK },
        { "echo bad block; exit 4", "but could not correct them: bad block", FORMAT_HAS_ERRORS },
    };
    skip_without_private_mounts();
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    struct mount_plan plan = { b.device, b.target, "ext4", LIST(NULL) };
    enum format_failure why;

    sh("mkfs.ext4 -q -F %s", b.device);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put_command(&b, "fsck", rows[i].fsck);
        int r = device_format_and_mount(&b.own, &plan, &why, &err);
        ASSERT_STR("fsck -a D\n", calls(&b));
        ASSERT_INT(rows[i].why, why);
        ASSERT_INT(rows[i].expected ? -ERR_IO : 0, r);
        if (rows[i].expected)
            assert_non_null(strstr(err.msg, rows[i].expected));
        else
            ASSERT_OK(host_unmount(&tools, b.target, &err));
    }
    plan.options = LIST("ro"); /* not checked */
    ASSERT_OK(device_format_and_mount(&b.own, &plan, &why, &err));
    ASSERT_STR("", calls(&b));
    ASSERT_OK(host_unmount(&tools, b.target, &err));
    assert_int_equal(unlink(in_dir(b.d, "fsck")), 0); /* and where there is no fsck */
    plan.options = LIST(NULL);
    ASSERT_OK(device_format_and_mount(&b.own, &plan, &why, &err));
}

TEST(another_file_system_than_asked_for)
{
    skip_without_private_mounts();
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    struct mount_plan plan = { b.device, b.target, "xfs", LIST(NULL) };
    enum format_failure why = FORMAT_OK;

    sh("mkfs.ext4 -q -F %s", b.device);
    assert_true(device_format_and_mount(&tools, &plan, &why, &err) < 0);
    ASSERT_INT(FORMAT_MISMATCH, why);
    assert_non_null(strstr(err.msg,
                           "mount failed: exit status 32\nMounting command: mount\nMounting arguments: "
                           "-t xfs -o defaults /dev/loop"));
    ASSERT_STR("ext4", probe(b.device));
    plan.type = "ext3"; /* the mount decides, and this kernel's ext4 may do it */
    int r = device_format_and_mount(&tools, &plan, &why, &err);
    ASSERT_INT(r < 0 ? FORMAT_MISMATCH : FORMAT_OK, why);
    _cleanup_(bench_done) struct bench parts = bench_new(16 * MIB);
    sh("D=%s; %s", parts.device, PARTITIONED("\\203"));
    plan.source = parts.device;
    plan.target = parts.target;
    plan.type = "ext4";
    assert_true(device_format_and_mount(&tools, &plan, &why, &err) < 0);
    ASSERT_INT(FORMAT_MISMATCH, why);
    ASSERT_STR(DEVICE_PARTITIONS, probe(parts.device));
}

TEST(failures_have_their_kinds)
{
    skip_without_private_mounts();
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    struct mount_plan plan = { in_dir(b.d, "absent"), b.target, "ext4", LIST(NULL) };
    enum format_failure why = FORMAT_OK;
    atomic_int stop = 1;

    ASSERT_ERR(ERR_NOT_FOUND, device_format_and_mount(&tools, &plan, &why, &err));
    ASSERT_INT(FORMAT_UNREADABLE, why);
    sh("mkfs.ext4 -q -F %s", b.device);
    plan.source = b.device;
    plan.options = LIST("no-such-option");
    assert_true(device_format_and_mount(&tools, &plan, &why, &err) < 0);
    ASSERT_INT(FORMAT_MOUNT_FAILED, why);
    ASSERT_INT(0, mounts_in(b.d->path));
    b.own.stop = &stop;
    put_command(&b, "fsck", "exec /bin/sleep 600");
    ASSERT_ERR(ERR_CANCELLED, device_format_and_mount(&b.own, &plan, &why, &err));
}

/* --- Growing --- */

/* The file behind the loop device becomes larger, and the device with it. */
static void enlarge(const struct bench *b, off_t bytes)
{
    _cleanup_(fd_closep) int fd = open(b->device, O_RDWR | O_CLOEXEC);

    assert_int_equal(truncate(in_dir(b->d, "disk"), bytes), 0);
    assert_int_equal(ioctl(fd, LOOP_SET_CAPACITY, 0), 0);
}

static uint64_t fs_bytes(const char *path)
{
    struct statvfs st;

    assert_int_equal(statvfs(path, &st), 0);
    return (uint64_t)st.f_blocks * st.f_frsize;
}

/* ext3 and ext4 grow while they are mounted only for processes with CAP_SYS_RESOURCE, which root of a
 * container may lack. */
static bool can_grow_mounted(const char *type)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

    if (strncmp(type, "ext", 3) != 0)
        return true;
    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    return data[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective & CAP_TO_MASK(CAP_SYS_RESOURCE);
}

TEST(file_systems_fill_their_devices)
{
    static const struct {
        const char *type;
        off_t from_mib, to_mib;
        bool is_asked; /* needs growing, also when there is nothing to grow */
    } rows[] = { { "ext4", 16, 64, true },
                 { "ext3", 16, 64, true },
                 { "xfs", 320, 640, true },
                 { "btrfs", 128, 256, false } };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(bench_done) struct bench b = bench_new(rows[i].from_mib * MIB);
        struct mount_plan plan = { b.device, b.target, rows[i].type, LIST(NULL) };
        enum format_failure why;
        bool needs = true, grown = false;
        uint64_t before, bytes = 0;
        ASSERT_OK(device_format_and_mount(&tools, &plan, &why, &err));
        ASSERT_OK(device_needs_growing(&tools, b.device, b.target, &needs, &err));
        ASSERT_INT(rows[i].is_asked, needs);
        before = fs_bytes(b.target);
        enlarge(&b, rows[i].to_mib * MIB);
        ASSERT_OK(device_size(b.device, &bytes, &err));
        ASSERT_INT(rows[i].to_mib * MIB, bytes);
        ASSERT_OK(device_needs_growing(&tools, b.device, b.target, &needs, &err));
        assert_true(needs);
        bool is_mounted = can_grow_mounted(rows[i].type);
        if (!is_mounted) {
            ASSERT_OK(host_unmount(&tools, b.target, &err));
            sh("e2fsck -fp %s >/dev/null", b.device);
        }
        ASSERT_OK(device_grow(&tools, b.device, b.target, &grown, &err));
        assert_true(grown);
        if (!is_mounted)
            ASSERT_OK(device_format_and_mount(&tools, &plan, &why, &err));
        assert_true(fs_bytes(b.target) > before * 3 / 2);
        ASSERT_OK(device_grow(&tools, b.device, b.target, &grown, &err)); /* again: nothing to do */
        ASSERT_OK(host_unmount(&tools, b.target, &err));
    }
}

TEST(what_is_not_grown)
{
    skip_without_private_mounts();
    _cleanup_(bench_done) struct bench b = bench_new(16 * MIB);
    bool needs = true, grown = true;
    int on = 1, off = 0;

    ASSERT_OK(device_needs_growing(&tools, b.device, b.target, &needs, &err)); /* blank */
    ASSERT_OK(device_grow(&tools, b.device, b.target, &grown, &err));
    assert_false(needs || grown);
    sh("mkfs.ext2 -q -F %s", b.device);
    ASSERT_ERR(ERR_UNSUPPORTED, device_needs_growing(&tools, b.device, b.target, &needs, &err));
    ASSERT_ERR(ERR_UNSUPPORTED, device_grow(&tools, b.device, "/x", &grown, &err));
    assert_non_null(
        strstr(err.msg, "ResizeFS.Resize - resize of format ext2 is not supported for device /dev/loop"));
    assert_non_null(strstr(err.msg, " mounted at /x"));
    _cleanup_(fd_closep) int fd = open(b.device, O_RDWR | O_CLOEXEC);
    assert_int_equal(ioctl(fd, BLKROSET, &on), 0);
    needs = true;
    int r = device_needs_growing(&tools, b.device, b.target, &needs, &err);
    assert_int_equal(ioctl(fd, BLKROSET, &off), 0); /* it would stay with the device's number */
    ASSERT_OK(r);
    assert_false(needs);
}

TEST(growing_that_fails_is_told)
{
    static const struct {
        const char *make, *tool;
        off_t mib;
        const char *args, *expected;
    } rows[] = {
        { "mkfs.ext4 -q -F", "resize2fs", 16, "resize2fs D\n",
          "failed: exit status 5. resize2fs output: no" },
        { "mkfs.xfs -q -f", "xfs_growfs", 320, "xfs_growfs -d T\n",
          "failed: exit status 5. xfs_growfs output: no" },
        { "mkfs.btrfs -q -f", "btrfs", 128, "btrfs filesystem resize max T\n",
          "failed: exit status 5. btrfs output: no" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(bench_done) struct bench b = bench_new(rows[i].mib * MIB);
        bool grown = false;
        sh("%s %s >/dev/null 2>&1", rows[i].make, b.device);
        put_command(&b, rows[i].tool, "echo no; exit 5");
        ASSERT_ERR(ERR_IO, device_grow(&b.own, b.device, b.target, &grown, &err));
        ASSERT_STR(rows[i].args, calls(&b));
        assert_non_null(strstr(err.msg, "resize of device /dev/loop"));
        assert_non_null(strstr(err.msg, rows[i].expected));
        assert_false(grown);
    }
}

TEST(a_btrfs_that_cannot_be_read)
{
    _cleanup_(bench_done) struct bench b = bench_new(128 * MIB);
    static const char *const bodies[] = { "exit 1", "echo total_bytes x; echo sectorsize 4096",
                                          "echo total_bytes 4096", "echo xtotal_bytes 1" };
    bool needs = true;

    sh("mkfs.btrfs -q -f %s >/dev/null 2>&1", b.device);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        put_command(&b, "btrfs", bodies[i]);
        ASSERT_ERR(ERR_IO, device_needs_growing(&b.own, b.device, b.target, &needs, &err));
        ASSERT_STR("btrfs inspect-internal dump-super -f D\n", calls(&b));
    }
    put_command(&b, "btrfs", "printf 'total_bytes\\t\\t134217728\\nsectorsize\\t4096\\n'");
    ASSERT_OK(device_needs_growing(&b.own, b.device, b.target, &needs, &err));
    assert_false(needs);
}

/* --- Loop devices --- */

TEST(files_get_one_loop_device)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char first[PATH_MAX], second[PATH_MAX], found[PATH_MAX] = "untouched";

    put_file(in_dir(d, "f"), "");
    assert_int_equal(truncate(in_dir(d, "f"), MIB), 0);
    assert_int_equal(symlink("f", in_dir(d, "link")), 0);
    ASSERT_ERR(ERR_NOT_FOUND, loop_find(in_dir(d, "f"), found, &err));
    ASSERT_STR("untouched", found);
    ASSERT_OK(loop_attach(in_dir(d, "f"), false, first, &err));
    ASSERT_OK(loop_attach(in_dir(d, "f"), false, second, &err));
    ASSERT_STR(first, second);
    ASSERT_OK(loop_find(in_dir(d, "link"), found, &err)); /* where it leads */
    ASSERT_STR(first, found);
    ASSERT_INT(1, loops_in(d));
    ASSERT_OK(loop_detach(first, &err));
    ASSERT_INT(0, loops_in(d));
    ASSERT_OK(loop_detach(first, &err));
    ASSERT_OK(loop_detach("/dev/no-such-loop", &err));
    assert_true(loop_detach("/dev/null", &err) < 0);
}

TEST(a_deleted_file_is_found_still)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char device[PATH_MAX], found[PATH_MAX];
    int is_read_only = 0;

    put_file(in_dir(d, "f"), "");
    assert_int_equal(truncate(in_dir(d, "f"), MIB), 0);
    ASSERT_OK(loop_attach(in_dir(d, "f"), true, device, &err));
    _cleanup_(fd_closep) int fd = open(device, O_RDONLY | O_CLOEXEC);
    assert_int_equal(ioctl(fd, BLKROGET, &is_read_only), 0);
    ASSERT_INT(1, is_read_only);
    assert_int_equal(unlink(in_dir(d, "f")), 0);
    ASSERT_OK(loop_find(in_dir(d, "f"), found, &err));
    ASSERT_STR(device, found);
    ASSERT_OK(loop_detach(device, &err));
}

TEST(what_gets_no_loop_device)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char device[PATH_MAX];

    assert_int_equal(mkfifo(in_dir(d, "fifo"), 0600), 0);
    ASSERT_ERR(ERR_INVALID, loop_attach(in_dir(d, "fifo"), false, device, &err));
    ASSERT_ERR(ERR_INVALID, loop_attach(d->path, false, device, &err));
    ASSERT_ERR(ERR_NOT_FOUND, loop_attach(in_dir(d, "absent"), false, device, &err));
}

static void *attach_again(void *ctx)
{
    const struct test_dir *d = ctx;
    struct error ignored;
    char path[TEST_PATH_BYTES * 2], device[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/f", d->path);
    return loop_attach(path, false, device, &ignored) < 0 ? ctx : NULL;
}

TEST(threads_share_one_loop_device)
{
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    pthread_t threads[8];
    void *failed = NULL;

    put_file(in_dir(d, "f"), "");
    assert_int_equal(truncate(in_dir(d, "f"), MIB), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, attach_again, d), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    ASSERT_INT(1, loops_in(d));
}

TEST_MAIN()
