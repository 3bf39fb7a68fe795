/* What a process without an API server tells over HTTP: its numbers and whether it is well. */
#include "tests/unit/test_http.h"

#include "apiserver/monitor.h"
#include "machinery/health.h"
#include "machinery/metrics.h"

struct watched {
    struct world world; /* of the clients: the loop alone */
    struct metrics *metrics;
    struct health *health;
    struct monitor *monitor;
    bool is_well;
    bool has_stats;
};

static void write_stats(void *ctx, struct buf *out)
{
    assert_true(((struct watched *)ctx)->has_stats);
    buf_add_cstr(out, "{\"node\":\"n1\"}");
}

static int check_flag(void *ctx, struct error *err)
{
    return *(bool *)ctx ? 0 : error_set(err, ERR_UNAVAILABLE, "not yet");
}

static void watched_init(struct watched *w, bool has_stats)
{
    struct metric *up;
    struct error err = { 0 };

    *w = (struct watched){ .world = { .loop = new_loop(NULL) }, .is_well = true, .has_stats = has_stats };
    w->metrics = metrics_new((struct hash_seed){ 1, 2 });
    w->health = health_new();
    assert_non_null(w->metrics);
    assert_non_null(w->health);
    ASSERT_OK(metrics_add_metric(
        w->metrics, &(struct metric_desc){ .name = "up", .help = "Up.", .type = METRIC_GAUGE }, &up, &err));
    metric_set(up, 1);
    ASSERT_OK(health_add(w->health, "caches", HEALTH_READY, check_flag, &w->is_well, &err));
    ASSERT_OK(monitor_new(&(struct monitor_options){ .loop = w->world.loop,
                                                     .address = "127.0.0.1:0",
                                                     .metrics = w->metrics,
                                                     .health = w->health,
                                                     .write_stats = w->has_stats ? write_stats : NULL,
                                                     .ctx = w,
                                                     .seed = { 3, 4 } },
                          &w->monitor, &err));
}

static void watched_done(struct watched *w)
{
    w->monitor = monitor_free(w->monitor);
    w->health = health_free(w->health);
    w->metrics = metrics_free(w->metrics);
    (void)loop_free(w->world.loop);
}

static int ask(struct watched *w, struct buf *answer, const char *request)
{
    const char *port = strrchr(monitor_address(w->monitor), ':') + 1;
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status;

    a.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    status = client_ask(&w->world, fd, answer, request);
    (void)close(fd);
    return status;
}

#define REQUEST(method, path) method " " path " HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n"

TEST(monitor_answers)
{
    static const struct {
        const char *request;
        int status;
        const char *text;
    } rows[] = {
        { GET("/metrics"), 200, "# HELP up Up.\n# TYPE up gauge\nup 1\n" },
        { GET("/livez"), 200, "ok" },
        { GET("/healthz"), 200, "ok" },
        { GET("/readyz"), 200, "ok" },
        { GET("/readyz?verbose"), 200, "[+]ping ok\n[+]caches ok\nreadyz check passed\n" },
        { GET("/readyz/caches"), 200, "ok" },
        { GET("/readyz/nope"), 404, "404 page not found\n" },
        { GET("/"), 404, "404 page not found\n" },
        { GET("/metrics/x"), 404, "404 page not found\n" },
        { GET("/version"), 404, "404 page not found\n" },
        { GET("/stats/volumes"), 404, "404 page not found\n" },
        { GET("/api/v1/persistentvolumes"), 404, "404 page not found\n" },
        { GET("/%zz"), 400, "invalid URL escape \"%zz\"\n" },
        { REQUEST("POST", "/metrics"), 405, "405 method not allowed\n" },
        { REQUEST("DELETE", "/readyz"), 405, "405 method not allowed\n" },
        { REQUEST("POST", "/nope"), 404, "404 page not found\n" },
    };
    _cleanup_(watched_done) struct watched w;
    _cleanup_(buf_done_p) struct buf answer = BUF_INIT(TEST_TEXT_MAX);

    watched_init(&w, /* has_stats= */ false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (ask(&w, &answer, rows[i].request) != rows[i].status)
            fail_msg("%s: %s", rows[i].request, buf_cstr(&answer));
        ASSERT_STR(rows[i].text, answer_body(&answer));
    }
    ASSERT_INT(200, ask(&w, &answer, GET("/metrics")));
    ASSERT_STR(METRICS_CONTENT_TYPE, answer_header(&answer, "Content-Type"));
}

TEST(the_monitor_of_a_node_has_statistics)
{
    _cleanup_(watched_done) struct watched w;
    _cleanup_(buf_done_p) struct buf answer = BUF_INIT(TEST_TEXT_MAX);

    watched_init(&w, /* has_stats= */ true);
    ASSERT_INT(200, ask(&w, &answer, GET("/stats/volumes")));
    ASSERT_STR("{\"node\":\"n1\"}\n", answer_body(&answer));
    ASSERT_STR("application/json", answer_header(&answer, "Content-Type"));
    ASSERT_INT(405, ask(&w, &answer, REQUEST("POST", "/stats/volumes")));
    ASSERT_INT(404, ask(&w, &answer, GET("/stats")));
}

TEST(monitor_says_what_is_not_ready)
{
    _cleanup_(watched_done) struct watched w;
    _cleanup_(buf_done_p) struct buf answer = BUF_INIT(TEST_TEXT_MAX);

    watched_init(&w, /* has_stats= */ false);
    w.is_well = false;
    ASSERT_INT(500, ask(&w, &answer, GET("/readyz")));
    ASSERT_STR("[+]ping ok\n[-]caches failed: reason withheld\nreadyz check failed\n", answer_body(&answer));
    ASSERT_INT(200, ask(&w, &answer, GET("/readyz?exclude=caches")));
    ASSERT_INT(200, ask(&w, &answer, GET("/livez")));
    w.is_well = true;
    ASSERT_INT(200, ask(&w, &answer, GET("/readyz")));
}

TEST(monitor_needs_an_address)
{
    static const char *const rows[] = { "nonsense", "127.0.0.1:99999", "", "256.0.0.1:1" };
    struct loop *loop = new_loop(NULL);
    struct error err = { 0 };
    struct monitor *m = NULL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(monitor_new(&(struct monitor_options){ .loop = loop, .address = rows[i] }, &m, &err) < 0);
        assert_true(err.msg[0] != '\0');
        assert_null(m);
    }
    assert_null(monitor_free(NULL));
    (void)loop_free(loop);
}

TEST_MAIN()
