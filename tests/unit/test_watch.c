/* Watches: where they start, what they see, bookmarks, ends, bounds. */
#include "tests/unit/test_reads.h"

#include "apiserver/watch_int.h"
#include "base/rng.h"

#define MAPS "/api/v1/configmaps"

static int64_t put_map(struct world *w, const char *name, const char *labels)
{
    char text[512];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','namespace':'n','labels':{%s}}}", name,
                   labels);
    return world_put(w, KIND_CONFIG_MAP, text);
}

static int64_t delete_map(struct world *w, const char *name)
{
    char text[512];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','namespace':'n'}}", name);
    return world_delete(w, KIND_CONFIG_MAP, text);
}

/* What the stream has to say, as it is; then its end, if that is it. */
static const char *said(struct asked *a)
{
    static struct buf out = { .len_max = 256 << 20 };

    if (watch_drain(a, 4096, &out))
        buf_add_cstr(&out, "END");
    return buf_cstr(&out);
}

/* The same, an event a word: "ADDED n/a@1", labels behind a colon, and @revision alone for bookmarks. */
static const char *heard(struct asked *a)
{
    static struct buf out = { .len_max = 16 << 20 };
    struct str rest = str_of(said(a));

    buf_clear(&out);
    while (rest.s && rest.len) {
        _cleanup_(json_done_p) struct json d;
        struct str line = str_next(&rest, '\n');
        json_ref v, meta, labels;

        if (out.len)
            buf_add_char(&out, ' ');
        if (str_is(line, "END")) {
            buf_add_cstr(&out, "END");
            break;
        }
        json_init(&d, 16 << 20);
        ASSERT_OK(json_parse(&d, line, &v, &err));
        meta = json_path(&d, v, "object", "metadata");
        labels = json_get(&d, meta, "labels");
        buf_addf(&out, "%.*s ", STR_ARG(json_get_text(&d, v, "type")));
        if (str_is(json_get_text(&d, v, "type"), "ERROR")) {
            buf_addf(&out, "%.*s", STR_ARG(json_get_text(&d, json_get(&d, v, "object"), "message")));
            continue;
        }
        buf_addf(&out, "%.*s@%.*s", STR_ARG(json_get_text(&d, meta, "name")),
                 STR_ARG(json_get_text(&d, meta, "resourceVersion")));
        if (json_get(&d, json_get(&d, meta, "annotations"), "k8s.io/initial-events-end"))
            buf_add_cstr(&out, "(initial)");
        for (json_ref m = json_first(&d, labels); m; m = json_next(&d, m))
            buf_addf(&out, ":%.*s=%.*s", STR_ARG(json_key(&d, m)), STR_ARG(json_text(&d, m)));
    }
    return buf_cstr(&out);
}

/* --- Where it starts --- */

TEST(apiserver_34_from_what_there_is)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked absent, zero, one;

    world_init(&w, 100);
    put_map(&w, "b", "");
    put_map(&w, "a", "");
    watch_open(&w, &absent, MAPS "?watch=true");
    watch_open(&w, &zero, MAPS "?watch=1&resourceVersion=0");
    watch_open(
        &w, &one,
        "/api/v1/namespaces/n/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=0&watch=true");
    put_map(&w, "a", "'x':'y'");
    put_map(&w, "c", "");
    delete_map(&w, "b");
    ASSERT_STR("ADDED a@2 ADDED b@1 MODIFIED a@3:x=y ADDED c@4 DELETED b@5", heard(&absent));
    ASSERT_STR("ADDED a@2 ADDED b@1 MODIFIED a@3:x=y ADDED c@4 DELETED b@5", heard(&zero));
    ASSERT_STR("ADDED a@2 MODIFIED a@3:x=y", heard(&one));
    put_map(&w, "a", "");
    put_map(&w, "c", "");
    ASSERT_STR("MODIFIED a@6 MODIFIED c@7", heard(&absent));
    ASSERT_STR("MODIFIED a@6", heard(&one));
    ASSERT_STR("", heard(&one));
}

