/* The provisioner of a CSI driver on the real API core, with a driver in this process: csi-1 to csi-10 and
 * csi-13 to csi-16. Nothing binds here: the tests write what the binder would. */
#include "tests/unit/test_csi_part.h"

#define RECORD "/api/v1/namespaces/default/configmaps/berth-csi-fake.csi"
#define SECRETS "/api/v1/namespaces/default/secrets"
#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define P "csi.storage.k8s.io/"

/* --- Objects --- */

static void put_class(struct parts *w, const char *more)
{
    char body[4096];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'c'},'provisioner':'" FAKE_DRIVER "'%s}", more);
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

static void put_claim(struct parts *w, const char *name, const char *meta, const char *spec, char ret[64])
{
    char body[4096];

    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'%s','annotations':{'volume.kubernetes.io/storage-provisioner':'" FAKE_DRIVER
        "'%s},'finalizers':null},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'c',"
        "'resources':{'requests':{'storage':'3Gi'}}%s}}",
        name, meta, spec);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
    (void)snprintf(ret, 64, "%s", got(&w->served, "metadata/uid"));
}

static void drop_claim(struct parts *w, const char *claim)
{
    ASSERT_SENT(&w->served, 200, "MERGE", claim, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "DELETE", claim, NULL);
}

static const char *volume_path(const char *uid)
{
    static char path[256];

    (void)snprintf(path, sizeof path, VOLUMES "/pvc-%s", uid);
    return path;
}

static void set_phase(struct parts *w, const char *volume, const char *phase)
{
    char path[512], body[128];

    (void)snprintf(path, sizeof path, "%s/status", volume);
    (void)snprintf(body, sizeof body, "{'status':{'phase':'%s'}}", phase);
    ASSERT_SENT(&w->served, 200, "MERGE", path, body);
}

/* The binder finds the claim gone; the finalizer of the protection controller is removed. */
static void release(struct parts *w, const char *volume)
{
    ASSERT_SENT(&w->served, 200, "JSON", volume,
                "[{'op':'test','path':'/metadata/finalizers/1','value':'kubernetes.io/pv-protection'},"
                "{'op':'remove','path':'/metadata/finalizers/1'}]");
    set_phase(w, volume, "Released");
}

static void release_protected(struct parts *w, const char *volume)
{
    set_phase(w, volume, "Released");
}

static void pass(struct parts *w, unsigned seconds)
{
    parts_pass_ns(w, (uint64_t)seconds * NS_PER_S);
}

static void begin_with(struct parts *w, void (*on_made)(struct fake_csi *f), const char *class)
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_provisioner_type;
    fake_on_made = on_made;
    parts_init(w, &csi_part);
    put_class(w, class);
    pass(w, 1);
}

static void begin(struct parts *w, const char *class)
{
    begin_with(w, without_topology, class);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    parts_done(w);
}

#define ASSERT_FAILED_EVENT(w, text)                 \
    ASSERT_EVENT(w, "Warning", "ProvisioningFailed", \
                 "failed to provision volume with StorageClass \"c\": " text)

/* --- Provisioning --- */

/* csi-1: the volume has everything of section 1e. */
TEST(csi_provision_of_a_claim)
{
    char uid[64], text[256];
    struct parts w;

    begin(&w, ",'mountOptions':['hard'],'reclaimPolicy':'Delete','parameters':{'type':'ssd','" P
              "fstype':'xfs'}");
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_GOT(&w.served,
               "{'pv.kubernetes.io/provisioned-by':'" FAKE_DRIVER
               "','volume.kubernetes.io/provisioner-deletion-secret-name':'',"
               "'volume.kubernetes.io/provisioner-deletion-secret-namespace':''}",
               "metadata/annotations");
    assert_non_null(
        strstr(got(&w.served, "metadata/finalizers"), "external-provisioner.volume.kubernetes.io/finalizer"));
    ASSERT_GOT(&w.served, FAKE_DRIVER, "spec/csi/driver");
    ASSERT_GOT(&w.served, "xfs", "spec/csi/fsType");
    assert_non_null(strstr(got(&w.served, "spec/csi/volumeAttributes"), "-" FAKE_DRIVER));
    ASSERT_GOT(&w.served, "3Gi", "spec/capacity/storage");
    ASSERT_GOT(&w.served, "['ReadWriteOnce']", "spec/accessModes");
    ASSERT_GOT(&w.served, "['hard']", "spec/mountOptions");
    ASSERT_GOT(&w.served, "Delete", "spec/persistentVolumeReclaimPolicy");
    ASSERT_GOT(&w.served, "Filesystem", "spec/volumeMode");
    ASSERT_GOT(&w.served, "c", "spec/storageClassName");
    ASSERT_GOT(&w.served, uid, "spec/claimRef/uid");
    ASSERT_EVENT(&w, "Normal", "Provisioning",
                 "External provisioner is provisioning volume for claim \"default/x\"");
    (void)snprintf(text, sizeof text, "Successfully provisioned volume pvc-%s", uid);
    ASSERT_EVENT(&w, "Normal", "ProvisioningSucceeded", text);
    (void)snprintf(text, sizeof text, "CreateVolume pvc-%s OK\n", uid);
    assert_called(fake_of_parts(), text);
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w.served, "data"));
    end(&w);
}

