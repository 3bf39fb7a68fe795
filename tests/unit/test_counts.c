/* The server's metrics: names, labels, and that they count. */
#include "tests/unit/test_served.h"

static const char *metrics_text(struct served *w)
{
    ASSERT_SENT(w, 200, "GET", "/metrics", NULL);
    return buf_cstr(&w->text);
}

#define ASSERT_LINE(w, line)                                                  \
    do {                                                                      \
        if (!strstr(metrics_text(w), kind_row("\n" line "\n")))               \
            fail_msg("%s: not in\n%s", kind_row(line), buf_cstr(&(w)->text)); \
    } while (0)

#define MAP_LABELS(verb, scope, code, dry_run)                                             \
    "apiserver_request_total{verb='" verb "',group='',version='v1',resource='configmaps'," \
    "subresource='',scope='" scope "',code='" code "',dry_run='" dry_run "'}"

TEST(requests_are_counted_by_what_they_were)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    (void)send_request(&w, "POST", MAPS, "{'metadata':{'name':'a'}}");
    (void)send_request(&w, "POST", MAPS, "{'metadata':{'name':'a'}}");
    (void)send_request(&w, "POST", MAPS "?dryRun=All", "{'metadata':{'name':'b'}}");
    (void)send_request(&w, "POST", MAPS, "not JSON");
    (void)send_request(&w, "GET", MAPS "/a", NULL);
    (void)send_request(&w, "GET", MAPS "/a", NULL);
    (void)send_request(&w, "GET", MAPS, NULL);
    (void)send_request(&w, "GET", "/api/v1/configmaps", NULL);
    (void)send_request(&w, "MERGE", MAPS "/a", "{}");
    (void)send_request(&w, "PUT", MAPS "/a", "{'metadata':{'name':'a'}}");
    (void)send_request(&w, "DELETE", MAPS "/a", NULL);
    (void)send_request(&w, "DELETE", MAPS, NULL);
    ASSERT_LINE(&w, MAP_LABELS("POST", "resource", "201", "") " 1");
    ASSERT_LINE(&w, MAP_LABELS("POST", "resource", "409", "") " 1");
    ASSERT_LINE(&w, MAP_LABELS("POST", "resource", "201", "All") " 1");
    ASSERT_LINE(&w, MAP_LABELS("POST", "resource", "400", "") " 1");
    ASSERT_LINE(&w, MAP_LABELS("GET", "resource", "200", "") " 2");
    ASSERT_LINE(&w, MAP_LABELS("LIST", "namespace", "200", "") " 1");
    ASSERT_LINE(&w, MAP_LABELS("LIST", "cluster", "200", "") " 1");
    ASSERT_LINE(&w, MAP_LABELS("PATCH", "resource", "200", "") " 1");
    ASSERT_LINE(&w, MAP_LABELS("PUT", "resource", "200", "") " 1");
    ASSERT_LINE(&w, MAP_LABELS("DELETECOLLECTION", "namespace", "200", "") " 1");
    ASSERT_LINE(&w, "apiserver_request_duration_seconds_count{verb='GET',group='',version='v1',"
                    "resource='configmaps',subresource='',scope='resource'} 2");
}

/* Names from outside do not become labels. */
TEST(what_is_not_there_is_counted_together)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    (void)send_request(&w, "GET", "/api/v1/foos", NULL);
    (void)send_request(&w, "GET", "/api/v1/bars/x", NULL);
    (void)send_request(&w, "GET", "/elsewhere", NULL);
    ASSERT_LINE(&w, "apiserver_request_total{verb='GET',group='',version='',resource='',subresource='',"
                    "scope='',code='404',dry_run=''} 3");
    (void)send_request(&w, "MERGE", VOLUMES "/nope/status", "{}");
    ASSERT_LINE(&w, "apiserver_request_total{verb='PATCH',group='',version='v1',"
                    "resource='persistentvolumes',subresource='status',scope='resource',code='404',"
                    "dry_run=''} 1");
}

