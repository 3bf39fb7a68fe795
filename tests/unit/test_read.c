/* Get and list: answers, versions, pages, selectors, shapes. */
#include "tests/unit/test_reads.h"

#include "apiserver/await.h"
#include "base/rng.h"

#define MAPS "/api/v1/configmaps"

static int64_t put_map(struct world *w, const char *ns, const char *name, const char *labels)
{
    char text[512];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','namespace':'%s','labels':{%s}}}", name, ns,
                   labels);
    return world_put(w, KIND_CONFIG_MAP, text);
}

static int64_t put_volume(struct world *w, const char *name)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','uid':'u-%s','creationTimestamp':'2023-11-14T22:00:00Z'},"
                   "'spec':{'capacity':{'storage':'5Gi'}},'status':{'phase':'Available'}}",
                   name, name);
    return world_put(w, KIND_VOLUME, text);
}

/* --- Get --- */

TEST(get_answers_the_object)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 100);
    put_map(&w, "shop", "c", "'a':'b'");
    ASSERT_ANSWER(
        &w, 200,
        "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'c','namespace':'shop','resourceVersion':"
        "'1','labels':{'a':'b'}}}",
        "/api/v1/namespaces/shop/configmaps/c");
    ask(&w, &a, "/api/v1/namespaces/shop/configmaps/c", NULL);
    assert_null(a.call.result); /* who reads text needs no object */
    ASSERT_STR("application/json", a.call.content_type);
}

TEST(apiserver_8_get_of_nothing)
{
    _cleanup_(world_done) struct world w;

    world_init(&w, 100);
    put_map(&w, "shop", "c", "");
    ASSERT_ANSWER(
        &w, 404,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'persistentvolumes "
        "\\'nope\\' not found','reason':'NotFound','details':{'name':'nope','kind':'persistentvolumes'},"
        "'code':404}",
        "/api/v1/persistentvolumes/nope");
    ASSERT_ANSWER(
        &w, 404,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':"
        "'storageclasses.storage.k8s.io \\'nope\\' not found','reason':'NotFound','details':{'name':'nope',"
        "'group':'storage.k8s.io','kind':'storageclasses'},'code':404}",
        "/apis/storage.k8s.io/v1/storageclasses/nope");
    ASSERT_ANSWER(
        &w, 404,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'services \\'s\\' not "
        "found','reason':'NotFound','details':{'name':'s','kind':'services'},'code':404}",
        "/api/v1/namespaces/shop/services/s");
}

#define TOO_LARGE(asked, current)                                                                        \
    "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'Timeout: Too large " \
    "resource "                                                                                          \
    "version: " asked ", current: " current "','reason':'Timeout','details':{'causes':[{'reason':"       \
    "'ResourceVersionTooLarge','message':'Too large resource "                                           \
    "version'}],'retryAfterSeconds':1},'code':504}\n"

TEST(get_waits_for_its_revision)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked in_time, late, any;

    world_init(&w, 100);
    put_map(&w, "shop", "c", "");
    ask(&w, &any, "/api/v1/namespaces/shop/configmaps/c?resourceVersion=0", NULL);
    ASSERT_INT(200, any.call.status);
    ask(&w, &in_time, "/api/v1/namespaces/shop/configmaps/c?resourceVersion=2", NULL);
    ask(&w, &late, "/api/v1/namespaces/shop/configmaps/c?resourceVersion=3", NULL);
    assert_false(in_time.is_answered);
    world_pass(&w, 2 * NS_PER_S);
    assert_false(in_time.is_answered);
    put_volume(&w, "any-kind-will-do");
    assert_true(in_time.is_answered);
    ASSERT_INT(200, in_time.call.status);
    world_pass(&w, NS_PER_S - 1);
    assert_false(late.is_answered);
    world_pass(&w, 1);
    assert_true(late.is_answered);
    ASSERT_INT(504, late.call.status);
    ASSERT_STR(kind_row(TOO_LARGE("3", "2")), buf_cstr(&late.call.reply));
}

