/* Kinds, making, ownership and usage. Every test has a directory of its own; what needs root says so. */
#include "tests/unit/test_mounts.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "host/dirs.h"
#include "host/files.h"
#include "host/safe_path.h"
#include "io/file.h"

#define GROUP 4711

static struct error err;

static void skip_without_root(void)
{
    if (geteuid() != 0) {
        print_message("only root gives files away: skipped\n");
        skip();
    }
}

static struct stat look_at(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st;
}

static unsigned mode_of(const char *path)
{
    return look_at(path).st_mode & 07777;
}

static void put_dir(const char *path, mode_t mode)
{
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void put_file_mode(const char *path, const char *text, mode_t mode)
{
    put_file(path, text);
    assert_int_equal(chmod(path, mode), 0);
}

/* Kinds */

static void put_socket(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    (void)close(fd);
}

TEST(kinds_are_the_api_s)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const struct {
        const char *name;
        enum file_kind expected;
        const char *word;
    } rows[] = {
        { "dir", FILE_DIR, "Directory" },    { "file", FILE_REGULAR, "File" },
        { "socket", FILE_SOCKET, "Socket" }, { "/dev/null", FILE_CHAR_DEVICE, "CharDevice" },
        { "fifo", FILE_OTHER, "" },          { "link", FILE_REGULAR, "File" },
        { "dangling", FILE_MISSING, "" },    { "none", FILE_MISSING, "" },
        { "file/below", FILE_MISSING, "" },
    };

    put_dir(in_dir(&d, "dir"), 0755);
    put_file(in_dir(&d, "file"), "x");
    put_socket(in_dir(&d, "socket"));
    assert_int_equal(mkfifo(in_dir(&d, "fifo"), 0600), 0);
    assert_int_equal(symlink("file", in_dir(&d, "link")), 0);
    assert_int_equal(symlink("nowhere", in_dir(&d, "dangling")), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *path = rows[i].name[0] == '/' ? rows[i].name : in_dir(&d, rows[i].name);
        enum file_kind kind = FILE_OTHER;
        ASSERT_OK(host_file_kind(path, &kind, &err));
        ASSERT_INT(rows[i].expected, kind);
        ASSERT_STR(rows[i].word, file_kind_names[kind]);
    }
    ASSERT_STR("BlockDevice", file_kind_names[FILE_BLOCK_DEVICE]);
}

TEST(a_kind_that_cannot_be_seen_is_an_error)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    enum file_kind kind = FILE_SOCKET;

    assert_int_equal(symlink("loop", in_dir(&d, "loop")), 0);
    assert_true(host_file_kind(in_dir(&d, "loop"), &kind, &err) < 0);
    ASSERT_INT(FILE_SOCKET, kind);
}

/* Making */

TEST(a_path_gets_exactly_its_mode)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    mode_t mask = umask(0077);
    int r = host_make_path(in_dir(&d, "a//b/./c"), 0777, &err);

    (void)umask(mask);
    ASSERT_OK(r);
    ASSERT_INT(0777, mode_of(in_dir(&d, "a/b/c")));
    ASSERT_INT(0700, mode_of(in_dir(&d, "a/b")));                /* 0750 less the umask */
    ASSERT_OK(host_make_path(in_dir(&d, "a/b/c"), 01750, &err)); /* ours: brought to the mode */
    ASSERT_INT(01750, mode_of(in_dir(&d, "a/b/c")));
    ASSERT_OK(host_make_path(in_dir(&d, "a/e/f"), 0755, &err));
    ASSERT_INT(0750, mode_of(in_dir(&d, "a/e")));
}

TEST(making_follows_no_link)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    put_dir(in_dir(&d, "out"), 0700);
    put_file(in_dir(&d, "file"), "x");
    assert_int_equal(symlink("out", in_dir(&d, "link")), 0);
    assert_int_equal(symlink("gone", in_dir(&d, "dangling")), 0);
    ASSERT_ERR(ERR_INVALID, host_make_path(in_dir(&d, "link"), 0777, &err));
    ASSERT_ERR(ERR_INVALID, host_make_path(in_dir(&d, "link/x"), 0777, &err));
    ASSERT_ERR(ERR_INVALID, host_make_path(in_dir(&d, "dangling"), 0777, &err));
    ASSERT_ERR(ERR_INVALID, host_make_path(in_dir(&d, "file"), 0777, &err));
    ASSERT_ERR(ERR_INVALID, host_make_path(in_dir(&d, "file/x"), 0777, &err));
    ASSERT_ERR(ERR_INVALID, host_make_path(in_dir(&d, "out/../x"), 0777, &err));
    ASSERT_ERR(ERR_INVALID, host_make_path("relative", 0777, &err));
    ASSERT_INT(0700, mode_of(in_dir(&d, "out")));
    assert_int_equal(rmdir(in_dir(&d, "out")), 0); /* still empty */
}

