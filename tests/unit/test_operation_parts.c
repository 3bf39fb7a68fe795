/* Operations on volumes and parts of them: what may run at once, and when what failed may run again. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "machinery/pending_operations.h"

static struct error err;

struct world {
    struct manual_clock clock;
    struct loop *loop;
    struct operations *all;
    unsigned settled;
};

static void on_settled(void *ctx, struct str volume)
{
    (void)volume;
    ((struct world *)ctx)->settled++;
}

static void world_init(struct world *w)
{
    struct operations_options o = { .on_settled = on_settled, .ctx = w };

    memset(w, 0, sizeof *w);
    manual_clock_init(&w->clock, 1000 * NS_PER_S, INT64_C(1700000000) * (int64_t)NS_PER_S);
    ASSERT_OK(loop_new(&w->clock.clock, &w->loop, &err));
    o.loop = w->loop;
    o.clock = &w->clock.clock;
    ASSERT_OK(operations_new(&o, &w->all, &err));
}

static void world_done(struct world *w)
{
    w->all = operations_free(w->all);
    w->loop = loop_free(w->loop);
}

static void pass_ms(struct world *w, uint64_t ms)
{
    loop_advance(w->loop, &w->clock, ms * NS_PER_MS);
}

#define KEY(v, p, n) (&(struct operation_key){ v, p, n })

/* What the last operation that failed for the key complained of, while that is remembered; else NULL. */
static const char *complaint(const struct world *w, const struct operation_key *key)
{
    struct operation_state s;

    return operations_inspect(w->all, key, &s) && s.failures ? s.message : NULL;
}

static struct pending_operation *start(struct world *w, const struct operation_key *key, const char *name)
{
    struct pending_operation *op = NULL;

    ASSERT_OK(operations_start(w->all, key, name, &op, &err));
    return op;
}

static void fail_one(struct world *w, const struct operation_key *key, const char *name)
{
    struct error why;
    struct pending_operation *op = start(w, key, name);

    operation_end(op, error_set(&why, ERR_IO, "no luck"), &why);
}

