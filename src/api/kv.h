/* String maps (labels, annotations, parameters) as arrays sorted by key: compact, and O(log n) to look up. */
#ifndef BERTH_API_KV_H
#define BERTH_API_KV_H

#include <stddef.h>

struct kv {
    const char *key, *value;
};

/* Sorts the pairs bytewise by key, as kv_get() requires. */
void kv_sort(struct kv *pairs, size_t count);

/* The value of the key, NULL if it is absent. An empty value is "". pairs are sorted. */
const char *kv_get(const struct kv *pairs, size_t count, const char *key);

#endif
