/* The bodies of what tests/unit/test_io.h declares. */
#include "tests/unit/test_io.h"

void test_on_deadline(int signum)
{
    static const char text[] = "not ok: the condition was not met within the deadline\n";

    (void)signum;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

void run_until(struct loop *l, const bool *flag)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (!*flag)
        loop_run_once(l);
    (void)alarm(0);
}

struct loop *new_loop(const struct clock *clock)
{
    struct error err = { 0 };
    struct loop *l = NULL;

    ASSERT_OK(loop_new(clock, &l, &err));
    return l;
}

struct test_dir test_dir_new(void)
{
    struct test_dir d;
    const char *base = getenv("TMPDIR");

    (void)snprintf(d.path, sizeof d.path, "%s/berth-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(d.path));
    return d;
}

int test_dir_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void test_dir_done(struct test_dir *d)
{
    (void)nftw(d->path, test_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *in_dir(const struct test_dir *d, const char *name)
{
    static char paths[4][TEST_PATH_BYTES * 3];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", d->path, name);
    return path;
}

void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void skip_without_mounts(void)
{
    struct test_dir d = test_dir_new();
    int r = mount("tmpfs", d.path, "tmpfs", 0, "size=64k");
    int reason = errno;

    if (r == 0)
        assert_int_equal(umount(d.path), 0);
    test_dir_done(&d);
    if (r < 0) {
        print_message("cannot mount a tmpfs (%s): skipped\n", strerror(reason));
        skip();
    }
}
