/* CSIDriver, CSINode, CSIStorageCapacity. */
#include "tests/unit/test_prepare.h"

#include "api/csi.h"

#define DRIVER(spec) "{'metadata':{'name':'d.io'},'spec':{" spec "}}"
#define NODE(drivers) "{'metadata':{'name':'n1'},'spec':{'drivers':[" drivers "]}}"
#define CAPACITY(rest) "{'metadata':{'name':'x','namespace':'ns'}" rest "}"

struct row {
    const char *text, *errors;
};

TEST(csi_driver_defaults)
{
    ASSERT_STORED(
        KIND_CSI_DRIVER,
        DRIVER("'attachRequired':true,'podInfoOnMount':false,'volumeLifecycleModes':['Persistent'],"
               "'storageCapacity':false,'fsGroupPolicy':'ReadWriteOnceWithFSType','requiresRepublish':false,"
               "'seLinuxMount':false"),
        "{'metadata':{'name':'d.io'}}");
    ASSERT_STORED(
        KIND_CSI_DRIVER,
        DRIVER("'attachRequired':false,'podInfoOnMount':true,'volumeLifecycleModes':['Ephemeral'],"
               "'storageCapacity':true,'fsGroupPolicy':'File','requiresRepublish':true,'seLinuxMount':true"),
        DRIVER("'seLinuxMount':true,'requiresRepublish':true,'fsGroupPolicy':'File','storageCapacity':true,"
               "'volumeLifecycleModes':['Ephemeral'],'podInfoOnMount':true,'attachRequired':false"));
}

#define SUBDOMAIN                                                                                         \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " \
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation "   \
    "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

