/* What the Node says of its machine, from facts that are made up: bodies, and when there is nothing to write.
 */
#include "tests/unit/test_kind.h"

#include "api/node.h"
#include "node/node_status.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define NOW_S INT64_C(1700000000)

static const struct machine_info facts = {
    .system = { .kernel = "6.1.0",
                .architecture = "amd64",
                .os_image = "Some \"Linux\"",
                .machine_id = "m1",
                .system_uuid = "s1",
                .boot_id = "b1",
                .address = "10.0.0.1",
                .cpus = 4,
                .memory_bytes = 8 * GIB,
                .huge_pages = { { 2 * MIB, 512 * MIB }, { GIB, 0 } },
                .huge_pages_count = 2 },
    .storage_bytes = 100 * GIB,
};

static struct desired_node desired_of(const char *name)
{
    return (struct desired_node){ .name = name, .facts = &facts, .now = { .seconds = NOW_S } };
}

static struct object *node_from(const char *text)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT((size_t)1 << 20);
    struct object *o = NULL;

    json_init(&d, (size_t)1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(&node_kind, buf_str(&quoted), &d, &o, &err));
    return o;
}

/* The patch against this Node, with ' for ". */
static const char *patch_of(const struct desired_node *w, const char *node)
{
    static struct buf out = { .len_max = (size_t)1 << 20 };
    _cleanup_(object_unref_p) struct object *o = node_from(node);

    buf_clear(&out);
    ASSERT_OK(node_write_status_patch(w, node_of(o), &out, &err));
    for (size_t i = 0; i < out.len; i++)
        if (out.data[i] == '"')
            out.data[i] = '\'';
    return buf_cstr(&out);
}

#define META "'metadata':{'name':'n1','uid':'u1','resourceVersion':'5'}"
#define BEFORE "{'metadata':{'uid':'u1','resourceVersion':'5'},'status':{'conditions':["
#define HEARTBEAT "'lastHeartbeatTime':'2023-11-14T22:13:20Z'"
#define TRANSITION "'lastTransitionTime':'2023-11-14T22:13:20Z'"
#define PRESSURE(type, transition, reason, words)                                                      \
    "{'type':'" type "','status':'False'," HEARTBEAT "," transition "'reason':'" reason "','message':" \
    "'berth does not measure " words " pressure'},"
#define PRESSURES(transition)                                                      \
    PRESSURE("MemoryPressure", transition, "KubeletHasSufficientMemory", "memory") \
    PRESSURE("DiskPressure", transition, "KubeletHasNoDiskPressure", "disk")       \
    PRESSURE("PIDPressure", transition, "KubeletHasSufficientPID", "PID")
#define READY(transition)                                                                            \
    "{'type':'Ready','status':'True'," HEARTBEAT "," transition "'reason':'KubeletReady','message':" \
    "'berth is posting ready status'}]"
#define CONDITIONS_NOW PRESSURES("") READY("")
#define ADDRESSES \
    "'addresses':[{'type':'InternalIP','address':'10.0.0.1'},{'type':'Hostname','address':'n1'}]"
#define CAPACITY                                                                                             \
    "'capacity':{'cpu':'4','ephemeral-storage':'100Gi','hugepages-2Mi':'512Mi','hugepages-1Gi':'0','memory'" \
    ":"                                                                                                      \
    "'8Gi','pods':'110'}"
#define ALLOCATABLE                                                                                     \
    "'allocatable':{'cpu':'4','ephemeral-storage':'100Gi','hugepages-2Mi':'512Mi','hugepages-1Gi':'0'," \
    "'memory':'7680Mi','pods':'110'}"
#define INFO                                                                                                \
    "'nodeInfo':{'machineID':'m1','systemUUID':'s1','bootID':'b1','kernelVersion':'6.1.0','osImage':'Some " \
    "\\'Linux\\'','containerRuntimeVersion':'berth://" BERTH_VERSION                                        \
    "','kubeletVersion':'v1.36.4+berth." BERTH_VERSION "','operatingSystem':'linux','architecture':'amd64'}"
