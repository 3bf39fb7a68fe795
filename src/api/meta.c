#include "api/meta.h"

static const struct schema owner_reference_schema = {
    "OwnerReference",
    (const struct field[]){
        { "apiVersion", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "kind", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "uid", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "types.UID" },
        { "controller", FIELD_BOOL, .flags = FIELD_POINTER },
        { "blockOwnerDeletion", FIELD_BOOL, .flags = FIELD_POINTER },
        { 0 },
    },
    .atomic = true,
};

static const struct schema managed_fields_schema = {
    "ManagedFieldsEntry",
    (const struct field[]){
        { "manager", FIELD_STRING },
        { "operation", FIELD_STRING, .go_type = "v1.ManagedFieldsOperationType" },
        { "apiVersion", FIELD_STRING },
        { "time", FIELD_TIME },
        { "fieldsType", FIELD_STRING },
        { "fieldsV1", FIELD_ANY },
        { "subresource", FIELD_STRING },
        { 0 },
    },
};

const struct schema meta_schema = {
    "ObjectMeta",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "generateName", FIELD_STRING },
        { "namespace", FIELD_STRING },
        { "selfLink", FIELD_STRING, .flags = FIELD_DROPPED },
        { "uid", FIELD_STRING, .go_type = "types.UID" },
        { "resourceVersion", FIELD_STRING },
        { "generation", FIELD_INT64 },
        { "creationTimestamp", FIELD_TIME },
        { "deletionTimestamp", FIELD_TIME },
        { "deletionGracePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER },
        { "labels", FIELD_MAP, .item = FIELD_STRING },
        { "annotations", FIELD_MAP, .item = FIELD_STRING },
        { "ownerReferences", FIELD_LIST, .item = FIELD_OBJECT, .sub = &owner_reference_schema,
          .merge_key = "uid" },
        { "finalizers", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_SET },
        { "managedFields", FIELD_LIST, .item = FIELD_OBJECT, .sub = &managed_fields_schema },
        { 0 },
    },
};

const struct schema object_reference_schema = {
    "ObjectReference",
    (const struct field[]){
        { "kind", FIELD_STRING },
        { "namespace", FIELD_STRING },
        { "name", FIELD_STRING },
        { "uid", FIELD_STRING, .go_type = "types.UID" },
        { "apiVersion", FIELD_STRING },
        { "resourceVersion", FIELD_STRING },
        { "fieldPath", FIELD_STRING },
        { 0 },
    },
    .atomic = true,
};

const struct schema local_object_reference_schema = {
    "LocalObjectReference",
    (const struct field[]){
        { "name", FIELD_STRING },
        { 0 },
    },
    .atomic = true,
};

const struct schema secret_reference_schema = {
    "SecretReference",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "namespace", FIELD_STRING },
        { 0 },
    },
    .atomic = true,
};

const struct schema typed_local_reference_schema = {
    "TypedLocalObjectReference",
    (const struct field[]){
        { "apiGroup", FIELD_STRING, .flags = FIELD_POINTER },
        { "kind", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .atomic = true,
};

const struct schema typed_reference_schema = {
    "TypedObjectReference",
    (const struct field[]){
        { "apiGroup", FIELD_STRING, .flags = FIELD_POINTER },
        { "kind", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "name", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "namespace", FIELD_STRING, .flags = FIELD_POINTER },
        { 0 },
    },
};

static const struct schema label_requirement_schema = {
    "LabelSelectorRequirement",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.LabelSelectorOperator" },
        { "values", FIELD_LIST, .item = FIELD_STRING },
        { 0 },
    },
};

const struct schema label_selector_schema = {
    "LabelSelector",
    (const struct field[]){
        { "matchLabels", FIELD_MAP, .item = FIELD_STRING },
        { "matchExpressions", FIELD_LIST, .item = FIELD_OBJECT, .sub = &label_requirement_schema },
        { 0 },
    },
    .atomic = true,
};

static const struct schema node_requirement_schema = {
    "NodeSelectorRequirement",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "operator", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.NodeSelectorOperator" },
        { "values", FIELD_LIST, .item = FIELD_STRING },
        { 0 },
    },
};

const struct schema node_selector_term_schema = {
    "NodeSelectorTerm",
    (const struct field[]){
        { "matchExpressions", FIELD_LIST, .item = FIELD_OBJECT, .sub = &node_requirement_schema },
        { "matchFields", FIELD_LIST, .item = FIELD_OBJECT, .sub = &node_requirement_schema },
        { 0 },
    },
    .atomic = true,
};

const struct schema node_selector_schema = {
    "NodeSelector",
    (const struct field[]){
        { "nodeSelectorTerms", FIELD_LIST, .item = FIELD_OBJECT, .sub = &node_selector_term_schema,
          .flags = FIELD_ALWAYS },
        { 0 },
    },
    .atomic = true,
};

static const struct schema topology_requirement_schema = {
    "TopologySelectorLabelRequirement",
    (const struct field[]){
        { "key", FIELD_STRING, .flags = FIELD_ALWAYS },
        { "values", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_ALWAYS },
        { 0 },
    },
};

const struct schema topology_term_schema = {
    "TopologySelectorTerm",
    (const struct field[]){
        { "matchLabelExpressions", FIELD_LIST, .item = FIELD_OBJECT, .sub = &topology_requirement_schema },
        { 0 },
    },
    .atomic = true,
};
