/* A thread exchanges directories of a volume for links to `out` and back, as fast as it can, while the volume
 * is set up, torn down, deleted and recycled. `out` holds the same names as the volume: whoever follows a
 * link finds there what it looks for, and leaves a trace.
 *
 * The operations may fail: somebody is at work in the volume. BERTH_RACE_ROUNDS sets the rounds of each. */
#include "tests/unit/test_mounts.h"

#include <pthread.h>
#include <stdatomic.h>

#include "host/atomic_files.h"
#include "host/files.h"
#include "host/remove.h"
#include "host/sub_path.h"

#define ROUNDS 1000
#define GROUP 4711
#define VERSION "..2026_11_16_05_49_00.1"
#define REAL_NS INT64_C(1794808140000000000) /* of that version */

static struct error err;
static const struct host_tools tools;

struct race {
    struct test_dir *d;
    char vol[TEST_PATH_BYTES * 2];
    char out[TEST_PATH_BYTES * 2];
    char pod[TEST_PATH_BYTES * 2];
    struct stat out_st, out_dir_st; /* of out and of out/s */
    unsigned rounds;
    unsigned done, refused; /* operations that went well and that did not */

    pthread_t swapper;
    atomic_bool is_over;
    atomic_uint swaps;
};

/* In memory where that can be had. */
static struct test_dir *race_dir(void)
{
    struct test_dir *d = mounts_dir_new();
    struct test_dir fast = { "/dev/shm/berth-test-XXXXXX" };

    if (mkdtemp(fast.path)) {
        (void)rmdir(d->path);
        *d = fast;
    }
    return d;
}

/* Opens a directory of the volume; fails when it is a link just now. The test itself must not escape. */
static int open_own(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What is exchanged in which directory of the volume. */
static const struct {
    const char *dir, *a, *b;
} pairs[] = {
    { ".", "a", "link" },
    { "a", "s", "link" },
    { "b", "f", "link" },
    { ".", VERSION, "..link" },
};

static void *swap(void *ctx)
{
    struct race *r = ctx;

    while (!atomic_load(&r->is_over)) {
        int vol = open_own(AT_FDCWD, r->vol);
        for (size_t i = 0; vol >= 0 && i < ARRAY_LEN(pairs); i++) {
            int dir = open_own(vol, pairs[i].dir);
            if (dir >= 0 && renameat2(dir, pairs[i].a, dir, pairs[i].b, RENAME_EXCHANGE) == 0)
                atomic_fetch_add(&r->swaps, 1);
            if (dir >= 0)
                (void)close(dir);
        }
        if (vol >= 0)
            (void)close(vol);
    }
    return NULL;
}

/* In the directory of that name a file f, a directory s with a file g, and a link out. */
static void put_tree(int at, const char *name, const char *out)
{
    int dir, sub;

    (void)mkdirat(at, name, 0700);
    dir = open_own(at, name);
    if (dir < 0)
        return;
    (void)!mknodat(dir, "f", S_IFREG | 0600, 0);
    (void)mkdirat(dir, "s", 0700);
    if (out)
        (void)!symlinkat(out, dir, "link");
    sub = open_own(dir, "s");
    if (sub >= 0) {
        (void)!mknodat(sub, "g", S_IFREG | 0600, 0);
        (void)close(sub);
    }
    (void)close(dir);
}

static struct race *race_new(void)
{
    const char *rounds = getenv("BERTH_RACE_ROUNDS");
    struct race *r = calloc(1, sizeof *r);

    assert_non_null(r);
    r->d = race_dir();
    r->rounds = rounds ? (unsigned)strtoul(rounds, NULL, 10) : ROUNDS;
    (void)snprintf(r->vol, sizeof r->vol, "%s/vol", r->d->path);
    (void)snprintf(r->out, sizeof r->out, "%s/out", r->d->path);
    (void)snprintf(r->pod, sizeof r->pod, "%s/pod", r->d->path);
    put_tree(AT_FDCWD, r->out, NULL);
    assert_int_equal(stat(r->out, &r->out_st), 0);
    assert_int_equal(stat(in_dir(r->d, "out/s"), &r->out_dir_st), 0);
    assert_int_equal(mkdir(r->pod, 0755), 0);
    assert_int_equal(pthread_create(&r->swapper, NULL, swap, r), 0);
    return r;
}

/* Brings back what the last round took away; the swapper may be at work on it. */
static void put_volume(const struct race *r)
{
    int vol;

    put_tree(AT_FDCWD, r->vol, "../out"); /* an absolute link would be refused for the mounts on its way */
    vol = open_own(AT_FDCWD, r->vol);
    assert_true(vol >= 0);
    put_tree(vol, "a", "../../out");
    put_tree(vol, "b", "../../out");
    (void)!symlinkat("../out", vol, "..link");
    (void)close(vol);
}

static void assert_untouched(const char *path, mode_t type, mode_t mode)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        fail_msg("%s is gone", path);
    if ((st.st_mode & S_IFMT) != type || (st.st_mode & 07777) != mode || st.st_gid == GROUP)
        fail_msg("%s: mode %o, group %u", path, st.st_mode, st.st_gid);
}

static unsigned count_entries(const char *path)
{
    DIR *d = opendir(path);
    unsigned count = 0;

    assert_non_null(d);
    while (readdir(d))
        count++;
    (void)closedir(d);
    return count - 2;
}

