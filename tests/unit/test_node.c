/* Node: defaults, taints, what may not change, the view. */
#include "tests/unit/test_prepare.h"

#include "api/node.h"

#define NODE(rest) "{'metadata':{'name':'n1'}" rest "}"
#define NO_INFO                                                                                     \
    "'daemonEndpoints':{'kubeletEndpoint':{'Port':0}},'nodeInfo':{'machineID':'','systemUUID':'',"  \
    "'bootID':'','kernelVersion':'','osImage':'','containerRuntimeVersion':'','kubeletVersion':''," \
    "'kubeProxyVersion':'','operatingSystem':'','architecture':''}"
#define TAINTS(list) NODE(",'spec':{'taints':[" list "]}")

TEST(node_defaults_and_canonical_form)
{
    ASSERT_STORED(KIND_NODE, NODE(",'spec':{},'status':{" NO_INFO "}"), NODE(""));
    ASSERT_STORED(KIND_NODE,
                  NODE(",'spec':{'podCIDR':'10.0.0.0/24','podCIDRs':['10.0.0.0/24'],'unschedulable':true},"
                       "'status':{'capacity':{'cpu':'2','memory':'1Gi'},"
                       "'allocatable':{'cpu':'2','memory':'1Gi'}," NO_INFO "}"),
                  NODE(",'status':{'capacity':{'memory':'1024Mi','cpu':2}},"
                       "'spec':{'unschedulable':true,'podCIDR':'10.0.0.0/24'}"));
    ASSERT_STORED(KIND_NODE,
                  NODE(",'spec':{'podCIDR':'10.0.0.0/24','podCIDRs':['10.0.0.0/24','fd00::/64']},"
                       "'status':{'capacity':{'cpu':'2'},'allocatable':{'cpu':'1'}," NO_INFO "}"),
                  NODE(",'spec':{'podCIDRs':['10.0.0.0/24','fd00::/64']},"
                       "'status':{'capacity':{'cpu':'2'},'allocatable':{'cpu':'1'}}"));
    ASSERT_STORED(
        KIND_NODE,
        NODE(",'spec':{},'status':{'capacity':{'cpu':'1m'},'allocatable':{'cpu':'1m'}," NO_INFO "}"),
        NODE(",'status':{'capacity':{'cpu':'1u'}}"));
    ASSERT_STORED(KIND_NODE, NODE(",'spec':{},'status':{'allocatable':{'cpu':'2m'}," NO_INFO "}"),
                  NODE(",'status':{'allocatable':{'cpu':'1500u'}}"));
    ASSERT_STORED(KIND_NODE,
                  NODE(",'spec':{'podCIDR':'10.1.0.0/24','podCIDRs':['10.1.0.0/24']},'status':{" NO_INFO "}"),
                  NODE(",'spec':{'podCIDR':'10.1.0.0/24','podCIDRs':['10.0.0.0/24']}"));
}

TEST(node_is_open)
{
    const char *text =
        NODE(",'spec':{'taints':[{'key':'k','effect':'NoSchedule','future':[1,null]}],"
             "'configSource':{'x':null}},'status':{'runtimeHandlers':[{'name':''}]},'more':{}");

    ASSERT_STORED(KIND_NODE,
                  NODE(",'spec':{'taints':[{'key':'k','effect':'NoSchedule','future':[1,null]}],"
                       "'configSource':{'x':null}},'status':{" NO_INFO ",'runtimeHandlers':[{'name':''}]},"
                       "'more':{}"),
                  text);
    ASSERT_STR("", kind_report(KIND_NODE, text));
    ASSERT_STR("unknown field \"metadata.foo\"", kind_report(KIND_NODE, "{'metadata':{'foo':1}}"));
    ASSERT_STR("duplicate field \"spec.taints\"",
               kind_report(KIND_NODE, NODE(",'spec':{'taints':[],'taints':[]}")));
}

TEST(node_wrong_types)
{
    ASSERT_STR("json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool",
               kind_text(KIND_NODE, NODE(",'spec':{'unschedulable':'yes'}")));
    ASSERT_STR("json: cannot unmarshal object into Go struct field NodeSpec.spec.taints of type []v1.Taint",
               kind_text(KIND_NODE, NODE(",'spec':{'taints':{}}")));
    ASSERT_STR(
        "json: cannot unmarshal number into Go struct field AttachedVolume.status.volumesAttached.name "
        "of type v1.UniqueVolumeName",
        kind_text(KIND_NODE, NODE(",'status':{'volumesAttached':[{'name':1}]}")));
    ASSERT_STR("quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
               kind_text(KIND_NODE, NODE(",'status':{'capacity':{'cpu':'many'}}")));
}

