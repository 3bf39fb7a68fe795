/* Writing against the real server while others write too and answers get lost: scenarios 41 to 46 of the
 * machinery, in virtual time.
 *
 * Between the client and the server stands a carrier that counts, that lets a rival's request in just before
 * one of ours, and that loses requests or answers where the test says so. */
#include "tests/unit/test_served.h"

#include "apiserver/local_client.h"
#include "client/client.h"
#include "client/client_target.h"
#include "machinery/api_write.h"
#include "machinery/merge_patch.h"

#define WRITES_MAX 16

enum fate { FATE_PASS, FATE_LOSE_REQUEST, FATE_LOSE_ANSWER };

/* One attempt on its way through. */
struct passage {
    struct client_attempt inner; /* the server's carrier has it */
    struct client_attempt *outer;
    struct world *world;
    enum fate fate;
    struct deferred deferred; /* tells the loss of a request */
};

/* A request of somebody else. */
struct rival {
    struct client_attempt attempt;
    struct client_request request;
    struct buf body;
    bool is_over;
    int http_status;
};

struct world {
    struct client_carrier carrier;
    struct served served;
    struct client_carrier *server;
    struct client *client;
    struct rng rng;
    unsigned reads;
    unsigned writes;
    enum fate fates[WRITES_MAX];      /* of our writes, as they come */
    struct rival *rivals[WRITES_MAX]; /* in front of them */
};

static void passage_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct passage *p = CONTAINER_OF(a, struct passage, inner);
    struct client_attempt *outer = p->outer;
    struct client_answer lost = { .was_connected = true, .may_have_happened = true };
    enum fate fate = p->fate;

    free(p);
    if (fate == FATE_PASS) {
        outer->on_end(outer, answer);
        return;
    }
    lost.r = error_set(&lost.error, ERR_UNAVAILABLE, "connection reset");
    lost.retry_after_seconds = -1;
    outer->on_end(outer, &lost);
}

static void passage_lost(void *ctx)
{
    struct passage *p = ctx;

    passage_end(&p->inner, NULL);
}

static void rival_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct rival *x = CONTAINER_OF(a, struct rival, attempt);

    x->is_over = true;
    x->http_status = answer->http_status;
}

static void ignore_warning(struct client_attempt *a, struct str text)
{
    (void)a;
    (void)text;
}

static void world_start(struct client_carrier *c, struct client_attempt *a)
{
    struct world *w = CONTAINER_OF(c, struct world, carrier);
    struct passage *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->world = w;
    p->outer = a;
    p->inner =
        (struct client_attempt){ .request = a->request, .on_end = passage_end, .on_warning = ignore_warning };
    deferred_init(&p->deferred, w->served.loop, passage_lost, p);
    if (strcmp(target_method(a->request), "GET") == 0) {
        w->reads++;
    } else {
        struct rival *rival = w->rivals[w->writes];

        p->fate = w->fates[w->writes++];
        if (rival)
            w->server->type->start(w->server, &rival->attempt);
    }
    if (p->fate == FATE_LOSE_REQUEST)
        loop_defer(&p->deferred);
    else
        w->server->type->start(w->server, &p->inner);
}

/* The tests let everything end. */
static void world_cancel(struct client_carrier *c, struct client_attempt *a)
{
    (void)c;
    (void)a;
    fail_msg("cancelled");
}

static void world_free_carrier(struct client_carrier *c)
{
    struct world *w = CONTAINER_OF(c, struct world, carrier);

    w->server->type->free(w->server);
}

static const struct client_carrier_type world_carrier_type = { world_start, world_cancel,
                                                               world_free_carrier };

static void world_init(struct world *w)
{
    struct client_options o;

    *w = (struct world){ .carrier = { .type = &world_carrier_type } };
    served_init(&w->served);
    rng_init(&w->rng, 7);
    ASSERT_OK(local_client_new(w->served.server, NULL, &w->server, &err));
    o = (struct client_options){ .loop = w->served.loop, .carrier = &w->carrier };
    ASSERT_OK(client_new(&o, &w->client, &err));
}

