#include "tests/unit/test_table.h"

#include "base/cleanup.h"

/* --- Columns --- */

/* "Name, Capacity, VolumeMode*": what only -o wide shows has a star. */
static const char *column_names(const struct kind_info *k)
{
    static struct buf out = { .len_max = 4096 };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, 1 << 20);
    buf_clear(&out);
    table_write_columns(k, &text);
    ASSERT_OK(json_parse(&d, buf_str(&text), &v, &err));
    for (json_ref m = json_first(&d, v); m; m = json_next(&d, m)) {
        struct str name = json_get_text(&d, m, "name");
        int64_t priority = -1;
        assert_int_equal(json_count(&d, m), 5);
        assert_true(json_get_text(&d, m, "description").len > 0);
        assert_true(json_int64(&d, json_get(&d, m, "priority"), &priority));
        buf_addf(&out, "%s%.*s%s", out.len ? ", " : "", STR_ARG(name), priority ? "*" : "");
    }
    return buf_cstr(&out);
}

TEST(table_has_the_columns_of_every_kind)
{
    static const char *const expected[] = {
        [KIND_VOLUME] = "Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, "
                        "VolumeAttributesClass, Reason, Age, VolumeMode*",
        [KIND_CLAIM] =
            "Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, "
            "VolumeMode*",
        [KIND_CLASS] = "Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age",
        [KIND_ATTRIBUTES_CLASS] = "Name, DriverName, Age",
        [KIND_ATTACHMENT] = "Name, Attacher, PV, Node, Attached, Age",
        [KIND_CSI_DRIVER] = "Name, AttachRequired, PodInfoOnMount, StorageCapacity, TokenRequests, "
                            "RequiresRepublish, Modes, Age",
        [KIND_CSI_NODE] = "Name, Drivers, Age",
        [KIND_CSI_CAPACITY] = "Name, Created At",
        [KIND_POD] = "Name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*",
        [KIND_NODE] = "Name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, "
                      "Kernel-Version*, Container-Runtime*",
        [KIND_EVENT] = "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, "
                       "Name*",
        [KIND_EVENT_V1] =
            "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, "
            "Name*",
        [KIND_NAMESPACE] = "Name, Status, Age",
        [KIND_CONFIG_MAP] = "Name, Data, Age",
        [KIND_SECRET] = "Name, Type, Data, Age",
        [KIND_SERVICE_ACCOUNT] = "Name, Age",
        [KIND_LEASE] = "Name, Holder, Age",
        [KIND_SNAPSHOT] = "Name, ReadyToUse, SourcePVC, SourceSnapshotContent, RestoreSize, SnapshotClass, "
                          "SnapshotContent, CreationTime, Age",
        [KIND_SNAPSHOT_CONTENT] =
            "Name, ReadyToUse, RestoreSize, DeletionPolicy, Driver, VolumeSnapshotClass, "
            "VolumeSnapshot, VolumeSnapshotNamespace, Age",
        [KIND_SNAPSHOT_CLASS] = "Name, Driver, DeletionPolicy, Age",
        [KIND_SERVICE] = "Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*",
        [KIND_ENDPOINTS] = "Name, Endpoints, Age",
        [KIND_ENDPOINT_SLICE] = "Name, AddressType, Ports, Endpoints, Age",
        [KIND_GROUP_SNAPSHOT] = "Name, ReadyToUse, VolumeGroupSnapshotClass, VolumeGroupSnapshotContent, "
                                "CreationTime, Age",
        [KIND_GROUP_SNAPSHOT_CONTENT] = "Name, ReadyToUse, DeletionPolicy, Driver, VolumeGroupSnapshotClass, "
                                        "VolumeGroupSnapshotNamespace, VolumeGroupSnapshot, Age",
        [KIND_GROUP_SNAPSHOT_CLASS] = "Name, Driver, DeletionPolicy, Age",
    };
    static_assert(ARRAY_LEN(expected) == KIND_COUNT, "every kind");

    for (int k = 0; k < KIND_COUNT; k++)
        ASSERT_STR(expected[k], column_names(kind_info((enum kind)k)));
}

