/* Memory, CPU time, start time and descriptors of this process, parsed from /proc. Reads are bounded. */
#include "io/proc_self.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "io/file.h"
#include "io/proc_self_int.h"

#define PROC_SELF_STAT_BYTES_MAX 4096
#define PROC_STAT_BYTES_MAX ((size_t)1 << 20) /* has a number for each interrupt */

/* Fields of /proc/PID/stat, numbered as in proc(5). The first after the name is 3. */
enum {
    STAT_AFTER_NAME = 3,
    STAT_USER_TICKS = 14,
    STAT_SYSTEM_TICKS = 15,
    STAT_START_TICKS = 22,
    STAT_RESIDENT_PAGES = 24,
};

int proc_parse_stat(struct str text, uint64_t ticks_per_second, uint64_t page_bytes, struct proc_stat *ret,
                    struct error *err)
{
    /* The name is in parentheses and may contain anything, blanks and parentheses too. */
    const char *name_end = text.len ? memrchr(text.s, ')', text.len) : NULL;
    uint64_t values[STAT_RESIDENT_PAGES + 1] = { 0 };
    struct str rest;
    unsigned at = STAT_AFTER_NAME;

    if (!name_end)
        return error_set(err, ERR_BAD_REQUEST, "no process name in /proc/PID/stat");
    rest = str_trim((struct str){ name_end + 1, text.len - (size_t)(name_end + 1 - text.s) });
    for (; rest.s && at <= STAT_RESIDENT_PAGES; at++) {
        struct str word = str_next(&rest, ' ');
        bool is_wanted = at == STAT_USER_TICKS || at == STAT_SYSTEM_TICKS || at == STAT_START_TICKS ||
                         at == STAT_RESIDENT_PAGES;

        if (is_wanted && !str_to_uint64(word, &values[at]))
            return error_set(err, ERR_BAD_REQUEST, "field %u of /proc/PID/stat is not a number", at);
    }
    if (at <= STAT_RESIDENT_PAGES)
        return error_set(err, ERR_BAD_REQUEST, "/proc/PID/stat ends before field %u", at);
    *ret = (struct proc_stat){
        .resident_bytes = values[STAT_RESIDENT_PAGES] * page_bytes,
        .cpu_seconds =
            (double)(values[STAT_USER_TICKS] + values[STAT_SYSTEM_TICKS]) / (double)ticks_per_second,
        .start_seconds = (double)values[STAT_START_TICKS] / (double)ticks_per_second,
    };
    return 0;
}

int proc_parse_boot_time(struct str text, uint64_t *ret, struct error *err)
{
    struct str rest = text;

    while (rest.s) {
        struct str line = str_next(&rest, '\n');
        struct str word = str_next(&line, ' ');

        if (str_is(word, "btime") && line.s && str_to_uint64(line, ret))
            return 0;
    }
    return error_set(err, ERR_BAD_REQUEST, "no boot time in /proc/stat");
}

int proc_self_stat(struct proc_stat *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(PROC_SELF_STAT_BYTES_MAX);
    int r = io_read_file("/proc/self/stat", PROC_SELF_STAT_BYTES_MAX, &text, err);

    if (r < 0)
        return r;
    return proc_parse_stat(buf_str(&text), (uint64_t)sysconf(_SC_CLK_TCK), (uint64_t)sysconf(_SC_PAGESIZE),
                           ret, err);
}

int proc_self_start_time(double *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(PROC_STAT_BYTES_MAX);
    struct proc_stat stat = { 0 };
    uint64_t boot = 0;
    int r = proc_self_stat(&stat, err);

    if (r == 0)
        r = io_read_file("/proc/stat", PROC_STAT_BYTES_MAX, &text, err);
    if (r == 0)
        r = proc_parse_boot_time(buf_str(&text), &boot, err);
    if (r < 0)
        return r;
    *ret = (double)boot + stat.start_seconds;
    return 0;
}

int proc_self_open_fds(unsigned *ret, struct error *err)
{
    const char *path = "/proc/self/fd";
    DIR *dir = opendir(path);
    unsigned count = 0;

    if (!dir)
        return error_set_errno(err, errno, "cannot list '%s'", path);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        count += e->d_name[0] != '.';
    (void)closedir(dir); /* read-only: nothing can be lost */
    *ret = count - 1;
    return 0;
}

uint64_t proc_self_peak_bytes(void)
{
    struct rusage used;

    return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_maxrss * 1024 : 0;
}
