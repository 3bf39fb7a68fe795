/* How an informer gets at what the server has: lists, pages, watches, and all that goes wrong with them. */
#include "tests/unit/test_informer.h"

#define EXPIRED_PAGE 410, "Expired", "The provided continue parameter is too old"
#define EXPIRED 410, "Expired", "too old resource version"

/* --- Lists --- */

TEST(machinery_17_first_start_lists_what_is_cached_and_watches_from_there)
{
    struct world w;

    world_init(&w, NULL);
    world_advance(&w, NS_PER_S);
    ASSERT_SENT(&w, "");
    informer_start(w.informer);
    ASSERT_SENT(&w, FIRST_LIST);
    ASSERT_STR("/api/v1/persistentvolumeclaims?limit=500&resourceVersion=0", buf_cstr(&w.path));
    play_list(&w, "7", "a/x@5 a/y@7");
    ASSERT_SENT(&w, WATCH_FROM("7"));
    ASSERT_TOLD(&w, "+a/x@5! +a/y@7! S");
    ASSERT_METRIC(&w, "berth_reflector_lists_total", 1);
    ASSERT_METRIC(&w, "berth_reflector_watches_total", 1);
    ASSERT_METRIC(&w, "berth_cache_objects", 2);
    ASSERT_METRIC(&w, "berth_cache_synced", 1);
    world_done(&w);
}

TEST(the_selection_goes_with_every_request)
{
    struct world w;

    world_init(&w, &(struct informer_options){
                       .ns = "a", .label_selector = "app=db", .field_selector = "metadata.name!=z" });
    informer_start(w.informer);
    ASSERT_SENT(&w, "LIST labelSelector=app%3Ddb&fieldSelector=metadata.name%21%3Dz&limit=500&"
                    "resourceVersion=0\n");
    assert_true(str_has_prefix(buf_str(&w.path), "/api/v1/namespaces/a/persistentvolumeclaims?"));
    play_page(&w, "7", "more", "a/x@5");
    ASSERT_SENT(&w, "LIST labelSelector=app%3Ddb&fieldSelector=metadata.name%21%3Dz&limit=500&"
                    "continue=more\n");
    play_list(&w, "7", "a/y@6");
    ASSERT_SENT(&w, "WATCH watch=true&allowWatchBookmarks=true&labelSelector=app%3Ddb&"
                    "fieldSelector=metadata.name%21%3Dz&resourceVersion=7\n");
    world_done(&w);
}

TEST(machinery_18_pages_come_without_a_version_and_fill_the_cache_at_once)
{
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    play_page(&w, "9", "p2", "a/x@5 a/y@7");
    ASSERT_SENT(&w, FIRST_LIST "LIST limit=500&continue=p2\n");
    ASSERT_STR("", world_cached(&w));
    play_page(&w, "9", "p3", "a/z@8");
    ASSERT_SENT(&w, "LIST limit=500&continue=p3\n");
    ASSERT_STR("", world_cached(&w));
    ASSERT_TOLD(&w, "");
    play_list(&w, "9", "b/a@9");
    ASSERT_SENT(&w, WATCH_FROM("9"));
    ASSERT_TOLD(&w, "+a/x@5! +a/y@7! +a/z@8! +b/a@9! S");
    ASSERT_METRIC(&w, "berth_reflector_lists_total", 1);
    world_done(&w);
}

TEST(all_pages_count_as_of_the_first_ones_version)
{
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    play_page(&w, "9", "p2", "a/x@5");
    play_list(&w, "12", "a/y@7");
    ASSERT_SENT(&w, FIRST_LIST "LIST limit=500&continue=p2\n" WATCH_FROM("9"));
    world_done(&w);
}

TEST(machinery_19_pages_that_expire_are_listed_in_one)
{
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    play_page(&w, "9", "p2", "a/x@5 a/gone@6");
    play_status(&w, EXPIRED_PAGE);
    ASSERT_SENT(&w, FIRST_LIST "LIST limit=500&continue=p2\nLIST resourceVersion=0\n");
    ASSERT_STR("", world_cached(&w));
    play_list(&w, "11", "a/x@10");
    ASSERT_SENT(&w, WATCH_FROM("11"));
    ASSERT_TOLD(&w, "+a/x@10! S");
    ASSERT_METRIC(&w, "berth_reflector_relist_expired_total", 1);
    world_done(&w);
}

