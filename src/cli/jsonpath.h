/* kubectl's template language for JSON: texts, and paths in braces.
 *
 *     {.items[*].metadata.name}                   all of them, a blank between two
 *     {range .items[*]}{.metadata.name}{"\n"}{end}
 *     {.spec.accessModes[-1:]} {..uid} {.a['b','c']} {.items[?(@.status.phase=="Bound")].metadata.name}
 *
 * `$` and `@` both stand for the object at hand, as in kubectl. A template may come from anybody: its length
 * and nesting are bounded, and so is what one evaluation may look at (JSONPATH_STEPS_MAX), since `..`
 * repeated visits a document over and over. */
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

/* Values that a path led to: of the document, or made up by a template's own literals. */
struct jsonpath_values {
    json_ref *items;
    size_t count;
    size_t cap;
};

/* A whole template. */
int jsonpath_parse(struct str text, struct jsonpath **ret, struct error *err);
/* A path alone, in any of the forms people write: "{.a.b}", ".a.b", "a.b". */
int jsonpath_parse_path(struct str text, struct jsonpath **ret, struct error *err);
struct jsonpath *jsonpath_free(struct jsonpath *p);
DEFINE_CLEANUP(struct jsonpath, jsonpath_free)

/* Appends the template filled in from v. What is not there is left out. */
int jsonpath_print(const struct jsonpath *p, struct json *d, json_ref v, struct buf *out, struct error *err);

/* Where a path leads; ret is emptied first. Of a template the first path counts. */
int jsonpath_find(const struct jsonpath *p, struct json *d, json_ref v, struct jsonpath_values *ret,
                  struct error *err);

/* A value as kubectl prints it in a template: a text as it is, a container as compact JSON. Members come in
 * the document's order: whoever wants kubectl's sorts it before. */
void jsonpath_write_value(const struct json *d, json_ref v, struct buf *out);

#endif
