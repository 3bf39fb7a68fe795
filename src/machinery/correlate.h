/* Correlation of core/v1 events: what is written of many that say the same, nearly the same, or too much.
 *
 * Three steps, in this order, as the stock recorder has them:
 *   1. Similar events (one object, type and reason) with ever other messages are combined: nine messages
 *      stand alone, every further one goes into one event for all of them. After ten quiet minutes the
 *      messages are forgotten.
 *   2. An event that was there before is counted on its first occurrence instead of made anew.
 *   3. Of each type an object may have 25 at once, and one more every five minutes; what is beyond is not
 *      written, but counted by step 2.
 * What each step knows is a cache of CORRELATE_ENTRIES_MAX entries.
 *
 * Pure: time comes in, a decision goes out. One correlator serves one source (component and host), which
 * therefore stands in no key. Costs: O(1) and the length of the message; full, some 3 MB, at worst 12. */
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
#define CORRELATE_MESSAGES_MAX 10 /* with this one the group is combined */
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
    const char *name;   /* of the event, should it be a new one */
};

enum correlate_action {
    CORRELATE_CREATE,
    CORRELATE_PATCH, /* of the count, the last time and the message */
    CORRELATE_DROP,  /* too many of them */
};

struct correlated {
    enum correlate_action action;
    bool is_combined; /* the message gets CORRELATE_COMBINED in front */
    int32_t count;
    int64_t first_real_ns;
    char name[EVENT_NAME_BYTES]; /* of the event that is made or counted on */
};

void correlator_init(struct correlator *c, struct hash_seed seed);
void correlator_done(struct correlator *c);

/* now_ns is monotonic, real_ns the wall's. ERR_NO_MEMORY. */
int correlate(struct correlator *c, const struct correlate_event *e, uint64_t now_ns, int64_t real_ns,
              struct correlated *ret, struct error *err);

#endif