TEST(a_server_for_which_everything_expires_is_asked_four_times_and_then_left_alone)
{
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    play_page(&w, "9", "p2", "a/x@5");
    play_status(&w, EXPIRED_PAGE);
    play_status(&w, EXPIRED);
    play_page(&w, "9", "p2", "a/x@5");
    play_status(&w, EXPIRED_PAGE);
    buf_clear(&w.sent);
    play_status(&w, EXPIRED);
    ASSERT_SENT(&w, "");
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, "LIST limit=500\n"); /* of the newest: versions are still out of reach */
    play_list(&w, "20", "a/x@5");
    ASSERT_SENT(&w, WATCH_FROM("20"));
    world_done(&w);
}

TEST(machinery_22_an_expired_watch_lists_from_where_it_was_and_then_from_anywhere)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5 a/y@7");
    play_event(&w, "MODIFIED", "a/x@8");
    play_error_event(&w, EXPIRED);
    ASSERT_SENT(&w, "");
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, "LIST resourceVersion=8\n");
    play_status(&w, EXPIRED);
    ASSERT_SENT(&w, "LIST limit=500\n");
    ASSERT_TOLD(&w, "~a/x@5>8");
    play_list(&w, "30", "a/x@8 a/z@30");
    ASSERT_TOLD(&w, "-a/y@7? +a/z@30");
    ASSERT_SENT(&w, WATCH_FROM("30"));
    ASSERT_METRIC(&w, "berth_reflector_relist_expired_total", 2);
    world_done(&w);
}

TEST(a_watch_that_is_refused_as_expired_is_the_same)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_status(&w, EXPIRED);
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, "LIST resourceVersion=7\n");
    play_list(&w, "9", "a/x@5");
    ASSERT_SENT(&w, WATCH_FROM("9"));
    ASSERT_TOLD(&w, "");
    world_done(&w);
}

TEST(machinery_23_a_server_that_is_behind_is_asked_for_its_newest)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "100", "a/x@90 a/y@100");
    play_error_event(&w, EXPIRED);
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, "LIST resourceVersion=100\n");
    play_status(&w, 504, "Timeout", "Too large resource version: 100, current: 80");
    ASSERT_SENT(&w, "LIST limit=500\n");
    /* The older state is the state now: a list may go back in time. */
    play_list(&w, "80", "a/x@70");
    ASSERT_TOLD(&w, "~a/x@90>70 -a/y@100?");
    ASSERT_SENT(&w, WATCH_FROM("80"));
    ASSERT_METRIC(&w, "berth_reflector_relist_expired_total", 1);
    world_done(&w);
}

TEST(a_failed_list_is_made_again_later)
{
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    play_status(&w, 500, "InternalError", "oh");
    ASSERT_SENT(&w, FIRST_LIST);
    world_advance(&w, 799 * NS_PER_MS);
    ASSERT_SENT(&w, "");
    world_advance(&w, 801 * NS_PER_MS);
    ASSERT_SENT(&w, FIRST_LIST);
    play_page(&w, "3", "p2", "a/x@1");
    play_status(&w, 403, "Forbidden", "no");
    ASSERT_SENT(&w, "LIST limit=500&continue=p2\n");
    world_advance(&w, 3200 * NS_PER_MS);
    ASSERT_SENT(&w, FIRST_LIST);
    assert_false(informer_is_synced(w.informer));
    play_list(&w, "4", "");
    ASSERT_TOLD(&w, "S");
    world_done(&w);
}

TEST(objects_that_no_key_can_name_are_left_out_and_counted)
{
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    play_list(&w, "7", "a/@5 a/x@5 a/b/c@6");
    ASSERT_TOLD(&w, "+a/x@5! S");
    play_event(&w, "ADDED", "a/q/r@8");
    ASSERT_TOLD(&w, "");
    ASSERT_METRIC(&w, "berth_watch_decode_errors_total", 3);
    world_done(&w);
}

TEST(a_version_beyond_measure_is_no_list)
{
    _cleanup_(buf_done_p) struct buf version = BUF_INIT(WORLD_TEXT_MAX);
    struct world w;

    for (int i = 0; i < 300; i++)
        buf_add_char(&version, '1');
    world_init(&w, NULL);
    informer_start(w.informer);
    play_list(&w, buf_cstr(&version), "a/x@5");
    ASSERT_TOLD(&w, "");
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, FIRST_LIST FIRST_LIST);
    world_done(&w);
}

