/* What is written of many events: combined, counted, filtered; in time that is handed in. */
#include "tests/unit/test_kind.h"

#include "machinery/correlate.h"

#define REAL_NS INT64_C(1700000000000000000)

struct world {
    struct correlator c;
    uint64_t now_ns;
    int64_t real_ns;
    unsigned names; /* given so far */
    struct object *claim;
    struct correlated got;
};

static struct object *claim_of(const char *name, const char *uid)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(4096);
    struct object *o;

    json_init(&d, 1 << 20);
    buf_addf(&text, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\",\"uid\":\"%s\"}}", name, uid);
    ASSERT_OK(object_decode(kind_info(KIND_CLAIM), buf_str(&text), &d, &o, &err));
    return o;
}

static void world_init(struct world *w)
{
    *w = (struct world){ .now_ns = 1000 * NS_PER_S, .real_ns = REAL_NS };
    correlator_init(&w->c, (struct hash_seed){ 1, 2 });
    w->claim = claim_of("db", "u1");
}

static void world_done(struct world *w)
{
    (void)object_unref(w->claim);
    correlator_done(&w->c);
}

static void pass(struct world *w, uint64_t ns)
{
    w->now_ns += ns;
    w->real_ns += (int64_t)ns;
}

static enum correlate_action event_on(struct world *w, const struct object *o, const char *type,
                                      const char *reason, const char *message)
{
    char name[32];
    struct correlate_event e = { o, type, reason, str_of(message), name };

    (void)snprintf(name, sizeof name, "e%u", ++w->names);
    ASSERT_OK(correlator_observe(&w->c, &e, w->now_ns, w->real_ns, &w->got, &err));
    return w->got.action;
}

static enum correlate_action event(struct world *w, const char *reason, const char *message)
{
    return event_on(w, w->claim, "Normal", reason, message);
}

static enum correlate_action event_numbered(struct world *w, const char *reason, unsigned n)
{
    char message[32];

    (void)snprintf(message, sizeof message, "message %u", n);
    return event(w, reason, message);
}

#define ASSERT_GIVEN(w, name_, count_, is_combined_)    \
    do {                                                \
        ASSERT_STR(name_, (w)->got.name);               \
        ASSERT_INT(count_, (w)->got.count);             \
        ASSERT_INT(is_combined_, (w)->got.is_combined); \
    } while (0)

TEST(correlate_counts_what_was_there_before)
{
    struct world w;

    world_init(&w);
    ASSERT_INT(CORRELATE_CREATE, event(&w, "R", "m"));
    ASSERT_GIVEN(&w, "e1", 1, false);
    assert_true(w.got.first_real_ns == REAL_NS);
    pass(&w, NS_PER_S);
    ASSERT_INT(CORRELATE_PATCH, event(&w, "R", "m"));
    ASSERT_GIVEN(&w, "e1", 2, false);
    assert_true(w.got.first_real_ns == REAL_NS);
    pass(&w, 3600 * NS_PER_S); /* counting does not end with quiet */
    ASSERT_INT(CORRELATE_PATCH, event(&w, "R", "m"));
    ASSERT_GIVEN(&w, "e1", 3, false);
    world_done(&w);
}

TEST(correlate_tells_events_apart)
{
    _cleanup_(object_unref_p) struct object *other = claim_of("db2", "u1"), *reborn = claim_of("db", "u2");
    struct world w;

    world_init(&w);
    ASSERT_INT(CORRELATE_CREATE, event(&w, "R", "m"));
    ASSERT_INT(CORRELATE_CREATE, event(&w, "R", "n"));
    ASSERT_INT(CORRELATE_CREATE, event(&w, "S", "m"));
    ASSERT_INT(CORRELATE_CREATE, event(&w, "Rm", ""));
    ASSERT_INT(CORRELATE_CREATE, event(&w, "R", ""));
    ASSERT_INT(CORRELATE_CREATE, event_on(&w, w.claim, "Warning", "R", "m"));
    ASSERT_INT(CORRELATE_CREATE, event_on(&w, other, "Normal", "R", "m"));
    ASSERT_INT(CORRELATE_CREATE, event_on(&w, reborn, "Normal", "R", "m"));
    ASSERT_INT(CORRELATE_PATCH, event(&w, "R", "m"));
    ASSERT_GIVEN(&w, "e1", 2, false);
    world_done(&w);
}