TEST(a_directory_of_others_keeps_its_mode)
{
    skip_without_root();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    put_dir(in_dir(&d, "theirs"), 0711);
    assert_int_equal(chown(in_dir(&d, "theirs"), 65534, (gid_t)-1), 0);
    ASSERT_OK(host_make_path(in_dir(&d, "theirs"), 0750, &err));
    ASSERT_INT(0711, mode_of(in_dir(&d, "theirs")));
}

TEST(a_file_is_made_where_nothing_is)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    mode_t mask = umask(022);
    int r = host_make_file(in_dir(&d, "f"), 0644, &err);

    (void)umask(mask);
    ASSERT_OK(r);
    ASSERT_INT(0644, mode_of(in_dir(&d, "f")));
    put_file_mode(in_dir(&d, "f"), "kept", 0600);
    ASSERT_OK(host_make_file(in_dir(&d, "f"), 0644, &err));
    ASSERT_INT(4, look_at(in_dir(&d, "f")).st_size);
    ASSERT_INT(0600, mode_of(in_dir(&d, "f")));
    put_dir(in_dir(&d, "dir"), 0755);
    assert_int_equal(symlink("nowhere", in_dir(&d, "dangling")), 0);
    ASSERT_ERR(ERR_EXISTS, host_make_file(in_dir(&d, "dir"), 0644, &err));
    ASSERT_ERR(ERR_EXISTS, host_make_file(in_dir(&d, "dangling"), 0644, &err));
    ASSERT_ERR(ERR_NOT_FOUND, host_make_file(in_dir(&d, "none/f"), 0644, &err));
}

/* Ownership */

/* vol with a file, a directory with a file in it, and a link out. */
static void put_volume(const struct test_dir *d)
{
    put_dir(in_dir(d, "vol"), 0700);
    put_file_mode(in_dir(d, "vol/f"), "x", 0604);
    put_dir(in_dir(d, "vol/sub"), 0705);
    put_file_mode(in_dir(d, "vol/sub/g"), "x", 04700);
    put_file_mode(in_dir(d, "out"), "x", 0600);
    assert_int_equal(symlink("../out", in_dir(d, "vol/link")), 0);
}

static void assert_owned(const struct test_dir *d, const char *name, gid_t gid, unsigned mode)
{
    struct stat st = look_at(in_dir(d, name));

    if (st.st_gid != gid || (!S_ISLNK(st.st_mode) && (st.st_mode & 07777) != mode))
        fail_msg("%s: gid %u mode %o, expected gid %u mode %o", name, st.st_gid, st.st_mode & 07777, gid,
                 mode);
}

/* Section 6, and plugins-37: the link's group changes, its target does not. */
TEST(a_group_owns_the_tree)
{
    skip_without_root();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct ownership o = { .gid = GROUP };
    bool walked = false;

    put_volume(&d);
    ASSERT_OK(host_own(in_dir(&d, "vol"), &o, &walked, &err));
    assert_true(walked);
    assert_owned(&d, "vol", GROUP, 02770);
    assert_owned(&d, "vol/f", GROUP, 0664);
    assert_owned(&d, "vol/sub", GROUP, 02775);
    assert_owned(&d, "vol/sub/g", GROUP, 04760); /* what was set stays */
    assert_owned(&d, "vol/link", GROUP, 0);
    assert_owned(&d, "out", getegid(), 0600);
    ASSERT_INT(geteuid(), look_at(in_dir(&d, "vol/f")).st_uid);
}

TEST(a_read_only_group_reads)
{
    skip_without_root();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct ownership o = { .gid = GROUP, .is_read_only = true };
    bool walked = false;

    put_volume(&d);
    ASSERT_OK(host_own(in_dir(&d, "vol"), &o, &walked, &err));
    assert_owned(&d, "vol", GROUP, 02750);
    assert_owned(&d, "vol/f", GROUP, 0644);
    assert_owned(&d, "vol/sub", GROUP, 02755);
}

