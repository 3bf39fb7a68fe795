/* An informer against a server that does everything servers may do, from seeds: at the end, and all the way,
 * what handlers were told adds up. Lists lag behind, streams are cut and repeat themselves, history is
 * forgotten, answers to writes overtake their events or come late. */
#include "tests/unit/test_informer.h"

#include "base/rng.h"

#define SEEDS 200
#define STEPS 400
#define KEYS 6
#define EVENTS_MAX 2048
#define WRITES_MAX 16

struct change {
    unsigned key;
    unsigned uid;
    const char *type;
};

/* Of one key: what a server has, and what a handler believes. */
struct known {
    unsigned uid; /* 0: absent */
    unsigned version;
};

struct model {
    struct world w;
    struct rng rng;
    struct change log[EVENTS_MAX]; /* by version; the first is 1 */
    unsigned version;
    unsigned forgotten; /* versions up to here */
    unsigned uids;
    struct known now[KEYS];
    unsigned stream_at; /* of the watch under way */
    unsigned asked;     /* requests seen so far, to tell a new one */
    /* Answers to writes that have not come yet. */
    struct {
        unsigned key;
        struct known known;
    } writes[WRITES_MAX];
    unsigned writes_count;
    struct known told[KEYS];
    unsigned told_version[KEYS]; /* the newest ever */
};

static unsigned draw(struct model *m, unsigned n)
{
    return (unsigned)rng_below(&m->rng, n);
}

/* --- The handler --- */

static struct known known_of(const struct object *o, unsigned *ret_key)
{
    struct str version = object_version(o);
    uint64_t number;

    assert_true(str_to_uint64(version, &number));
    *ret_key = (unsigned)(o->name[1] - '0');
    return (struct known){ (unsigned)strtoul(o->uid + 1, NULL, 10), (unsigned)number };
}

/* Each key's versions only grow, whatever the way they came. */
static void model_note(struct model *m, unsigned key, struct known k, bool is_there)
{
    assert_true(k.version >= m->told_version[key]);
    m->told_version[key] = k.version;
    m->told[key] = is_there ? k : (struct known){ 0 };
}

static void model_add(void *ctx, const struct object *o, bool is_initial)
{
    struct model *m = ctx;
    unsigned key;
    struct known k = known_of(o, &key);

    (void)is_initial;
    ASSERT_INT(0, m->told[key].uid);
    model_note(m, key, k, true);
}

static void model_update(void *ctx, const struct object *old, const struct object *o)
{
    struct model *m = ctx;
    unsigned key;
    struct known before = known_of(old, &key), k = known_of(o, &key);

    ASSERT_INT(m->told[key].uid, before.uid);
    ASSERT_INT(m->told[key].version, before.version);
    ASSERT_INT(before.uid, k.uid);
    assert_true(k.version > before.version);
    model_note(m, key, k, true);
}

static void model_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct model *m = ctx;
    unsigned key;
    struct known k = known_of(o, &key);

    (void)is_final_unknown;
    ASSERT_INT(m->told[key].uid, k.uid);
    model_note(m, key, k, false);
}

/* --- The server --- */

static const char *model_spec(unsigned key, struct known k)
{
    static char spec[64];

    (void)snprintf(spec, sizeof spec, "a/k%u@%u:u%u", key, k.version, k.uid);
    return spec;
}

static void model_write(struct model *m)
{
    unsigned key = draw(m, KEYS);
    struct known *k = &m->now[key];
    struct change *c = &m->log[++m->version];

    assert_true(m->version < EVENTS_MAX);
    if (!k->uid) {
        *k = (struct known){ ++m->uids, m->version };
        *c = (struct change){ key, k->uid, "ADDED" };
    } else if (draw(m, 3) == 0) {
        *c = (struct change){ key, k->uid, "DELETED" };
        *k = (struct known){ 0 };
        return;
    } else {
        k->version = m->version;
        *c = (struct change){ key, k->uid, "MODIFIED" };
    }
    if (m->writes_count < WRITES_MAX && draw(m, 2)) {
        m->writes[m->writes_count].key = key;
        m->writes[m->writes_count].known = *k;
        m->writes_count++;
    }
}

/* An answer comes back, in any order. */
static void model_answer_write(struct model *m)
{
    unsigned at;
    struct object *o;

    if (m->writes_count == 0)
        return;
    at = draw(m, m->writes_count);
    o = new_claim(model_spec(m->writes[at].key, m->writes[at].known));
    m->writes[at] = m->writes[--m->writes_count];
    informer_observe(m->w.informer, o);
    object_unref(o);
}

static unsigned request_version(const struct model *m)
{
    const char *version = m->w.attempt->request->resource_version;

    return version ? (unsigned)strtoul(version, NULL, 10) : 0;
}

