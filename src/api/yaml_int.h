/* The meaning of YAML scalars, and the builder of trees, for yaml*.c. */
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
    YAML_KIND_NOT_FINITE, /* .inf, -.inf, .nan: not representable in JSON */
    YAML_KIND_TIMESTAMP,  /* read as a string, written in quotes */
    YAML_KIND_COUNT,
};

struct yaml_scalar {
    enum yaml_kind kind;
    bool truth;                             /* of a boolean */
    bool merges;                            /* as a key: the members of its value are merged */
    struct str text;                        /* of a string */
    char number[JSON_NUMBER_BYTES_MAX + 1]; /* a JSON literal; ".inf", "-.inf" or ".nan" when not finite */
};

/* The value of a plain scalar without a tag. */
void yaml_resolve(struct str text, struct yaml_scalar *ret);

/* "!!str", "!!int", …: the tag of a kind. */
const char *yaml_kind_tag(enum yaml_kind kind);

/* True if a string must be quoted to stay a string. */
bool yaml_is_ambiguous(struct str text);

/* A part of a text for a message. */
struct str yaml_excerpt(struct str text);

#define YAML_KEY_BYTES_MAX 40
/* A number as a mapping key: integers in decimal, floats with the fewest digits that identify a 32-bit float.
 */
void yaml_number_key(const struct yaml_scalar *s, char ret[static YAML_KEY_BYTES_MAX]);

/* --- Building: one document at a time, from events in the order of the text --- */

/* A position in the text, from 1; line 0: none. */
struct yaml_at {
    uint32_t line;
    uint32_t column;
};

/* An open container. */
struct yaml_frame {
    json_ref node;
    bool is_map;
    bool merges;    /* the key was `<<` */
    struct str key; /* of the member whose value follows; s is NULL if a key is expected */
    struct yaml_at key_at;
    struct str anchor; /* s is NULL for none */
    uint32_t below;    /* levels of containers inside */
    size_t bytes_before;
};

struct yaml_anchor {
    struct str name;
    json_ref node;
    uint32_t nodes; /* cost of a copy; 0 while the value is open */
    uint32_t height;
    size_t bytes;
};

struct yaml_builder {
    struct json *doc;
    json_ref root;
    json_ref first; /* first node of the document; nothing else is added meanwhile */
    uint32_t line;
    VEC(struct yaml_at) marks;       /* positions of the members in the text, by reference minus first */
    VEC(struct yaml_anchor) anchors; /* sorted by name */
    size_t bytes;                    /* size of the document with expanded aliases */
    uint32_t own_nodes;
    uint64_t alias_nodes;
    uint32_t depth;
    struct yaml_frame frames[YAML_DEPTH_MAX];
};

/* Drops the previous document. */
void yaml_build_start(struct yaml_builder *b, struct json *d);
void yaml_build_done(struct yaml_builder *b);
/* anchor: NULL for none. */
int yaml_build_scalar(struct yaml_builder *b, const struct yaml_scalar *s, const char *anchor,
                      struct yaml_at at, struct error *err);
int yaml_build_open(struct yaml_builder *b, enum json_type type, const char *anchor, struct yaml_at at,
                    struct error *err);
int yaml_build_close(struct yaml_builder *b, struct error *err);
int yaml_build_alias(struct yaml_builder *b, const char *name, struct yaml_at at, struct error *err);

/* Sets an error with the position and the current field. */
int yaml_refuse(const struct yaml_builder *b, enum err code, struct yaml_at at, struct error *err,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