static void world_done(struct world *w)
{
    w->client = client_free(w->client);
    served_done(&w->served);
}

/* Time enough for every delay of a write. */
static void world_run(struct world *w)
{
    for (unsigned n = 0; n < 100; n++) {
        loop_advance(w->served.loop, &w->served.clock, 10 * NS_PER_MS);
        served_settle(&w->served);
    }
}

static void rival_init(struct rival *x, enum client_verb verb, const char *name, const char *body)
{
    *x = (struct rival){ .body = BUF_INIT(1 << 20) };
    kind_quotes(body, &x->body);
    x->request = (struct client_request){ .verb = verb,
                                          .kind = kind_info(KIND_CONFIG_MAP),
                                          .ns = "default",
                                          .name = name,
                                          .body = buf_str(&x->body) };
    x->attempt =
        (struct client_attempt){ .request = &x->request, .on_end = rival_end, .on_warning = ignore_warning };
}

static void rival_done(struct rival *x)
{
    assert_true(x->is_over);
    buf_done(&x->body);
}

/* --- One request, and its answer --- */

struct outcome {
    struct client_call call;
    unsigned ended;
    struct client_answer answer;
    bool is_conflict;
    struct object *object;
};

static void outcome_done(void *ctx, const struct client_answer *a)
{
    struct outcome *x = ctx;

    x->ended++;
    x->answer = *a;
    x->is_conflict = client_is_conflict(a);
    object_unref(x->object);
    x->object = a->object ? object_ref(a->object) : NULL;
}

static void send_and_wait(struct world *w, struct outcome *x, enum client_verb verb, struct str body)
{
    struct client_request q = { .verb = verb,
                                .kind = kind_info(KIND_CONFIG_MAP),
                                .ns = "default",
                                .name = "m",
                                .body = body,
                                .field_manager = "berth-test" };

    client_send(w->client, &x->call, &q, outcome_done, x);
    world_run(w);
    assert_false(client_call_is_active(&x->call));
}

static void make_map(struct world *w, const char *meta)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'m'%s},'data':{'x':'1'}}", meta);
    ASSERT_INT(201, send_request(&w->served, "POST", MAPS, body));
}

/* What a cache would hold. */
static struct object *read_map(struct world *w)
{
    struct outcome x = { 0 };

    send_and_wait(w, &x, CLIENT_GET, (struct str){ 0 });
    assert_non_null(x.object);
    return x.object;
}

/* A patch of one annotation, based on `o`; NULL: on nothing. */
static void annotate(struct world *w, struct outcome *x, const struct object *o, const char *key)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(1 << 20);
    struct merge_patch p;

    merge_patch_begin(&p, &body, o);
    merge_patch_annotation(&p, key, "yes");
    ASSERT_OK(merge_patch_end(&p, &err));
    send_and_wait(w, x, CLIENT_PATCH, buf_str(&body));
}

static void outcome_free(struct outcome *x)
{
    x->object = object_unref(x->object);
}

/* --- The scenarios --- */

/* machinery-41 */
TEST(machinery_41_stale_patch_is_recomputed_from_the_newer_version)
{
    struct outcome x = { 0 };
    struct object *stale, *newer;
    struct world w;

    world_init(&w);
    make_map(&w, "");
    stale = read_map(&w);
    ASSERT_INT(200, send_request(&w.served, "MERGE", MAPS "/m", "{'data':{'x':'2'}}"));
    newer = read_map(&w); /* the event is already there */

    w.reads = w.writes = 0;
    annotate(&w, &x, stale, "a");
    ASSERT_INT(409, x.answer.http_status);
    assert_true(x.is_conflict);
    annotate(&w, &x, newer, "a");
    ASSERT_INT(0, x.answer.r);
    ASSERT_INT(0, w.reads);
    ASSERT_INT(2, w.writes); /* one more than without the race */
    ASSERT_STR("yes", object_annotation(x.object, "a"));
    object_unref(stale);
    object_unref(newer);
    outcome_free(&x);
    world_done(&w);
}