TEST(devices_and_fifos_are_not_opened)
{
    skip_without_root();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct ownership o = { .gid = GROUP };
    bool walked = false;

    put_dir(in_dir(&d, "vol"), 0755);
    assert_int_equal(mkfifo(in_dir(&d, "vol/fifo"), 0600), 0); /* an open would wait for a writer */
    assert_int_equal(mknod(in_dir(&d, "vol/zero"), S_IFCHR | 0600, makedev(1, 5)), 0);
    put_socket(in_dir(&d, "vol/socket"));
    ASSERT_OK(host_own(in_dir(&d, "vol"), &o, &walked, &err));
    assert_owned(&d, "vol/fifo", GROUP, 0660);
    assert_owned(&d, "vol/zero", GROUP, 0660);
    ASSERT_INT(GROUP, look_at(in_dir(&d, "vol/socket")).st_gid);
}

/* plugins-36 */
TEST(on_root_mismatch_looks_at_the_root_alone)
{
    static const struct {
        gid_t gid;
        mode_t mode;
        bool is_read_only, walks;
    } rows[] = {
        { GROUP, 02770, false, false }, { GROUP, 02777, false, false },    { GROUP, 0770, false, true },
        { GROUP, 02760, false, true },  { GROUP, 02750, false, true },     { GROUP, 02750, true, false },
        { GROUP, 0750, true, true },    { GROUP + 1, 02770, false, true },
    };

    skip_without_root();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        struct ownership o = { .gid = GROUP, .on_root_mismatch = true, .is_read_only = rows[i].is_read_only };
        bool walked = !rows[i].walks;
        put_volume(&d);
        assert_int_equal(chown(in_dir(&d, "vol"), (uid_t)-1, rows[i].gid), 0);
        assert_int_equal(chmod(in_dir(&d, "vol"), rows[i].mode), 0);
        ASSERT_OK(host_own(in_dir(&d, "vol"), &o, &walked, &err));
        ASSERT_INT(rows[i].walks, walked);
        ASSERT_INT(rows[i].walks ? GROUP : getegid(), look_at(in_dir(&d, "vol/sub/g")).st_gid);
        o.on_root_mismatch = false; /* Always, or nothing said */
        ASSERT_OK(host_own(in_dir(&d, "vol"), &o, &walked, &err));
        assert_true(walked);
    }
}

TEST(an_interrupted_walk_leaves_the_root_for_last)
{
    skip_without_root();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    host_stop stop = 1;
    struct ownership o = { .gid = GROUP, .stop = &stop };
    bool walked = true;

    put_volume(&d);
    ASSERT_ERR(ERR_CANCELLED, host_own(in_dir(&d, "vol"), &o, &walked, &err));
    assert_true(walked); /* untouched */
    assert_owned(&d, "vol", getegid(), 0700);
}

TEST(ownership_stays_in_the_file_system)
{
    skip_without_private_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct ownership o = { .gid = GROUP };
    bool walked = false;
    int r;

    put_volume(&d);
    put_file_mode(in_dir(&d, "vol/point"), "x", 0600);
    assert_int_equal(mount("tmpfs", in_dir(&d, "vol/sub"), "tmpfs", 0, "size=64k,mode=0700"), 0);
    assert_int_equal(mount(in_dir(&d, "out"), in_dir(&d, "vol/point"), NULL, MS_BIND, NULL), 0);
    put_file_mode(in_dir(&d, "vol/sub/inside"), "x", 0600);
    r = host_own(in_dir(&d, "vol"), &o, &walked, &err);
    struct stat inside = look_at(in_dir(&d, "vol/sub/inside"));
    assert_int_equal(umount(in_dir(&d, "vol/sub")), 0);
    assert_int_equal(umount(in_dir(&d, "vol/point")), 0);
    ASSERT_OK(r);
    ASSERT_INT(getegid(), inside.st_gid);
    assert_owned(&d, "out", getegid(), 0600);
    assert_owned(&d, "vol/f", GROUP, 0664);
}

TEST(ownership_wants_a_directory_and_no_link)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct ownership o = { .gid = getegid() };
    bool walked = false;

    put_volume(&d);
    assert_int_equal(symlink("vol", in_dir(&d, "alias")), 0);
    ASSERT_ERR(ERR_INVALID, host_own(in_dir(&d, "alias"), &o, &walked, &err));
    ASSERT_ERR(ERR_INVALID, host_own(in_dir(&d, "vol/f"), &o, &walked, &err));
    ASSERT_ERR(ERR_NOT_FOUND, host_own(in_dir(&d, "none"), &o, &walked, &err));
    assert_false(walked);
}

/* `levels` directories inside one another, by descriptor since no path is that long; each with `files`
 * files before and behind the next directory in most listings. */
