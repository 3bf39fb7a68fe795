/* What the parts of the index share: a volume's entry, and the places where it can be found.
 *
 * An entry is in one place at a time. A hold decides first: a held volume is listed for the claim that it was
 * promised to, whatever the volume itself says. Else a volume with a claimRef is listed for that claim, a
 * free one is on a shelf, and any other is nowhere. */
#ifndef BERTH_VOLUMES_INDEX_INT_H
#define BERTH_VOLUMES_INDEX_INT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/omap.h"
#include "volumes/match.h"

/* Two names out of one object and a few bytes between them. */
#define INDEX_KEY_BYTES_MAX (OBJECT_MEMORY_BYTES_MAX + 16)

/* Sets of access modes, in the order in which they are searched: fewest first, then by their bits. */
#define GROUPS_COUNT 16U

enum place { PLACE_NOWHERE, PLACE_SHELF, PLACE_LIST };

struct shelf;
struct list;

struct entry {
    struct object *object; /* a volume */
    union {
        struct shelf *shelf;
        struct list *list;
    } in;
    struct entry *next, *prev; /* in the list */
    uint8_t place;             /* enum place */
    bool is_held;              /* for the uid that its list has as its key */
    bool is_expected;          /* counts as Available */
};
static_assert(sizeof(struct entry) <= 40, "there are as many as volumes");

/* Without the check of volume_of(): that would read another line of a volume that is often in no cache. */
static inline const struct volume *entry_volume(const struct entry *e)
{
    return (const struct volume *)(const void *)e->object;
}

/* --- Free volumes --- */

/* All of one class, volume mode and attributes class; in each group by size, then by name. */
struct shelves {
    struct map by_key;
    size_t count; /* of volumes */
};

void shelves_init(struct shelves *s, struct hash_seed seed);
/* Of empty shelves none is left to release. */
void shelves_done(struct shelves *s);

/* No claim has it, and it is not being deleted; free once it is, or counts as, Available. */
bool volume_is_unclaimed(const struct volume *v);
/* Both free: at the same place on the same shelf. */
bool volume_shelf_is_same(const struct volume *a, const struct volume *b);

/* Puts a free volume on its shelf. -ERR_NO_MEMORY changes nothing. */
int shelves_put(struct shelves *s, struct entry *e);
void shelves_remove(struct shelves *s, struct entry *e);
/* The entry is about to have this volume at the same place. */
void shelves_exchange(struct entry *e, const struct volume *v);

/* The shelf where the claim looks; *ret NULL when there is none. */
int shelves_get(const struct shelves *s, const struct claim *c, const struct shelf **ret);
/* The best free volume in the groups before `groups_end`; NULL when there is none. Of the options
 * awaits_class counts. */
const struct volume *shelf_find(const struct shelf *shelf, const struct claim *c,
                                const struct match_options *o, unsigned groups_end);

/* Where the group of the volume's access modes comes in the order. */
unsigned volume_group(const struct volume *v);
/* The group has all the modes that the claim asks for. */
bool group_suits(unsigned group, const struct claim *c);

/* --- Volumes that belong to a claim, are kept for it or were promised to it --- */

/* In no order. The key is the claim's uid, or "namespace/name" where the volume says no uid. */
struct list {
    struct entry *head;
    size_t key_len;
    char key[];
};

struct lists {
    struct map by_key;
    struct list *strays; /* those that lack of memory kept from their places; in no map */
};

int lists_init(struct lists *l, struct hash_seed seed);
/* Of empty lists none is left to release but the strays'. */
void lists_done(struct lists *l);

/* The list is the one for a volume with this claimRef. */
bool list_is_for(const struct list *list, const struct claim_ref *ref);

/* Lists it for the claim that the volume names. -ERR_NO_MEMORY changes nothing. */
int lists_put(struct lists *l, struct entry *e);
/* Takes it from where it is, on a shelf or in a list, to the list of the key. -ERR_NO_MEMORY changes nothing.
 */
int lists_move(struct lists *l, struct shelves *s, struct entry *e, struct str key);
void lists_put_stray(struct lists *l, struct entry *e);
void lists_remove(struct lists *l, struct entry *e);

/* --- All of it: tests make its maps run out of memory --- */

struct volume_index {
    struct map by_name;
    struct shelves shelves;
    struct lists lists;
    size_t with_modes[GROUPS_COUNT]; /* volumes in each group, whatever their place */
};

#endif
