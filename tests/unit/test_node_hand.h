/* For the tests of the node's parts one by one: an agent put together by hand, with a server, a pool and a
 * recorder, one pod and one volume, in time that is moved by hand. */
#ifndef BERTH_TESTS_TEST_NODE_HAND_H
#define BERTH_TESTS_TEST_NODE_HAND_H

#include "tests/unit/test_parts.h"

#include "io/pool.h"
#include "node/node_int.h"

#define GIB ((uint64_t)1 << 30)

static struct hand {
    struct parts w;
    struct agent agent;
    struct pool *pool;
    struct node_pod pod;
    struct volume_env env;              /* what a test wants of it */
    void (*free_more)(struct agent *a); /* what a test has put into it; NULL for nothing */
} hand;

static inline int hand_make(const struct component_deps *o, void **ret, struct error *e)
{
    struct recorder_options r = { .loop = o->loop,
                                  .clock = o->clock,
                                  .client = o->client,
                                  .seed = 1,
                                  .component = "kubelet",
                                  .host = "n1" };

    hand.agent = (struct agent){ .o = { .part = *o, .name = "n1" } };
    ASSERT_OK(pool_new(o->loop, 2, 64, &hand.pool, e));
    ASSERT_OK(recorder_new(&r, &hand.agent.recorder, e));
    hand.agent.o.pool = hand.pool;
    hand.agent.env = hand.env;
    rng_init(&hand.agent.rng, 3);
    ASSERT_OK(component_api(o, NODE_FIELD_MANAGER, &hand.agent.api, e));
    hand.agent.api.rng = &hand.agent.rng;
    node_world_init(&hand.agent.world);
    *ret = &hand.agent;
    return 0;
}

static inline void hand_start(void *part)
{
    (void)part;
}

static inline void hand_free(void *part)
{
    struct agent *a = part;

    if (hand.free_more)
        hand.free_more(a);
    node_world_done(&a->world);
    a->recorder = recorder_free(a->recorder);
    hand.pool = pool_free(hand.pool);
}

static const struct part_type hand_type = { hand_make, hand_start, hand_free };

/* Turns until neither the loop nor the workers have anything to do. */
static inline void hand_rest(void)
{
    for (unsigned n = 0; n < 8; n++) { /* one leads to the other */
        parts_rest(&hand.w);
        pool_drain(hand.pool);
    }
    parts_rest(&hand.w);
}

/* Lets time pass; what workers do takes none of it. */
static inline void hand_pass(uint64_t ns)
{
    for (uint64_t step; ns > 0; ns -= step) {
        step = ns < NS_PER_S ? ns : NS_PER_S;
        parts_pass_ns(&hand.w, step);
        hand_rest();
    }
}

static inline struct object *hand_decode(enum kind kind, struct str text)
{
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;

    json_init(&d, (size_t)16 << 20);
    ASSERT_OK(object_decode(kind_info(kind), text, &d, &o, &err));
    return o;
}

/* What the server has there. */
static inline struct object *hand_get(enum kind kind, const char *path)
{
    ASSERT_SENT(&hand.w.served, 200, "GET", path, NULL);
    return hand_decode(kind, buf_str(&hand.w.served.text));
}

static inline void hand_open(void)
{
    parts_init(&hand.w, &hand_type);
    ASSERT_SENT(&hand.w.served, 201, "POST", PODS, "{'metadata':{'name':'p'}," POD_ON("n1") "}");
    hand.pod = (struct node_pod){ .agent = &hand.agent };
    hand.pod.object = hand_decode(KIND_POD, buf_str(&hand.w.served.text));
    hand.pod.uid = strdup(hand.pod.object->uid);
    TAILQ_INIT(&hand.pod.mounts);
}

static inline void hand_close(void)
{
    parts_done(&hand.w);
    (void)object_unref(hand.pod.object);
    free(hand.pod.uid);
    memset(&hand, 0, sizeof hand);
}

/* The pod's mount of a PersistentVolume, as if it were set up. */
static inline struct node_mount *hand_mount(const struct volume_plugin *p, const char *name,
                                            const struct object *volume, bool is_read_only)
{
    struct node_volume *v = node_world_add_volume(&hand.agent.world, name, p);
    struct node_mount *m = node_world_add_mount(v, &hand.pod);

    assert_true(held_spec_set(&v->wanted, volume, NULL, is_read_only));
    held_spec_copy(&m->wanted, &v->wanted);
    held_spec_copy(&m->spec, &v->wanted);
    m->is_wanted = v->is_held = true;
    m->state = MOUNT_DONE;
    assert_true(mount_add_name(m, "v"));
    return m;
}

/* A claim "c" of that size with this status, and its volume "pv" of another. */
static inline void hand_put_claim(const char *spec, const char *status, const char *volume_spec)
{
    char body[4096], uid[64];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'c'},'spec':{'volumeName':'pv',%s}}", spec);
    ASSERT_SENT(&hand.w.served, 201, "POST", CLAIMS, body);
    (void)snprintf(uid, sizeof uid, "%s", got(&hand.w.served, "metadata/uid"));
    (void)snprintf(body, sizeof body, "{'status':{'phase':'Bound',%s}}", status);
    ASSERT_SENT(&hand.w.served, 200, "MERGE", CLAIMS "/c/status", body);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'pv'},'spec':{'accessModes':['ReadWriteOnce','ReadWriteMany'],"
                   "'claimRef':{'namespace':'default','name':'c','uid':'%s'},%s}}",
                   uid, volume_spec);
    ASSERT_SENT(&hand.w.served, 201, "POST", VOLUMES, body);
}

#endif
