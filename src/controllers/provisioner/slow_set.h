/* Claims whose provisioning has failed for good with their class: they are not tried again for a while, until
 * the class of that name is another object.
 *
 * An entry is dropped when its time is over, with its claim, or with its class. Every operation is O(1), but
 * slow_set_release() visits all entries. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_SLOW_SET_H
#define BERTH_CONTROLLERS_PROVISIONER_SLOW_SET_H

#include "api/object.h"
#include "base/map.h"

struct slow_set {
    struct map claims; /* by uid */
};

void slow_set_init(struct slow_set *s, struct hash_seed seed);
void slow_set_done(struct slow_set *s);

/* Without memory the claim is tried again at the next change. */
void slow_set_put(struct slow_set *s, const struct object *claim, const struct object *class,
                  uint64_t until_ns);
void slow_set_drop(struct slow_set *s, const char *claim_uid);
/* Until when the claim is not tried with this class; 0: it may be tried now, and has no entry. */
uint64_t slow_set_until_ns(struct slow_set *s, const struct object *claim, const struct object *class,
                           uint64_t now_ns);
/* Drops the claims of an earlier class of this name, and calls fn for each: they are tried again. fn must not
 * change the set. */
void slow_set_release(struct slow_set *s, const struct object *class,
                      void (*fn)(void *ctx, const struct object *claim), void *ctx);

#endif
