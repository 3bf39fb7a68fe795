/* metadata.managedFields after plain writes. */
#include "tests/unit/test_managed.h"

#define VOLUME                                                                                        \
    "{'metadata':{'name':'v','labels':{'a':'1'}},'spec':{'capacity':{'storage':'1Gi'},'accessModes':" \
    "['ReadWriteOnce'],'nfs':{'server':'s','path':'/p'}}}"
#define VOLUME_FIELDS                                                                                  \
    "{'f:metadata':{'f:labels':{'.':{},'f:a':{}}},'f:spec':{'f:accessModes':{},'f:capacity':{'.':{},"  \
    "'f:storage':{}},'f:nfs':{'.':{},'f:path':{},'f:server':{}},'f:persistentVolumeReclaimPolicy':{}," \
    "'f:volumeMode':{}}}"

/* --- Create --- */

struct create_row {
    enum kind kind;
    const char *body, *want;
};

/* What every object of a kind has is nobody's; what the creator sends, and what it defaults to, is its own.
 */
static const struct create_row create_rows[] = {
    { KIND_VOLUME, VOLUME, "m Update 1 " VOLUME_FIELDS },
    { KIND_CLAIM,
      "{'metadata':{'name':'c','namespace':'n'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'"
      "requests':"
      "{'storage':'1Gi'}},'selector':{'matchLabels':{'a':'b'}},'dataSource':{'kind':'PersistentVolumeClaim',"
      "'name':'x'},'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'x'}}}",
      "m Update 1 {'f:spec':{'f:accessModes':{},'f:dataSource':{},'f:dataSourceRef':{'.':{},'f:kind':{},"
      "'f:name':{}},'f:resources':{'f:requests':{'.':{},'f:storage':{}}},'f:selector':{},'f:volumeMode':{}}"
      "}" },
    { KIND_CLASS,
      "{'metadata':{'name':'c'},'provisioner':'p/q','parameters':{'x':'y'},'mountOptions':['ro'],"
      "'allowedTopologies':[{'matchLabelExpressions':[{'key':'k','values':['v']}]}]}",
      "m Update 1 {'f:allowedTopologies':{},'f:mountOptions':{},'f:parameters':{'.':{},'f:x':{}},"
      "'f:provisioner':{},'f:reclaimPolicy':{},'f:volumeBindingMode':{}}" },
    { KIND_VOLUME,
      "{'metadata':{'name':'v','finalizers':['b/c','a/"
      "b'],'ownerReferences':[{'apiVersion':'v1','kind':'Node',"
      "'name':'n','uid':'u-1'}]},'spec':{'csi':{'driver':'d','volumeHandle':'h','nodeStageSecretRef':"
      "{'name':'s','namespace':'n'}},'claimRef':{'name':'c','namespace':'n'},'nodeAffinity':{'required':"
      "{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':'Exists'}]}]}}}}",
      "m Update 1 {'f:metadata':{'f:finalizers':{'.':{},'v:\\'a/b\\'':{},'v:\\'b/c\\'':{}},"
      "'f:ownerReferences':{'.':{},'k:{\\'uid\\':\\'u-1\\'}':{}}},'f:spec':{'f:claimRef':{'.':{},'f:name':{},"
      "'f:namespace':{}},'f:csi':{'.':{},'f:driver':{},'f:nodeStageSecretRef':{},'f:volumeHandle':{}},"
      "'f:nodeAffinity':{'.':{},'f:required':{}},'f:persistentVolumeReclaimPolicy':{},'f:volumeMode':{}}}" },
    { KIND_CSI_DRIVER,
      "{'metadata':{'name':'d'},'spec':{'volumeLifecycleModes':['Persistent','Ephemeral'],"
      "'tokenRequests':[{'audience':'a'}]}}",
      "m Update 1 {'f:spec':{'f:attachRequired':{},'f:fsGroupPolicy':{},'f:podInfoOnMount':{},"
      "'f:requiresRepublish':{},'f:seLinuxMount':{},'f:storageCapacity':{},'f:tokenRequests':{},"
      "'f:volumeLifecycleModes':{'.':{},'v:\\'Ephemeral\\'':{},'v:\\'Persistent\\'':{}}}}" },
    { KIND_CSI_NODE,
      "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'d','nodeID':'i','topologyKeys':['k']}]}}",
      "m Update 1 {'f:spec':{'f:drivers':{'k:{\\'name\\':\\'d\\'}':{'.':{},'f:name':{},'f:nodeID':{},"
      "'f:topologyKeys':{}}}}}" },
    { KIND_CONFIG_MAP, "{'metadata':{'name':'c','namespace':'n'},'data':{'b':'','a':'x'}}",
      "m Update 1 {'f:data':{'.':{},'f:a':{},'f:b':{}}}" },
    { KIND_CONFIG_MAP, "{'metadata':{'name':'c','namespace':'n'}}", "" },
    { KIND_CONFIG_MAP, "{'metadata':{'name':'c','generateName':'c-','annotations':{'':'x','.':'y'}}}",
      "m Update 1 {'f:metadata':{'f:annotations':{'.':{},'f:':{},'f:.':{}},'f:generateName':{}}}" },
    { KIND_NAMESPACE, "{'metadata':{'name':'n'},'status':{'phase':'Active'}}", /* finalizers come later */
      "m Update 1 {'f:metadata':{'f:labels':{'.':{},'f:kubernetes.io/metadata.name':{}}}}" },
    /* a custom resource is compared with nothing at all */
    { KIND_SNAPSHOT,
      "{'metadata':{'name':'s','namespace':'n','labels':{'a':'b'}},'spec':{'source':"
      "{'persistentVolumeClaimName':'c'}}}",
      "m Update 1 {'f:metadata':{'f:labels':{'.':{},'f:a':{}}},'f:spec':{'.':{},'f:source':{'.':{},"
      "'f:persistentVolumeClaimName':{}}}}" },
    { KIND_SNAPSHOT_CONTENT,
      "{'metadata':{'name':'s'},'spec':{'driver':'d','deletionPolicy':'Retain','source':{'snapshotHandle':'h'"
      "},"
      "'volumeSnapshotRef':{'name':'a','namespace':'b'}}}",
      "m Update 1 {'f:spec':{'.':{},'f:deletionPolicy':{},'f:driver':{},'f:source':{'.':{},"
      "'f:snapshotHandle':{}},'f:volumeSnapshotRef':{}}}" },
    { KIND_EVENT,
      "{'metadata':{'name':'e','namespace':'n'},'involvedObject':{'kind':'Pod','name':'p'},'reason':'r',"
      "'source':{'component':'c'},'type':'Normal'}",
      "m Update 1 {'f:involvedObject':{},'f:reason':{},'f:source':{'f:component':{}},'f:type':{}}" },
};

