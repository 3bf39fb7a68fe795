/* `berth sim`: runs simulated scenarios with injected faults, by seed, until one fails; then shrinks the
 * failing run. */
#include "cli/cli.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/reach.h"
#include "base/str.h"
#include "cli/flags.h"
#include "io/clock.h"
#include "io/env.h"
#include "io/isolate.h"
#include "sim/shrink.h"

/* One of this many seeds is run twice: the same seed must give the same run. */
#define REPEAT_EVERY 50
/* For the search for a shorter failing run. */
#define SHRINK_RUNS 600
#define SHRINK_SECONDS_MAX 60
#define SCENARIOS_MAX 32
#define COMMAND_BYTES_MAX ((size_t)1 << 20)

struct settings {
    const char *seed;
    const char *seeds;
    const char *steps;
    const char *faults;
    const char *scenario;
    const char *without_faults;
    const char *without_actions;
    const char *shrink;
    bool is_traced;
    bool is_verbose;
};

static const struct flag sim_flags[] = {
    FLAG(struct settings, seed, "seed", "N", "the first seed; default 1"),
    FLAG(struct settings, seeds, "seeds", "COUNT", "number of consecutive seeds; default 1"),
    FLAG(struct settings, steps, "steps", "N", "number of steps with injected faults; default 1500"),
    FLAG(struct settings, faults, "faults", "LIST",
         "faults to inject: all (default), none, a comma-separated list, or all,-crash"),
    FLAG(struct settings, scenario, "scenario", "NAME", "run one scenario; default: all of them in turn"),
    FLAG(struct settings, without_faults, "without-faults", "NUMBERS",
         "omit faults by their numbers in the trace: 3,17-25,40-"),
    FLAG(struct settings, without_actions, "without-acts", "NUMBERS",
         "omit user actions by their numbers in the trace"),
    FLAG(struct settings, shrink, "shrink", "RUNS",
         "additional runs to find a shorter failing run; default 600, 0 for none"),
    FLAG_ON(struct settings, is_traced, "trace", "print every step, and do not shrink"),
    FLAG_ON(struct settings, is_verbose, "verbose", "print coverage: faults injected and states reached"),
    { 0 },
};

/* Shared memory of this process and the child that runs the scenarios. */
struct runs {
    struct sim_options options;
    const char *faults; /* as given */
    uint64_t first;
    uint64_t count;
    uint64_t done;
    uint64_t steps;
    uint64_t faults_made;
    uint64_t made_of[FAULT_COUNT];
    uint64_t virtual_s;
    /* Of the traces of each scenario, the same in every build of one program. */
    uint64_t digests[SCENARIOS_MAX];
    struct reach reach;
    bool has_differed; /* two runs of one seed differed */
    struct shared_run run;
};

struct sim_verb {
    struct runs *runs;
    struct numbers without_faults;
    struct numbers without_actions;
    uint64_t shrink_runs;
    bool is_verbose;
};

static int set_scenario(struct runs *runs, const char *name)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(ERROR_MSG_BYTES_MAX);

    for (size_t i = 0; name && sim_scenarios[i]; i++) {
        if (strcmp(sim_scenarios[i]->name, name) == 0)
            runs->options.scenario = sim_scenarios[i];
        buf_addf(&names, "%s%s", i ? ", " : "", sim_scenarios[i]->name); /* the buffer records a failure */
    }
    if (name && !runs->options.scenario)
        return cli_fail_usage("sim: unknown scenario '%s': must be one of %s", name, buf_cstr(&names));
    return CLI_OK;
}

static int set_number(const char *flag, const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    if (!text)
        return CLI_OK;
    if (!str_to_uint64(str_of(text), ret) || *ret < min || *ret > max)
        return cli_fail_usage("sim: --%s %s: not a number from %" PRIu64 " to %" PRIu64, flag, text, min,
                              max);
    return CLI_OK;
}

static int set_numbers(const char *flag, const char *text, struct numbers *numbers,
                       const struct numbers **ret)
{
    struct error err;

    if (!text)
        return CLI_OK;
    if (numbers_parse(str_of(text), numbers, &err) < 0)
        return cli_fail_usage("sim: --%s: %s", flag, err.msg);
    *ret = numbers;
    return CLI_OK;
}