TEST(csi_driver_rules)
{
    static const struct row rows[] = {
        { DRIVER(""), "" },
        { "{'metadata':{'name':'D.io'}}", "metadata.name: Invalid value: \"D.io\": " SUBDOMAIN },
        { "{'metadata':{'name':'a_b'}}", "metadata.name: Invalid value: \"a_b\": " SUBDOMAIN },
        { "{'metadata':{'name':'a234567890b234567890c234567890d234567890e234567890f2345678901234'}}", "" },
        { DRIVER("'fsGroupPolicy':'Some'"),
          "spec.fsGroupPolicy: Unsupported value: \"Some\": supported values: "
          "\"File\", \"None\", \"ReadWriteOnceWithFSType\"" },
        { DRIVER("'volumeLifecycleModes':['Persistent','Once']"),
          "spec.volumeLifecycleModes: Unsupported value: \"Once\": supported values: \"Ephemeral\", "
          "\"Persistent\"" },
        { DRIVER(
              "'tokenRequests':[{'audience':'a','expirationSeconds':600},{'audience':'','expirationSeconds':"
              "4294967296}]"),
          "" },
        { DRIVER("'tokenRequests':[{'audience':'a'},{'audience':'b'},{'audience':'a'}]"),
          "spec.tokenRequests[2].audience: Duplicate value: \"a\"" },
        { DRIVER("'tokenRequests':[{'audience':'a','expirationSeconds':599}]"),
          "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than "
          "10 minutes" },
        { DRIVER("'tokenRequests':[{'audience':'a','expirationSeconds':4294967297}]"),
          "spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not specify a duration "
          "larger than "
          "2^32 seconds" },
        { DRIVER("'nodeAllocatableUpdatePeriodSeconds':10"), "" },
        { DRIVER("'nodeAllocatableUpdatePeriodSeconds':9"),
          "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: "
          "must be greater than or equal to 10 seconds" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_CSI_DRIVER, rows[i].errors, rows[i].text);
}

#define TOKENS "'tokenRequests':[{'audience':'a'}]"
#define TOKENS_WARNING                                                                                     \
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent " \
    "possible logging of tokens in volume attributes"

TEST(csi_driver_tokens_in_secrets)
{
    ASSERT_CREATE(KIND_CSI_DRIVER, "", DRIVER(TOKENS ",'serviceAccountTokenInSecrets':true"));
    ASSERT_CREATE(KIND_CSI_DRIVER,
                  "spec.serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets is "
                  "set but no tokenRequests are specified",
                  DRIVER("'serviceAccountTokenInSecrets':false"));
    ASSERT_STR("", kind_warnings(KIND_CSI_DRIVER, NULL, DRIVER("")));
    ASSERT_STR(TOKENS_WARNING, kind_warnings(KIND_CSI_DRIVER, NULL, DRIVER(TOKENS)));
    ASSERT_STR("",
               kind_warnings(KIND_CSI_DRIVER, NULL, DRIVER(TOKENS ",'serviceAccountTokenInSecrets':false")));
    ASSERT_STR("",
               kind_warnings(KIND_CSI_DRIVER, DRIVER(TOKENS), DRIVER(TOKENS ",'requiresRepublish':true")));
    ASSERT_STR(TOKENS_WARNING, kind_warnings(KIND_CSI_DRIVER, DRIVER(""), DRIVER(TOKENS)));
}

/* A known field, of a feature that is off: no warning, and nothing stored. */
TEST(csi_driver_drops_what_is_gated)
{
    const char *stored;

    ASSERT_STR("", kind_report(KIND_CSI_DRIVER, DRIVER("'preventPodSchedulingIfMissing':true")));
    stored = kind_prepared(KIND_CSI_DRIVER, WRITE_MAIN, NULL, DRIVER("'preventPodSchedulingIfMissing':true"));
    assert_null(strstr(stored, "preventPodSchedulingIfMissing"));
    stored = kind_prepared(KIND_CSI_DRIVER, WRITE_MAIN, DRIVER(""),
                           DRIVER("'preventPodSchedulingIfMissing':true"));
    assert_null(strstr(stored, "preventPodSchedulingIfMissing"));
    assert_null(strstr(stored, "generation"));
}

TEST(csi_driver_fixed_fields)
{
    ASSERT_UPDATE(KIND_CSI_DRIVER, "", DRIVER(""), DRIVER("'podInfoOnMount':true,'fsGroupPolicy':'None'"));
    ASSERT_UPDATE(KIND_CSI_DRIVER,
                  "spec.attachedRequired: Invalid value: false: field is immutable\n"
                  "spec.volumeLifecycleModes: Invalid value: [\"Ephemeral\"]: field is immutable",
                  DRIVER(""), DRIVER("'attachRequired':false,'volumeLifecycleModes':['Ephemeral']"));
}

/* What prepare_update makes of metadata.generation. */
static int64_t generation_after(enum kind kind, const char *old, const char *text)
{
    _cleanup_(json_done_p) struct json d;
    json_ref before, after;
    int64_t generation = -1;

    json_init(&d, 1 << 20);
    ASSERT_OK(kind_read(kind, old, &d, &before, NULL));
    ASSERT_OK(kind_read(kind, text, &d, &after, NULL));
    kind_info(kind)->prepare_update(&d, after, before, WRITE_MAIN, (struct timestamp){ 0 });
    (void)json_int64(&d, json_path(&d, after, "metadata", "generation"), &generation);
    return generation;
}

TEST(csi_driver_counts_changes_of_its_spec)
{
    ASSERT_INT(-1, generation_after(KIND_CSI_DRIVER, DRIVER(""), DRIVER("")));
    ASSERT_INT(1, generation_after(KIND_CSI_DRIVER, DRIVER(""), DRIVER("'podInfoOnMount':true")));
    ASSERT_INT(8, generation_after(KIND_CSI_DRIVER, "{'metadata':{'name':'d.io','generation':7}}",
                                   DRIVER("'podInfoOnMount':true")));
    ASSERT_INT(7,
               generation_after(KIND_CSI_DRIVER, "{'metadata':{'name':'d.io','generation':7}}", DRIVER("")));
}

TEST(csi_driver_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_CSI_DRIVER,
                    DRIVER("'attachRequired':false,'podInfoOnMount':true,'storageCapacity':true,"
                           "'fsGroupPolicy':'None','volumeLifecycleModes':['Ephemeral'],"
                           "'requiresRepublish':true,'seLinuxMount':true,"
                           "'tokenRequests':[{'audience':'a','expirationSeconds':700},{'audience':''}]"));
    const struct csi_driver *c = CONTAINER_OF(o, struct csi_driver, obj);

    assert_false(c->attach_required);
    assert_true(c->pod_info_on_mount && c->storage_capacity && c->requires_republish && c->selinux_mount);
    assert_true(c->has_ephemeral && !c->has_persistent);
    ASSERT_INT(FS_GROUP_NONE, c->fs_group_policy);
    ASSERT_INT(2, c->token_requests_count);
    ASSERT_STR("a", c->token_requests[0].audience);
    ASSERT_INT(700, c->token_requests[0].expiration_seconds);
    ASSERT_INT(0, c->token_requests[1].expiration_seconds);

    _cleanup_(object_unref_p) struct object *bare = kind_object(KIND_CSI_DRIVER, DRIVER(""));
    c = CONTAINER_OF(bare, struct csi_driver, obj);
    assert_true(c->attach_required && c->has_persistent && !c->has_ephemeral);
}

