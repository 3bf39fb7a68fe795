/* VolumeGroupSnapshot, VolumeGroupSnapshotContent, VolumeGroupSnapshotClass. */
#include "tests/unit/test_kind.h"

#include "api/group_snapshot.h"

#define GROUP(spec) "{'metadata':{'name':'g','namespace':'ns'},'spec':{" spec "}}"
#define CONTENT(spec) "{'metadata':{'name':'c'},'spec':{" spec "}}"
#define REF "'volumeGroupSnapshotRef':{'namespace':'ns','name':'g'},"
#define CONTENT_REST REF "'deletionPolicy':'Delete','driver':'d.io'"
#define HANDLES "'groupSnapshotHandles':{'volumeGroupSnapshotHandle':'g','volumeSnapshotHandles':['s']}"
#define SELECTED "'source':{'selector':{'matchLabels':{'app':'db'}}}"
#define CLASS(rest) "{'metadata':{'name':'c'}" rest "}"

TEST(group_has_exactly_one_source)
{
    const char *detail = "spec.source: Invalid value: \"object\": exactly one of selector and "
                         "volumeGroupSnapshotContentName must be set";

    ASSERT_CREATE(KIND_GROUP_SNAPSHOT, "", GROUP(SELECTED));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT, "", GROUP("'source':{'volumeGroupSnapshotContentName':'c'}"));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT, "spec.source: Required value", GROUP(""));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT, detail, GROUP("'source':{}"));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT, detail,
                  GROUP("'source':{'selector':{},'volumeGroupSnapshotContentName':'c'}"));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT,
                  "spec.volumeGroupSnapshotClassName: Invalid value: \"\": volumeGroupSnapshotClassName must "
                  "not be the empty string when set",
                  GROUP(SELECTED ",'volumeGroupSnapshotClassName':''"));
}

TEST(group_source_stays)
{
    const char *old = GROUP("'source':{'volumeGroupSnapshotContentName':'c'}");

    ASSERT_UPDATE(
        KIND_GROUP_SNAPSHOT, "", old,
        GROUP("'source':{'volumeGroupSnapshotContentName':'c'},'volumeGroupSnapshotClassName':'k'"));
    ASSERT_UPDATE(KIND_GROUP_SNAPSHOT,
                  "spec.source.volumeGroupSnapshotContentName: Invalid value: \"d\": "
                  "volumeGroupSnapshotContentName is immutable",
                  old, GROUP("'source':{'volumeGroupSnapshotContentName':'d'}"));
    ASSERT_UPDATE(
        KIND_GROUP_SNAPSHOT,
        "spec.source: Invalid value: \"object\": selector is required once set\n"
        "spec.source: Invalid value: \"object\": volumeGroupSnapshotContentName is required once set",
        old, GROUP(SELECTED));
}

TEST(group_content_rules)
{
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT_CONTENT, "",
                  CONTENT(CONTENT_REST ",'source':{'volumeHandles':['a','b']}"));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT_CONTENT, "", CONTENT(CONTENT_REST ",'source':{" HANDLES "}"));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT_CONTENT,
                  "spec.source: Invalid value: \"object\": exactly one of volumeHandles and "
                  "groupSnapshotHandles must be set",
                  CONTENT(CONTENT_REST ",'source':{'volumeHandles':['a']," HANDLES "}"));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT_CONTENT,
                  "spec.source.groupSnapshotHandles.volumeGroupSnapshotHandle: Required value\n"
                  "spec.source.groupSnapshotHandles.volumeSnapshotHandles: Required value",
                  CONTENT(CONTENT_REST ",'source':{'groupSnapshotHandles':{}}"));
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT_CONTENT,
                  "spec.volumeGroupSnapshotRef: Invalid value: \"object\": both volumeGroupSnapshotRef.name "
                  "and volumeGroupSnapshotRef.namespace must be set",
                  CONTENT("'volumeGroupSnapshotRef':{'name':'g'},'deletionPolicy':'Delete','driver':'d.io',"
                          "'source':{'volumeHandles':['a']}"));
    ASSERT_UPDATE(KIND_GROUP_SNAPSHOT_CONTENT,
                  "spec.source.volumeHandles: Invalid value: [\"b\"]: volumeHandles is immutable",
                  CONTENT(CONTENT_REST ",'source':{'volumeHandles':['a']}"),
                  CONTENT(CONTENT_REST ",'source':{'volumeHandles':['b']}"));
}

TEST(group_class_rules)
{
    const char *old = CLASS(",'driver':'d.io','deletionPolicy':'Delete'");

    ASSERT_CREATE(KIND_GROUP_SNAPSHOT_CLASS, "", old);
    ASSERT_CREATE(KIND_GROUP_SNAPSHOT_CLASS, "driver: Required value", CLASS(",'deletionPolicy':'Delete'"));
    ASSERT_UPDATE(KIND_GROUP_SNAPSHOT_CLASS, "", old,
                  CLASS(",'driver':'d.io','deletionPolicy':'Delete','parameters':{'a':'b'}"));
    ASSERT_UPDATE(KIND_GROUP_SNAPSHOT_CLASS,
                  "driver: Invalid value: \"e.io\": driver is immutable once set\n"
                  "deletionPolicy: Invalid value: \"Retain\": deletionPolicy is immutable once set",
                  old, CLASS(",'driver':'e.io','deletionPolicy':'Retain'"));
}

TEST(group_members_are_decoded)
{
    static const char text[] =
        "{\"kind\":\"VolumeGroupSnapshotContent\",\"apiVersion\":\"groupsnapshot.storage.k8s.io/v1\","
        "\"metadata\":{\"name\":\"c\"},\"spec\":{\"source\":{\"volumeHandles\":[\"a\",\"b\"]}},\"status\":{"
        "\"volumeGroupSnapshotHandle\":\"g\",\"volumeSnapshotInfoList\":[{\"volumeHandle\":\"a\","
        "\"snapshotHandle\":\"x\",\"readyToUse\":true,\"creationTime\":7,\"restoreSize\":9},"
        "{\"volumeHandle\":\"b\",\"snapshotHandle\":\"y\"}]}}";
    _cleanup_(object_unref_p) struct object *o = NULL;
    _cleanup_(json_done_p) struct json d;
    const struct group_snapshot_content *c;

    json_init(&d, 1 << 20);
    ASSERT_OK(object_decode_any(str_of(text), &d, &o, &err));
    c = group_snapshot_content_of(o);
    ASSERT_INT(2, c->volume_handles.count);
    ASSERT_INT(2, c->members_count);
    ASSERT_STR("x", c->members[0].snapshot_handle);
    assert_true(c->members[0].is_ready && c->members[0].has_taken && c->members[0].has_restore_bytes);
    ASSERT_INT(7, c->members[0].taken_ns);
    ASSERT_INT(9, c->members[0].restore_bytes);
    ASSERT_STR("b", c->members[1].volume_handle);
    assert_false(c->members[1].has_ready || c->members[1].has_taken || c->members[1].has_restore_bytes);
}

TEST_MAIN()
