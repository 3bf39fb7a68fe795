/* SipHash-1-3 against vectors made with an independent implementation (key 00..0f, text 00 01 02 …). */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "base/siphash.h"

static const struct hash_seed seed = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };

TEST(siphash_known_answers)
{
    static const struct {
        size_t len;
        uint64_t hash;
    } rows[] = {
        { 0, 0xabac0158050fc4dc },  { 1, 0xc9f49bf37d57ca93 },  { 7, 0xd3927d989bb11140 },
        { 8, 0x369095118d299a8e },  { 9, 0x25a48eb36c063de4 },  { 15, 0xd320d86d2a519956 },
        { 16, 0xcc4fdd1a7d908b66 }, { 63, 0x9d199062b7bbb3a8 },
    };
    char text[64];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_true(siphash_hash(seed, (struct str){ text, rows[i].len }) == rows[i].hash);
    assert_true(siphash_hash(seed, (struct str){ NULL, 0 }) == rows[0].hash);
}

TEST(siphash_does_not_care_where_the_text_stands)
{
    char room[32] = { 0 };
    uint64_t want = siphash_hash(seed, STR_LIT("shop/database"));

    for (size_t shift = 0; shift < 8; shift++) {
        (void)snprintf(room + shift, sizeof room - shift, "shop/database");
        assert_true(siphash_hash(seed, (struct str){ room + shift, 13 }) == want);
    }
}

TEST(siphash_depends_on_both_halves_of_the_seed)
{
    struct hash_seed other0 = { seed.k0 ^ 1, seed.k1 }, other1 = { seed.k0, seed.k1 ^ 1 };
    struct str text = STR_LIT("shop/db");

    assert_true(siphash_hash(seed, text) != siphash_hash(other0, text));
    assert_true(siphash_hash(seed, text) != siphash_hash(other1, text));
    assert_true(siphash_hash(other0, text) != siphash_hash(other1, text));
}

TEST(siphash_tells_a_text_from_its_padded_self)
{
    assert_true(siphash_hash(seed, (struct str){ "a\0\0", 1 }) !=
                siphash_hash(seed, (struct str){ "a\0\0", 2 }));
    assert_true(siphash_hash(seed, (struct str){ "a\0\0", 2 }) !=
                siphash_hash(seed, (struct str){ "a\0\0", 3 }));
}

TEST_MAIN()