#define RIGHT_CONDITIONS                                                                                    \
    "'conditions':[{'type':'MemoryPressure','status':'False','reason':'KubeletHasSufficientMemory',"        \
    "'message':'berth does not measure memory pressure'},{'type':'DiskPressure','status':'False','reason':" \
    "'KubeletHasNoDiskPressure','message':'berth does not measure disk pressure'},{'type':'PIDPressure',"   \
    "'status':'False','reason':'KubeletHasSufficientPID','message':'berth does not measure PID pressure'}," \
    "{'type':'Ready','status':'True','reason':'KubeletReady','message':'berth is posting ready "            \
    "status'}]"
#define RIGHT(more) \
    "{" META ",'status':{" RIGHT_CONDITIONS "," ADDRESSES "," CAPACITY "," ALLOCATABLE "," INFO more "}}"

TEST(a_new_nodes_status_is_written_whole)
{
    struct desired_node w = desired_of("n1");

    ASSERT_STR(
        BEFORE PRESSURES(TRANSITION ",") READY(
            TRANSITION
            ",") ",'addresses':[{'$patch':'replace'},"
                 "{'type':'InternalIP','address':'10.0.0.1'},{'type':'Hostname','address':'n1'}]," CAPACITY
                 "," ALLOCATABLE "," INFO "}}",
        patch_of(&w, "{" META "}"));
}

TEST(a_heartbeat_says_nothing_else)
{
    static const char *const in_use[] = { "p/a", "p/b" };
    struct desired_node w = desired_of("n1");
    struct texts names = { in_use, 2 };

    ASSERT_STR(BEFORE CONDITIONS_NOW "}}", patch_of(&w, RIGHT("")));
    w.in_use = &names;
    ASSERT_STR(BEFORE CONDITIONS_NOW "}}", patch_of(&w, RIGHT(",'volumesInUse':['p/a','p/b']")));
}

/* After a restart a Node that was ready does not become unready for a moment. */
TEST(a_starting_agent_leaves_a_node_ready)
{
    struct desired_node w = desired_of("n1");
    _cleanup_(object_unref_p) struct object *ready = node_from(RIGHT("")), *unknown = NULL;

    unknown = node_from("{" META ",'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}");
    w.not_ready_reason = "scanning";
    assert_false(node_state_is_current(&w, node_of(ready)));
    w.is_starting = true;
    assert_true(node_state_is_current(&w, node_of(ready)));
    assert_null(strstr(patch_of(&w, RIGHT("")), "'Ready'"));
    assert_false(node_state_is_current(&w, node_of(unknown)));
    assert_non_null(strstr(patch_of(&w, "{" META "}"), "'type':'Ready','status':'False'"));
}

/* The condition comes when the agent has no right to mount, and stays. */
TEST(an_agent_without_the_right_to_mount_has_a_condition)
{
    static const char was[] = "{" META ",'status':{" RIGHT_CONDITIONS "}}";
    struct desired_node w = desired_of("n1");
    char now[4096];
    _cleanup_(object_unref_p) struct object *without = node_from(was), *with = NULL;

    (void)snprintf(now, sizeof now,
                   "%.*s,{'type':'volumes.berth.io/cannot-mount','status':'True','reason':"
                   "'MountNotPermitted','message':'not root'}]}}",
                   (int)(strlen(was) - 3), was);
    with = node_from(now);
    assert_true(node_state_is_current(&w, node_of(without)));
    assert_false(node_state_is_current(&w, node_of(with)));
    w.cannot_mount = "not root";
    assert_false(node_state_is_current(&w, node_of(without)));
    assert_true(node_state_is_current(&w, node_of(with)));
}

#define UNKNOWN(status, transition, reason, message)                                             \
    ",{'type':'volumes.berth.io/unknown-mounts','status':'" status "'," HEARTBEAT "," transition \
    "'reason':'" reason "','message':'" message "'}]"