TEST(what_is_under_way)
{
    _cleanup_(served_done) struct served w;
    struct sent write, watch, read;
    char part[4096];

    served_init(&w);
    send_begin(&w, &watch, "GET", MAPS "?watch=true", NULL);
    send_begin(&w, &write, "POST", MAPS, "{'metadata':{'name':'a'}}");
    send_begin(&w, &read, "GET", MAPS "?resourceVersion=999", NULL);
    assert_false(write.is_answered);
    assert_false(read.is_answered);
    ASSERT_INT(1, w.server->writes_in_flight);
    ASSERT_INT(1, w.server->reads_in_flight);
    (void)sent_wait(&write);
    ASSERT_INT(0, w.server->writes_in_flight);
    ASSERT_LINE(&w, "apiserver_current_inflight_requests{request_kind='mutating'} 0");
    ASSERT_LINE(&w, "apiserver_current_inflight_requests{request_kind='readOnly'} 2"); /* and this one */
    ASSERT_LINE(&w, "apiserver_longrunning_requests{verb='WATCH'} 1");
    assert_true(watch.call.stream->pull(watch.call.stream, part, sizeof part) > 0);
    ASSERT_LINE(&w, "apiserver_watch_events_total{group='',version='v1',resource='configmaps'} 1");
    ASSERT_LINE(&w, "apiserver_storage_objects{resource='configmaps'} 1");
    ASSERT_LINE(&w, "apiserver_storage_objects{resource='namespaces'} 4");
    ASSERT_LINE(&w, "apiserver_storage_objects{resource='storageclasses.storage.k8s.io'} 0");
    ASSERT_LINE(&w, "berth_watch_cut_total 0");
    served_pass(&w, 3);
    ASSERT_INT(504, sent_wait(&read)); /* apiserver-74 */
    ASSERT_INT(0, w.server->reads_in_flight);
    sent_done(&read);
    sent_done(&write);
    sent_done(&watch);
    ASSERT_LINE(&w, "apiserver_longrunning_requests{verb='WATCH'} 0");
}

TEST(the_store_counts_its_transactions)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new((struct hash_seed){ 1, 2 });
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    struct store_counts n;

    ASSERT_OK(store_counts_add(m, &n, &err));
    store_counts_commit(&n, 2 * NS_PER_MS, 3);
    store_counts_commit(&n, 4 * NS_PER_MS, 5);
    store_counts_refuse(&n, 3);
    metrics_write(m, &text);
    assert_non_null(strstr(buf_cstr(&text), "berth_store_commit_seconds_count 2\n"));
    assert_non_null(strstr(buf_cstr(&text), "berth_store_commit_seconds_bucket{le=\"0.0025\"} 1\n"));
    assert_non_null(strstr(buf_cstr(&text), "berth_store_batch_size_sum 8\n"));
    assert_non_null(strstr(buf_cstr(&text), "berth_store_batch_size_bucket{le=\"4\"} 1\n"));
    assert_non_null(strstr(buf_cstr(&text), "berth_store_refused_writes_total 3\n"));
}

/* The limits of calls in flight, and that each place is given back. (apiserver-88) */
TEST(too_many_at_once)
{
    static struct sent writes[201], reads[401];
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(writes); i++)
        send_begin(&w, &writes[i], "POST", MAPS, "{'metadata':{'generateName':'a-'}}");
    for (size_t i = 0; i < ARRAY_LEN(reads); i++)
        send_begin(&w, &reads[i], "GET", MAPS "?resourceVersion=99999", NULL);
    assert_true(writes[200].is_answered);
    ASSERT_INT(429, sent_wait(&writes[200]));
    ASSERT_STR("Too many requests, please try again later.", buf_cstr(&w.text));
    assert_true(has_header(&w, "Retry-After: 1\n"));
    ASSERT_INT(429, sent_wait(&reads[400]));
    served_pass(&w, 3);
    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        ASSERT_INT(i == 200 ? 429 : 201, sent_wait(&writes[i]));
        sent_done(&writes[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        ASSERT_INT(i == 400 ? 429 : 504, sent_wait(&reads[i]));
        sent_done(&reads[i]);
    }
    ASSERT_INT(0, w.server->writes_in_flight);
    ASSERT_INT(0, w.server->reads_in_flight);
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    ASSERT_INT(200, got_items(&w));
}

TEST_MAIN()
