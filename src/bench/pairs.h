/* A server on the SQLite store with pairs of claims and volumes, and the controllers in this process. For
 * `berth bench bind`, `berth bench schedule`, `berth bench attach` and `berth bench csi`. */
#ifndef BERTH_BENCH_PAIRS_H
#define BERTH_BENCH_PAIRS_H

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>

#include "api/json.h"
#include "api/json_out.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "base/error.h"
#include "bench/bench_world.h"
#include "client/client.h"
#include "daemon/components.h"
#include "io/loop.h"
#include "store/store.h"

/* Requests of the controllers. */
struct pairs_counts {
    uint64_t volume_patches; /* by the binder */
    uint64_t claim_patches;  /* by the binder */
    uint64_t other_patches;  /* conditions and finalizers of the protection controllers */
    uint64_t events;
    uint64_t reads;
    uint64_t refused; /* failed requests of any kind, including conflicts */
};

/* Counts requests and forwards them. */
struct pairs_carrier {
    struct client_carrier carrier;
    struct client_carrier *next;
    struct pairs_counts counts;
};

struct pairs {
    const struct clock *clock;
    uint64_t count;                 /* number of pairs: "claim-0", "volume-0" and so on */
    unsigned parts;                 /* DAEMON_*: the components that run */
    const char *const *csi_sockets; /* of drivers; read by pairs_open_components() */
    size_t csi_sockets_count;
    char dir[PATH_MAX];
    struct loop *loop;
    struct store *store;
    struct bench_server server;
    struct client *client; /* creates the objects */
    struct pairs_carrier carrier;
    struct client *components_client;
    struct components *components;
    struct store_watcher watcher;
    uint64_t *asked_ns; /* when the claim was sent; per pair */
    uint64_t *bound_ns; /* when it was seen Bound; 0: not yet */
    uint64_t bound;
    uint64_t unanswered; /* our requests in flight */
    struct error err;
    int r; /* the first failure */
};

/* Zeroed except clock, count and parts. The error is in p->err. Must be closed even after a failure. */
int pairs_open(struct pairs *p);
/* Returns the first failure, also in *err; 0 when there was none. */
int pairs_close(struct pairs *p, struct error *err);

/* Writes released volumes and bound pairs straight into the store. */
void pairs_add_background(struct pairs *p, uint64_t released, uint64_t bound);

#define PAIRS_BODY_BYTES 2048
#define PAIRS_NS "bench"
/* The uid of object n of a series, such as "a000". */
#define PAIRS_UID "00000000-0000-4000-%s-%012" PRIx64

/* Begins a body, up to the name in its metadata; the caller ends both. series: an object for the store, with
 * the metadata that a server adds; NULL: an object to be created. */
void pairs_begin_object(struct pairs *p, struct buf *b, enum kind k, const char *series, uint64_t n);
/* The spec of a pod without its node: a container, and the volume of claim n. */
void pairs_write_pod_spec(struct buf *b, uint64_t n);

/* Writes objects 0 to count - 1 straight into the store; the function writes their bodies. */
typedef void pairs_write_fn(void *ctx, uint64_t n, struct buf *b);
void pairs_add_stored(struct pairs *p, enum kind k, uint64_t count, pairs_write_fn *make, void *ctx);
/* Creates an object through the API, in PAIRS_NS if the kind has namespaces; does not wait for the answer. */
void pairs_create_object(struct pairs *p, enum kind k, struct str body);
/* The same with a merge patch. subresource: NULL for none. */
void pairs_patch_object(struct pairs *p, enum kind k, const char *name, const char *subresource,
                        struct str body);

enum pairs_way {
    PAIRS_FREE,    /* as a user creates them */
    PAIRS_READY,   /* the volume is Available before its claim exists */
    PAIRS_RESERVED /* the volume's claimRef names the claim, with its uid */
};
/* Through the API; pairs_await_answers() waits for the answers. */
void pairs_create(struct pairs *p, uint64_t n, enum pairs_way way);
void pairs_await_answers(struct pairs *p, uint64_t left);

/* Fills the controllers' caches; they start with pairs_start(). */
void pairs_open_components(struct pairs *p);
void pairs_start(struct pairs *p);
/* Runs the loop for this time. */
void pairs_rest(struct pairs *p, uint64_t ns);
/* Runs the loop until the controllers have sent nothing for a while. */
void pairs_settle(struct pairs *p);

#endif
