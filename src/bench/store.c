/* `berth bench store`: durable writes with a number of writes in flight, loading, gets.
 *
 * Runs in a temporary directory below the current one, so that it measures the disk of the current directory,
 * and removes it. A write includes making its object. */
#include "bench/bench.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json.h"
#include "api/object.h"
#include "api/uid.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "bench/bench_wait.h"
#include "bench/bench_world.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/path.h"
#include "store/store.h"

#define ROUND_NS NS_PER_S
#define IN_FLIGHT_MAX 256
#define SYNCS 100
#define GETS 1000000

struct slot {
    struct bench_run *run;
    struct store_write write;
};

/* Writes volumes one after the other, in_flight of them at a time. */
struct bench_run {
    const struct clock *clock;
    struct loop *loop;
    struct store *store;
    struct json doc;
    json_ref volume;
    uint64_t names; /* number of existing volumes */
    uint64_t left;  /* to be submitted */
    uint64_t until_ns;
    uint64_t done;
    unsigned in_flight;
    struct error err;
    int r;
    struct slot slots[IN_FLIGHT_MAX];
};

static int make_volume(struct bench_run *b, struct object **ret)
{
    json_ref meta = json_get(&b->doc, b->volume, "metadata");
    char name[WORLD_NAME_BYTES], revision[RESOURCE_VERSION_BYTES];

    bench_world_volume_name(b->names++, name);
    resource_version_format(store_reserve(b->store), revision);
    json_set_string(&b->doc, meta, "name", name);
    json_set_string(&b->doc, meta, "resourceVersion", revision);
    return object_new(kind_info(KIND_VOLUME), &b->doc, b->volume, ret, &b->err);
}

static void submit_next(struct slot *slot);

static void on_done(void *ctx, int r, const struct error *err)
{
    struct slot *slot = ctx;
    struct bench_run *b = slot->run;

    b->in_flight--;
    b->done++;
    if (r < 0) {
        b->r = r;
        b->err = *err;
    }
    submit_next(slot);
}

static void submit_next(struct slot *slot)
{
    struct bench_run *b = slot->run;
    struct object *o = NULL;

    if (b->r < 0 || b->left == 0 || clock_mono_ns(b->clock) >= b->until_ns)
        return;
    if (b->names % 1024 == 0) { /* setting strings grows the document: it is replaced from time to time */
        json_clear(&b->doc);
        b->r = json_parse(&b->doc, bench_volume, &b->volume, &b->err);
    }
    if (b->r == 0)
        b->r = make_volume(b, &o);
    if (b->r < 0)
        return;
    b->left--;
    b->in_flight++;
    store_submit(b->store, &slot->write, o, /* is_delete= */ false, on_done, slot);
    (void)object_unref(o);
}

/* At most `count` writes, for at most `ns`. */
static int write_volumes(struct bench_run *b, unsigned in_flight, uint64_t count, uint64_t ns)
{
    uint64_t start_ns = clock_mono_ns(b->clock);
    double seconds;

    b->done = 0;
    b->left = count;
    b->until_ns = ns ? start_ns + ns : UINT64_MAX;
    for (unsigned i = 0; i < in_flight; i++) {
        b->slots[i].run = b;
        submit_next(&b->slots[i]);
    }
    bench_phase("writing volumes", ns ? 0 : count);
    while (b->in_flight > 0) {
        loop_run_once(b->loop);
        bench_step(b->done);
    }
    bench_phase_end();
    seconds = (double)(clock_mono_ns(b->clock) - start_ns) / (double)NS_PER_S;
    if (b->r == 0)
        printf("durable writes, %3u in flight: %8.0f/s   (%" PRIu64 " in %.2f s)\n", in_flight,
               (double)b->done / seconds, b->done, seconds);
    return b->r;
}

/* Cost of a sync: replacing a small file syncs the file and its directory. */
static int time_syncs(const struct clock *clock, const char *dir, struct error *err)
{
    char path[PATH_MAX + 16], data[4096] = { 0 };
    uint64_t start_ns = clock_mono_ns(clock);
    int r = 0;

    (void)snprintf(path, sizeof path, "%s/baseline", dir);
    for (unsigned i = 0; i < SYNCS && r == 0; i++)
        r = io_replace_file(path, data, sizeof data, 0600, err);
    if (r == 0)
        bench_print("baseline: replace a file of 4 KiB, synced",
                    (double)(clock_mono_ns(clock) - start_ns) / SYNCS);
    return r;
}

static void time_gets(struct bench_run *b)
{
    uint64_t start_ns, found = 0;
    char name[WORLD_NAME_BYTES];
    struct rng rng;

    rng_init(&rng, 1);
    start_ns = clock_mono_ns(b->clock);
    for (uint64_t i = 0; i < GETS; i++) {
        bench_world_volume_name(rng_below(&rng, b->names), name);
        found += store_get(b->store, KIND_VOLUME, "", name) != NULL;
    }
    if (found == GETS)
        bench_print("get one of them", (double)(clock_mono_ns(b->clock) - start_ns) / GETS);
}

static int open_store(struct bench_run *b, const char *dir)
{
    uint64_t start_ns = clock_mono_ns(b->clock);
    char what[64];

    b->r = store_open_sqlite(dir, b->loop, /* o= */ NULL, &b->store, &b->err);
    if (b->r < 0)
        return b->r;
    (void)snprintf(what, sizeof what, "open with %zu volumes", store_count(b->store, KIND_VOLUME));
    printf("%-44s %10.2f ms\n", what, (double)(clock_mono_ns(b->clock) - start_ns) / (double)NS_PER_MS);
    return 0;
}

static int run_in(struct bench_run *b, const char *dir, uint64_t volumes)
{
    int r = time_syncs(b->clock, dir, &b->err);

    if (r == 0)
        r = open_store(b, dir);
    if (r == 0)
        r = write_volumes(b, 1, volumes, ROUND_NS);
    if (r == 0)
        r = write_volumes(b, 32, volumes - b->names, ROUND_NS);
    if (r == 0)
        r = write_volumes(b, IN_FLIGHT_MAX, volumes - b->names, 0);
    b->store = store_free(b->store);
    if (r == 0)
        r = open_store(b, dir);
    if (r < 0)
        return r;
    time_gets(b);
    return 0;
}

int bench_store(const struct bench_size *size, struct error *err)
{
    struct bench_run *b = calloc(1, sizeof *b);
    char dir[PATH_MAX];
    int r;

    if (!b)
        return error_no_memory(err);
    b->clock = clock_system();
    json_init(&b->doc, 1 << 20);
    r = loop_new(/* clock= */ NULL, &b->loop, err);
    if (r == 0)
        r = io_tmp_dir_below(".", dir, err);
    if (r == 0) {
        r = run_in(b, dir, size->volumes);
        if (r < 0)
            *err = b->err;
        b->store = store_free(b->store);
        io_discard_dir(dir);
    }
    b->loop = loop_free(b->loop);
    json_done(&b->doc);
    free(b);
    return r;
}
