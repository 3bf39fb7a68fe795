/* Tokens of service accounts: what they say, and every way to tamper with one. */
#include "tests/unit/test.h"

#include "api/base64.h"
#include "apiserver/jwt.h"
#include "base/cleanup.h"

static struct error err;
static const char *const audiences[] = { JWT_ISSUER, "vault" };

static struct jwt example(void)
{
    return (struct jwt){
        .ns = "shop",
        .account = "db",
        .account_uid = "u-1",
        .bound = { KIND_COUNT, "", "" },
        .audiences = { audiences, 2 },
        .issued = 1000,
        .expires = 4600,
    };
}

static struct key *new_key(void)
{
    struct key *k = NULL;

    ASSERT_OK(key_new(&k, &err));
    return k;
}

static void sign(const struct jwt *t, const struct key *k, struct buf *out)
{
    buf_clear(out);
    ASSERT_OK(jwt_sign(t, k, out, &err));
}

/* A token of any header and payload, with a signature that holds. */
static void forge(const char *header, const char *payload, const struct key *k, struct buf *out)
{
    unsigned char signature[KEY_SIGNATURE_BYTES];

    buf_clear(out);
    base64url_encode(str_of(header), out);
    buf_add_char(out, '.');
    base64url_encode(str_of(payload), out);
    ASSERT_OK(key_sign(k, buf_str(out), signature, &err));
    buf_add_char(out, '.');
    base64url_encode((struct str){ (const char *)signature, sizeof signature }, out);
}

static void refused(struct str token, const struct key *k, const char *why)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    struct jwt t = { .ns = "untouched" };
    char message[256];

    ASSERT_ERR(ERR_UNAUTHORIZED, jwt_read(token, k, &a, &t, &err));
    (void)snprintf(message, sizeof message, "invalid bearer token: %s", why);
    ASSERT_STR(message, err.msg);
    ASSERT_STR("untouched", t.ns);
}

TEST(what_is_signed_is_read)
{
    static const struct jwt_bound rows[] = {
        { KIND_COUNT, "", "" },
        { KIND_POD, "db-0", "u-2" },
        { KIND_SECRET, "db-token", "u-3" },
        { KIND_NODE, "n1", "u-4" },
    };
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
        struct jwt t = example(), read;
        t.bound = rows[i];
        sign(&t, k, &token);
        ASSERT_OK(jwt_read(buf_str(&token), k, &a, &read, &err));
        ASSERT_STR("shop", read.ns);
        ASSERT_STR("db", read.account);
        ASSERT_STR("u-1", read.account_uid);
        ASSERT_INT(rows[i].kind, read.bound.kind);
        ASSERT_STR(rows[i].name, read.bound.name);
        ASSERT_STR(rows[i].uid, read.bound.uid);
        ASSERT_INT(2, read.audiences.count);
        ASSERT_STR(JWT_ISSUER, read.audiences.items[0]);
        ASSERT_STR("vault", read.audiences.items[1]);
        ASSERT_INT(1000, read.issued);
        ASSERT_INT(4600, read.expires);
    }
}

/* Others read these tokens too. */
TEST(the_text_is_as_others_expect)
{
    static const char header[] = "{\"alg\":\"ES256\",\"typ\":\"JWT\"}";
    static const char payload[] =
        "{\"aud\":[\"https://kubernetes.default.svc.cluster.local\",\"vault\"],\"exp\":4600,\"iat\":1000,"
        "\"iss\":\"https://kubernetes.default.svc.cluster.local\",\"kubernetes.io\":{\"namespace\":\"shop\","
        "\"pod\":{\"name\":\"db-0\",\"uid\":\"u-2\"},\"serviceaccount\":{\"name\":\"db\",\"uid\":\"u-1\"}},"
        "\"nbf\":1000,\"sub\":\"system:serviceaccount:shop:db\"}";
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf part = BUF_INIT(JWT_BYTES_MAX);
    struct jwt t = example();
    struct str rest;

    t.bound = (struct jwt_bound){ KIND_POD, "db-0", "u-2" };
    sign(&t, k, &token);
    rest = buf_str(&token);
    ASSERT_OK(base64url_decode(str_next(&rest, '.'), &part, &err));
    ASSERT_STR(header, buf_cstr(&part));
    buf_clear(&part);
    ASSERT_OK(base64url_decode(str_next(&rest, '.'), &part, &err));
    ASSERT_STR(payload, buf_cstr(&part));
    ASSERT_INT(86, rest.len);
}

