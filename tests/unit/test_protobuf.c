/* Protobuf bodies: presence, times, maps, and what others may send to do harm. */
#include "tests/unit/test_protobuf.h"

#include "api/request_kind.h"

struct row {
    const char *message;
    const char *expected; /* behind kind and apiVersion */
};

static void check_rows(const char *api_version, const char *kind, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_(buf_done_p) struct buf expected = BUF_INIT(BYTES_MAX);
        buf_addf(&expected, "{'kind':'%s','apiVersion':'%s'%s%s}", kind, api_version,
                 rows[i].expected[0] ? "," : "", rows[i].expected);
        ASSERT_STR(kind_row(buf_cstr(&expected)), proto_text(api_version, kind, rows[i].message));
    }
}

#define CHECK_ROWS(api_version, kind, ...)                             \
    check_rows(api_version, kind, (const struct row[]){ __VA_ARGS__ }, \
               sizeof((const struct row[]){ __VA_ARGS__ }) / sizeof(struct row))

/* --- Presence --- */

TEST(plain_fields_sent_empty_are_not_set)
{
    CHECK_ROWS("v1", "PersistentVolumeClaim", { "", "" }, { "1{}", "'metadata':{}" },
               { "1{1'' 3'' 7#0 8{}} 2{3''} 3{1''}", "'metadata':{},'spec':{},'status':{}" });
    CHECK_ROWS("v1", "PersistentVolume", { "2{2{5{1'' 3#0}}}", "'spec':{'nfs':{}}" },
               { "2{2{7{3#0}}}", "'spec':{'iscsi':{}}" });
}

TEST(pointers_sent_empty_are_set)
{
    CHECK_ROWS("v1", "PersistentVolumeClaim", { "2{5''}", "'spec':{'storageClassName':''}" },
               { "1{10#0}", "'metadata':{'deletionGracePeriodSeconds':0}" },
               { "2{4{}}", "'spec':{'selector':{}}" });
    CHECK_ROWS("v1", "ServiceAccount", { "4#0", "'automountServiceAccountToken':false" });
    CHECK_ROWS("v1", "PersistentVolume",
               { "2{2{3{1'/x' 2''}}}", "'spec':{'hostPath':{'path':'/x','type':''}}" },
               { "2{2{10{2#0}}}", "'spec':{'fc':{'lun':0}}" });
}

TEST(the_last_of_several_values_wins)
{
    CHECK_ROWS("v1", "ConfigMap", { "1{1'a' 1'b'}", "'metadata':{'name':'b'}" },
               { "1{1'a' 1''}", "'metadata':{}" }, { "1{8{1#5} 8{}}", "'metadata':{}" },
               { "1{7#5 7#0 7#6}", "'metadata':{'generation':6}" }, { "4#1 4#0", "'immutable':false" });
}

TEST(messages_sent_twice_are_merged)
{
    CHECK_ROWS("v1", "ConfigMap", { "1{1'a'} 1{3'ns'}", "'metadata':{'name':'a','namespace':'ns'}" },
               { "1{11{1'k' 2'v'}} 1{11{1'j' 2'w'}}", "'metadata':{'labels':{'j':'w','k':'v'}}" },
               { "1{14'a'} 1{14'b'}", "'metadata':{'finalizers':['a','b']}" });
    CHECK_ROWS("v1", "PersistentVolume",
               { "2{2{3{1'/x'}}} 2{2{3{2'File'}}}", "'spec':{'hostPath':{'path':'/x','type':'File'}}" });
}

TEST(fields_come_in_any_order)
{
    CHECK_ROWS("v1", "ConfigMap",
               { "4#1 2{2'v' 1'k'} 1{1'a'}", "'immutable':true,'data':{'k':'v'},'metadata':{'name':'a'}" });
}

/* --- Maps and lists --- */

TEST(entries_may_lack_key_or_value)
{
    CHECK_ROWS("v1", "ConfigMap", { "2{}", "'data':{'':''}" }, { "2{1'k'}", "'data':{'k':''}" },
               { "2{2'v'}", "'data':{'':'v'}" }, { "3{1'k'}", "'binaryData':{'k':''}" },
               { "2{1'k' 2'v' 3'new' 4#1}", "'data':{'k':'v'}" });
    CHECK_ROWS("v1", "PersistentVolume", { "2{1{1'storage'}}", "'spec':{'capacity':{'storage':'0'}}" });
}

