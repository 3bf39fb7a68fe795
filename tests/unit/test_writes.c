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

static void ignore_stored(void *ctx, int r, const struct error *e)
{
    (void)ctx;
    (void)e;
    ASSERT_INT(0, r);
}

/* As an older version may have left it in the store: what it holds was not looked at by this one. */
static void put_straight(struct served *w, enum kind k, const char *text)
{
    _cleanup_(json_done_p) struct json d;
    struct store_write write = { 0 };
    struct object *o = NULL;
    struct error e;

    (void)store_reserve(w->store);
    json_init(&d, 1 << 16);
    ASSERT_OK(object_decode(kind_info(k), str_of(text), &d, &o, &e));
    store_submit(w->store, &write, o, /* is_delete= */ false, ignore_stored, NULL);
    (void)object_unref(o);
    served_settle(w);
}

TEST(a_patch_drops_stored_fields_that_are_unknown)
{
    _cleanup_(served_done) struct served w;
    char text[512];

    served_init(&w);
    (void)snprintf(text, sizeof text,
                   "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":"
                   "\"default\",\"resourceVersion\":\"%lld\"},\"data\":{\"k\":\"v\"},\"bogus\":{\"b\":1}}",
                   (long long)store_revision(w.store) + 1);
    put_straight(&w, KIND_CONFIG_MAP, text);
    ASSERT_SENT(&w, 200, "GET", MAPS "/a", NULL);
    ASSERT_GOT(&w, "1", "bogus/b");
    ASSERT_SENT(&w, 200, "MERGE", MAPS "/a", "{'data':{'l':'w'}}");
    ASSERT_GOT(&w, "-", "bogus");
    ASSERT_GOT(&w, "w", "data/l");
    assert_true(has_header(&w, "Warning: 299 - \"unknown field \\\"bogus\\\"\"\n"));
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
                   "0: must be specified for an update",
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
                   "Apply failed with 1 conflict: conflict with \"m\": .data.k", /* apiserver-41 */
                   "APPLY", MAPS "/b?fieldManager=n",
                   "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'b'},'data':{'k':'2'}}");
    ASSERT_SENT(&w, 415, "STRATEGIC", SNAPSHOTS "/s", "{}"); /* apiserver-47 */
}

/* An apply that names a field that does not exist fails, whatever fieldValidation says. */
TEST(apply_of_undeclared_fields)
{
#define TYPED(about) "failed to create typed patch object (" about ": field not declared in schema"
    static const struct {
        const char *url, *message, *body;
    } rows[] = {
        { MAPS "/x?fieldManager=m&fieldValidation=Strict", TYPED("default/x; /v1, Kind=ConfigMap): .bogus"),
          "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x','namespace':'default'},'bogus':1}" },
        { MAPS "/x?fieldManager=m&fieldValidation=Ignore", TYPED("/x; /v1, Kind=ConfigMap): .metadata.bogus"),
          "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x','bogus':null}}" },
        { VOLUMES "/v?fieldManager=m",
          TYPED("/v; /v1, Kind=PersistentVolume): errors:\n  .spec.a: field not declared in schema\n  "
                ".spec.nodeAffinity.required.nodeSelectorTerms[1].b"),
          "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'v'},'spec':{'a':1,"
          "'nodeAffinity':{'required':{'nodeSelectorTerms':[{},{'b':{}}]}}}}" },
        { "/apis/storage.k8s.io/v1/csinodes/n?fieldManager=m",
          TYPED("/n; storage.k8s.io/v1, Kind=CSINode): .spec.drivers[name=\"d\"].c"),
          "{'apiVersion':'storage.k8s.io/v1','kind':'CSINode','metadata':{'name':'n'},"
          "'spec':{'drivers':[{'name':'d','nodeID':'1','c':2}]}}" },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_SENT(&w, 500, "APPLY", rows[i].url, rows[i].body);
        ASSERT_GOT(&w, rows[i].message, "message");
        ASSERT_GOT(&w, "-", "reason");
        ASSERT_GOT(&w, "-", "details");
    }
    /* Kinds of which the server knows some fields only keep the others. */
    ASSERT_SENT(&w, 201, "APPLY", NODES "/n?fieldManager=m",
                "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n'},'spec':{'fieldOfTomorrow':1}}");
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
    buf_add_cstr(&body, "{'metadata':{'name':'a','ownerReferences':[");
    for (unsigned i = 0; i < 100000; i++)
        buf_addf(&body, "%s{'uid':'%u'}", i ? "," : "", i);
    buf_add_cstr(&body, "]}}");
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

/* Each creation draws the same names, of which there is one more every time. */
TEST(names_that_are_all_taken)
{
    _cleanup_(served_done) struct served w;
    struct rng saved;
    char message[256];

    served_init(&w);
    saved = w.server->rng;
    for (int i = 0; i < 8; i++) {
        w.server->rng = saved;
        ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'generateName':'gen-'}}");
    }
    w.server->rng = saved;
    ASSERT_SENT(&w, 409, "POST", MAPS, "{'metadata':{'generateName':'gen-'}}");
    ASSERT_GOT(&w, "AlreadyExists", "reason");
    ASSERT_GOT(&w, "1", "details/retryAfterSeconds");
    (void)snprintf(message, sizeof message,
                   "configmaps \"%s\" already exists, the server was not able to generate a unique name for "
                   "the object",
                   got(&w, "details/name"));
    ASSERT_STR(message, got(&w, "message"));
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'generateName':'gen-'}}");
}