TEST(creator_owns_what_it_sends_and_its_defaults)
{
    for (size_t i = 0; i < ARRAY_LEN(create_rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new(create_rows[i].kind);
        world_put(w, "m", "", create_rows[i].body);
        ASSERT_OWNERS(w, create_rows[i].want);
    }
}

TEST(parts_of_pods)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_POD);

    world_put(
        w, "m", "",
        "{'metadata':{'name':'p','namespace':'n'},'spec':{'nodeSelector':{'a':'b'},'imagePullSecrets':"
        "[{'name':'s'}],'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'t','whenUnsatisfiable':"
        "'DoNotSchedule','labelSelector':{'matchLabels':{'a':'b'}}}],'containers':[{'name':'c','image':"
        "'i:1','ports':[{'containerPort':80}],'resources':{'requests':{'cpu':'1'}},'env':[{'name':'E',"
        "'value':'1'}],'args':['x'],'livenessProbe':{'exec':{'command':['true']}}}],'volumes':[{'name':'v',"
        "'secret':{'secretName':'s','items':[{'key':'k','path':'p'}]}}]}}");
    ASSERT_OWNERS(
        w,
        "m Update 1 {'f:spec':{'f:containers':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:args':{},'f:env':{'.':{},"
        "'k:{\\'name\\':\\'E\\'}':{'.':{},'f:name':{},'f:value':{}}},'f:image':{},'f:imagePullPolicy':{},"
        "'f:livenessProbe':{'.':{},'f:exec':{'.':{},'f:command':{}}},'f:name':{},'f:ports':{'.':{},"
        "'k:{\\'containerPort\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:containerPort':{},"
        "'f:protocol':{}}},'f:resources':{'.':{},'f:requests':{'.':{},'f:cpu':{}}},"
        "'f:terminationMessagePath':{},'f:terminationMessagePolicy':{}}},'f:dnsPolicy':{},"
        "'f:enableServiceLinks':{},'f:imagePullSecrets':{'.':{},'k:{\\'name\\':\\'s\\'}':{}},"
        "'f:nodeSelector':{},'f:restartPolicy':{},'f:schedulerName':{},'f:securityContext':{},"
        "'f:terminationGracePeriodSeconds':{},'f:topologySpreadConstraints':{'.':{},'k:{\\'topologyKey\\':"
        "\\'t\\',\\'whenUnsatisfiable\\':\\'DoNotSchedule\\'}':{'.':{},'f:labelSelector':{},'f:maxSkew':{},"
        "'f:topologyKey':{},'f:whenUnsatisfiable':{}}},'f:volumes':{'.':{},'k:{\\'name\\':\\'v\\'}':{'.':{},"
        "'f:name':{},'f:secret':{'.':{},'f:defaultMode':{},'f:items':{},'f:secretName':{}}}}}}");
}

