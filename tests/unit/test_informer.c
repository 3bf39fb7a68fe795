/* What handlers are told, what can be read, and reading one's own writes. */
#include "tests/unit/test_informer.h"

/* --- Changes --- */

TEST(machinery_30_events_tell_what_happened_whatever_they_say)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "ADDED", "a/x@8");
    ASSERT_TOLD(&w, "~a/x@5>8");
    play_event(&w, "MODIFIED", "a/y@9");
    ASSERT_TOLD(&w, "+a/y@9");
    play_event(&w, "DELETED", "a/x@10");
    ASSERT_TOLD(&w, "-a/x@10");
    play_event(&w, "DELETED", "a/x@10");
    play_event(&w, "DELETED", "a/never@11");
    play_bookmark(&w, "12", false);
    ASSERT_TOLD(&w, "");
    ASSERT_METRIC(&w, "berth_cache_objects", 1);
    world_done(&w);
}

TEST(an_equal_version_is_not_told)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "MODIFIED", "a/x@5");
    play_event(&w, "ADDED", "a/x@5");
    ASSERT_TOLD(&w, "");
    ASSERT_METRIC(&w, "berth_reflector_stale_events_total", 0);
    world_done(&w);
}

TEST(versions_that_are_no_numbers_are_taken_as_they_come)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "q7", "a/x@q5");
    play_event(&w, "MODIFIED", "a/x@p1");
    ASSERT_TOLD(&w, "~a/x@q5>p1");
    play_event(&w, "MODIFIED", "a/x@p1");
    ASSERT_TOLD(&w, "");
    world_done(&w);
}

TEST(machinery_27_a_name_used_again_is_a_deletion_and_an_addition)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5:u1 a/y@6:u1");
    play_error_event(&w, 410, "Expired", "too old");
    world_advance(&w, 1600 * NS_PER_MS);
    play_list(&w, "20", "a/x@15:u2 a/y@6:u1");
    ASSERT_TOLD(&w, "-a/x@5:u1? +a/x@15:u2");
    play_event(&w, "MODIFIED", "a/y@21:u2"); /* the deletion was lost on the way */
    ASSERT_TOLD(&w, "-a/y@6:u1? +a/y@21:u2");
    play_event(&w, "DELETED", "a/y@22:u3");
    ASSERT_TOLD(&w, "-a/y@21:u2?"); /* it cannot be there either */
    world_done(&w);
}

TEST(events_of_one_that_had_the_name_before_are_stale)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "20", "a/x@15:u2");
    play_event(&w, "DELETED", "a/x@14:u1");
    play_event(&w, "MODIFIED", "a/x@13:u1");
    ASSERT_TOLD(&w, "");
    ASSERT_METRIC(&w, "berth_reflector_stale_events_total", 2);
    world_done(&w);
}

TEST(a_replay_brings_nothing_back)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "DELETED", "a/x@8");
    play_event(&w, "ADDED", "a/y@9");
    buf_clear(&w.told);
    play_event(&w, "MODIFIED", "a/x@5"); /* gone since */
    play_event(&w, "DELETED", "a/y@6");  /* back since */
    ASSERT_TOLD(&w, "");
    ASSERT_METRIC(&w, "berth_reflector_stale_events_total", 2);
    /* One that goes with the version it had last is gone, although the stream is past that. */
    play_event(&w, "ADDED", "a/z@12");
    play_event(&w, "DELETED", "a/y@9");
    ASSERT_TOLD(&w, "+a/z@12 -a/y@9");
    world_done(&w);
}

TEST(machinery_32_what_leaves_the_selection_is_deleted)
{
    struct world w;

    world_init(&w, &(struct informer_options){ .field_selector = "status.phase!=Lost" });
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "DELETED", "a/x@8");
    ASSERT_TOLD(&w, "-a/x@8");
    ASSERT_STR("", world_cached(&w));
    play_event(&w, "ADDED", "a/x@9");
    ASSERT_TOLD(&w, "+a/x@9");
    world_done(&w);
}

