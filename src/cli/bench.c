/* `berth bench`: runs benchmarks and prints a table. It asserts nothing. */
#include "cli/cli.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/bench.h"
#include "bench/bench_wait.h"
#include "cli/flags.h"
#include "cli/progress.h"

/* Limit for nodes times volumes of attach. */
#define ATTACH_MAX 10000000
#define ATTACH_MAX_TEXT "10000000"

struct settings {
    const char *volumes;
    const char *pairs;
    const char *claims;
    const char *pods;
    const char *nodes;
};

static const struct flag bench_flags[] = {
    FLAG(struct settings, volumes, "volumes", "N",
         "number of volumes (all but micro and csi); per node (attach), each with its claim (bind)"),
    FLAG(struct settings, pairs, "pairs", "N", "same as --volumes, for bind"),
    FLAG(struct settings, claims, "claims", "N", "number of claims (csi)"),
    FLAG(struct settings, pods, "pods", "N", "number of pods (schedule)"),
    FLAG(struct settings, nodes, "nodes", "N", "number of nodes (schedule, attach)"),
    { 0 },
};

enum { PODS = 1 << 0, NODES = 1 << 1, VOLUMES = 1 << 2, PAIRS = 1 << 3, CLAIMS = 1 << 4 };

/* Benchmarks, the flags that they accept, and their sizes, run in turn unless flags set one. */
static const struct subject {
    const char *name;
    int (*run)(const struct bench_size *size, struct error *err);
    unsigned flags;
    const char *takes; /* the same, for error messages */
    struct bench_size sizes[2];
    size_t base; /* which of the sizes flags change */
} table[] = {
    { "micro", bench_micro, 0, "no flags", { { 0 } }, 0 },
    { "match", bench_match, VOLUMES, "--volumes N, from 1 on", { { .volumes = 1000000 } }, 0 },
    { "store", bench_store, VOLUMES, "--volumes N, from 1 on", { { .volumes = 200000 } }, 0 },
    { "informer", bench_informer, VOLUMES, "--volumes N, from 1 on", { { .volumes = 100000 } }, 0 },
    { "bind", bench_bind, VOLUMES | PAIRS, "--pairs N, from 1 on", { { .volumes = 20000 } }, 0 },
    { "volumes", bench_volumes, VOLUMES, "--volumes N, from 1 on", { { .volumes = 1000 } }, 0 },
    { "schedule",
      bench_schedule,
      PODS | NODES | VOLUMES,
      "--pods N, --nodes N and --volumes N, from 1 on",
      { { 500, 100, 1000 }, { 5000, 5000, 50000 } },
      0 },
    { "attach",
      bench_attach,
      NODES | VOLUMES,
      "--nodes N and --volumes N, from 1 on, and at most " ATTACH_MAX_TEXT " in all",
      { { 0, 100, 20 }, { 0, 1000, 20 } },
      1 },
    { "csi", bench_csi, CLAIMS, "--claims N, from 1 on", { { .volumes = 2000 } }, 0 },
};

/* Reads a number of at least 1. Without a text *ret is unchanged. */
static bool read_size(const char *text, uint64_t *ret)
{
    return !text || (str_to_uint64(str_of(text), ret) && *ret > 0);
}

static int run_subject(const struct subject *b, const struct settings *s)
{
    const char *volumes = s->pairs ? s->pairs : s->claims ? s->claims : s->volumes;
    unsigned given = (s->pods ? PODS : 0) | (s->nodes ? NODES : 0) | (s->volumes ? VOLUMES : 0) |
                     (s->pairs ? PAIRS : 0) | (s->claims ? CLAIMS : 0);
    struct bench_size size = b->sizes[b->base];
    bool is_table = b->sizes[1].nodes > 0;
    struct error err;
    int r = 0;

    if (given & ~b->flags || (s->pairs && s->volumes) || !read_size(s->pods, &size.pods) ||
        !read_size(s->nodes, &size.nodes) || !read_size(volumes, &size.volumes) ||
        (b->run == bench_attach && size.nodes > ATTACH_MAX / size.volumes))
        return cli_fail_usage("bench: %s takes %s", b->name, b->takes);
    if (is_table)
        bench_baseline();
    if (given || !is_table)
        r = b->run(&size, &err);
    for (size_t i = 0; !given && is_table && i < ARRAY_LEN(b->sizes) && r == 0; i++)
        r = b->run(&b->sizes[i], &err);
    return r < 0 ? cli_fail("bench: %s", err.msg) : CLI_OK;
}

/* --- Progress --- */

static struct progress_bar progress;

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

static int bench_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct settings s = { 0 };
    int args, status = flags_parse(verb, argc, argv, &s, &args);
    const char *subject = status == CLI_OK && args == 1 ? argv[1] : "";

    if (status != CLI_OK)
        return status;
    bench_show_progress(&(struct bench_progress){ begin_phase, show_step, end_phase });
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(subject, table[i].name) == 0)
            return run_subject(&table[i], &s);
    return cli_fail_usage("bench: specify a subject: micro, match, store, informer, bind, volumes, schedule, "
                          "attach or csi: see 'berth help bench'");
}

static const struct cli_term subjects[] = {
    { "micro", "decoding and encoding, quantities, ordered maps" },
    { "match", "find a volume for a claim among 1,000, 10,000 ... up to a million free ones" },
    { "store", "durable writes, and loading 200,000 volumes" },
    { "informer", "caches that follow 100,000 volumes" },
    { "bind", "bind 20,000 pairs of volumes and claims with the controllers" },
    { "volumes", "set up and tear down 1,000 pod volumes" },
    { "schedule", "pods with delayed claims: 500 on 100 nodes, 5,000 on 5,000" },
    { "attach", "20 volumes on each of 100 and 1,000 nodes" },
    { "csi", "provision, attach and expand 2,000 claims with a CSI driver in memory" },
    { 0 },
};

static const struct cli_list bench_lists[] = { { "Subjects", subjects }, { 0 } };

const struct cli_verb cli_verb_bench = {
    .name = "bench",
    .group = CLI_TOOLS,
    .usage = "bench SUBJECT [FLAG...]",
    .summary = "Run benchmarks",
    .about = "Prints a table; its first row is the speed of the machine, to compare runs. Benchmarks that "
             "need a disk use a directory below the current one and remove it afterwards.",
    .lists = bench_lists,
    .flags = bench_flags,
    .examples = "  berth bench micro\n"
                "  berth bench bind --pairs 5000\n"
                "  berth bench schedule --pods 500 --nodes 100 --volumes 1000\n",
    .args = "micro match store informer bind volumes schedule attach csi",
    .run = bench_run,
};
