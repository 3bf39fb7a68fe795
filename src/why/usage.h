/* How full volumes are, as nodes say: Berth's own statistics (/stats/volumes), else each node's kubelet
 * summary through the API. Numbers that a node does not tell are UNKNOWN, never 0.
 *
 * A node that does not answer is remembered with the reason; the rest is shown. */
#ifndef BERTH_WHY_USAGE_H
#define BERTH_WHY_USAGE_H

#include "base/arena.h"
#include "base/vec.h"
#include "why/inventory.h"

#define USAGE_UNKNOWN (-1)

/* One volume of one pod. Texts are never NULL. */
struct usage {
    const char *ns;
    const char *pod;
    const char *volume; /* as the pod calls it */
    const char *plugin; /* "" from a kubelet */
    const char *path;   /* the same */
    const char *node;
    const char *claim_ns; /* "" when there is no claim behind it */
    const char *claim;
    const char *error; /* why there are no numbers; "" */
    int64_t capacity;
    int64_t used;
    int64_t available;
    int64_t inodes;
    int64_t inodes_used;
    int64_t inodes_free;
};

/* Of what nobody mounts: nothing is known. */
extern const struct usage usage_none;

struct silent_node {
    const char *name;
    const char *why;
};

/* USAGES_INIT before its first use. */
struct usages {
    struct arena texts;
    VEC(struct usage) items; /* by namespace, pod and volume, once it is loaded */
    VEC(struct silent_node) silent;
};

#define USAGES_INIT ((struct usages){ .texts = ARENA_INIT(INVENTORY_BYTES_MAX) })

void usages_done(struct usages *u);

static inline void usages_done_p(struct usages *u)
{
    usages_done(u);
}

/* Adds what one answer says, of either form; *ret_node is the node that says it, "" when it does not say. */
int usages_read(struct usages *u, struct str text, const char **ret_node, struct error *err);
void usages_sort(struct usages *u);
/* Remembers that a node did not answer, and why. */
int usages_add_silent(struct usages *u, const char *node, struct str why, struct error *err);
/* How much of the whole, rounded up; USAGE_UNKNOWN when either is not known. More than 100 is possible: a
 * driver may count so. */
int64_t usage_percent(int64_t used, int64_t whole);
/* "512", "9.5Mi", "120Gi": a quantity of two or three digits; "-" for what is not known. */
void usage_write_bytes(int64_t bytes, struct buf *out);

#endif
