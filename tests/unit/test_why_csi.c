/* Explanations of claims, volumes and attachments of a CSI driver (csi-36): the real controllers, a driver
 * in this process, and the real API core. Each cause also from the API alone, where the controllers are
 * another process. */
#include "tests/unit/test_csi_fake.h"

#include "tests/unit/test_said.h"

#include "controllers/csi/csi_controllers.h"
#include "controllers/provisioner/provisioner.h"

#define ATTACHMENTS "/apis/storage.k8s.io/v1/volumeattachments"
#define CSI_DRIVERS "/apis/storage.k8s.io/v1/csidrivers"
#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"

static struct bench {
    struct parts w;
    struct rpc_client *rpc;
    struct csi_endpoints *endpoints;
    struct csi_driver_settings off;
} b;

static const struct csi_function_type *const types[] = { &csi_provisioner_type, &csi_attacher_type,
                                                         &csi_resizer_type, NULL };

/* --- The process --- */

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    static const enum kind kinds[] = {
        KIND_VOLUME,   KIND_CLAIM,      KIND_CLASS,      KIND_NODE,
        KIND_CSI_NODE, KIND_CSI_DRIVER, KIND_ATTACHMENT, KIND_ATTRIBUTES_CLASS
    };
    struct csi_controllers_options c = { .part = *o,
                                         .drivers = &b.off,
                                         .drivers_count = b.off.name ? 1 : 0,
                                         .types = types,
                                         .loop = &provisioner_loop,
                                         .identity = "me",
                                         .lease_ns = "default" };

    (void)fake_for(o);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        assert_non_null(informers_get(o->informers, kinds[i], e));
    ASSERT_OK(rpc_client_new(o->loop, &b.rpc, e));
    ASSERT_OK(csi_endpoints_new(o->loop, &b.endpoints, e));
    c.rpc = b.rpc;
    c.endpoints = b.endpoints;
    return csi_controllers_new(&c, (struct csi_controllers **)ret, e);
}

static void start(void *part)
{
    csi_controllers_start(part);
}

static void end(void *part)
{
    (void)csi_controllers_free(part);
    b.endpoints = csi_endpoints_free(b.endpoints);
    b.rpc = rpc_client_free(b.rpc);
}

static const struct part_type type = { make, start, end };

static void pass_s(unsigned seconds)
{
    parts_pass_ns(&b.w, seconds * NS_PER_S);
}

static void bench_init(void)
{
    fake_on_made = NULL;
    parts_init(&b.w, &type);
    ASSERT_SENT(&b.w.served, 201, "POST", NODES, "{'metadata':{'name':'n1'}}");
    ASSERT_SENT(&b.w.served, 201, "POST", CSI_DRIVERS, "{'metadata':{'name':'" FAKE_DRIVER "'},'spec':{}}");
    ASSERT_SENT(&b.w.served, 201, "POST", CLASSES,
                "{'metadata':{'name':'c'},'provisioner':'" FAKE_DRIVER "','allowVolumeExpansion':true}");
    fake_of_parts()->plugin = FAKE_BIT(1); /* without topology */
}

static void register_node(void)
{
    ASSERT_SENT(&b.w.served, 201, "POST", CSI_NODES,
                "{'metadata':{'name':'n1'},'spec':{'drivers':[{'name':'" FAKE_DRIVER
                "','nodeID':'id-1','topologyKeys':[]}]}}");
}

static void put_endpoint(enum csi_endpoint_origin origin)
{
    const char *driver = origin == CSI_FROM_NODE ? FAKE_DRIVER : "";

    ASSERT_OK(
        csi_endpoints_put(b.endpoints, &(struct csi_known_endpoint){ origin, driver, FAKE_SOCKET }, &err));
    parts_rest(&b.w);
}

/* The driver is registered, and its controllers work. */
static void bench_begin(void)
{
    bench_init();
    register_node();
    put_endpoint(CSI_FROM_NODE);
    pass_s(1);
}

static void bench_done(void)
{
    said_clear();
    process_kill(&b.w);
    process_start(&b.w); /* parts_done() ends it */
    parts_done(&b.w);
    memset(&b, 0, sizeof b);
}

/* --- Questions --- */

