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

#define TEST_DEADLINE_S 120 /* for what hangs, on a machine with much other load */
#define TEST_PATH_BYTES 256

void test_on_deadline(int signum);

/* Takes turns until *flag; by the machine's time, whatever the loop's clock is. */
void run_until(struct loop *l, const bool *flag);

struct loop *new_loop(const struct clock *clock);

struct test_dir {
    char path[TEST_PATH_BYTES];
};

struct test_dir test_dir_new(void);

int test_dir_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw);

void test_dir_done(struct test_dir *d);

/* "DIR/name", in one of a few buffers that are used in turn. */
const char *in_dir(const struct test_dir *d, const char *name);

void put_file(const char *path, const char *text);

/* Call it before anything that wants cleaning up: skipping jumps past the cleanups. */
void skip_without_mounts(void);

#endif
