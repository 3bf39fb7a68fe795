/* Sorting and bisection of key-value pairs. The pairs and their texts belong to the caller. */
#include "api/kv.h"

#include <stdlib.h>
#include <string.h>

static int kv_cmp(const void *a, const void *b)
{
    const struct kv *left = a, *right = b;

    return strcmp(left->key, right->key);
}

void kv_sort(struct kv *pairs, size_t count)
{
    if (count > 1)
        qsort(pairs, count, sizeof *pairs, kv_cmp);
}

const char *kv_get(const struct kv *pairs, size_t count, const char *key)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(pairs[middle].key, key);
        if (order == 0)
            return pairs[middle].value;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
