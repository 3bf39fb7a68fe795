/* Reference counting: the last holder to drop its reference frees the object.
 *
 *     struct volume *volume_unref(struct volume *v)
 *     {
 *         if (v && refcount_dec(&v->refs))
 *             volume_free(v);
 *         return NULL;
 *     }
 *
 * Atomic, since worker threads may hold objects. Taking a reference needs no memory order, because the caller
 * already holds one. Dropping one orders each holder's accesses before the free. */
#ifndef BERTH_BASE_REFCOUNT_H
#define BERTH_BASE_REFCOUNT_H

#include <assert.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Far from overflow even if every thread increments at once before one of them asserts. */
#define REFCOUNT_MAX (UINT_MAX / 2)

struct refcount {
    atomic_uint held;
};

/* One reference, held by the creator. */
static inline void refcount_init(struct refcount *r)
{
    atomic_init(&r->held, 1);
}

static inline void refcount_inc(struct refcount *r)
{
    unsigned before = atomic_fetch_add_explicit(&r->held, 1, memory_order_relaxed);

    assert(before > 0); /* a freed object must not be referenced again */
    assert(before < REFCOUNT_MAX);
}

/* True when this was the last reference: the caller frees the object. */
static inline bool refcount_dec(struct refcount *r)
{
    unsigned before = atomic_fetch_sub_explicit(&r->held, 1, memory_order_acq_rel);

    assert(before > 0);
    return before == 1;
}

#endif
