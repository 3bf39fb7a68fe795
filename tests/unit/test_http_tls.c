/* The HTTP server over TLS: who is at the other end, and who is not. */
#include "tests/unit/test_http.h"

#include <time.h>

/* Their header has a `union params` where ours have a `struct params`. */
#define params gnutls_params
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#undef params

#define PEM_BYTES 8192
#define DAY ((time_t)24 * 3600)

/* A key and a certificate; made once, they are slow. */
struct identity {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
    char key_pem[PEM_BYTES];
    char cert_pem[PEM_BYTES];
};

struct subject {
    const char *common_name; /* NULL: none */
    size_t name_len;         /* 0: to its end */
    const char *const *organizations;
    const char *purpose; /* NULL: any */
    time_t begins;       /* seconds from now */
    time_t ends;
    bool is_ca;
};

static void must(int r)
{
    if (r < 0)
        fail_msg("%s", gnutls_strerror(r));
}

static void identity_init(struct identity *id, const struct subject *s, const struct identity *issuer)
{
    static unsigned char serial;
    size_t key_len = PEM_BYTES - 1, cert_len = PEM_BYTES - 1;

    memset(id, 0, sizeof *id);
    serial++;
    must(gnutls_x509_privkey_init(&id->key));
    must(gnutls_x509_privkey_generate(id->key, GNUTLS_PK_ECDSA,
                                      GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    must(gnutls_x509_crt_init(&id->cert));
    must(gnutls_x509_crt_set_version(id->cert, 3));
    must(gnutls_x509_crt_set_serial(id->cert, &serial, 1));
    must(gnutls_x509_crt_set_key(id->cert, id->key));
    must(gnutls_x509_crt_set_activation_time(id->cert, time(NULL) + s->begins));
    must(gnutls_x509_crt_set_expiration_time(id->cert, time(NULL) + s->ends));
    must(gnutls_x509_crt_set_basic_constraints(id->cert, s->is_ca, -1));
    if (s->common_name)
        must(gnutls_x509_crt_set_dn_by_oid(id->cert, GNUTLS_OID_X520_COMMON_NAME, 0, s->common_name,
                                           (unsigned)(s->name_len ? s->name_len : strlen(s->common_name))));
    for (size_t i = 0; s->organizations && s->organizations[i]; i++)
        must(gnutls_x509_crt_set_dn_by_oid(id->cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 0,
                                           s->organizations[i], (unsigned)strlen(s->organizations[i])));
    if (s->purpose)
        must(gnutls_x509_crt_set_key_purpose_oid(id->cert, s->purpose, 0));
    must(gnutls_x509_crt_sign2(id->cert, issuer ? issuer->cert : id->cert, issuer ? issuer->key : id->key,
                               GNUTLS_DIG_SHA256, 0));
    must(gnutls_x509_privkey_export(id->key, GNUTLS_X509_FMT_PEM, id->key_pem, &key_len));
    must(gnutls_x509_crt_export(id->cert, GNUTLS_X509_FMT_PEM, id->cert_pem, &cert_len));
}

static void identity_done(struct identity *id)
{
    gnutls_x509_crt_deinit(id->cert);
    gnutls_x509_privkey_deinit(id->key);
}

/* The client CA, another one, and the server. */
static struct identity ca, other_ca, server;

static void make_authorities(void)
{
    static bool is_made;
    const struct subject authority = {
        .common_name = "ca", .begins = -DAY, .ends = 300 * DAY, .is_ca = true
    };
    const struct subject host = { .common_name = "localhost", .begins = -DAY, .ends = 300 * DAY };

    if (is_made)
        return;
    is_made = true;
    identity_init(&ca, &authority, NULL);
    identity_init(&other_ca, &authority, NULL);
    identity_init(&server, &host, &ca);
}

__attribute__((destructor)) static void forget_authorities(void)
{
    identity_done(&ca);
    identity_done(&other_ca);
    identity_done(&server);
}

static struct world *tls_world_new(struct manual_clock *clock)
{
    make_authorities();
    return world_new((struct http_options){ .key_pem = server.key_pem,
                                            .cert_pem = server.cert_pem,
                                            .client_ca_pem = ca.cert_pem },
                     clock);
}

/* A client */

struct tls_client {
    const struct world *world;
    int fd;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
};

static int choose_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                              gnutls_pcert_st **pcert, unsigned *count, gnutls_ocsp_data_st **ocsp,
                              unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags);

/* id: NULL for no certificate. */
static void client_init(struct tls_client *c, const struct world *w, const struct identity *id,
                        const char *priorities)
{
    *c = (struct tls_client){ .world = w, .fd = client_connect(w) };
    must(gnutls_certificate_allocate_credentials(&c->credentials));
    if (id) {
        gnutls_datum_t key = { (unsigned char *)(uintptr_t)id->key_pem, (unsigned)strlen(id->key_pem) };
        gnutls_datum_t cert = { (unsigned char *)(uintptr_t)id->cert_pem, (unsigned)strlen(id->cert_pem) };
        must(gnutls_certificate_set_x509_key_mem(c->credentials, &cert, &key, GNUTLS_X509_FMT_PEM));
        /* As it is, whatever issuers the server names: the server must be able to judge for itself. */
        gnutls_certificate_set_retrieve_function3(c->credentials, choose_certificate);
    }
    must(gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL));
    must(gnutls_priority_set_direct(c->session, priorities, NULL));
    must(gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->credentials));
    gnutls_session_set_ptr(c->session, (void *)(uintptr_t)id);
    gnutls_transport_set_int(c->session, c->fd);
    assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
}

