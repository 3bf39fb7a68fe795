/* The snapshot controller, on a whole API server. The tests play the driver's snapshotter. */
#include "tests/unit/test_parts.h"

#include "api/snapshot.h"
#include "controllers/snapshot/snapshot_controller.h"

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct snapshot_controller *c = NULL;
    int r = snapshot_controller_new(o, &c, e);

    if (r == 0)
        *ret = c;
    return r;
}

static void start(void *part)
{
    snapshot_controller_start(part);
}

static void end(void *part)
{
    assert_null(snapshot_controller_check(part));
    (void)snapshot_controller_free(part);
}

static const struct part_type snapshot_type = { make, start, end };

#define CLAIM_C CLAIMS "/c"
#define SNAPSHOT_S SNAPSHOTS "/s"
#define CONTENT_K SNAPSHOT_CONTENTS "/k"
#define PROTECTED "['kubernetes.io/pvc-protection']"
#define SOURCE "'" FINALIZER_SNAPSHOT_SOURCE "'"
#define BOUND "'" FINALIZER_SNAPSHOT_BOUND "'"
#define SNAPSHOT_OF(claim) "'source':{'persistentVolumeClaimName':'" claim "'}"
#define SNAPSHOT_FROM(content) "'source':{'volumeSnapshotContentName':'" content "'}"
#define TYPE(kind) "'apiVersion':'snapshot.storage.k8s.io/v1','kind':'VolumeSnapshot" kind "',"
#define SNAPSHOT(name, spec) "{" TYPE("") "'metadata':{'name':'" name "'},'spec':{" spec "}}"
#define CLASS(name, driver, policy, more)                                        \
    "{" TYPE("Class") "'metadata':{'name':'" name "'" more "},'driver':'" driver \
                      "','deletionPolicy':'" policy "'}"
#define IS_DEFAULT ",'annotations':{'" ANN_DEFAULT_SNAPSHOT_CLASS "':'true'}"
#define GIVEN(ref, more)                                                                                  \
    "{" TYPE("Content") "'metadata':{'name':'k'},'spec':{'volumeSnapshotRef':{'namespace':'default'," ref \
                        "},"                                                                              \
                        "'deletionPolicy':'Delete','driver':'d.io','source':{" more "}}}"

/* --- Objects --- */

static void make_volume(struct parts *w)
{
    ASSERT_DONE(
        w, 201, "POST", VOLUMES,
        "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'5Gi'},'accessModes':['ReadWriteOnce'],"
        "'csi':{'driver':'d.io','volumeHandle':'h'},'claimRef':{'namespace':'default','name':'c'}}}");
}

static void bind_claim(struct parts *w)
{
    ASSERT_DONE(w, 200, "MERGE", CLAIM_C "/status",
                "{'status':{'phase':'Bound','capacity':{'storage':'5Gi'}}}");
}

static void make_bound_claim(struct parts *w)
{
    make_volume(w);
    ASSERT_DONE(w, 201, "POST", CLAIMS,
                "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'volumeName':'v',"
                "'resources':{'requests':{'storage':'1Gi'}}}}");
    bind_claim(w);
}

static void make_default_class(struct parts *w, const char *body)
{
    ASSERT_DONE(w, 201, "POST", SNAPSHOT_CLASSES, body);
}

/* The path of the only content. */
static const char *content_path(struct parts *w)
{
    static char path[512];

    ASSERT_SENT(&w->served, 200, "GET", SNAPSHOT_CONTENTS, NULL);
    ASSERT_INT(1, got_items(&w->served));
    (void)snprintf(path, sizeof path, SNAPSHOT_CONTENTS "/%s", got(&w->served, "items/0/metadata/name"));
    return path;
}

static void patch_content(struct parts *w, const char *subresource, const char *body)
{
    char path[600];

    (void)snprintf(path, sizeof path, "%s%s", content_path(w), subresource);
    ASSERT_DONE(w, 200, "MERGE", path, body);
}

