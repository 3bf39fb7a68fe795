/* The nodes of a JSON document, for bulk edits in this folder. */
#ifndef BERTH_API_JSON_INT_H
#define BERTH_API_JSON_INT_H

#include <assert.h>

#include "api/json.h"

/* Grows the array of nodes; false if the document has failed, before or now. */
bool json_grow_nodes(struct json *d);

/* A new node in no container; 0 if the document has failed, before or now. */
static inline json_ref json_add_node(struct json *d, enum json_type type)
{
    if (d->failed || (d->count == d->cap && !json_grow_nodes(d)))
        return 0;
    d->nodes[d->count] = (struct json_node){ .type = type };
    return d->count++;
}

/* Computing the canonical form (schema.h) is expensive, and a write changes little. So a container that is in
 * canonical form for its place is marked; a change of it or of anything below clears the mark of all
 * containers up to the root. Values that are moved lose their marks. Below a marked container all containers
 * that its schema describes are marked too, so that the walk up ends at the first unmarked one. */
static inline bool json_is_canonical(const struct json *d, json_ref v)
{
    const struct json_node *n = json_node(d, v);

    return json_is_container(n) && n->child.is_canonical;
}

static inline void json_mark_canonical(struct json *d, json_ref v)
{
    assert(json_is_container(&d->nodes[v]));
    d->nodes[v].child.is_canonical = true;
    d->has_marks = true;
}

/* The container has changed. */
static inline void json_touch(struct json *d, json_ref container)
{
    for (json_ref v = container; v && d->nodes[v].child.is_canonical; v = d->nodes[v].parent)
        d->nodes[v].child.is_canonical = false;
}

/* Appends to a container; the key is already set. v is new, was in this container before, or was parsed and
 * never normalized: its marks stay. */
static inline void json_link(struct json *d, json_ref container, json_ref v)
{
    struct json_node *c = &d->nodes[container];

    assert(json_is_container(c));
    assert(d->nodes[v].parent == 0);
    json_touch(d, container);
    d->nodes[v].parent = container;
    d->nodes[v].next = 0;
    if (c->child.last)
        d->nodes[c->child.last].next = v;
    else
        c->child.first = v;
    c->child.last = v;
    c->child.count++;
}

/* The same after `previous`, a child of the container; 0: at the front. */
void json_link_after(struct json *d, json_ref container, json_ref previous, json_ref v);
/* True for "", 0, false, [], {} and null: what Go's omitempty leaves out. */
bool json_is_empty(const struct json *d, json_ref v);
/* The members of an object sorted by key, equal keys in their order; allocated with malloc(). NULL without
 * memory. */
json_ref *json_sorted_members(const struct json *d, json_ref object);

/* Keeps the last of the members with the same key. False without memory. */
bool json_settle_duplicates(struct json *d, json_ref object);
/* Decodes the content of a string literal in place and returns its new length. The escapes are already
 * validated; none is shorter than its character. */
size_t json_decode_string(char *body, size_t len);
/* Parses compact JSON: see json_scan.c. A line end must follow the text, which is decoded in place. False for
 * any other text: then the text may be modified, and the document is unchanged but may have failed. */
bool json_scan(struct json *d, char *text, size_t len, json_ref *ret);

/* Marks, in the high bits, those of eight characters that must be escaped in a JSON string: quotes,
 * backslashes, control characters. The lowest mark is exact; higher ones may be false positives. */
static inline uint64_t json_specials(uint64_t eight)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);
    uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
    uint64_t below = (eight - ones * 0x20) & ~eight;

    return (below | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & highs;
}

/* Bulk edits. json_unlink() and json_replace() search for the previous sibling, which makes many of them
 * quadratic; these do not. */

/* v keeps its place and key, and gets the type and contents of value; value is left empty. The old contents
 * of v are dropped. */
void json_become(struct json *d, json_ref v, json_ref value);
/* Marks a child as removed. It stays linked, as JSON_NONE, until json_sweep() unlinks all such children. */
void json_drop(struct json *d, json_ref v);
void json_sweep(struct json *d, json_ref container);
/* Makes these the container's children, in this order: its own, or values in no container. */
void json_relink(struct json *d, json_ref container, const json_ref *children, uint32_t count);

#endif
