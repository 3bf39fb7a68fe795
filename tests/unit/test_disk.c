/* Which disk is at a path: real mounts and loop devices. */
#include "tests/unit/test_mounts.h"

#include "host/disk.h"

#define UID "11111111-1111-4111-8111-111111111111"
#define MIB ((off_t)1 << 20)

static struct error err;

static const char *identify(const char *path)
{
    static char name[DISK_NAME_BYTES];

    ASSERT_OK(disk_identify(/* table= */ NULL, path, name, &err));
    return name;
}

static void make_dir(const struct test_dir *d, const char *name)
{
    assert_int_equal(mkdir(in_dir(d, name), 0755), 0);
}

TEST(disks_compared)
{
    static const struct {
        const char *recorded, *present;
        enum disk_match match;
    } rows[] = {
        { "uuid:a", "uuid:a", DISK_SAME },
        { "uuid:a", "uuid:b", DISK_OTHER },
        { "uuid:a", "uuid:a:/dir", DISK_OTHER },
        { "uuid:a", "mount:tmpfs:x", DISK_OTHER },
        { "mount:tmpfs:x", "mount:tmpfs:x", DISK_SAME },
        { "uuid:a", "mount", DISK_UNSURE },
        { "mount", "uuid:a", DISK_UNSURE },
        { "mount", "mount", DISK_UNSURE },
        { "", "uuid:a", DISK_UNSURE },
        { "device:wwid:a", "device:wwid:a", DISK_SAME },
        { "device:wwid:a", "device:wwid:b", DISK_OTHER },
        { "device:wwid:a", "device", DISK_UNSURE },
        { "device", "mount", DISK_OTHER },
        { "uuid:a", "device:wwid:a", DISK_OTHER },
        { "", "device:wwid:a", DISK_UNSURE },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_INT(rows[i].match, disk_compare(rows[i].recorded, rows[i].present));
}

/* The UUID is that of the file system, wherever it is mounted and whatever the device is called. */
TEST(a_file_system_by_its_uuid)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char device[32];

    make_dir(d, "one");
    loop_device_new(d, "disk", 16 * MIB, device);
    sh("mkfs.ext4 -q -U " UID " %s", device);
    assert_int_equal(mount(device, in_dir(d, "one"), "ext4", 0, NULL), 0);
    ASSERT_STR("uuid:" UID, identify(in_dir(d, "one")));
    make_dir(d, "two");
    assert_int_equal(mount(in_dir(d, "one"), in_dir(d, "two"), NULL, MS_BIND, NULL), 0);
    ASSERT_STR("uuid:" UID, identify(in_dir(d, "two")));
    /* A directory of it is another volume. */
    make_dir(d, "one/a b");
    make_dir(d, "three");
    assert_int_equal(mount(in_dir(d, "one/a b"), in_dir(d, "three"), NULL, MS_BIND, NULL), 0);
    ASSERT_STR("uuid:" UID ":/a%20b", identify(in_dir(d, "three")));
}

/* An ext2 file system that is mounted as ext4. */
TEST(an_older_file_system_by_its_uuid)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char device[32];

    make_dir(d, "m");
    loop_device_new(d, "disk", 16 * MIB, device);
    sh("mkfs.ext2 -q -U " UID " %s", device);
    assert_int_equal(mount(device, in_dir(d, "m"), "ext4", 0, NULL), 0);
    ASSERT_STR("uuid:" UID, identify(in_dir(d, "m")));
}

TEST(a_file_system_without_uuid)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();

    make_dir(d, "m");
    assert_int_equal(mount("na\xffme%", in_dir(d, "m"), "tmpfs", 0, NULL), 0);
    ASSERT_STR("mount:tmpfs:na%FFme%25", identify(in_dir(d, "m")));
}

/* A failure to look at the device says nothing about the disk: it is no file system without UUID. */
TEST(a_file_system_whose_device_cannot_be_examined)
{
    static const char text[] = "1 1 0:7 / /tmp rw - btrfs /dev/null/disk rw\n";
    _cleanup_(mount_table_free_p) struct mount_table *table = NULL;
    char name[DISK_NAME_BYTES];

    ASSERT_OK(mount_table_parse(str_of(text), &table, &err));
    ASSERT_OK(disk_identify(table, "/tmp", name, &err));
    ASSERT_STR("mount", name);
}

TEST(a_device_by_the_kernels_words)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char device[32], expected[TEST_PATH_BYTES * 2 + 32];

    loop_device_new(d, "disk", 16 * MIB, device);
    assert_int_equal(symlink(device, in_dir(d, "link")), 0);
    (void)snprintf(expected, sizeof expected, "device:loop:%s", in_dir(d, "disk"));
    ASSERT_STR(expected, identify(device));
    ASSERT_STR(expected, identify(in_dir(d, "link")));
}

TEST(what_is_no_disk)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char name[DISK_NAME_BYTES];

    make_dir(d, "plain");
    put_file(in_dir(d, "file"), "x");
    ASSERT_ERR(ERR_NOT_FOUND, disk_identify(NULL, in_dir(d, "plain"), name, &err));
    assert_non_null(strstr(err.msg, "nothing is mounted at"));
    ASSERT_ERR(ERR_NOT_FOUND, disk_identify(NULL, in_dir(d, "absent"), name, &err));
    ASSERT_ERR(ERR_INVALID, disk_identify(NULL, in_dir(d, "file"), name, &err));
}

TEST_MAIN()
