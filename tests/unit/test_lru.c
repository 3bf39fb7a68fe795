/* The cache that forgets what was not asked for longest. */
#include "tests/unit/test.h"

#include "machinery/lru.h"

static const struct hash_seed seed = { 1, 2 };

static void put(struct lru *l, const char *key, int value)
{
    int *at = lru_ensure(l, str_of(key));

    assert_non_null(at);
    *at = value;
}

static int peek(struct lru *l, const char *key)
{
    const int *at = lru_get(l, str_of(key));

    return at ? *at : -1;
}

TEST(lru_keeps_what_was_asked_for)
{
    struct lru l;

    lru_init(&l, sizeof(int), 3, seed);
    assert_null(lru_oldest(&l));
    ASSERT_INT(-1, peek(&l, "a"));
    put(&l, "a", 1);
    put(&l, "b", 2);
    put(&l, "c", 3);
    ASSERT_INT(1, peek(&l, "a")); /* b is the oldest now */
    ASSERT_INT(2, *(int *)lru_oldest(&l));
    put(&l, "d", 4);
    ASSERT_INT(3, lru_count(&l));
    ASSERT_INT(-1, peek(&l, "b"));
    ASSERT_INT(3, peek(&l, "c"));
    put(&l, "a", 9); /* known: nothing is pushed out */
    ASSERT_INT(3, lru_count(&l));
    ASSERT_INT(9, peek(&l, "a"));
    lru_done(&l);
}

TEST(lru_removes)
{
    struct lru l;

    lru_init(&l, sizeof(int), 2, seed);
    put(&l, "a", 1);
    put(&l, "b", 2);
    lru_remove(&l, lru_get(&l, STR_LIT("a")));
    ASSERT_INT(-1, peek(&l, "a"));
    ASSERT_INT(2, *(int *)lru_oldest(&l));
    put(&l, "c", 3);
    ASSERT_INT(2, peek(&l, "b"));
    lru_done(&l);
}

TEST(lru_new_values_are_zero_and_keys_are_copies)
{
    struct lru l;
    char key[] = { 'a', '\0', 'b' };
    uint64_t *value;

    lru_init(&l, sizeof *value, 2, seed);
    value = lru_add(&l, (struct str){ key, sizeof key });
    assert_non_null(value);
    assert_true(*value == 0);
    assert_true((uintptr_t)value % _Alignof(uint64_t) == 0);
    key[2] = 'c';
    assert_null(lru_get(&l, (struct str){ key, sizeof key }));
    assert_ptr_equal(value, lru_get(&l, (struct str){ "a\0b", 3 }));
    assert_non_null(lru_add(&l, STR_LIT("")));
    assert_non_null(lru_get(&l, STR_LIT("")));
    lru_done(&l);
}

static void *no_table(size_t count, size_t bytes)
{
    (void)count;
    (void)bytes;
    return NULL;
}

TEST(lru_without_memory_forgets_nothing)
{
    struct lru l;

    lru_init(&l, sizeof(int), 100, seed);
    l.by_key.alloc = no_table;
    assert_null(lru_add(&l, STR_LIT("a")));
    ASSERT_INT(0, lru_count(&l));
    assert_null(lru_oldest(&l));
    lru_done(&l);
}

TEST_MAIN()
