/* Create, update and patch through the whole server. */
#include "tests/unit/test_served.h"

#define MODIFIED "the object has been modified; please apply your changes to the latest version and try again"

TEST(a_new_object_gets_what_only_the_server_says)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, /* apiserver-55 */
                "{'metadata':{'name':'a','uid':'mine','generation':9,'creationTimestamp':"
                "'2001-01-01T00:00:00Z','deletionTimestamp':'2001-01-01T00:00:00Z'},'data':{'k':'v'}}");
    ASSERT_GOT(&w, "ConfigMap", "kind");
    ASSERT_GOT(&w, "v1", "apiVersion");
    ASSERT_GOT(&w, "default", "metadata/namespace");
    ASSERT_GOT(&w, "2023-11-14T22:13:20Z", "metadata/creationTimestamp");
    ASSERT_GOT(&w, "-", "metadata/generation");
    ASSERT_GOT(&w, "-", "metadata/deletionTimestamp");
    ASSERT_INT(36, strlen(got(&w, "metadata/uid")));
}

TEST(creations_that_are_refused)
{
    static const struct {
        int status;
        const char *reason;
        const char *message;
        const char *target;
        const char *body;
    } rows[] = {
        { 409, "AlreadyExists", "configmaps \"a\" already exists", MAPS, "{'metadata':{'name':'a'}}" },
        { 404, "NotFound", "namespaces \"nope\" not found", "/api/v1/namespaces/nope/configmaps",
          "{'metadata':{'name':'b'}}" },
        { 400, "BadRequest",
          "the namespace of the provided object does not match the namespace sent on the request", MAPS,
          "{'metadata':{'name':'b','namespace':'other'}}" },
        { 422, "Invalid",
          "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required", MAPS,
          "{'data':{}}" },
        { 422, "Invalid",
          "PersistentVolumeClaim \"c\" is invalid: spec.resources[storage]: Invalid value: \"0\": must be "
          "greater than zero", /* apiserver-59 */
          CLAIMS,
          "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{"
          "'storage':'0'}}}}" },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_REFUSED(&w, rows[i].status, rows[i].reason, rows[i].message, "POST", rows[i].target,
                       rows[i].body);
    ASSERT_SENT(&w, 500, "POST", MAPS, "{'metadata':{'name':'b','resourceVersion':'1'}}"); /* apiserver-56 */
    ASSERT_GOT(&w, "resourceVersion should not be set on objects to be created", "message");
}

TEST(unknown_fields)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_REFUSED(&w, 400, "BadRequest", /* apiserver-42 */
                   "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
                   "unknown field \"bogus\"",
                   "POST", MAPS "?fieldValidation=Strict", "{'metadata':{'name':'a'},'bogus':1}");
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'},'bogus':1}"); /* apiserver-43 */
    assert_true(has_header(&w, "Warning: 299 - \"unknown field \\\"bogus\\\"\"\n"));
    ASSERT_GOT(&w, "-", "bogus");
    ASSERT_SENT(&w, 201, "POST", MAPS "?fieldValidation=Ignore", "{'metadata':{'name':'b'},'bogus':1}");
    assert_false(has_header(&w, "Warning:"));
}

TEST(a_dry_run_stores_nothing)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS "?dryRun=All", "{'metadata':{'name':'a'}}"); /* apiserver-44 */
    ASSERT_GOT(&w, "-", "metadata/resourceVersion");
    ASSERT_SENT(&w, 404, "GET", MAPS "/a", NULL);
    ASSERT_SENT(&w, 422, "POST", MAPS "?dryRun=Some", "{'metadata':{'name':'a'}}");
}

TEST(versions_and_uids_are_conditions)
{
    _cleanup_(served_done) struct served w;
    char before[32];

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    (void)snprintf(before, sizeof before, "%s", got(&w, "metadata/resourceVersion"));
    ASSERT_SENT(&w, 200, "MERGE", MAPS "/a", "{'data':{'k':'v'}}"); /* apiserver-24 */
    ASSERT_GOT(&w, before, "metadata/resourceVersion");
    ASSERT_REFUSED(&w, 409, "Conflict", "Operation cannot be fulfilled on configmaps \"a\": " MODIFIED, "PUT",
                   MAPS "/a", "{'metadata':{'name':'a','resourceVersion':'1'}}"); /* apiserver-64 */
    ASSERT_SENT(&w, 409, "MERGE", MAPS "/a", "{'metadata':{'resourceVersion':'1'}}");
    ASSERT_SENT(&w, 409, "PUT", MAPS "/a", "{'metadata':{'name':'a','uid':'x'}}"); /* apiserver-66 */
    ASSERT_SENT(&w, 422, "MERGE", MAPS "/a", "{'metadata':{'uid':'x'}}");
    ASSERT_SENT(&w, 201, "PUT", LEASES "/l", "{'metadata':{'name':'l'}}");
    ASSERT_REFUSED(&w, 422, "Invalid",
                   "leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid value: "
                   "0x0: must be specified for an update",
                   "PUT", LEASES "/l", "{'metadata':{'name':'l'}}");
}

