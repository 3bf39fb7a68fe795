/* What the tests of io/ share: waiting for a condition, and a directory that goes away. */
#ifndef BERTH_TESTS_TEST_IO_H
#define BERTH_TESTS_TEST_IO_H

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/loop.h"

#define TEST_DEADLINE_S 30
#define TEST_PATH_BYTES 256

static inline void test_on_deadline(int signum)
{
    static const char text[] = "not ok: the condition was not met within the deadline\n";

    (void)signum;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

/* Takes turns until *flag; by the machine's time, whatever the loop's clock is. */
static inline void run_until(struct loop *l, const bool *flag)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (!*flag)
        loop_run_once(l);
    (void)alarm(0);
}

static inline struct loop *new_loop(const struct clock *clock)
{
    struct error err = { 0 };
    struct loop *l = NULL;

    ASSERT_OK(loop_new(clock, &l, &err));
    return l;
}

struct test_dir {
    char path[TEST_PATH_BYTES];
};

static inline struct test_dir test_dir_new(void)
{
    struct test_dir d;
    const char *base = getenv("TMPDIR");

    (void)snprintf(d.path, sizeof d.path, "%s/berth-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(d.path));
    return d;
}

static inline int test_dir_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void test_dir_done(struct test_dir *d)
{
    (void)nftw(d->path, test_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* "DIR/name", in one of a few buffers that are used in turn. */
static inline const char *in_dir(const struct test_dir *d, const char *name)
{
    static char paths[4][TEST_PATH_BYTES * 3];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", d->path, name);
    return path;
}

static inline void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Call it before anything that wants cleaning up: skipping jumps past the cleanups. */
static inline void skip_without_mounts(void)
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

#endif
