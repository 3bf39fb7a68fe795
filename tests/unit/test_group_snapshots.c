/* Group snapshots, on a whole API server. The tests play the driver's snapshotter. */
#include "tests/unit/test_parts.h"

#include "api/group_snapshot.h"
#include "api/snapshot.h"
#include "controllers/snapshot/snapshot_controller.h"
#include "io/digest.h"

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

#define GROUP_G GROUP_SNAPSHOTS "/g"
#define TYPE(kind) "'apiVersion':'groupsnapshot.storage.k8s.io/v1','kind':'VolumeGroupSnapshot" kind "',"
#define GROUP(spec) "{" TYPE("") "'metadata':{'name':'g'},'spec':{" spec "}}"
#define OF_DB "'source':{'selector':{'matchLabels':{'app':'db'}}}"
#define CLASS(name, policy, more)                                                                            \
    "{" TYPE("Class") "'metadata':{'name':'" name "'" more "},'driver':'d.io','deletionPolicy':'" policy "'" \
                      "}"
#define IS_DEFAULT ",'annotations':{'" ANN_DEFAULT_GROUP_SNAPSHOT_CLASS "':'true'}"
#define GIVEN                                                                                                \
    "{" TYPE(                                                                                                \
        "Content") "'metadata':{'name':'k'},'spec':{'volumeGroupSnapshotRef':{"                              \
                   "'namespace':'default','name':'g'},'deletionPolicy':'Retain','driver':'d.io','source':{"  \
                   "'groupSnapshotHandles':{'volumeGroupSnapshotHandle':'G','volumeSnapshotHandles':['x']}}" \
                   "}}"

/* --- Objects --- */

static void make_claim(struct parts *w, const char *name, const char *driver)
{
    char body[512], path[128];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'pv-%s'},'spec':{'capacity':{'storage':'5Gi'},'accessModes':["
                   "'ReadWriteOnce'],'csi':{'driver':'%s','volumeHandle':'h-%s'},'claimRef':{"
                   "'namespace':'default','name':'%s'}}}",
                   name, driver, name, name);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s','labels':{'app':'db'}},'spec':{'accessModes':['ReadWriteOnce'],"
                   "'volumeName':'pv-%s','resources':{'requests':{'storage':'1Gi'}}}}",
                   name, name);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
    (void)snprintf(path, sizeof path, CLAIMS "/%s/status", name);
    ASSERT_DONE(w, 200, "MERGE", path, "{'status':{'phase':'Bound'}}");
}

static const char *group_content_path(struct parts *w)
{
    static char path[512];

    ASSERT_SENT(&w->served, 200, "GET", GROUP_CONTENTS, NULL);
    ASSERT_INT(1, got_items(&w->served));
    (void)snprintf(path, sizeof path, GROUP_CONTENTS "/%s", got(&w->served, "items/0/metadata/name"));
    return path;
}

static void patch_content(struct parts *w, const char *subresource, const char *body)
{
    char path[600];

    (void)snprintf(path, sizeof path, "%s%s", group_content_path(w), subresource);
    ASSERT_DONE(w, 200, "MERGE", path, body);
}

#define MEMBER(volume)                                                                  \
    "{'volumeHandle':'h-" volume "','snapshotHandle':'s-" volume "','readyToUse':true," \
    "'creationTime':1700000000000000000,'restoreSize':1073741824}"

/* The driver's snapshotter has created the group snapshot. */
static void finish_group(struct parts *w)
{
    patch_content(w, "/status",
                  "{'status':{'volumeGroupSnapshotHandle':'G','readyToUse':true,"
                  "'creationTime':'2023-11-14T22:13:20Z','volumeSnapshotInfoList':[" MEMBER("a") "," MEMBER(
                      "b") "," MEMBER("c") "]}}");
}

