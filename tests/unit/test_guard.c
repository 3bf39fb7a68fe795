/* Real directories and links, bind mounts in a mount namespace of the test's own. Every test has a directory
 * with `vol`, the volume, `own`, Berth's own, and `pool`, which holds volumes. */
#include "tests/unit/test_mounts.h"

#include "host/guard.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "io/file.h"

static struct error err;

struct place {
    struct test_dir d;
    char own[TEST_PATH_BYTES * 2], pool[TEST_PATH_BYTES * 2];
    const char *own_list[2], *pool_list[2];
    struct guard_dirs dirs;
    struct host_guard *guard;
};

static int check_path(const struct host_guard *g, const char *path, struct error *e)
{
    _cleanup_(fd_closep) int fd = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);

    assert_true(fd >= 0);
    return host_guard_check(g, fd, path, e);
}

static void make_dir(const struct place *p, const char *name)
{
    assert_int_equal(mkdir(in_dir(&p->d, name), 0755), 0);
}

static void place_init(struct place *p, struct test_dir d)
{
    *p = (struct place){ .d = d };
    (void)snprintf(p->own, sizeof p->own, "%s/own", d.path);
    (void)snprintf(p->pool, sizeof p->pool, "%s/pool", d.path);
    p->own_list[0] = p->own;
    p->pool_list[0] = p->pool;
    p->dirs = (struct guard_dirs){ p->own_list, p->pool_list };
    make_dir(p, "own");
    make_dir(p, "own/pki");
    make_dir(p, "pool");
    make_dir(p, "pool/a");
    make_dir(p, "vol");
    put_file(in_dir(&p->d, "own/berth.db"), "precious");
    put_file(in_dir(&p->d, "vol/f"), "x");
    ASSERT_OK(host_guard_new(&p->dirs, &p->guard, &err));
}

static void place_done(struct place *p)
{
    p->guard = host_guard_free(p->guard);
    test_dir_done(&p->d);
}

/* What host_empty_dir() says to a path below the test's directory; nothing may be gone when it refuses. */
static int empty(const struct place *p, const char *name)
{
    return host_empty_dir(in_dir(&p->d, name), p->guard, NULL, &err);
}

#define ASSERT_REFUSED(words, call)                                 \
    do {                                                            \
        ASSERT_ERR(ERR_DENIED, call);                               \
        if (!strstr(err.msg, words))                                \
            fail_msg("\"%s\" does not say \"%s\"", err.msg, words); \
    } while (0)

static void assert_whole(const struct place *p)
{
    struct stat st;

    assert_int_equal(stat(in_dir(&p->d, "own/berth.db"), &st), 0);
    assert_int_equal(stat(in_dir(&p->d, "own/pki"), &st), 0);
    assert_int_equal(stat(in_dir(&p->d, "pool/a"), &st), 0);
}

TEST(guard_lets_volumes_go)
{
    _cleanup_(place_done) struct place p;

    place_init(&p, test_dir_new());
    host_guard_add_volume(p.guard, "other", "", in_dir(&p.d, "volume2")); /* a prefix of the text alone */
    host_guard_add_volume(p.guard, "elsewhere", "server", in_dir(&p.d, "vol"));
    host_guard_add_volume(p.guard, "wrong", "", "../vol");
    host_guard_add_volume(p.guard, "above", "", p.d.path);
    ASSERT_OK(empty(&p, "vol"));
    ASSERT_OK(empty(&p, "absent"));
    ASSERT_OK(empty(&p, "pool/a"));
    ASSERT_OK(host_remove_tree(NULL, in_dir(&p.d, "vol"), p.guard, NULL, &err));
    assert_whole(&p);
}

TEST(guard_refuses_own_directories)
{
    _cleanup_(place_done) struct place p;

    place_init(&p, test_dir_new());
    ASSERT_REFUSED("is Berth's own directory", empty(&p, "own"));
    ASSERT_REFUSED("is inside Berth's own directory", empty(&p, "own/pki"));
    ASSERT_REFUSED("contains Berth's own directory", empty(&p, ""));
    ASSERT_REFUSED("contains Berth's own directory", host_remove_tree(NULL, p.d.path, p.guard, NULL, &err));
    ASSERT_REFUSED("is inside Berth's own directory",
                   host_remove_tree(NULL, in_dir(&p.d, "own/berth.db"), p.guard, NULL, &err));
    ASSERT_REFUSED("which holds the directories of other volumes", empty(&p, "pool"));
    assert_whole(&p);
}