static int check_settings(const struct settings *s, struct sim_verb *c)
{
    struct runs *runs = c->runs;
    uint64_t steps = SIM_STEPS;
    struct error err;

    *runs = (struct runs){ .first = 1, .count = 1, .faults = s->faults ? s->faults : "all" };
    if (set_scenario(runs, s->scenario) != CLI_OK ||
        set_number("seed", s->seed, 1, UINT64_MAX / 2, &runs->first) != CLI_OK ||
        set_number("seeds", s->seeds, 1, UINT32_MAX, &runs->count) != CLI_OK ||
        set_number("steps", s->steps, 1, UINT32_MAX / 2, &steps) != CLI_OK ||
        set_number("shrink", s->shrink, 0, UINT32_MAX, &c->shrink_runs) != CLI_OK ||
        set_numbers("without-faults", s->without_faults, &c->without_faults, &runs->options.without_faults) !=
            CLI_OK ||
        set_numbers("without-acts", s->without_actions, &c->without_actions,
                    &runs->options.without_actions) != CLI_OK)
        return CLI_USAGE;
    if (faults_parse(str_of(runs->faults), &runs->options.faults, &err) < 0)
        return cli_fail_usage("sim: --faults: %s", err.msg);
    runs->options.steps = (uint32_t)steps;
    runs->options.is_traced = s->is_traced;
    c->is_verbose = s->is_verbose;
    return CLI_OK;
}

/* --- A failing seed --- */

/* The faults in the form that --faults accepts. */
static void add_faults(struct buf *out, unsigned faults)
{
    const char *comma = "";

    if (faults == FAULTS_ALL || faults == 0) {
        buf_add_cstr(out, faults ? "all" : "none");
        return;
    }
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        if (faults & (1U << i)) {
            buf_addf(out, "%s%s", comma, fault_names[i]);
            comma = ",";
        }
}

static void print_command(const char *title, const struct sim_options *o)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(COMMAND_BYTES_MAX);

    buf_addf(&line, "--scenario %s --seed %" PRIu64 " --steps %" PRIu32 " --faults ", o->scenario->name,
             o->seed, o->steps);
    add_faults(&line, o->faults);
    if (o->without_faults && o->without_faults->ranges.count > 0) {
        buf_add_cstr(&line, " --without-faults ");
        numbers_format(o->without_faults, &line);
    }
    if (o->without_actions && o->without_actions->ranges.count > 0) {
        buf_add_cstr(&line, " --without-acts ");
        numbers_format(o->without_actions, &line);
    }
    (void)printf("%s: berth sim %s --trace\n", title, buf_cstr(&line));
}

static int print_failure(const struct sim_options *o, const struct sim_report *r)
{
    if (!o->is_traced)
        (void)fputs(r->trace, stdout);
    (void)printf("\nseed %" PRIu64 " of %s fails at step %u, %" PRIu64 " s into it: %s\n", o->seed,
                 o->scenario->name, r->step, r->at_ns / NS_PER_S, r->message);
    return cli_fail("sim: seed %" PRIu64 " of %s: %s", o->seed, o->scenario->name, r->message);
}

static void print_shrunk(const struct sim_report *from, const struct shrunk *to)
{
    (void)printf("shrunk: %u faults of %u, %" PRIu32 " actions of %" PRIu32 ", %" PRIu64 " lines of %" PRIu64
                 ", after %u runs\n",
                 to->report.faults_made, from->faults_made, to->report.counts.actions_done,
                 from->counts.actions_done, to->report.lines, from->lines, to->runs);
}

static int report_shrunk(const struct sim_verb *c, const struct sim_options *o,
                         const struct sim_report *failed)
{
    struct shrink_limits limits = { (unsigned)c->shrink_runs, SHRINK_SECONDS_MAX, clock_system() };
    struct shrunk to;
    struct error err;
    int status;

    if (shrink_run(&c->runs->run, o, failed, &limits, &to, &err) < 0) {
        status = cli_fail("sim: seed %" PRIu64 " of %s: %s, and cannot be shrunk: %s", o->seed,
                          o->scenario->name, failed->message, err.msg);
    } else {
        status = print_failure(&to.options, &to.report);
        print_shrunk(failed, &to);
        print_command("again", &to.options);
        print_command("as found", o);
    }
    shrunk_done(&to);
    return status;
}

