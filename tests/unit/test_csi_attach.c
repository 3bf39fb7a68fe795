/* The attacher of a CSI driver, with the real API core and a driver in this process. */
#include "tests/unit/test_csi_part.h"

#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define SECRETS "/api/v1/namespaces/default/secrets"
#define A1 ATTACHMENTS "/a1"
#define A2 ATTACHMENTS "/a2"
#define V1 VOLUMES "/v1"
#define FINALIZER "external-attacher/fake-csi"

static void put_node(struct parts *w, const char *name, const char *id)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'drivers':[{'name':'" FAKE_DRIVER "','nodeID':'%s',"
                   "'topologyKeys':[]}]}}",
                   name, id);
    ASSERT_SENT(&w->served, 201, "POST", CSI_NODES, body);
}

/* csi: more members of the source; spec: of the volume. */
static void put_volume(struct parts *w, const char *name, const char *csi, const char *spec)
{
    char body[2048];

    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'%s'},'spec':{'capacity':{'storage':'1Gi'},'csi':{'driver':'" FAKE_DRIVER
        "','volumeHandle':'%s'%s}%s}}",
        name, name, csi, spec);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    (void)fake_csi_add(fake_of_parts(), name, 1 << 30);
}

#define RWO ",'accessModes':['ReadWriteOnce']"

static void put_attachment(struct parts *w, const char *name, const char *node, const char *volume)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'attacher':'" FAKE_DRIVER
                   "','nodeName':'%s','source':{'persistentVolumeName':'%s'}}}",
                   name, node, volume);
    ASSERT_SENT(&w->served, 201, "POST", ATTACHMENTS, body);
}

static void begin(struct parts *w, void (*on_made)(struct fake_csi *f))
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_attacher_type;
    fake_on_made = on_made;
    parts_init(w, &csi_part);
    put_node(w, "n1", "id-1");
    put_volume(w, "v1", "", RWO);
    parts_rest(w);
    buf_clear(&w->log);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    assert_null(the_function->check(((struct part *)w->part)->function));
    parts_done(w);
    fake_on_made = NULL;
}

/* Attached, or not; of the status as it stands. */
static void assert_error(struct parts *w, const char *attachment, const char *field, const char *message,
                         const char *code)
{
    char path[64];

    ASSERT_SENT(&w->served, 200, "GET", attachment, NULL);
    ASSERT_GOT(&w->served, "false", "status/attached");
    (void)snprintf(path, sizeof path, "status/%s/message", field);
    ASSERT_GOT(&w->served, message, path);
    (void)snprintf(path, sizeof path, "status/%s/errorCode", field);
    ASSERT_GOT(&w->served, code, path);
}

/* --- Attach and detach --- */

/* csi-19 */
TEST(volume_is_attached_and_detached)
{
    struct parts w;

    begin(&w, NULL);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    assert_asked(&w, "PATCH " V1 "\nPATCH " A1 "\nPATCH " A1 "/status\n");
    assert_called(fake_of_parts(), "ControllerPublishVolume v1 OK\n");
    ASSERT_STR("id=v1 node=id-1 readonly=0 mount::7 ", fake_of_parts()->last);
    ASSERT_THERE(&w, FINALIZER, V1, "metadata/finalizers/1"); /* beside that of the API server */
    ASSERT_THERE(&w, FINALIZER, A1, "metadata/finalizers/0");
    ASSERT_GOT(&w.served, "{'csi.alpha.kubernetes.io/node-id':'id-1'}", "metadata/annotations");
    ASSERT_GOT(&w.served, "true", "status/attached");
    ASSERT_GOT(&w.served, "/dev/v1", "status/attachmentMetadata/device");
    parts_settle(&w);
    assert_asked(&w, ""); /* at rest */
    ASSERT_SENT(&w.served, 200, "DELETE", A1, NULL);
    parts_rest(&w);
    assert_asked(&w, "PATCH " A1 "\nPATCH " A1 "/status\n"); /* the finalizer first */
    assert_called(fake_of_parts(), "ControllerUnpublishVolume v1 OK\n");
    ASSERT_GONE(&w, A1);
    assert_false(fake_csi_is_published(fake_of_parts(), "v1", "id-1"));
    ASSERT_THERE(&w, FINALIZER, V1, "metadata/finalizers/1"); /* of a volume that lives on */
    end(&w);
}