/* The administrator may have set up Berth's directories by links. */
TEST(guard_follows_links_to_own_directories)
{
    _cleanup_(place_done) struct place p;

    place_init(&p, test_dir_new());
    make_dir(&p, "real");
    make_dir(&p, "real/data");
    assert_int_equal(symlink("real/data", in_dir(&p.d, "link")), 0);
    (void)snprintf(p.own, sizeof p.own, "%s/link", p.d.path);
    ASSERT_REFUSED("is Berth's own directory", empty(&p, "real/data"));
    ASSERT_REFUSED("contains Berth's own directory", empty(&p, "real"));
}

TEST(guard_sees_through_bind_mounts)
{
    static const char *const rows[][3] = {
        { "own", "bind", "is Berth's own directory" },
        { "own/pki", "bind", "is inside Berth's own directory" },
        { ".", "bind/vol", "" },
        { ".", "bind", "contains Berth's own directory" },
        { ".", "bind/own/pki", "is inside Berth's own directory" },
        { "pool", "bind", "holds the directories of other volumes" },
        { "other/inner", "bind", "is also the path of volume \"b\"" },
        { "other", "bind", "contains the path of volume \"b\"" },
    };
    _cleanup_(place_done) struct place p = { .d = { "" } };

    skip_without_private_mounts();
    place_init(&p, test_dir_new());
    make_dir(&p, "bind");
    make_dir(&p, "other");
    make_dir(&p, "other/inner");
    host_guard_add_volume(p.guard, "b", "", in_dir(&p.d, "other/inner"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(mount(in_dir(&p.d, rows[i][0]), in_dir(&p.d, "bind"), NULL, MS_BIND, NULL), 0);
        int r = check_path(p.guard, in_dir(&p.d, rows[i][1]), &err);
        assert_int_equal(umount2(in_dir(&p.d, "bind"), MNT_DETACH), 0);
        if (rows[i][2][0] == '\0') {
            ASSERT_OK(r);
            continue;
        }
        ASSERT_REFUSED(rows[i][2], r);
    }
}

/* The data directory is a bind mount of a directory of a disk; the volume is the whole disk. No ancestor of
 * either leads to the other. */
TEST(guard_finds_the_source_of_a_bind_mount)
{
    _cleanup_(place_done) struct place p = { .d = { "" } };

    skip_without_private_mounts();
    place_init(&p, test_dir_new());
    make_dir(&p, "disk");
    assert_int_equal(mount("tmpfs", in_dir(&p.d, "disk"), "tmpfs", 0, "size=64k"), 0);
    make_dir(&p, "disk/berth");
    make_dir(&p, "disk/volume");
    make_dir(&p, "data");
    assert_int_equal(mount(in_dir(&p.d, "disk/berth"), in_dir(&p.d, "data"), NULL, MS_BIND, NULL), 0);
    (void)snprintf(p.own, sizeof p.own, "%s/data", p.d.path);
    put_file(in_dir(&p.d, "data/berth.db"), "precious");
    int around = empty(&p, "disk");
    struct error words = err;
    int beside = empty(&p, "disk/volume");
    bool is_whole = access(in_dir(&p.d, "data/berth.db"), F_OK) == 0;
    assert_int_equal(umount2(in_dir(&p.d, "data"), MNT_DETACH), 0);
    assert_int_equal(umount2(in_dir(&p.d, "disk"), MNT_DETACH), 0);
    assert_int_equal(around, -ERR_DENIED);
    assert_non_null(strstr(words.msg, "contains Berth's own directory"));
    assert_int_equal(beside, 0);
    assert_true(is_whole);
}

TEST(guard_refuses_what_others_have)
{
    _cleanup_(place_done) struct place p;

    place_init(&p, test_dir_new());
    make_dir(&p, "vol/in");
    host_guard_add_volume(p.guard, "b", "", in_dir(&p.d, "vol//in/"));
    ASSERT_REFUSED("contains the path of volume \"b\"", empty(&p, "vol"));
    ASSERT_REFUSED("is also the path of volume \"b\"", empty(&p, "vol/in"));
    p.guard = host_guard_free(p.guard);
    ASSERT_OK(host_guard_new(&p.dirs, &p.guard, &err));
    host_guard_add_volume(p.guard, "not-made-yet", "", in_dir(&p.d, "vol/later/deep"));
    ASSERT_REFUSED("contains the path of volume \"not-made-yet\"", empty(&p, "vol"));
    assert_int_equal(access(in_dir(&p.d, "vol/f"), F_OK), 0);
}

/* Another volume whose path is a link into this one, or goes through one. */
TEST(guard_follows_links_of_other_volumes)
{
    static const char *const rows[][3] = {
        { "vol/in", "link", "link" },
        { "vol", "link", "link/in" },
        { "vol", "link", "link/in/deep" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(place_done) struct place p;

        place_init(&p, test_dir_new());
        make_dir(&p, "vol/in");
        make_dir(&p, "vol/in/deep");
        assert_int_equal(symlink(rows[i][0], in_dir(&p.d, rows[i][1])), 0);
        host_guard_add_volume(p.guard, "b", "", in_dir(&p.d, rows[i][2]));
        ASSERT_REFUSED("contains the path of volume \"b\"", empty(&p, "vol"));
        ASSERT_OK(empty(&p, "pool/a"));
    }
}

TEST(guard_refuses_the_systems_directories)
{
    static const char *const paths[] = { "/",     "/etc",     "/usr",          "/var", "/home", "/root",
                                         "/boot", "/dev",     "/proc",         "/sys", "/run",  "/bin",
                                         "/sbin", "/lib",     "/opt",          "/srv", "/mnt",  "/media",
                                         "/tmp",  "/etc/apt", "/usr/share/doc" };
    _cleanup_(place_done) struct place p = { .d = { "" } };

    place_init(&p, test_dir_new());
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        _cleanup_(fd_closep) int fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
            continue;
        ASSERT_REFUSED("the system directory", host_guard_check(NULL, fd, paths[i], &err));
        ASSERT_REFUSED("the system directory", host_guard_check_owner(NULL, fd, paths[i], &err));
    }
}

TEST(guard_knows_the_systems_directories_elsewhere)
{
    static const char *const paths[] = { "/etc", "/etc/apt", "/usr/share", "/", "/var" };
    _cleanup_(place_done) struct place p = { .d = { "" } };

    skip_without_private_mounts();
    place_init(&p, test_dir_new());
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_int_equal(mount(paths[i], in_dir(&p.d, "vol"), NULL, MS_BIND, NULL), 0);
        int r = check_path(NULL, in_dir(&p.d, "vol"), &err);
        assert_int_equal(umount2(in_dir(&p.d, "vol"), MNT_DETACH), 0);
        ASSERT_REFUSED("the system directory", r);
    }
}