TEST(get_with_a_bad_revision)
{
    _cleanup_(world_done) struct world w;

    world_init(&w, 100);
    ASSERT_ANSWER(
        &w, 400,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'resourceVersion: "
        "Invalid value: \\'x\\': strconv.ParseUint: parsing \\'x\\': invalid syntax','reason':'BadRequest',"
        "'code':400}",
        "/api/v1/persistentvolumes/p?resourceVersion=x");
}

/* --- Shapes --- */

TEST(shapes_of_one_object)
{
    _cleanup_(world_done) struct world w;
    const char *text;
    int status;

    world_init(&w, 100);
    put_volume(&w, "pv");
    text = answer_of(&w, "/api/v1/persistentvolumes/pv", ACCEPT_PARTIAL, &status);
    ASSERT_STR(
        kind_row(
            "{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1','metadata':{'name':'pv','uid':"
            "'u-pv','resourceVersion':'1','creationTimestamp':'2023-11-14T22:00:00Z'}}"),
        text);
    text = answer_of(&w, "/api/v1/persistentvolumes/pv", ACCEPT_TABLE, &status);
    assert_non_null(strstr(text, kind_row("{'kind':'Table','apiVersion':'meta.k8s.io/v1','metadata':{"
                                          "'resourceVersion':'1'},'columnDefinitions':[{'name':'Name'")));
    assert_non_null(strstr(text, kind_row("'rows':[{'cells':['pv','5Gi'")));
    assert_non_null(strstr(text, kind_row("'object':{'kind':'PartialObjectMetadata'")));
    text = answer_of(&w, "/api/v1/persistentvolumes/pv", "application/yaml", &status);
    assert_non_null(strstr(text, "kind: PersistentVolume\n"));
}

TEST(apiserver_12_shapes_of_a_list)
{
    _cleanup_(world_done) struct world w;
    const char *text;
    int status;

    world_init(&w, 100);
    put_volume(&w, "a");
    put_volume(&w, "b");
    text = answer_of(&w, "/api/v1/persistentvolumes", ACCEPT_PARTIAL, &status);
    ASSERT_STR(
        kind_row(
            "{'kind':'PartialObjectMetadataList','apiVersion':'meta.k8s.io/v1','metadata':{"
            "'resourceVersion':'2'},'items':[{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1',"
            "'metadata':{'name':'a','uid':'u-a','resourceVersion':'1','creationTimestamp':"
            "'2023-11-14T22:00:00Z'}},{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1',"
            "'metadata':{'name':'b','uid':'u-b','resourceVersion':'2','creationTimestamp':"
            "'2023-11-14T22:00:00Z'}}]}"),
        text);
    text = answer_of(&w, "/api/v1/persistentvolumes?limit=1", ACCEPT_TABLE, &status);
    assert_non_null(strstr(text, kind_row("'remainingItemCount':1},'columnDefinitions':[{'name':'Name'")));
    text = answer_of(&w, "/api/v1/persistentvolumes?includeObject=Object", ACCEPT_TABLE, &status);
    assert_non_null(strstr(text, kind_row("'object':{'kind':'PersistentVolume','apiVersion':'v1'")));
}

/* --- Lists --- */

#define LIST(revision, items)                                                            \
    "{'kind':'ConfigMapList','apiVersion':'v1','metadata':{'resourceVersion':'" revision \
    "'},'items':[" items "]}"
#define MAP(ns, name, revision) \
    "{'metadata':{'name':'" name "','namespace':'" ns "','resourceVersion':'" revision "'}}"

