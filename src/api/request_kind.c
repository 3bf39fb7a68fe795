#include "api/request_kind.h"

#include "api/meta.h"
#include "base/cleanup.h"

/* clang-format off */
#define STATUS_DROPPED { "status", FIELD_ANY, .flags = FIELD_DROPPED }
/* clang-format on */

static const struct schema preconditions_schema = {
    "Preconditions",
    (const struct field[]){
        { "uid", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "types.UID" },
        { "resourceVersion", FIELD_STRING, .flags = FIELD_POINTER },
        { 0 },
    },
};

const struct schema delete_options_schema = {
    "DeleteOptions",
    (const struct field[]){
        { "kind", FIELD_STRING },
        { "apiVersion", FIELD_STRING },
        { "gracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER },
        { "preconditions", FIELD_OBJECT, .sub = &preconditions_schema },
        { "orphanDependents", FIELD_BOOL, .flags = FIELD_POINTER },
        { "propagationPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.DeletionPropagation" },
        { "dryRun", FIELD_LIST, .item = FIELD_STRING },
        { 0 },
    },
};

const struct schema eviction_schema = {
    "Eviction",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "deleteOptions", FIELD_OBJECT, .sub = &delete_options_schema },
        { 0 },
    },
};

const struct schema binding_schema = {
    "Binding",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "target", FIELD_OBJECT, .sub = &object_reference_schema, .flags = FIELD_ALWAYS },
        { 0 },
    },
};

const struct schema resource_attributes_schema = {
    "ResourceAttributes",
    (const struct field[]){
        { "namespace", FIELD_STRING },
        { "verb", FIELD_STRING },
        { "group", FIELD_STRING },
        { "version", FIELD_STRING },
        { "resource", FIELD_STRING },
        { "subresource", FIELD_STRING },
        { "name", FIELD_STRING },
        { 0 },
    },
};

const struct schema non_resource_attributes_schema = {
    "NonResourceAttributes",
    (const struct field[]){
        { "path", FIELD_STRING },
        { "verb", FIELD_STRING },
        { 0 },
    },
};

static const struct schema access_review_spec_schema = {
    "SelfSubjectAccessReviewSpec",
    (const struct field[]){
        { "resourceAttributes", FIELD_OBJECT, .sub = &resource_attributes_schema },
        { "nonResourceAttributes", FIELD_OBJECT, .sub = &non_resource_attributes_schema },
        { 0 },
    },
};

const struct schema access_review_schema = {
    "SelfSubjectAccessReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &access_review_spec_schema, .flags = FIELD_ALWAYS },
        STATUS_DROPPED,
        { 0 },
    },
};

static const struct schema rules_review_spec_schema = {
    "SelfSubjectRulesReviewSpec",
    (const struct field[]){
        { "namespace", FIELD_STRING },
        { 0 },
    },
};

const struct schema rules_review_schema = {
    "SelfSubjectRulesReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &rules_review_spec_schema, .flags = FIELD_ALWAYS },
        STATUS_DROPPED,
        { 0 },
    },
};

const struct schema self_review_schema = {
    "SelfSubjectReview",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        STATUS_DROPPED,
        { 0 },
    },
};

static const struct schema bound_object_schema = {
    "BoundObjectReference",
    (const struct field[]){
        { "kind", FIELD_STRING },
        { "apiVersion", FIELD_STRING },
        { "name", FIELD_STRING },
        { "uid", FIELD_STRING, .go_type = "types.UID" },
        { 0 },
    },
};

static const struct schema token_request_spec_schema = {
    "TokenRequestSpec",
    (const struct field[]){
        { "audiences", FIELD_LIST, .item = FIELD_STRING },
        { "expirationSeconds", FIELD_INT64, .flags = FIELD_POINTER },
        { "boundObjectRef", FIELD_OBJECT, .sub = &bound_object_schema },
        { 0 },
    },
};

const struct schema token_request_kind_schema = {
    "TokenRequest",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &token_request_spec_schema, .flags = FIELD_ALWAYS },
        STATUS_DROPPED,
        { 0 },
    },
};

static const struct {
    const char *api_version;
    const struct schema *schema; /* its name is the kind's */
} request_kinds[] = {
    { "policy/v1", &eviction_schema },
    { "v1", &binding_schema },
    { "authorization.k8s.io/v1", &access_review_schema },
    { "authorization.k8s.io/v1", &rules_review_schema },
    { "authentication.k8s.io/v1", &self_review_schema },
    { "authentication.k8s.io/v1beta1", &self_review_schema },
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