/* With a file system of the test's own in its place, it is really tried. */
TEST(guard_keeps_what_is_in_a_system_directory)
{
    skip_without_private_mounts();
    assert_int_equal(mount("tmpfs", "/var/opt", "tmpfs", 0, "size=64k"), 0);
    put_file("/var/opt/f", "x");
    int r = host_empty_dir("/var/opt", NULL, NULL, &err);
    bool is_there = access("/var/opt/f", F_OK) == 0;
    assert_int_equal(umount2("/var/opt", MNT_DETACH), 0);
    ASSERT_REFUSED("is the system directory '/var/opt'", r);
    assert_true(is_there);
}

TEST(guard_compares_exports_as_text)
{
    _cleanup_(host_guard_free_p) struct host_guard *g = NULL;

    ASSERT_OK(host_guard_new(NULL, &g, &err));
    host_guard_add_volume(g, "b", "nfs.example", "/srv/nfs/b/");
    host_guard_add_volume(g, "local", "", "/srv/nfs/a");
    ASSERT_OK(host_guard_check_export(g, "nfs.example", "/srv/nfs/a", &err));
    ASSERT_OK(host_guard_check_export(g, "nfs.example", "/srv/nfs/b/inner", &err));
    ASSERT_OK(host_guard_check_export(g, "other.example", "/srv/nfs/b", &err));
    ASSERT_REFUSED("is also the path of volume \"b\"",
                   host_guard_check_export(g, "nfs.example", "/srv//nfs/b", &err));
    ASSERT_REFUSED("contains the path of volume \"b\"",
                   host_guard_check_export(g, "nfs.example", "/srv/nfs", &err));
    ASSERT_OK(host_guard_check_export(NULL, "nfs.example", "/srv/nfs", &err));
}

/* Thousands of other volumes cost one call each, and one of them is enough. */
TEST(guard_looks_at_all_of_many)
{
    _cleanup_(place_done) struct place p;
    char name[64];

    place_init(&p, test_dir_new());
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof name, "pool/%d", i);
        host_guard_add_volume(p.guard, "many", "", in_dir(&p.d, name));
    }
    ASSERT_OK(empty(&p, "pool/a"));
    assert_int_equal(symlink("../vol", in_dir(&p.d, "pool/4999")), 0);
    ASSERT_REFUSED("is also the path of volume \"many\"", empty(&p, "vol"));
}

TEST_MAIN()
