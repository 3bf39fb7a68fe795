/* What volumes show, against the whole API server: fetched, watched, told; in time that is moved by hand. */
#include "tests/unit/test_parts.h"

#include "api/config.h"
#include "apiserver/watch.h"
#include "io/keys.h"
#include "node/volume_sources.h"

#define SECRETS "/api/v1/namespaces/default/secrets"
#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define MAP_VOLUME "{'name':'v','configMap':{'name':'m'}}"
#define TOKEN_SOURCE "{'serviceAccountToken':{'path':'t','expirationSeconds':3600}}"
#define TOKEN_VOLUME "{'name':'v','projected':{'sources':[" TOKEN_SOURCE "]}}"

/* --- A node with contents and nothing else --- */

static struct buf told = { .len_max = 1 << 20 }; /* names of the pods that changed, "a b " */
static struct object *dropping;                  /* its end is what whoever hears of a change wants */

static void on_changed(void *ctx, const char *pod_uid)
{
    struct parts *w = the_parts;

    assert_null(ctx);
    buf_addf(&told, "%s ", pod_uid);
    if (dropping)
        volume_sources_drop_pod(w->part, dropping->uid);
}

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct volume_sources_options c = { .part = *o, .changed = on_changed };
    struct volume_sources *made = NULL;
    int r = volume_sources_new(&c, &made, e);

    *ret = made;
    return r;
}

static void start(void *part)
{
    (void)part;
}

static void unmake(void *part)
{
    (void)volume_sources_free(part);
}

static const struct part_type contents_type = { make, start, unmake };

static void node_world_init(struct parts *w)
{
    static struct key *key;

    if (!key)
        ASSERT_OK(key_new(&key, &err));
    served_key = key;
    buf_clear(&told);
    dropping = NULL;
    parts_init(w, &contents_type);
    buf_clear(&w->log);
}

static void node_world_done(struct parts *w)
{
    parts_done(w);
    buf_done(&told);
}

