/* The way over the network for the benchmarks: the server listens on loopback, plain or with TLS, in the same
 * thread as its clients. */
#ifndef BERTH_BENCH_WIRE_H
#define BERTH_BENCH_WIRE_H

#include <stdbool.h>

#include "apiserver/pki.h"
#include "apiserver/server.h"
#include "client/carrier.h"
#include "client/config.h"
#include "http/http.h"

struct wire {
    struct apiserver *server;
    struct http *http;
    struct pki pki;
    char url[128];
    struct client_config config;
};

/* Zeroed before; to be closed in either case. Certificates are for a moment in a directory of their own below
 * the current one. */
int wire_open(struct wire *x, struct apiserver *s, bool is_tls, struct error *err);
/* No client is left. */
void wire_close(struct wire *x);

int wire_connect(const struct wire *x, struct client_carrier **ret, struct error *err);

#endif
