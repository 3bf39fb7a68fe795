/* Schemas of kinds that are sent and answered but never stored: reviews, tokens, Status.
 *
 * Kinds that are only requests use the schemas that decode them (api/request_kind.h). The others are
 * described here with the fields that the server sets, which the decoding tables do not have. */
#include "apiserver/openapi_int.h"

#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/request_kind.h"
#include "base/cleanup.h"

/* Spec and status of a review. */
#define REVIEW(variable, name, spec_schema, status_schema)   \
    static const struct field variable##_fields[] = {        \
        SCHEMA_OBJECT_FIELDS,                                \
        { "spec", FIELD_OBJECT, .sub = &(spec_schema) },     \
        { "status", FIELD_OBJECT, .sub = &(status_schema) }, \
    };                                                       \
    static const struct schema variable = SCHEMA(name, variable##_fields)

static const struct field openapi_list_meta_fields[] = {
    { "resourceVersion", FIELD_STRING },
    { "continue", FIELD_STRING },
    { "remainingItemCount", FIELD_INT64 },
};
const struct schema openapi_list_meta_schema = SCHEMA("ListMeta", openapi_list_meta_fields);

static const struct field status_cause_fields[] = {
    { "reason", FIELD_STRING },
    { "message", FIELD_STRING },
    { "field", FIELD_STRING },
};
static const struct schema status_cause_schema = SCHEMA("StatusCause", status_cause_fields);

static const struct field status_details_fields[] = {
    { "name", FIELD_STRING },
    { "group", FIELD_STRING },
    { "kind", FIELD_STRING },
    { "uid", FIELD_STRING },
    { "causes", LIST_OF(status_cause_schema) },
    { "retryAfterSeconds", FIELD_INT32 },
};
static const struct schema status_details_schema = SCHEMA("StatusDetails", status_details_fields);

static const struct field openapi_status_fields[] = {
    { "kind", FIELD_STRING },
    { "apiVersion", FIELD_STRING },
    { "metadata", FIELD_OBJECT, .sub = &openapi_list_meta_schema },
    { "status", FIELD_STRING },
    { "message", FIELD_STRING },
    { "reason", FIELD_STRING },
    { "details", FIELD_OBJECT, .sub = &status_details_schema },
    { "code", FIELD_INT32 },
};
const struct schema openapi_status_schema = SCHEMA("Status", openapi_status_fields);

static const struct field token_request_status_fields[] = {
    { "token", FIELD_STRING },
    { "expirationTimestamp", FIELD_TIME },
};
static const struct schema token_request_status_schema =
    SCHEMA("TokenRequestStatus", token_request_status_fields);

REVIEW(token_request_schema, "TokenRequest", token_request_spec_schema, token_request_status_schema);

static const struct field user_info_fields[] = {
    { "username", FIELD_STRING },
    { "uid", FIELD_STRING },
    { "groups", FIELD_LIST, .item = FIELD_STRING },
    { "extra", FIELD_MAP, .item = FIELD_LIST },
};
static const struct schema user_info_schema = SCHEMA("UserInfo", user_info_fields);

static const struct field self_review_status_fields[] = {
    { "userInfo", FIELD_OBJECT, .sub = &user_info_schema },
};
static const struct schema self_review_status_schema =
    SCHEMA("SelfSubjectReviewStatus", self_review_status_fields);

static const struct field self_subject_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "status", FIELD_OBJECT, .sub = &self_review_status_schema },
};
static const struct schema self_subject_schema = SCHEMA("SelfSubjectReview", self_subject_fields);

static const struct field token_review_status_fields[] = {
    { "authenticated", FIELD_BOOL },
    { "user", FIELD_OBJECT, .sub = &user_info_schema },
    { "audiences", FIELD_LIST, .item = FIELD_STRING },
    { "error", FIELD_STRING },
};
static const struct schema token_review_status_schema =
    SCHEMA("TokenReviewStatus", token_review_status_fields);

REVIEW(token_review_answer_schema, "TokenReview", token_review_spec_schema, token_review_status_schema);

static const struct field access_status_fields[] = {
    { "allowed", FIELD_BOOL },
    { "denied", FIELD_BOOL },
    { "reason", FIELD_STRING },
    { "evaluationError", FIELD_STRING },
};
static const struct schema access_status_schema = SCHEMA("SubjectAccessReviewStatus", access_status_fields);

static const struct field resource_rule_fields[] = {
    { "verbs", FIELD_LIST, .item = FIELD_STRING },
    { "apiGroups", FIELD_LIST, .item = FIELD_STRING },
    { "resources", FIELD_LIST, .item = FIELD_STRING },
    { "resourceNames", FIELD_LIST, .item = FIELD_STRING },
};
static const struct schema resource_rule_schema = SCHEMA("ResourceRule", resource_rule_fields);

static const struct field non_resource_rule_fields[] = {
    { "verbs", FIELD_LIST, .item = FIELD_STRING },
    { "nonResourceURLs", FIELD_LIST, .item = FIELD_STRING },
};
static const struct schema non_resource_rule_schema = SCHEMA("NonResourceRule", non_resource_rule_fields);

static const struct field rules_status_fields[] = {
    { "resourceRules", LIST_OF(resource_rule_schema) },
    { "nonResourceRules", LIST_OF(non_resource_rule_schema) },
    { "incomplete", FIELD_BOOL },
    { "evaluationError", FIELD_STRING },
};
static const struct schema rules_status_schema = SCHEMA("SubjectRulesReviewStatus", rules_status_fields);

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
