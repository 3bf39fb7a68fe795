#include "api/meta.h"

static const struct schema owner_reference_schema = {
    "OwnerReference",
    (const struct field[]){
        { "apiVersion", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 5 },
        { "kind", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
        { "uid", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "types.UID", .number = 4 },
        { "controller", FIELD_BOOL, .flags = FIELD_POINTER, .number = 6 },
        { "blockOwnerDeletion", FIELD_BOOL, .flags = FIELD_POINTER, .number = 7 },
        { 0 },
    },
    .atomic = true,
};

static const struct schema managed_fields_schema = {
    "ManagedFieldsEntry",
    (const struct field[]){
        { "manager", FIELD_STRING, .number = 1 },
        { "operation", FIELD_STRING, .go_type = "v1.ManagedFieldsOperationType", .number = 2 },
        { "apiVersion", FIELD_STRING, .number = 3 },
        { "time", FIELD_TIME, .number = 4 },
        { "fieldsType", FIELD_STRING, .number = 6 },
        { "fieldsV1", FIELD_ANY, .number = 7 },
        { "subresource", FIELD_STRING, .number = 8 },
        { 0 },
    },
};

const struct schema meta_schema = {
    "ObjectMeta",
    (const struct field[]){
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
        { "ownerReferences", FIELD_LIST, .item = FIELD_OBJECT, .sub = &owner_reference_schema,
          .merge_key = "uid", .number = 13 },
        { "finalizers", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_SET, .number = 14 },
        { "managedFields", FIELD_LIST, .item = FIELD_OBJECT, .sub = &managed_fields_schema, .number = 17 },
        { 0 },
    },
};

const struct schema object_reference_schema = {
    "ObjectReference",
    (const struct field[]){
        { "kind", FIELD_STRING, .number = 1 },
        { "namespace", FIELD_STRING, .number = 2 },
        { "name", FIELD_STRING, .number = 3 },
        { "uid", FIELD_STRING, .go_type = "types.UID", .number = 4 },
        { "apiVersion", FIELD_STRING, .number = 5 },
        { "resourceVersion", FIELD_STRING, .number = 6 },
        { "fieldPath", FIELD_STRING, .number = 7 },
        { 0 },
    },
    .atomic = true,
};

const struct schema local_object_reference_schema = {
    "LocalObjectReference",
    (const struct field[]){
        { "name", FIELD_STRING, .number = 1 },
        { 0 },
    },
    .atomic = true,
};

const struct schema secret_reference_schema = {
    "SecretReference",
    (const struct field[]){
        { "name", FIELD_STRING, .number = 1 },
        { "namespace", FIELD_STRING, .number = 2 },
        { 0 },
    },
    .atomic = true,
};

const struct schema typed_local_reference_schema = {
    "TypedLocalObjectReference",
    (const struct field[]){
        { "apiGroup", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
        { "kind", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
        { 0 },
    },
    .atomic = true,
};

const struct schema typed_reference_schema = {
    "TypedObjectReference",
    (const struct field[]){
        { "apiGroup", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
        { "kind", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
        { "namespace", FIELD_STRING, .flags = FIELD_POINTER, .number = 4 },
        { 0 },
    },
};

const struct schema label_requirement_schema = {
    "LabelSelectorRequirement",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.LabelSelectorOperator",
          .number = 2 },
        { "values", FIELD_LIST, .item = FIELD_STRING, .number = 3 },
        { 0 },
    },
};

const struct schema label_selector_schema = {
    "LabelSelector",
    (const struct field[]){
        { "matchLabels", FIELD_MAP, .item = FIELD_STRING, .number = 1 },
        { "matchExpressions", FIELD_LIST, .item = FIELD_OBJECT, .sub = &label_requirement_schema,
          .number = 2 },
        { 0 },
    },
    .atomic = true,
};

static const struct schema node_requirement_schema = {
    "NodeSelectorRequirement",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.NodeSelectorOperator",
          .number = 2 },
        { "values", FIELD_LIST, .item = FIELD_STRING, .number = 3 },
        { 0 },
    },
};

const struct schema node_selector_term_schema = {
    "NodeSelectorTerm",
    (const struct field[]){
        { "matchExpressions", FIELD_LIST, .item = FIELD_OBJECT, .sub = &node_requirement_schema,
          .number = 1 },
        { "matchFields", FIELD_LIST, .item = FIELD_OBJECT, .sub = &node_requirement_schema, .number = 2 },
        { 0 },
    },
    .atomic = true,
};

const struct schema node_selector_schema = {
    "NodeSelector",
    (const struct field[]){
        { "nodeSelectorTerms", FIELD_LIST, .item = FIELD_OBJECT, .sub = &node_selector_term_schema,
          .flags = FIELD_ALWAYS, .number = 1 },
        { 0 },
    },
    .atomic = true,
};

static const struct schema topology_requirement_schema = {
    "TopologySelectorLabelRequirement",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
        { "values", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
        { 0 },
    },
};

const struct schema topology_term_schema = {
    "TopologySelectorTerm",
    (const struct field[]){
        { "matchLabelExpressions", FIELD_LIST, .item = FIELD_OBJECT, .sub = &topology_requirement_schema,
          .number = 1 },
        { 0 },
    },
    .atomic = true,
};