TEST(apiserver_33_from_a_revision)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked past, newest, future;

    world_init(&w, 100);
    put_map(&w, "a", "");
    put_map(&w, "b", "");
    put_map(&w, "a", "");
    watch_open(&w, &past, MAPS "?watch=true&resourceVersion=1");
    watch_open(&w, &newest, MAPS "?watch=true&resourceVersion=3");
    watch_open(&w, &future, MAPS "?watch=true&resourceVersion=4");
    ASSERT_STR("", said(&newest));
    put_map(&w, "c", "");
    put_map(&w, "d", "");
    ASSERT_STR("ADDED b@2 MODIFIED a@3 ADDED c@4 ADDED d@5", heard(&past));
    ASSERT_STR("ADDED c@4 ADDED d@5", heard(&newest));
    ASSERT_STR("ADDED d@5", heard(&future)); /* nothing until then */
}

TEST(events_are_lines)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 100);
    watch_open(&w, &a, MAPS "?watch=true");
    put_map(&w, "a", "");
    ASSERT_STR(
        kind_row("{'type':'ADDED','object':{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a',"
                 "'namespace':'n','resourceVersion':'1'}}}\n"),
        said(&a));
}

TEST(the_old_prefix_and_a_name_in_the_path)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked all, in_ns, one, by_path;

    world_init(&w, 100);
    put_map(&w, "a", "");
    put_map(&w, "b", "");
    watch_open(&w, &all, "/api/v1/watch/configmaps");
    watch_open(&w, &in_ns, "/api/v1/watch/namespaces/n/configmaps");
    watch_open(&w, &one, "/api/v1/watch/namespaces/n/configmaps/b");
    watch_open(&w, &by_path, "/api/v1/namespaces/n/configmaps/b?watch=true");
    ASSERT_STR("ADDED a@1 ADDED b@2", heard(&all));
    ASSERT_STR("ADDED a@1 ADDED b@2", heard(&in_ns));
    ASSERT_STR("ADDED b@2", heard(&one));
    ASSERT_STR("ADDED b@2", heard(&by_path));
    put_map(&w, "a", "");
    put_map(&w, "b", "");
    ASSERT_STR("MODIFIED b@4", heard(&one));
    ASSERT_STR("MODIFIED b@4", heard(&by_path));
}

TEST(apiserver_75_an_old_revision_is_gone)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 3);
    for (int i = 0; i < 8; i++)
        put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=2");
    ASSERT_STR(
        kind_row(
            "{'type':'ERROR','object':{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
            "'message':'too old resource version: 2 (5)','reason':'Expired','code':410}}\nEND"),
        said(&a));
    put_map(&w, "a", "");
    ASSERT_STR("END", said(&a));
}

/* --- Initial events --- */

TEST(apiserver_78_initial_events_end_with_a_bookmark)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 100);
    put_map(&w, "a", "");
    put_map(&w, "b", "");
    world_put(&w, KIND_NAMESPACE, "{'metadata':{'name':'n'}}");
    watch_open(
        &w, &a,
        MAPS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    put_map(&w, "c", "");
    ASSERT_STR("ADDED a@1 ADDED b@2 BOOKMARK @3(initial) ADDED c@4", heard(&a));
}

TEST(the_bookmark_in_full)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked plain, partial, table;
    static const char target[] =
        MAPS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

    world_init(&w, 100);
    world_put(&w, KIND_NAMESPACE, "{'metadata':{'name':'n'}}");
    watch_open(&w, &plain, target);
    watch_open_as(&w, &partial, target, ACCEPT_PARTIAL);
    watch_open_as(&w, &table, target, ACCEPT_TABLE);
    ASSERT_STR(
        kind_row("{'type':'BOOKMARK','object':{'kind':'ConfigMap','apiVersion':'v1','metadata':{"
                 "'resourceVersion':'1','creationTimestamp':null,'annotations':{'k8s.io/initial-events-end':"
                 "'true'}}}}\n"),
        said(&plain));
    ASSERT_STR(
        kind_row("{'type':'BOOKMARK','object':{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1',"
                 "'metadata':{'resourceVersion':'1','creationTimestamp':null,'annotations':{"
                 "'k8s.io/initial-events-end':'true'}}}}\n"),
        said(&partial));
    ASSERT_STR(
        kind_row("{'type':'BOOKMARK','object':{'kind':'Table','apiVersion':'meta.k8s.io/v1','metadata':{"
                 "'resourceVersion':'1'},'columnDefinitions':null,'rows':[]}}\n"),
        said(&table));
}