/* Another finalizer keeps the attachment: its status says that it is detached, and it is detached once. */
TEST(attachment_that_others_keep_is_detached_once)
{
    struct parts w;

    begin(&w, NULL);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", A1,
                "{'metadata':{'finalizers':['" FINALIZER "','example.com/other']}}");
    ASSERT_SENT(&w.served, 200, "DELETE", A1, NULL);
    parts_settle(&w);
    ASSERT_THERE(&w, "example.com/other", A1, "metadata/finalizers/0");
    ASSERT_GOT(&w.served, "-", "metadata/finalizers/1");
    ASSERT_GOT(&w.served, "false", "status/attached");
    ASSERT_GOT(&w.served, "-", "status/attachmentMetadata");
    assert_called(fake_of_parts(), "ControllerPublishVolume v1 OK\nControllerUnpublishVolume v1 OK\n");
    end(&w);
}

/* A failed publish may have succeeded: the finalizer stays, and the deletion unpublishes. */
TEST(failed_attach_is_detached)
{
    struct parts w;

    begin(&w, NULL);
    fail_next("ControllerPublishVolume", RPC_INTERNAL, "broken", 100);
    put_attachment(&w, "a1", "n1", "v1");
    parts_pass_ns(&w, NS_PER_S);
    ASSERT_THERE(&w, FINALIZER, A1, "metadata/finalizers/0");
    ASSERT_SENT(&w.served, 200, "DELETE", A1, NULL);
    parts_rest(&w);
    ASSERT_GONE(&w, A1);
    assert_true(count_calls("ControllerUnpublishVolume") == 1);
    end(&w);
}

TEST(attachments_of_others_are_left_alone)
{
    struct parts w;

    begin(&w, NULL);
    ASSERT_SENT(&w.served, 201, "POST", ATTACHMENTS,
                "{'metadata':{'name':'a1'},'spec':{'attacher':'other.csi','nodeName':'n1','source':"
                "{'persistentVolumeName':'v1'}}}");
    parts_settle(&w);
    assert_asked(&w, "");
    end(&w);
}

/* One volume on two nodes: both need its finalizer at the same time. */
TEST(volume_is_attached_to_two_nodes)
{
    struct parts w;

    begin(&w, NULL);
    put_node(&w, "n2", "id-2");
    put_volume(&w, "v2", "", ",'accessModes':['ReadWriteMany']");
    parts_rest(&w);
    put_attachment(&w, "a1", "n1", "v2");
    put_attachment(&w, "a2", "n2", "v2");
    parts_settle(&w);
    ASSERT_THERE(&w, "true", A1, "status/attached");
    ASSERT_THERE(&w, "true", A2, "status/attached");
    ASSERT_THERE(&w, FINALIZER, VOLUMES "/v2", "metadata/finalizers/1");
    ASSERT_GOT(&w.served, "-", "metadata/finalizers/2");
    assert_true(fake_csi_is_published(fake_of_parts(), "v2", "id-1"));
    assert_true(fake_csi_is_published(fake_of_parts(), "v2", "id-2"));
    end(&w);
}

static void attach_and_detach(struct parts *w)
{
    put_node(w, "n1", "id-1");
    put_volume(w, "v1", ",'controllerPublishSecretRef':{'name':'s','namespace':'default'}", RWO);
    ASSERT_SENT(&w->served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'stringData':{'k':'x'}}");
    put_volume(w, "v2", "", RWO);
    put_attachment(w, "a1", "n1", "v1");
    put_attachment(w, "a2", "n1", "v2");
    parts_settle(w);
    ASSERT_DONE(w, 200, "DELETE", A1, NULL);
}

