/* Schemas: what fields a kind has, as tables.
 *
 * One table a Go struct of Kubernetes' API. The same tables serve to check types on the way in, to find
 * unknown and duplicate fields, to bring objects into one canonical form, to tell the strategic merge patch
 * how lists merge, to tell field ownership what has an owner of its own, and to read protobuf.
 *
 * Canonical form: known fields in the table's order, then unknown ones in the order they came; keys of maps
 * sorted; nulls gone; empty optional fields gone; quantities and times in their canonical text. Two objects
 * with the same contents have the same text, so equality is memcmp(), and a second pass changes nothing. */
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
    FIELD_LIST,   /* of .item; .sub when those are objects */
    FIELD_MAP,    /* from strings to .item; FIELD_LIST there is one of strings */
    FIELD_ANY,    /* whatever JSON it is, kept as it is */
    FIELD_TYPE_COUNT,
};

enum {
    FIELD_POINTER = 1 << 0, /* an optional scalar for which empty and absent differ: "" 0 false are kept */
    FIELD_ALWAYS =
        1 << 1, /* a plain value that is written even when empty: {} for objects, "" 0 false for scalars */
    FIELD_SET = 1 << 2,         /* strategic merge: a list of scalars that merges as a set */
    FIELD_RETAIN_KEYS = 1 << 3, /* strategic merge: the patch's $retainKeys prune the merged item */
    FIELD_DROPPED = 1 << 4,     /* accepted on input and never stored */
    FIELD_ATOMIC = 1 << 5,      /* ownership: a list or map that one manager owns whole */
    FIELD_GRANULAR = 1 << 6,    /* ownership: field by field here, although its type is owned whole */
    FIELD_OWNED_SET = 1 << 7,   /* ownership: a list of scalars with an owner each */
};

struct schema;

/* Small on purpose: there are more than a thousand, and what has pointers is written when the program is
 * loaded. */
struct field {
    const char *name;
    enum field_type type : 8;
    enum field_type item : 8;
    uint8_t flags;
    /* Protobuf: the field's number in the kind's message; 0 for what is never sent so. A struct that Go
     * embeds is a message of its own there: within is the number of that message, 0 for the object's own
     * fields. */
    uint8_t number;
    uint8_t within;
    const struct schema *sub;
    const char *merge_key; /* strategic merge: the key that tells the items of a list apart */
    /* ownership: the keys, where they are others than merge_key: sorted, a blank between them, "=" and what
     * it defaults to behind one that may be left out */
    const char *owned_keys;
    const char
        *go_type; /* of the value, or of a list's items, where it is no plain string: for error texts */
};

/* In a field's row, for the type: a list of such objects. */
#define LIST_OF(schema) FIELD_LIST, .item = FIELD_OBJECT, .sub = &(schema)

struct schema {
    const char *go_name; /* "PersistentVolumeSpec" */
    const struct field *fields;
    uint16_t fields_count;
    bool open;   /* Berth knows only some of the fields: the others are kept and never reported */
    bool atomic; /* ownership: a value of this type has its owner as a whole */
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

/* What strict decoding objects to, in the order of the text: `unknown field "spec.foo"`, `duplicate field
 * "a.b"`. A key that comes several times is told once, where it comes the second time. Paths are quoted as
 * Go quotes, and cut when they are very long. */
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

/* The line behind `line` (NULL: the first), or NULL. */
const char *field_report_next(const struct field_report *r, const char *line);

enum schema_unknown { SCHEMA_KEEP_UNKNOWN, SCHEMA_DROP_UNKNOWN };

/* Checks the types of v's known fields and brings v into canonical form, in place. Unknown fields of closed
 * schemas and duplicate fields are added to report when it is not NULL. On an error v is left half-way and
 * must be thrown away; the message is worded as Kubernetes' decoder words it, without a prefix. */
int schema_normalize(const struct schema *s, struct json *d, json_ref v, enum schema_unknown unknown,
                     struct field_report *report, struct error *err);

/* True when v is as schema_normalize() left it, and it met no unknown field that it kept. */
bool schema_is_normalized(const struct json *d, json_ref v);

/* The same for the body of a server-side apply, which says what its sender wants to own: nothing is added,
 * and what is empty stays. */
int schema_normalize_applied(const struct schema *s, struct json *d, json_ref v, enum schema_unknown unknown,
                             struct field_report *report, struct error *err);

#endif
