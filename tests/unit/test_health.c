/* Whether the server is well, and which it is: the texts that probes and people read. */
#include "tests/unit/test_served.h"

#include "machinery/health.h"

TEST(a_server_that_is_well)
{
    static const struct {
        const char *target;
        const char *text;
    } rows[] = {
        { "/livez", "ok" },
        { "/readyz", "ok" },
        { "/healthz", "ok" },
        { "/livez/ping", "ok" },
        { "/readyz/store", "ok" },
        { "/readyz/informer-sync", "ok" },
        { "/healthz/admission", "ok" },
        { "/livez?verbose", "[+]ping ok\n[+]admission ok\nlivez check passed\n" },
        { "/readyz?verbose", "[+]ping ok\n[+]store ok\n[+]informer-sync ok\n[+]admission ok\n[+]shutdown ok\n"
                             "readyz check passed\n" },
        { "/healthz?verbose=true", "[+]ping ok\n[+]store ok\n[+]admission ok\nhealthz check passed\n" },
        { "/livez?verbose&exclude=ping", "[+]ping excluded: ok\n[+]admission ok\nlivez check passed\n" },
        { "/livez?verbose&exclude=x",
          "[+]ping ok\n[+]admission ok\n"
          "warn: some health checks cannot be excluded: no matches for \"x\"\nlivez check passed\n" },
        { "/livez?verbose&exclude=x&exclude=store&exclude=ping",
          "[+]ping excluded: ok\n[+]admission ok\n"
          "warn: some health checks cannot be excluded: no matches for \"x\",\"store\"\n"
          "livez check passed\n" },
        { "/livez?exclude=x", "ok" },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_SENT(&w, 200, "GET", rows[i].target, NULL);
        ASSERT_STR(rows[i].text, buf_cstr(&w.text));
    }
}

TEST(checks_that_are_not_there)
{
    static const char *const rows[] = { "/readyz/nope", "/livez/store", "/livezz", "/healthz/shutdown" };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_SENT(&w, 404, "GET", rows[i], NULL);
        ASSERT_STR("404 page not found\n", buf_cstr(&w.text));
    }
    ASSERT_REFUSED(&w, 405, "MethodNotAllowed",
                   "the server does not allow this method on the requested resource", "POST", "/livez", NULL);
}

/* Before the predefined namespaces are there it is alive but not ready. */
TEST(a_server_that_has_just_begun)
{
    _cleanup_(served_done) struct served w;
    struct sent x;

    served_make(&w, true, 0, 0);
    send_begin(&w, &x, "GET", "/readyz", NULL);
    assert_true(x.is_answered);
    ASSERT_INT(500, sent_wait(&x));
    ASSERT_STR("[+]ping ok\n[+]store ok\n[-]informer-sync failed: reason withheld\n[+]admission ok\n"
               "[+]shutdown ok\nreadyz check failed\n",
               buf_cstr(&w.text));
    assert_true(has_header(&w, "X-Content-Type-Options: nosniff\n"));
    sent_done(&x);
    send_begin(&w, &x, "GET", "/livez", NULL);
    ASSERT_INT(200, sent_wait(&x));
    sent_done(&x);
    served_settle(&w);
    ASSERT_SENT(&w, 200, "GET", "/readyz", NULL);
}

/* It stays alive for those it still answers, but asks for no new work. */
TEST(a_server_that_is_stopping)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    apiserver_stop(w.server);
    ASSERT_SENT(&w, 500, "GET", "/readyz", NULL);
    assert_non_null(strstr(buf_cstr(&w.text), "[-]shutdown failed: reason withheld\nreadyz check failed\n"));
    ASSERT_SENT(&w, 200, "GET", "/readyz?exclude=shutdown", NULL);
    ASSERT_SENT(&w, 500, "GET", "/readyz/shutdown", NULL);
    ASSERT_STR("internal server error: shutdown failed\n", buf_cstr(&w.text));
    ASSERT_SENT(&w, 200, "GET", "/livez", NULL);
    ASSERT_SENT(&w, 200, "GET", "/healthz", NULL);
}

TEST(a_store_that_fails_shows)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    w.log.fails_from = w.log.fails_to = w.log.appends + 1;
    ASSERT_SENT(&w, 500, "POST", MAPS, "{'metadata':{'name':'a'}}");
    ASSERT_SENT(&w, 500, "GET", "/readyz", NULL);
    assert_non_null(strstr(buf_cstr(&w.text), "[-]store failed: reason withheld\n"));
    ASSERT_SENT(&w, 500, "GET", "/healthz/store", NULL);
    ASSERT_SENT(&w, 200, "GET", "/livez", NULL);
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'a'}}");
    ASSERT_SENT(&w, 200, "GET", "/readyz", NULL);
}

