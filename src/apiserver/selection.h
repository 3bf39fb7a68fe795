/* The objects of a resource that a list, a watch or a deletecollection selects.
 *
 * Namespace and name are separate from the rest: an object never changes them, so they are compared first, at
 * the cost of two comparisons, and a list can find a single object directly. Labels and fields may change
 * during a watch and are compared for every version. Fields are resolved to their getters once, when the
 * selection is created: a match does not compare their names.
 *
 * Everything that a selection points to is in the arena it was created with; it is read-only afterwards. */
#ifndef BERTH_APISERVER_SELECTION_H
#define BERTH_APISERVER_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "api/field_selector.h"
#include "api/object.h"
#include "api/selector.h"
#include "apiserver/resource.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Requirements on labels and fields together. Each is evaluated for every object, or for every change: more
 * would let one request delay all others. */
#define SELECTION_TERMS_MAX 256

/* One term of a field selector. */
struct field_match {
    const char *(*get)(const struct object *o);
    struct str value;
    bool is_not;
};

/* Zeroed, it selects everything. */
struct selection {
    struct str ns;   /* "" for every namespace; NUL-terminated */
    struct str name; /* .s is NULL for every name */
    struct label_selector labels;
    const struct field_match *fields; /* without the one that requires the name */
    size_t fields_count;
    bool is_partial; /* has a selector: labels or fields, including the name */
};

/* Resolves the terms of a field selector and extracts required names. The resource has the list of fields: an
 * unknown one is ERR_BAD_REQUEST with the stock message. labels and ns, which ends with a NUL, are borrowed.
 */
int selection_make(const struct resource *r, struct str ns, const struct label_selector *labels,
                   const struct field_selector *fields, struct arena *a, struct selection *ret,
                   struct error *err);

/* Whether some version of the object can match: namespace and name. */
static inline bool selection_may_have(const struct selection *s, const struct object *o)
{
    return (s->ns.len == 0 || str_is(s->ns, o->ns)) && (!s->name.s || str_is(s->name, o->name));
}

/* Whether this version of an object that can match does: labels and fields. */
bool selection_matches(const struct selection *s, const struct object *o);

/* Both. */
static inline bool selection_has(const struct selection *s, const struct object *o)
{
    return selection_may_have(s, o) && selection_matches(s, o);
}

#endif