static void delete_attached_volume(struct parts *w)
{
    put_node(w, "n1", "id-1");
    put_volume(w, "v1", "", RWO);
    ASSERT_SENT(&w->served, 200, "MERGE", V1, "{'metadata':{'finalizers':null}}"); /* of another controller */
    put_attachment(w, "a1", "n1", "v1");
    parts_settle(w);
    ASSERT_DONE(w, 200, "DELETE", V1, NULL);
    ASSERT_DONE(w, 200, "DELETE", A1, NULL);
}

/* csi-19: every request and every call fails once in every way, and the process ends behind each. */
TEST(faults_change_nothing_in_the_end)
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_attacher_type;
    assert_all_ends_the_same(&csi_part, attach_and_detach);
    assert_all_ends_the_same(&csi_part, delete_attached_volume);
}

/* --- Kinds of drivers and volumes --- */

static void publish_nothing(struct fake_csi *f)
{
    f->controller &= ~FAKE_BIT(2);
}

/* csi-20 */
TEST(driver_that_publishes_nothing_has_all_attached)
{
    struct parts w;

    begin(&w, publish_nothing);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    assert_asked(&w, "PATCH " A1 "/status\n");
    assert_called(fake_of_parts(), "");
    ASSERT_THERE(&w, "true", A1, "status/attached");
    ASSERT_GOT(&w.served, "-", "metadata/finalizers");
    ASSERT_DONE(&w, 200, "DELETE", A1, NULL);
    ASSERT_GONE(&w, A1);
    end(&w);
}

static void publish_without_readonly(struct fake_csi *f)
{
    f->controller &= ~(FAKE_BIT(8) | FAKE_BIT(13));
}

/* csi-20: what is sent follows from the volume and from what the driver can do. */
TEST(request_follows_from_the_volume)
{
    static const struct {
        const char *csi;
        const char *spec;
        const char *able;
        const char *unable;
    } rows[] = {
        { "", RWO, "id=v readonly=0 mount:xfs:7 ", "readonly=0 mount:xfs:1 " },
        { ",'readOnly':true,'fsType':'ext4'", ",'accessModes':['ReadOnlyMany'],'mountOptions':['ro','x']",
          "readonly=1 mount:ext4:ro:x:3 ", "readonly=0 mount:ext4:ro:x:3 " },
        { "", ",'accessModes':['ReadWriteOncePod']", "readonly=0 mount:xfs:6 ", "readonly=0 mount:xfs:1 " },
        { "", ",'accessModes':['ReadWriteOnce','ReadWriteMany']", "readonly=0 mount:xfs:5 ",
          "readonly=0 mount:xfs:5 " },
        { "", RWO ",'volumeMode':'Block'", "readonly=0 block:7 ", "readonly=0 block:1 " },
        { ",'volumeAttributes':{'a':'1','b':'2'}", RWO, "readonly=0 mount:xfs:7 v.a=1 v.b=2 ",
          "readonly=0 mount:xfs:1 v.a=1 v.b=2 " },
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        bool is_able = i % 2 == 0;
        const char *expected = is_able ? rows[i / 2].able : rows[i / 2].unable;
        struct parts w;

        begin(&w, is_able ? NULL : publish_without_readonly);
        process_kill(&w);
        settings.default_fs_type = "xfs";
        process_start(&w);
        put_volume(&w, "v", rows[i / 2].csi, rows[i / 2].spec);
        put_attachment(&w, "a1", "n1", "v");
        parts_rest(&w);
        expected = strncmp(expected, "id=v ", 5) == 0 ? expected + 5 : expected;
        ASSERT_STR(expected, strstr(fake_of_parts()->last, "readonly"));
        end(&w);
    }
}

