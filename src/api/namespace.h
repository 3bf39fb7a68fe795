/* Namespace. */
#ifndef BERTH_API_NAMESPACE_H
#define BERTH_API_NAMESPACE_H

#include <assert.h>

#include "api/object.h"

#define LABEL_NAMESPACE_NAME "kubernetes.io/metadata.name"
/* In spec.finalizers: removed last, by the component that deletes the contents of the namespace. */
#define FINALIZER_NAMESPACE "kubernetes"

enum namespace_phase { NAMESPACE_ACTIVE, NAMESPACE_TERMINATING, NAMESPACE_PHASE_COUNT };

extern const char *const namespace_phase_names[];

struct namespace
{
    struct object obj;
    struct texts spec_finalizers;
    enum namespace_phase phase;
};

extern const struct kind_info namespace_kind;

/* The view of an object that is a Namespace. */
static inline const struct namespace *namespace_of(const struct object *o)
{
    assert(o->kind->kind == KIND_NAMESPACE);
    return (const struct namespace *)(const void *)o;
}

/* prepare_update for the finalize subresource, the only way to change spec.finalizers. */
void namespace_prepare_finalize(struct json *d, json_ref object, json_ref old);

#endif
