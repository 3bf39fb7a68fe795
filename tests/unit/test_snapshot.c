/* VolumeSnapshot, VolumeSnapshotContent, VolumeSnapshotClass. */
#include "tests/unit/test_kind.h"

#include "api/snapshot.h"

#define SNAPSHOT(spec) "{'metadata':{'name':'s','namespace':'ns'},'spec':{" spec "}}"
#define CONTENT(spec) "{'metadata':{'name':'c'},'spec':{" spec "}}"
#define REF "'volumeSnapshotRef':{'namespace':'ns','name':'s'},"
#define CONTENT_REST REF "'deletionPolicy':'Delete','driver':'d.io'"
#define CLASS(rest) "{'metadata':{'name':'c'}" rest "}"

TEST(snapshot_has_exactly_one_source)
{
    const char *detail =
        "spec.source: Invalid value: \"object\": exactly one of volumeSnapshotContentName and "
        "persistentVolumeClaimName must be set";

    ASSERT_CREATE(KIND_SNAPSHOT, "", SNAPSHOT("'source':{'persistentVolumeClaimName':'p'}"));
    ASSERT_CREATE(KIND_SNAPSHOT, "", SNAPSHOT("'source':{'volumeSnapshotContentName':'c'}"));
    ASSERT_CREATE(KIND_SNAPSHOT, "spec.source: Required value", SNAPSHOT(""));
    ASSERT_CREATE(KIND_SNAPSHOT, detail, SNAPSHOT("'source':{}"));
    ASSERT_CREATE(KIND_SNAPSHOT, detail,
                  SNAPSHOT("'source':{'persistentVolumeClaimName':'p','volumeSnapshotContentName':'c'}"));
    ASSERT_CREATE(
        KIND_SNAPSHOT,
        "spec.volumeSnapshotClassName: Invalid value: \"\": volumeSnapshotClassName must not be the empty "
        "string when set",
        SNAPSHOT("'source':{'persistentVolumeClaimName':'p'},'volumeSnapshotClassName':''"));
}

TEST(snapshot_source_stays)
{
    const char *old = SNAPSHOT("'source':{'persistentVolumeClaimName':'p'}");

    ASSERT_UPDATE(KIND_SNAPSHOT, "", old,
                  SNAPSHOT("'source':{'persistentVolumeClaimName':'p'},'volumeSnapshotClassName':'k'"));
    ASSERT_UPDATE(
        KIND_SNAPSHOT,
        "spec.source.persistentVolumeClaimName: Invalid value: \"q\": persistentVolumeClaimName is immutable",
        old, SNAPSHOT("'source':{'persistentVolumeClaimName':'q'}"));
    ASSERT_UPDATE(KIND_SNAPSHOT,
                  "spec.source: Invalid value: \"object\": persistentVolumeClaimName is required once set\n"
                  "spec.source: Invalid value: \"object\": volumeSnapshotContentName is required once set",
                  old, SNAPSHOT("'source':{'volumeSnapshotContentName':'c'}"));
}

static const char *updated(enum kind kind, enum write_part part, const char *old, const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    json_ref before, after;

    json_init(&d, 1 << 20);
    buf_clear(&out);
    ASSERT_OK(kind_read(kind, old, &d, &before, NULL));
    kind_info(kind)->prepare_create(&d, before, (struct timestamp){ 0 });
    ASSERT_OK(kind_read(kind, text, &d, &after, NULL));
    kind_info(kind)->prepare_update(&d, after, before, part, (struct timestamp){ 0 });
    json_write(&d, after, &out);
    return buf_cstr(&out);
}

