/* Internals of selectors: building requirements, and collecting their errors. */
#ifndef BERTH_API_SELECTOR_INT_H
#define BERTH_API_SELECTOR_INT_H

#include "api/selector.h"

/* Field errors as one text: "a", or "[a, b]" for several. Cut at the length of an error message. */
struct problems {
    size_t count;
    size_t len;
    bool is_cut;
    char text[ERROR_MSG_BYTES_MAX];
};

void problems_addf(struct problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The collected problems as an error; there is at least one. */
int problems_error(const struct problems *p, enum err code, struct error *err);

/* True if op is one of the first `count` operators (in the order of enum selector_op). */
bool selector_op_of(struct str op, size_t count, enum selector_op *ret);
/* `<path>operator: Unsupported value: "Foo": supported values: "In"…` with the first `count` operators. */
void problems_add_operator(struct problems *p, const char *path, struct str op, size_t count);
/* `<path>values: Invalid value: ["a"]: detail` */
void problems_add_values(struct problems *p, const char *path, const struct requirement_parts *parts,
                         const char *detail);

/* Checks the parts and builds a requirement. Problems are added to p, with the path (ending with a dot, or
 * empty) in front, and the result is false. Also false if the arena is full: see arena_check(); then p is
 * unchanged. */
bool requirement_make(struct requirement *ret, struct arena *a, const struct requirement_parts *parts,
                      enum selector_op op, const char *path, struct problems *p);
/* Appends; false when the arena is full. */
bool label_selector_push(struct label_selector *sel, struct arena *a, const struct requirement *r);

/* Room for one more item after `count` items of `bytes` bytes each: the array, possibly moved. NULL if the
 * arena is full. */
void *selector_grow(struct arena *a, void *items, size_t count, size_t *room, size_t bytes);

#endif
