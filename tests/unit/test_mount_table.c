/* The mount table: what is read from it, and what paths are in it. */
#include "tests/unit/test_mounts.h"

#include "base/str.h"
#include "host/mount_table.h"

static struct error err;

#define TABLE                                                                  \
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"                          \
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"                          \
    "28 27 0:25 / /data/vol\\0401/a\\134b rw shared:4 master:3 - tmpfs t rw\n" \
    "31 27 8:1 / /mnt/disks/ssd1 rw - ext4 /dev/sda1 rw,data=ordered\n"        \
    "32 27 8:1 /sub /mnt/line\\012end/x rw - ext4 /dev/sda1 rw\n"              \
    "33 27 254:0 /srv/a /pods/1/vol rw,noatime - ext4 /dev/vda rw\n"           \
    "34 27 254:0 /srv/a /pods/2/vol\\040(deleted) ro - ext4 /dev/vda rw\n"     \
    "35 27 254:0 /srv /srv/again rw - ext4 /dev/vda rw\n"                      \
    "36 31 0:30 / /mnt/disks/ssd1/in rw - tmpfs t rw\n"                        \
    "37 27 0:31 / /mnt/disks rw - tmpfs over rw\n"

static struct mount_table *parse(const char *text)
{
    struct mount_table *t = NULL;

    ASSERT_OK(mount_table_parse(str_of(text), &t, &err));
    return t;
}

TEST(entries_are_read_in_the_kernels_order)
{
    _cleanup_(mount_table_free_p) struct mount_table *t = parse(TABLE);
    const struct mount_entry *e;

    ASSERT_INT(10, mount_table_count(t));
    e = mount_table_at(t, 5);
    ASSERT_INT(33, e->id);
    ASSERT_INT(27, e->parent_id);
    ASSERT_INT(254, e->dev_major);
    ASSERT_INT(0, e->dev_minor);
    ASSERT_STR("/srv/a", e->root);
    ASSERT_STR("/pods/1/vol", e->target);
    ASSERT_STR("ext4", e->type);
    ASSERT_STR("/dev/vda", e->source);
    assert_non_null(strstr(e->options, "noatime"));
    ASSERT_STR("/data/vol 1/a\\b", mount_table_at(t, 2)->target);
    ASSERT_STR("/mnt/line\nend/x", mount_table_at(t, 4)->target);
    ASSERT_STR("/pods/2/vol", mount_table_at(t, 6)->target); /* without " (deleted)" */
    _cleanup_(mount_table_free_p) struct mount_table *gone =
        parse("31 27 8:1 / /a/b//deleted rw - ext4 /dev/sda1 rw\n");
    ASSERT_STR("/a/b", mount_table_at(gone, 0)->target);
}

TEST(texts_that_are_no_table)
{
    static const char *const rows[] = {
        "",
        "22 27\n",
        "nonsense\n",
        "/dev/sda1 / ext4 rw 0 0\n",
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n29 27 x\n",
        "22 27 0:21 / /proc rw,relatime\n",
        "22 27 0:21 / relative rw - proc proc rw\n",
        "22 27 0-21 / /proc rw - proc proc rw\n",
    };
    struct mount_table *t = NULL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = mount_table_parse(str_of(rows[i]), &t, &err);
        if (r != -ERR_INVALID)
            fail_msg("row %zu: %d", i, r);
        assert_null(t);
    }
}

TEST(the_entry_right_at_a_path)
{
    _cleanup_(mount_table_free_p) struct mount_table *t = parse(TABLE "38 1 0:40 / /proc rw - proc new rw\n");
    static const char *const none[] = { "/pro", "/proc/1", "/mnt", "/x" };

    ASSERT_INT(38, mount_table_find(t, "/proc")->id); /* the last */
    ASSERT_INT(27, mount_table_find(t, "/")->id);
    ASSERT_INT(28, mount_table_find(t, "/data/vol 1/a\\b")->id);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_null(mount_table_find(t, none[i]));
}

TEST(the_entry_around_a_path)
{
    static const struct {
        const char *path;
        int id;
    } rows[] = {
        { "/", 27 },
        { "/etc", 27 },
        { "/proc", 27 }, /* "/" stands behind it in this table, and so covers it */
        { "/pods/1/vol", 33 },
        { "/pods/1/vol/x/y", 33 },
        { "/pods/1/volume", 27 },
        { "/mnt/disks/ssd1/x", 37 }, /* covered */
        { "/mnt/disks/ssd1/in", 37 },
        { "/mnt/line\nend/x/y", 32 },
    };
    _cleanup_(mount_table_free_p) struct mount_table *t = parse(TABLE);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int id = mount_table_around(t, rows[i].path)->id;
        if (id != rows[i].id)
            fail_msg("%s: %d, expected %d", rows[i].path, id, rows[i].id);
    }
    _cleanup_(mount_table_free_p) struct mount_table *other =
        parse("31 27 8:1 / /a rw - ext4 /dev/sda1 rw\n");
    assert_null(mount_table_around(other, "/b"));
    assert_null(mount_table_around(other, "/"));
    ASSERT_INT(31, mount_table_around(other, "/a")->id);
}

