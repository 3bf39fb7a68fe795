/* How the schema divides a value into places with their own owners.
 *
 * Scalars, lists without keys and types marked atomic are owned as a whole. Structs and maps are divided into
 * members, keyed lists and sets into items. Values that the schema does not know are divided like objects;
 * their lists are whole. */
#ifndef BERTH_API_OWNED_SHAPE_H
#define BERTH_API_OWNED_SHAPE_H

#include "api/json.h"
#include "api/schema.h"

enum owned_shape { OWNED_WHOLE, OWNED_STRUCT, OWNED_MAP, OWNED_KEYED, OWNED_SET };

struct owned_type {
    enum owned_shape shape;
    const struct schema *schema; /* of a struct; NULL: unknown */
    const struct field *field;   /* of a map, keyed list or set */
};

static inline struct owned_type owned_type_of(const struct schema *s)
{
    return (struct owned_type){ .shape = OWNED_STRUCT, .schema = s };
}

/* The type of a field's value; NULL: a field that the schema does not know. */
struct owned_type owned_field_type(const struct field *f);
/* The type of a member of a struct or map, and its field (NULL: none). */
struct owned_type owned_member_type(struct owned_type t, struct str key, const struct field **ret_field);
/* The type of an item of a list. */
struct owned_type owned_item_type(struct owned_type t);

/* True if v is divided: according to its type, if the value has that type. */
bool owned_divides(const struct json *d, struct owned_type t, json_ref v);

/* A part of a value: its name is the key of a member, or the path element of an item (`k:{"name":"x"}`). */
struct owned_part {
    struct str name;
    json_ref v;
    uint32_t position; /* among all members or items */
};

#define OWNED_PARTS_FEW 16

/* Sorted by name, unique: the first of the items with the same keys. Items without their keys are left out.
 */
struct owned_parts {
    struct owned_part few[OWNED_PARTS_FEW];
    struct owned_part *items; /* inline if few, else allocated */
    uint32_t count;
    json_ref nameless;  /* an item without its keys; 0: none */
    json_ref duplicate; /* an item with the keys of an earlier one; 0: none */
};

/* The parts of a divided value, or of its members from `from` on (0: all). Failures are kept in the document;
 * then there are no parts. */
void owned_parts_init(struct json *d, struct owned_type t, json_ref v, json_ref from,
                      struct owned_parts *ret);
void owned_parts_done_p(struct owned_parts *p);
/* NULL if there is no such part. */
const struct owned_part *owned_parts_find(const struct owned_parts *p, struct str name);

/* Compares a path element of a set with the name of a part. */
int owned_part_cmp(struct str element, struct owned_type t, const struct owned_part *part);

#endif
