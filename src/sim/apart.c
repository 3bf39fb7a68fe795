#include "sim/apart.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/rule.h"

void sim_box_run(struct sim_box *b, const struct sim_options *o)
{
    b->options = *o;
    b->options.tail = &b->tail;
    b->is_running = true;
    sim_run(&b->options, &b->report);
    free(b->report.trace);
    b->report.trace = NULL;
    b->is_running = false;
}

/* Of what a dying process said, the line that says why: that of an assertion or a sanitizer, or the last. */
static struct str find_reason(const char *said)
{
    static const char *const signs[] = { "Assertion", "runtime error:", "ERROR: " };
    struct str rest = str_trim(str_of(said)), reason = { "", 0 };

    while (rest.s) {
        struct str line = str_trim(str_next(&rest, '\n'));

        for (size_t i = 0; i < ARRAY_LEN(signs); i++)
            if (memmem(line.s, line.len, signs[i], strlen(signs[i])))
                return line;
        reason = line;
    }
    return reason;
}

static void report_death(struct sim_box *b, const struct isolate_end *end)
{
    struct sim_report *r = &b->report;
    struct str reason = find_reason(end->output);

    *r = (struct sim_report){ .has_failed = true,
                              .step = b->tail.step,
                              .at_ns = b->tail.at_ns,
                              .counts = b->tail.counts,
                              .is_healed = b->tail.is_healed,
                              .lines = b->tail.count };
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        r->faults_made += r->counts.made_of[i];
    if (reason.len > 0)
        (void)snprintf(r->message, sizeof r->message, "the program dies: %.*s", STR_ARG(reason));
    else
        (void)snprintf(r->message, sizeof r->message, "the program dies: signal %d, status %d", end->signal,
                       end->status);
    rule_of_failure("the program dies: %s", r->message, r->rule, sizeof r->rule);
}

void sim_box_close(struct sim_box *b, const struct isolate_end *end)
{
    struct buf text = BUF_INIT((size_t)(TRACE_LINES + 1) * TRACE_LINE_BYTES);

    if (b->is_running)
        report_death(b, end);
    b->is_running = false;
    if (!b->report.has_failed)
        return;
    trace_write(&b->tail, &text);
    b->report.trace = buf_take(&text);
}

struct lone_run {
    struct sim_box *box;
    const struct sim_options *options;
};

static int run_alone(void *ctx)
{
    struct lone_run *x = ctx;

    sim_box_run(x->box, x->options);
    return 0;
}

int sim_box_run_apart(struct sim_box *b, const struct sim_options *o, unsigned seconds_max, struct error *err)
{
    struct lone_run x = { b, o };
    struct isolated what = { .run = run_alone, .ctx = &x, .seconds_max = seconds_max };
    struct isolate_end end;
    int r = isolate_run(&what, &end, err);

    if (r < 0)
        return r;
    if (b->is_running && end.signal == SIGKILL) { /* it took too long */
        b->is_running = false;
        b->report = (struct sim_report){ 0 };
    }
    sim_box_close(b, &end);
    return 0;
}
