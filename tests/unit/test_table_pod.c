#include "tests/unit/test_table.h"

#include "base/cleanup.h"

/* Ready, status and restarts of a pod with these members behind its metadata, as "1/2 Running 0". */
static const char *pod_summary(const char *meta, const char *rest)
{
    static char summary[256];
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    struct str cells[4] = { { 0 } };
    uint32_t i = 0;
    json_ref v;

    json_init(&d, 1 << 20);
    buf_addf(&text, "{'metadata':{'name':'p'%s},%s}", meta, rest);
    ASSERT_OK(json_parse(&d, str_of(table_cells(KIND_POD, buf_cstr(&text))), &v, &err));
    for (json_ref m = json_first(&d, v); m && i < ARRAY_LEN(cells); m = json_next(&d, m))
        cells[i++] = json_text(&d, m);
    (void)snprintf(summary, sizeof summary, "%.*s %.*s %.*s", STR_ARG(cells[1]), STR_ARG(cells[2]),
                   STR_ARG(cells[3]));
    return summary;
}

struct pod_row {
    const char *expected;
    const char *rest;
};

static void check_pods(const char *meta, const struct pod_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ASSERT_STR(rows[i].expected, pod_summary(meta, rows[i].rest));
}

#define ONE "'spec':{'containers':[{'name':'a'}]}"
#define TWO "'spec':{'containers':[{'name':'a'},{'name':'b'}]}"
#define RUNNING(name) "{'name':'" name "','ready':true,'started':true,'state':{'running':{}}}"
#define DONE(name) "{'name':'" name "','state':{'terminated':{'exitCode':0,'reason':'Completed'}}}"

TEST(pod_status_is_the_phase_or_the_reason)
{
    static const struct pod_row rows[] = {
        { "0/0  0", "'spec':{}" },
        { "0/1 Pending 0", ONE ",'status':{'phase':'Pending'}" },
        { "0/1 VolumesReady 0", ONE
          ",'status':{'phase':'Pending','conditions':[{'type':'volumes.berth.io/ready','status':'True'}]}" },
        { "0/1 Pending 0", ONE ",'status':{'phase':'Pending','conditions':[{'type':'volumes.berth.io/ready',"
                               "'status':'False'}]}" },
        { "0/1 ContainerCreating 0",
          ONE ",'status':{'phase':'Pending','conditions':[{'type':'volumes.berth.io/ready','status':'True'}],"
              "'containerStatuses':[{'name':'a','state':{'waiting':{'reason':'ContainerCreating'}}}]}" },
        { "1/1 Running 0",
          ONE ",'status':{'phase':'Running','conditions':[{'type':'volumes.berth.io/ready','status':'True'}],"
              "'containerStatuses':[" RUNNING("a") "]}" },
        { "0/1 Evicted 0", ONE ",'status':{'phase':'Failed','reason':'Evicted'}" },
        { "0/1 SchedulingGated 0",
          ONE ",'status':{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False',"
              "'reason':'SchedulingGated'}]}" },
        { "0/1 Pending 0",
          ONE ",'status':{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False',"
              "'reason':'Unschedulable'},{'type':'X','reason':'SchedulingGated'}]}" },
        { "1/1 Running 0", ONE ",'status':{'phase':'Running','containerStatuses':[" RUNNING("a") "]}" },
        { "0/1 Running 0", ONE ",'status':{'phase':'Running','containerStatuses':[{'name':'a','ready':false,'"
                               "state':{'running':{}}}]}" },
    };

    check_pods("", rows, ARRAY_LEN(rows));
}

