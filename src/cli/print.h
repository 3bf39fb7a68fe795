/* Prints objects in the forms of -o; tables are in print_table.h.
 *
 * Every form matches kubectl's byte for byte: members sorted, JSON indented by four blanks with Go's escapes,
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

/* A parsed -o. Zero it before use; call print_done() also after a failure. */
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

static inline bool print_is_table(const struct print *p)
{
    return p->form == PRINT_TABLE || p->form == PRINT_WIDE;
}

/* Objects in any form except tables. One object is printed as it is, several as one List. managedFields are
 * removed, unless requested. */
int print_objects(const struct print *p, struct json *d, const json_ref *objects, size_t count,
                  bool is_single, struct buf *out, struct error *err);

/* "persistentvolume/x", "storageclass.storage.k8s.io/x". */
void print_name(const struct kind_info *k, struct str name, struct buf *out);
/* Only the kind: "storageclass.storage.k8s.io". */
void print_kind(const struct kind_info *k, struct buf *out);

/* Sorts the members of every object at and below v, by bytes. */
void print_sort(struct json *d, json_ref v);
/* Both with Go's escapes: '<' is \u003c. */
void print_json_compact(const struct json *d, json_ref v, struct buf *out);
void print_json(const struct json *d, json_ref v, struct buf *out);
/* The same for a document that was just built: an error if that failed, or the output is too large. */
int print_json_checked(const struct json *d, json_ref v, struct buf *out, struct error *err);

/* Writes a text to standard output. */
void print_out(const struct buf *text);

#endif
