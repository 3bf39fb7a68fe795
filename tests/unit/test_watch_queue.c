/* The lines that a watch has yet to send. */
#include "tests/unit/test.h"

#include "apiserver/watch_queue.h"
#include "base/buf.h"
#include "base/rng.h"

static void queue_done(struct watch_queue *q)
{
    watch_queue_done(q);
}

static int push(struct watch_queue *q, const char *text)
{
    _cleanup_(watch_line_unref_p) struct watch_line *l = watch_line_new(str_of(text));

    assert_non_null(l);
    return watch_queue_push(q, l);
}

TEST(lines_come_out_whole_and_in_order)
{
    _cleanup_(queue_done) struct watch_queue q = { 0 };
    char to[64];

    ASSERT_INT(0, watch_queue_pull(&q, to, sizeof to));
    ASSERT_INT(0, push(&q, "one\n"));
    ASSERT_INT(0, push(&q, "two\n"));
    ASSERT_INT(8, q.bytes);
    ASSERT_INT(3, watch_queue_pull(&q, to, 3));
    assert_memory_equal("one", to, 3);
    ASSERT_INT(0, push(&q, "three\n"));
    ASSERT_INT(11, watch_queue_pull(&q, to, sizeof to));
    assert_memory_equal("\ntwo\nthree\n", to, 11);
    ASSERT_INT(0, q.count);
    ASSERT_INT(0, q.bytes);
}

TEST(objects_come_out_one_by_one_and_count_what_they_hold)
{
    _cleanup_(queue_done) struct watch_queue q = { 0 };
    _cleanup_(watch_line_unref_p) struct watch_line *one = NULL;
    struct object o = { .text = STR_LIT("{\"twelve\":1}") };
    struct watch_line *two;

    refcount_init(&o.refs);
    two = watch_line_new_object(WATCH_DELETED, &o);
    assert_non_null(two);
    assert_null(watch_queue_next(&q));
    ASSERT_INT(0, push(&q, "text"));
    ASSERT_INT(0, watch_queue_push(&q, two));
    ASSERT_INT(4 + 12, q.bytes);
    one = watch_queue_next(&q);
    assert_non_null(one);
    assert_null(one->object);
    assert_memory_equal("text", one->text, 4);
    (void)watch_line_unref(two);
    two = watch_queue_next(&q);
    assert_ptr_equal(two->object, &o);
    ASSERT_INT(WATCH_DELETED, two->type);
    ASSERT_INT(0, q.bytes);
    assert_null(watch_queue_next(&q));
    (void)watch_line_unref(two);
    assert_true(refcount_dec(&o.refs)); /* ours is the last: the line has let go of it */
}

/* Any pushes and pulls: the same bytes come out. */
TEST(bytes_are_kept_over_any_order)
{
    _cleanup_(queue_done) struct watch_queue q = { 0 };
    _cleanup_(buf_done_p) struct buf in = BUF_INIT(1 << 24), out = BUF_INIT(1 << 24);
    struct rng rng;

    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        char text[64];
        if (rng_chance(&rng, 55)) {
            (void)snprintf(text, sizeof text, "%d:%.*s\n", i, (int)rng_below(&rng, 40),
                           "........................................");
            if (push(&q, text) == 0)
                buf_add_cstr(&in, text);
        } else {
            size_t n = watch_queue_pull(&q, text, rng_below(&rng, sizeof text));
            buf_add(&out, text, n);
        }
    }
    while (q.count) {
        char text[16];
        size_t n = watch_queue_pull(&q, text, sizeof text);
        buf_add(&out, text, n);
    }
    ASSERT_STR(buf_cstr(&in), buf_cstr(&out));
}

TEST(a_queue_is_bounded_in_lines)
{
    _cleanup_(queue_done) struct watch_queue q = { 0 };
    char to[4];

    for (int i = 0; i < WATCH_QUEUE_LINES_MAX; i++)
        ASSERT_INT(0, push(&q, "x"));
    ASSERT_INT(-ERR_TOO_LARGE, push(&q, "x"));
    ASSERT_INT(WATCH_QUEUE_LINES_MAX, q.count);
    ASSERT_INT(1, watch_queue_pull(&q, to, 1));
    ASSERT_INT(0, push(&q, "x"));
}

TEST(a_queue_is_bounded_in_bytes)
{
    _cleanup_(queue_done) struct watch_queue q = { 0 };
    size_t len = WATCH_QUEUE_BYTES_MAX / 2 + 1;
    _cleanup_(freep) char *text = malloc(len + 1);

    assert_non_null(text);
    memset(text, 'x', len);
    text[len] = '\0';
    ASSERT_INT(0, push(&q, text));
    ASSERT_INT(-ERR_TOO_LARGE, push(&q, text));
    ASSERT_INT(1, q.count);
    ASSERT_INT(0, push(&q, "small"));
}

TEST(a_line_is_shared)
{
    _cleanup_(queue_done) struct watch_queue a = { 0 }, b = { 0 };
    struct watch_line *l = watch_line_new(STR_LIT("line\n"));
    char to[8];

    assert_non_null(l);
    ASSERT_INT(0, watch_queue_push(&a, l));
    ASSERT_INT(0, watch_queue_push(&b, l));
    l = watch_line_unref(l);
    assert_null(l);
    ASSERT_INT(2, watch_queue_pull(&a, to, 2));
    ASSERT_INT(5, watch_queue_pull(&b, to, sizeof to));
    assert_memory_equal("line\n", to, 5);
    ASSERT_INT(3, watch_queue_pull(&a, to, sizeof to));
    assert_memory_equal("ne\n", to, 3);
}

TEST_MAIN()
