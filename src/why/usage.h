/* Usage of volumes as nodes report it: Berth's statistics (/stats/volumes), or else each node's kubelet
 * summary through the API. Numbers that a node does not report are UNKNOWN, never 0.
 *
 * A node that does not respond is recorded with the reason; the others are shown. */
#ifndef BERTH_WHY_USAGE_H
#define BERTH_WHY_USAGE_H

#include "base/arena.h"
#include "base/vec.h"
#include "why/inventory.h"

#define USAGE_UNKNOWN (-1)

/* One volume of one pod. Texts are never NULL. */
struct volume_usage {
    const char *ns;
    const char *pod;
    const char *volume; /* name in the pod */
    const char *plugin; /* "" for a kubelet */
    const char *path;   /* "" for a kubelet */
    const char *node;
    const char *claim_ns; /* "" without a claim */
    const char *claim;
    const char *error; /* why there are no numbers; "" */
    int64_t capacity;
    int64_t used;
    int64_t available;
    int64_t inodes;
    int64_t inodes_used;
    int64_t inodes_free;
};

/* Usage of a claim that is not mounted: all unknown. */
extern const struct volume_usage usage_none;

struct silent_node {
    const char *name;
    const char *why;
};

/* USAGES_INIT before first use. */
struct usages {
    struct arena texts;
    VEC(struct volume_usage) items; /* by namespace, pod and volume, once loaded */
    VEC(struct silent_node) silent;
};

#define USAGES_INIT ((struct usages){ .texts = ARENA_INIT(INVENTORY_BYTES_MAX) })

void usages_done(struct usages *u);

static inline void usages_done_p(struct usages *u)
{
    usages_done(u);
}

/* Adds the contents of one response, of either form; *ret_node is the node that it names, or "". */
int usages_read(struct usages *u, struct str text, const char **ret_node, struct error *err);
void usages_sort(struct usages *u);
/* Records that a node did not respond, and why. */
int usages_add_silent(struct usages *u, const char *node, struct str why, struct error *err);
/* Percentage, rounded up; USAGE_UNKNOWN when either is unknown. May exceed 100: some drivers count so. */
int64_t usage_percent(int64_t used, int64_t whole);
/* "512", "9.5Mi", "120Gi": two or three digits; "-" for unknown. */
void usage_write_bytes(int64_t bytes, struct buf *out);

#endif
