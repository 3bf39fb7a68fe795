/* Shared by the files of the index: the entry of a volume, and the places where it can be found.
 *
 * An entry is in one place at a time. A hold has precedence: a held volume is listed for the claim that holds
 * it, whatever its claimRef says. Otherwise a volume with a claimRef is listed for that claim, a free one is
 * in a bucket, and any other is in none. In an index by node a free volume that is tied to label values of
 * nodes is in the node buckets of these values instead. */
#ifndef BERTH_VOLUMES_INDEX_INT_H
#define BERTH_VOLUMES_INDEX_INT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/omap.h"
#include "base/vec.h"
#include "volumes/match.h"

/* Two names of one object and a few separator bytes. */
#define INDEX_KEY_BYTES_MAX (OBJECT_MEMORY_BYTES_MAX + 16)

/* Sets of access modes, in search order: fewest first, then by their bits. */
#define GROUPS_COUNT 16U

enum index_place { PLACE_NONE, PLACE_BUCKET, PLACE_NODES, PLACE_LIST };

struct claim_list;
struct volume_bucket;
struct volume_ties;

struct volume_entry {
    struct object *object; /* a volume */
    union {
        struct volume_bucket *bucket;
        struct volume_ties *ties;
        struct claim_list *list;
    } in;
    struct volume_entry *next, *prev; /* in the list */
    uint8_t place;                    /* enum index_place */
    bool is_held;                     /* for the uid that is the key of its list */
    bool is_expected;                 /* counts as Available */
};
static_assert(sizeof(struct volume_entry) <= 40, "one is allocated per volume");

/* Without the check of volume_of(), which would read one more cache line of a volume that is usually not
 * cached. */
static inline const struct volume *entry_volume(const struct volume_entry *e)
{
    return (const struct volume *)(const void *)e->object;
}

/* --- Keys of the maps --- */

/* Keys of this length are written without an allocation; longer ones need names that no server accepts. */
#define INDEX_KEY_ROOM 512

struct index_key {
    struct buf text;
    char room[INDEX_KEY_ROOM];
};

static inline void index_key_begin(struct index_key *k, size_t len)
{
    k->text = len < sizeof k->room ? BUF_ON(k->room, sizeof k->room) : BUF_INIT(INDEX_KEY_BYTES_MAX);
}

static inline void index_key_done(struct index_key *k)
{
    if (k->text.data != k->room)
        buf_done(&k->text);
}

/* --- Free volumes --- */

/* All free volumes of one class, volume mode and attributes class; in each group by size, then by name. */
struct volume_bucket {
    struct omap groups[GROUPS_COUNT];
    size_t count;         /* of volumes, over all groups and node buckets */
    size_t inexact_count; /* of those whose rank is not their exact size */
    size_t pinned_count;  /* of those with node affinity */
    VEC(char *) labels;   /* keys by which its volumes are tied, usually one; freed with the bucket */
    uint64_t id;          /* never reused for another bucket */
    size_t key_len;
    char key[];
};

struct volume_buckets {
    struct map by_key;
    struct map by_node; /* node buckets */
    size_t count;       /* of volumes */
    uint64_t last_id;
    bool is_by_node;
};

extern const struct omap_order volumes_by_size_and_name;

void buckets_init(struct volume_buckets *s, struct hash_seed seed, bool is_by_node);
/* The buckets must be empty. */
void buckets_done(struct volume_buckets *s);

/* Has no claim and is not being deleted: free once it is, or counts as, Available. */
bool volume_is_unclaimed(const struct volume *v);
/* Both are free and belong at the same position of the same bucket. */
bool volume_bucket_is_same(const struct volume *a, const struct volume *b);

/* Puts a free volume into its bucket, or into node buckets. -ERR_NO_MEMORY changes nothing. */
int buckets_put_entry(struct volume_buckets *s, struct volume_entry *e);
/* The entry is in a bucket or in node buckets. */
void buckets_remove_entry(struct volume_buckets *s, struct volume_entry *e);
/* Called before the entry gets this volume, which keeps its position. */
void buckets_exchange_volume(struct volume_entry *e, const struct volume *v);

/* The bucket for the claim; *ret is NULL when there is none. */
int buckets_get_for_claim(const struct volume_buckets *s, const struct claim *c,
                          const struct volume_bucket **ret);
/* The best free volume in the groups before `groups_end`; NULL when there is none. Reads awaits_class of the
 * options. */
const struct volume *bucket_find_volume(const struct volume_bucket *bucket, const struct claim *c,
                                        const struct match_options *o, unsigned groups_end);

/* Position of the group of the volume's access modes in the search order. */
unsigned volume_group(const struct volume *v);
/* The group has all the modes that the claim requests. */
bool group_suits(unsigned group, const struct claim *c);

/* --- Free volumes by the nodes that can reach them --- */

/* Every node that can reach the volume has one of a few label values that its node affinity names. */
bool volume_is_tied(const struct volume *v);
/* Puts a tied volume of the bucket into the node buckets of its values. -ERR_NO_MEMORY changes nothing. */
int node_buckets_put_entry(struct volume_buckets *s, struct volume_bucket *bucket, struct volume_entry *e);
/* Returns the bucket. */
struct volume_bucket *node_buckets_remove_entry(struct volume_buckets *s, struct volume_entry *e);

/* --- Volumes that belong to a claim, are reserved for it or held for it --- */

/* Unordered. The key is the claim's uid, or "namespace/name" if the volume's claimRef has no uid. */
struct claim_list {
    struct volume_entry *head;
    size_t key_len;
    char key[];
};

struct claim_lists {
    struct map by_key;
    struct claim_list *unplaced; /* entries for which there was no memory; in no map */
};

int claim_lists_init(struct claim_lists *l, struct hash_seed seed);
/* The lists must be empty. */
void claim_lists_done(struct claim_lists *l);

/* The list is the one for a volume with this claimRef. */
bool claim_list_is_for(const struct claim_list *list, const struct claim_ref *ref);

/* Lists the entry for the claim of the volume's claimRef. -ERR_NO_MEMORY changes nothing. */
int claim_lists_put_entry(struct claim_lists *l, struct volume_entry *e);
/* Moves the entry from a bucket or a list to the list of the key. -ERR_NO_MEMORY changes nothing. */
int claim_lists_move_entry(struct claim_lists *l, struct volume_buckets *s, struct volume_entry *e,
                           struct str key);
void claim_lists_put_unplaced(struct claim_lists *l, struct volume_entry *e);
void claim_lists_remove_entry(struct claim_lists *l, struct volume_entry *e);

/* --- The index; defined here because tests make its maps run out of memory --- */

struct volume_index {
    struct map by_name;
    struct volume_buckets buckets;
    struct claim_lists lists;
    size_t with_modes[GROUPS_COUNT]; /* volumes in each group, in any place */
    uint64_t changes;                /* calls that may have changed any of it */
};

#endif
