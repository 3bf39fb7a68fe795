/* A listener on loopback for the benchmarks, plain or with TLS, and clients that connect to it. */
#include "bench/bench_wire.h"

#include <limits.h>
#include <stdio.h>

#include "apiserver/call_http.h"
#include "client/client_http.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/path.h"

#define ADDRESS "127.0.0.1:0"
#define PKI_FOLDER "pki" /* where pki_open() stores them */

/* The certificates are kept in memory: the directory is removed immediately. */
static int wire_make_certificates(struct bench_wire *wire, struct error *err)
{
    char dir[PATH_MAX], below[PATH_MAX + sizeof "/" PKI_FOLDER];
    struct pki_options o = { .dir = dir, .address = ADDRESS, .host_name = "localhost" };
    int r = io_tmp_dir_below(".", dir, err);

    if (r < 0)
        return r;
    o.now = clock_real_ns(clock_system()) / (int64_t)NS_PER_S;
    r = pki_open(&o, &wire->pki, err);
    (void)snprintf(below, sizeof below, "%s/" PKI_FOLDER, dir);
    io_discard_dir(below);
    io_discard_dir(dir);
    return r;
}

int bench_wire_open(struct bench_wire *wire, struct apiserver *s, bool is_tls, struct error *err)
{
    struct http_options o = {
        .loop = s->loop, .address = ADDRESS, .serve = call_http_serve, .ctx = &wire->server
    };
    int r = is_tls ? wire_make_certificates(wire, err) : 0;

    if (r < 0)
        return r;
    wire->server = s;
    if (is_tls) {
        o.key_pem = buf_cstr(&wire->pki.server_key);
        o.cert_pem = buf_cstr(&wire->pki.server_cert);
        o.client_ca_pem = buf_cstr(&wire->pki.ca_cert);
        wire->config.ca.data = buf_cstr(&wire->pki.ca_cert);
    }
    r = http_new(&o, &wire->http, err);
    if (r < 0)
        return r;
    (void)snprintf(wire->url, sizeof wire->url, "%s://%s", is_tls ? "https" : "http",
                   http_address(wire->http));
    wire->config.server = wire->url;
    wire->config.is_tls = is_tls;
    wire->config.ns = "default";
    wire->config.source = "bench";
    return 0;
}

void bench_wire_close(struct bench_wire *wire)
{
    wire->http = http_free(wire->http);
    pki_done(&wire->pki);
}

int bench_wire_connect(const struct bench_wire *wire, struct client_carrier **ret, struct error *err)
{
    struct http_client_options o = { .loop = wire->server->loop,
                                     .clock = clock_system(),
                                     .config = &wire->config };

    return http_client_new(&o, ret, err);
}