/* Bookmarks are for those who can read them. */
TEST(initial_events_without_bookmarks)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked sent, none;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &sent, MAPS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    watch_open(&w, &none, MAPS "?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    put_map(&w, "b", "");
    ASSERT_STR("ADDED a@1 ADDED b@2", heard(&sent));
    ASSERT_STR("ADDED b@2", heard(&none));
}

TEST(initial_events_of_what_is_not_there_yet)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked in_time, late;
    static const char target[] = MAPS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                                      "allowWatchBookmarks=true&resourceVersion=";
    char at[256];

    world_init(&w, 100);
    (void)snprintf(at, sizeof at, "%s2", target);
    ask(&w, &in_time, at, NULL);
    (void)snprintf(at, sizeof at, "%s3", target);
    ask(&w, &late, at, NULL);
    put_map(&w, "a", "");
    assert_false(in_time.is_answered);
    put_map(&w, "b", "");
    assert_true(in_time.is_answered);
    ASSERT_STR("ADDED a@1 ADDED b@2 BOOKMARK @2(initial)", heard(&in_time));
    world_pass(&w, 3 * NS_PER_S);
    ASSERT_INT(504, late.call.status);
    assert_null(late.call.stream);
}

/* More objects than one pull reads ahead, with changes while the client reads: each object once, as it was
 * when the watch began, and each change once. */
TEST(initial_events_come_bit_by_bit)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;
    _cleanup_(buf_done_p) struct buf expected = BUF_INIT(1 << 20), heard_all = BUF_INIT(1 << 20);
    char name[16], part[64];
    ssize_t n;

    world_init(&w, 1000);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "m%03d", i);
        put_map(&w, name, "");
        buf_addf(&expected, "ADDED %s\n", name);
    }
    watch_open(&w, &a, MAPS "?watch=true");
    n = a.call.stream->pull(a.call.stream, part, sizeof part); /* it has begun */
    buf_add(&heard_all, part, (size_t)n);
    for (int i = 0; i < 200; i += 3) {
        (void)snprintf(name, sizeof name, "m%03d", i);
        delete_map(&w, name);
        buf_addf(&expected, "DELETED %s\n", name);
    }
    while ((n = a.call.stream->pull(a.call.stream, part, sizeof part)) > 0) {
        buf_add(&heard_all, part, (size_t)n);
        assert_true(CONTAINER_OF(a.call.stream, struct watch, stream)->queue.count <= 64);
    }
    struct str rest = buf_str(&heard_all);
    _cleanup_(buf_done_p) struct buf got = BUF_INIT(1 << 20);
    while (rest.s && rest.len) {
        _cleanup_(json_done_p) struct json d;
        json_ref v;
        json_init(&d, 1 << 20);
        ASSERT_OK(json_parse(&d, str_next(&rest, '\n'), &v, &err));
        buf_addf(&got, "%.*s %.*s\n", STR_ARG(json_get_text(&d, v, "type")),
                 STR_ARG(json_get_text(&d, json_path(&d, v, "object", "metadata"), "name")));
    }
    ASSERT_STR(buf_cstr(&expected), buf_cstr(&got));
}

/* A client so slow that history moves on under its initial events cannot be told the rest. */
TEST(a_watch_that_never_catches_up_is_cut)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked slow, quick;

    world_init(&w, 10);
    put_map(&w, "a", "");
    watch_open(&w, &slow, MAPS "?watch=true");
    watch_open(&w, &quick, MAPS "?watch=true");
    ASSERT_STR("ADDED a@1", heard(&quick));
    for (int i = 0; i < 10; i++)
        put_map(&w, "a", "");
    assert_false(slow.is_cut);
    for (int i = 0; i < 3; i++)
        put_map(&w, "a", "");
    assert_true(slow.is_cut);
    assert_false(quick.is_cut);
    ASSERT_INT(1, watches_cut_count(w.server.watches));
    ASSERT_STR("END", said(&slow));
}

/* --- Transitions --- */

