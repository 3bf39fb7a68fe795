/* Tokens for service accounts: POST …/serviceaccounts/NAME/token, `kubectl create token`.
 *
 * A token may be bound to a pod, secret or node and is then worth nothing once that is gone. */
#ifndef BERTH_APISERVER_TOKEN_H
#define BERTH_APISERVER_TOKEN_H

#include "api/json.h"
#include "api/status.h"
#include "api/validate.h"
#include "apiserver/call.h"
#include "apiserver/facts.h"
#include "io/keys.h"

#define TOKEN_SECONDS_DEFAULT INT64_C(3600)
#define TOKEN_SECONDS_MIN INT64_C(600)
#define TOKEN_SECONDS_MAX (INT64_C(1) << 32)

/* Answers with a TokenRequest that has its status. body is the one that was sent, 0 for none; the answer is
 * made in d. What nodes may ask for is judged here too. */
void token_answer(struct call *c, struct json *d, json_ref body);

/* --- What is behind it, without a server --- */

struct token_order {
    const struct key *key;
    const struct facts *facts;
    const char *ns;
    const char *account;
    struct timestamp now;
    struct arena *arena;
};

/* The answer. What is wrong with the request is in the field errors, or is an error, which *about may say
 * more of: 0 is returned then. */
json_ref token_make(const struct token_order *q, struct json *d, json_ref body, struct field_errors *errors,
                    struct status_info *about, struct error *err);

#endif