/* --- Updates --- */

TEST(a_change_takes_the_field)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    world_put(w, "a", "", "{'metadata':{'name':'c','labels':{'x':'1'}},'data':{'k':'1','l':'1'}}");
    world_patch(w, "b", "{'data':{'k':'2','n':'1'}}");
    ASSERT_OWNERS(w, "a Update 1 {'f:data':{'.':{},'f:l':{}},'f:metadata':{'f:labels':{'.':{},'f:x':{}}}}\n"
                     "b Update 2 {'f:data':{'f:k':{},'f:n':{}}}");
    /* a value that goes has no owner, a map that goes with it neither */
    world_patch(w, "c", "{'data':{'n':null},'metadata':{'labels':null}}");
    ASSERT_OWNERS(w, "a Update 1 {'f:data':{'.':{},'f:l':{}}}\nb Update 2 {'f:data':{'f:k':{}}}");
    /* and who owns nothing any more is not listed */
    world_patch(w, "c", "{'data':{'k':'3','l':'3'}}");
    ASSERT_OWNERS(w, "a Update 1 {'f:data':{}}\nc Update 4 {'f:data':{'f:k':{},'f:l':{}}}");
    world_patch(w, "c", "{'data':null}");
    ASSERT_OWNERS(w, "");
    ASSERT_VALUE(w, "metadata.managedFields", "");
}

TEST(a_manager_gathers_fields)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    world_put(w, "a", "", "{'metadata':{'name':'c'},'data':{'m':'1'}}");
    world_patch(w, "a", "{'data':{'b':'1','z':'1'},'metadata':{'labels':{'l':'1'}}}");
    ASSERT_OWNERS(w,
                  "a Update 2 {'f:data':{'.':{},'f:b':{},'f:m':{},'f:z':{}},'f:metadata':{'f:labels':{'.':{},"
                  "'f:l':{}}}}");
    world_patch(w, "a", "{'data':{'b':'2'}}"); /* the same set, and a change all the same */
    ASSERT_OWNERS(w,
                  "a Update 3 {'f:data':{'.':{},'f:b':{},'f:m':{},'f:z':{}},'f:metadata':{'f:labels':{'.':{},"
                  "'f:l':{}}}}");
    world_patch(w, "b", "{'data':{'b':null}}"); /* nothing gained, so b is not listed */
    ASSERT_OWNERS(w, "a Update 3 {'f:data':{'.':{},'f:m':{},'f:z':{}},'f:metadata':{'f:labels':{'.':{},"
                     "'f:l':{}}}}");
}

