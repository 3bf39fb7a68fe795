/* Directories that are recognised: mounted or not, with the right marker, another one, or none. */
#include "tests/unit/test_mounts.h"

#include <pthread.h>

#include "host/mount_identity.h"
#include "io/file.h"

#define MARKER ".marker.json"
#define ID "01234567-89ab-4cde-8f01-23456789abcd"

static struct error err;
static struct test_dir *dir;
static char place[TEST_PATH_BYTES * 2];
static struct mount_identity rules;

/* The place, with a tmpfs if it is to be mounted. */
static void place_open(bool is_mounted)
{
    dir = mounts_dir_new();
    (void)snprintf(place, sizeof place, "%s/place", dir->path);
    rules = (struct mount_identity){
        .path = place, .setting = "must: false", .marker = MARKER, .kind = "pool", .about = "image"
    };
    sh("mkdir '%s'", place);
    if (is_mounted)
        sh("mount -t tmpfs tmpfs '%s'", place);
}

static void place_close(void)
{
    dir = mounts_dir_free(dir);
}

static const char *marker_path(void)
{
    static char path[TEST_PATH_BYTES * 3];

    (void)snprintf(path, sizeof path, "%s/" MARKER, place);
    return path;
}

/* The id, or the message of a failure. */
static const char *identify(void)
{
    static char ret[ERROR_MSG_BYTES_MAX];
    char id[UID_BYTES] = "untouched";
    int fd = -1, r = mount_identity_open(&rules, &fd, id, &err);

    if (r < 0) {
        ASSERT_INT(-ERR_UNAVAILABLE, r);
        ASSERT_INT(-1, fd);
        ASSERT_STR("untouched", id);
        return err.msg;
    }
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    (void)snprintf(ret, sizeof ret, "%s", id);
    return ret;
}

static void assert_says(const char *words)
{
    const char *said = identify();

    if (!strstr(said, words))
        fail_msg("%s\nin\n%s", words, said);
}

TEST(a_mount_is_required)
{
    char expected[TEST_PATH_BYTES * 4];

    place_open(false);
    (void)snprintf(expected, sizeof expected,
                   "pool image is not mounted at '%s': mount it there, or set must: false to use the "
                   "directory itself",
                   place);
    ASSERT_STR(expected, identify());
    rules.may_be_plain = true;
    ASSERT_STR("", identify());
    rules.may_be_plain = false;
    sh("rmdir '%s'", place);
    (void)snprintf(expected, sizeof expected,
                   "cannot open '%s', where pool image must be mounted: No such file or directory", place);
    ASSERT_STR(expected, identify());
    sh("echo > '%s'", place);
    assert_says("Not a directory");
    place_close();
}

/* A directory below a mount is none, and neither is what a link leads to. */
TEST(only_the_root_of_a_mount)
{
    char below[TEST_PATH_BYTES * 3], link[TEST_PATH_BYTES * 3];

    skip_without_private_mounts();
    place_open(true);
    ASSERT_STR("", identify());
    (void)snprintf(below, sizeof below, "%s/below", place);
    sh("mkdir '%s'", below);
    rules.path = below;
    assert_says("is not mounted at");
    sh("mount --bind '%s' '%s'", below, below);
    ASSERT_STR("", identify());
    (void)snprintf(link, sizeof link, "%s/link", dir->path);
    sh("ln -s place '%s'", link);
    rules.path = link;
    rules.may_be_plain = true;
    assert_says("must be mounted: ");
    place_close();
}

TEST(a_marker_is_made_once)
{
    char id[UID_BYTES], again[UID_BYTES];
    struct stat st;
    int fd = -1;

    place_open(false);
    rules.may_be_plain = true;
    ASSERT_OK(mount_identity_open(&rules, &fd, id, &err));
    ASSERT_STR("", id);
    ASSERT_OK(mount_identity_create(&rules, fd, "", id, &err));
    assert_true(uid_is_valid(str_of(id)));
    ASSERT_OK(mount_identity_create(&rules, fd, ID, again, &err)); /* somebody else was first */
    ASSERT_STR(id, again);
    ASSERT_STR(id, identify());
    assert_int_equal(stat(marker_path(), &st), 0);
    ASSERT_INT(0644, st.st_mode & 07777);
    sh("rm '%s'", marker_path());
    ASSERT_OK(mount_identity_create(&rules, fd, ID, id, &err));
    ASSERT_STR(ID, id);
    ASSERT_STR(ID, identify());
    sh("test \"$(ls -A '%s')\" = " MARKER, place);
    assert_int_equal(close(fd), 0);
    place_close();
}

