/* Leader election on a Lease: of several processes one leads, and knows when it does not any more.
 *
 * Time is this process's own, monotonic: what another clock wrote is compared with what it wrote before,
 * never with ours. Whoever led and could not renew in time has stopped for good: the process ends. Writes are
 * kept from leaving after the term by the client's gate (leader_gate()). */
#ifndef BERTH_MACHINERY_LEADER_H
#define BERTH_MACHINERY_LEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/client.h"
#include "io/loop.h"

struct leader;
struct metrics;
struct recorder;

#define LEADER_LEASE_NS (15 * NS_PER_S)
#define LEADER_RENEW_NS (10 * NS_PER_S)
#define LEADER_RETRY_NS (2 * NS_PER_S)

enum leader_state {
    LEADER_IDLE,
    LEADER_TRYING, /* somebody else leads, or nobody yet */
    LEADER_LEADING,
    LEADER_RELEASING, /* asked to stop */
    LEADER_OVER,      /* stopped, or the term was lost */
    LEADER_STATE_COUNT,
};

struct leader_options {
    struct loop *loop;
    const struct clock *clock;
    struct client *client;
    struct recorder *recorder; /* NULL: no events */
    struct metrics *metrics;   /* NULL: nothing is counted */
    uint64_t seed;
    const char *ns;       /* "kube-system" */
    const char *name;     /* "berth-controllers" */
    const char *identity; /* "<hostname>_<uuid>" */
    /* 0: as above. */
    uint64_t lease_ns;
    uint64_t renew_ns;
    uint64_t retry_ns;
    /* The term begins. */
    void (*on_started)(void *ctx);
    /* It is over: by leader_stop() (is_lost false: the lease was released, or could not be) or because it
     * could not be renewed (true): work is to stop at once and the process to end. */
    void (*on_stopped)(void *ctx, bool is_lost);
    void *ctx;
};

/* ERR_INVALID with the words of the rule when the times do not fit together. */
int leader_check_times(uint64_t lease_ns, uint64_t renew_ns, uint64_t retry_ns, struct error *err);

/* Checks the times, too. */
int leader_new(const struct leader_options *o, struct leader **ret, struct error *err);
/* Releases nothing on the server. Takes NULL. */
struct leader *leader_free(struct leader *l);
DEFINE_CLEANUP(struct leader, leader_free)

void leader_start(struct leader *l);
/* A clean end: the lease is given back, on_stopped follows. */
void leader_stop(struct leader *l);

enum leader_state leader_state(const struct leader *l);
/* Leading, and the lease is good at this very moment, whatever callbacks are due: asked before every write.
 */
bool leader_is_valid(const struct leader *l);
/* A client_gate_fn with a struct leader as ctx. */
bool leader_gate(void *leader, struct error *err);
/* Who holds the lease, as far as is known; "" for nobody. */
const char *leader_holder(const struct leader *l);
/* Why the last try did not end in a renewed lease of ours, for a log: "" when it did, or when another simply
 * leads. After the end: why the term was lost, or the lease could not be given back. */
const char *leader_trouble(const struct leader *l);
/* Health: 0, or `failed election to renew leadership on lease NAME`. */
int leader_check(const struct leader *l, struct error *err);

#endif