/* machinery-42: with the uid alone 422; with the version too, the version is found wrong first. */
TEST(machinery_42_patch_for_an_object_that_was_replaced_is_a_conflict)
{
    _cleanup_(buf_done_p) struct buf uid_alone = BUF_INIT(1 << 20);
    struct outcome x = { 0 };
    struct object *old;
    struct world w;

    world_init(&w);
    make_map(&w, "");
    old = read_map(&w);
    ASSERT_INT(200, send_request(&w.served, "DELETE", MAPS "/m", NULL));
    make_map(&w, "");
    annotate(&w, &x, old, "a");
    ASSERT_INT(409, x.answer.http_status);
    assert_true(x.is_conflict);
    buf_addf(&uid_alone, "{\"metadata\":{\"uid\":\"%s\"},\"data\":{\"x\":\"2\"}}", old->uid);
    send_and_wait(&w, &x, CLIENT_PATCH, buf_str(&uid_alone));
    ASSERT_INT(422, x.answer.http_status);
    assert_true(x.is_conflict);
    object_unref(old);
    outcome_free(&x);
    world_done(&w);
}

/* machinery-43 */
TEST(machinery_43_annotations_without_preconditions_both_survive)
{
    struct outcome x = { 0 };
    struct object *now;
    struct world w;

    world_init(&w);
    make_map(&w, "");
    annotate(&w, &x, NULL, "mine");
    ASSERT_INT(0, x.answer.r);
    annotate(&w, &x, NULL, "yours");
    ASSERT_INT(0, x.answer.r);
    now = read_map(&w);
    ASSERT_STR("yes", object_annotation(now, "mine"));
    ASSERT_STR("yes", object_annotation(now, "yours"));
    object_unref(now);
    outcome_free(&x);
    world_done(&w);
}

/* A write whose owner takes a finalizer away. */
struct owner_of_write {
    struct api_write write;
    struct outcome outcome;
    const char *finalizer; /* to be removed */
    const char *mark;      /* of what a create makes: the annotation that says whose it is */
    unsigned decided;
};

static enum api_decision decide_finalizer(void *ctx, const struct object *now, struct buf *body,
                                          struct error *e)
{
    struct owner_of_write *x = ctx;
    struct merge_patch p;

    x->decided++;
    if (!object_has_finalizer(now, x->finalizer))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_remove_finalizer(&p, now, x->finalizer);
    return merge_patch_end(&p, e) < 0 ? API_REFUSE : API_SEND;
}

static void owner_done(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct owner_of_write *x = ctx;

    assert_true(api_write_succeeded(outcome) == (a->r == 0));
    outcome_done(&x->outcome, a);
}

static enum api_decision decide_create(void *ctx, const struct object *now, struct buf *body, struct error *e)
{
    struct owner_of_write *x = ctx;

    x->decided++;
    if (!now) {
        buf_addf(body,
                 "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"m\","
                 "\"annotations\":{\"owner\":\"%s\"}}}",
                 x->mark);
        return API_SEND;
    }
    if (object_annotation_is(now, "owner", x->mark))
        return API_AS_IT_IS;
    (void)error_set(e, ERR_EXISTS, "'m' is somebody else's");
    return API_REFUSE;
}

static void write_map(struct world *w, struct owner_of_write *x, enum client_verb verb, const char *uid)
{
    struct api_write_options o = {
        .api = { .client = w->client, .loop = w->served.loop, .manager = "berth-test", .rng = &w->rng },
        .patience = API_FEW_FAST,
        .decide = verb == CLIENT_CREATE ? decide_create : decide_finalizer,
        .done = owner_done,
        .ctx = x
    };

    o.request = (struct client_request){
        .verb = verb, .kind = kind_info(KIND_CONFIG_MAP), .ns = "default", .name = "m", .if_uid = uid
    };
    api_write_start(&x->write, &o);
    world_run(w);
    assert_false(api_write_is_active(&x->write));
}

static const char *finalizers_of(struct world *w)
{
    ASSERT_INT(200, send_request(&w->served, "GET", MAPS "/m", NULL));
    return got(&w->served, "metadata/finalizers");
}

