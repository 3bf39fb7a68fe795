/* Random numbers: known sequences, bounds, independence of forks. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "base/rng.h"
#include "tests/unit/aborts.h"

/* The published first numbers of xoshiro256** from the state 1, 2, 3, 4. */
TEST(rng_is_xoshiro)
{
    static const uint64_t want[] = {
        11520, 0, 1509978240, 1215971899390074240, 1216172134540287360, 607988272756665600,
    };
    struct rng r = { { 1, 2, 3, 4 } };

    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_true(rng_u64(&r) == want[i]);
}

TEST(rng_is_seeded_by_splitmix)
{
    static const uint64_t want[] = { 6457827717110365317u, 3203168211198807973u, 9817491932198370423u };
    struct rng r;

    rng_init(&r, 1234567);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_true(r.s[i] == want[i]);
}

/* These must never change: saved seeds replay by them. */
TEST(rng_replays_from_its_seed)
{
    static const unsigned char bytes[] = { 0x16, 0xc7, 0x2e, 0x0c, 0x2e, 0x0b, 0x78, 0x15, 0x7e, 0x3a };
    unsigned char drawn[ARRAY_LEN(bytes)];
    struct rng r;

    rng_init(&r, 42);
    assert_true(rng_u64(&r) == 0x15780b2e0c2ec716);
    assert_true(rng_u64(&r) == 0x6104d9866d113a7e);
    rng_init(&r, 42);
    rng_bytes(&r, drawn, sizeof drawn);
    assert_memory_equal(bytes, drawn, sizeof bytes);
}

TEST(rng_bytes_stay_within_their_room)
{
    unsigned char room[20];
    struct rng r;

    rng_init(&r, 1);
    for (size_t len = 0; len <= 17; len++) {
        memset(room, 0xAA, sizeof room);
        rng_bytes(&r, room + 1, len);
        ASSERT_INT(0xAA, room[0]);
        ASSERT_INT(0xAA, room[len + 1]);
    }
}

TEST(rng_below_stays_below)
{
    static const uint64_t bounds[] = {
        1,
        2,
        3,
        5,
        7,
        8,
        9,
        100,
        UINT32_MAX,
        (UINT64_C(1) << 63) - 1,
        UINT64_C(1) << 63,
        (UINT64_C(1) << 63) + 1,
        UINT64_MAX,
    };
    struct rng r;

    rng_init(&r, 3);
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
        for (int n = 0; n < 1000; n++)
            assert_true(rng_below(&r, bounds[i]) < bounds[i]);
}

/* 60,000 throws of a die: each face 10,000 times, give or take 400 (over four standard deviations). */
TEST(rng_below_is_even)
{
    int faces[6] = { 0 };
    struct rng r;

    rng_init(&r, 5);
    for (int i = 0; i < 60000; i++)
        faces[rng_below(&r, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_in_range(faces[i], 9600, 10400);
}

TEST(rng_chance_keeps_its_edges)
{
    int hits = 0;
    struct rng r;

    rng_init(&r, 9);
    for (int i = 0; i < 10000; i++) {
        assert_false(rng_chance(&r, 0));
        assert_true(rng_chance(&r, 100));
        hits += rng_chance(&r, 30);
    }
    assert_in_range(hits, 2800, 3200);
}

TEST(rng_forks_are_named_streams)
{
    struct rng parent, before, delays, again, faults;

    rng_init(&parent, 77);
    before = parent;
    rng_fork(&parent, "delays", &delays);
    rng_fork(&parent, "faults", &faults);
    rng_fork(&parent, "delays", &again);
    assert_memory_equal(&before, &parent, sizeof parent);
    assert_memory_equal(&delays, &again, sizeof delays);
    for (int i = 0; i < 100; i++) {
        uint64_t d = rng_u64(&delays);
        if (i == 0)
            assert_true(d == 0x42b16bd569d850e5); /* must never change: saved seeds replay by it */
        assert_true(d == rng_u64(&again));
        assert_true(d != rng_u64(&faults));
        assert_true(d != rng_u64(&parent));
    }
    rng_fork(&parent, "delays", &again); /* the parent has moved on */
    assert_memory_not_equal(&delays, &again, sizeof delays);
}

TEST(rng_forks_differ_with_the_seed)
{
    struct rng a, b;

    rng_init(&a, 1);
    rng_init(&b, 2);
    rng_fork(&a, "delays", &a);
    rng_fork(&b, "delays", &b);
    assert_true(rng_u64(&a) != rng_u64(&b));
}

TEST(rng_promises_are_caught)
{
    struct rng r;

    rng_init(&r, 1);
    ASSERT_ABORTS((void)rng_below(&r, 0));
    ASSERT_ABORTS((void)rng_chance(&r, 101));
}

TEST_MAIN()