TEST(apiserver_76_leaving_a_selection_is_a_deletion)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a, all;

    world_init(&w, 100);
    put_map(&w, "a", "'x':'y','z':'1'");
    put_map(&w, "b", "");
    watch_open(&w, &a, MAPS "?watch=true&labelSelector=x%3Dy");
    watch_open(&w, &all, MAPS "?watch=true&resourceVersion=2");
    ASSERT_STR("ADDED a@1:x=y:z=1", heard(&a));
    put_map(&w, "a", "'z':'2'");
    ASSERT_STR("DELETED a@3:x=y:z=1", heard(&a)); /* the old labels, the new revision */
    ASSERT_STR("MODIFIED a@3:z=2", heard(&all));
    put_map(&w, "a", "'z':'3'");
    ASSERT_STR("", heard(&a));
    put_map(&w, "a", "'x':'y'");
    ASSERT_STR("ADDED a@5:x=y", heard(&a));
    put_map(&w, "a", "'x':'y','k':'v'");
    ASSERT_STR("MODIFIED a@6:k=v:x=y", heard(&a));
    delete_map(&w, "a");
    ASSERT_STR("DELETED a@7", heard(&a));
    put_map(&w, "b", "'x':'n'");
    delete_map(&w, "b");
    ASSERT_STR("", heard(&a));
}

/* The state before, with the revision of the change, in every form. */
TEST(what_leaves_is_shown_in_each_shape)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked plain, partial, table;
    static const char target[] =
        "/api/v1/namespaces?watch=true&resourceVersion=1&fieldSelector=status.phase%3DActive";

    world_init(&w, 100);
    world_put(&w, KIND_NAMESPACE, "{'metadata':{'name':'n','uid':'u'},'status':{'phase':'Active'}}");
    watch_open(&w, &plain, target);
    watch_open_as(&w, &partial, target, ACCEPT_PARTIAL);
    watch_open_as(&w, &table, target, ACCEPT_TABLE);
    world_put(&w, KIND_NAMESPACE, "{'metadata':{'name':'n','uid':'u'},'status':{'phase':'Terminating'}}");
    ASSERT_STR(
        kind_row(
            "{'type':'DELETED','object':{'kind':'Namespace','apiVersion':'v1','metadata':{'name':'n','uid':"
            "'u','resourceVersion':'2'},'spec':{},'status':{'phase':'Active'}}}\n"),
        said(&plain));
    ASSERT_STR(
        kind_row("{'type':'DELETED','object':{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1',"
                 "'metadata':{'name':'n','uid':'u','resourceVersion':'2'}}}\n"),
        said(&partial));
    assert_non_null(strstr(said(&table), kind_row("'cells':['n','Active'")));
}

struct model_object {
    int64_t revision; /* 0: not there */
    int label;
};

/* What a watch of one label should hear of going from one state to the other. */
static void model_expect(const struct model_object *old, const struct model_object *now, const char *name,
                         int64_t revision, int label, struct buf *out)
{
    bool was = old->revision && (label < 0 || old->label == label);
    bool is = now->revision && (label < 0 || now->label == label);

    if (was || is)
        buf_addf(out, "%s%s %s@%" PRId64 ":l=%d", out->len ? " " : "",
                 is ? was ? "MODIFIED" : "ADDED" : "DELETED", name, revision, is ? now->label : old->label);
}

#define MODEL_WATCHES 6
#define MODEL_NAMES 8

/* Random writes, watches with and without selectors that begin anywhere and read now and then: each hears
 * what the model says, in order, nothing twice and nothing missing. */
