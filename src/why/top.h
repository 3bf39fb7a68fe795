/* How full volumes and claims are, line by line.
 *
 * Of volumes there is a line for each volume of each pod, as nodes report it; of claims one for each claim,
 * with the numbers of the first of its pods: they all use the same storage. */
#ifndef BERTH_WHY_TOP_H
#define BERTH_WHY_TOP_H

#include "why/usage.h"

enum top_order { TOP_BY_NAME, TOP_BY_USED, TOP_BY_CAPACITY, TOP_BY_PERCENT, TOP_ORDER_COUNT };
extern const char *const top_order_names[];

/* Of a claim, or of a volume of a pod. */
struct top_line {
    const struct usage *usage; /* of the first who mounts it; usage_none: nobody does */
    const struct claim *claim; /* in a table of claims; else NULL */
    size_t users;              /* of a claim: how many mount it */
    size_t at;                 /* in the order of names */
    int64_t amount;            /* that it is sorted by */
};

/* The usages are loaded and the next four set before top_build(). */
struct top_table {
    struct usages usages;
    const char *ns; /* only of this namespace; NULL: all */
    enum top_order order;
    bool is_of_claims;
    bool shows_all; /* claims that nobody mounts, too */
    VEC(struct top_line) lines;
};

#define TOP_TABLE_INIT ((struct top_table){ .usages = USAGES_INIT })

/* all has the claims of a table of claims. */
int top_build(struct top_table *t, const struct inventory *all, struct error *err);
void top_done(struct top_table *t);
/* The table as `berth top -o json` prints it; 0 when d has failed. */
json_ref top_as_json(const struct top_table *t, struct json *d);

#endif
