#include "api/request_kind.h"

#include "api/meta.h"
#include "base/cleanup.h"

/* clang-format off */
#define STATUS_DROPPED { "status", FIELD_ANY, .flags = FIELD_DROPPED }
/* clang-format on */

static const struct schema preconditions_schema = {
    "Preconditions",
    (const struct field[]){
        { "uid", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "types.UID", .number = 1 },
        { "resourceVersion", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
        { 0 },
    },
};

const struct schema delete_options_schema = {
    "DeleteOptions",
    (const struct field[]){
        { "kind", FIELD_STRING },
        { "apiVersion", FIELD_STRING },
        { "gracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 1 },
        { "preconditions", FIELD_OBJECT, .sub = &preconditions_schema, .number = 2 },
        { "orphanDependents", FIELD_BOOL, .flags = FIELD_POINTER, .number = 3 },
        { "propagationPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.DeletionPropagation",
          .number = 4 },
        { "dryRun", FIELD_LIST, .item = FIELD_STRING, .number = 5 },
        { 0 },
    },
};

const struct schema eviction_schema = {
    "Eviction",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "deleteOptions", FIELD_OBJECT, .sub = &delete_options_schema, .number = 2 },
        { 0 },
    },
};

const struct schema binding_schema = {
    "Binding",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "target", FIELD_OBJECT, .sub = &object_reference_schema, .flags = FIELD_ALWAYS, .number = 2 },
        { 0 },
    },
};

/* --- Access reviews --- */

static const struct schema field_requirement_schema = {
    "FieldSelectorRequirement",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.FieldSelectorOperator",
          .number = 2 },
        { "values", FIELD_LIST, .item = FIELD_STRING, .number = 3 },
        { 0 },
    },
};

static const struct schema field_attributes_schema = {
    "FieldSelectorAttributes",
    (const struct field[]){
        { "rawSelector", FIELD_STRING, .number = 1 },
        { "requirements", FIELD_LIST, .item = FIELD_OBJECT, .sub = &field_requirement_schema, .number = 2 },
        { 0 },
    },
};

static const struct schema label_attributes_schema = {
    "LabelSelectorAttributes",
    (const struct field[]){
        { "rawSelector", FIELD_STRING, .number = 1 },
        { "requirements", FIELD_LIST, .item = FIELD_OBJECT, .sub = &label_requirement_schema, .number = 2 },
        { 0 },
    },
};

static const struct schema resource_attributes_schema = {
    "ResourceAttributes",
    (const struct field[]){
        { "namespace", FIELD_STRING, .number = 1 },
        { "verb", FIELD_STRING, .number = 2 },
        { "group", FIELD_STRING, .number = 3 },
        { "version", FIELD_STRING, .number = 4 },
        { "resource", FIELD_STRING, .number = 5 },
        { "subresource", FIELD_STRING, .number = 6 },
        { "name", FIELD_STRING, .number = 7 },
        { "fieldSelector", FIELD_OBJECT, .sub = &field_attributes_schema, .number = 8 },
        { "labelSelector", FIELD_OBJECT, .sub = &label_attributes_schema, .number = 9 },
        { 0 },
    },
};

static const struct schema non_resource_attributes_schema = {
    "NonResourceAttributes",
    (const struct field[]){
        { "path", FIELD_STRING, .number = 1 },
        { "verb", FIELD_STRING, .number = 2 },
        { 0 },
    },
};

const struct schema self_access_review_spec_schema = {
    "SelfSubjectAccessReviewSpec",
    (const struct field[]){
        { "resourceAttributes", FIELD_OBJECT, .sub = &resource_attributes_schema, .number = 1 },
        { "nonResourceAttributes", FIELD_OBJECT, .sub = &non_resource_attributes_schema, .number = 2 },
        { 0 },
    },
};

const struct schema self_access_review_schema = {
    "SelfSubjectAccessReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &self_access_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
        STATUS_DROPPED,
        { 0 },
    },
};

