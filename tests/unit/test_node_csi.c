/* CSI volumes through the agent: the whole API server on one side, a real driver in its own process on the
 * other, and pods that come and go. */
#include "tests/unit/test_csi_drivers.h"
#include "tests/unit/test_node.h"

#include "api/attachment.h"
#include "io/digest.h"
#include "io/keys.h"
#include "node/csi_int.h"
#include "plugins/csi/registration.h"
#include "rpc/rpc_int.h"

#define CSI_DRIVERS "/apis/storage.k8s.io/v1/csidrivers"
#define CSI_NODE "/apis/storage.k8s.io/v1/csinodes/" NODE
#define SECRETS "/api/v1/namespaces/default/secrets"
#define UNIQUE "kubernetes.io/csi/test.csi^vol-c"
#define TURN_NS (2 * NS_PER_MS) /* drivers need the machine's time for a call */
#define V_MOUNT "'volumeMounts':[{'name':'v','mountPath':'/v'}]"

static struct test_driver driver;

/* Lets time pass on the loop's clock, and sockets and workers be heard, until it holds. */
#define PASS_UNTIL(condition)                    \
    do {                                         \
        (void)signal(SIGALRM, test_on_deadline); \
        (void)alarm(TEST_DEADLINE_S);            \
        while (!(condition)) {                   \
            (void)poll(NULL, 0, 1);              \
            parts_pass_ns(&bench.w, TURN_NS);    \
            pass(0);                             \
        }                                        \
        (void)alarm(0);                          \
    } while (0)

#define ASSERT_DRIVER(expected)                      \
    do {                                             \
        ASSERT_STR(expected, driver_calls(&driver)); \
        driver_unset(&driver, "log");                \
    } while (0)

#define ASSERT_ASKED(method, text)                                                     \
    do {                                                                               \
        if (!driver_has(&driver, "request-" method, text))                             \
            fail_msg("no '%s' in\n%s", text, driver_text(&driver, "request-" method)); \
    } while (0)

static bool is_registered(void)
{
    return send_request(&bench.w.served, "GET", CSI_NODE, NULL) == 200 &&
           strcmp(got(&bench.w.served, "spec/drivers/0/name"), "test.csi") == 0 &&
           driver_has(&driver, "notified", "true");
}

static void await_driver(void)
{
    PASS_UNTIL(is_registered());
    driver_unset(&driver, "log");
}

static bool is_calling(void)
{
    const struct rpc_client *x = bench.rpc;
    const struct rpc_session *s;

    TAILQ_FOREACH(s, &x->sessions, link)
        if (s->calls_count > 0)
            return true;
    return x->events_count > 0;
}

static void start_driver(void)
{
    char registrar[TEST_PATH_BYTES * 2 + 64];

    bench.is_calling = is_calling;
    (void)snprintf(registrar, sizeof registrar, "%s/plugins_registry/test.csi-reg.sock", bench.root);
    driver_init(&driver, bench.d->path, "driver", registrar);
}

/* A node with a driver. spec: of its CSIDriver; NULL for none. */
static void csi_open(const char *spec)
{
    static struct key *key; /* for tokens; making one takes a while */
    char body[1024];

    if (!key)
        ASSERT_OK(key_new(&key, &err));
    served_key = key;
    bench_open();
    if (spec) {
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'test.csi'},'spec':{%s}}", spec);
        ASSERT_SENT(&bench.w.served, 201, "POST", CSI_DRIVERS, body);
    }
    start_driver();
    await_driver();
}

static void csi_close(void)
{
    ASSERT_STR("", driver_text(&driver, "violations"));
    driver_stop(&driver);
    bench_close();
}

/* The claim c and its volume, of the handle vol-c. csi: more of the source; more: of the volume's spec. */
static void put_csi(const char *csi, const char *modes, const char *more)
{
    char body[2048], uid[64];
    const char *mode = strstr(more, "Block") ? "'volumeMode':'Block'," : "";

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'c'},'spec':{'accessModes':[%s],'storageClassName':'',%s"
                   "'volumeName':'c','resources':{'requests':{'storage':'1Gi'}}}}",
                   modes, mode);
    ASSERT_SENT(&bench.w.served, 201, "POST", CLAIMS, body);
    (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/c/status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'}}}");
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'c'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':[%s],"
                   "'csi':{'driver':'test.csi','volumeHandle':'vol-c'%s},'claimRef':{'namespace':'default',"
                   "'name':'c','uid':'%s'}%s}}",
                   modes, csi, uid, more);
    ASSERT_SENT(&bench.w.served, 201, "POST", VOLUMES, body);
}

#define RWO "'ReadWriteOnce'"

static struct node_volume *the_volume(void)
{
    return node_world_find_volume(&bench_agent()->world, UNIQUE);
}

static enum mount_state state_of(const char *uid)
{
    const struct node_mount *m = the_volume() ? node_world_find_mount(the_volume(), uid) : NULL;

    return m ? m->state : MOUNT_NONE;
}