static int choose_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                              gnutls_pcert_st **pcert, unsigned *count, gnutls_ocsp_data_st **ocsp,
                              unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
    const struct identity *id = gnutls_session_get_ptr(session);

    (void)info;
    *pcert = gnutls_calloc(1, sizeof **pcert);
    *count = 1;
    *ocsp = NULL;
    *ocsp_count = 0;
    must(gnutls_pcert_import_x509(*pcert, id->cert, 0));
    must(gnutls_privkey_init(key));
    must(gnutls_privkey_import_x509(*key, id->key, GNUTLS_PRIVKEY_IMPORT_COPY));
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    return 0;
}

static void client_done(struct tls_client *c)
{
    gnutls_deinit(c->session);
    gnutls_certificate_free_credentials(c->credentials);
    (void)close(c->fd);
}

static int client_handshake(struct tls_client *c)
{
    int r;

    while ((r = gnutls_handshake(c->session)) == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED)
        wait_for_fd(c->world, c->fd, gnutls_record_get_direction(c->session) ? FD_WRITE : FD_READ);
    return r;
}

/* The answer to a request (NULL: to the last one), up to the text `end`. False when the connection ends
 * before. */
static bool tls_ask(struct tls_client *c, const char *request, const char *end, struct buf *b)
{
    char data[16384];
    ssize_t n = request ? gnutls_record_send(c->session, request, strlen(request)) : 0;

    buf_clear(b);
    assert_true(n >= 0);
    while (!b->data || !strstr(b->data, end)) {
        n = gnutls_record_recv(c->session, data, sizeof data);
        if (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED)
            wait_for_fd(c->world, c->fd, FD_READ);
        else if (n <= 0)
            return false;
        else
            buf_add(b, data, (size_t)n);
    }
    return true;
}

