/* Objects on standard output, in the forms that -o names; the table has a file of its own (print_table.h).
 *
 * Every form is kubectl's to the byte: members sorted, JSON indented by four blanks with Go's escapes,
 * several objects as one List. */
#ifndef BERTH_CLI_PRINT_H
#define BERTH_CLI_PRINT_H

#include <stdbool.h>

#include "api/json.h"
#include "api/kind.h"
#include "base/buf.h"
#include "base/error.h"
#include "cli/columns.h"
#include "cli/jsonpath.h"

enum print_form {
    PRINT_TABLE,
    PRINT_WIDE,
    PRINT_YAML,
    PRINT_JSON,
    PRINT_NAME,
    PRINT_JSONPATH,
    PRINT_CUSTOM_COLUMNS,
};

#define PRINT_COLUMNS_MAX COLUMNS_CELLS_MAX

/* What -o asks for. Zeroed before; print_done() also after a failure. */
struct print {
    enum print_form form;
    bool keeps_managed_fields;
    bool has_no_headers;
    struct jsonpath *template; /* of PRINT_JSONPATH */
    /* Of PRINT_CUSTOM_COLUMNS: */
    size_t columns_count;
    struct str headers[PRINT_COLUMNS_MAX];
    struct jsonpath *paths[PRINT_COLUMNS_MAX];
};

/* text: NULL or "" for the table. It is borrowed. */
int print_init(struct print *p, const char *text, struct error *err);
void print_done(struct print *p);

static inline void print_done_p(struct print *p)
{
    print_done(p);
}

static inline bool print_is_table(const struct print *p)
{
    return p->form == PRINT_TABLE || p->form == PRINT_WIDE;
}

/* Prepares an object to be shown: a document has no managedFields, unless they are wanted. */
void print_prepare(const struct print *p, struct json *d, json_ref object);

/* Objects in any form but the tables. A single one is shown as it is, others as one List. */
int print_objects(const struct print *p, struct json *d, const json_ref *objects, size_t count,
                  bool is_single, struct buf *out, struct error *err);

/* "persistentvolume/x", "storageclass.storage.k8s.io/x". */
void print_name(const struct kind_info *k, struct str name, struct buf *out);
/* The kind alone: "storageclass.storage.k8s.io". */
void print_kind(const struct kind_info *k, struct buf *out);

/* Sorts the members of every object at and below v, bytewise. */
void print_sort(struct json *d, json_ref v);
/* Both with Go's escapes: '<' is \u003c. */
void print_json_compact(const struct json *d, json_ref v, struct buf *out);
void print_json(const struct json *d, json_ref v, struct buf *out);
/* The same of a document that was just built: where that failed, or the output is too large, an error. */
int print_json_checked(const struct json *d, json_ref v, struct buf *out, struct error *err);

/* Hands a text to standard output. */
void print_out(const struct buf *text);

#endif
