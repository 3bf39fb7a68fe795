/* Certificates renewed while a server runs, with a clock that the test sets. */
#include "tests/unit/test_io.h"

#include "apiserver/pki_renewal.h"
#include "base/cleanup.h"
#include "io/certs.h"
#include "io/file.h"

#define DAY_S INT64_C(86400)
#define START_S INT64_C(1800000000)

static struct error err;

struct world {
    struct test_dir dir;
    struct manual_clock clock;
    struct loop *loop;
    struct pki_options options;
    struct pki pki;
    const struct key *token_key;
    struct pki_renewal *renewal;
    unsigned uses;
    bool refuses;
};

static int use(void *ctx, const struct pki *renewed, struct error *e)
{
    struct world *w = ctx;

    assert_true(renewed->server_cert.len > 0 && renewed->server_key.len > 0 && renewed->ca_cert.len > 0);
    w->uses++;
    return w->refuses ? error_set(e, ERR_INVALID, "refused by the test") : 0;
}

static void world_init(struct world *w)
{
    *w = (struct world){ .dir = test_dir_new() };
    manual_clock_init(&w->clock, NS_PER_S, START_S * (int64_t)NS_PER_S);
    w->loop = new_loop(&w->clock.clock);
    w->options = (struct pki_options){
        .dir = w->dir.path, .address = "127.0.0.1:7443", .host_name = "machine", .now = START_S
    };
    ASSERT_OK(pki_open(&w->options, &w->pki, &err));
    ASSERT_OK(pki_write_kubeconfig(&w->pki, w->dir.path, "127.0.0.1:7443", &err));
    w->token_key = w->pki.token_key;
    struct pki_renewal_options o = { .loop = w->loop,
                                     .clock = &w->clock.clock,
                                     .pki = w->options,
                                     .address = "127.0.0.1:7443",
                                     .current = &w->pki,
                                     .use = use,
                                     .ctx = w };
    ASSERT_OK(pki_renewal_new(&o, &w->renewal, &err));
}

static void world_done(struct world *w)
{
    w->renewal = pki_renewal_free(w->renewal);
    pki_done(&w->pki);
    w->loop = loop_free(w->loop);
    test_dir_done(&w->dir);
}

static void pass(struct world *w, uint64_t ns)
{
    loop_advance(w->loop, &w->clock, ns);
}

/* Until so many renewals have been handed over: the worker is a real thread. */
static void await_uses(const struct world *w, unsigned uses)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (w->uses < uses)
        (void)loop_poll(w->loop);
    (void)alarm(0);
}

static void assert_file(const struct world *w, const char *name, const struct buf *expected)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);

    ASSERT_OK(io_read_file(in_dir(&w->dir, name), 1 << 20, &text, &err));
    ASSERT_STR(buf_cstr(expected), buf_cstr(&text));
}

/* What is in use is valid, is what is on disk, and the kubeconfig says so. */
static void assert_renewed(struct world *w, int64_t now)
{
    _cleanup_(buf_done_p) struct buf kubeconfig = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);

    assert_false(pki_is_due(&w->pki, now));
    assert_true(w->pki.valid_from == now - 3600);
    assert_file(w, "pki/server.crt", &w->pki.server_cert);
    assert_file(w, "pki/admin.crt", &w->pki.admin_cert);
    assert_file(w, "pki/ca.crt", &w->pki.ca_cert);
    assert_ptr_equal(w->token_key, w->pki.token_key); /* others use it */
    ASSERT_OK(io_read_file(in_dir(&w->dir, "kubeconfig"), 1 << 20, &kubeconfig, &err));
    ASSERT_OK(pki_write_kubeconfig(&w->pki, w->dir.path, "127.0.0.1:7443", &err));
    ASSERT_OK(io_read_file(in_dir(&w->dir, "kubeconfig"), 1 << 20, &again, &err));
    ASSERT_STR(buf_cstr(&kubeconfig), buf_cstr(&again));
}

TEST(nothing_happens_while_all_are_valid)
{
    struct world w;

    world_init(&w);
    for (int day = 0; day < 334; day++)
        pass(&w, DAY_S * NS_PER_S);
    ASSERT_INT(0, w.uses);
    world_done(&w);
}

TEST(certificates_are_renewed_before_they_expire)
{
    struct world w;
    int64_t now = START_S + 336 * DAY_S;

    world_init(&w);
    manual_clock_set_real(&w.clock, now * (int64_t)NS_PER_S);
    pass(&w, PKI_CHECK_NS);
    await_uses(&w, 1);
    assert_renewed(&w, now + (int64_t)(PKI_CHECK_NS / NS_PER_S));
    pass(&w, PKI_CHECK_NS);
    pass(&w, PKI_CHECK_NS);
    ASSERT_INT(1, w.uses);
    world_done(&w);
}

/* Set back below the beginning of the certificates, then ahead beyond their end, then right again. */
TEST(a_clock_that_is_set_is_noticed)
{
    static const int64_t days[] = { -30, 20000, 0 };
    struct world w;

    world_init(&w);
    for (unsigned i = 0; i < ARRAY_LEN(days); i++) {
        int64_t now = START_S + days[i] * DAY_S;

        manual_clock_set_real(&w.clock, now * (int64_t)NS_PER_S);
        pass(&w, PKI_CHECK_NS);
        await_uses(&w, i + 1);
        assert_false(pki_is_due(&w.pki, now + (int64_t)(PKI_CHECK_NS / NS_PER_S)));
    }
    world_done(&w);
}

TEST(a_failure_is_retried)
{
    struct world w;

    world_init(&w);
    w.refuses = true;
    manual_clock_set_real(&w.clock, (START_S + 336 * DAY_S) * (int64_t)NS_PER_S);
    pass(&w, PKI_CHECK_NS);
    await_uses(&w, 1);
    assert_true(pki_is_due(&w.pki, START_S + 336 * DAY_S)); /* what is in use stays */
    pass(&w, PKI_RETRY_NS - NS_PER_S);
    ASSERT_INT(1, w.uses);
    w.refuses = false;
    pass(&w, NS_PER_S);
    await_uses(&w, 2);
    assert_false(pki_is_due(&w.pki, START_S + 336 * DAY_S + 7200));
    world_done(&w);
}

TEST(a_renewal_that_is_under_way_ends_before_its_owner)
{
    struct world w;

    world_init(&w);
    manual_clock_set_real(&w.clock, (START_S + 336 * DAY_S) * (int64_t)NS_PER_S);
    pass(&w, PKI_CHECK_NS);
    world_done(&w);
}

TEST_MAIN()
