/* The syntax tree of a template, built by jsonpath_parse.c and evaluated by jsonpath.c. */
#ifndef BERTH_CLI_JSONPATH_INT_H
#define BERTH_CLI_JSONPATH_INT_H

#include <stdbool.h>

#include "base/arena.h"
#include "cli/jsonpath.h"

enum node_type {
    NODE_TEXT,      /* plain or quoted: .text */
    NODE_PATH,      /* .steps */
    NODE_RANGE,     /* .steps, and .body for each value that they match */
    NODE_FIELD,     /* .text */
    NODE_WILDCARD,  /* every member or item */
    NODE_SLICE,     /* .slice of a list */
    NODE_UNION,     /* .choices, concatenated */
    NODE_RECURSIVE, /* the containers at any depth */
    NODE_FILTER,    /* the items for which .left .op .right holds */
    NODE_SELF,      /* the current object */
    NODE_LITERAL,   /* a number or a word in a filter: .text, .type */
};

enum filter_op { FILTER_EXISTS, FILTER_EQ, FILTER_NE, FILTER_LT, FILTER_LE, FILTER_GT, FILTER_GE };

struct slice {
    int64_t start, end, step;
    bool has_start, has_end, has_step;
    bool is_index; /* one item: end is start + 1 */
};

struct jsonpath_node {
    enum node_type type;
    struct str text;
    enum json_type literal; /* of NODE_LITERAL: JSON_STRING, JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL */
    struct slice slice;
    enum filter_op op;
    struct jsonpath_node *steps; /* of a path or a range */
    struct jsonpath_node *body;
    struct jsonpath_node *choices; /* each a NODE_PATH */
    struct jsonpath_node *left, *right;
    struct jsonpath_node *next; /* its sibling */
};

struct jsonpath {
    struct arena arena;
    struct jsonpath_node *nodes; /* texts, paths and ranges */
    char *source;
};

#endif