TEST(node_taints)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { TAINTS("{'key':'k','value':'v','effect':'NoSchedule'},{'key':'k','effect':'NoExecute'},"
                 "{'key':'a.io/j','effect':'PreferNoSchedule'}"),
          "" },
        { TAINTS("{'key':'k'}"), "metadata.taints[0].effect: Required value" },
        { TAINTS("{'key':'k','effect':'Sometimes'}"),
          "metadata.taints[0].effect: Unsupported value: \"Sometimes\": supported values: \"NoExecute\", "
          "\"NoSchedule\", \"PreferNoSchedule\"" },
        { TAINTS("{'key':'k','effect':'NoSchedule'},{'key':'j','effect':'NoSchedule'},"
                 "{'key':'k','value':'v','effect':'NoSchedule'}"),
          "metadata.taints[2]: Duplicate value: {\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}: "
          "taints must be unique by key and effect pair" },
        { TAINTS("{'key':'a/b/c','effect':'NoSchedule'}"),
          "metadata.taints[0].key: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric "
          "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
          "'MyName', "
          " or 'my.name',  or '123-abc', regex used for validation is "
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
          "'example.com/MyName')" },
        { TAINTS("{'key':'k','value':'-','effect':'NoSchedule'}"),
          "metadata.taints[0].value: Invalid value: \"-\": a valid label must be an empty string or consist "
          "of "
          "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
          "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
          "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_NODE, rows[i].errors, rows[i].text);
}

TEST(node_amounts_are_not_negative)
{
    ASSERT_CREATE(KIND_NODE,
                  "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0\n"
                  "status.allocatable.memory: Invalid value: \"-2\": must be greater than or equal to 0",
                  NODE(",'status':{'capacity':{'cpu':'-1'},'allocatable':{'memory':'-2'}}"));
}

TEST(node_fixed_fields)
{
    const char *bare = NODE(""), *set = NODE(",'spec':{'podCIDR':'10.0.0.0/24','providerID':'p://1'}");

    ASSERT_UPDATE(KIND_NODE, "", bare, set);
    ASSERT_UPDATE(KIND_NODE, "", set,
                  NODE(",'spec':{'podCIDR':'10.0.0.0/24','providerID':'p://1','unschedulable':true,'taints':"
                       "[{'key':'k','effect':'NoSchedule'}]}"));
    ASSERT_UPDATE(
        KIND_NODE,
        "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid\n"
        "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid",
        set, NODE(",'spec':{'podCIDR':'10.0.1.0/24'}"));
    ASSERT_UPDATE(KIND_NODE, "spec.externalID: Forbidden: may not be updated", bare,
                  NODE(",'spec':{'externalID':'x'}"));
    ASSERT_STATUS(KIND_NODE,
                  "status.addresses[1]: Duplicate value: {\"type\":\"Hostname\",\"address\":\"a\"}", bare,
                  NODE(",'status':{'addresses':[{'type':'Hostname','address':'a'},"
                       "{'address':'a','type':'Hostname'}]}"));
}

TEST(node_updates_keep_what_they_may_not_touch)
{
    const char *old = NODE(",'spec':{'providerID':'p'},'status':{'volumesInUse':['a']}");

    ASSERT_PREPARED(KIND_NODE, WRITE_MAIN, NODE(",'spec':{},'status':{" NO_INFO ",'volumesInUse':['a']}"),
                    old, NODE(",'status':{'volumesInUse':['b']}"));
    ASSERT_PREPARED(
        KIND_NODE, WRITE_STATUS,
        "{'metadata':{'name':'n1','labels':{'a':'b'}},'spec':{'providerID':'p'},'status':{" NO_INFO
        ",'volumesInUse':['b']}}",
        old,
        "{'metadata':{'name':'n1','labels':{'a':'b'}},'spec':{'providerID':'q'},"
        "'status':{'volumesInUse':['b']}}");
}