/* machinery-44: somebody adds one between our reading and our writing. */
TEST(machinery_44_finalizer_added_by_another_is_not_lost)
{
    struct owner_of_write x = { .finalizer = "berth.dev/mine" };
    struct rival rival;
    struct world w;

    world_init(&w);
    make_map(&w, ",'finalizers':['berth.dev/mine','x.dev/theirs']");
    rival_init(&rival, CLIENT_PATCH, "m",
               "{'metadata':{'finalizers':['berth.dev/mine','x.dev/theirs','x.dev/new']}}");
    w.rivals[0] = &rival;
    write_map(&w, &x, CLIENT_PATCH, NULL);
    ASSERT_INT(200, rival.http_status);
    ASSERT_INT(0, x.outcome.answer.r);
    ASSERT_INT(2, x.decided); /* the first was refused with 409 */
    ASSERT_INT(2, w.writes);
    ASSERT_STR("[\"x.dev/theirs\",\"x.dev/new\"]", finalizers_of(&w));
    rival_done(&rival);
    outcome_free(&x.outcome);
    world_done(&w);
}

/* A race that is lost each time: it ends, and nothing is overwritten. */
TEST(conflicts_without_end_are_told)
{
    struct owner_of_write x = { .finalizer = "berth.dev/mine" };
    struct rival rivals[5];
    char bodies[5][64];
    struct world w;

    world_init(&w);
    make_map(&w, ",'finalizers':['berth.dev/mine']");
    for (size_t i = 0; i < ARRAY_LEN(rivals); i++) {
        (void)snprintf(bodies[i], sizeof bodies[i], "{'data':{'x':'%zu'}}", i + 10);
        rival_init(&rivals[i], CLIENT_PATCH, "m", bodies[i]);
        w.rivals[i] = &rivals[i];
    }
    write_map(&w, &x, CLIENT_PATCH, NULL);
    ASSERT_INT(1, x.outcome.ended);
    assert_true(x.outcome.is_conflict);
    ASSERT_INT(5, w.writes);
    ASSERT_INT(5, w.reads);
    ASSERT_STR("[\"berth.dev/mine\"]", finalizers_of(&w));
    ASSERT_STR("14", got(&w.served, "data/x"));
    for (size_t i = 0; i < ARRAY_LEN(rivals); i++)
        rival_done(&rivals[i]);
    outcome_free(&x.outcome);
    world_done(&w);
}

/* machinery-45, and the same when the request never arrived. */
TEST(machinery_45_create_whose_answer_was_lost_is_adopted)
{
    static const enum fate fates[] = { FATE_PASS, FATE_LOSE_ANSWER, FATE_LOSE_REQUEST };

    for (size_t i = 0; i < ARRAY_LEN(fates); i++) {
        struct owner_of_write x = { .mark = "me" };
        struct world w;

        world_init(&w);
        w.fates[0] = fates[i];
        write_map(&w, &x, CLIENT_CREATE, NULL);
        ASSERT_INT(1, x.outcome.ended);
        ASSERT_INT(0, x.outcome.answer.r);
        assert_non_null(x.outcome.object);
        assert_true(object_annotation_is(x.outcome.object, "owner", "me"));
        ASSERT_INT(fates[i] == FATE_LOSE_REQUEST ? 2 : 1, w.writes);
        outcome_free(&x.outcome);
        world_done(&w);
    }
}

/* The next process creates again what the last one had created. */
TEST(machinery_45_second_create_finds_the_first)
{
    struct owner_of_write x = { .mark = "me" };
    struct world w;

    world_init(&w);
    make_map(&w, ",'annotations':{'owner':'me'}");
    write_map(&w, &x, CLIENT_CREATE, NULL);
    ASSERT_INT(0, x.outcome.answer.r);
    ASSERT_INT(1, w.writes);
    ASSERT_INT(1, w.reads);
    assert_non_null(x.outcome.object);
    outcome_free(&x.outcome);
    world_done(&w);
}