/* The driver's snapshotter has created the snapshot. */
static void finish_content(struct parts *w, bool is_ready)
{
    patch_content(w, "/status",
                  is_ready ? "{'status':{'snapshotHandle':'x','readyToUse':true,'restoreSize':1073741824,"
                             "'creationTime':1700000000000000000,'error':null}}"
                           : "{'status':{'snapshotHandle':'x','readyToUse':false,"
                             "'creationTime':1700000000000000000}}");
}

/* And has deleted it. */
static void release_content(struct parts *w)
{
    patch_content(w, "", "{'metadata':{'finalizers':null}}");
}

static void make_snapshot(struct parts *w)
{
    make_default_class(w, CLASS("gold", "d.io", "Delete", IS_DEFAULT));
    make_bound_claim(w);
    ASSERT_DONE(w, 201, "POST", SNAPSHOTS, SNAPSHOT("s", SNAPSHOT_OF("c")));
}

#define ASSERT_SNAPSHOT(w, expected, path) ASSERT_THERE(w, expected, SNAPSHOT_S, path)
#define ASSERT_ERROR(w, reason, text)                       \
    do {                                                    \
        ASSERT_SNAPSHOT(w, text, "status/error/message");   \
        ASSERT_EVENT(w, "Warning", reason, kind_row(text)); \
    } while (0)

/* --- New snapshots --- */

static void take_snapshot(struct parts *w)
{
    make_snapshot(w);
    finish_content(w, /* is_ready= */ false);
    finish_content(w, /* is_ready= */ true);
    ASSERT_SNAPSHOT(w, "true", "status/readyToUse");
}

/* csi-26 */
TEST(snapshot_of_a_claim_becomes_ready)
{
    char uid[64], name[128];
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_snapshot(&w);
    ASSERT_SNAPSHOT(&w, "gold", "spec/volumeSnapshotClassName");
    ASSERT_GOT(&w.served, "false", "status/readyToUse");
    ASSERT_GOT(&w.served, "[" SOURCE "," BOUND "]", "metadata/finalizers");
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    (void)snprintf(name, sizeof name, "snapcontent-%s", uid);
    ASSERT_GOT(&w.served, name, "status/boundVolumeSnapshotContentName");
    ASSERT_THERE(&w, name, content_path(&w), "metadata/name");
    ASSERT_GOT(&w.served, "['" FINALIZER_SNAPSHOT_CONTENT "']", "metadata/finalizers");
    ASSERT_GOT(&w.served, "-", "metadata/annotations");
    ASSERT_GOT(&w.served, uid, "spec/volumeSnapshotRef/uid");
    ASSERT_GOT(&w.served, "VolumeSnapshot", "spec/volumeSnapshotRef/kind");
    ASSERT_GOT(&w.served, "h", "spec/source/volumeHandle");
    ASSERT_GOT(&w.served, "d.io", "spec/driver");
    ASSERT_GOT(&w.served, "gold", "spec/volumeSnapshotClassName");
    ASSERT_GOT(&w.served, "Delete", "spec/deletionPolicy");
    ASSERT_GOT(&w.served, "Filesystem", "spec/sourceVolumeMode");
    ASSERT_THERE(&w, "['kubernetes.io/pvc-protection','" FINALIZER_SNAPSHOT_CLAIM "']", CLAIM_C,
                 "metadata/finalizers");
    ASSERT_EVENT(&w, "Normal", "CreatingSnapshot",
                 "Waiting for a snapshot default/s to be created by the CSI driver.");
    finish_content(&w, /* is_ready= */ false);
    ASSERT_SNAPSHOT(&w, "2023-11-14T22:13:20Z", "status/creationTime");
    ASSERT_GOT(&w.served, "false", "status/readyToUse");
    ASSERT_EVENT(&w, "Normal", "SnapshotCreated",
                 "Snapshot default/s was successfully created by the CSI driver.");
    finish_content(&w, /* is_ready= */ true);
    ASSERT_SNAPSHOT(&w, "true", "status/readyToUse");
    ASSERT_GOT(&w.served, "1Gi", "status/restoreSize");
    ASSERT_EVENT(&w, "Normal", "SnapshotReady", "Snapshot default/s is ready to use.");
    ASSERT_THERE(&w, PROTECTED, CLAIM_C, "metadata/finalizers");
    parts_done(&w);
}

