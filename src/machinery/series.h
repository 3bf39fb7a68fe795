/* Series of events.k8s.io/v1 events: repeated events are counted, and the count is written from time to time.
 *
 * The first event is created, the second turns it into a series, further ones are only counted. The count is
 * written every 30 minutes, and when the event did not occur for six minutes; then the series is dropped. An
 * event that occurred once is dropped after the same time without a write. At most SERIES_MAX series are
 * kept; beyond that the one that was quiet longest ends early.
 *
 * No side effects: the caller passes the time and gets decisions. Costs: everything O(1). */
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
    TAILQ_ENTRY(series) link; /* ordered by written_ns, if count > 1 */
    uint64_t last_ns;         /* of the last occurrence */
    uint64_t written_ns;      /* of the last write of the count */
    int64_t last_real_ns;
    int32_t count;
    int32_t written_count;
    char name[EVENT_NAME_BYTES];
    char *ns;
    struct str body; /* after ns */
};

struct series_table {
    struct lru all;                             /* by last_ns */
    TAILQ_HEAD(series_written, series) written; /* oldest first */
};

/* An event, and what is kept if it is the first with its key. Texts are copied. */
struct series_event {
    struct str key;
    const char *name;
    const char *ns;
    struct str body; /* event_write_v1_open() */
};

enum series_action {
    SERIES_CREATE, /* the event */
    SERIES_PATCH,  /* the count */
    SERIES_COUNT,  /* nothing to write */
};

void series_init(struct series_table *t, struct hash_seed seed);
void series_done(struct series_table *t);

/* Records an occurrence. The caller must have called series_run() for the same time. The series is valid
 * until the next call. */
int series_observe(struct series_table *t, const struct series_event *e, uint64_t now_ns, int64_t real_ns,
                   const struct series **ret, enum series_action *ret_action, struct error *err);

/* Handles what is due: fn gets each series whose count must be written, and must not call back. */
typedef void series_fn(void *ctx, const struct series *s);
void series_run(struct series_table *t, uint64_t now_ns, series_fn *fn, void *ctx);
/* The time when series_run() is due. False, and *ret_ns unchanged, if there is no series. */
bool series_due_ns(const struct series_table *t, uint64_t *ret_ns);

#endif