static void make_group(struct parts *w, const char *class)
{
    ASSERT_DONE(w, 201, "POST", GROUP_CLASSES, class);
    make_claim(w, "a", "d.io");
    make_claim(w, "b", "d.io");
    make_claim(w, "c", "d.io");
    ASSERT_DONE(w, 201, "POST", CLAIMS, "{'metadata':{'name':'other'}," CLAIM_SPEC "}");
    ASSERT_DONE(w, 201, "POST", GROUP_SNAPSHOTS, GROUP(OF_DB));
}

/* Removes the finalizers of all member contents, as the snapshotter does for deleted ones. */
static void release_members(struct parts *w)
{
    char paths[3][256];
    size_t count;

    ASSERT_SENT(&w->served, 200, "GET", SNAPSHOT_CONTENTS, NULL);
    count = got_items(&w->served);
    assert_true(count <= ARRAY_LEN(paths));
    for (size_t i = 0; i < count; i++) {
        char at[64];

        (void)snprintf(at, sizeof at, "items/%zu/metadata/name", i);
        (void)snprintf(paths[i], sizeof paths[i], SNAPSHOT_CONTENTS "/%s", got(&w->served, at));
    }
    for (size_t i = 0; i < count; i++)
        ASSERT_DONE(w, 200, "MERGE", paths[i], "{'metadata':{'finalizers':null}}");
}

#define ASSERT_COUNT(w, expected, path)                      \
    do {                                                     \
        ASSERT_SENT(&(w)->served, 200, "GET", (path), NULL); \
        ASSERT_INT((expected), got_items(&(w)->served));     \
    } while (0)

/* --- New groups --- */

/* csi-33 */
TEST(group_of_three_claims)
{
    char uid[64], name[128];
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_group(&w, CLASS("gold", "Delete", IS_DEFAULT));
    ASSERT_THERE(&w, "gold", GROUP_G, "spec/volumeGroupSnapshotClassName");
    ASSERT_GOT(&w.served, "['" FINALIZER_GROUP_SNAPSHOT "']", "metadata/finalizers");
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    (void)snprintf(name, sizeof name, "groupsnapcontent-%s", uid);
    ASSERT_GOT(&w.served, name, "status/boundVolumeGroupSnapshotContentName");
    ASSERT_THERE(&w, name, group_content_path(&w), "metadata/name");
    ASSERT_GOT(&w.served, "['h-a','h-b','h-c']", "spec/source/volumeHandles");
    ASSERT_GOT(&w.served, uid, "spec/volumeGroupSnapshotRef/uid");
    ASSERT_GOT(&w.served, "['" FINALIZER_GROUP_SNAPSHOT_CONTENT "']", "metadata/finalizers");
    ASSERT_EVENT(&w, "Normal", "CreatingGroupSnapshot",
                 "Waiting for a group snapshot default/g to be created by the CSI driver.");
    ASSERT_COUNT(&w, 0, SNAPSHOTS);
    finish_group(&w);
    ASSERT_THERE(&w, "true", GROUP_G, "status/readyToUse");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "status/creationTime");
    ASSERT_EVENT(&w, "Normal", "GroupSnapshotReady", "GroupSnapshot default/g is ready to use.");
    ASSERT_COUNT(&w, 3, SNAPSHOT_CONTENTS);
    ASSERT_GOT(&w.served, "true", "items/0/status/readyToUse");
    ASSERT_GOT(&w.served, "G", "items/0/status/volumeGroupSnapshotHandle");
    assert_non_null(strstr(buf_cstr(&w.served.text), "volumeGroupSnapshotHandle\":\"G\""));
    ASSERT_COUNT(&w, 3, SNAPSHOTS);
    for (unsigned i = 0; i < 3; i++) {
        char path[64];

        (void)snprintf(path, sizeof path, "items/%u/status/readyToUse", i);
        ASSERT_GOT(&w.served, "true", path);
        (void)snprintf(path, sizeof path, "items/%u/status/volumeGroupSnapshotName", i);
        ASSERT_GOT(&w.served, "g", path);
        (void)snprintf(path, sizeof path, "items/%u/metadata/ownerReferences/0/uid", i);
        ASSERT_GOT(&w.served, uid, path);
    }
    parts_done(&w);
}