TEST(the_last_entry_of_a_key_wins)
{
    CHECK_ROWS("v1", "ConfigMap", { "2{1'k' 2'1'} 2{1'j' 2'2'} 2{1'k' 2'3'}", "'data':{'j':'2','k':'3'}" },
               { "2{1'k' 2'1'} 2{1'k'}", "'data':{'k':''}" });
}

TEST(lists_keep_empty_items)
{
    CHECK_ROWS("v1", "ConfigMap", { "1{14'' 14'a' 14''}", "'metadata':{'finalizers':['','a','']}" },
               { "1{13{} 13{6#0}}", "'metadata':{'ownerReferences':[{},{'controller':false}]}" });
}

/* Old encoders send one number per field, others all of them in one. */
TEST(numbers_may_be_packed)
{
    CHECK_ROWS("v1", "Pod",
               { "2{14{4#5 4#0 4#-1}}", "'spec':{'securityContext':{'supplementalGroups':[5,0,-1]}}" },
               { "2{14{4~05ac02~ 4#7}}", "'spec':{'securityContext':{'supplementalGroups':[5,300,7]}}" },
               { "2{14{4''}}", "'spec':{'securityContext':{'supplementalGroups':[]}}" });
    ASSERT_STR("bad-request: unexpected EOF", proto_text("v1", "Pod", "2{14{4~0580~}}"));
    ASSERT_STR("bad-request: proto: integer overflow",
               proto_text("v1", "Pod", "2{14{4~ffffffffffffffffffff01~}}"));
}

TEST(bytes_become_base64)
{
    CHECK_ROWS("v1", "Secret", { "2{1'k' 2~00ff10~}", "'data':{'k':'AP8Q'}" },
               { "2{1'k' 2'a'} 4{1'p' 2'q'}", "'data':{'k':'YQ=='},'stringData':{'p':'q'}" });
    CHECK_ROWS("v1", "ConfigMap", { "3{1'k' 2~8081~}", "'binaryData':{'k':'gIE='}" });
}

/* --- Numbers, times, quantities --- */

TEST(numbers_are_cut_as_protobuf_has_it)
{
    CHECK_ROWS("v1", "Event", { "8#7", "'count':7" }, { "8#-1", "'count':-1" },
               { "8#4294967295", "'count':-1" }, { "8#4294967296", "" },
               { "8#2147483647", "'count':2147483647" });
    CHECK_ROWS("v1", "ConfigMap",
               { "1{7#9223372036854775807}", "'metadata':{'generation':9223372036854775807}" },
               { "1{7#-9223372036854775808}", "'metadata':{'generation':-9223372036854775808}" },
               { "4#256", "'immutable':true" });
}

TEST(times_are_written_as_text)
{
    CHECK_ROWS("v1", "Event", { "6{1#1714557600}", "'firstTimestamp':'2024-05-01T10:00:00Z'" },
               { "6{1#1714557600 2#999999999}", "'firstTimestamp':'2024-05-01T10:00:00Z'" },
               { "10{1#1714557600 2#123456789}", "'eventTime':'2024-05-01T10:00:00.123456Z'" },
               { "10{1#1714557600}", "'eventTime':'2024-05-01T10:00:00.000000Z'" },
               { "10{2#1000}", "'eventTime':'1970-01-01T00:00:00.000001Z'" },
               { "6{1#-1}", "'firstTimestamp':'1969-12-31T23:59:59Z'" },
               { "10{1#1714557600 2#-1}", "'eventTime':'2024-05-01T09:59:59.999999Z'" },
               { "10{1#1714557600 2#2000000000}", "'eventTime':'2024-05-01T10:00:02.000000Z'" },
               { "10{1#1714557600 2#-2000000000}", "'eventTime':'2024-05-01T09:59:58.000000Z'" });
}

TEST(the_zero_time_is_no_time)
{
    CHECK_ROWS("v1", "Event", { "6{} 7{1#0} 10{1#0 2#0}", "" });
    CHECK_ROWS("coordination.k8s.io/v1", "Lease", { "2{3{} 4{1#0}}", "'spec':{}" });
}