/* --- The checks of any process --- */

static int check_flag(void *ctx, struct error *e)
{
    return *(bool *)ctx ? 0 : error_set(e, ERR_UNAVAILABLE, "the secret reason");
}

TEST(health_of_a_process)
{
    static const struct {
        const char *path;
        int status;
        const char *text;
        bool is_verbose;
        const char *excluded;
    } rows[] = {
        { "/livez", 200, "ok" },
        { "/livez", 200, "[+]ping ok\nlivez check passed\n", true },
        { "/livez/", 200, "ok" },
        { "/readyz", 500, "[+]ping ok\n[-]cache failed: reason withheld\nreadyz check failed\n" },
        { "/readyz", 200, "ok", false, "cache" },
        { "/readyz", 200, "[+]ping ok\n[+]cache excluded: ok\nreadyz check passed\n", true, "cache" },
        { "/healthz", 200,
          "[+]ping ok\nwarn: some health checks cannot be excluded: no matches for \"cache\"\n"
          "healthz check passed\n",
          true, "cache" },
        { "/readyz/ping", 200, "ok" },
        { "/readyz/cache", 500, "internal server error: cache failed\n" },
        { "/readyz/cache", 500, "internal server error: cache failed\n", false, "cache" },
        { "/livez/cache", 404, "404 page not found\n" },
        { "/readyz/cache/x", 404, "404 page not found\n" },
        { "/livezz", 0, "" },
        { "livez", 0, "" },
        { "", 0, "" },
        { "/", 0, "" },
        { "/metrics", 0, "" },
    };
    _cleanup_(health_free_p) struct health *h = health_new();
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096);
    bool is_well = false;

    assert_non_null(h);
    ASSERT_OK(health_add(h, "cache", HEALTH_READY, check_flag, &is_well, &err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str excluded = str_of(rows[i].excluded ? rows[i].excluded : "");
        struct health_ask ask = { rows[i].is_verbose, &excluded, rows[i].excluded ? 1 : 0 };

        buf_clear(&out);
        ASSERT_INT(rows[i].status, health_answer(h, str_of(rows[i].path), &ask, &out));
        ASSERT_STR(rows[i].text, buf_cstr(&out));
        ASSERT_INT(rows[i].status != 0, health_has_path(str_of(rows[i].path)));
    }
    ASSERT_ERR(ERR_UNAVAILABLE, health_ready(h, &err));
    ASSERT_STR("cache: the secret reason", err.msg);
    is_well = true;
    ASSERT_OK(health_ready(h, &err));
    ASSERT_ERR(ERR_EXISTS, health_add(h, "cache", HEALTH_LIVE, check_flag, &is_well, &err));
    ASSERT_ERR(ERR_EXISTS, health_add(h, "ping", HEALTH_LIVE, check_flag, &is_well, &err));
    assert_null(health_free(NULL));
}

TEST(version)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 200, "GET", "/version", NULL);
    ASSERT_GOT(&w, "1", "major");
    ASSERT_GOT(&w, "36", "minor");
    ASSERT_GOT(&w, "1", "emulationMajor");
    ASSERT_GOT(&w, "36", "emulationMinor");
    ASSERT_GOT(&w, "1", "minCompatibilityMajor");
    ASSERT_GOT(&w, "35", "minCompatibilityMinor");
    assert_memory_equal("v1.36.4+berth.", got(&w, "gitVersion"), 14);
    assert_non_null(strstr(buf_cstr(&w.text), "{\n  \"major\": \"1\",\n")); /* always indented */
}

TEST(paths_that_are_not_there)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 404, "GET", "/foo", NULL); /* apiserver-53 */
    ASSERT_STR("404 page not found\n", buf_cstr(&w.text));
    ASSERT_SENT(&w, 404, "GET", "/apis/nope.example.com/v1/things", NULL);
    ASSERT_STR("404 page not found\n", buf_cstr(&w.text));
    ASSERT_REFUSED(&w, 404, "NotFound", "the server could not find the requested resource", "GET",
                   "/api/v1/foos", NULL);
    ASSERT_GOT(&w, "{}", "details");
    ASSERT_REFUSED(&w, 405, "MethodNotAllowed", /* apiserver-54 */
                   "the server does not allow this method on the requested resource", "PUT", VOLUMES, "{}");
    ASSERT_SENT(&w, 405, "POST", "/api/v1/configmaps", "{}");
    ASSERT_SENT(&w, 404, "GET", "/api/v1/namespaces/default/persistentvolumes", NULL);
    ASSERT_SENT(&w, 200, "GET", "/", NULL);
    ASSERT_GOT(&w, "/api", "paths/0");
}

TEST_MAIN()
