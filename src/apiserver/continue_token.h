/* The token with which a client requests the next page of a list.
 *
 * Opaque to clients: the base64 (for URLs, unpadded) of
 *
 *     {"v":"meta.k8s.io/v1","rv":12,"start":"shop/db\u0000","left":30}
 *
 * The page begins at the first object that is not before `start`, which is the last object's key followed by
 * a NUL; keys are ordered by namespace, then name. Every page has the objects as they were at revision rv; -1
 * stands for the current revision. `left` is an addition of Berth: the number of objects of this and all
 * later pages, so that they need not be counted again for each page.
 *
 * Nothing in a token is secret or trusted. With a forged token a client gets a page that begins elsewhere,
 * among objects that it may list anyway. */
#ifndef BERTH_APISERVER_CONTINUE_TOKEN_H
#define BERTH_APISERVER_CONTINUE_TOKEN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/* Longer than any token written here: a namespace and a name of 253 bytes each, escaped. */
#define CONTINUE_TOKEN_BYTES_MAX 8192

#define CONTINUE_AT_NEWEST INT64_C(-1)

struct continue_token {
    int64_t revision; /* above 0, or CONTINUE_AT_NEWEST */
    struct str ns;    /* "" at cluster scope */
    struct str name;  /* the page begins at the first name that is not before it; may end with a NUL byte */
    int64_t left;     /* -1: unknown */
};

/* The page begins after (t->ns, t->name): the NUL is added here. Failures stick in the buffer. */
void continue_token_write(const struct continue_token *t, struct buf *out);

/* Texts are in the arena. Errors are ERR_BAD_REQUEST and describe what is wrong with the token. */
int continue_token_read(struct str text, struct arena *a, struct continue_token *ret, struct error *err);

#endif
