/* Nodes and the pods on them: what pods need, what is promised and what is there. */
#include "scheduler/nodes.h"

#include "tests/unit/test_kind.h"

#include "tests/unit/test.h"

#define GI (INT64_C(1) << 30)

/* As the server would keep it. */
static struct object *object(enum kind kind, const char *text)
{
    _cleanup_(buf_done_p) struct buf whole = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;

    json_init(&d, 1 << 20);
    kind_quotes(text, &whole);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&whole), &d, &o, &err));
    return o;
}

static struct object *pod(const char *uid, const char *node, const char *phase, const char *spec)
{
    char text[2048];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'default','uid':'%s','resourceVersion':'1'},'spec':{"
                   "'nodeName':'%s'%s},'status':{'phase':'%s'}}",
                   uid, uid, node, spec, phase);
    return object(KIND_POD, text);
}

static struct object *node(const char *name, const char *allocatable)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','uid':'%s','resourceVersion':'1'},'spec':{},'status':{"
                   "'allocatable':{%s}}}",
                   name, name, allocatable);
    return object(KIND_NODE, text);
}

/* --- What a pod needs --- */

#define CONTAINER(name, rest) "{'name':'" name "','image':'i','resources':{'requests':{" rest "}}}"
#define SIDECAR(name, rest) \
    "{'name':'" name "','image':'i','restartPolicy':'Always','resources':{'requests':{" rest "}}}"

