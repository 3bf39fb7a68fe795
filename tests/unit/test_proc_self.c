/* What the kernel says about the process: the texts of /proc, and the real ones. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "io/proc_self.h"
#include "io/proc_self_int.h"

static struct error err;

#define BEHIND_NAME "R 1 2 3 4 -1 6 7 8 9 10 250 150 13 14 15 16 17 18 4200 20 300 22 23"

TEST(stat_is_read_behind_the_name)
{
    static const char *const rows[] = {
        "1 (berth) " BEHIND_NAME,
        "1 (berth) " BEHIND_NAME "\n",
        "1 (a b) c) R (x) " BEHIND_NAME,
        "1 () " BEHIND_NAME,
        "1 (berth) R 1 2 3 4 -1 6 7 8 9 10 250 150 13 14 15 16 17 18 4200 20 300",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct proc_stat stat;
        ASSERT_OK(proc_parse_stat(str_of(rows[i]), 100, 4096, &stat, &err));
        ASSERT_INT(300 * 4096, stat.resident_bytes);
        assert_float_equal(4.0, stat.cpu_seconds, 1e-9);
        assert_float_equal(42.0, stat.start_seconds, 1e-9);
    }
}

TEST(stat_that_is_none_is_refused)
{
    static const char *const rows[][2] = {
        { "", "no process name in /proc/PID/stat" },
        { "1 berth R 1 2", "no process name in /proc/PID/stat" },
        { "1 (berth)", "/proc/PID/stat ends before field 4" },
        { "1 (berth) R 1 2 3 4 -1 6 7 8 9 10 250 150 13 14 15 16 17 18 4200 20",
          "/proc/PID/stat ends before field 24" },
        { "1 (berth) R 1 2 3 4 -1 6 7 8 9 10 x 150 13 14 15 16 17 18 4200 20 300",
          "field 14 of /proc/PID/stat is not a number" },
        { "1 (berth) R 1 2 3 4 -1 6 7 8 9 10 250 -1 13 14 15 16 17 18 4200 20 300",
          "field 15 of /proc/PID/stat is not a number" },
        { "1 (berth) R 1 2 3 4 -1 6 7 8 9 10 250 150 13 14 15 16 17 18  20 300",
          "field 22 of /proc/PID/stat is not a number" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct proc_stat stat = { .resident_bytes = 7 };
        ASSERT_ERR(ERR_BAD_REQUEST, proc_parse_stat(str_of(rows[i][0]), 100, 4096, &stat, &err));
        ASSERT_STR(rows[i][1], err.msg);
        ASSERT_INT(7, stat.resident_bytes);
    }
}

TEST(boot_time)
{
    uint64_t boot = 0;

    ASSERT_OK(proc_parse_boot_time(STR_LIT("cpu 1 2\nbtime 1714557600\nprocesses 3\n"), &boot, &err));
    ASSERT_INT(1714557600, boot);
    ASSERT_OK(proc_parse_boot_time(STR_LIT("btime 5"), &boot, &err));
    ASSERT_INT(5, boot);
    static const char *const bad[] = { "", "btime", "btime x\n", "xbtime 5\n", "cpu btime 5\n" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ASSERT_ERR(ERR_BAD_REQUEST, proc_parse_boot_time(str_of(bad[i]), &boot, &err));
    ASSERT_INT(5, boot);
}

TEST(this_process)
{
    struct proc_stat stat;
    struct timespec now;
    double start;

    ASSERT_OK(proc_self_stat(&stat, &err));
    assert_true(stat.resident_bytes > 100000);
    assert_true(stat.cpu_seconds >= 0);
    assert_true(stat.start_seconds > 0);
    ASSERT_OK(proc_self_start_time(&start, &err));
    (void)clock_gettime(CLOCK_REALTIME, &now);
    assert_true(start > 0);
    assert_true(start <= (double)now.tv_sec + 2); /* the boot time is in whole seconds */
}

TEST(descriptors_are_counted)
{
    unsigned before, after;

    ASSERT_OK(proc_self_open_fds(&before, &err));
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ASSERT_OK(proc_self_open_fds(&after, &err));
    ASSERT_INT(before + 1, after);
    (void)close(fd);
    ASSERT_OK(proc_self_open_fds(&after, &err));
    ASSERT_INT(before, after);
}

TEST_MAIN()