TEST(another_key_does_not_do)
{
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(key_free_p) struct key *other = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    struct jwt t = example();

    sign(&t, other, &token);
    refused(buf_str(&token), k, "its signature is invalid");
}

TEST(every_byte_counts)
{
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    struct jwt t = example(), read;

    sign(&t, k, &token);
    /* but for the last one, of which four bits say nothing */
    for (size_t i = 0; i + 1 < token.len; i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
        char kept = token.data[i];
        token.data[i] = kept == 'A' ? 'B' : 'A';
        ASSERT_ERR(ERR_UNAUTHORIZED, jwt_read(buf_str(&token), k, &a, &read, &err));
        token.data[i] = kept;
    }
}

TEST(cut_short_or_made_longer)
{
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    struct jwt t = example(), read;
    struct str text;

    sign(&t, k, &token);
    text = buf_str(&token);
    for (size_t len = 0; len < text.len; len++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
        ASSERT_ERR(ERR_UNAUTHORIZED, jwt_read((struct str){ text.s, len }, k, &a, &read, &err));
    }
    buf_add_cstr(&token, ".");
    refused(buf_str(&token), k, "it is not a token of this server");
}

TEST(the_algorithm_is_not_the_tokens_choice)
{
    static const char *const headers[] = {
        "{\"alg\":\"none\"}",
        "{\"alg\":\"HS256\"}",
        "{\"alg\":\"es256\"}",
        "{\"alg\":\"ES384\"}",
        "{\"alg\":null}",
        "{}",
        "[\"ES256\"]",
        "ES256",
        "",
    };
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);

    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        forge(headers[i], "{\"iss\":\"" JWT_ISSUER "\"}", k, &token);
        refused(buf_str(&token), k, "it is not signed with ES256");
    }
    buf_clear(&token);
    base64url_encode(STR_LIT("{\"alg\":\"ES256\"}"), &token);
    buf_add_cstr(&token, ".e30.");
    refused(buf_str(&token), k, "its signature is invalid"); /* none at all */
}

TEST(signed_by_us_and_still_not_ours)
{
    static const char *const payloads[] = {
        "{}", "{\"iss\":\"https://elsewhere\"}", "{\"iss\":7}", "[]", "7", "{\"iss", ""
    };
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);

    for (size_t i = 0; i < ARRAY_LEN(payloads); i++) {
        forge("{\"alg\":\"ES256\"}", payloads[i], k, &token);
        refused(buf_str(&token), k, "it is from another issuer");
    }
}

/* Claims that are missing never widen what a token is good for. */
TEST(missing_claims_are_the_worst_case)
{
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    struct jwt t;

    forge("{\"alg\":\"ES256\"}", "{\"iss\":\"" JWT_ISSUER "\"}", k, &token);
    ASSERT_OK(jwt_read(buf_str(&token), k, &a, &t, &err));
    assert_true(t.issued == INT64_MAX);
    ASSERT_INT(0, t.expires);
    ASSERT_INT(0, t.audiences.count);
    ASSERT_STR("", t.ns);
    ASSERT_STR("", t.account);
    ASSERT_INT(KIND_COUNT, t.bound.kind);
}

TEST(no_tokens_at_all)
{
    static const char *const rows[] = { "", "a", "a.b", ".", "a.b.c.d" };
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf huge = BUF_INIT(1 << 20);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        refused(str_of(rows[i]), k, "it is not a token of this server");
    refused(STR_LIT(".."), k, "it is not signed with ES256");
    memset(buf_grow(&huge, JWT_BYTES_MAX + 1), '.', JWT_BYTES_MAX + 1);
    refused(buf_str(&huge), k, "it is not a token of this server");
}

TEST(too_much_to_sign)
{
    _cleanup_(key_free_p) struct key *k = new_key();
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(JWT_BYTES_MAX);
    struct jwt t = example();

    memset(buf_grow(&name, JWT_BYTES_MAX - 100), 'n', JWT_BYTES_MAX - 100);
    t.account = buf_cstr(&name);
    ASSERT_ERR(ERR_TOO_LARGE, jwt_sign(&t, k, &token, &err));
    ASSERT_INT(0, token.len);
}

TEST_MAIN()