/* The condition comes with the first such mount, and stays. */
TEST(unknown_mounts_have_a_condition)
{
    static const char was[] = "{" META ",'status':{" RIGHT_CONDITIONS "}}";
    struct desired_node w = desired_of("n1");
    char now[4096], expected[8192];
    _cleanup_(object_unref_p) struct object *without = node_from(was), *with = NULL;

    (void)snprintf(now, sizeof now,
                   "%.*s,{'type':'volumes.berth.io/unknown-mounts','status':'True','reason':"
                   "'UnknownMounts','message':'/x'}]}}",
                   (int)(strlen(was) - 3), was);
    with = node_from(now);
    assert_true(node_state_is_current(&w, node_of(without)));
    assert_true(node_state_is_current(&w, node_of(with))); /* not known yet: it stays */
    w.unknown_mounts = "";
    assert_true(node_state_is_current(&w, node_of(without)));
    assert_false(node_state_is_current(&w, node_of(with)));
    (void)snprintf(expected, sizeof expected, "%.*s%s", (int)sizeof CONDITIONS_NOW - 2, CONDITIONS_NOW,
                   UNKNOWN("False", TRANSITION ",", "NoUnknownMounts", "all mounts belong to known volumes"));
    assert_non_null(strstr(patch_of(&w, now), expected));
    w.unknown_mounts = "/x";
    assert_false(node_state_is_current(&w, node_of(without)));
    assert_true(node_state_is_current(&w, node_of(with)));
    (void)snprintf(expected, sizeof expected, "%.*s%s", (int)sizeof CONDITIONS_NOW - 2, CONDITIONS_NOW,
                   UNKNOWN("True", TRANSITION ",", "UnknownMounts", "/x"));
    assert_non_null(strstr(patch_of(&w, was), expected));
}

TEST(what_is_in_use_is_written_when_it_is_known_and_differs)
{
    static const char *const in_use[] = { "p/a", "p/b" };
    struct desired_node w = desired_of("n1");
    struct texts names = { in_use, 2 }, none = { 0 };

    /* Not known: whatever stands there stays. */
    ASSERT_STR(BEFORE CONDITIONS_NOW "}}", patch_of(&w, RIGHT(",'volumesInUse':['x']")));
    w.in_use = &names;
    ASSERT_STR(BEFORE CONDITIONS_NOW ",'volumesInUse':['p/a','p/b']}}", patch_of(&w, RIGHT("")));
    ASSERT_STR(BEFORE CONDITIONS_NOW ",'volumesInUse':['p/a','p/b']}}",
               patch_of(&w, RIGHT(",'volumesInUse':['p/a','p/c']")));
    w.in_use = &none;
    ASSERT_STR(BEFORE CONDITIONS_NOW ",'volumesInUse':[]}}", patch_of(&w, RIGHT(",'volumesInUse':['x']")));
    ASSERT_STR(BEFORE CONDITIONS_NOW "}}", patch_of(&w, RIGHT("")));
}

TEST(a_node_in_trouble_is_not_ready)
{
    struct desired_node w = desired_of("n1");

    w.not_ready_reason = "the pods are not known";
    ASSERT_STR(BEFORE PRESSURES("") "{'type':'Ready','status':'False'," HEARTBEAT "," TRANSITION
                                    ",'reason':'KubeletNotReady','message':'the pods are not known'}]}}",
               patch_of(&w, RIGHT("")));
}

TEST(pages_of_a_size_that_is_no_more_go)
{
    struct desired_node w = desired_of("n1");

    ASSERT_STR(BEFORE CONDITIONS_NOW
               ",'capacity':{'cpu':'4','ephemeral-storage':'100Gi','hugepages-2Mi':'512Mi','hugepages-1Gi':"
               "'0','memory':'8Gi','pods':'110','hugepages-64Ki':null}}}",
               patch_of(&w, "{" META ",'status':{" RIGHT_CONDITIONS "," ADDRESSES "," ALLOCATABLE "," INFO
                            ",'capacity':{'cpu':'4','ephemeral-storage':'100Gi','hugepages-2Mi':'512Mi',"
                            "'hugepages-1Gi':'0','hugepages-64Ki':'0','memory':'8Gi','pods':'110',"
                            "'example.com/gpu':'2'}}}"));
}

#define LIMITS(more)                                                                                   \
    "{" META ",'status':{" RIGHT_CONDITIONS "," ADDRESSES "," INFO ",'capacity':{" AMOUNTS("8Gi") more \
        "},'allocatable':{" AMOUNTS("7680Mi") more "}}}"
#define AMOUNTS(memory)                                                                                   \
    "'cpu':'4','ephemeral-storage':'100Gi','hugepages-2Mi':'512Mi','hugepages-1Gi':'0','memory':'" memory \
    "','pods':'110'"