TEST(requests_come_through_tls)
{
    _cleanup_(world_free_p) struct world *w = tls_world_new(NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    gnutls_datum_t protocol = { (unsigned char *)(uintptr_t) "http/1.1", 8 };
    gnutls_datum_t chosen = { 0 };
    struct tls_client c;

    client_init(&c, w, NULL, "NORMAL");
    must(gnutls_alpn_set_protocols(c.session, &protocol, 1, 0));
    must(client_handshake(&c));
    must(gnutls_alpn_get_selected_protocol(c.session, &chosen));
    assert_true(str_is((struct str){ (const char *)chosen.data, chosen.size }, "http/1.1"));
    assert_true(tls_ask(&c, GET("/1"), "GET /1 0 ", &b));
    ASSERT_STR("", w->last_peer);
    assert_false(w->last_peer_is_invalid);
    assert_true(tls_ask(&c, GET("/big"), "000000000065535\n", &b));
    assert_true(tls_ask(&c, GET("/stream"), "\r\n\r\n", &b));
    test_stream_add(w->streams[0], "event");
    assert_true(tls_ask(&c, NULL, "event", &b));
    client_done(&c);
    AWAIT(w, w->streams[0]->closes == 1); /* its leaving is noticed here, too */
}

TEST(certificates_are_judged)
{
    static const char *const two[] = { "system:masters", "dev", NULL };
    static const char nul[] = "admin\0.evil";
    const struct {
        struct subject subject;
        const struct identity *issuer;
        const char *peer;
        bool is_invalid;
    } rows[] = {
        { { .common_name = "admin", .organizations = two, .begins = -DAY, .ends = DAY },
          &ca,
          "admin: system:masters, dev",
          false },
        { { .common_name = "system:node:n1",
            .begins = -DAY,
            .ends = DAY,
            .purpose = GNUTLS_KP_TLS_WWW_CLIENT },
          &ca,
          "system:node:n1",
          false },
        { { .common_name = "admin", .organizations = two, .begins = -DAY, .ends = DAY },
          &other_ca,
          "",
          true },
        { { .common_name = "admin", .organizations = two, .begins = -DAY, .ends = DAY }, NULL, "", true },
        { { .common_name = "admin", .begins = -2 * DAY, .ends = -DAY }, &ca, "", true },
        { { .common_name = "admin", .begins = DAY, .ends = 2 * DAY }, &ca, "", true },
        { { .common_name = "admin", .begins = -DAY, .ends = DAY, .purpose = GNUTLS_KP_TLS_WWW_SERVER },
          &ca,
          "",
          true },
        { { .organizations = two, .begins = -DAY, .ends = DAY }, &ca, "", true },
        { { .common_name = nul, .name_len = sizeof nul - 1, .begins = -DAY, .ends = DAY }, &ca, "", true },
    };
    _cleanup_(world_free_p) struct world *w = tls_world_new(NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
        struct identity id;
        struct tls_client c;

        identity_init(&id, &rows[i].subject, rows[i].issuer);
        client_init(&c, w, &id, "NORMAL");
        must(client_handshake(&c));
        for (unsigned n = 0; n < 2; n++) { /* further requests of the connection have the same peer */
            assert_true(tls_ask(&c, GET("/1"), "GET /1 0 ", &b));
            ASSERT_STR(rows[i].peer, w->last_peer);
            ASSERT_INT(rows[i].is_invalid, w->last_peer_is_invalid);
        }
        client_done(&c);
        identity_done(&id);
    }
}

TEST(old_versions_are_refused)
{
    static const struct {
        const char *priorities;
        bool is_served;
    } rows[] = {
        { "NORMAL:-VERS-ALL:+VERS-TLS1.3", true },
        { "NORMAL:-VERS-ALL:+VERS-TLS1.2", true },
        { "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT", false },
    };
    _cleanup_(world_free_p) struct world *w = tls_world_new(NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tls_client c;
        client_init(&c, w, NULL, rows[i].priorities);
        ASSERT_INT(rows[i].is_served, client_handshake(&c) == 0);
        client_done(&c);
    }
    AWAIT(w, http_connections(w->http) == 0);
}

TEST(who_does_not_speak_tls_is_sent_away)
{
    struct manual_clock clock;
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    _cleanup_(world_free_p) struct world *w = NULL;
    _cleanup_(fd_closep) int plain = -1;
    _cleanup_(fd_closep) int silent = -1;

    manual_clock_init(&clock, NS_PER_S, 0);
    w = tls_world_new(&clock);
    plain = client_connect(w);
    silent = client_connect(w);
    client_send(w, plain, GET("/x"));
    client_read_to_end(w, plain, &b);
    ASSERT_STR("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
               buf_cstr(&b));
    AWAIT(w, http_connections(w->http) == 1);
    /* A handshake has no more time than a request. */
    loop_advance(w->loop, &clock, HTTP_STRANGER_MS_MAX * NS_PER_MS);
    AWAIT(w, http_connections(w->http) == 0);
    buf_clear(&b);
    client_read_to_end(w, silent, &b);
    ASSERT_INT(0, w->served);
}

TEST(idle_streams_in_tls_are_cut)
{
    _cleanup_(world_free_p) struct world *w = tls_world_new(NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    struct tls_client c;

    client_init(&c, w, NULL, "NORMAL");
    must(client_handshake(&c));
    assert_true(tls_ask(&c, GET("/stream"), "\r\n\r\n", &b));
    w->streams[0]->stream.cut(&w->streams[0]->stream);
    AWAIT(w, w->streams[0]->closes == 1);
    client_done(&c);
}

TEST(calls_keep_their_peer)
{
    struct world *w = tls_world_new(NULL);
    const struct subject subject = { .common_name = "n1", .begins = -DAY, .ends = DAY };
    struct identity id;
    struct tls_client c;

    identity_init(&id, &subject, &ca);
    client_init(&c, w, &id, "NORMAL");
    must(client_handshake(&c));
    assert_true(gnutls_record_send(c.session, GET("/late"), sizeof GET("/late") - 1) > 0);
    run_until(w->loop, &w->has_late);
    w->http = http_free(w->http);
    ASSERT_STR("n1", w->late[0]->peer->common_name);
    test_answer_echo(w->late[0]);
    client_done(&c);
    identity_done(&id);
    world_free(w);
}

TEST(bad_material_is_refused_in_words)
{
    static const char garbage[] = "-----BEGIN CERTIFICATE-----\nxxxx\n-----END CERTIFICATE-----\n";
    struct {
        const char *key, *cert, *ca;
        const char *begins;
    } rows[] = {
        { garbage, NULL, NULL, "server certificate and key: " },
        { NULL, "no PEM at all", NULL, "server certificate and key: " },
        { NULL, NULL, garbage, "client CA: " },
        { NULL, NULL, "", "client CA: " },
        { "", NULL, NULL, "server certificate and key: " },
        { ca.key_pem, NULL, NULL, "server certificate and key: " }, /* of another certificate */
    };

    make_authorities();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct loop *l = new_loop(NULL);
        struct http_options o = {
            .loop = l,
            .address = "127.0.0.1:0",
            .key_pem = rows[i].key ? rows[i].key : server.key_pem,
            .cert_pem = rows[i].cert ? rows[i].cert : server.cert_pem,
            .client_ca_pem = rows[i].ca ? rows[i].ca : ca.cert_pem,
            .serve = test_serve,
        };
        struct http *h = NULL;
        struct error err = { 0 };

        ASSERT_ERR(ERR_INVALID, http_new(&o, &h, &err));
        if (!str_has_prefix(str_of(err.msg), rows[i].begins))
            fail_msg("row %zu: %s", i, err.msg);
        loop_free(l);
    }
}

/* The certificate that the server has shown. */
static bool shows(const struct tls_client *c, const struct identity *id)
{
    unsigned count = 0;
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(c->session, &count);
    gnutls_datum_t own = { 0 };
    bool is_same;

    assert_true(shown && count > 0);
    must(gnutls_x509_crt_export2(id->cert, GNUTLS_X509_FMT_DER, &own));
    is_same = shown->size == own.size && memcmp(shown->data, own.data, own.size) == 0;
    gnutls_free(own.data);
    return is_same;
}

/* Another certificate and another client CA while connections are open: those stay, new ones use the new. */
TEST(certificates_are_replaced_while_it_runs)
{
    _cleanup_(world_free_p) struct world *w = tls_world_new(NULL);
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(TEST_TEXT_MAX);
    const struct subject host = { .common_name = "localhost", .begins = -DAY, .ends = 300 * DAY };
    const struct subject admin = { .common_name = "admin", .begins = -DAY, .ends = 300 * DAY };
    struct tls_client before, begun, after;
    struct identity renewed, theirs;
    struct error err;

    identity_init(&renewed, &host, &other_ca);
    identity_init(&theirs, &admin, &other_ca);
    client_init(&before, w, &theirs, "NORMAL");
    must(client_handshake(&before));
    assert_true(shows(&before, &server));
    client_init(&begun, w, NULL, "NORMAL"); /* accepted, and no handshake yet */
    AWAIT(w, http_connections(w->http) == 2);

    ASSERT_ERR(ERR_INVALID, http_set_identity(w->http, renewed.key_pem, server.cert_pem, NULL, &err));
    ASSERT_OK(http_set_identity(w->http, renewed.key_pem, renewed.cert_pem, other_ca.cert_pem, &err));
    client_init(&after, w, &theirs, "NORMAL");
    must(client_handshake(&after));
    assert_true(shows(&after, &renewed));
    assert_true(tls_ask(&after, GET("/1"), "GET /1 0 ", &b));
    ASSERT_STR("admin", w->last_peer); /* of the new CA */

    assert_true(tls_ask(&before, GET("/2"), "GET /2 0 ", &b));
    assert_true(w->last_peer_is_invalid);
    must(client_handshake(&begun));
    assert_true(shows(&begun, &server));
    assert_true(tls_ask(&begun, GET("/3"), "GET /3 0 ", &b));
    client_done(&before);
    client_done(&begun);
    client_done(&after);
    AWAIT(w, http_connections(w->http) == 0);
    identity_done(&theirs);
    identity_done(&renewed);
}

TEST_MAIN()
