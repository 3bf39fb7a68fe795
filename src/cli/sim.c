/* `berth sim`: bad days from seeds, until one of them shows a bug. */
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
#include "base/str.h"
#include "cli/flags.h"
#include "io/env.h"
#include "sim/sim.h"

/* Every so many seeds one is run twice: the same seed must give the same run. */
#define REPEAT_EVERY 50

struct settings {
    const char *seed;
    const char *seeds;
    const char *steps;
    const char *faults;
    const char *scenario;
    bool is_traced;
};

static const struct flag sim_flags[] = {
    FLAG(struct settings, seed, "seed", "N", "the first seed; default 1"),
    FLAG(struct settings, seeds, "seeds", "COUNT", "how many seeds, one after the other; default 1"),
    FLAG(struct settings, steps, "steps", "N", "how long the bad day is; default 1500"),
    FLAG(struct settings, faults, "faults", "LIST",
         "what may go wrong: all (default), none, some with commas between, or all,-crash"),
    FLAG(struct settings, scenario, "scenario", "NAME", "one of them; default all, one after the other"),
    FLAG_ON(struct settings, is_traced, "trace", "print every step"),
    { 0 },
};

struct runs {
    struct sim_options options;
    const char *faults; /* as given */
    uint64_t first;
    uint64_t count;
    uint64_t steps;
    uint64_t faults_made;
    uint64_t virtual_s;
};

static int complain_scenario(const char *name)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(ERROR_MSG_BYTES_MAX);

    for (size_t i = 0; sim_scenarios[i]; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", sim_scenarios[i]->name); /* a failure sticks */
    return cli_fail_usage("sim: there is no scenario '%s': %s", name, buf_cstr(&names));
}

static int set_scenario(struct runs *x, const char *name)
{
    if (!name)
        return CLI_OK;
    for (size_t i = 0; sim_scenarios[i]; i++)
        if (strcmp(sim_scenarios[i]->name, name) == 0)
            x->options.scenario = sim_scenarios[i];
    return x->options.scenario ? CLI_OK : complain_scenario(name);
}

static int set_number(const char *flag, const char *text, uint64_t max, uint64_t *ret)
{
    if (!text)
        return CLI_OK;
    if (!str_to_uint64(str_of(text), ret) || *ret < 1 || *ret > max)
        return cli_fail_usage("sim: --%s %s: not a number from 1 to %" PRIu64, flag, text, max);
    return CLI_OK;
}

static int check_settings(const struct settings *s, struct runs *x)
{
    uint64_t steps = SIM_STEPS;
    struct error err;

    *x = (struct runs){ .first = 1, .count = 1, .faults = s->faults ? s->faults : "all" };
    if (set_scenario(x, s->scenario) != CLI_OK ||
        set_number("seed", s->seed, UINT64_MAX / 2, &x->first) != CLI_OK ||
        set_number("seeds", s->seeds, UINT32_MAX, &x->count) != CLI_OK ||
        set_number("steps", s->steps, UINT32_MAX / 2, &steps) != CLI_OK)
        return CLI_USAGE;
    if (faults_parse(str_of(x->faults), &x->options.faults, &err) < 0)
        return cli_fail_usage("sim: --faults: %s", err.msg);
    x->options.steps = (uint32_t)steps;
    x->options.is_traced = s->is_traced;
    return CLI_OK;
}

static int tell_failure(const struct runs *x, const struct sim_report *r)
{
    const struct sim_options *o = &x->options;

    if (!o->is_traced)
        (void)fputs(r->trace, stdout);
    (void)printf("\nseed %" PRIu64 " of %s fails at step %u, %" PRIu64 " s into it: %s\n", o->seed,
                 o->scenario->name, r->step, r->at_ns / NS_PER_S, r->message);
    (void)printf("again: berth sim --scenario %s --seed %" PRIu64 " --steps %u --faults %s --trace\n",
                 o->scenario->name, o->seed, o->steps, x->faults);
    return cli_fail("sim: seed %" PRIu64 " of %s: %s", o->seed, o->scenario->name, r->message);
}

