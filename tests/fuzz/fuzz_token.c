/* Bearer tokens and the file of static ones, from any bytes: as a token, as the claims of a token that is
 * signed as it should be, and as a file. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/base64.h"
#include "apiserver/jwt.h"
#include "apiserver/token_file.h"
#include "base/cleanup.h"

static const struct key *the_key(void)
{
    static struct key *k;
    struct error err;

    if (!k)
        FUZZ_CHECK(key_new(&k, &err) == 0);
    return k;
}

/* Nobody can guess a signature. */
static void check_token(struct str text)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    struct error err = { 0 };
    struct jwt t;

    FUZZ_CHECK(jwt_read(text, the_key(), &a, &t, &err) == -ERR_UNAUTHORIZED);
    FUZZ_CHECK(strncmp(err.msg, "invalid bearer token: ", 22) == 0);
}

static void check_claims(struct str payload)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    unsigned char signature[KEY_SIGNATURE_BYTES];
    struct error err = { 0 };
    struct jwt t;

    base64url_encode(STR_LIT("{\"alg\":\"ES256\"}"), &token);
    buf_add_char(&token, '.');
    base64url_encode(payload, &token);
    if (token.failed)
        return;
    FUZZ_CHECK(key_sign(the_key(), buf_str(&token), signature, &err) == 0);
    buf_add_char(&token, '.');
    base64url_encode((struct str){ (const char *)signature, sizeof signature }, &token);
    if (jwt_read(buf_str(&token), the_key(), &a, &t, &err) < 0) {
        FUZZ_CHECK(err.code != ERR_NONE);
        return;
    }
    FUZZ_CHECK(t.ns && t.account && t.account_uid && t.bound.name && t.bound.uid);
    for (uint32_t i = 0; i < t.audiences.count; i++)
        FUZZ_CHECK(t.audiences.items[i]);
}

/* A file that is accepted knows the token of its first line, if that is a plain one. */
static void check_file(struct str text)
{
    _cleanup_(token_file_free_p) struct token_file *f = NULL;
    struct str rest = text, token;
    struct error err = { 0 };

    if (token_file_parse(text, &f, &err) < 0) {
        FUZZ_CHECK(!f);
        FUZZ_CHECK(err.code == ERR_INVALID);
        return;
    }
    FUZZ_CHECK(!token_file_find(f, STR_LIT("")));
    rest = str_trim(str_next(&rest, '\n'));
    token = str_next(&rest, ',');
    if (token.len && token.s[0] != '"')
        FUZZ_CHECK(token_file_find(f, token));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = { size ? (const char *)data : "", size };

    check_token(s);
    check_file(s);
    if (size && data[0] == '{') /* what is no object is seen at once; signing is dear */
        check_claims(s);
    return 0;
}