TEST(watches_equal_the_model)
{
    _cleanup_(world_done) struct world w;
    struct model_object objects[MODEL_NAMES] = { 0 };
    struct {
        struct asked asked;
        struct buf expected, got;
        int label;
        size_t name;
        bool is_open;
    } watches[MODEL_WATCHES] = { 0 };
    struct rng rng;

    world_init(&w, 100000);
    rng_init(&rng, 99);
    for (size_t i = 0; i < MODEL_WATCHES; i++) {
        watches[i].expected = BUF_INIT(1 << 24);
        watches[i].got = BUF_INIT(1 << 24);
    }
    for (int step = 0; step < 4000; step++) {
        size_t n = rng_below(&rng, MODEL_WATCHES), o = rng_below(&rng, MODEL_NAMES);
        struct model_object old = objects[o], *now = &objects[o];
        char name[8], text[256];

        (void)snprintf(name, sizeof name, "o%d", (int)o);
        now->label = old.revision && rng_chance(&rng, 20) ? old.label : (int)rng_below(&rng, 3);
        if (old.revision && rng_chance(&rng, 25))
            now->label = old.label; /* deleted as it is */
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','namespace':'n','labels':{'l':'%d'}}}",
                       name, now->label);
        bool is_delete = old.revision && now->label == old.label && rng_chance(&rng, 50);
        int64_t revision = world_write(&w, KIND_CONFIG_MAP, text, is_delete);
        now->revision = is_delete ? 0 : revision;
        for (size_t i = 0; i < MODEL_WATCHES; i++)
            if (watches[i].is_open && (watches[i].name == MODEL_NAMES || watches[i].name == o))
                model_expect(&old, now, name, revision, watches[i].label, &watches[i].expected);
        if (!watches[n].is_open) {
            char target[256];
            watches[n].label = (int)rng_below(&rng, 4) - 1;
            watches[n].name = rng_chance(&rng, 30) ? rng_below(&rng, MODEL_NAMES) : MODEL_NAMES;
            (void)snprintf(target, sizeof target, MAPS "?watch=true&resourceVersion=%" PRId64, revision);
            if (watches[n].label >= 0)
                (void)snprintf(target + strlen(target), 64, "&labelSelector=l%%3D%d", watches[n].label);
            if (watches[n].name < MODEL_NAMES)
                (void)snprintf(target + strlen(target), 64, "&fieldSelector=metadata.name%%3Do%zu",
                               watches[n].name);
            watch_open(&w, &watches[n].asked, target);
            watches[n].is_open = true;
        } else if (rng_chance(&rng, 60)) {
            const char *part = heard(&watches[n].asked);
            buf_addf(&watches[n].got, "%s%s", watches[n].got.len && part[0] != '\0' ? " " : "", part);
            ASSERT_STR(buf_cstr(&watches[n].expected), buf_cstr(&watches[n].got));
        } else if (rng_chance(&rng, 10)) {
            asked_done(&watches[n].asked);
            buf_clear(&watches[n].expected);
            buf_clear(&watches[n].got);
            watches[n].is_open = false;
        }
    }
    for (size_t i = 0; i < MODEL_WATCHES; i++) {
        if (watches[i].is_open)
            asked_done(&watches[i].asked);
        buf_done(&watches[i].expected);
        buf_done(&watches[i].got);
    }
    ASSERT_INT(0, watches_count(w.server.watches));
}

/* --- Shapes --- */

TEST(apiserver_81_columns_come_once)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked first, second;
    const char *text;

    world_init(&w, 100);
    watch_open_as(&w, &first, MAPS "?watch=true", ACCEPT_TABLE);
    put_map(&w, "a", "");
    watch_open_as(&w, &second, MAPS "?watch=true&resourceVersion=1", ACCEPT_TABLE);
    text = said(&first);
    assert_non_null(
        strstr(text, kind_row("{'type':'ADDED','object':{'kind':'Table','apiVersion':'meta.k8s.io/v1',"
                              "'metadata':{'resourceVersion':'1'},'columnDefinitions':[{'name':'Name'")));
    put_map(&w, "a", "'x':'y'");
    text = said(&first);
    assert_non_null(
        strstr(text, kind_row("'metadata':{'resourceVersion':'2'},'columnDefinitions':null,'rows':[{'cells':"
                              "['a'")));
    text = said(&second); /* the same event, its first */
    assert_non_null(
        strstr(text, kind_row("'metadata':{'resourceVersion':'2'},'columnDefinitions':[{'name':'Name'")));
}

TEST(apiserver_35_events_of_either_group)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked core, v1;
    const char *text;

    world_init(&w, 100);
    watch_open(&w, &core, "/api/v1/events?limit=500&watch=true");
    watch_open(&w, &v1, "/apis/events.k8s.io/v1/events?watch=true&fieldSelector=regarding.name%3Dp");
    world_put(&w, KIND_EVENT,
              "{'metadata':{'name':'e','namespace':'a'},'involvedObject':{'name':'p'},'message':'m'}");
    world_put(&w, KIND_EVENT,
              "{'metadata':{'name':'f','namespace':'a'},'involvedObject':{'name':'q'},'message':'m'}");
    text = said(&v1);
    assert_non_null(
        strstr(text, kind_row("{'type':'ADDED','object':{'kind':'Event','apiVersion':'events.k8s.io/v1',"
                              "'metadata':{'name':'e'")));
    assert_non_null(strstr(text, kind_row("'note':'m'")));
    assert_null(strstr(text, kind_row("'name':'q'")));
    text = said(&core);
    assert_non_null(strstr(text, kind_row("'involvedObject':{'name':'p'}")));
    assert_non_null(strstr(text, kind_row("'involvedObject':{'name':'q'}")));
    ASSERT_INT(2, watches_events_count(w.server.watches, KIND_EVENT));
    ASSERT_INT(1, watches_events_count(w.server.watches, KIND_EVENT_V1));
}

