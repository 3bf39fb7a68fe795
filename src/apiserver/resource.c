/* The table of resources. Names of stored kinds are filled in from the table of kinds at the first use. */
#include "apiserver/resource.h"

#include <assert.h>

#include "base/vec.h"

const char *const verb_names[VERB_COUNT] = {
    [VERB_CREATE] = "create", [VERB_DELETE] = "delete", [VERB_DELETE_COLLECTION] = "deletecollection",
    [VERB_GET] = "get",       [VERB_LIST] = "list",     [VERB_PATCH] = "patch",
    [VERB_UPDATE] = "update", [VERB_WATCH] = "watch",
};

#define VERBS_ALL ((1u << VERB_COUNT) - 1)
#define VERBS_CREATE VERB_BIT(VERB_CREATE)
#define VERBS_CHANGE (VERB_BIT(VERB_GET) | VERB_BIT(VERB_PATCH) | VERB_BIT(VERB_UPDATE))
#define VERBS_READ (VERB_BIT(VERB_GET) | VERB_BIT(VERB_LIST) | VERB_BIT(VERB_WATCH))

static const struct subresource no_subs[] = { { 0 } };
static const struct subresource status_subs[] = { { SUB_STATUS, "status", VERBS_CHANGE }, { 0 } };
static const struct subresource namespace_subs[] = {
    { SUB_FINALIZE, "finalize", VERB_BIT(VERB_UPDATE) },
    { SUB_STATUS, "status", VERBS_CHANGE },
    { 0 },
};
static const struct subresource pod_subs[] = {
    { SUB_EXEC, "attach", VERB_BIT(VERB_CREATE) | VERB_BIT(VERB_GET), "", "v1", "PodAttachOptions" },
    { SUB_BINDING, "binding", VERBS_CREATE, "", "v1", "Binding" },
    { SUB_EVICTION, "eviction", VERBS_CREATE, "policy", "v1", "Eviction" },
    { SUB_EXEC, "exec", VERB_BIT(VERB_CREATE) | VERB_BIT(VERB_GET), "", "v1", "PodExecOptions" },
    { SUB_LOG, "log", VERB_BIT(VERB_GET) },
    { SUB_EXEC, "portforward", VERB_BIT(VERB_CREATE) | VERB_BIT(VERB_GET), "", "v1",
      "PodPortForwardOptions" },
    { SUB_STATUS, "status", VERBS_CHANGE },
    { 0 },
};
static const struct subresource service_account_subs[] = {
    { SUB_TOKEN, "token", VERBS_CREATE, "authentication.k8s.io", "v1", "TokenRequest" },
    { 0 },
};

static const char *const pods_categories[] = { "all", NULL };

struct resource_row {
    enum kind kind; /* KIND_COUNT for resources that are not stored */
    struct resource r;
};

/* The names of a stored kind are filled in from the table of kinds at the first use. */
#define ROW(kind, singular_, verbs_, subs_, ...)                                     \
    {                                                                                \
        (kind),                                                                      \
        {                                                                            \
            .singular = (singular_), .verbs = (verbs_), .subs = (subs_), __VA_ARGS__ \
        }                                                                            \
    }
#define ROW_VIRTUAL(group_, version_, plural_, singular_, kind_, namespaced_, verbs_, id_, ...)      \
    {                                                                                                \
        KIND_COUNT,                                                                                  \
        {                                                                                            \
            .group = (group_), .version = (version_), .plural = (plural_), .singular = (singular_),  \
            .kind = (kind_), .is_namespaced = (namespaced_), .verbs = (verbs_), .virtual_id = (id_), \
            .subs = no_subs, __VA_ARGS__                                                             \
        }                                                                                            \
    }

#define AUTHN "authentication.k8s.io"
#define AUTHZ "authorization.k8s.io"

