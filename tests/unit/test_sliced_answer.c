/* Answers in slices: what is answered at once, one slice per turn, failures, askers who go away, the bound.
 */
#include "tests/unit/test_call.h"

#include "apiserver/sliced_answer.h"
#include "base/clock.h"
#include "io/loop.h"

/* An answer of so many slices, each of which writes its number. */
struct counted {
    struct sliced_answer answer;
    int slices; /* that are left; negative: it fails */
    unsigned *steps, *freed;
};

struct desk {
    struct manual_clock clock;
    struct loop *loop;
    struct sliced_answers *all;
    unsigned steps, freed, answered, woken;
};

static struct desk desk;
static struct error err;

static int counted_step(struct sliced_answer *a, struct buf *out, struct error *e)
{
    struct counted *x = CONTAINER_OF(a, struct counted, answer);

    (*x->steps)++;
    if (x->slices < 0 && ++x->slices == 0)
        return error_set(e, ERR_NO_MEMORY, "it failed");
    if (x->slices <= 0)
        return 0;
    buf_addf(out, "%d", x->slices);
    return --x->slices == 0;
}

static void counted_free(struct sliced_answer *a)
{
    struct counted *x = CONTAINER_OF(a, struct counted, answer);

    (*x->freed)++;
    free(x);
}

static struct sliced_answer *counted_new(int slices)
{
    struct counted *x = calloc(1, sizeof *x);

    assert_non_null(x);
    *x = (struct counted){ { counted_step, counted_free }, slices, &desk.steps, &desk.freed };
    return &x->answer;
}

static void stream_wake(struct stream *s)
{
    (void)s;
    desk.woken++;
}

static void on_answer(struct call *c)
{
    desk.answered++;
    if (c->stream)
        c->stream->wake = stream_wake;
}

static const struct carrier streams = { test_header, test_each_header, on_answer, true };
static const struct carrier no_streams = { test_header, test_each_header, on_answer, false };

static void desk_open(void)
{
    desk = (struct desk){ 0 };
    manual_clock_init(&desk.clock, 1, 1);
    ASSERT_OK(loop_new(&desk.clock.clock, &desk.loop, &err));
    desk.all = sliced_answers_new(desk.loop);
    assert_non_null(desk.all);
}

static void desk_close(void)
{
    desk.all = sliced_answers_free(desk.all);
    desk.loop = loop_free(desk.loop);
}

static void ask(struct call *c, const struct carrier *carrier, int slices)
{
    *c = (struct call){ 0 };
    call_init(c, carrier, NULL);
    sliced_answer_take(desk.all, c, counted_new(slices));
    ASSERT_INT(1, c->stream || c->status != 0);
}

static void asked_done(struct call *c)
{
    if (c->stream)
        c->stream->close(c->stream);
    c->stream = NULL;
    call_done(c);
}

/* All that is there: the text, and then what pull() returned instead. */
static ssize_t pull_all(struct call *c, char to[static 64])
{
    size_t len = 0;
    ssize_t n;

    while ((n = c->stream->pull(c->stream, to + len, 3)) > 0)
        len += (size_t)n;
    to[len] = '\0';
    return n;
}

TEST(one_slice_is_answered_whole)
{
    struct call c;

    desk_open();
    ask(&c, &streams, 1);
    ASSERT_INT(200, c.status);
    assert_null(c.stream);
    ASSERT_STR("1\n", buf_cstr(&c.reply));
    asked_done(&c);
    ask(&c, &streams, -1);
    ASSERT_INT(500, c.status);
    asked_done(&c);
    ASSERT_INT(2, desk.freed);
    desk_close();
}

TEST(one_slice_per_turn)
{
    struct call a, b;
    char text[64];

    desk_open();
    ask(&a, &streams, 3);
    ask(&b, &streams, 4);
    ASSERT_INT(2, desk.steps);
    ASSERT_INT(0, pull_all(&a, text));
    for (unsigned turns = 3; loop_poll(desk.loop); turns++)
        ASSERT_INT(turns, desk.steps);
    ASSERT_INT(7, desk.steps);
    ASSERT_INT(2, desk.woken);
    ASSERT_INT(2, desk.freed);
    ASSERT_INT(STREAM_END, pull_all(&a, text));
    ASSERT_STR("321\n", text);
    ASSERT_INT(STREAM_END, pull_all(&b, text));
    ASSERT_STR("4321\n", text);
    asked_done(&a);
    asked_done(&b);
    desk_close();
}

TEST(a_late_failure)
{
    struct call c;
    char text[64];

    desk_open();
    ask(&c, &streams, -3);
    ASSERT_INT(200, c.status);
    while (loop_poll(desk.loop))
        ;
    ASSERT_INT(1, desk.woken);
    ASSERT_INT(STREAM_FAILED, pull_all(&c, text));
    asked_done(&c);
    ASSERT_INT(1, desk.freed);
    desk_close();
}

/* Nothing is done for who went away; the others go on. */
TEST(an_asker_goes_away)
{
    struct call a, b;
    char text[64];

    desk_open();
    ask(&a, &streams, 100);
    ask(&b, &streams, 3);
    (void)loop_poll(desk.loop);
    asked_done(&a);
    ASSERT_INT(1, desk.freed);
    while (loop_poll(desk.loop))
        ;
    ASSERT_INT(5, desk.steps);
    ASSERT_INT(STREAM_END, pull_all(&b, text));
    ASSERT_STR("321\n", text);
    asked_done(&b);
    desk_close();
}

TEST(one_too_many)
{
    struct call calls[SLICED_ANSWERS_MAX], more;

    desk_open();
    for (size_t i = 0; i < SLICED_ANSWERS_MAX; i++)
        ask(&calls[i], &streams, 2);
    ask(&more, &streams, 2);
    ASSERT_INT(429, more.status);
    asked_done(&more);
    ask(&more, &streams, 1); /* what is done at once needs no place */
    ASSERT_INT(200, more.status);
    asked_done(&more);
    asked_done(&calls[0]);
    ask(&calls[0], &streams, 2);
    ASSERT_INT(200, calls[0].status);
    while (loop_poll(desk.loop))
        ;
    ASSERT_INT(SLICED_ANSWERS_MAX, desk.woken);
    ask(&more, &streams, 2); /* what is made, and not read yet, neither */
    ASSERT_INT(200, more.status);
    asked_done(&more);
    for (size_t i = 0; i < SLICED_ANSWERS_MAX; i++)
        asked_done(&calls[i]);
    desk_close();
}

TEST(the_server_stops)
{
    struct call c;
    char text[64];

    desk_open();
    ask(&c, &streams, 5);
    sliced_answers_stop(desk.all);
    ASSERT_INT(1, desk.freed);
    ASSERT_INT(1, desk.woken);
    ASSERT_INT(STREAM_FAILED, pull_all(&c, text));
    while (loop_poll(desk.loop))
        ;
    ASSERT_INT(1, desk.steps);
    asked_done(&c);
    desk_close();
}

TEST(a_carrier_without_streams)
{
    struct call c;

    desk_open();
    ask(&c, &no_streams, 3);
    ASSERT_INT(200, c.status);
    assert_null(c.stream);
    ASSERT_STR("321\n", buf_cstr(&c.reply));
    asked_done(&c);
    desk_close();
}

TEST_MAIN()
