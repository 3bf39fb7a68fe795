/* Facts for the tests of identity and access: a handful of objects, given as JSON with ' for quotes. */
#ifndef BERTH_TESTS_TEST_FACTS_H
#define BERTH_TESTS_TEST_FACTS_H

#include "tests/unit/test_kind.h"

#include "api/pod.h"
#include "apiserver/access_lookup.h"

#define FACTS_OBJECTS_MAX 64

static struct object *facts_objects[FACTS_OBJECTS_MAX];
static size_t facts_count;

static inline void facts_add(enum kind kind, const char *text)
{
    assert_true(facts_count < FACTS_OBJECTS_MAX);
    facts_objects[facts_count++] = kind_object(kind, text);
}

static inline void facts_clear(void)
{
    while (facts_count)
        (void)object_unref(facts_objects[--facts_count]);
}

static inline const struct object *facts_get(void *ctx, enum kind kind, const char *ns, const char *name)
{
    (void)ctx;
    for (size_t i = 0; i < facts_count; i++) {
        const struct object *o = facts_objects[i];
        if (o->kind->kind == kind && strcmp(o->ns, ns) == 0 && strcmp(o->name, name) == 0)
            return o;
    }
    return NULL;
}

static inline bool facts_any_pod(void *ctx, const char *ns, access_lookup_pod_fn *fn, void *arg)
{
    (void)ctx;
    for (size_t i = 0; i < facts_count; i++) {
        const struct object *o = facts_objects[i];
        if (o->kind->kind == KIND_POD && (ns[0] == '\0' || strcmp(o->ns, ns) == 0) && fn(arg, pod_of(o)))
            return true;
    }
    return false;
}

static const struct access_lookup test_facts = { facts_get, facts_any_pod, NULL };

#endif