/* A pod as the server has it, with these volumes. */
static struct object *put_pod(struct parts *w, const char *name, const char *volumes)
{
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;
    char body[4096];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'nodeName':'n1','containers':[{'name':'c','image':'i:1'"
                   "}],'volumes':[%s]}}",
                   name, volumes);
    ASSERT_SENT(&w->served, 201, "POST", PODS, body);
    json_init(&d, (size_t)16 << 20);
    ASSERT_OK(object_decode(kind_info(KIND_POD), buf_str(&w->served.text), &d, &o, &err));
    return o;
}

static void put_map(struct parts *w, const char *name, const char *value)
{
    char body[512];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'},'data':{'k':'%s'}}", name, value);
    ASSERT_SENT(&w->served, 201, "POST", MAPS, body);
}

/* --- A fetch --- */

struct fetched {
    struct volume_sources_fetch fetch;
    unsigned done;
    int r;
};

static void on_fetched(struct volume_sources_fetch *f, int r, const struct error *e)
{
    struct fetched *x = CONTAINER_OF(f, struct fetched, fetch);

    x->done++;
    x->r = r;
    ASSERT_INT(0, e->code);
}

/* Of the pod's first volume. */
static void begin(struct parts *w, const struct object *pod, struct fetched *x)
{
    struct volume_spec s = { .inlined = &pod_of(pod)->volumes.items[0] };

    memset(x, 0, sizeof *x);
    x->fetch.done = on_fetched;
    volume_sources_fetch(w->part, pod, &s, &x->fetch);
    ASSERT_INT(0, x->done);
}

static void fetch(struct parts *w, const struct object *pod, struct fetched *x)
{
    begin(w, pod, x);
    parts_rest(w);
    ASSERT_INT(1, x->done);
    ASSERT_INT(0, x->r);
}

/* What the key k of the item says; "-" for no object. */
static const char *value(const struct fetched *x, uint32_t item)
{
    const struct volume_content *c = &x->fetch.items[item];
    struct config_entries data;
    const struct config_entry *e;

    assert_true(item < x->fetch.count);
    if (!c->object)
        return "-";
    data = c->projection == PROJECTION_SECRET ? secret_of(c->object)->data : config_map_of(c->object)->data;
    e = config_find(&data, "k");
    return e ? e->bytes.s : "-";
}

#define ASSERT_ITEM_FAILED(x, item, expected, words)                  \
    do {                                                              \
        ASSERT_INT(-(int)(expected), (x)->fetch.items[item].r);       \
        ASSERT_INT((int)(expected), (x)->fetch.items[item].err.code); \
        ASSERT_STR(words, (x)->fetch.items[item].err.msg);            \
        assert_null((x)->fetch.items[item].object);                   \
    } while (0)

static void assert_told(const char *expected)
{
    ASSERT_STR(expected, buf_cstr(&told));
    buf_clear(&told);
}

static const char *uid_and_blank(const struct object *pod)
{
    static char text[2][64];
    static unsigned turn;

    (void)snprintf(text[++turn % 2], sizeof text[0], "%s ", pod->uid);
    return text[turn % 2];
}

static unsigned open_watches(const struct parts *w)
{
    return (unsigned)watches_count(w->served.server->watches);
}

/* --- Objects --- */

TEST(a_volume_gets_what_it_shows)
{
    struct parts w;
    struct fetched x;
    struct object *pod;

    node_world_init(&w);
    put_map(&w, "m", "one");
    ASSERT_SENT(&w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'stringData':{'k':'two'}}");
    pod = put_pod(&w, "p",
                  "{'name':'v','projected':{'sources':[{'secret':{'name':'s'}},{'downwardAPI':{'items':[{"
                  "'path':'d','fieldRef':{'fieldPath':'metadata.name'}}]}},{'configMap':{'name':'m'}}]}}");
    fetch(&w, pod, &x);
    ASSERT_INT(2, x.fetch.count);
    ASSERT_INT(PROJECTION_SECRET, x.fetch.items[0].projection);
    ASSERT_INT(0, x.fetch.items[0].index);
    ASSERT_STR("two", value(&x, 0));
    ASSERT_INT(PROJECTION_CONFIG_MAP, x.fetch.items[1].projection);
    ASSERT_INT(2, x.fetch.items[1].index);
    ASSERT_STR("one", value(&x, 1));
    assert_asked(&w, "GET " SECRETS "\nGET " MAPS "\n");
    assert_told(""); /* what was there from the beginning is no change */
    volume_sources_fetch_end(&x.fetch);
    object_unref(pod);
    node_world_done(&w);
}

TEST(volumes_that_show_nothing_need_nothing)
{
    static const char *const rows[] = { "{'name':'v','emptyDir':{}}",
                                        "{'name':'v','projected':{'sources':[]}}",
                                        "{'name':'v','downwardAPI':{'items':[]}}" };
    struct parts w;

    node_world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[8];
        struct fetched x;
        struct object *pod;

        (void)snprintf(name, sizeof name, "p%zu", i);
        pod = put_pod(&w, name, rows[i]);
        fetch(&w, pod, &x);
        ASSERT_INT(0, x.fetch.count);
        volume_sources_fetch_end(&x.fetch);
        object_unref(pod);
    }
    assert_asked(&w, "");
    node_world_done(&w);
}

/* The words are the API's; optional or not is for whoever builds the files. */
TEST(what_is_missing_is_said_in_its_item)
{
    static const struct {
        const char *volume, *words;
    } rows[] = {
        { MAP_VOLUME, "configmap \"m\" not found" },
        { "{'name':'v','configMap':{'name':'m','optional':true}}", "configmap \"m\" not found" },
        { "{'name':'v','secret':{'secretName':'s'}}", "secret \"s\" not found" },
        { "{'name':'v','secret':{'secretName':'s','optional':true}}", "secret \"s\" not found" },
        /* No object has such a name; as a selector it would mean something. */
        { "{'name':'v','secret':{'secretName':'s,metadata.name!=x'}}",
          "secret \"s,metadata.name!=x\" not found" },
    };
    struct parts w;

    node_world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[8];
        struct fetched x;
        struct object *pod;

        (void)snprintf(name, sizeof name, "p%zu", i);
        pod = put_pod(&w, name, rows[i].volume);
        fetch(&w, pod, &x);
        ASSERT_ITEM_FAILED(&x, 0, ERR_NOT_FOUND, rows[i].words);
        volume_sources_fetch_end(&x.fetch);
        object_unref(pod);
    }
    assert_asked(&w, "GET " MAPS "\nGET " SECRETS "\n");
    node_world_done(&w);
}

