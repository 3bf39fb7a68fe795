/* The nodes of a JSON document, for json*.c and the YAML builder. */
#ifndef BERTH_API_JSON_INT_H
#define BERTH_API_JSON_INT_H

#include <assert.h>

#include "api/json.h"

struct json_node {
    const char *key; /* of an object's member; NULL elsewhere */
    uint32_t key_len;
    json_ref next;
    json_ref parent;
    uint32_t type; /* enum json_type */
    union {
        struct {
            const char *s;
            uint32_t len;
        } text;
        struct {
            json_ref first;
            json_ref last;
            uint32_t count;
        } child;
    };
};

static inline const struct json_node *json_node(const struct json *d, json_ref v)
{
    assert(v < d->count);
    return &d->nodes[v];
}

static inline bool json_is_container(const struct json_node *n)
{
    return n->type >= JSON_ARRAY;
}

/* A new node that belongs to nothing; 0 when the document has failed or does so now. */
json_ref json_add_node(struct json *d, enum json_type type);
/* Appends to a container, keys already set. */
void json_link(struct json *d, json_ref container, json_ref v);
/* The members of an object sorted by key, equal keys in their order; malloc'd. NULL when there is no memory.
 */
json_ref *json_sorted_members(const struct json *d, json_ref object);

#endif
