/* A server with volumes for the benchmarks: store in memory, API server and loop, all in this process. */
#ifndef BERTH_BENCH_BENCH_WORLD_H
#define BERTH_BENCH_BENCH_WORLD_H

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

struct bench_wire;

/* An API server without authentication, on a store. */
struct bench_server {
    struct metrics *metrics;
    struct authenticator *authenticator;
    struct apiserver *api;
};

struct bench_world {
    const struct clock *clock;
    struct loop *loop;
    struct store *store;
    struct bench_server server;
    const struct bench_wire *wire; /* how clients connect; NULL: in process */
    uint64_t volumes;
    struct json doc;
    json_ref volume;
    unsigned doc_uses;
    uint64_t generation; /* incremented with every object, so that no two are equal */
    struct store_write writes[WORLD_BATCH];
    size_t writing;
    struct error err;
    int r; /* the first failure */
};

/* Zeroed except clock and volumes, of which none exists yet. The error is in w->err. Must be closed even
 * after a failure. */
int bench_world_open(struct bench_world *w);
void bench_world_close(struct bench_world *w);

/* Must be zeroed before, and closed even after a failure. Closing also completes writes in flight and frees
 * the store. */
int bench_server_open(struct bench_server *s, struct loop *l, struct store *store, const struct clock *clock,
                      struct error *err);
void bench_server_close(struct bench_server *s, struct store **store);

/* The name of volume n. */
void bench_world_volume_name(uint64_t n, char ret[WORLD_NAME_BYTES]);

/* Writes every volume once, changed. */
void bench_world_write_all(struct bench_world *w);
/* The same in steps: makes a batch of volumes starting at `from` and returns their number; commits them;
 * releases them. */
size_t bench_world_make_batch(struct bench_world *w, uint64_t from, struct object *ret[WORLD_BATCH]);
void bench_world_submit_batch(struct bench_world *w, struct object *const *batch, size_t count);
void bench_world_free_batch(struct object **batch, size_t count);

#endif