TEST(list_is_ordered_by_namespace_and_name)
{
    _cleanup_(world_done) struct world w;

    world_init(&w, 100);
    ASSERT_ANSWER(&w, 200, LIST("0", ""), MAPS);
    put_map(&w, "b", "a", "");
    put_map(&w, "a-b", "x", "");
    put_map(&w, "a", "z", "");
    put_map(&w, "a", "b", "");
    put_volume(&w, "moves-the-revision");
    ASSERT_ANSWER(
        &w, 200,
        LIST("5", MAP("a", "b", "4") "," MAP("a", "z", "3") "," MAP("a-b", "x", "2") "," MAP("b", "a", "1")),
        MAPS);
    ASSERT_ANSWER(&w, 200, LIST("5", MAP("a", "b", "4") "," MAP("a", "z", "3")),
                  "/api/v1/namespaces/a/configmaps");
    ASSERT_ANSWER(&w, 200, LIST("5", ""), "/api/v1/namespaces/none/configmaps");
}

/* apiserver-9, apiserver-36 */
TEST(lists_are_selected)
{
    _cleanup_(world_done) struct world w;

    world_init(&w, 100);
    put_map(&w, "a", "one", "");
    put_map(&w, "a", "two", "");
    put_map(&w, "b", "two", "");
    ASSERT_ANSWER(&w, 200, LIST("3", ""), "/api/v1/namespaces/a/configmaps?labelSelector=a%3Db");
    ASSERT_ANSWER(&w, 200, LIST("3", MAP("a", "two", "2") "," MAP("b", "two", "3")),
                  MAPS "?fieldSelector=metadata.name%3Dtwo");
    ASSERT_ANSWER(
        &w, 200, LIST("3", MAP("a", "two", "2")),
        "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dtwo&limit=500&resourceVersion=0");
    ASSERT_ANSWER(&w, 200, LIST("3", ""),
                  "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dthree");
    ASSERT_ANSWER(&w, 200, LIST("3", ""), "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3D");
    ASSERT_ANSWER(&w, 200, LIST("3", MAP("b", "two", "3")), MAPS "?fieldSelector=metadata.namespace%3Db");
    ASSERT_ANSWER(&w, 200, LIST("3", ""),
                  "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dtwo,metadata.namespace%3Db");
    ASSERT_ANSWER(&w, 200, LIST("3", MAP("a", "one", "1")), MAPS "?fieldSelector=metadata.name!%3Dtwo");
    ASSERT_ANSWER(
        &w, 400,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'\\'x\\' is not a "
        "known field selector: only \\'metadata.name\\', \\'metadata.namespace\\'','reason':'BadRequest',"
        "'code':400}",
        MAPS "?fieldSelector=x%3Dy");
    ASSERT_ANSWER(
        &w, 422,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':"
        "'ListOptions.meta.k8s.io \\'\\' is invalid: sendInitialEvents: Forbidden: sendInitialEvents is "
        "forbidden for list','reason':'Invalid','details':{'group':'meta.k8s.io','kind':'ListOptions',"
        "'causes':[{'reason':'FieldValueForbidden','message':'Forbidden: sendInitialEvents is forbidden for "
        "list','field':'sendInitialEvents'}]},'code':422}",
        MAPS "?sendInitialEvents=true");
}

/* What kubectl cluster-info asks for. */
TEST(lists_of_services)
{
    _cleanup_(world_done) struct world w;
    const char *text;
    int status;

    world_init(&w, 100);
    put_map(&w, "a", "one", "");
    ASSERT_ANSWER(
        &w, 200, "{'kind':'ServiceList','apiVersion':'v1','metadata':{'resourceVersion':'1'},'items':[]}",
        "/api/v1/namespaces/kube-system/services?labelSelector=kubernetes.io/cluster-service%3Dtrue");
    ASSERT_ANSWER(&w, 200,
                  "{'kind':'EndpointsList','apiVersion':'v1','metadata':{'resourceVersion':'1'},'items':[]}",
                  "/api/v1/endpoints");
    text = answer_of(&w, "/api/v1/services", ACCEPT_TABLE, &status);
    assert_non_null(strstr(text, kind_row("'rows':[]")));
    text = answer_of(&w, "/api/v1/services", ACCEPT_PARTIAL, &status);
    assert_non_null(strstr(text, kind_row("'items':[]")));
}

