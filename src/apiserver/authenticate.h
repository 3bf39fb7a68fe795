/* Authentication: by client certificate, by bearer token, or anonymous.
 *
 * In this order: a caller in this process or of an insecure server is system:admin; a certificate that the
 * carrier has verified gives the user its common name and the groups its organizations; a token is looked up
 * in the file of static tokens, then read as a service account's. An invalid certificate or token is refused,
 * whatever the request is. Without either the caller is system:anonymous. Members of system:masters may then
 * act as another user (authenticate_impersonation()).
 *
 * The signature of a service account's token is verified each time, which takes 0.1 to 0.2 ms. */
#ifndef BERTH_APISERVER_AUTHENTICATE_H
#define BERTH_APISERVER_AUTHENTICATE_H

#include <stdbool.h>

#include "apiserver/access_lookup.h"
#include "apiserver/api_call.h"
#include "apiserver/jwt.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/keys.h"

struct authenticator;

/* Borrowed as long as the authenticator exists, except the path. */
struct authenticator_options {
    const struct clock *clock;
    const struct key *token_key;
    const char *token_file;      /* NULL for none */
    struct access_lookup lookup; /* to check whether accounts still exist */
    bool is_insecure;
};

int authenticator_new(const struct authenticator_options *o, struct authenticator **ret, struct error *err);
struct authenticator *authenticator_free(struct authenticator *a);
DEFINE_CLEANUP(struct authenticator, authenticator_free)

/* The user, in the call's arena. ERR_UNAUTHORIZED with the message of the response; ERR_DENIED and
 * ERR_BAD_REQUEST when impersonation is refused. */
int authenticate_call(const struct authenticator *a, struct call *c, const struct user **ret,
                      struct error *err);

/* The user that the token belongs to. audiences: those it must be valid for, the API's own when empty;
 * *ret_audiences are those of them that it is valid for. ERR_UNAUTHORIZED has the reason why it is not valid.
 */
int authenticate_token(const struct authenticator *a, struct str token, struct texts audiences,
                       struct arena *arena, const struct user **ret, struct texts *ret_audiences,
                       struct error *err);

/* Impersonation, by the headers Impersonate-User, -Group, -Uid and -Extra-KEY: `kubectl --as`. *ret is the
 * user of the headers, in the call's arena; `real` without such headers. For members of system:masters only:
 * ERR_DENIED for others (ERR_UNAUTHORIZED for anonymous callers). ERR_BAD_REQUEST when the headers name no
 * user, or the key of an extra cannot be decoded. */
int authenticate_impersonation(struct call *c, const struct user *real, const struct user **ret,
                               struct error *err);

/* For the issuer of tokens. */
const struct key *authenticator_token_key(const struct authenticator *a);

#endif