/* csi-2: a claim that waits for its first consumer is not provisioned before a node is selected. */
TEST(csi_provision_waits_for_a_node)
{
    char uid[64];
    struct parts w;

    begin_with(&w, NULL, ",'volumeBindingMode':'WaitForFirstConsumer'");
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'n','labels':{'zone':'b'}}}");
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'m','labels':{'zone':'a'}}}");
    ASSERT_SENT(&w.served, 201, "POST", CSI_NODES,
                "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'" FAKE_DRIVER
                "','nodeID':'n','topologyKeys':['zone']}]}}");
    fake_of_parts()->topology = "zone=b";
    put_claim(&w, "x", "", "", uid);
    pass(&w, 100);
    assert_called(fake_of_parts(), "");
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/x",
                "{'metadata':{'annotations':{'volume.kubernetes.io/selected-node':'n'}}}");
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_GOT(
        &w.served,
        "{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'In','values':["
        "'b']}]}]}}",
        "spec/nodeAffinity");
    end(&w);
}

static unsigned plugin_bits, controller_bits;

static void set_bits(struct fake_csi *f)
{
    f->plugin = plugin_bits;
    f->controller = controller_bits;
}

/* csi-3, csi-13, csi-14: what the driver lacks is said, and nothing is called. */
TEST(csi_provision_without_capabilities)
{
    static const struct {
        unsigned plugin, controller;
        const char *spec, *text;
    } rows[] = {
        { 0, 0, "",
          "CSI driver does not support dynamic provisioning: plugin CONTROLLER_SERVICE capability is not "
          "reported" },
        { FAKE_BIT(1), FAKE_BIT(2), "",
          "CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is "
          "not "
          "reported" },
        { FAKE_BIT(1), FAKE_BIT(1), ",'volumeAttributesClassName':'gold'",
          "CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not "
          "reported" },
        { FAKE_BIT(1), FAKE_BIT(1), ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}",
          "CSI driver does not support clone operations: controller CLONE_VOLUME capability is not "
          "reported" },
        { FAKE_BIT(1), FAKE_BIT(1),
          ",'dataSource':{'apiGroup':'snapshot.storage.k8s.io','kind':'VolumeSnapshot','name':'old'}",
          "CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not "
          "reported" },
        { FAKE_BIT(1), FAKE_BIT(1), ",'selector':{'matchLabels':{'a':'b'}}",
          "claim Selector is not supported" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[64], text[512];
        struct parts w;

        settings = (struct csi_driver_settings){ 0 };
        the_function = &csi_provisioner_type;
        plugin_bits = rows[i].plugin;
        controller_bits = rows[i].controller;
        fake_on_made = set_bits;
        parts_init(&w, &csi_part);
        put_class(&w, "");
        put_claim(&w, "x", "", rows[i].spec, uid);
        pass(&w, 1);
        (void)snprintf(text, sizeof text, "failed to provision volume with StorageClass \"c\": %s",
                       rows[i].text);
        ASSERT_EVENT(&w, "Warning", "ProvisioningFailed", text);
        assert_called(fake_of_parts(), "");
        end(&w);
    }
}

