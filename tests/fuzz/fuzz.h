/* A fuzz target: one function that takes any bytes and aborts when a promise of the code under test breaks.
 *
 * libFuzzer drives it with -Dfuzz=true; replay.c drives it over the saved inputs in every other build. */
#ifndef BERTH_TESTS_FUZZ_H
#define BERTH_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* data may be NULL when size is 0. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert(), but never compiled out. */
#define FUZZ_CHECK(condition)                                                               \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                        \
        }                                                                                   \
    } while (0)

#endif
