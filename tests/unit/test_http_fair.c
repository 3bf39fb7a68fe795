/* Turns among users over real connections: what a client calls itself does not give it more of them.
 *
 * The clock that measures what users take stands still but for what each request is said to take, so that the
 * order of service does not depend on this machine. */
#include "tests/unit/test_http.h"

#define GREEDY 60
/* More than a flow has in a turn, and than all queues together: one request runs in each turn. */
#define COST_NS (2 * FAIR_ROUND_NS)

#include "http/fair.h"

static struct manual_clock used; /* by requests */
static unsigned greedy_served;
static unsigned greedy_before_quiet;
static bool quiet_is_served;

/* Stands for the server's authentication: here a header names the user. */
static const char *identify(void *ctx, struct http_request *r)
{
    static char user[100];

    (void)ctx;
    (void)snprintf(user, sizeof user, "%.*s", STR_ARG(http_request_header(r, "X-User")));
    return user;
}

static void serve(void *ctx, struct http_request *r)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(TEST_TEXT_MAX);

    (void)ctx;
    manual_clock_advance(&used, COST_NS);
    if (str_is(r->target, "/quiet")) {
        quiet_is_served = true;
        greedy_before_quiet = greedy_served;
    } else {
        greedy_served++;
    }
    buf_add_cstr(&body, "ok");
    http_answer(r, &(struct http_answer){ .status = 200, .body = &body });
}

static void send_as(const struct world *w, int fd, const char *path, const char *user, unsigned agent)
{
    char request[200];

    (void)snprintf(request, sizeof request,
                   "GET %s HTTP/1.1\r\nHost: t\r\nX-User: %s\r\nUser-Agent: agent-%u\r\n\r\n", path, user,
                   agent);
    client_send(w, fd, request);
}

/* How many of the greedy user's requests are served before the other one's, which comes when all of them have
 * been sent and the first is served. */
static unsigned run_against(const char *greedy, const char *quiet)
{
    struct error err = { 0 };
    struct world w = { .loop = new_loop(NULL) };
    struct http_options o = {
        .loop = w.loop, .clock = &used.clock, .address = "127.0.0.1:0", .serve = serve, .identify = identify
    };
    int fds[GREEDY + 1];

    manual_clock_init(&used, NS_PER_S, 0);
    greedy_served = 0;
    quiet_is_served = false;
    ASSERT_OK(http_new(&o, &w.http, &err));
    for (unsigned i = 0; i < GREEDY; i++) {
        fds[i] = client_connect(&w);
        send_as(&w, fds[i], "/greedy", greedy, i);
    }
    AWAIT(&w, greedy_served > 0);
    fds[GREEDY] = client_connect(&w);
    send_as(&w, fds[GREEDY], "/quiet", quiet, 0);
    AWAIT(&w, quiet_is_served && greedy_served == GREEDY);
    w.http = http_free(w.http);
    for (unsigned i = 0; i <= GREEDY; i++)
        (void)close(fds[i]);
    (void)loop_free(w.loop);
    return greedy_before_quiet;
}

TEST(many_agents_of_one_user_have_one_turn)
{
    assert_true(run_against("greedy", "quiet") < GREEDY / 2);
}

/* One flow is served in the order of arrival. */
TEST(the_same_user_waits_behind_its_own_requests)
{
    ASSERT_INT(GREEDY, run_against("same", "same"));
}

static unsigned works;    /* attached to requests */
static unsigned releases; /* of them */

static void release(void *work)
{
    assert_int_equal(*(unsigned *)work, 7);
    free(work);
    releases++;
}

static const char *identify_with_work(void *ctx, struct http_request *r)
{
    unsigned *work = malloc(sizeof *work);

    (void)ctx;
    assert_non_null(work);
    *work = 7;
    r->work = work;
    r->release = release;
    works++;
    return "one";
}

/* What a handler attaches to a request is released with the answer, and also when the request was never
 * served. */
TEST(work_of_requests_is_released_once)
{
    struct error err = { 0 };
    struct world w = { .loop = new_loop(NULL) };
    struct http_options o = { .loop = w.loop,
                              .clock = &used.clock,
                              .address = "127.0.0.1:0",
                              .serve = serve,
                              .identify = identify_with_work };
    int fds[GREEDY];

    manual_clock_init(&used, NS_PER_S, 0);
    greedy_served = 0;
    ASSERT_OK(http_new(&o, &w.http, &err));
    for (unsigned i = 0; i < GREEDY; i++) {
        fds[i] = client_connect(&w);
        send_as(&w, fds[i], "/greedy", "one", i);
    }
    AWAIT(&w, works == GREEDY);
    assert_true(greedy_served < GREEDY);
    ASSERT_INT(greedy_served, releases);
    w.http = http_free(w.http);
    ASSERT_INT(GREEDY, releases);
    for (unsigned i = 0; i < GREEDY; i++)
        (void)close(fds[i]);
    (void)loop_free(w.loop);
}

TEST_MAIN()
