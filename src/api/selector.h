/* Label selectors: requirements on labels, all of which must hold.
 *
 * They come from text (`env in (a,b),!old`, the labelSelector parameter) or from the parts of matchLabels and
 * matchExpressions. Everything a selector points to lives in the arena it was built with; it is read-only
 * afterwards.
 *
 * Matching costs O(log labels + log values) for each requirement and allocates nothing: labels and values
 * are sorted. */
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
    const char **values; /* sorted, each once */
    size_t values_count;
    int64_t bound; /* of Gt and Lt */
    enum selector_op op;
};

/* Zeroed, it selects everything. */
struct label_selector {
    struct requirement *items;
    size_t count;
    size_t room;
    const char
        *error; /* why the object it was decoded from holds no selector that can be evaluated; else NULL */
};

/* One requirement as an object holds it, unchecked. */
struct requirement_parts {
    struct str key;
    struct str op; /* "In", "NotIn", "Exists", "DoesNotExist"; for nodes also "Gt", "Lt" */
    const struct str *values;
    size_t values_count;
};

/* From text: `k=v` `k==v` `k!=v` `k in (a,b)` `k notin (a)` `k` `!k` `k>5` `k<5`, commas between. An empty
 * text selects everything. Errors are ERR_BAD_REQUEST in the API's words. */
int label_selector_parse(struct str text, struct arena *a, struct label_selector *ret, struct error *err);

/* One more requirement of matchExpressions (a label of matchLabels). Errors are ERR_INVALID and leave the
 * selector as it was. */
int label_selector_add(struct label_selector *sel, struct arena *a, const struct requirement_parts *parts,
                       struct error *err);
int label_selector_add_label(struct label_selector *sel, struct arena *a, struct str key, struct str value,
                             struct error *err);

/* labels are sorted by key. */
bool label_selector_matches(const struct label_selector *sel, const struct kv *labels, size_t count);

/* A text that parses to the same requirements. Returns the buffer's failure, if any. */
void label_selector_format(const struct label_selector *sel, struct buf *out);
/* One requirement for people: "tier=gold" for a single value, else as label_selector_format() has it. */
void requirement_words(const struct requirement *q, struct buf *out);

#endif