TEST(a_list_tells_the_difference_in_the_order_of_keys)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "b/same@1 a/gone@2 a/changed@3 c/gone@4");
    ASSERT_STR("a/changed@3 a/gone@2 b/same@1 c/gone@4", world_cached(&w));
    play_error_event(&w, 410, "Expired", "too old");
    world_advance(&w, 1600 * NS_PER_MS);
    play_list(&w, "20", "d/new@20 b/same@1 a/changed@19 a/a-new@18 d/new@20");
    ASSERT_TOLD(&w, "+a/a-new@18 ~a/changed@3>19 -a/gone@2? -c/gone@4? +d/new@20");
    ASSERT_STR("a/a-new@18 a/changed@19 b/same@1 d/new@20", world_cached(&w));
    world_done(&w);
}

/* Sees the whole of a list in the cache at its first notice. */
struct reader {
    struct informer_handler handler;
    struct informer *informer;
    size_t seen;
    bool was_synced;
};

static void reader_add(void *ctx, const struct object *o, bool is_initial)
{
    struct reader *r = ctx;

    (void)is_initial;
    if (r->seen == 0)
        r->seen = informer_count(r->informer);
    r->was_synced |= informer_is_synced(r->informer);
    assert_ptr_equal(informer_get(r->informer, o->ns, o->name), o);
}

TEST(the_cache_is_whole_before_anybody_hears_and_synced_when_all_have)
{
    struct world w;
    struct reader r = { 0 };

    world_init(&w, NULL);
    r.informer = w.informer;
    r.handler = (struct informer_handler){ .on_add = reader_add, .ctx = &r };
    informer_add_handler(w.informer, &r.handler);
    informer_start(w.informer);
    play_list(&w, "7", "a/x@5 a/y@6 a/z@7");
    ASSERT_INT(3, r.seen);
    assert_false(r.was_synced);
    assert_true(informer_is_synced(w.informer));
    informer_remove_handler(&r.handler);
    world_done(&w);
}

/* --- Handlers --- */

TEST(machinery_31_a_late_handler_hears_of_everything_first)
{
    struct world w, late = { 0 };

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5 a/y@6");
    late.informer = w.informer;
    buf_init(&late.told, WORLD_TEXT_MAX);
    late.handler = (struct informer_handler){ told_add, told_update, told_delete, told_synced, &late };
    informer_add_handler(w.informer, &late.handler);
    ASSERT_TOLD(&late, "+a/x@5! +a/y@6! S");
    ASSERT_TOLD(&w, "");
    play_event(&w, "MODIFIED", "a/x@8");
    ASSERT_TOLD(&late, "~a/x@5>8");
    ASSERT_TOLD(&w, "~a/x@5>8");
    informer_remove_handler(&late.handler);
    informer_remove_handler(&late.handler); /* once more does no harm */
    play_event(&w, "MODIFIED", "a/x@9");
    ASSERT_TOLD(&late, "");
    buf_done(&late.told);
    world_done(&w);
}

TEST(a_handler_may_want_none_of_it)
{
    struct world w;
    struct informer_handler nothing = { 0 };

    world_init(&w, NULL);
    informer_add_handler(w.informer, &nothing);
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "MODIFIED", "a/x@8");
    play_event(&w, "DELETED", "a/x@9");
    world_done(&w); /* takes the handlers off */
    assert_null(nothing.informer);
    informer_remove_handler(&nothing);
}

TEST(resync_repeats_everything_to_the_handler_that_asked_for_it)
{
    struct world w, often = { 0 };

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5 a/y@6");
    often.informer = w.informer;
    buf_init(&often.told, WORLD_TEXT_MAX);
    often.handler = (struct informer_handler){ .on_update = told_update, .ctx = &often, .resync_ns = 1 };
    informer_add_handler(w.informer, &often.handler);
    world_advance(&w, 999 * NS_PER_MS);
    ASSERT_TOLD(&often, "");
    world_advance(&w, NS_PER_MS); /* a second is the least */
    ASSERT_TOLD(&often, "~a/x@5>5 ~a/y@6>6");
    world_advance(&w, NS_PER_S);
    ASSERT_TOLD(&often, "~a/x@5>5 ~a/y@6>6");
    ASSERT_TOLD(&w, "");
    ASSERT_SENT(&w, "");
    informer_remove_handler(&often.handler);
    world_advance(&w, 5 * NS_PER_S);
    ASSERT_TOLD(&often, "");
    buf_done(&often.told);
    world_done(&w);
}

/* A handler that does things while it is told. */
struct meddler {
    struct informer_handler handler;
    struct world *world;
    struct informer_handler *adds;
    struct informer_handler *removes;
    const char *observes; /* once */
    unsigned told;
};