/* csi-26: the requests, and none more. */
TEST(snapshot_costs_seven_writes)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_default_class(&w, CLASS("gold", "d.io", "Delete", ""));
    make_bound_claim(&w);
    assert_asked(&w, "");
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS,
                SNAPSHOT("s", SNAPSHOT_OF("c") ",'volumeSnapshotClassName':'gold'"));
    finish_content(&w, /* is_ready= */ true);
    buf_clear(&w.served.text);
    assert_asked(&w, "PATCH " SNAPSHOT_S "\nPATCH " CLAIM_C "\nPOST " SNAPSHOT_CONTENTS "\nPATCH " SNAPSHOT_S
                     "/status\nPATCH " SNAPSHOT_S "\nPATCH " SNAPSHOT_S "/status\nPATCH " CLAIM_C "\n");
    parts_done(&w);
}

/* csi-26: an error of the driver is copied, and removed. */
TEST(snapshot_shows_the_error_of_its_content)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_snapshot(&w);
    patch_content(&w, "/status",
                  "{'status':{'readyToUse':false,'error':{'time':'2024-01-01T00:00:00Z','message':'no'}}}");
    ASSERT_SNAPSHOT(&w, "no", "status/error/message");
    ASSERT_GOT(&w.served, "2024-01-01T00:00:00Z", "status/error/time");
    finish_content(&w, /* is_ready= */ true);
    ASSERT_SNAPSHOT(&w, "-", "status/error");
    parts_done(&w);
}

#define SECRETS(name, ns)                                                                      \
    "{" TYPE("Class") "'metadata':{'name':'gold'},'driver':'d.io','deletionPolicy':'Retain',"  \
                      "'parameters':{'csi.storage.k8s.io/snapshotter-secret-name':'" name "'," \
                      "'csi.storage.k8s.io/snapshotter-secret-namespace':'" ns "'}}"
#define WITH_GOLD SNAPSHOT("s", SNAPSHOT_OF("c") ",'volumeSnapshotClassName':'gold'")

/* csi-26: the secret is named on the content. */
TEST(snapshot_secret_is_resolved)
{
    static const struct {
        const char *class, *name, *error;
    } rows[] = {
        { SECRETS("${volumesnapshot.name}-x", "${volumesnapshot.namespace}"), "s-x", NULL },
        { SECRETS("x", "${volumesnapshot.name}"), NULL,
          "error resolving value \\\"${volumesnapshot.name}\\\": invalid tokens: "
          "[\\\"volumesnapshot.name\\\"]" },
        { SECRETS("X", "default"), NULL, "\\\"X\\\" is not a valid secret name" },
        { SECRETS("", "default"), NULL,
          "either name and namespace for Snapshotter secrets specified, Both must be specified" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;
        char text[512];

        parts_init(&w, &snapshot_type);
        make_default_class(&w, rows[i].class);
        make_bound_claim(&w);
        ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, WITH_GOLD);
        if (rows[i].name) {
            ASSERT_SENT(&w.served, 200, "GET", content_path(&w), NULL);
            assert_non_null(strstr(buf_cstr(&w.served.text), "deletion-secret-namespace\":\"default\""));
            assert_non_null(strstr(buf_cstr(&w.served.text), "deletion-secret-name\":\"s-x\""));
        } else {
            ASSERT_SNAPSHOT(&w, "false", "status/readyToUse");
            (void)snprintf(text, sizeof text,
                           "Failed to create snapshot content with error failed to get input parameters to "
                           "create snapshot s: \"%s\"",
                           rows[i].error);
            ASSERT_STR(text, got(&w.served, "status/error/message"));
        }
        parts_done(&w);
    }
}

#define INPUT(text)                                                                                      \
    "Failed to create snapshot content with error failed to get input parameters to create snapshot s: " \
    "\"" text "\""