TEST(no_change_changes_no_entry)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);
    _cleanup_(freep) char *before = NULL;

    world_put(w, "a", "", VOLUME);
    before = strdup(buf_cstr(&w->text));
    world_patch(w, "b", "{'spec':{'capacity':{'storage':'1024Mi'}}}");
    world_put(w, "b", "",
              "{'metadata':{'name':'v','labels':{'a':'1'}},'spec':{'nfs':{'path':'/p','server':'s'},"
              "'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'volumeMode':"
              "'Filesystem'},'status':{'phase':'Failed'}}");
    ASSERT_STR(before, buf_cstr(&w->text));
}

TEST(lists_by_key_and_sets)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CSI_NODE);

    world_put(
        w, "a", "",
        "{'metadata':{'name':'n','finalizers':['x/a','x/b']},'spec':{'drivers':[{'name':'d','nodeID':'1'},"
        "{'name':'e','nodeID':'1'}]}}");
    world_put(
        w, "b", "", /* another order is no change */
        "{'metadata':{'name':'n','finalizers':['x/c','x/b']},'spec':{'drivers':[{'name':'f','nodeID':'1'},"
        "{'name':'e','nodeID':'2'}]}}");
    ASSERT_OWNERS(w,
                  "a Update 1 {'f:metadata':{'f:finalizers':{'.':{},'v:\\'x/b\\'':{}}},'f:spec':{'f:drivers':"
                  "{'k:{\\'name\\':\\'e\\'}':{'.':{},'f:name':{}}}}}\n"
                  "b Update 2 {'f:metadata':{'f:finalizers':{'v:\\'x/c\\'':{}}},'f:spec':{'f:drivers':"
                  "{'k:{\\'name\\':\\'e\\'}':{'f:nodeID':{}},'k:{\\'name\\':\\'f\\'}':{'.':{},'f:name':{},"
                  "'f:nodeID':{}}}}}");
}

/* Two addresses of one type: the first counts. Items without a key count for nobody. */
TEST(twins_and_nameless_items)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_NODE);

    world_put(w, "a", "", "{'metadata':{'name':'n'}}");
    world_put(w, "k", "status",
              "{'metadata':{'name':'n'},'status':{'addresses':[{'type':'InternalIP','address':'1'},{'type':"
              "'InternalIP','address':'2'}]}}");
    ASSERT_OWNERS(w,
                  "k Update/status 2 {'f:status':{'f:addresses':{'.':{},'k:{\\'type\\':\\'InternalIP\\'}':{"
                  "'.':{},'f:address':{},'f:type':{}}}}}");
}

TEST(status_has_owners_of_its_own)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);

    world_put(w, "a", "", VOLUME);
    /* what the server sets besides is nobody's */
    world_patch_as(w, PATCH_MERGE, "b", "status",
                   "{'status':{'phase':'Bound'},'spec':{'volumeMode':'Block'}}");
    ASSERT_OWNERS(w, "a Update 1 " VOLUME_FIELDS "\nb Update/status 2 {'f:status':{'f:phase':{}}}");
    world_patch(w, "b",
                "{'status':{'phase':'Failed'},'spec':{'volumeMode':'Filesystem','storageClassName':'s'}}");
    ASSERT_OWNERS(w, "a Update 1 " VOLUME_FIELDS "\nb Update/status 2 {'f:status':{'f:phase':{}}}\n"
                     "b Update 3 {'f:spec':{'f:storageClassName':{}}}");
    /* a status write may change labels, and own them */
    world_patch_as(w, PATCH_MERGE, "b", "status",
                   "{'metadata':{'labels':{'z':'1'}},'status':{'phase':'Released'}}");
    ASSERT_OWNERS(w, "a Update 1 " VOLUME_FIELDS "\nb Update 3 {'f:spec':{'f:storageClassName':{}}}\n"
                     "b Update/status 4 {'f:metadata':{'f:labels':{'f:z':{}}},'f:status':{'f:phase':{}}}");
}

TEST(status_of_kinds_that_keep_their_metadata)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_ATTACHMENT);

    world_put(w, "a", "",
              "{'metadata':{'name':'v'},'spec':{'attacher':'d','nodeName':'n','source':"
              "{'persistentVolumeName':'p'}}}");
    world_patch_as(w, PATCH_MERGE, "b", "status",
                   "{'metadata':{'labels':{'x':'y'}},'status':{'attached':true}}");
    ASSERT_VALUE(w, "metadata.labels", "");
    ASSERT_OWNERS(w, "a Update 1 {'f:spec':{'f:attacher':{},'f:nodeName':{},'f:source':{"
                     "'f:persistentVolumeName':{}}}}\nb Update/status 2 {'f:status':{'f:attached':{}}}");
}

