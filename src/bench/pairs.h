/* A server on the SQLite store with claims and volumes for them, and the controllers of this process. For
 * `berth bench bind`, `berth bench schedule` and `berth bench attach`. */
#ifndef BERTH_BENCH_PAIRS_H
#define BERTH_BENCH_PAIRS_H

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json.h"
#include "api/json_out.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/client.h"
#include "daemon/components.h"
#include "io/loop.h"
#include "store/store.h"

/* What the controllers ask of the server. */
struct pairs_counts {
    uint64_t volume_patches; /* of the binder */
    uint64_t claim_patches;  /* the same */
    uint64_t other_patches;  /* conditions and finalizers of the protecting controllers */
    uint64_t events;
    uint64_t reads;
    uint64_t refused; /* of all of these, conflicts among them */
};

/* Counts, and hands on. */
struct pairs_carrier {
    struct client_carrier carrier;
    struct client_carrier *next;
    struct pairs_counts counts;
};

struct pairs {
    const struct clock *clock;
    uint64_t count; /* of pairs, "claim-0" and "volume-0" on */
    unsigned parts; /* DAEMON_*: what works on them */
    char dir[PATH_MAX];
    struct loop *loop;
    struct store *store;
    struct metrics *metrics;
    struct authenticator *authenticator;
    struct apiserver *server;
    struct client *client; /* ours, which makes the objects */
    struct pairs_carrier carrier;
    struct client *components_client;
    struct components *components;
    struct store_watcher watcher;
    uint64_t *asked_ns; /* when the claim was sent; of each pair */
    uint64_t *bound_ns; /* when it was seen Bound; 0: not yet */
    uint64_t bound;
    uint64_t unanswered; /* requests of ours */
    struct error err;
    int r; /* the first failure */
};

/* Zeroed but for clock, count and parts. The failure is in p->err. To be closed in either case. */
int pairs_open(struct pairs *p);
void pairs_close(struct pairs *p);

/* Straight into the store: volumes that were released, and pairs that are bound. */
void pairs_add_background(struct pairs *p, uint64_t released, uint64_t bound);

#define PAIRS_BODY_BYTES 2048
#define PAIRS_NS "bench"
/* The uids of object n of a series of them, "a000". */
#define PAIRS_UID "00000000-0000-4000-%s-%012" PRIx64

/* Begins a body, up to the name in its metadata; the caller ends both. series: an object of the store, with
 * the metadata that a server gives; NULL: one to be created. */
void pairs_begin_object(struct pairs *p, struct buf *b, enum kind k, const char *series, uint64_t n);
/* What the spec of a pod has beside its node: a container, and the volume of claim n in it. */
void pairs_write_pod_spec(struct buf *b, uint64_t n);

/* Straight into the store, object 0 to count - 1 as the function writes them. */
typedef void pairs_write_fn(void *ctx, uint64_t n, struct buf *b);
void pairs_add_stored(struct pairs *p, enum kind k, uint64_t count, pairs_write_fn *make, void *ctx);
/* Through the API, in PAIRS_NS if the kind has namespaces; the answer comes later. */
void pairs_create_object(struct pairs *p, enum kind k, struct str body);
/* The answer comes later too. */
void pairs_patch_status(struct pairs *p, enum kind k, const char *name, struct str body);

enum pairs_way {
    PAIRS_FREE,    /* as one creates them */
    PAIRS_READY,   /* the volume is Available before its claim is there */
    PAIRS_RESERVED /* the volume is for the claim, by uid */
};
/* Through the API; answers come later, and are awaited by pairs_await_answers(). */
void pairs_create(struct pairs *p, uint64_t n, enum pairs_way way);
void pairs_await_answers(struct pairs *p, uint64_t left);

/* The controllers' caches are filled; they work from pairs_start() on. */
void pairs_open_components(struct pairs *p);
void pairs_start(struct pairs *p);
/* Until the controllers have asked for nothing for a while. */
void pairs_settle(struct pairs *p);

#endif