/* csi-26, and sources that are not ready: a lost claim, an unbound one, none. */
TEST(snapshot_waits_for_its_source)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_default_class(&w, CLASS("gold", "d.io", "Delete", ""));
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, WITH_GOLD);
    ASSERT_SNAPSHOT(&w,
                    "Failed to create snapshot content with error snapshot controller failed to update s on "
                    "API server: cannot get claim from snapshot",
                    "status/error/message");
    ASSERT_GOT(&w.served, "[" SOURCE "]", "metadata/finalizers");
    ASSERT_DONE(&w, 201, "POST", CLAIMS,
                "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'volumeName':'v',"
                "'resources':{'requests':{'storage':'1Gi'}}}}");
    ASSERT_SNAPSHOT(&w, INPUT("the PVC c is not yet bound to a PV, will not attempt to take a snapshot"),
                    "status/error/message");
    ASSERT_DONE(&w, 200, "MERGE", CLAIM_C "/status", "{'status':{'phase':'Lost'}}");
    ASSERT_SNAPSHOT(&w, INPUT("the PVC c is not yet bound to a PV, will not attempt to take a snapshot"),
                    "status/error/message");
    bind_claim(&w);
    ASSERT_SENT(&w.served, 200, "GET", SNAPSHOT_S, NULL);
    ASSERT_STR(
        INPUT("failed to retrieve PV v from the API server: \\\"persistentvolumes \\\\\\\"v\\\\\\\" not "
              "found\\\""),
        got(&w.served, "status/error/message"));
    make_volume(&w);
    finish_content(&w, /* is_ready= */ true);
    ASSERT_SNAPSHOT(&w, "true", "status/readyToUse");
    ASSERT_GOT(&w.served, "-", "status/error");
    parts_done(&w);
}

/* csi-26: a claim that is being deleted gives no further snapshot. */
TEST(snapshot_of_a_deleted_claim_fails)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_default_class(&w, CLASS("gold", "d.io", "Delete", ""));
    make_bound_claim(&w);
    ASSERT_DONE(&w, 200, "DELETE", CLAIM_C, NULL);
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, WITH_GOLD);
    ASSERT_ERROR(&w, "SnapshotContentCreationFailed",
                 "Failed to create snapshot content with error snapshot controller failed to update c on API "
                 "server: cannot add finalizer on claim because it is being deleted");
    parts_done(&w);
}

/* csi-26: the handle of a volume is not given to another driver. */
TEST(snapshot_class_of_another_driver_fails)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_default_class(&w, CLASS("gold", "other.io", "Delete", ""));
    make_bound_claim(&w);
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, WITH_GOLD);
    ASSERT_ERROR(&w, "SnapshotContentCreationFailed",
                 "Failed to create snapshot content with error snapshot class gold is for driver other.io, "
                 "and volume v is of driver d.io");
    ASSERT_SENT(&w.served, 200, "GET", SNAPSHOT_CONTENTS, NULL);
    ASSERT_INT(0, got_items(&w.served));
    parts_done(&w);
}

/* --- Classes --- */

/* csi-27 */
TEST(snapshot_default_class_none_two_one)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_default_class(&w, CLASS("other", "other.io", "Delete", IS_DEFAULT));
    make_default_class(&w, CLASS("plain", "d.io", "Delete", ""));
    make_bound_claim(&w);
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, SNAPSHOT("s", SNAPSHOT_OF("c")));
    ASSERT_ERROR(&w, "SetDefaultSnapshotClassFailed",
                 "Failed to set default snapshot class with error cannot find default snapshot class");
    ASSERT_SNAPSHOT(&w, "-", "metadata/finalizers");
    process_kill(&w);
    ASSERT_SENT(&w.served, 201, "POST", SNAPSHOT_CLASSES, CLASS("a", "d.io", "Delete", IS_DEFAULT));
    ASSERT_SENT(&w.served, 201, "POST", SNAPSHOT_CLASSES, CLASS("b", "d.io", "Retain", IS_DEFAULT));
    process_start(&w);
    parts_settle(&w);
    ASSERT_ERROR(&w, "SetDefaultSnapshotClassFailed",
                 "Failed to set default snapshot class with error 2 default snapshot classes were found");
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_CLASSES "/a", NULL);
    ASSERT_SNAPSHOT(&w, "b", "spec/volumeSnapshotClassName");
    ASSERT_THERE(&w, "Retain", content_path(&w), "spec/deletionPolicy");
    parts_done(&w);
}