TEST(a_change_is_told_and_fetched_from_memory)
{
    struct parts w;
    struct fetched x;
    struct object *pod;

    node_world_init(&w);
    put_map(&w, "other", "x");
    pod = put_pod(&w, "p", MAP_VOLUME);
    fetch(&w, pod, &x);
    volume_sources_fetch_end(&x.fetch);
    assert_asked(&w, "GET " MAPS "\n");
    put_map(&w, "m", "one"); /* it comes */
    assert_told(uid_and_blank(pod));
    fetch(&w, pod, &x);
    ASSERT_STR("one", value(&x, 0));
    ASSERT_SENT(&w.served, 200, "MERGE", MAPS "/m", "{'data':{'k':'two'}}");
    assert_told(uid_and_blank(pod));
    ASSERT_STR("one", value(&x, 0)); /* what was handed out stays */
    volume_sources_fetch_end(&x.fetch);
    fetch(&w, pod, &x);
    ASSERT_STR("two", value(&x, 0));
    volume_sources_fetch_end(&x.fetch);
    ASSERT_SENT(&w.served, 200, "MERGE", MAPS "/other", "{'data':{'k':'y'}}"); /* not shown */
    assert_told("");
    ASSERT_SENT(&w.served, 200, "DELETE", MAPS "/m", NULL);
    assert_told(uid_and_blank(pod));
    fetch(&w, pod, &x);
    ASSERT_ITEM_FAILED(&x, 0, ERR_NOT_FOUND, "configmap \"m\" not found");
    volume_sources_fetch_end(&x.fetch);
    assert_asked(&w, "");
    object_unref(pod);
    node_world_done(&w);
}

/* Two pods that have fetched the same object. */
static void share_map(struct parts *w, struct object **ret_a, struct object **ret_b)
{
    struct fetched x;

    put_map(w, "m", "one");
    *ret_a = put_pod(w, "a", MAP_VOLUME);
    *ret_b = put_pod(w, "b", MAP_VOLUME);
    fetch(w, *ret_a, &x);
    volume_sources_fetch_end(&x.fetch);
    fetch(w, *ret_b, &x);
    volume_sources_fetch_end(&x.fetch);
}

TEST(pods_share_a_watch_and_the_last_one_ends_it)
{
    struct parts w;
    struct fetched x;
    struct object *a, *b;

    node_world_init(&w);
    share_map(&w, &a, &b);
    assert_asked(&w, "GET " MAPS "\n");
    ASSERT_INT(1, open_watches(&w));
    ASSERT_SENT(&w.served, 200, "MERGE", MAPS "/m", "{'data':{'k':'two'}}");
    assert_true(strstr(buf_cstr(&told), a->uid) && strstr(buf_cstr(&told), b->uid));
    buf_clear(&told);
    volume_sources_drop_pod(w.part, a->uid);
    parts_rest(&w);
    ASSERT_INT(1, open_watches(&w));
    ASSERT_SENT(&w.served, 200, "MERGE", MAPS "/m", "{'data':{'k':'three'}}");
    assert_told(uid_and_blank(b));
    volume_sources_drop_pod(w.part, b->uid);
    volume_sources_drop_pod(w.part, b->uid); /* nothing more */
    parts_rest(&w);
    ASSERT_INT(0, open_watches(&w));
    ASSERT_SENT(&w.served, 200, "MERGE", MAPS "/m", "{'data':{'k':'four'}}");
    assert_told("");
    fetch(&w, a, &x); /* from the beginning */
    ASSERT_STR("four", value(&x, 0));
    assert_asked(&w, "GET " MAPS "\n");
    volume_sources_fetch_end(&x.fetch);
    object_unref(a);
    object_unref(b);
    node_world_done(&w);
}

