/* kubectl's template language for JSON: texts, and paths in braces.
 *
 *     {.items[*].metadata.name}                   all of them, separated by blanks
 *     {range .items[*]}{.metadata.name}{"\n"}{end}
 *     {.spec.accessModes[-1:]} {..uid} {.a['b','c']} {.items[?(@.status.phase=="Bound")].metadata.name}
 *
 * `$` and `@` both mean the current object, as in kubectl. Templates are not trusted: their length and
 * nesting are bounded, and so is the number of values one evaluation may visit (JSONPATH_STEPS_MAX), since a
 * repeated `..` visits a document again and again. */
#ifndef BERTH_CLI_JSONPATH_H
#define BERTH_CLI_JSONPATH_H

#include "api/json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"

#define JSONPATH_BYTES_MAX ((size_t)64 << 10)
#define JSONPATH_DEPTH_MAX 32
#define JSONPATH_STEPS_MAX 50000000

struct jsonpath;

/* Values that a path matched: from the document, or literals of the template. */
struct jsonpath_values {
    json_ref *items;
    size_t count;
    size_t cap;
};

/* A whole template. */
int jsonpath_parse(struct str text, struct jsonpath **ret, struct error *err);
/* Only a path, in any of the usual forms: "{.a.b}", ".a.b", "a.b". */
int jsonpath_parse_path(struct str text, struct jsonpath **ret, struct error *err);
struct jsonpath *jsonpath_free(struct jsonpath *p);
DEFINE_CLEANUP(struct jsonpath, jsonpath_free)

/* Appends the template filled in from v. Missing values are left out. */
int jsonpath_print(const struct jsonpath *p, struct json *d, json_ref v, struct buf *out, struct error *err);

/* The values that a path matches; ret is cleared first. Of a template, the first path is used. */
int jsonpath_find(const struct jsonpath *p, struct json *d, json_ref v, struct jsonpath_values *ret,
                  struct error *err);

/* A value as kubectl prints it in a template: a text as it is, a container as compact JSON. Members keep the
 * document's order: sort them before for kubectl's order. */
void jsonpath_write_value(const struct json *d, json_ref v, struct buf *out);

#endif
