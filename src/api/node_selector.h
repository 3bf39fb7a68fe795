/* Which nodes: node selectors (node affinity of volumes and pods) and a class's allowed topologies.
 *
 * Both are lists of terms of which one must match; a term matches when all its requirements do. Like label
 * selectors they live in the arena they were built with. A requirement that is wrong does not fail the
 * building: it makes its term match nothing, and the error is told by the match, when no other term
 * matches. */
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
    size_t expressions_count; /* with the wrong ones */
    size_t fields_count;
    bool is_broken;
};

/* Zeroed, it matches nothing. */
struct node_selector {
    struct node_term *terms;
    size_t count;
    size_t room;
    struct problems *problems; /* of all terms; NULL while there are none */
};

/* Begins a term; requirements go to the latest one. Building fails only when the arena is full. */
int node_selector_add_term(struct node_selector *sel, struct arena *a, struct error *err);
/* matchExpressions: In, NotIn, Exists, DoesNotExist, Gt, Lt on labels. */
int node_selector_add_expression(struct node_selector *sel, struct arena *a,
                                 const struct requirement_parts *parts, struct error *err);
/* matchFields: In and NotIn with one value, on metadata.name. */
int node_selector_add_field(struct node_selector *sel, struct arena *a, const struct requirement_parts *parts,
                            struct error *err);

/* 1 when a term matches, 0 when none does, -ERR_INVALID when none does and some were wrong. node_name
 * NULL: the labels alone are judged, and requirements on fields hold. */
int node_selector_matches(const struct node_selector *sel, const struct kv *labels, size_t count,
                          const char *node_name, struct error *err);

/* The labels that it asks for, for people: "kubernetes.io/hostname=n1", "disk=ssd,zone in (a,b)". Of many
 * terms the first few. */
void node_selector_words(const struct node_selector *sel, struct buf *out);

/* A volume's node affinity against a node's labels. required is NULL when the volume has none. 0 when the
 * volume can be used there, -ERR_UNAVAILABLE "no matching NodeSelectorTerms" when it cannot, -ERR_INVALID
 * as above. */
int node_affinity_check(const struct node_selector *required, const struct kv *labels, size_t count,
                        struct error *err);

/* The label that a local volume is tied to its node by. */
#define LABEL_HOSTNAME "kubernetes.io/hostname"
/* The requirement that names hosts by it; NULL for none. */
const struct requirement *node_term_hosts(const struct node_term *t);

/* The nodes that there are, for who has many: all of them, and those of one host, are asked whether the
 * selector matches one. */
struct node_lookup {
    bool (*any)(const void *ctx, const struct node_selector *sel);
    bool (*on_host)(const void *ctx, const char *host, const struct node_selector *sel);
    const void *ctx;
};
/* There is a node that the selector matches. Where it names hosts, no others are looked at. */
bool node_selector_is_met(const struct node_selector *sel, const struct node_lookup *nodes);

struct topology_term {
    struct label_selector labels;
    bool is_broken;
};

/* Zeroed, it matches everything. */
struct topology_selector {
    struct topology_term *terms;
    size_t count;
    size_t room;
};

/* Begins a term; without expressions it matches nothing. Both fail only when the arena is full. */
int topology_selector_add_term(struct topology_selector *sel, struct arena *a, struct error *err);
/* matchLabelExpressions: the key's value is one of the values. */
int topology_selector_add_expression(struct topology_selector *sel, struct arena *a, struct str key,
                                     const struct str *values, size_t values_count, struct error *err);
bool topology_selector_matches(const struct topology_selector *sel, const struct kv *labels, size_t count);

#endif
