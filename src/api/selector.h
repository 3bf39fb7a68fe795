/* Label selectors: requirements for labels, all of which must be met.
 *
 * They are built from text (`env in (a,b),!old`, the labelSelector parameter) or from matchLabels and
 * matchExpressions. Everything that a selector refers to is in the arena it was built with; it is read-only
 * afterwards.
 *
 * Matching costs O(log labels + log values) per requirement and allocates nothing: labels and values are
 * sorted. */
#ifndef BERTH_API_SELECTOR_H
#define BERTH_API_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kv.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

enum selector_op {
    SELECTOR_IN, /* equality is In with one value */
    SELECTOR_NOT_IN,
    SELECTOR_EXISTS,
    SELECTOR_DOES_NOT_EXIST,
    SELECTOR_GT,
    SELECTOR_LT,
    SELECTOR_OP_COUNT,
};

struct requirement {
    const char *key;
    const char **values; /* sorted, unique */
    size_t values_count;
    int64_t bound; /* of Gt and Lt */
    enum selector_op op;
};

/* Zeroed: selects everything. */
struct label_selector {
    struct requirement *items;
    size_t count;
    size_t room;
    const char *error; /* why the decoded selector cannot be evaluated; else NULL */
};

/* A requirement as in an object, unchecked. */
struct requirement_parts {
    struct str key;
    struct str op; /* "In", "NotIn", "Exists", "DoesNotExist"; for nodes also "Gt", "Lt" */
    const struct str *values;
    size_t values_count;
};

/* From text: `k=v` `k==v` `k!=v` `k in (a,b)` `k notin (a)` `k` `!k` `k>5` `k<5`, comma-separated. An empty
 * text selects everything. Errors are ERR_BAD_REQUEST with the texts of the API. */
int label_selector_parse(struct str text, struct arena *a, struct label_selector *ret, struct error *err);

/* Adds a requirement of matchExpressions (or a label of matchLabels). Errors are ERR_INVALID; the selector is
 * then unchanged. */
int label_selector_add(struct label_selector *sel, struct arena *a, const struct requirement_parts *parts,
                       struct error *err);
int label_selector_add_label(struct label_selector *sel, struct arena *a, struct str key, struct str value,
                             struct error *err);

/* labels are sorted by key. */
bool label_selector_matches(const struct label_selector *sel, const struct kv *labels, size_t count);

/* Writes a text that parses to the same requirements. Failures are kept in the buffer. */
void label_selector_format(const struct label_selector *sel, struct buf *out);
/* One requirement for users: "tier=gold" for a single value, else as label_selector_format(). */
void requirement_words(const struct requirement *q, struct buf *out);

#endif
