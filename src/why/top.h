/* The table of `berth top`: the usage of volumes and claims.
 *
 * For volumes, one line per volume of each pod, as nodes report it; for claims one line per claim, with the
 * numbers of its first pod: all its pods use the same storage. */
#ifndef BERTH_WHY_TOP_H
#define BERTH_WHY_TOP_H

#include "why/usage.h"

enum top_order { TOP_BY_NAME, TOP_BY_USED, TOP_BY_CAPACITY, TOP_BY_PERCENT, TOP_ORDER_COUNT };
extern const char *const top_order_names[];

/* A claim, or a volume of a pod. */
struct top_line {
    const struct volume_usage *usage; /* of its first pod; usage_none: not mounted */
    const struct claim *claim;        /* in a table of claims; otherwise NULL */
    size_t users;                     /* for a claim: the number of pods that mount it */
    size_t at;                        /* position by name */
    int64_t amount;                   /* what the table is sorted by */
};

/* Set the usages and the next four members before top_build(). */
struct top_table {
    struct usages usages;
    const char *ns; /* only of this namespace; NULL: all */
    enum top_order order;
    bool is_of_claims;
    bool shows_all; /* include claims that no pod mounts */
    VEC(struct top_line) lines;
};

#define TOP_TABLE_INIT ((struct top_table){ .usages = USAGES_INIT })

/* all: has the claims for a table of claims. */
int top_build(struct top_table *t, const struct inventory *all, struct error *err);
void top_done(struct top_table *t);
/* The table as `berth top -o json` prints it; 0 when d has failed. */
json_ref top_as_json(const struct top_table *t, struct json *d);

#endif