/* machinery-57 */
TEST(correlate_combines_from_the_tenth_message)
{
    struct world w;

    world_init(&w);
    for (unsigned i = 1; i <= 9; i++) {
        ASSERT_INT(CORRELATE_CREATE, event_numbered(&w, "R", i));
        ASSERT_INT(false, w.got.is_combined);
    }
    ASSERT_INT(CORRELATE_CREATE, event_numbered(&w, "R", 10));
    ASSERT_GIVEN(&w, "e10", 1, true);
    ASSERT_INT(CORRELATE_PATCH, event_numbered(&w, "R", 11));
    ASSERT_GIVEN(&w, "e10", 2, true);
    ASSERT_INT(CORRELATE_PATCH, event_numbered(&w, "R", 12));
    ASSERT_GIVEN(&w, "e10", 3, true);
    /* The set did not grow: the eleventh is combined again, the third stands alone as before. */
    ASSERT_INT(CORRELATE_PATCH, event_numbered(&w, "R", 11));
    ASSERT_GIVEN(&w, "e10", 4, true);
    ASSERT_INT(CORRELATE_PATCH, event_numbered(&w, "R", 3));
    ASSERT_GIVEN(&w, "e3", 2, false);
    /* Another reason is another group. */
    ASSERT_INT(CORRELATE_CREATE, event_numbered(&w, "S", 11));
    ASSERT_INT(false, w.got.is_combined);
    world_done(&w);
}

TEST(correlate_forgets_messages_of_a_quiet_group)
{
    static const struct {
        uint64_t quiet_ns;
        bool is_combined;
    } rows[] = {
        { CORRELATE_QUIET_NS, true },
        { CORRELATE_QUIET_NS + 1, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        for (unsigned n = 1; n <= 10; n++) {
            pass(&w, CORRELATE_QUIET_NS); /* from one to the next */
            (void)event_numbered(&w, "R", n);
        }
        ASSERT_INT(true, w.got.is_combined);
        pass(&w, rows[i].quiet_ns);
        (void)event_numbered(&w, "R", 11);
        ASSERT_INT(rows[i].is_combined, w.got.is_combined);
        world_done(&w);
    }
}

/* machinery-58 */
TEST(correlate_filters_the_26th)
{
    struct world w;
    char reason[16];

    world_init(&w);
    for (unsigned i = 1; i <= 30; i++) {
        (void)snprintf(reason, sizeof reason, "R%u", i);
        ASSERT_INT(i <= 25 ? CORRELATE_CREATE : CORRELATE_DROP, event(&w, reason, "m"));
    }
    /* The other type has a bucket of its own. */
    ASSERT_INT(CORRELATE_CREATE, event_on(&w, w.claim, "Warning", "R", "m"));
    pass(&w, CORRELATE_REFILL_NS - NS_PER_S);
    ASSERT_INT(CORRELATE_DROP, event(&w, "R1", "m"));
    pass(&w, NS_PER_S);
    ASSERT_INT(CORRELATE_PATCH, event(&w, "R1", "m"));
    ASSERT_INT(3, w.got.count); /* the one that was dropped counts */
    ASSERT_INT(CORRELATE_DROP, event(&w, "R1", "m"));
    world_done(&w);
}

/* One that was never written is counted on all the same: the server will say that it is not there. */
TEST(correlate_counts_what_was_filtered)
{
    struct world w;

    world_init(&w);
    for (unsigned i = 0; i < CORRELATE_BURST; i++)
        (void)event(&w, "R", "m");
    ASSERT_INT(CORRELATE_DROP, event(&w, "S", "m"));
    pass(&w, CORRELATE_REFILL_NS);
    ASSERT_INT(CORRELATE_PATCH, event(&w, "S", "m"));
    ASSERT_GIVEN(&w, "e26", 2, false);
    world_done(&w);
}

TEST(correlate_knows_so_many)
{
    struct world w;
    struct object *first = claim_of("c-first", "u");

    world_init(&w);
    ASSERT_INT(CORRELATE_CREATE, event_on(&w, first, "Normal", "R", "m"));
    for (unsigned i = 0; i < CORRELATE_ENTRIES_MAX; i++) {
        char name[32];
        struct object *o;

        (void)snprintf(name, sizeof name, "c%u", i);
        o = claim_of(name, "u");
        ASSERT_INT(CORRELATE_CREATE, event_on(&w, o, "Normal", "R", "m"));
        (void)object_unref(o);
    }
    ASSERT_INT(CORRELATE_ENTRIES_MAX, lru_count(&w.c.seen));
    ASSERT_INT(CORRELATE_ENTRIES_MAX, lru_count(&w.c.groups));
    ASSERT_INT(CORRELATE_ENTRIES_MAX, lru_count(&w.c.buckets));
    ASSERT_INT(CORRELATE_CREATE, event_on(&w, first, "Normal", "R", "m")); /* pushed out */
    (void)object_unref(first);
    world_done(&w);
}

TEST(correlate_refuses_keys_without_end)
{
    _cleanup_(freep) char *text = malloc(9001);
    struct world w;
    struct correlate_event e = { .type = "Normal", .reason = "R", .name = "e" };

    assert_non_null(text);
    memset(text, 'x', 9000);
    text[9000] = '\0';
    world_init(&w);
    e.about = w.claim;
    e.message = str_of(text);
    w.got.count = 77;
    ASSERT_ERR(ERR_TOO_LARGE, correlator_observe(&w.c, &e, w.now_ns, w.real_ns, &w.got, &err));
    ASSERT_INT(77, w.got.count);
    world_done(&w);
}

TEST_MAIN()