/* {what runs, what is to start, may it}: the volume alone tells apart, then pods and nodes where both say. */
TEST(operations_keys_that_are_in_each_others_way)
{
    static const struct {
        struct operation_key runs;
        struct operation_key starts;
        bool may;
    } rows[] = {
        { { "v", "", "" }, { "v", "", "" }, false },    { { "v", "", "" }, { "w", "", "" }, true },
        { { "v", "p", "" }, { "v", "p", "" }, false },  { { "v", "p", "" }, { "v", "q", "" }, true },
        { { "v", "p", "" }, { "v", "", "" }, false },   { { "v", "", "" }, { "v", "p", "" }, false },
        { { "v", "", "n" }, { "v", "", "n" }, false },  { { "v", "", "n" }, { "v", "", "m" }, true },
        { { "v", "", "n" }, { "v", "", "" }, false },   { { "v", "", "" }, { "v", "", "n" }, false },
        { { "v", "p", "n" }, { "v", "q", "n" }, true }, { { "v", "p", "n" }, { "v", "p", "m" }, true },
        { { "v", "p", "" }, { "v", "", "n" }, false },  { { "", "", "" }, { "", "", "" }, true },
        { { "", "p", "n" }, { "", "p", "n" }, true },   { { "", "", "" }, { "v", "", "" }, true },
        { { "v", "", "" }, { "", "", "" }, true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pending_operation *first, *second = NULL;
        struct world w;
        int r;

        world_init(&w);
        first = start(&w, &rows[i].runs, "a");
        if (operations_is_pending(w.all, &rows[i].starts) == rows[i].may)
            fail_msg("row %zu", i);
        r = operations_start(w.all, &rows[i].starts, "b", &second, &err);
        if (r != (rows[i].may ? 0 : -ERR_OP_PENDING))
            fail_msg("row %zu: %d", i, r);
        ASSERT_INT(rows[i].may ? 2 : 1, operations_pending(w.all));
        operation_end(first, 0, NULL);
        if (second)
            operation_end(second, 0, NULL);
        ASSERT_INT(0, operations_pending(w.all));
        world_done(&w);
    }
}

TEST(operations_tells_what_is_known_of_a_key)
{
    struct operation_state x;
    struct pending_operation *op;
    struct world w;

    world_init(&w);
    assert_false(operations_inspect(w.all, KEY("v", "p", ""), &x));
    assert_null(x.name);
    ASSERT_STR("", x.message);
    op = start(&w, KEY("v", "p", ""), "volume_mount");
    assert_true(operations_inspect(w.all, KEY("v", "p", ""), &x));
    ASSERT_STR("volume_mount", x.name);
    assert_true(x.is_running);
    operation_end(op, 0, NULL);
    assert_false(operations_inspect(w.all, KEY("v", "p", ""), &x));
    fail_one(&w, KEY("v", "p", ""), "volume_mount");
    assert_true(operations_inspect(w.all, KEY("v", "p", ""), &x));
    assert_false(x.is_running);
    assert_true(x.retry_at_ns > 0);
    ASSERT_STR("no luck", x.message);
    world_done(&w);
}

/* attach-39 */
TEST(operations_refuses_a_second_one)
{
    struct pending_operation *op, *other = NULL;
    struct world w;

    world_init(&w);
    op = start(&w, KEY("v", "", "n"), "volume_attach");
    ASSERT_ERR(ERR_OP_PENDING, operations_start(w.all, KEY("v", "", "n"), "volume_attach", &other, &err));
    ASSERT_STR(
        "Failed to create operation with name {volumeName:v podName: nodeName:n}. An operation with that "
        "name is already executing.",
        err.msg);
    assert_null(other);
    assert_true(error_is_expected(-ERR_OP_PENDING));
    operation_end(op, 0, NULL);
    /* Nothing is remembered of what went well. */
    assert_null(complaint(&w, KEY("v", "", "n")));
    operation_end(start(&w, KEY("v", "", "n"), "volume_attach"), 0, NULL);
    world_done(&w);
}

/* attach-40: verification has no key, and its failure no delay. */
TEST(operations_lets_through_what_has_no_volume)
{
    struct pending_operation *attach, *first, *second;
    struct error why;
    struct world w;

    world_init(&w);
    attach = start(&w, KEY("v", "", ""), "volume_attach");
    first = start(&w, KEY("", "", ""), "verify_volumes_are_attached_per_node");
    second = start(&w, KEY("", "", ""), "verify_volumes_are_attached_per_node");
    operation_end(first, error_set(&why, ERR_IO, "no luck"), &why);
    assert_false(operations_is_waiting(w.all, KEY("", "", ""), "verify_volumes_are_attached_per_node", NULL));
    operation_end(start(&w, KEY("", "", ""), "verify_volumes_are_attached_per_node"), 0, NULL);
    operation_end(second, 0, NULL);
    operation_end(attach, 0, NULL);
    world_done(&w);
}

/* attach-41 */
TEST(operations_waits_longer_each_time)
{
    static const uint64_t delays_ms[] = { 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 122000, 122000 };
    struct pending_operation *op = NULL;
    struct world w;
    uint64_t until_ns;

    world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(delays_ms); i++) {
        fail_one(&w, KEY("v", "", ""), "volume_attach");
        assert_true(operations_is_waiting(w.all, KEY("v", "", ""), "volume_attach", &until_ns));
        ASSERT_INT(delays_ms[i], (until_ns - w.clock.mono_ns) / NS_PER_MS);
        pass_ms(&w, delays_ms[i] - 1);
        ASSERT_ERR(ERR_BACKOFF, operations_start(w.all, KEY("v", "", ""), "volume_attach", &op, &err));
        pass_ms(&w, 1);
        assert_false(operations_is_waiting(w.all, KEY("v", "", ""), "volume_attach", NULL));
    }
    /* One success, and it begins anew. */
    operation_end(start(&w, KEY("v", "", ""), "volume_attach"), 0, NULL);
    fail_one(&w, KEY("v", "", ""), "volume_attach");
    assert_true(operations_is_waiting(w.all, KEY("v", "", ""), "volume_attach", &until_ns));
    ASSERT_INT(500, (until_ns - w.clock.mono_ns) / NS_PER_MS);
    world_done(&w);
}

TEST(operations_says_why_not_yet)
{
    struct pending_operation *op = NULL;
    struct world w;

    world_init(&w);
    fail_one(&w, KEY("v", "p", ""), "volume_mount");
    pass_ms(&w, 100);
    ASSERT_ERR(ERR_BACKOFF, operations_start(w.all, KEY("v", "p", ""), "volume_mount", &op, &err));
    ASSERT_STR(
        "Failed to create operation with name {\"v\" \"p\" \"\"}. An operation with that name failed at "
        "2023-11-14T22:13:20.000000Z. No retries permitted until 2023-11-14T22:13:20.500000Z (500ms). Last "
        "error: \"no luck\".",
        err.msg);
    ASSERT_STR("no luck", complaint(&w, KEY("v", "p", "")));
    assert_true(error_is_expected(-ERR_BACKOFF));
    world_done(&w);
}

