/* Tokens for service accounts: POST …/serviceaccounts/NAME/token, `kubectl create token`.
 *
 * A token may be bound to a pod, secret or node, and becomes invalid when that is deleted. */
#ifndef BERTH_APISERVER_TOKEN_H
#define BERTH_APISERVER_TOKEN_H

#include "api/json.h"
#include "api/status.h"
#include "api/validate.h"
#include "apiserver/access_lookup.h"
#include "apiserver/api_call.h"
#include "io/keys.h"

#define TOKEN_SECONDS_DEFAULT INT64_C(3600)
#define TOKEN_SECONDS_MIN INT64_C(600)
#define TOKEN_SECONDS_MAX (INT64_C(1) << 32)

/* Answers with a TokenRequest that has its status. body is the request as sent, 0 for none; the response is
 * built in d. Also applies the restrictions of nodes. */
void token_answer(struct call *c, struct json *d, json_ref body);

/* --- Implementation, without a server --- */

struct token_order {
    const struct key *key;
    const struct access_lookup *lookup;
    const char *ns;
    const char *account;
    struct timestamp now;
    struct arena *arena;
};

/* The response. Errors in the request are field errors, or an error, with more details in *about: returns 0
 * then. */
json_ref token_make(const struct token_order *q, struct json *d, json_ref body, struct field_errors *errors,
                    struct status_info *about, struct error *err);

#endif
