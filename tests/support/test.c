/* The tests of the program, in the order in which they stand in its file. */
#include "tests/unit/test.h"

/* For ASan. A test that includes a file of src has the globals of that file, which the shared library has
 * too: of the same size they are no mistake. */
__attribute__((weak)) const char *__asan_default_options(void); /* a test may have its own */

const char *__asan_default_options(void)
{
    return "detect_odr_violation=1";
}

struct CMUnitTest tests[TESTS_PER_FILE_MAX];
size_t tests_count;

void tests_add(const char *name, CMUnitTestFunction function)
{
    if (tests_count == TESTS_PER_FILE_MAX)
        abort();
    tests[tests_count++] = (struct CMUnitTest){ name, function, NULL, NULL, NULL };
}

unsigned tests_share(void)
{
    const char *share = getenv("TEST_SHARE");
    unsigned long n = share ? strtoul(share, NULL, 10) : 1;

    assert_in_range(n, 1, 1000);
    return (unsigned)n;
}

bool tests_take_turn(void)
{
    static unsigned turns;

    return turns++ % tests_share() == 0;
}

int tests_run(int argc, char **argv)
{
    size_t kept = 0;

    for (size_t i = 0; i < tests_count; i++)
        if (argc < 2 || strstr(tests[i].name, argv[1]))
            tests[kept++] = tests[i];
    return _cmocka_run_group_tests(argv[0], tests, kept, NULL, NULL);
}
