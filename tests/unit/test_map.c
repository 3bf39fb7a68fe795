/* The hash map. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "base/map.h"
#include "base/rng.h"
#include "tests/unit/aborts.h"

static struct error err;
static const struct hash_seed seed = { 11, 22 };

#define KEYS 3000

static char keys[KEYS][16];

static void keys_init(void)
{
    for (int i = 0; i < KEYS; i++)
        (void)snprintf(keys[i], sizeof keys[i], "ns/claim-%d", i);
}

TEST(map_get_put_remove)
{
    struct map m;
    int one = 1, two = 2;
    void *old = &two;

    map_init(&m, seed);
    assert_null(map_get(&m, STR_LIT("a")));
    assert_null(map_remove(&m, STR_LIT("a")));
    ASSERT_OK(map_put(&m, STR_LIT("a"), &one, &old));
    assert_null(old);
    ASSERT_INT(1, m.count);
    assert_ptr_equal(&one, map_get(&m, STR_LIT("a")));
    assert_null(map_get(&m, STR_LIT("b")));
    assert_null(map_get(&m, STR_LIT("")));
    assert_ptr_equal(&one, map_remove(&m, STR_LIT("a")));
    assert_null(map_get(&m, STR_LIT("a")));
    ASSERT_INT(0, m.count);
    map_done(&m);
}

TEST(map_get_in_two_steps)
{
    struct map m;
    uint32_t fetched;

    keys_init();
    map_init(&m, seed);
    fetched = map_prefetch(&m, STR_LIT("a")); /* of nothing */
    assert_null(map_get_fetched(&m, STR_LIT("a"), fetched));
    for (int i = 0; i < KEYS; i += 2)
        ASSERT_OK(map_put(&m, str_of(keys[i]), keys[i], NULL));
    for (int i = 0; i < KEYS; i++) {
        fetched = map_prefetch(&m, str_of(keys[i]));
        assert_ptr_equal(i % 2 ? NULL : keys[i], map_get_fetched(&m, str_of(keys[i]), fetched));
    }
    map_done(&m);
}

TEST(map_keys_are_bytes)
{
    static const struct str rows[] = { { "", 0 },  { "\0", 1 },  { "\0\0", 2 },
                                       { "a", 1 }, { "a\0", 2 }, { "\xff", 1 } };
    struct map m;

    map_init(&m, seed);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_OK(map_put(&m, rows[i], keys[i], NULL));
    ASSERT_INT(ARRAY_LEN(rows), m.count);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_ptr_equal(keys[i], map_get(&m, rows[i]));
    assert_ptr_equal(keys[0], map_get(&m, (struct str){ NULL, 0 })); /* an empty slice is an empty key */
    map_done(&m);
}

/* The key's memory goes with the value that was replaced: the entry must stand on the new key. */
TEST(map_put_replaces_value_and_key)
{
    char first[] = "shop/db", second[] = "shop/db";
    int one = 1, two = 2;
    void *old = NULL;
    struct str key;
    struct map m;
    size_t at = 0;

    map_init(&m, seed);
    ASSERT_OK(map_put(&m, str_of(first), &one, NULL));
    ASSERT_OK(map_put(&m, str_of(second), &two, &old));
    assert_ptr_equal(&one, old);
    ASSERT_INT(1, m.count);
    memset(first, 'x', sizeof first - 1);
    assert_ptr_equal(&two, map_get(&m, STR_LIT("shop/db")));
    assert_ptr_equal(&two, map_next(&m, &at, &key));
    assert_ptr_equal(second, key.s);
    map_done(&m);
}

TEST(map_visits_every_entry_once)
{
    static bool seen[KEYS];
    struct map m;
    struct str key;
    char *value;
    size_t visits = 0;

    keys_init();
    map_init(&m, seed);
    for (size_t at = 0; map_next(&m, &at, &key);)
        fail_msg("an empty map has entries");
    for (int i = 0; i < KEYS; i++)
        ASSERT_OK(map_put(&m, str_of(keys[i]), keys[i], NULL));
    for (size_t at = 0; (value = map_next(&m, &at, &key)); visits++) {
        size_t i = (size_t)(value - keys[0]) / sizeof keys[0];
        assert_ptr_equal(value, key.s);
        assert_false(seen[i]);
        seen[i] = true;
    }
    ASSERT_INT(KEYS, visits);
    map_done(&m);
}

TEST(map_clear_keeps_the_table_and_done_releases_it)
{
    struct map m;

    keys_init();
    map_init(&m, seed);
    map_clear(&m); /* of nothing */
    for (int i = 0; i < KEYS; i++)
        ASSERT_OK(map_put(&m, str_of(keys[i]), keys[i], NULL));
    size_t cap = m.cap;
    map_clear(&m);
    ASSERT_INT(0, m.count);
    ASSERT_INT(cap, m.cap);
    assert_null(map_get(&m, str_of(keys[5])));
    ASSERT_OK(map_put(&m, str_of(keys[5]), keys[5], NULL));
    map_done(&m);
    ASSERT_INT(0, m.cap);
    assert_null(map_get(&m, str_of(keys[5])));
    ASSERT_OK(map_put(&m, str_of(keys[5]), keys[5], NULL));
    assert_ptr_equal(keys[5], map_get(&m, str_of(keys[5])));
    map_done(&m);
}

