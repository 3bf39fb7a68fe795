/* Tokens of service accounts: JSON Web Tokens, signed with ES256 by the server's own key.
 *
 * No part of a token is trusted before its signature is verified. The token cannot choose the algorithm:
 * anything but ES256 is refused. */
#ifndef BERTH_APISERVER_JWT_H
#define BERTH_APISERVER_JWT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/kind.h"
#include "api/object.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"
#include "io/keys.h"

#define JWT_BYTES_MAX ((size_t)16 << 10)
/* The issuer, and the default audience. */
#define JWT_ISSUER "https://kubernetes.default.svc.cluster.local"

/* The object that the token is bound to: it becomes invalid when the object is deleted. */
struct jwt_bound {
    enum kind kind; /* KIND_POD, KIND_SECRET, KIND_NODE; KIND_COUNT for none */
    const char *name;
    const char *uid;
};

struct jwt {
    const char *ns;
    const char *account;
    const char *account_uid;
    struct jwt_bound bound;
    struct texts audiences;
    int64_t issued; /* seconds since 1970; valid from then on */
    int64_t expires;
};

int jwt_sign(const struct jwt *t, const struct key *k, struct buf *out, struct error *err);

/* Reads the token if its signature is valid; ERR_UNAUTHORIZED otherwise. Texts are in the arena. The caller
 * must check times, audience, and that the account still exists. */
int jwt_read(struct str text, const struct key *k, struct arena *a, struct jwt *ret, struct error *err);

#endif