TEST(pod_status_is_what_a_container_says)
{
    static const struct pod_row rows[] = {
        { "0/1 ImagePullBackOff 0",
          ONE ",'status':{'phase':'Pending','containerStatuses':[{'name':'a','state':{'waiting':"
              "{'reason':'ImagePullBackOff'}}}]}" },
        { "0/1 Pending 0",
          ONE ",'status':{'phase':'Pending','containerStatuses':[{'name':'a','state':{'waiting':{}}}]}" },
        { "0/1 Completed 0", ONE ",'status':{'phase':'Succeeded','containerStatuses':[" DONE("a") "]}" },
        { "0/1 ExitCode:3 0",
          ONE ",'status':{'phase':'Failed','containerStatuses':[{'name':'a','state':{'terminated':"
              "{'exitCode':3}}}]}" },
        { "0/1 Signal:9 0",
          ONE ",'status':{'phase':'Failed','containerStatuses':[{'name':'a','state':{'terminated':"
              "{'exitCode':137,'signal':9}}}]}" },
        /* of several the first has the last word */
        { "0/2 Error 0",
          TWO ",'status':{'phase':'Running','containerStatuses':[{'name':'a','state':{'terminated':{'reason':"
              "'Error',"
              "'exitCode':1}}},{'name':'b','state':{'waiting':{'reason':'CrashLoopBackOff'}}}]}" },
        { "1/2 CrashLoopBackOff 0",
          TWO ",'status':{'phase':'Running','containerStatuses':[" RUNNING(
              "a") ",{'name':'b','state':{'waiting':{'reason':'CrashLoopBackOff'}}}]}" },
        /* one done and one running: the pod runs when it is ready */
        { "1/2 NotReady 0",
          TWO ",'status':{'phase':'Running','containerStatuses':[" DONE("a") "," RUNNING("b") "]}" },
        { "1/2 Running 0", TWO ",'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}],"
                               "'containerStatuses':[" DONE("a") "," RUNNING("b") "]}" },
        { "0/2 Completed 0",
          TWO ",'status':{'phase':'Running','containerStatuses':[" DONE("a") "," DONE("b") "]}" },
    };

    check_pods("", rows, ARRAY_LEN(rows));
}

#define INIT2 "'spec':{'initContainers':[{'name':'i'},{'name':'j'}],'containers':[{'name':'a'}]}"
#define WAITING_A "{'name':'a','restartCount':4,'state':{'waiting':{'reason':'PodInitializing'}}}"
#define INIT_STATUS(init)                                                                                   \
    INIT2 ",'status':{'phase':'Pending','initContainerStatuses':[" init "],'containerStatuses':[" WAITING_A \
          "]}"

TEST(pod_status_tells_how_far_initialization_is)
{
    static const struct pod_row rows[] = {
        { "0/1 Init:0/2 1",
          INIT_STATUS("{'name':'i','restartCount':1,'state':{'running':{}}},{'name':'j'}") },
        { "0/1 Init:1/2 0",
          INIT_STATUS(DONE("i") ",{'name':'j','state':{'waiting':{'reason':'PodInitializing'}}}") },
        { "0/1 Init:1/2 0", INIT_STATUS(DONE("i") ",{'name':'j','state':{'waiting':{}}}") },
        { "0/1 Init:ErrImagePull 0",
          INIT_STATUS("{'name':'i','state':{'waiting':{'reason':'ErrImagePull'}}}") },
        { "0/1 Init:Error 2",
          INIT_STATUS("{'name':'i','restartCount':2,'state':{'terminated':{'exitCode':1,'reason':'Error'}}},"
                      "{'name':'j','restartCount':100,'state':{'waiting':{'reason':'PodInitializing'}}}") },
        { "0/1 Init:ExitCode:5 0", INIT_STATUS("{'name':'i','state':{'terminated':{'exitCode':5}}}") },
        { "0/1 Init:Signal:15 0",
          INIT_STATUS("{'name':'i','state':{'terminated':{'exitCode':1,'signal':15}}}") },
        /* done: the containers proper have the word, and the restarts */
        { "0/1 PodInitializing 4", INIT_STATUS(DONE("i") "," DONE("j")) },
        /* an init container that runs again later is nobody's concern */
        { "1/1 Running 0", INIT2
          ",'status':{'phase':'Running','conditions':[{'type':'Initialized','status':'True'}],"
          "'initContainerStatuses':[" DONE("i") "," DONE("j") "],'containerStatuses':[" RUNNING("a") "]}" },
        /* initialized although the statuses do not say so: the status word stays, the rest is counted */
        { "1/1 Init:0/2 0",
          INIT2 ",'status':{'phase':'Running','conditions':[{'type':'Initialized','status':'True'}],"
                "'initContainerStatuses':[{'name':'i','restartCount':9,'state':{'running':{}}}],"
                "'containerStatuses':[" RUNNING("a") "]}" },
    };

    check_pods("", rows, ARRAY_LEN(rows));
}

