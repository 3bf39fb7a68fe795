/* The nodes of a JSON document, for those in this folder that edit trees in bulk. */
#ifndef BERTH_API_JSON_INT_H
#define BERTH_API_JSON_INT_H

#include <assert.h>

#include "api/json.h"

/* Makes room for more nodes; false when the document has failed, or does so now. */
bool json_grow_nodes(struct json *d);

/* A new node that belongs to nothing; 0 when the document has failed or does so now. */
static inline json_ref json_add_node(struct json *d, enum json_type type)
{
    if (d->failed || (d->count == d->cap && !json_grow_nodes(d)))
        return 0;
    d->nodes[d->count] = (struct json_node){ .type = type };
    return d->count++;
}

/* Canonical form (schema.h) is costly to bring about and a write changes little. So a container that is in
 * the form that its schema wants at its place is marked; whatever changes it, or anything below it, takes the
 * mark away from it and from all containers around it. What is moved to another place loses its marks. Below
 * a marked container all containers that its schema looks into are marked, which ends the way up early. */
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

/* Appends to a container, keys already set. v is new, or was in this container before, or was parsed and
 * never brought into form: it keeps its marks. */
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

/* The same behind `previous`, a child of the container; 0: in front. */
void json_link_after(struct json *d, json_ref container, json_ref previous, json_ref v);
/* True for "", 0, false, [], {} and null: what a plain Go field with omitempty leaves out. */
bool json_is_empty(const struct json *d, json_ref v);
/* The members of an object sorted by key, equal keys in their order; malloc'd. NULL when there is no memory.
 */
json_ref *json_sorted_members(const struct json *d, json_ref object);

/* Of the members with the same key the last one stays. False when there is no memory. */
bool json_settle_duplicates(struct json *d, json_ref object);
/* Decodes a string literal's body in place and returns its new length. Its escapes have been checked; none is
 * shorter than what it means. */
size_t json_decode_string(char *body, size_t len);
/* Reads compact JSON: see json_scan.c. The text is followed by a line end and is decoded in place. False when
 * it is anything else; then the text may be spoiled, and the document is as it was but may have failed. */
bool json_scan(struct json *d, char *text, size_t len, json_ref *ret);

/* Marks, in their high bits, those of eight characters that a JSON string cannot hold as they are: quotes,
 * backslashes, control characters. The lowest mark is right; above it there may be some too many. */
static inline uint64_t json_specials(uint64_t eight)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);
    uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
    uint64_t below = (eight - ones * 0x20) & ~eight;

    return (below | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & highs;
}

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