/* --- Watches --- */

TEST(machinery_20_a_watch_that_ends_is_taken_up_again)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "MODIFIED", "a/x@9");
    world_advance(&w, 400 * NS_PER_S);
    play_end(&w);
    ASSERT_SENT(&w, WATCH_FROM("9"));
    ASSERT_METRIC(&w, "berth_reflector_lists_total", 1);
    ASSERT_METRIC(&w, "berth_reflector_watches_total", 2);
    ASSERT_METRIC(&w, "berth_reflector_watch_short_total", 0);
    world_done(&w);
}

TEST(machinery_21_bookmarks_alone_keep_the_place)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    for (int minute = 1; minute <= 10; minute++) {
        char version[16];

        (void)snprintf(version, sizeof version, "%d", 100 * minute);
        world_advance(&w, 60 * NS_PER_S);
        play_bookmark(&w, version, false);
    }
    play_lost(&w);
    ASSERT_SENT(&w, WATCH_FROM("1000"));
    ASSERT_METRIC(&w, "berth_reflector_lists_total", 1);
    ASSERT_TOLD(&w, "");
    world_done(&w);
}

TEST(a_watch_that_ends_at_once_is_an_error)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    world_advance(&w, 999 * NS_PER_MS);
    play_end(&w);
    ASSERT_SENT(&w, "");
    ASSERT_METRIC(&w, "berth_reflector_watch_short_total", 1);
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, "LIST resourceVersion=7\n");
    play_list(&w, "7", "a/x@5");
    play_event(&w, "MODIFIED", "a/x@8");
    play_end(&w); /* it had something to say */
    ASSERT_SENT(&w, WATCH_FROM("7") WATCH_FROM("8"));
    world_advance(&w, NS_PER_S);
    play_end(&w); /* it was there for a while */
    ASSERT_SENT(&w, WATCH_FROM("8"));
    ASSERT_METRIC(&w, "berth_reflector_watch_short_total", 1);
    world_done(&w);
}

TEST(machinery_24_a_server_that_refuses_connections_is_asked_less_and_less)
{
    struct world w;
    uint64_t refused_ns, waited_ns, shortest_ns = 800 * NS_PER_MS;
    size_t asked;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    refused_ns = loop_now_ns(w.loop);
    play_refused(&w);
    while (loop_now_ns(w.loop) < refused_ns + 300 * NS_PER_S) {
        asked = w.sent_ns.count;
        refused_ns = refused_ns ? refused_ns : 1;
        while (w.sent_ns.count == asked)
            world_advance(&w, 10 * NS_PER_MS);
        waited_ns = w.sent_ns.items[asked] - w.sent_ns.items[asked - 1];
        assert_in_range(waited_ns, shortest_ns, 2 * shortest_ns + 10 * NS_PER_MS);
        shortest_ns = shortest_ns * 2 < 30 * NS_PER_S ? shortest_ns * 2 : 30 * NS_PER_S;
        ASSERT_SENT(&w, WATCH_FROM("7"));
        play_refused(&w);
    }
    assert_in_range(w.sent_ns.count, 10, 18);
    world_advance(&w, 60 * NS_PER_S);
    ASSERT_SENT(&w, WATCH_FROM("7"));
    play_event(&w, "ADDED", "a/y@8");
    ASSERT_TOLD(&w, "+a/y@8");
    ASSERT_METRIC(&w, "berth_reflector_lists_total", 1);
    assert_non_null(strstr(buf_cstr(&w.logged), "connection refused"));
    world_done(&w);
}

TEST(backoff_starts_anew_after_two_quiet_minutes)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "");
    for (int i = 0; i < 8; i++) {
        play_refused(&w);
        world_advance(&w, 60 * NS_PER_S);
    }
    buf_clear(&w.sent);
    world_advance(&w, 61 * NS_PER_S);
    play_lost(&w); /* taken up at once: the backoff was not used */
    ASSERT_SENT(&w, WATCH_FROM("7"));
    play_refused(&w);
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("7"));
    play_refused(&w);
    world_advance(&w, 1599 * NS_PER_MS);
    ASSERT_SENT(&w, "");
    world_done(&w);
}

