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
         "What every object has besides its contents: its name, where it is, its version, and what others "
         "have attached to it."),
    { "name", "Names the object among those of its kind and namespace. It never changes." },
    { "generateName",
      "The beginning of a name: when name is left out, the server adds five characters of its own." },
    { "namespace", "The namespace that the object is in; empty for kinds that belong to the cluster." },
    { "selfLink", "Deprecated: accepted and never returned." },
    { "uid", "Tells this object from every other there ever was, also from one of the same name that was "
             "deleted before. Given by the server." },
    { "resourceVersion", "Changes with every write. Sent back with an update, it makes the update fail if "
                         "somebody else was faster. Not to be calculated with." },
    { "generation", "Counts changes of what is wanted, for kinds that keep count." },
    { "creationTimestamp", "When the server stored the object first." },
    { "deletionTimestamp", "Set by the server when somebody asked to delete the object: from then on it only "
                           "waits for its finalizers, or for its grace period, to end." },
    { "deletionGracePeriodSeconds", "How many seconds the object was given to end once its deletion was "
                                    "asked for. It can only become shorter." },
    { "labels", "Short texts by which selectors choose objects." },
    { "annotations", "Texts that tools keep with the object. Nothing selects by them." },
    { "ownerReferences", "The objects that this one depends on. When all of them are gone, so is it." },
    { "finalizers", "Whoever must do something before the object may go. It stays until the list is empty; "
                    "each entry is removed by its owner." },
    { "managedFields", "Which manager set which fields: kept by the server for server-side apply." },
    TYPE(PACKAGE_META, "OwnerReference",
         "An object in the same namespace, or in the cluster, that this one depends on."),
    { "apiVersion", "The group and version of the owner.", DOC_REQUIRED },
    { "kind", "The owner's kind.", DOC_REQUIRED },
    { "name", "The owner's name.", DOC_REQUIRED },
    { "uid", "The owner's uid: another object of the same name is not the owner.", DOC_REQUIRED },
    { "controller", "True for the one owner that manages the object." },
    { "blockOwnerDeletion", "With foreground deletion the owner stays until this object is gone." },
    TYPE(PACKAGE_META, "ManagedFieldsEntry", "The fields that one manager has set in one way."),
    { "manager", "Who wrote: the fieldManager of the request, or the name of the client." },
    { "operation", "How: Apply for server-side apply, Update for all else." },
    { "apiVersion", "The version that the names of the fields are of." },
    { "time", "When this set of fields last changed." },
    { "fieldsType", "The form of fieldsV1. There is one: \"FieldsV1\"." },
    { "fieldsV1", "The fields." },
    { "subresource", "The subresource that was written, if it was one." },
    TYPE(PACKAGE_META, "ListMeta", "What a list says about itself."),
    { "resourceVersion", "The version of everything in the list: a watch may go on from here." },
    { "continue", "Set when there is more: the token to ask for the next page with." },
    { "remainingItemCount", "How many objects come after this page, where that is known." },
    TYPE(PACKAGE_META, "List", "A list of objects."),
    { "metadata", "What the list says about itself." },
    { "items", "The objects, ordered by namespace and name.", DOC_REQUIRED },
    TYPE(PACKAGE_META, "DeleteOptions", "How an object is to be deleted."),
    { "gracePeriodSeconds",
      "How long it may take to end. 0 removes it at once; left out, the kind decides." },
    { "preconditions", "What must hold for the object to be deleted." },
    { "orphanDependents", "Deprecated: use propagationPolicy." },
    { "propagationPolicy", "What becomes of the objects that depend on this one: Orphan leaves them alone, "
                           "Background deletes them afterwards, Foreground before." },
    { "dryRun", "\"All\": check everything and delete nothing." },
    TYPE(PACKAGE_META, "Preconditions", "What must hold for a delete to happen."),
    { "uid", "The object still has this uid." },
    { "resourceVersion", "The object still has this version." },
    TYPE(PACKAGE_META, "Status", "How a request went, where the answer is no object."),
    { "metadata", "Holds a new continue token when the old one has expired." },
    { "status", "Success or Failure." },
    { "message", "What happened, for people." },
    { "reason", "What happened, in one word for programs." },
    { "details", "What the status is about." },
    { "code", "The HTTP status." },
    TYPE(PACKAGE_META, "StatusDetails", "What a Status is about."),
    { "name", "The object's name." },
    { "group", "The group of the resource." },
    { "kind", "The resource, or the kind, that was asked for." },
    { "uid", "The object's uid." },
    { "causes", "Each thing that was wrong." },
    { "retryAfterSeconds", "Try again, and not before so many seconds have passed." },
    TYPE(PACKAGE_META, "StatusCause", "One thing that was wrong."),
    { "reason", "What kind of mistake it is, in one word." },
    { "message", "The mistake, for people." },
    { "field", "The field it is in: spec.capacity[storage]." },
    TYPE(
        PACKAGE_META, "LabelSelector",
        "Chooses objects by their labels. All of its parts must hold; an empty selector chooses everything."),
    { "matchLabels", "Labels that must be there with just these values." },
    { "matchExpressions", "Further requirements." },
    TYPE(PACKAGE_META, "LabelSelectorRequirement", "What must hold of one label."),
    { "key", "The label's key.", DOC_REQUIRED },
    { "operator", "How the label and the values must relate: In, NotIn, Exists or DoesNotExist.",
      DOC_REQUIRED },
    { "values", "For In and NotIn, what to compare with. Exists and DoesNotExist take none." },
    TYPE(PACKAGE_CORE, "ObjectReference", "Names another object."),
    { "kind", "Its kind." },
    { "namespace", "Its namespace." },
    { "name", "Its name." },
    { "uid", "Its uid, when just this object is meant and not another of the same name." },
    { "apiVersion", "Its group and version." },
    { "resourceVersion", "The version of it that is meant." },
    { "fieldPath", "A part of it: spec.containers{name}." },
    TYPE(PACKAGE_CORE, "LocalObjectReference", "Names an object in the same namespace."),
    { "name", "Its name." },
    TYPE(PACKAGE_CORE, "SecretReference", "Names a Secret."),
    { "name", "The Secret's name." },
    { "namespace", "The namespace that the Secret is in." },
    TYPE(PACKAGE_CORE, "TypedLocalObjectReference", "Names an object of any kind in the same namespace."),
    { "apiGroup", "Its group; left out for the core group." },
    { "kind", "Its kind.", DOC_REQUIRED },
    { "name", "Its name.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "TypedObjectReference", "Names an object of any kind, possibly in another namespace."),
    { "apiGroup", "Its group; left out for the core group." },
    { "kind", "Its kind.", DOC_REQUIRED },
    { "name", "Its name.", DOC_REQUIRED },
    { "namespace", "Its namespace; left out for the same one." },
    TYPE(PACKAGE_CORE, "NodeSelector", "Chooses nodes: those that fit one of the terms."),
    { "nodeSelectorTerms", "The terms, at least one.", DOC_REQUIRED },
    TYPE(PACKAGE_CORE, "NodeSelectorTerm",
         "What a node must have. All parts must hold; a term without any fits no node."),
    { "matchExpressions", "What must hold of the node's labels." },
    { "matchFields", "What must hold of the node's fields; only metadata.name is known." },
    TYPE(PACKAGE_CORE, "NodeSelectorRequirement", "What must hold of one label or field of a node."),
    { "key", "The label's key, or the field.", DOC_REQUIRED },
    { "operator", "How the node's value and these values must relate.", DOC_REQUIRED,
      "DoesNotExist|Exists|Gt|In|Lt|NotIn" },
    { "values", "What to compare with: any number for In and NotIn, one whole number for Gt and Lt, none for "
                "the others." },
    TYPE(PACKAGE_CORE, "TopologySelectorTerm",
         "Places where volumes may be made: all requirements must hold."),
    { "matchLabelExpressions", "Requirements on the labels of nodes." },
    TYPE(PACKAGE_CORE, "TopologySelectorLabelRequirement", "Values that a label of a node may have."),
    { "key", "The label's key.", DOC_REQUIRED },
    { "values", "The values, one of which the label must have.", DOC_REQUIRED },
    { 0 },
};

/* Fields with the same meaning in all types that do not describe them. */
static const struct doc common[] = {
    { "kind", "The kind of the object." },
    { "apiVersion", "The group and version that the object is written in." },
    { "metadata", "The object's name, labels, version and so on." },
    { "fsType", "The file system to expect or to make on the device, such as ext4 or xfs; left out, the "
                "default of whoever mounts it." },
    { "readOnly", "Mounts the volume without the right to write to it." },
    { "secretRef", "The Secret with the credentials to reach the storage." },
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