const struct schema access_review_spec_schema = {
    "SubjectAccessReviewSpec",
    (const struct field[]){
        { "resourceAttributes", FIELD_OBJECT, .sub = &resource_attributes_schema, .number = 1 },
        { "nonResourceAttributes", FIELD_OBJECT, .sub = &non_resource_attributes_schema, .number = 2 },
        { "user", FIELD_STRING, .number = 3 },
        { "groups", FIELD_LIST, .item = FIELD_STRING, .number = 4 },
        { "extra", FIELD_MAP, .item = FIELD_LIST, .number = 5 },
        { "uid", FIELD_STRING, .number = 6 },
        { 0 },
    },
};

const struct schema access_review_schema = {
    "SubjectAccessReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &access_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
        STATUS_DROPPED,
        { 0 },
    },
};

const struct schema local_access_review_schema = {
    "LocalSubjectAccessReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &access_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
        STATUS_DROPPED,
        { 0 },
    },
};

const struct schema rules_review_spec_schema = {
    "SelfSubjectRulesReviewSpec",
    (const struct field[]){
        { "namespace", FIELD_STRING, .number = 1 },
        { 0 },
    },
};

const struct schema rules_review_schema = {
    "SelfSubjectRulesReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &rules_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
        STATUS_DROPPED,
        { 0 },
    },
};

/* --- Identity --- */

const struct schema self_review_schema = {
    "SelfSubjectReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        STATUS_DROPPED,
        { 0 },
    },
};

const struct schema token_review_spec_schema = {
    "TokenReviewSpec",
    (const struct field[]){
        { "token", FIELD_STRING, .number = 1 },
        { "audiences", FIELD_LIST, .item = FIELD_STRING, .number = 2 },
        { 0 },
    },
};

const struct schema token_review_schema = {
    "TokenReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &token_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
        STATUS_DROPPED,
        { 0 },
    },
};

static const struct schema bound_object_schema = {
    "BoundObjectReference",
    (const struct field[]){
        { "kind", FIELD_STRING, .number = 1 },
        { "apiVersion", FIELD_STRING, .number = 2 },
        { "name", FIELD_STRING, .number = 3 },
        { "uid", FIELD_STRING, .go_type = "types.UID", .number = 4 },
        { 0 },
    },
};

const struct schema token_request_spec_schema = {
    "TokenRequestSpec",
    (const struct field[]){
        { "audiences", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
        { "expirationSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 4 },
        { "boundObjectRef", FIELD_OBJECT, .sub = &bound_object_schema, .number = 3 },
        { 0 },
    },
};

const struct schema token_request_kind_schema = {
    "TokenRequest",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &token_request_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
        STATUS_DROPPED,
        { 0 },
    },
};

static const struct {
    const char *api_version;
    const struct schema *schema; /* its name is the kind's */
} request_kinds[] = {
    { "policy/v1", &eviction_schema },
    { "policy/v1beta1", &eviction_schema }, /* older clients: the same fields */
    { "v1", &binding_schema },
    { "authorization.k8s.io/v1", &access_review_schema },
    { "authorization.k8s.io/v1", &local_access_review_schema },
    { "authorization.k8s.io/v1", &self_access_review_schema },
    { "authorization.k8s.io/v1", &rules_review_schema },
    { "authentication.k8s.io/v1", &self_review_schema },
    { "authentication.k8s.io/v1beta1", &self_review_schema },
    { "authentication.k8s.io/v1", &token_review_schema },
    { "authentication.k8s.io/v1", &token_request_kind_schema },
};

const struct schema *request_kind_schema(struct str api_version, struct str kind)
{
    if (str_is(kind, delete_options_schema.go_name))
        return &delete_options_schema;
    for (size_t i = 0; i < ARRAY_LEN(request_kinds); i++)
        if (str_is(kind, request_kinds[i].schema->go_name) &&
            str_is(api_version, request_kinds[i].api_version))
            return request_kinds[i].schema;
    return NULL;
}
