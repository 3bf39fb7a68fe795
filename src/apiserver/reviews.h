/* Reviews: requests about identity and access, answered and never stored.
 *
 * SelfSubjectReview, TokenReview, and access reviews: SelfSubjectAccessReview, SubjectAccessReview,
 * LocalSubjectAccessReview, SelfSubjectRulesReview. */
#ifndef BERTH_APISERVER_REVIEWS_H
#define BERTH_APISERVER_REVIEWS_H

#include "api/json.h"
#include "api/validate.h"
#include "apiserver/access_lookup.h"
#include "apiserver/api_call.h"
#include "apiserver/authenticate.h"

/* Answers a POST to one of the reviews, by the route. body is the review as sent, 0 for none. The response is
 * built in d. */
void review_answer(struct call *c, struct json *d, json_ref body);

/* --- Implementation, without a server --- */

struct review {
    enum virtual_id id;
    const char *api_version;                   /* "authentication.k8s.io/v1" */
    const struct user *user;                   /* the caller */
    struct str ns;                             /* from the URL */
    const struct authenticator *authenticator; /* NULL: no tokens */
    const struct access_lookup *lookup;
    struct timestamp now;
    struct arena *arena;
};

/* Sets the status of the review and returns the whole review. Errors in the request are field errors or an
 * error: returns 0 then, with one of the two set. */
json_ref review_make(const struct review *q, struct json *d, json_ref body, struct field_errors *errors,
                     struct error *err);

#endif
