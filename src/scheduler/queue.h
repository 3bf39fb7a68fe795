/* Pods that need a node: ready, in backoff after a failure, or unschedulable until a change may help.
 *
 * Ready pods are ordered by priority, then by arrival. A rejected pod is unschedulable and is requeued by
 * queue_requeue() or after five minutes; its backoff (1 s, doubled up to 10 s) applies even then. Costs:
 * O(log n); requeueing is O(n) of the unschedulable pods. */
#ifndef BERTH_SCHEDULER_QUEUE_H
#define BERTH_SCHEDULER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/pod.h"
#include "base/map.h"
#include "base/omap.h"
#include "io/loop.h"

#define QUEUE_BACKOFF_NS NS_PER_S
#define QUEUE_BACKOFF_MAX_NS (10 * NS_PER_S)
#define QUEUE_UNSCHEDULABLE_NS (300 * NS_PER_S)
#define QUEUE_SWEEP_NS (30 * NS_PER_S)

enum queue_place { QUEUE_READY, QUEUE_BACKOFF, QUEUE_UNSCHEDULABLE, QUEUE_IN_FLIGHT, QUEUE_PLACE_COUNT };

struct queued_pod {
    const struct pod *pod; /* a reference to the last version */
    enum queue_place place;
    unsigned attempts;
    uint64_t added_ns; /* when it became ready */
    uint64_t sequence; /* order of becoming ready */
    uint64_t backoff_until_ns;
    uint64_t unschedulable_since_ns;
    uint64_t reported_ns;         /* when its last failure was recorded as an event; 0: never */
    uint32_t filters;             /* that rejected it: 1 << enum filter */
    TAILQ_ENTRY(queued_pod) link; /* in the list of unschedulable pods */
};

struct pod_queue {
    struct loop *loop;
    struct map by_uid;
    struct omap ready;
    struct omap backoff;
    TAILQ_HEAD(, queued_pod) unschedulable;
    size_t counts[QUEUE_PLACE_COUNT];
    uint64_t sequence;
    struct timer backoff_timer;
    struct timer sweep_timer;
    void (*on_ready)(void *ctx); /* a pod can be taken */
    void *ctx;
};

void queue_init(struct pod_queue *q, struct loop *l, struct hash_seed seed, void (*on_ready)(void *ctx),
                void *ctx);
void queue_done(struct pod_queue *q);

/* Adds a pod as ready, or replaces the version of a queued one. is_changed: something relevant to scheduling
 * changed, so an unschedulable pod is requeued. Without memory the process ends: a lost pod would never be
 * scheduled. */
void queue_put(struct pod_queue *q, const struct pod *p, bool is_changed);
/* The pod has a node, or was deleted. */
void queue_remove(struct pod_queue *q, const char *uid);
struct queued_pod *queue_get(const struct pod_queue *q, const char *uid);

/* The next ready pod, now in flight; NULL for none. */
struct queued_pod *queue_take(struct pod_queue *q);
/* Ends the attempt of a pod in flight: it was rejected by these filters and is unschedulable. */
void queue_put_unschedulable(struct pod_queue *q, struct queued_pod *queued, uint32_t filters);
/* Ends the attempt of a pod in flight: it failed and is retried after its backoff. */
void queue_put_backoff(struct pod_queue *q, struct queued_pod *queued);

/* Requeues the unschedulable pods for which the function returns true. */
typedef bool queue_helps_fn(void *ctx, const struct queued_pod *queued);
void queue_requeue(struct pod_queue *q, queue_helps_fn *helps, void *ctx);

/* NULL when every pod is in its place, otherwise a description of the error. */
const char *queue_check(const struct pod_queue *q);

#endif
