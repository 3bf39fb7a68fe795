/* What the scheduler says of a pod when it is asked: what it would do, and nothing happens by asking. */
#include "tests/unit/test_scheduler_model_objects.h"

#include "scheduler/explain.h"
#include "scheduler/scheduler_int.h"

#define WORLDS 400
#define CLASS(name, by, mode)                                                                              \
    "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'" name "','uid':'u-" name \
    "','resourceVersion':'1'},'provisioner':'" by "','volumeBindingMode':'" mode "'}"
#define NODE(name, spec, labels)                                                    \
    "{'apiVersion':'v1','kind':'Node','metadata':{'name':'" name "','uid':'u-" name \
    "','resourceVersion':'1','labels':{'kubernetes.io/hostname':'" name "'" labels "}},'spec':{" spec "}}"
#define POD(spec)                                                                                   \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'default','uid':'u-p',"     \
    "'resourceVersion':'1'},'spec':{'schedulerName':'default-scheduler','containers':[{'name':'c'," \
    "'image':'i'}]" spec "}}"
#define CLAIM_VOLUME(claim) ",'volumes':[{'name':'data','persistentVolumeClaim':{'claimName':'" claim "'}}]"
#define CLAIM(meta, spec, status)                                                                      \
    "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c','namespace':'default',"  \
    "'uid':'u-c','resourceVersion':'1'" meta "},'spec':{'accessModes':['ReadWriteOnce'],'resources':{" \
    "'requests':{'storage':'2Gi'}}" spec "},'status':{" status "}}"
#define LOCAL(name, size, node, more)                                                                      \
    "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'" name "','uid':'u-" name            \
    "','resourceVersion':'1'},'spec':{'capacity':{'storage':'" size "'},'accessModes':['ReadWriteOnce'],"  \
    "'storageClassName':'slow','local':{'path':'/x'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{"   \
    "'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In','values':['" node "']}]}]}}" more \
    "},'status':{'phase':'Available'}}"
#define NEVER "kubernetes.io/no-provisioner"

/* The pod of the world, explained two nodes at a time. */
static void ask(struct still *s, const char *name, struct schedule *ret)
{
    const struct pod *p = cached_pod(s->scheduler, "default", name);
    int r;

    assert_non_null(p);
    schedule_begin(ret, s->scheduler, p);
    do
        r = schedule_step(ret, 2, &err);
    while (r == 0);
    ASSERT_INT(1, r);
}

/* --- States --- */

TEST(a_pod_that_is_not_to_be_scheduled_is_told_why)
{
    static const struct {
        const char *pod;
        enum schedule_state state;
    } rows[] = {
        { POD(",'nodeName':'n1'"), SCHEDULE_PLACED },
        { POD(",'schedulerName':'mine'"), SCHEDULE_OTHERS },
        { POD(",'schedulingGates':[{'name':'a'}]"), SCHEDULE_GATED },
        { POD("},'status':{'phase':'Succeeded'"), SCHEDULE_ENDED },
        { POD(""), SCHEDULE_FITS },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct still s = { 0 };
        struct schedule x;

        still_add(&s, KIND_NODE, NODE("n1", "", ""));
        still_add(&s, KIND_POD, rows[i].pod);
        still_run(&s);
        ask(&s, "p", &x);
        if (x.state != rows[i].state)
            fail_msg("row %zu: state %d", i, x.state);
        assert_false(x.is_live);
        schedule_done(&x);
        still_done(&s);
    }
}

TEST(a_pod_that_is_being_deleted_gets_no_node)
{
    struct still s = { 0 };
    struct schedule x;

    still_add(&s, KIND_NODE, NODE("n1", "", ""));
    still_add(&s, KIND_POD,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'default','uid':'u-p',"
              "'resourceVersion':'1','deletionTimestamp':'2026-01-01T00:00:00Z'},'spec':{'schedulerName':"
              "'default-scheduler','containers':[{'name':'c','image':'i'}]}}");
    still_run(&s);
    ask(&s, "p", &x);
    assert_int_equal(x.state, SCHEDULE_GOING);
    schedule_done(&x);
    still_done(&s);
}