/* Those of drivers that are gone go with them; others' resources stay. */
TEST(limits_of_volumes_are_the_plugins)
{
    struct amount limit = { "attachable-volumes-flex-acme_disk", quantity_of(8, QUANTITY_DECIMAL_SI) };
    struct amounts some = { &limit, 1 }, none = { NULL, 0 };
    struct desired_node w = desired_of("n1");

    w.limits = &some;
    ASSERT_STR(BEFORE CONDITIONS_NOW ",'capacity':{" AMOUNTS(
                   "8Gi") ",'attachable-volumes-flex-acme_disk':'8'}"
                          ",'allocatable':{" AMOUNTS("7680Mi") ",'attachable-volumes-flex-acme_disk':'8'}}}",
               patch_of(&w, LIMITS(",'attachable-volumes-csi-x':'4'")));
    ASSERT_STR(BEFORE CONDITIONS_NOW "}}", patch_of(&w, LIMITS(",'attachable-volumes-flex-acme_disk':'8'")));
    w.limits = &none;
    ASSERT_STR(BEFORE CONDITIONS_NOW ",'capacity':{" AMOUNTS(
                   "8Gi") ",'attachable-volumes-flex-acme_disk':null}"
                          ",'allocatable':{" AMOUNTS("7680Mi") ",'attachable-volumes-flex-acme_disk':null}}}",
               patch_of(&w, LIMITS(",'attachable-volumes-flex-acme_disk':'8'")));
    w.limits = NULL;
    ASSERT_STR(BEFORE CONDITIONS_NOW "}}", patch_of(&w, LIMITS(",'attachable-volumes-flex-acme_disk':'8'")));
}

TEST(what_is_right_and_what_is_not)
{
    static const char *const in_use[] = { "p/a" };
    struct texts names = { in_use, 1 };
    static const struct {
        const char *node;
        bool state_is_right;
        bool facts_are_right;
    } rows[] = {
        { RIGHT(",'volumesInUse':['p/a']"), true, true },
        { RIGHT(",'volumesInUse':['p/a'],'images':[{'names':['x']}],'volumesAttached':[{'name':'p/"
                "a','devicePath':"
                "''}]"),
          true, true },
        { RIGHT(""), false, true },
        { RIGHT(",'volumesInUse':['p/a','p/b']"), false, true },
        { RIGHT(",'volumesInUse':['p/b']"), false, true },
        { "{" META ",'status':{'volumesInUse':['p/a'],"
          "'conditions':[{'type':'Ready','status':'Unknown','reason':'KubeletReady','message':'berth is "
          "posting ready status'}]}}",
          false, false },
        { "{" META ",'status':{'volumesInUse':['p/a']," RIGHT_CONDITIONS "}}", true, false },
        { "{" META ",'status':{'volumesInUse':['p/a']," RIGHT_CONDITIONS "," CAPACITY "," ALLOCATABLE "," INFO
          ",'addresses':[{'type':'InternalIP','address':'10.0.0.2'},{'type':'Hostname','address':'n1'}]}}",
          true, false },
        { "{" META ",'status':{'volumesInUse':['p/a']," RIGHT_CONDITIONS "," CAPACITY "," ALLOCATABLE "," INFO
          ",'addresses':[{'type':'InternalIP','address':'10.0.0.1'},{'type':'Hostname','address':'n1'},"
          "{'type':'ExternalIP','address':'1.2.3.4'}]}}",
          true, false },
        { "{" META ",'status':{'volumesInUse':['p/a']," RIGHT_CONDITIONS "," CAPACITY "," INFO "," ADDRESSES
          ",'allocatable':{'cpu':'4','ephemeral-storage':'100Gi','hugepages-2Mi':'512Mi','hugepages-1Gi':'0',"
          "'memory':'8Gi','pods':'110'}}}",
          true, false },
        { "{" META ",'status':{'volumesInUse':['p/a']," RIGHT_CONDITIONS "," CAPACITY "," ALLOCATABLE
          "," ADDRESSES ",'nodeInfo':{'machineID':'m1'}}}",
          true, false },
    };
    struct desired_node w = desired_of("n1");

    w.in_use = &names;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = node_from(rows[i].node);

        if (node_state_is_current(&w, node_of(o)) != rows[i].state_is_right ||
            node_info_is_current(&w, node_of(o)) != rows[i].facts_are_right)
            fail_msg("%zu: %s", i, rows[i].node);
    }
}

