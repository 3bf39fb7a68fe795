/* The tokens of service accounts: JSON Web Tokens, signed with ES256 by the server's own key.
 *
 * Nothing of a token is believed before its signature holds. The algorithm is not the token's to choose:
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
/* Who signs, and for whom when nobody else is named. */
#define JWT_ISSUER "https://kubernetes.default.svc.cluster.local"

/* The object that the token lives and dies with. */
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

/* Takes the token apart if its signature holds; ERR_UNAUTHORIZED if not. Texts are in the arena. Whether it
 * is valid now, for us, and of accounts that still exist, is for the caller to see. */
int jwt_read(struct str text, const struct key *k, struct arena *a, struct jwt *ret, struct error *err);

#endif
