/* The resources the API serves, as one table: what exists under /api and /apis.
 *
 * A resource that is stored has a kind (api/kind.h); the others (reviews, bindings) are answered by a
 * function of their own and never stored. Routing, discovery, OpenAPI, access rules and metrics all read this
 * table, so that none of them can know a resource that another does not. */
#ifndef BERTH_APISERVER_RESOURCE_H
#define BERTH_APISERVER_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"
#include "base/str.h"

/* In alphabetical order of their names, which is the order of discovery. */
enum verb {
    VERB_CREATE,
    VERB_DELETE,
    VERB_DELETE_COLLECTION,
    VERB_GET,
    VERB_LIST,
    VERB_PATCH,
    VERB_UPDATE,
    VERB_WATCH,
    VERB_COUNT,
};

/* "create", "deletecollection", …: as discovery and access reviews call them. */
extern const char *const verb_names[VERB_COUNT];

#define VERB_BIT(verb) (1u << (verb))

enum subresource_id {
    SUB_NONE,
    SUB_STATUS,
    SUB_BINDING,
    SUB_EVICTION,
    SUB_TOKEN,
    SUB_FINALIZE,
    SUB_LOG,  /* known, never served: there is no container here */
    SUB_EXEC, /* the same, as are attach and portforward */
    SUB_COUNT,
};

struct subresource {
    enum subresource_id id;
    const char *name;
    unsigned verbs; /* VERB_BIT()s */
    /* What its bodies are; NULL for the resource's own kind. */
    const char *group;
    const char *version;
    const char *kind;
};

/* What answers requests for a resource that is not stored. */
enum virtual_id {
    VIRTUAL_NONE,
    VIRTUAL_BINDING,
    VIRTUAL_SELF_SUBJECT_REVIEW,
    VIRTUAL_TOKEN_REVIEW,
    VIRTUAL_SELF_SUBJECT_ACCESS_REVIEW,
    VIRTUAL_SELF_SUBJECT_RULES_REVIEW,
    VIRTUAL_SUBJECT_ACCESS_REVIEW,
    VIRTUAL_LOCAL_SUBJECT_ACCESS_REVIEW,
};

struct resource {
    const char *group; /* "" for the core group */
    const char *version;
    const char *plural;
    const char *singular;
    const char *kind;
    const char *const *short_names; /* ends with NULL; NULL for none */
    const char *const *categories;  /* the same */
    bool is_namespaced;
    unsigned verbs;                 /* of clients; the server itself may write what it stores */
    const struct kind_info *info;   /* NULL when it is not stored */
    const struct subresource *subs; /* ends with a NULL name; never NULL */
    enum virtual_id virtual_id;
};

/* Every resource, group by group in the order of discovery: core first, then the groups as they rank; within
 * a group version by plural. */
const struct resource *resource_table(size_t *ret_count);
/* The rows of one group version; NULL when it is not served. */
const struct resource *resource_group_version(struct str group, struct str version, size_t *ret_count);
const struct resource *resource_find(struct str group, struct str version, struct str plural);
const struct resource *resource_of_kind(enum kind kind);
/* NULL when the resource has none of that name. */
const struct subresource *resource_sub(const struct resource *r, struct str name);

#endif
