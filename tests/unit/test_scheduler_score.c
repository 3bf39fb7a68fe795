/* Scores: taints that would rather not, preferences, and how well volumes fit. */
#include "scheduler/scheduler_int.h"

#include "tests/unit/test_scheduler.h"

#include "tests/unit/test.h"

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

static struct object *pod(const char *spec)
{
    char text[2048];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'p','namespace':'default','uid':'u','resourceVersion':'1'},'spec':{"
                   "'containers':[]%s}}",
                   spec);
    return object(KIND_POD, text);
}

static struct object *node(const char *labels, const char *spec)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'n','uid':'u','resourceVersion':'1','labels':{%s}},'spec':{%s}}",
                   labels, spec);
    return object(KIND_NODE, text);
}

/* --- Taints and preferences --- */

TEST(taints)
{
    static const char spec[] =
        "'taints':[{'key':'a','value':'1','effect':'PreferNoSchedule'},{'key':'b','effect':'PreferNoSchedule'"
        "},{'key':'c','effect':'NoSchedule'}]";
    static const struct {
        const char *tolerations;
        int64_t score;
    } rows[] = {
        { "", 2 },
        { "{'key':'a','operator':'Exists'}", 1 },
        { "{'key':'a','value':'1','effect':'PreferNoSchedule'}", 1 },
        { "{'key':'a','value':'2','effect':'PreferNoSchedule'}", 2 },
        { "{'key':'a','operator':'Exists','effect':'NoSchedule'}", 2 }, /* of another effect: not asked */
        { "{'key':'a','operator':'Exists','effect':'NoExecute'}", 2 },
        { "{'key':'a','operator':'Exists'},{'key':'b','operator':'Exists'}", 0 },
        { "{'operator':'Exists'}", 0 },
    };
    struct object *n = node("", spec);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object *p;
        char text[512];

        (void)snprintf(text, sizeof text, ",'tolerations':[%s]", rows[i].tolerations);
        p = pod(text);
        ASSERT_INT(rows[i].score, score_taints(pod_of(p), node_of(n)));
        (void)object_unref(p);
    }
    (void)object_unref(n);
}

#define PREFERS(weight, term) "{'weight':" weight ",'preference':{" term "}}"
#define HAS(key) "'matchExpressions':[{'key':'" key "','operator':'Exists'}]"

TEST(preferences)
{
    static const struct {
        const char *terms;
        int64_t score;
    } rows[] = {
        { "", 0 },
        { PREFERS("10", HAS("x")), 10 },
        { PREFERS("10", HAS("z")), 0 },
        { PREFERS("10", HAS("x")) "," PREFERS("5", HAS("y")) "," PREFERS("100", HAS("z")), 15 },
        { PREFERS("0", HAS("x")), 0 },
        { PREFERS("10", ""), 0 }, /* a term without a word */
        { PREFERS("10", "'matchFields':[{'key':'metadata.name','operator':'In','values':['n']}]"), 10 },
        { PREFERS("10", "'matchFields':[{'key':'metadata.name','operator':'In','values':['m']}]"), 0 },
    };
    struct object *n = node("'x':'1','y':'1'", "");

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object *p;
        char text[1024];

        (void)snprintf(
            text, sizeof text,
            ",'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[%s]}}",
            rows[i].terms);
        p = pod(text);
        ASSERT_INT(rows[i].score, score_affinity(pod_of(p), node_of(n)));
        (void)object_unref(p);
    }
    (void)object_unref(n);
}

/* --- Volumes --- */

#define CLAIMS_MAX 4

struct pair {
    const char *request;
    const char *capacity; /* NULL: it is provisioned */
    const char *class;
};

static int64_t score_of(const struct shape_point *shape, size_t count, const struct pair *pairs)
{
    struct scheduler s = { .o = { .shape = shape, .shape_count = count } };
    struct cycle c = { .s = &s, .has_unbound = true };
    struct object *objects[2 * CLAIMS_MAX];
    size_t n = 0;
    int64_t score;

    for (size_t i = 0; i < CLAIMS_MAX && pairs[i].request; i++) {
        struct object *volume = NULL;
        char text[512];

        (void)snprintf(text, sizeof text,
                       "{'metadata':{'name':'c%zu','namespace':'default','uid':'u','resourceVersion':'1'},"
                       "'spec':{'storageClassName':'%s','resources':{'requests':{'storage':'%s'}}}}",
                       i, pairs[i].class, pairs[i].request);
        objects[n++] = object(KIND_CLAIM, text);
        assert_int_equal(vec_push(&c.claims, (struct cycle_claim){ .claim = claim_of(objects[n - 1]) }), 0);
        if (pairs[i].capacity) {
            (void)snprintf(text, sizeof text,
                           "{'metadata':{'name':'v%zu','uid':'u','resourceVersion':'1'},'spec':{"
                           "'storageClassName':'%s','capacity':{'storage':'%s'},'hostPath':{'path':'/x'}}}",
                           i, pairs[i].class, pairs[i].capacity);
            volume = objects[n++] = object(KIND_VOLUME, text);
        }
        assert_int_equal(vec_push(&c.chosen, volume ? volume_of(volume) : NULL), 0);
    }
    score = score_volumes(&c);
    while (n > 0)
        (void)object_unref(objects[--n]);
    vec_done(&c.claims);
    vec_done(&c.chosen);
    return score;
}

