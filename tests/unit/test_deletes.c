/* Deletions, of one and of many, evictions and bindings, through the whole server. */
#include "tests/unit/test_served.h"

TEST(what_a_deletion_answers)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'}}");
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/a", NULL); /* apiserver-70 */
    ASSERT_GOT(&w, "Success", "status");
    ASSERT_GOT(&w, "configmaps", "details/kind");
    ASSERT_SENT(&w, 201, "POST", CLASSES, "{'metadata':{'name':'c'},'provisioner':'x.y/z'}");
    ASSERT_SENT(&w, 200, "DELETE", CLASSES "/c", NULL);
    ASSERT_GOT(&w, "StorageClass", "kind");
    ASSERT_REFUSED(&w, 404, "NotFound", "configmaps \"a\" not found", "DELETE", MAPS "/a", NULL);
}

TEST(finalizers_hold_an_object)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", VOLUMES, "{'metadata':{'name':'v'}," VOLUME_SPEC "}");
    ASSERT_SENT(&w, 200, "DELETE", VOLUMES "/v", NULL);
    ASSERT_GOT(&w, "2023-11-14T22:13:20Z", "metadata/deletionTimestamp");
    ASSERT_GOT(&w, "0", "metadata/deletionGracePeriodSeconds");
    ASSERT_REFUSED(&w, 409, "AlreadyExists", /* apiserver-28 */
                   "object is being deleted: persistentvolumes \"v\" already exists", "POST", VOLUMES,
                   "{'metadata':{'name':'v'}," VOLUME_SPEC "}");
    ASSERT_SENT(&w, 422, "MERGE", VOLUMES "/v", "{'metadata':{'finalizers':['a/b']}}");
    ASSERT_SENT(&w, 200, "MERGE", VOLUMES "/v", "{'metadata':{'finalizers':null}}"); /* apiserver-29 */
    ASSERT_SENT(&w, 404, "GET", VOLUMES "/v", NULL);
}

TEST(options_and_preconditions)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", VOLUMES, "{'metadata':{'name':'v'}," VOLUME_SPEC "}");
    ASSERT_SENT(&w, 409, "DELETE", VOLUMES "/v", "{'preconditions':{'uid':'x'}}"); /* apiserver-69 */
    ASSERT_GOT(&w, "PersistentVolume", "details/kind");
    ASSERT_SENT(&w, 409, "DELETE", VOLUMES "/v", "{'preconditions':{'resourceVersion':'1'}}");
    ASSERT_REFUSED(&w, 422, "Invalid",
                   "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"X\": "
                   "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                   "DELETE", VOLUMES "/v", "{'propagationPolicy':'X'}");
    ASSERT_SENT(&w, 400, "DELETE", VOLUMES "/v?gracePeriodSeconds=abc", NULL);
    ASSERT_SENT(&w, 200, "DELETE", VOLUMES "/v?dryRun=All", NULL);
    ASSERT_SENT(&w, 200, "GET", VOLUMES "/v", NULL);
    ASSERT_GOT(&w, "-", "metadata/deletionTimestamp");
    ASSERT_REFUSED(
        &w, 403, "Forbidden",
        "namespaces \"default\" is forbidden: this namespace may not be deleted", /* apiserver-52 */
        "DELETE", NAMESPACES "/default", NULL);
}

/* apiserver-71 */
TEST(pods_have_time_to_end)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", NODES, "{'metadata':{'name':'n1'}}");
    ASSERT_SENT(&w, 201, "POST", PODS, "{'metadata':{'name':'p'}," POD_ON("n1") "}");
    ASSERT_SENT(&w, 200, "DELETE", PODS "/p", NULL);
    ASSERT_GOT(&w, "2023-11-14T22:13:50Z", "metadata/deletionTimestamp");
    ASSERT_SENT(&w, 200, "DELETE", PODS "/p", "{'gracePeriodSeconds':5}");
    ASSERT_GOT(&w, "2023-11-14T22:13:25Z", "metadata/deletionTimestamp");
    ASSERT_SENT(&w, 200, "DELETE", PODS "/p", "{'gracePeriodSeconds':50}");
    ASSERT_GOT(&w, "5", "metadata/deletionGracePeriodSeconds");
    served_pass(&w, 100);
    ASSERT_SENT(&w, 200, "GET", PODS "/p", NULL); /* its node is there to end it */
    ASSERT_SENT(&w, 200, "DELETE", PODS "/p", "{'gracePeriodSeconds':0}");
    ASSERT_SENT(&w, 404, "GET", PODS "/p", NULL);
}

TEST(pods_without_their_node_are_ended_by_the_server)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", PODS, "{'metadata':{'name':'p'}," POD_ON("gone") "}");
    ASSERT_SENT(&w, 200, "DELETE", PODS "/p", NULL);
    served_pass(&w, 29);
    ASSERT_SENT(&w, 200, "GET", PODS "/p", NULL);
    served_pass(&w, 1);
    ASSERT_SENT(&w, 404, "GET", PODS "/p", NULL);
}

TEST(a_grace_beyond_all_time)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", PODS, "{'metadata':{'name':'p'}," POD_ON("gone") "}");
    ASSERT_SENT(&w, 200, "DELETE", PODS "/p", "{'gracePeriodSeconds':9223372036854775807}");
    ASSERT_GOT(&w, "2147483647", "metadata/deletionGracePeriodSeconds");
}

