/* Schemas of kinds that are only sent in requests: DeleteOptions, bindings, evictions, token requests and
 * access reviews. Tables, and a linear lookup by apiVersion and kind. */
#include "api/request_kind.h"

#include "api/meta.h"
#include "base/cleanup.h"

/* clang-format off */
#define STATUS_DROPPED { "status", FIELD_ANY, .flags = FIELD_DROPPED }
/* clang-format on */

static const struct field preconditions_fields[] = {
    { "uid", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "types.UID", .number = 1 },
    { "resourceVersion", FIELD_STRING, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema preconditions_schema = SCHEMA("Preconditions", preconditions_fields);

static const struct field delete_options_fields[] = {
    { "kind", FIELD_STRING },
    { "apiVersion", FIELD_STRING },
    { "gracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 1 },
    { "preconditions", FIELD_OBJECT, .sub = &preconditions_schema, .number = 2 },
    { "orphanDependents", FIELD_BOOL, .flags = FIELD_POINTER, .number = 3 },
    { "propagationPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.DeletionPropagation",
      .number = 4 },
    { "dryRun", FIELD_LIST, .item = FIELD_STRING, .number = 5 },
};
const struct schema delete_options_schema = SCHEMA("DeleteOptions", delete_options_fields);

static const struct field eviction_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "deleteOptions", FIELD_OBJECT, .sub = &delete_options_schema, .number = 2 },
};
const struct schema eviction_schema = SCHEMA("Eviction", eviction_fields);

static const struct field binding_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "target", FIELD_OBJECT, .sub = &object_reference_schema, .flags = FIELD_ALWAYS, .number = 2 },
};
const struct schema binding_schema = SCHEMA("Binding", binding_fields);

/* --- Access reviews --- */

static const struct field field_requirement_fields[] = {
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.FieldSelectorOperator", .number = 2 },
    { "values", FIELD_LIST, .item = FIELD_STRING, .number = 3 },
};
static const struct schema field_requirement_schema =
    SCHEMA("FieldSelectorRequirement", field_requirement_fields);

static const struct field field_attributes_fields[] = {
    { "rawSelector", FIELD_STRING, .number = 1 },
    { "requirements", LIST_OF(field_requirement_schema), .number = 2 },
};
static const struct schema field_attributes_schema =
    SCHEMA("FieldSelectorAttributes", field_attributes_fields);

static const struct field label_attributes_fields[] = {
    { "rawSelector", FIELD_STRING, .number = 1 },
    { "requirements", LIST_OF(label_requirement_schema), .number = 2 },
};
static const struct schema label_attributes_schema =
    SCHEMA("LabelSelectorAttributes", label_attributes_fields);

static const struct field resource_attributes_fields[] = {
    { "namespace", FIELD_STRING, .number = 1 },
    { "verb", FIELD_STRING, .number = 2 },
    { "group", FIELD_STRING, .number = 3 },
    { "version", FIELD_STRING, .number = 4 },
    { "resource", FIELD_STRING, .number = 5 },
    { "subresource", FIELD_STRING, .number = 6 },
    { "name", FIELD_STRING, .number = 7 },
    { "fieldSelector", FIELD_OBJECT, .sub = &field_attributes_schema, .number = 8 },
    { "labelSelector", FIELD_OBJECT, .sub = &label_attributes_schema, .number = 9 },
};
static const struct schema resource_attributes_schema =
    SCHEMA("ResourceAttributes", resource_attributes_fields);

static const struct field non_resource_attributes_fields[] = {
    { "path", FIELD_STRING, .number = 1 },
    { "verb", FIELD_STRING, .number = 2 },
};
static const struct schema non_resource_attributes_schema =
    SCHEMA("NonResourceAttributes", non_resource_attributes_fields);

static const struct field self_access_review_spec_fields[] = {
    { "resourceAttributes", FIELD_OBJECT, .sub = &resource_attributes_schema, .number = 1 },
    { "nonResourceAttributes", FIELD_OBJECT, .sub = &non_resource_attributes_schema, .number = 2 },
};
const struct schema self_access_review_spec_schema =
    SCHEMA("SelfSubjectAccessReviewSpec", self_access_review_spec_fields);

static const struct field self_access_review_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &self_access_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    STATUS_DROPPED,
};
const struct schema self_access_review_schema = SCHEMA("SelfSubjectAccessReview", self_access_review_fields);

static const struct field access_review_spec_fields[] = {
    { "resourceAttributes", FIELD_OBJECT, .sub = &resource_attributes_schema, .number = 1 },
    { "nonResourceAttributes", FIELD_OBJECT, .sub = &non_resource_attributes_schema, .number = 2 },
    { "user", FIELD_STRING, .number = 3 },
    { "groups", FIELD_LIST, .item = FIELD_STRING, .number = 4 },
    { "extra", FIELD_MAP, .item = FIELD_LIST, .number = 5 },
    { "uid", FIELD_STRING, .number = 6 },
};
const struct schema access_review_spec_schema = SCHEMA("SubjectAccessReviewSpec", access_review_spec_fields);

static const struct field access_review_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &access_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    STATUS_DROPPED,
};
const struct schema access_review_schema = SCHEMA("SubjectAccessReview", access_review_fields);

const struct schema local_access_review_schema = SCHEMA("LocalSubjectAccessReview", access_review_fields);

static const struct field rules_review_spec_fields[] = {
    { "namespace", FIELD_STRING, .number = 1 },
};
const struct schema rules_review_spec_schema = SCHEMA("SelfSubjectRulesReviewSpec", rules_review_spec_fields);

static const struct field rules_review_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &rules_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    STATUS_DROPPED,
};
const struct schema rules_review_schema = SCHEMA("SelfSubjectRulesReview", rules_review_fields);

/* --- Identity --- */

static const struct field self_review_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    STATUS_DROPPED,
};
const struct schema self_review_schema = SCHEMA("SelfSubjectReview", self_review_fields);

static const struct field token_review_spec_fields[] = {
    { "token", FIELD_STRING, .number = 1 },
    { "audiences", FIELD_LIST, .item = FIELD_STRING, .number = 2 },
};
const struct schema token_review_spec_schema = SCHEMA("TokenReviewSpec", token_review_spec_fields);

static const struct field token_review_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &token_review_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    STATUS_DROPPED,
};
const struct schema token_review_schema = SCHEMA("TokenReview", token_review_fields);

static const struct field bound_object_fields[] = {
    { "kind", FIELD_STRING, .number = 1 },
    { "apiVersion", FIELD_STRING, .number = 2 },
    { "name", FIELD_STRING, .number = 3 },
    { "uid", FIELD_STRING, .go_type = "types.UID", .number = 4 },
};
static const struct schema bound_object_schema = SCHEMA("BoundObjectReference", bound_object_fields);

static const struct field token_request_spec_fields[] = {
    { "audiences", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    { "expirationSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 4 },
    { "boundObjectRef", FIELD_OBJECT, .sub = &bound_object_schema, .number = 3 },
};
const struct schema token_request_spec_schema = SCHEMA("TokenRequestSpec", token_request_spec_fields);

static const struct field token_request_kind_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &token_request_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    STATUS_DROPPED,
};
const struct schema token_request_kind_schema = SCHEMA("TokenRequest", token_request_kind_fields);

static const struct {
    const char *api_version;
    const struct schema *schema; /* its name is the kind */
} request_kinds[] = {
    { "policy/v1", &eviction_schema },
    { "policy/v1beta1", &eviction_schema }, /* for older clients: the same fields */
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
