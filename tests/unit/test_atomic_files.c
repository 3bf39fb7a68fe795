/* Every test has a directory with `vol`, the volume, and `out`, which nothing may touch. */
#include "tests/unit/test_mounts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/ptrace.h>

#include "host/atomic_files.h"

#define LIST_BYTES 2048
#define REAL_NS INT64_C(1794808140000000000) /* 2026-11-16 05:49:00 */

static struct error err;

struct place {
    struct test_dir d;
    char vol[TEST_PATH_BYTES * 2];
    uint64_t random; /* of the next write */
};

static struct place place_at(struct test_dir d)
{
    struct place p = { .d = d, .random = 1000 };

    (void)snprintf(p.vol, sizeof p.vol, "%s/vol", p.d.path);
    assert_int_equal(mkdir(p.vol, 0755), 0);
    assert_int_equal(mkdir(in_dir(&p.d, "out"), 0755), 0);
    put_file(in_dir(&p.d, "out/precious"), "data");
    return p;
}

static struct place place_new(void)
{
    return place_at(test_dir_new());
}

/* In memory where that can be had: for what takes a disk long. */
static struct place place_new_large(void)
{
    struct test_dir d = { "/dev/shm/berth-test-XXXXXX" };

    return mkdtemp(d.path) ? place_at(d) : place_new();
}

static void place_done(struct place *p)
{
    (void)umount2(p->vol, MNT_DETACH); /* of the test with a small disk */
    test_dir_done(&p->d);
}

static int write_files(struct place *p, const struct atomic_file *files, size_t count, bool *ret_changed)
{
    struct atomic_files all = { files, count };
    struct atomic_write how = { .now_real_ns = REAL_NS, .random = p->random++ };

    return atomic_files_write(p->vol, &all, &how, ret_changed, &err);
}

/* "a=1 b/c=2": writes these files; whether that made a new version. */
static bool write_text(struct place *p, const char *text)
{
    struct atomic_file files[16];
    char copy[512], *next = copy;
    bool changed = false;
    size_t count = 0;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *at; (at = strsep(&next, " "));) {
        char *equals = strchr(at, '=');
        if (!equals)
            continue;
        *equals = '\0';
        files[count++] = (struct atomic_file){ at, str_of(equals + 1), 0644, -1 };
    }
    ASSERT_OK(write_files(p, files, count, &changed));
    return changed;
}

/* What a file in the volume holds; "-" when it cannot be read. */
static const char *content(const struct place *p, const char *name)
{
    static char text[4][128];
    static unsigned next;
    char *at = text[next++ % 4];
    char path[TEST_PATH_BYTES * 3];
    int fd;
    ssize_t n;

    (void)snprintf(path, sizeof path, "%s/%s", p->vol, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, at, sizeof text[0] - 1);
    (void)close(fd);
    (void)snprintf(at + (n < 0 ? 0 : n), sizeof text[0] - (n < 0 ? 0 : (size_t)n), "%s", n < 0 ? "-" : "");
    return at;
}

static const char *version(const struct place *p)
{
    static char text[2][128];
    static unsigned next;
    char *at = text[next++ % 2];
    ssize_t n = readlink(in_dir(&p->d, "vol/..data"), at, sizeof text[0] - 1);

    at[n < 0 ? 0 : n] = '\0';
    return at;
}

static int cmp_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in the directory, sorted; versions as VERSION. */
static const char *list(const struct place *p, const char *name)
{
    static char text[LIST_BYTES];
    char *names[64] = { 0 };
    size_t count = 0, len = 0;
    DIR *d = opendir(in_dir(&p->d, name));
    struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)) && count < 64)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            names[count++] = strdup(strncmp(e->d_name, "..2", 3) == 0 ? "VERSION" : e->d_name);
    (void)closedir(d);
    qsort(names, count, sizeof *names, cmp_names);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len ? " " : "", names[i]);
        free(names[i]);
    }
    return text;
}

static void assert_out_is_whole(const struct place *p)
{
    ASSERT_STR("precious", list(p, "out"));
    ASSERT_STR("data", content(p, "../out/precious"));
}

/* Paths */