TEST(times_out_of_range_are_refused)
{
    static const char *const rows[] = {
        "1{8{1#253402300799}}",
        "1{8{1#-62135596800}}",
        "1{8{1#9223372036854775807 2#2147483647}}",
        "1{8{1#-9223372036854775808 2#-2147483648}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR("bad-request: proto: ObjectMeta.creationTimestamp: the time is out of range",
                   proto_text("v1", "ConfigMap", rows[i]));
}

#define PORT(message) "2{2{10{1{2{2{" message "}}}}}}"
#define PORT_JSON(json) "'spec':{'containers':[{'livenessProbe':{'httpGet':{'port':" json "}}}]}"

TEST(a_port_is_a_number_or_a_name)
{
    CHECK_ROWS("v1", "Pod", { PORT("1#0 2#80 3''"), PORT_JSON("80") },
               { PORT("1#1 2#0 3'web'"), PORT_JSON("'web'") }, { PORT(""), PORT_JSON("0") },
               { PORT("1#1"), PORT_JSON("''") }, { PORT("2#-1 4#5"), PORT_JSON("-1") });
    ASSERT_STR("bad-request: proto: HTTPGetAction.port: neither a number nor a string",
               proto_text("v1", "Pod", PORT("1#2")));
    ASSERT_STR("bad-request: proto: HTTPGetAction.port: not valid UTF-8",
               proto_text("v1", "Pod", PORT("1#1 3~ff~")));
}

/* A struct that Go embeds is a message of its own; its fields stand in the same object. */
TEST(embedded_structs)
{
    CHECK_ROWS(
        "v1", "Pod",
        { "2{1{1'v' 2{6{1's'}}}}", "'spec':{'volumes':[{'name':'v','secret':{'secretName':'s'}}]}" },
        { "2{34{1{1'debug' 2'i'} 2'app'}}",
          "'spec':{'ephemeralContainers':[{'name':'debug','image':'i','targetContainerName':'app'}]}" },
        { "2{2{7{3{3{1{1'cm'} 2'k'}}}}}",
          "'spec':{'containers':[{'env':[{'valueFrom':{'configMapKeyRef':{'name':'cm','key':'k'}}}]}]}" },
        { "2{2{19{2{1{1'a'}} 3{1{1'b'} 2#0}}}}",
          "'spec':{'containers':[{'envFrom':[{'configMapRef':{'name':'a'},'secretRef':{'name':'b',"
          "'optional':false}}]}]}" },
        { "2{2{11{1{1{1'ls'}} 2#5}}}",
          "'spec':{'containers':[{'readinessProbe':{'exec':{'command':['ls']},'initialDelaySeconds':5}}]}" },
        { "2{1{2{2{}} 2{2{1'Memory'}}}}", "'spec':{'volumes':[{'emptyDir':{'medium':'Memory'}}]}" },
        { "2{1{1'v' 2{}}}", "'spec':{'volumes':[{'name':'v'}]}" });
}

TEST(maps_of_lists)
{
    CHECK_ROWS("authorization.k8s.io/v1", "SubjectAccessReview",
               { "2{3'me' 5{1'scopes' 2{1'a' 1'b' 2'x'}} 5{1'none'}}",
                 "'spec':{'user':'me','extra':{'none':[],'scopes':['a','b']}}" });
    ASSERT_STR("bad-request: proto: SubjectAccessReviewSpec.extra: not valid UTF-8",
               proto_text("authorization.k8s.io/v1", "SubjectAccessReview", "2{5{1'k' 2{1~ff~}}}"));
}

TEST(quantities_keep_their_text)
{
    CHECK_ROWS("storage.k8s.io/v1", "CSIStorageCapacity", { "4{1'1.50Gi'}", "'capacity':'1.50Gi'" },
               { "4{}", "'capacity':'0'" }, { "4{1''}", "'capacity':''" },
               { "4{1'5' 2'x'}", "'capacity':'5'" });
}

