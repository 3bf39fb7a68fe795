#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "io/digest.h"

static struct error err;

/* The examples that the standard gives. */
TEST(digest_writes_sha256_in_hex)
{
    static const struct {
        const char *text;
        const char *sum;
    } rows[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char sum[SHA256_HEX_BYTES];

        ASSERT_OK(sha256_hex(str_of(rows[i].text), sum, &err));
        ASSERT_STR(rows[i].sum, sum);
    }
}

TEST_MAIN()