TEST(needs)
{
    static const struct {
        const char *spec;
        int64_t milli_cpu, memory;
    } rows[] = {
        { ",'containers':[" CONTAINER("a", "") "]", 0, 0 },
        { ",'containers':[" CONTAINER("a", "'cpu':'1','memory':'1Gi'") "," CONTAINER("b", "'cpu':'250m'") "]",
          1250, GI },
        /* Rounded up. */
        { ",'containers':[" CONTAINER("a", "'cpu':'1n','memory':'1500m'") "]", 1, 2 },
        /* Init containers come one after the other: the hungriest, if it needs more than all others. */
        { ",'initContainers':[" CONTAINER("i", "'cpu':'3','memory':'1'") "," CONTAINER(
              "j", "'cpu':'2','memory':'5'") "],'containers':[" CONTAINER("a", "'cpu':'1','memory':'2'") "]",
          3000, 5 },
        { ",'initContainers':[" CONTAINER("i", "'cpu':'1'") "],'containers':[" CONTAINER(
              "a", "'cpu':'2'") "," CONTAINER("b", "'cpu':'2'") "]",
          4000, 0 },
        /* A sidecar stays: beside the containers, and beside the init containers that come after it. */
        { ",'initContainers':[" SIDECAR("s", "'cpu':'1'") "],'containers':[" CONTAINER("a", "'cpu':'2'") "]",
          3000, 0 },
        { ",'initContainers':[" SIDECAR("s", "'cpu':'1'") "," CONTAINER(
              "i", "'cpu':'5'") "],'containers':[" CONTAINER("a", "'cpu':'2'") "]",
          6000, 0 },
        { ",'initContainers':[" CONTAINER("i", "'cpu':'5'") "," SIDECAR(
              "s", "'cpu':'1'") "],'containers':[" CONTAINER("a", "'cpu':'2'") "]",
          5000, 0 },
        { ",'initContainers':[" SIDECAR("s", "'cpu':'1'") "," CONTAINER("i", "'cpu':'2'") "," SIDECAR(
              "t", "'cpu':'3'") "," CONTAINER("j", "'cpu':'4'") "],'containers':[" CONTAINER("a",
                                                                                             "'cpu':'2'") "]",
          8000, 0 },
        /* Too much to count is as much as can be counted. */
        { ",'containers':[" CONTAINER("a", "'memory':'8E'") "," CONTAINER("b", "'memory':'8E'") "]", 0,
          INT64_MAX },
        { ",'containers':[" CONTAINER("a", "'cpu':'9E'") "]", INT64_MAX, 0 },
        { ",'initContainers':[" SIDECAR("s", "'memory':'8E'") "," CONTAINER(
              "i", "'memory':'8E'") "],'containers':[" CONTAINER("a", "") "]",
          0, INT64_MAX },
        /* What is looked into for a moment needs nothing. */
        { ",'containers':[" CONTAINER("a", "'cpu':'1'") "],'ephemeralContainers':[" CONTAINER(
              "e", "'cpu':'7'") "]",
          1000, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object *o = pod("p", "", "Pending", rows[i].spec);
        struct needs n = pod_needs(pod_of(o));

        if (n.milli_cpu != rows[i].milli_cpu || n.memory != rows[i].memory)
            fail_msg("%s: %lld and %lld", rows[i].spec, (long long)n.milli_cpu, (long long)n.memory);
        ASSERT_INT(1, n.pods);
        (void)object_unref(o);
    }
}

#define CLAIM(name) "{'name':'" name "','persistentVolumeClaim':{'claimName':'c'}}"

/* Volumes that stand for a claim, however many of them for the same. */
TEST(claims)
{
    static const struct {
        const char *volumes;
        int64_t claims;
    } rows[] = {
        { "", 0 },
        { "{'name':'a','emptyDir':{}}", 0 },
        { CLAIM("a") "," CLAIM("b") ",{'name':'e','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}", 3 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object *o;
        char spec[512];

        (void)snprintf(spec, sizeof spec, ",'containers':[],'volumes':[%s]", rows[i].volumes);
        o = pod("p", "", "Pending", spec);
        ASSERT_INT(rows[i].claims, pod_needs(pod_of(o)).claims);
        (void)object_unref(o);
    }
}

/* --- Nodes --- */

static struct nodes all;

static void put(struct object *o)
{
    ASSERT_OK(nodes_put(&all, node_of(o)));
    (void)object_unref(o);
}

static void put_pod(struct object *o)
{
    ASSERT_OK(nodes_put_pod(&all, pod_of(o)));
    (void)object_unref(o);
}

static void assume(struct object *o, const char *node_name)
{
    ASSERT_OK(nodes_assume(&all, pod_of(o), node_name));
    (void)object_unref(o);
}

static void begin(void)
{
    nodes_init(&all, (struct hash_seed){ 1, 2 });
}

#define ONE_CPU ",'containers':[" CONTAINER("a", "'cpu':'1','memory':'1Gi'") "]"

static void assert_used(const char *name, int64_t pods, int64_t milli_cpu)
{
    const struct sched_node *n = nodes_get(&all, name);

    assert_non_null(n);
    ASSERT_INT(pods, n->used.pods);
    ASSERT_INT(pods, n->pods.count);
    ASSERT_INT(milli_cpu, n->used.milli_cpu);
}

TEST(nodes_by_name)
{
    static const char *const names[] = { "m", "z", "a", "b" };
    const struct sched_node *n;

    begin();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        put(node(names[i], "'cpu':'2'"));
    ASSERT_INT(4, all.all.count);
    for (size_t i = 0; i + 1 < all.all.count; i++)
        assert_true(strcmp(all.all.items[i]->name, all.all.items[i + 1]->name) < 0);
    n = nodes_get(&all, "m");
    ASSERT_INT(2000, n->room.milli_cpu);
    ASSERT_INT(-1, n->room.memory); /* it does not say */
    put(node("m", "'cpu':'1500m','pods':'110','memory':'4Gi'"));
    ASSERT_INT(4, all.all.count);
    ASSERT_INT(1500, n->room.milli_cpu);
    ASSERT_INT(110, n->room.pods);
    ASSERT_INT(4 * GI, n->room.memory);
    nodes_remove(&all, "m");
    assert_null(nodes_get(&all, "m"));
    nodes_remove(&all, "m"); /* twice is nothing */
    ASSERT_INT(3, all.all.count);
    assert_null(nodes_check(&all));
    nodes_done(&all);
}

/* Pods come before their node, and stay when it goes. */
TEST(pods_of_a_node_that_is_not_there)
{
    begin();
    put_pod(pod("p", "n", "Running", ONE_CPU));
    assert_null(nodes_get(&all, "n"));
    ASSERT_INT(0, all.all.count);
    put(node("n", ""));
    assert_used("n", 1, 1000);
    nodes_remove(&all, "n");
    assert_non_null(nodes_placed(&all, "p"));
    put(node("n", ""));
    assert_used("n", 1, 1000);
    nodes_remove(&all, "n");
    nodes_remove_pod(&all, "p");
    assert_null(nodes_placed(&all, "p"));
    assert_null(map_get(&all.by_name, str_of("n")));
    assert_null(nodes_check(&all));
    nodes_done(&all);
}

TEST(pods_come_and_go)
{
    begin();
    put(node("n", ""));
    put_pod(pod("a", "n", "Running", ONE_CPU));
    put_pod(pod("b", "n", "Pending", ONE_CPU));
    put_pod(pod("c", "n", "Running", ONE_CPU));
    put_pod(pod("waits", "", "Pending", ONE_CPU));
    assert_null(nodes_placed(&all, "waits"));
    assert_used("n", 3, 3000);
    put_pod(pod("a", "n", "Running", ONE_CPU)); /* again */
    assert_used("n", 3, 3000);
    put_pod(pod("b", "n", "Succeeded", ONE_CPU));
    assert_used("n", 2, 2000);
    put_pod(pod("c", "n", "Failed", ONE_CPU));
    nodes_remove_pod(&all, "a");
    nodes_remove_pod(&all, "a");
    assert_used("n", 0, 0);
    assert_null(nodes_check(&all));
    nodes_done(&all);
}

/* Sums that cannot be counted are right again when what made them so is gone. */
TEST(sums_come_back_from_their_limit)
{
    begin();
    put(node("n", ""));
    put_pod(pod("big", "n", "Running", ",'containers':[" CONTAINER("a", "'cpu':'9E','memory':'8E'") "]"));
    put_pod(pod("small", "n", "Running", ONE_CPU));
    ASSERT_INT(INT64_MAX, nodes_get(&all, "n")->used.milli_cpu);
    nodes_remove_pod(&all, "big");
    assert_used("n", 1, 1000);
    ASSERT_INT(GI, nodes_get(&all, "n")->used.memory);
    assert_null(nodes_check(&all));
    nodes_done(&all);
}

/* --- Promises --- */

TEST(promise_counts_until_the_pod_is_there)
{
    begin();
    put(node("n", ""));
    put(node("m", ""));
    assume(pod("p", "", "Pending", ONE_CPU), "n");
    assert_true(nodes_placed(&all, "p")->is_assumed);
    assert_used("n", 1, 1000);
    put_pod(pod("p", "", "Pending", ONE_CPU)); /* an older version, or a change of something else */
    assert_used("n", 1, 1000);
    put_pod(pod("p", "n", "Pending", ONE_CPU));
    assert_false(nodes_placed(&all, "p")->is_assumed);
    nodes_forget(&all, "p"); /* an assignment stays */
    assert_used("n", 1, 1000);
    assert_null(nodes_check(&all));
    nodes_done(&all);
}

TEST(promise_is_given_back)
{
    begin();
    put(node("n", ""));
    put(node("m", ""));
    assume(pod("p", "", "Pending", ONE_CPU), "n");
    nodes_forget(&all, "p");
    nodes_forget(&all, "p");
    assert_used("n", 0, 0);
    assume(pod("p", "", "Pending", ONE_CPU), "n");
    put_pod(pod("p", "m", "Pending", ONE_CPU)); /* somebody else placed it elsewhere */
    assert_used("n", 0, 0);
    assert_used("m", 1, 1000);
    assume(pod("q", "", "Pending", ONE_CPU), "n");
    put_pod(pod("q", "", "Failed", ONE_CPU));
    assert_used("n", 0, 0);
    assume(pod("r", "", "Pending", ONE_CPU), "n");
    nodes_remove_pod(&all, "r");
    assert_used("n", 0, 0);
    assert_null(nodes_check(&all));
    nodes_done(&all);
}

static void *no_memory(size_t count, size_t bytes)
{
    (void)count;
    (void)bytes;
    return NULL;
}

/* Nothing is counted, and nothing is left behind: neither on a node that is there nor on one that is not. */
TEST(promise_without_memory)
{
    struct object *p = pod("p", "", "Pending", ONE_CPU);

    begin();
    put(node("n", ""));
    all.pods.alloc = no_memory;
    ASSERT_ERR(ERR_NO_MEMORY, nodes_assume(&all, pod_of(p), "n"));
    ASSERT_ERR(ERR_NO_MEMORY, nodes_assume(&all, pod_of(p), "gone"));
    assert_used("n", 0, 0);
    assert_null(nodes_placed(&all, "p"));
    assert_null(map_get(&all.by_name, str_of("gone")));
    (void)object_unref(p);
    assert_null(nodes_check(&all));
    nodes_done(&all);
}

TEST_MAIN()
