/* A cache of service account tokens: a plain vector, searched linearly. Token bytes are wiped before they are
 * freed and never appear in an error. */
#include "plugins/tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"

#define AGE_S_MAX 86400
#define JITTER_MS_MAX 10000
#define LIFE_S_MAX (INT64_C(1) << 32) /* the maximum that the API allows */
#define TOKEN_BYTES_MAX ((size_t)1 << 20)
#define KEY_BYTES_MAX ((size_t)16 << 10)

struct token {
    char *key; /* as shown in errors */
    char *pod_uid;
    char *bytes;
    size_t len;
    int64_t refresh_real_ns;
    int64_t expires_real_ns;
};

struct tokens {
    VEC(struct token) all;
};

/* --- One token --- */

static void token_done(struct token *k)
{
    if (k->bytes)
        explicit_bzero(k->bytes, k->len);
    free(k->bytes);
    free(k->key);
    free(k->pod_uid);
}

static void write_key(const struct token_key *k, struct buf *out)
{
    buf_addf(out, "\"%s\"/\"%s\"/", k->account, k->ns);
    buf_addf(out, k->audience[0] ? "[\"%s\"]" : "[%s]", k->audience);
    buf_addf(out, "/%" PRId64 "/Pod \"%s\" %s", k->expiration_seconds, k->pod_name, k->pod_uid);
}

/* When to fetch it again. */
static int64_t refresh_at(int64_t life_s, int64_t expires_real_ns, uint64_t random)
{
    int64_t life_ns = life_s * (int64_t)NS_PER_S, age_ns = life_ns - life_ns / 5;
    int64_t jitter_ns = (int64_t)(random % JITTER_MS_MAX * NS_PER_MS);

    if (age_ns > AGE_S_MAX * (int64_t)NS_PER_S)
        age_ns = AGE_S_MAX * (int64_t)NS_PER_S;
    return expires_real_ns - life_ns + age_ns - jitter_ns;
}

/* --- All of them --- */

int tokens_new(struct tokens **ret, struct error *err)
{
    struct tokens *t = calloc(1, sizeof *t);

    if (!t)
        return error_no_memory(err);
    *ret = t;
    return 0;
}

struct tokens *tokens_free(struct tokens *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->all.count; i++)
        token_done(&t->all.items[i]);
    vec_done(&t->all);
    free(t);
    return NULL;
}

/* NULL if there is none. */
static struct token *tokens_find(const struct tokens *t, const struct token_key *key)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(KEY_BYTES_MAX);

    write_key(key, &text);
    for (size_t i = 0; i < t->all.count && text.failed == ERR_NONE; i++)
        if (strcmp(t->all.items[i].key, buf_cstr(&text)) == 0)
            return &t->all.items[i];
    return NULL;
}

enum token_state tokens_get(const struct tokens *t, const struct token_key *key, int64_t now_real_ns,
                            struct str *ret)
{
    const struct token *k = tokens_find(t, key);

    if (!k)
        return TOKEN_NONE;
    *ret = (struct str){ k->bytes, k->len };
    return now_real_ns > k->refresh_real_ns ? TOKEN_STALE : TOKEN_FRESH;
}

bool tokens_refresh_at(const struct tokens *t, const struct token_key *key, int64_t *ret_real_ns)
{
    const struct token *k = tokens_find(t, key);

    if (k)
        *ret_real_ns = k->refresh_real_ns;
    return k != NULL;
}

bool tokens_expires_at(const struct tokens *t, const struct token_key *key, int64_t *ret_real_ns)
{
    const struct token *k = tokens_find(t, key);

    if (k)
        *ret_real_ns = k->expires_real_ns;
    return k != NULL;
}

static int token_new(const struct token_key *key, struct str token, struct token *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(KEY_BYTES_MAX);
    int r;

    write_key(key, &text);
    r = buf_check(&text, "name of the token", err);
    if (r < 0)
        return r;
    *ret = (struct token){
        .key = buf_take(&text),
        .pod_uid = strdup(key->pod_uid),
        .bytes = malloc(token.len + 1),
        .len = token.len,
    };
    if (!ret->key || !ret->pod_uid || !ret->bytes) {
        ret->len = 0; /* nothing to wipe */
        token_done(ret);
        return error_no_memory(err);
    }
    memcpy(ret->bytes, token.s, token.len);
    ret->bytes[token.len] = '\0';
    return 0;
}

int tokens_put(struct tokens *t, const struct token_key *key, struct str token, int64_t life_seconds,
               int64_t expires_real_ns, uint64_t random, struct error *err)
{
    struct token made, *old;
    int r;

    if (token.len == 0 || token.len > TOKEN_BYTES_MAX || life_seconds <= 0 || life_seconds > LIFE_S_MAX)
        return error_set(err, ERR_INVALID, "server returned an unusable token for service account '%s/%s'",
                         key->ns, key->account);
    if (vec_reserve(&t->all, 1) < 0)
        return error_no_memory(err);
    r = token_new(key, token, &made, err);
    if (r < 0)
        return r;
    made.refresh_real_ns = refresh_at(life_seconds, expires_real_ns, random);
    made.expires_real_ns = expires_real_ns;
    old = tokens_find(t, key);
    if (old) {
        token_done(old);
        *old = made;
    } else {
        t->all.items[t->all.count++] = made; /* room was reserved */
    }
    return 0;
}

int tokens_fall_back(const struct tokens *t, const struct token_key *key, int64_t now_real_ns,
                     const struct error *cause, struct str *ret, struct error *err)
{
    const struct token *k = tokens_find(t, key);

    if (k && now_real_ns < k->expires_real_ns) {
        *ret = (struct str){ k->bytes, k->len };
        return 0;
    }
    *err = *cause;
    return k ? error_wrap(err, "token %s expired and refresh failed", k->key)
             : error_wrap(err, "failed to fetch token");
}

/* --- Removal --- */

static void drop_at(struct tokens *t, size_t i)
{
    token_done(&t->all.items[i]);
    vec_remove(&t->all, i);
}

void tokens_drop_pod(struct tokens *t, const char *pod_uid)
{
    for (size_t i = t->all.count; i-- > 0;)
        if (strcmp(t->all.items[i].pod_uid, pod_uid) == 0)
            drop_at(t, i);
}

void tokens_drop_expired(struct tokens *t, int64_t now_real_ns)
{
    for (size_t i = t->all.count; i-- > 0;)
        if (now_real_ns >= t->all.items[i].expires_real_ns)
            drop_at(t, i);
}

size_t tokens_count(const struct tokens *t)
{
    return t->all.count;
}
