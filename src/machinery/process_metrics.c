/* Registers the process_* metrics. Each scrape reads /proc; a value that cannot be read is NaN. */
#include "machinery/process_metrics.h"

#include <math.h>

#include "io/proc_self.h"

static double read_memory(void *ctx)
{
    struct proc_stat stat;
    struct error err;

    (void)ctx;
    return proc_self_stat(&stat, &err) < 0 ? (double)NAN : (double)stat.resident_bytes;
}

static double read_cpu(void *ctx)
{
    struct proc_stat stat;
    struct error err;

    (void)ctx;
    return proc_self_stat(&stat, &err) < 0 ? (double)NAN : stat.cpu_seconds;
}

static double read_fds(void *ctx)
{
    struct error err;
    unsigned count;

    (void)ctx;
    return proc_self_open_fds(&count, &err) < 0 ? (double)NAN : count;
}

static const struct {
    struct metric_desc desc;
    metric_read_fn *read;
} process_values[] = {
    { { "process_cpu_seconds_total", "CPU time used by this process, in seconds.", METRIC_COUNTER },
      read_cpu },
    { { "process_open_fds", "Open file descriptors of this process.", METRIC_GAUGE }, read_fds },
    { { "process_resident_memory_bytes", "Resident memory of this process, in bytes.", METRIC_GAUGE },
      read_memory },
};

static const struct metric_desc start_time = {
    "process_start_time_seconds",
    "Start time of this process, in seconds since the epoch.",
    METRIC_GAUGE,
};

int process_metrics_add(struct metrics *m, struct error *err)
{
    struct metric *metric;
    struct error unknown;
    double start;
    int r;

    for (size_t i = 0; i < ARRAY_LEN(process_values); i++) {
        r = metrics_add_metric(m, &process_values[i].desc, &metric, err);
        if (r < 0)
            return r;
        metric_set_reader(metric, process_values[i].read, NULL);
    }
    r = metrics_add_metric(m, &start_time, &metric, err);
    if (r < 0)
        return r;
    metric_set(metric, proc_self_start_time(&start, &unknown) < 0 ? (double)NAN : start); /* constant */
    return 0;
}