#define SIDECAR                                                                                             \
    "'spec':{'initContainers':[{'name':'s','restartPolicy':'Always'},{'name':'i'}],'containers':[{'name':'" \
    "a'}]}"
#define SIDECAR_RUNS                                                                                 \
    "{'name':'s','ready':true,'started':true,'restartCount':2,'state':{'running':{}},'lastState':{'" \
    "terminated':"                                                                                   \
    "{'exitCode':1,'finishedAt':'2024-05-01T09:55:00Z'}}}"

TEST(pod_sidecars_count_with_the_containers)
{
    static const struct pod_row rows[] = {
        { "0/2 Pending 0", SIDECAR ",'status':{'phase':'Pending'}" },
        { "0/2 Init:0/2 0", SIDECAR
          ",'status':{'phase':'Pending','initContainerStatuses':[{'name':'s','state':{'running':{}}}]}" },
        { "1/2 Init:1/2 2 (5m ago)",
          SIDECAR ",'status':{'phase':'Pending','initContainerStatuses':[" SIDECAR_RUNS
                  ",{'name':'i','state':{'running':{}}}],'containerStatuses':[" WAITING_A "]}" },
        { "2/2 Running 2 (5m ago)",
          SIDECAR ",'status':{'phase':'Running','initContainerStatuses':[" SIDECAR_RUNS
                  "," DONE("i") "],'containerStatuses':[" RUNNING("a") "]}" },
        /* a status that belongs to no container is no sidecar's */
        { "0/2 Init:0/2 0", SIDECAR
          ",'status':{'phase':'Pending','initContainerStatuses':[{'name':'x','started':true,'ready':true,"
          "'state':{'running':{}}}]}" },
    };

    check_pods("", rows, ARRAY_LEN(rows));
}

TEST(pod_restarts_tell_when_the_last_was)
{
    static const struct pod_row rows[] = {
        { "2/2 Running 5 (3m ago)",
          TWO ",'status':{'phase':'Running','containerStatuses':[{'name':'a','ready':true,'restartCount':2,"
              "'state':{'running':{}},'lastState':{'terminated':{'finishedAt':'2024-05-01T09:57:00Z'}}},"
              "{'name':'b','ready':true,'restartCount':3,'state':{'running':{}},'lastState':{'terminated':"
              "{'finishedAt':'2024-05-01T09:00:00Z'}}}]}" },
        /* a time without a restart, and the other way round */
        { "1/1 Running 0", ONE
          ",'status':{'phase':'Running','containerStatuses':[{'name':'a','ready':true,'state':{'running':{}},"
          "'lastState':{'terminated':{'finishedAt':'2024-05-01T09:57:00Z'}}}]}" },
        { "1/1 Running 1",
          ONE ",'status':{'phase':'Running','containerStatuses':[{'name':'a','ready':true,'restartCount':1,"
              "'state':{'running':{}}}]}" },
        /* ephemeral containers count for nothing */
        { "1/1 Running 0", ONE ",'status':{'phase':'Running','containerStatuses':[" RUNNING(
                               "a") "],"
                                    "'ephemeralContainerStatuses':[{'name':'e','restartCount':8,'ready':true,"
                                    "'state':{'running':{}}}]}" },
    };

    check_pods("", rows, ARRAY_LEN(rows));
}