TEST(map_is_lean)
{
    struct map m;

    keys_init();
    map_init(&m, seed);
    for (int i = 0; i < KEYS; i++) {
        ASSERT_OK(map_put(&m, str_of(keys[i]), keys[i], NULL));
        assert_true(m.cap <= 8 || m.cap < 3 * m.count); /* doubled from 4/5 full */
        assert_true(m.count * 5 <= m.cap * 4);
    }
    map_done(&m);
}

/* Keys that come and go, in a crowd and a few over and over, against an array that remembers what is in. */
TEST(map_agrees_with_an_array)
{
    static void *want[KEYS];
    struct rng rng;
    struct map m;
    size_t count = 0;

    keys_init();
    rng_init(&rng, 7);
    map_init(&m, seed);
    for (int step = 0; step < 200000; step++) {
        size_t span = step / 20000 % 2 ? 50 : KEYS; /* a crowd, then a few keys over and over */
        size_t i = (size_t)rng_below(&rng, span);
        struct str key = str_of(keys[i]);
        assert_ptr_equal(want[i], map_get(&m, key));
        if (rng_chance(&rng, 50)) {
            void *old = NULL;
            void *value = keys[rng_below(&rng, KEYS)];
            ASSERT_OK(map_put(&m, key, value, &old));
            assert_ptr_equal(want[i], old);
            count += !want[i];
            want[i] = value;
        } else {
            assert_ptr_equal(want[i], map_remove(&m, key));
            count -= want[i] != NULL;
            want[i] = NULL;
        }
        ASSERT_INT(count, m.count);
    }
    for (size_t i = 0; i < KEYS; i++)
        assert_ptr_equal(want[i], map_get(&m, str_of(keys[i])));
    map_done(&m);
}

/* Deletion leaves nothing behind: the table of a map that has seen many keys come and go stays as it is. */
TEST(map_does_not_grow_by_turnover)
{
    struct map m;

    keys_init();
    map_init(&m, seed);
    for (int i = 0; i < 6; i++)
        ASSERT_OK(map_put(&m, str_of(keys[i]), keys[i], NULL));
    size_t cap = m.cap;
    for (int i = 6; i < KEYS; i++) {
        assert_ptr_equal(keys[i - 6], map_remove(&m, str_of(keys[i - 6])));
        ASSERT_OK(map_put(&m, str_of(keys[i]), keys[i], NULL));
    }
    ASSERT_INT(cap, m.cap);
    map_done(&m);
}

static void *no_memory(size_t count, size_t bytes)
{
    (void)count;
    (void)bytes;
    return NULL;
}

TEST(map_without_memory_stays_as_it_was)
{
    struct map m;
    void *old = &m;
    int r = 0, puts = 0;

    keys_init();
    map_init(&m, seed);
    m.alloc = no_memory;
    ASSERT_INT(-ERR_NO_MEMORY, map_put(&m, STR_LIT("a"), &m, &old));
    assert_null(map_get(&m, STR_LIT("a")));
    m.alloc = calloc;
    for (int i = 0; i < 100; i++)
        ASSERT_OK(map_put(&m, str_of(keys[i]), keys[i], NULL));
    m.alloc = no_memory;
    while (r == 0) { /* up to the table's limit it needs no memory */
        r = map_put(&m, str_of(keys[100 + puts]), keys[100 + puts], NULL);
        puts += r == 0;
    }
    ASSERT_INT(-ERR_NO_MEMORY, r);
    ASSERT_INT(100 + puts, m.count);
    for (int i = 0; i < 100 + puts; i++)
        assert_ptr_equal(keys[i], map_get(&m, str_of(keys[i])));
    assert_null(map_get(&m, str_of(keys[100 + puts])));
    ASSERT_OK(map_put(&m, str_of(keys[3]), keys[4], &old)); /* to replace needs none either */
    assert_ptr_equal(keys[3], old);
    map_done(&m);
}

TEST(map_refuses_giant_keys)
{
    struct map m;

    map_init(&m, seed);
    ASSERT_INT(-ERR_TOO_LARGE, map_put(&m, (struct str){ "", (size_t)UINT32_MAX + 1 }, &m, NULL));
    ASSERT_INT(0, m.count);
}

TEST(map_value_null_is_caught)
{
    struct map m;

    map_init(&m, seed);
    ASSERT_ABORTS((void)map_put(&m, STR_LIT("a"), NULL, NULL));
}

TEST_MAIN()