static void meddle(struct meddler *m)
{
    struct informer_handler *adds = m->adds, *removes = m->removes;
    const char *observes = m->observes;

    m->told++;
    m->adds = m->removes = NULL;
    m->observes = NULL;
    if (observes) {
        _cleanup_(object_unref_p) struct object *o = new_claim(observes);

        informer_observe(m->world->informer, o);
    }
    if (adds)
        informer_add_handler(m->world->informer, adds);
    if (removes)
        informer_remove_handler(removes);
}

static void meddle_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    (void)is_initial;
    meddle(ctx);
}

static void meddle_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    (void)o;
    meddle(ctx);
}

/* Two meddlers round the world's own handler: one hears before it, one after. */
struct meddling {
    struct world w;
    struct meddler first;
    struct meddler last;
};

static void meddling_init(struct meddling *m)
{
    world_init(&m->w, NULL);
    world_sync(&m->w, "7", "a/x@5");
    informer_remove_handler(&m->w.handler);
    m->first = (struct meddler){ .handler = { meddle_add, meddle_update, .ctx = &m->first }, .world = &m->w };
    m->last = (struct meddler){ .handler = { meddle_add, meddle_update, .ctx = &m->last }, .world = &m->w };
    informer_add_handler(m->w.informer, &m->first.handler);
    informer_add_handler(m->w.informer, &m->w.handler);
    informer_add_handler(m->w.informer, &m->last.handler);
    m->first.told = m->last.told = 0;
    buf_clear(&m->w.told);
}

TEST(a_handler_may_remove_itself_and_others)
{
    for (int which = 0; which < 3; which++) {
        struct meddling m;
        struct informer_handler *victims[] = { &m.first.handler, &m.w.handler, &m.last.handler };

        meddling_init(&m);
        m.first.removes = victims[which];
        play_event(&m.w, "MODIFIED", "a/x@8");
        ASSERT_INT(1, m.first.told);
        ASSERT_TOLD(&m.w, which == 1 ? "" : "~a/x@5>8");
        ASSERT_INT(which == 2 ? 0 : 1, m.last.told);
        play_event(&m.w, "MODIFIED", "a/x@9");
        ASSERT_INT(which == 0 ? 1 : 2, m.first.told);
        ASSERT_TOLD(&m.w, which == 1 ? "" : "~a/x@8>9");
        ASSERT_INT(which == 2 ? 0 : 2, m.last.told);
        world_done(&m.w);
    }
}

TEST(a_handler_added_by_another_hears_the_present_and_not_what_led_to_it)
{
    struct meddling m;
    struct world late = { 0 };

    meddling_init(&m);
    late.informer = m.w.informer;
    buf_init(&late.told, WORLD_TEXT_MAX);
    late.handler = (struct informer_handler){ told_add, told_update, told_delete, told_synced, &late };
    m.first.adds = &late.handler;
    play_event(&m.w, "MODIFIED", "a/x@8");
    ASSERT_TOLD(&late, "+a/x@8! S");
    ASSERT_TOLD(&m.w, "~a/x@5>8");
    buf_done(&late.told);
    world_done(&m.w);
}

TEST(a_handler_added_in_the_middle_of_the_first_list_hears_each_object_once_and_of_the_end)
{
    struct meddling m = { 0 };
    struct world late = { 0 };

    world_init(&m.w, NULL);
    m.first = (struct meddler){ .handler = { meddle_add, .ctx = &m.first }, .world = &m.w };
    informer_add_handler(m.w.informer, &m.first.handler);
    late.informer = m.w.informer;
    buf_init(&late.told, WORLD_TEXT_MAX);
    late.handler = (struct informer_handler){ told_add, told_update, told_delete, told_synced, &late };
    m.first.adds = &late.handler;
    informer_start(m.w.informer);
    play_list(&m.w, "7", "a/x@5 a/y@6 a/z@7");
    ASSERT_TOLD(&late, "+a/x@5! +a/y@6! +a/z@7! S");
    ASSERT_TOLD(&m.w, "+a/x@5! +a/y@6! +a/z@7! S");
    ASSERT_INT(3, m.first.told);
    buf_done(&late.told);
    world_done(&m.w);
}

