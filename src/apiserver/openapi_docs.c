/* Descriptions of fields for OpenAPI, found by the names of the struct and of the field.
 *
 * This file has the descriptions that all kinds share, and the lookup; the tables of the kinds are in
 * separate files. A lookup walks the tables, about 1,400 rows; it only happens while a document is created.
 */
#include "apiserver/openapi_int.h"

#include <string.h>

#include "base/cleanup.h"

const struct doc openapi_docs_shared[] = {
    TYPE(PACKAGE_META, "ObjectMeta",
         "Metadata that every object has: its name, namespace, version, labels, annotations, owners and "
         "finalizers."),
    { "name", "The object's name, unique for its kind and namespace. Immutable." },
    { "generateName",
      "A prefix for a generated name: if name is not set, the server appends five random characters." },
    { "namespace", "The namespace of the object; empty for cluster-scoped kinds." },
    { "selfLink", "Deprecated: accepted and never returned." },
    { "uid", "Identifies the object uniquely over time: an object that is deleted and created again with the "
             "same name has another uid. Set by the server." },
    { "resourceVersion",
      "The version of the object, which changes with every write. An update that contains it fails with a "
      "conflict if the object has changed since. Clients must treat it as opaque." },
    { "generation", "Counts changes of the desired state, for kinds that have a generation." },
    { "creationTimestamp", "When the server created the object." },
    { "deletionTimestamp", "Set by the server when deletion of the object is requested. The object is "
                           "removed when its finalizers are removed and its grace period has ended." },
    { "deletionGracePeriodSeconds",
      "Seconds between the request to delete the object and its removal. It can only be decreased." },
    { "labels", "Keys and values by which selectors select objects." },
    { "annotations", "Keys and values that tools store with the object. Selectors do not use them." },
    { "ownerReferences", "The objects that this object depends on. When all of them are deleted, the garbage "
                         "collector deletes it." },
    { "finalizers", "Components that must act before the object is removed. A deleted object remains until "
                    "the list is empty; each component removes its own entry." },
    { "managedFields",
      "The fields that each manager has set. Maintained by the server for server-side apply." },
    TYPE(PACKAGE_META, "OwnerReference",
         "An object that this object depends on, in the same namespace or cluster-scoped."),
    { "apiVersion", "The group and version of the owner.", DOC_REQUIRED },
    { "kind", "The owner's kind.", DOC_REQUIRED },
    { "name", "The owner's name.", DOC_REQUIRED },
    { "uid", "The owner's uid. Another object with the same name is not the owner.", DOC_REQUIRED },
    { "controller", "True for the owner that manages the object. At most one owner has it." },
    { "blockOwnerDeletion",
      "With foreground deletion, the owner is not removed before this object is deleted." },
    TYPE(PACKAGE_META, "ManagedFieldsEntry", "The fields that one manager has set with one operation."),
    { "manager", "The manager: the fieldManager of the request, or the name of the client." },
    { "operation", "The operation: Apply for server-side apply, Update for all other writes." },
    { "apiVersion", "The API version that the field names belong to." },
    { "time", "When this set of fields last changed." },
    { "fieldsType", "The format of fieldsV1: always \"FieldsV1\"." },
    { "fieldsV1", "The fields." },
    { "subresource", "The subresource that was written; empty for the object itself." },
    TYPE(PACKAGE_META, "ListMeta", "Metadata of a list."),
    { "resourceVersion", "The version of the list. A watch can start from it." },
    { "continue", "Set if the list has more pages: the token for the next one." },
    { "remainingItemCount", "The number of objects after this page, if known." },
    TYPE(PACKAGE_META, "List", "A list of objects."),
    { "metadata", "Metadata of the list." },
    { "items", "The objects, ordered by namespace and name.", DOC_REQUIRED },
    TYPE(PACKAGE_META, "DeleteOptions", "Options of a delete request."),
    { "gracePeriodSeconds",
      "Seconds until the object is removed. 0 removes it immediately; the default depends on the kind." },
    { "preconditions", "Conditions under which the object is deleted; otherwise the request fails." },
    { "orphanDependents", "Deprecated: use propagationPolicy." },
    { "propagationPolicy", "What happens to the objects that depend on this object: Orphan keeps them, "
                           "Background deletes them after this object, Foreground before it." },
    { "dryRun", "\"All\": validate the request, but delete nothing." },
    TYPE(PACKAGE_META, "Preconditions", "Conditions of a delete request."),
    { "uid", "The object must have this uid." },
    { "resourceVersion", "The object must have this version." },
    TYPE(PACKAGE_META, "Status", "The result of a request whose response is not an object."),
    { "metadata", "Contains a new continue token if the old one has expired." },
    { "status", "Success or Failure." },
    { "message", "A description for users." },
    { "reason", "The reason, as one word for programs." },
    { "details", "The object or resource that the status refers to." },
    { "code", "The HTTP status." },
    TYPE(PACKAGE_META, "StatusDetails", "The object or resource that a Status refers to."),
    { "name", "The object's name." },
    { "group", "The group of the resource." },
    { "kind", "The requested resource or kind." },
    { "uid", "The object's uid." },
    { "causes", "The individual errors." },
    { "retryAfterSeconds", "Seconds after which the client should retry." },
    TYPE(PACKAGE_META, "StatusCause", "One error."),
    { "reason", "The type of the error, as one word." },
    { "message", "A description for users." },
    { "field", "The field that caused the error, such as spec.capacity[storage]." },
    TYPE(PACKAGE_META, "LabelSelector",
         "Selects objects by their labels. All requirements must be met; an empty selector selects all "
         "objects."),
    { "matchLabels", "Labels that the object must have, with these values." },
    { "matchExpressions", "Further requirements." },
    TYPE(PACKAGE_META, "LabelSelectorRequirement", "A requirement for one label."),
    { "key", "The label's key.", DOC_REQUIRED },
    { "operator", "How the label is compared with the values: In, NotIn, Exists or DoesNotExist.",
      DOC_REQUIRED },
    { "values", "The values for In and NotIn. Must be empty for Exists and DoesNotExist." },
    TYPE(PACKAGE_CORE, "ObjectReference", "A reference to another object."),
    { "kind", "Its kind." },
    { "namespace", "Its namespace." },
    { "name", "Its name." },
    { "uid", "Its uid, which excludes other objects with the same name." },
    { "apiVersion", "Its group and version." },
    { "resourceVersion", "Its resource version." },
    { "fieldPath", "A part of the object, such as spec.containers{name}." },
    TYPE(PACKAGE_CORE, "LocalObjectReference", "A reference to an object in the same namespace."),
    { "name", "Its name." },
    TYPE(PACKAGE_CORE, "SecretReference", "A reference to a Secret."),
    { "name", "The Secret's name." },
    { "namespace", "The Secret's namespace." },
    TYPE(PACKAGE_CORE, "TypedLocalObjectReference",
         "A reference to an object of any kind in the same namespace."),
    { "apiGroup", "Its API group; not set for the core group." },
    { "kind", "Its kind.", DOC_REQUIRED },
    { "name", "Its name.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "TypedObjectReference",
         "A reference to an object of any kind, possibly in another namespace."),
    { "apiGroup", "Its API group; not set for the core group." },
    { "kind", "Its kind.", DOC_REQUIRED },
    { "name", "Its name.", DOC_REQUIRED },
    { "namespace", "Its namespace; not set for the same namespace." },
    TYPE(PACKAGE_CORE, "NodeSelector", "Selects the nodes that match at least one of the terms."),
    { "nodeSelectorTerms", "The terms, at least one.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "NodeSelectorTerm",
         "Requirements for a node, all of which must be met. An empty term matches no node."),
    { "matchExpressions", "Requirements for the node's labels." },
    { "matchFields", "Requirements for the node's fields; only metadata.name is supported." },
    TYPE(PACKAGE_CORE, "NodeSelectorRequirement", "A requirement for one label or field of a node."),
    { "key", "The label's key, or the field's name.", DOC_REQUIRED },
    { "operator", "How the node's value is compared with the values.", DOC_REQUIRED,
      "DoesNotExist|Exists|Gt|In|Lt|NotIn" },
    { "values", "The values: one or more for In and NotIn, one integer for Gt and Lt, none for the others." },
    TYPE(PACKAGE_CORE, "TopologySelectorTerm",
         "A topology where volumes may be provisioned. All requirements must be met."),
    { "matchLabelExpressions", "Requirements for the labels of nodes." },
    TYPE(PACKAGE_CORE, "TopologySelectorLabelRequirement", "The allowed values of a label of a node."),
    { "key", "The label's key.", DOC_REQUIRED },
    { "values", "The allowed values.", DOC_REQUIRED },
    { 0 },
};