TEST(csi_node_rules)
{
    static const struct row rows[] = {
        { NODE(""), "" },
        { NODE("{'name':'a.b','nodeID':'x','topologyKeys':['k','e.io/z'],'allocatable':{'count':0}}"), "" },
        { NODE("{'name':'a.b','nodeID':''}"), "spec.drivers[0].nodeID: Required value" },
        { NODE("{'name':'a.b','nodeID':'x'},{'name':'a.b','nodeID':'y'}"),
          "spec.drivers[1].name: Duplicate value: \"a.b\"" },
        { NODE("{'name':'a.b','nodeID':'x','allocatable':{'count':-1}}"),
          "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0" },
        { NODE("{'name':'a.b','nodeID':'x','topologyKeys':['k','k']}"),
          "spec.drivers[0]: Duplicate value: \"k\"" },
        { NODE("{'name':'a.b','nodeID':'x','topologyKeys':['k-']}"),
          "spec.drivers[0]: Invalid value: \"k-\": name part must consist of alphanumeric characters, '-', "
          "'_' "
          "or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
          "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_CSI_NODE, rows[i].errors, rows[i].text);
    assert_non_null(strstr(
        kind_errors(KIND_CSI_NODE, WRITE_MAIN, NULL, NODE("{'name':'a.b','nodeID':'x','topologyKeys':['']}")),
        "spec.drivers[0]: Required value\n"));
}

TEST(csi_node_driver_needs_a_name)
{
    ASSERT_CREATE(KIND_CSI_NODE, "spec.drivers[0].name: Required value", NODE("{'name':'','nodeID':'x'}"));
}

TEST(csi_node_id_length)
{
    char id[300], text[600];

    for (size_t len = 256; len <= 257; len++) {
        memset(id, 'i', len);
        id[len] = '\0';
        snprintf(text, sizeof text, NODE("{'name':'a.b','nodeID':'%s'}"), id);
        const char *errors = kind_errors(KIND_CSI_NODE, WRITE_MAIN, NULL, text);
        ASSERT_INT(len == 257, strstr(errors, "must be 256 characters or less") != NULL);
    }
}

TEST(csi_node_entries_come_and_go_but_do_not_change)
{
    const char *a = NODE("{'name':'a','nodeID':'x'}");

    ASSERT_UPDATE(KIND_CSI_NODE, "", a, NODE("{'name':'b','nodeID':'y'},{'name':'a','nodeID':'x'}"));
    ASSERT_UPDATE(KIND_CSI_NODE, "", a, NODE(""));
    ASSERT_UPDATE(KIND_CSI_NODE,
                  "spec.drivers: Invalid value: [{\"name\":\"a\",\"nodeID\":\"y\"}]: field is immutable", a,
                  NODE("{'name':'a','nodeID':'y'}"));
}

TEST(csi_node_view)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_CSI_NODE, NODE("{'name':'a','nodeID':'x','topologyKeys':['k'],'allocatable':{'count':16}},"
                            "{'name':'b','nodeID':'y'}"));
    const struct csi_node *n = CONTAINER_OF(o, struct csi_node, obj);

    ASSERT_INT(2, n->drivers_count);
    ASSERT_INT(16, csi_node_driver(n, "a")->count_max);
    ASSERT_STR("k", csi_node_driver(n, "a")->topology_keys.items[0]);
    ASSERT_INT(-1, csi_node_driver(n, "b")->count_max);
    ASSERT_STR("y", csi_node_driver(n, "b")->node_id);
    assert_null(csi_node_driver(n, "c"));
}