/* Two changes of a turn are one word; whoever hears it may drop any pod. */
TEST(a_pod_may_be_dropped_when_it_hears_of_a_change)
{
    struct parts w;
    struct object *a, *b;

    node_world_init(&w);
    share_map(&w, &a, &b);
    dropping = b;
    ASSERT_SENT(&w.served, 200, "MERGE", MAPS "/m", "{'data':{'k':'two'}}");
    assert_told(uid_and_blank(a));
    dropping = a;
    ASSERT_SENT(&w.served, 200, "MERGE", MAPS "/m", "{'data':{'k':'three'}}");
    assert_told(uid_and_blank(a));
    ASSERT_INT(0, open_watches(&w));
    object_unref(a);
    object_unref(b);
    node_world_done(&w);
}

TEST(a_pod_shows_so_much_and_no_more)
{
    _cleanup_(buf_done_p) struct buf volumes = BUF_INIT((size_t)1 << 20);
    _cleanup_(json_done_p) struct json d;
    struct object *pod = NULL;
    struct fetched x;
    struct parts w;

    node_world_init(&w);
    buf_add_cstr(&volumes, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"u\"},"
                           "\"spec\":{\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":[");
    for (unsigned i = 0; i < CONTENTS_POD_MAX + 1; i++)
        buf_addf(&volumes, "%s{\"configMap\":{\"name\":\"m%u\"}}", i ? "," : "", i);
    buf_add_cstr(&volumes, ",{\"serviceAccountToken\":{\"path\":\"t\"}}]}}]}}");
    json_init(&d, (size_t)16 << 20);
    ASSERT_OK(object_decode(kind_info(KIND_POD), buf_str(&volumes), &d, &pod, &err));
    for (unsigned again = 0; again < 2; again++) {
        fetch(&w, pod, &x);
        ASSERT_INT(CONTENTS_POD_MAX + 2, x.fetch.count);
        ASSERT_ITEM_FAILED(&x, CONTENTS_POD_MAX - 1, ERR_NOT_FOUND, "configmap \"m511\" not found");
        ASSERT_ITEM_FAILED(&x, CONTENTS_POD_MAX, ERR_TOO_LARGE,
                           "the pod's volumes refer to more than 512 objects and tokens");
        ASSERT_ITEM_FAILED(&x, CONTENTS_POD_MAX + 1, ERR_TOO_LARGE,
                           "the pod's volumes refer to more than 512 objects and tokens");
        volume_sources_fetch_end(&x.fetch);
    }
    object_unref(pod);
    node_world_done(&w);
}

/* --- A server that does not answer --- */

#define NEVER_CAME "failed to sync configmap cache: timed out waiting for the condition"

TEST(a_fetch_waits_half_a_minute_for_the_server)
{
    struct parts w;
    struct fetched x;
    struct object *pod;

    node_world_init(&w);
    put_map(&w, "m", "one");
    pod = put_pod(&w, "p", MAP_VOLUME);
    w.is_down = true;
    begin(&w, pod, &x);
    parts_pass_ns(&w, CONTENTS_WAIT_NS - 1);
    ASSERT_INT(0, x.done);
    parts_pass_ns(&w, 1);
    ASSERT_INT(1, x.done);
    ASSERT_INT(0, x.r);
    /* It never began: a timeout's code would say that it may be going on. */
    ASSERT_ITEM_FAILED(&x, 0, ERR_UNAVAILABLE, NEVER_CAME);
    volume_sources_fetch_end(&x.fetch);
    assert_told("");
    w.is_down = false;
    parts_pass_ns(&w, 60 * NS_PER_S);
    assert_told(uid_and_blank(pod)); /* it has come after all */
    fetch(&w, pod, &x);
    ASSERT_STR("one", value(&x, 0));
    volume_sources_fetch_end(&x.fetch);
    object_unref(pod);
    node_world_done(&w);
}

TEST(a_server_that_comes_back_in_time_is_no_failure)
{
    struct parts w;
    struct fetched x;
    struct object *pod;

    node_world_init(&w);
    put_map(&w, "m", "one");
    pod = put_pod(&w, "p", MAP_VOLUME);
    w.is_down = true;
    begin(&w, pod, &x);
    parts_pass_ns(&w, 2 * NS_PER_S);
    w.is_down = false;
    parts_pass_ns(&w, 20 * NS_PER_S);
    ASSERT_INT(1, x.done);
    ASSERT_STR("one", value(&x, 0));
    assert_told("");
    w.is_down = true; /* what is known stays known */
    volume_sources_fetch_end(&x.fetch);
    fetch(&w, pod, &x);
    ASSERT_STR("one", value(&x, 0));
    volume_sources_fetch_end(&x.fetch);
    object_unref(pod);
    node_world_done(&w);
}

/* Ended at any point, a fetch is not heard of again. */
TEST(a_fetch_that_was_ended_tells_nobody)
{
    struct parts w;
    struct fetched waiting, ready, zeroed;
    struct object *pod;

    node_world_init(&w);
    memset(&zeroed, 0, sizeof zeroed);
    volume_sources_fetch_end(&zeroed.fetch);
    put_map(&w, "m", "one");
    pod = put_pod(&w, "p", MAP_VOLUME);
    begin(&w, pod, &waiting);
    volume_sources_fetch_end(&waiting.fetch);
    parts_pass_ns(&w, 40 * NS_PER_S);
    begin(&w, pod, &ready); /* what it shows is here by now */
    volume_sources_fetch_end(&ready.fetch);
    parts_pass_ns(&w, 40 * NS_PER_S);
    ASSERT_INT(0, waiting.done + ready.done);
    object_unref(pod);
    node_world_done(&w);
}

TEST(a_dropped_pod_waits_for_nothing)
{
    struct parts w;
    struct fetched a, b, token;
    struct object *pod, *other, *third;

    node_world_init(&w);
    put_map(&w, "m", "one");
    pod = put_pod(&w, "p", MAP_VOLUME);
    other = put_pod(&w, "q", MAP_VOLUME);
    third = put_pod(&w, "r", TOKEN_VOLUME);
    begin(&w, pod, &a);
    begin(&w, other, &b);
    begin(&w, third, &token);
    volume_sources_drop_pod(w.part, pod->uid);
    volume_sources_drop_pod(w.part, third->uid);
    parts_rest(&w);
    ASSERT_ITEM_FAILED(&a, 0, ERR_CANCELLED, "the pod's volumes are being unmounted");
    ASSERT_ITEM_FAILED(&token, 0, ERR_CANCELLED, "the pod's volumes are being unmounted");
    ASSERT_STR("one", value(&b, 0));
    volume_sources_fetch_end(&a.fetch);
    volume_sources_fetch_end(&token.fetch);
    process_kill(&w); /* what is done may outlive it */
    volume_sources_fetch_end(&b.fetch);
    process_start(&w);
    object_unref(pod);
    object_unref(other);
    object_unref(third);
    node_world_done(&w);
}

/* --- Tokens --- */

static void copy_token(const struct fetched *x, char to[static 4096])
{
    ASSERT_INT(0, x->fetch.items[0].r);
    assert_true(x->fetch.items[0].token.len > 0 && x->fetch.items[0].token.len < 4096);
    (void)snprintf(to, 4096, "%.*s", STR_ARG(x->fetch.items[0].token));
}

/* The token is the pod's, for the account, and the server's own word on it is good. */
TEST(a_token_is_bound_to_its_pod)
{
    struct parts w;
    struct fetched x;
    struct object *pod;
    char token[4096], body[8192];

    node_world_init(&w);
    pod = put_pod(&w, "p",
                  "{'name':'v','projected':{'sources':[{'serviceAccountToken':{'path':'t','audience':'vault'"
                  ",'expirationSeconds':600}}]}}");
    fetch(&w, pod, &x);
    ASSERT_INT(PROJECTION_TOKEN, x.fetch.items[0].projection);
    assert_asked(&w, "POST " ACCOUNTS "/default/token\n");
    copy_token(&x, token);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'authentication.k8s.io/v1','kind':'TokenReview','spec':{'token':'%s',"
                   "'audiences':['vault']}}",
                   token);
    ASSERT_SENT(&w.served, 201, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", body);
    ASSERT_GOT(&w.served, "true", "status/authenticated");
    ASSERT_GOT(&w.served, "system:serviceaccount:default:default", "status/user/username");
    assert_non_null(strstr(buf_cstr(&w.served.text), "\"authentication.kubernetes.io/pod-name\":[\"p\"]"));
    volume_sources_fetch_end(&x.fetch);
    object_unref(pod);
    node_world_done(&w);
}

TEST(a_token_is_asked_for_again_after_four_fifths_of_its_life)
{
    struct parts w;
    struct fetched x;
    struct object *pod;
    char first[4096], second[4096];

    node_world_init(&w);
    pod = put_pod(&w, "p", TOKEN_VOLUME);
    fetch(&w, pod, &x);
    copy_token(&x, first);
    volume_sources_fetch_end(&x.fetch);
    parts_pass_ns(&w, 2869 * NS_PER_S); /* up to 10 s before 2,880 */
    assert_told("");
    fetch(&w, pod, &x);
    copy_token(&x, second);
    volume_sources_fetch_end(&x.fetch);
    ASSERT_STR(first, second);
    assert_asked(&w, "POST " ACCOUNTS "/default/token\n");
    parts_pass_ns(&w, 12 * NS_PER_S);
    assert_told(uid_and_blank(pod));
    fetch(&w, pod, &x);
    copy_token(&x, second);
    volume_sources_fetch_end(&x.fetch);
    assert_string_not_equal(first, second);
    assert_asked(&w, "POST " ACCOUNTS "/default/token\n");
    parts_pass_ns(&w, 2860 * NS_PER_S); /* the next one counts from now */
    assert_told("");
    parts_pass_ns(&w, 22 * NS_PER_S);
    assert_told(uid_and_blank(pod));
    object_unref(pod);
    node_world_done(&w);
}

/* While nobody answers the old one does; then the words say which it was and why. */
TEST(a_token_that_cannot_be_renewed_is_used_while_it_lives)
{
    struct parts w;
    struct fetched x;
    struct object *pod;
    char first[4096], second[4096], words[512];

    node_world_init(&w);
    pod = put_pod(&w, "p", TOKEN_VOLUME);
    fetch(&w, pod, &x);
    copy_token(&x, first);
    volume_sources_fetch_end(&x.fetch);
    parts_pass_ns(&w, 2881 * NS_PER_S);
    buf_clear(&told);
    w.is_down = true;
    begin(&w, pod, &x);
    parts_pass_ns(&w, CONTENTS_WAIT_NS);
    ASSERT_INT(1, x.done);
    copy_token(&x, second);
    ASSERT_STR(first, second);
    volume_sources_fetch_end(&x.fetch);
    parts_pass_ns(&w, 2 * CONTENTS_TOKEN_RETRY_NS);
    assert_true(told.len > 0); /* it is to be tried again */
    parts_pass_ns(&w, 600 * NS_PER_S);
    begin(&w, pod, &x);
    parts_pass_ns(&w, CONTENTS_WAIT_NS);
    (void)snprintf(
        words, sizeof words,
        "token \"default\"/\"default\"/[]/3600/Pod \"p\" %s expired and refresh failed: connection reset",
        pod->uid);
    ASSERT_ITEM_FAILED(&x, 0, ERR_UNAVAILABLE, words);
    assert_null(strstr(x.fetch.items[0].err.msg, first));
    volume_sources_fetch_end(&x.fetch);
    w.is_down = false;
    fetch(&w, pod, &x);
    copy_token(&x, second);
    assert_string_not_equal(first, second);
    volume_sources_fetch_end(&x.fetch);
    object_unref(pod);
    node_world_done(&w);
}

TEST(a_token_that_never_came_says_why)
{
    struct parts w;
    struct fetched x;
    struct object *pod;

    node_world_init(&w);
    pod = put_pod(&w, "p", TOKEN_VOLUME);
    ASSERT_SENT(&w.served, 200, "DELETE", ACCOUNTS "/default", NULL);
    w.is_down = true; /* the server makes that account anew; here nobody hears of it */
    begin(&w, pod, &x);
    parts_pass_ns(&w, CONTENTS_WAIT_NS);
    ASSERT_INT(1, x.done);
    ASSERT_ITEM_FAILED(&x, 0, ERR_UNAVAILABLE, "failed to fetch token: connection reset");
    volume_sources_fetch_end(&x.fetch);
    w.is_down = false;
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL);
    fetch(&w, pod, &x);
    ASSERT_ITEM_FAILED(&x, 0, ERR_NOT_FOUND, "failed to fetch token: pods \"p\" not found");
    volume_sources_fetch_end(&x.fetch);
    object_unref(pod);
    node_world_done(&w);
}

/* Volumes that wait for one token share the request; other audiences have their own. */
TEST(volumes_of_a_pod_share_a_token)
{
    struct parts w;
    struct fetched a, b;
    struct object *pod;

    node_world_init(&w);
    pod = put_pod(&w, "p",
                  "{'name':'v','projected':{'sources':[" TOKEN_SOURCE "," TOKEN_SOURCE
                  ",{'serviceAccountToken':{'path':'u','audience':'vault','expirationSeconds':3600}}]}}");
    begin(&w, pod, &a);
    begin(&w, pod, &b);
    parts_rest(&w);
    ASSERT_INT(1, a.done);
    ASSERT_INT(1, b.done);
    assert_asked(&w, "POST " ACCOUNTS "/default/token\nPOST " ACCOUNTS "/default/token\n");
    for (unsigned i = 0; i < 3; i++)
        assert_true(str_eq(a.fetch.items[i].token, b.fetch.items[i].token));
    assert_true(str_eq(a.fetch.items[0].token, a.fetch.items[1].token));
    assert_false(str_eq(a.fetch.items[0].token, a.fetch.items[2].token));
    volume_sources_fetch_end(&a.fetch);
    volume_sources_fetch_end(&b.fetch);
    volume_sources_drop_pod(w.part, pod->uid);
    fetch(&w, pod, &a); /* nothing of it was kept */
    assert_asked(&w, "POST " ACCOUNTS "/default/token\nPOST " ACCOUNTS "/default/token\n");
    volume_sources_fetch_end(&a.fetch);
    object_unref(pod);
    node_world_done(&w);
}

/* A clock that is set back leaves a token fresh for longer; one set forward makes it stale at the next look.
 */
TEST(the_walls_clock_decides_when_a_token_is_old)
{
    struct parts w;
    struct fetched x;
    struct object *pod;

    node_world_init(&w);
    pod = put_pod(&w, "p", TOKEN_VOLUME);
    fetch(&w, pod, &x);
    volume_sources_fetch_end(&x.fetch);
    manual_clock_set_real(&w.served.clock, w.served.clock.real_ns - 600 * (int64_t)NS_PER_S);
    parts_pass_ns(&w, 2900 * NS_PER_S);
    assert_told("");
    parts_pass_ns(&w, 600 * NS_PER_S);
    assert_told(uid_and_blank(pod));
    object_unref(pod);
    node_world_done(&w);
}

TEST_MAIN()