/* clang-format off */
static const struct resource_row rows[] = {
    ROW_VIRTUAL("", "v1", "bindings", "binding", "Binding", true, VERBS_CREATE, VIRTUAL_BINDING),
    ROW(KIND_CONFIG_MAP, "configmap", VERBS_ALL, no_subs),
    ROW(KIND_ENDPOINTS, "endpoints", VERBS_READ, no_subs),
    ROW(KIND_EVENT, "event", VERBS_ALL, no_subs),
    ROW(KIND_NAMESPACE, "namespace", VERBS_ALL & ~VERB_BIT(VERB_DELETE_COLLECTION), namespace_subs),
    ROW(KIND_NODE, "node", VERBS_ALL, status_subs),
    ROW(KIND_CLAIM, "persistentvolumeclaim", VERBS_ALL, status_subs),
    ROW(KIND_VOLUME, "persistentvolume", VERBS_ALL, status_subs),
    ROW(KIND_POD, "pod", VERBS_ALL, pod_subs, .categories = pods_categories),
    ROW(KIND_SECRET, "secret", VERBS_ALL, no_subs),
    ROW(KIND_SERVICE_ACCOUNT, "serviceaccount", VERBS_ALL, service_account_subs),
    /* not in the category `all`: kubectl delete all --all would fail */
    ROW(KIND_SERVICE, "service", VERBS_READ, no_subs),
    ROW(KIND_EVENT_V1, "event", VERBS_ALL, no_subs),
    ROW_VIRTUAL(AUTHN, "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview", false,
                VERBS_CREATE, VIRTUAL_SELF_SUBJECT_REVIEW),
    ROW_VIRTUAL(AUTHN, "v1", "tokenreviews", "tokenreview", "TokenReview", false, VERBS_CREATE,
                VIRTUAL_TOKEN_REVIEW),
    ROW_VIRTUAL(AUTHN, "v1beta1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview",
                false, VERBS_CREATE, VIRTUAL_SELF_SUBJECT_REVIEW),
    ROW_VIRTUAL(AUTHZ, "v1", "localsubjectaccessreviews", "localsubjectaccessreview",
                "LocalSubjectAccessReview", true, VERBS_CREATE, VIRTUAL_LOCAL_SUBJECT_ACCESS_REVIEW),
    ROW_VIRTUAL(AUTHZ, "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
                "SelfSubjectAccessReview", false, VERBS_CREATE, VIRTUAL_SELF_SUBJECT_ACCESS_REVIEW),
    ROW_VIRTUAL(AUTHZ, "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview",
                "SelfSubjectRulesReview", false, VERBS_CREATE, VIRTUAL_SELF_SUBJECT_RULES_REVIEW),
    ROW_VIRTUAL(AUTHZ, "v1", "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview",
                false, VERBS_CREATE, VIRTUAL_SUBJECT_ACCESS_REVIEW),
    ROW(KIND_CSI_DRIVER, "csidriver", VERBS_ALL, no_subs),
    ROW(KIND_CSI_NODE, "csinode", VERBS_ALL, no_subs),
    ROW(KIND_CSI_CAPACITY, "csistoragecapacity", VERBS_ALL, no_subs),
    ROW(KIND_CLASS, "storageclass", VERBS_ALL, no_subs),
    ROW(KIND_ATTACHMENT, "volumeattachment", VERBS_ALL, status_subs),
    ROW(KIND_ATTRIBUTES_CLASS, "volumeattributesclass", VERBS_ALL, no_subs),
    ROW(KIND_LEASE, "lease", VERBS_ALL, no_subs),
    ROW(KIND_ENDPOINT_SLICE, "endpointslice", VERBS_READ, no_subs),
    ROW(KIND_SNAPSHOT_CLASS, "volumesnapshotclass", VERBS_ALL, no_subs),
    ROW(KIND_SNAPSHOT_CONTENT, "volumesnapshotcontent", VERBS_ALL, status_subs),
    ROW(KIND_SNAPSHOT, "volumesnapshot", VERBS_ALL, status_subs),
    ROW(KIND_GROUP_SNAPSHOT_CLASS, "volumegroupsnapshotclass", VERBS_ALL, no_subs),
    ROW(KIND_GROUP_SNAPSHOT_CONTENT, "volumegroupsnapshotcontent", VERBS_ALL, status_subs),
    ROW(KIND_GROUP_SNAPSHOT, "volumegroupsnapshot", VERBS_ALL, status_subs),
};
/* clang-format on */

#define ROWS_COUNT (sizeof rows / sizeof *rows)

static struct resource resources[ROWS_COUNT];

static void fill_in(struct resource *to, const struct resource_row *row)
{
    const struct kind_info *k;

    *to = row->r;
    if (row->kind == KIND_COUNT)
        return;
    k = kind_info(row->kind);
    to->group = k->group;
    to->version = k->version;
    to->plural = k->plural;
    to->kind = k->name;
    to->short_names = k->short_names;
    to->is_namespaced = k->is_namespaced;
    to->info = k;
}

const struct resource *resource_table(size_t *ret_count)
{
    if (!resources[0].plural) {
        for (size_t i = 0; i < ROWS_COUNT; i++)
            fill_in(&resources[i], &rows[i]);
    }
    *ret_count = ROWS_COUNT;
    return resources;
}

const struct resource *resource_group_version(struct str group, struct str version, size_t *ret_count)
{
    size_t count;
    const struct resource *all = resource_table(&count);
    const struct resource *first = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_one = str_is(group, all[i].group) && str_is(version, all[i].version);

        if (first && !is_one)
            break; /* those of a group and version are in one place */
        if (is_one && !first)
            first = &all[i];
        *ret_count += is_one;
    }
    return first;
}

const struct resource *resource_find(struct str group, struct str version, struct str plural)
{
    size_t count;
    const struct resource *all = resource_table(&count);

    for (size_t i = 0; i < count; i++) {
        if (str_is(plural, all[i].plural) && str_is(group, all[i].group) && str_is(version, all[i].version))
            return &all[i];
    }
    return NULL;
}

const struct resource *resource_of_kind(enum kind kind)
{
    size_t count;
    const struct resource *all = resource_table(&count);

    for (size_t i = 0; i < count; i++) {
        if (all[i].info && all[i].info->kind == kind)
            return &all[i];
    }
    assert(!"every kind is served");
    return NULL;
}

const struct subresource *resource_sub(const struct resource *r, struct str name)
{
    for (const struct subresource *s = r->subs; s->name; s++) {
        if (str_is(name, s->name))
            return s;
    }
    return NULL;
}