static const char *attachment_name(void)
{
    static char name[CSI_NAME_BYTES];

    ASSERT_OK(csi_attachment_name("test.csi", "vol-c", NODE, name, &err));
    return name;
}

/* What the attach controller and the driver's attacher would do. status: of the VolumeAttachment. */
static void put_attachment(const char *status)
{
    char body[1024], path[256];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'attacher':'test.csi','nodeName':'" NODE
                   "','source':{'persistentVolumeName':'c'}}}",
                   attachment_name());
    ASSERT_SENT(&bench.w.served, 201, "POST", ATTACHMENTS, body);
    (void)snprintf(path, sizeof path, ATTACHMENTS "/%s/status", attachment_name());
    (void)snprintf(body, sizeof body, "{'status':{%s}}", status);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", path, body);
}

static void report_csi_attached(void)
{
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status",
                "{'status':{'volumesAttached':[{'name':'" UNIQUE "','devicePath':''}]}}");
}

static void delete_pod(void)
{
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
}

/* ROOT/pods/UID/volumes/kubernetes.io~csi/NAME/REST. */
static const char *pod_file(const char *uid, const char *name, const char *rest)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, PATH_MAX, "%s/pods/%s/volumes/kubernetes.io~csi/%s/%s", bench.root, uid, name, rest);
    return path;
}

