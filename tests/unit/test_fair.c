#include "tests/unit/test.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/fair.h"

#define US NS_PER_US

/* A request that takes its time on the clock, and a name in the log when it ran. */
struct request {
    struct fair_item item;
    char name;
    uint64_t takes_ns;
    struct request *submits;
    struct request *cancels;
};

struct world {
    struct fair fair;
    struct manual_clock clock;
    struct buf log;
};

static uint64_t key_of(const struct request *r)
{
    return (uint64_t)(r->name | 0x20); /* 'A' and 'a' are one client's */
}

static void on_run(void *ctx, struct fair_item *item)
{
    struct world *w = ctx;
    struct request *r = CONTAINER_OF(item, struct request, item);

    assert_null(item->flow);
    buf_add_char(&w->log, r->name);
    manual_clock_advance(&w->clock, r->takes_ns);
    if (r->submits)
        (void)fair_submit(&w->fair, &r->submits->item, key_of(r->submits));
    if (r->cancels)
        fair_cancel(&w->fair, &r->cancels->item);
}

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    manual_clock_init(&w->clock, 1000, 0);
    fair_init(&w->fair, &w->clock.clock, on_run, w);
    buf_init(&w->log, 10000);
    return w;
}

static struct world *world_free(struct world *w)
{
    buf_done(&w->log);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

static void submit(struct world *w, struct request *r, bool is_queued)
{
    assert_int_equal(fair_submit(&w->fair, &r->item, key_of(r)), is_queued);
    assert_int_equal(r->item.flow != NULL, is_queued);
}

static void assert_log(struct world *w, const char *expected)
{
    ASSERT_STR(expected, buf_cstr(&w->log));
    buf_clear(&w->log);
}

TEST(a_quiet_client_runs_at_once)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request r[4];

    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        r[i] = (struct request){ .name = 'a', .takes_ns = 500 * US };
        submit(w, &r[i], false);
    }
    assert_log(w, "aaaa");
    assert_false(fair_run_queued(&w->fair));
}

TEST(who_has_used_its_time_waits)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request r[6];

    for (size_t i = 0; i < ARRAY_LEN(r); i++)
        r[i] = (struct request){ .name = 'a', .takes_ns = 1000 * US };
    submit(w, &r[0], false);
    submit(w, &r[1], false); /* 2 ms now */
    submit(w, &r[2], true);
    submit(w, &r[3], true);
    assert_log(w, "aa");
    fair_begin_turn(&w->fair);
    submit(w, &r[4], true); /* never past one's own that wait, new turn or not */
    assert_log(w, "");
    assert_false(fair_run_queued(&w->fair));
    assert_log(w, "aaa");
    fair_begin_turn(&w->fair);
    submit(w, &r[5], false);
    assert_log(w, "a");
}

TEST(time_spent_in_the_queue_counts)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request a = { .name = 'a', .takes_ns = 3000 * US };
    struct request b = { .name = 'A', .takes_ns = 1000 * US };
    struct request c = { .name = 'a', .takes_ns = 1 };

    submit(w, &a, false);
    submit(w, &b, true);
    assert_false(fair_run_queued(&w->fair));
    submit(w, &c, true); /* the same turn: 4 ms are used */
    assert_false(fair_run_queued(&w->fair));
    assert_log(w, "aAa");
}

TEST(others_are_not_held_up)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request busy[10];
    struct request b = { .name = 'b', .takes_ns = 100 * US };

    for (size_t i = 0; i < ARRAY_LEN(busy); i++) {
        busy[i] = (struct request){ .name = 'a', .takes_ns = 3000 * US };
        submit(w, &busy[i], i > 0);
    }
    submit(w, &b, false);
    assert_log(w, "ab");
}

TEST(queues_are_served_in_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    static const char order[] = "abcaaaabbc";
    struct request r[sizeof order - 1];

    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        r[i] = (struct request){ .name = order[i], .takes_ns = i < 3 ? FAIR_FLOW_NS : 1 * US };
        submit(w, &r[i], i >= 3);
    }
    assert_log(w, "abc");
    assert_false(fair_run_queued(&w->fair));
    assert_log(w, "abcabaa");
}

TEST(a_round_has_an_end)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request r[12];

    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        r[i] = (struct request){ .name = i % 2 ? 'a' : 'b', .takes_ns = 2000 * US };
        submit(w, &r[i], i >= 2);
    }
    assert_log(w, "ba");
    assert_true(fair_run_queued(&w->fair));
    assert_log(w, "bab"); /* after 4 ms there is time for one more */
    assert_true(fair_run_queued(&w->fair));
    assert_log(w, "aba"); /* it goes on where it was */
    assert_true(fair_run_queued(&w->fair));
    assert_false(fair_run_queued(&w->fair));
    assert_log(w, "baba");
    assert_false(fair_run_queued(&w->fair));
}

TEST(who_waits_can_be_taken_out)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request r[5];

    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        r[i] = (struct request){ .name = "aAbBa"[i], .takes_ns = FAIR_FLOW_NS };
        submit(w, &r[i], i == 1 || i >= 3);
    }
    fair_cancel(&w->fair, &r[3].item); /* all of b's */
    fair_cancel(&w->fair, &r[1].item);
    fair_cancel(&w->fair, &r[1].item); /* twice is once */
    assert_log(w, "ab");
    assert_false(fair_run_queued(&w->fair));
    assert_log(w, "a");
}

TEST(what_runs_may_submit_and_cancel)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request more = { .name = 'B' };
    struct request victim = { .name = 'A' };
    struct request first = { .name = 'a', .takes_ns = FAIR_FLOW_NS };
    struct request other = { .name = 'b', .takes_ns = FAIR_FLOW_NS };
    struct request queued = { .name = 'a', .submits = &more, .cancels = &victim };

    submit(w, &first, false);
    submit(w, &other, false);
    submit(w, &queued, true);
    submit(w, &victim, true);
    assert_false(fair_run_queued(&w->fair));
    assert_log(w, "abaB");
}

TEST(keys_that_share_a_place_share_a_flow)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct request a = { .name = 'a', .takes_ns = FAIR_FLOW_NS };
    struct request b = { .name = 'b' };

    assert_false(fair_submit(&w->fair, &a.item, 7));
    assert_true(fair_submit(&w->fair, &b.item, UINT64_C(7) + FAIR_FLOWS));
    assert_false(fair_run_queued(&w->fair));
    assert_log(w, "ab");
}

TEST_MAIN()