TEST(secret_is_passed_to_the_driver)
{
    struct parts w;

    begin(&w, NULL);
    put_volume(&w, "v2", ",'controllerPublishSecretRef':{'name':'s','namespace':'default'}", RWO);
    put_attachment(&w, "a1", "n1", "v2");
    parts_rest(&w);
    assert_error(&w, A1, "attachError", "failed to load secret \"default/s\": secrets \"s\" not found", "-");
    assert_called(fake_of_parts(), "");
    ASSERT_SENT(&w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'stringData':{'k':'first'}}");
    parts_pass_ns(&w, NS_PER_S);
    assert_non_null(strstr(fake_of_parts()->last, "secret.k=first"));
    ASSERT_THERE(&w, "true", A1, "status/attached");
    ASSERT_GOT(&w.served, "-", "status/attachError");
    ASSERT_SENT(&w.served, 200, "MERGE", SECRETS "/s", "{'stringData':{'k':'second'}}"); /* csi-37 */
    ASSERT_SENT(&w.served, 200, "DELETE", A1, NULL);
    parts_rest(&w);
    assert_non_null(strstr(fake_of_parts()->last, "secret.k=second"));
    end(&w);
}

/* csi-20: a driver that left the node is still known by what the attach has noted. */
TEST(node_is_known_by_the_attachment_when_the_driver_left_it)
{
    struct parts w;

    begin(&w, NULL);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", CSI_NODES "/n1", NULL);
    put_volume(&w, "v2", "", RWO);
    put_attachment(&w, "a2", "n1", "v2");
    ASSERT_DONE(&w, 200, "DELETE", A1, NULL);
    ASSERT_GONE(&w, A1);
    assert_false(fake_csi_is_published(fake_of_parts(), "v1", "id-1"));
    assert_error(&w, A2, "attachError", "CSINode n1 does not contain driver " FAKE_DRIVER, "-");
    ASSERT_GOT(&w.served, "-", "metadata/finalizers"); /* nothing was called */
    end(&w);
}

TEST(inline_volume_is_attached)
{
    struct parts w;

    begin(&w, NULL);
    (void)fake_csi_add(fake_of_parts(), "h", 1);
    ASSERT_SENT(&w.served, 201, "POST", ATTACHMENTS,
                "{'metadata':{'name':'a1'},'spec':{'attacher':'" FAKE_DRIVER
                "','nodeName':'n1','source':{'inlineVolumeSpec':{"
                "'accessModes':['ReadWriteOnce'],'csi':{'driver':'" FAKE_DRIVER "','volumeHandle':'h'}}}}}");
    parts_rest(&w);
    ASSERT_THERE(&w, "true", A1, "status/attached");
    assert_asked(&w, "PATCH " A1 "\nPATCH " A1 "/status\n"); /* there is no volume to keep */
    assert_called(fake_of_parts(), "ControllerPublishVolume h OK\n");
    ASSERT_DONE(&w, 200, "DELETE", A1, NULL);
    ASSERT_GONE(&w, A1);
    end(&w);
}

/* --- Failures --- */

/* csi-21 */
TEST(failure_is_reported_with_its_code_and_tried_later_and_later)
{
    struct csi_work_state state;
    struct parts w;
    const struct object *o;

    begin(&w, NULL);
    fail_next("ControllerPublishVolume", RPC_RESOURCE_EXHAUSTED, "no more slots", 4);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    assert_error(&w, A1, "attachError", "rpc error: code = ResourceExhausted desc = no more slots", "8");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "status/attachError/time");
    assert_int_equal(count_calls("ControllerPublish"), 1); /* the report itself starts nothing */
    o = informer_get(informers_get(w.informers, KIND_ATTACHMENT, &err), "", "a1");
    assert_true(csi_peer_explain(((struct part *)w.part)->peer, o->uid, &state));
    assert_true(the_function->explain(((struct part *)w.part)->function, o, &state));
    ASSERT_STR("ControllerPublishVolume", state.call);
    assert_false(state.is_in_flight);
    ASSERT_STR("no more slots", state.last_error);
    assert_int_equal(state.code, RPC_RESOURCE_EXHAUSTED);
    assert_int_equal(state.outcome, CSI_EXHAUSTED);
    assert_int_equal(state.next_try_ns, w.served.clock.mono_ns + NS_PER_S);
    parts_pass_ns(&w, NS_PER_S);
    assert_int_equal(count_calls("ControllerPublish"), 2);
    parts_pass_ns(&w, 2 * NS_PER_S);
    assert_int_equal(count_calls("ControllerPublish"), 3);
    parts_pass_ns(&w, 4 * NS_PER_S - NS_PER_MS);
    assert_int_equal(count_calls("ControllerPublish"), 3);
    parts_settle(&w);
    ASSERT_THERE(&w, "true", A1, "status/attached");
    ASSERT_GOT(&w.served, "-", "status/attachError");
    end(&w);
}

