/* A growing array of any type.
 *
 *     struct plan { VEC(struct step) steps; };
 *     r = vec_push(&plan.steps, (struct step){ .kind = STEP_MOUNT });
 *     for (size_t i = 0; i < plan.steps.count; i++) run(&plan.steps.items[i]);
 *     vec_done(&plan.steps);
 *
 * All zeroes is an empty vector. Growth doubles, so a push costs O(1) over time and moves the items: a
 * pointer into the vector does not outlive the next addition. The vector owns its array, not what the items
 * point to. What may fail returns 0 or -ERR_NO_MEMORY and leaves the vector as it was. */
#ifndef BERTH_BASE_VEC_H
#define BERTH_BASE_VEC_H

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define VEC(type)     \
    struct {          \
        type *items;  \
        size_t count; \
        size_t cap;   \
    }

/* Makes room for `more` items behind the present ones. */
#define vec_reserve(v, more) vec_grow(&(v)->items, &(v)->cap, (v)->count, (more), sizeof *(v)->items)

/* Adds one item at the end. The item is evaluated only when there is room for it. */
#define vec_push(v, ...)                                      \
    __extension__({                                           \
        __auto_type push_to_ = (v);                           \
        int push_r_ = vec_reserve(push_to_, 1);               \
        if (push_r_ == 0)                                     \
            push_to_->items[push_to_->count++] = __VA_ARGS__; \
        push_r_;                                              \
    })

/* Inserts one item before the one at `index`; index == count appends. Moves the items after it: O(count). */
#define vec_insert(v, index, ...)                                                                   \
    __extension__({                                                                                 \
        __auto_type insert_to_ = (v);                                                               \
        size_t insert_at_ = (index);                                                                \
        int insert_r_ = vec_reserve(insert_to_, 1);                                                 \
        if (insert_r_ == 0) {                                                                       \
            __typeof__(*insert_to_->items) insert_item_ = __VA_ARGS__;                              \
            vec_open(insert_to_->items, &insert_to_->count, insert_at_, sizeof *insert_to_->items); \
            insert_to_->items[insert_at_] = insert_item_;                                           \
        }                                                                                           \
        insert_r_;                                                                                  \
    })

/* Removes the item at `index` and closes the gap, keeping the order: O(count). */
#define vec_remove(v, index) vec_close((v)->items, &(v)->count, (index), sizeof *(v)->items)

/* Empties the vector; keeps the memory. */
#define vec_clear(v) ((void)((v)->count = 0))

/* Releases the array. The vector is empty and may be used again. */
#define vec_done(v)                    \
    do {                               \
        __auto_type done_ = (v);       \
        free(done_->items);            \
        done_->items = NULL;           \
        done_->count = done_->cap = 0; \
    } while (0)

/* For _cleanup_ on a vector of any type: `_cleanup_(vec_done_p) VEC(int) ids = { 0 };`. */
static inline void vec_done_p(void *v)
{
    void *items;

    memcpy(&items, v, sizeof items); /* the first member of every VEC() */
    free(items);
}

/* Implementation of the macros. `items` is the address of the vector's pointer, whatever its type. */
int vec_grow(void *items, size_t *cap, size_t count, size_t more, size_t item_bytes);

/* There is room for one item: moves the items from `index` on by one position. */
static inline void vec_open(void *items, size_t *count, size_t index, size_t item_bytes)
{
    assert(index <= *count);
    char *at = (char *)items + index * item_bytes;
    memmove(at + item_bytes, at, (*count - index) * item_bytes);
    (*count)++;
}

static inline void vec_close(void *items, size_t *count, size_t index, size_t item_bytes)
{
    assert(index < *count);
    char *at = (char *)items + index * item_bytes;
    memmove(at, at + item_bytes, (*count - index - 1) * item_bytes);
    (*count)--;
}

#endif
