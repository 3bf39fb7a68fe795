/* The entries of managedFields while a write works on them, for managed_fields.c and apply.c; and the two
 * steps of an apply that change the object. */
#ifndef BERTH_API_MANAGED_INT_H
#define BERTH_API_MANAGED_INT_H

#include "api/managed_fields.h"
#include "api/owned_diff.h"
#include "base/vec.h"

struct managed_entry {
    json_ref node;   /* the entry */
    json_ref fields; /* its set, in canonical form; 0: none */
    struct str manager;
    struct str operation;
    struct str api_version;
    struct str time;
    struct str subresource;
};

struct managed {
    struct json *d;
    const struct managed_write *w;
    json_ref meta; /* of the object that the entries go to */
    VEC(struct managed_entry) entries;
};

static inline void managed_done_p(struct managed *m)
{
    vec_done(&m->entries);
}

struct owned_scope managed_scope(const struct managed_write *w);

#define MANAGED_UPDATE STR_LIT("Update")
#define MANAGED_APPLY STR_LIT("Apply")
/* More than this are not read. Room for all appliers, and for updates that are about to be merged. */
#define MANAGED_ENTRIES_MAX 128

/* Reads the entries of a list that belongs to m's object. Positive: they are there; 0: the list holds none,
 * or cannot be read, and there are none. Entries of other versions and without fields are left out. */
int managed_read(struct managed *m, json_ref list, struct error *err);
/* The entry of the manager that writes; NULL: it has none. */
struct managed_entry *managed_find(struct managed *m, struct str operation);
/* A new one for it, of now. Fails when there are too many appliers. */
int managed_add(struct managed *m, struct str operation, json_ref fields, struct error *err);
/* The entry's time becomes now. */
void managed_touch(struct managed *m, struct managed_entry *e);
/* Every entry but `except` (NULL: none) loses the two sets; 0 is an empty one. */
void managed_lose(struct managed *m, const struct managed_entry *except, json_ref set, json_ref gone);
/* Drops entries without fields, sorts the rest and puts them into the object. */
int managed_store(struct managed *m, struct error *err);

/* Merges a body into an object. Its values move over. Failures stick in the document. */
void apply_body(struct json *d, const struct schema *s, json_ref target, json_ref body);

/* Takes out of the object what is in the set `last` and not in `managed`, what all managers own now. A struct
 * goes when nobody owns anything in it any more. */
void apply_prune(struct json *d, const struct owned_scope *s, json_ref object, json_ref last,
                 json_ref managed);

#endif
