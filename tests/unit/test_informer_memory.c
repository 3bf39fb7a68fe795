/* Informers without memory: nothing happens untold, and what did not happen is made up for. */
#include "tests/unit/test_informer.h"

#include "machinery/notices.h"

/* In place of the library's own: no room for notices while memory is short. */
static bool memory_is_short;

int vec_grow(void *items, size_t *cap, size_t count, size_t more, size_t item_bytes)
{
    size_t grown = 2 * (count + more);
    void *old, *moved;

    if (count + more <= *cap)
        return 0;
    if (memory_is_short && item_bytes == sizeof(struct notice))
        return -ERR_NO_MEMORY;
    memcpy(&old, items, sizeof old);
    moved = realloc(old, grown * item_bytes);
    assert_non_null(moved);
    memcpy(items, &moved, sizeof moved);
    *cap = grown;
    return 0;
}

/* As many objects as the first room for notices holds, and more, so that the next change needs to grow it. */
static void world_sync_many(struct world *w)
{
    _cleanup_(buf_done_p) struct buf specs = BUF_INIT(WORLD_TEXT_MAX);

    for (int n = 0; n < 1200; n++)
        buf_addf(&specs, "%sa/n%04d@1", n ? " " : "", n);
    world_sync(w, "7", buf_cstr(&specs)); /* gives its room back at the end */
}

TEST(what_cannot_be_told_is_not_observed)
{
    _cleanup_(object_unref_p) struct object *o = new_claim("a/n0001@9");
    struct world w;

    world_init(&w, NULL);
    world_sync_many(&w);
    memory_is_short = true;
    informer_observe(w.informer, o);
    memory_is_short = false;
    ASSERT_TOLD(&w, "");
    play_event(&w, "MODIFIED", "a/n0001@9");
    ASSERT_TOLD(&w, "~a/n0001@1>9");
    world_done(&w);
}

TEST(an_event_that_cannot_be_told_is_not_taken_and_listed_later)
{
    static const char *const types[] = { "MODIFIED", "DELETED", "ADDED" };

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct world w;

        world_init(&w, NULL);
        world_sync_many(&w);
        memory_is_short = true;
        play_event(&w, types[i], i == 2 ? "a/new@9" : "a/n0001@9");
        memory_is_short = false;
        ASSERT_TOLD(&w, "");
        ASSERT_INT(1200, informer_count(w.informer));
        assert_null(w.attempt);
        world_advance(&w, 1600 * NS_PER_MS);
        ASSERT_SENT(&w, "LIST resourceVersion=9\n");
        world_done(&w);
    }
}

TEST(a_list_that_cannot_be_told_is_made_again)
{
    _cleanup_(object_unref_p) struct object *o = new_claim("a/w@9");
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    memory_is_short = true;
    play_list(&w, "7", "a/x@5 a/y@6 a/z@7");
    memory_is_short = false;
    informer_observe(w.informer, o); /* nothing is taken in before the first list is */
    ASSERT_TOLD(&w, "");
    ASSERT_STR("", world_cached(&w));
    assert_false(informer_is_synced(w.informer));
    world_advance(&w, 1600 * NS_PER_MS);
    play_list(&w, "8", "a/x@5 a/y@6 a/z@7");
    ASSERT_TOLD(&w, "+a/x@5! +a/y@6! +a/z@7! S");
    world_done(&w);
}

TEST(a_handler_that_cannot_be_told_what_is_there_is_told_a_second_later)
{
    struct world w, late = { 0 };

    world_init(&w, NULL);
    world_sync_many(&w);
    play_error_event(&w, 410, "Expired", "too old");
    world_advance(&w, 1600 * NS_PER_MS);
    play_list(&w, "8", "a/x@5 a/y@6");
    buf_clear(&w.told);
    late.informer = w.informer;
    buf_init(&late.told, WORLD_TEXT_MAX);
    late.handler = (struct informer_handler){ told_add, told_update, told_delete, told_synced, &late };
    memory_is_short = true;
    informer_add_handler(w.informer, &late.handler);
    ASSERT_TOLD(&late, "");
    memory_is_short = false;
    play_event(&w, "MODIFIED", "a/x@9"); /* not told before what led to it */
    ASSERT_TOLD(&late, "");
    world_advance(&w, NS_PER_S);
    ASSERT_TOLD(&late, "+a/x@9! +a/y@6! S");
    play_event(&w, "MODIFIED", "a/x@10");
    ASSERT_TOLD(&late, "~a/x@9>10");
    buf_done(&late.told);
    world_done(&w);
}

TEST_MAIN()
