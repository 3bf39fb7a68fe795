/* YAML documents, read into and written from the trees of api/json.h. Parsing and emitting are libyaml's.
 *
 * A manifest means here what it means to kubectl, which reads YAML 1.1 as go-yaml v2 understands it and turns
 * it into JSON. The rules for plain scalars are in yaml_scalar.c. Mapping keys become strings (`1: x` has the
 * key "1"), `<<` merges, timestamps stay strings, `!!binary` is decoded, tags that nobody knows are ignored.
 * Where kubectl lets a file pass and loses something, it is refused: a key set twice, `!!binary` that is not
 * UTF-8.
 *
 * Numbers keep their digits where they already are JSON numbers (`1.50`, `12345678901234567890`); other
 * spellings become JSON numbers of the same value (`.5` is 0.5, `0x1F` is 31).
 *
 * Everything is bounded, and linear in the text: nesting by YAML_DEPTH_MAX, a document's size with its
 * aliases written out by the bytes_max of the struct json that takes it, what aliases may add by
 * YAML_ALIAS_NODES_MAX and YAML_ALIAS_RATIO_MAX. */
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
/* Values that came from aliases for each value that was written out, in documents of more than a thousand. */
#define YAML_ALIAS_RATIO_MAX 100

struct yaml_reader;

struct yaml_doc {
    json_ref root;
    uint32_t line; /* of the text, from 1, on which the document's first value stands */
};

/* Reads the documents of one text, which must outlive the reader. A text that is one JSON value is read by
 * json_parse(): JSON is YAML, but a JSON reader knows its escapes better. */
int yaml_reader_new(struct str text, struct yaml_reader **ret, struct error *err);
struct yaml_reader *yaml_reader_free(struct yaml_reader *r);

/* Adds the tree of the next document that is not empty. Returns 1, or 0 when there is none left. Errors say
 * the line, the column and, where known, the field: "line 3, column 5, in spec.capacity: ...". After an error
 * the reader can only be freed. */
int yaml_reader_next(struct yaml_reader *r, struct json *d, struct yaml_doc *ret, struct error *err);

/* Exactly one document: a text with none or several is refused. yaml_or_json_parse() reads JSON as the reader
 * does. */
int yaml_parse(struct json *d, struct str text, json_ref *ret, struct error *err);
int yaml_or_json_parse(struct json *d, struct str text, json_ref *ret, struct error *err);

/* Appends v as one document in block style, as `kubectl get -o yaml` prints it, ending in a newline. Members
 * come in the tree's order: call yaml_sort() before for kubectl's. On failure out holds a part of it. */
int yaml_write(const struct json *d, json_ref v, struct buf *out, struct error *err);

/* Sorts the members of every object below v as kubectl does: signs before digits before letters, runs of
 * digits by their value. (kubectl's own order is not one where digits meet letters: a10 < a1b < a2 < a10.
 * Here a1b < a2 < a10.) */
void yaml_sort(struct json *d, json_ref v);

static inline void yaml_reader_free_p(struct yaml_reader **r)
{
    *r = yaml_reader_free(*r);
}

#endif