TEST(snapshot_generation_and_parts)
{
    const char *old = "{'metadata':{'name':'s','labels':{'a':'b'}},'spec':{'volumeSnapshotClassName':'a'},"
                      "'status':{'readyToUse':true}}";

    ASSERT_STR(
        "{\"metadata\":{\"name\":\"s\",\"generation\":1},\"spec\":{\"volumeSnapshotClassName\":\"a\"}}",
        updated(KIND_SNAPSHOT, WRITE_MAIN, old,
                "{'metadata':{'name':'s'},'spec':{'volumeSnapshotClassName':'a'},'status':{'readyToUse':"
                "false}}"));
    ASSERT_STR(
        "{\"metadata\":{\"name\":\"s\",\"generation\":2},\"spec\":{\"volumeSnapshotClassName\":\"b\"}}",
        updated(KIND_SNAPSHOT, WRITE_MAIN, old,
                "{'metadata':{'name':'s'},'spec':{'volumeSnapshotClassName':'b'}}"));
    ASSERT_STR("{\"metadata\":{\"name\":\"s\",\"labels\":{\"a\":\"b\"},\"generation\":1},\"spec\":"
               "{\"volumeSnapshotClassName\":\"a\"},\"status\":{\"readyToUse\":false}}",
               updated(KIND_SNAPSHOT, WRITE_STATUS, old,
                       "{'metadata':{'name':'s'},'spec':{'volumeSnapshotClassName':'z'},'status':{'"
                       "readyToUse':false}}"));
    ASSERT_STR(
        "{\"metadata\":{\"name\":\"c\",\"generation\":2},\"driver\":\"d\",\"deletionPolicy\":\"Retain\"}",
        updated(KIND_SNAPSHOT_CLASS, WRITE_MAIN, CLASS(",'driver':'d','deletionPolicy':'Delete'"),
                CLASS(",'driver':'d','deletionPolicy':'Retain'")));
    ASSERT_STR(
        "{\"metadata\":{\"name\":\"c\",\"generation\":1},\"driver\":\"d\",\"deletionPolicy\":\"Delete\"}",
        updated(KIND_SNAPSHOT_CLASS, WRITE_MAIN, CLASS(",'driver':'d','deletionPolicy':'Delete'"),
                CLASS(",'driver':'d','deletionPolicy':'Delete'")));
}

TEST(snapshot_content_rules)
{
    ASSERT_CREATE(KIND_SNAPSHOT_CONTENT, "", CONTENT(CONTENT_REST ",'source':{'volumeHandle':'v'}"));
    ASSERT_CREATE(
        KIND_SNAPSHOT_CONTENT,
        "spec.deletionPolicy: Required value\nspec.driver: Required value\nspec.source: Required value\n"
        "spec.volumeSnapshotRef: Required value",
        CONTENT(""));
    ASSERT_CREATE(
        KIND_SNAPSHOT_CONTENT,
        "spec.deletionPolicy: Unsupported value: \"Keep\": supported values: \"Delete\", \"Retain\"",
        CONTENT(REF "'deletionPolicy':'Keep','driver':'d','source':{'snapshotHandle':'h'}"));
    ASSERT_CREATE(
        KIND_SNAPSHOT_CONTENT,
        "spec.source: Invalid value: \"object\": exactly one of volumeHandle and snapshotHandle must be set",
        CONTENT(CONTENT_REST ",'source':{'volumeHandle':'v','snapshotHandle':'h'}"));
    ASSERT_CREATE(KIND_SNAPSHOT_CONTENT,
                  "spec.volumeSnapshotRef: Invalid value: \"object\": both spec.volumeSnapshotRef.name and "
                  "spec.volumeSnapshotRef.namespace must be set",
                  CONTENT("'volumeSnapshotRef':{'name':'s'},'deletionPolicy':'Retain','driver':'d','source':"
                          "{'volumeHandle':'v'}"));
    ASSERT_STATUS(KIND_SNAPSHOT_CONTENT,
                  "status.restoreSize: Invalid value: -1: status.restoreSize in body should be greater than "
                  "or equal to 0",
                  CONTENT(CONTENT_REST ",'source':{'volumeHandle':'v'}"),
                  "{'metadata':{'name':'c'},'spec':{" CONTENT_REST
                  ",'source':{'volumeHandle':'v'}},'status':{'restoreSize':-1}}");
}

