/* The reviews: questions about identity and access, answered and never stored.
 *
 * SelfSubjectReview, TokenReview, and who may do what: SelfSubjectAccessReview, SubjectAccessReview,
 * LocalSubjectAccessReview, SelfSubjectRulesReview. */
#ifndef BERTH_APISERVER_REVIEWS_H
#define BERTH_APISERVER_REVIEWS_H

#include "api/json.h"
#include "api/validate.h"
#include "apiserver/authenticate.h"
#include "apiserver/call.h"
#include "apiserver/facts.h"

/* Answers a POST to one of the reviews; the route says which. body is the review as it was sent, 0 for none.
 * The answer is made in d. */
void review_answer(struct call *c, struct json *d, json_ref body);

/* --- What is behind it, without a server --- */

struct review {
    enum virtual_id id;
    const char *api_version;                   /* "authentication.k8s.io/v1" */
    const struct user *user;                   /* who asks */
    struct str ns;                             /* of the URL */
    const struct authenticator *authenticator; /* NULL: there are no tokens */
    const struct facts *facts;
    struct timestamp now;
    struct arena *arena;
};

/* Fills in the status of the review and returns it, whole. What is wrong with the question is in the field
 * errors, or is an error: 0 is returned then, with one of the two. */
json_ref review_make(const struct review *q, struct json *d, json_ref body, struct field_errors *errors,
                     struct error *err);

#endif
