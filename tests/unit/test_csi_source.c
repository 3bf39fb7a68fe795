/* Volumes from snapshots and clones, on the real API core with a driver in this process: csi-31 and csi-32.
 * The tests write what the snapshot-controller and the binder would. */
#include "tests/unit/test_csi_part.h"

#include "controllers/csi/csi_source.h"

#define X CLAIMS "/x"
#define SOURCE CLAIMS "/source"
#define S1 SNAPSHOTS "/s1"
#define C1 SNAPSHOT_CONTENTS "/content"
#define V1 VOLUMES "/v1"
#define GIB INT64_C(1073741824)
#define TYPE(kind) "{'apiVersion':'snapshot.storage.k8s.io/v1','kind':'" kind "',"
#define FROM_SNAPSHOT \
    ",'dataSource':{'apiGroup':'snapshot.storage.k8s.io','kind':'VolumeSnapshot','name':'s1'}"
#define FROM_CLAIM ",'dataSource':{'kind':'PersistentVolumeClaim','name':'source'}"
#define SNAPSHOT_ERROR "error getting handle for DataSource Type VolumeSnapshot by Name s1: "
#define CLAIM_ERROR "error getting handle for DataSource Type PersistentVolumeClaim by Name source: "

/* --- Objects --- */

static void put_claim(struct parts *w, const char *name, const char *spec)
{
    char body[2048];

    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'%s','annotations':{'volume.kubernetes.io/storage-provisioner':'" FAKE_DRIVER
        "'}},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'3Gi'}},"
        "'storageClassName':'c'%s}}",
        name, spec);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
}

/* As the binder does with the volume that was made for a claim. */
static void bind_claim(struct parts *w, const char *claim)
{
    char body[512], path[256];

    ASSERT_SENT(&w->served, 200, "GET", claim, NULL);
    (void)snprintf(body, sizeof body, "{'spec':{'volumeName':'pvc-%s'}}", got(&w->served, "metadata/uid"));
    ASSERT_SENT(&w->served, 200, "MERGE", claim, body);
    (void)snprintf(path, sizeof path, "%s/status", claim);
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'status':{'phase':'Bound'}}");
}

/* A snapshot of 2Gi that is ready, with its content. */
static void put_snapshot(struct parts *w)
{
    char body[1024];

    ASSERT_SENT(&w->served, 201, "POST", SNAPSHOTS,
                TYPE("VolumeSnapshot") "'metadata':{'name':'s1'},'spec':{'source':{"
                                       "'persistentVolumeClaimName':'source'}}}");
    (void)snprintf(body, sizeof body,
                   TYPE("VolumeSnapshotContent") "'metadata':{'name':'content'},'spec':{'volumeSnapshotRef':{"
                                                 "'namespace':'default','name':'s1','uid':'%s'},"
                                                 "'deletionPolicy':'Delete','driver':'" FAKE_DRIVER
                                                 "','source':{'volumeHandle':'v1'},'sourceVolumeMode':"
                                                 "'Filesystem'}}",
                   got(&w->served, "metadata/uid"));
    ASSERT_SENT(&w->served, 201, "POST", SNAPSHOT_CONTENTS, body);
    ASSERT_SENT(&w->served, 200, "MERGE", C1 "/status",
                "{'status':{'snapshotHandle':'h','readyToUse':true}}");
    ASSERT_SENT(&w->served, 200, "MERGE", S1 "/status",
                "{'status':{'boundVolumeSnapshotContentName':'content','readyToUse':true,'restoreSize':"
                "'2Gi'}}");
}

/* A claim of 3Gi that is bound to a volume of the driver. */
static void put_source(struct parts *w)
{
    char body[1024];

    put_claim(w, "source", ",'volumeName':'v1'");
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'v1'},'spec':{'capacity':{'storage':'3Gi'},'accessModes':["
                   "'ReadWriteOnce'],'storageClassName':'c','csi':{'driver':'" FAKE_DRIVER
                   "','volumeHandle':'v1'},'claimRef':{'namespace':'default','name':'source','uid':'%s'}}}",
                   got(&w->served, "metadata/uid"));
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    ASSERT_SENT(&w->served, 200, "MERGE", V1 "/status", "{'status':{'phase':'Bound'}}");
    ASSERT_SENT(&w->served, 200, "MERGE", SOURCE "/status", "{'status':{'phase':'Bound'}}");
    ASSERT_SENT(&w->served, 200, "MERGE", SOURCE, "{'metadata':{'finalizers':null}}"); /* of another part */
    if (!fake_csi_volume(fake_of_parts(), "v1"))
        (void)fake_csi_add(fake_of_parts(), "v1", 3 * GIB);
}