static const struct shape_point fullest[] = { { 0, 0 }, { 100, 10 } };
static const struct shape_point emptiest[] = { { 0, 10 }, { 100, 0 } };
/* Level below 20 and above 80, and a step of which the tenths are no whole numbers. */
static const struct shape_point bent[] = { { 20, 3 }, { 50, 10 }, { 80, 1 } };

TEST(shapes)
{
    static const struct {
        const struct shape_point *shape;
        size_t count;
        const char *request;
        const char *capacity;
        int64_t score;
    } rows[] = {
        { fullest, 2, "100", "100", 100 },
        { fullest, 2, "50", "100", 50 },
        { fullest, 2, "1", "3", 33 }, /* 33.3 %, whole percents */
        { fullest, 2, "0", "100", 0 },
        { fullest, 2, "101", "100", 100 }, /* more than there is: like all of it */
        { fullest, 2, "5", "0", 100 },
        { emptiest, 2, "100", "100", 0 },
        { emptiest, 2, "25", "100", 75 },
        { emptiest, 2, "2", "1", 0 },
        { emptiest, 2, "0", "1", 100 },
        { bent, 3, "0", "100", 30 },
        { bent, 3, "20", "100", 30 },
        { bent, 3, "21", "100", 32 }, /* 30 + 70 / 30 */
        { bent, 3, "50", "100", 100 },
        { bent, 3, "51", "100", 97 }, /* 100 - 90 / 30 */
        { bent, 3, "79", "100", 13 },
        { bent, 3, "100", "100", 10 },
        { bent, 1, "70", "100", 30 },
        { fullest, 2, "4Ei", "5Ei", 80 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pair pairs[CLAIMS_MAX] = { { rows[i].request, rows[i].capacity, "a" } };
        int64_t score = score_of(rows[i].shape, rows[i].count, pairs);

        if (score != rows[i].score)
            fail_msg("row %zu: %s of %s: %lld", i, rows[i].request, rows[i].capacity, (long long)score);
    }
}

/* Claims of a class go together, classes are averaged, halves go up; what is provisioned does not count. */
TEST(classes)
{
    static const struct {
        struct pair pairs[CLAIMS_MAX];
        int64_t score;
    } rows[] = {
        { { { "1", "2", "a" }, { "1", "6", "a" } }, 25 },
        { { { "1", "2", "a" }, { "1", "4", "b" } }, 38 }, /* 37.5 */
        { { { "1", "2", "a" }, { "1", "4", "b" }, { "1", "2", "a" } }, 38 },
        { { { "1", "1", "a" }, { "0", "4", "b" }, { "0", "4", "c" } }, 33 },
        { { { "2", "2", "a" }, { "0", "4", "b" }, { "2", "2", "c" } }, 67 },
        { { { "1", "2", "a" }, { "9", NULL, "a" } }, 50 },
        { { { "9", NULL, "a" }, { "1", "2", "b" } }, 50 },
        { { { "9", NULL, "a" } }, -1 },
        { { { NULL } }, -1 },
        { { { "8E", "8E", "a" }, { "8E", "8E", "a" } }, 100 }, /* past what can be counted: like full */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t score = score_of(fullest, ARRAY_LEN(fullest), rows[i].pairs);

        if (score != rows[i].score)
            fail_msg("row %zu: %lld", i, (long long)score);
    }
}

TEST(without_a_shape)
{
    static const struct pair pairs[CLAIMS_MAX] = { { "1", "2", "a" } };

    ASSERT_INT(-1, score_of(NULL, 0, pairs));
}

/* --- With the scheduler --- */

/* Two nodes with a volume each; the shape decides, and without one the name. */
TEST(shape_decides)
{
    static const struct {
        const struct shape_point *shape;
        const char *on;
    } rows[] = { { fullest, "b" }, { emptiest, "a" }, { NULL, "a" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        scheduling_init(&w);
        scheduling.shape = rows[i].shape;
        scheduling.shape_count = rows[i].shape ? 2 : 0;
        add_class(&w, "local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", "");
        add_node(&w, "a", "", "");
        add_node(&w, "b", "", "");
        add_local(&w, "pv-a", "10Gi", "local", "a");
        add_local(&w, "pv-b", "6Gi", "local", "b");
        add_claim(&w, "c", "5Gi", RWO, ",'storageClassName':'local'");
        world_start(&w);
        world_settle_for(&w, 1);
        add_pod(&w, "p", "c", "", "");
        world_settle_for(&w, 1);
        assert_on(&w, "p", rows[i].on);
        world_done(&w);
    }
}

/* A node that has a volume is better than one where it would be provisioned, as far as volumes go. */
TEST(volume_before_provisioning)
{
    struct world w;

    scheduling_init(&w);
    scheduling.shape = fullest;
    scheduling.shape_count = 2;
    add_class(&w, "csi", "x.csi", "WaitForFirstConsumer", "");
    add_node(&w, "a", "", "");
    add_node(&w, "b", "", "");
    add_local(&w, "pv-b", "6Gi", "csi", "b");
    add_claim(&w, "c", "5Gi", RWO, ",'storageClassName':'csi'");
    world_start(&w);
    world_settle_for(&w, 1);
    add_pod(&w, "p", "c", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "b");
    assert_bound(&w, "c", "pv-b");
    world_done(&w);
}

TEST_MAIN()