/* --- Events, by either group --- */

#define EVENT(name)                                                                           \
    "{'metadata':{'name':'" name                                                              \
    "','namespace':'a'},'involvedObject':{'kind':'Pod','namespace':'a','name':'p'},'reason':" \
    "'R','message':'m'}"

TEST(apiserver_85_events_by_either_group)
{
    _cleanup_(world_done) struct world w;
    const char *text;
    int status;

    world_init(&w, 100);
    world_put(&w, KIND_EVENT, EVENT("e"));
    text = answer_of(&w, "/api/v1/namespaces/a/events/e", NULL, &status);
    assert_non_null(strstr(text, kind_row("'involvedObject':{'kind':'Pod'")));
    text = answer_of(&w, "/apis/events.k8s.io/v1/namespaces/a/events/e", NULL, &status);
    ASSERT_INT(200, status);
    assert_non_null(
        strstr(text, kind_row("{'kind':'Event','apiVersion':'events.k8s.io/v1','metadata':{'name':'e'")));
    assert_non_null(strstr(text, kind_row("'regarding':{'kind':'Pod'")));
    assert_non_null(strstr(text, kind_row("'note':'m'")));
    text = answer_of(&w, "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp", NULL, &status);
    assert_non_null(strstr(text, kind_row("{'kind':'EventList','apiVersion':'events.k8s.io/v1','metadata':{"
                                          "'resourceVersion':'1'},'items':[{'metadata':{'name':'e'")));
    assert_non_null(strstr(text, kind_row("'note':'m'")));
    text = answer_of(&w, "/apis/events.k8s.io/v1/events?includeObject=Object", ACCEPT_TABLE, &status);
    assert_non_null(strstr(text, kind_row("'object':{'kind':'Event','apiVersion':'events.k8s.io/v1'")));
    text = answer_of(&w, "/apis/events.k8s.io/v1/events", ACCEPT_TABLE, &status);
    assert_non_null(strstr(text, kind_row("'object':{'kind':'PartialObjectMetadata'")));
    ASSERT_ANSWER(
        &w, 404,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'events.events.k8s.io "
        "\\'x\\' not found','reason':'NotFound','details':{'name':'x','group':'events.k8s.io','kind':'events'"
        "},'code':404}",
        "/apis/events.k8s.io/v1/namespaces/a/events/x");
}

/* --- Pages --- */

struct listing {
    struct buf names; /* "ns/name@revision " of every item, page after page */
    int64_t revision;
    int64_t remaining;
    char token[1024];
    int items;
    int status;
};

/* One page, added to what came before. */
static void list_page(struct world *w, const char *query, struct listing *l)
{
    _cleanup_(json_done_p) struct json d;
    char target[2048];
    json_ref v;

    json_init(&d, 64 << 20);
    (void)snprintf(target, sizeof target, "%s%s%s", query, l->token[0] != '\0' ? "&continue=" : "", l->token);
    ASSERT_OK(json_parse(&d, str_of(answer_of(w, target, NULL, &l->status)), &v, &err));
    l->token[0] = '\0';
    json_ref meta = json_get(&d, v, "metadata");
    (void)snprintf(l->token, sizeof l->token, "%.*s", STR_ARG(json_get_text(&d, meta, "continue")));
    if (l->status != 200)
        return;
    assert_true(str_to_int64(json_get_text(&d, meta, "resourceVersion"), &l->revision));
    l->remaining = -1;
    (void)json_int64(&d, json_get(&d, meta, "remainingItemCount"), &l->remaining);
    l->items = 0;
    for (json_ref m = json_first(&d, json_get(&d, v, "items")); m; m = json_next(&d, m)) {
        json_ref mm = json_get(&d, m, "metadata");
        struct str ns = json_get_text(&d, mm, "namespace"), name = json_get_text(&d, mm, "name");
        buf_addf(&l->names, "%.*s/%.*s@%.*s ", STR_ARG(ns), STR_ARG(name),
                 STR_ARG(json_get_text(&d, mm, "resourceVersion")));
        l->items++;
    }
}

