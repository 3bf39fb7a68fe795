/* Keys: made, written, read back; signatures that hold and that do not. */
#include "tests/unit/test.h"

#include <gnutls/x509.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "io/keys.h"

static struct error err;

/* A key as somebody else might bring it: of any kind, in the PKCS#8 envelope that other tools write. */
static const char *foreign_pem(gnutls_pk_algorithm_t algorithm, unsigned bits, struct buf *out)
{
    gnutls_x509_privkey_t k;
    gnutls_datum_t pem;

    assert_int_equal(gnutls_x509_privkey_init(&k), 0);
    assert_int_equal(gnutls_x509_privkey_generate(k, algorithm, bits, 0), 0);
    assert_int_equal(gnutls_x509_privkey_export2_pkcs8(k, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem),
                     0);
    buf_clear(out);
    buf_add(out, pem.data, pem.size);
    assert_int_equal(out->failed, ERR_NONE);
    gnutls_free(pem.data);
    gnutls_x509_privkey_deinit(k);
    return buf_cstr(out);
}

TEST(a_key_survives_its_text)
{
    _cleanup_(key_free_p) struct key *made = NULL;
    _cleanup_(key_free_p) struct key *read = NULL;
    _cleanup_(buf_done_p) struct buf first = BUF_INIT(KEY_PEM_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf second = BUF_INIT(KEY_PEM_BYTES_MAX);

    ASSERT_OK(key_new(&made, &err));
    ASSERT_OK(key_to_pem(made, &first, &err));
    assert_non_null(strstr(buf_cstr(&first), "PRIVATE KEY-----\n"));
    ASSERT_OK(key_from_pem(buf_str(&first), &read, &err));
    ASSERT_OK(key_to_pem(read, &second, &err));
    ASSERT_STR(buf_cstr(&first), buf_cstr(&second));
}

TEST(two_keys_differ)
{
    _cleanup_(key_free_p) struct key *a = NULL;
    _cleanup_(key_free_p) struct key *b = NULL;
    unsigned char signature[KEY_SIGNATURE_BYTES];

    ASSERT_OK(key_new(&a, &err));
    ASSERT_OK(key_new(&b, &err));
    ASSERT_OK(key_sign(a, STR_LIT("text"), signature, &err));
    assert_true(key_verify(a, STR_LIT("text"), signature));
    assert_false(key_verify(b, STR_LIT("text"), signature));
}

/* One number in 256 is a byte short and half of them begin with a set bit: all must come out as 32 bytes. */
TEST(every_signature_has_its_length)
{
    _cleanup_(key_free_p) struct key *k = NULL;
    bool short_seen = false;

    ASSERT_OK(key_new(&k, &err));
    for (int i = 0; i < 100 || !short_seen; i++) {
        unsigned char signature[KEY_SIGNATURE_BYTES];
        char text[16];
        (void)snprintf(text, sizeof text, "text %d", i);
        ASSERT_OK(key_sign(k, str_of(text), signature, &err));
        assert_true(key_verify(k, str_of(text), signature));
        short_seen |= signature[0] == 0 || signature[KEY_SIGNATURE_BYTES / 2] == 0;
    }
}

TEST(a_changed_bit_is_seen)
{
    _cleanup_(key_free_p) struct key *k = NULL;
    unsigned char signature[KEY_SIGNATURE_BYTES];

    ASSERT_OK(key_new(&k, &err));
    ASSERT_OK(key_sign(k, STR_LIT("some text"), signature, &err));
    assert_false(key_verify(k, STR_LIT("some texT"), signature));
    assert_false(key_verify(k, STR_LIT("some tex"), signature));
    assert_false(key_verify(k, STR_LIT(""), signature));
    for (size_t i = 0; i < KEY_SIGNATURE_BYTES; i++) {
        signature[i] ^= 1;
        assert_false(key_verify(k, STR_LIT("some text"), signature));
        signature[i] ^= 1;
    }
    assert_true(key_verify(k, STR_LIT("some text"), signature));
}

/* A verifier that forgets to look at the range of the numbers accepts these for every text. */
TEST(zero_is_no_signature)
{
    _cleanup_(key_free_p) struct key *k = NULL;
    unsigned char signature[KEY_SIGNATURE_BYTES] = { 0 };

    ASSERT_OK(key_new(&k, &err));
    assert_false(key_verify(k, STR_LIT("text"), signature));
    memset(signature, 0xFF, sizeof signature);
    assert_false(key_verify(k, STR_LIT("text"), signature));
}

TEST(what_is_no_key)
{
    static const char *const rows[] = {
        "",
        "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\n",
    };
    struct key *k = NULL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, key_from_pem(str_of(rows[i]), &k, &err));
        assert_null(k);
        assert_ptr_equal(err.msg, strstr(err.msg, "no private key found: "));
    }
}

TEST(keys_of_others)
{
    static const struct {
        gnutls_pk_algorithm_t algorithm;
        unsigned bits;
        bool is_fine;
    } rows[] = {
        { GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), true },
        { GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1), false },
        { GNUTLS_PK_EDDSA_ED25519, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519), false },
        { GNUTLS_PK_RSA, 2048, false },
    };
    _cleanup_(buf_done_p) struct buf pem = BUF_INIT(KEY_PEM_BYTES_MAX);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(key_free_p) struct key *k = NULL;
        int r = key_from_pem(str_of(foreign_pem(rows[i].algorithm, rows[i].bits, &pem)), &k, &err);
        ASSERT_INT(rows[i].is_fine ? 0 : -ERR_INVALID, r);
        if (!rows[i].is_fine)
            ASSERT_STR("the key is not an ECDSA key on the curve P-256", err.msg);
    }
}

TEST(a_huge_text_is_no_key)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    struct key *k = NULL;

    memset(buf_grow(&text, KEY_PEM_BYTES_MAX + 1), 'a', KEY_PEM_BYTES_MAX + 1);
    ASSERT_ERR(ERR_INVALID, key_from_pem(buf_str(&text), &k, &err));
    ASSERT_STR("too large for a key", err.msg);
}

TEST_MAIN()
