/* For the tests of the functions of a CSI driver (provisioner, resizer, …): the real API core, a driver in
 * this process (test_csi_fake.h), and one function, created when the driver is ready. */
#ifndef BERTH_TESTS_TEST_CSI_PART_H
#define BERTH_TESTS_TEST_CSI_PART_H

#include "tests/unit/test_csi_fake.h"

#include "controllers/csi/csi_controllers.h"
#include "controllers/provisioner/provisioner.h"

static struct csi_driver_settings settings;
static const struct csi_function_type *the_function;
static const char *the_pod, *the_node; /* see csi_function_options */
static const char *the_other_node;     /* has a function in the same process; NULL: there is one */

/* The function of a driver, created when the driver is ready. */
struct part {
    struct component_deps deps;
    struct rpc_client *rpc;
    struct csi_peer *peer;
    struct csi_driver_settings settings;
    void *function, *other;
    bool is_started;
};

static inline void part_open(struct part *x)
{
    struct csi_function_options o = { .part = x->deps,
                                      .peer = x->peer,
                                      .settings = &x->settings,
                                      .loop = &provisioner_loop,
                                      .record_ns = "default",
                                      .node_name = the_node,
                                      .pod_name = the_pod,
                                      .identity = "test" };

    if (x->function || !x->is_started || csi_peer_state(x->peer) != CSI_PEER_READY)
        return;
    x->settings = settings;
    csi_driver_settings_complete(&x->settings);
    ASSERT_OK(the_function->new (&o, &x->function, &err));
    the_function->start(x->function);
    if (!the_other_node)
        return;
    o.node_name = the_other_node;
    ASSERT_OK(the_function->new (&o, &x->other, &err));
    the_function->start(x->other);
}

static inline void on_change(void *ctx, struct csi_peer *peer)
{
    (void)peer;
    part_open(ctx);
}

static inline int part_make(const struct component_deps *o, void **ret, struct error *e)
{
    static const enum kind kinds[] = { KIND_VOLUME,        KIND_CLAIM,
                                       KIND_CLASS,         KIND_NODE,
                                       KIND_CSI_NODE,      KIND_CSI_DRIVER,
                                       KIND_ATTACHMENT,    KIND_ATTRIBUTES_CLASS,
                                       KIND_SNAPSHOT,      KIND_SNAPSHOT_CONTENT,
                                       KIND_SNAPSHOT_CLASS };
    struct csi_peer_options p = { .loop = o->loop, .socket = FAKE_SOCKET, .on_change = on_change };
    struct part *x = calloc(1, sizeof *x);

    assert_non_null(x);
    (void)fake_for(o);
    x->deps = *o;
    p.ctx = x;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        assert_non_null(informers_get(o->informers, kinds[i], e));
    assert_non_null(component_pods(o->informers, e));
    if (the_function->prepare)
        ASSERT_OK(the_function->prepare(o, e));
    ASSERT_OK(rpc_client_new(o->loop, &x->rpc, e));
    p.rpc = x->rpc;
    ASSERT_OK(csi_peer_new(&p, &x->peer, e));
    *ret = x;
    return 0;
}

static inline void part_start(void *part)
{
    struct part *x = part;

    x->is_started = true;
    part_open(x);
}

static inline void part_free(void *part)
{
    struct part *x = part;

    the_function->free(x->function);
    the_function->free(x->other);
    x->peer = csi_peer_free(x->peer);
    x->rpc = rpc_client_free(x->rpc);
    free(x);
}

static const struct part_type csi_part = { part_make, part_start, part_free };

/* --- The driver --- */

static inline void without_topology(struct fake_csi *f)
{
    f->plugin = FAKE_BIT(1);
}

static inline void fail_next(const char *method, enum rpc_code code, const char *words, unsigned times)
{
    struct fake_csi *f = fake_of_parts();

    f->fails.method = method;
    f->fails.code = code;
    f->fails.words = words;
    f->fails.times = times;
}

static inline unsigned count_calls(const char *method)
{
    unsigned count = 0;

    for (const char *at = buf_cstr(&fake_of_parts()->log); (at = strstr(at, method)); at++)
        count++;
    return count;
}

#endif