TEST(name_of_somebody_else_is_not_adopted)
{
    struct owner_of_write x = { .mark = "me" };
    struct world w;

    world_init(&w);
    make_map(&w, ",'annotations':{'owner':'you'}");
    write_map(&w, &x, CLIENT_CREATE, NULL);
    ASSERT_INT(-ERR_EXISTS, x.outcome.answer.r);
    ASSERT_STR("'m' is somebody else's", x.outcome.answer.error.msg);
    ASSERT_STR("you", (send_request(&w.served, "GET", MAPS "/m", NULL),
                       got(&w.served, "metadata/annotations/owner")));
    outcome_free(&x.outcome);
    world_done(&w);
}

/* 9.4: the patch did take effect, and is not done twice. */
TEST(lost_answer_of_a_patch_is_not_a_second_write)
{
    static const enum fate fates[] = { FATE_LOSE_ANSWER, FATE_LOSE_REQUEST };

    for (size_t i = 0; i < ARRAY_LEN(fates); i++) {
        struct owner_of_write x = { .finalizer = "berth.dev/mine" };
        struct world w;

        world_init(&w);
        make_map(&w, ",'finalizers':['berth.dev/mine']");
        w.fates[0] = fates[i];
        write_map(&w, &x, CLIENT_PATCH, NULL);
        ASSERT_INT(0, x.outcome.answer.r);
        ASSERT_INT(fates[i] == FATE_LOSE_ANSWER ? 1 : 2, w.writes);
        ASSERT_STR("-", finalizers_of(&w));
        outcome_free(&x.outcome);
        world_done(&w);
    }
}

/* The same name, another object: the delete is done, and it is not that one's. */
TEST(delete_never_meets_the_successor)
{
    struct owner_of_write x = { 0 };
    struct object *old, *now;
    struct world w;

    world_init(&w);
    make_map(&w, "");
    old = read_map(&w);
    ASSERT_INT(200, send_request(&w.served, "DELETE", MAPS "/m", NULL));
    make_map(&w, "");
    write_map(&w, &x, CLIENT_DELETE, old->uid);
    ASSERT_INT(0, x.outcome.answer.r);
    now = read_map(&w);
    ASSERT_INT(0, strcmp(old->uid, now->uid) == 0);

    w.fates[w.writes] = FATE_LOSE_ANSWER;
    write_map(&w, &x, CLIENT_DELETE, now->uid);
    ASSERT_INT(0, x.outcome.answer.r);
    ASSERT_INT(404, send_request(&w.served, "GET", MAPS "/m", NULL));
    object_unref(old);
    object_unref(now);
    outcome_free(&x.outcome);
    world_done(&w);
}

/* machinery-46: the cache does not have it, the server does. */
struct live_get {
    struct client_call call;
    const char *uid;
    enum api_live live;
};

static void live_done(void *ctx, const struct client_answer *a)
{
    struct live_get *x = ctx;

    x->live = api_live_of(a, x->uid);
}

static enum api_live ask_live(struct world *w, const char *name, const char *uid)
{
    struct client_request q = {
        .verb = CLIENT_GET, .kind = kind_info(KIND_CONFIG_MAP), .ns = "default", .name = name
    };
    struct live_get x = { .uid = uid, .live = LIVE_UNKNOWN };

    client_send(w->client, &x.call, &q, live_done, &x);
    world_run(w);
    return x.live;
}

TEST(machinery_46_live_get_before_what_cannot_be_undone)
{
    struct object *o;
    struct world w;

    world_init(&w);
    make_map(&w, "");
    o = read_map(&w);
    ASSERT_INT(LIVE_THERE, ask_live(&w, "m", o->uid));
    ASSERT_INT(LIVE_GONE, ask_live(&w, "n", o->uid));
    ASSERT_INT(200, send_request(&w.served, "DELETE", MAPS "/m", NULL));
    ASSERT_INT(LIVE_GONE, ask_live(&w, "m", o->uid));
    make_map(&w, "");
    ASSERT_INT(LIVE_GONE, ask_live(&w, "m", o->uid));
    object_unref(o);
    world_done(&w);
}

TEST_MAIN()