static int report_failing_seed(const struct sim_verb *c)
{
    struct sim_options o = c->runs->run.options;
    struct sim_report failed = c->runs->run.report;
    int status;

    if (c->shrink_runs > 0 && !o.is_traced && !o.without_faults && !o.without_actions) {
        status = report_shrunk(c, &o, &failed);
    } else {
        status = print_failure(&o, &failed);
        print_command("again", &o);
    }
    free(failed.trace);
    return status;
}

/* --- In the child process --- */

static void count_run(struct runs *runs, size_t scenario)
{
    const struct sim_report *r = &runs->run.report;
    uint64_t *digest = &runs->digests[scenario];

    runs->steps += r->step;
    runs->faults_made += r->faults_made;
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        runs->made_of[i] += r->counts.made_of[i];
    runs->virtual_s += r->at_ns / NS_PER_S;
    *digest = (*digest << 7 | *digest >> 57) ^ r->digest;
}

/* False when the run fails. */
static bool run_one(struct runs *runs, size_t scenario, uint64_t seed)
{
    struct sim_options o = runs->options;
    uint64_t digest;

    o.scenario = sim_scenarios[scenario];
    o.seed = seed;
    shared_run_execute(&runs->run, &o);
    count_run(runs, scenario);
    if (runs->run.report.has_failed || seed % REPEAT_EVERY != 0 || o.is_traced)
        return !runs->run.report.has_failed;
    digest = runs->run.report.digest;
    shared_run_execute(&runs->run, &o);
    runs->has_differed = runs->run.report.digest != digest;
    return !runs->has_differed;
}

static int run_seeds(void *ctx)
{
    struct runs *runs = ((struct sim_verb *)ctx)->runs;
    bool goes_on = true;

    reach_here = &runs->reach;
    if (runs->options.is_traced)
        (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a run that crashes has then printed its whole trace */
    for (uint64_t n = 0; n < runs->count && goes_on; n++) {
        for (size_t i = 0; sim_scenarios[i] && goes_on; i++) {
            assert(i < SCENARIOS_MAX);
            if (!runs->options.scenario || runs->options.scenario == sim_scenarios[i])
                goes_on = run_one(runs, i, runs->first + n);
        }
        runs->done += goes_on;
    }
    return 0;
}

/* --- In the parent process --- */

static void show_progress(void *ctx)
{
    const struct runs *runs = ((struct sim_verb *)ctx)->runs;

    if (!io_stderr_is_terminal())
        return;
    (void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " seeds", runs->done, runs->count);
}

static void print_reached(const struct runs *runs)
{
    (void)printf("\nDigests of all traces:\n");
    for (size_t i = 0; sim_scenarios[i]; i++)
        if (!runs->options.scenario || runs->options.scenario == sim_scenarios[i])
            (void)printf("  %-14s %016" PRIx64 "\n", sim_scenarios[i]->name, runs->digests[i]);
    (void)printf("\nFaults injected:\n");
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        (void)printf("  %-14s %10" PRIu64 "\n", fault_names[i], runs->made_of[i]);
    (void)printf("\nStates reached:\n");
    for (unsigned i = 0; i < REACH_COUNT; i++) {
        unsigned states, moves;

        reach_sum(&runs->reach, i, &states, &moves);
        (void)printf("  %-14s %3u of %2u, %3u different transitions\n", reach_names[i], states,
                     runs->reach.states[i], moves);
    }
}

static int run_all(struct sim_verb *c)
{
    struct isolated what = { .run = run_seeds, .on_tick = show_progress, .ctx = c, .copies_stderr = true };
    struct runs *runs = c->runs;
    struct isolate_end end;
    struct error err;

    if (isolate_run(&what, &end, &err) < 0)
        return cli_fail("sim: %s", err.msg);
    if (io_stderr_is_terminal())
        (void)fputc('\n', stderr); /* after the progress */
    shared_run_finish(&runs->run, &end);
    if (runs->run.report.has_failed)
        return report_failing_seed(c);
    if (runs->has_differed)
        return cli_fail("sim: seed %" PRIu64 " of %s: two runs differ", runs->run.options.seed,
                        runs->run.options.scenario->name);
    if (end.status != 0) /* the child has printed the reason */
        return cli_fail("sim: the child process exited with status %d, signal %d", end.status, end.signal);
    (void)printf("%" PRIu64 " seeds, %" PRIu64 " steps, %" PRIu64 " faults, %" PRIu64
                 " hours of virtual time: no failures\n",
                 runs->count, runs->steps, runs->faults_made, runs->virtual_s / 3600);
    if (c->is_verbose)
        print_reached(runs);
    return CLI_OK;
}

static int sim_verb_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct settings s = { 0 };
    struct sim_verb c = { .runs = isolate_alloc(sizeof *c.runs), .shrink_runs = SHRINK_RUNS };
    int args, status;

    if (!c.runs)
        return cli_fail("sim: out of memory");
    status = flags_parse(verb, argc, argv, &s, &args);
    if (status == CLI_OK && args > 0)
        status = cli_fail_usage("sim: unexpected argument '%s': see 'berth help sim'", argv[1]);
    if (status == CLI_OK)
        status = check_settings(&s, &c);
    if (status == CLI_OK)
        status = run_all(&c);
    numbers_done(&c.without_faults);
    numbers_done(&c.without_actions);
    isolate_free(c.runs, sizeof *c.runs);
    return status;
}