static void ask_from(enum kind k, const char *name, const struct csi_controllers *here)
{
    struct onlooker x;

    onlooker_open(&x, &b.w.served);
    x.world.csi = here;
    say(&x.world, &(struct why_question){ .kind = k, .ns = k == KIND_CLAIM ? "default" : "", .name = name });
    onlooker_close(&x);
}

static void ask(enum kind k, const char *name)
{
    ask_from(k, name, b.w.part);
}

/* Somebody who knows only the API. */
static void ask_elsewhere(enum kind k, const char *name)
{
    ask_from(k, name, NULL);
}

/* --- Objects --- */

static void put_claim(void)
{
    ASSERT_SENT(
        &b.w.served, 201, "POST", CLAIMS,
        "{'metadata':{'name':'x','annotations':{'volume.kubernetes.io/storage-provisioner':'" FAKE_DRIVER
        "'}},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'c',"
        "'resources':{'requests':{'storage':'1Gi'}}}}");
    parts_rest(&b.w);
}

static void put_lease(const char *name, const char *holder, const char *renewed)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'holderIdentity':'%s','leaseDurationSeconds':600,"
                   "'renewTime':'%s'}}",
                   name, holder, renewed);
    ASSERT_SENT(&b.w.served, 201, "POST", LEASES, body);
}

static const char *now(void)
{
    static struct buf text = BUF_INIT(64);

    buf_clear(&text);
    timestamp_format_micro(timestamp_of_ns(clock_real_ns(&b.w.served.clock.clock)), &text);
    return buf_cstr(&text);
}

static void fail_next(const char *method, enum rpc_code code, const char *words, unsigned times)
{
    struct fake_csi *f = fake_of_parts();

    f->fails.method = method;
    f->fails.code = code;
    f->fails.words = words;
    f->fails.times = times;
}

/* A claim of 1Gi that is bound to a volume of the driver. */
static void put_pair(void)
{
    char body[2048];

    (void)fake_csi_add(fake_of_parts(), "v", INT64_C(1) << 30);
    ASSERT_SENT(&b.w.served, 201, "POST", CLAIMS,
                "{'metadata':{'name':'x','annotations':{'pv.kubernetes.io/bind-completed':'yes'}},"
                "'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'c',"
                "'volumeName':'pv','resources':{'requests':{'storage':'1Gi'}}}}");
    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'pv','annotations':{'pv.kubernetes.io/provisioned-by':'" FAKE_DRIVER
        "'}},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],"
        "'persistentVolumeReclaimPolicy':'Delete','storageClassName':'c','claimRef':{'namespace':'default',"
        "'name':'x','uid':'%s'},'csi':{'driver':'" FAKE_DRIVER "','volumeHandle':'v'}}}",
        got(&b.w.served, "metadata/uid"));
    ASSERT_SENT(&b.w.served, 201, "POST", VOLUMES, body);
    ASSERT_SENT(&b.w.served, 200, "MERGE", VOLUMES "/pv/status", "{'status':{'phase':'Bound'}}");
    ASSERT_SENT(&b.w.served, 200, "MERGE", CLAIMS "/x/status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']}}");
    parts_rest(&b.w);
}

static void put_attachment(void)
{
    ASSERT_SENT(&b.w.served, 201, "POST", ATTACHMENTS,
                "{'metadata':{'name':'a'},'spec':{'attacher':'" FAKE_DRIVER
                "','nodeName':'n1','source':{'persistentVolumeName':'pv'}}}");
    parts_rest(&b.w);
}

/* --- The driver and its controllers (csi-36) --- */

/* csi-36 */
TEST(csi_claim_of_a_driver_that_is_not_registered)
{
    bench_init();
    put_claim();
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("driver-not-registered",
                "CSI driver fake.csi is not registered on any node, and no process holds its lease fake.csi");
    ASSERT_TEXT("berth controllers --csi-endpoint unix://PATH");
    bench_done();
}

