/* Node selectors (node affinity of volumes and pods) and allowed topologies of classes.
 *
 * Both are lists of terms, of which one must match; a term matches if all its requirements do. Like label
 * selectors they are in the arena they were built with. An invalid requirement does not fail the building:
 * its term matches nothing, and the match reports the error if no other term matches. */
#ifndef BERTH_API_NODE_SELECTOR_H
#define BERTH_API_NODE_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "api/field_selector.h"
#include "api/selector.h"

struct problems;

struct node_term {
    struct label_selector labels;
    struct field_selector fields;
    size_t expressions_count; /* including invalid ones */
    size_t fields_count;
    bool is_broken;
};

/* Zeroed: matches nothing. */
struct node_selector {
    struct node_term *terms;
    size_t count;
    size_t room;
    struct problems *problems; /* of all terms; NULL: none */
};

/* Starts a term; requirements are added to the last one. Fails only if the arena is full. */
int node_selector_add_term(struct node_selector *sel, struct arena *a, struct error *err);
/* matchExpressions: In, NotIn, Exists, DoesNotExist, Gt, Lt on labels. */
int node_selector_add_expression(struct node_selector *sel, struct arena *a,
                                 const struct requirement_parts *parts, struct error *err);
/* matchFields: In and NotIn with one value, on metadata.name. */
int node_selector_add_field(struct node_selector *sel, struct arena *a, const struct requirement_parts *parts,
                            struct error *err);

/* 1 if a term matches, 0 if none does, -ERR_INVALID if none does and some are invalid. node_name NULL: only
 * labels are compared, and requirements for fields count as met. */
int node_selector_matches(const struct node_selector *sel, const struct kv *labels, size_t count,
                          const char *node_name, struct error *err);

/* The required labels for users: "kubernetes.io/hostname=n1", "disk=ssd,zone in (a,b)". Only the first few
 * terms. */
void node_selector_words(const struct node_selector *sel, struct buf *out);

/* Compares a volume's node affinity with a node's labels. required: NULL if the volume has none. 0 if the
 * volume can be used there, -ERR_UNAVAILABLE "no matching NodeSelectorTerms" if not, -ERR_INVALID as above.
 */
int node_affinity_check(const struct node_selector *required, const struct kv *labels, size_t count,
                        struct error *err);

/* The label that ties a local volume to its node. */
#define LABEL_HOSTNAME "kubernetes.io/hostname"
/* The requirement of the term that lists host names; NULL for none. */
const struct requirement *node_term_hosts(const struct node_term *t);

/* Lookup for callers with many nodes: whether the selector matches any node, or any node with this host name.
 */
struct node_lookup {
    bool (*any)(const void *ctx, const struct node_selector *sel);
    bool (*on_host)(const void *ctx, const char *host, const struct node_selector *sel);
    const void *ctx;
};
/* True if the selector matches an existing node. If all terms list host names, only those nodes are compared.
 */
bool node_selector_is_met(const struct node_selector *sel, const struct node_lookup *nodes);

struct topology_term {
    struct label_selector labels;
    bool is_broken;
};

/* Zeroed: matches everything. */
struct topology_selector {
    struct topology_term *terms;
    size_t count;
    size_t room;
};

/* Starts a term; without expressions it matches nothing. Both fail only if the arena is full. */
int topology_selector_add_term(struct topology_selector *sel, struct arena *a, struct error *err);
/* matchLabelExpressions: the label has one of the values. */
int topology_selector_add_expression(struct topology_selector *sel, struct arena *a, struct str key,
                                     const struct str *values, size_t values_count, struct error *err);
bool topology_selector_matches(const struct topology_selector *sel, const struct kv *labels, size_t count);

#endif
