/* rest_client_*: what the registry says of a client's attempts. */
#include "tests/unit/test_client.h"

#include "machinery/client_metrics.h"

/* The lines about `name` that do not say 0, without the quotes of their labels. */
static const char *lines_of(const struct metrics *m, const char *name)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(buf_done_p) struct buf all = BUF_INIT(1 << 20);
    struct str rest;

    buf_clear(&out);
    metrics_write(m, &all);
    rest = buf_str(&all);
    while (rest.s) {
        struct str line = str_next(&rest, '\n');

        if (!str_has_prefix(line, name) || str_has_suffix(line, " 0"))
            continue;
        for (size_t i = 0; i < line.len; i++)
            if (line.s[i] != '"')
                buf_add_char(&out, line.s[i]);
        buf_add_char(&out, '\n');
    }
    return buf_cstr(&out);
}

TEST(attempts_are_counted_by_code_and_method)
{
    _cleanup_(metrics_free_p) struct metrics *registry = metrics_new((struct hash_seed){ 1, 2 });
    _cleanup_(client_metrics_free_p) struct client_metrics *m = NULL;
    const struct client_observer *o;

    ASSERT_OK(client_metrics_new(registry, "10.0.0.1:6443", &m, &err));
    o = client_metrics_observer(m);
    o->on_attempt(o->ctx, "GET", 200, 3 * NS_PER_MS);
    o->on_attempt(o->ctx, "GET", 200, 30 * NS_PER_S);
    o->on_attempt(o->ctx, "GET", 200, CLIENT_TOOK_NONE);
    o->on_attempt(o->ctx, "GET", 0, NS_PER_S);
    o->on_attempt(o->ctx, "PATCH", 409, NS_PER_MS);
    o->on_attempt(o->ctx, "POST", 599, NS_PER_MS);
    o->on_attempt(o->ctx, "POST", 600, NS_PER_MS);
    o->on_attempt(o->ctx, "DELETE", 999, NS_PER_MS);
    ASSERT_STR("rest_client_requests_total{code=200,method=GET,host=10.0.0.1:6443} 3\n"
               "rest_client_requests_total{code=409,method=PATCH,host=10.0.0.1:6443} 1\n"
               "rest_client_requests_total{code=599,method=POST,host=10.0.0.1:6443} 1\n"
               "rest_client_requests_total{code=600,method=POST,host=10.0.0.1:6443} 1\n"
               "rest_client_requests_total{code=999,method=DELETE,host=10.0.0.1:6443} 1\n"
               "rest_client_requests_total{code=<error>,method=GET,host=10.0.0.1:6443} 1\n",
               lines_of(registry, "rest_client_requests_total"));
    ASSERT_STR("rest_client_request_duration_seconds_count{verb=DELETE,host=10.0.0.1:6443} 1\n"
               "rest_client_request_duration_seconds_count{verb=GET,host=10.0.0.1:6443} 3\n"
               "rest_client_request_duration_seconds_count{verb=PATCH,host=10.0.0.1:6443} 1\n"
               "rest_client_request_duration_seconds_count{verb=POST,host=10.0.0.1:6443} 2\n",
               lines_of(registry, "rest_client_request_duration_seconds_count"));
}

TEST(bounds_are_those_of_every_client)
{
    _cleanup_(metrics_free_p) struct metrics *registry = metrics_new((struct hash_seed){ 1, 2 });
    _cleanup_(client_metrics_free_p) struct client_metrics *m = NULL;
    const struct client_observer *o;

    ASSERT_OK(client_metrics_new(registry, "h", &m, &err));
    o = client_metrics_observer(m);
    o->on_waited(o->ctx, "GET", 0);
#define WAIT "rest_client_rate_limiter_duration_seconds_bucket{verb=GET,host=h,le="
    ASSERT_STR(WAIT "0.005} 1\n" WAIT "0.025} 1\n" WAIT "0.1} 1\n" WAIT "0.25} 1\n" WAIT "0.5} 1\n" WAIT
                    "1} 1\n" WAIT "2} 1\n" WAIT "4} 1\n" WAIT "8} 1\n" WAIT "15} 1\n" WAIT "30} 1\n" WAIT
                    "60} 1\n" WAIT "+Inf} 1\n",
               lines_of(registry, "rest_client_rate_limiter_duration_seconds_bucket"));
}

TEST(retries_are_counted_by_what_went_before)
{
    _cleanup_(metrics_free_p) struct metrics *registry = metrics_new((struct hash_seed){ 1, 2 });
    _cleanup_(client_metrics_free_p) struct client_metrics *m = NULL;
    const struct client_observer *o;

    ASSERT_OK(client_metrics_new(registry, "h", &m, &err));
    o = client_metrics_observer(m);
    o->on_retry(o->ctx, "POST", 429);
    o->on_retry(o->ctx, "POST", 429);
    o->on_retry(o->ctx, "GET", 0);
    ASSERT_STR("rest_client_request_retries_total{code=429,verb=POST,host=h} 2\n"
               "rest_client_request_retries_total{code=<error>,verb=GET,host=h} 1\n",
               lines_of(registry, "rest_client_request_retries_total"));
}

TEST(families_are_registered_once)
{
    _cleanup_(metrics_free_p) struct metrics *registry = metrics_new((struct hash_seed){ 1, 2 });
    _cleanup_(client_metrics_free_p) struct client_metrics *m = NULL;
    struct client_metrics *second = NULL;

    ASSERT_OK(client_metrics_new(registry, "h", &m, &err));
    ASSERT_ERR(ERR_EXISTS, client_metrics_new(registry, "h", &second, &err));
    assert_null(second);
}

/* From the call to the text a scraper reads. */
TEST(client_counts_in_the_registry)
{
    _cleanup_(metrics_free_p) struct metrics *registry = metrics_new((struct hash_seed){ 1, 2 });
    _cleanup_(client_metrics_free_p) struct client_metrics *m = NULL;
    _cleanup_(world_free_p) struct world *w = NULL;
    struct owner_call o;

    ASSERT_OK(client_metrics_new(registry, "h", &m, &err));
    w = world_new_with(/* qps= */ 1, /* burst= */ 1, client_metrics_observer(m));
    o = OWNER(w, "o");
    send_verb(&o, CLIENT_PATCH);
    world_end(w, answer_of(429, 3));
    world_advance_ms(w, 3000);
    world_answer(w, 200);
    ASSERT_STR("rest_client_requests_total{code=200,method=PATCH,host=h} 1\n"
               "rest_client_requests_total{code=429,method=PATCH,host=h} 1\n",
               lines_of(registry, "rest_client_requests_total"));
    ASSERT_STR("rest_client_request_retries_total{code=429,verb=PATCH,host=h} 1\n",
               lines_of(registry, "rest_client_request_retries_total"));
    ASSERT_STR("rest_client_rate_limiter_duration_seconds_count{verb=PATCH,host=h} 2\n",
               lines_of(registry, "rest_client_rate_limiter_duration_seconds_count"));
}

TEST_MAIN()
