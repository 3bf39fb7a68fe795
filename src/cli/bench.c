/* `berth bench`: how fast the machine runs what is hot. Prints a table; asserts nothing. */
#include "cli/cli.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/bench.h"
#include "bench/wait.h"
#include "cli/flags.h"
#include "cli/progress.h"

#define BENCH_STORE_VOLUMES 200000
#define BENCH_INFORMER_VOLUMES 100000
#define BENCH_MATCH_VOLUMES 1000000
#define BENCH_BIND_PAIRS 20000
#define BENCH_VOLUMES 1000
/* In all; the nodes' and volumes' product must be a number. */
#define ATTACH_MAX 10000000

struct settings {
    const char *volumes;
    const char *pairs;
    const char *pods;
    const char *nodes;
};

static const struct flag bench_flags[] = {
    FLAG(struct settings, volumes, "volumes", "N",
         "how many volumes (all but micro); of each node (attach), each with its claim (bind)"),
    FLAG(struct settings, pairs, "pairs", "N", "the same, for bind"),
    FLAG(struct settings, pods, "pods", "N", "how many pods (schedule)"),
    FLAG(struct settings, nodes, "nodes", "N", "how many nodes (schedule, attach)"),
    { 0 },
};

/* Benchmarks that take a number. */
static const struct {
    const char *name;
    int (*run)(uint64_t count, struct error *err);
    uint64_t count; /* unless said */
    bool has_pairs; /* --pairs, or --volumes for the same; else --volumes alone */
} sized[] = {
    { "match", bench_match, BENCH_MATCH_VOLUMES },
    { "store", bench_store, BENCH_STORE_VOLUMES },
    { "informer", bench_informer, BENCH_INFORMER_VOLUMES },
    { "bind", bench_bind, BENCH_BIND_PAIRS, .has_pairs = true },
    { "volumes", bench_volumes, BENCH_VOLUMES },
};

/* A number from 1 on, or unset: *ret stays, then. */
static bool read_size(const char *text, uint64_t *ret)
{
    return !text || (str_to_uint64(str_of(text), ret) && *ret > 0);
}

static int run_sized(size_t which, const struct settings *s)
{
    bool has_pairs = sized[which].has_pairs;
    const char *text = has_pairs && s->pairs ? s->pairs : s->volumes;
    const char *flag = has_pairs ? "pairs" : "volumes";
    uint64_t count = sized[which].count;
    struct error err;

    if (s->pods || s->nodes || (s->pairs && (!has_pairs || s->volumes)) || !read_size(text, &count))
        return cli_fail_usage("bench: %s takes --%s N, from 1 on", sized[which].name, flag);
    return sized[which].run(count, &err) < 0 ? cli_fail("bench: %s", err.msg) : CLI_OK;
}

static const struct schedule_size schedule_sizes[] = { { 500, 100, 1000 }, { 5000, 5000, 50000 } };

/* The sizes of the table, or one that is given. */
static int run_schedule(const struct settings *s)
{
    struct schedule_size size = schedule_sizes[0];
    bool is_given = s->pods || s->nodes || s->volumes;
    struct error err = { 0 };
    int r = 0;

    if (s->pairs || !read_size(s->pods, &size.pods) || !read_size(s->nodes, &size.nodes) ||
        !read_size(s->volumes, &size.volumes))
        return cli_fail_usage("bench: schedule takes --pods N, --nodes N and --volumes N, from 1 on");
    bench_baseline();
    if (is_given)
        r = bench_schedule(&size, &err);
    for (size_t i = 0; !is_given && i < ARRAY_LEN(schedule_sizes) && r == 0; i++)
        r = bench_schedule(&schedule_sizes[i], &err);
    return r < 0 ? cli_fail("bench: %s", err.msg) : CLI_OK;
}

static const struct attach_size attach_sizes[] = { { 100, 20 }, { 1000, 20 } };

