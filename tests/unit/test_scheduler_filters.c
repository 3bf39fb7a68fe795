/* What nodes themselves say to a pod, and how a refusal is told: rows of nodes and a pod, and where the pod
 * ends or what its condition says. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"

#include "tests/unit/test.h"

#include "scheduler/scheduler_int.h"

#define CLOSED "'unschedulable':true"
#define TAINTS \
    "'taints':[{'key':'a','value':'b','effect':'NoSchedule'},{'key':'c','value':'d','effect':'NoExecute'}]"
#define NODES_MAX 4

struct row {
    struct {
        const char *name, *labels, *spec;
    } nodes[NODES_MAX];
    const char *pod;  /* members of its spec, with a comma in front */
    const char *says; /* NULL: it gets a node … */
    const char *on;   /* … this one */
};

/* The pod is p. */
static void begin(struct world *w, const struct row *row)
{
    scheduling_init(w);
    for (size_t i = 0; i < NODES_MAX && row->nodes[i].name; i++)
        add_node(w, row->nodes[i].name, row->nodes[i].labels, row->nodes[i].spec);
    world_start(w);
    add_pod(w, "p", "", "", row->pod);
    world_settle_for(w, 0);
}

static void play(const struct row *row)
{
    struct world w;

    begin(&w, row);
    if (row->says)
        assert_pending(&w, "p", "Unschedulable", row->says);
    else
        assert_on(&w, "p", row->on);
    assert_int_equal(count_events(&w, "p", "FailedScheduling", row->says), row->says ? 1 : 0);
    world_done(&w);
}

static void play_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}

/* --- Closed nodes and taints --- */

/* scheduler-1, scheduler-2 */
TEST(scheduler_1_2_closed_node)
{
    static const struct row rows[] = {
        { { { "n", "", CLOSED } }, "", "0/1 nodes are available: 1 node(s) were unschedulable.", NULL },
        { { { "n", "", CLOSED } },
          ",'tolerations':[{'key':'node.kubernetes.io/"
          "unschedulable','operator':'Exists','effect':'NoSchedule'"
          "}]",
          NULL,
          "n" },
        /* Of another effect: no help. */
        { { { "n", "", CLOSED } },
          ",'tolerations':[{'key':'node.kubernetes.io/unschedulable','operator':'Exists','effect':'NoExecute'"
          "}]",
          "0/1 nodes are available: 1 node(s) were unschedulable.",
          NULL },
        { { { "n", "", CLOSED } }, ",'tolerations':[{'operator':'Exists'}]", NULL, "n" },
        { { { "a", "", CLOSED }, { "b", "", "" } }, "", NULL, "b" },
    };

    play_all(rows, ARRAY_LEN(rows));
}

/* scheduler-3, scheduler-4 */
TEST(scheduler_3_4_taints)
{
    static const struct row rows[] = {
        { { { "n", "", TAINTS } }, "", "0/1 nodes are available: 1 node(s) had untolerated taint(s).", NULL },
        { { { "n", "", TAINTS } },
          ",'tolerations':[{'key':'a','operator':'Exists'}]",
          "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
          NULL },
        { { { "n", "", TAINTS } },
          ",'tolerations':[{'key':'a','value':'x'},{'key':'c','value':'d'}]",
          "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
          NULL },
        { { { "n", "", TAINTS } },
          ",'tolerations':[{'key':'a','operator':'Equal','value':'b','effect':'NoSchedule'},{'key':'c',"
          "'value':'d','effect':'NoExecute'}]",
          NULL,
          "n" },
        /* One that would rather not refuses nobody. */
        { { { "n", "", "'taints':[{'key':'a','effect':'PreferNoSchedule'}]" } }, "", NULL, "n" },
        /* Nodes with taints are counted together, whatever these are. */
        { { { "n1", "", "'taints':[{'key':'a','effect':'NoSchedule'}]" },
            { "n2", "", "'taints':[{'key':'a','effect':'NoExecute'}]" },
            { "n3", "", "'taints':[{'key':'a','value':'b','effect':'NoSchedule'}]" } },
          "",
          "0/3 nodes are available: 3 node(s) had untolerated taint(s).",
          NULL },
        /* The first judge speaks for a node: closed comes before tainted. */
        { { { "n", "", CLOSED "," TAINTS } },
          "",
          "0/1 nodes are available: 1 node(s) were unschedulable.",
          NULL },
    };

    play_all(rows, ARRAY_LEN(rows));
}

/* --- Affinity --- */

#define REQUIRED(terms)                                                                                   \
    ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':" \
    "[" terms "]}}}"