static void put_chain(const char *top, unsigned levels, unsigned files)
{
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (unsigned i = 0; i < levels; i++) {
        char name[16];
        assert_true(fd >= 0);
        for (unsigned j = 0; j < files; j++) {
            (void)snprintf(name, sizeof name, "f%u", j);
            assert_int_equal(mknodat(fd, name, S_IFREG | 0600, 0), 0);
        }
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
}

struct told {
    struct manual_clock clock;
    uint64_t files[8];
    unsigned count;
};

static uint64_t told_mono_ns(void *ctx)
{
    struct told *t = ctx;

    return t->clock.mono_ns += 10 * NS_PER_S; /* each look takes so long */
}

static void on_progress(void *ctx, uint64_t files_done)
{
    struct told *t = ctx;

    if (t->count < ARRAY_LEN(t->files))
        t->files[t->count++] = files_done;
}

/* A level that was closed on the way down is taken up again where it was left: each entry counts once. */
TEST(a_deep_tree_is_walked_whole)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct told t = { 0 };
    struct clock clock = { .mono_ns = told_mono_ns, .ctx = &t };
    struct ownership o = { .gid = getegid(), .progress = on_progress, .ctx = &t, .clock = &clock };
    struct host_usage usage = { 0 };
    bool walked = false;

    put_dir(in_dir(&d, "vol"), 0700);
    put_chain(in_dir(&d, "vol"), 600, 3);
    ASSERT_OK(host_own(in_dir(&d, "vol"), &o, &walked, &err));
    assert_true(walked);
    ASSERT_OK(host_usage_of_tree(in_dir(&d, "vol"), NULL, &usage, &err));
    ASSERT_INT(1 + 600 * 4, usage.inodes_used);
    assert_true(t.count >= 3);
    /* The clock is looked at each 64 entries and once more to set the next time: 30 s, then 60 s. */
    ASSERT_INT(3 * 64, t.files[0]);
    ASSERT_INT((3 + 6) * 64, t.files[1]);
    ASSERT_OK(host_remove_tree(NULL, in_dir(&d, "vol"), NULL, NULL, &err)); /* no path reaches down there */
}

/* Usage */

TEST(a_tree_s_usage_counts_hard_links_once)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct host_usage before = { 0 }, after = { 0 }, fs = { 0 };
    uint64_t blocks;
    char text[20001];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    put_dir(in_dir(&d, "vol"), 0755);
    ASSERT_OK(host_usage_of_tree(in_dir(&d, "vol"), NULL, &before, &err));
    ASSERT_INT(1, before.inodes_used);
    put_file(in_dir(&d, "vol/a"), text);
    sync(); /* blocks may be given late */
    blocks = (uint64_t)look_at(in_dir(&d, "vol/a")).st_blocks;
    assert_true(blocks * 512 >= 20000);
    for (int i = 0; i < 5; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "vol/link%d", i);
        assert_int_equal(link(in_dir(&d, "vol/a"), in_dir(&d, name)), 0);
    }
    ASSERT_OK(host_usage_of_tree(in_dir(&d, "vol"), NULL, &after, &err));
    ASSERT_INT(2, after.inodes_used);
    ASSERT_INT(before.used + blocks * 512, after.used);
    ASSERT_OK(host_usage_of_fs(d.path, &fs, &err));
    ASSERT_INT(fs.capacity, after.capacity);
    assert_true(fs.capacity > 0 && fs.used <= fs.capacity && fs.available <= fs.capacity);
    ASSERT_INT(fs.inodes, fs.inodes_used + fs.inodes_free);
}

TEST(usage_stays_in_the_file_system)
{
    skip_without_private_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct host_usage tree = { 0 }, fs = { 0 };
    int r;

    put_dir(in_dir(&d, "vol"), 0755);
    put_dir(in_dir(&d, "vol/mnt"), 0755);
    assert_int_equal(mount("tmpfs", in_dir(&d, "vol/mnt"), "tmpfs", 0, "size=1m,nr_inodes=100"), 0);
    put_file(in_dir(&d, "vol/mnt/f"), "x");
    r = host_usage_of_tree(in_dir(&d, "vol"), NULL, &tree, &err);
    if (r == 0)
        r = host_usage_of_fs(in_dir(&d, "vol/mnt"), &fs, &err);
    assert_int_equal(umount(in_dir(&d, "vol/mnt")), 0);
    ASSERT_OK(r);
    ASSERT_INT(1, tree.inodes_used);
    ASSERT_INT(1 << 20, fs.capacity);
    ASSERT_INT(4096, fs.used);
    ASSERT_INT((1 << 20) - 4096, fs.available);
    ASSERT_INT(100, fs.inodes);
    ASSERT_INT(2, fs.inodes_used);
}

