/* What the fields of requests mean that are answered and never stored. */
#include "apiserver/openapi_int.h"

static const struct field_doc access_review_fields[] = {
    { "spec", "The question.", DOC_REQUIRED },
    { "status", "The answer. Filled in by the server." },
    { 0 },
};
static const struct field_doc self_review_fields[] = {
    { "status", "The answer. Filled in by the server." },
    { 0 },
};
static const struct field_doc self_review_status_fields[] = {
    { "userInfo", "The caller, as the server knows it." },
    { 0 },
};
static const struct field_doc no_fields[] = {
    { 0 },
};

static const struct field_doc selector_fields[] = {
    { "rawSelector", "The selector as it stands in a query." },
    { "requirements", "What must hold, all of it." },
    { 0 },
};

const struct schema_doc openapi_docs_requests[] = {
    { PACKAGE_CORE, "Binding", "Puts a pod on a node: what a scheduler sends.",
      (const struct field_doc[]){
          { "target", "The node.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_POLICY, "Eviction", "Asks for a pod to be deleted, as draining a node does.",
      (const struct field_doc[]){
          { "deleteOptions", "How it is to be deleted." },
          { 0 },
      } },
    { PACKAGE_CORE, "Service",
      "A name for the pods of an application. None is kept here: lists of them are empty.", no_fields },
    { PACKAGE_CORE, "Endpoints", "Addresses behind a Service. None is kept here: lists of them are empty.",
      no_fields },

    { PACKAGE_AUTHENTICATION, "TokenRequest", "Asks for a token of a service account.",
      (const struct field_doc[]){
          { "spec", "What token.", DOC_REQUIRED },
          { "status", "The token. Filled in by the server." },
          { 0 },
      } },
    { PACKAGE_AUTHENTICATION, "TokenRequestSpec", "What token is asked for.",
      (const struct field_doc[]){
          { "audiences", "Whom the token is meant for; empty for the API server.", DOC_REQUIRED },
          { "expirationSeconds", "How long it is to be valid. The server may give less." },
          { "boundObjectRef",
            "The object without which the token is worth nothing, such as the pod it is for." },
          { 0 },
      } },
    { PACKAGE_AUTHENTICATION, "BoundObjectReference", "The object that a token stands and falls with.",
      (const struct field_doc[]){
          { "kind", "Its kind: Pod or Secret." },
          { "apiVersion", "Its group and version." },
          { "name", "Its name." },
          { "uid", "Its uid." },
          { 0 },
      } },
    { PACKAGE_AUTHENTICATION, "TokenRequestStatus", "A new token.",
      (const struct field_doc[]){
          { "token", "The token.", DOC_REQUIRED },
          { "expirationTimestamp", "When it ceases to be valid.", DOC_REQUIRED },
          { 0 },
      } },
    { PACKAGE_AUTHENTICATION, "SelfSubjectReview", "Asks the server who the caller is.", self_review_fields },
    { PACKAGE_AUTHENTICATION, "SelfSubjectReviewStatus", "Who the caller is.", self_review_status_fields },
    { PACKAGE_AUTHENTICATION_BETA, "SelfSubjectReview", "Asks the server who the caller is.",
      self_review_fields },
    { PACKAGE_AUTHENTICATION_BETA, "SelfSubjectReviewStatus", "Who the caller is.",
      self_review_status_fields },
    { PACKAGE_AUTHENTICATION, "TokenReview", "Asks the server whose token this is.", access_review_fields },
    { PACKAGE_AUTHENTICATION, "TokenReviewSpec", "The token in question.",
      (const struct field_doc[]){
          { "token", "The token." },
          { "audiences", "Whom it should be meant for; the API server when this is left out." },
          { 0 },
      } },
    { PACKAGE_AUTHENTICATION, "TokenReviewStatus", "Whose token it is.",
      (const struct field_doc[]){
          { "authenticated", "Whether the token is good." },
          { "user", "Whose it is." },
          { "audiences", "Those of the audiences asked about that it is meant for." },
          { "error", "Why it could not be checked." },
          { 0 },
      } },
    { PACKAGE_AUTHENTICATION, "UserInfo", "Who somebody is.",
      (const struct field_doc[]){
          { "username", "The name." },
          { "uid", "Tells users of the same name apart over time." },
          { "groups", "The groups that the user is in." },
          { "extra", "What else the authentication knows." },
          { 0 },
      } },

    { PACKAGE_AUTHORIZATION, "SelfSubjectAccessReview", "Asks whether the caller may do something.",
      access_review_fields },
    { PACKAGE_AUTHORIZATION, "SubjectAccessReview", "Asks whether somebody may do something.",
      access_review_fields },
    { PACKAGE_AUTHORIZATION, "LocalSubjectAccessReview",
      "Asks whether somebody may do something in one namespace.", access_review_fields },
    { PACKAGE_AUTHORIZATION, "SelfSubjectAccessReviewSpec",
      "What the caller would do: exactly one of the two.",
      (const struct field_doc[]){
          { "resourceAttributes", "Something with a resource." },
          { "nonResourceAttributes", "Something with another path, such as /metrics." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "SubjectAccessReviewSpec", "Who would do what: exactly one of the attributes.",
      (const struct field_doc[]){
          { "resourceAttributes", "Something with a resource." },
          { "nonResourceAttributes", "Something with another path, such as /metrics." },
          { "user", "The user's name." },
          { "groups", "The groups that the user is in." },
          { "extra", "What else is known of the user." },
          { "uid", "The user's uid." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "ResourceAttributes", "What would be done with which resource.",
      (const struct field_doc[]){
          { "namespace", "The namespace; empty for all, or for a resource of the cluster." },
          { "verb", "get, list, watch, create, update, patch, delete or deletecollection; * for all." },
          { "group", "The resource's group; * for all." },
          { "version", "The resource's version; * for all." },
          { "resource", "The resource, in the plural; * for all." },
          { "subresource", "The subresource; empty for none." },
          { "name", "The object's name; empty for all." },
          { "fieldSelector", "Limits the question to objects whose fields match." },
          { "labelSelector", "Limits the question to objects whose labels match." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "FieldSelectorAttributes", "Fields of objects: one of the two forms.",
      selector_fields },
    { PACKAGE_AUTHORIZATION, "LabelSelectorAttributes", "Labels of objects: one of the two forms.",
      selector_fields },
    { PACKAGE_META, "FieldSelectorRequirement", "What must hold of one field.",
      (const struct field_doc[]){
          { "key", "The field.", DOC_REQUIRED },
          { "operator", "How the field and the values must relate.", DOC_REQUIRED },
          { "values", "What to compare with." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "NonResourceAttributes", "What would be done with which path.",
      (const struct field_doc[]){
          { "path", "The path." },
          { "verb", "The HTTP method, in lower case." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "SubjectAccessReviewStatus", "Whether it is allowed.",
      (const struct field_doc[]){
          { "allowed", "Whether it is allowed.", DOC_REQUIRED },
          { "denied", "Whether it is ruled out, whoever else might allow it." },
          { "reason", "Why." },
          { "evaluationError", "What went wrong while finding out." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "SelfSubjectRulesReview",
      "Asks for all that the caller may do in one namespace.", access_review_fields },
    { PACKAGE_AUTHORIZATION, "SelfSubjectRulesReviewSpec", "The namespace in question.",
      (const struct field_doc[]){
          { "namespace", "The namespace." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "SubjectRulesReviewStatus", "What the caller may do.",
      (const struct field_doc[]){
          { "resourceRules", "What may be done with resources.", DOC_REQUIRED },
          { "nonResourceRules", "What may be done with other paths.", DOC_REQUIRED },
          { "incomplete", "Whether there may be more than is listed.", DOC_REQUIRED },
          { "evaluationError", "Why it is incomplete." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "ResourceRule", "What may be done with some resources.",
      (const struct field_doc[]){
          { "verbs", "The verbs; * for all.", DOC_REQUIRED },
          { "apiGroups", "The groups; * for all." },
          { "resources", "The resources, and subresources as a/b; * for all." },
          { "resourceNames", "The objects' names; empty for all." },
          { 0 },
      } },
    { PACKAGE_AUTHORIZATION, "NonResourceRule", "What may be done with some paths.",
      (const struct field_doc[]){
          { "verbs", "The verbs; * for all.", DOC_REQUIRED },
          { "nonResourceURLs", "The paths; a * at the end stands for all below." },
          { 0 },
      } },
    { 0 },
};
