/* Leader election on a Lease: one of several instances leads, and knows when it no longer does.
 *
 * Time is the monotonic clock of this process: timestamps of others are only compared with each other, never
 * with this clock. An instance that could not renew in time stops for good: its owner ends the process, or
 * frees what it did as the leader and stands for election again with a new instance. The client's gate
 * (leader_gate()) blocks writes after the term. */
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
    LEADER_TRYING, /* another instance leads, or none yet */
    LEADER_LEADING,
    LEADER_RELEASING, /* stop requested */
    LEADER_OVER,      /* stopped, or the term was lost */
    LEADER_STATE_COUNT,
};

struct leader_options {
    struct loop *loop;
    const struct clock *clock;
    struct client *client;
    struct recorder *recorder; /* NULL: no events */
    struct metrics *metrics;   /* NULL: not counted */
    uint64_t seed;
    const char *ns;       /* "kube-system" */
    const char *name;     /* "berth-controllers" */
    const char *identity; /* "<hostname>_<uuid>" */
    /* 0: the default. */
    uint64_t lease_ns;
    uint64_t renew_ns;
    uint64_t retry_ns;
    uint64_t wait_ns; /* between tries while another instance leads; 0: retry_ns */
    /* The term starts. */
    void (*on_started)(void *ctx);
    /* The term has ended: by leader_stop() (is_lost false; the lease may or may not have been released) or
     * because it could not be renewed (true): work must stop immediately. Must not free the leader. */
    void (*on_stopped)(void *ctx, bool is_lost);
    /* Another instance holds the lease: called when that is first seen, and when the holder changes. Must not
     * free the leader. May be NULL. */
    void (*on_standby)(void *ctx, const char *holder);
    void *ctx;
};

/* ERR_INVALID with the violated rule if the times are inconsistent. */
int leader_check_times(uint64_t lease_ns, uint64_t renew_ns, uint64_t retry_ns, struct error *err);

/* Checks the times too. */
int leader_new(const struct leader_options *o, struct leader **ret, struct error *err);
/* Does not release the lease on the server. Accepts NULL. */
struct leader *leader_free(struct leader *l);
DEFINE_CLEANUP(struct leader, leader_free)

void leader_start(struct leader *l);
/* Releases the lease; on_stopped() follows. */
void leader_stop(struct leader *l);

enum leader_state leader_state(const struct leader *l);
/* Leading, and the lease is valid at this moment, even if callbacks are pending: checked before every write.
 */
bool leader_is_valid(const struct leader *l);
/* A client_gate_fn with a struct leader as ctx. */
bool leader_gate(void *leader, struct error *err);
/* The known holder of the lease; "": none. */
const char *leader_holder(const struct leader *l);
/* Why the last try did not renew our lease, for logs: "" if it did, or if another instance leads. After the
 * end: why the term was lost, or why the lease could not be released. */
const char *leader_last_error(const struct leader *l);
/* Health check: 0, or `failed election to renew leadership on lease NAME`. */
int leader_check(const struct leader *l, struct error *err);

#endif
