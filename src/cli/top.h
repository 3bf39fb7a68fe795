/* What the files of `berth top` share: its lines, as they are gathered and shown. */
#ifndef BERTH_CLI_TOP_H
#define BERTH_CLI_TOP_H

#include "cli/usage.h"

/* Of a claim, or of a volume of a pod. */
struct top_line {
    const struct usage *usage; /* of the first who mounts it; usage_none: nobody does */
    const struct claim *claim; /* of `top claims`; else NULL */
    size_t users;              /* of a claim: how many mount it */
    size_t at;                 /* in the order of names */
    int64_t amount;            /* that it is sorted by */
};

struct top_table {
    VEC(struct top_line) lines;
    struct usages usages;
    bool is_of_claims;
    bool is_wide; /* inodes, too */
    bool has_bars;
    bool has_no_headers;
    bool shows_namespace;
};

int top_show(const struct top_table *t, struct buf *out, struct error *err);
int top_show_json(const struct top_table *t, struct buf *out, struct error *err);

#endif