TEST(node_view)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_NODE,
        "{'metadata':{'name':'n1','annotations':{'" ANN_CONTROLLER_ATTACHES "':'true'}},"
        "'spec':{'providerID':'p://1','unschedulable':true,'taints':[{'key':'k','value':'v',"
        "'effect':'NoSchedule'},{'key':'" TAINT_OUT_OF_SERVICE "','effect':'NoExecute'},"
        "{'key':'s','effect':'Strange'}]},"
        "'status':{'capacity':{'cpu':'4'},'allocatable':{'attachable-volumes-csi-x':'39','cpu':'3500m',"
        "'memory':'1Gi','pods':'110'},"
        "'conditions':[{'type':'MemoryPressure','status':'False'},{'type':'Ready','status':'True',"
        "'reason':'KubeletReady','message':'m','lastTransitionTime':'2024-05-01T10:00:00Z'}],"
        "'addresses':[{'type':'InternalIP','address':'10.0.0.1'},{'type':'Hostname','address':'h'}],"
        "'nodeInfo':{'kubeletVersion':'v1','osImage':'os','kernelVersion':'6.1','operatingSystem':'linux',"
        "'containerRuntimeVersion':'c://1','architecture':'amd64'},"
        "'volumesInUse':['csi/a','csi/b'],'volumesAttached':[{'name':'csi/a','devicePath':''},"
        "{'name':'csi/b','devicePath':'/dev/b'}]}}");
    const struct node *n = node_of(o);
    const struct status_condition *ready = condition_get(&n->conditions, "Ready");

    ASSERT_STR("p://1", n->provider_id);
    assert_true(n->is_unschedulable);
    ASSERT_INT(3, n->taints.count);
    ASSERT_STR("k", n->taints.items[0].key);
    ASSERT_STR("v", n->taints.items[0].value);
    ASSERT_INT(TAINT_NO_SCHEDULE, n->taints.items[0].effect);
    ASSERT_INT(TAINT_NO_EXECUTE, n->taints.items[1].effect);
    ASSERT_INT(TAINT_EFFECT_UNKNOWN, n->taints.items[2].effect);
    assert_true(node_has_taint(n, TAINT_OUT_OF_SERVICE));
    assert_false(node_has_taint(n, TAINT_UNSCHEDULABLE));
    ASSERT_INT(4, quantity_value(amounts_get(&n->capacity, "cpu")));
    ASSERT_INT(39, quantity_value(amounts_get(&n->allocatable, "attachable-volumes-csi-x")));
    ASSERT_INT(110, quantity_value(amounts_get(&n->allocatable, "pods")));
    ASSERT_INT(INT64_C(1) << 30, quantity_value(amounts_get(&n->allocatable, "memory")));
    assert_null(amounts_get(&n->allocatable, "disk"));
    assert_true(node_is_ready(n));
    ASSERT_STR("KubeletReady", ready->reason);
    ASSERT_STR("m", ready->message);
    ASSERT_INT(1714557600, ready->changed.seconds);
    ASSERT_INT(CONDITION_FALSE, condition_status(&n->conditions, "MemoryPressure"));
    ASSERT_INT(CONDITION_UNKNOWN, condition_status(&n->conditions, "Other"));
    ASSERT_INT(2, n->volumes_in_use.count);
    ASSERT_STR("csi/b", n->volumes_in_use.items[1]);
    ASSERT_INT(2, n->volumes_attached_count);
    ASSERT_STR("/dev/b", node_attached_volume(n, "csi/b")->device_path);
    ASSERT_STR("", node_attached_volume(n, "csi/a")->device_path);
    assert_null(node_attached_volume(n, "csi/c"));
    ASSERT_INT(2, n->addresses_count);
    ASSERT_STR("10.0.0.1", node_address(n, "InternalIP"));
    assert_null(node_address(n, "ExternalIP"));
    ASSERT_STR("v1", n->system.kubelet_version);
    ASSERT_STR("os", n->system.os_image);
    ASSERT_STR("6.1", n->system.kernel_version);
    ASSERT_STR("c://1", n->system.container_runtime);
    ASSERT_STR("linux", n->system.operating_system);
    ASSERT_STR("amd64", n->system.architecture);
    ASSERT_STR("true", object_annotation(o, ANN_CONTROLLER_ATTACHES));
    ASSERT_STR("true", object_field(o, "spec.unschedulable"));
    assert_null(object_field(o, "metadata.namespace"));
}

TEST(node_view_of_nothing)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_NODE, NODE(""));
    const struct node *n = node_of(o);

    assert_false(node_is_ready(n));
    ASSERT_INT(0, n->taints.count);
    ASSERT_STR("", n->provider_id);
    ASSERT_STR("", n->system.os_image);
    assert_null(amounts_get(&n->allocatable, "cpu"));
    ASSERT_STR("false", object_field(o, "spec.unschedulable"));
    assert_true(kind_by_word(STR_LIT("no")) == &node_kind);
}

TEST(node_with_a_nul_in_a_name_is_refused)
{
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;

    json_init(&d, 1 << 20);
    ASSERT_ERR(ERR_BAD_REQUEST,
               object_decode(&node_kind,
                             STR_LIT("{\"metadata\":{\"name\":\"n\"},\"status\":{\"capacity\":"
                                     "{\"c\\u0000\":\"1\"}}}"),
                             &d, &o, &err));
    ASSERT_STR("status.capacity: a key must not contain a NUL character", err.msg);
}

TEST_MAIN()
