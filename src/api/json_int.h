/* The nodes of a JSON document, for those in this folder that edit trees in bulk. */
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
/* The same behind `previous`, a child of the container; 0: in front. */
void json_link_after(struct json *d, json_ref container, json_ref previous, json_ref v);
/* True for "", 0, false, [], {} and null: what a plain Go field with omitempty leaves out. */
bool json_is_empty(const struct json *d, json_ref v);
/* The members of an object sorted by key, equal keys in their order; malloc'd. NULL when there is no memory.
 */
json_ref *json_sorted_members(const struct json *d, json_ref object);

/* Bulk edits. json_unlink() and json_replace() look for the sibling in front, which makes many of them
 * quadratic; these cost what they touch. */

/* v stays where it is, under its key, and takes over the type and the contents of value; a container is left
 * empty. What v held is let go. */
void json_become(struct json *d, json_ref v, json_ref value);
/* Marks a child as gone. It stays linked, as JSON_NONE, until json_sweep() takes out all such children. */
void json_drop(struct json *d, json_ref v);
void json_sweep(struct json *d, json_ref container);
/* The container's children become exactly these, in this order: its own, or ones that have no parent. */
void json_relink(struct json *d, json_ref container, const json_ref *children, uint32_t count);

#endif
