/* Tokens of service accounts that pods show in their volumes: kept until they should be fetched again. Pure;
 * the time is handed in, and the fetching is somebody else's.
 *
 * A token is fetched again after four fifths of its life, or after a day, less up to 10 s so that not all are
 * fetched at once. When that fails, one that still lives is used on. A plain list, O(n): a node has a few
 * hundred pods. What a token says is in no error's text. */
#ifndef BERTH_PLUGINS_TOKENS_H
#define BERTH_PLUGINS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct tokens;

/* Whose token it is, and for what: another one each. */
struct token_key {
    const char *ns;
    const char *account;
    const char *audience; /* "" for the server's own */
    int64_t expiration_seconds;
    const char *pod_name;
    const char *pod_uid;
};

enum token_state {
    TOKEN_NONE,  /* fetch it */
    TOKEN_FRESH, /* use it */
    TOKEN_STALE, /* fetch it; if that fails, tokens_fall_back() says what to do */
};

int tokens_new(struct tokens **ret, struct error *err);
struct tokens *tokens_free(struct tokens *t);
DEFINE_CLEANUP(struct tokens, tokens_free)

/* ret: set unless there is none, and borrowed until the next call that changes something. */
enum token_state tokens_get(const struct tokens *t, const struct token_key *key, int64_t now_real_ns,
                            struct str *ret);

/* When it should be fetched again, in *ret; false when there is none. */
bool tokens_refresh_at(const struct tokens *t, const struct token_key *key, int64_t *ret_real_ns);

/* When it ends, in *ret; false when there is none. */
bool tokens_expires_at(const struct tokens *t, const struct token_key *key, int64_t *ret_real_ns);

/* One that was fetched: as the server answered, it lives life_seconds until expires_real_ns. random spreads
 * the fetching. */
int tokens_put(struct tokens *t, const struct token_key *key, struct str token, int64_t life_seconds,
               int64_t expires_real_ns, uint64_t random, struct error *err);

/* Fetching failed with cause: the old one while it lives, else `token K expired and refresh failed: …` or
 * `failed to fetch token: …`, with the cause's code. */
int tokens_fall_back(const struct tokens *t, const struct token_key *key, int64_t now_real_ns,
                     const struct error *cause, struct str *ret, struct error *err);

/* The pod's volume was torn down. */
void tokens_drop_pod(struct tokens *t, const char *pod_uid);
/* Those that live no longer: nobody asks for them any more, or they would have been fetched again. */
void tokens_drop_expired(struct tokens *t, int64_t now_real_ns);
size_t tokens_count(const struct tokens *t);

#endif
