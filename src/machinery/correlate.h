/* Correlation of core/v1 events: combines similar events, counts repeated ones and limits their rate.
 *
 * Three steps, in this order, as in the stock recorder:
 *   1. Similar events (same object, type and reason) with changing messages are combined: nine messages are
 *      written on their own, all further ones go into one event. The messages are forgotten after ten minutes
 *      without such an event.
 *   2. A repeated event increments the count of its first occurrence instead of creating another one.
 *   3. Per type and object 25 events may be written at once, and one more every five minutes; events beyond
 *      that are counted by step 2 and not written.
 * Each step has a cache of CORRELATE_ENTRIES_MAX entries.
 *
 * No side effects: the caller passes the time and gets a decision. One correlator serves one source
 * (component and host), so no key includes the source. Costs: O(1) and the length of the message; about 3 MB
 * when full, at most 12. */
#ifndef BERTH_MACHINERY_CORRELATE_H
#define BERTH_MACHINERY_CORRELATE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/object.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "machinery/event_body.h"
#include "machinery/lru.h"

#define CORRELATE_ENTRIES_MAX 4096
#define CORRELATE_MESSAGES_MAX 10 /* with this message the group is combined */
#define CORRELATE_QUIET_NS (600 * NS_PER_S)
#define CORRELATE_BURST 25
#define CORRELATE_REFILL_NS (300 * NS_PER_S)
#define CORRELATE_COMBINED "(combined from similar events): "

struct correlator {
    struct lru groups;
    struct lru seen;
    struct lru buckets;
    struct hash_seed seed;
    struct buf key;
};

struct correlate_event {
    const struct object *about;
    const char *type;
    const char *reason;
    struct str message; /* without NUL */
    const char *name;   /* of the event, if it is a new one */
};

enum correlate_action {
    CORRELATE_CREATE,
    CORRELATE_PATCH, /* updates count, last time and message */
    CORRELATE_DROP,  /* rate limit exceeded */
};

struct correlated {
    enum correlate_action action;
    bool is_combined; /* the message gets the prefix CORRELATE_COMBINED */
    int32_t count;
    int64_t first_real_ns;
    char name[EVENT_NAME_BYTES]; /* of the event that is created or counted */
};

void correlator_init(struct correlator *c, struct hash_seed seed);
void correlator_done(struct correlator *c);

/* now_ns is monotonic, real_ns wall-clock time. ERR_NO_MEMORY. */
int correlator_observe(struct correlator *c, const struct correlate_event *e, uint64_t now_ns,
                       int64_t real_ns, struct correlated *ret, struct error *err);

#endif