/* However long the words are. */
TEST(operations_cuts_words_that_are_too_long)
{
    char volume[2048];
    struct pending_operation *op = NULL;
    struct world w;

    memset(volume, 'v', sizeof volume - 1);
    volume[sizeof volume - 1] = '\0';
    world_init(&w);
    fail_one(&w, KEY(volume, "", ""), "volume_attach");
    ASSERT_ERR(ERR_BACKOFF, operations_start(w.all, KEY(volume, "", ""), "volume_attach", &op, &err));
    world_done(&w);
}

/* Another operation of the key begins at once, and the delay of the first is forgotten. */
TEST(operations_does_not_hold_back_other_operations)
{
    uint64_t until_ns;
    struct world w;

    world_init(&w);
    fail_one(&w, KEY("v", "", "n"), "volume_detach");
    pass_ms(&w, 500);
    fail_one(&w, KEY("v", "", "n"), "volume_detach"); /* 1 s */
    assert_false(operations_is_waiting(w.all, KEY("v", "", "n"), "volume_attach", NULL));
    fail_one(&w, KEY("v", "", "n"), "volume_attach");
    assert_true(operations_is_waiting(w.all, KEY("v", "", "n"), "volume_attach", &until_ns));
    ASSERT_INT(500, (until_ns - w.clock.mono_ns) / NS_PER_MS);
    assert_false(operations_is_waiting(w.all, KEY("v", "", "n"), "volume_detach", NULL));
    world_done(&w);
}

/* Not in its delay any more, another one starts, and the history counts. */
TEST(operations_keeps_the_history_of_a_key)
{
    uint64_t until_ns;
    struct world w;

    world_init(&w);
    fail_one(&w, KEY("v", "", ""), "a");
    pass_ms(&w, 501);
    fail_one(&w, KEY("v", "", ""), "b");
    assert_true(operations_is_waiting(w.all, KEY("v", "", ""), "b", &until_ns));
    ASSERT_INT(1000, (until_ns - w.clock.mono_ns) / NS_PER_MS);
    world_done(&w);
}

/* Of several records one that runs decides, else the one of the very key, else the first. */
TEST(operations_chooses_among_records)
{
    struct pending_operation *op;
    struct world w;

    world_init(&w);
    fail_one(&w, KEY("v", "p", ""), "a");
    fail_one(&w, KEY("v", "q", ""), "b");
    assert_true(operations_is_waiting(w.all, KEY("v", "", ""), "a", NULL)); /* the first */
    assert_false(operations_is_waiting(w.all, KEY("v", "", ""), "b", NULL));
    assert_true(operations_is_waiting(w.all, KEY("v", "q", ""), "b", NULL)); /* the very key */
    op = start(&w, KEY("v", "r", ""), "c");
    assert_true(operations_is_pending(w.all, KEY("v", "", "")));
    assert_false(operations_is_pending(w.all, KEY("v", "q", "")));
    operation_end(op, 0, NULL);
    world_done(&w);
}

/* Told once for any number of ends, and when a delay is over; failures are forgotten in the end. */
TEST(operations_tells_when_something_settles)
{
    struct world w;

    world_init(&w);
    fail_one(&w, KEY("v", "", ""), "a");
    operation_end(start(&w, KEY("w", "", ""), "a"), 0, NULL);
    ASSERT_INT(0, w.settled);
    pass_ms(&w, 0);
    ASSERT_INT(1, w.settled);
    pass_ms(&w, 499);
    ASSERT_INT(1, w.settled);
    pass_ms(&w, 1);
    ASSERT_INT(2, w.settled);
    assert_non_null(complaint(&w, KEY("v", "", "")));
    pass_ms(&w, 244001);
    assert_null(complaint(&w, KEY("v", "", "")));
    ASSERT_INT(2, w.settled);
    world_done(&w);
}

/* A part of the volume that still runs does not keep the end of another part from being reported; one of the
 * whole volume does. */
TEST(operations_report_parts_on_their_own)
{
    struct pending_operation *p, *whole;
    struct world w;

    world_init(&w);
    p = start(&w, KEY("v", "p", ""), "a");
    operation_end(start(&w, KEY("v", "q", ""), "a"), 0, NULL);
    pass_ms(&w, 0);
    ASSERT_INT(1, w.settled);
    operation_end(p, 0, NULL);
    whole = start(&w, KEY("v", "", ""), "b");
    pass_ms(&w, 0);
    ASSERT_INT(1, w.settled);
    operation_end(whole, 0, NULL);
    pass_ms(&w, 0);
    ASSERT_INT(2, w.settled);
    world_done(&w);
}

/* Freed with operations that run and records that wait. */
TEST(operations_ends_in_the_middle_of_things)
{
    struct world w;

    world_init(&w);
    (void)start(&w, KEY("v", "", ""), "a");
    (void)start(&w, KEY("", "", ""), "a");
    fail_one(&w, KEY("w", "", ""), "a");
    world_done(&w);
}

TEST_MAIN()
