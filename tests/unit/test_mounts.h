/* Real mounts and loop devices in tests, none of which outlives its program.
 *
 * Mounts are made in a mount namespace of the test's own and end with it. Loop devices have no namespace: a
 * mounts_dir knows those whose files are in it, and lets go of them at its end, or at the program's when a
 * test failed and its cleanups were jumped over. */
#ifndef BERTH_TESTS_TEST_MOUNTS_H
#define BERTH_TESTS_TEST_MOUNTS_H

#include "tests/unit/test_io.h"

#include <dirent.h>
#include <limits.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "api/object.h"
#include "base/cleanup.h"

#define MOUNTS_DIRS_MAX 64

struct texts texts_of(const char *const *items);
/* Options of a mount. */
#define LIST(...) texts_of((const char *const[]){ __VA_ARGS__, NULL })

/* Call it before anything that wants cleaning up: skipping jumps past the cleanups. */
void skip_without_private_mounts(void);

/* The file or device behind /dev/loopN, "" for none. */
void loop_file_of(const char *name, char ret[PATH_MAX]);

unsigned loops_below(const char *dir, bool detach);

struct test_dir *mounts_dir_new(void);

/* With everything that is mounted and looped in it. */
struct test_dir *mounts_dir_free(struct test_dir *d);
DEFINE_CLEANUP(struct test_dir, mounts_dir_free)

/* How many loop devices have their file there. */
static inline unsigned loops_in(const struct test_dir *d)
{
    return loops_below(d->path, false);
}

/* How many mounts are at or below the path. */
unsigned mounts_in(const char *path);

/* A loop device over a new file of so many zero bytes in the directory: "/dev/loop3". */
void loop_device_new(const struct test_dir *d, const char *name, off_t bytes, char ret[32]);

/* Runs a command line and expects it to end well. */
void sh(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