/* csi-36 */
TEST(csi_claim_of_a_driver_without_a_controller_service)
{
    bench_init();
    register_node();
    fake_of_parts()->plugin = 0;
    put_endpoint(CSI_FROM_NODE);
    pass_s(1);
    put_claim();
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("no-controller-service",
                "CSI driver fake.csi is registered, but it has no controller service, which is needed to "
                "provision its volumes");
    ASSERT_TEXT("csi.drivers.fake.csi.socket");
    ask_elsewhere(KIND_CLAIM, "x");
    ASSERT_SAID(
        "no-csi-controller",
        "no process can provision volumes of CSI driver fake.csi: no process holds the lease fake.csi");
    ASSERT_TEXT("CSI driver fake.csi is registered on: n1");
    bench_done();
}

/* csi-36 */
TEST(csi_claim_of_a_driver_that_the_settings_switch_off)
{
    b.off = (struct csi_driver_settings){ .name = FAKE_DRIVER, .is_off = true };
    bench_init();
    register_node();
    put_endpoint(CSI_FROM_SETTINGS);
    pass_s(1);
    put_claim();
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("driver-not-served", "this process does not provision volumes of CSI driver fake.csi: the "
                                     "settings switch the controller of this driver off");
    bench_done();
}

/* csi-36 */
TEST(csi_claim_whose_lease_another_process_holds)
{
    static const char text[] = "sidecar-1 has to do it: it holds the lease fake.csi of CSI driver fake.csi";

    bench_init();
    register_node();
    put_lease("fake.csi", "sidecar-1", now());
    put_endpoint(CSI_FROM_NODE);
    pass_s(6);
    put_claim();
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("lease-held", text);
    ask_elsewhere(KIND_CLAIM, "x");
    ASSERT_SAID("lease-held", text);
    bench_done();
}

/* csi-36 */
TEST(csi_claim_whose_lease_has_ended)
{
    bench_init();
    register_node();
    put_lease("fake.csi", "sidecar-1", "2020-01-01T00:00:00.000000Z");
    put_claim();
    ask_elsewhere(KIND_CLAIM, "x");
    ASSERT_SAID(
        "no-csi-controller",
        "no process can provision volumes of CSI driver fake.csi: no process holds the lease fake.csi");
    ASSERT_TEXT("ago, by sidecar-1");
    bench_done();
}

/* csi-36 */
TEST(csi_claim_of_a_driver_that_is_not_ready)
{
    bench_init();
    register_node();
    fake_of_parts()->is_not_ready = true;
    put_endpoint(CSI_FROM_NODE);
    put_claim();
    pass_s(12);
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("driver-not-ready",
                "CSI driver fake.csi is not ready: it has been probing for 12s: Probe: the "
                "driver reports that it is not ready");
    ASSERT_TEXT(FAKE_SOCKET);
    fail_next("CreateVolume", RPC_INTERNAL, "no disk is left", 99);
    fake_of_parts()->is_not_ready = false;
    pass_s(2);
    fake_csi_end(fake_of_parts());
    pass_s(3);
    ask(KIND_CLAIM, "x");
    ASSERT_STR("driver-not-ready", said_member("cause"));
    ASSERT_TEXT("it has been lost for 3s: no connection to " FAKE_SOCKET);
    fake_csi_begin(fake_of_parts());
    bench_done();
}

/* csi-36: two sockets claim one driver; and the driver itself. */
TEST(csi_driver_with_a_second_socket)
{
    struct fake_csi other;

    bench_begin();
    ask(KIND_CSI_DRIVER, FAKE_DRIVER);
    ASSERT_SAID("none", "nothing is wrong");
    ASSERT_STR("ready", said_member("state"));
    ASSERT_TEXT("external-provisioner: done by me, which holds lease fake.csi in default");
    ASSERT_TEXT("registered on: n1");
    fake_csi_init(&other, b.w.served.loop, "/run/other/csi.sock");
    ASSERT_OK(csi_endpoints_put(
        b.endpoints, &(struct csi_known_endpoint){ CSI_FROM_SETTINGS, "", "/run/other/csi.sock" }, &err));
    parts_rest(&b.w);
    pass_s(2);
    ask(KIND_CSI_DRIVER, FAKE_DRIVER);
    ASSERT_SAID("second-socket",
                "socket /run/other/csi.sock is not used: the driver is served through another "
                "socket, " FAKE_SOCKET);
    ask_elsewhere(KIND_CSI_DRIVER, FAKE_DRIVER);
    ASSERT_STR("unknown here", said_member("state"));
    ASSERT_STR("none", said_member("cause"));
    process_kill(&b.w);
    fake_csi_done(&other);
    process_start(&b.w);
    bench_done();
}