/* --- What clients send --- */

#define MAP "{'metadata':{'name':'c'%s},'data':{'k':'1'}}"
#define MAP_FIELDS "{'f:data':{'.':{},'f:k':{}}}"

struct sent_row {
    const char *sent; /* managedFields of a PUT */
    const char *want;
};

static const struct sent_row sent_rows[] = {
    { "[]", "" },
    { "[{}]", "" },
    { "null", "a Update 1 " MAP_FIELDS },
    { "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:data':{"
      "'f:k':{}}}}]",
      "x Apply -1 {'f:data':{'f:k':{}}}" },
    /* sorted, and brought into form */
    { "[{'manager':'x','operation':'Update','apiVersion':'v1','time':'1970-01-01T00:00:09Z','fieldsType':"
      "'FieldsV1','fieldsV1':{'f:z':{'.':{}},'.':{},'f:a':{'v:1':{},'.':{},'k:{\\'b\\':true,\\'a\\':\\'"
      "\\\\\\'\\'"
      "}':{}}}},{'manager':'w','operation':'Update','apiVersion':'v1','time':'1970-01-01T00:00:08Z',"
      "'fieldsType':'FieldsV1','fieldsV1':{'f:y':{'i:0':{}}}},{'manager':'w','operation':'Apply','apiVersion'"
      ":"
      "'v1','fieldsType':'FieldsV1','fieldsV1':{'f:y':{}}}]",
      "w Apply -1 {'f:y':{}}\nw Update 8 {'f:y':{'i:0':{}}}\nx Update 9 {'f:a':{'.':{},'k:{\\'b\\':true,"
      "\\'a\\':\\'\\\\\\'\\'}':{},'v:1':{}},'f:z':{}}" },
    /* of entries for one manager the last counts; those of other versions and without fields go */
    { "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:a':{}}},"
      "{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:b':{}}},"
      "{'manager':'y','operation':'Apply','apiVersion':'v2','fieldsType':'FieldsV1','fieldsV1':{'f:b':{}}},"
      "{'manager':'z','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{}}]",
      "x Apply -1 {'f:b':{}}" },
};

#define ENTRY(fields) \
    "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':" fields "}]"

/* What cannot be read leaves the owners as they were. */
static const char *const unreadable[] = {
    "[{'manager':'x','operation':'Own','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:a':{}}}]",
    "[{'manager':'x','operation':'Apply','fieldsType':'FieldsV1','fieldsV1':{'f:a':{}}}]",
    "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsV1':{'f:a':{}}}]",
    "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV2','fieldsV1':{'f:a':{}}}]",
    "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1'}]",
    "[{},{}]",
    ENTRY("[]"),
    ENTRY("1"),
    ENTRY("{'f:a':1}"),
    ENTRY("{'f:a':{'f:b':[]}}"),
    ENTRY("{'a':{}}"),
    ENTRY("{'':{}}"),
    ENTRY("{'f':{}}"),
    ENTRY("{'x:a':{}}"),
    ENTRY("{'k:':{}}"),
    ENTRY("{'k:{}':{}}"),
    ENTRY("{'k:{a:1}':{}}"),
    ENTRY("{'k:{\\'a\\':1,}':{}}"),
    ENTRY("{'k:{\\'a\\':1}x':{}}"),
    ENTRY("{'k:{\\'a\\':{}}':{}}"),
    ENTRY("{'k:{\\'a':{}}"),
    ENTRY("{'v:':{}}"),
    ENTRY("{'v:\\'a':{}}"),
    ENTRY("{'v:\\'a\\'\\'':{}}"),
    ENTRY("{'v:\\'a\\\\':{}}"),
    ENTRY("{'v:\\'\\n\\'':{}}"),
    ENTRY("{'v:[]':{}}"),
    ENTRY("{'i:x':{}}"),
};