/* csi-33: the names of members are those of the stock controller. */
TEST(group_members_have_the_stock_names)
{
    char text[256], hex[SHA256_HEX_BYTES], path[256];
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_group(&w, CLASS("gold", "Delete", IS_DEFAULT));
    finish_group(&w);
    ASSERT_SENT(&w.served, 200, "GET", GROUP_G, NULL);
    (void)snprintf(text, sizeof text, "%sh-b", got(&w.served, "metadata/uid"));
    ASSERT_OK(sha256_hex(str_of(text), hex, &err));
    (void)snprintf(path, sizeof path, SNAPSHOTS "/snapshot-%s", hex);
    ASSERT_THERE(&w, "b", path, "spec/source/persistentVolumeClaimName");
    (void)snprintf(path, sizeof path, SNAPSHOT_CONTENTS "/snapcontent-%s", hex);
    ASSERT_THERE(&w, "h-b", path, "spec/source/volumeHandle");
    ASSERT_GOT(&w.served, "s-b", "status/snapshotHandle");
    ASSERT_GOT(&w.served, "Filesystem", "spec/sourceVolumeMode");
    parts_done(&w);
}

/* csi-33 */
TEST(group_with_a_volume_of_another_driver)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    ASSERT_DONE(&w, 201, "POST", GROUP_CLASSES, CLASS("gold", "Delete", ""));
    make_claim(&w, "a", "d.io");
    make_claim(&w, "b", "other.io");
    ASSERT_DONE(&w, 201, "POST", GROUP_SNAPSHOTS, GROUP(OF_DB ",'volumeGroupSnapshotClassName':'gold'"));
    ASSERT_THERE(&w,
                 "failed to create group snapshot content with error snapshot controller failed to update "
                 "default/g on API server: Volume CSI driver (other.io) mismatch with "
                 "VolumeGroupSnapshotClass (d.io) default/g: pv-b",
                 GROUP_G, "status/error/message");
    ASSERT_COUNT(&w, 0, GROUP_CONTENTS);
    ASSERT_DONE(&w, 200, "DELETE", GROUP_G, NULL);
    ASSERT_GONE(&w, GROUP_G);
    parts_done(&w);
}

/* csi-33: nothing is selected; no default class. */
TEST(group_that_cannot_be_taken)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    ASSERT_DONE(&w, 201, "POST", GROUP_CLASSES, CLASS("gold", "Delete", ""));
    ASSERT_DONE(&w, 201, "POST", GROUP_SNAPSHOTS, GROUP(OF_DB));
    ASSERT_THERE(&w,
                 "Failed to set default group snapshot class with error label selector app=db for group "
                 "snapshot not applied to any PVC",
                 GROUP_G, "status/error/message");
    make_claim(&w, "a", "d.io");
    ASSERT_THERE(&w,
                 "Failed to set default group snapshot class with error cannot find default group snapshot "
                 "class",
                 GROUP_G, "status/error/message");
    ASSERT_DONE(&w, 201, "POST", GROUP_CLASSES, CLASS("silver", "Delete", IS_DEFAULT));
    ASSERT_THERE(&w, "['h-a']", group_content_path(&w), "spec/source/volumeHandles");
    parts_done(&w);
}

static void import_group(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", GROUP_SNAPSHOTS, GROUP("'source':{'volumeGroupSnapshotContentName':'k'}"));
    ASSERT_THERE(w, "VolumeGroupSnapshotContent is missing", GROUP_G, "status/error/message");
    ASSERT_DONE(w, 201, "POST", GROUP_CONTENTS, GIVEN);
    patch_content(w, "/status", "{'status':{'volumeGroupSnapshotHandle':'G','readyToUse':true}}");
    ASSERT_THERE(w, "true", GROUP_G, "status/readyToUse");
    ASSERT_DONE(w, 200, "DELETE", GROUP_G, NULL);
    ASSERT_GONE(w, GROUP_G);
    ASSERT_THERE(w, "-", GROUP_CONTENTS "/k", "metadata/deletionTimestamp"); /* Retain */
}

