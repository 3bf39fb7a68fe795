/* The API server in this process: its store, keys, certificates and listener. Opened in that order and closed
 * in the opposite order. */
#include "daemon/daemon_int.h"

#include <stdio.h>
#include <string.h>

#include "apiserver/authenticate.h"
#include "apiserver/call_http.h"
#include "apiserver/local_client.h"
#include "apiserver/pki_renewal.h"
#include "apiserver/store_lookup.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/random.h"
#include "store/store.h"

/* --- Store and identity --- */

static int open_store(struct daemon *d, struct error *err)
{
    struct embedded *s = &d->embedded;
    struct store_options o = { .on_commit = store_counts_commit,
                               .on_refuse = store_counts_refuse,
                               .ctx = &s->store_counts };
    int r = store_counts_add(d->metrics, &s->store_counts, err);

    return r < 0 ? r : store_open_sqlite(d->settings->data_dir, d->loop, &o, &s->store, err);
}

/* The address of a server that listens on all addresses: the machine's own. */
static void find_reachable(struct daemon *d)
{
    struct embedded *s = &d->embedded;
    const char *listen = d->settings->address, *port = strrchr(listen, ':');
    char machine[HOST_FACT_BYTES];

    (void)snprintf(s->reachable, sizeof s->reachable, "%s", listen);
    if (!port || (strncmp(listen, "0.0.0.0:", 8) != 0 && strncmp(listen, "[::]:", 5) != 0))
        return;
    host_address(machine);
    (void)snprintf(s->reachable, sizeof s->reachable, strchr(machine, ':') ? "[%s]%s" : "%s%s", machine,
                   port);
}

static int open_identity(struct daemon *d, struct error *err)
{
    struct embedded *s = &d->embedded;
    struct authenticator_options o = { .clock = clock_system(),
                                       .token_file = d->settings->token_file,
                                       .lookup = store_lookup(s->store),
                                       .is_insecure = d->settings->is_insecure };
    int r;

    find_reachable(d);
    s->pki_options = (struct pki_options){ .dir = d->settings->data_dir,
                                           .address = s->reachable,
                                           .host_name = d->host,
                                           .now = clock_real_ns(clock_system()) / (int64_t)NS_PER_S,
                                           .is_insecure = d->settings->is_insecure };
    r = pki_open(&s->pki_options, &s->pki, err);
    o.token_key = s->pki.token_key;
    return r < 0 ? r : authenticator_new(&o, &s->authenticator, err);
}

/* --- Server --- */

static int open_http(struct daemon *d, struct error *err)
{
    struct embedded *s = &d->embedded;
    bool is_plain = d->settings->is_insecure;
    struct http_options o = { .loop = d->loop,
                              .address = d->settings->address,
                              .serve = call_http_serve,
                              .identify = call_http_identify,
                              .ctx = &s->server };
    int r = io_random(&o.seed, sizeof o.seed, err);

    o.key_pem = is_plain ? NULL : buf_cstr(&s->pki.server_key);
    o.cert_pem = is_plain ? NULL : buf_cstr(&s->pki.server_cert);
    o.client_ca_pem = is_plain ? NULL : buf_cstr(&s->pki.ca_cert);
    if (r == 0)
        r = http_new(&o, &s->http, err);
    if (r == -ERR_BUSY)
        return error_set(
            err, ERR_BUSY,
            "cannot listen on %s: another program listens there ('ss -ltnp' shows which); choose "
            "another address with --listen",
            o.address);
    return r;
}

static int open_server(struct daemon *d, struct error *err)
{
    struct embedded *s = &d->embedded;
    unsigned parts = d->settings->parts;
    struct apiserver_options o = { .loop = d->loop,
                                   .clock = clock_system(),
                                   .store = s->store,
                                   .metrics = d->metrics,
                                   .authenticator = s->authenticator,
                                   .event_ttl_seconds = (int64_t)d->settings->event_ttl_seconds,
                                   .pages = { parts & DAEMON_NODE ? report_write_stats : NULL,
                                              report_write_status,
                                              parts & ~(unsigned)DAEMON_NODE ? report_explain : NULL, d } };
    int r = io_random(&o.seed, sizeof o.seed, err);

    if (r == 0)
        r = open_http(d, err);
    if (r < 0)
        return r;
    o.address = http_address(s->http);
    (void)snprintf(s->advertised, sizeof s->advertised, "%.*s%s",
                   (int)(strrchr(s->reachable, ':') - s->reachable), s->reachable, strrchr(o.address, ':'));
    o.advertised = s->advertised;
    o.ca_pem = buf_cstr(&s->pki.ca_cert);
    o.server_cert_pem = d->settings->is_insecure ? NULL : buf_cstr(&s->pki.server_cert);
    r = apiserver_new(&o, &s->server, err);
    if (r == 0)
        r = pki_write_kubeconfig(&s->pki, d->settings->data_dir, http_address(s->http), err);
    return r;
}

static int use_certificates(void *ctx, const struct pki *renewed, struct error *err)
{
    const struct daemon *d = ctx;
    const struct embedded *s = &d->embedded;
    int r = 0;

    if (!d->settings->is_insecure)
        r = http_set_identity(s->http, buf_cstr(&renewed->server_key), buf_cstr(&renewed->server_cert),
                              buf_cstr(&renewed->ca_cert), err);
    return r < 0 ? r : apiserver_set_ca(s->server, buf_cstr(&renewed->ca_cert), err);
}

static int open_renewal(struct daemon *d, struct error *err)
{
    struct embedded *s = &d->embedded;
    struct pki_renewal_options o = { .loop = d->loop,
                                     .clock = clock_system(),
                                     .pki = s->pki_options,
                                     .address = http_address(s->http),
                                     .current = &s->pki,
                                     .use = use_certificates,
                                     .ctx = d };

    return pki_renewal_new(&o, &s->renewal, err);
}

/* --- Lifecycle --- */

int embedded_open(struct daemon *d, struct error *err)
{
    struct client_options c = { .loop = d->loop };
    int r = open_store(d, err);

    if (r == 0)
        r = open_identity(d, err);
    if (r == 0)
        r = open_server(d, err);
    if (r == 0)
        r = open_renewal(d, err);
    if (r == 0)
        r = local_client_new(d->embedded.server, /* user= */ NULL, &c.carrier, err);
    return r < 0 ? r : client_new(&c, &d->embedded.client, err);
}

void embedded_stop(struct embedded *s)
{
    if (!s->server)
        return;
    apiserver_stop(s->server);
    http_quiesce(s->http);
}

bool embedded_is_quiet(const struct embedded *s)
{
    return !s->http || http_connections(s->http) == 0;
}

void embedded_close(struct embedded *s)
{
    s->client = client_free(s->client);
    s->renewal = pki_renewal_free(s->renewal);
    s->http = http_free(s->http);
    /* Writes in flight are answered while the server still exists. */
    if (s->store)
        store_finish(s->store);
    s->server = apiserver_free(s->server);
    s->store = store_free(s->store);
    s->authenticator = authenticator_free(s->authenticator);
    pki_done(&s->pki);
}
