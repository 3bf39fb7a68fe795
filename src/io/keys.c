/* P-256 keys with GnuTLS: creation, PEM in and out, ECDSA signatures. A key keeps three GnuTLS objects, one
 * each for the numbers, for signing and for verifying. */
#include "io/keys.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "io/keys_int.h"

int tls_add_datum(struct buf *out, gnutls_datum_t *datum, const char *what, struct error *err)
{
    buf_add(out, datum->data, datum->size);
    gnutls_free(datum->data);
    return buf_check(out, what, err);
}

struct key *key_free(struct key *k)
{
    if (!k)
        return NULL;
    gnutls_pubkey_deinit(k->public);
    gnutls_privkey_deinit(k->private);
    gnutls_x509_privkey_deinit(k->x509);
    free(k);
    return NULL;
}

static int key_alloc(struct key **ret, struct error *err)
{
    _cleanup_(key_free_p) struct key *k = calloc(1, sizeof *k);
    int code;

    if (!k)
        return error_no_memory(err);
    code = gnutls_x509_privkey_init(&k->x509);
    if (code >= 0)
        code = gnutls_privkey_init(&k->private);
    if (code >= 0)
        code = gnutls_pubkey_init(&k->public);
    if (code < 0)
        return tls_error(err, code, "prepare a key");
    *ret = TAKE(k);
    return 0;
}

/* Derives the signing and the verifying object from the numbers. */
static int key_complete(struct key *k, struct error *err)
{
    int code = gnutls_privkey_import_x509(k->private, k->x509, 0);

    if (code >= 0)
        code = gnutls_pubkey_import_privkey(k->public, k->private, 0, 0);
    return code < 0 ? tls_error(err, code, "use the key") : 0;
}

int key_new(struct key **ret, struct error *err)
{
    _cleanup_(key_free_p) struct key *k = NULL;
    int r = key_alloc(&k, err);
    int code;

    if (r < 0)
        return r;
    code = gnutls_x509_privkey_generate(k->x509, GNUTLS_PK_ECDSA,
                                        GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (code < 0)
        return tls_error(err, code, "create a key");
    r = key_complete(k, err);
    if (r < 0)
        return r;
    *ret = TAKE(k);
    return 0;
}

static bool key_is_p256(const struct key *k)
{
    gnutls_ecc_curve_t curve;

    return gnutls_x509_privkey_get_pk_algorithm(k->x509) == GNUTLS_PK_ECDSA &&
           gnutls_x509_privkey_export_ecc_raw(k->x509, &curve, NULL, NULL, NULL) >= 0 &&
           curve == GNUTLS_ECC_CURVE_SECP256R1;
}

int key_from_pem(struct str pem, struct key **ret, struct error *err)
{
    _cleanup_(key_free_p) struct key *k = NULL;
    gnutls_datum_t datum = tls_datum(pem);
    int r = key_alloc(&k, err);
    int code;

    if (r < 0)
        return r;
    if (pem.len > KEY_PEM_BYTES_MAX)
        return error_set(err, ERR_INVALID, "too large for a key");
    code = gnutls_x509_privkey_import2(k->x509, &datum, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
    if (code == GNUTLS_E_MEMORY_ERROR)
        return error_no_memory(err);
    if (code < 0)
        return error_set(err, ERR_INVALID, "no private key found: %s", gnutls_strerror(code));
    if (!key_is_p256(k))
        return error_set(err, ERR_INVALID, "the key is not an ECDSA key on the curve P-256");
    r = key_complete(k, err);
    if (r < 0)
        return r;
    *ret = TAKE(k);
    return 0;
}

int key_to_pem(const struct key *k, struct buf *out, struct error *err)
{
    gnutls_datum_t pem;
    int code = gnutls_x509_privkey_export2(k->x509, GNUTLS_X509_FMT_PEM, &pem);

    if (code < 0)
        return tls_error(err, code, "write the key");
    return tls_add_datum(out, &pem, "key", err);
}

/* GnuTLS returns a number with leading zeros added or removed; the signature format needs exactly 32 bytes.
 */
static void put_number(const gnutls_datum_t *number, unsigned char ret[KEY_SIGNATURE_BYTES / 2])
{
    const unsigned char *from = number->data;
    size_t len = number->size;

    while (len > 0 && *from == 0) {
        from++;
        len--;
    }
    assert(len <= KEY_SIGNATURE_BYTES / 2); /* both are below the order of the curve */
    memset(ret, 0, KEY_SIGNATURE_BYTES / 2);
    memcpy(ret + KEY_SIGNATURE_BYTES / 2 - len, from, len);
}

int key_sign(const struct key *k, struct str text, unsigned char ret[KEY_SIGNATURE_BYTES], struct error *err)
{
    gnutls_datum_t data = tls_datum(text), der = { 0 }, numbers[2] = { { 0 } };
    int code = gnutls_privkey_sign_data2(k->private, GNUTLS_SIGN_ECDSA_SHA256, 0, &data, &der);

    if (code >= 0)
        code = gnutls_decode_rs_value(&der, &numbers[0], &numbers[1]);
    if (code >= 0) {
        put_number(&numbers[0], ret);
        put_number(&numbers[1], ret + KEY_SIGNATURE_BYTES / 2);
    }
    gnutls_free(der.data);
    gnutls_free(numbers[0].data);
    gnutls_free(numbers[1].data);
    return code < 0 ? tls_error(err, code, "sign") : 0;
}

bool key_verify(const struct key *k, struct str text, const unsigned char signature[KEY_SIGNATURE_BYTES])
{
    const size_t half = KEY_SIGNATURE_BYTES / 2;
    gnutls_datum_t r = tls_datum((struct str){ (const char *)signature, half });
    gnutls_datum_t s = tls_datum((struct str){ (const char *)signature + half, half });
    gnutls_datum_t data = tls_datum(text), der = { 0 };
    int code = gnutls_encode_rs_value(&der, &r, &s);

    if (code >= 0)
        code = gnutls_pubkey_verify_data2(k->public, GNUTLS_SIGN_ECDSA_SHA256, 0, &data, &der);
    gnutls_free(der.data);
    return code >= 0;
}