static void assert_no_escape(const struct race *r)
{
    assert_untouched(r->out, S_IFDIR, 0700);
    assert_untouched(in_dir(r->d, "out/f"), S_IFREG, 0600);
    assert_untouched(in_dir(r->d, "out/s"), S_IFDIR, 0700);
    assert_untouched(in_dir(r->d, "out/s/g"), S_IFREG, 0600);
    ASSERT_INT(2, count_entries(r->out));
    ASSERT_INT(1, count_entries(in_dir(r->d, "out/s")));
}

static void race_end(struct race *r)
{
    atomic_store(&r->is_over, true);
    assert_int_equal(pthread_join(r->swapper, NULL), 0);
    print_message("%u rounds, %u exchanges, %u done, %u refused\n", r->rounds, atomic_load(&r->swaps),
                  r->done, r->refused);
    ASSERT_INT(0, mounts_in(r->d->path));
    assert_true(atomic_load(&r->swaps) > 0);
    assert_int_equal(r->done + r->refused, r->rounds);
    mounts_dir_free(r->d);
    free(r);
}

static void race_run(int (*operation)(struct race *r))
{
    struct race *r = race_new();

    for (unsigned i = 0; i < r->rounds; i++) {
        put_volume(r);
        if (operation(r) < 0)
            r->refused++;
        else
            r->done++;
        assert_no_escape(r);
    }
    race_end(r);
}

/* Set up */

static int own(struct race *r)
{
    struct ownership o = { .gid = GROUP };
    bool walked;

    return host_own(r->vol, &o, &walked, &err);
}

TEST(ownership_does_not_escape)
{
    race_run(own);
}

static int make_path(struct race *r)
{
    return host_make_path(in_dir(r->d, "vol/a/s/new/x"), 0755, &err);
}

TEST(making_directories_does_not_escape)
{
    race_run(make_path);
}

static int make_sub_path(struct race *r)
{
    return sub_path_make(r->vol, "a/s/new/x", &err);
}

/* plugins-46, the making half. */
TEST(making_a_sub_path_does_not_escape)
{
    race_run(make_sub_path);
}

static bool is_stat(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int bind_sub_path(struct race *r)
{
    struct sub_path s = { r->vol, "a/s", "data", "c", r->pod, 0, false };
    struct error clean_err = { 0 };
    char target[PATH_MAX];
    struct stat st;
    int result = sub_path_bind(&tools, &s, target, &err);

    if (result == 0) {
        assert_int_equal(stat(target, &st), 0);
        assert_false(is_stat(&st, &r->out_st) || is_stat(&st, &r->out_dir_st));
    } else if (!strstr(err.msg, "not within volume path") && !strstr(err.msg, "cannot open")) {
        fail_msg("%s", err.msg);
    }
    if (sub_paths_clean(&tools, r->pod, "data", &clean_err) < 0)
        fail_msg("%s", clean_err.msg);
    return result;
}

/* plugins-46: between resolving and opening there is no moment, so that a component that is exchanged is
 * either the volume's own or a way out, and refused as such. */
TEST(binding_a_sub_path_does_not_escape)
{
    skip_without_private_mounts();
    race_run(bind_sub_path);
}

/* The version that ..data names is a link to out every other moment: it is neither read nor emptied. */
static int write_files(struct race *r)
{
    struct atomic_file file = { "f", STR_LIT(""), 0644, -1 };
    struct atomic_files all = { &file, 1 };
    struct atomic_write how = { .now_real_ns = REAL_NS, .random = 1 };
    bool changed;

    (void)mkdir(in_dir(r->d, "vol/" VERSION), 0700);
    (void)!symlink(VERSION, in_dir(r->d, "vol/..data"));
    return atomic_files_write(r->vol, &all, &how, &changed, &err);
}

TEST(writing_files_does_not_escape)
{
    race_run(write_files);
}

/* Tear down, delete, recycle */

static int tear_down(struct race *r)
{
    return host_remove_tree(r->d->path, r->vol, NULL, NULL, &err);
}

TEST(tearing_down_does_not_escape)
{
    race_run(tear_down);
}

/* The volume's own directory is what is exchanged. */
static int delete (struct race *r)
{
    return host_remove_tree(NULL, in_dir(r->d, "vol/a"), NULL, NULL, &err);
}

static int delete_below(struct race *r)
{
    return host_remove_tree(r->vol, in_dir(r->d, "vol/a/s"), NULL, NULL, &err);
}

TEST(deleting_does_not_escape)
{
    race_run(delete);
    race_run(delete_below);
}

static int recycle(struct race *r)
{
    return host_empty_dir(in_dir(r->d, "vol/a"), NULL, NULL, &err);
}

static int recycle_around(struct race *r)
{
    return host_empty_dir(r->vol, NULL, NULL, &err);
}

TEST(recycling_does_not_escape)
{
    race_run(recycle);
    race_run(recycle_around);
}

static int measure(struct race *r)
{
    struct host_usage usage = { 0 };
    int result = host_usage_of_tree(r->vol, NULL, &usage, &err);

    if (result == 0)
        assert_true(usage.inodes_used > 0 && usage.inodes_used < 40);
    return result;
}

TEST(measuring_ends)
{
    race_run(measure);
}

TEST_MAIN()
