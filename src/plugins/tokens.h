/* Service account tokens that pods show in their volumes, cached until they must be fetched again. Pure: the
 * caller passes the time and fetches the tokens.
 *
 * A token is fetched again after 80 % of its lifetime, or after a day, minus up to 10 s so that not all are
 * fetched at once. If that fails, a token that is still valid is used. O(n): a node has a few hundred pods.
 * No error text contains a token. */
#ifndef BERTH_PLUGINS_TOKENS_H
#define BERTH_PLUGINS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct tokens;

/* Identifies a token. */
struct token_key {
    const char *ns;
    const char *account;
    const char *audience; /* "": the server's default */
    int64_t expiration_seconds;
    const char *pod_name;
    const char *pod_uid;
};

enum token_state {
    TOKEN_NONE,  /* fetch it */
    TOKEN_FRESH, /* use it */
    TOKEN_STALE, /* fetch it; if that fails, use tokens_fall_back() */
};

int tokens_new(struct tokens **ret, struct error *err);
struct tokens *tokens_free(struct tokens *t);
DEFINE_CLEANUP(struct tokens, tokens_free)

/* ret: set unless there is none; borrowed until the next change. */
enum token_state tokens_get(const struct tokens *t, const struct token_key *key, int64_t now_real_ns,
                            struct str *ret);

/* When it should be fetched again; false if there is none. */
bool tokens_refresh_at(const struct tokens *t, const struct token_key *key, int64_t *ret_real_ns);

/* When it expires; false if there is none. */
bool tokens_expires_at(const struct tokens *t, const struct token_key *key, int64_t *ret_real_ns);

/* Stores a fetched token with the lifetime that the server returned. random spreads the refreshes. */
int tokens_put(struct tokens *t, const struct token_key *key, struct str token, int64_t life_seconds,
               int64_t expires_real_ns, uint64_t random, struct error *err);

/* A fetch failed with cause: returns the old token while it is valid, else `token K expired and refresh
 * failed: …` or `failed to fetch token: …`, with the code of the cause. */
int tokens_fall_back(const struct tokens *t, const struct token_key *key, int64_t now_real_ns,
                     const struct error *cause, struct str *ret, struct error *err);

/* For a pod whose volumes were torn down. */
void tokens_drop_pod(struct tokens *t, const char *pod_uid);
/* Drops expired tokens: unused ones, because others would have been fetched again. */
void tokens_drop_expired(struct tokens *t, int64_t now_real_ns);
size_t tokens_count(const struct tokens *t);

#endif
