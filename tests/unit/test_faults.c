/* A store that fails, and a server that ends, with calls under way: each is answered, once. */
#include "tests/unit/test_served.h"

#define CALLS 12

/* Fails the n-th transaction from here on, for every n there is. */
TEST(writes_in_flight_when_a_transaction_fails)
{
    for (unsigned nth = 1; nth <= 3; nth++) {
        _cleanup_(served_done) struct served w;
        struct sent x[CALLS];
        size_t made = 0;

        served_init(&w);
        w.log.fails_from = w.log.fails_to = w.log.appends + nth;
        for (size_t i = 0; i < CALLS; i++) {
            send_begin(&w, &x[i], "POST", MAPS, "{'metadata':{'generateName':'a-'}}");
            if (i % 4 == 3)
                (void)loop_poll(w.loop);
        }
        for (size_t i = 0; i < CALLS; i++) {
            int status = sent_wait(&x[i]);

            assert_true(status == 201 || status == 500);
            made += status == 201;
            sent_done(&x[i]);
        }
        ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
        ASSERT_INT(made, got_items(&w)); /* what was refused does not show */
        ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'later'}}");
    }
}

TEST(collections_evictions_and_bindings_when_the_store_fails)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (int i = 0; i < 5; i++)
        ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'generateName':'a-'}}");
    ASSERT_SENT(&w, 201, "POST", PODS, "{'metadata':{'name':'p'}," POD_SPEC "}");
    w.log.fails_from = 1;
    w.log.fails_to = UINT32_MAX;
    ASSERT_SENT(&w, 500, "DELETE", MAPS, NULL);
    ASSERT_SENT(&w, 500, "POST", PODS "/p/eviction", "{}");
    ASSERT_SENT(&w, 500, "POST", PODS "/p/binding", "{'target':{'name':'n'}}");
    ASSERT_SENT(&w, 500, "DELETE", PODS "/p", NULL);
    w.log.fails_from = 0;
    ASSERT_SENT(&w, 200, "DELETE", MAPS, NULL);
    ASSERT_INT(5, got_items(&w));
    ASSERT_SENT(&w, 200, "GET", PODS "/p", NULL);
    ASSERT_GOT(&w, "-", "spec/nodeName");
}

TEST(a_first_start_on_a_store_that_fails)
{
    _cleanup_(served_done) struct served w;

    served_make(&w, true, 1, 3);
    served_settle(&w);
    ASSERT_SENT(&w, 500, "GET", "/readyz", NULL);
    served_pass(&w, 10);
    ASSERT_SENT(&w, 200, "GET", "/readyz", NULL);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES, NULL);
    ASSERT_INT(4, got_items(&w));
}

/* A namespace is emptied when the disk takes writes again, and not a thousand times a second before. */
TEST(a_namespace_that_cannot_be_emptied_yet)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", NAMESPACES, "{'metadata':{'name':'t'}}");
    ASSERT_SENT(&w, 201, "POST", NAMESPACES "/t/configmaps", "{'metadata':{'name':'a'}}");
    w.log.fails_from = w.log.appends + 2;
    w.log.fails_to = UINT32_MAX;
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/t", NULL);
    served_pass(&w, 30);
    assert_true(w.log.appends < 500);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/t", NULL);
    w.log.fails_from = 0;
    served_pass(&w, 10);
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/t", NULL);
}

TEST(garbage_whose_deletion_failed_is_deleted_later)
{
    _cleanup_(served_done) struct served w;
    char body[512];

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'owner'}}");
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
                   "'name':'owner','uid':'%s'}]}}",
                   got(&w, "metadata/uid"));
    ASSERT_SENT(&w, 201, "POST", MAPS, body);
    w.log.fails_from = w.log.fails_to = w.log.appends + 2;
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/owner", NULL);
    ASSERT_SENT(&w, 200, "GET", MAPS "/child", NULL);
    served_pass(&w, 10);
    ASSERT_SENT(&w, 404, "GET", MAPS "/child", NULL);
}

TEST(events_whose_deletion_failed_expire_later)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", NAMESPACES "/default/events",
                "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','namespace':'default','name':'p'}}");
    w.log.fails_from = w.log.appends + 1;
    w.log.fails_to = UINT32_MAX;
    served_pass(&w, 4000);
    w.log.fails_from = 0;
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/default/events/e", NULL);
    served_pass(&w, 10);
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/default/events/e", NULL);
}

/* One transaction of several fails: the rest is deleted, and the answer says that not all is. */
TEST(a_collection_of_which_a_part_fails)
{
    _cleanup_(served_done) struct served w;
    size_t left;

    served_init(&w);
    for (int i = 0; i < 200; i++)
        ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'generateName':'a-'}}");
    w.log.fails_from = w.log.fails_to = w.log.appends + 2;
    ASSERT_SENT(&w, 500, "DELETE", MAPS, NULL);
    ASSERT_GOT(&w, "InternalError", "reason");
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    left = got_items(&w);
    assert_true(left > 0 && left < 200);
    ASSERT_SENT(&w, 200, "DELETE", MAPS, NULL);
    ASSERT_INT(left, got_items(&w));
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    ASSERT_INT(0, got_items(&w));
}

/* A condition that one of them meets. */
TEST(a_collection_of_which_a_part_is_refused)
{
    _cleanup_(served_done) struct served w;
    char body[128];

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'}}");
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'b'}}");
    (void)snprintf(body, sizeof body, "{'preconditions':{'uid':'%s'}}", got(&w, "metadata/uid"));
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'c'}}");
    ASSERT_SENT(&w, 409, "DELETE", MAPS, body);
    ASSERT_GOT(&w, "Conflict", "reason");
    ASSERT_GOT(&w, "a", "details/name");
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    ASSERT_INT(2, got_items(&w));
    ASSERT_GOT(&w, "c", "items/1/metadata/name");
}

/* It waits no longer than it would have without the end. */
TEST(an_end_with_a_read_that_waits_for_a_revision)
{
    _cleanup_(served_done) struct served w;
    struct sent list, get;

    served_init(&w);
    send_begin(&w, &list, "GET", MAPS "?resourceVersion=1000", NULL);
    send_begin(&w, &get, "GET", MAPS "/a?resourceVersion=1000", NULL);
    apiserver_stop(w.server);
    served_settle(&w);
    served_pass(&w, 3);
    assert_true(list.is_answered && get.is_answered);
    ASSERT_INT(504, sent_wait(&list));
    ASSERT_GOT(&w, "ResourceVersionTooLarge", "details/causes/0/reason");
    ASSERT_INT(504, sent_wait(&get));
    sent_done(&list);
    sent_done(&get);
}

/* The server ends: a write and a watch. */
TEST(an_end_with_calls_under_way)
{
    _cleanup_(served_done) struct served w;
    struct sent write, watch;
    char part[256];

    served_init(&w);
    send_begin(&w, &watch, "GET", MAPS "?watch=true", NULL);
    send_begin(&w, &write, "POST", MAPS, "{'metadata':{'name':'a'}}");
    apiserver_stop(w.server);
    store_finish(w.store);
    assert_true(write.is_answered);
    while (watch.call.stream->pull(watch.call.stream, part, sizeof part) > 0)
        ;
    ASSERT_INT(-1, watch.call.stream->pull(watch.call.stream, part, sizeof part));
    sent_done(&watch);
    sent_done(&write);
    ASSERT_SENT(&w, 503, "POST", MAPS, "{'metadata':{'name':'b'}}");
}

TEST_MAIN()