struct seen {
    char text[256];
    unsigned max;
};

static int see(void *ctx, const struct mount_entry *e)
{
    struct seen *s = ctx;
    size_t len = strlen(s->text);

    (void)snprintf(s->text + len, sizeof s->text - len, "%s%s", len ? " " : "", e->target);
    return s->max != 0 && --s->max == 0;
}

TEST(other_mounts_of_the_same_directory)
{
    static const struct {
        const char *path, *expected;
    } rows[] = {
        { "/srv/a", "/pods/1/vol /pods/2/vol" },
        { "/pods/1/vol", "/pods/2/vol" },
        { "/srv/again/a", "/pods/1/vol /pods/2/vol" },
        { "/srv/again", "" },
        { "/srv", "/srv/again" },
        { "/srv/b", "" },
        { "/srv/a/b", "" },
        { "/", "" },
        { "/mnt/line\nend/x", "" },
        { "/data/vol 1/a\\b", "" },
    };
    _cleanup_(mount_table_free_p) struct mount_table *t = parse(TABLE);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen s = { 0 };
        mount_table_refs(t, rows[i].path, see, &s);
        if (strcmp(rows[i].expected, s.text) != 0)
            fail_msg("%s: '%s', expected '%s'", rows[i].path, s.text, rows[i].expected);
    }
    struct seen first = { .max = 1 };
    mount_table_refs(t, "/srv/a", see, &first);
    ASSERT_STR("/pods/1/vol", first.text);
}

TEST(mounts_at_and_below_are_found)
{
    static const struct {
        const char *path;
        bool at_too;
        const char *expected; /* NULL: nothing mounted */
    } rows[] = {
        { "/data", false, "/data/vol 1/a\\b" },
        { "/data/vol 1", false, "/data/vol 1/a\\b" },
        { "/data/vol 1/a\\b", false, NULL },
        { "/data/vol 1/a\\b", true, "/data/vol 1/a\\b" },
        { "/data/vol", true, NULL },
        { "/data/vol 1/a", true, NULL },
        { "/mnt/disks/ssd1", false, "/mnt/disks/ssd1/in" },
        { "/mnt/disks/ssd", true, NULL },
        { "/mnt/disks/ssd1/x", true, NULL },
        { "/mnt/line\nend", true, "/mnt/line\nend/x" },
        { "/rel", true, NULL },
        { "/a", false, "/a/b" }, /* "/a b" stands before it */
        { "/", false, "/a b" },
        { "/", true, "/" },
        { "/zzz", true, NULL },
    };
    _cleanup_(mount_table_free_p) struct mount_table *t =
        parse(TABLE "41 27 0:40 / /a\\040b rw - tmpfs t rw\n42 27 0:41 / /a/b rw - tmpfs t rw\n");

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct mount_entry *where = NULL;
        bool has = mount_table_has_below(t, rows[i].path, rows[i].at_too, &where);
        if (has != (rows[i].expected != NULL) || (has && strcmp(rows[i].expected, where->target) != 0))
            fail_msg("%s: %s", rows[i].path, has ? where->target : "none");
        ASSERT_INT(has, mount_table_has_below(t, rows[i].path, rows[i].at_too, NULL));
    }
}

TEST(the_kernels_own_table)
{
    _cleanup_(mount_table_free_p) struct mount_table *t = NULL;

    ASSERT_OK(mount_table_read(&t, &err));
    ASSERT_STR("proc", mount_table_find(t, "/proc")->type);
    ASSERT_ERR(ERR_BUSY, host_check_unmounted("/", false, &err));
    ASSERT_ERR(ERR_BUSY, host_check_unmounted("/proc", true, &err));
    ASSERT_OK(host_check_unmounted("/etc/nonexistent", true, &err));
}

TEST(mounts_are_seen_with_their_odd_names)
{
    skip_without_private_mounts();
    _cleanup_(mounts_dir_free_p) struct test_dir *d = mounts_dir_new();
    char expected[TEST_PATH_BYTES * 3 + 64];

    assert_int_equal(mkdir(in_dir(d, "a b\t\"\\\n"), 0700), 0);
    assert_int_equal(mount("tmpfs", in_dir(d, "a b\t\"\\\n"), "tmpfs", 0, "size=64k"), 0);
    (void)snprintf(expected, sizeof expected, "something is mounted at \"%s/a b\\t\\\"\\\\\\n\"", d->path);
    int r = host_check_unmounted(d->path, false, &err);
    int unmounted = umount(in_dir(d, "a b\t\"\\\n"));
    ASSERT_INT(0, unmounted);
    ASSERT_INT(-ERR_BUSY, r);
    ASSERT_STR(expected, err.msg);
    ASSERT_OK(host_check_unmounted(d->path, true, &err));
}

TEST_MAIN()
