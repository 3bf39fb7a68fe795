/* The unit tests' frame: tests register themselves, assertions print both sides.
 *
 *     TEST(quantity_keeps_its_suffix) { ASSERT_STR("1Gi", text); }
 *     TEST_MAIN()
 *
 * One executable a file. Tests run in the order they stand in. `test_x NAME` runs the tests whose name
 * contains NAME. */
#ifndef BERTH_TESTS_TEST_H
#define BERTH_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

#define TESTS_PER_FILE_MAX 512

/* For TEST() and TEST_MAIN(), and whoever runs them otherwise. */
extern struct CMUnitTest tests[TESTS_PER_FILE_MAX];
extern size_t tests_count;

void tests_add(const char *name, CMUnitTestFunction function);
int tests_run(int argc, char **argv);

/* Of cases that a loop makes by the hundred, one in so many is tried: TEST_SHARE in the environment, or else
 * each. Under ASan, which takes five times as long, a share; in the release build all (scripts/test, stage
 * faults). */
unsigned tests_share(void);

/* Whether the next of such cases is tried. */
bool tests_take_turn(void);

#define TEST(test_name)                                                 \
    static void test_name(void **state_);                               \
    __attribute__((constructor)) static void register_##test_name(void) \
    {                                                                   \
        tests_add(#test_name, test_name);                               \
    }                                                                   \
    static void test_name(void **state_ __attribute__((unused)))

#define TEST_MAIN()                   \
    int main(int argc, char **argv)   \
    {                                 \
        return tests_run(argc, argv); \
    }

/* r >= 0, or the error's words. */
#define ASSERT_OK(expr)                                                            \
    do {                                                                           \
        int ok_ = (expr);                                                          \
        if (ok_ < 0)                                                               \
            fail_msg("%s: %s (%s)", #expr, err.msg, error_name((enum err)(-ok_))); \
    } while (0)

/* Fails with this code; the message is in err.msg for further checks. */
#define ASSERT_ERR(expected, expr)                                                                  \
    do {                                                                                            \
        int r_ = (expr);                                                                            \
        if (r_ != -(int)(expected))                                                                 \
            fail_msg("%s: returned %d, expected -%s; message: %s", #expr, r_, error_name(expected), \
                     err.msg);                                                                      \
    } while (0)

#define ASSERT_STR(expected, actual) assert_string_equal((actual), (expected))
#define ASSERT_INT(expected, actual) assert_int_equal((actual), (expected))

#endif