/* The descriptor stays where it was opened: a marker does not go to what is mounted there meanwhile. */
TEST(the_descriptor_stays_on_its_file_system)
{
    char id[UID_BYTES];
    int fd = -1;

    skip_without_private_mounts();
    place_open(true);
    ASSERT_OK(mount_identity_open(&rules, &fd, id, &err));
    sh("mount -t tmpfs other '%s'", place);
    ASSERT_OK(mount_identity_create(&rules, fd, ID, id, &err));
    ASSERT_STR("", identify());
    sh("umount '%s'", place);
    ASSERT_STR(ID, identify());
    sh("umount -l '%s'", place);
    ASSERT_OK(mount_identity_create(&rules, fd, "", id, &err));
    ASSERT_STR(ID, id);
    assert_int_equal(access(marker_path(), F_OK), -1);
    assert_int_equal(close(fd), 0);
    place_close();
}

#define MEMBERS(format, kind, about, id) \
    "{\"format\":" format ",\"kind\":\"" kind "\",\"about\":\"" about "\",\"id\":\"" id "\"}"

TEST(markers_are_read_with_care)
{
    static const struct {
        const char *text;
        const char *result; /* the id, or a part of the message */
    } rows[] = {
        { MEMBERS("1", "pool", "image", ID), ID },
        { "{\"more\":[1],\"id\":\"" ID "\",\"about\":\"image\",\"kind\":\"pool\",\"format\":1}\n", ID },
        { MEMBERS("1", "pool", "lvm", ID), " holds pool lvm and not pool image, according to its file" },
        { MEMBERS("1", "export", "image", ID), " holds export image and not pool image" },
        { MEMBERS("2", "pool", "image", ID), "it is of a later version" },
        { MEMBERS("0", "pool", "image", ID), "it is of a later version" },
        { MEMBERS("1.5", "pool", "image", ID), "it is not a marker file" },
        { MEMBERS("1", "pool", "image", "../../etc"), "it is not a marker file" },
        { MEMBERS("1", "pool", "image", ""), "it is not a marker file" },
        { MEMBERS("1", "pool", "image", ID "0"), "it is not a marker file" },
        { "{\"format\":1}", "it is not a marker file" },
        { "[]", "it is not a marker file" },
        { "", "If that pool is mounted there, remove the file" },
        { "{", "If that pool is mounted there, remove the file" },
        { "\xff", "If that pool is mounted there, remove the file" },
    };

    place_open(false);
    rules.may_be_plain = true;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put_file(marker_path(), rows[i].text);
        if (strcmp(rows[i].result, ID) == 0)
            ASSERT_STR(ID, identify());
        else
            assert_says(rows[i].result);
    }
    place_close();
}

/* Anything but a small regular file is refused: what it leads to is not read. */
TEST(markers_that_are_no_files)
{
    place_open(false);
    rules.may_be_plain = true;
    put_file(in_dir(dir, "elsewhere"), MEMBERS("1", "pool", "image", ID));
    sh("ln -s ../elsewhere '%s'", marker_path());
    assert_says("cannot use");
    sh("rm '%s' && mkdir '%s'", marker_path(), marker_path());
    assert_says("is not a regular file");
    sh("rmdir '%s' && mkfifo '%s'", marker_path(), marker_path());
    assert_says("is not a regular file");
    sh("rm '%s' && head -c 5000 /dev/zero > '%s'", marker_path(), marker_path());
    assert_says("is larger than 4096 bytes");
    place_close();
}

/* Long texts of a foreign marker do not fill a message. */
TEST(foreign_markers_are_shown_in_part)
{
    char text[2048], name[1024];

    place_open(false);
    rules.may_be_plain = true;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(text, sizeof text, "{\"format\":1,\"kind\":\"pool\",\"about\":\"%s\",\"id\":\"" ID "\"}",
                   name);
    put_file(marker_path(), text);
    assert_says(" and not pool image");
    assert_true(strlen(err.msg) < 1024);
    place_close();
}

/* --- Several at once --- */

#define MAKERS 8

static void *make_marker(void *arg)
{
    char *ret = arg, before[UID_BYTES];
    struct error e;
    int fd = -1;

    if (mount_identity_open(&rules, &fd, before, &e) < 0 ||
        mount_identity_create(&rules, fd, "", ret, &e) < 0)
        ret[0] = '\0';
    (void)close(fd);
    return NULL;
}

TEST(markers_made_at_once_are_one)
{
    char ids[MAKERS][UID_BYTES];
    pthread_t threads[MAKERS];

    place_open(false);
    rules.may_be_plain = true;
    for (unsigned round = 0; round < 50; round++) {
        (void)unlink(marker_path());
        for (size_t i = 0; i < MAKERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, make_marker, ids[i]), 0);
        for (size_t i = 0; i < MAKERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (size_t i = 0; i < MAKERS; i++)
            ASSERT_STR(ids[0], ids[i]);
        ASSERT_STR(ids[0], identify());
    }
    place_close();
}

TEST_MAIN()