TEST(failed_detach_is_reported)
{
    struct parts w;

    begin(&w, NULL);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    fail_next("ControllerUnpublishVolume", RPC_ABORTED, "busy", 2);
    ASSERT_SENT(&w.served, 200, "DELETE", A1, NULL);
    parts_rest(&w);
    ASSERT_THERE(&w, "true", A1, "status/attached");
    ASSERT_GOT(&w.served, "rpc error: code = Aborted desc = busy", "status/detachError/message");
    parts_settle(&w);
    ASSERT_GONE(&w, A1);
    assert_int_equal(count_calls("ControllerUnpublish"), 3);
    end(&w);
}

/* The code of a failure does not outlive it. */
TEST(failure_without_a_code_has_none)
{
    struct parts w;

    begin(&w, NULL);
    fail_next("ControllerPublishVolume", RPC_INTERNAL, "broken", 1);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    assert_error(&w, A1, "attachError", "rpc error: code = Internal desc = broken", "13");
    ASSERT_SENT(&w.served, 200, "DELETE", CSI_NODES "/n1", NULL);
    parts_pass_ns(&w, NS_PER_S);
    assert_error(&w, A1, "attachError", "CSINode n1 does not contain driver " FAKE_DRIVER, "-");
    end(&w);
}

TEST(volumes_that_cannot_be_attached)
{
    static const struct {
        const char *volume;
        const char *source;
        const char *message;
    } rows[] = {
        { NULL, "'persistentVolumeName':'none'", "persistentvolume \"none\" not found" },
        { "{'metadata':{'name':'v'}," VOLUME_SPEC "}", "'persistentVolumeName':'v'",
          "volume \"v\" is not a volume of CSI driver " FAKE_DRIVER },
        { "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],"
          "'csi':{'driver':'other.csi','volumeHandle':'h'}}}",
          "'persistentVolumeName':'v'", "volume \"v\" is not a volume of CSI driver " FAKE_DRIVER },
        { "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce',"
          "'ReadOnlyMany'],'csi':{'driver':'" FAKE_DRIVER "','volumeHandle':'h'}}}",
          "'persistentVolumeName':'v'",
          "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[512];
        struct parts w;

        begin(&w, NULL);
        if (rows[i].volume)
            ASSERT_SENT(&w.served, 201, "POST", VOLUMES, rows[i].volume);
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'a1'},'spec':{'attacher':'" FAKE_DRIVER
                       "','nodeName':'n1','source':{%s}}}",
                       rows[i].source);
        ASSERT_SENT(&w.served, 201, "POST", ATTACHMENTS, body);
        parts_rest(&w);
        assert_error(&w, A1, "attachError", rows[i].message, "-");
        assert_called(fake_of_parts(), "");
        end(&w);
    }
}

static bool answer_badly(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ControllerPublishVolumeResponse m;
    Csi__V1__Pair pair, *pairs[] = { &pair };
    static char large[(256 << 10) + 1];

    if (strcmp(q->method, "ControllerPublishVolume") != 0)
        return false;
    csi__v1__controller_publish_volume_response__init(&m);
    csi__v1__pair__init(&pair);
    memset(large, 'x', sizeof large - 1);
    pair.key = (char *)(uintptr_t) "k";
    pair.value = f->ctx ? f->ctx : large;
    m.publish_context = pairs;
    m.n_publish_context = 1;
    ASSERT_OK(rpc_message_pack(&m.base, &q->answer, &err));
    return true;
}