TEST(managed_fields_hold_json)
{
    CHECK_ROWS("v1", "ConfigMap",
               { "1{17{1'm' 7{1'{\"f:data\":{\".\":{}}}'}}}",
                 "'metadata':{'managedFields':[{'manager':'m','fieldsV1':{'f:data':{'.':{}}}}]}" },
               { "1{17{7{}}}", "'metadata':{'managedFields':[{}]}" },
               { "1{17{7{1'0'}}}", "'metadata':{'managedFields':[{'fieldsV1':0}]}" });
    assert_non_null(strstr(proto_text("v1", "ConfigMap", "1{17{7{1'{'}}}"),
                           "bad-request: proto: ManagedFieldsEntry.fieldsV1: offset "));
}

/* --- What is passed over --- */

TEST(unknown_fields_are_passed_over)
{
    CHECK_ROWS(
        "v1", "ConfigMap", { "99'x' 1{1'a' 100#5 101%4 102%8} 536870911'y'", "'metadata':{'name':'a'}" },
        { "99(1'x' 2#3 3%4 4%8 5(5)99) 1{1'a'}", "'metadata':{'name':'a'}" }, { "99(1(1)2(2)99)", "" });
}

TEST(groups_nest_to_a_bound)
{
    for (unsigned depth = PROTOBUF_GROUP_DEPTH_MAX; depth <= PROTOBUF_GROUP_DEPTH_MAX + 1; depth++) {
        _cleanup_(buf_done_p) struct buf message = BUF_INIT(BYTES_MAX);
        for (unsigned i = 0; i < depth; i++)
            buf_add_cstr(&message, "9(");
        for (unsigned i = 0; i < depth; i++)
            buf_add_cstr(&message, "9)");
        ASSERT_STR(depth > PROTOBUF_GROUP_DEPTH_MAX ? "bad-request: proto: groups nest deeper than 100"
                                                    : "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}",
                   proto_text("v1", "ConfigMap", buf_cstr(&message)));
    }
}

/* --- What is refused --- */