/* --- Steps --- */

static void put_node(struct still *s, const char *name)
{
    char text[512];
    struct object *o;

    (void)snprintf(text, sizeof text,
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','uid':'u-%s',"
                   "'resourceVersion':'2'},'spec':{}}",
                   name, name);
    o = new_object(KIND_NODE, text);
    ASSERT_INT(0, nodes_put(&s->scheduler->nodes, node_of(o)));
    (void)object_unref(o);
}

static void open_steps(struct still *s, struct schedule *ret)
{
    *s = (struct still){ 0 };
    still_add(s, KIND_NODE, NODE("n1", "", ""));
    still_add(s, KIND_NODE, NODE("n3", "'unschedulable':true", ""));
    still_add(s, KIND_NODE, NODE("n5", "", ""));
    still_add(s, KIND_NODE, NODE("n7", "", ""));
    still_add(s, KIND_POD, POD(""));
    still_run(s);
    schedule_begin(ret, s->scheduler, cached_pod(s->scheduler, "default", "p"));
}

/* Nodes come and go between two steps: of those that come, the ones behind the place are filtered. */
TEST(steps_continue_behind_the_last_node)
{
    static const char *const expected[] = { "n1", "n3", "n6", "n7" };
    struct schedule x;
    struct still s;

    open_steps(&s, &x);
    ASSERT_INT(0, schedule_step(&x, 2, &err));
    nodes_remove(&s.scheduler->nodes, "n3");
    nodes_remove(&s.scheduler->nodes, "n5");
    put_node(&s, "n2");
    put_node(&s, "n6");
    ASSERT_INT(1, schedule_step(&x, 2, &err));
    ASSERT_INT(ARRAY_LEN(expected), x.nodes.count);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        ASSERT_STR(expected[i], x.nodes.items[i].node->obj.name);
    assert_int_equal(x.state, SCHEDULE_FITS);
    ASSERT_STR("n1", x.chosen);
    schedule_done(&x);
    still_done(&s);
}

TEST(a_chosen_node_that_has_gone_is_not_named)
{
    struct schedule x;
    struct still s;

    open_steps(&s, &x);
    ASSERT_INT(0, schedule_step(&x, 2, &err));
    nodes_remove(&s.scheduler->nodes, "n1");
    ASSERT_INT(0, schedule_step(&x, 100, &err)); /* all of them again */
    ASSERT_INT(1, schedule_step(&x, 1, &err));
    ASSERT_INT(3, x.nodes.count);
    ASSERT_STR("n5", x.chosen);
    schedule_done(&x);
    still_done(&s);
}

TEST(an_explanation_can_end_at_any_step)
{
    struct schedule x;
    struct still s;

    for (unsigned steps = 0; steps < 4; steps++) {
        open_steps(&s, &x);
        for (unsigned i = 0; i < steps; i++)
            ASSERT_INT(0, schedule_step(&x, 1, &err));
        schedule_done(&x);
        still_done(&s);
    }
}

/* --- The whole pod --- */