/* csi-27 */
TEST(snapshot_with_a_missing_class_is_deletable)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, WITH_GOLD);
    ASSERT_ERROR(&w, "GetSnapshotClassFailed",
                 "failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "
                 "\"gold\" not found");
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_GONE(&w, SNAPSHOT_S);
    take_snapshot(&w);
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_CLASSES "/gold", NULL);
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_S, NULL);
    release_content(&w);
    ASSERT_GONE(&w, SNAPSHOT_S);
    parts_done(&w);
}

/* --- Existing snapshots --- */

static void import_snapshot_first(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", SNAPSHOTS, SNAPSHOT("s", SNAPSHOT_FROM("k")));
    ASSERT_SNAPSHOT(w, "VolumeSnapshotContent is missing", "status/error/message");
    ASSERT_DONE(w, 201, "POST", SNAPSHOT_CONTENTS, GIVEN("'name':'s'", "'snapshotHandle':'x'"));
    finish_content(w, /* is_ready= */ true);
    ASSERT_SNAPSHOT(w, "true", "status/readyToUse");
}

static void import_content_first(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", SNAPSHOT_CONTENTS, GIVEN("'name':'s'", "'snapshotHandle':'x'"));
    ASSERT_THERE(w, "-", CONTENT_K, "metadata/finalizers");
    ASSERT_DONE(w, 201, "POST", SNAPSHOTS, SNAPSHOT("s", SNAPSHOT_FROM("k")));
    finish_content(w, /* is_ready= */ true);
    ASSERT_SNAPSHOT(w, "true", "status/readyToUse");
}

/* csi-28 */
TEST(snapshot_and_content_are_bound_in_both_orders)
{
    static void (*const orders[])(struct parts * w) = { import_snapshot_first, import_content_first };

    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        char uid[64];
        struct parts w;

        parts_init(&w, &snapshot_type);
        orders[i](&w);
        ASSERT_SNAPSHOT(&w, "k", "status/boundVolumeSnapshotContentName");
        ASSERT_GOT(&w.served, "-", "status/error");
        ASSERT_GOT(&w.served, "[" SOURCE "," BOUND "]", "metadata/finalizers");
        (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
        ASSERT_THERE(&w, uid, CONTENT_K, "spec/volumeSnapshotRef/uid");
        ASSERT_GOT(&w.served, "['" FINALIZER_SNAPSHOT_CONTENT "']", "metadata/finalizers");
        parts_done(&w);
    }
}

/* csi-28 */
TEST(snapshot_does_not_take_the_wrong_content)
{
    static const struct {
        const char *content, *reason, *message;
    } rows[] = {
        { GIVEN("'name':'s'", "'volumeHandle':'h'"), "SnapshotContentMismatch",
          "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one" },
        { GIVEN("'name':'other'", "'snapshotHandle':'x'"), "SnapshotContentMisbound",
          "VolumeSnapshotContent [k] is bound to a different snapshot" },
        { GIVEN("'name':'s','uid':'u'", "'snapshotHandle':'x'"), "SnapshotContentMisbound",
          "VolumeSnapshotContent [k] is bound to a different snapshot" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;

        parts_init(&w, &snapshot_type);
        ASSERT_DONE(&w, 201, "POST", SNAPSHOT_CONTENTS, rows[i].content);
        ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, SNAPSHOT("s", SNAPSHOT_FROM("k")));
        ASSERT_ERROR(&w, rows[i].reason, rows[i].message);
        /* It goes without the content, which is not its own. */
        ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_S, NULL);
        ASSERT_GONE(&w, SNAPSHOT_S);
        ASSERT_THERE(&w, "-", CONTENT_K, "metadata/deletionTimestamp");
        ASSERT_GOT(&w.served, "-", "metadata/annotations");
        parts_done(&w);
    }
}

/* csi-28: a ready snapshot loses its content. */
TEST(snapshot_without_its_content_is_not_ready)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    take_snapshot(&w);
    ASSERT_DONE(&w, 200, "DELETE", content_path(&w), NULL);
    release_content(&w);
    ASSERT_ERROR(&w, "SnapshotContentMissing", "VolumeSnapshotContent is missing");
    ASSERT_SNAPSHOT(&w, "false", "status/readyToUse");
    /* Another snapshot of today under the old name would be a lie. */
    ASSERT_SENT(&w.served, 200, "GET", SNAPSHOT_CONTENTS, NULL);
    ASSERT_INT(0, got_items(&w.served));
    parts_done(&w);
}