#define EXPRESSION(rest) "{'matchExpressions':[{" rest "}]}"
#define NAMED(name) "{'matchFields':[{'key':'metadata.name','operator':'In','values':['" name "']}]}"
#define NO_MATCH "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."

/* scheduler-5 */
TEST(scheduler_5_node_selector)
{
    static const struct row rows[] = {
        { { { "n1", "", "" }, { "n2", "", "" }, { "n3", "'x':'y'", CLOSED } },
          ",'nodeSelector':{'x':'y'}",
          "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node "
          "affinity/selector.",
          NULL },
        { { { "n1", "'x':'z'", "" }, { "n2", "'x':'y'", "" } }, ",'nodeSelector':{'x':'y'}", NULL, "n2" },
        { { { "n1", "'x':'y'", "" } }, ",'nodeSelector':{'x':'y','v':'w'}", NO_MATCH, NULL },
        /* Both must match. */
        { { { "n1", "'x':'y'", "" } },
          ",'nodeSelector':{'x':'y'}" REQUIRED(EXPRESSION("'key':'x','operator':'DoesNotExist'")),
          NO_MATCH,
          NULL },
    };

    play_all(rows, ARRAY_LEN(rows));
}

/* scheduler-6, scheduler-7, scheduler-8 */
TEST(scheduler_6_7_8_required_affinity)
{
    static const struct row rows[] = {
        { { { "n", "", "" } }, REQUIRED("{}"), NO_MATCH, NULL },
        /* An empty term takes nothing away from another. */
        { { { "n", "'z':'1'", "" } },
          REQUIRED("{}," EXPRESSION("'key':'z','operator':'Exists'")),
          NULL,
          "n" },
        { { { "n", "", "" } },
          REQUIRED(EXPRESSION("'key':'zone','operator':'NotIn','values':['a']")),
          NULL,
          "n" },
        { { { "n", "'zone':'a'", "" } },
          REQUIRED(EXPRESSION("'key':'zone','operator':'NotIn','values':['a']")),
          NO_MATCH,
          NULL },
        { { { "n", "'zone':'b'", "" } },
          REQUIRED(EXPRESSION("'key':'zone','operator':'In','values':['a','b']")),
          NULL,
          "n" },
        { { { "n", "", "" } },
          REQUIRED(EXPRESSION("'key':'zone','operator':'In','values':['a','b']")),
          NO_MATCH,
          NULL },
        { { { "n", "'cpu':'8'", "" } },
          REQUIRED(EXPRESSION("'key':'cpu','operator':'Gt','values':['4']")),
          NULL,
          "n" },
        { { { "n", "'cpu':'4'", "" } },
          REQUIRED(EXPRESSION("'key':'cpu','operator':'Gt','values':['4']")),
          NO_MATCH,
          NULL },
        { { { "n", "'cpu':'abc'", "" } },
          REQUIRED(EXPRESSION("'key':'cpu','operator':'Gt','values':['4']")),
          NO_MATCH,
          NULL },
        { { { "n", "", "" } },
          REQUIRED(EXPRESSION("'key':'cpu','operator':'Gt','values':['4']")),
          NO_MATCH,
          NULL },
        { { { "n", "'cpu':'3'", "" } },
          REQUIRED(EXPRESSION("'key':'cpu','operator':'Lt','values':['4']")),
          NULL,
          "n" },
        /* Within a term all, of the terms one. */
        { { { "n", "'a':'1'", "" } },
          REQUIRED("{'matchExpressions':[{'key':'a','operator':'Exists'},{'key':'b','operator':'Exists'}]}"),
          NO_MATCH,
          NULL },
        { { { "n", "'a':'1'", "" } },
          REQUIRED(
              EXPRESSION("'key':'b','operator':'Exists'") "," EXPRESSION("'key':'a','operator':'Exists'")),
          NULL,
          "n" },
    };

    play_all(rows, ARRAY_LEN(rows));
}

