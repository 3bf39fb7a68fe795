/* Runs in a child process.
 *
 * The child writes report and trace to shared memory, so that they survive its crash. `is_running` is set
 * while a run is in progress: if it is still set after the child has ended, the run crashed, and the report
 * is made from the tail of the trace and from what the child wrote to standard error. The trace of a report
 * is always allocated by the parent. */
#include "sim/shared_run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/rule.h"

void shared_run_execute(struct shared_run *run, const struct sim_options *o)
{
    run->options = *o;
    run->options.tail = &run->tail;
    run->is_running = true;
    sim_run(&run->options, &run->report);
    free(run->report.trace);
    run->report.trace = NULL;
    run->is_running = false;
}

/* The line with the reason of a crash: of an assertion or a sanitizer, otherwise the last line. */
static struct str find_reason(const char *output)
{
    static const char *const signs[] = { "Assertion", "runtime error:", "ERROR: " };
    struct str rest = str_trim(str_of(output)), reason = { "", 0 };

    while (rest.s) {
        struct str line = str_trim(str_next(&rest, '\n'));

        for (size_t i = 0; i < ARRAY_LEN(signs); i++)
            if (memmem(line.s, line.len, signs[i], strlen(signs[i])))
                return line;
        reason = line;
    }
    return reason;
}

static void report_crash(struct shared_run *run, const struct isolate_end *end)
{
    struct sim_report *r = &run->report;
    struct str reason = find_reason(end->output);

    *r = (struct sim_report){ .has_failed = true,
                              .step = run->tail.step,
                              .at_ns = run->tail.at_ns,
                              .counts = run->tail.counts,
                              .is_healed = run->tail.is_healed,
                              .lines = run->tail.count };
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        r->faults_made += r->counts.made_of[i];
    if (reason.len > 0)
        (void)snprintf(r->message, sizeof r->message, "the program crashed: %.*s", STR_ARG(reason));
    else
        (void)snprintf(r->message, sizeof r->message, "the program crashed: signal %d, status %d",
                       end->signal, end->status);
    rule_of_failure("the program crashed: %s", r->message, r->rule, sizeof r->rule);
}

void shared_run_finish(struct shared_run *run, const struct isolate_end *end)
{
    struct buf text = BUF_INIT((size_t)(TRACE_LINES + 1) * TRACE_LINE_BYTES);

    if (run->is_running)
        report_crash(run, end);
    run->is_running = false;
    if (!run->report.has_failed)
        return;
    trace_write(&run->tail, &text);
    run->report.trace = buf_take(&text);
}

struct isolated_run {
    struct shared_run *run;
    const struct sim_options *options;
};

static int execute_in_child(void *ctx)
{
    struct isolated_run *isolated = ctx;

    shared_run_execute(isolated->run, isolated->options);
    return 0;
}

int shared_run_isolated(struct shared_run *run, const struct sim_options *o, unsigned seconds_max,
                        struct error *err)
{
    struct isolated_run isolated = { run, o };
    struct isolated what = { .run = execute_in_child, .ctx = &isolated, .seconds_max = seconds_max };
    struct isolate_end end;
    int r = isolate_run(&what, &end, err);

    if (r < 0)
        return r;
    if (run->is_running && end.signal == SIGKILL) { /* the time limit expired */
        run->is_running = false;
        run->report = (struct sim_report){ 0 };
    }
    shared_run_finish(run, &end);
    return 0;
}
