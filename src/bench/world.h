/* A server with volumes for the benchmarks: store in memory, API server and loop, all in this process. */
#ifndef BERTH_BENCH_WORLD_H
#define BERTH_BENCH_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "api/json.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/loop.h"
#include "store/store.h"

#define WORLD_BATCH STORE_BATCH_MAX
#define WORLD_NAME_BYTES 48

struct wire;

struct world {
    const struct clock *clock;
    struct loop *loop;
    struct store *store;
    struct metrics *metrics;
    struct authenticator *authenticator;
    struct apiserver *server;
    const struct wire *wire; /* how clients come; NULL: in process */
    uint64_t volumes;
    struct json doc;
    json_ref volume;
    unsigned doc_uses;
    uint64_t generation; /* counts up with every object made, so that none is like another */
    struct store_write writes[WORLD_BATCH];
    size_t writing;
    struct error err;
    int r; /* the first failure */
};

/* Zeroed but for clock and volumes, of which none is there yet. The failure is in w->err. To be closed in
 * either case. */
int world_open(struct world *w);
void world_close(struct world *w);

/* Volume n has this name. */
void world_volume_name(uint64_t n, char ret[WORLD_NAME_BYTES]);

/* Writes every volume once, unlike it was before. */
void world_write_all(struct world *w);
/* The same in steps: makes those from `from` on, as many as a batch takes, and returns how many; commits
 * them; lets go of them. */
size_t world_make_batch(struct world *w, uint64_t from, struct object *ret[WORLD_BATCH]);
void world_submit_batch(struct world *w, struct object *const *batch, size_t count);
void world_free_batch(struct object **batch, size_t count);

#endif