/* A body that is a string of so many bytes between two others. */
static void fill_body(struct buf *body, const char *before, size_t count, const char *after)
{
    buf_clear(body);
    buf_add_cstr(body, before);
    char *at = buf_grow(body, count);
    assert_non_null(at);
    memset(at, 'x', count);
    buf_add_cstr(body, after);
}

/* apiserver-82 */
TEST(what_is_too_large)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT((size_t)8 << 20);
    _cleanup_(served_done) struct served w;

    served_init(&w);
    fill_body(&body, "{'metadata':{'name':'a'},'data':{'k':'", (size_t)4 << 20, "'}}");
    ASSERT_REFUSED(&w, 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728", "POST",
                   MAPS, buf_cstr(&body));
    ASSERT_SENT(&w, 413, "PUT", MAPS "/a", buf_cstr(&body));
    ASSERT_SENT(&w, 413, "MERGE", MAPS "/a", buf_cstr(&body));
    ASSERT_SENT(&w, 413, "APPLY", MAPS "/a?fieldManager=m", buf_cstr(&body));
    ASSERT_SENT(&w, 413, "DELETE", MAPS "/a", buf_cstr(&body));
    fill_body(&body, "{'metadata':{'name':'a'},'data':{'k':'", 1200000, "'}}");
    ASSERT_SENT(&w, 422, "POST", MAPS, buf_cstr(&body));
    assert_non_null(strstr(got(&w, "message"), "Too long: may not be more than 1048576 bytes"));
    fill_body(&body, "{'metadata':{'name':'p'}," POD_SPEC ",'unknown':'", 1600000, "'}");
    ASSERT_REFUSED(&w, 413, "RequestEntityTooLarge", "Request entity too large: limit is 1572864", "POST",
                   PODS, buf_cstr(&body));
    fill_body(&body, "{'metadata':{'name':'p'}," POD_SPEC ",'unknown':'", 1500000, "'}");
    ASSERT_SENT(&w, 201, "POST", PODS, buf_cstr(&body));
    ASSERT_SENT(&w, 200, "GET", PODS "/p", NULL);
    ASSERT_SENT(&w, 404, "GET", MAPS "/a", NULL);
}

/* apiserver-65 */
TEST(status_writes_that_keep_the_metadata)
{
    static const struct {
        const char *path, *body, *status, *set;
    } rows[] = {
        { ATTACHMENTS,
          "{'metadata':{'name':'x','labels':{'a':'b'}},'spec':{'attacher':'d.io','nodeName':'n1','source':"
          "{'persistentVolumeName':'v'}}}",
          "'spec':{'attacher':'other.io'},'status':{'attached':true}", "status/attached" },
        { SNAPSHOTS,
          "{'apiVersion':'snapshot.storage.k8s.io/v1','kind':'VolumeSnapshot','metadata':{'name':'x',"
          "'labels':{'a':'b'}},'spec':{'source':{'persistentVolumeClaimName':'c'}}}",
          "'spec':{'source':{'persistentVolumeClaimName':'d'}},'status':{'readyToUse':true}",
          "status/readyToUse" },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char target[128], body[512], spec[256];

        ASSERT_SENT(&w, 201, "POST", rows[i].path, rows[i].body);
        (void)snprintf(spec, sizeof spec, "%s", got(&w, "spec"));
        (void)snprintf(target, sizeof target, "%s/x/status", rows[i].path);
        (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'c':'d'},'finalizers':['e/f']},%s}",
                       rows[i].status);
        ASSERT_SENT(&w, 200, "MERGE", target, body);
        ASSERT_GOT(&w, "true", rows[i].set);
        ASSERT_GOT(&w, "{'a':'b'}", "metadata/labels");
        ASSERT_GOT(&w, "-", "metadata/finalizers");
        ASSERT_GOT(&w, spec, "spec");
    }
}

TEST(finalizers_of_namespaces)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", NAMESPACES, "{'metadata':{'name':'t'}}");
    ASSERT_SENT(&w, 404, "PUT", NAMESPACES "/u/finalize", "{'metadata':{'name':'u'}}");
    ASSERT_SENT(&w, 405, "GET", NAMESPACES "/t/finalize", NULL);
    ASSERT_SENT(&w, 422, "PUT", NAMESPACES "/t/finalize",
                "{'metadata':{'name':'t'},'spec':{'finalizers':['bare']}}");
    ASSERT_SENT(&w, 200, "PUT", NAMESPACES "/t", "{'metadata':{'name':'t'},'spec':{'finalizers':['a/b']}}");
    ASSERT_GOT(&w, "['kubernetes']", "spec/finalizers"); /* not this way */
    ASSERT_SENT(&w, 200, "PUT", NAMESPACES "/t/finalize",
                "{'metadata':{'name':'t'},'spec':{'finalizers':['a/b','kubernetes']},"
                "'status':{'phase':'Terminating'}}");
    ASSERT_GOT(&w, "['a/b','kubernetes']", "spec/finalizers");
    ASSERT_GOT(&w, "Active", "status/phase");
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/t", NULL);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/t", NULL); /* empty by now, and held */
    ASSERT_GOT(&w, "['a/b']", "spec/finalizers");
    ASSERT_SENT(&w, 200, "PUT", NAMESPACES "/t/finalize", "{'metadata':{'name':'t'},'spec':{}}");
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/t", NULL);
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