/* The state at any version that is new enough for who asks. */
static void model_answer_list(struct model *m)
{
    _cleanup_(buf_done_p) struct buf specs = BUF_INIT(WORLD_TEXT_MAX);
    const char *version = m->w.attempt->request->resource_version;
    unsigned oldest = version ? request_version(m) : m->version;
    unsigned at = oldest + draw(m, m->version - oldest + 1);
    struct known state[KEYS] = { 0 };
    char text[16];

    for (unsigned v = 1; v <= at; v++) {
        const struct change *c = &m->log[v];

        state[c->key] = strcmp(c->type, "DELETED") ? (struct known){ c->uid, v } : (struct known){ 0 };
    }
    for (unsigned key = 0; key < KEYS; key++)
        if (state[key].uid)
            buf_addf(&specs, "%s%s", specs.len ? " " : "", model_spec(key, state[key]));
    (void)snprintf(text, sizeof text, "%u", at);
    play_list(&m->w, text, buf_cstr(&specs));
}

static void model_send(struct model *m, unsigned version)
{
    const struct change *c = &m->log[version];

    play_event(&m->w, c->type, model_spec(c->key, (struct known){ c->uid, version }));
}

static void model_stream(struct model *m)
{
    char text[16];

    if (m->stream_at < m->forgotten && draw(m, 2)) {
        play_error_event(&m->w, 410, "Expired", "too old");
    } else if (m->stream_at > 0 && draw(m, 8) == 0) {
        model_send(m, 1 + draw(m, m->stream_at)); /* once more */
    } else if (m->stream_at < m->version) {
        model_send(m, ++m->stream_at);
    } else {
        (void)snprintf(text, sizeof text, "%u", m->stream_at);
        play_bookmark(&m->w, text, false);
    }
}

/* Whatever is on its way gets a step further. */
static void model_serve(struct model *m)
{
    if (!m->w.attempt)
        return;
    if (m->w.attempt->request->verb == CLIENT_LIST) {
        model_answer_list(m);
        return;
    }
    if (m->asked != m->w.sent_ns.count) {
        m->asked = (unsigned)m->w.sent_ns.count;
        m->stream_at = request_version(m);
        if (m->stream_at < m->forgotten) {
            play_status(&m->w, 410, "Expired", "too old");
            return;
        }
    }
    model_stream(m);
}

static void model_fail(struct model *m)
{
    if (!m->w.attempt)
        return;
    switch (draw(m, 4)) {
    case 0:
        play_failure(&m->w, ERR_UNAVAILABLE, "connection refused", false);
        break;
    case 1:
        play_status(&m->w, 500, "InternalError", "oh");
        break;
    case 2:
        play_status(&m->w, 429, "TooManyRequests", "oh");
        break;
    default:
        if (m->w.attempt->request->verb == CLIENT_WATCH)
            play_end(&m->w);
        break;
    }
}

static void model_step(struct model *m)
{
    unsigned what = draw(m, 100);

    if (what < 30)
        model_write(m);
    else if (what < 70)
        model_serve(m);
    else if (what < 80)
        model_answer_write(m);
    else if (what < 85)
        model_fail(m);
    else if (what < 87)
        m->forgotten = m->version;
    else
        world_advance(&m->w, draw(m, 4000) * NS_PER_MS);
}

/* Nothing fails any more: soon everybody knows everything. */
static void model_settle(struct model *m)
{
    for (unsigned n = 0; n < 4 * EVENTS_MAX; n++) {
        if (!m->w.attempt)
            world_advance(&m->w, 60 * NS_PER_S);
        if (m->w.attempt->request->verb == CLIENT_WATCH && m->asked == m->w.sent_ns.count &&
            m->stream_at == m->version)
            return;
        model_serve(m);
    }
    fail_msg("does not settle");
}

static void model_check(struct model *m)
{
    for (unsigned key = 0; key < KEYS; key++) {
        char name[4];
        const struct object *o;

        ASSERT_INT(m->now[key].uid, m->told[key].uid);
        ASSERT_INT(m->now[key].version, m->told[key].version);
        (void)snprintf(name, sizeof name, "k%u", key);
        o = informer_get(m->w.informer, "a", name);
        ASSERT_INT(m->now[key].uid != 0, o != NULL);
    }
}

static void model_run(uint64_t number)
{
    struct model *m = calloc(1, sizeof *m);

    assert_non_null(m);
    rng_init(&m->rng, number);
    world_init(&m->w, &(struct informer_options){ .seed = number });
    log_install(NULL);
    informer_remove_handler(&m->w.handler);
    m->w.handler = (struct informer_handler){ model_add, model_update, model_delete, .ctx = m };
    informer_add_handler(m->w.informer, &m->w.handler);
    informer_start(m->w.informer);
    for (unsigned step = 0; step < STEPS; step++)
        model_step(m);
    while (m->writes_count)
        model_answer_write(m);
    model_settle(m);
    model_check(m);
    world_done(&m->w);
    free(m);
}

TEST(what_handlers_were_told_adds_up_whatever_the_server_did)
{
    for (uint64_t number = 0; number < SEEDS; number++) {
        print_message("# seed %u\n", (unsigned)number);
        model_run(number);
    }
}

TEST_MAIN()
