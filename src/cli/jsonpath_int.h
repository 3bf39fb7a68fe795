/* What the parser of templates (jsonpath_parse.c) hands to the evaluator (jsonpath.c). */
#ifndef BERTH_CLI_JSONPATH_INT_H
#define BERTH_CLI_JSONPATH_INT_H

#include <stdbool.h>

#include "base/arena.h"
#include "cli/jsonpath.h"

enum node_type {
    NODE_TEXT,      /* as it stands, or quoted: .text */
    NODE_PATH,      /* .steps */
    NODE_RANGE,     /* .steps, and .body for each of what they lead to */
    NODE_FIELD,     /* .text */
    NODE_WILDCARD,  /* every member or item */
    NODE_SLICE,     /* .slice of a list */
    NODE_UNION,     /* .choices, one behind the other */
    NODE_RECURSIVE, /* the containers at any depth */
    NODE_FILTER,    /* the items for which .left .op .right holds */
    NODE_SELF,      /* the object at hand */
    NODE_LITERAL,   /* a number or a word of a filter: .text, .type */
};

enum filter_op { FILTER_EXISTS, FILTER_EQ, FILTER_NE, FILTER_LT, FILTER_LE, FILTER_GT, FILTER_GE };

struct slice {
    int64_t start, end, step;
    bool has_start, has_end, has_step;
    bool is_index; /* one item: end is start + 1 */
};

struct node {
    enum node_type type;
    struct str text;
    enum json_type literal; /* of NODE_LITERAL: JSON_STRING, JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL */
    struct slice slice;
    enum filter_op op;
    struct node *steps; /* of a path, a range */
    struct node *body;
    struct node *choices; /* each a NODE_PATH */
    struct node *left, *right;
    struct node *next; /* its sibling */
};

struct jsonpath {
    struct arena arena;
    struct node *nodes; /* texts, paths and ranges */
    char *source;
};

#endif
