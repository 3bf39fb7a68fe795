/* Schemas: the fields of the kinds, as tables.
 *
 * There is one table per Go struct of Kubernetes' API. The tables are used to check types, to find unknown
 * and duplicate fields, to compute the canonical form, to merge lists in strategic merge patches, to
 * determine field ownership, and to decode protobuf.
 *
 * Canonical form: known fields in the order of the table, then unknown ones in their original order; map keys
 * sorted; no nulls; no empty optional fields; quantities and times in their canonical text. Two objects with
 * equal contents have the same text, so that equality is memcmp(), and normalizing again changes nothing. */
#ifndef BERTH_API_SCHEMA_H
#define BERTH_API_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

enum field_type {
    FIELD_STRING,
    FIELD_BOOL,
    FIELD_INT32,
    FIELD_INT64,
    FIELD_QUANTITY,
    FIELD_TIME,       /* whole seconds */
    FIELD_MICRO_TIME, /* six digits */
    FIELD_BYTES,      /* base64 */
    FIELD_INT_OR_STRING,
    FIELD_OBJECT, /* .sub */
    FIELD_LIST,   /* of .item; .sub if those are objects */
    FIELD_MAP,    /* from strings to .item; FIELD_LIST there is one of strings */
    FIELD_ANY,    /* any JSON, kept unchanged */
    FIELD_TYPE_COUNT,
};

enum {
    FIELD_POINTER = 1 << 0,     /* optional scalar for which empty and absent differ: "" 0 false are kept */
    FIELD_ALWAYS = 1 << 1,      /* always written, even if empty: {} for objects, "" 0 false for scalars */
    FIELD_SET = 1 << 2,         /* strategic merge: a list of scalars that is merged as a set */
    FIELD_RETAIN_KEYS = 1 << 3, /* strategic merge: the patch's $retainKeys prune the merged item */
    FIELD_DROPPED = 1 << 4,     /* accepted on input and never stored */
    FIELD_ATOMIC = 1 << 5,      /* ownership: a list or map with one owner */
    FIELD_GRANULAR = 1 << 6,    /* ownership: per field here, although its type is atomic */
    FIELD_OWNED_SET = 1 << 7,   /* ownership: a list of scalars with one owner per item */
};

struct schema;

/* Kept small: there are more than a thousand, and tables with pointers are relocated at program start. */
struct field {
    const char *name;
    enum field_type type : 8;
    enum field_type item : 8;
    uint8_t flags;
    /* Protobuf: the field's number in the kind's message; 0: never sent. An embedded Go struct is a separate
     * message: within is the number of that message, 0 for the object's own fields. */
    uint8_t number;
    uint8_t within;
    const struct schema *sub;
    const char *merge_key; /* strategic merge: the key that identifies the items of a list */
    /* ownership: the keys, if they differ from merge_key: sorted, separated by spaces; "=" and a default
     * value after an optional key */
    const char *owned_keys;
    const char *go_type; /* for error texts: type of the value or of the items, if not string */
};

/* For a field's row: a list of such objects. */
#define LIST_OF(schema) FIELD_LIST, .item = FIELD_OBJECT, .sub = &(schema)

struct schema {
    const char *go_name; /* "PersistentVolumeSpec" */
    const struct field *fields;
    uint16_t fields_count;
    bool open;   /* Berth knows only some of the fields: others are kept and never reported */
    bool atomic; /* ownership: a value of this type has one owner */
};

/* clang-format off */
#define SCHEMA_WITH(go_name_, table, open_, atomic_) { go_name_, table, ARRAY_LEN(table), open_, atomic_ }
/* clang-format on */
#define SCHEMA(go_name, table) SCHEMA_WITH(go_name, table, false, false)
#define SCHEMA_OPEN(go_name, table) SCHEMA_WITH(go_name, table, true, false)
#define SCHEMA_ATOMIC(go_name, table) SCHEMA_WITH(go_name, table, false, true)
#define SCHEMA_OPEN_ATOMIC(go_name, table) SCHEMA_WITH(go_name, table, true, true)

/* The field of that name, or NULL. */
const struct field *schema_field(const struct schema *s, struct str name);

/* Findings of strict decoding, in the order of the text: `unknown field "spec.foo"`, `duplicate field "a.b"`.
 * A repeated key is reported once, at its second occurrence. Paths are quoted as in Go, and truncated if they
 * are very long. */
struct field_report {
    struct buf lines; /* each ends with a NUL */
    uint32_t count;
};

#define FIELD_REPORT_COUNT_MAX 100
#define FIELD_REPORT_INIT ((struct field_report){ .lines = { .len_max = (size_t)64 << 10 } })

static inline void field_report_done_p(struct field_report *r)
{
    buf_done(&r->lines);
}

/* The line after `line` (NULL: the first), or NULL. */
const char *field_report_next(const struct field_report *r, const char *line);

enum schema_unknown { SCHEMA_KEEP_UNKNOWN, SCHEMA_DROP_UNKNOWN };

/* Checks the types of v's known fields and normalizes v, in place. Unknown fields of closed schemas and
 * duplicate fields are added to report, unless it is NULL. After an error v is incomplete and must be
 * discarded; the message is that of Kubernetes' decoder, without a prefix. */
int schema_normalize(const struct schema *s, struct json *d, json_ref v, enum schema_unknown unknown,
                     struct field_report *report, struct error *err);

/* True if v is unchanged since schema_normalize(), which found no unknown field that it kept. */
bool schema_is_normalized(const struct json *d, json_ref v);

/* The same for the body of a server-side apply, which declares what its sender owns: nothing is added, and
 * empty values are kept. */
int schema_normalize_applied(const struct schema *s, struct json *d, json_ref v, enum schema_unknown unknown,
                             struct field_report *report, struct error *err);

#endif
