/* The resources of the API, as one table: all paths below /api and /apis.
 *
 * A stored resource has a kind (api/kind.h); the others (reviews, bindings) are answered by their own
 * functions and never stored. Routing, discovery, OpenAPI, access rules and metrics all read this table, so
 * they always agree. */
#ifndef BERTH_APISERVER_RESOURCE_H
#define BERTH_APISERVER_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"
#include "base/str.h"

/* In alphabetical order, which is the order of discovery. */
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

/* "create", "deletecollection", …: as in discovery and access reviews. */
extern const char *const verb_names[VERB_COUNT];

#define VERB_BIT(verb) (1u << (verb))

enum subresource_id {
    SUB_NONE,
    SUB_STATUS,
    SUB_BINDING,
    SUB_EVICTION,
    SUB_TOKEN,
    SUB_FINALIZE,
    SUB_LOG,  /* known, never served: Berth runs no containers */
    SUB_EXEC, /* the same, as are attach and portforward */
    SUB_COUNT,
};

struct subresource {
    enum subresource_id id;
    const char *name;
    unsigned verbs; /* VERB_BIT()s */
    /* Kind of its bodies; NULL for the resource's own kind. */
    const char *group;
    const char *version;
    const char *kind;
};

/* Handlers of resources that are not stored. */
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
    const char *const *short_names; /* terminated by NULL; NULL for none */
    const char *const *categories;  /* the same */
    bool is_namespaced;
    unsigned verbs;                 /* for clients; the server itself may write all that it stores */
    const struct kind_info *info;   /* NULL when it is not stored */
    const struct subresource *subs; /* terminated by a NULL name; never NULL */
    enum virtual_id virtual_id;
};

/* Every resource, group by group in the order of discovery: core first, then the groups by rank; within a
 * group version by plural. */
const struct resource *resource_table(size_t *ret_count);
/* The rows of one group version; NULL when it is not served. */
const struct resource *resource_group_version(struct str group, struct str version, size_t *ret_count);
const struct resource *resource_find(struct str group, struct str version, struct str plural);
const struct resource *resource_of_kind(enum kind kind);
/* NULL when the resource does not have it. */
const struct subresource *resource_sub(const struct resource *r, struct str name);

#endif