/* Fields with the same meaning in all types that do not describe them. */
static const struct doc common[] = {
    { "kind", "The kind of the object." },
    { "apiVersion", "The API group and version of the object." },
    { "metadata", "Standard metadata of the object." },
    { "fsType", "The file system type, such as ext4 or xfs. The device is formatted with it if it has no "
                "file system. The default depends on the plugin or driver that mounts the volume." },
    { "readOnly", "Mounts the volume read-only." },
    { "secretRef", "The Secret with the credentials for the storage." },
};

static const struct doc *const tables[] = {
    openapi_docs_shared, openapi_docs_storage,    openapi_docs_sources,  openapi_docs_core,
    openapi_docs_pods,   openapi_docs_containers, openapi_docs_requests,
};

const struct doc *openapi_schema_doc(const char *package, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        for (const struct doc *d = tables[i]; d->name; d++) {
            if (d->package && strcmp(d->name, name) == 0 && strcmp(d->package, package) == 0)
                return d;
        }
    }
    return NULL;
}

const struct doc *openapi_schema_fields(const struct doc *type)
{
    while (type->package)
        type++;
    return type;
}

const struct doc *openapi_field_doc(const struct doc *type, const char *field)
{
    for (const struct doc *f = type ? openapi_schema_fields(type) : NULL; f && f->name && !f->package; f++) {
        if (strcmp(f->name, field) == 0)
            return f;
    }
    for (size_t i = 0; i < ARRAY_LEN(common); i++) {
        if (strcmp(common[i].name, field) == 0)
            return &common[i];
    }
    return NULL;
}