/* csi-13: a source of another kind is for its own controller. */
TEST(csi_provision_leaves_populators_alone)
{
    char uid[64];
    struct parts w;

    begin(&w, "");
    put_claim(&w, "x", "", ",'dataSourceRef':{'apiGroup':'x.io','kind':'Filler','name':'f'}", uid);
    pass(&w, 1000);
    ASSERT_EVENT(&w, "Normal", "Provisioning", "Assuming an external populator will provision the volume");
    assert_called(fake_of_parts(), "");
    end(&w);
}

/* csi-5, csi-37: the secret is passed with each try, as it is then, and is in no object and no event. */
TEST(csi_provision_with_a_secret)
{
    static const char class[] = ",'parameters':{'" P "provisioner-secret-name':'${pvc.name}','" P
                                "provisioner-secret-namespace':'default'}";
    char uid[64];
    struct parts w;

    begin(&w, class);
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_FAILED_EVENT(&w, "error getting secret x in namespace default: secrets \"x\" not found");
    ASSERT_SENT(&w.served, 201, "POST", SECRETS, "{'metadata':{'name':'x'},'stringData':{'key':'hidden'}}");
    pass(&w, 10);
    assert_non_null(strstr(fake_of_parts()->last, "hidden"));
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    assert_non_null(strstr(got(&w.served, "metadata/annotations"), "-secret-name\":\"x\""));
    assert_null(strstr(buf_cstr(&w.served.text), "hidden"));
    end(&w);
}

/* csi-6: an invalid argument is retried after five minutes; a lack of resources with backoff. */
TEST(csi_provision_of_what_is_infeasible)
{
    char uid[64];
    struct parts w;

    begin(&w, "");
    fail_next("CreateVolume", RPC_INVALID_ARGUMENT, "bad type", 1);
    put_claim(&w, "x", "", "", uid);
    pass(&w, 290);
    ASSERT_INT(1, count_calls("CreateVolume"));
    ASSERT_EVENT(
        &w, "Warning", "ProvisioningFailed",
        "Volume provisioning failed with infeasible error. Retries will be delayed. failed to provision "
        "volume with StorageClass \"c\": rpc error: code = InvalidArgument desc = bad type");
    pass(&w, 20);
    ASSERT_INT(2, count_calls("CreateVolume"));
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    end(&w);
}

/* csi-6: a change of the claim is no reason to try earlier; another class of the name is. */
TEST(csi_provision_of_what_is_infeasible_waits_for_a_class)
{
    char uid[64];
    struct parts w;

    begin(&w, "");
    fail_next("CreateVolume", RPC_INVALID_ARGUMENT, "bad type", 1);
    put_claim(&w, "x", "", "", uid);
    pass(&w, 10);
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/x", "{'metadata':{'labels':{'a':'b'}}}");
    ASSERT_SENT(&w.served, 200, "MERGE", CLASSES "/c", "{'metadata':{'labels':{'a':'b'}}}");
    pass(&w, 200);
    ASSERT_INT(1, count_calls("CreateVolume"));
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/c", NULL);
    pass(&w, 10);
    ASSERT_INT(1, count_calls("CreateVolume"));
    put_class(&w, "");
    pass(&w, 1);
    ASSERT_INT(2, count_calls("CreateVolume"));
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    end(&w);
}

/* csi-6: on the selected node there is no room: the scheduler selects another. */
TEST(csi_provision_where_nothing_is_left)
{
    char uid[64];
    struct parts w;

    begin_with(&w, NULL, ",'volumeBindingMode':'WaitForFirstConsumer'");
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'n','labels':{'zone':'b'}}}");
    ASSERT_SENT(&w.served, 201, "POST", CSI_NODES,
                "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'" FAKE_DRIVER
                "','nodeID':'n','topologyKeys':['zone']}]}}");
    fail_next("CreateVolume", RPC_RESOURCE_EXHAUSTED, "full", 1);
    put_claim(&w, "x", ",'volume.kubernetes.io/selected-node':'n'", "", uid);
    pass(&w, 2);
    ASSERT_THERE(&w, "{'volume.kubernetes.io/storage-provisioner':'" FAKE_DRIVER "'}", CLAIMS "/x",
                 "metadata/annotations");
    ASSERT_INT(1, count_calls("CreateVolume"));
    end(&w);
}

