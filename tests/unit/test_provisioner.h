/* For the tests of provisioners: workers beside a part, and objects for it. Nothing binds here: the tests
 * write what the binder would. */
#ifndef BERTH_TESTS_TEST_PROVISIONER_H
#define BERTH_TESTS_TEST_PROVISIONER_H

#include "tests/unit/test_parts.h"

#include "controllers/provisioner/blocking.h"
#include "controllers/provisioner/provisioner.h"
#include "io/pool.h"

static struct pool *the_pool;

static inline void pool_open(const struct component_deps *o)
{
    ASSERT_OK(pool_new(o->loop, 2, 64, &the_pool, &err));
}

/* A provisioner whose blocking functions run on that pool. record: the ConfigMap of its calls; NULL: none. */
static inline int blocking_open(const struct component_deps *o, const struct blocking_type *type,
                                const void *ctx, const char *record, void **ret, struct error *e)
{
    static struct blocking_provisioner blocking;
    struct provisioner_options p = { .part = *o,
                                     .type = &blocking_provisioner_type,
                                     .ctx = &blocking,
                                     .name = "test.io/p",
                                     .record_ns = "default",
                                     .record_name = record };
    struct provisioner *made = NULL;
    int r;

    pool_open(o);
    blocking =
        (struct blocking_provisioner){ .type = type, .ctx = ctx, .name = "test.io/p", .pool = the_pool };
    r = blocking_provisioner_caches(&blocking, o->informers, e);
    if (r == 0)
        r = provisioner_new(&p, &made, e);
    if (r == 0)
        *ret = made;
    return r;
}

/* Lets seconds pass; what workers do takes no time. */
static inline void pass(struct parts *w, unsigned seconds)
{
    for (unsigned i = 0; i <= seconds; i++) {
        parts_pass_ns(w, i ? NS_PER_S : 0);
        for (unsigned n = 0; n < 4; n++) { /* one job leads to the next */
            pool_drain(the_pool);
            parts_rest(w);
        }
    }
}

static inline void put_class(struct parts *w, const char *name, const char *more)
{
    char body[1024];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'},'provisioner':'test.io/p'%s}", name, more);
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

/* The uid of the claim is in ret. */
static inline void put_claim(struct parts *w, const char *name, const char *meta, const char *spec,
                             char ret[64])
{
    char body[2048];

    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'%s','annotations':{'volume.kubernetes.io/storage-provisioner':'test.io/p'%s},"
        "'finalizers':null},'spec':{'accessModes':['ReadWriteOnce','ReadOnlyMany'],'storageClassName':'c',"
        "'resources':{'requests':{'storage':'3Gi'}}%s}}",
        name, meta, spec);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
    (void)snprintf(ret, 64, "%s", got(&w->served, "metadata/uid"));
}

/* The path of the volume that is made for a claim. */
static inline const char *volume_path(const char *uid)
{
    static char path[256];

    (void)snprintf(path, sizeof path, VOLUMES "/pvc-%s", uid);
    return path;
}

static inline void drop_claim(struct parts *w, const char *claim)
{
    ASSERT_SENT(&w->served, 200, "MERGE", claim, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "DELETE", claim, NULL);
}

static inline void release(struct parts *w, const char *volume)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/status", volume);
    ASSERT_SENT(&w->served, 200, "MERGE", volume, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'status':{'phase':'Released'}}");
}

#endif