static const char *global_file(const char *rest)
{
    static char path[PATH_MAX];
    char digest[SHA256_HEX_BYTES];

    ASSERT_OK(sha256_hex(str_of("vol-c"), digest, &err));
    (void)snprintf(path, sizeof path, "%s/plugins/kubernetes.io/csi/test.csi/%s/%s", bench.root, digest,
                   rest);
    return path;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* --- From the pod to the driver, and back --- */

/* node-1, node-22: in use is told, the attachment awaited, then staged and published with what the attachment
 * and the Secrets say; the way back is the same in reverse. */
TEST(attached_volume_is_staged_and_published_and_taken_back)
{
    char uid[64];

    csi_open(NULL);
    ASSERT_SENT(&bench.w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'data':{'key':'dmFsdWU='}}");
    put_csi(",'volumeAttributes':{'a':'b'},'nodeStageSecretRef':{'name':'s','namespace':'default'},"
            "'nodePublishSecretRef':{'name':'s','namespace':'default'}",
            RWO, "");
    put_disk_pod("p", "c", uid);
    pass(5);
    ASSERT_THERE(&bench.w, UNIQUE, NODE_PATH, "status/volumesInUse/0");
    ASSERT_DRIVER("");
    put_attachment("'attached':true,'attachmentMetadata':{'lun':'7'}");
    report_csi_attached();
    pass(2);
    ASSERT_DRIVER("NodeStageVolume:0 NodePublishVolume:0");
    ASSERT_ASKED("NodeStageVolume", "publish_context.lun=7\nvolume_context.a=b\nsecret.key=value\n");
    ASSERT_ASKED("NodePublishVolume", "publish_context.lun=7\nvolume_context.a=b\nsecret.key=value\n");
    ASSERT_INT(MOUNT_DONE, state_of(uid));
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    ASSERT_INT(0, count_reason("SuccessfulMountVolume"));
    driver_set(&driver, "volumes/vol-c/file", "data");
    assert_true(is_there(pod_file(uid, "c", "mount/file")));
    delete_pod();
    pass(10);
    ASSERT_DRIVER("NodeUnpublishVolume:0 NodeUnstageVolume:0");
    assert_false(is_there(global_file("")));
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    ASSERT_GONE(&bench.w, PODS "/p");
    csi_close();
}

/* node-8, node-3: the pod comes before its driver. */
TEST(volume_waits_for_its_driver)
{
    char uid[64];

    bench_open();
    ASSERT_SENT(&bench.w.served, 201, "POST", CSI_DRIVERS,
                "{'metadata':{'name':'test.csi'},'spec':{'attachRequired':false}}");
    put_csi("", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(1);
    ASSERT_INT(MOUNT_NONE, the_volume()->device);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "MountVolume.MountDevice failed for volume \"c\" : driver name test.csi not found in the "
                 "list of registered CSI drivers");
    start_driver();
    await_driver();
    PASS_UNTIL(state_of(uid) == MOUNT_DONE);
    csi_close();
}

/* An attachment that cannot be read is no reason to stage without what it says. */
TEST(missing_attachment_keeps_the_volume_from_being_staged)
{
    char uid[64];

    csi_open(NULL);
    put_csi("", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(1);
    report_csi_attached();
    pass(1);
    ASSERT_DRIVER("");
    ASSERT_INT(MOUNT_NONE, the_volume()->device);
    put_attachment("'attached':true");
    PASS_UNTIL(state_of(uid) == MOUNT_DONE);
    csi_close();
}

/* A Secret that is missing. */
TEST(missing_secret_is_told_and_awaited)
{
    char uid[64];

    csi_open("'attachRequired':false");
    put_csi(",'nodeStageSecretRef':{'name':'s','namespace':'default'}", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(1);
    ASSERT_DRIVER("");
    assert_true(count_reason("FailedMount") > 0);
    ASSERT_SENT(&bench.w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'data':{'key':'dmFsdWU='}}");
    PASS_UNTIL(state_of(uid) == MOUNT_DONE);
    csi_close();
}

/* --- Staging that fails --- */

/* node-9: it may be staged, and is taken back before the volume is out of use. */
TEST(stage_that_was_not_answered_is_unstaged)
{
    char uid[64];

    csi_open(NULL);
    put_csi("", RWO, "");
    driver_set(&driver, "fail-NodeStageVolume", "4 too slow");
    put_disk_pod("p", "c", uid);
    pass(1);
    put_attachment("'attached':true");
    report_csi_attached();
    pass(1);
    ASSERT_INT(MOUNT_UNCERTAIN, the_volume()->device);
    assert_true(is_there(global_file("vol_data.json")));
    driver_set(&driver, "fail-NodeUnstageVolume", "14 away");
    delete_pod();
    pass(1);
    ASSERT_THERE(&bench.w, UNIQUE, NODE_PATH, "status/volumesInUse/0");
    driver_unset(&driver, "fail-NodeUnstageVolume");
    pass(10);
    assert_true(driver_has(&driver, "log", "NodeUnstageVolume vol-c 0"));
    assert_false(driver_has(&driver, "log", "NodePublishVolume"));
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    csi_close();
}

/* node-10, node-11: a last word leaves nothing, also after one that was none. */
TEST(stage_that_is_refused_leaves_nothing)
{
    static const bool rows[] = { false, true };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[64];

        csi_open("'attachRequired':false");
        put_csi("", RWO, "");
        driver_set(&driver, "fail-NodeStageVolume", rows[i] ? "4 too slow" : "3 nonsense");
        put_disk_pod("p", "c", uid);
        pass(1);
        ASSERT_INT(rows[i] ? MOUNT_UNCERTAIN : MOUNT_NONE, the_volume()->device);
        driver_set(&driver, "fail-NodeStageVolume", "3 nonsense");
        pass(5);
        ASSERT_INT(MOUNT_NONE, the_volume()->device);
        assert_false(is_there(global_file("")));
        delete_pod();
        pass(10);
        assert_false(driver_has(&driver, "log", "NodeUnstageVolume"));
        ASSERT_GONE(&bench.w, PODS "/p");
        csi_close();
    }
}

/* node-13 */
TEST(driver_that_does_not_stage)
{
    char uid[64];

    csi_open("'attachRequired':false");
    driver_set(&driver, "capabilities", "2");
    put_csi("", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(2);
    ASSERT_DRIVER("NodePublishVolume:0");
    ASSERT_ASKED("NodePublishVolume", "staging=\n");
    assert_true(is_there(global_file("globalmount")));
    assert_false(is_there(global_file("vol_data.json")));
    delete_pod();
    pass(5);
    ASSERT_DRIVER("NodeUnpublishVolume:0");
    ASSERT_GONE(&bench.w, PODS "/p");
    csi_close();
}

/* --- Publishing --- */

/* node-14, first half: nothing stays of a first try. */
TEST(publish_that_is_refused_leaves_nothing)
{
    char uid[64];

    csi_open("'attachRequired':false");
    put_csi("", RWO, "");
    driver_set(&driver, "fail-NodePublishVolume", "3 nonsense");
    put_disk_pod("p", "c", uid);
    pass(1);
    ASSERT_INT(MOUNT_NONE, state_of(uid));
    assert_false(is_there(pod_file(uid, "c", "")));
    driver_unset(&driver, "fail-NodePublishVolume");
    PASS_UNTIL(state_of(uid) == MOUNT_DONE);
    csi_close();
}

/* node-14, second half, node-15, node-16: published again with every sync, with tokens; a driver that fails
 * then is told of and takes nothing away. */
TEST(volume_is_published_again_with_tokens)
{
    char uid[64];

    bench.o.sync_ns = 60 * NS_PER_S;
    csi_open("'attachRequired':false,'requiresRepublish':true,'podInfoOnMount':true,'tokenRequests':[{"
             "'audience':'vault'},{'audience':'store','expirationSeconds':700}]");
    driver_set(&driver, "capabilities", "1 3"); /* nobody asks for statistics */
    put_csi("", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(2);
    ASSERT_DRIVER("NodeStageVolume:0 NodePublishVolume:0");
    ASSERT_ASKED("NodePublishVolume", "volume_context.csi.storage.k8s.io/pod.name=p\n");
    ASSERT_ASKED("NodePublishVolume", "volume_context.csi.storage.k8s.io/ephemeral=false\n");
    ASSERT_ASKED("NodePublishVolume", "serviceAccount.tokens={\"vault\":{\"token\":\"");
    ASSERT_ASKED("NodePublishVolume", "\"store\":{\"token\":\"");
    ASSERT_ASKED("NodePublishVolume", "\"expirationTimestamp\":\"20");
    pass(70);
    ASSERT_DRIVER("NodePublishVolume:0");
    driver_set(&driver, "fail-NodePublishVolume", "3 nonsense");
    pass(70);
    assert_true(is_there(pod_file(uid, "c", "vol_data.json")));
    ASSERT_INT(MOUNT_DONE, state_of(uid));
    assert_true(count_reason("FailedMount") > 0);
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    csi_close();
}

/* A driver that does not ask for it is called once. */
TEST(volume_is_published_once)
{
    char uid[64];

    csi_open("'attachRequired':false,'tokenRequests':[{'audience':'vault'}]");
    driver_set(&driver, "capabilities", "1 3"); /* nobody asks for statistics */
    put_csi("", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(200);
    ASSERT_DRIVER("NodeStageVolume:0 NodePublishVolume:0");
    csi_close();
}

/* node-17 */
TEST(inline_volume_of_a_driver_without_that_mode)
{
    csi_open("'attachRequired':false");
    put_pod("p", "{'name':'v','csi':{'driver':'test.csi'}}", V_MOUNT, NULL);
    pass(5);
    ASSERT_DRIVER("");
    assert_true(count_events(&bench.w, "Warning", "FailedMount",
                             "MountVolume.SetUp failed for volume \"v\" : volume mode \"Ephemeral\" not "
                             "supported by driver test.csi (only supports [\"Persistent\"])") > 0);
    csi_close();
}

/* node-18: no attachment, no staging, a handle of the pod's own, a Secret of its namespace. */
TEST(inline_volume_is_published_alone)
{
    char uid[64], both[80], digest[SHA256_HEX_BYTES], text[160];

    csi_open("'volumeLifecycleModes':['Ephemeral']");
    ASSERT_SENT(&bench.w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'data':{'key':'dmFsdWU='}}");
    put_pod("p", "{'name':'v','csi':{'driver':'test.csi','nodePublishSecretRef':{'name':'s'}}}", V_MOUNT,
            uid);
    pass(2);
    ASSERT_DRIVER("NodePublishVolume:0");
    ASSERT_ASKED("NodePublishVolume", "secret.key=value\n");
    (void)snprintf(both, sizeof both, "%sv", uid);
    ASSERT_OK(sha256_hex(str_of(both), digest, &err));
    (void)snprintf(text, sizeof text, "csi-%s ", digest);
    assert_true(driver_has(&driver, "published", text));
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    assert_true(is_there(pod_file(uid, "v", "mount")));
    delete_pod();
    pass(5);
    ASSERT_DRIVER("NodeUnpublishVolume:0");
    ASSERT_GONE(&bench.w, PODS "/p");
    csi_close();
}

/* --- Groups --- */

static const struct group_row {
    const char *spec; /* of the CSIDriver */
    const char *modes;
    const char *capabilities;
    bool is_owned; /* by the group, by us */
    const char *group;
} group_rows[] = {
    { "'fsGroupPolicy':'ReadWriteOnceWithFSType'", "'ReadWriteMany'", "1 2 3", false, "group=\n" },
    { "'fsGroupPolicy':'ReadWriteOnceWithFSType'", RWO, "1 2 3", true, "group=\n" },
    { "'fsGroupPolicy':'File'", "'ReadWriteMany'", "1 2 3", true, "group=\n" },
    { "'fsGroupPolicy':'File'", RWO, "1 2 3 6", false, "group=1000\n" },
};

/* node-19, node-20 */
TEST(files_are_given_to_the_group)
{
    for (size_t i = 0; i < ARRAY_LEN(group_rows); i++) {
        const struct group_row *row = &group_rows[i];
        char spec[256], uid[64];
        struct stat st;

        (void)snprintf(spec, sizeof spec, "'attachRequired':false,%s", row->spec);
        csi_open(spec);
        driver_set(&driver, "capabilities", row->capabilities);
        put_csi(",'fsType':'ext4'", row->modes, "");
        ASSERT_SENT(&bench.w.served, 201, "POST", PODS,
                    "{'metadata':{'name':'p'},'spec':{'nodeName':'" NODE
                    "','securityContext':{'fsGroup':1000},'containers':[{'name':'c','image':'i'," V_MOUNT
                    "}],'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}}]}}");
        (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
        pass(2);
        ASSERT_INT(MOUNT_DONE, state_of(uid));
        ASSERT_ASKED("NodeStageVolume", row->group);
        ASSERT_ASKED("NodePublishVolume", row->group);
        ASSERT_INT(0, stat(pod_file(uid, "c", "mount"), &st));
        ASSERT_INT(row->is_owned ? 1000 : 0, st.st_gid);
        csi_close();
    }
}

/* --- After a restart --- */

static void restart_after(void (*fn)(const char *uid), const char *uid)
{
    bench.w.type->free(bench.w.part);
    fn(uid);
    bench.w.informers = informers_free(bench.w.informers);
    bench.w.client = client_free(bench.w.client);
    bench.w.metrics = metrics_free(bench.w.metrics);
    driver_unset(&driver, "notified");
    process_start(&bench.w);
    pass(2);
    await_driver();
}

static void nothing(const char *uid)
{
    (void)uid;
}

static void pod_vanishes(const char *uid)
{
    (void)uid;
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", "{'gracePeriodSeconds':0}");
}

static void data_file_vanishes(const char *uid)
{
    pod_vanishes(uid);
    ASSERT_INT(0, unlink(pod_file(uid, "c", "vol_data.json")));
}

/* A pod with the volume, published. */
static void publish_one(char uid[64])
{
    csi_open("'attachRequired':false");
    put_csi("", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(2);
    ASSERT_INT(MOUNT_DONE, state_of(uid));
    driver_unset(&driver, "log");
}

/* node-26 */
TEST(running_pod_keeps_its_volume_over_a_restart)
{
    char uid[64];

    publish_one(uid);
    restart_after(nothing, uid);
    PASS_UNTIL(state_of(uid) == MOUNT_DONE);
    assert_false(driver_has(&driver, "log", "NodeUn"));
    assert_true(is_there(pod_file(uid, "c", "mount")));
    csi_close();
}

/* node-27 */
TEST(volume_of_a_pod_that_went_meanwhile_is_taken_back)
{
    char uid[64], dir[PATH_MAX];

    publish_one(uid);
    (void)snprintf(dir, sizeof dir, "%s/pods/%s", bench.root, uid);
    restart_after(pod_vanishes, uid);
    PASS_UNTIL(!is_there(dir));
    assert_false(is_there(global_file("")));
    assert_false(driver_has(&driver, "published", "vol-c"));
    assert_false(driver_has(&driver, "staged", "vol-c"));
    csi_close();
}

static void detach_begins(const char *uid)
{
    pod_vanishes(uid);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", "{'status':{'volumesAttached':null}}");
    driver_set(&driver, "fail-NodeUnpublishVolume", "13 busy");
}

/* Beyond node-31: a controller that has begun to detach waits for the node's word, which must not come while
 * the volume is mounted. */
TEST(found_volume_that_is_mounted_stays_in_use)
{
    char uid[64];

    csi_open("'attachRequired':true");
    put_csi("", RWO, "");
    put_attachment("'attached':true");
    put_disk_pod("p", "c", uid);
    pass(2);
    report_csi_attached();
    pass(5);
    ASSERT_INT(MOUNT_DONE, state_of(uid));
    restart_after(detach_begins, uid);
    pass(5);
    ASSERT_THERE(&bench.w, UNIQUE, NODE_PATH, "status/volumesInUse/0");
    driver_unset(&driver, "fail-NodeUnpublishVolume");
    PASS_UNTIL(!driver_has(&driver, "staged", "vol-c"));
    pass(2);
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    csi_close();
}

static void pending_stage_is_left(const char *uid)
{
    pod_vanishes(uid);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", NODE_PATH "/status", "{'status':{'volumesAttached':null}}");
    driver_set(&driver, "fail-NodeUnstageVolume", "10 an operation is pending");
}

/* The same of what a driver may be staging for an agent that is gone: nothing is mounted yet. */
TEST(found_volume_that_may_be_staged_stays_in_use)
{
    char uid[64];

    csi_open("'attachRequired':true");
    put_csi("", RWO, "");
    put_attachment("'attached':true");
    driver_set(&driver, "fail-NodeStageVolume", "4 slow");
    put_disk_pod("p", "c", uid);
    pass(2);
    report_csi_attached();
    pass(5);
    assert_false(driver_has(&driver, "staged", "vol-c"));
    restart_after(pending_stage_is_left, uid);
    pass(5);
    ASSERT_THERE(&bench.w, UNIQUE, NODE_PATH, "status/volumesInUse/0");
    driver_unset(&driver, "fail-NodeUnstageVolume");
    pass(60);
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    csi_close();
}

/* node-29: one try, which fails; what is mounted stays. */
TEST(volume_without_a_data_file_is_forced_once)
{
    char uid[64];

    publish_one(uid);
    restart_after(data_file_vanishes, uid);
    pass(30);
    assert_metric(&bench.w, "\nforce_cleaned_failed_volume_operations_total 1\n");
    assert_metric(&bench.w, "\nforce_cleaned_failed_volume_operation_errors_total 1\n");
    assert_metric(&bench.w, "\nreconstruct_volume_operations_errors_total 1\n");
    assert_true(is_there(pod_file(uid, "c", "mount")));
    csi_close();
}

static void stage_is_refused(const char *uid)
{
    (void)uid;
    driver_set(&driver, "fail-NodeStageVolume", "3 nonsense");
}

/* node-12: what was found may be staged from before, whatever the driver says now. */
TEST(found_volume_stays_uncertain_and_is_unstaged)
{
    char uid[64];

    publish_one(uid);
    restart_after(stage_is_refused, uid);
    pass(10);
    ASSERT_INT(MOUNT_UNCERTAIN, the_volume()->device);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    PASS_UNTIL(driver_has(&driver, "log", "NodeUnstageVolume vol-c 0"));
    csi_close();
}

/* --- Devices, sizes, room, statistics --- */

/* node-34: staged, published, bound, linked and locked; and all of it back. */
TEST(block_volume_is_mapped_and_unmapped)
{
    char uid[64], device[32], path[PATH_MAX];

    csi_open("'attachRequired':false");
    loop_device_new(bench.d, "disk", 1 << 20, device);
    sh("mkdir -p '%s/volumes' && ln -sfn '%s' '%s/volumes/vol-c'", driver.state, device, driver.state);
    put_csi("", RWO, ",'volumeMode':'Block'");
    put_pod("p", "{'name':'v','persistentVolumeClaim':{'claimName':'c'}}",
            "'volumeDevices':[{'name':'v','devicePath':'/dev/x'}]", uid);
    pass(2);
    ASSERT_DRIVER("NodeStageVolume:0 NodePublishVolume:0");
    ASSERT_INT(MOUNT_DONE, state_of(uid));
    (void)snprintf(path, sizeof path, "%s/plugins/kubernetes.io/csi/volumeDevices/c/dev/%s", bench.root, uid);
    assert_true(is_there(path));
    sh("losetup -l -O BACK-FILE | grep -q '%s'", path);
    sh("test -b '%s/pods/%s/volumeDevices/kubernetes.io~csi/c'", bench.root, uid);
    ASSERT_INT(2, count_reason("SuccessfulMountVolume"));
    sh("losetup -d \"$(losetup -nl -O NAME -j '%s' | tr -d ' ')\"", path); /* no lock to take back is fine */
    delete_pod();
    pass(10);
    ASSERT_DRIVER("NodeUnpublishVolume:0 NodeUnstageVolume:0");
    (void)snprintf(path, sizeof path, "%s/plugins/kubernetes.io/csi/volumeDevices/c", bench.root);
    assert_false(is_there(path));
    ASSERT_GONE(&bench.w, PODS "/p");
    csi_close();
}

/* A raw volume whose staging or publishing fails is told of under its own reason, and comes later. */
TEST(block_volume_that_fails_comes_later)
{
    static const struct {
        const char *file;
        const char *words;
        enum mount_state device, pod;
    } rows[] = {
        { "fail-NodeStageVolume", "MapVolume.SetUpDevice failed", MOUNT_UNCERTAIN, MOUNT_NONE },
        { "fail-NodePublishVolume", "MapVolume.MapPodDevice failed", MOUNT_DONE, MOUNT_UNCERTAIN },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[64], device[32];

        csi_open("'attachRequired':false");
        loop_device_new(bench.d, "disk", 1 << 20, device);
        sh("mkdir -p '%s/volumes' && ln -sfn '%s' '%s/volumes/vol-c'", driver.state, device, driver.state);
        driver_set(&driver, rows[i].file, "4 too slow");
        put_csi("", RWO, ",'volumeMode':'Block'");
        put_pod("p", "{'name':'v','persistentVolumeClaim':{'claimName':'c'}}",
                "'volumeDevices':[{'name':'v','devicePath':'/dev/x'}]", uid);
        pass(1);
        ASSERT_INT(rows[i].device, the_volume()->device);
        ASSERT_INT(rows[i].pod, state_of(uid));
        assert_true(count_reason("FailedMapVolume") > 0);
        assert_non_null(strstr(buf_cstr(&bench.w.served.text), rows[i].words));
        driver_unset(&driver, rows[i].file);
        PASS_UNTIL(state_of(uid) == MOUNT_DONE);
        delete_pod();
        PASS_UNTIL(!driver_has(&driver, "staged", "vol-c"));
        csi_close();
    }
}

/* A call to publish that timed out may have been carried out: a later one that is refused, or cannot be made,
 * changes nothing about that. */
TEST(block_volume_that_may_be_published_is_unpublished)
{
    for (unsigned i = 0; i < 2; i++) {
        char uid[64], device[32], note[PATH_MAX];

        csi_open("'attachRequired':false");
        loop_device_new(bench.d, "disk", 1 << 20, device);
        sh("mkdir -p '%s/volumes' && ln -sfn '%s' '%s/volumes/vol-c'", driver.state, device, driver.state);
        driver_set(&driver, "fail-NodePublishVolume", "4 too slow");
        put_csi("", RWO, ",'volumeMode':'Block'");
        put_pod("p", "{'name':'v','persistentVolumeClaim':{'claimName':'c'}}",
                "'volumeDevices':[{'name':'v','devicePath':'/dev/x'}]", uid);
        PASS_UNTIL(state_of(uid) == MOUNT_UNCERTAIN);
        driver_unset(&driver, "log");
        (void)snprintf(note, sizeof note, "%s/plugins/kubernetes.io/csi/volumeDevices/c/pods/%s", bench.root,
                       uid);
        if (i == 0)
            driver_set(&driver, "fail-NodePublishVolume", "3 never");
        else
            sh("rmdir '%s' && : > '%s'", note, note);
        pass(10);
        ASSERT_INT(MOUNT_UNCERTAIN, state_of(uid));
        delete_pod();
        PASS_UNTIL(driver_has(&driver, "log", "NodeUnpublishVolume vol-c 0"));
        csi_close();
    }
}

/* node-37 */
TEST(volume_grows_on_its_node)
{
    char uid[64];

    csi_open("'attachRequired':false");
    ASSERT_SENT(&bench.w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'data':{'key':'dmFsdWU='}}");
    driver_set(&driver, "capabilities", "1 3"); /* nobody asks for statistics */
    put_csi(",'nodeExpandSecretRef':{'name':'s','namespace':'default'}", RWO, "");
    put_disk_pod("p", "c", uid);
    pass(2);
    driver_unset(&driver, "log");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/c", "{'spec':{'capacity':{'storage':'2Gi'}}}");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/c/status",
                "{'status':{'allocatedResources':{'storage':'2Gi'},'allocatedResourceStatuses':{'storage':"
                "'NodeResizePending'}}}");
    pass(70);
    ASSERT_DRIVER("NodeExpandVolume:0");
    ASSERT_ASKED("NodeExpandVolume", "required=2147483648\n");
    ASSERT_ASKED("NodeExpandVolume", "secret.key=value\n");
    ASSERT_ASKED("NodeExpandVolume", "/volumes/kubernetes.io~csi/c/mount\nstaging=");
    ASSERT_THERE(&bench.w, "2Gi", CLAIMS "/c", "status/capacity/storage");
    ASSERT_INT(2, count_reason("FileSystemResizeSuccessful"));
    csi_close();
}

/* node-49: the pod is failed, and the driver asked how much room there is. */
TEST(node_without_room_rejects_the_pod)
{
    csi_open("'nodeAllocatableUpdatePeriodSeconds':10000");
    driver_set(&driver, "node-info", "node-1 5");
    put_csi("", RWO, "");
    put_disk_pod("p", "c", NULL);
    pass(1);
    put_attachment("'attached':false,'attachError':{'message':'full','errorCode':8}");
    pass(130);
    ASSERT_THERE(&bench.w, "Failed", PODS "/p", "status/phase");
    ASSERT_THERE(&bench.w, "VolumeAttachmentLimitExceeded", PODS "/p", "status/reason");
    ASSERT_THERE(&bench.w,
                 "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[v], "
                 "unattached volumes=[v], failed to process volumes=[]: context deadline exceeded",
                 PODS "/p", "status/message");
    ASSERT_THERE(&bench.w, "5", CSI_NODE, "spec/drivers/0/allocatable/count");
    csi_close();
}

/* node-49: only for lack of room, and only of drivers whose limits change. */
TEST(other_failed_attachments_are_waited_for)
{
    static const struct {
        const char *spec;
        const char *error;
    } rows[] = {
        { "'nodeAllocatableUpdatePeriodSeconds':10000", "'message':'odd','errorCode':13" },
        { "'podInfoOnMount':false", "'message':'full','errorCode':8" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char status[256];

        csi_open(rows[i].spec);
        put_csi("", RWO, "");
        put_disk_pod("p", "c", NULL);
        pass(1);
        (void)snprintf(status, sizeof status, "'attached':false,'attachError':{%s}", rows[i].error);
        put_attachment(status);
        pass(130);
        ASSERT_THERE(&bench.w, "Pending", PODS "/p", "status/phase");
        csi_close();
    }
}

/* A driver with a period is asked again and again. */
TEST(limits_are_asked_for_with_every_period)
{
    csi_open("'nodeAllocatableUpdatePeriodSeconds':60");
    driver_set(&driver, "node-info", "node-1 7");
    pass(50);
    ASSERT_THERE(&bench.w, "-", CSI_NODE, "spec/drivers/0/allocatable/count");
    pass(15);
    ASSERT_THERE(&bench.w, "7", CSI_NODE, "spec/drivers/0/allocatable/count");
    driver_set(&driver, "node-info", "node-1 8");
    pass(60);
    ASSERT_THERE(&bench.w, "8", CSI_NODE, "spec/drivers/0/allocatable/count");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CSI_DRIVERS "/test.csi",
                "{'spec':{'nodeAllocatableUpdatePeriodSeconds':null}}");
    driver_set(&driver, "node-info", "node-1 9");
    pass(130);
    ASSERT_THERE(&bench.w, "8", CSI_NODE, "spec/drivers/0/allocatable/count");
    csi_close();
}

static const char *metrics_text(void)
{
    static char text[1 << 20];
    _cleanup_(buf_done_p) struct buf out = BUF_INIT((size_t)16 << 20);

    metrics_write(bench.w.metrics, &out);
    (void)snprintf(text, sizeof text, "%s", buf_cstr(&out));
    return text;
}

/* node-57 */
TEST(usage_is_the_drivers)
{
    static const char series[] = "kubelet_volume_stats_used_bytes{namespace=\"default\","
                                 "persistentvolumeclaim=\"c\"} 300\n";
    char uid[64];

    publish_one(uid);
    pass(130);
    assert_non_null(strstr(metrics_text(), series));
    driver_set(&driver, "no-usage", "");
    pass(130);
    assert_null(strstr(metrics_text(), "kubelet_volume_stats_used_bytes{"));
    driver_unset(&driver, "no-usage");
    pass(130);
    assert_non_null(strstr(metrics_text(), series));
    driver_set(&driver, "capabilities", "1");
    pass(130);
    assert_null(strstr(metrics_text(), "kubelet_volume_stats_used_bytes{"));
    csi_close();
}

/* --- Drivers that come and go --- */

/* The node says so until it has a CSINode. */
TEST(node_is_not_ready_without_a_csi_node)
{
    bench.d = mounts_dir_new();
    disk.log = BUF_INIT((size_t)1 << 20);
    (void)snprintf(bench.root, sizeof bench.root, "%s/root", bench.d->path);
    bench.w.refused = "POST /apis/storage.k8s.io/v1/csinodes";
    parts_init(&bench.w, &bench_type);
    bench.w.refused = "POST /apis/storage.k8s.io/v1/csinodes";
    pass(5);
    ASSERT_SENT(&bench.w.served, 200, "GET", NODE_PATH, NULL);
    assert_non_null(strstr(buf_cstr(&bench.w.served.text), "CSINode is not yet initialized"));
    bench.w.refused = NULL;
    pass(30);
    ASSERT_SENT(&bench.w.served, 200, "GET", NODE_PATH, NULL);
    assert_null(strstr(buf_cstr(&bench.w.served.text), "CSINode is not yet initialized"));
    ASSERT_SENT(&bench.w.served, 200, "GET", CSI_NODE, NULL);
    bench_close();
}

/* The driver is killed and started again: volumes stay, and what failed meanwhile is done. */
TEST(driver_that_was_away_goes_on)
{
    char uid[64];

    publish_one(uid);
    driver_stop(&driver);
    delete_pod();
    pass(5);
    ASSERT_INT(MOUNT_UNCERTAIN, state_of(uid));
    driver_unset(&driver, "notified");
    driver_start(&driver);
    PASS_UNTIL(is_registered());
    PASS_UNTIL(send_request(&bench.w.served, "GET", PODS "/p", NULL) == 404);
    csi_close();
}

/* --- Bad days --- */

static bool has_volumes(void)
{
    return send_request(&bench.w.served, "GET", PODS "/p", NULL) == 200 &&
           strcmp(got(&bench.w.served, "status/conditions/0/status"), "True") == 0;
}

static bool is_gone(void)
{
    return send_request(&bench.w.served, "GET", PODS "/p", NULL) == 404;
}

static void pass_until(bool (*fn)(void))
{
    for (unsigned i = 0; !fn(); i++) {
        if (i == SETTLE_S)
            fail_msg("not after trouble %d at request %u", (int)bench.w.trouble, bench.w.at);
        pass(1);
        (void)poll(NULL, 0, 1); /* a driver's socket is heard of in real time */
    }
}

/* A pod's life with something wrong at its n-th request; how many there were. */
static unsigned run_life(enum trouble trouble, unsigned at)
{
    unsigned before;

    csi_open(NULL);
    ASSERT_SENT(&bench.w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'data':{'key':'dmFsdWU='}}");
    put_csi(",'nodeStageSecretRef':{'name':'s','namespace':'default'}", RWO, "");
    put_attachment("'attached':true");
    report_csi_attached();
    before = bench.w.count;
    bench.w.trouble = trouble;
    bench.w.at = before + at;
    put_disk_pod("p", "c", NULL);
    pass_until(has_volumes);
    ASSERT_ASKED("NodeStageVolume", "secret.key=value\n");
    delete_pod();
    pass_until(is_gone);
    ASSERT_STR("", driver_text(&driver, "published"));
    ASSERT_STR("", driver_text(&driver, "staged"));
    before = bench.w.count - before;
    csi_close();
    return before;
}

/* Whatever request goes wrong, and wherever the agent ends: the pod gets its volume, and nothing stays. */
TEST(a_life_in_spite_of_everything)
{
    static const enum trouble troubles[] = { TROUBLE_REFUSED, TROUBLE_LOST, TROUBLE_CRASH_SENT,
                                             TROUBLE_CRASH_ANSWERED };
    unsigned count = run_life(TROUBLE_NONE, 0);

    for (size_t i = 0; i < ARRAY_LEN(troubles); i++)
        for (unsigned at = 1; at <= count; at++)
            (void)run_life(troubles[i], at);
}

TEST_MAIN()