static void listing_done(struct listing *l)
{
    buf_done(&l->names);
}

#define LISTING_INIT ((struct listing){ .names = BUF_INIT(16 << 20) })

TEST(apiserver_72_pages_are_consistent)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(listing_done) struct listing l = LISTING_INIT;

    world_init(&w, 100);
    for (int i = 0; i < 5; i++)
        put_map(&w, "n", (const char *[]){ "a", "b", "c", "d", "e" }[i], "'x':'y'");
    list_page(&w, MAPS "?limit=2", &l);
    ASSERT_INT(3, l.remaining);
    ASSERT_INT(5, l.revision);
    put_map(&w, "n", "bb", ""); /* others write: it does not show */
    put_map(&w, "n", "d", "");
    world_delete(&w, KIND_CONFIG_MAP, "{'metadata':{'name':'c','namespace':'n'}}");
    list_page(&w, MAPS "?limit=2", &l);
    ASSERT_INT(1, l.remaining);
    ASSERT_INT(5, l.revision);
    list_page(&w, MAPS "?limit=2", &l);
    ASSERT_INT(-1, l.remaining);
    ASSERT_STR("", l.token);
    ASSERT_STR("n/a@1 n/b@2 n/c@3 n/d@4 n/e@5 ", buf_cstr(&l.names));
    /* With a selector nobody counts. */
    buf_clear(&l.names);
    list_page(&w, MAPS "?limit=2&labelSelector=x%3Dy", &l);
    ASSERT_INT(-1, l.remaining);
    assert_true(l.token[0] != '\0');
    list_page(&w, MAPS "?limit=2&labelSelector=x%3Dy", &l);
    ASSERT_STR("", l.token);
    ASSERT_STR("n/a@1 n/b@2 n/e@5 ", buf_cstr(&l.names));
}

TEST(remaining_is_counted_in_a_namespace_too)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(listing_done) struct listing l = LISTING_INIT;

    world_init(&w, 100);
    put_map(&w, "m", "x", "");
    for (int i = 0; i < 4; i++)
        put_map(&w, "n", (const char *[]){ "a", "b", "c", "d" }[i], "");
    put_map(&w, "o", "x", "");
    list_page(&w, "/api/v1/namespaces/n/configmaps?limit=1", &l);
    ASSERT_INT(3, l.remaining);
    list_page(&w, "/api/v1/namespaces/n/configmaps?limit=2", &l);
    ASSERT_INT(1, l.remaining);
    list_page(&w, "/api/v1/namespaces/n/configmaps?limit=1", &l);
    ASSERT_INT(-1, l.remaining);
    ASSERT_STR("", l.token);
    ASSERT_STR("n/a@2 n/b@3 n/c@4 n/d@5 ", buf_cstr(&l.names));
}

