/* String maps (labels, annotations, parameters) as arrays sorted by key: compact, and O(log n) to look up. */
#ifndef BERTH_API_KV_H
#define BERTH_API_KV_H

#include <stddef.h>

struct kv {
    const char *key, *value;
};

/* Puts the pairs in the order that kv_get() relies on: bytewise by key. */
void kv_sort(struct kv *pairs, size_t count);

/* The value of the key, NULL when it is absent. An empty value is "". pairs are sorted. */
const char *kv_get(const struct kv *pairs, size_t count, const char *key);

#endif