/* What clients only read may be watched as all else. */
TEST(watching_services)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 3);
    watch_open(&w, &a,
               "/api/v1/services?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
               "allowWatchBookmarks=true&timeoutSeconds=100");
    for (int i = 0; i < 2; i++)
        put_map(&w, "a", "");
    ASSERT_STR("BOOKMARK @0(initial)", heard(&a));
    world_pass(&w, 60 * NS_PER_S);
    ASSERT_STR("BOOKMARK @2", heard(&a));
    world_pass(&w, 60 * NS_PER_S);
    ASSERT_STR("BOOKMARK @2 END", heard(&a));
}

/* --- Bookmarks and ends --- */

TEST(apiserver_77_a_bookmark_before_the_end)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a, without;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=8");
    watch_open(&w, &without, MAPS "?watch=true&resourceVersion=1&timeoutSeconds=8");
    world_pass(&w, 6 * NS_PER_S - 1);
    ASSERT_STR("", said(&a));
    ASSERT_INT(0, a.woken);
    world_pass(&w, 1);
    ASSERT_INT(1, a.woken);
    ASSERT_STR(kind_row("{'type':'BOOKMARK','object':{'kind':'ConfigMap','apiVersion':'v1','metadata':{"
                        "'resourceVersion':'1','creationTimestamp':null}}}\n"),
               said(&a));
    world_pass(&w, 2 * NS_PER_S - 1);
    ASSERT_STR("", said(&a));
    ASSERT_STR("", said(&without));
    world_pass(&w, 1);
    ASSERT_INT(2, a.woken);
    ASSERT_STR("END", said(&a));
    ASSERT_STR("END", said(&without));
    ASSERT_INT(1, without.woken);
}

TEST(bookmarks_every_minute)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=1&allowWatchBookmarks=true");
    world_pass(&w, 60 * NS_PER_S);
    ASSERT_STR("BOOKMARK @1", heard(&a));
    world_put(&w, KIND_NAMESPACE, "{'metadata':{'name':'other-kinds-count'}}");
    put_map(&w, "b", "");
    world_put(&w, KIND_NAMESPACE, "{'metadata':{'name':'more'}}");
    world_pass(&w, 60 * NS_PER_S);
    ASSERT_STR("ADDED b@3 BOOKMARK @4", heard(&a));
    world_pass(&w, 60 * NS_PER_S);
    ASSERT_STR("BOOKMARK @4", heard(&a));
}

/* A bookmark never goes back behind where the client said it was. */
TEST(bookmark_of_a_watch_of_the_future)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=9&allowWatchBookmarks=true");
    world_pass(&w, 60 * NS_PER_S);
    ASSERT_STR("BOOKMARK @9", heard(&a));
}

/* A watch that has not read its initial events gets no bookmark that would skip them. */
TEST(no_bookmark_ahead_of_initial_events)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&allowWatchBookmarks=true");
    world_pass(&w, 61 * NS_PER_S);
    ASSERT_STR("ADDED a@1", heard(&a));
    world_pass(&w, 60 * NS_PER_S);
    ASSERT_STR("BOOKMARK @1", heard(&a));
}

TEST(a_watch_ends_between_half_an_hour_and_an_hour)
{
    _cleanup_(world_done) struct world w;
    struct asked watches[20];
    unsigned early = 0;

    world_init(&w, 100);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++)
        watch_open(&w, &watches[i], MAPS "?watch=true");
    world_pass(&w, 1800 * NS_PER_S - 1);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++)
        ASSERT_STR("", said(&watches[i]));
    world_pass(&w, 900 * NS_PER_S);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++)
        early += strcmp(said(&watches[i]), "END") == 0;
    assert_true(early > 0 && early < ARRAY_LEN(watches)); /* not all at once */
    world_pass(&w, 900 * NS_PER_S);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
        ASSERT_STR("END", said(&watches[i]));
        asked_done(&watches[i]);
    }
}