static void put_map(struct world *w, const char *manager, const char *sent)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX), list = BUF_INIT(BYTES_MAX);

    buf_addf(&list, ",'managedFields':%s", sent);
    buf_addf(&body, MAP, buf_cstr(&list));
    assert_false(body.failed);
    world_put(w, manager, "", buf_cstr(&body));
}

TEST(clients_may_send_managed_fields)
{
    for (size_t i = 0; i < ARRAY_LEN(sent_rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
        put_map(w, "a", "null");
        put_map(w, "b", sent_rows[i].sent);
        ASSERT_OWNERS(w, sent_rows[i].want);
    }
    for (size_t i = 0; i < ARRAY_LEN(unreadable); i++) {
        _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
        put_map(w, "a", "null");
        put_map(w, "b", unreadable[i]);
        ASSERT_OWNERS(w, "a Update 1 " MAP_FIELDS);
    }
}

TEST(managed_fields_sent_with_other_changes)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    world_put(w, "a", "", "{'metadata':{'name':'c'},'data':{'k':'0'}}");
    put_map(w, "b", "[{}]");
    ASSERT_OWNERS(w, "b Update 2 {'f:data':{'f:k':{}}}");
    put_map(w, "b", ENTRY("{'f:data':{'f:k':{}}}"));
    world_put(w, "c", "", "{'metadata':{'name':'c'},'data':{'k':'2'}}");
    ASSERT_OWNERS(w, "c Update 4 {'f:data':{'f:k':{}}}");
    put_map(w, "d", ENTRY("{'f:data':{'f:k':{}}}")); /* x loses what d changes in the same write */
    ASSERT_OWNERS(w, "d Update 5 {'f:data':{'f:k':{}}}");
    world_patch_as(
        w, PATCH_JSON, "d", "",
        "[{'op':'replace','path':'/metadata/managedFields','value':" ENTRY("{'f:data':{'f:k':{}}}") "}]");
    ASSERT_OWNERS(w, "x Apply -1 {'f:data':{'f:k':{}}}");
}

TEST(status_writes_send_no_managed_fields)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);

    world_put(w, "a", "", VOLUME);
    world_patch_as(w, PATCH_MERGE, "b", "status",
                   "{'metadata':{'managedFields':[]},'status':{'phase':'Bound'}}");
    ASSERT_OWNERS(w, "a Update 1 " VOLUME_FIELDS "\nb Update/status 2 {'f:status':{'f:phase':{}}}");
}

TEST(nesting_and_numbers_have_ends)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
    _cleanup_(buf_done_p) struct buf deep = BUF_INIT(BYTES_MAX), many = BUF_INIT(BYTES_MAX);

    put_map(w, "a", "null");
    buf_add_cstr(&deep, "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1',"
                        "'fieldsV1':");
    for (int i = 0; i < 5000; i++)
        buf_add_cstr(&deep, "{'f:a':");
    buf_add_cstr(&deep, "{}");
    for (int i = 0; i < 5000; i++)
        buf_add_cstr(&deep, "}");
    buf_add_cstr(&deep, "}]");
    put_map(w, "b", buf_cstr(&deep));
    ASSERT_OWNERS(w, "a Update 1 " MAP_FIELDS);

    buf_add_cstr(&many, "[");
    for (int i = 0; i <= MANAGED_APPLIERS_MAX; i++)
        buf_addf(&many,
                 "%s{'manager':'%d','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1',"
                 "'fieldsV1':{'f:a':{}}}",
                 i ? "," : "", i);
    buf_add_cstr(&many, "]");
    put_map(w, "b", buf_cstr(&many));
    ASSERT_OWNERS(w, "a Update 1 " MAP_FIELDS);
}

/* What nests deeper than sets may is owned whole. */
TEST(deep_values_are_owned_whole)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_POD);
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);

    buf_add_cstr(&body, "{'metadata':{'name':'p'},'x':");
    for (int i = 0; i < 200; i++)
        buf_add_cstr(&body, "{'x':");
    buf_add_cstr(&body, "1");
    for (int i = 0; i < 201; i++)
        buf_add_cstr(&body, "}");
    world_put(w, "a", "", buf_cstr(&body));
    (void)world_owners(w);
    ASSERT_INT(1, strstr(buf_cstr(&w->shown), "'f:x':{'.':{},'f:x':{'.':{},'f:x':{}}}") != NULL);
    world_patch(w, "b", "{'metadata':{'labels':{'l':'1'}}}"); /* and can be read again */
    ASSERT_INT(1, strstr(world_owners(w), "a Update 1 {") == buf_cstr(&w->shown));
}

