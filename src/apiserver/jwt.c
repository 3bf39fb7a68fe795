/* Signs and reads the tokens of service accounts: JSON Web Tokens with ES256. A token is parsed only to the
 * header before its signature is verified. */
#include "apiserver/jwt.h"

#include "api/base64.h"
#include "base/cleanup.h"

#define JWT_HEADER "{\"alg\":\"ES256\",\"typ\":\"JWT\"}"
#define JWT_CLAIM "kubernetes.io"

static const struct {
    enum kind kind;
    const char *claim;
} bound_claims[] = {
    { KIND_POD, "pod" },
    { KIND_SECRET, "secret" },
    { KIND_NODE, "node" },
};

/* --- Signing --- */

static json_ref new_reference(struct json *d, const char *name, const char *uid)
{
    json_ref ref = json_new_object(d);

    json_set_string(d, ref, "name", name);
    json_set_string(d, ref, "uid", uid);
    return ref;
}

static json_ref own_claim(struct json *d, const struct jwt *t)
{
    json_ref claim = json_new_object(d);

    json_set_string(d, claim, "namespace", t->ns);
    for (size_t i = 0; i < ARRAY_LEN(bound_claims); i++)
        if (t->bound.kind == bound_claims[i].kind)
            json_set(d, claim, bound_claims[i].claim, new_reference(d, t->bound.name, t->bound.uid));
    json_set(d, claim, "serviceaccount", new_reference(d, t->account, t->account_uid));
    return claim;
}

static json_ref new_claims(struct json *d, const struct jwt *t)
{
    _cleanup_(buf_done_p) struct buf subject = BUF_INIT(JWT_BYTES_MAX);
    json_ref root = json_new_object(d), audiences = json_new_array(d);

    for (uint32_t i = 0; i < t->audiences.count; i++)
        json_append(d, audiences, json_new_string(d, str_of(t->audiences.items[i])));
    buf_addf(&subject, "system:serviceaccount:%s:%s", t->ns, t->account);
    json_set(d, root, "aud", audiences);
    json_set(d, root, "exp", json_new_int(d, t->expires));
    json_set(d, root, "iat", json_new_int(d, t->issued));
    json_set_string(d, root, "iss", JWT_ISSUER);
    json_set(d, root, JWT_CLAIM, own_claim(d, t));
    json_set(d, root, "nbf", json_new_int(d, t->issued));
    json_set(d, root, "sub", json_new_string(d, buf_str(&subject)));
    return root;
}

int jwt_sign(const struct jwt *t, const struct key *k, struct buf *out, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf payload = BUF_INIT(JWT_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(JWT_BYTES_MAX);
    unsigned char signature[KEY_SIGNATURE_BYTES];
    int r;

    json_init(&d, JWT_BYTES_MAX);
    json_write(&d, new_claims(&d, t), &payload);
    r = json_check(&d, err);
    if (r == 0)
        r = buf_check(&payload, "token", err);
    if (r < 0)
        return r;
    base64url_encode(STR_LIT(JWT_HEADER), &token);
    buf_add_char(&token, '.');
    base64url_encode(buf_str(&payload), &token);
    r = key_sign(k, buf_str(&token), signature, err);
    if (r < 0)
        return r;
    buf_add_char(&token, '.');
    base64url_encode((struct str){ (const char *)signature, sizeof signature }, &token);
    r = buf_check(&token, "token", err);
    if (r < 0)
        return r;
    buf_add_str(out, buf_str(&token));
    return buf_check(out, "token", err);
}

/* --- Reading --- */

static int refuse_token(struct error *err, const char *why)
{
    return error_set(err, ERR_UNAUTHORIZED, "invalid bearer token: %s", why);
}

/* A part of the token as JSON; 0 when it is not an object. */
static json_ref part_json(struct json *d, struct str part)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(JWT_BYTES_MAX);
    struct error ignored;
    json_ref root = 0;

    if (base64url_decode(part, &text, &ignored) < 0 || json_parse(d, buf_str(&text), &root, &ignored) < 0)
        return 0;
    return json_type(d, root) == JSON_OBJECT ? root : 0;
}

static bool signature_holds(struct str text, struct str signature, const struct key *k)
{
    _cleanup_(buf_done_p) struct buf bytes = BUF_INIT(KEY_SIGNATURE_BYTES);
    struct error ignored;

    return base64url_decode(signature, &bytes, &ignored) == 0 && bytes.len == KEY_SIGNATURE_BYTES &&
           key_verify(k, text, (const unsigned char *)bytes.data);
}

/* Header, payload and signature; the signed text is header and payload with the dot between them. */
static int split_token(struct str text, struct str ret_parts[3], struct str *ret_signed, struct error *err)
{
    struct str rest = text;

    if (text.len == 0 || text.len > JWT_BYTES_MAX)
        return refuse_token(err, "it is not a token of this server");
    for (int i = 0; i < 3; i++) {
        if (!rest.s)
            return refuse_token(err, "it is not a token of this server");
        ret_parts[i] = str_next(&rest, '.');
    }
    if (rest.s)
        return refuse_token(err, "it is not a token of this server");
    *ret_signed = (struct str){ text.s, text.len - ret_parts[2].len - 1 };
    return 0;
}

static void decode_own_claim(struct decoder *decoder, json_ref claim, struct jwt *t)
{
    json_ref account = json_get(decoder->d, claim, "serviceaccount");

    t->ns = decode_text(decoder, claim, "namespace");
    t->account = decode_text(decoder, account, "name");
    t->account_uid = decode_text(decoder, account, "uid");
    t->bound = (struct jwt_bound){ KIND_COUNT, "", "" };
    for (size_t i = 0; i < ARRAY_LEN(bound_claims); i++) {
        json_ref bound = json_get(decoder->d, claim, bound_claims[i].claim);
        if (bound)
            t->bound = (struct jwt_bound){ bound_claims[i].kind, decode_text(decoder, bound, "name"),
                                           decode_text(decoder, bound, "uid") };
    }
}

int jwt_read(struct str text, const struct key *k, struct arena *a, struct jwt *ret, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    struct decoder x = { .d = &d, .arena = a, .err = err };
    struct jwt t = { 0 };
    struct str parts[3], covered;
    json_ref root;
    int r = split_token(text, parts, &covered, err);

    json_init(&d, JWT_BYTES_MAX);
    if (r < 0)
        return r;
    if (!json_is_string(&d, json_get(&d, part_json(&d, parts[0]), "alg"), "ES256"))
        return refuse_token(err, "it is not signed with ES256");
    if (!signature_holds(covered, parts[2], k))
        return refuse_token(err, "its signature is invalid");
    root = part_json(&d, parts[1]);
    if (!root || !json_is_string(&d, json_get(&d, root, "iss"), JWT_ISSUER))
        return refuse_token(err, "it is from another issuer");
    t.issued = decode_int(&x, root, "nbf", INT64_MAX);
    t.expires = decode_int(&x, root, "exp", 0);
    t.audiences = decode_texts(&x, root, "aud");
    decode_own_claim(&x, json_get(&d, root, JWT_CLAIM), &t);
    if (x.r < 0)
        return x.r;
    if (a->failed)
        return arena_check(a, err);
    *ret = t;
    return 0;
}