/* "type/format" of a column. */
static const char *column_type(enum kind kind, const char *name)
{
    static char type[64];
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, 1 << 20);
    table_write_columns(kind_info(kind), &text);
    ASSERT_OK(json_parse(&d, buf_str(&text), &v, &err));
    for (json_ref m = json_first(&d, v); m; m = json_next(&d, m)) {
        struct str t = json_get_text(&d, m, "type"), f = json_get_text(&d, m, "format");
        if (str_is(json_get_text(&d, m, "name"), name)) {
            (void)snprintf(type, sizeof type, "%.*s/%.*s", STR_ARG(t), STR_ARG(f));
            return type;
        }
    }
    fail_msg("no column %s", name);
    return NULL;
}

TEST(table_tells_the_types_of_columns)
{
    ASSERT_STR("string/name", column_type(KIND_VOLUME, "Name"));
    ASSERT_STR("string/", column_type(KIND_VOLUME, "Capacity"));
    ASSERT_STR("string/", column_type(KIND_CLASS, "AllowVolumeExpansion"));
    ASSERT_STR("boolean/", column_type(KIND_ATTACHMENT, "Attached"));
    ASSERT_STR("boolean/", column_type(KIND_CSI_DRIVER, "RequiresRepublish"));
    ASSERT_STR("string/", column_type(KIND_CSI_DRIVER, "Modes"));
    ASSERT_STR("integer/", column_type(KIND_CSI_NODE, "Drivers"));
    ASSERT_STR("date/", column_type(KIND_CSI_CAPACITY, "Created At"));
    ASSERT_STR("string/", column_type(KIND_POD, "Restarts"));
    ASSERT_STR("string/", column_type(KIND_EVENT, "Last Seen"));
    ASSERT_STR("string/", column_type(KIND_EVENT, "Name"));
    ASSERT_STR("boolean/", column_type(KIND_SNAPSHOT, "ReadyToUse"));
    ASSERT_STR("date/", column_type(KIND_SNAPSHOT, "CreationTime"));
    ASSERT_STR("date/", column_type(KIND_SNAPSHOT_CLASS, "Age"));
    ASSERT_STR("integer/", column_type(KIND_SNAPSHOT_CONTENT, "RestoreSize"));
}

/* --- Cells --- */

#define CREATED "'creationTimestamp':'2024-05-01T09:59:57Z'"
#define META(name) "'metadata':{'name':'" name "'," CREATED "}"
#define DELETING(name) "'metadata':{'name':'" name "'," CREATED ",'deletionTimestamp':'2024-05-01T10:00:00Z'}"