/* --- Deletion --- */

static void delete_snapshot(struct parts *w)
{
    take_snapshot(w);
    ASSERT_DONE(w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_SNAPSHOT(w, "[" BOUND "]", "metadata/finalizers");
    release_content(w);
    ASSERT_GONE(w, SNAPSHOT_S);
}

/* csi-29 */
TEST(snapshot_deletes_its_content)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    take_snapshot(&w);
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_SENT(&w.served, 200, "GET", content_path(&w), NULL);
    assert_string_not_equal("-", got(&w.served, "metadata/deletionTimestamp"));
    assert_non_null(strstr(buf_cstr(&w.served.text), "volumesnapshot-being-deleted\":\"yes\""));
    ASSERT_SNAPSHOT(&w, "[" BOUND "]", "metadata/finalizers");
    release_content(&w);
    ASSERT_GONE(&w, SNAPSHOT_S);
    parts_done(&w);
}

static void retain_content(struct parts *w)
{
    make_default_class(w, CLASS("gold", "d.io", "Retain", ""));
    make_bound_claim(w);
    ASSERT_DONE(w, 201, "POST", SNAPSHOTS, WITH_GOLD);
    finish_content(w, /* is_ready= */ true);
    ASSERT_DONE(w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_GONE(w, SNAPSHOT_S);
    ASSERT_THERE(w, "-", content_path(w), "metadata/deletionTimestamp");
}

/* csi-29 */
TEST(snapshot_keeps_a_retained_content)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    retain_content(&w);
    assert_non_null(strstr(buf_cstr(&w.served.text), "volumesnapshot-being-deleted\":\"yes\""));
    parts_done(&w);
}

#define RESTORE                                                                                             \
    "{'metadata':{'name':'r'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'" \
    "1Gi'}},"                                                                                               \
    "'dataSource':{'apiGroup':'snapshot.storage.k8s.io','kind':'VolumeSnapshot','name':'s'}}}"

static void delete_while_restored(struct parts *w)
{
    take_snapshot(w);
    ASSERT_DONE(w, 201, "POST", CLAIMS, RESTORE);
    ASSERT_DONE(w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_THERE(w, "-", content_path(w), "metadata/deletionTimestamp");
    ASSERT_SNAPSHOT(w, "[" SOURCE "," BOUND "]", "metadata/finalizers");
    ASSERT_DONE(w, 200, "MERGE", CLAIMS "/r/status", "{'status':{'phase':'Bound'}}");
    release_content(w);
    ASSERT_GONE(w, SNAPSHOT_S);
}

/* csi-29 */
TEST(snapshot_waits_for_a_restore)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    take_snapshot(&w);
    ASSERT_DONE(&w, 201, "POST", CLAIMS, RESTORE);
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_EVENT(&w, "Warning", "SnapshotDeletePending", "Snapshot is being used to restore a PVC");
    ASSERT_DONE(&w, 200, "DELETE", CLAIMS "/r", NULL);
    ASSERT_DONE(&w, 200, "MERGE", CLAIMS "/r", "{'metadata':{'finalizers':null}}");
    release_content(&w);
    ASSERT_GONE(&w, SNAPSHOT_S);
    parts_done(&w);
}

/* csi-29: also when only the provisioner's finalizer says so. */
TEST(snapshot_waits_for_the_provisioner)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    take_snapshot(&w);
    ASSERT_DONE(&w, 200, "MERGE", SNAPSHOT_S,
                "{'metadata':{'finalizers':[" SOURCE "," BOUND ",'" FINALIZER_SNAPSHOT_RESTORE "']}}");
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_THERE(&w, "-", content_path(&w), "metadata/deletionTimestamp");
    ASSERT_DONE(&w, 200, "MERGE", SNAPSHOT_S, "{'metadata':{'finalizers':[" SOURCE "," BOUND "]}}");
    release_content(&w);
    ASSERT_GONE(&w, SNAPSHOT_S);
    parts_done(&w);
}