static void put_class(struct parts *w)
{
    ASSERT_SENT(&w->served, 201, "POST", CLASSES,
                "{'metadata':{'name':'c'},'provisioner':'" FAKE_DRIVER "'}");
}

static void begin(struct parts *w, void (*on_made)(struct fake_csi *f))
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_provisioner_type;
    fake_on_made = on_made;
    parts_init(w, &csi_part);
    put_class(w);
    put_source(w);
    put_snapshot(w);
    parts_rest(w);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    assert_null(the_function->check(((struct part *)w->part)->function));
    parts_done(w);
    fake_on_made = NULL;
}

static bool has_finalizer(struct parts *w, const char *path, const char *finalizer)
{
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
    return strstr(got(&w->served, "metadata/finalizers"), finalizer) != NULL;
}

#define ASSERT_CLAIM_REFUSED(w, text)                \
    ASSERT_EVENT(w, "Warning", "ProvisioningFailed", \
                 "failed to provision volume with StorageClass \"c\": " text)

/* --- Restore --- */

/* csi-31 */
TEST(volume_is_restored_from_a_snapshot)
{
    struct parts w;

    begin(&w, without_topology);
    put_claim(&w, "x", FROM_SNAPSHOT);
    parts_rest(&w);
    assert_non_null(strstr(fake_of_parts()->last, " from:snapshot=h "));
    assert_true(has_finalizer(&w, S1, FINALIZER_SNAPSHOT_RESTORE)); /* until the claim has its volume */
    bind_claim(&w, X);
    parts_rest(&w);
    assert_false(has_finalizer(&w, S1, FINALIZER_SNAPSHOT_RESTORE));
    end(&w);
}

