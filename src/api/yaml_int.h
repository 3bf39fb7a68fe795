/* What a YAML scalar means, and how a document's tree is built, for yaml*.c. */
#ifndef BERTH_API_YAML_INT_H
#define BERTH_API_YAML_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json.h"
#include "api/yaml.h"
#include "base/str.h"
#include "base/vec.h"

enum yaml_kind {
    YAML_KIND_STRING,
    YAML_KIND_NULL,
    YAML_KIND_BOOL,
    YAML_KIND_INT,
    YAML_KIND_FLOAT,
    YAML_KIND_NOT_FINITE, /* .inf, -.inf, .nan: floats that JSON does not have */
    YAML_KIND_TIMESTAMP,  /* read as a string, written in quotes */
    YAML_KIND_COUNT,
};

struct yaml_scalar {
    enum yaml_kind kind;
    bool truth;      /* of a boolean */
    bool merges;     /* as a key: the members of its value belong to the mapping around it */
    struct str text; /* of a string */
    char number[JSON_NUMBER_BYTES_MAX + 1]; /* a JSON literal; ".inf", "-.inf" or ".nan" when not finite */
};

/* What a plain scalar without a tag stands for. */
void yaml_resolve(struct str text, struct yaml_scalar *ret);

/* "!!str", "!!int", …: the tag that a kind goes by. */
const char *yaml_kind_tag(enum yaml_kind kind);

/* True when a string must be quoted to stay one. */
bool yaml_is_ambiguous(struct str text);

/* As much of a text as a message should show. */
struct str yaml_excerpt(struct str text);

#define YAML_KEY_BYTES_MAX 40
/* A number as a mapping key: integers in decimal, floats in the fewest digits that a 32-bit float needs. */
void yaml_number_key(const struct yaml_scalar *s, char ret[static YAML_KEY_BYTES_MAX]);

/* --- Building: one document at a time, from events in the order of the text --- */

/* A place in the text, from 1; line 0 is nowhere. */
struct yaml_at {
    uint32_t line;
    uint32_t column;
};

/* A container that is still open. */
struct yaml_frame {
    json_ref node;
    bool is_map;
    bool merges;    /* the key was `<<` */
    struct str key; /* of the member whose value comes next; s is NULL while a key is due */
    struct yaml_at key_at;
    struct str anchor; /* s is NULL without */
    uint32_t below;    /* levels of containers inside */
    size_t bytes_before;
};

struct yaml_anchor {
    struct str name;
    json_ref node;
    uint32_t nodes; /* what a copy costs; 0 while the value is still open */
    uint32_t height;
    size_t bytes;
};

struct yaml_builder {
    struct json *doc;
    json_ref root;
    json_ref first; /* the document's nodes start here; nobody else adds any meanwhile */
    uint32_t line;
    VEC(struct yaml_at) marks;       /* of the members that stand in the text, by reference minus first */
    VEC(struct yaml_anchor) anchors; /* sorted by name */
    size_t bytes;                    /* the document's size with its aliases written out */
    uint32_t own_nodes;
    uint64_t alias_nodes;
    uint32_t depth;
    struct yaml_frame frames[YAML_DEPTH_MAX];
};

/* Forgets the document before. */
void yaml_build_start(struct yaml_builder *b, struct json *d);
void yaml_build_done(struct yaml_builder *b);
/* Without an anchor its name is NULL. */
int yaml_build_scalar(struct yaml_builder *b, const struct yaml_scalar *s, const char *anchor,
                      struct yaml_at at, struct error *err);
int yaml_build_open(struct yaml_builder *b, enum json_type type, const char *anchor, struct yaml_at at,
                    struct error *err);
int yaml_build_close(struct yaml_builder *b, struct error *err);
int yaml_build_alias(struct yaml_builder *b, const char *name, struct yaml_at at, struct error *err);

/* Sets an error that names the place and the field under construction. */
int yaml_refuse(const struct yaml_builder *b, enum err code, struct yaml_at at, struct error *err,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
