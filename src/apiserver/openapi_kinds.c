/* Schemas of what is sent and answered but never stored: reviews, tokens, Status.
 *
 * Those of requests alone are the ones that decode them (api/request_kind.h). The rest is described here
 * with what the server fills in, which the tables of decoding leave out. */
#include "apiserver/openapi_int.h"

#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/request_kind.h"
#include "base/cleanup.h"

const struct schema openapi_list_meta_schema = {
    "ListMeta",
    (const struct field[]){
        { "resourceVersion", FIELD_STRING },
        { "continue", FIELD_STRING },
        { "remainingItemCount", FIELD_INT64 },
        { 0 },
    },
};

static const struct schema status_cause_schema = {
    "StatusCause",
    (const struct field[]){
        { "reason", FIELD_STRING },
        { "message", FIELD_STRING },
        { "field", FIELD_STRING },
        { 0 },
    },
};

static const struct schema status_details_schema = {
    "StatusDetails",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "group", FIELD_STRING },
        { "kind", FIELD_STRING },
        { "uid", FIELD_STRING },
        { "causes", FIELD_LIST, .item = FIELD_OBJECT, .sub = &status_cause_schema },
        { "retryAfterSeconds", FIELD_INT32 },
        { 0 },
    },
};

const struct schema openapi_status_schema = {
    "Status",
    (const struct field[]){
        { "kind", FIELD_STRING },
        { "apiVersion", FIELD_STRING },
        { "metadata", FIELD_OBJECT, .sub = &openapi_list_meta_schema },
        { "status", FIELD_STRING },
        { "message", FIELD_STRING },
        { "reason", FIELD_STRING },
        { "details", FIELD_OBJECT, .sub = &status_details_schema },
        { "code", FIELD_INT32 },
        { 0 },
    },
};

static const struct schema token_request_status_schema = {
    "TokenRequestStatus",
    (const struct field[]){
        { "token", FIELD_STRING },
        { "expirationTimestamp", FIELD_TIME },
        { 0 },
    },
};

static const struct schema token_request_schema = {
    "TokenRequest",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &token_request_spec_schema },
        { "status", FIELD_OBJECT, .sub = &token_request_status_schema },
        { 0 },
    },
};

static const struct schema user_info_schema = {
    "UserInfo",
    (const struct field[]){
        { "username", FIELD_STRING },
        { "uid", FIELD_STRING },
        { "groups", FIELD_LIST, .item = FIELD_STRING },
        { "extra", FIELD_MAP, .item = FIELD_LIST },
        { 0 },
    },
};

static const struct schema self_review_status_schema = {
    "SelfSubjectReviewStatus",
    (const struct field[]){
        { "userInfo", FIELD_OBJECT, .sub = &user_info_schema },
        { 0 },
    },
};

static const struct schema self_subject_schema = {
    "SelfSubjectReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "status", FIELD_OBJECT, .sub = &self_review_status_schema },
        { 0 },
    },
};

static const struct schema token_review_status_schema = {
    "TokenReviewStatus",
    (const struct field[]){
        { "authenticated", FIELD_BOOL },
        { "user", FIELD_OBJECT, .sub = &user_info_schema },
        { "audiences", FIELD_LIST, .item = FIELD_STRING },
        { "error", FIELD_STRING },
        { 0 },
    },
};

static const struct schema token_review_answer_schema = {
    "TokenReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &token_review_spec_schema },
        { "status", FIELD_OBJECT, .sub = &token_review_status_schema },
        { 0 },
    },
};

static const struct schema access_status_schema = {
    "SubjectAccessReviewStatus",
    (const struct field[]){
        { "allowed", FIELD_BOOL },
        { "denied", FIELD_BOOL },
        { "reason", FIELD_STRING },
        { "evaluationError", FIELD_STRING },
        { 0 },
    },
};

static const struct schema resource_rule_schema = {
    "ResourceRule",
    (const struct field[]){
        { "verbs", FIELD_LIST, .item = FIELD_STRING },
        { "apiGroups", FIELD_LIST, .item = FIELD_STRING },
        { "resources", FIELD_LIST, .item = FIELD_STRING },
        { "resourceNames", FIELD_LIST, .item = FIELD_STRING },
        { 0 },
    },
};

static const struct schema non_resource_rule_schema = {
    "NonResourceRule",
    (const struct field[]){
        { "verbs", FIELD_LIST, .item = FIELD_STRING },
        { "nonResourceURLs", FIELD_LIST, .item = FIELD_STRING },
        { 0 },
    },
};

static const struct schema rules_status_schema = {
    "SubjectRulesReviewStatus",
    (const struct field[]){
        { "resourceRules", FIELD_LIST, .item = FIELD_OBJECT, .sub = &resource_rule_schema },
        { "nonResourceRules", FIELD_LIST, .item = FIELD_OBJECT, .sub = &non_resource_rule_schema },
        { "incomplete", FIELD_BOOL },
        { "evaluationError", FIELD_STRING },
        { 0 },
    },
};

/* The four access reviews: what is asked differs, the answer of three is the same. */
#define REVIEW(variable, name, spec_schema, status_schema)       \
    static const struct schema variable = {                      \
        name,                                                    \
        (const struct field[]){                                  \
            SCHEMA_OBJECT_FIELDS,                                \
            { "spec", FIELD_OBJECT, .sub = &(spec_schema) },     \
            { "status", FIELD_OBJECT, .sub = &(status_schema) }, \
            { 0 },                                               \
        },                                                       \
    }

REVIEW(self_access_schema, "SelfSubjectAccessReview", self_access_review_spec_schema, access_status_schema);
REVIEW(access_schema, "SubjectAccessReview", access_review_spec_schema, access_status_schema);
REVIEW(local_access_schema, "LocalSubjectAccessReview", access_review_spec_schema, access_status_schema);
REVIEW(rules_schema, "SelfSubjectRulesReview", rules_review_spec_schema, rules_status_schema);

static const struct {
    const char *group;
    const struct schema *schema;
} requests[] = {
    { "", &binding_schema },
    { "policy", &eviction_schema },
    { "authentication.k8s.io", &self_subject_schema },
    { "authentication.k8s.io", &token_request_schema },
    { "authentication.k8s.io", &token_review_answer_schema },
    { "authorization.k8s.io", &access_schema },
    { "authorization.k8s.io", &local_access_schema },
    { "authorization.k8s.io", &rules_schema },
    { "authorization.k8s.io", &self_access_schema },
};

const struct schema *openapi_kind_schema(const char *group, const char *version, const char *kind)
{
    const struct kind_info *k = kind_by_name(str_of(group), str_of(version), str_of(kind));

    if (k)
        return k->schema;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        if (strcmp(requests[i].group, group) == 0 && strcmp(requests[i].schema->go_name, kind) == 0)
            return requests[i].schema;
    }
    return NULL;
}
