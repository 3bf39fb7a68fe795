#include "bench/wire.h"

#include <limits.h>
#include <stdio.h>

#include "apiserver/call_http.h"
#include "client/http.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/path.h"

#define ADDRESS "127.0.0.1:0"
#define PKI_FOLDER "pki" /* where pki_open() puts them */

/* They are in memory then: the directory goes at once. */
static int wire_make_certificates(struct wire *x, struct error *err)
{
    char dir[PATH_MAX], below[PATH_MAX + sizeof "/" PKI_FOLDER];
    struct pki_options o = { .dir = dir, .address = ADDRESS, .host_name = "localhost" };
    int r = io_tmp_dir_below(".", dir, err);

    if (r < 0)
        return r;
    o.now = clock_real_ns(clock_system()) / (int64_t)NS_PER_S;
    r = pki_open(&o, &x->pki, err);
    (void)snprintf(below, sizeof below, "%s/" PKI_FOLDER, dir);
    io_discard_dir(below);
    io_discard_dir(dir);
    return r;
}

int wire_open(struct wire *x, struct apiserver *s, bool is_tls, struct error *err)
{
    struct http_options o = {
        .loop = s->loop, .address = ADDRESS, .serve = call_http_serve, .ctx = &x->server
    };
    int r = is_tls ? wire_make_certificates(x, err) : 0;

    if (r < 0)
        return r;
    x->server = s;
    if (is_tls) {
        o.key_pem = buf_cstr(&x->pki.server_key);
        o.cert_pem = buf_cstr(&x->pki.server_cert);
        o.client_ca_pem = buf_cstr(&x->pki.ca_cert);
        x->config.ca.data = buf_cstr(&x->pki.ca_cert);
    }
    r = http_new(&o, &x->http, err);
    if (r < 0)
        return r;
    (void)snprintf(x->url, sizeof x->url, "%s://%s", is_tls ? "https" : "http", http_address(x->http));
    x->config.server = x->url;
    x->config.is_tls = is_tls;
    x->config.ns = "default";
    x->config.source = "bench";
    return 0;
}

void wire_close(struct wire *x)
{
    x->http = http_free(x->http);
    pki_done(&x->pki);
}

int wire_connect(const struct wire *x, struct client_carrier **ret, struct error *err)
{
    struct http_client_options o = { .loop = x->server->loop, .clock = clock_system(), .config = &x->config };

    return http_client_new(&o, ret, err);
}