/* csi-36 */
TEST(csi_driver_that_nobody_has)
{
    bench_init();
    ask(KIND_CSI_DRIVER, FAKE_DRIVER);
    ASSERT_SAID("driver-not-registered", "it is registered on no node, and no process holds its leases");
    register_node();
    ask(KIND_CSI_DRIVER, FAKE_DRIVER);
    ASSERT_SAID("no-csi-controller", "no process provisions, attaches or expands its volumes");
    fake_of_parts()->plugin = 0;
    put_endpoint(CSI_FROM_NODE);
    pass_s(1);
    ask(KIND_CSI_DRIVER, FAKE_DRIVER); /* on nodes only, as it should be */
    ASSERT_STR("none", said_member("cause"));
    ASSERT_TEXT("has no controllers here: the driver has no controller service");
    bench_done();
}

/* Each class of failure, with the driver's words and the time of the next try. */
/* csi-36 */
TEST(csi_claim_whose_provisioning_fails)
{
    static const struct {
        enum rpc_code code;
        const char *text, *class, *next;
    } rows[] = {
        { RPC_INTERNAL, "(Internal)", "final: the call has failed for good", "it is retried in 1 s" },
        { RPC_DEADLINE_EXCEEDED, "(DeadlineExceeded)", "in progress: the call may still take effect",
          "it is retried in 1 s" },
        { RPC_RESOURCE_EXHAUSTED, "(ResourceExhausted)", "exhausted: the driver lacks capacity",
          "it is retried in 1 s" },
        { RPC_INVALID_ARGUMENT, "(InvalidArgument)", "infeasible: the same request will fail again",
          "it is retried in 300 s" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char sentence[256];

        bench_begin();
        fail_next("CreateVolume", rows[i].code, "no disk is left", 9);
        put_claim();
        ask(KIND_CLAIM, "x");
        (void)snprintf(sentence, sizeof sentence,
                       "CreateVolume of CSI driver fake.csi fails: no disk is left %s", rows[i].text);
        ASSERT_SAID("provisioning-failed", sentence);
        ASSERT_TEXT(rows[i].class);
        ASSERT_TEXT(rows[i].next);
        ASSERT_TEXT("berth describe csidriver fake.csi");
        ask_elsewhere(KIND_CLAIM, "x"); /* by the event, and the lease */
        ASSERT_STR("provisioning-failed", said_member("cause"));
        ASSERT_TEXT("no disk is left");
        ASSERT_TEXT("lease fake.csi is held by me");
        bench_done();
    }
}

/* csi-36 */
TEST(csi_claim_whose_driver_is_busy)
{
    bench_begin();
    fake_of_parts()->held = "CreateVolume";
    put_claim();
    pass_s(5);
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("driver-busy", "CSI driver fake.csi has been working on it for 5s: CreateVolume");
    fake_csi_release(fake_of_parts());
    pass_s(1);
    ask(KIND_CLAIM, "x");
    ASSERT_NO_TEXT("CreateVolume");
    bench_done();
}

/* --- Attachments --- */

/* csi-36 */
TEST(csi_attachment_that_fails)
{
    bench_begin();
    put_pair();
    fail_next("ControllerPublishVolume", RPC_INTERNAL, "node is on fire", 3);
    put_attachment();
    ask(KIND_ATTACHMENT, "a");
    ASSERT_STR("Attaching to n1", said_member("state"));
    ASSERT_SAID("attach-failed",
                "ControllerPublishVolume of CSI driver fake.csi fails: node is on fire (Internal)");
    ASSERT_TEXT("it is retried in 1 s");
    ask_elsewhere(KIND_ATTACHMENT, "a");
    ASSERT_STR("attach-failed", said_member("cause"));
    ASSERT_TEXT("node is on fire");
    pass_s(20);
    ask(KIND_ATTACHMENT, "a");
    ASSERT_SAID("none", "nothing is wrong");
    ASSERT_STR("Attached to n1", said_member("state"));
    fail_next("ControllerUnpublishVolume", RPC_UNAVAILABLE, "array is away", 9);
    ASSERT_SENT(&b.w.served, 200, "DELETE", ATTACHMENTS "/a", NULL);
    parts_rest(&b.w);
    ask(KIND_ATTACHMENT, "a");
    ASSERT_STR("Detaching from n1", said_member("state"));
    ASSERT_SAID("detach-failed",
                "ControllerUnpublishVolume of CSI driver fake.csi fails: array is away (Unavailable)");
    ASSERT_TEXT("in progress: the call may still take effect");
    bench_done();
}

/* csi-36 */
TEST(csi_attachment_that_nobody_serves)
{
    bench_init();
    put_pair();
    put_attachment();
    ask_elsewhere(KIND_ATTACHMENT, "a");
    ASSERT_SAID("driver-not-registered", "CSI driver fake.csi is not registered on node n1");
    register_node();
    ask_elsewhere(KIND_ATTACHMENT, "a");
    ASSERT_SAID("no-csi-controller",
                "no process can attach volumes of CSI driver fake.csi: no process holds the "
                "lease external-attacher-leader-fake.csi");
    put_lease("external-attacher-leader-fake.csi", "sidecar-2", now());
    ask_elsewhere(KIND_ATTACHMENT, "a");
    ASSERT_SAID("lease-held",
                "sidecar-2 has to do it: it holds the lease external-attacher-leader-fake.csi of "
                "CSI driver fake.csi");
    ASSERT_SENT(&b.w.served, 200, "MERGE", ATTACHMENTS "/a",
                "{'metadata':{'finalizers':['external-attacher/fake-csi','example.com/other']}}");
    ASSERT_SENT(&b.w.served, 200, "DELETE", ATTACHMENTS "/a", NULL);
    ask_elsewhere(KIND_ATTACHMENT, "a");
    ASSERT_SAID("finalizer",
                "it is being deleted, and waits for the component that set finalizer example.com/other");
    ASSERT_TEXT("lease external-attacher-leader-fake.csi is held by sidecar-2");
    bench_done();
}

/* csi-36 */
TEST(csi_attachment_without_its_volume_or_node)
{
    bench_init();
    put_attachment();
    ask_elsewhere(KIND_ATTACHMENT, "a");
    ASSERT_SAID("volume-gone", "its volume pv does not exist");
    put_pair();
    ASSERT_SENT(&b.w.served, 200, "DELETE", NODES "/n1", NULL);
    ask_elsewhere(KIND_ATTACHMENT, "a");
    ASSERT_SAID("node-gone", "its node n1 does not exist");
    bench_done();
}

/* --- Expansion and modification --- */

/* csi-36 */
TEST(csi_claim_whose_expansion_fails)
{
    bench_begin();
    put_pair();
    fail_next("ControllerExpandVolume", RPC_INTERNAL, "pool is locked", 9);
    ASSERT_SENT(&b.w.served, 200, "MERGE", CLAIMS "/x",
                "{'spec':{'resources':{'requests':{'storage':'2Gi'}}}}");
    parts_rest(&b.w);
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("resize-failed",
                "ControllerExpandVolume of CSI driver fake.csi fails: pool is locked (Internal)");
    ASSERT_TEXT("it is retried in 1 s");
    ask_elsewhere(KIND_CLAIM, "x");
    ASSERT_STR("resize-failed", said_member("cause"));
    ASSERT_TEXT("lease external-resizer-fake-csi is held by me");
    bench_done();
}

/* csi-36 */
TEST(csi_claim_whose_expansion_is_infeasible)
{
    bench_begin();
    put_pair();
    fail_next("ControllerExpandVolume", RPC_OUT_OF_RANGE, "too large", 9);
    ASSERT_SENT(&b.w.served, 200, "MERGE", CLAIMS "/x",
                "{'spec':{'resources':{'requests':{'storage':'2Gi'}}}}");
    parts_rest(&b.w);
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("resize-infeasible",
                "ControllerExpandVolume of CSI driver fake.csi fails: too large (OutOfRange)");
    ASSERT_TEXT("infeasible: the same request will fail again");
    ASSERT_TEXT("Request less, but not less than it has now.");
    bench_done();
}

/* csi-36 */
TEST(csi_claim_whose_driver_cannot_expand)
{
    bench_init();
    register_node();
    fake_of_parts()->controller = FAKE_BIT(1); /* CREATE_DELETE_VOLUME */
    fake_of_parts()->node = 0;
    put_endpoint(CSI_FROM_NODE);
    pass_s(1);
    put_pair();
    ASSERT_SENT(&b.w.served, 200, "MERGE", CLAIMS "/x",
                "{'spec':{'resources':{'requests':{'storage':'2Gi'}}}}");
    parts_rest(&b.w);
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("driver-cannot", "CSI driver fake.csi cannot expand or modify volumes: it does not report "
                                 "EXPAND_VOLUME or MODIFY_VOLUME");
    bench_done();
}

/* csi-36 */
TEST(csi_claim_whose_modification_fails)
{
    bench_begin();
    put_pair();
    ASSERT_SENT(&b.w.served, 201, "POST", ATTRIBUTES_CLASSES,
                "{'metadata':{'name':'fast'},'driverName':'" FAKE_DRIVER "','parameters':{'iops':'9'}}");
    parts_rest(&b.w);
    fail_next("ControllerModifyVolume", RPC_INTERNAL, "no such speed", 9);
    ASSERT_SENT(&b.w.served, 200, "MERGE", CLAIMS "/x", "{'spec':{'volumeAttributesClassName':'fast'}}");
    parts_rest(&b.w);
    ask(KIND_CLAIM, "x");
    ASSERT_SAID("modify-failed",
                "ControllerModifyVolume of CSI driver fake.csi fails: no such speed (Internal)");
    ASSERT_TEXT("it is retried in 1 s");
    ask_elsewhere(KIND_CLAIM, "x");
    ASSERT_STR("modify-failed", said_member("cause"));
    ASSERT_TEXT("no such speed");
    bench_done();
}

/* --- Volumes --- */

/* csi-36 */
TEST(csi_volume_whose_deletion_fails)
{
    bench_begin();
    put_pair();
    fail_next("DeleteVolume", RPC_FAILED_PRECONDITION, "it has snapshots", 9);
    ASSERT_SENT(&b.w.served, 200, "MERGE", CLAIMS "/x", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&b.w.served, 200, "DELETE", CLAIMS "/x", NULL);
    ASSERT_SENT(&b.w.served, 200, "MERGE", VOLUMES "/pv/status", "{'status':{'phase':'Released'}}");
    parts_rest(&b.w);
    ask(KIND_VOLUME, "pv");
    ASSERT_SAID("failing",
                "DeleteVolume of CSI driver fake.csi fails: it has snapshots (FailedPrecondition)");
    ASSERT_TEXT("it is retried in 1 s");
    ASSERT_TEXT("To keep its data instead");
    ask_elsewhere(KIND_VOLUME, "pv");
    ASSERT_STR("failing", said_member("cause"));
    ASSERT_TEXT("it has snapshots");
    bench_done();
}

/* csi-36 */
TEST(csi_volume_with_the_finalizer_of_an_attacher)
{
    bench_init();
    put_pair();
    ASSERT_SENT(&b.w.served, 200, "MERGE", VOLUMES "/pv",
                "{'metadata':{'finalizers':['external-attacher/fake-csi']}}");
    ASSERT_SENT(&b.w.served, 200, "DELETE", VOLUMES "/pv", NULL);
    ask_elsewhere(KIND_VOLUME, "pv");
    ASSERT_SAID("finalizer", "it is being deleted, and the attacher of its CSI driver has to remove the "
                             "finalizer external-attacher/fake-csi");
    ASSERT_TEXT("CSI driver fake.csi is not registered on any node");
    ASSERT_TEXT("Only if the driver is gone for good: berth patch pv pv --type=json");
    put_attachment();
    ask_elsewhere(KIND_VOLUME, "pv");
    ASSERT_SAID("attached", "it is being deleted, and is kept while it is attached to n1 "
                            "(external-attacher/fake-csi)");
    bench_done();
}

TEST_MAIN()
