/* Kinds that clients send and nobody stores: options of a delete, bindings, evictions, reviews, tokens.
 *
 * They have no row in kind.h. What the server fills in (status) is accepted on input and dropped. */
#ifndef BERTH_API_REQUEST_KIND_H
#define BERTH_API_REQUEST_KIND_H

#include "api/schema.h"
#include "base/str.h"

extern const struct schema delete_options_schema;
extern const struct schema eviction_schema;
extern const struct schema binding_schema;
extern const struct schema access_review_schema;       /* SubjectAccessReview */
extern const struct schema local_access_review_schema; /* LocalSubjectAccessReview */
extern const struct schema self_access_review_schema;  /* SelfSubjectAccessReview */
extern const struct schema rules_review_schema;        /* SelfSubjectRulesReview */
extern const struct schema self_review_schema;         /* SelfSubjectReview */
extern const struct schema token_review_schema;
extern const struct schema token_request_kind_schema;

/* What is asked, without what is answered. */
extern const struct schema access_review_spec_schema;
extern const struct schema self_access_review_spec_schema;
extern const struct schema rules_review_spec_schema;
extern const struct schema token_review_spec_schema;
extern const struct schema token_request_spec_schema;

/* By the two fields every object carries; NULL for any other kind. DeleteOptions belong to every group, so
 * that their apiVersion is not looked at. */
const struct schema *request_kind_schema(struct str api_version, struct str kind);

#endif