TEST(a_refusal_of_the_whole_pod_has_a_word_and_names_the_volume)
{
#define DELAYED "'storageClassName':'slow'"
    static const struct {
        const char *claim;
        const char *word;
        const char *message;
    } rows[] = {
        { NULL, "no-such-claim", "0/1 nodes are available: persistentvolumeclaim \"c\" not found." },
        { CLAIM("", ",'volumeName':'gone'", "'phase':'Lost'"), "claim-lost",
          "0/1 nodes are available: persistentvolumeclaim \"c\" bound to non-existent persistentvolume "
          "\"gone\"." },
        { CLAIM(",'deletionTimestamp':'2026-01-01T00:00:00Z'", "," DELAYED, ""), "claim-deleting",
          "0/1 nodes are available: persistentvolumeclaim \"c\" is being deleted." },
        { CLAIM("", ",'storageClassName':'fast'", ""), "claim-unbound",
          "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims." },
        { CLAIM("", ",'storageClassName':'unknown'", ""), "claim-unbound",
          "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims." },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct still s = { 0 };
        struct schedule x;

        still_add(&s, KIND_NODE, NODE("n1", "", ""));
        still_add(&s, KIND_CLASS, CLASS("slow", NEVER, "WaitForFirstConsumer"));
        still_add(&s, KIND_CLASS, CLASS("fast", "x.io/y", "Immediate"));
        still_add(&s, KIND_POD, POD(CLAIM_VOLUME("c")));
        if (rows[i].claim)
            still_add(&s, KIND_CLAIM, rows[i].claim);
        still_run(&s);
        ask(&s, "p", &x);
        assert_int_equal(x.state, SCHEDULE_REFUSED);
        ASSERT_STR(rows[i].word, refusal_word(x.refusal));
        ASSERT_STR(rows[i].message, buf_cstr(&x.message));
        ASSERT_STR("data", x.about->name);
        assert_int_equal(x.nodes.count, 0);
        schedule_done(&x);
        still_done(&s);
    }
}

TEST(without_nodes_there_is_nothing_to_ask)
{
    struct schedule_volume v;
    struct still s = { 0 };
    struct schedule x;

    still_add(&s, KIND_POD, POD(CLAIM_VOLUME("c")));
    still_add(&s, KIND_CLAIM, CLAIM("", "," DELAYED, ""));
    still_add(&s, KIND_CLASS, CLASS("slow", NEVER, "WaitForFirstConsumer"));
    still_add(&s, KIND_VOLUME, LOCAL("v1", "2Gi", "n1", ""));
    still_run(&s);
    ask(&s, "p", &x);
    assert_int_equal(x.state, SCHEDULE_REFUSED);
    ASSERT_STR("no-nodes", refusal_word(x.refusal));
    assert_null(x.about);
    schedule_filter_volume(&x, cached_claim(s.scheduler, "default", "c"), cached_volume(s.scheduler, "v1"),
                           &v);
    assert_int_equal(v.reject, REJECT_NODE);
    assert_null(v.node);
    schedule_done(&x);
    still_done(&s);
}

/* --- Nodes --- */

TEST(every_node_has_its_verdict_in_the_order_of_names)
{
    static const struct {
        const char *name;
        const char *word; /* NULL: it will do */
    } expected[] = { { "n1", NULL },
                     { "n2", "unschedulable" },
                     { "n3", "taint" },
                     { "n4", "node-affinity" },
                     { "n5", "too-many-pods" },
                     { "n6", NULL } };
    struct still s = { 0 };
    struct schedule x;

    still_add(&s, KIND_NODE, NODE("n6", "", ",'disk':'ssd'"));
    still_add(&s, KIND_NODE, NODE("n1", "", ",'disk':'ssd'"));
    still_add(&s, KIND_NODE, NODE("n2", "'unschedulable':true", ",'disk':'ssd'"));
    still_add(&s, KIND_NODE, NODE("n3", "'taints':[{'key':'a','effect':'NoSchedule'}]", ",'disk':'ssd'"));
    still_add(&s, KIND_NODE, NODE("n4", "", ""));
    still_add(&s, KIND_NODE, NODE("n5", "},'status':{'allocatable':{'pods':'0'}", ",'disk':'ssd'"));
    still_add(&s, KIND_POD, POD(",'nodeSelector':{'disk':'ssd'}"));
    still_run(&s);
    ask(&s, "p", &x);
    assert_int_equal(x.state, SCHEDULE_FITS);
    ASSERT_STR("n1", x.chosen);
    assert_int_equal(x.nodes.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        uint32_t reasons = x.nodes.items[i].verdict.reasons;

        ASSERT_STR(expected[i].name, x.nodes.items[i].node->obj.name);
        ASSERT_STR(expected[i].word ? expected[i].word : "",
                   reasons ? reason_word(filter_result_first(reasons)) : "");
        if (reasons)
            assert_true(strlen(reason_of_node(filter_result_first(reasons))) > 0);
    }
    ASSERT_STR("a", x.nodes.items[2].verdict.taint->key);
    schedule_done(&x);
    still_done(&s);
}