TEST(apiserver_73_a_token_can_expire)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(listing_done) struct listing l = LISTING_INIT;
    const char *text;
    char target[2048];
    int status;

    world_init(&w, 4);
    for (int i = 0; i < 4; i++)
        put_map(&w, "n", (const char *[]){ "a", "b", "c", "d" }[i], "");
    list_page(&w, MAPS "?limit=2", &l);
    for (int i = 0; i < 5; i++)
        put_map(&w, "n", "cc", "");
    (void)snprintf(target, sizeof target, MAPS "?limit=1&continue=%s", l.token);
    text = answer_of(&w, target, NULL, &status);
    ASSERT_INT(410, status);
    assert_non_null(strstr(
        text,
        kind_row("'status':'Failure','message':'The provided continue parameter is too old to display a "
                 "consistent list result. You can start a new list without the continue parameter, or use "
                 "the continue token in this response to retrieve the remainder of the results. Continuing "
                 "with the provided token results in an inconsistent list - objects that were created, "
                 "modified, or deleted between the time the first chunk was returned and now may show up in "
                 "the list.','reason':'Expired','code':410}")));
    list_page(&w, MAPS "?limit=1", &l);
    ASSERT_INT(410, l.status);
    assert_true(l.token[0] != '\0'); /* and using it works */
    list_page(&w, MAPS "?limit=1", &l);
    ASSERT_INT(200, l.status);
    ASSERT_INT(9, l.revision);
    ASSERT_INT(2, l.remaining);
    list_page(&w, MAPS "?limit=5", &l);
    ASSERT_STR("n/a@1 n/b@2 n/c@3 n/cc@9 n/d@4 ", buf_cstr(&l.names));
}

/* A token from before a restore speaks of revisions that this server never had. */
TEST(a_token_of_the_future_has_expired)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(listing_done) struct listing l = LISTING_INIT;
    _cleanup_(buf_done_p) struct buf token = BUF_INIT(1024);

    world_init(&w, 4);
    put_map(&w, "n", "a", "");
    put_map(&w, "n", "b", "");
    continue_token_write(&(struct continue_token){ 1000, STR_LIT("n"), STR_LIT("a"), -1 }, &token);
    (void)snprintf(l.token, sizeof l.token, "%s", buf_cstr(&token));
    list_page(&w, MAPS "?limit=1", &l);
    ASSERT_INT(410, l.status);
    list_page(&w, MAPS "?limit=1", &l);
    ASSERT_STR("n/b@2 ", buf_cstr(&l.names));
}

TEST(apiserver_74_a_list_waits_for_its_revision)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked in_time, late;

    world_init(&w, 100);
    put_map(&w, "n", "a", "");
    ask(&w, &in_time, MAPS "?resourceVersion=3", NULL);
    ask(&w, &late, MAPS "?resourceVersion=99999999&resourceVersionMatch=Exact", NULL);
    put_map(&w, "n", "b", "");
    assert_false(in_time.is_answered);
    put_map(&w, "n", "c", "");
    assert_true(in_time.is_answered);
    ASSERT_STR(kind_row(LIST("3", MAP("n", "a", "1") "," MAP("n", "b", "2") "," MAP("n", "c", "3")) "\n"),
               buf_cstr(&in_time.call.reply));
    world_pass(&w, AWAIT_REVISION_MS_MAX * NS_PER_MS);
    assert_true(late.is_answered);
    ASSERT_STR(kind_row(TOO_LARGE("99999999", "3")), buf_cstr(&late.call.reply));
    ASSERT_STR("Retry-After", late.call.headers.items[0].name);
    ASSERT_STR("1", late.call.headers.items[0].value);
}

TEST(a_list_at_an_exact_revision)
{
    _cleanup_(world_done) struct world w;

    world_init(&w, 3);
    put_map(&w, "n", "a", "");
    put_map(&w, "n", "b", "");
    put_map(&w, "n", "a", "");
    ASSERT_ANSWER(&w, 200, LIST("2", MAP("n", "a", "1") "," MAP("n", "b", "2")),
                  MAPS "?resourceVersion=2&resourceVersionMatch=Exact");
    ASSERT_ANSWER(&w, 200, LIST("3", MAP("n", "a", "3") "," MAP("n", "b", "2")),
                  MAPS "?resourceVersion=2&resourceVersionMatch=NotOlderThan");
    ASSERT_ANSWER(&w, 200, LIST("3", MAP("n", "a", "3") "," MAP("n", "b", "2")), MAPS "?resourceVersion=2");
    ASSERT_ANSWER(&w, 200, LIST("1", MAP("n", "a", "1")),
                  MAPS
                  "?resourceVersion=1&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da,metadata."
                  "namespace%3Dn");
    for (int i = 0; i < 3; i++)
        put_map(&w, "n", "c", "");
    ASSERT_ANSWER(
        &w, 410,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'The resourceVersion "
        "for the provided list is too old.','reason':'Expired','code':410}",
        MAPS "?resourceVersion=2&resourceVersionMatch=Exact");
}