TEST(what_is_queued_is_sent_before_the_end)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;

    world_init(&w, 100);
    watch_open(&w, &a, MAPS "?watch=true&timeoutSeconds=1");
    ASSERT_STR("", heard(&a));
    put_map(&w, "a", "");
    world_pass(&w, 2 * NS_PER_S);
    put_map(&w, "b", "");
    ASSERT_STR("ADDED a@1 END", heard(&a));
}

TEST(stopping_ends_every_watch)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked live, lagging, refused;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &live, MAPS "?watch=true&resourceVersion=1");
    watch_open(&w, &lagging, MAPS "?watch=true");
    put_map(&w, "b", "");
    w.server.is_stopping = true;
    watches_stop(w.server.watches);
    assert_true(live.woken > 0);
    assert_true(lagging.woken > 0);
    ASSERT_STR("ADDED b@2 END", heard(&live));
    ASSERT_STR("END", heard(&lagging));
    watches_stop(w.server.watches); /* again is no matter */
    ask(&w, &refused, MAPS "?watch=true", NULL);
    ASSERT_INT(503, refused.call.status);
}

/* The carrier may let go of a stream after the server has gone. */
TEST(streams_outlive_their_server)
{
    struct world w;
    struct asked live, lagging;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &live, MAPS "?watch=true&resourceVersion=1");
    watch_open(&w, &lagging, MAPS "?watch=true");
    put_map(&w, "b", "");
    world_done(&w);
    ASSERT_STR("ADDED b@2 END", heard(&live));
    ASSERT_STR("END", heard(&lagging));
    asked_done(&live);
    asked_done(&lagging);
}

/* --- Bounds --- */

TEST(apiserver_79_a_slow_watcher_is_cut)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked slow, quick;

    world_init(&w, 100);
    watch_open(&w, &slow, MAPS "?watch=true");
    watch_open(&w, &quick, MAPS "?watch=true");
    ASSERT_STR("", said(&slow));
    ASSERT_STR("", said(&quick));
    for (int i = 0; i < WATCH_QUEUE_LINES_MAX; i++) {
        put_map(&w, "a", "");
        assert_true(said(&quick)[0] == '{');
    }
    assert_false(slow.is_cut);
    put_map(&w, "a", "");
    assert_true(slow.is_cut);
    assert_false(quick.is_cut);
    assert_true(said(&quick)[0] == '{');
    ASSERT_STR("END", said(&slow)); /* nothing is kept for it */
    ASSERT_INT(1, watches_cut_count(w.server.watches));
    ASSERT_INT(2, watches_count(w.server.watches)); /* until its carrier lets go */
    put_map(&w, "a", "");
    assert_true(said(&quick)[0] == '{');
}

/* A carrier that has no connection to cut sees the stream end. */
TEST(cutting_without_a_connection_is_an_end)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a;
    unsigned woken;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=1");
    a.call.stream->cut = NULL;
    for (int i = 0; i < WATCH_QUEUE_LINES_MAX; i++)
        put_map(&w, "a", "");
    woken = a.woken;
    put_map(&w, "a", "");
    ASSERT_INT(woken + 1, a.woken);
    ASSERT_STR("END", said(&a));
}

TEST(a_slow_watcher_of_large_objects_is_cut)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked slow;
    size_t len = 1 << 20;
    _cleanup_(freep) char *text = malloc(len + 256);
    int n, written = 0;

    assert_non_null(text);
    n = snprintf(text, 256, "{'metadata':{'name':'big','namespace':'n'},'data':{'k':'");
    memset(text + n, 'x', len);
    (void)snprintf(text + n + len, 16, "'}}");
    world_init(&w, 4);
    watch_open(&w, &slow, MAPS "?watch=true");
    ASSERT_STR("", said(&slow));
    while (!slow.is_cut && written < 20) {
        world_put(&w, KIND_CONFIG_MAP, text);
        written++;
    }
    ASSERT_INT(8, written); /* seven of a megabyte and a bit fit into eight */
}