TEST(wrong_wire_types_are_refused)
{
    static const struct {
        const char *kind, *message, *where;
        int type;
    } rows[] = {
        { "ConfigMap", "1{1#5}", "ObjectMeta.name", 0 },
        { "ConfigMap", "1{7'5'}", "ObjectMeta.generation", 2 },
        { "ConfigMap", "1{7%8}", "ObjectMeta.generation", 1 },
        { "ConfigMap", "1{1(1)}", "ObjectMeta.name", 3 },
        { "ConfigMap", "1#5", "ConfigMap.metadata", 0 },
        { "ConfigMap", "2#5", "ConfigMap.data", 0 },
        { "ConfigMap", "2{1#5}", "ConfigMap.data", 0 },
        { "ConfigMap", "2{2%4}", "ConfigMap.data", 5 },
        { "ConfigMap", "1{8#5}", "ObjectMeta.creationTimestamp", 0 },
        { "ConfigMap", "1{8{1'5'}}", "ObjectMeta.creationTimestamp", 2 },
        { "ConfigMap", "1{13#1}", "ObjectMeta.ownerReferences", 0 },
        { "ConfigMap", "1{14#1}", "ObjectMeta.finalizers", 0 },
        { "ConfigMap", "1{17{7{1#1}}}", "ManagedFieldsEntry.fieldsV1", 0 },
        { "PersistentVolume", "2{1{1'storage' 2{1#5}}}", "PersistentVolumeSpec.capacity", 0 },
        { "Pod", "2{2{10{1{2{2#80}}}}}", "HTTPGetAction.port", 0 },
        { "Pod", "2{2{10{1{2{2{1'0'}}}}}}", "HTTPGetAction.port", 2 },
        { "Pod", "2{2{10{1{2{2{3#0}}}}}}", "HTTPGetAction.port", 0 },
        { "Pod", "2{14{4%4}}", "PodSecurityContext.supplementalGroups", 5 },
        { "Node", "3{11#1}", "NodeStatus.config", 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char expected[200];
        (void)snprintf(expected, sizeof expected, "bad-request: proto: wrong wireType = %d for field %s",
                       rows[i].type, rows[i].where);
        ASSERT_STR(expected, proto_text("v1", rows[i].kind, rows[i].message));
    }
    ASSERT_STR("bad-request: proto: wrong wireType = 0 for field 2 of PersistentVolumeSpec",
               proto_text("v1", "PersistentVolume", "2{2#1}"));
}

TEST(texts_must_be_utf8)
{
    static const char *const rows[][2] = {
        { "1{1~ff~}", "ObjectMeta.name" },           { "1{14~c080~}", "ObjectMeta.finalizers" },
        { "2{1~eda080~}", "ConfigMap.data" },        { "2{1'k' 2~80~}", "ConfigMap.data" },
        { "3{1~ff~ 2'x'}", "ConfigMap.binaryData" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char expected[200];
        (void)snprintf(expected, sizeof expected, "bad-request: proto: %s: not valid UTF-8", rows[i][1]);
        ASSERT_STR(expected, proto_text("v1", "ConfigMap", rows[i][0]));
    }
    ASSERT_STR("bad-request: proto: CSIStorageCapacity.capacity: not valid UTF-8",
               proto_text("storage.k8s.io/v1", "CSIStorageCapacity", "4{1~ff~}"));
}

static void check_bytes(enum err code, const char *expected, const char *hex)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v = 77;

    json_init(&d, BYTES_MAX);
    proto_hex(&body, str_of(hex));
    ASSERT_ERR(code, proto_decode(&d, buf_str(&body), &v));
    ASSERT_STR(expected, err.msg);
    ASSERT_INT(77, v);
}

/* "v1" "ConfigMap" */
#define CONFIG_MAP   \
    "6b387300"       \
    "0a0f0a02763112" \
    "09436f6e6669674d6170"

#define NO_PREFIX "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"

TEST(malformed_bodies_are_refused)
{
    static const char *const rows[][2] = {
        { "", "empty data" },
        { "6b3873", NO_PREFIX },
        { "6b387301", NO_PREFIX },
        { "7b7d7b7d", NO_PREFIX },
        { "6b387300"
          "0800",
          "proto: wrong wireType = 0 for field TypeMeta" },
        { "6b387300"
          "1000",
          "proto: wrong wireType = 0 for field Raw" },
        { "6b387300"
          "1d00000000",
          "proto: wrong wireType = 5 for field ContentEncoding" },
        { "6b387300"
          "0a021000",
          "proto: wrong wireType = 0 for field Kind" },
        { "6b387300"
          "0a020a01",
          "unexpected EOF" },
        { "6b387300"
          "0a050a01ff1200",
          "proto: APIVersion: not valid UTF-8" },
        { CONFIG_MAP "12", "unexpected EOF" },
        { CONFIG_MAP "1205", "unexpected EOF" },
        { CONFIG_MAP "1280", "unexpected EOF" },
        { CONFIG_MAP "12ffffffffffffffffff01", "proto: negative length found during unmarshaling" },
        { CONFIG_MAP "12ffffffffffffffffff02", "proto: integer overflow" },
        { CONFIG_MAP "12ffffffffffffffffffff01", "proto: integer overflow" },
        { CONFIG_MAP "120200"
                     "00",
          "proto: illegal tag 0 (wire type 0)" },
        { CONFIG_MAP "12020600", "proto: illegal tag 0 (wire type 6)" },
        { CONFIG_MAP "12021e00", "proto: illegal wireType 6" },
        { CONFIG_MAP "12021f00", "proto: illegal wireType 7" },
        { CONFIG_MAP "1206828080801000", "proto: illegal tag 536870912 (wire type 2)" },
        { CONFIG_MAP "120114", "proto: wiretype end group for non-group" },
        { CONFIG_MAP "1202"
                     "9b06",
          "unexpected EOF" },
        { CONFIG_MAP "1203"
                     "fd0600",
          "unexpected EOF" },
        { CONFIG_MAP "1203"
                     "f90600",
          "unexpected EOF" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_bytes(ERR_BAD_REQUEST, rows[i][1], rows[i][0]);
}

TEST(what_is_encoded_once_more_is_not_supported)
{
    check_bytes(ERR_UNSUPPORTED, "nested content encoding is not supported", CONFIG_MAP "1a04677a6970");
    check_bytes(ERR_UNSUPPORTED, "nested content encoding is not supported", CONFIG_MAP "220161");
}

/* "application/vnd.kubernetes.protobuf" */
TEST(a_body_may_say_that_it_is_protobuf)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    proto_hex(&body,
              STR_LIT(CONFIG_MAP "2223"
                                 "6170706c69636174696f6e2f766e642e6b756265726e657465732e70726f746f627566"));
    ASSERT_OK(proto_decode(&d, buf_str(&body), &v));
}

TEST(what_a_body_does_not_say_is_empty)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);
    struct protobuf_body b;

    proto_hex(&body, STR_LIT("6b387300"
                             "0a040a027631"
                             "1201"
                             "78"));
    ASSERT_OK(protobuf_open(buf_str(&body), &b, &err));
    assert_true(str_is(b.api_version, "v1"));
    assert_true(str_is(b.kind, ""));
    assert_true(str_is(b.raw, "x"));
}

