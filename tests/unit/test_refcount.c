/* Reference counts. */
#include "tests/unit/test.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "base/refcount.h"
#include "tests/unit/aborts.h"

TEST(refcount_last_one_frees)
{
    struct refcount r;

    refcount_init(&r);
    refcount_inc(&r);
    refcount_inc(&r);
    assert_false(refcount_dec(&r));
    assert_false(refcount_dec(&r));
    assert_true(refcount_dec(&r));
}

#define HOLDERS 4
#define TURNS 20000

struct shared {
    struct refcount refs;
    atomic_uint frees;
};

static void *hold_and_drop(void *arg)
{
    struct shared *s = arg;

    for (int i = 0; i < TURNS; i++) {
        refcount_inc(&s->refs);
        if (refcount_dec(&s->refs))
            atomic_fetch_add(&s->frees, 1);
    }
    if (refcount_dec(&s->refs))
        atomic_fetch_add(&s->frees, 1);
    return NULL;
}

TEST(refcount_frees_once_among_threads)
{
    struct shared s;
    pthread_t threads[HOLDERS];

    refcount_init(&s.refs);
    atomic_init(&s.frees, 0);
    for (size_t i = 1; i < HOLDERS; i++)
        refcount_inc(&s.refs); /* one for each thread, with the maker's own */
    for (size_t i = 0; i < HOLDERS; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, hold_and_drop, &s));
    for (size_t i = 0; i < HOLDERS; i++)
        ASSERT_INT(0, pthread_join(threads[i], NULL));
    ASSERT_INT(1, atomic_load(&s.frees));
    ASSERT_INT(0, atomic_load(&s.refs.held));
}

TEST(refcount_misuse_is_caught)
{
    struct refcount dead, full;

    refcount_init(&dead);
    assert_true(refcount_dec(&dead));
    ASSERT_ABORTS(refcount_inc(&dead));
    ASSERT_ABORTS((void)refcount_dec(&dead));
    atomic_init(&full.held, REFCOUNT_MAX - 1);
    refcount_inc(&full);
    ASSERT_ABORTS(refcount_inc(&full));
}

TEST_MAIN()
