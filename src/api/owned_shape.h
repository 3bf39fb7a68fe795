/* What has an owner of its own: how the schema divides a value into the places that sets of fields name.
 *
 * Scalars, lists without keys and types marked atomic are owned whole. Structs and maps divide into their
 * members, keyed lists and sets into their items. What the schema does not know divides as objects do, and
 * its lists are whole. */
#ifndef BERTH_API_OWNED_SHAPE_H
#define BERTH_API_OWNED_SHAPE_H

#include "api/json.h"
#include "api/schema.h"

enum owned_shape { OWNED_WHOLE, OWNED_STRUCT, OWNED_MAP, OWNED_KEYED, OWNED_SET };

struct owned_type {
    enum owned_shape shape;
    const struct schema *schema; /* of a struct; NULL: not known */
    const struct field *field;   /* of a map, keyed list or set */
};

static inline struct owned_type owned_type_of(const struct schema *s)
{
    return (struct owned_type){ .shape = OWNED_STRUCT, .schema = s };
}

/* Of a field's value; NULL: a field that the schema does not know. */
struct owned_type owned_field_type(const struct field *f);
/* Of a struct's or map's member, and its field (NULL: it has none). */
struct owned_type owned_member_type(struct owned_type t, struct str key, const struct field **ret_field);
/* Of a list's item. */
struct owned_type owned_item_type(struct owned_type t);

/* True when v divides: its type says so, and it is what its type says. */
bool owned_divides(const struct json *d, struct owned_type t, json_ref v);

/* A part of a value: its name is a member's key, or an item's whole path element (`k:{"name":"x"}`). */
struct owned_part {
    struct str name;
    json_ref v;
    uint32_t position; /* among all members or items */
};

#define OWNED_PARTS_FEW 16

/* Sorted by name, each name once: of items with the same keys the first counts. Items without their keys are
 * left out. */
struct owned_parts {
    struct owned_part few[OWNED_PARTS_FEW];
    struct owned_part *items; /* few, or malloc'd */
    uint32_t count;
    json_ref nameless; /* an item without its keys; 0: there is none */
    json_ref twin;     /* an item whose keys an earlier one has; 0: there is none */
};

/* The parts of a value that divides, or of its members from `from` on (0: all). Failures stick in the
 * document; then there are no parts. */
void owned_parts_init(struct json *d, struct owned_type t, json_ref v, json_ref from,
                      struct owned_parts *ret);
void owned_parts_done_p(struct owned_parts *p);
/* NULL when there is no such part. */
const struct owned_part *owned_parts_find(const struct owned_parts *p, struct str name);

/* Compares a set's path element with a part's name. */
int owned_part_cmp(struct str element, struct owned_type t, const struct owned_part *part);

#endif