TEST(usage_of_nothing_is_an_error)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct host_usage usage = { .used = 7 };
    host_stop stop = 1;

    ASSERT_ERR(ERR_NOT_FOUND, host_usage_of_fs(in_dir(&d, "none"), &usage, &err));
    ASSERT_ERR(ERR_NOT_FOUND, host_usage_of_tree(in_dir(&d, "none"), NULL, &usage, &err));
    ASSERT_ERR(ERR_CANCELLED, host_usage_of_tree(d.path, &stop, &usage, &err));
    ASSERT_INT(7, usage.used);
}

/* --- Below an open directory --- */

static const char *listed(int at, const char *path, unsigned kinds, uint32_t count_max)
{
    static char text[256];
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(65536);
    struct texts names = { 0 };
    size_t len = 0;

    if (host_list_below(at, path, kinds, &a, count_max, &names, &err) < 0)
        return error_name(err.code);
    text[0] = '\0';
    for (uint32_t i = 0; i < names.count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s ", names.items[i]);
    return text;
}

TEST(names_are_listed_by_kind_without_links_on_the_way)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int at = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    sh("cd '%s' && mkdir -p b/x a .h && : > f && mkfifo p && ln -s b l && ln -s nowhere b/dangling", d.path);
    ASSERT_STR(".h a b f l p ", listed(at, ".", HOST_LIST_ALL, 6));
    ASSERT_STR(".h a b ", listed(at, ".", HOST_LIST_DIRS, 6));
    ASSERT_STR("l ", listed(at, ".", HOST_LIST_LINKS, 6));
    ASSERT_STR("f p ", listed(at, ".", HOST_LIST_OTHERS, 6));
    ASSERT_STR("dangling x ", listed(at, "b", HOST_LIST_ALL, 2));
    ASSERT_STR("", listed(at, "b/x", HOST_LIST_ALL, 0));
    ASSERT_STR("too-large", listed(at, ".", HOST_LIST_LINKS, 5)); /* whatever is asked for */
    ASSERT_STR("directory '.' has more than 5 entries", err.msg);
    ASSERT_STR("not-found", listed(at, "c", HOST_LIST_ALL, 9));
    assert_true(host_list_below(at, "l", HOST_LIST_ALL, &ARENA_INIT(64), 9, &(struct texts){ 0 }, &err) < 0);
    assert_true(host_list_below(at, "l/x", HOST_LIST_ALL, &ARENA_INIT(64), 9, &(struct texts){ 0 }, &err) <
                0);
    assert_true(host_list_below(at, "f", HOST_LIST_ALL, &ARENA_INIT(64), 9, &(struct texts){ 0 }, &err) < 0);
    assert_true(host_list_below(at, "../", HOST_LIST_ALL, &ARENA_INIT(64), 9, &(struct texts){ 0 }, &err) <
                0);
}

TEST(regular_files_are_read_and_nothing_else)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int at = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1);

    sh("cd '%s' && mkdir dir && printf abc > dir/f && mkfifo p && ln -s dir/f l && ln -s dir m", d.path);
    ASSERT_OK(host_read_below(at, "dir/f", 3, &text, &err));
    ASSERT_STR("abc", buf_cstr(&text));
    ASSERT_ERR(ERR_TOO_LARGE, host_read_below(at, "dir/f", 2, &text, &err));
    ASSERT_ERR(ERR_NOT_FOUND, host_read_below(at, "g", 3, &text, &err));
    ASSERT_ERR(ERR_INVALID, host_read_below(at, "dir", 3, &text, &err));
    ASSERT_ERR(ERR_INVALID, host_read_below(at, "p", 3, &text, &err)); /* and nobody waits for a writer */
    assert_true(host_read_below(at, "l", 3, &text, &err) < 0);
    assert_true(host_read_below(at, "m/f", 3, &text, &err) < 0);
    ASSERT_STR("abc", buf_cstr(&text));
}

TEST(one_empty_directory_is_removed)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(fd_closep) int at = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    sh("cd '%s' && mkdir -p a b/c && : > f && ln -s a l", d.path);
    assert_int_equal(host_remove_empty_at(at, "b"), -ENOTEMPTY);
    assert_int_equal(host_remove_empty_at(at, "f"), -ENOTDIR);
    assert_int_equal(host_remove_empty_at(at, "l"), -ENOTDIR);
    assert_int_equal(host_remove_empty_at(at, "a"), 0);
    assert_int_equal(host_remove_empty_at(at, "a"), 0);
    ASSERT_STR("b f l ", listed(at, ".", HOST_LIST_ALL, 9));
}

TEST_MAIN()