/* --- Many managers --- */

TEST(old_updates_become_ancient)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
    char manager[16], patch[64];

    put_map(w, "a", "null");
    for (int i = 2; i <= 12; i++) {
        (void)snprintf(manager, sizeof manager, "m%02d", i);
        (void)snprintf(patch, sizeof patch, "{'data':{'d%02d':'1'}}", i);
        world_patch(w, manager, patch);
    }
    ASSERT_OWNERS(w, "ancient-changes Update 3 {'f:data':{'.':{},'f:d02':{},'f:d03':{},'f:k':{}}}\n"
                     "m04 Update 4 {'f:data':{'f:d04':{}}}\nm05 Update 5 {'f:data':{'f:d05':{}}}\n"
                     "m06 Update 6 {'f:data':{'f:d06':{}}}\nm07 Update 7 {'f:data':{'f:d07':{}}}\n"
                     "m08 Update 8 {'f:data':{'f:d08':{}}}\nm09 Update 9 {'f:data':{'f:d09':{}}}\n"
                     "m10 Update 10 {'f:data':{'f:d10':{}}}\nm11 Update 11 {'f:data':{'f:d11':{}}}\n"
                     "m12 Update 12 {'f:data':{'f:d12':{}}}");
}

TEST(managers_by_user_agent)
{
    static const char *const rows[][2] = {
        { "kubectl/v1.33.0 (linux/amd64) kubernetes/abc", "kubectl" },
        { "Go-http-client", "Go-http-client" },
        { "", "" },
        { "/x", "" },
        { "a\tb\x7f\xff"
          "c\xc3\xa9/",
          "abc\xc3\xa9" },
    };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096), large = BUF_INIT(4096);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&out);
        manager_of_user_agent(str_of(rows[i][0]), &out);
        ASSERT_STR(rows[i][1], buf_cstr(&out));
    }
    for (int i = 0; i < 100; i++)
        buf_add_cstr(&large, "\xe2\x82\xac");
    buf_clear(&out);
    manager_of_user_agent(buf_str(&large), &out);
    ASSERT_INT(126, out.len);

    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
    put_map(w, "", "null");
    ASSERT_OWNERS(w, "unknown Update 1 " MAP_FIELDS);
}

TEST(noop_is_all_but_times)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        { "{'metadata':{'name':'x'}}", "{'metadata':{'name':'x'}}", true },
        { "{'metadata':{'name':'x'}}", "{'metadata':{'name':'y'}}", false },
        { "{'metadata':{'name':'x'}}", "{'metadata':{'name':'x'},'data':{}}", false },
        { "{'data':{},'metadata':{'name':'x'}}", "{'metadata':{'name':'x'},'data':{}}", true },
        { "{'metadata':{'managedFields':[{'manager':'a','time':'1'}]}}",
          "{'metadata':{'managedFields':[{'manager':'a','time':'2'}]}}", true },
        { "{'metadata':{'managedFields':[{'manager':'a','time':'1'}]}}",
          "{'metadata':{'managedFields':[{'manager':'b','time':'1'}]}}", false },
        { "{'metadata':{'managedFields':[{'manager':'a'}]}}", "{'metadata':{}}", false },
        { "{'metadata':{'managedFields':[{'manager':'a','fieldsV1':{}}]}}",
          "{'metadata':{'managedFields':[{'manager':'a'}]}}", false },
    };
    _cleanup_(json_done_p) struct json d;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref a = parse(&d, rows[i].a), b = parse(&d, rows[i].b);
        ASSERT_INT(rows[i].same, managed_fields_is_noop(&d, a, b));
        ASSERT_INT(rows[i].same, managed_fields_is_noop(&d, b, a));
    }
}

TEST_MAIN()
