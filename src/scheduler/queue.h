/* The pods that wait for a node: ready, resting after a failure, or set aside until something may help.
 *
 * Ready ones come by priority, then by the time they came. A pod that was refused is set aside and comes back
 * with queue_move() or after five minutes; its rest (1 s, doubled up to 10 s) holds even then. Costs: O(log
 * n), moving O(n) of those set aside. */
#ifndef BERTH_SCHEDULER_QUEUE_H
#define BERTH_SCHEDULER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/pod.h"
#include "base/map.h"
#include "base/omap.h"
#include "io/loop.h"

#define QUEUE_REST_NS NS_PER_S
#define QUEUE_REST_MAX_NS (10 * NS_PER_S)
#define QUEUE_ASIDE_NS (300 * NS_PER_S)
#define QUEUE_SWEEP_NS (30 * NS_PER_S)

enum queue_place { QUEUE_READY, QUEUE_RESTING, QUEUE_ASIDE, QUEUE_UNDER_WAY, QUEUE_PLACE_COUNT };

struct queued_pod {
    const struct pod *pod; /* a reference, as last seen */
    enum queue_place place;
    unsigned attempts;
    uint64_t added_ns; /* to the ready ones */
    uint64_t sequence; /* of it */
    uint64_t rest_until_ns;
    uint64_t aside_since_ns;
    uint64_t reported_ns;         /* when its last failure was recorded as an event; 0: none was */
    uint32_t judges;              /* that refused it: 1 << enum judge */
    TAILQ_ENTRY(queued_pod) link; /* aside */
};

struct pod_queue {
    struct loop *loop;
    struct map by_uid;
    struct omap ready;
    struct omap resting;
    TAILQ_HEAD(, queued_pod) aside;
    size_t counts[QUEUE_PLACE_COUNT];
    uint64_t sequence;
    struct timer rest_timer;
    struct timer sweep_timer;
    void (*on_ready)(void *ctx); /* there is a pod to take */
    void *ctx;
};

void queue_init(struct pod_queue *q, struct loop *l, struct hash_seed seed, void (*on_ready)(void *ctx),
                void *ctx);
void queue_done(struct pod_queue *q);

/* A new pod, ready; of one that is there the newer version. is_changed: what matters to scheduling has
 * changed, so that it need not wait for anything else. Without memory the process ends: a pod that is lost is
 * never scheduled. */
void queue_put(struct pod_queue *q, const struct pod *p, bool is_changed);
/* It has a node, or is gone. */
void queue_remove(struct pod_queue *q, const char *uid);
struct queued_pod *queue_get(const struct pod_queue *q, const char *uid);

/* The next one, now under way; NULL for none. */
struct queued_pod *queue_take(struct pod_queue *q);
/* Back from under way: refused, and set aside. */
void queue_set_aside(struct pod_queue *q, struct queued_pod *x, uint32_t judges);
/* Back from under way: something failed; again after its rest. */
void queue_rest(struct pod_queue *q, struct queued_pod *x);

/* Of those set aside, the ones that fn says yes to come back. */
typedef bool queue_helps_fn(void *ctx, const struct queued_pod *x);
void queue_move(struct pod_queue *q, queue_helps_fn *helps, void *ctx);

#endif