TEST(watches_are_counted_and_limited)
{
    _cleanup_(world_done) struct world w;
    struct asked *all = calloc(WATCHES_COUNT_MAX, sizeof *all);
    _cleanup_(asked_done) struct asked more, again;

    assert_non_null(all);
    world_init(&w, 100);
    for (int i = 0; i < WATCHES_COUNT_MAX; i++)
        watch_open(&w, &all[i], MAPS "?watch=true");
    ASSERT_INT(WATCHES_COUNT_MAX, watches_count(w.server.watches));
    ask(&w, &more, MAPS "?watch=true", NULL);
    ASSERT_INT(429, more.call.status);
    ASSERT_STR("Too many requests, please try again later.", buf_cstr(&more.call.reply));
    ASSERT_STR("Retry-After", more.call.headers.items[0].name);
    ASSERT_STR("1", more.call.headers.items[0].value);
    asked_done(&all[7]);
    watch_open(&w, &again, MAPS "?watch=true");
    for (int i = 0; i < WATCHES_COUNT_MAX; i++)
        if (i != 7)
            asked_done(&all[i]);
    ASSERT_INT(1, watches_count(w.server.watches));
    free(all);
}

/* --- Sharing --- */

static const struct watch *watch_of(const struct asked *a)
{
    return CONTAINER_OF(a->call.stream, struct watch, stream);
}

TEST(an_event_is_encoded_once_for_all)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a, b, other_type, other_shape, blind;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=1");
    watch_open(&w, &b, "/api/v1/namespaces/n/configmaps/a?watch=true&resourceVersion=1");
    watch_open(&w, &other_type, MAPS "?watch=true&resourceVersion=1&labelSelector=x");
    watch_open_as(&w, &other_shape, MAPS "?watch=true&resourceVersion=1", ACCEPT_PARTIAL);
    watch_open(&w, &blind, "/api/v1/namespaces/n/configmaps/b?watch=true&resourceVersion=1");
    put_map(&w, "a", "'x':'y'");
    assert_ptr_equal(watch_of(&a)->queue.ring[0], watch_of(&b)->queue.ring[0]);
    assert_ptr_not_equal(watch_of(&a)->queue.ring[0], watch_of(&other_type)->queue.ring[0]);
    assert_ptr_not_equal(watch_of(&a)->queue.ring[0], watch_of(&other_shape)->queue.ring[0]);
    ASSERT_INT(0, watch_of(&blind)->queue.count);
    ASSERT_STR("MODIFIED a@2:x=y", heard(&a));
    ASSERT_STR("MODIFIED a@2:x=y", heard(&b));
    ASSERT_STR("ADDED a@2:x=y", heard(&other_type));
}

/* A batch wakes each watch once, when all of it is told. */
TEST(a_batch_wakes_once)
{
    _cleanup_(world_done) struct world w;
    _cleanup_(asked_done) struct asked a, b;
    struct world_write writes[5];
    char text[128];

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=1");
    watch_open(&w, &b, "/api/v1/namespaces/n/configmaps/none?watch=true&resourceVersion=1");
    for (int i = 0; i < 5; i++) {
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'m%d','namespace':'n'}}", i);
        world_submit(&w, &writes[i], KIND_CONFIG_MAP, text, false);
    }
    while (!writes[4].is_done)
        (void)loop_poll(w.loop);
    ASSERT_INT(1, a.woken);
    ASSERT_INT(0, b.woken);
    ASSERT_STR("ADDED m0@2 ADDED m1@3 ADDED m2@4 ADDED m3@5 ADDED m4@6", heard(&a));
}

/* A stream that closes while others are about to be woken. */
TEST(streams_close_at_any_time)
{
    _cleanup_(world_done) struct world w;
    struct asked a, b, c;

    world_init(&w, 100);
    put_map(&w, "a", "");
    watch_open(&w, &a, MAPS "?watch=true&resourceVersion=1");
    watch_open(&w, &b, MAPS "?watch=true");
    watch_open(&w, &c, MAPS "?watch=true&resourceVersion=1");
    put_map(&w, "a", "");
    asked_done(&a); /* with a line queued */
    asked_done(&b); /* before its first pull */
    put_map(&w, "a", "");
    ASSERT_STR("MODIFIED a@2 MODIFIED a@3", heard(&c));
    asked_done(&c);
    ASSERT_INT(0, watches_count(w.server.watches));
}

TEST_MAIN()