TEST(pod_status_tells_that_it_is_being_deleted)
{
    static const struct pod_row rows[] = {
        { "1/1 Terminating 0", ONE ",'status':{'phase':'Running','containerStatuses':[" RUNNING("a") "]}" },
        { "0/1 Terminating 0", ONE ",'status':{'phase':'Pending'}" },
        { "0/1 Unknown 0", ONE ",'status':{'phase':'Running','reason':'NodeLost'}" },
        /* what has ended has ended */
        { "0/1 Completed 0", ONE ",'status':{'phase':'Succeeded','containerStatuses':[" DONE("a") "]}" },
        { "0/1 Failed 0", ONE ",'status':{'phase':'Failed'}" },
    };

    check_pods(",'deletionTimestamp':'2024-05-01T10:00:00Z'", rows, ARRAY_LEN(rows));
}

TEST(pod_cells_are_complete)
{
    static const struct cells_row rows[] = {
        { KIND_POD, "['p','0/1','Pending','0','3s','<none>','<none>','<none>','<none>']",
          "{'metadata':{'name':'p','creationTimestamp':'2024-05-01T09:59:57Z'}," ONE
          ",'status':{'phase':'Pending'}}" },
        { KIND_POD, "['p','0/1','\\\"why\\\"','0','<unknown>','10.0.0.5','n1','n2','1/3']",
          "{'metadata':{'name':'p'},'spec':{'nodeName':'n1','containers':[{'name':'a'}],'readinessGates':["
          "{'conditionType':'g'},{'conditionType':'h'},{'conditionType':'absent'}]},"
          "'status':{'phase':'Pending','reason':'\\\"why\\\"','podIP':'10.0.0.5','nominatedNodeName':'n2',"
          "'conditions':[{'type':'g','status':'True'},{'type':'h','status':'False'},{'type':'h','status':'"
          "True'}]}}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

static const char *pod_row_conditions(const char *phase)
{
    static struct buf out = { .len_max = 1 << 20 };
    char text[128];
    struct table_options how = table_how(INCLUDE_NONE);

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'p'},'status':{'phase':'%s'}}", phase);
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_POD, text);
    buf_clear(&out);
    table_write_row(o, &how, &out);
    return strstr(buf_cstr(&out), "],") + 2;
}

TEST(pod_rows_of_ended_pods_say_so)
{
    ASSERT_STR(kind_row("'conditions':[{'type':'Completed','status':'True','reason':'Succeeded',"
                        "'message':'The pod has completed successfully.'}],'object':null}"),
               pod_row_conditions("Succeeded"));
    ASSERT_STR(kind_row("'conditions':[{'type':'Completed','status':'True','reason':'Failed',"
                        "'message':'The pod failed.'}],'object':null}"),
               pod_row_conditions("Failed"));
    ASSERT_STR(kind_row("'object':null}"), pod_row_conditions("Running"));
}

/* Whoever writes a pod with very many containers and gates shall not keep the server busy: what is looked at
 * is bounded, and the row is a row still. */
TEST(pod_rows_cost_a_bounded_search)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(16 << 20);
    const unsigned count = 2000;

    buf_add_cstr(&text, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a'}],'initContainers':[");
    for (unsigned i = 0; i < count; i++)
        buf_addf(&text, "%s{'name':'i%u','restartPolicy':'Always'}", i ? "," : "", i);
    buf_add_cstr(&text, "],'readinessGates':[");
    for (unsigned i = 0; i < count; i++)
        buf_addf(&text, "%s{'conditionType':'g%u'}", i ? "," : "", i);
    buf_add_cstr(&text, "]},'status':{'phase':'Running','initContainerStatuses':[");
    for (unsigned i = count; i-- > 0;)
        buf_addf(&text, "{'name':'i%u','ready':true,'started':true,'state':{'running':{}}}%s", i,
                 i ? "," : "");
    buf_add_cstr(&text, "]}}");
    /* 100,000 steps find the last 50 of 2,000, one by one from the far end; the next counts as not done. */
    ASSERT_CELLS(KIND_POD,
                 "['p','50/2001','Init:50/2000','0','<unknown>','<none>','<none>','<none>','0/2000']",
                 buf_cstr(&text));
}

TEST_MAIN()