TEST(words_of_reasons_and_refusals_differ)
{
    for (unsigned i = 0; i < REASON_COUNT; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(reason_word((enum reason)i), reason_word((enum reason)k));
    for (unsigned i = 0; i < REFUSAL_COUNT; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(refusal_word((enum refusal)i), refusal_word((enum refusal)k));
}

/* --- Volumes --- */

TEST(a_volume_is_refused_for_itself_its_node_or_what_the_pod_says_of_the_node)
{
    static const struct {
        const char *name;
        enum reject reject;
        const char *node;
        uint32_t reasons;
    } rows[] = {
        { "fits", REJECT_NONE, "n1", 0 },
        { "small", REJECT_SIZE, NULL, 0 },
        { "excluded", REJECT_NONE, "n2", 1U << REASON_AFFINITY },
        { "nowhere", REJECT_NODE, NULL, 0 },
        { "either", REJECT_NONE, "n1", 0 },
        { "taken", REJECT_TAKEN, NULL, 0 },
        { "kept", REJECT_NONE, "n1", 0 },
    };
    const struct claim *c;
    struct still s = { 0 };
    struct schedule x;

    still_add(&s, KIND_NODE, NODE("n1", "", ",'disk':'ssd'"));
    still_add(&s, KIND_NODE, NODE("n2", "", ""));
    still_add(&s, KIND_CLASS, CLASS("slow", NEVER, "WaitForFirstConsumer"));
    still_add(&s, KIND_CLAIM, CLAIM("", "," DELAYED, ""));
    still_add(&s, KIND_POD, POD(",'nodeSelector':{'disk':'ssd'}" CLAIM_VOLUME("c")));
    still_add(&s, KIND_VOLUME, LOCAL("fits", "2Gi", "n1", ""));
    still_add(&s, KIND_VOLUME, LOCAL("small", "1Gi", "n1", ""));
    still_add(&s, KIND_VOLUME, LOCAL("excluded", "2Gi", "n2", ""));
    still_add(&s, KIND_VOLUME, LOCAL("nowhere", "2Gi", "n9", ""));
    still_add(&s, KIND_VOLUME, LOCAL("either", "2Gi", "n2','n1", ""));
    still_add(&s, KIND_VOLUME, LOCAL("taken", "2Gi", "n1", ",'claimRef':{'namespace':'default','name':'x'}"));
    still_add(&s, KIND_VOLUME, LOCAL("kept", "2Gi", "n1", ",'claimRef':{'namespace':'default','name':'c'}"));
    still_run(&s);
    ask(&s, "p", &x);
    c = cached_claim(s.scheduler, "default", "c");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct schedule_volume v;

        schedule_filter_volume(&x, c, cached_volume(s.scheduler, rows[i].name), &v);
        if (v.reject != rows[i].reject || v.reasons != rows[i].reasons)
            fail_msg("%s: %s, %#x", rows[i].name, reject_names[v.reject], v.reasons);
        ASSERT_STR(rows[i].node ? rows[i].node : "", v.node ? v.node->obj.name : "");
    }
    /* Looked for node by node it ends, sooner or later. */
    x.checks_left = 0;
    struct schedule_volume v;
    schedule_filter_volume(&x, c, cached_volume(s.scheduler, "small"), &v);
    assert_int_equal(v.reject, REJECT_SIZE);
    schedule_done(&x);
    still_done(&s);
}

TEST(a_volume_that_is_assumed_to_another_is_taken)
{
    struct schedule_volume v;
    const struct volume *volume;
    struct still s = { 0 };
    struct schedule x;

    still_add(&s, KIND_NODE, NODE("n1", "", ""));
    still_add(&s, KIND_CLASS, CLASS("slow", NEVER, "WaitForFirstConsumer"));
    still_add(&s, KIND_CLAIM, CLAIM("", "," DELAYED, ""));
    still_add(&s, KIND_POD, POD(CLAIM_VOLUME("c")));
    still_add(&s, KIND_VOLUME, LOCAL("v", "2Gi", "n1", ""));
    still_run(&s);
    volume = cached_volume(s.scheduler, "v");
    assert_int_equal(assume_volume(&s.scheduler->assumed, volume, "u-other", "u-pod"), 0);
    ask(&s, "p", &x);
    assert_int_equal(x.state, SCHEDULE_NO_NODE);
    schedule_filter_volume(&x, cached_claim(s.scheduler, "default", "c"), volume, &v);
    assert_int_equal(v.reject, REJECT_TAKEN);
    assert_true(v.is_assumed);
    schedule_done(&x);
    still_done(&s);
}

/* --- At work --- */

TEST(a_pod_at_work_is_set_aside_or_on_its_way)
{
    struct still s = { 0 };
    struct schedule x;

    still_add(&s, KIND_NODE, NODE("n1", "", ""));
    still_add(&s, KIND_CLASS, CLASS("slow", NEVER, "WaitForFirstConsumer"));
    still_add(&s, KIND_CLAIM, CLAIM("", "," DELAYED, ""));
    still_add(&s, KIND_VOLUME, LOCAL("v", "2Gi", "n1", ""));
    still_add(&s, KIND_POD, POD(CLAIM_VOLUME("c")));
    still_add(&s, KIND_POD,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'q','namespace':'default','uid':'u-q',"
              "'resourceVersion':'1'},'spec':{'schedulerName':'default-scheduler','containers':[{'name':'c',"
              "'image':'i'}],'nodeSelector':{'a':'b'}}}");
    still_run(&s);
    still_start_scheduler(&s);
    for (int i = 0; i < 2; i++) { /* asking changes nothing */
        ask(&s, "p", &x);
        assert_true(x.is_live);
        assert_int_equal(x.state, SCHEDULE_BINDING);
        ASSERT_STR("n1", x.chosen);
        assert_false(x.is_written);
        assert_int_equal(x.claims.count, 1);
        ASSERT_STR("c", x.claims.items[0].claim->obj.name);
        ASSERT_STR("v", x.claims.items[0].volume->obj.name);
        schedule_done(&x);
        ask(&s, "q", &x);
        assert_int_equal(x.state, SCHEDULE_NO_NODE);
        assert_int_equal(x.place, SCHEDULE_ASIDE);
        assert_int_equal(x.attempts, 1);
        assert_int_equal(x.since_ns, NS_PER_S);
        schedule_done(&x);
        assert_int_equal(s.scheduler->bindings_count, 1);
        assert_int_equal(s.scheduler->queue.counts[QUEUE_UNSCHEDULABLE], 1);
    }
    still_done(&s);
}

/* Who follows can start later, and schedules what is there. */
TEST(a_scheduler_that_follows_can_be_started)
{
    struct still s = { 0 };
    struct schedule x;

    still_add(&s, KIND_NODE, NODE("n1", "", ""));
    still_add(&s, KIND_POD, POD(""));
    still_run(&s);
    ask(&s, "p", &x);
    assert_int_equal(x.state, SCHEDULE_FITS);
    schedule_done(&x);
    while (loop_poll(s.loop))
        ;
    assert_int_equal(s.scheduler->bindings_count, 0);
    still_start_scheduler(&s);
    assert_int_equal(s.scheduler->bindings_count, 1);
    still_done(&s);
}

/* --- Agreement --- */

/* A pod, and nodes, of which not all will do for other reasons than volumes. */
static void add_pod_and_nodes(struct still *s, const struct model *m, struct rng *r, int only)
{
    char text[TEXT_MAX];

    pod_text(m, /* is_new= */ false, text);
    (void)snprintf(text + strlen(text) - 3, 128, "],'schedulerName':'default-scheduler'%s}}",
                   rng_chance(r, 30) ? ",'nodeSelector':{'zone':'a'}" : "");
    still_add(s, KIND_POD, text);
    for (int i = 0; i < m->nodes_count; i++) {
        node_text(m, i, /* is_new= */ false, text);
        if (rng_chance(r, 15))
            (void)snprintf(text + strlen(text) - 2, 64, "'unschedulable':true}}");
        if (only < 0 || only == i)
            still_add(s, KIND_NODE, text);
    }
}

/* The world, or one in which there is that node alone or that volume alone; -1: all. */
static void build(struct still *s, uint64_t seed, int node, int volume, struct model *ret)
{
    struct rng r;

    memset(s, 0, sizeof *s);
    rng_init(&r, seed);
    model_random(&r, ret);
    add_pod_and_nodes(s, ret, &r, node);
    still_add_volumes(s, ret, volume);
    still_add_claims(s, ret);
    still_run(s);
    still_promise(s, ret);
}

static bool takes_it(uint64_t seed, int node)
{
    struct model m;
    struct still s;
    bool takes;

    build(&s, seed, node, /* volume= */ -1, &m);
    still_start_scheduler(&s);
    /* One that rests had the node, and then a promise of another pod was in its way. */
    takes = s.scheduler->bindings_count > 0 || s.scheduler->queue.counts[QUEUE_BACKOFF] > 0;
    if (!takes)
        assert_int_equal(s.scheduler->queue.counts[QUEUE_UNSCHEDULABLE], 1);
    still_done(&s);
    return takes;
}

/* What is said of a node is what the scheduler does when there is no other. */
TEST(what_is_said_of_a_node_is_what_happens_on_it)
{
    unsigned taken = 0, refused = 0;

    for (uint64_t seed = 1; seed <= WORLDS; seed += tests_share()) {
        struct schedule x;
        struct model m;
        struct still s;

        build(&s, seed, -1, -1, &m);
        ask(&s, "p0", &x);
        for (int i = 0; i < m.nodes_count; i++) {
            bool says = x.state != SCHEDULE_REFUSED && x.nodes.items[i].verdict.reasons == 0;

            if (takes_it(seed, i) != says)
                fail_msg("world %llu, node n%d: it is said to be %s", (unsigned long long)seed, i,
                         says ? "good" : "no good");
            *(says ? &taken : &refused) += 1;
        }
        schedule_done(&x);
        still_done(&s);
    }
    assert_true(taken > WORLDS / tests_share() / 4);
    assert_true(refused > WORLDS / tests_share() / 4);
}

/* One claim that nobody provisions for, and one volume: it is taken when that is said of it. */
TEST(what_is_said_of_a_volume_is_what_happens_to_it)
{
    unsigned taken = 0, refused = 0;

    for (uint64_t seed = 1; seed <= WORLDS * 10; seed += tests_share()) {
        struct model m;
        struct rng r;

        rng_init(&r, seed);
        model_random(&r, &m);
        if (m.claims_count != 1 || !is_unbound(&m.claims[0]) || m.claims[0].node != NONE ||
            m.classes[m.claims[0].class].provisions)
            continue;
        for (int i = 0; i < m.volumes_count; i++) {
            const struct claim *c;
            struct schedule_volume v;
            struct schedule x;
            struct still s;
            char name[16];

            (void)snprintf(name, sizeof name, "v%d", i);
            build(&s, seed, -1, i, &m);
            ask(&s, "p0", &x);
            c = cached_claim(s.scheduler, "default", "c0");
            schedule_filter_volume(&x, c, cached_volume(s.scheduler, name), &v);
            if ((v.reject == REJECT_NONE && v.reasons == 0) != (x.state == SCHEDULE_FITS))
                fail_msg("world %llu, volume v%d: %s", (unsigned long long)seed, i, reject_names[v.reject]);
            *(x.state == SCHEDULE_FITS ? &taken : &refused) += 1;
            schedule_done(&x);
            still_done(&s);
        }
    }
    assert_true(taken > 50 / tests_share());
    assert_true(refused > 50 / tests_share());
}

TEST_MAIN()
