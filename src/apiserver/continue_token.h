/* The token by which a client asks for the next page of a list.
 *
 * Opaque to clients: the base64 (of URLs, unpadded) of
 *     {"v":"meta.k8s.io/v1","rv":12,"start":"shop/db\u0000","left":30}
 * The page begins at the first object that does not come before `start`, which is the last one's key and a
 * NUL; keys are ordered by namespace, then name. Every page shows the objects as they were at revision rv; -1
 * stands for whatever they are by now. `left` is ours: how many objects the page and those behind it have, so
 * that nobody has to count them again for each page.
 *
 * Nothing in a token is secret or trusted. A forged one gets its sender a page that begins elsewhere, in what
 * the sender may list anyway. */
#ifndef BERTH_APISERVER_CONTINUE_TOKEN_H
#define BERTH_APISERVER_CONTINUE_TOKEN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/* Longer than any token made here: a namespace and a name of 253 bytes each, escaped. */
#define CONTINUE_TOKEN_BYTES_MAX 8192

#define CONTINUE_AT_NEWEST INT64_C(-1)

struct continue_token {
    int64_t revision; /* above 0, or CONTINUE_AT_NEWEST */
    struct str ns;    /* "" at cluster scope */
    struct str name;  /* the page begins at the first that is not before it; may end with a NUL byte */
    int64_t left;     /* -1 when it is not known */
};

/* From the first object behind (t->ns, t->name): the NUL is added here. Failures stick in the buffer. */
void continue_token_write(const struct continue_token *t, struct buf *out);

/* Texts live in the arena. Errors are ERR_BAD_REQUEST and say what is wrong with the token. */
int continue_token_read(struct str text, struct arena *a, struct continue_token *ret, struct error *err);

#endif