TEST(kinds_that_cannot_be_sent_so)
{
    static const char *const rows[][2] = {
        { "v1", "List" },
        { "v1", "Service" },
        { "v1", "configmaps" },
        { "v2", "ConfigMap" },
        { "apps/v1", "ConfigMap" },
        { "apps/v1", "Deployment" },
        { "storage.k8s.io/v1beta1", "StorageClass" },
        { "snapshot.storage.k8s.io/v1", "VolumeSnapshot" },
        { "authorization.k8s.io/v1", "TokenReview" },
        { "policy/v1alpha1", "Eviction" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_null(protobuf_schema(str_of(rows[i][0]), str_of(rows[i][1])));
}

TEST(options_of_a_delete_belong_to_every_group)
{
    CHECK_ROWS("v1", "DeleteOptions", { "1#0", "'gracePeriodSeconds':0" });
    CHECK_ROWS("meta.k8s.io/v1", "DeleteOptions", { "4'Background'", "'propagationPolicy':'Background'" });
    CHECK_ROWS("storage.k8s.io/v1", "DeleteOptions", { "", "" });
}

/* A body cut anywhere, or with any one byte changed, is taken or refused, and nothing worse. */
TEST(damaged_bodies_do_no_harm)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    proto_body_text("v1", "PersistentVolume",
                    "1{1'pv' 8{1#5} 11{1'k' 2'v'} 13{6#1} 14'f' 17{7{1'{}'}}} 2{1{1'storage' 2{1'5Gi'}} "
                    "2{22{1'd' 5{1'a' 2'b'}}} 9{1{1{1{1'k' 2'In' 3'v'}}}}} 3{4{1#9 2#9}}",
                    &body);
    ASSERT_OK(proto_decode(&d, buf_str(&body), &v));
    for (size_t len = 0; len < body.len; len++) {
        int r = proto_decode(&d, (struct str){ body.data, len }, &v);
        assert_true(r == 0 || r == -ERR_BAD_REQUEST || r == -ERR_NOT_FOUND);
    }
    for (size_t i = 0; i < body.len * 256; i++) {
        char was = body.data[i / 256];
        body.data[i / 256] = (char)(i % 256);
        int r = proto_decode(&d, buf_str(&body), &v);
        assert_true(r == 0 || r == -ERR_BAD_REQUEST || r == -ERR_UNSUPPORTED || r == -ERR_NOT_FOUND);
        body.data[i / 256] = was;
    }
}

/* --- Bounds --- */

TEST(bodies_past_the_bound_are_refused)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    proto_body_text("v1", "ConfigMap", "1{1'a'}", &body);
    json_init(&d, 4096);
    ASSERT_OK(proto_decode(&d, buf_str(&body), &v));
    json_done(&d);
    json_init(&d, STR_LIT("1{1'a'}").len - 3);
    ASSERT_ERR(ERR_TOO_LARGE, proto_decode(&d, buf_str(&body), &v));
}

/* Two bytes a value, and names that take more room in the tree than on the wire. */
TEST(trees_past_the_bound_are_refused)
{
    _cleanup_(buf_done_p) struct buf meta = BUF_INIT(BYTES_MAX), raw = BUF_INIT(BYTES_MAX),
                                     body = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    for (unsigned i = 0; i < 50000; i++)
        proto_bytes(&meta, 13, STR_LIT("\x38\x01"));
    proto_bytes(&raw, 1, buf_str(&meta));
    proto_body("v1", "ConfigMap", buf_str(&raw), &body);
    json_init(&d, body.len);
    ASSERT_ERR(ERR_TOO_LARGE, proto_decode(&d, buf_str(&body), &v));
    json_done(&d);
    json_init(&d, body.len * 4);
    ASSERT_OK(proto_decode(&d, buf_str(&body), &v));
    ASSERT_INT(50000, json_count(&d, json_path(&d, v, "metadata", "ownerReferences")));
}