/* scheduler-9, and what else names nodes. */
TEST(scheduler_9_nodes_by_name)
{
    static const struct row rows[] = {
        { { { "a", "", "" }, { "b", "", "" }, { "c", "", "" } },
          REQUIRED(NAMED("n1")),
          "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity].",
          NULL },
        { { { "a", "", "" }, { "b", "", "" } }, REQUIRED(NAMED("b")), NULL, "b" },
        { { { "a", "", "" }, { "b", "", "" } }, REQUIRED(NAMED("x") "," NAMED("b")), NULL, "b" },
        /* The named node has a reason of its own. */
        { { { "a", "", "" }, { "b", "", CLOSED } },
          REQUIRED(NAMED("b")),
          "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 1 node(s) were "
          "unschedulable.",
          NULL },
        { { { "a", "", "" } },
          REQUIRED("{'matchFields':[{'key':'metadata.name','operator':'In','values':['a']},{'key':"
                   "'metadata.name','operator':'In','values':['b']}]}"),
          "0/1 nodes are available: pod affinity terms conflict.",
          NULL },
        /* A term that names none leaves all of them in. */
        { { { "a", "", "" }, { "b", "'z':'1'", "" } },
          REQUIRED(NAMED("x") "," EXPRESSION("'key':'z','operator':'Exists'")),
          NULL,
          "b" },
        { { { "a", "", "" } },
          REQUIRED("{'matchFields':[{'key':'metadata.name','operator':'NotIn','values':['a']}]}"),
          NO_MATCH,
          NULL },
        /* One whose term conflicts with itself leaves the other. */
        { { { "a", "", "" }, { "b", "", "" } },
          REQUIRED("{'matchFields':[{'key':'metadata.name','operator':'In','values':['a']},{'key':"
                   "'metadata.name','operator':'In','values':['b']}]}," NAMED("b")),
          NULL,
          "b" },
    };

    play_all(rows, ARRAY_LEN(rows));
}

/* --- Room --- */

/* What a node does not say it has is there without end; pods on it count. */
TEST(room)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n", "", "");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n/status",
                "{'status':{'allocatable':{'cpu':'1','memory':'1Gi','pods':'3'}}}");
    world_start(&w);
    for (int i = 0; i < 3; i++) {
        static const char *const asks[] = { "'cpu':'600m'", "'cpu':'600m','memory':'2Gi'", "'memory':'1Gi'" };
        char name[8], body[512];

        (void)snprintf(name, sizeof name, "p%d", i);
        (void)snprintf(
            body, sizeof body,
            "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'containers':[{'name'"
            ":'c','image':'i','resources':{'requests':{%s}}}]}}",
            name, asks[i]);
        ASSERT_SENT(&w.served, 201, "POST", PODS, body);
        world_settle_for(&w, 0);
    }
    assert_on(&w, "p0", "n");
    assert_pending(&w, "p1", "Unschedulable",
                   "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.");
    assert_on(&w, "p2", "n");
    add_pod(&w, "p3", "", "", "");
    world_settle_for(&w, 0);
    assert_on(&w, "p3", "n");
    add_pod(&w, "p4", "", "", "");
    world_settle_for(&w, 0);
    assert_pending(&w, "p4", "Unschedulable", "0/1 nodes are available: 1 Too many pods.");
    /* One that ends makes room. */
    set_pod_phase(&w, "p3", "Succeeded");
    world_settle_for(&w, 1);
    assert_on(&w, "p4", "n");
    world_done(&w);
}

/* --- Whose pods --- */