TEST(csi_capacity_rules)
{
    static const struct row rows[] = {
        { CAPACITY(",'storageClassName':'fast','capacity':'1Gi','maximumVolumeSize':'0','nodeTopology':{}"),
          "" },
        { CAPACITY(",'storageClassName':'fast','capacity':'-1'"),
          "capacity: Invalid value: \"-1\": must be greater than or equal to 0" },
        { CAPACITY(",'storageClassName':'fast','maximumVolumeSize':-5"),
          "maximumVolumeSize: Invalid value: \"-5\": must be greater than or equal to 0" },
        { CAPACITY(
              ",'storageClassName':'fast','nodeTopology':{'matchExpressions':[{'key':'z','operator':'In'}]}"),
          "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is "
          "'In' or 'NotIn'" },
        { CAPACITY(",'storageClassName':'fast','nodeTopology':{'matchExpressions':[{'key':'z','operator':'Gt'"
                   ",'values':"
                   "['1']}]}"),
          "nodeTopology.matchExpressions[0].operator: Invalid value: \"Gt\": not a valid selector operator" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_CSI_CAPACITY, rows[i].errors, rows[i].text);
    assert_non_null(strstr(kind_errors(KIND_CSI_CAPACITY, WRITE_MAIN, NULL, CAPACITY("")),
                           "storageClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain"));
}

TEST(csi_capacity_fixed_fields)
{
    ASSERT_UPDATE(KIND_CSI_CAPACITY, "", CAPACITY(",'storageClassName':'a','capacity':'1Gi'"),
                  CAPACITY(",'storageClassName':'a','capacity':'2Gi'"));
    ASSERT_UPDATE(KIND_CSI_CAPACITY,
                  "nodeTopology: Invalid value: {}: field is immutable\n"
                  "storageClassName: Invalid value: \"b\": field is immutable",
                  CAPACITY(",'storageClassName':'a'"), CAPACITY(",'storageClassName':'b','nodeTopology':{}"));
}

TEST(csi_capacity_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_CSI_CAPACITY, CAPACITY(",'storageClassName':'fast','capacity':'2Gi'"));
    const struct csi_capacity *c = CONTAINER_OF(o, struct csi_capacity, obj);

    ASSERT_STR("fast", c->class_name);
    assert_true(c->has_capacity && !c->has_volume_max);
    ASSERT_INT(INT64_C(2) << 30, quantity_value(&c->capacity));
}

/* Long lists of drivers, of which the last one changed. Looked up one by one they would take minutes. */
TEST(csi_node_with_many_drivers)
{
    _cleanup_(buf_done_p) struct buf old = BUF_INIT(16 << 20), now = BUF_INIT(16 << 20);

    buf_add_cstr(&old, "{'metadata':{'name':'n'},'spec':{'drivers':[");
    for (unsigned i = 0; i < 50000; i++)
        buf_addf(&old, "{'name':'d%u','nodeID':'n'},", i);
    buf_add(&now, old.data, old.len);
    buf_add_cstr(&old, "{'name':'last','nodeID':'n'}]}}");
    buf_add_cstr(&now, "{'name':'last','nodeID':'m'}]}}");
    assert_true(!old.failed && !now.failed);
    ASSERT_UPDATE(KIND_CSI_NODE, "", buf_cstr(&old), buf_cstr(&old));
    assert_non_null(
        strstr(kind_errors(KIND_CSI_NODE, WRITE_MAIN, buf_cstr(&old), buf_cstr(&now)), "field is immutable"));
}

TEST_MAIN()