/* plugins-30 and section 7, step 1. */
TEST(paths_are_checked)
{
    static const struct {
        const char *path, *text; /* NULL: taken */
    } rows[] = {
        { "a", NULL },
        { "a/b/c", NULL },
        { "./a//b/", NULL },
        { "foo/..bar", NULL },
        { "...", "invalid path: must not start with '..': ..." },
        { "a..b", NULL },
        { ".hidden", NULL },
        { "", "invalid path: must not be empty: \"\"" },
        { ".", "invalid path: must not be empty: \".\"" },
        { "/a", "invalid path: must be relative path: /a" },
        { "..", "invalid path: must not contain '..': .." },
        { "a/../b", "invalid path: must not contain '..': a/../b" },
        { "a/..", "invalid path: must not contain '..': a/.." },
        { "..foo", "invalid path: must not start with '..': ..foo" },
        { "..data/x", "invalid path: must not start with '..': ..data/x" },
        { "./..data", "invalid path: must not start with '..': ./..data" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct atomic_file file = { rows[i].path, STR_LIT("x"), 0644, -1 };
        struct atomic_files all = { &file, 1 };
        if (!rows[i].text) {
            ASSERT_OK(atomic_files_check(&all, &err));
            continue;
        }
        ASSERT_ERR(ERR_INVALID, atomic_files_check(&all, &err));
        ASSERT_STR(rows[i].text, err.msg);
    }
}

TEST(long_paths_are_refused)
{
    static const struct {
        size_t len, part;
        const char *text;
    } rows[] = {
        { 255, 255, NULL },
        { 256, 256, "invalid path: filenames must be less than or equal to 255 characters" },
        { 4096, 200, NULL },
        { 4097, 200, "invalid path: must be less than or equal to 4096 characters" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(place_done) struct place p = place_new();
        char path[5000];
        bool changed = false;
        for (size_t at = 0; at < rows[i].len; at++)
            path[at] = (at + 1) % (rows[i].part + 1) == 0 ? '/' : 'x';
        path[rows[i].len] = '\0';
        struct atomic_file file = { path, STR_LIT("x"), 0644, -1 };
        if (rows[i].text) {
            ASSERT_ERR(ERR_INVALID, write_files(&p, &file, 1, &changed));
            ASSERT_STR(rows[i].text, err.msg);
            ASSERT_STR("", list(&p, "vol"));
            continue;
        }
        ASSERT_OK(write_files(&p, &file, 1, &changed));
        assert_true(changed);
        ASSERT_OK(write_files(&p, &file, 1, &changed));
        assert_false(changed);
        ASSERT_OK(write_files(&p, NULL, 0, &changed)); /* and gone again */
        ASSERT_STR("..data VERSION", list(&p, "vol"));
    }
}

TEST(of_one_path_the_last_counts)
{
    _cleanup_(place_done) struct place p = place_new();
    struct atomic_file files[] = {
        { "x", STR_LIT("first"), 0644, -1 },
        { "./x", STR_LIT("second"), 0644, -1 },
        { "y", STR_LIT("only"), 0644, -1 },
        { "x/", STR_LIT("third"), 0600, -1 },
    };
    bool changed = false;

    ASSERT_OK(write_files(&p, files, 4, &changed));
    ASSERT_STR("third", content(&p, "x"));
    ASSERT_STR("..data VERSION x y", list(&p, "vol"));
}

TEST(a_file_is_no_directory)
{
    _cleanup_(place_done) struct place p = place_new();
    struct atomic_file files[] = {
        { "a", STR_LIT("1"), 0644, -1 },
        { "a-b", STR_LIT("1"), 0644, -1 }, /* sorts between the two */
        { "a/b", STR_LIT("1"), 0644, -1 },
    };
    bool changed = false;

    ASSERT_ERR(ERR_INVALID, write_files(&p, files, 3, &changed));
    ASSERT_STR("", list(&p, "vol"));
}

/* Versions */

TEST(a_first_version)
{
    _cleanup_(place_done) struct place p = place_new();
    struct stat st;

    assert_true(write_text(&p, "a=1 b/c=2 b/d/e=3"));
    ASSERT_STR("..2026_11_16_05_49_00.1000", version(&p));
    ASSERT_STR("..data VERSION a b", list(&p, "vol"));
    ASSERT_STR("1", content(&p, "a"));
    ASSERT_STR("2", content(&p, "b/c"));
    ASSERT_STR("3", content(&p, "b/d/e"));
    assert_int_equal(lstat(in_dir(&p.d, "vol/b"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* plugins-28 */
TEST(a_change_makes_a_new_version)
{
    _cleanup_(place_done) struct place p = place_new();
    const char *before;

    assert_true(write_text(&p, "a=1 b=2"));
    before = version(&p);
    assert_true(write_text(&p, "a=1 b=changed"));
    assert_string_not_equal(before, version(&p));
    ASSERT_STR("1", content(&p, "a"));
    ASSERT_STR("changed", content(&p, "b"));
    ASSERT_STR("..data VERSION a b", list(&p, "vol"));
    assert_false(write_text(&p, "a=1 b=changed"));
    assert_false(write_text(&p, "b=changed a=1"));
}

/* plugins-29 */
TEST(a_mode_alone_makes_no_version)
{
    _cleanup_(place_done) struct place p = place_new();
    struct atomic_file file = { "a", STR_LIT("1"), 0644, -1 };
    bool changed = false;
    struct stat st;

    ASSERT_OK(write_files(&p, &file, 1, &changed));
    file.mode = 0600;
    file.uid = 12;
    ASSERT_OK(write_files(&p, &file, 1, &changed));
    assert_false(changed);
    assert_int_equal(stat(in_dir(&p.d, "vol/a"), &st), 0);
    ASSERT_INT(0644, st.st_mode & 07777);
}

/* plugins-31 */
TEST(missing_links_are_made_again)
{
    _cleanup_(place_done) struct place p = place_new();
    const char *before;

    assert_true(write_text(&p, "a=1 b=2"));
    before = version(&p);
    assert_int_equal(unlink(in_dir(&p.d, "vol/b")), 0);
    assert_false(write_text(&p, "a=1 b=2"));
    ASSERT_STR(before, version(&p));
    ASSERT_STR("2", content(&p, "b"));
}

/* plugins-32 */
TEST(a_nested_change_keeps_the_link)
{
    _cleanup_(place_done) struct place p = place_new();
    struct stat before, after;

    assert_true(write_text(&p, "a/b=1"));
    assert_int_equal(lstat(in_dir(&p.d, "vol/a"), &before), 0);
    assert_true(write_text(&p, "a/c=1"));
    assert_int_equal(lstat(in_dir(&p.d, "vol/a"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    ASSERT_STR("c", list(&p, "vol/a/"));
}

/* plugins-33 */
TEST(a_removed_key_s_link_goes)
{
    _cleanup_(place_done) struct place p = place_new();

    assert_true(write_text(&p, "a=1 b=2 c/d=3"));
    assert_true(write_text(&p, "a=1"));
    ASSERT_STR("..data VERSION a", list(&p, "vol"));
    assert_true(write_text(&p, ""));
    ASSERT_STR("..data VERSION", list(&p, "vol"));
    assert_false(write_text(&p, ""));
    assert_true(write_text(&p, "b/c=1"));
    assert_true(write_text(&p, "b=now a file"));
    ASSERT_STR("now", content(&p, "b"));
}

TEST(modes_and_owners_are_exact)
{
    _cleanup_(place_done) struct place p = place_new();
    struct atomic_file files[] = {
        { "d/r", STR_LIT("1"), 0444, -1 },
        { "w", STR_LIT("2"), 0777, geteuid() == 0 ? 4711 : -1 },
    };
    mode_t mask = umask(0077);
    bool changed = false;
    struct stat st;
    int r = write_files(&p, files, 2, &changed);

    (void)umask(mask);
    ASSERT_OK(r);
    assert_int_equal(stat(in_dir(&p.d, "vol/d/r"), &st), 0);
    ASSERT_INT(0444, st.st_mode & 07777);
    assert_int_equal(stat(in_dir(&p.d, "vol/d"), &st), 0);
    ASSERT_INT(0755, st.st_mode & 07777);
    assert_int_equal(stat(in_dir(&p.d, "vol/..data/."), &st), 0);
    ASSERT_INT(0755, st.st_mode & 07777);
    assert_int_equal(stat(in_dir(&p.d, "vol/w"), &st), 0);
    ASSERT_INT(0777, st.st_mode & 07777);
    if (geteuid() == 0)
        ASSERT_INT(4711, st.st_uid);
}

struct owner_call {
    struct place *p;
    unsigned calls;
    int r;
};

/* The new version is there and nobody sees it. */
static int on_set_owner(void *ctx, struct error *e)
{
    struct owner_call *c = ctx;

    c->calls++;
    ASSERT_STR("old", content(c->p, "a"));
    ASSERT_STR("new", content(c->p, "..2026_11_16_05_49_00.77/a"));
    return c->r < 0 ? error_set(e, (enum err)(-c->r), "no owner") : 0;
}

TEST(owners_are_set_before_anybody_sees)
{
    _cleanup_(place_done) struct place p = place_new();
    struct owner_call call = { .p = &p, .r = -ERR_IO };
    struct atomic_write how = { REAL_NS, 77, on_set_owner, &call };
    struct atomic_file file = { "a", STR_LIT("new"), 0644, -1 };
    struct atomic_files all = { &file, 1 };
    bool changed = false;

    assert_true(write_text(&p, "a=old"));
    ASSERT_ERR(ERR_IO, atomic_files_write(p.vol, &all, &how, &changed, &err));
    ASSERT_STR("no owner", err.msg);
    ASSERT_STR("old", content(&p, "a"));
    ASSERT_STR("..data VERSION a", list(&p, "vol")); /* the new one is gone */
    call.r = 0;
    ASSERT_OK(atomic_files_write(p.vol, &all, &how, &changed, &err));
    assert_true(changed);
    ASSERT_INT(2, call.calls);
    ASSERT_STR("new", content(&p, "a"));
    ASSERT_OK(atomic_files_write(p.vol, &all, &how, &changed, &err));
    ASSERT_INT(2, call.calls); /* nothing was written */
}

TEST(what_others_put_there_stays)
{
    _cleanup_(place_done) struct place p = place_new();

    assert_int_equal(mkdir(in_dir(&p.d, "vol/nested"), 0755), 0); /* another volume is mounted in it */
    assert_int_equal(symlink("elsewhere", in_dir(&p.d, "vol/theirs")), 0);
    assert_true(write_text(&p, "a=1 nested/x=2"));
    ASSERT_STR("..data VERSION a nested theirs", list(&p, "vol"));
    assert_true(write_text(&p, "a=2"));
    ASSERT_STR("..data VERSION a nested theirs", list(&p, "vol"));
}

TEST(a_directory_is_wanted)
{
    _cleanup_(place_done) struct place p = place_new();
    struct atomic_write how = { .now_real_ns = REAL_NS };
    struct atomic_files none = { 0 };
    bool changed = true;

    ASSERT_ERR(ERR_NOT_FOUND, atomic_files_write(in_dir(&p.d, "none"), &none, &how, &changed, &err));
    assert_int_equal(symlink("out", in_dir(&p.d, "link")), 0);
    ASSERT_ERR(ERR_INVALID, atomic_files_write(in_dir(&p.d, "link"), &none, &how, &changed, &err));
    ASSERT_ERR(ERR_INVALID, atomic_files_write(in_dir(&p.d, "out/precious"), &none, &how, &changed, &err));
    assert_true(changed);
    assert_out_is_whole(&p);
}

/* Hostile volumes: whatever is in them, nothing outside is read for ours, written or removed. */

TEST(a_link_to_elsewhere_is_no_version)
{
    static const char *const targets[] = { "../out", "..", "/etc", "..data", "x/../../out", "..2026", "" };

    for (size_t i = 0; i + 1 < ARRAY_LEN(targets); i++) {
        _cleanup_(place_done) struct place p = place_new();
        assert_int_equal(symlink(targets[i], in_dir(&p.d, "vol/..data")), 0);
        assert_true(write_text(&p, "precious=new"));
        ASSERT_STR("new", content(&p, "precious"));
        ASSERT_STR("..data VERSION precious", list(&p, "vol"));
        assert_out_is_whole(&p);
    }
}

TEST(a_version_that_is_a_link_is_not_followed)
{
    _cleanup_(place_done) struct place p = place_new();
    char name[TEST_PATH_BYTES], old[TEST_PATH_BYTES];

    assert_true(write_text(&p, "precious=data"));
    (void)snprintf(name, sizeof name, "vol/%s", version(&p));
    (void)snprintf(old, sizeof old, "%s", in_dir(&p.d, name));
    assert_int_equal(rename(old, in_dir(&p.d, "moved")), 0);
    assert_int_equal(symlink("../out", old), 0);
    /* The same content, through the link: not ours. What looks like a version and is a link stays. */
    struct atomic_file file = { "precious", STR_LIT("data"), 0644, -1 };
    bool changed = false;
    ASSERT_ERR(ERR_INVALID, write_files(&p, &file, 1, &changed));
    assert_out_is_whole(&p);
    ASSERT_STR("data", content(&p, "precious"));
}

TEST(strange_things_in_the_old_version_make_a_new_one)
{
    static const char *const kinds[] = { "fifo", "link", "directory", "more" };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        _cleanup_(place_done) struct place p = place_new();
        assert_true(write_text(&p, "precious=data"));
        const char *file = in_dir(&p.d, "vol/..data/precious");
        if (i == 3) {
            put_file(in_dir(&p.d, "vol/..data/more"), "x");
        } else {
            assert_int_equal(unlink(file), 0);
            assert_int_equal(i == 0   ? mkfifo(file, 0644)
                             : i == 1 ? symlink("../../out/precious", file)
                                      : mkdir(file, 0755),
                             0);
        }
        assert_true(write_text(&p, "precious=data"));
        ASSERT_STR("..data VERSION precious", list(&p, "vol"));
        ASSERT_STR("data", content(&p, "precious"));
        assert_out_is_whole(&p);
    }
}

TEST(a_directory_in_the_link_s_place_is_an_error)
{
    static const char *const names[] = { "vol/..data", "vol/..data_tmp" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(place_done) struct place p = place_new();
        struct atomic_file file = { "a", STR_LIT("1"), 0644, -1 };
        bool changed = false;
        assert_int_equal(mkdir(in_dir(&p.d, names[i]), 0755), 0);
        ASSERT_ERR(ERR_EXISTS, write_files(&p, &file, 1, &changed));
        ASSERT_STR(names[i] + strlen("vol/"), list(&p, "vol")); /* and nothing else */
    }
}

TEST(a_user_s_link_to_elsewhere_is_replaced)
{
    _cleanup_(place_done) struct place p = place_new();

    assert_true(write_text(&p, "precious=ours"));
    assert_int_equal(unlink(in_dir(&p.d, "vol/precious")), 0);
    assert_int_equal(symlink("../out/precious", in_dir(&p.d, "vol/precious")), 0);
    assert_false(write_text(&p, "precious=ours"));
    ASSERT_STR("ours", content(&p, "precious"));
    assert_out_is_whole(&p);
}

/* Bad days */

static void put_zeroes(const char *path, size_t len)
{
    static const char zeroes[100000];
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(zeroes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

TEST(a_full_disk_leaves_the_old_version)
{
    skip_without_private_mounts();
    _cleanup_(place_done) struct place p = place_new();
    static char large[200000];
    struct atomic_file files[] = {
        { "a", STR_LIT("2"), 0644, -1 },
        { "b", { large, sizeof large }, 0644, -1 },
    };
    bool changed = false;

    assert_int_equal(mount("tmpfs", p.vol, "tmpfs", 0, "size=100k"), 0);
    assert_true(write_text(&p, "a=1 b=1"));
    ASSERT_ERR(ERR_IO, write_files(&p, files, 2, &changed));
    assert_non_null(strstr(err.msg, "No space left on device"));
    ASSERT_STR("1", content(&p, "a"));
    ASSERT_STR("..data VERSION a b", list(&p, "vol"));
    files[1].bytes.len = 40000;
    assert_int_equal(mkdir(in_dir(&p.d, "vol/..2026_11_16_05_48_00.1"), 0755), 0); /* a crash left it */
    put_zeroes(in_dir(&p.d, "vol/..2026_11_16_05_48_00.1/b"), 60000);
    ASSERT_OK(write_files(&p, files, 2, &changed));
    assert_true(changed);
    ASSERT_STR("2", content(&p, "a"));
}

TEST(no_room_for_names_leaves_the_old_version)
{
    skip_without_private_mounts();
    _cleanup_(place_done) struct place p = place_new();
    struct atomic_file files[20];
    char names[20][8];
    bool changed = false;

    assert_int_equal(mount("tmpfs", p.vol, "tmpfs", 0, "nr_inodes=16"), 0);
    assert_true(write_text(&p, "a=1"));
    for (int i = 0; i < 20; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%d", i);
        files[i] = (struct atomic_file){ names[i], STR_LIT("x"), 0644, -1 };
    }
    assert_true(write_files(&p, files, 20, &changed) < 0);
    ASSERT_STR("..data VERSION a", list(&p, "vol"));
    ASSERT_STR("1", content(&p, "a"));
    assert_true(write_files(&p, files, 9, &changed) < 0); /* the files fit, their links do not: published */
    ASSERT_STR("x", content(&p, "..data/f0"));
    assert_int_equal(mount("tmpfs", p.vol, "tmpfs", MS_REMOUNT, "nr_inodes=100"), 0);
    ASSERT_OK(write_files(&p, files, 9, &changed));
    assert_false(changed); /* the links were missing, and the old version was still there */
    ASSERT_STR("..data VERSION f0 f1 f2 f3 f4 f5 f6 f7 f8", list(&p, "vol"));
    ASSERT_OK(write_files(&p, files, 2, &changed));
    ASSERT_STR("..data VERSION f0 f1", list(&p, "vol"));
}

TEST(a_mebibyte_of_keys)
{
    enum { KEYS = 10000 };
    _cleanup_(place_done) struct place p = place_new_large();
    _cleanup_(freep) struct atomic_file *files = calloc(KEYS, sizeof *files);
    _cleanup_(freep) char *names = calloc(KEYS, 16);
    static const char value[95] = "x";
    bool changed = false;

    assert_true(files && names);
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(names + 16 * (size_t)i, 16, "key%d", i);
        files[i] = (struct atomic_file){ names + 16 * (size_t)i, { value, sizeof value }, 0644, -1 };
    }
    ASSERT_OK(write_files(&p, files, KEYS, &changed));
    ASSERT_OK(write_files(&p, files, KEYS, &changed));
    assert_false(changed);
    ASSERT_OK(write_files(&p, files, 1, &changed));
    ASSERT_STR("..data VERSION key0", list(&p, "vol"));
}

/* Runs the write in a child that is killed when it makes its nth system call from the beginning of the write
 * on. False when it got to its end. */
static bool write_and_die(struct place *p, const char *text, unsigned nth)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)raise(SIGSTOP);
        (void)write_text(p, text);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    for (unsigned i = 0; i < nth && WIFSTOPPED(status); i++) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0); /* to the entry or exit of the next */
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return false;
    }
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    return true;
}

static void assert_one_version(const struct place *p)
{
    const char *a = content(p, "..data/a"), *b = content(p, "..data/b");

    if (strcmp(a, "old") == 0)
        ASSERT_STR("old", b);
    else
        ASSERT_STR(strcmp(a, "new") == 0 ? "-" : "no such content", b);
}

/* Section 7: a crash before and after each system call. */
TEST(a_crash_at_any_point_is_finished_by_the_next_call)
{
    unsigned nth = 1;

    for (bool died = true; died; nth++) {
        _cleanup_(place_done) struct place p = place_new_large();
        assert_true(write_text(&p, "a=old b=old"));
        died = write_and_die(&p, "a=new c/d=new", nth);
        assert_one_version(&p);
        p.random++;
        (void)write_text(&p, "a=new c/d=new");
        ASSERT_STR("..data VERSION a c", list(&p, "vol"));
        ASSERT_STR("new", content(&p, "a"));
        ASSERT_STR("new", content(&p, "c/d"));
    }
    assert_true(nth > 20); /* it did die on the way */
}

/* A reader that opens ..data once sees one version. */
struct reader {
    const struct place *p;
    atomic_bool is_over;
    unsigned seen, torn;
};

static unsigned read_number(int dir, const char *name)
{
    char text[32] = "";
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        (void)close(fd);
    return n > 0 ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static void *reader_run(void *ctx)
{
    struct reader *r = ctx;
    char data[TEST_PATH_BYTES * 3];

    (void)snprintf(data, sizeof data, "%s/..data", r->p->vol);
    while (!atomic_load(&r->is_over)) {
        int dir = open(data, O_PATH | O_DIRECTORY | O_CLOEXEC);
        unsigned first = read_number(dir, "a"), last = read_number(dir, "sub/z");
        if (dir >= 0)
            (void)close(dir);
        if (first == 0 || last == 0) /* removed under the reader's eyes: nothing rather than a mix */
            continue;
        r->seen++;
        r->torn += first != last;
    }
    return NULL;
}

TEST(a_reader_never_sees_two_versions)
{
    _cleanup_(place_done) struct place p = place_new_large();
    struct reader r = { .p = &p };
    char text[64];
    pthread_t thread;

    assert_true(write_text(&p, "a=1 sub/z=1"));
    assert_int_equal(pthread_create(&thread, NULL, reader_run, &r), 0);
    for (unsigned i = 2; i < 1002; i++) {
        (void)snprintf(text, sizeof text, "a=%u sub/z=%u", i, i);
        assert_true(write_text(&p, text));
    }
    atomic_store(&r.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(r.seen > 0);
    ASSERT_INT(0, r.torn);
}

TEST_MAIN()