/* --- Pages against a model --- */

#define MODEL_NAMES 40

struct model {
    int64_t revision[MODEL_NAMES]; /* 0: not there */
    bool has_label[MODEL_NAMES];
};

static void model_key(size_t i, char ns[24], char name[8])
{
    (void)snprintf(ns, 24, "n%zu", i / 10);
    (void)snprintf(name, 8, "%c", (char)('a' + i % 10));
}

static void model_write(struct world *w, struct model *m, struct rng *rng)
{
    size_t i = rng_below(rng, MODEL_NAMES);
    char ns[24], name[8], text[128];

    model_key(i, ns, name);
    m->has_label[i] = rng_chance(rng, 50);
    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','namespace':'%s','labels':{%s}}}", name, ns,
                   m->has_label[i] ? "'x':'y'" : "");
    if (m->revision[i] && rng_chance(rng, 40)) {
        (void)world_delete(w, KIND_CONFIG_MAP, text);
        m->revision[i] = 0;
    } else {
        m->revision[i] = world_put(w, KIND_CONFIG_MAP, text);
    }
}

static void model_list(const struct model *m, const char *only_ns, bool only_label, struct buf *out)
{
    for (size_t i = 0; i < MODEL_NAMES; i++) {
        char ns[24], name[8];

        model_key(i, ns, name);
        if (m->revision[i] && (!only_ns || strcmp(ns, only_ns) == 0) && (!only_label || m->has_label[i]))
            buf_addf(out, "%s/%s@%" PRId64 " ", ns, name, m->revision[i]);
    }
}

/* Any list in pages of any size, with writes between them, is the list as it was when it began. */
TEST(paged_lists_equal_the_model)
{
    _cleanup_(world_done) struct world w;
    struct model now = { 0 };
    struct rng rng;

    world_init(&w, 10000);
    rng_init(&rng, 42);
    for (int round = 0; round < 300; round++) {
        _cleanup_(listing_done) struct listing l = LISTING_INIT;
        _cleanup_(buf_done_p) struct buf expected = BUF_INIT(1 << 16);
        bool in_ns = rng_chance(&rng, 50), by_label = rng_chance(&rng, 50);
        size_t total = 0, seen = 0;
        int64_t revision;

        for (uint64_t n = rng_below(&rng, 10); n; n--)
            model_write(&w, &now, &rng);
        model_list(&now, in_ns ? "n2" : NULL, by_label, &expected);
        for (const char *c = buf_cstr(&expected); *c; c++)
            total += *c == ' ';
        revision = store_revision(w.store);
        do {
            char query[128];
            (void)snprintf(query, sizeof query, "/api/v1%s/configmaps?limit=%d%s",
                           in_ns ? "/namespaces/n2" : "", (int)rng_below(&rng, 8) + 1,
                           by_label ? "&labelSelector=x" : "");
            list_page(&w, query, &l);
            ASSERT_INT(200, l.status);
            ASSERT_INT(revision, l.revision);
            seen += (size_t)l.items;
            ASSERT_INT(by_label || l.token[0] == '\0' ? -1 : (int64_t)(total - seen), l.remaining);
            for (uint64_t n = rng_below(&rng, 5); n; n--)
                model_write(&w, &now, &rng);
        } while (l.token[0] != '\0');
        ASSERT_STR(buf_cstr(&expected), buf_cstr(&l.names));
    }
}

TEST_MAIN()
