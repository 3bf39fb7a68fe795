/* Cleanup of local variables on scope exit, and a few macros that every file uses.
 *
 * A cleanup variable starts as NULL (or -1) and is released on every way out of its scope. TAKE() on the last
 * line passes the value to the caller. */
#ifndef BERTH_BASE_CLEANUP_H
#define BERTH_BASE_CLEANUP_H

#include <stddef.h>
#include <stdlib.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Defines release_p(), fit for _cleanup_(), from a destructor that takes NULL and returns NULL. */
#define DEFINE_CLEANUP(type, release)        \
    static inline void release##_p(type **p) \
    {                                        \
        *p = release(*p);                    \
    }

/* The value of p; p itself is NULL afterwards. */
#define TAKE(p)                     \
    __extension__({                 \
        __typeof__(p) taken_ = (p); \
        (p) = NULL;                 \
        taken_;                     \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof *(a))

/* The struct that holds *member_ptr as its member. */
#define CONTAINER_OF(member_ptr, type, member) ((type *)(void *)((char *)(member_ptr)-offsetof(type, member)))

/* For _cleanup_ on memory that came from malloc: `_cleanup_(freep) char *s = NULL;`. */
static inline void freep(void *p)
{
    free(*(void **)p);
}

#endif