TEST(bad_answers_are_failures)
{
    static char long_words[FAKE_TEXT_BYTES];
    struct parts w;

    begin(&w, NULL);
    fake_of_parts()->serve = answer_badly;
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    assert_error(&w, A1, "attachError",
                 "the publish context of the driver has 262145 bytes, more than 262144", "-");
    fake_of_parts()->ctx = (char[]){ "\377" };
    parts_pass_ns(&w, NS_PER_S);
    assert_error(&w, A1, "attachError", "the publish context of the driver is not valid UTF-8", "-");
    fake_of_parts()->serve = NULL;
    memset(long_words, 'w', sizeof long_words - 1);
    fail_next("ControllerPublishVolume", RPC_INTERNAL, "\377\376 no text", 1);
    parts_pass_ns(&w, 2 * NS_PER_S);
    assert_error(&w, A1, "attachError", "rpc error: code = Internal desc = \357\277\275\357\277\275 no text",
                 "13");
    parts_settle(&w);
    ASSERT_THERE(&w, "true", A1, "status/attached");
    end(&w);
}

/* --- The life of a volume --- */

/* csi-22 */
TEST(attached_volume_is_kept_until_it_is_detached)
{
    struct parts w;

    begin(&w, NULL);
    ASSERT_SENT(&w.served, 200, "MERGE", V1, "{'metadata':{'finalizers':null}}");
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", V1, NULL);
    put_attachment(&w, "a2", "n1", "v1");
    parts_settle(&w);
    ASSERT_THERE(&w, FINALIZER, V1, "metadata/finalizers/0");
    assert_error(&w, A2, "attachError", "PersistentVolume \"v1\" is marked for deletion", "-");
    ASSERT_DONE(&w, 200, "DELETE", A1, NULL);
    ASSERT_SENT(&w.served, 200, "GET", V1, NULL); /* another attachment names it */
    ASSERT_DONE(&w, 200, "DELETE", A2, NULL);
    ASSERT_GONE(&w, V1);
    end(&w);
}

/* csi-22: what the driver says is compared once a minute. */
TEST(volume_that_the_driver_lost_is_attached_again)
{
    struct parts w;

    begin(&w, NULL);
    fake_of_parts()->page = 1;
    put_volume(&w, "v2", "", RWO);
    put_volume(&w, "v3", "", RWO);
    put_attachment(&w, "a1", "n1", "v1");
    put_attachment(&w, "a2", "n1", "v3");
    parts_pass_ns(&w, 300 * NS_PER_S);
    assert_int_equal(count_calls("ControllerPublish"), 2); /* what is as it should be is left alone */
    fake_csi_volume(fake_of_parts(), "v3")->nodes[0][0] = '\0';
    parts_pass_ns(&w, 60 * NS_PER_S);
    assert_int_equal(count_calls("ControllerPublish"), 3);
    assert_true(fake_csi_is_published(fake_of_parts(), "v3", "id-1"));
    parts_pass_ns(&w, 300 * NS_PER_S);
    assert_int_equal(count_calls("ControllerPublish"), 3);
    end(&w);
}

static bool list_for_ever(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ListVolumesResponse m;

    if (strcmp(q->method, "ListVolumes") != 0)
        return false;
    f->capacity++; /* counts */
    csi__v1__list_volumes_response__init(&m);
    m.next_token = (char *)(uintptr_t) "more";
    ASSERT_OK(rpc_message_pack(&m.base, &q->answer, &err));
    return true;
}

TEST(list_without_an_end_is_given_up)
{
    struct parts w;

    begin(&w, NULL);
    put_attachment(&w, "a1", "n1", "v1");
    parts_rest(&w);
    fake_of_parts()->serve = list_for_ever;
    fake_of_parts()->capacity = 0;
    parts_pass_ns(&w, 61 * NS_PER_S);
    assert_int_equal(fake_of_parts()->capacity, 10000);
    assert_int_equal(count_calls("ControllerPublish"), 1);
    end(&w);
}

TEST_MAIN()
