/* Which objects of a resource a list, a watch or a deletecollection means.
 *
 * Namespace and name are set apart from the rest: an object keeps both for life, so they are asked first, at
 * the cost of two comparisons, and a list can go straight to the one object. Labels and fields may change
 * under a watch and are asked of every state. Fields are resolved to their getters once, when the selection
 * is made: a question costs no look at their names.
 *
 * Everything a selection points to lives in the arena it was made with; it is read-only afterwards. */
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

/* Requirements on labels and fields together. Each is asked of every object, or of every change: more would
 * let one request keep everybody waiting. */
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
    const struct field_match *fields; /* without the one that pins the name */
    size_t fields_count;
    bool is_partial; /* a selector was given: labels or fields, the name's too */
};

/* Resolves the terms of a field selector and notes what they pin. The resource says which fields there are:
 * an unknown one is ERR_BAD_REQUEST in the API's words. labels and ns, which ends with a NUL, are taken as
 * they are. */
int selection_make(const struct resource *r, struct str ns, const struct label_selector *labels,
                   const struct field_selector *fields, struct arena *a, struct selection *ret,
                   struct error *err);

/* Whether the object can be meant in any of its states: namespace and name. */
static inline bool selection_may_have(const struct selection *s, const struct object *o)
{
    return (s->ns.len == 0 || str_is(s->ns, o->ns)) && (!s->name.s || str_is(s->name, o->name));
}

/* Whether a state of an object that may be meant is: labels and fields. */
bool selection_wants(const struct selection *s, const struct object *o);

/* Both. */
static inline bool selection_has(const struct selection *s, const struct object *o)
{
    return selection_may_have(s, o) && selection_wants(s, o);
}

#endif