/* csi-29: objects that were copied to another cluster. */
TEST(content_without_its_snapshot_is_never_deleted)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    ASSERT_DONE(&w, 201, "POST", SNAPSHOT_CONTENTS, GIVEN("'name':'s','uid':'u'", "'snapshotHandle':'x'"));
    ASSERT_THERE(&w, "['" FINALIZER_SNAPSHOT_CONTENT "']", CONTENT_K, "metadata/finalizers");
    ASSERT_GOT(&w.served, "-", "metadata/deletionTimestamp");
    ASSERT_GOT(&w.served, "-", "metadata/annotations");
    parts_done(&w);
}

static void delete_unready_snapshot(struct parts *w)
{
    make_snapshot(w);
    ASSERT_DONE(w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_SNAPSHOT(w, "[" BOUND "]", "metadata/finalizers");
    ASSERT_THERE(w, "['kubernetes.io/pvc-protection','" FINALIZER_SNAPSHOT_CLAIM "']", CLAIM_C,
                 "metadata/finalizers");
    release_content(w);
    ASSERT_GONE(w, SNAPSHOT_S);
    ASSERT_THERE(w, PROTECTED, CLAIM_C, "metadata/finalizers");
}

/* csi-30: the content, and the claim, stay until the snapshotter has the driver's final answer. */
TEST(snapshot_deleted_while_it_is_created)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    delete_unready_snapshot(&w);
    parts_done(&w);
}

/* csi-30: the cache does not know of the content, and the server does. */
TEST(snapshot_asks_the_server_before_it_goes)
{
    char body[1024], uid[64];
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_default_class(&w, CLASS("gold", "d.io", "Delete", ""));
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, WITH_GOLD); /* and waits for its claim */
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    w.is_blind_to[KIND_SNAPSHOT_CONTENT] = true;
    (void)snprintf(
        body, sizeof body,
        "{" TYPE("Content") "'metadata':{'name':'snapcontent-%s','finalizers':['a/b']},'spec':{"
                            "'volumeSnapshotRef':{'namespace':'default','name':'s','uid':'%s'},"
                            "'deletionPolicy':'Delete','driver':'d.io','source':{'volumeHandle':'h'}}}",
        uid, uid);
    ASSERT_DONE(&w, 201, "POST", SNAPSHOT_CONTENTS, body);
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_SNAPSHOT(&w, "[" SOURCE "]", "metadata/finalizers");
    ASSERT_THERE(&w, "-", content_path(&w), "metadata/deletionTimestamp");
    process_kill(&w);
    w.is_blind_to[KIND_SNAPSHOT_CONTENT] = false;
    process_start(&w);
    parts_settle(&w);
    ASSERT_GONE(&w, SNAPSHOT_S);
    ASSERT_SENT(&w.served, 200, "GET", content_path(&w), NULL);
    assert_string_not_equal("-", got(&w.served, "metadata/deletionTimestamp"));
    parts_done(&w);
}

/* csi-30: what was left on a claim by a process that ended. */
TEST(claim_is_released_after_a_restart)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_snapshot(&w);
    process_kill(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", SNAPSHOT_S, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w.served, 200, "DELETE", SNAPSHOT_S, NULL);
    ASSERT_GONE(&w, SNAPSHOT_S);
    process_start(&w);
    parts_settle(&w);
    ASSERT_THERE(&w, PROTECTED, CLAIM_C, "metadata/finalizers");
    parts_done(&w);
}

/* --- Bad days --- */

/* csi-26, csi-27, csi-28, csi-29, csi-30: with every request failing once, and a crash after each. */
TEST(snapshots_end_the_same_on_bad_days)
{
    assert_ends_the_same(&snapshot_type, take_snapshot);
    assert_ends_the_same(&snapshot_type, import_snapshot_first);
    assert_ends_the_same(&snapshot_type, import_content_first);
    assert_ends_the_same(&snapshot_type, delete_snapshot);
    assert_ends_the_same(&snapshot_type, retain_content);
    assert_ends_the_same(&snapshot_type, delete_while_restored);
    assert_ends_the_same(&snapshot_type, delete_unready_snapshot);
}

TEST_MAIN()