TEST(status_writes)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", VOLUMES,
                "{'metadata':{'name':'v','labels':{'a':'b'}}," VOLUME_SPEC ",'status':{'phase':'Bound'}}");
    ASSERT_GOT(&w, "Pending", "status/phase");
    ASSERT_GOT(&w, "['kubernetes.io/pv-protection']", "metadata/finalizers");
    ASSERT_SENT(&w, 200, "PUT", VOLUMES "/v/status", /* apiserver-65 */
                "{'metadata':{'name':'v'},'spec':{},'status':{'phase':'Available'}}");
    ASSERT_GOT(&w, "Available", "status/phase");
    ASSERT_GOT(&w, "-", "metadata/labels");
    ASSERT_GOT(&w, "-", "metadata/finalizers");
    ASSERT_GOT(&w, "5Gi", "spec/capacity/storage");
}

TEST(kinds_of_patches)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    ASSERT_SENT(&w, 200, "STRATEGIC", MAPS "/a", "{'metadata':{'finalizers':['a/b']}}");
    ASSERT_SENT(&w, 200, "STRATEGIC", MAPS "/a", "{'metadata':{'finalizers':['c/d']}}");
    ASSERT_SENT(&w, 200, "JSON", MAPS "/a", "[{'op':'add','path':'/data/x','value':'y'}]");
    ASSERT_GOT(&w, "y", "data/x");
    ASSERT_SENT(&w, 422, "JSON", MAPS "/a",
                "[{'op':'test','path':'/data/x','value':'z'}]"); /* apiserver-25 */
    ASSERT_SENT(&w, 415, "PATCH", MAPS "/a", "{}");              /* apiserver-67 */
    ASSERT_SENT(&w, 404, "MERGE", MAPS "/nope", "{}");
    ASSERT_SENT(&w, 422, "APPLY", MAPS "/b", "{'apiVersion':'v1','kind':'ConfigMap'}");
    ASSERT_SENT(&w, 201, "APPLY", MAPS "/b?fieldManager=m",
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'b'},'data':{'k':'1'}}");
    ASSERT_REFUSED(&w, 409, "Conflict",
                   "Apply failed with 1 conflict: conflict with \"m\" using v1: .data.k", /* apiserver-41 */
                   "APPLY", MAPS "/b?fieldManager=n",
                   "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'b'},'data':{'k':'2'}}");
    ASSERT_SENT(&w, 415, "STRATEGIC", SNAPSHOTS "/s", "{}"); /* apiserver-47 */
}

/* Two patches at once, of different annotations: both are there. (apiserver-68) */
TEST(patches_in_flight_build_on_one_another)
{
    _cleanup_(served_done) struct served w;
    struct sent x, y;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'}}");
    send_begin(&w, &x, "MERGE", MAPS "/a", "{'metadata':{'annotations':{'x':'1'}}}");
    send_begin(&w, &y, "MERGE", MAPS "/a", "{'metadata':{'annotations':{'y':'2'}}}");
    ASSERT_INT(200, sent_wait(&x));
    ASSERT_INT(200, sent_wait(&y));
    ASSERT_GOT(&w, "{'x':'1','y':'2'}", "metadata/annotations");
    sent_done(&x);
    sent_done(&y);
}

TEST(owners_that_stand_twice)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS,
                "{'metadata':{'name':'a','ownerReferences':["
                "{'apiVersion':'x/v1','kind':'X','name':'x','uid':'1'},"
                "{'apiVersion':'x/v1','kind':'X','name':'y','uid':'2'},"
                "{'apiVersion':'x/v1','kind':'X','name':'x','uid':'1'}]}}");
    assert_true(has_header(&w, "duplicate UID(s) observed: 1\"\n"));
    ASSERT_GOT(&w, "1", "metadata/ownerReferences/0/uid");
    ASSERT_GOT(&w, "2", "metadata/ownerReferences/1/uid");
    ASSERT_GOT(&w, "-", "metadata/ownerReferences/2");
}

/* A list as long as a body may be takes no time to speak of. */
TEST(very_many_owners)
{
    _cleanup_(served_done) struct served w;
    _cleanup_(buf_done_p) struct buf body = BUF_INIT((size_t)4 << 20);

    served_init(&w);
    (void)buf_add_cstr(&body, "{'metadata':{'name':'a','ownerReferences':[");
    for (unsigned i = 0; i < 100000; i++)
        (void)buf_addf(&body, "%s{'uid':'%u'}", i ? "," : "", i);
    (void)buf_add_cstr(&body, "]}}");
    ASSERT_SENT(&w, 422, "POST", MAPS, buf_cstr(&body));
}

TEST(generated_names)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (int i = 0; i < 2; i++) { /* apiserver-63 */
        ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'generateName':'gen-'}}");
        struct str name = str_of(got(&w, "metadata/name"));

        ASSERT_INT(9, name.len);
        assert_true(str_has_prefix(name, "gen-"));
        for (size_t k = 4; k < name.len; k++)
            assert_non_null(strchr("bcdfghjklmnpqrstvwxz2456789", name.s[k]));
    }
}

/* One event, two forms. (apiserver-85) */
TEST(events_in_both_groups)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", EVENTS,
                "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','namespace':'default','name':'p'},"
                "'reason':'R','message':'m'}");
    ASSERT_SENT(&w, 200, "GET", NEW_EVENTS "/e", NULL);
    ASSERT_GOT(&w, "m", "note");
    ASSERT_GOT(&w, "p", "regarding/name");
    ASSERT_SENT(&w, 422, "POST", EVENTS,
                "{'metadata':{'name':'f'},'involvedObject':{'kind':'Pod','namespace':'a','name':'p'}}");
}

TEST_MAIN()