/* csi-33 */
TEST(group_that_exists_is_imported)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    import_group(&w);
    parts_done(&w);
}

/* --- Deletion --- */

static void delete_group(struct parts *w)
{
    make_group(w, CLASS("gold", "Delete", IS_DEFAULT));
    finish_group(w);
    ASSERT_DONE(w, 200, "DELETE", GROUP_G, NULL);
    ASSERT_THERE(w, "['" FINALIZER_GROUP_SNAPSHOT "']", GROUP_G, "metadata/finalizers");
    release_members(w);
    ASSERT_COUNT(w, 0, SNAPSHOTS);
    patch_content(w, "", "{'metadata':{'finalizers':null}}");
    ASSERT_GONE(w, GROUP_G);
    ASSERT_COUNT(w, 0, GROUP_CONTENTS);
    ASSERT_COUNT(w, 0, SNAPSHOT_CONTENTS);
}

/* csi-33 */
TEST(group_is_deleted_with_its_members)
{
    struct parts w;

    parts_init(&w, &snapshot_type);
    delete_group(&w);
    parts_done(&w);
}

/* csi-33: a member is not deleted without its group. */
TEST(group_keeps_its_members)
{
    char path[256], text[512];
    struct parts w;

    parts_init(&w, &snapshot_type);
    make_group(&w, CLASS("gold", "Delete", IS_DEFAULT));
    finish_group(&w);
    ASSERT_SENT(&w.served, 200, "GET", SNAPSHOTS, NULL);
    (void)snprintf(path, sizeof path, SNAPSHOTS "/%s", got(&w.served, "items/0/metadata/name"));
    ASSERT_DONE(&w, 200, "DELETE", path, NULL);
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    (void)snprintf(text, sizeof text,
                   "deletion of the individual volume snapshot %s is not allowed as it belongs to group "
                   "snapshot g. Deleting the group snapshot will trigger the deletion of all the individual "
                   "volume snapshots that are part of the group.",
                   got(&w.served, "metadata/name"));
    ASSERT_EVENT(&w, "Warning", "SnapshotDeletePending", text);
    ASSERT_DONE(&w, 200, "DELETE", GROUP_G, NULL);
    release_members(&w);
    patch_content(&w, "", "{'metadata':{'finalizers':null}}");
    ASSERT_GONE(&w, GROUP_G);
    ASSERT_GONE(&w, path);
    parts_done(&w);
}

/* --- Bad days --- */

static void take_group(struct parts *w)
{
    make_group(w, CLASS("gold", "Delete", IS_DEFAULT));
    finish_group(w);
    ASSERT_THERE(w, "true", GROUP_G, "status/readyToUse");
}

/* csi-33: with every request failing once, and a crash after each. */
TEST(groups_end_the_same_on_bad_days)
{
    assert_ends_the_same(&snapshot_type, import_group);
    assert_ends_the_same(&snapshot_type, delete_group);
}

/* csi-33: the members of a group that is retained, in any order of their names. */
TEST(group_taken_on_bad_days_has_all_members)
{
    for (unsigned trouble = TROUBLE_NONE + 1; trouble < TROUBLE_COUNT; trouble++)
        for (unsigned at = 1; at <= 24; at++) {
            struct parts w;

            parts_init(&w, &snapshot_type);
            w.trouble = (enum trouble)trouble;
            w.at = at;
            take_group(&w);
            ASSERT_COUNT(&w, 3, SNAPSHOTS);
            ASSERT_COUNT(&w, 3, SNAPSHOT_CONTENTS);
            for (unsigned i = 0; i < 3; i++) {
                char path[64];

                (void)snprintf(path, sizeof path, "items/%u/status/readyToUse", i);
                ASSERT_GOT(&w.served, "true", path);
            }
            parts_done(&w);
        }
}

TEST_MAIN()