static int run_attach(const struct settings *s)
{
    struct attach_size size = attach_sizes[1];
    bool is_given = s->nodes || s->volumes;
    struct error err = { 0 };
    int r = 0;

    if (s->pairs || s->pods || !read_size(s->nodes, &size.nodes) || !read_size(s->volumes, &size.volumes) ||
        size.nodes > ATTACH_MAX / size.volumes)
        return cli_fail_usage(
            "bench: attach takes --nodes N and --volumes N, from 1 on, and at most %d in all", ATTACH_MAX);
    bench_baseline();
    if (is_given)
        r = bench_attach(&size, &err);
    for (size_t i = 0; !is_given && i < ARRAY_LEN(attach_sizes) && r == 0; i++)
        r = bench_attach(&attach_sizes[i], &err);
    return r < 0 ? cli_fail("bench: %s", err.msg) : CLI_OK;
}

/* --- How far it is --- */

static struct progress progress;

static void begin_phase(const char *what)
{
    const struct progress_work work = { .label = what, .kind = PROGRESS_THINGS };

    progress_begin(&progress, progress_stderr(), &work);
}

static void show_step(uint64_t done, uint64_t total)
{
    progress_set(&progress, done, total);
}

static void end_phase(void)
{
    progress_end(&progress, /* has_succeeded= */ false);
}

static int run_micro(void)
{
    struct error err;

    return bench_micro(&err) < 0 ? cli_fail("bench: %s", err.msg) : CLI_OK;
}

static int bench_run(int argc, char **argv)
{
    struct settings s = { 0 };
    int args, status = flags_parse(&cli_verb_bench, argc, argv, &s, &args);
    const char *subject = status == CLI_OK && args == 1 ? argv[1] : "";

    if (status != CLI_OK)
        return status;
    bench_show_progress(&(struct bench_progress){ begin_phase, show_step, end_phase });
    if (strcmp(subject, "micro") == 0 && !s.volumes && !s.pairs && !s.pods && !s.nodes)
        return run_micro();
    if (strcmp(subject, "schedule") == 0)
        return run_schedule(&s);
    if (strcmp(subject, "attach") == 0)
        return run_attach(&s);
    for (size_t i = 0; i < ARRAY_LEN(sized); i++)
        if (strcmp(subject, sized[i].name) == 0)
            return run_sized(i, &s);
    return cli_fail_usage("bench: say which: micro, match, store, informer, bind, volumes, schedule or "
                          "attach: see 'berth help bench'");
}

static const struct cli_term subjects[] = {
    { "micro", "decoding and encoding, quantities, ordered maps" },
    { "match", "a volume for a claim among 1,000, 10,000 ... up to a million free ones" },
    { "store", "durable writes, and loading 200,000 volumes" },
    { "informer", "caches that follow 100,000 volumes" },
    { "bind", "20,000 pairs of volumes and claims, by the controllers" },
    { "volumes", "1,000 volumes of pods, set up and torn down" },
    { "schedule", "pods with delayed claims: 500 on 100 nodes, 5,000 on 5,000" },
    { "attach", "20 volumes on each of 100 and of 1,000 nodes" },
    { 0 },
};

static const struct cli_list bench_lists[] = { { "Subjects", subjects }, { 0 } };

const struct cli_verb cli_verb_bench = {
    .name = "bench",
    .group = CLI_TOOLS,
    .usage = "bench SUBJECT [FLAG...]",
    .summary = "Measure how fast this machine runs what is hot",
    .about = "Prints a table; the first row is the machine's own speed, to compare runs by. What needs a "
             "disk uses a "
             "directory below the current one, and takes it away again.",
    .lists = bench_lists,
    .flags = bench_flags,
    .examples = "  berth bench micro\n"
                "  berth bench bind --pairs 5000\n"
                "  berth bench schedule --pods 500 --nodes 100 --volumes 1000\n",
    .args = "micro match store informer bind volumes schedule attach",
    .run = bench_run,
};