TEST(what_a_handler_observes_is_told_after_what_was_there)
{
    struct meddling m;

    meddling_init(&m);
    m.first.observes = "a/x@10";
    play_event(&m.w, "MODIFIED", "a/x@8");
    ASSERT_TOLD(&m.w, "~a/x@5>8 ~a/x@8>10");
    ASSERT_INT(2, m.first.told);
    ASSERT_INT(2, m.last.told);
    world_done(&m.w);
}

/* --- Reading one's own writes --- */

static void observe(struct world *w, const char *spec)
{
    _cleanup_(object_unref_p) struct object *o = new_claim(spec);

    informer_observe(w->informer, o);
}

TEST(an_observed_write_is_there_at_once_and_its_event_says_nothing_new)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    observe(&w, "a/x@9=v1");
    ASSERT_TOLD(&w, "~a/x@5>9");
    play_event(&w, "MODIFIED", "a/x@8"); /* somebody else's, before ours */
    play_event(&w, "MODIFIED", "a/x@9=v1");
    ASSERT_TOLD(&w, "");
    play_event(&w, "MODIFIED", "a/x@10");
    ASSERT_TOLD(&w, "~a/x@9>10");
    observe(&w, "a/new@11");
    ASSERT_TOLD(&w, "+a/new@11");
    play_event(&w, "ADDED", "a/new@11");
    play_event(&w, "DELETED", "a/new@12");
    ASSERT_TOLD(&w, "-a/new@12");
    world_done(&w);
}

TEST(a_late_answer_never_brings_back_what_the_watch_has_passed)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5");
    play_event(&w, "MODIFIED", "a/x@9");
    play_event(&w, "DELETED", "a/x@12");
    buf_clear(&w.told);
    observe(&w, "a/x@9");
    observe(&w, "a/x@12");
    ASSERT_TOLD(&w, "");
    play_bookmark(&w, "50", false);
    observe(&w, "a/y@40"); /* made and gone before the bookmark */
    ASSERT_TOLD(&w, "");
    observe(&w, "a/y@51");
    ASSERT_TOLD(&w, "+a/y@51");
    observe(&w, "a/y@51");
    observe(&w, "a/y@50");
    ASSERT_TOLD(&w, "");
    world_done(&w);
}

TEST(an_observed_write_under_a_name_used_again_is_a_new_object)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5:u1");
    observe(&w, "a/x@9:u2");
    ASSERT_TOLD(&w, "-a/x@5:u1? +a/x@9:u2");
    play_event(&w, "DELETED", "a/x@8:u1");
    play_event(&w, "ADDED", "a/x@9:u2");
    ASSERT_TOLD(&w, "");
    ASSERT_STR("a/x@9", world_cached(&w));
    world_done(&w);
}

TEST(what_was_observed_survives_a_list_that_is_older)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "a/x@5 a/y@6 a/z@7");
    play_error_event(&w, 410, "Expired", "too old");
    observe(&w, "a/x@12");
    observe(&w, "a/new@13");
    observe(&w, "a/y@9");
    buf_clear(&w.told);
    world_advance(&w, 1600 * NS_PER_MS);
    play_list(&w, "10", "a/x@5 a/z@7");
    /* The list knows what became of a/y by 10, not what becomes of the others after it. */
    ASSERT_TOLD(&w, "-a/y@9?");
    ASSERT_STR("a/new@13 a/x@12 a/z@7", world_cached(&w));
    play_event(&w, "MODIFIED", "a/x@12");
    play_event(&w, "ADDED", "a/new@13");
    play_event(&w, "DELETED", "a/new@14");
    ASSERT_TOLD(&w, "-a/new@14");
    world_done(&w);
}

TEST(what_was_observed_does_not_survive_a_server_that_went_back_in_time)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "70", "a/x@50");
    observe(&w, "a/new@80");
    play_error_event(&w, 410, "Expired", "too old");
    buf_clear(&w.told);
    world_advance(&w, 1600 * NS_PER_MS);
    play_list(&w, "60", "a/x@50");
    ASSERT_TOLD(&w, "-a/new@80?");
    world_done(&w);
}