/* csi-7: a call without an answer is repeated, though the claim is gone and the process was killed. */
TEST(csi_provision_without_an_answer)
{
    char uid[64];
    struct parts w;

    begin(&w, ",'reclaimPolicy':'Delete'");
    fail_next("CreateVolume", RPC_DEADLINE_EXCEEDED, "slow", 1);
    put_claim(&w, "x", "", "", uid);
    pass(&w, 0);
    ASSERT_INT(1, count_calls("CreateVolume"));
    drop_claim(&w, CLAIMS "/x");
    w.is_dead = true;
    process_care(&w);
    pass(&w, 10);
    ASSERT_INT(2, count_calls("CreateVolume"));
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    release(&w, volume_path(uid)); /* as the binder finds it */
    pass(&w, 10);
    ASSERT_INT(0, fake_csi_count_volumes(fake_of_parts()));
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w.served, "data"));
    end(&w);
}

/* csi-8: a volume that is too small is deleted again. */
TEST(csi_provision_of_a_small_volume)
{
    char uid[64];
    struct parts w;

    begin(&w, "");
    fake_of_parts()->size = 1;
    put_claim(&w, "x", "", "", uid);
    pass(&w, 0);
    ASSERT_FAILED_EVENT(&w, "created volume capacity 1 less than requested capacity 3221225472");
    ASSERT_INT(0, fake_csi_count_volumes(fake_of_parts()));
    fake_of_parts()->size = 0;
    pass(&w, 10);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    end(&w);
}

static bool answer_without_text(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__CreateVolumeResponse m = CSI__V1__CREATE_VOLUME_RESPONSE__INIT;
    Csi__V1__Volume volume;
    Csi__V1__Pair pair, *pairs[] = { &pair };

    (void)f;
    if (strcmp(q->method, "CreateVolume") != 0)
        return false;
    csi__v1__volume__init(&volume);
    csi__v1__pair__init(&pair);
    pair.key = (char *)(uintptr_t) "k";
    pair.value = (char *)(uintptr_t) "\377";
    volume.volume_id = (char *)(uintptr_t) "v";
    volume.volume_context = pairs;
    volume.n_volume_context = 1;
    m.volume = &volume;
    ASSERT_OK(rpc_message_pack(&m.base, &q->answer, &err));
    return true;
}

/* No server accepts such a volume: the call is repeated, and its claim says why. */
TEST(csi_provision_of_a_volume_that_is_not_text)
{
    char uid[64];
    struct parts w;

    begin(&w, "");
    fake_of_parts()->serve = answer_without_text;
    put_claim(&w, "x", "", "", uid);
    pass(&w, 0);
    ASSERT_FAILED_EVENT(&w, "driver answered CreateVolume with text that is not valid UTF-8");
    fake_of_parts()->serve = NULL;
    pass(&w, 10);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    end(&w);
}

/* csi-9: the volume is saved however long that takes. */
TEST(csi_provision_saves_until_it_succeeds)
{
    char uid[64];
    struct parts w;

    begin(&w, "");
    w.refused = "POST /api/v1/persistentvolumes";
    put_claim(&w, "x", "", "", uid);
    pass(&w, 3600);
    ASSERT_GONE(&w, volume_path(uid));
    ASSERT_INT(1, fake_csi_count_volumes(fake_of_parts()));
    w.refused = NULL;
    pass(&w, 1000);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    end(&w);
}

/* --- Deletion --- */

/* A volume of a claim that is gone. */
static void make_released(struct parts *w, char uid[64],
                          void (*release_it)(struct parts *w, const char *volume))
{
    put_claim(w, "x", "", "", uid);
    pass(w, 1);
    set_phase(w, volume_path(uid), "Bound");
    ASSERT_SENT(&w->served, 200, "MERGE", volume_path(uid), "{'metadata':{'labels':{'bound':'yes'}}}");
    pass(w, 1);
    drop_claim(w, CLAIMS "/x");
    release_it(w, volume_path(uid));
    pass(w, 30);
}

/* csi-15: a released volume is deleted with its storage. */
TEST(csi_deletion)
{
    char uid[64];
    struct parts w;

    begin(&w, ",'reclaimPolicy':'Delete'");
    make_released(&w, uid, release);
    ASSERT_GONE(&w, volume_path(uid));
    ASSERT_INT(0, fake_csi_count_volumes(fake_of_parts()));
    end(&w);
}

