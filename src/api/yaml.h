/* YAML documents, read into and written from the trees of api/json.h. libyaml does the parsing and emitting.
 *
 * A manifest has the same meaning as for kubectl, which reads YAML 1.1 with go-yaml v2 and converts it to
 * JSON. The rules for plain scalars are in yaml_scalar.c. Mapping keys become strings (`1: x` has the key
 * "1"), `<<` merges, timestamps stay strings, `!!binary` is decoded, unknown tags are ignored. Where kubectl
 * silently loses data the file is rejected: a duplicate key, `!!binary` that is not UTF-8.
 *
 * Numbers keep their digits if they are JSON numbers (`1.50`, `12345678901234567890`); others become JSON
 * numbers with the same value (`.5` is 0.5, `0x1F` is 31).
 *
 * Everything is bounded, and linear in the text: nesting by YAML_DEPTH_MAX, the size of a document with
 * expanded aliases by the bytes_max of its struct json, the expansion of aliases by YAML_ALIAS_NODES_MAX and
 * YAML_ALIAS_RATIO_MAX. */
#ifndef BERTH_API_YAML_H
#define BERTH_API_YAML_H

#include <stdint.h>

#include "api/json.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define YAML_DEPTH_MAX 1000
#define YAML_ANCHORS_MAX 4096
#define YAML_ALIAS_NODES_MAX 400000
/* Maximum ratio of values from aliases to written values, in documents with more than a thousand. */
#define YAML_ALIAS_RATIO_MAX 100

struct yaml_reader;

struct yaml_doc {
    json_ref root;
    uint32_t line; /* line of the document's first value, from 1 */
};

/* Reads the documents of one text, which must outlive the reader. A text that is one JSON value is parsed by
 * json_parse(), because JSON escapes differ from YAML's. */
int yaml_reader_new(struct str text, struct yaml_reader **ret, struct error *err);
struct yaml_reader *yaml_reader_free(struct yaml_reader *r);

/* Adds the tree of the next document that is not empty. Returns 1, or 0 at the end. Errors contain the line,
 * the column and, if known, the field: "line 3, column 5, in spec.capacity: ...". After an error the reader
 * can only be freed. */
int yaml_reader_next(struct yaml_reader *r, struct json *d, struct yaml_doc *ret, struct error *err);

/* Exactly one document: a text with none or several is rejected. yaml_or_json_parse() also accepts JSON, like
 * the reader. */
int yaml_parse(struct json *d, struct str text, json_ref *ret, struct error *err);
int yaml_or_json_parse(struct json *d, struct str text, json_ref *ret, struct error *err);

/* Appends v as one document in block style, as `kubectl get -o yaml` prints it, ending with a newline.
 * Members are written in the tree's order: call yaml_sort() first for kubectl's. After a failure out is
 * incomplete. */
int yaml_write(const struct json *d, json_ref v, struct buf *out, struct error *err);

/* Sorts the members of every object below v as kubectl does: signs before digits before letters, numbers by
 * their value. (kubectl's order is not transitive where digits meet letters: a10 < a1b < a2 < a10. Here a1b <
 * a2 < a10.) */
void yaml_sort(struct json *d, json_ref v);

static inline void yaml_reader_free_p(struct yaml_reader **r)
{
    *r = yaml_reader_free(*r);
}

#endif