TEST(what_an_informer_does_not_cover_is_not_observed)
{
    struct world w;

    world_init(&w, &(struct informer_options){ .ns = "a" });
    observe(&w, "a/x@1"); /* before the first list nothing is known */
    world_sync(&w, "7", "a/x@5");
    observe(&w, "b/x@9");
    ASSERT_TOLD(&w, "");
    world_done(&w);

    /* Whether a selector covers an object that is not there, only the server can tell. */
    world_init(&w, &(struct informer_options){ .label_selector = "app=db" });
    world_sync(&w, "7", "a/x@5");
    observe(&w, "a/y@9");
    observe(&w, "a/x@9:u2"); /* another one that has got the name */
    ASSERT_TOLD(&w, "");
    observe(&w, "a/x@10");
    ASSERT_TOLD(&w, "~a/x@5>10");
    play_event(&w, "DELETED", "a/x@8"); /* it had left before that, and does not come back */
    ASSERT_TOLD(&w, "-a/x@8");
    world_done(&w);
}

TEST(versions_that_are_no_numbers_are_not_observed)
{
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "q7", "a/x@q5");
    observe(&w, "a/x@q9");
    observe(&w, "a/y@9");
    ASSERT_TOLD(&w, "");
    world_done(&w);
}

/* --- Reading --- */

TEST(objects_are_read_by_name_key_order_and_index)
{
    struct informer_cursor at;
    struct world w;

    world_init(&w, NULL);
    world_sync(&w, "7", "b/x@5=v1 a/y@6=v2 a/x@7");
    ASSERT_INT(3, informer_count(w.informer));
    ASSERT_STR("y", informer_get(w.informer, "a", "y")->name);
    ASSERT_STR("b", informer_get_key(w.informer, STR_LIT("b/x"))->ns);
    assert_null(informer_get(w.informer, "b", "y"));
    ASSERT_STR("a/x@7 a/y@6 b/x@5", world_cached(&w));
    ASSERT_STR("y", informer_first_by(w.informer, "volume", STR_LIT("v2"), &at)->name);
    assert_null(informer_next(&at));
    assert_null(informer_first_by(w.informer, "volume", STR_LIT("v3"), &at));
    assert_null(informer_next(&at));
    world_done(&w);
}

TEST(an_absent_object_is_named_as_clients_name_it)
{
    static const struct {
        enum kind kind;
        const char *words;
    } rows[] = {
        { KIND_CLAIM, "persistentvolumeclaim \"c\" not found" },
        { KIND_CLASS, "storageclass.storage.k8s.io \"c\" not found" },
        { KIND_NODE, "node \"c\" not found" },
    };
    struct world w;
    struct informers *shared = NULL;

    world_init(&w, NULL);
    ASSERT_OK(informers_new(&w.options, &shared, &err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_NOT_FOUND, informer_not_found(informers_get(shared, rows[i].kind, &err), "c", &err));
        ASSERT_STR(rows[i].words, err.msg);
    }
    informers_free(shared);
    world_done(&w);
}

/* --- Shared informers --- */

TEST(shared_informers_are_one_a_kind_and_sync_together)
{
    static const struct informer_index extra = { "extra", index_by_volume };
    struct world w;
    struct informers *shared = NULL;
    struct informer *claims;

    world_init(&w, NULL);
    ASSERT_OK(informers_new(&w.options, &shared, &err));
    assert_true(informers_are_synced(shared)); /* of nothing */
    claims = informers_get(shared, KIND_CLAIM, &err);
    assert_non_null(claims);
    assert_ptr_equal(claims, informers_get(shared, KIND_CLAIM, &err));
    ASSERT_OK(informer_add_index(claims, &extra, &err));
    ASSERT_ERR(ERR_EXISTS, informer_add_index(claims, &extra, &err));
    ASSERT_SENT(&w, "");
    informers_start(shared);
    ASSERT_SENT(&w, FIRST_LIST);
    ASSERT_STR("persistentvolumeclaims", informers_waiting_for(shared)->plural);
    assert_false(informers_are_synced(shared));
    play_list(&w, "7", "a/x@5=v1");
    assert_true(informers_are_synced(shared));
    assert_null(informers_waiting_for(shared));
    ASSERT_INT(1, informer_count(claims));
    shared = informers_free(shared);
    ASSERT_METRIC(&w, "berth_cache_objects", 0); /* what is gone is not counted */
    ASSERT_METRIC(&w, "berth_cache_synced", 0);
    world_done(&w);
}

TEST_MAIN()