/* csi-15: a retained volume keeps its storage and loses the finalizer. */
TEST(csi_deletion_of_what_is_retained)
{
    char uid[64];
    struct parts w;

    begin(&w, ",'reclaimPolicy':'Retain'");
    make_released(&w, uid, release_protected);
    ASSERT_INT(1, fake_csi_count_volumes(fake_of_parts()));
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    assert_null(strstr(got(&w.served, "metadata/finalizers"), "external-provisioner"));
    end(&w);
}

/* csi-15: an object that is deleted first stays until its storage is deleted. */
TEST(csi_deletion_by_a_user)
{
    char uid[64];
    struct parts w;

    begin(&w, ",'reclaimPolicy':'Delete'");
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    set_phase(&w, volume_path(uid), "Bound");
    ASSERT_SENT(&w.served, 200, "DELETE", volume_path(uid), NULL);
    pass(&w, 100);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_INT(1, fake_csi_count_volumes(fake_of_parts()));
    drop_claim(&w, CLAIMS "/x");
    release(&w, volume_path(uid));
    pass(&w, 30);
    ASSERT_GONE(&w, volume_path(uid));
    ASSERT_INT(0, fake_csi_count_volumes(fake_of_parts()));
    end(&w);
}

/* csi-15: not while it is attached. */
TEST(csi_deletion_waits_for_the_attachment)
{
    char uid[64], text[512];
    struct parts w;

    begin(&w, ",'reclaimPolicy':'Delete'");
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'va'},'spec':{'attacher':'" FAKE_DRIVER
                   "','nodeName':'n','source':{'persistentVolumeName':'pvc-%s'}}}",
                   uid);
    ASSERT_SENT(&w.served, 201, "POST", ATTACHMENTS, text);
    drop_claim(&w, CLAIMS "/x");
    release(&w, volume_path(uid));
    pass(&w, 1);
    (void)snprintf(text, sizeof text, "persistentvolume pvc-%s is still attached to node n", uid);
    ASSERT_EVENT(&w, "Warning", "VolumeFailedDelete", text);
    ASSERT_SENT(&w.served, 200, "DELETE", ATTACHMENTS "/va", NULL);
    pass(&w, 60);
    ASSERT_GONE(&w, volume_path(uid));
    end(&w);
}

#define SECRET_CLASS                                                                 \
    ",'reclaimPolicy':'Delete','parameters':{'" P "provisioner-secret-name':'s','" P \
    "provisioner-secret-namespace':'default'}"

static void put_secret(struct parts *w, const char *name, const char *value)
{
    char body[256];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'},'stringData':{'key':'%s'}}", name, value);
    ASSERT_SENT(&w->served, 201, "POST", SECRETS, body);
}

/* csi-16: the secret of a deletion is the one that the volume's annotations name, whatever the class says. */
TEST(csi_deletion_with_the_secret_of_the_volume)
{
    char uid[64];
    struct parts w;

    begin(&w, SECRET_CLASS);
    put_secret(&w, "s", "at-creation");
    put_secret(&w, "t", "of-volume");
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "MERGE", volume_path(uid),
                "{'metadata':{'annotations':{'volume.kubernetes.io/provisioner-deletion-secret-name':'t'}}}");
    drop_claim(&w, CLAIMS "/x");
    release(&w, volume_path(uid));
    pass(&w, 30);
    ASSERT_GONE(&w, volume_path(uid));
    assert_non_null(strstr(fake_of_parts()->last, "of-volume"));
    ASSERT_INT(0, fake_csi_count_volumes(fake_of_parts()));
    end(&w);
}

/* A released volume that was not provisioned here: it has no annotations of a secret. */
static void put_released(struct parts *w, const char *annotations)
{
    char body[1024];

    (void)fake_csi_add(fake_of_parts(), "by-hand", 1);
    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'by-hand','annotations':{%s}},'spec':{'accessModes':['ReadWriteOnce'],"
        "'capacity':{'storage':'1Gi'},'storageClassName':'c',"
        "'persistentVolumeReclaimPolicy':'Delete',"
        "'csi':{'driver':'" FAKE_DRIVER "','volumeHandle':'by-hand'},"
        "'claimRef':{'namespace':'default','name':'x','uid':'gone'}}}",
        annotations);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    ASSERT_SENT(&w->served, 200, "MERGE", VOLUMES "/by-hand", "{'metadata':{'finalizers':null}}");
    set_phase(w, VOLUMES "/by-hand", "Released");
    pass(w, 30);
    ASSERT_GONE(w, VOLUMES "/by-hand");
    ASSERT_INT(0, fake_csi_count_volumes(fake_of_parts()));
}