/* scheduler-11 */
TEST(scheduler_11_no_nodes)
{
    static const struct row row = { .pod = "", .says = "no nodes available to schedule pods" };
    struct world w;

    play(&row);
    /* The first node that comes takes it. */
    begin(&w, &row);
    add_node(&w, "n", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* scheduler-12, scheduler-13 and pods behind gates */
TEST(scheduler_12_13_not_ours)
{
    static const struct {
        const char *pod;
        const char *on;
    } rows[] = { { ",'nodeName':'elsewhere'", "elsewhere" },
                 { ",'schedulerName':'other'", "" },
                 { ",'schedulingGates':[{'name':'g'}]", "" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        scheduling_init(&w);
        add_node(&w, "n", "", "");
        world_start(&w);
        add_pod(&w, "p", "", "", rows[i].pod);
        world_settle(&w);
        assert_on(&w, "p", rows[i].on);
        assert_int_equal(count_events(&w, "p", NULL, NULL), 0);
        assert_int_equal(count_writes(&w, "P"), 0);
        world_done(&w);
    }
}

/* A pod whose gate opens is ours from then on. */
TEST(gate_opens)
{
    static const struct row row = { .nodes = { { "n", "", "" } },
                                    .pod = ",'schedulingGates':[{'name':'g'}]" };
    struct world w;

    begin(&w, &row);
    assert_on(&w, "p", "");
    ASSERT_SENT(&w.served, 200, "MERGE", PODS "/p", "{'spec':{'schedulingGates':[]}}");
    world_settle_for(&w, 0);
    assert_on(&w, "p", "n");
    world_done(&w);
}

/* A name of our own: the pods that ask for it, and no others. */
TEST(other_name)
{
    struct world w;

    scheduling_init(&w);
    scheduling.name = "berth";
    add_node(&w, "n", "", "");
    world_start(&w);
    add_pod(&w, "ours", "", "", ",'schedulerName':'berth'");
    add_pod(&w, "theirs", "", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "ours", "n");
    assert_on(&w, "theirs", "");
    world_done(&w);
}

/* It goes before its turn: told, and dropped. */
TEST(deleting_pod_is_skipped)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n", "", "");
    ASSERT_SENT(&w.served, 201, "POST", PODS,
                "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','finalizers':['x.io/f']},'spec':{"
                "'containers':[{'name':'c','image':'i'}]}}");
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p", NULL);
    world_start(&w);
    world_settle(&w);
    assert_on(&w, "p", "");
    assert_int_equal(count_events(&w, "p", "FailedScheduling", "skip schedule deleting pod: default/p"), 1);
    assert_int_equal(count_writes(&w, "PATCH "), 0);
    assert_int_equal(count_writes(&w, "POST " PODS), 0);
    world_done(&w);
}

/* --- Choice --- */

/* Nodes that would rather not come last, those that the pod prefers first; then fewest pods, then the name.
 */
TEST(choice)
{
    static const struct row rows[] = {
        { { { "a", "", "'taints':[{'key':'k','effect':'PreferNoSchedule'}]" }, { "b", "", "" } },
          "",
          NULL,
          "b" },
        { { { "a", "", "'taints':[{'key':'k','effect':'PreferNoSchedule'}]" }, { "b", "", "" } },
          ",'tolerations':[{'key':'k','operator':'Exists','effect':'PreferNoSchedule'}]",
          NULL,
          "a" },
        { { { "a", "", "" }, { "b", "'ssd':'1'", "" } },
          ",'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,"
          "'preference':{'matchExpressions':[{'key':'ssd','operator':'Exists'}]}}]}}",
          NULL,
          "b" },
        /* A taint weighs more: three against two. */
        { { { "a", "", "" }, { "b", "'ssd':'1'", "'taints':[{'key':'k','effect':'PreferNoSchedule'}]" } },
          ",'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,"
          "'preference':{'matchExpressions':[{'key':'ssd','operator':'Exists'}]}}]}}",
          NULL,
          "a" },
    };
    struct world w;

    play_all(rows, ARRAY_LEN(rows));
    scheduling_init(&w);
    add_node(&w, "b", "", "");
    add_node(&w, "a", "", "");
    world_start(&w);
    add_pod(&w, "p1", "", "", "");
    add_pod(&w, "p2", "", "", "");
    add_pod(&w, "p3", "", "", ",'nodeName':'a'");
    world_settle_for(&w, 0);
    assert_on(&w, "p1", "a");
    assert_on(&w, "p2", "b");
    add_pod(&w, "p4", "", "", "");
    world_settle_for(&w, 0);
    assert_on(&w, "p4", "b");
    world_done(&w);
}

/* --- How it is told --- */

/* Where the event of that reason is in the list that was looked at last. */
static const char *of_event(struct world *w, const char *reason, const char *member)
{
    static char path[128];

    for (size_t i = 0, n = got_items(&w->served); i < n; i++) {
        (void)snprintf(path, sizeof path, "items/%zu/reason", i);
        if (strcmp(got(&w->served, path), reason) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/%s", i, member);
        return path;
    }
    fail_msg("no event %s in\n%s", reason, w->served.text.data);
    return "";
}

/* All that an event says: of a pod that was refused, and then bound. */
TEST(members_of_events)
{
    static const struct {
        const char *reason, *member, *value;
    } rows[] = {
        { "FailedScheduling", "type", "Warning" },
        { "FailedScheduling", "action", "Scheduling" },
        { "FailedScheduling", "note", "0/1 nodes are available: 1 node(s) were unschedulable." },
        { "FailedScheduling", "regarding/kind", "Pod" },
        { "FailedScheduling", "regarding/name", "p" },
        { "FailedScheduling", "reportingController", "default-scheduler" },
        { "FailedScheduling", "reportingInstance", "default-scheduler-here" },
        { "Scheduled", "type", "Normal" },
        { "Scheduled", "action", "Binding" },
        { "Scheduled", "note", "Successfully assigned default/p to n" },
        { "Scheduled", "reportingController", "default-scheduler" },
        { "Scheduled", "reportingInstance", "default-scheduler-here" },
    };
    static const struct row row = { .nodes = { { "n", "", CLOSED } }, .pod = "" };
    struct world w;

    begin(&w, &row);
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n", "{'spec':{'unschedulable':null}}");
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    ASSERT_GOT(&w.served, "True", "status/conditions/0/status");
    ASSERT_SENT(&w.served, 200, "GET", NEW_EVENTS, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_GOT(&w.served, rows[i].value, of_event(&w, rows[i].reason, rows[i].member));
    world_done(&w);
}

/* scheduler-10 */
TEST(scheduler_10_order_of_reasons)
{
    struct world w;
    char name[16];

    scheduling_init(&w);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        add_node(&w, name, "", i < 10 ? "'taints':[{'key':'a','effect':'NoSchedule'}]" : CLOSED);
    }
    world_start(&w);
    add_pod(&w, "p", "", "", "");
    world_settle_for(&w, 0);
    assert_pending(&w, "p", "Unschedulable",
                   "0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 node(s) were "
                   "unschedulable.");
    world_done(&w);
}

/* scheduler-70: the event's note is cut, the condition is not. No reason is that long today. */
TEST(scheduler_70_long_message)
{
    char whole[2048], note[1025];
    struct world w;

    memset(whole, 'm', sizeof whole - 1);
    whole[sizeof whole - 1] = '\0';
    scheduling_init(&w);
    world_start(&w);
    add_pod(&w, "p", "", "", "");
    world_settle_for(&w, 1);
    report_failure(w.scheduler, &(struct queued_pod){ .pod = cached_pod(w.scheduler, "default", "p") },
                   "Unschedulable", str_of(whole));
    world_settle_for(&w, 1);
    assert_pending(&w, "p", "Unschedulable", whole);
    (void)snprintf(note, sizeof note, "%.1020s ...", whole);
    assert_int_equal(count_events(&w, "p", "FailedScheduling", note), 1);
    world_done(&w);
}

static void poke(struct world *w, const char *value)
{
    char body[128];

    (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'poke':'%s'}}}", value);
    ASSERT_SENT(&w->served, 200, "MERGE", NODES "/n", body);
    world_rest(w);
}

#define ATTEMPTS "scheduler_schedule_attempts_total{result=\"unschedulable\",profile=\"default-scheduler\"}"

/* scheduler-71: what happens does not help. The pod comes again after its rest, however often it happens; the
 * condition, which says the same, is written once. */
TEST(scheduler_71_unchanged_failure)
{
    static const struct row row = { .nodes = { { "n", "", "" } }, .pod = ",'nodeSelector':{'x':'y'}" };
    static const char *const values[] = { "0", "1", "2", "3", "4", "5" };
    char version[64];
    struct world w;

    begin(&w, &row);
    assert_pending(&w, "p", "Unschedulable", NO_MATCH);
    (void)snprintf(version, sizeof version, "%s", got(&w.served, "metadata/resourceVersion"));
    ASSERT_INT(1, (int)number_of(&w, ATTEMPTS));
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        poke(&w, values[i]);
    ASSERT_INT(1, (int)number_of(&w, ATTEMPTS));
    world_settle_for(&w, 1);
    ASSERT_INT(2, (int)number_of(&w, ATTEMPTS));
    /* Nothing happens: nothing is tried. */
    world_settle_for(&w, 200);
    ASSERT_INT(2, (int)number_of(&w, ATTEMPTS));
    assert_pending(&w, "p", "Unschedulable", NO_MATCH);
    ASSERT_GOT(&w.served, version, "metadata/resourceVersion");
    ASSERT_INT(1, (int)count_writes(&w, "PATCH " PODS "/p/status"));
    world_done(&w);
}

/* Another reason is told at once; the time of the change is that of the first refusal. */
TEST(condition_follows)
{
    static const struct row row = { .nodes = { { "n", "", CLOSED } }, .pod = ",'nodeSelector':{'x':'y'}" };
    char since[64];
    struct world w;

    begin(&w, &row);
    assert_pending(&w, "p", "Unschedulable", "0/1 nodes are available: 1 node(s) were unschedulable.");
    (void)snprintf(since, sizeof since, "%s", got(&w.served, "status/conditions/0/lastTransitionTime"));
    served_pass(&w.served, 20);
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n", "{'spec':{'unschedulable':null}}");
    world_rest(&w);
    assert_pending(&w, "p", "Unschedulable", NO_MATCH);
    ASSERT_GOT(&w.served, since, "status/conditions/0/lastTransitionTime");
    world_done(&w);
}

TEST_MAIN()