TEST(table_shows_volumes)
{
    static const struct cells_row rows[] = {
        /* apiserver-3, apiserver-4: a local volume before any controller has seen it */
        { KIND_VOLUME,
          "['example-local-pv','5Gi','RWO','Delete','Pending','','local-storage','<unset>','','3s','"
          "Filesystem']",
          "{" META(
              "example-local-pv") ",'spec':{'capacity':{'storage':'5Gi'},'accessModes':['ReadWriteOnce'],"
                                  "'persistentVolumeReclaimPolicy':'Delete','storageClassName':'local-"
                                  "storage','local':{'path':'/d'},"
                                  "'volumeMode':'Filesystem'},'status':{'phase':'Pending'}}" },
        { KIND_VOLUME,
          "['v','10M','RWO,ROX,RWX','Retain','Bound','shop/db','slow','gold','why','3s','Block']",
          "{" META(
              "v") ",'spec':{'capacity':{'storage':'10M'},"
                   "'accessModes':['ReadWriteMany','ReadOnlyMany','ReadWriteOnce'],'claimRef':{'namespace':'"
                   "shop','name':'db'},"
                   "'persistentVolumeReclaimPolicy':'Retain','storageClassName':'slow','volumeMode':'Block',"
                   "'volumeAttributesClassName':'gold'},'status':{'phase':'Bound','reason':'why'}}" },
        /* the beta annotation's class counts; apiserver-28: what is being deleted says so */
        { KIND_VOLUME, "['v','0','RWOP','Retain','Terminating','/\\\"','old','<unset>','','3s','Filesystem']",
          "{'metadata':{'name':'v'," CREATED ",'deletionTimestamp':'2024-05-01T10:00:00Z',"
          "'annotations':{'volume.beta.kubernetes.io/"
          "storage-class':'old'}},'spec':{'accessModes':['ReadWriteOncePod'],"
          "'storageClassName':'new','claimRef':{'name':'\\\"'}},'status':{'phase':'Released'}}" },
        { KIND_VOLUME, "['','0','','Retain','','','','<unset>','','<unknown>','Filesystem']", "{}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_shows_claims)
{
    static const struct cells_row rows[] = {
        /* apiserver-5: what is asked for is not shown, only what was got */
        { KIND_CLAIM, "['c','Pending','','','','local-storage','<unset>','3s','Filesystem']",
          "{" META("c") ",'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'5Gi'}},"
                        "'storageClassName':'local-storage','volumeMode':'Filesystem'},'status':{'phase':'"
                        "Pending'}}" },
        /* apiserver-6 */
        { KIND_CLAIM, "['c','Bound','v','5Gi','RWO','local-storage','gold','3s','Block']",
          "{" META("c") ",'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},"
                        "'storageClassName':'local-storage','volumeMode':'Block','volumeName':'v',"
                        "'volumeAttributesClassName':'gold'},'status':{'phase':'Bound','accessModes':['"
                        "ReadWriteOnce'],"
                        "'capacity':{'storage':'5Gi'}}}" },
        /* named a volume but told nothing yet */
        { KIND_CLAIM, "['c','Lost','v','0','','','','3s','Filesystem']",
          "{" META(
              "c") ",'spec':{'volumeName':'v','volumeAttributesClassName':''},'status':{'phase':'Lost'}}" },
        { KIND_CLAIM, "['c','Terminating','','','','','<unset>','3s','Filesystem']",
          "{" DELETING("c") ",'status':{'phase':'Pending','capacity':{'storage':'5Gi'},"
                            "'accessModes':['ReadWriteOnce']}}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_shows_classes_and_attachments)
{
    static const struct cells_row rows[] = {
        /* apiserver-13 */
        { KIND_CLASS,
          "['local-storage "
          "(default)','kubernetes.io/no-provisioner','Delete','WaitForFirstConsumer',false,'3s']",
          "{'metadata':{'name':'local-storage'," CREATED
          ",'annotations':{'storageclass.kubernetes.io/is-default-class':'true'}},"
          "'provisioner':'kubernetes.io/no-provisioner','reclaimPolicy':'Delete',"
          "'volumeBindingMode':'WaitForFirstConsumer'}" },
        { KIND_CLASS, "['s','p','Retain','Immediate',true,'3s']",
          "{" META("s") ",'provisioner':'p','reclaimPolicy':'Retain','volumeBindingMode':'Immediate',"
                        "'allowVolumeExpansion':true}" },
        { KIND_CLASS, "['s','p','Delete','Immediate',false,'<unknown>']",
          "{'metadata':{'name':'s','annotations':{'storageclass.kubernetes.io/is-default-class':'yes'}},"
          "'provisioner':'p'}" },
        { KIND_ATTRIBUTES_CLASS, "['gold','d.example','3s']", "{" META("gold") ",'driverName':'d.example'}" },
        { KIND_ATTACHMENT, "['a','d','v','n',true,'3s']",
          "{" META("a") ",'spec':{'attacher':'d','nodeName':'n','source':{'persistentVolumeName':'v'}},"
                        "'status':{'attached':true}}" },
        { KIND_ATTACHMENT, "['a','d','','n',false,'3s']",
          "{" META("a") ",'spec':{'attacher':'d','nodeName':'n','source':{'inlineVolumeSpec':{}}}}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_shows_csi_kinds)
{
    static const struct cells_row rows[] = {
        { KIND_CSI_DRIVER, "['d',true,false,false,'<unset>',false,'<none>','3s']",
          "{" META("d") ",'spec':{}}" },
        { KIND_CSI_DRIVER, "['d',false,true,true,'a,,\\\"b\\\"',true,'Ephemeral,Persistent','3s']",
          "{" META("d") ",'spec':{'attachRequired':false,'podInfoOnMount':true,'storageCapacity':true,"
                        "'requiresRepublish':true,'volumeLifecycleModes':['Ephemeral','Persistent'],"
                        "'tokenRequests':[{'audience':'a'},{'audience':''},{'audience':'\\\"b\\\"'}]}}" },
        { KIND_CSI_NODE, "['n',0,'3s']", "{" META("n") ",'spec':{'drivers':[]}}" },
        { KIND_CSI_NODE, "['n',2,'3s']",
          "{" META("n") ",'spec':{'drivers':[{'name':'a','nodeID':'1'},{'name':'b','nodeID':'2'}]}}" },
        { KIND_CSI_CAPACITY, "['c','2024-05-01T09:59:57Z']",
          "{" META("c") ",'storageClassName':'slow','capacity':'10Gi'}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_shows_snapshots_as_custom_resources)
{
    static const struct cells_row rows[] = {
        { KIND_SNAPSHOT, "['s',null,'c',null,null,null,null,null,'3s']",
          "{" META("s") ",'spec':{'source':{'persistentVolumeClaimName':'c'}}}" },
        { KIND_SNAPSHOT, "['s',true,null,'content','1Gi','fast','snapcontent-1','2m5s','3s']",
          "{" META("s") ",'spec':{'source':{'volumeSnapshotContentName':'content'},'volumeSnapshotClassName':"
                        "'fast'},"
                        "'status':{'readyToUse':true,'restoreSize':'1Gi','boundVolumeSnapshotContentName':'"
                        "snapcontent-1',"
                        "'creationTime':'2024-05-01T09:57:55Z'}}" },
        { KIND_GROUP_SNAPSHOT, "['g',true,'fast','groupsnapcontent-1','2m5s','3s']",
          "{'metadata':{'name':'g','creationTimestamp':'2024-05-01T09:59:57Z'},'spec':{"
          "'volumeGroupSnapshotClassName':'fast'},'status':{'readyToUse':true,'creationTime':"
          "'2024-05-01T09:57:55Z','boundVolumeGroupSnapshotContentName':'groupsnapcontent-1'}}" },
        { KIND_GROUP_SNAPSHOT_CONTENT, "['c',null,'Delete','d.io',null,'ns','g',null]",
          "{'metadata':{'name':'c'},'spec':{'deletionPolicy':'Delete','driver':'d.io',"
          "'volumeGroupSnapshotRef':{'namespace':'ns','name':'g'}}}" },
        { KIND_GROUP_SNAPSHOT_CLASS, "['k','d.io','Retain',null]",
          "{'metadata':{'name':'k'},'driver':'d.io','deletionPolicy':'Retain'}" },
        { KIND_SNAPSHOT, "['s',false,'c',null,'0',null,null,null,null]",
          "{'metadata':{'name':'s'},'spec':{'source':{'persistentVolumeClaimName':'c'}},"
          "'status':{'readyToUse':false,'restoreSize':'0'}}" },
        { KIND_SNAPSHOT_CONTENT, "['k',null,null,'Delete','d','fast','s','ns','3s']",
          "{" META("k") ",'spec':{'deletionPolicy':'Delete','driver':'d','volumeSnapshotClassName':'fast',"
                        "'volumeSnapshotRef':{'name':'s','namespace':'ns'},'source':{'volumeHandle':'h'}}}" },
        { KIND_SNAPSHOT_CONTENT, "['k',false,0,'Retain','d',null,null,null,'3s']",
          "{" META("k") ",'spec':{'deletionPolicy':'Retain','driver':'d'},"
                        "'status':{'readyToUse':false,'restoreSize':0}}" },
        { KIND_SNAPSHOT_CONTENT, "['k',true,1073741824,'Retain','d',null,null,null,'3s']",
          "{" META("k") ",'spec':{'deletionPolicy':'Retain','driver':'d'},"
                        "'status':{'readyToUse':true,'restoreSize':1073741824}}" },
        { KIND_SNAPSHOT_CLASS, "['fast','d','Delete','3s']",
          "{" META("fast") ",'driver':'d','deletionPolicy':'Delete'}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_shows_nodes)
{
    static const struct cells_row rows[] = {
        { KIND_NODE, "['n','Unknown','<none>','3s','','<none>','<none>','<unknown>','<unknown>','<unknown>']",
          "{" META("n") "}" },
        { KIND_NODE,
          "['n','Ready','<none>','3s','v1.36.4','10.0.0.1','1.2.3.4','Debian','6.1 (amd64)',"
          "'cri://1']",
          "{" META(
              "n") ",'status':{'conditions':[{'type':'DiskPressure','status':'False'},"
                   "{'type':'Ready','status':'True'}],'addresses':[{'type':'Hostname','address':'n'},"
                   "{'type':'ExternalIP','address':'1.2.3.4'},{'type':'InternalIP','address':'10.0.0.1'},"
                   "{'type':'InternalIP','address':'10.0.0.2'}],'nodeInfo':{'kubeletVersion':'v1.36.4',"
                   "'osImage':'Debian','kernelVersion':'6.1','architecture':'amd64','containerRuntimeVersion'"
                   ":'cri://1'}}}" },
        /* apiserver-48 */
        { KIND_NODE,
          "['n','NotReady,SchedulingDisabled','<none>','3s','','<none>','<none>','<unknown>','<unknown>','<"
          "unknown>']",
          "{" META("n") ",'spec':{'unschedulable':true},'status':{'conditions':"
                        "[{'type':'Ready','status':'True'},{'type':'Ready','status':'Unknown'}]}}" },
        { KIND_NODE,
          "['n','Unknown,SchedulingDisabled','<none>','3s','','<none>','<none>','<unknown>','<unknown>','<"
          "unknown>']",
          "{" META("n") ",'spec':{'unschedulable':true}}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_tells_the_roles_of_nodes)
{
    static const struct {
        const char *labels;
        const char *roles;
    } rows[] = {
        { "'node-role.kubernetes.io/worker':'','node-role.kubernetes.io/control-plane':'x'",
          "control-plane,worker" },
        { "'node-role.kubernetes.io/':''", "<none>" },
        { "'kubernetes.io/role':''", "<none>" },
        { "'kubernetes.io/role':'edge'", "edge" },
        { "'kubernetes.io/role':'b','node-role.kubernetes.io/a':'','node-role.kubernetes.io/c':''", "a,b,c" },
        { "'kubernetes.io/role':'a','node-role.kubernetes.io/a':'','node-role.kubernetes.io/c':''", "a,c" },
        { "'kubernetes.io/role':'z','node-role.kubernetes.io/a':''", "a,z" },
        { "'kubernetes.io/role':'0','node-role.kubernetes.io/a':''", "0,a" },
        { "'node-role.kubernetes.iox/a':'','role':'x'", "<none>" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(4096), cells = BUF_INIT(4096);
        buf_addf(&text, "{'metadata':{'name':'n','labels':{%s}}}", rows[i].labels);
        buf_addf(&cells,
                 "['n','Unknown','%s','<unknown>','','<none>','<none>','<unknown>','<unknown>','<unknown>']",
                 rows[i].roles);
        ASSERT_CELLS(KIND_NODE, buf_cstr(&cells), buf_cstr(&text));
    }
}

TEST(table_shows_events)
{
    static const struct cells_row rows[] = {
        { KIND_EVENT,
          "['60s','Warning','Failed','persistentvolumeclaim/data','spec.x','binder, host1','no "
          "volume','2m5s',7,'e']",
          "{'metadata':{'name':'e','namespace':'a'},'involvedObject':{'kind':'PersistentVolumeClaim','name':'"
          "data',"
          "'fieldPath':'spec.x'},'reason':'Failed','message':'\\n no volume \\n','type':'Warning','count':7,"
          "'source':{'component':'binder','host':'host1'},'reportingComponent':'other','reportingInstance':'"
          "i',"
          "'firstTimestamp':'2024-05-01T09:57:55Z','lastTimestamp':'2024-05-01T09:59:00Z'}" },
        /* new style: one time, or a series with the time of its latest */
        { KIND_EVENT_V1, "['2m5s','Normal','Bound','pod','','berth, i','so it is','2m5s',1,'e']",
          "{'metadata':{'name':'e','namespace':'a'},'regarding':{'kind':'Pod'},'reason':'Bound','note':'so "
          "it is',"
          "'type':'Normal','reportingController':'berth','reportingInstance':'i',"
          "'eventTime':'2024-05-01T09:57:55.000000Z'}" },
        { KIND_EVENT_V1, "['60s','','','','','','','2m5s',12,'e']",
          "{'metadata':{'name':'e','namespace':'a'},'deprecatedCount':3,'eventTime':'2024-05-01T09:57:55."
          "000000Z',"
          "'series':{'count':12,'lastObservedTime':'2024-05-01T09:59:00.000000Z'}}" },
        /* without a last time the first one counts, and without any none */
        { KIND_EVENT, "['60s','','','pod/\\\"x','','only','','60s',1,'e']",
          "{'metadata':{'name':'e','namespace':'a'},'involvedObject':{'kind':'POD','name':'\\\"x'},"
          "'firstTimestamp':'2024-05-01T09:59:00Z','source':{'component':'only'}}" },
        { KIND_EVENT, "['<unknown>','','','','','','','<unknown>',1,'e']",
          "{'metadata':{'name':'e','namespace':'a'}}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_shows_the_rest_of_core)
{
    static const struct cells_row rows[] = {
        { KIND_NAMESPACE, "['a','Active','3s']", "{" META("a") ",'status':{'phase':'Active'}}" },
        { KIND_NAMESPACE, "['a','Terminating','3s']",
          "{" DELETING("a") ",'status':{'phase':'Terminating'}}" },
        { KIND_CONFIG_MAP, "['c',0,'3s']", "{" META("c") "}" },
        { KIND_CONFIG_MAP, "['c',3,'3s']",
          "{" META("c") ",'data':{'a':'1','b':'2'},'binaryData':{'c':'AAAA'}}" },
        { KIND_SECRET, "['s','Opaque',1,'3s']", "{" META("s") ",'type':'Opaque','data':{'a':'AAAA'}}" },
        { KIND_SERVICE_ACCOUNT, "['default','3s']", "{" META("default") ",'secrets':[{'name':'x'}]}" },
        { KIND_LEASE, "['l','me','3s']", "{" META("l") ",'spec':{'holderIdentity':'me'}}" },
        { KIND_LEASE, "['l','','3s']", "{" META("l") "}" },
        { KIND_SERVICE, "['s','ClusterIP','10.0.0.7','<none>','80/TCP,53/UDP','3s','<none>']",
          "{" META("s") ",'spec':{'type':'ClusterIP','clusterIP':'10.0.0.7','ports':[{'port':80,'protocol':"
                        "'TCP'},{'port':53,'protocol':'UDP'}]}}" },
        { KIND_SERVICE, "['s','','<none>','<none>','<none>','3s','<none>']", "{" META("s") "}" },
        { KIND_ENDPOINTS, "['s','10.0.0.7:80,[fd00::7]:80,10.0.0.7:53,[fd00::7]:53','3s']",
          "{" META("s") ",'subsets':[{'addresses':[{'ip':'10.0.0.7'},{'ip':'fd00::7'}],'ports':[{'port':80},"
                        "{'port':53}]}]}" },
        { KIND_ENDPOINTS, "['s','<none>','3s']", "{" META("s") "}" },
        { KIND_ENDPOINT_SLICE, "['s','IPv6','80,53','fd00::7,fd00::8','3s']",
          "{" META("s") ",'addressType':'IPv6','endpoints':[{'addresses':['fd00::7','fd00::8']}],'ports':[{"
                        "'port':80},{'port':53}]}" },
        { KIND_ENDPOINT_SLICE, "['s','','<unset>','<unset>','3s']", "{" META("s") "}" },
    };

    table_check_rows(rows, ARRAY_LEN(rows));
}

TEST(table_tells_ages)
{
    static const struct {
        const char *created;
        const char *age;
    } rows[] = {
        { "2024-05-01T10:00:00Z", "0s" },        { "2024-05-01T09:58:01Z", "119s" },
        { "2024-05-01T09:58:00Z", "2m" },        { "2024-04-29T09:00:00Z", "2d1h" },
        { "2014-05-01T10:00:00Z", "10y" },       { "2024-05-01T10:00:01Z", "0s" },
        { "2024-05-01T10:00:05Z", "<invalid>" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[128], cells[64];
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'s','creationTimestamp':'%s'}}",
                       rows[i].created);
        (void)snprintf(cells, sizeof cells, "['s','%s']", rows[i].age);
        ASSERT_CELLS(KIND_SERVICE_ACCOUNT, cells, text);
    }
}

/* --- Documents --- */

#define LEASE(name, revision)                                                                              \
    "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{'name':'" name "','namespace':'a'," \
    "'resourceVersion':'" revision "','managedFields':[{'manager':'m'}]},'spec':{'holderIdentity':'" name  \
    "'}}"
#define LEASE_PARTIAL(version, name, revision)                                                         \
    "{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/" version "','metadata':{'name':'" name \
    "','namespace':'a','resourceVersion':'" revision "','managedFields':[{'manager':'m'}]}}"

/* Lives until the next call. */
static const char *lease_table_text(const struct list_meta *meta, size_t count, struct table_options how)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(object_unref_p) struct object *a = kind_object(KIND_LEASE, LEASE("a", "5"));
    _cleanup_(object_unref_p) struct object *b = kind_object(KIND_LEASE, LEASE("b", "7"));
    const struct object *objects[] = { a, b };

    buf_clear(&out);
    if (meta)
        table_write(kind_info(KIND_LEASE), meta, objects, count, &how, &out);
    else
        table_write_object(b, &how, &out);
    return buf_cstr(&out);
}

TEST(table_frames_a_list)
{
    _cleanup_(buf_done_p) struct buf expected = BUF_INIT(1 << 20);
    struct list_meta meta = { STR_LIT("9"), STR_LIT("to\"ken"), 3 };
    struct table_options how = table_how(INCLUDE_METADATA);

    buf_add_cstr(&expected, kind_row("{'kind':'Table','apiVersion':'meta.k8s.io/v1','metadata':{"
                                     "'resourceVersion':'9','continue':'to\\'ken','remainingItemCount':3},"
                                     "'columnDefinitions':"));
    table_write_columns(kind_info(KIND_LEASE), &expected);
    buf_add_cstr(&expected,
                 kind_row(",'rows':["
                          "{'cells':['a','a','<unknown>'],'object':" LEASE_PARTIAL(
                              "v1", "a", "5") "},"
                                              "{'cells':['b','b','<unknown>'],'object':" LEASE_PARTIAL(
                                                  "v1", "b", "7") "}]}"));
    ASSERT_STR(buf_cstr(&expected), lease_table_text(&meta, 2, how));
}

TEST(table_of_an_empty_list_has_rows_that_are_none)
{
    struct list_meta meta = { STR_LIT("9"), STR_LIT(""), -1 };
    struct table_options how = table_how(INCLUDE_METADATA);
    const char *text = lease_table_text(&meta, 0, how);

    assert_non_null(
        strstr(text, kind_row("'metadata':{'resourceVersion':'9'},'columnDefinitions':[{'name':'Name'")));
    assert_true(str_has_suffix(str_of(text), kind_row(",'rows':[]}")));
}

/* Scenario 81: a watch tells the columns once. */
TEST(table_of_an_event_may_leave_the_columns_out)
{
    struct table_options how = table_how(INCLUDE_NONE);

    assert_non_null(strstr(lease_table_text(NULL, 1, how), kind_row("'columnDefinitions':[{'name':'Name'")));
    how.omits_columns = true;
    ASSERT_STR(kind_row("{'kind':'Table','apiVersion':'meta.k8s.io/v1','metadata':{'resourceVersion':'7'},"
                        "'columnDefinitions':null,'rows':[{'cells':['b','b','<unknown>'],'object':null}]}"),
               lease_table_text(NULL, 1, how));
}

TEST(table_rows_carry_what_was_asked_for)
{
    struct table_options how = table_how(INCLUDE_OBJECT);
    struct list_meta meta = { STR_LIT("9"), STR_LIT(""), -1 };
    const char *text;

    how.omits_columns = true;
    ASSERT_STR(kind_row("{'kind':'Table','apiVersion':'meta.k8s.io/v1','metadata':{'resourceVersion':'9'},"
                        "'columnDefinitions':null,'rows':[{'cells':['a','a','<unknown>'],'object':" LEASE(
                            "a", "5") "}]}"),
               lease_table_text(&meta, 1, how));
    how.include = INCLUDE_METADATA;
    how.version = "v1beta1";
    text = lease_table_text(&meta, 1, how);
    assert_non_null(strstr(text, kind_row("{'kind':'Table','apiVersion':'meta.k8s.io/v1beta1',")));
    assert_non_null(strstr(text, kind_row("'object':" LEASE_PARTIAL("v1beta1", "a", "5") "}]}")));
}

/* A row of events.k8s.io may be of the form that is stored. */
TEST(table_takes_both_forms_of_events)
{
    _cleanup_(object_unref_p) struct object *e = kind_object(KIND_EVENT, "{'metadata':{'name':'e'}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
    struct list_meta meta = { STR_LIT("9"), STR_LIT(""), -1 };
    struct table_options how = table_how(INCLUDE_NONE);
    const struct object *objects[] = { e };

    table_write(kind_info(KIND_EVENT_V1), &meta, objects, 1, &how, &out);
    assert_non_null(strstr(buf_cstr(&out), kind_row("'<unknown>',1,'e'],'object':null}]}")));
}

/* A buffer that is full says so at the end; nothing writes past it. */
TEST(table_stops_where_the_buffer_ends)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_LEASE, LEASE("a", "5"));
    struct table_options how = table_how(INCLUDE_METADATA);
    _cleanup_(buf_done_p) struct buf whole = BUF_INIT(1 << 20);

    table_write_object(o, &how, &whole);
    ASSERT_OK(buf_check(&whole, "table", &err));
    for (size_t room = 0; room < whole.len; room++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(room);
        table_write_object(o, &how, &out);
        ASSERT_ERR(ERR_TOO_LARGE, buf_check(&out, "table", &err));
    }
}

TEST_MAIN()