TEST(machinery_25_too_many_requests_means_later_and_not_a_list)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_status(&w, 429, "TooManyRequests", "slow down");
    ASSERT_SENT(&w, "");
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("7"));
    play_error_event(&w, 429, "TooManyRequests", "slow down");
    assert_null(w.attempt);
    world_advance(&w, 3200 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("7"));
    ASSERT_METRIC(&w, "berth_reflector_lists_total", 1);
    world_done(&w);
}

TEST(internal_errors_are_watched_past_for_half_a_minute)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_error_event(&w, 500, "InternalError", "etcd is away");
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("7"));
    play_event(&w, "MODIFIED", "a/x@8"); /* back: the next one counts from itself */
    world_advance(&w, 60 * NS_PER_S);
    play_error_event(&w, 500, "InternalError", "etcd is away");
    world_advance(&w, 6400 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("8"));
    world_advance(&w, 30 * NS_PER_S);
    play_error_event(&w, 500, "InternalError", "etcd is away");
    world_advance(&w, 60 * NS_PER_S);
    ASSERT_SENT(&w, "LIST resourceVersion=8\n");
    world_done(&w);
}

TEST(other_errors_of_a_watch_lead_to_the_next_round)
{
    static const struct {
        int code;
        const char *reason;
    } rows[] = {
        { 403, "Forbidden" }, { 503, "ServiceUnavailable" }, { 400, "BadRequest" }, { 504, "Timeout" }
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int in_stream = 0; in_stream < 2; in_stream++) {
            struct world w;

            world_init(&w, NULL);
            world_sync(&w, "7", "a/x@5");
            if (in_stream)
                play_error_event(&w, rows[i].code, rows[i].reason, "no");
            else
                play_status(&w, rows[i].code, rows[i].reason, "no");
            world_advance(&w, 1600 * NS_PER_MS);
            ASSERT_SENT(&w, "LIST resourceVersion=7\n");
            ASSERT_TOLD(&w, "");
            world_done(&w);
        }
    }
}

TEST(a_connection_lost_at_once_is_taken_up_later)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "MODIFIED", "a/x@8");
    play_lost(&w);
    ASSERT_SENT(&w, "");
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("8"));
    world_advance(&w, NS_PER_S);
    play_lost(&w);
    ASSERT_SENT(&w, WATCH_FROM("8"));
    world_done(&w);
}

/* The cache is as good as it was, so only what was missed is asked for. */
TEST(a_watch_that_breaks_off_is_taken_up_where_it_was)
{
    static const enum err codes[] = { ERR_UNAVAILABLE, ERR_TIMEOUT };

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct world w;

        world_init(&w, NULL);
        world_sync(&w, "7", "a/x@5");
        play_event(&w, "MODIFIED", "a/x@8");
        world_advance(&w, NS_PER_S);
        play_broken(&w, codes[i]);
        ASSERT_SENT(&w, WATCH_FROM("8"));
        play_broken(&w, codes[i]); /* at once: not so fast */
        ASSERT_SENT(&w, "");
        world_advance(&w, 1600 * NS_PER_MS);
        ASSERT_SENT(&w, WATCH_FROM("8"));
        world_done(&w);
    }
}

/* It would be the same again. */
TEST(a_watch_that_brings_too_much_is_listed)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    world_advance(&w, NS_PER_S);
    play_broken(&w, ERR_TOO_LARGE);
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, "LIST resourceVersion=7\n");
    world_done(&w);
}

TEST(machinery_28_an_older_version_is_ignored_and_counted)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "100", "a/x@100");
    play_event(&w, "MODIFIED", "a/x@99");
    ASSERT_TOLD(&w, "");
    ASSERT_STR("a/x@100", world_cached(&w));
    ASSERT_METRIC(&w, "berth_reflector_stale_events_total", 1);
    world_advance(&w, NS_PER_S);
    play_end(&w);
    ASSERT_SENT(&w, WATCH_FROM("100")); /* nor does the place go back */
    world_done(&w);
}