static const struct cli_term scenarios[] = {
    { "attach", "attach volumes where pods need them, and detach them when it is safe" },
    { "backlog", "a binder has hundreds of claims to process at once" },
    { "binder", "binders bind claims, and clean up after deleted ones" },
    { "caches", "informers follow the server" },
    { "controllers", "protect, expand, ephemeral, stranded and the provisioners on failing machines" },
    { "csi", "controllers of a CSI driver: volumes are created, attached, expanded, modified and deleted" },
    { "leader", "leader election among three processes" },
    { "node", "node agents mount, maintain and unmount pod volumes on failing machines" },
    { "scheduler", "schedule pods together with the volumes of their claims" },
    { "seats", "example controllers assign seats to guests" },
    { "staged", "an agent is killed after staging a volume, and its pod is deleted" },
    { 0 },
};

static const struct cli_term faults[] = {
    { "delay", "requests and responses take seconds" },
    { "refuse", "connections are refused" },
    { "lose", "the connection breaks before the request arrives, or after it was processed" },
    { "hang", "no response, whether the request was processed or not" },
    { "error", "500, 503, 429; 504 after the request was processed" },
    { "twice", "a request arrives twice, and the client gets the second response" },
    { "cut", "watches end in the middle" },
    { "lag", "watch events arrive late: caches are stale" },
    { "replay", "watch events are repeated, with invalid lines in between" },
    { "pause", "a process is suspended while time passes" },
    { "crash", "a process is killed and restarted" },
    { "restart", "the server stops and restarts" },
    { "partition", "a process and the server cannot reach each other" },
    { "clock", "a wall clock is set to another time" },
    { "host", "host operations fail, hang, or succeed after their timeout" },
    { "reboot", "a machine loses power and reboots" },
    { 0 },
};
static_assert(ARRAY_LEN(faults) == FAULT_COUNT + 1, "explain every fault");

static const struct cli_list sim_lists[] = { { "Scenarios", scenarios }, { "Faults", faults }, { 0 } };

const struct cli_verb cli_verb_sim = {
    .name = "sim",
    .group = CLI_TOOLS,
    .usage = "sim [FLAG...]",
    .summary = "Run a deterministic fault-injection simulation",
    .about = "The seed determines everything: which process runs next, how long each operation takes, which "
             "requests are lost, which processes are killed. The same seed gives the same run. For a failing "
             "seed the command that reproduces it is printed.",
    .lists = sim_lists,
    .flags = sim_flags,
    .examples = "  berth sim                                        # seed 1 of every scenario\n  berth sim "
                "--seeds 1000                           # about two minutes\n  berth sim --scenario binder "
                "--seed 4711 --trace  # one run, step by step\n  berth sim --faults lose,crash               "
                "     # only these faults\n",
    .run = sim_verb_run,
};
