/* Kinds that are only sent in requests and never stored: delete options, bindings, evictions, reviews,
 * tokens.
 *
 * They have no row in kind.h. status, which the server sets, is accepted in requests and dropped. */
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

/* Only the request part. */
extern const struct schema access_review_spec_schema;
extern const struct schema self_access_review_spec_schema;
extern const struct schema rules_review_spec_schema;
extern const struct schema token_review_spec_schema;
extern const struct schema token_request_spec_schema;

/* By apiVersion and kind; NULL for other kinds. DeleteOptions belong to every group, so that their apiVersion
 * is ignored. */
const struct schema *request_kind_schema(struct str api_version, struct str kind);

#endif
