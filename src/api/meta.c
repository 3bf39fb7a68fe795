/* Schemas of ObjectMeta, references and selectors. Tables only: no code, no state. */
#include "api/meta.h"

static const struct field owner_reference_fields[] = {
    { "apiVersion", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 5 },
    { "kind", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
    { "uid", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "types.UID", .number = 4 },
    { "controller", FIELD_BOOL, .flags = FIELD_POINTER, .number = 6 },
    { "blockOwnerDeletion", FIELD_BOOL, .flags = FIELD_POINTER, .number = 7 },
};
static const struct schema owner_reference_schema = SCHEMA_ATOMIC("OwnerReference", owner_reference_fields);

static const struct field managed_fields_fields[] = {
    { "manager", FIELD_STRING, .number = 1 },
    { "operation", FIELD_STRING, .go_type = "v1.ManagedFieldsOperationType", .number = 2 },
    { "apiVersion", FIELD_STRING, .number = 3 },
    { "time", FIELD_TIME, .number = 4 },
    { "fieldsType", FIELD_STRING, .number = 6 },
    { "fieldsV1", FIELD_ANY, .number = 7 },
    { "subresource", FIELD_STRING, .number = 8 },
};
static const struct schema managed_fields_schema = SCHEMA("ManagedFieldsEntry", managed_fields_fields);

static const struct field meta_fields[] = {
    { "name", FIELD_STRING, .number = 1 },
    { "generateName", FIELD_STRING, .number = 2 },
    { "namespace", FIELD_STRING, .number = 3 },
    { "selfLink", FIELD_STRING, .flags = FIELD_DROPPED, .number = 4 },
    { "uid", FIELD_STRING, .go_type = "types.UID", .number = 5 },
    { "resourceVersion", FIELD_STRING, .number = 6 },
    { "generation", FIELD_INT64, .number = 7 },
    { "creationTimestamp", FIELD_TIME, .number = 8 },
    { "deletionTimestamp", FIELD_TIME, .number = 9 },
    { "deletionGracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 10 },
    { "labels", FIELD_MAP, .item = FIELD_STRING, .number = 11 },
    { "annotations", FIELD_MAP, .item = FIELD_STRING, .number = 12 },
    { "ownerReferences", LIST_OF(owner_reference_schema), .merge_key = "uid", .number = 13 },
    { "finalizers", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_SET, .number = 14 },
    { "managedFields", LIST_OF(managed_fields_schema), .number = 17 },
};
const struct schema meta_schema = SCHEMA("ObjectMeta", meta_fields);

static const struct field object_reference_fields[] = {
    { "kind", FIELD_STRING, .number = 1 },
    { "namespace", FIELD_STRING, .number = 2 },
    { "name", FIELD_STRING, .number = 3 },
    { "uid", FIELD_STRING, .go_type = "types.UID", .number = 4 },
    { "apiVersion", FIELD_STRING, .number = 5 },
    { "resourceVersion", FIELD_STRING, .number = 6 },
    /* A part of the object, such as a container. */
    { "fieldPath", FIELD_STRING, .number = 7 },
};
const struct schema object_reference_schema = SCHEMA_ATOMIC("ObjectReference", object_reference_fields);

static const struct field local_object_reference_fields[] = {
    { "name", FIELD_STRING, .number = 1 },
};
const struct schema local_object_reference_schema =
    SCHEMA_ATOMIC("LocalObjectReference", local_object_reference_fields);

static const struct field secret_reference_fields[] = {
    { "name", FIELD_STRING, .number = 1 },
    { "namespace", FIELD_STRING, .number = 2 },
};
const struct schema secret_reference_schema = SCHEMA_ATOMIC("SecretReference", secret_reference_fields);

static const struct field typed_local_reference_fields[] = {
    { "apiGroup", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
    { "kind", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
};
const struct schema typed_local_reference_schema =
    SCHEMA_ATOMIC("TypedLocalObjectReference", typed_local_reference_fields);

static const struct field typed_reference_fields[] = {
    { "apiGroup", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
    { "kind", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
    { "namespace", FIELD_STRING, .flags = FIELD_POINTER, .number = 4 },
};
const struct schema typed_reference_schema = SCHEMA("TypedObjectReference", typed_reference_fields);

static const struct field label_requirement_fields[] = {
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.LabelSelectorOperator", .number = 2 },
    { "values", FIELD_LIST, .item = FIELD_STRING, .number = 3 },
};
const struct schema label_requirement_schema = SCHEMA("LabelSelectorRequirement", label_requirement_fields);

static const struct field label_selector_fields[] = {
    { "matchLabels", FIELD_MAP, .item = FIELD_STRING, .number = 1 },
    { "matchExpressions", LIST_OF(label_requirement_schema), .number = 2 },
};
const struct schema label_selector_schema = SCHEMA_ATOMIC("LabelSelector", label_selector_fields);

static const struct field node_requirement_fields[] = {
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.NodeSelectorOperator", .number = 2 },
    { "values", FIELD_LIST, .item = FIELD_STRING, .number = 3 },
};
static const struct schema node_requirement_schema =
    SCHEMA("NodeSelectorRequirement", node_requirement_fields);

static const struct field node_selector_term_fields[] = {
    { "matchExpressions", LIST_OF(node_requirement_schema), .number = 1 },
    { "matchFields", LIST_OF(node_requirement_schema), .number = 2 },
};
const struct schema node_selector_term_schema = SCHEMA_ATOMIC("NodeSelectorTerm", node_selector_term_fields);

static const struct field node_selector_fields[] = {
    { "nodeSelectorTerms", LIST_OF(node_selector_term_schema), .flags = FIELD_ALWAYS, .number = 1 },
};
const struct schema node_selector_schema = SCHEMA_ATOMIC("NodeSelector", node_selector_fields);

static const struct field topology_requirement_fields[] = {
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "values", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema topology_requirement_schema =
    SCHEMA("TopologySelectorLabelRequirement", topology_requirement_fields);

static const struct field topology_term_fields[] = {
    { "matchLabelExpressions", LIST_OF(topology_requirement_schema), .number = 1 },
};
const struct schema topology_term_schema = SCHEMA_ATOMIC("TopologySelectorTerm", topology_term_fields);
