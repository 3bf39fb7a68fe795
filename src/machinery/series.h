/* Series of events.k8s.io/v1 events: the same event again is counted, and the count written now and then.
 *
 * The first is made, the second makes it a series, the further ones only count. The total is written every
 * half hour and when the event stayed away for six minutes, after which it is forgotten; one that came once
 * is forgotten after the same time without a write. At most SERIES_MAX are followed: beyond that the one
 * that stayed away longest is over at once.
 *
 * Pure: time comes in, decisions go out. Costs: everything O(1). */
#ifndef BERTH_MACHINERY_SERIES_H
#define BERTH_MACHINERY_SERIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/error.h"
#include "machinery/event_body.h"
#include "machinery/lru.h"

#define SERIES_MAX 4096
#define SERIES_QUIET_NS (360 * NS_PER_S)
#define SERIES_REFRESH_NS (1800 * NS_PER_S)

struct series {
    TAILQ_ENTRY(series) link; /* in the order of written_ns, once count > 1 */
    uint64_t last_ns;         /* when the event came last */
    uint64_t written_ns;      /* when its count was written last */
    int64_t last_real_ns;
    int32_t count;
    int32_t written_count;
    char name[EVENT_NAME_BYTES];
    char *ns;
    struct str body; /* behind ns */
};

struct series_table {
    struct lru all;                             /* by last_ns */
    TAILQ_HEAD(series_written, series) written; /* the longest ago first */
};

/* An event, and what is kept of it if it is the first of its key. Texts are copied. */
struct series_event {
    struct str key;
    const char *name;
    const char *ns;
    struct str body; /* event_write_v1_open() */
};

enum series_action {
    SERIES_CREATE, /* the event */
    SERIES_PATCH,  /* the count */
    SERIES_COUNT,  /* nothing is to be written */
};

void series_init(struct series_table *t, struct hash_seed seed);
void series_done(struct series_table *t);

/* The event came. series_run() came before, at the same moment. The series lives until the next call. */
int series_observe(struct series_table *t, const struct series_event *e, uint64_t now_ns, int64_t real_ns,
                   const struct series **ret, enum series_action *ret_action, struct error *err);

/* Does what is due: fn gets each series whose count is to be written, and must not call back. */
typedef void series_fn(void *ctx, const struct series *s);
void series_run(struct series_table *t, uint64_t now_ns, series_fn *fn, void *ctx);
/* When something will be due. False, and *ret_ns untouched, when nothing is followed. */
bool series_due_ns(const struct series_table *t, uint64_t *ret_ns);

#endif