TEST(machinery_29_garbage_is_skipped_and_counted)
{
    static const char *const rows[] = {
        "garbage",
        "{",
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"PersistentVolumeClaim\",\"spec\":7}}",
        "{\"type\":\"EXPLODED\",\"object\":{}}",
        "{\"type\":\"ADDED\"}",
    };
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        play_line(&w, rows[i]);
        ASSERT_METRIC(&w, "berth_watch_decode_errors_total", (int)i + 1);
    }
    assert_non_null(w.attempt);
    play_event(&w, "MODIFIED", "a/x@8");
    ASSERT_TOLD(&w, "~a/x@5>8");
    ASSERT_SENT(&w, "");
    world_done(&w);
}

TEST(a_watch_without_a_version_does_not_take_its_place_from_what_comes_in_no_order)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "", "");
    play_event(&w, "ADDED", "a/x@9");
    play_event(&w, "ADDED", "a/y@5");
    world_advance(&w, NS_PER_S);
    play_end(&w);
    ASSERT_SENT(&w, WATCH_FROM(""));
    play_event(&w, "ADDED", "a/x@9");
    play_event(&w, "ADDED", "a/y@5");
    play_event(&w, "MODIFIED", "a/y@10");
    play_event(&w, "ADDED", "a/z@11");
    world_advance(&w, NS_PER_S);
    play_end(&w);
    ASSERT_SENT(&w, WATCH_FROM("11"));
    ASSERT_TOLD(&w, "+a/x@9 +a/y@5 ~a/y@5>10 +a/z@11");
    world_done(&w);
}

/* --- Kinds that are not served --- */

TEST(machinery_15_a_kind_that_is_not_served_counts_as_empty)
{
    struct world w;

    world_init(&w, NULL);
    informer_start(w.informer);
    play_answer(&w, 404, "404 page not found");
    assert_true(informer_is_not_served(w.informer));
    assert_true(informer_is_synced(w.informer));
    ASSERT_TOLD(&w, "S");
    assert_non_null(strstr(buf_cstr(&w.logged), "treated as empty"));
    for (int i = 0; i < 3; i++) {
        buf_clear(&w.sent);
        world_advance(&w, 29 * NS_PER_S);
        ASSERT_SENT(&w, "");
        world_advance(&w, 31 * NS_PER_S);
        ASSERT_SENT(&w, FIRST_LIST);
        buf_clear(&w.logged);
        play_answer(&w, 404, "404 page not found");
        assert_null(strstr(buf_cstr(&w.logged), "treated as empty"));
    }
    world_advance(&w, 60 * NS_PER_S);
    play_list(&w, "3", "a/x@2");
    assert_false(informer_is_not_served(w.informer));
    ASSERT_TOLD(&w, "+a/x@2");
    world_done(&w);
}

TEST(a_kind_that_was_served_keeps_its_cache)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_error_event(&w, EXPIRED);
    world_advance(&w, 1600 * NS_PER_MS);
    play_answer(&w, 404, "404 page not found");
    assert_false(informer_is_not_served(w.informer));
    ASSERT_STR("a/x@5", world_cached(&w));
    ASSERT_TOLD(&w, "");
    world_done(&w);
}

/* --- Streaming lists --- */

#define STREAM_FROM(version)                                                 \
    "WATCH watch=true&allowWatchBookmarks=true&resourceVersion=" version "&" \
    "resourceVersionMatch=NotOlderThan&sendInitialEvents=true\n"

static void stream_init(struct world *w)
{
    world_init(w, &(struct informer_options){ .streams_lists = true });
    informer_start(w->informer);
    ASSERT_SENT(w, STREAM_FROM(""));
}

TEST(machinery_26_a_streamed_list_is_whole_at_its_bookmark)
{
    struct world w;

    stream_init(&w);
    play_event(&w, "ADDED", "a/x@9");
    play_event(&w, "ADDED", "a/y@5");
    play_event(&w, "ADDED", "a/z@6");
    play_event(&w, "MODIFIED", "a/y@10");
    play_event(&w, "DELETED", "a/z@11");
    play_bookmark(&w, "11", false);
    assert_false(informer_is_synced(w.informer));
    ASSERT_STR("", world_cached(&w));
    ASSERT_TOLD(&w, "");
    play_bookmark(&w, "12", true);
    assert_true(informer_is_synced(w.informer));
    ASSERT_TOLD(&w, "+a/x@9! +a/y@10! S");
    play_event(&w, "MODIFIED", "a/x@13"); /* the same stream goes on */
    ASSERT_TOLD(&w, "~a/x@9>13");
    ASSERT_SENT(&w, "");
    world_advance(&w, 70 * NS_PER_S);
    play_end(&w);
    ASSERT_SENT(&w, WATCH_FROM("13"));
    world_done(&w);
}

