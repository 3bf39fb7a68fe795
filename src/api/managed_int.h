/* The entries of managedFields during a write, for managed_fields.c and apply.c; and the two steps of an
 * apply that change the object. */
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
    json_ref meta; /* of the object that gets the entries */
    VEC(struct managed_entry) entries;
};

static inline void managed_done_p(struct managed *m)
{
    vec_done(&m->entries);
}

struct owned_scope managed_scope(const struct managed_write *w);

#define MANAGED_UPDATE STR_LIT("Update")
#define MANAGED_APPLY STR_LIT("Apply")
/* Further entries are not read. Enough for all appliers, and for updates that are about to be merged. */
#define MANAGED_ENTRIES_MAX 128

/* Reads the entries of a list in m's object. Positive: they are read; 0: the list is empty or invalid, and
 * there are no entries. Entries with other versions or without fields are left out. */
int managed_read(struct managed *m, json_ref list, struct error *err);
/* The entry of the writing manager; NULL: none. */
struct managed_entry *managed_find(struct managed *m, struct str operation);
/* Adds an entry for it with the current time. Fails if there are too many appliers. */
int managed_add(struct managed *m, struct str operation, json_ref fields, struct error *err);
/* Sets the entry's time to now. */
void managed_touch(struct managed *m, struct managed_entry *e);
/* Removes the two sets from every entry except `except` (NULL: none); 0 is an empty set. */
void managed_lose(struct managed *m, const struct managed_entry *except, json_ref set, json_ref gone);
/* Drops empty entries, sorts the others and stores them in the object. */
int managed_store(struct managed *m, struct error *err);

/* Merges a body into an object and moves its values. Failures are kept in the document. */
void apply_body(struct json *d, const struct schema *s, json_ref target, json_ref body);

/* Removes from the object what is in the set `last` and not in `managed`, the fields of all managers. A
 * struct is removed if no field in it is owned any more. */
void apply_prune(struct json *d, const struct owned_scope *s, json_ref object, json_ref last,
                 json_ref managed);

#endif