/* csi-31: every condition of a source, and the text that the claim gets. */
TEST(restore_is_refused_until_the_snapshot_serves)
{
    static const struct {
        const char *path, *broken, *mended;
        const char *text;
    } rows[] = {
        { S1 "/status", "{'status':{'readyToUse':false}}", "{'status':{'readyToUse':true}}",
          "snapshot s1 is not Ready" },
        { S1 "/status", "{'status':{'boundVolumeSnapshotContentName':null}}",
          "{'status':{'boundVolumeSnapshotContentName':'content'}}", "snapshot s1 not bound" },
        { S1 "/status", "{'status':{'boundVolumeSnapshotContentName':'other'}}",
          "{'status':{'boundVolumeSnapshotContentName':'content'}}",
          "volumesnapshotcontent.snapshot.storage.k8s.io \"other\" not found" },
        { S1 "/status", "{'status':{'restoreSize':'4Gi'}}", "{'status':{'restoreSize':'3Gi'}}",
          "requested volume size 3221225472 is less than the size 4294967296 for the source snapshot s1" },
        { C1 "/status", "{'status':{'snapshotHandle':null}}", "{'status':{'snapshotHandle':'h'}}",
          "snapshot handle of content is not available" },
        { C1, "{'spec':{'driver':'other.csi'}}", "{'spec':{'driver':'" FAKE_DRIVER "'}}",
          "snapshotcontent content is of CSI driver other.csi, not of " FAKE_DRIVER },
        { C1, "{'spec':{'volumeSnapshotRef':{'name':'other'}}}",
          "{'spec':{'volumeSnapshotRef':{'name':'s1'}}}",
          "snapshotcontent content for snapshot s1 is bound to a different snapshot" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        struct parts w;

        begin(&w, without_topology);
        ASSERT_SENT(&w.served, 200, "MERGE", rows[i].path, rows[i].broken);
        parts_rest(&w);
        put_claim(&w, "x", FROM_SNAPSHOT);
        parts_rest(&w);
        (void)snprintf(text, sizeof text,
                       "failed to provision volume with StorageClass \"c\": " SNAPSHOT_ERROR "%s",
                       rows[i].text);
        ASSERT_EVENT(&w, "Warning", "ProvisioningFailed", text);
        assert_called(fake_of_parts(), "");
        assert_false(has_finalizer(&w, S1, FINALIZER_SNAPSHOT_RESTORE));
        ASSERT_SENT(&w.served, 200, "MERGE", rows[i].path, rows[i].mended);
        parts_settle(&w);
        assert_int_equal(count_calls("CreateVolume"), 1);
        end(&w);
    }
}

TEST(restore_from_a_missing_or_deleted_snapshot_is_refused)
{
    struct parts w;

    begin(&w, without_topology);
    ASSERT_SENT(&w.served, 200, "MERGE", S1, "{'metadata':{'finalizers':['example.com/kept']}}");
    ASSERT_SENT(&w.served, 200, "DELETE", S1, NULL);
    parts_rest(&w);
    put_claim(&w, "x", FROM_SNAPSHOT);
    parts_rest(&w);
    ASSERT_CLAIM_REFUSED(&w, SNAPSHOT_ERROR "snapshot s1 is currently being deleted");
    ASSERT_SENT(&w.served, 200, "MERGE", S1, "{'metadata':{'finalizers':null}}");
    parts_settle(&w);
    ASSERT_CLAIM_REFUSED(&w, SNAPSHOT_ERROR "volumesnapshot.snapshot.storage.k8s.io \"s1\" not found");
    assert_called(fake_of_parts(), "");
    end(&w);
}

/* csi-31: the cache says that the snapshot is there; the server knows better. */
TEST(restore_does_not_trust_the_cache)
{
    struct parts w;

    begin(&w, without_topology);
    ASSERT_SENT(&w.served, 200, "MERGE", S1, "{'metadata':{'finalizers':['example.com/kept']}}");
    parts_rest(&w);
    w.is_blind_to[KIND_SNAPSHOT] = true;
    ASSERT_SENT(&w.served, 200, "DELETE", S1, NULL);
    put_claim(&w, "x", FROM_SNAPSHOT);
    parts_pass_ns(&w, NS_PER_S / 2);
    assert_called(fake_of_parts(), "");
    ASSERT_CLAIM_REFUSED(&w, "VolumeSnapshot s1 is being deleted or is not ready");
    end(&w);
}

/* csi-31 */
TEST(change_of_the_mode_needs_a_permission)
{
    struct parts w;

    begin(&w, without_topology);
    put_claim(&w, "x", ",'volumeMode':'Block'" FROM_SNAPSHOT);
    parts_rest(&w);
    ASSERT_CLAIM_REFUSED(
        &w,
        SNAPSHOT_ERROR "requested volume default/x modifies the mode of the source volume but does not have "
                       "permission to do so. " ANN_ALLOW_MODE_CHANGE
                       " annotation is not present on snapshotcontent content");
    ASSERT_SENT(&w.served, 200, "MERGE", C1,
                "{'metadata':{'annotations':{'" ANN_ALLOW_MODE_CHANGE "':'true'}}}");
    parts_settle(&w);
    assert_int_equal(count_calls("CreateVolume"), 1);
    end(&w);
}

/* csi-31: what a process has left behind is removed, and nothing that is still needed. */
TEST(snapshot_that_nobody_waits_for_is_released)
{
    struct parts w;

    begin(&w, without_topology);
    process_kill(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", S1,
                "{'metadata':{'finalizers':['" FINALIZER_SNAPSHOT_RESTORE "']}}");
    process_start(&w);
    parts_rest(&w);
    assert_false(has_finalizer(&w, S1, FINALIZER_SNAPSHOT_RESTORE));
    fail_next("CreateVolume", RPC_INTERNAL, "broken", 1000);
    put_claim(&w, "x", FROM_SNAPSHOT);
    put_claim(&w, "y", FROM_SNAPSHOT);
    parts_settle(&w);
    assert_true(has_finalizer(&w, S1, FINALIZER_SNAPSHOT_RESTORE));
    ASSERT_SENT(&w.served, 200, "MERGE", X, "{'metadata':{'finalizers':null}}");
    ASSERT_DONE(&w, 200, "DELETE", X, NULL);
    assert_true(has_finalizer(&w, S1, FINALIZER_SNAPSHOT_RESTORE)); /* y waits */
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/y", "{'metadata':{'finalizers':null}}");
    ASSERT_DONE(&w, 200, "DELETE", CLAIMS "/y", NULL);
    assert_false(has_finalizer(&w, S1, FINALIZER_SNAPSHOT_RESTORE));
    end(&w);
}

static void ignore_sources(struct fake_csi *f)
{
    without_topology(f);
    f->ignores_sources = true;
}

/* csi-8: an empty volume is no restored one. */
TEST(volume_without_its_source_is_deleted_again)
{
    struct parts w;

    begin(&w, ignore_sources);
    put_claim(&w, "x", FROM_SNAPSHOT);
    parts_rest(&w);
    ASSERT_CLAIM_REFUSED(&w, "volume content source missing");
    assert_int_equal(count_calls("DeleteVolume"), 1);
    assert_int_equal(fake_csi_count_volumes(fake_of_parts()), 1); /* the source's */
    end(&w);
}

static void without_copies(struct fake_csi *f)
{
    without_topology(f);
    f->controller &= ~(FAKE_BIT(5) | FAKE_BIT(7));
}

TEST(driver_that_cannot_copy_is_not_asked)
{
    struct parts w;

    begin(&w, without_copies);
    put_claim(&w, "x", FROM_SNAPSHOT);
    put_claim(&w, "y", FROM_CLAIM);
    parts_rest(&w);
    ASSERT_CLAIM_REFUSED(&w,
                         "CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT "
                         "capability is not reported");
    ASSERT_CLAIM_REFUSED(
        &w, "CSI driver does not support clone operations: controller CLONE_VOLUME capability is "
            "not reported");
    assert_called(fake_of_parts(), "");
    end(&w);
}

/* --- Clone --- */

/* csi-32: a source that is deleted meanwhile exists until the clone has its volume. */
TEST(claim_is_cloned_and_kept_meanwhile)
{
    struct parts w;

    begin(&w, without_topology);
    fail_next("CreateVolume", RPC_INTERNAL, "broken", 1);
    put_claim(&w, "x", FROM_CLAIM);
    parts_rest(&w);
    assert_true(has_finalizer(&w, SOURCE, FINALIZER_CLAIM_CLONE));
    parts_settle(&w);
    assert_non_null(strstr(fake_of_parts()->last, " from:volume=v1 "));
    ASSERT_DONE(&w, 200, "DELETE", SOURCE, NULL);
    assert_true(has_finalizer(&w, SOURCE, FINALIZER_CLAIM_CLONE));
    bind_claim(&w, X);
    parts_rest(&w);
    ASSERT_GONE(&w, SOURCE);
    end(&w);
}

/* csi-32: every condition of a source. */
TEST(clone_is_refused_until_the_source_serves)
{
    static const struct {
        const char *path, *broken;
        const char *spec; /* of the clone */
        const char *text;
    } rows[] = {
        { SOURCE "/status", "{'status':{'phase':'Pending'}}", FROM_CLAIM,
          CLAIM_ERROR "the PVC DataSource source must have a status of Bound. Got Pending" },
        { SOURCE, "{'metadata':{'finalizers':['example.com/kept'],'deletionTimestamp':null}}",
          ",'volumeMode':'Block'" FROM_CLAIM,
          CLAIM_ERROR "the source PVC source and the new PVC must have the same volume mode for cloning" },
        { V1 "/status", "{'status':{'phase':'Released'}}", FROM_CLAIM,
          CLAIM_ERROR "the source volume v1 for PVC source is not bound" },
        { V1, "{'spec':{'claimRef':{'uid':'other'}}}", FROM_CLAIM,
          CLAIM_ERROR "the source volume v1 is bound to a different PVC than source" },
        { SOURCE, "{}", ",'dataSource':{'kind':'PersistentVolumeClaim','name':'other'}",
          "error getting handle for DataSource Type PersistentVolumeClaim by Name other: "
          "persistentvolumeclaim \"other\" not found" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        struct parts w;

        begin(&w, without_topology);
        ASSERT_SENT(&w.served, 200, "MERGE", rows[i].path, rows[i].broken);
        parts_rest(&w);
        put_claim(&w, "x", rows[i].spec);
        parts_rest(&w);
        (void)snprintf(text, sizeof text, "failed to provision volume with StorageClass \"c\": %s",
                       rows[i].text);
        ASSERT_EVENT(&w, "Warning", "ProvisioningFailed", text);
        assert_called(fake_of_parts(), "");
        assert_false(has_finalizer(&w, SOURCE, FINALIZER_CLAIM_CLONE));
        end(&w);
    }
}

/* csi-32 */
TEST(clone_that_is_smaller_or_of_another_driver_is_refused)
{
    struct parts w;

    begin(&w, without_topology);
    ASSERT_SENT(
        &w.served, 201, "POST", CLAIMS,
        "{'metadata':{'name':'x','annotations':{'volume.kubernetes.io/storage-provisioner':'" FAKE_DRIVER
        "'}},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
        "'storageClassName':'c'" FROM_CLAIM "}}");
    parts_rest(&w);
    ASSERT_CLAIM_REFUSED(
        &w,
        CLAIM_ERROR "new PVC request must be greater than or equal in size to the specified PVC data source, "
                    "requested 1073741824 but source is 3221225472");
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES,
                "{'metadata':{'name':'v2'},'spec':{'capacity':{'storage':'3Gi'},'accessModes':["
                "'ReadWriteOnce'],'csi':{'driver':'other.csi','volumeHandle':'v2'}}}");
    put_claim(&w, "foreign", ",'volumeName':'v2'");
    ASSERT_SENT(&w.served, 200, "MERGE", CLAIMS "/foreign/status", "{'status':{'phase':'Bound'}}");
    parts_rest(&w);
    put_claim(&w, "y", ",'dataSource':{'kind':'PersistentVolumeClaim','name':'foreign'}");
    parts_rest(&w);
    ASSERT_CLAIM_REFUSED(
        &w, "error getting handle for DataSource Type PersistentVolumeClaim by Name foreign: the "
            "source volume v2 for PVC foreign is handled by a different CSI driver than " FAKE_DRIVER);
    assert_called(fake_of_parts(), "");
    end(&w);
}

/* --- Whatever goes wrong --- */

/* The volume names the process that made it: only that it was made, and where, is compared. */
static void bind_and_drop_volume(struct parts *w)
{
    char path[256];

    bind_claim(w, X);
    ASSERT_SENT(&w->served, 200, "GET", X, NULL);
    (void)snprintf(path, sizeof path, VOLUMES "/%s", got(&w->served, "spec/volumeName"));
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'metadata':{'finalizers':null}}");
    ASSERT_DONE(w, 200, "DELETE", path, NULL);
    ASSERT_GONE(w, path);
}

static void restore_volume(struct parts *w)
{
    fake_of_parts()->plugin = FAKE_BIT(1);
    put_class(w);
    put_source(w);
    put_snapshot(w);
    parts_settle(w);
    put_claim(w, "x", FROM_SNAPSHOT);
    parts_settle(w);
    bind_and_drop_volume(w);
}

static void clone_volume(struct parts *w)
{
    fake_of_parts()->plugin = FAKE_BIT(1);
    put_class(w);
    put_source(w);
    parts_settle(w);
    put_claim(w, "x", FROM_CLAIM);
    parts_settle(w);
    ASSERT_SENT(&w->served, 200, "DELETE", SOURCE, NULL);
    bind_and_drop_volume(w);
}

/* csi-31, csi-32: every request and every call fails once in every way, and the process ends behind each. */
TEST(faults_change_nothing_in_the_end)
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_provisioner_type;
    fake_on_made = without_topology;
    assert_all_ends_the_same(&csi_part, restore_volume);
    assert_all_ends_the_same(&csi_part, clone_volume);
    fake_on_made = NULL;
}

TEST_MAIN()