TEST(collections)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a','labels':{'x':'1'}}}");
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'b','labels':{'x':'1'},'finalizers':['a/b']}}");
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'c'}}");
    ASSERT_SENT(&w, 200, "DELETE", MAPS "?labelSelector=x%3D1&dryRun=All", NULL);
    ASSERT_SENT(&w, 200, "DELETE", MAPS "?labelSelector=x%3D1", NULL);
    ASSERT_INT(2, got_items(&w));
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    ASSERT_INT(2, got_items(&w));
    ASSERT_GOT(&w, "b", "items/0/metadata/name");
    ASSERT_SENT(&w, 200, "DELETE", "/api/v1/namespaces/kube-public/configmaps", NULL);
    ASSERT_INT(0, got_items(&w));
}

TEST(evictions)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", PODS, "{'metadata':{'name':'p'}," POD_SPEC "}");
    ASSERT_SENT(&w, 201, "POST", PODS "/p/eviction?dryRun=All",
                "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'}}");
    ASSERT_SENT(&w, 200, "GET", PODS "/p", NULL);
    ASSERT_SENT(&w, 201, "POST", PODS "/p/eviction",
                "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'}}");
    ASSERT_GOT(&w, "Success", "status");
    ASSERT_SENT(&w, 404, "GET", PODS "/p", NULL);
    ASSERT_SENT(&w, 404, "POST", PODS "/p/eviction",
                "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'}}");
}

TEST(bindings)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", PODS, "{'metadata':{'name':'p'}," POD_SPEC "}");
    ASSERT_SENT(&w, 422, "POST", PODS "/p/binding", "{'metadata':{'name':'p'}}");
    ASSERT_REFUSED(&w, 400, "BadRequest", "name in URL does not match name in Binding object", "POST",
                   PODS "/p/binding", "{'metadata':{'name':'q'},'target':{'name':'n1'}}");
    ASSERT_SENT(&w, 201, "POST", PODS "/p/binding",
                "{'metadata':{'name':'p','annotations':{'a':'b'}},'target':{'kind':'Node','name':'n1'}}");
    ASSERT_REFUSED(&w, 409, "Conflict",
                   "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node "
                   "\"n1\"",
                   "POST", PODS "/p/binding", "{'metadata':{'name':'p'},'target':{'name':'n2'}}");
    ASSERT_SENT(&w, 200, "GET", PODS "/p", NULL);
    ASSERT_GOT(&w, "n1", "spec/nodeName");
    ASSERT_GOT(&w, "PodScheduled", "status/conditions/0/type");
    ASSERT_GOT(&w, "{'a':'b'}", "metadata/annotations");
}

/* Hundreds of objects, one of them held: the namespace goes when it is let go. (apiserver-51) */
TEST(namespaces_are_emptied)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", NAMESPACES, "{'metadata':{'name':'t'}}");
    for (int i = 0; i < 300; i++)
        ASSERT_SENT(&w, 201, "POST", NAMESPACES "/t/configmaps", "{'metadata':{'generateName':'a-'}}");
    ASSERT_SENT(&w, 201, "POST", NAMESPACES "/t/configmaps",
                "{'metadata':{'name':'held','finalizers':['a/b']}}");
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/t", NULL);
    ASSERT_SENT(&w, 403, "POST", NAMESPACES "/t/configmaps", "{'metadata':{'name':'late'}}");
    ASSERT_GOT(&w, "NamespaceTerminating", "details/causes/0/reason");
    served_pass(&w, 5);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/t/configmaps", NULL);
    ASSERT_INT(1, got_items(&w));
    ASSERT_SENT(&w, 200, "MERGE", NAMESPACES "/t/configmaps/held", "{'metadata':{'finalizers':null}}");
    served_pass(&w, 5);
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/t", NULL);
}

/* apiserver-86; and a second server goes by the times in the event. */
TEST(events_expire)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", EVENTS,
                "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','namespace':'default','name':'p'}}");
    served_pass(&w, EVENT_TTL_S / 2);
    served_restart(&w);
    served_pass(&w, EVENT_TTL_S / 2 - 1);
    ASSERT_SENT(&w, 200, "GET", EVENTS "/e", NULL);
    served_pass(&w, 2);
    ASSERT_SENT(&w, 404, "GET", EVENTS "/e", NULL);
}

TEST(dependents_go_with_their_owner)
{
    _cleanup_(served_done) struct served w;
    char body[512], uid[64];

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'owner'}}");
    (void)snprintf(uid, sizeof uid, "%s", got(&w, "metadata/uid"));
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
                   "'name':'owner','uid':'%s','blockOwnerDeletion':true}]}}",
                   uid);
    ASSERT_SENT(&w, 201, "POST", MAPS, body);
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/owner", "{'propagationPolicy':'Orphan'}");
    ASSERT_SENT(&w, 404, "GET", MAPS "/owner", NULL);
    ASSERT_SENT(&w, 200, "GET", MAPS "/child", NULL);
    ASSERT_GOT(&w, "-", "metadata/ownerReferences");
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/child", NULL);
    ASSERT_SENT(&w, 201, "POST", MAPS, body); /* its owner is gone: so is it */
    ASSERT_SENT(&w, 404, "GET", MAPS "/child", NULL);
}

TEST_MAIN()