static int run_one(struct runs *x, const struct sim_scenario *scenario, uint64_t seed)
{
    struct sim_report r, again;
    int status = CLI_OK;

    x->options.scenario = scenario;
    x->options.seed = seed;
    sim_run(&x->options, &r);
    x->steps += r.step;
    x->faults_made += r.faults_made;
    x->virtual_s += r.at_ns / NS_PER_S;
    if (r.has_failed)
        status = tell_failure(x, &r);
    free(r.trace);
    if (status != CLI_OK || seed % REPEAT_EVERY != 0 || x->options.is_traced)
        return status;
    sim_run(&x->options, &again);
    free(again.trace);
    if (again.digest != r.digest)
        return cli_fail("sim: seed %" PRIu64 " of %s: two runs differ", seed, scenario->name);
    return CLI_OK;
}

static void show_progress(const struct runs *x, uint64_t done)
{
    if (!io_stderr_is_terminal())
        return;
    (void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " seeds", done, x->count);
    if (done == x->count)
        (void)fputc('\n', stderr);
}

static int run_all(struct runs *x)
{
    const struct sim_scenario *only = x->options.scenario;
    int status = CLI_OK;

    for (uint64_t n = 0; n < x->count && status == CLI_OK; n++) {
        for (size_t i = 0; sim_scenarios[i] && status == CLI_OK; i++)
            if (!only || only == sim_scenarios[i])
                status = run_one(x, sim_scenarios[i], x->first + n);
        show_progress(x, n + 1);
    }
    if (status == CLI_OK)
        (void)printf("%" PRIu64 " seeds, %" PRIu64 " steps, %" PRIu64 " faults, %" PRIu64
                     " hours of virtual time: nothing wrong\n",
                     x->count, x->steps, x->faults_made, x->virtual_s / 3600);
    return status;
}

static int sim_verb_run(int argc, char **argv)
{
    struct settings s = { 0 };
    struct runs x;
    int args, status = flags_parse(&cli_verb_sim, argc, argv, &s, &args);

    if (status == CLI_OK && args > 0)
        status = cli_fail_usage("sim: unexpected argument '%s': see 'berth help sim'", argv[1]);
    if (status == CLI_OK)
        status = check_settings(&s, &x);
    return status == CLI_OK ? run_all(&x) : status;
}

static const struct cli_term scenarios[] = {
    { "attach", "volumes are attached where pods want them, and detached when it is safe" },
    { "backlog", "a binder has hundreds of claims to serve at once" },
    { "binder", "binders give claims volumes, and see to what is left behind" },
    { "caches", "informers follow the server" },
    { "leader", "of three processes one leads" },
    { "scheduler", "pods get nodes together with the volumes of their claims" },
    { "seats", "toy controllers give guests seats" },
    { 0 },
};

static const struct cli_term faults[] = {
    { "delay", "requests and answers take seconds" },
    { "refuse", "nobody listens" },
    { "lose", "the connection breaks before the request arrives, or after it was carried out" },
    { "hang", "no answer ever comes; carried out or not" },
    { "error", "500, 503, 429; 504 after it was carried out" },
    { "twice", "a request arrives twice, and the second one's answer comes back" },
    { "cut", "watches end in the middle" },
    { "lag", "events of a watch come late: what caches show is old" },
    { "replay", "events of a watch come again, and lines that nobody can read between them" },
    { "pause", "a process stands still while time passes" },
    { "crash", "a process is killed and started again" },
    { "restart", "the server ends and comes back" },
    { "partition", "a process and the server cannot reach each other" },
    { "clock", "a wall clock is set to another time" },
    { "host", "host operations fail, hang, or succeed after everybody gave up" },
    { 0 },
};
static_assert(ARRAY_LEN(faults) == FAULT_COUNT + 1, "explain every fault");

static const struct cli_list sim_lists[] = { { "Scenarios", scenarios }, { "Faults", faults }, { 0 } };

const struct cli_verb cli_verb_sim = {
    .name = "sim",
    .group = CLI_TOOLS,
    .usage = "sim [FLAG...]",
    .summary = "Run the control plane through bad days in virtual time, from a seed",
    .about = "A seed decides everything: who runs next, how long what takes, what is lost, who is killed. "
             "The same "
             "seed gives the same run. A seed that fails is told, with the command that shows it again.",
    .lists = sim_lists,
    .flags = sim_flags,
    .examples = "  berth sim                                        # seed 1 of every scenario\n"
                "  berth sim --seeds 1000                           # about two minutes\n"
                "  berth sim --scenario binder --seed 4711 --trace  # one run, step by step\n"
                "  berth sim --faults lose,crash                    # these alone\n",
    .run = sim_verb_run,
};
