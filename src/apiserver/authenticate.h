/* Who is calling: by client certificate, by bearer token, or nobody known.
 *
 * In this order: a caller in this process or of an insecure server is system:admin; a certificate that the
 * carrier has checked gives the user its common name and the groups its organizations; a token is looked up
 * in the file of static tokens, then read as a service account's. A certificate or token that is shown and
 * not valid is refused, whatever is asked for. Without either the caller is system:anonymous. Members of
 * system:masters may then act as somebody else (impersonate.h).
 *
 * The signature of a service account's token is checked each time, which takes 0.1 to 0.2 ms. */
#ifndef BERTH_APISERVER_AUTHENTICATE_H
#define BERTH_APISERVER_AUTHENTICATE_H

#include <stdbool.h>

#include "apiserver/call.h"
#include "apiserver/facts.h"
#include "apiserver/jwt.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/keys.h"

struct authenticator;

/* Borrowed for as long as the authenticator lives, but for the path. */
struct authenticator_options {
    const struct clock *clock;
    const struct key *token_key;
    const char *token_file; /* NULL for none */
    struct facts facts;     /* whether accounts still exist */
    bool is_insecure;
};

int authenticator_new(const struct authenticator_options *o, struct authenticator **ret, struct error *err);
struct authenticator *authenticator_free(struct authenticator *a);
DEFINE_CLEANUP(struct authenticator, authenticator_free)

/* The user, in the call's arena. ERR_UNAUTHORIZED with the message of the API's answer; ERR_DENIED and
 * ERR_BAD_REQUEST when somebody may not be impersonated. */
int authenticate(const struct authenticator *a, struct call *c, const struct user **ret, struct error *err);

/* Who the token belongs to. audiences: for whom it must be meant, the API when there are none; *ret_audiences
 * are those of them that it is meant for. ERR_UNAUTHORIZED says why it is not valid. */
int authenticate_token(const struct authenticator *a, struct str token, struct texts audiences,
                       struct arena *arena, const struct user **ret, struct texts *ret_audiences,
                       struct error *err);

/* For whoever issues tokens. */
const struct key *authenticator_token_key(const struct authenticator *a);

#endif