/* csi-16: without annotations the secret of the class is used; with empty ones none. */
TEST(csi_deletion_with_the_secret_of_the_class)
{
    struct parts w;

    begin(&w, SECRET_CLASS);
    put_secret(&w, "s", "of-class");
    put_released(&w, "");
    assert_non_null(strstr(fake_of_parts()->last, "of-class"));
    end(&w);

    begin(&w, SECRET_CLASS);
    put_secret(&w, "s", "of-class");
    put_released(&w, "'volume.kubernetes.io/provisioner-deletion-secret-name':'',"
                     "'volume.kubernetes.io/provisioner-deletion-secret-namespace':''");
    assert_null(strstr(fake_of_parts()->last, "of-class"));
    end(&w);
}

/* csi-16: a secret or a class that does not exist, or a name that depends on the claim, does not stop it. */
TEST(csi_deletion_without_the_secret)
{
    static const char template_class[] =
        ",'reclaimPolicy':'Delete','parameters':{'" P "provisioner-secret-name':'${pvc.name}','" P
        "provisioner-secret-namespace':'default'}";
    struct parts w;

    begin(&w, SECRET_CLASS);
    put_released(&w, "");
    assert_null(strstr(fake_of_parts()->last, "key"));
    end(&w);

    begin(&w, SECRET_CLASS);
    put_released(&w, "'volume.kubernetes.io/provisioner-deletion-secret-name':'gone',"
                     "'volume.kubernetes.io/provisioner-deletion-secret-namespace':'default'");
    end(&w);

    begin(&w, template_class);
    put_released(&w, "");
    end(&w);

    begin(&w, SECRET_CLASS);
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/c", NULL);
    put_released(&w, "");
    end(&w);
}

/* csi-16: a secret that cannot be read is awaited: without it the driver might refuse for ever. */
TEST(csi_deletion_waits_for_an_unreadable_secret)
{
    struct parts w;

    begin(&w, SECRET_CLASS);
    put_secret(&w, "s", "of-class");
    w.refused = "GET /api/v1/namespaces/default/secrets/s";
    (void)fake_csi_add(fake_of_parts(), "kept", 1);
    ASSERT_SENT(
        &w.served, 201, "POST", VOLUMES,
        "{'metadata':{'name':'kept'},'spec':{'accessModes':['ReadWriteOnce'],"
        "'capacity':{'storage':'1Gi'},'storageClassName':'c','persistentVolumeReclaimPolicy':'Delete',"
        "'csi':{'driver':'" FAKE_DRIVER "','volumeHandle':'kept'},"
        "'claimRef':{'namespace':'default','name':'x','uid':'gone'}}}");
    ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/kept", "{'metadata':{'finalizers':null}}");
    set_phase(&w, VOLUMES "/kept", "Released");
    pass(&w, 30);
    ASSERT_INT(0, count_calls("DeleteVolume"));
    w.refused = NULL;
    pass(&w, 300);
    ASSERT_GONE(&w, VOLUMES "/kept");
    assert_non_null(strstr(fake_of_parts()->last, "of-class"));
    end(&w);
}

/* --- Whatever fails, the end is the same --- */

static void provision_and_delete(struct parts *w)
{
    char uid[64];

    settings = (struct csi_driver_settings){ 0 };
    put_class(w, ",'reclaimPolicy':'Delete'");
    put_claim(w, "keep", "", "", uid);
    pass(w, 60);
    ASSERT_SENT(&w->served, 200, "GET", volume_path(uid), NULL);
    make_released(w, uid, release);
    pass(w, 600);
    ASSERT_GONE(w, volume_path(uid));
    ASSERT_SENT(&w->served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w->served, "data"));
}

/* csi-10 and the rest: each request and each call fails once, or the process ends with it. */
TEST(csi_provision_ends_the_same_with_every_fault)
{
    the_function = &csi_provisioner_type;
    fake_on_made = without_topology;
    assert_all_ends_the_same(&csi_part, provision_and_delete);
}

TEST_MAIN()