/* --- Labels and annotations --- */

static const char *meta_patch_of(const struct desired_node *w, const char *node)
{
    static struct buf out = { .len_max = (size_t)1 << 20 };
    _cleanup_(object_unref_p) struct object *o = node_from(node);

    if (node_meta_is_current(w, o))
        return "right";
    buf_clear(&out);
    ASSERT_OK(node_write_meta_patch(w, o, &out, &err));
    for (size_t i = 0; i < out.len; i++)
        if (out.data[i] == '"')
            out.data[i] = '\'';
    return buf_cstr(&out);
}

#define LABELS(hostname)                                                                          \
    "'labels':{'beta.kubernetes.io/arch':'amd64','beta.kubernetes.io/os':'linux','kubernetes.io/" \
    "arch':'amd64','kubernetes.io/hostname':'" hostname "','kubernetes.io/os':'linux'"
#define ATTACHED "'annotations':{'volumes.kubernetes.io/controller-managed-attach-detach':'true'}"
#define SEEN "{'metadata':{'name':'n1','uid':'u1','resourceVersion':'5',"
#define PATCH "{'metadata':{'uid':'u1','resourceVersion':'5',"

TEST(only_labels_that_differ_are_written)
{
    struct desired_node ours = desired_of("n1"), own = desired_of("n1");

    own.attaches_itself = true;
    ASSERT_STR("right", meta_patch_of(&ours, SEEN LABELS("n1") ",'more':'x'}," ATTACHED "}}"));
    ASSERT_STR("right", meta_patch_of(&own, SEEN LABELS("n1") "}}}"));
    ASSERT_STR(PATCH LABELS("n1") "}," ATTACHED "}}", meta_patch_of(&ours, SEEN "'labels':{'a':'b'}}}"));
    ASSERT_STR(PATCH "'labels':{'kubernetes.io/hostname':'n1'}}}",
               meta_patch_of(&ours, SEEN LABELS("other") "}," ATTACHED "}}"));
    ASSERT_STR(PATCH ATTACHED "}}",
               meta_patch_of(&ours, SEEN LABELS("n1") "},'annotations':{'volumes.kubernetes.io/"
                                                      "controller-managed-attach-detach':'false'}}}"));
    ASSERT_STR(PATCH "'annotations':{'volumes.kubernetes.io/controller-managed-attach-detach':null}}}",
               meta_patch_of(&own, SEEN LABELS("n1") "}," ATTACHED "}}"));
}

TEST(a_name_too_long_for_a_label_is_cut)
{
    static const char name[] = "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij1.-xyz";
    _cleanup_(buf_done_p) struct buf out = BUF_INIT((size_t)1 << 20);
    struct desired_node w = desired_of(name);

    node_write_new(&w, &out);
    assert_non_null(strstr(buf_cstr(&out),
                           "\"kubernetes.io/hostname\":\"abcdefghijabcdefghijabcdefghijabcdefghijab"
                           "cdefghijabcdefghij1\""));
    assert_non_null(strstr(buf_cstr(&out),
                           "\"name\":\"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij1"
                           ".-xyz\""));
}

TEST(a_new_node)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT((size_t)1 << 20);
    struct desired_node w = desired_of("n1");

    node_write_new(&w, &out);
    ASSERT_STR(
        kind_row("{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'," LABELS("n1") "}," ATTACHED "}}"),
        buf_cstr(&out));
    buf_clear(&out);
    w.attaches_itself = true;
    node_write_new(&w, &out);
    ASSERT_STR(kind_row("{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'," LABELS("n1") "}}}"),
               buf_cstr(&out));
    buf_clear(&out);
    w.in_use = &(struct texts){ (const char *const[]){ "p/a" }, 1 };
    node_write_new(&w, &out);
    ASSERT_STR(kind_row("{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'," LABELS(
                   "n1") "}},'status':{'volumesInUse':['p/a']}}"),
               buf_cstr(&out));
}

TEST_MAIN()