TEST(machinery_26_a_server_that_never_ends_the_beginning_is_listed_from_then_on)
{
    struct world w;

    stream_init(&w);
    play_event(&w, "ADDED", "a/x@9");
    world_advance(&w, 9 * NS_PER_S);
    play_event(&w, "ADDED", "a/y@5");
    world_advance(&w, 9 * NS_PER_S);
    ASSERT_STR("", buf_cstr(&w.logged));
    world_advance(&w, 2 * NS_PER_S);
    assert_non_null(strstr(buf_cstr(&w.logged), "still waiting"));
    buf_clear(&w.logged);
    world_advance(&w, 39 * NS_PER_S);
    ASSERT_STR("", buf_cstr(&w.logged)); /* said once */
    ASSERT_SENT(&w, "");
    world_advance(&w, NS_PER_S);
    ASSERT_SENT(&w, FIRST_LIST);
    ASSERT_INT(1, w.cancelled);
    ASSERT_TOLD(&w, "");
    play_list(&w, "10", "a/x@9");
    ASSERT_TOLD(&w, "+a/x@9! S");
    play_error_event(&w, EXPIRED);
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("10") "LIST resourceVersion=10\n");
    world_done(&w);
}

TEST(a_server_that_refuses_to_stream_is_listed_for_ever)
{
    struct world w;

    stream_init(&w);
    play_status(&w, 422, "Invalid", "sendInitialEvents: Forbidden: not allowed");
    ASSERT_SENT(&w, FIRST_LIST);
    play_list(&w, "10", "a/x@9");
    play_error_event(&w, EXPIRED);
    world_advance(&w, 1600 * NS_PER_MS);
    ASSERT_SENT(&w, WATCH_FROM("10") "LIST resourceVersion=10\n");
    world_done(&w);
}

TEST(a_stream_that_fails_is_listed_for_this_round)
{
    static const char *const rows[] = { "end", "answer", "event" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        stream_init(&w);
        play_event(&w, "ADDED", "a/x@9");
        if (i == 0)
            play_end(&w);
        else if (i == 1)
            play_status(&w, 403, "Forbidden", rows[i]);
        else
            play_error_event(&w, EXPIRED);
        ASSERT_SENT(&w, FIRST_LIST);
        play_list(&w, "10", "a/y@10");
        ASSERT_TOLD(&w, "+a/y@10! S");
        play_error_event(&w, EXPIRED);
        world_advance(&w, 1600 * NS_PER_MS);
        ASSERT_SENT(&w, WATCH_FROM("10") STREAM_FROM("10")); /* the next round tries again */
        play_event(&w, "ADDED", "a/y@10");
        play_event(&w, "ADDED", "a/z@11");
        play_bookmark(&w, "12", true);
        ASSERT_TOLD(&w, "+a/z@11");
        world_done(&w);
    }
}

TEST(a_stream_that_is_refused_for_now_is_tried_again)
{
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        struct world w;

        stream_init(&w);
        if (is_refused)
            play_refused(&w);
        else
            play_status(&w, 429, "TooManyRequests", "slow down");
        ASSERT_SENT(&w, "");
        world_advance(&w, 1600 * NS_PER_MS);
        ASSERT_SENT(&w, STREAM_FROM(""));
        world_done(&w);
    }
}

/* --- The end --- */

TEST(an_informer_can_go_at_any_moment)
{
    struct world w;

    world_init(&w, NULL); /* before the start */
    world_done(&w);

    world_init(&w, NULL); /* while a page is on its way, with others gathered */
    informer_start(w.informer);
    play_page(&w, "9", "p2", "a/x@5");
    buf_clear(&w.told);
    world_done(&w);

    world_init(&w, NULL); /* while it waits */
    informer_start(w.informer);
    play_refused(&w);
    world_done(&w);

    world_init(&w, NULL); /* while it watches */
    world_sync(&w, "7", "a/x@5");
    world_done(&w);

    stream_init(&w); /* in the middle of a stream */
    play_event(&w, "ADDED", "a/x@9");
    world_done(&w);
}

TEST_MAIN()