/* Were each key looked up as it comes, these would take minutes. */
TEST(many_entries_are_no_burden)
{
    _cleanup_(buf_done_p) struct buf raw = BUF_INIT(8 << 20), body = BUF_INIT(8 << 20);
    _cleanup_(json_done_p) struct json d;
    json_ref v, data;

    for (unsigned i = 0; i < 200000; i++) {
        char entry[16];
        int n = snprintf(entry, sizeof entry, "\n\x06%06u\x12\x01%c", i % 150000, i < 150000 ? 'a' : 'b');
        proto_bytes(&raw, 2, (struct str){ entry, (size_t)n });
        proto_bytes(&raw, 1, STR_LIT("\x5a\x00")); /* and metadata, merged as often, with the label "" */
    }
    proto_body("v1", "ConfigMap", buf_str(&raw), &body);
    json_init(&d, 8 << 20);
    ASSERT_OK(proto_decode(&d, buf_str(&body), &v));
    data = json_get(&d, v, "data");
    ASSERT_INT(150000, json_count(&d, data));
    assert_true(json_is_string(&d, json_get(&d, data, "000000"), "b"));
    assert_true(json_is_string(&d, json_get(&d, data, "149999"), "a"));
    ASSERT_INT(1, json_count(&d, json_path(&d, v, "metadata", "labels")));
}

/* --- Kinds that are sent and never stored --- */

TEST(request_kinds_have_schemas)
{
    static const struct {
        const char *api_version, *kind;
        const struct schema *expected;
    } rows[] = {
        { "v1", "DeleteOptions", &delete_options_schema },
        { "any/thing", "DeleteOptions", &delete_options_schema },
        { "policy/v1", "Eviction", &eviction_schema },
        { "policy/v1beta1", "Eviction", &eviction_schema },
        { "v1", "Eviction", NULL },
        { "v1", "Binding", &binding_schema },
        { "authorization.k8s.io/v1", "SelfSubjectAccessReview", &self_access_review_schema },
        { "authorization.k8s.io/v1", "SubjectAccessReview", &access_review_schema },
        { "authorization.k8s.io/v1", "LocalSubjectAccessReview", &local_access_review_schema },
        { "authentication.k8s.io/v1", "TokenReview", &token_review_schema },
        { "authorization.k8s.io/v1", "SelfSubjectRulesReview", &rules_review_schema },
        { "authentication.k8s.io/v1", "SelfSubjectReview", &self_review_schema },
        { "authentication.k8s.io/v1beta1", "SelfSubjectReview", &self_review_schema },
        { "authentication.k8s.io/v1", "TokenRequest", &token_request_kind_schema },
        { "authorization.k8s.io/v1", "TokenRequest", NULL },
        { "v1", "ConfigMap", NULL },
        { "", "", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_ptr_equal(rows[i].expected,
                         request_kind_schema(str_of(rows[i].api_version), str_of(rows[i].kind)));
}

TEST(request_kinds_drop_the_status)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(4096), out = BUF_INIT(4096);
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    json_ref v;

    json_init(&d, BYTES_MAX);
    kind_quotes("{'spec':{'nonResourceAttributes':{'verb':'get','path':'/x'}},'status':{'allowed':false}}",
                &text);
    ASSERT_OK(json_parse(&d, buf_str(&text), &v, &err));
    ASSERT_OK(schema_normalize(&self_access_review_schema, &d, v, SCHEMA_DROP_UNKNOWN, &report, &err));
    ASSERT_INT(0, report.count);
    json_write(&d, v, &out);
    ASSERT_STR(kind_row("{'metadata':{},'spec':{'nonResourceAttributes':{'path':'/x','verb':'get'}}}"),
               buf_cstr(&out));
}

TEST_MAIN()
