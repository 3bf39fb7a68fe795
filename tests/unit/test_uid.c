/* Uids, resource versions, generated names. */
#include "tests/unit/test.h"

#include "api/names.h"
#include "api/uid.h"
#include "base/cleanup.h"

static struct error err;

TEST(uid_is_a_version_4_uuid)
{
    static const uint8_t zeros[UID_RANDOM_BYTES];
    uint8_t ones[UID_RANDOM_BYTES], count[UID_RANDOM_BYTES];
    char uid[UID_BYTES];

    uid_make(zeros, uid);
    ASSERT_STR("00000000-0000-4000-8000-000000000000", uid);
    memset(ones, 0xFF, sizeof ones);
    uid_make(ones, uid);
    ASSERT_STR("ffffffff-ffff-4fff-bfff-ffffffffffff", uid);
    for (size_t i = 0; i < sizeof count; i++)
        count[i] = (uint8_t)(i * 0x11);
    uid_make(count, uid);
    ASSERT_STR("00112233-4455-4677-8899-aabbccddeeff", uid);
    assert_true(uid_is_valid(str_of(uid)));
}

TEST(uid_validity)
{
    assert_true(uid_is_valid(STR_LIT("01234567-89AB-CDEF-0123-456789abcdef")));
    assert_false(uid_is_valid(STR_LIT("")));
    assert_false(uid_is_valid(STR_LIT("01234567-89ab-cdef-0123-456789abcde")));
    assert_false(uid_is_valid(STR_LIT("01234567-89ab-cdef-0123-456789abcdef0")));
    assert_false(uid_is_valid(STR_LIT("0123456789ab-cdef-0123-456789abcdef--")));
    assert_false(uid_is_valid(STR_LIT("g1234567-89ab-cdef-0123-456789abcdef")));
    assert_false(uid_is_valid(STR_LIT("01234567089ab-cdef-0123-456789abcdef")));
}

TEST(resource_versions_are_read)
{
    static const struct {
        const char *text;
        int64_t revision;
    } rows[] = {
        { "", RESOURCE_VERSION_UNSET },       { "0", 0 }, { "1", 1 }, { "007", 7 },
        { "9223372036854775807", INT64_MAX },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t revision = 99;
        ASSERT_OK(resource_version_parse(str_of(rows[i].text), &revision, &err));
        assert_true(revision == rows[i].revision);
    }
}

TEST(resource_versions_are_refused)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "abc",
          "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax" },
        { "-1", "resourceVersion: Invalid value: \"-1\": strconv.ParseUint: parsing \"-1\": invalid syntax" },
        { "+1", "resourceVersion: Invalid value: \"+1\": strconv.ParseUint: parsing \"+1\": invalid syntax" },
        { " 1", "resourceVersion: Invalid value: \" 1\": strconv.ParseUint: parsing \" 1\": invalid syntax" },
        { "1\"",
          "resourceVersion: Invalid value: \"1\\\"\": strconv.ParseUint: parsing \"1\\\"\": invalid syntax" },
        { "9223372036854775808",
          "resourceVersion: Invalid value: \"9223372036854775808\": strconv.ParseUint: "
          "parsing \"9223372036854775808\": value out of range" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t revision = 99;
        ASSERT_ERR(ERR_BAD_REQUEST, resource_version_parse(str_of(rows[i].text), &revision, &err));
        ASSERT_STR(rows[i].message, err.msg);
        ASSERT_INT(99, revision);
    }
}

TEST(resource_versions_are_written)
{
    char text[RESOURCE_VERSION_BYTES];

    resource_version_format(1, text);
    ASSERT_STR("1", text);
    resource_version_format(INT64_MAX, text);
    ASSERT_STR("9223372036854775807", text);
}

TEST(names_are_generated)
{
    char name[GENERATED_NAME_BYTES], long_prefix[100];

    generate_name(STR_LIT("web-"), 0, name);
    ASSERT_STR("web-bbbbb", name);
    generate_name(STR_LIT("web-"), 1 + 27 * 26, name);
    ASSERT_STR("web-c9bbb", name);
    generate_name(STR_LIT(""), UINT64_MAX, name);
    ASSERT_INT(5, strlen(name));
    memset(long_prefix, 'a', sizeof long_prefix);
    generate_name((struct str){ long_prefix, sizeof long_prefix }, 12345, name);
    ASSERT_INT(63, strlen(name));
    ASSERT_INT(58, strspn(name, "a"));
    assert_true(name_is_valid(NAME_DNS_LABEL, str_of(name)));
}

/* Every character of the alphabet at every place, and no other. */
TEST(names_are_generated_from_the_whole_alphabet)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    bool seen[NAME_SUFFIX_CHARS][256] = { { false } };
    uint64_t random = 1;

    for (int round = 0; round < 10000; round++) {
        char name[GENERATED_NAME_BYTES];
        random = random * 6364136223846793005U + 1442695040888963407U;
        generate_name(STR_LIT(""), random >> 8, name);
        ASSERT_INT(NAME_SUFFIX_CHARS, strspn(name, alphabet));
        for (size_t i = 0; i < NAME_SUFFIX_CHARS; i++)
            seen[i][(unsigned char)name[i]] = true;
    }
    for (size_t i = 0; i < NAME_SUFFIX_CHARS; i++)
        for (size_t c = 0; alphabet[c]; c++)
            assert_true(seen[i][(unsigned char)alphabet[c]]);
}

TEST_MAIN()