TEST(snapshot_content_fixed_fields)
{
    const char *old = CONTENT(CONTENT_REST ",'source':{'volumeHandle':'v'},'sourceVolumeMode':'Block'");

    ASSERT_UPDATE(KIND_SNAPSHOT_CONTENT,
                  "spec.source.volumeHandle: Invalid value: \"w\": volumeHandle is immutable\n"
                  "spec.sourceVolumeMode: Invalid value: \"Filesystem\": sourceVolumeMode is immutable",
                  old,
                  CONTENT(CONTENT_REST ",'source':{'volumeHandle':'w'},'sourceVolumeMode':'Filesystem'"));
    ASSERT_UPDATE(KIND_SNAPSHOT_CONTENT,
                  "spec: Invalid value: \"object\": sourceVolumeMode is required once set", old,
                  CONTENT(CONTENT_REST ",'source':{'volumeHandle':'v'}"));
}

TEST(snapshot_class_rules)
{
    ASSERT_CREATE(KIND_SNAPSHOT_CLASS, "", CLASS(",'driver':'d','deletionPolicy':'Retain'"));
    ASSERT_CREATE(KIND_SNAPSHOT_CLASS, "driver: Required value\ndeletionPolicy: Required value", CLASS(""));
}

TEST(snapshot_views)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_SNAPSHOT,
        "{'metadata':{'name':'s','namespace':'ns'},'spec':{'source':{'persistentVolumeClaimName':'p'},"
        "'volumeSnapshotClassName':'k'},'status':{'boundVolumeSnapshotContentName':'c','readyToUse':true,"
        "'restoreSize':'1Gi','creationTime':'2026-01-02T03:04:05Z','error':{'message':'bad'}}}");
    const struct snapshot *s = CONTAINER_OF(o, struct snapshot, obj);
    ASSERT_STR("p", s->claim_name);
    ASSERT_STR("", s->content_name);
    ASSERT_STR("k", s->class_name);
    ASSERT_STR("c", s->bound_content_name);
    ASSERT_STR("bad", s->error_message);
    assert_true(s->is_ready && s->has_restore_size);
    ASSERT_INT(1767323045, s->taken.seconds);

    _cleanup_(object_unref_p) struct object *oc = kind_object(
        KIND_SNAPSHOT_CONTENT,
        "{'metadata':{'name':'c'},'spec':{'volumeSnapshotRef':{'namespace':'ns','name':'s','uid':"
        "'u'},'deletionPolicy':'Delete','driver':'d','source':{'snapshotHandle':'h'}},'status':"
        "{'snapshotHandle':'h','creationTime':1767323045000000001,'restoreSize':5,'readyToUse':true}}");
    const struct snapshot_content *c = CONTAINER_OF(oc, struct snapshot_content, obj);
    ASSERT_STR("ns", c->snapshot_ns);
    ASSERT_STR("u", c->snapshot_uid);
    ASSERT_STR("h", c->source_snapshot_handle);
    ASSERT_STR("h", c->snapshot_handle);
    assert_true(c->deletes && c->is_ready);
    assert_true(c->taken_ns == INT64_C(1767323045000000001));
    ASSERT_INT(5, c->restore_bytes);

    _cleanup_(object_unref_p) struct object *ok = kind_object(
        KIND_SNAPSHOT_CLASS,
        "{'metadata':{'name':'k','annotations':{'snapshot.storage.kubernetes.io/is-default-class':"
        "'true'}},'driver':'d','deletionPolicy':'Retain','parameters':{'a':'b'}}");
    const struct snapshot_class *k = CONTAINER_OF(ok, struct snapshot_class, obj);
    assert_true(k->is_default && !k->deletes);
    ASSERT_STR("b", k->parameters.items[0].value);
}

TEST_MAIN()
